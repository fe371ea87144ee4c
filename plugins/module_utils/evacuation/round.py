# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One round of an evacuation: verify who has arrived, judge what was just read, send the next wave.

Hosts are read anew before each round, also while servers of the last wave are in transit: those count against their
destination, and are neither sent nor verified by what was read before they arrived or failed. A server is sent only if
the fence is proven just now and covers all its disks, each of its images has its guard, no other client has one of
them open, and no other operation has sent something to its destination that was not counted.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..capacity.leaving_guests import SMALL_PAGE, of_flavor
from ..capacity.measured import RUNNING as ALIVE
from ..capacity.measured import IncomingServer, by_nova_name
from ..capacity.planner import Assignment, Tried
from ..hazards import clients, storage, volumes
from ..model.codes.catalogue import remedy_text
from ..model.errors import ApiError
from ..model.facts import (
    ApiServer,
    Bundle,
    EvacuationFacts,
    HostFacts,
)
from ..model.fence_proof import FenceProof
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
from ..model.lookups import EVACUATION, gather, same_name
from ..model.requests import EvacuationRequest
from ..records import evidence
from ..systems.api import (
    block_storage,
    cloud_facts,
    evacuation_facts,
    http,
    network,
    server_actions,
    server_records,
)
from . import preflight as checks
from .record import RUNNING, STOPPED, PlannedServer
from .steps import (
    ARRIVED,
    FAILED,
    FEW,
    UNDER_WAY,
    UNKNOWN,
    EvacuatedServer,
    Evacuator,
    InTransit,
    Wave,
)

#: What is read of the APIs: agents decide nothing here; ports are asked for by themselves.
PARTS = tuple(part for part in cloud_facts.PARTS if part not in ("agents", "ports"))
#: The same in a round: what automation there is was judged before anything was touched.
ROUND_PARTS = tuple(part for part in PARTS if part != "catalog")

#: How the tasks are called that a server has while Nova is at its evacuation (compute/task_states.py).
TASK = "rebuild"

#: Stands for a host among those on which a server failed: Nova has not come to an end with it.
STUCK = "(under way)"

VERIFIED, GONE, WRONG = "verified", "gone", "wrong"
_STATUS = {RUNNING: "ACTIVE", STOPPED: "SHUTOFF"}

#: Why an operation leaves a server on the dead host that it does not know.
LATE = "the server came to the host after the evacuation began"

#: What keeps one server: a finding of these codes never refuses the others.
ONE_SERVER = ("SG507",)


@dataclasses.dataclass(frozen=True)
class Arrived:
    """A server that has left: where it is, and whether it was verified there with its disks."""

    uuid: str
    name: str
    host: t.Optional[str]
    status: t.Optional[str]
    #: ``verified``, ``gone`` (deleted by its owner), or ``wrong``: see the findings.
    state: str


@dataclasses.dataclass(frozen=True)
class Round:
    """What one round came to. ``again``: another round has something to do."""

    outcomes: t.List[EvacuatedServer]
    arrived: t.List[Arrived]
    #: Servers still on the dead host, with what keeps each there.
    left: t.Dict[str, str]
    checked: Checked
    tried: t.Dict[str, t.Dict[str, str]]
    again: bool
    in_transit: t.List[InTransit]
    #: Everything stops: what was read contradicts the fence.
    stopped: bool = False
    #: Servers that were stopped again in this round: verified in the next one.
    put_out: t.Tuple[str, ...] = ()
    #: Servers that are not as they should be at the first look: the next one decides.
    doubted: t.Tuple[str, ...] = ()
    #: Servers that only a client of an ended QEMU keeps here: Ceph drops it by itself.
    ending: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Passes:
    """What a round is given beside the evidence.

    ``claim``: note the servers that are about to be sent, and those of them that are reset; true where others have sent
    something meanwhile that was not counted: then no server is sent.
    ``good``: whether proof and measurement still hold for a destination.
    """

    connection: t.Any
    planned: t.Sequence[PlannedServer]
    request: EvacuationRequest
    overrides: t.Sequence[Override]
    tried: Tried
    in_transit: t.Sequence[InTransit]
    others: t.Sequence[IncomingServer]
    #: Servers whose images the guard was verified on by the host that made it.
    guarded: t.Container[str]
    snapshot: str
    claim: t.Callable[[t.Sequence[Assignment], t.Container[str]], bool]
    good: t.Callable[[str], bool]
    began: t.Optional[str] = None
    #: Servers that were stopped before the host died and were sent in ERROR: Nova starts them where they arrive.
    to_stop: t.Container[str] = ()
    elsewhere: t.Optional[clients.EvidenceElsewhere] = None
    #: Servers that the look before found not as they should be; None: one look decides.
    doubted: t.Optional[t.Container[str]] = None


def collect(
    connection: t.Any,
    host: str,
    directory: str,
    planned: t.Sequence[PlannedServer] = (),
    parts: t.Sequence[str] = PARTS,
    known: t.Optional[EvacuationFacts] = None,
) -> t.Tuple[Bundle, EvacuationFacts]:
    """Return what was read on the hosts, with the APIs read now. Raises :class:`FactsError` or :class:`ApiError`.

    ``known``: what was read last: what does not change while the host is dead is not asked for again.
    """
    cloud = cloud_facts.read_cloud(connection, [host], tuple(parts))
    numa = {entry.uuid: entry.numa for entry in planned if entry.numa is not None}
    about = evacuation_facts.read_evacuation(connection, cloud, host, numa=numa, known=known)
    bundle = dataclasses.replace(evidence.load_dir(directory, cloud.read_at), cloud=cloud)
    return bundle, about


def run(bundle: Bundle, about: EvacuationFacts, evacuator: Evacuator, given: Passes) -> Round:
    """Carry out one round. Raises :class:`ApiError` where Nova does not answer: then nothing is known; run it again."""
    known = {uuid: dict(hosts) for uuid, hosts in given.tried.items()}
    if bundle.cloud is None or bundle.cloud.servers is None:
        raise ApiError(
            "the run could not read the servers of the dead host, so the run does not know which servers are still "
            "on this host",
            problem="not-read",
        )
    here = {server.id: server for server in bundle.cloud.servers}
    # One that has used up its time is not waited for again: it would keep all the others where they are.
    waited = [entry for entry in given.planned if STUCK not in known.get(entry.uuid, {})]
    moving = on_the_way(bundle, waited, given.in_transit)
    on_way = {entry.uuid for entry in moving}
    others = [entry for entry in given.planned if entry.uuid not in on_way]
    asked = _away(given.connection, [entry for entry in others if entry.uuid not in here], given.began)
    hidden = [entry.uuid for entry, server in asked if server and same_name(given.request.host, server.host)]
    away = [pair for pair in asked if pair[0].uuid not in hidden]
    put_out = _stop(given, away)
    looked, found = _arrived(given, bundle, [pair for pair in away if pair[0].uuid not in put_out])
    # The hosts were read some seconds before Nova was: one that has just been stopped may have had its disk open then.
    doubted = tuple(
        entry.uuid
        for entry in looked
        if entry.state == WRONG and given.doubted is not None and entry.uuid not in given.doubted
    )
    arrived = [entry for entry in looked if entry.uuid not in doubted]
    found = Checked(tuple(item for item in found.findings if checks.server_of(item, doubted) is None), found.unchecked)
    staying = [entry for entry in others if entry.uuid in here]
    left = dict.fromkeys(
        hidden,
        "the server's own record in Nova names the dead host, but Nova's list of the servers on the dead host does not "
        "contain the server",
    )
    assigned: t.List[Assignment] = []
    stopped = False
    resets: t.Container[str] = ()
    ending: t.Tuple[str, ...] = ()
    sent = sent_by(moving, here, {entry.uuid: entry for entry in given.planned})
    if staying and sent is not None:
        assigned, stay, judged, stopped, resets = _judged(bundle, about, given, staying, [*sent, *given.others], known)
        ending = tuple(sorted(_ending(bundle, stay, judged, known)))
        judged = Checked(tuple(item for item in judged.findings if not _is_of(item, ending)), judged.unchecked)
        stay = _with_failures(stay, known, ending)
        left.update(stay)
        found = found + judged
    if assigned and given.claim(assigned, resets):
        return Round([], arrived, left, found, known, True, list(moving), put_out=put_out, doubted=doubted)
    assigned = _reset(given, assigned, resets, left)
    wave = evacuator.send(assigned, given.request.parallel, given.good, moving) if assigned or moving else Wave([], [])
    done = [entry.uuid for entry in wave.outcomes if entry.outcome == ARRIVED]
    found = found + Checked(tuple(_ports(given.connection, given.request.host, done)))
    unsent = _unsent(assigned, wave)
    left.update(unsent)
    again = bool(wave.outcomes or moving or wave.in_transit or put_out or unsent or doubted)
    noted = _noted(known, wave.outcomes)
    ended = stopped and not again
    return Round(wave.outcomes, arrived, left, found, noted, again, wave.in_transit, ended, put_out, doubted, ending)


def _unsent(assigned: t.Sequence[Assignment], wave: Wave) -> t.Dict[str, str]:
    """Return servers that had a place and were not sent: what that rested on had expired. They stay, for now."""
    known = {entry.uuid for entry in wave.outcomes} | {entry.uuid for entry in wave.in_transit}
    why = "the fence proof or the memory measurement of the destination expired before the run requested the evacuation"
    return {assignment.uuid: why for assignment in assigned if assignment.uuid not in known}


# --- what keeps one whose spawn failed -------------------------------------------------------------------------


def _ending(bundle: Bundle, stay: t.Mapping[str, str], checked: Checked, tried: Tried) -> t.Set[str]:
    """Return the servers whose SG507 is the last trace of a QEMU whose start has failed.

    Its host was tried, it is the only client, and the host shows neither domain nor process. Ceph drops such a client
    30 s after its end.
    """
    views = by_nova_name(bundle)
    found: t.Dict[str, t.List[bool]] = {}
    for item in checked.findings:
        uuid = checks.server_of(item, stay) if item.code == "SG507" else None
        if uuid is not None:
            hosts = [str(host) for host in item.evidence.get("hosts") or ()]
            failed = bool(hosts) and set(hosts) <= set(tried.get(uuid) or ()) - {STUCK}
            ended = failed and all(_has_ended(views.get(host), uuid) for host in hosts)
            found.setdefault(uuid, []).append(ended and item.object.kind == "image")
    return {uuid for uuid, traces in found.items() if all(traces)}


def _has_ended(facts: t.Optional[HostFacts], uuid: str) -> bool:
    if facts is None or facts.domains is None or facts.qemu_processes is None:
        return False
    return uuid not in facts.qemu_processes and not any(
        domain.uuid == uuid and domain.state in ALIVE for domain in facts.domains
    )


def _is_of(item: Finding, ending: t.Container[t.Optional[str]]) -> bool:
    return item.code == "SG507" and checks.server_of(item, ending) is not None


def _with_failures(stay: t.Mapping[str, str], tried: Tried, ending: t.Container[str]) -> t.Dict[str, str]:
    """Return what keeps each server, after why it failed where it was sent: what came of that must not hide it."""
    found = {}
    for uuid, why in stay.items():
        failed = [f"{host}: {reason}" for host, reason in (tried.get(uuid) or {}).items() if host != STUCK]
        now = "Ceph still shows the client of the QEMU process that has ended" if uuid in ending else why
        found[uuid] = "; ".join([*(one for one in failed if one not in now), now])
    return found


# --- who is where ---------------------------------------------------------------------------------------------


def on_the_way(bundle: Bundle, planned: t.Sequence[PlannedServer], noted: t.Sequence[InTransit]) -> t.List[InTransit]:
    """Return who is in transit, or was until just now: what was read on the hosts says nothing of them."""
    here = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
    known = {entry.uuid: entry for entry in noted}
    rows = (bundle.cloud.migrations if bundle.cloud else None) or []
    targets = {
        row.instance_uuid: row.dest_compute
        for row in rows
        if row.migration_type == EVACUATION and row.status in UNDER_WAY
    }
    found = []
    for entry in planned:
        server = here.get(entry.uuid)
        if entry.uuid in known:
            moving = known[entry.uuid]
            found.append(dataclasses.replace(moving, target=moving.target or targets.get(entry.uuid)))
        elif server is not None and (server.task_state or "").startswith(TASK):
            size = server.flavor.ram if server.flavor else None
            found.append(InTransit(entry.uuid, entry.name, targets.get(entry.uuid), size))
    return found


def sent_by(
    moving: t.Sequence[InTransit], here: t.Mapping[str, ApiServer], planned: t.Mapping[str, PlannedServer]
) -> t.Optional[t.List[IncomingServer]]:
    """Return what servers in transit take, where they are going; None: not known of all, and nobody can be sent."""
    found = []
    for entry in moving:
        numa, server = planned[entry.uuid].numa, here.get(entry.uuid)
        if entry.target is None or entry.size_mib is None or numa is None:
            return None
        huge = tuple(cell for cell in numa if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE)
        needs = of_flavor(server.flavor, bool(server.image)) if server and server.flavor else {}
        memory = max(0, entry.size_mib - sum(cell.memory_mib for cell in huge))
        found.append(IncomingServer(entry.uuid, entry.target, memory, huge, needs))
    return found


# --- who may be sent ------------------------------------------------------------------------------------------


def _judged(
    bundle: Bundle,
    about: EvacuationFacts,
    given: Passes,
    staying: t.Sequence[PlannedServer],
    sent: t.Sequence[IncomingServer],
    known: Tried,
) -> t.Tuple[t.List[Assignment], t.Dict[str, str], Checked, bool, t.Set[str]]:
    """Return who may be sent where, what keeps each of the others, what was found, whether everything stops; resets."""
    uuids = tuple(entry.uuid for entry in staying)
    request = dataclasses.replace(given.request, servers=uuids, partial=True)
    decision = checks.preflight(
        bundle, about, request, given.overrides, request.fence_kind, sent, known, given.elsewhere
    )
    dead = checks.death(bundle, about, request, given.elsewhere)
    against_all, by_server = split(blocking_findings(dead.findings, given.overrides), uuids)
    if against_all:
        codes = ", ".join(sorted({item.code for item in against_all}))
        return [], dict.fromkeys(uuids, codes), Checked(tuple(against_all), dead.unchecked), True, set()
    barred: t.Dict[str, str] = {uuid: f"{code}: {why}" for uuid, (code, why) in decision.barred.items()}
    codes_of = {uuid: ", ".join(sorted({item.code for item in items})) for uuid, items in by_server.items()}
    barred = {**codes_of, **barred}
    lasting, found = _barred(bundle, staying, decision.checked, given)
    # The words of the first look say more than a code.
    barred = {**lasting, **barred}
    found += [item for items in by_server.values() for item in items if item not in found]
    # A spawn that failed has left their volumes connected to its host: told at the end, and before the next try.
    found += [item for item in decision.checked.findings if item.code == "SG524" and item.object.id in known]
    # Whoever has neither an assignment nor a reason of its own stays for what stands against all.
    everybody = ", ".join(sorted({item.code for item in decision.checked.findings if item.severity == BLOCKER}))
    left = dict.fromkeys(uuids, everybody or "the run found no destination for the server in this round")
    left.update({entry.uuid: "; ".join(_reasons(entry)) for entry in decision.assignments.unassigned})
    for assignment in decision.assignments.assigned:
        left.pop(assignment.uuid, None)
    left.update(barred)
    resets = {guest.uuid for guest in decision.guests if guest.resets}
    going = [assignment for assignment in decision.assignments.assigned if assignment.uuid not in barred]
    return going, left, Checked(tuple(found)), False, resets


def _reset(
    given: Passes, assigned: t.Sequence[Assignment], resets: t.Container[str], left: t.Dict[str, str]
) -> t.List[Assignment]:
    """Reset the states that the operator allows, of a host that is proven dead; who can not be reset is not sent."""
    going = []
    for assignment in assigned:
        if assignment.uuid in resets:
            try:
                server_actions.reset_state_verified(given.connection, assignment.uuid)
            except ApiError as error:
                left[assignment.uuid] = f"the run could not reset the server's state: {error}"
                continue
        going.append(assignment)
    return going


def split(
    items: t.Sequence[Finding], uuids: t.Collection[str]
) -> t.Tuple[t.List[Finding], t.Dict[str, t.List[Finding]]]:
    """Return what stands against all, and what keeps one server only, by its uuid."""
    against_all: t.List[Finding] = []
    by_server: t.Dict[str, t.List[Finding]] = collections.defaultdict(list)
    for item in items:
        uuid = None if item.object.kind == "host" else checks.server_of(item, uuids)
        if uuid is None:
            against_all.append(item)
        else:
            by_server[uuid].append(item)
    return against_all, by_server


def _reasons(entry: t.Any) -> t.List[str]:
    if entry.problems:
        return [reason.text for reason in entry.problems]
    return [
        f"{host}: {', '.join(reason.text for reason in reasons)}" for host, reasons in sorted(entry.reasons.items())
    ]


def _noted(
    tried: t.Dict[str, t.Dict[str, str]], outcomes: t.Iterable[EvacuatedServer]
) -> t.Dict[str, t.Dict[str, str]]:
    for entry in outcomes:
        if entry.outcome == FAILED and entry.target is not None:
            tried.setdefault(entry.uuid, {})[entry.target] = entry.reason or "no reason given"
        elif entry.outcome == UNKNOWN:
            tried.setdefault(entry.uuid, {})[STUCK] = entry.reason or "no reason given"
    return tried


def _barred(
    bundle: Bundle, staying: t.Sequence[PlannedServer], checked: Checked, given: Passes
) -> t.Tuple[t.Dict[str, str], t.List[Finding]]:
    """Servers that must not be sent now, whatever room there is.

    Their disks are not what they were, not guarded or not free; or something is under way with them, though no task
    says so.
    """
    uuids = {entry.uuid for entry in staying}
    found = [item for item in checked.findings if item.severity == BLOCKER and item.code in ONE_SERVER]
    found += [item for item in blocking_findings(checked.findings, given.overrides) if item.code in ("SG702", "SG703")]
    now = clients.seen(bundle, uuids)
    for entry in staying:
        found += gather(
            storage.unchanged(bundle, storage.DisksBefore(entry.uuid, entry.ids, entry.homes), now)
        ).findings
    _all, by_server = split(found, uuids)
    barred = {uuid: items[0].code for uuid, items in by_server.items()}
    for uuid, why in unguarded(bundle, staying, given.guarded, given.snapshot).items():
        barred.setdefault(uuid, f"the server has no verified guard snapshots: {why.text}")
    return barred, found


def unguarded(
    bundle: Bundle, staying: t.Sequence[PlannedServer], guarded: t.Container[str], snapshot: str
) -> t.Dict[str, storage.Unguarded]:
    """Return servers of which not every image has its guard, by what was just read, and why each."""
    with_images = [entry for entry in staying if entry.images]
    homes = {name: home for entry in with_images for name, home in entry.homes.items()}
    why = dict(storage.guarded(bundle, {entry.uuid: entry.ids for entry in with_images}, homes, snapshot))
    noted = {name for entry in with_images for name in entry.images}
    seen = clients.seen(bundle, {entry.uuid for entry in staying})
    for entry in staying:
        # Whatever was passed by name: an image that the guard does not know is lost with a spawn that fails.
        unknown = sorted(name for name in seen if name.startswith(entry.uuid) and name not in noted)
        if unknown:
            why.setdefault(
                entry.uuid,
                storage.Unguarded(
                    "unknown-images",
                    "the run did not know the id or the pool of these images when it made the guard snapshots: "
                    f"{', '.join(unknown)}",
                ),
            )
    for entry in with_images:
        if entry.uuid not in guarded:
            said = "this run made no guard snapshots for the server"
            why.setdefault(entry.uuid, storage.Unguarded("not-made", said))
    return why


# --- who has arrived ------------------------------------------------------------------------------------------

Away = t.List[t.Tuple[PlannedServer, t.Optional[ApiServer]]]


def _away(connection: t.Any, planned: t.Sequence[PlannedServer], began: t.Optional[str]) -> Away:
    """Return those who have left, as Nova shows them; None: it no longer does."""
    listed: t.Dict[str, ApiServer] = {}
    if began is not None and len(planned) > FEW:
        listed = {server.id: server for server in server_records.servers_since(connection, None, began)}
    missing = [entry.uuid for entry in planned if entry.uuid not in listed]
    asked = http.each(missing, lambda uuid: server_records.server_as_listed(connection, uuid))
    return [(entry, listed.get(entry.uuid) or asked.get(entry.uuid)) for entry in planned]


def _stop(given: Passes, away: Away) -> t.Tuple[str, ...]:
    """Stop servers that only Nova started: each was stopped before, and a failed spawn had made it an ERROR."""
    found = [
        entry.uuid
        for entry, server in away
        if server is not None and entry.uuid in given.to_stop and (server.status, server.task_state) == ("ACTIVE", None)
    ]
    if given.request.target_state != "keep":
        return ()
    http.change_each(given.connection, found, lambda uuid: server_actions.stop(given.connection, uuid))
    stopping = [
        entry.uuid
        for entry, server in away
        if server is not None and server.task_state == "powering-off" and entry.power == STOPPED
    ]
    return (*found, *stopping)


def _arrived(given: Passes, bundle: Bundle, away: Away) -> t.Tuple[t.List[Arrived], Checked]:
    arrived: t.List[Arrived] = []
    problems: t.List[Finding] = []
    unchecked: t.List[Unchecked] = []
    bundle = _with_volumes(given.connection, bundle, [server for _entry, server in away if server is not None])
    for entry, server in away:
        if server is None or server.status in ("DELETED", "SOFT_DELETED"):
            arrived.append(Arrived(entry.uuid, entry.name, None, None, GONE))
            problems += _left_images(bundle, entry)
            continue
        host, status = server.host, server.status
        found = _verified(bundle, entry, server, given)
        problems += found.findings
        unchecked += found.unchecked
        wrong = any(item.severity == BLOCKER and not _passed(item, given.overrides) for item in found.findings)
        arrived.append(Arrived(entry.uuid, entry.name, host, status, WRONG if wrong else VERIFIED))
    problems += _ports(given.connection, given.request.host, [entry.uuid for entry, _server in away])
    return arrived, Checked(tuple(problems), tuple(unchecked))


def _with_volumes(connection: t.Any, bundle: Bundle, servers: t.Sequence[ApiServer]) -> Bundle:
    """Return the evidence with what Cinder says of the volumes of servers that have left: the last word on them."""
    if bundle.cloud is None or not any(server.volumes for server in servers):
        return bundle
    now = block_storage.read_block_storage(connection, servers, http.list_catalog(connection), False)
    return dataclasses.replace(bundle, cloud=dataclasses.replace(bundle.cloud, block_storage=now))


def _passed(item: Finding, overrides: t.Sequence[Override]) -> bool:
    """Whether the operator passes it: only that volumes were not read, which may not be in Ceph at all."""
    return storage.VOLUMES in item.evidence and overridden(item, overrides)


def _left_images(bundle: Bundle, entry: PlannedServer) -> t.Iterator[Finding]:
    """SG508: a server that its owner deleted while its guard was there: Nova said deleted, the images stay."""
    for name, places in sorted(clients.seen(bundle, {entry.uuid}).items()):
        for place in places:
            if entry.ids.get(name) == place.image.id:
                yield finding(
                    "SG508",
                    Subject("image", f"{place.pool}/{name}"),
                    {"instance": "deleted by its owner during the evacuation", "server": entry.name},
                    remedy_text("SG508", "server-deleted-under-guard", image=f"{place.pool}/{name}"),
                )


def expected_status(entry: PlannedServer, target_state: str) -> t.Optional[str]:
    """Return the status that a server must have afterwards; None: what it was before is not known."""
    return "SHUTOFF" if target_state == "stopped" else _STATUS.get(entry.power or "")


def _verified(bundle: Bundle, entry: PlannedServer, server: ApiServer, given: Passes) -> Checked:
    before = storage.DisksBefore(
        entry.uuid,
        entry.ids,
        name=entry.name,
        volumes=_volumes(entry, server),
        shared=_shared(entry, given.planned),
        files=entry.files,
    )
    since = given.request.fence.at if isinstance(given.request.fence, FenceProof) else None
    items = gather(storage.landed(bundle, before, str(server.host), server.status == "ACTIVE", since))
    cinder = bundle.cloud.block_storage if bundle.cloud else None
    if before.volumes and cinder is not None:
        items += gather(volumes.landed(cinder, server, before.volumes))
    found = (
        _refused(item, given.request) if _is_refused(item, entry, given.request) else item for item in items.findings
    )
    return Checked((*_status(entry, server, given), *found), items.unchecked)


def _volumes(entry: PlannedServer, server: ApiServer) -> t.Tuple[str, ...]:
    """Return the volumes that the server had when it was sent and has now: its owner may attach and detach others."""
    if entry.volumes is None:
        return tuple(server.volumes)
    return tuple(volume for volume in entry.volumes if volume in server.volumes)


def _shared(entry: PlannedServer, planned: t.Sequence[PlannedServer]) -> t.Dict[str, t.FrozenSet[str]]:
    return {
        volume: frozenset(
            other.uuid for other in planned if other.uuid != entry.uuid and volume in (other.volumes or ())
        )
        for volume in entry.volumes or ()
    }


def _status(entry: PlannedServer, server: ApiServer, given: Passes) -> t.Iterator[Finding]:
    host, status = server.host, server.status
    expected = expected_status(entry, given.request.target_state)
    if status not in ((expected,) if expected else ("ACTIVE", "SHUTOFF")):
        seen = {"status": status, "before": entry.power or entry.status, "expected": expected}
        subject = Subject("instance", entry.uuid, entry.name, host)
        # Its owner may have stopped or started it meanwhile.
        severity = WARNING if status in ("ACTIVE", "SHUTOFF") else BLOCKER
        remedy = remedy_text("SG710", "landed-in-another-status", server=entry.uuid)
        yield finding("SG710", subject, seen, remedy, severity)
    elif expected is None:
        seen = {"status": status, "before": "not known"}
        remedy = remedy_text("SG710", "state-before-unknown", server=entry.uuid)
        yield finding("SG710", Subject("instance", entry.uuid, entry.name, host), seen, remedy, WARNING)


def _is_refused(item: Finding, entry: PlannedServer, request: EvacuationRequest) -> bool:
    """Whether a second QEMU is one of the dead host's that Ceph keeps from writing: the link of the host healed."""
    fence = request.fence
    return (
        (item.code, item.object.kind) == ("SG507", "domain")
        and same_name(item.object.host, request.host)
        and isinstance(fence, FenceProof)
        and not fence.covers_machine
        and bool(entry.images)
        and all(fence.covers_cluster(image.fsid) for image in entry.images.values())
    )


def _refused(item: Finding, request: EvacuationRequest) -> Finding:
    """That QEMU has no watcher, or there would be two: it goes on with a disk that it can not write."""
    remedy = remedy_text("SG507", "refused-copy-runs", host=request.host)
    return finding("SG507", item.object, {**item.evidence, "fenced by": "its blocklist entry"}, remedy, WARNING)


def _ports(connection: t.Any, source: str, uuids: t.Sequence[str]) -> t.List[Finding]:
    """SG511: releases from 31 do not bind them again by themselves (heal_instance_info_cache_interval is -1)."""
    if not uuids:
        return []
    try:
        left = network.ports_left(connection, source, uuids)
    except ApiError as error:
        evidence_ = {"ports": error.message}
        remedy = remedy_text("SG709", "ports-unread-after-landing")
        return [finding("SG709", Subject("host", source), evidence_, remedy)]
    return [
        finding(
            "SG511",
            Subject("port", port.id, port.device_id, source),
            {"server": port.device_id, "binding:host_id": port.binding_host_id},
            remedy_text("SG511", "port-left"),
        )
        for port in left
    ]


def stays(
    left: t.Mapping[str, str],
    names: t.Mapping[str, str],
    source: str,
    now: t.Mapping[str, str],
    late: t.Collection[str] = (),
) -> t.List[Finding]:
    """SG512: each server that is still on the dead host, for the report.

    ``now``: its status, as just read; ``late``: those that came to the host after the evacuation began.
    """
    return [
        finding(
            "SG512",
            Subject("instance", uuid, names.get(uuid), source),
            {"stays because": why, "status": now.get(uuid), **({"late": True} if uuid in late else {})},
            remedy_text("SG512", "stays-late" if uuid in late else "stays"),
        )
        for uuid, why in sorted(left.items())
    ]
