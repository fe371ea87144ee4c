# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The numbers of an audit as Prometheus' text format, for the node exporter. Pure.

A code that was decided and not found is 0; one that was not decided has no number: it is among what is unchecked.
"""

from __future__ import annotations

import collections
import typing as t

from ..hazards.forecast import REFUSES, STARTS, UNKNOWN
from ..model.findings import CATALOGUE, SEVERITIES
from ..model.times import moment
from ..model.wording import visible
from . import checks

if t.TYPE_CHECKING:
    from .report import AuditResult

Values = t.Sequence[t.Tuple[t.Mapping[str, str], float]]
PREFIX = "stackguard_audit"
VERDICTS = ("pass", "warn", "block")


def text(found: AuditResult, version: t.Optional[str] = None, new_blockers: t.Optional[int] = None) -> str:
    """Return C(report.prom). ``version``: of the collection. ``new_blockers``: None where nothing can be compared."""
    name = found.scope.name
    metrics = _Metrics({key: str(value) for key, value in (("cloud", name.cloud), ("region", name.region)) if value})
    if version:
        metrics.gauge("info", "Version of stackguard.nova that made the report.", [({"version": version}, 1)])
    _whole(metrics, found)
    if new_blockers is not None:
        metrics.gauge("new_blockers", "Blockers that the earlier audit did not have.", [({}, new_blockers)])
    _findings(metrics, found)
    _forecast(metrics, found)
    short = sum(1 for entry in found.report["fleet"] if entry["memory"]["unplaced_guests"])
    without_room = "Number of hosts whose guests do not fit into the free memory of the other hosts in the zone."
    metrics.gauge("hosts_without_room", without_room, [({}, short)])
    return metrics.text()


def _whole(metrics: _Metrics, found: AuditResult) -> None:
    when = moment(found.report["generated_at"])
    if when is not None:
        metrics.gauge(
            "generated_timestamp_seconds", "Time at which the evidence was collected.", [({}, int(when.timestamp()))]
        )
    if found.scope.seconds is not None:
        metrics.gauge(
            "duration_seconds", "Duration of the audit's data collection in seconds.", [({}, found.scope.seconds)]
        )
    verdicts = [({"verdict": name}, int(found.verdict == name)) for name in VERDICTS]
    metrics.gauge("verdict", "Verdict of the most recent audit.", verdicts)
    metrics.gauge("hosts", "Compute hosts, including hosts that did not answer.", [({}, found.report["hosts"])])
    metrics.gauge("hosts_unread", "Compute hosts that did not answer.", [({}, len(found.scope.unread_hosts))])
    metrics.gauge("servers", "Servers.", [({}, found.report["servers"])])


def _findings(metrics: _Metrics, found: AuditResult) -> None:
    counted = collections.Counter((item.code, item.severity) for item in found.checked.findings)
    undecided = collections.Counter(item["code"] for item in found.report["unchecked"])
    decided = [(code, level) for code in checks.AUDITED if code not in undecided for level in SEVERITIES]
    values = [
        ({"code": code, "slug": CATALOGUE[code].slug, "severity": level}, counted[code, level])
        for code, level in sorted({*decided, *counted}, key=lambda key: (key[0], SEVERITIES.index(key[1])))
    ]
    metrics.gauge(
        "findings",
        "Number of findings, by code and severity. The value 0 means that all checks of the code are decided, and "
        "that the code has no finding of this severity. If a check of the code is undecided, the metric has no "
        "value for the severities without findings.",
        values,
    )
    totals = [({"severity": level}, found.report["counts"][level]) for level in SEVERITIES]
    metrics.gauge("findings_by_severity", "All findings, by severity.", totals)
    passed = found.report["counts"]["overridden"]
    metrics.gauge("findings_overridden", "Overridden findings.", [({}, passed)])
    codes = sorted({*checks.AUDITED, *undecided})
    metrics.gauge("unchecked", "Undecided checks, by code.", [({"code": code}, undecided[code]) for code in codes])


def _forecast(metrics: _Metrics, found: AuditResult) -> None:
    outcomes = collections.Counter(start.outcome for start in found.starts)
    metrics.gauge(
        "forecast_hosts",
        "Number of hosts, by the outcome that the audit forecasts for the next start of nova-compute.",
        [({"outcome": name}, outcomes[name]) for name in (STARTS, REFUSES, UNKNOWN)],
    )
    lost = sum(len(start.destroys) for start in found.starts)
    metrics.gauge(
        "forecast_guests_destroyed",
        "Number of guests that nova-compute would destroy at its next start, for all hosts together.",
        [({}, lost)],
    )
    metrics.gauge(
        "host_forecast",
        "What nova-compute would do on each host if nova-compute started now. The outcome that the forecast "
        "predicts has the value 1. All other outcomes have the value 0.",
        [
            ({"host": start.inventory_name, "outcome": name}, int(start.outcome == name))
            for start in found.starts
            for name in (STARTS, REFUSES, UNKNOWN)
        ],
    )
    metrics.gauge(
        "host_forecast_guests_destroyed",
        "For each host, the number of guests that nova-compute would destroy at its next start.",
        [({"host": start.inventory_name}, len(start.destroys)) for start in found.starts if start.destroys_known],
    )


class _Metrics:
    """Lines of Prometheus' text format. ``common``: labels of each; two clouds may be in one directory."""

    def __init__(self, common: t.Mapping[str, str]) -> None:
        self._common = common
        self._lines: t.List[str] = []

    def gauge(self, name: str, words: str, values: Values) -> None:
        full = f"{PREFIX}_{name}"
        self._lines += [f"# HELP {full} {words}", f"# TYPE {full} gauge"]
        for labels, value in values:
            whole = {**labels, **self._common}
            inside = ",".join(f'{key}="{_label(label)}"' for key, label in whole.items())
            self._lines.append(f"{full}{{{inside}}} {value}" if inside else f"{full} {value}")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _label(label: str) -> str:
    return visible(label).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
