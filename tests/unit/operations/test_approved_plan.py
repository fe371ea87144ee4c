# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""PREFIX_expect_plan: the approved plan is carried out, or nothing is."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import Approver
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, Life
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

OTHER = "0" * 64


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def planned(life):
    done = life.run(check=True)
    assert (done["state"], done["failed"]) == ("planned", False)
    found = json.loads((life.reports / "plan.json").read_text())
    assert found["plan_sha256"] == done["plan_sha256"] == life.told(done)["plan_sha256"]
    return found["plan_sha256"]


def nothing_done(life):
    assert (life.open(), life.done, life.guarded(), life.nova.asked) == (None, [], [], [])


def test_the_approved_plan_is_carried_out(life):
    value = planned(life)
    done = life.run(expect_plan=value)
    assert (done["failed"], done["state"], done["plan_sha256"]) == (False, "evacuated", value)


def test_a_server_that_came_or_went_meanwhile_is_another_plan(life):
    value = planned(life)
    life.nova.servers[BOTH[1]]["host"] = "compute3"
    done = life.run(expect_plan=value)
    assert (done["failed"], done["state"], life.report()["verdict"]) == (True, "refused", "block")
    assert f"evacuate_expect_plan is {value}" in done["msg"]
    assert f'- request.servers "{BOTH[1]}": in the plan' in done["msg"]
    nothing_done(life)


def test_another_fence_is_another_plan(life):
    value = planned(life)
    done = life.run(expect_plan=value, fence="command", fence_confirm_command="/bin/off")
    assert (done["failed"], done["state"]) == (True, "refused")
    assert '- request.fence: "power"' in done["msg"]
    assert '+ request.fence: "command"' in done["msg"]
    nothing_done(life)


def test_without_the_approved_file_the_refusal_says_so(life):
    done = life.run(expect_plan=OTHER)
    assert (done["failed"], done["state"]) == (True, "refused")
    assert "cannot show the differences, because the plan.json of the approved plan is not in" in done["msg"]
    nothing_done(life)


def test_the_approved_file_may_be_elsewhere_as_after_another_job(life, tmp_path):
    value = planned(life)
    there = tmp_path / "job7@x.json"
    (life.reports / "plan.json").rename(there)
    life.nova.servers[BOTH[1]]["host"] = "compute3"
    done = life.run(expect_plan=f"{value}@{there}")
    assert (done["failed"], done["state"]) == (True, "refused")
    assert f'- request.servers "{BOTH[1]}": in the plan' in done["msg"]
    nothing_done(life)
    life.nova.servers[BOTH[1]]["host"] = "compute1"
    assert life.run(expect_plan=f"{value}@/nowhere")["state"] == "evacuated"


@pytest.mark.parametrize("option", [{"fence": "attested"}, {"partial": True}, {"overcommit": 9.0}], ids=str)
def test_a_resume_asks_for_what_was_approved(life, option):
    """All of it comes from this run's options, not from the journal."""
    value = planned(life)
    assert life.run(dies_at=6, expect_plan=value) is None
    done = life.run(action="resume", expect_plan=value, **option)
    (name,) = option
    assert (done["failed"], done["state"]) == (True, "refused")
    assert f"+ request.{name}: " in done["msg"]
    assert life.open() is not None
    assert life.run(action="resume", expect_plan=value)["state"] == "evacuated"


@pytest.mark.parametrize("value", ["@", "@/x", "yes", "0123", OTHER.replace("0", "A"), f"{OTHER} ", "{{ x }}"])
def test_what_can_stand_for_no_plan_is_refused(life, value):
    done = life.run(expect_plan=value)
    assert (done["failed"], done["state"]) == (True, "refused")
    assert "(64 " in done["msg"]
    nothing_done(life)


def test_a_file_that_does_not_say_what_it_stands_for_is_not_shown(life):
    value = planned(life)
    path = life.reports / "plan.json"
    found = json.loads(path.read_text())
    found["decided"]["request"]["fence"] = "attested"
    path.write_text(json.dumps(found))
    life.nova.servers[BOTH[1]]["host"] = "compute3"
    done = life.run(expect_plan=value)
    assert done["failed"]
    assert "cannot show the differences, because the plan.json of the approved plan is not in" in done["msg"]


def test_only_an_operation_begun_with_the_plan_is_resumed_by_it(life):
    value = planned(life)
    assert life.run(dies_at=6, expect_plan=value) is None
    other = life.run(expect_plan=OTHER)
    assert (other["failed"], other["state"]) == (True, "refused")
    assert f" {value}" in other["msg"]
    assert life.open() is not None
    done = life.run(action="resume", expect_plan=value)
    assert (done["failed"], done["state"]) == (False, "evacuated")


def test_an_operation_of_an_earlier_version_is_not_resumed_by_a_plan(tmp_path):
    approver = Approver(str(tmp_path), OTHER, "evacuate_expect_plan", False)
    with pytest.raises(Refused, check=problem_is("another-plan")):
        approver.resume({"operation_id": "one", "about": {}})
    Approver(str(tmp_path), None, "evacuate_expect_plan", False).resume({"operation_id": "one", "about": {}})


def test_a_check_run_that_is_refused_leaves_no_plan_of_an_earlier_one(life):
    planned(life)
    life.change = lambda some: some.at(2, rbd=None).at(3, rbd=None)
    assert life.run(check=True)["failed"]
    assert not (life.reports / "plan.json").exists()
