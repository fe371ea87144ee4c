# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller's steps of a rename take for a proof: a cloud of a few lines, and a run that is killed in it."""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import service_status
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError, TimedOutError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.verify_guests import as_before
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.resource_providers import (
    DISABLED_TRAIT,
    ProviderTraits,
)
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

REASON = "stackguard:rename:op1"
ENABLED = {"status": "enabled", "reason": None}
DISABLED = {"status": "disabled", "reason": REASON}
#: What the last step of a plan is told; its first one is told the reverse.
ENABLE = {"service_id": "s", "provider": "p", "timeout": 30, "before": DISABLED, "after": ENABLED}
DISABLE = {**ENABLE, "before": ENABLED, "after": DISABLED}


class Killed(BaseException):
    """The process is gone."""


class FakeCloud:
    """A compute service whose nova-compute, where it ``listens``, keeps its provider's trait as Nova does."""

    def __init__(self, monkeypatch, status="disabled"):
        self.now = 0.0
        self.status, self.reason = status, REASON if status == "disabled" else None
        self.traits = {DISABLED_TRAIT} if status == "disabled" else set()
        self.generation = 7
        self.listens = True
        self.puts = []
        self.kill_after = None
        self.every_second = lambda: None
        self.agents = []
        monkeypatch.setattr(rename.compute_services, "set_service_status", self.set_service_status)
        monkeypatch.setattr(rename.resource_providers, "get_provider_traits", self.get_provider_traits)
        monkeypatch.setattr(rename.network, "list_agents", self.list_agents)

    def systems(self):
        return kernel.Systems({}, None, {}, self.sleep, lambda: self.now, _connection=object())

    def sleep(self, seconds):
        self.now += seconds
        self.every_second()

    def set_service_status(self, _cloud, _service, status, reason, leaving):
        if (status, reason) == (self.status, self.reason):
            return
        if (self.status, self.reason) != leaving:
            raise Conflict("another user changed the compute service")
        told = status != self.status
        self.status, self.reason = status, reason
        self.puts.append(status)
        if told and self.listens:
            self.sync()
        if self.kill_after == status:
            self.kill_after = None
            raise Killed

    def sync(self):
        wanted = {DISABLED_TRAIT} if self.status == "disabled" else set()
        if self.traits != wanted:
            self.traits = wanted
            self.generation += 1

    def get_provider_traits(self, _cloud, _uuid):
        return ProviderTraits(self.generation, frozenset(self.traits))

    def list_agents(self, _cloud, host):
        return [agent for agent in self.agents if agent.host == host]


# --- enabling the service -------------------------------------------------------------------------------------


def test_enabling_shows_the_generation_that_moved(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    done = service_status.ServiceStatus(cloud.systems()).apply(ENABLE, {})
    assert (
        done.remark
        == "the compute service is enabled, and the resource provider's generation in placement changed: 7 -> 8"
    )
    assert (cloud.status, cloud.reason, cloud.puts) == ("enabled", None, ["enabled"])


def test_a_service_that_a_colleague_disabled_meanwhile_is_not_enabled(monkeypatch):
    # The run ended with success, and the scheduler sent servers to a host whose disk was failing.
    cloud = FakeCloud(monkeypatch)
    cloud.reason = "bad disk, do not use"
    with pytest.raises(StepError, match="another user changed the compute service") as raised:
        service_status.ServiceStatus(cloud.systems()).apply(ENABLE, {})
    assert raised.value.changed_meanwhile
    assert (cloud.status, cloud.reason, cloud.puts) == ("disabled", "bad disk, do not use", [])


@pytest.mark.parametrize("back", [False, True])
def test_killed_between_enabled_and_its_proof_the_next_run_proves_it_anew(monkeypatch, back):
    cloud = FakeCloud(monkeypatch)
    action = service_status.ServiceStatus(cloud.systems())

    def run():
        return action.undo(DISABLE) if back else action.apply(ENABLE, {})

    cloud.kill_after = "enabled"
    with pytest.raises(Killed):
        run()
    assert cloud.status == "enabled"
    generation = cloud.generation
    run()
    assert cloud.puts == ["enabled", "disabled", "enabled"]
    assert cloud.generation > generation
    assert not cloud.traits


@pytest.mark.parametrize("back", [False, True])
def test_a_resumed_run_refuses_where_nova_compute_does_not_keep_its_provider(monkeypatch, back):
    cloud = FakeCloud(monkeypatch)
    action = service_status.ServiceStatus(cloud.systems())

    def run():
        return action.undo(DISABLE) if back else action.apply(ENABLE, {})

    cloud.listens, cloud.kill_after = False, "enabled"
    with pytest.raises(Killed):
        run()
    assert cloud.status == "enabled"
    with pytest.raises(StepError, match=r"COMPUTE_STATUS_DISABLED", check=problem_is("timed-out")):
        run()
    assert (cloud.status, cloud.reason) == ("disabled", REASON), "left for the scheduler to shun"


def test_a_generation_moved_by_a_guests_allocation_proves_nothing(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.listens = False

    def guest_deleted():
        cloud.generation += 1

    cloud.every_second = guest_deleted
    with pytest.raises(TimedOutError, check=problem_is("timed-out")):
        service_status.ServiceStatus(cloud.systems()).apply(ENABLE, {})
    assert cloud.status == "disabled"


def test_a_trait_that_nobody_put_there_is_waited_for_before_enabling(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.traits = set()
    with pytest.raises(StepError, match=r"COMPUTE_STATUS_DISABLED", check=problem_is("timed-out")):
        service_status.ServiceStatus(cloud.systems()).apply(ENABLE, {})
    assert cloud.puts == [], "never enabled without a way to see it"
    cloud.every_second = cloud.sync  # nova-compute's first pass comes
    assert (
        service_status.ServiceStatus(cloud.systems())
        .apply(ENABLE, {})
        .remark.startswith("the compute service is enabled")
    )


def test_a_periodic_pass_proves_it_too(monkeypatch):
    """After a rollback's restart the API may think the service down, and tells it nothing."""
    cloud = FakeCloud(monkeypatch)
    cloud.listens, cloud.every_second = False, cloud.sync
    service_status.ServiceStatus(cloud.systems()).undo(DISABLE)
    assert (cloud.status, cloud.traits, cloud.generation) == ("enabled", set(), 8)


def test_disabling_needs_no_proof(monkeypatch):
    cloud = FakeCloud(monkeypatch, "enabled")
    cloud.listens = False
    action = service_status.ServiceStatus(cloud.systems())
    assert action.apply(DISABLE, {}).remark == f"disabled ({REASON})"
    assert action.apply(DISABLE, {}).remark == f"disabled ({REASON})"
    assert cloud.puts == ["disabled"]


def test_a_service_that_was_disabled_before_stays_so(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    mine = {"status": "disabled", "reason": "hardware"}
    done = service_status.ServiceStatus(cloud.systems()).apply({**ENABLE, "after": mine}, {})
    assert done.remark == "disabled (hardware)"
    assert (cloud.status, cloud.reason) == ("disabled", "hardware")


# --- agents ---------------------------------------------------------------------------------------------------

OVS = facts.ApiAgent("a1", "Open vSwitch agent", "neutron-openvswitch-agent", "new", True, "2026-11-21 06:00:00")
ALIVE = {"agents": ["a1"], "restarted": ["a1"], "old": "old", "new": "new", "timeout": 30}
NOTED = {"neutron": {"heartbeats": {"a1": OVS.heartbeat_timestamp}}}


def test_a_heartbeat_written_in_the_agents_place_is_not_the_agents(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [OVS]
    with pytest.raises(StepError, check=problem_is("timed-out")):
        rename.AgentsAlive(cloud.systems()).apply(ALIVE, NOTED)


@pytest.mark.parametrize("memory", [NOTED, {}], ids=["noted", "not noted"])
def test_an_agents_own_heartbeat_is_waited_for(monkeypatch, memory):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [OVS]

    def beat():
        if cloud.now >= 5:
            cloud.agents = [dataclasses.replace(OVS, heartbeat_timestamp="2026-11-21 06:00:05")]

    cloud.every_second = beat
    assert rename.AgentsAlive(cloud.systems()).apply(ALIVE, memory).remark == "1 agent alive"
    assert cloud.now == 5


def test_a_heartbeat_that_came_before_the_look_counts_where_the_last_written_one_was_noted(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [dataclasses.replace(OVS, heartbeat_timestamp="2026-11-21 06:00:09")]
    rename.AgentsAlive(cloud.systems()).apply(ALIVE, NOTED)
    assert cloud.now == 0


@pytest.mark.parametrize(
    "change", [{"alive": False}, {"host": "old"}, {"heartbeat_timestamp": None}], ids=["dead", "old name", "no beat"]
)
def test_an_agent_that_is_not_alive_under_the_new_name_is_never_enough(monkeypatch, change):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [dataclasses.replace(OVS, **{"heartbeat_timestamp": "2026-11-21 06:00:09", **change})]
    with pytest.raises(StepError):
        rename.AgentsAlive(cloud.systems()).apply(ALIVE, NOTED)


def test_an_agent_that_nobody_restarts_need_only_be_alive(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [OVS]
    rename.AgentsAlive(cloud.systems()).apply({**ALIVE, "restarted": []}, NOTED)


def test_moving_the_agents_notes_their_last_written_heartbeat(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [OVS]
    monkeypatch.setattr(rename.network, "rebind_ports", lambda *_arguments: None)
    params = {"old": "old", "new": "new", "agents": [], "database": False, "ports": []}
    assert rename.Neutron(cloud.systems()).apply(params, {}).memory == NOTED["neutron"]


def port(key, status):
    return facts.ApiPort(key, "new", "ovs", status, "guest", "compute:az1")


def test_an_agent_that_lives_is_not_enough_its_ports_must_work_again(monkeypatch):
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [dataclasses.replace(OVS, heartbeat_timestamp="2026-11-21 06:00:09")]
    down, up = port("p1", "DOWN"), port("p2", "ACTIVE")
    monkeypatch.setattr(rename.network, "list_ports", lambda _cloud, _host: [down, up])
    host = builders.healthy().bundle.hosts["compute1"]
    running = dataclasses.replace(host, domains=[dataclasses.replace(host.domains[0], uuid="guest")])
    systems = dataclasses.replace(cloud.systems(), host=GuestHost(running))
    with pytest.raises(StepError, check=problem_is("timed-out")):
        rename.AgentsAlive(systems).apply({**ALIVE, "ports": ["p1", "p2"]}, NOTED)
    # p3 was deleted by its owner meanwhile; p1 was DOWN before.
    done = rename.AgentsAlive(cloud.systems()).apply({**ALIVE, "ports": ["p2", "p3"]}, NOTED)
    assert done.remark == "1 agent alive, 2 ports ACTIVE"


@pytest.mark.parametrize("state", ["shutoff", "running", "gone", "unread", "unknown to libvirt"])
def test_the_port_of_a_guest_that_does_not_run_is_not_waited_for(monkeypatch, state):
    """The host rebooted in the middle: the rename waited for an interface that was not there, again and again."""
    cloud = FakeCloud(monkeypatch)
    cloud.agents = [dataclasses.replace(OVS, heartbeat_timestamp="2026-11-21 06:00:09")]
    host = builders.healthy().bundle.hosts["compute1"]
    first = dataclasses.replace(host.domains[0], uuid="guest", state=state, pid=4 if state == "running" else None)
    domains = {"gone": [], "unread": None, "unknown to libvirt": []}.get(state, [first])
    processes = {"guest": 4} if state == "unknown to libvirt" else {}
    host = dataclasses.replace(host, domains=domains, qemu_processes=processes)
    systems = dataclasses.replace(cloud.systems(), host=GuestHost(host))
    monkeypatch.setattr(rename.network, "list_ports", lambda _cloud, _host: [port("p1", "DOWN"), port("p2", "ACTIVE")])
    step = lambda: rename.AgentsAlive(systems).apply({**ALIVE, "ports": ["p1", "p2"]}, NOTED)  # noqa: E731
    if state in ("running", "unread", "unknown to libvirt"):
        with pytest.raises(StepError, check=problem_is("timed-out")):
            step()
    else:
        assert step().remark == "1 agent alive, 1 port ACTIVE, 1 port not ACTIVE (guest stopped)"


# --- nova-compute proves itself -------------------------------------------------------------------------------

UP = {
    "service_id": "s",
    "host": "new1",
    "node_uuid": "n",
    "log_file": "/log",
    "units": ["nova-compute"],
    "timeout": 300,
}
MARK = {"file": "/log", "inode": 1, "offset": 0}
DETERMINED = "Determined node identity n"
UPDATING = "Error updating resources for node n: 503"


class LoggingHost:
    """A host whose nova-compute writes lines at times; its marks are how many there were."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.restarts = 0
        self.on_restart = ()

    def call(self, requests):
        return [self._one(request) for request in requests]

    def _one(self, request):
        if request["op"] == "log_mark":
            return {"mark": {"offset": len(self.lines)}}
        if request["op"] == "apply":
            assert (request["action"], request["params"]) == ("restart_units", {"units": ["nova-compute"]})
            self.restarts += 1
            self.lines += self.on_restart
            return {}
        lines = self.lines[request["mark"]["offset"] :]
        return {"found": {word: next((line for line in lines if word in line), None) for word in request["needles"]}}


class Services:
    """Time, and a service that beats each ten seconds."""

    def __init__(self, monkeypatch, host, at=None):
        self.now = 0.0
        self.at = dict(at or {})
        self.host = host
        self.held = 0
        monkeypatch.setattr(rename.compute_services, "get_service", self.get_service)
        self.systems = kernel.Systems(
            {}, host, {}, self.sleep, lambda: self.now, still_ours=self.hold, _connection=object()
        )

    def hold(self):
        self.held += 1

    def sleep(self, seconds):
        self.now += seconds
        self.host.lines += self.at.pop(int(self.now), ())

    def get_service(self, _cloud, _service):
        beat = str(self.now // 10)
        return facts.ApiService("s", "new1", "nova-compute", "up", "disabled", False, None, "az1", beat)


def test_an_error_that_healed_does_not_close_the_way_forward(monkeypatch):
    cloud = Services(monkeypatch, LoggingHost(UPDATING, DETERMINED))
    done = rename.ComputeUp(cloud.systems).apply(UP, {"stop_compute": MARK})
    assert "determined its compute node" in done.remark
    assert cloud.now >= 90, "a pass without it was waited for"


def test_an_error_that_comes_again_in_every_pass_is_named_at_the_end(monkeypatch):
    host = LoggingHost(DETERMINED)
    cloud = Services(monkeypatch, host, {at: [UPDATING] for at in range(10, 400, 60)})
    with pytest.raises(StepError, check=problem_is("timed-out")):
        rename.ComputeUp(cloud.systems).apply(UP, {"stop_compute": MARK})
    assert cloud.held > 10, "the lock's connection was used meanwhile"


def test_where_passes_are_ten_minutes_apart_two_minutes_of_silence_prove_nothing(monkeypatch):
    """update_resources_interval=600: the next pass, which may fail again, is not seen within 90 seconds."""
    cloud = Services(monkeypatch, LoggingHost(UPDATING, DETERMINED))
    with pytest.raises(StepError, match=r"rename_start_timeout", check=problem_is("timed-out")):
        rename.ComputeUp(cloud.systems).apply({**UP, "pass_interval": 600}, {"stop_compute": MARK})
    cloud = Services(monkeypatch, LoggingHost(UPDATING, DETERMINED))
    rename.ComputeUp(cloud.systems).apply({**UP, "pass_interval": 600, "timeout": 1000}, {"stop_compute": MARK})
    assert cloud.now >= 900


def test_where_there_is_no_next_pass_the_error_refuses(monkeypatch):
    cloud = Services(monkeypatch, LoggingHost(UPDATING, DETERMINED))
    with pytest.raises(StepError, check=problem_is("no-update")):
        rename.ComputeUp(cloud.systems).apply({**UP, "pass_interval": -1}, {"stop_compute": MARK})


def test_a_start_without_that_error_waits_for_nothing_more(monkeypatch):
    cloud = Services(monkeypatch, LoggingHost(DETERMINED))
    rename.ComputeUp(cloud.systems).apply(UP, {"stop_compute": MARK})
    assert cloud.now <= 11


def test_a_refusal_whose_cause_was_repaired_does_not_refuse_for_ever(monkeypatch):
    refusal = "My node n has host 'new1' but my host is 'old1'; Possible rename detected, refusing to start!"
    host = LoggingHost(refusal)
    cloud = Services(monkeypatch, host)
    first = rename.ComputeUp(cloud.systems)
    with pytest.raises(StepError, match="Possible rename detected"):
        first.apply(UP, {"stop_compute": MARK})
    host.on_restart = (DETERMINED,)
    later = rename.ComputeUp(cloud.systems)
    later.again(UP, {"stop_compute": MARK})
    assert "determined its compute node" in later.apply(UP, {"stop_compute": MARK}).remark
    assert host.restarts == 1


def test_a_refusal_that_comes_again_refuses_again(monkeypatch):
    host = LoggingHost("refusing to start")
    host.on_restart = ("refusing to start",)
    later = rename.ComputeUp(Services(monkeypatch, host).systems)
    later.again(UP, {"stop_compute": MARK})
    with pytest.raises(StepError, match="refusing to start"):
        later.apply(UP, {"stop_compute": MARK})


def test_the_operators_own_commands_are_not_repeated(monkeypatch):
    host = LoggingHost()
    rename.ComputeUp(Services(monkeypatch, host).systems).again({**UP, "units": []}, {})
    assert host.restarts == 0


# --- guests ---------------------------------------------------------------------------------------------------


class GuestHost:
    def __init__(self, found):
        self.found = found

    def facts(self, _arguments):
        return self.found


def guests_step(host, *overrides):
    said = []
    systems = kernel.Systems({}, GuestHost(host), {}, None, None, said.append, overrides)
    before = builders.healthy().bundle.hosts["compute1"]
    params = {"domains": as_before(before.domains), "boot_id": "boot-1", "strict": True}
    return rename.Guests(systems).apply(params, {}), said


def with_first(**values):
    host = builders.healthy().bundle.hosts["compute1"]
    first, *others = host.domains
    changed = dataclasses.replace(host, domains=[dataclasses.replace(first, **values), *others], boot_id="boot-1")
    return first, changed


def test_unchanged_guests_are_counted():
    done, said = guests_step(builders.healthy().bundle.hosts["compute1"])
    assert (done.remark, done.memory, said) == ("2 guests unchanged", None, [])


def test_a_changed_guest_is_refused_with_the_way_to_pass_it_and_passes_by_it():
    first, host = with_first(xml_digest="another")
    with pytest.raises(StepError) as refused:
        guests_step(host)
    assert first.uuid in str(refused.value)
    assert "stackguard_overrides" in str(refused.value)
    done, _said = guests_step(host, Override("SG120", first.uuid, "I added a disk"))
    assert done.memory["passed"] == [["SG120", first.uuid]]
    with pytest.raises(StepError):
        guests_step(host, Override("SG120", "another-uuid", "not this one"))


def test_a_guest_that_is_off_is_noted_for_the_report():
    first, host = with_first(pid=None, pid_start=None, state="shutoff")
    done, said = guests_step(host)
    (noted,) = done.memory["findings"]
    assert (noted["code"], noted["severity"], noted["object"]["id"]) == ("SG120", "warning", first.uuid)
    assert "openstack server start" in said[0]


def settled_step(host, *overrides):
    systems = kernel.Systems({}, GuestHost(host), {}, None, None, lambda _text: None, overrides)
    before = builders.healthy().bundle.hosts["compute1"]
    params = {"domains": as_before(before.domains), "boot_id": "boot-1", "strict": True, "before_stop": True}
    return rename.Guests(systems).apply(params, {})


def test_a_guest_that_its_owner_rebooted_before_the_lock_puts_everything_back():
    first, host = with_first(pid=4711, pid_start=1)
    with pytest.raises(StepError, check=problem_is("guests-changed-since")) as raised:
        settled_step(host)
    assert raised.value.changed_meanwhile
    assert first.uuid in str(raised.value)


@pytest.mark.parametrize("values", [{}, {"pid": None, "pid_start": None, "state": "shutoff"}])
def test_a_guest_that_its_owner_stopped_before_the_lock_does_not(values):
    _first, host = with_first(**values)
    assert settled_step(host).remark == ("1 guest unchanged" if values else "2 guests unchanged")


# --- the last look at the host -----------------------------------------------------------------------------------

STRANGER = "5f0c1c1e-0000-4000-8000-00000000beef"
NAMED = Override("SG110", STRANGER, "the backup team's domain")


def last_look(monkeypatch, cloud, *, named_at_start=(), overrides=()):
    """The audit step over a host that has its new name; what it remarked."""
    service, node = cloud.rows("services")[0], cloud.rows("compute_nodes")[0]
    names = {"host": service.host, "hypervisor_hostname": node.hypervisor_hostname}
    params = {
        "inventory_name": "compute1",
        "old": {"host": "was", "hypervisor_hostname": "was"},
        "new": names,
        "service": {"uuid": service.uuid, "id": service.id},
        "node": {"uuid": node.uuid, "id": node.id},
        "instances": [row.id for row in cloud.rows("instances") if row.host == service.host],
        "allocations": None,
    }
    systems = kernel.Systems(
        {}, None, {}, lambda _s: None, lambda: 0.0, overrides=overrides, named_at_start=named_at_start
    )
    audit = rename.Audit(systems)
    monkeypatch.setattr(audit, "_collect", lambda _params: cloud.bundle)
    return audit.apply(params, {})


def with_a_stranger():
    cloud = builders.healthy()
    domain = dataclasses.replace(cloud.rows("domains")[0], uuid=STRANGER, name="backup", nova_name=None, pid=4711)
    return cloud.add("domains", domain)


@pytest.mark.parametrize("when", ["named_at_start", "overrides"])
def test_a_domain_that_the_operator_overrode_does_not_stop_the_run_at_its_end(monkeypatch, when):
    """Overridden at preflight, it stopped every run in its last step but two, and left the service disabled."""
    cloud = with_a_stranger()
    with pytest.raises(StepError, match="SG110"):
        last_look(monkeypatch, cloud)
    done = last_look(monkeypatch, cloud, **{when: [NAMED]})
    assert done.memory["passed"] == [["SG110", STRANGER]]


def test_an_override_does_not_pass_what_the_rename_itself_left(monkeypatch):
    """SG301 of before was judged by a person; a row that still has the old name afterwards was not."""
    cloud = builders.healthy()
    row = cloud.rows("instances")[0]
    left = cloud.change("instances", {"id": row.id}, host="was", node="was")
    named = [Override("SG301", row.uuid, "half a rename")]
    with pytest.raises(StepError, match="SG301"):
        last_look(monkeypatch, left, named_at_start=named, overrides=named)


def without(cloud, part):
    """The same cloud where one place of the name was not read at the end."""
    some = cloud.bundle
    if part == "instances":
        cells = [dataclasses.replace(cell, instances=None) for cell in some.databases.cells]
        return dataclasses.replace(some, databases=dataclasses.replace(some.databases, cells=cells))
    if part == "host_mappings":
        api = dataclasses.replace(some.databases.api, host_mappings=None)
        return dataclasses.replace(some, databases=dataclasses.replace(some.databases, api=api))
    if part in ("nova_conf", "libvirt"):
        host = dataclasses.replace(some.hosts["compute1"], **{part: None})
        return dataclasses.replace(some, hosts={**some.hosts, "compute1": host})
    return dataclasses.replace(some, cloud=dataclasses.replace(some.cloud, **{part: None}))


OF_CLOUD = ("services", "hypervisors", "servers", "providers", "agents", "ports")
OF_OTHERS = ("instances", "host_mappings", "nova_conf", "libvirt")


@pytest.mark.parametrize("part", [*OF_CLOUD, *OF_OTHERS])
def test_a_place_that_was_not_read_at_the_end_keeps_the_service_disabled(monkeypatch, part):
    """It said "the old name is gone" of ports, agents and providers that the API had not answered for."""
    cloud = builders.healthy()
    assert last_look(monkeypatch, cloud).remark
    with pytest.raises(StepError, check=problem_is("places-not-read")):
        last_look(monkeypatch, types.SimpleNamespace(bundle=without(cloud, part), rows=cloud.rows))
