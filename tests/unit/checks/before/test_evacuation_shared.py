# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disks that are files of a directory: sent only where the destination is proven to have the very same ones. V11."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import storage
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.disks import Effect, Kind
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, fence_proof
from ansible_collections.stackguard.nova.tests.unit.builders import domain, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import AT, FENCE, disks, image, scene

ONE, TWO = guest(1, 1), guest(1, 2)
NOW = fence_proof.seconds_between("1970-01-01T00:00:00Z", AT)
HOUR = 3600


def path(**changes):
    found = [facts.InstanceDisk(uuid, "disk", inode, "qcow2") for inode, uuid in enumerate((ONE, TWO), 11)]
    base = facts.InstancesPath(
        "/var/lib/nova/instances", "nfs4", False, users={"compute1": NOW - 60, "compute3": NOW - 60}, disks=found
    )
    return dataclasses.replace(base, **changes)


def shared(place=None, **conf):
    """A cloud without Ceph: compute3 has the directory of compute1, which is dead."""
    some = scene()
    for number in (2, 3):
        cloud = some.cloud.part("nova_conf", f"compute{number}", **{"images_type": "qcow2", **conf})
        some = some.having(cloud.host(f"compute{number}", rbd=None))
    return some.at(3, instances_path=place or path()).asked(fence_kind="power")


def decide(some, fence="power"):
    return evacuation.preflight(some.bundle, some.about, some.request, (), fence)


def refused(some, **given):
    """Codes by server."""
    return {
        item.object.id: item.code
        for item in decide(some, **given).checked.findings
        if item.severity == "blocker" and item.object.kind == "instance"
    }


def test_servers_go_to_a_host_that_has_their_files():
    decision = decide(shared())
    assert decision.checked.findings == ()
    assert {entry.uuid: entry.host for entry in decision.assignments.assigned} == {ONE: "compute3", TWO: "compute3"}
    (disk,) = decision.disks[ONE]
    assert (disk.kind, disk.failed_spawn, disk.evacuation) == (Kind.FILES, Effect.NOTHING, Effect.NOTHING)
    assert set(disk.fences) == {"power", "command"}
    files = {entry.uuid: evacuation.files_of(entry, decision.destinations) for entry in decision.guests}
    assert files == {ONE: {"disk": 11}, TWO: {"disk": 12}}


def test_after_the_fence_nobody_is_asked_for_images():
    some = shared().asked(fence=FENCE)
    assert evacuation.death(some.bundle, some.about, some.request).findings == ()
    other = shared(path(users=None)).asked(fence=FENCE)
    codes = {item.code for item in evacuation.death(other.bundle, other.about, other.request).findings}
    assert codes == {"SG709"}


@pytest.mark.parametrize("changes", [{"filesystem": "ceph"}, {"filesystem": "ext4", "exported": True}])
def test_file_systems_that_many_hosts_write(changes):
    assert refused(shared(path(**changes))) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"local": True, "filesystem": "ext4"},
        {"filesystem": "ext4"},
        {"filesystem": "fuse.mergerfs"},
        {"users": None},
        {"users": {"compute3": NOW}},
        {"users": {"compute1": NOW}},
        {"users": {"compute1": NOW - 2 * HOUR, "compute3": NOW}},
        {"users": {"compute1": NOW, "compute3": NOW - 2 * HOUR}},
        {"users": {"compute1": NOW + HOUR, "compute3": NOW}},
        {"users": {"compute1": NOW, "compute3": NOW + HOUR}},
        {"disks": None},
        {"disks": []},
    ],
    ids=[
        "a cloned machine, or the share is not mounted",
        "what this host exports was not read",
        "a file system that may be local",
        "nobody signed",
        "the dead host never signed",
        "the destination never signed",
        "the dead host signed long before it died",
        "the destination signed long ago",
        "the dead host signed in the future",
        "the destination signed in the future",
        "disks unread",
        "no directory of the server",
    ],
)
def test_what_is_not_proven_is_refused(changes):
    assert refused(shared(path(**changes))) == {ONE: "SG513", TWO: "SG513"}


def test_a_path_that_was_not_read_is_refused():
    assert refused(shared().at(3, instances_path=None)) == {ONE: "SG513", TWO: "SG513"}


@pytest.mark.parametrize(
    ("disk", "conf", "codes"),
    [
        (facts.InstanceDisk(ONE, "disk", 11, "raw"), {}, {ONE: "SG513"}),
        (facts.InstanceDisk(ONE, "disk", 11), {}, {ONE: "SG513"}),
        (facts.InstanceDisk(ONE, "disk.swap", 11, "qcow2"), {}, {ONE: "SG513"}),
        (facts.InstanceDisk(ONE, "disk", 11, "qcow2"), {"images_type": None}, {}),
        (facts.InstanceDisk(ONE, "disk", 11, "qcow2"), {"images_type": "raw"}, {ONE: "SG513", TWO: "SG513"}),
        (facts.InstanceDisk(ONE, "disk", 11, "qcow2"), {"images_type": "lvm"}, {ONE: "SG513", TWO: "SG513"}),
    ],
    ids=["other format", "format unknown", "no root disk", "default", "destination has raw", "destination has LVM"],
)
def test_the_disks_must_be_there_as_the_destination_would_open_them(disk, conf, codes):
    some = shared(path(disks=[disk, facts.InstanceDisk(TWO, "disk", 12, "qcow2")]), **conf)
    assert refused(some) == codes


def test_a_swap_disk_counts():
    swap = dataclasses.replace(scene().cloud.rows("servers")[0].flavor, swap=64)
    some = shared().server(1, flavor=swap)
    assert refused(some) == {ONE: "SG513"}
    both = [*path().disks, facts.InstanceDisk(ONE, "disk.swap", 13, "qcow2")]
    assert refused(some.at(3, instances_path=path(disks=both))) == {}


@pytest.mark.parametrize("kind", ["blocklist", "attested", None])
def test_only_a_fence_of_the_machine_covers_files(kind):
    found = refused(shared().asked(fence_kind=kind), fence=kind)
    assert set(found) == {ONE, TWO}
    codes = {item.code for item in decide(shared().asked(fence_kind=kind), fence=kind).checked.findings}
    assert "SG513" in codes


def test_images_in_ceph_make_files_doubtful():
    some = shared().at(2, rbd=disks(image(f"{ONE}_disk")))
    assert refused(some).get(ONE) == "SG513"
    assert TWO not in refused(some)


# --- after the landing ----------------------------------------------------------------------------------------


def landed(place, files=None):
    some = shared(place).at(3, domains=[domain(1, 1)], instances_path=place)
    before = storage.DisksBefore(ONE, {}, files={"disk": 11} if files is None else files)
    return [item.code for item in storage.landed(some.bundle, before, "compute3", True)]


def test_a_server_lands_on_its_own_files():
    assert landed(path()) == []
    other = [facts.InstanceDisk(ONE, "disk", 99, "qcow2")]
    assert landed(path(disks=other)) == ["SG504"]
    assert landed(path(local=True, filesystem="ext4", users=None, disks=None)) == ["SG504"]
    assert landed(None) == ["SG709"]
    assert landed(None, {}) == []
