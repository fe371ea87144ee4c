# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The few tables and columns this collection touches, and the grants that follow from them.

Light constructs, not Nova's models: only what is named here is ever named in a statement. Sources:
C(nova/db/main/models.py) and C(nova/db/api/models.py) of releases 26 to 34, C(neutron/db/models/agent.py).
"""

from __future__ import annotations

import functools
import typing as t

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

from ...name_places.catalogue import declared, written

CELL = "cell"
API = "api"
NEUTRON = "neutron"

_ALEMBIC = ("version_num",)

#: Kind of database to table to the columns that are read. What a release lacks is left out, see OPTIONAL.
COLUMNS: t.Dict[str, t.Dict[str, t.Tuple[str, ...]]] = {
    CELL: {
        "alembic_version": _ALEMBIC,
        "services": (
            "id",
            "uuid",
            "host",
            "binary",
            "version",
            "disabled",
            "disabled_reason",
            "forced_down",
            "last_seen_up",
            "deleted",
        ),
        "compute_nodes": (
            "id",
            "uuid",
            "host",
            "hypervisor_hostname",
            "service_id",
            "hypervisor_type",
            "host_ip",
            "deleted",
        ),
        "instances": (
            "id",
            "uuid",
            "display_name",
            "project_id",
            "host",
            "node",
            "launched_on",
            "compute_id",
            "vm_state",
            "task_state",
            "power_state",
            "availability_zone",
            "deleted",
        ),
        "migrations": (
            "id",
            "uuid",
            "migration_type",
            "status",
            "instance_uuid",
            "source_compute",
            "source_node",
            "dest_compute",
            "dest_node",
            "dest_compute_id",
            "deleted",
        ),
    },
    API: {
        "alembic_version": _ALEMBIC,
        "cell_mappings": ("id", "uuid", "name", "database_connection", "disabled"),
        "host_mappings": ("id", "cell_id", "host"),
        "aggregates": ("id", "uuid", "name"),
        "aggregate_hosts": ("id", "host", "aggregate_id"),
        "aggregate_metadata": ("id", "aggregate_id", "key", "value"),
    },
    NEUTRON: {
        "agents": ("id", "agent_type", "binary", "host", "heartbeat_timestamp"),
    },
}

#: The same of tables that a place of the host name declares: read row by row, beside what stands above.
DECLARED: t.Dict[str, t.Dict[str, t.Tuple[str, ...]]] = {
    kind: {name: table.reads for name, table in declared(kind).items()} for kind in (CELL, API)
}

#: Columns that only newer releases have: 28 and newer (alembic 1acf2c98e646).
OPTIONAL: t.FrozenSet[t.Tuple[str, str]] = frozenset({("instances", "compute_id"), ("migrations", "dest_compute_id")})

#: Columns by whose collation Nova's own lookups of a host or a node find their rows.
NAME_COLUMNS: t.Tuple[t.Tuple[str, str], ...] = (
    ("services", "host"),
    ("compute_nodes", "host"),
    ("compute_nodes", "hypervisor_hostname"),
    ("instances", "host"),
    ("migrations", "source_compute"),
)

#: What a rename in place writes. C(updated_at) is not touched: nothing of Nova's own happened to the row.
UPDATES: t.Dict[str, t.Dict[str, t.Tuple[str, ...]]] = {kind: written(kind) for kind in (CELL, API, NEUTRON)}

#: Read beside COLUMNS where links are looked at (hazards/links.py).
LINK_COLUMNS: t.Dict[str, t.Tuple[str, ...]] = {
    # Nova sets updated_at whenever it writes a row, a repair does not: it tells whose write a row bears.
    "compute_nodes": ("updated_at",),
    "instances": ("updated_at",),
    "migrations": ("updated_at",),
    "pci_devices": ("id", "compute_node_id", "address", "status", "instance_uuid", "deleted"),
}
#: What a repair of links writes, in a cell's database.
LINK_UPDATES: t.Dict[str, t.Tuple[str, ...]] = {
    "compute_nodes": ("service_id",),
    "instances": ("host", "node", "compute_id"),
    "migrations": ("dest_compute_id",),
}
#: Read and written beside COLUMNS where a live migration has arrived and its last write was lost (links/arrived). What
#: a server holds beside CPUs, memory and disk is in the first two.
ARRIVAL_COLUMNS: t.Dict[str, t.Tuple[str, ...]] = {
    "instance_extra": ("instance_uuid", "numa_topology", "pci_requests", "migration_context", "resources"),
    "block_device_mapping": ("instance_uuid", "destination_type", "deleted"),
    "pci_devices": ("id", "instance_uuid", "deleted"),
    "instances": ("updated_at", "progress"),
    "migrations": ("updated_at",),
}
ARRIVAL_UPDATES: t.Dict[str, t.Tuple[str, ...]] = {
    "instances": ("host", "node", "compute_id", "task_state", "progress"),
}
#: Where the rows are that a link of a table leads to. They are locked (shared) until the link is committed.
LINK_TARGETS: t.Dict[str, str] = {
    "compute_nodes": "services",
    "instances": "compute_nodes",
    "migrations": "compute_nodes",
}
#: The column of such a table whose UPDATE is the right to lock a row, to PostgreSQL. Nothing is written to it.
LOCKS: t.Dict[str, t.Tuple[str, ...]] = {"services": ("host",), "compute_nodes": ("service_id",)}

#: Read where zones are looked at, in the API database; only the spec is written, and of it only the zone (pin_db).
SPEC_COLUMNS: t.Dict[str, t.Tuple[str, ...]] = {"request_specs": ("id", "instance_uuid", "spec")}
SPEC_UPDATES: t.Dict[str, t.Tuple[str, ...]] = {"request_specs": ("spec",)}

#: Read of the API database where the RabbitMQ of each cell is looked for. A run does without: it says so then.
BROKER_COLUMNS: t.Dict[str, t.Tuple[str, ...]] = {"cell_mappings": ("uuid", "transport_url")}

#: What a rename of a host with OVN reads and writes in neutron's database.
OVN_COLUMNS: t.Dict[str, t.Tuple[str, ...]] = {
    "ml2_port_bindings": ("port_id", "host", "vnic_type", "vif_type", "profile", "status"),
    "ml2_port_binding_levels": ("port_id", "host", "level"),
    "segmenthostmappings": ("segment_id", "host"),
}

#: Migration statuses after which nothing more happens (C(nova/objects/migration.py), C(compute/manager.py)).
FINAL_STATUSES = ("confirmed", "reverted", "error", "failed", "completed", "cancelled")
#: An evacuation in one of these is still to be cleaned up by its source when that starts again
#: (C(compute/manager.py), C(_destroy_evacuated_instances)), even when its row is soft-deleted.
UNREAPED_STATUSES = ("accepted", "pre-migrating", "done")

#: Statuses after which the instance of a migration is on its destination.
ARRIVED_STATUSES = ("completed", "confirmed", "done")

#: Of a live migration that a start of nova-compute aborts (C(compute/manager.py), C(_reset_live_migration)).
RUNNING = "running"

CELL0_UUID = "00000000-0000-0000-0000-000000000000"


class Grantable(t.NamedTuple):
    """One right the database user needs: ``action`` is ``select`` or ``update``, on these columns of this table."""

    kind: str
    table: str
    columns: t.Tuple[str, ...]
    action: str


#: Every right a rename in place needs, derived from the tables above; docs/reference/grants.md spells them out.
GRANTS: t.Tuple[Grantable, ...] = tuple(
    [
        Grantable(kind, name, columns, "select")
        for found in (COLUMNS, DECLARED)
        for kind, tables in found.items()
        for name, columns in tables.items()
    ]
    + [Grantable(kind, name, columns, "update") for kind, tables in UPDATES.items() for name, columns in tables.items()]
)

#: Every right a repair of links needs beside those to read.
LINK_GRANTS: t.Tuple[Grantable, ...] = tuple(
    [Grantable(CELL, name, columns, "select") for name, columns in LINK_COLUMNS.items()]
    + [Grantable(CELL, name, columns, "update") for name, columns in {**LOCKS, **LINK_UPDATES}.items()]
)

#: Every right that the repair of an arrived server needs beside those to read.
ARRIVAL_GRANTS: t.Tuple[Grantable, ...] = tuple(
    [Grantable(CELL, name, columns, "select") for name, columns in ARRIVAL_COLUMNS.items()]
    + [Grantable(CELL, name, columns, "update") for name, columns in ARRIVAL_UPDATES.items()]
    # The lock on the destination's row.
    + [Grantable(CELL, "compute_nodes", LOCKS["compute_nodes"], "update")]
)

#: Every right that a rename of a host with OVN needs beside those of any rename.
OVN_GRANTS: t.Tuple[Grantable, ...] = tuple(
    right
    for name, columns in OVN_COLUMNS.items()
    for right in (Grantable(NEUTRON, name, columns, "select"), Grantable(NEUTRON, name, ("host",), "update"))
)

#: The right to find the RabbitMQ of each cell.
BROKER_GRANTS: t.Tuple[Grantable, ...] = tuple(
    Grantable(API, name, columns, "select") for name, columns in BROKER_COLUMNS.items()
)

#: Every right that pinning servers in the database needs.
SPEC_GRANTS: t.Tuple[Grantable, ...] = tuple(
    [Grantable(API, name, columns, "select") for name, columns in SPEC_COLUMNS.items()]
    + [Grantable(API, name, columns, "update") for name, columns in SPEC_UPDATES.items()]
)


def columns_of(kind: str, name: str) -> t.Tuple[str, ...]:
    """Return the columns that are read of a table; empty: it is none of ours."""
    return (*COLUMNS.get(kind, {}).get(name, ()), *DECLARED.get(kind, {}).get(name, ()))


@functools.cache
def table(kind: str, name: str) -> sa.TableClause:
    """Return a table of one kind of database with the columns named here. Raises KeyError for any other."""
    tables = {CELL: (LINK_COLUMNS, ARRIVAL_COLUMNS), API: (SPEC_COLUMNS, BROKER_COLUMNS)}.get(kind, ())
    more = [column for found in tables for column in found.get(name, ())]
    columns = dict.fromkeys((*columns_of(kind, name), *more))
    if not columns:
        raise KeyError(name)
    return sa.table(name, *[sa.column(column) for column in columns])


@functools.cache
def ovn_table(name: str) -> sa.TableClause:
    """Return a table of neutron's database that only a rename with OVN touches. Raises KeyError for any other."""
    return sa.table(name, *[sa.column(column) for column in OVN_COLUMNS[name]])


def exact(connection: sa.Connection, column: sa.ColumnElement[t.Any]) -> sa.ColumnElement[t.Any]:
    """Return a text column as it must stand in a comparison byte by byte, whatever the table's collation.

    An index cannot be used for it: compare the bare columns as well where one should be.
    """
    if connection.dialect.name == "mysql":
        return sa.cast(column, sa.LargeBinary)
    return sa.collate(column, "C")


def one_of(connection: sa.Connection, column: sa.ColumnElement[t.Any], keys: t.Iterable[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a column of numbers has one of these, of which there is at least one.

    They are one parameter: a thousand of them, as IN has them, take longer to prepare than the server takes to read the
    rows. The driver writes them, as PyMySQL does with any list (of numbers: text in a list would not be safe there).
    """
    given = [int(key) for key in keys]
    if connection.dialect.name == "mysql":
        return column.op("IN", is_comparison=True)(sa.bindparam(None, given, type_=sa.types.NullType()))
    return column == sa.any_(sa.bindparam(None, given, type_=sa.ARRAY(sa.BigInteger)))


def named(
    connection: sa.Connection, names: t.Sequence[str], *columns: sa.ColumnElement[t.Any]
) -> sa.ColumnElement[bool]:
    """Return the condition that any of the columns bears one of the names, or a case variant; no names: any row.

    MySQL's collation compares without case by itself (and can use the index only if left alone).
    """
    if not names:
        return sa.true()
    if connection.dialect.name == "mysql":
        return sa.or_(*[column.in_(list(names)) for column in columns])
    lowered = sorted({name.lower() for name in names})
    return sa.or_(*[sa.func.lower(column).in_(lowered) for column in columns])


def unfinished(connection: sa.Connection, names: t.Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition for migrations that may still do something to one of these hosts or nodes.

    Not final, or an evacuation that its source has still to clean up (deleted rows included).
    """
    c = table(CELL, "migrations").c
    touching = _touching(connection, names)
    # An enumeration to PostgreSQL, which does not compare it with text.
    evacuation = sa.cast(c.migration_type, sa.String(32)) == "evacuation"
    not_final = sa.and_(c.deleted == 0, sa.or_(c.status.is_(None), c.status.not_in(FINAL_STATUSES)))
    return sa.and_(touching, sa.or_(not_final, sa.and_(evacuation, c.status.in_(UNREAPED_STATUSES))))


def abortable(connection: sa.Connection, names: t.Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition for migrations by which the start of nova-compute aborts a live migration.

    Running, and that a row is soft-deleted keeps it from nothing (db/main/api.py, migration_get_by_instance_and_status,
    read_deleted "yes": 26 to 34 alike).
    """
    return sa.and_(_touching(connection, names), table(CELL, "migrations").c.status == RUNNING)


def took_away(connection: sa.Connection, names: t.Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition for migrations that ended elsewhere than where their instance is, by its row.

    The newest of each instance: Nova lost the last write of such a one, or an operator corrected the row.
    """
    c, i = table(CELL, "migrations").c, table(CELL, "instances").c
    later = table(CELL, "migrations").alias("later")
    # Not SELECT *, as a bare exists() has it: PostgreSQL asks for the right to every column then.
    at_home = (i.uuid == c.instance_uuid, i.deleted == 0, i.host == c.source_compute, i.host != c.dest_compute)
    instance = sa.select(i.id).where(*at_home).exists()
    after = (later.c.instance_uuid == c.instance_uuid, later.c.id > c.id, later.c.deleted == 0)
    newer = sa.select(later.c.id).where(*after).exists()
    ended = sa.and_(c.deleted == 0, c.status.in_(ARRIVED_STATUSES))
    return sa.and_(_touching(connection, names), ended, instance, sa.not_(newer))


def _touching(connection: sa.Connection, names: t.Sequence[str]) -> sa.ColumnElement[bool]:
    c = table(CELL, "migrations").c
    return named(connection, names, c.source_compute, c.dest_compute, c.source_node, c.dest_node)


def live_instances(
    connection: sa.Connection,
    hosts: t.Sequence[str],
    nodes: t.Sequence[str],
    uuids: t.Sequence[str] = (),
) -> sa.CompoundSelect[t.Any]:
    """Select the ids of existing instances of these hosts or nodes, and of instances of these uuids, deleted or not.

    A union, not an OR: the first and the last part follow an index. No index begins with the node; the second part
    reads the one on (host, node, deleted) from end to end, if it is kept from taking the one on C(deleted), which
    leads it through the whole table (C(deleted + 0)).
    """
    c = table(CELL, "instances").c
    parts = [
        *([sa.select(c.id).where(c.deleted == 0, named(connection, hosts, c.host))] if hosts else []),
        *([sa.select(c.id).where(c.deleted + 0 == 0, named(connection, nodes, c.node))] if nodes else []),
        *([sa.select(c.id).where(c.uuid.in_(list(uuids)))] if uuids else []),
    ]
    return sa.union(*parts)
