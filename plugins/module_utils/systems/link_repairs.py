# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes repaired links: a batch of rows of one table, in one transaction, each guarded by what was read.

A row that is no longer what was read, that something is in progress on, or whose target is no longer what it was, is
left alone and reported; the others are changed. What was there is handed to the journal before the commit.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.link_rules import INSTANCES, Premise
from ansible_collections.stackguard.nova.plugins.module_utils.plans.links import Repair, reversed_repair
from ansible_collections.stackguard.nova.plugins.module_utils.systems import database, link_reads, row_changes, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/database.py

#: Times that a batch is tried again when another transaction was in the way.
TRIES = 3

Journal = t.Callable[[t.Sequence[Repair]], None]


@dataclasses.dataclass(frozen=True)
class BatchOutcome:
    """``changed`` now; ``already`` as wanted; ``skipped``, each with the reason."""

    changed: t.List[Repair]
    already: t.List[Repair]
    skipped: t.List[t.Tuple[Repair, str]]


def apply_batch(url: str, batch: t.Sequence[Repair], journal: Journal) -> BatchOutcome:
    """Change the rows of a batch. ``journal`` is called once, before the commit, with what is about to be committed.

    Raises :class:`DatabaseError` (C(unknown_outcome): the journal tells which rows to look at) or :class:`Conflict`
    where another transaction stayed in the way; nothing was changed then. ValueError for a change never made here.
    """
    _refuse_strange(batch)
    for attempt in range(1, TRIES + 1):
        try:
            return _apply(url, batch, journal)
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
    with database.snapshot(url) as connection:
        return _compared(connection, batch, lock=False)


def was_committed(url: str, batch: t.Sequence[Repair]) -> bool:
    """Say whether a batch that was journaled was committed too: a batch is one transaction, so one row tells.

    Raises :class:`DatabaseError`.
    """
    with database.snapshot(url) as connection:
        compared = row_changes.compare(connection, schema.CELL, [made.change for made in batch], lock=False)
    return all(entry.state != row_changes.BEFORE for entry in compared)


def _refuse_strange(batch: t.Sequence[Repair]) -> None:
    homes = {(made.change.database, made.change.table) for made in batch}
    if len(homes) != 1:
        raise ValueError("a batch is of one database and table")
    for made in batch:
        change = made.change
        allowed = schema.LINK_UPDATES.get(change.table, ())
        known = schema.COLUMNS[schema.CELL].get(change.table, ())
        if not change.after or set(change.after) - set(allowed) or set(change.before) - set(known):
            raise ValueError(f"{change.database} {change.table}: not a change a repair makes: {change.label}")


def _apply(url: str, batch: t.Sequence[Repair], journal: Journal) -> BatchOutcome:
    with database.transaction(url) as connection:
        outcome = _compared(connection, batch, lock=True)
        if outcome.changed:
            row_changes.update(connection, schema.CELL, [made.change for made in outcome.changed])
            journal(outcome.changed)
    return outcome


def _compared(connection: sa.Connection, batch: t.Sequence[Repair], lock: bool) -> BatchOutcome:
    by_key = {made.change.key: made for made in batch}
    outcome = BatchOutcome([], [], [])
    for entry in row_changes.compare(connection, schema.CELL, [made.change for made in batch], lock=lock):
        made = by_key[entry.change.key]
        if entry.state == row_changes.AFTER:
            outcome.already.append(made)
        elif entry.state == row_changes.BEFORE:
            outcome.changed.append(made)
        else:
            outcome.skipped.append((made, _reason(entry)))
    _leave_out(connection, outcome)
    return outcome


def _reason(entry: t.Any) -> str:
    if entry.found is None or entry.state == row_changes.GONE:
        return "the row was deleted meanwhile"
    first = row_changes.problems(entry)[0]
    return f"it changed meanwhile: {first['column']} is {first['found']!r}, expected {first['expected']!r}"


def _leave_out(connection: sa.Connection, outcome: BatchOutcome) -> None:
    """Move to the skipped ones what is in flight now, or would lead to a row that is not what it was."""
    busy = _busy(connection, outcome.changed)
    broken = _broken(connection, {made.premise for made in outcome.changed if made.premise is not None})
    for made in list(outcome.changed):
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
        return {row[0]: f"task {row[1]} of its instance is in progress" for row in connection.execute(tasks)}
    m = schema.table(schema.CELL, "migrations").c
    unsettled = sa.or_(m.status.is_(None), m.status.not_in(link_reads.SETTLED))
    moving = sa.select(m.instance_uuid).where(m.deleted == 0, m.instance_uuid.in_(uuids), unsettled)
    return {row[0]: "a migration of it is open" for row in connection.execute(moving)}


def _broken(connection: sa.Connection, premises: t.Set[Premise]) -> t.Dict[Premise, str]:
    broken: t.Dict[Premise, str] = {}
    for name in sorted({premise.table for premise in premises}):
        mine = {premise.key: premise for premise in premises if premise.table == name}
        source = schema.table(schema.CELL, name)
        columns = [column for column, _value in next(iter(mine.values())).values]
        # Not locked: Nova deletes a service and its nodes together, and of those the changed row is locked. A node
        # that is deleted between this and the commit leaves what any later deletion would: the next audit tells.
        statement = sa.select(source.c.id, *[source.c[column] for column in columns]).where(source.c.id.in_(list(mine)))
        found = {row[0]: tuple(zip(columns, row[1:])) for row in connection.execute(statement)}
        for key, premise in mine.items():
            if found.get(key) != premise.values:
                broken[premise] = f"{name} id={key} is not what it was: {dict(found.get(key, ()))}"
    return broken
