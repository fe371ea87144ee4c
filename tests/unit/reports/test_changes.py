# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed since the last audit: an earlier report excuses a blocker only where nothing speaks against it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.times import moment
from ansible_collections.stackguard.nova.plugins.module_utils.records import history
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit, changes
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

LATER = "2026-11-22T06:00:00+00:00"
MIDDLE = "2026-11-21T18:00:00+00:00"


def judged(some, at=None, name="prod", *overrides, **more):
    named = facts.CloudName(name, "r1") if name else None
    bundle = dataclasses.replace(some.bundle, named=named, **more)
    return audit.audited(dataclasses.replace(bundle, collected_at=at) if at else bundle, overrides)


def lost(*numbers):
    some = healthy(hosts=3, guests=3)
    for number in numbers:
        some = some.drop("domains", {"uuid": guest(1, number)})
    return some


def kept(*reports):
    """A history of these, through the form that it has on disk."""
    plain = [changes.kept_plain(audit.as_earlier(one)) for one in reports]
    return changes.history([history.Kept("x", json.loads(json.dumps(one))) for one in plain])


def compared(now, *before):
    return changes.changes(audit.as_earlier(now), kept(*before))


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
    assert [point["counts"]["blocker"] for point in plain["trend"]] == [2, 2]


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
        (judged(lost(1), None, "other"), judged(lost(1), LATER), "another cloud"),
        (judged(other_database()), judged(lost(1), LATER), "databases or Ceph pools differ between the two audits"),
        (judged(lost(1).unreachable("compute3")), judged(lost(1), LATER), "the earlier audit did not read all sources"),
        (judged(lost(1)), judged(lost(1).unreachable("compute3"), LATER), "this audit did not read all sources"),
        (
            judged(lost(1).unreachable("compute3")),
            judged(lost(1).unreachable("compute3"), LATER),
            "did not read all sources",
        ),
        (
            judged(lost(1).without("cloud")),
            judged(lost(1), LATER),
            "sources that were read differ between the two audits",
        ),
        (
            judged(lost(1).without("cloud")),
            judged(lost(1).without("cloud"), LATER),
            "did not read all sources",
        ),
        (
            judged(lost(1), None, "prod", requested=["hosts"]),
            judged(lost(1), LATER, "prod", requested=["hosts", "api"]),
            "sources that were requested differ between the two audits",
        ),
        (judged(lost(1)), judged(lost(1).host("compute2", memory=None), LATER), "this audit did not read all sources"),
        (judged(lost(1), LATER), judged(lost(1)), "no earlier report"),
        (judged(lost(1)), judged(lost(1)), "no earlier report"),
    ],
)  # fmt: skip
def test_what_speaks_against_a_comparison(then, now, why):
    found = compared(now, then)
    assert not found.comparable
    assert why in "; ".join(found.because)
    assert audit.fails("block", "new_blocker", found) is True
    plain = changes.changes_plain(found, LATER)
    # What was not read is not gone.
    assert plain["gone"] == []


def test_hosts_that_were_added_are_another_scope():
    found = compared(judged(healthy(hosts=4, guests=3), LATER), judged(healthy(hosts=3, guests=3)))
    assert "the hosts differ between the two audits" in found.because


def test_a_cloud_that_nothing_names_is_not_compared():
    then, now = judged(lost(1).without("databases"), None, None), judged(lost(1).without("databases"), LATER, None)
    requested = {"requested": ["hosts", "api"]}
    then, now = (audit.audited(dataclasses.replace(healthy().without("databases").bundle, collected_at=at, **requested))
                 for at in ("2026-11-21T06:00:00+00:00", LATER))  # fmt: skip
    assert any("the cloud is not known" in why for why in compared(now, then).because)


def test_an_override_that_is_withdrawn_leaves_a_new_blocker():
    passed = findings.Override("SG109", guest(1, 1), "known")
    then = judged(lost(1), None, "prod", passed)
    found = compared(judged(lost(1), LATER), then)
    assert (found.comparable, found.new_blockers, found.known) == (True, 1, 1)
    again = compared(judged(lost(1), LATER, "prod", passed), then)
    assert again.new_blockers == 0


def test_a_warning_that_became_a_blocker_is_new():
    then, now = audit.as_earlier(judged(lost(1))), audit.as_earlier(judged(lost(1), LATER))
    report = json.loads(json.dumps(then.report))
    for item in report["findings"]:
        item["severity"] = "warning"
    then = dataclasses.replace(then, report=report)
    found = changes.changes(now, changes.History((then,)))
    assert (len(found.new), len(found.gone), found.new_blockers) == (1, 1, 1)


def test_more_of_one_key_than_before_is_new():
    then, now = audit.as_earlier(judged(lost(1))), audit.as_earlier(judged(lost(1), LATER))
    double = {**now.report, "findings": [*now.report["findings"], *now.report["findings"]]}
    found = changes.changes(dataclasses.replace(now, report=double), changes.History((then,)))
    assert found.new_blockers == 1


def test_what_was_only_counted_is_doubt():
    item = findings.CountedOnly("SG201", "all", "5 more, in whatever words")
    whole = [judged(lost(1)), judged(lost(1), LATER)]
    then, now = (dataclasses.replace(one, checked=one.checked + findings.Checked((), (item,))) for one in whole)
    found = compared(now, then)
    assert found.because == ("this audit did not read all sources", "the earlier audit did not read all sources")
    assert compared(whole[1], whole[0]).comparable


def test_the_words_of_a_reason_decide_nothing():
    then, now = audit.as_earlier(judged(lost(1))), audit.as_earlier(judged(lost(1), LATER))
    entry = {"code": "SG201", "object": "all", "reason": "5 more findings of this kind exist, but are not listed"}
    then, now = (
        dataclasses.replace(one, report={**one.report, "unchecked": [*one.report["unchecked"], entry]})
        for one in (then, now)
    )
    assert changes.changes(now, changes.History((then,))).comparable


def test_a_report_that_does_not_say_what_was_only_counted_excuses_nothing():
    then, now = audit.as_earlier(judged(lost(1))), audit.as_earlier(judged(lost(1), LATER))
    older = {key: value for key, value in then.scope.items() if key != changes.COUNTED}
    found = changes.changes(now, changes.History((dataclasses.replace(then, scope=older),)))
    (why,) = found.because
    assert why == (
        "another version of this collection wrote the earlier report, and the earlier report does not show which "
        "findings were counted but not listed"
    )
    assert found.new_blockers == 0
    assert audit.fails("block", "new_blocker", found)


def test_what_is_undecided_now_and_was_decided_then_is_doubt():
    then, now = audit.as_earlier(judged(lost(1))), audit.as_earlier(judged(lost(1), LATER))
    entry = {"code": "SG301", "object": "all", "reason": "the aggregates were not read"}
    more = {**now.report, "unchecked": [*now.report["unchecked"], entry]}
    found = changes.changes(dataclasses.replace(now, report=more), changes.History((then,)))
    assert found.because == ("this audit could not complete the checks SG301",)


def test_one_of_another_scope_between_does_not_hide_the_last_that_fits():
    part = judged(lost(1).unreachable("compute3"), MIDDLE)
    found = compared(judged(lost(1), LATER), judged(lost(1)), part)
    assert found.comparable
    assert found.since == "2026-11-21T06:00:00+00:00"
    assert len(found.trend) == 3


# --- on disk --------------------------------------------------------------------------------------------------


def saved(directory, *reports, keep=14):
    for one in reports:
        when = moment(one.report["generated_at"])
        history.save(str(directory), when, changes.kept_plain(audit.as_earlier(one)), keep)


def loaded(directory):
    return changes.history(history.load(str(directory)))


def test_n_earlier_reports_are_kept_beside_the_last(tmp_path):
    days = [judged(lost(1), f"2026-11-{day:02}T06:00:00+00:00") for day in range(1, 8)]
    saved(tmp_path, *days, keep=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"202611{day:02}T060000Z.json" for day in (4, 5, 6, 7)]
    assert [entry.generated_at for entry in loaded(tmp_path).reports] == [
        one.report["generated_at"] for one in days[3:]
    ]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_no_history_is_no_damage(tmp_path):
    assert loaded(tmp_path / "none") == changes.History()


def test_evidence_that_is_judged_again_changes_no_history(tmp_path):
    passed = findings.Override("SG109", guest(1, 1), "known")
    saved(tmp_path, judged(lost(1), None, "prod", passed), judged(lost(1)))
    (entry,) = loaded(tmp_path).reports
    assert entry.standing == frozenset()


def spoil(path, how):
    text = path.read_text()
    if how == "cut":
        path.write_text(text[: len(text) // 2])
    elif how == "edited":
        path.write_text(text.replace(guest(1, 1), guest(1, 2)))
    elif how == "empty":
        path.write_text("")
    elif how == "directory":
        path.unlink()
        path.mkdir()
    elif how == "other layout":
        content = {"scope": {}, "report": {"schema": 1}, "standing": []}
        path.unlink()
        history.save(str(path.parent), moment("2026-11-21T06:00:00Z"), content, 14)
    elif how == "deep":
        path.write_text("[" * 100_000)


@pytest.mark.parametrize("how", ["cut", "edited", "empty", "directory", "other layout", "deep"])
def test_a_damaged_report_is_no_comparable_report(tmp_path, how):
    saved(tmp_path, judged(lost(1)))
    spoil(tmp_path / "20261121T060000Z.json", how)
    found = changes.changes(audit.as_earlier(judged(lost(1), LATER)), loaded(tmp_path))
    assert not found.comparable
    assert any("damaged" in why for why in found.because)
    assert audit.fails("block", "new_blocker", found) is True


def test_a_damaged_report_that_is_newer_than_the_one_that_fits_is_doubt(tmp_path):
    saved(tmp_path, judged(lost(1)), judged(lost(), MIDDLE))
    spoil(tmp_path / "20261121T180000Z.json", "cut")
    assert not changes.changes(audit.as_earlier(judged(lost(1), LATER)), loaded(tmp_path)).comparable


def test_a_damaged_report_that_is_older_does_not_matter(tmp_path):
    saved(tmp_path, judged(lost()), judged(lost(1), MIDDLE))
    spoil(tmp_path / "20261121T060000Z.json", "cut")
    found = changes.changes(audit.as_earlier(judged(lost(1), LATER)), loaded(tmp_path))
    assert found.comparable
    assert found.new_blockers == 0


def test_a_history_that_is_no_directory_is_damaged(tmp_path):
    (tmp_path / "history").write_text("")
    found = changes.changes(audit.as_earlier(judged(lost(1), LATER)), loaded(tmp_path / "history"))
    assert not found.comparable
    assert "damaged" in found.because[0]


@pytest.mark.parametrize(("at_most", "counted"), [(2, ["SG401"]), (None, [])])
def test_a_report_says_of_which_codes_rows_were_only_counted(at_most, counted):
    some = healthy(hosts=2, guests=3).change("servers", None, pinned_availability_zone=None)
    assert audit.as_earlier(audit.audited(some.bundle, (), at_most)).scope[changes.COUNTED] == counted
