# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All disks of a server: where each is, who has it open, which fences cover it, what it costs."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.disks import Effect, Kind, plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import OF_MACHINE, PROVABLE
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder
from ansible_collections.stackguard.nova.tests.unit.cinders import volume as cinder_volume
from ansible_collections.stackguard.nova.tests.unit.evacuations import image, locked, scene, volume

ONE, TWO = guest(1, 1), guest(1, 2)
OWN = f"{address(1)}:0/77"


def decided(some):
    return preflight.preflight(some.bundle, some.about, some.request, (), "power")


def disks_of(some, uuid=ONE):
    return {(disk.kind, disk.name): disk for disk in decided(some).disks[uuid]}


def test_images_of_novas_pool():
    names = {f"{ONE}_disk": Kind.ROOT, f"{ONE}_disk.swap": Kind.SWAP, f"{ONE}_disk.eph0": Kind.EPHEMERAL}
    names[f"{ONE}_disk.config"] = Kind.CONFIG_DRIVE
    some = scene().images(*(image(name, [OWN]) for name in names), locked(f"{TWO}_disk"))
    found = disks_of(some)
    assert set(found) == {(kind, name) for name, kind in names.items()}
    for (kind, _name), disk in found.items():
        assert (disk.clients, disk.fences, disk.failed_spawn) == ([OWN], PROVABLE, Effect.DELETED)
        assert disk.home and disk.home.startswith("ceph ")
        assert disk.evacuation == (Effect.MADE_ANEW if kind == Kind.CONFIG_DRIVE else Effect.NOTHING)


def test_volumes_by_ceph_and_by_cinder():
    some = scene().server(1, image="", volumes=["v1", "v2", "v3"])
    some = some.images(locked(f"{TWO}_disk"), volumes=[volume("v1", [OWN])])
    held = [
        cinder_volume("v1", attachment(1, "v1", ONE)),
        cinder_volume("v2", attachment(2, "v2", ONE, driver="iscsi"), protocol=None, backend="c@san#p"),
        cinder_volume("v3", attachment(3, "v3", ONE)),
    ]
    found = disks_of(some.having(some.cloud.cloud(block_storage=cinder(*held, whole=False))))
    one, two, three = (found[Kind.VOLUME, name] for name in ("v1", "v2", "v3"))
    assert (one.clients, one.fences) == ([OWN], PROVABLE)
    assert (two.clients, two.fences, two.home) == (["compute1"], OF_MACHINE, "iscsi c@san#p")
    # In Ceph, and in no pool that was read: nobody knows who has it, and no blocklist is known to cover it.
    assert (three.clients, three.fences, bool(three.seen)) == (None, OF_MACHINE, True)
    assert {disk.failed_spawn for disk in found.values()} == {Effect.CONNECTED}


def test_what_is_only_on_the_host_is_lost():
    some = scene().told(image_properties={ONE: {"hw_firmware_type": "uefi", "hw_tpm_version": "2.0"}, TWO: {}})
    found = disks_of(some.images())
    assert {kind for kind, _name in found} == {Kind.FILES, Kind.NVRAM, Kind.TPM}
    assert {(disk.evacuation, disk.fences) for disk in found.values()} == {(Effect.LOST, OF_MACHINE)}
    assert disks_of(some.images(), TWO).keys() == {(Kind.FILES, "disk")}


def test_the_plan_and_the_report_show_them():
    some = scene().server(1, image="", volumes=["v1"]).images(locked(f"{TWO}_disk"), volumes=[volume("v1")])
    decision = decided(some)
    assert {place.uuid for place in decision.assignments.assigned} == {ONE, TWO}
    plan = plans.plan(some.request, "power", decision.assignments, {}, "held", {}, decision.disks)
    changes = [change for step in plan.steps for change in step.changes if change.what == "connected to"]
    assert [("v1" in change.where, change.before) for change in changes] == [(True, "compute1")]
    shown = plain(decision.disks[ONE])
    assert [(entry["kind"], entry["name"]) for entry in shown] == [("volume", "v1")]
    assert dataclasses.asdict(decision.disks[ONE][0])["server"] == ONE
    assert placement.guests_of(some.bundle.cloud, "compute1")
