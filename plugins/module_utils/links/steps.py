# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes repaired links: a batch of rows of one table, in one transaction, each guarded by what was read.

A row that is no longer what was read, that something is in progress on, or whose target is no longer what it was, is
left alone and reported; the others are changed.

What is about to be changed is handed to the journal before the transaction begins: while rows are locked, only SQL
runs. A repair of C(compute_nodes) locks rows of C(services), which every nova-compute updates each few seconds; a
journal that hangs must not let Nova call them down. The transaction then changes exactly what was journaled, or nothing
at all: where a row was written in between, it ends, and the batch is read, journaled and tried again.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..hazards.link_rules import INSTANCES, NODES, Premise
from ..model.errors import Conflict
from ..records import batches
from ..systems.db import engine, links, rows, schema
from .plan import Repair, reversed_repair

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Times that a batch is tried where another transaction was in the way, or wrote a row after the journal was written.
TRIES = 10
#: Nova moves it with every write: what tells a repair from a write of Nova's.
_STAMP = ("updated_at",)

Journal = t.Callable[[t.Sequence[Repair]], None]


@dataclasses.dataclass(frozen=True)
class BatchOutcome:
    """``changed`` now; ``already`` as wanted; ``gone``: deleted; ``skipped``, each with the reason."""

    changed: t.List[Repair] = dataclasses.field(default_factory=list)
    already: t.List[Repair] = dataclasses.field(default_factory=list)
    gone: t.List[Repair] = dataclasses.field(default_factory=list)
    skipped: t.List[t.Tuple[Repair, str]] = dataclasses.field(default_factory=list)


def apply_batch(url: str, batch: t.Sequence[Repair], journal: Journal) -> BatchOutcome:
    """Change the rows of a batch. ``journal`` is called before each try, with what is about to be changed.

    What was handed to its last call was committed, if anything was. It is not called where nothing is to be changed.

    Raises :class:`DatabaseError` (C(unknown_outcome): the journal tells which rows to look at) or :class:`Conflict`
    where another transaction stayed in the way; nothing was changed then. ValueError for a change never made here.
    """
    _refuse_strange(batch)
    missing = _all_missing(batch)
    for attempt in range(1, TRIES + 1):
        # Where others were in the way, each row is looked at, to leave out what cannot be changed.
        expected = (_expected_of_all(url, batch) if missing and attempt == 1 else None) or _expected(url, batch)
        if not expected.changed:
            return expected
        journal(expected.changed)
        try:
            return _apply(url, batch, expected, missing)
        except Conflict:
            if attempt == TRIES:
                raise
    raise AssertionError("unreachable")


def take_back(url: str, batch: t.Sequence[Repair]) -> BatchOutcome:
    """Restore the rows of a batch that are still exactly as the repair left them. Raises as :func:`apply_batch`."""
    return apply_batch(url, [reversed_repair(made) for made in batch], lambda _rows: None)


def rehearse(url: str, batch: t.Sequence[Repair]) -> BatchOutcome:
    """Say what :func:`apply_batch` would come to, in a transaction that only reads. Raises :class:`DatabaseError`."""
    _refuse_strange(batch)
    with engine.snapshot(url) as connection:
        return _compared(connection, batch, lock=False)[0]


def recheck(url: str, made: t.Sequence[Repair]) -> t.List[t.Tuple[Repair, str]]:
    """Return the repairs whose link leads to a row that is not what it was, and what it is now. For after the commit.

    In a Galera cluster a lock holds on one node: another one may have let the row be deleted or renamed.

    Raises :class:`DatabaseError`.
    """
    premises = {one.premise for one in made if one.premise is not None}
    if not premises:
        return []
    with engine.snapshot(url) as connection:
        broken = _broken(connection, premises, lock=False)
    return [(one, broken[one.premise]) for one in made if one.premise in broken]


def is_cluster(url: str) -> bool:
    """Whether the database is a node of a Galera cluster. Raises :class:`DatabaseError`."""
    with engine.snapshot(url) as connection:
        return engine.is_cluster(connection)


def fate(url: str, batch: t.Sequence[Repair], lock: bool = True) -> str:
    """Say what became of a batch that was journaled, when the run ended before it noted that.

    A batch is one transaction, so one row tells: it was not committed (C(void)) where a row is as it was before, and it
    was (C(done)) where a row is as repaired and its C(updated_at) did not move, for Nova moves that with every write.
    Where neither is seen, or both, others wrote the rows since, perhaps the very same values: C(unproven). Nova's
    C(updated_at) has whole seconds: a write of Nova's in the second of its last one is not told from none.

    ``lock``: wait for a commit that is still under way on the server, though its client is dead.

    Raises :class:`DatabaseError`, or :class:`Conflict` where such a transaction stays open.
    """
    by_key = {made.change.key: made for made in batch}
    reading = engine.transaction(url, engine.BRIEF) if lock else engine.snapshot(url)
    with reading as connection:
        compared = rows.compare(connection, schema.CELL, [made.change for made in batch], lock, _STAMP)
    stamps = _stamps(compared)
    void = any(entry.state == rows.BEFORE for entry in compared)
    done = any(
        entry.state == rows.AFTER and stamps.get(entry.change.key) == by_key[entry.change.key].stamp
        for entry in compared
    )
    if void == done:
        return batches.UNPROVEN
    return batches.VOID if void else batches.DONE


def _stamps(compared: t.Iterable[t.Any]) -> t.Dict[t.Any, t.Optional[str]]:
    """Return C(updated_at) of the rows that were found, by key."""
    found = {entry.change.key: entry.found["updated_at"] for entry in compared if entry.found is not None}
    return {key: _text(value) for key, value in found.items()}


def _text(stamp: t.Any) -> t.Optional[str]:
    return None if stamp is None else str(stamp)


def _refuse_strange(batch: t.Sequence[Repair]) -> None:
    homes = {(made.change.database, made.change.table) for made in batch}
    if len(homes) != 1:
        raise ValueError("all rows of a batch must belong to one table in one database")
    # Rows of one shape are judged once.
    shapes = {(tuple(made.change.before), tuple(made.change.after)): made.change for made in batch}
    for change in shapes.values():
        allowed = schema.LINK_UPDATES.get(change.table, ())
        known = schema.COLUMNS[schema.CELL].get(change.table, ())
        if not change.after or set(change.after) - set(allowed) or set(change.before) - set(known):
            raise ValueError(
                f"{change.database} {change.table}: internal error: a repair must not make this change: {change.label}"
            )


def _expected(url: str, batch: t.Sequence[Repair]) -> BatchOutcome:
    """Read, without a lock, what a batch would come to; what would be changed with its C(updated_at)."""
    with engine.snapshot(url) as connection:
        outcome, stamps = _compared(connection, batch, lock=False)
    stamped = [dataclasses.replace(made, stamp=stamps[made.change.key]) for made in outcome.changed]
    return dataclasses.replace(outcome, changed=stamped)


def _expected_of_all(url: str, batch: t.Sequence[Repair]) -> t.Optional[BatchOutcome]:
    """Return what a batch of missing links comes to if each row is as it was judged. None: not each of them is.

    It decides nothing: the rows are compared again under their locks. But a row that could not be written must not be
    in the journal: if the run is killed, nobody could tell what became of it.
    """
    with engine.snapshot(url) as connection:
        found = links.read_rows(connection, [made.change.key for made in batch], tuple(batch[0].change.before))
    changed = []
    for made in batch:
        row = found.get(made.change.key)
        if row is None or row[-1] is not None or tuple(row[:-2]) != tuple(made.change.before.values()):
            return None
        changed.append(_stamped(made, row[-2]))
    return BatchOutcome(changed=changed)


def _stamped(made: Repair, stamp: t.Any) -> Repair:
    # As dataclasses.replace does, which takes three times as long.
    return Repair(made.code, made.subject, made.change, made.why, made.instance_uuid, made.premise, _text(stamp))


def _apply(url: str, batch: t.Sequence[Repair], expected: BatchOutcome, missing: bool) -> BatchOutcome:
    """Change what was journaled, all of it. Raises :class:`Conflict` where a row was written since: nothing is changed.

    :func:`fate` knows by one row what became of a batch: only because never a part of it is committed.
    """
    outcome, others = expected, list(expected.changed)
    with engine.transaction(url, engine.BRIEF) as connection:
        if missing:
            _link_and_compare(connection, expected.changed)
            others = []
        else:
            outcome, stamps = _compared(connection, batch, lock=True)
            changing = {made.change.key: stamps[made.change.key] for made in outcome.changed}
            if changing != {made.change.key: made.stamp for made in expected.changed}:
                raise _interfered(expected.changed)
            joined = [made for made in outcome.changed if _by_names(made)]
            others = [made for made in outcome.changed if not _by_names(made)]
            links.set_nodes(connection, {made.change.key: made.change.after["compute_id"] for made in joined})
        rows.update(connection, schema.CELL, [made.change for made in others])
    return outcome


def _link_and_compare(connection: sa.Connection, made: t.Sequence[Repair]) -> None:
    """Let instances that link nothing link the nodes of their names, then see that nothing else of them has moved.

    The UPDATE locks their rows, and changes one column of those whose link is missing. What is read after it is what
    they were under the lock, and what is committed: each row is read once and not twice. Nodes are locked first.
    """
    if _broken(connection, {one.premise for one in made if one.premise is not None}, lock=True):
        raise _interfered(made)
    keys = [one.change.key for one in made]
    links.set_missing_nodes(connection, keys)
    found = links.read_rows(connection, keys, tuple(made[0].change.before))
    if not all(_holds(one, found.get(one.change.key)) for one in made):
        raise _interfered(made)


def _holds(made: Repair, found: t.Optional[t.Sequence[t.Any]]) -> bool:
    """Whether an instance is as it was, but for what is changed, byte for byte, and in no migration."""
    if found is None:
        return False
    change, (stamp, moving) = made.change, found[-2:]
    wanted = tuple({**change.before, **change.after}.values())
    return moving is None and _text(stamp) == made.stamp and tuple(found[:-2]) == wanted


def _interfered(made: t.Sequence[Repair]) -> Conflict:
    change = made[0].change
    return Conflict(
        f"{change.database} {change.table}: other processes keep changing the rows of this batch. The run "
        "changed none of these rows"
    )


def _all_missing(batch: t.Sequence[Repair]) -> bool:
    """Whether a batch is of instances that link nothing, each to link the node of its own names."""
    if len({tuple(made.change.before) for made in batch}) != 1:
        return False
    return all(_by_names(made) and made.change.before["compute_id"] is None for made in batch)


def _by_names(made: Repair) -> bool:
    """Whether an instance is to link the node of its own names, which is locked: SQL can find it by these names."""
    change, premise = made.change, made.premise
    if change.table != INSTANCES or set(change.after) != {"compute_id"} or premise is None or premise.table != NODES:
        return False
    own = (change.before["host"], change.before["node"])
    return None not in own and own == _names_of(premise)


@functools.lru_cache(maxsize=1024)
def _names_of(premise: Premise) -> t.Tuple[t.Any, t.Any]:
    target = dict(premise.values)
    return target.get("host"), target.get("hypervisor_hostname")


def _compared(
    connection: sa.Connection, batch: t.Sequence[Repair], lock: bool
) -> t.Tuple[BatchOutcome, t.Dict[t.Any, t.Optional[str]]]:
    """Return what a batch would come to, and C(updated_at) of its rows as they were read for that."""
    by_key = {made.change.key: made for made in batch}
    outcome = BatchOutcome()
    # What is led to is locked first, services before nodes: so does Nova when it deletes a service and its nodes.
    broken = _broken(connection, {made.premise for made in batch if made.premise is not None}, lock)
    compared = rows.compare(connection, schema.CELL, [made.change for made in batch], lock, _STAMP)
    for entry in compared:
        made = by_key[entry.change.key]
        if entry.state == rows.AFTER:
            outcome.already.append(made)
        elif entry.state == rows.BEFORE:
            outcome.changed.append(made)
        elif entry.state == rows.GONE or entry.found is None or entry.found["deleted"] != 0:
            outcome.gone.append(made)
        else:
            outcome.skipped.append((made, _reason(entry)))
    _leave_out(connection, outcome, broken)
    return outcome, _stamps(compared)


def _reason(entry: t.Any) -> str:
    first = rows.problems(entry)[0]
    return (
        f"the row changed after the run had read it: {first['column']} is {first['found']!r}, expected "
        f"{first['expected']!r}"
    )


def _leave_out(connection: sa.Connection, outcome: BatchOutcome, broken: t.Mapping[Premise, str]) -> None:
    """Move to the skipped ones what is in flight now, or would lead to a row that is not what it was."""
    busy = _busy(connection, outcome.changed)
    for made in list(outcome.changed) if busy or broken else ():
        reason = busy.get(made.instance_uuid or "") or (broken.get(made.premise) if made.premise else None)
        if reason is not None:
            outcome.changed.remove(made)
            outcome.skipped.append((made, reason))


def _busy(connection: sa.Connection, batch: t.Sequence[Repair]) -> t.Dict[str, str]:
    uuids = sorted({made.instance_uuid for made in batch if made.instance_uuid is not None})
    if not uuids:
        return {}
    if batch[0].change.table != INSTANCES:
        i = schema.table(schema.CELL, "instances").c
        tasks = sa.select(i.uuid, i.task_state).where(i.uuid.in_(uuids), i.task_state.is_not(None))
        return {row[0]: f"the instance has a task in progress ({row[1]})" for row in connection.execute(tasks)}
    moving = links.open_migrations(connection, [made.change.key for made in batch])
    return dict.fromkeys(moving, "the instance has an unfinished migration")


def _broken(connection: sa.Connection, premises: t.Set[Premise], lock: bool) -> t.Dict[Premise, str]:
    """Return what is not any more what a link was to lead to; the rest stays so until the commit, where locked."""
    broken: t.Dict[Premise, str] = {}
    for name in sorted({premise.table for premise in premises}):
        mine = {premise.key: premise for premise in premises if premise.table == name}
        source = schema.table(schema.CELL, name)
        columns = [column for column, _value in next(iter(mine.values())).values]
        statement = sa.select(source.c.id, *[source.c[column] for column in columns])
        statement = statement.where(schema.one_of(connection, source.c.id, mine)).order_by(source.c.id)
        if lock:
            statement = statement.with_for_update(read=True)
        found = {row[0]: row[1:] for row in connection.execute(statement)}
        for key, premise in mine.items():
            if found.get(key) != tuple([value for _column, value in premise.values]):
                broken[premise] = f"{name} id={key} has changed: {dict(zip(columns, found.get(key, ())))}"
    return broken
