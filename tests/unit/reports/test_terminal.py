# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people read: a plan's values once, numbers with their nouns."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


@pytest.mark.parametrize(("number", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_one_is_no_plural(number, said):
    assert count(number, "row") == said


def test_a_plan_shows_every_value_unless_the_diff_does():
    some = fleet()
    plan = rename.plan(some.cloud.bundle, some.request)
    changes = [change for step in plan.steps for change in step.changes]
    whole, steps_alone = terminal.plan_text(plan), terminal.plan_text(plan, values=False)
    shown = "".join(entry["before"] + entry["after"] for entry in terminal.plan_diff(plan))
    for change in changes:
        line = f"{change.where}: {change.what}: {change.before}"
        assert f"{line} -> {change.after}" in whole
        assert line not in steps_alone
        assert line in shown
    for number, step in enumerate(plan.steps, 1):
        assert f"{number:3}. {step.title}" in steps_alone
    assert all(f"note: {note}" in steps_alone for note in plan.notes)


def test_a_plan_of_one_guest_speaks_of_one():
    some = fleet(guests=1)
    titles = "\n".join(step.title for step in rename.plan(some.cloud.bundle, some.request).steps)
    assert "1 instance" in titles
    assert "compare 1 domain " in titles
    assert not [word for word in ("instances", "domains", "providers", "ports", "agents") if f"1 {word}" in titles]
