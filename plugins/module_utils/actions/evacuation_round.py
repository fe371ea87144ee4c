# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One round of an evacuation: see who has landed, check what was just read, send the next wave.

Hosts are read anew before each round, so that memory is what is there now. They are read while servers of the last
wave are still on their way: those are counted where they are going, and neither sent nor judged by what was read
before they arrived or failed; the next round does that. A round needs to know no earlier one but by the journal: who
was on the host when the operation began, the ids of their images, on which hosts somebody failed, who was on the way.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.actions.evacuation import (
    ARRIVED,
    FAILED,
    FEW,
    GONE,
    UNDER_WAY,
    UNKNOWN,
    Evacuator,
    Outcome,
    Riding,
    Wave,
)
from ansible_collections.stackguard.nova.plugins.module_utils.checks import evacuation as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks import storage
from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import EVACUATION, gather
from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import SMALL_PAGE, Sent, of_flavor
from ansible_collections.stackguard.nova.plugins.module_utils.facts import (
    ApiServer,
    Bundle,
    EvacuationFacts,
    NumaCell,
    from_plain,
)
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
    BLOCKER,
    WARNING,
    Checked,
    Finding,
    Override,
    Subject,
    finding,
    standing,
)
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import Seat, Tried
from ansible_collections.stackguard.nova.plugins.module_utils.requests import EvacuationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, evacuations, moves

#: What is read of the APIs: agents and the catalogue decide nothing here; ports are asked for by themselves.
PARTS = tuple(part for part in cloud_reads.PARTS if part not in ("catalog", "agents", "ports"))

#: How the tasks are called that a server has while Nova is at its evacuation (compute/task_states.py).
TASK = "rebuild"

#: Stands for a host among those on which a server failed: Nova has not come to an end with it.
STUCK = "(under way)"

#: Power state that a server must have afterwards, by its status before; others may have either.
_EXPECTED = {"ACTIVE": "ACTIVE", "SHUTOFF": "SHUTOFF"}


@dataclasses.dataclass(frozen=True)
class Passenger:
    """A server of the operation, as it was when it began. ``images``: name to Ceph's id; ``numa``: None: unread."""

    uuid: str
    name: str
    status: str
    images: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    numa: t.Optional[t.List[NumaCell]] = None


@dataclasses.dataclass(frozen=True)
class Landed:
    """A server that has left: where it is, and whether it was seen there with its disks."""

    uuid: str
    name: str
    host: t.Optional[str]
    status: t.Optional[str]
    #: ``verified``, ``gone`` (deleted by its owner), or ``wrong``: see the findings.
    state: str


@dataclasses.dataclass(frozen=True)
class Round:
    """What one round came to. ``again``: another round has something to do."""

    outcomes: t.List[Outcome]
    landed: t.List[Landed]
    #: Servers still on the dead host, with what keeps each there.
    left: t.Dict[str, str]
    findings: t.Tuple[Finding, ...]
    tried: t.Dict[str, t.Dict[str, str]]
    again: bool
    #: Who is still on the way: neither landed nor left behind.
    riding: t.List[Riding] = dataclasses.field(default_factory=list)


def remembered(journal: t.Mapping[str, t.Any]) -> t.List[Riding]:
    """Return who was on the way, by an operation's journal. Raises :class:`FactsError`."""
    noted = (journal.get("memory") or {}).get("riding") or []
    return [from_plain(Riding, item, "journal.memory.riding") for item in noted]


def resumed(journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return what a journal remembers, for a new run: clocks began anew, and whoever used up its time is waited for."""
    memory = journal.get("memory") or {}
    tried = {
        uuid: {host: why for host, why in hosts.items() if host != STUCK}
        for uuid, hosts in (memory.get("evacuate") or {}).items()
    }
    riding = [{**entry, "started": None} for entry in memory.get("riding") or ()]
    return {**memory, "evacuate": tried, "riding": riding}


def stays(result: Round, passengers: t.Sequence[Passenger], source: str) -> t.List[Finding]:
    """SG512: each server that is still on the dead host, for the report: recoverable, and not forgotten."""
    names = {entry.uuid: entry.name for entry in passengers}
    remedy = "It is as it was. Mend what keeps it there, then run the same command again."
    return [
        finding("SG512", Subject("instance", uuid, names.get(uuid), source), {"stays, for": why}, remedy)
        for uuid, why in sorted(result.left.items())
    ]


def collect(
    connection: t.Any, host: str, directory: str, passengers: t.Sequence[Passenger] = ()
) -> t.Tuple[Bundle, EvacuationFacts]:
    """Return what was read on the hosts, with the APIs read now. Raises :class:`FactsError` or :class:`ApiError`."""
    cloud = cloud_reads.read_cloud(connection, [host], PARTS)
    numa = {entry.uuid: entry.numa for entry in passengers if entry.numa is not None}
    about = evacuations.read_evacuation(connection, cloud, host, numa=numa)
    bundle = dataclasses.replace(evidence.load_dir(directory, cloud.read_at), cloud=cloud)
    return bundle, about


def run(
    connection: t.Any,
    read: t.Callable[[], t.Tuple[Bundle, EvacuationFacts]],
    evacuator: Evacuator,
    passengers: t.Sequence[Passenger],
    request: EvacuationRequest,
    overrides: t.Sequence[Override],
    tried: Tried,
    began: t.Optional[str] = None,
    rode: t.Sequence[Riding] = (),
    fresh: float = 120.0,
) -> Round:
    """Carry out one round. Raises :class:`ApiError` where Nova is mute: then nothing is known, and run it again.

    ``began``: ISO 8601, some minutes before the operation did: servers that have left since are looked for in one list.
    ``rode``: who was on the way before the hosts were read; what was read of those says nothing. ``fresh``: seconds for
    which what was measured is good enough to send by: what running guests have not touched yet, and what was sent
    meanwhile, is counted as taken; the rest is what the headroom is for.
    """
    known = {uuid: dict(hosts) for uuid, hosts in tried.items()}
    bundle, about = read()
    if bundle.cloud is None or bundle.cloud.servers is None:
        raise ApiError("the servers of the dead host could not be read: who is still there is not known")
    here = {server.id: server for server in bundle.cloud.servers}
    # One that has used up its time is not waited for again: it would keep all the others where they are.
    riding = on_the_way(bundle, [entry for entry in passengers if STUCK not in known.get(entry.uuid, {})], rode)
    on_way = {entry.uuid for entry in riding}
    others = [entry for entry in passengers if entry.uuid not in on_way]
    away = _away(connection, [entry for entry in others if entry.uuid not in here], began)
    landed, problems = _landed(connection, bundle, away, request)
    staying = [entry for entry in others if entry.uuid in here]
    sent = _sent(riding, here, {entry.uuid: entry for entry in passengers})
    left: t.Dict[str, str] = {}
    seats: t.List[Seat] = []
    # Nobody is sent while it is not known what those on the way take, and where.
    if staying and sent is not None:
        request = dataclasses.replace(request, servers=tuple(entry.uuid for entry in staying), partial=True)
        seats, left, found = _judged(bundle, about, request, overrides, staying, sent, known)
        problems += found
    wave = evacuator.send(seats, request.parallel, fresh, riding) if seats or riding else Wave([], [])
    problems += _ports(connection, request.host, [entry.uuid for entry in wave.outcomes if entry.outcome == ARRIVED])
    again = bool(wave.outcomes or riding or wave.riding)
    return Round(wave.outcomes, landed, left, tuple(problems), _noted(known, wave.outcomes), again, wave.riding)


def on_the_way(bundle: Bundle, passengers: t.Sequence[Passenger], rode: t.Sequence[Riding]) -> t.List[Riding]:
    """Return who is on the way, or was until just now: what was read on the hosts says nothing of them."""
    here = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
    noted = {entry.uuid: entry for entry in rode}
    rows = (bundle.cloud.migrations if bundle.cloud else None) or []
    targets = {
        row.instance_uuid: row.dest_compute
        for row in rows
        if row.migration_type == EVACUATION and row.status in UNDER_WAY
    }
    found = []
    for entry in passengers:
        server = here.get(entry.uuid)
        if entry.uuid in noted:
            ride = noted[entry.uuid]
            found.append(dataclasses.replace(ride, target=ride.target or targets.get(entry.uuid)))
        elif server is not None and (server.task_state or "").startswith(TASK):
            size = server.flavor.ram if server.flavor else None
            found.append(Riding(entry.uuid, entry.name, targets.get(entry.uuid), size))
    return found


def _sent(
    riding: t.Sequence[Riding], here: t.Mapping[str, ApiServer], passengers: t.Mapping[str, Passenger]
) -> t.Optional[t.List[Sent]]:
    """Return what those on the way take, where they are going; None: not known of all."""
    found = []
    for entry in riding:
        numa, server = passengers[entry.uuid].numa, here.get(entry.uuid)
        if entry.target is None or entry.size_mib is None or numa is None:
            return None
        huge = tuple(cell for cell in numa if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE)
        needs = of_flavor(server.flavor, bool(server.image)) if server and server.flavor else {}
        memory = max(0, entry.size_mib - sum(cell.memory_mib for cell in huge))
        found.append(Sent(entry.uuid, entry.target, memory, huge, needs))
    return found


def _judged(
    bundle: Bundle,
    about: EvacuationFacts,
    request: EvacuationRequest,
    overrides: t.Sequence[Override],
    staying: t.Sequence[Passenger],
    sent: t.Sequence[Sent],
    known: Tried,
) -> t.Tuple[t.List[Seat], t.Dict[str, str], t.List[Finding]]:
    """Return who may be sent where, what keeps each of the others, and the findings."""
    decision = checks.preflight(bundle, about, request, overrides, sent=sent, tried=known)
    dead = checks.death(bundle, about, request)
    # A second writer of one disk keeps that server; signs of life on the source keep all.
    refused = [item for item in standing(dead.findings, storage.honoured(dead, overrides)) if item.code != "SG507"]
    problems = list(refused)
    barred, found = _barred(bundle, staying, decision.checked, overrides)
    problems += [item for item in found if item not in problems]
    if refused:
        return [], {entry.uuid: refused[0].code for entry in staying}, problems
    # Whoever has neither a seat nor a reason of its own stays for what stands against all.
    everybody = ", ".join(sorted({item.code for item in decision.checked.findings if item.severity == BLOCKER}))
    left = {entry.uuid: everybody for entry in staying}
    left.update({entry.uuid: "; ".join(_reasons(entry)) for entry in decision.seating.unseated})
    for seat in decision.seating.seats:
        left.pop(seat.uuid, None)
    left.update(barred)
    return [seat for seat in decision.seating.seats if seat.uuid not in barred], left, problems


def _reasons(entry: t.Any) -> t.List[str]:
    if entry.problems:
        return [reason.text for reason in entry.problems]
    return [
        f"{host}: {', '.join(reason.text for reason in reasons)}" for host, reasons in sorted(entry.reasons.items())
    ]


def _noted(tried: t.Dict[str, t.Dict[str, str]], outcomes: t.Iterable[Outcome]) -> t.Dict[str, t.Dict[str, str]]:
    for entry in outcomes:
        if entry.outcome == FAILED and entry.target is not None:
            tried.setdefault(entry.uuid, {})[entry.target] = entry.reason or "no reason given"
        elif entry.outcome == UNKNOWN:
            tried.setdefault(entry.uuid, {})[STUCK] = entry.reason or "no reason given"
    return tried


def _barred(
    bundle: Bundle, staying: t.Sequence[Passenger], checked: Checked, overrides: t.Sequence[Override]
) -> t.Tuple[t.Dict[str, str], t.List[Finding]]:
    """Servers that must not be sent now, whatever room there is.

    Their disks are not what they were, or not free; or something is under way with them, though no task says so.
    """
    found: t.List[Finding] = [item for item in checked.findings if item.severity == BLOCKER and item.code == "SG507"]
    found += [item for item in standing(checked.findings, overrides) if item.code in ("SG702", "SG703")]
    for entry in staying:
        items = gather(storage.unchanged(bundle, storage.Before(entry.uuid, entry.images)))
        found += items.findings
    barred = {entry.uuid: item.code for entry in staying for item in found if entry.uuid in _about(item)}
    return barred, found


def _about(item: Finding) -> t.Tuple[t.Optional[str], ...]:
    """Return what names a server in a finding: an image is named after it, a migration bears its uuid as a name."""
    there = item.object
    moving = there.name if there.kind == "migration" else None
    return there.id, moving, there.id.rpartition("/")[2].partition("_")[0]


Away = t.List[t.Tuple[Passenger, t.Optional[ApiServer]]]


def _away(connection: t.Any, passengers: t.Sequence[Passenger], began: t.Optional[str]) -> Away:
    """Return those who have left, as Nova shows them; None: it no longer does."""
    listed: t.Dict[str, ApiServer] = {}
    if began is not None and len(passengers) > FEW:
        listed = {server.id: server for server in moves.servers_since(connection, None, began)}
    missing = [entry.uuid for entry in passengers if entry.uuid not in listed]
    asked = evacuations.each(missing, lambda uuid: moves.server_as_listed(connection, uuid))
    return [(entry, listed.get(entry.uuid) or asked.get(entry.uuid)) for entry in passengers]


def _landed(
    connection: t.Any, bundle: Bundle, away: Away, request: EvacuationRequest
) -> t.Tuple[t.List[Landed], t.List[Finding]]:
    landed: t.List[Landed] = []
    problems: t.List[Finding] = []
    for entry, server in away:
        if server is None or server.status in ("DELETED", "SOFT_DELETED"):
            landed.append(Landed(entry.uuid, entry.name, None, None, GONE))
            continue
        host, status = server.host, server.status
        found = list(_verified(bundle, entry, str(host), status, request))
        problems += found
        wrong = any(item.severity == BLOCKER for item in found)
        landed.append(Landed(entry.uuid, entry.name, host, status, "wrong" if wrong else "verified"))
    problems += _ports(connection, request.host, [entry.uuid for entry, _server in away])
    return landed, problems


def _verified(
    bundle: Bundle, entry: Passenger, host: str, status: str, request: EvacuationRequest
) -> t.Iterator[Finding]:
    expected = "SHUTOFF" if request.target_state == "stopped" else _EXPECTED.get(entry.status)
    if status not in ((expected,) if expected else ("ACTIVE", "SHUTOFF")):
        seen = {"status": status, "before": entry.status, "expected": expected}
        subject = Subject("instance", entry.uuid, entry.name, host)
        # Its owner may have stopped or started it meanwhile.
        severity = WARNING if status in ("ACTIVE", "SHUTOFF") else BLOCKER
        yield finding("SG710", subject, seen, "It has left, but is not as it was: see its events.", severity)
    before = storage.Before(entry.uuid, entry.images)
    items = gather(storage.landed(bundle, before, host, running=status == "ACTIVE"))
    yield from items.findings


def _ports(connection: t.Any, source: str, uuids: t.Sequence[str]) -> t.List[Finding]:
    """SG511: releases from 31 do not bind them anew by themselves (heal_instance_info_cache_interval is -1)."""
    if not uuids:
        return []
    try:
        left = evacuations.ports_left(connection, source, uuids)
    except ApiError as error:
        evidence_ = {"ports": error.message}
        return [finding("SG709", Subject("host", source), evidence_, "Make neutron answer, then look at the ports.")]
    return [
        finding(
            "SG511",
            Subject("port", port.id, port.device_id, source),
            {"server": port.device_id, "binding:host_id": port.binding_host_id},
            "Its server has left: bind it anew (openstack port set --host), or reboot the server hard.",
        )
        for port in left
    ]
