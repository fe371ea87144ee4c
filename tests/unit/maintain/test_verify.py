# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps a maintained host disabled, and what lets it be enabled."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.maintain import verify
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders

HELD = "stackguard:maintain:op1"
BOOT = "boot-1"


def scene():
    cloud = builders.healthy(hosts=3, guests=1).change(
        "api_services", {"host": "compute1"}, status="disabled", disabled_reason=HELD
    )
    rbd = facts.RbdFacts("library", "c1", "vms", [], [], [], written=True)
    for name in ("compute1", "compute2", "compute3"):
        cloud = cloud.host(name, boot_id=BOOT, kernel_release="6.1.0-18-amd64", cpus=8, rbd=rbd)
    return cloud._bundle(links=None, databases=None)


def request(before=None, **changes):
    made = verify.ProofRequest("compute1", "compute1", "op1", HELD, before, heard={})
    return dataclasses.replace(made, **changes)


def proof(cloud, **changes):
    before = json.loads(json.dumps(verify.state_before(scene().bundle, request())))
    return verify.unproven(cloud.bundle, request(before, **changes))


def states(checked):
    return {(item.code, item.object.name) for item in checked.findings}


def test_a_host_as_before_is_proven():
    checked = proof(scene())
    assert checked.findings == () and checked.unchecked == ()
    alone = verify.unproven(scene().bundle, request())
    assert alone.findings == () and alone.unchecked == ()


LIBVIRT = {"uri": "qemu:///system", "version": "9.0.0", "hostname": "compute1", "host_uuid": builders.uid("libvirt", 1)}


SECRET = builders.uid("secret").replace("-", "")


@pytest.mark.parametrize(
    ("changes", "code", "part"),
    [
        ({"machine_id": "0" * 32}, "SG716", "machine-id"),
        ({"kernel_hostname": "other"}, "SG716", "kernel host name"),
        ({"libvirt": facts.Libvirt(**{**LIBVIRT, "hostname": "other"})}, "SG716", "libvirt host name"),
        ({"compute_id_files": [facts.ComputeIdFile("/var/lib/nova/compute_id", True, False)]}, "SG716", "compute_id"),
        ({"memory": facts.Memory(64000, 1)}, "SG716", "memory"),
        ({"cpus": 7}, "SG716", "CPUs"),
        ({"instances_path": facts.InstancesPath("/x", "ext4", True)}, "SG716", "instances_path"),
        ({"offers": dataclasses.replace(builders.offers(), secrets=[])}, "SG716", f"secret {SECRET}"),
        ({"rbd": facts.RbdFacts("library", "c1", "vms", [], [], [])}, "SG717", "Ceph"),
        ({"kernel_release": "6.1.0-17-amd64"}, "SG718", "kernel"),
        ({"offers": dataclasses.replace(builders.offers(), hypervisor="7.1.0")}, "SG718", "QEMU"),
        ({"offers": dataclasses.replace(builders.offers(), machines={"x86_64": ["pc"]})}, "SG523", "machine type"),
    ],
)  # fmt: skip
def test_what_is_not_as_before_refuses(changes, code, part):
    assert (code, part) in states(proof(scene().host("compute1", **changes)))


def test_the_same_boot_refuses_where_another_was_asked_for():
    assert ("SG716", "boot") in states(proof(scene(), rebooted=True))
    assert not proof(scene().host("compute1", boot_id="boot-2"), rebooted=True).findings


@pytest.mark.parametrize(
    "changes",
    [{"state": "down"}, {"forced_down": True}, {"updated_at": "2026-09-01T00:00:00"}, {"disabled_reason": "me"}],
)
def test_a_service_that_does_not_report_itself_or_is_disabled_by_others_refuses(changes):
    found = proof(scene().change("api_services", {"host": "compute1"}, **changes))
    assert {item.code for item in found.findings} == {"SG704"}


def test_another_operations_hold_refuses():
    found = proof(scene().change("api_services", {"host": "compute1"}, disabled_reason="stackguard:evacuate:x"))
    assert {item.code for item in found.findings} == {"SG706"}


def test_a_dead_agent_refuses():
    assert ("SG716", "Open vSwitch agent") in states(proof(scene().change("agents", {"host": "compute1"}, alive=False)))


def test_what_was_not_read_refuses():
    assert {item.code for item in proof(scene().unreachable("compute1")).findings} == {"SG709"}
    assert {item.code for item in proof(scene().host("compute1", memory=None)).findings} == {"SG709"}


def test_a_host_without_a_service_refuses():
    found = proof(scene().drop("api_services", {"host": "compute1"}))
    assert "SG119" in {item.code for item in found.findings}
