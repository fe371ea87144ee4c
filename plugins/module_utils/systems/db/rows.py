# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guarded changes of database rows: compare and swap, in one transaction, all or nothing.

The rows are locked and read by key, compared in Python byte for byte (the database's own comparison does not tell
``compute1`` from ``COMPUTE1``), and only then changed, many rows with one statement. A row that is neither as it was
read nor as it shall be is a :class:`Conflict`, and nothing is changed at all.

Only the tables and columns that C(systems/db/schema.py) names can be changed, whatever a plan or a journal says.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.errors import Conflict
from ...model.plan import RowChange
from ...name_places.catalogue import in_database
from ...name_places.place import NameTable
from . import engine, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Keys in one statement.
CHUNK = 1000
#: Rows in one statement that gives each its own value, which the server looks up row by row.
EACH = 100
#: Up to so many kinds of change have a statement each.
KINDS = 4
#: Rows that a conflict lists; it always says how many there are.
LISTED = 20

BEFORE = "before"
AFTER = "after"
GONE = "gone"
MIXED = "mixed"
CONFLICT = "conflict"


@dataclasses.dataclass(frozen=True)
class Completeness:
    """What must not exist beside the planned rows: anything else that bears the old names.

    In a cell: live nova-compute services, compute nodes and instances of ``host`` or ``node``, and migrations that are
    not finished (but for ``known_migrations``, ids that the preflight saw and passed, and for evacuations of the
    instances ``elsewhere`` that have arrived). In the API database: host mappings and aggregate memberships of
    ``host``. In both: what else a place of the host name declares.
    """

    host: str
    node: t.Optional[str] = None
    known_migrations: t.Tuple[int, ...] = ()
    elsewhere: t.Tuple[str, ...] = ()

    @property
    def names(self) -> t.List[str]:
        """Both names, once each."""
        return sorted({name for name in (self.host, self.node) if name})


@dataclasses.dataclass(frozen=True)
class WrittenRows:
    """Rows changed now, rows that were as wanted already, and labels of rows deleted meanwhile (instances only)."""

    changed: int
    already: int
    gone: t.List[str] = dataclasses.field(default_factory=list)


class _Compared(t.NamedTuple):
    change: RowChange
    #: before, after, gone, or conflict.
    state: str
    found: t.Optional[t.Dict[str, t.Any]]


# --- changing -------------------------------------------------------------------------------------------------


def apply_row_changes(
    url: str,
    changes: t.Sequence[RowChange],
    complete: t.Optional[Completeness] = None,
    before_commit: t.Callable[[], None] = lambda: None,
) -> WrittenRows:
    """Change rows of one database from ``before`` to ``after``; rows already at ``after`` stay.

    ``before_commit``: the last word, while the rows are locked. What it raises rolls everything back.

    Raises :class:`Conflict` (nothing changed) where a row is neither, where ``complete`` finds a row that is not
    planned, where the new name is taken, or where another transaction holds a row for too long;
    :class:`DatabaseError` where the database fails (C(unknown_outcome): only while committing);
    ValueError for a change that this collection never makes.
    """
    kind = _kind(changes)
    with engine.transaction(url) as connection:
        compared = _compare(connection, kind, changes, lock=True)
        _refuse_conflicts(compared)
        if complete is not None:
            _refuse_strangers(connection, kind, changes, complete)
        moving = [entry.change for entry in compared if entry.state == BEFORE]
        _update(connection, kind, moving)
        before_commit()
    gone = [entry.change.label for entry in compared if entry.state == GONE]
    return WrittenRows(len(moving), len(compared) - len(moving) - len(gone), gone)


def rows_state(url: str, changes: t.Sequence[RowChange]) -> str:
    """Say where all rows stand: ``before``, ``after``, ``mixed`` (some of each) or ``conflict`` (any is neither).

    Rows deleted meanwhile do not count; where nothing else is left, there is nothing to do: ``after``.
    Raises :class:`DatabaseError`; ValueError as :func:`apply_row_changes`.
    """
    kind = _kind(changes)
    with engine.snapshot(url) as connection:
        states = {entry.state for entry in _compare(connection, kind, changes, lock=False)} - {GONE}
    if CONFLICT in states:
        return CONFLICT
    if states == {BEFORE, AFTER}:
        return MIXED
    return BEFORE if states == {BEFORE} else AFTER


def _kind(changes: t.Sequence[RowChange]) -> str:
    names = {change.database for change in changes}
    if len(names) != 1:
        raise ValueError(
            f"all row changes of one transaction must be in the same database, but these changes are in {sorted(names)}"
        )
    kind = names.pop().partition(":")[0]
    for change in changes:
        allowed = schema.UPDATES.get(kind, {}).get(change.table, ())
        strange = (set(change.after) - set(allowed)) | (set(change.after) - set(change.before))
        unknown = set(change.before) - set(schema.columns_of(kind, change.table))
        if change.key_column != "id" or not change.after or strange or unknown:
            raise ValueError(
                f"{change.database} {change.table}: internal error: the collection must not make this change: "
                f"{change.label}"
            )
    return kind


def _compare(
    connection: sa.Connection, kind: str, changes: t.Sequence[RowChange], lock: bool, more: t.Collection[str] = ()
) -> t.List[_Compared]:
    """Read the rows, and say of each where it stands. ``more``: columns to read that decide nothing."""
    compared: t.List[_Compared] = []
    for name in sorted({change.table for change in changes}):
        mine = sorted((change for change in changes if change.table == name), key=lambda change: change.key)
        shapes = {(*change.before, *change.after) for change in mine}
        decisive = {column for shape in shapes for column in shape}
        columns = sorted({*decisive, *_liveness(kind, name), *more})
        rows = _rows_by_key(connection, schema.table(kind, name), columns, [change.key for change in mine], lock)
        compared += [_Compared(change, _state(change, rows.get(change.key)), rows.get(change.key)) for change in mine]
    return compared


def _liveness(kind: str, name: str) -> t.Set[str]:
    return {"deleted"} & set(schema.columns_of(kind, name))


def _rows_by_key(
    connection: sa.Connection, source: sa.TableClause, columns: t.Sequence[str], keys: t.Sequence[t.Any], lock: bool
) -> t.Dict[t.Any, t.Dict[str, t.Any]]:
    found: t.Dict[t.Any, t.Dict[str, t.Any]] = {}
    for chunk in _chunks(keys):
        statement = sa.select(source.c.id, *[source.c[column].label(f"v_{column}") for column in columns])
        statement = statement.where(schema.one_of(connection, source.c.id, chunk)).order_by(source.c.id)
        if lock:
            statement = statement.with_for_update()
        for row in connection.execute(statement):
            found[row[0]] = dict(zip(columns, row[1:]))
    return found


def _chunks(keys: t.Sequence[t.Any], size: int = CHUNK) -> t.Iterator[t.Sequence[t.Any]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _state(change: RowChange, row: t.Optional[t.Dict[str, t.Any]]) -> str:
    if change.table == "instances" and (row is None or row["deleted"] != 0):
        # Deleted by its owner, perhaps archived or purged since: nothing that bears a name is left.
        return GONE
    if row is None:
        return CONFLICT
    other = [column for column, value in change.before.items() if row[column] != value]
    if all(row[column] == value for column, value in change.after.items()) and all(
        column in change.after for column in other
    ):
        return AFTER
    return CONFLICT if other else BEFORE


def _refuse_conflicts(compared: t.Sequence[_Compared]) -> None:
    problems = [problem for entry in compared if entry.state == CONFLICT for problem in _problems(entry)]
    if problems:
        first = problems[0]
        raise Conflict(
            f"{first['table']} id={first['key']} ({first['label']}): {first['column']} is {first['found']!r}, "
            f"expected {first['expected']!r}" + (f", and {len(problems) - 1} more" if len(problems) > 1 else ""),
            count=len(problems),
            rows=problems[:LISTED],
        )


def _problems(entry: _Compared) -> t.List[t.Dict[str, t.Any]]:
    change, row = entry.change, entry.found
    about = {"table": change.table, "key": change.key, "label": change.label}
    if row is None:
        return [{**about, "column": change.key_column, "expected": change.key, "found": None}]
    return [
        {**about, "column": column, "expected": value, "found": row[column]}
        for column, value in change.before.items()
        if row[column] != value and not (column in change.after and row[column] == change.after[column])
    ] or [{**about, "column": ", ".join(change.after), "expected": change.before, "found": row}]


def _update(connection: sa.Connection, kind: str, changes: t.Sequence[RowChange]) -> None:
    """Change rows with few statements, each in chunks and its row count asserted.

    Rows that make the same change share a statement. Where there are many kinds of change, rows of any kind share one
    that has a value for each.
    """
    shapes: t.Dict[t.Tuple[t.Any, ...], t.List[RowChange]] = {}
    for change in changes:
        shapes.setdefault(_shape(change), []).append(change)
    for members in shapes.values():
        source = schema.table(kind, members[0].table)
        groups: t.Dict[t.Tuple[t.Any, ...], t.List[RowChange]] = {}
        for change in members:
            groups.setdefault(_group(change), []).append(change)
        if len(groups) > KINDS:
            for chunk in _chunks(members, EACH):
                _update_each(connection, source, chunk)
            continue
        for alike in groups.values():
            for chunk in _chunks(alike):
                _update_alike(connection, source, chunk)


def _guards(change: RowChange) -> t.Dict[str, t.Any]:
    # A uuid guards its one row only, and has been compared under the row lock; the rest is repeated in the statement.
    return {column: value for column, value in change.before.items() if column != "uuid"}


def _group(change: RowChange) -> t.Tuple[t.Any, ...]:
    return (change.table, tuple(sorted(change.after.items())), repr(sorted(_guards(change).items())))


def _shape(change: RowChange) -> t.Tuple[t.Any, ...]:
    """Return what rows have in common that one statement can change: the columns, and which of them are NULL."""
    parts = [
        sorted((name, value is None) for name, value in values.items()) for values in (change.after, _guards(change))
    ]
    return (change.table, *map(tuple, parts))


def _update_alike(connection: sa.Connection, source: sa.TableClause, changes: t.Sequence[RowChange]) -> None:
    first = changes[0]
    guards = [source.c[column] == value for column, value in _guards(first).items()]
    statement = sa.update(source).where(source.c.id.in_([change.key for change in changes]), *guards)
    # The server counts rows found, not rows changed: SQLAlchemy asks MySQL for that (CLIENT.FOUND_ROWS).
    _expect_all(connection.execute(statement.values(first.after)), changes)


def _update_each(connection: sa.Connection, source: sa.TableClause, changes: t.Sequence[RowChange]) -> None:
    """Change rows of one shape, each to its own values, guarded by its own: as :func:`_update_alike` does for one."""
    guards = [_guards(change) for change in changes]

    def each(values: t.Iterable[t.Any]) -> sa.ColumnElement[t.Any]:
        # By key: a server would look for a list of tuples in every index there is.
        return sa.case({change.key: value for change, value in zip(changes, values)}, value=source.c.id)

    where: t.List[sa.ColumnElement[bool]] = [source.c.id.in_([change.key for change in changes])]
    for name, value in guards[0].items():
        alike = value is None or len({repr(own[name]) for own in guards}) == 1
        where.append(source.c[name] == (value if alike else each(own[name] for own in guards)))
    values = {
        name: None if value is None else each(change.after[name] for change in changes)
        for name, value in changes[0].after.items()
    }
    _expect_all(connection.execute(sa.update(source).where(*where).values(values)), changes)


def _expect_all(result: sa.CursorResult[t.Any], changes: t.Sequence[RowChange]) -> None:
    table = changes[0].table
    if result.rowcount != len(changes):
        raise Conflict(
            f"{table}: {result.rowcount} rows would change instead of {len(changes)}",
            table=table,
            expected=len(changes),
            found=result.rowcount,
        )


# --- nothing forgotten ----------------------------------------------------------------------------------------


def _refuse_strangers(
    connection: sa.Connection, kind: str, changes: t.Sequence[RowChange], complete: Completeness
) -> None:
    planned: t.Dict[str, t.Set[t.Any]] = {}
    for change in changes:
        planned.setdefault(change.table, set()).add(change.key)
    searches = _cell_searches(connection, complete) if kind == schema.CELL else _api_searches(connection, complete)
    strangers = [
        {"table": name, "key": row[0], "label": str(row[1])}
        for name, statement in searches
        for row in connection.execute(statement)
        if row[0] not in planned.get(name, ())
    ]
    if strangers:
        first = strangers[0]
        raise Conflict(
            f"{first['table']} id={first['key']} ({first['label']}) has the name {complete.host}, but is not in the "
            "plan: the row appeared after the plan was made"
            + (f" ({len(strangers)} such rows exist in total)" if len(strangers) > 1 else ""),
            count=len(strangers),
            rows=strangers[:LISTED],
        )


_Searches = t.List[t.Tuple[str, "sa.Select[t.Any]"]]


def _cell_searches(connection: sa.Connection, complete: Completeness) -> _Searches:
    """What is found by host is locked (its index leads to few rows); what is found by node is only looked at."""
    services = schema.table(schema.CELL, "services").c
    searches: _Searches = [
        (
            "services",
            sa.select(services.id, services.uuid)
            .where(
                services.deleted == 0,
                services.binary == "nova-compute",
                schema.named(connection, [complete.host], services.host),
            )
            .with_for_update(),
        )
    ]
    nodes, instances = (schema.table(schema.CELL, name) for name in ("compute_nodes", "instances"))
    for source in (nodes, instances):
        live = sa.select(source.c.id, source.c.uuid).where(source.c.deleted == 0)
        locked = live.where(schema.named(connection, [complete.host], source.c.host)).with_for_update()
        searches.append((source.name, locked))
    if complete.node:
        by_node = schema.named(connection, [complete.node], nodes.c.hypervisor_hostname)
        searches.append(("compute_nodes", sa.select(nodes.c.id, nodes.c.uuid).where(nodes.c.deleted == 0, by_node)))
        wanted = schema.live_instances(connection, [], [complete.node]).subquery()
        searches.append(("instances", sa.select(wanted.c.id, sa.literal(f"on node {complete.node}"))))
    migrations = schema.table(schema.CELL, "migrations").c
    open_ones = sa.select(migrations.id, migrations.uuid).where(schema.unfinished(connection, complete.names))
    if complete.known_migrations:
        open_ones = open_ones.where(migrations.id.not_in(list(complete.known_migrations)))
    if complete.elsewhere:
        # Only the source has still to clean up after it, and that bears another name from now on.
        arrived = sa.and_(migrations.instance_uuid.in_(list(complete.elsewhere)), migrations.status == "done")
        open_ones = open_ones.where(sa.not_(arrived))
    declared = [place.table for place in in_database(schema.CELL) if place.table is not None and place.table.reads]
    return [*searches, ("migrations", open_ones), *_name_searches(connection, complete, declared)]


def _api_searches(connection: sa.Connection, complete: Completeness) -> _Searches:
    tables = [place.table for place in in_database(schema.API) if place.table is not None]
    return _name_searches(connection, complete, tables)


def _name_searches(connection: sa.Connection, complete: Completeness, tables: t.Sequence[NameTable]) -> _Searches:
    """What has the host's name in a column of names, and is not deleted."""
    searches: _Searches = []
    for entry in tables:
        c = schema.table(entry.database, entry.table).c
        where = schema.named(connection, [complete.host], *[c[column] for column in entry.columns])
        if _liveness(entry.database, entry.table):
            where = sa.and_(where, c.deleted == 0)
        searches.append((entry.table, sa.select(c.id, c[entry.columns[0]]).where(where).with_for_update()))
    return searches


# --- neutron's agents -----------------------------------------------------------------------------------------


def rename_agents(
    url: str, ids: t.Sequence[str], before: str, after: str, before_commit: t.Callable[[], None] = lambda: None
) -> WrittenRows:
    """Give neutron's agents a new host and a fresh heartbeat (the database's clock), so that they count as alive.

    Agents that bear the new host already get the heartbeat only. Raises :class:`Conflict` (nothing changed) where an
    agent is gone, bears another host, or the new name is taken; :class:`DatabaseError`.
    """
    agents = schema.table(schema.NEUTRON, "agents")
    with engine.transaction(url) as connection:
        hosts = _agent_hosts(connection, ids, lock=True)
        for agent in ids:
            if hosts.get(agent) not in (before, after):
                raise Conflict(
                    f"network agent {agent}: host is {hosts.get(agent)!r}, expected {before!r}",
                    rows=[
                        {
                            "table": "agents",
                            "key": agent,
                            "column": "host",
                            "expected": before,
                            "found": hosts.get(agent),
                        }
                    ],
                )
        values = {"host": after, "heartbeat_timestamp": engine.utc_now(connection)}
        _expect(connection.execute(sa.update(agents).where(agents.c.id.in_(list(ids))).values(values)), ids)
        before_commit()
    changed = sum(1 for agent in ids if hosts[agent] == before and before != after)
    return WrittenRows(changed, len(ids) - changed)


def beat_agents(url: str, ids: t.Sequence[str], host: str) -> None:
    """Give neutron's agents a fresh heartbeat, provided that all of them bear this host.

    Raises :class:`Conflict` (nothing changed) where one does not; :class:`DatabaseError`.
    """
    agents = schema.table(schema.NEUTRON, "agents")
    with engine.transaction(url) as connection:
        statement = sa.update(agents).where(agents.c.id.in_(list(ids)), agents.c.host == host)
        _expect(connection.execute(statement.values(heartbeat_timestamp=engine.utc_now(connection))), ids)


def agent_hosts(url: str, ids: t.Sequence[str]) -> t.Dict[str, str]:
    """Return the host of each agent that exists. Raises :class:`DatabaseError`."""
    with engine.snapshot(url) as connection:
        return _agent_hosts(connection, ids, lock=False)


def _agent_hosts(connection: sa.Connection, ids: t.Sequence[str], lock: bool) -> t.Dict[str, str]:
    agents = schema.table(schema.NEUTRON, "agents")
    statement = sa.select(agents.c.id, agents.c.host).where(agents.c.id.in_(list(ids))).order_by(agents.c.id)
    if lock:
        statement = statement.with_for_update()
    return {row[0]: row[1] for row in connection.execute(statement)}


def _expect(result: sa.CursorResult[t.Any], ids: t.Sequence[str]) -> None:
    if result.rowcount != len(ids):
        raise Conflict(f"network agents: {result.rowcount} rows would change instead of {len(ids)}")


#: For other guarded changes: see C(links/steps.py).
compare = _compare
problems = _problems
update = _update
