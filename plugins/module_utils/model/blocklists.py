# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of Ceph's OSD blocklist: whom each refuses. Pure.

* C(IP:0/0), C([IP6]:0/0): every client of an address. This is what this collection writes.
* C(IP:PORT/NONCE): one client. Ceph makes these itself, for one that lost its lock or was replaced.
* C(IP:0/BITS), marked as a range: every client of a network. Only an administrator makes these.
"""

from __future__ import annotations

import typing as t

from . import addresses
from .facts import BlocklistEntry

if t.TYPE_CHECKING:
    import netaddr

_WHOLE = ":0/0"
_PREFIXES = ("v1:", "v2:", "any:", "cidr:")


plain = addresses.plain


def whole(entry: BlocklistEntry) -> t.Optional[str]:
    """Return the one address of which an entry refuses every client; None: it is another kind of entry."""
    span = network(entry)
    if span is not None:
        return plain(str(span.network)) if span.size == 1 else None
    text = _unprefixed(entry.address)
    return plain(text[: -len(_WHOLE)]) if text.endswith(_WHOLE) else None


def network(entry: BlocklistEntry) -> t.Optional[netaddr.IPNetwork]:
    """Return the range of which an entry refuses every client; None: it is another kind of entry."""
    if not (entry.range or entry.address.startswith("cidr:")):
        return None
    place, _slash, bits = _unprefixed(entry.address).partition("/")
    host = place[1:].partition("]")[0] if place.startswith("[") else _without_port(place)
    return addresses.network(f"{host}/{bits}")


def covers(entry: BlocklistEntry, address: str) -> bool:
    """Whether an entry refuses every client of an address."""
    known = plain(address)
    if known is None:
        return False
    span = network(entry)
    return whole(entry) == known if span is None else addresses.within(known, span)


def entry_of(address: str) -> str:
    """Return the entry that refuses every client of an address."""
    known = plain(address) or address
    return f"[{known}]{_WHOLE}" if ":" in known else f"{known}{_WHOLE}"


def removal(entry: BlocklistEntry, word: t.Optional[str] = None) -> str:
    """Return the command that removes an entry. ``word``: what the release calls the list."""
    span = network(entry)
    what = ["rm", entry_of(whole(entry) or entry.address)] if span is None else ["range", "rm", str(span)]
    return " ".join(["ceph", "osd", word or "blocklist", *what])


def _unprefixed(entry: str) -> str:
    for prefix in _PREFIXES:
        if entry.startswith(prefix):
            return entry[len(prefix) :]
    return entry


def _without_port(place: str) -> str:
    # An IPv6 address without brackets has no port.
    return place.partition(":")[0] if place.count(":") == 1 else place
