# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Equal changes of many rows are one line of a diff, with a count. What is like no other keeps its line."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.links import plan as links
from ansible_collections.stackguard.nova.plugins.module_utils.model import folding
from ansible_collections.stackguard.nova.plugins.module_utils.model.folding import Folded
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import operation as pin_zones
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import plan as zone_pins
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.linked import healthy
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


def texts(rows):
    folded = Folded()
    for row in rows:
        folded.add(*row)
    return folded.texts()


def test_equal_changes_of_many_rows_are_one_line():
    before, after = texts([(f"cell:c1 instances id={number} (x)", "host: a", "host: b") for number in range(4000)])
    assert before == "cell:c1 instances (4000 alike): host: a\n"
    assert after == "cell:c1 instances (4000 alike): host: b\n"


def test_a_few_are_shown_themselves():
    few = [guest(1, number) for number in range(1, folding.MANY)]
    before, _after = texts([(f"port {uuid}", "host: a", "host: b") for uuid in few])
    assert before.splitlines() == [f"port {uuid}: host: a" for uuid in few]
    before, _after = texts([(f"port {uuid}", "host: a", "host: b") for uuid in [*few, guest(2, 1)]])
    assert before == f"port ({folding.MANY} alike): host: a\n"


def test_the_one_that_is_not_like_the_others_keeps_its_line():
    rows = [(f"cell:c1 instances id={number} (x)", "node: a", "node: b") for number in range(50)]
    rows[17] = (rows[17][0], "node: z", "node: b")
    before, after = texts(rows)
    assert before.splitlines() == ["cell:c1 instances (49 alike): node: a", "cell:c1 instances id=17 (x): node: z"]
    assert after.splitlines()[1] == "cell:c1 instances id=17 (x): node: b"


def test_rows_of_two_kinds_are_not_counted_together():
    tables = ("cell:c1 services", "cell:c1 compute_nodes", "cell:c2 services")
    before, _after = texts(
        [(f"{table} id={number} (x)", "a", "b") for table in tables for number in range(folding.MANY)]
    )
    assert before.splitlines() == [f"{table} ({folding.MANY} alike): a" for table in tables]


@pytest.mark.parametrize("number", [folding.LINES, folding.LINES + 1, 5 * folding.LINES])
def test_of_very_many_that_differ_the_rest_is_counted(number):
    before, after = texts([(f"t id={row} (x)", f"a: {row}", "b") for row in range(number)])
    assert before.count("\n") == folding.LINES
    left = number - folding.LINES
    assert after.splitlines()[folding.LINES :] == ([f"and {left} more"] if left else [])


def test_a_rename_shows_its_guests_as_one_line_with_their_number():
    some = fleet(guests=40)
    plan = rename.plan(some.cloud.bundle, some.request)
    diff = terminal.plan_diff(plan)
    shown = "".join(entry["after"] for entry in diff)
    assert "cell:cell1 instances (40 alike): host: " in shown
    assert shown.count("\n") < 40
    folded = sum(len(step.changes) for step in plan.steps)
    assert folded > 80, "the plan has each of them"


def test_a_repair_shows_equal_rows_as_one_line():
    cloud = healthy()
    for number in range(30):
        cloud = cloud.wrong("SG211", id=5000 + number, uuid=guest(1, number + 1), compute_id=None)
    found = cloud.links
    rows = [links.repair(found, wrong) for wrong in links.planned(found, ("SG211",))]
    (entry,) = links.Diff(rows).entries()
    assert entry["before_header"] == "cell:cell1 instances: SG211, 30 rows"
    assert entry["before"] == "instances (30 alike): compute_id = NULL\n"
    assert entry["after"].startswith("instances (30 alike): compute_id = 201  # certain: ")
    plan = links.as_plan("op", "x", rows)
    assert sum(len(step.changes) for step in plan.steps) == 30


def test_pins_show_equal_servers_as_one_line():
    rows = [
        zone_pins.PinChange(guest(1, number), f"web{number}", "compute1", None, "az1", "pin_db") for number in range(12)
    ]
    rows.append(zone_pins.PinChange(guest(2, 1), "odd", "compute1", "gone", "az1", "pin_db"))
    (entry,) = pin_zones._diff(zone_pins.PinPlan(rows, [], []))
    assert entry["before"].splitlines() == [
        "server (12 alike): pinned_availability_zone: None",
        f"server {guest(2, 1)} (odd): pinned_availability_zone: gone",
    ]
    assert entry["before_header"] == "pins of 13 servers"
