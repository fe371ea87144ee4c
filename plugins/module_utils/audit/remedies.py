# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The remedies of a report, host by host: in one order, and without those that contradict one another. Pure.

Each finding has its own remedy, and two of one host may order opposite things: keep nova-compute stopped (SG113), and
start it once (SG509). Followed from the top down, the second destroys what the first one kept. Here the rules decide:
what comes first, and what is put off until another finding is gone. A start of nova-compute is never among the steps
unless the host was read, and its forecast says that a start destroys nothing.

Nothing is lost: each finding that is to be settled is either among the steps or among what is put off.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    Finding,
    ordered,
)

#: What a remedy needs of nova-compute on its host.
STOPPED = "stopped"
RUNNING = "running"

#: The order of the steps on one host.
PHASES = (
    "automation",  # what acts by itself while the service is down
    "read",  # what was not read
    "operation",  # an operation that is open, or holds the host
    "guests",  # domains and disks: what can be destroyed
    "identity",  # who the host is
    "names",  # what it is called where
    "links",  # ids in the database
    "return",  # what an evacuation left
    "service",  # nova-compute runs again
    "rest",
)


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is to be known of a code's remedy. ``after``: codes that make it void while they stand on the same host.

    ``evidence``: what a finding's evidence has where its remedy is about nova-compute at all.
    """

    phase: str
    compute: t.Optional[str] = None
    after: t.FrozenSet[str] = frozenset()
    evidence: t.Optional[str] = None


#: An open rename has two names on purpose: it is resumed or rolled back, and nothing of it is corrected by hand.
_OPERATION = frozenset({"SG706"})
#: Which store of a half rename is wrong is found first; each of the others would be corrected towards one of the names.
_NAMES = frozenset({"SG706", "SG301"})
#: A cloned host gets an identity of its own: what its copy says is not corrected.
_FILES = frozenset({"SG706", "SG107"})
#: C(return_host) starts the service and enables it; by hand it would skip what that verifies.
_RETURN = frozenset({"SG706", "SG509", "SG515", "SG516"})

RULES: t.Mapping[str, Rule] = {
    "SG101": Rule("identity", STOPPED, _FILES),
    "SG102": Rule("identity", STOPPED, _FILES),
    "SG103": Rule("identity", STOPPED, _FILES),
    "SG104": Rule("identity", STOPPED, _FILES),
    "SG105": Rule("names", STOPPED, _NAMES),
    "SG106": Rule("names", STOPPED, _NAMES),
    # Of libvirt's host uuid, and on the host that keeps its compute_id, nova-compute may run.
    "SG107": Rule("identity", STOPPED, _OPERATION, "nova-compute"),
    "SG108": Rule("guests", STOPPED),
    "SG109": Rule("guests", STOPPED),
    "SG110": Rule("guests", STOPPED),
    "SG112": Rule("identity", STOPPED, _NAMES),
    "SG113": Rule("guests", STOPPED),
    "SG114": Rule("read"),
    "SG115": Rule("read"),
    "SG116": Rule("service", RUNNING, _NAMES),
    "SG117": Rule("service", RUNNING, _NAMES),
    "SG119": Rule("identity", STOPPED, _NAMES),
    # Its remedy refuses to start while one of these stands.
    "SG131": Rule("names", STOPPED, frozenset({"SG706", "SG107", "SG108", "SG132", "SG203", "SG509"})),
    "SG132": Rule("guests", STOPPED),
    "SG201": Rule("links", RUNNING, frozenset({"SG203"})),
    "SG202": Rule("links", RUNNING, frozenset({"SG203"})),
    "SG203": Rule("links"),
    "SG204": Rule("service", RUNNING, _NAMES | {"SG203"}),
    # Deleting the node or its service takes the one that names it by mistake with it.
    "SG205": Rule("links", STOPPED, frozenset({"SG706", "SG107", "SG203"})),
    "SG206": Rule("identity", STOPPED, frozenset({"SG102", "SG112"})),
    "SG211": Rule("links", RUNNING, frozenset({"SG214"})),
    "SG212": Rule("links", RUNNING, frozenset({"SG214"})),
    "SG213": Rule("links", RUNNING, frozenset({"SG214"})),
    # nova-compute overwrites the id at its next pass, whether the names are right or not.
    "SG214": Rule("links", STOPPED),
    "SG216": Rule("names", STOPPED, _NAMES),
    "SG217": Rule("guests"),
    "SG301": Rule("names", STOPPED, _OPERATION),
    "SG302": Rule("names", None, _NAMES | {"SG203"}),
    "SG303": Rule("names", None, _NAMES),
    "SG304": Rule("names", STOPPED, _NAMES),
    "SG305": Rule("names", None, _NAMES),
    "SG306": Rule("names", None, _NAMES),
    "SG309": Rule("names", STOPPED, _OPERATION),
    "SG311": Rule("read"),
    "SG331": Rule("names", None, _NAMES | {"SG203"}),
    "SG507": Rule("guests", STOPPED),
    "SG509": Rule("return", RUNNING, _OPERATION),
    "SG515": Rule("return", RUNNING, _OPERATION),
    "SG516": Rule("return", RUNNING, _OPERATION),
    "SG517": Rule("service", RUNNING),
    "SG703": Rule("service", RUNNING),
    "SG704": Rule("service", RUNNING, _RETURN),
    # Of a database or the API it is about an upgrade.
    "SG705": Rule("service", RUNNING, evidence="services.version"),
    "SG706": Rule("operation"),
    "SG707": Rule("operation"),
    "SG708": Rule("automation"),
    "SG709": Rule("read"),
    "SG711": Rule("service", RUNNING),
}
#: Keys of evidence that name a second host, for codes that keep nova-compute of both stopped.
_BOTH_ENDS: t.Mapping[str, t.Tuple[str, ...]] = {"SG309": ("source", "destination")}
#: Of every other code: it contradicts nothing.
_OTHER = Rule("rest")

KEEP_STOPPED = (
    "Do not start or restart nova-compute on this host before you have completed the steps below. Prevent others from "
    "starting nova-compute: systemctl mask nova-compute (the unit may have another name)."
)
AGAIN = "Run the audit again. The new report shows the remedies that this report does not show yet."


@dataclasses.dataclass(frozen=True)
class RemedyStep:
    """One remedy of one code, with the findings that it settles."""

    code: str
    severity: str
    remedy: str
    findings: t.Tuple[Finding, ...]


@dataclasses.dataclass(frozen=True)
class PutOff:
    """A step that is not to be done now. ``until``: codes that must be gone first; ``because``: what is not known."""

    step: RemedyStep
    until: t.Tuple[str, ...]
    because: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class HostRemedies:
    """What to do for one host, in order. ``names``: all that it is known by; none for what is of no host.

    ``keep_stopped``: codes for which nova-compute must not start now. Where there are any, this comes first.
    """

    names: t.Tuple[str, ...]
    keep_stopped: t.Tuple[str, ...]
    steps: t.Tuple[RemedyStep, ...]
    put_off: t.Tuple[PutOff, ...]

    @property
    def contested(self) -> bool:
        """Whether the order matters: followed one by one, the findings' remedies would contradict one another."""
        return bool(self.put_off)


def rule_of(code: str) -> Rule:
    """Return the rule of a code; one that no rule names contradicts nothing."""
    return RULES.get(code, _OTHER)


def needs(item: Finding) -> t.Optional[str]:
    """Return what the remedy of a finding needs of nova-compute: STOPPED, RUNNING, or None."""
    rule = rule_of(item.code)
    about = rule.evidence is None or rule.evidence in item.evidence
    return rule.compute if about else None


def merged(
    findings: t.Iterable[Finding],
    starts: t.Mapping[str, t.Optional[str]],
    same: t.Iterable[t.Collection[str]] = (),
) -> t.List[HostRemedies]:
    """Return what to do, host by host, of findings that stand (none that an override passes).

    ``starts``: by a host's name, None where it is known that a start of nova-compute destroys nothing, else why not. Of
    a host that is not there nothing is known. ``same``: names of one host. Hosts are in the order of their names; what
    is of no host comes last.
    """
    known = _Names(same)
    items = [item for item in ordered(findings) if item.severity != INFO]
    for item in items:
        known.join(_names_of(item))
    groups: t.Dict[t.Tuple[str, ...], t.List[Finding]] = {}
    for item in items:
        groups.setdefault(known.all_of(_names_of(item)), []).append(item)
    elsewhere = _stopped_elsewhere(items, known)
    said = {name.casefold(): why for name, why in starts.items()}
    return [
        _host(names, groups[names], elsewhere.get(names, set()), _why_no_start(names, said))
        for names in sorted(groups, key=lambda names: (not names, names))
    ]


def _stopped_elsewhere(items: t.Sequence[Finding], known: _Names) -> t.Dict[t.Tuple[str, ...], t.Set[str]]:
    """Return, by host, the codes of other hosts' findings for which its nova-compute must stay stopped, too."""
    found: t.Dict[t.Tuple[str, ...], t.Set[str]] = {}
    for item in items:
        for key in _BOTH_ENDS.get(item.code, ()):
            name = item.evidence.get(key)
            if name:
                known.join([str(name)])
                found.setdefault(known.all_of([str(name)]), set()).add(item.code)
    return found


def _names_of(item: Finding) -> t.List[str]:
    names = [item.object.host] if item.object.host else []
    if item.object.kind == "host":
        names.append(item.object.id)
    return names


class _Names:
    """Which names are of one host. Nova's and the inventory's may differ, and case does not tell hosts apart."""

    def __init__(self, same: t.Iterable[t.Collection[str]]) -> None:
        self._groups: t.Dict[str, t.Set[str]] = {}
        for names in same:
            self.join(names)

    def join(self, names: t.Collection[str]) -> None:
        whole = set(names)
        for name in names:
            whole |= self._groups.get(name.casefold(), set())
        for name in whole:
            self._groups[name.casefold()] = whole

    def all_of(self, names: t.Sequence[str]) -> t.Tuple[str, ...]:
        return tuple(sorted(self._groups[names[0].casefold()])) if names else ()


def _why_no_start(names: t.Sequence[str], said: t.Mapping[str, t.Optional[str]]) -> t.Optional[str]:
    """Why nova-compute is not to be started. None: every host of this name is known to start and destroy nothing."""
    if not names:
        return None  # it is about no host
    mine = [said[name.casefold()] for name in names if name.casefold() in said]
    if not mine:
        return "the host was not read, so the effect of a start of nova-compute is not known"
    return next((why for why in mine if why is not None), None)


def _host(
    names: t.Tuple[str, ...], items: t.Sequence[Finding], elsewhere: t.Set[str], no_start: t.Optional[str]
) -> HostRemedies:
    codes = {item.code for item in items}
    stopped = {item.code for item in items if needs(item) == STOPPED} | elsewhere
    steps, put_off = [], []
    for step in _steps(items):
        rule = rule_of(step.code)
        running = needs(step.findings[0]) == RUNNING
        until = (rule.after & codes) | (stopped if running else set())
        because = no_start if running else None
        if until or because:
            put_off.append(PutOff(step, tuple(sorted(until)), because))
        else:
            steps.append(step)
    return HostRemedies(names, tuple(sorted(stopped)), tuple(steps), tuple(put_off))


def _steps(items: t.Sequence[Finding]) -> t.List[RemedyStep]:
    groups: t.Dict[t.Tuple[str, str, str], t.List[Finding]] = {}
    for item in items:
        groups.setdefault((item.code, item.severity, item.remedy), []).append(item)
    steps = [RemedyStep(*key, tuple(members)) for key, members in groups.items()]
    return sorted(steps, key=_place)


def _place(step: RemedyStep) -> t.Tuple[t.Any, ...]:
    absolute = CATALOGUE[step.code].absolute
    return PHASES.index(rule_of(step.code).phase), not absolute, step.severity != BLOCKER, step.code, step.remedy
