# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of hosts emptied one after the other: do their guests fit, with spare hosts, and how long? Pure.

The whole series is played through on the measured memory before its first host is touched: each batch's guests are
assigned by the planner of all moves, what they take is taken off there, and their hosts come back empty. While a batch
is out, the most loaded other hosts of its zones may fail: what runs there must still fit on the rest.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.requests import EvacuationRequest
from .leaving_guests import Guest
from .measured import Destination, Pages, demand_mib, take_pages
from .planner import Assignment, Unassigned, assign

#: MiB in a second that guests' memory takes over a network of 1 Gbit/s; what a series has measured replaces it.
ASSUMED_RATE = 110.0


@dataclasses.dataclass(frozen=True)
class NoSpare:
    """Hosts of a zone whose guests would not fit on the others, if they failed while a batch is out."""

    zone: t.Optional[str]
    failing: t.Tuple[str, ...]
    #: MiB of the guests that would have no place, and the room that is left on the others.
    lacking_mib: int
    room_mib: int


@dataclasses.dataclass(frozen=True)
class Batch:
    """Hosts that are emptied at the same time, and what comes of it."""

    hosts: t.Tuple[str, ...]
    assigned: t.Tuple[Assignment, ...] = ()
    unassigned: t.Tuple[Unassigned, ...] = ()
    no_spare: t.Tuple[NoSpare, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether all guests have a place, with spare hosts left."""
        return not (self.unassigned or self.no_spare)

    @property
    def moved_mib(self) -> int:
        """Memory of the guests that move, MiB."""
        return sum(entry.memory_mib for entry in self.assigned)


@dataclasses.dataclass(frozen=True)
class Cloud:
    """What a series is played on.

    ``guests``: by host, those that leave it. ``loads``: by host, the demand of each of its running guests, MiB.
    ``pages``: by host, all of its huge pages, as they are free once nothing runs there. ``where``: by server, its host,
    for server groups.
    """

    destinations: t.Sequence[Destination]
    guests: t.Mapping[str, t.Sequence[Guest]]
    loads: t.Mapping[str, t.Sequence[int]]
    pages: t.Mapping[str, t.Mapping[Pages, int]]
    where: t.Mapping[str, str]
    passed: t.Mapping[str, t.Tuple[str, ...]] = dataclasses.field(default_factory=dict)


class _Stage:
    """Where everything is, between two batches."""

    def __init__(self, cloud: Cloud, request: EvacuationRequest) -> None:
        self.cloud, self.request = cloud, request
        self.hosts = {entry.host: entry for entry in cloud.destinations}
        # Placement's offer is of now; what a host has left is counted here.
        self.guests = {
            host: [dataclasses.replace(guest, offers=None) for guest in found] for host, found in cloud.guests.items()
        }
        self.loads = {host: list(found) for host, found in cloud.loads.items()}
        self.where = dict(cloud.where)

    def copy(self) -> _Stage:
        made = _Stage.__new__(_Stage)
        made.cloud, made.request, made.where = self.cloud, self.request, dict(self.where)
        made.hosts = dict(self.hosts)
        made.guests = {host: list(found) for host, found in self.guests.items()}
        made.loads = {host: list(found) for host, found in self.loads.items()}
        return made

    def empty(self, batch: t.Sequence[str], spare: int) -> Batch:
        """Move the guests of a batch away, and look whether hosts may fail meanwhile."""
        leaving = sorted(
            (guest for host in batch for guest in self.guests.get(host, ())),
            key=lambda guest: (-guest.size, guest.uuid),
        )
        others = [entry for name, entry in sorted(self.hosts.items()) if name not in batch]
        made = assign(leaving, others, self.where, self.request, self.cloud.passed)
        guests = {guest.uuid: guest for guest in leaving}
        for place in made.assigned:
            self._move(guests[place.uuid], place.host)
        return Batch(
            tuple(batch),
            tuple(made.assigned),
            tuple(made.unassigned),
            tuple(self._no_spare(batch, spare)) if not made.unassigned else (),
        )

    def _move(self, guest: Guest, host: str) -> None:
        there, source = self.hosts[host], str(guest.source)
        demand = demand_mib(guest.memory_mib, self.request)
        pages = there.pages
        if guest.cells and pages is not None:
            pages = take_pages(pages, guest.cells) or dict.fromkeys(pages, 0)
        self.hosts[host] = dataclasses.replace(
            there, room_mib=(there.room_mib or 0) - demand, pages=pages, free=_less(there.free, guest.needs)
        )
        self.guests[source] = [other for other in self.guests[source] if other.uuid != guest.uuid]
        self.guests.setdefault(host, []).append(dataclasses.replace(guest, source=host))
        self.where[guest.uuid] = host
        self.loads.setdefault(host, []).append(demand)
        left = self.loads.get(source, [])
        if demand in left:
            left.remove(demand)
        if source in self.hosts:
            before = self.hosts[source]
            self.hosts[source] = dataclasses.replace(
                before,
                room_mib=None if before.room_mib is None else before.room_mib + demand,
                pages=self.cloud.pages.get(source, before.pages) if not self.guests[source] else before.pages,
                free=_less(before.free, {name: -amount for name, amount in guest.needs.items()}),
            )

    def _no_spare(self, batch: t.Sequence[str], spare: int) -> t.Iterator[NoSpare]:
        for zone in sorted({self.hosts[host].zone or "" for host in batch if host in self.hosts}):
            near = [
                entry
                for name, entry in sorted(self.hosts.items())
                if (entry.zone or "") == zone and name not in batch and not entry.problems
            ]
            failing = sorted(near, key=lambda entry: (-sum(self.loads.get(entry.host, ())), entry.host))[:spare]
            names = tuple(entry.host for entry in failing)
            room = {entry.host: entry.room_mib or 0 for entry in near if entry.host not in names}
            whole = sum(room.values())
            lacking = _pack([size for name in names for size in self.loads.get(name, ())], room)
            # Where too few hosts are left to keep one free, the zone has none.
            if lacking or len(failing) < spare:
                yield NoSpare(zone or None, names, lacking, whole)


def play(cloud: Cloud, hosts: t.Sequence[str], serial: int, spare: int, request: EvacuationRequest) -> t.List[Batch]:
    """Return the batches of a series, in its order; the last one does not fit where the series has no room.

    As many hosts at a time as ``serial`` allows and as their zones have room for. ``spare``: hosts of each zone that
    may fail while a batch is out.
    """
    stage = _Stage(cloud, request)
    batches: t.List[Batch] = []
    left = list(hosts)
    while left:
        made = Batch(())
        for size in range(min(max(1, serial), len(left)), 0, -1):
            tried = stage.copy()
            made = tried.empty(left[:size], spare)
            if made.fits:
                stage = tried
                break
        batches.append(made)
        if not made.fits:
            return batches
        left = left[len(made.hosts) :]
    return batches


def seconds(batches: t.Sequence[Batch], work: float, at_once: int, rate: float = ASSUMED_RATE) -> float:
    """Return about how many seconds a series takes.

    ``work``: seconds of work on a host; ``at_once``: live migrations of a host at a time; ``rate``: MiB in a second.
    """
    return sum(work + batch.moved_mib / (rate * max(1, at_once * len(batch.hosts))) for batch in batches)


def _less(free: t.Mapping[str, int], needs: t.Mapping[str, int]) -> t.Dict[str, int]:
    left = dict(free)
    for name, amount in needs.items():
        left[name] = left.get(name, 0) - amount
    return left


def _pack(sizes: t.Sequence[int], room: t.Mapping[str, int]) -> int:
    """Return how much of these sizes has no place, the largest put first, each where most room is left."""
    left, lacking = dict(room), 0
    for size in sorted(sizes, reverse=True):
        host = max(left, key=lambda name: (left[name], name), default=None)
        if host is None or left[host] < size:
            lacking += size
        else:
            left[host] -= size
    return lacking
