# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unshelving from end to end against a small Nova: the server runs in its zone, or is shelved as before."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.engine.server_run import ServerRun
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.zones.unshelve import operation as unshelve_run
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Life
from ansible_collections.stackguard.nova.tests.unit.operations.test_resize import Database
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.shelved_nova import ShelvedNova, shelving
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Killed

OPTIONS = {
    "action": "apply",
    "server": WEB,
    "zone": None,
    "take_over": False,
    "server_timeout": 600,
    "nova_api_db_url": None,
}
BEFORE = {"status": "SHELVED_OFFLOADED", "task": None, "pin": None, "host": None}
DONE = {"status": "ACTIVE", "task": None, "pin": "az1", "host": "compute1"}
UNSHELVED = [("unshelve", "az1")]
#: Calls after which the request was made, and Nova is at it.
ASKED = 20


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def unshelve(nova, state, check_mode=False, overrides=(), said=None, mine=None, **options):
    clock = Clock()
    systems = Systems({"nova_api_db_url": "db"}, None, {}, clock.sleep, clock.monotonic, _connection=nova)
    given = life(state, {**OPTIONS, **options}, "unshelve_", said, mine, check_mode, overrides)
    return unshelve_run.carry_out(ServerRun(**given, systems=systems, operation_id="op1"))


def is_now(nova, expected):
    return {key: nova.server[key] for key in expected} == expected


# --- the stray, and the guard ---------------------------------------------------------------------------------


def test_unguarded_the_server_strays():
    nova = ShelvedNova(ticks=1)
    nova.act({"unshelve": None})
    nova.tick()
    assert is_now(nova, {"status": "ACTIVE", "host": "compute3"})


@pytest.mark.parametrize("microversion", [(2, 96), (2, 104)])
def test_it_starts_in_its_zone_and_stays_pinned_to_it(state, microversion):
    nova = ShelvedNova(max_microversion=microversion)
    result = unshelve(nova, state)
    assert (result["state"], result["zone"], result["changed"]) == ("finished", "az1", True)
    assert is_now(nova, DONE)
    assert nova.calls == UNSHELVED
    assert not state.open


def test_a_second_run_changes_nothing(state):
    nova = ShelvedNova()
    unshelve(nova, state)
    result = unshelve(nova, state)
    assert (result["changed"], result["state"]) == (False, "none")
    assert nova.calls == UNSHELVED


def test_one_that_is_still_on_its_host_starts_there_and_is_not_pinned(state):
    nova = ShelvedNova(offloaded=False, record="az1", images={})
    assert unshelve(nova, state)["state"] == "finished"
    assert is_now(nova, {**DONE, "pin": None})
    assert nova.calls == [("unshelve", None)]


def test_a_pin_that_holds_nowhere_is_replaced(state):
    nova = ShelvedNova(pin="nova")
    assert unshelve(nova, state)["state"] == "finished"
    assert is_now(nova, DONE)


def test_a_named_zone_decides_where_facts_differ(state):
    nova = ShelvedNova(record="az2")
    unshelve(nova, state, zone="az1")
    assert is_now(nova, DONE)


def test_check_mode_changes_nothing_and_shows_the_plan(state):
    nova, said = ShelvedNova(), []
    result = unshelve(nova, state, check_mode=True, said=said)
    assert (result["state"], result["changed"]) == ("planned", True)
    assert [step["name"] for step in result["plan"]["steps"]] == ["unshelve", "compare"]
    changes = {change["what"]: change["after"] for change in result["plan"]["steps"][0]["changes"]}
    assert changes == {"status": "ACTIVE", "pinned availability zone": "az1"}
    assert (nova.calls, state.open) == ([], [])
    assert "unpins it" in "\n".join(said)


# --- refused: exactly as found --------------------------------------------------------------------------------


def refused(nova, state, code, **more):
    before = copy.deepcopy(nova.server)
    with pytest.raises(Refused, check=problem_is("refused")) as caught:
        unshelve(nova, state, **more)
    assert (nova.server, nova.calls, state.open) == (before, [], [])
    report = caught.value.data["report"]
    assert {item["code"] for item in report["findings"] if item["severity"] == "blocker"} == {code}


def test_facts_that_differ_or_name_nothing_are_refused(state):
    refused(ShelvedNova(record="az2"), state, "SG409")
    refused(ShelvedNova(record=None, actions=[]), state, "SG409")
    refused(ShelvedNova(pin="az2"), state, "SG409")
    refused(ShelvedNova(), state, "SG409", zone="az2")
    refused(ShelvedNova(), state, "SG409", zone="az9")


def test_an_override_passes_a_zone_that_all_facts_contradict(state):
    nova = ShelvedNova()
    unshelve(nova, state, zone="az2", overrides=[Override("SG409", WEB, "az1 burns")])
    assert is_now(nova, {**DONE, "pin": "az2", "host": "compute3"})


def test_no_override_replaces_a_zone(state):
    nova = ShelvedNova(record="az2")
    with pytest.raises(Refused):
        unshelve(nova, state, overrides=[Override("SG409", WEB, "whatever")])
    assert nova.calls == []


def test_a_zone_without_room_is_refused(state):
    nova = ShelvedNova()
    nova.disabled = {"compute1", "compute2"}
    refused(nova, state, "SG406")


@pytest.mark.parametrize("images", [{}, {"image-1": "queued"}])
def test_without_its_image_it_is_refused(state, images):
    refused(ShelvedNova(images=images), state, "SG710")


def test_a_host_that_is_down_is_refused(state, monkeypatch):
    nova = ShelvedNova(offloaded=False)
    rows = [{**row, "state": "down"} for row in nova.services()]
    monkeypatch.setattr(nova, "services", lambda: rows)
    refused(nova, state, "SG406")


def test_pins_that_cannot_be_read_and_an_old_nova_are_refused(state):
    refused(ShelvedNova(max_microversion=(2, 95)), state, "SG709")
    with pytest.raises(Refused, match="SG705"):
        unshelve(ShelvedNova(max_microversion=(2, 76)), state)


def test_one_that_is_deleted_is_refused(state):
    nova = ShelvedNova()
    nova.hidden = True
    with pytest.raises(Refused) as caught:
        unshelve(nova, state)
    assert {item["code"] for item in caught.value.data["report"]["findings"]} == {"SG710"}


# --- Nova and the owner have their own will -------------------------------------------------------------------


def taken_back(nova, state, **more):
    result = unshelve(nova, state, **more)
    assert (result["failed"], result["state"], state.open) == (True, "rolled-back", [])
    return result


def test_nova_finds_no_host(state):
    nova = ShelvedNova()
    real = nova._choose
    nova._choose = lambda: None
    assert "No valid host" in taken_back(nova, state)["msg"]
    assert is_now(nova, BEFORE)
    nova._choose = real
    assert unshelve(nova, state)["state"] == "finished"


def test_a_host_fails_it_and_the_next_run_knows_the_zone_nevertheless(state):
    nova = ShelvedNova()
    nova.spawn = "InvalidVolume"
    assert "InvalidVolume" in taken_back(nova, state)["msg"]
    assert is_now(nova, BEFORE)
    nova.spawn = None
    assert unshelve(nova, state)["state"] == "finished"


def test_what_an_attempt_elsewhere_left_in_novas_record_does_not_count(state):
    nova = ShelvedNova(ticks=1)
    nova.spawn = "InvalidVolume"
    nova.act({"unshelve": None})
    nova.tick()
    assert nova.server["record"] == "az2"
    nova.spawn = None
    unshelve(nova, state)
    assert is_now(nova, DONE)


def test_nova_refuses_it(state):
    nova = ShelvedNova()
    nova.answers["unshelve"] = [Answer(403, {"forbidden": {"message": "quota"}})]
    assert "quota" in taken_back(nova, state)["msg"]
    assert is_now(nova, BEFORE)


def test_a_busy_moment_is_waited_out(state):
    nova = ShelvedNova()
    nova.answers["unshelve"] = [Answer(409, {"conflictingRequest": {"message": "later"}})] * 2
    assert unshelve(nova, state)["state"] == "finished"


def test_a_pin_that_cannot_be_given_back_is_told(state):
    nova, said = ShelvedNova(max_microversion=(2, 96)), []
    nova._choose = lambda: None
    taken_back(nova, state, said=said)
    assert is_now(nova, {**BEFORE, "pin": "az1"})
    assert "cannot set the pin back" in "\n".join(said)


def test_a_pin_is_given_back_in_the_database(state, monkeypatch):
    nova = ShelvedNova(max_microversion=(2, 95), pin="nova")
    Database(monkeypatch, nova)
    nova._choose = lambda: None
    taken_back(nova, state, nova_api_db_url="db")
    assert is_now(nova, {**BEFORE, "pin": "nova"})


def test_without_its_image_nova_leaves_a_task_and_the_run_ends(state):
    nova = ShelvedNova()
    nova._start = lambda: nova.server.update(status="ERROR", task="unshelving")
    taken_back(nova, state)
    assert nova.server["status"] == "ERROR"


def test_a_stray_is_told_and_left_running(state):
    nova = ShelvedNova()
    nova._choose = lambda: "compute3"
    result = taken_back(nova, state)
    assert [item["code"] for item in result["report"]["findings"]] == ["SG407"]
    assert is_now(nova, {**DONE, "host": "compute3"})
    assert nova.calls == UNSHELVED, "it is not shelved again"
    with pytest.raises(Refused) as caught:
        unshelve(nova, state)
    assert [item["code"] for item in caught.value.data["report"]["findings"]] == ["SG404"]


def test_nova_offloads_it_meanwhile(state):
    nova = ShelvedNova(offloaded=False)
    asked = nova.request

    def request(path, method, **more):
        if state.open:
            nova.server.update(status="SHELVED_OFFLOADED", host=None)
        return asked(path, method, **more)

    nova.compute.request = request
    taken_back(nova, state)
    assert nova.calls == [], "nobody asks for a server on no host without a zone"


def test_its_owner_deletes_it_meanwhile(state):
    nova = ShelvedNova()
    nova._start = lambda: setattr(nova, "server", None)
    assert "deleted" in taken_back(nova, state)["msg"]


def test_a_server_that_is_not_shown_is_not_deleted(state):
    nova = ShelvedNova()
    assert killed(nova, state, ASKED)
    nova.hidden = True
    with pytest.raises(StepError):
        unshelve(nova, state, action="rollback")
    assert state.open


# --- killed anywhere ------------------------------------------------------------------------------------------


def killed(nova, state, fuse, **more):
    nova.fuse = fuse
    try:
        unshelve(nova, state, **more)
    except Killed:
        return True
    finally:
        nova.fuse = None
    return False


@pytest.mark.parametrize("after_kill", ["apply", "rollback"])
@pytest.mark.parametrize("way", ["api", "db"])
@pytest.mark.parametrize("fails", [False, True], ids=["runs", "fails"])
def test_killed_at_every_call_it_runs_in_its_zone_or_is_as_before(tmp_path, monkeypatch, way, after_kill, fails):
    ended = set()
    for fuse in range(400):
        nova, state = ShelvedNova(), State(tmp_path / f"{fuse}")
        options = {}
        if way == "db":
            nova.compute.get_endpoint_data().max_microversion = (2, 95)
            Database(monkeypatch, nova)
            options = {"nova_api_db_url": "db"}
        nova.spawn = "InvalidVolume" if fails else None
        if not killed(nova, state, fuse, **options):
            break
        unshelve(nova, state, action=after_kill, **options)
        for _more in range(10):
            nova.tick()
        new, old = is_now(nova, DONE), is_now(nova, BEFORE)
        assert new != old, (fuse, nova.server, nova.calls)
        assert old if fails else new or after_kill == "rollback", (fuse, nova.server)
        assert nova.calls.count(UNSHELVED[0]) <= (2 if fails else 1)
        assert not state.open
        ended.add("new" if new else "old")
    else:
        pytest.fail("it never came to its end")
    assert fuse > 20
    assert ended == ({"old"} if fails else {"new"} if after_kill == "apply" else {"new", "old"})


def test_another_zone_is_not_taken_for_the_same_operation(state):
    nova = ShelvedNova()
    assert killed(nova, state, ASKED)
    with pytest.raises(Refused, match="SG706"):
        unshelve(nova, state, zone="az2")
    assert unshelve(nova, state, action="resume", zone="az1")["state"] == "finished"


def test_two_runs_do_not_carry_on_with_one_operation(state):
    nova = ShelvedNova()
    assert killed(nova, state, ASKED)
    elsewhere = {"controller": "there", "pid": 2, "pid_start": 3}
    with pytest.raises(StackguardError, match="SG707"):
        unshelve(nova, state, mine=elsewhere)


def test_a_status_shows_the_open_operation_and_changes_nothing(state):
    nova = ShelvedNova()
    assert "SHELVED_OFFLOADED" in unshelve(nova, state, action="status")["msg"]
    assert killed(nova, state, ASKED)
    calls, before = list(nova.calls), state.open
    result = unshelve(nova, state, action="status")
    assert (result["changed"], result["state"]) == (False, "open")
    assert (nova.calls, state.open) == (calls, before)


def test_actions_older_than_a_silent_shelving_are_not_asked(state):
    """The host of the shelving before may be another one."""
    silent = {**shelving(number=3), "events": []}
    other = {**shelving(number=2), "action": "unshelve", "events": []}
    nova = ShelvedNova(record=None, actions=[silent, other, shelving("compute3")])
    refused(nova, state, "SG409")


# --- the rules that every operation lives by ------------------------------------------------------------------


class Unshelve(Life):
    """Nova is at it."""

    def begin_world(self, tmp_path, monkeypatch):
        self.nova = ShelvedNova()

    def cut(self):
        assert killed(self.nova, self.state, ASKED)

    def act(self, action):
        return unshelve(self.nova, self.state, action=action, mine=OTHER)

    def world(self):
        return [self.nova.server, self.nova.calls]


LIVES = {"unshelve": Unshelve}
