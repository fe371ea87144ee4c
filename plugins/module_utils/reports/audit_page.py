# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the page of an audit shows: hosts, findings, forecast, room, coverage. Pure.

All text is given to a template that escapes it. Nothing here is markup, and nothing is measured in the browser: without
scripts, the page has everything.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks import audit as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards.forecast import REFUSES, STARTS, Start
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    INFO,
    SEVERITIES,
    WARNING,
    Finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count, visible
from ansible_collections.stackguard.nova.plugins.module_utils.reports import (
    audit,
    capacity_outlook,
    page_parts,
    remedies,
)
from ansible_collections.stackguard.nova.plugins.module_utils.reports.changes import NOTHING, Changes
from ansible_collections.stackguard.nova.plugins.module_utils.reports.evidence_words import natural
from ansible_collections.stackguard.nova.plugins.module_utils.reports.page_parts import (
    FIRST,
    NAMED,
    RANKS,
    anchor,
    bar_parts,
)
from ansible_collections.stackguard.nova.plugins.module_utils.reports.scope import duration

#: Findings that a host names while it is closed, and changes that the page lists.
LISTED, CHANGED = 20, 100
NO_HOST, STRANGER = "no host", "not in the inventory"
#: What a start does, worst first.
DESTROYS, TOUCHES = "destroys", "changes guests"
OUTCOMES = (DESTROYS, REFUSES, "unknown", TOUCHES, STARTS)


@dataclasses.dataclass(frozen=True)
class Extra:
    """What is shown and is not of the evidence: the version that judged, pages of codes, the last audit."""

    version: t.Optional[str] = None
    docs: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    changes: Changes = NOTHING


@dataclasses.dataclass
class ReportedHost:
    """One row, and one square. ``number``: what everything about it is marked with."""

    number: int
    name: str
    anchor: str
    zone: str
    names: t.Tuple[str, ...]
    known: bool
    start: t.Optional[Start] = None
    room: t.Optional[capacity_outlook.HostOutlook] = None
    domains: t.Optional[int] = None
    unread: bool = False
    reason: str = ""
    findings: t.List[t.Dict[str, t.Any]] = dataclasses.field(default_factory=list)
    way: t.Optional[audit.Way] = None

    @property
    def worst(self) -> str:
        """The worst of its findings; one that an override passes is C(passed)."""
        return min((str(item["level"]) for item in self.findings), key=RANKS.index, default="none")

    @property
    def outcome(self) -> str:
        """What a start of nova-compute would do, in one word."""
        return outcome_of(self.start) if self.start else "unknown"

    @property
    def counts(self) -> t.Dict[str, int]:
        """Findings by level."""
        return dict(collections.Counter(str(item["level"]) for item in self.findings))

    @property
    def memory(self) -> t.Optional[int]:
        """Memory in use, in percent; None: not read."""
        if self.room is None or not self.room.total or self.room.available is None:
            return None
        return round(100 * (self.room.total - self.room.available) / self.room.total)


def outcome_of(start: Start) -> str:
    """Return one of OUTCOMES."""
    if start.destroys:
        return DESTROYS
    if start.outcome == STARTS and (start.guests or start.unread):
        return TOUCHES
    return start.outcome


def page(
    found: audit.AuditResult, render: t.Callable[..., str], style: str, script: str, extra: t.Optional[Extra] = None
) -> str:
    """Return C(report.html). ``render``: the template's; it must escape what it is given."""
    given = extra or Extra()
    fleet = _Fleet(found)
    groups = page_parts.groups(found.checked.findings, found.overrides, fleet.add)
    hosts = fleet.listed()
    cards = page_parts.cards(audit.to_do(found, contested=False), fleet.of)
    return page_parts.framed(
        render,
        style,
        script,
        report=found.report,
        meaning=audit.VERDICTS[found.verdict],
        scope=found.scope,
        cloud=visible(found.scope.name.cloud or ""),
        region=visible(found.scope.name.region or ""),
        parts=[{"what": part.what, "read": part.read, "detail": visible(part.detail)} for part in found.scope.parts],
        took=None if found.scope.seconds is None else duration(found.scope.seconds),
        version=given.version,
        changes=_changes(given.changes),
        fleet=_zones(hosts),
        hosts=hosts,
        cards=cards,
        orders=_orders(found, fleet),
        again=remedies.AGAIN,
        groups=groups,
        docs=page_parts.docs_of(groups, given.docs),
        forecast=_forecast(found, fleet),
        capacity=_capacity(found, fleet),
        coverage=_coverage(found),
        passed=_passed(found),
        listed=LISTED,
        outcomes=OUTCOMES,
    )


# --- hosts ----------------------------------------------------------------------------------------------------


class _Fleet:
    """All hosts: those of the inventory, and those that only findings name."""

    def __init__(self, found: audit.AuditResult) -> None:
        rooms = {room.inventory_name: room for zone in found.zones for room in zone.hosts}
        starts = {start.inventory_name: start for start in found.starts}
        names = {same[0]: same for same in found.names}
        self._by_name: t.Dict[str, ReportedHost] = {}
        self._hosts: t.List[ReportedHost] = []
        for name in sorted(found.scope.hosts, key=natural):
            room = rooms.get(name)
            host = self._new(name, room.zone if room else capacity_outlook.NO_ZONE, names.get(name, (name,)), True)
            host.start, host.room, host.domains = starts.get(name), room, found.domains.get(name)
            host.unread = name in found.scope.unread_hosts
            host.reason = visible((room.reason if room else "") or "")
        for way in audit.ways(found, contested=False):
            self.first(way.raw_names).way = way

    def _new(self, name: str, zone: str, names: t.Sequence[str], known: bool) -> ReportedHost:
        host = ReportedHost(len(self._hosts), visible(name), anchor("host", name), visible(zone), tuple(names), known)
        self._hosts.append(host)
        for one in (name, *names):
            self._by_name.setdefault(one.casefold(), host)
        return host

    def of(self, name: t.Optional[str]) -> ReportedHost:
        """Return the host of a name, or a new one that the inventory does not have; None: all that is of no host."""
        key = NO_HOST if name is None else name
        known = self._by_name.get(key.casefold())
        return known or self._new(key, STRANGER if name is not None else NO_HOST, (key,), False)

    def first(self, names: t.Sequence[str]) -> ReportedHost:
        """Return the host that is known by any of these names."""
        known = [name for name in names if name.casefold() in self._by_name]
        return self.of(next(iter([*known, *names]), None))

    def add(self, item: Finding, row: t.Dict[str, t.Any]) -> ReportedHost:
        """Note a finding at its host."""
        name = audit.host_of(item)
        if item.object.kind == "host" and name is not None and name.casefold() not in self._by_name:
            # SG114 names a part of a host: compute1:memory.
            name = name.partition(":")[0]
        host = self.of(name)
        host.findings.append(row)
        host.unread = host.unread or item.code == "SG114"
        return host

    def listed(self) -> t.List[ReportedHost]:
        """Return all hosts, worst first, each at its place."""
        ranked = sorted(self._hosts, key=lambda host: natural(host.name))
        place = {id(host): number for number, host in enumerate(ranked)}
        return sorted(
            ranked,
            key=lambda host: (RANKS.index(host.worst), OUTCOMES.index(host.outcome), place[id(host)]),
        )


def _zones(hosts: t.Sequence[ReportedHost]) -> t.List[t.Dict[str, t.Any]]:
    """Squares, zone by zone, each zone in natural order."""
    zones: t.Dict[str, t.List[ReportedHost]] = {}
    for host in sorted(hosts, key=lambda host: (not host.known, natural(host.zone), natural(host.name))):
        if host.name != NO_HOST:
            zones.setdefault(host.zone, []).append(host)
    return [{"name": name, "hosts": members} for name, members in zones.items()]


# --- what to do -----------------------------------------------------------------------------------------------


def _orders(found: audit.AuditResult, fleet: _Fleet) -> t.List[t.Dict[str, t.Any]]:
    """Hosts on which the order matters, those with the very same order together."""
    orders: t.Dict[t.Any, t.Dict[str, t.Any]] = {}
    for way in audit.ways(found):
        steps = tuple((entry.code, entry.severity, entry.remedy) for entry in way.steps)
        later = tuple((entry.code, entry.remedy, when) for entry, when in way.put_off)
        order = orders.setdefault((way.keep_stopped, steps, later), {"way": way, "hosts": [], "names": []})
        order["names"].append(way.names)
        order["hosts"].append(fleet.first(way.raw_names))
    severity = {BLOCKER: 0, WARNING: 1}
    return sorted(
        orders.values(),
        key=lambda order: (
            not order["way"].keep_stopped,
            min((severity.get(entry.severity, 2) for entry in order["way"].steps), default=3),
            natural(order["names"][0]),
        ),
    )


# --- forecast and room ----------------------------------------------------------------------------------------


def _forecast(found: audit.AuditResult, fleet: _Fleet) -> t.Dict[str, t.Any]:
    """How many hosts start, and those that do not merely start."""
    outcomes = collections.Counter(outcome_of(start) for start in found.starts)
    bad = [start for start in found.starts if outcome_of(start) != STARTS]
    bad.sort(key=lambda start: (OUTCOMES.index(outcome_of(start)), natural(start.inventory_name)))
    rows = [
        {
            "host": fleet.of(start.inventory_name),
            "outcome": outcome_of(start),
            "words": visible(start.told),
            "releases": " or ".join(map(str, start.releases)) or "unknown",
        }
        for start in bad
    ]
    lost = sum(len(start.destroys) for start in found.starts)
    return {
        "bar": bar_parts([(name, outcomes[name]) for name in OUTCOMES]),
        "words": _sentence(outcomes, lost),
        "first": rows[:FIRST],
        "rest": rows[FIRST:],
    }


def _sentence(outcomes: t.Mapping[str, int], lost: int) -> str:
    words = {
        STARTS: lambda n: f"nova-compute would start on {count(n, 'host')} and change no guest",
        TOUCHES: lambda n: f"nova-compute would start on {count(n, 'host')} and change guests",
        REFUSES: lambda n: f"nova-compute would refuse to start on {count(n, 'host')}",
        DESTROYS: lambda n: f"nova-compute would destroy {count(lost, 'guest')} on {count(n, 'host')}",
        "unknown": lambda n: f"the audit could not forecast what nova-compute would do on {count(n, 'host')}",
    }
    return ", ".join(words[name](outcomes[name]) for name in reversed(OUTCOMES) if outcomes[name])


def _capacity(found: audit.AuditResult, fleet: _Fleet) -> t.List[t.Dict[str, t.Any]]:
    """Each zone in one sentence, with the hosts that it would not survive the loss of."""
    zones = []
    for zone in sorted(found.zones, key=lambda zone: (-zone.short, natural(zone.name))):
        short = [host for host in zone.hosts if host.no_room]
        short.sort(key=lambda host: (-host.no_room_mib, natural(host.name)))
        unread = [host for host in zone.hosts if host.no_room is None]
        fits = len(zone.hosts) - len(short) - len(unread)
        rows = [
            {
                "host": fleet.of(host.inventory_name),
                "words": visible(capacity_words(host)),
                "need": host.need or 0,
                "others": host.others,
                "scale": max(host.need or 0, host.others, 1),
            }
            for host in short
        ]
        zones.append(
            {
                "name": visible(zone.name),
                "words": visible(zone_words(zone)),
                "bar": bar_parts([("short", len(short)), ("unread", len(unread)), ("fits", fits)]),
                "first": rows[:FIRST],
                "rest": rows[FIRST:],
            }
        )
    return zones


def zone_words(zone: capacity_outlook.Zone) -> str:
    """Return one sentence: which losses a zone survives."""
    short = sorted(
        (host for host in zone.hosts if host.no_room), key=lambda host: (-host.no_room_mib, natural(host.name))
    )
    unread = [host for host in zone.hosts if host.no_room is None]
    judged = len(zone.hosts) - len(unread)
    named = ", ".join(
        f"{host.name} (guests with {amount(host.no_room_mib)} of memory in total do not fit)" for host in short[:NAMED]
    )
    more = f", and {count(len(short) - NAMED, 'more host')}" if len(short) > NAMED else ""
    if not judged:
        return f"{zone.name}: the capacity is not known, because no host of the zone was read"
    if not short:
        words = f"If any one host of {zone.name} is lost, its guests fit into the free memory of the other hosts"
    elif len(short) == judged:
        words = (
            f"Whichever host of {zone.name} is lost, some of its guests do not fit into the free memory of the other "
            f"hosts: {named}{more}"
        )
    else:
        words = (
            f"If one of these hosts of {zone.name} is lost, some of its guests do not fit into the free memory of the "
            f"other hosts: {named}{more}. If any other host of {zone.name} is lost, its guests fit into the free "
            "memory of the other hosts"
        )
    return (
        f"{words}. The run did not read {count(len(unread), 'host')}, so the effect of a loss of "
        f"{'this host' if len(unread) == 1 else 'these hosts'} is not known"
        if unread
        else words
    )


def amount(mib: int) -> str:
    """Return an amount of memory for people."""
    if mib < 1024:
        return f"{mib} MiB"
    return f"{mib / 1024:.0f} GiB" if mib >= 10240 else f"{mib / 1024:.1f} GiB"


def capacity_words(host: capacity_outlook.HostOutlook) -> str:
    """Return what an evacuation of one host would need, and what there is."""
    if host.total is None or host.need is None:
        return f"not read: {host.reason or 'the audit has no facts about the memory or the domains of the host'}"
    verdict = (
        f"but no room for {count(host.no_room, 'guest')} with {amount(host.no_room_mib)} of memory"
        if host.no_room
        else "and all these guests fit into this memory"
    )
    unknown = f"; {count(host.unknown, 'host')} of this zone could not be read" if host.unknown else ""
    return (
        f"{amount(host.available or 0)} of {amount(host.total)} available. An evacuation would move "
        f"{count(host.guests or 0, 'running guest')} with {amount(host.need)} of memory. The other hosts of "
        f"{host.zone} have {amount(host.others)} free, {verdict}{unknown}."
    )


def room_words(host: capacity_outlook.HostOutlook) -> str:
    """The same for a template."""
    return visible(capacity_words(host))


# --- coverage, passed checks, changes -------------------------------------------------------------------------

#: What a reason has in it, and what helps; the first counts.
_FIXES: t.Sequence[t.Tuple[str, str]] = (
    (
        r"not (asked|requested)|no earlier record was asked",
        (
            "This run did not request these facts. To request more facts, set audit_sources, audit_definitions or "
            "audit_ceph."
        ),
    ),
    (r"definitions", "Run with audit_definitions: true, and let Ansible become root on the hosts."),
    (
        r"the host was not read|not compared with the other hosts|compute host was read|no host that the audit",
        (
            "Make sure that Ansible can reach these hosts (SG114 shows why each host was not read), and that "
            "audit_hosts matches all of these hosts."
        ),
    ),
    (
        r"OSD blocklist|Ceph was not read|watchers|snapshots",
        (
            "Set audit_ceph: true. For each Ceph cluster, at least one host must have a Ceph user that is allowed "
            "to list images and the blocklist."
        ),
    ),
    (
        r"journals",
        "Make sure that the audit can read the journal directory: stackguard_state_dir on stackguard_state_host.",
    ),
    (
        r"listed|counted",
        (
            "Raise audit_links_listed to list more links. As an alternative, repair the links that the report lists. "
            "The next audit then lists further links."
        ),
    ),
    (
        r"link|cell|database|migrations|instances|mapping",
        (
            "Read the databases: set nova_api_db_url, grant the privileges in docs/database-grants.md, and add the "
            "entry 'databases' to audit_sources."
        ),
    ),
    (
        r"servers|aggregates|services|providers|API|catalogue|compute node|zone",
        "Read the APIs: use the credentials of an administrator, and add api to audit_sources.",
    ),
    (
        r"nova\.conf|compute_id|memory|domains|release",
        (
            "Install python3-libvirt on these hosts, and let Ansible become root on these hosts. SG114 lists the facts "
            "that were not read."
        ),
    ),
)
_LOOK = "Read the documentation pages of the codes in this entry. Each page lists the sources that the check needs."


def _coverage(found: audit.AuditResult) -> t.List[t.Dict[str, t.Any]]:
    """What could not be decided, by reason, with what helps."""
    return page_parts.coverage(
        found.report["unchecked"],
        lambda reason: next((fix for pattern, fix in _FIXES if re.search(pattern, reason)), _LOOK),
        lambda reason: _failed(found, reason),
    )


def _failed(found: audit.AuditResult, reason: str) -> str:
    """Why a source was not read, where a check knows only that it was not."""
    for part in found.scope.parts:
        if part.read is False and part.what.rstrip("s") in reason and part.detail not in reason:
            return visible(part.detail)
    return ""


def _passed(found: audit.AuditResult) -> t.Dict[str, t.Any]:
    """Codes that were decided, and of which there is nothing."""
    hit = {item.code for item in found.checked.findings}
    undecided = {str(item["code"]) for item in found.report["unchecked"]} - hit
    whole = sorted({*checks.AUDITED, *hit, *undecided})
    return {
        "passed": [code for code in whole if code not in hit and code not in undecided],
        "found": len(hit),
        "undecided": len(undecided),
        "whole": len(whole),
    }


def _changes(found: Changes) -> t.Dict[str, t.Any]:
    def named(items: t.Sequence[t.Mapping[str, t.Any]]) -> t.List[t.Dict[str, str]]:
        rows = [
            {
                "code": str(item["code"]),
                "slug": visible(str(item["slug"])),
                "severity": str(item["severity"]) if item["severity"] in SEVERITIES else INFO,
                "name": visible(str(item["object"].get("name") or item["object"]["id"])),
                "id": visible(str(item["object"]["id"])),
                "host": visible(str(item["object"].get("host") or "")),
            }
            for item in items
        ]
        return sorted(rows, key=lambda row: (SEVERITIES.index(row["severity"]), row["code"], natural(row["name"])))

    return {
        "since": found.since,
        "comparable": found.comparable,
        "because": visible("; ".join(found.because)),
        "known": found.known,
        "new": named(found.new)[:CHANGED],
        "new_number": len(found.new),
        "gone": named(found.gone)[:CHANGED],
        "gone_number": len(found.gone),
        "trend": _trend(found.trend),
    }


def _trend(points: t.Sequence[t.Mapping[str, t.Any]]) -> t.Optional[t.Dict[str, t.Any]]:
    """Blockers and warnings of the last audits as two lines in a box of 200 by 40."""
    if len(points) < 2:
        return None
    lines = {level: [int(point["counts"].get(level, 0)) for point in points] for level in (BLOCKER, WARNING)}
    top = max(1, *(max(values) for values in lines.values()))
    step = 200 / (len(points) - 1)
    drawn = {
        level: " ".join(f"{number * step:.1f},{38 - 36 * value / top:.1f}" for number, value in enumerate(values))
        for level, values in lines.items()
    }
    return {
        "lines": drawn,
        "number": len(points),
        "first": str(points[0]["generated_at"]),
        "words": "; ".join(f"{level}s: {', '.join(map(str, values[-10:]))}" for level, values in lines.items()),
    }
