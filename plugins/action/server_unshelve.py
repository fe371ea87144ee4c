# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_unshelve: APIs and database are reached from here, the journal is on the task's host."""

from __future__ import annotations

import typing as t

from ..module_utils.engine import server_run
from ..module_utils.zones.unshelve import operation as unshelve
from ..plugin_utils.journaled_run import JournaledRun


class ActionModule(JournaledRun):
    """Unshelve a server in its zone, or end that."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "server": {"type": "str", "required": True},
        "zone": {"type": "str"},
        "server_timeout": {"type": "int", "default": 3600},
    }
    BACK = "end it"

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return unshelve.UnshelveOperation.PREFIX

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        return None

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return unshelve.carry_out(run)
