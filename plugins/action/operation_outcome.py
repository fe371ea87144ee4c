# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How every playbook of this collection ends: workflow, report, summary, and the failure of the run."""

from __future__ import annotations

import datetime
import os
import shutil
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.records import evidence
from ..module_utils.reports.outcome import Outcome
from ..plugin_utils import outcome_files, screen

Result = t.Dict[str, t.Any]

PUBLISH, REPORT, END = "publish", "report", "end"

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "phase": {"type": "str", "required": True, "choices": [PUBLISH, REPORT, END]},
    "operation": {"type": "str", "required": True},
    "result": {"type": "dict", "default": {}},
    "others": {"type": "list", "elements": "dict", "default": []},
    "known": {"type": "dict", "default": {}},
    "keys": {"type": "list", "elements": "str", "default": []},
    "acts": {"type": "bool", "default": True},
    "report_dir": {"type": "path"},
    "report": {"type": "bool", "default": True},
    "files": {"type": "dict", "default": {}},
    "stale": {"type": "list", "elements": "str", "default": []},
    "evidence_dir": {"type": "path"},
}


class ActionModule(ActionBase):
    """Publish the outcome; then write the report, show the summary, and fail with it unless the run succeeded."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Do one of the phases. Ansible takes what is published only from a task that succeeds: so there are two."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        directory = args["report_dir"] and os.path.abspath(os.path.expanduser(str(args["report_dir"])))
        names = ("operation", "result", "known", "keys", "others", "acts")
        outcome = Outcome(**{name: args[name] for name in names}, report_dir=directory, at=_now(), tell=screen.told)
        # Before anything is published: a run whose report cannot be written fails, and its verdict is block.
        if directory:
            outcome = outcome_files.write(outcome, directory, args["files"], args["stale"], args["report"], _now())
        if args["phase"] == PUBLISH:
            stats = {"data": {"stackguard": outcome.published()}, "per_host": False, "aggregate": False}
            return {"changed": False, "ansible_stats": stats}
        if args["evidence_dir"]:
            _remove(str(args["evidence_dir"]))
        if args["phase"] == REPORT:
            return {"changed": False, **({"failed": True, "msg": outcome.unwritten} if outcome.unwritten else {})}
        said = outcome.last_words
        if not outcome.succeeded:
            return {"failed": True, "changed": False, "msg": said}
        # As C(debug) does: the lines of the summary are shown whatever the verbosity.
        return {"changed": False, "msg": said.split("\n"), "_ansible_verbose_always": bool(said)}


def _remove(path: str) -> None:
    """Remove the temporary evidence directory of this run. One that an operator named is not ours."""
    if os.path.basename(path).startswith(evidence.TEMPORARY):
        shutil.rmtree(path, ignore_errors=True)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
