# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Nova of a few lines whose servers move, and a clock that only counts."""

from __future__ import annotations

import types

from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    compute_services,
    instance_actions,
    migration_records,
    server_actions,
    server_records,
)

#: When a nova-compute that hangs was last heard of.
HEARD = "2026-01-01T00:00:00"


class FakeNova:
    """Servers that move a second after they are asked to, in the words of the API."""

    def __init__(self, monkeypatch, source="old", **servers):
        self.source = source
        self.now = 0.0
        self.calls = []
        self.refuse = set()  # hosts that the scheduler never takes
        self.not_live = False  # Nova moves nobody live
        self.strays = {}  # where a server lands instead
        self.kinds = {}
        self.off = set()  # servers whose guest is off since its host's boot, whatever Nova says
        self.libvirt = "answers"
        self.diagnostics = None  # why nova-compute is not asked whether a guest runs
        self.restorable = {}  # soft-deleted servers of the source: uuid to name
        self.silent = set()  # hosts whose nova-compute hangs: nothing that they take part in ends
        self.servers = {
            name: {
                "id": name,
                "name": name,
                "status": status,
                "OS-EXT-SRV-ATTR:host": source,
                "OS-EXT-STS:task_state": None,
            }
            for name, status in servers.items()
        }
        self.jobs = []  # (when, server, what)
        self.most = 0
        for module, names in {
            compute_services: ("find_service",),
            instance_actions: ("why",),
            migration_records: ("last_migration", "list_migrations", "progress"),
            server_actions: ("live_migrate", "cold_migrate", "confirm", "revert"),
            server_records: ("raw_server", "servers_on", "soft_deleted", "is_running"),
        }.items():
            for name in names:
                monkeypatch.setattr(module, name, getattr(self, name))

    def systems(self):
        return Systems({}, self, {}, self.sleep, lambda: self.now, _connection=object())

    def facts(self, _arguments):
        """What is read on the source host."""
        if self.libvirt != "answers":
            return types.SimpleNamespace(domains=None)
        here = [row for row in self.servers.values() if row["OS-EXT-SRV-ATTR:host"] == self.source]
        return types.SimpleNamespace(
            domains=[types.SimpleNamespace(uuid=row["id"], state=self._state(row)) for row in here]
        )

    def _state(self, row):
        return "shutoff" if row["id"] in self.off or row["status"] == "SHUTOFF" else "running"

    def sleep(self, seconds):
        self.now += seconds
        for job in [job for job in self.jobs if job[0] <= self.now]:
            self.jobs.remove(job)
            job[1]()

    def raw_server(self, _cloud, uuid):
        return dict(self.servers[uuid]) if uuid in self.servers else None

    def is_running(self, _cloud, uuid):
        """What nova-compute says at this moment, wherever the guest is."""
        if self.diagnostics is not None:
            raise ApiError(self.diagnostics, status=int(self.diagnostics.split()[0]))
        return uuid in self.servers and self._state(self.servers[uuid]) == "running"

    def servers_on(self, _cloud, host):
        return [
            facts.ApiServer(key, key, None, row["status"], host, host, None, None, 1, "az1")
            for key, row in self.servers.items()
            if row["OS-EXT-SRV-ATTR:host"] == host
        ]

    def soft_deleted(self, _cloud, host):
        return dict(self.restorable) if host == self.source else {}

    def _start(self, uuid, host, kind, after):
        server = self.servers[uuid]
        if server["OS-EXT-STS:task_state"] or server["status"] == "VERIFY_RESIZE":
            raise ApiError("409", status=409)
        self.calls.append((kind, uuid, host))
        server["OS-EXT-STS:task_state"] = "migrating"
        self.kinds[uuid] = "migration" if kind == "cold" else "live-migration"
        self.most = max(self.most, sum(1 for row in self.servers.values() if row["OS-EXT-STS:task_state"]))

        def end():
            if self.silent & {host, server["OS-EXT-SRV-ATTR:host"]}:
                return
            server["OS-EXT-STS:task_state"] = None
            if host not in self.refuse and not (kind == "live" and self.not_live):
                server["OS-EXT-SRV-ATTR:host"] = self.strays.get(uuid, host)
                server["status"] = after or server["status"]

        self.jobs.append((self.now + 5, end))

    def live_migrate(self, _cloud, uuid, host):
        self._start(uuid, host, "live", None)

    def cold_migrate(self, _cloud, uuid, host):
        self._start(uuid, host, "cold", "VERIFY_RESIZE")

    def confirm(self, _cloud, uuid):
        self.calls.append(("confirm", uuid))
        self.jobs.append((self.now + 3, lambda: self.servers[uuid].update(status="SHUTOFF")))

    def revert(self, _cloud, uuid):
        self.calls.append(("revert", uuid))
        back = {"status": "SHUTOFF", "OS-EXT-SRV-ATTR:host": self.source}
        self.jobs.append((self.now + 3, lambda: self.servers[uuid].update(back)))

    def last_migration(self, _cloud, uuid):
        return {"migration_type": self.kinds.get(uuid), "source_compute": self.source}

    def list_migrations(self, _cloud, status, kind, host, _since=None):
        assert (status, kind, host) == ("finished", "migration", self.source)
        waiting = [uuid for uuid, row in self.servers.items() if row["status"] == "VERIFY_RESIZE"]
        return [types.SimpleNamespace(instance_uuid=uuid, source_compute=self.source) for uuid in waiting]

    def find_service(self, _cloud, host):
        state = "down" if host in self.silent else "up"
        return facts.ApiService(host, host, "nova-compute", state, "enabled", False, None, updated_at=HEARD)

    def why(self, _cloud, _server):
        return "No valid host was found."

    def progress(self, _cloud, _uuid):
        return "running"
