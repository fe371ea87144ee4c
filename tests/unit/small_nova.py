# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small Nova that evacuates as the real one does, and a clock that only counts."""

from __future__ import annotations

import json
import types

from ansible_collections.stackguard.nova.tests.unit import nova_lists


class Answer:
    def __init__(self, status, body=None):
        self.status_code, self._body = status, body
        self.content = b"" if body is None else json.dumps(body).encode()
        self.text = self.reason = ""

    def json(self):
        return self._body


class Nova:
    """Servers by uuid; each evacuation ends after ``ticks`` looks, as ``ends`` says: arrived, failed, novalidhost."""

    def __init__(self, *uuids, ticks=2, ends=None, max_microversion=(2, 104), source="dead"):
        self.servers = {uuid: {"host": source, "status": "ACTIVE", "task": None, "left": 0} for uuid in uuids}
        self.source = source
        self.asked, self.answers, self.ends, self.ticks = [], {}, ends or {}, ticks
        self.records, self.mute, self.versions = {}, 0, []
        self.ports = []
        #: Looks between the end of a task and the new host (the destination's resource tracker has others before it),
        #: and what the record says meanwhile.
        self.late, self.meanwhile = 0, "pre-migrating"
        self.listed, self.shown, self.most = 0, [], {}
        #: Whose evacuation records were asked for; None: a list of them. ``unlisted``: the list lacks these.
        self.listed_records, self.unlisted = [], ()
        self.network = types.SimpleNamespace(request=self.list_ports)
        self.service_catalog, self.cinder = [{"type": "compute"}], None
        self.compute = types.SimpleNamespace(
            request=self.request,
            get_endpoint_data=lambda: types.SimpleNamespace(max_microversion=max_microversion),
        )

    def with_cinder(self, cinder):
        """Let there be a Cinder."""
        self.service_catalog.append({"type": "volumev3"})
        self.cinder, self.block_storage = cinder, types.SimpleNamespace(request=cinder.request)
        return cinder

    def list_ports(self, path, method, params=None, **_given):
        assert (path, method) == ("/ports", "GET")
        rows = [row for row in self.ports if row["binding:host_id"] == params["binding:host_id"]]
        return Answer(200, {"ports": rows})

    def tick(self):
        for uuid, server in self.servers.items():
            if server.get("late"):
                server["late"] -= 1
                if not server["late"]:
                    server["host"] = server["target"]
                    self.records[uuid] = "done"
            if server["task"] and server["left"] > 0:
                server["left"] -= 1
                if server["left"] == 0:
                    self.end(uuid, server)

    def end(self, uuid, server):
        end = self.ends.get(uuid, "arrived")
        server["task"] = None
        if end == "arrived":
            server["late"] = self.late
            if not self.late:
                server["host"] = server["target"]
            self.records[uuid] = self.meanwhile if self.late else "done"
        else:
            server["status"] = "ERROR"
            self.records[uuid] = "error" if end == "novalidhost" else "failed"

    def show(self, uuid):
        server = self.servers[uuid]
        return {
            "id": uuid,
            "name": uuid,
            "status": server["status"],
            "OS-EXT-SRV-ATTR:host": server["host"],
            "OS-EXT-STS:task_state": server["task"],
        }

    def request(self, path, method, microversion=None, params=None, json=None, **_given):
        if self.mute:
            self.mute -= 1
            return Answer(503, {"error": {"message": "no answer"}})
        if path == "/os-services":
            hosts = sorted({server["host"] for server in self.servers.values()} | {self.source})
            return Answer(200, {"services": [{"id": host, "host": host, "binary": "nova-compute"} for host in hosts]})
        if path == "/servers/detail":
            # A list since some time has nobody who has not changed: here, who was never asked for.
            rows = [
                self.show(uuid) for uuid in self.servers if not ("changes-since" in params and uuid not in self.records)
            ]
            found = nova_lists.list_servers(rows, params, microversion)
            self.listed += 1
            if params.get("host") == self.source:
                # The last list of a look: time goes by until the next.
                self.tick()
            return Answer(200, found)
        if path == "/os-migrations":
            self.listed_records.append(params.get("instance_uuid"))
            assert "instance_uuid" in params or params["source_compute"] == self.source
            rows = [
                {"instance_uuid": uuid, "status": status, "uuid": f"record of {uuid}"}
                for uuid, status in self.records.items()
                if params.get("instance_uuid") in ((None, uuid) if uuid not in self.unlisted else (uuid,))
                and params.get("marker") is None
                and params.get("status") in (None, status)
            ]
            return Answer(200, {"migrations": rows})
        uuid = path.split("/")[2]
        if path.endswith("/action"):
            self.versions.append(microversion)
            return self.evacuate(uuid, json["evacuate"])
        if "os-instance-actions" in path:
            return Answer(200, {"instanceActions": []})
        if uuid not in self.servers:
            return Answer(404, {"itemNotFound": {"message": "gone"}})
        self.shown.append(uuid)
        return Answer(200, {"server": self.show(uuid)})

    def evacuate(self, uuid, body):
        assert set(body) == {"host"}, "never force"
        answer = self.answers.get(uuid, [])
        if answer:
            return answer.pop(0)
        server = self.servers[uuid]
        assert server["task"] is None, "asked while a task is in progress"
        assert server["host"] == self.source, "asked twice"
        self.asked.append((uuid, body["host"]))
        server.update(task="rebuilding", left=self.ticks, target=body["host"])
        self.records[uuid] = "accepted"
        under_way = sum(1 for row in self.servers.values() if row["task"] and row["target"] == body["host"])
        self.most[body["host"]] = max(under_way, self.most.get(body["host"], 0))
        return Answer(200)


class Clock:
    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def monotonic(self):
        return self.now
