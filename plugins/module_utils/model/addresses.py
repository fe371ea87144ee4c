# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""IP addresses and networks on the controller, by netaddr. Pure.

Compute hosts have no netaddr: what runs there reads addresses with the standard library (C(systems/ceph/addresses.py)).
A test holds that both say the same of the same text.
"""

from __future__ import annotations

import functools
import traceback
import typing as t

from .errors import StackguardError

try:
    import netaddr
except ImportError:
    NETADDR_ERROR: t.Optional[str] = traceback.format_exc()
else:
    NETADDR_ERROR = None

#: What an action says where the library is not there.
MISSING = "the Python library netaddr is not installed on the Ansible controller"


def plain(text: str) -> t.Optional[str]:
    """Return an address in one form, without zone and brackets, a v4-mapped one as IPv4; None: it is none."""
    parsed = _parsed(text.strip().strip("[]").partition("%")[0])
    return None if parsed is None else _text(_unmapped(parsed))


def same(one: str, other: str) -> bool:
    """Whether two addresses are one, whatever their form."""
    known = plain(one)
    return known is not None and known == plain(other)


def is_address(text: str) -> bool:
    """Whether a text is an address."""
    return _parsed(text.partition("%")[0]) is not None


def is_loopback(text: str) -> bool:
    """Whether an address is the machine itself: 127.0.0.0/8 (Debian's 127.0.1.1), ::1, or unspecified."""
    parsed = _parsed(text.partition("%")[0])
    if parsed is None:
        return False
    one = _unmapped(parsed)
    return bool(one.is_loopback()) or int(one) == 0


def network(text: str) -> t.Optional[netaddr.IPNetwork]:
    """Return a network from ADDRESS/BITS, whatever stands in the host's bits; None: it is none."""
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal() or _parsed(address) is None:
        return None
    try:
        return netaddr.IPNetwork(text).cidr
    except (netaddr.AddrFormatError, ValueError):
        return None


def within(text: str, span: netaddr.IPNetwork) -> bool:
    """Whether an address is in a network."""
    known = plain(text)
    return known is not None and netaddr.IPAddress(known) in span


@functools.lru_cache(maxsize=65536)
def _parsed(text: str) -> t.Optional[netaddr.IPAddress]:
    if NETADDR_ERROR is not None:
        raise StackguardError(MISSING)
    try:
        return netaddr.IPAddress(text, flags=netaddr.INET_PTON)
    except (netaddr.AddrFormatError, ValueError, TypeError):
        return None


def _text(parsed: netaddr.IPAddress) -> str:
    if parsed.version == 6 and 0xFFFF < int(parsed) <= 0xFFFFFFFF:
        # netaddr writes these with an IPv4 address in them, compute hosts do not.
        return f"::{int(parsed) >> 16:x}:{int(parsed) & 0xFFFF:x}"
    return str(parsed)


def _unmapped(parsed: netaddr.IPAddress) -> netaddr.IPAddress:
    return parsed.ipv4() if parsed.version == 6 and parsed.is_ipv4_mapped() else parsed
