# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rows of neutron's database by which OVN's ports go by the name of their host: read, and moved to another name.

Neutron writes the name of C(ml2_port_bindings) into the northbound database at each update of a port. The rows of a
name are moved together, in one transaction: a name belongs to one host, so nothing else can have it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.errors import Conflict
from ...model.ovn import (
    NeutronBindings,
    OvnBindingRow,
    OvnLevelRow,
    OvnSegmentRow,
)
from . import engine, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Of a binding that a live migration has made for its destination (neutron_lib, constants).
INACTIVE = "INACTIVE"
#: Keys in one statement.
CHUNK = 1000
#: Each table, and the column that tells its rows of one host apart.
TABLES = {"ml2_port_bindings": "port_id", "ml2_port_binding_levels": "port_id", "segmenthostmappings": "segment_id"}

#: Table and key of a row.
Key = t.Tuple[str, str]


@dataclasses.dataclass(frozen=True)
class MovedRows:
    """Rows moved now, those that had the name already, and keys that were in no plan, or are gone."""

    changed: int
    already: int
    unplanned: t.List[str]
    gone: t.List[str]


def read_bindings(connection: sa.Connection, hosts: t.Sequence[str]) -> NeutronBindings:
    """Return the rows of these hosts, case variants included."""

    def rows(name: str) -> t.List[t.Tuple[t.Any, ...]]:
        source = schema.ovn_table(name)
        statement = sa.select(*source.c).where(schema.named(connection, hosts, source.c.host))
        return sorted((tuple(row) for row in connection.execute(statement)), key=lambda row: tuple(map(str, row)))

    return NeutronBindings(
        bindings=[OvnBindingRow(*row) for row in rows("ml2_port_bindings")],
        levels=[OvnLevelRow(row[0], row[1], int(row[2])) for row in rows("ml2_port_binding_levels")],
        segments=[OvnSegmentRow(*row) for row in rows("segmenthostmappings")],
    )


def read_inactive(connection: sa.Connection, _hosts: t.Sequence[str]) -> t.Dict[str, t.List[str]]:
    """Return the hosts for which ports have a binding that is inactive, by port: those of moves, or what they left."""
    c = schema.ovn_table("ml2_port_bindings").c
    found: t.Dict[str, t.List[str]] = {}
    statement = sa.select(c.port_id, c.host).where(c.status == INACTIVE).order_by(c.port_id, c.host)
    for port, host in connection.execute(statement):
        found.setdefault(str(port), []).append(str(host))
    return found


def move_bindings(
    url: str,
    before: str,
    after: str,
    planned: t.Collection[Key],
    before_commit: t.Callable[[], None] = lambda: None,
) -> MovedRows:
    """Give every row of one name the other one, in one transaction.

    ``planned``: what was read of the host. A row that is not in it is moved as well, since the name is the host's
    alone, and is told of; one that is gone was deleted or moved elsewhere by its owner. Raises :class:`Conflict`
    (nothing changed) where a row of both names exists, or another transaction is in the way; :class:`DatabaseError`.
    """
    found: t.Dict[Key, t.Set[str]] = {}
    changed = 0
    with engine.transaction(url) as connection:
        moving = {name: _rows_of(connection, name, before, after, found) for name in TABLES}
        both = sorted(f"{table} {key}" for (table, key), names in found.items() if len(names) > 1)
        if both:
            raise Conflict(
                (f"these rows exist both for {before} and for {after}: {', '.join(both[:5])}"), count=len(both)
            )
        for name, rows in moving.items():
            changed += _move(connection, name, before, after, rows)
        before_commit()
    already = sum(1 for names in found.values() if names == {after})
    return MovedRows(
        changed,
        already,
        sorted(f"{table} {key}" for table, key in set(found) - set(planned)),
        sorted(f"{table} {key}" for table, key in set(planned) - set(found)),
    )


def _rows_of(
    connection: sa.Connection, name: str, before: str, after: str, found: t.Dict[Key, t.Set[str]]
) -> t.Dict[str, int]:
    """Lock the rows of both names, and return how many rows of the first one each key has."""
    source = schema.ovn_table(name)
    key = source.c[TABLES[name]]
    statement = sa.select(key, source.c.host).where(schema.named(connection, [before, after], source.c.host))
    moving: t.Dict[str, int] = {}
    for identity, host in connection.execute(statement.order_by(key).with_for_update()):
        # The database's own comparison does not tell compute1 from COMPUTE1.
        if host not in (before, after):
            raise Conflict(f"{name} {identity}: host is {host!r}, expected {before!r} or {after!r}")
        found.setdefault((name, str(identity)), set()).add(host)
        if host == before:
            moving[str(identity)] = moving.get(str(identity), 0) + 1
    return moving


def _move(connection: sa.Connection, name: str, before: str, after: str, moving: t.Mapping[str, int]) -> int:
    source = schema.ovn_table(name)
    keys = sorted(moving)
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        statement = sa.update(source).where(source.c[TABLES[name]].in_(chunk), source.c.host == before)
        done = connection.execute(statement.values(host=after)).rowcount
        expected = sum(moving[key] for key in chunk)
        if done != expected:
            raise Conflict(f"{name}: {done} rows would change instead of {expected}", expected=expected, found=done)
    return sum(moving.values())
