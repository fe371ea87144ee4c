# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rename with OVN against real ovsdb-servers, a real ovn-northd and real databases of neutron.

A port that its chassis releases is a guest without a network: the tests count releases. What a chassis does with its
ports is written down again in ovn_servers.Controller; that packets are not lost is proven on the lab.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
import types

import pytest
import servers
from ovn_servers import SCHEMAS, Controller, OvnServers
from world import World

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, OvnError
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import Names
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import steps
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, neutron_bindings, nova
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import names as host_names
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostStepError, OvsHostname
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import northbound, reading, southbound
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn.database import OvnAccess

OLD, NEW, OTHER = "compute1", "renamed1", "compute2"


class KilledError(BaseException):
    """The run is gone: nothing of it is done any more."""


class Quiet:
    """Nobody reads along."""

    def begin(self, *_arguments, **_more):
        pass

    remark = end = begin


class ComputeHost:
    """The compute host: its Open vSwitch, and the journal of the operation. ``kill_at``: the call that ends the run."""

    def __init__(self, external_ids, controller):
        self.external_ids, self.controller = external_ids, controller
        self.journal, self.calls, self.kill_at, self.kill_after = None, 0, None, False
        #: Called when a request has been carried out.
        self.seen = lambda _request: None

    def call(self, requests):
        self.calls += 1
        if self.calls == self.kill_at and not self.kill_after:
            raise KilledError
        results = [self._one(request) for request in requests]
        if self.calls == self.kill_at:
            raise KilledError
        return results

    def _one(self, request):
        answer = {"ok": True}
        if request["op"] == "journal_mark":
            self.journal = journals.noted(self.journal, request["note"])
        elif request["op"] == "journal_close":
            self.journal = request["journal"]
        else:
            try:
                answer.update(getattr(OvsHostname(), request["op"])(request["params"]))
            except HostStepError as error:
                raise runner.StepError(str(error)) from error
            self.controller.hostname = self.external_ids.get("hostname", OLD)
        self.seen(request)
        return answer


class Scene:
    """A chassis with ports, another one, neutron's rows, and a plan to rename the host of the first."""

    def __init__(self, servers_, world, monkeypatch, ports=3, key=True, name=None):
        self.servers, self.world = servers_, world
        self.name = servers_.chassis(OLD, 1, name)
        self.other = servers_.chassis(OTHER, 2)
        self.ports = [f"port{number}" for number in range(ports)]
        servers_.ports(OLD, self.ports)
        servers_.ports(OTHER, ["stranger"])
        world.bound_ports({**dict.fromkeys(self.ports, OLD), "stranger": OTHER})
        world.insert("neutron", "segmenthostmappings", segment_id="segment", host=OLD)
        world.insert("neutron", "segmenthostmappings", segment_id="segment", host=OTHER)
        self.external_ids = {"system-id": self.name, **({"hostname": OLD} if key else {})}
        self.controller = Controller(servers_, self.name, OLD, self.ports)
        self.stranger = Controller(servers_, self.other, OTHER, ["stranger"])
        self.host = ComputeHost(self.external_ids, self.controller)
        monkeypatch.setattr(host_names, "ovs_external_ids", lambda: dict(self.external_ids))
        monkeypatch.setattr(host_names, "set_ovs_external_id", self.external_ids.__setitem__)
        monkeypatch.setattr(host_names, "remove_ovs_external_id", lambda key: self.external_ids.pop(key, None))
        self.until(lambda: self.claimed == ports)
        self.remarks = []
        self._sessions = []

    @property
    def claimed(self):
        return sum(1 for _port, what in self.controller.events if what == "claimed")

    @property
    def released(self):
        return [port for port, what in self.controller.events if what == "released"]

    def until(self, what, seconds=15):
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.01)

    def close(self):
        for each in (self.controller, self.stranger):
            each.close()
        self.forget()

    @property
    def options(self):
        return {**self.servers.options, "neutron_db_url": self.world.url("neutron")}

    def hostnames(self):
        """What each chassis is called now, by a replica that is open: libuuid keeps a descriptor of each thread that
        ever connected, and ovs selects among the first 1024 only."""
        return {row.hostname for row in southbound.read_chassis(self.stranger._database)}

    def facts(self):
        return reading.read_ovn(self.options, [OLD, NEW], probe=True)

    def rows(self):
        with engine.snapshot(self.world.url("neutron")) as connection:
            return neutron_bindings.read_bindings(connection, [OLD, NEW])

    def plan(self):
        host = types.SimpleNamespace(ovs_external_ids=dict(self.external_ids), inventory_name="compute1")
        names = (Names(OLD, OLD, OLD), Names(NEW, NEW, NEW))
        about = plans.renaming(self.facts(), self.rows(), host, names, 10)
        verified, _agents = plans.proof(about, [], [])
        return Plan("rename", "0123456789ab", f"{OLD} -> {NEW}", [*plans.steps(about), verified])

    def runner(self):
        """A new process: nothing is kept of an earlier one but what the journal has."""
        systems = kernel.Systems(self.options, self.host, {}, time.sleep, time.monotonic, self.remarks.append)
        actions = steps.actions(systems)
        self._sessions.append(actions["ovn_hostname"].session)
        return runner.Runner(self.host, actions, Quiet(), lambda: "2026-11-25T00:00:00+00:00")

    def begin(self):
        self.host.journal = runner.new_journal(self.plan(), {}, "2026-11-25T00:00:00+00:00")
        return self.forward()

    def forward(self):
        return self.runner().forward(self.host.journal)

    def backward(self):
        return self.runner().backward(self.host.journal)

    def kill_at(self, call, after):
        """Begin, and end the run at a call to the host; return whether it came so far."""
        self.host.calls, self.host.kill_at, self.host.kill_after = 0, call, after
        try:
            self.begin()
        except KilledError:
            return True
        finally:
            self.host.kill_at = None
            # A process that is gone watches nothing.
            self.forget()
        return False

    def forget(self):
        """What the process of an earlier run had open is gone with it."""
        for session in self._sessions:
            session.abandon()

    def found(self):
        """What the steps have found, as findings."""
        parts = [part for part in self.host.journal.get("memory", {}).values() if isinstance(part, dict)]
        return [entry for part in parts for entry in part.get("findings") or ()]

    def verify(self, host):
        """Everything has this name, and nothing the other one; the other chassis is as it was."""
        wrong = NEW if host == OLD else OLD
        requested = self.servers.requested()
        assert {requested[port] for port in self.ports} == {host}
        assert requested["stranger"] == OTHER
        facts = self.facts()
        labels = {port.host_id for port in facts.switch_ports}
        assert labels == {host}
        assert self.world.hosts_of("ml2_port_bindings") == sorted([host] * len(self.ports) + [OTHER])
        assert self.world.hosts_of("ml2_port_binding_levels") == sorted([host] * len(self.ports) + [OTHER])
        assert self.world.hosts_of("segmenthostmappings") == sorted([host, OTHER])
        chassis = {entry.name: entry.hostname for entry in facts.chassis}
        assert chassis == {self.name: host, self.other: OTHER}
        assert self.external_ids["hostname"] == host != wrong
        bindings = {entry.logical_port: entry for entry in facts.port_bindings}
        assert all(bindings[port].up and bindings[port].chassis == bindings[port].requested for port in self.ports)


@pytest.fixture
def ovn():
    found = OvnServers()
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def made(ovn, maria, monkeypatch):
    """Make a scene; what it has opened is closed at the end."""
    scenes = []

    def make(**how):
        scenes.append(Scene(ovn, maria, monkeypatch, **how))
        return scenes[-1]

    yield make
    for each in scenes:
        each.close()


@pytest.fixture
def scene(made):
    return made()


def test_a_port_that_names_nothing_of_its_chassis_is_released(scene):
    """The failure that the order avoids: without it this file would prove nothing."""
    scene.controller.hostname = NEW
    scene.until(lambda: len(scene.released) == len(scene.ports))


def test_ports_first_are_released_too(scene):
    with northbound.of_hosts(scene.servers.access, [OLD]) as database:
        northbound.point(database, {OLD: NEW})
    scene.until(lambda: len(scene.released) == len(scene.ports))


def test_a_rename_there_and_back_releases_no_port(scene):
    before = scene.facts()
    assert scene.begin()["state"] == journals.FINISHED
    scene.verify(NEW)
    assert [entry.uuid for entry in scene.facts().chassis] == [entry.uuid for entry in before.chassis]
    scene.backward()
    scene.verify(OLD)
    assert (scene.released, scene.claimed, scene.stranger.events) == ([], 3, [("stranger", "claimed")])
    assert scene.found() == []


@pytest.mark.parametrize(
    ("back", "after"),
    [
        (False, True),
        *(
            pytest.param(*how, marks=pytest.mark.matrix("databases"))
            for how in ((False, False), (True, False), (True, True))
        ),
    ],
)
def test_killed_at_every_call_to_the_host_and_resumed_or_rolled_back_releases_no_port(scene, after, back):
    call, steps_ = 0, 0
    while True:
        call += 1
        if not scene.kill_at(call, after):
            break
        steps_ += 1
        if back:
            scene.backward()
            scene.verify(OLD)
        else:
            scene.forward()
            scene.verify(NEW)
            scene.host.journal["state"] = journals.OPEN
            scene.backward()
        scene.verify(OLD)
    assert steps_ > 8, "it was killed at fewer calls than there are steps"
    assert scene.released == []


def test_killed_within_the_step_between_its_parts(scene, monkeypatch):
    """Open vSwitch says the new name and the run is gone: no guest is cut off, and both ways are open."""
    for end in (scene.forward, scene.backward):
        scene.host.seen = lambda request: (_ for _ in ()).throw(KilledError) if request["op"] == "apply" else None
        with pytest.raises(KilledError):
            scene.begin()
        scene.forget()
        scene.host.seen = lambda _request: None
        scene.until(lambda: NEW in scene.hostnames())
        end()
        scene.verify(NEW if end == scene.forward else OLD)
        if end == scene.forward:
            scene.host.journal["state"] = journals.OPEN
            scene.backward()
            scene.verify(OLD)
    assert scene.released == []


def updated_in_the_window(scene, update):
    """An owner updates a port while neutron's database has the old name, and the chassis the new one."""

    def seen(request):
        if request["op"] == "apply":
            scene.until(lambda: NEW in scene.hostnames())
            update()
            scene.until(lambda: scene.servers.requested()["port1"] == scene.name)

    scene.host.seen = seen
    scene.begin()
    scene.verify(NEW)
    (found,) = scene.found()
    assert (found["code"], found["object"]["id"]) == ("SG326", "port1")
    assert found["evidence"]["corrected"] == 1
    return found["evidence"]["milliseconds without its chassis"]


def test_an_owners_update_in_the_window_is_corrected_at_once(scene):
    lost = updated_in_the_window(scene, lambda: scene.servers.update("port1", OLD))
    assert lost < 2000, "it takes a few milliseconds on an idle machine"
    assert (lost > 0) == (scene.released == ["port1"]), "often ovn-northd does not even see the wrong name"


def test_the_outage_of_a_port_is_measured(scene):
    def update():
        """The watch is slow: the port is released, and is so for a while."""
        with scene._sessions[-1]._watch.changing:
            scene.servers.update("port1", OLD)
            scene.until(lambda: scene.released == ["port1"])
            time.sleep(0.5)

    assert 400 < updated_in_the_window(scene, update) < 10_000


def test_an_owners_update_before_the_hostname_changes_costs_nothing(scene):
    def update(request):
        note = request.get("note") or {}
        if (note.get("step"), note.get("step_state")) == ("ovn_hostname", journals.APPLYING):
            scene.servers.update("port2", OLD)

    scene.host.seen = update
    scene.begin()
    scene.verify(NEW)
    assert scene.released == []
    (found,) = scene.found()
    assert (found["object"]["id"], found["evidence"]["milliseconds without its chassis"]) == ("port2", 0)


def test_an_update_while_no_run_is_there_is_corrected_by_the_one_that_resumes(scene):
    """The run is killed with the new hostname and the old rows: the owner's update cuts the port until it resumes."""
    scene.host.seen = lambda request: (_ for _ in ()).throw(KilledError) if request["op"] == "apply" else None
    with pytest.raises(KilledError):
        scene.begin()
    scene.forget()
    scene.host.seen = lambda _request: None
    scene.until(lambda: NEW in scene.hostnames())
    scene.servers.update("port0", OLD)
    scene.until(lambda: scene.released == ["port0"])
    scene.forward()
    scene.verify(NEW)
    (found,) = scene.found()
    assert found["object"]["id"] == "port0"
    assert str(found["evidence"]["milliseconds without its chassis"]).startswith("more than")


def test_without_the_key_it_is_set_first_and_taken_away_by_a_rollback(made):
    scene = made(key=False)
    names = [step.name for step in scene.plan().steps]
    assert names[0] == "ovn_key"
    scene.begin()
    scene.verify(NEW)
    assert scene.external_ids["hostname"] == NEW
    scene.backward()
    assert "hostname" not in scene.external_ids
    assert (scene.released, {row.hostname for row in scene.facts().chassis}) == ([], {OLD, OTHER})


def test_a_chassis_that_is_named_after_the_host_keeps_its_name(made):
    scene = made(name=OLD)
    scene.begin()
    scene.verify(NEW)
    scene.backward()
    scene.verify(OLD)
    assert scene.released == []


def test_with_rbac_an_administrator_writes_the_hostname_of_the_chassis(scene):
    scene.controller.may_write_hostname = False
    scene.servers.sb("--", "--id=@c", "create", "Connection", 'target="ptcp:16642"', "role=ovn-controller", "--",
                     "set", "SB_Global", ".", "connections=@c")  # fmt: skip
    scene.begin()
    scene.verify(NEW)
    scene.backward()
    scene.verify(OLD)
    assert scene.released == []


def test_a_controller_that_is_deaf_afterwards_ends_the_run(scene):
    """Guests run on, and no new port would ever be bound: what looks like a success is none."""

    def deafen(request):
        if request["op"] == "journal_mark" and request["note"].get("step") == "ovn_verified":
            scene.controller.paused.set()

    plan = scene.plan()
    short = [dataclasses.replace(step, params={**step.params, "timeout": 2}) for step in plan.steps]
    scene.host.journal = runner.new_journal(dataclasses.replace(plan, steps=short), {}, "now")
    scene.host.seen = deafen
    with pytest.raises(runner.StepError, match="ovn-controller of renamed1 confirms changes in OVN again"):
        scene.forward()
    scene.controller.paused.clear()
    scene.host.seen = lambda _request: None
    scene.backward()
    scene.verify(OLD)


def at(step, state, what):
    """Do something when the journal notes a state of a step."""

    def seen(request):
        note = request.get("note") or {}
        if (note.get("step"), note.get("step_state")) == (step, state):
            what()

    return seen


def register_again(scene):
    """ovn-controller was stopped and starts again: its chassis has the same name, and is another row."""
    before = next(row.uuid for row in scene.facts().chassis if row.name == scene.name)
    scene.servers.forget_chassis(scene.name)
    scene.servers.chassis(scene.controller.hostname, 1, scene.name)
    assert before not in {row.uuid for row in scene.facts().chassis}


@pytest.mark.parametrize("back", [False, True])
def test_a_chassis_that_registered_again_between_two_runs_hinders_neither_a_resume_nor_a_rollback(scene, back):
    scene.host.seen = lambda request: (_ for _ in ()).throw(KilledError) if request["op"] == "apply" else None
    with pytest.raises(KilledError):
        scene.begin()
    scene.forget()
    scene.host.seen = lambda _request: None
    scene.until(lambda: NEW in scene.hostnames())
    register_again(scene)
    (scene.backward if back else scene.forward)()
    scene.verify(OLD if back else NEW)
    if not back:
        (found,) = scene.found()
        assert (found["code"], found["severity"]) == ("SG318", "warning"), (
            "the guests may have been cut off: it is told"
        )


def test_a_chassis_that_registers_again_within_a_run_with_rbac_is_renamed(scene):
    scene.controller.may_write_hostname = False
    scene.servers.sb("--", "--id=@c", "create", "Connection", 'target="ptcp:16642"', "role=ovn-controller", "--",
                     "set", "SB_Global", ".", "connections=@c")  # fmt: skip
    scene.host.seen = at("ovn_hostname", journals.APPLYING, lambda: register_again(scene))
    scene.begin()
    scene.host.seen = lambda _request: None
    scene.verify(NEW)


def test_a_chassis_that_is_away_is_waited_for_and_a_later_run_ends_it(scene):
    plan = scene.plan()
    scene.servers.forget_chassis(scene.name)
    short = [dataclasses.replace(step, params={**step.params, "timeout": 1}) for step in plan.steps]
    scene.host.journal = runner.new_journal(dataclasses.replace(plan, steps=short), {}, "now")
    with pytest.raises(runner.StepError, match=f"chassis {scene.name} appears in OVN"):
        scene.forward()
    back = threading.Timer(3, lambda: scene.servers.chassis(OLD, 1, scene.name))
    back.start()
    scene.host.journal = runner.new_journal(plan, {}, "now")
    scene.forward()
    back.join()
    scene.verify(NEW)


@pytest.mark.parametrize("step", ["ovn_ports_by_host", "ovn_verified"])
def test_what_neutron_had_in_flight_is_corrected_until_all_is_verified(scene, step):
    """Neutron read its rows before they changed, and writes the port when the ports have the new name."""
    state = journals.DONE if step == "ovn_ports_by_host" else journals.APPLYING
    scene.host.seen = at(step, state, lambda: scene.servers.update("port1", OLD))
    scene.begin()
    scene.host.seen = lambda _request: None
    scene.verify(NEW)
    (found,) = scene.found()
    assert (found["code"], found["object"]["id"]) == ("SG326", "port1")


def test_a_run_that_resumes_at_its_end_corrects_what_was_written_meanwhile(scene):
    scene.host.seen = at("ovn_ports_by_host", journals.DONE, lambda: (_ for _ in ()).throw(KilledError))
    with pytest.raises(KilledError):
        scene.begin()
    scene.forget()
    scene.host.seen = lambda _request: None
    scene.servers.update("port1", OLD)
    scene.servers.label("port2", OLD)
    scene.forward()
    scene.verify(NEW)


def test_a_kept_port_that_its_owner_updates_names_the_chassis_again(scene):
    scene.servers.update("port2", scene.name)
    scene.host.seen = at("ovn_ports_by_host", journals.APPLYING, lambda: scene.servers.update("port2", OLD))
    scene.begin()
    scene.host.seen = lambda _request: None
    assert scene.servers.requested() == {"port0": NEW, "port1": NEW, "port2": scene.name, "stranger": OTHER}
    scene.host.seen = at("ovn_ports_by_chassis", journals.UNDOING, lambda: scene.servers.update("port2", NEW))
    scene.backward()
    assert scene.servers.requested() == {"port0": OLD, "port1": OLD, "port2": scene.name, "stranger": OTHER}


def test_a_rollback_takes_back_the_label_that_neutron_wrote_meanwhile(scene):
    """A port goes up while neutron's rows still have the new name."""
    scene.begin()
    scene.host.seen = at("ovn_ports_by_host", journals.UNDONE, lambda: scene.servers.label("port0", NEW))
    scene.backward()
    scene.verify(OLD)


def test_a_host_gets_back_the_name_that_its_chassis_was_made_with(made):
    scene = made(name=NEW)
    scene.begin()
    scene.verify(NEW)
    scene.backward()
    scene.verify(OLD)
    assert scene.released == []


@pytest.fixture
def impatient(monkeypatch):
    """Timeouts of three seconds."""
    of = OvnAccess.of
    monkeypatch.setattr(OvnAccess, "of", lambda options: dataclasses.replace(of(options), timeout=3))


def test_a_paused_northd_is_seen_beforehand(scene, impatient):
    scene.servers.northd("pause")
    facts = dataclasses.replace(scene.facts())
    assert facts.northd_ms is None
    assert "ovn-northd has not applied" in facts.unread[0].reason


def test_a_northd_that_is_paused_in_between_stops_the_run_before_the_hostname_changes(scene, impatient):
    plan = scene.plan()
    scene.host.journal = runner.new_journal(plan, {}, "now")
    scene.servers.northd("pause")
    with pytest.raises(runner.StepError, match="ovn-northd has not applied"):
        scene.forward()
    assert scene.external_ids["hostname"] == OLD
    scene.servers.northd("resume")
    scene.forward()
    scene.verify(NEW)
    assert scene.released == []


@pytest.mark.parametrize("name", ["nb", "sb"])
def test_a_database_that_hangs_ends_in_time(ovn, name, impatient):
    ovn.freeze(name)
    begun = time.monotonic()
    facts = reading.read_ovn(ovn.options, [OLD])
    took = time.monotonic() - begun
    ovn.thaw(name)
    assert "no answer within 8 s" in facts.unread[0].reason
    assert took < 15


def test_a_database_that_hangs_in_between_ends_the_step_and_the_watch(scene, impatient):
    def freeze(request):
        note = request.get("note") or {}
        if (note.get("step"), note.get("step_state")) == ("ovn_ports_by_host", journals.APPLYING):
            scene.servers.freeze("nb")

    scene.host.seen = freeze
    with pytest.raises(runner.StepError, match="no answer within 3 s"):
        scene.begin()
    scene.servers.thaw("nb")
    scene.host.seen = lambda _request: None
    scene.backward()
    scene.verify(OLD)
    assert scene.released == []


def test_no_database_and_no_connection_are_said():
    nowhere = {"ovn_nb_connection": "tcp:127.0.0.1:1", "ovn_sb_connection": "tcp:127.0.0.1:1"}
    facts = reading.read_ovn(nowhere, [OLD])
    assert (facts.chassis, facts.switch_ports) == (None, None)
    assert "OVN_Southbound at tcp:127.0.0.1:1" in facts.unread[0].reason
    assert "ovn_sb_connection: not set" in reading.read_ovn({"ovn_nb_connection": "unix:/x"}, [OLD]).unread[0].reason
    secure = {"ovn_nb_connection": "ssl:127.0.0.1:1", "ovn_sb_connection": "ssl:127.0.0.1:1"}
    assert "ovn_private_key" in reading.read_ovn(secure, [OLD]).unread[0].reason


def test_five_hundred_ports_take_two_transactions(made, monkeypatch):
    scene = made(ports=500)
    some, sizes = northbound._point_some, []

    def counted(*arguments):
        found = some(*arguments)
        if found[0]:
            sizes.append(len(found[0]))
        return found

    monkeypatch.setattr(northbound, "_point_some", counted)
    begun = time.monotonic()
    scene.begin()
    assert sizes == [500, 500]
    assert time.monotonic() - begun < 60, "it takes two seconds on an idle machine"
    scene.verify(NEW)
    assert scene.released == []


def test_only_the_ports_of_the_host_are_copied(scene):
    with northbound.of_hosts(scene.servers.access, [OLD, NEW, scene.name]) as database:
        assert [port.name for port in northbound.read_ports(database)] == scene.ports


@pytest.mark.parametrize("word", ["compute2,compute1", "compute1,compute2"])
def test_a_list_of_hosts_is_read_for_each_of_them(ovn, word):
    """A condition compares the whole value: a port in transit was in the facts of no host."""
    ovn.chassis(OLD, 1)
    ovn.chassis(OTHER, 2)
    ovn.ports(word, ["moving"])
    ovn.ports("compute3", ["stranger"])
    ovn.label("moving", "compute3")
    for host in (OLD, OTHER):
        facts = reading.read_ovn(ovn.options, [host])
        assert [port.requested for port in facts.switch_ports] == [word]
        assert [binding.logical_port for binding in facts.port_bindings] == ["moving"]
    assert reading.read_ovn(ovn.options, ["compute9"]).switch_ports == []


def test_a_column_that_this_version_does_not_have_is_no_condition(ovn, monkeypatch):
    """The additional chassis came with OVN 22.09: with an older one the whole connection would fail."""
    monkeypatch.setattr(southbound, "CHASSIS_COLUMNS", (*southbound.CHASSIS_COLUMNS, "of_tomorrow"))
    tables = {**southbound._TABLES, southbound.BINDINGS: (*southbound._TABLES[southbound.BINDINGS], "of_tomorrow")}
    monkeypatch.setattr(southbound, "_TABLES", tables)
    ovn.chassis(OLD, 1)
    ovn.ports(OLD, ["port"])
    facts = reading.read_ovn(ovn.options, [OLD])
    assert [binding.logical_port for binding in facts.port_bindings] == ["port"], facts.unread


def test_an_audit_reads_the_chassis_and_the_ports_that_name_none(scene):
    scene.servers.update("stranger", "nobody")
    scene.servers.nb("--wait=sb", "sync")
    facts = reading.read_ovn(scene.options)
    assert [binding.option for binding in facts.port_bindings if binding.option] == ["nobody"]
    assert len(facts.chassis) == 2
    assert facts.switch_ports is None
    assert facts.northd_ms is None, "an audit writes nothing"


# --- neutron's rows ---------------------------------------------------------------------------------------------


def planned(world: World) -> list[tuple[str, str]]:
    return [(table, "port1") for table in ("ml2_port_bindings", "ml2_port_binding_levels")]


def test_rows_are_moved_there_and_back_on_every_server(world):
    for port, host in (("port1", OLD), ("port2", OLD), ("stranger", OTHER)):
        world.bound_port(port, host)
    url = world.url("neutron")
    moved = neutron_bindings.move_bindings(url, OLD, NEW, planned(world))
    assert (moved.changed, moved.already, moved.gone) == (4, 0, [])
    assert moved.unplanned == ["ml2_port_binding_levels port2", "ml2_port_bindings port2"]
    assert world.hosts_of("ml2_port_bindings") == sorted([NEW, NEW, OTHER])
    again = neutron_bindings.move_bindings(url, OLD, NEW, planned(world))
    assert (again.changed, again.already) == (0, 4)
    assert neutron_bindings.move_bindings(url, NEW, OLD, [("ml2_port_bindings", "gone")]).gone == [
        "ml2_port_bindings gone"
    ]
    assert world.hosts_of("ml2_port_binding_levels") == sorted([OLD, OLD, OTHER])


def test_a_port_with_rows_of_both_names_is_refused_and_nothing_changes(world):
    world.bound_port("port1", OLD)
    world.bound_port("port1", NEW)
    world.bound_port("port2", OLD)
    with pytest.raises(Conflict, match="rows exist both for compute1 and for renamed1"):
        neutron_bindings.move_bindings(world.url("neutron"), OLD, NEW, planned(world))
    assert world.hosts_of("ml2_port_bindings") == sorted([OLD, OLD, NEW])


def test_a_name_in_another_case_is_refused(world):
    world.bound_port("port1", "COMPUTE1")
    with pytest.raises(Conflict, match="COMPUTE1"):
        neutron_bindings.move_bindings(world.url("neutron"), OLD, NEW, planned(world))


def test_the_last_word_before_the_commit_takes_everything_back(world):
    world.bound_port("port1", OLD)

    def refuse():
        raise runner.StepError("another run has it")

    with pytest.raises(runner.StepError, match="another run has it"):
        neutron_bindings.move_bindings(world.url("neutron"), OLD, NEW, planned(world), refuse)
    assert world.hosts_of("ml2_port_bindings") == [OLD]


def test_what_is_read_of_neutron_with_ovn(world):
    world.bound_port("port1", OLD)
    world.bound_port("stranger", OTHER)
    options = {**world.options(), "ovn_nb_connection": "unix:/x"}
    rows = nova.read_databases(options, [OLD], rename=True)
    assert [row.port_id for row in rows.neutron.bindings.bindings] == ["port1"]
    assert {grant.table for grant in rows.grants if grant.database == "neutron"} == {
        "agents", "ml2_port_bindings", "ml2_port_binding_levels", "segmenthostmappings",
    }  # fmt: skip
    assert all(grant.allowed for grant in rows.grants)
    assert nova.read_databases(world.options(), [OLD]).neutron.bindings is None


def test_a_missing_program_is_a_failure_and_no_skipped_test():
    assert servers.program("ovn-northd")


# --- ways to the databases --------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path):
    """Three members of a clustered northbound database; the first that is named is no leader."""
    ports = [servers.free_port() for _member in range(6)]
    raft, clients = ports[:3], ports[3:]
    schema = SCHEMAS / "ovn-nb.ovsschema"
    running = []
    try:
        for number in range(3):
            file = tmp_path / f"nb{number}.db"
            own = f"tcp:127.0.0.1:{raft[number]}"
            tool = servers.program("ovsdb-tool")
            made = [tool, "create-cluster", file, schema, own]
            joins = [tool, "join-cluster", file, "OVN_Northbound", own, f"tcp:127.0.0.1:{raft[0]}"]
            subprocess.run(joins if number else made, check=True, capture_output=True)
            server = servers.program("ovsdb-server", "/usr/sbin/ovsdb-server")
            remote = f"--remote=ptcp:{clients[number]}:127.0.0.1"
            ctl = f"--unixctl={tmp_path}/nb{number}.ctl"
            command = [servers.program("setpriv"), "--pdeathsig", "KILL", server, remote, ctl, str(file)]
            running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=tmp_path))
            wait = [servers.program("ovsdb-client"), "-t", "30", "wait", f"tcp:127.0.0.1:{clients[number]}"]
            end = time.monotonic() + 30
            while subprocess.run([*wait, "OVN_Northbound", "connected"], check=False, capture_output=True).returncode:
                assert time.monotonic() < end, "a member did not join"
                time.sleep(0.1)
        yield [f"tcp:127.0.0.1:{port}" for port in reversed(clients)], running
    finally:
        for process in running:
            process.kill()
            process.wait()


def ctl_of(remotes, *arguments):
    command = [servers.program("ovn-nbctl"), f"--db={','.join(remotes)}", "--timeout=20", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_leader_of_a_cluster_is_found_also_when_it_is_another_one(cluster):
    remotes, running = cluster
    ctl_of(remotes, "ls-add", "ls0", "--", "lsp-add", "ls0", "p", "--", "set", "Logical_Switch_Port", "p",
           f"options:requested-chassis={OLD}")  # fmt: skip
    access = OvnAccess(",".join(remotes), "unix:/nowhere", timeout=15)
    with northbound.of_hosts(access, [OLD, NEW]) as database:
        assert northbound.point(database, {OLD: NEW}, sync=False) == {"p": OLD}
        # The first member made the cluster and leads it.
        running[0].kill()
        running[0].wait()
        assert database.wait(lambda: True if northbound.read_ports(database) else None)
        end = time.monotonic() + 40
        while True:
            try:
                northbound.point(database, {NEW: OLD}, sync=False)
                break
            except OvnError:
                assert time.monotonic() < end, "no new leader was found"
    named = ctl_of(remotes[:2], "get", "Logical_Switch_Port", "p", "options:requested-chassis")
    assert named.strip('"') == OLD


def test_tls_is_spoken_with_the_files_that_are_given_and_another_authority_is_refused(tmp_path):
    made = {name: certificate(tmp_path, name) for name in ("right", "wrong")}
    file, port = tmp_path / "nb.db", servers.free_port()
    subprocess.run([servers.program("ovsdb-tool"), "create", file, SCHEMAS / "ovn-nb.ovsschema"], check=True)
    key, cert = made["right"]
    server = servers.program("ovsdb-server", "/usr/sbin/ovsdb-server")
    command = [server, f"--remote=pssl:{port}:127.0.0.1", f"--private-key={key}", f"--certificate={cert}",
               f"--ca-cert={cert}", f"--unixctl={tmp_path}/ctl", str(file)]  # fmt: skip
    process = subprocess.Popen([servers.program("setpriv"), "--pdeathsig", "KILL", *command], cwd=tmp_path)
    try:
        end = time.monotonic() + 20
        while not (tmp_path / "ctl").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        # ovs keeps the files for the whole process: each in one of its own.
        for name, fine in (("right", True), ("wrong", False)):
            script = TLS.format(remote=f"ssl:127.0.0.1:{port}", key=key, cert=cert, authority=made[name][1])
            done = subprocess.run(
                [sys.executable, "-c", script], check=False, capture_output=True, text=True, env={**os.environ, **PATHS}
            )
            assert (done.stdout.strip() == "read") == fine, done.stdout + done.stderr
            assert "PRIVATE" not in done.stdout + done.stderr
    finally:
        process.kill()
        process.wait()


PATHS = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
TLS = """
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import northbound
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn.database import OvnAccess
access = OvnAccess("{remote}", "{remote}", "{key}", "{cert}", "{authority}", timeout=3)
with northbound.of_hosts(access, ["compute1"]) as database:
    northbound.read_ports(database)
    print("read")
"""


def certificate(directory, name):
    """A key, and a certificate that is its own authority."""
    key, cert = directory / f"{name}.key", directory / f"{name}.pem"
    subprocess.run(
        [servers.program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert,
         "-days", "2", "-subj", f"/CN={name}"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return key, cert
