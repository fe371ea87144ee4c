# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a page shows of a run of an operation: how it ended, what comes next, its steps, proofs and servers. Pure.

It is made of the run's result and the operation's journal, and nothing else. A run that was refused has no journal, and
one in check mode a plan only: the page has what there is.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import findings
from ..model.fences.catalogue import OF_MACHINE
from ..model.times import moment
from ..model.wording import count
from ..records import journal as journals
from . import damage
from .evidence_words import clock, duration, in_words, natural
from .page import Context, Next
from .typed_command import TypedCommand

Json = t.Mapping[str, t.Any]


#: Steps that a sentence names, and events that the page lists.
NAMED, EVENTS = 5, 200
PLANNED = "planned"
#: What the journal calls the state of a step, and what the page calls it.
STEP_WORDS: t.Mapping[str, str] = {
    journals.DONE: "done",
    journals.APPLYING: "begun",
    journals.UNDOING: "being undone",
    journals.UNDONE: "undone",
    journals.PENDING: "pending",
    PLANNED: "planned",
}
#: What a playbook does, for its title; the others by their own names.
TITLES: t.Mapping[str, str] = {
    "rename_host": "Rename of a compute host",
    "evacuate_host": "Evacuation of a dead host",
    "drain_host": "Drain of a compute host",
    "enable_host": "Enabling of a compute host",
    "maintain_hosts": "Maintenance of compute hosts",
    "migrate_server": "Move of servers",
    "resize_server": "Resize of a server",
    "return_host": "Return of a compute host",
    "unshelve_server": "Unshelving of a server",
}
PASS, WARN, BLOCK = "pass", "warn", "block"


@dataclasses.dataclass(frozen=True)
class Ended:
    """What a state is called, how it looks, and what it means. ``look``: None: as the report's verdict."""

    word: str
    look: t.Optional[str]
    meaning: str


#: By the state of a result. Whether a run has failed is in the result, too.
STATES: t.Mapping[str, Ended] = {
    journals.FINISHED: Ended("done", None, "The operation is finished, and its journal is closed."),
    "evacuated": Ended("done", None, "The evacuation is finished, and its journal is closed."),
    journals.ROLLED_BACK: Ended("rolled back", WARN, "The operation is rolled back, and its journal is closed."),
    "aborted": Ended(
        "aborted", WARN, "The operation was aborted before all steps were done, and its journal is closed."
    ),
    journals.OPEN: Ended(
        "open",
        BLOCK,
        (
            "The operation is not finished. The journal of the operation is open: resume the operation, or "
            "end the operation."
        ),
    ),
    journals.ROLLING_BACK: Ended(
        "open", BLOCK, "The rollback is not finished. The journal of the operation is open: finish the rollback."
    ),
    PLANNED: Ended("planned", None, "Check mode: nothing was changed. This page shows the whole plan."),
    "resumed": Ended(
        "open", WARN, "Check mode: nothing was changed. Without --check, the run would resume an open operation."
    ),
    "refused": Ended("refused", BLOCK, "Nothing was changed. All blockers that the run found are listed below."),
    "disks-not-open": Ended(
        "disks not open",
        BLOCK,
        (
            "The host has no leftovers that return_host must clear. But some running domains cannot use their disks, "
            "or the run could not check whether the domains can use their disks: see the findings below."
        ),
    ),
    "not-clear": Ended(
        "not clear",
        BLOCK,
        (
            "Requests wait that nova-compute must not execute on this host, a move left something on it, or one of "
            "these was not read. Keep nova-compute stopped: see the findings below."
        ),
    ),
    "incomplete": Ended("incomplete", BLOCK, "The operation has ended, and some servers did not move."),
    "none": Ended("nothing to do", None, "Nothing was changed."),
    "clear": Ended("clear", None, "Nothing is left on the host that this playbook looks after."),
    "restored": Ended("restored", None, "The old pins are written back."),
    "unfinished": Ended("open", WARN, "A change of pins is not finished: run its command again."),
    "failed": Ended("failed", BLOCK, "The run failed. The journal records what the run changed."),
    "unknown": Ended("unknown", BLOCK, ("The run could not read the state of the operation from its journal.")),
}


#: States of an operation that did what it was begun for, as far as it could; and of one that was put back.
REACHED = (journals.FINISHED, "evacuated", "incomplete")
PUT_BACK = (journals.ROLLED_BACK, "aborted")


@dataclasses.dataclass(frozen=True)
class OperationRun:
    """One run of an operation, as its page shows it."""

    #: The playbook; empty: a task of its own, which no command repeats.
    playbook: str
    #: Before each of the playbook's variables.
    prefix: str
    #: What the operator named it by, such as C(rename_from).
    variables: t.Mapping[str, t.Any]
    #: The module's result.
    result: Json
    #: C(report.json), where the run has judged.
    report: t.Optional[Json]
    journal: t.Optional[Json]
    at: str
    #: The action that ends an open operation in another way; None: it can only be resumed.
    back: t.Optional[str] = "rollback"
    check_mode: bool = False
    #: Why the journal was not read.
    unread: str = ""
    overrides: t.Tuple[findings.Override, ...] = ()
    cloud: str = ""
    region: str = ""
    began: str = ""
    #: The command that started the run; None: it is not known.
    typed: t.Optional[TypedCommand] = None

    @property
    def state(self) -> str:
        """The state of the result; where it has none, that of the journal."""
        if self.result.get("state") in (None, "unknown") and self.journal is not None:
            return str(self.journal["state"])
        return str(self.result.get("state") or ("failed" if self.result.get("failed") else "unknown"))

    @property
    def about(self) -> Json:
        """What the operation was begun for."""
        return (self.journal or {}).get("about") or {}

    @property
    def memory(self) -> Json:
        """What its steps have noted."""
        return (self.journal or {}).get("memory") or {}

    @property
    def plan(self) -> t.Optional[Json]:
        """The plan of the journal, else that of check mode."""
        return (self.journal or {}).get("plan") or self.result.get("plan")

    @property
    def is_open(self) -> bool:
        """Whether something is left to resume or to end."""
        return self.journal is not None and self.journal.get("state") not in journals.FINAL


def plan_of(shown: OperationRun) -> t.Optional[Json]:
    """Return the plan, each step with its state, its times and what it said last."""
    if shown.plan is None:
        return None
    return {**shown.plan, "steps": [_step(shown, step) for step in shown.plan.get("steps") or ()]}


def context(shown: OperationRun) -> Context:
    """Return what a page shows of a run besides its report and its plan."""
    ended, servers = _ended(shown), _servers(shown)
    tell = shown.typed.of_remedy if shown.typed is not None and shown.typed.job is not None else str
    return Context(
        title=TITLES.get(shown.playbook, shown.playbook.replace("_", " ").capitalize() or "Operation"),
        subject=_subject(shown),
        cloud=shown.cloud,
        region=shown.region,
        word=ended.word,
        look=ended.look or "",
        headline=_headline(shown, ended, servers),
        meaning=tell(ended.meaning),
        # The other lines of what the run says are findings, which the page has.
        message=tell(str(shown.result.get("msg") or "").partition("\n")[0]),
        facts=_facts(shown),
        next=_remains(shown, servers),
        servers=servers,
        proofs=list(_proofs(shown)),
        events=_events(shown),
        overrides=[*shown.overrides, *findings.overrides_of(shown.about)],
        plan_sha256=str(shown.result.get("plan_sha256") or shown.about.get("plan_sha256") or ""),
        typed=shown.typed,
    )


# --- head -----------------------------------------------------------------------------------------------------


def _subject(shown: OperationRun) -> str:
    known = (shown.journal or {}).get("subject") or (shown.plan or {}).get("subject")
    given = [str(value) for value in shown.variables.values() if value not in (None, "", [])]
    return str(known or " -> ".join(given))


def _ended(shown: OperationRun) -> Ended:
    found = STATES.get(shown.state)
    if found is None:
        return Ended(shown.state, BLOCK if shown.result.get("failed") else WARN, "")
    if found.look is not None:
        return found
    if shown.result.get("failed"):
        return dataclasses.replace(found, look=BLOCK)
    report = shown.report or {}
    # What is finished stays finished, whatever there is to note. What was not decided is no note.
    noted = shown.state in REACHED and report.get("verdict") == WARN and not report.get("unchecked")
    return dataclasses.replace(found, word=f"{found.word}, with a note", look=PASS) if noted else found


def _headline(shown: OperationRun, ended: Ended, servers: t.Sequence[Json]) -> str:
    """Return how the run ended, with how much is left or in the way."""
    word = ended.word[:1].upper() + ended.word[1:]
    if shown.is_open:
        steps, states = (shown.plan or {}).get("steps") or (), _states(shown)
        done = sum(1 for step in steps if states.get(step["name"]) == journals.DONE)
        away = sum(1 for server in servers if server["state"] in (MOVED, DELETED))
        return (
            f"Not finished: {away} of {len(servers)} servers moved"
            if servers
            else f"Not finished: {done} of {len(steps)} steps done"
        )
    worst = damage.facts(shown.report, [*shown.overrides, *findings.overrides_of(shown.about)]) if shown.report else []
    first = damage.fix_first(worst) if ended.look == BLOCK else ""
    return f"{word}: {first[:1].lower()}{first[1:]}" if first else word


def _facts(shown: OperationRun) -> t.List[t.Tuple[str, str]]:
    """What the head says of the operation: which, when, how long, by whom."""
    journal: Json = shown.journal or {}
    begun = str(journal.get("started_at") or shown.began)
    over = journal.get("state") in journals.FINAL
    until = str(journal.get("updated_at") if over else shown.at)
    start, end = moment(begun), moment(until)
    took = duration(max(0, int((end - start).total_seconds()))) if start and end else ""
    rows = [
        ("operation", str(shown.result.get("operation_id") or journal.get("operation_id") or "")),
        ("begun", clock(begun)),
        ("ended" if over else "as of", clock(until)),
        ("duration", took),
        ("last run", journals.run_text(journal["run"]) if journal.get("run") else ""),
        ("journal", f"not read: {shown.unread}" if shown.unread else ""),
        *((str(host), _maintained(row)) for host, row in (shown.result.get("hosts") or {}).items()),
    ]
    return [row for row in rows if row[1]]


def _maintained(row: Json) -> str:
    """How far a host of a series is."""
    moved = "" if row.get("moved") is None else f", {row['moved']} servers moved"
    return f"{row['state']}{moved}" + (f": {row['step']}" if row.get("step") else "")


# --- plan and progress ----------------------------------------------------------------------------------------


def _step(shown: OperationRun, step: Json) -> t.Dict[str, t.Any]:
    state = _states(shown).get(step["name"], journals.PENDING if shown.journal else PLANNED)
    mine = [event for event in _history(shown) if event.get("step") == step["name"]]
    return {
        **step,
        "state": STEP_WORDS.get(state, str(state)),
        "at": str(mine[-1]["at"]) if mine else "",
        "took": _took(mine),
        "text": next((str(event["text"]) for event in reversed(mine) if event.get("text")), ""),
    }


def _states(shown: OperationRun) -> Json:
    return (shown.journal or {}).get("steps") or {}


def _history(shown: OperationRun) -> t.Sequence[Json]:
    return (shown.journal or {}).get("history") or ()


def _took(events: t.Sequence[Json]) -> str:
    """From the last begin of a step to its end."""
    begun = [event for event in events if event.get("step_state") in (journals.APPLYING, journals.UNDOING)]
    if not begun or events[-1].get("step_state") not in (journals.DONE, journals.UNDONE):
        return ""
    start, end = moment(str(begun[-1]["at"])), moment(str(events[-1]["at"]))
    return duration(max(0, int((end - start).total_seconds()))) if start and end else ""


def _events(shown: OperationRun) -> t.List[t.Tuple[str, str]]:
    """The end of the journal's history in words."""
    titles = {str(step["name"]): str(step["title"]) for step in (shown.plan or {}).get("steps") or ()}
    rows = []
    for event in _history(shown)[-EVENTS:]:
        step, state = event.get("step"), event.get("step_state")
        words = [titles.get(str(step), str(step))] if step else []
        words += [STEP_WORDS.get(str(state), str(state))] if state else []
        words += [f"the operation is {event['state']}"] if event.get("state") else []
        words += [str(event["text"])] if event.get("text") else []
        rows.append((str(event.get("at") or ""), ": ".join(words)))
    return rows


# --- proofs ---------------------------------------------------------------------------------------------------


def _proofs(shown: OperationRun) -> t.Iterator[t.Tuple[str, str, str]]:
    """What the operation rests on: the fence, and the machine that it is of. What a step proves, the step says."""
    proof, attested = shown.memory.get("proof"), shown.about.get("attested")
    if isinstance(proof, dict) and proof:
        machine = proof.get("kind") in OF_MACHINE
        covers = "the whole machine" if machine else _addresses(proof.get("clusters") or {}) or "no Ceph cluster"
        read = str(proof.get("read"))
        words = f"{read[:1].upper()}{read[1:]}, through {proof.get('source')}. Covers {covers}."
        yield f"fence proof ({proof.get('kind')})", words, str(proof.get("at"))
    if isinstance(attested, dict):
        words = f"No technical proof. {attested.get('by')} states: {attested.get('reason')}"
        yield "attestation", words, str(attested.get("at"))
    listed = _addresses({fsid: found for fsid, found in (shown.about.get("blocklisted") or {}).items() if found})
    if listed:
        yield "OSD blocklist", listed, ""
    if shown.about.get("machine_id"):
        yield "machine", f"machine-id {shown.about['machine_id']}", ""


def _addresses(clusters: t.Mapping[str, t.Any]) -> str:
    return "; ".join(f"Ceph {fsid}: {in_words({'addresses': found})}" for fsid, found in sorted(clusters.items()))


# --- servers --------------------------------------------------------------------------------------------------

MOVED, TRANSIT, STAYS, DELETED, WRONG = "moved", "in transit", "stays", "deleted", "unexpected"
#: What an evacuation calls the state of a server that it has examined elsewhere.
_EXAMINED = {"gone": DELETED, "wrong": WRONG}


def _servers(shown: OperationRun) -> t.List[t.Dict[str, t.Any]]:
    """Servers that are moved or evacuated: from where, to where, and why one stays."""
    steps = (shown.plan or {}).get("steps") or ()
    listed = [entry for step in steps for entry in (step.get("params") or {}).get("servers") or ()]
    listed = [entry for entry in [*(shown.about.get("servers") or ()), *listed] if isinstance(entry, dict)]
    left, gone = shown.result.get("left") or {}, set(map(str, shown.result.get("gone") or ()))
    noted = [*(shown.memory.get("landed") or ()), *(shown.result.get("arrived") or ())]
    noted = [entry for entry in noted if isinstance(entry, dict)]
    examined = {str(entry.get("uuid")): str(entry.get("state")) for entry in noted}
    to, guarded = _landed(shown, noted), set(map(str, shown.memory.get("guarded") or ()))
    transit = {str(entry.get("uuid")): entry.get("target") for entry in shown.memory.get("in_transit") or ()}
    arrived = {*map(str, shown.memory.get("arrived") or ()), *to}
    rows: t.Dict[str, t.Dict[str, t.Any]] = {}
    for entry in listed:
        uuid = str(entry.get("uuid"))
        stays = left.get(uuid)
        state, words = (PLANNED if shown.journal is None else journals.PENDING), ""
        if uuid in arrived:
            state = _EXAMINED.get(examined.get(uuid, ""), MOVED)
        elif uuid in transit:
            state = TRANSIT
        elif stays is not None:
            state, words = STAYS, str(stays.get("why") if isinstance(stays, dict) else stays)
        elif uuid in gone or entry.get("name") in gone:
            state = DELETED
        rows[uuid] = {
            "uuid": uuid,
            "name": str(entry.get("name") or uuid),
            "from": str(entry.get("host") or shown.about.get("host") or ""),
            "to": str(to.get(uuid) or transit.get(uuid) or ""),
            "state": state,
            "guarded": uuid in guarded,
            "why": words,
        }
    order = [WRONG, STAYS, TRANSIT, journals.PENDING, PLANNED, MOVED, DELETED]
    return sorted(rows.values(), key=lambda row: (order.index(row["state"]), natural(str(row["name"]))))


def _landed(shown: OperationRun, examined: t.Sequence[Json]) -> t.Dict[str, str]:
    """Where servers have arrived, by uuid. ``examined``: those that an evacuation has looked at there."""
    noted = shown.memory.get("move")
    found = dict((noted.get("moved") if isinstance(noted, dict) else None) or {})
    found.update(shown.result.get("moved") or {})
    found.update({str(entry["uuid"]): str(entry.get("host") or "") for entry in examined if entry.get("uuid")})
    return {str(uuid): str(host) for uuid, host in found.items()}


# --- what remains ---------------------------------------------------------------------------------------------

#: Characters that neither a shell nor Ansible's C(-e) looks at.
_PLAIN = re.compile(r"^[A-Za-z0-9_.,:-]+$")
_OTHERS = (
    "run this command, and add all variables that the first run of the operation used and that are missing from this "
    "command"
)


def _how(shown: OperationRun, check: bool = False, **more: t.Any) -> str:
    """Return how people run the command that stands below, or what they launch instead."""
    if shown.typed is None:
        return f"{_OTHERS}:"
    if shown.typed.job is not None:
        return f"{shown.typed.again({f'{shown.prefix}{name}': value for name, value in more.items()}, check)}."
    if shown.typed.launched:
        given = " and ".join(f"{shown.prefix}{name}={value}" for name, value in more.items() if value is not None)
        return f"launch the job template again{f' with {given}' if given else ''}."
    return " ".join(filter(None, ("run this command.", shown.typed.reminder)))


def _remains(shown: OperationRun, servers: t.Sequence[Json]) -> t.List[Next]:
    """What is left to do, and the command that does it."""
    rows = list(_ways(shown))
    stay = [str(server["name"]) for server in servers if server["state"] == STAYS]
    if stay and not shown.is_open:
        named = ", ".join(stay[:NAMED]) + (f" and {len(stay) - NAMED} more" if len(stay) > NAMED else "")
        rows.append(Next(f"{count(len(stay), 'server')} did not move: {named}. The reason for each server is below."))
    guarded = sum(1 for server in servers if server["guarded"])
    if guarded and not shown.is_open:
        rows.append(
            Next(
                f"{count(guarded, 'server')} may still have guard snapshots. An audit lists these guard snapshots "
                "(SG508)."
            )
        )
    if shown.state in REACHED and not shown.check_mode:
        rows += _afterwards(shown)
    return rows


def _ways(shown: OperationRun) -> t.Iterator[Next]:
    """How an operation is begun, resumed or ended."""
    if shown.is_open:
        steps, states = (shown.plan or {}).get("steps") or (), _states(shown)
        left = [step for step in steps if states.get(step["name"]) not in (journals.DONE, journals.UNDONE)]
        named = "; ".join(str(step["title"]) for step in left[:NAMED])
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        said = (
            f"{count(len(left), 'step')} of {len(steps)} not done: {named}{more}."
            if left
            else "All steps are done, and only the journal is still open."
        )
        goes_back = (shown.journal or {}).get("state") in (journals.ROLLING_BACK, journals.ROLLED_BACK)
        if not goes_back:
            yield Next(
                f"{said} To resume the operation, {_how(shown, action='resume')}", _command(shown, action="resume")
            )
        if shown.back:
            begin = (
                f"{said} The rollback has begun. To finish the rollback"
                if goes_back
                else "To end the operation without the remaining steps"
            )
            yield Next(f"{begin}, {_how(shown, action=shown.back)}", _command(shown, action=shown.back))
    elif shown.state == PLANNED:
        value = shown.result.get("plan_sha256")
        yield Next(
            f"To apply exactly this plan, {_how(shown, expect_plan=value)}",
            _command(shown, expect_plan=value) if value else _command(shown),
        )
    elif shown.state in ("refused", "failed", *PUT_BACK):
        first = "Resolve the findings below. To check again" if shown.state not in PUT_BACK else "To try again"
        yield Next(f"{first}, {_how(shown, check=True)}", _command(shown, check=True))
    elif shown.state == "unknown":
        yield Next(
            f"To see the state of the operation, {_how(shown, action='status')}", _command(shown, action="status")
        )


def _afterwards(shown: OperationRun) -> t.Iterator[Next]:
    """What an operator does once an operation is over."""
    audit_it = "ansible-playbook stackguard.nova.audit -i INVENTORY"
    if shown.typed is not None:
        audit_it = shown.typed.other("audit")
    if shown.playbook == "rename_host":
        yield Next(
            "Write the new name into the inventory and the deployment tool before you run Ansible or the deployment "
            "tool on this host again. Then run an audit to verify the rename.",
            audit_it,
        )
    elif shown.playbook == "evacuate_host":
        host = str(shown.about.get("host") or shown.variables.get("evacuate_host") or "")
        command = f"ansible-playbook stackguard.nova.return_host -i INVENTORY --check -e return_host={host}"
        if shown.typed is not None:
            command = shown.typed.other("return_host", {"return_host": host}, check=True)
        yield Next(
            "Do not start nova-compute on the dead host. Before the host returns to service, verify the host with "
            "return_host.",
            command if _PLAIN.match(host) else "",
        )
    elif shown.playbook == "drain_host":
        host = str(shown.variables.get("drain_host") or (shown.about.get("request") or {}).get("drain_host") or "")
        command = f"ansible-playbook stackguard.nova.enable_host -i INVENTORY --check -e enable_host={host}"
        if shown.typed is not None:
            command = shown.typed.other("enable_host", {"enable_host": host}, check=True)
        yield Next(
            "To let the host take servers again after the maintenance, prove and enable it with enable_host.",
            command if _PLAIN.match(host) else "",
        )


#: Variables of one run that no other command has.
_ONCE = {"action": None, "expect_plan": None}


def _command(shown: OperationRun, check: bool = False, **more: t.Any) -> str:
    """Return the command of a playbook; empty where a name in it means something to a shell, or nobody types it."""
    if shown.typed is not None and shown.typed.launched:
        return ""
    if shown.typed is not None:
        return shown.typed.again({f"{shown.prefix}{name}": value for name, value in {**_ONCE, **more}.items()}, check)
    given = {**shown.variables, **{f"{shown.prefix}{name}": value for name, value in more.items()}}
    said = {name: str(value) for name, value in given.items() if value not in (None, "", [])}
    if not shown.playbook or not all(_PLAIN.match(value) for value in said.values()):
        return ""
    variables = "".join(f" -e {name}={value}" for name, value in said.items())
    return f"ansible-playbook stackguard.nova.{shown.playbook} -i INVENTORY{' --check' if check else ''}{variables}"
