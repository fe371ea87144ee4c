# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename of a host with OVN: each guard refuses what it is for, by its code alone, and lets the healthy host pass."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    NameSpace,
    NeutronAgentRow,
    Unit,
    Unread,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER, Override, blocking_findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnConnection, OvnEncap, OvnLevelRow
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import uid
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    binding,
    chassis,
    ovn_fleet,
    switch_port,
    with_host,
    with_ids,
    with_ovn,
    with_rows,
)

PORT = uid("port", 1, 1)
REFUSED = {}
UNIT = Unit("ovs-record-hostname.service", "loaded", "active", "exited", "enabled", None)


def refused(*codes):
    """Register what spoils the fleet, and the codes of the blockers that must answer it: those and no other."""

    def register(function):
        REFUSED[function.__name__] = (function, set(codes))
        return function

    return register


def ovn_of(some):
    return some.cloud.bundle.databases.ovn


def ports_of(some):
    return some.cloud.bundle.databases.ovn.switch_ports


def one_port(some, **changes):
    """The fleet whose first port is another one in the northbound database."""
    ports = [dataclasses.replace(row, **(changes if row.name == PORT else {})) for row in ports_of(some)]
    return with_ovn(some, switch_ports=ports)


def one_binding(some, **changes):
    rows = [
        dataclasses.replace(row, **(changes if row.logical_port == PORT else {})) for row in ovn_of(some).port_bindings
    ]
    return with_ovn(some, port_bindings=rows)


def one_row(some, **changes):
    rows = some.cloud.bundle.databases.neutron.bindings.bindings
    return with_rows(
        some, bindings=[dataclasses.replace(row, **(changes if row.port_id == PORT else {})) for row in rows]
    )


def more_chassis(some, *more):
    return with_ovn(some, chassis=[*ovn_of(some).chassis, *more])


# --- what was not read


@refused("SG317")
def no_connection(some):
    return dataclasses.replace(some, cloud=some.cloud.databases(ovn=None))


@refused("SG317")
def chassis_unread(some):
    return with_ovn(some, chassis=None, unread=[Unread("ovn", "no answer")])


@refused("SG317")
def bindings_unread(some):
    return with_ovn(some, port_bindings=None)


@refused("SG317")
def ports_unread(some):
    return with_ovn(some, switch_ports=None)


@refused("SG317")
def gateways_unread(some):
    return with_ovn(some, gateways=None)


@refused("SG317")
def roles_unread(some):
    return with_ovn(some, connections=None)


@refused("SG317")
def northd_paused(some):
    return with_ovn(some, northd_ms=None)


@refused("SG317")
def searched_for_other_hosts(some):
    return with_ovn(some, scope=[some.old])


@refused("SG317")
def neutrons_rows_unread(some):
    return dataclasses.replace(some, cloud=some.cloud.neutron_db(bindings=None))


@refused("SG317")
def no_open_vswitch(some):
    return with_host(some, ovs_external_ids=None, unread=[Unread("ovs_external_ids", "ovs-vsctl: no answer")])


def without_agents(some, **ids):
    """Neutron's workers have seen nothing of the southbound database. None: the key is not there."""
    cloud = some.cloud.cloud(agents=[row for row in some.cloud.rows("agents") if row.host != some.old])
    return with_ids(dataclasses.replace(some, cloud=cloud), **ids)


NO_REMOTE = {"ovn-remote": None}
NO_KEYS = {**NO_REMOTE, "ovn-encap-ip": None, "system-id": None}


@refused("SG317")
def no_agent_and_a_remote(some):
    return no_connection(without_agents(some))


@refused("SG317")
def no_agent_and_a_tunnel_address(some):
    return no_connection(without_agents(some, **NO_REMOTE))


@refused("SG317")
def no_agent_and_a_chassis(some):
    return without_agents(some, **NO_KEYS)


@refused("SG317")
def no_agent_and_a_chassis_of_another_hostname(some):
    some = the_chassis_has_a_full_name(some)
    return without_agents(some, **{**NO_KEYS, "system-id": uid("system", 1)})


@refused("SG317")
def without_neutrons_database(some):
    return dataclasses.replace(some, request=dataclasses.replace(some.request, has_neutron_db=False))


# --- the chassis


@refused("SG318")
def two_chassis_of_the_name(some):
    return more_chassis(some, dataclasses.replace(chassis(9, some.old)))


@refused("SG318")
def no_chassis(some):
    return with_ovn(some, chassis=[row for row in ovn_of(some).chassis if row.hostname != some.old])


@refused("SG318")
def another_system_id(some):
    return with_ids(some, **{"system-id": "another"})


@refused("SG318")
def a_chassis_is_named_as_the_new_host(some):
    return more_chassis(some, dataclasses.replace(chassis(9, "elsewhere"), name=some.new))


@refused("SG310")
def a_chassis_has_the_new_hostname(some):
    return more_chassis(some, chassis(9, some.new))


@refused("SG319")
def system_id_is_the_name(some):
    rows = [
        dataclasses.replace(row, name=some.old) if row.hostname == some.old else row for row in ovn_of(some).chassis
    ]
    return with_ids(with_ovn(some, chassis=rows), **{"system-id": some.old})


@refused("SG321")
def the_chassis_has_a_full_name(some):
    rows = [
        dataclasses.replace(row, hostname=f"{some.old}.example") if row.hostname == some.old else row
        for row in ovn_of(some).chassis
    ]
    return with_ovn(some, chassis=rows)


@refused("SG323")
def the_tunnel_address_is_anothers(some):
    dead = dataclasses.replace(chassis(9, "dead"), encaps=[OvnEncap("geneve", "192.0.2.1")])
    return more_chassis(some, dead)


@refused("SG320")
def the_boot_writes_another_name(some):
    tried = dataclasses.replace(some.cloud.bundle.hosts["compute1"].rehearsal, hostname="other.example")
    some = with_host(some, ovs_version="3.1.0", rehearsal=tried)
    return dataclasses.replace(some, cloud=some.cloud.add("units", UNIT))


@refused("SG320")
def version_unknown_and_name_not_tried(some):
    return with_host(some, ovs_version=None, rehearsal=None)


@refused("SG320")
def ovs_ctl_writes_it_at_every_start(some):
    return with_host(some, ovs_version="2.13.3", rehearsal=None)


@refused("SG325")
def the_run_has_the_role_by_an_address_of_version_6(some):
    return with_ovn(
        some,
        connections=[OvnConnection("pssl:6642:[fd00:1:2::3]", "ovn-controller")],
        southbound="ssl:[fd00::1:2]:6642,ssl:[fd00::1:3]:16642",
    )


@refused("SG325")
def the_run_has_the_role_of_a_port_that_is_not_named(some):
    return with_ovn(some, connections=[OvnConnection("ptcp:", "ovn-controller")], southbound="tcp:ovn.example:6640")


@refused("SG325")
def the_run_has_the_role_and_the_listener_has_an_address(some):
    return with_ovn(some, connections=[OvnConnection("ptcp:6642:192.0.2.100", "ovn-controller")])


@refused("SG325")
def the_run_has_the_role_of_a_chassis(some):
    return with_ovn(some, connections=[OvnConnection("pssl:6642", "ovn-controller")])


# --- ports


@refused("SG322", "SG324")
def a_port_asks_for_nobody(some):
    return one_binding(some, option="gone", requested=None, chassis=None)


@refused("SG324")
def a_port_migrates(some):
    return one_port(some, requested=f"{some.old},compute2")


@refused("SG324")
def a_port_has_an_activation_strategy(some):
    return one_port(some, activation_strategy="rarp")


@refused("SG324")
def a_port_has_a_second_chassis(some):
    return one_binding(some, additional=[uid("chassis", 2)])


@refused("SG324")
def a_port_of_a_running_guest_is_not_bound(some):
    return one_binding(some, chassis=None, up=False)


@refused("SG324")
def a_port_is_not_up(some):
    return one_binding(some, up=False)


@refused("SG324")
def a_port_is_bound_elsewhere(some):
    return one_binding(some, chassis=uid("chassis", 2))


@refused("SG324")
def a_port_has_no_binding(some):
    rows = [row for row in ovn_of(some).port_bindings if row.logical_port != PORT]
    return with_ovn(some, port_bindings=rows)


@refused("SG324")
def a_binding_is_inactive(some):
    return one_row(some, status="INACTIVE")


@refused("SG310", "SG324")
def a_row_has_the_new_name(some):
    return one_row(some, host=some.new)


@refused("SG310")
def a_level_has_the_new_name(some):
    levels = some.cloud.bundle.databases.neutron.bindings.levels
    return with_rows(some, levels=[*levels, OvnLevelRow(PORT, some.new, 0)])


@refused("SG324")
def the_database_has_a_port_less(some):
    rows = some.cloud.bundle.databases.neutron.bindings.bindings
    return with_rows(some, bindings=[row for row in rows if row.port_id != PORT])


@refused("SG324")
def a_port_asks_for_no_chassis(some):
    return one_port(some, requested=None)


@refused("SG327")
def a_port_of_sr_iov(some):
    return one_row(some, vnic_type="direct")


@refused("SG327")
def a_trunk(some):
    cloud = some.cloud.change("ports", {"id": PORT}, subports=["sub"])
    return dataclasses.replace(some, cloud=cloud)


@refused("SG305", "SG327", "SG709")
def another_agent_beside(some):
    return dataclasses.replace(some, cloud=some.cloud.add("agents", builders.agent(1, some.old)))


@refused("SG305")
def an_agent_of_a_network_node_beside(some):
    agent = builders.agent(1, some.old, "DHCP agent", "neutron-dhcp-agent")
    row = NeutronAgentRow(agent.id, agent.agent_type, agent.binary, agent.host, None)
    cloud = some.cloud.add("agents", agent)
    return dataclasses.replace(some, cloud=cloud.add("neutron_agents", row))


@refused("SG305")
def the_agent_is_dead(some):
    cloud = some.cloud.change("agents", {"host": some.old}, alive=False)
    return dataclasses.replace(some, cloud=cloud)


#: What no override passes: the plan has no step for it.
NO_PLAN = {
    "another_agent_beside": "SG327",
    "an_agent_of_a_network_node_beside": "SG305",
    "no_agent_and_a_remote": "SG317",
    "no_agent_and_a_tunnel_address": "SG317",
    "no_agent_and_a_chassis": "SG317",
    "no_agent_and_a_chassis_of_another_hostname": "SG317",
}


@pytest.mark.parametrize("name", sorted(NO_PLAN))
def test_what_a_rename_in_place_cannot_do_beside_ovn_no_override_passes(name):
    spoil, _codes = REFUSED[name]
    some = spoil(ovn_fleet())
    found = preflight_rename(some.cloud.bundle, some.request).findings
    words = [
        Override(item.code, str(word), "I am sure") for item in found for word in (item.object.id, item.object.name)
    ]
    assert NO_PLAN[name] in {item.code for item in blocking_findings(found, words)}


def blockers(some, in_place=True):
    checked = preflight_rename(some.cloud.bundle, some.request, in_place)
    return {item.code for item in checked.findings if item.severity == BLOCKER}


def test_a_healthy_host_with_ovn_is_not_refused():
    assert blockers(ovn_fleet()) == set()
    assert blockers(ovn_fleet(guests=1, style="full")) == set()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_guard_refuses_by_its_code_alone(name):
    spoil, codes = REFUSED[name]
    found = blockers(spoil(ovn_fleet()))
    assert found == codes


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_drain_asks_nothing_of_ovn(name):
    spoil, _codes = REFUSED[name]
    assert not {code for code in blockers(spoil(ovn_fleet()), False) if "SG317" <= code <= "SG327"}


def gateway(some):
    port = builders.port(1, 7, some.old, device_owner="network:router_gateway", device_id="router")
    rows = some.cloud.bundle.databases.neutron.bindings.bindings
    row = dataclasses.replace(rows[0], port_id=port.id)
    some = with_rows(some, bindings=[*rows, row])
    some = with_ovn(some, switch_ports=[*ports_of(some), switch_port(port.id, some.old, requested=None)])
    return dataclasses.replace(some, cloud=some.cloud.add("ports", port))


def test_a_failed_binding_of_ovns_gateway_only_is_a_warning():
    """neutron bound it to a hostname that no agent had for a moment. The chassis carries the traffic."""
    some = gateway(ovn_fleet())
    port = builders.port(1, 7, some.old).id
    for owner, expected in (("network:router_gateway", set()), ("compute:az1", {"SG306"})):
        failed = some.cloud.change("ports", {"id": port}, binding_vif_type="binding_failed", device_owner=owner)
        assert blockers(dataclasses.replace(some, cloud=failed)) & {"SG306"} == expected


def gateway_with_request(some):
    """A gateway chassis: neutron writes the option to the router's port, and ovn-northd copies it to no binding."""
    some = gateway(some)
    port = builders.port(1, 7, some.old).id
    rows = [
        dataclasses.replace(row, type="router", requested=some.old) if row.name == port else row
        for row in ports_of(some)
    ]
    patch = binding(port, type="patch", chassis=None, requested=None, option=None, up=False)
    return with_ovn(some, switch_ports=rows, port_bindings=[*ovn_of(some).port_bindings, patch])


def without_its_binding(some):
    """The same, as it is read: bindings are selected by the chassis and by the option, and this one has neither."""
    some = gateway_with_request(some)
    return with_ovn(some, port_bindings=[row for row in ovn_of(some).port_bindings if row.type != "patch"])


def back_to_the_system_id(some):
    """The host gets the name that its chassis has."""
    rows = [
        dataclasses.replace(row, name=some.new) if row.hostname == some.old else row for row in ovn_of(some).chassis
    ]
    return with_ids(with_ovn(some, chassis=rows), **{"system-id": some.new})


def stopped(some):
    cloud = some.cloud.change("domains", {"uuid": builders.guest(1, 1)}, state="shut off", pid=None)
    cloud = cloud.change("ports", {"id": PORT}, status="DOWN")
    return one_binding(dataclasses.replace(some, cloud=cloud), chassis=None, up=False)


def virtual(some):
    row = switch_port("vip", some.old, type="virtual", requested=None, host_id=None, parent_hostname=some.old)
    floating = binding("vip", type="virtual", requested=None, option=None)
    some = with_ovn(some, port_bindings=[*ovn_of(some).port_bindings, floating])
    return with_ovn(some, switch_ports=[*ports_of(some), row])


def recorded(some, unit, name=None):
    tried = some.cloud.bundle.hosts["compute1"].rehearsal
    tried = dataclasses.replace(tried, hostname=name) if name else tried
    some = with_host(some, ovs_version="3.1.0", rehearsal=tried)
    return dataclasses.replace(some, cloud=some.cloud.add("units", unit))


ALLOWED = {
    "no agent and no sign of OVN": lambda some: no_connection(without_agents(some, **NO_KEYS)),
    "a gateway's port asks for no chassis": gateway,
    "a gateway's port asks for the chassis": gateway_with_request,
    "a gateway's port has no binding of the chassis": without_its_binding,
    "the new name is that of its own chassis": back_to_the_system_id,
    "a role on a port with an address of version 6": lambda some: with_ovn(
        some,
        connections=[OvnConnection("pssl:16642:[fd00::6642]", "ovn-controller"), OvnConnection("ptcp:6642:[::]", "")],
        southbound="tcp:[fd00::16642]:6642",
    ),
    "another listener's role, and the run by a port that is not named": lambda some: with_ovn(
        some, connections=[OvnConnection("pssl:6642", "ovn-controller")], southbound="tcp:ovn.example"
    ),
    "the port of a stopped guest is not bound": stopped,
    "a virtual port floats": virtual,
    "a key of the system-id's own": lambda some: with_ids(
        with_host(some, ovs_version="3.1.0", rehearsal=None), **{f"hostname-{uid('system', 1)}": some.old}
    ),
    "the unit writes the new name": lambda some: recorded(some, UNIT),
    "the unit is masked": lambda some: recorded(some, dataclasses.replace(UNIT, load_state="masked"), "another"),
    "the unit is disabled": lambda some: recorded(
        some, dataclasses.replace(UNIT, unit_file_state="disabled"), "another"
    ),
    "a role on another port": lambda some: with_ovn(
        some, connections=[OvnConnection("pssl:16642", "ovn-controller"), OvnConnection("ptcp:6642", "")]
    ),
    "a role, and the run by the socket": lambda some: with_ovn(
        some, connections=[OvnConnection("pssl:6642", "ovn-controller")], southbound="unix:/run/ovn/ovnsb_db.sock"
    ),
}


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_what_is_as_it_should_be_is_not_refused(name):
    assert blockers(ALLOWED[name](ovn_fleet())) == set()


@pytest.mark.parametrize(("kind", "codes"), [("OVN Controller agent", set()), ("OVN Metadata agent", {"SG709"})])
def test_ovn_controller_is_no_agent_that_may_be_in_a_container_of_neutrons(kind, codes):
    """A host with OVN and without a metadata agent was refused where docker was installed and did not run."""
    some = ovn_fleet()
    entry = NameSpace("neutron agent", "not running", None, reason="docker ps: no daemon", kind="not-running")
    spaces = [*some.cloud.bundle.hosts["compute1"].name_spaces, entry]
    agents = [
        dataclasses.replace(row, agent_type=kind) if row.host == some.old else row for row in some.cloud.rows("agents")
    ]
    cloud = some.cloud.host(name_spaces=spaces).put("agents", agents)
    found = {item.code for item in preflight_rename(cloud.bundle, some.request).findings if item.severity == "blocker"}
    assert found & {"SG709"} == codes


def test_a_row_that_neutron_kept_of_an_earlier_host_is_in_the_way_of_a_rename_in_place_alone():
    """A host that was drained to another name could not get its name back: neutron keeps segmenthostmappings."""
    some = ovn_fleet()
    rows = some.cloud.bundle.databases.neutron.bindings.segments
    some = with_rows(some, segments=[*rows, dataclasses.replace(rows[0], host=some.new)])
    for in_place, severity in ((True, "blocker"), (False, "info")):
        found = preflight_rename(some.cloud.bundle, some.request, in_place=in_place).findings
        assert [item.severity for item in found if item.code == "SG310"] == [severity]


def test_a_port_of_the_new_name_is_in_the_way_of_every_rename():
    some = ovn_fleet()
    rows = some.cloud.bundle.databases.neutron.bindings.bindings
    some = with_rows(some, bindings=[*rows, dataclasses.replace(rows[0], host=some.new)])
    for in_place in (True, False):
        found = preflight_rename(some.cloud.bundle, some.request, in_place=in_place).findings
        assert "blocker" in [item.severity for item in found if item.code == "SG310"]
