# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed since the last audit, by its C(report.json), and whether a blocker is new. Pure.

An earlier report is a claim about another day. It excuses a blocker of today only where both are about the same cloud,
hosts and sources, and where everything was read in both: else a blocker may be "known" that is another one, and
nothing passes that would not pass without any earlier report.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..model.findings import (
    BLOCKER,
    REPORT_SCHEMA,
    OverrideError,
    from_report,
    overridden,
    parse_overrides,
)
from ..model.times import moment
from . import remedies

SCHEMA = 1
Json = t.Mapping[str, t.Any]
#: What of a finding makes it the same one on another day. Evidence is not: it has times and amounts.
Key = t.Tuple[str, str, str, str]
_SCOPE = ("cloud", "region", "requested", "read", "missing", "stores", "counted")


@dataclasses.dataclass(frozen=True)
class Previous:
    """The report of the audit before. ``report`` None: there is none, or it is ``damaged``, for this reason."""

    report: t.Optional[Json] = None
    damaged: t.Optional[str] = None


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
    #: The keys of ``because``.
    why: t.Tuple[str, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether the previous report may excuse a blocker of this one."""
        return self.since is not None and not self.because


NOTHING = Changes(None, ("there is no earlier report",), (), (), 0, None, ("none",))


def previous(content: t.Any, where: str) -> Previous:
    """Return the previous report of what its file holds, parsed. One that cannot be understood is damaged."""
    try:
        if content["schema"] == REPORT_SCHEMA and moment(str(content["generated_at"])) is not None:
            # All that a comparison will look at.
            _compared(content, content, {})
            _against(content, content)
            return Previous(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverrideError):
        pass
    return damaged(f"{where} is not the report of an audit by this version of the collection")


def damaged(why: str) -> Previous:
    """Return that the previous report cannot be used."""
    return Previous(None, f"the report of the previous audit is damaged: {why}")


def is_later(now: Json, then: Previous) -> bool:
    """Whether a report replaces the previous one. To judge the same evidence again is no other audit."""
    return then.report is None or _before(str(then.report["generated_at"]), str(now["generated_at"]))


def key_of(item: Json) -> Key:
    """Return what makes a finding of a report the same one on another day."""
    subject = item["object"]
    return str(item["code"]), str(subject["kind"]), str(subject["id"]), str(subject.get("host"))


def changes(now: Json, then: Previous) -> Changes:
    """Compare a report with the one of the audit before."""
    last = then.report
    if last is None:
        return dataclasses.replace(NOTHING, because=(then.damaged,), why=("damaged",)) if then.damaged else NOTHING
    if not _before(str(last["generated_at"]), str(now["generated_at"])):
        return NOTHING
    if any(last["scope"][name] != now["scope"][name] for name in ("cloud", "region")):
        return dataclasses.replace(NOTHING, because=("the earlier report is of another cloud",), why=("cloud",))
    return _compared(now, last, _against(last, now))


def _compared(now: Json, last: Json, because: t.Mapping[str, str]) -> Changes:
    left = collections.Counter(_with_severity(item) for item in last["findings"])
    new, known = [], 0
    for item in now["findings"]:
        if left[_with_severity(item)] > 0:
            left[_with_severity(item)] -= 1
            known += 1
        else:
            new.append(item)
    gone = []
    for item in last["findings"]:
        if left[_with_severity(item)] > 0:
            left[_with_severity(item)] -= 1
            gone.append(item)
    # More of one key than there were before are new, too.
    blockers = sum((_standing(now) - _standing(last)).values())
    return Changes(
        str(last["generated_at"]),
        tuple(because.values()),
        tuple(map(_short, new)),
        tuple(map(_short, gone)),
        known,
        blockers,
        tuple(because),
    )


def _with_severity(item: Json) -> t.Tuple[Key, str]:
    # A warning that has become a blocker is new.
    return key_of(item), str(item["severity"])


def _standing(report: Json) -> t.Counter[Key]:
    """Blockers that no override passes."""
    overrides = parse_overrides(report["overrides"])
    return collections.Counter(
        key_of(item)
        for item in report["findings"]
        if item["severity"] == BLOCKER and not overridden(from_report(item), overrides)
    )


def _short(item: Json) -> t.Dict[str, t.Any]:
    return {name: item[name] for name in ("code", "slug", "severity", "object")}


def _before(one: str, other: str) -> bool:
    then, now = moment(one), moment(other)
    return then is not None and now is not None and then < now


def _against(then: Json, now: Json) -> t.Dict[str, str]:
    """Return every reason why the previous report may excuse nothing, by its key."""
    before, today = ({name: report["scope"][name] for name in _SCOPE} for report in (then, now))
    reasons = {} if _hosts(then) == _hosts(now) else {"hosts": "the hosts differ between the two audits"}
    for what, name in (
        ("the sources that were requested", "requested"),
        ("the sources that were read", "read"),
        ("the databases or Ceph pools", "stores"),
    ):
        if before[name] != today[name]:
            reasons[name] = f"{what} differ between the two audits"
    if today["cloud"] is None and not today["stores"]:
        reasons["unknown-cloud"] = (
            "the cloud is not known, because the evidence of this audit contains neither the name of the cloud nor the "
            "name of a database or Ceph pool"
        )
    for report, key, which in ((now, "gaps-now", "this audit"), (then, "gaps-then", "the earlier audit")):
        if _gaps(report):
            reasons[key] = f"{which} did not read all sources"
    undecided = _undecided(now) - _undecided(then)
    if undecided:
        codes = sorted({code for code, _object in undecided})
        reasons["undecided"] = (
            f"this audit could not complete the checks {', '.join(codes[:5])}{' ...' if len(codes) > 5 else ''}"
        )
    return reasons


def _hosts(report: Json) -> t.List[str]:
    return [str(entry["name"]) for entry in report["fleet"]]


def _gaps(report: Json) -> bool:
    """Whether anything that was to be read was not, or was only counted."""
    unread = any(remedies.rule_of(str(item["code"])).phase == "read" for item in report["findings"])
    silent = any(not entry["read"] for entry in report["fleet"])
    return bool(unread or silent or report["scope"]["counted"] or report["scope"]["missing"])


def _undecided(report: Json) -> t.Set[t.Tuple[str, str]]:
    return {(str(item["code"]), str(item["object"])) for item in report["unchecked"]}


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
    }
