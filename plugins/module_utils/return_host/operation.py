# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The return of a host that was evacuated: its whole life, from the first look to the report.

:meth:`HostReturn.advance` takes the answers to what was needed last, does what it can, and returns what is needed next:

    readers   the host was read: choose who looks into Ceph for it
    judge     all was read: every reason against, at once; then the next step of the plan, or the end. Requests that
              wait in RabbitMQ are the first step: what is left of them ends the run before anything else is changed
    acted     domains were ended on the host, or directories moved aside
    lifted    entries were removed from blocklists

Each step rests on a judgement of what was read after the step before, journals of evacuations included. What is to be
cleared and is not in the journal's plan ends the run: the next run resumes with a plan that has it, unless a person
approved the first one. Nothing is taken back: an ended domain has its server elsewhere.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity import ceph_readers
from ..engine import lifecycle, needs, runner, waiting_requests
from ..engine.approval import REQUEST, SHA256
from ..engine.lifecycle import OpenJournal, Refused, Run, Stopped
from ..engine.operation import Operation
from ..hazards import waiting
from ..model import approval, findings, task_results
from ..model.errors import DatabaseError, StackguardError
from ..model.facts import Bundle, FactsError, to_plain
from ..model.findings import Checked, Finding, Unchecked
from ..model.lookups import Index
from ..model.plan import Plan, Step
from ..model.requests import ReturnRequest
from ..model.wording import count
from ..records import evidence, operation_records
from ..records import journal as journals
from ..reports import terminal
from ..reports.outcome import silence_text
from ..systems.api import compute_services, resource_providers, server_records
from ..systems.db import migrations
from . import plan as plans
from . import preflight as checks

Json = t.Dict[str, t.Any]
Answers = t.Sequence[t.Mapping[str, t.Any]]

ACTIONS = (lifecycle.APPLY, lifecycle.RESUME, lifecycle.STATUS, lifecycle.ABORT)
#: Every action of the plan, and the method of :class:`HostReturn` that begins it. A test holds them together.
STEPS = {
    "settle_requests": "_settle",
    "end_domains": "_act",
    "move_aside": "_act",
    "release_allocations": "_release_allocations",
    "unblock": "_lift",
    "release": "_release",
}
#: In the evidence directory: what a run remembers between two calls.
SCRATCH = "run/scratch.json"
#: States of a result beside those of journals.
CLEAR, PLANNED, DISKS, NOT_CLEAR = "clear", "planned", "disks-not-open", "not-clear"
#: In a journal's memory: ids of removed requests, by queue. Beside it C(requests_unread): why RabbitMQ was not read.
REMOVED = "requests_removed"
#: What nova-compute is disabled with that is released, and not enabled.
RETURNED = "returned"


@dataclasses.dataclass
class ReturnScratch:
    """What a run remembers between two calls, in its evidence directory."""

    phase: str = "readers"
    operation_id: str = ""
    #: Inventory names of the hosts that look into Ceph. Who looks before a step looks after it, too. None: not chosen.
    readers: t.Optional[t.List[str]] = None
    #: Whether the journal is in the hands of this run.
    owned: bool = False
    #: The name of the step that the host was asked for last.
    acting: str = ""
    #: Steps that this run has carried out.
    carried: t.List[str] = dataclasses.field(default_factory=list)
    plan: t.Optional[Json] = None
    plan_sha256: t.Optional[str] = None
    diff: t.List[Json] = dataclasses.field(default_factory=list)
    changed: bool = False
    #: What the last judgement found; None: nothing was judged.
    checked: t.Optional[Json] = None
    undecided: bool = False
    #: What is known of the requests that wait in RabbitMQ: counted once, then read by the step. None: not yet.
    requests: t.Optional[Json] = None
    collected_at: str = ""
    servers: int = 0
    #: What ends this run: empty while it goes on.
    state: str = ""
    message: str = ""
    ended_well: bool = False


@dataclasses.dataclass(frozen=True)
class ReturnCall:
    """What one call came to. ``needs`` empty: the run has ended, and the rest says how."""

    needs: t.List[Json]
    scratch: ReturnScratch
    report: t.Optional[Json] = None


@dataclasses.dataclass(frozen=True)
class _Verdict:
    """What stands against nothing, and the plan of what is to be cleared now."""

    decision: checks.ReturnDecision
    plan: Plan
    #: Running domains that cannot use a disk, or of which this is not known.
    dead: t.Sequence[Finding]
    #: Requests that wait, of which one must not be executed here, or which were not read.
    waiting: t.Sequence[Finding]
    #: What a move left here, and a later one would stumble over.
    left: t.Sequence[Finding]
    #: The findings, for people.
    shown: str


class HostReturn(Operation):
    """One call of the operation. ``connect``: returns the connection to the APIs."""

    BACK = lifecycle.ABORT

    def __init__(
        self, run: Run, connect: t.Callable[[], t.Any], directory: str, operation_id: t.Callable[[], str]
    ) -> None:
        super().__init__(run)
        self.options = dict(run.options)
        self.host = str(run.options["return_host"])
        self.connect = connect
        self.directory = directory
        self.new_id = operation_id
        self.scratch = ReturnScratch()
        self.answers: Answers = ()
        self._open_journal: t.Optional[OpenJournal] = None

    # --- one call

    def begin_new(self) -> ReturnCall:
        """Read the host. Raises Refused, StackguardError: nothing was changed."""
        # A journal that cannot be read ends the run before a host is read.
        self._records()
        return self._look()

    def resume_open(self, journal: Json) -> ReturnCall:
        """Read the host, to judge what is left: the operation is taken up after that."""
        self._note(journal)
        return self.begin_new()

    def show_open(self, journal: Json) -> ReturnCall:
        """Return what is open."""
        action = self.run.variable("action")
        back = lifecycle.goes_back(journal)
        more = [f"to abort: {action}=abort" if back else f"to resume: {action}=resume; to abort: {action}=abort"]
        self._note(journal)
        return self._end(str(journal["state"]), lifecycle.status_text(journal, more), well=True)

    def nothing_open(self, action: str) -> ReturnCall:
        """Return that there is nothing to show or to abort. Raises Refused: a resume begins nothing."""
        if action == lifecycle.RESUME:
            raise lifecycle.nothing_to_resume(self.run, self.operation_text())
        return self._end("none", lifecycle.nothing_open(self.operation_text(), action), well=True)

    def refuse_another(self, journal: Json, action: str) -> None:
        """Raise Refused (SG706) where an abort was begun: only that can be finished."""
        if action != lifecycle.ABORT:
            self._refuse_aborted(journal)

    def refuse_another_plan(self, journal: Json) -> None:
        """Raise Refused for another plan than the approved one, or for options that it did not have."""
        self.approver.resume(journal, self._asked)

    def _note(self, journal: Json) -> None:
        self.scratch.operation_id = str(journal["operation_id"])
        self.scratch.plan_sha256 = journal["about"].get(SHA256)

    def advance(self, scratch: ReturnScratch, answers: Answers) -> ReturnCall:
        """Take the answers and go on."""
        self.scratch, self.answers = scratch, answers
        try:
            return t.cast("ReturnCall", getattr(self, f"_{scratch.phase}")())
        except Refused as refused:
            if self.scratch.owned:
                return self._stop(refused.message, lifecycle.checked_of(refused))
            return self._end("refused", refused.message)
        except Stopped as stopped:
            return self._stop(stopped.message, stopped.checked)
        except (StackguardError, FactsError, journals.JournalError, findings.OverrideError) as error:
            return self._stop(str(error))

    def leave(self, scratch: ReturnScratch, _answers: t.Sequence[Json], failure: str) -> ReturnCall:
        """End a run that something outside has ended: a task failed."""
        self.scratch = scratch
        return self._over() if scratch.state else self._stop(failure or "the run was interrupted")

    # --- what is open

    @property
    def _asked(self) -> Json:
        return {
            "host": self.host,
            "status": self.options["status"],
            "overrides": approval.of_overrides(self.run.overrides),
        }

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"return of {self.host}"

    def kind(self) -> str:
        """Return the kind of journal."""
        return plans.kind_of(self.host)

    def _stored(self) -> t.Optional[Json]:
        """Return the open journal, whatever other journals there are: for a run that has begun."""
        (found,) = self.run.state.call([lifecycle.open_request(self.kind())])
        return t.cast("t.Optional[Json]", found["journal"])

    def _records(self) -> t.Tuple[t.Any, ...]:
        """Return what journals say of operations. Open ones of all hosts: one of them may need an address.

        Closed ones list what is to be removed from blocklists. The kinds of both generations begin with evacuate.
        """
        opened, closed = self.run.state.call(
            [{"op": "journal_list", "unknown": True}, {"op": "journal_closed", "kind": operation_records.EVACUATE}]
        )
        lifecycle.refuse_unknown(self.run, opened)
        ended = self.run.of_this_cloud(closed["journals"])
        return tuple(operation_records.records(opened["journals"], ended))

    def _refuse_aborted(self, journal: Json) -> None:
        if lifecycle.goes_back(journal):
            raise Refused(
                f"SG706 operation-open: operation {journal['operation_id']} is being aborted. Finish the abort with "
                f"{self.run.variable('action')}={lifecycle.ABORT}"
            )

    def end_open(self, journal: Json) -> ReturnCall:
        """Abort: close the journal without the rest: no step is taken back, and the hold of the evacuation stays."""
        self._note(journal)
        if self.run.check_mode:
            abort = f"without --check, the run would abort operation {journal['operation_id']}"
            said = f"{abort}\n{lifecycle.status_text(journal)}"
            return self._end(str(journal["state"]), said, well=True)
        if journal["state"] == journals.FINISHED:
            # Killed between the last write and the journal's way to the closed ones.
            self._own(OpenJournal.take_up(self.run, journal, "closed by an abort"), journal)
            self.open_journal.close(journals.FINISHED, "all steps were done")
            return self._end(
                journals.FINISHED, f"all steps of operation {self.open_journal.operation_id} were done", well=True
            )
        self._own(OpenJournal.take_up(self.run, journal, "abort started", journals.ROLLING_BACK), journal)
        said = _abort_text(self.host, journal)
        self.open_journal.close(journals.ROLLED_BACK, said)
        return self._end("aborted", said, well=True)

    @property
    def open_journal(self) -> OpenJournal:
        """The open journal. Raises StackguardError where it is not open any more, or another run has it."""
        if self._open_journal is None:
            self._open_journal = OpenJournal.held(self.run, self._stored(), self.scratch.operation_id)
        return self._open_journal

    def _own(self, open_journal: OpenJournal, before: t.Optional[Json] = None) -> None:
        """Take an operation: opened now, or taken over: the temporary directory of the run before (``before``) goes."""
        self._open_journal = open_journal
        if before is not None:
            evidence.remove_stale(before, self.directory)
        self.scratch.operation_id, self.scratch.owned, self.scratch.changed = open_journal.operation_id, True, True

    # --- reading

    def _look(self) -> ReturnCall:
        """Read everything that decides. What was read before the last step decides nothing any more."""
        self.scratch.phase = "readers"
        return self._need([needs.read_host()])

    def _readers(self) -> ReturnCall:
        """The host was read: choose who looks into Ceph, and ask for the rest."""
        result = self._result(needs.READ_HOST)
        domains = result.get("domain_uuids")
        if domains is None:
            raise Stopped(f"the run could not read {self._inventory_name}: {task_results.why(result)}")
        if self.scratch.readers is None:
            found = ceph_readers.readers(evidence.load_dir(self.directory), [self._inventory_name])
            self.scratch.readers = [reader.name for reader in found]
        self.scratch.phase = "judge"
        volumes = result.get("volumes") or {}
        # Of servers without a domain here, too: another host's QEMU may have their disks open.
        servers, theirs = self._servers()
        volumes = {"uuids": sorted({*(volumes.get("uuids") or ()), *theirs}), "pools": volumes.get("pools") or []}
        instances = sorted({*domains, *servers})
        rows = sorted({*domains, *(result.get("directory_uuids") or ())})
        return self._need([needs.read_ceph(self.scratch.readers, instances, volumes), needs.read_cloud(rows)])

    def _servers(self) -> t.Tuple[t.Set[str], t.Set[str]]:
        """Return the servers that Nova has on the host, the soft-deleted ones too, and the volumes of the others."""
        connection = self.connect()
        listed = server_records.servers_on(connection, self.host)
        volumes = {volume for server in listed for volume in server.volumes}
        return {server.id for server in listed} | set(server_records.soft_deleted(connection, self.host)), volumes

    @property
    def _inventory_name(self) -> str:
        return str(self.options["inventory_name"])

    def _result(self, kind: str) -> t.Mapping[str, t.Any]:
        """Return what a task on the host has registered. Raises Stopped where the host does not answer."""
        found = [answer.get("result") or {} for answer in needs.answers_of(self.answers, kind)]
        result: t.Mapping[str, t.Any] = found[-1] if found else {}
        if result.get("unreachable"):
            raise Stopped(silence_text(self._inventory_name, result))
        return result

    # --- judge

    def _judge(self) -> ReturnCall:
        judged = self._judged(evidence.load_dir(self.directory))
        return self._next(judged) if self.scratch.owned else self._first(judged)

    def _judged(self, bundle: Bundle) -> _Verdict:
        """Return what is to be done. Raises Refused or Stopped where something stands against it."""
        request = ReturnRequest(
            self.host, self._inventory_name, tuple(self.scratch.readers or ()), tuple(self._records())
        )
        request = dataclasses.replace(request, ended=self._ended(checks.strays(Index(bundle), request)))
        decision = checks.judge(bundle, request)
        checked = decision.checked if decision.undecided else decision.checked + self._requests(decision.clearing)
        self.scratch.checked, self.scratch.undecided = _plain(checked), decision.undecided
        self.scratch.collected_at = bundle.collected_at
        self.scratch.servers = len((bundle.cloud.servers if bundle.cloud else None) or [])
        # Nothing was judged where a part was not read or the machine is another one: no override passes that.
        overrides = [] if decision.undecided else self.run.overrides
        standing = findings.blocking_findings(checked.findings, overrides)
        shown = terminal.findings_text(checked, overrides)
        waits = [item for item in standing if item.code in checks.WAITING]
        dead = [item for item in standing if checks.about_disks(item)]
        left = [item for item in standing if item.code in (checks.LEFT, "SG524")]
        refused = [item for item in standing if item not in [*waits, *dead, *left]]
        if refused:
            self._refuse(len(refused), shown)
        operation_id = self.scratch.operation_id or self.new_id()
        options = self.options
        clearing = decision.clearing
        if plans.REQUESTS in self.scratch.carried:
            clearing = dataclasses.replace(clearing, requests=False)
        plan = plans.plan(operation_id, self.host, clearing, options["status"], options["libvirt_uri"])
        return _Verdict(decision, plan, dead, waits, left, shown)

    def _ended(self, strays: t.Sequence[checks.Held]) -> t.Mapping[str, str]:
        """Return the consumers that are migrations that have ended. Where no database says so, none is."""
        try:
            return migrations.ended_migrations(self.options, {item.consumer for item in strays})
        except DatabaseError:
            return {}

    def _requests(self, clearing: checks.Clearing) -> Checked:
        """Return what waits in RabbitMQ: counted from outside, until the step has read it.

        Unread is a reason against a start. One that runs already has executed what waited: then it is only unchecked.
        """
        if self.scratch.requests is None:
            self.scratch.requests = _plain(waiting_requests.count(self.options, self.connect(), self.host))
        found = _checked(self.scratch.requests)
        if not clearing.requests:
            return found
        return Checked((*found.findings, *(waiting.not_clear(item) for item in found.unchecked)))

    def _refuse(self, number: int, shown: str) -> t.NoReturn:
        why = f"nova-compute must stay stopped: {count(number, 'blocking finding')}\n{shown}"
        if self.scratch.owned:
            raise Stopped(why)
        stays = f", and operation {self.scratch.operation_id} stays open" if self.scratch.operation_id else ""
        raise Refused(f"refused, nothing was changed{stays}: {why}")

    def _first(self, judged: _Verdict) -> ReturnCall:
        """Nothing was changed by this run so far: open a journal, or take the open one up."""
        journal = self.read_open_journal()
        if (journal or {}).get("operation_id", "") != self.scratch.operation_id:
            raise Refused(
                f"SG706 operation-open: another run of return_host has worked on {self.host} during this run. Run "
                "return_host again"
            )
        self._show(judged)
        if judged.waiting:
            return self._not_clear(judged)
        if journal is not None:
            return self._resume(journal, judged)
        if not judged.plan.steps:
            self.scratch.plan_sha256 = self.approver.nothing(judged.plan, self._asked)
            return self._finished(judged)
        value = self.approver.approve(judged.plan, self._asked)
        self.scratch.plan_sha256 = value
        self.scratch.plan = t.cast("Json", to_plain(judged.plan))
        self.scratch.diff = terminal.plan_diff(judged.plan)
        if self.run.check_mode:
            self.run.say(self.approver.hint(value))
            self.scratch.changed = any(step.name != plans.REQUESTS for step in judged.plan.steps)
            return self._end(PLANNED, self._to_clear(judged), well=True)
        about = {
            "host": self.host,
            "inventory_name": self._inventory_name,
            SHA256: value,
            REQUEST: self._asked,
            "overrides": to_plain(list(self.run.overrides)),
        }
        self._own(OpenJournal.open(self.run, judged.plan, about))
        return self._next(judged)

    def _show(self, judged: _Verdict) -> None:
        if judged.shown:
            self.run.say(judged.shown)
        if judged.plan.steps:
            self.run.say(terminal.plan_text(judged.plan, values=not self.run.diff))

    def _to_clear(self, judged: _Verdict) -> str:
        return f"{count(len(judged.plan.steps), 'step')} to clear {self.host}; {'; '.join(judged.plan.notes)}"

    def _resume(self, journal: Json, judged: _Verdict) -> ReturnCall:
        """Take the open operation up, with what is to be cleared now: its plan may be of another day."""
        self._refuse_aborted(journal)
        begun, operation = runner.plan_of(journal), journal["operation_id"]
        more = plans.beyond(judged.plan, begun)
        if more and self.approver.expected:
            raise Refused(
                f"{self.approver.variable} is {self.approver.expected}, but {self.host} now has leftovers that are not "
                f"in the plan of operation {operation}: {'; '.join(more)}. Nothing was changed. To clear these "
                f"leftovers too, resume the operation without {self.approver.variable}. To end the operation, use "
                f"{self.run.variable('action')}={lifecycle.ABORT}"
            )
        if self.run.check_mode:
            self.scratch.changed = bool(judged.plan.steps)
            self.scratch.diff = terminal.plan_diff(judged.plan)
            said = (
                f"operation {operation} is open. Without --check, the run would resume this operation: "
                f"{self._to_clear(judged)}"
            )
            return self._end("resumed", said, well=True)
        self._own(OpenJournal.take_up(self.run, journal, f"resumed: {self._to_clear(judged)}", journals.OPEN), journal)
        self.run.say(f"resuming operation {operation}: {self.operation_text()}")
        self.open_journal.tell(**{REQUEST: self._asked, "overrides": to_plain(list(self.run.overrides))})
        if more:
            self._extend(plans.extended(begun, judged.plan), more)
        return self._next(judged)

    def _extend(self, plan: Plan, more: t.Sequence[str]) -> None:
        """Let the journal's plan have what came up since it was made. No person approved that one."""
        value = approval.sha256(approval.of_plan(plan, self._asked))
        states = {step.name: self.open_journal.state_of(step.name) for step in plan.steps}
        self.open_journal.journal = {**self.open_journal.journal, "plan": to_plain(plan), "steps": states}
        self.open_journal.tell(**{SHA256: value})
        self.open_journal.note(
            "after the run had made the plan, the run found these leftovers and added them to the plan: "
            f"{'; '.join(more)}"
        )
        self.scratch.plan_sha256 = value

    # --- steps

    def _next(self, judged: _Verdict) -> ReturnCall:
        """Begin the next step of what is to be cleared now; without one, end."""
        more = plans.beyond(judged.plan, runner.plan_of(self.open_journal.journal))
        again = [step.title for step in judged.plan.steps if step.name in self.scratch.carried]
        if more or again:
            if any(step.name == plans.DOMAINS for step in judged.plan.steps):
                raise Stopped(
                    "during the run, additional libvirt domains appeared on this host. According to Nova, their "
                    "servers are on other hosts"
                )
            raise Stopped(
                "the host has leftovers that are not in the plan, or that the run has already tried to clear: "
                f"{'; '.join([*more, *again])}"
            )
        if judged.waiting:
            return self._not_clear(judged)
        if not judged.plan.steps:
            return self._finished(judged)
        step = judged.plan.steps[0]
        self.open_journal.mark(step.name, journals.APPLYING)
        return t.cast("ReturnCall", getattr(self, STEPS[step.action])(step))

    def _done(self, step: str, text: t.Optional[str] = None) -> ReturnCall:
        self.open_journal.mark(step, journals.DONE, text)
        self.scratch.carried.append(step)
        return self._look()

    def _settle(self, _step: Step) -> ReturnCall:
        """Remove what must not be executed here. What is left, or was not read, ends the run; an override is noted."""
        found = waiting_requests.settle(self.options, self.connect(), self.host, self._note_removed)
        self.scratch.requests = _plain(found)
        self.scratch.carried.append(plans.REQUESTS)
        judged = self._judged(evidence.load_dir(self.directory))
        unread = "; ".join(item.reason for item in found.unchecked)
        self.open_journal.remember(write=False, requests_unread=unread or None)
        if judged.waiting:
            self.open_journal.mark(
                plans.REQUESTS, journals.PENDING, unread or f"{count(len(judged.waiting), 'request')} left"
            )
            self._show(judged)
            return self._not_clear(judged)
        removed = sum(len(ids) for ids in (self.open_journal.memory.get(REMOVED) or {}).values())
        said = f"passed by an override, RabbitMQ was not read: {unread}" if unread else f"{removed} removed"
        self.open_journal.mark(plans.REQUESTS, journals.DONE, said)
        # Of a step that found nothing to remove, nothing is changed.
        self.scratch.changed = bool(self._others() or removed)
        return self._look()

    def _others(self) -> bool:
        """Whether the journal's plan has more than the look into RabbitMQ."""
        return any(step.name != plans.REQUESTS for step in runner.plan_of(self.open_journal.journal).steps)

    def _note_removed(self, ids: t.Mapping[str, t.Sequence[str]]) -> None:
        """Write the ids of what is about to be removed into the journal, beside those of earlier runs."""
        before = self.open_journal.memory.get(REMOVED) or {}
        known = {name: sorted({*before.get(name, ()), *ids.get(name, ())}) for name in {*before, *ids}}
        self.open_journal.remember(requests_removed=known)

    def _act(self, step: Step) -> ReturnCall:
        """Let the host end domains, or move directories aside."""
        self.scratch.phase, self.scratch.acting = "acted", step.name
        return self._need([needs.act_on_host(step.action, {**step.params, "operation": self.scratch.operation_id})])

    def _acted(self) -> ReturnCall:
        """Take what the host answered, which has verified the end of each."""
        steps = runner.plan_of(self.open_journal.journal).steps
        step = next(entry for entry in steps if entry.name == self.scratch.acting)
        result = self._result(step.action)
        if not task_results.ended_well(result) or not result.get("results"):
            raise Stopped(f"{step.title}: {task_results.why(result)}")
        return self._done(step.name)

    def _release_allocations(self, step: Step) -> ReturnCall:
        """Take what migrations hold that have ended: asked of the databases again, guarded by each generation."""
        held = step.params["allocations"]
        ended = migrations.ended_migrations(self.options, {str(entry["consumer"]) for entry in held})
        connection = self.connect()
        for entry in held:
            if entry["consumer"] not in ended:
                raise Stopped(f"migration {entry['consumer']} has not ended: its allocation stays")
            resource_providers.release_allocation(connection, entry["consumer"], entry["provider"], entry["resources"])
        return self._done(plans.ALLOCATIONS, f"{count(len(held), 'allocation')} removed")

    def _lift(self, step: Step) -> ReturnCall:
        self.scratch.phase = "lifted"
        return self._need([needs.lift(step.params["lifts"])])

    def _lifted(self) -> ReturnCall:
        """Take what the readers answered: each must have worked in the cluster that was meant."""
        answered = [entry for answer in needs.answers_of(self.answers, needs.LIFT) for entry in answer["clusters"]]
        for entry in answered:
            result = entry.get("result") or {}
            if result.get("unreachable"):
                raise Stopped(silence_text(str(entry.get("reader")), result))
            if not task_results.ended_well(result) or result.get("fsid") != entry.get("fsid"):
                where = f"Ceph {entry.get('fsid')}, through {entry.get('reader')}"
                raise Stopped(f"{where}: the blocklist entries were not removed: {task_results.why(result)}")
        if not answered:
            raise Stopped("the blocklist entries were not removed, because the task that removes them did not run")
        said = [f"{', '.join(entry['addresses'])} in Ceph {entry['fsid']}" for entry in answered]
        return self._done(plans.BLOCKLIST, "; ".join(said))

    def _release(self, step: Step) -> ReturnCall:
        """Release the service, if nothing has taken it since it was judged: an evacuation may have begun."""
        request = ReturnRequest(self.host, self._inventory_name, (), tuple(self._records()))
        opened = tuple(findings.blocking_findings(checks.open_evacuations(request), self.run.overrides))
        if opened:
            shown = terminal.findings_text(Checked(opened), ())
            raise Stopped(
                (f"the run leaves the compute service disabled and forced down\n{shown}"),
                Checked(opened),
            )
        connection, reason = self.connect(), step.params["reason"]
        service = compute_services.find_service(connection, self.host)
        held = (service.disabled_reason if service else None) or ""
        if held != reason:
            raise Stopped(
                f"SG707 lock-held: the compute service of {self.host} has the disabled reason {held or 'none'}, "
                f"expected {reason}. The run does not change this compute service"
            )
        status = str(self.options["status"])
        wanted = {"status": status, "reason": RETURNED if status == "disabled" else None, "forced_down": False}
        compute_services.give_back(connection, self.host, wanted)
        return self._done(plans.RELEASE, f"{status}, not forced down")

    # --- the end

    def _finished(self, judged: _Verdict) -> ReturnCall:
        """Nothing is left to clear. Running domains without their disks keep it from being a good end."""
        notes = "; ".join(judged.plan.notes)
        if self.scratch.owned:
            self._close(judged)
        if self.scratch.owned and self._others():
            said = f"{self.host} is clear, operation {self.scratch.operation_id} is finished; {notes}"
        else:
            said = f"there is nothing to clear on {self.host}; {notes}"
        if judged.dead:
            return self._end(DISKS, _dead_text(self.host, judged.dead, notes, judged.shown))
        if judged.left:
            number = count(len(judged.left), "leftover of a move stays", "leftovers of moves stay")
            return self._end(NOT_CLEAR, f"{number} on {self.host}; {notes}\n{judged.shown}")
        return self._end(CLEAR, said, well=True)

    def _not_clear(self, judged: _Verdict) -> ReturnCall:
        """Requests wait that a start here must not execute, or nobody knows: nothing else is changed."""
        said = f"{self.host} is not clear, because of requests that wait in RabbitMQ. Keep nova-compute stopped"
        if self.scratch.owned:
            said += f". Operation {self.scratch.operation_id} stays open: run return_host again to resume the operation"
        return self._end(NOT_CLEAR, f"{said}\n{judged.shown}")

    def _close(self, judged: _Verdict) -> None:
        """Close the journal. A step that another run did, or somebody else, is done."""
        for step in runner.plan_of(self.open_journal.journal).steps:
            if self.open_journal.state_of(step.name) == journals.DONE:
                continue
            if step.name == plans.RELEASE and judged.decision.clearing.held_until_start is not None:
                raise Stopped(
                    "the compute service must stay disabled and forced down until nova-compute has started, because "
                    f"Nova has unfinished evacuation records of {self.host}. To end the current return operation, "
                    f"use {self.run.variable('action')}={lifecycle.ABORT}"
                )
            self.open_journal.mark(step.name, journals.DONE, "nothing was left to do in this step")
        self.open_journal.close(journals.FINISHED, f"nothing is left to clear on {self.host}")

    def _stop(self, message: str, checked: t.Optional[Checked] = None) -> ReturnCall:
        """Something ends the run, with the journal open if it has one."""
        if checked is not None and checked.findings:
            before = _checked(self.scratch.checked) if self.scratch.checked else Checked()
            self.scratch.checked = _plain(findings.merged([before, checked]))
        if not self.scratch.owned:
            return self._end("failed", message)
        said = message if message.endswith(".") or "\n" in message else f"{message}."
        way = (
            "Run return_host again to resume the operation, or end the operation with "
            f"{self.run.variable('action')}={lifecycle.ABORT}."
        )
        return self._end(journals.OPEN, f"{said}\nOperation {self.scratch.operation_id} stays open. {way}")

    def _need(self, found: t.Sequence[Json]) -> ReturnCall:
        return ReturnCall(list(found), self.scratch)

    def _end(self, state: str, message: str, well: bool = False) -> ReturnCall:
        self.scratch.state, self.scratch.message, self.scratch.ended_well = state, message, well
        return self._over()

    def _over(self) -> ReturnCall:
        return ReturnCall([], self.scratch, self._report())

    def _report(self) -> Json:
        scratch = self.scratch
        unchecked = []
        why = scratch.message.partition("\n")[0]
        if scratch.state in (journals.OPEN, "failed") and not scratch.ended_well:
            code, said = ("SG710", "the run did not finish") if scratch.owned else ("SG709", "nothing was decided")
            unchecked.append(Unchecked(code, self.host, f"{said}: {why}"))
        elif scratch.checked is None:
            # Asked for, or aborted: a gate that reads only the verdict must not take that for a pass.
            said = "this run did not check the host" if scratch.ended_well else why
            unchecked.append(Unchecked("SG709", self.host, said))
        before = _checked(scratch.checked) if scratch.checked else Checked()
        report = findings.report(
            findings.merged([before, Checked((), tuple(unchecked))]),
            scratch.collected_at or self.run.clock.now(),
            0 if scratch.checked is None else 1,
            scratch.servers,
            [] if scratch.undecided else self.run.overrides,
        )
        return report if scratch.ended_well else findings.as_refused(report)


def _abort_text(host: str, journal: t.Mapping[str, t.Any]) -> str:
    """Return what an abort leaves: what is done stays done, and a step that was begun may be done."""
    steps = runner.progress(journal)
    parts = [f"operation {journal['operation_id']} is aborted, and the changes of its completed steps remain"]
    for state, said in ((journals.DONE, "done"), (journals.APPLYING, "begun, possibly done")):
        parts += [f"{said}: {step['title']}" for step in steps if step["state"] == state]
    parts += [f"not done: {step['title']}" for step in steps if step["state"] == journals.PENDING]
    return (
        f"{'; '.join(parts)}. Keep nova-compute stopped on {host} until a run of return_host ends with the state "
        "'clear'"
    )


def _dead_text(host: str, dead: t.Sequence[Finding], notes: str, shown: str) -> str:
    closed = [item for item in dead if item.code == checks.DEAD_DISK]
    reasons = []
    if closed:
        wanted = "As soon as nova-compute runs, follow the remedy of SG517 for each of these domains"
        reasons.append(f"disks of {count(len(closed), 'running domain')} are not open on this host. {wanted}")
    if len(closed) < len(dead):
        unread = len(dead) - len(closed)
        are = "is" if unread == 1 else "are"
        reasons.append(
            f"the run does not know whether {count(unread, 'disk')} of running domains {are} open, because no host "
            "could look at the disks in Ceph"
        )
    return f"return_host has nothing to clear on {host}, but {'. Also, '.join(reasons)}. {notes}\n{shown}"


def _plain(checked: Checked) -> Json:
    return {
        "findings": [to_plain(item) for item in checked.findings],
        "unchecked": [to_plain(item) for item in checked.unchecked],
    }


def _checked(plain: t.Mapping[str, t.Any]) -> Checked:
    return Checked(
        tuple(findings.from_report(item) for item in plain.get("findings") or []),
        tuple(Unchecked(**item) for item in plain.get("unchecked") or []),
    )
