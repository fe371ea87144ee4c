# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A removal from end to end: refused, planned, killed, carried on, and what it says of what is left."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.action.compute_host_remove import ActionModule
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.engine.server_run import ServerRun
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.remove import operation
from ansible_collections.stackguard.nova.tests.unit import journaled
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy, uid
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_remove import HOST, dead
from ansible_collections.stackguard.nova.tests.unit.checks.hazards.test_removed_hosts import gone, provider
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Killed, Life
from ansible_collections.stackguard.nova.tests.unit.removing import World, attested


def world_of(some, monkeypatch):
    world = World(some, monkeypatch)
    monkeypatch.setattr(operation.evidence, "read", lambda _systems, _run, _names: world.read(""))
    monkeypatch.setattr(operation, "count_requests", lambda *_given, **_more: Checked())
    monkeypatch.setattr(Systems, "url", lambda _systems, name: name)
    return world


def remove(state, hosts=(HOST,), action="apply", said=None, keep=(), check_mode=False, mine=None):
    """What the module does. ``said``: the overrides; None: each machine is attested to be gone."""
    options = {"hosts": list(hosts), "keep": list(keep), "action": action, "take_over": False}
    options.update(expect_plan=None, report_dir=None)
    options["nova_api_db_url"] = "mysql+pymysql://n:p@db/a"
    words = attested(*hosts) if said is None else said
    given = journaled.life(state, options, "remove_", mine=mine, check_mode=check_mode, overrides=words)
    systems = Systems(options, None, {}, lambda _seconds: None, lambda: 0.0, _connection=object())
    return operation.carry_out(ServerRun(**given, systems=systems, operation_id="op1"))


@pytest.fixture
def state(tmp_path):
    return journaled.State(tmp_path / "state")


def test_a_host_that_is_refused_is_left_as_it_was(state, monkeypatch):
    world = world_of(dead(), monkeypatch)
    before = world.some
    with pytest.raises(Refused) as refused:
        remove(state, said=[])
    assert [item["code"] for item in refused.value.data["report"]["findings"]] == ["SG506"]
    assert world.some == before and not state.open


def test_one_of_several_that_is_refused_keeps_all(state, monkeypatch):
    world = world_of(gone(dead(), "compute9", "host mapping"), monkeypatch)
    before = world.some
    with pytest.raises(Refused):
        remove(state, [HOST, "compute9"], said=attested(HOST))
    assert world.some == before and not state.open


def test_a_check_shows_the_plan_and_changes_nothing(state, monkeypatch):
    world = world_of(dead(), monkeypatch)
    before = world.some
    told = remove(state, check_mode=True)
    assert told["state"] == "planned" and told["plan"]["steps"] and told["plan_sha256"]
    assert world.some == before and not state.open


def test_several_hosts_are_one_operation(state, monkeypatch):
    world_of(gone(dead(), "compute9", "host mapping"), monkeypatch)
    told = remove(state, [HOST, "compute9"])
    assert (told["state"], told.get("failed"), told["hosts"]) == ("finished", None, [HOST, "compute9"])
    assert told["report"]["findings"] == []


def test_what_is_left_fails_the_run_and_is_named(state, monkeypatch):
    row = dataclasses.replace(provider("compute9", 90), allocations={uid("stranger"): {"VCPU": 1}})
    world_of(gone(healthy(guests=1), "compute9", "host mapping").add("providers", row), monkeypatch)
    told = remove(state, ["compute9"])
    assert (told["state"], told["failed"]) == ("finished", True)
    assert [item["code"] for item in told["report"]["findings"]] == ["SG331"]
    assert not state.open


def test_what_was_not_read_again_at_the_end_fails_the_run(state, monkeypatch):
    world = world_of(gone(healthy(guests=1), "compute9", "host mapping"), monkeypatch)
    looked = world.remove_queues

    def silent(*given):
        world.some = world.some.cloud(agents=None)
        return looked(*given)

    monkeypatch.setattr(world, "remove_queues", silent)
    monkeypatch.setattr(operation.steps.waiting_requests, "remove_queues", silent)
    told = remove(state, ["compute9"])
    assert told["failed"] and "SG709" in {item["code"] for item in told["report"]["findings"]}


def test_other_hosts_are_another_operation(state, monkeypatch):
    world = world_of(gone(dead(), "compute9", "host mapping"), monkeypatch)
    killed(world, monkeypatch, state)
    for other in (["compute9"], [HOST, "compute9"]):
        with pytest.raises(Refused):
            remove(state, other)
    with pytest.raises(Refused):
        remove(state, keep=["agents"])
    assert remove(state)["state"] == "finished"


def test_a_resume_needs_the_attestation_again(state, monkeypatch):
    world = world_of(dead(), monkeypatch)
    killed(world, monkeypatch, state)
    before = world.some
    with pytest.raises(StepError):
        remove(state, said=[])
    assert world.some == before and state.open
    assert remove(state)["state"] == "finished"


def test_a_server_that_came_meanwhile_stops_it(state, monkeypatch):
    world = world_of(dead(), monkeypatch)
    killed(world, monkeypatch, state)
    row = dataclasses.replace(world.some.rows("instances")[0], id=900, uuid=guest(7, 7), host=HOST)
    world.some = world.some.add("instances", row)
    before = world.some
    with pytest.raises(StepError):
        remove(state)
    assert world.some == before and state.open


def killed(world, monkeypatch, state, mine=None):
    """Be killed once Nova has deleted the service."""

    def dies(*given):
        World.delete_service(world, *given)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(operation.steps.compute_services, "delete_service", dies)
        remove(state, mine=mine)


def test_the_module_needs_hosts_and_the_database():
    check = ActionModule._check
    assert check(None, {"hosts": ["a"], "nova_api_db_url": "x"}) is None
    assert check(None, {"hosts": [], "nova_api_db_url": "x"})
    assert check(None, {"hosts": ["a"], "nova_api_db_url": None})


class Remove(Life):
    """Nova has deleted the service."""

    def begin_world(self, tmp_path, monkeypatch):
        self.changed, self.patch = world_of(dead(), monkeypatch), monkeypatch

    def cut(self):
        killed(self.changed, self.patch, self.state, OTHER)

    def act(self, action):
        return remove(self.state, action=action, mine=OTHER)

    def world(self):
        return [self.changed.some, sorted(self.changed.emptied)]


LIVES = {"remove": Remove}
