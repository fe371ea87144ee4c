# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may become of a request that waits for a dead host's name: the table, and what is said of each."""

from __future__ import annotations

import itertools
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import waiting
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import BrokerFacts, Queue, QueuedRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.records import operation_records

PLACES = (waiting.HERE, waiting.LEAVING, waiting.ELSEWHERE, waiting.NOWHERE, waiting.GONE, waiting.UNKNOWN)
STRANDS = ("finish_resize", "rebuild_instance", "terminate_instance", "build_and_run_instance", "unshelve_instance")
DOUBLES = ("start_instance", "resume_instance", "rescue_instance", "unrescue_instance")
BREAKS = ("stop_instance", "suspend_instance", "detach_volume")


def asked(method, number=1, *uuids):
    return QueuedRequest("compute.dead", f"id{number}", method, f"req-{number}", list(uuids) or ["u1"], "2026-11-28")


def at(place, host=None):
    return {"u1": waiting.Whereabouts(place, host)}


def verdict(method, place):
    (entry,) = waiting.judge([asked(method)], at(place))
    return entry.verdict


def codes(checked):
    return [(item.code, item.severity, item.object.kind) for item in checked.findings]


def test_every_method_has_a_verdict_for_every_place():
    assert all(set(row) == set(PLACES) for row in waiting.VERDICTS.values())
    for method, place in itertools.product(waiting.METHODS, PLACES):
        assert verdict(method, place) in (waiting.REMOVE, waiting.LEAVE, waiting.HOLD)


@pytest.mark.parametrize("method", [*DOUBLES, *BREAKS])
def test_what_would_act_on_a_server_of_another_host_goes(method):
    assert verdict(method, waiting.ELSEWHERE) == waiting.REMOVE
    assert verdict(method, waiting.LEAVING) == waiting.REMOVE
    assert verdict(method, waiting.HERE) == waiting.LEAVE, "the owner's request for a server of this host is executed"
    assert verdict(method, waiting.UNKNOWN) == waiting.HOLD


@pytest.mark.parametrize("method", STRANDS)
def test_what_strands_or_loses_a_server_is_never_removed_while_the_server_exists(method):
    assert all(verdict(method, place) != waiting.REMOVE for place in PLACES if place != waiting.GONE)
    assert verdict(method, waiting.ELSEWHERE) == waiting.HOLD, "nor may it be executed here"


@pytest.mark.parametrize("place", PLACES)
def test_events_of_neutron_hold_nothing_up(place):
    judged = waiting.judge([asked("external_instance_event", 1, "u1", "u2")], at(place))
    assert [entry.verdict for entry in judged] == [waiting.LEAVE]
    assert waiting.told("dead", judged, ()).findings == ()


def test_a_request_of_an_unknown_kind_keeps_all_others_where_they_are():
    judged = waiting.judge([asked("start_instance"), asked("do_something_new", 2)], at(waiting.ELSEWHERE, "compute2"))
    assert {entry.verdict for entry in judged} == {waiting.HOLD}
    assert codes(waiting.told("dead", judged, ())) == [
        ("SG330", "blocker", "instance"),
        ("SG329", "blocker", "instance"),
    ]


def test_one_server_that_must_not_be_touched_decides_for_a_request_of_several():
    places = {"u1": waiting.Whereabouts(waiting.GONE), "u2": waiting.Whereabouts(waiting.ELSEWHERE, "compute2")}
    (entry,) = waiting.judge([asked("terminate_instance", 1, "u1", "u2")], places)
    assert (entry.verdict, entry.host) == (waiting.HOLD, "compute2")


def test_a_request_that_names_no_server_is_not_taken_for_one_of_nobody():
    (entry,) = waiting.judge([QueuedRequest("compute.dead", "id", "start_instance", None, [])], {})
    assert entry.verdict == waiting.HOLD


def test_each_request_is_named_with_its_server_its_kind_its_age_and_where_the_server_is():
    judged = waiting.judge([asked("start_instance")], at(waiting.ELSEWHERE, "compute2"))
    (gone,) = waiting.told("dead", judged, {"id1"}).findings
    (held,) = waiting.told("dead", judged, ()).findings
    assert (gone.code, held.code, held.absolute) == ("SG121", "SG330", True)
    for item in (gone, held):
        assert (item.object.id, item.object.host) == ("u1", "compute2")
        assert (item.evidence["request"], item.evidence["sent"]) == ("start_instance", "2026-11-28")
        assert (item.evidence["server is"], item.evidence["server's host"]) == ("elsewhere", "compute2")


def test_a_server_of_the_host_itself_is_only_told():
    judged = waiting.judge([asked("start_instance")], at(waiting.HERE, "dead"))
    assert codes(waiting.told("dead", judged, ())) == [("SG329", "info", "instance")]


def test_the_two_commands_name_both_queues():
    text = waiting.unread("dead", "no access").reason
    assert re.findall(r"rabbitmqctl delete_queue ([a-z.-]+?)[;.] ", text) == ["compute.dead", "compute-alt.dead"]
    assert "rabbitmqctl list_queues" in text
    made = waiting.not_clear(waiting.unread("dead", "no access"))
    assert (made.code, made.severity, made.object.id, made.absolute) == ("SG329", "blocker", "dead", False)


# --- the audit


def cell(found, witness="compute2", reason=None):
    return BrokerFacts("cell1", "mq1:5672/", 3, found, witness, reason)


def test_the_audit_names_a_name_whose_requests_nobody_takes():
    found = [Queue("compute.dead", 5, 0), Queue("compute-alt.dead", 2, 0), Queue("compute.busy", 4, 1)]
    (item,) = waiting.check([cell(found)])
    assert (item.code, item.severity, item.object.id) == ("SG329", "warning", "dead")
    assert set(item.evidence) == {"compute.dead", "compute-alt.dead"}


@pytest.mark.parametrize(
    "brokers", [None, [cell(None, None, "no login")], [cell([], None)]], ids=["not asked", "unread", "unproven"]
)
def test_a_broker_that_was_not_read_is_never_nothing_waits(brokers):
    (item,) = waiting.check(brokers)
    assert isinstance(item, Unchecked)
    assert item.code == "SG329"


def test_a_cell_whose_queues_are_empty_says_nothing():
    assert list(waiting.check([cell([])])) == []


def test_the_audit_shows_that_a_host_returned_on_its_operators_word():
    override = {"code": "SG329", "object": "dead", "reason": "I deleted the queue"}
    journal = {"operation_id": "op", "kind": "return-dead", "state": "finished", "started_at": "2026-11-28"}
    passed = {**journal, "about": {"host": "dead", "overrides": [override]}, "memory": {"requests_unread": "no access"}}
    records = operation_records.records([], [passed])
    (item,) = waiting.check([cell([])], records)
    assert (item.code, item.severity, item.object.id) == ("SG329", "info", "dead")
    assert item.evidence["reason"] == "I deleted the queue"
    later = {**journal, "operation_id": "op2", "started_at": "2026-11-29", "about": {"host": "dead"}, "memory": {}}
    assert list(waiting.check([cell([])], operation_records.records([], [passed, later]))) == []
