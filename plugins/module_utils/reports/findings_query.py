# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator asks of a saved report: the findings of some codes, severities and hosts, or an expression. Pure.

A report that cannot answer is no empty answer: what it leaves undecided, and hosts that it does not name, are told.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import selection
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    CATALOGUE,
    KINDS,
    REPORT_SCHEMA,
    SEVERITIES,
    Finding,
    Subject,
    Unchecked,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.record_shapes import (
    ANYTHING,
    COUNT,
    STRING,
    TEXT,
    Fields,
    Keys,
    Listing,
    Scalar,
    Shape,
    observed,
    shape_of,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count, visible
from ansible_collections.stackguard.nova.plugins.module_utils.reports import codes

Json = t.Dict[str, t.Any]

TABLE, AS_JSON = "table", "json"
FORMATS = (TABLE, AS_JSON)
NEVER, FOUND = "never", "found"
FAIL_IF = (NEVER, FOUND)
#: Of facts that were not read. Whatever is asked for may be in them: an item or a finding of these is never "none".
_NOT_READ = ("SG114", "SG311", "SG709")
_NOT_DECIDED = (*_NOT_READ, "SG710")
_COLUMNS = ("code", "severity", "kind", "object", "host", "remedy")
#: Characters of a remedy in a table.
_WIDTH = 90


class QueryError(StackguardError):
    """A report or a query that cannot be used: which, and why."""


@dataclasses.dataclass(frozen=True)
class Query:
    """What is asked. Empty: everything."""

    codes: t.Tuple[str, ...] = ()
    severities: t.Tuple[str, ...] = ()
    hosts: t.Tuple[str, ...] = ()
    expression: str = ""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a report says.

    ``undecided``: its unchecked items of the codes, and all that were not read. ``unread``: its findings that something
    was not read, whatever the query selects. ``unnamed``: hosts that no finding names.
    """

    result: t.Any
    findings: bool
    undecided: t.Tuple[Json, ...]
    unread: t.Tuple[Json, ...]
    unnamed: t.Tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether it selects anything."""
        return bool(self.result)

    @property
    def number(self) -> int:
        """How many entries it selects; 1 for anything but a list."""
        return len(self.result) if isinstance(self.result, (list, dict)) else int(self.found)

    def fails(self, fail_if: str) -> bool:
        """Whether a run that is to fail on this answer does: what is not decided is never taken for none."""
        return fail_if == FOUND and (self.found or any((self.undecided, self.unread, self.unnamed)))


def _choices(names: t.Iterable[str]) -> Scalar:
    return Scalar(frozenset({STRING}), tuple(names))


def _remedies_shape() -> Fields:
    about = Fields("the object", {"kind": _choices(KINDS), "id": TEXT})
    step: t.Dict[str, Shape] = {
        "code": _choices(CATALOGUE),
        "severity": _choices(SEVERITIES),
        "remedy": TEXT,
        "objects": Listing(about),
    }
    later = Fields("a step", {**step, "until": Listing(TEXT), "because": TEXT})
    names = dict.fromkeys(("names", "keep_stopped"), Listing(TEXT))
    return Fields("a host", {**names, "steps": Listing(Fields("a step", step)), "put_off": Listing(later)})


def _report_shape() -> Fields:
    subject = t.cast(Fields, shape_of(Subject, "the object"))
    found = t.cast(Fields, shape_of(Finding, "a finding"))
    unchecked = t.cast(Fields, shape_of(Unchecked, "an unchecked item"))
    code = {"code": _choices(CATALOGUE)}
    about: t.Dict[str, Shape] = {"object": Fields("the object", {**subject.fields, "kind": _choices(KINDS)})}
    more: t.Dict[str, Shape] = {"severity": _choices(SEVERITIES), "evidence": Keys("the evidence", ANYTHING), **about}
    return Fields(
        "the report",
        {
            "schema": COUNT,
            "verdict": _choices(("pass", "warn", "block")),
            "generated_at": TEXT,
            "hosts": COUNT,
            "servers": COUNT,
            "findings": Listing(Fields("a finding", {**found.fields, **more, **code})),
            "unchecked": Listing(Fields("an unchecked item", {**unchecked.fields, **code})),
            "counts": Keys("counts", COUNT),
            "remedies": Listing(_remedies_shape()),
        },
    )


#: What an expression selects from.
REPORT = _report_shape()
_REQUIRED = ("schema", "verdict", "generated_at", "findings", "unchecked", "counts")


def query_of(
    given_codes: t.Sequence[str], severities: t.Sequence[str], hosts: t.Sequence[str], expression: str
) -> Query:
    """Return a query as it is typed. Raises :class:`QueryError`, before any report is read."""
    try:
        known = tuple(codes.code_of(code) for code in given_codes if code.strip())
        if expression:
            selection.compiled(expression).result(REPORT)
    except codes.NoCodeError as error:
        raise QueryError(f"findings_codes: {error}") from error
    except selection.SelectionError as error:
        raise QueryError(f"findings_query: {error}") from error
    wrong = [word for word in severities if word not in SEVERITIES]
    if wrong:
        raise QueryError(f"findings_severities: {wrong[0]!r} is not one of {', '.join(SEVERITIES)}")
    named = tuple(host.strip() for host in hosts if host.strip())
    return Query(known, tuple(severities), named, expression)


def report_of(text: str) -> Json:
    """Return a report of its text. Raises :class:`QueryError`: it is none, or of another schema."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise QueryError(f"the file is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise QueryError("the file is not a report: the content is not a JSON object")
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        raise QueryError(f"the file is not a report: the file does not have {', '.join(missing)}")
    if found["schema"] != REPORT_SCHEMA:
        raise QueryError(f"the report has schema {found['schema']!r}, but this version reads schema {REPORT_SCHEMA}")
    for name in ("findings", "unchecked"):
        entries = found[name]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) and "code" in entry for entry in entries):
            raise QueryError(f"the file is not a report: {name} is not a list of entries with a code")
    if not all(isinstance(entry.get("object"), dict) and "severity" in entry for entry in found["findings"]):
        raise QueryError("the file is not a report: a finding has no object or no severity")
    return found


def must_decide(report: Json, query: Query, fail_if: str) -> None:
    """Refuse a report that is no ground for a gate. Raises :class:`QueryError`.

    An operation judges its own servers with its own checks: what it does not name, it may not have looked for. The
    report does not name its playbook; an audit's alone has C(remedies), with and without a finding.
    """
    if fail_if != FOUND:
        return
    if not isinstance(report.get("remedies"), list):
        raise QueryError(
            "findings_fail_if: the file is not the report of an audit (the file has no key 'remedies'). Set "
            "findings_report to the report of an audit"
        )
    if (query.codes or query.hosts) and not _number(report.get("hosts")):
        raise QueryError(
            "findings_fail_if: the report contains no compute host (hosts is 0), so the report cannot answer a "
            "query about codes or hosts. Run the audit again, and include the compute hosts"
        )


def _number(value: t.Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def answer(report: Json, query: Query) -> Answer:
    """Return what a report says of a query. Raises :class:`QueryError`."""
    named = {host: _aliases(host, report) for host in query.hosts}
    wanted = {name for names in named.values() for name in names}
    chosen = [
        item
        for item in report["findings"]
        if (not query.codes or item["code"] in query.codes)
        and (not query.severities or item["severity"] in query.severities)
        and (not query.hosts or _hosts_of(item) & wanted)
    ]
    asked_for = [item for item in report["unchecked"] if not query.codes or item["code"] in query.codes]
    gaps = (
        tuple(item for item in report["unchecked"] if item in asked_for or item["code"] in _NOT_DECIDED),
        tuple(item for item in report["findings"] if item["code"] in _NOT_READ),
        tuple(host for host, names in named.items() if not names),
    )
    if not query.expression:
        return Answer(chosen, True, *gaps)
    narrowed = {**report, "findings": chosen, "unchecked": asked_for}
    try:
        asked = selection.compiled(query.expression)
        # The keys of the whole report: what the filters left over may have fewer.
        asked.result(observed(REPORT, [report]))
        result = asked.search(narrowed)
    except selection.SelectionError as error:
        raise QueryError(f"findings_query: {error}") from error
    return Answer(result, _are_findings(result), *gaps)


def _hosts_of(item: Json) -> t.Set[str]:
    there = item["object"]
    names = [there.get("host"), *((there.get("id"), there.get("name")) if there.get("kind") == "host" else ())]
    return {str(name).casefold() for name in names if name}


def _aliases(host: str, report: Json) -> t.Set[str]:
    """All names of a host, of which this is one; empty: no finding of the report is about a host of that name."""
    own = host.casefold()
    found = {own} if any(own in _hosts_of(item) for item in report["findings"]) else set()
    for entry in report.get("remedies") or []:
        names = {str(name).casefold() for name in entry.get("names") or []}
        found |= names if own in names else set()
    return found


def _are_findings(result: t.Any) -> bool:
    entries = result if isinstance(result, list) else []
    return bool(entries) and all(
        isinstance(entry, dict) and {"code", "severity", "object", "remedy"} <= set(entry) for entry in entries
    )


# --- for people -------------------------------------------------------------------------------------------------


def shown(found: Answer, form: str) -> str:
    """Return an answer for a terminal: a table of findings, or JSON. What is no list of findings is JSON."""
    if form == AS_JSON or not (found.findings and found.found):
        return "" if found.findings and form == TABLE else json.dumps(found.result, indent=1, sort_keys=True)
    rows = [_COLUMNS, *(_row(item) for item in found.result)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_COLUMNS) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[-1]]).rstrip() for row in rows
    )


def _row(item: Json) -> t.Tuple[str, ...]:
    there = item["object"]
    name = there.get("name") or there.get("id") or ""
    remedy = " ".join(str(item["remedy"]).split())
    cut = remedy if len(remedy) <= _WIDTH else remedy[: _WIDTH - 3] + "..."
    cells = (item["code"], item["severity"], there.get("kind") or "", name, there.get("host") or "", cut)
    return tuple(visible(str(cell)) for cell in cells)


def message(found: Answer, report: Json) -> str:
    """Return the outcome in a sentence or a few."""
    entries = f"{found.number} {'entry' if found.number == 1 else 'entries'}"
    what = count(found.number, "finding") if found.findings else entries
    parts = [f"The query selects {what} from the report of {report['generated_at']} (verdict {report['verdict']})."]
    if found.undecided:
        number = count(len(found.undecided), "unchecked item")
        parts.append(f"The audit could not decide every check. The report has {number} ({_listed(found.undecided)}).")
    if found.unread:
        number = count(len(found.unread), "finding")
        parts.append(
            f"The report has {number} about facts that the audit could not read ({_listed(found.unread)}), so some "
            "checks may be undecided."
        )
    if found.unnamed:
        parts.append(
            f"The report has no finding about {', '.join(found.unnamed)}. Check the spelling of the names. A report "
            "lists only hosts that have findings. If a host is not in the report, the host has no finding or does "
            "not exist."
        )
    return " ".join(visible(part) for part in parts)


def _listed(items: t.Iterable[Json]) -> str:
    return ", ".join(sorted({str(item["code"]) for item in items})[:8])
