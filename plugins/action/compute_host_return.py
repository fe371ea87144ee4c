# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_return: options, clock, the journal's place; one call; the result."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import time
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.engine.runner import StepError
from ..module_utils.engine.write_lease import LeasedState
from ..module_utils.model import addresses, findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import FactsError, from_plain, to_plain
from ..module_utils.records import evidence
from ..module_utils.records import journal as journals
from ..module_utils.reports import operation_run
from ..module_utils.return_host import operation as return_host
from ..module_utils.return_host import plan as plans
from ..module_utils.systems.api import catalog, http
from ..module_utils.systems.api.connection import (
    DATABASE_SPEC,
    connect,
    openstack_spec,
)
from ..plugin_utils import operation_pages, screen, without_effect
from .compute_link import state_of

Result = t.Dict[str, t.Any]

BEGIN, ADVANCE, END, HOLD = "begin", "advance", "end", "hold"
ERRORS = (StackguardError, StepError, FactsError, journals.JournalError, findings.OverrideError)

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "return_host": {"type": "str", "required": True},
    "action": {"type": "str", "default": "apply", "choices": list(return_host.ACTIONS)},
    "phase": {"type": "str", "default": ADVANCE, "choices": [BEGIN, ADVANCE, END, HOLD]},
    "answers": {"type": "list", "elements": "dict", "default": []},
    "failure": {"type": "str"},
    "inventory_name": {"type": "str"},
    "evidence_dir": {"type": "path", "required": True},
    "overrides": findings.OPTION,
    "status": {"type": "str", "default": "enabled", "choices": ["enabled", "disabled"]},
    "libvirt_uri": {"type": "str", "default": "qemu:///system"},
    "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
    "take_over": {"type": "bool", "default": False},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
}


class ActionModule(ActionBase):
    """Carry out a part of a return, and say what is needed next."""

    _supports_check_mode = True
    _supports_async = False
    _connection_to_cloud: t.Any = None
    _lease: t.Optional[LeasedState] = None

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Take the answers, go on, and return what is needed; or how it ended."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(openstack_spec(**DATABASE_SPEC, **ARGUMENTS))
        without_effect.warn(self._task)
        args["evidence_dir"] = self._loader.path_dwim(str(args["evidence_dir"]))
        return with_success(self._called(args))

    def _called(self, args: Result) -> Result:
        if args["phase"] == HOLD:
            return self._held(args)
        problem = _problem(args)
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

    def _carry_out(self, args: Result) -> return_host.ReturnCall:
        operation = return_host.HostReturn(
            self._run(args), lambda: self._connected(args), args["evidence_dir"], lambda: uuid.uuid4().hex[:12]
        )
        if args["phase"] == BEGIN:
            return operation.begin()
        scratch = self._scratch(args)
        if args["phase"] == END:
            return operation.leave(scratch, args["failure"] or "")
        return operation.advance(scratch, args["answers"])

    def _held(self, args: Result) -> Result:
        """Fail where another run has the operation: the playbook may have slept before the task that comes next."""
        try:
            run, scratch = self._run(args), self._scratch(args)
            if scratch.owned:
                lifecycle.refuse_lost(run, plans.kind_of(args["return_host"]), scratch.operation_id)
        except ERRORS as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        return {"changed": False}

    def _run(self, args: Result) -> lifecycle.Run:
        mine = run_owner.whole_playbook(evidence_dir=args["evidence_dir"])
        state = LeasedState(state_of(self, args["state_dir"], self._task_vars), mine, _say)
        self._lease = state
        return lifecycle.Run(
            state=state,
            clock=lifecycle.Clock(_now, time.monotonic, time.time, time.sleep),
            say=_say,
            mine=mine,
            options=args,
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=bool(self._task.check_mode),
            prefix="return_",
            cloud_id=lambda: catalog.cloud_id(self._connected(args)),
        )

    def _connected(self, args: Result) -> t.Any:
        """Return the connection to the APIs, made once in a call."""
        if self._connection_to_cloud is None:
            self._connection_to_cloud = connect(args)
            if self._lease is not None:
                http.guard_changes(self._connection_to_cloud, self._lease.check)
        return self._connection_to_cloud

    # --- the run's scratch and what it leaves

    @staticmethod
    def _scratch(args: Result) -> return_host.ReturnScratch:
        path = os.path.join(args["evidence_dir"], return_host.SCRATCH)
        try:
            with open(path, encoding="utf-8") as stream:
                return from_plain(return_host.ReturnScratch, json.load(stream), "scratch")
        except (OSError, ValueError) as error:
            raise StackguardError(
                f"{path}: the file cannot be read ({error}). Run the module with phase=begin first, and keep the "
                "evidence directory until the operation has ended"
            ) from error

    def _answer(self, args: Result, outcome: return_host.ReturnCall) -> Result:
        scratch = outcome.scratch
        evidence.save_part(args["evidence_dir"], return_host.SCRATCH, to_plain(scratch))
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
        result.update(ended=True, failed=not scratch.ended_well, report=outcome.report, plan=scratch.plan)
        if scratch.diff and (self._play_context.diff or self._task.diff):
            result["diff"] = scratch.diff
        self._leave_page(args, result)
        return result

    def _refused(self, args: Result, message: str, state: str = "refused", report: t.Optional[Result] = None) -> Result:
        result: Result = {
            "changed": False,
            "needs": [],
            "state": state,
            "operation_id": None,
            "plan_sha256": None,
            "failed": True,
            "msg": message,
            "ended": True,
            "report": report or lifecycle.undecided(args["return_host"], message, _now()),
        }
        self._leave_page(args, result)
        return result

    def _leave_page(self, args: Result, result: Result) -> None:
        if not args["report_dir"]:
            return
        host, run = str(args["return_host"]), None
        with contextlib.suppress(*ERRORS):
            # What is wrong with it is why the run was refused.
            run = self._run(args)
        keeper = None
        if run is not None:
            keeper = operation_pages.Keeper(run.state, plans.kind_of(host), run.mine, lambda _journal: lifecycle.ABORT)
        shown = operation_run.OperationRun(
            "return_host",
            "return_",
            {"return_host": host},
            _as_of_journal(result),
            result.get("report"),
            None,
            _now(),
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


def _as_of_journal(result: Result) -> Result:
    """Return a result for the page: a host that is clear by an operation has that operation's journal."""
    if result["state"] == return_host.CLEAR:
        return {**result, "state": journals.FINISHED if result["operation_id"] else "none"}
    return result


def _problem(args: Result) -> t.Optional[str]:
    """Return what can not be asked for."""
    if addresses.NETADDR_ERROR is not None:
        return addresses.MISSING
    if args["action"] in (lifecycle.APPLY, lifecycle.RESUME) and not args["inventory_name"]:
        return f"action={args['action']} needs inventory_name"
    return None


def _say(message: str) -> None:
    if message:
        screen.say(message)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
