# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ways to spoil one thing of a healthy fleet, each with the codes that must forbid a rename then: those and no other.

``CORRUPTIONS`` maps a name to ``(spoil, codes)``; ``spoil`` takes a :class:`strategies.Fleet` and returns its cloud.
``NEEDS_AGENTS`` are those that make sense only where L2 agents are.
"""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import (
    address,
    agent,
    child_provider,
    domain,
    guest,
    instance_row,
    node,
    node_row,
    port,
    service,
    service_row,
    uid,
)

CORRUPTIONS = {}
#: Codes where only what a rename reads was read, if they are not the same: other hosts' rows are not seen then.
NARROWED = {
    "compute_id_copied_from_another_host": {"SG102", "SG107"},
    "new_name_has_a_child_provider": set(),
    "port_of_an_instance_elsewhere": set(),
}
NEEDS_AGENTS = set()
HOST = "compute1"
G1 = guest(1, 1)


def spoils(*codes, agents=False, name=None):
    """Register a corruption and the codes that must answer it."""

    def register(function):
        key = name or function.__name__
        CORRUPTIONS[key] = (function, frozenset(codes))
        if agents:
            NEEDS_AGENTS.add(key)
        return function

    return register


def _file(cloud, number=1, **changes):
    return cloud.change("compute_id_files", lambda row: row.path.startswith("/var"), f"compute{number}", **changes)


# --- identity -------------------------------------------------------------------------------------------------


@spoils("SG101")
def compute_id_gone(fleet):
    return _file(fleet.cloud, exists=False, uuid=None)


@spoils("SG104")
def compute_id_unparsable(fleet):
    return _file(fleet.cloud, uuid=None, error="badly formed hexadecimal UUID string")


@spoils("SG103")
def compute_id_copies_disagree(fleet):
    row = facts.ComputeIdFile("/etc/kolla/nova-compute/compute_id", False, True, uid("other"))
    return fleet.cloud.add("compute_id_files", row)


@spoils("SG102")
def compute_id_of_nobody(fleet):
    return _file(fleet.cloud, uuid=uid("nobody"))


@spoils("SG102", "SG107")
def compute_id_copied_from_another_host(fleet):
    """Nova would take the other host's node for its own: its names are not this host's, and say nothing of it."""
    return _file(fleet.cloud, uuid=node(2))


@spoils("SG107")
def machine_id_cloned(fleet):
    return fleet.cloud.host(machine_id=fleet.cloud.bundle.hosts["compute2"].machine_id)


@spoils("SG105")
def libvirt_calls_itself_otherwise(fleet):
    return fleet.cloud.part("libvirt", hostname="someone-else")


@spoils("SG108")
def domain_lives_elsewhere(fleet):
    return fleet.cloud.add("domains", domain(2, 1))


@spoils("SG109")
def domain_missing(fleet):
    return fleet.cloud.drop("domains", {"uuid": G1})


@spoils("SG110")
def domain_unknown(fleet):
    return fleet.cloud.add("domains", dataclasses.replace(domain(1, 1), uuid=uid("nobody"), name="instance-ffff"))


@spoils("SG110")
def domain_not_novas(fleet):
    row = dataclasses.replace(domain(1, 1), uuid=uid("x"), name="x", nova_name=None, nova_flavor=None)
    return fleet.cloud.add("domains", row)


@spoils("SG112")
def provider_of_another_name(fleet):
    return fleet.cloud.change("providers", {"uuid": node(1)}, name="stale-name")


@spoils("SG112")
def provider_missing(fleet):
    return fleet.cloud.drop("providers", {"uuid": node(1)})


@spoils("SG115")
def ironic(fleet):
    return fleet.cloud.part("nova_conf", compute_driver="ironic.IronicDriver")


@spoils("SG116")
def node_missing(fleet):
    cloud = fleet.cloud.drop("compute_nodes", {"uuid": node(1)})
    cloud = cloud.drop("hypervisors", {"id": node(1)})
    # What hangs on the node says so as well; here only the service without a node is looked at.
    return cloud.put("instances", [row for row in cloud.rows("instances") if row.host != fleet.old]).put("domains", [])


@spoils("SG204")
def service_missing(fleet):
    cloud = fleet.cloud.drop("services", {"uuid": service(1)}).drop("api_services", {"id": service(1)})
    rows = [dataclasses.replace(row, service_id=None) for row in cloud.rows("compute_nodes")]
    return _unbound(cloud.put("compute_nodes", rows), fleet)


def _unbound(cloud, fleet):
    """Without what would rightly be called stale when a service is gone."""
    cloud = cloud.put("host_mappings", [row for row in cloud.rows("host_mappings") if row.host != fleet.old])
    cloud = cloud.put("aggregate_hosts", [row for row in cloud.rows("aggregate_hosts") if row.host != fleet.old])
    rows = [
        dataclasses.replace(row, hosts=[host for host in row.hosts if host != fleet.old])
        for row in cloud.rows("aggregates")
    ]
    return cloud.put("aggregates", rows)


@spoils("SG117")
def unmapped(fleet):
    return fleet.cloud.drop("host_mappings", {"host": fleet.old})


@spoils("SG302")
def mapped_to_another_cell(fleet):
    return fleet.cloud.change("host_mappings", {"host": fleet.old}, cell_uuid=uid("cell", 9), cell_name="cell9")


@spoils("SG205")
def second_node(fleet):
    row = dataclasses.replace(node_row(1, fleet.old, "second"), id=999, uuid=uid("second"), service_id=None)
    return fleet.cloud.add("compute_nodes", row)


@spoils("SG203")
def node_linked_to_another_service(fleet):
    other = dataclasses.replace(service_row(9, fleet.old), binary="nova-compute", host="lone", id=777)
    cloud = fleet.cloud.add("services", other, cell=1)
    return cloud.change("compute_nodes", {"uuid": node(1)}, service_id=777)


@spoils("SG214")
def instance_linked_to_another_node(fleet):
    return fleet.cloud.change("instances", {"uuid": G1}, compute_id=4711)


# --- names ----------------------------------------------------------------------------------------------------


@spoils("SG301")
def instance_on_another_node_name(fleet):
    return fleet.cloud.change("instances", {"uuid": G1}, node="stale-node")


@spoils("SG301")
def api_calls_the_node_otherwise(fleet):
    return fleet.cloud.change("hypervisors", {"id": node(1)}, hypervisor_hostname="stale-node")


@spoils("SG303")
def api_and_database_differ_on_an_aggregate(fleet):
    return fleet.cloud.drop("aggregate_hosts", {"host": fleet.old})


def with_trunk(fleet, parents_host):
    """A trunk of the first guest, with a subport here; the parent of it is bound to a host."""
    subport = port(1, 96, fleet.old, device_owner="trunk:subport", device_id=uid("trunk"))
    cloud = fleet.cloud.add("ports", subport)
    if parents_host == fleet.old:
        return cloud.change("ports", {"device_id": G1}, subports=[subport.id])
    return cloud.add("ports", port(9, 9, parents_host, device_id=guest(9, 9), subports=[subport.id]))


def resident(fleet, kind):
    """Another service on the host that goes by its name."""
    return fleet.cloud.part("name_users", residents=[facts.Resident(kind, ["process 7"])])


@spoils("SG306")
def port_binding_failed(fleet):
    return fleet.cloud.change("ports", {"device_id": G1}, binding_vif_type="binding_failed")


@spoils("SG306")
def dhcp_port(fleet):
    return fleet.cloud.add("ports", port(1, 99, fleet.old, device_owner="network:dhcp", device_id="dhcp1"))


@spoils("SG306")
def port_of_an_instance_elsewhere(fleet):
    return fleet.cloud.add("ports", port(1, 98, fleet.old, device_id=guest(2, 1)))


@spoils("SG306")
def port_of_a_guest_bound_to_a_third_host(fleet):
    return fleet.cloud.change("ports", {"device_id": G1}, binding_host_id="host-9")


@spoils("SG306")
def port_of_a_guest_bound_to_no_host(fleet):
    return fleet.cloud.change("ports", {"device_id": G1}, binding_host_id=None, binding_vif_type="unbound")


@spoils("SG306")
def subport_of_a_trunk_that_is_elsewhere(fleet):
    return with_trunk(fleet, "host-9")


@spoils("SG306")
def port_on_a_routed_provider_network(fleet):
    return fleet.cloud.cloud(routed_subnets=[uid("subnet")])


@spoils("SG709")
def whether_networks_are_routed_unread(fleet):
    return fleet.cloud.cloud(routed_subnets=None)


@spoils("SG709")
def subnets_of_a_port_unread(fleet):
    return fleet.cloud.change("ports", {"device_id": G1}, subnets=None)


@spoils("SG313")
def osd_on_the_host(fleet):
    return resident(fleet, "ceph-osd")


@spoils("SG709")
def name_users_unread(fleet):
    return fleet.cloud.host(name_users=None)


@spoils("SG709")
def residents_unread(fleet):
    return fleet.cloud.part("name_users", residents=None)


@spoils("SG305", agents=True)
def agent_dead(fleet):
    return fleet.cloud.change("agents", {"host": fleet.old}, alive=False)


@spoils("SG305", agents=True)
def agent_unknown_to_neutrons_database(fleet):
    return fleet.cloud.drop("neutron_agents", {"host": fleet.old})


@spoils("SG305")
def dhcp_agent(fleet):
    return fleet.cloud.add("agents", agent(1, fleet.old, "DHCP agent", "neutron-dhcp-agent"))


@spoils("SG305")
def l3_agent_of_distributed_routing(fleet):
    return fleet.cloud.add("agents", agent(1, fleet.old, "L3 agent", "neutron-l3-agent", mode="dvr"))


@spoils("SG305", agents=True)
def l2_agent_of_distributed_routing(fleet):
    return fleet.cloud.change("agents", {"host": fleet.old}, distributed=True)


@spoils("SG317")
def ovn_agent(fleet):
    others = [row for row in fleet.cloud.rows("agents") if row.host != fleet.old]
    one = agent(1, fleet.old, "OVN Controller agent", "ovn-controller")
    return fleet.cloud.put("agents", [*others, one])


@spoils("SG305", agents=True)
def agent_called_otherwise(fleet):
    line = facts.FileLine("/etc/neutron/neutron.conf", 2, "host = another-name")
    return fleet.cloud.host(neutron_host="another-name", neutron_host_lines=[line])


@spoils("SG709", agents=True)
def agent_without_unit(fleet):
    return fleet.cloud.drop("units", {"name": "neutron-openvswitch-agent.service"})


# --- the new name is taken ------------------------------------------------------------------------------------


@spoils("SG310")
def new_name_is_a_service(fleet):
    row = dataclasses.replace(service_row(9, fleet.new.upper()), binary="nova-conductor")
    return fleet.cloud.add("services", row)


@spoils("SG310")
def new_name_is_a_node(fleet):
    cell = fleet.cells
    return fleet.cloud.add("compute_nodes", node_row(9, "host-9", fleet.new), cell=cell)


@spoils("SG310")
def new_name_has_an_instance(fleet):
    row = instance_row(9, 1, "host-9", fleet.new)
    return fleet.cloud.add("instances", row).add("compute_nodes", node_row(9, "host-9", "n9"))


@spoils("SG310")
def new_name_is_mapped(fleet):
    return fleet.cloud.add("host_mappings", facts.HostMappingRow(99, fleet.new, uid("cell", 1), "cell1"))


@spoils("SG310")
def new_name_is_in_an_aggregate(fleet):
    rows = fleet.cloud.rows("aggregates")
    cloud = fleet.cloud.put("aggregates", [dataclasses.replace(rows[0], hosts=[*rows[0].hosts, fleet.new]), *rows[1:]])
    return cloud.add("aggregate_hosts", facts.AggregateHostRow(99, fleet.new, rows[0].id, rows[0].uuid, "agg", "az"))


@spoils("SG310")
def new_name_is_a_provider(fleet):
    return fleet.cloud.add("providers", facts.ResourceProvider(uid("stray"), fleet.new, 1, uid("stray"), None, {}, []))


@spoils("SG310")
def new_name_has_a_child_provider(fleet):
    name = f"{fleet.new}_0000:81:00.0"
    row = facts.ResourceProvider(uid("stray"), name, 1, node(2), node(2), {}, [])
    # Found in the tree of another host only when everything is read.
    return fleet.cloud.add("providers", dataclasses.replace(row, root_provider_uuid=uid("stray")))


@spoils("SG310")
def new_name_has_an_agent(fleet):
    return fleet.cloud.add("agents", agent(9, fleet.new))


@spoils("SG310")
def new_name_has_a_port(fleet):
    return fleet.cloud.add("ports", port(9, 1, fleet.new, device_owner="network:dhcp"))


@spoils("SG310")
def new_name_has_an_open_migration(fleet):
    return fleet.cloud.migrate(guest(9, 1), fleet.new, "host-9", "running", "live-migration")


@spoils("SG310")
def new_name_is_another_machine(fleet):
    return fleet.cloud.host("compute2", static_hostname=fleet.new)


@spoils("SG113")
def new_name_was_evacuated(fleet):
    return fleet.cloud.migrate(guest(9, 1), fleet.new, "host-9", "done", "evacuation")


# --- in flight ------------------------------------------------------------------------------------------------


@spoils("SG701")
def task(fleet):
    return fleet.cloud.change("instances", {"uuid": G1}, task_state="image_snapshot")


@spoils("SG702")
def live_migration_away(fleet):
    return fleet.cloud.migrate(G1, fleet.old, fleet.names(2).host, "running", "live-migration")


@spoils("SG702")
def live_migration_hither(fleet):
    cloud = fleet.cloud.migrate(guest(2, 1), fleet.names(2).host, fleet.old, "preparing", "live-migration")
    return cloud.add("domains", domain(2, 1))


@spoils("SG703")
def resize_unconfirmed(fleet):
    return fleet.cloud.migrate(guest(2, 1), fleet.names(1).host, fleet.names(2).host, "finished", "resize")


@spoils("SG509")
def evacuated_and_not_reaped(fleet):
    return fleet.cloud.migrate(guest(2, 1), fleet.old, fleet.names(2).host, "done", "evacuation")


@spoils("SG108", "SG113", "SG509")
def evacuated_and_still_running(fleet):
    cloud = fleet.cloud.migrate(guest(2, 1), fleet.old, fleet.names(2).host, "done", "evacuation")
    return cloud.add("domains", domain(2, 1))


@spoils("SG113", "SG509")
def evacuated_and_moved_back(fleet):
    """Facts of nova, 0.4: the record is still there, and the next start kills the live domain."""
    return fleet.cloud.migrate(G1, fleet.old, fleet.names(2).host, "done", "evacuation", deleted=7)


@spoils("SG704")
def service_down(fleet):
    return fleet.cloud.change("api_services", {"id": service(1)}, state="down")


@spoils("SG704")
def service_forced_down(fleet):
    return fleet.cloud.change("api_services", {"id": service(1)}, forced_down=True)


@spoils("SG704")
def unit_masked(fleet):
    return fleet.cloud.change("units", {"name": "nova-compute.service"}, blocked=True)


@spoils("SG706")
def held_by_another_operation(fleet):
    return fleet.cloud.change(
        "api_services", {"id": service(1)}, status="disabled", disabled_reason="stackguard:rename:ffff"
    )


@spoils("SG706")
def journal_open(fleet):
    row = facts.OpenOperation("ffff", "rename", "open", builders.AT, "a -> b")
    return fleet.cloud.add("open_operations", row)


@spoils("SG706")
def journal_not_understood(fleet):
    why = "the file is not JSON"
    row = facts.UnknownJournal("/var/lib/stackguard/rename.json", why, "the version that wrote it", "rename")
    return fleet.cloud.host(unknown_journals=[row])


@spoils("SG705")
def schema_unknown(fleet):
    return fleet.cloud.cell(1, revision="ffffffffffff")


@spoils("SG705")
def control_plane_half_upgraded(fleet):
    known = list(releases.API_REVISIONS)
    return fleet.cloud.api_db(revision=known[1 - known.index(fleet.cloud.bundle.databases.api.revision)])


@spoils("SG705")
def service_version_unknown(fleet):
    return fleet.cloud.change("services", {"uuid": service(1)}, version=9999)


# --- resolution -----------------------------------------------------------------------------------------------


@spoils("SG111")
def new_name_is_loopback(fleet):
    return fleet.cloud.resolve(fleet.new, "127.0.1.1", on=HOST)


@spoils("SG111")
def new_name_leads_elsewhere(fleet):
    return fleet.cloud.resolve(fleet.new, address(2), on=HOST)


@spoils("SG111")
def new_name_is_unknown_here(fleet):
    return fleet.cloud.resolve(fleet.new, on=HOST, error="Name or service not known").put("etc_hosts", [])


@spoils("SG111")
def new_name_is_unknown_to_a_peer(fleet):
    return fleet.cloud.resolve(fleet.new, on="compute2", error="Name or service not known")


@spoils("SG111")
def new_name_leads_a_peer_elsewhere(fleet):
    return fleet.cloud.resolve(fleet.new, "198.51.100.7", on="compute2")


# --- evidence -------------------------------------------------------------------------------------------------


@spoils("SG114")
def host_does_not_answer(fleet):
    return fleet.cloud.unreachable()


@spoils("SG709")
def databases_unread(fleet):
    return fleet.cloud.without("databases")


@spoils("SG709")
def apis_unread(fleet):
    return fleet.cloud.without("cloud")


for _part in ("addresses", "compute_id_files", "nova_conf", "libvirt", "domains", "units", "resolutions", "etc_hosts"):
    spoils("SG709", name=f"host_{_part}_unread")(lambda fleet, part=_part: fleet.cloud.host(**{part: None}))
spoils("SG709", name="host_open_operations_unread")(lambda fleet: fleet.cloud.host(open_operations=None))

for _part in ("services", "hypervisors", "servers", "aggregates", "providers", "migrations", "agents", "ports"):
    spoils("SG709", name=f"cloud_{_part}_unread")(
        lambda fleet, part=_part: fleet.cloud.cloud(**{part: None, "unread": [facts.Unread(part, "403")]})
    )

for _part in ("services", "compute_nodes", "instances", "migrations"):
    spoils("SG709", name=f"cell_{_part}_unread")(lambda fleet, part=_part: fleet.cloud.cell(1, **{part: None}))

for _part in ("host_mappings", "aggregate_hosts"):
    spoils("SG709", name=f"api_{_part}_unread")(lambda fleet, part=_part: fleet.cloud.api_db(**{part: None}))


@spoils("SG709")
def last_cell_does_not_answer(fleet):
    parts = ("revision", "services", "compute_nodes", "instances", "migrations")
    unread = [facts.Unread(part, "connection refused") for part in parts]
    return fleet.cloud.cell(fleet.cells, **dict.fromkeys(parts), unread=unread)


@spoils("SG709")
def cells_perhaps_not_all(fleet):
    return fleet.cloud.databases(unread=[facts.left_out("cells", facts.NO_API_DATABASE)])


@spoils("SG709")
def grants_not_probed(fleet):
    return fleet.cloud.databases(grants=None)


@spoils("SG709")
def one_grant_not_probed(fleet):
    return fleet.cloud.drop("grants", {"table": "aggregate_hosts"})


@spoils("SG311")
def grant_lacking(fleet):
    return fleet.cloud.change("grants", {"table": "instances", "action": "update"}, allowed=False, error="1142")


@spoils("SG709")
def no_cell_at_all(fleet):
    return fleet.cloud.databases(cells=[])


@spoils("SG709", agents=True)
def neutrons_agents_unread(fleet):
    return fleet.cloud.neutron_db(agents=None, unread=[facts.Unread("agents", "1142")])


@spoils("SG709")
def a_cell_does_not_answer_the_api(fleet):
    return fleet.cloud.cloud(unread=[facts.Unread("services.compute9", "its cell does not answer")])


@spoils("SG205")
def second_node_of_the_same_hypervisor_hostname(fleet):
    row = node_row(9, "elsewhere", fleet.names(1).libvirt)
    return fleet.cloud.add("compute_nodes", row, cell=fleet.cells)


@spoils("SG205")
def second_service_in_another_cell(fleet):
    cloud = fleet.cloud
    extra = dataclasses.replace(cloud.bundle.databases.cells[0], name="cellx", uuid=uid("cell", "x"))
    own = next(row for row in cloud.rows("services") if row.uuid == service(1))
    row = dataclasses.replace(own, uuid=uid("second"))
    extra = dataclasses.replace(extra, services=[row], compute_nodes=[], instances=[], migrations=[])
    return cloud.databases(cells=[*cloud.bundle.databases.cells, extra])


@spoils("SG301")
def api_does_not_show_the_service(fleet):
    return fleet.cloud.drop("api_services", {"id": service(1)})


@spoils("SG703")
def resized_without_a_record(fleet):
    return fleet.cloud.change("instances", {"uuid": G1}, vm_state="resized")


@spoils("SG705")
def release_unknown(fleet):
    return fleet.cloud.host(nova_version=None).change("services", {"uuid": service(1)}, version=None)


@spoils("SG709")
def allocations_unread(fleet):
    return fleet.cloud.change("providers", {"uuid": node(1)}, allocations=None)


@spoils("SG709")
def new_name_not_asked_for(fleet):
    return fleet.cloud.drop("resolutions", {"name": fleet.new})


@spoils("SG709")
def no_unit_of_nova_compute(fleet):
    return fleet.cloud.drop("units", {"name": "nova-compute.service"})


@spoils("SG312")
def host_line_not_plain(fleet):
    line = facts.FileLine("/etc/nova/nova.conf", 3, "host = $my_ip")
    return fleet.cloud.part("nova_conf", host=fleet.old, host_lines=[line])


#: Spoils nothing that forbids a rename: each must leave it allowed, with the codes that it is told by.
HARMLESS = {
    "soft_deleted_rows_of_the_new_name": (
        lambda fleet: fleet.cloud.add("services", dataclasses.replace(service_row(9, fleet.new), deleted=9)).add(
            "compute_nodes", dataclasses.replace(node_row(9, fleet.new, fleet.new), deleted=9)
        ),
        {"SG310"},
    ),
    "disabled_by_somebody": (
        lambda fleet: fleet.cloud.change(
            "api_services", {"id": service(1)}, status="disabled", disabled_reason="disk to be changed"
        ),
        {"SG704"},
    ),
    "masakari": (
        lambda fleet: fleet.cloud.cloud(catalog=["compute", "instance-ha"]),
        {"SG708"},
    ),
    "child_providers": (
        lambda fleet: fleet.cloud.add("providers", child_provider(1, f"{fleet.names(1).libvirt}_0000:81:00.0")),
        {"SG304"},
    ),
    "child_provider_called_otherwise": (
        lambda fleet: fleet.cloud.add("providers", child_provider(1, "stale_0000:81:00.0")),
        {"SG304"},
    ),
    "failed_build": (
        lambda fleet: fleet.cloud.drop("domains", {"uuid": G1}).change("instances", {"uuid": G1}, vm_state="error"),
        {"SG109"},
    ),
    "shelved": (
        lambda fleet: (
            fleet.cloud.drop("domains", {"uuid": G1})
            .change("instances", {"uuid": G1}, vm_state="shelved_offloaded", host=None, node=None, compute_id=None)
            .drop("servers", {"id": G1})
            .drop("ports", {"device_id": G1})
        ),
        set(),
    ),
    "stopped": (
        lambda fleet: fleet.cloud.change("domains", {"uuid": G1}, state="shutoff", pid=None).change(
            "instances", {"uuid": G1}, vm_state="stopped", power_state=4
        ),
        set(),
    ),
    "a_guest_with_a_trunk": (lambda fleet: with_trunk(fleet, fleet.old), set()),
    "a_routed_network_of_others": (lambda fleet: fleet.cloud.cloud(routed_subnets=["another-subnet"]), set()),
    "telemetry_on_the_host": (lambda fleet: resident(fleet, "ceilometer"), {"SG313"}),
    "router_port_elsewhere": (
        lambda fleet: fleet.cloud.add("ports", port(1, 97, "host-9", device_owner="network:router_interface")),
        set(),
    ),
    "ended_migrations": (
        lambda fleet: fleet.cloud.migrate(G1, fleet.names(2).host, fleet.old, "completed", "live-migration").migrate(
            G1, fleet.old, fleet.names(2).host, "confirmed", "resize"
        ),
        set(),
    ),
    "others_migrate": (
        lambda fleet: fleet.cloud.migrate(guest(2, 1), fleet.names(2).host, "host-9", "running", "live-migration"),
        set(),
    ),
    "new_name_by_the_hosts_file": (
        lambda fleet: fleet.cloud.resolve(fleet.new, on=HOST, error="Name or service not known"),
        {"SG111"},
    ),
    "peer_needs_no_name": (
        lambda fleet: fleet.cloud.resolve(fleet.new, on="compute2", error="Name or service not known").part(
            "nova_conf", live_migration_inbound_addr=address(1)
        ),
        {"SG111"},
    ),
    "new_name_by_a_loopback_line": (
        lambda fleet: fleet.cloud.resolve(fleet.new, on=HOST, error="unknown").put(
            "etc_hosts", [facts.HostsLine(2, "127.0.1.1", [fleet.old], f"127.0.1.1 {fleet.old}")]
        ),
        {"SG111"},
    ),
    "neither_name_resolves": (
        lambda fleet: fleet.cloud.resolve(fleet.new).resolve(fleet.old).put("etc_hosts", []),
        {"SG111"},
    ),
    "a_peer_was_not_asked": (
        lambda fleet: fleet.cloud.drop("resolutions", {"name": fleet.new}, host="compute2"),
        {"SG111"},
    ),
    "a_peer_does_not_answer": (lambda fleet: fleet.cloud.unreachable("compute2"), {"SG111"}),
    "link_to_a_service_that_is_gone": (
        lambda fleet: fleet.cloud.put(
            "compute_nodes",
            [dataclasses.replace(row, service_id=row.service_id and 9999) for row in fleet.cloud.rows("compute_nodes")],
        ),
        {"SG202"},
    ),
    "old_evacuations_elsewhere": (
        lambda fleet: fleet.cloud.migrate(guest(2, 1), "host-9", fleet.names(2).host, "done", "evacuation"),
        set(),
    ),
    "uuid_in_another_form": (
        lambda fleet: _file(fleet.cloud, uuid="{" + node(1).upper() + "}"),
        set(),
    ),
}
