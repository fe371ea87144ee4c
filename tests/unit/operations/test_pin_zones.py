# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole cloud is pinned, the run is killed in the middle: it is run again, restored, and asked."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.records import old_pins
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.server_records import (
    ServerList,
    SilentCellError,
)
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import operation as pin_zones
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import steps as zone_pins
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.journaled import State, leased, life
from ansible_collections.stackguard.nova.tests.unit.life import DEAD, OTHER
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.zoned import server, zoned

UUIDS = [guest(1, number) for number in range(1, 13)]
KEEPER = "keeper1"
OPTIONS = {
    "action": "apply",
    "state": "pinned",
    "servers": None,
    "hosts": [],
    "all_servers": True,
    "zone": None,
    "strategy": "auto",
    "partial": False,
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
        #: Servers whose pins cannot be changed, and those that are in a task since they were read.
        self.stuck, self.busy_servers = set(), set()
        #: Servers that Nova does not show; those of them of whose deletion it has a record.
        self.gone, self.deleted = set(), set()
        #: What is done before a pin is changed.
        self.ahead = lambda _uuid: None
        self.busy, self.most, self.lock = 0, 0, threading.Lock()
        self.tasks, self.silent = {}, set()
        monkeypatch.setattr(zone_pins, "PARALLEL", 5)
        monkeypatch.setattr(pin_zones.zone_facts, "read_zones", self.look)
        monkeypatch.setattr(pin_zones.server_records, "whole_server", lambda _cloud, uuid: self.shown(uuid))
        monkeypatch.setattr(pin_zones.server_records, "is_deleted", lambda _cloud, uuid: uuid in self.deleted)
        monkeypatch.setattr(zone_pins.zone_pin, "Pins", lambda *_given: self)

    def server(self, uuid):
        down = {"host": None, "status": facts.CELL_DOWN} if uuid in self.silent else {"host": "compute1"}
        return server(id=uuid, name=f"web{UUIDS.index(uuid)}", task_state=self.tasks.get(uuid), **down)

    def shown(self, uuid):
        return None if uuid in self.gone else self.server(uuid)

    def look(self, _cloud, servers, _url, whole, silent=()):
        pins = {row.id: None if row.id in self.silent else self.pins[row.id] for row in servers}
        return zoned(silent=list(silent), servers=servers, pins=pins)

    def read(self, uuid):
        return True, self.pins[uuid]

    def swap(self, uuid, before, after):
        self.ahead(uuid)
        with self.lock:
            self.busy += 1
            self.most = max(self.most, self.busy)
            if self.fuse is not None:
                self.fuse -= 1
                if self.fuse < 0:
                    self.busy -= 1
                    raise Killed
        try:
            if uuid in self.stuck:
                raise StackguardError("the database does not answer")
            if uuid in self.busy_servers:
                raise zone_pins.zone_pin.BusyError("a task is in progress")
            if self.pins[uuid] not in (before, after):
                raise Conflict("it is another one", expected=before, found=self.pins[uuid])
            outcome = "changed" if self.pins[uuid] == before else "already"
            self.pins[uuid] = after
        finally:
            with self.lock:
                self.busy -= 1
        return outcome

    def run(self, state, /, mine=None, said=None, chosen=None, overrides=(), check_mode=False, **options):
        given = life(state, {**OPTIONS, **options}, "", said, mine or OTHER, check_mode, overrides, "cloud1")
        rows = [self.server(uuid) for uuid in UUIDS]
        chosen = chosen or (lambda _cloud, _options: ServerList(rows, []))
        operation_id = options.get("operation_id", "op1")
        more = {"cloud": object(), "chosen": chosen, "operation_id": operation_id, "keeper": KEEPER}
        return pin_zones.PinRun(**leased(given), **more).carry_out()


@pytest.fixture
def cloud(monkeypatch):
    return Cloud(monkeypatch)


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def kept(state):
    return old_pins.read(state.directory)


def recorded(state):
    """Server to old pin, as a restore would give it back."""
    return {uuid: pin.before for uuid, pin in zone_pins.plans.old_pins((kept(state) or {"rows": []})["rows"]).items()}


def killed(cloud, state, calls, /, **options):
    cloud.fuse = calls
    with pytest.raises(Killed):
        cloud.run(state, mine=DEAD, **options)
    cloud.fuse = None


def test_a_whole_cloud_is_pinned_and_all_old_pins_are_recorded(cloud, state):
    said = []
    result = cloud.run(state, said=said)
    assert (result["changed"], result["failed"], result["state"]) == (True, False, "finished")
    assert set(cloud.pins.values()) == {"az1"}
    assert recorded(state) == cloud.before
    path = old_pins.path_of(state.directory)
    assert result["old_pins"] == result["report"]["old_pins"] == {"host": KEEPER, "path": path}
    assert f"{path} on {KEEPER}" in result["msg"]
    assert any(f"{path} on {KEEPER}" in text for text in said)
    assert (kept(state)["run"], kept(state)["unfinished"], state.open) == ({}, False, [])


def test_every_old_pin_is_on_disk_before_the_first_pin_changes(cloud, state, monkeypatch):
    """Of all twelve, though five are changed at a time; forced to disk, for root alone."""
    seen, synced, real = [], [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor))[1])
    cloud.ahead = lambda _uuid: seen.append((recorded(state), dict(cloud.pins), len(synced)))
    cloud.run(state)
    assert seen[0][:2] == (cloud.before, cloud.before)
    assert seen[0][2] >= 3, "the file, its directory and the directory above"
    path = pathlib.Path(old_pins.path_of(state.directory))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("calls", range(12))
def test_killed_in_the_middle_every_pin_is_given_back(cloud, state, calls):
    killed(cloud, state, calls)
    result = cloud.run(state, action="restore")
    assert cloud.pins == cloud.before
    assert result["failed"] is False
    assert recorded(state) == {}


@pytest.mark.parametrize("calls", [0, 3, 7, 11])
def test_killed_in_the_middle_the_same_task_ends_it(cloud, state, calls):
    killed(cloud, state, calls)
    cloud.run(state)
    assert set(cloud.pins.values()) == {"az1"}
    assert (recorded(state), kept(state)["unfinished"]) == (cloud.before, False)
    cloud.run(state, action="restore")
    assert cloud.pins == cloud.before


def test_killed_again_and_again_the_oldest_pin_is_given_back(cloud, state):
    """What a killed run wrote is never taken for an old pin."""
    killed(cloud, state, 4)
    killed(cloud, state, 3)
    killed(cloud, state, 4, state="unpinned")
    killed(cloud, state, 2)
    assert recorded(state) == cloud.before
    cloud.run(state, action="restore")
    assert cloud.pins == cloud.before


@pytest.mark.parametrize("calls", range(0, 12, 2))
def test_a_restore_that_is_killed_is_run_again(cloud, state, calls):
    cloud.run(state)
    killed(cloud, state, calls, action="restore")
    assert recorded(state) == cloud.before
    result = cloud.run(state, action="restore")
    assert (cloud.pins, result["failed"], recorded(state)) == (cloud.before, False, {})


def test_killed_before_its_end_the_same_task_ends_it_without_a_change(cloud, state, monkeypatch):
    """All pins are changed, and the file says that the run is not finished."""
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(old_pins, "end", lambda *_given: (_ for _ in ()).throw(Killed()))
        cloud.run(state, mine=DEAD)
    assert kept(state)["unfinished"]
    result = cloud.run(state)
    assert (result["changed"], result["failed"], result["operation_id"]) == (False, False, "op1")
    assert (kept(state)["unfinished"], recorded(state)) == (False, cloud.before)


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_where_a_pin_failed_the_others_can_still_be_restored(cloud, state, action):
    cloud.stuck = {UUIDS[4]}
    result = cloud.run(state)
    assert (result["failed"], result["state"]) == (True, "incomplete")
    assert "11 pins changed, 0 were already correct, 1 failed" in result["msg"]
    assert "Run the same command again, or restore the old pins with action=restore" in result["msg"]
    assert kept(state)["unfinished"]
    cloud.stuck = set()
    cloud.run(state, action=action)
    assert not kept(state)["unfinished"]
    assert cloud.pins == (dict.fromkeys(UUIDS, "az1") if action == "apply" else cloud.before)


def test_a_run_that_was_taken_over_writes_no_more(cloud, state):
    """It was cut off, and comes back while the next one is at work."""
    calls = []

    def ahead(uuid):
        calls.append(uuid)
        if len(calls) == 5:
            journals.write(
                os.path.join(state.directory, old_pins.FOLDER),
                {**kept(state), "run": {"controller": "there", "pid": 2}},
            )

    cloud.ahead = ahead
    with pytest.raises(StackguardError, match=r"SG707 .* op1\b"):
        cloud.run(state)
    assert len(calls) == 5, "the second batch was not begun"
    assert kept(state)["run"] == {"controller": "there", "pid": 2}


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_a_second_run_beside_one_that_lives_is_refused(cloud, state, action):
    killed(cloud, state, 6)
    old = kept(state)
    here = pin_zones.lifecycle.run_owner.this_run()
    journals.write(os.path.join(state.directory, old_pins.FOLDER), {**old, "run": here})
    pins = dict(cloud.pins)
    for check in (False, True):
        with pytest.raises(StackguardError, match="SG707"):
            cloud.run(state, mine=OTHER, action=action, check_mode=check)
    assert cloud.pins == pins
    assert kept(state) == {**old, "run": here}


def test_a_run_of_another_controller_is_taken_over_when_its_operator_says_so(cloud, state):
    killed(cloud, state, 6)
    journals.write(
        os.path.join(state.directory, old_pins.FOLDER), {**kept(state), "run": {"controller": "there", "pid": 2}}
    )
    with pytest.raises(StackguardError, match=r"SG707 .*take_over=true"):
        cloud.run(state)
    assert cloud.run(state, take_over=True)["failed"] is False


def test_of_two_runs_that_begin_at_the_same_time_one_changes_pins(cloud, state):
    """Both have read the file; the second one has ended when the first one begins to write."""
    real, others = cloud.look, []

    def look(*given, **more):
        found = real(*given, **more)
        if not others:
            others.append(True)
            cloud.run(state, mine=OTHER, operation_id="op2")
        return found

    pin_zones.zone_facts.read_zones = look
    with pytest.raises(StackguardError, match="another run has changed pins"):
        cloud.run(state)
    assert recorded(state) == cloud.before


def test_what_somebody_else_has_changed_since_is_theirs_and_is_named(cloud, state):
    cloud.run(state)
    cloud.pins[UUIDS[2]] = "az2"
    result = cloud.run(state, action="restore")
    assert cloud.pins == {**cloud.before, UUIDS[2]: "az2"}
    assert "11 pins restored, 0 were as before. 1 left unchanged" in result["msg"]
    assert "web2 (now az2)" in result["msg"]
    (theirs,) = [row for row in result["changes"] if row["outcome"] == "changed by another user"]
    assert (theirs["server"], theirs["before"], theirs["after"]) == (UUIDS[2], "az2", "nova")
    # It stays named, and nothing is restored twice.
    again = cloud.run(state, action="restore")
    assert (again["changed"], "web2 (now az2)" in again["msg"], recorded(state)) == (False, True, {UUIDS[2]: "nova"})


def test_a_pin_that_its_owner_set_between_two_runs_is_the_old_pin_of_the_second(cloud, state):
    cloud.run(state)
    cloud.pins[UUIDS[0]] = "az9"
    cloud.run(state, state="unpinned")
    cloud.run(state, action="restore")
    assert cloud.pins == {**cloud.before, UUIDS[0]: "az9"}


@pytest.mark.parametrize("how", ["owner", "task"])
def test_what_was_not_changed_after_all_is_not_recorded_as_changed(cloud, state, how):
    """Its owner pinned the server in the same moment; or a task had begun, and the owner pinned it afterwards."""
    if how == "owner":
        cloud.ahead = lambda uuid: cloud.pins.update({UUIDS[1]: "az1"}) if uuid == UUIDS[1] else None
    else:
        cloud.busy_servers = {UUIDS[1]}
    result = cloud.run(state)
    assert result["failed"] is (how == "task")
    assert UUIDS[1] not in recorded(state)
    cloud.pins[UUIDS[1]] = "az1"
    cloud.busy_servers = set()
    cloud.run(state, action="restore")
    assert cloud.pins == {**cloud.before, UUIDS[1]: "az1"}


def test_a_change_that_nobody_knows_the_end_of_stays_recorded(cloud, state):
    cloud.stuck = {UUIDS[1]}
    cloud.run(state)
    cloud.pins[UUIDS[1]], cloud.stuck = "az1", set()
    cloud.run(state, action="restore")
    assert cloud.pins == cloud.before


# --- asked ----------------------------------------------------------------------------------------------------


def test_asked_what_is_recorded_it_says_so_and_changes_nothing(cloud, state):
    none = cloud.run(state, action="status")
    assert (none["failed"], none["changed"], none["state"], none["recorded"]) == (False, False, "none", [])
    assert "no old pins are recorded" in none["msg"]
    killed(cloud, state, 6)
    cloud.pins[UUIDS[1]], cloud.silent = "az2", {UUIDS[11]}
    cloud.gone, cloud.deleted = {UUIDS[9], UUIDS[10]}, {UUIDS[10]}
    pins, old, said = dict(cloud.pins), kept(state), []
    result = cloud.run(state, action="status", said=said)
    assert (result["failed"], result["changed"], result["state"]) == (False, False, "unfinished")
    rows = {row["server"]: row for row in result["recorded"]}
    assert {uuid: row["before"] for uuid, row in rows.items()} == cloud.before
    assert rows[UUIDS[1]]["state"] == "changed by another user"
    assert rows[UUIDS[1]]["now"] == "az2"
    assert [rows[UUIDS[number]]["state"] for number in (9, 10, 11)] == ["not shown by Nova", "deleted", "not read"]
    written = [uuid for uuid in UUIDS if cloud.pins[uuid] == "az1" and rows[uuid]["state"] == "as written"]
    assert written == [uuid for uuid in UUIDS if cloud.pins[uuid] == "az1"]
    assert "as before" in {row["state"] for row in rows.values()}
    assert f"{old_pins.path_of(state.directory)} on {KEEPER} holds 12 old pins" in result["msg"]
    assert f"process {DEAD['pid']}" in result["msg"]
    assert "web2" in said[0]
    assert (cloud.pins, kept(state)) == (pins, old)


def test_asked_about_some_it_tells_of_them(cloud, state):
    cloud.run(state)
    result = cloud.run(state, action="status", all_servers=False, servers=["web3", UUIDS[4]])
    assert [row["server"] for row in result["recorded"]] == [UUIDS[3], UUIDS[4]]


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_check_mode_writes_nothing_and_says_where_it_would(cloud, state, action):
    if action == "restore":
        cloud.run(state)
    pins, old = dict(cloud.pins), kept(state)
    result = cloud.run(state, action=action, check_mode=True)
    assert (result["changed"], result["state"], len(result["changes"])) == (True, "planned", 12)
    assert old_pins.path_of(state.directory) in result["msg"]
    assert (cloud.pins, kept(state)) == (pins, old)


# --- which pins are restored ------------------------------------------------------------------------------------


def rest(cloud, state, **selection):
    return cloud.run(state, action="restore", all_servers=False, **selection)


@pytest.mark.parametrize(
    ("selection", "whom"),
    [
        ({"servers": ["web3", UUIDS[4]]}, [3, 4]),
        ({"servers": "[?name=='web3']"}, [3]),
        ({"hosts": ["COMPUTE1"]}, range(12)),
        ({"hosts": ["compute1"], "servers": "[?name=='web3']"}, [3]),
    ],
)
def test_what_is_selected_is_restored_and_the_rest_stays_recorded(cloud, state, selection, whom):
    cloud.run(state)
    rest(cloud, state, **selection)
    whom = [UUIDS[number] for number in whom]
    assert [uuid for uuid in UUIDS if cloud.pins[uuid] == cloud.before[uuid]] == whom
    assert list(recorded(state)) == [uuid for uuid in UUIDS if uuid not in whom]


@pytest.mark.parametrize(
    "selection", [{"servers": ["web99"]}, {"hosts": ["compue1"]}, {"servers": "[?name=='nobody']"}]
)
def test_a_selection_of_nobody_is_no_success(cloud, state, selection):
    cloud.run(state)
    with pytest.raises(StackguardError):
        rest(cloud, state, **selection)
    assert set(cloud.pins.values()) == {"az1"}


def test_of_two_recorded_servers_of_one_name_the_uuid_is_asked_for(cloud, state):
    real = cloud.server
    cloud.server = lambda uuid: facts.from_plain(type(real(uuid)), {**facts.to_plain(real(uuid)), "name": "web"}, "")
    cloud.run(state)
    with pytest.raises(StackguardError, check=problem_is("ambiguous-name")):
        rest(cloud, state, servers=["web"])
    rest(cloud, state, servers=[UUIDS[0]])
    assert cloud.pins[UUIDS[0]] is None


def test_whose_host_is_not_known_is_not_left_out_by_a_selection_of_hosts(cloud, state):
    cloud.run(state)
    cloud.silent = {UUIDS[5]}
    with pytest.raises(SilentCellError, match=UUIDS[5]):
        rest(cloud, state, hosts=["compute1"])
    cloud.silent, cloud.gone = set(), {UUIDS[5]}
    result = rest(cloud, state, hosts=["compute1"])
    assert (result["failed"], "web5" in result["msg"]) == (True, True)


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_somebody_must_be_meant(action):
    assert pin_zones.problem({**OPTIONS, "action": action, "all_servers": False})
    assert pin_zones.problem({**OPTIONS, "action": action}) is None
    assert pin_zones.problem({**OPTIONS, "action": "status", "all_servers": False}) is None


def test_with_nothing_recorded_nothing_is_restored(cloud, state):
    result = cloud.run(state, action="restore")
    assert (result["failed"], result["changed"], result["state"]) == (False, False, "none")
    assert "nothing to restore" in result["msg"]


def test_several_pins_are_changed_at_a_time(cloud, state, monkeypatch):
    gate = threading.Barrier(5, timeout=10)
    monkeypatch.setattr(cloud, "pins", {uuid: None if number < 10 else "az1" for number, uuid in enumerate(UUIDS)})
    cloud.ahead = lambda _uuid: gate.wait()
    assert cloud.run(state)["failed"] is False, "a batch of five: all of them wait for one another"


# --- the file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["apply", "restore", "status"])
@pytest.mark.parametrize("content", ['{"schema": 1, "ki', '{"schema": 2, "rows": []}'])
def test_where_the_file_cannot_be_read_nothing_is_done(cloud, state, action, content):
    killed(cloud, state, 6)
    path, pins = pathlib.Path(old_pins.path_of(state.directory)), dict(cloud.pins)
    path.write_text(content)
    with pytest.raises(StackguardError, match=f"SG706 .*{path.name}"):
        cloud.run(state, action=action)
    assert (cloud.pins, path.read_text()) == (pins, content)


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_what_another_cloud_has_recorded_is_not_taken(cloud, state, action):
    cloud.run(state)
    pins = dict(cloud.pins)
    journals.write(os.path.join(state.directory, old_pins.FOLDER), {**kept(state), "cloud_id": "cloud2"})
    with pytest.raises(Refused, match=r"SG706 .*cloud2"):
        cloud.run(state, action=action)
    assert cloud.pins == pins


def left_by_version_0_2_0(state, text=None):
    """The journal of a change of pins: this version goes on with none."""
    journal = {"schema": 1, "kind": "zone-pins", "operation_id": "old1", "state": "open", "about": {}, "run": {}}
    pathlib.Path(state.directory).mkdir(exist_ok=True)
    path = pathlib.Path(state.directory) / "zone-pins.json"
    path.write_text(json.dumps(journal) if text is None else text)
    return path


@pytest.mark.parametrize("text", [None, "{"])
@pytest.mark.parametrize("action", ["apply", "restore", "status"])
def test_what_version_0_2_0_left_open_is_never_none_open(cloud, state, action, text):
    path = left_by_version_0_2_0(state, text)
    with pytest.raises(Refused, match=r"SG706 .* 0\.2\.0") as refused:
        cloud.run(state, action=action)
    assert str(path) in str(refused.value)
    assert cloud.pins == cloud.before


def test_the_file_is_no_journal_of_another_operation(cloud, state):
    cloud.run(state)
    assert (state.open, journals.list_closed(state.directory, "zone-pins")) == ([], [])


# --- what refuses, and what is left out ---------------------------------------------------------------------------


def test_a_server_that_cannot_be_pinned_refuses_all_and_is_named(cloud, state):
    cloud.tasks = {UUIDS[1]: "resize_prep", UUIDS[3]: "rebooting"}
    result = cloud.run(state)
    assert (result["failed"], result["changed"], result["state"]) == (True, False, "refused")
    assert "(SG701)" in result["msg"]
    assert {item["object"]["name"] for item in result["report"]["findings"] if item["code"] == "SG701"} == {
        "web1",
        "web3",
    }
    assert result["report"]["verdict"] == "block"
    assert (cloud.pins, kept(state)) == (cloud.before, None)


def test_an_override_leaves_that_server_out_and_names_it(cloud, state):
    cloud.tasks = {UUIDS[1]: "resize_prep", UUIDS[3]: "rebooting"}
    one = Override("SG701", UUIDS[1], "it is resized all day")
    assert "1 server cannot be pinned" in cloud.run(state, overrides=[one])["msg"]
    result = cloud.run(state, overrides=[one, Override("SG701", "web3", "so is this one")])
    assert (result["failed"], result["report"]["verdict"]) == (False, "warn")
    assert "2 servers left out: web1 (SG701), web3 (SG701)" in result["msg"]
    assert [number for number, uuid in enumerate(UUIDS) if cloud.pins[uuid] != "az1"] == [1, 3]


def test_partial_leaves_out_whoever_cannot_be_pinned_and_names_them(cloud, state):
    cloud.tasks = {UUIDS[1]: "resize_prep"}
    result = cloud.run(state, partial=True)
    assert (result["failed"], result["report"]["verdict"]) == (False, "warn")
    assert ": web1 (SG701)" in result["msg"]


@pytest.mark.parametrize("more", [{"partial": True}, {"overrides": [Override("SG709", "all", "never mind")]}])
def test_nothing_makes_up_for_a_silent_cell(cloud, state, more):
    rows = [cloud.server(uuid) for uuid in UUIDS]
    result = cloud.run(state, chosen=lambda *_given: ServerList(rows, ["compute9"]), **more)
    assert (result["failed"], result["state"], "compute9" in result["msg"]) == (True, "refused", True)
    assert "SG709" in {item["code"] for item in result["report"]["findings"] if item["severity"] == "blocker"}
    assert (cloud.pins, kept(state)) == (cloud.before, None)


def test_a_server_in_a_task_is_not_restored_and_stays_recorded(cloud, state):
    cloud.run(state)
    cloud.tasks = {UUIDS[1]: "rebooting"}
    result = cloud.run(state, action="restore")
    assert (result["failed"], result["state"]) == (True, "incomplete")
    assert "11 pins restored" in result["msg"]
    assert "1 not restored: web1" in result["msg"]
    assert recorded(state) == {UUIDS[1]: None}
    cloud.tasks = {}
    assert cloud.run(state, action="restore")["failed"] is False
    assert cloud.pins == cloud.before


# --- servers that Nova does not show --------------------------------------------------------------------------


def test_a_deleted_server_is_named_and_ends_with_the_restore(cloud, state):
    killed(cloud, state, 8)
    cloud.gone = cloud.deleted = {UUIDS[1]}
    result = cloud.run(state, action="restore")
    assert (result["failed"], recorded(state)) == (False, {})
    assert "Nova no longer has 1 server: web1" in result["msg"]


def test_servers_that_nova_does_not_know_stay_recorded(cloud, state):
    """Another project's credentials answer 404 as well: the operation ended as rolled back, with nothing restored."""
    killed(cloud, state, 8)
    cloud.gone, cloud.deleted = {UUIDS[1], UUIDS[3]}, {UUIDS[3]}
    result = cloud.run(state, action="restore")
    assert (result["failed"], recorded(state)) == (True, {UUIDS[1]: None})
    assert "Nova does not show web1, and has no record that the server was deleted" in result["msg"]
    assert [(item["code"], item["object"]) for item in result["report"]["unchecked"]] == [("SG709", "web1")]
    # The rest is restored, and again with the right credentials all of it.
    assert [uuid for uuid in UUIDS if cloud.pins[uuid] != cloud.before[uuid]] == [UUIDS[1], UUIDS[3]]
    cloud.gone.discard(UUIDS[1])
    assert cloud.run(state, action="restore")["failed"] is False
    assert cloud.pins[UUIDS[1]] == cloud.before[UUIDS[1]]
    assert recorded(state) == {}


def test_a_person_ends_a_restore_whose_rows_are_archived(cloud, state):
    killed(cloud, state, 8)
    cloud.gone = {UUIDS[1]}
    result = cloud.run(state, action="restore", partial=True)
    assert (result["failed"], recorded(state)) == (False, {})
    assert "Nova no longer has 1 server: web1" in result["msg"]
