# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which host takes which guest of a dead host, in which wave, and why not another. Pure.

Guests are assigned one by one in the order given (the largest first, unless the operator says otherwise); each goes to
the host with most measured room left after it. What it takes is taken off at once: measured memory, huge pages,
placement's capacity, what its group allows. So no host is ever promised more than was measured, and an unassigned guest
has, for every host, each reason that speaks against it.

The scheduler is asked again when the guest is sent, and has the last word.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import ServerGroup
from ..model.findings import CATALOGUE
from ..model.requests import EvacuationRequest
from .leaving_guests import Guest, Reason
from .measured import (
    Destination,
    demand_mib,
    refused_by_scheduler,
    take_pages,
)

#: Codes that an override by name passes over while a host is chosen. What the scheduler would refuse anyway (zone,
#: group, state, placement) is not among them: Nova would turn the server to ERROR.
PASSABLE = tuple(code for code, entry in CATALOGUE.items() if entry.of_destination)

#: How many hosts a guest is tried on. A host that the scheduler refused was not tried: nothing happened there. After
#: this many refusals the planner stops: the scheduler has a reason that is not among the facts.
ATTEMPTS = 3
REFUSALS = 20

#: Policies of server groups; Nova does not enforce the soft ones.
AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"

#: By guest, the hosts on which it failed, and why.
Tried = t.Mapping[str, t.Mapping[str, str]]

#: Which reasons explain best why a guest is unassigned: the first group that covers all that a host has against it.
_TELLING = (
    ("SG523",),
    ("SG503",),
    ("SG501", "SG503"),
    ("SG504", "SG505", "SG501", "SG503"),
    ("SG513", "SG501", "SG503"),
)


@dataclasses.dataclass(frozen=True)
class Assignment:
    """A guest's place. ``wave`` counts from 1; ``why``: for people."""

    uuid: str
    name: str
    host: str
    wave: int
    memory_mib: int
    why: str


@dataclasses.dataclass(frozen=True)
class Unassigned:
    """A guest that no host can take: by host, everything that speaks against it."""

    uuid: str
    name: str
    code: str
    reasons: t.Dict[str, t.List[Reason]]
    #: What speaks against the guest itself, wherever it would go.
    problems: t.Tuple[Reason, ...] = ()


@dataclasses.dataclass(frozen=True)
class Assignments:
    """Who goes where, and who does not."""

    assigned: t.List[Assignment]
    unassigned: t.List[Unassigned]


class _Board:
    """What is left while guests are assigned."""

    def __init__(
        self, hosts: t.Sequence[Destination], member_hosts: t.Mapping[str, str], request: EvacuationRequest
    ) -> None:
        self.request = request
        self.hosts = {host.host: host for host in hosts}
        self.room = {host.host: host.room_mib for host in hosts}
        self.pages = {host.host: host.pages for host in hosts}
        self.free = {host.host: dict(host.free) for host in hosts}
        self.where = dict(member_hosts)
        self.count = dict.fromkeys(self.hosts, 0)
        #: A guest that must stay in a zone is not compared with the hosts of all others.
        self._zones: t.Dict[t.Optional[str], t.List[str]] = {}
        for entry in hosts:
            self._zones.setdefault(entry.zone, []).append(entry.host)

    def against(self, guest: Guest, host: str, passed: t.Container[str] = ()) -> t.List[Reason]:
        """Return every reason against a host, but those that the operator passes."""
        return [reason for reason in self._reasons(guest, self.hosts[host]) if not reason.passed(passed)]

    def fitting(self, guest: Guest, passed: t.Container[str], failed: t.Container[str]) -> t.List[str]:
        """Return the hosts that nothing speaks against. Only the first reason is looked for: most hosts have one."""
        near = list(self.hosts) if guest.zone is None else self._zones.get(guest.zone, [])
        return [
            host
            for host in near
            if host not in failed and all(reason.passed(passed) for reason in self._reasons(guest, self.hosts[host]))
        ]

    def _reasons(self, guest: Guest, there: Destination) -> t.Iterator[Reason]:
        yield from there.problems
        yield from _own(guest, there)
        yield from _zone(guest, there)
        yield from _aggregates(guest, there)
        yield from guest.unfit.get(there.host, ())
        yield from self._groups(guest, there.host)
        yield from self._placement(guest, there)
        yield from self._memory(guest, there.host)
        yield from self._pages(guest, there.host)
        yield from _disks(guest, there)

    def _groups(self, guest: Guest, host: str) -> t.Iterator[Reason]:
        for group in guest.groups:
            others = [self.where[member] for member in group.members if member != guest.uuid and member in self.where]
            if group.policy == ANTI_AFFINITY and others.count(host) >= (group.max_server_per_host or 1):
                yield Reason(
                    "SG512", f"anti-affinity: server group {group.id} has {others.count(host)} members on this host"
                )
            if group.policy == AFFINITY and host not in others:
                yield Reason("SG512", _affinity(group, others, guest.source or self.request.host))

    def _placement(self, guest: Guest, there: Destination) -> t.Iterator[Reason]:
        if guest.offers is not None and there.provider not in guest.offers:
            yield Reason(
                "SG512",
                "placement does not offer this host for the resources that the server needs. Placement may treat a "
                "host as disabled for up to a minute after someone enables the host",
            )
            return
        free = self.free[there.host]
        short = {name: amount for name, amount in guest.needs.items() if free.get(name, 0) < amount}
        for name, amount in sorted(short.items()):
            yield Reason(
                "SG512", f"placement has {free.get(name, 0)} {name} left on this host, but the server needs {amount}"
            )

    def _memory(self, guest: Guest, host: str) -> t.Iterator[Reason]:
        room = self.room[host]
        wanted = demand_mib(guest.memory_mib, self.request)
        # A host whose memory is unread says so among its problems.
        if room is not None and room < wanted:
            yield Reason("SG501", f"this host has {room} MiB of real memory left, but the server needs {wanted} MiB")

    def _pages(self, guest: Guest, host: str) -> t.Iterator[Reason]:
        if not guest.cells:
            return
        pages = self.pages[host]
        if pages is None:
            yield Reason("SG709", "the run has not read the huge pages of this host")
        elif take_pages(pages, guest.cells) is None:
            wanted = ", ".join(f"{cell.memory_mib} MiB of {cell.page_kib} KiB pages" for cell in guest.cells)
            yield Reason(
                "SG503",
                (
                    "this host has too few NUMA nodes with enough free huge pages: each NUMA cell of the server needs "
                    f"its own NUMA node ({wanted})"
                ),
            )

    def assign(self, guest: Guest, host: str) -> Assignment:
        """Take off what the guest takes."""
        room, pages = self.room[host], self.pages[host]
        left = (room or 0) - demand_mib(guest.memory_mib, self.request)
        self.room[host] = left
        if guest.cells:
            # Passed over by name: nothing is known to be left.
            self.pages[host] = take_pages(pages or {}, guest.cells) or dict.fromkeys(pages or {}, 0)
        for name, amount in guest.needs.items():
            self.free[host][name] = self.free[host].get(name, 0) - amount
        self.where[guest.uuid] = host
        wave = 1 + self.count[host] // max(1, self.request.parallel)
        self.count[host] += 1
        why = f"the host has {room} MiB of free real memory before this server arrives, and {left} MiB afterwards"
        if host in guest.avoided:
            why += f"; the run found no better host, and the scheduler may refuse this host: {guest.avoided[host]}"
        return Assignment(guest.uuid, guest.name, host, wave, guest.size, why)


def _affinity(group: ServerGroup, others: t.Sequence[str], source: str) -> str:
    """The filter wants a host that has a member; the source counts as one (filters/affinity_filter.py, 26 to 34)."""
    elsewhere = sorted(set(others) - {source})
    if elsewhere:
        return f"affinity: the other members of server group {group.id} are on {', '.join(elsewhere)}"
    return (
        f"affinity: server group {group.id} has members only on the server's current host, so Nova accepts "
        "no other host"
    )


def _own(guest: Guest, there: Destination) -> t.Iterator[Reason]:
    if guest.source == there.host:
        yield Reason("SG512", "the server is already on this host")


def _zone(guest: Guest, there: Destination) -> t.Iterator[Reason]:
    if guest.zone is not None and there.zone != guest.zone:
        yield Reason("SG512", f"the host is in zone {there.zone}, but the server must stay in zone {guest.zone}")


def _aggregates(guest: Guest, there: Destination) -> t.Iterator[Reason]:
    if there.host in guest.barred:
        yield Reason("SG512", guest.barred[there.host])


def _disks(guest: Guest, there: Destination) -> t.Iterator[Reason]:
    if not guest.images:
        # It boots from a volume and has no other disk. Where its disks are unknown, its own problems say so.
        return
    if there.storage is None:
        # With nothing read at all its problems say so already.
        if there.room_mib is not None:
            yield Reason(
                "SG709",
                "the run has not read nova.conf of this host, so the run does not know where the host stores disks",
            )
    elif there.storage != "rbd":
        why = against_files(guest, there)
        if why is not None:
            yield Reason("SG513", f"the host stores disks as files, and the server's are not proven to be there: {why}")
    elif there.images is None or (there.asked and guest.uuid not in there.asked):
        yield Reason("SG709", "the run has not read the images in the Ceph pool of this host")
    else:
        missing = sorted(set(guest.images) - there.images)
        if missing:
            yield Reason("SG504", f"the Ceph pool of this host lacks {', '.join(missing)}")


def against_files(guest: Guest, there: Destination) -> t.Optional[str]:
    """Say why a guest cannot start on a host from the very files that it ran from; None: it can."""
    if guest.in_ceph or there.files is None:
        return "the server has images in Ceph" if guest.in_ceph else "they were not looked for"
    return there.files.against(guest.uuid, guest.images or ())


def assign(
    guests: t.Sequence[Guest],
    hosts: t.Sequence[Destination],
    member_hosts: t.Mapping[str, str],
    request: EvacuationRequest,
    passed: t.Optional[t.Mapping[str, t.Container[str]]] = None,
    tried: t.Optional[Tried] = None,
) -> Assignments:
    """Assign guests in their order. ``passed``: by uuid, the codes that the operator passes over by name.

    ``tried``: hosts on which a guest failed in this run; it is not sent there again, and after
    :data:`ATTEMPTS` of them nowhere.
    """
    board = _Board(hosts, member_hosts, request)
    assigned: t.List[Assignment] = []
    unassigned: t.List[Unassigned] = []
    for guest in guests:
        waived = [code for code in PASSABLE if code in (passed or {}).get(guest.uuid, ())]
        failed = (tried or {}).get(guest.uuid, {})
        problems = tuple(reason for reason in (*guest.problems, *_worn_out(failed)) if not reason.passed(waived))
        fitting = [] if problems else board.fitting(guest, waived, failed)
        if fitting:
            assigned.append(board.assign(guest, _best(fitting, guest, board)))
            continue
        against = {host: board.against(guest, host, waived) for host in board.hosts}
        for host, why in failed.items():
            against.setdefault(host, []).append(
                Reason("SG512", f"the run has already tried this host for the server, without success: {why}")
            )
        unassigned.append(Unassigned(guest.uuid, guest.name, _telling(problems, against), against, problems))
    return Assignments(assigned, unassigned)


def _worn_out(failed: t.Mapping[str, str]) -> t.List[Reason]:
    refused = [host for host, why in failed.items() if refused_by_scheduler(why)]
    tried = [host for host in failed if host not in refused]
    if len(tried) >= ATTEMPTS:
        return [
            Reason(
                "SG512",
                (
                    f"the run tried these destinations for the server without success: {', '.join(sorted(tried))}. The "
                    "run tries no other destination for the server"
                ),
            )
        ]
    if len(refused) >= REFUSALS:
        return [
            Reason(
                "SG512",
                f"the scheduler refused {len(refused)} hosts for the server. After this number of refusals, the run "
                "tries no other host for the server",
            )
        ]
    return []


def _best(fitting: t.Sequence[str], guest: Guest, board: _Board) -> str:
    """Most room left; before that soft policies, before these what aggregates say; by name where all is equal."""

    def order(host: str) -> t.Tuple[bool, int, int, str]:
        return host in guest.avoided, -_liking(guest, host, board), -(board.room[host] or 0), host

    return min(fitting, key=order)


def _liking(guest: Guest, host: str, board: _Board) -> int:
    liking = 0
    for group in guest.groups:
        members = sum(1 for member in group.members if member != guest.uuid and board.where.get(member) == host)
        liking += {"soft-affinity": members, "soft-anti-affinity": -members}.get(group.policy or "", 0)
    return liking


def _telling(problems: t.Sequence[Reason], against: t.Mapping[str, t.Sequence[Reason]]) -> str:
    if problems:
        return problems[0].code
    codes = [{reason.code for reason in reasons} for reasons in against.values()]
    for group in _TELLING:
        if any(found <= set(group) for found in codes):
            return group[0]
    # Something unread is all that keeps a host from it: that is what must be made readable.
    if any("SG709" in found and "SG512" not in found for found in codes):
        return "SG709"
    return "SG512"


def waves(assigned: t.Sequence[Assignment]) -> t.List[t.List[Assignment]]:
    """Return the assignments wave by wave, each in the order they were made."""
    last = max((place.wave for place in assigned), default=0)
    return [[place for place in assigned if place.wave == number] for number in range(1, last + 1)]


def explained(assignments: Assignments, hosts: t.Sequence[Destination]) -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return, by server, where it goes and why, or what speaks against every host: for the report."""
    names = [host.host for host in hosts]
    places: t.Dict[str, t.Dict[str, t.Any]] = {
        place.uuid: {"name": place.name, "host": place.host, "wave": place.wave, "why": place.why}
        for place in assignments.assigned
    }
    for entry in assignments.unassigned:
        against = {host: [reason.text for reason in entry.reasons.get(host, [])] for host in names}
        places[entry.uuid] = {"name": entry.name, "host": None, "code": entry.code, "why not": against}
        if entry.problems:
            places[entry.uuid]["server"] = [reason.text for reason in entry.problems]
    return places
