# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_link: the databases are reached from here, the journal is kept on the task's host."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t
import uuid

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.engine.runner import Host
from ..module_utils.hazards.link_rules import REPAIRABLE
from ..module_utils.links import operation as repair_links
from ..module_utils.links.plan import KIND, LinkRequest
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import SCHEMA, Bundle
from ..module_utils.records import evidence
from ..module_utils.systems.api.connection import database_spec
from ..module_utils.systems.db import engine
from ..plugin_utils import screen
from ..plugin_utils.journal_host import state_of
from ..plugin_utils.operation_action import CLOCK, ERRORS, OperationAction, Result, Spec

#: What the operation is given by name; the rest is in its request.
OPTIONS = ("action", "nova_api_db_url", "nova_cell_db_urls", "neutron_db_url", "report_dir", "expect_plan")

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


class ActionModule(OperationAction):
    """Repair links, or take a repair back."""

    @classmethod
    def spec(cls) -> Spec:
        """Return all arguments: databases, and no API."""
        return database_spec(**ARGUMENTS)

    def called(self, args: Result) -> Result:
        """Run the action that was asked for."""
        if engine.SQLALCHEMY_ERROR is not None:
            return {"failed": True, "msg": "the Python library SQLAlchemy is not installed on the Ansible controller"}
        # No lease: a lock in the database keeps a second run out.
        state = state_of(self, args["state_dir"], self._task_vars)
        try:
            result = self._dispatch(args, state)
        except lifecycle.Refused as refused:
            result = {"failed": True, "changed": False, "state": "refused", "msg": refused.message, **refused.data}
        except ERRORS as error:
            result = {"failed": True, "changed": False, "msg": str(error), **self._where_it_stands(state)}
        incomplete = result.pop("incomplete", False)
        # In check mode wrong links are what was asked for; what was not read is missing there as well.
        unread = bool(result.get("remaining", {}).get("not_looked_at"))
        if args["fail_when_left"] and (unread if self._task.check_mode else incomplete):
            # Everything was done that could be, and told. It is just not to be read as "all is right".
            result["failed"] = True
        return result

    def _dispatch(self, args: Result, state: Host) -> Result:
        run = repair_links.RepairRun(
            state=state,
            # Microseconds: the last of several repairs is the one that a rollback takes back.
            clock=dataclasses.replace(CLOCK, now=_now),
            say=screen.say,
            mine=run_owner.this_run(),
            options={name: args[name] for name in OPTIONS},
            overrides=findings.parse_overrides(args["overrides"]),
            check_mode=bool(self._task.check_mode),
            prefix="repair_",
            cloud_id=lambda: repair_links.cells_of(args),
            diff=self._shows_diff,
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
        except ERRORS:
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
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds")
