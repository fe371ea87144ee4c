# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_migrate: the APIs are reached from here, the journal is on the task's host."""

from __future__ import annotations

import typing as t

from ..module_utils.engine import run_owner, server_run
from ..module_utils.model import server_selection
from ..module_utils.model.requests import COLD_NEVER, COLD_RULES, COLD_STOPPED
from ..module_utils.moves import operation as move_servers
from ..module_utils.moves import plan as plans
from ..plugin_utils.journaled_run import JournaledRun

#: Numbers, and their least.
_LEAST = {
    "max_parallel": 1,
    "memory_headroom_mb": 0,
}


class ActionModule(JournaledRun):
    """Move servers within their zones, empty a host, or end that."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "servers": {"type": "raw"},
        "server_timeout": {"type": "int", "default": 3600},
        "drain_host": {"type": "str"},
        "evidence_dir": {"type": "path"},
        "live": {"type": "bool", "default": True},
        "cold": {"type": "str", "default": COLD_STOPPED, "choices": list(COLD_RULES)},
        "partial": {"type": "bool", "default": False},
        "enable_after": {"type": "bool", "default": False},
        "max_parallel": {"type": "int", "default": 8},
        "memory_headroom_mb": {"type": "int", "default": 512},
        "overcommit": {"type": "float", "default": 1.0},
        "again": {"type": "bool", "default": False},
        "restore_state": {"type": "bool", "default": True},
        "probe": {"type": "bool", "default": False},
        "probes": {"type": "list", "elements": "dict", "default": []},
        "prefix": {"type": "str", "default": "", "choices": ["", "drain", "migrate"]},
    }

    FIXED: t.ClassVar[t.Dict[str, t.Any]] = {
        # Nova runs one live migration of a host at a time (max_concurrent_live_migrations): the second one waits there.
        "max_parallel_per_source": 2,
        "max_parallel_per_destination": 2,
        # MiB that a QEMU process needs beside its guest's memory: measured, 60 to 110 with RBD disks.
        "guest_overhead_mb": 128,
        # Seconds for which measured memory counts; the planner takes off what it has sent since.
        "measured_for": 300,
    }

    BACK = "end it"

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return f"{args['prefix']}_" if args["prefix"] else ""

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        args["servers"] = server_selection.listed(args["servers"])
        both, none = args["servers"] and args["drain_host"], not args["servers"] and not args["drain_host"]
        # What is open says itself what it is about.
        if both or (none and args["action"] == "apply"):
            return "set exactly one of these options: servers, drain_host"
        if args["action"] in ("apply", "resume") and not args["evidence_dir"]:
            return "evidence_dir is required. Set evidence_dir to the directory that compute_host_info has filled"
        if not args["live"] and args["cold"] == COLD_NEVER:
            return "with live=false and cold=never, the module cannot move any server"
        try:
            server_selection.check_numbers(args, _LEAST)
        except server_selection.OptionError as error:
            return str(error)
        return server_selection.expression_problem(args)

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        # A run that is killed leaves its directory: the next one removes it.
        return {**run_owner.this_playbook(), "evidence_dir": args["evidence_dir"]}

    def _named_by(self, args: t.Dict[str, t.Any]) -> t.Tuple[str, t.Dict[str, t.Any]]:
        servers = args["servers"]
        named = ",".join(map(str, servers)) if isinstance(servers, list) else servers
        return {
            "drain": ("drain_host", {"drain_host": args["drain_host"]}),
            "migrate": ("migrate_server", {"migrate_servers": named}),
        }.get(args["prefix"], ("", {}))

    def _kind(self, run: server_run.ServerRun) -> str:
        return plans.KIND

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return move_servers.carry_out(run)
