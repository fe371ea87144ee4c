# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says, and its report as JSON and as a table for a terminal. Pure.

Other forms: C(page.py), C(prometheus.py), C(tables.py).

All are made of the same evidence and nothing else: no clock, no machine. The same evidence gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..hazards.forecast import REFUSES, STARTS, Start
from ..model.facts import Bundle, HostFacts, to_plain
from ..model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    SEVERITIES,
    WARNING,
    Checked,
    CountedOnly,
    Finding,
    Override,
    ordered,
    overridden,
    report,
)
from ..model.names import conf_host
from ..model.wording import count, visible
from ..records import evidence
from ..reports import damage
from ..reports.evidence_words import label, natural
from ..reports.page import Context
from . import (
    capacity_outlook,
    changes,
    prometheus,
    remedies,
)
from . import checks as audit
from .scope import Scope, scope

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
#: Counts of a report that are no findings, and what the table calls them.
_OTHERS = {"unchecked": "not decided", "overridden": "overridden"}
#: Hosts that the table names for one reason.
NAMED = 12
#: What a start of nova-compute does, besides what a forecast calls its outcome.
DESTROYS, TOUCHES = "destroys", "changes guests"


@dataclasses.dataclass(frozen=True)
class AuditResult:
    """What an audit says: C(report.json), and what other forms than the page show besides."""

    report: t.Dict[str, t.Any]
    checked: Checked
    starts: t.Tuple[Start, ...]
    overrides: t.Tuple[Override, ...]
    #: What to do, host by host, in an order in which nothing contradicts what came before.
    remedies: t.Tuple[remedies.HostRemedies, ...]
    scope: Scope

    @property
    def verdict(self) -> str:
        """pass, warn or block."""
        return str(self.report["verdict"])


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
    about = scope(bundle)
    counted = [item.code for item in checked.unchecked if isinstance(item, CountedOnly)]
    told = report(checked, bundle.collected_at, hosts, servers(bundle), overrides)
    told["remedies"] = [_ways_plain(way) for way in ways]
    told["scope"] = about.plain(counted)
    told["fleet"] = _fleet(starts, capacity_outlook.zones(bundle, measured), bundle)
    told["passed"] = sorted({*audit.AUDITED} - {item["code"] for item in (*told["findings"], *told["unchecked"])})
    return AuditResult(told, checked, starts, tuple(overrides), ways, about)


def _fleet(
    starts: t.Sequence[Start], zones: t.Sequence[capacity_outlook.Zone], bundle: Bundle
) -> t.List[t.Dict[str, t.Any]]:
    """Return all hosts: what is known of each, what a start of nova-compute would do, and what its loss would need."""
    forecasts, aliases = (
        {start.inventory_name: start for start in starts},
        {same[0]: same for same in _same_hosts(bundle)},
    )
    hosts = sorted((host for zone in zones for host in zone.hosts), key=lambda host: natural(host.inventory_name))
    return [
        {
            "name": host.inventory_name,
            "names": aliases.get(host.inventory_name, [host.inventory_name]),
            "zone": host.zone,
            "read": host.inventory_name not in bundle.unreachable,
            "reason": host.reason,
            "start": _start_short(forecasts[host.inventory_name]),
            "memory": {
                "guests": host.guests,
                "total_mib": host.total,
                "available_mib": host.available,
                "needed_mib": host.need,
                "others_free_mib": host.others,
                "unplaced_guests": host.no_room,
                "unplaced_mib": host.no_room_mib,
                "unread_hosts": host.unknown,
            },
        }
        for host in hosts
    ]


def _start_short(start: Start) -> t.Dict[str, t.Any]:
    outcome = start.outcome
    if start.destroys:
        outcome = DESTROYS
    elif outcome == STARTS and (start.guests or start.unread):
        outcome = TOUCHES
    return {
        "outcome": outcome,
        "destroys": len(start.destroys),
        "destroys_known": start.destroys_known,
        "releases": list(start.releases),
        "summary": start.told,
    }


def _known_starts(starts: t.Sequence[Start]) -> t.Dict[str, t.Optional[str]]:
    """By inventory name, None where a start of nova-compute is known to destroy nothing, else what is known.

    A start that is known to be refused is in vain; where it is only not known, it may be tried.
    """
    return {
        start.inventory_name: None
        if start.outcome != REFUSES and not start.destroys and start.destroys_known
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
        "destroys_known": start.destroys_known,
        "unread": list(start.unread),
        "doubts": list(start.doubts),
        "told": start.told,
    }


def report_prom(found: AuditResult, version: t.Optional[str] = None, new_blockers: t.Optional[int] = None) -> str:
    """Return C(report.prom), for the text file collector of Prometheus' node exporter."""
    return prometheus.text(found, version, new_blockers)


# --- for people -----------------------------------------------------------------------------------------------


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
    order = sorted(by_code, key=lambda key: (SEVERITIES.index(key[1]), damage.rank(key[0]), key))
    for code, severity in order:
        items = by_code[code, severity]
        names = [label(item.object) for item in {(item.object.kind, item.object.id): item for item in items}.values()]
        named = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        lines.append(f"{severity:8} {code} {CATALOGUE[code].slug:28} {len(items):6}  {named}")
    lines += _ways_lines(found)
    lines += _unread_lines(found)
    lost = [start for start in found.starts if start.destroys or start.outcome != STARTS or not start.destroys_known]
    lines += [
        f"forecast for the next start of nova-compute on {start.inventory_name}: {visible(start.told)}"
        for start in lost[:NAMED]
    ]
    if len(lost) > NAMED:
        lines.append(f"{count(len(lost) - NAMED, 'more host')}: see forecast.json for the next start of nova-compute")
    return "\n".join(lines)


def context(found: AuditResult, against: t.Optional[t.Mapping[str, t.Any]] = None) -> Context:
    """Return what the page shows besides the report. ``against``: C(changes.json)."""
    return Context(title="Audit of Nova", meaning=VERDICTS[found.verdict], changes=against)


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
    contested = [way for way in found.remedies if way.contested]
    for way in contested[:NAMED]:
        done = [*(["keep nova-compute stopped"] if way.keep_stopped else []), *[step.code for step in way.steps]]
        later = ", ".join(dict.fromkeys(entry.step.code for entry in way.put_off))
        lines.append(
            f"order    of the remedies on {visible(', '.join(way.names)) or 'no host'}: execute now: "
            f"{', '.join(done) or 'nothing'}; execute later: {later} (report.html explains the order)"
        )
    if len(contested) > NAMED:
        lines.append(
            f"order    of the remedies on {count(len(contested) - NAMED, 'more host')}: see the key 'remedies' "
            "in report.json"
        )
    return lines


def _counted(found: AuditResult) -> str:
    """What was found, without zeros."""
    counts = found.report["counts"]
    parts = [count(counts[severity], severity) for severity in (BLOCKER, WARNING) if counts[severity]]
    parts += [count(counts[INFO], "info finding")] if counts[INFO] else []
    parts += [f"{counts[key]} {words}" for key, words in _OTHERS.items() if counts[key]]
    hosts = f"{count(found.report['hosts'], 'host')}, {count(found.report['servers'], 'server')}"
    return f"{hosts}: {', '.join(parts) or 'nothing found'}"


def whole(paths: t.Sequence[str]) -> Bundle:
    """Read saved evidence, of one run or of several (the slices of one job). Raises FactsError."""
    bundles = [evidence.load(path) for path in paths]
    return bundles[0] if len(bundles) == 1 else evidence.merge(bundles)
