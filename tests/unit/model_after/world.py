# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small cloud after something has gone wrong: where Nova shows each server, and where its guest truly is.

What is true is in here, what can be read of it in :meth:`World.scene`. An act that would end the only copy of a guest,
start a second one or take a living host's identity raises :class:`Violation`: nothing here knows what was reported.
"""

from __future__ import annotations

import dataclasses
import random
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiMigration
from ansible_collections.stackguard.nova.tests.unit import clones, evacuations, moving_scene
from ansible_collections.stackguard.nova.tests.unit.builders import domain, guest, node, uid, zone_of

#: Hosts with servers; another machine, in another zone, may be a copy of the first host.
HOSTS = ("compute1", "compute3", "compute5")
ORIGINAL, COPY = "compute1", "compute4"
#: A machine that nobody asks: no inventory has it.
STRANGE = "compute9"
RUNNING, OFF, PAUSED, HIDDEN = "running", "shutoff", "paused", "hidden"
#: States in which a QEMU has the disks open.
ALIVE = (RUNNING, PAUSED, HIDDEN)


class Violation(AssertionError):
    """A rule is broken. ``rule``: which."""

    def __init__(self, rule, *words):
        super().__init__(f"{rule}: {' '.join(map(str, words))}")
        self.rule = rule


@dataclasses.dataclass
class Guest:
    """A server. ``home``: where Nova shows it; ``copies``: host to the state of its domain there."""

    uuid: str
    numbers: t.Tuple[int, int]
    home: str
    copies: t.Dict[str, str]
    #: Where the guest is that its owner uses; None: nowhere, it is off.
    truth: t.Optional[str]
    vm_state: str = "active"
    task: t.Optional[str] = None

    @property
    def alive(self):
        return sorted(host for host, state in self.copies.items() if state in ALIVE)


@dataclasses.dataclass
class Move:
    """A migration's record."""

    guest: str
    kind: str
    status: str
    source: str
    dest: str


class World:
    """A cloud of one seed, after all that has happened in it."""

    def __init__(self, seed):
        self.dice = random.Random(f"after-{seed}")
        self.log = []
        self.moves = []
        self.silent = set()
        self.copied = False
        #: Whether Ceph was read, so that a finding can say that nobody has a disk open.
        self.ceph = self.dice.random() < 0.7
        self.guests = {}
        for name in HOSTS:
            number = int(name[-1])
            for index in (1, 2):
                key = guest(number, index)
                self.guests[key] = Guest(key, (number, index), name, {name: RUNNING}, name)

    def say(self, *words):
        self.log.append(" ".join(map(str, words)))

    # --- what happens to it

    def happen(self):
        """One to three things, and perhaps a host that does not answer."""
        for _number in range(self.dice.choice((1, 1, 2, 3))):
            one = self.dice.choice([entry for entry in self.guests.values() if entry.truth == entry.home])
            dest = self.dice.choice([name for name in HOSTS if name != one.home])
            kind = self.dice.choice(KINDS)
            self.say(kind.__name__, one.uuid, "to", dest)
            kind(self, one, dest)
        if self.dice.random() < 0.25:
            self.copied = True
            self.say(COPY, "is a copy of", ORIGINAL)
        if self.dice.random() < 0.35:
            self.silence()

    def silence(self):
        """A host does not answer: its guests live on."""
        self.silent = {self.dice.choice(HOSTS)}
        self.say(*self.silent, "does not answer")

    def arrive(self, one, dest, kind, status, lost=False):
        """It is on another host. ``lost``: Nova's last write is not there."""
        self.moves.append(Move(one.uuid, kind, status, one.home, dest))
        one.copies = {dest: RUNNING}
        one.truth = dest
        if not lost:
            one.home = dest

    # --- what people do, by a remedy's word

    def end(self, one, host):
        """C(virsh destroy)."""
        self.say("virsh destroy", one.uuid, "on", host)
        if one.copies.get(host) in ALIVE:
            if host == one.truth:
                raise Violation("only-copy-ended", one.uuid, "on", host)
            one.copies[host] = OFF

    def undefine(self, one, host):
        """C(virsh undefine): a domain that runs stays."""
        self.say("virsh undefine", one.uuid, "on", host)
        if one.copies.get(host) == OFF:
            del one.copies[host]

    def start(self, one):
        """A hard reboot or a start: Nova makes the domain again, on the host that it shows."""
        self.say("Nova starts", one.uuid, "on", one.home)
        others = [host for host in one.alive if host != one.home]
        if others:
            raise Violation("second-copy", one.uuid, "on", one.home, "beside", *others)
        if one.copies.get(one.home) in ALIVE:
            raise Violation("running-guest-rebooted", one.uuid)
        one.copies[one.home], one.truth, one.task, one.vm_state = RUNNING, one.home, None, "active"

    def stop(self, one):
        """C(openstack server stop): by the host that Nova shows."""
        self.say("Nova stops", one.uuid, "on", one.home)
        if one.copies.get(one.home) in ALIVE:
            self.end(one, one.home)
        one.vm_state = "stopped"

    def reset(self, one):
        """C(openstack server set --state active)."""
        self.say("reset", one.uuid)
        one.task, one.vm_state = None, "active"

    def start_compute(self, host):
        """nova-compute ends the domains of servers that were evacuated from its host, wherever Nova shows them."""
        self.say("nova-compute starts on", host)
        for move in self.moves:
            if move.kind == "evacuation" and move.source == host and move.status in ("accepted", "done"):
                one = self.guests[move.guest]
                if host in one.copies:
                    self.end(one, host)
                    del one.copies[host]
                move.status = "completed"

    def adopt(self, host):
        """C(rename_action=adopt): every place says that the node is this machine's."""
        self.say(host, "is adopted")
        if self.copied and host == COPY:
            raise Violation("identity-taken", host, "is not", ORIGINAL)

    # --- what can be read

    def scene(self):
        """All of it as the collection's facts."""
        some = moving_scene.Scene()
        if self.copied:
            bare = clones.without_rows(some.cloud, int(COPY[-1]))
            some = some._with(cloud=clones.with_file(bare, COPY, int(ORIGINAL[-1])))
        for one in self.guests.values():
            some = some._with(cloud=self._placed(some.cloud, one))
        some = some._with(cloud=self._seen(some.cloud))
        rows = [self._record(number, move) for number, move in enumerate(self.moves, 1)]
        cloud = some.cloud
        for move in self.moves:
            cloud = cloud.migrate(move.guest, move.source, move.dest, move.status, move.kind)
        some = some._with(cloud=cloud).migrations(*rows)
        for host in sorted(self.silent):
            some = some.unread(host)
        return some

    @staticmethod
    def _record(number, move):
        hosts = (move.source, move.source, move.dest, move.dest)
        return ApiMigration(number, uid("migration", number), move.kind, move.status, move.guest, *hosts)

    @staticmethod
    def _placed(cloud, one):
        """Where Nova and placement show it."""
        began, home = f"compute{one.numbers[0]}", int(one.home[-1])
        stopped = one.vm_state == "stopped"
        status = "SHUTOFF" if stopped else "ERROR" if one.vm_state == "error" else "ACTIVE"
        power = 4 if stopped else 1
        row = {"host": one.home, "node": one.home, "compute_id": 200 + home, "availability_zone": f"az{zone_of(home)}"}
        changes = {**row, "vm_state": one.vm_state, "task_state": one.task, "power_state": power}
        now = [dataclasses.replace(old, **changes) if old.uuid == one.uuid else old for old in cloud.rows("instances")]
        cloud = cloud.put("instances", now)
        shown = {"host": one.home, "hypervisor_hostname": one.home, "vm_state": one.vm_state, "task_state": one.task}
        shown = {**shown, "status": status, "power_state": power}
        servers = [dataclasses.replace(old, **shown) if old.id == one.uuid else old for old in cloud.rows("servers")]
        cloud = cloud.put("servers", servers)
        if one.home == began:
            return cloud
        taken = next(row.allocations for row in cloud.rows("providers") if row.uuid == node(one.numbers[0]))
        moved = {node(one.numbers[0]): (), node(home): ((one.uuid, taken[one.uuid]),)}
        providers = [
            dataclasses.replace(
                row,
                allocations={
                    **{uuid: what for uuid, what in (row.allocations or {}).items() if uuid != one.uuid},
                    **dict(moved[row.uuid]),
                },
            )
            if row.uuid in moved
            else row
            for row in cloud.rows("providers")
        ]
        ports = [
            dataclasses.replace(row, binding_host_id=one.home) if row.device_id == one.uuid else row
            for row in cloud.rows("ports")
        ]
        return cloud.put("providers", providers).put("ports", ports)

    def _seen(self, cloud):
        """What each host's libvirt, its processes and Ceph show."""
        found = {row.uuid: row for host in HOSTS for row in cloud.rows("domains", host)}
        pool = [evacuations.image(f"{one.uuid}_disk", self._watchers(one)) for one in self.guests.values()]
        for name in HOSTS:
            domains, hidden = [], {}
            for one in self.guests.values():
                state = one.copies.get(name)
                if state == HIDDEN:
                    hidden[one.uuid] = 77
                elif state is not None:
                    row = found.get(one.uuid) or dataclasses.replace(domain(*one.numbers), rss_mib=64)
                    alive = {"pid": row.pid or 77} if state in ALIVE else {"pid": None, "pid_start": None}
                    domains.append(dataclasses.replace(row, state=state, **alive))
            cloud = cloud.host(name, domains=domains, qemu_processes=hidden)
        for name in cloud.bundle.hosts:
            cloud = cloud.host(name, rbd=evacuations.disks(*pool) if self.ceph else None)
        return cloud

    @staticmethod
    def _watchers(one):
        return [f"192.0.2.{int(host[-1]) + 1}:0/{one.numbers[1]}" for host in one.alive]


# --- what can have happened -----------------------------------------------------------------------------------


def moved_well(world, one, dest):
    """A live migration, and Nova knows."""
    world.arrive(one, dest, "live-migration", "completed")


def lost_live(world, one, dest):
    """A live migration whose last write was lost."""
    status = world.dice.choice(("completed", "completed", "running", "error"))
    world.arrive(one, dest, "live-migration", status, lost=True)
    one.task = world.dice.choice((None, "migrating"))
    if world.dice.random() < 0.2:
        world.moves.pop()


def lost_cold(world, one, dest):
    """A cold migration or a resize whose last write was lost: the domain is on neither host, or defined on both."""
    world.arrive(
        one, dest, world.dice.choice(("migration", "resize")), world.dice.choice(("confirmed", "finished")), lost=True
    )
    both = {one.home: OFF, dest: OFF}
    one.copies = world.dice.choice(({}, {dest: OFF}, both, {dest: RUNNING}))
    one.truth = dest if RUNNING in one.copies.values() else None
    one.vm_state = "active" if one.truth else world.dice.choice(("active", "stopped"))


def evacuated(world, one, dest):
    """An evacuation; its source came back, with the old guest or without."""
    source = one.home
    world.arrive(one, dest, "evacuation", world.dice.choice(("done", "done", "completed")))
    if world.dice.random() < 0.5:
        one.copies[source] = world.dice.choice((RUNNING, OFF))


def lost_evacuation(world, one, dest):
    """An evacuation whose last write was lost: Nova shows the source."""
    world.arrive(one, dest, "evacuation", world.dice.choice(("done", "error")), lost=True)


def evacuated_away_and_back(world, one, dest):
    """It was evacuated, and moved back before nova-compute of its host has started."""
    source = one.home
    world.arrive(one, dest, "evacuation", "done")
    world.arrive(one, source, "live-migration", "completed")


def twice(world, one, dest):
    """Something started it a second time; nobody but the owner knows which one is good."""
    one.copies[dest] = world.dice.choice((RUNNING, HIDDEN, PAUSED))


def took_over(world, one, dest):
    """The guest that is used is on another host, and the one that Nova shows is stuck: an old one, paused."""
    one.copies = {one.home: PAUSED, dest: RUNNING}
    one.truth = dest


def vanished(world, one, dest):
    """QEMU crashed."""
    one.copies, one.truth = {}, None


def lost_and_resumed(world, one, dest):
    """The same, and the old guest was resumed: both run, and the record says which one is used."""
    world.arrive(one, dest, "live-migration", "completed", lost=True)
    one.copies[one.home] = RUNNING


def strange(world, one, dest):
    """It runs on a machine that is in no inventory: only Ceph knows."""
    one.copies, one.truth = {STRANGE: RUNNING}, STRANGE


def hidden(world, one, dest):
    """libvirt has forgotten its domain, and QEMU runs on: at home, or elsewhere."""
    host = world.dice.choice((one.home, dest))
    one.copies, one.truth = {host: HIDDEN}, host


def left_over(world, one, dest):
    """A definition was left by an earlier move."""
    one.copies[dest] = OFF


def stopped(world, one, dest):
    """Its owner stopped it."""
    one.copies, one.vm_state, one.truth = {one.home: OFF}, "stopped", None


def failed(world, one, dest):
    """An evacuation that failed, and left a guest that runs: Nova shows the source, in error."""
    world.arrive(one, dest, "evacuation", "failed", lost=True)
    one.vm_state = "error"


KINDS = (
    moved_well,
    *(lost_live, lost_live),
    *(lost_cold, lost_cold),
    evacuated,
    lost_evacuation,
    evacuated_away_and_back,
    twice,
    took_over,
    *(vanished, vanished),
    lost_and_resumed,
    strange,
    hidden,
    left_over,
    stopped,
    failed,
)
