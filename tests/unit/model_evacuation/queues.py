# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RabbitMQ of the world: what Nova's API casts to a host waits there until nova-compute of that name reads it.

What nova-compute does with a request is what Nova's manager does: the driver acts on the host that has read it, and
only then the manager looks at the server's task. Owners send their requests here, too: see :class:`Owners`.
"""

from __future__ import annotations

import dataclasses
import random
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.engine import waiting_requests
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db.brokers import CellBroker

#: Seconds until RabbitMQ drops the consumer of a host that died.
HEARTBEATS = 120.0
#: The other queue of a host, which nobody uses here.
OTHER = "compute-alt."

#: How a run reaches RabbitMQ: by the URL of the cell; by an URL alone; not at all; an URL of another virtual host; the
#: database is read, and its URL is a template.
READ, BARE, NONE, WRONG, TEMPLATE = "read", "bare", "none", "wrong", "template"

#: Starts a QEMU on the host that reads it, whatever Nova's row says: the guard comes after the driver.
STARTS = ("start_instance", "resume_instance", "rescue_instance", "unrescue_instance")
#: The guard comes first, or nothing is guarded because nothing is done.
IDLE = ("reboot_instance", "external_instance_event", "confirm_resize")
#: What is cast to a host and nobody may take out of its queue while the server exists.
KEPT = ("terminate_instance", "finish_resize", "rebuild_instance", "brew_instance")

#: The owner's requests: the server's status, and the task that Nova's API notes.
REQUESTS: t.Dict[str, t.Tuple[t.Tuple[str, ...], t.Optional[str]]] = {
    "start_instance": (("SHUTOFF",), "powering-on"),
    "stop_instance": (("ACTIVE",), "powering-off"),
    "suspend_instance": (("ACTIVE",), "suspending"),
    "rescue_instance": (("ACTIVE", "SHUTOFF", "ERROR"), "rescuing"),
    "reboot_instance": (("ACTIVE",), "rebooting"),
    "detach_volume": (("ACTIVE", "SHUTOFF"), None),
    "external_instance_event": (("ACTIVE", "SHUTOFF", "ERROR"), None),
    # Of the host's last minute, or of a program that this collection does not know.
    "terminate_instance": (("ACTIVE", "SHUTOFF", "ERROR"), "deleting"),
    "finish_resize": (("ACTIVE",), "resize_finish"),
    "brew_instance": (("ACTIVE", "SHUTOFF"), None),
}


@dataclasses.dataclass(frozen=True)
class Message:
    """A request in a queue."""

    id: str
    method: str
    server: str
    sent: float


class Queues:
    """The queues of all hosts. ``access``: how a run reaches them."""

    def __init__(self, world):
        self.world = world
        self.access = READ
        #: Probability that a question to RabbitMQ is not answered.
        self.breaks = 0.0
        self.dice = random.Random(f"{world.seed}-rabbit")
        self.number = 0
        self.waiting = {}
        #: Hosts with a message that nobody can parse.
        self.garbled = set()
        #: Ids that a journal of a run has named before it removed anything: see oracle.
        self.noted = frozenset

    def of(self, host):
        return self.waiting.setdefault(host, [])

    def consumers(self, host):
        """What RabbitMQ counts: a host that has just died is still there."""
        if host.silent_since is None:
            return 1 if host.answers else 0
        return 0 if host.masked or self.world.now >= host.silent_since + HEARTBEATS else 1

    def reads(self, host):
        """Whether its nova-compute takes what is sent to it."""
        return host.answers and host.silent_since is None

    # --- Nova's API, and nova-compute

    def cast(self, method, server, host=None):
        """Put a request into the queue of a host."""
        self.number += 1
        name = host or server.host
        message = Message(f"message-{self.world.seed}-{self.number}", method, server.uuid, self.world.now)
        self.of(name).append(message)
        self.world.say("waits for", name, method, server.name)

    def consume(self, host):
        """Let nova-compute of a host take everything that waits for it."""
        messages, self.waiting[host.name] = self.of(host.name), []
        self.garbled.discard(host.name)
        for message in messages:
            server = self.world.servers[message.server]
            self.world.say(host.name, "executes", message.method, server.name)
            self.world.watch.executes(host, message, server)
            if not server.deleted:
                self._execute(host, message, server)

    def woken(self, host):
        """Its nova-compute has started without anybody's word, and has taken what waited: that is another story."""
        if self.reads(host):
            self.waiting.pop(host.name, None)
            self.garbled.discard(host.name)

    def _execute(self, host, message, server):
        elsewhere = server.host != host.name
        if message.method in STARTS:
            if server.uuid not in host.domains:
                self.world.start_domain(host, server)
            if not elsewhere:
                server.status, server.task, server.power_state, server.runs = "ACTIVE", None, 1, True
        elif message.method == "stop_instance":
            for one in self.world.hosts.values():
                # The row says stopped: where the guest runs, nova-compute brings the two together.
                if one.name in (host.name, server.host) and server.uuid in one.domains:
                    self.world.stop_domain(one, server)
            server.status, server.task, server.power_state, server.runs = "SHUTOFF", None, 4, False
        elif message.method == "suspend_instance":
            server.status, server.task = "ERROR", None
        elif not elsewhere and server.task is not None and not server.task.startswith("rebuild"):
            server.task = None

    def delete(self, name):
        """What C(rabbitmqctl delete_queue) does."""
        host = name.partition(".")[2]
        self.world.say("rabbitmqctl delete_queue", name)
        if not name.startswith(OTHER):
            self.waiting.pop(host, None)
            self.garbled.discard(host)


class Owners:
    """They send requests to servers of hosts whose nova-compute is silent: the API takes them."""

    def __init__(self, world, often):
        self.world = world
        self.often = often
        self.dice = random.Random(f"{world.seed}-requests")

    def before(self, often):
        """What was sent since the hosts died. Of the first minute: also what the API sends to living hosts only."""
        for server in list(self.world.servers.values()):
            host = self.world.hosts[server.host]
            if not self.world.queues.reads(host) and self.dice.random() < often:
                self.send(server, self.dice.choice(tuple(REQUESTS)))
        self._of_others(often)

    def _of_others(self, often):
        """Requests that were left behind by a server's earlier life on the host, and one that nobody can read."""
        world = self.world
        silent = [host for host in world.hosts.values() if not world.queues.reads(host)]
        for server in world.servers.values():
            others = [host for host in silent if host.name != server.host]
            if others and self.dice.random() < often / 3:
                method = self.dice.choice(("confirm_resize", "external_instance_event", "detach_volume"))
                world.queues.cast(method, server, self.dice.choice(others).name)
        if silent and self.dice.random() < often / 10:
            world.queues.garbled.add(silent[0].name)

    def tick(self):
        servers = list(self.world.servers.values())
        if servers and self.dice.random() < self.often:
            server = self.dice.choice(servers)
            late = ("start_instance", "stop_instance", "suspend_instance", "rescue_instance", "reboot_instance")
            self.send(server, self.dice.choice((*late, "external_instance_event")))

    def send(self, server, method):
        """What the API does: it looks at the server's state, and never at its host."""
        world = self.world
        statuses, task = REQUESTS[method]
        refused = server.status not in statuses or (server.task is not None and method != "external_instance_event")
        if server.deleted or refused or world.queues.reads(world.hosts[server.host]):
            return
        if task is not None:
            server.task, server.touched = task, True
            server.history.append(method.partition("_")[0])
        world.queues.cast(method, server)


# --- what stands in for systems/broker and systems/db/brokers


class FakeBroker:
    """A connection. ``url``: of the cell's broker, or of another virtual host."""

    def __init__(self, current, url):
        self.current = current
        self.url = url

    queues = property(lambda self: self.current().world.queues)

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        pass

    def _asked(self):
        queues = self.queues
        if queues.breaks and queues.dice.random() < queues.breaks:
            raise BrokerError("RabbitMQ does not answer")

    def queue(self, name):
        self._asked()
        world, (_topic, _dot, host) = self.queues.world, name.partition(".")
        if self.url == WRONG or name.startswith(OTHER) or host not in world.hosts:
            return None
        messages = len(self.queues.of(host)) + (host in self.queues.garbled)
        return facts.Queue(name, messages, self.queues.consumers(world.hosts[host]))

    def counts(self, names):
        return [found for found in map(self.queue, names) if found is not None]

    def idle(self, name, patience=0.0):
        world = self.queues.world
        end = world.now + patience
        while True:
            found = self.queue(name)
            if found is None or not found.consumers:
                return found
            if world.now >= end:
                raise BrokerError(f"queue {name} has {found.consumers} consumers")
            world.sleep(5)

    def waiting(self, name):
        self._asked()
        host = name.partition(".")[2]
        if host in self.queues.garbled:
            raise BrokerError(f"{name}: a message in this queue is not a request of Nova")
        return [
            facts.QueuedRequest(name, message.id, message.method, "req-1", [message.server], None)
            for message in self.queues.of(host)
        ]

    def take(self, name, ids):
        if self.idle(name) is None:
            return []
        host = name.partition(".")[2]
        world = self.queues.world
        gone = [message for message in self.queues.of(host) if message.id in ids]
        for message in gone:
            world.watch.taken(world.hosts[host], message, world.servers[message.server])
            world.say("taken out of the queue of", host, message.method, world.servers[message.server].name)
        self.queues.waiting[host] = [message for message in self.queues.of(host) if message not in gone]
        return [message.id for message in gone]


def install(monkeypatch, current):
    """Let runs ask the world's RabbitMQ."""

    def list_brokers(_options):
        queues = current().world.queues
        names = frozenset(queues.world.hosts)
        return {
            READ: [CellBroker("cell1", READ, names=names)],
            BARE: [CellBroker("the only cell", READ)],
            NONE: [],
            WRONG: [CellBroker("cell1", WRONG, names=names)],
            TEMPLATE: [CellBroker("cell1", None, "the transport_url of cell cell1 is a template", names)],
        }[queues.access]

    monkeypatch.setattr(waiting_requests.brokers, "list_brokers", list_brokers)
    monkeypatch.setattr(waiting_requests, "Broker", lambda url: FakeBroker(current, url))
    monkeypatch.setattr(waiting_requests.broker_url, "location", lambda url: url)
