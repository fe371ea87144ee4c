# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_maintain: the APIs are reached from here, the journal is on the task's host."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleError

from ..module_utils.engine import lifecycle, run_owner, server_run
from ..module_utils.maintain import operation as maintenance
from ..module_utils.maintain import plan as plans
from ..module_utils.model import server_selection
from ..module_utils.model.requests import COLD_RULES, COLD_STOPPED
from ..plugin_utils.journaled_run import JournaledRun

#: Numbers, and their least.
_LEAST = {
    "serial": 1,
    "keep_free": 0,
    "max_parallel": 1,
    "memory_headroom_mb": 0,
    "move_timeout": 1,
    "back_timeout": 1,
}
#: What a test server needs; its project is that of the run where none is named.
_TEST = ("image", "flavor", "network")


class ActionModule(JournaledRun):
    """Maintain hosts in series, enable one, or end that."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = {
        "hosts": {"type": "list", "elements": "str", "default": []},
        "only_enable": {"type": "bool", "default": False},
        "evidence_dir": {"type": "path"},
        "tasks": {"type": "str"},
        "command": {"type": "str"},
        "reboot": {"type": "bool", "default": False},
        "back_timeout": {"type": "int", "default": 1800},
        "serial": {"type": "int", "default": 1},
        "keep_free": {"type": "int", "default": 1},
        "refill": {"type": "str", "default": "none", "choices": ["none", "same"]},
        "test_server": {"type": "dict"},
        "cold": {"type": "str", "default": COLD_STOPPED, "choices": list(COLD_RULES)},
        "max_parallel": {"type": "int", "default": 8},
        "memory_headroom_mb": {"type": "int", "default": 512},
        "overcommit": {"type": "float", "default": 1.0},
        "move_timeout": {"type": "int", "default": 3600},
        "again": {"type": "bool", "default": False},
        "answers": {"type": "list", "elements": "dict", "default": []},
        "probes": {"type": "list", "elements": "dict", "default": []},
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

    BACK = "end the operation"
    ACTIONS: t.ClassVar[t.Tuple[str, ...]] = ("apply", "resume", "status", lifecycle.ABORT)

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return "enable_" if args["only_enable"] else "maintain_"

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        prefix = self._prefix(args)
        if args["only_enable"] and len(args["hosts"]) != 1:
            return "with only_enable=true, hosts must have exactly one host"
        if args["action"] in ("apply", "resume") and not args["evidence_dir"]:
            return "evidence_dir is required. Set evidence_dir to the directory that compute_host_info has filled"
        if args["action"] == "apply":
            if not args["hosts"]:
                return f"set {prefix}hosts to the hosts that are to be maintained"
            works = [name for name in ("tasks", "command", "reboot") if args[name]]
            if not args["only_enable"] and len(works) != 1:
                return f"set exactly one of these options: {prefix}tasks, {prefix}command, {prefix}reboot"
        if args["tasks"] and args["action"] in ("apply", "resume"):
            problem = self._tasks_problem(args["tasks"])
            if problem is not None:
                return f"{prefix}tasks: {problem}"
        test = args["test_server"] or {}
        strange = sorted(set(test) - {*_TEST, "project"})
        if strange or (test and any(not test.get(name) for name in _TEST)):
            return f"{prefix}test_server: set {', '.join(_TEST)}, and optionally project"
        try:
            server_selection.check_numbers(args, _LEAST)
        except server_selection.OptionError as error:
            return str(error)
        return None

    def _tasks_problem(self, path: str) -> t.Optional[str]:
        """Return why a file has no tasks. Included where the first host is empty, it would end the run there."""
        if not os.path.isfile(path):
            return f"there is no file {path} on the Ansible controller"
        try:
            found = self._loader.load_from_file(path)
        except AnsibleError as error:
            return f"{path} cannot be parsed: {str(error).splitlines()[0]}"
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            return f"{path} is not a list of tasks"
        return None

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        # A run that is killed leaves its directory: the next one removes it.
        return {**run_owner.this_playbook(), "evidence_dir": args["evidence_dir"]}

    def _named_by(self, args: t.Dict[str, t.Any]) -> t.Tuple[str, t.Dict[str, t.Any]]:
        if args["only_enable"]:
            return "enable_host", {"enable_host": args["hosts"][0]}
        return "maintain_hosts", {"maintain_hosts": ",".join(args["hosts"])}

    def _kind(self, run: server_run.ServerRun) -> str:
        hosts = run.options["hosts"]
        return plans.kind_of_enabling(hosts[0]) if run.options["only_enable"] else plans.KIND

    def _carry_out(self, run: server_run.ServerRun) -> t.Dict[str, t.Any]:
        return maintenance.carry_out(run)
