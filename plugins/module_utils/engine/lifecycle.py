# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all operations live by: one run, one journal, one owner, one way to refuse, to end and to report.

What a run does is decided in :mod:`operation`. Only Ansible can read many hosts, delegate and run the operator's own
modules. So some operations answer with what they *need*, a role provides that and calls again with the answers, until
nothing is needed. Between two calls nothing is remembered but the journal (lasting, on the host that keeps it) and the
scratch of this run (on the controller).

:class:`OpenJournal` is the open journal in the hands of one run. Each write is compared with what is stored: a run
whose operation another run has taken up can not write, and ends.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards import in_flight
from ..model import findings
from ..model.errors import StackguardError
from ..model.facts import UnknownJournal, from_plain
from ..model.plan import Plan
from ..records import journal as journals
from ..records.installed import collection_version
from . import run_owner, runner
from .kept_rows import KeptRows

Json = t.Dict[str, t.Any]

APPLY, RESUME, STATUS, ROLLBACK, ABORT = "apply", "resume", "status", "rollback", "abort"
UNDO = "undo it"
#: Prefixes of planned operations that are aborted: what they have done is not undone.
ABORTED = ("maintain_", "enable_")
#: Which cloud an operation is on, in its journal. Absent: an earlier version, or a run that could not tell.
CLOUD_ID = "cloud_id"
#: Options whose variable is one for all playbooks.
SHARED = {"take_over": "stackguard_take_over"}
#: What an action is called in a sentence, where it is not the action's own name.
VERBS = {ROLLBACK: "roll back"}


#: The problem of a resume that has nothing to resume.
NOTHING_OPEN = "nothing-open"
#: Another operation is open, or its journal is of another cloud.
OPERATION_OPEN = "SG706"


class Refused(StackguardError):  # noqa: N818 (it is what happened, not a mistake)
    """The run ends, and nothing was changed by it.

    ``code``: of the finding that the message is about, such as SG706. ``data``: more of the result, such as C(report).
    """

    def __init__(self, message: str, code: t.Optional[str] = None, /, **data: t.Any) -> None:
        super().__init__(message, **data)
        self.code = code


class Stopped(StackguardError):  # noqa: N818 (it is what happened, not a mistake)
    """The run ends before its end, with its journal open. ``checked``: what stopped it, for the report."""

    def __init__(self, message: str, checked: t.Optional[findings.Checked] = None) -> None:
        super().__init__(message)
        self.checked = checked or findings.Checked()


@dataclasses.dataclass(frozen=True)
class Clock:
    """Time, as a run sees it. ``now``: ISO 8601 with zone, for people and proofs; the others are in seconds."""

    now: t.Callable[[], str]
    monotonic: t.Callable[[], float]
    epoch: t.Callable[[], float]
    sleep: t.Callable[[float], None]


@dataclasses.dataclass(frozen=True)
class Run:
    """What one call of an operation is given. An operation adds what only it needs."""

    #: The host that keeps the journal.
    state: runner.Host
    clock: Clock
    say: t.Callable[[str], None]
    #: Which process carries the operation out: see :mod:`run_owner`.
    mine: t.Mapping[str, t.Any]
    options: t.Mapping[str, t.Any]
    overrides: t.Sequence[findings.Override]
    check_mode: bool
    #: Before every variable of the playbook that runs, such as C(evacuate_).
    prefix: str
    #: Tells on which cloud this run works, and asks only when it is called; None: that can not be told.
    cloud_id: t.Callable[[], t.Optional[str]]
    #: Whether a diff shows the values, so that the plan need not.
    diff: bool

    @property
    def back(self) -> str:
        """The action that ends an open operation without the rest of it."""
        return ABORT if self.prefix in ABORTED else ROLLBACK

    def variable(self, name: str) -> str:
        """Return an option as the operator types it: a module's own name where no playbook has given its prefix."""
        return SHARED.get(name, f"{self.prefix}{name}") if self.prefix else name

    def refuse_other_cloud(self, journal: t.Mapping[str, t.Any]) -> None:
        """Raise Refused (SG706) for the journal of an operation on another cloud: hosts of two clouds share names.

        A journal of an earlier version names no cloud, and is taken. Raises StackguardError: the cloud was not read.
        """
        theirs = journal.get(CLOUD_ID)
        if theirs is None:
            return
        mine = self.cloud_id()
        if mine is None or not _same_cloud(str(theirs), mine):
            raise Refused(
                f"SG706 operation-open: the journal of operation {journal['operation_id']} belongs to another cloud "
                f"({theirs}). This run works on {mine or 'a cloud that cannot be identified from its catalog'}. Set "
                "stackguard_state_dir to a different directory for each cloud. One cloud can have two identities, for "
                "example after its region was renamed. If the journal's cloud and this run's cloud are the same cloud, "
                f"open the journal file and set {CLOUD_ID} to the identity of this run's cloud",
                OPERATION_OPEN,
                problem="operation-open",
            )

    def of_this_cloud(self, found: t.Iterable[Json]) -> t.List[Json]:
        """Return those journals that are not of another cloud."""
        kept = list(found)
        if all(entry.get(CLOUD_ID) is None for entry in kept):
            return kept
        mine = self.cloud_id()
        return [
            entry
            for entry in kept
            if entry.get(CLOUD_ID) is None or (mine is not None and _same_cloud(str(entry[CLOUD_ID]), mine))
        ]

    def refuse_while_carried_out(self, journal: t.Mapping[str, t.Any]) -> None:
        """Raise StackguardError (SG707) while another run carries an open operation out."""
        option = self.variable("take_over")
        run_owner.refuse_while_it_runs(journal, self.mine, bool(self.options["take_over"]), option)


def _same_cloud(one: str, other: str) -> bool:
    """Whether two identities have a part in common: a cloud known by its cells may have got one more."""
    return bool(set(one.split(",")) & set(other.split(",")))


# --- journals -------------------------------------------------------------------------------------------------


def open_journals(run: Run) -> t.List[Json]:
    """Return every open journal. Raises StackguardError or StepError where they can not be read.

    Raises Refused (SG706) where this version does not understand one of them.
    """
    (found,) = run.state.call([{"op": "journal_list", "unknown": True}])
    refuse_unknown(run, found)
    return [dict(entry) for entry in found["journals"]]


def open_request(kind: str) -> Json:
    """Return the request for the open journal of a kind. Its answer goes to :func:`refuse_unknown`."""
    return {"op": "journal_read", "kind": kind, "unknown": True}


def refuse_unknown(run: Run, answer: t.Mapping[str, t.Any]) -> None:
    """Raise Refused (SG706) where this version does not understand a journal that the host has found."""
    unknown = [from_plain(UnknownJournal, entry, "journal") for entry in answer.get("unknown") or []]
    if unknown:
        checked = findings.Checked(tuple(in_flight.unknown_journal(entry) for entry in unknown))
        report = findings.as_refused(findings.report(checked, run.clock.now(), 0, 0))
        raise Refused(journals.refusal(unknown), report=report)


def checked_of(refused: Refused) -> findings.Checked:
    """Return the findings by which a run is refused, for one that has begun and now stops."""
    found = (refused.data.get("report") or {}).get("findings") or ()
    return findings.Checked(tuple(findings.from_report(entry) for entry in found))


def read_open_journal(run: Run, kind: str) -> t.Optional[Json]:
    """Return the open journal of a kind. Raises StackguardError or StepError where it can not be read.

    Raises Refused (SG706) where it is another cloud's, unless it is only to be shown; and where this version does not
    understand a journal of the directory, of whatever kind: its operation may be at work on the same host.
    """
    (found,) = run.state.call([open_request(kind)])
    refuse_unknown(run, found)
    journal = t.cast("t.Optional[Json]", found["journal"])
    if journal is not None and run.options.get("action") != STATUS:
        run.refuse_other_cloud(journal)
    return journal


def refuse_lost(run: Run, kind: str, operation_id: str) -> None:
    """Raise StackguardError (SG707) where another run has this run's operation, or where it is not open any more."""
    request = {"op": "still_ours", "kind": kind, "operation_id": operation_id, "run": dict(run.mine)}
    run.state.call([request])


def goes_back(journal: t.Mapping[str, t.Any]) -> bool:
    """Whether an open operation is being undone. One that says it was undone was cut off while it was closed."""
    return journal["state"] in (journals.ROLLING_BACK, journals.ROLLED_BACK)


def closed_journals(run: Run, kind: str) -> t.List[Json]:
    """Return the closed journals whose kind is this one or begins with it and a dash, the oldest first.

    None of them is another cloud's.
    """
    (found,) = run.state.call([{"op": "journal_closed", "kind": kind}])
    return run.of_this_cloud(dict(entry) for entry in found["journals"])


def signed() -> Json:
    """Return what a journal says of the version of the collection that writes it."""
    version = collection_version()
    return {} if version is None else {journals.VERSION: version}


def kept_rows(run: Run, journal: t.Mapping[str, t.Any], kind: str) -> KeptRows:
    """Return what an operation has written down beside its journal, to be read."""
    return KeptRows(run.state, kind, str(journal["operation_id"]))


class OpenJournal:
    """The open journal of one operation, in the hands of one run."""

    def __init__(self, run: Run, journal: Json) -> None:
        self.run = run
        self.journal = journal

    # --- begin and resume

    @classmethod
    def open(cls, run: Run, plan: Plan, about: t.Mapping[str, t.Any], ended: t.Optional[int] = None) -> OpenJournal:
        """Open the journal of a new operation, with its whole plan. Raises where one is open.

        ``ended``: how many operations had ended on the host when it was read; see :func:`journal.open_new`.
        """
        cloud_id = run.cloud_id()
        journal = {
            **runner.new_journal(plan, about, run.clock.now()),
            "run": dict(run.mine),
            **signed(),
            **({} if cloud_id is None else {CLOUD_ID: cloud_id}),
        }
        opening: Json = {"op": "journal_open", "journal": journal}
        run.state.call([opening if ended is None else {**opening, "ended": ended}])
        return cls(run, journal)

    @classmethod
    def reopen(cls, run: Run, journal: Json, state: str, note: str) -> OpenJournal:
        """Open the journal of an operation that has ended. Raises where one is open.

        Raises Refused (SG706) where an earlier version of the collection wrote it.
        """
        kind = str(journal["kind"])
        why = journals.problem(journal, kind)
        if why is not None:
            raise Refused(
                "SG706 operation-open: this version of the collection does not understand the closed journal of "
                f"operation {journal.get('operation_id')} ({why}). Use {journals.finisher(journal, kind)}"
            )
        event = {"at": run.clock.now(), "text": note, "state": state}
        journal = journals.noted({**journal, "run": dict(run.mine), **signed()}, event)
        run.state.call([{"op": "journal_open", "journal": journal}])
        return cls(run, journal)

    @classmethod
    def take_up(cls, run: Run, journal: Json, note: str, state: t.Optional[str] = None) -> OpenJournal:
        """Take an open operation up. Raises StackguardError (SG707) while another run carries it out."""
        run.refuse_while_carried_out(journal)
        return cls.take_up_locked(run, journal, note, state)

    @classmethod
    def take_up_locked(cls, run: Run, journal: Json, note: str, state: t.Optional[str] = None) -> OpenJournal:
        """Take an open operation up whose other runs a lock keeps out, which this run holds."""
        run.refuse_other_cloud(journal)
        open_journal = cls(run, {**journal, "run": dict(run.mine), **signed()})
        event = {"at": run.clock.now(), "text": note, "state": state}
        open_journal.journal = journals.noted(open_journal.journal, event)
        open_journal.write(before=journal["run"])
        return open_journal

    @classmethod
    def held(cls, run: Run, journal: t.Optional[Json], operation_id: str) -> OpenJournal:
        """Return the journal as it is stored now. Raises StackguardError where it is not this run's, or not open."""
        if journal is None or str(journal["operation_id"]) != operation_id:
            raise StackguardError(f"the journal of operation {operation_id} is no longer open")
        if journal.get("run") != run.mine:
            raise StackguardError(journals.taken_over_text(journal))
        return cls(run, journal)

    def read_again(self) -> None:
        """Take note of what the steps have written. Raises StackguardError where another run has the operation."""
        # One that another version writes meanwhile beside this one does not end what has begun.
        (found,) = self.run.state.call([open_request(str(self.journal["kind"]))])
        stored = t.cast("t.Optional[Json]", found["journal"])
        self.journal = self.held(self.run, stored, self.operation_id).journal

    # --- what it says

    @property
    def operation_id(self) -> str:
        """The operation's id."""
        return str(self.journal["operation_id"])

    @property
    def about(self) -> Json:
        """What the operation was begun for."""
        return t.cast("Json", self.journal["about"])

    @property
    def memory(self) -> Json:
        """What later calls need to know."""
        return t.cast("Json", self.journal.get("memory") or {})

    def state_of(self, step: str) -> str:
        """Return the state of a step."""
        return str(self.journal.get("steps", {}).get(step, journals.PENDING))

    # --- writing

    def write(
        self, before: t.Optional[t.Mapping[str, t.Any]] = None, counted: t.Optional[t.Collection[str]] = None
    ) -> t.List[Json]:
        """Write it. Returns what others have in transit that is not in ``counted``: then nothing was written."""
        request = self._put()
        if before is not None:
            request["before"] = dict(before)
        if counted is not None:
            request["counted"] = sorted(counted)
        (answer,) = self.run.state.call([request])
        return list(answer.get("others") or [])

    def call(self, requests: t.Sequence[Json]) -> t.List[Json]:
        """Carry out requests about files beside the journal, if this run still has the operation."""
        return self.run.state.call([self._put(), *requests])[1:]

    def kept_rows(self, kind: str) -> KeptRows:
        """Return what this operation has written down beside its journal, to go on with it."""
        return KeptRows(self.run.state, kind, self.operation_id, self)

    def _put(self) -> Json:
        return {"op": "journal_put", "journal": self.journal}

    def mark(self, step: str, state: str, text: t.Optional[str] = None) -> None:
        """Note the state of a step, and write."""
        event = {"at": self.run.clock.now(), "step": step, "step_state": state, "text": text}
        self.journal = journals.noted(self.journal, event)
        self.write()

    def note(self, text: str, state: t.Optional[str] = None) -> None:
        """Note an event, and write. ``state``: of the operation."""
        event = {"at": self.run.clock.now(), "text": text, "state": state}
        self.journal = journals.noted(self.journal, event)
        self.write()

    def remember(self, write: bool = True, **memory: t.Any) -> None:
        """Keep something for later calls."""
        self.journal = {**self.journal, "memory": {**self.memory, **memory}}
        if write:
            self.write()

    def keep(self, step: str, state: str, memory: t.Mapping[str, t.Any]) -> None:
        """Note what a step knows, while it is carried out. Beside the other steps, whose notes are not read here."""
        event = {"at": self.run.clock.now(), "step": step, "step_state": state, "memory": dict(memory)}
        self.run.state.call([runner.mark_request(self.journal, event)])

    def tell(self, **about: t.Any) -> None:
        """Change what the operation is about, and write."""
        self.journal = {**self.journal, "about": {**self.about, **about}}
        self.write()

    def close(self, state: str, text: str) -> None:
        """End the operation and put its journal among the closed ones: one act, which leaves nothing half."""
        self.journal = journals.noted(self.journal, {"at": self.run.clock.now(), "text": text, "state": state})
        self.run.state.call([{"op": "journal_close", "journal": self.journal}])


# --- status and report ----------------------------------------------------------------------------------------


def status_text(journal: t.Mapping[str, t.Any], more: t.Sequence[str] = ()) -> str:
    """Return what C(status) shows of an open operation."""
    lines = [
        f"{number:3}. {step['state']:9} {step['title']}" for number, step in enumerate(runner.progress(journal), 1)
    ]
    return "\n".join([*_head(journal), *lines, *more])


def _head(journal: t.Mapping[str, t.Any]) -> t.List[str]:
    run = journal.get("run") or {}
    return [
        f"operation {journal['operation_id']} ({journal['kind']} {journal['subject']}) is {journal['state']}",
        (
            f"begun at {journal['started_at']}, most recent journal entry at {journal['updated_at']} on "
            f"{run.get('controller', '?')}"
        ),
    ]


def status_line(run: Run, journal: t.Mapping[str, t.Any], more: str, back: t.Optional[str] = UNDO) -> str:
    """Return C(status) as one message: what is open, ``more`` of it, and what can be done about it."""
    said = next_commands_text(run, back)
    return f"{', '.join(_head(journal))}. {more}. {said[0].upper()}{said[1:]}"


def next_commands_text(run: Run, back: t.Optional[str] = UNDO) -> str:
    """Return what can be done about an open operation. ``back``: what a rollback of it does; None: there is none."""
    action = run.variable("action")
    resume = f"resume the operation with {action}={RESUME}"
    return resume if back is None else f"{resume}, or {back} with {action}={run.back}"


def nothing_open(what: str, action: str = STATUS) -> str:
    """Return that no operation of a kind is open, and so there is nothing to be done."""
    return f"no {what} is open" + ("" if action == STATUS else f": there is nothing to {VERBS.get(action, action)}")


def nothing_to_resume(run: Run, what: str) -> Refused:
    """Return the refusal of a resume: it begins nothing."""
    said = f"{nothing_open(what, RESUME)}. To begin a new operation, use {run.variable('action')}={APPLY}"
    return Refused(said, problem=NOTHING_OPEN)


def another_open(run: Run, journal: t.Mapping[str, t.Any], what: str, back: str = UNDO) -> str:
    """Return why nothing is begun: another operation of this kind, or its rollback, is open (SG706)."""
    head = unfinished(journal, what)
    if goes_back(journal):
        return f"{head}, and its rollback has begun. Finish the rollback with {run.variable('action')}={run.back}"
    return f"{head}: {next_commands_text(run, back)}"


def unfinished(journal: t.Mapping[str, t.Any], what: str, where: str = "") -> str:
    """Return that an operation is open (SG706), and not yet what to do about it. ``where``: such as " on this host"."""
    return f"SG706 operation-open: an unfinished {what} is open{where} (operation {journal['operation_id']})"


def undecided(subject: str, reason: str, at: str) -> Json:
    """Return the report of a run that decided nothing."""
    checked = findings.Checked(unchecked=(findings.Unchecked("SG709", subject, f"nothing was decided: {reason}"),))
    return findings.as_refused(findings.report(checked, at, 0, 0))
