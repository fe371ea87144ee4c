# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one HTML page: a C(report.json), a C(plan.json), and a few words about the run that left them. Pure.

An audit and every operation use it. It judges nothing, and so loads no check. All text is given to a template that
escapes it and shows what is no printable character. Nothing here is markup, and nothing is measured in the browser:
without scripts, the page has everything.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import hashlib
import json
import re
import typing as t

from ..model.commands import MASK, Commands
from ..model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    SEVERITIES,
    WARNING,
    Finding,
    Override,
    from_report,
    ordered,
    overridden,
    overrides_of,
)
from ..model.wording import count
from . import damage
from .evidence_words import (
    clock,
    duration,
    host_of,
    in_words,
    label,
    natural,
    page_of,
)
from .typed_command import TypedCommand

Json = t.Mapping[str, t.Any]
Row = t.Dict[str, t.Any]
Render = t.Callable[..., str]

#: What is wrong, in the head.
WORST = 3
#: Rows of a table before "more"; cards before "more"; names that a sentence or a card has room for.
FIRST, CARDS, NAMED = 50, 12, 5
#: Rows of all codes together before "more": a browser makes elements of each. A code has at least so many.
ROWS, LEAST = 400, 5
#: Findings that a host names while it is closed, and changes that the page lists.
LISTED, CHANGED = 20, 100
#: In the order of what has to be looked at first.
RANKS = (BLOCKER, WARNING, INFO, "passed", "none")
NO_HOST, STRANGER = "no host", "not in the inventory"
#: What a start of nova-compute does, worst first, and how many hosts are told of it.
OUTCOMES: t.Mapping[str, str] = {
    "destroys": "nova-compute would destroy {guests} on {hosts}",
    "refuses": "nova-compute would refuse to start on {hosts}",
    "unknown": "the audit could not forecast what nova-compute would do on {hosts}",
    "may refuse": "nova-compute would destroy no guest on {hosts}, and the audit could not forecast whether it starts",
    "changes guests": "nova-compute would start on {hosts} and change guests",
    "starts": "nova-compute would start on {hosts} and change no guest",
}
#: Commands of one remedy: they differ by the host.
COMMANDS = 5
KEEP_STOPPED = (
    "Do not start or restart nova-compute on this host before you have completed the steps below. Prevent others from "
    "starting nova-compute: systemctl mask nova-compute (the unit may have another name)."
)
AGAIN = "Run the audit again. The new report shows the remedies that this report does not show yet."


@dataclasses.dataclass(frozen=True)
class Next:
    """What a person does next, with a command; empty: there is none that can be copied."""

    words: str
    command: str = ""


@dataclasses.dataclass(frozen=True)
class Context:
    """What a page shows that neither report nor plan has. ``docs``: the pages of codes."""

    title: str
    subject: str = ""
    cloud: str = ""
    region: str = ""
    version: t.Optional[str] = None
    docs: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: What the run came to, as one word, as one of pass, warn and block, and what it means. The first two: empty where
    #: it is the report's verdict.
    word: str = ""
    look: str = ""
    #: The same in some words; empty: of the report.
    headline: str = ""
    meaning: str = ""
    message: str = ""
    facts: t.Sequence[t.Tuple[str, str]] = ()
    #: What the run has done, and what is left to do; None: it is no operation.
    next: t.Optional[t.Sequence[Next]] = None
    #: Each with C(uuid), C(name), C(from), C(to), C(state), C(why) and C(guarded).
    servers: t.Sequence[Json] = ()
    #: What was read back before the run acted, and of what time: (what, words, at).
    proofs: t.Sequence[t.Tuple[str, str, str]] = ()
    events: t.Sequence[t.Tuple[str, str]] = ()
    #: Overrides that the report does not have: of the run that began the operation.
    overrides: t.Sequence[Override] = ()
    #: C(changes.json) of an audit.
    changes: t.Optional[Json] = None
    #: The checksum of an operation's plan.
    plan_sha256: str = ""
    #: The command that started the run: the commands of remedies are made of it. None: it is not known.
    typed: t.Optional[TypedCommand] = None


def page(
    report: t.Optional[Json], plan: t.Optional[Json], context: Context, render: Render, style: str, script: str
) -> str:
    """Return C(report.html).

    ``plan``: the C(plan) of C(plan.json), of which a step may have a C(state), C(at), C(took) and C(text).
    ``render``: the template's; it must escape what it is given.
    """
    told: Json = report or {}
    fleet = Fleet(told)
    items = [from_report(item) for item in told.get("findings") or ()]
    overrides = list(dict.fromkeys([*overrides_of(told), *context.overrides]))
    groups = _groups(items, overrides, fleet, _new(context.changes))
    remedies = ways(told)
    for way in remedies:
        if way["names"]:
            fleet.first(way["names"]).way = way
    hosts = [host for host in fleet.listed() if host.name != NO_HOST]
    worst = damage.facts(told, context.overrides)
    urgent: t.List[Finding] = []
    later: t.List[Finding] = []
    for item in to_settle(told, context.overrides):
        now = fleet.known and item.severity == BLOCKER and damage.time_of(item.code) == damage.NOW
        (urgent if now else later).append(item)
    about: Json = told.get("scope") or {}
    steps = _steps(plan)
    return render(
        style=style,
        script=script,
        style_hash=digest(style),
        script_hash=digest(script),
        plural=count,
        catalogue=CATALOGUE,
        ranks=RANKS,
        outcomes=tuple(OUTCOMES),
        context=context,
        cloud=context.cloud or about.get("cloud") or "",
        region=context.region or about.get("region") or "",
        report=report,
        # What nothing is known of is never green.
        look=context.look or told.get("verdict") or ("pass" if context.word else "warn"),
        word=context.word or told.get("verdict") or "",
        headline=context.headline or _headline(told, worst) or context.word,
        worst=worst[:WORST],
        more_worst=len(worst) - WORST,
        clock=clock,
        time_of=damage.time_of,
        mend=context.typed.of_remedy if context.typed else str,
        took=None if about.get("seconds") is None else duration(about["seconds"]),
        parts=about.get("parts") or (),
        changes=_changes(context.changes),
        numbers=_numbers(steps, context.servers),
        fleet=_zones(hosts) if fleet.known else None,
        hosts=hosts,
        starts=_starts(hosts),
        room=_room(told.get("fleet") or ()),
        orders=orders(remedies, fleet),
        urgent=cards(urgent, fleet),
        cards=cards(later, fleet),
        first_cards=CARDS,
        keep_stopped=KEEP_STOPPED,
        mask=MASK[0],
        again=AGAIN,
        steps=steps,
        step_words=_step_words(steps),
        notes=(plan or {}).get("notes") or (),
        servers={"first": context.servers[:FIRST], "rest": context.servers[FIRST:]},
        groups=groups,
        overrides=overrides,
        docs={group["code"]: page_of(context.docs[group["code"]]) for group in groups if group["code"] in context.docs},
        gaps=gaps(told.get("unchecked") or ()),
        listed=LISTED,
    )


def _headline(report: Json, worst: t.Sequence[damage.Fact]) -> str:
    """Return what a report comes to, in words; empty: there is none."""
    verdict = report.get("verdict")
    if verdict == "block":
        return damage.fix_first(worst) or "Not everything was read"
    if verdict == "warn":
        return "Nothing blocks. Read the notes"
    return "Nothing found" if verdict == "pass" else ""


def digest(text: str) -> str:
    """Return what a content security policy knows an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def anchor(kind: str, name: str) -> str:
    """Return an id for a link: the name where it is plain, else what is plain of it with a digest."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80]
    if plain == name:
        return f"{kind}-{name}"
    return f"{kind}-{plain.strip('-')}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


# --- hosts ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class PageHost:
    """A host that the report names. ``number``: what everything about it is marked with."""

    number: int
    name: str
    zone: str
    #: Where the page has more of it; empty: nowhere.
    anchor: str
    #: Its entry in the report's C(fleet); empty: only findings name it.
    entry: Json
    unread: bool = False
    findings: t.List[Row] = dataclasses.field(default_factory=list)
    way: t.Optional[Row] = None

    @property
    def worst(self) -> str:
        """The worst of its findings; one that an override passes is C(passed)."""
        return min((str(item["level"]) for item in self.findings), key=RANKS.index, default="none")

    @property
    def counts(self) -> t.Dict[str, int]:
        """Findings by level."""
        return dict(collections.Counter(str(item["level"]) for item in self.findings))

    @property
    def start(self) -> Json:
        """What a start of nova-compute would do."""
        return self.entry.get("start") or {}

    @property
    def outcome(self) -> str:
        """The same as one of OUTCOMES."""
        outcome = str(self.start.get("outcome") or "unknown")
        return "may refuse" if outcome == "unknown" and self.start.get("destroys_known") else outcome

    @property
    def used(self) -> t.Optional[int]:
        """Memory in use, in percent; None: not read."""
        memory = self.entry.get("memory") or {}
        total, available = memory.get("total_mib"), memory.get("available_mib")
        return round(100 * (total - available) / total) if total and available is not None else None

    @property
    def room(self) -> str:
        """What an evacuation of the host would need, and what there is; empty: not read."""
        return room_words(self.zone, self.entry.get("memory") or {})


class Fleet:
    """The hosts of a report by all their names: those of its C(fleet), and those that only findings name."""

    def __init__(self, report: Json) -> None:
        self._by_name: t.Dict[str, PageHost] = {}
        self._hosts: t.List[PageHost] = []
        self.known = "fleet" in report
        for entry in report.get("fleet") or ():
            host = self._new(str(entry["name"]), str(entry["zone"]), entry["names"], entry)
            host.unread = not entry["read"]

    def _new(self, name: str, zone: str, names: t.Sequence[str], entry: Json) -> PageHost:
        place = anchor("host", name) if self.known and name != NO_HOST else ""
        host = PageHost(len(self._hosts), name, zone, place, entry)
        self._hosts.append(host)
        for one in (name, *names):
            self._by_name.setdefault(one.casefold(), host)
        return host

    def of(self, name: t.Optional[str]) -> PageHost:
        """Return the host of a name; None: all that is of no host."""
        key = NO_HOST if name is None else name
        known = self._by_name.get(key.casefold())
        return known or self._new(key, STRANGER if name is not None else NO_HOST, (key,), {})

    def first(self, names: t.Sequence[str]) -> PageHost:
        """Return the host that is known by any of these names."""
        known = [name for name in names if name.casefold() in self._by_name]
        return self.of(next(iter([*known, *names]), None))

    def add(self, item: Finding, row: Row) -> PageHost:
        """Note a finding at its host."""
        name = host_of(item)
        if item.object.kind == "host" and name is not None and name.casefold() not in self._by_name:
            # SG114 names a part of a host: compute1:memory.
            name = name.partition(":")[0]
        host = self.of(name)
        host.findings.append(row)
        host.unread = host.unread or item.code == "SG114"
        return host

    def listed(self) -> t.List[PageHost]:
        """Return all hosts, worst first, each at its place."""
        outcomes = list(OUTCOMES)
        ranked = sorted(self._hosts, key=lambda host: natural(host.name))
        return sorted(ranked, key=lambda host: (RANKS.index(host.worst), outcomes.index(host.outcome)))


def _zones(hosts: t.Sequence[PageHost]) -> t.List[Row]:
    """Squares, zone by zone, each zone in natural order."""
    zones: t.Dict[str, t.List[PageHost]] = {}
    for host in sorted(hosts, key=lambda host: (not host.entry, natural(host.zone), natural(host.name))):
        if host.name != NO_HOST:
            zones.setdefault(host.zone, []).append(host)
    return [{"name": name, "hosts": members} for name, members in zones.items()]


def _starts(hosts: t.Sequence[PageHost]) -> str:
    """What a start of nova-compute would do, worst first."""
    found = collections.Counter(host.outcome for host in hosts if host.entry)
    lost = count(sum(int(host.start.get("destroys") or 0) for host in hosts), "guest")
    return ", ".join(
        text.format(hosts=count(found[name], "host"), guests=lost) for name, text in OUTCOMES.items() if found[name]
    )


# --- room -----------------------------------------------------------------------------------------------------


def amount(mib: int) -> str:
    """Return an amount of memory for people."""
    if mib < 1024:
        return f"{mib} MiB"
    return f"{mib / 1024:.0f} GiB" if mib >= 10240 else f"{mib / 1024:.1f} GiB"


def room_words(zone: str, memory: Json) -> str:
    """Return what an evacuation of one host would need, and what there is; empty: not read."""
    if memory.get("total_mib") is None or memory.get("needed_mib") is None:
        return ""
    verdict = (
        f"but no room for {count(memory['unplaced_guests'], 'guest')} with {amount(memory['unplaced_mib'])} of memory"
        if memory["unplaced_guests"]
        else "and all these guests fit into this memory"
    )
    unknown = (
        f"; {count(memory['unread_hosts'], 'host')} of this zone could not be read" if memory["unread_hosts"] else ""
    )
    return (
        f"{amount(memory['available_mib'] or 0)} of {amount(memory['total_mib'])} available. An evacuation would move "
        f"{count(memory['guests'] or 0, 'running guest')} with {amount(memory['needed_mib'])} of memory. The other "
        f"hosts of {zone} have {amount(memory['others_free_mib'])} free, {verdict}{unknown}."
    )


def _room(fleet: t.Iterable[Json]) -> t.List[str]:
    """Each zone in one sentence: the hosts that it would not survive the loss of, and those that are not known."""
    zones: t.Dict[str, t.List[Json]] = {}
    for entry in fleet:
        zones.setdefault(str(entry["zone"]), []).append(entry)
    return [zone_words(name, zones[name]) for name in sorted(zones, key=natural)]


def zone_words(zone: str, hosts: t.Sequence[Json]) -> str:
    """Return one sentence: which losses a zone survives."""
    unread = sum(1 for entry in hosts if entry["memory"]["unplaced_guests"] is None)
    short = sorted(
        (entry for entry in hosts if entry["memory"]["unplaced_guests"]),
        key=lambda entry: (-entry["memory"]["unplaced_mib"], natural(entry["name"])),
    )
    if unread == len(hosts):
        return f"{zone}: the capacity is not known, because no host of the zone was read"
    unknown = (
        f". The run did not read {count(unread, 'host')}, so the effect of their loss is not known" if unread else ""
    )
    if not short:
        return f"{zone}: the guests of any one host fit into the free memory of the other hosts{unknown}"
    named = ", ".join(f"{entry['name']} ({amount(entry['memory']['unplaced_mib'])})" for entry in short[:NAMED])
    more = f" and {count(len(short) - NAMED, 'more host')}" if len(short) > NAMED else ""
    return (
        f"{zone}: if one of these hosts is lost, guests of this memory do not fit into the free memory of the other "
        f"hosts: {named}{more}{unknown}"
    )


# --- findings -------------------------------------------------------------------------------------------------


def _key(item: Json) -> t.Tuple[str, ...]:
    there = item["object"]
    return (str(item["code"]), str(item["severity"]), str(there["kind"]), str(there["id"]), str(there.get("host")))


def _new(changes: t.Optional[Json]) -> t.Set[t.Tuple[str, ...]]:
    return {_key(item) for item in (changes or {}).get("new") or ()}


def _groups(
    items: t.Iterable[Finding], overrides: t.Sequence[Override], fleet: Fleet, new: t.Collection[t.Tuple[str, ...]]
) -> t.List[Row]:
    """Findings by code, what blocks first. A remedy that all of a code share is shown once."""
    by_code: t.Dict[str, t.List[Row]] = {}
    seen: t.Set[str] = set()
    for item in ordered(items):
        row: Row = {
            "id": _unique(anchor(item.code, item.object.id), item, seen),
            "code": item.code,
            "slug": item.slug,
            "severity": item.severity,
            "level": "passed" if overridden(item, overrides) else item.severity,
            "new": _key(dataclasses.asdict(item)) in new if new else False,
            "kind": item.object.kind.replace("_", " "),
            "object": item.object.id,
            "name": label(item.object),
            "words": in_words(item.evidence),
            "json": json.dumps(item.evidence, indent=1, sort_keys=True, default=str, ensure_ascii=False),
            "remedy": item.remedy,
        }
        row["host"] = fleet.add(item, row)
        by_code.setdefault(item.code, []).append(row)
    result = []
    for code, rows in by_code.items():
        rows.sort(key=lambda row: (RANKS.index(row["level"]), natural(row["host"].name), natural(row["name"])))
        shared = {row["remedy"] for row in rows}
        result.append(
            {
                "code": code,
                "entry": CATALOGUE[code],
                "rows": rows,
                "number": len(rows),
                "new": sum(row["new"] for row in rows),
                "worst": rows[0]["level"],
                "remedy": shared.pop() if len(shared) == 1 else None,
            }
        )
    result.sort(key=lambda group: (RANKS.index(str(group["worst"])), str(group["code"])))
    left = ROWS
    for group in result:
        rows = t.cast("t.List[Row]", group.pop("rows"))
        number = min(FIRST, max(LEAST, left))
        group.update(first=rows[:number], rest=rows[number:])
        left -= min(number, len(rows))
    return result


def _unique(wanted: str, item: Finding, seen: t.Set[str]) -> str:
    """Return an id that no other finding has, the same one in each report as long as this finding stands."""
    name = wanted
    if name in seen:
        name = f"{wanted}-{hashlib.sha256(repr((item.object, item.severity)).encode()).hexdigest()[:6]}"
    number = 1
    while name in seen:
        number += 1
        name = f"{wanted}-{number}"
    seen.add(name)
    return name


def gaps(unchecked: t.Iterable[Json]) -> t.List[Row]:
    """Return what could not be decided, by reason: one database that is down is one entry."""
    reasons: t.Dict[str, t.List[Json]] = {}
    for item in unchecked:
        reasons.setdefault(str(item["reason"]), []).append(item)
    result = []
    for reason, items in reasons.items():
        objects = sorted({str(item["object"]) for item in items}, key=natural)
        result.append(
            {
                "reason": reason or "no reason was noted",
                "codes": sorted({str(item["code"]) for item in items}),
                "objects": objects[:FIRST],
                "more": max(0, len(objects) - FIRST),
                "whole": objects == ["all"],
            }
        )
    return sorted(result, key=lambda entry: (-len(t.cast("t.List[str]", entry["codes"])), str(entry["reason"])))


def _changes(found: t.Optional[Json]) -> t.Optional[Row]:
    """What is new since the last audit, and what is no longer there, each named up to a limit."""
    if found is None:
        return None
    gone = [*found["gone"], *found["not_seen"]]
    order = sorted(gone, key=lambda row: (SEVERITIES.index(row["severity"]), row["code"], natural(_name(row))))
    return {
        **found,
        "because": "; ".join(found["because"]),
        "new": len(found["new"]),
        "gone": [{**row, "name": _name(row)} for row in order[:CHANGED]],
        "gone_number": len(gone),
    }


def _name(item: Json) -> str:
    return str(item["object"].get("name") or item["object"]["id"])


# --- what to do -----------------------------------------------------------------------------------------------


def ways(report: Json) -> t.List[Row]:
    """Return what to do host by host, in order, and what not yet: C(remedies) of an audit's report, for people."""
    items = list(map(from_report, report.get("findings") or ()))
    found = {(item.code, item.object.kind, item.object.id): item for item in items}
    return [
        {
            "names": entry["names"],
            "keep_stopped": bool(entry["keep_stopped"]),
            "steps": [_entry(step, found) for step in entry["steps"]],
            "put_off": [{**_entry(step, found), "when": _when(step)} for step in entry["put_off"]],
        }
        for entry in report.get("remedies") or ()
    ]


def _entry(step: Json, found: t.Mapping[t.Any, Finding]) -> Row:
    items = [found[step["code"], there["kind"], there["id"]] for there in step["objects"]]
    names = list(dict.fromkeys((item.object.kind, item.object.id, label(item.object)) for item in items))
    return {
        "code": step["code"],
        "slug": CATALOGUE[step["code"]].slug,
        "severity": step["severity"],
        "remedy": step["remedy"],
        "objects": [name for _kind, _id, name in names[:NAMED]],
        "more": max(0, len(names) - NAMED),
        "commands": _commands(items),
    }


def _commands(items: t.Iterable[Finding]) -> Commands:
    """Return the commands of findings that have one remedy, each once: those of the first hosts."""
    return tuple(dict.fromkeys(text for item in items for text in item.commands))[:COMMANDS]


def _when(step: Json) -> str:
    parts = [f"resolve {' and '.join(step['until'])} first"] if step["until"] else []
    return "; ".join([*parts, *([step["because"]] if step["because"] else [])])


def orders(found: t.Iterable[Json], fleet: Fleet) -> t.List[Row]:
    """Return the hosts on which the order matters, those with the very same order together. ``found``: all ways."""
    same: t.Dict[t.Any, Row] = {}
    for way in found:
        if not way["put_off"]:
            continue
        entries = tuple((one["code"], one["remedy"], one.get("when")) for one in (*way["steps"], *way["put_off"]))
        order = same.setdefault((way["keep_stopped"], entries), {"way": way, "hosts": [], "names": []})
        order["names"].append(", ".join(way["names"]) or NO_HOST)
        order["hosts"].append(fleet.first(way["names"]))
    return sorted(
        same.values(),
        key=lambda order: (
            not order["way"]["keep_stopped"],
            min(
                ((SEVERITIES.index(step["severity"]), damage.rank(step["code"])) for step in order["way"]["steps"]),
                default=(3,),
            ),
            natural(order["names"][0]),
        ),
    )


def to_settle(report: Json, more: t.Sequence[Override] = ()) -> t.List[Finding]:
    """Return the findings that somebody has to settle, in any order: no override passes them, no order has them.

    ``more``: overrides besides those of the report.
    """
    overrides = [*overrides_of(report), *more]
    held = {
        (step["code"], step["remedy"], there["kind"], there["id"])
        for entry in report.get("remedies") or ()
        if entry["put_off"]
        for step in (*entry["steps"], *entry["put_off"])
        for there in step["objects"]
    }
    items = map(from_report, report.get("findings") or ())
    return [
        item
        for item in items
        if item.severity != INFO
        and not overridden(item, overrides)
        and (item.code, item.remedy, item.object.kind, item.object.id) not in held
    ]


@dataclasses.dataclass
class Card:
    """What to do about one code: all hosts and objects, each remedy once."""

    code: str
    slug: str
    severity: str
    number: int
    kind: str
    names: t.List[str]
    hosts: t.List[PageHost]
    remedies: t.List[str]
    commands: t.List[str]
    #: When it does damage; empty for an operation, which it is in the way of now.
    time: str = ""


def cards(items: t.Iterable[Finding], fleet: Fleet) -> t.List[Card]:
    """Return one card for each code and severity, what does damage first and most."""
    groups: t.Dict[t.Tuple[str, str], t.List[Finding]] = {}
    for item in ordered(items):
        groups.setdefault((item.code, item.severity), []).append(item)
    order = sorted(groups, key=lambda key: (SEVERITIES.index(key[1]), damage.rank(key[0]), key[0]))
    return [_card(groups[key], fleet) for key in order]


def _card(items: t.Sequence[Finding], fleet: Fleet) -> Card:
    # Objects by id: names are not unique.
    objects = {(item.object.kind, item.object.id): label(item.object) for item in items}
    kinds = {kind.replace("_", " ") for kind, _id in objects}
    by_remedy: t.Dict[str, t.Dict[str, None]] = {}
    for item in sorted(items, key=lambda item: item.remedy):
        by_remedy.setdefault(item.remedy, {}).update(dict.fromkeys(filter(None, [host_of(item)])))
    typed = [text for remedy in by_remedy for text in _commands([item for item in items if item.remedy == remedy])]
    hosts = {host.number: host for names in by_remedy.values() for host in map(fleet.of, names)}
    return Card(
        items[0].code,
        items[0].slug,
        items[0].severity,
        len(objects),
        kinds.pop() if len(kinds) == 1 else "object",
        list(objects.values())[:NAMED],
        sorted(hosts.values(), key=lambda host: natural(host.name)),
        list(by_remedy),
        list(dict.fromkeys(typed)),
        damage.time_of(items[0].code) if fleet.known else "",
    )


# --- the plan -------------------------------------------------------------------------------------------------


def _steps(plan: t.Optional[Json]) -> t.List[Row]:
    rows = []
    for number, step in enumerate((plan or {}).get("steps") or (), 1):
        changes = list(step.get("changes") or ())
        state = {"state": "planned", "at": "", "took": "", "text": "", **step}
        rows.append({**state, "number": number, "changes": changes[:FIRST], "more": max(0, len(changes) - FIRST)})
    return rows


def _step_words(steps: t.Sequence[Row]) -> str:
    found = collections.Counter(str(step["state"]) for step in steps)
    return ", ".join(f"{number} {state}" for state, number in found.items())


def _numbers(steps: t.Sequence[Row], servers: t.Sequence[Json]) -> t.List[t.Tuple[str, str]]:
    done = sum(1 for step in steps if step["state"] == "done")
    found = [(f"{done} of {len(steps)}", "steps done")] if steps else []
    if servers:
        away = sum(1 for server in servers if server["state"] in ("moved", "deleted"))
        found.append((f"{away} of {len(servers)}", "servers off the host"))
    return found
