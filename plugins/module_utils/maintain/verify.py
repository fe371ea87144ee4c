# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May a host take servers again after its maintenance? What must be proven before its service is enabled. Pure.

A heartbeat proves that nova-compute runs, and nothing else: not that the machine is the one that was emptied, that its
next start leaves all guests alone, that its disks can be written, that the guests of its neighbours can come to it.

What can only be compared is compared with what :func:`state_before` kept before the work; without that (C(enable_host)
alone) only the rest is judged. Without databases Nova's own rows are unknown: then the service has started, as its
heartbeat says, and each guest must be the API's. All that is returned keeps the host disabled: a warning of a check
that is asked here, which an audit tells, is left out.

Neighbours that did not answer are not compared, as long as one of the zone did. No run can see what key libvirt's
secret holds: the write to Ceph is made with Nova's user and its keyring.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
import xml.etree.ElementTree as ET

from ..capacity.measured import by_nova_name
from ..hazards import forecast, host_zones, identity, in_flight, links, ovn, unfit, waiting
from ..hazards.link_rules import BY_NODE, Links
from ..model import blocklists
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiAgent, ApiService, Bundle, HostFacts
from ..model.findings import BLOCKER, Checked, Finding, Subject, Unchecked, finding
from ..model.host_facts import LEFT_OUT
from ..model.lookups import (
    COMPUTE,
    OURS,
    Index,
    Items,
    file_uuid,
    gather,
    in_progress,
    open_evacuation,
    same_name,
    uuid_key,
)
from ..model.names import conf_host
from ..model.network_agents import L2_AGENTS, OVN_CONTROLLERS, is_undecided, ports_are_ovns
from ..model.stored_names import name_key
from ..model.times import moment

CODE = "SG716"
CEPH = "SG717"
OLDER = "SG718"
#: What of total memory may be less than before, since a kernel keeps some more for itself: one part in so many.
TOLERANCE = 100

Json = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class ProofRequest:
    """What is to be proven of one host.

    ``host``: Nova's name (C(CONF.host)) of the host that was maintained; ``inventory_name``: its key in the bundle.
    ``held_as``: the disabled reason under which our own operation holds it; empty: none is ours. ``before``: what
    :func:`state_before` returned before the work; None: C(enable_host) alone. ``rebooted``: whether a boot was asked
    for: another boot must be seen. ``heard``: the heartbeats that the first look after the work has shown, by agent:
    neutron shows an agent as alive for a minute after its death, so that one must have reported itself since. None:
    nobody has looked twice.
    """

    host: str
    inventory_name: str
    operation_id: str
    held_as: str
    before: t.Optional[Json] = None
    rebooted: bool = False
    heard: t.Optional[t.Mapping[str, t.Optional[str]]] = None


# --- what is kept, and compared -------------------------------------------------------------------------------

#: Each with its place in the state, what it is called, and the remedy's state.
_SAME: t.Tuple[t.Tuple[str, str, str], ...] = (
    ("machine_id", "machine-id", "another-machine"),
    ("dmi_uuid", "uuid of the firmware", "another-machine"),
    ("libvirt_uuid", "libvirt host uuid", "another-machine"),
    ("host", "CONF.host", "another-name"),
    ("libvirt_hostname", "libvirt host name", "another-name"),
    ("kernel_hostname", "kernel host name", "another-name"),
    ("static_hostname", "static host name", "another-name"),
    ("compute_id", "compute_id", "another-compute-id"),
    ("node", "compute node", "another-compute-id"),
    ("images_type", "images_type", "another-storage"),
    ("images_pool", "images_rbd_pool", "another-storage"),
    ("fsid", "Ceph cluster", "another-storage"),
    ("instances_path", "instances_path", "another-storage"),
)
#: Those that a host may not have, or that were not to be read before.
_OPTIONAL = ("dmi_uuid", "static_hostname", "images_pool", "fsid")


def state_before(bundle: Bundle, request: ProofRequest) -> t.Dict[str, t.Any]:
    """Return what of the host is compared after the work, as plain JSON; what was not read is null.

    Of a host that did not answer it is empty.
    """
    facts = bundle.hosts.get(request.inventory_name)
    if facts is None:
        return {}
    index = Index(bundle)
    conf, libvirt, place, offers = facts.nova_conf, facts.libvirt, facts.instances_path, facts.offers
    nodes = [node.uuid for node in index.nodes_by_host.get(request.host, []) if node.uuid]
    uuid = file_uuid(facts)
    return {
        "machine_id": facts.machine_id,
        "dmi_uuid": facts.dmi_uuid or None,
        "libvirt_uuid": uuid_key(libvirt.host_uuid) if libvirt is not None and libvirt.host_uuid else None,
        "host": conf_host(facts),
        "libvirt_hostname": libvirt.hostname if libvirt is not None else None,
        "kernel_hostname": facts.kernel_hostname,
        "static_hostname": facts.static_hostname,
        "compute_id": uuid_key(uuid) if uuid is not None else None,
        "node": sorted(uuid_key(node) for node in nodes) or None,
        "images_type": conf.images_type if conf is not None else None,
        "images_pool": conf.images_rbd_pool if conf is not None else None,
        "fsid": facts.rbd.fsid if facts.rbd is not None else None,
        "instances_path": [place.path, place.filesystem, place.local] if place is not None else None,
        "boot_id": facts.boot_id,
        "memory_mib": facts.memory.total_mib if facts.memory is not None else None,
        "hugepages": _hugepages(facts),
        "cpus": facts.cpus,
        "kernel_release": facts.kernel_release,
        "libvirt_version": libvirt.version if libvirt is not None else None,
        "cpu": offers.cpu if offers is not None else None,
        "secrets": sorted(map(uuid_key, offers.secrets)) if offers is not None and offers.secrets is not None else None,
        "agents": sorted({agent_kind(row) for row in _agents(bundle, request) if row.alive}),
        "unfit": sorted({said for _row, said in _unfit(bundle, request, _neighbours(bundle, request)).certain}),
        "links": sorted(item.code + " " + item.object.id for item in _wrong_links(bundle, request)),
    }


def _hugepages(facts: HostFacts) -> t.Optional[t.Dict[str, int]]:
    if facts.hugepages is None:
        return None
    found: t.Dict[str, int] = {}
    for entry in facts.hugepages:
        found[str(entry.size_kib)] = found.get(str(entry.size_kib), 0) + entry.total
    return found


def _agents(bundle: Bundle, request: ProofRequest) -> t.List[ApiAgent]:
    return [row for row in (bundle.cloud.agents if bundle.cloud else None) or [] if same_name(row.host, request.host)]


def agent_kind(agent: ApiAgent) -> str:
    """Return the type of an agent, as it is compared."""
    # A chassis that becomes a gateway, or none any more, is shown as another type.
    return OVN_CONTROLLERS[0] if agent.agent_type in OVN_CONTROLLERS else agent.agent_type


def has_reported(agent: ApiAgent, heard: t.Mapping[str, t.Optional[str]]) -> bool:
    """Whether an agent is alive, and has reported itself since the look that ``heard`` is of."""
    return agent.alive and agent.heartbeat_timestamp is not None and agent.heartbeat_timestamp != heard.get(agent.id)


# --- the proof ------------------------------------------------------------------------------------------------


def unproven(bundle: Bundle, request: ProofRequest) -> Checked:
    """Return what is not proven: findings that are all blockers, and what could not be decided. Empty: proven."""
    index = Index(bundle)
    facts = bundle.hosts.get(request.inventory_name)
    missing = list(_unread(index, facts, request))
    told: t.List[t.Union[Finding, Unchecked]] = list(_undecided(request, missing))
    if facts is not None:
        told += [*_same(bundle, request), *_held(bundle, request), *_operations(index, facts, request)]
        told += _names(facts, request)
    if facts is not None and not missing:
        told += [
            *_identity(index, facts, request),
            *_start(index, facts, request),
            *_service(index, facts, request),
            *_under_way(index, request),
            *_agents_alive(bundle, facts, request),
            *_ceph(facts, request),
            *_links(bundle, request),
            *_requests(bundle, request),
        ]
    if facts is not None and not missing:
        told += [*_sizes(facts, request), *_software(bundle, facts, request), *_guests(bundle, request)]
    checked = gather(told)
    kept = tuple({repr(item): item for item in checked.findings if item.severity == BLOCKER}.values())
    return Checked(kept, tuple(dict.fromkeys(checked.unchecked)))


def _subject(request: ProofRequest, part: str) -> Subject:
    return Subject("host", f"{request.inventory_name}:{part}", part, request.host)


def _refused(request: ProofRequest, code: str, part: str, state: str, evidence: Json, **given: t.Any) -> Finding:
    if code == CEPH:
        remedy = remedy_text(CEPH, state, host=request.host, **given)
    elif code == OLDER:
        remedy = remedy_text(OLDER, state, host=request.host, **given)
    else:
        remedy = remedy_text(CODE, state, host=request.host, **given)
    return finding(code, _subject(request, part), evidence, remedy, BLOCKER)


# --- what must be known ---------------------------------------------------------------------------------------

_PARTS = (
    *("machine_id", "dmi_uuid", "compute_id_files", "nova_conf", "libvirt", "domains", "qemu_processes", "memory"),
    *("hugepages", "boot_id", "deployment", "instances_path", "offers", "kernel_release"),
)
_OFFERS = ("hypervisor", "machines", "secrets")
_CLOUD = ("services", "hypervisors", "servers", "aggregates", "providers", "agents", "migrations")
_TABLES = ("services", "compute_nodes", "instances", "migrations")


def _unread(index: Index, facts: t.Optional[HostFacts], request: ProofRequest) -> t.Iterator[str]:
    bundle = index.bundle
    if facts is None:
        yield f"host {request.inventory_name}: {bundle.unreachable.get(request.inventory_name, 'not read')}"
        return
    reasons = {entry.part: entry.reason for entry in facts.unread}
    for part in _PARTS:
        if getattr(facts, part) is None:
            yield f"host.{part}: {reasons.get(part, 'not read')}"
    for part in _OFFERS if facts.offers is not None else ():
        if getattr(facts.offers, part) is None:
            yield f"host.offers.{part}: {reasons.get(f'offers.{part}', 'not read')}"
    cloud = bundle.cloud
    why = {entry.part: entry.reason for entry in (cloud.unread if cloud else [])}
    for part in _CLOUD:
        if getattr(cloud, part, None) is None:
            yield f"cloud.{part}: {why.get(part) or bundle.failures.get('api') or 'not read'}"
    if bundle.databases is not None:
        for table in _TABLES:
            if not index.cells_read(table):
                yield f"databases.{table}: not read in every cell"
    elif "databases" in bundle.failures:
        yield f"databases: {bundle.failures['databases']}"


def _undecided(request: ProofRequest, missing: t.Sequence[str]) -> Items:
    if missing:
        evidence = {"not read": list(missing)}
        remedy = remedy_text("SG709", "proof-unread", host=request.host)
        yield finding("SG709", Subject("host", request.inventory_name, host=request.host), evidence, remedy)


def _without_databases(bundle: Bundle) -> bool:
    return bundle.databases is None


# --- the same machine -----------------------------------------------------------------------------------------


def _same(bundle: Bundle, request: ProofRequest) -> Items:
    """SG716: it is not what it was, or did not boot."""
    before = request.before
    if before is None:
        return
    now = state_before(bundle, request)
    for part, what, state in _SAME:
        was, found = before.get(part), now[part]
        if was is None and part not in _OPTIONAL:
            yield Unchecked(CODE, f"{request.inventory_name}:{what}", "it was not read before the work")
        elif found != was and not (part in _OPTIONAL and None in (was, found)):
            # What is not there any more is a change, and what was not read is told as such.
            yield _refused(request, CODE, what, state, {"before": was, "now": found})
    if request.rebooted:
        if before.get("boot_id") is None:
            yield Unchecked(CODE, f"{request.inventory_name}:boot", "the boot before the work was not read")
        elif now["boot_id"] is not None and now["boot_id"] == before["boot_id"]:
            yield _refused(request, CODE, "boot", "not-rebooted", {"boot_id": now["boot_id"]})


def _names(facts: HostFacts, request: ProofRequest) -> Items:
    """SG106: the machine that was read is not the host that is to be enabled, whatever the inventory calls it."""
    host = conf_host(facts)
    if host is not None and host != request.host:
        evidence = {"CONF.host": host, "host": request.host, "inventory name": request.inventory_name}
        remedy = remedy_text("SG106", "machine-with-another-name", host=request.host)
        yield finding("SG106", Subject("host", request.inventory_name, host=host), evidence, remedy, BLOCKER)


def _identity(index: Index, facts: HostFacts, request: ProofRequest) -> Items:
    """SG101 to SG117: who the host is, as a start would see it, and nobody else is."""
    if _without_databases(index.bundle):
        yield from identity.unsupported_driver(index, facts)
        yield from identity.compute_id_files(index, facts)
        yield from identity.compute_id_node(index, facts)
        yield from identity.hypervisor_hostname(index, facts)
        yield from identity.service_host(index, facts)
        yield from identity.provider(index, facts)
    else:
        yield from identity.host_items(index, facts)
        yield from _mapped(index, request)
    for item in identity.duplicates(index):
        if (item.object if isinstance(item, Unchecked) else item.object.id) == request.inventory_name:
            yield item


def _mapped(index: Index, request: ProofRequest) -> Items:
    databases = index.bundle.databases
    if databases is None or databases.api is None or databases.api.host_mappings is None:
        # Nova's API shows no node that is not mapped.
        cloud = index.bundle.cloud
        if not any(row.service_host == request.host for row in (cloud.hypervisors if cloud else None) or []):
            yield Unchecked("SG117", request.host, "the host mappings were not read, and the API shows no such node")
        return
    for _cell, row in index.services_by_host.get(request.host, []):
        yield from identity.unmapped(index, row)


# --- the next start -------------------------------------------------------------------------------------------


def _start(index: Index, facts: HostFacts, request: ProofRequest) -> Items:
    """SG113, SG716: what the next start of nova-compute destroys, or by what it refuses."""
    if _without_databases(index.bundle):
        yield from _start_by_api(index, facts, request)
        return
    for item in forecast.restart(index, facts):
        # A domain that is nobody's is SG110, of the identity.
        if not (isinstance(item, Unchecked) and item.code == "SG110"):
            yield item
    start = forecast.start(index, facts)
    if start.refusal is not None:
        evidence = {"prints": start.refusal.text, "rule": start.refusal.rule}
        yield _refused(request, CODE, "next start", "start-refused", evidence)
    for reason in start.unread:
        yield Unchecked("SG113", request.inventory_name, reason)
    for reason in start.doubts:
        yield Unchecked(CODE, f"{request.inventory_name}:next start", reason)
    yield from in_flight.host_release(index, facts, BLOCKER)


def _start_by_api(index: Index, facts: HostFacts, request: ProofRequest) -> Items:
    """What the API alone can say: it has started, each guest is a server of this host, and none was evacuated."""
    cloud = index.bundle.cloud
    here = {row.id for row in (cloud.servers if cloud else None) or [] if row.host == request.host}
    rows = index.migrations_by_host.get(name_key(request.host), [])
    evacuated = [row for _place, row in rows if open_evacuation(row)]
    left = {row.instance_uuid for row in evacuated if same_name(row.source_compute, request.host)}
    found = {domain.uuid for domain in facts.domains or []}
    for uuid in sorted((found | set(facts.qemu_processes or {})) - (here - left)):
        yield Unchecked(
            "SG113", uuid, "nova_api_db_url is not set, and the API does not show this domain as a server of the host"
        )
    for uuid in sorted(here - found):
        yield Unchecked("SG109", uuid, "the API shows this server on the host, and libvirt has no domain of it")
    deployed = facts.deployment
    if deployed is None or deployed.pending is None or deployed.pending:
        why = "it is not known whether nova-compute runs with its present configuration"
        if deployed is not None and deployed.pending:
            why = f"changed since nova-compute started: {', '.join(entry.path for entry in deployed.pending)}"
        yield Unchecked(CODE, f"{request.inventory_name}:next start", f"nova_api_db_url is not set, and {why}")


# --- the service ----------------------------------------------------------------------------------------------


def _services(bundle: Bundle, request: ProofRequest) -> t.List[ApiService]:
    rows = (bundle.cloud.services if bundle.cloud else None) or []
    return [row for row in rows if row.binary == COMPUTE and row.host == request.host]


def _held(bundle: Bundle, request: ProofRequest) -> Items:
    """SG706: another operation holds the host; SG704: somebody else has disabled it meanwhile."""
    for service in _services(bundle, request):
        reason = service.disabled_reason or ""
        subject = Subject("service", service.id, host=service.host)
        seen = {"status": service.status, "disabled_reason": service.disabled_reason}
        if service.status == "enabled" or (request.held_as and reason == request.held_as):
            continue
        if not reason.startswith(OURS):
            if request.held_as:
                remedy = remedy_text("SG704", "disabled-meanwhile", host=request.host)
                yield finding("SG704", subject, {**seen, "held as": request.held_as}, remedy, BLOCKER)
            continue
        for item in in_flight.service_status(service, BLOCKER):
            if isinstance(item, Finding) and item.code == "SG706":
                yield item


def _operations(index: Index, facts: HostFacts, request: ProofRequest) -> Items:
    """SG706: another operation on this host is open, by the journals on the host and by those beside ours."""
    for item in in_flight.open_operations(facts):
        if not (isinstance(item, Finding) and item.evidence.get("operation") == request.operation_id):
            yield item
    for entry in index.bundle.unknown_journals:
        if entry.host is None or same_name(entry.host, request.host):
            yield in_flight.unknown_journal(entry)
    for record in index.bundle.operations or []:
        if record.open and record.operation_id != request.operation_id and same_name(record.host, request.host):
            evidence = {"operation": record.operation_id, "kind": record.kind, "state": record.state}
            remedy = remedy_text("SG706", "journal-open", operation=record.operation_id)
            yield finding("SG706", Subject("host", request.host), evidence, remedy)


def _service(index: Index, facts: HostFacts, request: ProofRequest) -> Items:
    """SG704: nova-compute does not report itself, or has not since it started; SG119: there is no such service."""
    services = _services(index.bundle, request)
    if not services:
        remedy = remedy_text("SG119", "returning-host-without-service")
        yield finding("SG119", Subject("host", request.host), {"services": []}, remedy, BLOCKER)
    started = [entry.started_at for entry in (facts.deployment.compute if facts.deployment else ())]
    for service in services:
        subject = Subject("service", service.id, host=service.host)
        seen = {"state": service.state, "forced_down": service.forced_down, "processes": len(started)}
        if service.forced_down:
            yield finding("SG704", subject, seen, remedy_text("SG704", "forced-down", host=request.host), BLOCKER)
        if service.state != "up" or not started:
            yield finding("SG704", subject, seen, remedy_text("SG704", "not-up-after-work", host=request.host), BLOCKER)
            continue
        heard = _heartbeat(index, service)
        known = [at for at in started if at is not None]
        if heard is None or len(known) < len(started):
            why = "it is not known whether nova-compute has reported itself since it started"
            yield Unchecked("SG704", request.host, why)
        elif heard <= max(known):
            evidence = {**seen, "last heartbeat": int(heard), "nova-compute started": max(known)}
            remedy = remedy_text("SG704", "silent-since-start", host=request.host)
            yield finding("SG704", subject, evidence, remedy, BLOCKER)


def _heartbeat(index: Index, service: ApiService) -> t.Optional[float]:
    """Return the last heartbeat, in seconds since 1970. The API's time is also that of other changes of the service."""
    rows = [row.last_seen_up for _cell, row in index.services_by_host.get(service.host, []) if row.uuid == service.id]
    found = moment(rows[0] if len(rows) == 1 and rows[0] is not None else service.updated_at)
    return None if found is None else found.timestamp()


def _under_way(index: Index, request: ProofRequest) -> Items:
    """SG509, SG702: evacuations from here that a start has not ended, and migrations that are under way."""
    for place, row in index.migrations_by_host.get(name_key(request.host), []):
        if in_progress(row) or (open_evacuation(row) and same_name(row.source_compute, request.host)):
            yield from in_flight.migration_items(index, place, row, BLOCKER)


def _requests(bundle: Bundle, request: ProofRequest) -> Items:
    """SG329: requests wait that no nova-compute takes, though this one runs. Without RabbitMQ it is not asked."""
    brokers = bundle.databases.brokers if bundle.databases is not None else None
    for item in waiting.check(brokers) if brokers is not None else ():
        if isinstance(item, Unchecked):
            yield item
        elif same_name(item.object.id, request.host):
            yield dataclasses.replace(item, severity=BLOCKER)


# --- links ----------------------------------------------------------------------------------------------------


def _wrong_links(bundle: Bundle, request: ProofRequest) -> t.List[Finding]:
    """Return the wrong links of the host's service and node, and the blockers among those of its instances."""
    if bundle.links is None:
        return []
    found = [item for item in links.check(bundle).findings if same_name(item.object.host, request.host)]
    return [item for item in found if item.code in BY_NODE or item.severity == BLOCKER]


def _links(bundle: Bundle, request: ProofRequest) -> Items:
    """SG2xx of the host; a milder one only where the work has made it."""
    if bundle.links is None:
        if not _without_databases(bundle):
            yield Unchecked("SG203", request.host, "the links between the database records were not read")
        return
    for reason in links.remaining(Links(bundle), BY_NODE).unread:
        yield Unchecked("SG203", request.host, reason)
    before = None if request.before is None else request.before.get("links")
    for item in _wrong_links(bundle, request):
        made = before is not None and f"{item.code} {item.object.id}" not in before
        yield dataclasses.replace(item, severity=BLOCKER) if made else item


# --- the network ----------------------------------------------------------------------------------------------


def _agents_alive(bundle: Bundle, facts: HostFacts, request: ProofRequest) -> Items:
    """SG716: a network agent that was alive is not; without a state before, each that is not alive."""
    agents = _agents(bundle, request)
    if request.heard is None and agents:
        yield Unchecked(CODE, f"{request.inventory_name}:agents", "no agent was seen to report itself since the work")
    alive = {agent_kind(row) for row in agents if has_reported(row, request.heard or {})}
    databases = bundle.databases
    seen = databases.ovn if databases is not None else None
    was = None if request.before is None else request.before.get("agents")
    if request.before is not None and was is None:
        yield Unchecked(CODE, f"{request.inventory_name}:agents", "neutron's agents were not read before the work")
    lost = set(was or ()) - alive if request.before is not None else {agent_kind(row) for row in agents} - alive
    if ports_are_ovns(agents, request.host, facts, seen):
        lost |= {OVN_CONTROLLERS[0]} - alive
    elif is_undecided(agents, facts):
        yield Unchecked(CODE, f"{request.inventory_name}:agents", "it is not known whether the host has OVN")
    elif any(row.agent_type in L2_AGENTS for row in agents) and not alive & set(L2_AGENTS):
        lost |= {row.agent_type for row in agents if row.agent_type in L2_AGENTS}
    for kind in sorted(lost):
        now = [{"id": row.id, "heartbeat": row.heartbeat_timestamp} for row in agents if agent_kind(row) == kind]
        yield _refused(request, CODE, kind, "agent-not-alive", {"agent": kind, "now": now, "alive": sorted(alive)})
    if seen is not None and seen.chassis is not None:
        yield from ovn.host_items(request.inventory_name, facts, seen)


# --- Ceph -----------------------------------------------------------------------------------------------------


def _ceph(facts: HostFacts, request: ProofRequest) -> Items:
    """SG717: Ceph is not proven to be writable from here. An image that opens proves nothing."""
    if facts.nova_conf is None or facts.nova_conf.images_type != "rbd":
        return
    rbd = facts.rbd
    unread = [*facts.unread, *(rbd.unread if rbd is not None else [])]
    if rbd is None or rbd.written is not True:
        parts = ("rbd", "written")
        why = [entry.reason for entry in unread if entry.part in parts and entry.cause not in LEFT_OUT]
        state = "write-failed" if why else "write-not-tried"
        pool = facts.nova_conf.images_rbd_pool
        yield _refused(request, CEPH, "Ceph", state, {"pool": pool, "reason": why or ["not tried"]})
    if rbd is None:
        return
    own = {plain for plain in map(blocklists.plain, [*(facts.addresses or []), rbd.client_address or ""]) if plain}
    for entry in rbd.blocklist or []:
        if any(blocklists.covers(entry, address) for address in own):
            evidence = {"entry": entry.address, "until": entry.until, "cluster": rbd.fsid}
            yield _refused(request, CEPH, entry.address, "on-blocklist", evidence)


# --- how much, and for whom -----------------------------------------------------------------------------------


def _sizes(facts: HostFacts, request: ProofRequest) -> Items:
    """SG716: less memory, huge pages or CPUs than before."""
    before = request.before
    if before is None:
        return
    now = facts.memory.total_mib if facts.memory is not None else 0
    was = before.get("memory_mib")
    if was is None or before.get("hugepages") is None:
        yield Unchecked(CODE, f"{request.inventory_name}:memory", "it was not read before the work")
        return
    if now < was - was // TOLERANCE:
        yield _refused(request, CODE, "memory", "less-memory", {"before": was, "now": now, "unit": "MiB"})
    pages = _hugepages(facts) or {}
    for size, total in sorted(before["hugepages"].items()):
        if pages.get(size, 0) < total:
            evidence = {"size in KiB": size, "before": total, "now": pages.get(size, 0)}
            yield _refused(request, CODE, f"huge pages of {size} KiB", "less-memory", evidence)
    cpus = before.get("cpus")
    if cpus is not None and facts.cpus is not None and facts.cpus < cpus:
        yield _refused(request, CODE, "CPUs", "less-memory", {"before": cpus, "now": facts.cpus})


def _version(text: t.Optional[str]) -> t.Tuple[int, ...]:
    """Return the numbers that a version begins with: of C(6.1.0-18-amd64) 6, 1, 0 and 18."""
    found = re.match(r"\d+(?:[.-]\d+)*", text or "")
    return tuple(int(part) for part in re.split(r"[.-]", found.group())) if found else ()


def _neighbours(bundle: Bundle, request: ProofRequest) -> t.Dict[str, HostFacts]:
    """Return the other hosts of the host's zone that were read."""
    zones = host_zones.zones_of(bundle) or {}
    own = set(zones.get(request.host, ()))
    return {
        name: facts
        for name, facts in sorted(by_nova_name(bundle).items())
        if name != request.host and facts.inventory_name != request.inventory_name and set(zones.get(name, ())) == own
    }


def _software(bundle: Bundle, facts: HostFacts, request: ProofRequest) -> Items:
    """SG718: an older QEMU or libvirt than a neighbour's, an older kernel than before, another CPU; SG716: secrets.

    Nova migrates no guest to an older QEMU (conductor/tasks/live_migrate.py, _check_compatible_with_source_hypervisor).
    """
    near = _neighbours(bundle, request)
    zones = host_zones.zones_of(bundle) or {}
    own = set(zones.get(request.host, ()))
    known = {name for name in zones if own and set(zones[name]) == own} - {request.host}
    if known and not near:
        yield Unchecked(OLDER, request.inventory_name, f"of the zone none was read of {', '.join(sorted(known))}")
    for what, of in (("QEMU", _qemu), ("libvirt", _libvirt)):
        older = {name: of(other) for name, other in near.items() if _version(of(facts)) < _version(of(other))}
        if older:
            evidence = {"program": what, "here": of(facts), "neighbours": older}
            yield _refused(request, OLDER, what, "older-than-neighbour", evidence, program=what)
        silent = sorted(name for name, other in near.items() if not _version(of(other)))
        if silent:
            yield Unchecked(OLDER, request.inventory_name, f"the version of {what} was not read on {', '.join(silent)}")
    yield from _lost_secrets(facts, request)
    before = request.before
    if before is None:
        return
    if before.get("kernel_release") is None or before.get("cpu") is None:
        yield Unchecked(OLDER, request.inventory_name, "the kernel or the CPU was not read before the work")
        return
    if _version(facts.kernel_release) < _version(before["kernel_release"]):
        evidence = {"before": before["kernel_release"], "now": facts.kernel_release}
        yield _refused(request, OLDER, "kernel", "older-kernel", evidence)
    virt = facts.nova_conf.virt_type if facts.nova_conf is not None else None
    cpu = facts.offers.cpu if facts.offers is not None else None
    if virt != "qemu" and not _offers_as_much(before["cpu"], cpu):
        yield _refused(request, OLDER, "CPU", "another-cpu", {"before": before["cpu"], "now": cpu})


def _qemu(facts: HostFacts) -> t.Optional[str]:
    return facts.offers.hypervisor if facts.offers is not None else None


def _libvirt(facts: HostFacts) -> t.Optional[str]:
    return facts.libvirt.version if facts.libvirt is not None else None


def _lost_secrets(facts: HostFacts, request: ProofRequest) -> Items:
    there = {uuid_key(uuid) for uuid in (facts.offers.secrets if facts.offers is not None else None) or []}
    conf = facts.nova_conf
    wanted = set((request.before or {}).get("secrets") or ())
    if conf is not None and conf.images_type == "rbd" and conf.rbd_secret_uuid:
        wanted.add(uuid_key(conf.rbd_secret_uuid))
    for uuid in sorted(wanted - there):
        yield _refused(request, CODE, f"secret {uuid}", "secret-missing", {"libvirt has": sorted(there)})


def _offers_as_much(was: str, now: t.Optional[str]) -> bool:
    """Whether a host's CPU is what it was, or has more features; with another model nobody can tell here."""
    if now is None or was == now:
        return was == now
    try:
        old, new = ET.fromstring(was), ET.fromstring(now)  # noqa: S314 - libvirt's own output
    except ET.ParseError:
        return False
    if any(old.findtext(part) != new.findtext(part) for part in ("arch", "model", "vendor")):
        return False
    features = [{str(entry.get("name")) for entry in root.iter("feature")} for root in (old, new)]
    return features[0] <= features[1]


@dataclasses.dataclass
class _Objections:
    """What speaks against guests of neighbours: what is certain, by row and text, and what is not known."""

    certain: t.Dict[t.Tuple[unfit.Row, str], t.List[str]] = dataclasses.field(default_factory=dict)
    unknown: t.List[str] = dataclasses.field(default_factory=list)


def _unfit(bundle: Bundle, request: ProofRequest, near: t.Mapping[str, HostFacts]) -> _Objections:
    """Compare the guests of neighbours with what the host can run (hazards/unfit.py). CPUs are compared elsewhere."""
    judge = unfit.Judge(bundle)
    found = _Objections()
    for name, facts in near.items():
        if facts.domains is None or any(domain.ties is None for domain in facts.domains):
            found.unknown.append(f"what the guests of {name} need was not read")
        for domain in facts.domains or []:
            needed = unfit.needs(domain, name, live=True)
            for row, objection in judge.objections(needed, request.host):
                if not row.state or row.state == "devices" or objection.probe is not None:
                    continue
                if objection.unknown:
                    found.unknown.append(f"{row.what}: {objection.text}")
                else:
                    found.certain.setdefault((row, objection.text), []).append(domain.nova_name or domain.name)
    return found


def _guests(bundle: Bundle, request: ProofRequest) -> Items:
    """SG523: a guest of a neighbour could come before and cannot now."""
    if request.before is None:
        return
    before = request.before.get("unfit")
    if before is None:
        yield Unchecked(unfit.CODE, request.inventory_name, "what the host could run was not read before the work")
        return
    found = _unfit(bundle, request, _neighbours(bundle, request))
    for reason in sorted(set(found.unknown)):
        yield Unchecked(unfit.CODE, request.inventory_name, reason)
    for (row, text), guests in sorted(found.certain.items(), key=lambda item: item[0][1]):
        if text not in before:
            evidence = {"now": text, "guests of neighbours": sorted(guests)[: unfit.NAMED]}
            yield finding(unfit.CODE, _subject(request, row.what), evidence, row.remedy, BLOCKER)
