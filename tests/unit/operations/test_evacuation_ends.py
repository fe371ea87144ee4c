# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How an evacuation ends: the guard of a server goes when its evacuation is known to have ended, and not before.

A spawn that fails deletes the images of its server, and only the guard keeps them.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import operation as evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as evacuation_record
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import CephRights
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import cloud_facts, server_records
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, ONE, TWO, Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import image

ATTESTED = {
    "fence": "attested",
    "attested_by": "Ada",
    "overrides": [{"code": "SG506", "object": "compute1", "reason": "I have pulled its plugs"}],
}


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def codes(report):
    return sorted({item["code"] for item in report["findings"]})


def unchecked(report):
    return [item["code"] for item in report["unchecked"]]


# --- guards at the end ----------------------------------------------------------------------------------------


def test_when_all_have_arrived_all_guards_go_and_it_is_a_success(life):
    done = life.run()
    assert (done["failed"], life.guarded(), life.open(), life.report()["verdict"]) == (False, [], None, "pass")
    (journal,) = life.closed()
    assert journal["state"] == "finished"


def test_a_run_that_something_ends_while_the_last_guards_go_is_no_success(life):
    """Every server is away, and the journal is open: only the next run ends the operation."""

    def breaks(need):
        if need["kind"] == "unguard" and all(server["host"] != "compute1" for server in life.nova.servers.values()):
            raise TimeoutError

    life.answer = breaks
    with pytest.raises(TimeoutError):
        life.run(pid=77)
    life.answer = lambda _need: None
    done = life.end(pid=77)
    assert (done["state"], done["failed"], life.report()["verdict"]) == ("open", True, "block")
    done = life.run()
    assert (done["failed"], life.guarded(), life.open()) == (False, [], None)


def test_the_guard_of_one_still_in_transit_stays(life):
    """The measurement is old, and the rounds are used up, while Nova is at TWO."""
    life.stuck = {TWO}
    done = life.run(max_rounds=1, server_timeout=30)
    assert (life.guarded(), life.open() is not None, life.report()["verdict"]) == ([TWO], True, "block")
    assert done["failed"]
    assert "run the same command again" in done["msg"]
    assert (
        "maximum number of rounds. To resume the evacuation, run the same command again. Nova "
        "may still be evacuating these servers, so the run keeps their guard snapshots: guest2. The" in done["msg"]
    )
    assert done["ansible_stats"]["data"]["stackguard"]["message"] == done["msg"]


def test_the_guard_of_one_that_used_up_its_time_stays_and_its_operation_stays_open(life):
    """Nova may still be at it: the next run waits for it again."""
    life.stuck = {TWO}
    done = life.run(server_timeout=30)
    assert (life.guarded(), done["state"], done["failed"]) == ([TWO], "open", True)
    report = life.report()
    assert report["verdict"] == "block"
    assert TWO in str(report["findings"])
    assert ": guest2" in done["msg"]
    # Its destination has been started again: Nova ends it.
    life.nova.servers[TWO].update(task=None, host="compute3")
    done = life.run()
    assert (done["failed"], life.guarded(), life.open()) == (False, [], None)


def test_a_round_that_broke_off_leaves_every_guard_of_those_it_may_have_sent(life, monkeypatch):
    """What it has sent, and how far that is, no run knows."""
    read = cloud_facts.read_cloud

    def mute(*args, **given):
        if life.nova.asked:
            raise ApiError("503 Service Unavailable", status=503)
        return read(*args, **given)

    monkeypatch.setattr(cloud_facts, "read_cloud", mute)
    life.nova.ticks = 10**9
    done = life.run(server_timeout=30, measured_for=1, max_parallel=1)
    assert set(life.guarded()) >= {uuid for uuid, _host in life.nova.asked}
    assert (life.open() is not None, done["failed"], life.report()["verdict"]) == (True, True, "block")


def test_an_operation_that_is_resumed_and_broke_off_leaves_the_guards_of_those_that_were_sent(life):
    life.stuck = {ONE, TWO}
    life.run(max_rounds=1, server_timeout=30)
    assert life.guarded() == BOTH
    life.power = "On"
    done = life.run()
    assert (done["failed"], life.guarded(), life.open() is not None) == (True, BOTH, True)


def test_a_resumed_operation_that_had_sent_no_server_says_nothing_of_nova_and_keeps_no_guard(life):
    """H6: it said "Nova may still be at all of them" of servers that were never sent, and that had no guard."""
    life.run(dies_at=6)
    assert (life.guarded(), life.nova.asked) == (BOTH, [])
    life.power = "On"
    done = life.run()
    assert (done["failed"], life.guarded()) == (True, [])
    assert "Nova may" not in done["msg"]


def test_a_new_operation_that_broke_off_before_its_first_round_leaves_none(life):
    life.answer = lambda need: {"homes": []} if need["kind"] == "guard" else None
    done = life.run()
    assert (life.guarded(), life.open() is not None, done["failed"]) == ([], True, True)
    assert life.nova.asked == []
    assert set(done["left"]) == set(BOTH), "before the first round all are still there"
    assert set(life.told(done)["left"]) == set(BOTH)


def test_guards_that_can_not_be_removed_keep_the_operation_open(life):
    life.answer = lambda need: (
        {"homes": [{**home, "result": {"failed": True, "msg": "timed out"}} for home in need["homes"]]}
        if need["kind"] == "unguard"
        else None
    )
    done = life.run()
    assert (life.open() is not None, done["failed"], life.report()["verdict"]) == (True, True, "block")
    assert "guard snapshots may still be on the images" in done["msg"]
    life.answer = lambda _need: None
    done = life.run()
    assert (done["failed"], life.guarded(), life.open()) == (False, [], None)


def test_a_guard_that_no_host_reaches_any_more_names_its_cluster_and_pool(life):
    """ "Run the abort again" was all, and each abort said so again."""
    life.run(dies_at=6)
    assert life.guarded() == BOTH
    life.change = lambda some: some.images(fsid="another")
    for action in ("apply", "abort", "abort"):
        done = life.run(action=action)
        assert (done["failed"], life.guarded(), life.open() is not None) == (True, BOTH, True)
        assert " vms " in done["msg"] and " fsid" in done["msg"]
    life.change = lambda some: some
    done = life.run(action="abort")
    assert (done["failed"], life.guarded(), life.open()) == (False, [], None)


def test_a_task_of_the_role_that_failed_ends_the_run_with_its_guards_removed(life):
    life.run(dies_at=6)
    assert (life.guarded(), life.nova.asked) == (BOTH, [])
    done = life.end(failure="compute2 does not answer")
    assert (done["failed"], life.guarded(), life.open() is not None) == (True, [], True)
    assert "compute2 does not answer" in done["msg"]
    assert unchecked(life.report()) == ["SG710"]


# --- the report -----------------------------------------------------------------------------------------------


def test_the_report_has_the_finding_that_stopped_the_run(life):
    """H4: findings were empty; the watcher's address was in the terminal's output only."""
    life.power = "On"
    done = life.run()
    report = life.report()
    assert (codes(report), report["verdict"], done["failed"]) == (["SG506"], "block", True)
    assert "power state was read as On" in str(report["findings"])
    assert life.nova.asked == []


def test_the_report_has_the_watcher_that_kept_the_host_alive(life):
    """H4, with the host fenced by a command that its operator trusts."""
    seen = life.change
    life.change = lambda some: seen(some).at(2, rbd=_watched(some)).at(3, rbd=_watched(some)) if life.done else some
    done = life.run(fence="command", fence_confirm_command="/bin/off", death_timeout=5)
    report = life.report()
    assert (done["failed"], report["verdict"]) == (True, "block")
    assert f"{address(1)}" in str(report["findings"])
    assert life.nova.asked == []


def _watched(some):
    there = some.bundle.hosts["compute2"].rbd
    images = [dataclasses.replace(entry, watchers=image("x", [f"{address(1)}:0/9"]).watchers) for entry in there.images]
    return dataclasses.replace(there, images=images)


def test_a_last_round_with_a_warning_is_no_block(life):
    """Architecture 3.3: a warning of the last round made the whole report a block."""

    def owner(need):
        if need["kind"] == "read_hosts" and life.nova.servers[ONE]["host"] == "compute3":
            life.nova.servers[ONE]["status"] = "SHUTOFF"

    life.answer = owner
    done = life.run()
    report = life.report()
    assert [(item["code"], item["severity"]) for item in report["findings"]] == [("SG710", "warning")]
    assert (report["verdict"], done["failed"], done["state"]) == ("warn", False, "evacuated")


def test_a_refused_run_changes_nothing_and_reports_every_reason(life):
    life.change = lambda some: some.target(3, status="disabled").target(2, status="disabled")
    done = life.run()
    assert (done["failed"], done["state"], done["changed"], done["operation_id"]) == (True, "refused", False, None)
    assert (life.open(), life.done, life.guarded(), life.nova.asked) == (None, [], [], [])
    assert life.report()["verdict"] == "block"
    assert codes(life.report())
    assert life.told(done)["state"] == "refused"


def test_a_host_without_servers_is_clear(life):
    for uuid in BOTH:
        life.nova.servers[uuid]["host"] = "compute3"
    done = life.run()
    assert (done["failed"], done["state"], life.done, life.open()) == (False, "clear", [], None)


def test_check_mode_shows_the_plan_and_changes_nothing(life):
    done = life.run(check=True)
    assert (done["state"], done["changed"], done["failed"]) == ("planned", True, False)
    assert (life.open(), life.done, life.guarded(), life.nova.asked) == (None, [], [], [])
    assert any("5 steps" in line for line in life.said)


def test_a_run_that_failed_for_servers_that_stay_blocks_in_the_report_and_for_the_workflow(life, monkeypatch):
    """Its checks passed, and the run failed: report.json and the workflow still had the pass of the checks."""
    advance = evacuate.Evacuation.advance

    def one_stays(self, scratch, answers):
        outcome = advance(self, scratch, answers)
        if outcome.report is not None:
            assert outcome.report["verdict"] == "pass"
            outcome.scratch.left = {ONE: "it stays"}
        return outcome

    monkeypatch.setattr(evacuate.Evacuation, "advance", one_stays)
    done = life.run()
    assert (done["failed"], life.report()["verdict"], life.told(done)["verdict"]) == (True, "block", "block")


def test_the_workflow_is_given_what_the_contract_names(life):
    done = life.run()
    told = life.told(done)
    names = {
        "operation", "operation_id", "plan_sha256", "state", "evacuate_host", "verdict", "counts", "landed", "left",
        "removed_chassis", "message",
    }  # fmt: skip
    assert set(told) == names
    assert (told["operation"], told["state"], told["verdict"]) == ("evacuate_host", "evacuated", "pass")
    assert {entry["uuid"] for entry in told["landed"]} == set(BOTH)
    report = life.report()
    assert set(report) >= {"schema", "verdict", "generated_at", "hosts", "servers", "findings", "unchecked", "counts"}
    assert set(json.loads((life.reports / "placements.json").read_text())) == set(BOTH)


# --- the fence ------------------------------------------------------------------------------------------------


def test_a_host_that_is_switched_on_again_stops_the_run(life):
    """D5: the proof was read once, and 200 rounds rested on it."""

    def on_again(need):
        if need["kind"] == "guard":
            life.power = "On"

    life.answer = on_again
    done = life.run()
    assert (life.nova.asked, done["failed"], codes(life.report())) == ([], True, ["SG506"])
    assert "refence" in str(life.report()["findings"])


def test_another_fence_on_resume_is_judged_from_scratch(life):
    """D1: blocklist after power put nothing on the list, and was recorded as proof."""
    life.power = "On"
    life.run()
    assert life.open()["about"]["addresses"] == {}
    done = life.run(fence="blocklist")
    assert life.blocklist == {"fsid": [address(1)]}
    assert (done["failed"], life.open()) == (False, None)
    (journal,) = life.closed()
    assert journal["about"]["blocklisted"] == {"fsid": [address(1)]}
    assert journal["memory"]["proof"]["kind"] == "blocklist"


def test_a_blocklist_without_an_address_of_the_host_is_refused_on_resume(life):
    life.power = "On"
    life.locked = False
    life.change = lambda some: some.target(1, host_ip=None)
    life.run()
    done = life.run(fence="blocklist")
    assert (done["failed"], life.blocklist, life.nova.asked) == (True, {"fsid": []}, [])
    assert life.open() is not None


def test_a_ceph_user_without_rights_is_refused_before_anything_is_touched(life):
    def no_rights(some):
        for number in (2, 3):
            there = some.bundle.hosts[f"compute{number}"].rbd
            some = some.at(number, rbd=dataclasses.replace(there, rights=CephRights(False, True)))
        return some

    life.change = no_rights
    done = life.run(fence="blocklist")
    assert (done["failed"], life.done, codes(life.report())) == (True, [], ["SG518"])


def test_an_attested_host_is_evacuated_by_the_word_of_a_person_given_at_each_resume(life):
    done = life.run(**{**ATTESTED, "overrides": []})
    assert (done["failed"], life.nova.asked) == (True, [])
    life.answer = lambda need: {"homes": []} if need["kind"] == "guard" else None
    life.run(**ATTESTED)
    assert life.open() is not None
    life.answer = lambda _need: None
    done = life.run(**{**ATTESTED, "overrides": []})
    assert (done["failed"], life.nova.asked) == (True, [])
    done = life.run(**ATTESTED)
    assert (done["failed"], done["state"]) == (False, "evacuated")
    assert life.closed()[-1]["about"]["attested"]["by"] == "Ada"
    assert "proof" not in (life.closed()[-1].get("memory") or {})


def test_an_extra_blocklist_entry_that_can_not_be_made_is_a_warning(life):
    """The fence that was requested decides."""
    life.answer = lambda need: (
        {"clusters": [{**entry, "result": {"failed": True, "msg": "no right"}} for entry in need["clusters"]]}
        if need["kind"] == "fence" and need["fence"] == "blocklist"
        else None
    )
    done = life.run(also_blocklist=True)
    assert (done["failed"], done["state"]) == (False, "evacuated")
    assert any(
        "could not add or verify the additional OSD blocklist entries" in entry["reason"]
        for entry in life.report()["unchecked"]
    )


# --- resume, status, abort ------------------------------------------------------------------------------------


def test_status_says_what_is_open_and_changes_nothing(life):
    assert life.run(action="status")["state"] == "none"
    life.run(dies_at=4)
    before = life.open()
    done = life.run(action="status", fence=None)
    assert (done["failed"], done["state"], done["operation_id"]) == (False, "open", before["operation_id"])
    assert "evacuate_action=abort" in done["msg"]
    assert life.open() == before


def test_a_gate_that_reads_only_the_verdict_does_not_take_status_for_a_pass(life):
    life.run(action="status")
    report = life.report()
    assert report["verdict"] == "warn"
    assert [(item["code"], item["object"]) for item in report["unchecked"]] == [("SG709", "compute1")]


def test_resume_without_an_open_operation_is_refused(life):
    done = life.run(action="resume")
    assert (done["failed"], done["state"], life.done) == (True, "refused", [])
    assert "nothing to resume" in done["msg"]


def test_a_killed_run_is_resumed_by_the_same_command(life):
    for dies_at in (2, 3, 4, 5):
        life.run(dies_at=dies_at)
    done = life.run()
    assert (done["failed"], life.open(), life.guarded()) == (False, None, [])
    assert sorted(life.nova.asked) == sorted((uuid, "compute3") for uuid in BOTH), "each is sent once"


@pytest.mark.parametrize("servers", [["guest1"], [ONE], "[?name=='guest2']"])
def test_other_servers_on_a_resume_are_refused_and_not_ignored(life, servers):
    """H6: evacuate_servers given on the second run was ignored without a word."""
    life.run(dies_at=4)
    journal = life.open()
    done = life.run(servers=servers)
    assert (done["failed"], done["state"]) == (True, "refused")
    assert "SG706" in done["msg"]
    assert life.open() == journal


def test_the_same_servers_on_a_resume_are_taken(life):
    life.run(dies_at=4)
    assert life.run(servers=["guest2", "guest1"])["failed"] is False


def test_an_abort_before_anything_was_sent_gives_everything_back(life):
    """D10: only deleting the journal by hand helped."""
    life.run(dies_at=6, fence="blocklist")
    assert (life.guarded(), life.blocklist) == (BOTH, {"fsid": [address(1)]})
    done = life.run(action="abort", fence=None)
    assert (done["failed"], done["state"], life.guarded()) == (False, "aborted", [])
    assert life.blocklist == {"fsid": []}
    assert (life.service.status, life.service.forced_down, life.service.disabled_reason) == ("enabled", False, None)
    (journal,) = life.closed()
    assert journal["state"] == "rolled-back"
    assert {name: state for name, state in journal["steps"].items() if state == "undone"} == {
        "fence": "undone", "guard": "undone", "hold_down": "undone",
    }  # fmt: skip


def test_an_abort_after_a_server_was_sent_keeps_the_host_held_and_fenced(life):
    life.nova.ends[ONE] = "failed"
    life.run(fence="blocklist", max_rounds=1)
    assert life.open() is not None
    done = life.run(action="abort", fence=None)
    assert (done["state"], life.guarded(), life.blocklist) == ("aborted", [], {"fsid": [address(1)]})
    assert life.service.forced_down
    assert "return_host" in done["msg"]


def test_an_abort_while_nova_is_at_a_server_is_refused(life):
    life.stuck = {TWO}
    life.run(max_rounds=1, server_timeout=30)
    done = life.run(action="abort", fence=None)
    assert (done["failed"], life.guarded()) == (True, [TWO])
    assert life.open() is not None


def test_a_killed_abort_is_ended_by_the_same_abort_and_by_no_apply(life):
    life.run(dies_at=4)
    life.run(action="abort", fence=None, dies_at=3)
    assert life.open()["state"] == "rolling-back"
    done = life.run()
    assert (done["failed"], "evacuate_action=abort" in done["msg"]) == (True, True)
    assert life.run(action="abort", fence=None)["state"] == "aborted"
    assert (life.guarded(), life.open()) == ([], None)


def test_an_abort_that_can_not_remove_the_guards_stays_open(life):
    life.run(dies_at=6)
    life.answer = lambda need: (
        {"homes": [{**home, "result": {"failed": True, "msg": "timed out"}} for home in need["homes"]]}
        if need["kind"] == "unguard"
        else None
    )
    done = life.run(action="abort", fence=None)
    assert (done["failed"], life.guarded(), life.open() is not None) == (True, BOTH, True)
    assert life.service.status != "enabled"


def test_a_second_run_while_the_first_goes_on_is_refused(life):
    """Two runs of one operation exclude each other where its journal is."""
    life.run(pid=1, dies_at=4)
    life.run(pid=2, dies_at=4)
    done = life.end(pid=1)
    assert done["failed"]
    assert "SG707" in done["msg"] and life.open()["operation_id"] in done["msg"]
    assert life.open()["run"]["pid"] == 2


def test_a_run_on_another_controller_is_not_taken_over_without_a_word(life):
    life.run(dies_at=4)
    journal = life.open()
    journal["run"]["controller"] = "another"
    journals.write(life.state_dir, journal)
    done = life.run(take_over=False)
    assert (done["failed"], "SG707" in done["msg"]) == (True, True)
    assert "stackguard_take_over=true" in done["msg"]


# --- what a run leaves open -----------------------------------------------------------------------------------


def test_an_operation_that_could_send_nobody_stays_open_for_another_try(life):
    """On the lab: the second fence covered no disk, and the operation ended as evacuated, with everybody left."""
    image_of = life._image
    strangers = image("x", ["198.51.100.250:0/1"]).watchers

    def open_it(need):
        if need["kind"] == "guard":
            life._image = lambda uuid: dataclasses.replace(image_of(uuid), watchers=strangers)

    life.answer = open_it
    first = life.run(partial=True)
    operation = life.open()["operation_id"] if life.open() else None
    assert (first["failed"], first["state"], life.nova.asked) == (True, "open", []), first["msg"]
    assert set(first["left"]) == set(BOTH)
    assert life.guarded() == []
    life._image, life.answer = image_of, lambda _need: None
    done = life.run(partial=True)
    assert (done["failed"], done["operation_id"], life.open()) == (False, operation, None)


def test_a_run_that_stops_between_two_waves_names_all_that_are_left(life):
    """On the lab: the host was switched on between two waves, and the outcome said that nobody was left."""

    def on_again(need):
        if life.nova.asked:
            life.power = "On"

    life.answer = on_again
    life.nova.ends[TWO] = "failed"
    done = life.run(max_parallel=1)
    assert done["failed"]
    assert set(done["left"]) == {TWO}, done["msg"]
    assert "These servers are still on compute1" in done["msg"]


def test_no_machine_is_fenced_for_servers_that_have_all_left_it(life):
    """A resume found none of its servers on the host, and switched it off all the same."""
    life.run(dies_at=3)
    for uuid in BOTH:
        life.nova.servers[uuid].update(host="compute3")
    life.power = "On"
    done = life.run()
    assert (done["failed"], "fence power" in life.done) == (True, False)
    assert "To end the operation, use evacuate_action=abort. No server of the operation is left" in str(
        life.report()["findings"]
    )
    assert life.run(action="abort", fence=None)["state"] == "aborted"


def test_an_abort_does_not_count_those_that_were_only_about_to_be_sent(life):
    """On the lab: one of three was sent before the proof expired, and the abort said that three were."""
    life.stuck = {ONE}
    life.run(max_parallel=1, max_rounds=1, server_timeout=30, order=None)
    asked = {uuid for uuid, _host in life.nova.asked}
    assert set(life.open()["memory"]["sent"]) == asked


# --- servers that the operation began without -----------------------------------------------------------------


LATE = guest(1, 3)


def _comes_late(life, monkeypatch, **more):
    """The machine came back, Nova put a server on it, and the host died again."""
    row = life.scene.cloud.rows("servers")[0]
    late = dataclasses.replace(row, **{"id": LATE, "name": "guest3", **more})
    listed = server_records.servers_on
    monkeypatch.setattr(server_records, "servers_on", lambda *given: [*listed(*given), late])


def test_a_server_that_the_operation_began_without_is_no_success(life, monkeypatch):
    """Killed before the fence; the same command resumed the old list, and ended as a pass without a word of it."""
    life.run(dies_at=3)
    _comes_late(life, monkeypatch)
    done = life.run()
    assert sorted(life.nova.asked) == sorted((uuid, "compute3") for uuid in BOTH)
    assert (done["failed"], done["state"], life.report()["verdict"]) == (True, "evacuated", "block")
    assert set(done["left"]) == {LATE}
    (item,) = [item for item in life.report()["findings"] if item["code"] == "SG512"]
    assert (item["object"]["id"], item["evidence"]["status"], item["evidence"]["late"]) == (LATE, "ACTIVE", True)
    assert any("guest3" in said for said in life.said), "before anything is fenced"
    # The next run begins anew, with it.
    assert life.open() is None


def test_a_server_that_comes_during_the_run_is_no_success_either(life, monkeypatch):
    """Its owner reverted a resize while the others left."""
    life.answer = lambda need: _comes_late(life, monkeypatch) if need["kind"] == "guard" else None
    done = life.run()
    assert (done["failed"], set(done["left"])) == (True, {LATE})
    late = [item for item in life.report()["findings"] if item["evidence"].get("late")]
    assert [(item["code"], item["object"]["id"]) for item in late] == [("SG512", LATE)]


def test_servers_that_a_person_left_out_stay_on_purpose(life):
    done = life.run(servers=["guest1"])
    assert (done["failed"], done["left"], life.report()["verdict"]) == (False, {}, "pass")


def test_names_with_commas_are_a_list_as_for_drains(life):
    done = life.run(servers="guest1, guest2")
    assert done["failed"] is False, done["msg"]
    assert sorted(uuid for uuid, _host in life.nova.asked) == sorted(BOTH)


@pytest.mark.parametrize("nobody", [",", " , ", []])
def test_commas_alone_name_nobody_and_not_all(life, nobody):
    done = life.run(servers=nobody)
    assert (done["failed"], life.nova.asked, life.open()) == (True, [], None)


def test_a_journal_that_does_not_say_who_was_chosen_hides_nobody(life, monkeypatch):
    life.run(dies_at=3)
    monkeypatch.setattr(evacuation_record, "servers_of", _without_field(evacuation_record.servers_of))
    _comes_late(life, monkeypatch)
    assert life.run()["failed"] is True


def _without_field(read):
    def reading(journal):
        journal["about"].pop(evacuation_record.CHOSEN, None)
        return read(journal)

    return reading


def test_a_cell_that_does_not_answer_at_the_end_leaves_the_operation_open(life, monkeypatch):
    """Nova then leaves its servers out of every list: the run can not say that nobody is left."""
    life.run(dies_at=3)

    def silent(*_given):
        raise server_records.SilentCellError("a cell does not answer")

    monkeypatch.setattr(server_records, "servers_on", silent)
    done = life.run()
    assert (done["failed"], life.report()["verdict"]) == (True, "block")
    assert "a cell does not answer" in done["msg"]
    assert life.open() is not None


# --- two clouds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["apply", "resume", "abort"])
def test_the_evacuation_of_another_cloud_is_not_taken_up(life, action):
    """It resumed the other cloud's operation, took its servers for deleted ones, and ended without its own servers."""
    life.run(dies_at=4)
    journal, life.cloud_id, life.done = life.open(), "nova2 in RegionOne", []
    done = life.run(action=action)
    assert (done["failed"], done["state"], life.done, life.open()) == (True, "refused", [], journal)
    assert all(word in done["msg"] for word in ("SG706", "(nova1 in RegionOne)", "nova2 in RegionOne"))
    assert life.run(action="status")["failed"] is False
    life.cloud_id = "nova1 in RegionOne"
    assert life.run()["failed"] is False


# --- the last client of a QEMU whose start failed (V5) ---------------------------------------------------------


def _dying(life, looks):
    """compute3's client of ONE's disk is there for so many looks after the spawn of ONE failed there."""
    seen = life.change
    left = [looks]

    def change(some):
        some = seen(some)
        if life.nova.servers[ONE]["status"] != "ERROR" or not left[0]:
            return some
        for number in (2, 3):
            there = some.bundle.hosts[f"compute{number}"].rbd
            images = [
                dataclasses.replace(entry, watchers=image("x", [f"{address(3)}:0/9"]).watchers)
                if entry.name.startswith(ONE)
                else entry
                for entry in there.images
            ]
            some = some.at(number, rbd=dataclasses.replace(there, images=images))
        return some

    def count(need):
        if need["kind"] == "read_hosts" and life.nova.servers[ONE]["status"] == "ERROR" and left[0]:
            left[0] -= 1

    life.change, life.answer = change, count


def test_the_client_of_a_qemu_that_has_ended_is_waited_for_and_hides_nothing(life):
    life.nova.ends = {ONE: "failed"}
    _dying(life, 3)
    done = life.run()
    assert (done["failed"], list(done["left"])) == (True, [ONE])
    assert "compute3" in done["left"][ONE]
    assert "SG507" not in {item["code"] for item in life.report()["findings"]}
    assert life.kinds().count("wait") >= 1 + 2, "beside the one between two readings of the power state"


def test_a_client_that_stays_ends_the_run_after_some_looks(life):
    life.nova.ends = {ONE: "failed"}
    _dying(life, 1000)
    done = life.run()
    assert (done["failed"], list(done["left"])) == (True, [ONE])
    assert life.kinds().count("wait") == 1 + 5
    assert "SG507" not in {item["code"] for item in life.report()["findings"]}
