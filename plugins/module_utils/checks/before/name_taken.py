# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is the new name of a host free in every place? SG310, and SG113 where it would destroy guests. Pure.

Names that differ only in case are taken: MySQL's unique keys say so. The places are those of the facts of nova, 3.1.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import (
    Index,
    Item,
    Items,
    host_subject,
    instance_subject,
    migration_evidence,
    migration_subject,
    open_evacuation,
    same_name,
    same_uuid,
    uuid_key,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import INFO, Subject, Unchecked, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import conf_host

_CHOOSE = "Choose another name, or remove what has it: nothing may have the new name before the rename."
#: An object that bears the name: how it is named, where it was read, what it says.
Bearer = t.Tuple[Subject, str, t.Optional[str]]


@dataclasses.dataclass(frozen=True)
class Request:
    """The names wanted (without case), and what the host itself already is: its own things do not stand in its way."""

    inventory_name: str
    old: str
    new: t.FrozenSet[str]
    node_uuid: t.Optional[str]
    service_uuid: t.Optional[str]
    old_node: t.Optional[str]

    def wants(self, name: t.Optional[str]) -> bool:
        """Whether a name is one of the new ones."""
        return name is not None and name.casefold() in self.new


def check(index: Index, request: Request) -> Items:
    """One finding for each object that bears a new name, with every place it does so in."""
    found: t.Dict[t.Tuple[str, str], t.Tuple[Subject, t.List[t.List[t.Optional[str]]]]] = {}
    for subject, place, name in _bearers(index, request):
        _subject, places = found.setdefault((subject.kind, subject.id), (subject, []))
        if [place, name] not in places:
            places.append([place, name])
    for subject, places in found.values():
        yield finding("SG310", subject, {"bears it in": places}, _CHOOSE)
    yield from _evacuations(index, request)
    yield from _deleted(index, request)
    yield from _unasked(index, request)


def _bearers(index: Index, request: Request) -> t.Iterator[Bearer]:
    for rows in (_services, _nodes, _instances, _migrations, _api_database, _api, _placement, _neutron, _inventory):
        for bearer in rows(index, request):
            if request.wants(bearer[2]):
                yield bearer


# --- databases ------------------------------------------------------------------------------------------------


def _services(index: Index, request: Request) -> t.Iterator[Bearer]:
    for cell in index.cells or []:
        for row in cell.services or []:
            if not row.deleted and not (row.uuid and same_uuid(row.uuid, request.service_uuid)):
                yield Subject("service", row.uuid or str(row.id), row.binary, row.host), f"cell {cell.name}", row.host


def _nodes(index: Index, request: Request) -> t.Iterator[Bearer]:
    for cell, row in index.node_rows:
        if not (row.uuid and same_uuid(row.uuid, request.node_uuid)):
            subject = Subject("compute_node", row.uuid or str(row.id), row.hypervisor_hostname, row.host)
            yield subject, f"cell {cell.name} compute_nodes.host", row.host
            yield subject, f"cell {cell.name} compute_nodes.hypervisor_hostname", row.hypervisor_hostname


def _instances(index: Index, request: Request) -> t.Iterator[Bearer]:
    for cell, row in index.instances:
        if row.host != request.old:
            yield instance_subject(row), f"cell {cell.name} instances.host", row.host
            yield instance_subject(row), f"cell {cell.name} instances.node", row.node


def _migrations(index: Index, request: Request) -> t.Iterator[Bearer]:
    for place, row in index.migrations:
        if open_evacuation(row) and request.wants(row.source_compute):
            continue  # SG113
        for name in (row.source_compute, row.dest_compute, row.source_node, row.dest_node):
            if name not in (request.old, request.old_node):
                yield migration_subject(row), f"{place} migrations", name


def _api_database(index: Index, request: Request) -> t.Iterator[Bearer]:
    databases = index.bundle.databases
    api = databases.api if databases else None
    for mapping in (api.host_mappings if api else None) or []:
        if mapping.host != request.old:
            yield Subject("host", mapping.host, host=mapping.host), "host_mappings.host", mapping.host
    for row in (api.aggregate_hosts if api else None) or []:
        if row.host != request.old:
            subject = Subject("aggregate", row.aggregate_uuid or str(row.aggregate_id), row.aggregate_name, row.host)
            yield subject, "aggregate_hosts.host", row.host


# --- APIs -----------------------------------------------------------------------------------------------------


def _api(index: Index, request: Request) -> t.Iterator[Bearer]:
    cloud = index.bundle.cloud
    for service in (cloud.services if cloud else None) or []:
        if not same_uuid(service.id, request.service_uuid):
            yield Subject("service", service.id, service.binary, service.host), "compute API", service.host
    for node in (cloud.hypervisors if cloud else None) or []:
        if not same_uuid(node.id, request.node_uuid):
            subject = Subject("compute_node", node.id, node.hypervisor_hostname, node.service_host)
            yield subject, "compute API hypervisor", node.hypervisor_hostname
            yield subject, "compute API service host", node.service_host
    for server in (cloud.servers if cloud else None) or []:
        if server.host != request.old:
            yield Subject("instance", server.id, server.name, server.host), "compute API servers", server.host
    for aggregate in (cloud.aggregates if cloud else None) or []:
        for host in aggregate.hosts:
            if host != request.old:
                subject = Subject("aggregate", aggregate.uuid or str(aggregate.id), aggregate.name, host)
                yield subject, "compute API aggregates", host


def _placement(index: Index, request: Request) -> t.Iterator[Bearer]:
    own = uuid_key(request.node_uuid or "")
    for row in index.providers or []:
        if own not in (uuid_key(row.uuid), uuid_key(row.root_provider_uuid or "")):
            subject = Subject("resource_provider", row.uuid, row.name)
            yield subject, "placement", _root_part(row.name, request)


def _root_part(name: str, request: Request) -> str:
    """A child's name begins with its node's: one of a provider tree that is gone would collide as well."""
    for new in request.new:
        if name.casefold().startswith((f"{new}_", f"{new}:")):
            return name[: len(new)]
    return name


def _neutron(index: Index, request: Request) -> t.Iterator[Bearer]:
    cloud, databases = index.bundle.cloud, index.bundle.databases
    for agent in (cloud.agents if cloud else None) or []:
        if agent.host != request.old:
            yield Subject("host", agent.id, agent.agent_type, agent.host), "neutron agents", agent.host
    for row in (databases.neutron.agents if databases and databases.neutron else None) or []:
        if row.host != request.old:
            yield Subject("host", row.id, row.agent_type, row.host), "neutron database agents", row.host
    for port in (cloud.ports if cloud else None) or []:
        if port.binding_host_id != request.old:
            subject = Subject("port", port.id, host=port.binding_host_id)
            yield subject, "neutron port bindings", port.binding_host_id


def _inventory(index: Index, request: Request) -> t.Iterator[Bearer]:
    for name in sorted(index.bundle.hosts):
        facts = index.bundle.hosts[name]
        if name != request.inventory_name:
            subject = host_subject(facts)
            yield subject, "CONF.host", conf_host(facts)
            yield subject, "kernel host name", facts.kernel_hostname
            yield subject, "static host name", facts.static_hostname
            yield subject, "libvirt host name", facts.libvirt.hostname if facts.libvirt else None


def _unasked(index: Index, request: Request) -> Items:
    """Hosts of the inventory whose own names are not known: one may bear the new name without any store saying so."""
    for name in sorted(set(index.bundle.unreachable) - {request.inventory_name}):
        yield Unchecked("SG310", name, f"its own names were not compared: {index.bundle.unreachable[name]}")
    for name in sorted(set(index.bundle.hosts) - {request.inventory_name}):
        facts = index.bundle.hosts[name]
        unread = [
            *(["CONF.host"] if conf_host(facts) is None else []),
            *(["libvirt's host name"] if facts.libvirt is None else []),
        ]
        if unread:
            yield Unchecked("SG310", name, f"not read, so not compared: {', '.join(unread)}")


# --- what is worse, and what is harmless ----------------------------------------------------------------------


def _evacuations(index: Index, request: Request) -> Items:
    """SG113: evacuations *from the new name* would be reaped on the renamed host at its first start.

    manager.py, _destroy_evacuated_instances, compares nothing but the name (26 to 34; facts of nova, 0.4).
    """
    for place, row in index.migrations:
        if open_evacuation(row) and request.wants(row.source_compute):
            remedy = "Choose another name: under this one nova-compute would destroy these instances' domains here."
            evidence = {"rule": "_destroy_evacuated_instances", **migration_evidence(row, place)}
            yield finding("SG113", migration_subject(row), evidence, remedy)


def _deleted(index: Index, request: Request) -> Items:
    """Soft-deleted rows keep their name; the unique keys include ``deleted``, so they are in nobody's way."""
    for cell in index.cells or []:
        for service in cell.services or []:
            if service.deleted and request.wants(service.host):
                yield _harmless(Subject("service", service.uuid or str(service.id), host=service.host), cell.name)
        for node in cell.compute_nodes or []:
            if node.deleted and (request.wants(node.host) or request.wants(node.hypervisor_hostname)):
                key = node.uuid or str(node.id)
                if not same_name(node.uuid, request.node_uuid):
                    subject = Subject("compute_node", key, node.hypervisor_hostname, node.host)
                    yield _harmless(subject, cell.name)


def _harmless(subject: Subject, cell: str) -> Item:
    remedy = "Nothing to do: a soft-deleted row. Old evacuation records of that name would be reported as SG113."
    return finding("SG310", subject, {"read from": f"cell {cell}", "soft-deleted": True}, remedy, INFO)
