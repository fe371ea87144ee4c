# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which finding does the most damage, and when: what people read first. It decides nothing. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    SEVERITIES,
    Finding,
    Override,
    from_report,
    overridden,
    overrides_of,
)
from ..model.wording import count
from .evidence_words import host_of, label, natural

Json = t.Mapping[str, t.Any]

NOW, NEXT_START, NOT_KNOWN, SOME_DAY = "now", "at the next start", "not known", "some day"
TIMES = (NOW, NEXT_START, NOT_KNOWN, SOME_DAY)
#: What is being lost, what the next start of a host, of nova-compute or of a guest would lose, and what was not read:
#: worst first. All other codes do harm some day, such as by the next operation.
_CODES: t.Mapping[str, t.Sequence[str]] = {
    NOW: ("SG507", "SG504", "SG517", "SG132", "SG108", "SG711", "SG109", "SG107"),
    NEXT_START: (
        *("SG113", "SG330", "SG127", "SG329", "SG521", "SG509", "SG110", "SG203", "SG205", "SG206", "SG102", "SG103"),
        *("SG101", "SG104", "SG105", "SG106", "SG204", "SG126", "SG320", "SG606", "SG128"),
        *("SG601", "SG602", "SG604", "SG605", "SG603"),
    ),
    NOT_KNOWN: ("SG114", "SG709", "SG311", "SG316", "SG317"),
}
_RANKS = {code: (TIMES.index(time), rank) for time, codes in _CODES.items() for rank, code in enumerate(codes)}
#: Objects that a sentence names.
NAMED = 3


def rank(code: str) -> t.Tuple[int, int]:
    """Return a key that sorts codes: what does damage first, and most."""
    return _RANKS.get(code, (len(TIMES) - 1, 0))


def time_of(code: str) -> str:
    """Return when a finding of this code does its damage, as one of TIMES."""
    return TIMES[rank(code)[0]]


@dataclasses.dataclass(frozen=True)
class Fact:
    """All findings of one code and severity that no override passes."""

    code: str
    severity: str
    findings: t.Tuple[Finding, ...]

    @property
    def words(self) -> str:
        """What is wrong, with what, in one sentence."""
        objects = {(item.object.kind, item.object.id): label(item.object) for item in self.findings}
        names = sorted(dict.fromkeys(objects.values()), key=natural)
        hosts = sorted({host for host in map(host_of, self.findings) if host} - {*names}, key=natural)
        on = f" on {_named(hosts, 'host')}" if hosts else ""
        return f"{CATALOGUE[self.code].summary.rstrip('.')}: {_named(names, 'object')}{on} ({self.code})"


def _named(names: t.Sequence[str], what: str) -> str:
    more = len(names) - NAMED
    if more <= 0:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {count(more, f'more {what}')}"


def facts(report: Json, more: t.Sequence[Override] = ()) -> t.List[Fact]:
    """Return what is wrong, worst first. ``more``: overrides besides those of the report."""
    overrides = [*overrides_of(report), *more]
    groups: t.Dict[t.Tuple[str, str], t.List[Finding]] = {}
    for item in map(from_report, report.get("findings") or ()):
        if item.severity != INFO and not overridden(item, overrides):
            groups.setdefault((item.severity, item.code), []).append(item)
    order = sorted(groups, key=lambda key: (SEVERITIES.index(key[0]), rank(key[1]), key[1]))
    return [Fact(code, severity, tuple(groups[severity, code])) for severity, code in order]


def fix_first(found: t.Sequence[Fact]) -> str:
    """Return how much has to be fixed before anything else; empty: nothing that is known."""
    number = sum(1 for fact in found if fact.severity == BLOCKER)
    return f"Fix {count(number, 'thing')} first" if number else ""
