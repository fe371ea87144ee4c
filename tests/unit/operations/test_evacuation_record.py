# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of evacuations, those of version 0.1 too: found, shown, resumed, aborted; and no second one beside them."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import planner
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import operation as evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as records
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.fences import fencing as evacuation_fence
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.steps import InTransit
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit.builders import address
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, ONE, TWO, Life

OPERATION = "0123456789ab"
SNAPSHOT = f"stackguard-{OPERATION}"
STEPS = ("fence", "hold_down", "guard", "evacuate", "unguard")


def test_a_journal_says_by_keys_whose_addresses_are_whose():
    addresses = {"192.0.2.1": "client", "192.0.2.2": "locks", "192.0.2.3": "operator", "192.0.2.4": "host_ip"}
    unknown = {"192.0.2.5": "read on the host", "192.0.2.6": "", "192.0.2.7": None}
    assert records.of_host({**addresses, **unknown}) == ["192.0.2.1", "192.0.2.3", "192.0.2.4"]
    journal = {"about": {"proven": {"f": {**addresses, **unknown}}}}
    assert list(records.proven_addresses(journal)) == [("192.0.2.1", "f", "client"), ("192.0.2.2", "f", "locks")]


def test_addresses_without_a_key_prove_nothing():
    assert records.of_host(["192.0.2.1"]) == []
    assert list(records.proven_addresses({"about": {"proven": {"f": ["192.0.2.1"]}}})) == []


def old_journal(fence="power", proof=True, addresses=(), memory=None, host="compute1"):
    """A journal as 7e09ddb wrote it: evacuation_plan.py, roles/evacuate_host/tasks/{proof,round}.yml."""
    about = {
        "host": host,
        "fence": fence,
        "addresses": sorted(addresses),
        "order": list(BOTH),
        "servers": [
            {
                "uuid": uuid,
                "name": f"guest{number}",
                "status": "ACTIVE",
                "images": {f"{uuid}_disk": f"id-{uuid}_disk"},
                "numa": [],
            }
            for number, uuid in enumerate(BOTH, 1)
        ],
        "overrides": [],
    }
    if proof:
        about["fence_proof"] = {
            "kind": fence,
            "proof": "its addresses were read back from the OSD blocklist",
            "addresses": sorted(addresses),
            "at": "2026-11-20T06:00:00Z",
        }
    journal = {
        "schema": 1,
        "kind": "evacuate",
        "operation_id": OPERATION,
        "subject": host,
        "state": "open",
        "started_at": "2026-11-20T06:00:00Z",
        "updated_at": "2026-11-20T06:00:00Z",
        "about": about,
        "plan": {
            "kind": "evacuate",
            "operation_id": OPERATION,
            "subject": host,
            "steps": [
                {"name": name, "title": name, "where": "controller", "action": name, "params": {}, "changes": []}
                for name in STEPS
            ],
            "notes": [],
        },
        "steps": dict.fromkeys(STEPS, "pending"),
        "history": [{"at": "2026-11-20T06:00:00Z", "text": "opened"}],
        "run": {"controller": "c", "pid": 1, "pid_start": "long ago"},
    }
    return {**journal, "memory": memory} if memory is not None else journal


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def left(life, **given):
    """A run of 7e09ddb was killed when the disks were guarded."""
    journal = old_journal(**given)
    journals.open_new(life.state_dir, journal)
    life.guards = {name: [SNAPSHOT] for name in life.guards}
    return journal


# --- what it says ---------------------------------------------------------------------------------------------


def test_there_is_one_journal_for_each_dead_host_however_its_name_is_written():
    assert records.kind_of("Compute1") == records.kind_of("compute1") == "evacuate-compute1"
    journal = {"kind": "evacuate-compute1", "about": {"host": "compute1"}}
    assert records.is_of(journal, "COMPUTE1")
    assert not records.is_of(journal, "compute10")
    assert not records.is_of({**journal, "kind": "evacuated"}, "compute1")


def test_a_journal_of_version_0_1_is_that_of_its_host():
    assert records.is_of(old_journal(), "compute1")
    assert not records.is_of(old_journal(), "compute2")


def test_servers_of_version_0_1_have_their_images_without_a_cluster():
    one, _two = records.servers_of(old_journal())
    assert (one.uuid, one.power, one.ids) == (ONE, "running", {f"{ONE}_disk": f"id-{ONE}_disk"})
    assert [(image.fsid, image.pool) for image in one.images.values()] == [(None, None)]


def test_of_version_0_1_all_may_have_been_sent_and_guarded():
    """It does not say. Of a journal of today nothing is assumed."""
    assert (records.sent(old_journal()), records.guarded(old_journal())) == (set(BOTH), set(BOTH))
    today = {**old_journal(), "kind": "evacuate-compute1"}
    assert (records.sent(today), records.guarded(today)) == (set(), set())


def test_what_an_unfinished_run_left_is_resumed_by_new_clocks_and_with_new_patience():
    trip = {"uuid": ONE, "name": "guest1", "target": "compute3", "size_mib": 1024, "started": 5.0}
    for name in ("riding", "in_transit"):
        assert records.in_transit({"memory": {name: [trip]}}) == [InTransit(ONE, "guest1", "compute3", 1024)]
        assert records.in_transit({"memory": {name: [trip]}}, clocks=True)[0].started == 5.0
    failed = {ONE: {"compute3": "failed"}, TWO: {"(under way)": "took long"}}
    for name in ("evacuate", "tried"):
        assert records.tried({"memory": {name: failed}}) == failed
    assert (records.in_transit({}), records.tried({})) == ([], {})


def test_a_resume_gives_a_server_that_used_up_its_time_new_patience(life):
    life.stuck = {TWO}
    life.run(server_timeout=30)
    assert "(under way)" in life.open()["memory"]["tried"][TWO]
    life.run(server_timeout=30, dies_at=4)
    assert "(under way)" not in life.open()["memory"]["tried"].get(TWO, {})


def test_the_power_state_before_the_host_died_outlives_its_operation():
    """H1: the second operation began with ERROR, and the server that its owner had stopped was started."""
    closed = {
        "kind": "evacuate-compute1",
        "about": {"host": "compute1", "servers": [_server(ONE, "stopped"), _server(TWO, "stopped")]},
        "memory": {"arrived": [TWO]},
    }
    assert records.powers_before([closed], "compute1") == {ONE: "stopped"}
    assert records.powers_before([closed], "compute2") == {}
    later = {**closed, "about": {**closed["about"], "servers": [_server(ONE, "running")]}, "memory": {}}
    assert records.powers_before([closed, later], "compute1") == {ONE: "running"}
    assert records.powers_before([old_journal()], "compute1") == {}


def _server(uuid, power):
    return {"uuid": uuid, "name": "guest", "status": "ERROR", "images": {}, "numa": None, "power": power}


# --- a journal of 7e09ddb -------------------------------------------------------------------------------------


def test_an_old_journal_is_shown(life):
    before = left(life)
    done = life.run(action="status", fence=None)
    assert (done["failed"], done["state"], done["operation_id"]) == (False, "open", OPERATION)
    assert "guarded: 2 servers" in done["msg"]
    assert life.open() == before


def test_the_stored_proof_of_an_old_journal_counts_as_none(life):
    """D5: a proof of Friday let the run go on with on Monday, and the host had been repaired meanwhile."""
    left(life)
    life.power = "On"
    done = life.run()
    assert (done["failed"], life.nova.asked) == (True, [])
    assert {item["code"] for item in life.report()["findings"]} == {"SG506"}


def test_an_old_journal_with_the_empty_proof_of_d1_is_fenced_by_addresses(life):
    """D1: addresses were empty, and "its addresses were read back" was recorded."""
    left(life, fence="blocklist")
    done = life.run(fence="blocklist", refence=True)
    assert (done["failed"], life.blocklist) == (False, {"fsid": [address(1)]})
    assert life.closed()[-1]["memory"]["proof"]["clusters"] == {"fsid": [address(1)]}


def test_an_old_journal_is_resumed_and_closed_and_no_second_operation_is_opened(life):
    left(life)
    done = life.run()
    assert (done["failed"], done["operation_id"], life.open(), life.guarded()) == (False, OPERATION, None, [])
    (journal,) = life.closed()
    assert (journal["kind"], journal["operation_id"], journal["state"]) == ("evacuate", OPERATION, "finished")
    assert sorted(life.nova.asked) == sorted((uuid, "compute3") for uuid in BOTH)


def test_beside_an_old_journal_of_the_same_host_no_operation_opens_even_where_it_is_refused(life):
    left(life)
    life.run(servers=["guest1"])
    life.power = "On"
    life.run()
    assert life.open()["operation_id"] == OPERATION


def test_an_old_journal_of_another_host_does_not_keep_this_one(life):
    """D10: the second dead host of the rack could not be begun."""
    journals.open_new(life.state_dir, {**old_journal(host="compute9"), "operation_id": "another"})
    done = life.run()
    assert (done["failed"], life.open()["operation_id"]) == (False, "another")


def test_an_old_journal_is_aborted_its_guards_removed_and_its_host_stays_held(life):
    """It does not say whether a server was sent: the host stays held, and return_host ends that."""
    left(life)
    done = life.run(action="abort", fence=None)
    assert (done["failed"], done["state"], life.guarded(), life.open()) == (False, "aborted", [], None)
    assert "return_host" in done["msg"]
    assert life.done == []


def test_an_old_journal_whose_guards_can_not_be_removed_stays_open(life):
    left(life)
    life.answer = lambda need: (
        {"homes": [{**home, "result": {"failed": True, "msg": "timed out"}} for home in need["homes"]]}
        if need["kind"] == "unguard"
        else None
    )
    done = life.run(action="abort", fence=None)
    assert (done["failed"], life.guarded(), life.open() is not None) == (True, BOTH, True)


def test_a_server_of_an_old_journal_that_was_in_transit_is_followed_and_not_sent_again(life):
    trip = {"uuid": ONE, "name": "guest1", "target": "compute3", "size_mib": 1024, "started": 5.0}
    left(life, memory={"evacuate": {}, "riding": [trip]})
    life.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    done = life.run()
    assert (done["failed"], life.nova.asked) == (False, [(TWO, "compute3")])


# --- the plan and what carries it out -------------------------------------------------------------------------


def test_every_step_of_the_plan_has_exactly_one_implementation():
    request = EvacuationRequest("compute1", OPERATION, "compute1", remove_chassis=True)
    plan = plans.plan(request, "power", planner.Assignments([], []), {}, "stackguard:evacuate", {})
    methods = {
        evacuate.FENCE: "_fence",
        evacuation_fence.HOLD: "_hold",
        evacuate.GUARD: "_guard",
        evacuate.EVACUATE: "_round",
        evacuate.UNGUARD: "_leave",
        evacuate.REMOVE: "_remove",
    }
    assert [step.name for step in plan.steps] == list(methods)
    for method in methods.values():
        assert callable(getattr(evacuate.Evacuation, method))


@pytest.mark.parametrize("fence", ["power", "command", "blocklist"])
def test_the_closed_journal_has_every_step_of_the_plan_done(life, fence):
    assert not life.run(fence=fence, fence_confirm_command="/bin/confirm")["failed"]
    (journal,) = life.closed()
    assert journal["steps"] == dict.fromkeys(STEPS, "done")
    assert [step["name"] for step in journal["plan"]["steps"]] == list(STEPS)


def test_a_journal_is_not_changed_by_being_read():
    journal = old_journal()
    before = copy.deepcopy(journal)
    for read in (records.servers_of, records.in_transit, records.tried, records.sent, records.blocklisted):
        read(journal)
    assert journal == before
