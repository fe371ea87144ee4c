# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of a rename: judge, begin, resume, roll back, status, report.

Its journal lies on the compute host, which outlives every controller. Databases and APIs are reached from here; what is
to be done on the host travels there as requests, see :class:`RenameHost` in steps/rename.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import time
import typing as t
import uuid

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.placement import DrainOptions
from ansible_collections.stackguard.nova.plugins.module_utils.checks.after import rename
from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import rehearsal
from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import rename as rename_checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import rename_by_drain as drain_checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import identity
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import names as name_checks
from ansible_collections.stackguard.nova.plugins.module_utils.model import approval, findings, names
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    Bundle,
    FactsError,
    Rehearsal,
    from_plain,
    to_plain,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan, PlanError
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import Commands, RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.operations import run_owner, run_token
from ansible_collections.stackguard.nova.plugins.module_utils.operations.approved_plan import SHA256, Approver
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.plans import rename as rename_plan
from ansible_collections.stackguard.nova.plugins.module_utils.plans import rename_by_drain as drain_plan
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.module_utils.steps import queues as queue_actions
from ansible_collections.stackguard.nova.plugins.module_utils.steps import registry
from ansible_collections.stackguard.nova.plugins.module_utils.steps import rename as rename_actions
from ansible_collections.stackguard.nova.plugins.module_utils.steps import rename_by_drain as drain_actions
from ansible_collections.stackguard.nova.plugins.module_utils.steps import runner as steps


@dataclasses.dataclass(frozen=True)
class RenameRun:
    """What one call is given. ``options``: the action's own arguments, as its documentation says."""

    options: t.Dict[str, t.Any]
    host: rename_actions.RenameHost
    inventory_name: str
    #: Who runs it, for the journal.
    operator: str
    say: t.Callable[[str], None]
    check_mode: bool = False
    diff: bool = False


class Rename:
    """One call of the operation."""

    def __init__(self, run: RenameRun) -> None:
        self._run = run
        self._args = run.options
        self._host = run.host
        self._approver = Approver.given(run.options, "rename_expect_plan", run.check_mode)

    def carry_out(self) -> t.Dict[str, t.Any]:
        """Do what was asked for, and return the result. What stops it is in the result."""
        try:
            return self._dispatch(self._args["action"])
        except (steps.StepError, StackguardError, journals.JournalError, FactsError, findings.OverrideError) as error:
            needs = {"needs": error.needs} if isinstance(error, drain_actions.DiscoveryError) else {}
            ended = {"failed": True, "changed": self._changed, "msg": str(error), **needs}
            return {**ended, **self._failed_report(error), **self._where_it_stands()}

    # --- what was asked for

    _changed = False
    #: Operations that had ended on the host when this run asked it first.
    _ended: t.Optional[int] = None
    _journal: t.Optional[t.Dict[str, t.Any]] = None
    #: What was found beforehand: kept where the operation itself fails.
    _told: t.Mapping[str, t.Any] = {}
    #: Of the operation that this run began, or resumed.
    _operation_id: t.Optional[str] = None
    _database_lock: t.Any = None
    #: The host in the hands of this run, from where it begins or resumes.
    _held: t.Optional[run_token.JournalHost] = None

    def _dispatch(self, action: str) -> t.Dict[str, t.Any]:
        (found,) = self._host.call([{"op": "journal_read", "kind": rename_plan.KIND}])
        self._journal = found.get("journal")
        self._ended = found.get("ended")
        if action == "status":
            return self._status()
        if action != "rollback":
            self._approver.begin()
        if self._journal is None:
            return self._begin() if action == "apply" else self._nothing_open(action)
        about = self._journal["about"]
        asked = (self._args["rename_from"], self._args["rename_to"])
        if (about["rename_from"], about["rename_to"]) != asked:
            raise steps.StepError(
                f"SG706 operation-open: an unfinished rename {self._journal['subject']} is open on this host "
                f"(operation {self._journal['operation_id']}): resume it or roll it back first, with its own names"
            )
        if action != "rollback":
            self._approver.resume(self._journal)
        if self._run.check_mode:
            return {
                **self._status(),
                "msg": f"would {'roll back' if action == 'rollback' else 'resume'} this operation",
            }
        return self._carry_on(action)

    def _status(self) -> t.Dict[str, t.Any]:
        if self._journal is None:
            return {"changed": False, "state": "none", "msg": "no rename is open on this host"}
        progress = steps.progress(self._journal)
        self._run.say(terminal.progress_text(self._journal["subject"], self._journal["state"], progress))
        run = self._journal.get("run") or {}
        if run.get("token"):
            ended = True if run.get("ended") else run_owner.has_ended(run)
            words = "it has ended" if ended else "it is at work"
            words = "whether it goes on is not known here" if ended is None else words
            self._run.say(f"Last taken up by {journals.run_text(run)}: {words}")
        return {
            "changed": False,
            "state": self._journal["state"],
            "operation_id": self._journal["operation_id"],
            SHA256: self._journal["about"].get(SHA256),
            "progress": progress,
            "history": self._journal["history"],
            "msg": f"rename {self._journal['subject']} is {self._journal['state']}",
        }

    def _nothing_open(self, action: str) -> t.Dict[str, t.Any]:
        facts = self._host.facts(self._info_arguments())
        current = names.conf_host(facts)
        verb = {"rollback": "roll back"}.get(action, action)
        if current is None:
            # The host's present name decides whether the rename is over. The code does not guess it.
            why = next((entry.reason for entry in facts.unread if entry.part == "nova_conf"), "no reason was given")
            raise steps.StepError(
                f"no rename is open on this host: there is nothing to {verb}. Whether it is "
                f"{self._args['rename_from']} or {self._args['rename_to']} is not known, since nova.conf was not read "
                f"({why}): name its files with rename_nova_conf_files, and run the same command again"
            )
        if action == "rollback" and current == self._args["rename_from"]:
            return {"changed": False, "state": "none", "msg": f"nothing to roll back: the host is {current}"}
        if action == "resume" and current == self._args["rename_to"]:
            return {"changed": False, "state": "none", "msg": f"nothing to resume: the host is {current}"}
        raise steps.StepError(
            f"no rename is open on this host, and it calls itself {current}: there is nothing to {verb}"
        )

    def _begin(self) -> t.Dict[str, t.Any]:
        if not self._args["evidence_dir"]:
            raise StackguardError("evidence_dir is needed to begin a rename: the evidence that decides is read from it")
        bundle = evidence.with_unread(evidence.load_dir(self._args["evidence_dir"]), self._args["peers"])
        request = self._request()
        bundle = self._rehearsed(bundle, request)
        self._keep(bundle)
        overrides = findings.parse_overrides(self._args["overrides"])
        if rename.already_renamed(bundle, request.inventory_name, request.rename_from, request.rename_to):
            return self._already(bundle, request)
        # What waits in RabbitMQ changes by the second: read now, not from the evidence.
        waiting = queue_actions.preflight(self._systems(), request.rename_from, request.rename_to)
        if any(item.code == "SG316" for item in waiting.findings):
            # Where an override passes it, the queues are not looked into later either.
            request = dataclasses.replace(request, has_broker=False)
        checked, make_plan = self._judge(bundle, request)
        checked = checked + waiting
        report = self._report(bundle, checked, overrides, request)
        refused = findings.standing(checked.findings, overrides)
        if refused or report["verdict"] == "block":
            reasons = f"{count(len(refused), 'reason')}\n{terminal.findings_text(checked, overrides)}"
            msg = f"refused, nothing was changed: {reasons}"
            return {"failed": True, "changed": False, "msg": msg, "report": report, "state": "refused"}
        try:
            plan = make_plan()
        except (PlanError, names.NamesError) as error:
            # Overridden findings may leave the report at a warning: what cannot be planned is refused all the same.
            msg = f"refused, nothing was changed: {error}"
            return {
                "failed": True,
                "changed": False,
                "msg": msg,
                "report": findings.refused(report),
                "state": "refused",
            }
        if checked.findings or checked.unchecked:
            self._run.say(terminal.findings_text(checked, overrides))
        host = bundle.hosts.get(request.inventory_name)
        return self._execute_plan(plan, request, report, host.machine_id if host else None)

    def _rehearsed(self, bundle: Bundle, request: RenameRequest) -> Bundle:
        """Return the evidence with what libvirt would call the host: asked on the host, before anything is changed."""
        facts, wanted = bundle.hosts.get(request.inventory_name), rename_plan.rehearsal(bundle, request)
        if facts is None or wanted is None:
            return bundle
        try:
            (answer,) = self._host.call([{"op": "rehearse", **wanted}])
            tried = from_plain(Rehearsal, answer["rehearsal"], "rehearsal")
        except (steps.StepError, FactsError, KeyError) as error:
            tried = Rehearsal(wanted["name"], None, f"no answer: {error}")
        hosts = {**bundle.hosts, request.inventory_name: dataclasses.replace(facts, rehearsal=tried)}
        return dataclasses.replace(bundle, hosts=hosts)

    def _keep(self, bundle: Bundle) -> None:
        """Leave what decides as one file, whatever comes of it: the operator keeps it beside the report."""
        try:
            evidence.save_whole(self._args["evidence_dir"], bundle)
        except OSError as error:
            raise StackguardError(f"evidence_dir {self._args['evidence_dir']}: {error.strerror}") from error

    def _judge(self, bundle: Bundle, request: RenameRequest) -> t.Tuple[findings.Checked, t.Callable[[], Plan]]:
        """Return what stands against the rename, and how its plan is made, by strategy."""
        if self._args["strategy"] == "in_place":
            checked = rename_checks.preflight_rename(bundle, request) + rehearsal.check(bundle, request)
            return checked, lambda: rename_plan.plan(bundle, request)
        args = self._args
        options = DrainOptions(
            args["drain_parallel"], bool(args["drain_return"]), args["drain_timeout"], args["discover_timeout"]
        )
        # Where guests could go changes by the minute: read now, not from the evidence.
        systems = self._systems()
        targets = drain_actions.read_targets(systems)
        others = drain_actions.other_nodes(systems, bundle, request.rename_from)
        checked = drain_checks.preflight(bundle, targets, others, request, options)
        checked += rehearsal.check(bundle, request, in_place=False)
        return checked, lambda: drain_plan.plan(bundle, targets, request, options)

    def _already(self, bundle: Bundle, request: RenameRequest) -> t.Dict[str, t.Any]:
        checked = identity.check(bundle) + name_checks.check(bundle)
        report = self._report(bundle, checked, [], request)
        if report["verdict"] == "block":
            msg = f"the host is {request.rename_to} already, but not cleanly:\n{terminal.findings_text(checked)}"
            return {"failed": True, "changed": False, "msg": msg, "report": report}
        msg = f"the host is {request.rename_to} already"
        empty = Plan(rename_plan.KIND, "none", f"{request.rename_from} -> {request.rename_to}", [])
        value = self._approver.nothing(empty, self._asked(empty, request))
        return {"changed": False, "state": "finished", "msg": msg, "report": report, SHA256: value}

    def _execute_plan(
        self, plan: t.Any, request: RenameRequest, report: t.Dict[str, t.Any], machine_id: t.Optional[str]
    ) -> t.Dict[str, t.Any]:
        try:
            approved = self._approver.approve(plan, self._asked(plan, request))
        except Refused as error:
            return {
                "failed": True,
                "changed": False,
                "msg": str(error),
                "report": findings.refused(report),
                "state": "refused",
            }
        answer = {"report": report, "plan": to_plain(plan), SHA256: approved, "operation_id": plan.operation_id}
        if self._run.diff:
            answer["diff"] = terminal.plan_diff(plan)
        if self._run.check_mode:
            self._run.say(terminal.plan_text(plan, values="diff" not in answer))
            self._run.say(self._approver.hint(approved))
            return {"changed": True, "state": "planned", "msg": f"would rename {plan.subject}", **answer}
        about = {
            "rename_from": request.rename_from,
            "rename_to": request.rename_to,
            "inventory_name": request.inventory_name,
            "hypervisor_hostname": request.hypervisor_hostname,
            "has_neutron_db": request.has_neutron_db,
            "has_broker": request.has_broker,
            "strategy": self._args["strategy"],
            "overrides": to_plain(findings.parse_overrides(self._args["overrides"])),
            "machine_id": machine_id,
            SHA256: approved,
            # For the report of the run that ends the operation, which may be another one.
            "preflight": {"findings": report["findings"], "unchecked": report["unchecked"]},
        }
        self._told = {"report": report}
        self._operation_id = plan.operation_id
        with self._lock(machine_id) as self._database_lock, self._holding(plan.operation_id) as mine:
            self._changed = True
            self._journal = self._runner(mine, about).start(plan, about, self._ended)
        answer["report"] = self._with_noted(report, self._journal)
        return {"changed": True, "state": self._journal["state"], "msg": f"renamed {plan.subject}", **answer}

    def _asked(self, plan: Plan, request: RenameRequest) -> t.Dict[str, t.Any]:
        """Return what a person approves beside the plan's own values."""
        overrides = findings.parse_overrides(self._args["overrides"])
        return {
            "rename_from": request.rename_from,
            "rename_to": request.rename_to,
            "hypervisor_hostname": request.hypervisor_hostname,
            "strategy": self._args["strategy"],
            "return": bool(self._args["drain_return"]),
            "lock_guests": request.lock_guests,
            "neutron_database": request.has_neutron_db,
            "rabbitmq": request.has_broker,
            "commands": to_plain(request.commands),
            "servers": _servers_of(plan),
            "overrides": approval.of_overrides(overrides),
        }

    def _carry_on(self, action: str) -> t.Dict[str, t.Any]:
        journal = t.cast("t.Dict[str, t.Any]", self._journal)
        backwards = action == "rollback"
        self._operation_id = str(journal["operation_id"])
        if journal["about"].get("has_neutron_db") and not self._args["neutron_db_url"]:
            raise steps.StepError("neutron_db_url: this operation began with it and needs it to resume")
        # A rollback only tidies with it, and says what it left.
        if journal["about"].get("has_broker") and not backwards and not self._args["rabbit_url"]:
            raise steps.StepError("rename_rabbit_url: this operation began with it and needs it to resume")
        self._run.say(
            f"{'rolling back' if backwards else 'resuming'} operation {journal['operation_id']}: {journal['subject']}"
        )
        if backwards:
            # What is refused is not taken up: its journal stays as it is. Judged again by what the claim returns.
            drain_actions.refuse_rollback(journal, self._systems())
        lock = self._lock(journal["about"].get("machine_id"))
        with lock as self._database_lock, self._holding(self._operation_id) as mine:
            # What another run marked until now is in the journal that the claim returns.
            journal = mine.claim(journal, bool(self._args["take_over"]))
            if backwards:
                drain_actions.refuse_rollback(journal, self._systems())
            self._changed = True
            runner = self._runner(mine, journal["about"])
            self._journal = runner.backward(journal) if backwards else runner.forward(journal)
        verb = "rolled back" if backwards else "renamed"
        answer: t.Dict[str, t.Any] = {}
        if not backwards:
            answer["report"] = self._with_noted(self._begun_with(self._journal), self._journal)
        else:
            # A rollback has a report where there is something to tell: a guest that it left elsewhere, say.
            blank = findings.report(findings.Checked(), _now(), 1, _guests_of(self._journal))
            told = self._with_noted(blank, self._journal)
            answer.update({"report": told} if told["findings"] or told["unchecked"] else {})
        return {
            "changed": True,
            "state": self._journal["state"],
            "operation_id": journal["operation_id"],
            "msg": f"{verb} {journal['subject']}",
            **answer,
        }

    @staticmethod
    def _begun_with(journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        """Return the report of the run that began an operation, as its journal keeps it."""
        blank = findings.report(findings.Checked(), _now(), 1, _guests_of(journal))
        preflight = journal["about"].get("preflight")
        if preflight is not None:
            return {**blank, "findings": preflight["findings"], "unchecked": preflight["unchecked"]}
        reason = "the journal does not keep what preflight found: an earlier version of this collection began it"
        unknown = findings.Unchecked("SG706", str(journal["subject"]), reason)
        return {**blank, "unchecked": [to_plain(unknown)]}

    def _with_noted(self, report: t.Mapping[str, t.Any], journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        """Return a report with what the steps of the operation have found, whichever run carried them out.

        A guest that changed, a request that was lost: such a run never ends C(pass).
        """
        noted = [part for part in journal.get("memory", {}).values() if isinstance(part, dict)]
        plain = [*report["findings"], *(entry for part in noted for entry in part.get("findings") or ())]
        undecided = [*report["unchecked"], *(entry for part in noted for entry in part.get("unchecked") or ())]
        passed = [tuple(entry) for part in noted for entry in part.get("passed") or ()]
        overrides = [
            *findings.parse_overrides(journal["about"].get("overrides") or []),
            *(findings.Override(str(code), str(about), "named by an earlier run") for code, about in passed),
            *findings.parse_overrides(self._args["overrides"]),
        ]
        checked = findings.Checked(
            tuple(findings.from_report(entry) for entry in plain),
            tuple(findings.Unchecked(**entry) for entry in undecided),
        )
        checked = findings.merged([checked])
        return findings.report(checked, report["generated_at"], report["hosts"], report["servers"], overrides)

    # --- the parts

    def _request(self) -> RenameRequest:
        args = self._args
        given: t.Dict[str, t.Any] = {
            key: tuple(args[key]) if key.endswith("_units") else args[key]
            for key in (
                *("compute_units", "agent_units", "stop_timeout", "start_timeout", "agent_timeout"),
                *("settle_timeout", "lock_guests"),
            )
            if args[key] is not None
        }
        return RenameRequest(
            inventory_name=self._run.inventory_name,
            rename_from=args["rename_from"],
            rename_to=args["rename_to"],
            operation_id=uuid.uuid4().hex[:12],
            hypervisor_hostname=args["hypervisor_hostname"],
            has_neutron_db=bool(args["neutron_db_url"]),
            has_broker=bool(args["rabbit_url"]) and args["strategy"] == "in_place",
            commands=Commands(
                args["stop_command"], args["start_command"], args["mask_command"], args["unmask_command"]
            ),
            **given,
        )

    def _systems(self) -> rename_actions.Systems:
        return rename_actions.Systems(
            options=self._args,
            host=self._held or self._host,
            info_arguments=self._info_arguments(),
            sleep=time.sleep,
            monotonic=time.monotonic,
            overrides=findings.parse_overrides(self._args["overrides"]),
        )

    @contextlib.contextmanager
    def _holding(self, operation_id: str) -> t.Iterator[run_token.JournalHost]:
        """Let every request of this run bear its token; let go of an operation that is open at the end."""
        run = run_token.new_run(self._run.operator, _now())
        mine = run_token.JournalHost(self._host, rename_plan.KIND, operation_id, run, _now)
        self._held, closed = mine, False
        try:
            yield mine
            closed = True
        finally:
            self._held = None
            if not closed:
                mine.release()

    def _runner(self, mine: run_token.JournalHost, about: t.Mapping[str, t.Any]) -> steps.Runner:
        systems = self._systems()
        systems.named_at_start = findings.parse_overrides(about.get("overrides") or [])
        narrator = terminal.Narrator(self._run.say, time.monotonic)
        systems.remark = narrator.remark
        systems.still_ours = self._still_ours
        systems.fresh = mine.fresh
        return steps.Runner(
            host=mine,
            actions=registry.of_rename(systems),
            voice=narrator,
            now=_now,
            still_ours=self._still_ours,
            poll=lambda: time.sleep(1),
            revise=lambda plan: rename_plan.revised(plan, self._timeouts()),
            run=mine.run,
        )

    def _timeouts(self) -> t.Dict[str, int]:
        names_ = ("stop_timeout", "start_timeout", "agent_timeout", "settle_timeout")
        return {name: int(self._args[name]) for name in names_}

    def _lock(self, machine_id: t.Optional[str]) -> t.ContextManager[t.Any]:
        """Hold the host's lock: two inventories may call one machine by two names, and its machine-id is one."""
        about = machine_id or self._run.inventory_name
        key = hashlib.sha256(about.encode()).hexdigest()[:16]
        return rename_actions.lock(self._args, f"stackguard:rename:{key}")

    def _still_ours(self) -> None:
        if not self._database_lock.still_held():
            raise steps.StepError(
                "the database connection that holds this operation's lock was lost: run the same command again"
            )
        if self._held is not None:
            self._held.still_ours()

    def _report(
        self,
        bundle: Bundle,
        checked: findings.Checked,
        overrides: t.Sequence[findings.Override],
        request: RenameRequest,
    ) -> t.Dict[str, t.Any]:
        host = bundle.hosts.get(request.inventory_name)
        servers = len(host.domains) if host is not None and host.domains is not None else 0
        return findings.report(checked, bundle.collected_at, len(bundle.hosts), servers, overrides)

    def _where_it_stands(self) -> t.Dict[str, t.Any]:
        try:
            (found,) = self._host.call([{"op": "journal_read", "kind": rename_plan.KIND}])
        except (steps.StepError, journals.JournalError):
            return {"state": "unknown"}
        journal = found.get("journal")
        if journal is None:
            return self._closed_again()
        self._run.say(terminal.progress_text(journal["subject"], journal["state"], steps.progress(journal)))
        back = "" if drain_actions.only_forward(journal) else ", or with -e rename_action=rollback to undo it"
        self._run.say(f"The operation is open. Run the same command again to resume it{back}.")
        return {"state": journal["state"], "operation_id": journal["operation_id"], "progress": steps.progress(journal)}

    def _closed_again(self) -> t.Dict[str, t.Any]:
        """Where this run's own operation stands, where it put everything back; otherwise there is none."""
        if self._operation_id is None:
            return {"state": "none"}
        try:
            (found,) = self._host.call([{"op": "journal_closed", "kind": rename_plan.KIND}])
        except (steps.StepError, journals.JournalError):
            return {"state": "unknown", "operation_id": self._operation_id}
        states = {str(entry["operation_id"]): str(entry["state"]) for entry in found.get("journals") or []}
        if self._operation_id not in states:
            return {"state": "none"}
        return {"state": states[self._operation_id], "operation_id": self._operation_id}

    def _failed_report(self, error: Exception) -> t.Dict[str, t.Any]:
        """Return the report of an operation that did not come to its end: why is in it, and it is never C(pass)."""
        report = self._told.get("report")
        if report is None and self._operation_id is None:
            return {}
        report = report or findings.report(findings.Checked(), _now(), 1, 0)
        reason = "the rename did not come to its end: " + str(error).partition("\n")[0]
        ended = findings.Unchecked("SG706", self._run.inventory_name, reason)
        checked = findings.merged(
            [
                findings.Checked(
                    tuple(findings.from_report(entry) for entry in report["findings"]),
                    (*(findings.Unchecked(**entry) for entry in report["unchecked"]), ended),
                ),
                getattr(error, "checked", findings.Checked()),
            ]
        )
        overrides = findings.parse_overrides(self._args["overrides"])
        made = findings.report(checked, report["generated_at"], report["hosts"], report["servers"], overrides)
        return {"report": findings.refused(made)}

    def _info_arguments(self) -> t.Dict[str, t.Any]:
        arguments: t.Dict[str, t.Any] = {
            "state_dir": self._args["state_dir"],
            "inventory_name": self._run.inventory_name,
            "resolve_names": [self._args["rename_from"], self._args["rename_to"]],
        }
        for key in ("nova_conf_files", "compute_units", "agent_units"):
            if self._args[key]:
                arguments[key] = self._args[key]
        return arguments


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _guests_of(journal: t.Mapping[str, t.Any]) -> int:
    """Return how many guests a plan is about."""
    return max((len(step.params.get("domains", ())) for step in steps.plan_of(journal).steps), default=0)


def _servers_of(plan: Plan) -> t.List[str]:
    """Return the uuids of the servers that a plan is about."""
    found = set()
    for step in plan.steps:
        found |= {str(uuid) for uuid in step.params.get("uuids") or ()}
        for entry in [*(step.params.get("domains") or ()), *(step.params.get("guests") or ())]:
            found.add(str(entry["uuid"] if isinstance(entry, dict) else entry))
    return sorted(found)
