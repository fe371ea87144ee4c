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

from ansible_collections.stackguard.nova.plugins.module_utils import evidence, fleet
from ansible_collections.stackguard.nova.plugins.module_utils.checks import audit
from ansible_collections.stackguard.nova.plugins.module_utils.checks.forecast import REFUSES, STARTS, UNKNOWN, Start
from ansible_collections.stackguard.nova.plugins.module_utils.facts import Bundle, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
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
from ansible_collections.stackguard.nova.plugins.module_utils.words import count

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
class Audit:
    """What an audit says: the report as agreed, and what the page and the forecast file show besides."""

    report: t.Dict[str, t.Any]
    checked: Checked
    starts: t.Tuple[Start, ...]
    zones: t.Tuple[fleet.Zone, ...]
    overrides: t.Tuple[Override, ...]

    @property
    def verdict(self) -> str:
        """pass, warn or block."""
        return str(self.report["verdict"])


@dataclasses.dataclass(frozen=True)
class Entry:
    """One thing to do: the same remedy for the same code. ``standing``: no override passes it."""

    code: str
    slug: str
    severity: str
    remedy: str
    objects: t.Tuple[str, ...]
    more: int


def audited(bundle: Bundle, overrides: t.Sequence[Override] = (), at_most: t.Optional[int] = None) -> Audit:
    """Decide everything from the evidence."""
    checked = audit.check(bundle, at_most)
    hosts = len({*bundle.hosts, *bundle.unreachable})
    return Audit(
        report(checked, bundle.collected_at, hosts, servers(bundle), overrides),
        checked,
        tuple(audit.starts(bundle)),
        tuple(fleet.zones(bundle)),
        tuple(overrides),
    )


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


def report_json(found: Audit) -> str:
    """Return C(report.json)."""
    return json.dumps(found.report, indent=1, sort_keys=True) + "\n"


def forecast_json(found: Audit) -> str:
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


def report_prom(found: Audit) -> str:
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


def to_do(found: Audit) -> t.List[Entry]:
    """Return what to do, what destroys first: each remedy once, with whom it concerns."""
    groups: t.Dict[t.Tuple[str, str, str], t.List[Finding]] = {}
    for item in ordered(found.checked.findings):
        if item.severity != INFO and not overridden(item, found.overrides):
            groups.setdefault((item.code, item.severity, item.remedy), []).append(item)
    order = sorted(groups, key=lambda key: (key[1] != BLOCKER, not CATALOGUE[key[0]].absolute, key[0], key[2]))
    return [_entry(key, groups[key]) for key in order]


def _entry(key: t.Tuple[str, str, str], items: t.Sequence[Finding]) -> Entry:
    names = tuple(dict.fromkeys(label(item.object) for item in items))
    return Entry(key[0], CATALOGUE[key[0]].slug, key[1], visible(key[2]), names[:NAMED], max(0, len(names) - NAMED))


def table(found: Audit) -> str:
    """Return the outcome as a short table for a terminal."""
    lines = [f"verdict {found.verdict}: {VERDICTS[found.verdict]}", _counted(found)]
    by_code: t.Dict[t.Tuple[str, str], t.List[Finding]] = {}
    for item in ordered(found.checked.findings):
        by_code.setdefault((item.code, item.severity), []).append(item)
    for (code, severity), items in sorted(by_code.items(), key=lambda entry: (SEVERITIES.index(entry[0][1]), entry[0])):
        names = list(dict.fromkeys(label(item.object) for item in items))
        named = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        lines.append(f"{severity:8} {code} {CATALOGUE[code].slug:28} {len(items):6}  {named}")
    undecided = collections.Counter((item["code"], item["reason"]) for item in found.report["unchecked"])
    lines += [
        f"unread   {code} {number:>4}x  {visible(reason)}" for (code, reason), number in sorted(undecided.items())
    ]
    lost = [start for start in found.starts if start.destroys or start.outcome != STARTS]
    lines += [f"a start of nova-compute on {start.inventory_name}: {visible(start.told)}" for start in lost[:TO_DO]]
    if len(lost) > TO_DO:
        lines.append(f"and on {count(len(lost) - TO_DO, 'more host')}: see forecast.json")
    return "\n".join(lines)


def _counted(found: Audit) -> str:
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


def page(found: Audit, render: t.Callable[..., str], style: str, script: str) -> str:
    """Return C(report.html). ``render``: the template's; it must escape what it is given."""
    undecided: t.Dict[str, t.List[t.Dict[str, str]]] = {}
    for item in found.report["unchecked"]:
        undecided.setdefault(item["code"], []).append(item)
    entries = to_do(found)
    return render(
        report=found.report,
        meaning=VERDICTS[found.verdict],
        to_do=entries[:TO_DO],
        to_do_more=max(0, len(entries) - TO_DO),
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


def _groups(found: Audit) -> t.List[t.Dict[str, t.Any]]:
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


def _drawn(zone: fleet.Zone) -> t.Dict[str, t.Any]:
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


def _state(host: fleet.Host) -> str:
    if host.total is None or host.need is None:
        return "unread"
    return "short" if host.unseated else "fits"


def _line(host: fleet.Host) -> str:
    unseated = f"; {host.unseated} no room" if host.unseated else ""
    return f"{count(host.guests or 0, 'guest')}, {(host.need or 0) / 1024:.1f} GiB{unseated}"


def _told(host: fleet.Host) -> str:
    if host.total is None or host.need is None:
        return f"{host.name}: not read: {host.reason or 'its memory or its domains'}"
    verdict = f"{count(host.unseated or 0, 'guest')} would find no room" if host.unseated else "all would find room"
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
