# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings: what a check says, the catalogue of their codes, the operator's overrides, and the report.

A finding never guesses: what could not be read becomes an entry of C(unchecked), or a blocker where an operation
depends on it. Codes are stable and never reused. Pure: no I/O, no clock, no Ansible.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .codes import catalogue
from .codes import code as entries
from .facts import to_plain
from .wording import one_line

CATALOGUE = catalogue.CATALOGUE
BLOCKER, WARNING, INFO = entries.BLOCKER, entries.WARNING, entries.INFO
ALIVE, NO_PROOF, NO_ADDRESSES = entries.ALIVE, entries.NO_PROOF, entries.NO_ADDRESSES
NO_OVERRIDE, SILENT = entries.NO_OVERRIDE, entries.SILENT
SEVERITIES = (BLOCKER, WARNING, INFO)

KINDS = (
    "host",
    "service",
    "compute_node",
    "instance",
    "migration",
    "pci_device",
    "resource_provider",
    "aggregate",
    "port",
    "image",
    "domain",
)

REPORT_SCHEMA = 1


class OverrideError(ValueError):
    """An entry of C(stackguard_overrides) that cannot be taken: which one, and why.

    ``problem``: why, as a key; ``at``: the entry or line, where it is about one.
    """

    LIST, KEYS, CODE, EMPTY, ABSOLUTE = "no-list", "keys", "no-code", "empty", "absolute"
    TEXT, LINE, JSON = "no-text", "line", "json"

    def __init__(self, problem: str, message: str, at: t.Optional[int] = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.at = at


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a finding is about. ``id``: the object's uuid where it has one, else its database id or name."""

    kind: str
    id: str
    name: t.Optional[str] = None
    host: t.Optional[str] = None

    def __post_init__(self) -> None:
        """Names come from anybody, and from databases, which no API has looked at."""
        if self.name is not None and not self.name.isprintable():
            object.__setattr__(self, "name", one_line(self.name))


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding. ``evidence``: what was read, and from where. ``remedy``: what to do next."""

    code: str
    slug: str
    severity: str
    object: Subject
    evidence: t.Dict[str, t.Any]
    remedy: str
    #: What of the remedy can be copied into a shell, see :mod:`.commands`. The text says when.
    commands: t.Tuple[str, ...] = ()

    @property
    def absolute(self) -> bool:
        """Whether no override passes it: by its code, or by what its evidence shows."""
        entry = CATALOGUE[self.code]
        return entry.absolute or any(key in self.evidence for key in (NO_OVERRIDE, *entry.absolute_with))


@dataclasses.dataclass(frozen=True)
class Unchecked:
    """A code that could not be decided, for what, and why."""

    code: str
    object: str
    reason: str


class CountedOnly(Unchecked):
    """Rows of a code that were counted, and not listed or not compared: of each it is not known which one it is.

    A report says it in the reason alone. What compares reports of two days decides by this type.
    """


@dataclasses.dataclass(frozen=True)
class Checked:
    """The outcome of one check or of many: findings, and what could not be decided."""

    findings: t.Tuple[Finding, ...] = ()
    unchecked: t.Tuple[Unchecked, ...] = ()

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.findings + other.findings, self.unchecked + other.unchecked)


@dataclasses.dataclass(frozen=True)
class Override:
    """The operator's word that one finding may be passed. ``object``: the finding's object id or name."""

    code: str
    object: str
    reason: str


def finding(
    code: str,
    subject: Subject,
    evidence: t.Mapping[str, t.Any],
    remedy: str,
    severity: t.Optional[str] = None,
    commands: t.Sequence[str] = (),
) -> Finding:
    """Make a finding of a catalogued code; ``severity`` only where it differs from the catalogue's.

    ``commands``: those of the remedy, of which :mod:`.commands` makes each.

    Raises KeyError for a code that is not catalogued and ValueError for an unknown severity or kind.
    """
    entry = CATALOGUE[code]
    level = severity or entry.severity
    if level not in SEVERITIES:
        raise ValueError(f"unknown severity {level!r}")
    if subject.kind not in KINDS:
        raise ValueError(f"unknown kind of object {subject.kind!r}")
    commands = tuple(dict.fromkeys(commands))
    return Finding(code, entry.slug, level, subject, dict(to_plain(dict(evidence))), remedy, commands)


def with_remedy(item: Finding, remedy: str, commands: t.Sequence[str] = ()) -> Finding:
    """Return a finding with another remedy: the commands of the first one go with its text."""
    return dataclasses.replace(item, remedy=remedy, commands=tuple(commands))


#: The option ``overrides`` of the modules: what :func:`parse_overrides` reads.
OPTION: t.Dict[str, t.Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {name: {"type": "str", "required": True} for name in ("code", "object", "reason")},
}


def parse_overrides(raw: t.Any) -> t.List[Override]:
    """Read C(stackguard_overrides): a list of ``{code, object, reason}``. Raises :class:`OverrideError`."""
    if raw is None:
        return []
    if not isinstance(raw, (list, tuple)):
        raise OverrideError(
            OverrideError.LIST,
            "stackguard_overrides: expected a list of entries with the keys 'code', 'object' and 'reason'",
        )
    return [_parse_override(item, index) for index, item in enumerate(raw)]


def overrides_of_text(text: t.Any) -> t.List[t.Dict[str, str]]:
    """Read overrides that were typed into one field: a JSON list, or C(CODE OBJECT: REASON) on each line.

    Raises :class:`OverrideError`, also for codes and entries that :func:`parse_overrides` refuses.
    """
    if not isinstance(text, str):
        raise OverrideError(OverrideError.TEXT, f"overrides: expected text, not {type(text).__name__}")
    if text.lstrip()[:1] in ("[", "{"):
        found = _overrides_of_json(text)
    else:
        lines = enumerate(text.splitlines(), 1)
        found = [_override_of_line(line.strip(), number) for number, line in lines if line.strip()]
    return [dataclasses.asdict(entry) for entry in parse_overrides(found)]


def _overrides_of_json(text: str) -> t.Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        said = f"overrides: the text begins like JSON, but cannot be parsed: {error}"
        raise OverrideError(OverrideError.JSON, said) from None
    if not isinstance(found, list):
        said = "overrides: expected a JSON list of objects with the keys 'code', 'object' and 'reason'"
        raise OverrideError(OverrideError.LIST, said)
    for index, item in enumerate(found):
        if isinstance(item, dict) and not all(isinstance(value, str) for value in item.values()):
            said = f"overrides[{index}]: code, object and reason must be text"
            raise OverrideError(OverrideError.TEXT, said, index)
    return found


def _override_of_line(line: str, number: int) -> t.Dict[str, str]:
    code, _space, rest = line.partition(" ")
    subject, colon, reason = rest.partition(": ")
    if not colon or not line.isprintable():
        raise OverrideError(
            OverrideError.LINE,
            f"overrides, line {number}: expected CODE OBJECT: REASON, for example SG110 guest1: a domain of the "
            "backup team",
            number,
        )
    return {"code": code, "object": subject, "reason": reason}


def _parse_override(item: t.Any, index: int) -> Override:
    where = f"stackguard_overrides[{index}]"
    if not isinstance(item, dict) or set(item) != {"code", "object", "reason"}:
        said = f"{where}: expected exactly the keys 'code', 'object' and 'reason'"
        raise OverrideError(OverrideError.KEYS, said, index)
    code, subject, reason = (str(item[key]).strip() for key in ("code", "object", "reason"))
    if code not in CATALOGUE:
        raise OverrideError(OverrideError.CODE, f"{where}: {code!r} is not a finding code", index)
    if CATALOGUE[code].absolute:
        raise OverrideError(
            OverrideError.ABSOLUTE,
            f"{where}: {code} ({CATALOGUE[code].slug}) is an absolute finding, which cannot be overridden",
            index,
        )
    if not subject or not reason:
        raise OverrideError(OverrideError.EMPTY, f"{where}: object and reason must not be empty", index)
    return Override(code, subject, reason)


def blocking_findings(findings: t.Iterable[Finding], overrides: t.Sequence[Override]) -> t.List[Finding]:
    """Return the blockers that no override passes, sorted like a report."""
    return [item for item in ordered(findings) if item.severity == BLOCKER and not overridden(item, overrides)]


def overridden(item: Finding, overrides: t.Sequence[Override]) -> bool:
    """Whether an override names this finding's code and object; never for an absolute one."""
    if item.absolute:
        return False
    names = {item.object.id, item.object.name}
    return any(entry.code == item.code and entry.object in names for entry in overrides)


def ordered(findings: t.Iterable[Finding]) -> t.List[Finding]:
    """Sort by code and object id, then by what else tells findings apart: equal evidence gives equal bytes."""
    return sorted(
        findings,
        key=lambda item: (item.code, item.object.id, item.object.kind, item.remedy, repr(item.evidence), repr(item)),
    )


def verdict(findings: t.Iterable[Finding], unchecked: t.Iterable[Unchecked], overrides: t.Sequence[Override]) -> str:
    """``block``, ``warn`` or ``pass``. What could not be decided is never a pass."""
    findings = list(findings)
    if blocking_findings(findings, overrides):
        return "block"
    if list(unchecked) or any(item.severity in (BLOCKER, WARNING) for item in findings):
        return "warn"
    return "pass"


def report(
    checked: Checked,
    generated_at: str,
    hosts: int,
    servers: int,
    overrides: t.Sequence[Override] = (),
) -> t.Dict[str, t.Any]:
    """Build the report (contract: ``report.json``). ``generated_at``: when the evidence was collected."""
    findings = ordered(checked.findings)
    unchecked = sorted(set(checked.unchecked), key=lambda item: (item.code, item.object, item.reason))
    counts = {level: sum(1 for item in findings if item.severity == level) for level in SEVERITIES}
    counts["unchecked"] = len(unchecked)
    counts["overridden"] = sum(1 for item in findings if overridden(item, overrides))
    return {
        "schema": REPORT_SCHEMA,
        "verdict": verdict(findings, unchecked, overrides),
        "generated_at": generated_at,
        "hosts": hosts,
        "servers": servers,
        "findings": [plain_of(item) for item in findings],
        "unchecked": [to_plain(item) for item in unchecked],
        "counts": counts,
        "overrides": [dataclasses.asdict(entry) for entry in overrides],
    }


def overrides_of(plain: t.Mapping[str, t.Any]) -> t.List[Override]:
    """Return the overrides of a report or a journal. What another version of this collection kept is left out."""
    try:
        return parse_overrides(plain.get("overrides"))
    except OverrideError:
        return []


def plain_of(item: Finding) -> t.Dict[str, t.Any]:
    """Return a finding as a report keeps it: with ``commands`` only if its remedy has any."""
    found: t.Dict[str, t.Any] = to_plain(item)
    if not item.commands:
        del found["commands"]
    return found


def from_report(plain: t.Mapping[str, t.Any]) -> Finding:
    """Return a finding from what a report or a journal keeps of it."""
    there = plain["object"]
    return Finding(
        str(plain["code"]),
        str(plain["slug"]),
        str(plain["severity"]),
        Subject(there["kind"], there["id"], there.get("name"), there.get("host")),
        dict(plain["evidence"]),
        str(plain["remedy"]),
        tuple(map(str, plain.get("commands") or ())),
    )


def merged(parts: t.Iterable[Checked]) -> Checked:
    """Return what several looks found, each finding and each undecided code once, in the order of the looks."""
    found: t.Dict[str, Finding] = {}
    undecided: t.Dict[Unchecked, None] = {}
    for part in parts:
        found.update((repr(item), item) for item in part.findings)
        undecided.update(dict.fromkeys(part.unchecked))
    return Checked(tuple(found.values()), tuple(undecided))


def as_refused(told: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return the report of a refused run: what was unread or passed is a warning, and ended the run all the same."""
    return {**told, "verdict": "block"}
