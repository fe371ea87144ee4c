# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before nova-compute starts on a host that was evacuated: what a start would do, what is left over. Pure.

What is safe to clear is returned beside the findings, and is no finding itself:

* A domain whose instance Nova has on another host, by an evacuation from here that is done, its disks in Ceph:
  a definition without a process; or one that runs, where Ceph refuses this host and nothing here watches the disks.
* Entries on the OSD blocklists, cluster by cluster, when no domain that is not its own runs here any more: this
  host's addresses, and those that journals of its evacuations list. All other entries are left alone.
* The hold of the evacuation on the compute service, once nova-compute has run again: Nova forces no service up while
  one of its evacuation records is C(done) (nova/api/openstack/compute/services.py), and the start completes them.

An evacuation that holds the service must have its journal here, open or closed: SG707. One on another controller may be
open, and need what would be lifted here.

Ceph is looked at by other hosts, and only a view of the host's own cluster and pool says anything of its disks. All
else that is wrong refuses, each with its reason. Two do not refuse to clear, but nothing is clear with them: SG517, a
running domain whose disk this host does not have open, and SG709 for a disk that no host looked at. What such a domain
needs, a hard reboot, comes after the clearing.

Only the inventory ties the machine that was read to the name of the host. So a machine that is not known to be this
host refuses before anything is judged, and no override passes that: the fence of the real host would be lifted.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import RUNNING
from ..hazards import clients, forecast, identity, in_flight, left_directories, storage, volumes
from ..model import addresses, blocklists
from ..model.codes.catalogue import remedy_text
from ..model.deployment_facts import ServiceProcess
from ..model.facts import (
    ApiService,
    Bundle,
    Domain,
    HostFacts,
    MigrationRow,
    OperationRecord,
    RbdFacts,
    RbdImage,
    ResourceProvider,
    Unit,
)
from ..model.findings import (
    BLOCKER,
    INFO,
    NO_OVERRIDE,
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.host_facts import LeftDirectory
from ..model.lookups import (
    OURS,
    Index,
    Items,
    domain_subject,
    gather,
    host_subject,
    in_progress,
    migration_evidence,
    migration_subject,
    open_evacuation,
    same_name,
    uuid_files,
    uuid_key,
)
from ..model.names import conf_host, refused_host
from ..model.requests import ReturnRequest
from ..model.stored_names import name_key
from ..records.operation_records import is_evacuation
from . import preflight_domains as return_domains
from . import preflight_ovn as ovn_return

#: disabled_reason of a host that an evacuation holds begins with it.
HELD = f"{OURS}evacuate:"
#: An evacuation that has ended on its destination.
DONE = "done"
#: The code that is no reason against clearing, and never clear.
DEAD_DISK = "SG517"
#: What a move left here that is not moved aside: no reason against clearing, and never clear.
LEFT = "SG713"
#: The codes of requests that the next start here executes, or may execute, though it must not.
WAITING = ("SG329", "SG330")
_STOPPED = ("inactive", "failed")
#: The first device of each bus.
ROOT_DEVICES = ("vda", "sda", "hda", "xvda")

#: A Ceph cluster's fsid and a pool.
Home = t.Tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Lift:
    """Addresses to take off the OSD blocklist of one cluster, through one host that reaches it."""

    fsid: str
    pool: str
    #: Inventory name.
    reader: str
    #: Address to whose it is, for people.
    addresses: t.Mapping[str, str]
    #: Those of them that the returning host has now.
    own: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Held:
    """What a migration that has ended still holds of a resource provider."""

    consumer: str
    provider: str
    name: str
    resources: t.Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Clearing:
    """What is left over and safe to clear, in this order."""

    #: Domains to end here: destroyed where they run, and undefined. Their disks stay in Ceph.
    domains: t.Tuple[Domain, ...] = ()
    #: Blocklist entries to remove.
    lifts: t.Tuple[Lift, ...] = ()
    #: The reason under which an evacuation holds the compute service; None: none does, or not yet to be cleared.
    reason: t.Optional[str] = None
    #: The same, where nova-compute must start before.
    held_until_start: t.Optional[str] = None
    #: Whether nova-compute has started already, and left records behind: it must start once more.
    started: bool = False
    #: Whether nova-compute is stopped, so that a start executes the requests that wait in RabbitMQ for this host.
    requests: bool = False
    #: Directories of instances to move aside, and where; those of ``domains`` may be left when these are ended.
    directories: t.Tuple[LeftDirectory, ...] = ()
    instances_path: t.Optional[str] = None
    #: Allocations of migrations that have ended.
    allocations: t.Tuple[Held, ...] = ()


@dataclasses.dataclass(frozen=True)
class ReturnDecision:
    """The findings, and what would be cleared where none of them stands."""

    checked: Checked
    clearing: Clearing = Clearing()
    #: Whether nothing was judged: so much is unread, or the machine is another one. No override passes that.
    undecided: bool = False


@dataclasses.dataclass(frozen=True)
class _View:
    """What one host sees of a cluster and pool."""

    name: str
    rbd: RbdFacts


def judge(bundle: Bundle, request: ReturnRequest) -> ReturnDecision:
    """Return every finding, and what is safe to clear."""
    facts = bundle.hosts.get(request.inventory_name)
    index = Index(bundle)
    missing = _unread(index, facts, request)
    strange = tuple(_another_machine(index, facts, request)) if facts is not None else ()
    if facts is None or missing:
        return _undecided(request, {"not read": missing}, strange)
    if strange:
        return ReturnDecision(Checked(strange), undecided=True)
    try:
        found = forecast.fates(index, facts)
    except forecast.UnreadError as error:
        return _undecided(request, {"reason": str(error)})
    about = list(_about(index, facts, request))
    doubts = [f"{item.code}: {item.reason}" for item in about if isinstance(item, Unchecked)]
    if doubts:
        return _undecided(
            request, {"who this host is": doubts}, [item for item in about if not isinstance(item, Unchecked)]
        )
    views = _views(bundle, request)
    own_view = views.get(home(facts, request) or ("", ""))
    leaving = [fate.domain for fate in found if _leftover(index, fate) and _harmless(facts, own_view, fate.domain)]
    hold, waits = _hold(bundle, request), _start_is_awaited(index, request)
    left = left_directories.left_on(index, facts)
    clearing = Clearing(
        tuple(leaving),
        tuple(_lifts(bundle, facts, request)),
        None if waits else hold,
        hold if waits else None,
        waits and bool(_running(facts)),
        not _running(facts),
        tuple(item.directory for item in left or () if item.aside),
        facts.instances_path.path if facts.instances_path else None,
        tuple(_releasable(index, request)),
    )
    ended = {domain.uuid for domain in leaving}
    items = [
        *about,
        *_services(bundle, request),
        *(
            item
            for item in forecast.restart(index, facts)
            if isinstance(item, Unchecked) or item.object.kind != "domain" or item.object.id not in ended
        ),
        *_strangers(facts, found, clearing),
        *_volumes_of_deleted(facts, found, clearing),
        *return_domains.kept(leaving, facts),
        *return_domains.starting(index, facts, request.host, ended),
        *_lost(facts, request),
        *_too_late(facts, clearing),
        *_under_way(index, request),
        *_refused_still(bundle, facts, request),
        *_unreached(bundle, request),
        *_twice(bundle, facts, home(facts, request), views, ended, _servers(index, request)),
        *_without_domain(index, facts, request, views),
        *_disks(facts, home(facts, request), views, ended | _deleted(index, facts), _servers(index, request)),
        *_ports(bundle, request),
        *ovn_return.check(bundle, facts, request),
        *_allocations(index, request),
        *_left(index, facts, left),
        *_volumes(index, request),
    ]
    return ReturnDecision(gather(items), clearing)


def _left(index: Index, facts: HostFacts, left: t.Optional[t.Sequence[left_directories.Left]]) -> Items:
    """SG713: what stays in instances_path; not read, it is not known whether a move back to this host succeeds."""
    if left is not None:
        yield from left_directories.stay(facts, left)
        return
    for item in left_directories.check(index, facts):
        if isinstance(item, Unchecked):
            evidence = {"not read": item.reason}
            yield finding(LEFT, host_subject(facts), evidence, remedy_text(LEFT, "unread"), BLOCKER)


def _volumes(index: Index, request: ReturnRequest) -> Items:
    """SG524: Cinder has a volume of a server of this host connected to another one; unread, that is undecided.

    A back end that serves every host lets the server start. Another one does not: such a host is not clear.
    """
    cloud = index.bundle.cloud
    servers = [one for one in (cloud.servers if cloud else None) or [] if same_name(one.host, request.host)]
    with_volumes = volumes.servers_with_volumes(servers)
    yield from volumes.unread(index.bundle, "SG524", with_volumes)
    storage = cloud.block_storage if cloud else None
    if storage is None or storage.volumes is None:
        return
    for item in volumes.misplaced(storage, with_volumes):
        if isinstance(item, Finding) and item.code == "SG524":
            harmless = item.evidence["serves every host"]
            yield item if harmless else dataclasses.replace(item, severity=BLOCKER)


def _undecided(
    request: ReturnRequest, evidence: t.Mapping[str, t.Any], known: t.Sequence[Finding] = ()
) -> ReturnDecision:
    item = finding("SG709", Subject("host", request.host), evidence, remedy_text("SG709", "return-undecided"))
    return ReturnDecision(Checked((item, *known)), undecided=True)


# --- what must be known ---------------------------------------------------------------------------------------


#: Parts of the host without which it is not known who it is, what runs on it, or what it may write.
_PARTS = (
    "domains",
    "qemu_processes",
    "nova_conf",
    "addresses",
    "compute_id_files",
    "libvirt",
    "deployment",
)
_TABLES = ("services", "compute_nodes", "instances", "migrations")


def _unread(index: Index, facts: t.Optional[HostFacts], request: ReturnRequest) -> t.List[str]:
    bundle = index.bundle
    if facts is None:
        reason = bundle.unreachable.get(request.inventory_name, "not read")
        return [f"host {request.inventory_name}: {reason}"]
    reasons = {entry.part: entry.reason for entry in facts.unread}
    missing = [f"host.{part}: {reasons.get(part, 'not read')}" for part in _PARTS if getattr(facts, part) is None]
    why = {entry.part: entry.reason for entry in (bundle.cloud.unread if bundle.cloud else [])}
    missing += [
        f"cloud.{part}: {why.get(part, 'not read')}"
        for part in ("services", "servers", "ports", "providers")
        if getattr(bundle.cloud, part, None) is None
    ]
    missing += _unread_tables(index)
    if facts.nova_conf is not None and facts.nova_conf.images_type == "rbd":
        missing += _unread_ceph(bundle, facts, request)
    return missing


def _unread_tables(index: Index) -> t.Iterator[str]:
    """Which tables were not read in every cell: rows that no API shows decide what a start would do."""
    databases = index.bundle.databases
    unread = [*(databases.unread if databases else []), *(one for cell in index.cells or [] for one in cell.unread)]
    for table in _TABLES:
        if not index.cells_read(table):
            why = sorted({one.reason for one in unread if one.part in (table, "cells")})
            yield f"databases.{table}: {'; '.join(why) or 'the run did not read this table in at least one cell'}"


def _unread_ceph(bundle: Bundle, facts: HostFacts, request: ReturnRequest) -> t.List[str]:
    place = home(facts, request)
    if place is None:
        reasons = {entry.part: entry.reason for entry in [*facts.unread, *(facts.rbd.unread if facts.rbd else [])]}
        why = reasons.get("fsid") or reasons.get("rbd") or "not read"
        return [f"the Ceph cluster of {request.inventory_name}: {why}"]
    view = _views(bundle, request).get(place)
    if view is None:
        return [
            (
                f"Ceph cluster {place[0]}, pool {place[1]}: besides the returning host, the run has read no host that "
                "has access to this pool"
            )
        ]
    reasons = {entry.part: entry.reason for entry in view.rbd.unread}
    return [
        f"Ceph's {part}, which the run reads through {view.name}: {reasons.get(part, 'not read')}"
        for part in ("images", "blocklist")
        if getattr(view.rbd, part) is None
    ]


def _another_machine(index: Index, facts: HostFacts, request: ReturnRequest) -> t.Iterator[Finding]:
    """SG106, SG102: the machine that was read is not the host that was named, whatever the inventory calls it.

    The databases and APIs are read for C(return_host) alone, so that they say nothing of another name: the names are
    compared here. A machine with the name and another compute_id may be a replacement, while the old one runs on.
    """
    host = conf_host(facts)
    if facts.nova_conf is not None and host != request.host:
        evidence: t.Dict[str, t.Any] = {
            "CONF.host": host,
            "return_host": request.host,
            "inventory name": request.inventory_name,
            "addresses": facts.addresses,
        }
        if host is None:
            evidence["why"] = refused_host(facts) or "the host name in nova-compute's container was not read"
        remedy = remedy_text("SG106", "machine-with-another-name", host=request.host)
        yield finding("SG106", host_subject(facts), evidence, remedy)
    nodes = {uuid_key(node.uuid): node.uuid for node in index.nodes_by_host.get(request.host, []) if node.uuid}
    files = {uuid_key(entry.uuid): entry.uuid for entry in uuid_files(facts) if entry.uuid}
    if nodes and files and not set(nodes) & set(files):
        yield finding(
            "SG102",
            host_subject(facts),
            {"files": sorted(files.values()), "node of this host": sorted(nodes.values()), "host": request.host},
            remedy_text("SG102", "machine-with-another-compute-id"),
        )


def home(facts: HostFacts, request: ReturnRequest) -> t.Optional[Home]:
    """Return the cluster and pool of a host's disks: as read on it, else as its journals say; None: not known.

    The monitors answer a host that the OSDs refuse, so that it knows its cluster even then.
    """
    if facts.rbd is not None and facts.rbd.fsid is not None:
        return facts.rbd.fsid, facts.rbd.pool
    pool = facts.nova_conf.images_rbd_pool if facts.nova_conf else None
    for record in sorted(_mine(request), key=lambda record: record.started_at, reverse=True):
        clusters = [fsid for fsid, pools in record.homes.items() if pool in pools]
        if record.homes:
            return (clusters[0], str(pool)) if len(clusters) == 1 else None
    return None


def _views(bundle: Bundle, request: ReturnRequest) -> t.Dict[Home, _View]:
    """Return what the readers saw. A host never sees for itself, and one that opened no image has not looked."""
    found: t.Dict[Home, _View] = {}
    for name in request.ceph_names:
        facts = bundle.hosts.get(name)
        rbd = facts.rbd if facts is not None and name != request.inventory_name else None
        if rbd is not None and rbd.opened and rbd.fsid is not None:
            found.setdefault((rbd.fsid, rbd.pool), _View(name, rbd))
    return found


def _mine(request: ReturnRequest) -> t.List[OperationRecord]:
    """Return the evacuations of this host."""
    return [record for record in request.records if is_evacuation(record.kind) and same_name(record.host, request.host)]


def _unreached(bundle: Bundle, request: ReturnRequest) -> Items:
    """SG709: a journal lists addresses on a cluster whose blocklist no host read."""
    read = {fsid for (fsid, _pool), view in _views(bundle, request).items() if view.rbd.blocklist is not None}
    for record in _mine(request):
        for fsid in sorted(fsid for fsid, listed in record.blocklisted.items() if listed and fsid not in read):
            evidence = {"operation": record.operation_id, "addresses": record.blocklisted[fsid]}
            remedy = remedy_text("SG709", "journal-of-unread-cluster")
            yield finding("SG709", Subject("service", fsid, "Ceph"), evidence, remedy)
        if record.addresses and not read:
            evidence = {"operation": record.operation_id, "addresses": record.addresses}
            remedy = remedy_text("SG709", "no-cluster-read")
            yield finding("SG709", Subject("service", "ceph", "Ceph"), evidence, remedy)


# --- what is safe to clear ------------------------------------------------------------------------------------


def _leftover(index: Index, fate: forecast.Fate) -> bool:
    """Whether Nova has the instance elsewhere, by an evacuation from here that is done, and would end it too."""
    rows = index.migrations_by_instance.get(fate.domain.uuid, [])
    return (
        fate.rule == forecast.EVACUATED
        and fate.action == forecast.DESTROYED
        and fate.exists
        and fate.lives is not None
        and any(row.uuid == fate.migration or str(row.id) == fate.migration for row in rows if row.status == DONE)
        and not any(in_progress(row) for row in rows)
        and not any(same_name(fate.lives, row.source_compute) for row in rows)
    )


def _harmless(facts: HostFacts, view: t.Optional[_View], domain: Domain) -> bool:
    """Whether no process is behind a domain, or Ceph refuses what it writes and nothing here has its disks open."""
    if domain.state not in RUNNING:
        return True
    if view is None or not _refused(facts, view.rbd):
        return False
    images = [image for image in view.rbd.images or [] if image.name.startswith(f"{domain.uuid}_")]
    return bool(images) and all(
        image.watchers is not None and not any(_of(facts, watcher.address) for watcher in image.watchers)
        for image in images
    )


def _refused(facts: HostFacts, rbd: RbdFacts) -> bool:
    """Whether the cluster refuses what this host writes: the address by which it reaches Ceph, not just any of it."""
    entries = rbd.blocklist or []
    client = facts.rbd.client_address if facts.rbd else None
    # Where that is unread it may be any of them.
    clients = [client] if client else _own(facts)
    return bool(clients) and all(any(blocklists.covers(entry, one) for entry in entries) for one in clients)


def _own(facts: HostFacts) -> t.List[str]:
    client = facts.rbd.client_address if facts.rbd else None
    known = [*(facts.addresses or []), *([client] if client else [])]
    return sorted(
        {str(blocklists.plain(one)) for one in known if blocklists.plain(one) and not addresses.is_loopback(one)}
    )


def _of(facts: HostFacts, ceph: str) -> bool:
    """Whether a client's address is this host's; one that cannot be understood may be."""
    address = blocklists.plain(storage.address_of(ceph) or "")
    return address is None or address in _own(facts)


def _lifts(bundle: Bundle, facts: HostFacts, request: ReturnRequest) -> t.Iterator[Lift]:
    """What is taken off, cluster by cluster: this host's addresses, and those that journals of its evacuations list."""
    own = _own(facts)
    for fsid, (pool, view) in _clusters(bundle, request).items():
        listed = _listed(view.rbd)
        kept = _kept(request, fsid, own)
        whose = dict.fromkeys(own, f"of {request.host}")
        for address, operation in _journaled(_mine(request), fsid).items():
            user = storage.owner(bundle, blocklists.entry_of(address))
            now = f", {user} now has" if user is not None else ""
            whose.setdefault(address, f"listed by operation {operation}{now}")
        addresses = {
            address: why for address, why in sorted(whose.items()) if address in listed and address not in kept
        }
        if addresses:
            yield Lift(fsid, pool, view.name, addresses, tuple(one for one in addresses if one in own))


def _clusters(bundle: Bundle, request: ReturnRequest) -> t.Dict[str, t.Tuple[str, _View]]:
    """Return one pool and view for each cluster whose blocklist was read: pools of one cluster share the list."""
    found: t.Dict[str, t.Tuple[str, _View]] = {}
    for (fsid, pool), view in sorted(_views(bundle, request).items(), key=lambda item: item[0]):
        if view.rbd.blocklist is not None:
            found.setdefault(fsid, (pool, view))
    return found


def _listed(rbd: RbdFacts) -> t.Set[str]:
    """Return the addresses of which a cluster refuses all clients. Entries of single clients are Ceph's own."""
    known = {blocklists.whole(entry) for entry in rbd.blocklist or []}
    return {address for address in known if address is not None}


def _journaled(records: t.Sequence[OperationRecord], fsid: str) -> t.Dict[str, str]:
    """Return the addresses that operations put on a cluster's list, each with the operation, the last one first.

    An old journal does not name its cluster, and its operation may have written to any: its addresses count for each.
    """
    found: t.Dict[str, str] = {}
    for record in sorted(records, key=lambda record: record.started_at, reverse=True):
        for address in [*record.blocklisted.get(fsid, []), *record.addresses]:
            known = blocklists.plain(address)
            if known is not None:
                found.setdefault(known, record.operation_id)
    return found


def _kept(request: ReturnRequest, fsid: str, own: t.Container[str]) -> t.Dict[str, OperationRecord]:
    """Return the addresses that fence another host: never lifted here.

    An open evacuation of another host needs what it listed. So may a later one that is closed, until that host is back;
    but an address that this host has now is not the other's any more.
    """
    mine = [record for record in _mine(request) if record.blocklisted.get(fsid) or record.addresses]
    last = max((record.started_at for record in mine), default="")
    found: t.Dict[str, OperationRecord] = {}
    for record in request.records:
        if not is_evacuation(record.kind) or record.host is None or same_name(record.host, request.host):
            continue
        for address in _journaled([record], fsid):
            if record.open or (record.started_at >= last and address not in own):
                found[address] = record
    return found


def _refused_still(bundle: Bundle, facts: HostFacts, request: ReturnRequest) -> Items:
    """SG515: entries that refuse this host, or that its journals list, and that are not this host's to lift."""
    own = _own(facts)
    for fsid, (_pool, view) in _clusters(bundle, request).items():
        listed, mine = _listed(view.rbd), _journaled(_mine(request), fsid)
        for address, record in sorted(_kept(request, fsid, own).items()):
            if address in listed and (address in own or address in mine):
                evidence: t.Dict[str, t.Any] = {
                    "cluster": fsid,
                    "evacuation of": record.host,
                    "operation": record.operation_id,
                }
                remedy = remedy_text("SG515", "fences-another-evacuated-host", host=record.host)
                severity = BLOCKER if address in own else WARNING
                yield finding("SG515", Subject("host", address, host=record.host), evidence, remedy, severity)
        for entry in view.rbd.blocklist or []:
            span = blocklists.network(entry)
            covered = [one for one in own if blocklists.covers(entry, one)]
            if span is not None and covered and blocklists.whole(entry) is None:
                evidence = {"cluster": fsid, "entry": entry.address, "addresses": covered, "until": entry.until}
                command = blocklists.removal(entry, view.rbd.blocklist_word)
                remedy = remedy_text("SG515", "range-covers-returned-host", command=command)
                yield finding("SG515", Subject("host", str(span), host=request.host), evidence, remedy, BLOCKER)


def _service(bundle: Bundle, request: ReturnRequest) -> t.Optional[ApiService]:
    services = (bundle.cloud.services if bundle.cloud else None) or []
    return next((service for service in services if service.host == request.host), None)


def _hold(bundle: Bundle, request: ReturnRequest) -> t.Optional[str]:
    service = _service(bundle, request)
    reason = (service.disabled_reason if service else None) or ""
    return reason if reason.startswith(HELD) else None


def _start_is_awaited(index: Index, request: ReturnRequest) -> bool:
    """Whether an evacuation from here is one that only the next start of nova-compute completes.

    A start completes one record of each server: it keeps them by server (manager.py, _destroy_evacuated_instances; 26
    to 34). A server that was sent twice leaves another, which can be the one that is done.
    """
    return any(
        same_name(row.source_compute, request.host) and row.status == DONE and row.migration_type == "evacuation"
        for _place, row in index.migrations_by_host.get(name_key(request.host), [])
    )


# --- what refuses ---------------------------------------------------------------------------------------------


def open_evacuations(request: ReturnRequest) -> t.Iterator[Finding]:
    """SG706: an evacuation of this host that has not ended."""
    for record in _mine(request):
        if record.open:
            evidence = {"operation": record.operation_id, "state": record.state, "started": record.started_at}
            remedy = remedy_text("SG706", "evacuation-of-returning-host-open", host=request.host)
            yield finding("SG706", Subject("host", request.host), evidence, remedy)


def _about(index: Index, facts: HostFacts, request: ReturnRequest) -> Items:
    """SG706; SG101 to SG106 who this host is, as a start would see it."""
    yield from open_evacuations(request)
    for entry in facts.unknown_journals:
        yield in_flight.unknown_journal(entry, Subject("host", request.host))
    yield from identity.unsupported_driver(index, facts)
    yield from identity.compute_id_files(index, facts)
    yield from identity.compute_id_node(index, facts)
    yield from identity.hypervisor_hostname(index, facts)
    yield from identity.service_host(index, facts)


def _services(bundle: Bundle, request: ReturnRequest) -> Items:
    """SG119: no such service; SG707: another operation holds it, or one without a journal; SG704: the operator does."""
    service = _service(bundle, request)
    subject = Subject("host", request.host)
    if service is None:
        yield finding("SG119", subject, {}, remedy_text("SG119", "returning-host-without-service"))
        return
    reason = service.disabled_reason or ""
    seen = {"status": service.status, "disabled reason": reason or None, "forced down": service.forced_down}
    if reason.startswith(OURS) and not reason.startswith(HELD):
        yield finding("SG707", subject, seen, remedy_text("SG707", "returning-host-held-by-another"))
    elif reason.startswith(HELD) and not _has_journal(reason, request):
        # It may be open elsewhere, and need every entry that a run here would remove.
        remedy = remedy_text("SG707", "returning-host-held-without-journal", host=request.host)
        yield finding("SG707", subject, {**seen, "journals": _operations(request)}, remedy)
    elif not reason.startswith(HELD) and (service.forced_down or service.status != "enabled"):
        yield finding("SG704", subject, seen, remedy_text("SG704", "not-held-by-an-evacuation"), WARNING)


def _has_journal(reason: str, request: ReturnRequest) -> bool:
    return reason[len(HELD) :] in _operations(request)


def _operations(request: ReturnRequest) -> t.List[str]:
    """Return the evacuations of this host whose journals were read, open or closed."""
    return [record.operation_id for record in _mine(request)]


def _strangers(facts: HostFacts, found: t.Sequence[forecast.Fate], clearing: Clearing) -> Items:
    """SG110: while Ceph refuses this host, a running domain of which nothing is known keeps it on the blocklist."""
    for fate in found:
        unknown = not fate.exists and fate.rule is None
        if clearing.lifts and unknown and fate.domain.state in RUNNING:
            addresses = sorted(address for lift in clearing.lifts for address in lift.addresses)
            evidence = {"domain": [fate.domain.name, fate.domain.state], "blocklist": addresses}
            remedy = remedy_text("SG110", "unknown-domain-fenced", domain=fate.domain.name)
            yield finding("SG110", domain_subject(fate.domain, facts), evidence, remedy)


def _volumes_of_deleted(facts: HostFacts, found: t.Sequence[forecast.Fate], clearing: Clearing) -> Items:
    """SG110: while Ceph refuses this host, a running domain of a deleted server that has a volume.

    The volume may be another server's by now. A start of nova-compute ends the domain, but only after the entry is
    gone: until then its QEMU could write there. An image of its own is no other server's.
    """
    for fate in found:
        deleted = (fate.rule is not None and not fate.exists) or fate.rule == forecast.PARTIAL
        own = f"{fate.domain.uuid}_"
        volumes = [one for one in _sources(fate.domain) if not one.partition("/")[2].startswith(own)]
        if clearing.lifts and deleted and volumes and fate.domain.state in RUNNING:
            addresses = sorted(address for lift in clearing.lifts for address in lift.addresses)
            evidence = {"domain": [fate.domain.name, fate.domain.state], "volumes": volumes, "blocklist": addresses}
            remedy = remedy_text("SG110", "deleted-server-with-volume-fenced", domain=fate.domain.name)
            yield finding("SG110", domain_subject(fate.domain, facts), evidence, remedy)


def _lost(facts: HostFacts, request: ReturnRequest) -> Items:
    """SG110: a QEMU that libvirt does not show. Where its server lives is not known: it may be a second writer."""
    shown = {domain.uuid for domain in facts.domains or [] if domain.state in RUNNING}
    for uuid, pid in sorted((facts.qemu_processes or {}).items()):
        if uuid not in shown:
            evidence = {"process": pid, "libvirt": "libvirt does not show the guest as running"}
            remedy = remedy_text("SG110", "process-without-domain", pid=pid)
            yield finding("SG110", Subject("domain", uuid, host=request.host), evidence, remedy)


def _too_late(facts: HostFacts, clearing: Clearing) -> Items:
    """SG510: nova-compute runs, or may run, while there is something to clear under it."""
    # An entry of an address that this host does not have any more keeps nothing here from writing.
    if not (clearing.domains or any(lift.own for lift in clearing.lifts)):
        return
    running = _running(facts)
    if running:
        # Not the host: an override for a host without a unit does not pass what runs there.
        subject = Subject("service", f"{facts.inventory_name}:nova-compute", host=conf_host(facts))
        remedy = f"{_stopping(facts)} {remedy_text('SG510', 'may-run-outside-the-unit')}"
        evidence: t.Dict[str, t.Any] = {NO_OVERRIDE: "nova-compute runs on this host", "runs": running}
        yield finding("SG510", subject, evidence, remedy, BLOCKER)
    elif not _compute_units(facts):
        evidence = {"runs": [], "units": None if facts.units is None else [unit.name for unit in facts.units]}
        yield finding("SG510", host_subject(facts), evidence, remedy_text("SG510", "no-unit"), BLOCKER)


def _stopping(facts: HostFacts) -> str:
    """Return how nova-compute is kept stopped: a unit file below /etc, as kolla-ansible's, cannot be masked."""
    own = [unit.name for unit in _compute_units(facts) if (unit.fragment_path or "").startswith("/etc/systemd/system/")]
    if not own:
        return remedy_text("SG510", "unit-can-be-masked")
    return remedy_text("SG510", "unit-file-below-etc", units=" ".join(own))


#: How units of nova-compute are called, those of containers too.
_UNITS = ("nova-compute", "nova_compute", "n-cpu")


def _compute_units(facts: HostFacts) -> t.List[Unit]:
    return [unit for unit in facts.units or [] if any(name in unit.name for name in _UNITS)]


def _running(facts: HostFacts) -> t.List[str]:
    """Return nova-compute's units that run, or may run, and the processes of it that are in none of them."""
    units = [unit.name for unit in _compute_units(facts) if unit.active_state not in _STOPPED]
    processes = facts.deployment.compute if facts.deployment else []
    return [*units, *(_process(entry) for entry in processes if entry.unit not in units)]


def _process(entry: ServiceProcess) -> str:
    if entry.engine is not None:
        return f"process {entry.pid} in a container ({entry.engine})"
    return f"process {entry.pid} of unit {entry.unit}" if entry.unit else f"process {entry.pid} of no unit"


def _under_way(index: Index, request: ReturnRequest) -> Items:
    """SG702: a migration from or to this host has not ended."""
    for place, row in index.migrations_by_host.get(name_key(request.host), []):
        if not in_progress(row):
            continue
        subject, evidence = migration_subject(row), migration_evidence(row, place)
        if same_name(row.source_compute, request.host) and _has_arrived(index, row):
            yield finding("SG702", subject, evidence, remedy_text("SG702", "evacuated-server-has-arrived"), WARNING)
        else:
            yield finding("SG702", subject, evidence, remedy_text("SG702", "returned-host-migrates"))


def _has_arrived(index: Index, row: MigrationRow) -> bool:
    """Whether an evacuation's record is all that is left of it.

    The API sets the task when it accepts. The destination sets C(instances.host) before it spawns, and takes the task
    off when QEMU runs (manager.py, _do_rebuild_instance; 26 to 34). Killed in between, it says ERROR: then nothing has
    arrived. A request that RabbitMQ lost leaves C(accepted), beside the record of the one that was sent again.
    """
    if not open_evacuation(row):
        return False
    live = [item for _cell, item in index.instance_rows_by_uuid.get(row.instance_uuid, []) if not item.deleted]
    return len(live) == 1 and (
        same_name(live[0].host, row.dest_compute)
        and live[0].task_state is None
        and live[0].vm_state in ("active", "stopped")
    )


def _twice(
    bundle: Bundle,
    facts: HostFacts,
    place: t.Optional[Home],
    views: t.Mapping[Home, _View],
    ended: t.Container[str],
    servers: t.Container[str],
) -> Items:
    """SG507: a domain here that runs on another host, too, or whose disk another client has open.

    One that does not run counts where Nova has its server here (``servers``): its owner or nova-compute starts it.
    A spawn that failed can leave its QEMU on the destination, while Nova has the server here. As long as Ceph refuses
    this host, that one writes alone. Seen on the lab: a QEMU that was cut off for the whole time opens its disk again.
    Of a volume other than the root it is a warning: others may have it attached as well, and which do is not read here.
    SG709 for one that does not run and whose disk nobody looked at; of one that runs, :func:`_disks` says it.
    """
    for domain in facts.domains or []:
        if domain.uuid in ended or (domain.state not in RUNNING and domain.uuid not in servers):
            continue
        hosts = sorted(name for name, other in bundle.hosts.items() if other is not facts and _runs(other, domain.uuid))
        looks = {source: _look(source, domain, place, views) for source in _sources(domain)}
        others = {
            source: _others_clients(bundle, facts, image)
            for source, (image, _why) in looks.items()
            if image is not None
        }
        others = {source: found for source, found in others.items() if found}
        own = [source for source in others if _is_own(source, domain)]
        if hosts or others:
            evidence = {"domain": [domain.name, domain.state], "runs on": hosts, "clients": others}
            severity = None if hosts or own else WARNING
            state = "returned-guest-runs-twice" if domain.state in RUNNING else "no-running-domain-on-returned-host"
            alone = remedy_text("SG507", state, uuid=domain.uuid)
            remedy = _second_client(alone, hosts, list(others), own)
            yield finding("SG507", domain_subject(domain, facts), evidence, remedy, severity)
        if domain.state not in RUNNING:
            for source, (image, why) in looks.items():
                unread = _unread_clients(image, why)
                if unread:
                    yield _disk_unread(source, domain, unread)


def _is_own(source: str, domain: Domain) -> bool:
    """Whether a disk is the server's alone: an image of its own, or its root volume.

    A server without a root disk of its own boots from a volume: that on its first device.
    """
    own = f"{domain.uuid}_"
    if source.partition("/")[2].startswith(own):
        return True
    if any((disk.source or "").endswith((f"{own}disk", f"/{domain.uuid}/disk")) for disk in domain.disks):
        return False
    volumes = [disk for disk in domain.disks if clients.is_volume((disk.source or "").partition("/")[2]) or disk.serial]
    root = next((disk for disk in volumes if disk.target in ROOT_DEVICES), volumes[0] if volumes else None)
    return root is not None and root.source == source


def _unread_clients(image: t.Optional[RbdImage], why: t.Optional[str]) -> t.List[str]:
    """Say why it is not known who has a disk open; empty: it was read, or the disk is not there."""
    if why is not None:
        return [why]
    if image is not None and image.watchers is None:
        return sorted({one.reason for one in image.unread}) or ["not read"]
    return []


def _second_client(alone: str, hosts: t.Sequence[str], sources: t.Sequence[str], own: t.Sequence[str]) -> str:
    """Say what to do. A volume may be another server's as well: then nothing is ended before that is known.

    ``alone``: what to do if the disk is this server's alone.
    """
    first = next(iter([*own, *sources]), "").partition("/")[2]
    if hosts or not clients.is_volume(first):
        return alone
    return clients.who_has_volume(first, "volume-open-at-return")


def _servers(index: Index, request: ReturnRequest) -> t.Set[str]:
    """Return the servers that Nova has on this host, the soft-deleted ones too."""
    rows = index.instances_by_host.get(request.host, [])
    listed = (index.bundle.cloud.servers if index.bundle.cloud else None) or []
    by_api = {server.id for server in listed if same_name(server.host, request.host)}
    return by_api | {row.uuid for _cell, row in rows if row.vm_state != "deleted"}


def _without_domain(index: Index, facts: HostFacts, request: ReturnRequest, views: t.Mapping[Home, _View]) -> Items:
    """SG507: a server that Nova has here and that libvirt has not: its QEMU runs elsewhere, or a client has its disk.

    A start of the server on this host makes a second writer. SG709 where its disks were not looked at. Which volume is
    its root is not known here: if it boots from a volume, each may be.
    """
    place = home(facts, request)
    view = views.get(place) if place is not None else None
    for uuid in sorted(_servers(index, request) - {domain.uuid for domain in facts.domains or []}):
        hosts = sorted(name for name, other in index.bundle.hosts.items() if other is not facts and _runs(other, uuid))
        images = [image for image in (view.rbd.images if view else None) or [] if image.name.startswith(f"{uuid}_")]
        unread = [image.name for image in images if image.watchers is None]
        if view is not None and view.rbd.instances and uuid not in view.rbd.instances:
            unread.append(f"{uuid}_disk")
        others = {
            image.name: found for image in images for found in [_others_clients(index.bundle, facts, image)] if found
        }
        volumes = _volumes_of(index, uuid)
        found = {volume: _volume(f"{clients.VOLUME}{volume}", None, views) for volume in volumes}
        shared = {
            f"{clients.VOLUME}{volume}": watching
            for volume, (image, _why) in found.items()
            for watching in [[] if image is None else _others_clients(index.bundle, facts, image)]
            if watching
        }
        if hosts or others or shared:
            evidence = {"domain": None, "runs on": hosts, "clients": {**others, **shared}}
            alone = bool(hosts or others) or _may_boot_from_volume(index, uuid)
            told = remedy_text("SG507", "no-running-domain-on-returned-host", uuid=uuid)
            remedy = _second_client(told, hosts, [f"/{name}" for name in {**others, **shared}], ())
            subject = Subject("instance", uuid, host=request.host)
            yield finding("SG507", subject, evidence, remedy, None if alone else WARNING)
        for name in unread:
            source = f"{place[1]}/{name}" if place is not None else name
            why = "the run did not read which clients have the image open"
            yield _image_unread(source, uuid, {"unread": [why], "server": uuid})
        for volume, (image, doubt) in found.items():
            reasons = _unread_clients(image, doubt)
            if reasons:
                source = f"{clients.VOLUME}{volume}"
                yield _image_unread(source, uuid, {"unread": reasons, "server": uuid})


def _volumes_of(index: Index, uuid: str) -> t.List[str]:
    listed = (index.bundle.cloud.servers if index.bundle.cloud else None) or []
    return sorted({volume for server in listed if server.id == uuid for volume in server.volumes})


def _may_boot_from_volume(index: Index, uuid: str) -> bool:
    """Whether a server boots from a volume, or this was not read."""
    listed = (index.bundle.cloud.servers if index.bundle.cloud else None) or []
    return any(server.id == uuid and not server.image for server in listed)


def _runs(other: HostFacts, uuid: str) -> bool:
    shown = any(domain.uuid == uuid and domain.state in RUNNING for domain in other.domains or [])
    return shown or uuid in (other.qemu_processes or {})


def _others_clients(bundle: Bundle, facts: HostFacts, image: RbdImage) -> t.List[str]:
    """Return who else has an image open, but the hosts of other servers that have it attached, as Cinder says."""
    others = [watcher.address for watcher in image.watchers or [] if not _client(facts, watcher.address)]
    volume = image.name[len(clients.VOLUME) :] if others and clients.is_volume(image.name) else None
    hosts = storage.sharing_hosts(bundle, volume) if volume else []
    return sorted(address for address in others if storage.owner(bundle, address) not in hosts)


def _disks(
    facts: HostFacts,
    place: t.Optional[Home],
    views: t.Mapping[Home, _View],
    ended: t.Container[str],
    servers: t.Container[str],
) -> Items:
    """SG517: a running domain's disk that no client of this host has open. It stays dead until a hard reboot.

    A QEMU that Ceph refused once does not open its disks again when the entry is gone.
    """
    for domain in facts.domains or []:
        if domain.state not in RUNNING or domain.uuid in ended:
            continue
        dead: t.Dict[str, t.List[str]] = {}
        for source in _sources(domain):
            image, doubt = _look(source, domain, place, views)
            if doubt is not None:
                yield _disk_unread(source, domain, [doubt])
            elif image is None:
                dead[source] = ["the pool does not have the image"]
            elif image.watchers is None:
                yield _disk_unread(source, domain, _unread_clients(image, None))
            elif not any(_client(facts, watcher.address) for watcher in image.watchers):
                dead[source] = sorted(watcher.address for watcher in image.watchers)
        if dead:
            evidence = {"domain": [domain.name, domain.state], "watchers": dead}
            unused = domain.uuid in servers and not any(dead.values())
            state = "no-client-has-disk-open" if unused else "guest-may-be-elsewhere"
            remedy = remedy_text("SG517", state, uuid=domain.uuid)
            yield finding("SG517", domain_subject(domain, facts), evidence, remedy)


def _deleted(index: Index, facts: HostFacts) -> t.Set[str]:
    """Return the domains whose servers are deleted: a start of nova-compute ends them, whatever their disks."""
    rows = {domain.uuid: index.instance_rows_by_uuid.get(domain.uuid, []) for domain in facts.domains or []}
    return {uuid for uuid, found in rows.items() if found and all(row.deleted for _cell, row in found)}


def _disk_unread(source: str, domain: Domain, why: t.Sequence[str]) -> Finding:
    evidence = {"unread": list(why), "domain": [domain.name, domain.uuid, domain.state]}
    return _image_unread(source, domain.uuid, evidence)


def _image_unread(source: str, server: str, evidence: t.Mapping[str, t.Any]) -> Finding:
    remedy = remedy_text("SG709", "disk-of-returned-host-unread")
    return finding("SG709", Subject("image", source, server), evidence, remedy)


def about_disks(item: Finding) -> bool:
    """Whether a finding says that a running domain cannot use a disk, or that this is not known.

    It is no reason against clearing, which a hard reboot needs. But nothing is clear with it.
    """
    return item.code == DEAD_DISK or (item.code == "SG709" and item.object.kind == "image")


def _sources(domain: Domain) -> t.List[str]:
    """Return pool and image of a domain's disks in Ceph. A config drive is opened read-only and has no watcher."""
    sources = [disk.source for disk in domain.disks if disk.protocol == "rbd" and disk.source]
    return sorted({source for source in sources if not source.partition("_disk")[2].startswith(".config")})


def _look(
    source: str, domain: Domain, place: t.Optional[Home], views: t.Mapping[Home, _View]
) -> t.Tuple[t.Optional[RbdImage], t.Optional[str]]:
    """Return the image as it was seen, or why nothing can be said of it. Neither: it is not there."""
    pool, _slash, name = source.partition("/")
    view = views.get(place) if place is not None else None
    if view is not None and pool == view.rbd.pool and name.startswith(f"{domain.uuid}_"):
        if view.rbd.instances and domain.uuid not in view.rbd.instances:
            return None, "the run did not read the images of this domain"
        return next((image for image in view.rbd.images or [] if image.name == name), None), None
    return _volume(name, pool, views)


def _volume(
    name: str, pool: t.Optional[str], views: t.Mapping[Home, _View]
) -> t.Tuple[t.Optional[RbdImage], t.Optional[str]]:
    """Return the image of a volume as it was seen, in whichever pool (None), or why nothing can be said of it."""
    seen: t.Dict[t.Optional[str], t.List[RbdImage]] = {}
    for other in views.values():
        for volume in other.rbd.volumes or []:
            if volume.image.name == name and pool in (None, volume.pool):
                # Readers of several pools of Nova's look at one pool of volumes: it is one image.
                seen.setdefault(other.rbd.fsid, []).append(volume.image)
    if len(seen) > 1:
        return None, f"the image is in several Ceph clusters: {', '.join(sorted(map(str, seen)))}"
    for images in seen.values():
        return next((image for image in images if image.watchers is not None), images[0]), None
    entries = (entry for other in views.values() for entry in other.rbd.unread)
    why = sorted({f"{entry.part}: {entry.reason}" for entry in entries if entry.part.partition(" ")[0] == "volumes"})
    unknown = "the run does not know whether the image exists, because no host reported the image"
    return None, "; ".join([unknown, *why])


def _client(facts: HostFacts, ceph: str) -> bool:
    """Whether a watcher is surely this host's."""
    return blocklists.plain(storage.address_of(ceph) or "") in _own(facts)


def _ports(bundle: Bundle, request: ReturnRequest) -> Items:
    """SG511: ports of servers that Nova has elsewhere, still bound here."""
    here = {
        server.id for server in (bundle.cloud.servers if bundle.cloud else None) or [] if server.host == request.host
    }
    for port in (bundle.cloud.ports if bundle.cloud else None) or []:
        owner = port.device_owner or ""
        if port.binding_host_id == request.host and owner.startswith("compute:") and port.device_id not in here:
            evidence = {"server": port.device_id, "status": port.status}
            remedy = remedy_text("SG511", "bound-to-returned-host")
            yield finding("SG511", Subject("port", port.id, host=request.host), evidence, remedy, WARNING)


def _allocations(index: Index, request: ReturnRequest) -> Items:
    """SG509: what placement still counts here for servers that Nova has elsewhere."""
    if not _roots(index, request):
        yield Unchecked(
            "SG509",
            request.host,
            "the allocations on this host are not known, because the API did not list the host's compute node",
        )
    for provider in _own_providers(index, request):
        if provider.allocations is None:
            yield Unchecked("SG509", provider.uuid, "the allocations of this resource provider were not read")
    released = _releasable(index, request)
    for item in strays(index, request):
        if item in released:
            continue
        rows = index.migrations_by_instance.get(item.consumer, [])
        reaped = any(same_name(row.source_compute, request.host) and row.status == DONE for row in rows)
        evidence: t.Dict[str, t.Any] = {"provider": item.name, "allocation": item.resources}
        server = request.ended.get(item.consumer)
        if server is not None:
            evidence["ended migration of"] = server
            state = "held-for-server-of-host"
        else:
            state = "evacuation-ends-at-start" if reaped else "no-evacuation-explains-it"
        remedy = remedy_text("SG509", state, consumer=item.consumer, provider=item.provider, server=server)
        subject = Subject("instance", item.consumer, host=request.host)
        yield finding("SG509", subject, evidence, remedy, INFO if reaped else WARNING)


def strays(index: Index, request: ReturnRequest) -> t.List[Held]:
    """Return what is held here by others than the host's servers and the migrations that have not ended."""
    here = _servers(index, request)
    moves = {row.uuid for _place, row in index.migrations_by_host.get(name_key(request.host), [])}
    return [
        Held(consumer, provider.uuid, provider.name, (provider.allocations or {})[consumer])
        for provider in _own_providers(index, request)
        for consumer in sorted(set(provider.allocations or {}) - here - moves)
    ]


def _releasable(index: Index, request: ReturnRequest) -> t.List[Held]:
    """Return what migrations hold here that have ended, and that is no server's only allocation.

    A revert or a rollback that could not move it back leaves it to the migration, while the server is here and holds
    nothing of its own (nova/compute/manager.py, _revert_allocation): its memory would count as free.
    """
    here = _servers(index, request)
    holders = {consumer for provider in _own_providers(index, request) for consumer in provider.allocations or {}}
    return [
        item
        for item in strays(index, request)
        if item.consumer in request.ended
        and (request.ended[item.consumer] not in here or request.ended[item.consumer] in holders)
    ]


def _own_providers(index: Index, request: ReturnRequest) -> t.List[ResourceProvider]:
    roots = _roots(index, request)
    return [row for row in index.providers or [] if row.uuid in roots or row.root_provider_uuid in roots]


def _roots(index: Index, request: ReturnRequest) -> t.Set[str]:
    cloud = index.bundle.cloud
    return {node.id for node in (cloud.hypervisors if cloud else None) or [] if node.service_host == request.host}
