# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of a rename: judge, begin, resume, roll back, status, report.

Its journal lies on the compute host, which outlives every controller. Databases and APIs are reached from here; what is
to be done on the host travels there as requests, see :class:`RenameHost` in rename/in_place/steps.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import typing as t

from ..capacity.placement import DrainOptions
from ..engine import lifecycle, planned, run_owner, run_token
from ..engine import runner as steps
from ..engine import systems as kernel
from ..engine.lifecycle import OpenJournal, Refused
from ..engine.server_run import ServerRun
from ..hazards import identity
from ..hazards import names as name_checks
from ..model import approval, findings, names
from ..model import deployment as deployments
from ..model.errors import StackguardError
from ..model.facts import (
    Bundle,
    FactsError,
    Rehearsal,
    from_plain,
    to_plain,
)
from ..model.network_agents import has_ovn, ports_are_ovns
from ..model.plan import Plan, PlanError
from ..model.requests import (
    Commands,
    RenameRequest,
)
from ..model.wording import count
from ..records import evidence
from ..records import journal as journals
from ..reports import terminal
from ..systems.db import brokers
from . import steps as registry
from .adopt import adopted_names
from .adopt import plan as adopt_plan
from .adopt import preflight as adopt_checks
from .containers import steps as container_actions
from .drain import operation as drain_operation
from .drain import plan as drain_plan
from .drain import preflight as drain_checks
from .drain import steps as drain_actions
from .in_place import plan as rename_plan
from .in_place import preflight as rename_checks
from .in_place import rehearsal
from .in_place import steps as rename_actions
from .in_place import verify as rename
from .ovn import drain_plan as ovn_drain
from .requests import queue_steps as queue_actions

Result = t.Dict[str, t.Any]
#: The action for a host that was already renamed.
ADOPT = "adopt"


@dataclasses.dataclass(frozen=True)
class RenameRun(ServerRun):
    """What one call is given. ``state``: the compute host; ``mine``: with a token, see :mod:`run_token`."""

    inventory_name: str = ""

    def refuse_while_carried_out(self, journal: t.Mapping[str, t.Any]) -> None:
        """Nothing here: the host itself decides when the operation is claimed (:class:`run_token.JournalHost`)."""


class Rename(planned.Planned):
    """One call of the operation. Its rules for a second run are stricter than those of others, see :mod:`run_token`."""

    PREFIX = "rename_"
    run: RenameRun

    #: Whether anything may have been changed by this run.
    _changed = False
    #: Operations that had ended on the host when this run asked it first.
    _ended: t.Optional[int] = None
    #: What was found beforehand: kept where the operation itself fails.
    _report: t.Optional[Result] = None
    #: Of the operation that this run began, or resumed.
    _operation_id: t.Optional[str] = None
    _database_lock: t.Any = None
    #: The host in the hands of this run, and what its operation was begun for: while it is carried out.
    _held: t.Optional[run_token.JournalHost] = None
    _about: t.Mapping[str, t.Any] = {}
    #: Whether all hosts were measured for the first step that moves guests.
    _measured = False

    def __init__(self, run: RenameRun) -> None:
        super().__init__(run)
        self._args = run.options
        #: What source hosts have tried.
        self._probes: t.List[t.Mapping[str, t.Any]] = list(run.options.get("probes") or ())

    def carry_out(self) -> Result:
        """Do what was asked for, and return the result. What stops it is in the result."""
        try:
            return t.cast("Result", super().carry_out())
        except Refused as refused:
            if "report" not in refused.data:
                return self._stopped(refused)
            return {"failed": True, "changed": False, "state": "refused", "msg": refused.message, **refused.data}
        except (steps.StepError, StackguardError, journals.JournalError, FactsError, findings.OverrideError) as error:
            return self._stopped(error)

    def _stopped(self, error: Exception) -> Result:
        # What somebody is to do before the operation is resumed: the role does it.
        needs = {name: getattr(error, name) for name in ("needs", "containers", "probe") if hasattr(error, name)}
        ended = {"failed": True, "changed": self._changed, "msg": str(error), **needs}
        said = not isinstance(error, drain_operation.AgainError)
        return {**ended, **self._failed_report(error), **self._where_it_stands(said)}

    # --- what it says of itself

    @property
    def action(self) -> str:
        """What is asked for. An adoption begins like any rename: only what it begins from is another."""
        asked = str(self._args["action"])
        return lifecycle.APPLY if asked == ADOPT else asked

    def operation_text(self) -> str:
        """Return what is asked for."""
        return "rename"

    def kind(self) -> str:
        """Return the kind of journal."""
        return rename_plan.KIND

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"rename {journal['subject']}"

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return which run has the operation."""
        run = (journal or {}).get("run") or {}
        ended = True if run.get("ended") else run_owner.has_ended(run)
        words = "The most recent run has ended" if ended else "The most recent run is still active"
        if ended is None:
            words = "This Ansible controller does not know whether the most recent run is still active"
        return f"Most recently, {journals.run_text(run)} worked on the operation. {words}"

    def finished_text(self, journal: Result) -> str:
        """Return what a run says that has brought it to its end."""
        return f"renamed {journal['subject']}"

    def undone_text(self, journal: Result, why: str) -> str:
        """Return what a run says that has undone it."""
        return f"rolled back {journal['subject']}"

    def rollback_text(self, journal: Result) -> t.Optional[str]:
        """Return what a rollback does: a drain has a point of no return."""
        return None if _only_forward(journal) else lifecycle.UNDO

    def asks_for_another(self, journal: Result) -> bool:
        """Whether the rename of other names is asked for."""
        about = journal["about"]
        return (about["rename_from"], about["rename_to"]) != (self._args["rename_from"], self._args["rename_to"])

    def refuse_another(self, journal: Result, action: str) -> None:
        """Raise Refused (SG706) where a rename of other names is open, whatever is asked for."""
        if self.asks_for_another(journal):
            head = lifecycle.unfinished(journal, self.goal_text(journal), " on this host")
            raise Refused(
                f"{head}. First resume or roll back this rename. Use the same rename_from and rename_to as the run "
                "that began the rename"
            )
        if self._args.get("action") == ADOPT and journal["about"].get("adopt") != self._args["adopt"]:
            head = lifecycle.unfinished(journal, self.goal_text(journal), " on this host")
            raise Refused(f"{head}. First {lifecycle.next_commands_text(self.run)}")
        if action != lifecycle.ROLLBACK and lifecycle.goes_back(journal):
            raise Refused(
                f"operation {journal['operation_id']} is {journal['state']}: only a rollback can end this operation"
            )

    def check_mode_result(self, journal: Result, action: str) -> Result:
        """Return what check mode says of an open operation."""
        msg = f"would {lifecycle.VERBS.get(action, action)} this operation"
        found = self.show_open(journal)
        self.run.say(msg)
        return {**found, "msg": msg}

    # --- nothing is open

    def nothing_open(self, action: str) -> Result:
        """Return what comes of an action while nothing is open: nothing, where the name is as it was asked for."""
        nothing = f"{lifecycle.nothing_open(self.operation_text())} on this host"
        if action == lifecycle.STATUS:
            return {"changed": False, "state": "none", "msg": nothing}
        facts = self.run.systems.host.facts(self.run.systems.info_arguments)
        current, verb = names.conf_host(facts), lifecycle.VERBS.get(action, action)
        if current is None:
            # The host's present name decides whether the rename is over. The code does not guess it.
            why = next((entry.reason for entry in facts.unread if entry.part == "nova_conf"), "no reason was given")
            raise Refused(
                f"{nothing}: there is nothing to {verb}. The run does not know whether the name of the host is "
                f"{self._args['rename_from']} or {self._args['rename_to']}, because it could not read nova.conf "
                f"({why}). Set stackguard_nova_conf_files to the paths of nova.conf and its drop-in files, then run "
                "the same command again"
            )
        if current == self._args["rename_from" if action == lifecycle.ROLLBACK else "rename_to"]:
            return {
                "changed": False,
                "state": "none",
                "msg": f"there is nothing to {verb}: the name of the host is {current}",
            }
        raise Refused(f"{nothing}, and the name of the host is {current}: there is nothing to {verb}")

    # --- a new one

    def prepare(self) -> planned.Prepared:
        """Judge by the evidence, and plan. Raises Refused with every reason why not."""
        if not self._args["evidence_dir"]:
            raise StackguardError(
                "evidence_dir is required to begin a rename: the module reads the evidence in this directory"
            )
        bundle = evidence.with_unread(evidence.load_dir(self._args["evidence_dir"]), self._args["peers"])
        request = self._request()
        request = deployments.with_preset(request, bundle.hosts.get(request.inventory_name))
        if request.adopt is not None:
            return self._prepare_adoption(bundle, request)
        bundle = self._rehearsed(bundle, request)
        self._keep(bundle)
        if rename.already_renamed(bundle, request.inventory_name, request.rename_from, request.rename_to):
            return self._already(bundle, request)
        # What waits in RabbitMQ changes by the second: read now, not from the evidence.
        waiting, is_read = queue_actions.preflight(self._systems(), request.rename_from, request.rename_to)
        # What waits in the queues of a host that nova-compute does not serve is not executed by waiting.
        request = dataclasses.replace(request, has_broker=is_read and self._args["strategy"] == "in_place")
        checked, make_plan = self._judge(bundle, request)
        plan = self._planned(bundle, request, checked + waiting, make_plan)
        report = t.cast("Result", self._report)
        about, approved = self._begun_for(bundle, request, report), self._asked(plan, request)
        return planned.Prepared(plan, about, approved, {"report": report}, f"would rename {plan.subject}")

    def _planned(
        self, bundle: Bundle, request: RenameRequest, checked: findings.Checked, make_plan: t.Callable[[], Plan]
    ) -> Plan:
        """Return the plan, and keep the report. Raises Refused with every reason why not."""
        report = self._report_of(bundle, checked, self.run.overrides, request)
        self._refuse(report, checked)
        try:
            plan = make_plan()
        except (PlanError, names.NamesError) as error:
            # Overridden findings may leave the report at a warning: what cannot be planned is refused all the same.
            raise Refused(f"refused, nothing was changed: {error}", report=findings.as_refused(report)) from error
        if checked.findings or checked.unchecked:
            self.run.say(terminal.findings_text(checked, self.run.overrides))
        self._report = report
        return plan

    def _prepare_adoption(self, bundle: Bundle, request: RenameRequest) -> planned.Prepared:
        """The same for a host that was already renamed: first it is proven whose host it is."""
        with contextlib.suppress(adopted_names.NotAdoptable, PlanError, names.NamesError):
            bundle = self._answered(bundle, request, adopt_plan.rehearsal(adopted_names.look(bundle, request)))
        self._keep(bundle)
        checked, adoption = adopt_checks.preflight(bundle, request)
        checked += queue_actions.before_adoption(self._systems(), request.adopt or "", self.run.check_mode)
        if adoption is None:
            report = self._report_of(bundle, checked, self.run.overrides, request)
            self._refuse(findings.as_refused(report), checked)
            raise Refused("refused, nothing was changed", report=findings.as_refused(report))
        checked += rehearsal.check(adoption.level, adoption.request)
        # What no plan can change is not settled, though there is nothing that a plan would change.
        fixed = any(findings.NO_OVERRIDE in item.evidence for item in checked.findings)
        if adopt_plan.is_settled(adoption) and not fixed:
            return self._settled(adoption, request)
        plan = self._planned(bundle, request, checked, lambda: adopt_plan.plan(adoption))
        report = t.cast("Result", self._report)
        about = {
            **self._begun_for(adoption.level, adoption.request, report),
            **{name: self._args[name] for name in ("rename_from", "rename_to", "hypervisor_hostname")},
            ADOPT: request.adopt,
        }
        approved = {**self._asked(plan, request), ADOPT: request.adopt}
        return planned.Prepared(plan, about, approved, {"report": report}, f"would rename {plan.subject}")

    def _settled(self, adoption: adopted_names.Adoption, request: RenameRequest) -> planned.Prepared:
        checked = identity.check(adoption.found) + name_checks.check(adoption.found)
        report = self._report_of(adoption.found, checked, [], request)
        name = adoption.goal.host
        if report["verdict"] == "block":
            head = f"the host already has the name {name} in every place, but these findings block the run:"
            msg = f"{head}\n{terminal.findings_text(checked)}"
            raise Refused(msg, report=report, state="failed")
        empty = Plan(rename_plan.KIND, "none", f"{adoption.source.host} -> {name}", [])
        told = {"report": report, "state": journals.FINISHED}
        msg = f"the host already has the name {name} in every place"
        return planned.Prepared(empty, {}, {**self._asked(empty, request), ADOPT: request.adopt}, told, msg)

    def _refuse(self, report: Result, checked: findings.Checked) -> None:
        refused = findings.blocking_findings(checked.findings, self.run.overrides)
        if refused or report["verdict"] == "block":
            reasons = (
                f"{count(len(refused), 'blocking finding')}\n{terminal.findings_text(checked, self.run.overrides)}"
            )
            raise Refused(f"refused, nothing was changed: {reasons}", report=report)

    def _begun_for(self, bundle: Bundle, request: RenameRequest, report: Result) -> Result:
        host = bundle.hosts.get(request.inventory_name)
        return {
            "rename_from": request.rename_from,
            "rename_to": request.rename_to,
            "inventory_name": request.inventory_name,
            "hypervisor_hostname": request.hypervisor_hostname,
            "has_neutron_db": request.has_neutron_db,
            "has_broker": request.has_broker,
            "has_ovn": self._has_ovn(bundle, request),
            "strategy": self._args["strategy"],
            "overrides": to_plain(self.run.overrides),
            "machine_id": host.machine_id if host else None,
            # For the report of the run that ends the operation, which may be another one.
            "preflight": {"findings": report["findings"], "unchecked": report["unchecked"]},
        }

    def _has_ovn(self, bundle: Bundle, request: RenameRequest) -> bool:
        """Whether the rename needs OVN's databases to its end."""
        agents = (bundle.cloud.agents if bundle.cloud else None) or []
        own = [agent for agent in agents if agent.host == request.rename_from]
        if self._args["strategy"] == "in_place":
            return has_ovn(own)
        ovn, host = bundle.databases.ovn if bundle.databases else None, bundle.hosts.get(request.inventory_name)
        return ovn_drain.is_verifiable(ovn) and ports_are_ovns(own, request.rename_from, host, ovn)

    def _rehearsed(self, bundle: Bundle, request: RenameRequest) -> Bundle:
        """Return the evidence with what libvirt would call the host: asked on the host, before anything is changed."""
        wanted = rename_plan.rehearsal(bundle, request)
        return bundle if wanted is None else self._answered(bundle, request, wanted)

    def _answered(self, bundle: Bundle, request: RenameRequest, wanted: Result) -> Bundle:
        facts = bundle.hosts[request.inventory_name]
        try:
            (answer,) = self.run.state.call([{"op": "rehearse", **wanted}])
            tried = from_plain(Rehearsal, answer["rehearsal"], "rehearsal")
        except (steps.StepError, FactsError, KeyError) as error:
            tried = Rehearsal(
                wanted["name"], None, f"the host did not answer when the run tested the new name: {error}"
            )
        hosts = {**bundle.hosts, request.inventory_name: dataclasses.replace(facts, rehearsal=tried)}
        return dataclasses.replace(bundle, hosts=hosts)

    def _keep(self, bundle: Bundle) -> None:
        """Leave what decides as one file, whatever comes of it: the operator keeps it beside the report."""
        place = "report_dir" if self._args.get("report_dir") else "evidence_dir"
        try:
            evidence.save_whole(self._args[place], bundle)
        except OSError as error:
            raise StackguardError(f"{place} {self._args[place]}: {error.strerror}") from error

    def _judge(self, bundle: Bundle, request: RenameRequest) -> t.Tuple[findings.Checked, t.Callable[[], Plan]]:
        """Return what stands against the rename, and how its plan is made, by strategy."""
        if self._args["strategy"] == "in_place":
            checked = rename_checks.preflight_rename(bundle, request) + rehearsal.check(bundle, request)
            return checked, lambda: rename_plan.plan(bundle, request)
        args = self._args
        options = DrainOptions(
            args["drain_parallel"], bool(args["drain_return"]), args["drain_timeout"], args["discover_timeout"]
        )
        limits = drain_plan.limits_of(request, options)
        decision = self._guests().decide(drain_plan.move_request(limits, drain_host=request.rename_from))
        others = drain_actions.other_nodes(self._systems(), bundle, request.rename_from)
        checked = drain_checks.preflight(bundle, decision, others, request, options)
        checked += rehearsal.check(bundle, request, in_place=False)
        return checked, lambda: drain_plan.plan(bundle, decision, request, options)

    def _guests(self) -> drain_operation.GuestsOnTheMove:
        return drain_operation.GuestsOnTheMove(self._systems(), self._args, self.run.overrides, self._probes)

    def _already(self, bundle: Bundle, request: RenameRequest) -> planned.Prepared:
        checked = identity.check(bundle) + name_checks.check(bundle)
        report = self._report_of(bundle, checked, [], request)
        if report["verdict"] == "block":
            head = f"the host already has the name {request.rename_to}, but these findings block the run:"
            msg = f"{head}\n{terminal.findings_text(checked)}"
            raise Refused(msg, report=report, state="failed")
        empty = Plan(rename_plan.KIND, "none", f"{request.rename_from} -> {request.rename_to}", [])
        told = {"report": report, "state": journals.FINISHED}
        msg = f"the host already has the name {request.rename_to}"
        return planned.Prepared(empty, {}, self._asked(empty, request), told, msg)

    def _asked(self, plan: Plan, request: RenameRequest) -> t.Dict[str, t.Any]:
        """Return what a person approves beside the plan's own values."""
        overrides = self.run.overrides
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
            **({"recreate_command": request.recreate_command} if request.recreate_command else {}),
            "servers": _servers_of(plan),
            "overrides": approval.of_overrides(overrides),
        }

    # --- carried out

    def begin(self, plan: Plan, about: Result) -> Result:
        """Open the journal of a new operation on the host, and carry it out."""
        self._operation_id = plan.operation_id
        with self._holding(plan.operation_id, about) as run:
            self._changed = self._measured = True
            return self.forward(OpenJournal.open(run, plan, about, self._ended))

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Claim an open operation, and carry the rest of it out, or undo it."""
        self._operation_id = str(journal["operation_id"])
        self._refuse_without_its_systems(journal["about"], why is not None)
        if why is None:
            self._refuse_a_return_that_was_not_planned(journal)
        if why is not None:
            # What is refused is not taken up: its journal stays as it is. Judged again by what the claim returns.
            drain_actions.refuse_rollback(journal, self._systems())
            container_actions.refuse_rollback(journal, self._systems())
        with self._holding(self._operation_id, journal["about"]) as run:
            # What another run marked until now is in the journal that the claim returns.
            open_journal = OpenJournal(
                run, t.cast("run_token.JournalHost", self._held).claim(journal, bool(self._args["take_over"]))
            )
            self._measured = bool(self._args.get("measured"))
            if why is not None:
                drain_actions.refuse_rollback(open_journal.journal, self._systems())
                container_actions.refuse_rollback(open_journal.journal, self._systems())
            self._changed = True
            return self.forward(open_journal) if why is None else self.backward(open_journal, why)

    def _refuse_a_return_that_was_not_planned(self, journal: Result) -> None:
        """Refuse a return of guests for which the plan has no step: the run would end green, and move no guest back."""
        guests = {step["name"]: step["params"].get("guests") for step in journal["plan"]["steps"]}
        if self._args.get("drain_return") and guests.get("move_guests") and "return_guests" not in guests:
            raise Refused(
                f"SG706 operation-open: operation {journal['operation_id']} began without rename_drain_return, so its "
                "plan does not move the guests back. Run the same command again without rename_drain_return. After the "
                "rename, move the guests back with migrate_server",
                problem="operation-open",
            )

    def _refuse_without_its_systems(self, about: t.Mapping[str, t.Any], back: bool) -> None:
        if about.get("has_neutron_db") and not self._args["neutron_db_url"]:
            raise steps.StepError(
                "set neutron_db_url: the operation began with neutron_db_url, and cannot resume without neutron_db_url"
            )
        if about.get("has_ovn"):
            for name in ("ovn_nb_connection", "ovn_sb_connection"):
                if not self._args.get(name):
                    raise steps.StepError(
                        f"set {name}: the operation began with {name}, and cannot resume without {name}"
                    )
        # A rollback only tidies with it, and says what it left.
        if about.get("has_broker") and not back:
            why = queue_actions.why_unread(self._systems())
            if why is not None:
                raise steps.StepError(
                    "the operation began with access to RabbitMQ, and cannot resume without it. Set "
                    f"{brokers.VARIABLE}, or a nova_api_db_url whose user may read cell_mappings.transport_url: {why}"
                )

    def ended_fields(self, journal: Result) -> Result:
        """Return the report of the run that ends the operation, whichever run began it."""
        if journal["state"] == journals.FINISHED:
            return {"report": self._with_noted(self._report or self._begun_with(journal), journal)}
        # A rollback has a report where there is something to tell: a guest that it left elsewhere, say.
        blank = findings.report(findings.Checked(), self.run.clock.now(), 1, _guests_of(journal))
        told = self._with_noted(blank, journal)
        return {"report": told} if told["findings"] or told["unchecked"] else {}

    def status_fields(self, journal: Result) -> Result:
        """Return the report of what the open operation has found until now."""
        told = self._with_noted(self._begun_with(journal), journal)
        return {"report": told} if told["findings"] or told["unchecked"] else {}

    def _begun_with(self, journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        """Return the report of the run that began an operation, as its journal keeps it."""
        blank = findings.report(findings.Checked(), self.run.clock.now(), 1, _guests_of(journal))
        preflight = journal["about"].get("preflight")
        if preflight is not None:
            return {**blank, "findings": preflight["findings"], "unchecked": preflight["unchecked"]}
        reason = (
            "an earlier version of this collection began the operation, so the journal has no findings of the preflight"
        )
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
            *(
                findings.Override(str(code), str(about), "an earlier run of the operation used this override")
                for code, about in passed
            ),
            *self.run.overrides,
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
            inventory_name=self.run.inventory_name,
            rename_from=args["rename_from"],
            rename_to=args["rename_to"],
            operation_id=self.run.operation_id,
            hypervisor_hostname=args["hypervisor_hostname"],
            has_neutron_db=bool(args["neutron_db_url"]),
            adopt=args["adopt"] if args.get("action") == ADOPT else None,
            commands=Commands(
                args["stop_command"], args["start_command"], args["mask_command"], args["unmask_command"]
            ),
            recreate_command=args.get("recreate_command"),
            **given,
        )

    def _systems(self) -> kernel.Systems:
        return dataclasses.replace(self.run.systems, host=self._held or self.run.systems.host)

    def actions(self, systems: kernel.Systems, open_journal: OpenJournal) -> t.Dict[str, steps.Action]:
        """Return what carries out the steps of the plan."""

        def keep(step: str, past: drain_operation.RoundHistory) -> None:
            state = journals.UNDOING if step == drain_plan.HOME else journals.APPLYING
            open_journal.keep(step, state, dataclasses.asdict(past))

        context = dataclasses.replace(self._guests().context(), since=str(open_journal.journal["started_at"]))
        return registry.of_rename(systems, drain_actions.GuestMoves(context, keep, self._measured))

    @contextlib.contextmanager
    def _holding(self, operation_id: str, about: t.Mapping[str, t.Any]) -> t.Iterator[RenameRun]:
        """Let every request of this run bear its token; let go of an operation that is open at the end."""
        with self._lock(about.get("machine_id")) as self._database_lock:
            mine = run_token.JournalHost(
                self.run.systems.host, rename_plan.KIND, operation_id, self.run.mine, self.run.clock.now
            )
            self._held, self._about, closed = mine, about, False
            try:
                yield dataclasses.replace(self.run, state=mine)
                closed = True
            finally:
                self._held = None
                for close in self.run.systems.at_end:
                    close()
                if not closed:
                    mine.release()

    def _runner(self, open_journal: OpenJournal) -> steps.Runner:
        mine = t.cast("run_token.JournalHost", self._held)
        narrator = terminal.Narrator(self.run.say, self.run.clock.monotonic)
        systems = dataclasses.replace(
            self._systems(),
            named_at_start=findings.parse_overrides(self._about.get("overrides") or []),
            remark=narrator.remark,
            still_ours=self._still_ours,
            fresh=mine.fresh,
        )
        return steps.Runner(
            host=mine,
            actions=self.actions(systems, open_journal),
            voice=narrator,
            now=self.run.clock.now,
            still_ours=self._still_ours,
            poll=lambda: self.run.clock.sleep(1),
            revise=lambda plan: rename_plan.with_timeouts(plan, self._timeouts()),
        )

    def read_open_journal(self) -> t.Optional[Result]:
        """Return the open journal of the host, which has one lock for all of its names."""
        (found,) = self.run.state.call([lifecycle.open_request(self.kind())])
        lifecycle.refuse_unknown(self.run, found)
        self._ended = found.get("ended")
        return t.cast("t.Optional[Result]", found.get("journal"))

    def _timeouts(self) -> t.Dict[str, int]:
        names_ = ("stop_timeout", "start_timeout", "agent_timeout", "settle_timeout")
        return {name: int(self._args[name]) for name in names_}

    def _lock(self, machine_id: t.Optional[str]) -> t.ContextManager[t.Any]:
        """Hold the host's lock: two inventories may call one machine by two names, and its machine-id is one."""
        about = machine_id or self.run.inventory_name
        key = hashlib.sha256(about.encode()).hexdigest()[:16]
        return rename_actions.lock(self._args, f"stackguard:rename:{key}")

    def _still_ours(self) -> None:
        if not self._database_lock.still_held():
            raise steps.StepError(
                "the run lost the database connection that holds the lock of this operation: run the same command again"
            )
        if self._held is not None:
            self._held.still_ours()

    def _report_of(
        self,
        bundle: Bundle,
        checked: findings.Checked,
        overrides: t.Sequence[findings.Override],
        request: RenameRequest,
    ) -> t.Dict[str, t.Any]:
        host = bundle.hosts.get(request.inventory_name)
        servers = len(host.domains) if host is not None and host.domains is not None else 0
        return findings.report(checked, bundle.collected_at, len(bundle.hosts), servers, overrides)

    def _where_it_stands(self, said: bool = True) -> t.Dict[str, t.Any]:
        try:
            (found,) = self.run.state.call([{"op": "journal_read", "kind": rename_plan.KIND}])
        except (steps.StepError, journals.JournalError):
            return {"state": "unknown"}
        journal = found.get("journal")
        if journal is None:
            return self._closed_again()
        if said:
            self.run.say(lifecycle.status_text(journal))
            back = "" if _only_forward(journal) else ", or with -e rename_action=rollback to undo the operation"
            self.run.say(f"The operation is open. Run the same command again to resume the operation{back}.")
        return {"state": journal["state"], "operation_id": journal["operation_id"], "progress": steps.progress(journal)}

    def _closed_again(self) -> t.Dict[str, t.Any]:
        """Where this run's own operation stands, where it put everything back; otherwise there is none."""
        if self._operation_id is None:
            return {"state": "none"}
        try:
            (found,) = self.run.state.call([{"op": "journal_closed", "kind": rename_plan.KIND}])
        except (steps.StepError, journals.JournalError):
            return {"state": "unknown", "operation_id": self._operation_id}
        states = {str(entry["operation_id"]): str(entry["state"]) for entry in found.get("journals") or []}
        if self._operation_id not in states:
            return {"state": "none"}
        return {"state": states[self._operation_id], "operation_id": self._operation_id}

    def _failed_report(self, error: Exception) -> t.Dict[str, t.Any]:
        """Return the report of an operation that did not come to its end: why is in it, and it is never C(pass)."""
        if self._operation_id is None:
            return {}
        report = self._report or findings.report(findings.Checked(), self.run.clock.now(), 1, 0)
        reason = "the rename did not finish: " + str(error).partition("\n")[0]
        ended = findings.Unchecked("SG706", self.run.inventory_name, reason)
        checked = findings.merged(
            [
                findings.Checked(
                    tuple(findings.from_report(entry) for entry in report["findings"]),
                    (*(findings.Unchecked(**entry) for entry in report["unchecked"]), ended),
                ),
                getattr(error, "checked", findings.Checked()),
            ]
        )
        overrides = self.run.overrides
        made = findings.report(checked, report["generated_at"], report["hosts"], report["servers"], overrides)
        return {"report": findings.as_refused(made)}


def info_arguments(options: t.Mapping[str, t.Any], inventory_name: str) -> Result:
    """Return what the host's facts are read with."""
    arguments: Result = {
        "state_dir": options["state_dir"],
        "inventory_name": inventory_name,
        "resolve_names": [options["rename_from"], options["rename_to"]],
    }
    for key in ("nova_conf_files", "compute_units", "agent_units"):
        if options[key]:
            arguments[key] = options[key]
    return arguments


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


def _only_forward(journal: t.Mapping[str, t.Any]) -> bool:
    return drain_actions.only_forward(journal) or container_actions.only_forward(journal)
