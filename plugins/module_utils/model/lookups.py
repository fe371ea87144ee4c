# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What several checks look up: rows by host, uuid or instance, found once for the whole bundle. Pure.

Nothing here decides. Everything is indexed once, so that a check over ten thousand hosts stays linear. Names are
compared as Nova compares them, byte by byte; :func:`same_name` is how MySQL compares them, without case.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from . import releases
from .facts import (
    ApiMigration,
    ApiService,
    Bundle,
    CellFacts,
    ComputeIdFile,
    ComputeNodeRow,
    Domain,
    HostFacts,
    InstanceRow,
    MigrationRow,
    ResourceProvider,
    ServiceRow,
)
from .findings import Checked, Finding, Subject, Unchecked
from .names import conf_host
from .stored_names import equal, found_as, name_key

COMPUTE = "nova-compute"
#: disabled_reason of a host that an operation of this collection holds begins with it.
OURS = "stackguard:"
EVACUATION = "evacuation"
#: Statuses after which nothing more happens (nova/objects/migration.py, nova/compute/manager.py; 26 to 34).
FINAL = ("confirmed", "reverted", "error", "failed", "completed", "cancelled")
#: An evacuation that its source still has to clean up when it starts (manager.py, _destroy_evacuated_instances).
UNREAPED = ("accepted", "pre-migrating", "done")
#: A resize or cold migration that waits for confirmation.
FINISHED = "finished"

_Row = t.TypeVar("_Row")


@dataclasses.dataclass(frozen=True)
class ComputeNode:
    """An existing compute node, from a cell database or, without one, from the API."""

    uuid: t.Optional[str]
    host: t.Optional[str]
    hypervisor_hostname: t.Optional[str]
    hypervisor_type: t.Optional[str]
    #: ``cell NAME`` or ``compute API``, for people.
    source: str
    #: Whether the API showed it, and no database.
    of_api: bool = False

    @property
    def subject(self) -> Subject:
        """How a finding names it."""
        return Subject("compute_node", str(self.uuid), self.hypervisor_hostname, self.host)


def same_name(one: t.Optional[str], other: t.Optional[str]) -> bool:
    """Whether two names are one to MySQL's usual collation (facts of nova, 2.2: names compare without case)."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def same_uuid(one: t.Optional[str], other: t.Optional[str]) -> bool:
    """Whether two uuids are one, whatever their form (virt/node.py parses with uuid.UUID)."""
    return one is not None and other is not None and uuid_key(one) == uuid_key(other)


def uuid_key(value: str) -> str:
    """Return a uuid in the form that it is compared in: hexadecimal digits only."""
    return value.strip().lower().replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")


def uuid_files(facts: HostFacts, read_by_nova: bool = True) -> t.List[ComputeIdFile]:
    """Return the compute_id files that exist, those that nova-compute would read or all."""
    files = facts.compute_id_files or []
    return [entry for entry in files if entry.exists and (entry.read_by_nova or not read_by_nova)]


def file_uuid(facts: HostFacts) -> t.Optional[str]:
    """Return the one uuid of the compute_id files that nova-compute would read; None: none, or they disagree."""
    found = {uuid_key(entry.uuid): entry.uuid for entry in uuid_files(facts) if entry.uuid}
    return next(iter(found.values())) if len(found) == 1 else None


def open_evacuation(row: MigrationRow) -> bool:
    """Whether its source would clean up after it, soft-deleted or not (manager.py, _destroy_evacuated_instances)."""
    return row.migration_type == EVACUATION and row.status in UNREAPED


def in_progress(row: MigrationRow) -> bool:
    """Whether a migration is under way: neither ended nor waiting for confirmation."""
    return not row.deleted and row.status not in (*FINAL, FINISHED, "done")


def unfinished(row: MigrationRow) -> bool:
    """Whether something is still to happen to it: under way, to be confirmed, or to be reaped."""
    return in_progress(row) or open_evacuation(row) or (not row.deleted and row.status == FINISHED)


def touches(row: MigrationRow, host: str) -> bool:
    """Whether a migration goes from or to a host."""
    return same_name(row.source_compute, host) or same_name(row.dest_compute, host)


def row_of(record: ApiMigration) -> MigrationRow:
    """Return what the API shows of a migration as a row: it shows none that is soft-deleted."""
    return MigrationRow(
        record.id,
        record.uuid,
        record.migration_type,
        record.status,
        record.instance_uuid,
        record.source_compute,
        record.source_node,
        record.dest_compute,
        record.dest_node,
        None,
        0,
    )


def migration_subject(row: MigrationRow) -> Subject:
    """How a finding names a migration."""
    return Subject("migration", row.uuid or str(row.id), row.instance_uuid, row.source_compute)


def instance_subject(row: InstanceRow) -> Subject:
    """How a finding names an instance."""
    return Subject("instance", row.uuid, row.display_name, row.host)


def host_subject(facts: HostFacts) -> Subject:
    """How a finding names a host: by its inventory name, with what it calls itself."""
    return Subject("host", facts.inventory_name, host=conf_host(facts) or facts.kernel_hostname)


def domain_subject(domain: Domain, facts: HostFacts) -> Subject:
    """How a finding names a domain."""
    return Subject("domain", domain.uuid, domain.nova_name or domain.name, conf_host(facts) or facts.inventory_name)


def migration_evidence(row: MigrationRow, place: str) -> t.Dict[str, t.Any]:
    """What a finding shows of a migration."""
    return {
        "read from": place,
        "type": row.migration_type,
        "status": row.status,
        "instance": row.instance_uuid,
        "source": row.source_compute,
        "destination": row.dest_compute,
    }


def gather(parts: t.Iterable[t.Union[Finding, Unchecked]]) -> Checked:
    """Put findings and undecided codes, as rules yield them, into one outcome."""
    items = list(parts)
    return Checked(
        tuple(item for item in items if isinstance(item, Finding)),
        tuple(item for item in items if isinstance(item, Unchecked)),
    )


#: What a rule yields.
Item = t.Union[Finding, Unchecked]
Items = t.Iterator[Item]


def _by(rows: t.Iterable[_Row], key: t.Callable[[_Row], t.Any]) -> t.Dict[t.Any, t.List[_Row]]:
    result: t.Dict[t.Any, t.List[_Row]] = collections.defaultdict(list)
    for row in rows:
        result[key(row)].append(row)
    return result


class InstanceRows(t.Mapping[t.Any, t.List[t.Tuple[CellFacts, InstanceRow]]]):
    """Rows of instances by something of theirs, each with its cell. The pairs are made when they are asked for.

    There may be a million rows: most of what they are found by here has one, which is kept without a list.
    """

    def __init__(
        self, cells: t.Iterable[CellFacts], key: t.Callable[[InstanceRow], t.Any], with_deleted: bool = True
    ) -> None:
        self._cells: t.List[t.Tuple[CellFacts, t.Dict[t.Any, t.Union[InstanceRow, t.List[InstanceRow]]]]] = []
        for cell in cells:
            found: t.Dict[t.Any, t.Union[InstanceRow, t.List[InstanceRow]]] = {}
            for row in cell.instances or []:
                if row.deleted and not with_deleted:
                    continue
                before = found.setdefault(key(row), row)
                if before is row:
                    continue
                if isinstance(before, list):
                    before.append(row)
                else:
                    found[key(row)] = [before, row]
            self._cells.append((cell, found))
        self._first = self._cells[0] if len(self._cells) == 1 else None

    def __getitem__(self, key: t.Any) -> t.List[t.Tuple[CellFacts, InstanceRow]]:
        result: t.List[t.Tuple[CellFacts, InstanceRow]] = []
        for cell, found in self._cells:
            rows = found.get(key)
            if isinstance(rows, list):
                result += [(cell, row) for row in rows]
            elif rows is not None:
                result.append((cell, rows))
        if not result:
            raise KeyError(key)
        return result

    def get(self, key: t.Any, default: t.Any = None) -> t.Any:
        """Return its rows, as any mapping does: most that is looked for is one row of the only cell."""
        if self._first is not None:
            cell, found = self._first
            rows = found.get(key)
            if rows is None:
                return default
            return [(cell, row) for row in rows] if isinstance(rows, list) else [(cell, rows)]
        try:
            return self[key]
        except KeyError:
            return default

    def __iter__(self) -> t.Iterator[t.Any]:
        if self._first is not None:
            return iter(self._first[1])
        return iter(dict.fromkeys(key for _cell, found in self._cells for key in found))

    def __len__(self) -> int:
        return sum(1 for _key in self)


class _Live(t.Collection[t.Tuple[CellFacts, InstanceRow]]):
    """Existing instances, each with its cell."""

    def __init__(self, cells: t.Sequence[CellFacts]) -> None:
        self._all = cells

    def __iter__(self) -> t.Iterator[t.Tuple[CellFacts, InstanceRow]]:
        return ((cell, row) for cell in self._all for row in cell.instances or [] if not row.deleted)

    def __len__(self) -> int:
        return sum(1 for _pair in self)

    def __contains__(self, item: object) -> bool:
        return any(item == pair for pair in self)


class Index:
    """A bundle, with its rows indexed. What is unread is None or an empty list, as each property says."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self._cells_read: t.Dict[str, bool] = {}

    # --- what was read

    @functools.cached_property
    def cells(self) -> t.Optional[t.List[CellFacts]]:
        """The cells, or None where they were not read."""
        return self.bundle.databases.cells if self.bundle.databases else None

    def cells_read(self, table: str) -> bool:
        """Whether a table was read in every cell."""
        if table not in self._cells_read:
            self._cells_read[table] = self._read_in_every_cell(table)
        return self._cells_read[table]

    def _read_in_every_cell(self, table: str) -> bool:
        cells = self.cells
        unread = {entry.part for entry in (self.bundle.databases.unread if self.bundle.databases else [])}
        return bool(cells) and "cells" not in unread and all(getattr(cell, table) is not None for cell in cells or [])

    def in_scope(self, *names: t.Optional[str]) -> bool:
        """Whether the cells' rows of one of these hosts were asked for."""
        return any(
            not cell.scope or any(same_name(name, entry) for entry in cell.scope for name in names)
            for cell in self.cells or []
        )

    @property
    def narrowed(self) -> bool:
        """Whether the cells were read for some hosts only."""
        return any(cell.scope for cell in self.cells or [])

    def in_api_scope(self, name: t.Optional[str]) -> bool:
        """Whether what the APIs say of this host was asked for."""
        scope = self.bundle.cloud.scope if self.bundle.cloud else []
        return not scope or any(same_name(name, entry) for entry in scope)

    # --- services and nodes

    @functools.cached_property
    def services(self) -> t.List[t.Tuple[CellFacts, ServiceRow]]:
        """Existing nova-compute services of all cells."""
        return [
            (cell, row)
            for cell in self.cells or []
            for row in cell.services or []
            if not row.deleted and row.binary == COMPUTE
        ]

    @functools.cached_property
    def services_by_host(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ServiceRow]]]:
        """Existing nova-compute services by host."""
        return _by(self.services, lambda item: item[1].host)

    @functools.cached_property
    def services_by_id(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ServiceRow]]]:
        """Existing nova-compute services by their cell's uuid and their id, which another cell may use too."""
        return _by(self.services, lambda item: (item[0].uuid, item[1].id))

    @functools.cached_property
    def node_rows(self) -> t.List[t.Tuple[CellFacts, ComputeNodeRow]]:
        """Existing compute nodes of all cells."""
        return [(cell, row) for cell in self.cells or [] for row in cell.compute_nodes or [] if not row.deleted]

    @functools.cached_property
    def node_rows_by_host(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ComputeNodeRow]]]:
        """Existing compute nodes by host."""
        return _by(self.node_rows, lambda item: item[1].host)

    @functools.cached_property
    def services_by_name(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ServiceRow]]]:
        """Existing nova-compute services by :func:`name_key` of their host."""
        return _by((item for item in self.services if item[1].host), lambda item: name_key(str(item[1].host)))

    @functools.cached_property
    def node_rows_by_name(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ComputeNodeRow]]]:
        """Existing compute nodes by :func:`name_key` of their host."""
        return _by((item for item in self.node_rows if item[1].host), lambda item: name_key(str(item[1].host)))

    @functools.cached_property
    def node_rows_by_uuid(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, ComputeNodeRow]]]:
        """Existing compute nodes of the databases by uuid key."""
        return _by((item for item in self.node_rows if item[1].uuid), lambda item: uuid_key(str(item[1].uuid)))

    @functools.cached_property
    def deleted_node_uuids(self) -> t.Set[str]:
        """Uuids of soft-deleted compute nodes."""
        rows = (row for cell in self.cells or [] for row in cell.compute_nodes or [])
        return {uuid_key(row.uuid) for row in rows if row.deleted and row.uuid}

    @functools.cached_property
    def nodes(self) -> t.Optional[t.List[ComputeNode]]:
        """Existing compute nodes: of the databases where all were read, else of the API; None: of neither.

        The API hides nodes without a service or a mapping (facts of nova, 0.6): absence there proves nothing.
        """
        if self.cells_read("compute_nodes"):
            return [
                ComputeNode(row.uuid, row.host, row.hypervisor_hostname, row.hypervisor_type, f"cell {cell.name}")
                for cell, row in self.node_rows
            ]
        cloud = self.bundle.cloud
        if cloud is None or cloud.hypervisors is None:
            return None
        return [
            ComputeNode(row.id, row.service_host, row.hypervisor_hostname, row.hypervisor_type, "compute API", True)
            for row in cloud.hypervisors
        ]

    @functools.cached_property
    def nodes_by_host(self) -> t.Dict[t.Any, t.List[ComputeNode]]:
        """Existing compute nodes by host."""
        return _by(self.nodes or [], lambda node: node.host)

    @functools.cached_property
    def nodes_by_uuid(self) -> t.Dict[t.Any, t.List[ComputeNode]]:
        """Existing compute nodes by uuid key."""
        return _by(self.nodes or [], lambda node: uuid_key(node.uuid) if node.uuid else None)

    def node_of(self, facts: HostFacts) -> t.Optional[ComputeNode]:
        """Return a host's node: by the uuid of its compute_id file, as Nova does since 27, else by its name."""
        uuid = file_uuid(facts)
        found = self.nodes_by_uuid.get(uuid_key(uuid), []) if uuid else []
        if not found:
            found = self.nodes_by_host.get(conf_host(facts), [])
        return found[0] if len(found) == 1 else None

    @functools.cached_property
    def api_services(self) -> t.Optional[t.List[ApiService]]:
        """Compute services of the API; None: unread."""
        return self.bundle.cloud.services if self.bundle.cloud else None

    @functools.cached_property
    def api_services_by_host(self) -> t.Dict[t.Any, t.List[ApiService]]:
        """Compute services of the API by host."""
        return _by(self.api_services or [], lambda row: row.host)

    @functools.cached_property
    def compute_hosts(self) -> t.Set[str]:
        """Names of hosts with an existing compute service, of the databases and the API."""
        names = {row.host for _cell, row in self.services}
        names |= {row.host for row in self.api_services or [] if row.binary == COMPUTE}
        return {name for name in names if name is not None}

    # --- instances and migrations

    @functools.cached_property
    def instances(self) -> t.Collection[t.Tuple[CellFacts, InstanceRow]]:
        """Existing instances of all cells."""
        return _Live(self.cells or [])

    @functools.cached_property
    def instances_by_host(self) -> InstanceRows:
        """Existing instances by host."""
        return InstanceRows(self.cells or [], lambda row: row.host, with_deleted=False)

    @functools.cached_property
    def instances_by_compute_id(self) -> InstanceRows:
        """Existing instances by the id of their node, which another cell may use too."""
        return InstanceRows(self.cells or [], lambda row: row.compute_id, with_deleted=False)

    @functools.cached_property
    def instance_rows_by_uuid(self) -> InstanceRows:
        """All instance rows, soft-deleted ones too, by uuid."""
        return InstanceRows(self.cells or [], lambda row: row.uuid)

    @functools.cached_property
    def migrations(self) -> t.List[t.Tuple[str, MigrationRow]]:
        """Migrations that something is still to happen to, with where they were read; each once.

        The databases know soft-deleted ones too; the API speaks where a cell's were not read.
        """
        rows = [(f"cell {cell.name}", row) for cell in self.cells or [] for row in cell.migrations or []]
        known = {row.uuid for _place, row in rows}
        rows += [("compute API", row) for row in self._api_migrations() if row.uuid is None or row.uuid not in known]
        return [(place, row) for place, row in rows if unfinished(row)]

    def _api_migrations(self) -> t.List[MigrationRow]:
        if self.cells_read("migrations") or self.bundle.cloud is None:
            return []
        return [row_of(row) for row in self.bundle.cloud.migrations or []]

    @property
    def migrations_read(self) -> bool:
        """Whether unfinished migrations were read, from every cell or from the API."""
        return self.cells_read("migrations") or bool(self.bundle.cloud and self.bundle.cloud.migrations is not None)

    @functools.cached_property
    def migrations_by_instance(self) -> t.Dict[t.Any, t.List[MigrationRow]]:
        """Unfinished migrations by instance uuid."""
        return _by((row for _place, row in self.migrations), lambda row: row.instance_uuid)

    @functools.cached_property
    def last_migrations(self) -> t.Dict[t.Optional[str], t.Tuple[str, MigrationRow]]:
        """The newest migration of each instance, of those that were read, with where: one that has ended, too."""
        rows = [(f"cell {cell.name}", row) for cell in self.cells or [] for row in cell.migrations or []]
        rows += [("compute API", row) for row in self._api_migrations()]
        return {row.instance_uuid: (place, row) for place, row in sorted(rows, key=lambda item: item[1].id)}

    @functools.cached_property
    def abortable(self) -> t.Set[t.Optional[str]]:
        """Instances whose live migration a start of nova-compute aborts: by a running record, soft-deleted or not."""
        rows = [row for cell in self.cells or [] for row in cell.migrations or []]
        rows += self._api_migrations()
        return {row.instance_uuid for row in rows if row.status == "running"}

    @functools.cached_property
    def evacuations_by_instance(self) -> t.Dict[t.Any, t.List[t.Tuple[CellFacts, MigrationRow]]]:
        """Evacuations that their source would clean up after, of the cells' databases, by instance uuid."""
        rows = [(cell, row) for cell in self.cells or [] for row in cell.migrations or [] if open_evacuation(row)]
        return _by(rows, lambda item: item[1].instance_uuid)

    def evacuated_from(self, place: str, row: MigrationRow, host: str) -> t.Optional[bool]:
        """Whether the database that a migration was read from finds it by a source host; None: not known.

        ``place``: as in :attr:`migrations`. The API does not say how its database compares.
        """
        cell = next((cell for cell in self.cells or [] if place == f"cell {cell.name}"), None)
        if cell is not None:
            return found_as(cell, "migrations.source_compute", row.source_compute, host)
        return None if row.source_compute is None else equal(None, None, row.source_compute, host)

    @functools.cached_property
    def migrations_by_host(self) -> t.Dict[str, t.List[t.Tuple[str, MigrationRow]]]:
        """Unfinished migrations by :func:`name_key` of the hosts they touch."""
        result: t.Dict[str, t.List[t.Tuple[str, MigrationRow]]] = collections.defaultdict(list)
        for place, row in self.migrations:
            for name in {name_key(name) for name in (row.source_compute, row.dest_compute) if name}:
                result[name].append((place, row))
        return result

    def moving(self, instance_uuid: str, host: t.Optional[str]) -> bool:
        """Whether a migration under way or to be confirmed, from or to this host, explains where an instance is."""
        rows = self.migrations_by_instance.get(instance_uuid, [])
        return any(
            (in_progress(row) or row.status == FINISHED) and host is not None and touches(row, host) for row in rows
        )

    @functools.cached_property
    def server_hosts(self) -> t.Dict[str, t.Optional[str]]:
        """The host of each server that the API lists; None: it is on none."""
        return {server.id: server.host for server in (self.bundle.cloud.servers if self.bundle.cloud else None) or []}

    # --- placement

    @functools.cached_property
    def providers(self) -> t.Optional[t.List[ResourceProvider]]:
        """Resource providers; None: unread."""
        return self.bundle.cloud.providers if self.bundle.cloud else None

    @functools.cached_property
    def providers_by_uuid(self) -> t.Dict[str, ResourceProvider]:
        """Resource providers by uuid key."""
        return {uuid_key(row.uuid): row for row in self.providers or []}

    @functools.cached_property
    def providers_by_name(self) -> t.Dict[t.Any, t.List[ResourceProvider]]:
        """Resource providers by name."""
        return _by(self.providers or [], lambda row: row.name)

    @functools.cached_property
    def children(self) -> t.Dict[t.Any, t.List[ResourceProvider]]:
        """Resource providers below a root, by the root's uuid key."""
        below = [row for row in self.providers or [] if row.root_provider_uuid and row.root_provider_uuid != row.uuid]
        return _by(below, lambda row: uuid_key(str(row.root_provider_uuid)))

    # --- releases

    def host_releases(self, facts: HostFacts) -> t.Optional[releases.Releases]:
        """Return what release nova-compute of this host may be; None: nothing known says so."""
        package = releases.of_package(facts.nova_version)
        if package is not None:
            return (package,)
        host = conf_host(facts)
        for _cell, service in self.services_by_host.get(host, []):
            known = releases.of_service_version(service.version)
            if known:
                return known
        return None
