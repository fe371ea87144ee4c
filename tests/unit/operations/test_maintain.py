# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of one host against a Nova of a few lines, and a role of a few lines that does what it is asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import types
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle, server_run
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.maintain import operation as maintenance
from ansible_collections.stackguard.nova.plugins.module_utils.maintain import steps, verify
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    Checked,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit.builders import guest, service
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Killed, Life
from ansible_collections.stackguard.nova.tests.unit.operations.test_move_servers import NEAR, ONE, TWO, ZONES, Cloud

OPTIONS = {
    "hosts": ["compute1"],
    "only_enable": False,
    "evidence_dir": "/nowhere",
    "tasks": None,
    "command": "true",
    "reboot": False,
    "back_timeout": 600,
    "serial": 1,
    "keep_free": 1,
    "refill": "none",
    "test_server": None,
    "noout": False,
    "cold": "stopped",
    "max_parallel": 8,
    "max_parallel_per_source": 2,
    "max_parallel_per_destination": 2,
    "memory_headroom_mb": 512,
    "guest_overhead_mb": 128,
    "overcommit": 1.0,
    "measured_for": 300,
    "move_timeout": 600,
    "again": False,
    "answers": [],
    "probes": [],
    "take_over": False,
    "nova_api_db_url": None,
    "action": "apply",
}
HELD = "stackguard:maintain:op1"
L2 = "Open vSwitch agent"


class Maintained(Cloud):
    """compute1 with two servers; the role's tasks are done here."""

    def __init__(self, monkeypatch, **statuses):
        super().__init__(monkeypatch, **statuses)
        self.beat = 0
        self.unproven = Checked()
        self.work = {"failed": False}
        self.worked, self.asked = 0, []
        self.kill_at = None
        self.osds, self.noouts, self.broken = {}, [], set()
        patch = monkeypatch.setattr
        patch(maintenance.evidence, "load_dir", lambda *_given: self.scene.cloud.bundle)
        patch(maintenance.cloud_facts, "read_cloud", lambda *_given: types.SimpleNamespace(catalog=[]))
        patch(maintenance.compute_services, "list_services", lambda _cloud: [self.shown()])
        patch(maintenance.hypervisors, "find_node", lambda _cloud, _host: types.SimpleNamespace(id="n1"))
        self.agent_dead, self.beats = False, 0
        patch(steps.network, "agents_now", lambda _cloud, host: [self.agent(host)])
        patch(verify, "state_before", lambda _bundle, request: {"host": request.host, "agents": [L2]})
        patch(verify, "unproven", self.judge)

    def shown(self):
        self.beat += 1
        found = facts.ApiService(
            service(1), "compute1", "nova-compute", "up", forced_down=False, zone="az1", **self.service
        )
        return dataclasses.replace(found, updated_at=str(self.beat))

    def agent(self, host):
        """The host's agent, which reports itself from one look to the next, or is dead and still shown as alive."""
        self.beats += not self.agent_dead
        (known,) = [row for row in self.scene.cloud.bundle.cloud.agents if row.host == host]
        return dataclasses.replace(known, heartbeat_timestamp=f"{known.heartbeat_timestamp}{'+' * self.beats}")

    def judge(self, bundle, request):
        self.asked.append(request)
        self.reported = [verify.has_reported(row, request.heard) for row in bundle.cloud.agents]
        return self.unproven

    def answer(self, need):
        if need["kind"] == "noout":
            return self.mark(need)
        if need["kind"] == "work":
            self.worked += 1
            return {"kind": "work", "hosts": need["hosts"], "results": dict.fromkeys(need["hosts"], self.work)}
        return {"kind": need["kind"], "hosts": need.get("hosts")}

    def mark(self, need):
        """What the module does on a host that reaches the cluster: the first that is asked does not."""
        self.noouts.append((need["act"], list(need["osds"])))
        answer = {"kind": f"noout_{need['act']}", "hosts": need["hosts"], "tried": [*need["tried"], "x"], "more": True}
        if not need["tried"]:
            return {**answer, "result": {"failed": True, "reached": False, "msg": "no route"}}
        if need["act"] in self.broken:
            return {**answer, "result": {"failed": True, "reached": True, "msg": "access denied"}}
        for osd in self.osds.values():
            if osd["id"] in need["osds"] and need["act"] == "present" and not osd["noout"]:
                osd["noout"] = [facts.NOOUT_ITSELF]
            elif osd["id"] in need["osds"] and need["act"] == "absent":
                osd["noout"] = [word for word in osd["noout"] if word != facts.NOOUT_ITSELF]
        return {**answer, "result": {"reached": True, "osds": [self.osds[number] for number in need["osds"]]}}

    def carrying(self, *numbers, **noout):
        """compute1 with OSDs; of these numbers with noout by something."""
        self.osds = {number: {"id": number, "up": True, "noout": noout.get(f"osd{number}", [])} for number in numbers}
        found = [facts.CephOsd(number, "compute1", ["compute1"], [], True) for number in numbers]
        rbd = facts.RbdFacts("library", "f", "vms", [], [], None, osds=found)
        rbd = dataclasses.replace(rbd, noout_rights=facts.CephRights(True, True))
        self.scene = self.scene._with(cloud=self.scene.cloud.host("compute1", rbd=rbd))
        return self

    def one(self, state, **options):
        data = types.SimpleNamespace(max_microversion=(2, 104))
        connection = types.SimpleNamespace(compute=types.SimpleNamespace(get_endpoint_data=lambda: data))
        systems = Systems({}, None, {}, options.pop("sleep", self.sleep), lambda: self.now, _connection=connection)
        check_mode, mine, said = options.pop("check_mode", False), options.pop("mine", None), options.pop("said", None)
        options = {**OPTIONS, **options}
        given = life(state, options, "enable_" if options["only_enable"] else "maintain_", said, mine, check_mode)
        return maintenance.carry_out(server_run.ServerRun(**given, systems=systems, operation_id="op1"))

    def play(self, state, **options):
        """What the role does: it calls until nothing more is needed."""
        answers, again = [{"kind": "read_hosts"}, {"kind": "read_cloud", "hosts": ["compute1"]}], False
        for number in range(40):
            result = self.one(state, **options, answers=answers, again=again)
            if not result.get("again"):
                return result
            if self.kill_at == number:
                raise Killed
            answers, again = [self.answer(need) for need in result["needs"]], True
        raise AssertionError(result)


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


@pytest.fixture
def nova(monkeypatch):
    return Maintained(monkeypatch)


def test_a_host_is_emptied_worked_on_proven_and_enabled(nova, state):
    result = nova.play(state)
    assert (result["state"], result["again"]) == ("finished", False)
    assert set(nova.hosts.values()) <= NEAR
    assert nova.service == {"status": "enabled", "disabled_reason": None}
    assert nova.calls[0] == ("service", "disabled", HELD)
    assert nova.worked == 1
    assert result["hosts"] == {"compute1": {"state": "done", "step": None, "moved": 2}}
    (asked,) = nova.asked
    assert (asked.host, asked.held_as, asked.before) == ("compute1", HELD, {"host": "compute1", "agents": [L2]})
    assert not state.open


def test_check_mode_shows_the_series_and_changes_nothing(nova, state):
    said = []
    result = nova.one(state, check_mode=True, said=said)
    assert result["state"] == "planned"
    assert nova.calls == [] and nova.worked == 0 and not state.open
    actions = [step["action"] for step in result["plan"]["steps"]]
    assert actions == ["room", "hold_host", "drain", "work", "prove", "enable"]


def test_a_host_that_is_not_proven_stays_disabled_and_the_series_stops(nova, state):
    nova.unproven = Checked((finding("SG101", Subject("host", "compute1"), {}, "look"),))
    result = nova.play(state)
    assert result["failed"] and result["state"] == "open"
    assert {item["code"] for item in result["report"]["findings"]} == {"SG101"}
    assert nova.service == {"status": "disabled", "disabled_reason": HELD}
    nova.unproven = Checked()
    assert nova.play(state)["state"] == "finished"
    assert nova.service["status"] == "enabled"
    assert nova.worked == 1, "the work is done once"


def test_what_was_not_read_proves_nothing(nova, state):
    nova.unproven = Checked((), (Unchecked("SG113", "compute1", "it was not read"),))
    assert nova.play(state)["failed"]
    assert nova.service == {"status": "disabled", "disabled_reason": HELD}


@pytest.mark.parametrize("options", [{}, {"only_enable": True}], ids=["a series", "enable_host"])
def test_an_agent_must_report_itself_after_the_work(nova, state, options):
    """Neutron shows one that has died as alive for a minute: the heartbeat of the first look proves nothing."""
    nova.play(state, **options)
    assert nova.reported == [True]


@pytest.mark.parametrize("options", [{}, {"only_enable": True}], ids=["a series", "enable_host"])
def test_an_agent_that_is_silent_after_the_work_has_not_reported_itself(nova, state, options):
    nova.agent_dead = True
    begun = nova.now
    nova.play(state, **options)
    assert nova.reported == [False] and nova.now - begun >= steps.HEARD


def test_links_are_not_needed_where_no_database_is_given(nova, state):
    nova.unproven = Checked((), (Unchecked("SG211", "compute1", "no database was given"),))
    assert nova.play(state)["state"] == "finished"
    nova.unproven = Checked((), (Unchecked("SG211", "compute1", "the database does not answer"),))
    other = Maintained.play(nova, state, nova_api_db_url="mysql+pymysql://nova")
    assert other["failed"]


def test_work_that_fails_stops_the_series_and_is_done_again(nova, state):
    nova.work = {"failed": True, "msg": "no route to host"}
    result = nova.play(state)
    assert result["failed"] and result["state"] == "open"
    assert nova.service == {"status": "disabled", "disabled_reason": HELD}
    nova.work = {"failed": False}
    assert nova.play(state)["state"] == "finished"
    assert nova.worked == 2


@pytest.mark.parametrize("number", range(6))
def test_killed_between_any_two_calls_the_same_command_goes_on(monkeypatch, state, number):
    nova = Maintained(monkeypatch)
    nova.kill_at = number
    try:
        nova.play(state)
    except Killed:
        assert nova.service["status"] == "disabled" or not nova.calls
    nova.kill_at = None
    if state.open:
        assert nova.play(state)["state"] == "finished"
    assert nova.service == {"status": "enabled", "disabled_reason": None}
    assert set(nova.hosts.values()) <= NEAR


def test_aborted_before_its_work_the_host_gets_its_status_back(nova, state):
    nova.refuse = {"compute3", "compute5"}
    assert nova.play(state)["failed"]
    assert nova.service == {"status": "disabled", "disabled_reason": HELD}
    assert nova.worked == 0
    result = nova.play(state, action="abort")
    assert (result["state"], result.get("failed", False)) == ("rolled-back", False)
    assert nova.service["status"] == "enabled"
    assert not state.open


def test_aborted_after_its_work_the_host_stays_disabled(nova, state):
    nova.unproven = Checked((finding("SG101", Subject("host", "compute1"), {}, "look"),))
    nova.play(state)
    nova.play(state, action="abort")
    assert nova.service["status"] == "disabled"
    assert not nova.service["disabled_reason"].startswith("stackguard:"), "no lock of an operation that has ended"
    assert not state.open


def test_a_server_that_came_during_the_work_is_no_reason_to_work_on_a_full_host(nova, state, monkeypatch):
    monkeypatch.setattr(steps.server_records, "servers_on", lambda _cloud, _host: nova.rows()[:1])
    monkeypatch.setattr(steps.EmptyHost, "apply", lambda *_given: steps.Done("said to be empty"))
    assert nova.play(state)["failed"]
    assert nova.worked == 0


def test_a_host_that_was_disabled_for_another_reason_stays_so(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "a fan is broken"}
    assert nova.play(state)["state"] == "finished"
    assert nova.service == {"status": "disabled", "disabled_reason": "a fan is broken"}


def test_a_host_that_was_drained_is_enabled(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "drained (stackguard operation op0)"}
    assert nova.play(state)["state"] == "finished"
    assert nova.service["status"] == "enabled"


def test_its_servers_come_back_where_that_is_asked_for(nova, state):
    assert nova.play(state, refill="same")["state"] == "finished"
    assert set(nova.hosts.values()) == {"compute1"}


def test_beside_an_open_drain_no_series_begins(nova, state):
    journal = {
        "schema": journals.SCHEMA,
        "kind": "migrate",
        "operation_id": "op9",
        "subject": "compute3",
        "state": "open",
        "started_at": "t",
        "updated_at": "t",
        "about": {},
        "run": dict(OTHER),
        "plan": {"kind": "migrate", "operation_id": "op9", "subject": "compute3", "steps": [], "notes": []},
        "steps": {},
        "history": [],
    }
    os.makedirs(state.directory)
    journals.write(state.directory, journal)
    with pytest.raises(lifecycle.Refused, match="SG706"):
        nova.one(state)
    assert nova.calls == []


def test_other_hosts_do_not_carry_on_with_it(nova, state):
    nova.kill_at = 1
    with pytest.raises(Killed):
        nova.play(state)
    with pytest.raises(lifecycle.Refused, match="SG706"):
        nova.one(state, hosts=["compute3"])


def test_an_unknown_host_is_refused(nova, state):
    with pytest.raises(lifecycle.Refused):
        nova.one(state, hosts=["compute1", "compute77"])
    assert nova.calls == []


def test_a_host_named_twice_is_refused(nova, state):
    with pytest.raises(lifecycle.Refused):
        nova.one(state, hosts=["compute1", "compute1"])


# --- a server that tries the host -----------------------------------------------------------------------------

TEST = {"image": "cirros", "flavor": "tiny", "network": "net0"}
UUID = guest(9, 9)


class Trials:
    """Servers of the collection's own, as Nova has them. ``start``: how one ends that is started."""

    start = "ACTIVE"

    def __init__(self, nova):
        self.nova = nova

    def find(self, name):
        return next((row for row in self.nova.servers.values() if row["name"] == name), None)

    def create(self, name, host, _test):
        self.nova.servers[UUID] = {
            "id": UUID,
            "name": name,
            "status": self.start,
            "OS-EXT-SRV-ATTR:host": host,
            "OS-EXT-STS:task_state": None,
        }
        return UUID

    def delete(self, uuid):
        self.nova.servers.pop(uuid, None)


@pytest.fixture
def trials(nova, monkeypatch):
    made = Trials(nova)
    known = nova.scene._about
    offers = {**known.offers, UUID: next(iter(known.offers.values()))}
    nova.scene = nova.scene.about(numa={**known.numa, UUID: []}, offers=offers).pinned(UUID, None)
    monkeypatch.setattr(steps.trial_servers, "TrialServers", lambda _cloud, _project: made)
    monkeypatch.setattr(steps.compute_services, "zone_of_host", lambda _cloud, host: ZONES[host])
    return made


def test_a_server_of_our_own_starts_on_the_host_moves_away_and_is_gone(nova, state, trials):
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    result = nova.play(state, only_enable=True, test_server=TEST)
    assert result["state"] == "finished", result["msg"]
    assert ("live", UUID) in nova.moves
    assert UUID not in nova.servers
    assert nova.service["status"] == "enabled"


def test_a_host_on_which_no_server_starts_is_disabled_again_and_tried_once_more(nova, state, trials):
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    trials.start = "ERROR"
    result = nova.play(state, only_enable=True, test_server=TEST)
    assert result["failed"] and result["state"] == "open"
    assert nova.service == {"status": "disabled", "disabled_reason": "maintenance"}
    assert UUID not in nova.servers
    trials.start = "ACTIVE"
    assert nova.play(state, only_enable=True, test_server=TEST)["state"] == "finished"
    assert nova.service["status"] == "enabled"


def test_a_host_off_which_no_server_moves_is_disabled_again(nova, state, trials):
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    nova.refuse = {"compute3", "compute5"}
    assert nova.play(state, only_enable=True, test_server=TEST)["failed"]
    assert nova.service == {"status": "disabled", "disabled_reason": "maintenance"}
    assert nova.play(state, only_enable=True, action="abort")["state"] == "rolled-back"
    assert UUID not in nova.servers, "an end leaves nothing of it"


# --- the enabling of one host ---------------------------------------------------------------------------------


def test_a_drained_host_is_proven_and_enabled(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "drained (stackguard operation op0)"}
    result = nova.play(state, only_enable=True)
    assert result["state"] == "finished"
    assert nova.service == {"status": "enabled", "disabled_reason": None}


def test_not_proven_it_is_refused_and_nothing_is_changed(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    nova.unproven = Checked((finding("SG101", Subject("host", "compute1"), {}, "look"),))
    with pytest.raises(lifecycle.Refused) as refused:
        nova.one(state, only_enable=True)
    assert {item["code"] for item in refused.value.data["report"]["findings"]} == {"SG101"}
    assert nova.calls == [] and not state.open


def test_not_read_it_is_refused(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    nova.unproven = Checked((), (Unchecked("SG113", "compute1", "not read"),))
    with pytest.raises(lifecycle.Refused):
        nova.one(state, only_enable=True)
    assert nova.calls == []


def test_enabled_already_there_is_nothing_to_do(nova, state):
    result = nova.one(state, only_enable=True)
    assert (result["state"], result["changed"]) == ("none", False)


@pytest.mark.parametrize("options", [{}, {"only_enable": True}], ids=["a series", "enable_host"])
def test_proven_and_killed_before_it_is_enabled_it_is_proven_again(nova, state, monkeypatch, options):
    """A proof is good for the run that made it: the host may have died since."""
    if options:
        nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    real = maintenance.compute_services.set_service_status

    def set_status(_cloud, _service, status, *given):
        if status == "enabled":
            raise Killed
        real(_cloud, _service, status, *given)

    monkeypatch.setattr(maintenance.compute_services, "set_service_status", set_status)
    with pytest.raises(Killed):
        nova.play(state, **options)
    assert len(nova.asked) == 1 and state.open
    monkeypatch.setattr(maintenance.compute_services, "set_service_status", real)
    proven, nova.unproven = nova.unproven, Checked((finding("SG101", Subject("host", "compute1"), {}, "look"),))
    try:
        assert nova.play(state, **options)["failed"]
    except lifecycle.Refused as refused:
        assert options, refused
    assert nova.service["status"] == "disabled" and len(nova.asked) == 2 and state.open
    nova.unproven = proven
    assert nova.play(state, **options)["state"] == "finished"
    assert nova.service == {"status": "enabled", "disabled_reason": None}


@pytest.mark.parametrize("options", [{}, {"only_enable": True}], ids=["a series", "enable_host"])
def test_killed_in_the_middle_of_its_enabling_it_takes_no_servers_until_it_is_proven_again(
    nova, state, monkeypatch, options
):
    """Nova shows it as enabled, and it has died since."""
    if options:
        nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    real = maintenance.compute_services.set_service_status

    def set_status(_cloud, _service, status, *given):
        real(_cloud, _service, status, *given)
        if status == "enabled":
            raise Killed

    monkeypatch.setattr(maintenance.compute_services, "set_service_status", set_status)
    with pytest.raises(Killed):
        nova.play(state, **options)
    assert nova.service["status"] == "enabled" and state.open
    monkeypatch.setattr(maintenance.compute_services, "set_service_status", real)
    nova.unproven = Checked((finding("SG101", Subject("host", "compute1"), {}, "look"),))
    try:
        assert nova.play(state, **options)["failed"]
    except lifecycle.Refused as refused:
        assert options, refused
    assert nova.service["status"] == "disabled" and state.open


def test_an_agent_that_neutron_shows_no_more_is_not_none(nova, state, monkeypatch):
    """With OVN, the record goes with a chassis that is stopped."""
    nova.service = {"status": "disabled", "disabled_reason": "maintenance"}
    monkeypatch.setattr(steps.network, "agents_now", lambda _cloud, _host: [])
    nova.play(state, only_enable=True)
    assert nova.reported == [False]


# --- the rules that every operation lives by ------------------------------------------------------------------


class Maintain(Life):
    """The host is empty, and the work begins."""

    back = "abort"
    options: t.ClassVar = {}

    def begin_world(self, tmp_path, monkeypatch):
        self.nova = Maintained(monkeypatch)

    def cut(self):
        self.nova.kill_at = 1
        with pytest.raises(Killed):
            self.nova.play(self.state, mine=OTHER, **self.options)
        self.nova.kill_at = None

    def act(self, action):
        return self.nova.play(self.state, action=action, mine=OTHER, **self.options)

    def world(self):
        return [self.nova.servers, self.nova.service, self.nova.calls, self.nova.worked]


class Enable(Maintain):
    """It is enabled, and Nova has not shown yet that it takes servers."""

    options: t.ClassVar = {"only_enable": True}

    def begin_world(self, tmp_path, monkeypatch):
        super().begin_world(tmp_path, monkeypatch)
        self.patch = monkeypatch
        self.nova.service = {"status": "disabled", "disabled_reason": "maintenance"}

    def cut(self):
        def dies(_seconds):
            raise Killed

        real, self.waits = self.nova.set_status, True

        def set_status(*given):
            real(*given)
            if self.waits:
                raise Killed

        self.patch.setattr(maintenance.compute_services, "set_service_status", set_status)
        with pytest.raises(Killed):
            self.nova.one(self.state, mine=OTHER, sleep=dies, **self.options)
        self.waits = False


LIVES = {"maintain": Maintain, "enable": Enable}


def test_a_second_run_beside_a_living_one_is_refused(nova, state):
    nova.kill_at = 1
    with pytest.raises(Killed):
        nova.play(state)
    nova.kill_at = None
    with pytest.raises(StackguardError, match="SG707"):
        nova.one(state, mine={**OTHER, "controller": "elsewhere"})


def test_both_servers_of_the_tests_are_there(nova):
    assert set(nova.hosts) == {ONE, TWO}


def test_a_run_that_resumes_does_the_work_that_it_names(nova, state):
    nova.work = {"failed": True, "msg": "no such command"}
    nova.play(state, command="/usr/bin/wrnog")
    nova.work, needs = {"failed": False}, []
    real = nova.answer
    nova.answer = lambda need: (needs.append(need), real(need))[1]
    assert nova.play(state, command=None, reboot=True)["state"] == "finished"
    (work,) = [need for need in needs if need["kind"] == "work"]
    assert (work["command"], work["reboot"]) == ("", True)
    assert nova.asked[-1].rebooted, "another boot must be seen"


# --- noout ----------------------------------------------------------------------------------------------------


def noout(nova):
    return {number: osd["noout"] for number, osd in nova.osds.items()}


def acts(nova):
    return list(dict.fromkeys(act for act, _numbers in nova.noouts))


def test_noout_is_set_for_the_work_and_removed_after_it(nova, state, monkeypatch):
    nova.carrying(3, 4)
    during = []
    monkeypatch.setattr(steps.WorkOnHosts, "_require_empty", lambda *_given: during.append(noout(nova)))
    result = nova.play(state, noout=True)
    assert result["state"] == "finished"
    assert during == [{3: ["itself"], 4: ["itself"]}]
    assert noout(nova) == {3: [], 4: []}
    assert acts(nova) == ["listed", "present", "up", "absent"]
    told = result["hosts"]["compute1"]["noout"]
    assert told["osds"] == [3, 4]
    assert set(told) == {"osds", "by", "at", "removed_at"} and all(told.values())
    assert [tuple(request.osds) for request in nova.asked] == [(3, 4)]


def test_what_was_set_before_by_somebody_else_stays(nova, state):
    nova.carrying(3, 4, 5, osd4=["itself"], osd5=["the cluster"])
    assert nova.play(state, noout=True)["hosts"]["compute1"]["noout"]["osds"] == [3]
    assert noout(nova) == {3: [], 4: ["itself"], 5: ["the cluster"]}
    assert ("present", [3]) in nova.noouts and ("absent", [3]) in nova.noouts


def test_without_the_option_ceph_is_left_alone(nova, state):
    nova.carrying(3)
    result = nova.play(state)
    assert (result["state"], nova.noouts) == ("finished", [])
    assert "noout" not in result["hosts"]["compute1"]


def test_a_host_without_osds_is_maintained_all_the_same(nova, state):
    assert nova.carrying().play(state, noout=True)["state"] == "finished"
    assert nova.noouts == []


def test_a_host_whose_osds_cannot_be_told_is_refused_before_anything(nova, state):
    with pytest.raises(lifecycle.Refused) as refused:
        nova.play(state, noout=True)
    assert {item["code"] for item in refused.value.data["report"]["findings"] if item["severity"] == "blocker"} == {
        "SG719"
    }
    assert nova.calls == [] and not state.open


@pytest.mark.parametrize("number", range(12))
def test_killed_at_any_call_its_own_noout_is_known_and_nobody_elses(monkeypatch, state, number):
    nova = Maintained(monkeypatch).carrying(3, 4, osd4=["itself"])
    nova.kill_at = number
    with contextlib.suppress(Killed):
        nova.play(state, noout=True)
    nova.kill_at = None
    if state.open:
        # It is the plan that says so: the option may be left out.
        assert nova.play(state)["state"] == "finished"
        assert noout(nova) == {3: [], 4: ["itself"]}


def test_killed_between_set_and_noted_it_is_removed_all_the_same(nova, state, monkeypatch):
    """The intent is in the journal before the act."""
    nova.carrying(3)
    mark = nova.mark

    def killed(need):
        answer = mark(need)
        if need["act"] == "present" and need["tried"]:
            raise Killed
        return answer

    monkeypatch.setattr(nova, "mark", killed)
    with pytest.raises(Killed):
        nova.play(state, noout=True)
    assert noout(nova) == {3: ["itself"]}
    monkeypatch.setattr(nova, "mark", mark)
    assert nova.play(state, noout=True)["state"] == "finished"
    assert noout(nova) == {3: []}


def test_an_abort_removes_it(nova, state):
    nova.carrying(3, 4, osd4=["itself"])
    nova.work = {"failed": True, "msg": "a part was missing"}
    assert nova.play(state, noout=True)["failed"]
    assert noout(nova) == {3: ["itself"], 4: ["itself"]}
    result = nova.play(state, action="abort")
    assert (result["state"], noout(nova)) == ("rolled-back", {3: [], 4: ["itself"]})
    assert result["hosts"]["compute1"]["noout"]["removed_at"]
    assert not state.open


def test_an_abort_after_it_was_removed_leaves_what_somebody_has_set_since(nova, state, monkeypatch):
    nova.carrying(3)
    monkeypatch.setattr(steps.ServiceStatus, "apply", failing)
    assert nova.play(state, noout=True)["failed"]
    assert noout(nova) == {3: []}
    nova.osds[3]["noout"] = ["itself"]
    nova.play(state, action="abort")
    assert noout(nova) == {3: ["itself"]}


def failing(*_given):
    raise steps.StepError("the API does not answer")


@pytest.mark.parametrize("act", ["listed", "present", "absent"])
def test_what_ceph_refuses_stops_the_series_with_the_host_disabled(nova, state, act):
    nova.carrying(3).broken.add(act)
    result = nova.play(state, noout=True)
    assert (result["failed"], result["state"]) == (True, "open")
    assert nova.service == {"status": "disabled", "disabled_reason": HELD}
    assert nova.worked == (act == "absent")
    nova.broken.clear()
    assert nova.play(state, noout=True)["state"] == "finished"
    assert noout(nova) == {3: []}


def test_osds_that_are_not_up_in_time_are_judged_by_the_proof(nova, state):
    nova.carrying(3).broken.add("up")
    assert nova.play(state, noout=True)["state"] == "finished", "the wait decides nothing"


def test_a_host_that_has_osds_only_now_stops_the_series(nova, state, monkeypatch):
    nova.carrying()
    nova.kill_at = 1
    with pytest.raises(Killed):
        nova.play(state, noout=True)
    nova.kill_at = None
    nova.carrying(3)
    assert nova.play(state, noout=True)["failed"]
    assert nova.worked == 0


def test_an_open_series_without_noout_takes_none_up(nova, state):
    nova.work = {"failed": True, "msg": "no route to host"}
    assert nova.play(state)["failed"]
    with pytest.raises(lifecycle.Refused):
        nova.play(state, noout=True)


def test_a_check_reads_the_osds_and_plans_their_noout(nova, state):
    nova.carrying(3, 4)
    result = nova.play(state, noout=True, check_mode=True)
    assert result["state"] == "planned"
    (step,) = [step for step in result["plan"]["steps"] if step["action"] == "noout"]
    assert [change["where"] for change in step["changes"]] == ["osd.3 of compute1", "osd.4 of compute1"]
    assert nova.noouts == [] and not state.open
