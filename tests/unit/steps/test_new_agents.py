# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way without neutron's database, killed at every instant: no port is ever left with a name that no agent has.

A neutron of a few lines binds a port where a live agent of the host's name is, and fails it elsewhere; an agent reports
under the name that its host has when it starts, as long as its unit runs. The runner, the plan's order and the actions
are the real ones.
"""

from __future__ import annotations

import copy
import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner as steps
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import HOST
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename
from ansible_collections.stackguard.nova.tests.unit import builders, journaled
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

BINARY = "neutron-openvswitch-agent"
#: agent_down_time, and how often an agent reports (neutron's defaults).
DOWN, REPORT = 75, 30


class Killed(BaseException):
    """The process is gone."""


class Silent:
    def begin(self, number, total, title, undo):
        pass

    def remark(self, text):
        pass

    end = remark


class World:
    """What outlives a killed run: the host, neutron, and the journal."""

    def __init__(self, monkeypatch, some):
        self.some, self.now, self.fuse, self.sparks = some, 0.0, None, 0
        self.name = self.reports_as = some.old
        self.running = {"compute", "agents"}
        self.started_compute_with = []
        self.journal, self.closed = None, []
        self.next_id = 100
        self.agents = {agent.id: self._row(agent, 0.0) for agent in some.cloud.bundle.cloud.agents}
        self.ports = {port.id: dataclasses.replace(port) for port in some.cloud.bundle.cloud.ports}
        self.since = 0.0
        for name in ("list_agents", "list_ports", "rebind_ports"):
            monkeypatch.setattr(rename.network, name, getattr(self, name))
        monkeypatch.setattr(rename.network, "delete_agent", self.delete_agent)

    @staticmethod
    def _row(agent, beat):
        return dataclasses.replace(agent, heartbeat_timestamp=str(beat))

    # --- time and kills

    def spark(self):
        self.sparks += 1
        if self.sparks == self.fuse:
            raise Killed

    def sleep(self, seconds):
        self.now += seconds
        if "agents" in self.running and (self.now - self.since) % REPORT < seconds:
            self._report()

    def _report(self):
        """Only the agent of the host that is renamed: the others are nobody's business."""
        mine = [row for row in self.agents.values() if row.host == self.reports_as and row.binary == BINARY]
        key = mine[0].id if mine else f"agent-{self.next_id}"
        self.next_id += not mine
        row = facts.ApiAgent(key, "Open vSwitch agent", BINARY, self.reports_as, True, str(self.now))
        self.agents[key] = row
        for port in list(self.ports.values()):
            if port.binding_host_id == self.reports_as and port.binding_vif_type == "ovs":
                self.ports[port.id] = dataclasses.replace(port, status="ACTIVE")

    # --- neutron

    def list_agents(self, _cloud, host=None):
        rows = [row for row in self.agents.values() if host in (None, row.host)]
        return [dataclasses.replace(row, alive=self.now - float(row.heartbeat_timestamp) < DOWN) for row in rows]

    def list_ports(self, _cloud, host):
        return [port for port in self.ports.values() if port.binding_host_id == host]

    def rebind_ports(self, _cloud, ports, before, after, _between):
        for entry in ports:
            port = self.ports[entry["id"]]
            assert port.binding_host_id in (before, after)
            if (port.binding_host_id, port.binding_vif_type) == (after, "ovs"):
                continue
            alive = any(agent.alive for agent in self.list_agents(None, after))
            vif_type = "ovs" if alive else "binding_failed"
            wired = "agents" in self.running and self.reports_as == after
            self.ports[port.id] = dataclasses.replace(
                port, binding_host_id=after, binding_vif_type=vif_type, status="ACTIVE" if wired else "DOWN"
            )
            self.spark()
            if not alive:
                raise ApiError(f"port {port.id} is now binding_failed")

    def delete_agent(self, _cloud, key):
        self.agents.pop(key, None)
        self.spark()

    # --- the host

    def facts(self, _arguments):
        """Every guest runs."""
        host = builders.healthy().bundle.hosts["compute1"]
        running = {port.device_id: 1 for port in self.ports.values()}
        return dataclasses.replace(host, domains=[], qemu_processes=running)

    def call(self, requests):
        results = []
        for request in requests:
            self.spark()
            results.append(getattr(self, f"_{request['op']}")(request) or {})
            self.spark()
        return results

    def _journal_open(self, request):
        self.journal = copy.deepcopy(request["journal"])

    def _journal_mark(self, request):
        self.journal = journals.noted(self.journal, request["note"])

    def _journal_close(self, request):
        self.closed.append(request["journal"]["state"])
        self.journal = None

    def _apply(self, request):
        if request["action"] == "start_units":
            self._start(request)
        elif request["action"] == "host_names":
            self.name = self.some.new

    def _undo(self, request):
        if request["action"] == "stop_units":
            self._start(request)
        elif request["action"] == "start_units":
            self._stop_begin(request)
        elif request["action"] == "host_names":
            self.name = self.some.old

    @staticmethod
    def _what(request):
        names = " ".join(unit["name"] for unit in request["params"]["units"])
        return "compute" if "nova-compute" in names else "agents"

    def _start(self, request):
        what = self._what(request)
        if what in self.running:
            return
        self.running.add(what)
        if what == "agents":
            self.reports_as, self.since = self.name, self.now
            self._report()
        else:
            self.started_compute_with.append((self.name, {p.binding_host_id for p in self.mine()}))

    def _stop_begin(self, request):
        self.running.discard(self._what(request))

    def _stop_poll(self, _request):
        return {"stopped": True}

    def _verify(self, _request):
        return {}

    def _log_mark(self, _request):
        return {"mark": {}}

    # --- what a test asks

    def mine(self):
        uuids = {row.id for row in self.some.cloud.bundle.cloud.ports if row.binding_host_id == self.some.old}
        return [self.ports[key] for key in sorted(uuids)]

    def state(self):
        alive = sorted(row.host for row in self.list_agents(None) if row.alive and row.binary == BINARY)
        return {
            "name": self.name,
            "running": self.running,
            "agents of the names": sorted({row.host for row in self.agents.values()} & {self.some.old, self.some.new}),
            "agent alive": self.name in alive,
            "reports as": self.reports_as,
            "ports": {(p.binding_host_id, p.binding_vif_type, p.status) for p in self.mine()},
        }

    def expected(self, name):
        return {
            "name": name,
            "running": {"compute", "agents"},
            "agents of the names": [name],
            "agent alive": True,
            "reports as": name,
            "ports": {(name, "ovs", "ACTIVE")},
        }


class Nothing:
    """A step of other systems than neutron."""

    def apply(self, params, memory):
        return steps.Done()

    def undo(self, params):
        pass


def plan_of(some):
    made = plans.plan(some.cloud.bundle, dataclasses.replace(some.request, has_neutron_db=False))
    kept = [step for step in made.steps if step.where == HOST or step.action in REAL]
    return dataclasses.replace(made, steps=kept)


REAL = ("ports_home", "ports", "new_agents", "delete_agents")


def runner(world):
    systems = kernel.Systems({}, world, {}, world.sleep, lambda: world.now, _connection=object())
    return steps.Runner(world, rename.actions(systems), Silent(), lambda: "2026-01-01T00:00:00Z")


def carry_out(world, back=False):
    """One run of the command: begin, carry on or take back, whatever the journal says."""
    if world.journal is None:
        if not world.closed and not back:
            journaled.begun(runner(world), plan_of(world.some), {})
    elif back or world.journal["state"] == journals.ROLLING_BACK:
        runner(world).backward(copy.deepcopy(world.journal))
    else:
        runner(world).forward(copy.deepcopy(world.journal))


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch, fleet(l2_agents=True))


def test_an_undisturbed_run(world):
    carry_out(world)
    assert world.state() == world.expected(world.some.new)
    assert world.started_compute_with == [(world.some.new, {world.some.new})], "no port is failed when Nova looks"


def sparks_of_a_run(monkeypatch):
    whole = World(monkeypatch, fleet(l2_agents=True))
    carry_out(whole)
    return whole.sparks


@pytest.mark.parametrize("back", [False, True], ids=["resume", "rollback"])
@pytest.mark.parametrize("minutes", [0, 5])
def test_killed_at_any_instant(monkeypatch, back, minutes):
    """Resumed at once, and after so long that a stopped agent counts as dead."""
    for at in range(1, sparks_of_a_run(monkeypatch) + 1):
        world = World(monkeypatch, fleet(l2_agents=True))
        world.fuse = at
        with pytest.raises(Killed):
            carry_out(world)
        for _second in range(minutes * 60):
            world.sleep(1)
        opened = world.journal is not None
        carry_out(world, back and opened)
        name = world.some.old if back and opened else world.some.new
        if world.closed:
            assert world.state() == world.expected(name), f"killed at {at}"
            assert all({called} == bound for called, bound in world.started_compute_with), f"killed at {at}"


def test_a_rollback_killed_at_any_instant_and_begun_again(monkeypatch):
    whole = sparks_of_a_run(monkeypatch)
    for first in range(5, whole, 3):
        for second in range(1, whole, 2):
            world = World(monkeypatch, fleet(l2_agents=True))
            world.fuse = first
            with pytest.raises(Killed):
                carry_out(world)
            world.fuse = world.sparks + second
            try:
                carry_out(world, back=True)
            except Killed:
                world.fuse = None
                carry_out(world, back=True)
            assert world.closed[-1:] != [journals.FINISHED]
            if world.closed:
                assert world.state() == world.expected(world.some.old), f"killed at {first}, then at {second}"


def test_an_agent_that_does_not_come_up_under_the_new_name_is_no_success_and_is_taken_back(world):
    report = World._report

    def only_as_the_old(self):
        if self.reports_as == self.some.old:
            report(self)

    world._report = lambda: only_as_the_old(world)
    with pytest.raises(steps.StepError, match=r"renamed1", check=problem_is("timed-out")):
        carry_out(world)
    assert {port.binding_host_id for port in world.mine()} == {world.some.old}, "no port is bound where no agent is"
    carry_out(world, back=True)
    assert world.state() == world.expected(world.some.old)


def test_a_port_that_is_not_wired_again_is_no_success(world):
    world.rebind_only_down = True

    def unwired(_cloud, ports, _before, after, _between):
        for entry in ports:
            port = world.ports[entry["id"]]
            world.ports[port.id] = dataclasses.replace(port, binding_host_id=after, status="DOWN")

    world.sleep = lambda seconds: setattr(world, "now", world.now + seconds)
    original, rename.network.rebind_ports = rename.network.rebind_ports, unwired
    try:
        with pytest.raises(steps.StepError, match=r"renamed1", check=problem_is("timed-out")):
            carry_out(world)
    finally:
        rename.network.rebind_ports = original
