# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit in its several forms: JSON, the node exporter's text, a table for a terminal, a page. Pure.

All are made of the same evidence and nothing else: no clock, no machine. The same evidence gives the same bytes.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import hashlib
import json
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks import audit
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards.forecast import (
    REFUSES,
    STARTS,
    UNKNOWN,
    Start,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Bundle, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    SEVERITIES,
    WARNING,
    Checked,
    Finding,
    Override,
    Subject,
    ordered,
    overridden,
    report,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import conf_host
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.reports import capacity_outlook, remedies

#: What is failed for: at least this verdict.
FAIL_ON: t.Mapping[str, t.Tuple[str, ...]] = {"never": (), "blocker": ("block",), "warning": ("block", "warn")}
VERDICTS = {
    "pass": "Everything was read, and nothing was found.",
    "warn": "No blocker stands. Look at the warnings, and at what could not be decided.",
    "block": "Do not begin a maintenance before these blockers are gone.",
}
#: Where every code's page is, for a report that has left its machine.
PAGES = "https://github.com/stackguard/stackguard.nova/blob/main/docs/codes"
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


def audited(bundle: Bundle, overrides: t.Sequence[Override] = (), at_most: t.Optional[int] = None) -> AuditResult:
    """Decide everything from the evidence."""
    checked = audit.check(bundle, at_most)
    hosts = len({*bundle.hosts, *bundle.unreachable})
    starts = tuple(audit.starts(bundle))
    standing = [item for item in checked.findings if not overridden(item, overrides)]
    ways = tuple(remedies.merged(standing, _known_starts(starts), _same_hosts(bundle)))
    told = report(checked, bundle.collected_at, hosts, servers(bundle), overrides)
    return AuditResult(
        {**told, "remedies": [_ways_plain(way) for way in ways]},
        checked,
        starts,
        tuple(capacity_outlook.zones(bundle)),
        tuple(overrides),
        ways,
    )


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


def fails(verdict: str, fail_on: str) -> bool:
    """Whether a run that found this is to fail. Raises KeyError for an unknown ``fail_on``."""
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


def report_prom(found: AuditResult) -> str:
    """Return C(report.prom), for the text file collector of Prometheus' node exporter."""
    metrics = _Metrics()
    seconds = _seconds(found.report["generated_at"])
    if seconds is not None:
        metrics.gauge("generated_timestamp_seconds", "When the evidence was collected.", [({}, seconds)])
    verdicts = [({"verdict": name}, int(found.verdict == name)) for name in VERDICTS]
    metrics.gauge("verdict", "Verdict of the last audit.", verdicts)
    metrics.gauge("hosts", "Compute hosts, read or not.", [({}, found.report["hosts"])])
    metrics.gauge("servers", "Servers.", [({}, found.report["servers"])])
    findings = collections.Counter((item.code, item.slug, item.severity) for item in found.checked.findings)
    metrics.gauge(
        "findings",
        "Findings, by code and severity.",
        [({"code": c, "slug": s, "severity": level}, n) for (c, s, level), n in sorted(findings.items())],
    )
    totals = [({"severity": level}, found.report["counts"][level]) for level in SEVERITIES]
    metrics.gauge("findings_by_severity", "All findings, by severity.", totals)
    undecided = collections.Counter(item["code"] for item in found.report["unchecked"])
    metrics.gauge(
        "unchecked", "What could not be decided, by code.", [({"code": c}, n) for c, n in sorted(undecided.items())]
    )
    outcomes = collections.Counter(start.outcome for start in found.starts)
    metrics.gauge(
        "forecast_hosts",
        "Hosts by what nova-compute would do if it started now.",
        [({"outcome": name}, outcomes[name]) for name in (STARTS, REFUSES, UNKNOWN)],
    )
    lost = sum(len(start.destroys) for start in found.starts)
    metrics.gauge("forecast_guests_destroyed", "Guests that starts of nova-compute would destroy.", [({}, lost)])
    short = sum(zone.short for zone in found.zones)
    metrics.gauge("hosts_without_room", "Hosts whose guests would not all find memory in their zone.", [({}, short)])
    return metrics.text()


class _Metrics:
    """Lines of Prometheus' text format."""

    def __init__(self) -> None:
        self._lines: t.List[str] = []

    def gauge(self, name: str, told: str, values: t.Sequence[t.Tuple[t.Mapping[str, str], float]]) -> None:
        full = f"stackguard_audit_{name}"
        self._lines += [f"# HELP {full} {told}", f"# TYPE {full} gauge"]
        for labels, value in values:
            inside = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
            self._lines.append(f"{full}{{{inside}}} {value}" if inside else f"{full} {value}")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(moment: str) -> t.Optional[int]:
    """Seconds since 1970 of an ISO 8601 moment, which is UTC where it does not say."""
    try:
        parsed = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00"))
    except ValueError:
        return None
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.timezone.utc)).timestamp())


# --- for people -----------------------------------------------------------------------------------------------


def to_do(found: AuditResult) -> t.List[TodoEntry]:
    """Return what to do now, what destroys first: each remedy once, with the objects that it concerns.

    What is put off on a host is not among it: none of these contradicts another one.
    """
    groups: t.Dict[t.Tuple[str, str, str], t.List[Finding]] = {}
    for way in found.remedies:
        for step in way.steps:
            groups.setdefault((step.code, step.severity, step.remedy), []).extend(step.findings)
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


def ways(found: AuditResult) -> t.List[Way]:
    """Return the hosts whose findings order opposite things, each with its one order."""
    return [_way(way) for way in found.remedies if way.contested]


def _way(way: remedies.HostRemedies) -> Way:
    return Way(
        visible(", ".join(way.names)) or "no host",
        remedies.KEEP_STOPPED if way.keep_stopped else "",
        tuple(_entry((step.code, step.severity, step.remedy), step.findings) for step in way.steps),
        tuple((_entry((e.step.code, e.step.severity, e.step.remedy), e.step.findings), _when(e)) for e in way.put_off),
    )


def _when(entry: remedies.PutOff) -> str:
    parts = [f"{' and '.join(entry.until)} must be settled first"] if entry.until else []
    return visible("; ".join([*parts, *([entry.because] if entry.because else [])]))


def _entry(key: t.Tuple[str, str, str], items: t.Sequence[Finding]) -> TodoEntry:
    names = tuple(dict.fromkeys(label(item.object) for item in items))
    return TodoEntry(key[0], CATALOGUE[key[0]].slug, key[1], visible(key[2]), names[:NAMED], max(0, len(names) - NAMED))


def table(found: AuditResult) -> str:
    """Return the outcome as a short table for a terminal."""
    lines = [f"verdict {found.verdict}: {VERDICTS[found.verdict]}", _counted(found)]
    by_code: t.Dict[t.Tuple[str, str], t.List[Finding]] = {}
    for item in ordered(found.checked.findings):
        by_code.setdefault((item.code, item.severity), []).append(item)
    for (code, severity), items in sorted(by_code.items(), key=lambda entry: (SEVERITIES.index(entry[0][1]), entry[0])):
        names = list(dict.fromkeys(label(item.object) for item in items))
        named = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        lines.append(f"{severity:8} {code} {CATALOGUE[code].slug:28} {len(items):6}  {named}")
    lines += _ways_lines(found)
    undecided = collections.Counter((item["code"], item["reason"]) for item in found.report["unchecked"])
    lines += [
        f"unread   {code} {number:>4}x  {visible(reason)}" for (code, reason), number in sorted(undecided.items())
    ]
    lost = [start for start in found.starts if start.destroys or start.outcome != STARTS]
    lines += [f"a start of nova-compute on {start.inventory_name}: {visible(start.told)}" for start in lost[:TO_DO]]
    if len(lost) > TO_DO:
        lines.append(f"and on {count(len(lost) - TO_DO, 'more host')}: see forecast.json")
    return "\n".join(lines)


def _ways_lines(found: AuditResult) -> t.List[str]:
    """A line for each host on which the order matters: what is done, and what is not done yet."""
    lines = []
    contested = ways(found)
    for way in contested[:TO_DO]:
        done = [*(["keep nova-compute stopped"] if way.keep_stopped else []), *[entry.code for entry in way.steps]]
        later = ", ".join(dict.fromkeys(entry.code for entry, _when in way.put_off))
        lines.append(f"order    {way.names}: {', '.join(done) or 'nothing now'}; not yet: {later} (see report.html)")
    if len(contested) > TO_DO:
        lines.append(f"order    and {count(len(contested) - TO_DO, 'more host')}: see report.json, remedies")
    return lines


def _counted(found: AuditResult) -> str:
    counts = found.report["counts"]
    parts = [
        f"{count(found.report['hosts'], 'host')}, {count(found.report['servers'], 'server')}:",
        f"{count(counts[BLOCKER], 'blocker')}, {count(counts[WARNING], 'warning')}, {counts[INFO]} for information,",
        f"{counts['unchecked']} not decided, {counts['overridden']} overridden",
    ]
    return " ".join(parts)


def label(subject: Subject) -> str:
    """Return what people know an object by: its name, a service's host, else its id."""
    host = subject.host if subject.kind == "service" else None
    return visible(subject.name or host or subject.id)


def visible(text: str) -> str:
    """Show characters that would steer a terminal, or turn the text around them: names are given by anybody."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}" for char in text)


def page(found: AuditResult, render: t.Callable[..., str], style: str, script: str) -> str:
    """Return C(report.html). ``render``: the template's; it must escape what it is given."""
    undecided: t.Dict[str, t.List[t.Dict[str, str]]] = {}
    for item in found.report["unchecked"]:
        undecided.setdefault(item["code"], []).append(item)
    entries = to_do(found)
    contested = ways(found)
    return render(
        report=found.report,
        meaning=VERDICTS[found.verdict],
        to_do=entries[:TO_DO],
        to_do_more=max(0, len(entries) - TO_DO),
        ways=contested[:TO_DO],
        ways_more=max(0, len(contested) - TO_DO),
        again=remedies.AGAIN,
        groups=_groups(found),
        undecided=sorted(undecided.items()),
        catalogue=CATALOGUE,
        pages=PAGES,
        starts=sorted(found.starts, key=_worst_first),
        starts_told=sum(1 for start in found.starts if start.destroys or start.outcome != STARTS),
        zones=[_drawn(zone) for zone in found.zones],
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    """What a content security policy knows an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _worst_first(start: Start) -> t.Tuple[bool, int, str]:
    return (not start.destroys, (REFUSES, UNKNOWN, STARTS).index(start.outcome), start.inventory_name)


def _groups(found: AuditResult) -> t.List[t.Dict[str, t.Any]]:
    """Findings by code, blockers first."""
    groups: t.Dict[str, t.List[t.Dict[str, t.Any]]] = {}
    for item in ordered(found.checked.findings):
        groups.setdefault(item.code, []).append(_shown(item, found.overrides))
    result = [
        {"code": code, "entry": CATALOGUE[code], "items": items, "worst": _worst(items)}
        for code, items in groups.items()
    ]
    return sorted(result, key=lambda group: (SEVERITIES.index(str(group["worst"])), str(group["code"])))


def _worst(items: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    return min((str(item["severity"]) for item in items), key=SEVERITIES.index)


def _shown(item: Finding, overrides: t.Sequence[Override]) -> t.Dict[str, t.Any]:
    return {
        "code": item.code,
        "slug": item.slug,
        "severity": item.severity,
        "absolute": item.absolute,
        "overridden": overridden(item, overrides),
        "kind": item.object.kind,
        "id": visible(item.object.id),
        "name": label(item.object),
        "host": visible(item.object.host or (item.object.id if item.object.kind == "host" else "no host")),
        "evidence": visible(json.dumps(item.evidence, indent=1, sort_keys=True, default=str, ensure_ascii=False)),
        "remedy": visible(item.remedy),
    }


#: The picture: columns, and sizes in its own units.
_COLUMNS, _WIDTH, _HEIGHT, _BAR = 5, 190, 62, 170


def _drawn(zone: capacity_outlook.Zone) -> t.Dict[str, t.Any]:
    """One zone with the place and the bars of each host."""
    tiles = []
    for number, host in enumerate(zone.hosts):
        total = host.total or 0
        used = total - (host.available or 0)
        # The second bar compares what would have to go with what the others have.
        scale = max(host.need or 0, host.others, 1)
        tiles.append(
            {
                "host": host,
                "x": number % _COLUMNS * _WIDTH,
                "y": number // _COLUMNS * _HEIGHT,
                "used": round(_BAR * used / total) if total else 0,
                "need": round(_BAR * (host.need or 0) / scale),
                "others": round(_BAR * host.others / scale),
                "state": _state(host),
                "told": visible(_told(host)),
                "line": _line(host),
            }
        )
    rows = (len(tiles) + _COLUMNS - 1) // _COLUMNS
    return {"name": zone.name, "short": zone.short, "tiles": tiles, "height": rows * _HEIGHT, "bar": _BAR}


def _state(host: capacity_outlook.HostOutlook) -> str:
    if host.total is None or host.need is None:
        return "unread"
    return "short" if host.no_room else "fits"


def _line(host: capacity_outlook.HostOutlook) -> str:
    no_room = f"; {host.no_room} no room" if host.no_room else ""
    return f"{count(host.guests or 0, 'guest')}, {(host.need or 0) / 1024:.1f} GiB{no_room}"


def _told(host: capacity_outlook.HostOutlook) -> str:
    if host.total is None or host.need is None:
        return f"{host.name}: not read: {host.reason or 'its memory or its domains'}"
    verdict = f"{count(host.no_room or 0, 'guest')} would find no room" if host.no_room else "all would find room"
    unknown = f"; {count(host.unknown, 'host')} of its zone not read" if host.unknown else ""
    return (
        f"{host.name}: {host.available} of {host.total} MiB available. An evacuation would move "
        f"{count(host.guests or 0, 'running guest')}, {host.need} MiB; the other hosts of {host.zone} have "
        f"{host.others} MiB of room: {verdict}{unknown}."
    )


def whole(paths: t.Sequence[str]) -> Bundle:
    """Read saved evidence, of one run or of several (the slices of one job). Raises FactsError."""
    bundles = [evidence.load(path) for path in paths]
    return bundles[0] if len(bundles) == 1 else evidence.merge(bundles)
