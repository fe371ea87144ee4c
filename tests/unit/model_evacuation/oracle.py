# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must never happen to a :class:`world.World`, whatever an operation believes. Imports nothing of the collection.

It looks at the world only: at every request to evacuate, every change of a blocklist, every QEMU that begins, and at
what is left when a run says that it has ended well. A journal is looked at for one thing only: whether it is closed.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.stackguard.nova.tests.unit.model_evacuation.world import HEADROOM, OVERHEAD, WATCH_TIMEOUT

#: Seconds that a reading takes: it is a little older than its proof says.
SLACK = 5.0
GUARD = "stackguard-"


class Violation(AssertionError):
    """A rule is broken. ``rule``: which."""

    def __init__(self, rule, *words):
        super().__init__(f"{rule}: {' '.join(map(str, words))}")
        self.rule = rule


@dataclasses.dataclass
class Told:
    """One run, as its operator told it to be: what the oracle may take as said."""

    number: int
    host: str
    fence: str
    #: Somebody has attested, in this very run, that the host is dead.
    attested: bool
    proof_max_age: float
    #: Names or uuids; None: all.
    servers: t.Optional[t.List[str]]
    action: str
    named: t.Tuple[str, ...] = ()
    #: When the machine was truly read as off (command: confirmed), and a blocklist truly read, by fsid.
    off_at: t.List[float] = dataclasses.field(default_factory=list)
    listed_at: t.Dict[str, float] = dataclasses.field(default_factory=dict)
    #: When the source was seen alive by this run.
    alive_at: float = -1.0
    sent: t.List[str] = dataclasses.field(default_factory=list)
    #: Servers whose QEMUs could write on the source when this run read it last; when hosts were read.
    alive: t.Tuple[str, ...] = ()
    reads: t.List[float] = dataclasses.field(default_factory=list)
    #: Host to when it was read, and for how long its memory counts as known.
    read_at: t.Dict[str, float] = dataclasses.field(default_factory=dict)
    measured_for: float = 0.0
    #: Another run has taken its operation over.
    overtaken: bool = False


class Oracle:
    def __init__(self, world):
        self.world = world
        self.run = None
        #: Server to why its sending was lawful.
        self.lawful = {}
        self.violations = []
        self.disturbed = set()
        #: Server to the hosts and addresses from which its QEMU wrote when the host died, by fsid.
        self.wrote = {}
        self.ever_sent = set()

    def bad(self, rule, *words):
        self.violations.append((rule, " ".join(map(str, words))))
        raise Violation(rule, *words)

    def begin(self):
        """The world is made: remember who wrote from where."""
        for host in self.world.hosts.values():
            for uuid, address in host.domains.items():
                self.wrote[uuid] = {host.home[0]: address}

    # --- while it runs

    def look(self):
        """Never two that can write one disk.

        A machine that is switched on right after it was read as off is the one thing that no operation can see.
        """
        world = self.world
        running = {}
        for host in world.hosts.values():
            if host.powered:
                for uuid in host.domains:
                    running.setdefault(uuid, []).append(host)
        for uuid, hosts in running.items():
            if len(hosts) > 1:
                self._two(world.servers[uuid], hosts)

    def _two(self, server, hosts):
        if self.lawful.get(server.uuid) in ("off", "attested"):
            return
        for fsid in {server.home[0], *(self.world.volumes[uuid].fsid for uuid in server.volumes)}:
            writers = [host.name for host in hosts] if fsid is None else self.world.writers(server, fsid)
            if len(writers) > 1:
                self.bad("two-writers", server.name, writers, fsid, self.lawful.get(server.uuid))

    def sent(self, server, dest):
        run, world = self.run, self.world
        source, target = world.hosts[server.host], world.hosts[dest]
        if run is None:
            self.bad("sent-by-none", server.name)
        if run.overtaken:
            self.bad("sent-by-an-overtaken-run", server.name)
        run.sent.append(server.uuid)
        self.ever_sent.add(server.uuid)
        if source.name != run.host:
            self.bad("sent-from-another-host", server.name, source.name)
        if run.servers is not None and not {server.name, server.uuid} & set(run.servers):
            self.bad("sent-unasked", server.name)
        if target.zone != source.zone:
            self.bad("sent-out-of-its-zone", server.name, dest)
        self.lawful[server.uuid] = self._proof(server, source, run)
        self._guarded(server)
        self._alone(server, source)
        self._room(server, target)

    def _proof(self, server, source, run):
        if run.fence == "attested":
            if not run.attested:
                self.bad("no-attestation", server.name)
            if (
                run.alive_at >= 0
                and source.powered
                and source.powered_on_at <= run.alive_at
                and source.domains
                and not source.cut
            ):
                self.bad("attested-and-alive", server.name)
            return "attested"
        if run.fence == "blocklist":
            return self._covered(server, source, run)
        read = max(run.off_at, default=None)
        if read is None:
            self.bad("no-proof", server.name, run.fence)
        if self.world.now - read > run.proof_max_age + SLACK:
            self.bad("old-proof", server.name, int(self.world.now - read))
        if source.powered and source.powered_on_at <= read:
            self.bad("false-proof", server.name, "the machine is on")
        if source.powered and run.alive_at > source.powered_on_at > 0:
            self.bad("seen-alive", server.name, "the machine was switched on, and was seen")
        return "off"

    def _covered(self, server, source, run):
        world = self.world
        places = {server.home[0]} if server.disks else set()
        places |= {self.world.volumes[uuid].fsid for uuid in server.volumes}
        for fsid in sorted(places, key=str):
            if fsid is None:
                self.bad("not-covered", server.name, "a volume is not in Ceph")
            cluster = self.world.clusters[fsid]
            used = self.wrote.get(server.uuid, {}).get(fsid)
            locks = {disk.lock for disk in world.disks_of(server, server.home)}
            locks |= {world.volumes[uuid].lock for uuid in server.volumes}
            if server.uuid not in source.domains and used not in locks:
                # It ended as it should, and left nothing behind.
                used = None
            addresses = [used] if used else source.clients[fsid]
            refused = [cluster.refuses(address) for address in addresses]
            # Of a server that does not run nobody sees from where it would: there the operator's word counts.
            said = not used and any(cluster.refuses(address) for address in run.named)
            if not (said or (all(refused) if used else any(refused))):
                self.bad("not-covered", server.name, fsid, addresses, sorted(cluster.blocklist))
            read = run.listed_at.get(fsid)
            if read is None:
                self.bad("no-proof", server.name, "the blocklist was not read in this run")
            if self.world.now - read > run.proof_max_age + SLACK:
                self.bad("old-proof", server.name, int(self.world.now - read))
        return "listed"

    def _guarded(self, server):
        pool = self.world.pool(server.home)
        for name, identity in server.disks.items():
            disk = pool.get(name)
            if disk is None or disk.id != identity:
                self.bad("sent-without-its-disk", server.name, name)
        seen = any(host.answers and host.home == server.home for host in self.world.hosts.values())
        for disk in self.world.disks_of(server, server.home):
            # Nova makes a config drive again from what it knows.
            if not seen and disk.name.endswith(".config"):
                continue
            if not any(snapshot.startswith(GUARD) for snapshot in disk.snapshots):
                self.bad("unguarded", server.name, disk.name)

    def _alone(self, server, source):
        for disk in self.world.disks_of(server, server.home):
            if disk.strangers:
                self.bad("sent-while-watched", server.name, disk.name, sorted(disk.strangers))
        others = [host.name for host in self.world.hosts.values() if host is not source and server.uuid in host.domains]
        if others:
            self.bad("sent-while-it-runs", server.name, others)

    def fenced(self, host):
        """A machine that answers and whose guests work is not switched off."""
        exist = {uuid for uuid in self.run.alive if not self.world.servers[uuid].deleted}
        if host.answers and exist & set(host.domains):
            self.bad("fenced-alive", host.name, self.run.alive)

    #: Nothing keeps the operation from what it wants to do.
    calm = False

    def reads(self, run):
        """Hosts are read: what was to be done before that has been done."""
        if self.calm:
            self._kept(run)
        run.reads.append(self.world.now)

    def _kept(self, run):
        """The guard of a server that has long arrived keeps its owner from deleting it."""
        for entry in self.world.migrations:
            server = self.world.servers[entry.server]
            reads = [at for at in run.reads if at > entry.ended]
            if entry.status != "done" or server.uuid not in run.sent or server.deleted or len(reads) < 2:
                continue
            if any(disk.snapshots for disk in self.world.disks_of(server, server.home)):
                self.bad("guard-kept", server.name, "arrived", int(self.world.now - entry.ended), "seconds ago")

    def works(self, host):
        """A host is asked to do something in Ceph."""
        if host is not None and host.name == self.run.host:
            self.bad("dead-host-at-work", host.name)

    #: What a run says that was stopped by what it had read of the fence.
    STOPPED_BY_FENCE = (" is not fenced: ", "run has no proof that ", " shows signs of life")

    def reported(self, message, report, well):
        """Every reason that a run gives is in its report, too."""
        if well:
            return
        codes = {item["code"] for item in report["findings"]}
        if any(words in message for words in self.STOPPED_BY_FENCE) and not codes:
            self.bad("not-in-the-report", message)
        codes |= {item["code"] for item in report["unchecked"]}
        for code in sorted(set(re.findall(r"\bSG\d{3}\b", message)) - codes):
            if code not in str(report):
                self.bad("not-in-the-report", code, message)

    def told_of_soft_deleted(self, report):
        """Whoever is deleted and may come back stays on the host: its operator must know."""
        for server in self.world.servers.values():
            if server.soft and server.host == self.run.host and server.uuid not in report:
                self.bad("soft-deleted-untold", server.name)

    #: Seconds in which what a round has read may be used, however short the operator's time is.
    JUST_READ = 90.0

    def _measured(self, target, run):
        age = self.world.now - run.read_at.get(target.name, 0.0)
        if age > max(run.measured_for, self.JUST_READ) + SLACK:
            self.bad("old-measurement", target.name, int(age))

    def _room(self, server, target):
        world = self.world
        self._measured(target, self.run)
        if target.name in self.disturbed:
            return
        coming = [
            world.servers[entry.server]
            for entry in world.migrations
            if entry.dest == target.name and entry.stage != "ended" and entry.server not in target.domains
        ]
        taken = sum(entry.ram + OVERHEAD for entry in coming if entry is not server) + world.used(target)
        if target.memory - taken - server.ram - OVERHEAD < HEADROOM // 2:
            self.bad("memory-promised-twice", server.name, target.name, target.memory - taken - server.ram - OVERHEAD)

    # --- blocklists

    def blocked(self, cluster, entry):
        world, run = self.world, self.run
        address = entry.rpartition(":0/")[0].strip("[]")
        source = world.hosts[run.host]
        own = {source.management, *(address for found in source.clients.values() for address in found)}
        if address in cluster.daemons:
            self.bad("foreign-address-listed", address, "a daemon of Ceph")
        for host in world.hosts.values():
            theirs = {host.management, *(address for found in host.clients.values() for address in found)}
            # Of one that does not answer either, only its operator can know.
            unknown = address in run.named and address != host.management and not host.answers
            if host is not source and address in theirs and not unknown:
                self.bad("foreign-address-listed", address, host.name)
        if address not in own and address not in run.named:
            self.bad("foreign-address-listed", address, "nobody knows whose")
        world.say("blocklist", cluster.fsid, entry)

    def unblocked(self, cluster, entry):
        """Nothing is let in again under a guest that has another life elsewhere."""
        source = self.world.hosts[self.run.host]
        for server in self._elsewhere(source):
            if server.home[0] == cluster.fsid:
                self.bad("lifted-under-a-guest", server.name, entry)
        self.world.say("blocklist lifted", cluster.fsid, entry)

    def _elsewhere(self, host):
        """Servers whose QEMUs run on a host, and that Nova has on another."""
        found = [self.world.servers[uuid] for uuid in host.domains] if host.powered else []
        return [server for server in found if not server.deleted and server.host != host.name]

    def enabled(self, host):
        """Its nova-compute is used again."""
        for server in self._elsewhere(host):
            self.bad("enabled-under-a-guest", server.name, host.name)

    # --- a host comes back

    def returned(self, noted, verdict, is_open):
        """A run says that nothing is left to clear. ``noted``: fsid to addresses of the journals of this host alone."""
        host = self.world.hosts[self.run.host]
        if is_open:
            self.bad("clear-and-open", host.name)
        for fsid, addresses in noted.items():
            for address in sorted(addresses):
                if self.world.clusters[fsid].refuses(address):
                    self.bad("entry-left", fsid, address)
        for server in self._elsewhere(host):
            self.bad("clear-and-still-there", server.name)
        for uuid in sorted(host.domains):
            self._usable(host, self.world.servers[uuid], verdict)
        self._no_guards(host.name)

    def _usable(self, host, server, verdict):
        """Each disk of a QEMU is open; one that Ceph lost just now may look so. A volume may be out of sight."""
        lost = host.lost.get(server.uuid)
        if server.deleted or (lost is not None and self.world.now < lost + WATCH_TIMEOUT + 60):
            return
        places = {server.home[0]} if any(not name.endswith(".config") for name in server.disks) else set()
        if verdict == "pass":
            places |= {self.world.volumes[uuid].fsid for uuid in server.volumes} - {None}
        for fsid in sorted(places):
            if not self.world.opens(host, server.uuid, fsid):
                self.bad("dead-disk", server.name, host.name, fsid)

    def given_back_whole(self, host, status):
        """After the last run: the service is as it is to be."""
        if (host.status, host.forced_down) != (status, False):
            self.bad("hold-left", host.name, host.status, host.reason, host.forced_down)

    def ends(self, server, host):
        """A run ends a domain: never the only one of a server that nobody has evacuated from this host."""
        world = self.world
        others = [other.name for other in world.hosts.values() if other is not host and server.uuid in other.domains]
        evacuated = [
            entry
            for entry in world.migrations
            if entry.server == server.uuid and entry.source == host.name and entry.type == "evacuation"
        ]
        runs = server.uuid in host.domains and world.opens(host, server.uuid, host.home[0])
        if runs and not others and not evacuated and not server.deleted:
            self.bad("only-copy-ended", server.name, "on", host.name)

    # --- requests of owners that waited for a host

    #: It does nothing to a server that is elsewhere: an event, a reboot that Nova refuses, clearing up after a resize.
    HARMLESS = frozenset(("external_instance_event", "reboot_instance", "confirm_resize"))
    #: Without it a server is stranded or never deleted, or nobody knows what it is.
    KEPT = frozenset(("terminate_instance", "finish_resize", "rebuild_instance", "brew_instance"))
    #: The task that says that such a request waits.
    TASKS: t.ClassVar[t.Dict[str, str]] = {
        "powering-on": "start_instance",
        "powering-off": "stop_instance",
        "suspending": "suspend_instance",
        "rescuing": "rescue_instance",
    }

    def executes(self, host, message, server):
        """A host that was said to be clear starts: it changes nothing of servers that live elsewhere."""
        if server.host != host.name and not server.deleted and message.method not in self.HARMLESS:
            self.bad("old-request", message.method, server.name, "is on", server.host)

    def taken(self, host, message, server):
        """A run takes a request out of a queue."""
        if host.name != self.run.host:
            self.bad("request-of-another-host", host.name, message.method)
        if host.silent_since is None and host.answers:
            self.bad("request-of-a-living-host", host.name, message.method)
        if message.id not in self.world.queues.noted():
            self.bad("request-not-noted", message.method, server.name)
        if server.deleted:
            return
        if message.method in self.KEPT:
            self.bad("stranded", message.method, server.name)
        leaves = self.run.action != "return" and (self.run.servers is None or server.name in self.run.servers)
        if server.host == host.name and not leaves:
            self.bad("request-of-its-own-lost", message.method, server.name)

    def resets(self, server):
        """Nova forgets a task: the request must not wait any more."""
        waits = [message.method for message in self.world.queues.of(server.host) if message.server == server.uuid]
        if self.TASKS.get(server.task) in waits:
            self.bad("reset-and-its-request-waits", server.name, server.task)

    def pass_says_that_nothing_waits(self, verdict, name):
        """A run that says nothing against a host has left nothing that harms a server elsewhere."""
        for message in self.world.queues.of(name) if verdict == "pass" else ():
            server = self.world.servers[message.server]
            if not server.deleted and server.host != name and message.method not in self.HARMLESS:
                self.bad("pass-and-a-request-waits", message.method, server.name)

    # --- at the end of a run

    def disks(self):
        """No disk of a server that its owner has not deleted is gone, or made anew."""
        for server in self.world.servers.values():
            if not server.deleted:
                pool = self.world.pool(server.home)
                for name, identity in server.disks.items():
                    if name not in pool or pool[name].id != identity:
                        self.bad("disk-lost", server.name, name)

    def ended_well(self, asked, noted, still_open):
        """``asked``: servers that were there when it began; ``noted``: fsid to addresses in journals."""
        world, run = self.world, self.run
        for server in asked:
            if server.deleted:
                continue
            host = world.hosts[server.host]
            if server.host == run.host:
                self.bad("pass-and-still-there", server.name)
            running = [other.name for other in world.hosts.values() if server.uuid in other.domains and other.powered]
            expected = server.runs
            if not server.touched and (server.status == "ACTIVE") != expected:
                self.bad("power-state", server.name, server.status, "ran before" if expected else "was stopped before")
            if server.status == "ACTIVE" and not server.touched and not self._died_since(server, host):
                places = [self.world.volumes[uuid].fsid for uuid in server.volumes]
                fsid = server.home[0] if server.disks else next((place for place in places if place), None)
                writers = world.writers(server, fsid) if fsid else running
                if self.lawful.get(server.uuid) == "attested":
                    writers = [name for name in writers if name != run.host]
                if writers != [server.host]:
                    self.bad("dead-disk", server.name, server.host, "writers", writers)
            if host.home != server.home and server.disks:
                self.bad("dead-disk", server.name, "is in", host.home)
        if still_open:
            self.bad("journal-open", run.host)
        self.given_back(noted)

    def _died_since(self, server, host):
        """Whether the host where a server arrived has died since: that is another story."""
        arrivals = [entry.ended for entry in self.world.migrations if entry.server == server.uuid and entry.ended]
        return host.silent_since is not None and bool(arrivals) and host.silent_since > max(arrivals)

    def given_back(self, noted):
        """Nothing of the host's is left but what a journal says."""
        self._no_guards(self.run.host)
        self._entries(noted)

    def _no_guards(self, _host):
        for cluster in self.world.clusters.values():
            for pool in cluster.pools.values():
                for disk in pool.values():
                    mine = [entry for entry in disk.snapshots if entry not in self.others_snapshots]
                    if mine:
                        self.bad("guard-left", disk.name, mine)

    #: Of operations that are open.
    others_snapshots: t.FrozenSet[str] = frozenset()

    def _entries(self, noted):
        for cluster in self.world.clusters.values():
            for entry in cluster.blocklist:
                if entry.rpartition(":0/")[0].strip("[]") not in noted.get(cluster.fsid, ()):
                    self.bad("entry-not-noted", cluster.fsid, entry)
