# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Nova with two cells, one of which may not answer: its lists leave out what the real Nova's leave out."""

from __future__ import annotations

import types

from ansible_collections.stackguard.nova.tests.unit import nova_lists
from ansible_collections.stackguard.nova.tests.unit.builders import guest, node, service, uid
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer

#: compute1 and compute2 are in az1, each in a cell of its own.
HOSTS = ("compute1", "compute2")


class TwoCells:
    """Two servers on each host. ``silent``: hosts whose cell does not answer; ``flickers``: for lists of servers only.

    ``extra``: servers of the first cell beside these; ``asked``: (path, parameters) of every request.
    """

    def __init__(self, extra=0, max_limit=nova_lists.MAX_LIMIT):
        self.silent, self.flickers, self.asked, self.max_limit = set(), set(), [], max_limit
        self.pins = {}
        self.rows = [
            self._server(guest(number, index), f"web{number}{index}", host)
            for number, host in enumerate(HOSTS, 1)
            for index in (1, 2)
        ]
        self.rows += [self._server(guest(3, index), f"more{index}", "compute1") for index in range(extra)]
        self.migrations = []
        data = types.SimpleNamespace(max_microversion=(2, 104))
        self.compute = types.SimpleNamespace(request=self._compute, get_endpoint_data=lambda: data)
        self.placement = types.SimpleNamespace(request=self._place, get_endpoint_data=lambda: data)
        self.service_catalog = [{"type": "compute"}, {"type": "placement"}]

    @staticmethod
    def _server(uuid, name, host):
        return {
            "id": uuid,
            "name": name,
            "status": "ACTIVE",
            "locked": False,
            "image": {"id": "an image"},
            "flavor": {"original_name": "m1.small", "vcpus": 1, "ram": 1024, "disk": 10},
            nova_lists.HOST: host,
            "OS-EXT-STS:task_state": None,
            "OS-EXT-STS:vm_state": "active",
            "pinned_availability_zone": None,
        }

    def on(self, host):
        return [row["id"] for row in self.rows if row[nova_lists.HOST] == host]

    def _compute(self, path, method, microversion=None, params=None, json=None, **_given):
        params = dict(params or {})
        self.asked.append((path, params))
        if path in ("/servers", "/servers/detail"):
            silent = self.silent | self.flickers
            there = [row for row in self.rows if row[nova_lists.HOST] not in silent]
            gone = [row["id"] for row in self.rows if row[nova_lists.HOST] in silent]
            if "deleted" in params:
                there = []
            return Answer(200, nova_lists.list_servers(there, params, microversion, gone, self.max_limit))
        if path == "/os-services":
            return Answer(200, nova_lists.list_services(self._services(), microversion, sorted(self.silent)))
        if path == "/os-aggregates":
            az1 = {"id": 1, "uuid": uid("aggregate", 1), "name": "az1", "availability_zone": "az1"}
            return Answer(200, {"aggregates": [{**az1, "hosts": list(HOSTS)}]})
        if path == "/os-hypervisors/detail":
            rows = [
                {"id": node(number), "hypervisor_hostname": host, "service": {"host": host}}
                for number, host in enumerate(HOSTS, 1)
                if host not in self.silent
            ]
            return Answer(200, {"hypervisors": rows})
        if path == "/os-migrations":
            rows = [row for row in self.migrations if row["status"] == params.get("status")]
            return Answer(200, {"migrations": [row for row in rows if row["source_compute"] not in self.silent]})
        return self._one(path.split("/")[2], method, json)

    def _one(self, uuid, method, body):
        (row,) = [row for row in self.rows if row["id"] == uuid] or [None]
        if row is None:
            return Answer(404, {"itemNotFound": {"message": "gone"}})
        if method == "PUT":
            row["pinned_availability_zone"] = body["server"]["pinned_availability_zone"]
            return Answer(200, {"server": {}})
        if row[nova_lists.HOST] in self.silent:
            return Answer(200, {"server": {"id": uuid, "status": "UNKNOWN", "tenant_id": "p"}})
        return Answer(200, {"server": row})

    def _services(self):
        common = {"binary": "nova-compute", "state": "up", "status": "enabled", "forced_down": False}
        return [
            {**common, "id": service(number), "host": host, "disabled_reason": None, "zone": "az1"}
            for number, host in enumerate(HOSTS, 1)
        ]

    def _place(self, path, method, microversion=None, params=None, **_given):
        if path == "/resource_providers":
            rows = [{"uuid": node(number), "name": host, "generation": 1} for number, host in enumerate(HOSTS, 1)]
            return Answer(200, {"resource_providers": rows})
        provider = path.split("/")[2]
        (host,) = [host for number, host in enumerate(HOSTS, 1) if node(number) == provider]
        held = [*self.on(host), *(row["uuid"] for row in self.migrations if row["source_compute"] == host)]
        return Answer(200, {"allocations": {uuid: {"resources": {"MEMORY_MB": 1024}} for uuid in held}})
