# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that keeps an operation's journal: the one that the task runs on."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.engine.runner import Host
from ..module_utils.model.errors import StackguardError
from ..module_utils.systems.host.journal_keeper import JournalKeeper

STEP_MODULE = "stackguard.nova.compute_host_step"


class LocalState:
    """The journal on this very machine: no module has to be started for each batch."""

    near = True

    def __init__(self, state_dir: str, check_mode: bool) -> None:
        self._runner = JournalKeeper(state_dir, check_mode)

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
