# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins of many servers from end to end: read, judge, change, resume after a kill, take back, report what is open."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.folding import Folded
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.operations import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.operations.approved_plan import SHA256, Approver
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Book
from ansible_collections.stackguard.nova.plugins.module_utils.plans import zone_pins as plans
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.module_utils.steps import zone_pins
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, server_records, zone_facts

Result = t.Dict[str, t.Any]
Restore = t.Optional[t.Mapping[str, t.Tuple[t.Optional[str], t.Optional[str]]]]
Chosen = t.Callable[[t.Any, t.Dict[str, t.Any], Restore], server_records.ServerList]

#: What says which operation it is.
_ASKED = ("state", "servers", "hosts", "all_servers", "zone", "strategy")
_WHAT = "change of pins"


@dataclasses.dataclass(frozen=True)
class PinRun(lifecycle.Run):
    """What a run is given. ``options``: the module's own; ``chosen``: reads the servers that are meant."""

    cloud: t.Any
    chosen: Chosen
    operation_id: str
    #: Whether a journal is kept: one server needs none.
    journaled: bool = True
    diff: bool = False

    def carry_out(self) -> Result:
        """Do what was asked for. Raises StackguardError."""
        action = self.options["action"]
        if action in (lifecycle.APPLY, lifecycle.RESUME):
            Approver.of(self).begin()
        opened = lifecycle.open_journal(self, zone_pins.KIND) if self.journaled else None
        if action == lifecycle.STATUS:
            return self._status(opened)
        if action == lifecycle.ROLLBACK:
            return self._rollback(opened)
        if action == lifecycle.RESUME and opened is None:
            raise lifecycle.nothing_to_resume(self, _WHAT)
        return self._apply(opened)

    def _apply(self, opened: t.Optional[Result]) -> Result:
        resumes = opened is not None and self.options["action"] == lifecycle.RESUME
        options = {**self.options, **(opened["about"] if opened and resumes else {})}
        asked = {name: options[name] for name in _ASKED}
        if opened is not None:
            self._refuse_another(opened, asked)
        listed = self.chosen(self.cloud, options, options["restore"])
        answer, plan, silent = self._judge(options, listed, options["restore"])
        restored = {uuid: uuid for uuid in options["restore"] or ()}
        lost = [] if options["partial"] else self._lost(restored, listed.servers)
        if lost:
            return {
                **answer,
                "failed": True,
                "changed": False,
                "msg": f"refused, and nothing was changed: {_why(lost)}",
            }
        if silent:
            # Nobody knows which servers are left out: that is not what C(partial) accepts.
            msg = f"refused, and nothing was changed: SG709 evidence-missing: {server_records.silence(silent)}"
            return {**answer, "failed": True, "changed": False, "msg": msg}
        if plan.problems and not options["partial"]:
            msg = (
                f"refused, and nothing was changed: {count(len(plan.problems), 'server')} cannot be {options['state']}"
            )
            return {**answer, "failed": True, "changed": False, "msg": msg}
        answer[SHA256] = value = self._approved(options, plan, opened, answer["report"])
        if self.check_mode:
            if plan.changes:
                self.say(Approver.of(self).hint(value))
            msg = f"{count(len(plan.changes), 'pin')} would change, {len(plan.already)} are already correct"
            return {**answer, "changed": bool(plan.changes), "msg": msg}
        book = self._book(opened, plan, {**asked, SHA256: value})
        result = self._change(answer, plan, book)
        if book is None:
            return result
        if result["failed"]:
            # Closed, it could be taken back no more.
            ways = lifecycle.ways(self, "restore every pin")
            return {**result, "msg": f"{result['msg']}. The operation is open: {ways}"}
        book.close(journals.FINISHED, result["msg"])
        return result

    def _approved(self, options: Result, plan: plans.PinPlan, opened: t.Optional[Result], report: Result) -> str:
        """Return the value that stands for what an operation changes in all. Raises Refused for another one.

        A resume plans the rest anew: with the pins that were written before, it must be the plan that was approved.
        """
        rows = self._written_down(opened) if opened is not None else {}
        rows.update((row.server, row) for row in plan.changes)
        whole = plans.as_plan(zone_pins.KIND, self.operation_id, zone_pins.SUBJECT, rows.values())
        asked = {name: options[name] for name in ("state", "zone", "strategy", "partial")}
        asked["restore"] = options["restore"] is not None
        approver = Approver.of(self)
        return approver.approve(whole, asked, {"report": report}) if rows else approver.nothing(whole, asked)

    def _refuse_another(self, opened: Result, asked: Result) -> None:
        self.refuse_while_carried_out(opened)
        if lifecycle.goes_back(opened) or {name: opened["about"].get(name) for name in asked} != asked:
            raise StackguardError(lifecycle.another_open(self, opened, _WHAT))

    def _book(self, opened: t.Optional[Result], plan: plans.PinPlan, asked: Result) -> t.Optional[Book]:
        """Return the journal; None: none is kept, or there is nothing to keep."""
        if opened is not None:
            return Book.take_up(self, opened, "resumed", journals.OPEN)
        if not self.journaled or not plan.changes:
            return None
        return Book.open(self, Plan(zone_pins.KIND, self.operation_id, zone_pins.SUBJECT, [], []), asked)

    def _judge(
        self, options: Result, listed: server_records.ServerList, restore: Restore
    ) -> t.Tuple[Result, plans.PinPlan, t.List[str]]:
        """Return what is told, what is to be changed, and whose cell did not answer when the servers were listed."""
        url = options["nova_api_db_url"]
        about = zone_facts.read_zones(self.cloud, listed.servers, url, whole=False, silent=listed.silent)
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
        return answer, plan, about.silent if restore is None else []

    def _lost(self, names: t.Mapping[str, str], servers: t.Sequence[facts.ApiServer]) -> t.List[str]:
        """Return the names of those that Nova does not show, and of whose deletion it has no record. By uuid."""
        gone = sorted(set(names) - {server.id for server in servers})
        deleted = http.each(gone, lambda uuid: server_records.is_deleted(self.cloud, uuid))
        return [names[uuid] for uuid in gone if not deleted[uuid]]

    def _change(self, answer: Result, plan: plans.PinPlan, book: t.Optional[Book]) -> Result:
        url = self.options["nova_api_db_url"]
        rows = None if book is None else book.kept_rows(zone_pins.ROWS)
        done = zone_pins.carry_out(self.cloud, url, plan.changes, self.say, rows)
        changed = [entry for entry in done if entry.outcome == "changed"]
        failed = [entry for entry in done if entry.outcome == zone_pins.FAILED]
        msg = f"{count(len(changed), 'pin')} changed, {len(plan.already)} were already correct, {len(failed)} failed"
        told: Result = {"changed": bool(changed), "failed": bool(failed), "msg": msg}
        if book is not None:
            told["operation_id"] = book.operation_id
        return {**answer, "changes": facts.to_plain(done), **told}

    def _rollback(self, opened: t.Optional[Result]) -> Result:
        """Give every pin back that was written down and is still as this operation left it."""
        if opened is None:
            return {"changed": False, "msg": lifecycle.nothing_open(_WHAT, lifecycle.ROLLBACK)}
        self.refuse_while_carried_out(opened)
        rows = self._written_down(opened)
        restore = {uuid: (row.before, row.after) for uuid, row in rows.items()}
        options = {**self.options, **opened["about"], "nova_api_db_url": self.options["nova_api_db_url"]}
        found = http.each(sorted(restore), lambda uuid: server_records.whole_server(self.cloud, uuid))
        servers = [server for server in found.values() if server is not None]
        answer, plan, _silent = self._judge(options, server_records.ServerList(servers, []), restore)
        lost = [] if self.options["partial"] else self._lost({uuid: rows[uuid].name for uuid in restore}, servers)
        if self.check_mode:
            would = f"{count(len(plan.changes), 'pin')} would be restored"
            told = {**answer, "changed": bool(plan.changes), "failed": bool(lost)}
            return {**told, "msg": f"{would}. {_why(lost)}" if lost else would}
        book = Book.take_up(self, opened, "rollback started", journals.ROLLING_BACK)
        url = self.options["nova_api_db_url"]
        done = zone_pins.carry_out(self.cloud, url, plan.changes, self.say)
        left = [entry.name for entry in done if entry.outcome == zone_pins.FAILED]
        left += [str(item.object.name) for item in plan.problems] + lost
        told = {**answer, "changes": facts.to_plain(done), "operation_id": book.operation_id}
        given = sum(1 for entry in done if entry.outcome == "changed")
        if left:
            names = ", ".join(left)
            msg = f"{count(given, 'pin')} restored, {len(left)} not restored: {names}. Run action=rollback again"
            msg = f"{msg}. {_why(lost)}" if lost else msg
            return {**told, "changed": bool(given), "failed": True, "msg": msg}
        unchanged = f"{len(plan.already)} left unchanged (already restored, or changed by another user)"
        msg = f"{count(given, 'pin')} restored, {unchanged}"
        gone = sorted(rows[uuid].name for uuid in set(restore) - {server.id for server in servers})
        if gone:
            msg = f"{msg}. Nova no longer has {count(len(gone), 'server')}: {', '.join(gone)}"
        book.close(journals.ROLLED_BACK, msg)
        return {**told, "changed": bool(given), "msg": msg}

    def _written_down(self, opened: Result) -> t.Dict[str, plans.PinChange]:
        return zone_pins.written_down(lifecycle.kept_rows(self, opened, zone_pins.ROWS))

    def _status(self, opened: t.Optional[Result]) -> Result:
        if opened is None:
            return {"changed": False, "msg": lifecycle.nothing_open(_WHAT)}
        rows = self._written_down(opened)
        msg = lifecycle.status_line(self, opened, f"{count(len(rows), 'pin')} recorded")
        changes = facts.to_plain(list(rows.values()))
        return {"changed": False, "operation_id": opened["operation_id"], "changes": changes, "msg": msg}


def _why(lost: t.Sequence[str]) -> str:
    """Return what is known of servers that Nova neither shows nor has a record of."""
    return (
        f"Nova does not show {', '.join(lost)}, and has no record that "
        f"{'the server was' if len(lost) == 1 else 'the servers were'} deleted. Verify that the credentials belong to "
        "an administrator of the servers' cloud. If the servers are deleted and their rows are archived, add "
        "partial=true"
    )


def _diff(plan: plans.PinPlan) -> t.List[t.Dict[str, str]]:
    folded = Folded()
    for row in plan.changes:
        what = "pinned_availability_zone"
        folded.add(f"server {row.server} ({row.name})", f"{what}: {row.before}", f"{what}: {row.after}")
    before, after = folded.texts()
    header = f"pins of {count(len(plan.changes), 'server')}"
    return [{"before_header": header, "after_header": header, "before": before, "after": after}] if plan.changes else []
