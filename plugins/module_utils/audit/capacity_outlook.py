# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones, hosts and their memory, and what an evacuation of each host would need: the picture of an audit. Pure.

An estimate from what is measured, for people: huge pages, server groups and what placement would say are left out.
The decision, before an evacuation, is another one (C(evacuation/plan.py)).
"""

from __future__ import annotations

import dataclasses
import heapq
import typing as t

from ..capacity.measured import RUNNING, demand_mib, room
from ..hazards.host_zones import zones_of
from ..model.facts import Bundle, HostFacts
from ..model.names import conf_host
from ..model.requests import EvacuationRequest

NO_ZONE = "no zone"
UNREAD_ZONES = "zones not read"


@dataclasses.dataclass(frozen=True)
class HostOutlook:
    """One host of the picture. Memory in MiB; None: unread."""

    inventory_name: str
    name: str
    zone: str
    guests: t.Optional[int]
    total: t.Optional[int]
    available: t.Optional[int]
    #: What its running guests would take elsewhere.
    need: t.Optional[int]
    #: What it could take, measured, after headroom and what its own guests have not touched yet.
    room: t.Optional[int]
    #: The room of the other hosts of its zone.
    others: int = 0
    #: Running guests that would find no seat there; None: unread.
    no_room: t.Optional[int] = None
    #: Their memory.
    no_room_mib: int = 0
    #: Hosts of its zone whose room is not known.
    unknown: int = 0
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Zone:
    """A zone with its hosts, by name."""

    name: str
    hosts: t.Tuple[HostOutlook, ...]


@dataclasses.dataclass(frozen=True)
class Measured:
    """What each running guest of a host takes of small pages, and the host's account of its room; None: unread."""

    guests: t.Optional[t.List[int]]
    account: t.Optional[t.Dict[str, int]]


def measure(facts: HostFacts) -> Measured:
    """Return what is needed of a host and its guests."""
    request = EvacuationRequest(host="")
    return Measured(_guests(facts, request), room(facts, request, ()))


def zones(bundle: Bundle, measured: t.Optional[t.Mapping[str, Measured]] = None) -> t.List[Zone]:
    """Return all zones with their hosts, those that did not answer too. ``measured``: of each host that was read."""
    if measured is None:
        measured = {name: measure(facts) for name, facts in bundle.hosts.items()}
    known = zones_of(bundle)
    groups: t.Dict[str, t.List[HostOutlook]] = {}
    sizes: t.Dict[str, t.List[int]] = {}
    for key in sorted({*bundle.hosts, *bundle.unreachable}):
        facts = bundle.hosts.get(key)
        name = (conf_host(facts) if facts else None) or key
        zone = UNREAD_ZONES if known is None else " + ".join(sorted(known.get(name, {}))) or NO_ZONE
        seen = measured.get(key, Measured(None, None))
        sizes[key] = seen.guests or []
        groups.setdefault(zone, []).append(_host(key, name, zone, facts, seen, bundle))
    return [Zone(zone, _outlooks(groups[zone], sizes)) for zone in sorted(groups)]


def _guests(facts: HostFacts, request: EvacuationRequest) -> t.Optional[t.List[int]]:
    if facts.domains is None:
        return None
    running = (domain for domain in facts.domains if domain.state in RUNNING)
    return [demand_mib(0 if domain.hugepage_kib is not None else domain.memory_mib, request) for domain in running]


def _host(
    key: str,
    name: str,
    zone: str,
    facts: t.Optional[HostFacts],
    seen: Measured,
    bundle: Bundle,
) -> HostOutlook:
    if facts is None:
        return HostOutlook(key, name, zone, None, None, None, None, None, reason=bundle.unreachable.get(key))
    guests, account = seen.guests, seen.account
    return HostOutlook(
        key,
        name,
        zone,
        None if guests is None else len(guests),
        facts.memory.total_mib if facts.memory else None,
        facts.memory.available_mib if facts.memory else None,
        None if guests is None else sum(guests),
        None if account is None else max(0, account["room"]),
    )


def _outlooks(hosts: t.Sequence[HostOutlook], sizes: t.Mapping[str, t.Sequence[int]]) -> t.Tuple[HostOutlook, ...]:
    whole = sum(host.room or 0 for host in hosts)
    unread = sum(1 for host in hosts if host.room is None)
    ordered = sorted((host for host in hosts if host.room), key=lambda host: -(host.room or 0))
    result = []
    for host in hosts:
        guests = sizes[host.inventory_name]
        # Each guest goes where the most room is: as many hosts as there are guests, and the host itself, are enough.
        others = [-(entry.room or 0) for entry in ordered[: len(guests) + 1] if entry is not host]
        left = None if host.need is None else _no_room(others, guests)
        unknown = unread - (host.room is None)
        result.append(
            dataclasses.replace(
                host,
                others=whole - (host.room or 0),
                no_room=None if left is None else len(left),
                no_room_mib=sum(left or []),
                unknown=unknown,
            )
        )
    return tuple(result)


def _no_room(rooms: t.List[int], sizes: t.Sequence[int]) -> t.List[int]:
    """Seat the largest first, each where the most room is; return the sizes of those that find none."""
    heapq.heapify(rooms)
    left = []
    for size in sorted(sizes, reverse=True):
        if rooms and -rooms[0] >= size:
            heapq.heapreplace(rooms, rooms[0] + size)
        else:
            left.append(size)
    return left
