# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which rows a repair of links changes, from what to what, and why that is certain. Pure.

A repair is made of what C(link_rules.py) is certain of, and of nothing else. Rows are put into batches of one cell and
table, those of one host together, so that a batch is few statements.
"""

from __future__ import annotations

import dataclasses
import operator
import typing as t

from ..hazards.link_rules import (
    INSTANCES,
    MIGRATIONS,
    NODES,
    REPAIRABLE,
    Links,
    Premise,
    WrongLink,
)
from ..hazards.links import subject_of
from ..model.codes.catalogue import remedy_text
from ..model.facts import from_plain, to_plain
from ..model.findings import Finding, Subject, finding
from ..model.folding import Folded
from ..model.plan import (
    CONTROLLER,
    Change,
    Plan,
    RowChange,
    Step,
)
from ..model.wording import count

KIND = "repair_links"

#: Rows in one transaction that links nodes to services. It locks their services, and heartbeats wait for them.
SERVICE_ROWS = 10

_TABLES = (NODES, INSTANCES, MIGRATIONS)
#: Columns that a change is guarded by, beside those that it changes.
_GUARDS: t.Mapping[str, t.Tuple[str, ...]] = {
    NODES: ("uuid", "host", "hypervisor_hostname", "service_id"),
    INSTANCES: ("uuid", "host", "node", "compute_id", "vm_state", "task_state"),
    MIGRATIONS: ("uuid", "status", "instance_uuid", "dest_compute", "dest_node", "dest_compute_id"),
}


def _getter(names: t.Sequence[str]) -> t.Tuple[t.Sequence[str], t.Callable[[t.Any], t.Tuple[t.Any, ...]]]:
    return names, operator.attrgetter(*names)


#: By table, and whether it has the column compute_id (or would have): the columns, and what gets them of a row.
_GETTERS = {
    (table, new): _getter([name for name in names if new or name != "compute_id"])
    for table, names in _GUARDS.items()
    for new in (True, False)
}


@dataclasses.dataclass(frozen=True)
class LinkRequest:
    """What an operator asks for. ``hosts``: empty for all; ``limit``: refuse where more rows would change."""

    hosts: t.Tuple[str, ...] = ()
    codes: t.Tuple[str, ...] = REPAIRABLE
    batch_size: int = 1000
    limit: int = 1000


@dataclasses.dataclass(frozen=True)
class Repair:
    """One row's change. ``instance_uuid``: must be in no open migration and task (None: no instance is concerned).

    ``stamp``: the row's C(updated_at) when it was locked to be changed, as text.
    """

    code: str
    subject: Subject
    change: RowChange
    why: str
    instance_uuid: t.Optional[str] = None
    premise: t.Optional[Premise] = None
    stamp: t.Optional[str] = None


def planned(links: Links, codes: t.Collection[str]) -> t.List[WrongLink]:
    """Return the wrong links of these codes that can be repaired, each row once, in the order of their batches."""
    order = {id(cell): number for number, cell in enumerate(links.cells)}
    found: t.Dict[t.Tuple[int, int, int], WrongLink] = {}
    for wrong in links.wrong():
        if wrong.code in codes and wrong.code in REPAIRABLE:
            key = (order[id(wrong.cell)], _TABLES.index(table_of(wrong)), wrong.row.id)
            if key not in found and links.verdict(wrong).after is not None:
                found[key] = wrong
    return [found[key] for key in sorted(found, key=lambda key: (*key[:2], *_place(found[key].row), key[2]))]


def find_too_many(links: Links, plan: t.Sequence[WrongLink], request: LinkRequest) -> t.Iterator[Finding]:
    """Find a repair of more rows than was asked for; rows counted and not kept may be as repairable as the others."""
    unlisted = sum(
        cell.totals[code] - len(cell.instances.get(code, []))
        for cell in links.cells
        for code in request.codes
        if code in cell.totals and code in cell.instances
    )
    if len(plan) + unlisted > request.limit:
        evidence = {"rows that would change": len(plan), "rows not looked at": unlisted, "repair_limit": request.limit}
        remedy = remedy_text("SG715", "too-many-rows")
        yield finding("SG715", Subject("host", "repair_limit"), evidence, remedy)


def table_of(wrong: WrongLink) -> str:
    """Return the table whose row is changed."""
    if wrong.code == "SG221":
        return MIGRATIONS
    return INSTANCES if wrong.code.startswith("SG21") else NODES


def _place(row: t.Any) -> t.Tuple[str, str]:
    host = getattr(row, "dest_compute", None) or getattr(row, "host", None)
    return str(host), str(getattr(row, "compute_id", None))


def repair(links: Links, wrong: WrongLink) -> Repair:
    """Return the change of one planned link."""
    verdict, table, row = links.verdict(wrong), table_of(wrong), wrong.row
    after = verdict.after or {}
    columns, values = _GETTERS[table, wrong.cell.has_compute_id]
    before = dict(zip(columns, values(row)))
    before["deleted"] = 0
    subject = subject_of(wrong)
    label = f"{subject.kind} {subject.id}"
    # What is right already need not be written.
    after = {name: value for name, value in after.items() if before[name] != value}
    change = RowChange(f"cell:{wrong.cell.name}", table, "id", row.id, before, after, label)
    moving = row.uuid if table == INSTANCES else row.instance_uuid if table == MIGRATIONS else None
    return Repair(wrong.code, subject, change, verdict.why, moving, verdict.premise)


def batches(links: Links, plan: t.Sequence[WrongLink], size: int) -> t.Iterator[t.List[Repair]]:
    """Yield the repairs of a plan in batches of at most ``size`` rows, each of one cell and table.

    Of those that lock rows of C(services), at most SERVICE_ROWS.
    """
    batch: t.List[Repair] = []
    for wrong in plan:
        made = repair(links, wrong)
        most = min(size, SERVICE_ROWS) if made.change.table == NODES else size
        if batch and (len(batch) >= most or _home(batch[0]) != _home(made)):
            yield batch
            batch = []
        batch.append(made)
    if batch:
        yield batch


def _home(made: Repair) -> t.Tuple[str, str]:
    return made.change.database, made.change.table


def reversed_repair(made: Repair) -> Repair:
    """Return the change that takes a repair back. What it leads to need not be right: it is what was there."""
    return dataclasses.replace(made, change=made.change.reversed(), why="the value before the repair", premise=None)


def as_plan(operation_id: str, subject: str, rows: t.Iterable[Repair]) -> Plan:
    """Return every row as a plan: a step for each database, table and code.

    Of a row only what is written counts: its guards, such as the state of an instance, are compared when it is written.
    """
    groups: t.Dict[t.Tuple[str, str, str], t.List[Change]] = {}
    for made in rows:
        change = made.change
        where = _row(change)
        groups.setdefault((*_home(made), made.code), []).extend(
            Change(where, name, _shown(change.before[name]), _shown(after)) for name, after in change.after.items()
        )
    steps = [
        Step(" ".join(key), f"repair {key[2]} in {key[0]} {key[1]}", CONTROLLER, KIND, {}, changes)
        for key, changes in sorted(groups.items())
    ]
    return Plan(KIND, operation_id, subject, steps)


# --- for the journal and for people ---------------------------------------------------------------------------


def to_journal(made: Repair) -> t.Dict[str, t.Any]:
    """Return a repair as the journal keeps it: all that taking it back needs."""
    # Values of columns are plain, and a million rows are not taken apart one by one for nothing.
    subject, change = made.subject, made.change
    return {
        "code": made.code,
        "why": made.why,
        "instance_uuid": made.instance_uuid,
        "stamp": made.stamp,
        "subject": {"kind": subject.kind, "id": subject.id, "name": subject.name, "host": subject.host},
        "change": {
            "database": change.database,
            "table": change.table,
            "key_column": change.key_column,
            "key": change.key,
            "before": change.before,
            "after": change.after,
            "label": change.label,
        },
    }


def of_journal(plain: t.Mapping[str, t.Any]) -> Repair:
    """Return a repair of the journal. Raises FactsError for one that this version does not understand."""
    return Repair(
        code=str(plain["code"]),
        subject=from_plain(Subject, plain["subject"], "journal.subject"),
        change=from_plain(RowChange, plain["change"], "journal.change"),
        why=str(plain["why"]),
        instance_uuid=plain["instance_uuid"],
        stamp=plain["stamp"],
    )


def told(made: Repair, outcome: str) -> t.Dict[str, t.Any]:
    """Return a repair as results and ``repairs.json`` tell it."""
    change = made.change
    return {
        "code": made.code,
        "object": to_plain(made.subject),
        "row": f"{change.database} {change.table} id={change.key}",
        "before": {name: change.before[name] for name in change.after},
        "after": dict(change.after),
        "why": made.why,
        "outcome": outcome,
    }


class Diff:
    """Ansible's diff: an entry for each database, table and code; a line for each row that is like no other."""

    def __init__(self, repairs: t.Iterable[Repair] = ()) -> None:
        self._groups: t.Dict[t.Tuple[str, str, str], Folded] = {}
        self.add(repairs)

    def add(self, repairs: t.Iterable[Repair]) -> None:
        """Take rows."""
        for made in repairs:
            change = made.change
            group = self._groups.setdefault((*_home(made), made.code), Folded())
            after = f"{_values(change.after, change.after)}  # certain: {made.why}"
            group.add(_row(change), _values(change.before, change.after), after)

    def entries(self) -> t.List[t.Dict[str, str]]:
        """Return it."""
        return [_entry(key, group) for key, group in self._groups.items()]


def _entry(key: t.Tuple[str, str, str], group: Folded) -> t.Dict[str, str]:
    header = f"{key[0]} {key[1]}: {key[2]}, {count(group.rows, 'row')}"
    before, after = group.texts()
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def _row(change: RowChange) -> str:
    return f"{change.table} id={change.key} ({change.label})"


def _values(values: t.Mapping[str, t.Any], names: t.Collection[str]) -> str:
    # Nearly every repair writes one column, and there may be a million.
    if len(names) == 1:
        return next(f"{name} = {_shown(values[name])}" for name in names)
    return ", ".join(f"{name} = {_shown(values[name])}" for name in names)


def _shown(value: t.Any) -> str:
    return "NULL" if value is None else str(value)
