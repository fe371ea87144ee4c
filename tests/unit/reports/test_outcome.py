# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a run ends: what the workflow gets, what the report says, and whether the run is a success."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.reports.outcome import AGAIN, NO_RESULT, Outcome

AT = "2026-11-25T10:00:00Z"
REPORT = {"verdict": "warn", "counts": {"warning": 1}}
WELL = {
    "succeeded": True,
    "changed": True,
    "state": "finished",
    "operation_id": "op1",
    "plan_sha256": "a" * 64,
    "report": REPORT,
    "msg": "all is done",
}


def test_a_good_end_publishes_the_operation_and_its_verdict():
    found = Outcome("resize_server", WELL, {"server": "web1"}, ["zone"], report_dir="/r").published()
    assert found == {
        "operation": "resize_server",
        "operation_id": "op1",
        "plan_sha256": "a" * 64,
        "state": "finished",
        "changed": True,
        "verdict": "warn",
        "counts": {"warning": 1},
        "report_dir": "/r",
        "message": "all is done",
        "server": "web1",
        "zone": None,
    }
    assert Outcome("resize_server", WELL).undecided(AT) is None


@pytest.mark.parametrize(
    "result",
    [{}, {"failed": True, "msg": "no"}, {"succeeded": False}, {"succeeded": True, "unreachable": True, "msg": "no"}],
)
def test_a_run_without_a_result_is_never_a_success_and_its_report_blocks(result):
    outcome = Outcome("drain_host", result, {"drain_host": "compute1"})
    assert not outcome.succeeded
    assert (outcome.published()["verdict"], outcome.published()["state"]) == ("block", "failed")
    assert outcome.message
    report = outcome.undecided(AT)
    assert (report["verdict"], report["unchecked"][0]["code"]) == ("block", "SG709")
    assert report["unchecked"][0]["object"] == "compute1"
    assert outcome.message in report["unchecked"][0]["reason"]


@pytest.mark.parametrize(("state", "verdict"), [("none", None), (None, "block"), ("finished", "block")])
def test_only_a_playbook_that_had_nothing_to_judge_is_a_success_without_a_verdict(state, verdict):
    result = {"succeeded": True, "state": state, "msg": "nobody"}
    outcome = Outcome("audit", result, keys=["state"], report_dir="/r", acts=False)
    told = outcome.published()
    assert (told["verdict"], told["counts"], told["state"], told["report_dir"]) == (verdict, {}, state, "/r")
    failed = Outcome("audit", {**result, "succeeded": False}, acts=False)
    assert (failed.succeeded, failed.published()["verdict"]) == (False, "block")


def test_a_good_result_beside_a_task_that_failed_is_no_success():
    """The hosts were not mapped, and the rename that waits for that said that it went well."""
    outcome = Outcome("rename_host", WELL, others=[{"host": "c1", "result": {"failed": True, "msg": "no rights"}}])
    assert (outcome.succeeded, outcome.message) == (False, "no rights")


def test_a_host_that_does_not_answer_is_named_whatever_else_is_known():
    others = [{"host": "c1", "result": {}}, {"host": "c2", "result": {"unreachable": True, "msg": "timed out"}}]
    outcome = Outcome("rename_host", {}, others=others)
    assert "c2 does not answer Ansible: timed out" in outcome.message
    assert not outcome.succeeded


def test_what_is_to_be_resumed_is_no_success_and_says_so_to_people():
    outcome = Outcome("migrate_server", {**WELL, "again": True})
    assert not outcome.succeeded
    assert (outcome.message, outcome.last_words) == ("all is done", f"all is done\n{AGAIN}")


def test_a_failed_result_keeps_its_own_reason_and_report():
    result = {**WELL, "succeeded": False, "report": {**REPORT, "verdict": "block"}, "msg": ["one", "two"]}
    outcome = Outcome("return_host", result, others=[{"host": "c1", "result": {"failed": True, "msg": "other"}}])
    assert (outcome.message, outcome.published()["verdict"]) == ("one\ntwo", "block")
    assert outcome.undecided(AT) is None
    assert Outcome("return_host", {}).message == NO_RESULT


@pytest.mark.parametrize(
    ("more", "others"),
    [
        ({"succeeded": False, "failed": True, "state": "rolled_back"}, ()),
        ({"again": True}, ()),
        ({"unreachable": True}, ()),
        ({}, [{"host": "c1", "result": {"unreachable": True, "msg": "timed out"}}]),
        ({}, [{"host": "c1", "result": {"failed": True, "msg": "no rights"}}]),
    ],
)
def test_a_run_that_failed_or_is_not_finished_blocks_whatever_it_judged_before(more, others):
    """A resize that was rolled back published what its checks said before it began: pass."""
    judged = {"schema": 1, "verdict": "pass", "counts": {"warning": 0}, "findings": []}
    outcome = Outcome("resize_server", {**WELL, "report": judged, **more}, others=others)
    assert outcome.report == {**judged, "verdict": "block"}
    assert (outcome.published()["verdict"], outcome.published()["counts"]) == ("block", {"warning": 0})
    own = {"operation": "resize_server", "verdict": "pass", "landed": []}
    published = {**WELL, **more, "ansible_stats": {"data": {"stackguard": own}}}
    told = Outcome("resize_server", published, others=others).published()
    assert (told["verdict"], told["landed"], bool(told["message"])) == ("block", [], True)
    assert judged["verdict"] == own["verdict"] == "pass", "what was given stays as it is"


def test_a_status_and_an_abort_that_went_well_keep_what_they_judged():
    for state in ("open", "none", "rolled_back", "aborted"):
        outcome = Outcome("drain_host", {**WELL, "state": state})
        assert (outcome.report, outcome.published()["verdict"], outcome.published()["state"]) == (REPORT, "warn", state)
    assert Outcome("drain_host", {"succeeded": True, "state": "none", "msg": "none"}).published()["verdict"] is None


def test_a_report_that_is_not_written_blocks():
    why = "/r: Permission denied: the report was not written."
    for acts, result in ((True, WELL), (False, {**WELL, "verdict": "pass"})):
        outcome = Outcome("audit", result, acts=acts, unwritten=why)
        assert not outcome.succeeded and outcome.last_words == f"all is done\n{why}"
        assert (outcome.published()["verdict"], outcome.published()["message"]) == ("block", f"all is done\n{why}")


def test_a_refused_run_publishes_no_plan_and_its_report_names_no_journal():
    result = {"failed": True, "changed": False, "state": "refused", "msg": "return_host is"}
    outcome = Outcome("return_host", result, {"return_host": None})
    assert not {"plan_sha256", "report_dir"} & set(outcome.published())
    (entry,) = outcome.undecided(AT)["unchecked"]
    assert (entry["object"], entry["reason"]) == ("return_host", "nothing was decided: return_host is")


def test_an_audit_publishes_its_own_verdict_and_no_operation():
    result = {"succeeded": True, "verdict": "block", "counts": {"blocker": 2}, "msg": "verdict block"}
    found = Outcome("audit", result, report_dir="/r", acts=False).published()
    assert found == {
        "operation": "audit",
        "verdict": "block",
        "counts": {"blocker": 2},
        "report_dir": "/r",
        "message": "verdict block",
    }
    assert Outcome("audit", {}, acts=False).published()["verdict"] == "block"


def test_what_the_operation_publishes_itself_is_published_as_it_is():
    own = {"operation": "evacuate_host", "landed": [], "verdict": "pass"}
    result = {**WELL, "ansible_stats": {"data": {"stackguard": own}}}
    assert Outcome("evacuate_host", result).published() == own
