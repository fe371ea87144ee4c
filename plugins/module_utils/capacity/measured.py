# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that could take guests, by measured memory, and what is in transit to them. Pure.

Built from the evidence. What the evidence does not say is a reason against a host, never a guess.
"""

from __future__ import annotations

import dataclasses
import math
import typing as t

from ..model.facts import (
    ApiMigration,
    Bundle,
    Domain,
    EvacuationFacts,
    HostFacts,
    NumaCell,
    TargetHost,
)
from ..model.lookups import uuid_key
from ..model.names import conf_host
from ..model.requests import EvacuationRequest
from . import shared_files
from .leaving_guests import (
    SMALL_PAGE,
    Reason,
    taken_by,
)

#: NUMA node and page size in KiB.
Pages = t.Tuple[t.Optional[int], int]


@dataclasses.dataclass(frozen=True)
class Destination:
    """A host that could take guests. ``room_mib``: measured, after headroom and what is promised; None: unread."""

    host: str
    provider: str
    zone: t.Optional[str]
    room_mib: t.Optional[int]
    #: Free huge pages by NUMA node and size; None: unread.
    pages: t.Optional[t.Mapping[Pages, int]]
    free: t.Mapping[str, int]
    #: ``rbd``, ``local`` or None: unread.
    storage: t.Optional[str]
    #: Names of the images in its pool, of the instances asked for; None: unread.
    images: t.Optional[t.FrozenSet[str]]
    #: Instances whose images were asked for; empty: all.
    asked: t.FrozenSet[str] = frozenset()
    #: What keeps every guest from it.
    problems: t.Tuple[Reason, ...] = ()
    #: For people: how ``room_mib`` came about.
    account: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: What it has of the files of the dead host's guests, where it stores disks as files.
    files: t.Optional[shared_files.SharedFiles] = None


@dataclasses.dataclass(frozen=True)
class IncomingServer:
    """A guest that this run has sent to a host. ``needs``: of placement, where it may not hold them there yet."""

    uuid: str
    host: str
    memory_mib: int
    cells: t.Tuple[NumaCell, ...] = ()
    needs: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: False: how large it is was not read, so that nothing is known to be left on that host.
    known: bool = True


#: Domain states in which QEMU holds memory.
RUNNING = ("running", "blocked", "paused", "shutdown", "pmsuspended", "nostate")


def untouched_mib(domain: Domain) -> int:
    """Return what a running guest may still take of the host's small pages, MiB.

    Resident memory that was not read counts as none: the guest may still take everything.
    """
    if domain.state not in RUNNING or domain.hugepage_kib is not None:
        return 0
    return max(0, domain.memory_mib - (domain.rss_mib or 0))


def free_pages(facts: HostFacts) -> t.Optional[t.Dict[Pages, int]]:
    """Return free huge pages by NUMA node and size. Pages promised somewhere are taken off every node."""
    if facts.hugepages is None:
        return None
    return {(entry.numa_node, entry.size_kib): max(0, entry.free - entry.reserved) for entry in facts.hugepages}


def room(
    facts: HostFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer]
) -> t.Optional[t.Dict[str, int]]:
    """Return the account of a host's measured room, MiB: ``room`` and what it is made of; None: unread."""
    if facts.memory is None or facts.domains is None:
        return None
    reserved = (facts.nova_conf.reserved_host_memory_mb or 0) if facts.nova_conf else 0
    headroom = max(request.headroom_mib, reserved)
    untouched = sum(untouched_mib(domain) for domain in facts.domains)
    there = {domain.uuid for domain in facts.domains if domain.state in RUNNING}
    way = sum(demand_mib(entry.memory_mib, request) for entry in sent if entry.uuid not in there)
    available = facts.memory.available_mib
    return {
        "available": available,
        "headroom": headroom,
        "untouched by running guests": untouched,
        "servers in transit": way,
        "room": available - headroom - untouched - way,
    }


def demand_mib(memory_mib: int, request: EvacuationRequest) -> int:
    """Return what a guest takes of the measured memory, MiB: its small pages, and QEMU's own. Never rounded down."""
    return math.ceil(memory_mib / request.overcommit) + request.overhead_mib


def by_nova_name(bundle: Bundle) -> t.Dict[str, HostFacts]:
    """Return host facts by what Nova calls the host: what is read on the host decides, not the inventory."""
    named = ((conf_host(facts), facts) for facts in bundle.hosts.values())
    return {name: facts for name, facts in named if name is not None}


def libvirt_twins(bundle: Bundle, host: t.Optional[str]) -> t.List[str]:
    """Return the hosts whose libvirt has the same host uuid: between these, libvirt refuses a live migration."""
    uuids = {
        name: uuid_key(facts.libvirt.host_uuid)
        for name, facts in by_nova_name(bundle).items()
        if facts.libvirt is not None and facts.libvirt.host_uuid
    }
    own = uuids.get(host or "")
    return sorted(name for name, uuid in uuids.items() if own is not None and uuid == own and name != host)


def destinations(
    bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer] = ()
) -> t.List[Destination]:
    """Return every compute host but the source, by name, with what stands against it."""
    hosts = by_nova_name(bundle)
    services = (bundle.cloud.services if bundle.cloud else None) or []
    alive_at = next((service.updated_at for service in services if service.host == request.host), None)
    found = [
        _destination(
            target, hosts.get(target.host), request, [entry for entry in sent if entry.host == target.host], alive_at
        )
        for target in about.targets or []
        if target.host != request.host
    ]
    return sorted(found, key=lambda entry: entry.host)


def _destination(
    target: TargetHost,
    facts: t.Optional[HostFacts],
    request: EvacuationRequest,
    sent: t.Sequence[IncomingServer],
    alive_at: t.Optional[str],
) -> Destination:
    problems = list(_state_problems(target))
    if facts is None:
        problems.append(Reason("SG709", "the run has not read this host"))
        free = target.free or {}
        return Destination(
            target.host, target.provider, target.zone, None, None, free, None, None, problems=tuple(problems)
        )
    account = room(facts, request, sent)
    if account is None:
        problems.append(
            Reason(
                "SG709",
                f"the run has not read the memory or the domains of this host{_why(facts, 'memory', 'domains')}",
            )
        )
    pages = free_pages(facts)
    there = {domain.uuid for domain in facts.domains or []}
    unknown = sorted(entry.uuid for entry in sent if not entry.known and entry.uuid not in there)
    if unknown:
        problems.append(Reason("SG709", f"servers of unknown size are moving to this host: {', '.join(unknown[:5])}"))
    for entry in sent:
        if pages is not None and entry.uuid not in there:
            pages = take_pages(pages, entry.cells) or dict.fromkeys(pages, 0)
    storage, images = _storage(facts)
    return Destination(
        host=target.host,
        provider=target.provider,
        zone=target.zone,
        room_mib=None if account is None else account["room"],
        pages=pages,
        free=_free(target, sent),
        storage=storage,
        images=images,
        asked=frozenset(facts.rbd.instances if facts.rbd else ()),
        problems=tuple(problems),
        account=account or {},
        files=shared_files.seen_at(facts, request, alive_at) if storage == "local" else None,
    )


def _free(target: TargetHost, sent: t.Sequence[IncomingServer]) -> t.Dict[str, int]:
    """Return what placement has left. What is on its way may be held there already: then too little is counted."""
    free = dict(target.free or {})
    for entry in sent:
        for name, amount in entry.needs.items():
            free[name] = free.get(name, 0) - amount
    return free


def _state_problems(target: TargetHost) -> t.Iterator[Reason]:
    if target.state != "up" or target.forced_down:
        yield Reason("SG512", "the compute service of this host is down")
    if target.status != "enabled":
        yield Reason(
            "SG512", f"the compute service of this host is disabled ({target.disabled_reason or 'no reason given'})"
        )
    if target.free is None:
        yield Reason("SG512", "placement has no inventory of this host")


def _why(facts: HostFacts, *parts: str) -> str:
    reasons = [f"{entry.part}: {entry.reason}" for entry in facts.unread if entry.part in parts]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _storage(facts: HostFacts) -> t.Tuple[t.Optional[str], t.Optional[t.FrozenSet[str]]]:
    if facts.nova_conf is None:
        return None, None
    if facts.nova_conf.images_type != "rbd":
        return "local", frozenset()
    if facts.rbd is None or facts.rbd.images is None:
        return "rbd", None
    return "rbd", frozenset(image.name for image in facts.rbd.images)


def take_pages(pages: t.Mapping[Pages, int], cells: t.Sequence[NumaCell]) -> t.Optional[t.Dict[Pages, int]]:
    """Return the pages that are left after these cells, each on one NUMA node of the host; None: they do not fit.

    No two cells of a guest share a node (nova/virt/hardware.py, numa_fit_instance_to_host). The largest cell goes
    first, to the node with most free pages of its size. Nova may choose other nodes: it has the last word.
    """
    left, used = dict(pages), set()
    for cell in sorted(cells, key=lambda cell: -cell.memory_mib):
        size = cell.page_kib or SMALL_PAGE
        wanted = -(-cell.memory_mib * 1024 // size)
        fitting = [
            (count, node) for (node, kib), count in left.items() if kib == size and count >= wanted and node not in used
        ]
        if not fitting:
            return None
        node = max(fitting, key=lambda entry: (entry[0], -(entry[1] if entry[1] is not None else -1)))[1]
        used.add(node)
        left[(node, size)] -= wanted
    return left


#: Migration type to the statuses in which something is still to arrive (nova/compute/manager.py, nova/conductor;
#: 26 to 34). A resize that is finished holds its memory there until it is confirmed, whether it runs or not.
_MOVES = ("accepted", "pre-migrating", "migrating", "post-migrating", "finished", "confirming")


ARRIVING: t.Mapping[str, t.Tuple[str, ...]] = {
    "evacuation": ("accepted", "pre-migrating"),
    "live-migration": ("accepted", "queued", "preparing", "running", "post-migrating"),
    "migration": _MOVES,
    "resize": _MOVES,
}


#: Before these are over, the scheduler may not have taken placement's resources of the destination.
UNCLAIMED = ("accepted", "queued")


REVERTING = "reverting"


def in_transit(about: EvacuationFacts) -> t.List[IncomingServer]:
    """Return what every migration under way still takes of its destination, by Nova's own records, of any host.

    Whether its domain runs there already is seen when the destination is measured (:func:`destinations`): then it
    takes nothing more. One whose size was not read says so.
    """
    servers = {entry.uuid: entry for entry in about.transit or []}
    found = []
    for row in about.migrations or []:
        host = arriving_at(row)
        if host is None or row.instance_uuid is None:
            continue
        entry = servers.get(row.instance_uuid)
        if entry is None and about.transit is not None:
            # It is gone: its record was left behind, and takes nothing.
            continue
        flavor = entry.flavor if entry else None
        if entry is None or flavor is None or entry.cells is None:
            found.append(IncomingServer(row.instance_uuid, host, 0, known=False))
            continue
        huge = tuple(cell for cell in entry.cells if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE)
        memory = max(0, flavor.ram - sum(cell.memory_mib for cell in huge))
        needs = taken_by(flavor, False) if row.status in UNCLAIMED else {}
        found.append(IncomingServer(row.instance_uuid, host, memory, huge, needs))
    return merge_sent(found)


def arriving_at(row: ApiMigration) -> t.Optional[str]:
    """Return the host at which a migration will end; None: it has ended, or that is not known yet."""
    if row.status == REVERTING:
        return row.source_compute
    return row.dest_compute if row.status in ARRIVING.get(row.migration_type or "", ()) else None


def merge_sent(*lists: t.Iterable[IncomingServer]) -> t.List[IncomingServer]:
    """Return these as one list: the same server to the same host counts once, with the larger numbers.

    The same server to two hosts counts at both: nobody can say which of the two is right.
    """
    found: t.Dict[t.Tuple[str, str], IncomingServer] = {}
    for entry in (entry for some in lists for entry in some):
        key = (entry.uuid, entry.host)
        other = found.get(key)
        found[key] = entry if other is None else _larger(other, entry)
    return [found[key] for key in sorted(found)]


def _larger(one: IncomingServer, other: IncomingServer) -> IncomingServer:
    if not (one.known and other.known):
        return one if one.known else other
    needs = {name: max(one.needs.get(name, 0), other.needs.get(name, 0)) for name in sorted({*one.needs, *other.needs})}
    return IncomingServer(one.uuid, one.host, max(one.memory_mib, other.memory_mib), one.cells or other.cells, needs)


def refused_by_scheduler(reason: str) -> bool:
    """Return whether Nova says that the scheduler took no host: nothing was tried there. By Nova's own words."""
    return "no valid host" in reason.casefold()
