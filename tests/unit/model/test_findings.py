# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue and its pages, overrides, verdicts, and reports that are the same bytes for the same evidence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    CATALOGUE,
    Checked,
    Override,
    OverrideError,
    Subject,
    Unchecked,
    finding,
    parse_overrides,
)

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "codes"
ABSOLUTE = sorted(code for code, entry in CATALOGUE.items() if entry.absolute)


def some(code="SG102", key="uuid-1", severity=None, **evidence):
    return finding(code, Subject("host", key, f"name-of-{key}"), evidence, "Do it.", severity)


# --- the catalogue and its pages ------------------------------------------------------------------------------


def test_codes_slugs_and_severities_are_well_formed_and_unique():
    assert all(code == entry.code and re.fullmatch(r"SG\d{3}", code) for code, entry in CATALOGUE.items())
    slugs = [entry.slug for entry in CATALOGUE.values()]
    assert len(slugs) == len(set(slugs))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) for slug in slugs)
    assert {entry.severity for entry in CATALOGUE.values()} <= set(findings.SEVERITIES)


def test_absolute_codes_are_those_that_destroy_and_the_one_that_cannot_end():
    assert ABSOLUTE == ["SG108", "SG113", "SG123", "SG127", "SG132", "SG330", "SG332", "SG507", "SG714"]
    assert all(CATALOGUE[code].severity == findings.BLOCKER for code in ABSOLUTE)


def test_every_code_has_a_page_and_every_page_a_code():
    assert {path.stem for path in PAGES.glob("SG*.md")} == set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_page_says_what_the_catalogue_says(code):
    """What explain prints begins with the name, the severity and what was found."""
    entry = CATALOGUE[code]
    head, said = (PAGES / f"{code}.md").read_text(encoding="utf-8").split("\n\n")[:2]
    assert head == f"# {code} {entry.slug}"
    assert said.startswith("**") and entry.summary in " ".join(said.split())
    assert ("no override" in said.partition("** ")[0]) == entry.absolute
    assert entry.why, "a page says what is lost"


def test_the_index_lists_every_code_with_its_name_and_severity():
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(SG\d{3})\]\(\1\.md\) \| (.*?) \|", text, re.MULTILINE))
    assert rows == {code: entry.slug for code, entry in CATALOGUE.items()}
    for code, entry in CATALOGUE.items():
        severity = f"{entry.severity}, absolute" if entry.absolute else entry.severity
        assert f"| {entry.slug} | {severity} | " in text, code


def test_pages_say_truly_which_codes_are_only_reserved():
    sources = [path for path in (ROOT / "plugins").rglob("*.py") if path.parts[-3:-1] != ("model", "codes")]
    used = {code for path in sources for code in re.findall(r'"(SG\d{3})"', path.read_text(encoding="utf-8"))}
    assert used <= set(CATALOGUE)
    reserved = {code for code, entry in CATALOGUE.items() if entry.reserved}
    assert reserved == set(CATALOGUE) - used


# --- making one -----------------------------------------------------------------------------------------------


def test_a_finding_of_no_code_kind_or_severity_is_refused():
    with pytest.raises(KeyError):
        finding("SG000", Subject("host", "x"), {}, "")
    with pytest.raises(ValueError, match="kind"):
        finding("SG101", Subject("planet", "x"), {}, "")
    with pytest.raises(ValueError, match="severity"):
        finding("SG101", Subject("host", "x"), {}, "", "fatal")


def test_evidence_becomes_plain_data():
    item = finding("SG101", Subject("host", "x"), {"subject": Subject("host", "y"), "tuple": (1, 2)}, "")
    assert item.evidence == {"subject": {"kind": "host", "id": "y", "name": None, "host": None}, "tuple": [1, 2]}
    json.dumps(item.evidence)


# --- overrides ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"code": "SG102"}, "no-list"),
        ("SG102", "no-list"),
        (["SG102"], "keys"),
        ([{"code": "SG102", "object": "x"}], "keys"),
        ([{"code": "SG102", "object": "x", "reason": "y", "force": True}], "keys"),
        ([{"code": "SG999", "object": "x", "reason": "y"}], "no-code"),
        ([{"code": "SG102", "object": " ", "reason": "y"}], "empty"),
        ([{"code": "SG102", "object": "x", "reason": ""}], "empty"),
        *[([{"code": code, "object": "x", "reason": "y"}], "absolute") for code in ABSOLUTE],
    ],
)
def test_an_override_that_cannot_be_taken_says_which(raw, problem):
    with pytest.raises(OverrideError) as caught:
        parse_overrides(raw)
    assert (caught.value.problem, caught.value.at) == (problem, 0 if isinstance(raw, list) else None)


DOMAIN = {"code": "SG110", "object": "guest1", "reason": "a domain: the backup team's"}
AGENT = {"code": "SG305", "object": "Open vSwitch agent", "reason": "announced"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\n", []),
        ("SG110 guest1: a domain: the backup team's", [DOMAIN]),
        ("\n SG110 guest1: a domain: the backup team's\r\nSG305 Open vSwitch agent: announced\n", [DOMAIN, AGENT]),
        ("SG705 cell:cell1: the others", [{"code": "SG705", "object": "cell:cell1", "reason": "the others"}]),
        (json.dumps([DOMAIN, AGENT]), [DOMAIN, AGENT]),
        ("SG110 x: {{ 7 * 6 }}", [{"code": "SG110", "object": "x", "reason": "{{ 7 * 6 }}"}]),
    ],
)
def test_overrides_may_be_typed_into_one_field(text, expected):
    assert findings.overrides_of_text(text) == expected
    assert [entry.code for entry in parse_overrides(findings.overrides_of_text(text))] == [e["code"] for e in expected]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ([DOMAIN], ("no-text", None)),
        (None, ("no-text", None)),
        ("SG110 guest1", ("line", 1)),
        ("SG110 guest1: known\nSG110", ("line", 2)),
        ("SG110 guest1:known", ("line", 1)),
        ("SG110 guest1: \x1b[2Jknown", ("line", 1)),
        ("SG110 guest1:  ", ("line", 1)),
        ("SG110 : known", ("empty", 0)),
        ("sg110 guest1: known", ("no-code", 0)),
        ("SG113 guest1: known", ("absolute", 0)),
        ('[{"code": "SG110"', ("json", None)),
        ("{{ 7 * 6 }}", ("json", None)),
        (json.dumps(DOMAIN), ("no-list", None)),
        (json.dumps(["SG110"]), ("keys", 0)),
        (json.dumps([{**DOMAIN, "force": "yes"}]), ("keys", 0)),
        (json.dumps([{**DOMAIN, "object": ["a", "b"]}]), ("no-text", 0)),
    ],
)
def test_text_that_is_no_override_is_refused_with_the_place(text, problem):
    with pytest.raises(OverrideError) as caught:
        findings.overrides_of_text(text)
    assert (caught.value.problem, caught.value.at) == problem


def test_overrides_name_code_and_object():
    (entry,) = parse_overrides([{"code": "SG102", "object": "uuid-1", "reason": "known"}])
    assert parse_overrides(None) == []
    assert findings.overridden(some(), [entry])
    assert findings.overridden(some(), [Override("SG102", "name-of-uuid-1", "by name")])
    assert not findings.overridden(some(key="uuid-2"), [entry])
    assert not findings.overridden(some("SG103"), [entry])


@given(st.sampled_from(ABSOLUTE), st.text(min_size=1))
def test_nothing_overrides_what_is_absolute(code, key):
    item = some(code, key)
    overrides = [Override(code, key, "please"), Override(code, f"name-of-{key}", "please")]
    assert findings.blocking_findings([item], overrides) == [item]
    assert findings.verdict([item], [], overrides) == "block"


@pytest.mark.parametrize(
    ("code", "key", "absolute"),
    [
        ("SG305", findings.NO_OVERRIDE, True),
        ("SG305", findings.ALIVE, False),
        ("SG506", findings.ALIVE, True),
        ("SG506", findings.NO_ADDRESSES, True),
        ("SG709", findings.SILENT, True),
        ("SG709", "part", False),
    ],
)
def test_evidence_can_make_a_finding_absolute_also_when_it_was_stored(code, key, absolute):
    item = finding(code, Subject("host", "compute1"), {key: "seen"}, "do it")
    (stored,) = findings.report(findings.Checked((item,)), "now", 1, 0)["findings"]
    for one in (item, findings.from_report(stored)):
        assert one.absolute is absolute
        assert bool(findings.blocking_findings([one], [Override(code, "compute1", "sure")])) is absolute


# --- verdicts and reports -------------------------------------------------------------------------------------


def test_verdicts():
    assert findings.verdict([], [], []) == "pass"
    assert findings.verdict([some(severity="info")], [], []) == "pass"
    assert findings.verdict([some(severity="warning")], [], []) == "warn"
    assert findings.verdict([], [Unchecked("SG102", "x", "not read")], []) == "warn"
    assert findings.verdict([some()], [], []) == "block"
    assert findings.verdict([some()], [], [Override("SG102", "uuid-1", "known")]) == "warn"


items = st.builds(
    some,
    st.sampled_from(["SG101", "SG102", "SG305", "SG704"]),
    st.text("abc", min_size=1, max_size=3),
    st.sampled_from([None, "info", "warning", "blocker"]),
    seen=st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=3)),
)
undecided = st.builds(Unchecked, st.sampled_from(["SG101", "SG110"]), st.text("ab", max_size=2), st.text(max_size=3))


@given(st.lists(items, max_size=12), st.lists(undecided, max_size=6), st.randoms(use_true_random=False))
def test_the_same_findings_in_any_order_are_the_same_bytes(found, unread, random):
    def report():
        random.shuffle(found)
        random.shuffle(unread)
        plain = findings.report(Checked(tuple(found), tuple(unread)), "2026-11-21T06:00:00Z", 3, 4)
        return json.dumps(plain, sort_keys=True)

    assert report() == report()


def test_a_report_has_the_agreed_shape():
    checked = Checked((some(), some("SG704", "uuid-2")), (Unchecked("SG101", "x", "not read"),) * 2)
    report = findings.report(checked, "2026-11-21T06:00:00Z", 3, 4, [Override("SG102", "uuid-1", "known")])
    assert set(report) == {
        "schema",
        "verdict",
        "generated_at",
        "hosts",
        "servers",
        "findings",
        "unchecked",
        "counts",
        "overrides",
    }
    assert [item["reason"] for item in report["overrides"]] == ["known"]
    assert (report["schema"], report["verdict"], report["hosts"], report["servers"]) == (1, "warn", 3, 4)
    assert report["counts"] == {"blocker": 1, "warning": 1, "info": 0, "unchecked": 1, "overridden": 1}
    assert report["findings"][0] == {
        "code": "SG102",
        "slug": "compute-id-mismatch",
        "severity": "blocker",
        "object": {"kind": "host", "id": "uuid-1", "name": "name-of-uuid-1", "host": None},
        "evidence": {},
        "remedy": "Do it.",
    }
    assert report["unchecked"] == [{"code": "SG101", "object": "x", "reason": "not read"}]


def test_checked_adds_up():
    one, other = Checked((some(),)), Checked((), (Unchecked("SG101", "x", ""),))
    assert one + other == Checked(one.findings, other.unchecked)
