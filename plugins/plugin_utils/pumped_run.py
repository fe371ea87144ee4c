# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What actions have in common whose operation asks Ansible for facts and acts, and is called again with the answers."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.engine.runner import StepError
from ..module_utils.engine.write_lease import LeasedState
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import FactsError, from_plain, to_plain
from ..module_utils.records import evidence
from ..module_utils.records import journal as journals
from ..module_utils.reports import operation_run
from ..module_utils.systems.api import catalog, http
from ..module_utils.systems.api.connection import connect, openstack_spec
from . import operation_pages, screen, without_effect
from .journal_host import state_of

Result = t.Dict[str, t.Any]

BEGIN, ADVANCE, END, HOLD = "begin", "advance", "end", "hold"
ERRORS = (StackguardError, StepError, FactsError, journals.JournalError, findings.OverrideError)


class PumpedRun(ActionBase):
    """One call of an operation: its arguments, its scratch, its result. What a subclass says is in its attributes."""

    _supports_check_mode = True
    _supports_async = False
    _connection_to_cloud: t.Any = None
    #: Of :meth:`_run`, which comes first: nothing reaches the APIs without it.
    _lease: LeasedState

    #: All arguments but those of the connection to the APIs.
    SPEC: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]]
    #: What no operator turns, as arguments with one value.
    FIXED: t.ClassVar[t.Dict[str, t.Any]] = {}
    #: The playbook, whose name is that of the argument with the host, too, and what its variables begin with.
    PLAYBOOK: t.ClassVar[str]
    PREFIX: t.ClassVar[str]
    #: What a run remembers between two calls: its file in the evidence directory, and its class.
    SCRATCH: t.ClassVar[t.Tuple[str, t.Any]]

    # --- what an operation says of itself

    def problem(self, args: Result) -> t.Optional[str]:
        """Return what cannot be asked for."""
        raise NotImplementedError

    def kind(self, host: str) -> str:
        """Return the kind of journal of a host."""
        raise NotImplementedError

    def operation(self, args: Result) -> t.Any:
        """Return the operation: C(carry_out), C(advance) and C(leave)."""
        raise NotImplementedError

    def ended(self, args: Result, outcome: t.Any) -> Result:
        """Return what the result of the last call has beside that of every call."""
        raise NotImplementedError

    def refused(self, args: Result, message: str, report: Result) -> Result:
        """Return what the result of a refused call has beside that of every call."""
        raise NotImplementedError

    def options(self, args: Result) -> Result:
        """Return the options of the run."""
        return args

    def named_by(self, args: Result) -> Result:
        """Return the variables that an operator names the operation by."""
        return {self.PLAYBOOK: args[self.PLAYBOOK]}

    def shown(self, result: Result) -> Result:
        """Return the result as its page shows it."""
        return result

    # --- one call

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Take the answers, go on, and return what is needed; or how it ended."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(openstack_spec(**self.SPEC))
        args.update(self.FIXED)
        without_effect.warn(self._task)
        args["evidence_dir"] = self._loader.path_dwim(str(args["evidence_dir"]))
        return with_success(self._called(args))

    def _called(self, args: Result) -> Result:
        if args["phase"] == HOLD:
            return self._held(args)
        problem = self.problem(args)
        if problem is not None:
            return self._refused(args, problem)
        try:
            outcome = self._carry_out(args)
        except lifecycle.Refused as refused:
            return self._refused(args, refused.message, report=refused.data.get("report"))
        except ERRORS as error:
            words = str(error)
            if isinstance(error.__cause__, AnsibleConnectionFailure):
                words = f"{self._task.delegate_to} does not answer Ansible: {error.__cause__}"
            return self._refused(args, f"{'Nothing was changed. ' if args['phase'] == BEGIN else ''}{words}", "failed")
        return self._answer(args, outcome)

    def _carry_out(self, args: Result) -> t.Any:
        operation = self.operation(args)
        if args["phase"] == BEGIN:
            return operation.carry_out()
        scratch = self._scratch(args)
        if args["phase"] == END:
            return operation.leave(scratch, args["answers"], args["failure"] or "")
        return operation.advance(scratch, args["answers"])

    def _held(self, args: Result) -> Result:
        """Fail where another run has the operation: the playbook may have slept before the task that comes next."""
        try:
            run, scratch = self._run(args), self._scratch(args)
            if scratch.owned:
                lifecycle.refuse_lost(run, self.kind(args[self.PLAYBOOK]), scratch.operation_id)
        except ERRORS as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        return {"changed": False}

    def _run(self, args: Result) -> lifecycle.Run:
        mine = run_owner.whole_playbook(evidence_dir=args["evidence_dir"])
        self._lease = state = LeasedState(state_of(self, args["state_dir"], self._task_vars), mine, _say)
        return lifecycle.Run(
            state=state,
            clock=lifecycle.Clock(now, time.monotonic, time.time, time.sleep),
            say=_say,
            mine=mine,
            options=self.options(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=bool(self._task.check_mode),
            prefix=self.PREFIX,
            cloud_id=lambda: catalog.cloud_id(self._connected(args)),
        )

    def _connected(self, args: Result) -> t.Any:
        """Return the connection to the APIs, made once in a call."""
        if self._connection_to_cloud is None:
            connection = connect(args)
            http.guard_changes(connection, self._lease.check, self._lease.fresh)
            self._connection_to_cloud = connection
        return self._connection_to_cloud

    # --- the run's scratch and what it leaves

    def _scratch(self, args: Result) -> t.Any:
        name, cls = self.SCRATCH
        path = os.path.join(args["evidence_dir"], name)
        try:
            with open(path, encoding="utf-8") as stream:
                return from_plain(cls, json.load(stream), "scratch")
        except (OSError, ValueError) as error:
            raise StackguardError(
                f"{path}: the file cannot be read ({error}). Run the module with phase=begin first, and keep the "
                "evidence directory until the operation has ended"
            ) from error

    def _answer(self, args: Result, outcome: t.Any) -> Result:
        scratch = outcome.scratch
        evidence.save_part(args["evidence_dir"], self.SCRATCH[0], to_plain(scratch))
        result: Result = {
            "changed": scratch.changed,
            "needs": outcome.needs,
            "state": scratch.state or "open",
            "operation_id": scratch.operation_id or None,
            "plan_sha256": scratch.plan_sha256,
            "msg": scratch.message or f"{len(outcome.needs)} needs",
        }
        if outcome.needs or outcome.report is None:
            return result
        if scratch.diff and (self._play_context.diff or self._task.diff):
            result["diff"] = scratch.diff
        result = {**result, "ended": True, **self.ended(args, outcome)}
        return self._left(args, result, outcome.report, scratch)

    def _refused(self, args: Result, message: str, state: str = "refused", report: t.Optional[Result] = None) -> Result:
        report = report or lifecycle.undecided(args[self.PLAYBOOK], message, now())
        result: Result = {
            "changed": False,
            "needs": [],
            "state": state,
            "operation_id": None,
            "plan_sha256": None,
            "failed": True,
            "msg": message,
            "ended": True,
            **self.refused(args, message, report),
        }
        return self._left(args, result, report, None)

    def _left(self, args: Result, result: Result, report: Result, scratch: t.Any) -> Result:
        """Leave the page, and return the result."""
        if args["report_dir"]:
            self._leave_page(args, result, report)
        return result

    def _leave_page(self, args: Result, result: Result, report: t.Optional[Result]) -> None:
        run = None
        with contextlib.suppress(*ERRORS):
            # What is wrong with it is why the run was refused.
            run = self._run(args)
        keeper = None
        if run is not None:
            kind = self.kind(str(args[self.PLAYBOOK]))
            keeper = operation_pages.Keeper(run.state, kind, run.mine, lambda _journal: lifecycle.ABORT)
        shown = operation_run.OperationRun(
            self.PLAYBOOK,
            self.PREFIX,
            self.named_by(args),
            self.shown(result),
            report,
            None,
            now(),
            back=lifecycle.ABORT,
            check_mode=bool(self._task.check_mode),
            overrides=tuple(run.overrides) if run else (),
            cloud=operation_pages.text_of(args.get("cloud")),
            region=operation_pages.text_of(args.get("region_name")),
        )
        operation_pages.leave(str(args["report_dir"]), keeper, shown)


def with_success(result: Result) -> Result:
    """Return a result with what a role decides by that prints the summary alone: its task never fails.

    A run that has not ended has not succeeded, whatever it asks for next.
    """
    return {**result, "succeeded": bool(result.get("ended")) and not result.get("failed", False)}


def _say(message: str) -> None:
    if message:
        screen.say(message)


def now() -> str:
    """Return the time of now, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
