# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What actions have in common whose operation asks Ansible for facts and acts, and is called again with the answers."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import from_plain, to_plain
from ..module_utils.records import evidence
from ..module_utils.reports import operation_run
from ..module_utils.systems.api import catalog
from ..module_utils.systems.api.connection import openstack_spec
from . import operation_pages
from .operation_action import CLOCK, ERRORS, OperationAction, Result, Spec, say

BEGIN, ADVANCE, END, HOLD = "begin", "advance", "end", "hold"


class PumpedRun(OperationAction):
    """One call of an operation: its arguments, its scratch, its result. What a subclass says is in its attributes."""

    _connection_to_cloud: t.Any = None

    #: All arguments but those of the connection to the APIs.
    SPEC: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]]
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

    @classmethod
    def spec(cls) -> Spec:
        """Return all arguments."""
        return openstack_spec(**cls.SPEC)

    def succeeded(self, result: Result) -> bool:
        """Return True if the run has ended well. One that has not ended has not, whatever it asks for next."""
        return bool(result.get("ended")) and not result.get("failed", False)

    def called(self, args: Result) -> Result:
        """Take the answers, go on, and return what is needed; or how it ended."""
        args["evidence_dir"] = self._loader.path_dwim(str(args["evidence_dir"]))
        return self._called(args)

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
        return lifecycle.Run(
            state=self._leased(args, mine),
            clock=dataclasses.replace(CLOCK, now=now),
            say=say,
            mine=mine,
            options=self.options(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=bool(self._task.check_mode),
            prefix=self.PREFIX,
            cloud_id=lambda: catalog.cloud_id(self._connected(args)),
            diff=self._shows_diff,
        )

    def _connected(self, args: Result) -> t.Any:
        """Return the connection to the APIs, made once in a call."""
        if self._connection_to_cloud is None:
            self._connection_to_cloud = self._connect(args)
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
        if scratch.diff:
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


def now() -> str:
    """Return the time of now, in UTC, such as 2026-11-29T14:00:00+00:00: proofs are compared by it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
