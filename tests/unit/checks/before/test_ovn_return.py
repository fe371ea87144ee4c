# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with OVN comes back: ports that it would claim, and a chassis in its way, are reported before."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Finding, Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnEncap
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ReturnRequest
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import preflight as return_host
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import preflight_ovn as ovn_return
from ansible_collections.stackguard.nova.tests.unit.builders import agent, guest, packages, uid, with_open_vswitch
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_return_host import REQUEST as EVACUATED
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_return_host import back as evacuated
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    chassis,
    ovn_fleet,
    switch_port,
    with_host,
    with_ovn,
)

REQUEST = ReturnRequest("compute1", "compute1", (), ())


def back():
    """The servers of compute1 live on compute3 now, and so do their ports."""
    some = ovn_fleet(guests=1)
    cloud = some.cloud.change("servers", {"host": "compute1"}, host="compute3")
    cloud = cloud.change("ports", {"binding_host_id": "compute1"}, binding_host_id="compute3")
    return with_ovn(dataclasses.replace(some, cloud=cloud), switch_ports=[], scope=["compute1"])


def port_of(some):
    return next(port.id for port in some.cloud.rows("ports") if port.device_id == guest(1, 1))


def found(some):
    bundle = some.cloud.bundle
    return list(ovn_return.check(bundle, bundle.hosts["compute1"], REQUEST))


def codes(some):
    return [(item.code, item.severity) for item in found(some)]


def test_ports_that_name_their_new_hosts_are_safe():
    assert found(back()) == []


@pytest.mark.parametrize("word", ["compute1", "compute3,compute1", uid("system", 1)])
def test_a_port_of_a_guest_elsewhere_that_names_the_host_is_reported(word):
    """By hostname, in a list, or by the chassis' name: each is enough for its chassis to claim it."""
    some = back()
    (item,) = found(with_ovn(some, switch_ports=[switch_port(port_of(some), word)]))
    assert (item.code, item.object.id, item.severity) == ("SG511", port_of(some), "blocker")
    assert "openstack port set --host" in item.remedy


def test_a_port_that_nobody_knows_is_reported():
    assert codes(with_ovn(back(), switch_ports=[switch_port("stray", "compute1")])) == [("SG511", "blocker")]


def test_ports_of_servers_that_are_still_here_and_of_routers_are_none():
    some = ovn_fleet(guests=1)
    assert found(some) == []
    gateway = switch_port("gateway", "compute1", type="router")
    assert found(with_ovn(back(), switch_ports=[gateway])) == []


def test_a_tunnel_address_that_another_chassis_has_is_a_blocker():
    """The host was replaced: with the record of the dead one its chassis cannot register."""
    old = dataclasses.replace(chassis(9, "compute1"), encaps=[OvnEncap("geneve", "192.0.2.1")])
    rows = [old, *(row for row in back().cloud.bundle.databases.ovn.chassis if row.hostname != "compute1")]
    assert codes(with_ovn(back(), chassis=rows)) == [("SG318", "warning"), ("SG323", "blocker")]


def test_another_hostname_of_the_chassis_is_a_blocker():
    assert codes(with_ovn(back(), chassis=[chassis(1, "compute1.example")])) == [("SG321", "blocker")]


@pytest.mark.parametrize("change", [{"chassis": None}, {"switch_ports": None}])
def test_what_was_asked_for_and_not_read_keeps_the_host_out(change):
    """The return ended as clear, and the chassis could claim ports of guests that run elsewhere."""
    (item,) = found(with_ovn(back(), **change, unread=[Unread("ovn", "no answer")]))
    assert isinstance(item, Finding) and (item.code, item.severity) == ("SG317", "blocker")
    assert item.evidence["reasons"] == ["no answer"]


def test_without_connections_a_host_with_ovn_is_undecided_and_one_without_is_not_asked():
    some = back()
    some = dataclasses.replace(some, cloud=some.cloud.databases(ovn=None))
    (item,) = found(some)
    assert isinstance(item, Unchecked) and item.code == "SG317"
    other = dataclasses.replace(some, cloud=some.cloud.cloud(agents=[]))
    assert found(with_host(other, ovs_external_ids={"system-id": "x"})) == []
    without_ports = dataclasses.replace(back(), cloud=back().cloud.cloud(ports=None))
    assert [item.code for item in found(without_ports)] == ["SG511"]


def silent(agents, **changes):
    """The host's Open vSwitch was not read, its ovn-controller is stopped, and there is no connection."""
    some = dataclasses.replace(back(), cloud=back().cloud.databases(ovn=None).cloud(agents=agents))
    unread = [Unread("ovs_external_ids", "ovs-vsctl: no answer")]
    runs = with_open_vswitch()
    return with_host(some, **{"ovs_external_ids": None, "unread": unread, "deployment": runs, **changes})


def test_neutrons_agents_show_that_a_stopped_host_has_ovn():
    """Neither Open vSwitch nor a process nor a chassis said so: nothing was asked, and the return was clear."""
    (item,) = found(silent(back().cloud.bundle.cloud.agents))
    assert isinstance(item, Unchecked) and item.code == "SG317"
    assert "the host has OVN (OVN Controller agent" in item.reason


@pytest.mark.parametrize(
    "agents",
    [
        [],
        None,
        [agent(1, "compute1", alive=False)],
        [agent(1, "compute1", "NIC Switch agent", "neutron-sriov-nic-agent")],
        [agent(2, "compute2")],
    ],
    ids=["none", "not read", "a dead leftover", "of another kind of port", "of another host"],
)
def test_a_host_of_which_nothing_decides_is_undecided(agents):
    """After a clean stop of ovn-controller neither a chassis nor an agent is left."""
    (item,) = found(silent(agents))
    assert isinstance(item, Unchecked) and item.code == "SG317"
    assert "OVN" in item.reason and "no answer" in item.reason


def test_an_agent_that_binds_the_ports_or_open_vswitch_itself_decides():
    assert found(silent([agent(1, "compute1", "Linux bridge agent", "neutron-linuxbridge-agent")])) == []
    assert found(silent([], ovs_external_ids={"system-id": "x"}, unread=[])) == []


def test_a_host_on_which_no_open_vswitch_runs_is_decided():
    assert found(silent([], deployment=packages())) == []


def test_the_gate_asks_it():
    """What stands against the chassis stands against the return."""
    some = evacuated().databases(ovn=back().cloud.bundle.databases.ovn)
    ids = {"system-id": uid("system", 1), "ovn-remote": "tcp:192.0.2.100:6642", "ovn-encap-ip": "192.0.2.2"}
    decision = return_host.judge(some.host("compute1", ovs_external_ids=ids).bundle, EVACUATED)
    assert not decision.undecided
    assert [item.code for item in decision.checked.findings if item.severity == "blocker"] == ["SG323"]
