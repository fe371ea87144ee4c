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
from ..engine.approval import REQUEST, SHA256, Approver
from ..engine.lifecycle import Book, Refused
from ..engine.server_run import ServerRun
from ..model import approval, findings, releases
from ..model.facts import (
    CELL_DOWN,
    ApiServer,
    ApiService,
    FactsError,
    to_plain,
)
from ..model.plan import Plan
from ..model.requests import MigrationRequest
from ..model.server_selection import OptionError, chosen_servers
from ..model.wording import count
from ..records import evidence
from ..records import journal as journals
from ..reports.terminal import (
    Narrator,
    findings_text,
    plan_diff,
    plan_text,
)
from ..systems.api import compute_services, http, server_records
from ..systems.api.server_records import SilentCellError
from . import evidence as move_evidence
from . import mover, steps
from . import plan as plans
from . import preflight as checks

#: A server's NUMA topology (release 20); a cold migration to a named host needs 2.56.
OLDEST = "2.78"
_WHAT, _END = "move", "end it"

Result = t.Dict[str, t.Any]


# --- finding --------------------------------------------------------------------------------------------------


def _asked(run: ServerRun) -> Result:
    return {"drain_host": run.options["drain_host"], "servers": run.options["servers"]}


def _request(run: ServerRun, operation_id: str, servers: t.Optional[t.Sequence[str]] = None) -> MigrationRequest:
    given = run.options
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


def _collect(run: ServerRun, sources: t.Sequence[str], wanted: t.Optional[t.Collection[str]]) -> checks.Evidence:
    url = run.options.get("nova_api_db_url") or None
    return move_evidence.collect(run.systems.cloud, run.options["evidence_dir"], sources, wanted, url)


def _candidates(run: ServerRun) -> t.List[ApiServer]:
    try:
        return move_evidence.candidates(run.systems.cloud, run.options["servers"])
    except SilentCellError as error:
        raise Refused(f"refused, and nothing was changed: SG709 evidence-missing: {error.message}") from None


def _read(run: ServerRun) -> t.Tuple[checks.Evidence, MigrationRequest]:
    """Read what was asked for: the servers of a host, or those that are named or selected."""
    drain_host = run.options["drain_host"]
    if drain_host is not None:
        return _collect(run, [drain_host], None), _request(run, run.operation_id)
    among = _candidates(run)
    chosen = chosen_servers(run.options["servers"], among, "this cloud") or []
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
    found = _collect(run, sources, set(chosen))
    if found.zones.servers is not None:
        listed = {server.id for server in found.zones.servers}
        stray = tuple(known[uuid] for uuid in chosen if uuid not in listed and uuid not in lost)
        found = dataclasses.replace(found, stray=stray)
    missing = (*lost, *(server.id for server in found.stray))
    return dataclasses.replace(found, missing=missing), _request(run, run.operation_id, chosen)


# --- carrying out ---------------------------------------------------------------------------------------------


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return {"apply": apply, "resume": resume, "status": status, "rollback": rollback}[run.options["action"]](run)


def resume(run: ServerRun) -> Result:
    """Go on with an open operation; where none is open nothing is begun."""
    Approver.of(run).begin()
    journal = _journal(run)
    if journal is None:
        raise lifecycle.nothing_to_resume(run, _WHAT)
    return _resume(run, journal)


def apply(run: ServerRun) -> Result:
    """Move the servers, or resume what an earlier run began. Raises StackguardError and StepError."""
    Approver.of(run).begin()
    journal = _journal(run)
    if journal is not None:
        return _resume(run, journal)
    offered = http.max_microversion(run.systems.cloud, http.COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(OLDEST):
        raise Refused(f"SG705 release-unsupported: this Nova offers microversion {offered}, but the run needs {OLDEST}")
    try:
        found, request = _read(run)
    except (OptionError, FactsError) as error:
        raise Refused(f"refused, and nothing was changed: {error}", problem="options") from error
    decision, reached = mover.decide(found, _context(run, request), mover.RoundHistory())
    if reached.missing:
        return _to_probe(mover.ProbeError(found.bundle, reached.missing))
    decision = dataclasses.replace(
        decision, checked=decision.checked + findings.Checked((), tuple(checks.unreached(reached)))
    )
    told = {
        "report": _report(run, found, decision),
        "placements": planner.explained(decision.assignments, decision.destinations),
    }
    run.say(findings_text(decision.checked, run.overrides))
    refused = decision.refused(request, run.overrides)
    if refused:
        codes = ", ".join(sorted({item.code for item in refused}))
        raise Refused(f"refused, and nothing was changed: {codes}", **told)
    service, provider = _service(found, request.drain_host)
    if service is not None and service.status != "enabled" and not decision.servers:
        empty = Plan(plans.KIND, run.operation_id, str(request.drain_host), [])
        value = Approver.of(run).nothing(empty, _approved(run, [], {}, []))
        msg = f"{request.drain_host} is empty and disabled ({service.disabled_reason}): there is nothing to do"
        return {**told, SHA256: value, "changed": False, "state": "none", "msg": msg}
    passed = {entry.object for entry in run.overrides if entry.code == checks.NO_SERVER}
    missing = [word for word in found.missing if word not in passed]
    return {**told, **_begin(run, request, decision, service, provider, missing, told)}


def _options(run: ServerRun) -> Result:
    """Return what a person approves beside the plan's own values and the servers: a resume takes it anew."""
    given = run.options
    rules = ("overcommit", "memory_headroom_mb", "guest_overhead_mb")
    taken = ("live", "cold", "partial", "enable_after", "restore_state", *rules)
    return {
        "drain_host": given["drain_host"],
        **{name: given[name] for name in taken},
        "overrides": approval.of_overrides(run.overrides),
    }


def _approved(
    run: ServerRun,
    servers: t.Iterable[ApiServer],
    zones: t.Mapping[str, t.Optional[str]],
    missing: t.Iterable[str],
) -> Result:
    """Return what a person approves: from which host each server goes, and its zone. Not where it finds room there.

    Neither names nor power states: their owners change both at any time, and nobody goes elsewhere for it.
    """
    listed = list(servers)
    return {
        **_options(run),
        "servers": sorted(server.id for server in listed),
        "from": {server.id: server.host for server in listed},
        "zones": {server.id: zones.get(server.id) for server in listed},
        "missing": sorted(missing),
    }


def _context(run: ServerRun, request: MigrationRequest) -> mover.MoveContext:
    return mover.MoveContext(
        request,
        run.overrides,
        lambda hosts, some: _collect(run, hosts, some),
        mover.MovedServers(),
        probes=run.options["probes"],
        able=run.options["probe"],
        approved=bool(run.options.get("expect_plan")),
    )


def _to_probe(error: mover.ProbeError) -> Result:
    """Ask for connections to be tried: by the inventory's name of each source host."""
    hosts = ", ".join(sorted({probe.dest for probe in error.probes}))
    msg = f"before the run moves a server, the run tests whether the source host can reach {hosts}"
    return {"changed": False, "state": "none", "again": True, "probe": error.probe, "msg": msg}


def _begin(
    run: ServerRun,
    request: MigrationRequest,
    decision: checks.MoveDecision,
    service: t.Optional[ApiService],
    provider: t.Optional[str],
    missing: t.Sequence[str],
    found: Result,
) -> Result:
    plan = plans.plan(request, decision, service, provider)
    approver = Approver.of(run)
    value = approver.approve(plan, _approved(run, decision.servers, decision.zones, missing), found)
    told = {"plan": to_plain(plan), SHA256: value, "diff": plan_diff(plan), "operation_id": plan.operation_id}
    run.say(plan_text(plan, values=not run.diff))
    if run.check_mode:
        run.say(approver.hint(value))
        msg = f"{count(len(decision.assignments.assigned), 'server')} would move"
        return {**told, "changed": True, "state": "planned", "msg": msg}
    about = {"request": _asked(run), "missing": list(missing), SHA256: value, REQUEST: _options(run)}
    return {**told, **_forward(run, Book.open(run, plan, about), request)}


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


def _resume(run: ServerRun, journal: Result) -> Result:
    run.refuse_while_carried_out(journal)
    if journal["about"]["request"] != _meant(run, journal):
        raise Refused(lifecycle.another_open(run, journal, f"move of {journal['subject']}", _END))
    Approver.of(run).resume(journal, {**_options(run), "drain_host": journal["about"]["request"]["drain_host"]})
    if not run.options["again"]:
        run.say(f"resuming operation {journal['operation_id']}: {journal['subject']}")
    told = {"operation_id": journal["operation_id"], SHA256: journal["about"].get(SHA256)}
    if run.check_mode:
        return {
            **told,
            "changed": True,
            "state": journal["state"],
            "msg": ("without --check, the run would resume the open operation"),
        }
    if not run.options["again"]:
        # What failed then may have been repaired since: all is tried once more.
        journal = {**journal, "memory": {key: kept for key, kept in journal.get("memory", {}).items() if key != "move"}}
    book = _taken_up(run, journal, "goes on" if run.options["again"] else "resumed")
    if lifecycle.goes_back(journal):
        return {**told, **_backward(run, book)}
    return {**told, **_forward(run, book, _request(run, book.operation_id))}


def _meant(run: ServerRun, journal: Result) -> Result:
    """What was asked for; a resume that names no servers means those of the open operation."""
    asked = _asked(run)
    if run.options["action"] == "resume" and not asked["servers"] and not asked["drain_host"]:
        return {**asked, "servers": journal["about"]["request"]["servers"]}
    return asked


def status(run: ServerRun) -> Result:
    """Say what is open and where its servers are. Nothing is changed."""
    journal = _journal(run)
    if journal is None:
        return {"changed": False, "state": "none", "msg": lifecycle.nothing_open(_WHAT)}
    listed = [entry for step in journal["plan"]["steps"] for entry in step["params"].get("servers", [])]
    found = http.each(
        [entry["uuid"] for entry in listed], lambda uuid: server_records.server_as_listed(run.systems.cloud, uuid)
    )
    servers = {entry["uuid"]: _where(entry, found[entry["uuid"]]) for entry in listed}
    lines = [f"{entry['name']} ({uuid}): {entry['text']}" for uuid, entry in servers.items()]
    run.say(lifecycle.status_text(journal, lines))
    left = sum(1 for entry in servers.values() if entry["left"])
    return {
        "changed": False,
        "state": journal["state"],
        "operation_id": journal["operation_id"],
        "subject": journal["subject"],
        "steps": journal["steps"],
        "servers": servers,
        "msg": lifecycle.status_line(
            run, journal, (f"{left} of {count(len(servers), 'server')} have not moved yet"), _END
        ),
    }


def _where(entry: Result, server: t.Optional[ApiServer]) -> Result:
    about = {"name": entry["name"], "from": entry["host"]}
    if server is None:
        return {**about, "host": None, "status": None, "task_state": None, "left": False, "text": "deleted"}
    left = server.host == entry["host"] or server.task_state is not None
    text = f"{server.status} on {server.host}" + (f" ({server.task_state})" if server.task_state else "")
    seen = {"host": server.host, "status": server.status, "task_state": server.task_state}
    return {**about, **seen, "left": left, "text": text}


def rollback(run: ServerRun) -> Result:
    """End what an open operation began: unfinished moves are ended, the host gets back the status that it had.

    Servers that have moved stay where they are.
    """
    journal = _journal(run)
    if journal is None:
        return {"changed": False, "state": "none", "msg": lifecycle.nothing_open(_WHAT, lifecycle.ROLLBACK)}
    run.refuse_while_carried_out(journal)
    drained = journal["about"]["request"]["drain_host"]
    if drained != run.options["drain_host"] and (drained is not None or run.options["drain_host"] is not None):
        raise Refused(
            f"SG706 operation-open: the open operation moves {journal['subject']}, but this run requests a different "
            "move"
        )
    if run.check_mode:
        return {
            "changed": True,
            "state": journal["state"],
            "msg": "without --check, the run would end the open operation",
        }
    book = _taken_up(run, journal, "rollback started")
    return {"operation_id": book.operation_id, **_backward(run, book)}


def _journal(run: ServerRun) -> t.Optional[Result]:
    return lifecycle.open_journal(run, plans.KIND)


def _taken_up(run: ServerRun, journal: Result, note: str) -> Book:
    book = Book.take_up(run, journal, note)
    evidence.remove_stale(journal, run.options["evidence_dir"])
    return book


def _runner(run: ServerRun, book: Book, request: MigrationRequest, outcome: mover.MovedServers) -> runner.Runner:
    narrator = Narrator(run.say, run.systems.monotonic)
    systems = dataclasses.replace(run.systems, remark=narrator.remark)

    def keep(past: mover.RoundHistory) -> None:
        book.keep("move", journals.APPLYING, dataclasses.asdict(past))

    since = str(book.journal["started_at"])
    context = dataclasses.replace(_context(run, request), outcome=outcome, keep=keep, since=since)
    return runner.Runner(run.state, steps.actions(systems, context), narrator, run.clock.now)


def _forward(run: ServerRun, book: Book, request: MigrationRequest) -> Result:
    journal, outcome = book.journal, mover.MovedServers()
    try:
        _runner(run, book, request, outcome).forward(journal)
    except mover.ProbeError as error:
        return {**_seen(run, outcome), **_to_probe(error), "changed": True, "state": journals.OPEN}
    except mover.AgainError as error:
        return {"changed": True, "state": journals.OPEN, "again": True, **_seen(run, outcome), "msg": str(error)}
    except mover.StayError as error:
        outcome.stayed.update(_missing(journal))
        return {"changed": True, "failed": True, **_left(run, book, request, outcome, str(error))}
    msg = f"{journal['subject']}: {_summary(outcome)}"
    missing = _missing(journal)
    if missing:
        outcome.stayed.update(missing)
        names = ", ".join(missing)
        msg = f"{msg}. These requested servers were not found, are on no host, or are soft-deleted: {names}"
        ended = {"changed": True, "failed": True, "again": False, "state": "incomplete", "msg": msg}
        return {**ended, **_seen(run, outcome)}
    if request.drain_host is not None:
        service = compute_services.find_service(run.systems.cloud, request.drain_host)
        status = "gone" if service is None else f"{service.status} ({service.disabled_reason or 'no reason'})"
        msg = f"{msg}. No server is left on {request.drain_host}. The compute service of this host is {status}"
    return {"changed": True, "state": journals.FINISHED, "again": False, **_seen(run, outcome), "msg": msg}


def _missing(journal: Result) -> t.Dict[str, t.Tuple[str, t.Optional[str], str]]:
    """Those that were asked for and not there when it was begun: with ``partial`` the others have moved."""
    why = f"{checks.NO_SERVER}: the server was not found, is on no host, or is soft-deleted"
    return {word: (word, None, why) for word in journal["about"].get("missing", ())}


def _left(run: ServerRun, book: Book, request: MigrationRequest, outcome: mover.MovedServers, msg: str) -> Result:
    """Some stay. Where a host is held the operation stays open: its status is still to be given back."""
    seen = {"again": False, **_seen(run, outcome)}
    if request.drain_host is not None:
        action = run.variable("action")
        way = (
            "To resume the drain, run the same command again. To restore the status of the compute service, add "
            f"{action}=rollback"
        )
        return {
            **seen,
            "state": journals.OPEN,
            "msg": f"{msg}. The compute service of {request.drain_host} stays disabled. {way}",
        }
    book.read_again()
    book.close(journals.FINISHED, msg)
    return {**seen, "state": "incomplete", "msg": msg}


def _summary(outcome: mover.MovedServers) -> str:
    gone = f", {len(outcome.gone)} deleted during the run ({', '.join(outcome.gone)})" if outcome.gone else ""
    return f"{count(len(outcome.moved), 'server')} moved{gone}"


def _seen(run: ServerRun, outcome: mover.MovedServers) -> Result:
    left = {uuid: {"name": name, "host": host, "why": why} for uuid, (name, host, why) in outcome.stayed.items()}
    result: Result = {"moved": dict(outcome.moved), "gone": list(outcome.gone), "left": left}
    if outcome.decision is None:
        return result
    servers = len(outcome.moved) + len(left)
    return {**result, "report": findings.report(outcome.checked, run.clock.now(), 0, servers, run.overrides)}


def _report(run: ServerRun, found: checks.Evidence, decision: checks.MoveDecision) -> Result:
    hosts, servers = len(found.bundle.hosts), len(decision.servers)
    return findings.report(decision.checked, found.zones.read_at, hosts, servers, run.overrides)


def _backward(run: ServerRun, book: Book) -> Result:
    request = _request(run, book.operation_id)
    journal = _runner(run, book, request, mover.MovedServers()).backward(book.journal)
    msg = (
        f"the run has ended the operation for {journal['subject']}. The servers that have moved stay on their new hosts"
    )
    return {"changed": True, "state": journals.ROLLED_BACK, "again": False, "msg": msg}
