# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random clouds and what happens in them: a host dies, somebody evacuates it, is killed, tries again otherwise.

One seed is one scenario, always the same. ``calm`` ones have no adversity: there the evacuation must succeed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import json
import os
import random
import shutil
import tempfile
import types
import typing as t
import uuid as uuids

from ansible_collections.stackguard.nova.plugins.action import compute_host_return, server_evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, journal
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_action
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import (
    oracle,
    pump,
    queues,
    reading,
    returning,
)
from ansible_collections.stackguard.nova.tests.unit.model_evacuation.world import (
    Cluster,
    Disk,
    Host,
    Killed,
    Migration,
    NovaError,
    Server,
    Volume,
    World,
)

DEAD = "compute1"
OTHER_DEAD = "compute2"
FENCES = ("power", "command", "blocklist", "attested")


def uid(seed, kind, number):
    return str(uuids.uuid5(uuids.NAMESPACE_URL, f"{seed}-{kind}-{number}"))


@dataclasses.dataclass
class Kind:
    """What a scenario may have. Each field is a probability."""

    kill: float = 0.0
    #: Reading takes long.
    slow: float = 0.02
    aborts: float = 0.15
    many: float = 0.1
    second_cluster: float = 0.3
    second_pool: float = 0.3
    mixed_homes: float = 0.15
    separate_network: float = 0.5
    ipv6: float = 0.2
    volumes: float = 0.15
    stranger: float = 0.2
    stopped: float = 0.3
    error: float = 0.15
    stuck_task: float = 0.05
    cut_off: float = 0.4
    #: Only its nova-compute is dead.
    compute_dead: float = 0.1
    ceph_lives: float = 0.2
    bmc_dead: float = 0.2
    bmc_disobeys: float = 0.1
    bmc_many: float = 0.1
    spawn_fails: float = 0.15
    other_fails: float = 0.15
    happens: float = 0.5
    api_silent: float = 0.1
    cell_mute: float = 0.05
    libvirt_silent: float = 0.1
    two_dead: float = 0.15
    tight: float = 0.3
    second_address: float = 0.1
    odd_options: float = 0.5
    #: Of those: only half of the servers are named.
    some: float = 0.2
    missing_disk: float = 0.05
    no_rights: float = 0.05
    #: The dead host comes back at the end: its machine was never off and its guests run; it was installed anew.
    returns: float = 0.4
    alive: float = 0.4
    new_address: float = 0.2
    #: Nova keeps no disks in Ceph; servers are pinned, to a zone that no host is in; another host is in repair.
    no_images: float = 0.0
    pinned: float = 0.1
    repair: float = 0.1
    soft: float = 0.05
    #: A flavor demands hosts of an aggregate; one other host is in it.
    special: float = 0.05
    #: One server waits until its owner confirms its resize.
    resized: float = 0.05
    #: One server has a virtual TPM.
    tpm: float = 0.03
    #: Its link heals while the operation is open, and the blocklist is all that keeps its guests from writing.
    healed: float = 0.1
    #: A task of the role fails; before a run there is one in check mode; another operator gives the command meanwhile.
    breaks: float = 0.1
    looked: float = 0.05
    overtaken: float = 0.1
    #: Owners send requests while nova-compute of their host is silent; a run does not reach RabbitMQ, or not always.
    requests: float = 0.3
    no_rabbit: float = 0.2
    rabbit_breaks: float = 0.1
    #: Owners who send all the time.
    busy: float = 0.0
    #: Nova's last write of a live migration was lost: a server of the dead host runs elsewhere, or the other way round.
    lost: float = 0.1
    #: Seconds that a slow reading takes.
    slow_seconds: float = 90.0
    #: Everybody must have left in the end.
    must: bool = False
    #: No probability: the fence of every run; empty: drawn.
    fence: str = ""


def calm():
    """Nothing but a dead host, in clouds of every shape."""
    names = [
        "slow",
        "many",
        "stranger",
        "error",
        "stuck_task",
        "compute_dead",
        "cut_off",
        "ceph_lives",
        "bmc_dead",
        "bmc_disobeys",
        "bmc_many",
        "spawn_fails",
        "other_fails",
        "happens",
        "api_silent",
        "cell_mute",
        "libvirt_silent",
        "two_dead",
        "tight",
        "second_address",
        "odd_options",
        "missing_disk",
        "no_rights",
        "mixed_homes",
        "volumes",
        "alive",
        "soft",
        "tpm",
        "special",
        "resized",
        "healed",
        "breaks",
        "overtaken",
        "requests",
        "no_rabbit",
        "rabbit_breaks",
        "lost",
    ]
    return Kind(**dict.fromkeys(names, 0.0))


def killed():
    """The same, and runs die."""
    return dataclasses.replace(calm(), kill=1.0)


def wild():
    """Everything."""
    return Kind(kill=0.4)


def back():
    """Ceph refuses a host whose guests run on, some servers stay, and it comes back, perhaps installed anew."""
    kind = dataclasses.replace(calm(), cut_off=1.0, odd_options=1.0, some=0.7, fence="blocklist")
    return dataclasses.replace(kind, returns=1.0, alive=0.7, new_address=0.3, kill=0.1)


def requested():
    """Owners send requests to servers of the dead host, not every run reaches RabbitMQ, and the host comes back."""
    kind = dataclasses.replace(calm(), requests=1.0, no_rabbit=0.3, rabbit_breaks=0.2, kill=0.1, odd_options=0.5)
    return dataclasses.replace(
        kind, returns=1.0, alive=0.3, new_address=0.3, compute_dead=0.2, cut_off=0.4, volumes=0.3
    )


def lost():
    """Nova shows servers where they are not, and the host comes back, perhaps with guests that live there only."""
    kind = dataclasses.replace(calm(), lost=1.0, returns=1.0, alive=0.7, cut_off=0.6, compute_dead=0.4, aborts=0.3)
    return dataclasses.replace(kind, odd_options=0.5, some=0.3)


def early():
    """Everything that the first scenarios had: their seeds are still the same."""
    later = ("breaks", "looked", "overtaken", "pinned", "repair", "soft", "special", "resized", "healed")
    rabbit = ("requests", "no_rabbit", "rabbit_breaks", "lost")
    return dataclasses.replace(wild(), **dict.fromkeys((*later, *rabbit, "alive"), 0.0))


def troubled():
    """Everything, and what befalls runs themselves more often."""
    return dataclasses.replace(wild(), breaks=0.5, looked=0.5, overtaken=0.5)


# --- the cloud ------------------------------------------------------------------------------------------------


class Builder:
    def __init__(self, seed, kind):
        self.world = World(seed)
        self.kind = kind
        self.dice = self.world.random
        #: For what was added later: the clouds of the seeds stay as they are.
        self.more = random.Random(f"{seed}-more")

    def chance(self, name):
        return self.dice.random() < getattr(self.kind, name)

    def another(self, name):
        return self.more.random() < getattr(self.kind, name)

    def build(self):
        world = self.world
        world.watch = oracle.Oracle(world)
        self._clusters()
        self._hosts()
        self._servers()
        self._oddities()
        world.watch.begin()
        self._troubles()
        return world

    def _clusters(self):
        for number in range(1, 3 if self.chance("second_cluster") else 2):
            fsid = f"fsid-{number}"
            pools = {"vms": {}}
            if self.chance("second_pool"):
                pools["fast"] = {}
            self.world.clusters[fsid] = Cluster(fsid, pools, daemons=(f"10.{number}.0.200", f"10.{number}.0.201"))

    def _hosts(self):
        world, dice = self.world, self.dice
        homes = [(fsid, pool) for fsid, cluster in world.clusters.items() for pool in cluster.pools]
        zones = ["az1", dice.choice(("az1", "az2"))]
        home_of = {zone: dice.choice(homes) for zone in ("az1", "az2")}
        mixed, separate, six = self.chance("mixed_homes"), self.chance("separate_network"), self.chance("ipv6")
        for number in range(1, dice.randrange(3, 6) + 1):
            zone = zones[number % 2]
            clients = {}
            for index, fsid in enumerate(world.clusters, 1):
                if not separate:
                    clients[fsid] = [f"192.0.2.{number}"]
                else:
                    clients[fsid] = [f"fd00:{index}::{number}" if six else f"10.{index}.0.{number}"]
                if self.chance("second_address"):
                    clients[fsid].append(f"10.{index}.1.{number}")
            tight = self.chance("tight")
            host = Host(
                f"compute{number}",
                zone,
                dice.choice((3000, 4000)) if tight else 16384,
                f"192.0.2.{number}",
                clients,
                dice.choice(homes) if mixed else home_of[zone],
            )
            host.rights = not self.chance("no_rights")
            host.reads_volumes = dice.random() < 0.7
            world.hosts[host.name] = host

    def _servers(self):
        world, dice = self.world, self.dice
        source = world.hosts[DEAD]
        for number in range(1, (8 if self.chance("many") else dice.choice((0, 1, 2, 2, 3, 3, 4, 6))) + 1):
            self._server(number, source)
        if self.chance("two_dead"):
            for number in range(11, 11 + dice.randrange(1, 4)):
                self._server(number, world.hosts[OTHER_DEAD])
        for number, host in enumerate(world.hosts.values(), 21):
            if host.name not in (DEAD, OTHER_DEAD) and dice.random() < 0.4:
                self._server(number, host, plain=True)

    def _server(self, number, host, plain=False):
        world, dice = self.world, self.dice
        uuid = uid(world.seed, "server", number)
        server = Server(uuid, f"vm{number}", dice.choice((512, 1024)), host.name, "ACTIVE", True, host.home, {})
        world.servers[uuid] = server
        if not plain and self.chance("volumes"):
            volume = Volume(uid(world.seed, "volume", number), dice.choice((*world.clusters, None)))
            world.volumes[volume.uuid] = volume
            server.volumes = (volume.uuid,)
            server.boots_from_volume = dice.random() < 0.5
        names = [] if server.boots_from_volume else [f"{uuid}_disk"]
        if dice.random() < 0.2:
            server.swap = 64
            names.append(f"{uuid}_disk.swap")
        if dice.random() < 0.15:
            names.append(f"{uuid}_disk.config")
        pool = world.pool(host.home)
        for name in names:
            server.disks[name] = f"id-{name[:8]}-{name.partition('_')[2]}"
            pool[name] = Disk(name, server.disks[name])
        if not plain and self.chance("stopped"):
            server.status, server.runs, server.power_state = "SHUTOFF", False, 4
            server.history.append("stop")
        else:
            world.start_domain(host, server)
            addresses = host.clients[host.home[0]]
            if len(addresses) > 1 and dice.random() < 0.5:
                host.domains[uuid] = addresses[1]
                for disk in world.disks_of(server, host.home):
                    disk.lock = addresses[1]
                world.lock_volumes(host, server)
        if not plain and self.chance("error"):
            server.status = "ERROR"
        elif not plain and self.chance("stuck_task"):
            server.task = dice.choice(("rebooting", "powering-off", "image_snapshot"))

    # --- what was added later

    def _oddities(self):
        """Clouds that are a little unlike the others."""
        mine = [server for server in self.world.servers.values() if server.host == DEAD]
        if self.another("no_images"):
            self._boot_from_volumes()
        for server in mine:
            if self.another("pinned"):
                server.pinned = self.more.choice(("nova", self.world.hosts[DEAD].zone))
        if self.another("repair"):
            self._in_repair()
        if mine and self.another("special"):
            self._demand(mine[0])
        if len(mine) > 1 and self.another("soft"):
            self._soft_delete(mine[0])
        if len(mine) > 1 and self.another("resized"):
            self._resize(mine[-1])
        self._lose()
        if len(mine) > 1 and self.another("tpm"):
            mine[0].tpm = True

    def _lose(self):
        """A live migration ended, and Nova's last write of it was lost."""
        world, dice = self.world, random.Random(f"{self.world.seed}-lost")
        if dice.random() >= self.kind.lost:
            return
        dead = world.hosts[DEAD]
        living = [host for host in world.hosts.values() if host is not dead and host.powered]
        others = [host for host in living if host.home == dead.home]
        runs = [server for server in world.servers.values() if server.uuid in world.hosts[server.host].domains]
        runs = [server for server in runs if server.host == DEAD or world.hosts[server.host] in others]
        if not others or not runs:
            return
        arriving = [server for server in runs if server.host != DEAD]
        server = dice.choice(arriving if arriving and dice.random() < 0.5 else runs)
        source = world.hosts[server.host]
        dest = dead if source is not dead else dice.choice(others)
        world.say("lost write", server.name, "runs on", dest.name, "and is shown on", source.name)
        world.lost.add(server.uuid)
        world.stop_domain(source, server)
        world.start_domain(dest, server)
        number = len(world.migrations) + 1
        record = Migration(
            number, server.uuid, source.name, dest.name, "completed", world.now, stage="ended", type="live-migration"
        )
        world.migrations.append(record)

    def _boot_from_volumes(self):
        world = self.world
        for host in world.hosts.values():
            host.disks_in_ceph = False
        for number, server in enumerate(world.servers.values(), 1):
            for name in server.disks:
                world.pool(server.home).pop(name)
            server.disks, server.boots_from_volume, server.swap = {}, True, 0
            volume = Volume(uid(world.seed, "root", number), None)
            world.volumes[volume.uuid] = volume
            server.volumes = (volume.uuid,)

    def _in_repair(self):
        """A host that somebody has emptied and switched off. Others of its zone are there."""
        world = self.world
        zone = world.hosts[DEAD].zone
        empty = [host for host in world.hosts.values() if not any(s.host == host.name for s in world.servers.values())]
        others = [host for host in empty if host.name not in (DEAD, OTHER_DEAD) and host.zone == zone]
        if len([host for host in world.hosts.values() if host.zone == zone]) > 2 and others:
            host = self.more.choice(others)
            host.status, host.reason = "disabled", "new memory"
            world.power_off(host)

    def _demand(self, server):
        zone = self.world.hosts[DEAD].zone
        others = [
            host for host in self.world.hosts.values() if host.name not in (DEAD, OTHER_DEAD) and host.zone == zone
        ]
        if others:
            self.world.hosts[DEAD].special = server.special = True
            self.more.choice(others).special = True

    def _soft_delete(self, server):
        self.world.stop_domain(self.world.hosts[server.host], server)
        server.deleted = server.soft = server.touched = True

    def _resize(self, server):
        """Resized on the host: Nova keeps the record until its owner confirms."""
        world = self.world
        server.status = "VERIFY_RESIZE"
        number = len(world.migrations) + 1
        record = Migration(number, server.uuid, DEAD, DEAD, "finished", world.now, stage="ended", type="resize")
        world.migrations.append(record)

    def _troubles(self):
        world, dice = self.world, self.dice
        source = world.hosts[DEAD]
        self._die(source)
        if any(server.host == OTHER_DEAD for server in world.servers.values()):
            self._die(world.hosts[OTHER_DEAD])
        for host in world.hosts.values():
            host.libvirt_silent = self.chance("libvirt_silent")
            if host is not source and self.chance("other_fails"):
                setattr(host, dice.choice(("refuses", "fails")), True)
        if self.chance("spawn_fails"):
            world.spawn_fails, world.leftover = 0.5, dice.choice((0.0, 0.3))
        world.resume_on_boot = dice.random() < 0.5
        mine = [server for server in world.servers.values() if server.host == DEAD and server.disks]
        if mine and self.chance("stranger"):
            server = dice.choice(mine)
            disk = world.pool(server.home)[min(server.disks)]
            # A backup reader, a monitor's host, somebody with rbd map.
            disk.strangers.add(dice.choice(("198.51.100.250", *world.clusters[server.home[0]].daemons)))
        if mine and self.chance("missing_disk"):
            server = dice.choice(mine)
            name = max(server.disks)
            world.pool(server.home).pop(name)
            server.disks.pop(name)

    def _die(self, host):
        world, dice = self.world, self.dice
        host.bmc = not self.chance("bmc_dead")
        host.bmc_obeys = not self.chance("bmc_disobeys")
        if self.chance("bmc_many"):
            host.bmc_other = dice.random() < 0.5
        if self.chance("compute_dead"):
            host.silent_since = world.now
        elif self.chance("cut_off"):
            world.cut_off(host, ceph=not self.chance("ceph_lives"))
        else:
            world.power_off(host)
        world.now += dice.choice((61.0, 65.0, 300.0))


# --- what happens ---------------------------------------------------------------------------------------------


class Events:
    """Things that others do, at times that nobody chose."""

    def __init__(self, world, kind, often):
        self.world = world
        self.kind = kind
        self.often = often
        self.dice = world.random
        self.left = 4

    def tick(self):
        """Called every few seconds while a run waits, and between two of its needs."""
        if self.left and self.dice.random() < self.often:
            self.left -= 1
            self.dice.choice(self._all())()

    def _all(self):
        return [
            self._power_on,
            self._heal,
            self._dest_dies,
            self._dest_cut,
            self._owner_stops,
            self._owner_starts,
            self._owner_deletes,
            self._stranger_leaves,
            self._api_silent,
            self._fixed,
        ]

    def _dead(self):
        return self.world.hosts[self.dice.choice((DEAD, DEAD, OTHER_DEAD))]

    def _power_on(self):
        host = self._dead()
        if not host.powered:
            self.world.power_on(host)

    def _heal(self):
        self.world.heal(self._dead())

    def _living(self):
        return [host for host in self.world.hosts.values() if host.name != DEAD and host.answers]

    def _dest_dies(self):
        if len(self._living()) > 2:
            self.world.power_off(self.dice.choice(self._living()))

    def _dest_cut(self):
        if len(self._living()) > 2:
            self.world.cut_off(self.dice.choice(self._living()), ceph=False)

    def _server(self):
        found = [server for server in self.world.servers.values() if not server.deleted]
        return self.dice.choice(found) if found else None

    def _owner_stops(self):
        server = self._server()
        if server is not None:
            with contextlib.suppress(NovaError):
                self.world.stop(server)

    def _owner_starts(self):
        server = self._server()
        if server is not None:
            self.world.watch.disturbed.add(server.host)
            self.world.start(server)

    def _owner_deletes(self):
        server = self._server()
        if server is not None:
            self.world.delete(server)

    def _stranger_leaves(self):
        for cluster in self.world.clusters.values():
            for pool in cluster.pools.values():
                for disk in pool.values():
                    disk.strangers.clear()

    def _api_silent(self):
        if self.dice.random() < self.kind.cell_mute * 5:
            self.world.cell_mute_until = self.world.now + self.dice.choice((5, 20))
        if self.dice.random() < self.kind.api_silent * 5:
            self.world.api_silent_until = self.world.now + self.dice.choice((5, 20, 120))

    def _fixed(self):
        self.world.spawn_fails = 0.0
        for host in self.world.hosts.values():
            host.refuses = host.fails = False


# --- runs -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Ended:
    """How a scenario ended, for the statistics."""

    states: t.List[str]
    servers: int
    #: Those that are still there at the end.
    left: int
    succeeded: bool
    sent: int
    messages: t.List[str]
    log: t.List[t.Any]
    #: States of runs of return_host.
    returns: t.List[str]


class Scenario:
    """A seed's cloud, its runs, and the oracle's eyes on them."""

    def __init__(self, seed, kind, directory):
        self.world = Builder(seed, kind).build()
        self.kind = kind
        self.dice = self.world.random
        self.directory = directory
        self.state_dir = os.path.join(directory, "state")
        self.runs = 0
        self.states = []
        self.messages = []
        self.sent = set()
        self.succeeded = False
        self.well = set()
        self.ids = 0
        #: Dead host to the servers that its operation was begun for.
        self.scope = {}
        self.other = None
        #: States of runs of return_host. What it draws changes nothing of what came before.
        self.returns = []
        self.later = self._drawn("later")
        # Once more than it is used, as when seeds broke a rule: they stay what they were.
        self.later.random()
        #: What runs have said.
        self.said = []
        #: Numbers of the runs that go on.
        self.living = set()
        self.servers = sum(1 for server in self.world.servers.values() if server.host == DEAD)
        if self.dice.random() < kind.cell_mute:
            self.world.cell_mute_until = self.world.now + self.dice.choice((3, 30))
        self.world.watch.calm = not (kind.kill or kind.happens or kind.slow or kind.spawn_fails or kind.two_dead)
        happens = self.dice.random() < kind.happens
        self.events = Events(self.world, kind, self.dice.choice((0.02, 0.05, 0.15)) if happens else 0.0)
        self.world.sleepers.append(self.events.tick)
        self._requests()
        self.world.sleepers.append(self._others)

    def _requests(self):
        """Owners' requests have waited since the host died, and more come meanwhile."""
        dice, rabbit = self._drawn("requests"), self.world.queues
        rabbit.noted = self._noted_requests
        if dice.random() < self.kind.no_rabbit:
            rabbit.access = dice.choice((queues.NONE, queues.WRONG, queues.TEMPLATE))
        elif dice.random() < 0.2:
            rabbit.access = queues.BARE
        rabbit.breaks = 0.1 if dice.random() < self.kind.rabbit_breaks else 0.0
        if dice.random() < self.kind.requests:
            owners = queues.Owners(self.world, dice.choice((0.0, 0.02, 0.1)))
            owners.before(dice.choice((0.3, 0.8)))
            owners.often = 0.4 if dice.random() < self.kind.busy else owners.often
            self.world.sleepers.append(owners.tick)

    def _noted_requests(self):
        """Return the ids of messages that any journal names."""
        found = (
            entry["memory"].get("requests_removed") or {}
            for entry in [*self.all_journals(), *self.journals("return")]
            if entry.get("memory")
        )
        return {one for queue in found for ids in queue.values() for one in ids}

    def _drawn(self, what):
        return random.Random(f"{self.world.seed}-{what}")

    def next_id(self):
        self.ids += 1
        return types.SimpleNamespace(hex=f"{self.world.seed & 0xFFFFF:05x}{self.ids:07x}" + "0" * 20)

    # --- what an operator types

    def options(self, host, action="apply", **given):
        dice, world = self.dice, self.world
        odd = dice.random() < self.kind.odd_options
        fence = dice.choice(FENCES) if odd else ("power" if not self.kind.cut_off else dice.choice(FENCES[:3]))
        fence = self.kind.fence or fence
        source = world.hosts[host]
        chosen = None
        mine = [server for server in world.servers.values() if server.host == host and not server.deleted]
        if odd and mine and dice.random() < self.kind.some:
            chosen = [server.name for server in mine[: max(1, len(mine) // 2)]]
        named = []
        if odd and fence == "blocklist" and dice.random() < 0.4:
            others = [other.clients[other.home[0]][0] for other in world.hosts.values() if other is not source]
            named = [dice.choice((*source.clients[source.home[0]], source.management, *others[:1]))]
        options = {
            "evacuate_host": host,
            "inventory_name": host,
            "action": action,
            "fence": fence,
            "partial": (dice.random() < 0.5 if odd else False) or self.kind.resized == 1,
            "servers": chosen,
            "blocklist_addresses": named,
            "also_blocklist": odd and dice.random() < 0.2,
            "fence_confirm_command": "confirm" if fence == "command" else None,
            "power_state_query": None,
            "attested_by": "Ann",
            "max_hosts": dice.choice((1, 9)) if odd else (1 if self.kind.repair == 1 else 9),
            "max_share": 0.0 if self.kind.repair == 1 else 1.0,
            "server_timeout": dice.choice((60, 600)),
            "measured_for": dice.choice((5, 120)),
            "proof_max_age": dice.choice((5, 30, 120)),
            "death_timeout": dice.choice((1, 60)),
            "max_parallel": dice.choice((1, 8)),
            "refence": dice.random() < 0.3 if odd else False,
            "overrides": [],
            "max_rounds": 30,
            "reset_states": ["task"] if dice.random() < 0.5 else [],
        }
        if source.bmc_other is not None and dice.random() < 0.5:
            options["power_state_query"] = f"redfish_facts.system.entries[?Id=='{host}'].PowerState"
        if fence == "attested" and dice.random() < 0.7:
            options["overrides"] = [{"code": "SG506", "object": host, "reason": "unplugged it"}]
        options.update(given)
        return options

    def run(self, options, check=False):
        """Return the pump of one run of the playbook."""
        self.runs += 1
        evidence_dir = os.path.join(self.directory, f"evidence-{self.runs}")
        attested = options["fence"] == "attested" and bool(options["overrides"])
        told = oracle.Told(
            self.runs,
            options["evacuate_host"],
            options["fence"],
            attested,
            options["proof_max_age"],
            options["servers"],
            options["action"],
            tuple(options["blocklist_addresses"]),
            measured_for=options["measured_for"],
        )
        args = pump.arguments(**{**options, "state_dir": self.state_dir, "evidence_dir": evidence_dir})
        kill = self.dice.choice((0.01, 0.05)) if self.dice.random() < self.kind.kill else 0.0
        breaks = 0.1 if self.later.random() < self.kind.breaks else 0.0
        troubles = pump.Troubles(kill, self.kind.slow, self.kind.slow_seconds, breaks)
        return pump.Pump(self.world, told, args, troubles, check, self.said)

    def carry_out(self, one, quiet=False):
        """Carry a run out to its end or its death, others acting meanwhile, and let the oracle judge how it ended."""
        world = self.world
        host = one.told.host
        asked = self._asked(one)
        another = self.later.random() < self.kind.overtaken
        self.living.add(one.told.number)
        try:
            for need in one.steps():
                if not quiet:
                    self.events.tick()
                    self._others()
                if another and not quiet and need in ("wait", "advance") and self._holds(one):
                    another = self.later.random() < 0.7
                    if not another:
                        self._overtake(one)
        except Killed:
            world.say("killed", one.told.number)
            self.states.append("killed")
            return None
        finally:
            self.living.discard(one.told.number)
            self.sent.update(one.told.sent)
            world.watch.disks()
            shutil.rmtree(one.args["evidence_dir"], ignore_errors=True)
        self._judge(one, host, asked)
        return one.result

    def _holds(self, one):
        """Whether the open journal is in the hands of a run."""
        return any(
            journal["about"]["host"] == one.told.host and journal["run"]["pid"] == one.plugin.number
            for journal in self.journals()
        )

    def _overtake(self, one):
        """Another operator gives the command meanwhile: refused; taken over, where he says that the first has ended."""
        world = self.world
        before = self.unchanging()
        left, self.events.left, nested, world.nested = self.events.left, 0, world.nested, True
        try:
            second = self.run(self.options(one.told.host, "resume", servers=None))
            result = self.carry_out(second, quiet=True)
            if result is not None and second.told.sent:
                world.watch.bad("two-runs-at-once", second.told.number)
            if result is not None:
                self.must_be(before, ("blocklists", "guards", "journals", "requests"))
            second = self.run(self.options(one.told.host, "resume", servers=None, take_over=True))
            self.carry_out(second, quiet=True)
        finally:
            self.events.left, world.nested = left, nested
        one.told.overtaken = not self._holds(one)

    def _asked(self, one):
        """Who is to leave: what the operation was begun for, whatever a later run is told."""
        host = one.told.host
        if not any(entry["about"]["host"] == host for entry in self.journals()):
            self.scope[host] = self._chosen(one)
        return self.scope[host]

    def _chosen(self, one):
        servers = [s for s in self.world.servers.values() if s.host == one.told.host and not s.deleted]
        chosen = one.told.servers
        return [s for s in servers if chosen is None or s.name in chosen]

    def _judge(self, one, host, asked):
        world, result = self.world, one.result
        world.say("ended", one.told.number, result["state"], result["msg"])
        self.states.append(result["state"])
        self.messages.append(result["msg"])
        world.watch.run = one.told
        self.watch_others()
        well = not result.get("failed")
        world.watch.reported(result["msg"], result["report"], well)
        is_open = any(entry["about"]["host"] == host for entry in self.journals())
        if well and result["state"] in ("evacuated", "clear"):
            still = is_open
            if result["state"] == "clear":
                asked = [server for server in asked if server.host == host]
            world.watch.ended_well(asked, self.noted(), still)
            world.watch.pass_says_that_nothing_waits(result["report"]["verdict"], host)
            world.watch.told_of_soft_deleted(f"{self.said} {result['report']}")
            self.succeeded = self.succeeded or host == DEAD
            self.well.add(host)
        if well and result["state"] == "aborted":
            self._aborted(one, host, is_open)

    def _aborted(self, one, host, is_open):
        watch = self.world.watch
        if is_open:
            watch.bad("journal-open", host)
        watch.given_back(self.noted())
        if not any(server.uuid in watch.ever_sent for server in self._asked(one)) and not self._ever_sent(host):
            watch._entries(self._noted_by(closed_before=True, host=host))

    def watch_others(self):
        """Guards of open operations may be there."""
        ids = (entry["operation_id"] for entry in self.journals())
        self.world.watch.others_snapshots = frozenset(f"stackguard-{one}" for one in ids)

    def _ever_sent(self, host):
        return any(entry.source == host for entry in self.world.migrations)

    def journals(self, kind="evacuate"):
        """The open journals of evacuations, or of returns."""
        found = []
        for path in glob.glob(os.path.join(self.state_dir, f"{kind}*.json")):
            with open(path, encoding="utf-8") as stream:
                found.append(json.load(stream))
        return found

    def noted(self):
        """Every address that a journal says is on a list, by fsid."""
        return self._noted_by()

    def _noted_by(self, closed_before=False, host=None):
        noted = {}
        for entry in self.all_journals():
            for fsid, addresses in self._lists_of(entry).items():
                noted.setdefault(fsid, set()).update(addresses)
        return noted

    def _lists_of(self, journal):
        """Return what a journal says is on blocklists."""
        listed = journal["about"].get("blocklisted") or {}
        return {fsid: listed.get(fsid, []) for fsid in self.world.clusters}

    def all_journals(self):
        """Return every journal, open and closed."""
        found = self.journals()
        for path in glob.glob(os.path.join(self.state_dir, "closed", "*.json")):
            with open(path, encoding="utf-8") as stream:
                found.append(json.load(stream))
        return found

    def listed_by(self, host):
        """Every address that journals of this host, and of no other, say is on a list, by fsid."""
        mine, others = {}, set()
        for entry in self.all_journals():
            for fsid, addresses in self._lists_of(entry).items():
                if entry["about"]["host"] == host:
                    mine.setdefault(fsid, set()).update(addresses)
                else:
                    others |= {(fsid, address) for address in addresses}
        return {fsid: {one for one in found if (fsid, one) not in others} for fsid, found in mine.items()}

    def unchanging(self):
        """Return what a run may change, as it is now."""
        world = self.world
        return {
            "blocklists": {fsid: sorted(cluster.blocklist) for fsid, cluster in world.clusters.items()},
            "services": [(host.name, host.status, host.reason, host.forced_down) for host in world.hosts.values()],
            "machines": [(host.name, host.powered) for host in world.hosts.values()],
            "guards": sorted(
                (disk.name, snapshot)
                for cluster in world.clusters.values()
                for pool in cluster.pools.values()
                for disk in pool.values()
                for snapshot in disk.snapshots
            ),
            "requests": len(world.migrations),
            "journals": self.all_journals(),
        }

    def must_be(self, before, parts=None):
        """Verify that a run has changed nothing: one in check mode, or one that is refused."""
        now = self.unchanging()
        for what in parts or before:
            if now[what] != before[what]:
                self.world.watch.bad("changed", what, before[what], now[what])

    # --- the whole

    def _others(self):
        """Another operator, with another dead host, at the same time."""
        world = self.world
        if self.other is None or world.nested or self.dice.random() > 0.3:
            return
        world.nested, mine = True, world.watch.run
        try:
            next(self.other)
        except StopIteration:
            self.other = None
        finally:
            world.nested, world.watch.run = False, mine

    def _begin_other(self):
        if not any(server.host == OTHER_DEAD for server in self.world.servers.values()):
            return
        fence = self.dice.choice(("power", "blocklist"))
        one = self.run(self.options(OTHER_DEAD, fence=fence, servers=None, max_hosts=9, fence_confirm_command=None))
        asked = self._asked(one)

        def steps():
            try:
                yield from one.steps()
            except Killed:
                return
            self._judge(one, OTHER_DEAD, asked)

        self.other = steps()

    def play(self):
        dice = self.dice
        self._begin_other()
        for _number in range(dice.choice((1, 2, 2, 3, 4))):
            action = "apply"
            if self.runs:
                later = dice.choice(("apply", "apply", "apply", "resume", "status"))
                action = "abort" if dice.random() < self.kind.aborts else later
            if self.later.random() < self.kind.looked:
                self._look(action)
            one = self.run(self.options(DEAD, action))
            self.carry_out(one)
            if dice.random() < 0.5:
                self.events.tick()
                self.world.sleep(dice.choice((1, 60, 600)))
        while self.other is not None:
            self._others()
        self._evacuated()
        self._repair()
        alive = self._alive()
        for host in (OTHER_DEAD,) if alive else (DEAD, OTHER_DEAD):
            self._give_up(host)
        if alive or self.later.random() < self.kind.returns:
            self._come_back()
        return self

    def _look(self, action):
        """A run in check mode, while nobody else does anything."""
        world = self.world
        # What Nova is at goes on.
        if world.under_way():
            return
        before = self.unchanging()
        left, self.events.left, world.nested = self.events.left, 0, True
        try:
            self._check(self.run(self.options(DEAD, action), check=True))
        finally:
            self.events.left, world.nested = left, False
        self.must_be(before)

    def _check(self, one):
        with contextlib.suppress(Killed):
            for _need in one.steps():
                pass
        shutil.rmtree(one.args["evidence_dir"], ignore_errors=True)

    def _evacuated(self):
        """Where nothing is in the way, the host is evacuated: a refusal is a defect, too."""
        stays = [server for server in self._left(DEAD) if server.status != "VERIFY_RESIZE"]
        if self.kind.must and (stays or not self.runs):
            self.world.watch.bad("not-evacuated", len(stays), *self.messages[-1:])

    #: In the end nothing more befalls a run.
    QUIET: t.ClassVar[dict] = {"kill": 0.0, "breaks": 0.0, "overtaken": 0.0}

    def _repair(self):
        """At last everything is repaired that can be, and the same command is given until nothing is open."""
        world = self.world
        self.events.left, self.other, self.kind = 0, None, dataclasses.replace(self.kind, **self.QUIET)
        world.api_silent_until = world.cell_mute_until = 0.0
        world.spawn_fails = world.leftover = 0.0
        for host in world.hosts.values():
            host.bmc = host.bmc_obeys = host.rights = True
            host.bmc_other, host.libvirt_silent = None, False
            host.refuses = host.fails = False
            if host.name not in self._dead() and host.reason is None:
                world.power_on(host)
                world.heal(host)
        self.events._stranger_leaves()

    def _dead(self):
        """Return who stays dead. Another host that somebody switched off in between is switched on again."""
        began = any(entry["about"]["host"] == OTHER_DEAD for entry in self.all_journals())
        return (DEAD, OTHER_DEAD) if began or self._left(OTHER_DEAD) else (DEAD,)

    def _alive(self):
        """Its machine was never switched off: the evacuation is given up, and it comes back with what runs there."""
        host = self.world.hosts[DEAD]
        if not host.powered or self.later.random() >= self.kind.returns * self.kind.alive:
            return False
        for _number in range(2):
            if self.is_open(DEAD):
                self.world.sleep(700)
                self.carry_out(self.run(self.options(DEAD, "abort", fence="power", servers=None)))
        return True

    def _come_back(self):
        """Return it. Where nothing is open, all is given back in the end."""
        world = self.world
        one = returning.Comeback(self, DEAD)
        one.arrive()
        if self.is_open(DEAD) or self._moves() or not self._looked_at(one.host):
            one.run()
            return
        if not one.play():
            world.watch.bad("return-never-ends", DEAD, one.last["state"], one.last["msg"])
        if one.held:
            world.watch.given_back_whole(one.host, one.status)

    def _looked_at(self, host):
        """Whether another host reaches its cluster and pool."""
        return any(
            other.answers and other.home == host.home for other in self.world.hosts.values() if other is not host
        )

    def _moves(self):
        """Nova is at something that began or ends there, and never comes to its end."""
        return any(entry.stage != "ended" and DEAD in (entry.source, entry.dest) for entry in self.world.migrations)

    def _give_up(self, host):
        """Resume what is open, or abort it: then nothing is left of it."""
        world = self.world
        if host == DEAD and self.later.random() < self.kind.healed:
            self._heal_and_resume()
        world.power_off(world.hosts[host])
        for action in ("apply", "apply", "abort", "abort"):
            if not self.is_open(host) and (action == "abort" or host == OTHER_DEAD or not self._left(host)):
                return
            world.sleep(700)
            given = {"fence": "power", "partial": True, "servers": None, "reset_states": ["task"], "max_hosts": 9}
            self.carry_out(self.run(self.options(host, action, **given)))
        if self.is_open(host) and not self._stuck(host) and not self._said_who_is_missing():
            world.watch.bad("never-ends", host, self.messages[-1])

    def _said_who_is_missing(self):
        """A guard is where no host that lives reaches it, and the run has named that cluster and pool."""
        world, said = self.world, self.messages[-1]
        reached = {host.home for host in world.hosts.values() if host.answers and host.rights}
        guarded = {
            (fsid, pool)
            for fsid, cluster in world.clusters.items()
            for pool, disks in cluster.pools.items()
            if any(disk.snapshots for disk in disks.values())
        }
        far = guarded - reached
        return bool(far) and all(f"pool {pool} of Ceph cluster {fsid}" in said for fsid, pool in far)

    def _heal_and_resume(self):
        """Its link heals while Ceph refuses it: what runs there is no reason to refuse a resume."""
        world, host = self.world, self.world.hosts[DEAD]
        proofs = [
            journal.get("memory", {}).get("proof") or {} for journal in self.journals() if self._is_of_dead(journal)
        ]
        if (
            not host.powered
            or not host.cut
            or not self._left(DEAD)
            or [one.get("kind") for one in proofs] != ["blocklist"]
        ):
            return
        world.heal(host)
        if any(
            not world.clusters[fsid].refuses(address) for fsid in host.home[:1] for address in host.domains.values()
        ):
            return
        world.sleep(100)
        given = {"fence": "blocklist", "partial": True, "servers": None, "blocklist_addresses": [], "refence": False}
        result = self.carry_out(self.run(self.options(DEAD, "resume", **given)))
        if result["state"] == "refused" and "the host is alive" in result["msg"]:
            world.watch.bad("fenced-and-refused", result["msg"])

    @staticmethod
    def _is_of_dead(journal):
        return journal["about"]["host"] == DEAD

    def _left(self, host):
        return [server for server in self.world.servers.values() if server.host == host and not server.deleted]

    def is_open(self, host):
        return any(entry["about"]["host"] == host for entry in self.journals())

    def _stuck(self, host):
        """Nova itself has not come to an end, and never will."""
        return any(entry.stage == "stuck" and entry.source == host for entry in self.world.migrations)

    def ended(self):
        left = len(self._left(DEAD))
        said = self.messages, self.world.log, self.returns
        return Ended(self.states, self.servers, left, self.succeeded, len(self.sent), *said)


def install(monkeypatch, current):
    """Replace C(systems/) by the world of the scenario that ``current()`` gives."""

    class Nova(reading.Nova):
        world = property(lambda self: current().world)

        def __init__(self):
            pass

    Nova().install(monkeypatch)
    monkeypatch.setattr(http, "futures", reading.FUTURES)
    monkeypatch.setattr(guard_snapshots, "futures", reading.FUTURES)
    monkeypatch.setattr(guard_snapshots, "time", types.SimpleNamespace(time=lambda: current().world.now))
    pids = lambda pid: "0" if pid - pump.FIRST_PID in current().living else None  # noqa: E731
    monkeypatch.setattr(run_owner.processes, "start_time", pids)
    # Without a Cinder: volumes are known by Ceph alone.
    monkeypatch.setattr(operation_action, "connect", lambda _args: types.SimpleNamespace(service_catalog=[]))
    for plugin in (server_evacuate, compute_host_return):
        monkeypatch.setattr(plugin, "uuid", types.SimpleNamespace(uuid4=lambda: current().next_id()))
    returning.install(monkeypatch, current)
    queues.install(monkeypatch, current)
    _make_quick(monkeypatch)


def _make_quick(monkeypatch):
    """Nothing must survive a power cut here, and nobody reads the files."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    plain = types.SimpleNamespace(
        dumps=lambda value, **_form: json.dumps(value),
        dump=lambda value, stream, **_form: stream.write(json.dumps(value)),
        load=json.load,
        loads=json.loads,
    )
    monkeypatch.setattr(evidence, "json", plain)
    monkeypatch.setattr(journal, "json", plain)
    load, write, known = evidence._load_host, evidence._write, {}

    def load_host(path, name):
        if path not in known:
            known[path] = load(path, name)
        return known[path]

    def write_part(path, text, directory):
        known.pop(path, None)
        write(path, text, directory)

    monkeypatch.setattr(evidence, "_load_host", load_host)
    monkeypatch.setattr(evidence, "_write", write_part)


class Stage:
    """Plays scenarios, one after the other."""

    def __init__(self, monkeypatch):
        self.scenario = None
        self.place = tempfile.mkdtemp(prefix="model-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        install(monkeypatch, lambda: self.scenario)

    def play(self, seed, kind):
        directory = os.path.join(self.place, str(seed))
        os.makedirs(directory)
        try:
            self.scenario = Scenario(seed, kind, directory)
            return self.scenario.play().ended()
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)
