# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis of a dead host is removed only where everything agrees; else it stays, is reported, and why it stays."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.operation import LOOK
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiAgent
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences import catalogue
from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnFacts, OvnPortBinding, OvnSwitchPort
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    compute_services,
    network,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import reading
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import ONE, TWO, Life
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import chassis

SURE = {
    "remove_chassis": True,
    "ovn_nb_connection": "tcp:192.0.2.100:6641",
    "ovn_sb_connection": "tcp:192.0.2.100:6642",
}
DEAD, OTHER = chassis(1, "compute1"), chassis(2, "compute2")
SAID = "not removed"


def agent(name=DEAD.name, kind="OVN Controller agent", alive=False, host="compute1"):
    return ApiAgent(name, kind, "ovn-controller", host, alive, None)


def binding(port, **changes):
    row = OvnPortBinding(f"row-{port}", port, "", None, None, None, False)
    return dataclasses.replace(row, **changes)


def switch_port(port, requested, kind=""):
    return OvnSwitchPort(f"lsp-{port}", port, kind, requested, None, None, None, True)


class Ovn:
    """The databases of a cloud and its neutron. ``deleted``: what neutron was asked to delete."""

    def __init__(self, life):
        self.life = life
        self.facts = OvnFacts("now", ["compute1"], [DEAD, OTHER], [], [], [], [])
        life.agents = [agent(), agent("metadata", "OVN Metadata agent")]
        self.deleted = []
        #: Raised by neutron, after it has deleted or instead of that.
        self.fails, self.deletes = None, True
        #: Looks after which a deleted chassis is gone; None: never.
        self.looks, self.after = 0, []
        #: Called with each look at the databases.
        self.on_look = lambda: None

    def read(self, _options, _hosts):
        self.on_look()
        if self.deleted and self.after:
            self.after.pop(0)()
        return self.facts

    def delete(self, _connection, identity):
        self.deleted.append(identity)
        if self.deletes:
            self.gone(identity)
        if self.fails:
            raise self.fails

    def gone(self, identity=DEAD.name):
        self.change(chassis=[row for row in self.facts.chassis if row.name != identity])
        self.life.agents = []

    def change(self, **changes):
        self.facts = dataclasses.replace(self.facts, **changes)


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


@pytest.fixture
def ovn(life, monkeypatch):
    made = Ovn(life)
    monkeypatch.setattr(reading, "read_ovn", made.read)
    monkeypatch.setattr(network, "delete_agent", made.delete)
    return made


def left(life):
    """The findings of the chassis, each with why it was not removed."""
    return [
        (item["object"]["id"], item["evidence"].get(SAID))
        for item in life.report()["findings"]
        if item["code"] == "SG328"
    ]


def unchecked(life):
    return [item["reason"] for item in life.report()["unchecked"] if item["code"] == "SG328"]


def history(journal):
    return [entry["text"] for entry in journal["history"] if entry.get("text")]


def assert_stays(life, ovn, done, problem, *names):
    """Nothing was deleted, the evacuation has ended as without the option, and the report says why."""
    assert ovn.deleted == []
    assert (done["failed"], done["state"], life.open()) == (False, "evacuated", None)
    assert done["removed_chassis"] is None and life.told(done)["removed_chassis"] is None
    reasons = [reason for _name, reason in left(life)] or unchecked(life)
    assert reasons and all(name in reason for reason in reasons for name in names), reasons
    assert life.report()["verdict"] == "warn"
    (journal,) = life.closed()
    assert journal["memory"]["chassis_kept"] == problem, reasons
    assert {item["evidence"]["kept"] for item in life.report()["findings"] if item["code"] == "SG328"} <= {problem}
    assert journal["steps"]["remove_chassis"] == "pending"
    assert any(name in text for text in history(journal) for name in names or ("compute1",))


# --- it is removed --------------------------------------------------------------------------------------------


def test_it_is_removed_at_the_end_and_everything_says_so(life, ovn):
    done = life.run(**SURE)
    assert ovn.deleted == [DEAD.name]
    assert (done["failed"], done["state"], life.open()) == (False, "evacuated", None)
    assert (life.report()["verdict"], left(life), unchecked(life)) == ("pass", [], [])
    assert done["removed_chassis"] == life.told(done)["removed_chassis"] == DEAD.name
    assert DEAD.name in done["msg"] and "2 servers" in done["msg"]
    (journal,) = life.closed()
    assert journal["steps"]["remove_chassis"] == "done"
    assert any(DEAD.name in text and "is removed" in text for text in history(journal))
    assert DEAD.name in (life.reports / "report.html").read_text()


def test_without_the_option_it_stays(life, ovn):
    done = life.run(**{**SURE, "remove_chassis": False})
    assert (ovn.deleted, left(life)) == ([], [(DEAD.name, None)])
    assert (done["failed"], done["removed_chassis"]) == (False, None)
    assert "remove_chassis" not in life.closed()[0]["steps"]


def test_the_fence_is_read_back_for_it_after_the_last_server_has_left(life, ovn):
    """Twice, and it never acts: what was read for the last round is not used."""
    seen = []
    life.answer = lambda need: seen.append((need, dict(life.nova.servers))) and None
    life.run(**SURE)
    kinds = [need["kind"] for need, _servers in seen]
    last = len(kinds) - 1 - kinds[::-1].index("unguard")
    after = [need for need, _servers in seen[last + 1 :]]
    assert [need["kind"] for need in after] == ["fence", "wait", "fence"]
    assert [need["act"] for need in after if need["kind"] == "fence"] == [False, False]


def test_a_second_run_after_the_removal_finds_nothing_and_removes_nothing(life, ovn):
    life.run(**SURE)
    done = life.run(**SURE)
    assert (done["state"], done["failed"], ovn.deleted) == ("clear", False, [DEAD.name])
    assert (left(life), unchecked(life), life.report()["verdict"]) == ([], [], "pass")


def test_a_run_that_evacuates_no_server_removes_none(life, ovn):
    """It fences nothing, and so has no proof."""
    life.run()
    done = life.run(**SURE)
    assert (done["state"], ovn.deleted) == ("clear", [])
    ((name, why),) = left(life)
    assert name == DEAD.name and "evacuated no server" in why


# --- 1. the fence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fence", sorted(set(catalogue.FENCES) - set(catalogue.POWERING_OFF)))
def test_a_fence_that_does_not_power_off_is_refused_before_anything(life, ovn, fence):
    done = life.run(fence=fence, fence_confirm_command="/bin/confirm", **SURE)
    assert (done["failed"], done["state"], life.needs, life.done) == (True, "refused", [], [])
    assert "evacuate_remove_chassis" in done["msg"] and "evacuate_fence=power" in done["msg"]
    assert life.open() is None and life.closed() == []


@pytest.mark.parametrize("lacking", ["ovn_nb_connection", "ovn_sb_connection"])
def test_without_both_databases_it_is_refused_before_anything(life, ovn, lacking):
    done = life.run(**{**SURE, lacking: None})
    assert (done["failed"], done["state"], life.needs, life.done) == (True, "refused", [], [])
    assert "evacuate_remove_chassis" in done["msg"] and lacking in done["msg"]


def test_a_fence_that_leaves_the_machine_on_never_removes_a_chassis():
    """A new kind of fence may, if it says of itself that it powers off, and is read back more than once."""
    assert "power" in catalogue.POWERING_OFF
    assert not {"command", "blocklist", "attested"} & set(catalogue.POWERING_OFF)
    assert all(catalogue.FENCES[name].readings > 1 for name in catalogue.POWERING_OFF)


def test_a_machine_that_was_switched_on_after_the_last_server_left_keeps_its_chassis(life, ovn):
    # The rounds are over before it: only the reading for the removal sees it.
    ovn.on_look = lambda: setattr(life, "power", "On")
    done = life.run(**SURE)
    assert_stays(life, ovn, done, "not-fenced", " On")


def test_a_bmc_that_does_not_answer_any_more_keeps_it(life, ovn):
    ovn.on_look = lambda: setattr(life, "answer", mute)

    def mute(need):
        return (
            {"on": "localhost", "read": {"failed": True, "msg": "no route to host"}}
            if need["kind"] == "fence"
            else None
        )

    assert_stays(life, ovn, life.run(**SURE), "not-fenced", "no route to host")


def test_a_proof_that_has_expired_keeps_it(life, ovn):
    """Reading OVN takes longer than the proof is good for."""
    looks = []

    def slow():
        looks.append(life.now)
        life.now += 30 if len(looks) == 2 else 0

    ovn.on_look = slow
    assert_stays(life, ovn, life.run(proof_max_age=20, **SURE), "not-fenced", "20 s")


# --- 2. the southbound database -------------------------------------------------------------------------------

UNREAD = Unread("ovn", "connection refused")
IN_OVN = {
    "no chassis": ({"chassis": [OTHER]}, "not-one-chassis"),
    "two chassis": ({"chassis": [DEAD, chassis(3, "compute1"), OTHER]}, "not-one-chassis"),
    "bound": ({"port_bindings": [binding("p", chassis=DEAD.uuid)]}, "ports"),
    "requested": ({"port_bindings": [binding("p", requested=DEAD.uuid)]}, "ports"),
    "additional": ({"port_bindings": [binding("p", additional=[DEAD.uuid])]}, "ports"),
    "northbound": ({"switch_ports": [switch_port("p", "compute2,compute1")]}, "ports"),
    "northbound by name": ({"switch_ports": [switch_port("p", DEAD.name)]}, "ports"),
    "gateway": ({"gateways": [DEAD.name]}, "gateway"),
    "chassis unread": ({"chassis": None, "unread": [UNREAD]}, "ovn-unread"),
    "ports unread": ({"port_bindings": None, "unread": [UNREAD]}, "ovn-unread"),
    "northbound unread": ({"switch_ports": None, "gateways": None, "unread": [UNREAD]}, "ovn-unread"),
    "something unread": ({"unread": [UNREAD]}, "ovn-unread"),
}


@pytest.mark.parametrize("case", IN_OVN)
def test_what_ovn_says_against_it(life, ovn, case):
    changes, why = IN_OVN[case]
    ovn.change(**changes)
    assert_stays(life, ovn, life.run(**SURE), why)
    assert LOOK not in [need.get("seconds") for need in life.needs], "time changes nothing"


@pytest.mark.parametrize("case", IN_OVN)
def test_what_ovn_says_against_it_only_when_everything_is_read_again(life, ovn, case):
    """The first look was fine, and the machine is off: the second look decides."""
    changes, why = IN_OVN[case]
    looked = []

    def changed(need):
        if need["kind"] == "fence" and looked:
            ovn.change(**changes)

    ovn.on_look = lambda: looked.append(True)
    life.answer = changed
    assert_stays(life, ovn, life.run(**SURE), why)


def test_what_belongs_to_other_chassis_does_not_matter(life, ovn):
    ovn.change(
        port_bindings=[binding("q", chassis=OTHER.uuid, requested=OTHER.uuid)],
        switch_ports=[switch_port("q", "compute2"), switch_port("r", "compute1", "router")],
        gateways=[OTHER.name],
    )
    life.run(**SURE)
    assert ovn.deleted == [DEAD.name]


# --- 3. neutron -----------------------------------------------------------------------------------------------

IN_NEUTRON = {
    "no agent: the list is empty for users that are no administrators": ([], "no-agent"),
    "a metadata agent alone": ([agent("metadata", "OVN Metadata agent")], "no-agent"),
    "another host": ([agent(host="compute10")], "no-agent"),
    "two controllers": ([agent(), agent("other")], "several-agents"),
    "another cloud": ([agent("other")], "another-chassis"),
}


@pytest.mark.parametrize("case", IN_NEUTRON)
def test_what_neutron_says_against_it(life, ovn, case):
    life.agents, why = IN_NEUTRON[case]
    assert_stays(life, ovn, life.run(**SURE), why)


def test_agents_that_cannot_be_read_keep_it(life, ovn, monkeypatch):
    def refuse(*_arguments):
        raise ApiError("GET network /agents: 503: no answer", status=503)

    monkeypatch.setattr(network, "list_agents", refuse)
    done = life.run(**SURE)
    assert ovn.deleted == []
    assert (done["failed"], done["state"]) == (False, "evacuated")
    ((_name, why),) = left(life)
    assert "503" in why


@pytest.mark.parametrize("gateway", [False, True])
def test_a_gateway_chassis_that_no_router_uses_is_removed(life, ovn, gateway):
    life.agents = [agent(kind="OVN Controller Gateway agent" if gateway else "OVN Controller agent")]
    life.run(**SURE)
    assert ovn.deleted == [DEAD.name]


@pytest.mark.parametrize("who", ["controller", "metadata"])
def test_an_agent_that_stays_alive_keeps_it(life, ovn, who):
    life.agents = [agent(alive=who == "controller"), agent("metadata", "OVN Metadata agent", who == "metadata")]
    before = life.now
    assert_stays(life, ovn, life.run(death_timeout=60, **SURE), "agent-alive")
    assert life.now - before < 600, "it does not wait for ever"


def test_neutron_shows_a_dead_agent_as_alive_for_a_while(life, ovn):
    life.agents = [agent(alive=True)]
    waits = []

    def answer(need):
        if need["kind"] == "wait" and need["seconds"] == LOOK:
            waits.append(need)
            if len(waits) == 3:
                life.agents = [agent()]

    life.answer = answer
    life.run(**SURE)
    assert (ovn.deleted, len(waits)) == ([DEAD.name], 3)


def test_a_machine_that_comes_up_in_the_last_moment_keeps_it(life, ovn, monkeypatch):
    """Its agent is asked for once more, at once, before anything is deleted."""
    monkeypatch.setattr(network, "agents_now", lambda _cloud, _host: [agent(alive=True)])
    assert_stays(life, ovn, life.run(**SURE), "agent-alive")


def test_a_chassis_that_has_another_name_in_the_last_moment_is_not_removed(life, ovn):
    """The machine was replaced: another one has the host's name, and died."""
    new = chassis(9, "compute1")
    looked = []

    def replaced():
        looked.append(True)
        if len(looked) == 2:
            ovn.change(chassis=[new, OTHER])
            life.agents = [agent(new.name)]

    ovn.on_look = replaced
    assert_stays(life, ovn, life.run(**SURE), "renewed", DEAD.name)


# --- 4. Nova --------------------------------------------------------------------------------------------------


def test_a_service_that_is_no_longer_forced_down_keeps_it(life, ovn):
    def freed():
        life.service = dataclasses.replace(life.service, forced_down=False)

    ovn.on_look = freed
    assert_stays(life, ovn, life.run(**SURE), "not-forced-down")


def test_a_service_that_is_gone_keeps_it(life, ovn, monkeypatch):
    looked = []
    ovn.on_look = lambda: looked.append(True)
    monkeypatch.setattr(compute_services, "find_service", lambda _cloud, _host: None if looked else life.service)
    assert_stays(life, ovn, life.run(**SURE), "no-service", "compute1")


def test_a_server_that_is_still_on_the_host_keeps_it(life, ovn):
    """Only some were chosen."""
    done = life.run(servers=[ONE], **SURE)
    assert (ovn.deleted, done["state"]) == ([], "evacuated")
    ((_name, why),) = left(life)
    assert "compute1" in why and "guest2" in why


def test_a_server_that_comes_meanwhile_keeps_it(life, ovn, monkeypatch):
    there = server_records.servers_on

    def later(cloud, host):
        found = there(cloud, host)
        return [life.scene.cloud.rows("servers")[0]] if looked else found

    looked = []
    ovn.on_look = lambda: looked.append(True)
    monkeypatch.setattr(server_records, "servers_on", later)
    assert_stays(life, ovn, life.run(**SURE), "servers", "compute1")


def test_a_server_that_stays_behind_keeps_it(life, ovn):
    """It failed on every host: the operation ends, and says which server stays."""
    life.nova.ends = {TWO: "failed"}
    done = life.run(partial=True, **SURE)
    assert (done["failed"], done["state"], list(done["left"]), ovn.deleted) == (True, "evacuated", [TWO], [])
    ((_name, why),) = left(life)
    assert "has not verified that each server of compute1" in why


def test_an_evacuation_that_did_not_end_well_removes_none(life, ovn):
    life.stuck = {TWO}
    done = life.run(max_rounds=1, server_timeout=30, **SURE)
    assert (done["failed"], done["state"], ovn.deleted) == (True, "open", [])


# --- the deletion ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [403, 409])
def test_what_neutron_refuses_is_not_removed(life, ovn, status):
    ovn.fails, ovn.deletes = ApiError(f"DELETE: {status}: no", status=status), False
    done = life.run(**SURE)
    assert (done["failed"], done["state"], done["removed_chassis"]) == (False, "evacuated", None)
    ((name, why),) = left(life)
    assert name == DEAD.name and f"{status}: no" in why


@pytest.mark.parametrize("status", [None, 503])
def test_an_answer_that_was_lost_does_not_decide(life, ovn, status):
    """The database does: it is gone."""
    ovn.fails = ApiError("DELETE: no answer", status=status)
    done = life.run(**SURE)
    assert (done["removed_chassis"], left(life)) == (DEAD.name, [])


def test_an_answer_that_was_lost_and_a_chassis_that_stays(life, ovn):
    ovn.fails, ovn.deletes = ApiError("DELETE: 503: no answer", status=503), False
    before = life.now
    done = life.run(**SURE)
    ((_name, why),) = left(life)
    assert "503: no answer" in why and "still in the southbound database" in why
    assert done["removed_chassis"] is None and life.now - before < 300


def test_it_waits_until_a_deleted_chassis_is_gone(life, ovn):
    ovn.deletes = False
    ovn.after = [lambda: None, lambda: None, ovn.gone]
    done = life.run(**SURE)
    assert (done["removed_chassis"], left(life)) == (DEAD.name, [])


def test_a_deletion_that_changes_nothing_is_no_removal(life, ovn):
    ovn.deletes = False
    done = life.run(**SURE)
    assert (done["failed"], done["removed_chassis"], ovn.deleted) == (False, None, [DEAD.name])
    ((_name, why),) = left(life)
    assert "still in the southbound database" in why


def test_a_chassis_that_is_made_again_at_once_is_no_removal(life, ovn):
    """Of the same name, by another row: its ovn-controller lives."""
    made = dataclasses.replace(DEAD, uuid="another row")
    ovn.after = [lambda: ovn.change(chassis=[made, OTHER])] * 99
    done = life.run(**SURE)
    assert done["removed_chassis"] is None
    ((_name, why),) = left(life)
    assert "a new chassis" in why and "the machine of the removed chassis is powered on" in why


def test_a_chassis_that_is_there_again_at_the_end_is_no_removal(life, ovn):
    ovn.after = [lambda: None, lambda: ovn.change(chassis=[DEAD, OTHER])]
    done = life.run(**SURE)
    assert done["removed_chassis"] is None
    ((name, why),) = left(life)
    assert name == DEAD.name and "compute1" in why and DEAD.name in why
    assert life.closed()[0]["memory"]["chassis_kept"] == "appeared"
    assert life.closed()[0]["steps"]["remove_chassis"] == "pending"


def test_a_database_that_is_silent_after_the_deletion_proves_no_removal(life, ovn):
    ovn.after = [lambda: ovn.change(chassis=None, unread=[UNREAD])] * 99
    done = life.run(**SURE)
    assert (done["failed"], done["removed_chassis"]) == (False, None)
    assert any("connection refused" in reason for reason in unchecked(life))


# --- killed and resumed ---------------------------------------------------------------------------------------


class KilledError(Exception):
    """The run ends here, and leaves what it has done."""


def killed(*_arguments):
    raise KilledError


def test_a_run_that_is_killed_before_the_removal_is_ended_by_the_next(life, ovn):
    """While the fence was read for it: nothing was deleted. The next run reads the fence again, and removes it."""
    looked = []
    ovn.on_look = lambda: looked.append(True)
    life.answer = lambda _need: killed() if looked else None
    with pytest.raises(KilledError):
        life.run(**SURE)
    assert (ovn.deleted, life.open()["memory"]["chassis"]) == ([], DEAD.name)
    assert life.open()["steps"]["remove_chassis"] == "applying"
    life.answer = lambda _need: None
    done = life.run(**SURE)
    assert (done["failed"], done["removed_chassis"], ovn.deleted) == (False, DEAD.name, [DEAD.name])
    assert life.open() is None


@pytest.mark.parametrize("option", [True, False])
def test_a_run_that_is_killed_after_the_deletion_is_ended_by_the_next(life, ovn, monkeypatch, option):
    """Agent and chassis are gone already: done, and the journal says which it was."""

    def deletes(connection, identity):
        ovn.delete(connection, identity)
        killed()

    monkeypatch.setattr(network, "delete_agent", deletes)
    with pytest.raises(KilledError):
        life.run(**SURE)
    monkeypatch.setattr(network, "delete_agent", ovn.delete)
    done = life.run(**{**SURE, "remove_chassis": option})
    assert (done["failed"], done["state"], ovn.deleted) == (False, "evacuated", [DEAD.name])
    assert (done["removed_chassis"], left(life), life.open()) == (DEAD.name if option else None, [], None)


def test_a_resume_finds_the_machine_on_and_removes_nothing(life, ovn, monkeypatch):
    monkeypatch.setattr(network, "delete_agent", killed)
    with pytest.raises(KilledError):
        life.run(**SURE)
    monkeypatch.setattr(network, "delete_agent", ovn.delete)
    life.power = "On"
    done = life.run(**SURE)
    assert (done["failed"], done["state"], ovn.deleted) == (True, "open", [])


@pytest.mark.parametrize("phase", ["chassis", "remove"])
def test_a_run_that_something_ends_there_is_no_success_and_the_next_one_ends_it(life, ovn, phase):
    """A task of the role failed while it waited, or while the fence was read."""
    life.agents = [agent(alive=phase == "chassis")]
    looked = []
    ovn.on_look = lambda: looked.append(True)
    life.answer = lambda need: killed() if looked and need["kind"] == "wait" else None
    with pytest.raises(KilledError):
        life.run(pid=77, **SURE)
    life.answer = lambda _need: None
    done = life.end(pid=77, **SURE)
    assert (done["failed"], done["state"], ovn.deleted) == (True, "open", [])
    assert life.report()["verdict"] == "block"
    life.agents = [agent()]
    done = life.run(**SURE)
    assert (done["failed"], done["removed_chassis"]) == (False, DEAD.name)


def test_an_abort_never_removes_it(life, ovn, monkeypatch):
    monkeypatch.setattr(network, "delete_agent", killed)
    with pytest.raises(KilledError):
        life.run(**SURE)
    monkeypatch.setattr(network, "delete_agent", ovn.delete)
    done = life.run(action="abort", **SURE)
    assert (done["failed"], done["state"], ovn.deleted) == (False, "aborted", [])


def test_a_journal_without_the_step_is_resumed_with_the_option(life, ovn):
    """It was begun without it, or by a version that did not have it."""
    assert life.run(dies_at=4) is None
    done = life.run(**SURE)
    assert (done["failed"], done["removed_chassis"], ovn.deleted) == (False, DEAD.name, [DEAD.name])


# --- check mode and the approved plan -------------------------------------------------------------------------


def plan_of(life, **given):
    done = life.run(check=True, **given)
    assert not done["failed"]
    return done["plan_sha256"], json.loads((life.reports / "plan.json").read_text())


def test_check_mode_shows_the_removal_and_changes_nothing(life, ovn):
    _value, plan = plan_of(life, **SURE)
    assert [step["name"] for step in plan["plan"]["steps"]][-1] == "remove_chassis"
    assert plan["decided"]["request"]["remove_chassis"] is True
    assert any("remove the OVN chassis of compute1" in text for text in life.said)
    assert (ovn.deleted, life.done) == ([], [])


def test_the_option_is_part_of_what_is_approved(life, ovn):
    with_it, _plan = plan_of(life, **SURE)
    without, plan = plan_of(life)
    assert with_it != without
    # A plan that was approved before the option came is still the same.
    assert "remove_chassis" not in plan["decided"]["request"]
    for approved, given in ((with_it, {}), (without, SURE)):
        done = life.run(expect_plan=approved, **given)
        assert (done["state"], life.done) == ("refused", [])
    assert not life.run(expect_plan=with_it, **SURE)["failed"]
    assert ovn.deleted == [DEAD.name]


@pytest.mark.parametrize("begun", [True, False])
def test_a_resume_by_an_approved_plan_keeps_the_option(life, ovn, begun):
    approved, _plan = plan_of(life, **(SURE if begun else {}))
    life.run(dies_at=4, expect_plan=approved, **(SURE if begun else {}))
    done = life.run(expect_plan=approved, **({} if begun else SURE))
    assert (done["state"], ovn.deleted) == ("refused", [])
    assert "remove_chassis" in done["msg"]
