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
        if self.home[1] == "volumes" and number_of(self.host) in self.fleet.blind:
            raise rbd.CephError("list the pool: operation not permitted")
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

    def __init__(self, tmp_path, monkeypatch, hosts=6, servers=4, home=lambda _number: HOME, volumes=0):
        super().__init__(tmp_path, monkeypatch)
        self.uuids = [guest(1, index) for index in range(1, servers + 1)]
        self.volumes = [builders.uid("volume", number) for number in range(volumes)]
        self.home = home
        #: Hosts that do not answer, and hosts that may not list the pool of volumes, by their numbers.
        self.silent, self.blind = set(), set()
        #: By look, then by cluster, pool and image: the hosts that opened it. What a guard opens: look None.
        self.opened = collections.defaultdict(lambda: collections.defaultdict(list))
        self.look_number = 0
        #: Cluster and pool of an image; the dead host's for all that are not here.
        self.elsewhere = {}
        self.disks = [f"{uuid}_disk" for uuid in self.uuids] + [f"{uuid}_disk.swap" for uuid in self.uuids[::2]]
        self.guards = collections.defaultdict(list)
        self.scene = self._scene(hosts, servers)
        self.base = self.scene.bundle.hosts
        self.nova = Nova(*self.uuids, source="compute1")
        #: What each host answered last; None: nothing.
        self.answered = {}
        monkeypatch.setattr(rbd, "client_address", lambda _monitors: None)

    def _scene(self, hosts, servers):
        """The scene of :func:`scene`, without a guest on any other host."""
        many, few = scene(hosts, 0), scene(1, servers)
        rows = [
            dataclasses.replace(row, flavor=FLAVOR if number % 2 else SWAP, volumes=self.volumes[number : number + 1])
            for number, row in enumerate(few.cloud.rows("servers"))
        ]
        offers = [node(number) for number in range(1, hosts + 1)]
        numa = {uuid: [] for uuid in self.uuids}
        about = dataclasses.replace(many.about, numa=numa, offers=dict.fromkeys(self.uuids, offers))
        (self.domain,) = scene(2, 1).bundle.hosts["compute2"].domains
        return Scene(many.cloud.put("servers", rows), about, many.request)

    # --- Ceph

    def names(self, home):
        if home[1] == "volumes":
            return [f"volume-{uuid}" for uuid in self.volumes]
        return [name for name in self.disks if self.elsewhere.get(name, self.home(1)) == home]

    def image(self, name):
        uuid = name.partition("_")[0]
        server = self.nova.servers.get(uuid, {"host": "compute1", "status": "SHUTOFF"})
        away = server["host"] != "compute1" and server["status"] == "ACTIVE"
        watchers = [f"{address(number_of(server['host']))}:0/1"] if away else []
        snapshots = [facts.RbdSnapshot(snapshot) for snapshot in self.guards[name]]
        return image(name, watchers, locks=[] if away else [lock(1)], snapshots=snapshots)

    # --- what can be read

    def look(self):
        here = {uuid: server for uuid, server in self.nova.servers.items() if server["host"] == "compute1"}
        rows = [
            dataclasses.replace(row, status=here[row.id]["status"], task_state=here[row.id]["task"])
            for row in self.scene.cloud.rows("servers")
            if row.id in here
        ]
        held = {name: getattr(self.service, name) for name in ("status", "disabled_reason", "forced_down")}
        services = [
            dataclasses.replace(row, **held) if row.host == "compute1" else row
            for row in self.scene.cloud.rows("api_services")
        ]
        cloud = self.scene.cloud.put("servers", rows).put("api_services", services)
        some = self.scene.having(cloud).target(1, status=self.service.status, forced_down=self.service.forced_down)
        hosts = {name: found for name, found in self.answered.items() if found is not None}
        silent = {name: "timed out" for name in ("compute1", *self.answered) if name not in hosts}
        bundle = dataclasses.replace(some.bundle, hosts=hosts, unreachable=silent)
        return self.change(some.having(builders.Cloud(bundle)))

    def _read_hosts(self, need):
        successors = need["hosts"] is not None and need["hosts"] == need["readers"]
        self.look_number += not successors
        listed = {}
        running = collections.defaultdict(list)
        for uuid, server in self.nova.servers.items():
            if server["status"] == "ACTIVE":
                running[server["host"]].append(uuid)
        self.now += 2
        for name in self.base if need["hosts"] is None else need["hosts"]:
            if name in self.base:
                self.answered[name] = self._answer_of(name, need, running[name], listed)
                self.read_at[name] = self.now
        return {}

    def _answer_of(self, name, need, uuids, listed):
        number = number_of(name)
        if number in self.silent:
            return None
        home = self.home(number)
        # Hosts that only list names all say the same.
        if name in need["readers"] or home not in listed:
            seen = self._ceph(name, home, need)
            if name not in need["readers"]:
                listed[home] = seen
        else:
            seen = listed[home]
        size = self.domain.memory_mib
        domains = [dataclasses.replace(self.domain, uuid=uuid, state="running", rss_mib=size) for uuid in uuids]
        seen = dataclasses.replace(seen, client_address=address(number))
        return dataclasses.replace(self.base[name], domains=domains, rbd=seen)

    def _ceph(self, name, home, need):
        reader = name in need["readers"]
        volumes = tuple(need["volumes"]) if name in need["volume_readers"] else ()
        more = rbd.ReadOptions(reader, False, volumes, ("volumes",))
        seen = rbd.facts_of(CountedCeph(self, name, *home), home[1], need["instances"], False, more)
        if not reader:
            return seen
        rights = facts.CephRights(True, True)
        return dataclasses.replace(
            seen, infrastructure=[MONITOR], blocklist=[], blocklist_word="blocklist", rights=rights
        )

    def _guards(self, need, present):
        before, self.look_number = self.look_number, None
        act = guard_snapshots.guard if present else guard_snapshots.unguard
        homes = []
        for home in need["homes"]:
            ceph = CountedCeph(self, home["reader"], home["fsid"], home["pool"])
            done = dataclasses.asdict(act(ceph, need["operation_id"], (), home["images"]))
            homes.append({**home, "result": {"fsid": home["fsid"], "pool": home["pool"], **done}})
        self.look_number = before
        self.now += 2
        return {"homes": homes}

    # --- for tests

    def opens(self, look):
        """How often each image was opened in a look, by its name."""
        return {key[2]: len(hosts) for key, hosts in self.opened[look].items()}

    def openers(self, look):
        """The hosts that opened anything in a look."""
        return {host for hosts in self.opened[look].values() for host in hosts}

    def looks(self):
        """The looks in which anything was opened."""
        return sorted(look for look in self.opened if look is not None and self.opened[look])


def number_of(host):
    return int(host.removeprefix("compute"))
