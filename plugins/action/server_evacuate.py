# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_evacuate: options, clock and journal's place; one call into the operation; the result."""

from __future__ import annotations

import contextlib
import datetime
import getpass
import json
import os
import time
import typing as t
import uuid

from ansible.plugins.action import ActionBase

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.engine.runner import StepError
from ..module_utils.engine.write_lease import LeasedState
from ..module_utils.evacuation import operation as evacuate
from ..module_utils.evacuation import record as records
from ..module_utils.evacuation.options import (
    ARGUMENTS,
    FIXED,
    removal_problem,
)
from ..module_utils.evacuation.scratch import SCRATCH, CallResult, Scratch
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import FactsError, from_plain, to_plain
from ..module_utils.model.fences.catalogue import FENCES
from ..module_utils.model.server_selection import expression_problem
from ..module_utils.records import evidence
from ..module_utils.records import journal as journals
from ..module_utils.reports import operation_run
from ..module_utils.systems.api import catalog, http
from ..module_utils.systems.api.connection import (
    DATABASE_SPEC,
    OVN_SPEC,
    connect,
    openstack_spec,
)
from ..module_utils.systems.host import facts
from ..plugin_utils import operation_pages, screen, without_effect
from .compute_link import state_of

Result = t.Dict[str, t.Any]

BEGIN, ADVANCE, END, HOLD = "begin", "advance", "end", "hold"
ERRORS = (StackguardError, StepError, FactsError, journals.JournalError, findings.OverrideError)


class ActionModule(ActionBase):
    """Carry out a part of an evacuation, and say what is needed next."""

    _supports_check_mode = True
    _supports_async = False
    _connection_to_cloud: t.Any = None
    _lease: t.Optional[LeasedState] = None

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Take the answers, go on, and return what is needed; or how it ended."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(openstack_spec(**OVN_SPEC, **DATABASE_SPEC, **ARGUMENTS))
        args.update(FIXED)
        without_effect.warn(self._task)
        args["evidence_dir"] = self._loader.path_dwim(str(args["evidence_dir"]))
        result = self._called(args)
        # Not of a call that needs something: only an end succeeds or fails.
        return {**result, "succeeded": bool(result.get("ended")) and not result.get("failed", False)}

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
            return self._refused(args, f"{'Nothing was changed. ' if args['phase'] == BEGIN else ''}{error}", "failed")
        return self._answer(args, outcome)

    def _carry_out(self, args: Result) -> CallResult:
        operation = evacuate.Evacuation(
            self._run(args), self._connected(args), args["evidence_dir"], lambda: uuid.uuid4().hex[:12]
        )
        operation.controllers = facts.addresses()
        if args["phase"] == BEGIN:
            return operation.begin()
        scratch = self._scratch(args)
        if args["phase"] == END:
            return operation.leave(scratch, args["answers"], args["failure"] or "")
        return operation.advance(scratch, args["answers"])

    def _held(self, args: Result) -> Result:
        """Fail where another run has the operation: the playbook may have slept before the task that comes next."""
        try:
            run, scratch = self._run(args), self._scratch(args)
            if scratch.owned:
                lifecycle.refuse_lost(run, scratch.kind, scratch.operation_id)
        except ERRORS as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        return {"changed": False}

    def _run(self, args: Result) -> lifecycle.Run:
        options = {**args, "attested_by": args["attested_by"] or _person(self._task_vars)}
        mine = run_owner.whole_playbook(evidence_dir=args["evidence_dir"])
        state = LeasedState(state_of(self, args["state_dir"], self._task_vars), mine, _say)
        self._lease = state
        return lifecycle.Run(
            state=state,
            clock=lifecycle.Clock(_now, time.monotonic, time.time, time.sleep),
            say=_say,
            mine=mine,
            options=options,
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=bool(self._task.check_mode),
            prefix="evacuate_",
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
    def _scratch(args: Result) -> Scratch:
        path = os.path.join(args["evidence_dir"], SCRATCH)
        try:
            with open(path, encoding="utf-8") as stream:
                return from_plain(Scratch, json.load(stream), "scratch")
        except (OSError, ValueError) as error:
            raise StackguardError(
                f"{path}: the file cannot be read ({error}). Run the module with phase=begin first, and keep the "
                "evidence directory until the operation has ended"
            ) from error

    def _answer(self, args: Result, outcome: CallResult) -> Result:
        scratch = outcome.scratch
        evidence.save_part(args["evidence_dir"], SCRATCH, to_plain(scratch))
        result: Result = {
            "changed": scratch.changed,
            "needs": outcome.needs,
            "state": scratch.state or "open",
            "operation_id": scratch.operation_id or None,
            "plan_sha256": scratch.plan_sha256,
            "removed_chassis": scratch.removed_chassis,
            "msg": scratch.message or f"{len(outcome.needs)} needs",
        }
        if outcome.needs or outcome.report is None:
            return result
        result.update(ended=True, arrived=scratch.arrived, left=scratch.left)
        if scratch.diff and (self._play_context.diff or self._task.diff):
            result["diff"] = scratch.diff
        if not self._task.check_mode:
            result["changed"] = scratch.changed
        result["failed"] = not (
            scratch.ended_well
            and outcome.report["verdict"] != "block"
            and not scratch.left
            and all(entry["state"] != "wrong" for entry in scratch.arrived)
        )
        result["msg"] = _message(args, scratch, result["failed"])
        if scratch.requests_left:
            result["msg"] = f"{result['msg'].rstrip('.')}. {scratch.requests_left}"
        report = findings.refused(outcome.report) if result["failed"] else outcome.report
        self._publish(args, result, report, scratch.placements, scratch.plan)
        self._leave_page(args, {**result, "plan": scratch.plan}, report)
        return result

    def _refused(self, args: Result, message: str, state: str = "refused", report: t.Optional[Result] = None) -> Result:
        report = report or lifecycle.undecided(args["evacuate_host"], message, _now())
        result: Result = {
            "changed": False,
            "needs": [],
            "state": state,
            "operation_id": None,
            "plan_sha256": None,
            "removed_chassis": None,
            "failed": True,
            "msg": message,
            "ended": True,
            "arrived": [],
            "left": {},
        }
        self._publish(args, result, report, {}, None)
        self._leave_page(args, result, report)
        return result

    def _leave_page(self, args: Result, result: Result, report: Result) -> None:
        if not args["report_dir"]:
            return
        host, run = str(args["evacuate_host"]), None
        with contextlib.suppress(*ERRORS):
            # What is wrong with it is why the run was refused.
            run = self._run(args)
        keeper = None
        if run is not None:
            kind = records.kind_of(host)
            keeper = operation_pages.Keeper(run.state, kind, run.mine, lambda _journal: lifecycle.ABORT)
        shown = operation_run.OperationRun(
            "evacuate_host",
            "evacuate_",
            {"evacuate_host": host, "evacuate_fence": args["fence"]},
            result,
            report,
            None,
            _now(),
            back=lifecycle.ABORT,
            check_mode=bool(self._task.check_mode),
            overrides=tuple(run.overrides) if run else (),
            cloud=operation_pages.text_of(args.get("cloud")),
            region=operation_pages.text_of(args.get("region_name")),
        )
        operation_pages.leave(str(args["report_dir"]), keeper, shown)

    @staticmethod
    def _publish(args: Result, result: Result, report: Result, placements: Result, plan: t.Optional[Result]) -> None:
        """Leave the report, and publish the outcome to the workflow. Without a place for the report, return it."""
        if args["report_dir"]:
            directory = os.path.abspath(os.path.expanduser(str(args["report_dir"])))
            result["report_file"] = evidence.save_part(directory, "report.json", report)
            evidence.save_part(directory, "placements.json", placements)
        else:
            result.update(report=report, placements=placements, plan=plan)
        outcome = {
            "operation": "evacuate_host",
            "operation_id": result["operation_id"],
            "plan_sha256": result["plan_sha256"],
            "state": result["state"],
            "evacuate_host": args["evacuate_host"],
            "verdict": report["verdict"],
            "counts": report["counts"],
            "landed": result["arrived"],
            "left": result["left"],
            "removed_chassis": result["removed_chassis"],
            "message": result["msg"],
        }
        result["ansible_stats"] = {"data": {"stackguard": outcome}, "per_host": False, "aggregate": False}


def _problem(args: Result) -> t.Optional[str]:
    """Return what can not be asked for."""
    if args["action"] not in (lifecycle.APPLY, lifecycle.RESUME) or args["phase"] == END:
        return None
    fence = args["fence"]
    if fence not in FENCES:
        return f"set fence to one of these values: {', '.join(FENCES)}"
    lacking = [name for name in FENCES[fence].requires if name in ARGUMENTS and not args[name]]
    if lacking:
        return f"fence={fence} needs {', '.join(lacking)}"
    least = {"proof_max_age": 5}
    small = [f"{name} must be {number} or more" for name, number in least.items() if args[name] < number]
    return "; ".join(small) or expression_problem(args) or removal_problem(args)


def _person(task_vars: t.Mapping[str, t.Any]) -> str:
    """Return who runs this: AWX's user, or the account of the controller."""
    for name in ("awx_user_name", "tower_user_name"):
        if task_vars.get(name):
            return str(task_vars[name])
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return ""


def _message(args: Result, scratch: Scratch, failed: bool) -> str:
    if not failed or scratch.state in ("refused", "failed"):
        said = scratch.message or f"{len(scratch.arrived)} servers of {args['evacuate_host']} run on other hosts"
        return f"{said}. OVN chassis {scratch.removed_chassis} is removed" if scratch.removed_chassis else said
    wrong = {entry["name"]: entry["host"] for entry in scratch.arrived if entry["state"] == "wrong"}
    left = {scratch.names.get(uuid, uuid): why for uuid, why in scratch.left.items()}
    said = scratch.message or "Not all servers could be evacuated."
    parts = [said if said.endswith(".") else f"{said}."]
    if scratch.state == journals.OPEN:
        parts.append("The operation is still open. Run the same command again to resume the operation.")
    if left:
        parts.append(f"These servers are still on {args['evacuate_host']}: {json.dumps(left, sort_keys=True)}.")
    if wrong:
        parts.append(
            "These servers left the host, but are not in the expected state. Each server is listed with its current "
            f"host: {json.dumps(wrong, sort_keys=True)}."
        )
    return " ".join([*parts, *(f"{warning}." for warning in scratch.warned)])


def _say(message: str) -> None:
    if message:
        # A plan or findings speak for themselves; of what happens, people want to know when.
        screen.say(message if "\n" in message else f"[{time.strftime('%H:%M:%S')}] {message}")


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
