# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_zone_pin: the APIs and the database are reached from here."""

from __future__ import annotations

import dataclasses
import datetime
import time
import typing as t
import uuid

from ansible.plugins.action import ActionBase

from ansible_collections.stackguard.nova.plugins.action.compute_link import state_of
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.operations import (
    evacuation_options,
    lifecycle,
    move_evidence,
    pin_zones,
    run_owner,
)
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    catalog,
    compute_services,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.connection import (
    DATABASE_SPEC,
    connect,
    openstack_spec,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine
from ansible_collections.stackguard.nova.plugins.plugin_utils import screen, without_effect

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "action": {"type": "str", "default": "apply", "choices": ["apply", "resume", "status", "rollback"]},
    "state": {"type": "str", "default": "pinned", "choices": ["pinned", "unpinned"]},
    "servers": {"type": "raw"},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "all_servers": {"type": "bool", "default": False},
    "zone": {"type": "str"},
    "strategy": {"type": "str", "default": "auto", "choices": ["auto", "pin_api", "pin_db"]},
    "restore": {"type": "list", "elements": "dict"},
    "partial": {"type": "bool", "default": False},
    "take_over": {"type": "bool", "default": False},
    "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
    "nova_api_db_url": DATABASE_SPEC["nova_api_db_url"],
}


class ActionModule(ActionBase):
    """Pin servers to the zones that they are in, or unpin them."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Read, judge, and change what is to be changed."""
        super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(openstack_spec(**ARGUMENTS))
        without_effect.warn(self._task)
        if args["nova_api_db_url"] and engine.SQLALCHEMY_ERROR is not None:
            return {"failed": True, "msg": "the Python library SQLAlchemy is not installed on the Ansible controller"}
        try:
            return self._pin(args)
        except lifecycle.Refused as refused:
            return {"failed": True, "changed": False, "msg": refused.message, **refused.data}
        except (StackguardError, journals.JournalError) as error:
            return {"failed": True, "changed": False, "msg": str(error)}

    def _pin(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        problem = evacuation_options.expression_problem(args)
        if problem is not None:
            raise StackguardError(problem)
        restore = _restore(args["restore"])
        cloud = connect(args)
        return pin_zones.PinRun(
            state=state_of(self, args["state_dir"], self._task_vars),
            clock=lifecycle.Clock(_now, time.monotonic, time.time, time.sleep),
            say=screen.say,
            mine=run_owner.this_run(),
            options={**args, "restore": restore, "nova_api_db_url": args["nova_api_db_url"] or None},
            overrides=(),
            check_mode=bool(self._task.check_mode),
            prefix="",
            cloud_id=lambda: catalog.cloud_id(cloud),
            cloud=cloud,
            chosen=_chosen,
            operation_id=uuid.uuid4().hex[:12],
            journaled=_is_journaled(args, restore),
            diff=bool(self._play_context.diff or self._task.diff),
        ).carry_out()


def _is_journaled(args: t.Mapping[str, t.Any], restore: t.Optional[t.Mapping[str, t.Any]]) -> bool:
    """Whether more than one server that is named may be meant."""
    if args["action"] != "apply":
        return True
    given = args["servers"]
    one = isinstance(given, (str, list)) and "[" not in given and (isinstance(given, str) or len(given) == 1)
    return restore is None and not (one and not args["hosts"])


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _restore(given: t.Optional[t.List[t.Dict[str, t.Any]]]) -> t.Optional[t.Dict[str, t.Tuple[t.Any, t.Any]]]:
    if given is None:
        return None
    # What was not changed then is not given back now.
    rows = [entry for entry in given if entry.get("outcome", "changed") == "changed"]
    if any(not {"server", "before", "after"} <= set(entry) for entry in rows):
        raise StackguardError(
            "the option 'restore' must contain the changes that an earlier run returned, each with the keys 'server', "
            "'before' and 'after'"
        )
    return {str(entry["server"]): (entry["before"], entry["after"]) for entry in rows}


def _chosen(
    connection: t.Any, args: t.Dict[str, t.Any], restore: t.Optional[t.Mapping[str, t.Any]]
) -> server_records.ServerList:
    """Return the servers that are meant. Nobody is ever meant by leaving everything out."""
    if not (args["servers"] or args["hosts"] or args["all_servers"] or restore is not None):
        raise StackguardError("set at least one of these options: servers, hosts, all_servers=true")
    version = server_records.servers_microversion(connection)
    if restore is not None:
        given = [server_records.whole_server(connection, uuid) for uuid in sorted(restore)]
        return server_records.ServerList([found for found in given if found], [])
    _refuse_unknown(connection, args["hosts"])
    if args["hosts"]:
        listed = server_records.list_servers(connection, version, args["hosts"])
    else:
        listed = move_evidence.whole_cloud(connection, second=not isinstance(args["servers"], list))
    return dataclasses.replace(listed, servers=_meant(args["servers"], listed))


def _meant(given: t.Any, listed: server_records.ServerList) -> t.List[facts.ApiServer]:
    """Return the servers that the option C(servers) means. Raises StackguardError for nobody, and for a stranger."""
    try:
        chosen = evacuation_options.chosen_servers(given, listed.servers)
    except evacuation_options.OptionError:
        # The cell that does not answer may have it.
        listed.complete()
        raise
    if chosen is None:
        # Shelved ones are on no host: there is no zone to pin them to.
        return [server for server in listed.servers if server.host is not None]
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
