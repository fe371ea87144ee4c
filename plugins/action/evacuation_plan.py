# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of evacuation_plan: may a host be evacuated, who goes where, and is it dead?"""

from __future__ import annotations

import datetime
import os
import socket
import typing as t
import uuid

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.stackguard.nova.plugins.module_utils import findings, moving, steps, text
from ansible_collections.stackguard.nova.plugins.module_utils.actions import evacuation_round
from ansible_collections.stackguard.nova.plugins.module_utils.checks import evacuation as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks import storage
from ansible_collections.stackguard.nova.plugins.module_utils.connection import connect, openstack_spec
from ansible_collections.stackguard.nova.plugins.module_utils.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation_options import ARGUMENTS, request_of
from ansible_collections.stackguard.nova.plugins.module_utils.facts import (
    Bundle,
    EvacuationFacts,
    FactsError,
    from_plain,
    to_plain,
)
from ansible_collections.stackguard.nova.plugins.module_utils.plans import evacuation as plans
from ansible_collections.stackguard.nova.plugins.module_utils.requests import EvacuationRequest, Fence
from ansible_collections.stackguard.nova.plugins.module_utils.systems import processes

Result = t.Dict[str, t.Any]


class ActionModule(ActionBase):
    """Judge and plan an evacuation; later, judge whether its source is dead."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the plan, or every reason why not."""
        super().run(tmp, task_vars)
        phase = {"type": "str", "default": "preflight", "choices": ["preflight", "death"]}
        take_over = {"type": "bool", "default": False}
        _validation, args = self.validate_argument_spec(openstack_spec(**ARGUMENTS, phase=phase, take_over=take_over))
        try:
            return self._preflight(args) if args["phase"] == "preflight" else self._death(args)
        except (StackguardError, FactsError, findings.OverrideError) as error:
            return {"failed": True, "changed": False, "msg": str(error)}

    def _collect(self, args: Result) -> t.Tuple[Bundle, EvacuationFacts]:
        return evacuation_round.collect(connect(args), args["evacuate_host"], args["evidence_dir"])

    # --- before anything is touched

    def _preflight(self, args: Result) -> Result:
        journal = args["journal"]
        if journal is not None:
            return self._resume(args, journal)
        overrides = findings.parse_overrides(args["overrides"])
        bundle, about = self._collect(args)
        servers = moving.guests_of(bundle.cloud, args["evacuate_host"]) if bundle.cloud else None
        request = request_of(args, uuid.uuid4().hex[:12], servers or [])
        decision = checks.preflight(bundle, about, request, overrides, args["fence"])
        report = self._report(bundle, decision.checked, overrides, len(decision.guests))
        explained = plans.explained(decision.seating, decision.destinations)
        answer = {"changed": False, "report": report, "placements": explained}
        refused = findings.standing(decision.checked.findings, storage.honoured(decision.checked, overrides))
        if refused:
            told = text.findings_text(decision.checked, storage.honoured(decision.checked, overrides))
            msg = f"refused, nothing was changed: {len(refused)} reasons\n{told}"
            return {**answer, "failed": True, "state": "refused", "msg": msg}
        if not decision.guests:
            msg = f"0 of 0 servers of {request.host} can be evacuated: there is none, and nothing is to be done"
            self._say(msg)
            return {**answer, "state": "clear", "msg": msg}
        return {**answer, **self._planned(args, bundle, about, request, decision)}

    def _planned(
        self,
        args: Result,
        bundle: Bundle,
        facts: EvacuationFacts,
        request: EvacuationRequest,
        decision: checks.Decision,
    ) -> Result:
        images = _images(bundle, decision)
        refused = decision.addresses.why if decision.addresses else {}
        reason = checks.reason_of(request.operation_id)
        plan = plans.plan(request, str(args["fence"]), decision.seating, images, reason, refused)
        self._say(text.plan_text(plan))
        if decision.checked.findings or decision.checked.unchecked:
            self._say(text.findings_text(decision.checked, findings.parse_overrides(args["overrides"])))
        seats = {seat.uuid for seat in decision.seating.seats}
        about = {
            "host": request.host,
            "fence": args["fence"],
            "addresses": sorted(refused),
            "order": [guest.uuid for guest in decision.guests],
            "servers": [
                {
                    "uuid": guest.uuid,
                    "name": guest.name,
                    "status": guest.status,
                    "images": images.get(guest.uuid, {}),
                    "numa": to_plain((facts.numa or {}).get(guest.uuid)),
                }
                # Who finds no place now is looked at in each round again, and told in the end.
                for guest in decision.guests
            ],
            "overrides": to_plain(findings.parse_overrides(args["overrides"])),
        }
        answer = {
            # What a run would change; and Ansible shows no diff of what is not changed.
            "changed": bool(seats) and self._task.check_mode,
            "state": "planned",
            "operation_id": plan.operation_id,
            "journal": {**steps.new_journal(plan, about, _now()), "run": _this_run()},
            "plan": to_plain(plan),
            "addresses": sorted(refused),
            "ceph_hosts": _ceph_hosts(bundle),
            "reason": reason,
            "msg": f"{len(seats)} of {len(decision.guests)} servers of {request.host} can be evacuated",
        }
        if self._play_context.diff or self._task.diff:
            answer["diff"] = text.plan_diff(plan)
        return answer

    def _resume(self, args: Result, journal: Result) -> Result:
        about = journal["about"]
        if about["host"] != args["evacuate_host"]:
            raise StackguardError(
                f"SG706 operation-open: an unfinished evacuation of {about['host']} is open (operation "
                f"{journal['operation_id']}): carry on with it first, with its own host"
            )
        _refuse_while_it_runs(journal, args["take_over"])
        bundle, _about = self._collect(args)
        self._say(f"carrying on with operation {journal['operation_id']}: evacuation of {about['host']}")
        return {
            "changed": False,
            "state": "resumed",
            "operation_id": journal["operation_id"],
            "journal": {**journal, "run": _this_run(), "memory": evacuation_round.resumed(journal)},
            # As they were decided, with all the findings: by now other hosts may have some of the disks.
            "addresses": about["addresses"],
            "ceph_hosts": _ceph_hosts(bundle),
            "reason": checks.reason_of(journal["operation_id"]),
            "msg": f"operation {journal['operation_id']} is carried on with",
        }

    # --- after the fence

    def _death(self, args: Result) -> Result:
        journal = args["journal"]
        if journal is None:
            raise StackguardError("journal: the operation's journal is needed to judge whether its source is dead")
        overrides = findings.parse_overrides(args["overrides"])
        proof = journal["about"].get("fence_proof")
        bundle, about = self._collect(args)
        # Those who have left already, in an earlier run, are not asked about: their disks are in use, rightly.
        here = {server.id for server in (bundle.cloud.servers if bundle.cloud else None) or []}
        passengers = [from_plain(evacuation_round.Passenger, item, "servers") for item in journal["about"]["servers"]]
        # Nor those that an earlier run has sent, and that have not arrived.
        riding = evacuation_round.on_the_way(bundle, passengers, evacuation_round.remembered(journal))
        here -= {entry.uuid for entry in riding}
        servers = tuple(entry.uuid for entry in passengers if entry.uuid in here)
        request = EvacuationRequest(
            args["evacuate_host"],
            journal["operation_id"],
            args["inventory_name"],
            servers,
            fence=None if proof is None else Fence(**{**proof, "addresses": tuple(proof.get("addresses", ()))}),
        )
        checked = checks.death(bundle, about, request)
        honoured = storage.honoured(checked, overrides)
        refused = findings.standing(checked.findings, honoured)
        report = self._report(bundle, checked, overrides, len(servers))
        if refused:
            msg = f"{args['evacuate_host']} is not proven dead:\n{text.findings_text(checked, honoured)}"
            return {"failed": True, "changed": False, "dead": False, "msg": msg, "report": report}
        msg = f"{args['evacuate_host']} is fenced and down, and nobody has its guests' disks open"
        return {"changed": False, "dead": True, "msg": msg, "report": report, "riding": to_plain(riding)}

    @staticmethod
    def _report(
        bundle: Bundle, checked: findings.Checked, overrides: t.Sequence[findings.Override], servers: int
    ) -> Result:
        counted = storage.honoured(checked, overrides)
        return findings.report(checked, bundle.collected_at, len(bundle.hosts), servers, counted)

    @staticmethod
    def _say(message: str) -> None:
        Display().display(message)


def _ceph_hosts(bundle: Bundle) -> t.List[str]:
    """Return inventory names of hosts that have just listed the pool."""
    found = bundle.hosts.items()
    return sorted(name for name, facts in found if facts.rbd is not None and facts.rbd.images is not None)


def _this_run() -> Result:
    """Name the process that runs the playbook: this one is its child."""
    pid = os.getppid()
    return {"controller": socket.gethostname(), "pid": pid, "pid_start": processes.start_time(pid)}


def _refuse_while_it_runs(journal: Result, take_over: bool) -> None:
    """SG707: two runs never carry on with one operation. Whether a run elsewhere has ended only its operator knows."""
    run, mine = journal.get("run") or {}, _this_run()
    if run == mine or take_over:
        return
    operation = f"SG707 lock-held: operation {journal['operation_id']}"
    if run.get("controller") != mine["controller"]:
        raise StackguardError(
            f"{operation} was begun on {run.get('controller')}: if that run has ended, carry on with it here by "
            "evacuate_take_over=true"
        )
    if run.get("pid_start") is not None and processes.start_time(int(run["pid"])) == run["pid_start"]:
        raise StackguardError(f"{operation} is being carried out by process {run['pid']} on this machine")


def _images(bundle: Bundle, decision: checks.Decision) -> t.Dict[str, t.Dict[str, str]]:
    """Every image of those who go, by server, with Ceph's id: a config drive too."""
    wanted = {guest.uuid for guest in decision.guests}
    found: t.Dict[str, t.Dict[str, str]] = {}
    for name, places in storage.seen(bundle, wanted).items():
        identity = places[0].image.id
        if identity is not None:
            found.setdefault(name.partition("_")[0], {})[name] = identity
    return found


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
