# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API answers recorded from a real cloud, and played back to the code under test.

A cassette is a list of requests, each with the answer it got. The player takes the place of an SDK connection: it
answers a request only if exactly that one was recorded, microversion, parameters and body included, and in turn if
it was recorded several times. tests/fixtures/api/record.py records them on the lab.
"""

from __future__ import annotations

import copy
import json
import pathlib
import re
import threading
import types
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network

CASSETTES = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "api"
SERVICES = ("compute", "placement", "network")
#: What follows from the lab's addresses.
ADDRESS = re.compile(r"https?://\d+\.\d+\.\d+\.\d+(:\d+)?")


def _key(entry: t.Mapping[str, t.Any]) -> str:
    return json.dumps(
        {name: value for name, value in entry.items() if name not in ("status", "answer")}, sort_keys=True
    )


class _Service:
    def __init__(self, name: str, request: t.Callable[..., t.Any], max_microversion: t.Optional[str]) -> None:
        self._name = name
        self._request = request
        self._max = max_microversion

    def request(self, path: str, method: str, **arguments: t.Any) -> t.Any:
        return self._request(self._name, path, method, **arguments)

    def get_endpoint_data(self) -> t.Any:
        if self._max is None:
            return None
        return types.SimpleNamespace(max_microversion=tuple(int(number) for number in self._max.split(".")))


def _entry(service: str, path: str, method: str, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    assert arguments.get("skip_cache") is True, "an answer may come from the SDK's cache"
    given = {name: arguments.get(name) for name in ("microversion", "params", "headers", "json")}
    entry = {"service": service, "method": method, "path": path}
    return copy.deepcopy({**entry, **{name: value for name, value in given.items() if value}})


class Recorder:
    """Takes the place of an SDK connection, passes everything on, and notes it."""

    def __init__(self, connection: t.Any) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.entries: list[dict[str, t.Any]] = []
        self.service_catalog = connection.service_catalog
        self.versions: dict[str, str] = {}
        for name in SERVICES:
            data = getattr(connection, name).get_endpoint_data()
            if data.max_microversion:
                self.versions[name] = ".".join(str(number) for number in data.max_microversion)
            setattr(self, name, _Service(name, self._pass_on, self.versions.get(name)))

    def _pass_on(self, service: str, path: str, method: str, **arguments: t.Any) -> t.Any:
        response = getattr(self._connection, service).request(path, method, **arguments)
        entry = _entry(service, path, method, arguments)
        entry["status"] = response.status_code
        entry["answer"] = response.json() if response.content else None
        with self._lock:
            self.entries.append(entry)
        return response

    def save(self, name: str) -> None:
        """Write the cassette, without the lab's addresses."""
        catalog = sorted({entry["type"] for entry in self.service_catalog})
        tape = {"versions": self.versions, "catalog": catalog, "entries": self.entries}
        text = ADDRESS.sub("https://api.example", json.dumps(tape, indent=1, sort_keys=True))
        text = re.sub(r"\b10\.99\.\d+\.", "192.0.2.", text)
        (CASSETTES / f"{name}.json").write_text(text + "\n")
        self.entries = []


class Player:
    """Takes the place of an SDK connection and answers from a cassette."""

    def __init__(self, name: str) -> None:
        tape = json.loads((CASSETTES / f"{name}.json").read_text())
        self.service_catalog = [{"type": kind} for kind in tape["catalog"]]
        self._lock = threading.Lock()
        self._answers: dict[str, list[dict[str, t.Any]]] = {}
        self.asked: list[dict[str, t.Any]] = []
        for entry in tape["entries"]:
            if entry["path"] == "/ports":
                # More is asked of ports than when these were recorded; what was not recorded is not in the answers.
                entry["params"]["fields"] = list(network.PORT_FIELDS)
            self.record(entry)
        for service in SERVICES:
            setattr(self, service, _Service(service, self._play, tape["versions"].get(service)))

    def _play(self, service: str, path: str, method: str, **arguments: t.Any) -> t.Any:
        entry = _entry(service, path, method, arguments)
        with self._lock:
            self.asked.append(entry)
            answers = self._answers.get(_key(entry))
            assert answers, f"never recorded: {entry}"
            # The last answer is repeated: nothing changed after it.
            found = answers.pop(0) if len(answers) > 1 else answers[0]
        content = b"" if found["answer"] is None else json.dumps(found["answer"]).encode()
        return types.SimpleNamespace(
            status_code=found["status"],
            content=content,
            text=content.decode(),
            reason="",
            json=lambda: json.loads(content),
        )

    def record(self, entry: dict[str, t.Any]) -> None:
        """Add a request and its answer."""
        self._answers.setdefault(_key(entry), []).append(entry)

    def answer_allocations(self) -> None:
        """Answer for the allocations of each provider, as placement does: one for each server of its host."""
        entries = [entry for answers in self._answers.values() for entry in answers]
        nodes = {
            item["id"]: item["service"]["host"]
            for entry in entries
            if entry["path"] == "/os-hypervisors/detail"
            for item in entry["answer"]["hypervisors"]
        }
        for uuid, host in nodes.items():
            held = {
                server["id"]: {"resources": {"VCPU": 1}}
                for entry in entries
                if entry["path"] == "/servers/detail"
                for server in entry["answer"]["servers"]
                if server["OS-EXT-SRV-ATTR:host"] == host
            }
            path = f"/resource_providers/{uuid}/allocations"
            asked = {"service": "placement", "method": "GET", "path": path, "microversion": "1.14"}
            self._answers.pop(_key(asked), None)
            self.record({**asked, "status": 200, "answer": {"allocations": held}})

    def answer_ports_of_servers(self, page: int = 1000) -> None:
        """Answer for the ports of the servers too, as neutron filters: out of the recorded ports of their hosts."""
        listed = [entry for answers in self._answers.values() for entry in answers if entry["path"] == "/ports"]
        ports = {port["id"]: port for entry in listed for port in entry["answer"]["ports"]}
        servers = [
            server["id"]
            for answers in self._answers.values()
            for entry in answers
            if entry["path"] == "/servers/detail"
            for server in entry["answer"]["servers"]
        ]
        params = {"fields": listed[0]["params"]["fields"], "device_id": sorted(servers), "limit": page}
        mine = [port for port in ports.values() if port["device_id"] in servers]
        request = {"service": "network", "method": "GET", "path": "/ports", "params": params}
        self.record({**request, "status": 200, "answer": {"ports": mine}})

    def edit(self, service: str, path: str, change: t.Callable[[t.Any], None]) -> None:
        """Change the recorded answers to GET requests of a path: what a broken cloud would answer."""
        for answers in self._answers.values():
            for entry in answers:
                if (entry["service"], entry["method"], entry["path"]) == (service, "GET", path):
                    change(entry)


def writes(player: Player) -> list[dict[str, t.Any]]:
    """Return the requests that changed something."""
    return [entry for entry in player.asked if entry["method"] != "GET"]
