# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the page of an operation shows: what remains, the plan and how far it is, proofs, servers, findings. Pure.

It is made of the run's result and the operation's journal, and nothing else. A run that was refused has no journal, and
one in check mode a plan only: the page has what there is.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import OF_MACHINE
from ansible_collections.stackguard.nova.plugins.module_utils.model.times import moment
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count, visible
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit, page_parts
from ansible_collections.stackguard.nova.plugins.module_utils.reports.evidence_words import in_words, natural
from ansible_collections.stackguard.nova.plugins.module_utils.reports.page_parts import FIRST
from ansible_collections.stackguard.nova.plugins.module_utils.reports.scope import duration

Json = t.Mapping[str, t.Any]


#: Steps that a sentence names, and events that the page lists.
NAMED, EVENTS = 5, 200
PLANNED = "planned"
#: What the journal calls the state of a step, and what the page calls it. In the order of the bar.
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
    "migrate_server": "Move of servers",
    "resize_server": "Resize of a server",
    "return_host": "Return of a compute host",
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
            "Requests wait in RabbitMQ that nova-compute must not execute on this host, or the run could not read "
            "RabbitMQ. Keep nova-compute stopped: see the findings below."
        ),
    ),
    "incomplete": Ended("incomplete", BLOCK, "The operation has ended, and some servers did not move."),
    "none": Ended("nothing to do", None, "Nothing was changed."),
    "clear": Ended("nothing to do", None, "Nothing was changed, because no server is on the host."),
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
    version: t.Optional[str] = None
    docs: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

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


@dataclasses.dataclass(frozen=True)
class NamedHost:
    """A host that findings name. The page has no more of it."""

    number: int
    name: str
    anchor: str = ""


class _Hosts:
    """Hosts by the names that findings have for them."""

    def __init__(self) -> None:
        self._known: t.Dict[str, NamedHost] = {}

    def of(self, name: t.Optional[str]) -> NamedHost:
        key = (name or "").casefold()
        return self._known.setdefault(key, NamedHost(len(self._known), visible(name or "no host")))


def page(shown: OperationRun, render: page_parts.Render, style: str, script: str) -> str:
    """Return C(report.html). ``render``: the template's; it must escape what it is given."""
    report = shown.report or {}
    hosts = _Hosts()
    overrides = [*shown.overrides, *_overrides(shown)]
    items = [findings.from_report(item) for item in report.get("findings") or ()]
    groups = page_parts.groups(items, overrides, lambda item, _row: hosts.of(audit.host_of(item)))
    standing = [item for item in items if item.severity != findings.INFO and not findings.overridden(item, overrides)]
    steps = _steps(shown)
    servers = _servers(shown)
    ended, proofs = _ended(shown), _proofs(shown)
    return page_parts.framed(
        render,
        style,
        script,
        title=TITLES.get(shown.playbook, shown.playbook.replace("_", " ").capitalize() or "Operation"),
        subject=_subject(shown),
        cloud=visible(shown.cloud),
        region=visible(shown.region),
        version=shown.version,
        ended=ended,
        look=ended.look or str(report.get("verdict") or PASS),
        message=_message(shown),
        facts=_facts(shown),
        numbers=_numbers(steps, servers),
        counts=report.get("counts"),
        remains=_remains(shown, steps, servers),
        steps=steps,
        notes=[visible(str(note)) for note in (shown.plan or {}).get("notes") or ()],
        bar=page_parts.bar_parts([(word, _in(steps, word)) for word in STEP_WORDS.values()]),
        step_words=", ".join(f"{_in(steps, word)} {word}" for word in STEP_WORDS.values() if _in(steps, word)),
        proofs=proofs,
        fence_proof=any(proof["what"] == FENCE_PROOF for proof in proofs),
        servers={"first": servers[:FIRST], "rest": servers[FIRST:]},
        server_bar=_server_bar(servers),
        cards=page_parts.cards(audit.entries(standing), hosts.of),
        groups=groups,
        docs=page_parts.docs_of(groups, shown.docs),
        coverage=page_parts.coverage(report.get("unchecked") or ()),
        events=_events(shown)[-EVENTS:],
        more_events=max(0, len(_events(shown)) - EVENTS),
    )


def _overrides(shown: OperationRun) -> t.List[findings.Override]:
    """Those that were given when the operation began. What a journal of another layout has is left out."""
    try:
        return findings.parse_overrides(shown.about.get("overrides") or [])
    except findings.OverrideError:
        return []


# --- head -----------------------------------------------------------------------------------------------------


def _subject(shown: OperationRun) -> str:
    known = (shown.journal or {}).get("subject") or (shown.plan or {}).get("subject")
    given = [str(value) for value in shown.variables.values() if value not in (None, "", [])]
    return visible(str(known or " -> ".join(given)))


def _ended(shown: OperationRun) -> Ended:
    found = STATES.get(shown.state)
    if found is None:
        return Ended(visible(shown.state), BLOCK if shown.result.get("failed") else WARN, "")
    failed = shown.result.get("failed") and found.look is None
    return dataclasses.replace(found, look=BLOCK) if failed else found


def _message(shown: OperationRun) -> str:
    """The first line of what the run says. The others are findings, which the page has."""
    return visible(str(shown.result.get("msg") or "").partition("\n")[0])


def _facts(shown: OperationRun) -> t.List[t.Dict[str, str]]:
    """What the head says of the operation: which, when, how long, by whom."""
    journal: Json = shown.journal or {}
    begun = str(journal.get("started_at") or shown.began)
    over = journal.get("state") in journals.FINAL
    until = str(journal.get("updated_at") if over else shown.at)
    start, end = moment(begun), moment(until)
    took = duration(max(0, int((end - start).total_seconds()))) if start and end else ""
    rows = [
        ("operation", str(shown.result.get("operation_id") or journal.get("operation_id") or "")),
        ("begun", begun),
        ("ended" if over else "as of", until),
        ("duration", took),
        ("last run", journals.run_text(journal["run"]) if journal.get("run") else ""),
        ("plan_sha256", str(shown.result.get("plan_sha256") or shown.about.get("plan_sha256") or "")),
        ("journal", f"not read: {shown.unread}" if shown.unread else ""),
    ]
    return [{"what": what, "text": visible(text)} for what, text in rows if text]


def _numbers(steps: t.Sequence[Json], servers: t.Sequence[Json]) -> t.List[t.Tuple[str, str]]:
    done = sum(1 for step in steps if step["state"] == STEP_WORDS[journals.DONE])
    found = [(f"{done} of {len(steps)}", "steps done")] if steps else []
    if servers:
        away = sum(1 for server in servers if server["state"] in GONE)
        found.append((f"{away} of {len(servers)}", "servers off the host"))
    return found


# --- plan and progress ----------------------------------------------------------------------------------------


def _steps(shown: OperationRun) -> t.List[t.Dict[str, t.Any]]:
    """The steps of the plan, each with its state, its times and what it said last."""
    states = (shown.journal or {}).get("steps") or {}
    default = journals.PENDING if shown.journal else PLANNED
    rows = []
    for number, step in enumerate((shown.plan or {}).get("steps") or (), 1):
        mine = [event for event in _history(shown) if event.get("step") == step["name"]]
        texts = [str(event["text"]) for event in mine if event.get("text")]
        changes = list(step.get("changes") or ())
        rows.append(
            {
                "number": number,
                "name": str(step["name"]),
                "title": visible(str(step["title"])),
                "where": visible(str(step["where"])),
                "state": STEP_WORDS.get(states.get(step["name"], default), visible(str(states.get(step["name"])))),
                "at": visible(str(mine[-1]["at"])) if mine else "",
                "took": _took(mine),
                "text": visible(texts[-1]) if texts else "",
                "changes": [{key: visible(str(change.get(key))) for key in _CHANGE} for change in changes[:FIRST]],
                "more": max(0, len(changes) - FIRST),
                "number_of_changes": len(changes),
            }
        )
    return rows


_CHANGE = ("where", "what", "before", "after")


def _history(shown: OperationRun) -> t.Sequence[Json]:
    return (shown.journal or {}).get("history") or ()


def _took(events: t.Sequence[Json]) -> str:
    """From the last begin of a step to its end."""
    begun = [event for event in events if event.get("step_state") in (journals.APPLYING, journals.UNDOING)]
    if not begun or events[-1].get("step_state") not in (journals.DONE, journals.UNDONE):
        return ""
    start, end = moment(str(begun[-1]["at"])), moment(str(events[-1]["at"]))
    return duration(max(0, int((end - start).total_seconds()))) if start and end else ""


def _in(rows: t.Sequence[Json], state: str) -> int:
    return sum(1 for row in rows if row["state"] == state)


def _events(shown: OperationRun) -> t.List[t.Dict[str, str]]:
    """The journal's history in words."""
    titles = {str(step["name"]): str(step["title"]) for step in (shown.plan or {}).get("steps") or ()}
    rows = []
    for event in _history(shown):
        step, state = event.get("step"), event.get("step_state")
        words = [titles.get(str(step), str(step))] if step else []
        words += [STEP_WORDS.get(str(state), str(state))] if state else []
        words += [f"the operation is {event['state']}"] if event.get("state") else []
        words += [str(event["text"])] if event.get("text") else []
        rows.append({"at": visible(str(event.get("at") or "")), "words": visible(": ".join(words))})
    return rows


# --- proofs ---------------------------------------------------------------------------------------------------

#: By action: what its step has proven once it is done. What it said itself comes after it.
PROVES: t.Mapping[str, t.Tuple[str, str]] = {
    "service_status": (
        "operation lock",
        ("The run set the status and the disabled reason of the compute service as planned."),
    ),
    "lock_guests": ("guests locked", "Nova refuses requests of the guests' owners while the run renames the host."),
    "settle": ("no task in flight", "The run waited until all tasks of the host's guests had ended."),
    "drain_queues": ("no request waiting", "RabbitMQ had no request for the old name."),
    "stop_units": ("service stopped", "The run verified that the units are stopped and masked."),
    "cell_rows": (
        "cell database",
        "Each database row had the expected old value before the run changed the row, and the new value afterwards.",
    ),
    "api_rows": (
        "API database",
        "Each database row had the expected old value before the run changed the row, and the new value afterwards.",
    ),
    "providers": ("placement", "Each resource provider was read back under its new name."),
    "neutron": ("neutron", "The network agents and ports were read back under the new name."),
    "ovn_ports_by_chassis": (
        "OVN ports",
        "Each port of the host requested the chassis by its system-id, and stayed bound to the chassis.",
    ),
    "ovn_hostname": ("OVN chassis", "The run read the chassis again, and the chassis had the new hostname."),
    "neutron_bindings": ("neutron database", "The rows of port bindings and segments have the new name."),
    "ovn_ports_by_host": (
        "OVN ports",
        "No port of the host contains the old hostname in requested-chassis or external_ids.",
    ),
    "ovn_verified": (
        "OVN",
        "OVN has the same chassis and port bindings as before the rename. ovn-controller processes changes in OVN.",
    ),
    "ovn_chassis": (
        "OVN chassis",
        "When the run read OVN, the chassis had the new hostname, and no port requested the old hostname.",
    ),
    "host_names": ("canonical name", "The host's names and files were read back, and libvirt reports the new name."),
    "guests": ("guests unharmed", "The QEMU process, uuid and definition of each guest match the plan."),
    "compute_up": (
        "service up",
        "nova-compute started under the new name. The compute service has the same id as before the rename.",
    ),
    "agents_alive": ("network agents", "Neutron reports that the agents with the new name are alive."),
    "no_evacuation": ("no evacuation", "No guest of the host was evacuated during the operation."),
    "lost_requests": (
        "no request lost",
        (
            "The run found the requests that arrived after the plan was made, and waited for them to end. A request "
            "that did not end is listed below as a finding."
        ),
    ),
    "audit": ("old name gone", "Each place that stores a host name was read again."),
    "fence": ("fence", "The host was fenced, and the run verified the state of the fence."),
    "hold_down": ("service held down", "This operation has forced down and disabled the compute service."),
    "guard": ("guard snapshots", "The run verified that each image has the expected id and a guard snapshot."),
    "unguard": ("guards removed", "No image has a guard snapshot of this operation."),
    "settle_requests": (
        "waiting requests",
        "The run read the requests that wait in RabbitMQ for the host, and removed those for servers of other hosts.",
    ),
    "end_domains": ("domains ended", "These domains no longer exist in libvirt or in the process table of the host."),
    "unblock": (
        "blocklist",
        ("The run removed the blocklist entries of the host from each Ceph cluster."),
    ),
    "release": (
        "service released",
        ("The run read the compute service again, and the service has the status that the plan specifies."),
    ),
    "hold": ("host held", "The compute service is disabled with the reason of this operation."),
    "leave": ("host released", "The compute service has the status that the plan specifies."),
}


FENCE_PROOF = "fence proof"


def _proofs(shown: OperationRun) -> t.List[t.Dict[str, str]]:
    """What was read back, by whom and when. Of a step that is not done there is no proof."""
    rows = list(_fence_proofs(shown))
    states = (shown.journal or {}).get("steps") or {}
    for step in (shown.plan or {}).get("steps") or ():
        known = PROVES.get(str(step.get("action")))
        if known is None or states.get(step["name"]) != journals.DONE or (step["action"] == "fence" and rows):
            continue
        mine = [event for event in _history(shown) if event.get("step") == step["name"]]
        said = next((str(event["text"]) for event in reversed(mine) if event.get("text")), "")
        name = (
            ((step.get("params") or {}).get("libvirt") or {}).get("after") if step["action"] == "host_names" else None
        )
        words = f"{known[1]} {f'Its name is {name}. ' if name else ''}{said}".strip()
        rows.append(_proof(known[0], words, str(mine[-1]["at"]) if mine else ""))
    rows += [
        _proof(
            "override", f"{entry.code} of {entry.object}: {entry.reason}", str((shown.journal or {}).get("started_at"))
        )
        for entry in _overrides(shown)
    ]
    return rows


def _fence_proofs(shown: OperationRun) -> t.Iterator[t.Dict[str, str]]:
    proof, attested = shown.memory.get("proof"), shown.about.get("attested")
    if isinstance(proof, dict) and proof:
        clusters = proof.get("clusters") or {}
        covers = "; ".join(f"Ceph {fsid}: {in_words({'addresses': found})}" for fsid, found in sorted(clusters.items()))
        words = (
            f"Fence {proof.get('kind')} of host {proof.get('host')}. The run read the state of the fence: "
            f"{proof.get('read')}. The task that read this state ran on the inventory host {proof.get('source')}. "
        )
        machine = proof.get("kind") in OF_MACHINE
        nothing = "no Ceph cluster"
        words += f"The proof covers {'the whole machine' if machine else covers or nothing}."
        yield _proof(FENCE_PROOF, words, str(proof.get("at")))
    if isinstance(attested, dict):
        words = f"There is no technical proof, but {attested.get('by')} states: {attested.get('reason')}"
        yield _proof("attestation", words, str(attested.get("at")))
    listed = {fsid: found for fsid, found in (shown.about.get("blocklisted") or {}).items() if found}
    if listed:
        words = "; ".join(f"Ceph {fsid}: {in_words({'addresses': found})}" for fsid, found in sorted(listed.items()))
        yield _proof("OSD blocklist", f"This operation uses these entries of the OSD blocklist: {words}", "")
    if shown.about.get("machine_id"):
        yield _proof(
            "machine", (f"The operation belongs to the machine with the machine-id {shown.about['machine_id']}."), ""
        )


def _proof(what: str, words: str, at: str) -> t.Dict[str, str]:
    return {"what": what, "words": visible(words), "at": visible(at)}


# --- servers --------------------------------------------------------------------------------------------------

MOVED, TRANSIT, STAYS, DELETED, WRONG = "moved", "in transit", "stays", "deleted", "unexpected"
#: What an evacuation calls the state of a server that it has examined elsewhere.
_EXAMINED = {"gone": DELETED, "wrong": WRONG}
GONE = (MOVED, DELETED)


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
            "uuid": visible(uuid),
            "name": visible(str(entry.get("name") or uuid)),
            "from": visible(str(entry.get("host") or shown.about.get("host") or "")),
            "to": visible(str(to.get(uuid) or transit.get(uuid) or "")),
            "state": state,
            "guarded": uuid in guarded,
            "words": visible(words),
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


def _server_bar(servers: t.Sequence[Json]) -> t.List[t.Dict[str, t.Any]]:
    return page_parts.bar_parts(
        [(state, _in(servers, state)) for state in (MOVED, DELETED, TRANSIT, WRONG, STAYS, journals.PENDING, PLANNED)]
    )


# --- what remains ---------------------------------------------------------------------------------------------

#: Characters that neither a shell nor Ansible's C(-e) looks at.
_PLAIN = re.compile(r"^[A-Za-z0-9_.,:-]+$")
_OTHERS = (
    "run this command, and add all variables that the first run of the operation used and that are missing from this "
    "command"
)


def _remains(shown: OperationRun, steps: t.Sequence[Json], servers: t.Sequence[Json]) -> t.List[t.Dict[str, t.Any]]:
    """What is left to do, and the command that does it."""
    rows = list(_ways(shown, steps))
    stay = [str(server["name"]) for server in servers if server["state"] == STAYS]
    if stay and not shown.is_open:
        named = ", ".join(stay[:NAMED]) + (f" and {len(stay) - NAMED} more" if len(stay) > NAMED else "")
        rows.append(_row(f"{count(len(stay), 'server')} did not move: {named}. The reason for each server is below."))
    guarded = sum(1 for server in servers if server["guarded"])
    if guarded and not shown.is_open:
        rows.append(
            _row(
                f"{count(guarded, 'server')} may still have guard snapshots. An audit lists these guard snapshots "
                "(SG508)."
            )
        )
    if shown.state in REACHED and not shown.check_mode:
        rows += _afterwards(shown)
    return rows


def _ways(shown: OperationRun, steps: t.Sequence[Json]) -> t.Iterator[t.Dict[str, t.Any]]:
    """How an operation is begun, resumed or ended."""
    if shown.is_open:
        left = [step for step in steps if step["state"] not in (STEP_WORDS[journals.DONE], STEP_WORDS[journals.UNDONE])]
        named = "; ".join(str(step["title"]) for step in left[:NAMED])
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        said = (
            f"{count(len(left), 'step')} of {len(steps)} not done: {named}{more}."
            if left
            else "All steps are done, and only the journal is still open."
        )
        goes_back = (shown.journal or {}).get("state") in (journals.ROLLING_BACK, journals.ROLLED_BACK)
        if not goes_back:
            yield _row(f"{said} To resume the operation, {_OTHERS}:", _command(shown, action="resume"))
        if shown.back:
            begin = (
                f"{said} The rollback has begun. To finish the rollback"
                if goes_back
                else "To end the operation without the remaining steps"
            )
            yield _row(f"{begin}, {_OTHERS}:", _command(shown, action=shown.back))
    elif shown.state == PLANNED:
        value = shown.result.get("plan_sha256")
        yield _row(
            f"To apply exactly this plan, {_OTHERS}:",
            _command(shown, expect_plan=value) if value else _command(shown),
        )
    elif shown.state in ("refused", "failed", *PUT_BACK):
        first = "Resolve the findings below. To check again" if shown.state not in PUT_BACK else "To try again"
        yield _row(f"{first}, {_OTHERS}:", _command(shown, check=True))
    elif shown.state == "unknown":
        yield _row(f"To see the state of the operation, {_OTHERS}:", _command(shown, action="status"))


def _afterwards(shown: OperationRun) -> t.Iterator[t.Dict[str, t.Any]]:
    """What an operator does once an operation is over."""
    audit_it = "ansible-playbook stackguard.nova.audit -i INVENTORY"
    if shown.playbook == "rename_host":
        yield _row(
            "Write the new name into the inventory and the deployment tool before you run Ansible or the deployment "
            "tool on this host again. Then run an audit to verify the rename.",
            audit_it,
        )
    elif shown.playbook == "evacuate_host":
        host = str(shown.about.get("host") or shown.variables.get("evacuate_host") or "")
        command = f"ansible-playbook stackguard.nova.return_host -i INVENTORY --check -e return_host={host}"
        yield _row(
            "Do not start nova-compute on the dead host. Before the host returns to service, verify the host with "
            "return_host.",
            command if _PLAIN.match(host) else "",
        )
    elif shown.playbook == "drain_host":
        host = str(shown.variables.get("drain_host") or (shown.about.get("request") or {}).get("drain_host") or "")
        yield _row(
            "To let the host take servers again after the maintenance, enable its compute service.",
            f"openstack compute service set --enable {host} nova-compute" if _PLAIN.match(host) else "",
        )


def _row(words: str, command: str = "") -> t.Dict[str, t.Any]:
    return {"words": visible(words), "command": command}


def _command(shown: OperationRun, check: bool = False, **more: t.Any) -> str:
    """Return the command of a playbook. Empty where a name in it would mean something to a shell."""
    given = {**shown.variables, **{f"{shown.prefix}{name}": value for name, value in more.items()}}
    said = {name: str(value) for name, value in given.items() if value not in (None, "", [])}
    if not shown.playbook or not all(_PLAIN.match(value) for value in said.values()):
        return ""
    variables = "".join(f" -e {name}={value}" for name, value in said.items())
    return f"ansible-playbook stackguard.nova.{shown.playbook} -i INVENTORY{' --check' if check else ''}{variables}"
