# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_zone_pin: the APIs and the database are reached from here."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from ..module_utils.engine import lifecycle, run_owner
from ..module_utils.model import facts, findings, server_selection
from ..module_utils.model.errors import StackguardError
from ..module_utils.moves import evidence as move_evidence
from ..module_utils.systems.api import (
    catalog,
    compute_services,
    server_records,
)
from ..module_utils.systems.api.connection import (
    DATABASE_SPEC,
    openstack_spec,
)
from ..module_utils.systems.db import engine
from ..module_utils.zones import home
from ..module_utils.zones.pins import operation as pin_zones
from ..plugin_utils.operation_action import CLOCK, ERRORS, OperationAction, Result, Spec, say

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "action": {"type": "str", "default": "apply", "choices": list(pin_zones.ACTIONS)},
    "state": {"type": "str", "default": "pinned", "choices": ["pinned", "unpinned"]},
    "servers": {"type": "raw"},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "all_servers": {"type": "bool", "default": False},
    "zone": {"type": "str"},
    "strategy": {"type": "str", "default": "auto", "choices": ["auto", "pin_api", "pin_db"]},
    "partial": {"type": "bool", "default": False},
    "prefix": {"type": "str", "default": "", "choices": ["", "pin"]},
    "take_over": {"type": "bool", "default": False},
    "overrides": findings.OPTION,
    "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
    "nova_api_db_url": DATABASE_SPEC["nova_api_db_url"],
}


class ActionModule(OperationAction):
    """Pin servers to the zones that they are in, unpin them, or give them the pins back that they had."""

    @classmethod
    def spec(cls) -> Spec:
        """Return all arguments."""
        return openstack_spec(**ARGUMENTS)

    def called(self, args: Result) -> Result:
        """Read, judge, and change what is to be changed."""
        if args["nova_api_db_url"] and engine.SQLALCHEMY_ERROR is not None:
            return _failed("refused", "the Python library SQLAlchemy is not installed on the Ansible controller")
        run = None
        try:
            run = self._run_of(args)
            return run.carry_out()
        except lifecycle.Refused as refused:
            return {**_failed("refused", refused.message), **refused.data}
        except ERRORS as error:
            if run is None or not run.begun:
                return _failed("refused", str(error))
            action = run.variable("action")
            more = f"Run the same command again, or restore the old pins with {action}={pin_zones.RESTORE}"
            return {**_failed("unknown", f"{error}. {more}"), "operation_id": run.begun[0]}

    def _run_of(self, args: Result) -> pin_zones.PinRun:
        args = {**args, "servers": server_selection.listed(args["servers"])}
        problem = pin_zones.problem(args)
        if problem is not None:
            raise StackguardError(problem)
        mine = run_owner.this_run()
        state = self._leased(args, mine)
        cloud = self._connect(args)
        local = self._connection.transport == "local"
        host = self._task.delegate_to or self._task_vars["inventory_hostname"]
        return pin_zones.PinRun(
            state=state,
            leased=state,
            clock=CLOCK,
            say=say,
            mine=mine,
            options={**args, "nova_api_db_url": args["nova_api_db_url"] or None},
            overrides=findings.parse_overrides(args["overrides"]),
            check_mode=bool(self._task.check_mode),
            prefix=f"{args['prefix']}_" if args["prefix"] else "",
            cloud_id=lambda: catalog.cloud_id(cloud),
            cloud=cloud,
            chosen=_chosen,
            operation_id=uuid.uuid4().hex[:12],
            keeper=str(mine["controller"] if local else host),
            diff=self._shows_diff,
        )


def _failed(state: str, msg: str) -> t.Dict[str, t.Any]:
    return {"failed": True, "changed": False, "state": state, "msg": msg}


def _chosen(connection: t.Any, args: t.Mapping[str, t.Any]) -> server_records.ServerList:
    """Return the servers that are meant."""
    version = server_records.servers_microversion(connection)
    _refuse_unknown(connection, args["hosts"])
    if args["hosts"]:
        listed = server_records.list_servers(connection, version, args["hosts"])
    else:
        listed = move_evidence.whole_cloud(connection, second=not isinstance(args["servers"], list))
    return dataclasses.replace(listed, servers=_meant(args["servers"], listed))


def _meant(given: t.Any, listed: server_records.ServerList) -> t.List[facts.ApiServer]:
    """Return the servers that the option C(servers) means. Raises StackguardError for nobody, and for a stranger."""
    try:
        chosen = server_selection.chosen_servers(given, listed.servers)
    except server_selection.OptionError:
        # The cell that does not answer may have it.
        listed.complete()
        raise
    if chosen is None:
        # Others on no host are being built, or have failed: there is no zone to pin them to.
        return [server for server in listed.servers if server.host is not None or home.is_offloaded(server)]
    unknown = sorted(set(chosen) - {server.id for server in listed.servers})
    if unknown:
        listed.complete()
        raise StackguardError(f"no such server: {', '.join(unknown)}")
    return [server for server in listed.servers if server.id in chosen]


def _refuse_unknown(connection: t.Any, hosts: t.Sequence[str]) -> None:
    """Refuse a host that is misspelt, or whose cell does not answer: Nova lists no server of either."""
    there = (
        {item.get("host"): bool(item.get("id")) for item in compute_services.raw_services(connection)} if hosts else {}
    )
    for host in hosts:
        if host not in there:
            raise StackguardError(f"hosts: Nova has no compute service on {host}")
        if not there[host]:
            raise StackguardError(f"the option 'hosts' contains {host}, but the cell of this host does not answer")
