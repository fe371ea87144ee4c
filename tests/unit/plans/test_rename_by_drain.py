# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A drain: guests stay in their zone and fit where they go; the order of the steps; what stands against it."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ComputeIdFile, from_plain, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan, PlanError
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import preflight as checks
from ansible_collections.stackguard.nova.tests.unit import builders as make
from ansible_collections.stackguard.nova.tests.unit import draining
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

REQUEST = RenameRequest("compute1", "compute1", make.NEW, "op1")


def a_cloud(hosts=4, guests=2, **kwargs):
    """Odd hosts in az1, even ones in az2, as the services say too."""
    cloud = make.healthy(hosts=hosts, guests=guests, **kwargs)
    zones = {row.host: f"az{make.zone_of(number)}" for number, row in enumerate(cloud.rows("api_services"), 1)}
    rows = [dataclasses.replace(row, zone=zones[row.host]) for row in cloud.rows("api_services")]
    return cloud.put("api_services", rows)


def changed(targets, host, **changes):
    return [dataclasses.replace(row, **changes) if row.host == host else row for row in targets]


def plan_of(cloud, targets=None, **options):
    return draining.plan_of(cloud, REQUEST, placement.DrainOptions(**options), targets)


def step(plan, name):
    return next(one for one in plan.steps if one.name == name)


def drained(cloud, targets=None, others=(), **options):
    asked = placement.DrainOptions(**options)
    decision = draining.decision_of(cloud, REQUEST, asked, targets)
    return checks.can_drain(cloud.bundle, decision, list(others), REQUEST, asked)


def codes(cloud, *given, **options):
    return [(item.code, item.severity) for item in drained(cloud, *given, **options).findings]


# --- the plan -------------------------------------------------------------------------------------------------


def test_with_ovn_the_chassis_gets_the_new_name_with_the_host():
    """A chassis of the old name binds no port of the new host: the drain was green, and no server could start there."""
    cloud = a_cloud().change("agents", agent_type="OVN Controller agent", binary="ovn-controller")
    changed_ids = step(plan_of(cloud), "host_names").params["ovs_external_ids"]
    assert [(value["before"], value["after"]) for value in changed_ids.values()] == [("compute1", make.NEW)]


def test_the_order_of_the_steps():
    names = [one.name for one in plan_of(a_cloud(), bring_back=True).steps]
    assert names == [
        "guests_at_home",
        "disable_service",
        "move_guests",
        "host_empty",
        "stop_compute",
        "stop_agents",
        "delete_service",
        "host_names",
        "identity_file",
        "delete_agents",
        "start_agents",
        "new_agents",
        "start_compute",
        "register",
        "aggregates",
        "audit",
        "enable_service",
        "return_guests",
    ]


def test_without_agents_identity_and_return():
    names = [one.name for one in plan_of(a_cloud(release=26, l2_agents=False)).steps]
    assert not {"stop_agents", "start_agents", "new_agents", "delete_agents", "identity_file", "return_guests"} & set(
        names
    )


def test_guests_go_to_the_other_host_of_the_zone_only():
    moves = step(plan_of(a_cloud(guests=3)), "move_guests").changes
    assert [(move.what, move.before, move.after.partition(":")[0]) for move in moves] == [
        ("host (live migration, zone az1)", "compute1", "compute3")
    ] * 3


def test_a_stopped_guest_moves_cold_and_a_paused_one_live():
    cloud = a_cloud().change("servers", {"id": make.guest(1, 1)}, status="SHUTOFF")
    cloud = cloud.change("servers", {"id": make.guest(1, 2)}, status="PAUSED")
    moves = {move.where: move.what for move in step(plan_of(cloud), "move_guests").changes}
    assert moves == {
        f"server guest1 ({make.guest(1, 1)})": "host (cold migration, zone az1)",
        f"server guest2 ({make.guest(1, 2)})": "host (live migration, zone az1)",
    }


def test_the_steps_that_move_keep_to_the_same_limits():
    plan = plan_of(a_cloud(), bring_back=True, parallel=3, timeout=60)
    uuids = [make.guest(1, 1), make.guest(1, 2)]
    limits = {"guests": uuids, "parallel": 3, "timeout": 60, "up_timeout": 300, "reason": "stackguard:rename:op1"}
    for name, host in (("guests_at_home", "compute1"), ("move_guests", "compute1"), ("return_guests", make.NEW)):
        params = step(plan, name).params
        assert {key: params[key] for key in (*limits, "host")} == {**limits, "host": host}
    assert step(plan, "disable_service").params["after"]["reason"] == limits["reason"]
    assert [(move.before, move.after) for move in step(plan, "return_guests").changes] == [("compute3", make.NEW)] * 2


def test_every_copy_of_the_identity_is_put_away():
    kolla = ComputeIdFile("/etc/kolla/nova-compute/compute_id", False, True, make.node(1))
    cloud = a_cloud().add("compute_id_files", kolla)
    files = step(plan_of(cloud), "identity_file").params["files"]
    assert [file["path"] for file in files] == ["/var/lib/nova/compute_id", "/etc/kolla/nova-compute/compute_id"]
    assert files[0]["before"] == make.node(1)
    assert files[0]["kept_as"] == "/var/lib/nova/compute_id.stackguard-op1"


def test_ovn_agents_follow_their_chassis():
    cloud = a_cloud().change("agents", {"host": "compute1"}, agent_type="OVN Controller agent")
    assert "delete_agents" not in [one.name for one in plan_of(cloud).steps]


def test_the_plan_survives_the_journal():
    plan = plan_of(a_cloud(), bring_back=True)
    assert from_plain(Plan, to_plain(plan)) == plan


def test_no_plan_where_a_guest_has_nowhere_to_go():
    cloud = a_cloud(hosts=2)
    with pytest.raises(PlanError, match=r"guest1", check=problem_is("no-host-of-zone")):
        plan_of(cloud)


def test_the_same_name_is_refused():
    cloud = a_cloud()
    same = dataclasses.replace(REQUEST, rename_to="compute1")
    with pytest.raises(PlanError, check=problem_is("new-name")):
        draining.plan_of(cloud, same)


# --- what stands against it -----------------------------------------------------------------------------------


def test_nothing_against_a_healthy_cloud():
    assert codes(a_cloud()) == []


def test_a_zone_without_another_host():
    assert codes(a_cloud(hosts=2)) == [("SG406", "blocker")] * 2


@pytest.mark.parametrize("why", ["state", "zone", "free"])
def test_a_host_that_cannot_take_guests(why):
    cloud = a_cloud()
    value = {"state": "down", "zone": "az2", "free": {"MEMORY_MB": 100, "VCPU": 8}}[why]
    found = codes(cloud, changed(draining.targets_of(cloud), "compute3", **{why: value}))
    assert found == [("SG406", "blocker")] * (1 if why == "free" else 2)


def test_a_host_without_real_memory_takes_nobody_whatever_placement_has_left():
    cloud = a_cloud()
    there = cloud.bundle.hosts["compute3"]
    full = cloud.host("compute3", memory=dataclasses.replace(there.memory, available_mib=1200))
    assert codes(full) == [("SG501", "blocker")] * 2
    assert "partial" not in str(drained(full).findings)
    assert codes(cloud.host("compute3", memory=None)) == [("SG709", "blocker")] * 2


def test_a_host_whose_libvirt_has_the_uuid_of_the_source_takes_no_guest():
    cloud = a_cloud(hosts=5)
    uuid = cloud.bundle.hosts["compute1"].libvirt.host_uuid
    cloud = cloud.part("libvirt", "compute3", host_uuid=uuid)
    assert ("SG107", "warning") in codes(cloud)
    assert not [code for code, severity in codes(cloud) if severity == "blocker"]
    assert "compute3" not in str([one.params for one in plan_of(cloud).steps if "hosts" in one.params])
    cloud = cloud.part("libvirt", "compute5", host_uuid=uuid)
    assert ("SG523", "blocker") in codes(cloud)


def test_an_empty_host_needs_no_other():
    assert codes(a_cloud(hosts=2, guests=0)) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"status": "ERROR"}, "SG711"),
        ({"status": "SUSPENDED"}, "SG710"),
        ({"status": "RESCUE"}, "SG710"),
        ({"status": "VERIFY_RESIZE"}, "SG703"),
        ({"task_state": "rebooting"}, "SG701"),
    ],
)
def test_a_guest_in_a_state_that_cannot_move(changes, code):
    cloud = a_cloud().change("servers", {"id": make.guest(1, 1)}, **changes)
    assert codes(cloud) == [(code, "blocker")]


def test_local_disks_are_a_warning():
    assert codes(a_cloud().part("nova_conf", images_type="qcow2")) == [("SG513", "warning")]


def test_a_host_in_two_zones():
    cloud = a_cloud()
    rows = [dataclasses.replace(row, hosts=[*row.hosts, "compute1"]) for row in cloud.rows("aggregates")]
    assert ("SG403", "blocker") in codes(cloud.put("aggregates", rows))


def test_a_host_that_is_down_cannot_send_its_guests_away():
    assert codes(a_cloud().change("api_services", {"host": "compute1"}, state="down")) == [("SG704", "blocker")]


def test_guests_cannot_come_back_to_a_disabled_host():
    cloud = a_cloud().change("api_services", {"host": "compute1"}, status="disabled", disabled_reason="mine")
    assert codes(cloud) == []
    assert codes(cloud, bring_back=True) == [("SG704", "blocker")]


def test_nodes_of_others_that_name_this_service():
    assert codes(a_cloud(), others=["uuid of compute9"]) == [("SG203", "blocker")]


@pytest.mark.parametrize("part", ["servers", "services", "aggregates", "providers"])
def test_evidence_that_was_not_read(part):
    assert codes(a_cloud().cloud(**{part: None}), draining.targets_of(a_cloud())) == [("SG709", "blocker")]


def blockers(cloud, **options):
    found = draining.preflight(cloud, REQUEST, placement.DrainOptions(**options))
    return sorted(item.code for item in found.findings if item.severity == "blocker")


@pytest.mark.parametrize("release", [26, 27, 30, 34])
def test_every_release_can_be_drained(release):
    assert blockers(a_cloud(release=release)) == []


def test_grants_to_change_the_databases_are_not_needed():
    assert blockers(a_cloud().change("grants", allowed=False, error="denied")) == []


def test_a_disabled_host_is_told_once_and_blocks_only_a_return():
    cloud = a_cloud().change("api_services", {"host": "compute1"}, status="disabled", disabled_reason="mine")
    assert blockers(cloud) == []
    assert blockers(cloud, bring_back=True) == ["SG704"]


def test_a_domain_that_nova_does_not_know_is_in_the_way():
    assert "SG110" in blockers(a_cloud().change("domains", {"uuid": make.guest(1, 1)}, uuid=make.uid("stranger")))


def test_a_guest_that_is_off_and_active_in_nova_is_in_the_way():
    """After a reboot of the host: Nova would put it into ERROR, and the run would stop in the middle of the moves."""
    first = {"uuid": make.guest(1, 1)}
    assert blockers(a_cloud().change("domains", first, state="shutoff")) == ["SG710"]
    stopped = a_cloud().change("servers", {"id": make.guest(1, 1)}, status="SHUTOFF", vm_state="stopped", power_state=4)
    assert blockers(stopped.change("domains", first, state="shutoff")) == []


def test_a_server_that_nova_does_not_list_is_in_the_way_before_anybody_moves():
    """A soft-deleted one: no move took it away, and the run stopped after all the others had left."""
    cloud = a_cloud()
    rows = [row for row in cloud.rows("servers") if row.id != make.guest(1, 1)]
    hidden = cloud.put("servers", rows).change("instances", {"uuid": make.guest(1, 1)}, vm_state="soft-delete")
    assert "SG710" in blockers(hidden)
    gone = hidden.change("instances", {"uuid": make.guest(1, 1)}, deleted=7)
    assert "SG710" not in blockers(gone)


def test_what_a_network_node_has_here_is_in_the_way():
    cloud = a_cloud().add("agents", make.agent(1, "compute1", "DHCP agent", "neutron-dhcp-agent"))
    cloud = cloud.add("ports", make.port(1, 9, "compute1", device_owner="network:dhcp"))
    assert blockers(cloud) == ["SG305", "SG306"]


def test_a_trunks_subport_leaves_with_its_guest_and_distributed_routing_says_its_own_reason():
    """The review, A16: any host with one trunk guest was refused, as if a DHCP server were on it."""
    subport = make.port(1, 9, "compute1", device_owner="trunk:subport", device_id=make.uid("trunk"))
    cloud = a_cloud().add("ports", subport)
    assert blockers(cloud) == ["SG306"]
    assert blockers(cloud.change("ports", {"device_id": make.guest(1, 1)}, subports=[subport.id])) == []
    # Guests leave, and the new host registers: routed networks are no matter for a drain.
    assert blockers(a_cloud().cloud(routed_subnets=[make.uid("subnet")])) == []
    agent = make.agent(1, "compute1", "L3 agent", "neutron-l3-agent", mode="dvr_no_external")
    cloud = a_cloud().add("agents", agent)
    checked = draining.preflight(cloud, REQUEST)
    (found,) = [item for item in checked.findings if item.code == "SG305"]
    assert "dvr_host_macs" in found.evidence["why"]
    assert "drain_host" in found.remedy


@pytest.mark.parametrize("where", ["root", "child"])
@pytest.mark.parametrize("consumer", [make.guest(3, 1), make.uid("migration", 7)], ids=["server", "migration"])
def test_who_holds_the_hosts_resources_without_being_on_it_is_in_the_way(consumer, where):
    """Nova keeps such a provider when the service is deleted, and the run stopped after its point of no return."""
    cloud, held = a_cloud(), {consumer: {"VCPU": 1, "MEMORY_MB": 64}}
    root = next(row for row in cloud.rows("providers") if row.uuid == make.node(1))
    if where == "root":
        cloud = cloud.change("providers", {"uuid": root.uuid}, allocations={**root.allocations, **held})
    else:
        child = dataclasses.replace(make.child_provider(1, "compute0_gpu"), allocations=held)
        cloud = cloud.add("providers", child)
    checked = draining.preflight(cloud, REQUEST)
    (item,) = [item for item in checked.findings if item.severity == "blocker"]
    assert (item.code, item.object.id) == ("SG709", consumer)


def test_what_an_open_migration_holds_is_not_to_be_removed():
    """The owner has a resize to confirm: its allocation is the way back."""
    cloud = a_cloud().migrate(make.guest(3, 1), "compute1", "compute3", "finished", "resize")
    (row,) = cloud.rows("migrations")
    root = next(row for row in cloud.rows("providers") if row.uuid == make.node(1))
    held = {**root.allocations, row.uuid: {"VCPU": 1}}
    checked = draining.preflight(cloud.change("providers", {"uuid": root.uuid}, allocations=held), REQUEST)
    (item,) = [item for item in checked.findings if item.object.id == row.uuid and item.code == "SG709"]
    assert item.severity == "blocker"
    assert f"resize confirm {make.guest(3, 1)}" in item.remedy and "unset" not in item.remedy


def test_a_child_provider_of_nobody_is_not_in_the_way():
    assert blockers(a_cloud().add("providers", make.child_provider(1, "compute0_gpu"))) == []


def test_allocations_that_were_not_read_are_not_none():
    assert blockers(a_cloud().change("providers", {"uuid": make.node(1)}, allocations=None)) == ["SG709"]
    child = dataclasses.replace(make.child_provider(1, "compute0_gpu"), allocations=None)
    assert blockers(a_cloud().add("providers", child)) == ["SG709"]


def test_a_port_of_a_server_that_is_not_here_would_keep_the_old_name():
    """No move takes it away, and the verification at the end stopped the run for ever."""
    port = make.port(1, 9, "compute1", device_id=make.guest(3, 1))
    assert blockers(a_cloud().add("ports", port)) == ["SG306"]
    assert blockers(a_cloud().add("ports", dataclasses.replace(port, device_id=make.guest(1, 1)))) == []


def test_an_agent_that_would_not_register_under_the_new_name_is_in_the_way():
    dead = a_cloud().change("agents", {"host": "compute1"}, alive=False)
    assert blockers(dead) == ["SG305"]
    other = make.agent(1, "compute1", "NIC Switch agent", "neutron-sriov-nic-agent")
    assert blockers(a_cloud().add("agents", other)) == ["SG305"], "its unit is not here: its record would stay"
    assert blockers(a_cloud().add("agents", other).add("units", make.unit("neutron-sriov-nic-agent.service"))) == []


# --- afterwards -----------------------------------------------------------------------------------------------

EXPECTED = checks.ReplacedHost(
    inventory_name="compute1",
    old=("compute0", "compute0"),
    new=("compute1", "compute1"),
    old_ids=("old-service", "old-node"),
    new_ids=(make.service(1), make.node(1)),
    zone="az1",
    aggregates=(1,),
    guests=(make.guest(1, 1),),
)


def audited(cloud, expected=EXPECTED, zone="az1"):
    found = checks.audit(cloud.bundle, expected, {make.guest(1, 1): zone})
    return [(item.code, item.severity) for item in found.findings]


def test_a_clean_end():
    assert audited(a_cloud()) == []


@pytest.mark.parametrize("part", ["services", "hypervisors", "servers", "aggregates", "providers", "agents", "ports"])
def test_a_place_that_was_not_read_is_not_called_clean(part):
    read = checks.audit(a_cloud().bundle, EXPECTED, {make.guest(1, 1): "az1"})
    assert read.unchecked == ()
    unread = checks.audit(a_cloud().cloud(**{part: None}).bundle, EXPECTED, {make.guest(1, 1): "az1"})
    assert unread.unchecked, part


def test_the_old_name_somewhere():
    cloud = a_cloud()
    cloud = cloud.put("host_mappings", [dataclasses.replace(cloud.rows("host_mappings")[2], host="compute0")])
    assert audited(cloud) == [("SG301", "blocker")]


def test_the_old_identity_kept():
    kept = dataclasses.replace(EXPECTED, old_ids=("old-service", make.node(1)))
    assert audited(a_cloud(), kept) == [("SG102", "blocker")]


def test_an_aggregate_forgotten_or_too_many():
    assert audited(a_cloud(), dataclasses.replace(EXPECTED, aggregates=(1, 2))) == [("SG303", "blocker")]
    assert audited(a_cloud(), dataclasses.replace(EXPECTED, aggregates=())) == [("SG303", "blocker")]
    # One that is only missing from the list blocks; one that is known to be deleted cannot be joined.
    assert audited(a_cloud(), dataclasses.replace(EXPECTED, aggregates=(1, 99))) == [("SG303", "blocker")]
    deleted = dataclasses.replace(EXPECTED, aggregates=(1, 99), gone=(99,))
    assert audited(a_cloud(), deleted) == [("SG303", "warning")]
    # What replaces it is a warning too, and the zone must be the old one.
    replaced = dataclasses.replace(EXPECTED, aggregates=(99,), gone=(99,))
    assert audited(a_cloud(), replaced) == [("SG303", "warning")] * 2
    elsewhere = a_cloud().change("api_services", {"host": "compute1"}, zone="nova")
    assert ("SG303", "blocker") in audited(elsewhere, deleted)


def test_a_guest_in_another_zone_is_told():
    assert audited(a_cloud(), zone="az2") == [("SG407", "warning")]
    assert audited(a_cloud(), zone=None) == []
