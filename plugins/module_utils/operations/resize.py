# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A resize from end to end: find, judge, plan, carry out; go on after a kill; take back.

The journal is opened before the first change and closed when the server is resized, or as it was. A stray, a refusal
by Nova, and a server that its owner deleted or reverted meanwhile are taken back at once.
"""

from __future__ import annotations

import dataclasses
import typing as t
import uuid as uuids

from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import resize as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model import approval, findings, releases
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiServer, ServerFlavor, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ResizeRequest
from ansible_collections.stackguard.nova.plugins.module_utils.operations import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.operations.approved_plan import SHA256, Approver
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Book, Refused
from ansible_collections.stackguard.nova.plugins.module_utils.operations.server_run import ServerRun
from ansible_collections.stackguard.nova.plugins.module_utils.plans import resize as plans
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports.terminal import (
    Narrator,
    findings_text,
    plan_diff,
    plan_text,
)
from ansible_collections.stackguard.nova.plugins.module_utils.steps import resize as steps
from ansible_collections.stackguard.nova.plugins.module_utils.steps import runner
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, zones

#: Below it a server does not show what its flavor holds.
OLDEST = "2.53"

Result = t.Dict[str, t.Any]


# --- finding --------------------------------------------------------------------------------------------------


def _identity(run: ServerRun) -> str:
    """Return the uuid of the server that is meant, also of one that is gone and whose journal is open."""
    word = str(run.options["server"])
    try:
        return str(uuids.UUID(word))
    except ValueError:
        pass
    named = zones.named_servers(run.systems.cloud, word)
    if not named:
        found = [entry for entry in lifecycle.open_journals(run) if str(entry["kind"]).startswith(plans.KIND)]
        named = sorted({str(entry["about"]["server"]) for entry in found if entry["subject"] == word})
    if len(named) != 1:
        what = "no server is" if not named else f"{len(named)} servers are"
        raise Refused(f"{what} called {word}: name the uuid")
    return named[0]


# --- carrying out ---------------------------------------------------------------------------------------------


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return {"apply": apply, "resume": resume, "status": status, "rollback": rollback}[run.options["action"]](run)


def apply(run: ServerRun) -> Result:
    """Resize the server, or resume what an earlier run began. Raises StackguardError and StepError."""
    Approver.of(run).begin()
    identity = _identity(run)
    journal = _journal_of(run, identity)
    if journal is not None:
        return _resume(run, journal)
    offered = http.max_microversion(run.systems.cloud, http.COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(OLDEST):
        raise Refused(f"SG705 release-unsupported: this Nova offers microversion {offered}, {OLDEST} is needed")
    flavor = zones.find_flavor(run.systems.cloud, str(run.options["flavor"]))
    if flavor is None:
        raise Refused(f"there is no flavor {run.options['flavor']}")
    server = zones.get_server(run.systems.cloud, identity)
    if server is not None and _is_so(server, flavor[1]):
        empty = Plan(plans.kind_of(identity), run.operation_id, server.name, [])
        value = Approver.of(run).nothing(empty, _approved(run, identity, flavor, None, None))
        told = {"changed": False, "state": "none", "server": identity, SHA256: value}
        return {**told, "msg": f"{server.name} has this flavor already"}
    return _begin(run, identity, server, flavor)


def _is_so(server: ApiServer, flavor: ServerFlavor) -> bool:
    has = server.flavor
    same = has is not None and (has.name, has.vcpus, has.ram, has.disk) == (
        flavor.name,
        flavor.vcpus,
        flavor.ram,
        flavor.disk,
    )
    return same and server.status in checks.STATUSES and server.task_state is None


def _begin(run: ServerRun, identity: str, server: t.Optional[ApiServer], flavor: t.Tuple[str, ServerFlavor]) -> Result:
    url = run.options.get("nova_api_db_url") or None
    request = ResizeRequest(
        server=identity,
        flavor=flavor[0],
        flavor_name=str(flavor[1].name),
        operation_id=run.operation_id,
        strategy=run.options["strategy"],
        confirm=run.options["confirm"],
        keep_pin=run.options["keep_pin"],
        same_host=run.options["same_host"],
        has_database=url is not None,
        timeout=run.options["server_timeout"],
    )
    facts = zones.read_zones(run.systems.cloud, [] if server is None else [server], url, flavor[1])
    decision = checks.preflight(facts, request)
    report = findings.report(decision.checked, facts.read_at, 0, 1, run.overrides)
    run.say(findings_text(decision.checked, run.overrides))
    found = decision.server
    problem = findings.standing(decision.checked.findings, run.overrides)
    choice = decision.choice
    if problem or found is None or decision.zone is None or choice is None or choice.method is None:
        codes = ", ".join(sorted({item.code for item in problem})) or "what is not read cannot be overridden"
        raise Refused(f"refused, and nothing was changed: {codes}", report=findings.refused(report))
    plan = plans.plan(request, found, decision.zone, decision.pin, choice.method, choice.why)
    approver = Approver.of(run)
    value = approver.approve(plan, _approved(run, identity, flavor, decision.zone, choice.method), {"report": report})
    about = {
        SHA256: value,
        "server": identity,
        "flavor": flavor[0],
        "flavor_name": flavor[1].name,
        "zone": decision.zone,
    }
    told = {
        "server": identity,
        "zone": decision.zone,
        "strategy": choice.method,
        "why": choice.why,
        "report": report,
        "plan": to_plain(plan),
        SHA256: value,
        "diff": plan_diff(plan),
        "operation_id": run.operation_id,
    }
    run.say(plan_text(plan, values=not run.diff))
    if run.check_mode:
        run.say(approver.hint(value))
        return {**told, "changed": True, "state": "planned", "msg": f"{found.name} would be resized in {decision.zone}"}
    return {**told, **_forward(run, Book.open(run, plan, about))}


def _approved(
    run: ServerRun,
    identity: str,
    flavor: t.Tuple[str, ServerFlavor],
    zone: t.Optional[str],
    method: t.Optional[str],
) -> Result:
    """Return what a person approves beside the plan's own values. A flavor is what it holds, whatever it is called."""
    return {
        "server": identity,
        "flavor": flavor[0],
        "holds": to_plain(flavor[1]),
        "zone": zone,
        "method": method,
        "confirm": run.options["confirm"],
        "keep_pin": run.options["keep_pin"],
        "same_host": run.options["same_host"],
        "overrides": approval.of_overrides(run.overrides),
    }


def _resume(run: ServerRun, journal: Result) -> Result:
    about = journal["about"]
    run.refuse_while_carried_out(journal)
    named = run.options["flavor"] or (about["flavor"] if run.options["action"] == "resume" else None)
    if journal["state"] == journals.OPEN and named not in (about["flavor"], about["flavor_name"]):
        raise Refused(lifecycle.another_open(run, journal, f"resize to {about['flavor_name']}"))
    Approver.of(run).resume(journal)
    run.say(f"resuming operation {journal['operation_id']}: resize to {about['flavor_name']}")
    if run.check_mode:
        return {**_told(journal), "changed": True, "state": journal["state"], "msg": "would be resumed"}
    book = Book.take_up(run, journal, "resumed")
    if lifecycle.goes_back(journal):
        return {**_told(journal), **_backward(run, book, "an earlier run rolled it back")}
    return {**_told(journal), **_forward(run, book)}


def resume(run: ServerRun) -> Result:
    """Resume the open operation. Unlike :func:`apply` it begins nothing."""
    Approver.of(run).begin()
    journal = _journal_of(run, _identity(run))
    if journal is None:
        raise lifecycle.nothing_to_resume(run, _what(run))
    return _resume(run, journal)


def status(run: ServerRun) -> Result:
    """Report what is open, and the server as Nova has it. Nothing is changed, not even which run has the operation."""
    identity = _identity(run)
    journal = _journal_of(run, identity)
    server = zones.get_server(run.systems.cloud, identity)
    now = "deleted" if server is None else _as_it_is(server)
    if journal is None:
        msg = f"{lifecycle.nothing_open(_what(run))}. It is {now}"
        return {"changed": False, "state": "none", "server": identity, "msg": msg}
    about = journal["about"]
    run.say(lifecycle.status_text(journal, [f"{journal['subject']} is {now}"]))
    return {
        **_told(journal),
        "changed": False,
        "state": journal["state"],
        "steps": journal["steps"],
        "msg": lifecycle.status_line(run, journal, f"It resizes to {about['flavor_name']}; the server is {now}"),
    }


def _as_it_is(server: ApiServer) -> str:
    task = f" ({server.task_state})" if server.task_state else ""
    return f"{server.status}{task} on {server.host}, flavor {server.flavor.name if server.flavor else 'not read'}"


def rollback(run: ServerRun) -> Result:
    """Take back what an open operation did. What is confirmed cannot be."""
    journal = _journal_of(run, _identity(run))
    if journal is None:
        msg = lifecycle.nothing_open(_what(run), lifecycle.ROLLBACK)
        return {"changed": False, "state": "none", "msg": msg}
    run.refuse_while_carried_out(journal)
    if run.check_mode:
        return {**_told(journal), "changed": True, "state": journal["state"], "msg": "would be undone"}
    book = Book.take_up(run, journal, "rollback begins")
    result = {**_told(journal), **_backward(run, book, "it was asked for")}
    server = zones.get_server(run.systems.cloud, str(journal["about"]["server"]))
    name = server.flavor.name if server is not None and server.flavor is not None else None
    if name == journal["about"]["flavor_name"]:
        msg = f"{journal['subject']} was confirmed before it could be undone: it stays resized. {result['msg']}"
        return {**result, "msg": msg}
    return {**result, "failed": False}


def _what(run: ServerRun) -> str:
    return f"resize of {run.options['server']}"


def _journal_of(run: ServerRun, identity: str) -> t.Optional[Result]:
    return lifecycle.open_journal(run, plans.kind_of(identity))


def _told(journal: Result) -> Result:
    about = journal["about"]
    told = {"server": about["server"], "zone": about["zone"], "operation_id": journal["operation_id"]}
    return {**told, SHA256: about.get(SHA256)}


def _runner(run: ServerRun) -> runner.Runner:
    narrator = Narrator(run.say, run.systems.monotonic)
    systems = dataclasses.replace(run.systems, remark=narrator.remark)
    return runner.Runner(run.state, steps.actions(systems), narrator, run.clock.now)


def _forward(run: ServerRun, book: Book) -> Result:
    try:
        closed = _runner(run).forward(book.journal)
    except steps.TakeBackError as error:
        # The journal knows what was begun since.
        book.read_again()
        return _backward(run, book, str(error), error.finding)
    last = [str(event["text"]) for event in closed["history"] if event.get("step") and event.get("text")]
    msg = f"{closed['subject']} is resized to {closed['about']['flavor_name']}: {'; '.join(last)}"
    return {"changed": True, "state": journals.FINISHED, "msg": msg}


def _backward(run: ServerRun, book: Book, why: str, item: t.Optional[findings.Finding] = None) -> Result:
    run.say(f"undoing it: {why}")
    journal = _runner(run).backward(book.journal)
    server = zones.get_server(run.systems.cloud, str(journal["about"]["server"]))
    now = "deleted" if server is None else _as_it_is(server)
    extra = {} if item is None else {"report": findings.report(findings.Checked((item,)), run.clock.now(), 0, 1)}
    msg = f"{journal['subject']} was not resized as asked: {why.rstrip('.')}. It is {now}"
    return {"changed": True, "failed": True, "state": journals.ROLLED_BACK, "msg": msg, **extra}
