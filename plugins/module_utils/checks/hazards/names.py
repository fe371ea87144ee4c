# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does every place that stores a host's name say the same one? SG301 to SG306, SG309. Pure.

The places are those of the facts of nova, 3.1. Names are compared byte by byte, as Nova's Python does; one that
differs only in case is told, for MySQL finds it all the same and hides the difference.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import (
    Index,
    Item,
    Items,
    gather,
    instance_subject,
    migration_evidence,
    migration_subject,
    same_name,
    uuid_key,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    AggregateHostRow,
    ApiAgent,
    ApiPort,
    Bundle,
    CellFacts,
    HostMappingRow,
    InstanceRow,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    WARNING,
    Checked,
    Subject,
    Unchecked,
    finding,
)

#: vif types that mean no traffic (neutron, portbindings).
NO_TRAFFIC = ("binding_failed", "unbound")
COMPUTE_OWNER = "compute:"
_HALF = "Half a rename: run rename_host with rename_action=status on the host; else correct the store that is wrong."


def check(bundle: Bundle) -> Checked:
    """Check every name of every store that was read."""
    index = Index(bundle)
    items: t.List[Item] = [*_undecided(index), *_services(index), *_hypervisors(index), *_servers(index, WARNING)]
    for cell, row in index.instances:
        items += instance_names(index, cell, row)
    items += [*_mappings(index), *_aggregates(index), *_children(index), *_agent_names(index), *_agents_alive(index)]
    items += [*_ports(index), *_migrations(index)]
    return gather(items)


def host_items(index: Index, host: str) -> Items:
    """What is decided of one host by its name, from every store that bears it."""
    for cell, row in index.instances_by_host.get(host, []):
        yield from instance_names(index, cell, row)
    found = [*_services(index), *_hypervisors(index), *_servers(index, BLOCKER), *_mappings(index), *_aggregates(index)]
    found += [*_children(index), *_agent_names(index)]
    yield from (item for item in found if not isinstance(item, Unchecked) and same_name(item.object.host, host))


def _undecided(index: Index) -> Items:
    databases = index.bundle.databases
    api, cloud = (databases.api if databases else None), index.bundle.cloud
    if not index.cells_read("services") or not index.cells_read("compute_nodes"):
        yield Unchecked("SG301", "all", "not every cell's services and compute nodes were read")
    if api is None or api.host_mappings is None:
        yield Unchecked("SG302", "all", "the host mappings were not read")
    if (api is None or api.aggregate_hosts is None) and (cloud is None or cloud.aggregates is None):
        yield Unchecked("SG303", "all", "the aggregates were not read")
    if cloud is None or cloud.providers is None:
        yield Unchecked("SG304", "all", "the resource providers were not read")
    if cloud is None or cloud.agents is None:
        yield Unchecked("SG305", "all", "the network agents were not read")
    if cloud is None or cloud.ports is None:
        yield Unchecked("SG306", "all", "the ports were not read")
    if not index.migrations_read:
        yield Unchecked("SG309", "all", "the migrations were not read")


# --- the cells against themselves and against the API ---------------------------------------------------------


def _services(index: Index) -> Items:
    """A service whose node bears another name (the trap of 27 and 28, facts of nova 1.3), or whose API does."""
    nodes = {(cell.uuid, row.service_id): row for cell, row in index.node_rows if row.service_id is not None}
    shown = {service.id: service for service in index.api_services or []}
    for cell, row in index.services:
        subject = Subject("service", row.uuid or str(row.id), host=row.host)
        node = nodes.get((cell.uuid, row.id))
        # A node of an existing service of its own is a wrong link (SG203), not a name.
        if node is not None and node.host != row.host and not index.services_by_host.get(node.host):
            yield _half(subject, f"cell {cell.name}", "services.host", row.host, "compute_nodes.host", node.host)
        api = shown.get(row.uuid or "")
        if api is not None and api.host != row.host:
            yield _half(subject, f"cell {cell.name}", "services.host", row.host, "compute API", api.host)


def _hypervisors(index: Index) -> Items:
    rows = {uuid_key(row.uuid): (cell, row) for cell, row in index.node_rows if row.uuid}
    for shown in (index.bundle.cloud.hypervisors if index.bundle.cloud else None) or []:
        found = rows.get(uuid_key(shown.id))
        if found is None:
            continue
        cell, row = found
        if shown.hypervisor_hostname != row.hypervisor_hostname:
            place = f"cell {cell.name}"
            subject = Subject("compute_node", str(row.uuid), row.hypervisor_hostname, row.host)
            name = row.hypervisor_hostname
            yield _half(subject, place, "hypervisor_hostname", name, "compute API", shown.hypervisor_hostname)


def _servers(index: Index, severity: str) -> Items:
    """The API answers from the same rows: what differs is another database, or moved between the two readings."""
    for shown in (index.bundle.cloud.servers if index.bundle.cloud else None) or []:
        live = [item for item in index.instance_rows_by_uuid.get(shown.id, []) if not item[1].deleted]
        if not live or shown.task_state is not None or live[0][1].task_state is not None:
            continue
        cell, row = live[0]
        if shown.host is not None and shown.host != row.host and not index.migrations_by_instance.get(row.uuid):
            subject = instance_subject(row)
            place = f"cell {cell.name}"
            yield _half(subject, place, "instances.host", row.host, "compute API", shown.host, severity)


def instance_names(index: Index, cell: CellFacts, row: InstanceRow) -> Items:
    """An instance's host and node must be one live compute node's (facts of nova, 2.2, I6; SG216 is the link)."""
    if row.host is None or not index.cells_read("compute_nodes"):
        return
    nodes = index.node_rows_by_host.get(row.host, [])
    if any(node.hypervisor_hostname == row.node for _cell, node in nodes):
        return
    seen: t.Dict[str, t.Any] = {
        "read from": f"cell {cell.name}",
        "instances.host": row.host,
        "instances.node": row.node,
        "nodes of this host": [node.hypervisor_hostname for _cell, node in nodes],
    }
    if not nodes:
        if not index.in_scope(row.host):
            return
        alike = sorted({str(name) for name in index.node_rows_by_host if same_name(name, row.host)})
        seen["hosts called alike"] = alike
    yield finding("SG301", instance_subject(row), seen, _HALF)


def _half(
    subject: Subject,
    place: str,
    one: str,
    name: t.Optional[str],
    other: str,
    other_name: t.Optional[str],
    severity: t.Optional[str] = None,
) -> Item:
    evidence = {
        "read from": place,
        one: name,
        other: other_name,
        "differ only in case": same_name(name, other_name),
    }
    return finding("SG301", subject, evidence, _HALF, severity)


# --- the API database -----------------------------------------------------------------------------------------


def _mappings(index: Index) -> Items:
    """SG302: a mapping of a name that no compute service has, or to a cell that its service is not in."""
    databases = index.bundle.databases
    if not index.cells_read("services"):
        return
    for row in (databases.api.host_mappings if databases and databases.api else None) or []:
        found = index.services_by_host.get(row.host, [])
        if not found and index.in_scope(row.host):
            yield _stale_mapping(index, row)
        wrong = [cell for cell, _row in found if cell.uuid and row.cell_uuid and cell.uuid != row.cell_uuid]
        if wrong and len(wrong) == len(found):
            evidence = {"mapped to": row.cell_name, "service is in": [cell.name for cell in wrong]}
            remedy = "Delete the mapping (nova-manage cell_v2 delete_host) and discover the host in its own cell."
            yield finding("SG302", _host(row.host), evidence, remedy)


def _stale_mapping(index: Index, row: HostMappingRow) -> Item:
    alike = sorted(str(name) for name in index.services_by_host if same_name(name, row.host))
    evidence = {"host mapping": row.host, "cell": row.cell_name, "services called alike": alike}
    remedy = f"If no such host exists any more: nova-manage cell_v2 delete_host --host {row.host}. Else half a rename."
    return finding("SG302", _host(row.host), evidence, remedy, BLOCKER if alike else WARNING)


def _aggregates(index: Index) -> Items:
    """SG303: a member that is no compute host, or that database and API do not agree on."""
    databases, cloud = index.bundle.databases, index.bundle.cloud
    rows = databases.api.aggregate_hosts if databases and databases.api else None
    known = index.cells_read("services")
    for row in rows or []:
        if known and row.host not in index.services_by_host and index.in_scope(row.host):
            yield _stale_member(index, row.host, row.aggregate_uuid or str(row.aggregate_id), row.aggregate_name)
    shown = cloud.aggregates if cloud else None
    if rows is not None and shown is not None:
        yield from _members_differ(index, rows)
    if rows is None and index.api_services is not None:
        for entry in shown or []:
            for host in entry.hosts:
                if host not in index.compute_hosts and index.in_api_scope(host):
                    yield _stale_member(index, host, entry.uuid or str(entry.id), entry.name)


def _stale_member(index: Index, host: t.Optional[str], key: str, name: t.Optional[str]) -> Item:
    alike = sorted(other for other in index.compute_hosts if same_name(other, host))
    return finding(
        "SG303",
        Subject("aggregate", key, name, host),
        {"member": host, "services called alike": alike},
        "Take the stale name out of the aggregate. If its host was renamed: its zone and filters do not hold now.",
    )


def _members_differ(index: Index, rows: t.Sequence[AggregateHostRow]) -> Items:
    databases, cloud = index.bundle.databases, index.bundle.cloud
    scope = databases.api.scope if databases and databases.api else []
    stored: t.Dict[int, t.Set[str]] = {}
    for row in rows:
        stored.setdefault(row.aggregate_id, set()).add(str(row.host))
    for entry in (cloud.aggregates if cloud else None) or []:
        shown = {name for name in entry.hosts if not scope or any(same_name(name, known) for known in scope)}
        for name in sorted(shown ^ stored.get(entry.id, set())):
            evidence = {"host": name, "in the database": name not in shown, "in the compute API": name in shown}
            subject = Subject("aggregate", entry.uuid or str(entry.id), entry.name, name)
            yield finding("SG303", subject, evidence, "Read again; if they still differ, these are not one cloud's.")


# --- placement ------------------------------------------------------------------------------------------------


def _children(index: Index) -> Items:
    """SG304: Nova and neutron name children C(<node>_<device>) and C(<node>:<agent>) and look them up by name."""
    for node in index.nodes or []:
        for child in index.children.get(uuid_key(node.uuid), []) if node.uuid else []:
            if not child.name.startswith((f"{node.hypervisor_hostname}_", f"{node.hypervisor_hostname}:")):
                yield finding(
                    "SG304",
                    Subject("resource_provider", child.uuid, child.name, node.host),
                    {"child": child.name, "compute node": node.hypervisor_hostname},
                    "Rename the child to begin with its node's name, with nova-compute stopped.",
                )


# --- neutron --------------------------------------------------------------------------------------------------


def _agent_names(index: Index) -> Items:
    """SG305: an agent whose name is a compute host's but for its case, or that database and API call differently."""
    databases, cloud = index.bundle.databases, index.bundle.cloud
    stored = {row.id: row.host for row in (databases.neutron.agents if databases and databases.neutron else None) or []}
    folded = {name.casefold(): name for name in index.compute_hosts}
    for agent in (cloud.agents if cloud else None) or []:
        other = stored.get(agent.id, agent.host)
        compute = folded.get(agent.host.casefold())
        if other != agent.host:
            yield _agent(agent, {"neutron API": agent.host, "neutron database": other}, BLOCKER)
        elif compute is not None and compute != agent.host and agent.host not in index.compute_hosts:
            yield _agent(agent, {"agent": agent.host, "compute service": compute}, BLOCKER)


def _agents_alive(index: Index) -> Items:
    for agent in (index.bundle.cloud.agents if index.bundle.cloud else None) or []:
        if agent.host in index.compute_hosts and not agent.alive:
            yield _agent(agent, {"alive": False, "agent": agent.host}, WARNING)


def _agent(agent: ApiAgent, evidence: t.Mapping[str, t.Any], severity: str) -> Item:
    return finding(
        "SG305",
        Subject("host", agent.id, agent.agent_type, agent.host),
        {"type": agent.agent_type, **evidence},
        "Ports bind only to a host with a live agent of exactly its name: correct the agent's host=, or start it.",
        severity,
    )


def _ports(index: Index) -> Items:
    """SG306: no traffic, or bound to a host that the instance is not on."""
    for port in (index.bundle.cloud.ports if index.bundle.cloud else None) or []:
        if port.binding_host_id in index.compute_hosts:
            yield from port_items(index, port)
        elif _stale_binding(index, port):
            yield _port(port, {"binding:host_id": port.binding_host_id, "compute service": None}, BLOCKER)


def _stale_binding(index: Index, port: ApiPort) -> bool:
    known = bool(index.compute_hosts) and index.in_api_scope(port.binding_host_id)
    return bool(port.binding_host_id) and known and (port.device_owner or "").startswith(COMPUTE_OWNER)


def port_items(index: Index, port: ApiPort) -> Items:
    """SG306 of a port that is bound to a compute host."""
    if port.binding_vif_type in NO_TRAFFIC:
        yield _port(port, {"binding:vif_type": port.binding_vif_type}, BLOCKER)
    live = [row for _cell, row in index.instance_rows_by_uuid.get(port.device_id, []) if not row.deleted]
    if not live or not (port.device_owner or "").startswith(COMPUTE_OWNER):
        return
    row = live[0]
    settled = row.task_state is None and not index.migrations_by_instance.get(row.uuid)
    if settled and row.host is not None and row.host != port.binding_host_id:
        yield _port(port, {"binding:host_id": port.binding_host_id, "instances.host": row.host}, BLOCKER)


def _port(port: ApiPort, evidence: t.Mapping[str, t.Any], severity: str) -> Item:
    return finding(
        "SG306",
        Subject("port", port.id, host=port.binding_host_id),
        {"device": port.device_id, "device_owner": port.device_owner, **evidence},
        "With a live agent on the instance's host, set the port's binding:host_id to it again.",
        severity,
    )


# --- migrations -----------------------------------------------------------------------------------------------


def _migrations(index: Index) -> Items:
    """SG309: an unfinished record names a host that is none: confirm, revert and clean-up go to a name nobody has."""
    known = index.compute_hosts
    if not known or not index.cells_read("services"):
        return
    for place, row in index.migrations:
        names = [name for name in (row.source_compute, row.dest_compute) if name and index.in_scope(name)]
        stale = [name for name in names if name not in known]
        if stale:
            evidence = {**migration_evidence(row, place), "no such compute host": stale}
            yield finding("SG309", migration_subject(row), evidence, _HALF)


def _host(name: str) -> Subject:
    return Subject("host", name, host=name)
