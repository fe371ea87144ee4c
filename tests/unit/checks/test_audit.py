# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The general checks over whole bundles: a case that raises each code and one that does not, per rule."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.audit import remedies
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import identity, in_flight, names
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.catalogue import PLACES
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.place import DeclaredTable
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import (
    child_provider,
    domain,
    guest,
    healthy,
    instance_row,
    node,
    port,
    service,
    service_row,
    uid,
)
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets

G1 = guest(1, 1)
UNKNOWN = facts.UnknownJournal("/var/lib/stackguard/rename.json", "no run", "version 0.1", "rename")


def audit(cloud):
    return identity.check(cloud.bundle) + names.check(cloud.bundle) + in_flight.check(cloud.bundle)


def told(cloud):
    """Code and severity of everything that is told."""
    return {(item.code, item.severity) for item in audit(cloud).findings}


def of_declared_tables(cloud):
    """What places that declare their table tell of stale names: their own tests say when."""
    tables = [place for place in PLACES if isinstance(place, DeclaredTable)]
    found = [item for place in tables for item in place.stale(Index(cloud.bundle)) if isinstance(item, Finding)]
    return {(item.code, item.severity) for item in found}


def undecided(cloud):
    return {item.code for item in audit(cloud).unchecked}


@given(fleets(min_hosts=1, min_guests=0, releases=range(26, 35)))
def test_a_healthy_fleet_passes(some):
    checked = audit(some.cloud)
    assert checked == findings.Checked()
    assert findings.verdict(checked.findings, checked.unchecked, []) == "pass"


@given(fleets(min_hosts=1, releases=range(26, 35)))
def test_what_was_narrowed_is_left_undecided_not_accused(some):
    assert audit(some.narrowed(some.cloud)).findings == ()


@given(fleets(min_hosts=1), st.sampled_from(["databases", "cloud"]))
def test_one_source_alone_accuses_nobody(some, source):
    checked = audit(some.cloud.without(source))
    assert checked.findings == ()
    assert checked.unchecked


def test_nothing_read_decides_nothing():
    cloud = healthy().without("databases", "cloud")
    assert audit(cloud).findings == ()
    assert {"SG102", "SG105", "SG106", "SG108", "SG109", "SG110", "SG112", "SG113", "SG116", "SG117"} <= undecided(
        cloud
    )
    assert {"SG301", "SG302", "SG303", "SG304", "SG305", "SG306", "SG309", "SG701", "SG702", "SG704"} <= undecided(
        cloud
    )


def _file(cloud, host=1, **changes):
    return cloud.change("compute_id_files", lambda row: row.path.startswith("/var"), f"compute{host}", **changes)


def _renamed(cloud, **changes):
    """The kernel's host name of compute1 changed, and libvirt's with it."""
    return cloud.host(kernel_hostname="other", **changes).part("libvirt", hostname="other")


def _service_gone(cloud):
    return cloud.drop("services", {"uuid": service(1)}).drop("api_services", {"id": service(1)})


B, W, I = "blocker", "warning", "info"  # noqa: E741 (the three severities)

#: What is done to the healthy cloud of three hosts, and everything that must then be told.
CASES = {
    "file gone": (lambda c: _file(c, exists=False, uuid=None), {("SG101", B)}),
    "file gone, release 27 not started yet": (
        lambda c: _file(c, exists=False, uuid=None).change("services", {"uuid": service(1)}, version=64),
        {("SG101", I), ("SG705", W)},
    ),
    "file unreadable": (lambda c: _file(c, uuid=None, error="EACCES"), {("SG104", B)}),
    "copies disagree": (
        lambda c: c.change("compute_id_files", {"exists": False}, exists=True, uuid=uid("other")),
        {("SG103", B)},
    ),
    "a file of nobody": (lambda c: _file(c, uuid=uid("nobody")), {("SG102", B)}),
    "a file in another form": (lambda c: _file(c, uuid=node(1).replace("-", "").upper()), set()),
    "host renamed": (_renamed, {("SG105", B), ("SG106", B)}),
    "libvirt renamed": (lambda c: c.part("libvirt", hostname="other"), {("SG105", B)}),
    "libvirt in capitals": (lambda c: c.part("libvirt", hostname="COMPUTE1"), {("SG105", B)}),
    "host= changed": (lambda c: c.part("nova_conf", host="other"), {("SG106", B)}),
    "host= in capitals": (lambda c: c.part("nova_conf", host="COMPUTE1"), {("SG106", B)}),
    "cloned machine": (lambda c: c.host(machine_id=c.bundle.hosts["compute2"].machine_id), {("SG107", B)}),
    "foreign domain": (lambda c: c.add("domains", domain(2, 1)), {("SG108", B)}),
    "foreign domain during a migration": (
        lambda c: c.add("domains", domain(2, 1)).migrate(guest(2, 1), "compute2", "compute1", "running"),
        {("SG702", I)},
    ),
    "foreign domain during a migration between others": (
        lambda c: c.add("domains", domain(2, 1)).migrate(guest(2, 1), "compute2", "compute3", "running"),
        {("SG108", B), ("SG702", I)},
    ),
    "foreign domain, kept for a resize to be confirmed": (
        lambda c: c.add("domains", domain(2, 1)).migrate(guest(2, 1), "compute1", "compute2", "finished", "resize"),
        {("SG703", I)},
    ),
    "domain missing": (lambda c: c.drop("domains", {"uuid": G1}), {("SG109", B)}),
    "domain missing after a failed build": (
        lambda c: c.drop("domains", {"uuid": G1}).change("instances", {"uuid": G1}, vm_state="error"),
        {("SG109", W)},
    ),
    "building": (
        lambda c: c.drop("domains", {"uuid": G1}).change(
            "instances", {"uuid": G1}, vm_state="building", task_state="spawning"
        ),
        {("SG701", I)},
    ),
    "unknown domain": (lambda c: c.add("domains", dataclasses.replace(domain(1, 1), uuid=uid("x"))), {("SG110", B)}),
    "domain of a deleted instance": (lambda c: c.change("instances", {"uuid": G1}, deleted=1001), {("SG110", B)}),
    "provider missing": (lambda c: c.drop("providers", {"uuid": node(1)}), {("SG112", B)}),
    "provider called otherwise": (lambda c: c.change("providers", {"uuid": node(1)}, name="x"), {("SG112", B)}),
    "provider of the node's name and another uuid": (
        lambda c: c.change("providers", {"uuid": node(1)}, uuid=uid("x"), root_provider_uuid=uid("x")),
        {("SG112", B)},
    ),
    "evacuated, not reaped, still here": (
        lambda c: c.add("domains", domain(2, 1)).migrate(guest(2, 1), "compute1", "compute2", "done", "evacuation"),
        {("SG108", B), ("SG113", B), ("SG509", W)},
    ),
    "evacuated and moved back": (
        lambda c: c.migrate(G1, "compute1", "compute2", "done", "evacuation", deleted=5),
        {("SG113", B), ("SG509", W)},
    ),
    "evacuated under a name in capitals": (
        lambda c: c.migrate(G1, "COMPUTE1", "compute2", "accepted", "evacuation"),
        {("SG113", B), ("SG509", W), ("SG309", B)},
    ),
    "evacuated and reaped": (lambda c: c.migrate(G1, "compute1", "compute2", "completed", "evacuation"), set()),
    "unreachable": (lambda c: c.unreachable(), {("SG114", B)}),
    "domains unread": (
        lambda c: c.host(domains=None, unread=[facts.Unread("domains", "no libvirt")]),
        {("SG114", B)},
    ),
    "ironic": (lambda c: c.change("compute_nodes", {"uuid": node(1)}, hypervisor_type="ironic"), {("SG115", B)}),
    "a service without a node": (lambda c: c.add("services", service_row(9, "compute9")), {("SG116", B), ("SG117", B)}),
    "unmapped": (lambda c: c.drop("host_mappings", {"host": "compute1"}), {("SG117", B)}),
    "mapped in capitals": (
        lambda c: c.change("host_mappings", {"host": "compute1"}, host="COMPUTE1"),
        {("SG117", B), ("SG302", B)},
    ),
    "stale mapping": (
        lambda c: c.add("host_mappings", facts.HostMappingRow(9, "gone", uid("cell", 1), "cell1")),
        {("SG302", W)},
    ),
    "mapped to another cell": (
        lambda c: c.change("host_mappings", {"host": "compute1"}, cell_uuid=uid("cell", 7)),
        {("SG302", B)},
    ),
    "a new host that never started": (
        lambda c: (
            _file(c, exists=False, uuid=None)
            .host(kernel_hostname="brandnew", domains=[])
            .part("libvirt", hostname="brandnew")
        ),
        {("SG119", W)},
    ),
    "half a rename: instances forgotten": (
        lambda c: (
            c.change("compute_nodes", {"uuid": node(1)}, hypervisor_hostname="other")
            .change("hypervisors", {"id": node(1)}, hypervisor_hostname="other")
            .change("providers", {"uuid": node(1)}, name="other")
            .part("libvirt", hostname="other")
        ),
        {("SG301", B)},
    ),
    "half a rename: the trap of 27 and 28": (
        lambda c: c.change("services", {"uuid": service(1)}, host="before"),
        # The node, its instances and the API still say compute1.
        {("SG301", B), ("SG116", B), ("SG117", B), ("SG303", B), ("SG302", W)},
    ),
    "aggregate of a stale name": (
        lambda c: c.add("aggregate_hosts", facts.AggregateHostRow(9, "gone", 1, uid("aggregate", 1), "agg1", "az1")),
        {("SG303", B)},
    ),
    "aggregates differ": (lambda c: c.drop("aggregate_hosts", {"host": "compute1"}), {("SG303", B)}),
    "the api's service called otherwise": (
        lambda c: c.change("api_services", {"id": service(1)}, host="other"),
        {("SG301", B)},
    ),
    "the api's server elsewhere": (lambda c: c.change("servers", {"id": G1}, host="compute2"), {("SG301", W)}),
    "the api's server elsewhere, in a task": (
        lambda c: c.change("servers", {"id": G1}, host="compute2", task_state="migrating"),
        set(),
    ),
    "the api's node unknown": (
        lambda c: c.add("hypervisors", facts.ApiHypervisor(uid("x"), "x", "x", "QEMU", "up", "enabled")),
        set(),
    ),
    "instance on a host that is none": (
        lambda c: (
            c.change("instances", {"uuid": G1}, host="COMPUTE1")
            .drop("ports", {"device_id": G1})
            .drop("servers", {"id": G1})
        ),
        {("SG301", B)},
    ),
    "agent called otherwise in neutron's database": (
        lambda c: c.change("neutron_agents", {"host": "compute1"}, host="other"),
        {("SG305", B)},
    ),
    "service in capitals, no node": (
        lambda c: (
            c.change("services", {"uuid": service(1)}, host="COMPUTE1")
            .drop("compute_nodes", {"uuid": node(1)})
            .put("instances", [row for row in c.rows("instances") if row.host != "compute1"])
            .host(domains=[], compute_id_files=[])
            .change("api_services", {"id": service(1)}, host="COMPUTE1")
        ),
        None,
    ),
    "newer than its cell": (
        lambda c: c.cell(1, revision="2903cd72dc14").cloud(compute_max_microversion="2.103"),
        {("SG705", W)},
    ),
    "resized without a record": (lambda c: c.change("instances", {"uuid": G1}, vm_state="resized"), set()),
    "child provider": (lambda c: c.add("providers", child_provider(1, "compute1_0000:81:00.0")), set()),
    "neutron's child provider": (lambda c: c.add("providers", child_provider(1, "compute1:NIC agent")), set()),
    "child provider of a stale name": (
        lambda c: c.add("providers", child_provider(1, "before_0000:81:00.0")),
        {("SG304", W)},
    ),
    "agent in capitals": (
        lambda c: c.change("agents", {"host": "compute1"}, host="Compute1").change(
            "neutron_agents", {"host": "compute1"}, host="Compute1"
        ),
        {("SG305", B)},
    ),
    "agent dead": (lambda c: c.change("agents", {"host": "compute1"}, alive=False), {("SG305", W)}),
    "agent of a network node": (lambda c: c.add("agents", builders.agent(9, "network1", alive=False)), set()),
    "binding failed": (
        lambda c: c.change("ports", {"device_id": G1}, binding_vif_type="binding_failed"),
        {("SG306", B)},
    ),
    "port elsewhere": (lambda c: c.change("ports", {"device_id": G1}, binding_host_id="compute2"), {("SG306", B)}),
    "port on a stale name": (lambda c: c.change("ports", {"device_id": G1}, binding_host_id="gone"), {("SG306", B)}),
    "port of a network node": (
        lambda c: c.add("ports", port(9, 9, "network1", device_owner="network:dhcp", device_id="dhcp")),
        set(),
    ),
    "migration of a stale name": (
        lambda c: c.migrate(G1, "gone", "compute1", "finished", "resize"),
        {("SG309", B), ("SG703", I)},
    ),
    "task": (lambda c: c.change("instances", {"uuid": G1}, task_state="rebooting"), {("SG701", I)}),
    "live migration": (lambda c: c.migrate(G1, "compute1", "compute2", "running", "live-migration"), {("SG702", I)}),
    "migration without a status": (lambda c: c.migrate(G1, "compute1", "compute2", None), {("SG702", I)}),
    "soft-deleted migration": (lambda c: c.migrate(G1, "compute1", "compute2", "running", deleted=3), set()),
    "disabled": (lambda c: c.change("api_services", {"id": service(1)}, status="disabled"), {("SG704", W)}),
    "down": (lambda c: c.change("api_services", {"id": service(1)}, state="down"), {("SG704", W)}),
    "held": (
        lambda c: c.change("api_services", {"id": service(1)}, status="disabled", disabled_reason="stackguard:x:y"),
        {("SG706", B)},
    ),
    "journal": (
        lambda c: c.add("open_operations", facts.OpenOperation("a", "rename", "open", builders.AT, "a -> b")),
        {("SG706", B)},
    ),
    "journal that is not understood": (
        lambda c: c.host("compute1", unknown_journals=[UNKNOWN]),
        {("SG706", B)},
    ),
    "journal of the directory that is not understood": (
        lambda c: c._bundle(unknown_journals=[UNKNOWN]),
        {("SG706", B)},
    ),
    "schema unknown": (lambda c: c.cell(1, revision=None), {("SG705", B)}),
    "api schema unknown": (lambda c: c.api_db(revision="x"), {("SG705", B)}),
    "microversion unknown": (lambda c: c.cloud(compute_max_microversion="2.999"), {("SG705", B)}),
    "api older than its schema": (lambda c: c.cloud(compute_max_microversion="2.96"), {("SG705", B)}),
    "upgraded, not restarted": (lambda c: c.change("services", {"uuid": service(1)}, version=72), {("SG705", W)}),
    "package unknown": (lambda c: c.host(nova_version="99.0"), {("SG705", B)}),
    "an instance that is nowhere": (lambda c: c.add("instances", instance_row(9, 9, None, None)), set()),
}


@pytest.mark.parametrize("name", CASES)
def test_an_audit_tells_just_that(name):
    spoil, expected = CASES[name]
    cloud = spoil(healthy())
    found = told(cloud) - (of_declared_tables(cloud) - (expected or set()))
    assert found == expected if expected is not None else ("SG106", "blocker") in found


def test_every_code_that_the_audit_can_tell_has_a_case():
    covered = {code for _spoil, expected in CASES.values() for code, _severity in expected or ()}
    assert covered >= {f"SG1{number:02}" for number in range(1, 20)} - {"SG111", "SG118"}
    assert covered >= {"SG301", "SG302", "SG303", "SG304", "SG305", "SG306", "SG309", "SG509"}
    assert covered >= {"SG701", "SG702", "SG703", "SG704", "SG705", "SG706"}


@pytest.mark.parametrize(
    ("reason", "first", "last"),
    [
        ("stackguard:rename:op1", "rename_action=status", "roll it back."),
        ("stackguard:drain:op1", "drain_action=status", "and you want Nova to start servers on the host again"),
        ("stackguard:evacuate:op1", "evacuate_action=status", "run return_host."),
        (
            "stackguard:of-another-version:op1",
            "the id of the operation in the disabled reason",
            "roll the operation back.",
        ),
    ],
)
def test_the_remedy_for_a_service_that_an_operation_disabled_names_the_operations_own_playbook(reason, first, last):
    cloud = healthy().change("api_services", {"id": service(1)}, status="disabled", disabled_reason=reason)
    (found,) = [item for item in in_flight.check(cloud.bundle).findings if item.code == "SG706"]
    assert first in found.remedy and last in found.remedy


def test_a_guest_on_a_host_without_a_service_is_a_blocker():
    cloud = _service_gone(healthy()).drop("compute_nodes", {"uuid": node(1)}).drop("hypervisors", {"id": node(1)})
    assert ("SG119", "blocker") in told(cloud)


# --- releases -------------------------------------------------------------------------------------------------


def test_release_26_has_no_file_and_needs_none():
    assert told(healthy(release=26)) == set()


def test_of_an_unknown_release_the_missing_file_is_undecided():
    cloud = _file(healthy(), exists=False, uuid=None).host(nova_version=None)
    cloud = cloud.change("services", {"uuid": service(1)}, version=9999)
    assert ("SG101", "blocker") not in told(cloud)
    assert "SG101" in undecided(cloud)


@pytest.mark.parametrize(
    ("release", "stranger", "destroys"),
    [(26, False, True), (27, False, False), (27, True, True), (28, True, True), (29, True, False), (34, True, False)],
)
def test_old_releases_destroy_the_orphaned_node(release, stranger, destroys):
    """Facts of nova, 1.3: 26 always; 27 and 28 once the file's uuid is nobody's; 29 and newer only warn."""
    cloud = healthy(release=release).part("libvirt", hostname="other")
    if stranger:
        cloud = _file(cloud, uuid=uid("stranger"))
    assert (("SG113", "blocker") in told(cloud)) == destroys


# --- one remedy for each state ---------------------------------------------------------------------------------


def provider_remedy(cloud):
    (item,) = [item for item in audit(cloud).findings if item.code == "SG112"]
    return item


def test_a_foreign_provider_with_the_nodes_name_is_named_with_its_consumers():
    """R06b: no provider has the node's uuid, and another one has its name and allocations."""
    other = uid("old provider")
    cloud = healthy().change("providers", {"uuid": node(1)}, uuid=other, root_provider_uuid=other)
    item = provider_remedy(cloud)
    assert item.evidence["provider of that uuid"] is None
    assert sorted(item.evidence["their consumers"][other]) == sorted(cloud.rows("providers")[0].allocations)
    assert other in item.remedy
    assert "Find the resource provider that has the compute node's uuid" not in item.remedy
    assert "allocation unset" in item.remedy
    unread = provider_remedy(cloud.change("providers", {"uuid": other}, allocations=None))
    assert unread.evidence["their consumers"] == {other: None}
    strays = {"strays": {"someone": {"VCPU": 1}}, "has_compute_trait": True}
    whole = provider_remedy(cloud.change("providers", {"uuid": other}, allocations=None, **strays))
    assert whole.evidence["their consumers"] == {other: ["someone"]}


def test_a_provider_that_is_missing_or_misnamed_has_a_remedy_of_its_own():
    missing = provider_remedy(healthy().drop("providers", {"uuid": node(1)}))
    misnamed = provider_remedy(healthy().change("providers", {"uuid": node(1)}, name="x"))
    assert "their consumers" not in {**missing.evidence, **misnamed.evidence}
    assert "allocation unset" not in missing.remedy + misnamed.remedy
    assert missing.remedy != misnamed.remedy


def test_an_equal_libvirt_uuid_is_changed_where_libvirt_reads_it():
    """B13: boards with one uuid; nova-compute has no part in it, and may run."""
    uuid = healthy().bundle.hosts["compute3"].libvirt.host_uuid
    found = [item for item in audit(healthy().part("libvirt", host_uuid=uuid)).findings if item.code == "SG107"]
    assert {item.object.id for item in found} == {"compute1", "compute3"}
    assert all("libvirtd.conf" in item.remedy and "host_uuid" in item.remedy for item in found)
    assert {remedies.needs(item) for item in found} == {None}
    cloned = healthy().host(machine_id=healthy().bundle.hosts["compute2"].machine_id)
    assert {remedies.needs(item) for item in audit(cloned).findings if item.code == "SG107"} == {remedies.STOPPED}


# --- several cells, the API alone -----------------------------------------------------------------------------


def test_a_domain_of_an_instance_in_another_cell_is_foreign():
    cloud = healthy(cells=2).add("domains", domain(2, 1))
    (item,) = audit(cloud).findings
    assert (item.code, item.evidence["database"][0]) == ("SG108", "cell cell2")


def test_with_an_unread_cell_unknown_domains_are_undecided():
    cloud = healthy(cells=2).cell(2, instances=None).add("domains", domain(2, 1))
    assert not {code for code, _severity in told(cloud)} & {"SG108", "SG110"}
    assert "SG110" in undecided(cloud)


def test_the_api_alone_tells_a_changed_name():
    cloud = _renamed(healthy().without("databases"))
    assert told(cloud) == {("SG105", "blocker"), ("SG106", "blocker")}


def test_a_libvirt_uuid_on_two_hosts_is_told_on_both():
    cloud = healthy().part("libvirt", host_uuid=uid("libvirt", 2).upper())
    assert {item.object.id for item in audit(cloud).findings if item.code == "SG107"} == {"compute1", "compute2"}


def test_ironic_nodes_are_many_for_one_service_and_not_looked_at():
    cloud = healthy().part("nova_conf", compute_driver="ironic.IronicDriver").host(compute_id_files=[], domains=[])
    assert told(cloud) == {("SG115", "blocker")}


def test_other_unread_parts_of_a_host_are_undecided():
    cloud = healthy().host(hugepages=None, unread=[facts.Unread("hugepages", "no such directory")])
    assert told(cloud) == set()
    assert undecided(cloud) == {"SG114"}


def test_the_api_hides_broken_nodes_so_their_absence_proves_nothing():
    cloud = healthy().without("databases").drop("hypervisors", {"id": node(1)})
    assert {code for code, _severity in told(cloud)} == set()
    assert {"SG102", "SG105"} <= undecided(cloud)


def test_without_databases_the_api_tells_tasks_and_stale_members():
    cloud = healthy().without("databases").change("servers", {"id": G1}, task_state="rebooting")
    rows = [dataclasses.replace(row, hosts=[*row.hosts, "gone"]) for row in cloud.rows("aggregates")]
    assert told(cloud.put("aggregates", rows)) == {("SG701", "info"), ("SG303", "blocker")}


def test_migrations_of_the_api_speak_where_the_databases_do_not():
    row = facts.ApiMigration(7, uid("m"), "evacuation", "done", G1, "compute1", "compute1", "compute2", "compute2")
    assert told(healthy().without("databases").add("api_migrations", row)) == {
        ("SG113", "blocker"),
        ("SG509", "warning"),
    }
    # Where every cell was read, the databases know better.
    assert told(healthy().add("api_migrations", row)) == set()


def test_absence_of_open_vswitch_is_no_gap():
    assert audit(healthy(l2_agents=False)) == findings.Checked()


def test_a_host_without_dmi_is_checked_wholly_and_one_whose_dmi_was_not_read_is_not():
    without = builders.healthy().host(dmi_uuid="")
    assert audit(without) == audit(builders.healthy())
    unread = facts.Unread("dmi_uuid", "/sys/class/dmi/id/product_uuid: Permission denied")
    told = audit(builders.healthy().host(dmi_uuid=None, unread=[unread])).unchecked
    assert [(item.code, item.object) for item in told] == [("SG114", "compute1")]


@pytest.mark.parametrize("lacking", ["machine-id", "host uuid"])
def test_an_identity_that_was_not_read_is_not_taken_for_one_of_its_own(lacking):
    cloud = builders.healthy().host(dmi_uuid="")
    cloud = cloud.host(machine_id=None) if lacking == "machine-id" else cloud.part("libvirt", host_uuid=None)
    told = [item for item in audit(cloud).unchecked if item.code == "SG107"]
    assert [item.object for item in told] == ["compute1"]
    assert lacking in told[0].reason
