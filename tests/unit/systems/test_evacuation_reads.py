# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation asks of the APIs beside the servers' list: who is really there, who is on the way, what is lost.

The answers have the shapes of the compute, placement, network, image and block storage API references."""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import evacuations
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer

HOST = "compute1"
FLAVOR = {"vcpus": 1, "ram": 1024, "disk": 10, "ephemeral": 0, "swap": 0, "original_name": "m1", "extra_specs": {}}


def shown(uuid, host=HOST, status="ACTIVE", **more):
    base = {"id": uuid, "name": uuid, "status": status, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": None}
    return {**base, "flavor": FLAVOR, **more}


class Cloud:
    """Answers by method and path; what nobody prepared is 404. ``asked``: (path, microversion, params)."""

    def __init__(self, max_microversion=(2, 104)):
        self.answers, self.asked, self.posted = {}, [], []
        data = types.SimpleNamespace(max_microversion=max_microversion)
        for name in ("compute", "placement", "network", "image", "block_storage"):
            setattr(self, name, types.SimpleNamespace(request=self.request, get_endpoint_data=lambda: data))
        self.service_catalog = [{"type": "compute"}]
        self.gives("/os-services", services=[])
        self.gives("/servers", servers=[])
        self.gives("/servers/detail", servers=[])
        self.gives("/os-migrations", migrations=[])
        self.gives("/os-hypervisors/detail", hypervisors=[hypervisor(HOST)])
        self.gives("/resource_providers", resource_providers=[provider("rp")])
        self.gives("/resource_providers/rp/allocations", allocations={})

    def gives(self, path, status=200, **body):
        self.answers[path] = lambda _params: Answer(status, body)

    def request(self, path, method, microversion=None, params=None, json=None, **_given):
        self.asked.append((path, microversion, dict(params or {})))
        if method == "POST":
            self.posted.append((path, microversion, json))
        answer = self.answers.get(path)
        return answer(params or {}) if answer else Answer(404, {"itemNotFound": {"message": "not found"}})


def hypervisor(host):
    return {"id": "rp", "hypervisor_hostname": host, "service": {"host": host}, "hypervisor_type": "QEMU"}


def provider(uuid):
    return {"uuid": uuid, "name": HOST, "generation": 1, "root_provider_uuid": uuid, "parent_provider_uuid": None}


@pytest.fixture
def cloud():
    return Cloud()


def holds(cloud, *uuids):
    held = {uuid: {"resources": {"MEMORY_MB": 1024}} for uuid in uuids}
    cloud.gives("/resource_providers/rp/allocations", allocations=held)


# --- D17, D18: who is there? ----------------------------------------------------------------------------------


def test_nobody_is_there_by_all_sources(cloud):
    account = evacuations.account_of(cloud, HOST)
    assert account.empty
    unpaged = [params for path, _version, params in cloud.asked if path == "/servers"]
    assert unpaged == [{"all_tenants": "1"}], "with a limit Nova leaves out cells that do not answer"


def test_a_server_that_the_list_lacks_is_found_through_placement(cloud):
    holds(cloud, "silent", "lost", "leaked", "moved", "forgotten")
    cloud.gives("/servers/silent", server={"id": "silent", "status": "UNKNOWN"})
    cloud.gives("/servers/lost", 500, computeFault={"message": "cell timed out"})
    cloud.gives("/servers/moved", server=shown("moved", host="compute9"))
    cloud.gives("/servers/forgotten", server=shown("forgotten"))
    account = evacuations.account_of(cloud, HOST)
    assert not account.empty
    assert sorted(account.unlisted) == ["forgotten", "leaked", "lost", "silent"]
    assert account.unlisted["silent"] == "its cell does not answer"
    assert "cell timed out" in account.unlisted["lost"]


def test_what_a_migration_holds_is_explained(cloud):
    holds(cloud, "m1")
    cloud.gives("/os-migrations", migrations=[{"id": 1, "uuid": "m1", "status": "finished"}])
    assert evacuations.account_of(cloud, HOST).unlisted == {}


def test_soft_deleted_servers_are_on_the_host(cloud):
    holds(cloud, "gone")

    def listed(params):
        rows = [shown("gone", status="SOFT_DELETED"), shown("long-gone", status="DELETED")]
        return Answer(200, {"servers": rows if params.get("deleted") else []})

    cloud.answers["/servers/detail"] = listed
    account = evacuations.account_of(cloud, HOST)
    assert (account.soft_deleted, account.unlisted, account.empty) == ({"gone": "gone"}, {}, False)


def test_cells_that_do_not_answer_are_named(cloud):
    cloud.gives("/os-services", services=[{"binary": "nova-compute", "host": HOST, "status": "UNKNOWN"}])
    cloud.gives("/servers", servers=[{"id": "a", "status": "UNKNOWN", "links": []}, {"id": "b", "name": "b"}])
    assert evacuations.account_of(cloud, HOST).cells_down == ["a", HOST]


# --- who is on the way ----------------------------------------------------------------------------------------


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
    found = evacuations.list_arriving(cloud)
    assert [row.id for row in found] == [1, 2, 3]
    transit = {entry.uuid: entry for entry in evacuations.read_transit(cloud, found, [])}
    assert transit["a"].flavor.ram == 1024
    assert transit["a"].cells == [facts.NumaCell(512, 2048)]
    assert transit["b"] == facts.Transit("b", None), "one that is unread does not hide the others"
    assert "gone" not in transit


# --- what is lost, what is refused ----------------------------------------------------------------------------

SERVER = facts.ApiServer("a", "a", "p", "ACTIVE", HOST, HOST, None, "active", 1, "az1", image="image-1")


def read(cloud, *servers, **given):
    row = facts.CloudFacts(
        "2026-01-01T00:00:00+00:00", [HOST], "2.104", "1.39", [], [], [], list(servers), [], [], [], [], []
    )
    return evacuations.read_evacuation(cloud, row, HOST, **given)


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


# --- reset ----------------------------------------------------------------------------------------------------


def test_a_state_is_reset_and_read_back(cloud):
    cloud.gives("/servers/a", server=shown("a"))
    cloud.answers["/servers/a/action"] = lambda _params: Answer(202)
    assert evacuations.reset_state(cloud, "a").status == "ACTIVE"
    assert cloud.posted == [("/servers/a/action", "2.53", {"os-resetState": {"state": "active"}})]


def test_a_state_that_is_not_as_it_was_set_is_an_error(cloud):
    cloud.gives("/servers/a", server=shown("a", status="PAUSED"))
    cloud.answers["/servers/a/action"] = lambda _params: Answer(202)
    with pytest.raises(ApiError, match="PAUSED"):
        evacuations.reset_state(cloud, "a")


# --- placement ------------------------------------------------------------------------------------------------


def test_numbered_groups_and_overrides_are_asked_of_placement_as_the_scheduler_would():
    flavor = facts.ServerFlavor(
        2, 1024, 10, 0, 0, "m1", {"resources:VCPU": "0", "resources:CUSTOM_FPGA": "1", "resources1:VGPU": "1"}
    )
    specs = {**flavor.extra_specs, "trait1:CUSTOM_A100": "required", "trait:HW_CPU_X86_AVX": "required"}
    amounts = evacuations.measured.of_flavor(flavor, root=True)
    assert evacuations.candidates_query(amounts, specs) == {
        "resources": "CUSTOM_FPGA:1,DISK_GB:10,MEMORY_MB:1024",
        "required": "HW_CPU_X86_AVX",
        "resources1": "VGPU:1",
        "required1": "CUSTOM_A100",
        "group_policy": "none",
    }
    assert evacuations.measured.taken_by(flavor, root=True)["VGPU"] == 1


def test_a_host_that_was_enabled_a_moment_ago_is_no_destination_yet(cloud):
    """Seen on the lab: Nova said "no valid host", and the server went to ERROR."""
    asked = evacuations.scheduled({"resources": "VCPU:1", "required": "!CUSTOM_OLD,HW_CPU_X86_AVX"})
    assert asked == {"resources": "VCPU:1", "required": "!COMPUTE_STATUS_DISABLED,!CUSTOM_OLD,HW_CPU_X86_AVX"}
    prepared(cloud)
    read(cloud, dataclasses.replace(SERVER, flavor=facts.ServerFlavor(1, 64, 1, 0, 0, "m1", {})))
    questions = [
        params
        for path, _version, params in cloud.asked
        if path == "/allocation_candidates" and params["resources"] != "MEMORY_MB:1"
    ]
    assert questions and all(question["required"] == "!COMPUTE_STATUS_DISABLED" for question in questions)
