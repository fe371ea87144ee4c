# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_resize: APIs and database are reached from here, the journal is on the task's host."""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.action.operation import JournaledRun
from ansible_collections.stackguard.nova.plugins.module_utils.operations import resize, server_run


class ActionModule(JournaledRun):
    """Resize a server within its zone, or take that back."""

    ARGUMENTS = resize.Resize.ARGUMENTS

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return resize.Resize.PREFIX

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        return resize.Resize.problem(args)

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return resize.carry_out(run)
