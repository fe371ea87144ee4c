# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small RabbitMQ of one cell for tests: queues with requests and consumers, and no wire."""

from __future__ import annotations

import itertools
import types

from ansible_collections.stackguard.nova.plugins.module_utils.engine import waiting_requests
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db.brokers import CellBroker

_IDS = itertools.count(1)


class Rabbit:
    """``access``: whether a run knows its URL. compute2 and compute3 read their queues."""

    def __init__(self, monkeypatch, access=True):
        self.access = access
        self.queues = {f"compute.compute{number}": [] for number in (1, 2, 3)}
        self.consumers = {"compute.compute2": 1, "compute.compute3": 1}
        #: Where Nova has a server now, by its uuid; not here: deleted.
        self.where = lambda _uuid: None
        self.removed = []
        #: How long a run would have waited for consumers to go, look by look.
        self.patience = []
        monkeypatch.setattr(waiting_requests.brokers, "list_brokers", lambda _options: self._cells())
        monkeypatch.setattr(waiting_requests, "Broker", lambda _url: _Broker(self))
        shown = types.SimpleNamespace(raw_server=lambda _cloud, uuid: self._server(uuid), is_gone=lambda *_asked: True)
        monkeypatch.setattr(waiting_requests, "server_records", shown)

    def send(self, method, *uuids, host="compute1"):
        """A request that the API has cast to a host."""
        number = next(_IDS)
        name = f"compute.{host}"
        request = facts.QueuedRequest(name, f"id-{number}", method, f"req-{number}", list(uuids), "2026-11-28T00:00:00")
        self.queues[name].append(request)
        return request.id

    def waiting(self, host="compute1"):
        """The methods that wait for a host."""
        return [request.method for request in self.queues[f"compute.{host}"]]

    def _cells(self):
        names = frozenset(("compute1", "compute2", "compute3"))
        return [CellBroker("cell1", "rabbit://u:p@mq:5672/", names=names)] if self.access else []

    def _server(self, uuid):
        host = self.where(uuid)
        return None if host is None else {"id": uuid, "status": "ACTIVE", "OS-EXT-SRV-ATTR:host": host}


class _Broker:
    """A connection to it."""

    def __init__(self, rabbit):
        self.rabbit = rabbit

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        pass

    def queue(self, name):
        if name not in self.rabbit.queues:
            return None
        return facts.Queue(name, len(self.rabbit.queues[name]), self.rabbit.consumers.get(name, 0))

    def counts(self, names):
        return [queue for queue in map(self.queue, names) if queue is not None]

    def idle(self, name, patience=0.0):
        self.rabbit.patience.append(patience)
        queue = self.queue(name)
        if queue is not None and queue.consumers:
            raise BrokerError(f"queue {name} has {queue.consumers} consumers")
        return queue

    def waiting(self, name):
        return list(self.rabbit.queues[name])

    def take(self, name, ids):
        gone = [request.id for request in self.rabbit.queues.get(name, ()) if request.id in ids]
        self.rabbit.queues[name] = [request for request in self.rabbit.queues[name] if request.id not in gone]
        self.rabbit.removed += gone
        return gone

    def remove(self, name, reported):
        queue = self.queue(name)
        if queue is None:
            return None
        if queue.consumers:
            return "it has consumers"
        if any(request.id not in reported for request in self.rabbit.queues[name]):
            return "it has other requests"
        del self.rabbit.queues[name]
        return None
