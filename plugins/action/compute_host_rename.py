# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_rename.

The databases' and the APIs' credentials stay on the controller: nova-compute hosts have none and get none. Only
what is to be done on the host itself travels there, as requests to compute_host_step, together with the journal.
"""

from __future__ import annotations

import getpass
import os
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.engine import lifecycle, run_token
from ..module_utils.engine import runner as steps
from ..module_utils.engine.server_run import ServerRun
from ..module_utils.engine.systems import Systems
from ..module_utils.model import findings
from ..module_utils.model.facts import HostFacts, from_plain
from ..module_utils.rename.operation import (
    ADOPT,
    Rename,
    RenameRun,
    info_arguments,
)
from ..module_utils.systems.api.connection import ovn_spec
from ..plugin_utils.journaled_run import JournaledRun
from ..plugin_utils.operation_action import now

STEP_MODULE = "stackguard.nova.compute_host_step"
INFO_MODULE = "stackguard.nova.compute_host_info"

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "rename_from": {"type": "str", "required": True},
    "rename_to": {"type": "str", "required": True},
    "hypervisor_hostname": {"type": "str"},
    "evidence_dir": {"type": "path"},
    "peers": {"type": "list", "elements": "str", "default": []},
    "strategy": {"type": "str", "default": "in_place", "choices": ["in_place", "drain"]},
    "adopt": {"type": "str", "choices": ["forward", "back"]},
    "drain_return": {"type": "bool"},
    "drain_parallel": {"type": "int", "default": 1},
    "drain_timeout": {"type": "int", "default": 3600},
    "measured": {"type": "bool", "default": False},
    "probes": {"type": "list", "elements": "dict", "default": []},
    "stop_command": {"type": "str"},
    "start_command": {"type": "str"},
    "mask_command": {"type": "str"},
    "unmask_command": {"type": "str"},
    "recreate_command": {"type": "str"},
    "compute_units": {"type": "list", "elements": "str"},
    "agent_units": {"type": "list", "elements": "str"},
    "nova_conf_files": {"type": "list", "elements": "str"},
    "start_timeout": {"type": "int", "default": 300},
    "lock_guests": {"type": "bool", "default": True},
}


class RemoteHost:
    """The compute host, reached as Ansible reaches it."""

    def __init__(self, execute: t.Callable[[str, t.Dict[str, t.Any]], t.Dict[str, t.Any]], state_dir: str) -> None:
        self._execute = execute
        self._state_dir = state_dir

    def call(self, requests: t.Sequence[steps.Request]) -> t.List[steps.Result]:
        """Carry out requests on the host, in order. Raises StepError for the first that fails."""
        result = self._run(STEP_MODULE, {"requests": list(requests), "state_dir": self._state_dir})
        return list(result["results"])

    def facts(self, arguments: t.Dict[str, t.Any]) -> HostFacts:
        """Read the host's facts anew."""
        return from_plain(HostFacts, self._run(INFO_MODULE, arguments)["host"], "compute_host_info")

    def _run(self, module: str, arguments: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        try:
            result = self._execute(module, arguments)
        except AnsibleConnectionFailure as error:
            raise steps.StepError(f"the compute host does not answer: {error}") from error
        if result.get("unreachable"):
            raise steps.StepError(f"the compute host does not answer: {result.get('msg')}")
        if result.get("failed"):
            raise steps.StepError(
                f"the request failed on the compute host: {result.get('msg')}",
                bool(result.get("changed_meanwhile")),
                problem="request-failed",
            )
        return result


class ActionModule(JournaledRun):
    """Hand a rename what only Ansible has: the way to the host, the mode of the run, the terminal."""

    ARGUMENTS: t.ClassVar[t.Dict[str, t.Dict[str, t.Any]]] = ovn_spec(**ARGUMENTS)
    #: Seconds.
    FIXED: t.ClassVar[t.Dict[str, t.Any]] = {
        # An idle nova-compute of Nova 34 took 169 to stop.
        "stop_timeout": 400,
        # Neutron counts an agent as dead after 75 (agent_down_time), and an agent reports every 30.
        "agent_timeout": 180,
        # Tasks of guests that are under way, and requests in RabbitMQ: what lasts longer undoes the rename.
        "settle_timeout": 300,
        # The scheduler maps new hosts in a periodic task (discover_hosts_in_cells_interval, often 60; -1 is never).
        "discover_timeout": 120,
    }
    ACTIONS: t.ClassVar[t.Tuple[str, ...]] = ("apply", "resume", "rollback", "status", ADOPT)

    def _check(self, args: t.Dict[str, t.Any]) -> t.Optional[str]:
        if args["action"] != ADOPT:
            return None
        if args["adopt"] is None:
            return (
                "With action=adopt, set adopt=forward to write rename_to in every place, or set adopt=back to write "
                "rename_from in every place"
            )
        if args["strategy"] != "in_place":
            return "action=adopt needs strategy=in_place, because the guests of the host keep running"
        return None

    def _prefix(self, args: t.Dict[str, t.Any]) -> str:
        return Rename.PREFIX

    def _mine(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        return run_token.new_run(str(self._task_vars.get("awx_user_name") or _user()), now())

    def _run_of(self, args: t.Dict[str, t.Any]) -> RenameRun:
        def on_host(module: str, arguments: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
            found = self._execute_module(module_name=module, module_args=arguments, task_vars=self._task_vars)
            return dict(found)

        host, name = RemoteHost(on_host, args["state_dir"]), str(self._task_vars["inventory_hostname"])
        overrides = findings.parse_overrides(args["overrides"])
        info = info_arguments(args, name)
        # The connection is made where the APIs are needed first: what an operation says of itself needs none.
        systems = Systems(args, host, info, time.sleep, time.monotonic, overrides=overrides)
        return RenameRun(**self._given(args, host, systems), inventory_name=name)

    def _named_by(self, args: t.Dict[str, t.Any]) -> t.Tuple[str, t.Dict[str, t.Any]]:
        named = {name: args[name] for name in ("rename_from", "rename_to")}
        strategy = {} if args["strategy"] == "in_place" else {"rename_strategy": args["strategy"]}
        strategy.update({"rename_action": ADOPT, "rename_adopt": args["adopt"]} if args.get("action") == ADOPT else {})
        other = {"rename_hypervisor_hostname": args["hypervisor_hostname"]} if args["hypervisor_hostname"] else {}
        return "rename_host", {**named, **strategy, **other}

    def _kind(self, run: ServerRun) -> str:
        return Rename(t.cast("RenameRun", run)).kind()

    def _back(self, run: ServerRun, journal: t.Dict[str, t.Any]) -> t.Optional[str]:
        return lifecycle.ROLLBACK if Rename(t.cast("RenameRun", run)).rollback_text(journal) else None

    def _carry_out(self, run: ServerRun) -> t.Dict[str, t.Any]:
        return Rename(t.cast("RenameRun", run)).carry_out()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a number that has no name (Python 3.13: OSError).
        return f"user {os.getuid()}"
