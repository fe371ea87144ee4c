# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers moved within their zones, or a host emptied, from end to end: find, judge, plan, carry out, carry on.

The journal is opened before the first change. It is closed when all have arrived; where no host is held, also when
some could not, since nothing is to be given back then. One that stays open names the host that is held.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity import planner
from ..engine import lifecycle, runner
from ..engine.approval import REQUEST
from ..engine.lifecycle import OpenJournal, Refused
from ..engine.planned import Planned, Prepared
from ..engine.server_run import ServerRun
from ..engine.systems import Systems
from ..model import approval, findings, releases
from ..model.facts import (
    CELL_DOWN,
    ApiServer,
    ApiService,
    FactsError,
)
from ..model.plan import Plan
from ..model.requests import MigrationRequest
from ..model.server_selection import OptionError, chosen_servers
from ..model.wording import count
from ..records import evidence
from ..records import journal as journals
from ..reports.terminal import findings_text
from ..systems.api import compute_services, http, server_records
from ..systems.api.server_records import SilentCellError
from . import evidence as move_evidence
from . import mover, steps
from . import plan as plans
from . import preflight as checks

#: A server's NUMA topology (release 20); a cold migration to a named host needs 2.56.
OLDEST = "2.78"
_END = "end it"

Result = t.Dict[str, t.Any]


class Moves(Planned):
    """Servers that are moved within their zones, named ones or all of a host."""

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)
        self.options = run.options
        self.cloud = run.systems.cloud
        #: What became of the servers in this run.
        self._outcome = mover.MovedServers()
        #: Servers of an open operation, as they are now: read once for its status.
        self._servers: t.Optional[t.Dict[str, Result]] = None

    # --- what it says of itself

    def operation_text(self) -> str:
        """Return what is asked for."""
        return "move"

    def kind(self) -> str:
        """Return the kind of journal."""
        return plans.KIND

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"move of {journal['subject']}"

    def rollback_text(self, journal: Result) -> t.Optional[str]:
        """Return what a rollback does: servers that have moved stay where they are."""
        return _END

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return how many servers have not moved."""
        if journal is None:
            return ""
        servers = self._as_they_are(journal)
        left = sum(1 for entry in servers.values() if entry["left"])
        return f"{left} of {count(len(servers), 'server')} have not moved yet"

    def status_lines(self, now: str) -> t.List[str]:
        """Return where each server is."""
        return [f"{entry['name']} ({uuid}): {entry['text']}" for uuid, entry in (self._servers or {}).items()]

    def status_fields(self, journal: Result) -> Result:
        """Return the servers of the open operation."""
        return {"subject": journal["subject"], "servers": self._as_they_are(journal)}

    def resumed_text(self, journal: Result) -> str:
        """Return what a run says that resumes; nothing where the role only calls again."""
        return "" if self.options["again"] else super().resumed_text(journal)

    def undone_text(self, journal: Result, why: str) -> str:
        """Return what the end of an operation leaves."""
        return (
            f"the run has ended the operation for {journal['subject']}. The servers that have moved stay on their new "
            "hosts"
        )

    def _as_they_are(self, journal: Result) -> t.Dict[str, Result]:
        if self._servers is None:
            listed = [entry for step in journal["plan"]["steps"] for entry in step["params"].get("servers", [])]
            uuids = [entry["uuid"] for entry in listed]
            found = http.each(uuids, lambda uuid: server_records.server_as_listed(self.cloud, uuid))
            self._servers = {entry["uuid"]: _where(entry, found[entry["uuid"]]) for entry in listed}
        return self._servers

    # --- finding

    def _asked(self) -> Result:
        return {"drain_host": self.options["drain_host"], "servers": self.options["servers"]}

    def _request(self, operation_id: str, servers: t.Optional[t.Sequence[str]] = None) -> MigrationRequest:
        given = self.options
        return MigrationRequest(
            drain_host=given["drain_host"],
            servers=None if servers is None else tuple(servers),
            operation_id=operation_id,
            live=given["live"],
            cold=given["cold"],
            partial=given["partial"],
            headroom_mib=given["memory_headroom_mb"],
            overhead_mib=given["guest_overhead_mb"],
            overcommit=given["overcommit"],
            parallel=given["max_parallel"],
            per_source=given["max_parallel_per_source"],
            per_destination=given["max_parallel_per_destination"],
            timeout=given["server_timeout"],
            measured_for=given["measured_for"],
            enable_after=given["enable_after"],
            restore_state=given["restore_state"],
            prefix=given["prefix"],
        )

    def _collect(self, sources: t.Sequence[str], wanted: t.Optional[t.Collection[str]]) -> checks.Evidence:
        url = self.options.get("nova_api_db_url") or None
        return move_evidence.collect(self.cloud, self.options["evidence_dir"], sources, wanted, url)

    def _candidates(self) -> t.List[ApiServer]:
        try:
            return move_evidence.candidates(self.cloud, self.options["servers"])
        except SilentCellError as error:
            raise Refused(f"refused, and nothing was changed: SG709 evidence-missing: {error.message}") from None

    def _read(self) -> t.Tuple[checks.Evidence, MigrationRequest]:
        """Read what was asked for: the servers of a host, or those that are named or selected."""
        drain_host = self.options["drain_host"]
        if drain_host is not None:
            return self._collect([drain_host], None), self._request(self.run.operation_id)
        among = self._candidates()
        chosen = chosen_servers(self.options["servers"], among, "this cloud") or []
        known = {server.id: server for server in among}
        silent = sorted(uuid for uuid in chosen if uuid in known and known[uuid].status == CELL_DOWN)
        if silent:
            raise Refused(
                f"refused, and nothing was changed: SG709 evidence-missing: the cell of these servers does not answer: "
                f"{', '.join(silent)}",
                problem="refused",
            )
        sources = sorted({str(known[uuid].host) for uuid in chosen if uuid in known and known[uuid].host})
        lost = tuple(uuid for uuid in chosen if uuid not in known or not known[uuid].host)
        if not sources:
            raise Refused(
                f"refused, and nothing was changed: these servers do not exist, or are on no host: {', '.join(lost)}"
            )
        found = self._collect(sources, set(chosen))
        if found.zones.servers is not None:
            listed = {server.id for server in found.zones.servers}
            stray = tuple(known[uuid] for uuid in chosen if uuid not in listed and uuid not in lost)
            found = dataclasses.replace(found, stray=stray)
        missing = (*lost, *(server.id for server in found.stray))
        return dataclasses.replace(found, missing=missing), self._request(self.run.operation_id, chosen)

    # --- judging

    def begin_new(self) -> Result:
        """Move the servers. Ends before anything is changed where connections between hosts are to be tried first."""
        try:
            return super().begin_new()
        except mover.ProbeError as error:
            return _to_probe(error)

    def prepare(self) -> Prepared:
        """Read, judge and plan. Raises ProbeError where connections are to be tried first."""
        offered = http.max_microversion(self.cloud, http.COMPUTE)
        if releases.microversion_tuple(offered) < releases.microversion_tuple(OLDEST):
            raise Refused(
                f"SG705 release-unsupported: this Nova offers microversion {offered}, but the run needs {OLDEST}"
            )
        try:
            found, request = self._read()
        except (OptionError, FactsError) as error:
            raise Refused(f"refused, and nothing was changed: {error}", problem="options") from error
        decision, reached = mover.decide(found, self._context(request), mover.RoundHistory())
        if reached.missing:
            raise mover.ProbeError(found.bundle, reached.missing)
        decision = dataclasses.replace(
            decision, checked=decision.checked + findings.Checked((), tuple(checks.unreached(reached)))
        )
        told = {
            "report": self._report(found, decision),
            "placements": planner.explained(decision.assignments, decision.destinations),
        }
        self.run.say(findings_text(decision.checked, self.run.overrides))
        refused = decision.refused(request, self.run.overrides)
        if refused:
            codes = ", ".join(sorted({item.code for item in refused}))
            raise Refused(f"refused, and nothing was changed: {codes}", **told)
        return self._prepared(found, request, decision, told)

    def _prepared(
        self, found: checks.Evidence, request: MigrationRequest, decision: checks.MoveDecision, told: Result
    ) -> Prepared:
        service, provider = _service(found, request.drain_host)
        if service is not None and service.status != "enabled" and not decision.servers:
            empty = Plan(plans.KIND, self.run.operation_id, str(request.drain_host), [])
            msg = f"{request.drain_host} is empty and disabled ({service.disabled_reason}): there is nothing to do"
            return Prepared(empty, {}, self._approved([], {}, []), told, msg)
        passed = {entry.object for entry in self.run.overrides if entry.code == checks.NO_SERVER}
        missing = [word for word in found.missing if word not in passed]
        about = {"request": self._asked(), "missing": list(missing), REQUEST: self._taken_anew()}
        approved = self._approved(decision.servers, decision.zones, missing)
        msg = f"{count(len(decision.assignments.assigned), 'server')} would move"
        return Prepared(plans.plan(request, decision, service, provider), about, approved, told, msg)

    def _taken_anew(self) -> Result:
        """Return what a person approves beside the plan's own values and the servers: a resume takes it anew."""
        given = self.options
        rules = ("overcommit", "memory_headroom_mb", "guest_overhead_mb")
        taken = ("live", "cold", "partial", "enable_after", "restore_state", *rules)
        return {
            "drain_host": given["drain_host"],
            **{name: given[name] for name in taken},
            "overrides": approval.of_overrides(self.run.overrides),
        }

    def _approved(
        self,
        servers: t.Iterable[ApiServer],
        zones: t.Mapping[str, t.Optional[str]],
        missing: t.Iterable[str],
    ) -> Result:
        """Return what a person approves: from which host each server goes, and its zone. Not where it finds room there.

        Neither names nor power states: their owners change both at any time, and nobody goes elsewhere for it.
        """
        listed = list(servers)
        return {
            **self._taken_anew(),
            "servers": sorted(server.id for server in listed),
            "from": {server.id: server.host for server in listed},
            "zones": {server.id: zones.get(server.id) for server in listed},
            "missing": sorted(missing),
        }

    def _context(self, request: MigrationRequest) -> mover.MoveContext:
        return mover.MoveContext(
            request,
            self.run.overrides,
            self._collect,
            mover.MovedServers(),
            probes=self.options["probes"],
            able=self.options["probe"],
            approved=bool(self.options.get("expect_plan")),
        )

    def _report(self, found: checks.Evidence, decision: checks.MoveDecision) -> Result:
        hosts, servers = len(found.bundle.hosts), len(decision.servers)
        return findings.report(decision.checked, found.zones.read_at, hosts, servers, self.run.overrides)

    # --- an open one

    def refuse_another(self, journal: Result, action: str) -> None:
        """Raise Refused (SG706) where other servers or another host are meant than those of the open operation.

        A resume that names no servers means those of the open operation; an end need not name them.
        """
        theirs, asked = journal["about"]["request"], self._asked()
        if action == lifecycle.ROLLBACK:
            if theirs["drain_host"] != asked["drain_host"]:
                raise Refused(
                    f"SG706 operation-open: the open operation moves {journal['subject']}, but this run requests a "
                    "different move"
                )
            return
        if self.action == lifecycle.RESUME and not asked["servers"] and not asked["drain_host"]:
            asked["servers"] = theirs["servers"]
        if theirs != asked:
            raise Refused(lifecycle.another_open(self.run, journal, self.goal_text(journal), _END))

    def refuse_another_plan(self, journal: Result) -> None:
        """Raise Refused where the operation was begun with another plan, or with options that this run takes anew."""
        drained = journal["about"]["request"]["drain_host"]
        self.approver.resume(journal, {**self._taken_anew(), "drain_host": drained})

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Take an open operation up. What the run before has read of hosts is removed."""
        again = self.options["again"]
        if why is None and not again:
            # What failed then may have been repaired since: all is tried once more.
            kept = {key: entry for key, entry in journal.get("memory", {}).items() if key != "move"}
            journal = {**journal, "memory": kept}
        open_journal = OpenJournal.take_up(self.run, journal, "goes on" if again else note)
        evidence.remove_stale(journal, self.options["evidence_dir"])
        return self.forward(open_journal) if why is None else self.backward(open_journal, why)

    # --- carrying out

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps of the plan."""

        def keep(past: mover.RoundHistory) -> None:
            open_journal.keep("move", journals.APPLYING, dataclasses.asdict(past))

        context = self._context(self._request(open_journal.operation_id))
        since = str(open_journal.journal["started_at"])
        context = dataclasses.replace(context, outcome=self._outcome, keep=keep, since=since)
        return steps.actions(systems, context)

    def forward(self, open_journal: OpenJournal) -> Result:
        """Move them. Ends with the journal open where the role has to read or to try something first, or some stay."""
        try:
            return super().forward(open_journal)
        except mover.ProbeError as error:
            return {**self._seen(), **_to_probe(error), "changed": True, "state": journals.OPEN}
        except mover.AgainError as error:
            return {"changed": True, "state": journals.OPEN, "again": True, **self._seen(), "msg": str(error)}
        except mover.StayError as error:
            self._outcome.stayed.update(_missing(open_journal.journal))
            return {"changed": True, "failed": True, **self._left(open_journal, str(error))}

    def backward(self, open_journal: OpenJournal, why: str, item: t.Optional[findings.Finding] = None) -> Result:
        """End the operation: unfinished moves are ended, and the host gets back the status that it had."""
        # What was asked for: servers that have moved are no failure.
        return {**super().backward(open_journal, why, item), "failed": False}

    def ended_fields(self, journal: Result) -> Result:
        """Return what became of the servers."""
        if journal["state"] != journals.FINISHED:
            return {"again": False}
        missing = _missing(journal)
        self._outcome.stayed.update(missing)
        incomplete = {"failed": True, "state": "incomplete"} if missing else {}
        return {"again": False, **self._seen(), **incomplete}

    def finished_text(self, journal: Result) -> str:
        """Return how many have moved, who was not found, and how a host is that was emptied."""
        msg = f"{journal['subject']}: {_summary(self._outcome)}"
        missing = _missing(journal)
        if missing:
            names = ", ".join(missing)
            return f"{msg}. These requested servers were not found, are on no host, or are soft-deleted: {names}"
        host = journal["about"]["request"]["drain_host"]
        if host is None:
            return msg
        service = compute_services.find_service(self.cloud, host)
        status = "gone" if service is None else f"{service.status} ({service.disabled_reason or 'no reason'})"
        back = f". To prove and enable it, run enable_host -e enable_host={host}"
        back = "" if service is None or service.status == "enabled" else back
        return f"{msg}. No server is left on {host}. The compute service of this host is {status}{back}"

    def _left(self, open_journal: OpenJournal, msg: str) -> Result:
        """Some stay. Where a host is held the operation stays open: its status is still to be given back."""
        seen = {"again": False, **self._seen()}
        drained = open_journal.about["request"]["drain_host"]
        if drained is not None:
            way = (
                "To resume the drain, run the same command again. To restore the status of the compute service, add "
                f"{self.run.variable('action')}=rollback"
            )
            return {
                **seen,
                "state": journals.OPEN,
                "msg": f"{msg}. The compute service of {drained} stays disabled. {way}",
            }
        open_journal.read_again()
        open_journal.close(journals.FINISHED, msg)
        return {**seen, "state": "incomplete", "msg": msg}

    def _seen(self) -> Result:
        outcome = self._outcome
        left = {uuid: {"name": name, "host": host, "why": why} for uuid, (name, host, why) in outcome.stayed.items()}
        result: Result = {"moved": dict(outcome.moved), "gone": list(outcome.gone), "left": left}
        if outcome.decision is None:
            return result
        servers = len(outcome.moved) + len(left)
        report = findings.report(outcome.checked, self.run.clock.now(), 0, servers, self.run.overrides)
        return {**result, "report": report}


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return t.cast("Result", Moves(run).carry_out())


def _to_probe(error: mover.ProbeError) -> Result:
    """Ask for what hosts are to try: by the inventory's name of each."""
    hosts = ", ".join(sorted({probe.dest for probe in error.probes}))
    msg = f"before the run moves a server, hosts test whether {hosts} can be reached and can run the servers"
    return {"changed": False, "state": "none", "again": True, "probe": error.probe, "msg": msg}


def _service(found: checks.Evidence, host: t.Optional[str]) -> t.Tuple[t.Optional[ApiService], t.Optional[str]]:
    facts = found.zones
    service = next((entry for entry in facts.services or [] if entry.host == host), None)
    provider = next((node.id for node in facts.hypervisors or [] if node.service_host == host), None)
    if host is not None and (service is None or provider is None):
        raise Refused(
            "refused, and nothing was changed: the run could not read the compute service or the compute node "
            f"of {host}"
        )
    return service, provider


def _where(entry: Result, server: t.Optional[ApiServer]) -> Result:
    about = {"name": entry["name"], "from": entry["host"]}
    if server is None:
        return {**about, "host": None, "status": None, "task_state": None, "left": False, "text": "deleted"}
    left = server.host == entry["host"] or server.task_state is not None
    text = f"{server.status} on {server.host}" + (f" ({server.task_state})" if server.task_state else "")
    seen = {"host": server.host, "status": server.status, "task_state": server.task_state}
    return {**about, **seen, "left": left, "text": text}


def _missing(journal: Result) -> t.Dict[str, t.Tuple[str, t.Optional[str], str]]:
    """Those that were asked for and not there when it was begun: with ``partial`` the others have moved."""
    why = f"{checks.NO_SERVER}: the server was not found, is on no host, or is soft-deleted"
    return {word: (word, None, why) for word in journal["about"].get("missing", ())}


def _summary(outcome: mover.MovedServers) -> str:
    gone = f", {len(outcome.gone)} deleted during the run ({', '.join(outcome.gone)})" if outcome.gone else ""
    return f"{count(len(outcome.moved), 'server')} moved{gone}"
