# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis of a dead host against real OVN databases: reported with all that is left of it, removed if asked for."""

from __future__ import annotations

import time

import pytest
from ovn_servers import OvnServers

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Clock
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.chassis import operation as evacuation_chassis
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiAgent, ApiService
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    compute_services,
    network,
    server_records,
)

DEAD, ALIVE = "compute1", "compute2"
GONE = "tcp:127.0.0.1:1"


class Scene:
    """A dead host whose guest has moved: its port asks for the living host."""

    def __init__(self, servers, directory):
        self.servers, self.directory = servers, str(directory)
        self.name, self.other = servers.chassis(DEAD, 1), servers.chassis(ALIVE, 2)
        servers.ports(ALIVE, ["guest"])
        self.alive = {self.name: False}

    def agents(self, _connection, host):
        """What neutron shows of the host."""
        kind = "OVN Controller agent"
        return [ApiAgent(name, kind, "ovn-controller", host, alive) for name, alive in self.alive.items()]

    def look(self, **options):
        return evacuation_chassis.look(None, {**self.servers.options, **options}, DEAD, self.directory)

    def removal(self):
        clock = Clock(str, time.monotonic, time.time, time.sleep)
        return evacuation_chassis.ChassisRemoval(None, self.servers.options, DEAD, clock)

    def delete(self, _connection, name):
        """As neutron does it: the rows of both tables."""
        self.servers.sb("--if-exists", "destroy", "Chassis_Private", name)
        self.servers.sb("--if-exists", "chassis-del", name)

    def names(self):
        return set(self.servers.sb("--bare", "--columns=name", "list", "Chassis").split())


@pytest.fixture
def scene(monkeypatch, tmp_path):
    servers = OvnServers()
    try:
        servers.start()
        made = Scene(servers, tmp_path)
        for name in ("list_agents", "agents_now"):
            monkeypatch.setattr(network, name, made.agents)
        monkeypatch.setattr(network, "delete_agent", made.delete)
        service = ApiService("s1", DEAD, "nova-compute", "down", "disabled", True, None)
        monkeypatch.setattr(compute_services, "find_service", lambda *_arguments: service)
        monkeypatch.setattr(server_records, "servers_on", lambda *_arguments: [])
        yield made
    finally:
        servers.stop()


def test_it_is_reported_once_and_stays(scene):
    checked = scene.look()
    (item,) = checked.findings
    assert (item.code, item.severity, item.object.id) == ("SG328", "warning", scene.name)
    assert item.evidence == {
        "hostname": DEAD,
        "tunnel endpoints": ["geneve 192.0.2.1"],
        "gateway of routers": False,
        "ports bound to it": [],
        "alive": False,
    }
    assert f"openstack network agent delete {scene.name}" in item.remedy
    assert checked.unchecked == ()
    assert scene.names() == {scene.name, scene.other}


@pytest.mark.parametrize("how", ["hostname", "name"])
def test_a_port_that_asks_for_it_is_shown(scene, how):
    scene.servers.ports(DEAD if how == "hostname" else scene.name, ["left"])
    assert scene.look().findings[0].evidence["ports bound to it"] == ["left"]


def test_a_port_that_is_bound_to_it_is_shown(scene):
    """As the port of a router's gateway, which no option names."""
    scene.servers.nb("--wait=sb", "lsp-add", "ls0", "gateway")
    scene.servers.sb("lsp-bind", "gateway", scene.name)
    assert scene.look().findings[0].evidence["ports bound to it"] == ["gateway"]


def test_of_two_chassis_of_the_name_only_the_dead_one_may_be_deleted(scene):
    living = scene.servers.chassis(DEAD, 3)
    scene.alive[living] = True
    remedies = {item.object.id: item.remedy for item in scene.look().findings}
    assert set(remedies) == {scene.name, living}
    assert "agent delete" in remedies[scene.name]
    assert "agent delete" not in remedies[living] and "Do not delete" in remedies[living]


def test_databases_that_do_not_answer_are_no_none(scene):
    checked = scene.look(ovn_nb_connection=GONE, ovn_sb_connection=GONE)
    assert [item.code for item in checked.unchecked] == ["SG328"]
    assert [item.object.id for item in checked.findings] == [scene.name], "neutron shows it all the same"


def test_a_northbound_database_that_does_not_answer_is_no_word_about_gateways(scene):
    checked = scene.look(ovn_nb_connection=GONE)
    assert [item.evidence["gateway of routers"] for item in checked.findings] == [None]
    assert ["gateway" in item.reason for item in checked.unchecked] == [True]


def test_a_chassis_that_the_southbound_database_does_not_have_is_reported_by_its_agent(scene):
    """The database of another cloud, or the host's full name as hostname."""
    scene.servers.sb("set", "Chassis", scene.name, "hostname=compute1.example.org")
    (item,) = scene.look().findings
    assert (item.object.id, item.evidence["in the southbound database"]) == (scene.name, False)


# --- the removal


def test_one_that_nothing_uses_is_removed_and_no_other(scene):
    assert scene.removal().decide(None).name == scene.name
    outcome = scene.removal().remove(scene.name, lambda: None)
    assert (outcome.name, outcome.why) == (scene.name, "")
    assert scene.names() == {scene.other}
    scene.alive = {}
    assert scene.removal().decide(scene.name).name == scene.name, "the next run after a kill"


@pytest.mark.parametrize("how", ["requested", "listed", "bound", "gateway", "second"])
def test_one_that_something_uses_stays(scene, how):
    if how == "requested":
        scene.servers.ports(DEAD, ["left"])
    elif how == "listed":
        scene.servers.ports(f"{ALIVE},{DEAD}", ["left"])
    elif how == "bound":
        scene.servers.nb("--wait=sb", "lsp-add", "ls0", "gateway")
        scene.servers.sb("lsp-bind", "gateway", scene.name)
    elif how == "gateway":
        scene.servers.nb("lr-add", "lr0", "--", "lrp-add", "lr0", "lrp0", "02:00:00:00:00:01", "192.0.2.254/24")
        scene.servers.nb("--wait=sb", "lrp-set-gateway-chassis", "lrp0", scene.name)
    else:
        scene.servers.chassis(DEAD, 3)
    assert isinstance(scene.removal().decide(None), evacuation_chassis.Objection)
    outcome = scene.removal().remove(scene.name, lambda: None)
    assert outcome.name is None and outcome.why
    assert scene.name in scene.names()


def test_without_a_proof_nothing_is_removed(scene):
    assert scene.removal().remove(scene.name, lambda: "the machine may be on").why == "the machine may be on"
    assert scene.name in scene.names()
