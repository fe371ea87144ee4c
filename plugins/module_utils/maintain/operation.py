# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of hosts that are emptied, worked on, proven and enabled; and one host that is only proven and enabled.

The whole series is judged before its first host is touched, and each host once more when its turn comes. The series
stops at the first host that is not proven: the journal stays open, the host disabled, and the others are untouched. The
same command goes on there.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine import lifecycle, runner
from ..engine.approval import REQUEST
from ..engine.lifecycle import OpenJournal, Refused
from ..engine.planned import Planned, Prepared
from ..engine.server_run import ServerRun
from ..engine.systems import Systems, as_step_error
from ..hazards import in_flight
from ..model import approval, findings, releases
from ..model.facts import ApiService, FactsError
from ..model.findings import Checked
from ..model.plan import Plan, Step
from ..model.requests import MigrationRequest
from ..model.wording import count
from ..moves import evidence as move_evidence
from ..moves import mover
from ..moves import operation as moves
from ..records import evidence
from ..records import journal as journals
from ..records.journal import run_text
from ..reports.terminal import findings_text
from ..systems.api import cloud_facts, compute_services, http, hypervisors, server_records
from . import plan as plans
from . import preflight as checks
from . import steps, verify

Result = t.Dict[str, t.Any]

_END = "end it"
#: Kinds of operations that count on the same room: none of them may be open when a series begins.
_BESIDE = ("migrate", "evacuate-")
#: What a resume takes anew, and a person approves.
_RULES = ("serial", "keep_free", "refill", "cold", "overcommit", "memory_headroom_mb", "test_server")


class Maintenance(Planned):
    """What a series and the enabling of one host have in common."""

    BACK = lifecycle.ABORT

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)
        self.options = run.options
        self.cloud = run.systems.cloud
        self.answers = steps.Answers.of(run.options["answers"])
        self._outcome = mover.MovedServers()
        self._done: t.Optional[Result] = None

    # --- what it says of itself

    def rollback_text(self, journal: Result) -> t.Optional[str]:
        """Return what an abort does: servers that have moved stay, and so does the work that is done."""
        return _END

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return how far the series is."""
        if journal is None:
            return ""
        rows = hosts_of(journal)
        done = sum(1 for row in rows.values() if row["state"] == "done")
        return f"{done} of {count(len(rows), 'host')} done"

    def status_lines(self, now: str) -> t.List[str]:
        """Return nothing: the steps say it all."""
        return [now]

    def status_fields(self, journal: Result) -> Result:
        """Return a row for each host."""
        return {"hosts": hosts_of(journal)}

    def resumed_text(self, journal: Result) -> str:
        """Return what a run says that resumes; nothing where the role only calls again."""
        return "" if self.options["again"] else super().resumed_text(journal)

    def undone_text(self, journal: Result, why: str) -> str:
        """Return what an abort leaves."""
        return (
            f"the run has ended the operation for {journal['subject']}. Servers that have moved stay on their new "
            "hosts, and a host that was worked on and not proven stays disabled"
        )

    def finished_text(self, journal: Result) -> str:
        """Return what is done."""
        return f"{journal['subject']}: proven, and enabled as planned"

    def ended_fields(self, journal: Result) -> Result:
        """Return a row for each host."""
        found = Checked(tuple(self._outcome.findings), tuple(self._outcome.unchecked))
        report = steps.report_of(
            found, self.run.clock.now(), len(journal["about"]["request"]["hosts"]), self.run.overrides
        )
        return {"again": False, "needs": [], "hosts": hosts_of(journal), "report": report}

    # --- an open one

    def _asked(self) -> Result:
        return {"hosts": list(self.options["hosts"])}

    def refuse_another(self, journal: Result, action: str) -> None:
        """Raise Refused (SG706) where other hosts are meant than those of the open operation."""
        asked, theirs = list(self.options["hosts"]), journal["about"]["request"]
        same = not asked or asked in (theirs["hosts"], theirs["named"])
        if action == self.BACK:
            if not same:
                raise Refused(f"SG706 operation-open: the open operation is about {journal['subject']}")
            return
        if self.options["noout"] and not theirs.get("noout"):
            raise Refused(
                f"SG706 operation-open: the open operation is about {journal['subject']} without "
                f"{self.run.variable('noout')}. Leave it out to go on, or end the operation first"
            )
        if lifecycle.goes_back(journal) or not same:
            raise Refused(lifecycle.another_open(self.run, journal, self.goal_text(journal), _END))

    def refuse_another_plan(self, journal: Result) -> None:
        """Raise Refused where the operation was begun with another plan, or with options that this run takes anew."""
        self.approver.resume(journal, {**self._taken_anew(), "hosts": journal["about"]["request"]["hosts"]})

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Take an open operation up. What the run before has read of hosts is removed."""
        again = self.options["again"]
        half = [] if again or why is not None else self._half_enabled(journal)
        if why is None and not again:
            # What failed then may have been repaired since: all is tried once more.
            kept = {key: entry for key, entry in journal.get("memory", {}).items() if not key.startswith("move:")}
            journal = {**journal, "memory": kept}
            self.look_again(journal)
        open_journal = OpenJournal.take_up(self.run, journal, "goes on" if again else note)
        evidence.remove_stale(journal, self.options["evidence_dir"])
        if why is not None:
            return self.backward(open_journal, why)
        return self._carried(open_journal, lambda: self._go_on(open_journal, half))

    def _go_on(self, open_journal: OpenJournal, half: t.Sequence[Step]) -> Result:
        for step in half:
            # Killed while it was enabled: it takes no servers until it is proven once more.
            before, after = step.params["before"], step.params["after"]
            with as_step_error():
                compute_services.set_service_status(
                    self.cloud,
                    step.params["service_id"],
                    before["status"],
                    before["reason"],
                    (after["status"], after["reason"]),
                )
        if not self.options["again"]:
            self.prove_again(open_journal.journal)
        return self.forward(open_journal)

    @staticmethod
    def _half_enabled(journal: Result) -> t.List[Step]:
        """Return the steps that enable a host, and were begun and not seen to end."""
        plan = runner.plan_of(journal)
        return [
            step
            for step in plan.steps
            if step.action == "enable" and journal["steps"].get(step.name) == journals.APPLYING
        ]

    def look_again(self, journal: Result) -> None:
        """Take back what is noted of hosts of which nothing has come yet: it is good for the run that noted it."""

    def prove_again(self, journal: Result) -> None:
        """Prove at once what no step of the plan proves. Raises Refused."""

    def _taken_anew(self) -> Result:
        given = self.options
        return {
            **{name: given[name] for name in _RULES},
            "work": dataclasses.asdict(self._work()),
            "overrides": approval.of_overrides(self.run.overrides),
        }

    # --- carrying out

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps of the plan."""

        def keep(step: str, memory: Result) -> None:
            open_journal.keep(step, journals.APPLYING, memory)

        hosts = tuple(open_journal.about["request"]["hosts"])
        request = self._request(open_journal.operation_id, hosts)
        context = mover.MoveContext(
            request.moves,
            self.run.overrides,
            self._collect,
            self._outcome,
            probes=self.options["probes"],
            able=True,
            since=str(open_journal.journal["started_at"]),
        )
        return steps.actions(
            systems,
            steps.SeriesContext(
                request,
                context,
                self.answers,
                self.options["evidence_dir"],
                open_journal.operation_id,
                keep,
                self.run.clock.now,
                bool(self.options.get("nova_api_db_url")),
                self._work_of(open_journal.about),
                run_text(open_journal.journal.get("run") or {}),
            ),
        )

    def forward(self, open_journal: OpenJournal) -> Result:
        """Carry on. Ends with the journal open where the role has something to do first, or a host is not proven."""
        return self._carried(open_journal, lambda: super(Maintenance, self).forward(open_journal))

    def backward(self, open_journal: OpenJournal, why: str, item: t.Optional[findings.Finding] = None) -> Result:
        """End the operation: unfinished moves are ended, and each host gets the status that it may have."""
        return self._carried(
            open_journal, lambda: {**super(Maintenance, self).backward(open_journal, why, item), "failed": False}
        )

    def _carried(self, open_journal: OpenJournal, act: t.Callable[[], Result]) -> Result:
        try:
            return act()
        except steps.NeedError as error:
            return self._needs(open_journal, list(error.needs), str(error))
        except mover.ProbeError as error:
            return self._needs(open_journal, [{"kind": steps.PROBE, "probe": error.probe}], str(error))
        except mover.AgainError as error:
            return self._needs(open_journal, [{"kind": steps.READ_HOSTS}], str(error))
        except runner.StepError as error:
            return self._stopped(open_journal, error)

    def _needs(self, open_journal: OpenJournal, needs: t.Sequence[Result], msg: str) -> Result:
        return {"changed": True, "state": journals.OPEN, "again": True, "needs": list(needs), "msg": msg}

    def _stopped(self, open_journal: OpenJournal, error: runner.StepError) -> Result:
        open_journal.read_again()
        action = self.run.variable("action")
        report = steps.report_of(error.checked, self.run.clock.now(), 1, self.run.overrides)
        return {
            "changed": True,
            "failed": True,
            "state": journals.OPEN,
            "again": False,
            "needs": [],
            "hosts": hosts_of(open_journal.journal),
            "report": report,
            "msg": (
                f"{str(error).rstrip('.')}. No other host is touched. To go on, run the same command again. To end "
                f"the series, add {action}={lifecycle.ABORT}"
            ),
        }

    # --- finding

    def _collect(self, sources: t.Sequence[str], wanted: t.Optional[t.Collection[str]]) -> t.Any:
        url = self.options.get("nova_api_db_url") or None
        return move_evidence.collect(self.cloud, self.options["evidence_dir"], sources, wanted, url)

    def _work(self) -> plans.Work:
        given = self.options
        return plans.Work(given["tasks"] or "", given["command"] or "", given["reboot"], given["back_timeout"])

    def _work_of(self, about: Result) -> plans.Work:
        """Return what this run does on hosts: what it is asked for; one that only resumes does what was begun."""
        given = self._work()
        if given.tasks or given.command or given.reboot:
            return given
        return plans.Work(**about[REQUEST]["work"])

    def _request(self, operation_id: str, hosts: t.Tuple[str, ...]) -> checks.SeriesRequest:
        given = self.options
        way = MigrationRequest(
            operation_id=operation_id,
            cold=given["cold"],
            headroom_mib=given["memory_headroom_mb"],
            overhead_mib=given["guest_overhead_mb"],
            overcommit=given["overcommit"],
            parallel=given["max_parallel"],
            per_source=given["max_parallel_per_source"],
            per_destination=given["max_parallel_per_destination"],
            timeout=given["move_timeout"],
            measured_for=given["measured_for"],
            prefix="maintain",
            within=checks.held_as(operation_id),
            aborts="maintain_move_timeout",
        )
        return checks.SeriesRequest(hosts, way, given["serial"], given["keep_free"], given["noout"])

    def _refuse_old(self) -> None:
        offered = http.max_microversion(self.cloud, http.COMPUTE)
        if releases.microversion_tuple(offered) < releases.microversion_tuple(moves.OLDEST):
            raise Refused(
                f"SG705 release-unsupported: this Nova offers microversion {offered}, but the run needs {moves.OLDEST}"
            )

    def _named(self) -> t.Tuple[t.Any, t.Tuple[str, ...]]:
        """Return what was read of the hosts, and Nova's names of those that are meant. Raises Refused."""
        try:
            bundle = evidence.load_dir(self.options["evidence_dir"])
        except FactsError as error:
            raise Refused(f"refused, and nothing was changed: {error}", problem="options") from error
        hosts, problems = checks.nova_names(bundle, self.options["hosts"])
        if problems:
            raise Refused(f"refused, and nothing was changed: {'; '.join(problems)}", problem="options")
        return bundle, tuple(hosts)

    def _refused(self, checked: Checked, standing: t.Sequence[findings.Finding], hosts: int) -> Refused:
        report = steps.report_of(checked, self.run.clock.now(), hosts, self.run.overrides)
        codes = ", ".join(sorted({item.code for item in standing}))
        codes = codes or "an override cannot replace facts that were not read"
        return Refused(
            f"refused, and nothing was changed: {codes}", report=findings.as_refused(report), problem="refused"
        )


class Series(Maintenance):
    """Hosts that are maintained one after the other."""

    def operation_text(self) -> str:
        """Return what is asked for."""
        return "maintenance"

    def kind(self) -> str:
        """Return the kind of journal."""
        return plans.KIND

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"maintenance of {journal['subject']}"

    def look_again(self, journal: Result) -> None:
        """Take back that a host has room whose turn has not come, and the proof of one that is not enabled."""
        states = dict(journal["steps"])

        def of(action: str, step: Step) -> t.List[str]:
            return [states.get(f"{action}:{host}", journals.PENDING) for host in step.params["hosts"]]

        for step in runner.plan_of(journal).steps:
            untouched = step.action == "room" and set(of("hold", step)) == {journals.PENDING}
            if untouched or (step.action == "prove" and set(of("enable", step)) != {journals.DONE}):
                states[step.name] = journals.PENDING
        journal["steps"] = states

    def prepare(self) -> Prepared:
        """Read, judge and plan the whole series."""
        self._refuse_old()
        self._refuse_beside()
        bundle, hosts = self._named()
        if self.options["noout"] and not self.options["again"]:
            # Who they are in the inventory is known only now.
            names = steps.inventory_names(bundle, hosts)
            need = {"kind": steps.READ_HOSTS, "hosts": list(names.values()), "write": False, "osds": True}
            raise steps.NeedError("the run reads the OSDs of the hosts", [need])
        request = self._request(self.run.operation_id, hosts)
        try:
            found = self._collect(hosts, None)
        except FactsError as error:
            raise Refused(f"refused, and nothing was changed: {error}", problem="options") from error
        catalog = cloud_facts.read_cloud(self.cloud, hosts, ("catalog",)).catalog
        cloud = None if found.bundle.cloud is None else dataclasses.replace(found.bundle.cloud, catalog=catalog)
        found = dataclasses.replace(found, bundle=dataclasses.replace(found.bundle, cloud=cloud))
        deleted = {host: server_records.soft_deleted(self.cloud, host) for host in hosts}
        decision = checks.judge(found, request, deleted, self.run.overrides)
        self.run.say(findings_text(decision.checked, self.run.overrides))
        standing = decision.refused(self.run.overrides)
        if standing:
            raise self._refused(decision.checked, standing, len(found.bundle.hosts))
        extras = plans.Extras(self.options["refill"] == "same", self.options["test_server"] or None)
        plan = plans.plan(request, decision, self._work(), extras, self.run.operation_id)
        report = steps.report_of(decision.checked, self.run.clock.now(), len(found.bundle.hosts), self.run.overrides)
        taken = self._taken_anew()
        asked = {"hosts": list(hosts), "named": list(self.options["hosts"]), "noout": self.options["noout"]}
        about = {"request": asked, REQUEST: taken}
        moving = sum(len(batch.assigned) for batch in decision.batches)
        msg = (
            f"{count(len(hosts), 'host')} in {count(len(decision.batches), 'step')} would be maintained, and "
            f"{count(moving, 'server')} would move"
        )
        return Prepared(plan, about, {**taken, "hosts": list(hosts)}, {"report": report}, msg)

    def _refuse_beside(self) -> None:
        others = [entry for entry in lifecycle.open_journals(self.run) if str(entry["kind"]).startswith(_BESIDE)]
        if others:
            raise Refused(
                f"{lifecycle.unfinished(others[0], str(others[0]['kind']))}: it moves servers, and a series counts on "
                "the same memory. First finish or end it",
                lifecycle.OPERATION_OPEN,
            )


class Enabling(Maintenance):
    """One host that is proven and enabled."""

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"enabling of {self.options['hosts'][0]}"

    def kind(self) -> str:
        """Return the kind of journal: of each host."""
        return plans.kind_of_enabling(str(self.options["hosts"][0]))

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"enabling of {journal['subject']}"

    def prepare(self) -> Prepared:
        """Prove the host now: a host that is not proven is refused, and nothing is changed."""
        self._refuse_old()
        bundle, (host,) = self._named()
        service = compute_services.find_service(self.cloud, host)
        if service is None:
            known = [entry.host for entry in compute_services.list_services(self.cloud)]
            checked = Checked(
                tuple(item for item in in_flight.unknown_host(host, known) if isinstance(item, findings.Finding))
            )
            raise self._refused(checked, checked.findings, 1)
        node = hypervisors.find_node(self.cloud, host)
        checked = self._proven(bundle, host, self.run.operation_id)
        if node is None:
            raise self._refused(checked, (), 1)
        report = steps.report_of(checked, self.run.clock.now(), 1, self.run.overrides)
        return self._prepared(host, service, node.id, report)

    def prove_again(self, journal: Result) -> None:
        """Prove the host once more, where the run before has not enabled it."""
        pending = [step for step in runner.plan_of(journal).steps if step.action == "enable"]
        if any(journal["steps"].get(step.name) != journals.DONE for step in pending):
            bundle, (host,) = self._named()
            self._proven(bundle, host, str(journal["operation_id"]))

    def _proven(self, bundle: t.Any, host: str, operation_id: str) -> Checked:
        """Return what is said of a host that is proven. Raises Refused."""
        bundle, heard = steps.hear_agents(self.run.systems, bundle, [host])
        request = verify.ProofRequest(host, self._inventory_name(bundle, host), operation_id, "", heard=heard)
        checked = self._relevant(verify.unproven(bundle, request))
        self.run.say(findings_text(checked, self.run.overrides))
        standing = findings.blocking_findings(checked.findings, self.run.overrides)
        if standing or (checked.unchecked and not self.run.check_mode):
            raise self._refused(checked, standing, 1)
        return checked

    def _prepared(self, host: str, service: ApiService, provider: str, report: Result) -> Prepared:
        taken = self._taken_anew()
        about = {"request": {"hosts": [host], "named": list(self.options["hosts"])}, REQUEST: taken}
        test = self.options["test_server"] or None
        if service.status == "enabled" and not test:
            empty = Plan(self.kind(), self.run.operation_id, host, [])
            return Prepared(empty, {}, {**taken, "hosts": [host]}, {"report": report}, f"{host} is proven and enabled")
        plan = plans.enabling(host, service, provider, test, self.run.operation_id, self.kind())
        return Prepared(
            plan, about, {**taken, "hosts": [host]}, {"report": report}, f"{host} is proven, and would be enabled"
        )

    def _relevant(self, checked: Checked) -> Checked:
        """Leave out what cannot be said without the databases, where these are not given."""
        if self.run.check_mode:
            # A check writes nothing into Ceph, so that this much is not known.
            named = [item for item in checked.findings if item.code == verify.CEPH]
            others = tuple(item for item in checked.findings if item.code != verify.CEPH)
            untried = tuple(findings.Unchecked(item.code, item.object.id, "a check writes nothing") for item in named)
            checked = Checked(others, (*checked.unchecked, *untried))
        if self.options.get("nova_api_db_url"):
            return checked
        kept = tuple(entry for entry in checked.unchecked if not entry.code.startswith("SG2"))
        return Checked(checked.findings, kept)

    @staticmethod
    def _inventory_name(bundle: t.Any, host: str) -> str:
        return steps.inventory_names(bundle, [host])[host]


def hosts_of(journal: t.Mapping[str, t.Any]) -> t.Dict[str, Result]:
    """Return a row for each host of a series: how far it is, its step, servers moved, and when."""
    rows: t.Dict[str, Result] = {
        host: {"state": "waiting", "step": None, "moved": None} for host in journal["about"]["request"]["hosts"]
    }
    memory = journal.get("memory") or {}
    last: t.Dict[str, str] = {}
    for step in runner.plan_of(journal).steps:
        named = step.params.get("hosts") or [step.params.get("host")]
        state = journal["steps"].get(step.name, journals.PENDING)
        for host in named:
            if host not in rows:
                continue
            last[host] = state
            if state != journals.PENDING:
                rows[host].update(state="in progress", step=step.title)
            if step.action == "drain" and step.name in memory:
                rows[host]["moved"] = len(memory[step.name].get("moved") or ())
            if step.action in (steps.NOOUT, steps.NOOUT_OFF) and memory.get(step.name):
                rows[host].setdefault("noout", {}).update(steps.noout_told(memory[step.name]))
    for host, state in last.items():
        if state == journals.DONE:
            rows[host].update(state="done", step=None)
        elif journal["state"] in journals.FINAL and rows[host]["state"] != "waiting":
            rows[host].update(state="ended before it was proven")
    return rows


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    made = Enabling(run) if run.options["only_enable"] else Series(run)
    try:
        return t.cast("Result", made.carry_out())
    except steps.NeedError as error:
        # Before anything is open.
        return {"changed": False, "state": "none", "again": True, "needs": list(error.needs), "msg": str(error)}
