# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_remove: APIs and databases are reached from here; the journal is elsewhere."""

from __future__ import annotations

import typing as t

from ..module_utils.engine import server_run
from ..module_utils.remove import operation as remove
from ..module_utils.remove import plan as plans
from ..module_utils.systems.api.connection import DATABASE_SPEC, OVN_SPEC
from ..plugin_utils.journaled_run import JournaledRun


class ActionModule(JournaledRun):
    """Remove what is left of hosts that are gone, or end that."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "hosts": {"type": "list", "elements": "str", "required": True},
        "keep": {"type": "list", "elements": "str", "choices": list(plans.KEPT), "default": []},
        **{name: DATABASE_SPEC[name] for name in ("nova_cell_db_urls", "rabbit_urls")},
        **OVN_SPEC,
    }
    BACK = "end it"

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return remove.Removal.PREFIX

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        if not args["hosts"]:
            return "hosts: name at least one host"
        if not args["nova_api_db_url"]:
            return "nova_api_db_url is required: only the databases of all cells show that a host has no server"
        return None

    def _named_by(self, args: t.Dict[str, t.Any]) -> t.Tuple[str, t.Dict[str, t.Any]]:
        return "remove_host", {"remove_host": ",".join(args["hosts"])}

    def _kind(self, run: server_run.ServerRun) -> str:
        return plans.KIND

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return remove.carry_out(run)
