# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation asks of the APIs beside the servers' list: who is in transit, what is lost, who is no target."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import leaving_guests
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    allocation_candidates,
    evacuation_facts,
    migration_records,
    server_actions,
)
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.systems.api.answering_cloud import HOST, Cloud

FLAVOR = {"vcpus": 1, "ram": 1024, "disk": 10, "ephemeral": 0, "swap": 0, "original_name": "m1", "extra_specs": {}}


def shown(uuid, host=HOST, status="ACTIVE", **more):
    base = {"id": uuid, "name": uuid, "status": status, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": None}
    return {**base, "flavor": FLAVOR, **more}


def migration(number, status, kind="live-migration", uuid="a"):
    return {
        "id": number,
        "uuid": f"m{number}",
        "status": status,
        "migration_type": kind,
        "instance_uuid": uuid,
        "source_compute": "compute8",
        "dest_compute": "compute9",
    }


def test_every_migration_of_the_cloud_that_still_brings_somebody_is_read_with_its_server(cloud):
    rows = [migration(1, "running"), migration(2, "finished", "resize", "b"), migration(3, "accepted", uuid="gone")]
    rows.append(migration(4, "finished", "live-migration", "c"))
    cloud.answers["/os-migrations"] = lambda params: Answer(
        200, {"migrations": [row for row in rows if row["status"] == params["status"]]}
    )
    cloud.gives("/servers/a", server=shown("a"))
    cloud.gives("/servers/a/topology", nodes=[{"memory_mb": 512}], pagesize_kb=2048)
    cloud.gives("/servers/b", 503, fault={"message": "no answer"})
    found = migration_records.list_arriving(cloud)
    assert [row.id for row in found] == [1, 2, 3]
    transit = {entry.uuid: entry for entry in evacuation_facts.read_transit(cloud, found, [])}
    assert transit["a"].flavor.ram == 1024
    assert transit["a"].cells == [facts.NumaCell(512, 2048)]
    assert transit["b"] == facts.MigratingServer("b", None), "one that is unread does not hide the others"
    assert "gone" not in transit


SERVER = facts.ApiServer("a", "a", "p", "ACTIVE", HOST, HOST, None, "active", 1, "az1", image="image-1")


def read(cloud, *servers, **given):
    row = facts.CloudFacts("2026-01-01T00:00:00+00:00", [HOST], "2.104", [], [], [], list(servers), [], [], [], [], [])
    return evacuation_facts.read_evacuation(cloud, row, HOST, **given)


def prepared(cloud):
    cloud.gives("/os-server-groups", server_groups=[])
    cloud.gives("/os-aggregates", aggregates=[])
    cloud.gives("/allocation_candidates", provider_summaries={}, allocation_requests=[])
    for uuid in ("a", "b"):
        cloud.gives(f"/servers/{uuid}/topology", nodes=[], pagesize_kb=None)
        cloud.gives(f"/servers/{uuid}/shares", shares=[{"share_id": "s"}] if uuid == "a" else [])
    cloud.gives("/ports", ports=[{"id": "p", "device_id": "b", "binding:vnic_type": "accelerator-direct"}])
    cloud.gives("/images/image-1", id="image-1", hw_firmware_type="uefi", size=1, owner="p")
    volume = {"id": "v", "bootable": "true", "encrypted": True, "volume_image_metadata": {"hw_tpm_version": "2.0"}}
    cloud.gives("/volumes/v", volume=volume)
    cloud.gives("/os-aggregates", aggregates=[{"id": 1, "name": "g", "hosts": [HOST], "metadata": {"gpu": "true"}}])
    return dataclasses.replace(SERVER, id="b", name="b", image="", volumes=["v"])


def test_what_each_server_loses_is_read(cloud):
    volume_backed = prepared(cloud)
    about = read(cloud, SERVER, volume_backed)
    assert about.unread == []
    assert about.image_properties == {"a": {"hw_firmware_type": "uefi"}, "b": {"hw_tpm_version": "2.0"}}
    assert about.shares == {"a": 1, "b": 0}
    assert about.accelerator_ports == ["b"]
    assert about.encrypted == {"a": [], "b": ["v"]}
    assert about.aggregates[0].metadata == {"gpu": "true"}
    assert (about.unlisted, about.soft_deleted, about.cells_down) == ({}, {}, [])
    cloud.asked.clear()
    again = read(cloud, SERVER, volume_backed, known=about)
    assert (again.image_properties, again.encrypted) == (about.image_properties, about.encrypted)
    assert not [path for path, *_rest in cloud.asked if "/images" in path or "/volumes" in path or "topology" in path]


def test_the_properties_that_a_server_was_made_with_count_more_than_those_of_its_image_today(cloud):
    """N8e: a virtual TPM that Glance no longer names was found by a 409 in the middle of a run."""
    prepared(cloud)
    cloud.gives("/servers/a", server=shown("a", image={"id": "image-1", "properties": {"hw_tpm_version": "2.0"}}))
    assert read(cloud, SERVER).image_properties == {"a": {"hw_tpm_version": "2.0"}}
    assert ("/servers/a", "2.98", {}) in cloud.asked
    cloud.gives("/servers/a", server=shown("a", image={"id": "image-1", "properties": {}}))
    assert read(cloud, SERVER).image_properties == {"a": {}}
    old = Cloud((2, 97))
    prepared(old)
    assert read(old, SERVER).image_properties == {"a": {"hw_firmware_type": "uefi"}}
    assert not [asked for asked in old.asked if asked[0] == "/servers/a"]


def test_an_image_that_is_gone_and_a_nova_without_shares(cloud):
    prepared(cloud)
    del cloud.answers["/images/image-1"]
    about = read(cloud, SERVER)
    assert about.image_properties == {}
    old = Cloud((2, 96))
    prepared(old)
    del old.answers["/servers/a/shares"]
    assert read(old, SERVER).shares == {"a": 0}


def test_what_the_services_do_not_answer_is_unread(cloud):
    prepared(cloud)
    for path in ("/images/image-1", "/ports", "/servers/a/shares", "/servers", "/os-migrations"):
        cloud.gives(path, 503, fault={"message": "no answer"})
    about = read(cloud, SERVER)
    parts = {entry.part for entry in about.unread}
    assert parts >= {"image_properties", "accelerator_ports", "shares", "unlisted", "migrations"}
    assert (about.image_properties, about.shares, about.unlisted, about.migrations) == (None, None, None, None)


def test_a_state_is_reset_and_read_back(cloud):
    cloud.gives("/servers/a", server=shown("a"))
    cloud.answers["/servers/a/action"] = lambda _params: Answer(202)
    assert server_actions.reset_state_verified(cloud, "a").status == "ACTIVE"
    assert cloud.posted == [("/servers/a/action", "2.53", {"os-resetState": {"state": "active"}})]


def test_a_state_that_is_not_as_it_was_set_is_an_error(cloud):
    cloud.gives("/servers/a", server=shown("a", status="PAUSED"))
    cloud.answers["/servers/a/action"] = lambda _params: Answer(202)
    with pytest.raises(ApiError, match="PAUSED"):
        server_actions.reset_state_verified(cloud, "a")


def test_numbered_groups_and_overrides_are_asked_of_placement_as_the_scheduler_would():
    flavor = facts.ServerFlavor(
        2, 1024, 10, 0, 0, "m1", {"resources:VCPU": "0", "resources:CUSTOM_FPGA": "1", "resources1:VGPU": "1"}
    )
    specs = {**flavor.extra_specs, "trait1:CUSTOM_A100": "required", "trait:HW_CPU_X86_AVX": "required"}
    amounts = leaving_guests.of_flavor(flavor, root=True)
    assert allocation_candidates.candidates_query(amounts, specs) == {
        "resources": "CUSTOM_FPGA:1,DISK_GB:10,MEMORY_MB:1024",
        "required": "HW_CPU_X86_AVX",
        "resources1": "VGPU:1",
        "required1": "CUSTOM_A100",
        "group_policy": "none",
    }
    assert leaving_guests.taken_by(flavor, root=True)["VGPU"] == 1


def test_a_host_that_was_enabled_a_moment_ago_is_no_destination_yet(cloud):
    """Seen on the lab: Nova said "no valid host", and the server went to ERROR."""
    asked = allocation_candidates.scheduled({"resources": "VCPU:1", "required": "!CUSTOM_OLD,HW_CPU_X86_AVX"})
    assert asked == {"resources": "VCPU:1", "required": "!COMPUTE_STATUS_DISABLED,!CUSTOM_OLD,HW_CPU_X86_AVX"}
    prepared(cloud)
    read(cloud, dataclasses.replace(SERVER, flavor=facts.ServerFlavor(1, 64, 1, 0, 0, "m1", {})))
    questions = [
        params
        for path, _version, params in cloud.asked
        if path == "/allocation_candidates" and params["resources"] != "MEMORY_MB:1"
    ]
    assert questions and all(question["required"] == "!COMPUTE_STATUS_DISABLED" for question in questions)
