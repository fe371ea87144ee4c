# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins of many servers from end to end: read, judge, change, resume after a kill, take back, report what is open."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.operations import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.plans import zone_pins as plans
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.module_utils.steps import zone_pins
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import evacuations, zones

Result = t.Dict[str, t.Any]
Restore = t.Optional[t.Mapping[str, t.Tuple[t.Optional[str], t.Optional[str]]]]
Chosen = t.Callable[[t.Any, t.Dict[str, t.Any], Restore], t.List[facts.ApiServer]]

#: What says which operation it is.
_ASKED = ("state", "servers", "hosts", "all_servers", "zone", "strategy")


@dataclasses.dataclass(frozen=True)
class PinRun:
    """What a run is given. ``options``: the module's own; ``chosen``: reads the servers that are meant."""

    cloud: t.Any
    options: t.Dict[str, t.Any]
    chosen: Chosen
    journal: t.Optional[zone_pins.Journal]
    operation_id: str
    say: t.Callable[[str], None]
    check_mode: bool = False
    diff: bool = False

    def carry_out(self) -> Result:
        """Do what was asked for. Raises StackguardError."""
        opened = self.journal.read() if self.journal is not None else None
        action = self.options["action"]
        if action == "status":
            return self._status(opened)
        if action == "rollback":
            return self._rollback(opened)
        if action == "resume" and opened is None:
            raise StackguardError(
                "no change of pins is open, so that there is nothing to resume: action=apply begins one"
            )
        return self._apply(opened)

    def _apply(self, opened: t.Optional[Result]) -> Result:
        options = {**self.options, **(opened["about"] if opened and self.options["action"] == "resume" else {})}
        asked = {name: options[name] for name in _ASKED}
        if opened is not None:
            self._refuse_another(opened, asked)
        answer, plan = self._judge(options, self.chosen(self.cloud, options, options["restore"]), options["restore"])
        if plan.problems and not options["partial"]:
            msg = (
                f"refused, and nothing was changed: {count(len(plan.problems), 'server')} cannot be {options['state']}"
            )
            return {**answer, "failed": True, "changed": False, "msg": msg}
        if self.check_mode:
            msg = f"{count(len(plan.changes), 'pin')} would change, {len(plan.already)} are right"
            return {**answer, "changed": bool(plan.changes), "msg": msg}
        if self.journal is not None and opened is not None:
            opened = self.journal.take_up(opened, journals.OPEN)
        elif self.journal is not None and plan.changes:
            opened = self.journal.begin(self.operation_id, asked)
        result = self._change(answer, plan, opened)
        if self.journal is None or opened is None:
            return result
        if result["failed"]:
            # Closed, it could be taken back no more.
            ways = "The operation is open: action=resume tries them again, action=rollback gives every pin back"
            return {**result, "msg": f"{result['msg']}. {ways}"}
        self.journal.close(opened, journals.FINISHED, result["msg"])
        return result

    def _refuse_another(self, opened: Result, asked: Result) -> None:
        run_owner.refuse_while_it_runs(opened, self._journal.mine, self.options["take_over"])
        ways = "resume it by the same task, or undo it with action=rollback"
        if opened["state"] == journals.ROLLING_BACK:
            ways = "it is being undone: finish that with action=rollback"
        elif opened["about"] == asked:
            return
        raise StackguardError(
            f"SG706 operation-open: an unfinished change of pins is open (operation {opened['operation_id']}): {ways}"
        )

    @property
    def _journal(self) -> zone_pins.Journal:
        if self.journal is None:
            raise StackguardError("this needs a journal")
        return self.journal

    def _judge(
        self, options: Result, servers: t.Sequence[facts.ApiServer], restore: Restore
    ) -> t.Tuple[Result, plans.PinPlan]:
        url = options["nova_api_db_url"]
        about = zones.read_zones(self.cloud, list(servers), url, whole=False)
        request = plans.PinRequest(options["state"], options["zone"], options["strategy"], url is not None, restore)
        plan = plans.plan(about, request)
        answer: Result = {
            "report": findings.report(plans.told(about, plan), about.read_at, 0, len(about.servers or [])),
            "already": plan.already,
            "changes": facts.to_plain(plan.changes),
        }
        if self.diff:
            answer["diff"] = _diff(plan)
        if plan.problems:
            self.say(terminal.findings_text(findings.Checked(tuple(plan.problems))))
        if plan.changes:
            self.say(plans.table(plan))
        return answer, plan

    def _change(self, answer: Result, plan: plans.PinPlan, opened: t.Optional[Result]) -> Result:
        url = self.options["nova_api_db_url"]
        done = zone_pins.carry_out(self.cloud, url, plan.changes, self.say, self.journal, opened)
        changed = [entry for entry in done if entry.outcome == "changed"]
        failed = [entry for entry in done if entry.outcome == zone_pins.FAILED]
        msg = f"{count(len(changed), 'pin')} changed, {len(plan.already)} were right, {len(failed)} failed"
        told: Result = {"changed": bool(changed), "failed": bool(failed), "msg": msg}
        if opened is not None:
            told["operation_id"] = opened["operation_id"]
        return {**answer, "changes": facts.to_plain(done), **told}

    def _rollback(self, opened: t.Optional[Result]) -> Result:
        """Give every pin back that was written down and is still as this operation left it."""
        if opened is None:
            return {"changed": False, "msg": "no change of pins is open: there is nothing to undo"}
        run_owner.refuse_while_it_runs(opened, self._journal.mine, self.options["take_over"])
        rows = self._journal.changes(opened)
        restore = {uuid: (row.before, row.after) for uuid, row in rows.items()}
        options = {**self.options, **opened["about"], "nova_api_db_url": self.options["nova_api_db_url"]}
        found = evacuations.each(sorted(restore), lambda uuid: zones.get_server(self.cloud, uuid))
        answer, plan = self._judge(options, [server for server in found.values() if server is not None], restore)
        if self.check_mode:
            return {
                **answer,
                "changed": bool(plan.changes),
                "msg": f"{count(len(plan.changes), 'pin')} would be given back",
            }
        opened = self._journal.take_up(opened, journals.ROLLING_BACK)
        url = self.options["nova_api_db_url"]
        done = zone_pins.carry_out(self.cloud, url, plan.changes, self.say)
        left = [entry.name for entry in done if entry.outcome == zone_pins.FAILED]
        left += [str(item.object.name) for item in plan.problems]
        told = {**answer, "changes": facts.to_plain(done), "operation_id": opened["operation_id"]}
        given = sum(1 for entry in done if entry.outcome == "changed")
        if left:
            msg = f"{count(given, 'pin')} given back, {len(left)} not: {', '.join(left)}. Run action=rollback again"
            return {**told, "changed": bool(given), "failed": True, "msg": msg}
        msg = f"{count(given, 'pin')} given back, {len(plan.already)} were as before or have been changed since"
        self._journal.close(opened, journals.ROLLED_BACK, msg)
        return {**told, "changed": bool(given), "msg": msg}

    def _status(self, opened: t.Optional[Result]) -> Result:
        if opened is None:
            return {"changed": False, "msg": "no change of pins is open"}
        rows = self._journal.changes(opened)
        head = f"operation {opened['operation_id']} is {opened['state']}: {count(len(rows), 'pin')} written down"
        msg = f"{head}. Resume it with action=resume, or undo it with action=rollback"
        changes = facts.to_plain(list(rows.values()))
        return {"changed": False, "operation_id": opened["operation_id"], "changes": changes, "msg": msg}


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
