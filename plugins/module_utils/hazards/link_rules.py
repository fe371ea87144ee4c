# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which links are wrong, and for which of them it is certain what is right. Pure.

The rows N1-N7, I1-I7, M1 and P1 of the facts of nova, 2.2, are the codes SG201-SG207, SG211-SG217, SG221 and SG231.
The checks make findings of this, the plans make changes of it: both by the same word.

What is certain follows from names that lead to exactly one existing row (what nova-compute would write at its next
pass), or, where id and names contradict one another, from the host: the domain seen running there, the compute_id file
found there. Whatever is in flight, held by an operation, ambiguous, or contradicted by a host is left alone.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from ..model import releases
from ..model.facts import (
    Bundle,
    CellLinks,
    ComputeNodeRow,
    DeletedNode,
    HostFacts,
    LinkFacts,
    LinkInstance,
    LinkMigration,
    ServiceRow,
)
from ..model.findings import CATALOGUE
from ..model.lookups import (
    COMPUTE,
    FINISHED,
    OURS,
    file_uuid,
    same_name,
    same_uuid,
    uuid_key,
)
from ..model.names import conf_host

NODES = "compute_nodes"
INSTANCES = "instances"
MIGRATIONS = "migrations"

BY_NODE = ("SG201", "SG202", "SG203", "SG204", "SG205", "SG206")
BY_INSTANCE = ("SG211", "SG212", "SG213", "SG214", "SG215", "SG216", "SG217")
CODES = (*BY_NODE, "SG207", *BY_INSTANCE, "SG221", "SG231")
#: Codes of which at least some can be repaired.
REPAIRABLE = tuple(code for code, entry in CATALOGUE.items() if entry.repairable)
#: Codes that look at columns of release 28.
SINCE_28 = tuple(code for code, entry in CATALOGUE.items() if entry.since_28)

IRONIC = "ironic"
SHELVED = "shelved_offloaded"
#: Without a host in one of these, an instance rightly has no node: shelved, or its build failed.
WITHOUT_HOST = (SHELVED, "error")
#: libvirt's states in which QEMU has the disks.
RUNNING = ("running", "paused", "blocked", "pmsuspended", "shutdown")


@dataclasses.dataclass(frozen=True)
class WrongLink:
    """A link with a wrong target. ``seen``: the facts that prove it."""

    __slots__ = ("cell", "code", "row", "seen")

    code: str
    cell: CellLinks
    row: t.Any
    seen: t.Optional[t.Dict[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Premise:
    """A row that must still be what it was when a link is set to lead to it."""

    table: str
    key: int
    values: t.Tuple[t.Tuple[str, t.Any], ...]

    def __hash__(self) -> int:
        # A million repairs are put into sets by it; what the row holds need not be gone through each time.
        return hash((self.table, self.key))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is certain: ``after`` to be written and why, or None and why not. ``busy``: it may be in order."""

    after: t.Optional[t.Dict[str, t.Any]]
    why: str
    premise: t.Optional[Premise] = None
    busy: bool = False


def uncertain(why: str) -> Verdict:
    """Nothing is to be written."""
    return Verdict(None, why)


def in_flight(row: t.Any) -> t.Optional[str]:
    """Say what is in progress on an instance; None: nothing."""
    if row.task_state is not None:
        return f"task {row.task_state} is in progress"
    return "a migration of the instance is in progress" if row.moving else None


class Links:
    """The links of a bundle, indexed, and what the hosts of the bundle bear witness to."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.facts: t.Optional[LinkFacts] = bundle.links
        self.cells: t.List[CellLinks] = list((bundle.links.cells if bundle.links else None) or [])
        self._scope = {name.casefold() for name in (bundle.links.scope if bundle.links else [])}

    def in_scope(self, *names: t.Optional[str]) -> bool:
        """Whether one of these names was asked for."""
        return not self._scope or any(name is not None and name.casefold() in self._scope for name in names)

    # --- services and nodes

    @functools.cached_property
    def services(self) -> t.Dict[t.Tuple[int, int], ServiceRow]:
        """Existing services of any binary, by cell and id."""
        return {(id(cell), row.id): row for cell in self.cells for row in cell.services or []}

    @functools.cached_property
    def compute_services(self) -> t.Dict[t.Tuple[int, t.Optional[str]], t.List[ServiceRow]]:
        """Existing nova-compute services, by cell and host."""
        found: t.Dict[t.Tuple[int, t.Optional[str]], t.List[ServiceRow]] = collections.defaultdict(list)
        for cell in self.cells:
            for row in cell.services or []:
                if row.binary == COMPUTE:
                    found[id(cell), row.host].append(row)
        return found

    @functools.cached_property
    def nodes(self) -> t.Dict[t.Tuple[int, int], ComputeNodeRow]:
        """Existing compute nodes, by cell and id."""
        return {(id(cell), row.id): row for cell in self.cells for row in cell.compute_nodes or []}

    @functools.cached_property
    def nodes_by_names(self) -> t.Dict[t.Tuple[int, t.Optional[str], t.Optional[str]], t.List[ComputeNodeRow]]:
        """Existing compute nodes, by cell, host and hypervisor host name."""
        found: t.Dict[t.Tuple[int, t.Optional[str], t.Optional[str]], t.List[ComputeNodeRow]] = collections.defaultdict(
            list
        )
        for cell in self.cells:
            for row in cell.compute_nodes or []:
                found[id(cell), row.host, row.hypervisor_hostname].append(row)
        return found

    def node_of(self, cell: CellLinks, host: t.Optional[str], node: t.Optional[str]) -> t.Optional[ComputeNodeRow]:
        """Return the one existing node of these names in a cell."""
        found = self.nodes_by_names.get((id(cell), host, node), [])
        return found[0] if len(found) == 1 else None

    @functools.cached_property
    def ironic_nodes(self) -> t.Set[t.Tuple[int, t.Optional[str]]]:
        """Cell and name of live ironic nodes."""
        return {
            (id(cell), row.hypervisor_hostname)
            for cell in self.cells
            for row in cell.compute_nodes or []
            if row.hypervisor_type == IRONIC
        }

    @functools.cached_property
    def groups(self) -> t.Dict[t.Tuple[int, int], t.List[t.Tuple[str, t.List[t.Tuple[CellLinks, ComputeNodeRow]]]]]:
        """For each node (by cell and id) that shares a name it should have alone: which name, and with whom."""
        found: t.Dict[t.Tuple[str, str], t.List[t.Tuple[CellLinks, ComputeNodeRow]]] = collections.defaultdict(list)
        for cell in self.cells:
            for row in cell.compute_nodes or []:
                if row.hypervisor_type == IRONIC:
                    continue  # one service has many
                for what, name in (("host", row.host), ("hypervisor_hostname", row.hypervisor_hostname)):
                    if name is not None:
                        found[what, name].append((cell, row))
        result: t.Dict[t.Tuple[int, int], t.List[t.Tuple[str, t.List[t.Tuple[CellLinks, ComputeNodeRow]]]]] = (
            collections.defaultdict(list)
        )
        for (what, _name), members in found.items():
            if len(members) > 1:
                for cell, row in members:
                    result[id(cell), row.id].append((what, members))
        return result

    @staticmethod
    def release(cell: CellLinks) -> t.Optional[releases.Releases]:
        """Return the releases whose schema a cell has; None: unknown."""
        return releases.of_main_revision(cell.revision)

    def writable(self, cell: CellLinks) -> t.Optional[str]:
        """Say why nothing may be written in a cell; None: it may."""
        if self.release(cell) is None:
            return (
                f"the schema revision {cell.revision} of cell {cell.name} is unknown, so the collection reads this "
                "cell, but changes nothing in it (SG705)"
            )
        if cell.services is None or cell.compute_nodes is None:
            return f"services and compute nodes of cell {cell.name} were not read"
        unread = [other.name for other in self.cells if other.compute_nodes is None]
        if unread or self.facts is None or self.facts.cells is None:
            return f"compute nodes of {', '.join(unread) or 'every cell'} were not read, so duplicates may exist"
        return None

    # --- witnesses

    @functools.cached_property
    def _suspects(self) -> t.Dict[str, t.List[t.Tuple[HostFacts, str]]]:
        """For each instance whose link looks wrong, by uuid: the hosts it was seen on, and its state there."""
        found: t.Dict[str, t.List[t.Tuple[HostFacts, str]]] = {
            uuid_key(row.uuid): [] for cell in self.cells for rows in cell.instances.values() for row in rows
        }
        # A cloud has a million domains, and nearly all of them are of nobody who is looked for.
        for host in self.bundle.hosts.values() if found else ():
            for domain in host.domains or []:
                places = found.get(uuid_key(domain.uuid))
                if places is not None:
                    places.append((host, domain.state))
        return found

    def seen_on(self, uuid: str) -> t.List[t.Tuple[HostFacts, str]]:
        """Return the hosts that a domain was seen on, and its state there."""
        places = self._suspects.get(uuid_key(uuid))
        if places is not None:
            return places
        return [
            (host, domain.state)
            for host in self.bundle.hosts.values()
            for domain in host.domains or []
            if same_uuid(domain.uuid, uuid)
        ]

    def running_on(self, uuid: str) -> t.List[HostFacts]:
        """Return the hosts on which a domain was seen running."""
        return [host for host, state in self.seen_on(uuid) if state in RUNNING]

    @functools.cached_property
    def hosts_by_name(self) -> t.Dict[t.Optional[str], t.List[HostFacts]]:
        """Hosts that were read, by CONF.host."""
        found: t.Dict[t.Optional[str], t.List[HostFacts]] = collections.defaultdict(list)
        for host in self.bundle.hosts.values():
            found[conf_host(host)].append(host)
        return found

    def witness(self, node: ComputeNodeRow) -> t.Optional[HostFacts]:
        """Return the one host that was read and bears the names of a node, and no other identity than the node's."""
        found = [
            host
            for host in self.hosts_by_name.get(node.host, [])
            if host.libvirt is not None and host.libvirt.hostname == node.hypervisor_hostname
        ]
        if len(found) != 1:
            return None
        uuid = file_uuid(found[0])
        return found[0] if uuid is None or same_uuid(uuid, node.uuid) else None

    @functools.cached_property
    def hosts_by_file(self) -> t.Dict[str, t.List[HostFacts]]:
        """Hosts that were read, by the uuid in their compute_id file."""
        found: t.Dict[str, t.List[HostFacts]] = collections.defaultdict(list)
        for host in self.bundle.hosts.values():
            uuid = file_uuid(host)
            if uuid is not None:
                found[uuid_key(uuid)].append(host)
        return found

    # --- what is wrong

    def wrong(self) -> t.Iterator[WrongLink]:
        """Yield every wrong link in scope, in flight or not."""
        for cell in self.cells:
            yield from self._wrong_nodes(cell)
            for node in cell.deleted_nodes or []:
                yield WrongLink("SG207", cell, node, None)
            for code in BY_INSTANCE:
                for row in cell.instances.get(code, []):
                    if not (code == "SG216" and (id(cell), row.node) in self.ironic_nodes):
                        yield WrongLink(code, cell, row, None)
            for migration in cell.migrations or []:
                if not self._led_to_another_cell(cell, migration):
                    yield WrongLink("SG221", cell, migration, None)
            for device in cell.pci_devices or []:
                yield WrongLink("SG231", cell, device, None)

    def _led_to_another_cell(self, cell: CellLinks, row: LinkMigration) -> bool:
        """A cross-cell resize is recorded in both cells; the id is of the destination's."""
        if self.node_of(cell, row.dest_compute, row.dest_node) is not None:
            return False
        found = [self.node_of(other, row.dest_compute, row.dest_node) for other in self.cells if other is not cell]
        return any(node is not None and node.id == row.dest_compute_id for node in found)

    def _wrong_nodes(self, cell: CellLinks) -> t.Iterator[WrongLink]:
        for row in cell.compute_nodes or []:
            if not self.in_scope(row.host, row.hypervisor_hostname):
                continue
            if cell.services is not None:
                yield from self._wrong_service(cell, row)
            if self.groups.get((id(cell), row.id)):
                yield WrongLink("SG205", cell, row, self._group_seen(cell, row))
            for seen in self._broken_identity(row):
                yield WrongLink("SG206", cell, row, seen)

    def _wrong_service(self, cell: CellLinks, row: ComputeNodeRow) -> t.Iterator[WrongLink]:
        """SG201 to SG204. Host names are compared byte by byte: Nova tells C(Compute1) from C(compute1)."""
        linked = None if row.service_id is None else self.services.get((id(cell), row.service_id))
        if row.service_id is None:
            if self.since_28(cell):
                yield WrongLink("SG201", cell, row, None)
        elif linked is None:
            yield WrongLink("SG202", cell, row, None)
        elif linked.host != row.host or linked.binary != COMPUTE:
            yield WrongLink("SG203", cell, row, {"service_id names": f"{linked.binary} of {linked.host}"})
        if not self.compute_services.get((id(cell), row.host)):
            alike = sorted(
                {str(host) for key, host in self.compute_services if key == id(cell) and same_name(host, row.host)}
            )
            yield WrongLink("SG204", cell, row, {"similar service names": alike} if alike else None)

    def since_28(self, cell: CellLinks) -> bool:
        """Whether Nova of this cell writes service_id and compute_id."""
        known = self.release(cell)
        return min(known) >= 28 if known else cell.has_compute_id

    def _group_seen(self, cell: CellLinks, row: ComputeNodeRow) -> t.Dict[str, t.Any]:
        return {
            f"also of this {what}": [
                {"cell": other.name, "uuid": node.uuid, "host": node.host, "node": node.hypervisor_hostname}
                for other, node in members
                if node is not row
            ]
            for what, members in self.groups[id(cell), row.id]
        }

    def _broken_identity(self, row: ComputeNodeRow) -> t.Iterator[t.Dict[str, t.Any]]:
        """No uuid, another one in the host's file, or no provider of that uuid and name; one finding a node."""
        seen: t.Dict[str, t.Any] = {}
        if row.uuid is None:
            seen["uuid"] = None
        else:
            files = {file_uuid(host) for host in self.hosts_by_name.get(row.host, [])} - {None}
            if row.hypervisor_type != IRONIC and files and not any(same_uuid(uuid, row.uuid) for uuid in files):
                seen["compute_id file of the host"] = sorted(str(uuid) for uuid in files)
            seen.update(self._provider(row))
        if seen:
            yield seen

    def _provider(self, row: ComputeNodeRow) -> t.Dict[str, t.Any]:
        if self.providers is None or not self._provider_read(row):
            return {}
        name = self.providers.get(uuid_key(str(row.uuid)))
        if name is None:
            return {"resource provider": None}
        return {} if name == row.hypervisor_hostname else {"resource provider's name": name}

    def _provider_read(self, row: ComputeNodeRow) -> bool:
        scope = self.bundle.cloud.scope if self.bundle.cloud else []
        return not scope or any(same_name(row.host, name) or same_name(row.hypervisor_hostname, name) for name in scope)

    @functools.cached_property
    def providers(self) -> t.Optional[t.Dict[str, str]]:
        """Names of resource providers by uuid; None: unread."""
        if self.bundle.cloud is None or self.bundle.cloud.providers is None:
            return None
        return {uuid_key(row.uuid): row.name for row in self.bundle.cloud.providers}

    # --- what is certain

    def verdict(self, wrong: WrongLink) -> Verdict:
        """Say what is certain about a wrong link."""
        judge = self._judges.get(wrong.code)
        if isinstance(wrong.row, LinkInstance):
            flight = in_flight(wrong.row)
            if flight:
                return Verdict(None, flight, busy=True)
        if judge is None:
            return uncertain("the collection does not know which value would repair this link")
        refused = self._writable[id(wrong.cell)]
        return uncertain(refused) if refused else judge(wrong)

    @functools.cached_property
    def _judges(self) -> t.Dict[str, t.Callable[[WrongLink], Verdict]]:
        return {
            "SG201": self._service_by_name,
            "SG202": self._service_by_name,
            "SG203": self._service_by_file,
            "SG211": self._node_by_names,
            "SG212": self._node_by_names,
            "SG213": self._node_by_names,
            "SG214": self._node_by_domain,
            "SG215": self._no_host,
            "SG221": self._destination,
        }

    @functools.cached_property
    def _writable(self) -> t.Dict[int, t.Optional[str]]:
        """What :meth:`writable` says of each cell."""
        return {id(cell): self.writable(cell) for cell in self.cells}

    def _held(self, cell: CellLinks, host: t.Optional[str]) -> t.Optional[Verdict]:
        for service in self.compute_services.get((id(cell), host), []):
            if (service.disabled_reason or "").startswith(OURS):
                return uncertain(
                    f"operation {service.disabled_reason} has disabled the service of {host}: end the operation first"
                )
        return None

    def _shared(self, cell: CellLinks, node: ComputeNodeRow) -> t.Optional[Verdict]:
        if self.groups.get((id(cell), node.id)):
            return uncertain("another compute node has the same name (SG205): repair SG205 first")
        return None

    def _service_by_name(self, wrong: WrongLink) -> Verdict:
        cell, row = wrong.cell, wrong.row
        found = self.compute_services.get((id(cell), row.host), [])
        if len(found) != 1:
            return uncertain(f"{row.host} has {len(found)} existing nova-compute services")
        refused = self._held(cell, row.host) or self._shared(cell, row) or self._file_contradicts(row)
        if refused:
            return refused
        why = f"service {found[0].id} is the only existing nova-compute service of {row.host}"
        return Verdict({"service_id": found[0].id}, why, _service_premise(found[0]))

    @functools.cached_property
    def _hosts_asked(self) -> bool:
        """Whether compute hosts were to be read. Without any, names decide, as they do for nova-compute."""
        return bool(self.bundle.hosts or self.bundle.unreachable)

    def _file_contradicts(self, row: ComputeNodeRow) -> t.Optional[Verdict]:
        """A compute_id file of another host, another uuid in the file of this one, or a file that was not read."""
        if not self._hosts_asked:
            return None
        named = self.hosts_by_name.get(row.host, [])
        holders = self.hosts_by_file.get(uuid_key(row.uuid), []) if row.uuid else []
        strangers = sorted(host.inventory_name for host in holders if conf_host(host) != row.host)
        if strangers:
            return uncertain(f"the node's uuid is in the compute_id file of {', '.join(strangers)}, not of {row.host}")
        if not any(host.compute_id_files is not None for host in named):
            return uncertain(f"the run did not read the compute_id files of {row.host}, which could contradict")
        if any(uuid is not None and not same_uuid(uuid, row.uuid) for uuid in map(file_uuid, named)):
            return uncertain(f"the compute_id file of {row.host} has another uuid than the compute node")
        return None

    def _unwitnessed(self, cell: CellLinks, host: t.Optional[str], node: t.Optional[str]) -> t.Optional[Verdict]:
        """The host of a node was to be read, and its domains were not."""
        key = (id(cell), host, node)
        if key not in self._unread_witnesses:
            row = self.node_of(cell, host, node) if self._hosts_asked else None
            witness = self.witness(row) if row is not None else None
            unread = row is not None and (witness is None or witness.domains is None)
            self._unread_witnesses[key] = uncertain(self._no_witness(host)) if unread else None
        return self._unread_witnesses[key]

    @functools.cached_property
    def _unread_witnesses(self) -> t.Dict[t.Tuple[int, t.Optional[str], t.Optional[str]], t.Optional[Verdict]]:
        """What :meth:`_unwitnessed` said."""
        return {}

    @staticmethod
    def _no_witness(host: t.Optional[str]) -> str:
        return (
            f"either the run did not read the domains of {host}, or libvirt on {host} reports a name that differs from "
            "the compute node's name"
        )

    def _service_by_file(self, wrong: WrongLink) -> Verdict:
        """The link names another's service: whose the node is, its uuid in a compute_id file decides."""
        row = wrong.row
        holders = self.hosts_by_file.get(uuid_key(row.uuid), []) if row.uuid else []
        if len(holders) != 1:
            return uncertain(
                f"the run does not know which host the node belongs to, because {len(holders)} hosts have the node's "
                "uuid in their compute_id files"
            )
        host = holders[0]
        own = conf_host(host)
        if own is None:
            name = host.inventory_name
            return uncertain(
                f"the node's uuid is in the compute_id file of {name}, but the run does not know the name of {name} in "
                "Nova, because the run did not read nova.conf on this host"
            )
        if own != row.host:
            return uncertain(f"the node's uuid is in the compute_id file of {own}, not of {row.host}")
        if host.libvirt is None or host.libvirt.hostname != row.hypervisor_hostname:
            return uncertain(f"libvirt of {row.host} does not report the name {row.hypervisor_hostname}")
        verdict = self._service_by_name(wrong)
        proof = f", and the compute_id file of {host.inventory_name} contains the uuid of the compute node"
        return dataclasses.replace(verdict, why=verdict.why + proof) if verdict.after else verdict

    def _node_by_names(self, wrong: WrongLink) -> Verdict:
        cell, row = wrong.cell, wrong.row
        if row.host is None:
            return self._no_host(wrong)
        if row.vm_state == SHELVED:
            return uncertain(
                "the instance is offloaded but still has a host (SG217): find out first whether the instance's domain "
                "is still on that host"
            )
        key = (id(cell), row.host, row.node)
        verdict = self._by_names.get(key)
        if verdict is None:
            verdict = self._by_names[key] = self._names_alone(cell, row)
        return (verdict.after and self._is_contradicted(wrong)) or verdict

    def _is_contradicted(self, wrong: WrongLink) -> t.Optional[Verdict]:
        cell, row = wrong.cell, wrong.row
        node = self.node_of(cell, row.host, row.node)
        refused = self._runs_elsewhere(row.uuid, node) or self._unwitnessed(cell, row.host, row.node)
        if refused or row.compute_id is None:
            return refused
        # The deleted node that the id leads to: its host may still have the domain.
        deleted = self._deleted_nodes.get((id(cell), row.compute_id))
        if deleted is None or deleted.host == row.host or not self._may_have_domains(deleted.host):
            return None
        return uncertain(f"the run did not read the domains of {deleted.host}, to which compute_id led")

    @functools.cached_property
    def _deleted_nodes(self) -> t.Dict[t.Tuple[int, int], DeletedNode]:
        return {(id(cell), row.id): row for cell in self.cells for row in cell.deleted_nodes or []}

    def _may_have_domains(self, host: t.Optional[str]) -> bool:
        """Whether a host was to be read and was not, or still has a compute service."""
        if any(facts.domains is not None for facts in self.hosts_by_name.get(host, [])) or not self._hosts_asked:
            return False
        return host in self.bundle.unreachable or any(name == host for _cell, name in self.compute_services)

    @functools.cached_property
    def _by_names(self) -> t.Dict[t.Tuple[int, t.Optional[str], t.Optional[str]], Verdict]:
        """What :meth:`_names_alone` said: the instances of one node have one answer."""
        return {}

    def _names_alone(self, cell: CellLinks, row: LinkInstance) -> Verdict:
        node = self.node_of(cell, row.host, row.node)
        if node is None:
            return uncertain("no existing compute node has the instance's host and node names (SG216)")
        refused = self._held(cell, row.host) or self._shared(cell, node)
        if refused:
            return refused
        why = f"node {node.id} is the only existing node with host {row.host} and hypervisor_hostname {row.node}"
        return Verdict({"compute_id": node.id}, why, _node_premise(node))

    def _runs_elsewhere(self, uuid: str, node: t.Optional[ComputeNodeRow]) -> t.Optional[Verdict]:
        """A domain seen running on another host than the node's contradicts the names (SG108)."""
        places = self.running_on(uuid) if self.bundle.hosts else []
        others = [host for host in places if node is None or host is not self.witness(node)]
        if others:
            return uncertain(
                f"the instance's domain runs on {', '.join(host.inventory_name for host in others)} (SG108)"
            )
        return None

    def _node_by_domain(self, wrong: WrongLink) -> Verdict:
        """Id and names name two existing nodes: the one where the domain runs is right, if both hosts were read."""
        cell, row = wrong.cell, wrong.row
        linked = self.nodes.get((id(cell), row.compute_id))
        named = self.node_of(cell, row.host, row.node)
        if linked is None or named is None:
            return uncertain("no existing compute node has the instance's host and node names (SG216)")
        for node in (linked, named):
            refused = self._held(cell, node.host) or self._shared(cell, node)
            if refused:
                return refused
            witness = self.witness(node)
            if witness is None or witness.domains is None:
                return uncertain(f"the run does not know which host has the instance: {self._no_witness(node.host)}")
        places = self.running_on(row.uuid)
        if len(places) != 1:
            return uncertain(
                "the run does not know which host has the instance, because the instance's domain runs on "
                f"{len(places)} hosts"
            )
        return self._by_place(row, linked, named, places[0])

    def _by_place(self, row: LinkInstance, linked: ComputeNodeRow, named: ComputeNodeRow, place: HostFacts) -> Verdict:
        seen = f"the instance's domain runs on {place.inventory_name}"
        if place is self.witness(named):
            why = f"{seen}, not on {linked.host}: the host and node names are correct, and compute_id is wrong"
            return Verdict({"compute_id": named.id}, why, _node_premise(named))
        if place is self.witness(linked):
            why = f"{seen}, not on {named.host}: compute_id is correct, and the host and node names are wrong"
            after = {"host": linked.host, "node": linked.hypervisor_hostname}
            return Verdict(after, why, _node_premise(linked))
        return uncertain(
            f"the instance's domain runs on {place.inventory_name}, but neither the instance's compute_id nor "
            "the instance's host and node names point to the host with this domain"
        )

    def _no_host(self, wrong: WrongLink) -> Verdict:
        row = wrong.row
        if row.vm_state not in WITHOUT_HOST:
            return uncertain(f"the instance has no host, but is {row.vm_state}")
        places = [host.inventory_name for host, _state in self.seen_on(row.uuid)]
        if places:
            return uncertain(f"the instance has no host, but its domain is on {', '.join(places)}")
        unread = self._unread_traces(wrong.cell, row)
        if unread:
            return uncertain(
                f"the run did not read the domains of {', '.join(unread)}, which may have the domain of the instance"
            )
        after = {"node": None, "compute_id": None} if wrong.cell.has_compute_id else {"node": None}
        return Verdict(
            after, f"the instance is {row.vm_state} and has no host, so the instance belongs to no compute node"
        )

    def _unread_traces(self, cell: CellLinks, row: LinkInstance) -> t.List[str]:
        """Hosts whose domains were not read, of those that the node or the id leads to: the last trace of a domain."""
        led = [
            node for node in cell.compute_nodes or [] if row.node is not None and node.hypervisor_hostname == row.node
        ]
        if row.compute_id is not None:
            led += [node for node in (self.nodes.get((id(cell), row.compute_id)),) if node is not None]
        unread = [str(node.host) for node in led if not self._has_domains(self.witness(node))]
        gone = self._deleted_nodes.get((id(cell), row.compute_id or 0))
        names = {row.node if not led else None, gone.host if gone else None} - {None}
        unread += sorted(str(name) for name in names if not any(map(self._has_domains, self._hosts_called(name))))
        if (
            not led
            and not names
            and not (self.bundle.hosts and all(map(self._has_domains, self.bundle.hosts.values())))
        ):
            unread.append("all compute hosts")
        return list(dict.fromkeys(unread))

    @staticmethod
    def _has_domains(host: t.Optional[HostFacts]) -> bool:
        return host is not None and host.domains is not None

    def _hosts_called(self, name: t.Optional[str]) -> t.List[HostFacts]:
        """Hosts that were read and have a name, in Nova or in libvirt."""
        return [
            host
            for host in self.bundle.hosts.values()
            if name in (conf_host(host), host.libvirt.hostname if host.libvirt else None)
        ]

    def _destination(self, wrong: WrongLink) -> Verdict:
        cell, row = wrong.cell, wrong.row
        if row.status != FINISHED:
            return uncertain(f"the migration is in progress ({row.status})")
        if row.task_state is not None:
            return uncertain(f"task {row.task_state} of the migration's instance is in progress")
        node = self.node_of(cell, row.dest_compute, row.dest_node)
        if node is None:
            return uncertain("the migration's destination is not an existing compute node of this cell")
        refused = self._held(cell, row.dest_compute) or self._shared(cell, node)
        refused = refused or self._unwitnessed(cell, row.dest_compute, row.dest_node)
        if refused:
            return refused
        why = (
            f"node {node.id} is the only existing node with host {row.dest_compute} and hypervisor_hostname "
            f"{row.dest_node}"
        )
        return Verdict({"dest_compute_id": node.id}, why, _node_premise(node))


def _service_premise(row: ServiceRow) -> Premise:
    values = (("uuid", row.uuid), ("host", row.host), ("binary", row.binary), ("deleted", 0))
    return Premise("services", row.id, values)


def _node_premise(row: ComputeNodeRow) -> Premise:
    values = (
        ("uuid", row.uuid),
        ("host", row.host),
        ("hypervisor_hostname", row.hypervisor_hostname),
        ("deleted", 0),
    )
    return Premise(NODES, row.id, values)
