# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed since the last audit: its report excuses a blocker only where nothing speaks against it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import changes
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

LATER = "2026-11-22T06:00:00+00:00"
#: As an older version of this collection, or an operation, has left it.


def judged(some, at=None, name="prod", *overrides, **more):
    named = facts.CloudName(name, "r1") if name else None
    bundle = dataclasses.replace(some.bundle, named=named, **more)
    return audit.audited(dataclasses.replace(bundle, collected_at=at) if at else bundle, overrides)


def lost(*numbers):
    some = healthy(hosts=3, guests=3)
    for number in numbers:
        some = some.drop("domains", {"uuid": guest(1, number)})
    return some


def kept(one):
    """The previous report, through the form that it has on disk."""
    return changes.previous(json.loads(audit.report_json(one)), "previous-report.json")


def compared(now, then=None):
    return changes.changes(now.report, kept(then) if then else changes.Previous())


def with_report(one, **more):
    return dataclasses.replace(one, report={**one.report, **more})


def test_what_is_new_gone_and_known():
    found = compared(judged(lost(2, 3), LATER), judged(lost(1, 2)))
    assert found.comparable, found.because
    assert found.since == "2026-11-21T06:00:00+00:00"
    assert [item["object"]["id"] for item in found.new] == [guest(1, 3)]
    assert [item["object"]["id"] for item in found.gone] == [guest(1, 1)]
    assert (found.known, found.new_blockers) == (1, 1)
    plain = changes.changes_plain(found, LATER)
    assert [item["code"] for item in plain["gone"]] == ["SG109"]
    assert plain["not_seen"] == []
    assert "trend" not in plain


def test_known_blockers_pass_and_a_new_one_does_not():
    same = compared(judged(lost(1), LATER), judged(lost(1)))
    assert same.new_blockers == 0
    assert audit.fails("block", "new_blocker", same) is False
    assert audit.fails("block", "blocker", same) is True
    more = compared(judged(lost(1, 2), LATER), judged(lost(1)))
    assert audit.fails("block", "new_blocker", more) is True


@pytest.mark.parametrize("verdict", ["block", "warn", "pass"])
def test_without_an_earlier_report_it_is_as_with_blocker(verdict):
    alone = compared(judged(lost(1), LATER))
    assert not alone.comparable
    assert audit.fails(verdict, "new_blocker", alone) is audit.fails(verdict, "blocker")
    assert audit.fails(verdict, "new_blocker") is audit.fails(verdict, "blocker")


def other_database():
    some = lost(1)
    cells = [dataclasses.replace(cell, location="other/nova") for cell in some.bundle.databases.cells]
    return some.databases(cells=cells)


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (judged(lost(1), None, "other"), judged(lost(1), LATER), "cloud"),
        (judged(other_database()), judged(lost(1), LATER), "stores"),
        (judged(lost(1).unreachable("compute3")), judged(lost(1), LATER), "gaps-then"),
        (judged(lost(1)), judged(lost(1).unreachable("compute3"), LATER), "gaps-now"),
        (
            judged(lost(1).unreachable("compute3")),
            judged(lost(1).unreachable("compute3"), LATER),
            "gaps-now",
        ),
        (
            judged(lost(1).without("cloud")),
            judged(lost(1), LATER),
            "read",
        ),
        (
            judged(lost(1).without("cloud")),
            judged(lost(1).without("cloud"), LATER),
            "gaps-now",
        ),
        (
            judged(lost(1), None, "prod", requested=["hosts"]),
            judged(lost(1), LATER, "prod", requested=["hosts", "api"]),
            "requested",
        ),
        (judged(lost(1)), judged(lost(1).host("compute2", memory=None), LATER), "gaps-now"),
        (judged(lost(1), LATER), judged(lost(1)), "none"),
        (judged(lost(1)), judged(lost(1)), "none"),
    ],
)  # fmt: skip
def test_what_speaks_against_a_comparison(then, now, why):
    found = compared(now, then)
    assert not found.comparable
    assert why in found.why
    assert len(found.why) == len(found.because)
    assert audit.fails("block", "new_blocker", found) is True
    plain = changes.changes_plain(found, LATER)
    # What was not read is not gone.
    assert plain["gone"] == []


def test_hosts_that_were_added_are_another_scope():
    found = compared(judged(healthy(hosts=4, guests=3), LATER), judged(healthy(hosts=3, guests=3)))
    assert "hosts" in found.why


def test_a_cloud_that_nothing_names_is_not_compared():
    then, now = judged(lost(1).without("databases"), None, None), judged(lost(1).without("databases"), LATER, None)
    requested = {"requested": ["hosts", "api"]}
    then, now = (audit.audited(dataclasses.replace(healthy().without("databases").bundle, collected_at=at, **requested))
                 for at in ("2026-11-21T06:00:00+00:00", LATER))  # fmt: skip
    assert "unknown-cloud" in compared(now, then).why


def test_an_override_that_is_withdrawn_leaves_a_new_blocker():
    passed = findings.Override("SG109", guest(1, 1), "known")
    then = judged(lost(1), None, "prod", passed)
    found = compared(judged(lost(1), LATER), then)
    assert (found.comparable, found.new_blockers, found.known) == (True, 1, 1)
    again = compared(judged(lost(1), LATER, "prod", passed), then)
    assert again.new_blockers == 0


def test_a_warning_that_became_a_blocker_is_new():
    then = judged(lost(1))
    then = with_report(then, findings=[{**item, "severity": "warning"} for item in then.report["findings"]])
    found = compared(judged(lost(1), LATER), then)
    assert (len(found.new), len(found.gone), found.new_blockers) == (1, 1, 1)


def test_more_of_one_key_than_before_is_new():
    now = judged(lost(1), LATER)
    found = compared(with_report(now, findings=[*now.report["findings"], *now.report["findings"]]), judged(lost(1)))
    assert (len(found.new), found.new_blockers) == (1, 1)


@pytest.mark.parametrize("which", [0, 1])
def test_what_was_only_counted_is_doubt(which):
    pair = [judged(lost(1)), judged(lost(1), LATER)]
    assert compared(pair[1], pair[0]).comparable
    pair[which] = with_report(pair[which], scope={**pair[which].report["scope"], "counted": ["SG201"]})
    found = compared(pair[1], pair[0])
    assert found.why == (("gaps-then", "gaps-now")[which],)
    assert audit.fails("block", "new_blocker", found)


def test_the_words_of_a_reason_decide_nothing():
    entry = {"code": "SG201", "object": "all", "reason": "5 more findings of this kind exist, but are not listed"}
    then, now = (
        with_report(one, unchecked=[*one.report["unchecked"], entry])
        for one in (judged(lost(1)), judged(lost(1), LATER))
    )
    assert compared(now, then).comparable


def test_what_is_undecided_now_and_was_decided_then_is_doubt():
    now, entry = judged(lost(1), LATER), {"code": "SG301", "object": "all", "reason": "the aggregates were not read"}
    found = compared(with_report(now, unchecked=[*now.report["unchecked"], entry]), judged(lost(1)))
    assert found.why == ("undecided",)
    assert "SG301" in found.because[0]


# --- what another day has left --------------------------------------------------------------------------------


def spoiled():
    whole = json.loads(audit.report_json(judged(lost(1))))
    for key in ("scope", "fleet", "findings", "unchecked", "overrides", "generated_at", "schema"):
        yield f"without {key}", {name: value for name, value in whole.items() if name != key}
    yield "another schema", {**whole, "schema": 0}
    yield "no time", {**whole, "generated_at": "yesterday"}
    yield "overrides that nobody understands", {**whole, "overrides": [{"code": "SG109"}]}
    yield "a code that nobody knows", {**whole, "findings": [{**whole["findings"][0], "code": "SG000"}]}
    for key in whole["scope"]:
        if key not in ("seconds", "parts"):
            yield f"scope without {key}", {**whole, "scope": {k: v for k, v in whole["scope"].items() if k != key}}
    yield from (("a list", []), ("a text", "x"), ("nothing", None))


@pytest.mark.parametrize(("what", "content"), list(spoiled()))
def test_a_damaged_report_excuses_nothing(what, content):
    then = changes.previous(content, "previous-report.json")
    found = changes.changes(judged(lost(1), LATER).report, then)
    assert found.why == ("damaged",), what
    assert "previous-report.json" in found.because[0]
    assert not found.comparable
    assert audit.fails("block", "new_blocker", found) is True
    # The next audit has this one to compare with.
    assert changes.is_later(judged(lost(1), LATER).report, then)


def test_the_report_of_an_operation_is_no_previous_one():
    plain = findings.report(findings.Checked(), "2026-11-21T06:00:00Z", 1, 1)
    assert changes.previous(plain, "x").damaged


def test_evidence_that_is_judged_again_replaces_no_report():
    passed = findings.Override("SG109", guest(1, 1), "known")
    assert not changes.is_later(judged(lost(1)).report, kept(judged(lost(1), None, "prod", passed)))
    assert not changes.is_later(judged(lost(1)).report, kept(judged(lost(1), LATER)))
    assert changes.is_later(judged(lost(1), LATER).report, kept(judged(lost(1))))
    assert changes.is_later(judged(lost(1)).report, changes.Previous())


@pytest.mark.parametrize(("at_most", "counted"), [(2, ["SG401"]), (None, [])])
def test_a_report_says_of_which_codes_rows_were_only_counted(at_most, counted):
    some = healthy(hosts=2, guests=3).change("servers", None, pinned_availability_zone=None)
    scope = audit.audited(some.bundle, (), at_most).report["scope"]
    assert scope["counted"] == counted
    assert [part["detail"] for part in scope["parts"] if part["detail"].startswith("only counted")] == [
        f"only counted: {code}" for code in counted
    ]
