# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the API database that say a host's name twice, or that are missing: deleted and made, one transaction.

Only an adoption needs this. Each row to delete is guarded by what was read; each row to make is made once.
"""

from __future__ import annotations

import typing as t

from ...model.errors import Conflict
from ...model.plan import RowChange
from . import engine, rows, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

Row = t.Mapping[str, t.Any]


def delete_and_make(
    url: str,
    removed: t.Sequence[Row],
    added: t.Sequence[Row],
    before_commit: t.Callable[[], None] = lambda: None,
) -> t.Tuple[int, int]:
    """Delete rows of ``host_mappings`` and ``aggregate_hosts``, make others; return how many of each.

    A row has C(table), C(host), and C(cell) (a uuid) or C(aggregate_id); one to delete may have an C(id), one to make
    too. What is as wanted already stays. Raises :class:`Conflict` (nothing changed) where an id has another row, or
    where a name has a mapping to another cell; :class:`DatabaseError`.
    """
    deleted = made = 0
    with engine.transaction(url) as connection:
        for row in removed:
            deleted += _delete(connection, row)
        for row in added:
            made += _make(connection, row)
        before_commit()
    return deleted, made


def _delete(connection: sa.Connection, row: Row) -> int:
    source = schema.table(schema.API, row["table"])
    found = [entry for entry in _found(connection, source, row) if row.get("id") in (None, entry["id"])]
    if not found:
        return 0
    done = connection.execute(sa.delete(source).where(source.c.id == found[0]["id"], source.c.host == row["host"]))
    if len(found) != 1 or done.rowcount != 1:
        raise Conflict(f"{row['table']}: {len(found)} rows have the host {row['host']}, expected 1")
    return 1


def _make(connection: sa.Connection, row: Row) -> int:
    source = schema.table(schema.API, row["table"])
    if _found(connection, source, row):
        return 0
    values = {"host": row["host"], **_owner(connection, row), **({"id": row["id"]} if row.get("id") else {})}
    connection.execute(sa.insert(source).values(values))
    return 1


def _found(connection: sa.Connection, source: sa.TableClause, row: Row) -> t.List[t.Dict[str, t.Any]]:
    """Return the rows of the same name (and the same aggregate), locked."""
    owner = _owner(connection, row)
    (column,) = owner
    statement = sa.select(source.c.id, source.c.host, source.c[column]).where(source.c.host == row["host"])
    if column == "aggregate_id":
        statement = statement.where(source.c.aggregate_id == row["aggregate_id"])
    same = []
    for entry in connection.execute(statement.with_for_update()):
        if entry[1] != row["host"]:
            continue  # MySQL compares without case.
        if entry[2] != owner[column]:
            raise Conflict(f"{row['table']} id={entry[0]}: {row['host']} belongs to another cell")
        same.append({"id": entry[0]})
    return same


def _owner(connection: sa.Connection, row: Row) -> t.Dict[str, t.Any]:
    if row["table"] == "aggregate_hosts":
        return {"aggregate_id": row["aggregate_id"]}
    cells = schema.table(schema.API, "cell_mappings")
    number = connection.execute(sa.select(cells.c.id).where(cells.c.uuid == row["cell"])).scalar()
    if number is None:
        raise Conflict(f"cell_mappings has no cell {row['cell']}")
    return {"cell_id": number}


def still_there(url: str, changes: t.Sequence[RowChange]) -> t.List[RowChange]:
    """Return the changes whose rows exist and are not soft-deleted. Raises :class:`DatabaseError`."""
    if not changes:
        return []
    kind = changes[0].database.partition(":")[0]
    with engine.snapshot(url) as connection:
        compared = rows.compare(connection, kind, changes, lock=False)
    return [entry.change for entry in compared if entry.found is not None and not entry.found.get("deleted")]


def nodes_of_service(url: str, service_id: int, host: str) -> t.List[t.Tuple[int, str]]:
    """Return id and uuid of the existing nodes that Nova deletes with a service: by its id, and by its name."""
    nodes = schema.table(schema.CELL, "compute_nodes")
    with engine.snapshot(url) as connection:
        where = sa.or_(nodes.c.service_id == service_id, schema.named(connection, [host], nodes.c.host))
        statement = sa.select(nodes.c.id, nodes.c.uuid).where(nodes.c.deleted == 0, where)
        return [(int(row[0]), str(row[1])) for row in connection.execute(statement)]


def instances_of_node(url: str, node_id: t.Optional[int], host: str) -> int:
    """Return how many existing instances are on a node: by its id (None: before release 28), and by a host's name."""
    instances = schema.table(schema.CELL, "instances")
    with engine.snapshot(url) as connection:
        count = sa.select(sa.func.count()).select_from(instances)
        where = schema.named(connection, [host], instances.c.host)
        if node_id is not None:
            where = sa.or_(instances.c.compute_id == node_id, where)
        return int(connection.execute(count.where(instances.c.deleted == 0, where)).scalar() or 0)
