# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a plan, step by step, with a journal that lives on the compute host.

A step is marked ``applying`` before anything of it is done and ``done`` after it was verified. So a run that is
killed at any instant leaves a journal that says, for each step, "not begun", "perhaps begun" or "done"; every
action is idempotent and guarded by the values that were read, so "perhaps begun" is simply carried out again, or
taken back. Running the same command again therefore ends with everything new; C(rollback) with everything old.

The runner knows neither Ansible nor Nova. It talks to a :class:`Host` (requests carried out on the compute host,
several in one round trip) and to :class:`Actions` (databases and APIs, on the controller). What they raise as
:class:`StepError` stops the run where it is, with the journal open.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import from_plain, to_plain
from ..model.findings import Checked
from ..model.plan import HOST, Plan, Step
from ..model.problems import ProblemError
from ..records import journal as journals

Request = t.Dict[str, t.Any]
Result = t.Dict[str, t.Any]


class StepError(ProblemError):
    """A step that failed. ``changed_meanwhile``: what was read before is no longer so, and the step changed nothing."""

    #: Why, where findings say it: they belong in the report.
    checked = Checked()

    def __init__(
        self,
        message: str,
        changed_meanwhile: bool = False,
        checked: t.Optional[Checked] = None,
        problem: str = "",
    ) -> None:
        super().__init__(message, problem)
        self.changed_meanwhile = changed_meanwhile
        if checked is not None:
            self.checked = checked


class TimedOutError(StepError):
    """What a step waited for did not happen in time."""


@dataclasses.dataclass(frozen=True)
class Done:
    """How a controller step ended: a remark for people, and what later steps need to know (plain data)."""

    remark: t.Optional[str] = None
    memory: t.Optional[t.Mapping[str, t.Any]] = None


class Host(t.Protocol):
    """The compute host. Requests are carried out in order; the first that fails ends them with a StepError."""

    def call(self, requests: t.Sequence[Request]) -> t.List[Result]:
        """Carry out requests and return their results in the same order."""


class Action(t.Protocol):
    """What one kind of controller step does. All of it idempotent, all of it guarded."""

    def apply(self, params: t.Mapping[str, t.Any], memory: t.Mapping[str, t.Any]) -> Done:
        """Do it and prove it. ``memory``: what earlier steps noted, by step name."""

    def undo(self, params: t.Mapping[str, t.Any]) -> t.Optional[Done]:
        """Take it back, whether it was done wholly, partly or not at all. Returns what there is to tell of it."""


@t.runtime_checkable
class Repeatable(t.Protocol):
    """An action that has something to do before it is carried out again, by a run that resumes."""

    def again(self, params: t.Mapping[str, t.Any], memory: t.Mapping[str, t.Any]) -> None:
        """Make ready for another try."""


@t.runtime_checkable
class Remembering(t.Protocol):
    """An action that is undone by what its steps noted."""

    def recall(self, memory: t.Mapping[str, t.Any]) -> None:
        """Take note of what steps of this operation have remembered, right before it is undone."""


class Voice(t.Protocol):
    """Progress, for people."""

    def begin(self, number: int, total: int, title: str, undo: bool) -> None:
        """Say that a step begins."""

    def remark(self, text: str) -> None:
        """Say something about the step in progress."""

    def end(self, text: str) -> None:
        """Say how the step ended."""


#: Steps that change nothing Nova could stumble over if the host rebooted now: undone at once when a later one refuses.
QUIET_ACTIONS = (
    *("service_status", "stop_units", "ports_home", "lock_guests", "settle", "no_evacuation"),
    *("drain_queues", "guests", "set_aside", "libvirt_name"),
)


class Runner:
    """Carries out one plan. ``now`` returns an ISO 8601 time; it is only written down, never decided by."""

    def __init__(
        self,
        host: Host,
        actions: t.Mapping[str, Action],
        voice: Voice,
        now: t.Callable[[], str],
        still_ours: t.Callable[[], None] = lambda: None,
        poll: t.Callable[[], None] = lambda: None,
        revise: t.Callable[[Plan], Plan] = lambda plan: plan,
    ) -> None:
        self.host = host
        self.actions = actions
        self.voice = voice
        self.now = now
        self.still_ours = still_ours
        self.poll = poll
        self.revise = revise

    # --- what an operator asks for

    def forward(self, journal: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        """Carry on with every step that is not done."""
        plan = self._known(journal)
        if journal["state"] == journals.FINISHED:
            # Killed between the last write and the journal's way to the closed ones: nothing is left to do.
            return self._close(journal, journals.FINISHED)
        if journal["state"] != journals.OPEN:
            raise StepError(
                f"operation {plan.operation_id} is {journal['state']}: only a rollback can end this operation",
                problem="only-rollback",
            )
        for number, step in enumerate(plan.steps, 1):
            if journal["steps"].get(step.name) == journals.DONE:
                continue
            try:
                journal = self._apply(journal, step, number, len(plan.steps))
            except StepError as error:
                if error.changed_meanwhile and _only_quiet_steps(plan, journal):
                    self.voice.end("a value has changed since the run read it")
                    self.voice.remark("the run has made only preparations so far, and now undoes these preparations")
                    self.backward(journal)
                    # ansible-test's pylint does not find the class of an error through a relative import.
                    raise StepError(  # pylint: disable=bad-exception-cause
                        f"{error}. The run had made only preparations, such as the stop of nova-compute. The run has "
                        "undone these preparations, so everything is as before the run. Run the same command again.",
                        problem="preparations-undone",
                    ) from error
                raise
        return self._close(journal, journals.FINISHED)

    def backward(self, journal: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        """Take back every step that was begun, the last one first."""
        plan = self._known(journal)
        journal = self._note(journal, state=journals.ROLLING_BACK)
        begun = [
            step
            for step in plan.steps
            if journal["steps"].get(step.name) not in (None, journals.PENDING, journals.UNDONE)
        ]
        for number, step in enumerate(reversed(begun), 1):
            self.voice.begin(number, len(begun), step.title, undo=True)
            journal, told = self._undo(journal, step)
            self.voice.end(told or "undone")
        return self._close(journal, journals.ROLLED_BACK)

    def _known(self, journal: t.Mapping[str, t.Any]) -> Plan:
        """Return the journal's plan. Raises StepError for one that another version of the collection made."""
        plan = self.revise(plan_of(journal))
        unknown = sorted({step.action for step in plan.steps if step.where != HOST} - set(self.actions))
        if unknown:
            raise StepError(
                f"SG706 operation-open: another version of this collection began operation {plan.operation_id}. This "
                f"version of the collection does not know these steps of the operation: {', '.join(unknown)}. Nothing "
                f"was changed. End the operation with {journals.finisher(journal, str(journal['kind']))}",
                problem="other-version",
            )
        return plan

    # --- one step

    def _apply(self, journal: t.Dict[str, t.Any], step: Step, number: int, total: int) -> t.Dict[str, t.Any]:
        self.still_ours()
        self.voice.begin(number, total, step.title, undo=False)
        begin = self._event(step=step.name, step_state=journals.APPLYING)
        begun_before = journal["steps"].get(step.name) == journals.APPLYING
        journal = journals.noted(journal, begin)
        if step.where == HOST:
            remark, end = self._apply_on_host(journal, step, begin)
        else:
            self.host.call([mark_request(journal, begin)])
            action = self.actions[step.action]
            if begun_before and isinstance(action, Repeatable):
                action.again(step.params, journal.get("memory", {}))
            done = action.apply(step.params, journal.get("memory", {}))
            remark = done.remark
            end = self._event(step=step.name, step_state=journals.DONE, text=remark, memory=done.memory)
            self.host.call([mark_request(journal, end)])
        self.voice.end(remark or "done")
        return journals.noted(journal, end)

    def _apply_on_host(
        self, journal: t.Dict[str, t.Any], step: Step, begin: Request
    ) -> t.Tuple[t.Optional[str], Request]:
        """Mark, act, prove and mark again: one round trip, except for a stop, which may take minutes."""
        what = {"action": step.action, "params": step.params}
        verify: Request = {"op": "verify", **what}
        if step.action == "stop_units":
            self.host.call([mark_request(journal, begin), {"op": "stop_begin", **what}])
            self._wait_for_stop(what)
            # Where the log stands now, its next line is the next start's: also after a crash and a resume.
            results = self.host.call([verify, *self._log_mark(step)])
            end = self._event(step=step.name, step_state=journals.DONE, memory=results[-1].get("mark"))
            self.host.call([mark_request(journal, end)])
            return _remark(results), end
        end = self._event(step=step.name, step_state=journals.DONE)
        results = self.host.call(
            [mark_request(journal, begin), {"op": "apply", **what}, verify, mark_request(journal, end)]
        )
        return _remark(results), end

    def _wait_for_stop(self, what: t.Mapping[str, t.Any]) -> None:
        said = 0
        while True:
            (result,) = self.host.call([{"op": "stop_poll", **what}])
            if result["stopped"]:
                return
            seconds = int(result.get("seconds", 0))
            if seconds > int(what["params"]["timeout"]):
                raise StepError(
                    f"the service has not stopped after {seconds} s: {result.get('state')}",
                    problem="service-not-stopped",
                )
            if seconds >= said + 10:
                said = seconds
                self.voice.remark(f"waiting for the service to stop: {seconds} s ({result.get('state')})")
                # The connection that holds the lock must not look idle to a balancer.
                self.still_ours()
            self.poll()

    @staticmethod
    def _log_mark(step: Step) -> t.List[Request]:
        if "log_file" not in step.params:
            return []
        units = step.params["units"]
        unit = units[0]["name"] if units else None
        return [{"op": "log_mark", "log_file": step.params["log_file"], "unit": unit}]

    def _undo(self, journal: t.Dict[str, t.Any], step: Step) -> t.Tuple[t.Dict[str, t.Any], t.Optional[str]]:
        self.still_ours()
        told: t.Optional[str] = None
        begin = self._event(step=step.name, step_state=journals.UNDOING)
        journal = journals.noted(journal, begin)
        end = self._event(step=step.name, step_state=journals.UNDONE)
        if step.where == HOST:
            undo = {"op": "undo", "action": step.action, "params": step.params}
            self.host.call([mark_request(journal, begin), undo, mark_request(journal, end)])
        else:
            self.host.call([mark_request(journal, begin)])
            action = self.actions[step.action]
            if isinstance(action, Remembering):
                action.recall(journal.get("memory", {}))
            done = action.undo(step.params)
            if done is not None:
                told = done.remark
                end = self._event(step=step.name, step_state=journals.UNDONE, text=told, memory=done.memory)
            self.host.call([mark_request(journal, end)])
        return journals.noted(journal, end), told

    # --- the journal

    def _event(self, **fields: t.Any) -> Request:
        return {"at": self.now(), **{key: value for key, value in fields.items() if value is not None}}

    def _note(self, journal: t.Dict[str, t.Any], **fields: t.Any) -> t.Dict[str, t.Any]:
        event = self._event(**fields)
        self.host.call([mark_request(journal, event)])
        return journals.noted(journal, event)

    def _close(self, journal: t.Dict[str, t.Any], state: str) -> t.Dict[str, t.Any]:
        journal = journals.noted(journal, self._event(state=state))
        self.host.call([{"op": "journal_close", "journal": journal}])
        return journal


def mark_request(journal: t.Mapping[str, t.Any], event: Request) -> Request:
    """Return the request that notes an event in an open journal, if the run that it names still has it."""
    request: Request = {"op": "journal_mark", "kind": journal["kind"], "operation_id": journal["operation_id"]}
    run = {"run": dict(journal["run"])} if journal.get("run") else {}
    return {**request, **run, "note": event}


def new_journal(plan: Plan, about: t.Mapping[str, t.Any], at: str) -> t.Dict[str, t.Any]:
    """Return the journal of a plan of which nothing is done. The plan in it is what a rollback works from."""
    return {
        "schema": journals.SCHEMA,
        "kind": plan.kind,
        "operation_id": plan.operation_id,
        "subject": plan.subject,
        "state": journals.OPEN,
        "started_at": at,
        "updated_at": at,
        "about": dict(about),
        "plan": to_plain(plan),
        "steps": {step.name: journals.PENDING for step in plan.steps},
        "history": [{"at": at, "text": "opened"}],
    }


def plan_of(journal: t.Mapping[str, t.Any]) -> Plan:
    """Return the plan that a journal keeps."""
    return from_plain(Plan, journal["plan"], "journal.plan")


def progress(journal: t.Mapping[str, t.Any]) -> t.List[t.Dict[str, str]]:
    """Return each step's name, title and state, in order: what C(status) shows."""
    states = journal["steps"]
    return [
        {"name": step.name, "title": step.title, "state": states.get(step.name, journals.PENDING)}
        for step in plan_of(journal).steps
    ]


def _remark(results: t.Sequence[Result]) -> t.Optional[str]:
    remarks = [str(result["remark"]) for result in results if result.get("remark")]
    return remarks[-1] if remarks else None


def _only_quiet_steps(plan: Plan, journal: t.Mapping[str, t.Any]) -> bool:
    """Whether nothing but quiet steps is begun. ``journal``: as it was before the step that failed was tried.

    That try says that it changed nothing. An earlier run, killed within the same step, may have changed much.
    """
    begun = [step for step in plan.steps if journal["steps"].get(step.name) not in (None, journals.PENDING)]
    return all(step.action in QUIET_ACTIONS for step in begun)
