# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_link: the databases are reached from here, the journal is kept on the task's host."""

from __future__ import annotations

import datetime
import time
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.engine.runner import Host
from ..module_utils.hazards.link_rules import REPAIRABLE
from ..module_utils.links import operation as repair_links
from ..module_utils.links.plan import KIND, LinkRequest
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import SCHEMA, Bundle, FactsError
from ..module_utils.records import evidence
from ..module_utils.records import journal as journals
from ..module_utils.systems.api.connection import database_spec
from ..module_utils.systems.db import engine
from ..module_utils.systems.host.steps import HostRunner
from ..plugin_utils import screen

#: What the operation is given by name; the rest is in its request.
OPTIONS = ("action", "nova_api_db_url", "nova_cell_db_urls", "neutron_db_url", "report_dir", "expect_plan")
STEP_MODULE = "stackguard.nova.compute_host_step"

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "action": {"type": "str", "default": "apply", "choices": ["apply", "resume", "status", "rollback"]},
    "hosts": {"type": "list", "elements": "str"},
    "codes": {"type": "list", "elements": "str", "default": list(REPAIRABLE)},
    "batch_size": {"type": "int", "default": 1000},
    "max_rows": {"type": "int", "default": 1000, "aliases": ["limit"]},
    "operation_id": {"type": "str", "aliases": ["operation"]},
    "evidence_dir": {"type": "path"},
    "overrides": findings.OPTION,
    "fail_when_left": {"type": "bool", "default": True},
    "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
}


class LocalState:
    """The journal on this very machine: no module has to be started for each batch."""

    def __init__(self, state_dir: str, check_mode: bool) -> None:
        self._runner = HostRunner(state_dir, check_mode)

    def call(self, requests: t.Sequence[t.Dict[str, t.Any]]) -> t.List[t.Dict[str, t.Any]]:
        """Carry out requests. Raises StackguardError for the first that fails."""
        outcome = self._runner.run(requests)
        if outcome.error is not None:
            raise StackguardError(f"the journal: {outcome.error}", problem="journal-unreadable")
        return outcome.results


class RemoteState:
    """The journal on a host that Ansible reaches."""

    def __init__(self, execute: t.Callable[[t.Dict[str, t.Any]], t.Dict[str, t.Any]], state_dir: str) -> None:
        self._execute = execute
        self._state_dir = state_dir

    def call(self, requests: t.Sequence[t.Dict[str, t.Any]]) -> t.List[t.Dict[str, t.Any]]:
        """Carry out requests. Raises StackguardError for the first that fails."""
        try:
            result = self._execute({"requests": list(requests), "state_dir": self._state_dir})
        except AnsibleConnectionFailure as error:
            raise StackguardError(f"the host that keeps the journal does not answer: {error}") from error
        if result.get("unreachable") or result.get("failed"):
            raise StackguardError(f"the journal: {result.get('msg')}")
        return list(result["results"])


def state_of(action: ActionBase, state_dir: str, task_vars: t.Mapping[str, t.Any]) -> Host:
    """Return the host that keeps the journal: the one that the task runs on."""
    if action._connection.transport == "local" and not action._play_context.become:
        return LocalState(state_dir, bool(action._task.check_mode))
    return RemoteState(
        lambda arguments: dict(
            action._execute_module(module_name=STEP_MODULE, module_args=arguments, task_vars=task_vars)
        ),
        state_dir,
    )


class ActionModule(ActionBase):
    """Repair links, or take a repair back."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Run the action that was asked for."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(database_spec(**ARGUMENTS))
        if engine.SQLALCHEMY_ERROR is not None:
            return {"failed": True, "msg": "the Python library SQLAlchemy is not installed on the Ansible controller"}
        state = state_of(self, args["state_dir"], self._task_vars)
        try:
            result = self._dispatch(args, state)
        except lifecycle.Refused as refused:
            result = {"failed": True, "changed": False, "state": "refused", "msg": refused.message, **refused.data}
        except (StackguardError, journals.JournalError, FactsError, findings.OverrideError) as error:
            result = {"failed": True, "changed": False, "msg": str(error), **self._where_it_stands(state)}
        incomplete = result.pop("incomplete", False)
        # In check mode wrong links are what was asked for; what was not read is missing there as well.
        unread = bool(result.get("remaining", {}).get("not_looked_at"))
        if args["fail_when_left"] and (unread if self._task.check_mode else incomplete):
            # Everything was done that could be, and told. It is just not to be read as "all is right".
            result["failed"] = True
        if not (self._play_context.diff or self._task.diff):
            result.pop("diff", None)
        # The role fails with the summary alone, in a task of its own, when this is not there or not true.
        return {**result, "succeeded": not result.get("failed", False)}

    def _dispatch(self, args: t.Dict[str, t.Any], state: Host) -> t.Dict[str, t.Any]:
        run = repair_links.RepairRun(
            state=state,
            clock=lifecycle.Clock(_now, time.monotonic, time.time, time.sleep),
            say=screen.say,
            mine=run_owner.this_run(),
            options={name: args[name] for name in OPTIONS},
            overrides=findings.parse_overrides(args["overrides"]),
            check_mode=bool(self._task.check_mode),
            prefix="repair_",
            cloud_id=lambda: repair_links.cells_of(args),
            bundle=self._bundle(args["evidence_dir"]),
            operation_id=uuid.uuid4().hex[:12],
        )
        for name in ("codes", "hosts"):
            if args[name] is not None and not args[name]:
                raise StackguardError(f"{name}: the list is empty. To select all {name}, do not set this option")
        codes, hosts = (tuple(dict.fromkeys(args[name] or ())) for name in ("codes", "hosts"))
        request = LinkRequest(hosts, codes, args["batch_size"], args["max_rows"])
        return repair_links.carry_out(run, request, args["action"], args["operation_id"])

    @staticmethod
    def _bundle(directory: t.Optional[str]) -> Bundle:
        if directory is None:
            return Bundle(SCHEMA, "", {}, {}, None, None)
        try:
            return evidence.load_dir(directory)
        except evidence.NoEvidenceError:
            # No host was to be read, and no cloud: nothing is proven, and the findings say so.
            return Bundle(SCHEMA, "", {}, {}, None, None)

    @staticmethod
    def _where_it_stands(state: Host) -> t.Dict[str, t.Any]:
        try:
            (found,) = state.call([{"op": "journal_read", "kind": KIND}])
        except (StackguardError, journals.JournalError):
            return {"state": "unknown"}
        journal = found.get("journal")
        if journal is None:
            return {"state": "none"}
        screen.say(
            f"Operation {journal['operation_id']} is open. Run the same command again to resume the operation, or "
            "run the command with -e repair_action=rollback to undo the operation."
        )
        return {"state": journal["state"], "operation_id": journal["operation_id"]}


def _now() -> str:
    # Microseconds: the last of several repairs is the one that a rollback takes back.
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds")
