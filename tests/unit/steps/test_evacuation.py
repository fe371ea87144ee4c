# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sending servers away, against a small Nova: each is asked for once, waited for, and never asked for twice."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.planner import Assignment
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import steps as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    allocation_candidates,
    evacuation_facts,
    server_actions,
    server_records,
)
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock, Nova


def evacuator(nova, **given):
    clock, said = Clock(), []
    made = evacuation.Evacuator(nova, "dead", said.append, clock.sleep, clock.monotonic, **given)
    return made, said


def assigned(*uuids, host="host1"):
    return [Assignment(uuid, uuid, host, 1, 1024, "") for uuid in uuids]


def send(made, *given, **more):
    """Send a wave that ends with nobody on the way."""
    wave = made.send(*given, **more)
    assert wave.in_transit == []
    return wave.outcomes


def fresh(made, seconds=0.0):
    """What sending rests on: good for so many seconds from now."""
    end = made.monotonic() + seconds
    return lambda _host: made.monotonic() <= end


def ago(seconds):
    """What the small Nova does not look at."""
    return f"{seconds:.0f} s ago"


def ends(outcomes):
    return {entry.uuid: (entry.outcome, entry.host) for entry in outcomes}


def test_a_wave_arrives_and_each_is_asked_for_once_with_a_microversion_that_keeps_its_state():
    nova = Nova("a", "b")
    made, said = evacuator(nova)
    outcomes = send(made, assigned("a", "b"))
    assert ends(outcomes) == {"a": ("arrived", "host1"), "b": ("arrived", "host1")}
    assert [entry.migration for entry in outcomes] == ["done", "done"]
    assert sorted(nova.asked) == [("a", "host1"), ("b", "host1")]
    assert nova.versions == ["2.68", "2.68"]
    assert any(line.startswith("1/2 a: ACTIVE on host1") for line in said)


def test_no_more_on_their_way_to_one_host_than_allowed_and_the_next_begins_when_one_has_ended():
    names = [f"s{number}" for number in range(9)]
    nova = Nova(*names)
    made, _said = evacuator(nova)
    outcomes = send(made, [*assigned(*names[:6]), *assigned(*names[6:], host="host2")], parallel=2)
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
    outcomes = send(made, assigned(*names))
    assert {entry.uuid: entry.migration for entry in outcomes} == dict.fromkeys(names, "done")
    assert nova.listed_records == [None, "s3"], "only who is in no list is asked for alone"


def test_none_begins_by_what_was_measured_too_long_ago_and_the_next_wave_follows_who_is_on_the_way():
    names = [f"s{number}" for number in range(6)]
    nova = Nova(*names, ticks=10)
    made, _said = evacuator(nova)
    first = made.send(assigned(*names), parallel=2, good=fresh(made))
    assert first.outcomes == [], "nobody has landed yet"
    assert [(entry.uuid, entry.target, entry.size_mib) for entry in first.in_transit] == [
        ("s0", "host1", 1024),
        ("s1", "host1", 1024),
    ]
    assert [uuid for uuid, _host in nova.asked] == ["s0", "s1"], "as many as may go at once always do"
    second = made.send(assigned("s2", "s3"), parallel=2, in_transit=first.in_transit)
    assert ends(second.outcomes) == dict.fromkeys(["s0", "s1", "s2", "s3"], ("arrived", "host1"))
    assert nova.asked == [(name, "host1") for name in ("s0", "s1", "s2", "s3")], "nobody is asked for twice"
    assert nova.most == {"host1": 2}, "those on the way count"


def test_a_wave_whose_measure_is_old_but_has_nobody_else_to_send_sees_all_land():
    nova = Nova("a", "b", ticks=100)
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a", "b"), good=fresh(made, evacuation.POLL))) == dict.fromkeys(
        "ab", ("arrived", "host1")
    )


def test_a_server_whose_request_had_no_answer_stays_in_transit_when_the_proof_expires(monkeypatch):
    """Whether Nova took it only later looks show."""
    nova = Nova("a", "b", ticks=50)
    made, _said = evacuator(nova)

    def mute(_cloud, _uuid, _host, _state):
        raise ApiError("timed out")

    monkeypatch.setattr(server_actions, "evacuate", mute)
    wave = made.send(assigned("a", "b"), parallel=1, good=fresh(made))
    assert [entry.uuid for entry in wave.in_transit] == ["a"]
    assert nova.asked == []


def test_a_server_that_nova_refused_for_now_is_not_asked_for_again_when_the_proof_has_expired():
    """409: its state is changing. Nova has not taken it, and the next wave sends it."""
    nova = Nova("a", "b", ticks=50)
    nova.answers["a"] = [Answer(409, {"conflictingRequest": {"message": "its state is changing"}})] * 3
    made, _said = evacuator(nova)
    wave = made.send(assigned("a", "b"), parallel=1, good=fresh(made))
    assert (wave.in_transit, wave.outcomes, nova.asked) == ([], [], [])
    assert len(nova.answers["a"]) == 2, "it is asked for once"


def test_who_has_used_up_his_time_has_done_so_in_all_waves_together():
    nova = Nova("a", "b", ticks=10**6)
    made, _said = evacuator(nova, timeout=60)
    in_transit = made.send(assigned("a", "b"), parallel=1, good=fresh(made)).in_transit
    made.sleep(59.0)
    (ended,) = made.send([], in_transit=in_transit).outcomes
    assert (ended.uuid, ended.outcome) == ("a", "unknown")
    assert 60 <= ended.seconds < 70
    # By a clock that began anew since, it has just been sent.
    (ended,) = made.send([], in_transit=[evacuation.InTransit("a", "a", "host1", 1024, 10.0**9)]).outcomes
    assert (ended.outcome, ended.seconds // 10) == ("unknown", 6)


@pytest.mark.parametrize("end", ["failed", "novalidhost"])
def test_a_host_on_which_one_failed_gets_no_further_one(end):
    nova = Nova("a", "b", "c", "d", ends={"a": end})
    made, _said = evacuator(nova)
    outcomes = send(made, [*assigned("a", "b"), *assigned("c", "d", host="host2")], parallel=1)
    assert {entry.uuid: entry.outcome for entry in outcomes} == {"a": "failed", "c": "arrived", "d": "arrived"}
    assert "b" not in dict(nova.asked), "the next round judges whether that host takes any"


def test_a_host_on_which_one_hangs_gets_no_further_one():
    nova = Nova("a", "b", ticks=10**6)
    made, _said = evacuator(nova, timeout=60)
    assert [(entry.uuid, entry.outcome) for entry in send(made, assigned("a", "b"), parallel=1)] == [("a", "unknown")]
    assert nova.asked == [("a", "host1")]


def test_many_are_looked_at_in_lists():
    """One list for each host and look, however many servers there are; nobody is asked about alone."""
    names = [f"s{number}" for number in range(40)]
    nova = Nova(*names)
    made, _said = evacuator(nova, ago=ago)
    assert len(send(made, assigned(*names), parallel=40)) == 40
    assert nova.shown == []
    assert nova.listed < 10


def test_a_few_that_begin_are_asked_about_alone_and_not_asked_for_twice():
    nova = Nova("a", "b", "c")
    made, _said = evacuator(nova, ago=ago)
    assert set(ends(send(made, assigned("a", "b", "c"), parallel=1)).values()) == {("arrived", "host1")}
    assert set(nova.shown) == {"a", "b", "c"}
    assert len(nova.shown) == 6, "before it is sent, and when it has left"


@pytest.mark.parametrize("given", [{}, {"ago": ago}])
@pytest.mark.parametrize("record", ["accepted", "pre-migrating", "done"])
def test_one_whose_task_has_ended_before_it_has_its_new_host_has_not_failed(given, record):
    """Seen on the real one with 100 servers: active, without a task, on the dead host, and its record done."""
    nova = Nova("a", "b")
    nova.late, nova.meanwhile = 5, record
    made, _said = evacuator(nova, **given)
    assert ends(send(made, assigned("a", "b"))) == {"a": ("arrived", "host1"), "b": ("arrived", "host1")}
    assert sorted(nova.asked) == [("a", "host1"), ("b", "host1")]


def test_stopped_needs_a_newer_nova():
    nova = Nova("a")
    made, _said = evacuator(nova, target_state="stopped")
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host1")}
    assert nova.versions == ["2.95"]
    old = Nova("a", max_microversion=(2, 93))
    with pytest.raises(ApiError, match=r"2\.95"):
        server_actions.evacuate(old, "a", "host1", "stopped")
    assert old.asked == []


@pytest.mark.parametrize(("end", "record"), [("failed", "failed"), ("novalidhost", "error")])
def test_one_that_fails_is_told_and_the_others_go_on(end, record):
    nova = Nova("a", "b", ends={"a": end})
    made, _said = evacuator(nova)
    outcomes = {entry.uuid: entry for entry in send(made, assigned("a", "b"))}
    assert (outcomes["a"].outcome, outcomes["a"].host, outcomes["a"].migration) == ("failed", "dead", record)
    assert outcomes["b"].outcome == "arrived"
    assert [uuid for uuid, _host in nova.asked] == ["a", "b"], "it is not asked for again by itself"


def test_one_that_is_under_way_is_followed_and_not_asked_for():
    nova = Nova("a", "b")
    nova.servers["a"].update(task="rebuilding", left=3, target="host2")
    nova.records["a"] = "accepted"
    made, _said = evacuator(nova)
    assert ends(send(made, [], in_transit=[evacuation.InTransit("a", "a", None)])) == {"a": ("arrived", "host2")}
    assert nova.asked == []
    nova = Nova("a")
    nova.servers["a"].update(task="rebuilding", left=3, target="host2")
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host2")}
    assert nova.asked == []


@pytest.mark.parametrize("now", ["left", "failed", "deleted"])
def test_one_that_was_on_the_way_and_has_ended_meanwhile_is_told_as_it_is(now):
    nova = Nova("a")
    nova.records["a"] = {"left": "done"}.get(now, "failed")
    if now == "left":
        nova.servers["a"]["host"] = "host1"
    if now == "deleted":
        del nova.servers["a"]
    made, _said = evacuator(nova, ago=ago)
    (ended,) = send(made, [], in_transit=[evacuation.InTransit("a", "a", "host1")])
    assert (ended.outcome, ended.target) == ({"left": "arrived", "failed": "failed", "deleted": "gone"}[now], "host1")


def test_one_of_which_nova_does_not_say_whether_it_is_done_has_not_failed():
    """It would be sent elsewhere while its first destination may still spawn it."""
    nova = Nova("a")
    nova.late = 4
    request, mute = nova.request, []

    def answer(path, *given, **more):
        if path == "/os-migrations" and len(mute) < 3:
            mute.append(path)
            return Answer(503, {"error": {"message": "no answer"}})
        return request(path, *given, **more)

    nova.compute.request = answer
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host1")}
    assert mute


def test_many_that_are_about_to_arrive_are_looked_at_in_one_list():
    names = [f"s{number}" for number in range(8)]
    nova = Nova(*names)
    nova.late = 6
    made, _said = evacuator(nova, ago=ago)
    assert {outcome for outcome, _host in ends(send(made, assigned(*names))).values()} == {"arrived"}
    alone = [uuid for uuid in nova.listed_records if uuid is not None]
    assert len(alone) <= len(names), "each once at most: when it has left since the look began"
    assert len(nova.listed_records) < 20


def test_one_that_has_left_already_is_let_be():
    nova = Nova("a")
    nova.servers["a"]["host"] = "host2"
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host2")}
    assert nova.asked == []


def test_one_that_was_deleted_is_told():
    nova = Nova("a")
    del nova.servers["a"]
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("gone", None)}


def test_a_conflict_is_tried_again_and_then_told():
    busy = Answer(409, {"conflictingRequest": {"message": "its state is changing"}})
    nova = Nova("a")
    nova.answers["a"] = [busy, busy]
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host1")}
    nova = Nova("a")
    nova.answers["a"] = [busy] * 99
    made, _said = evacuator(nova)
    (outcome,) = send(made, assigned("a"))
    assert outcome.outcome == "failed"
    assert "its state is changing" in outcome.reason


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_refusal_is_told(status):
    nova = Nova("a")
    nova.answers["a"] = [Answer(status, {"badRequest": {"message": "no such host"}})]
    made, _said = evacuator(nova)
    (outcome,) = send(made, assigned("a"))
    assert (outcome.outcome, outcome.host) == ("failed", "dead")
    assert "no such host" in outcome.reason


def test_a_mute_nova_is_waited_for_and_then_given_up():
    nova = Nova("a")
    nova.mute = 3
    made, said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("arrived", "host1")}
    assert any("continues to ask Nova" in line for line in said)
    nova = Nova("a")
    nova.mute = 99
    made, _said = evacuator(nova)
    with pytest.raises(ApiError):
        send(made, assigned("a"))


def test_one_that_never_ends_is_unknown_and_not_failed():
    nova = Nova("a", ticks=10**6)
    made, _said = evacuator(nova, timeout=60)
    (outcome,) = send(made, assigned("a"))
    assert outcome.outcome == "unknown"
    assert "Nova may still be working on this evacuation" in outcome.reason


def test_a_paused_server_is_not_asked_for():
    nova = Nova("a")
    nova.servers["a"]["status"] = "PAUSED"
    made, _said = evacuator(nova)
    assert ends(send(made, assigned("a"))) == {"a": ("failed", "dead")}
    assert nova.asked == []


def test_what_placement_is_asked():
    specs = {"trait:HW_CPU_X86_AVX": "required", "trait:CUSTOM_OLD": "forbidden", "hw:mem_page_size": "large"}
    assert allocation_candidates.candidates_query({"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 0}, specs) == {
        "resources": "MEMORY_MB:64,VCPU:2",
        "required": "!CUSTOM_OLD,HW_CPU_X86_AVX",
    }
    assert allocation_candidates.candidates_query({"VCPU": 1}, {}) == {"resources": "VCPU:1"}


def test_the_topology_of_one_whose_topology_is_known_is_not_asked_for_again(monkeypatch):
    asked = []

    def call(_connection, _service, _method, path, *_more, **_given):
        asked.append(path)
        return {"pagesize_kb": 2048, "nodes": [{"memory_mb": 512}]}

    monkeypatch.setattr(server_records.http, "call", call)
    servers = [facts.ApiServer(uuid, uuid, None, "ACTIVE", "dead", "dead", None, None, 1, "az1") for uuid in "ab"]
    found = evacuation_facts._numa(None, servers, {"a": [], "gone": []})
    assert found == {"a": [], "b": [facts.NumaCell(512, 2048)]}
    assert asked == ["/servers/b/topology"]
