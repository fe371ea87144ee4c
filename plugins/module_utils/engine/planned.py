# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of an operation whose whole plan is made before its first step, and carried out from the controller.

A subclass of :class:`Planned` in a file of its own is such an operation. It says what it is asked for, what it finds,
and what its plan's steps do. How it is begun, resumed, undone and reported on is the same for all, and is here.
"""

from __future__ import annotations

import abc
import dataclasses
import typing as t

from ..model import findings
from ..model.facts import to_plain
from ..model.plan import Plan
from ..records import journal as journals
from ..reports.terminal import (
    Narrator,
    findings_text,
    plan_diff,
    plan_text,
)
from . import lifecycle, runner
from .approval import SHA256
from .lifecycle import OpenJournal, Refused
from .operation import Operation
from .server_run import ServerRun
from .systems import Systems

Result = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A new operation. Without a step in its plan, all is as it was asked for."""

    plan: Plan
    #: What its journal is to keep of it.
    about: Result
    #: What a person approves beside the plan's own values.
    approved: Result
    #: For the result: C(report), and what else is known of it.
    told: Result
    #: What check mode says of it; without a step, what every run says.
    message: str


class Planned(Operation):
    """One operation in the hands of one run, whose plan is made before its first step."""

    #: Before each of its variables.
    PREFIX: t.ClassVar[str]
    run: ServerRun

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)

    # --- what an operation says of itself

    @abc.abstractmethod
    def prepare(self) -> Prepared:
        """Read, judge and plan. Raises Refused with every reason why not, and what a system raises."""

    @abc.abstractmethod
    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps of the plan. ``open_journal``: the journal of the operation."""

    @abc.abstractmethod
    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do, such as "resize to m1.large"."""

    @abc.abstractmethod
    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return how what it changes is at the moment; None: no operation is open. Empty: nothing is known then."""

    @abc.abstractmethod
    def finished_text(self, journal: Result) -> str:
        """Return what a run says that has brought it to its end."""

    @abc.abstractmethod
    def undone_text(self, journal: Result, why: str) -> str:
        """Return what a run says that has undone it."""

    def result_fields(self, journal: t.Optional[Result]) -> Result:
        """Return what each result has of an operation; None: none is open."""
        return {}

    def asks_for_another(self, journal: Result) -> bool:
        """Return True if something else is asked for than what this open operation does."""
        return False

    # --- what an operation with a stricter rule does in its own way

    def refuse_another(self, journal: Result, action: str) -> None:
        """Raise Refused (SG706) where an open operation stands in the way of what is asked for."""
        if action != self.BACK and journal["state"] == journals.OPEN and self.asks_for_another(journal):
            raise Refused(lifecycle.another_open(self.run, journal, self.goal_text(journal)), lifecycle.OPERATION_OPEN)

    def nothing_open(self, action: str) -> Result:
        """Return what comes of an action while nothing is open. Raises Refused: a resume begins nothing."""
        if action == lifecycle.RESUME:
            raise lifecycle.nothing_to_resume(self.run, self.operation_text())
        msg = lifecycle.nothing_open(self.operation_text(), action)
        if action == lifecycle.STATUS:
            now = self.current_state_text(None)
            told = {"changed": False, "state": "none", **self.result_fields(None)}
            return {**told, "msg": f"{msg}. {now}" if now else msg}
        return {"changed": False, "state": "none", "msg": msg}

    def check_mode_result(self, journal: Result, action: str) -> Result:
        """Return what check mode says of an open operation."""
        will = "resume it" if action == lifecycle.RESUME else self.rollback_text(journal) or lifecycle.UNDO
        return {
            **self._told(journal),
            "changed": True,
            "state": journal["state"],
            "msg": f"an operation is open ({self.goal_text(journal)}). Without --check, the run would {will}",
        }

    def rollback_text(self, journal: Result) -> t.Optional[str]:
        """Return what a rollback of an open operation does; None: it cannot be rolled back any more."""
        return lifecycle.UNDO

    def resumed_text(self, journal: Result) -> str:
        """Return what a run says that resumes an open operation; empty: nothing."""
        return f"resuming operation {journal['operation_id']}: {self.goal_text(journal)}"

    def status_lines(self, now: str) -> t.List[str]:
        """Return what the status of an open operation shows beside its steps. ``now``: its current state."""
        return [now]

    def ended_fields(self, journal: Result) -> Result:
        """Return what the result of the run that ends an operation has of it beside its message."""
        return {}

    def status_fields(self, journal: Result) -> Result:
        """Return what the status of an open operation has of it beside its message."""
        return {}

    def begin(self, plan: Plan, about: Result) -> Result:
        """Open the journal of a new operation, and carry it out."""
        return self.forward(OpenJournal.open(self.run, plan, about))

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Take an open operation up, and carry the rest of it out; with ``why``, undo it. ``note``: for its history."""
        open_journal = OpenJournal.take_up(self.run, journal, note)
        return self.forward(open_journal) if why is None else self.backward(open_journal, why)

    # --- its life

    def begin_new(self) -> Result:
        """Judge, plan, and carry the plan out; in check mode show it."""
        approver = self.approver
        found = self.prepare()
        if not found.plan.steps:
            told = {"changed": False, "state": "none", SHA256: approver.nothing(found.plan, found.approved)}
            return {**told, **found.told, "msg": found.message}
        value = approver.approve(found.plan, found.approved, found.told)
        told = {
            **found.told,
            "plan": to_plain(found.plan),
            SHA256: value,
            "diff": plan_diff(found.plan),
            "operation_id": found.plan.operation_id,
        }
        self.run.say(plan_text(found.plan, values=not self.run.diff))
        if self.run.check_mode:
            self.run.say(approver.hint(value))
            return {**told, "changed": True, "state": "planned", "msg": found.message}
        return {**told, **self.begin(found.plan, {SHA256: value, **found.about})}

    def show_open(self, journal: Result) -> Result:
        """Report what is open, and how what it changes is now."""
        now = self.current_state_text(journal)
        self.run.say(lifecycle.status_text(journal, self.status_lines(now)))
        more = f"The open operation is: {self.goal_text(journal)}. {now}"
        return {
            **self._told(journal),
            **self.status_fields(journal),
            "changed": False,
            "state": journal["state"],
            "steps": journal["steps"],
            "progress": runner.progress(journal),
            "history": journal["history"],
            "msg": lifecycle.status_line(self.run, journal, more, self.rollback_text(journal)),
        }

    def end_open(self, journal: Result) -> Result:
        """Undo what the open operation did."""
        if self.run.check_mode:
            return self.check_mode_result(journal, lifecycle.ROLLBACK)
        return {
            **self._told(journal),
            **self.take_up(journal, "rollback begins", "the operator requested the rollback"),
            "failed": False,
        }

    def resume_open(self, journal: Result) -> Result:
        """Carry out the rest of the plan, or of its rollback."""
        said = self.resumed_text(journal)
        if said:
            self.run.say(said)
        if self.run.check_mode:
            return self.check_mode_result(journal, lifecycle.RESUME)
        why = "an earlier run began the rollback" if lifecycle.goes_back(journal) else None
        return {**self._told(journal), **self.take_up(journal, "resumed", why)}

    def forward(self, open_journal: OpenJournal) -> Result:
        """Carry out each step that is not done, and close the journal."""
        closed = self._runner(open_journal).forward(open_journal.journal)
        return {
            "changed": True,
            "state": journals.FINISHED,
            **self.ended_fields(closed),
            "msg": self.finished_text(closed),
        }

    def backward(self, open_journal: OpenJournal, why: str, item: t.Optional[findings.Finding] = None) -> Result:
        """Undo each step that is not undone, and close the journal. ``item``: the finding that asked for it."""
        self.run.say(f"rolling back: {why}")
        journal = self._runner(open_journal).backward(open_journal.journal)
        checked = findings.Checked(() if item is None else (item,))
        extra = {} if item is None else {"report": findings.report(checked, self.run.clock.now(), 0, 1)}
        told = {"changed": True, "failed": True, "state": journals.ROLLED_BACK, **self.ended_fields(journal)}
        return {**told, "msg": self.undone_text(journal, why.rstrip(".")), **extra}

    # --- for the operations

    def judged(
        self, checked: findings.Checked, read_at: str, hosts: int, servers: int, ready: t.Optional[bool] = None
    ) -> Result:
        """Return the report. Raises Refused where something stands against it.

        ``ready``: whether all that the plan needs was read; None: it is where nothing was left unchecked.
        """
        report = findings.report(checked, read_at, hosts, servers, self.run.overrides)
        self.run.say(findings_text(checked, self.run.overrides))
        standing = findings.blocking_findings(checked.findings, self.run.overrides)
        if standing or not (not checked.unchecked if ready is None else ready):
            codes = (
                ", ".join(sorted({item.code for item in standing}))
                or "an override cannot replace facts that were not read"
            )
            raise Refused(
                f"refused, and nothing was changed: {codes}", report=findings.as_refused(report), problem="refused"
            )
        return report

    def _told(self, journal: Result) -> Result:
        told = {"operation_id": journal["operation_id"], SHA256: journal["about"].get(SHA256)}
        return {**self.result_fields(journal), **told}

    def _runner(self, open_journal: OpenJournal) -> runner.Runner:
        narrator = Narrator(self.run.say, self.run.systems.monotonic)
        systems = dataclasses.replace(self.run.systems, remark=narrator.remark)
        return runner.Runner(self.run.state, self.actions(systems, open_journal), narrator, self.run.clock.now)
