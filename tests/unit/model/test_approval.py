# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The value that stands for a plan: equal for what is decided alike, different for anything else that is decided."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import approval
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, Change, Plan, Step

REQUEST = {"host": "compute1", "fence": "power", "servers": ["s1", "s2"]}


def plan(operation_id="0123456789ab", rows=("services", "nodes"), seat="compute2", title="in 1 wave"):
    changes = [Change(row, "host", "compute1", "renamed1") for row in rows]
    held = Change("service", "reason", "", f"stackguard:rename:{operation_id}")
    moved = Change("server s1", "host", "compute1", f"{seat}: 9000 MiB", measured=True)
    steps = [
        Step("hold", "hold it", CONTROLLER, "hold", {"at": operation_id}, [held]),
        Step("rows", "change rows", CONTROLLER, "rows", {"timeout": 3}, changes),
        Step("move", title, CONTROLLER, "move", {}, [moved]),
    ]
    return Plan("rename", operation_id, "compute1 -> renamed1", steps)


def value(made=None, **request):
    return approval.sha256(approval.of_plan(made or plan(), {**REQUEST, **request}))


@pytest.mark.parametrize(
    "again",
    [
        plan(operation_id="ffffffffffff"),
        plan(seat="compute3"),
        plan(title="in 3 waves"),
        plan(rows=("nodes", "services")),
    ],
    ids=["another run", "another seat", "another measurement", "another order of reading"],
)
def test_what_differs_from_run_to_run_does_not_count(again):
    assert value(again) == value()


@pytest.mark.parametrize(
    "other",
    [
        value(plan(rows=("services",))),
        value(plan(rows=("services", "nodes", "instances"))),
        value(dataclasses.replace(plan(), steps=plan().steps[1:])),
        value(dataclasses.replace(plan(), kind="drain")),
        value(servers=["s1"]),
        value(servers=["s1", "s2", "s3"]),
        value(fence="blocklist"),
        value(host="compute2"),
        value(new="x"),
    ],
)
def test_what_was_decided_counts(other):
    assert other != value()


def test_each_value_that_is_decided_counts():
    """Any one value of the decided plan changed, at random: never the same value for it."""
    dice, decided = random.Random(7), approval.of_plan(plan(), REQUEST)
    for _number in range(200):
        other = json.loads(json.dumps(decided))
        spoil(other, dice)
        assert approval.sha256(other) != approval.sha256(decided)
        assert approval.differences(decided, other), other


def spoil(value_, dice):
    key = dice.choice(list(value_) if isinstance(value_, dict) else range(len(value_)))
    if isinstance(value_[key], (dict, list)) and value_[key]:
        return spoil(value_[key], dice)
    value_[key] = f"{value_[key]}x"
    return None


def test_the_difference_names_both_sides():
    before = approval.of_plan(plan(), REQUEST)
    now = approval.of_plan(plan(rows=("services", "nodes", "instances")), {**REQUEST, "servers": ["s1"]})
    assert approval.differences(before, now) == [
        '- request.servers "s2": in the plan',
        "+ steps rows: instances host: compute1 -> renamed1",
    ]
    assert approval.differences(before, before) == []
    many = approval.of_plan(plan(rows=[f"row{number}" for number in range(50)]), REQUEST)
    lines = approval.differences(before, many)
    assert (len(lines), lines[-1]) == (approval.SHOWN + 1, f"and {52 - approval.SHOWN} more")


def test_the_file_holds_the_plan_and_what_stands_for_it():
    made = plan()
    found = approval.document(approval.of_plan(made, REQUEST), made)
    assert found["plan_sha256"] == approval.sha256(found["decided"]) == value()
    assert [step["title"] for step in found["plan"]["steps"]] == [step.title for step in made.steps]
    json.dumps(found)
