# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of doctor_host: keeps what a host answers, with what the controller's clock said before and after.

A host that does not answer is an answer too. One whose Python cannot run the module is asked for its version.
"""

from __future__ import annotations

import json
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils.model import facts
from ..module_utils.model.doctor import ClockOffset, DoctorHost
from ..module_utils.model.doctor_host import HostState
from ..module_utils.records import answers
from ..plugin_utils import screen

MODULE = "stackguard.nova.doctor_host"
_VERSION = "python3 -c 'import json, sys; print(json.dumps(list(sys.version_info[:3])))'"

Result = t.Dict[str, t.Any]


class ActionModule(ActionBase):
    """Run the module on the host, and keep what it returns."""

    _supports_check_mode = True
    _supports_async = False

    @screen.message
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the module's result; with ``evidence_dir`` keep it there instead."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        directory = arguments.pop("evidence_dir", None)
        name = str(arguments.get("inventory_name") or task_vars["inventory_hostname"])
        arguments["inventory_name"] = name
        if not directory:
            return dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        folder = answers.JOURNALS if arguments.get("only_journals") else answers.HOSTS
        keep = _Keeper(str(self._loader.path_dwim(str(directory))), folder, name)
        before = time.time()
        try:
            result = self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars)
        except AnsibleError as error:
            keep.silent("unreachable" if isinstance(error, AnsibleConnectionFailure) else "failed", str(error))
            raise
        after = time.time()
        if result.get("unreachable") or result.get("failed"):
            unreachable = bool(result.get("unreachable"))
            reason = str(result.get("msg") or result.get("module_stderr") or "no reason was given")
            keep.silent("unreachable" if unreachable else "failed", reason, None if unreachable else self._version())
            return dict(result)
        return keep.state(result, before, after)

    def _version(self) -> t.Optional[str]:
        """Ask without a module: it may be the Python that cannot run one."""
        try:
            said = json.loads(str(self._low_level_execute_command(_VERSION)["stdout"]))
            return ".".join(str(int(number)) for number in said)
        except (AnsibleError, ValueError, TypeError, KeyError):
            return None


class _Keeper:
    """Where the answer of a host goes."""

    def __init__(self, directory: str, folder: str, name: str) -> None:
        self._directory, self._folder, self._name = directory, folder, name

    def silent(self, kind: str, reason: str, python: t.Optional[str] = None) -> None:
        answer = DoctorHost(self._name, None, None, kind, " ".join(reason.split()), python)
        answers.save(self._directory, self._folder, answer)

    def state(self, result: t.Mapping[str, t.Any], before: float, after: float) -> Result:
        try:
            state = facts.from_plain(HostState, result["state"], MODULE)
        except (facts.FactsError, KeyError) as error:
            self.silent("failed", f"the answer of the host cannot be parsed: {error}")
            return {"failed": True, "changed": False, "msg": f"the host's answer cannot be parsed: {error}"}
        answer = DoctorHost(self._name, state, ClockOffset.between(before, state.began, state.ended, after))
        answers.save(self._directory, self._folder, answer)
        return {"changed": False, "inventory_name": self._name, "unread": [item.part for item in state.unread]}
