# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses as Ceph writes them, as plain IP addresses. Pure; standard library only, since it runs on compute hosts.

Ceph writes one address as C(192.0.2.1:6789/0), C([2001:db8::1]:3300/0), C(v2:192.0.2.1:3300/0), and several together
as C([v2:192.0.2.1:3300/0,v1:192.0.2.1:6789/0]). What is not set is written as C(-), C(:/0) or "unrecognized address
family". Whatever else is not understood raises ValueError: an address that was not understood is not "no address".
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ...model.host_facts import BlocklistEntry

Json = t.Any
Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

_PREFIX = re.compile(r"(?:v1|v2|any|msgr2|legacy|cidr):")
_VECTOR = re.compile(r"\[(?:v1|v2|any|msgr2|legacy):")
_NOT_SET = re.compile(r"(?:-|:|\(unrecognized address family \d+\))?(?::\d*)?(?:/\d+)?\Z")
#: What describes a daemon, in words that anybody may choose: no addresses are looked for there.
_WORDS = ("metadata",)


def normal(text: str) -> str:
    """Return an IP address in its usual form; a v4-mapped one as the IPv4 address that it is. Raises ValueError."""
    parsed = ipaddress.ip_address(text)
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def plain(text: str) -> t.List[str]:
    """Return the IP addresses of what Ceph wrote, each once; none for what is not set. Raises ValueError."""
    text = text.strip()
    parts = text[1:-1].split(",") if _VECTOR.match(text) and text.endswith("]") else [text]
    found = [normal(host) for host in map(_host, parts) if host is not None]
    return [host for host in dict.fromkeys(found) if not ipaddress.ip_address(host).is_unspecified]


def _host(text: str) -> t.Optional[str]:
    text = _PREFIX.sub("", text.strip(), count=1)
    if _NOT_SET.match(text):
        return None
    host = text.partition("/")[0]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def all_of(answer: Json, parts: t.Sequence[str]) -> t.List[str]:
    """Return every address below some keys of an answer: of public, cluster and heartbeat networks, of every protocol.

    Raises ValueError for an answer that has none of these keys: it is not the answer that was expected.
    """
    if not isinstance(answer, dict) or not any(part in answer for part in parts):
        raise ValueError(f"the answer of Ceph has none of the keys {', '.join(parts)}")
    found: t.Dict[str, None] = {}
    for part in parts:
        _walk(answer.get(part), _names_address(part), found)
    return list(found)


def _names_address(key: str) -> bool:
    return key.endswith(("addr", "addrs", "addrvec"))


def _walk(value: Json, is_address: bool, found: t.Dict[str, None]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _WORDS:
                _walk(item, _names_address(str(key)), found)
    elif isinstance(value, list):
        for item in value:
            _walk(item, is_address, found)
    elif is_address and isinstance(value, str):
        found.update(dict.fromkeys(plain(value)))


# --- entries of the OSD blocklist -----------------------------------------------------------------------------


def entry_of(address: str) -> str:
    """Return the entry that stands for all clients of an address. Raises ValueError for what is no IP address."""
    host = normal(address)
    return f"[{host}]:0/0" if ":" in host else f"{host}:0/0"


def range_of(address: str) -> str:
    """Return the range that has this one address, as the command for ranges takes it. Raises ValueError."""
    host = normal(address)
    return f"[{host}]:0/128" if ":" in host else f"{host}:0/32"


def shuts_out(entry: BlocklistEntry) -> t.Optional[Network]:
    """Return the network of which an entry refuses every client; None for an entry of one client of an address.

    A v4-mapped entry is that of an IPv6 client: OSDs do not take it for the IPv4 address.
    """
    text = _PREFIX.sub("", entry.address, count=1)
    where, _slash, last = text.rpartition("/")
    host, _colon, port = where.rpartition(":")
    ranged = entry.range or entry.address.startswith("cidr:")
    if not host or port != "0" or not (ranged or last == "0"):
        return None
    try:
        bare = host.strip("[]")
        return ipaddress.ip_network(f"{bare}/{last}" if ranged else bare, strict=False)
    except ValueError:
        return None
