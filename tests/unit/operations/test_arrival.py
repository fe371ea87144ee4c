# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repair of an arrived server from end to end against a small cloud, killed at each call, disturbed by others.

Whatever happens, the server ends in one of three states: as before; locked, with its operation open; or shown where its
guest runs, with nothing left. A row is never written from hosts that were read before the lock.
"""

from __future__ import annotations

import copy
import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.links.arrived import operation, steps
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import GuestState
from ansible_collections.stackguard.nova.tests.unit.builders import node
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_arrived import (
    DEST,
    ONE,
    PORT,
    RESOURCES,
    SOURCE,
    cloud_of_lost_write,
    facts_of,
)
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import Killed
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.small_nova import Clock

OPTIONS = {
    "action": "apply",
    "server": ONE,
    "evidence_dir": "/nowhere",
    "again": False,
    "take_over": False,
    "nova_api_db_url": "db",
}
WRITTEN = {"host": DEST, "node": DEST, "compute_id": 203, "task_state": None}
LEFT = {"locked": None, "held": {}, "bindings": {DEST: True}}


class Small:
    """A cloud whose hosts are read when a round begins, and everything else at each look."""

    def __init__(self, monkeypatch, fuse=None):
        self.row = {"host": SOURCE, "node": SOURCE, "compute_id": 201, "task_state": None}
        self.written = 1
        self.locked = None
        self.held = {node(1): dict(RESOURCES)}
        self.bindings = {DEST: True, SOURCE: False}
        self.fuse = fuse
        self.hosts = None
        #: What has happened since the hosts were read.
        self.since = []
        #: What somebody does: by the word of a call, done once before it.
        self.others = {}
        self.domain_host = DEST
        #: Whether neutron lets nobody of ours remove a binding.
        self.forbidden = False
        #: Whether it moves back.
        self.again = False
        monkeypatch.setattr(operation.Arrival, "_facts", lambda _self, _uuid: self.facts())
        monkeypatch.setattr(steps.server_records, "guest_states", lambda *_given: [self.state()])
        monkeypatch.setattr(operation.server_records, "existing_server", lambda *_given: None)
        monkeypatch.setattr(steps.server_actions, "lock", self.lock)
        monkeypatch.setattr(steps.server_actions, "unlock", self.unlock)
        monkeypatch.setattr(steps.arrivals, "write_arrival", self.write)
        monkeypatch.setattr(steps.arrivals, "is_written", lambda _url, _row: self.row["host"] == DEST)
        monkeypatch.setattr(steps.resource_providers, "release_allocation", self.release)
        monkeypatch.setattr(steps.network, "remove_inactive_binding", self.unbind)
        monkeypatch.setattr(Systems, "url", lambda _self, name: name)

    def world(self):
        return {"row": self.row, "locked": self.locked, "held": self.held, "bindings": self.bindings}

    def read_hosts(self):
        self.hosts = self.domain_host
        self.since = []

    def facts(self):
        cloud = cloud_of_lost_write()
        if self.hosts != DEST:
            cloud = cloud.add("domains", *cloud.rows("domains", DEST)[-1:], host=self.hosts)
        cloud = cloud.change("instances", {"uuid": ONE}, launched_on="x", **self.row)
        if self.again:
            cloud = cloud.migrate(ONE, DEST, SOURCE, "running", "live-migration")
        facts = facts_of(
            cloud,
            row_written=str(self.written),
            migration_allocations=copy.deepcopy(self.held),
            bindings={PORT: dict(self.bindings)},
        )
        server = facts.server
        return dataclasses.replace(facts, server=dataclasses.replace(server, host=self.row["host"]))

    def state(self):
        return GuestState(ONE, "guest1", self.row["host"], None, self.locked is not None, self.locked)

    def called(self, word):
        if word in self.others:
            self.others.pop(word)(self)
        self.burn()

    def burn(self):
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Killed

    def lock(self, _cloud, _uuids, reason):
        self.called("lock")
        self.locked, self.written = reason, self.written + 1
        self.since.append("lock")
        self.burn()

    def unlock(self, _cloud, _uuids):
        self.called("unlock")
        self.locked, self.written = None, self.written + 1
        self.burn()

    def write(self, _url, row, fresh):
        self.called("write")
        assert "lock" not in self.since, "the row is written from hosts that were read before the lock"
        assert self.locked is not None
        if (row.written, row.host, row.task) != (str(self.written), self.row["host"], self.row["task_state"]):
            raise Conflict("changed")
        fresh()
        self.row, self.written = {**WRITTEN}, self.written
        self.since.append("write")
        self.burn()
        return "changed"

    def release(self, _cloud, _consumer, provider, resources):
        self.called("release")
        assert self.row["host"] == DEST
        if self.held.get(provider) not in (None, resources):
            raise Conflict("changed")
        found = self.held.pop(provider, None) is not None
        self.burn()
        return found

    def unbind(self, _cloud, _port, host):
        self.called("bind")
        assert self.row["host"] == DEST
        if self.forbidden and host in self.bindings:
            return None
        found = self.bindings.pop(host, None) is not None
        self.burn()
        return found


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def run_of(state, check_mode=False, **options):
    clock = Clock()
    systems = Systems({"nova_api_db_url": "db"}, None, {}, clock.sleep, clock.monotonic, _connection=object())
    given = life(state, {**OPTIONS, **options}, "repair_", None, None, check_mode)
    return operation.ServerRun(**given, systems=systems, operation_id="op1")


def play(small, state, check_mode=False, **options):
    """What the playbook does: read the hosts and call, as often as it is asked to."""
    for number in range(6):
        small.read_hosts()
        result = operation.carry_out(run_of(state, check_mode, again=number > 0, **options))
        if not result.get("again"):
            return result
    raise AssertionError("it never ends")


def is_corrected(small):
    return small.world() == {"row": WRITTEN, **LEFT}


def test_it_is_corrected_and_everything_is_released(monkeypatch, state):
    small = Small(monkeypatch)
    result = play(small, state)
    assert (result["state"], result["changed"], result.get("failed")) == ("finished", True, None)
    assert is_corrected(small)
    assert not state.open


def test_a_second_run_changes_nothing(monkeypatch, state):
    small = Small(monkeypatch)
    play(small, state)
    small.domain_host = DEST
    result = play(small, state)
    assert (result["state"], result["changed"]) == ("none", False)


def test_check_mode_shows_the_plan_and_changes_nothing(monkeypatch, state):
    small = Small(monkeypatch)
    before = copy.deepcopy(small.world())
    result = play(small, state, check_mode=True)
    assert (result["state"], result["changed"]) == ("planned", True)
    assert {entry["what"] for step in result["plan"]["steps"] for entry in step["changes"]} >= {"host", "compute_id"}
    assert small.world() == before
    assert not state.open


@pytest.mark.parametrize("fuse", range(12))
def test_killed_anywhere_the_same_command_goes_on(monkeypatch, state, fuse):
    small = Small(monkeypatch, fuse)
    try:
        play(small, state)
    except Killed:
        assert state.open
    small.fuse = None
    play(small, state)
    assert is_corrected(small)
    assert not state.open


@pytest.mark.parametrize("fuse", range(12))
def test_killed_anywhere_a_rollback_ends_it_or_is_refused(monkeypatch, state, fuse):
    small = Small(monkeypatch, fuse)
    before = copy.deepcopy(small.world())
    try:
        play(small, state)
    except Killed:
        small.fuse = None
        if small.row["host"] == DEST:
            with pytest.raises(StackguardError):
                operation.carry_out(run_of(state, action="rollback"))
            assert state.open
        else:
            operation.carry_out(run_of(state, action="rollback"))
            assert small.world() == before
            assert not state.open


def write_row(small):
    small.written += 1


def reboot(small):
    small.row["task_state"] = "reboot_started_hard"
    small.written += 1


def second_copy(small):
    small.domain_host = SOURCE


@pytest.mark.parametrize("what", [write_row, reboot])
def test_who_writes_the_row_in_the_last_moment_is_respected(monkeypatch, state, what):
    """It stays locked and named; once that is over, the same command goes on."""
    small = Small(monkeypatch)
    small.others["write"] = what
    with pytest.raises(StepError):
        play(small, state)
    assert small.row["host"] == SOURCE
    assert small.locked == "stackguard:arrival:op1"
    assert state.open
    small.row["task_state"] = None
    assert play(small, state)["state"] == "finished"
    assert is_corrected(small)


@pytest.mark.parametrize("what", [reboot, second_copy])
def test_what_changes_before_the_second_look_is_seen(monkeypatch, state, what):
    small = Small(monkeypatch)
    small.others["lock"] = what
    with pytest.raises(StepError) as stopped:
        play(small, state)
    assert {item.code for item in stopped.value.checked.findings} == {"SG714"}
    assert small.row["host"] == SOURCE
    assert small.locked
    operation.carry_out(run_of(state, action="rollback"))
    assert small.locked is None


def test_an_allocation_that_changes_meanwhile_is_not_taken(monkeypatch, state):
    small = Small(monkeypatch)

    def other(found):
        found.held[node(1)] = {"VCPU": 9}

    small.others["release"] = other
    with pytest.raises(StepError):
        play(small, state)
    assert small.held == {node(1): {"VCPU": 9}}
    assert small.locked
    assert state.open


def test_a_second_copy_at_the_end_leaves_it_locked(monkeypatch, state):
    small = Small(monkeypatch)
    small.others["bind"] = second_copy
    with pytest.raises(StepError):
        play(small, state)
    assert small.locked
    assert state.open


def test_a_binding_that_neutron_keeps_is_named(monkeypatch, state):
    small = Small(monkeypatch)
    small.forbidden = True
    result = play(small, state)
    assert result["state"] == "finished"
    (item,) = result["report"]["findings"]
    assert (item["code"], item["severity"], item["evidence"]["ports"]) == ("SG713", "warning", [PORT])
    assert small.world() == {"row": WRITTEN, **LEFT, "bindings": {DEST: True, SOURCE: False}}


def test_a_resume_takes_no_binding_from_a_move_that_has_begun_since(monkeypatch, state):
    """The binding for the source is that of a move back to it."""
    small = Small(monkeypatch)
    small.fuse = 6
    with pytest.raises(Killed):
        play(small, state)
    small.fuse, small.again = None, True
    assert (small.row["host"], small.bindings) == (DEST, {DEST: True, SOURCE: False})
    with pytest.raises(StepError, check=problem_is("moved-on")):
        play(small, state)
    assert small.bindings == {DEST: True, SOURCE: False}
    assert state.open


def test_a_lock_of_somebody_else_stays(monkeypatch, state):
    small = Small(monkeypatch)
    small.locked = "mine"
    play(small, state)
    assert small.world() == {"row": WRITTEN, **LEFT, "locked": "mine"}


def test_what_is_not_certain_is_refused_before_anything(monkeypatch, state):
    small = Small(monkeypatch)
    small.row["task_state"] = "rebooting"
    before = copy.deepcopy(small.world())
    with pytest.raises(operation.Refused) as refused:
        play(small, state)
    assert [item["code"] for item in refused.value.data["report"]["findings"]] == ["SG714"]
    assert small.world() == before
    assert not state.open
