# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_resize: APIs and database are reached from here, the journal is on the task's host."""

from __future__ import annotations

import typing as t

from ..module_utils.engine import lifecycle, run_owner, server_run
from ..module_utils.model.requests import STRATEGIES
from ..module_utils.zones.resize import operation as resize
from ..plugin_utils.journaled_run import JournaledRun


class ActionModule(JournaledRun):
    """Resize a server within its zone, or take that back."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "server": {"type": "str", "required": True},
        "flavor": {"type": "str"},
        "evidence_dir": {"type": "path"},
        "strategy": {"type": "str", "default": "auto", "choices": list(STRATEGIES)},
        "confirm": {"type": "bool", "default": True},
        "keep_pin": {"type": "bool", "default": False},
        "same_host": {"type": "bool", "default": False},
        "server_timeout": {"type": "int", "default": 3600},
    }

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return resize.Resize.PREFIX

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        if args["action"] == lifecycle.APPLY and not args["flavor"]:
            return "flavor: set this option to the name or id of the new flavor"
        return None

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        # A run that is killed leaves its directory: the next one removes it.
        return {**run_owner.this_run(), "evidence_dir": args["evidence_dir"]}

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return resize.carry_out(run)
