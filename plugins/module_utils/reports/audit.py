# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says, and its report as JSON and as a table for a terminal. Pure.

Other forms: C(audit_page.py), C(prometheus.py), C(tables.py).

All are made of the same evidence and nothing else: no clock, no machine. The same evidence gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks import audit
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards.forecast import STARTS, Start
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Bundle, HostFacts, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    SEVERITIES,
    WARNING,
    Checked,
    CountedOnly,
    Finding,
    Override,
    Subject,
    ordered,
    overridden,
    report,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import conf_host
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count, visible
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.reports import (
    capacity_outlook,
    changes,
    commands,
    prometheus,
    remedies,
)
from ansible_collections.stackguard.nova.plugins.module_utils.reports.scope import Scope, scope

NEW_BLOCKER = "new_blocker"
#: What is failed for: at least this verdict.
FAIL_ON: t.Mapping[str, t.Tuple[str, ...]] = {
    "never": (),
    NEW_BLOCKER: ("block",),
    "blocker": ("block",),
    "warning": ("block", "warn"),
}
VERDICTS = {
    "pass": "The audit read everything that you requested, and found no blockers and no warnings.",
    "warn": (
        "The audit found no blocker, or every blocker has an override. Check the warnings and the undecided checks in "
        "the report."
    ),
    "block": "Resolve these blockers before you begin maintenance.",
}
#: Entries of "what to do now", and objects that one names.
TO_DO, NAMED = 12, 5


@dataclasses.dataclass(frozen=True)
class AuditResult:
    """What an audit says: the report as agreed, and what the page and the forecast file show besides."""

    report: t.Dict[str, t.Any]
    checked: Checked
    starts: t.Tuple[Start, ...]
    zones: t.Tuple[capacity_outlook.Zone, ...]
    overrides: t.Tuple[Override, ...]
    #: What to do, host by host, in an order in which nothing contradicts what came before.
    remedies: t.Tuple[remedies.HostRemedies, ...]
    scope: Scope
    #: Names of one host, each time: in the inventory, of Nova, of libvirt.
    names: t.Tuple[t.Tuple[str, ...], ...]
    #: Hosts by inventory name: running guests and all domains; of one that was not read there is none.
    domains: t.Mapping[str, t.Optional[int]]

    @property
    def verdict(self) -> str:
        """pass, warn or block."""
        return str(self.report["verdict"])


@dataclasses.dataclass(frozen=True)
class TodoEntry:
    """One thing to do: the same remedy for the same code. ``standing``: no override passes it."""

    code: str
    slug: str
    severity: str
    remedy: str
    objects: t.Tuple[str, ...]
    more: int
    #: Objects that it concerns, by id: names are not unique.
    number: int
    kind: str
    #: Hosts as findings name them, and what of the remedy can be typed.
    hosts: t.Tuple[str, ...]
    commands: t.Tuple[str, ...]


def audited(bundle: Bundle, overrides: t.Sequence[Override] = (), at_most: t.Optional[int] = None) -> AuditResult:
    """Decide everything from the evidence."""
    measured: t.Dict[str, capacity_outlook.Measured] = {}

    def measure(name: str, facts: HostFacts) -> None:
        measured[name] = capacity_outlook.measure(facts)

    looked = audit.look(bundle, at_most, measure)
    checked = looked.checked
    hosts = len({*bundle.hosts, *bundle.unreachable})
    starts = tuple(looked.starts)
    standing = [item for item in checked.findings if not overridden(item, overrides)]
    ways = tuple(remedies.merged(standing, _known_starts(starts), _same_hosts(bundle)))
    told = report(checked, bundle.collected_at, hosts, servers(bundle), overrides)
    return AuditResult(
        {**told, "remedies": [_ways_plain(way) for way in ways]},
        checked,
        starts,
        tuple(capacity_outlook.zones(bundle, measured)),
        tuple(overrides),
        ways,
        scope(bundle),
        tuple(tuple(names) for names in _same_hosts(bundle)),
        {name: None if facts.domains is None else len(facts.domains) for name, facts in bundle.hosts.items()},
    )


def as_earlier(found: AuditResult) -> changes.Earlier:
    """Return this report as the next audit will see it."""
    standing = {
        changes.key_of(item)
        for item, entry in zip(found.report["findings"], ordered(found.checked.findings))
        if entry.severity == BLOCKER and not overridden(entry, found.overrides)
    }
    counted = [item.code for item in found.checked.unchecked if isinstance(item, CountedOnly)]
    return changes.Earlier(changes.scope_plain(found.scope, counted), found.report, frozenset(standing))


def _known_starts(starts: t.Sequence[Start]) -> t.Dict[str, t.Optional[str]]:
    """By inventory name, None where a start of nova-compute is known to destroy nothing, else what is known."""
    return {
        start.inventory_name: None
        if start.outcome == STARTS and not start.destroys and not start.unread
        else f"a start of nova-compute: {start.told}"
        for start in starts
    }


def _same_hosts(bundle: Bundle) -> t.Iterator[t.List[str]]:
    """Names of one host: in the inventory, of Nova, of libvirt."""
    for name, facts in sorted(bundle.hosts.items()):
        libvirt = facts.libvirt.hostname if facts.libvirt else None
        yield [one for one in (name, conf_host(facts), libvirt) if one]


def _ways_plain(way: remedies.HostRemedies) -> t.Dict[str, t.Any]:
    """One host's entry of C(remedies) in C(report.json)."""
    return {
        "names": list(way.names),
        "keep_stopped": list(way.keep_stopped),
        "steps": [_step_plain(step) for step in way.steps],
        "put_off": [
            {**_step_plain(entry.step), "until": list(entry.until), "because": entry.because} for entry in way.put_off
        ],
    }


def _step_plain(step: remedies.RemedyStep) -> t.Dict[str, t.Any]:
    objects = [{"kind": item.object.kind, "id": item.object.id} for item in step.findings]
    return {"code": step.code, "severity": step.severity, "remedy": step.remedy, "objects": objects}


def servers(bundle: Bundle) -> int:
    """Return how many servers there are: of the databases, else of the API, else domains that hosts have."""
    cells = bundle.databases.cells if bundle.databases else None
    if cells and all(cell.instances is not None for cell in cells):
        return sum(1 for cell in cells for row in cell.instances or [] if not row.deleted)
    if bundle.cloud is not None and bundle.cloud.servers is not None:
        return len(bundle.cloud.servers)
    return len({domain.uuid for facts in bundle.hosts.values() for domain in facts.domains or []})


def fails(verdict: str, fail_on: str, against: changes.Changes = changes.NOTHING) -> bool:
    """Whether a run that found this is to fail. Raises KeyError for an unknown ``fail_on``.

    With C(new_blocker) a blocker that the last comparable audit had does not count. Without one, each does.
    """
    if fail_on == NEW_BLOCKER and against.comparable and against.new_blockers == 0:
        return False
    return verdict in FAIL_ON[fail_on]


# --- files ----------------------------------------------------------------------------------------------------


def report_json(found: AuditResult) -> str:
    """Return C(report.json)."""
    return json.dumps(found.report, indent=1, sort_keys=True) + "\n"


def forecast_json(found: AuditResult) -> str:
    """Return C(forecast.json): for each host, what nova-compute would do if it started."""
    hosts = {start.inventory_name: _start_plain(start) for start in found.starts}
    return json.dumps({"schema": 1, "hosts": hosts}, indent=1, sort_keys=True) + "\n"


def _start_plain(start: Start) -> t.Dict[str, t.Any]:
    return {
        "host": start.host,
        "releases": list(start.releases),
        "outcome": start.outcome,
        "refusal": to_plain(start.refusal),
        "new_service": start.new_service,
        "guests": [
            {
                "uuid": fate.domain.uuid,
                "name": fate.domain.nova_name or fate.domain.name,
                "action": fate.action,
                "rule": fate.rule,
                "lives_on": fate.lives,
                "exists": fate.exists,
                "migration": fate.migration,
                "note": fate.note,
            }
            for fate in start.guests
        ],
        "nodes": to_plain(start.nodes),
        "unread": list(start.unread),
        "told": start.told,
    }


def report_prom(found: AuditResult, version: t.Optional[str] = None, new_blockers: t.Optional[int] = None) -> str:
    """Return C(report.prom), for the text file collector of Prometheus' node exporter."""
    return prometheus.text(found, version, new_blockers)


# --- for people -----------------------------------------------------------------------------------------------


def to_do(found: AuditResult, contested: bool = True) -> t.List[TodoEntry]:
    """Return what to do now, what destroys first: each remedy once, with the objects that it concerns.

    What is put off on a host is not among it: none of these contradicts another one. ``contested``: whether hosts that
    have an order of their own are among it.
    """
    wanted = [way for way in found.remedies if contested or not way.contested]
    return entries(item for way in wanted for step in way.steps for item in step.findings)


def entries(items: t.Iterable[Finding]) -> t.List[TodoEntry]:
    """Return what settles these findings, what destroys first: each remedy once, with the objects that it concerns."""
    groups: t.Dict[t.Tuple[str, str, str], t.List[Finding]] = {}
    for item in items:
        groups.setdefault((item.code, item.severity, item.remedy), []).append(item)
    order = sorted(groups, key=lambda key: (key[1] != BLOCKER, not CATALOGUE[key[0]].absolute, key[0], key[2]))
    return [_entry(key, groups[key]) for key in order]


@dataclasses.dataclass(frozen=True)
class Way:
    """One host on which the order matters, for people."""

    names: str
    keep_stopped: str
    steps: t.Tuple[TodoEntry, ...]
    #: Each with when it may be done.
    put_off: t.Tuple[t.Tuple[TodoEntry, str], ...]
    #: The names as they are, to find the host by.
    raw_names: t.Tuple[str, ...]


def ways(found: AuditResult, contested: bool = True) -> t.List[Way]:
    """Return the hosts whose findings order opposite things, each with its one order; not ``contested``: all hosts."""
    return [_way(way) for way in found.remedies if way.contested or (way.names and not contested)]


def _way(way: remedies.HostRemedies) -> Way:
    return Way(
        visible(", ".join(way.names)) or "no host",
        remedies.KEEP_STOPPED if way.keep_stopped else "",
        tuple(_entry((step.code, step.severity, step.remedy), step.findings) for step in way.steps),
        tuple((_entry((e.step.code, e.step.severity, e.step.remedy), e.step.findings), _when(e)) for e in way.put_off),
        way.names,
    )


def _when(entry: remedies.PutOff) -> str:
    parts = [f"resolve {' and '.join(entry.until)} first"] if entry.until else []
    return visible("; ".join([*parts, *([entry.because] if entry.because else [])]))


def _entry(key: t.Tuple[str, str, str], items: t.Sequence[Finding]) -> TodoEntry:
    by_id = {(item.object.kind, item.object.id): item for item in items}
    names = tuple(label(item.object) for item in by_id.values())
    kinds = {kind.replace("_", " ") for kind, _id in by_id}
    hosts = tuple(dict.fromkeys(host for host in map(host_of, by_id.values()) if host))
    return TodoEntry(
        key[0],
        CATALOGUE[key[0]].slug,
        key[1],
        visible(key[2]),
        names[:NAMED],
        max(0, len(names) - NAMED),
        len(by_id),
        kinds.pop() if len(kinds) == 1 else "object",
        hosts,
        commands.of(key[2], hosts),
    )


def host_of(item: Finding) -> t.Optional[str]:
    """Return the host that a finding is of, by the name that the finding has for it."""
    return item.object.host or (item.object.id if item.object.kind == "host" else None)


def table(found: AuditResult, against: t.Optional[changes.Changes] = None) -> str:
    """Return the outcome as a short table for a terminal."""
    lines = [f"verdict {found.verdict}: {VERDICTS[found.verdict]}", _counted(found)]
    if against is not None and against.since is not None:
        gone = (
            "gone"
            if against.comparable
            else "no longer reported, but possibly not resolved (changes.json shows why the comparison is incomplete)"
        )
        lines.append(
            f"since    {against.since}: {len(against.new)} new, {against.known} known, {len(against.gone)} {gone}"
        )
    by_code: t.Dict[t.Tuple[str, str], t.List[Finding]] = {}
    for item in ordered(found.checked.findings):
        by_code.setdefault((item.code, item.severity), []).append(item)
    for (code, severity), items in sorted(by_code.items(), key=lambda entry: (SEVERITIES.index(entry[0][1]), entry[0])):
        names = [label(item.object) for item in {(item.object.kind, item.object.id): item for item in items}.values()]
        named = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        lines.append(f"{severity:8} {code} {CATALOGUE[code].slug:28} {len(items):6}  {named}")
    lines += _ways_lines(found)
    lines += _unread_lines(found)
    lost = [start for start in found.starts if start.destroys or start.outcome != STARTS]
    lines += [
        f"forecast for the next start of nova-compute on {start.inventory_name}: {visible(start.told)}"
        for start in lost[:TO_DO]
    ]
    if len(lost) > TO_DO:
        lines.append(f"{count(len(lost) - TO_DO, 'more host')}: see forecast.json for the next start of nova-compute")
    return "\n".join(lines)


def _unread_lines(found: AuditResult) -> t.List[str]:
    """One line for each reason: one database that is down leaves many codes undecided."""
    codes: t.Dict[str, t.List[str]] = {}
    for item in found.report["unchecked"]:
        codes.setdefault(item["reason"], []).append(item["code"])
    return [
        f"unread   {count(len(set(mine)), 'check')} ({', '.join(sorted(set(mine))[:6])}"
        f"{', ...' if len(set(mine)) > 6 else ''}), {count(len(mine), 'object')}: {visible(reason)}"
        for reason, mine in sorted(codes.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    ]


def _ways_lines(found: AuditResult) -> t.List[str]:
    """A line for each host on which the order matters: what is done, and what is not done yet."""
    lines = []
    contested = ways(found)
    for way in contested[:TO_DO]:
        done = [*(["keep nova-compute stopped"] if way.keep_stopped else []), *[entry.code for entry in way.steps]]
        later = ", ".join(dict.fromkeys(entry.code for entry, _when in way.put_off))
        lines.append(
            f"order    of the remedies on {way.names}: execute now: {', '.join(done) or 'nothing'}; "
            f"execute later: {later} (report.html explains the order)"
        )
    if len(contested) > TO_DO:
        lines.append(
            f"order    of the remedies on {count(len(contested) - TO_DO, 'more host')}: see the key 'remedies' "
            "in report.json"
        )
    return lines


def _counted(found: AuditResult) -> str:
    counts = found.report["counts"]
    parts = [
        f"{count(found.report['hosts'], 'host')}, {count(found.report['servers'], 'server')}:",
        f"{count(counts[BLOCKER], 'blocker')}, {count(counts[WARNING], 'warning')},",
        f"{count(counts[INFO], 'info finding')},",
        f"{counts['unchecked']} not decided, {counts['overridden']} overridden",
    ]
    return " ".join(parts)


def label(subject: Subject) -> str:
    """Return what people know an object by: its name, a service's host, else its id."""
    host = subject.host if subject.kind == "service" else None
    return visible(subject.name or host or subject.id)


def whole(paths: t.Sequence[str]) -> Bundle:
    """Read saved evidence, of one run or of several (the slices of one job). Raises FactsError."""
    bundles = [evidence.load(path) for path in paths]
    return bundles[0] if len(bundles) == 1 else evidence.merge(bundles)
