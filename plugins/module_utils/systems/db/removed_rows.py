# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the API database that no API removes once the compute service of their host is gone.

Nova removes a host's mapping and its memberships with the service; without the service it answers 404 (compute/api.py,
remove_host_from_aggregate; 26 to 34). Both tables have no soft deletion. Each row is locked, compared byte by byte with
what was read, and deleted by its key.
"""

from __future__ import annotations

import typing as t

from ...model.errors import Conflict
from . import engine, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: The tables, and the columns that are compared.
COLUMNS: t.Mapping[str, t.Tuple[str, ...]] = {"host_mappings": ("host",), "aggregate_hosts": ("host", "aggregate_id")}

Row = t.Mapping[str, t.Any]


def delete_rows(url: str, rows: t.Sequence[Row], before_commit: t.Callable[[], None] = lambda: None) -> int:
    """Delete rows of the API database, all or none; return how many there still were.

    ``rows``: each with C(table), C(id), and C(values): what it holds by column. Raises :class:`Conflict` where one
    holds something else, DatabaseError; ValueError for a table or a column that this collection never deletes.
    """
    deleted = 0
    with engine.transaction(url) as connection:
        for row in sorted(rows, key=lambda item: (str(item["table"]), item["id"])):
            columns = COLUMNS.get(str(row["table"]))
            if columns is None or set(row["values"]) != set(columns):
                raise ValueError(f"the collection must not delete a row of {row['table']} by {sorted(row['values'])}")
            deleted += _delete(connection, row, columns)
        before_commit()
    return deleted


def _delete(connection: sa.Connection, row: Row, columns: t.Sequence[str]) -> int:
    source = schema.table(schema.API, str(row["table"]))
    wanted = sa.select(*[source.c[name] for name in columns]).where(source.c.id == row["id"]).with_for_update()
    found = connection.execute(wanted).all()
    if not found:
        return 0
    now = dict(zip(columns, found[0]))
    if now != dict(row["values"]):
        raise Conflict(f"{row['table']} id={row['id']} holds {now}, expected {dict(row['values'])}")
    guards = [source.c[name] == value for name, value in row["values"].items()]
    result = connection.execute(sa.delete(source).where(source.c.id == row["id"], *guards))
    if result.rowcount != 1:
        raise Conflict(f"{row['table']}: {result.rowcount} rows would be deleted instead of 1")
    return 1
