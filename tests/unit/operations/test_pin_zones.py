# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole cloud is pinned, the run is killed in the middle: it can be resumed, taken back, and asked."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.operations import pin_zones
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.steps import zone_pins
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.server_records import ServerList
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Life
from ansible_collections.stackguard.nova.tests.unit.zoned import server, zoned

UUIDS = [guest(1, number) for number in range(1, 13)]
OPTIONS = {
    "action": "apply",
    "state": "pinned",
    "servers": None,
    "hosts": [],
    "all_servers": True,
    "zone": None,
    "strategy": "auto",
    "partial": False,
    "restore": None,
    "take_over": False,
    "nova_api_db_url": "mysql+pymysql://nowhere/nova_api",
}


class Killed(BaseException):
    """The run was killed here."""


class Cloud:
    """Twelve servers of compute1; the third is pinned to a zone that no aggregate carries."""

    def __init__(self, monkeypatch):
        self.pins = dict.fromkeys(UUIDS) | {UUIDS[2]: "nova"}
        self.before = dict(self.pins)
        self.fuse = None
        #: Servers whose pins cannot be changed.
        self.stuck = set()
        #: Servers that Nova does not show; those of them of whose deletion it has a record.
        self.gone, self.deleted = set(), set()
        self.busy, self.most, self.lock = 0, 0, threading.Lock()
        monkeypatch.setattr(zone_pins, "BATCH", 5)
        monkeypatch.setattr(pin_zones.zone_facts, "read_zones", self.read)
        monkeypatch.setattr(pin_zones.server_records, "whole_server", lambda _cloud, uuid: self.shown(uuid))
        monkeypatch.setattr(pin_zones.server_records, "is_deleted", lambda _cloud, uuid: uuid in self.deleted)
        monkeypatch.setattr(zone_pins.zone_pin, "Pins", lambda *_given: self)

    def server(self, uuid):
        return server(id=uuid, name=f"web{UUIDS.index(uuid)}", host="compute1")

    def shown(self, uuid):
        return None if uuid in self.gone else self.server(uuid)

    def read(self, _cloud, servers, _url, whole, silent=()):
        return zoned(silent=list(silent), servers=servers, pins={row.id: self.pins[row.id] for row in servers})

    def swap(self, uuid, before, after):
        with self.lock:
            self.busy += 1
            self.most = max(self.most, self.busy)
            if self.fuse is not None:
                self.fuse -= 1
                if self.fuse < 0:
                    self.busy -= 1
                    raise Killed
        if uuid in self.stuck:
            with self.lock:
                self.busy -= 1
            raise StackguardError("the database does not answer")
        outcome = "changed" if self.pins[uuid] == before else "already"
        self.pins[uuid] = after
        with self.lock:
            self.busy -= 1
        return outcome

    def run(self, state, mine=None, said=None, chosen=None, **options):
        given = life(state, {**OPTIONS, **options}, "", said, mine)
        rows = [self.server(uuid) for uuid in UUIDS]
        chosen = chosen or (lambda _cloud, _options, _restore: ServerList(rows, []))
        return pin_zones.PinRun(**given, cloud=object(), chosen=chosen, operation_id="op1").carry_out()


@pytest.fixture
def cloud(monkeypatch):
    return Cloud(monkeypatch)


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def killed(cloud, state, calls):
    cloud.fuse = calls
    with pytest.raises(Killed):
        cloud.run(state)
    cloud.fuse = None


def test_a_whole_cloud_is_pinned_and_nothing_is_left_open(cloud, state):
    result = cloud.run(state)
    assert (result["changed"], result["failed"]) == (True, False)
    assert set(cloud.pins.values()) == {"az1"}
    assert not state.open


@pytest.mark.parametrize("calls", range(12))
def test_killed_in_the_middle_every_pin_is_given_back(cloud, state, calls):
    killed(cloud, state, calls)
    assert state.open
    result = cloud.run(state, action="rollback")
    assert cloud.pins == cloud.before
    assert result.get("failed", False) is False
    assert not state.open


@pytest.mark.parametrize("action", ["apply", "resume"])
@pytest.mark.parametrize("calls", [0, 3, 7, 11])
def test_killed_in_the_middle_the_same_task_ends_it(cloud, state, calls, action):
    killed(cloud, state, calls)
    cloud.run(state, action=action)
    assert set(cloud.pins.values()) == {"az1"}
    assert not state.open


def test_killed_resumed_and_killed_again_the_oldest_pin_is_given_back(cloud, state):
    killed(cloud, state, 4)
    killed(cloud, state, 3)
    cloud.run(state, action="rollback")
    assert cloud.pins == cloud.before


@pytest.mark.parametrize("action", ["resume", "rollback"])
def test_where_a_pin_failed_the_others_can_still_be_taken_back(cloud, state, action):
    """The run failed and closed its journal: eleven pins had changed, and nothing could give them back."""
    cloud.stuck = {UUIDS[4]}
    result = cloud.run(state)
    assert result["failed"]
    assert (
        "11 pins changed, 0 were already correct, 1 failed. The operation is open: resume the operation with "
        "action=resume" in result["msg"]
    )
    assert state.open
    cloud.stuck = set()
    cloud.run(state, action=action)
    assert not state.open
    assert cloud.pins == (dict.fromkeys(UUIDS, "az1") if action == "resume" else cloud.before)


@pytest.mark.parametrize("action", ["apply", "resume", "rollback"])
def test_what_version_0_1_began_is_ended(cloud, state, action):
    """Its journal keeps no plan."""
    killed(cloud, state, 6)
    (now,) = state.open
    early = {key: value for key, value in now.items() if key != "plan"}
    assert set(early) == {
        *("schema", "kind", "operation_id", "subject", "state", "about", "run", "started_at", "updated_at"),
        *("steps", "history"),
    }
    journals.write(state.directory, early)
    assert "10 pins recorded" in cloud.run(state, action="status")["msg"]
    cloud.run(state, action=action)
    assert cloud.pins == (cloud.before if action == "rollback" else dict.fromkeys(UUIDS, "az1"))
    assert not state.open


def test_a_run_that_was_taken_over_writes_no_more(cloud, state):
    """It was cut off, and comes back while the next one is at work."""
    real, calls = cloud.swap, []

    def swap(*given):
        calls.append(given)
        if len(calls) == 5:
            (journal,) = state.open
            journals.write(state.directory, {**journal, "run": {"controller": "there", "pid": 2}})
        return real(*given)

    cloud.swap = swap
    with pytest.raises(StackguardError, match=r"SG707 .* of there .* has taken over operation op1"):
        cloud.run(state)
    assert len(calls) == 5, "the second batch was not begun"


def test_what_somebody_else_has_changed_since_is_theirs(cloud, state):
    killed(cloud, state, 6)
    cloud.pins[UUIDS[2]] = "az2"
    cloud.run(state, action="rollback")
    assert cloud.pins == {**cloud.before, UUIDS[2]: "az2"}


def test_asked_what_is_open_it_says_so_and_changes_nothing(cloud, state):
    assert cloud.run(state, action="status")["msg"] == "no change of pins is open"
    killed(cloud, state, 6)
    pins = dict(cloud.pins)
    result = cloud.run(state, action="status")
    assert "operation op1 (zone-pins availability zone pins of servers) is open, begun at" in result["msg"]
    assert "10 pins recorded. Resume the operation with action=resume, or undo it with action=rollback" in result["msg"]
    assert {row["server"]: row["before"] for row in result["changes"]}[UUIDS[2]] == "nova"
    assert cloud.pins == pins
    assert state.open


def test_another_request_does_not_take_it_up(cloud, state):
    killed(cloud, state, 6)
    with pytest.raises(StackguardError, match="SG706"):
        cloud.run(state, strategy="pin_db")


def test_once_it_is_being_taken_back_it_does_not_go_forward(cloud, state):
    killed(cloud, state, 6)
    cloud.fuse = 2
    with pytest.raises(Killed):
        cloud.run(state, action="rollback")
    cloud.fuse = None
    with pytest.raises(StackguardError, match="rollback"):
        cloud.run(state)
    cloud.run(state, action="rollback")
    assert cloud.pins == cloud.before


def test_several_pins_are_changed_at_a_time(cloud, state, monkeypatch):
    gate = threading.Barrier(5, timeout=10)
    real = cloud.swap

    def swap(uuid, before, after):
        gate.wait()
        return real(uuid, before, after)

    monkeypatch.setattr(cloud, "pins", {uuid: None if number < 10 else "az1" for number, uuid in enumerate(UUIDS)})
    monkeypatch.setattr(cloud, "swap", swap)
    assert cloud.run(state)["failed"] is False, "a batch of five: all of them wait for one another"


# --- the rules that every operation lives by ------------------------------------------------------------------


class Pins(Life):
    """Half of the pins are changed."""

    def begin_world(self, tmp_path, monkeypatch):
        self.cloud = Cloud(monkeypatch)

    def cut(self):
        killed(self.cloud, self.state, 6)

    def act(self, action):
        return self.cloud.run(self.state, action=action, mine=OTHER)

    def world(self):
        return self.cloud.pins


LIVES = {"pins": Pins}


# --- servers that Nova does not show --------------------------------------------------------------------------


def test_a_deleted_server_is_named_and_ends_with_the_rollback(cloud, state):
    killed(cloud, state, 8)
    cloud.gone = cloud.deleted = {UUIDS[1]}
    result = cloud.run(state, action="rollback")
    assert (result.get("failed", False), state.open) == (False, [])
    assert "Nova no longer has 1 server: web1" in result["msg"]


def test_servers_that_nova_does_not_know_keep_the_rollback_open(cloud, state):
    """Another project's credentials answer 404 as well: the operation ended as rolled back, with nothing restored."""
    killed(cloud, state, 8)
    cloud.gone, cloud.deleted = {UUIDS[1], UUIDS[3]}, {UUIDS[3]}
    result = cloud.run(state, action="rollback")
    assert (result["failed"], bool(state.open)) == (True, True)
    assert "Nova does not show web1, and has no record that the server was deleted" in result["msg"]
    # The rest is restored, and again with the right credentials all of it.
    assert [uuid for uuid in UUIDS if cloud.pins[uuid] != cloud.before[uuid]] == [UUIDS[1], UUIDS[3]]
    cloud.gone.discard(UUIDS[1])
    assert cloud.run(state, action="rollback").get("failed", False) is False
    assert cloud.pins[UUIDS[1]] == cloud.before[UUIDS[1]]
    assert not state.open


def test_a_person_ends_a_rollback_whose_rows_are_archived(cloud, state):
    killed(cloud, state, 8)
    cloud.gone = {UUIDS[1]}
    result = cloud.run(state, action="rollback", partial=True)
    assert (result.get("failed", False), state.open) == (False, [])
    assert "Nova no longer has 1 server: web1" in result["msg"]


def test_a_restore_of_servers_that_nova_does_not_know_changes_nothing(cloud, state):
    cloud.run(state)
    before = dict(cloud.pins)
    restore = dict.fromkeys(UUIDS[:2], (None, "az1"))
    cloud.gone = {UUIDS[1]}
    rows = lambda *_given: ServerList([cloud.server(UUIDS[0])], [])  # noqa: E731
    refused = cloud.run(state, restore=restore, all_servers=False, chosen=rows)
    assert (refused["failed"], cloud.pins) == (True, before)
    assert f"Nova does not show {UUIDS[1]}" in refused["msg"]
    assert cloud.run(state, restore=restore, all_servers=False, chosen=rows, partial=True)["failed"] is False
    assert cloud.pins[UUIDS[0]] is None
