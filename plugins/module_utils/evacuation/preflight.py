# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before an evacuation: may it begin, who goes where, and every reason why not. Pure.

Three looks. :func:`preflight` before anything is touched, all findings at once. :func:`death` after the fence, before
the first guest is sent. :func:`hazards.storage.landed` after each.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..capacity.leaving_guests import Guest, Reason, guests
from ..capacity.measured import (
    Destination,
    IncomingServer,
    by_nova_name,
    destinations,
)
from ..capacity.planner import Assignments, Tried, against_files, assign
from ..hazards import clients, disks, fencing, in_flight, memory, storage, unfit
from ..hazards.clients import EvidenceElsewhere, KnownAddresses
from ..model import server_state
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    Bundle,
    EvacuationFacts,
    MigrationRow,
    TargetHost,
)
from ..model.fences.catalogue import PROVABLE, of_addresses
from ..model.findings import (
    ALIVE,
    BLOCKER,
    CATALOGUE,
    WARNING,
    Checked,
    Finding,
    Override,
    Subject,
    Unchecked,
    blocking_findings,
    finding,
)
from ..model.lookups import (
    OURS,
    Index,
    Items,
    gather,
)
from ..model.requests import EvacuationRequest
from ..model.wording import count
from . import preflight_servers as evacuation_servers

#: Without these nothing can be decided.
NEEDED = ("services", "servers", "hypervisors", "providers", "migrations")
#: The first release that can leave servers stopped (microversion 2.95).
STOPPED = (2, 95)
#: Servers that are named where something is not known of them.
_NAMED = 10


@dataclasses.dataclass(frozen=True)
class EvacuationDecision:
    """What an evacuation may do: the findings, who goes where, and what that was decided from."""

    checked: Checked
    assignments: Assignments
    guests: t.Tuple[Guest, ...] = ()
    destinations: t.Tuple[Destination, ...] = ()
    #: What Ceph would refuse. Its problems are among the findings only where the fence is one of addresses.
    addresses: t.Optional[fencing.Addresses] = None
    #: Servers that must not be sent now, each with code and reason, whatever becomes of the others.
    barred: t.Mapping[str, t.Tuple[str, str]] = dataclasses.field(default_factory=dict)
    #: All disks of each server.
    disks: t.Mapping[str, t.Sequence[disks.Disk]] = dataclasses.field(default_factory=dict)


def preflight(
    bundle: Bundle,
    about: EvacuationFacts,
    request: EvacuationRequest,
    overrides: t.Sequence[Override] = (),
    fence: t.Optional[str] = None,
    sent: t.Sequence[IncomingServer] = (),
    tried: t.Optional[Tried] = None,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
) -> EvacuationDecision:
    """Return every finding and the plan. ``fence``: how the source will be fenced; None: as the request says.

    ``elsewhere``: addresses that this reading does not show. With a fence in the request, that is judged, and not what
    will be done.

    ``overrides`` decide only which memory and disk rules are passed over while hosts are chosen; what stands is the
    caller's to ask (C(findings.blocking_findings)).
    """
    unread = _unread(bundle, about, request)
    leaving = guests(bundle, about, request)
    if unread or leaving is None:
        evidence = {"not read": unread or ["servers"]}
        item = finding(
            "SG709",
            Subject("host", request.host),
            evidence,
            remedy_text("SG709", "evacuation-apis-unread"),
        )
        return EvacuationDecision(Checked((item,)), Assignments([], []))
    if not leaving:
        # Nobody is to be sent: nothing will be touched, so that nothing needs to be proven, but that there is nobody.
        items = [*_known(bundle, request, leaving), *_held(about, request)]
        return EvacuationDecision(gather([*items, *evacuation_servers.accounted(about, request)]), Assignments([], []))
    moving = _moving(bundle, leaving, overrides)
    # A migration that is open keeps its own server, not everybody's.
    leaving = [
        dataclasses.replace(guest, problems=(*guest.problems, moving[guest.uuid])) if guest.uuid in moving else guest
        for guest in leaving
    ]
    hosts = destinations(bundle, about, request, sent)
    leaving, unfitted = _fitted(leaving, bundle, hosts, about, request)
    where = {**(about.member_hosts or {}), **{entry.uuid: entry.host for entry in sent}}
    assignments = assign(leaving, hosts, where, request, _passed(leaving, overrides), tried)
    kind = fence or request.fence_kind
    known = clients.identify(bundle, about, leaving, request, None, elsewhere)
    refused = fencing.addresses(bundle, about, leaving, request, request.blocklist, elsewhere, known)
    # The findings of these migrations say it already, each with its way out.
    telling = Assignments(
        assignments.assigned, [entry for entry in assignments.unassigned if not _only_moving(entry.problems)]
    )
    items = [
        *_options(bundle, request, fence),
        *_known(bundle, request, leaving),
        *_held(about, request),
        *_not_down(about, request),
        *_blast(about, request),
        *in_flight.moves_of(bundle, {guest.uuid for guest in leaving}, _way_out),
        *evacuation_servers.check(bundle, about, request, leaving, assignments),
        *storage.writers(bundle, about, leaving, request, elsewhere, known),
        *storage.pools(bundle, leaving, {host.host for host in hosts if not host.problems}, request),
        *(() if request.partial else memory.unassigned(leaving, hosts, telling, request.host)),
        *unfitted,
        *memory.unmeasured(hosts, {guest.zone for guest in leaving}),
        *memory.overcommitted(bundle, about, request, assignments),
        *_fence(bundle, about, leaving, request, kind, refused, known),
        *fencing.rights(bundle, known.disks.clusters, kind),
        *_lock_breaking(bundle, request, known, kind),
    ]
    checked = gather(items)
    return EvacuationDecision(
        checked,
        assignments,
        tuple(leaving),
        tuple(hosts),
        refused,
        barred(checked, overrides, leaving),
        _disks(bundle, about, leaving, known, hosts),
    )


def _disks(
    bundle: Bundle,
    about: EvacuationFacts,
    leaving: t.Sequence[Guest],
    known: KnownAddresses,
    hosts: t.Sequence[Destination],
) -> t.Dict[str, t.List[disks.Disk]]:
    servers = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
    return {
        guest.uuid: disks.of_server(servers[guest.uuid], bundle, about, known.disks, bool(files_of(guest, hosts)))
        for guest in leaving
        if guest.uuid in servers
    }


def files_of(guest: Guest, hosts: t.Sequence[Destination]) -> t.Dict[str, int]:
    """Return the files that a guest can be started from on another host, with their inodes; empty: there are none."""
    for there in hosts:
        if guest.images and there.files is not None and against_files(guest, there) is None:
            return dict(there.files.disks[guest.uuid])
    return {}


def death(
    bundle: Bundle,
    about: EvacuationFacts,
    request: EvacuationRequest,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
) -> Checked:
    """After the fence: the source is fenced with proof, down for Nova, and no client has a disk of its guests open."""
    leaving = guests(bundle, about, request)
    if leaving is None or about.targets is None:
        evidence = {"not read": ["servers" if leaving is None else "services"]}
        item = finding(
            "SG709",
            Subject("host", request.host),
            evidence,
            remedy_text("SG709", "evacuation-apis-unread"),
        )
        return Checked((item,))
    known = clients.identify(bundle, about, leaving, request, None, elsewhere)
    return gather(
        [
            *_not_down(about, request),
            *storage.fenced(bundle, about, leaving, request, elsewhere, known),
            *storage.writers(bundle, about, leaving, request, elsewhere, known),
            *_looked(bundle, leaving, destinations(bundle, about, request)),
        ]
    )


def _unread(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest) -> t.List[str]:
    missing = [f"cloud.{part}" for part in NEEDED if getattr(bundle.cloud, part, None) is None]
    missing += [f"evacuation.{part}" for part in ("targets", "groups", "member_hosts") if getattr(about, part) is None]
    reasons = {entry.part: entry.reason for entry in [*about.unread, *(bundle.cloud.unread if bundle.cloud else [])]}
    return [f"{part}: {reasons.get(part.partition('.')[2], 'not read')}" for part in missing]


def _passed(leaving: t.Sequence[Guest], overrides: t.Sequence[Override]) -> t.Dict[str, t.Set[str]]:
    passed: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
    for entry in overrides:
        for guest in leaving:
            if entry.object in (guest.uuid, guest.name):
                passed[guest.uuid].add(entry.code)
    return passed


# --- may it begin? --------------------------------------------------------------------------------------------


def _options(bundle: Bundle, request: EvacuationRequest, fence: t.Optional[str]) -> Items:
    offered = bundle.cloud.compute_max_microversion if bundle.cloud else None
    if request.target_state == "stopped":
        major, _dot, minor = (offered or "0.0").partition(".")
        if (int(major), int(minor)) < STOPPED:
            evidence = {"microversion": offered, "needed": "2.95"}
            remedy = remedy_text("SG705", "stopped-not-offered")
            yield finding("SG705", Subject("host", request.host), evidence, remedy)


def _known(bundle: Bundle, request: EvacuationRequest, leaving: t.Sequence[Guest]) -> Items:
    """SG119: no such host; SG710: a server was named that is not on it."""
    services = (bundle.cloud.services if bundle.cloud else None) or []
    yield from in_flight.unknown_host(request.host, [service.host for service in services])
    there = {guest.uuid for guest in leaving}
    for uuid in request.servers or ():
        if uuid not in there:
            yield finding(
                "SG710",
                Subject("instance", uuid),
                {"host": request.host},
                remedy_text("SG710", "not-on-host"),
            )


def reason_of(operation_id: str) -> str:
    """Return the reason under which an operation disables the dead host's service: its lock."""
    return f"{OURS}evacuate:{operation_id}"


def _held(about: EvacuationFacts, request: EvacuationRequest) -> Items:
    # One that has ended, and left servers here, is no lock any more.
    mine = {reason_of(operation) for operation in (request.operation_id, *request.closed)}
    yield from in_flight.held_by_another(about, request.host, mine)


def _not_down(about: EvacuationFacts, request: EvacuationRequest) -> Items:
    """SG510: Nova takes the service for alive. A name typed wrong would otherwise have a living host fenced."""
    for target in about.targets or []:
        if target.host == request.host and target.state == "up" and not target.forced_down:
            evidence = {"state": target.state, "status": target.status, "forced_down": target.forced_down}
            remedy = remedy_text("SG510", "up-for-nova")
            yield finding("SG510", Subject("host", request.host), evidence, remedy)


def _down(target: TargetHost) -> bool:
    return target.state != "up" or target.forced_down


#: nova-compute disables itself with such a reason where it has lost libvirt: that is a failure, not maintenance.
AUTOMATIC = "AUTO:"


def _unexplained(target: TargetHost, request: EvacuationRequest) -> bool:
    """Whether a host that is down counts for the blast radius: nobody said that it would be, and somebody is on it.

    One that an operation of this collection holds is known to be dead. One that is disabled and empty is in repair. How
    many are on it is what holds something of its resources: unread counts as somebody.
    """
    reason = target.disabled_reason or ""
    if target.host == request.host:
        return True
    if target.status == "disabled" and reason.startswith(OURS):
        return False
    return not (target.status == "disabled" and not reason.startswith(AUTOMATIC) and target.consumers == 0)


def _blast(about: EvacuationFacts, request: EvacuationRequest) -> Items:
    """SG514: many hosts of one zone down at once are a network fault or worse, not one dead host.

    Once the host is fenced it is a warning: the servers have left nothing alive behind, and stopping helps nobody.
    """
    targets = about.targets or []
    zone = next((target.zone for target in targets if target.host == request.host), None)
    same = [target for target in targets if target.zone == zone]
    down = sorted(target.host for target in same if _down(target) and _unexplained(target, request))
    allowed = max(request.max_hosts, int(len(same) * request.max_share))
    if len(down) > allowed:
        evidence = {
            "zone": zone,
            "down": down[:20],
            "hosts": len(same),
            "allowed": allowed,
            "evacuate_max_hosts": request.max_hosts,
            "share of hosts that may be down": request.max_share,
        }
        remedy = remedy_text("SG514", "many-hosts-down")
        severity = BLOCKER if request.fence is None else WARNING
        yield finding("SG514", Subject("host", request.host), evidence, remedy, severity)


def _way_out(row: MigrationRow) -> str:
    """What to do about a migration that may never end: nova-compute forgets an evacuation when it is restarted."""
    server, destination = row.instance_uuid, row.dest_compute
    if row.status == "finished":
        return remedy_text(
            "SG703", "resize-to-dead-host", source=row.source_compute, server=server, destination=destination
        )
    if row.migration_type != "evacuation":
        return remedy_text("SG702", "end-of-migration-dead", destination=destination, migration=row.uuid or row.id)
    return remedy_text("SG702", "evacuation-under-way", server=server, destination=destination)


def _moving(bundle: Bundle, leaving: t.Sequence[Guest], overrides: t.Sequence[Override]) -> t.Dict[str, Reason]:
    """Return by server what its open migration says against its evacuation, but where the operator passes it."""
    names = {guest.uuid: guest.name for guest in leaving}
    found: t.Dict[str, Reason] = {}
    for _place, row in Index(bundle).migrations:
        uuid, code = row.instance_uuid, in_flight.migration_code(row)
        if uuid is None or uuid not in names or code is None:
            continue
        words = (row.uuid, str(row.id), uuid, names[uuid])
        if not any(entry.code == code and entry.object in words for entry in overrides):
            text = f"the server's migration {row.uuid or row.id} ({row.migration_type}) is {row.status}"
            found.setdefault(uuid, Reason(code, text))
    return found


def _fitted(
    leaving: t.Sequence[Guest],
    bundle: Bundle,
    hosts: t.Sequence[Destination],
    about: EvacuationFacts,
    request: EvacuationRequest,
) -> t.Tuple[t.List[Guest], t.List[Unchecked]]:
    """Add the hosts that cannot run each guest with a new definition, and tell of how many that is not known."""
    judge, found, unknown = unfit.Judge(bundle), [], []
    for guest in leaving:
        near = [host.host for host in hosts if guest.zone in (None, host.zone)]
        stored = server_state.stored_machine_type(guest.uuid, about)
        needed = unfit.needs(judge.domain(request.host, guest.uuid), request.host, live=False, stored=stored)
        found.append(dataclasses.replace(guest, unfit=judge.unfit(near, needed, guest.uuid)))
        unknown += [guest.name] if needed.machine is None else []
    if not unknown or about.image_properties is None:
        return found, []
    why = (
        f"the dead host was not read, and Nova does not show the machine types of {count(len(unknown), 'server')} "
        f"(microversion 2.98): {', '.join(unknown[:_NAMED])}"
    )
    return found, [Unchecked(unfit.CODE, request.host, why)]


def _only_moving(problems: t.Sequence[Reason]) -> bool:
    return bool(problems) and all(reason.code in ("SG702", "SG703") for reason in problems)


# --- fence ----------------------------------------------------------------------------------------------------


def _fence(
    bundle: Bundle,
    about: EvacuationFacts,
    leaving: t.Sequence[Guest],
    request: EvacuationRequest,
    kind: t.Optional[str],
    planned: fencing.Addresses,
    known: KnownAddresses,
) -> Items:
    """What lives is drained, not evacuated; what was cut off (it has watchers) is what a fence is for.

    Before the fence, what a fence of addresses would not cover is reported: nothing has been touched yet.
    """
    if of_addresses(kind):
        yield from planned.problems
    elif request.also_blocklist:
        # The requested fence decides: what is not known is not listed, and does not refuse.
        unread = (item for item in planned.problems if item.code == "SG709")
        yield from (dataclasses.replace(item, severity=WARNING) for item in unread)
    found = storage.fenced(bundle, about, leaving, dataclasses.replace(request, fence_kind=kind), known=known)
    if request.fence is not None or kind not in PROVABLE:
        yield from found
        return
    yield from (item for item in found if not isinstance(item, Finding) or item.code != "SG506")
    domains = storage.live_domains(bundle, request, leaving)
    if domains:
        remedy = remedy_text("SG506", "alive-before-fence")
        yield finding("SG506", Subject("host", request.host), {ALIVE: domains}, remedy)
    elif of_addresses(kind):
        yield from storage.bare(leaving, planned.uncovered)


def _lock_breaking(bundle: Bundle, request: EvacuationRequest, known: KnownAddresses, kind: t.Optional[str]) -> Items:
    """SG518 for every fence. Of volumes Cinder's own user may be the one that writes, so that it is a warning there."""
    with_images = _lockable(known.disks.images)
    with_volumes = _lockable(known.disks.places) - with_images
    same = of_addresses(kind)
    yield from fencing.lock_breaking(bundle, with_images, request.host, same=same)
    yield from fencing.lock_breaking(bundle, with_volumes, request.host, WARNING, same)


def _lockable(images: t.Mapping[str, t.Sequence[clients.SeenImage]]) -> t.Set[str]:
    """Return the clusters with images that a client must lock to write, as far as is known."""
    entries = (entry for places in images.values() for entry in places)
    return {entry.fsid for entry in entries if entry.fsid is not None and entry.image.exclusive_lock is not False}


def _looked(bundle: Bundle, leaving: t.Sequence[Guest], hosts: t.Sequence[Destination]) -> Items:
    """SG709: no host looked for a guest's images at all, so that it is not known who has them open.

    Who has a file open nobody can say: only a fence of the machine is good for one (C(capacity/shared_files.py)).
    """
    looked = [facts.rbd for facts in by_nova_name(bundle).values() if facts.rbd and facts.rbd.images is not None]
    everything = any(not rbd.instances for rbd in looked)
    asked = {uuid for rbd in looked for uuid in rbd.instances}
    for guest in leaving:
        if guest.images and not everything and guest.uuid not in asked and not files_of(guest, hosts):
            evidence = {"images": list(guest.images)}
            remedy = remedy_text("SG709", "images-not-looked-for")
            yield finding("SG709", Subject("instance", guest.uuid, guest.name), evidence, remedy)


# --- one server, or all? --------------------------------------------------------------------------------------

#: What keeps its own server only, whatever the operator says: somebody else has the disk.
ALWAYS_ALONE = ("SG507",)
#: What keeps its own server only where the operator lets the others go (evacuate_partial).
ALONE = tuple(code for code, entry in CATALOGUE.items() if entry.of_server)


def server_of(item: Finding, servers: t.Container[t.Optional[str]]) -> t.Optional[str]:
    """Return which of these servers a finding is about; None: about none of them, so about all.

    A migration has its server's uuid as a name; an image is named after its server, a volume's bears it beside.
    """
    words = (item.object.id, item.object.name, item.object.id.rpartition("/")[2].partition("_")[0])
    return next((word for word in words if word in servers), None)


def barred(
    checked: Checked, overrides: t.Sequence[Override], leaving: t.Sequence[Guest]
) -> t.Dict[str, t.Tuple[str, str]]:
    """Return the servers that something of their own keeps, with the first code and the reason in words."""
    servers = {guest.uuid for guest in leaving}
    found: t.Dict[str, t.Tuple[str, str]] = {}
    stands = blocking_findings(checked.findings, overrides)
    for item in sorted(stands, key=lambda item: item.code not in ALWAYS_ALONE):
        uuid = server_of(item, servers) if item.code in (*ALWAYS_ALONE, *ALONE) else None
        if uuid is not None:
            shown = "; ".join(f"{key}: {value}" for key, value in item.evidence.items())
            found.setdefault(uuid, (item.code, f"{CATALOGUE[item.code].summary} {shown}"))
    return found


def refusing(
    checked: Checked, overrides: t.Sequence[Override], partial: bool, leaving: t.Sequence[Guest]
) -> t.List[Finding]:
    """Return the standing blockers that refuse the whole run; empty: it may go on, without those that are barred.

    SG507 keeps its own server. With ``partial`` so does what else is about one server only; without it that refuses,
    unless its server stays anyhow. Where no server is left at all, everything that stands refuses.
    """
    servers = {guest.uuid for guest in leaving}
    stands = blocking_findings(checked.findings, overrides)
    about = [(item, server_of(item, servers) if item.code in (*ALWAYS_ALONE, *ALONE) else None) for item in stands]
    anyhow = {uuid for item, uuid in about if item.code in ALWAYS_ALONE}
    stay = {uuid for _item, uuid in about if uuid is not None and (partial or uuid in anyhow)}
    if servers and stay == servers:
        return stands
    return [item for item, uuid in about if uuid not in stay]
