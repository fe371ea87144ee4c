# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drains, moves and resizes: the approved plan is carried out, or nothing is."""

from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.moves import operation as move_servers
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import operation as resize
from ansible_collections.stackguard.nova.tests.unit.journaled import State
from ansible_collections.stackguard.nova.tests.unit.operations import test_move_servers as moving
from ansible_collections.stackguard.nova.tests.unit.operations import test_resize as resizing
from ansible_collections.stackguard.nova.tests.unit.operations.test_move_servers import ONE, TWO
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import FLAVORS

THREE = moving.guest(4, 1)


class Moves:
    """A drain of compute1, or a move of servers that are named."""

    def __init__(self, tmp_path, monkeypatch, **options):
        self.nova = moving.Cloud(monkeypatch)
        self.state, self.reports = State(tmp_path / "state"), tmp_path / "reports"
        self.options = {"report_dir": str(self.reports), **options}
        self.said = []

    def run(self, check=False, **more):
        return move_servers.carry_out(
            self.nova.run_of(self.state, check_mode=check, said=self.said, **{**self.options, **more})
        )

    def planned(self, **more):
        done = self.run(check=True, **more)
        found = json.loads((self.reports / "plan.json").read_text())
        assert (done["state"], done["plan_sha256"]) == ("planned", found["plan_sha256"])
        assert not self.state.open
        return found["plan_sha256"]

    def refused(self, **more):
        calls = list(self.nova.calls)
        with pytest.raises(Refused) as caught:
            self.run(**more)
        assert self.nova.calls == calls
        return caught.value

    def server(self, uuid):
        return self.nova.servers[uuid]


@pytest.fixture
def drain(tmp_path, monkeypatch):
    return Moves(tmp_path, monkeypatch)


@pytest.fixture
def move(tmp_path, monkeypatch):
    return Moves(tmp_path, monkeypatch, drain_host=None, servers=[ONE, TWO], prefix="migrate")


@pytest.mark.parametrize("kind", ["drain", "move"])
def test_the_approved_plan_is_carried_out(request, kind):
    it = request.getfixturevalue(kind)
    value = it.planned()
    assert (
        it.said[-1] == f"To apply exactly this plan: -e {'drain' if kind == 'drain' else 'migrate'}_expect_plan={value}"
    )
    done = it.run(expect_plan=value)
    assert (done["state"], done["plan_sha256"]) == ("finished", value)
    assert not it.state.open


def test_a_server_that_left_meanwhile_is_another_plan(drain):
    value = drain.planned()
    drain.server(TWO)["OS-EXT-SRV-ATTR:host"] = "compute3"
    refused = drain.refused(expect_plan=value)
    assert f"drain_expect_plan is {value}" in refused.message
    assert f'- request.servers "{TWO}": in the plan' in refused.message
    assert refused.data["report"]["verdict"] == "block"
    assert not drain.state.open


def test_a_server_that_somebody_else_moved_is_another_plan(move):
    """It was to leave compute1: nobody approved that it leaves where it is now."""
    value = move.planned()
    move.server(TWO)["OS-EXT-SRV-ATTR:host"] = "compute3"
    refused = move.refused(expect_plan=value)
    assert f'- request.from.{TWO}: "compute1"' in refused.message
    assert f'+ request.from.{TWO}: "compute3"' in refused.message


@pytest.mark.parametrize(
    "option",
    [
        {"live": False},
        {"cold": "fallback"},
        {"partial": True},
        {"enable_after": True},
        {"overcommit": 4.0},
        {"guest_overhead_mb": 1},
    ],
    ids=str,
)
def test_other_options_are_another_plan(drain, option):
    value = drain.planned()
    (name,) = option
    assert f"request.{name}: " in drain.refused(expect_plan=value, **option).message


@pytest.mark.parametrize("key", ["ram", "disk", "vcpus", "swap", "OS-FLV-EXT-DATA:ephemeral"])
def test_all_that_a_flavor_holds_counts(resized, monkeypatch, key):
    value = resized.planned()
    monkeypatch.setitem(FLAVORS["2"], key, 3)
    assert resized.planned() != value


@pytest.mark.parametrize(
    "noise",
    [
        {"max_parallel": 1},
        {"measured_for": 1},
        {"server_timeout": 7},
        {"again": True},
    ],
    ids=str,
)
def test_how_fast_it_goes_is_no_other_plan(drain, noise):
    assert drain.planned() == drain.planned(**noise)


def test_what_owners_do_with_their_servers_is_no_other_plan(drain):
    """Each stays the same server on the same host: an hour between approval and run has many of these."""
    value = drain.planned()
    drain.server(ONE).update(name="renamed", status="SHUTOFF")
    drain.server(ONE)["OS-EXT-STS:task_state"] = None
    assert drain.planned() == value


def test_the_order_in_which_nova_lists_servers_is_no_other_plan(move):
    value = move.planned()
    move.nova.servers = dict(reversed(list(move.nova.servers.items())))
    assert move.planned(servers=[TWO, ONE]) == value


def test_another_operation_id_is_no_other_plan(drain):
    value = drain.planned()
    real = drain.nova.run_of

    def other(*args, **more):
        run = real(*args, **more)
        return type(run)(**{**vars(run), "operation_id": "0123456789ab"})

    drain.nova.run_of = other
    assert drain.planned() == value


def test_an_operation_is_resumed_by_its_plan_and_options_only(drain):
    value = drain.planned()
    moving.cut(drain.nova, drain.state, 2, prefix="drain", max_parallel=1, expect_plan=value)
    assert drain.refused(expect_plan="0" * 64).problem == "another-plan"
    told = drain.refused(action="resume", expect_plan=value, live=False).message
    assert "- request.live: true" in told
    assert "+ request.live: false" in told
    done = drain.run(check=True, action="resume", expect_plan=value)
    assert (done["plan_sha256"], done["changed"], done["state"]) == (value, True, "open")
    assert drain.run(action="resume", expect_plan=value)["state"] == "finished"


@pytest.mark.parametrize("approved", [True, False])
def test_one_that_comes_while_it_is_emptied_goes_only_where_nobody_approved_who_goes(drain, monkeypatch, approved):
    """Between the plan and the hold a server is created there: the set of servers was approved without it."""
    given = {"expect_plan": drain.planned()} if approved else {}
    real = drain.nova.set_status

    def disabled(*args):
        real(*args)
        if THREE not in drain.nova.servers:
            drain.nova.servers[THREE] = {**copy.deepcopy(drain.nova.servers[ONE]), "id": THREE, "name": "late"}

    monkeypatch.setattr(moving.rename_actions.compute_services, "set_service_status", disabled)
    done = drain.run(**given)
    if approved:
        assert (done["failed"], done["state"]) == (True, "open")
        assert f": {THREE}" in done["msg"]
        assert "without drain_expect_plan" in done["msg"]
        assert sorted(done["moved"]) == sorted([ONE, TWO])
        assert drain.server(THREE)["OS-EXT-SRV-ATTR:host"] == "compute1"
        done = drain.run()
    while done.get("again"):
        done = drain.run(again=True)
    assert drain.server(THREE)["OS-EXT-SRV-ATTR:host"] != "compute1"


def test_nothing_to_do_has_a_value_of_its_own_and_is_not_refused(drain):
    for row in drain.nova.servers.values():
        row["OS-EXT-SRV-ATTR:host"] = "compute3"
    drain.nova.service = {"status": "disabled", "disabled_reason": "ours"}
    nothing = drain.run(check=True)
    assert (nothing["state"], len(nothing["plan_sha256"])) == ("none", 64)
    assert drain.run(expect_plan="0" * 64)["state"] == "none"
    # What was approved is that nothing happens.
    drain.server(ONE)["OS-EXT-SRV-ATTR:host"] = "compute1"
    assert "the current plan is not the approved plan" in drain.refused(expect_plan=nothing["plan_sha256"]).message


@pytest.mark.parametrize("value", ["yes", "0123", "{{ x }}", "none"])
def test_what_can_stand_for_no_plan_is_refused(drain, value):
    assert "(64 " in drain.refused(expect_plan=value).message
    assert drain.nova.reads == 0


# --- resize ---------------------------------------------------------------------------------------------------


class Resizes:
    """A resize of one server."""

    def __init__(self, tmp_path):
        self.nova, self.state = resizing.Nova(), State(tmp_path / "state")
        self.options = {"report_dir": str(tmp_path / "reports")}

    def run(self, check=False, **more):
        return resize.carry_out(resizing.run_of(self.nova, self.state, check_mode=check, **{**self.options, **more}))

    def planned(self, **more):
        done = self.run(check=True, **more)
        assert done["state"] == "planned"
        return done["plan_sha256"]

    def refused(self, **more):
        with pytest.raises(Refused) as caught:
            self.run(**more)
        assert not self.nova.calls
        return caught.value


@pytest.fixture
def resized(tmp_path):
    return Resizes(tmp_path)


def test_the_approved_resize_is_carried_out_and_again(resized):
    value = resized.planned()
    done = resized.run(expect_plan=value)
    assert (done["state"], done["plan_sha256"]) == ("finished", value)
    assert resized.run(expect_plan=value)["state"] == "none"


@pytest.mark.parametrize(
    "option", [{"confirm": False}, {"keep_pin": True}, {"strategy": "verify"}, {"same_host": True}], ids=str
)
def test_another_resize_is_another_plan(resized, option):
    value = resized.planned()
    refused = resized.refused(expect_plan=value, **option)
    assert f"resize_expect_plan is {value}" in refused.message
    assert refused.data["report"]["verdict"] == "block"
    assert not resized.state.open


def test_a_flavor_that_was_made_anew_under_its_name_is_another_plan(resized, monkeypatch):
    value = resized.planned()
    monkeypatch.setitem(FLAVORS["2"], "ram", FLAVORS["2"]["ram"] * 2)
    assert "request.holds.ram" in resized.refused(expect_plan=value).message


def test_how_long_it_is_waited_for_is_no_other_plan(resized):
    value = resized.planned()
    assert resized.planned(server_timeout=7) == value
    assert resized.planned(server=resizing.WEB) == value


def test_only_a_resize_begun_with_the_plan_is_resumed_by_it(resized):
    value = resized.planned()
    assert resizing.killed(resized.nova, resized.state, 30, expect_plan=value)
    with pytest.raises(Refused, check=problem_is("another-plan")):
        resized.run(expect_plan="0" * 64)
    assert resized.run(check=True)["plan_sha256"] == value
    assert resized.run(action="resume", expect_plan=value)["state"] == "finished"


def test_an_override_is_part_of_the_plan(drain):
    plain = drain.planned()
    real = drain.nova.run_of

    def passing(*args, **more):
        run = real(*args, **more)
        override = findings.parse_overrides([{"code": "SG404", "object": ONE, "reason": "announced"}])
        return type(run)(**{**vars(run), "overrides": tuple(override)})

    drain.nova.run_of = passing
    assert drain.planned() != plain
