# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings, plans and progress as plain text for a terminal. Pure."""

from __future__ import annotations

import typing as t

from ..model.findings import (
    Checked,
    Finding,
    Override,
    ordered,
    overridden,
)
from ..model.folding import Folded
from ..model.plan import Plan, Step
from ..model.wording import count, one_line
from .evidence_words import in_words

_EVIDENCE_WIDTH = 400
#: Objects that a line names, and those of them whose evidence is shown.
_NAMED, _SEEN = 5, 3


def findings_text(checked: Checked, overrides: t.Sequence[Override] = ()) -> str:
    """Return one paragraph a remedy: severity, code, objects, evidence, remedy; then what could not be decided."""
    alike: t.Dict[t.Tuple[str, ...], t.List[Finding]] = {}
    for item in ordered(checked.findings):
        label = "overridden" if overridden(item, overrides) else item.severity
        head = f"{label}{', absolute' if item.absolute else ''}: {item.code} {item.slug}: "
        alike.setdefault((head, item.object.kind, item.remedy), []).append(item)
    lines = [line for (head, kind, _remedy), items in alike.items() for line in _finding_lines(head, kind, items)]
    unread: t.Dict[t.Tuple[str, str], t.List[str]] = {}
    for entry in sorted(checked.unchecked, key=repr):
        unread.setdefault((entry.code, entry.reason), []).append(entry.object)
    return "\n".join(lines + [f"unchecked {code} {_names(of)}: {reason}" for (code, reason), of in unread.items()])


def _finding_lines(head: str, kind: str, items: t.Sequence[Finding]) -> t.Iterator[str]:
    names = list(dict.fromkeys(_name(item) for item in items))
    number = "" if len(names) == 1 else f"{len(names)} "
    yield f"{head}{number}{kind}{'s' if number else ''} {_names(names)}"
    seen = {_evidence(item): _name(item) for item in reversed(items)}
    shown = sorted(seen, key=lambda words: names.index(seen[words]))[:_SEEN]
    for words in shown:
        yield f"    seen: {f'{seen[words]}: ' if len(seen) > 1 else ''}{words}"
    yield f"    do:   {items[0].remedy}"


def _name(item: Finding) -> str:
    subject = item.object.name or item.object.id
    return subject if subject == item.object.id else f"{subject} ({item.object.id})"


def _names(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _evidence(item: Finding) -> str:
    words = one_line(in_words(item.evidence))
    return words if len(words) <= _EVIDENCE_WIDTH else words[:_EVIDENCE_WIDTH] + " ..."


def plan_text(plan: Plan, values: bool = True) -> str:
    """Return the plan as a numbered list, every value before and after below its step.

    ``values`` False: the steps alone, where a diff shows what they change.
    """
    # The kind of a journal may end with what it is about.
    kind = plan.kind.removesuffix(f"-{plan.subject}")
    lines = [f"{kind} {plan.subject} (operation {plan.operation_id}), {count(len(plan.steps), 'step')}:"]
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"{number:3}. {step.title}  [{step.where}]")
        if not values:
            continue
        lines += [f"       {change.where}: {change.what}: {change.before} -> {change.after}" for change in step.changes]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def plan_diff(plan: Plan) -> t.List[t.Dict[str, str]]:
    """Return Ansible's diff, one entry for each step that changes something. Equal changes are one line."""
    return [_step_diff(number, step) for number, step in enumerate(plan.steps, 1) if step.changes]


def _step_diff(number: int, step: Step) -> t.Dict[str, str]:
    folded = Folded()
    for change in step.changes:
        folded.add(change.where, f"{change.what}: {change.before}", f"{change.what}: {change.after}")
    before, after = folded.texts()
    header = f"step {number}: {step.title}"
    return {"before_header": header, "after_header": header, "before": before, "after": after}


class Narrator:
    """Says where a run stands, a line when a step begins and one when it ends, with seconds since the start."""

    def __init__(self, say: t.Callable[[str], None], seconds: t.Callable[[], float]) -> None:
        self._say = say
        self._seconds = seconds
        self._start = seconds()

    def begin(self, number: int, total: int, title: str, undo: bool) -> None:
        """Say that a step begins."""
        self._line(f"{'undo ' if undo else ''}{number}/{total} {title}")

    def remark(self, text: str) -> None:
        """Say something about the step in progress."""
        self._line(f"      {text}")

    def end(self, text: str) -> None:
        """Say how the step ended."""
        self._line(f"      {text}")

    def _line(self, text: str) -> None:
        self._say(f"[{self._seconds() - self._start:6.1f} s] {text}")
