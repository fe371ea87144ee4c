# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves within a zone and drains from end to end, against a Nova of a few lines: also when killed, strayed, refused."""

from __future__ import annotations

import dataclasses
import types
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import (
    lifecycle,
    run_owner,
    server_run,
    service_status,
)
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    Checked,
    Override,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.moves import mover as migration
from ansible_collections.stackguard.nova.plugins.module_utils.moves import operation as move_servers
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename_actions
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import instance_actions
from ansible_collections.stackguard.nova.tests.unit.builders import guest, service
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.life import OTHER, Life
from ansible_collections.stackguard.nova.tests.unit.moving_nova import FakeNova
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

ONE, TWO = guest(1, 1), guest(1, 2)
ZONES = {f"compute{number}": f"az{2 - number % 2}" for number in range(1, 6)}
NEAR = {"compute3", "compute5"}
OPTIONS = {
    "drain_host": "compute1",
    "servers": None,
    "evidence_dir": "/nowhere",
    "live": True,
    "cold": "stopped",
    "partial": False,
    "enable_after": False,
    "max_parallel": 8,
    "max_parallel_per_source": 2,
    "max_parallel_per_destination": 2,
    "memory_headroom_mb": 512,
    "guest_overhead_mb": 128,
    "overcommit": 1.0,
    "measured_for": 300,
    "again": False,
    "server_timeout": 600,
    "take_over": False,
    "nova_api_db_url": None,
    "action": "apply",
    "restore_state": True,
    "probe": False,
    "probes": [],
    "prefix": "drain",
}


class Killed(BaseException):
    """The run was killed here."""


class Cloud(FakeNova):
    """compute1 with two servers among five hosts; what is read of it follows what moves."""

    def __init__(self, monkeypatch, scene=None, **statuses):
        super().__init__(monkeypatch, "compute1", **{ONE: "ACTIVE", TWO: "ACTIVE", **statuses})
        self.scene = scene or Scene()
        self.service = {"status": "enabled", "disabled_reason": None}
        self.generation, self.reads = 1, 0
        names = {row.id: row.name for row in self.scene.cloud.rows("servers")}
        for uuid, row in self.servers.items():
            row["name"] = names.get(uuid, uuid)
        patch = monkeypatch.setattr
        patch(move_servers.move_evidence, "collect", self.collect)
        patch(move_servers.move_evidence, "candidates", lambda _cloud, _given: self.rows())
        patch(migration.compute_services, "find_service", lambda _cloud, _host: self.shown())
        patch(migration.resource_providers, "provider_consumers", self.consumers)
        patch(migration.server_records, "server_as_listed", self.as_listed)
        patch(migration.compute_services, "zones_of_hosts", lambda _cloud: dict(ZONES))
        patch(rename_actions.compute_services, "set_service_status", self.set_status)
        patch(rename_actions.resource_providers, "get_provider_traits", self.traits)

    def consumers(self, _cloud, _provider):
        return sorted([row["id"] for row in self.servers.values() if row["OS-EXT-SRV-ATTR:host"] == "compute1"])

    def as_listed(self, _cloud, uuid):
        return next((row for row in self.rows() if row.id == uuid), None)

    def shown(self):
        return facts.ApiService(
            service(1), "compute1", "nova-compute", "up", forced_down=False, zone="az1", **self.service
        )

    def set_status(self, _cloud, _id, status, reason, _leaving):
        self.calls.append(("service", status, reason))
        self.service = {"status": status, "disabled_reason": reason}
        self.generation += 1

    def traits(self, _cloud, _provider):
        disabled = self.service["status"] == "disabled"
        traits = [service_status.DISABLED] if disabled else []
        return types.SimpleNamespace(traits=traits, generation=self.generation)

    def rows(self):
        known = {row.id: row for row in self.scene.cloud.rows("servers")}
        return [
            dataclasses.replace(
                known.get(uuid, known[ONE]),
                id=uuid,
                name=row["name"],
                status=row["status"],
                host=row["OS-EXT-SRV-ATTR:host"],
                task_state=row["OS-EXT-STS:task_state"],
            )
            for uuid, row in self.servers.items()
        ]

    def collect(self, _cloud, _directory, sources, wanted, _url):
        self.reads += 1
        rows = [row for row in self.rows() if row.host in sources]
        here = [row.id for row in self.rows() if row.host == "compute1"]
        scene = self.scene.servers(rows).holding("compute1", here)
        # Where a server is, its domain is, and nowhere else: also of one that came since.
        for name, host in scene.cloud.bundle.hosts.items():
            gone = {row.id for row in rows if row.host != name}
            kept = [row for row in host.domains or [] if row.uuid not in gone]
            if host.domains is not None and kept != host.domains:
                scene = scene._with(cloud=scene.cloud.host(name, domains=kept))
        model = self.scene.cloud.bundle.hosts["compute1"].domains[0]
        for host in {row.host for row in rows}:
            domains = scene.cloud.bundle.hosts[host].domains
            new = {row.id for row in rows if row.host == host} - {row.uuid for row in domains or []}
            if domains is not None:
                more = [dataclasses.replace(model, uuid=uuid, name=uuid) for uuid in sorted(new)]
                scene = scene._with(cloud=scene.cloud.host(host, domains=[*domains, *more]))
        if self.service["status"] != "enabled":
            scene = scene.target(1, **self.service).service("compute1", **self.service)
        return scene.evidence(None, wanted and set(wanted), sources) if wanted else scene.evidence(sources[0])

    def run_of(self, state, check_mode=False, mine=None, sleep=None, said=None, **options):
        data = types.SimpleNamespace(max_microversion=(2, 104))
        connection = types.SimpleNamespace(compute=types.SimpleNamespace(get_endpoint_data=lambda: data))
        systems = Systems({}, None, {}, sleep or self.sleep, lambda: self.now, _connection=connection)
        options = {**OPTIONS, **options}
        prefix = f"{options['prefix']}_" if options["prefix"] else ""
        given = life(state, options, prefix, said, mine, check_mode)
        return server_run.ServerRun(**given, systems=systems, operation_id="op1")

    def apply(self, state, **options):
        return move_servers.carry_out(self.run_of(state, **options))

    def rollback(self, state, **options):
        return move_servers.carry_out(self.run_of(state, **{**options, "action": "rollback"}))

    @property
    def hosts(self):
        return {uuid: row["OS-EXT-SRV-ATTR:host"] for uuid, row in self.servers.items()}

    @property
    def moves(self):
        return [call[:2] for call in self.calls if call[0] in ("live", "cold")]


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


@pytest.fixture
def nova(monkeypatch):
    return Cloud(monkeypatch)


# --- drains ---------------------------------------------------------------------------------------------------


def test_a_host_is_emptied_and_stays_disabled(nova, state):
    result = nova.apply(state)
    assert (result["state"], result["again"], result["changed"]) == ("finished", False, True)
    assert set(nova.hosts.values()) <= NEAR
    assert set(nova.service) == {"status", "disabled_reason"}
    assert nova.service["status"] == "disabled" and "op1" in nova.service["disabled_reason"]
    assert nova.calls[0] == ("service", "disabled", "stackguard:drain:op1")
    assert result["moved"] == nova.hosts
    assert not state.open


def test_run_again_it_changes_nothing(nova, state):
    nova.apply(state)
    calls = list(nova.calls)
    result = nova.apply(state)
    assert (result["state"], result["changed"]) == ("none", False)
    assert nova.calls == calls


def test_check_mode_shows_the_plan_and_changes_nothing(nova, state):
    said = []
    result = nova.apply(state, check_mode=True, said=said)
    assert result["state"] == "planned"
    assert nova.calls == []
    assert not state.open
    text = "\n".join(said)
    assert "live migration, zone az1" in text
    assert "MiB of free real memory before this server" in text


def test_enabled_again_only_if_asked_for(nova, state):
    nova.apply(state, enable_after=True)
    assert nova.service == {"status": "enabled", "disabled_reason": None}


def test_what_was_disabled_before_keeps_its_reason(nova, state):
    nova.service = {"status": "disabled", "disabled_reason": "a fan is broken"}
    nova.apply(state, enable_after=True)
    assert nova.service == {"status": "disabled", "disabled_reason": "a fan is broken"}
    assert set(nova.hosts.values()) <= NEAR


def test_a_stopped_server_moves_cold_and_is_confirmed_after_it_was_compared(monkeypatch, state):
    nova = Cloud(monkeypatch, **{TWO: "SHUTOFF"})
    nova.apply(state)
    assert sorted(nova.moves) == sorted([("live", ONE), ("cold", TWO)])
    assert ("confirm", TWO) in nova.calls
    assert set(nova.hosts.values()) <= NEAR


def test_refused_nothing_is_changed(monkeypatch, state):
    nova = Cloud(monkeypatch, **{TWO: "ERROR"})
    with pytest.raises(lifecycle.Refused) as refused:
        nova.apply(state)
    assert [item["code"] for item in refused.value.data["report"]["findings"]] == ["SG711"]
    assert nova.calls == []
    assert not state.open


def test_a_guest_that_goes_off_after_libvirt_was_read_is_not_sent_live(nova, state):
    """libvirt is read once in a round, and a host reboots in between."""
    nova.off = {ONE}
    result = nova.apply(state)
    assert result["failed"]
    assert "SG710 server-not-movable" in str(result["left"][ONE])
    assert (nova.hosts[ONE], nova.moves) == ("compute1", [("live", TWO)])
    # Nova has noticed: the same command moves it cold.
    nova.servers[ONE]["status"] = "SHUTOFF"
    assert nova.apply(state)["state"] == "finished"
    assert ("cold", ONE) in nova.moves


def test_a_guest_whose_nova_compute_does_not_say_that_it_runs_is_not_sent_live(nova, state):
    nova.diagnostics = "500 Internal Server Error"
    result = nova.apply(state)
    assert result["failed"]
    assert "SG710 server-not-movable" in str(result["left"][ONE])
    assert nova.moves == []


def test_where_a_policy_forbids_to_ask_nova_compute_the_measurement_counts(nova, state):
    nova.diagnostics = "403 Forbidden"
    assert nova.apply(state)["state"] == "finished"
    assert sorted(nova.moves) == sorted([("live", ONE), ("live", TWO)])


def test_partial_moves_the_others_and_is_no_success(monkeypatch, state):
    nova = Cloud(monkeypatch, **{TWO: "ERROR"})
    result = nova.apply(state, partial=True)
    assert result["failed"]
    assert result["state"] == "open"
    assert nova.hosts[TWO] == "compute1"
    assert nova.hosts[ONE] in NEAR
    assert list(result["left"]) == [TWO]
    assert result["report"]["verdict"] == "block"
    assert nova.service["disabled_reason"] == "stackguard:drain:op1"
    ended = nova.rollback(state)
    assert (ended["state"], nova.service["status"]) == ("rolled-back", "enabled")
    assert not state.open


def test_one_that_came_meanwhile_moves_too(nova, state):
    late = guest(4, 1)
    nova.jobs.append((1, lambda: nova.servers.update({late: {**nova.servers[ONE], "id": late, "name": "late"}})))

    def arrive():
        nova.servers[late] = {
            "id": late,
            "name": "late",
            "status": "ACTIVE",
            "OS-EXT-SRV-ATTR:host": "compute1",
            "OS-EXT-STS:task_state": None,
        }

    nova.jobs[:] = [(3, arrive)]
    result = nova.apply(state)
    assert result["again"]
    assert state.open
    result = nova.apply(state, again=True)
    assert (result["state"], nova.hosts[late] in NEAR) == ("finished", True)


def test_deleted_meanwhile_is_told_and_the_others_arrive(nova, state):
    nova.jobs.append((3, lambda: nova.servers.pop(TWO)))
    result = nova.apply(state, max_parallel=1)
    assert result["state"] == "finished"
    assert len(result["gone"]) == 1
    assert nova.hosts[ONE] in NEAR


def test_another_host_is_tried_and_nobody_goes_out_of_the_zone(nova, state):
    nova.refuse = {"compute3"}
    result = nova.apply(state)
    assert result["state"] == "finished"
    assert set(nova.hosts.values()) == {"compute5"}


def test_where_no_host_takes_it_it_stays_and_the_host_is_held(nova, state):
    nova.refuse = NEAR
    result = nova.apply(state)
    assert result["failed"]
    assert set(nova.hosts.values()) == {"compute1"}
    assert set(result["left"]) == {ONE, TWO}
    assert {host for kind, _uuid, host in nova.calls if kind == "live"} == NEAR
    nova.refuse = set()
    assert nova.apply(state)["state"] == "finished"


@pytest.mark.parametrize(("cold", "moves"), [("stopped", False), ("fallback", True)])
def test_what_does_not_move_live_is_moved_cold_only_where_that_is_allowed(nova, state, cold, moves):
    nova.not_live = True
    result = nova.apply(state, cold=cold)
    assert (result["state"] == "finished") == moves
    assert (set(nova.hosts.values()) <= NEAR) == moves


def test_a_stray_is_reverted_and_never_confirmed(monkeypatch, state):
    nova = Cloud(monkeypatch, **{TWO: "SHUTOFF"})
    nova.strays = {TWO: "compute2"}
    result = nova.apply(state)
    assert result["failed"]
    assert nova.hosts[TWO] == "compute1"
    assert ("revert", TWO) in nova.calls
    assert ("confirm", TWO) not in nova.calls
    assert "SG407" in {item["code"] for item in result["report"]["findings"]}
    assert nova.hosts[ONE] in NEAR


def test_a_stray_that_moved_live_is_told_and_no_success(nova, state):
    nova.strays = {TWO: "compute2"}
    result = nova.apply(state)
    assert result["failed"]
    assert "SG407" in {item["code"] for item in result["report"]["findings"]}


def test_no_more_at_a_time_than_asked_for(nova, state):
    nova.apply(state, max_parallel_per_source=1)
    assert nova.most == 1


def test_no_more_into_one_host_than_asked_for(monkeypatch, state):
    nova = Cloud(monkeypatch, Scene().target(3, status="disabled"))
    nova.apply(state, max_parallel_per_destination=1)
    assert nova.most == 1
    assert set(nova.hosts.values()) == {"compute5"}


def test_what_was_measured_long_ago_is_measured_anew(nova, state):
    result = nova.apply(state, measured_for=0, max_parallel=1)
    assert (result["again"], result["state"]) == (True, "open")
    assert sorted(nova.hosts.values()).count("compute1") == 1
    reads = nova.reads
    result = nova.apply(state, measured_for=0, max_parallel=1, again=True)
    assert (result["again"], result["state"]) == (False, "finished")
    assert nova.reads > reads


def test_a_host_that_another_operation_took_meanwhile_is_left_alone(nova, state):
    run = nova.run_of(state)
    real = nova.collect

    def collect(*given):
        found = real(*given)
        nova.service = {"status": "disabled", "disabled_reason": "stackguard:rename:other"}
        return found

    move_servers.move_evidence.collect = collect
    with pytest.raises(StepError, match="SG707"):
        move_servers.carry_out(run)
    assert nova.calls == []


def test_a_host_of_which_nothing_is_known_now_is_an_error_and_nobody_is_reverted(monkeypatch, state):
    nova = Cloud(monkeypatch, **{ONE: "SHUTOFF", TWO: "SHUTOFF"})
    monkeypatch.setattr(migration.compute_services, "zones_of_hosts", lambda _cloud: {})

    def mute(_cloud, host):
        raise ApiError(f"the cell of the compute service on {host} does not answer")

    monkeypatch.setattr(migration.compute_services, "zone_of_host", mute)
    with pytest.raises(StepError, match="does not answer"):
        nova.apply(state, server_timeout=10**6)
    assert not [call for call in nova.calls if call[0] in ("confirm", "revert")]
    assert state.open


def test_what_stands_against_the_host_by_now_ends_it_with_the_journal_open(nova, state):
    nova.apply(state, measured_for=0, max_parallel=1)
    nova.scene = nova.scene.in_two_zones("compute1")
    with pytest.raises(StepError, match="SG403"):
        nova.apply(state, again=True)
    assert state.open


# --- a destination that takes nobody ---------------------------------------------------------------------------


class Broken(Cloud):
    """Nova makes a server ERROR whose live migration to one of these hosts fails; its QEMU runs on."""

    broken = frozenset({"compute3"})

    def live_migrate(self, cloud, uuid, host):
        super().live_migrate(cloud, uuid, host)
        if host not in self.broken:
            return

        def end():
            self.servers[uuid].update({"OS-EXT-STS:task_state": None, "status": "ERROR"})
            self.last[uuid] = host

        self.jobs[-1] = (self.now + 5, end)

    def __init__(self, monkeypatch, scene=None, **statuses):
        self.last = {}
        super().__init__(monkeypatch, scene, **statuses)
        monkeypatch.setattr(instance_actions, "why", lambda _cloud, _server: "migration error")
        monkeypatch.setattr(migration.server_actions, "reset_state", self.reset)
        # Where a server moved, its domain moved with it.
        self.elsewhere = {}

    def reset(self, _cloud, uuid):
        self.calls.append(("reset", uuid))
        self.servers[uuid]["status"] = "ACTIVE"

    def last_migration(self, _cloud, uuid):
        if uuid not in self.last:
            return super().last_migration(_cloud, uuid)
        return {
            "migration_type": "live-migration",
            "status": "error",
            "source_compute": "compute1",
            "dest_compute": self.last[uuid],
        }

    def collect(self, *given):
        found = super().collect(*given)
        hosts = dict(found.bundle.hosts)
        for uuid, name in self.elsewhere.items():
            domain = next(row for row in hosts["compute1"].domains if row.uuid == uuid)
            hosts["compute1"] = dataclasses.replace(
                hosts["compute1"], domains=[row for row in hosts["compute1"].domains if row.uuid != uuid]
            )
            hosts[name] = dataclasses.replace(hosts[name], domains=[*hosts[name].domains, domain])
        return dataclasses.replace(found, bundle=dataclasses.replace(found.bundle, hosts=hosts))

    def rounds(self, state, **options):
        result = self.apply(state, **options)
        while result.get("again"):
            result = self.apply(state, again=True, **options)
        return result


def sent_to(nova, host):
    return [call for call in nova.calls if call[0] == "live" and call[2] == host]


def test_after_one_in_error_nobody_else_is_sent_before_it_was_examined(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    result = nova.apply(state)
    assert result["again"]
    assert len(sent_to(nova, "compute3")) == 1
    assert sorted(row["status"] for row in nova.servers.values()) == ["ACTIVE", "ERROR"]


def test_a_server_that_runs_where_nova_has_it_is_made_active_and_goes_elsewhere(monkeypatch, state):
    nova = Broken(monkeypatch)
    result = nova.rounds(state)
    assert result["state"] == "finished"
    assert set(nova.hosts.values()) == {"compute5"}
    assert {row["status"] for row in nova.servers.values()} == {"ACTIVE"}
    resets = [call for call in nova.calls if call[0] == "reset"]
    assert resets
    told = [item for item in result["report"]["findings"] if item["code"] == "SG711"]
    assert [item["severity"] for item in told] == ["warning"] * len(resets)


def test_the_second_server_that_fails_on_a_host_closes_it_for_the_whole_run(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    result = nova.rounds(state)
    assert result["failed"]
    assert len(sent_to(nova, "compute3")) == 2
    assert {row["status"] for row in nova.servers.values()} == {"ACTIVE"}
    assert "the run sends no more servers to this host: the moves of 2 servers to this host failed" in str(
        result["left"]
    )
    nova.broken = frozenset()
    assert nova.rounds(state)["state"] == "finished", "run again by the operator it is tried once more"


def test_not_restored_where_that_is_not_wanted_and_the_command_is_reported(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    result = nova.rounds(state, restore_state=False)
    (failed,) = nova.last
    assert not [call for call in nova.calls if call[0] == "reset"]
    (told,) = [item for item in result["report"]["findings"] if item["code"] == "SG711"]
    assert f"openstack server set --state active {failed}" in told["remedy"] and "compute1" in told["remedy"]
    assert "its status before the move" not in str(result["report"])


@pytest.mark.parametrize("where", ["compute3", "compute5"])
def test_one_whose_qemu_runs_elsewhere_is_never_made_active(monkeypatch, state, where):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    first = nova.apply(state)
    assert first["again"]
    (failed,) = nova.last
    nova.elsewhere = {failed: where}
    result = nova.rounds(state)
    assert not [call for call in nova.calls if call[0] == "reset"]
    assert nova.servers[failed]["status"] == "ERROR"
    assert where in next(item for item in result["report"]["findings"] if item["code"] == "SG711")["remedy"]


def test_where_the_destination_was_not_read_it_is_not_known_and_not_made_active(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    nova.apply(state)
    nova.scene = nova.scene.unread("compute3")
    result = nova.rounds(state)
    assert not [call for call in nova.calls if call[0] == "reset"]
    assert "can read compute3" in str(result["report"])


def test_one_that_was_paused_is_not_made_active(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"), **{ONE: "PAUSED", TWO: "PAUSED"})
    nova.rounds(state)
    assert not [call for call in nova.calls if call[0] == "reset"]


def reads(nova):
    """The hosts' nova.conf as a lab's: libvirt is reached by tcp."""
    for name, host in list(nova.scene.cloud.bundle.hosts.items()):
        conf = dataclasses.replace(host.nova_conf, virt_type="kvm", live_migration_inbound_addr=None)
        nova.scene = nova.scene._with(cloud=nova.scene.cloud.host(name, nova_conf=conf))


def answers(asked, refused=()):
    return [
        {**probe, "error": "Connection refused" if probe["dest"] in refused else None}
        for probes in asked.values()
        for probe in probes
    ]


def test_before_the_first_server_the_source_tries_the_connection(nova, state):
    reads(nova)
    asked = nova.apply(state, probe=True)
    assert (asked["again"], asked["changed"], list(asked["probe"])) == (True, False, ["compute1"])
    assert {probe["dest"] for probe in asked["probe"]["compute1"]} == NEAR
    assert nova.calls == []
    assert not state.open
    probes = answers(asked["probe"])
    assert nova.apply(state, probe=True, probes=probes)["state"] == "finished"


def test_what_the_source_does_not_reach_is_sent_nobody_and_all_stay_active(nova, state):
    reads(nova)
    probes = answers(nova.apply(state, probe=True)["probe"], NEAR)
    with pytest.raises(lifecycle.Refused) as refused:
        nova.apply(state, probe=True, probes=probes)
    assert {item["code"] for item in refused.value.data["report"]["findings"]} == {"SG406"}
    assert "16509: Connection refused" in str(refused.value.data["report"])
    assert nova.calls == []


def test_cpus_are_compared_on_the_destinations_before_the_first_server(nova, state):
    for host in NEAR:
        offers = dataclasses.replace(nova.scene.cloud.bundle.hosts[host].offers, cpu="<cpu><model>other</model></cpu>")
        nova.scene = nova.scene._with(cloud=nova.scene.cloud.host(host, offers=offers))
    asked = nova.apply(state, probe=True)
    assert (asked["again"], set(asked["probe"])) == (True, NEAR)
    assert nova.calls == []
    assert not state.open
    results = {"compute3": {"result": "incompatible"}, "compute5": {"result": "superset"}}
    probes = [{**entry, **results[host]} for host, entries in asked["probe"].items() for entry in entries]
    assert nova.apply(state, probe=True, probes=probes)["state"] == "finished"
    assert set(nova.hosts.values()) == {"compute5"}


def test_a_cpu_that_no_destination_has_refuses_and_changes_nothing(nova, state):
    for host in NEAR:
        offers = dataclasses.replace(nova.scene.cloud.bundle.hosts[host].offers, cpu="<cpu><model>other</model></cpu>")
        nova.scene = nova.scene._with(cloud=nova.scene.cloud.host(host, offers=offers))
    asked = nova.apply(state, probe=True)["probe"]
    probes = [{**entry, "error": "internal error"} for entries in asked.values() for entry in entries]
    with pytest.raises(lifecycle.Refused) as refused:
        nova.apply(state, probe=True, probes=probes)
    assert {item["code"] for item in refused.value.data["report"]["findings"]} == {"SG523"}
    assert nova.calls == []


def test_the_other_host_takes_them_where_one_is_not_reached(nova, state):
    reads(nova)
    probes, result = [], {"again": True}
    while result.get("again"):
        result = nova.apply(state, probe=True, probes=probes)
        probes += answers(result.get("probe", {}), {"compute3"})
    assert result["state"] == "finished"
    assert set(nova.hosts.values()) == {"compute5"}


def test_a_port_that_closes_after_the_first_server_is_tried_again_and_takes_nobody_else(monkeypatch, state):
    nova = Broken(monkeypatch, Scene().target(5, status="disabled"))
    reads(nova)
    probes, result, refused = [], {"again": True}, ()
    while result.get("again"):
        result = nova.apply(state, probe=True, probes=probes, again=bool(probes), max_parallel=1)
        refused = {"compute3"} if nova.last else ()
        probes += answers(result.get("probe", {}), refused)
    assert len(sent_to(nova, "compute3")) == 1
    assert {row["status"] for row in nova.servers.values()} == {"ACTIVE"}
    assert "does not reach libvirt" in str(result["left"])


def test_not_knowing_whether_it_is_reached_is_unchecked_and_they_go_one_by_one(nova, state):
    nova.scene = nova.scene.target(5, status="disabled")
    result = nova.apply(state)
    assert result["state"] == "finished"
    assert nova.most == 1
    assert "SG406" in {item["code"] for item in result["report"]["unchecked"]}


# --- asked, resumed, and what others do ---------------------------------------------------------------------------


def test_asked_for_its_status_it_says_what_is_open_and_changes_nothing(nova, state):
    assert move_servers.carry_out(nova.run_of(state, action="status"))["state"] == "none"
    cut(nova, state, 2, max_parallel=1)
    calls = list(nova.calls)
    result = move_servers.carry_out(nova.run_of(state, action="status"))
    assert (result["state"], result["operation_id"], result["changed"]) == ("open", "op1", False)
    assert {entry["from"] for entry in result["servers"].values()} == {"compute1"}
    assert "drain_action=rollback" in result["msg"]
    assert nova.calls == calls


@pytest.mark.parametrize(("prefix", "name"), [("drain", "drain_action"), ("migrate", "migrate_action"), ("", "action")])
def test_what_is_said_names_the_variables_of_the_playbook_that_runs(nova, state, prefix, name):
    nova.refuse = NEAR
    assert f"add {name}=rollback" in nova.apply(state, prefix=prefix)["msg"]


def test_a_cell_that_does_not_answer_is_no_empty_host(nova, state, monkeypatch):
    """D17: the list of servers has none of its servers; placement has."""
    hidden = guest(4, 2)
    real = nova.consumers
    monkeypatch.setattr(
        migration.resource_providers, "provider_consumers", lambda *given: sorted([*real(*given), hidden])
    )
    result = nova.apply(state)
    assert result["failed"]
    assert "SG709" in {item["code"] for item in result["report"]["findings"]}
    assert nova.service["disabled_reason"] == "stackguard:drain:op1"


@pytest.mark.parametrize("passed", [False, True])
def test_a_server_that_its_owner_soft_deletes_meanwhile_is_no_empty_host(nova, state, monkeypatch, passed):
    """Placement counts it, no list has it. Its owner can have it back, so the host is not empty."""
    kept = guest(4, 2)
    nova.restorable = {kept: "web9"}
    real = nova.consumers
    monkeypatch.setattr(
        migration.resource_providers, "provider_consumers", lambda *given: sorted([*real(*given), kept])
    )
    overrides = [Override("SG710", kept, "its owner agrees")] if passed else []
    result = move_servers.carry_out(dataclasses.replace(nova.run_of(state), overrides=overrides))
    assert bool(result.get("failed")) is not passed
    if not passed:
        (item,) = [item for item in result["report"]["findings"] if item["object"]["id"] == kept]
        assert (item["code"], item["object"]["name"]) == ("SG710", "web9")
        assert result["left"][kept]["name"] == "web9"
        assert nova.service["disabled_reason"] == "stackguard:drain:op1"


def test_an_allocation_that_no_server_has_is_refused_beforehand(nova, state):
    stranger = guest(4, 2)
    real = nova.collect

    def collect(*given):
        scene = nova.scene
        nova.scene = scene
        found = real(*given)
        rows = [
            dataclasses.replace(row, allocations={**row.allocations, stranger: {"VCPU": 1}})
            if row.name == "compute1"
            else row
            for row in found.bundle.cloud.providers
        ]
        cloud = dataclasses.replace(found.bundle.cloud, providers=rows)
        return dataclasses.replace(found, bundle=dataclasses.replace(found.bundle, cloud=cloud))

    move_servers.move_evidence.collect = collect
    with pytest.raises(lifecycle.Refused) as refused:
        nova.apply(state)
    assert [item["object"]["id"] for item in refused.value.data["report"]["findings"]] == [stranger]


# --- servers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", [False, True])
def test_a_server_whose_cell_does_not_answer_is_not_said_to_be_gone(nova, state, partial):
    nova.servers[TWO]["status"] = facts.CELL_DOWN
    nova.servers[TWO]["OS-EXT-SRV-ATTR:host"] = None
    with pytest.raises(lifecycle.Refused, match=f"{TWO}", check=problem_is("refused")):
        nova.apply(state, drain_host=None, servers=[ONE, TWO], partial=partial)
    assert nova.moves == []


def test_named_servers_move_and_the_others_stay(nova, state):
    result = nova.apply(state, drain_host=None, servers=[nova.servers[ONE]["name"]])
    assert result["state"] == "finished"
    assert nova.hosts[ONE] in NEAR
    assert nova.hosts[TWO] == "compute1"
    assert nova.service["status"] == "enabled"


def test_a_filter_selects_servers(nova, state):
    nova.apply(state, drain_host=None, servers=f"[?id=='{TWO}']")
    assert (nova.hosts[ONE], nova.hosts[TWO] in NEAR) == ("compute1", True)


def test_one_that_does_not_move_ends_it_without_a_journal(nova, state):
    nova.refuse = NEAR
    result = nova.apply(state, drain_host=None, servers=[ONE])
    assert (result["failed"], result["state"]) == (True, "incomplete")
    assert not state.open


def test_a_name_that_nobody_has_is_a_finding(nova, state):
    with pytest.raises(lifecycle.Refused) as refused:
        nova.apply(state, drain_host=None, servers=[ONE, "nobody"])
    assert [item["object"]["id"] for item in refused.value.data["report"]["findings"]] == ["nobody"]
    assert nova.calls == []


@pytest.mark.parametrize("status", ["SOFT_DELETED", "ACTIVE"])
@pytest.mark.parametrize("partial", [False, True])
def test_one_that_nova_shows_and_the_list_of_its_host_lacks_is_never_left_out_in_silence(nova, state, partial, status):
    """Asked for by its uuid a soft-deleted server is shown, with its host; the run moved the others, and was green."""
    nova.servers[TWO]["status"] = status
    real = nova.collect

    def collect(*given):
        kept = nova.servers.pop(TWO)
        try:
            return real(*given)
        finally:
            nova.servers[TWO] = kept

    move_servers.move_evidence.collect = collect
    given = {"drain_host": None, "servers": [ONE, TWO], "partial": partial}
    if not partial:
        with pytest.raises(lifecycle.Refused) as refused:
            nova.apply(state, **given)
        (item,) = refused.value.data["report"]["findings"]
        assert (item["code"], item["object"]["id"]) == ("SG710", TWO)
        assert ("openstack server restore" in item["remedy"]) is (status == "SOFT_DELETED")
        assert nova.moves == []
        return
    result = nova.apply(state, **given)
    assert (result["failed"], result["state"], set(result["left"])) == (True, "incomplete", {TWO})
    assert nova.hosts[ONE] in NEAR


def test_one_that_moved_to_the_host_of_another_is_not_sent_once_more(monkeypatch, state):
    third = guest(3, 1)
    nova = Cloud(monkeypatch, Scene().target(5, status="disabled"), **{third: "ACTIVE"})
    nova.servers[third]["OS-EXT-SRV-ATTR:host"] = "compute3"
    del nova.servers[TWO]
    given = {"drain_host": None, "servers": [ONE, third], "measured_for": 0, "max_parallel": 1}
    again = nova.apply(state, **given)
    while again["again"]:
        again = nova.apply(state, **given)
    assert again["state"] == "finished"
    assert sorted(nova.moves) == sorted([("live", ONE), ("live", third)])
    assert (nova.hosts[ONE], nova.hosts[third]) == ("compute3", "compute1")


def test_a_nova_that_is_mute_for_a_while_is_asked_again(nova, state, monkeypatch):
    mute = [20]
    real = nova.raw_server

    def get_server(cloud, uuid):
        if nova.now > 3 and mute[0]:
            mute[0] -= 1
            raise ApiError("503")
        return real(cloud, uuid)

    monkeypatch.setattr(migration.server_records, "raw_server", get_server)
    assert nova.apply(state)["state"] == "finished"
    assert len(nova.moves) == 2


def test_a_nova_that_stays_mute_ends_the_run_with_its_journal_open(nova, state, monkeypatch):
    def get_server(_cloud, _uuid):
        raise ApiError("503")

    monkeypatch.setattr(migration.server_records, "raw_server", get_server)
    with pytest.raises(StepError, match="503"):
        nova.apply(state)
    assert state.open


@pytest.mark.parametrize("selection", ["[?name=='nobody']", "[?", "length([])"])
def test_a_filter_that_selects_nobody_is_refused(nova, state, selection):
    with pytest.raises(lifecycle.Refused, check=problem_is("options")):
        nova.apply(state, drain_host=None, servers=selection)
    assert nova.calls == []
    assert not state.open


# --- interrupted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sleeps", range(14))
def test_killed_at_any_look_and_run_again(monkeypatch, state, sleeps):
    nova = Cloud(monkeypatch, **{TWO: "SHUTOFF"})
    left = [sleeps]

    def sleep(seconds):
        if not left[0]:
            raise Killed
        left[0] -= 1
        nova.sleep(seconds)

    try:
        nova.apply(state, sleep=sleep, max_parallel=1)
    except Killed:
        nova.sleep(1)
        nova.apply(state, max_parallel=1)
    assert set(nova.hosts.values()) <= NEAR
    assert nova.servers[TWO]["status"] == "SHUTOFF"
    assert len(nova.moves) == 2, "nobody was sent twice"
    assert set(nova.service) == {"status", "disabled_reason"}
    assert nova.service["status"] == "disabled" and "op1" in nova.service["disabled_reason"]
    assert not state.open


def late_and_cut(nova, state):
    """One more stopped server arrives after the plan, and leaves again; the run is killed before it is confirmed."""
    late = guest(4, 1)

    def arrive():
        nova.servers[late] = {**nova.servers[TWO], "id": late, "name": "late", "status": "SHUTOFF"}
        nova.servers[late].update({"OS-EXT-SRV-ATTR:host": "compute1", "OS-EXT-STS:task_state": None})

    def sleep(seconds):
        nova.sleep(seconds)
        if nova.servers.get(late, {}).get("status") == "VERIFY_RESIZE":
            raise Killed

    nova.jobs.append((3, arrive))
    with pytest.raises(Killed):
        result = nova.apply(state, sleep=sleep)
        while result.get("again"):
            result = nova.apply(state, sleep=sleep, again=True)
    assert nova.servers[late]["status"] == "VERIFY_RESIZE"
    return late


def test_one_that_came_late_and_was_cut_before_its_confirmation_is_confirmed(nova, state):
    """Its migration was reported as an unknown allocation, and the remedy was to override it."""
    late = late_and_cut(nova, state)
    result = nova.apply(state)
    while result.get("again"):
        result = nova.apply(state, again=True)
    assert result["state"] == "finished"
    assert (nova.servers[late]["status"], nova.hosts[late] in NEAR) == ("SHUTOFF", True)
    assert ("confirm", late) in nova.calls


def test_one_that_came_late_and_was_cut_is_reverted_by_a_rollback(nova, state):
    late = late_and_cut(nova, state)
    nova.rollback(state)
    assert ("revert", late) in nova.calls
    assert (nova.servers[late]["status"], nova.hosts[late]) == ("SHUTOFF", "compute1")


def cut(nova, state, seconds, **options):
    def sleep(length):
        if nova.now >= seconds:
            raise Killed
        nova.sleep(length)

    with pytest.raises(Killed):
        nova.apply(state, sleep=sleep, **options)


def test_killed_and_ended_an_unconfirmed_move_is_taken_back(monkeypatch, state):
    nova = Cloud(monkeypatch, **{ONE: "SHUTOFF", TWO: "SHUTOFF"})
    cut(nova, state, 2, max_parallel=1)
    assert nova.rollback(state)["state"] == "rolled-back"
    assert set(nova.hosts.values()) == {"compute1"}
    assert nova.service == {"status": "enabled", "disabled_reason": None}


def test_the_evidence_directory_of_the_killed_run_is_removed_by_the_one_that_resumes(nova, state, tmp_path):
    """H10: each killed run left its directory, with facts of hosts and servers, for good."""
    left = tmp_path / "stackguard-left"
    left.mkdir(mode=0o700)
    here = {**run_owner.this_run(), "pid": 2**22 - 1, "pid_start": "1"}
    cut(nova, state, 2, mine={**here, "evidence_dir": str(left)}, max_parallel=1)
    assert left.exists()
    nova.apply(state, mine={**here, "evidence_dir": "/nowhere"})
    assert not left.exists()


def test_another_request_does_not_carry_on_with_it(nova, state):
    cut(nova, state, 2)
    with pytest.raises(lifecycle.Refused, match="SG706"):
        nova.apply(state, drain_host=None, servers=[ONE])
    with pytest.raises(lifecycle.Refused, match="SG706"):
        nova.rollback(state, drain_host="compute2")


def test_two_runs_never_carry_on_with_one(nova, state):
    cut(nova, state, 2, mine=run_owner.this_run())
    other = {"controller": run_owner.this_run()["controller"], "pid": 1, "pid_start": "x"}
    with pytest.raises(StackguardError, match="SG707"):
        nova.apply(state, mine=other)
    with pytest.raises(StackguardError, match="SG707"):
        nova.rollback(state, mine={**other, "controller": "elsewhere"})


def test_between_two_rounds_the_playbook_above_holds_the_operation(nova, state):
    living = run_owner.this_run()
    above = {"pid": living["pid"], "pid_start": living["pid_start"]}
    gone = {"controller": living["controller"], "pid": 2**22 - 1, "pid_start": "1", "playbook": above}
    nova.apply(state, measured_for=0, max_parallel=1, mine=gone)
    stranger = {**gone, "pid": 2**22 - 2, "playbook": {"pid": 1, "pid_start": "1"}}
    with pytest.raises(StackguardError, match="SG707"):
        nova.apply(state, mine=stranger)
    assert nova.apply(state, mine={**gone, "pid": 2**22 - 3})["state"] == "finished"


# --- the rules that every operation lives by ------------------------------------------------------------------


class Drain(Life):
    """One of two servers is on its way."""

    options: t.ClassVar = {"prefix": "drain", "max_parallel": 1}

    def begin_world(self, tmp_path, monkeypatch):
        self.nova = Cloud(monkeypatch)

    def cut(self):
        cut(self.nova, self.state, 2, **self.options)

    def act(self, action):
        return move_servers.carry_out(self.nova.run_of(self.state, action=action, mine=OTHER, **self.options))

    def world(self):
        return [self.nova.servers, self.nova.service, self.nova.calls]


class Migrate(Drain):
    """The same without a host that is held."""

    options: t.ClassVar = {"prefix": "migrate", "max_parallel": 1, "drain_host": None, "servers": [ONE]}


LIVES = {"drain": Drain, "migrate": Migrate}


# --- volumes of those that have moved -------------------------------------------------------------------------


@pytest.mark.parametrize(("severity", "failed"), [("warning", True), ("info", False)])
def test_volumes_that_did_not_go_along_are_told_and_the_run_is_not_green(monkeypatch, state, severity, failed):
    """The host stays held: switched off, it would take the volumes along."""
    nova = Cloud(monkeypatch)
    wrong = finding("SG524", Subject("instance", ONE, "guest1", "compute3"), {}, "look", severity)
    monkeypatch.setattr(migration, "check_moved", lambda _systems, servers: Checked((wrong,) if servers else ()))
    result = nova.apply(state)
    assert bool(result.get("failed")) == failed
    assert set(result["moved"]) == {ONE, TWO}
    assert "SG524" in {item["code"] for item in result["report"]["findings"]}
    assert bool(state.open) == failed
    monkeypatch.setattr(migration, "check_moved", lambda _systems, _servers: Checked())
    assert not nova.apply(state, action="apply").get("failed")


def test_volumes_that_cinder_did_not_show_are_unchecked(monkeypatch, state):
    nova = Cloud(monkeypatch)
    unchecked = Unchecked("SG524", ONE, "403")
    monkeypatch.setattr(migration, "check_moved", lambda _systems, _servers: Checked((), (unchecked,)))
    result = nova.apply(state)
    assert not result.get("failed")
    assert "SG524" in {item["code"] for item in result["report"]["unchecked"]}
