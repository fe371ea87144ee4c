# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An evacuation of many servers among many hosts, in which every opening of an image is counted.

The operation is the real one, and so is what reads Ceph on a host (C(systems/ceph/rbd.py)); below it is a cluster that
counts. A look is what the operation reads of the hosts before it judges once: one call, or several where a reader did
not answer.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, rbd
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, node
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import FLAVOR, MONITOR, Scene, image, lock, scene
from ansible_collections.stackguard.nova.tests.unit.small_nova import Nova

#: Every second server has one.
SWAP = dataclasses.replace(FLAVOR, swap=512)
HOME = ("fsid", "vms")


class CountedCeph(rbd._Monitors):
    """A pool of a cluster, as one host sees it: :class:`rbd.Ceph`."""

    via = "library"

    def __init__(self, fleet, host, fsid, pool):
        self.fleet, self.host, self.home = fleet, host, (fsid, pool)

    def fsid(self):
        return self.home[0]

    def names(self):
        return self.fleet.names(self.home)

    def images(self, names):
        for name in names:
            self.fleet.opened[self.fleet.look_number][(*self.home, name)].append(self.host)
        return [self.fleet.image(name) for name in names]

    def long_listing(self):
        return None

    def monitors(self):
        return [f"{MONITOR}:6789"]

    def create_snapshot(self, name, snapshot):
        self.fleet.guards[name].append(snapshot)
        return True

    def remove_snapshot(self, name, snapshot):
        self.fleet.guards[name].remove(snapshot)
        return True

    @contextlib.contextmanager
    def in_pool(self, pool):
        yield CountedCeph(self.fleet, self.host, self.home[0], pool)


class Fleet(Life):
    """compute1 of many hosts is dead. ``home``: the cluster and pool of a host, by its number."""

    def __init__(self, tmp_path, monkeypatch, hosts=4, servers=4, home=lambda _number: HOME, volumes=0):
        self.uuids = [guest(1, index) for index in range(1, servers + 1)]
        self.count, self.home = hosts, home
        #: Hosts that do not answer, by their numbers; and those that may not list the pool of volumes.
        self.silent, self.blind = set(), set()
        #: By look, then by cluster, pool and image: the hosts that opened it.
        self.opened = collections.defaultdict(lambda: collections.defaultdict(list))
        self.look_number = 0
        self.listings = 0
        super().__init__(tmp_path, monkeypatch)
        self.volumes = [builders.uid("volume", number) for number in range(volumes)]
        self.scene = self._scene(hosts, servers)
        self.nova = Nova(*self.uuids, source="compute1")
        self.guards = collections.defaultdict(list)
        self.disks = [f"{uuid}_disk" for uuid in self.uuids] + [f"{uuid}_disk.swap" for uuid in self.uuids[::2]]
        #: What each host answered last.
        self.rbd, self.domains, self.unread = {}, {}, set()
        monkeypatch.setattr(rbd, "client_address", lambda _monitors: None)

    def _scene(self, hosts, servers):
        many, few = scene(hosts, 0), scene(1, servers)
        rows = [
            dataclasses.replace(
                row,
                flavor=FLAVOR if number % 2 else SWAP,
                volumes=[self.volumes[number]] if number < len(self.volumes) else [],
            )
            for number, row in enumerate(few.cloud.rows("servers"))
        ]
        offers = [node(number) for number in range(1, hosts + 1)]
        about = dataclasses.replace(
            many.about,
            numa={uuid: [] for uuid in self.uuids},
            offers=dict.fromkeys(self.uuids, offers),
        )
        self.domain = few.cloud.bundle.hosts.get("compute1") or scene(2, 1).bundle.hosts["compute2"]
        return Scene(many.cloud.put("servers", rows), about, many.request)

    # --- Ceph

    def names(self, home):
        """The names of a pool: of the pool that the dead host has, its images; of others, nothing of it."""
        if home[1] == "volumes":
            return [f"volume-{uuid}" for uuid in self.volumes] if home[0] == self.home(1)[0] else []
        return self.disks if home == self.home(1) else []

    def image(self, name):
        return self._image(name.partition("_")[0].removeprefix("volume-"))
