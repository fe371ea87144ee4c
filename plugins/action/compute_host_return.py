# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_return: options, and the result."""

from __future__ import annotations

import typing as t
import uuid

from ..module_utils.engine import lifecycle
from ..module_utils.model import addresses, findings
from ..module_utils.records import journal as journals
from ..module_utils.return_host import operation as return_host
from ..module_utils.return_host import plan as plans
from ..module_utils.systems.api.connection import DATABASE_SPEC
from ..plugin_utils.operation_action import Result
from ..plugin_utils.pumped_run import ADVANCE, BEGIN, END, HOLD, PumpedRun

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


class ActionModule(PumpedRun):
    """Carry out a part of a return, and say what is needed next."""

    SPEC: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {**DATABASE_SPEC, **ARGUMENTS}
    PLAYBOOK = "return_host"
    PREFIX = "return_"
    SCRATCH: t.ClassVar[t.Tuple[str, t.Any]] = (return_host.SCRATCH, return_host.ReturnScratch)

    def problem(self, args: Result) -> t.Optional[str]:
        """Return what cannot be asked for."""
        if addresses.NETADDR_ERROR is not None:
            return addresses.MISSING
        if args["action"] in (lifecycle.APPLY, lifecycle.RESUME) and not args["inventory_name"]:
            return f"action={args['action']} needs inventory_name"
        return None

    def kind(self, host: str) -> str:
        """Return the kind of journal of a host."""
        return plans.kind_of(host)

    def operation(self, args: Result) -> return_host.HostReturn:
        """Return the return, which connects only when it has to."""
        return return_host.HostReturn(
            self._run(args), lambda: self._connected(args), args["evidence_dir"], lambda: uuid.uuid4().hex[:12]
        )

    def ended(self, args: Result, outcome: return_host.ReturnCall) -> Result:
        """Return how it ended, with its report."""
        scratch = outcome.scratch
        return {"failed": not scratch.ended_well, "report": outcome.report, "plan": scratch.plan}

    def refused(self, args: Result, message: str, report: Result) -> Result:
        """Return the report."""
        return {"report": report}

    def shown(self, result: Result) -> Result:
        """Return the result as its page shows it: a host that is clear by an operation has that operation's journal."""
        if result["state"] == return_host.CLEAR:
            return {**result, "state": journals.FINISHED if result["operation_id"] else "none"}
        return result
