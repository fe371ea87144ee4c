# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_zone_pin: the APIs and the database are reached from here."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.stackguard.nova.plugins.module_utils import evacuation_options, facts, findings, text
from ansible_collections.stackguard.nova.plugins.module_utils.actions import zone_pins
from ansible_collections.stackguard.nova.plugins.module_utils.connection import (
    DATABASE_SPEC,
    connect,
    openstack_spec,
)
from ansible_collections.stackguard.nova.plugins.module_utils.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.plans import zone_pins as plans
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, database, zones

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "state": {"type": "str", "default": "pinned", "choices": ["pinned", "unpinned"]},
    "servers": {"type": "raw"},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "all_servers": {"type": "bool", "default": False},
    "zone": {"type": "str"},
    "strategy": {"type": "str", "default": "auto", "choices": ["auto", "pin_api", "pin_db"]},
    "restore": {"type": "list", "elements": "dict"},
    "partial": {"type": "bool", "default": False},
    "nova_api_db_url": DATABASE_SPEC["nova_api_db_url"],
}


class ActionModule(ActionBase):
    """Pin servers to the zones that they are in, or unpin them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Read, judge, and change what is to be changed."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(openstack_spec(**ARGUMENTS))
        if args["nova_api_db_url"] and database.SQLALCHEMY_ERROR is not None:
            return {"failed": True, "msg": "the Python library SQLAlchemy is not installed on the controller"}
        try:
            return self._pin(args)
        except StackguardError as error:
            return {"failed": True, "changed": False, "msg": str(error)}

    def _pin(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        connection, url = connect(args), args["nova_api_db_url"] or None
        restore = _restore(args["restore"])
        about = zones.read_zones(connection, _chosen(connection, args, restore), url, whole=False)
        request = plans.PinRequest(args["state"], args["zone"], args["strategy"], url is not None, restore)
        plan = plans.plan(about, request)
        checked = findings.Checked(tuple(plan.problems))
        report = findings.report(plans.told(about, plan), about.read_at, 0, len(about.servers or []))
        answer: t.Dict[str, t.Any] = {
            "report": report,
            "already": plan.already,
            "changes": facts.to_plain(plan.changes),
        }
        if self._play_context.diff or self._task.diff:
            answer["diff"] = _diff(plan)
        if plan.problems:
            Display().display(text.findings_text(checked))
        if plan.changes:
            Display().display(plans.table(plan))
        if plan.problems and not args["partial"]:
            msg = f"refused, and nothing was changed: {len(plan.problems)} servers cannot be {args['state']}"
            return {**answer, "failed": True, "changed": False, "msg": msg}
        if self._task.check_mode:
            msg = f"{len(plan.changes)} pins would change, {len(plan.already)} are right"
            return {**answer, "changed": bool(plan.changes), "msg": msg}
        done = zone_pins.carry_out(connection, url, plan.changes, Display().display)
        changed = [entry for entry in done if entry.outcome == "changed"]
        failed = [entry for entry in done if entry.outcome == zone_pins.FAILED]
        msg = f"{len(changed)} pins changed, {len(plan.already)} were right, {len(failed)} failed"
        return {
            **answer,
            "changes": facts.to_plain(done),
            "changed": bool(changed),
            "failed": bool(failed),
            "msg": msg,
        }


def _restore(given: t.Optional[t.List[t.Dict[str, t.Any]]]) -> t.Optional[t.Dict[str, t.Tuple[t.Any, t.Any]]]:
    if given is None:
        return None
    # What was not changed then is not given back now.
    rows = [entry for entry in given if entry.get("outcome", "changed") == "changed"]
    if any(not {"server", "before", "after"} <= set(entry) for entry in rows):
        raise StackguardError("restore: expected the changes that an earlier run returned: server, before and after")
    return {str(entry["server"]): (entry["before"], entry["after"]) for entry in rows}


def _chosen(
    connection: t.Any, args: t.Dict[str, t.Any], restore: t.Optional[t.Mapping[str, t.Any]]
) -> t.List[facts.ApiServer]:
    """Return the servers that are meant. Nobody is ever meant by leaving everything out."""
    if not (args["servers"] or args["hosts"] or args["all_servers"] or restore is not None):
        raise StackguardError("name servers or hosts, or say all_servers=true")
    version = zones.servers_microversion(connection)
    if restore is not None:
        return [found for found in (zones.get_server(connection, uuid) for uuid in sorted(restore)) if found]
    hosts: t.Sequence[t.Optional[str]] = args["hosts"] or [None]
    servers = [server for host in hosts for server in cloud_reads.list_servers(connection, version, host)]
    chosen = evacuation_options.chosen_servers(args["servers"], servers)
    if chosen is None:
        # Shelved ones are on no host: there is no zone to pin them to.
        return [server for server in servers if server.host is not None]
    unknown = sorted(set(chosen) - {server.id for server in servers})
    if unknown:
        raise StackguardError(f"no such server: {', '.join(unknown)}")
    return [server for server in servers if server.id in chosen]


def _diff(plan: plans.PinPlan) -> t.List[t.Dict[str, str]]:
    return [
        {
            "before_header": f"server {row.name} ({row.server})",
            "after_header": f"server {row.name} ({row.server})",
            "before": f"pinned_availability_zone: {row.before}\n",
            "after": f"pinned_availability_zone: {row.after}\n",
        }
        for row in plan.changes
    ]
