# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What actions have in common that reach APIs and databases from here, and keep their journal on the task's host."""

from __future__ import annotations

import datetime
import functools
import time
import typing as t
import uuid

from ansible.plugins.action import ActionBase

from ..module_utils.engine import lifecycle, run_owner, server_run
from ..module_utils.engine.runner import Host, StepError
from ..module_utils.engine.systems import Systems
from ..module_utils.engine.write_lease import LeasedState
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import FactsError
from ..module_utils.records import journal as journals
from ..module_utils.reports import operation_run
from ..module_utils.systems.api import catalog, http
from ..module_utils.systems.api.connection import (
    DATABASE_SPEC,
    connect,
    openstack_spec,
)
from ..module_utils.systems.db import engine
from . import operation_pages, screen, without_effect
from .journal_host import state_of


class JournaledRun(ActionBase):
    """Arguments, a connection, a journal, and how a run ends."""

    _supports_check_mode = True
    _supports_async = False

    #: Its own arguments; those of all are in ``COMMON``.
    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]]
    COMMON: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "take_over": {"type": "bool", "default": False},
        "overrides": findings.OPTION,
        "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
        "report_dir": {"type": "path"},
        "expect_plan": {"type": "str"},
        "nova_api_db_url": DATABASE_SPEC["nova_api_db_url"],
    }
    #: What no operator turns, as arguments with one value, each with its reason.
    FIXED: t.ClassVar[t.Dict[str, t.Any]] = {}
    #: What a rollback does.
    BACK = lifecycle.UNDO
    ACTIONS: t.ClassVar[t.Tuple[str, ...]] = ("apply", "resume", "status", "rollback")

    @classmethod
    def arguments(cls) -> t.Dict[str, t.Dict[str, t.Any]]:
        """Return all arguments, those of the connection left out."""
        action = {"type": "str", "default": "apply", "choices": list(cls.ACTIONS)}
        return {"action": action, **cls.COMMON, **cls.ARGUMENTS}

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Run the action that was asked for."""
        super().run(tmp, task_vars)
        result = self._result(task_vars)
        # A role that prints the summary alone keeps the task from failing, and decides by this.
        return {**result, "succeeded": not result.get("failed", False)}

    def _result(self, task_vars: t.Any) -> t.Dict[str, t.Any]:
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(openstack_spec(**self.arguments()))
        args.update(self.FIXED)
        without_effect.warn(self._task)
        problem = self._check(args)
        if problem is not None:
            return {"failed": True, "changed": False, "msg": problem}
        if args["nova_api_db_url"] and engine.SQLALCHEMY_ERROR is not None:
            return {"failed": True, "msg": "the Python library SQLAlchemy is not installed on the Ansible controller"}
        began, run = now(), None
        try:
            run = self._run_of(args)
            result = self._carry_out(run)
        except lifecycle.Refused as refused:
            result = {"failed": True, "changed": False, "state": "refused", "msg": refused.message, **refused.data}
        except (StackguardError, StepError, FactsError, journals.JournalError, findings.OverrideError) as error:
            result = {"failed": True, "changed": False, "state": "unknown", "msg": f"{error}. {self._carry_on(args)}"}
        if args["report_dir"]:
            self._leave_page(args, run, result, began)
        if not (self._play_context.diff or self._task.diff):
            result.pop("diff", None)
        return result

    # --- its page

    def _named_by(self, args: t.Dict[str, t.Any]) -> t.Tuple[str, t.Dict[str, t.Any]]:
        """Return the playbook, and the variables that an operator names the operation by. No playbook: no page."""
        return "", {}

    def _kind(self, run: server_run.ServerRun) -> str:
        """Return the kind of its journal."""
        raise NotImplementedError

    def _back(self, run: server_run.ServerRun, journal: t.Dict[str, t.Any]) -> t.Optional[str]:
        """Return the action that ends an open operation without the rest; None: there is none any more."""
        return lifecycle.ROLLBACK

    def _leave_page(
        self, args: t.Dict[str, t.Any], run: t.Optional[server_run.ServerRun], result: t.Dict[str, t.Any], began: str
    ) -> None:
        playbook, variables = self._named_by(args)
        if not playbook:
            return
        keeper = None
        if run is not None:
            back = functools.partial(self._back, run)
            keeper = operation_pages.Keeper(run.state, self._kind(run), run.mine, back)
        shown = operation_run.OperationRun(
            playbook,
            self._prefix(args),
            variables,
            result,
            result.get("report"),
            None,
            now(),
            check_mode=bool(self._task.check_mode),
            overrides=tuple(run.overrides) if run is not None else (),
            cloud=operation_pages.text_of(args.get("cloud")),
            region=operation_pages.text_of(args.get("region_name")),
            began=began,
        )
        operation_pages.leave(str(args["report_dir"]), keeper, shown)

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        """Return what is wrong with the arguments."""
        raise NotImplementedError

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        """Do it. Raises what :meth:`run` reports."""
        raise NotImplementedError

    def _carry_on(self, args: t.Dict[str, t.Any]) -> str:
        """Return how to resume or to end what was begun, for people."""
        return (
            "If the journal of the operation is open, run the same command again to resume the operation, or run the "
            f"command with {self._prefix(args)}action=rollback to {self.BACK}"
        )

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        """Return what stands before the variables of the playbook that runs."""
        raise NotImplementedError

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        return run_owner.this_run()

    def _run_of(self, args: t.Dict[str, t.Any]) -> server_run.ServerRun:
        connection = connect(args)
        systems = Systems(args, t.cast("t.Any", None), {}, time.sleep, time.monotonic, _connection=connection)
        state = LeasedState(state_of(self, args["state_dir"], self._task_vars), self._mine(args), _say)
        systems.still_ours, systems.fresh = state.check, state.fresh
        http.guard_changes(connection, state.check, state.fresh)
        return server_run.ServerRun(**self._given(args, state, systems))

    def _given(self, args: t.Dict[str, t.Any], state: Host, systems: Systems) -> t.Dict[str, t.Any]:
        """Return what every run is given."""
        return {
            "state": state,
            "clock": lifecycle.Clock(now, time.monotonic, time.time, time.sleep),
            "say": _say,
            "mine": self._mine(args),
            "options": args,
            "overrides": findings.parse_overrides(args["overrides"]),
            "check_mode": bool(self._task.check_mode),
            "prefix": self._prefix(args),
            "cloud_id": lambda: catalog.cloud_id(systems.cloud),
            "systems": systems,
            "operation_id": uuid.uuid4().hex[:12],
            "diff": bool(self._play_context.diff or self._task.diff),
        }


def _say(text: str) -> None:
    if text:
        screen.say(text)


def now() -> str:
    """Return the time of now, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
