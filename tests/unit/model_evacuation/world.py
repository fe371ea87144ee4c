# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small cloud that behaves: machines, Ceph clusters, Nova, owners of servers, people who look at disks.

What is true is in here and nowhere else. What can be read of it is in ``reading.py``, what must never happen in
``oracle.py``. Time is a number that only :meth:`World.sleep` moves.
"""

from __future__ import annotations

import dataclasses
import random
import typing as t

from ansible_collections.stackguard.nova.tests.unit.model_evacuation.queues import Queues

START = 1_795_000_000.0
#: Seconds: until Nova sees a service as down, until Ceph drops the watch of a client that is gone.
DOWN_AFTER, WATCH_TIMEOUT = 60.0, 30.0
HEADROOM, OVERHEAD = 512, 128


class Killed(BaseException):
    """The run's process is gone, at whatever it was."""


class NovaError(Exception):
    """The API says no. ``status``: its number; None: no answer."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


@dataclasses.dataclass
class Disk:
    name: str
    id: str
    snapshots: set = dataclasses.field(default_factory=set)
    #: Address of the client that has the exclusive lock.
    lock: t.Optional[str] = None
    #: Addresses of others that have it open, for whatever reason.
    strangers: set = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Cluster:
    fsid: str
    pools: dict
    #: Entry (``IP:0/0``) to when it was made.
    blocklist: dict = dataclasses.field(default_factory=dict)
    #: Addresses of its monitors, managers, OSDs.
    daemons: tuple = ()

    def refuses(self, address):
        text = f"[{address}]:0/0" if ":" in address else f"{address}:0/0"
        return text in self.blocklist


@dataclasses.dataclass
class Host:
    name: str
    zone: str
    memory: int
    management: str
    #: Ceph fsid to the addresses from which its clients come, the usual one first.
    clients: dict
    home: tuple
    powered: bool = True
    #: Cut off from the management network (Ansible, RPC), and from Ceph.
    cut: bool = False
    ceph_cut: bool = False
    libvirt_silent: bool = False
    status: str = "enabled"
    reason: t.Optional[str] = None
    forced_down: bool = False
    #: Since when its nova-compute does not report; None: it does.
    silent_since: t.Optional[float] = None
    #: Instance to address of its QEMU's client, for all that run here.
    domains: dict = dataclasses.field(default_factory=dict)
    #: Instance to when Ceph lost its QEMU without a goodbye.
    lost: dict = dataclasses.field(default_factory=dict)
    #: Instance and fsid of QEMUs that Ceph has refused: they never open their disks again.
    dead: set = dataclasses.field(default_factory=set)
    #: Instances of which a definition without a process is left.
    defined: set = dataclasses.field(default_factory=set)
    #: Its nova-compute does not start with the machine.
    masked: bool = False
    #: The scheduler or its spawns fail for everybody.
    refuses: bool = False
    fails: bool = False
    #: Power controller: answers; obeys; shows a second system whose state is this.
    bmc: bool = True
    bmc_obeys: bool = True
    bmc_other: t.Optional[bool] = None
    powered_on_at: float = 0.0
    #: Nova keeps disks in Ceph; else all its servers boot from volumes.
    disks_in_ceph: bool = True
    #: It is in the aggregate that some flavors demand.
    special: bool = False
    reads_volumes: bool = True
    rights: bool = True

    @property
    def answers(self):
        return self.powered and not self.cut

    @property
    def node(self):
        return f"node-{self.name}"


@dataclasses.dataclass
class Volume:
    uuid: str
    #: Its Ceph cluster; None: another kind of storage.
    fsid: t.Optional[str]
    lock: t.Optional[str] = None


@dataclasses.dataclass
class Server:
    uuid: str
    name: str
    ram: int
    host: str
    #: ACTIVE, SHUTOFF or ERROR, as the API shows it.
    status: str
    #: Whether it ran when its host died, or as its owner left it since.
    runs: bool
    home: tuple
    #: Image name to Ceph's id, as they were made.
    disks: dict
    swap: int = 0
    volumes: tuple = ()
    boots_from_volume: bool = False
    task: t.Optional[str] = None
    deleted: bool = False
    #: What the API's power_state says; None: not known.
    power_state: t.Optional[int] = 1
    pinned: t.Optional[str] = None
    group: t.Optional[str] = None
    #: Its owner changed something after its host had died.
    touched: bool = False
    #: It is deleted, and its owner may have it back: in no list, but placement counts it.
    soft: bool = False
    #: Its flavor demands a special host.
    special: bool = False
    #: It has a virtual TPM: Nova answers its evacuation with an error.
    tpm: bool = False
    #: Instance actions, the oldest first.
    history: list = dataclasses.field(default_factory=lambda: ["create"])


@dataclasses.dataclass
class Migration:
    number: int
    server: str
    source: str
    dest: str
    status: str
    at: float
    #: Whether Nova is really at it, and until when for the next step.
    stage: str = "accepted"
    due: float = 0.0
    ended: float = 0.0
    brief: bool = False
    type: str = "evacuation"


class World:
    """The cloud. ``watch``: the oracle's hooks, see there."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.now = START
        self.clusters = {}
        self.hosts = {}
        self.servers = {}
        self.volumes = {}
        self.migrations = []
        self.groups = {}
        self.api_silent_until = 0.0
        #: The cell's servers are in no list until then, and nothing says so.
        self.cell_mute_until = 0.0
        #: Called once when time passes: what happens in the middle.
        self.pending = []
        self.sleepers = []
        self.log = []
        self.watch = None
        self.resume_on_boot = False
        self.volume_counter = 0
        self.overcommit = 2.0
        self.nested = False
        self.queues = Queues(self)
        #: Servers of which Nova's last write was lost.
        self.lost = set()

    # --- time

    def say(self, *words):
        self.log.append((round(self.now - START, 1), *words))

    def sleep(self, seconds):
        """Let time pass, a few seconds at a time: things happen meanwhile."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 5.0)
            self._nova()
            for hook in list(self.sleepers):
                hook()
        self.watch.look()

    # --- Ceph

    def pool(self, home):
        return self.clusters[home[0]].pools[home[1]]

    def reaches(self, host, address, fsid):
        """Whether a client of a host can write in a cluster."""
        return host.powered and not host.ceph_cut and not self.clusters[fsid].refuses(address)

    def address_of(self, host, uuid, fsid):
        """The address from which a QEMU reaches a cluster: that of its home cluster is its own."""
        return host.domains[uuid] if fsid == host.home[0] else host.clients[fsid][0]

    def opens(self, host, uuid, fsid):
        """Whether a QEMU has its disks of a cluster open."""
        return (
            uuid in host.domains
            and (uuid, fsid) not in host.dead
            and self.reaches(host, self.address_of(host, uuid, fsid), fsid)
        )

    def refuse(self, host):
        """Ceph tells the QEMUs of a host that reaches it whom it refuses."""
        if host.powered and not host.ceph_cut:
            for uuid in host.domains:
                for fsid, cluster in self.clusters.items():
                    if cluster.blocklist and cluster.refuses(self.address_of(host, uuid, fsid)):
                        host.dead.add((uuid, fsid))
                        host.lost.setdefault(uuid, self.now)

    def writers(self, server, fsid):
        """Hosts whose QEMU of a server can write in a cluster now."""
        return [host.name for host in self.hosts.values() if self.opens(host, server.uuid, fsid)]

    def watchers(self, server, fsid):
        """Addresses of QEMUs that Ceph still shows."""
        found = []
        for host in self.hosts.values():
            if server.uuid in host.domains:
                address = self.address_of(host, server.uuid, fsid)
                lost = host.lost.get(server.uuid)
                if self.opens(host, server.uuid, fsid) or (lost is not None and self.now < lost + WATCH_TIMEOUT):
                    found.append(address)
            elif server.uuid in host.lost and self.now < host.lost[server.uuid] + WATCH_TIMEOUT:
                found.append(host.clients[fsid][0])
        return found

    def start_domain(self, host, server):
        """A QEMU begins: it takes the lock of each disk that it can reach."""
        # None of its disks is elsewhere than where its host looks.
        fsid = host.home[0]
        host.domains[server.uuid] = host.clients[fsid][0]
        host.lost.pop(server.uuid, None)
        host.defined.discard(server.uuid)
        self.forget_dead(host, server.uuid)
        for disk in self.disks_of(server, host.home):
            if self.reaches(host, host.domains[server.uuid], fsid):
                disk.lock = host.domains[server.uuid]
        self.lock_volumes(host, server)
        self.refuse(host)
        self.watch.look()

    @staticmethod
    def forget_dead(host, uuid):
        host.dead = {entry for entry in host.dead if entry[0] != uuid}

    def lock_volumes(self, host, server):
        for volume in (self.volumes[uuid] for uuid in server.volumes):
            if volume.fsid is not None:
                volume.lock = self.address_of(host, server.uuid, volume.fsid)

    def stop_domain(self, host, server, clean=True):
        address = host.domains.pop(server.uuid, None)
        self.forget_dead(host, server.uuid)
        for disk in self.disks_of(server, host.home):
            if clean and disk.lock == address:
                disk.lock = None

    def disks_of(self, server, home):
        return [disk for name, disk in self.pool(home).items() if name.startswith(server.uuid)]

    # --- machines

    def power_off(self, host):
        if host.powered:
            self.say("power off", host.name)
            host.lost.update(dict.fromkeys(host.domains, self.now))
            host.defined |= set(host.domains)
            host.domains, host.dead = {}, set()
            host.powered = False
            host.silent_since = host.silent_since or self.now

    def power_on(self, host):
        """The machine is on again: its nova-compute starts what Nova still has there, if it is set to."""
        if host.powered:
            return
        self.say("power on", host.name)
        host.powered, host.powered_on_at = True, self.now
        host.cut = host.ceph_cut = False
        host.silent_since = host.silent_since if host.masked else None
        self.queues.woken(host)
        if self.resume_on_boot and not host.masked:
            for server in self.servers.values():
                # Of one that is lost, nobody can keep Nova from it.
                starts = server.host == host.name and not server.deleted and server.status == "ACTIVE"
                if starts and server.uuid not in self.lost:
                    self.start_domain(host, server)
        self.watch.look()

    def cut_off(self, host, ceph=True):
        self.say("cut off", host.name, "ceph" if ceph else "")
        host.cut = True
        host.silent_since = host.silent_since or self.now
        if ceph and not host.ceph_cut:
            host.ceph_cut = True
            host.lost.update(dict.fromkeys(host.domains, self.now))

    def heal(self, host):
        if host.cut or host.ceph_cut:
            self.say("link heals", host.name)
            host.cut = host.ceph_cut = False
            host.silent_since = None if host.powered and not host.masked else host.silent_since
            self.queues.woken(host)
            host.lost = {} if host.powered else host.lost
            self.refuse(host)
            self.watch.look()

    def stop_compute(self, host):
        """Its nova-compute is stopped, and masked."""
        self.say("nova-compute is masked", host.name)
        host.masked = True
        host.silent_since = host.silent_since or self.now

    def start_compute(self, host):
        """What nova-compute does when it starts: domains that were evacuated end, and the records of it."""
        self.say("nova-compute starts", host.name)
        host.masked, host.silent_since = False, None
        for entry in self.migrations:
            if entry.source == host.name and entry.status in ("accepted", "pre-migrating", "done"):
                self.stop_domain(host, self.servers[entry.server], clean=False)
                host.defined.discard(entry.server)
                entry.status = "completed" if entry.status == "done" else entry.status
        self.watch.look()
        # Only then it reads its queue.
        self.queues.consume(host)
        self.watch.look()

    def awaits_start(self, name):
        """Whether a host has evacuations that only the next start of its nova-compute completes."""
        return any(entry.source == name and entry.status == "done" for entry in self.migrations)

    def reboot_hard(self, server):
        """Its QEMU is made again, where Nova has it."""
        host = self.hosts[server.host]
        self.say("hard reboot", server.name)
        self.stop_domain(host, server, clean=False)
        self.start_domain(host, server)
        server.status, server.task, server.power_state = "ACTIVE", None, 1

    def state(self, host):
        """The service's state as the API shows it."""
        silent = host.silent_since is not None and self.now - host.silent_since > DOWN_AFTER
        return "down" if silent or host.forced_down else "up"

    def used(self, host):
        """Memory that its QEMUs have, MiB."""
        return sum(self.servers[uuid].ram + OVERHEAD for uuid in host.domains)

    # --- Nova

    def api(self):
        """Raise what the API says when it says nothing."""
        if self.now < self.api_silent_until:
            raise NovaError("503 Service Unavailable")

    def live_servers(self, host=None):
        if self.now < self.cell_mute_until:
            return []
        return [
            server
            for server in self.servers.values()
            if not server.deleted and (host is None or server.host.casefold() == host.casefold())
        ]

    def evacuate(self, uuid, dest, stopped=False):
        """The request of the API, and what its checks say."""
        self.api()
        server = self.servers[uuid]
        source = self.hosts[server.host]
        if server.deleted:
            raise NovaError("404", 404)
        if server.task is not None:
            raise NovaError(f"409 task {server.task}", 409)
        if server.status not in ("ACTIVE", "SHUTOFF", "ERROR"):
            raise NovaError(f"409 it is {server.status}", 409)
        if self.state(source) == "up":
            raise NovaError("409 compute service is in use", 409)
        if server.tpm:
            # It was known before the host was fenced.
            self.watch.bad("sent-what-nova-refuses", server.name)
        self.watch.sent(server, dest)
        self.say("evacuate", server.name, source.name, "->", dest)
        server.task = "rebuilding"
        server.history.append("evacuate")
        record = Migration(len(self.migrations) + 1, uuid, source.name, dest, "accepted", self.now)
        record.due = self.now + self.random.choice((0, 2, 6))
        self.migrations.append(record)

    def under_way(self):
        return [entry for entry in self.migrations if entry.stage not in ("ended", "stuck")]

    def _nova(self):
        for entry in self.under_way():
            if self.now >= entry.due:
                getattr(self, f"_{entry.stage}")(entry)

    def _end(self, entry, status):
        entry.stage, entry.status, entry.ended = "ended", status, self.now

    def _accepted(self, entry):
        server, dest = self.servers[entry.server], self.hosts[entry.dest]
        if server.deleted:
            self._end(entry, "error")
            return
        if server.special and not dest.special:
            self.watch.bad("sent-to-a-host-that-nova-refuses", server.name, dest.name)
        if dest.status != "enabled" or self.state(dest) != "up" or dest.refuses or self._full(dest, server):
            self.say("no valid host", server.name)
            server.task, server.status = None, "ERROR"
            self._end(entry, "error")
            return
        if not dest.answers:
            entry.stage = "stuck"
            return
        entry.stage = entry.status = "pre-migrating"
        entry.stage = "spawning"
        server.task = "rebuild_spawning"
        entry.due = self.now + self.random.choice((5, 10, 20))

    def _full(self, dest, server):
        held = sum(entry.ram for entry in self.servers.values() if entry.host == dest.name and not entry.deleted)
        held += sum(self.servers[one.server].ram for one in self.under_way() if one.dest == dest.name)
        return held > dest.memory * self.overcommit

    def _spawning(self, entry):
        server, dest = self.servers[entry.server], self.hosts[entry.dest]
        if server.deleted:
            self._end(entry, "error")
            return
        if not dest.answers:
            entry.stage = "stuck"
            return
        pool = self.pool(dest.home)
        lacking = [name for name in server.disks if name not in pool and not name.endswith(".config")]
        for name in lacking:
            pool[name] = Disk(name, f"new-{name}-{len(self.migrations)}")
        if dest.fails or dest.ceph_cut or self.random.random() < self.spawn_fails:
            self._failed_spawn(entry, server, dest, bool(lacking))
            return
        self.start_domain(dest, server)
        entry.brief = server.status == "SHUTOFF"
        if entry.brief:
            self.stop_domain(dest, server)
        else:
            server.status = "ACTIVE"
        server.power_state = 4 if entry.brief else 1
        server.task = None
        entry.stage, entry.due = "moving", self.now + self.random.choice((0, 3, 10))

    spawn_fails = 0.0
    leftover = 0.0

    def _failed_spawn(self, entry, server, dest, made):
        self.say("spawn fails", server.name, dest.name)
        if made:
            # What was made by this spawn is cleaned up, with all other disks of the server.
            pool = self.pool(dest.home)
            for disk in self.disks_of(server, dest.home):
                if not disk.snapshots:
                    self.say("deleted", disk.name)
                    del pool[disk.name]
        if self.random.random() < self.leftover and not made:
            self.start_domain(dest, server)
        # The destination writes what it has, which is nothing.
        server.status, server.task, server.power_state = "ERROR", None, 0
        self._end(entry, "failed")
        self.watch.look()

    def _moving(self, entry):
        server = self.servers[entry.server]
        server.host = entry.dest
        self._end(entry, "done")
        self.say("arrived", server.name, entry.dest)

    def stop(self, server, owner=True):
        """An owner's stop, or the operator's. A dead host never ends it."""
        self.api()
        if server.task is not None or server.status != "ACTIVE":
            raise NovaError("409", 409)
        host = self.hosts[server.host]
        server.touched = server.touched or owner
        server.history.append("stop")
        if not self.queues.reads(host):
            server.task = "powering-off"
            self.queues.cast("stop_instance", server)
        elif server.uuid in host.domains:
            self.stop_domain(host, server)
            server.status, server.power_state = "SHUTOFF", 4
            server.runs = False if owner else server.runs
        else:
            server.task = "powering-off"
        self.say("stop", server.name, "owner" if owner else "operator")

    def start(self, server):
        if server.task is not None or server.status != "SHUTOFF":
            return
        host = self.hosts[server.host]
        server.touched = True
        server.history.append("start")
        if self.queues.reads(host):
            server.status, server.power_state, server.runs = "ACTIVE", 1, True
            self.start_domain(host, server)
        else:
            server.task = "powering-on"
            self.queues.cast("start_instance", server)
        self.say("start", server.name)

    def delete(self, server):
        """An owner's delete: on a dead host only Nova's record goes; a disk with a snapshot stays."""
        host = self.hosts[server.host]
        if server.deleted or (server.task or "").startswith("rebuild"):
            return
        server.deleted = server.touched = True
        self.say("delete", server.name)
        if host.answers:
            self.stop_domain(host, server)
            pool = self.pool(host.home)
            for disk in self.disks_of(server, host.home):
                if not disk.snapshots:
                    del pool[disk.name]
