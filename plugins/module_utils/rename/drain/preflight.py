# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a drain: can every guest leave, within its zone? After it: is the host new, in the old zone? Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...capacity import placement
from ...hazards import guest_places
from ...model import deployment as deployments
from ...model import names as naming
from ...model.codes.catalogue import remedy_text
from ...model.facts import (
    ApiServer,
    Bundle,
    CloudFacts,
    HostFacts,
)
from ...model.findings import (
    BLOCKER,
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
    with_remedy,
)
from ...model.lookups import Index, Items, gather, uuid_key
from ...model.network_agents import (
    L2_AGENTS,
    OVN_AGENTS,
    is_undecided,
    ports_are_ovns,
)
from ...model.requests import RenameRequest
from ...moves import preflight as moves
from ...name_places import neutron_ports
from ..in_place import preflight as rename
from ..in_place import verify as renamed
from ..ovn import preflight as ovn

# --- before ---------------------------------------------------------------------------------------------------


def preflight(
    bundle: Bundle,
    decision: moves.MoveDecision,
    others: t.Sequence[str],
    request: RenameRequest,
    options: placement.DrainOptions,
) -> Checked:
    """Return everything against a rename by draining: what stands against any rename, and what a drain needs.

    ``decision``: where its servers go; ``others``: nodes of other hosts that name this service.
    """
    any_rename = rename.preflight_rename(bundle, request, in_place=False)
    case = rename.Case(bundle, request, in_place=False)
    on_host: t.List[t.Union[Finding, Unchecked]] = [*_agents(case), *_ovn(case)]
    if case.host is not None:
        on_host += [*rename.unit_items(case, case.host), *rename.configuration_items(case, case.host)]
    drained = can_drain(bundle, decision, others, request, options)
    every = any_rename + gather(on_host) + _without_told(drained, any_rename)
    return rename.once(guest_places.joined(every))


def _without_told(checked: Checked, told: Checked) -> Checked:
    """Leave out what the general checks say already, in their own words."""
    known = {(item.code, item.severity, item.object.id) for item in told.findings}
    return Checked(
        tuple(item for item in checked.findings if (item.code, item.severity, item.object.id) not in known),
        checked.unchecked,
    )


def _agents(case: rename.Case) -> Items:
    """SG305, SG306: agents and ports that a drain does not take along would keep the old name in neutron."""
    for agent in case.agents:
        if agent.agent_type not in L2_AGENTS and agent.agent_type not in OVN_AGENTS:
            why = "this agent belongs to a network node, and the agent would keep running under the old name"
            remedy = remedy_text("SG305", "network-node-agent-on-drained-host")
            if rename.is_distributed(agent):
                why, remedy = rename.DISTRIBUTED, rename.DRAIN_DISTRIBUTED
            yield rename.agent_item(agent, why, remedy)
    if case.host is not None and any(agent.agent_type in L2_AGENTS for agent in case.agents):
        yield from rename.agent_on_host(case, case.host)
        yield from _new_agents(case, case.host)
    guests = {row.uuid for _cell, row in case.index.instances_by_host.get(case.old, [])}
    for port in (case.bundle.cloud.ports if case.bundle.cloud else None) or []:
        if port.binding_host_id != case.old:
            continue
        if port.device_owner == rename.SUBPORT:
            yield from rename.subport_items(case, port)
        elif not (port.device_owner or "").startswith(neutron_ports.COMPUTE_OWNER):
            evidence = {"device_owner": port.device_owner, "device": port.device_id}
            remedy = remedy_text("SG306", "not-of-a-guest")
            yield finding("SG306", Subject("port", port.id, host=port.binding_host_id), evidence, remedy)
        elif case.index.cells_read("instances") and port.device_id not in guests:
            evidence = {"device_owner": port.device_owner, "device": port.device_id, "instance": "not of this host"}
            remedy = remedy_text("SG306", "of-a-guest-elsewhere")
            yield finding("SG306", Subject("port", port.id, host=port.binding_host_id), evidence, remedy)


def _new_agents(case: rename.Case, host: HostFacts) -> Items:
    """SG305: an L2 agent that would not register under the new name after the service is deleted."""
    if host.units is None:
        return  # SG709
    units = naming.units_named(host.units, case.request.agent_units)
    programs = {deployments.program_of(unit.name) for unit in units if unit.load_state in ("loaded", "masked")}
    for agent in case.agents:
        if agent.agent_type not in L2_AGENTS:
            continue
        if programs and agent.binary not in programs:
            why = "the run found no systemd unit of this agent on the host, so the record would keep the old name"
            remedy = remedy_text("SG305", "unit-of-agent-unknown", agent=agent.id)
            yield rename.agent_item(agent, why, remedy, BLOCKER)
        elif not agent.alive:
            why = "the agent is not alive, so it would not register under the new name either"
            yield rename.agent_item(agent, why, remedy_text("SG305", "agent-of-drained-host-dead"), BLOCKER)


def _ovn(case: rename.Case) -> Items:
    """SG317 to SG325: the chassis of a host whose ports are OVN's gets the new hostname, and is verified after it."""
    databases = case.bundle.databases
    if case.host is None or databases is None:
        return  # SG114, SG709
    if ports_are_ovns(case.agents, case.old, case.host, databases.ovn):
        about = ovn.OvnHost(
            inventory_name=case.request.inventory_name,
            old=case.old,
            new=case.request.rename_to,
            host=case.host,
            databases=databases,
            ports=case.bundle.cloud.ports if case.bundle.cloud else None,
            has_neutron_db=case.request.has_neutron_db,
        )
        yield from ovn.check_emptied(about)
    elif is_undecided(case.agents, case.host):
        reasons = [entry.reason for entry in case.host.unread if entry.part == "ovs_external_ids"]
        evidence = {"external_ids of Open vSwitch": "; ".join(reasons) or "not read", "network agents": _kinds(case)}
        remedy = remedy_text("SG317", "drained-host-undecided")
        yield finding("SG317", Subject("host", case.request.inventory_name, host=case.old), evidence, remedy)


def _kinds(case: rename.Case) -> t.List[str]:
    return sorted({agent.agent_type for agent in case.agents})


def can_drain(
    bundle: Bundle,
    decision: moves.MoveDecision,
    others: t.Sequence[str],
    request: RenameRequest,
    options: placement.DrainOptions,
) -> Checked:
    """What a drain needs beyond what every rename does."""
    host, cloud = request.rename_from, bundle.cloud
    missing = [part for part in ("servers", "services", "providers") if getattr(cloud, part, None) is None]
    if cloud is None or missing:
        remedy = remedy_text("SG709", "apis-unread-for-drain")
        return Checked((finding("SG709", Subject("host", host), {"not read": missing or ["the APIs"]}, remedy),))
    servers = placement.guests_of(cloud, host) or []
    found = _disks(bundle, request, servers) + _return(cloud, host, servers, options)
    if others:
        remedy = remedy_text("SG203", "drained-service-has-nodes-of-others")
        found.append(
            finding("SG203", Subject("service", _service_id(cloud, host), host=host), {"nodes": list(others)}, remedy)
        )
    found += _hidden(bundle, host, servers)
    found += _held_by_others(bundle, host, servers)
    own = Checked(tuple(found))
    return own + _without_told(decision.checked, own)


def _service_id(cloud: CloudFacts, host: str) -> str:
    return next((service.id for service in cloud.services or [] if service.host == host), host)


def _hidden(bundle: Bundle, host: str, servers: t.Sequence[ApiServer]) -> t.Iterator[Finding]:
    """SG710: servers that Nova does not list, such as soft-deleted ones: no move takes them away, so none may begin."""
    listed = {uuid_key(server.id) for server in servers}
    for cell in (bundle.databases.cells if bundle.databases else None) or []:
        for row in cell.instances or []:
            if row.host == host and not row.deleted and uuid_key(row.uuid) not in listed:
                subject = Subject("instance", row.uuid, row.display_name, host)
                evidence = {
                    "vm_state": row.vm_state,
                    "cell": cell.name,
                    "compute API": "does not list the server on this host",
                }
                yield finding("SG710", subject, evidence, remedy_text("SG710", "in-database-and-not-listed"))


def _held_by_others(bundle: Bundle, host: str, servers: t.Sequence[ApiServer]) -> t.Iterator[Finding]:
    """SG709: who holds resources of the host without being its server. No move takes that away.

    Nova deletes the allocations of the host's servers with its service, and swallows that placement keeps a provider
    of which somebody else holds anything (scheduler/client/report.py, delete_resource_provider; 26 to 34).
    """
    cloud, nodes = bundle.cloud, _nodes_of(bundle, host)
    if cloud is None:
        return
    tree = [row for row in cloud.providers or [] if nodes & {row.uuid, row.root_provider_uuid}]
    unread = sorted(row.uuid for row in tree if row.allocations is None)
    if unread or (nodes and not tree):
        evidence = {"not read": f"the allocations of resource provider {', '.join(unread or sorted(nodes))}"}
        remedy = remedy_text("SG709", "allocations-unread-for-drain")
        yield finding("SG709", Subject("host", f"{host}:allocations", host=host), evidence, remedy)
    leaving = {uuid_key(server.id) for server in servers}
    # Those that Nova does not list are SG710: see _hidden.
    leaving |= {uuid_key(row.uuid) for _cell, row in Index(bundle).instances_by_host.get(host, [])}
    held = [(consumer, row.uuid) for row in tree for consumer in row.allocations or {}]
    for consumer, provider in sorted(held):
        if uuid_key(consumer) not in leaving:
            yield _left_allocation(bundle, host, consumer, provider)


def _nodes_of(bundle: Bundle, host: str) -> t.Set[str]:
    """Uuids of the compute nodes of a host, by the databases and the API."""
    rows = [row.uuid for _cell, row in Index(bundle).node_rows_by_host.get(host, [])]
    shown = (bundle.cloud.hypervisors if bundle.cloud else None) or []
    return {row for row in rows if row} | {node.id for node in shown if node.service_host == host}


def _left_allocation(bundle: Bundle, host: str, consumer: str, provider: str) -> Finding:
    index = Index(bundle)
    at = sorted({str(row.host) for _cell, row in index.instance_rows_by_uuid.get(consumer, []) if not row.deleted})
    at += sorted(
        {str(server.host) for server in (bundle.cloud.servers if bundle.cloud else None) or [] if server.id == consumer}
        - {*at}
    )
    moves = [row for _place, row in index.migrations if row.uuid == consumer]
    evidence = {
        "consumer": consumer,
        "resource provider": provider,
        "hosts of a server with this uuid": at,
        "migrations with this uuid": [row.status for row in moves],
        "Nova's servers of the host": "not among them",
    }
    if moves:
        remedy = remedy_text("SG709", "allocation-of-open-migration", server=moves[0].instance_uuid)
    else:
        remedy = remedy_text("SG709", "allocation-of-no-server-of-host", consumer=consumer, provider=provider)
    return finding("SG709", Subject("instance", consumer, host=host), evidence, remedy)


def _disks(bundle: Bundle, request: RenameRequest, servers: t.Sequence[ApiServer]) -> t.List[Finding]:
    facts = bundle.hosts.get(request.inventory_name)
    conf = facts.nova_conf if facts is not None else None
    if conf is None or conf.images_type == "rbd" or not servers:
        return []
    evidence = {"images_type": conf.images_type, "instances_path": conf.instances_path, "servers": len(servers)}
    remedy = remedy_text("SG513", "drain-copies-disks")
    return [finding("SG513", Subject("host", request.rename_from), evidence, remedy, WARNING)]


def _return(
    cloud: CloudFacts, host: str, servers: t.Sequence[ApiServer], options: placement.DrainOptions
) -> t.List[Finding]:
    service = next((entry for entry in cloud.services or [] if entry.host == host), None)
    if not servers or service is None:
        return []
    subject = Subject("service", service.id, host=host)
    evidence = {"status": service.status, "state": service.state, "disabled_reason": service.disabled_reason}
    if options.bring_back and service.status != "enabled":
        remedy = remedy_text("SG704", "disabled-before-drain-with-return")
        return [finding("SG704", subject, evidence, remedy, BLOCKER)]
    return []


# --- after ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ReplacedHost:
    """What must be so after a drain. ``old`` and ``new``: host and node name; ids: service and node."""

    inventory_name: str
    old: t.Tuple[str, str]
    new: t.Tuple[str, str]
    old_ids: t.Tuple[str, str]
    new_ids: t.Tuple[str, str]
    zone: t.Optional[str]
    aggregates: t.Tuple[int, ...] = ()
    guests: t.Tuple[str, ...] = ()
    #: Aggregates that were deleted during the run, by Nova's word for each.
    gone: t.Tuple[int, ...] = ()


def audit(bundle: Bundle, expected: ReplacedHost, zones: t.Mapping[str, t.Optional[str]]) -> Checked:
    """No store says the old name; a fresh identity in the old aggregates and zone; ``zones``: where each guest is."""
    base = renamed.RenamedHost(
        inventory_name=expected.inventory_name,
        old_host=expected.old[0],
        old_node=expected.old[1],
        new_host=expected.new[0],
        new_node=expected.new[1],
        service_uuid=expected.new_ids[0],
        service_id=0,
        node_uuid=expected.new_ids[1],
        node_id=0,
    )
    remedy = remedy_text("SG301", "old-name-after-drain")
    stale = tuple(with_remedy(item, remedy) for item in renamed.leftovers(bundle, base).findings)
    found = [*_identity(bundle, expected), *_memberships(bundle, expected), *_landed(expected, zones)]
    return Checked(stale + tuple(found), tuple(renamed.unread(bundle, base)))


def _identity(bundle: Bundle, expected: ReplacedHost) -> t.Iterator[Finding]:
    host = expected.new[0]
    cells = (bundle.databases.cells if bundle.databases else None) or []
    rows = [row for cell in cells for row in cell.compute_nodes or [] if not row.deleted and row.host == host]
    node = [(row.uuid, row.hypervisor_hostname) for row in rows]
    if node != [(expected.new_ids[1], expected.new[1])] or expected.new_ids[1] == expected.old_ids[1]:
        remedy = remedy_text("SG102", "new-host-differs")
        yield finding("SG102", Subject("compute_node", expected.new_ids[1], host=host), {"seen": node}, remedy)
    services = [row.uuid for cell in cells for row in cell.services or [] if not row.deleted and row.host == host]
    if services != [expected.new_ids[0]] or expected.new_ids[0] == expected.old_ids[0]:
        remedy = remedy_text("SG106", "new-host-differs")
        yield finding("SG106", Subject("service", expected.new_ids[0], host=host), {"seen": services}, remedy)
    providers = {row.uuid: row.name for row in (bundle.cloud.providers if bundle.cloud else None) or []}
    if providers.get(expected.new_ids[1]) != expected.new[1]:
        subject = Subject("resource_provider", expected.new_ids[1], expected.new[1], host)
        remedy = remedy_text("SG112", "new-host-differs")
        yield finding("SG112", subject, {"seen": providers.get(expected.new_ids[1])}, remedy)
    facts = bundle.hosts.get(expected.inventory_name)
    for file in (facts.compute_id_files if facts else None) or []:
        if file.exists and file.read_by_nova and file.uuid != expected.new_ids[1]:
            evidence = {"path": file.path, "uuid": file.uuid, "node": expected.new_ids[1]}
            remedy = remedy_text("SG102", "new-host-differs")
            yield finding("SG102", Subject("compute_node", expected.new_ids[1], host=host), evidence, remedy)


def _memberships(bundle: Bundle, expected: ReplacedHost) -> t.Iterator[Finding]:
    """SG303: not in its aggregates. One that was deleted is a warning, and so is what replaces it; the zone counts."""
    entries = (bundle.cloud.aggregates if bundle.cloud else None) or []
    host, before = expected.new[0], set(expected.aggregates)
    now = {entry.id for entry in entries if host in entry.hosts}
    for number in sorted(now ^ before):
        name = next((entry.name for entry in entries if entry.id == number), None)
        evidence = {
            "member now": number in now,
            "member before": number in before,
            "deleted during the run": number in expected.gone,
        }
        subject = Subject("aggregate", str(number), name, host)
        if number in expected.gone or (expected.gone and number in now):
            remedy = remedy_text("SG303", "aggregate-deleted-during-drain")
            yield finding("SG303", subject, evidence, remedy, WARNING)
        else:
            yield finding("SG303", subject, evidence, remedy_text("SG303", "new-host-differs"))
    zones = [entry.zone for entry in (bundle.cloud.services if bundle.cloud else None) or [] if entry.host == host]
    if expected.gone and zones != [expected.zone]:
        remedy = remedy_text("SG303", "zone-lost-with-aggregate", zone=expected.zone)
        seen = {"zone now": zones, "zone before": expected.zone}
        yield finding("SG303", Subject("host", expected.inventory_name, host=host), seen, remedy)


def _landed(expected: ReplacedHost, zones: t.Mapping[str, t.Optional[str]]) -> t.Iterator[Finding]:
    for uuid in expected.guests:
        # None: deleted by its owner meanwhile.
        if zones.get(uuid) not in (None, expected.zone):
            evidence = {"zone": zones[uuid], "expected": expected.zone}
            remedy = remedy_text("SG407", "drained-guest-in-another-zone")
            yield finding("SG407", Subject("instance", uuid), evidence, remedy, WARNING)
