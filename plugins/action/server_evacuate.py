# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_evacuate: options, and the result."""

from __future__ import annotations

import os
import typing as t
import uuid

from ..module_utils.engine import lifecycle
from ..module_utils.evacuation import operation as evacuate
from ..module_utils.evacuation import record as records
from ..module_utils.evacuation.options import (
    ARGUMENTS,
    FIXED,
    removal_problem,
)
from ..module_utils.evacuation.scratch import SCRATCH, CallResult, Scratch
from ..module_utils.model import findings, server_selection
from ..module_utils.model.fences.catalogue import FENCES
from ..module_utils.records import evidence
from ..module_utils.records import journal as journals
from ..module_utils.systems.api.connection import DATABASE_SPEC, OVN_SPEC
from ..module_utils.systems.host import facts
from ..plugin_utils.operation_action import Result, person
from ..plugin_utils.pumped_run import END, PumpedRun


class ActionModule(PumpedRun):
    """Carry out a part of an evacuation, and say what is needed next."""

    SPEC: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {**OVN_SPEC, **DATABASE_SPEC, **ARGUMENTS}
    FIXED: t.ClassVar[t.Dict[str, t.Any]] = FIXED
    PLAYBOOK = "evacuate_host"
    PREFIX = "evacuate_"
    SCRATCH: t.ClassVar[t.Tuple[str, t.Any]] = (SCRATCH, Scratch)

    def problem(self, args: Result) -> t.Optional[str]:
        """Return what cannot be asked for."""
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
        return "; ".join(small) or server_selection.expression_problem(_with_names(args)) or removal_problem(args)

    def kind(self, host: str) -> str:
        """Return the kind of journal of a host."""
        return records.kind_of(host)

    def operation(self, args: Result) -> evacuate.Evacuation:
        """Return the evacuation, which knows the addresses of this machine."""
        operation = evacuate.Evacuation(
            self._run(args), self._connected(args), args["evidence_dir"], lambda: uuid.uuid4().hex[:12]
        )
        operation.controllers = facts.addresses()
        return operation

    def options(self, args: Result) -> Result:
        """Return the options of the run, with who attests."""
        return {**_with_names(args), "attested_by": args["attested_by"] or person(self._task_vars)}

    def named_by(self, args: Result) -> Result:
        """Return the variables that an operator names the evacuation by."""
        return {"evacuate_host": str(args["evacuate_host"]), "evacuate_fence": args["fence"]}

    def ended(self, args: Result, outcome: CallResult) -> Result:
        """Return who arrived, who is left, and whether that is a failure."""
        scratch, report = outcome.scratch, outcome.report or {}
        failed = not (
            scratch.ended_well
            and report["verdict"] != "block"
            and not scratch.left
            and all(entry["state"] != "wrong" for entry in scratch.arrived)
        )
        message = _message(args, scratch, failed)
        if scratch.requests_left:
            message = f"{message.rstrip('.')}. {scratch.requests_left}"
        return {
            "removed_chassis": scratch.removed_chassis,
            "arrived": scratch.arrived,
            "left": scratch.left,
            "failed": failed,
            "msg": message,
        }

    def refused(self, args: Result, message: str, report: Result) -> Result:
        """Return that nobody arrived."""
        return {"removed_chassis": None, "arrived": [], "left": {}}

    def _left(self, args: Result, result: Result, report: Result, scratch: t.Optional[Scratch]) -> Result:
        """Leave the report and the page, and publish the outcome."""
        report = findings.as_refused(report) if result["failed"] and scratch is not None else report
        placements, plan = (scratch.placements, scratch.plan) if scratch is not None else ({}, None)
        self._publish(args, result, report, placements, plan)
        super()._left(args, result if scratch is None else {**result, "plan": plan}, report, scratch)
        return result

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


def _with_names(args: Result) -> Result:
    """Return the arguments with servers that were typed with commas as a list. Commas alone name nobody, not all."""
    given = args["servers"]
    return args if given in (None, "") else {**args, "servers": server_selection.listed(given) or []}


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
        parts.append(f"These servers are still on {args['evacuate_host']}: {_by_value(left)}.")
    if wrong:
        parts.append(
            "These servers left the host, but are not in the expected state. Each server is listed with its current "
            f"host: {_by_value(wrong)}."
        )
    return " ".join([*parts, *(f"{warning}." for warning in scratch.warned)])


def _by_value(entries: t.Mapping[str, t.Any]) -> str:
    """Return names by what is said of them: forty servers with one reason have it once."""
    same: t.Dict[str, t.List[str]] = {}
    for name, value in sorted(entries.items()):
        same.setdefault(str(value), []).append(name)
    return "; ".join(f"{', '.join(names)} ({value})" for value, names in same.items())
