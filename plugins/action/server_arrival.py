# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_arrival: APIs and databases are reached from here, the journal is on the task's host."""

from __future__ import annotations

import typing as t

from ..module_utils.engine import lifecycle, run_owner, server_run
from ..module_utils.links.arrived import operation as arrival
from ..module_utils.systems.api.connection import DATABASE_SPEC
from ..plugin_utils.journaled_run import JournaledRun


class ActionModule(JournaledRun):
    """Make Nova show a server where its live migration has arrived."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "server": {"type": "str", "required": True},
        "evidence_dir": {"type": "path"},
        "again": {"type": "bool", "default": False},
        "nova_cell_db_urls": DATABASE_SPEC["nova_cell_db_urls"],
        "rabbit_urls": DATABASE_SPEC["rabbit_urls"],
    }

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return arrival.Arrival.PREFIX

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        if args["action"] in (lifecycle.APPLY, lifecycle.RESUME):
            for name in ("evidence_dir", "nova_api_db_url"):
                if not args[name]:
                    return f"{name}: with action={args['action']} this option is required"
        return None

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        # A run that is killed leaves its directory: the next one removes it.
        return {**run_owner.this_playbook(), "evidence_dir": args["evidence_dir"]}

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return arrival.carry_out(run)
