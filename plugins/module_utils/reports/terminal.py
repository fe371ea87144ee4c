# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings, plans and progress as plain text for a terminal. Pure."""

from __future__ import annotations

import json
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
from ..model.wording import count

_EVIDENCE_WIDTH = 400


def findings_text(checked: Checked, overrides: t.Sequence[Override] = ()) -> str:
    """Return one paragraph a finding: severity, code, object, evidence, remedy; then what could not be decided."""
    lines = [line for item in ordered(checked.findings) for line in _finding_lines(item, overrides)]
    lines += [f"unchecked {item.code} {item.object}: {item.reason}" for item in sorted(checked.unchecked, key=repr)]
    return "\n".join(lines)


def _finding_lines(item: Finding, overrides: t.Sequence[Override]) -> t.List[str]:
    label = "overridden" if overridden(item, overrides) else item.severity
    subject = item.object.name or item.object.id
    known = "" if subject == item.object.id else f" ({item.object.id})"
    evidence = json.dumps(item.evidence, sort_keys=True, default=str)
    if len(evidence) > _EVIDENCE_WIDTH:
        evidence = evidence[:_EVIDENCE_WIDTH] + " ..."
    absolute = ", absolute" if item.absolute else ""
    return [
        f"{label}{absolute}: {item.code} {item.slug}: {item.object.kind} {subject}{known}",
        f"    seen: {evidence}",
        f"    do:   {item.remedy}",
    ]


def plan_text(plan: Plan, values: bool = True) -> str:
    """Return the plan as a numbered list, every value before and after below its step.

    ``values`` False: the steps alone, where a diff shows what they change.
    """
    lines = [f"{plan.kind} {plan.subject} (operation {plan.operation_id}), {count(len(plan.steps), 'step')}:"]
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
