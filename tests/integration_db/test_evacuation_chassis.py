# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis of a dead host against real OVN databases: removed as a whole, and never while in use."""

from __future__ import annotations

import pytest
from ovn_servers import Controller, OvnServers

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.operations import evacuation_chassis
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Stopped
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_records
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import southbound

DEAD, ALIVE = "compute1", "compute2"


class Scene:
    """A dead host whose guest has moved: its port asks for the living host, and is bound there."""

    def __init__(self, servers):
        self.servers = servers
        self.name, self.other = servers.chassis(DEAD, 1), servers.chassis(ALIVE, 2)
        servers.ports(ALIVE, ["guest"])
        self.alive = Controller(servers, self.other, ALIVE, ["guest"])
        self.servers_there = []

    def remove(self):
        return evacuation_chassis.remove(None, self.servers.options, DEAD)

    def look(self):
        return evacuation_chassis.look(None, self.servers.options, DEAD)

    def names(self, table):
        return set(self.servers.sb("--bare", "--columns=name", "list", table).split())

    def addresses(self):
        return set(self.servers.sb("--bare", "--columns=ip", "list", "Encap").split())


@pytest.fixture
def scene(monkeypatch):
    servers = OvnServers()
    made = None
    monkeypatch.setattr(evacuation_chassis, "ANSWER", 1.5)
    try:
        servers.start()
        made = Scene(servers)
        monkeypatch.setattr(server_records, "servers_on", lambda _cloud, _host: made.servers_there)
        yield made
    finally:
        if made is not None:
            made.alive.close()
        servers.stop()


def test_it_is_reported_and_then_removed_with_its_tunnel_and_its_private_row(scene):
    (item,) = scene.look().findings
    assert (item.code, item.severity, item.object.id) == ("SG328", "warning", scene.name)
    assert item.evidence["tunnel endpoints"] == ["geneve 192.0.2.1"]
    assert scene.remove() == f"chassis {scene.name} removed"
    assert scene.names("Chassis") == scene.names("Chassis_Private") == {scene.other}
    assert scene.addresses() == {"192.0.2.2"}, "a machine that replaces the host can register"
    assert scene.look().findings == ()


def test_a_second_removal_finds_nothing_to_do(scene):
    scene.remove()
    assert scene.remove() == "OVN has no chassis of this host"


@pytest.mark.parametrize("how", ["hostname", "name"])
def test_a_port_that_asks_for_it_keeps_it(scene, how):
    scene.servers.ports(DEAD if how == "hostname" else scene.name, ["left"])
    with pytest.raises(Stopped, match="ask for it: left"):
        scene.remove()
    assert scene.name in scene.names("Chassis")
    assert scene.look().findings[0].evidence["ports bound to it"] == ["left"]


def test_a_port_that_is_bound_to_it_keeps_it(scene):
    """As the port of a router's gateway, which no option names."""
    scene.servers.nb("--wait=sb", "lsp-add", "ls0", "gateway")
    scene.servers.sb("lsp-bind", "gateway", scene.name)
    with pytest.raises(Stopped, match="ports are bound to it, or ask for it: gateway"):
        scene.remove()
    assert scene.name in scene.names("Chassis")


def test_a_controller_that_answers_keeps_it(scene):
    """The host, or another machine of its name, is alive."""
    living = Controller(scene.servers, scene.name, DEAD, [])
    try:
        with pytest.raises(Stopped, match="is alive"):
            scene.remove()
    finally:
        living.close()
    assert scene.name in scene.names("Chassis")


def test_a_server_of_nova_on_the_host_keeps_it(scene):
    scene.servers_there = ["a server"]
    with pytest.raises(Stopped, match="1 server of Nova"):
        scene.remove()


def test_two_chassis_of_the_name_are_kept(scene):
    scene.servers.chassis(DEAD, 3)
    with pytest.raises(Stopped, match="2 chassis have this hostname"):
        scene.remove()
    assert len(scene.names("Chassis")) == 3


def test_a_port_that_is_bound_in_the_last_moment_keeps_it(scene):
    with southbound.of_chassis(scene.servers.access, [_uuid(scene)], [DEAD, scene.name]) as database:
        scene.servers.ports(DEAD, ["late"])
        seen = database.wait(lambda: True if southbound.read_bindings(database) else None)
        assert seen
        with pytest.raises(Conflict, match="late"):
            southbound.remove_chassis(database, scene.name, _uuid(scene))


def test_one_that_registered_again_is_kept(scene):
    before = _uuid(scene)
    scene.servers.forget_chassis(scene.name)
    scene.servers.sb("--if-exists", "destroy", "Chassis_Private", scene.name)
    scene.servers.chassis(DEAD, 1, scene.name)
    opened = southbound.of_chassis(scene.servers.access, [before])
    with opened as database, pytest.raises(Conflict, match="registered again"):
        southbound.remove_chassis(database, scene.name, before)


def test_databases_that_do_not_answer_keep_it_and_are_no_none(scene):
    scene.servers.access = None
    options = {"ovn_nb_connection": "tcp:127.0.0.1:1", "ovn_sb_connection": "tcp:127.0.0.1:1"}
    with pytest.raises(Stopped, match="were not read"):
        evacuation_chassis.remove(None, options, DEAD)
    assert [item.code for item in evacuation_chassis.look(None, options, DEAD).unchecked] == ["SG328"]


def _uuid(scene):
    return scene.servers.sb("--bare", "--columns=_uuid", "list", "Chassis", scene.name)
