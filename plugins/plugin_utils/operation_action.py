# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all actions have in common that carry out an operation: arguments, lease, clock, terminal, result."""

from __future__ import annotations

import datetime
import getpass
import os
import time
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.engine.lifecycle import Clock
from ..module_utils.engine.runner import StepError
from ..module_utils.engine.write_lease import LeasedState
from ..module_utils.model import findings
from ..module_utils.model.errors import StackguardError
from ..module_utils.model.facts import FactsError
from ..module_utils.records import journal as journals
from ..module_utils.systems.api import http
from ..module_utils.systems.api.connection import connect
from . import screen, without_effect
from .journal_host import state_of

Result = t.Dict[str, t.Any]
Spec = t.Dict[str, t.Dict[str, t.Any]]

#: What ends a run, with its reason for people.
ERRORS = (StackguardError, StepError, FactsError, journals.JournalError, findings.OverrideError)


def person(task_vars: t.Mapping[str, t.Any]) -> str:
    """Return who runs this: AWX's user, or the account of the controller."""
    for name in ("awx_user_name", "tower_user_name"):
        if task_vars.get(name):
            return str(task_vars[name])
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return ""


class OperationAction(ActionBase):
    """One call of a module that carries out an operation from the controller."""

    _supports_check_mode = True
    _supports_async = False

    #: What no operator turns, as arguments with one value, each with its reason.
    FIXED: t.ClassVar[t.Dict[str, t.Any]] = {}
    #: Of the host that keeps the journal, once :meth:`_leased` has made it.
    _lease: LeasedState

    @classmethod
    def spec(cls) -> Spec:
        """Return all arguments."""
        raise NotImplementedError

    def called(self, args: Result) -> Result:
        """Carry the call out, and return its result. ``args``: validated."""
        raise NotImplementedError

    def succeeded(self, result: Result) -> bool:
        """Return True if the role goes on: it prints the summary alone, so the task of the module never fails."""
        return not result.get("failed", False)

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Take the arguments, carry the call out, and return its result."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(self.spec())
        args.update(self.FIXED)
        without_effect.warn(self._task)
        result = self.called(args)
        if not self._shows_diff:
            result.pop("diff", None)
        return {**result, "succeeded": self.succeeded(result)}

    @property
    def _shows_diff(self) -> bool:
        return bool(self._play_context.diff or self._task.diff)

    def _leased(self, args: Result, mine: t.Mapping[str, t.Any]) -> LeasedState:
        """Return the host that keeps the journals of this run."""
        self._lease = LeasedState(state_of(self, args["state_dir"], self._task_vars), mine, say)
        return self._lease

    def _connect(self, args: Result) -> t.Any:
        """Return a connection to the APIs, which changes nothing without the lease of this run."""
        connection = connect(args)
        http.guard_changes(connection, self._lease.check, self._lease.fresh)
        return connection


def say(text: str) -> None:
    """Show a text; nothing of an empty one."""
    if text:
        screen.say(text)


def now() -> str:
    """Return the time of now, in UTC, such as 2026-11-29T14:00:00Z."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


CLOCK = Clock(now, time.monotonic, time.time, time.sleep)
