# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries out a repair of links: read, judge, refuse or write in batches; take it back; go on after a kill.

The databases are reached from here. Before a transaction begins, the rows of its batch are beside the journal with what
was there: no row is locked while that is written. A lock in the database keeps a second run out: while this run holds
it, whoever had the operation before does nothing more, and no word of the operator is needed to resume. A run that was
killed is resumed by the same command: what the last batch came to is read from its rows, and the rest is
planned again from what the databases hold by then.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import typing as t

from ..engine import lifecycle
from ..engine.approval import SHA256, Approver
from ..engine.kept_rows import KeptRows
from ..engine.lifecycle import OpenJournal, Refused
from ..engine.operation import Operation
from ..hazards import links as checks
from ..hazards.link_rules import REPAIRABLE, Links, WrongLink
from ..model import approval, findings, garbage
from ..model.codes.catalogue import remedy_text
from ..model.errors import (
    Conflict,
    DatabaseError,
    StackguardError,
)
from ..model.facts import Bundle
from ..model.plan import Plan
from ..model.wording import count
from ..records import batches
from ..records import journal as journals
from ..reports.terminal import findings_text
from ..systems.db import engine, nova, schema
from ..systems.db import links as link_reads
from . import plan as plans
from . import steps as link_rows

#: Findings of one code that a report lists, and repairs that a result lists; all are counted.
LISTED = 1000
#: Rows of one transaction: what a server takes in one statement, and writes within the seconds that a lock may last.
MOST = 10_000
LOCK = "stackguard:repair_links"
#: Rows that the message of a rollback names one by one.
NAMED = 20
UNPROVEN = (
    "an earlier run ended while it wrote the row, and another process has changed the row since. This run does not "
    "know whether the database committed the repair"
)
UNPROVEN_BATCH = (
    "after the earlier run had written the batch to the journal, another process changed the rows of the batch. This "
    "run does not know whether the database committed the batch"
)

#: In a journal: how many rows its rollback could not restore.
NOT_RESTORED = "not_restored"

Result = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class RepairRun(lifecycle.Run):
    """What a run is given. ``options``: the databases, and which plan; ``bundle`` holds no links yet."""

    bundle: Bundle
    operation_id: str


def cells_of(options: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return what tells one cloud's databases from another's: the uuids of its cells. Raises DatabaseError.

    cell0 has the same uuid everywhere, and is left out. None: the API database is not given.
    """
    if not options["nova_api_db_url"]:
        return None
    return ",".join(sorted(cell.uuid for cell in nova.list_cells(options))) or None


@dataclasses.dataclass
class Tally:
    """What became of the rows."""

    changed: int = 0
    already: int = 0
    gone: int = 0
    skipped: int = 0
    unproven: int = 0
    doubtful: t.List[t.Tuple[plans.Repair, str]] = dataclasses.field(default_factory=list)
    told: t.List[Result] = dataclasses.field(default_factory=list)
    #: Rows that were not changed, up to NAMED of them: ``told`` may be full of rows that were.
    left: t.List[Result] = dataclasses.field(default_factory=list)
    diff: plans.Diff = dataclasses.field(default_factory=plans.Diff)

    def add(
        self,
        outcome: link_rows.BatchOutcome,
        word: str,
        doubtful: t.Sequence[t.Tuple[plans.Repair, str]] = (),
    ) -> None:
        """Count a batch, and keep some of its rows to show. ``doubtful``: changed, and not what was wanted any more."""
        self.changed += len(outcome.changed)
        self.already += len(outcome.already)
        self.gone += len(outcome.gone)
        self.skipped += len(outcome.skipped)
        # First what somebody has to look at: only so many are told.
        self.leave([(made, f"skipped: {why}") for made, why in outcome.skipped])
        self.leave(
            [(made, ("skipped: another process deleted the row after the run had read it")) for made in outcome.gone]
        )
        self.doubtful += doubtful
        self.tell(
            (made, f"{word}, but the target row of the link changed during the repair: {why}") for made, why in doubtful
        )
        known = {made.change.key for made, _why in doubtful}
        self.tell((made, word) for made in outcome.changed if made.change.key not in known)
        self.diff.add(outcome.changed)

    def add_unproven(self, rows: t.Sequence[plans.Repair]) -> None:
        """Count and tell the rows of a batch of which it is not known who wrote them."""
        self.unproven += len(rows)
        self.leave([(made, f"left unchanged: {UNPROVEN}") for made in rows])

    def leave(self, rows: t.Sequence[t.Tuple[plans.Repair, str]]) -> None:
        """Keep rows that were not changed, to tell and to name."""
        self.left += [plans.told(made, said) for made, said in rows[: max(0, NAMED - len(self.left))]]
        self.tell(rows)

    def tell(self, rows: t.Iterable[t.Tuple[plans.Repair, str]]) -> None:
        """Keep rows to tell, up to LISTED."""
        for made, said in itertools.islice(rows, max(0, LISTED - len(self.told))):
            self.told.append(plans.told(made, said))


# --- repairing ------------------------------------------------------------------------------------------------


class LinkRepair(Operation):
    """A repair of links, or the way back of one. It has no steps: its rows are written in batches."""

    run: RepairRun

    def __init__(self, run: RepairRun, request: plans.LinkRequest, action: str, wanted: t.Optional[str]) -> None:
        """Take what was asked for. ``wanted``: the repair that a rollback undoes; None: the open one, or the last."""
        super().__init__(run)
        self.request = request
        self.wanted = wanted
        self._action = action

    @property
    def action(self) -> str:
        """What is asked for."""
        return self._action

    def carry_out(self) -> Result:
        """Do what is asked for. What cannot be asked for is refused before anything else is looked at."""
        if self.action in (lifecycle.APPLY, lifecycle.RESUME):
            refuse_nonsense(self.request)
        return t.cast("Result", super().carry_out())

    def operation_text(self) -> str:
        """Return what is asked for."""
        return "repair of links"

    def kind(self) -> str:
        """Return the kind of journal."""
        return plans.KIND

    def refuse_beside_another_run(self, journal: Result) -> None:
        """Refuse nothing yet: a lock in the database keeps a second run out, from before the first write to the end."""

    def refuse_another_plan(self, journal: Result) -> None:
        """Refuse nothing yet: what is written and what is left make the plan, once both are read."""

    def refuse_another(self, journal: Result, action: str) -> None:
        """Raise StackguardError (SG706) for other hosts or codes than those of the open repair.

        A resume means those of the open repair if it names none, and resumes the rollback of a repair, too.
        """
        if action == lifecycle.ROLLBACK:
            if self.wanted and journal["operation_id"] != self.wanted:
                raise StackguardError(
                    f"SG706 operation-open: operation {journal['operation_id']} is open. End this operation before "
                    f"you roll back operation {self.wanted}"
                )
            return
        resumes = self.action == lifecycle.RESUME
        if resumes and lifecycle.goes_back(journal):
            return
        about = journal["about"]
        if resumes:
            self.request = self._of_open_repair(about)
        asked = _asked(self.request)
        if lifecycle.goes_back(journal) or {name: about.get(name) for name in asked} != asked:
            raise StackguardError(lifecycle.another_open(self.run, journal, f"repair of {journal['subject']}"))

    def _of_open_repair(self, about: Result) -> plans.LinkRequest:
        given = self.request
        named = set(given.codes) != set(REPAIRABLE)
        hosts, codes = given.hosts or tuple(about["hosts"]), given.codes if named else tuple(about["codes"])
        return dataclasses.replace(given, hosts=hosts, codes=codes)

    def nothing_open(self, action: str) -> Result:
        """Return what comes of an action while nothing is open: a rollback undoes a repair that has ended."""
        if action == lifecycle.RESUME:
            raise lifecycle.nothing_to_resume(self.run, self.operation_text())
        if action == lifecycle.ROLLBACK:
            return self._undo_ended()
        return {"changed": False, "state": "none", "msg": lifecycle.nothing_open(self.operation_text())}

    def _undo_ended(self) -> Result:
        journal = _closed(self.run, self.wanted)
        if journal is None:
            return {**_result(Tally(), "none"), "incomplete": False, "msg": "there is nothing to roll back"}
        return (
            _already_back(self.run, journal) if journal["state"] == journals.ROLLED_BACK else _undo(self.run, journal)
        )

    @garbage.garbage_collection_paused()
    def begin_new(self) -> Result:
        """Repair what is certain."""
        return _repair(self.run, self.request, None)

    @garbage.garbage_collection_paused()
    def resume_open(self, journal: Result) -> Result:
        """Repair the rest, or undo the rest."""
        if lifecycle.goes_back(journal):
            return self.end_open(journal)
        return _repair(self.run, self.request, journal)

    def end_open(self, journal: Result) -> Result:
        """Undo the open repair."""
        return _undo(self.run, journal, opened=True)

    def show_open(self, journal: Result) -> Result:
        """Report the open repair, batch by batch. Nothing is changed, and no database is read."""
        run = self.run
        states = collections.Counter(lifecycle.kept_rows(run, journal, plans.KIND).states().values())
        written = ", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "none begun"
        msg = lifecycle.status_line(run, journal, f"Batches: {written}", "restore its rows")
        return {
            "changed": False,
            "state": journal["state"],
            "operation_id": journal["operation_id"],
            "batches": dict(states),
            "msg": msg,
        }


def carry_out(run: RepairRun, request: plans.LinkRequest, action: str, wanted: t.Optional[str] = None) -> Result:
    """Do what was asked for. Returns a module's result; raises :class:`Refused` and :class:`StackguardError`."""
    return LinkRepair(run, request, action, wanted).carry_out()


def _repair(run: RepairRun, request: plans.LinkRequest, journal: t.Optional[Result]) -> Result:
    """Repair what is certain. ``journal``: of the open repair, whose rest is repaired."""
    if run.check_mode:
        return _rehearse(run, request, journal)
    with engine.kept_open(), _locked(run) as lock:
        tally = Tally()
        open_journal = None
        if journal is not None:
            run.say(f"resuming operation {journal['operation_id']}")
            open_journal = OpenJournal.take_up_locked(run, journal, "resumed", journals.OPEN)
            _settle(run, open_journal)
        links, plan, report = _judge(run, request)
        approved = _approved(run, request, links, plan, journal, report)
        limits = _not_guaranteed(run, plan)
        if plan and open_journal is None:
            open_journal = OpenJournal.open(run, _planned(run, request), {**_asked(request), SHA256: approved})
        if open_journal is not None:
            rows = _rows(open_journal)
            _write(run, rows, plans.batches(links, plan, request.batch_size), len(plan), tally, lock)
            _tell_unproven(rows, tally)
            open_journal.close(journals.FINISHED, f"{count(tally.changed, 'row')} repaired")
    if open_journal is None:
        told = _what_remains("nothing was repaired", run, request, links, report)
        return {**_result(tally, "none"), **_with_limits(told, limits), SHA256: approved}
    return {**_with_limits(_repaired(run, request, open_journal.operation_id, tally), limits), SHA256: approved}


def _approved(
    run: RepairRun,
    request: plans.LinkRequest,
    links: Links,
    plan: t.Sequence[WrongLink],
    journal: t.Optional[Result],
    report: Result,
) -> t.Optional[str]:
    """Return the value that stands for what an operation changes in all. Raises :class:`Refused` for another one.

    A resume plans the rest anew: with the rows that were written before, it must be the plan that was approved. None:
    nobody asks, and a million rows are not gone through for nothing.
    """
    approver = Approver.of(run)
    if not approver.asked:
        return None
    rows = {_key(made): made for made in (_written(run, journal) if journal is not None else ())}
    rows.update((_key(made), made) for made in (plans.repair(links, wrong) for wrong in plan))
    whole = plans.as_plan(run.operation_id, plans.KIND, rows.values())
    asked = {**_asked(request), "overrides": approval.of_overrides(run.overrides)}
    if not rows:
        return approver.nothing(whole, asked)
    return approver.approve(whole, asked, {"report": report})


def _key(made: plans.Repair) -> t.Tuple[str, str, t.Any]:
    return made.change.database, made.change.table, made.change.key


def _written(run: RepairRun, journal: Result) -> t.Iterator[plans.Repair]:
    """The rows that an open operation has written, or may have."""
    kept = lifecycle.kept_rows(run, journal, plans.KIND)
    for number, state in kept.states().items():
        if state in (batches.VOID, batches.UNDONE):
            continue
        rows = _read(kept, number)
        if state != batches.WRITTEN or _fate(run, rows) != batches.VOID:
            yield from rows


def _not_guaranteed(run: RepairRun, plan: t.Sequence[WrongLink]) -> t.List[str]:
    """Say of which databases it cannot be guaranteed that nothing moves between the check of a link and its commit."""
    names = sorted({f"cell:{wrong.cell.name}" for wrong in plan})
    return [
        f"{name} is a Galera cluster, where a lock is valid on one node only. Before the run commits a repaired link, "
        "a client of another Galera node can delete or rename the compute service or compute node to which the link "
        "points. After the commit, the run reads the service or compute node of each repaired link again."
        for name in names
        if link_rows.is_cluster(nova.url_of(run.options, name))
    ]


def _with_limits(result: Result, limits: t.List[str]) -> Result:
    return {**result, "not_guaranteed": limits, "msg": "\n".join([result["msg"], *limits])}


def _repaired(run: RepairRun, request: plans.LinkRequest, operation_id: str, tally: Tally) -> Result:
    links = _links(run, request)
    checked = checks.check(links.bundle, LISTED)
    report = _report(run, checked + findings.Checked(tuple(_doubtful(tally, checked))), links)
    report["counts"].update(repaired=tally.changed, skipped=tally.skipped)
    told = _what_remains(f"{count(tally.changed, 'row')} repaired{_aside(tally)}", run, request, links, report)
    told["incomplete"] = bool(told["incomplete"] or tally.doubtful)
    return {**_result(tally, journals.FINISHED), **told, "operation_id": operation_id}


def _doubtful(tally: Tally, checked: findings.Checked) -> t.Iterator[findings.Finding]:
    """A finding for each link that led to a changed row right after its commit, where the last look has none."""
    found = {item.object.id for item in checked.findings}
    for made, why in tally.doubtful[:LISTED]:
        if made.subject.id not in found:
            evidence = {"repaired": made.change.label, "after the commit": why}
            remedy = remedy_text(made.code, "target-changed-at-commit")
            yield findings.finding(made.code, made.subject, evidence, remedy)


def _aside(tally: Tally) -> str:
    """Say what was not done of what was begun."""
    said = [
        (tally.skipped, "skipped (the outcome of each row shows the reason)"),
        (tally.gone, "deleted since the repair"),
        (tally.unproven, "left unchanged, because the run cannot prove that this operation wrote the values"),
        (len(tally.doubtful), "repaired, but the target row of the link changed during the repair"),
    ]
    return "".join(f", {count(number, 'row')} {what}" for number, what in said if number)


def _rehearse(run: RepairRun, request: plans.LinkRequest, journal: t.Optional[Result]) -> Result:
    links, plan, report = _judge(run, request)
    tally = Tally()
    for batch in plans.batches(links, plan, request.batch_size):
        tally.add(link_rows.BatchOutcome(changed=batch), "would be repaired")
    report["counts"].update(repairable=len(plan))
    going_on = f" (the run would resume operation {journal['operation_id']})" if journal else ""
    did = f"{count(len(plan), 'row')} would be repaired{going_on}"
    told = _with_limits(_what_remains(did, run, request, links, report, plan), _not_guaranteed(run, plan))
    value = _approved(run, request, links, plan, journal, report)
    if plan and value:
        run.say(Approver.of(run).hint(value))
    return {**_result(tally, "planned" if plan else "none"), **told, SHA256: value}


def _result(tally: Tally, state: str) -> Result:
    return {
        "changed": tally.changed > 0,
        "state": state,
        "counts": {
            "changed": tally.changed,
            "already": tally.already,
            "gone": tally.gone,
            "skipped": tally.skipped,
            "unproven": tally.unproven,
            "doubtful": len(tally.doubtful),
        },
        "repairs": tally.told,
        "diff": tally.diff.entries(),
    }


def _what_remains(
    did: str, run: RepairRun, request: plans.LinkRequest, links: Links, report: Result, plan: t.Sequence[WrongLink] = ()
) -> Result:
    """Return the report, what remains wrong, and the message that says so: no repair is taken for "all is right"."""
    left = checks.remaining(links, request.codes, plan, run.overrides)
    report["counts"].update(remaining=left.wrong)
    open_codes = sorted({item["code"] for item in report["unchecked"]})
    return {
        "report": report,
        "remaining": {
            "asked": left.asked,
            "other": left.other,
            "accepted": left.accepted,
            "in_flight": left.in_flight,
            "not_looked_at": left.unread,
        },
        "incomplete": bool(left.asked or left.unread),
        "msg": f"{did}; {checks.remaining_text(left, bool(plan), open_codes)}",
    }


def _write(
    run: RepairRun,
    rows: KeptRows,
    work: t.Iterable[t.List[plans.Repair]],
    total: int,
    tally: Tally,
    lock: nova.AdvisoryLock,
) -> None:
    number = max(rows.states(), default=0)
    done = 0
    urls: t.Dict[str, str] = {}
    for batch in work:
        _refuse_lost(lock)
        number += 1
        written: t.List[int] = []
        database = batch[0].change.database
        url = urls.get(database) or urls.setdefault(database, nova.url_of(run.options, database))
        write_down = functools.partial(_write_down, rows, number, written, lock)
        outcome = link_rows.apply_batch(url, batch, write_down)
        if written:
            # What was written down, and then found changed by others, was not committed.
            rows.mark(number, batches.DONE if outcome.changed else batches.VOID)
        tally.add(outcome, "repaired", link_rows.recheck(url, outcome.changed))
        done += len(batch)
        change = batch[0].change
        run.say(
            f"{done}/{count(total, 'row')}: in batch {number} ({change.database} {change.table}), the run repaired "
            f"{count(len(outcome.changed), 'row')} and left {count(len(outcome.skipped), 'row')} unchanged"
        )


def _write_down(
    rows: KeptRows,
    number: int,
    written: t.List[int],
    lock: nova.AdvisoryLock,
    made: t.Sequence[plans.Repair],
) -> None:
    """Write a batch down, before its transaction begins."""
    # Once more where others were in the way: what was not committed is overwritten.
    rows.write(number, [plans.to_journal(one) for one in made])
    written.append(number)
    # The journal may have hung for long. By now another run may have found this batch, and called it void.
    _refuse_lost(lock)


def _refuse_lost(lock: nova.AdvisoryLock) -> None:
    if not lock.still_held():
        raise StackguardError("the run lost the database connection that holds its lock: run the same command again")


# --- what stands against it -----------------------------------------------------------------------------------


def refuse_nonsense(request: plans.LinkRequest) -> None:
    """Raise :class:`StackguardError` for what cannot be asked for."""
    strange = sorted(set(request.codes) - set(REPAIRABLE))
    if strange:
        raise StackguardError(
            f"repair_codes: the run cannot repair {', '.join(strange)}. The run can repair only {', '.join(REPAIRABLE)}"
        )
    if not 1 <= request.batch_size <= MOST or request.limit < 0:
        raise StackguardError(f"repair_batch_size must be 1 to {MOST}, and repair_limit must not be negative")


def _links(run: RepairRun, request: plans.LinkRequest) -> Links:
    read = link_reads.read_links(run.options, request.hosts, keep=max(link_reads.KEEP, request.limit + 1))
    return Links(dataclasses.replace(run.bundle, links=read, collected_at=read.read_at))


def _judge(run: RepairRun, request: plans.LinkRequest) -> t.Tuple[Links, t.List[WrongLink], Result]:
    """Read, and return what can be repaired. Raises :class:`Refused`, with everything that stands against it."""
    links = _links(run, request)
    plan = plans.planned(links, request.codes)
    against = [*_unknown_hosts(links, request), *plans.find_too_many(links, plan, request), *_not_granted(run, plan)]
    checked = checks.check(links.bundle, LISTED)
    against += [item for item in checked.findings if item.code == "SG705"]
    checked += findings.Checked(tuple(item for item in against if item.code != "SG705"))
    report = _report(run, checked, links)
    refused = findings.blocking_findings(against, run.overrides)
    if refused or links.facts is None or links.facts.cells is None:
        told = findings_text(findings.Checked(tuple(refused), () if refused else checked.unchecked[:1]), run.overrides)
        first = [plans.repair(links, wrong) for wrong in plan[:LISTED]]
        raise Refused(
            f"refused, nothing was changed: {count(len(refused) or 1, 'reason')}\n{told}",
            report=findings.as_refused(report),
            repairs=[plans.told(made, "refused") for made in first],
            diff=plans.Diff(first).entries(),
            problem="refused",
        )
    return links, plan, report


def _unknown_hosts(links: Links, request: plans.LinkRequest) -> t.Iterator[findings.Finding]:
    if links.facts is None or links.facts.cells is None or any(cell.compute_nodes is None for cell in links.cells):
        return
    rows = [row for cell in links.cells for row in cell.compute_nodes or []]
    known = {str(name).casefold() for row in rows for name in (row.host, row.hypervisor_hostname)}
    known |= {str(row.host).casefold() for cell in links.cells for row in cell.services or []}
    seen = {
        name
        for cell in links.cells
        for rows in cell.instances.values()
        for row in rows
        for name in (row.host, row.node)
    }
    known |= {str(name).casefold() for name in seen}
    for name in request.hosts:
        if name.casefold() not in known:
            remedy = remedy_text("SG119", "repair-host-unknown")
            yield findings.finding("SG119", findings.Subject("host", name), {"searched for": name}, remedy)


def _not_granted(run: RepairRun, plan: t.Sequence[WrongLink]) -> t.Iterator[findings.Finding]:
    tables = {(f"cell:{wrong.cell.name}", plans.table_of(wrong)) for wrong in plan}
    wanted = [(name, table, schema.LINK_UPDATES[table], "update") for name, table in sorted(tables)]
    wanted += [(name, table, schema.LINK_COLUMNS[table], "select") for name, table in sorted(tables)]
    targets = {(name, schema.LINK_TARGETS[table]) for name, table in tables}
    wanted += [(name, table, schema.LOCKS[table], "lock") for name, table in sorted(targets)]
    for grant in nova.probe_grants(run.options, wanted) if wanted else []:
        if not grant.allowed:
            name = f"{grant.database}.{grant.table}"
            evidence = {"columns": grant.columns, "action": grant.action, "error": grant.error}
            # PostgreSQL lets nobody lock a row who may change nothing of it.
            right = "SELECT" if grant.action == "select" else "UPDATE"
            columns = ", ".join(grant.columns)
            remedy = remedy_text("SG311", "link-privilege-missing", right=right, columns=columns, table=grant.table)
            subject = findings.Subject("host", f"{name}:{grant.action}", name)
            yield findings.finding("SG311", subject, evidence, remedy)


def _report(run: RepairRun, checked: findings.Checked, links: Links) -> Result:
    hosts = {row.host for cell in links.cells for row in cell.compute_nodes or []}
    servers = sum(cell.servers for cell in links.cells)
    return findings.report(checked, links.bundle.collected_at, len(hosts), servers, run.overrides)


# --- the journal ----------------------------------------------------------------------------------------------


def _asked(request: plans.LinkRequest) -> Result:
    return {"hosts": sorted(request.hosts), "codes": sorted(request.codes)}


def _planned(run: RepairRun, request: plans.LinkRequest) -> Plan:
    """Return the plan that the journal keeps: without steps, since its rows are beside it."""
    subject = f"{', '.join(request.codes)} of {', '.join(request.hosts) or 'all hosts'}"
    return Plan(plans.KIND, run.operation_id, subject, [], [])


def _rows(open_journal: OpenJournal) -> KeptRows:
    return open_journal.kept_rows(plans.KIND)


def _read(rows: KeptRows, number: int) -> t.List[plans.Repair]:
    return [plans.of_journal(row) for row in rows.read(number)]


def _settle(run: RepairRun, open_journal: OpenJournal) -> None:
    """Find out what became of batches that were written down and not marked: the run was killed there."""
    rows = _rows(open_journal)
    for number, state in rows.states().items():
        if state != batches.WRITTEN:
            continue
        ended = _fate(run, _read(rows, number))
        said = {batches.DONE: "the batch was committed", batches.VOID: "the batch was not committed"}.get(
            ended, UNPROVEN_BATCH
        )
        run.say(f"an earlier run ended while it wrote batch {number}: {said}")
        rows.mark(number, ended)


def _fate(run: RepairRun, rows: t.Sequence[plans.Repair]) -> str:
    # A rehearsal locks nothing.
    url = nova.url_of(run.options, rows[0].change.database)
    return link_rows.fate(url, rows, lock=not run.check_mode)


def _tell_unproven(rows: KeptRows, tally: Tally) -> None:
    for number, state in rows.states().items():
        if state == batches.UNPROVEN:
            tally.add_unproven(_read(rows, number))


def _locked(run: RepairRun) -> t.ContextManager[nova.AdvisoryLock]:
    return _Lock(run)


class _Lock:
    """The lock of all repairs of a cloud: in its API database, or in the first cell's where that is all there is."""

    def __init__(self, run: RepairRun) -> None:
        given = nova.DatabaseOptions.of(run.options)
        url = given.nova_api_db_url or next((cell.url for cell in nova.list_cells(given) if cell.url), None)
        if url is None:
            raise DatabaseError("nova_api_db_url is not set")
        self._held = nova.advisory_lock(url, LOCK)

    def __enter__(self) -> nova.AdvisoryLock:
        try:
            return self._held.__enter__()
        except Conflict as error:
            raise StackguardError(f"SG707 lock-held: another repair of links is running: {error}") from error

    def __exit__(self, *failure: t.Any) -> None:
        self._held.__exit__(*failure)


# --- taking it back -------------------------------------------------------------------------------------------


def _undo(run: RepairRun, journal: Result, opened: bool = False) -> Result:
    """Take back a repair, open or ended. Rows that changed since are left alone."""
    if run.check_mode:
        return _rehearse_rollback(run, journal)
    with _locked(run) as lock:
        if opened:
            open_journal = OpenJournal.take_up_locked(run, journal, "rollback started")
            _settle(run, open_journal)
            open_journal.note("rollback", journals.ROLLING_BACK)
        else:
            open_journal = OpenJournal.reopen(run, journal, journals.ROLLING_BACK, "rollback started")
        with engine.kept_open():
            tally = _take_back(run, _rows(open_journal), lock)
        _tell_unproven(_rows(open_journal), tally)
        # The next rollback finds nothing to do, and must not end as if all had been restored.
        open_journal.tell(**{NOT_RESTORED: tally.skipped + tally.unproven})
        open_journal.close(journals.ROLLED_BACK, f"{count(tally.changed, 'row')} restored")
    return _taken_back(journal, tally, journals.ROLLED_BACK, "restored")


def _already_back(run: RepairRun, journal: Result) -> Result:
    """Return the result of a rollback that was carried out before. It takes back no earlier repair instead."""
    left = int(journal["about"].get(NOT_RESTORED) or 0)
    operation, name = journal["operation_id"], run.variable("operation")
    said = (
        f"there is nothing to roll back: operation {operation} is already rolled back. To roll back an earlier repair, "
        f"set {name}"
    )
    if left:
        said += (
            f". The rollback of operation {operation} did not restore {count(left, 'row')}. The report of the "
            "operation lists the rows that the rollback did not restore"
        )
    return {**_result(Tally(), "none"), "operation_id": operation, "incomplete": bool(left), "msg": said}


def _taken_back(journal: Result, tally: Tally, state: str, word: str) -> Result:
    """Return the result of a rollback. What it left alone is named: nobody else will look at these rows."""
    operation = journal["operation_id"]
    lines = [f"operation {operation}: {count(tally.changed, 'row')} {word}{_aside(tally)}"]
    lines += [f"{row['row']} ({row['object']['kind']} {row['object']['id']}): {row['outcome']}" for row in tally.left]
    more = tally.skipped + tally.gone + tally.unproven - len(tally.left)
    if more:
        lines.append(f"and {more} more")
    incomplete = bool(tally.skipped or tally.unproven)
    told = {"operation_id": operation, "incomplete": incomplete, "msg": "\n".join(lines)}
    return {**_result(tally, state), **told}


def _closed(run: RepairRun, wanted: t.Optional[str]) -> t.Optional[Result]:
    """Return the closed repair that is named, else the last; None: there is none."""
    closed = [
        entry for entry in lifecycle.closed_journals(run, plans.KIND) if wanted in (None, "", entry["operation_id"])
    ]
    if wanted and not closed:
        raise StackguardError(f"repair_operation: there is no journal of operation {wanted} in stackguard_state_dir")
    return closed[-1] if closed else None


def _take_back(run: RepairRun, kept: KeptRows, lock: nova.AdvisoryLock) -> Tally:
    tally = Tally()
    todo = [number for number, state in kept.states().items() if state == batches.DONE]
    for number in reversed(todo):
        _refuse_lost(lock)
        rows = _read(kept, number)
        outcome = link_rows.take_back(nova.url_of(run.options, rows[0].change.database), rows)
        kept.mark(number, batches.UNDONE)
        tally.add(outcome, "restored")
        run.say(f"batch {number}: {count(len(outcome.changed), 'row')} restored, {len(outcome.skipped)} left unchanged")
    return tally


def _rehearse_rollback(run: RepairRun, journal: Result) -> Result:
    tally, kept = Tally(), lifecycle.kept_rows(run, journal, plans.KIND)
    for number, state in reversed(list(kept.states().items())):
        if state not in (batches.DONE, batches.WRITTEN, batches.UNPROVEN):
            continue
        rows = _read(kept, number)
        ended = _fate(run, rows) if state == batches.WRITTEN else state
        if ended == batches.UNPROVEN:
            tally.add_unproven(rows)
        elif ended == batches.DONE:
            url = nova.url_of(run.options, rows[0].change.database)
            back = [plans.reversed_repair(made) for made in rows]
            tally.add(link_rows.rehearse(url, back), "would be restored")
    return _taken_back(journal, tally, "planned", "would be restored")
