# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of one host against a Nova of a few lines, and a role of a few lines that does what it is asked for."""

from __future__ import annotations

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
        if need["kind"] == "work":
            self.worked += 1
            return {"kind": "work", "hosts": need["hosts"], "results": dict.fromkeys(need["hosts"], self.work)}
        return {"kind": need["kind"], "hosts": need.get("hosts")}

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
