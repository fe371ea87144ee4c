# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May servers move to other hosts of their zone, who goes where, and how? Every reason why not, all at once. Pure.

Hosts are chosen by the evacuation's planner, from the same measured memory. Each host is named to Nova and checked by
the scheduler, so that a pin is not needed to stay in the zone; a pin to another zone would have the scheduler refuse.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..capacity import placement
from ..capacity.leaving_guests import (
    Guest,
    Reason,
    guest_of,
    in_order,
)
from ..capacity.measured import (
    Destination,
    IncomingServer,
    by_nova_name,
    destinations,
)
from ..capacity.planner import (
    PASSABLE,
    Assignment,
    Assignments,
    Tried,
    Unassigned,
    assign,
)
from ..hazards import (
    guest_places,
    identity,
    in_flight,
    left_snapshots,
    memory,
    power_state,
    unfit,
    volume_moves,
    zones,
)
from ..model import server_state
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    SILENT_CELLS,
    ApiMigration,
    ApiServer,
    Bundle,
    EvacuationFacts,
    MigrationRow,
    ZoneFacts,
)
from ..model.findings import (
    BLOCKER,
    WARNING,
    Checked,
    Finding,
    Override,
    Subject,
    Unchecked,
    blocking_findings,
    finding,
    overridden,
)
from ..model.lookups import (
    COMPUTE,
    OURS,
    Index,
    Items,
    gather,
    in_progress,
    migration_evidence,
    migration_subject,
)
from ..model.requests import COLD_FALLBACK, COLD_NEVER, MigrationRequest
from . import reachability
from . import verify as failed_move

#: Without these nothing can be decided. Pins are not among them: the scheduler knows them, and none is passed over.
NEEDED = ("services", "hypervisors", "aggregates")
ASKED = ("targets", "groups", "member_hosts")
#: Asked of a host that shall be empty at the end.
EMPTIED = ("soft_deleted",)
#: Of CloudFacts.
READ = ("servers", "hypervisors", "providers", "migrations")

#: A server that was asked for and is not there.
NO_SERVER = "SG710"

#: Hosts that a reason names.
SHOWN = 10


def remedies(request: MigrationRequest) -> t.Mapping[str, str]:
    """Return what to do about a server that no host can take, by code."""
    memory_state = "zone-without-memory" if request.within else "zone-without-memory-and-may-stay"
    return collections.defaultdict(
        lambda: remedy_text("SG406", "no-destination"),
        {
            "SG501": remedy_text("SG501", memory_state, option=request.option("partial")),
            "SG503": remedy_text("SG503", "zone-without-huge-pages"),
            "SG709": remedy_text("SG709", "move-undecided"),
            "SG710": remedy_text("SG710", "status-cannot-move"),
        },
    )


#: To the planner a host is no candidate; here all hosts that matter are those of the zone.
CODES = {"SG512": "SG406"}


@dataclasses.dataclass(frozen=True)
class MoveDecision:
    """Who may move, where to, and what that was decided from."""

    checked: Checked
    assignments: Assignments = dataclasses.field(default_factory=lambda: Assignments([], []))
    guests: t.Tuple[Guest, ...] = ()
    destinations: t.Tuple[Destination, ...] = ()
    servers: t.Tuple[ApiServer, ...] = ()
    #: By uuid, the codes for which a server does not move.
    barred: t.Mapping[str, t.Tuple[str, ...]] = dataclasses.field(default_factory=dict)
    #: By uuid, the codes that the operator passes over while a host is chosen.
    passed: t.Mapping[str, t.Tuple[str, ...]] = dataclasses.field(default_factory=dict)
    #: By uuid, the zone in which each stays.
    zones: t.Mapping[str, t.Optional[str]] = dataclasses.field(default_factory=dict)
    #: Hosts to which nobody is sent, and why.
    closed: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: What libvirt on destinations is to be asked before this can be decided.
    compare: t.Tuple[unfit.CpuProbe, ...] = ()

    def refused(self, request: MigrationRequest, overrides: t.Sequence[Override]) -> t.List[Finding]:
        """Return what forbids the operation: with ``partial`` not what keeps single servers where they are."""
        found = blocking_findings(self.checked.findings, overrides)
        if not request.partial or not self.assignments.assigned:
            return found
        return [item for item in found if item.object.kind != "instance" and not self._bars_itself(item)]

    def _bars_itself(self, item: Finding) -> bool:
        """Whether a finding keeps one server where it is: it names the server, or is about its domain."""
        return item.object.name in self.barred or (item.object.kind == "domain" and item.object.id in self.barred)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What a decision is made from. ``missing``: servers that were asked for, and are not there."""

    bundle: Bundle
    about: EvacuationFacts
    zones: ZoneFacts
    missing: t.Tuple[str, ...] = ()
    #: What Nova and other operations have on their way, wherever it goes; ``unread``: why that is not known.
    sent: t.Tuple[IncomingServer, ...] = ()
    unread: t.Tuple[str, ...] = ()
    #: Those of ``missing`` that Nova shows on a host, and that the list of that host's servers lacks.
    stray: t.Tuple[ApiServer, ...] = ()


def reason_of(operation_id: str) -> str:
    """Return the reason under which an operation disables the host that it empties: its lock."""
    return f"{OURS}drain:{operation_id}"


def method_of(status: str, request: MigrationRequest) -> t.Optional[str]:
    """Return how a server of this status moves; None: not at all.

    Live: ACTIVE and PAUSED; cold: ACTIVE and SHUTOFF (C(compute/api.py), C(live_migrate) and C(resize); 26 to 34).
    """
    method = placement.METHODS.get(status)
    if method == placement.LIVE and not request.live:
        return placement.COLD if status == "ACTIVE" else None
    if method == placement.COLD and request.cold == COLD_NEVER:
        return None
    return method


def statuses(request: MigrationRequest) -> t.List[str]:
    """Return the statuses in which a server can be moved as it was asked for."""
    return [status for status in placement.METHODS if method_of(status, request) is not None]


def preflight(
    evidence: Evidence,
    request: MigrationRequest,
    overrides: t.Sequence[Override] = (),
    ours: t.Container[str] = (),
    tried: t.Optional[Tried] = None,
    closed: t.Optional[t.Mapping[str, str]] = None,
    results: t.Sequence[t.Mapping[str, t.Any]] = (),
    able: bool = False,
) -> MoveDecision:
    """Judge the move of the servers that were read. ``ours``: those with a task that is waited for.

    ``closed``: hosts to which nobody is sent in this run, and why. ``results``: what hosts were asked before; ``able``:
    whether somebody asks them what is missing.
    """
    found = judged(evidence, request, overrides, ours, closed, results, able)
    if isinstance(found, Finding):
        return MoveDecision(Checked((found,)))
    about = evidence.about
    # One that is on its way already has its host.
    under_way = {entry.uuid: entry.host for entry in evidence.sent}
    waiting = [guest for guest in found.guests if guest.uuid not in under_way]
    where = {**(about.member_hosts or {}), **under_way}
    assignments = assign(waiting, found.destinations, where, request.arithmetic, found.passed, tried)
    room = [
        *memory.unassigned(
            found.guests, found.destinations, assignments, request.drain_host or "", remedies(request), CODES
        ),
        *memory.unmeasured(found.destinations, {guest.zone for guest in found.guests}),
        *memory.overcommitted(evidence.bundle, about, request.arithmetic, assignments),
    ]
    return dataclasses.replace(found, checked=found.checked + gather(room), assignments=assignments)


def judged(
    evidence: Evidence,
    request: MigrationRequest,
    overrides: t.Sequence[Override] = (),
    ours: t.Container[str] = (),
    closed: t.Optional[t.Mapping[str, str]] = None,
    results: t.Sequence[t.Mapping[str, t.Any]] = (),
    able: bool = False,
) -> t.Union[Finding, MoveDecision]:
    """Judge the servers that were read and their hosts, and not yet who goes where; a finding: nothing was decided."""
    facts = evidence.zones
    unread = _unread(evidence, request)
    if unread:
        remedy = remedy_text("SG709", "move-undecided")
        return finding("SG709", Subject("host", request.drain_host or "all"), {"not read": unread}, remedy)
    servers = list(facts.servers or [])
    items = [*_of_servers(evidence, request, servers, ours), *_of_hosts(evidence, request, servers)]
    checked = guest_places.joined(gather(items))
    barred = _barred(checked, servers, overrides)
    judge = unfit.Judge(evidence.bundle, results, able, evidence.about.inactive_bindings)
    leaving = in_order(_guest(server, evidence, request, judge) for server in servers if server.id not in barred)
    return MoveDecision(
        checked=checked,
        guests=tuple(leaving),
        destinations=tuple(_open_hosts(evidence, request, evidence.sent, closed or {})),
        servers=tuple(servers),
        barred=barred,
        passed=_passed(leaving, overrides),
        zones={server.id: _zone_of(facts, server) for server in servers},
        closed=dict(closed or {}),
        compare=tuple(judge.probes),
    )


def _open_hosts(
    evidence: Evidence, request: MigrationRequest, sent: t.Sequence[IncomingServer], closed: t.Mapping[str, str]
) -> t.List[Destination]:
    """Every host with what it has room for, and what keeps everybody from it."""
    return [
        dataclasses.replace(
            host,
            problems=(
                *host.problems,
                Reason("SG512", f"the run sends no more servers to this host: {closed[host.host]}"),
            ),
        )
        if host.host in closed
        else host
        for host in destinations(evidence.bundle, evidence.about, request.arithmetic, sent)
        if request.destination in (None, host.host)
    ]


def _unread(evidence: Evidence, request: MigrationRequest) -> t.List[str]:
    cloud = evidence.bundle.cloud
    asked = ASKED if request.drain_host is None else (*ASKED, *EMPTIED)
    if any(entry.part == "cells" for entry in evidence.about.unread):
        # Only where the API database is given.
        asked = (*asked, "cells")
    parts = [(cloud, READ), (evidence.about, asked), (evidence.zones, NEEDED)]
    reasons = {
        entry.part: entry.reason
        for owner in (cloud, evidence.about, evidence.zones)
        for entry in (owner.unread if owner is not None else ())
    }
    missing = [part for owner, names in parts for part in names if getattr(owner, part, None) is None]
    if SILENT_CELLS in reasons:
        missing.append(SILENT_CELLS)
    return sorted({*(f"{part}: {reasons.get(part, 'not read')}" for part in missing), *evidence.unread})


def _zone_of(facts: ZoneFacts, server: ApiServer) -> t.Optional[str]:
    """Where its pin holds it, else the zone of its host."""
    pin = (facts.pins or {}).get(server.id)
    return zones.constraint(pin, facts.aggregates or []) or zones.zone_of(facts, server.host)


def _guest(server: ApiServer, evidence: Evidence, request: MigrationRequest, judge: unfit.Judge) -> Guest:
    """A server as the planner takes it."""
    zone = _zone_of(evidence.zones, server)
    cloud = evidence.bundle.cloud
    needs = placement.held_by(cloud, [server]).get(server.id) if cloud is not None else None
    found = guest_of(server, zone, needs, evidence.about)
    problems = list(found.problems)
    method = method_of(server.status, request)
    if method is None:
        problems.append(Reason("SG710", f"the server is {server.status}"))
    hosts = [
        target.host
        for target in evidence.about.targets or []
        if zone in (None, target.zone) and request.destination in (None, target.host)
    ]

    def against(live: bool) -> t.Dict[str, t.Tuple[Reason, ...]]:
        stored = server_state.stored_machine_type(server.id, evidence.about)
        needed = unfit.needs(judge.domain(server.host, server.id), server.host, live, stored)
        return judge.unfit(hosts, needed, server.id)

    live, cold = method == placement.LIVE, placement.COLD in (method, _otherwise(method, request))
    return dataclasses.replace(
        found,
        source=server.host,
        problems=tuple(problems),
        unfit=against(live) if method is not None else {},
        unfit_cold=against(False) if cold else {},
    )


def _otherwise(method: t.Optional[str], request: MigrationRequest) -> t.Optional[str]:
    """How a server moves where its live migration fails."""
    return placement.COLD if method == placement.LIVE and request.cold == COLD_FALLBACK else None


# --- servers --------------------------------------------------------------------------------------------------


def _of_servers(
    evidence: Evidence, request: MigrationRequest, servers: t.Sequence[ApiServer], ours: t.Container[str]
) -> Items:
    facts = evidence.zones
    for entry in evidence.about.unread:
        if entry.part in ("inactive_bindings", "failed_moves"):
            yield Unchecked("SG713", entry.part.replace("_", " "), entry.reason)
    for name, host in sorted(evidence.bundle.hosts.items()):
        if host.instances_path is None:
            reasons = [entry.reason for entry in host.unread if entry.part == "instances_path"]
            yield Unchecked("SG713", name, reasons[0] if reasons else "instances_path was not read")
    strays = {server.id: server for server in evidence.stray}
    for uuid in evidence.missing:
        if uuid in strays:
            yield not_on_its_host(strays[uuid])
            continue
        state = "absent-or-hostless" if request.drain_host is None else "not-on-drained-host"
        yield finding(NO_SERVER, Subject("instance", uuid), {"server": "not found"}, remedy_text(NO_SERVER, state))
    movable = statuses(request)
    for server in servers:
        if server.id in ours:
            continue
        yield from _state(evidence, server, movable, request)
        if method_of(server.status, request) == placement.COLD:
            yield from left_snapshots.by_record(
                evidence.bundle, server, (evidence.about.failed_moves or {}).get(server.id)
            )
        for item in zones.milder(zones.pinned(facts, server), ("SG402",)):
            # The host is named: no pin is needed to stay, and hundreds of these would hide what matters.
            if item.code != "SG401":
                yield item
        if server.host is not None and zones.zone_of(facts, server.host) is None:
            seen = {"host": server.host, "zones of its host": _zones_of(facts, server.host)}
            remedy = remedy_text("SG709", "host-without-single-zone")
            yield finding("SG709", zones.subject_of(server), seen, remedy)
    waiting = [server for server in servers if server.id not in ours]
    index, hosts = Index(evidence.bundle), [target.host for target in evidence.about.targets or []]
    shown = [guest_places.of_api(server) for server in waiting if server.host is not None]
    found = list(guest_places.against_touching(index, shown, hosts))
    yield from found
    told = {item.object.id for item in found if isinstance(item, Finding)}
    yield from _guests_off(evidence, [server for server in waiting if server.id not in told], request)
    yield from in_flight.moves_of(
        evidence.bundle, {server.id for server in waiting}, lambda row: _way_out(row, request)
    )
    quiet = [server for server in waiting if server.task_state is None]
    cloud = evidence.bundle.cloud
    yield from volume_moves.before(cloud.block_storage if cloud else None, quiet)


def _way_out(row: MigrationRow, request: MigrationRequest) -> str:
    """What to do about a migration of a server that is to be moved: its hosts are alive, or that comes first."""
    if row.status == "finished":
        code, told = "SG703", remedy_text("SG703", "server-to-move-is-resized", uuid=row.instance_uuid)
    else:
        code, told = (
            "SG702",
            remedy_text("SG702", "server-to-move-migrates", source=row.source_compute, destination=row.dest_compute),
        )
    if request.within:
        return told
    return f"{told} {remedy_text(code, 'may-stay', option=request.option('partial'))}"


def _guests_off(evidence: Evidence, servers: t.Sequence[ApiServer], request: MigrationRequest) -> Items:
    """SG710: what Nova shows as running is off on its host."""
    hosts = by_nova_name(evidence.bundle)
    methods = {status: method_of(status, request) for status in placement.METHODS}
    for host in sorted({server.host for server in servers if server.host is not None}):
        there = [server for server in servers if server.host == host]
        yield from power_state.check(host, there, hosts.get(host), methods)


def _zones_of(facts: ZoneFacts, host: str) -> t.List[str]:
    return zones.zones_by_host(facts.aggregates or []).get(host, [])


def _state(evidence: Evidence, server: ApiServer, movable: t.Sequence[str], request: MigrationRequest) -> Items:
    if server.host is None:
        yield finding("SG710", zones.subject_of(server), {"host": None}, remedy_text("SG710", "without-host"))
        return
    if server.status == "ERROR":
        # Those that a move may have left so: the host itself says more than Nova's status.
        zone = zones.zone_of(evidence.zones, server.host)
        near = [target.host for target in evidence.about.targets or [] if target.zone == zone]
        every = [target.host for target in evidence.about.targets or []]
        found = failed_move.examine(evidence.bundle, server, near, None, every)
        if found.runs:
            yield failed_move.told(dataclasses.replace(found, against=None))
            return
    asked = f"{request.option('live')}={str(request.live).lower()}, {request.option('cold')}={request.cold}"
    rule = remedy_text("SG710", "statuses-of-options", options=asked, statuses=" or ".join(movable))
    if request.within:
        rule = remedy_text("SG710", "statuses-of-run", statuses=" or ".join(movable))
    yield from zones.state(server, movable, rule)


def _barred(
    checked: Checked, servers: t.Sequence[ApiServer], overrides: t.Sequence[Override]
) -> t.Dict[str, t.Tuple[str, ...]]:
    """Servers that a finding of their own keeps where they are. A migration is named after its server."""
    found: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
    for item in checked.findings:
        if item.severity == BLOCKER and not overridden(item, overrides):
            found[str(item.object.name if item.object.kind == "migration" else item.object.id)].add(item.code)
    return {server.id: tuple(sorted(found[server.id])) for server in servers if server.id in found}


def _passed(leaving: t.Sequence[Guest], overrides: t.Sequence[Override]) -> t.Dict[str, t.Tuple[str, ...]]:
    return {
        guest.uuid: tuple(
            entry.code for entry in overrides if entry.object in (guest.uuid, guest.name) and entry.code in PASSABLE
        )
        for guest in leaving
    }


# --- hosts ----------------------------------------------------------------------------------------------------


def _of_hosts(evidence: Evidence, request: MigrationRequest, servers: t.Sequence[ApiServer]) -> Items:
    facts = evidence.zones
    sources = {server.host for server in servers if server.host is not None}
    services = {entry.host: entry for entry in facts.services or [] if entry.binary == COMPUTE}
    if request.drain_host is not None:
        sources.add(request.drain_host)
        yield from in_flight.unknown_host(request.drain_host, sorted(services))
        yield from _coming(evidence.bundle, request.drain_host)
        yield from _unlisted(evidence, request.drain_host, servers)
    for host in sorted(sources):
        yield from in_flight.held_by_another(evidence.about, host, {request.within or reason_of(request.operation_id)})
        service = services.get(host)
        # A host that only becomes another one needs no nova-compute to send nobody away.
        needed = not request.within or any(server.host == host for server in servers)
        if service is not None and needed and (service.state != "up" or service.forced_down):
            seen = {"state": service.state, "status": service.status, "forced_down": service.forced_down}
            remedy = remedy_text("SG704", "source-of-move-down")
            yield finding("SG704", Subject("service", service.id, host=host), seen, remedy, BLOCKER)
        live = any(server.host == host and method_of(server.status, request) == placement.LIVE for server in servers)
        yield from identity.twins(evidence.bundle, host) if live else ()
    # All zones of a host in two of them.
    matter = {str(zone) for host in sources for zone in (zones.zone_of(facts, host), *_zones_of(facts, host)) if zone}
    yield from zones.hosts(facts, matter)


def _coming(bundle: Bundle, host: str) -> Items:
    """SG702: what is on its way to the host. SG703: what may still come back to it."""
    for place, row in Index(bundle).migrations:
        if in_progress(row) and row.dest_compute == host:
            remedy = remedy_text("SG702", "comes-to-drained-host")
            yield finding("SG702", migration_subject(row), migration_evidence(row, place), remedy)
        elif not row.deleted and row.status == "finished" and row.source_compute == host:
            remedy = remedy_text("SG703", "may-come-back-to-drained-host")
            yield finding("SG703", migration_subject(row), migration_evidence(row, place), remedy, WARNING)


def _unlisted(evidence: Evidence, host: str, servers: t.Sequence[ApiServer]) -> Items:
    """SG709: placement has it on the host, and no cell lists it: its cell may not answer. SG710: soft-deleted ones."""
    cloud, deleted = evidence.bundle.cloud, evidence.about.soft_deleted or {}
    for uuid, name in sorted(deleted.items()):
        yield soft_deleted(uuid, name, host)
    root = next((node.id for node in evidence.zones.hypervisors or [] if node.service_host == host), None)
    if cloud is None or root is None:
        return
    for uuid in unlisted(placement.needs_of(cloud, root), servers, cloud.migrations or []):
        if uuid not in deleted:
            yield not_listed(uuid, host)


def unlisted(
    consumers: t.Iterable[str], servers: t.Iterable[ApiServer], migrations: t.Iterable[ApiMigration]
) -> t.List[str]:
    """Return who holds resources of a host and is neither a server of the list nor a migration of it."""
    # Nova gives what a server holds on its source to its migration until that has ended.
    known = {*(server.id for server in servers), *(row.uuid for row in migrations)}
    return sorted(set(consumers) - known)


def soft_deleted(uuid: str, name: str, host: str) -> Finding:
    """SG710: its owner can have it back, and Nova moves it nowhere."""
    remedy = remedy_text("SG710", "soft-deleted", uuid=uuid)
    return finding("SG710", Subject("instance", uuid, name, host), {"status": "SOFT_DELETED"}, remedy)


def not_on_its_host(server: ApiServer) -> Finding:
    """SG710: asked for, and no move would take it: it is soft-deleted, or has just left its host."""
    if server.status == "SOFT_DELETED":
        return soft_deleted(server.id, server.name, str(server.host))
    remedy = remedy_text(NO_SERVER, "left-its-host-meanwhile")
    evidence = {"status": server.status, "servers of its host": "without this server"}
    return finding(NO_SERVER, Subject("instance", server.id, server.name, server.host), evidence, remedy)


def not_listed(uuid: str, host: str) -> Finding:
    """SG709: a cell that does not answer is not "no server"."""
    remedy = remedy_text("SG709", "consumer-not-listed", uuid=uuid)
    return finding(
        "SG709", Subject("instance", uuid, host=host), {"placement": f"on {host}", "Nova": "not listed"}, remedy
    )


# --- reachability ---------------------------------------------------------------------------------------------


def reached(
    evidence: Evidence,
    decision: MoveDecision,
    request: MigrationRequest,
    results: t.Sequence[t.Mapping[str, t.Any]],
    failures: t.Mapping[str, int],
    able: bool,
) -> reachability.Reach:
    """Return what is known of every pair of hosts between which somebody would move live."""
    guests = {guest.uuid: guest for guest in decision.guests}
    pairs = {
        (str(guests[place.uuid].source), place.host)
        for place in decision.assignments.assigned
        if method_of(guests[place.uuid].status, request) == placement.LIVE
    }
    confs = {name: facts.nova_conf for name, facts in by_nova_name(evidence.bundle).items()}
    return reachability.reach(pairs, confs, results, failures, able)


def unreached(found: reachability.Reach) -> t.List[Unchecked]:
    """Return the pairs of which nothing is known: servers are sent there one by one."""
    return [
        Unchecked("SG406", dest, f"the run does not know whether {source} can reach libvirt on {dest}: {why}")
        for (source, dest), why in sorted(found.unknown.items())
    ]


# --- while they move ------------------------------------------------------------------------------------------


def assign_again(
    evidence: Evidence,
    decision: MoveDecision,
    request: MigrationRequest,
    uuid: str,
    held: t.Mapping[str, Assignment],
    tried: t.Mapping[str, str],
    closed: t.Optional[t.Mapping[str, str]] = None,
    cold: bool = False,
) -> t.Tuple[t.Optional[Assignment], str]:
    """Return another assignment for a server, or none and why not. ``held``: those of the others.

    ``cold``: it moves cold after all.

    From the same measurement, less all that was promised since: what has arrived is taken for on its way.
    """
    guests = {guest.uuid: guest for guest in decision.guests}
    if uuid not in guests:
        return None, "the run did not search for a destination for this server"
    others = [entry for entry in evidence.sent if entry.uuid != uuid]
    sent = others + [
        IncomingServer(
            assignment.uuid, assignment.host, guests[assignment.uuid].memory_mib, guests[assignment.uuid].cells
        )
        for assignment in held.values()
    ]
    hosts = _open_hosts(evidence, request, sent, decision.closed if closed is None else closed)
    where = {**(evidence.about.member_hosts or {}), **{entry.uuid: entry.host for entry in sent}}
    passed = {uuid: decision.passed.get(uuid, ())}
    guest = dataclasses.replace(guests[uuid], unfit=guests[uuid].unfit_cold) if cold else guests[uuid]
    assignments = assign([guest], hosts, where, request.arithmetic, passed, {uuid: tried})
    if assignments.assigned:
        return assignments.assigned[0], assignments.assigned[0].why
    return None, why_not(assignments.unassigned[0])


def why_not(entry: Unassigned) -> str:
    """Say, for people, why a server is unassigned."""
    told = [reason.text for reason in entry.problems]
    told += [
        f"{host}: {', '.join(reason.text for reason in reasons)}" for host, reasons in sorted(entry.reasons.items())
    ]
    return "; ".join(told[:SHOWN]) or "the run found no host that can be the destination"


def stayed(uuid: str, name: str, host: t.Optional[str], why: str) -> Finding:
    """SG512: a server that is still where it was when all had ended."""
    remedy = remedy_text("SG512", "not-moved", uuid=uuid)
    return finding("SG512", Subject("instance", uuid, name, host), {"stays because": why}, remedy)
