# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A resize from end to end against a small Nova: it stays in its zone, or all is as before; also when killed."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.zones import server_operation
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import pin_steps as zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import operation as resize_run
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder, volume
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Life
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Killed, Nova

OPTIONS = {
    "action": "apply",
    "server": WEB,
    "flavor": "m1.large",
    "strategy": "auto",
    "confirm": True,
    "keep_pin": False,
    "same_host": False,
    "take_over": False,
    "server_timeout": 600,
    "nova_api_db_url": None,
}
DONE = {"status": "ACTIVE", "flavor": "2", "task": None, "pin": None}
BEFORE = {"status": "ACTIVE", "flavor": "1", "task": None, "pin": None, "host": "compute1"}


class Database:
    """Request specs of the small Nova: the zone is the server's pin."""

    def __init__(self, monkeypatch, nova):
        self.nova = nova
        monkeypatch.setattr(zone_pin.request_specs, "read_zones", self.read)
        monkeypatch.setattr(zone_pin.request_specs, "swap_zone", self.swap)

    def read(self, _url, uuids):
        return {uuid: self.nova.server["pin"] for uuid in uuids if uuid == WEB and self.nova.server}

    def swap(self, _url, _uuid, before, after, before_commit):
        before_commit()
        self.nova.burn()
        found = self.nova.server["pin"]
        if found == after:
            return "already"
        if found != before:
            raise Conflict("somebody else")
        self.nova.server["pin"] = after
        self.nova.calls.append(("pin_db", after))
        self.nova.burn()
        return "changed"


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def run_of(nova, state, check_mode=False, overrides=(), said=None, mine=None, **options):
    clock = Clock()

    def sleep(seconds):
        clock.sleep(seconds)

    systems = Systems({"nova_api_db_url": "db"}, None, {}, sleep, clock.monotonic, _connection=nova)
    given = life(state, {**OPTIONS, **options}, "resize_", said, mine, check_mode, overrides)
    return resize_run.ServerRun(**given, systems=systems, operation_id="op1")


def resize(nova, state, **more):
    return resize_run.carry_out(run_of(nova, state, **more))


def is_now(nova, expected):
    return {key: nova.server[key] for key in expected} == expected


# --- the stray, and the guards --------------------------------------------------------------------------------


def test_unguarded_the_server_strays():
    nova = Nova(ticks=1)
    nova.act({"resize": {"flavorRef": "2"}})
    nova.tick()
    assert nova.server["host"] == "compute3"


@pytest.mark.parametrize("status", ["ACTIVE", "SHUTOFF"])
def test_pinned_by_api_it_stays_and_its_pin_is_as_before(state, status):
    nova = Nova(status=status)
    result = resize(nova, state)
    assert (result["state"], result["strategy"], result["changed"]) == ("finished", "pin_api", True)
    assert is_now(nova, {**DONE, "status": status, "host": "compute2"})
    assert nova.calls == [("pin", "az1"), ("resize",), ("confirmResize",), ("pin", None)]
    assert not state.open


def test_a_second_run_changes_nothing(state):
    nova = Nova()
    resize(nova, state)
    calls = list(nova.calls)
    assert resize(nova, state)["changed"] is False
    assert nova.calls == calls


@pytest.mark.parametrize("microversion", [(2, 95), (2, 96)])
def test_pinned_in_the_database_it_stays(state, monkeypatch, microversion):
    nova = Nova(max_microversion=microversion)
    Database(monkeypatch, nova)
    result = resize(nova, state, nova_api_db_url="db")
    assert result["strategy"] == "pin_db"
    assert is_now(nova, {**DONE, "host": "compute2"})
    assert nova.calls == [("pin_db", "az1"), ("resize",), ("confirmResize",), ("pin_db", None)]


def test_a_pin_that_holds_nowhere_is_given_back_as_it_was(state, monkeypatch):
    nova = Nova(pin="nova")
    Database(monkeypatch, nova)
    assert resize(nova, state, nova_api_db_url="db")["strategy"] == "pin_db"
    assert is_now(nova, {**DONE, "pin": "nova", "host": "compute2"})


def test_one_that_is_pinned_keeps_its_pin(state):
    nova = Nova(pin="az1")
    assert resize(nova, state)["strategy"] == "pinned"
    assert is_now(nova, {**DONE, "pin": "az1", "host": "compute2"})


def test_the_pin_can_be_kept(state):
    nova = Nova()
    resize(nova, state, keep_pin=True)
    assert is_now(nova, {**DONE, "pin": "az1", "host": "compute2"})


def test_the_confirmation_can_be_left_to_its_owner(state):
    nova = Nova()
    resize(nova, state, confirm=False)
    assert is_now(nova, {"status": "VERIFY_RESIZE", "flavor": "2", "pin": None, "host": "compute2"})
    assert ("confirmResize",) not in nova.calls


def test_verify_reverts_a_stray_and_never_confirms_it(state):
    nova = Nova(max_microversion=(2, 96))
    result = resize(nova, state)
    assert (result["failed"], result["state"], result["strategy"]) == (True, "rolled-back", "verify")
    assert [item["code"] for item in result["report"]["findings"]] == ["SG407"]
    assert is_now(nova, BEFORE)
    assert nova.calls == [("resize",), ("revertResize",)]
    assert not state.open


def test_verify_confirms_what_stayed(state):
    nova = Nova(taker="compute2", max_microversion=(2, 96))
    assert resize(nova, state)["state"] == "finished"
    assert is_now(nova, {**DONE, "host": "compute2"})


# --- refused: exactly as found --------------------------------------------------------------------------------


def refused(nova, state, code, **more):
    before = copy.deepcopy(nova.server)
    with pytest.raises(resize_run.Refused) as caught:
        resize(nova, state, **more)
    assert nova.server == before
    assert nova.calls == []
    assert not state.open
    codes = {item["code"] for item in caught.value.data["report"]["findings"] if item["severity"] == "blocker"}
    assert codes == {code}
    assert caught.value.data["report"]["verdict"] == "block"


def test_a_zone_without_room_is_refused_before_anything_moves(state):
    refused(Nova(), state, "SG406", flavor="m1.huge")
    nova = Nova()
    nova.disabled = {"compute2"}
    refused(nova, state, "SG406")


def test_pins_that_cannot_be_read_are_refused(state):
    refused(Nova(max_microversion=(2, 95)), state, "SG709")


def test_pins_that_cannot_be_read_are_refused_also_where_that_was_passed_and_the_report_says_so(state):
    nova = Nova(max_microversion=(2, 95))
    word = [findings.Override("SG709", WEB, "a trial")]
    with pytest.raises(resize_run.Refused, check=problem_is("refused")) as caught:
        resize(nova, state, overrides=word)
    report = caught.value.data["report"]
    assert (report["verdict"], report["counts"]["overridden"]) == ("block", 1)
    assert nova.calls == []


def test_a_server_outside_its_pin_is_refused(state):
    refused(Nova(pin="az2"), state, "SG404")


def test_an_override_passes_what_may_be_passed(state):
    nova = Nova(pin="az2", taker="compute2")
    word = [findings.Override("SG404", WEB, "it belongs here")]
    # Nova obeys the pin and lands it in the pinned zone, which is not where it was.
    with pytest.raises(resize_run.Refused):
        resize(nova, state, strategy="pin_api", overrides=word)


@pytest.mark.parametrize(("option", "value"), [("server", "nobody"), ("flavor", "m9")])
def test_what_does_not_exist_is_refused(state, option, value):
    nova = Nova()
    with pytest.raises(resize_run.Refused):
        resize(nova, state, **{option: value})
    assert nova.calls == []


def test_check_mode_changes_nothing_and_shows_the_plan(state):
    nova, said = Nova(), []
    result = resize(nova, state, check_mode=True, said=said)
    assert (result["state"], result["changed"]) == ("planned", True)
    assert [step["name"] for step in result["plan"]["steps"]] == ["pin", "resize", "compare", "confirm", "unpin"]
    assert nova.calls == []
    assert not state.open
    assert "pin the server to az1 (pin_api)" in "\n".join(said)


# --- Nova and the owner have their own will -------------------------------------------------------------------


def test_nova_refuses_the_resize(state):
    nova = Nova()
    nova.answers["resize"] = [Answer(403, {"forbidden": {"message": "quota"}})]
    result = resize(nova, state)
    assert "quota" in result["msg"]
    assert (result["failed"], result["state"]) == (True, "rolled-back")
    assert is_now(nova, BEFORE)


def test_nova_fails_the_resize(state):
    nova = Nova()
    nova.fails = "No valid host was found."
    result = resize(nova, state)
    assert "No valid host was found." in result["msg"]
    assert is_now(nova, BEFORE)


def test_a_busy_moment_is_waited_out(state):
    nova = Nova()
    nova.answers["resize"] = [Answer(409, {"conflictingRequest": {"message": "later"}})] * 2
    assert resize(nova, state)["state"] == "finished"


def after(nova, name, act):
    """Let the owner act as soon as something was asked for and done."""
    real = nova.tick

    def tick():
        real()
        if (name,) in nova.calls and nova.left == 0 and nova.server and nova.server["task"] is None:
            nova.tick = real
            act()

    nova.tick = tick


def test_its_owner_deletes_it_meanwhile(state):
    nova = Nova()
    after(nova, "resize", lambda: setattr(nova, "server", None))
    result = resize(nova, state)
    assert "deleted" in result["msg"]
    assert result["failed"]
    assert not state.open, "nothing is left to be carried on with"


def test_its_owner_deletes_it_and_its_row_is_archived(state):
    nova = Nova()
    nova.archived = True
    after(nova, "resize", lambda: setattr(nova, "server", None))
    result = resize(nova, state)
    assert "deleted" in result["msg"]
    assert not state.open


def test_a_server_that_is_not_shown_is_not_deleted(state):
    """Other credentials are shown nothing of it: a rollback with them must not end the operation."""
    nova = killed_after_the_request(state)
    nova.hidden = True
    for action in ("rollback", "resume"):
        with pytest.raises(StepError, match=r"Nova does not show server .* no record that the server was deleted"):
            resize(nova, state, action=action)
        assert state.open
    assert "not shown by Nova" in resize(nova, state, action="status")["msg"]
    nova.hidden = False
    assert resize(nova, state, action="rollback")["state"] == "rolled-back"
    assert is_now(nova, BEFORE)
    assert not state.open


def test_a_user_who_may_not_list_deleted_servers_proves_nothing(state):
    nova = killed_after_the_request(state)
    nova.hidden, nova.member = True, True
    with pytest.raises(
        StepError, match="the OpenStack user of the run has no permission to see whether the server was deleted"
    ):
        resize(nova, state, action="rollback")
    assert state.open


def killed_after_the_request(state):
    """A Nova that resizes, and an open operation whose run was killed right after it had asked for that."""
    nova = Nova()
    nova.compute.request = dying_after(nova, "resize")
    with pytest.raises(Killed):
        resize(nova, state)
    nova.compute.request = nova.request
    return nova


def dying_after(nova, name):
    """Requests until one of this name was answered."""

    def request(path, method, **more):
        answer = nova.request(path, method, **more)
        if name in (more.get("json") or {}):
            raise Killed
        return answer

    return request


def test_its_owner_confirms_a_stray_first(state):
    nova = Nova(max_microversion=(2, 96))
    after(nova, "resize", lambda: nova.server.update(status="ACTIVE"))
    result = resize(nova, state)
    assert result["failed"]
    assert "SG407" in result["msg"]
    assert ("revertResize",) not in nova.calls
    assert not state.open


def test_its_owner_reverts_it_first(state):
    nova = Nova()
    after(nova, "resize", nova.revert)
    result = resize(nova, state)
    assert result["failed"]
    assert is_now(nova, BEFORE)


def test_somebody_else_pins_it_meanwhile(state):
    nova = Nova()
    after(nova, "resize", lambda: nova.server.update(pin="other"))
    assert resize(nova, state)["state"] == "finished"
    assert nova.server["pin"] == "other", "theirs is the last word"


# --- killed anywhere ------------------------------------------------------------------------------------------


def killed(nova, state, fuse, **more):
    nova.fuse = fuse
    try:
        resize(nova, state, **more)
    except Killed:
        return True
    finally:
        nova.fuse = None
    return False


@pytest.mark.parametrize("after_kill", ["apply", "rollback"])
@pytest.mark.parametrize("way", ["pin_api", "pin_db", "verify"])
def test_killed_at_every_call_it_ends_all_new_or_all_old(tmp_path, monkeypatch, way, after_kill):
    ended = set()
    for fuse in range(400):
        nova, state = Nova(taker="compute2" if way == "verify" else "compute3"), State(tmp_path / f"{fuse}")
        Database(monkeypatch, nova)
        options = {"strategy": way, "nova_api_db_url": "db" if way == "pin_db" else None}
        if not killed(nova, state, fuse, **options):
            break
        result = resize_run.carry_out(run_of(nova, state, action=after_kill, **options))
        for _more in range(10):
            nova.tick()
        new, old = is_now(nova, {**DONE, "host": "compute2"}), is_now(nova, BEFORE)
        assert new or old, (fuse, nova.server, nova.calls)
        assert new or after_kill == "rollback", (fuse, nova.server, result)
        assert nova.calls.count(("resize",)) <= 1
        assert not state.open
        if after_kill == "rollback":
            assert result.get("failed", False) == new, "what was confirmed cannot be taken back, and that is told"
        ended.add("new" if new else "old")
    else:
        pytest.fail("it never came to its end")
    assert fuse > 20
    assert ended == ({"new"} if after_kill == "apply" else {"new", "old"})


def test_killed_while_a_stray_is_reverted_it_is_reverted(tmp_path):
    for fuse in range(400):
        nova, state = Nova(max_microversion=(2, 96)), State(tmp_path / f"{fuse}")
        if not killed(nova, state, fuse):
            break
        resize(nova, state)
        assert is_now(nova, BEFORE), (fuse, nova.server)
        assert ("confirmResize",) not in nova.calls
        assert not state.open


def test_another_flavor_is_not_taken_for_the_same_operation(state):
    nova = Nova()
    assert killed(nova, state, 45)
    assert state.open
    with pytest.raises(resize_run.Refused, match="SG706"):
        resize(nova, state, flavor="m1.huge")


def test_two_runs_do_not_carry_on_with_one_operation(state):
    nova = Nova()
    assert killed(nova, state, 45)
    elsewhere = {"controller": "there", "pid": 2, "pid_start": 3}
    with pytest.raises(StackguardError, match="SG707"):
        resize(nova, state, mine=elsewhere)
    assert resize(nova, state, mine=elsewhere, take_over=True)["state"] == "finished"


# --- resume and status ----------------------------------------------------------------------------------------


def carry_out(nova, state, action, **more):
    return resize_run.carry_out(run_of(nova, state, action=action, **more))


def test_a_resume_needs_no_flavor_and_finishes_what_was_begun(state):
    nova = Nova()
    assert killed(nova, state, 45)
    assert carry_out(nova, state, "resume", flavor=None)["state"] == "finished"
    assert is_now(nova, {**DONE, "host": "compute2"})
    assert not state.open


def test_a_resume_refuses_another_flavor_than_was_begun(state):
    nova = Nova()
    assert killed(nova, state, 45)
    with pytest.raises(resize_run.Refused, match="SG706"):
        carry_out(nova, state, "resume", flavor="m1.huge")
    assert state.open


def test_a_status_shows_the_open_operation_and_changes_nothing(state):
    nova, said = Nova(), []
    assert killed(nova, state, 45)
    calls, before = list(nova.calls), state.open
    elsewhere = {"controller": "there", "pid": 2, "pid_start": 3}
    result = carry_out(nova, state, "status", flavor=None, said=said, mine=elsewhere)
    assert (result["changed"], result["state"]) == (False, "open")
    assert "resize_action=resume" in result["msg"]
    assert nova.server["host"] in result["msg"]
    assert set(result["steps"].values()) <= {"pending", "applying", "done"}
    assert (nova.calls, state.open) == (calls, before), "the run that has the operation still has it"


def test_a_status_without_an_operation_reports_the_server(state):
    nova = Nova()
    result = carry_out(nova, state, "status")
    assert (result["changed"], result["state"]) == (False, "none")
    assert "compute1" in result["msg"]
    assert nova.calls == []


# --- the rules that every operation lives by ------------------------------------------------------------------


class Resize(Life):
    """Nova is at it."""

    def begin_world(self, tmp_path, monkeypatch):
        self.nova = Nova()

    def cut(self):
        assert killed(self.nova, self.state, 30)

    def act(self, action):
        return resize_run.carry_out(run_of(self.nova, self.state, action=action, mine=OTHER))

    def world(self):
        return [self.nova.server, self.nova.calls]


LIVES = {"resize": Resize}


# --- volumes --------------------------------------------------------------------------------------------------


def with_volume(monkeypatch, status):
    """A Nova whose server has a volume of this status."""
    nova = Nova()
    real = nova.show
    attached = {"os-extended-volumes:volumes_attached": [{"id": "v1"}]}
    monkeypatch.setattr(nova, "show", lambda microversion: {**real(microversion), **attached})
    monkeypatch.setattr(resize_run.zone_facts.server_disks, "volume_zones", lambda *_given: {"v1": "az1"})
    storage = cinder(volume("v1", attachment(1, "v1", WEB), status=status))
    monkeypatch.setattr(resize_run.block_storage, "read_block_storage", lambda *_given, **_more: storage)
    return nova


@pytest.mark.parametrize(("severity", "failed"), [("warning", True), ("info", False)])
def test_volumes_that_did_not_go_along_are_told_and_the_run_is_not_green(monkeypatch, state, severity, failed):
    wrong = findings.finding("SG524", findings.Subject("instance", WEB), {}, "look", severity)
    monkeypatch.setattr(server_operation, "check_one", lambda _systems, _uuid: findings.Checked((wrong,)))
    nova = with_volume(monkeypatch, "in-use")
    result = resize(nova, state)
    assert (result["state"], bool(result.get("failed"))) == ("finished", failed)
    assert [item["code"] for item in result["report"]["findings"]] == ["SG524"]
    assert is_now(nova, {**DONE, "host": "compute2"})


def test_a_volume_that_is_not_ready_forbids_it(monkeypatch, state):
    nova = with_volume(monkeypatch, "error")
    with pytest.raises(StackguardError) as refused:
        resize(nova, state)
    assert "SG526" in {item["code"] for item in refused.value.data["report"]["findings"]}
    assert nova.calls == []
