# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that was renamed without this collection: whose it is, and which name each place says. Pure.

Ids decide, never names: a name is the very thing that is in doubt. From what belongs to the host by its ids follows the
*level* evidence: the same facts, with the one name in every place that a rename would start from. Checks and plan of a
rename judge that, and what was really found comes back in where the plan is made (:mod:`plans.adopt`).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import names as naming
from ...model.codes.catalogue import remedy_text
from ...model.facts import (
    AggregateHostRow,
    ApiAgent,
    ApiPort,
    ApiService,
    Bundle,
    CellFacts,
    ComputeNodeRow,
    HostFacts,
    HostMappingRow,
    InstanceRow,
    ResourceProvider,
    ServiceRow,
)
from ...model.findings import Subject, finding
from ...model.lookups import (
    Index,
    Item,
    file_uuid,
    same_uuid,
    uuid_files,
    uuid_key,
)
from ...model.names import Names
from ...model.network_agents import OVN_AGENTS
from ...model.requests import FORWARD, RenameRequest
from ...name_places.placement_providers import SEPARATORS

OLD, NEW, BOTH, NEITHER, MISSING_PLACE = "old", "new", "both", "neither", "missing"
_T = t.TypeVar("_T")


class NotAdoptable(Exception):  # noqa: N818 (it is what was found, not a mistake)
    """It is not known what belongs to the host. ``items``: why."""

    def __init__(self, *items: Item) -> None:
        super().__init__("; ".join(f"{item.code} {item.evidence}" for item in items if hasattr(item, "evidence")))
        self.items = items


@dataclasses.dataclass(frozen=True)
class Place:
    """What one place says. ``names``: those that were seen, the most frequent ones first."""

    place: str
    state: str
    names: t.Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class WrongIdentity:
    """A compute_id file that must hold another uuid. ``before``: what it holds; None: it does not exist."""

    path: str
    before: t.Optional[str]
    after: str


@dataclasses.dataclass(frozen=True)
class Adoption:
    """Everything of the host as it was found, and what a rename from ``source`` to ``goal`` would have found."""

    #: The rename from the source to the goal.
    request: RenameRequest
    source: Names
    goal: Names
    level: Bundle
    found: Bundle
    host: HostFacts
    cell: CellFacts
    node: ComputeNodeRow
    service: ServiceRow
    #: Made by a start under another name, and without anything of value.
    second_service: t.Optional[ServiceRow]
    second_node: t.Optional[ComputeNodeRow]
    #: Mappings and memberships that say the same twice, and whether the host's mapping is missing.
    surplus_mappings: t.Tuple[HostMappingRow, ...]
    surplus_members: t.Tuple[AggregateHostRow, ...]
    mapping_missing: bool
    #: Records of agents that exist under the other name, too.
    surplus_agents: t.Tuple[ApiAgent, ...]
    identity_file: t.Optional[WrongIdentity]
    #: Whether every place of the network says the goal's name already.
    network_done: bool
    places: t.Tuple[Place, ...]


def look(bundle: Bundle, request: RenameRequest) -> Adoption:
    """Return whose host it is and what it is called where. Raises :class:`NotAdoptable`."""
    return _Looking(bundle, request).adoption()


class _Looking:
    """One look at one host."""

    def __init__(self, bundle: Bundle, request: RenameRequest) -> None:
        self.bundle = bundle
        self.request = request
        self.names = (request.rename_from, request.rename_to)
        self.subject = Subject("host", request.inventory_name, host=request.rename_from)
        host = bundle.hosts.get(request.inventory_name)
        if host is None:
            reason = bundle.unreachable.get(request.inventory_name, "the evidence has no facts of this host")
            remedy = remedy_text("SG114", "unread-before-adoption")
            raise NotAdoptable(finding("SG114", self.subject, {"reason": reason}, remedy))
        self.host = host
        unread = [part for part in ("compute_id_files", "nova_conf", "libvirt", "domains") if _none(host, part)]
        databases, cloud = bundle.databases, bundle.cloud
        if databases is None or databases.cells is None or databases.api is None:
            unread.append("databases")
        else:
            unread += [
                f"{table} of cell {cell.name}"
                for cell in databases.cells
                for table in ("services", "compute_nodes", "instances")
                if _none(cell, table)
            ]
            unread += [part for part in ("host_mappings", "aggregate_hosts") if _none(databases.api, part)]
        if cloud is None:
            unread.append("cloud")
        else:
            unread += [part for part in ("services", "providers", "agents", "ports") if _none(cloud, part)]
        if unread:
            raise NotAdoptable(*(self._unread(part) for part in unread))
        self.index = Index(bundle)
        self.domains = {uuid_key(domain.uuid) for domain in host.domains or []}

    def _unread(self, part: str) -> Item:
        subject = Subject("host", f"{self.request.inventory_name}:{part}", part, self.request.rename_from)
        remedy = remedy_text("SG709", "unread-before-adoption", part=part)
        return finding("SG709", subject, {"part": part, "reason": "not read"}, remedy)

    def _refuse(self, code: str, subject: Subject, evidence: t.Dict[str, t.Any], remedy: str) -> t.NoReturn:
        raise NotAdoptable(finding(code, subject, evidence, remedy))

    # --- whose host it is -----------------------------------------------------------------------------------------

    def adoption(self) -> Adoption:
        """Return all of it."""
        cell, node, second_node = self._nodes()
        service, second_service = self._services(cell, node)
        instances = self._instances(cell, node)
        identity_file = self._identity(node, second_node, instances)
        self._second_is_empty(cell, node, second_node, second_service)
        old, new = self._both_names(node, instances)
        forward = self.request.adopt == FORWARD
        source, goal = (old, new) if forward else (new, old)
        made = _Level(self, cell, node, service, second_node, second_service, instances, source, goal, identity_file)
        return made.adoption(old, new)

    def _nodes(self) -> t.Tuple[CellFacts, ComputeNodeRow, t.Optional[ComputeNodeRow]]:
        uuid = file_uuid(self.host)
        found = [
            (cell, row)
            for cell, row in self.index.node_rows
            if row.host in self.names or (uuid is not None and same_uuid(row.uuid, uuid))
        ]
        if not found:
            remedy = remedy_text("SG119", "both-names-unknown")
            self._refuse("SG119", self.subject, {"searched for": list(self.names), "compute_id": uuid}, remedy)
        strangers = [row for _cell, row in found if self._is_another_hosts(row)]
        if len(found) == 1:
            if strangers:
                remedy = remedy_text("SG119", "file-of-another-host")
                shown = {"searched for": list(self.names), "compute node": strangers[0].uuid, "host": strangers[0].host}
                self._refuse("SG119", self.subject, shown, remedy)
            return (*found[0], None)
        used = [entry for entry in found if self._is_used(*entry)]
        evidence = {"compute nodes": [[cell.name, row.uuid, row.host, row.hypervisor_hostname] for cell, row in found]}
        # What SG205 advises otherwise would destroy the other host's allocations.
        state = "file-of-another-host" if strangers else "several-nodes-of-both-names"
        host = strangers[0].host if strangers else None
        if len(found) > 2 or len(used) > 1 or len({cell.name for cell, _row in found}) > 1:
            remedy = remedy_text("SG205", state, host=host)
            self._refuse("SG205", self.subject, {"compute_id": uuid, **evidence}, remedy)
        if strangers:
            remedy = remedy_text("SG102", state, host=host)
            self._refuse("SG102", self.subject, {"compute_id": uuid, **evidence}, remedy)
        # Of two without anything: the one that was there first.
        cell, node = used[0] if used else min(found, key=lambda entry: entry[1].id)
        return cell, node, next(row for _cell, row in found if row is not node)

    def _is_another_hosts(self, row: ComputeNodeRow) -> bool:
        """Whether only the uuid leads to a node, and a compute service has the name of this node."""
        return row.host not in self.names and bool(self.index.services_by_host.get(row.host))

    def _is_used(self, cell: CellFacts, row: ComputeNodeRow) -> bool:
        """Whether anything is on a node: instances by id, or allocations."""
        by_id = any(entry.compute_id == row.id and not entry.deleted for entry in cell.instances or [])
        provider = self.index.providers_by_uuid.get(uuid_key(row.uuid or ""))
        allocated = provider is not None and (provider.allocations is None or bool(provider.allocations))
        children = self.index.children.get(uuid_key(row.uuid or ""), [])
        below = any(child.allocations is None or child.allocations for child in children)
        return by_id or allocated or below

    def _services(self, cell: CellFacts, node: ComputeNodeRow) -> t.Tuple[ServiceRow, t.Optional[ServiceRow]]:
        found = [(where, row) for where, row in self.index.services if row.host in self.names]
        mine = [row for where, row in found if where is cell]
        evidence = {
            "services": [[where.name, row.uuid, row.host] for where, row in found],
            "compute node": node.uuid,
        }
        if len(found) > 2 or len(mine) != len(found):
            remedy = remedy_text("SG205", "several-services-of-both-names")
            self._refuse("SG205", self.subject, evidence, remedy)
        linked = [row for row in mine if row.id == node.service_id]
        if not mine:
            remedy = remedy_text("SG204", "service-missing-before-adoption")
            self._refuse("SG204", Subject("compute_node", str(node.uuid), host=node.host), evidence, remedy)
        if len(mine) == 1:
            return mine[0], None
        # The first one is the host's: the second was made by a start under the other name.
        first, second = sorted(mine, key=lambda row: row.id)
        if linked and linked[0] is second:
            # Deleted with a service: every node of its name and every node with its id (main/api.py, service_destroy).
            remedy = remedy_text("SG203", "service-id-of-second-service")
            self._refuse("SG203", Subject("compute_node", str(node.uuid), host=node.host), evidence, remedy)
        return first, second

    def _instances(self, cell: CellFacts, node: ComputeNodeRow) -> t.List[InstanceRow]:
        """The host's guests: by its names, or by its node's id where their domain is here and no host has that name."""
        services = self.index.services_by_host
        return [
            row
            for row in cell.instances or []
            if not row.deleted
            and row.host is not None
            and (
                row.host in self.names
                or (
                    row.compute_id == node.id
                    and uuid_key(row.uuid) in self.domains
                    and not services.get(row.host)
                    and not self.index.node_rows_by_host.get(row.host)
                )
            )
        ]

    def _identity(
        self, node: ComputeNodeRow, second: t.Optional[ComputeNodeRow], instances: t.Sequence[InstanceRow]
    ) -> t.Optional[WrongIdentity]:
        """Prove that the node is this machine's, and return the file that must be corrected."""
        files = uuid_files(self.host)
        uuid = file_uuid(self.host)
        if uuid is not None and same_uuid(uuid, node.uuid):
            return None
        if files and (uuid is None or len(files) > 1):
            return None  # SG103, SG104: the files contradict each other, and the checks of a rename say so.
        guests = {uuid_key(row.uuid) for row in instances if row.compute_id in (None, node.id)}
        provider = self.index.providers_by_uuid.get(uuid_key(node.uuid or ""))
        consumers = {uuid_key(key) for key in (provider.allocations if provider else None) or {}}
        proven = bool(self.domains) and self.domains <= guests and self.domains <= consumers
        evidence = {
            "compute_id": uuid,
            "compute node": node.uuid,
            "domains": len(self.domains),
            "domains of this compute node": len(self.domains & guests),
            "allocations of these domains": len(self.domains & consumers),
        }
        stranger = uuid is not None and not (second is not None and same_uuid(uuid, second.uuid))
        if not proven or (stranger and self.index.node_rows_by_uuid.get(uuid_key(uuid or ""))):
            code = "SG102" if uuid else "SG101"
            self._refuse(code, self.subject, evidence, remedy_text(code, "node-unproven"))
        state_path = self.host.nova_conf.state_path if self.host.nova_conf else ""
        path = files[0].path if files else f"{state_path.rstrip('/')}/compute_id"
        return WrongIdentity(path, uuid, str(node.uuid))

    def _second_is_empty(
        self,
        cell: CellFacts,
        node: ComputeNodeRow,
        second: t.Optional[ComputeNodeRow],
        second_service: t.Optional[ServiceRow],
    ) -> None:
        if second is None:
            return
        on_it = [
            row.uuid
            for row in cell.instances or []
            if not row.deleted
            and (
                row.compute_id == second.id
                or (
                    row.compute_id is None
                    and row.host == second.host != node.host
                    and row.node == second.hypervisor_hostname != node.hypervisor_hostname
                    and uuid_key(row.uuid) not in self.domains
                )
            )
        ]
        evidence = {"second compute node": second.uuid, "its host": second.host, "instances": on_it[:5]}
        if on_it or self._is_used(cell, second):
            self._refuse("SG205", self.subject, evidence, remedy_text("SG205", "second-node-in-use"))
        if second_service is None or second.service_id not in (None, second_service.id):
            remedy = remedy_text("SG205", "second-node-of-another-service")
            self._refuse("SG205", self.subject, {**evidence, "its service": second.service_id}, remedy)
        # A start on this machine wrote this machine's address. An empty host of that name has its own.
        own = {node.host_ip, *(self.host.addresses or [])}
        if second.host not in self.names or (second.host_ip is not None and second.host_ip not in own):
            remedy = remedy_text("SG205", "second-node-perhaps-of-another-machine")
            shown = {**evidence, "its address": second.host_ip, "addresses of this host": self.host.addresses}
            self._refuse("SG205", self.subject, shown, remedy)

    # --- its names ------------------------------------------------------------------------------------------------

    def _both_names(self, node: ComputeNodeRow, instances: t.Sequence[InstanceRow]) -> t.Tuple[Names, Names]:
        before, after = self.names
        old_os, new_os = self._os_names()
        stored, libvirt = self._stored_names(node, instances), self.host.libvirt.hostname if self.host.libvirt else None

        def first(names: t.Sequence[t.Optional[str]], side: t.Optional[str]) -> t.Optional[str]:
            return next((name for name in names if name and self._side(name, old_os, new_os) == side), None)

        # What libvirt says follows from the host's own names: it counts only where these are as they will be.
        new_node = self.request.hypervisor_hostname or first(
            [libvirt if self._is_settled(new_os) else None, *stored], NEW
        )
        # One that is like neither is a name of libvirt's own.
        old_node = first(stored, OLD) or first(stored, None)
        try:
            if old_node is None and before == after:
                old_node = old_os or before
            elif old_node is None:
                old_node = naming.libvirt_name(str(new_node), after, new_os or after, before, old_os)
            if new_node is None:
                new_node = naming.libvirt_name(old_node, before, old_os or before, after, new_os)
        except naming.NamesError as error:
            self._refuse(
                "SG118",
                Subject("host", after, host=before),
                {"name": after, "wrong": [str(error)]},
                remedy_text("SG118", "libvirt-name-unpredictable"),
            )
        if before == after and old_node == new_node:
            self._refuse(
                "SG118",
                Subject("host", after, host=before),
                {"name": after, "wrong": ["rename_from equals rename_to, and libvirt's host name stays the same"]},
                remedy_text("SG118", "no-name-changes"),
            )
        return Names(before, str(old_node), old_os), Names(after, str(new_node), new_os)

    def _node_names(self, node: ComputeNodeRow, instances: t.Sequence[InstanceRow]) -> t.List[str]:
        """What libvirt's name is said to be, the database first and libvirt itself last."""
        libvirt = self.host.libvirt.hostname if self.host.libvirt else None
        return list(dict.fromkeys([*self._stored_names(node, instances), *([libvirt] if libvirt else [])]))

    def _stored_names(self, node: ComputeNodeRow, instances: t.Sequence[InstanceRow]) -> t.List[str]:
        provider = self.index.providers_by_uuid.get(uuid_key(node.uuid or ""))
        said = [node.hypervisor_hostname, provider.name if provider else None]
        said += sorted({row.node or "" for row in instances})
        return list(dict.fromkeys(name for name in said if name))

    def _is_settled(self, new_os: t.Optional[str]) -> bool:
        """Whether the host itself and its /etc/hosts have the new name already, and the old one nowhere."""
        old = {naming.short(self.names[0])} - {naming.short(self.names[1])}
        lines = [name for line in self.host.etc_hosts or [] for name in line.names]
        return new_os in (None, self.host.kernel_hostname) and not any(naming.short(name) in old for name in lines)

    def _os_names(self) -> t.Tuple[t.Optional[str], t.Optional[str]]:
        """The host's own name under either name; None: it has nothing to do with Nova's."""
        before, after = self.names
        if self.host.nova_conf is None or self.host.nova_conf.host is None:
            return before, after
        said = [name for name in (self.host.static_hostname, self.host.kernel_hostname) if name]
        for name in said:
            if name == before:
                return name, naming.own_name(name, before, after)
            if name == after:
                return naming.own_name(name, after, before), name
        for name in said:
            new, old = naming.own_name(name, before, after), naming.own_name(name, after, before)
            if new is not None:
                return name, new
            if old is not None:
                return old, name
        return None, None

    def _side(self, name: str, old_os: t.Optional[str], new_os: t.Optional[str]) -> t.Optional[str]:
        before, after = self.names
        if name == self.request.hypervisor_hostname:
            return NEW
        old, new = {before, old_os} - {None}, {after, new_os} - {None}
        if name in old - new:
            return OLD
        if name in new - old:
            return NEW
        short = naming.short(name)
        like_old = short in {naming.short(entry) for entry in old if entry}
        like_new = short in {naming.short(entry) for entry in new if entry}
        if like_old != like_new:
            return OLD if like_old else NEW
        return OLD if like_old and before == after else None


def _none(owner: t.Any, part: str) -> bool:
    return getattr(owner, part) is None


class _Level:
    """The facts as a rename from the source to the goal would have found them."""

    def __init__(
        self,
        looking: _Looking,
        cell: CellFacts,
        node: ComputeNodeRow,
        service: ServiceRow,
        second_node: t.Optional[ComputeNodeRow],
        second_service: t.Optional[ServiceRow],
        instances: t.Sequence[InstanceRow],
        source: Names,
        goal: Names,
        identity_file: t.Optional[WrongIdentity],
    ) -> None:
        self.looking, self.bundle, self.host = looking, looking.bundle, looking.host
        self.cell, self.node, self.service = cell, node, service
        self.second_node, self.second_service = second_node, second_service
        self.instances = {row.id for row in instances}
        self.guests = {row.uuid for row in instances}
        self.source, self.goal = source, goal
        self.identity_file = identity_file
        self.hosts = {*looking.names}
        #: Names that the node is known by: children's names begin with one of them.
        self.nodes = {source.hypervisor_hostname, goal.hypervisor_hostname, *looking._node_names(node, instances)}
        databases = looking.bundle.databases
        if databases is None or databases.api is None or looking.bundle.cloud is None:
            raise AssertionError("internal error: a fact is missing, although an earlier check found this fact")
        self.databases, self.api, self.cloud = databases, databases.api, looking.bundle.cloud
        self.agents = self._own_agents()
        self.ports = [port for port in self.cloud.ports or [] if port.binding_host_id in self.hosts]

    def adoption(self, old: Names, new: Names) -> Adoption:
        mappings = [row for row in self.api.host_mappings or [] if row.host in self.hosts]
        members = [row for row in self.api.aggregate_hosts or [] if row.host in self.hosts]
        # Of two that say the same, the row of the first name stays: it was there before.
        first = self.looking.names[0]
        self.mapping, surplus_mappings = _kept(
            mappings, lambda _row: 0, lambda row: (row.cell_uuid == self.cell.uuid, row.host == first)
        )
        self.members, surplus_members = _kept(members, lambda row: row.aggregate_id, lambda row: row.host == first)
        kept_agents, surplus_agents = _kept(self.agents, lambda row: row.binary, lambda row: row.host == first)
        self.kept_agents = {row.id: self._merged(row) for row in kept_agents}
        self.network_done = self._network_done(surplus_agents)
        request = dataclasses.replace(
            self.looking.request,
            rename_from=self.source.host,
            rename_to=self.goal.host,
            hypervisor_hostname=self.goal.hypervisor_hostname,
        )
        return Adoption(
            request=request,
            source=self.source,
            goal=self.goal,
            level=self._bundle(),
            found=self.bundle,
            host=self.host,
            cell=self.cell,
            node=self.node,
            service=self.service,
            second_service=self.second_service,
            second_node=self.second_node,
            surplus_mappings=tuple(surplus_mappings),
            surplus_members=tuple(surplus_members),
            mapping_missing=not mappings,
            surplus_agents=tuple(surplus_agents),
            identity_file=self.identity_file,
            network_done=self.network_done,
            # What has no entry at all has none to change: an option that is not set, a host without network agents.
            places=tuple(
                place
                for place in self._places(old, new, mappings, members)
                if place.names or place.place == "host_mappings"
            ),
        )

    # --- network --------------------------------------------------------------------------------------------------

    def _own_agents(self) -> t.List[ApiAgent]:
        return [row for row in self.cloud.agents or [] if row.host in self.hosts]

    def _merged(self, kept: ApiAgent) -> ApiAgent:
        """An agent that reports under either name is alive: it is the same program."""
        alive = any(row.alive for row in self.agents if row.binary == kept.binary)
        return dataclasses.replace(kept, host=self.source.host, alive=alive)

    def _network_done(self, surplus: t.Sequence[ApiAgent]) -> bool:
        """Whether agents and ports, and OVN's names, say the goal already: then a rename has nothing to do there."""
        if self.source.host == self.goal.host or surplus:
            return False
        said = {row.host for row in self.agents} | {port.binding_host_id for port in self.ports}
        return said == {self.goal.host} and not self._ovn_names(self.source.host)

    def _ovn_names(self, name: str) -> bool:
        """Whether OVN's databases or neutron's rows of OVN's ports say a name."""
        ovn = self.databases.ovn
        ports = (ovn.switch_ports if ovn else None) or []
        words = {word for port in ports for word in (port.requested or "").split(",")}
        words |= {port.host_id for port in ports if port.host_id}
        words |= {chassis.hostname for chassis in (ovn.chassis if ovn else None) or []}
        bindings = self.databases.neutron.bindings if self.databases.neutron else None
        if bindings is not None:
            words |= {row.host for row in bindings.bindings} | {row.host for row in bindings.levels}
        return name in words

    # --- the evidence ---------------------------------------------------------------------------------------------

    def _bundle(self) -> Bundle:
        cells = [self._cell(cell) if cell is self.cell else cell for cell in self.databases.cells or []]
        databases = dataclasses.replace(self.databases, cells=cells, api=self._api_db(), neutron=self._neutron_db())
        if self.network_done:
            databases = dataclasses.replace(databases, ovn=None)
        hosts = {**self.bundle.hosts, self.host.inventory_name: self._host()}
        return dataclasses.replace(self.bundle, hosts=hosts, databases=databases, cloud=self._cloud())

    def _cell(self, cell: CellFacts) -> CellFacts:
        source = self.source
        services = [
            dataclasses.replace(row, host=source.host) if row is self.service else row
            for row in cell.services or []
            if row is not self.second_service
        ]
        nodes = [
            dataclasses.replace(row, host=source.host, hypervisor_hostname=source.hypervisor_hostname)
            if row is self.node
            else row
            for row in cell.compute_nodes or []
            if row is not self.second_node
        ]
        instances = [
            dataclasses.replace(
                row,
                host=source.host,
                node=source.hypervisor_hostname,
                launched_on=source.host if row.launched_on in self.hosts else row.launched_on,
            )
            if row.id in self.instances
            else row
            for row in cell.instances or []
        ]
        return dataclasses.replace(
            cell, services=services, compute_nodes=nodes, instances=instances, name_rows=self._name_rows(cell)
        )

    def _name_rows(self, owner: t.Any) -> t.Dict[str, t.Any]:
        def levelled(value: t.Any) -> t.Any:
            return self.source.host if value in self.hosts else value

        return {
            table: [
                dataclasses.replace(row, values={key: levelled(value) for key, value in row.values.items()})
                for row in rows
            ]
            for table, rows in owner.name_rows.items()
        }

    def _api_db(self) -> t.Any:
        kept = {row.id for row in self.mapping}
        mappings = [
            dataclasses.replace(row, host=self.source.host) if row.id in kept else row
            for row in self.api.host_mappings or []
            if row.id in kept or row.host not in self.hosts
        ]
        if not self.mapping:
            mappings.append(HostMappingRow(MISSING, self.source.host, self.cell.uuid, self.cell.name))
        members_kept = {row.id for row in self.members}
        members = [
            dataclasses.replace(row, host=self.source.host) if row.id in members_kept else row
            for row in self.api.aggregate_hosts or []
            if row.id in members_kept or row.host not in self.hosts
        ]
        return dataclasses.replace(
            self.api, host_mappings=mappings, aggregate_hosts=members, name_rows=self._name_rows(self.api)
        )

    def _neutron_db(self) -> t.Any:
        neutron = self.databases.neutron
        if neutron is None or neutron.agents is None:
            return neutron
        agents = [
            dataclasses.replace(row, host=self.source.host) if row.id in self.kept_agents else row
            for row in neutron.agents
            if row.id in self.kept_agents or row.host not in self.hosts
        ]
        if self.network_done:
            return dataclasses.replace(neutron, agents=[], bindings=None)
        return dataclasses.replace(neutron, agents=agents)

    def _cloud(self) -> t.Any:
        source, cloud = self.source, self.cloud
        removed = {self.second_service.uuid} if self.second_service else set()
        nodes = {uuid_key(self.second_node.uuid or "")} if self.second_node else set()
        own = uuid_key(self.node.uuid or "")
        return dataclasses.replace(
            cloud,
            services=[self._api_service(row) for row in cloud.services or [] if row.id not in removed],
            hypervisors=None
            if cloud.hypervisors is None
            else [
                dataclasses.replace(
                    row,
                    hypervisor_hostname=source.hypervisor_hostname,
                    service_host=source.host,
                )
                if uuid_key(row.id) == own
                else row
                for row in cloud.hypervisors
                if uuid_key(row.id) not in nodes
            ],
            servers=None
            if cloud.servers is None
            else [
                dataclasses.replace(row, host=source.host, hypervisor_hostname=source.hypervisor_hostname)
                if row.id in self.guests
                else row
                for row in cloud.servers
            ],
            aggregates=None
            if cloud.aggregates is None
            else [
                dataclasses.replace(
                    row,
                    hosts=list(dict.fromkeys(source.host if name in self.hosts else name for name in row.hosts)),
                )
                for row in cloud.aggregates
            ],
            providers=[self._provider(row) for row in cloud.providers or [] if self._is_ours_or_other(row, nodes)],
            agents=[
                self.kept_agents.get(row.id, row)
                for row in cloud.agents or []
                if (row.id in self.kept_agents and not self.network_done) or row.host not in self.hosts
            ],
            ports=[self._port(row) for row in cloud.ports or [] if not self.network_done or row not in self.ports],
        )

    def _api_service(self, row: ApiService) -> ApiService:
        if row.id != self.service.uuid:
            return row
        # That it is down is why there is something to adopt.
        return dataclasses.replace(row, host=self.source.host, state="up")

    def _is_ours_or_other(self, row: ResourceProvider, removed: t.Container[str]) -> bool:
        return uuid_key(row.uuid) not in removed and uuid_key(row.root_provider_uuid or "") not in removed

    def _provider(self, row: ResourceProvider) -> ResourceProvider:
        own = uuid_key(self.node.uuid or "")
        if uuid_key(row.uuid) == own:
            return dataclasses.replace(row, name=self.source.hypervisor_hostname)
        if uuid_key(row.root_provider_uuid or "") == own:
            for name in sorted(self.nodes, key=len, reverse=True):
                if row.name.startswith(tuple(f"{name}{separator}" for separator in SEPARATORS)):
                    return dataclasses.replace(row, name=self.source.hypervisor_hostname + row.name[len(name) :])
        return row

    def _port(self, row: ApiPort) -> ApiPort:
        return dataclasses.replace(row, binding_host_id=self.source.host) if row in self.ports else row

    # --- the host -------------------------------------------------------------------------------------------------

    def _host(self) -> HostFacts:
        host, source = self.host, self.source
        conf = host.nova_conf
        if conf is None or host.libvirt is None:
            raise AssertionError("internal error: a fact is missing, although an earlier check found this fact")
        own = source.os if source.os is not None else host.kernel_hostname
        changes: t.Dict[str, t.Any] = {
            "kernel_hostname": own,
            "static_hostname": own
            if host.static_hostname is not None and source.os is not None
            else host.static_hostname,
            "libvirt": dataclasses.replace(host.libvirt, hostname=source.hypervisor_hostname),
            "units": [self._unit(unit) for unit in host.units] if host.units is not None else None,
            "neutron_host": source.host if host.neutron_host in self.hosts else host.neutron_host,
            "neutron_host_lines": [self._line(line) for line in host.neutron_host_lines],
            "ovs_external_ids": self._external_ids(),
            "compute_id_files": [self._file(entry) for entry in host.compute_id_files or []],
        }
        if conf.host is not None:
            lines = [self._line(line) for line in conf.host_lines]
            changes["nova_conf"] = dataclasses.replace(conf, host=source.host, host_lines=lines)
        return dataclasses.replace(host, **changes)

    def _unit(self, unit: t.Any) -> t.Any:
        """nova-compute refuses to start, and what was done about it: a start at the end is what this is for."""
        wanted = naming.units_named([unit], self.looking.request.compute_units)
        wanted += naming.units_named([unit], self.looking.request.agent_units)
        if not wanted or unit.load_state not in ("loaded", "masked"):
            return unit
        return dataclasses.replace(unit, load_state="loaded", active_state="active", sub_state="running", blocked=False)

    def _line(self, line: t.Any) -> t.Any:
        for name in sorted(self.hosts):
            try:
                text = naming.rename_in_option_line(line.text, name, self.source.host)
            except naming.NamesError:
                continue
            return dataclasses.replace(line, text=text)
        return line

    def _external_ids(self) -> t.Optional[t.Dict[str, str]]:
        ids = self.host.ovs_external_ids
        if ids is None:
            return None
        if self.network_done:
            # OVN has nothing to follow: what is left of the host's name there changes with the host itself.
            ids = {key: value for key, value in ids.items() if not key.startswith("ovn-")}
        table = naming.mapping(self.goal, self.source)
        own = {key: table.get(value, value) for key, value in ids.items() if key.startswith("hostname")}
        return {**ids, **own}

    def _file(self, entry: t.Any) -> t.Any:
        wrong = self.identity_file
        if wrong is None or entry.path != wrong.path:
            return entry
        return dataclasses.replace(entry, exists=True, uuid=wrong.after, error=None)

    # --- what the report shows ------------------------------------------------------------------------------------

    def _places(
        self, old: Names, new: Names, mappings: t.Sequence[HostMappingRow], members: t.Sequence[AggregateHostRow]
    ) -> t.Iterator[Place]:
        host, second = self.host, [row.host for row in (self.second_service,) if row is not None]
        own = self.looking.index.providers_by_uuid.get(uuid_key(self.node.uuid or ""))
        rows = [row for row in self.cell.instances or [] if row.id in self.instances]
        lines = [line.text.partition("=")[2].strip() for line in (host.nova_conf.host_lines if host.nova_conf else [])]
        by_host: t.List[t.Tuple[str, t.List[t.Optional[str]]]] = [
            ("[DEFAULT] host of nova.conf", list(lines)),
            ("services", [self.service.host, *second]),
            ("compute_nodes.host", [self.node.host, *([self.second_node.host] if self.second_node else [])]),
            ("instances.host", [row.host for row in rows]),
            ("host_mappings", [row.host for row in mappings]),
            ("aggregate_hosts", [row.host for row in members]),
            ("neutron agents", [row.host for row in self.agents]),
            ("neutron ports", [row.binding_host_id for row in self.ports]),
        ]
        by_node: t.List[t.Tuple[str, t.List[t.Optional[str]]]] = [
            ("libvirt", [host.libvirt.hostname if host.libvirt else None]),
            ("compute_nodes.hypervisor_hostname", [self.node.hypervisor_hostname]),
            ("instances.node", [row.node for row in rows]),
            ("placement", [own.name if own else None]),
        ]
        if old.os is not None:
            yield _place("the host's own name", [host.static_hostname, host.kernel_hostname], old.os, new.os)
        for place, said in by_host:
            yield _place(place, said, old.host, new.host)
        for place, said in by_node:
            yield _place(place, said, old.hypervisor_hostname, new.hypervisor_hostname)


#: The id of a host mapping that is to be made.
MISSING = 0


def _place(place: str, said: t.Sequence[t.Optional[str]], old: t.Optional[str], new: t.Optional[str]) -> Place:
    found = tuple(dict.fromkeys(name for name in said if name is not None))
    is_old, is_new = old in found, new in found
    if is_old and is_new:
        state = OLD if old == new else BOTH
    elif not found:
        state = MISSING_PLACE
    elif set(found) <= {old}:
        state = OLD
    elif set(found) <= {new}:
        state = NEW
    else:
        state = NEITHER
    return Place(place, state, found)


def _kept(
    rows: t.Sequence[_T], key: t.Callable[[_T], t.Any], better: t.Callable[[_T], t.Any]
) -> t.Tuple[t.List[_T], t.List[_T]]:
    """Return of each key the row that stays, the better one first, and the rows that say the same again."""
    kept: t.Dict[t.Any, _T] = {}
    for row in sorted(rows, key=better, reverse=True):
        kept.setdefault(key(row), row)
    stays = list(kept.values())
    return stays, [row for row in rows if not any(row is entry for entry in stays)]


def ovn_is_mixed(adoption: Adoption) -> bool:
    """Whether OVN's places say both names: the steps of a rename begin where all of them say the first."""
    agents = (adoption.found.cloud.agents if adoption.found.cloud else None) or []
    names = {adoption.source.host, adoption.goal.host}
    own = [row for row in agents if row.host in names and row.agent_type in OVN_AGENTS]
    if not own or adoption.network_done or adoption.source.host == adoption.goal.host:
        return False
    databases = adoption.found.databases
    ovn = databases.ovn if databases else None
    chassis = [row.hostname for row in (ovn.chassis if ovn else None) or []]
    hosts = [row.host for row in own] + [
        port.binding_host_id
        for port in (adoption.found.cloud.ports if adoption.found.cloud else None) or []
        if port.binding_host_id in names
    ]
    return adoption.goal.host in [*hosts, *chassis]


def needs_neutron_database(adoption: Adoption) -> bool:
    """Whether only neutron's database can put agents and ports right: without it, all must say one name."""
    if adoption.request.has_neutron_db or adoption.network_done or adoption.source.host == adoption.goal.host:
        return False
    cloud = adoption.found.cloud
    said: t.Set[t.Optional[str]] = {row.host for row in (cloud.agents if cloud else None) or []}
    said |= {port.binding_host_id for port in (cloud.ports if cloud else None) or []}
    return adoption.goal.host in said


def is_settled(adoption: Adoption) -> bool:
    """Whether every place says the goal's name, nova-compute runs under it, and nothing is there twice."""
    cloud = adoption.found.cloud
    up = any(row.id == adoption.service.uuid and row.state == "up" for row in (cloud.services if cloud else None) or [])
    twice = adoption.second_service or adoption.surplus_mappings or adoption.surplus_members or adoption.surplus_agents
    wrong = adoption.identity_file is not None or adoption.mapping_missing
    names = (adoption.goal.host, adoption.goal.hypervisor_hostname, adoption.goal.os)
    said = {name for place in adoption.places for name in place.names}
    return up and not twice and not wrong and all(name in names for name in said)
