# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A dead host for tests: compute1 is down, cut off, its guests' disks are in Ceph, and compute3 of its zone has room.

Everything agrees, so that a test says only what is different."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import FenceProof, prove
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import FenceTarget
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import AT, guest, healthy, node

FLAVOR = facts.ServerFlavor(1, 1024, 10, 0, 0, "m1.small", {})
OPERATION = "0123456789ab"
#: Where the cluster's monitor is.
MONITOR = "203.0.113.1"
#: Read just now: :attr:`Scene.request` has the same time.
FENCE = FenceProof("power", "compute1", OPERATION, "power state Off and Off", AT, "localhost")


def image(name, watchers=(), **changes):
    """An image that nobody but ``watchers`` (Ceph addresses) has open."""
    base = facts.RbdImage(
        name, f"id-{name}", 10 << 30, [], [facts.RbdWatcher(address, "client.1", "1") for address in watchers], []
    )
    return dataclasses.replace(base, **changes)


def disks(*images, **changes):
    """What a host sees in the pool."""
    base = facts.RbdFacts("library", "fsid", "vms", [], list(images), None, infrastructure=[MONITOR], volumes=[])
    base = dataclasses.replace(base, blocklist_word="blocklist", rights=facts.CephRights(True, True))
    return dataclasses.replace(base, **changes)


def lock(number):
    """The exclusive lock of a QEMU, at an address or on a host with that number."""
    address = number if isinstance(number, str) else builders.address(number)
    return facts.RbdLock(f"{address}:0/77", "auto 1")


def locked(name, holder=1, **changes):
    """An image whose QEMU had it open on a host, and has no watcher any more."""
    return image(name, locks=[lock(holder)], **changes)


def volume(uuid, watchers=(), pool="volumes", **changes):
    """A Cinder volume in Ceph."""
    return facts.RbdVolume(pool, image(f"volume-{uuid}", watchers, **changes))


def listed(some, *addresses, fsid="fsid"):
    """The same scene, fenced by the OSD blocklist of a cluster just now."""
    cluster = {"fsid": fsid, "addresses": list(addresses)}
    read = {"reader": "compute2", "result": {"fsid": fsid, "listed": list(addresses)}}
    proof = prove("blocklist", FenceTarget("compute1", OPERATION, {}, (cluster,)), [{"clusters": [read]}], AT)
    return some.asked(fence=proof, fence_kind="blocklist")


def target(number, **changes):
    """A compute host as a place to go to; compute1 is down."""
    base = facts.TargetHost(
        host=f"compute{number}",
        node=f"compute{number}",
        provider=node(number),
        zone=f"az{builders.zone_of(number)}",
        host_ip=builders.address(number),
        state="down" if number == 1 else "up",
        status="enabled",
        forced_down=False,
        free={"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 1000},
    )
    return dataclasses.replace(base, **changes)


@dataclasses.dataclass(frozen=True)
class Scene:
    """The evidence of an evacuation of compute1, and ways to change it."""

    cloud: builders.Cloud
    about: facts.EvacuationFacts
    request: EvacuationRequest

    @property
    def bundle(self):
        return self.cloud.bundle

    def asked(self, **changes):
        """Another request."""
        return dataclasses.replace(self, request=dataclasses.replace(self.request, **changes))

    def told(self, **changes):
        """Other answers of the APIs."""
        return dataclasses.replace(self, about=dataclasses.replace(self.about, **changes))

    def target(self, number, **changes):
        """Another state of a host."""
        rows = [
            dataclasses.replace(row, **changes) if row.host == f"compute{number}" else row for row in self.about.targets
        ]
        return self.told(targets=rows)

    def at(self, number, **changes):
        """Other facts of a host."""
        return dataclasses.replace(self, cloud=self.cloud.host(f"compute{number}", **changes))

    def having(self, cloud):
        """Another cloud."""
        return dataclasses.replace(self, cloud=cloud)

    def server(self, index, **changes):
        """Another server of the dead host."""
        return self.having(self.cloud.change("servers", {"id": guest(1, index)}, **changes))

    def images(self, *images, on=(2, 3), **changes):
        """Other images in the pool, as some hosts see it."""
        scene = self
        for number in on:
            scene = scene.at(number, rbd=disks(*images, **{"client_address": builders.address(number), **changes}))
        return scene


def scene(hosts=3, guests=2, release=34, alive=False):
    """compute1 is dead (or only looks so: ``alive``), with guests that need 1 GiB each."""
    cloud = healthy(hosts=hosts, guests=guests, release=release)
    servers = [
        dataclasses.replace(row, flavor=FLAVOR, image="image-1", config_drive=False, metadata={})
        for row in cloud.rows("servers")
    ]
    cloud = cloud.put("servers", servers)
    services = [
        dataclasses.replace(row, zone=f"az{builders.zone_of(index)}", state="down" if index == 1 else "up")
        for index, row in enumerate(cloud.rows("api_services"), 1)
    ]
    cloud = cloud.put("api_services", services)
    pool = [image(f"{guest(1, index)}_disk") for index in range(1, guests + 1)]
    for number in range(2, hosts + 1):
        conf = dataclasses.replace(
            cloud.bundle.hosts[f"compute{number}"].nova_conf, images_type="rbd", images_rbd_pool="vms"
        )
        rbd = disks(*pool, client_address=builders.address(number))
        cloud = cloud.host(f"compute{number}", nova_conf=conf, rbd=rbd)
    if not alive:
        cloud = cloud.unreachable("compute1", "timed out")
    uuids = [guest(1, index) for index in range(1, guests + 1)]
    about = facts.EvacuationFacts(
        read_at=AT,
        host="compute1",
        targets=[target(number) for number in range(1, hosts + 1)],
        groups=[],
        member_hosts={},
        numa={uuid: [] for uuid in uuids},
        offers={uuid: [node(number) for number in range(1, hosts + 1)] for uuid in uuids},
    )
    return Scene(cloud, about, EvacuationRequest("compute1", OPERATION, "compute1", now=AT))
