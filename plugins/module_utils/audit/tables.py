# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of an audit for other programs: a table (CSV), and test results (JUnit). Pure."""

from __future__ import annotations

import csv
import json
import typing as t
from xml.etree import ElementTree

from ..model.findings import (
    CATALOGUE,
    INFO,
    Finding,
    ordered,
    overridden,
)
from ..model.wording import visible
from ..reports.evidence_words import host_of, in_words, label
from . import checks
from . import report as audit

COLUMNS = ("code", "slug", "severity", "overridden", "kind", "id", "name", "host", "zone", "evidence", "remedy")
#: With one of these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Lines(t.List[str]):
    """What a csv.writer writes to."""

    write = list.append


def report_csv(found: audit.AuditResult) -> str:
    """Return C(report.csv): a line for each finding, and for each check that could not be decided."""
    zones = _zones(found)
    out = _Lines()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in ordered(found.checked.findings):
        host = host_of(item) or ""
        row = (
            *(item.code, item.slug, item.severity, "yes" if overridden(item, found.overrides) else "no"),
            *(item.object.kind, item.object.id, item.object.name or "", host),
            *(zones.get(host.casefold(), ""), in_words(item.evidence), item.remedy),
        )
        writer.writerow([cell(value) for value in row])
    for entry in found.report["unchecked"]:
        slug = CATALOGUE[entry["code"]].slug
        row = (entry["code"], slug, "unchecked", "no", "", entry["object"], "", "", "", entry["reason"], "")
        writer.writerow([cell(value) for value in row])
    return "".join(out)


def cell(value: str) -> str:
    """Return a value that a spreadsheet shows and never computes: names are given by anybody."""
    shown = visible(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _zones(found: audit.AuditResult) -> t.Dict[str, str]:
    fleet = found.report["fleet"]
    return {name.casefold(): entry["zone"] for entry in fleet for name in (*entry["names"], entry["name"])}


def report_junit(found: audit.AuditResult) -> str:
    """Return C(report.junit.xml): a test for each check; what was found fails it, what was not decided is skipped."""
    root = ElementTree.Element("testsuites", name="stackguard.nova audit")
    suite = ElementTree.SubElement(root, "testsuite", name="audit")
    if found.report["generated_at"]:
        suite.set("timestamp", _xml(found.report["generated_at"]))
    findings: t.Dict[str, t.List[Finding]] = {}
    for item in ordered(found.checked.findings):
        findings.setdefault(item.code, []).append(item)
    undecided: t.Dict[str, t.List[t.Mapping[str, str]]] = {}
    for entry in found.report["unchecked"]:
        undecided.setdefault(entry["code"], []).append(entry)
    for code in sorted({*checks.AUDITED, *findings, *undecided}):
        _code(suite, code, findings.get(code, []), undecided.get(code, []), found)
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for _element in suite.iter(tag))))
        root.set(name, suite.get(name) or "0")
    suite.set("errors", "0")
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _code(
    suite: ElementTree.Element,
    code: str,
    items: t.Sequence[Finding],
    undecided: t.Sequence[t.Mapping[str, str]],
    found: audit.AuditResult,
) -> None:
    for item in items:
        case = _case(suite, code, f"{item.object.kind} {label(item.object)} {item.object.id}")
        words = f"{item.severity}: {in_words(item.evidence)}"
        if overridden(item, found.overrides):
            ElementTree.SubElement(case, "skipped", message=_xml(f"overridden; {words}"))
        elif item.severity == INFO:
            ElementTree.SubElement(case, "system-out").text = _xml(words)
        else:
            failure = ElementTree.SubElement(case, "failure", type=item.severity, message=_xml(words))
            evidence = json.dumps(item.evidence, indent=1, sort_keys=True, default=str, ensure_ascii=False)
            failure.text = _xml(f"{item.remedy}\n{evidence}")
    for entry in undecided:
        case = _case(suite, code, f"not decided: {entry['object']}")
        ElementTree.SubElement(case, "skipped", message=_xml(entry["reason"]))
    if not items and not undecided:
        _case(suite, code, CATALOGUE[code].summary)


def _case(suite: ElementTree.Element, code: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=f"stackguard.{code}.{CATALOGUE[code].slug}", name=_xml(name)
    )


def _xml(text: str) -> str:
    """Return text that XML can hold: no control characters, and nothing beyond what Unicode assigns."""
    return visible(text)
