# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins of many servers from end to end: read, judge, write the old pins down, change; restore; say what is recorded.

There is no operation that is open or closed. One file holds every old pin, whichever run changed it: a run that was
killed is run again, and a restore takes the file.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...engine import lifecycle, write_lease
from ...engine.approval import SHA256, Approver
from ...model import approval, facts, findings, server_selection
from ...model.errors import StackguardError
from ...model.folding import Folded
from ...model.wording import count
from ...records import journal as journals
from ...reports import terminal
from ...systems.api import http, server_records, zone_facts
from . import pin_steps as zone_pin
from . import plan as plans
from . import steps as zone_pins

Result = t.Dict[str, t.Any]
Chosen = t.Callable[[t.Any, t.Mapping[str, t.Any]], server_records.ServerList]
Servers = t.List[facts.ApiServer]

APPLY, RESTORE, STATUS = lifecycle.APPLY, "restore", lifecycle.STATUS
ACTIONS = (APPLY, RESTORE, STATUS)
#: What says whether a run does the rest of one that did not finish.
_ASKED = {
    APPLY: ("state", "servers", "hosts", "all_servers", "zone", "strategy"),
    RESTORE: ("servers", "hosts", "all_servers"),
}
#: Servers that a message names.
SHOWN = 20


def problem(args: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return what is wrong with the options that say which servers are meant; None: nothing."""
    named = args["servers"] or args["hosts"] or args["all_servers"]
    wrong = server_selection.expression_problem({"servers": args["servers"]})
    if wrong is None and args["action"] != STATUS and not named:
        # Nobody is ever meant by leaving everything out.
        wrong = "set at least one of these options: servers, hosts, all_servers=true"
    return wrong


@dataclasses.dataclass(frozen=True)
class Work:
    """What a run has decided: the plan, and what the result says whatever comes of it."""

    answer: Result
    plan: plans.PinPlan = dataclasses.field(default_factory=lambda: plans.PinPlan([], [], []))
    #: Whether there is anything to do, if only to the file: a run that did all may have been killed before its end.
    begins: bool = False
    #: The servers that stay as they are, each with the reason: for people.
    left_out: t.List[str] = dataclasses.field(default_factory=list)
    #: Of a restore: deleted servers by uuid, and those that Nova does not show, with their names.
    gone: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    lost: t.List[str] = dataclasses.field(default_factory=list)
    #: What makes the report, and of what.
    checked: findings.Checked = dataclasses.field(default_factory=findings.Checked)
    about: t.Optional[facts.ZoneFacts] = None
    #: Pins that somebody else has changed since: they are named, and left alone.
    others: t.List[zone_pins.PinOutcome] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class PinRun(lifecycle.Run):
    """What a run is given. ``options``: the module's own; ``chosen``: reads the servers that are meant."""

    cloud: t.Any
    chosen: Chosen
    operation_id: str
    #: The host that keeps the file, for people.
    keeper: str
    #: Whether this run may still change pins.
    leased: write_lease.Lease
    #: Not empty from the moment when pins may have changed.
    begun: t.List[str] = dataclasses.field(default_factory=list)

    def carry_out(self) -> Result:
        """Do what was asked for. Raises StackguardError."""
        action = self.options["action"]
        if action != STATUS:
            Approver.of(self).begin()
        kept = zone_pins.OldPinsFile(self.state)
        lifecycle.refuse_unknown(self, kept.listed)
        if action == STATUS:
            return {**self._status(kept), **self._where(kept)}
        self._refuse_another(kept)
        work = self._apply(kept) if action == APPLY else self._restore(kept)
        result = self._change(kept, work) if work.begins and not self.check_mode else work.answer
        return {"failed": False, **result, **self._where(kept)}

    def _where(self, kept: zone_pins.OldPinsFile) -> Result:
        return {"old_pins": {"host": self.keeper, "path": kept.path}}

    def _place(self, kept: zone_pins.OldPinsFile) -> str:
        return f"{kept.path} on {self.keeper}"

    # --- who is at work

    def _refuse_another(self, kept: zone_pins.OldPinsFile) -> None:
        """Raise an error while another run is at work, and for what another cloud has left."""
        if kept.content:
            self.refuse_other_cloud(kept.content)
        if kept.content.get("run"):
            self.refuse_while_carried_out(kept.content)

    def _asked(self) -> Result:
        """Return the request, as the file gives it back."""
        action = self.options["action"]
        asked = {"action": action, **{name: self.options[name] for name in _ASKED[action]}}
        return t.cast("Result", json.loads(json.dumps(asked)))

    def _resumed(self, kept: zone_pins.OldPinsFile) -> t.Optional[str]:
        """Return the id of the operation that was not finished, if the same is asked for again."""
        same = kept.content.get("unfinished") and kept.content.get("request") == self._asked()
        return str(kept.content["operation_id"]) if same else None

    # --- deciding

    def _apply(self, kept: zone_pins.OldPinsFile) -> Work:
        listed = self.chosen(self.cloud, self.options)
        about, plan, checked, answer = self._judge(kept, listed)
        standing = [item for item in plan.problems if not findings.overridden(item, self.overrides)]
        if about.silent:
            # Nobody knows which servers are left out: neither an override nor C(partial) accepts that.
            return Work(_refused(answer, f"SG709 evidence-missing: {server_records.silence(about.silent)}"))
        if standing and not self.options["partial"]:
            codes = ", ".join(sorted({item.code for item in standing}))
            why = f"{count(len(standing), 'server')} cannot be {self.options['state']} ({codes})"
            return Work(_refused(answer, why))
        begins = bool(plan.changes or self._resumed(kept))
        work = Work(answer, plan, begins, _problems(plan), checked=checked, about=about)
        self._approve(kept, work, "would change")
        return work

    def _restore(self, kept: zone_pins.OldPinsFile) -> Work:
        if not kept.pins:
            msg = f"{self._place(kept)} holds no old pins: there is nothing to restore"
            return Work({"changed": False, "state": "none", "msg": msg})
        wanted, servers = self._selected(kept.pins)
        missing = {uuid: wanted[uuid].name for uuid in sorted(set(wanted) - {server.id for server in servers})}
        deleted = http.each(sorted(missing), lambda uuid: server_records.is_deleted(self.cloud, uuid))
        gone = {uuid: name for uuid, name in missing.items() if deleted[uuid] or self.options["partial"]}
        lost = [name for uuid, name in missing.items() if uuid not in gone]
        listed = server_records.ServerList(servers, [])
        about, plan, checked, answer = self._judge(kept, listed, wanted, lost)
        others = _others(plan, wanted, about.pins or {})
        work = Work(answer, plan, True, _problems(plan), gone, lost, checked, about, others)
        self._approve(kept, work, "would be restored")
        answer["changes"] += facts.to_plain(work.others)
        return work

    def _judge(
        self,
        kept: zone_pins.OldPinsFile,
        listed: server_records.ServerList,
        restore: t.Optional[t.Mapping[str, plans.OldPin]] = None,
        lost: t.Sequence[str] = (),
    ) -> t.Tuple[facts.ZoneFacts, plans.PinPlan, findings.Checked, Result]:
        """Return what was read, what is to be changed, what the report tells, and the result so far."""
        options = self.options
        url = options["nova_api_db_url"]
        about = zone_facts.read_zones(self.cloud, listed.servers, url, whole=False, silent=listed.silent)
        request = plans.PinRequest(options["state"], options["zone"], options["strategy"], bool(url), restore)
        plan = plans.plan(about, request)
        unchecked = tuple(findings.Unchecked("SG709", name, "Nova does not show the server") for name in lost)
        accepted = restore is None and options["partial"] and not about.silent
        checked = plans.told(about, plan, accepted) + findings.Checked(unchecked=unchecked)
        answer: Result = {
            "report": self._report(kept, checked, about),
            "already": plan.already,
            "changes": facts.to_plain(plan.changes),
        }
        if self.diff:
            answer["diff"] = _diff(plan)
        if plan.problems:
            self.say(terminal.findings_text(findings.Checked(tuple(plan.problems)), self.overrides))
        if plan.changes:
            self.say(plans.table(plan))
        return about, plan, checked, answer

    def _report(self, kept: zone_pins.OldPinsFile, checked: findings.Checked, about: facts.ZoneFacts) -> Result:
        hosts, servers = len(about.services or []), len(about.servers or [])
        return {**findings.report(checked, about.read_at, hosts, servers, self.overrides), **self._where(kept)}

    def _approve(self, kept: zone_pins.OldPinsFile, work: Work, would: str) -> None:
        """Complete the result of a run that may begin. Raises Refused where another plan was approved.

        A run that does the rest of one that did not finish plans the rest anew: with the pins that are written
        already, it must be the plan that was approved.
        """
        answer, plan = work.answer, work.plan
        resumed, restores = self._resumed(kept), self.options["action"] == RESTORE
        rows = plans.rows_of(kept.rows, resumed, restores) if resumed else {}
        rows.update((row.server, row) for row in plan.changes)
        whole = plans.as_plan(zone_pins.KIND, self.operation_id, zone_pins.SUBJECT, rows.values())
        asked = {name: self.options[name] for name in ("state", "zone", "strategy", "partial")}
        asked.update(restore=restores, overrides=approval.of_overrides(self.overrides))
        approver = Approver.of(self)
        value = approver.approve(whole, asked, {"report": answer["report"]}) if rows else approver.nothing(whole, asked)
        already = f"{len(plan.already)} {'is' if len(plan.already) == 1 else 'are'} already correct"
        msg = f"{count(len(plan.changes), 'pin') if plan.changes else 'no pin'} {would}, {already}{_left_out(work)}"
        pins = {"planned": len(plan.changes), "already": len(plan.already), "left_out": len(work.left_out)}
        answer.update({SHA256: value, "changed": False, "state": "none", "msg": msg, "pins": pins})
        if plan.changes and self.check_mode:
            self.say(approver.hint(value))
            place = f"Before the first change, the run would write the old pins to {self._place(kept)}"
            answer.update(changed=True, state="planned", msg=f"{msg}. {place}")

    # --- changing

    def _change(self, kept: zone_pins.OldPinsFile, work: Work) -> Result:
        restores, url = self.options["action"] == RESTORE, self.options["nova_api_db_url"]
        operation_id = self._resumed(kept) or self.operation_id
        about = {
            lifecycle.CLOUD_ID: self.cloud_id(),
            "operation_id": operation_id,
            "request": self._asked(),
            "run": dict(self.mine),
        }
        self.begun.append(operation_id)
        kept.begin(about, work.plan.changes, self.clock.now(), restores)
        if work.plan.changes:
            self.say(f"The old pins are in {self._place(kept)}")
        done = zone_pins.carry_out(self.cloud, url, work.plan.changes, self.say, self.leased.check, self.leased.fresh)
        failed = [entry for entry in done if entry.outcome == zone_pins.FAILED]
        settled = [entry.server for entry in done if entry.outcome == zone_pin.GONE]
        if restores:
            settled = [entry.server for entry in done if entry not in failed]
            settled += [*work.gone, *work.plan.already]
        left = [entry.name for entry in failed]
        left += [*(str(item.object.name) for item in work.plan.problems), *work.lost] if restores else []
        kept.end(not left, settled, [entry.server for entry in done if entry.not_made])
        changed = {entry.server for entry in done if entry.outcome == zone_pin.CHANGED}
        told = (
            self._restored(kept, work, left, len(changed))
            if restores
            else self._applied(kept, work, left, len(changed))
        )
        return {
            **work.answer,
            "report": self._report(
                kept, plans.without_changed(work.checked, changed), t.cast("facts.ZoneFacts", work.about)
            ),
            "changes": facts.to_plain([*done, *work.others]),
            "operation_id": operation_id,
            "pins": {
                "changed": len(changed),
                "already": len(work.plan.already),
                "failed": len(failed),
                "left_out": len(work.left_out) + len(work.lost) + len(work.others),
            },
            "changed": bool(changed),
            "failed": bool(left),
            **told,
        }

    def _applied(self, kept: zone_pins.OldPinsFile, work: Work, left: t.Sequence[str], number: int) -> Result:
        """Return how a change of pins ended."""
        already, action = len(work.plan.already), self.variable("action")
        msg = f"{count(number, 'pin')} changed, {already} were already correct, {len(left)} failed{_left_out(work)}"
        msg = f"{msg}. The old pins are in {self._place(kept)}"
        if not left:
            return {"state": "finished", "msg": f"{msg}. To restore the old pins, run with {action}={RESTORE}"}
        again = f"Run the same command again, or restore the old pins with {action}={RESTORE}"
        return {"state": "incomplete", "msg": f"{msg}. {again}"}

    def _restored(self, kept: zone_pins.OldPinsFile, work: Work, left: t.Sequence[str], number: int) -> Result:
        """Return how a restore ended."""
        parts = [f"{count(number, 'pin')} restored, {len(work.plan.already)} were as before"]
        if left:
            parts.append(f"{len(left)} not restored: {_named(left)}. Run the same command again")
        if work.lost:
            parts.append(_why_lost(work.lost, self.variable("partial")))
        if work.others:
            now = [f"{row.name} (now {row.before or 'no pin'})" for row in work.others]
            parts.append(f"{len(now)} left unchanged, because another user has changed the pin: {_named(now)}")
        if work.gone:
            parts.append(f"Nova no longer has {count(len(work.gone), 'server')}: {_named(sorted(work.gone.values()))}")
        if left or work.others:
            parts.append(f"The old pins that are not restored stay in {self._place(kept)}")
        state = "incomplete" if left else ("restored" if number else "none")
        return {"state": state, "msg": ". ".join(parts)}

    # --- what is recorded

    def _selected(self, pins: t.Mapping[str, plans.OldPin]) -> t.Tuple[t.Dict[str, plans.OldPin], Servers]:
        """Return the recorded pins that are meant, and their servers as Nova shows them.

        A server that Nova does not show is meant wherever a selection looks at what Nova shows. Raises StackguardError
        for a selection that means nobody, or a server that is not recorded.
        """
        given, hosts = self.options["servers"], {host.casefold(): host for host in self.options["hosts"]}
        names = [_recorded_as(str(word), pins) for word in given] if isinstance(given, list) else list(pins)
        found = http.each(sorted(names), lambda uuid: server_records.whole_server(self.cloud, uuid))
        shown = [server for server in found.values() if server is not None]
        by_expression = isinstance(given, str) and given
        if hosts or by_expression:
            silent = sorted(server.id for server in shown if server.status == facts.CELL_DOWN)
            if silent:
                raise server_records.SilentCellError(server_records.silence(silent))
        for folded, host in hosts.items():
            if folded not in {str(server.host).casefold() for server in shown}:
                raise StackguardError(f"hosts: no server of which an old pin is recorded is on {host}")
        if hosts:
            shown = [server for server in shown if str(server.host).casefold() in hosts]
        if by_expression:
            meant = server_selection.chosen_servers(given, shown, "the servers whose old pins are recorded")
            shown = [server for server in shown if server.id in (meant or ())]
        there = {server.id for server in shown} | {uuid for uuid, server in found.items() if server is None}
        return {uuid: pin for uuid, pin in pins.items() if uuid in there}, shown

    def _status(self, kept: zone_pins.OldPinsFile) -> Result:
        """Say what the file holds, and what is now. Nothing is changed."""
        pins, place = kept.pins, self._place(kept)
        told: Result = {"changed": False, "failed": False, "operation_id": kept.content.get("operation_id")}
        notes = self._notes(kept)
        if not pins:
            msg = ". ".join([f"no old pins are recorded in {place}", *notes])
            return {**told, "state": "none", "recorded": [], "msg": msg}
        wanted, servers = self._selected(pins)
        url = self.options["nova_api_db_url"]
        read = zone_facts.read_zones(self.cloud, servers, url, whole=False).pins
        shown = {server.id: server for server in servers}
        known = {uuid: pin for uuid, pin in (read or {}).items() if shown[uuid].status != facts.CELL_DOWN}
        missing = sorted(set(wanted) - set(shown))
        deleted = http.each(missing, lambda uuid: server_records.is_deleted(self.cloud, uuid))
        rows = [plans.recorded(pin, uuid in shown, deleted.get(uuid, False), known) for uuid, pin in wanted.items()]
        self.say(plans.recorded_table(rows))
        states = [row.state for row in rows]
        numbers = {state: states.count(state) for state in dict.fromkeys(states)}
        counts = ", ".join(f"{number} {state}" for state, number in numbers.items())
        msg = ". ".join([f"{place} holds {count(len(rows), 'old pin')}: {counts}", *notes])
        state = "unfinished" if kept.content.get("unfinished") else "finished"
        return {**told, "state": state, "pins": numbers, "recorded": facts.to_plain(rows), "msg": msg}

    def _notes(self, kept: zone_pins.OldPinsFile) -> t.List[str]:
        content, notes = kept.content, []
        if content.get("run"):
            who = journals.run_text(content["run"])
            notes.append(f"Operation {content['operation_id']} is the work of {who}, or that run was killed")
        elif content.get("unfinished"):
            notes.append(f"Operation {content['operation_id']} is not finished")
        if content.get("unfinished"):
            action = self.variable("action")
            notes.append(f"Run the same command again, or restore the old pins with {action}={RESTORE}")
        return notes


def _refused(answer: Result, why: str) -> Result:
    report = findings.as_refused(answer["report"])
    msg = f"refused, and nothing was changed: {why}"
    return {**answer, "report": report, "failed": True, "changed": False, "state": "refused", "msg": msg}


def _problems(plan: plans.PinPlan) -> t.List[str]:
    """Return the servers that stay as they are, each with the reason."""
    return [f"{item.object.name or item.object.id} ({item.code})" for item in plan.problems]


def _others(
    plan: plans.PinPlan, wanted: t.Mapping[str, plans.OldPin], pins: t.Mapping[str, t.Optional[str]]
) -> t.List[zone_pins.PinOutcome]:
    reason = "another user has changed the pin since a run of this collection wrote it"
    return [
        zone_pins.PinOutcome(
            uuid, wanted[uuid].name, pins[uuid], wanted[uuid].before, "", zone_pins.CHANGED_SINCE, reason
        )
        for uuid in plan.others
    ]


def _recorded_as(word: str, pins: t.Mapping[str, plans.OldPin]) -> str:
    """Return the uuid of a recorded server. Raises StackguardError: it is not recorded, or several have the name."""
    found = [uuid for uuid, pin in pins.items() if word in (uuid, pin.name)]
    if not found:
        raise StackguardError(f"servers: no old pin of {word} is recorded")
    if len(found) > 1:
        raise StackguardError(
            f"servers: {len(found)} recorded servers have the name {word}. Use the server's uuid",
            problem="ambiguous-name",
        )
    return found[0]


def _left_out(work: Work) -> str:
    """Return which servers stay as they are, and why."""
    if not work.left_out:
        return ""
    return f", {count(len(work.left_out), 'server')} left out: {_named(work.left_out)}"


def _named(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _why_lost(lost: t.Sequence[str], partial: str) -> str:
    """Return what is known of servers that Nova neither shows nor has a record of."""
    return (
        f"Nova does not show {', '.join(lost)}, and has no record that "
        f"{'the server was' if len(lost) == 1 else 'the servers were'} deleted. Verify that the credentials belong to "
        "an administrator of the servers' cloud. If the servers are deleted and their rows are archived, add "
        f"{partial}=true"
    )


def _diff(plan: plans.PinPlan) -> t.List[t.Dict[str, str]]:
    folded = Folded()
    for row in plan.changes:
        what = "pinned_availability_zone"
        folded.add(f"server {row.server} ({row.name})", f"{what}: {row.before}", f"{what}: {row.after}")
    before, after = folded.texts()
    header = f"pins of {count(len(plan.changes), 'server')}"
    return [{"before_header": header, "after_header": header, "before": before, "after": after}] if plan.changes else []
