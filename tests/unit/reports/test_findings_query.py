# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A saved report answers what is asked, and what it does not decide is never taken for none."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.reports import findings_query as queries

SUBJECT = findings.Subject("instance", "u1", "web1", "compute1")
DESTROYS = findings.finding("SG113", SUBJECT, {"host": "compute1", "domains": [{"uuid": "u1"}]}, "Do not start it.")
UNPINNED = findings.finding(
    "SG401", findings.Subject("instance", "u2", "\x1b[31mdb", "compute2"), {"zone": "az1"}, "Pin it."
)
UNCHECKED = findings.Unchecked("SG501", "all", "the hosts were not read")


def report(*items, unchecked=(), **more):
    made = findings.report(findings.Checked(items, unchecked), "2026-11-21T02:10:44Z", 2, 2)
    return queries.report_of(json.dumps({**made, "remedies": [], **more}))


REPORT = report(
    DESTROYS, UNPINNED, unchecked=(UNCHECKED,), remedies=[{"names": ["inv1", "compute1"], "keep_stopped": []}]
)


def asked(given=REPORT, codes=(), severities=(), hosts=(), expression=""):
    return queries.answer(given, queries.query_of(codes, severities, hosts, expression))


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({}, ["SG113", "SG401"]),
        ({"codes": ["113"]}, ["SG113"]),
        ({"codes": ["unpinned-server"]}, ["SG401"]),
        ({"severities": ["blocker"]}, ["SG113"]),
        ({"hosts": ["COMPUTE2"]}, ["SG401"]),
        ({"hosts": ["inv1"]}, ["SG113"]),
        ({"hosts": ["compute2"], "severities": ["blocker"]}, []),
        ({"expression": "findings[?object.host=='compute1']"}, ["SG113"]),
        ({"expression": "findings", "codes": ["SG401"]}, ["SG401"]),
        ({"expression": "findings[?evidence.zone=='az1']"}, ["SG401"]),
    ],
)
def test_it_selects_the_findings_that_are_asked_for(given, codes):
    assert [item["code"] for item in asked(**given).result] == codes


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"codes": ["SG1113"]}, "findings_codes: 'SG1113' is not a finding code. The most similar codes are SG113"),
        ({"severities": ["blockers"]}, "findings_severities: 'blockers' is not one of blocker, warning, info"),
        ({"expression": "findings[?sverity=='blocker']"}, "a finding has no field 'sverity': did you mean severity?"),
        (
            {"expression": "findings[?severity=='blocked']"},
            "'blocked' is not a valid value of this field. Examples of valid values: blocker",
        ),
        ({"expression": "findings[?code=='SG133']"}, "'SG133' is not a valid value of this field"),
        ({"expression": "findings[?object.kind=='server']"}, "'server' is not a valid value of this field"),
        ({"expression": "finding"}, "the report has no field 'finding': did you mean findings?"),
        ({"expression": "remedies[].name"}, "a host has no field 'name': did you mean names?"),
        ({"expression": "findings[?evidence.zon=='az1']"}, "the evidence has no field 'zon': did you mean zone?"),
        ({"expression": "findings[].evidence.domains[].uid"}, "no field 'uid': did you mean uuid?"),
        ({"expression": "counts.blockers"}, "counts has no field 'blockers'"),
    ],
)
def test_a_query_that_can_only_be_empty_is_refused(given, words):
    with pytest.raises(queries.QueryError) as raised:
        asked(**given)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is not JSON"),
        ("[]", "not a JSON object"),
        ('{"verdict": "pass"}', "the file does not have schema, generated_at, findings, unchecked, counts"),
        (json.dumps({**REPORT, "schema": 2}), "schema 2, but this version reads schema 1"),
        (json.dumps({**REPORT, "findings": {}}), "findings is not a list"),
        (json.dumps({**REPORT, "findings": [{"code": "SG113"}]}), "a finding has no object"),
    ],
)
def test_what_is_no_report_is_no_empty_answer(text, words):
    with pytest.raises(queries.QueryError) as raised:
        queries.report_of(text)
    assert words in str(raised.value)


def test_a_gate_is_green_only_if_nothing_is_found_and_all_of_it_is_decided():
    clean = asked(report(UNPINNED), codes=["SG113"])
    assert not clean.found and not clean.fails(queries.FOUND)
    assert asked(codes=["SG113"]).fails(queries.FOUND), "found"
    assert asked(codes=["SG501"]).fails(queries.FOUND), "not decided"
    assert not asked(report(UNPINNED, unchecked=(UNCHECKED,)), codes=["SG113"]).fails(queries.FOUND), "another code"
    unnamed = asked(report(UNPINNED), codes=["SG113"], hosts=["compute9"])
    assert unnamed.unnamed == ("compute9",) and unnamed.fails(queries.FOUND), "misspelt, or without a finding"
    refused = report(unchecked=(findings.Unchecked("SG709", "audit", "nothing was decided"),))
    assert asked(refused).fails(queries.FOUND), "a refused run has found nothing, and decided nothing"
    for one in (clean, unnamed, asked(), asked(codes=["SG501"])):
        assert not one.fails(queries.NEVER)


@pytest.mark.parametrize("code", ["SG114", "SG311", "SG709", "SG710"])
def test_what_was_not_decided_keeps_every_gate_red_whatever_it_asks_for(code):
    left = report(unchecked=(findings.Unchecked(code, "all", "not read"),))
    for query in ({"codes": ["SG113"]}, {"codes": ["SG113"], "expression": "findings"}, {"severities": ["info"]}):
        found = asked(left, **query)
        assert not found.found and found.fails(queries.FOUND) and not found.fails(queries.NEVER), query
        assert f"1 unchecked item ({code})" in queries.message(found, left)


@pytest.mark.parametrize("code", ["SG114", "SG311", "SG709"])
def test_a_finding_that_something_was_not_read_keeps_every_gate_red(code):
    item = findings.finding(code, findings.Subject("host", "compute1", host="compute1"), {}, "Make it readable.")
    left = report(item)
    for query in ({"codes": ["SG113"]}, {"severities": ["info"]}, {"hosts": ["compute1"], "codes": ["SG113"]}):
        found = asked(left, **query)
        assert not found.found and found.fails(queries.FOUND) and not found.fails(queries.NEVER), query
        assert f"1 finding about facts that the audit could not read ({code})" in queries.message(found, left)


def test_what_another_code_leaves_undecided_is_still_out_of_the_expression():
    left = report(unchecked=(UNCHECKED, findings.Unchecked("SG709", "all", "not read")))
    found = asked(left, codes=["SG501"], expression="unchecked[].code")
    assert (found.result, [item["code"] for item in found.undecided]) == (["SG501"], ["SG501", "SG709"])


def must_decide(given, fail_if=queries.FOUND, **query):
    queries.must_decide(given, queries.query_of(**{**NOTHING, **query}), fail_if)


NOTHING = {"given_codes": (), "severities": (), "hosts": (), "expression": ""}


def test_a_gate_takes_an_audit_s_report_only():
    """A resize that looked for nothing of the kind was a green gate for SG113."""
    operation = {key: value for key, value in report().items() if key != "remedies"}
    for given in (operation, {**operation, "remedies": None}):
        with pytest.raises(queries.QueryError, match="the file is not the report of an audit"):
            must_decide(given)
        must_decide(given, queries.NEVER, given_codes=["SG113"])
    must_decide(report())


@pytest.mark.parametrize("hosts", [0, None, "3", True])
def test_a_report_about_no_host_decides_nothing_about_codes_and_hosts(hosts):
    given = report(hosts=hosts)
    for query in ({"given_codes": ["SG113"]}, {"hosts": ["compute1"]}):
        with pytest.raises(queries.QueryError, match="the report contains no compute host"):
            must_decide(given, **query)
        must_decide(given, queries.NEVER, **query)
        must_decide(report(), **query)


def test_an_expression_is_a_gate_too():
    for expression, fails in (
        ("findings[?severity=='blocker']", True),
        ("findings[?severity=='info']", False),
        ("length(findings[?severity=='blocker']) > `5`", False),
        ("length(findings) > `1`", True),
        ("counts.info", False),
    ):
        assert asked(report(DESTROYS, UNPINNED), expression=expression).fails(queries.FOUND) == fails, expression


def test_the_answer_is_a_table_or_json_and_names_move_no_cursor():
    table = queries.shown(asked(), queries.TABLE)
    assert table.splitlines()[0].split() == ["code", "severity", "kind", "object", "host", "remedy"]
    assert "SG113  blocker" in table and "\x1b" not in table
    assert json.loads(queries.shown(asked(), queries.AS_JSON)) == REPORT["findings"]
    hosts = asked(expression="findings[].object.host")
    assert json.loads(queries.shown(hosts, queries.TABLE)) == ["compute1", "compute2"]
    assert queries.shown(asked(hosts=["compute9"]), queries.TABLE) == ""


def test_the_message_says_of_when_the_report_is_and_what_it_leaves_open():
    told = queries.message(asked(hosts=["compute9"]), REPORT)
    assert "0 findings from the report of 2026-11-21T02:10:44Z (verdict block)" in told
    assert "1 unchecked item (SG501)" in told and "no finding about compute9" in told
    assert "1 entry from" in queries.message(asked(expression="counts.blocker"), REPORT)
