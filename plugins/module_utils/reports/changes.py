# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed since the last audit, and whether a blocker is new. Pure.

An earlier report is a claim about another day. It excuses a blocker of today only where both are about the same cloud,
hosts and sources, and where everything was read in both: else a blocker may be "known" that is another one, and
nothing passes that would not pass without any earlier report.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER, REPORT_SCHEMA
from ansible_collections.stackguard.nova.plugins.module_utils.model.times import moment
from ansible_collections.stackguard.nova.plugins.module_utils.records.history import Kept
from ansible_collections.stackguard.nova.plugins.module_utils.reports import remedies
from ansible_collections.stackguard.nova.plugins.module_utils.reports.scope import Scope

SCHEMA = 1
#: What of a finding makes it the same one on another day. Evidence is not: it has times and amounts.
Key = t.Tuple[str, str, str, str]


@dataclasses.dataclass(frozen=True)
class Earlier:
    """One earlier report, as the history has it. ``scope``: C(scope_plain) of its audit."""

    scope: t.Mapping[str, t.Any]
    report: t.Mapping[str, t.Any]
    #: Keys of blockers that stood: an override passed none of them.
    standing: t.FrozenSet[Key]

    @property
    def generated_at(self) -> str:
        """When its evidence was collected."""
        return str(self.report["generated_at"])


@dataclasses.dataclass(frozen=True)
class History:
    """Earlier reports, oldest first. ``damaged``: why one of them, or all, cannot be read; None: none is damaged.

    ``damaged_at``: the moment of the newest damaged one, as far as its name shows it; None: it may be any.
    """

    reports: t.Tuple[Earlier, ...] = ()
    damaged: t.Optional[str] = None
    damaged_at: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Changes:
    """What is new, gone and known, against ``since``. ``because``: why the two cannot be compared; empty: they can."""

    since: t.Optional[str]
    because: t.Tuple[str, ...]
    new: t.Tuple[t.Dict[str, t.Any], ...]
    gone: t.Tuple[t.Dict[str, t.Any], ...]
    known: int
    #: Blockers that stand now and did not stand then; None: there is nothing to compare with.
    new_blockers: t.Optional[int]
    trend: t.Tuple[t.Dict[str, t.Any], ...]

    @property
    def comparable(self) -> bool:
        """Whether an earlier report may excuse a blocker of this one."""
        return self.since is not None and not self.because


def kept_plain(entry: Earlier) -> t.Dict[str, t.Any]:
    """Return a report as the history keeps it."""
    return {
        "scope": dict(entry.scope),
        "report": dict(entry.report),
        "standing": sorted(list(key) for key in entry.standing),
    }


def history(kept: t.Iterable[Kept]) -> History:
    """Return the earlier reports of what was kept. One that cannot be understood is damaged."""
    reports, damaged, damaged_at = [], None, None
    for entry in kept:
        found = None if entry.content is None else _earlier(entry.content)
        if found is not None:
            reports.append(found)
            continue
        # The newest counts; of one without a moment it is not known when it was.
        unknown = damaged is not None and damaged_at is None
        damaged = (
            damaged
            if unknown
            else f"the history of audit reports is damaged: {entry.reason or 'a report has an unknown format'}"
        )
        damaged_at = None if unknown else entry.moment
    return History(tuple(sorted(reports, key=lambda one: one.generated_at)), damaged, damaged_at)


def _earlier(content: t.Mapping[str, t.Any]) -> t.Optional[Earlier]:
    scope, report, standing = content.get("scope"), content.get("report"), content.get("standing")
    if not isinstance(scope, dict) or not isinstance(report, dict) or not isinstance(standing, list):
        return None
    if report.get("schema") != REPORT_SCHEMA or not set(_SCOPE) <= set(scope):
        return None
    try:
        found = Earlier(scope, report, frozenset((str(a), str(b), str(c), str(d)) for a, b, c, d in standing))
        _looked_at(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return found


def _looked_at(entry: Earlier) -> None:
    """Look at all that a comparison will look at. Raises what a report of another layout raises."""
    if moment(entry.generated_at) is None:
        raise ValueError(entry.generated_at)
    _point(entry)
    for item in entry.report["findings"]:
        _short({**item, "key": _dated(item)})
    for item in entry.report["unchecked"]:
        str(item["reason"]).join(_undecided_key(item))


#: In a scope: codes of which rows were counted, and not listed or not compared.
COUNTED = "counted"
_SCOPE = ("cloud", "region", "hosts", "unread_hosts", "requested", "read", "missing", "stores")
NOTHING = Changes(None, ("there is no earlier report",), (), (), 0, None, ())


def scope_plain(scope: Scope, counted: t.Iterable[str] = ()) -> t.Dict[str, t.Any]:
    """Return what of a scope decides about a comparison. ``counted``: codes of which rows were only counted."""
    return {
        COUNTED: sorted(set(counted)),
        "cloud": scope.name.cloud,
        "region": scope.name.region,
        "hosts": list(scope.hosts),
        "unread_hosts": list(scope.unread_hosts),
        "requested": list(scope.requested),
        "read": list(scope.read),
        "missing": scope.missing,
        "stores": list(scope.stores),
    }


def key_of(item: t.Mapping[str, t.Any]) -> Key:
    """Return what makes a finding of a report the same one on another day."""
    subject = item["object"]
    return str(item["code"]), str(subject["kind"]), str(subject["id"]), str(subject.get("host"))


def changes(now: Earlier, history: History) -> Changes:
    """Compare with the last earlier report of the same scope, else with the last one of the same cloud."""
    earlier = [entry for entry in history.reports if _before(entry.generated_at, now.generated_at)]
    same_cloud = [entry for entry in earlier if _cloud(entry) == _cloud(now)]
    trend = tuple(_point(entry) for entry in (*same_cloud, now))
    fit = next((entry for entry in reversed(same_cloud) if not _against(entry, now)), None)
    damaged = _damage(history, fit, now)
    last = fit or (same_cloud[-1] if same_cloud else None)
    if last is None:
        why = damaged or ["there is no earlier report" if not earlier else "the earlier reports are of another cloud"]
        return dataclasses.replace(NOTHING, because=tuple(why), trend=trend)
    because = [*damaged, *_against(last, now)]
    return _compared(now, last, tuple(because), trend)


def _compared(
    now: Earlier, last: Earlier, because: t.Tuple[str, ...], trend: t.Tuple[t.Dict[str, t.Any], ...]
) -> Changes:
    left = collections.Counter(_dated(item) for item in last.report["findings"])
    new, known = [], 0
    for item in now.report["findings"]:
        if left[_dated(item)] > 0:
            left[_dated(item)] -= 1
            known += 1
        else:
            new.append(item)
    gone = []
    for item in last.report["findings"]:
        if left[_dated(item)] > 0:
            left[_dated(item)] -= 1
            gone.append(item)
    blockers = _new_blockers(now, last)
    return Changes(
        last.generated_at, because, tuple(map(_short, new)), tuple(map(_short, gone)), known, blockers, trend
    )


def _dated(item: t.Mapping[str, t.Any]) -> t.Tuple[Key, str]:
    # A warning that has become a blocker is new.
    return key_of(item), str(item["severity"])


def _new_blockers(now: Earlier, last: Earlier) -> int:
    """Blockers that stand now. More of one key than there were before are new, too."""
    before = collections.Counter(
        key_of(item)
        for item in last.report["findings"]
        if item["severity"] == BLOCKER and key_of(item) in last.standing
    )
    today = collections.Counter(
        key_of(item) for item in now.report["findings"] if item["severity"] == BLOCKER and key_of(item) in now.standing
    )
    return sum((today - before).values())


def _short(item: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    return {name: item[name] for name in ("code", "slug", "severity", "object")}


def _cloud(entry: Earlier) -> t.Tuple[t.Any, t.Any]:
    return entry.scope["cloud"], entry.scope["region"]


def _point(entry: Earlier) -> t.Dict[str, t.Any]:
    report = entry.report
    return {
        "generated_at": entry.generated_at,
        "verdict": report["verdict"],
        "counts": dict(report["counts"]),
    }


def _before(one: str, other: str) -> bool:
    then, now = moment(one), moment(other)
    return then is not None and now is not None and then < now


def _damage(history: History, fit: t.Optional[Earlier], now: Earlier) -> t.List[str]:
    """A damaged report that is older than the one that fits does not matter, nor does one of the time after this."""
    if history.damaged is None:
        return []
    at = history.damaged_at
    older = fit is not None and at is not None and not _before(fit.generated_at, at)
    later = at is not None and _before(now.generated_at, at)
    return [] if older or later else [history.damaged]


def _against(then: Earlier, now: Earlier) -> t.List[str]:
    """Return every reason why an earlier report may excuse nothing."""
    reasons = [
        f"{what} differ between the two audits"
        for what, name in (
            ("the hosts", "hosts"),
            ("the sources that were requested", "requested"),
            ("the sources that were read", "read"),
            ("the databases or Ceph pools", "stores"),
        )
        if then.scope[name] != now.scope[name]
    ]
    if COUNTED not in then.scope:
        reasons.append(
            "another version of this collection wrote the earlier report, and the earlier report does not show which "
            "findings were counted but not listed"
        )
    if now.scope["cloud"] is None and not now.scope["stores"]:
        reasons.append(
            "the cloud is not known, because the evidence of this audit contains neither the name of the cloud nor the "
            "name of a database or Ceph pool"
        )
    for entry, which in ((now, "this audit"), (then, "the earlier audit")):
        if _gaps(entry):
            reasons.append(f"{which} did not read all sources")
    undecided = _undecided(now) - _undecided(then)
    if undecided:
        codes = sorted({code for code, _object in undecided})
        reasons.append(
            f"this audit could not complete the checks {', '.join(codes[:5])}{' ...' if len(codes) > 5 else ''}"
        )
    return reasons


def _gaps(entry: Earlier) -> bool:
    """Whether anything that was to be read was not, or was only counted."""
    unread = any(remedies.rule_of(str(item["code"])).phase == "read" for item in entry.report["findings"])
    counted = entry.scope.get(COUNTED)
    return bool(unread or counted or entry.scope["unread_hosts"] or entry.scope["missing"])


def _undecided(entry: Earlier) -> t.Set[t.Tuple[str, str]]:
    return {_undecided_key(item) for item in entry.report["unchecked"]}


def _undecided_key(item: t.Mapping[str, t.Any]) -> t.Tuple[str, str]:
    return str(item["code"]), str(item["object"])


def changes_plain(found: Changes, generated_at: str) -> t.Dict[str, t.Any]:
    """Return C(changes.json). What is no longer there is C(gone) only where everything was read in both."""
    return {
        "schema": SCHEMA,
        "generated_at": generated_at,
        "since": found.since,
        "comparable": found.comparable,
        "because": list(found.because),
        "new": list(found.new),
        "gone": list(found.gone) if found.comparable else [],
        "not_seen": [] if found.comparable else list(found.gone),
        "known": found.known,
        "new_blockers": found.new_blockers,
        "trend": list(found.trend),
    }
