# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a series: what must have ended before something else begins."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import series
from ansible_collections.stackguard.nova.plugins.module_utils.maintain import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.maintain.preflight import SeriesDecision, SeriesRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest
from ansible_collections.stackguard.nova.tests.unit.builders import service

HOSTS = ("a", "b", "c")


def names(*batches, **extras):
    services = {
        host: facts.ApiService(
            service(1), host, "nova-compute", "up", "enabled", forced_down=False, disabled_reason=None
        )
        for host in HOSTS
    }
    decision = SeriesDecision(
        Checked(),
        tuple(series.Batch(batch) for batch in batches),
        services=services,
        providers=dict.fromkeys(HOSTS, "p"),
    )
    request = SeriesRequest(HOSTS, MigrationRequest())
    made = plans.plan(request, decision, plans.Work(reboot=True), plans.Extras(**extras), "op1")
    return [step.name for step in made.steps]


def test_hosts_that_are_out_together_are_all_disabled_before_a_server_moves():
    order = names(("a", "b"), ("c",))
    assert max(order.index(f"hold:{host}") for host in "ab") < min(order.index(f"move:{host}") for host in "ab")


def test_the_next_batch_begins_when_the_one_before_is_enabled():
    order = names(("a", "b"), ("c",))
    assert max(order.index(f"enable:{host}") for host in "ab") < order.index("room:2") < order.index("hold:c")


def test_a_host_is_worked_on_empty_proven_then_enabled_tried_and_filled():
    order = names(("a",), ("b",), ("c",), refill=True, test={"image": "i", "flavor": "f", "network": "n"})
    mine = [name for name in order if name in ("move:a", "work:1", "prove:1", "enable:a", "test:a", "refill:a")]
    assert mine == ["move:a", "work:1", "prove:1", "enable:a", "test:a", "refill:a"]


def test_names_of_steps_are_those_of_one_step():
    order = names(("a", "b"), ("c",), refill=True, test={"image": "i", "flavor": "f", "network": "n"})
    assert len(order) == len(set(order))
