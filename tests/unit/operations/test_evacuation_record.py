# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of evacuations: what they hold; beside an open one of version 0.1 nothing is begun, resumed or ended."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import planner
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import operation as evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as records
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.fences import fencing as evacuation_fence
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.steps import InTransit
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
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


def test_addresses_without_a_key_are_not_forgotten_and_prove_nothing():
    """Version 0.2.0 kept those that it had seen as the host's without an origin."""
    assert records.of_host(["192.0.2.1"]) == []
    found = list(records.proven_addresses({"about": {"proven": {"f": ["192.0.2.1"]}}}))
    assert found == [("192.0.2.1", "f", "locks")]
    assert records.of_host({address: origin for address, _fsid, origin in found}) == []


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
    os.makedirs(life.state_dir, exist_ok=True)
    journals.write(life.state_dir, journal)
    life.guards = {name: [SNAPSHOT] for name in life.guards}
    return journal


# --- what it says ---------------------------------------------------------------------------------------------


def test_there_is_one_journal_for_each_dead_host_however_its_name_is_written():
    assert records.kind_of("Compute1") == records.kind_of("compute1") == "evacuate-compute1"
    journal = {"kind": "evacuate-compute1", "about": {"host": "compute1"}}
    assert records.is_of(journal, "COMPUTE1")
    assert not records.is_of(journal, "compute10")
    assert not records.is_of({**journal, "kind": "evacuated"}, "compute1")


def test_a_closed_journal_of_version_0_1_is_that_of_its_host():
    assert records.is_of(old_journal(), "compute1")
    assert not records.is_of(old_journal(), "compute2")


def test_what_an_unfinished_run_left_is_resumed_by_new_clocks_and_with_new_patience():
    trip = {"uuid": ONE, "name": "guest1", "target": "compute3", "size_mib": 1024, "started": 5.0}
    assert records.in_transit({"memory": {"in_transit": [trip]}}) == [InTransit(ONE, "guest1", "compute3", 1024)]
    assert records.in_transit({"memory": {"in_transit": [trip]}}, clocks=True)[0].started == 5.0
    failed = {ONE: {"compute3": "failed"}, TWO: {"(under way)": "took long"}}
    assert records.tried({"memory": {"tried": failed}}) == failed
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


@pytest.mark.parametrize("host", ["compute1", "compute9"])
@pytest.mark.parametrize("action", ["apply", "resume", "status", "abort"])
def test_beside_an_old_journal_nothing_is_begun_resumed_or_ended(life, action, host):
    """It may have fenced, held, guarded and sent; and it does not say what it has sent, nor where its images are."""
    before = left(life, host=host)
    done = life.run(action=action)
    path = os.path.join(life.state_dir, "evacuate.json")
    assert (done["failed"], done["changed"], done["state"]) == (True, False, "refused")
    assert path in done["msg"]
    assert "version 0.1 " in done["msg"]
    (item,) = life.report()["findings"]
    assert (item["code"], item["object"]["id"], item["evidence"]["journal"]) == ("SG706", host, path)
    assert item["evidence"]["operation"] == OPERATION
    with open(path, encoding="utf-8") as stream:
        assert json.load(stream) == before
    assert (life.done, life.nova.asked, sorted(life.guards.values())) == ([], [], [[SNAPSHOT], [SNAPSHOT]])


def test_an_evacuation_that_is_under_way_stops_beside_one_and_stays_open(life):
    """How many servers the other one has in transit, and to where, is not known."""
    life.run(dies_at=6)
    left(life, host="compute9")
    done = life.run()
    assert (done["failed"], done["state"], life.nova.asked) == (True, "refused", [])
    os.unlink(os.path.join(life.state_dir, "evacuate.json"))
    assert (life.run()["failed"], life.open()) == (False, None)


def test_a_run_that_has_begun_stops_beside_one_that_is_written_meanwhile(life):
    def meanwhile(need):
        if need["kind"] == "guard":
            journals.write(life.state_dir, old_journal(host="compute9"))

    life.answer = meanwhile
    done = life.run()
    assert (done["failed"], done["state"], life.nova.asked) == (True, "open", [])
    assert "SG706" in {item["code"] for item in life.report()["findings"]}
    os.unlink(os.path.join(life.state_dir, "evacuate.json"))
    life.answer = lambda _need: None
    assert (life.run()["failed"], life.open()) == (False, None)


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
