# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A compute_id, a service id or a name that belongs to another machine is a copy, and no rename."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.audit.report import audited
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.clones import absent, clone, silent, with_file, without_rows

FILE = "/var/lib/nova/compute_id"


def found(cloud):
    return audit.check(cloud.bundle)


def codes(cloud):
    return {(item.code, item.object.id) for item in found(cloud).findings if item.severity != "info"}


def of_code(cloud, code):
    return [item for item in found(cloud).findings if item.code == code]


def test_the_healthy_cloud_has_no_copy():
    assert not {code for code, _object in codes(builders.healthy())} & {"SG102", "SG107", "SG131"}


def test_a_clone_is_no_rename():
    cloud = clone()
    assert {("SG102", "compute2"), ("SG107", "compute1"), ("SG107", "compute2")} <= codes(cloud)
    assert not {code for code, _object in codes(cloud)} & {"SG105", "SG106", "SG109", "SG119", "SG131"}
    for item in [*of_code(cloud, "SG107"), *of_code(cloud, "SG102")]:
        assert f"{FILE} on compute2" in item.remedy, item.remedy
        assert f"{FILE} on compute1" not in item.remedy
    assert not any("rename_action=adopt" in item.remedy for item in found(cloud).findings)


def test_the_original_may_run_on_while_the_copy_is_removed():
    ways = {host: way for way in audited(clone().bundle).remedies for host in way.names}
    assert "SG107" in ways["compute2"].keep_stopped
    assert ways["compute1"].keep_stopped == ()


@pytest.mark.parametrize("number", [1, 3])
def test_no_remedy_sends_a_host_with_domains_to_a_new_identity(number):
    cloud = clone().host("compute2", domains=[builders.domain(number, 1)])
    for item in [*of_code(cloud, "SG107"), *of_code(cloud, "SG102")]:
        assert "start nova-compute on compute2" not in item.remedy


def test_it_hides_nothing_of_the_original():
    def spoiled(cloud):
        cloud = cloud.change("providers", {"uuid": builders.node(1)}, name="elsewhere")
        return cloud.change("ports", {"id": builders.uid("port", 1, 1)}, binding_vif_type="binding_failed")

    alone = {entry for entry in codes(spoiled(without_rows(builders.healthy(), 2))) if entry[0] in ("SG112", "SG306")}
    assert {code for code, _object in alone} == {"SG112", "SG306"}
    assert alone <= codes(spoiled(clone()))


def test_the_mirror_of_it_is_no_rename_either():
    """The original comes back after its identity was taken: the node has the clone's names now."""
    cloud = clone()
    cloud = cloud.change("compute_nodes", {"id": 201}, host="compute2", hypervisor_hostname="compute2")
    cloud = cloud.change("services", {"id": 101}, host="compute2").change("instances", None, compute_id=203)
    assert not of_code(cloud, "SG131")
    assert {("SG107", "compute1"), ("SG107", "compute2"), ("SG102", "compute1")} <= codes(cloud)


@pytest.mark.parametrize("seen", [absent, builders.Cloud.unreachable])
def test_an_original_that_was_not_read_is_no_proof_of_a_rename(seen):
    cloud = seen(silent(clone()))
    checked = found(cloud)
    assert not [item for item in checked.findings if item.code == "SG131"]
    assert ("SG131", "compute2") in {(entry.code, entry.object) for entry in checked.unchecked}
    assert ("SG102", "compute2") in codes(cloud)
    assert not any("rename_action=adopt" in item.remedy for item in checked.findings)


def test_the_address_decides_nothing_while_a_host_that_may_be_the_owner_was_not_read():
    cloud = silent(clone()).host("compute2", addresses=[builders.address(1)])
    assert of_code(absent(cloud), "SG131")
    assert not of_code(cloud.unreachable("compute1"), "SG131")
    # One whose name Nova knows is another host, and not the owner.
    assert of_code(absent(cloud).unreachable("compute3"), "SG131")
    nobody_knows = absent(cloud)
    nobody_knows = builders.Cloud(dataclasses.replace(nobody_knows.bundle, unreachable={"master": "timed out"}))
    assert not of_code(nobody_knows, "SG131")


def test_a_service_that_is_up_without_this_machine_is_anothers():
    cloud = absent(silent(clone()).host("compute2", addresses=[builders.address(1)]))
    assert of_code(cloud, "SG131")
    up = cloud.change("api_services", {"host": "compute1"}, state="up")
    deployment = dataclasses.replace(up.bundle.hosts["compute2"].deployment, processes=[])
    units = [dataclasses.replace(row, active_state="failed") for row in up.bundle.hosts["compute2"].units]
    assert not of_code(up.host("compute2", deployment=deployment, units=units), "SG131")
    assert not of_code(up.host("compute2", deployment=None), "SG131")


def test_guests_that_run_here_are_proof_and_their_definitions_are_none():
    cloud = absent(clone())
    cloud = cloud.change("api_services", {"host": "compute1"}, state="down")
    domains = [builders.domain(1, number) for number in (1, 2)]
    assert of_code(cloud.host("compute2", domains=domains), "SG131")
    stopped = [dataclasses.replace(domain, state="shutoff") for domain in domains]
    assert not of_code(cloud.host("compute2", domains=stopped), "SG131")


def test_a_copied_file_on_a_host_with_a_node_of_its_own():
    cloud = with_file(builders.healthy(), "compute1", 2)
    assert not of_code(cloud, "SG131")
    assert not {code for code, _object in codes(cloud)} & {"SG105", "SG106", "SG109"}
    (item,) = of_code(cloud, "SG102")
    assert item.object.id == "compute1"
    assert f"{FILE} on compute1" in item.remedy
    assert builders.node(1) in item.remedy
    assert {("SG107", "compute1"), ("SG107", "compute2")} <= codes(cloud)


@pytest.mark.parametrize("seen", [lambda cloud: cloud, lambda cloud: cloud.unreachable("compute2")])
def test_a_service_id_of_another_host_is_a_wrong_link(seen):
    cloud = seen(builders.healthy().change("compute_nodes", {"host": "compute1"}, service_id=102))
    assert not of_code(cloud, "SG131")
    hidden = builders.healthy().drop("host_mappings", {"host": "compute2"})
    hidden = hidden.change("compute_nodes", {"host": "compute1"}, service_id=102)
    assert of_code(hidden, "SG117")


def test_two_machines_with_one_name_are_no_rename_of_libvirts_name():
    cloud = without_rows(builders.healthy(), 2)
    cloud = with_file(cloud, "compute2", 1).part("nova_conf", "compute2", host="compute1")
    assert not of_code(cloud, "SG131")
    assert ("SG107", "compute2") in codes(cloud)


def test_equal_machine_ids_prove_nothing():
    original = builders.healthy().bundle.hosts["compute1"]
    cloud = silent(clone()).host("compute2", machine_id=original.machine_id)
    cloud = cloud.part("libvirt", "compute2", host_uuid=original.libvirt.host_uuid)
    assert not of_code(cloud, "SG131")
    assert not of_code(absent(cloud), "SG131")


def test_a_renamed_host_keeps_its_findings_that_have_another_cause():
    cloud = builders.healthy().host("compute1", kernel_hostname="renamed1", static_hostname="renamed1")
    cloud = cloud.part("libvirt", hostname="renamed1")
    assert of_code(cloud, "SG131")
    cloud = cloud.change("providers", {"uuid": builders.node(1)}, name="elsewhere")
    cloud = cloud.change("ports", {"id": builders.uid("port", 1, 1)}, binding_vif_type="binding_failed")
    assert of_code(cloud, "SG112")
    assert of_code(cloud, "SG306")


def test_an_address_is_one_in_whatever_form():
    cloud = absent(silent(clone()).change("compute_nodes", {"host": "compute1"}, host_ip="2001:db8::1"))
    assert of_code(cloud.host("compute2", addresses=["2001:DB8:0::1"]), "SG131")
    assert not of_code(cloud.host("compute2", addresses=None), "SG131")


def test_what_no_host_says_is_not_read_from_the_api_either():
    cloud = absent(silent(clone())).without("databases")
    assert not of_code(cloud, "SG131")
    hypervisors = [dataclasses.replace(row, host_ip=builders.address(1)) for row in cloud.bundle.cloud.hypervisors]
    cloud = cloud.cloud(hypervisors=hypervisors).host("compute2", addresses=[builders.address(1)])
    assert of_code(cloud, "SG131")
    assert isinstance(cloud.bundle.hosts["compute2"], facts.HostFacts)
