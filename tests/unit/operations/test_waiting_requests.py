# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests of owners that wait in RabbitMQ for a dead host: what an evacuation and a return make of them (N1).

Seen on a lab: the owner's start waited in the queue of the dead host, the evacuation and the return were green, and
nova-compute of the host started a second QEMU on the same disk.
"""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import waiting_requests
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_actions
from ansible_collections.stackguard.nova.tests.unit import evacuation_life
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.checks.before import test_return_host as scenes
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import ONE, TWO
from ansible_collections.stackguard.nova.tests.unit.return_life import ReturnLife

COMMANDS = ("rabbitmqctl list_queues", "rabbitmqctl delete_queue compute.compute1")
#: Each of them makes a second QEMU, or ends the running one, where it is executed late.
WAITING = {
    "powering-on": "start_instance",
    "powering-off": "stop_instance",
    "suspending": "suspend_instance",
    "resuming": "resume_instance",
    "rescuing": "rescue_instance",
    "unrescuing": "unrescue_instance",
}


@pytest.fixture
def dead(tmp_path, monkeypatch):
    """compute1 is dead, with two servers."""
    life = evacuation_life.Life(tmp_path, monkeypatch)
    life.resets = []

    def reset(_cloud, uuid):
        life.resets.append((uuid, list(life.rabbit.removed)))
        life.nova.servers[uuid]["task"] = None

    monkeypatch.setattr(server_actions, "reset_state_verified", reset)
    return life


@pytest.fixture
def back(tmp_path, monkeypatch):
    """compute1 was evacuated, and answers again."""
    return ReturnLife(tmp_path, monkeypatch)


def told(report, code):
    """Object, severity."""
    return sorted((item["object"]["id"], item["severity"]) for item in report["findings"] if item["code"] == code)


def undecided(report):
    return [item["code"] for item in report["unchecked"]]


# --- an evacuation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", sorted(WAITING))
def test_a_waiting_request_is_removed_before_its_server_is_reset(dead, task):
    sent = dead.rabbit.send(WAITING[task], ONE)
    dead.nova.servers[ONE].update(task=task, target=None)
    done = dead.run(reset_states=["task"])
    assert (done["failed"], done["state"], dead.report()["verdict"]) == (False, "evacuated", "warn"), done["msg"]
    assert dead.resets == [(ONE, [sent])], "the request was gone when the task was reset"
    assert (told(dead.report(), "SG121"), dead.rabbit.waiting()) == ([(ONE, "warning")], [])
    (journal,) = dead.closed()
    assert journal["memory"]["requests_removed"] == {"compute.compute1": [sent]}


def test_only_a_reset_waits_until_rabbitmq_has_noticed_the_death(dead):
    """RabbitMQ counts the consumer of a dead host for two minutes: servers without a reset are not kept that long."""
    assert not dead.run()["failed"]
    assert (min(dead.rabbit.patience), max(dead.rabbit.patience)) == (0.0, waiting_requests.PATIENCE)
    assert dead.rabbit.patience[0] == 0.0


def test_a_reset_waits_until_rabbitmq_has_noticed_the_death(dead):
    dead.nova.servers[ONE].update(task="powering-on", target=None)
    assert not dead.run(reset_states=["task"])["failed"]
    assert set(dead.rabbit.patience) == {waiting_requests.PATIENCE}


def test_the_ids_are_in_the_journal_before_anything_is_removed(dead, monkeypatch):
    sent = dead.rabbit.send("detach_volume", ONE)
    noted = []
    take = waiting_requests._take

    def look(entry, ids):
        noted.append(dead.open()["memory"]["requests_removed"])
        return take(entry, ids)

    monkeypatch.setattr(waiting_requests, "_take", look)
    assert not dead.run()["failed"]
    assert noted == [{"compute.compute1": [sent]}]


@pytest.mark.parametrize("task", sorted(WAITING))
def test_without_access_no_task_is_reset_whose_request_may_wait(dead, task):
    dead.rabbit.access = False
    dead.nova.servers[ONE].update(task=task, target=None)
    refused = dead.run(reset_states=["task"])
    assert (refused["failed"], refused["state"], dead.resets) == (True, "refused", [])
    assert (ONE, "blocker") in told(dead.report(), "SG701")
    done = dead.run(reset_states=["task"], partial=True)
    assert (done["failed"], list(done["left"]), dead.resets) == (True, [ONE], [])
    assert dead.nova.servers[TWO]["host"] == "compute3"


def test_a_request_that_nova_refuses_late_needs_no_access(dead):
    dead.rabbit.access = False
    dead.nova.servers[ONE].update(task="rebooting", target=None)
    done = dead.run(reset_states=["task"])
    assert (done["failed"], [uuid for uuid, _removed in dead.resets]) == (False, [ONE]), done["msg"]


def test_without_access_the_end_is_a_warning_that_names_both_commands(dead):
    dead.rabbit.access = False
    done = dead.run()
    assert (done["failed"], done["state"], dead.report()["verdict"]) == (False, "evacuated", "warn")
    assert undecided(dead.report()) == ["SG329"]
    for word in COMMANDS:
        assert word in done["msg"]


def test_with_access_and_nothing_that_waits_it_passes(dead):
    done = dead.run()
    assert (done["failed"], dead.report()["verdict"], undecided(dead.report())) == (False, "pass", [])
    assert "rabbitmqctl" not in done["msg"]


def test_the_broker_is_not_the_hosts_where_no_other_compute_listens(dead):
    """A missing queue in the wrong virtual host is never "nothing waits"."""
    dead.rabbit.queues, dead.rabbit.consumers = {}, {}
    dead.run()
    assert (undecided(dead.report()), dead.report()["verdict"]) == (["SG329"], "warn")


def test_a_check_counts_and_removes_nothing(dead):
    dead.rabbit.send("start_instance", ONE)
    checked = dead.run(check=True)
    assert (checked["state"], told(dead.report(), "SG329")) == ("planned", [("compute1", "warning")])
    assert (dead.rabbit.waiting(), dead.report()["verdict"]) == (["start_instance"], "warn")


def test_a_request_that_came_before_its_server_left_is_removed_at_the_end(dead):
    """The API sends to the dead host until instances.host has changed."""

    def late(need):
        if need["kind"] == "guard":
            dead.rabbit.send("start_instance", ONE)

    dead.answer = late
    done = dead.run()
    assert (done["failed"], dead.rabbit.waiting(), told(dead.report(), "SG121")) == (False, [], [(ONE, "warning")])


def late_stop(dead, then=lambda: None):
    """Between the look into the queue and the round, an owner stops a server that needed no reset so far."""
    sent = []

    def late(need):
        if need["kind"] == "guard" and not sent:
            sent.append(dead.rabbit.send("stop_instance", ONE))
            dead.nova.servers[ONE].update(task="powering-off", target=None)
            then()

    dead.answer = late
    return sent


def test_a_request_that_came_after_the_look_is_removed_before_its_task_is_reset(dead):
    sent = late_stop(dead)
    done = dead.run(reset_states=["task"])
    assert (done["failed"], done["state"], dead.rabbit.waiting()) == (False, "evacuated", []), done["msg"]
    assert dead.resets == [(ONE, sent)]


def test_a_task_is_not_reset_by_the_word_of_an_earlier_look(dead):
    def gone():
        dead.rabbit.access = False

    late_stop(dead, gone)
    done = dead.run(reset_states=["task"])
    assert (list(done["left"]), dead.resets, dead.rabbit.waiting()) == ([ONE], [], ["stop_instance"])
    assert dead.nova.servers[TWO]["host"] == "compute3"


@pytest.mark.parametrize(("state", "consumers"), [("down", 1), ("down", 0), ("up", 1)])
def test_of_a_host_without_servers_a_dead_consumer_hides_what_waits(dead, state, consumers):
    """RabbitMQ counts a dead host's consumer for two minutes: a queue that looks empty says nothing then."""
    for uuid in (ONE, TWO):
        dead.nova.servers[uuid]["host"] = "compute3"
    if state == "up":
        dead.change = lambda some: some.having(some.cloud.change("api_services", {"host": "compute1"}, state="up"))
    if consumers:
        dead.rabbit.consumers["compute.compute1"] = consumers
    done = dead.run()
    hidden = state == "down" and bool(consumers)
    assert (done["failed"], done["state"]) == (False, "clear"), done["msg"]
    assert (undecided(dead.report()), dead.report()["verdict"]) == ((["SG329"], "warn") if hidden else ([], "pass"))


def test_what_must_not_be_removed_is_named_and_keeps_nova_compute_stopped(dead):
    dead.rabbit.send("terminate_instance", ONE)
    done = dead.run()
    assert (done["failed"], dead.report()["verdict"], dead.rabbit.waiting()) == (False, "warn", ["terminate_instance"])
    assert told(dead.report(), "SG330") == [(ONE, "warning")]
    assert "Keep nova-compute on compute1 stopped" in done["msg"]


def test_beside_a_request_that_nobody_knows_nothing_is_removed_and_no_waiting_task_is_reset(dead):
    dead.rabbit.send("start_instance", ONE)
    dead.rabbit.send("a_method_of_a_later_release", TWO)
    dead.nova.servers[ONE].update(task="powering-on", target=None)
    done = dead.run(reset_states=["task"])
    assert (list(done["left"]), dead.resets, len(dead.rabbit.waiting())) == ([ONE], [], 2)
    assert dead.nova.servers[TWO]["host"] == "compute3"


def test_a_nova_compute_that_still_listens_is_not_passed_over(dead):
    """Cut off from Ceph, its host may reach RabbitMQ still: what it has taken cannot be seen."""
    dead.rabbit.consumers["compute.compute1"] = 1
    done = dead.run()
    assert (done["failed"], undecided(dead.report()), dead.report()["verdict"]) == (False, ["SG329"], "warn")


def test_events_hold_nothing_up(dead):
    dead.rabbit.send("external_instance_event", ONE)
    done = dead.run()
    assert (done["failed"], dead.rabbit.waiting()) == (False, ["external_instance_event"])
    # Of a count it is not known what waits; the run has read it.
    assert (told(dead.report(), "SG329"), dead.report()["verdict"]) == ([], "pass")


def test_a_resume_settles_what_came_since(dead):
    assert dead.run(dies_at=4) is None
    sent = dead.rabbit.send("rescue_instance", ONE)
    done = dead.run(action="resume")
    assert (done["failed"], dead.rabbit.waiting()) == (False, [])
    assert dead.closed()[0]["memory"]["requests_removed"] == {"compute.compute1": [sent]}


# --- a return -------------------------------------------------------------------------------------------------

GUEST = guest(1, 1)


def test_a_request_for_a_server_that_lives_elsewhere_is_removed_before_the_host_is_clear(back):
    sent = back.rabbit.send("start_instance", GUEST)
    back.answer = lambda need: back.done.append("removed") if back.rabbit.removed and not back.done else None
    result = back.run()
    assert (result["failed"], result["state"], result["report"]["verdict"]) == (False, "clear", "warn"), result["msg"]
    assert (back.rabbit.waiting(), told(result["report"], "SG121")) == ([], [(GUEST, "warning")])
    assert back.done[0] == "removed", "before Ceph lets the host write again"
    (journal,) = back.closed()
    assert journal["memory"]["requests_removed"] == {"compute.compute1": [sent]}


def test_without_access_the_host_is_not_clear_and_nothing_is_changed(back):
    back.rabbit.access = False
    for check in (True, False):
        result = back.run(check=check)
        assert (result["failed"], result["state"], result["changed"]) == (True, "not-clear", False)
        assert (result["report"]["verdict"], told(result["report"], "SG329")) == ("block", [("compute1", "blocker")])
        for word in COMMANDS:
            assert word in result["msg"]
    assert (back.done, back.open, back.closed()) == ([], None, [])


def test_an_override_passes_a_queue_that_was_not_read_and_the_journal_keeps_its_reason(back):
    back.rabbit.access = False
    override = {"code": "SG329", "object": "compute1", "reason": "looked and deleted, ticket 4711"}
    assert back.run(check=True, overrides=[override])["state"] == "planned"
    result = back.run(overrides=[override])
    assert (result["failed"], result["state"], result["report"]["verdict"]) == (False, "clear", "warn"), result["msg"]
    (journal,) = back.closed()
    assert journal["about"]["overrides"] == [override]
    assert "no access to RabbitMQ" in journal["memory"]["requests_unread"]
    # Of another host it says nothing.
    back.domains, back.blocklist = [GUEST], [scenes.HOST]
    assert back.run(overrides=[{**override, "object": "compute2"}])["state"] == "not-clear"


@pytest.mark.parametrize("method", ["terminate_instance", "finish_resize", "rebuild_instance"])
def test_a_request_that_was_read_and_may_not_be_removed_is_passed_by_no_override(back, method):
    back.rabbit.send(method, GUEST)
    result = back.run(overrides=[{"code": "SG329", "object": "compute1", "reason": "I know"}])
    assert (result["failed"], result["state"], back.rabbit.waiting()) == (True, "not-clear", [method])
    assert told(result["report"], "SG330") == [(GUEST, "blocker")]
    assert (back.done, back.blocklist) == ([], [scenes.HOST]), "Ceph refuses the host until it is clear"
    assert back.open["steps"]["requests"] == "pending"
    # The operator has deleted the queue.
    del back.rabbit.queues["compute.compute1"]
    again = back.run()
    assert (again["failed"], again["state"], again["report"]["verdict"]) == (False, "clear", "pass"), again["msg"]
    assert back.open is None


def test_an_unknown_method_is_held_and_everything_with_it(back):
    back.rabbit.send("start_instance", GUEST)
    back.rabbit.send("a_method_of_a_later_release", GUEST)
    result = back.run()
    assert (result["state"], len(back.rabbit.waiting())) == ("not-clear", 2)


def test_a_request_for_a_server_that_lives_here_is_executed_as_it_should(back):
    back.change = lambda _some: scenes.at_home()
    back.rabbit.send("reboot_instance", GUEST)
    result = back.run()
    assert (result["failed"], result["state"], back.rabbit.waiting()) == (False, "clear", ["reboot_instance"])
    assert told(result["report"], "SG329") == [(GUEST, "info")]
    assert result["report"]["verdict"] == "pass"


def test_a_check_of_a_return_counts(back):
    back.rabbit.send("start_instance", GUEST)
    result = back.run(check=True)
    assert (result["state"], result["failed"], told(result["report"], "SG329")) == (
        "planned",
        False,
        [("compute1", "warning")],
    )
    assert back.rabbit.waiting() == ["start_instance"]


def test_a_consumer_on_the_queue_of_a_stopped_host_is_another_machine(back):
    back.rabbit.consumers["compute.compute1"] = 1
    result = back.run()
    assert (result["failed"], result["state"], back.blocklist) == (True, "not-clear", [scenes.HOST])
    assert told(result["report"], "SG329") == [("compute1", "blocker")]


def test_a_nova_compute_that_runs_has_taken_what_waited(back):
    back.run()
    back.start_compute()
    back.rabbit.access = False
    result = back.run()
    assert (result["failed"], result["state"], back.done[-1]) == (False, "clear", "release"), result["msg"]
    assert (undecided(result["report"]), result["report"]["verdict"]) == (["SG329"], "warn")


def test_a_journal_of_a_version_that_did_not_look_is_resumed_with_the_look(back):
    assert back.run(dies_at="lift") is None
    steps = back.open
    plan = {**steps["plan"], "steps": [step for step in steps["plan"]["steps"] if step["name"] != "requests"]}
    back.rewrite({**steps, "plan": plan, "steps": {"domains": "done", "blocklist": "applying"}})
    back.rabbit.send("start_instance", GUEST)
    result = back.run(action="resume")
    assert (result["state"], back.rabbit.waiting()) == ("clear", []), result["msg"]


def test_a_host_with_nothing_else_to_clear_is_not_changed_by_the_look(back):
    back.change = lambda _some: scenes.at_home()
    result = back.run()
    assert (result["state"], result["changed"], back.done) == ("clear", False, [])
    assert dataclasses.asdict(back.service)["host"] == "compute1"
