# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of an operation: begin, resume, leave, ask. One journal, one owner, one way to end and to report.

Only Ansible can read many hosts, delegate and run the operator's own modules. So an operation answers with what it
*needs*, a role provides that and calls again with the answers, until nothing is needed. Between two calls nothing is
remembered but the journal (lasting, on the host that keeps it) and the scratch of this run (on the controller).

:class:`Book` is the open journal in the hands of one run. Each write is compared with what is stored: a run whose
operation another run has taken up can not write, and ends.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.operations import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.steps import runner

Json = t.Dict[str, t.Any]

APPLY, RESUME, STATUS, ABORT = "apply", "resume", "status", "abort"
ACTIONS = (APPLY, RESUME, STATUS, ABORT)


class Refused(StackguardError):  # noqa: N818 (it is what happened, not a mistake)
    """The run ends, and nothing was changed by it. ``data``: more of the result, such as C(report)."""


class Stopped(StackguardError):  # noqa: N818 (it is what happened, not a mistake)
    """The run ends before its end, with its journal open. ``checked``: what stopped it, for the report."""

    def __init__(self, message: str, checked: t.Optional[findings.Checked] = None) -> None:
        super().__init__(message)
        self.checked = checked or findings.Checked()


@dataclasses.dataclass(frozen=True)
class Clock:
    """Time, as a run sees it. ``now``: ISO 8601 with zone, for people and proofs; the others are in seconds."""

    now: t.Callable[[], str]
    monotonic: t.Callable[[], float]
    epoch: t.Callable[[], float]
    sleep: t.Callable[[float], None]


@dataclasses.dataclass(frozen=True)
class Run:
    """What one call of an operation is given."""

    #: The host that keeps the journal.
    state: runner.Host
    clock: Clock
    say: t.Callable[[str], None]
    #: Which process carries the operation out: :func:`run_owner.this_playbook`.
    mine: Json
    options: Json
    overrides: t.Tuple[findings.Override, ...] = ()
    check_mode: bool = False
    #: Before every variable of the playbook that runs, such as C(evacuate_).
    prefix: str = ""

    def variable(self, name: str) -> str:
        """Return an option as the operator types it."""
        return f"{self.prefix}{name}"


# --- journals -------------------------------------------------------------------------------------------------


def open_journals(run: Run) -> t.List[Json]:
    """Return every open journal. Raises StackguardError or StepError where one can not be read."""
    (found,) = run.state.call([{"op": "journal_list"}])
    return [dict(entry) for entry in found["journals"]]


def closed_journals(run: Run, kind: str) -> t.List[Json]:
    """Return the closed journals whose kind is this one or begins with it and a dash, the oldest first."""
    (found,) = run.state.call([{"op": "journal_closed", "kind": kind}])
    return [dict(entry) for entry in found["journals"]]


class Book:
    """The open journal of one operation, in the hands of one run."""

    def __init__(self, run: Run, journal: Json) -> None:
        self.run = run
        self.journal = journal

    # --- begin and resume

    @classmethod
    def open(cls, run: Run, plan: Plan, about: t.Mapping[str, t.Any]) -> Book:
        """Open the journal of a new operation, with its whole plan. Raises where one is open."""
        journal = {**runner.new_journal(plan, about, run.clock.now()), "run": dict(run.mine)}
        run.state.call([{"op": "journal_open", "journal": journal}])
        return cls(run, journal)

    @classmethod
    def take_up(cls, run: Run, journal: Json, take_over: bool, note: str) -> Book:
        """Take an open operation up. Raises StackguardError (SG707) while another run carries it out."""
        run_owner.refuse_while_it_runs(journal, run.mine, take_over, run.variable("take_over"))
        book = cls(run, {**journal, "run": dict(run.mine)})
        book.journal = journals.noted(book.journal, {"at": run.clock.now(), "text": note})
        book.write(before=journal.get("run"))
        return book

    # --- what it says

    @property
    def operation_id(self) -> str:
        """The operation's id."""
        return str(self.journal["operation_id"])

    @property
    def about(self) -> Json:
        """What the operation was begun for."""
        return t.cast("Json", self.journal["about"])

    @property
    def memory(self) -> Json:
        """What later calls need to know."""
        return t.cast("Json", self.journal.get("memory") or {})

    def state_of(self, step: str) -> str:
        """Return the state of a step."""
        return str(self.journal.get("steps", {}).get(step, journals.PENDING))

    # --- writing

    def write(
        self, before: t.Optional[t.Mapping[str, t.Any]] = None, counted: t.Optional[t.Collection[str]] = None
    ) -> t.List[Json]:
        """Write it. Returns what others have in transit that is not in ``counted``: then nothing was written."""
        request: Json = {"op": "journal_put", "journal": self.journal}
        if before is not None:
            request["before"] = dict(before)
        if counted is not None:
            request["counted"] = sorted(counted)
        (answer,) = self.run.state.call([request])
        return list(answer.get("others") or [])

    def mark(self, step: str, state: str, text: t.Optional[str] = None) -> None:
        """Note the state of a step, and write."""
        event = {"at": self.run.clock.now(), "step": step, "step_state": state, "text": text}
        self.journal = journals.noted(self.journal, event)
        self.write()

    def note(self, text: str, state: t.Optional[str] = None) -> None:
        """Note an event, and write. ``state``: of the operation."""
        event = {"at": self.run.clock.now(), "text": text, "state": state}
        self.journal = journals.noted(self.journal, event)
        self.write()

    def remember(self, write: bool = True, **memory: t.Any) -> None:
        """Keep something for later calls."""
        self.journal = {**self.journal, "memory": {**self.memory, **memory}}
        if write:
            self.write()

    def tell(self, **about: t.Any) -> None:
        """Change what the operation is about, and write."""
        self.journal = {**self.journal, "about": {**self.about, **about}}
        self.write()

    def close(self, state: str, text: str) -> None:
        """End the operation and put its journal among the closed ones."""
        self.note(text, state)
        self.run.state.call([{"op": "journal_close", "journal": self.journal}])


# --- status and report ----------------------------------------------------------------------------------------


def status_text(journal: t.Mapping[str, t.Any], more: t.Sequence[str] = ()) -> str:
    """Return what C(status) shows of an open operation."""
    run = journal.get("run") or {}
    lines = [
        f"operation {journal['operation_id']} ({journal['kind']} {journal['subject']}) is {journal['state']}",
        f"begun at {journal['started_at']}, last written at {journal['updated_at']} on {run.get('controller', '?')}",
    ]
    lines += [
        f"{number:3}. {step['state']:9} {step['title']}" for number, step in enumerate(runner.progress(journal), 1)
    ]
    return "\n".join([*lines, *more])


def undecided(subject: str, reason: str, at: str) -> Json:
    """Return the report of a run that decided nothing."""
    checked = findings.Checked(unchecked=(findings.Unchecked("SG709", subject, f"nothing was decided: {reason}"),))
    return findings.refused(findings.report(checked, at, 0, 0))
