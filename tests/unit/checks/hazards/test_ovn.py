# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit of a cloud with OVN: chassis against Nova's hosts, and ports that ask for nobody."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import ovn
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import Deployment, ServiceProcess
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnEncap
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import uid, with_open_vswitch
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    binding,
    chassis,
    ovn_fleet,
    with_host,
    with_ids,
    with_ovn,
)


def told(some):
    return list(ovn.check(Index(some.cloud.bundle)))


def healthy():
    return with_ovn(ovn_fleet(), scope=[], switch_ports=None, port_bindings=[])


def ovn_of(some):
    return some.cloud.bundle.databases.ovn


def renamed(some, hostname):
    rows = [
        dataclasses.replace(row, hostname=hostname) if row.name == uid("system", 1) else row
        for row in ovn_of(some).chassis
    ]
    return with_ovn(some, chassis=rows)


def named_after_the_host(some):
    rows = [
        dataclasses.replace(row, name="compute1") if row.hostname == "compute1" else row for row in ovn_of(some).chassis
    ]
    return with_ids(with_ovn(some, chassis=rows), **{"system-id": "compute1"})


FOUND = {
    "one name twice": ({"SG318"}, lambda some: with_ovn(some, chassis=[*ovn_of(some).chassis, chassis(9, "compute2")])),
    "not registered": ({"SG318", "SG323"}, lambda some: with_ids(some, **{"system-id": "another"})),
    "named after the host": ({"SG319"}, named_after_the_host),
    "a full name": ({"SG321"}, lambda some: renamed(some, "compute1.example")),
    "another case": ({"SG321"}, lambda some: renamed(some, "Compute1")),
    "another name": ({"SG321"}, lambda some: renamed(some, "elsewhere")),
    "a port asks for nobody": (
        {"SG322"},
        lambda some: with_ovn(some, port_bindings=[binding("p", option="gone", requested=None, chassis=None)]),
    ),
    "a port in the middle of a move to a chassis that is gone": (
        {"SG322"},
        lambda some: with_ovn(some, port_bindings=[binding("p", option="compute2,gone")]),
    ),
    "a port in the middle of a move whose first chassis is gone": (
        {"SG322"},
        lambda some: with_ovn(some, port_bindings=[binding("p", option="gone,compute2", requested=None)]),
    ),
    "one address for two kinds of tunnels": (
        {"SG323"},
        lambda some: with_ovn(
            some,
            chassis=[
                *ovn_of(some).chassis,
                dataclasses.replace(chassis(9, "dead"), encaps=[OvnEncap("vxlan", "192.0.2.2")]),
            ],
        ),
    ),
    "a replaced host": (
        {"SG323"},
        lambda some: with_ovn(
            some,
            chassis=[
                *ovn_of(some).chassis,
                dataclasses.replace(chassis(9, "dead"), encaps=[OvnEncap("geneve", "192.0.2.1")]),
            ],
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_what_is_wrong_is_found(name):
    codes, spoil = FOUND[name]
    assert {item.code for item in told(spoil(healthy()))} == codes


def test_a_healthy_cloud_has_nothing_to_tell():
    assert told(healthy()) == []
    waits = with_ovn(healthy(), port_bindings=[binding("p", option="compute2", requested=None, chassis=None)])
    assert told(waits) == [], "northd is about to resolve it: the name is known"
    moves = with_ovn(healthy(), port_bindings=[binding("p", option="compute2,compute1")])
    assert told(moves) == [], "both chassis are there"


def test_a_cloud_without_ovn_has_nothing_to_tell():
    assert list(ovn.check(Index(builders.healthy().bundle))) == []


def test_without_a_connection_each_code_is_undecided_where_agents_are_ovns():
    some = ovn_fleet()
    some = dataclasses.replace(some, cloud=some.cloud.databases(ovn=None))
    found = told(some)
    assert all(isinstance(item, Unchecked) for item in found)
    assert {item.code for item in found} == set(ovn.AUDITED)


def without_databases(some, **cloud):
    """The cloud of an audit that was given no connection to OVN."""
    return dataclasses.replace(some, cloud=some.cloud.databases(ovn=None).cloud(**cloud))


def each_host(some, **changes):
    cloud = some.cloud
    for name in sorted(cloud.bundle.hosts):
        cloud = cloud.host(name, **changes)
    return dataclasses.replace(some, cloud=cloud)


def controller(pid=77):
    return ServiceProcess("ovn-controller", pid, "/usr/bin/ovn-controller", None, None, None, False, None, None)


def a_deployment(*processes):
    return Deployment(list(processes), [], [], [], {}, [])


@pytest.mark.parametrize("agents", [[], None], ids=["an empty list", "no list"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ovs_external_ids": {"system-id": "x", "ovn-remote": "tcp:192.0.2.9:6642"}}, "ovn-remote"),
        ({"ovs_external_ids": {"system-id": "x", "ovn-encap-ip": "192.0.2.1"}}, "ovn-encap-ip"),
        ({"ovs_external_ids": None, "deployment": a_deployment(controller())}, " 77 "),
        ({"ovs_external_ids": None, "deployment": None}, "compute1"),
        ({"ovs_external_ids": None, "deployment": with_open_vswitch()}, "compute1"),
    ],
    ids=["ovn-remote", "a tunnel", "ovn-controller in a container", "nothing known", "ovn-controller is stopped"],
)
def test_an_empty_list_of_agents_never_hides_ovn(agents, change, words):
    """The audit went by the agents alone: a cloud with OVN passed all of its codes where neutron showed none."""
    some = without_databases(each_host(healthy(), **change), agents=agents)
    found = told(some)
    assert {item.code for item in found} == set(ovn.AUDITED)
    assert all(isinstance(item, Unchecked) and words in item.reason for item in found)


def test_one_host_with_ovn_is_enough():
    plain = each_host(healthy(), ovs_external_ids={"system-id": "x"})
    some = without_databases(with_ids(plain, **{"ovn-remote": "tcp:192.0.2.9:6642"}), agents=[])
    assert "compute1: external_ids:ovn-remote" in told(some)[0].reason
    assert told(without_databases(plain, agents=[])) == [], "every host was read, and none has OVN"


def test_neither_agents_nor_hosts_prove_nothing():
    some = without_databases(healthy(), agents=[])
    bundle = dataclasses.replace(some.cloud.bundle, hosts={})
    assert {item.code for item in ovn.check(Index(bundle))} == set(ovn.AUDITED)
    silent = dataclasses.replace(
        without_databases(each_host(healthy(), ovs_external_ids={}), agents=[]).cloud.bundle,
        unreachable={"compute9": "no route to host"},
    )
    assert "compute9" in next(iter(ovn.check(Index(silent)))).reason


def test_a_controller_that_is_connected_nowhere_is_no_ovn():
    """Debian's ovn-host starts it, and without ovn-remote it does nothing."""
    some = each_host(healthy(), ovs_external_ids={"system-id": "x"}, deployment=a_deployment(controller()))
    assert told(without_databases(some, agents=[])) == []


def test_ports_that_were_not_read_are_undecided():
    found = told(with_ovn(healthy(), port_bindings=None, unread=[Unread("ovn", "it broke off")]))
    assert [(item.code, "it broke off" in item.reason) for item in found] == [("SG322", True)]


def test_a_host_of_a_chassis_whose_open_vswitch_was_not_read_is_undecided():
    found = told(with_host(healthy(), ovs_external_ids=None, unread=[Unread("ovs_external_ids", "no ovs-vsctl")]))
    assert {(item.code, item.object) for item in found} == {
        (code, "compute1") for code in ("SG318", "SG319", "SG321", "SG323")
    }
    assert all("no ovs-vsctl" in item.reason for item in found)


def test_a_database_that_does_not_answer_is_told_and_nothing_else_is_taken_for_decided():
    some = with_ovn(healthy(), chassis=None, port_bindings=None, unread=[Unread("ovn", "no answer")])
    found = told(some)
    assert [item.code for item in found if not isinstance(item, Unchecked)] == ["SG317"]
    assert {item.code for item in found if isinstance(item, Unchecked)} == set(ovn.AUDITED[1:])


def test_a_host_without_ovn_is_not_asked():
    assert told(with_host(healthy(), ovs_external_ids={"system-id": "x"})) == []


def agents_of(some, kind, **changes):
    """Each host has an agent of this kind."""
    rows = [dataclasses.replace(row, agent_type=kind, **changes) for row in builders.healthy().bundle.cloud.agents]
    return without_databases(each_host(some, ovs_external_ids=None, deployment=None), agents=rows)


@pytest.mark.parametrize(
    ("kind", "alive", "silent"),
    [
        ("Open vSwitch agent", True, True),
        ("Linux bridge agent", True, True),
        ("Macvtap agent", True, True),
        ("Open vSwitch agent", False, False),
        ("NIC Switch agent", True, False),
        ("DHCP agent", True, False),
    ],
)
def test_only_an_agent_that_binds_ports_and_is_alive_shows_that_a_host_has_no_ovn(kind, alive, silent):
    """A NIC Switch agent runs beside OVN, and a dead Open vSwitch agent is what a change to OVN leaves behind."""
    found = told(agents_of(healthy(), kind, alive=alive))
    assert {item.code for item in found} == (set() if silent else set(ovn.AUDITED))


def test_an_agent_decides_for_its_own_host_only():
    some = agents_of(healthy(), "Open vSwitch agent")
    others = [row for row in some.cloud.bundle.cloud.agents if row.host != "compute2"]
    found = told(without_databases(some, agents=others))
    assert {item.code for item in found} == set(ovn.AUDITED)
    assert all("OVN: compute2" in item.reason for item in found)


def test_a_compute_host_that_no_one_read_counts():
    """It was in neither list of the audit: the inventory has one host, Nova has three."""
    some = without_databases(each_host(healthy(), ovs_external_ids={}), agents=[])
    one = dataclasses.replace(some.cloud.bundle, hosts={"compute1": some.cloud.bundle.hosts["compute1"]})
    found = list(ovn.check(Index(one)))
    assert {item.code for item in found} == set(ovn.AUDITED)
    assert all("compute2, compute3" in item.reason for item in found)


def test_compute_hosts_that_were_not_read_from_nova_prove_nothing():
    some = without_databases(each_host(healthy(), ovs_external_ids={}), agents=[], services=None)
    silent = dataclasses.replace(some.cloud.bundle, databases=None)
    assert {item.code for item in ovn.check(Index(silent))} == set(ovn.AUDITED)


def test_a_host_of_ironic_alone_has_no_ports_of_its_own():
    some = agents_of(healthy(), "Open vSwitch agent")
    cloud = some.cloud.change("compute_nodes", {"host": "compute3"}, "compute3", 1, hypervisor_type="ironic")
    cloud = cloud.change("hypervisors", {"service_host": "compute3"}, hypervisor_type="ironic")
    rows = [row for row in cloud.bundle.cloud.agents if row.host != "compute3"]
    bundle = cloud.cloud(agents=rows).bundle
    bundle = dataclasses.replace(bundle, hosts={name: bundle.hosts[name] for name in ("compute1", "compute2")})
    assert list(ovn.check(Index(bundle))) == []


def unread_hosts(some):
    return dataclasses.replace(some.cloud.bundle, hosts={})


def test_the_southbound_database_of_another_cloud_proves_nothing():
    """It has no chassis of this cloud: nothing of its hosts was compared, and the audit had nothing to tell."""
    found = list(ovn.check(Index(unread_hosts(with_ovn(healthy(), chassis=[])))))
    assert {(item.code, item.object) for item in found} == {
        (code, host) for code in ("SG318", "SG319", "SG321", "SG323") for host in ("compute1", "compute2", "compute3")
    }
    assert all(isinstance(item, Unchecked) and "OVN Controller agent" in item.reason for item in found)
    assert all("tcp:192.0.2.100:6642" in item.reason for item in found)
    assert list(ovn.check(Index(unread_hosts(healthy())))) == []


def test_a_compute_host_without_chassis_and_without_agents_is_undecided():
    some = healthy()
    rows = [row for row in ovn_of(some).chassis if row.hostname != "compute3"]
    some = with_ovn(dataclasses.replace(some, cloud=some.cloud.cloud(agents=[])), chassis=rows)
    found = list(ovn.check(Index(unread_hosts(some))))
    assert {(item.code, item.object) for item in found} == {
        (code, "compute3") for code in ("SG318", "SG319", "SG321", "SG323")
    }
    other = dataclasses.replace(builders.agent(3, "compute3"), agent_type="Linux bridge agent")
    some = dataclasses.replace(some, cloud=some.cloud.cloud(agents=[other]))
    assert list(ovn.check(Index(unread_hosts(some)))) == [], "another agent binds its ports"


def test_a_chassis_without_system_id_in_open_vswitch_is_undecided():
    """ovn-controller takes its name from a file: which chassis is the host's own is not known."""
    found = told(with_ids(healthy(), **{"system-id": None}))
    assert {(item.code, item.object) for item in found} == {
        (code, "compute1") for code in ("SG318", "SG319", "SG321", "SG323")
    }
    assert all(isinstance(item, Unchecked) and "no system-id" in item.reason for item in found)
