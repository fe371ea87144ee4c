# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of return_plan: may nova-compute start on a host that was evacuated, and what goes before?"""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.stackguard.nova.plugins.module_utils.model import addresses, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import FactsError
from ansible_collections.stackguard.nova.plugins.module_utils.operations.return_host import Result, ReturnRun

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "return_host": {"type": "str", "required": True},
    "inventory_name": {"type": "str", "required": True},
    "ceph_names": {"type": "list", "elements": "str", "default": []},
    "evidence_dir": {"type": "path", "required": True},
    "overrides": findings.OPTION,
    "journals": {"type": "list", "elements": "dict", "default": []},
    "closed_journals": {"type": "list", "elements": "dict", "default": []},
    "status": {"type": "str", "default": "enabled", "choices": ["enabled", "disabled"]},
    "libvirt_uri": {"type": "str", "default": "qemu:///system"},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
}


class ActionModule(ActionBase):
    """Judge from the evidence, and plan."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the plan, or every reason why not."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        if addresses.NETADDR_ERROR is not None:
            return {"failed": True, "changed": False, "msg": addresses.MISSING}
        run = ReturnRun(
            args,
            self._loader.path_dwim(str(args["evidence_dir"])),
            Display().display,
            bool(self._task.check_mode),
            bool(self._play_context.diff or self._task.diff),
        )
        try:
            result = run.judged()
        except (FactsError, StackguardError, findings.OverrideError) as error:
            result = {"failed": True, "changed": False, "state": "refused", "msg": str(error)}
        # A role that prints the summary alone keeps the task from failing, and decides by this.
        return {**result, "succeeded": not result.get("failed", False)}
