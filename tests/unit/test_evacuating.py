# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sending servers away, against a small Nova: each is asked for once, waited for, and never asked for twice."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import facts
from ansible_collections.stackguard.nova.plugins.module_utils.actions import evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import Seat
from ansible_collections.stackguard.nova.plugins.module_utils.systems import evacuations
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock, Nova


def evacuator(nova, **given):
    clock, said = Clock(), []
    made = evacuation.Evacuator(nova, "dead", said.append, clock.sleep, clock.monotonic, **given)
    return made, said


def seats(*uuids, host="host1"):
    return [Seat(uuid, uuid, host, 1, 1024, "") for uuid in uuids]


def ends(outcomes):
    return {entry.uuid: (entry.outcome, entry.host) for entry in outcomes}


def test_a_wave_arrives_and_each_is_asked_for_once_with_a_microversion_that_keeps_its_state():
    nova = Nova("a", "b")
    made, said = evacuator(nova)
    outcomes = made.send(seats("a", "b"))
    assert ends(outcomes) == {"a": ("arrived", "host1"), "b": ("arrived", "host1")}
    assert [entry.migration for entry in outcomes] == ["done", "done"]
    assert nova.asked == [("a", "host1"), ("b", "host1")]
    assert nova.versions == ["2.68", "2.68"]
    assert any(line.startswith("1/2 a: ACTIVE on host1") for line in said)


def test_no_more_on_their_way_to_one_host_than_allowed_and_the_next_begins_when_one_has_ended():
    names = [f"s{number}" for number in range(9)]
    nova = Nova(*names)
    made, _said = evacuator(nova)
    outcomes = made.send([*seats(*names[:6]), *seats(*names[6:], host="host2")], parallel=2)
    assert {entry.outcome for entry in outcomes} == {"arrived"}
    assert nova.most == {"host1": 2, "host2": 2}
    assert sorted(nova.asked) == sorted(
        [(name, "host1") for name in names[:6]] + [(name, "host2") for name in names[6:]]
    )


def test_what_the_records_say_is_read_in_one_list_for_the_whole_wave():
    names = [f"s{number}" for number in range(6)]
    nova = Nova(*names)
    nova.unlisted = ("s3",)
    made, _said = evacuator(nova)
    outcomes = made.send(seats(*names))
    assert {entry.uuid: entry.migration for entry in outcomes} == dict.fromkeys(names, "done")
    assert nova.listed_records == [None, "s3"], "only who is in no list is asked for alone"


def test_none_begins_by_what_was_measured_too_long_ago():
    names = [f"s{number}" for number in range(6)]
    nova = Nova(*names)
    made, _said = evacuator(nova)
    assert len(made.send(seats(*names), parallel=2, fresh=0.0)) == 2, "as many as may go at once always do"
    assert [uuid for uuid, _host in nova.asked] == ["s0", "s1"]
    made, _said = evacuator(Nova(*names))
    assert len(made.send(seats(*names), parallel=2, fresh=evacuation.POLL * 3.5)) == 4


@pytest.mark.parametrize("end", ["failed", "novalidhost"])
def test_a_host_on_which_one_failed_gets_no_further_one(end):
    nova = Nova("a", "b", "c", "d", ends={"a": end})
    made, _said = evacuator(nova)
    outcomes = made.send([*seats("a", "b"), *seats("c", "d", host="host2")], parallel=1)
    assert {entry.uuid: entry.outcome for entry in outcomes} == {"a": "failed", "c": "arrived", "d": "arrived"}
    assert "b" not in dict(nova.asked), "the next round judges whether that host takes any"


def test_a_host_on_which_one_hangs_gets_no_further_one():
    nova = Nova("a", "b", ticks=10**6)
    made, _said = evacuator(nova, timeout=60)
    assert [(entry.uuid, entry.outcome) for entry in made.send(seats("a", "b"), parallel=1)] == [("a", "unknown")]
    assert nova.asked == [("a", "host1")]


def test_many_are_looked_at_in_lists():
    """One list for each host and look, however many servers there are; nobody is asked about alone."""
    names = [f"s{number}" for number in range(40)]
    nova = Nova(*names)
    made, _said = evacuator(nova, since="2026-01-01T00:00:00Z")
    assert len(made.send(seats(*names), parallel=40)) == 40
    assert nova.shown == []
    assert nova.listed < 10


def test_a_few_that_begin_are_asked_about_alone_and_not_asked_for_twice():
    nova = Nova("a", "b", "c")
    made, _said = evacuator(nova, since="2026-01-01T00:00:00Z")
    assert set(ends(made.send(seats("a", "b", "c"), parallel=1)).values()) == {("arrived", "host1")}
    assert nova.shown == ["a", "b", "c"]


@pytest.mark.parametrize("since", [None, "2026-01-01T00:00:00Z"])
def test_one_whose_task_has_ended_before_it_has_its_new_host_has_not_failed(since):
    """Seen on the real one with 100 servers: active, without a task, on the dead host, and its record done."""
    nova = Nova("a", "b")
    nova.late = 5
    made, _said = evacuator(nova, since=since)
    assert ends(made.send(seats("a", "b"))) == {"a": ("arrived", "host1"), "b": ("arrived", "host1")}
    assert nova.asked == [("a", "host1"), ("b", "host1")]


def test_stopped_needs_a_newer_nova():
    nova = Nova("a")
    made, _said = evacuator(nova, target_state="stopped")
    assert ends(made.send(seats("a"))) == {"a": ("arrived", "host1")}
    assert nova.versions == ["2.95"]
    old = Nova("a", max_microversion=(2, 93))
    with pytest.raises(ApiError, match=r"2\.95"):
        evacuations.evacuate(old, "a", "host1", "stopped")
    assert old.asked == []


@pytest.mark.parametrize(("end", "record"), [("failed", "failed"), ("novalidhost", "error")])
def test_one_that_fails_is_told_and_the_others_go_on(end, record):
    nova = Nova("a", "b", ends={"a": end})
    made, _said = evacuator(nova)
    outcomes = {entry.uuid: entry for entry in made.send(seats("a", "b"))}
    assert (outcomes["a"].outcome, outcomes["a"].host, outcomes["a"].migration) == ("failed", "dead", record)
    assert outcomes["b"].outcome == "arrived"
    assert [uuid for uuid, _host in nova.asked] == ["a", "b"], "it is not asked for again by itself"


def test_one_that_is_under_way_is_waited_for_and_not_asked_for():
    nova = Nova("a", "b")
    nova.servers["a"].update(task="rebuilding", left=3, target="host2")
    nova.records["a"] = "accepted"
    made, _said = evacuator(nova)
    assert ends(made.wait_for_those_under_way(["a", "b"])) == {"a": ("arrived", "host2")}
    assert nova.asked == []
    nova = Nova("a")
    nova.servers["a"].update(task="rebuilding", left=3, target="host2")
    made, _said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("arrived", "host2")}
    assert nova.asked == []


def test_one_that_has_left_already_is_let_be():
    nova = Nova("a")
    nova.servers["a"]["host"] = "host2"
    made, _said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("arrived", "host2")}
    assert nova.asked == []


def test_one_that_was_deleted_is_told():
    nova = Nova("a")
    del nova.servers["a"]
    made, _said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("gone", None)}


def test_a_conflict_is_tried_again_and_then_told():
    busy = Answer(409, {"conflictingRequest": {"message": "its state is changing"}})
    nova = Nova("a")
    nova.answers["a"] = [busy, busy]
    made, _said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("arrived", "host1")}
    nova = Nova("a")
    nova.answers["a"] = [busy] * 99
    made, _said = evacuator(nova)
    (outcome,) = made.send(seats("a"))
    assert outcome.outcome == "failed"
    assert "its state is changing" in outcome.reason


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_refusal_is_told(status):
    nova = Nova("a")
    nova.answers["a"] = [Answer(status, {"badRequest": {"message": "no such host"}})]
    made, _said = evacuator(nova)
    (outcome,) = made.send(seats("a"))
    assert (outcome.outcome, outcome.host) == ("failed", "dead")
    assert "no such host" in outcome.reason


def test_a_mute_nova_is_waited_for_and_then_given_up():
    nova = Nova("a")
    nova.mute = 3
    made, said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("arrived", "host1")}
    assert any("goes on by itself" in line for line in said)
    nova = Nova("a")
    nova.mute = 99
    made, _said = evacuator(nova)
    with pytest.raises(ApiError):
        made.send(seats("a"))


def test_one_that_never_ends_is_unknown_and_not_failed():
    nova = Nova("a", ticks=10**6)
    made, _said = evacuator(nova, timeout=60)
    (outcome,) = made.send(seats("a"))
    assert outcome.outcome == "unknown"
    assert "Nova may still be at it" in outcome.reason


def test_a_paused_server_is_not_asked_for():
    nova = Nova("a")
    nova.servers["a"]["status"] = "PAUSED"
    made, _said = evacuator(nova)
    assert ends(made.send(seats("a"))) == {"a": ("failed", "dead")}
    assert nova.asked == []


def test_what_placement_is_asked():
    specs = {"trait:HW_CPU_X86_AVX": "required", "trait:CUSTOM_OLD": "forbidden", "hw:mem_page_size": "large"}
    assert evacuations.candidates_query({"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 0}, specs) == {
        "resources": "MEMORY_MB:64,VCPU:2",
        "required": "!CUSTOM_OLD,HW_CPU_X86_AVX",
    }
    assert evacuations.candidates_query({"VCPU": 1}, {}) == {"resources": "VCPU:1"}


def test_the_topology_of_one_whose_topology_is_known_is_not_asked_for_again(monkeypatch):
    asked = []

    def call(_connection, _service, _method, path, *_more, **_given):
        asked.append(path)
        return {"pagesize_kb": 2048, "nodes": [{"memory_mb": 512}]}

    monkeypatch.setattr(evacuations.http, "call", call)
    servers = [facts.ApiServer(uuid, uuid, None, "ACTIVE", "dead", "dead", None, None, 1, "az1") for uuid in "ab"]
    found = evacuations._numa(None, servers, {"a": [], "gone": []})
    assert found == {"a": [], "b": [facts.NumaCell(512, 2048)]}
    assert asked == ["/servers/b/topology"]
