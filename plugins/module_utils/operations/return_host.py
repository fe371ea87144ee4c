# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The return of a host that was evacuated: from evidence to a plan, or to every reason why not.

It keeps no journal. Each of its steps is safe to repeat, and what is left is read again each time.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import return_host as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model import approval, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ReturnRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.operations.approved_plan import SHA256, Approver
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.plans import return_host as plans
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, operation_records
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal

Result = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class ReturnRun:
    """What one call is given. ``options``: the action's own; ``directory``: of the evidence."""

    options: Result
    directory: str
    say: t.Callable[[str], None]
    check_mode: bool = False
    diff: bool = False

    def judged(self) -> Result:
        """Return the plan, or every reason why not. Raises FactsError, OverrideError."""
        args = self.options
        bundle = evidence.load_dir(self.directory)
        request = ReturnRequest(
            args["return_host"],
            args["inventory_name"],
            tuple(args["ceph_names"]),
            tuple(operation_records.records(args["journals"], args["closed_journals"])),
        )
        decision = checks.judge(bundle, request)
        # What was not read at all is passed by no one's word: nothing was judged then.
        overrides = [] if decision.undecided else findings.parse_overrides(args["overrides"])
        servers = len((bundle.cloud.servers if bundle.cloud else None) or [])
        report = findings.report(decision.checked, bundle.collected_at, 1, servers, overrides)
        shown = terminal.findings_text(decision.checked, overrides)
        standing = findings.standing(decision.checked.findings, overrides)
        refused = [item for item in standing if not checks.about_disks(item)]
        if refused:
            msg = f"refused, nothing was changed: {len(refused)} reasons to keep nova-compute stopped\n{shown}"
            return {"changed": False, "report": report, "failed": True, "state": "refused", "msg": msg}
        planned = self._planned(args, request, decision, shown, standing)
        return {"report": findings.refused(report) if planned["state"] == "refused" else report, **planned}

    def _planned(
        self,
        args: Result,
        request: ReturnRequest,
        decision: checks.ReturnDecision,
        shown: str,
        dead: t.Sequence[findings.Finding],
    ) -> Result:
        waits = decision.clearing.held_until_start is not None
        plan = plans.plan(request.host, decision.clearing, args["status"], args["libvirt_uri"])
        approver = Approver.given(args, "return_expect_plan", self.check_mode)
        approver.begin()
        overrides = findings.parse_overrides(args["overrides"])
        asked = {
            "host": request.host,
            "status": args["status"],
            "overrides": approval.of_overrides(overrides),
        }
        try:
            approved = approver.approve(plan, asked)
        except Refused as error:
            return {"changed": False, "failed": True, "state": "refused", "msg": str(error)}
        answer: Result = {
            SHA256: approved,
            # What a run would change; and Ansible shows no diff of what is not changed.
            "changed": bool(plan.steps) and self.check_mode,
            "state": "planned" if plan.steps else "clear",
            "plan": to_plain(plan),
            "domains": plans.domain_params(decision.clearing, args["libvirt_uri"]),
            "lifts": plans.lift_params(decision.clearing),
            "reason": decision.clearing.reason or "",
            "held": waits,
            "msg": f"{count(len(plan.steps), 'step')} to clear on {request.host}; {'; '.join(plan.notes)}",
        }
        if dead and not plan.steps:
            return {**answer, "failed": True, "state": "disks-not-open", "msg": _dead(request.host, dead, plan, shown)}
        if shown:
            self.say(shown)
        nothing = "; ".join([f"nothing to clear on {request.host}", *(plan.notes if waits else [])])
        self.say(terminal.plan_text(plan) if plan.steps else nothing)
        if plan.steps and self.check_mode:
            self.say(approver.hint(approved))
        if plan.steps and (self.diff):
            answer["diff"] = terminal.plan_diff(plan)
        return answer


def _dead(host: str, dead: t.Sequence[findings.Finding], plan: Plan, shown: str) -> str:
    closed = [item for item in dead if item.code == checks.DEAD_DISK]
    reasons = []
    if closed:
        needs = "each needs a hard reboot, for which nova-compute must run"
        reasons.append(f"{count(len(closed), 'running domain')} cannot use its disks: {needs}")
    if len(closed) < len(dead):
        unread = count(len(dead) - len(closed), "disk")
        reasons.append(f"whether running domains can use {unread} is not known: no host looked at it")
    notes = "; ".join(plan.notes)
    return f"nothing is left to clear on {host}, but {'. Also, '.join(reasons)}. {notes}\n{shown}"
