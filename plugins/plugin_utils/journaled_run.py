# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What actions have in common that reach APIs and databases from here, and keep their journal on the task's host."""

from __future__ import annotations

import functools
import time
import typing as t
import uuid

from ..module_utils.engine import lifecycle, run_owner, server_run
from ..module_utils.engine.runner import Host
from ..module_utils.engine.systems import Systems
from ..module_utils.model import findings
from ..module_utils.reports import operation_run
from ..module_utils.systems.api import catalog
from ..module_utils.systems.api.connection import (
    DATABASE_SPEC,
    openstack_spec,
)
from ..module_utils.systems.db import engine
from . import operation_pages
from .operation_action import CLOCK, ERRORS, OperationAction, Result, Spec, now, say


class JournaledRun(OperationAction):
    """A connection, a journal, and how a run ends."""

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
    #: What a rollback does.
    BACK = lifecycle.UNDO
    ACTIONS: t.ClassVar[t.Tuple[str, ...]] = ("apply", "resume", "status", "rollback")

    @classmethod
    def arguments(cls) -> Spec:
        """Return all arguments, those of the connection left out."""
        action = {"type": "str", "default": "apply", "choices": list(cls.ACTIONS)}
        return {"action": action, **cls.COMMON, **cls.ARGUMENTS}

    @classmethod
    def spec(cls) -> Spec:
        """Return all arguments."""
        return openstack_spec(**cls.arguments())

    def called(self, args: Result) -> Result:
        """Carry the operation out, and leave its page."""
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
        except ERRORS as error:
            result = {"failed": True, "changed": False, "state": "unknown", "msg": f"{error}. {self._carry_on(args)}"}
        if args["report_dir"]:
            self._leave_page(args, run, result, began)
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
        return self.ACTIONS[-1]

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
            f"command with {self._prefix(args)}action={self.ACTIONS[-1]} to {self.BACK}"
        )

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        """Return what stands before the variables of the playbook that runs."""
        raise NotImplementedError

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        return run_owner.this_run()

    def _run_of(self, args: t.Dict[str, t.Any]) -> server_run.ServerRun:
        state = self._leased(args, self._mine(args))
        systems = Systems(args, t.cast("t.Any", None), {}, time.sleep, time.monotonic, _connection=self._connect(args))
        systems.still_ours, systems.fresh = state.check, state.fresh
        return server_run.ServerRun(**self._given(args, state, systems))

    def _given(self, args: t.Dict[str, t.Any], state: Host, systems: Systems) -> t.Dict[str, t.Any]:
        """Return what every run is given."""
        return {
            "state": state,
            "clock": CLOCK,
            "say": say,
            "mine": self._mine(args),
            "options": args,
            "overrides": findings.parse_overrides(args["overrides"]),
            "check_mode": bool(self._task.check_mode),
            "prefix": self._prefix(args),
            "cloud_id": lambda: catalog.cloud_id(systems.cloud),
            "systems": systems,
            "operation_id": uuid.uuid4().hex[:12],
            "diff": self._shows_diff,
        }
