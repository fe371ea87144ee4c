# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small Nova with two zones that resizes as the real one does: an unpinned server may land anywhere."""

from __future__ import annotations

import copy
import types

from ansible_collections.stackguard.nova.tests.unit import nova_lists
from ansible_collections.stackguard.nova.tests.unit.builders import node, service, uid
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, ZONES

FLAVORS = {
    "1": {"id": "1", "name": "m1.small", "vcpus": 1, "ram": 1024, "disk": 10},
    "2": {"id": "2", "name": "m1.large", "vcpus": 2, "ram": 4096, "disk": 10},
    "3": {"id": "3", "name": "m1.huge", "vcpus": 8, "ram": 65536, "disk": 10},
}


class Killed(BaseException):
    """The run was killed here."""


class Nova:
    """One server on compute1. ``taker``: the host that the scheduler would choose, if the pin lets it."""

    def __init__(self, taker="compute3", max_microversion=(2, 104), status="ACTIVE", pin=None, ticks=2):
        self.taker, self.ticks, self.left = taker, ticks, 0
        self.name = "web1"
        self.server = {"status": status, "host": "compute1", "flavor": "1", "task": None, "pin": pin}
        self.resting = status
        self.origin, self.next, self.calls = None, None, []
        self.fails, self.answers = None, {}
        self.disabled = set()
        #: Hidden: it exists, and this caller is shown nothing of it. Archived: of a deleted one no row is left. Member:
        #: this caller is no administrator.
        self.hidden, self.archived, self.member = False, False, False
        self.fuse = None
        data = types.SimpleNamespace(max_microversion=max_microversion)
        self.compute = types.SimpleNamespace(request=self.request, get_endpoint_data=lambda: data)
        self.placement = types.SimpleNamespace(request=self.place, get_endpoint_data=lambda: data)
        self.service_catalog = [{"type": "compute"}, {"type": "placement"}]

    @property
    def shows_pins(self):
        return self.compute.get_endpoint_data().max_microversion >= (2, 96)

    # --- what goes on by itself

    def tick(self):
        if self.left:
            self.left -= 1
            if self.left == 0:
                action, self.next = self.next, None
                self.server["task"] = None
                action()

    def begin(self, task, end):
        assert self.server["task"] is None, "asked while a task is in progress"
        self.server["task"], self.next, self.left = task, end, self.ticks

    def _land(self):
        if self.fails:
            return
        self.origin = copy.deepcopy(self.server)
        self.server.update(host=self._scheduled(), flavor=self._asked, status="VERIFY_RESIZE")

    def _scheduled(self):
        pin = self.server["pin"]
        bound = pin in ZONES.values()
        return self.taker if not bound or ZONES[self.taker] == pin else "compute2"

    # --- what is asked

    def burn(self):
        """Die before or after this request, if it is its turn."""
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Killed

    def request(self, path, method, microversion=None, params=None, json=None, **_given):
        assert microversion is not None, f"{method} {path} without a microversion"
        self.burn()
        answer = self._answer(path, method, microversion, json, params or {})
        self.burn()
        return answer

    def _answer(self, path, method, microversion, body, params):
        if path == "/servers/detail" and params.get("deleted"):
            if self.member:
                return Answer(403, {"forbidden": {"message": "Policy does not allow this"}})
            gone = self.server is None and not self.archived
            return Answer(200, {"servers": [{"id": WEB, "name": self.name, "status": "DELETED"}] if gone else []})
        rows = {
            "/flavors/detail": ("flavors", lambda: list(FLAVORS.values())),
            "/os-hypervisors/detail": ("hypervisors", self.hypervisors),
            "/os-aggregates": ("aggregates", self.aggregates),
            "/os-migrations": ("migrations", list),
        }
        if path in ("/servers", "/servers/detail"):
            shown = [self.show("2.96") if path.endswith("detail") else {"id": WEB, "name": self.name}]
            return Answer(200, nova_lists.list_servers(shown if self.server else [], params, microversion))
        if path == "/os-services":
            return Answer(200, nova_lists.list_services(self.services(), microversion))
        if path in rows:
            key, read = rows[path]
            return Answer(200, {key: read()})
        if "os-instance-actions" in path:
            if path.endswith("os-instance-actions"):
                return Answer(200, {"instanceActions": [{"request_id": "req-1"}]})
            return Answer(200, {"instanceAction": {"events": [], "message": self.fails or ""}})
        if self.server is None or self.hidden or path.split("/")[2] != WEB:
            return Answer(404, {"itemNotFound": {"message": "gone"}})
        if method == "GET":
            self.tick()
            return Answer(200, {"server": self.show(microversion)}) if self.server else Answer(404, {})
        return self.put(microversion, body) if method == "PUT" else self.act(body)

    def put(self, microversion, body):
        assert microversion == "2.104"
        (wanted,) = body["server"].values()
        if wanted is not None and (self.server["pin"] is not None or wanted != ZONES[self.server["host"]]):
            return Answer(409, {"conflictingRequest": {"message": "only to its own zone"}})
        self.calls.append(("pin", wanted))
        self.server["pin"] = wanted
        return Answer(200, {"server": {}})

    def act(self, body):
        (name,) = body
        if self.answers.get(name):
            return self.answers[name].pop(0)
        server = self.server
        if server["task"] is not None or (name == "resize") == (server["status"] == "VERIFY_RESIZE"):
            return Answer(409, {"conflictingRequest": {"message": f"{name}: {server['status']}, {server['task']}"}})
        self.calls.append((name,))
        if name == "resize":
            self._asked = body["resize"]["flavorRef"]
            self.begin("resize_prep", self._land)
        elif name == "confirmResize":
            self.begin("", lambda: server.update(status=self.resting))
            server["task"] = None
        else:
            self.begin("resize_reverting", self.revert)
        return Answer(202)

    def revert(self):
        self.server.update(status=self.resting, host=self.origin["host"], flavor=self.origin["flavor"])

    def show(self, microversion):
        server, flavor = self.server, FLAVORS[self.server["flavor"]]
        shown = {
            "id": WEB,
            "name": self.name,
            "status": server["status"],
            "locked": False,
            "image": {"id": "an image"},
            "flavor": {"original_name": flavor["name"], **{key: flavor[key] for key in ("vcpus", "ram", "disk")}},
            "OS-EXT-SRV-ATTR:host": server["host"],
            "OS-EXT-STS:task_state": server["task"],
        }
        return {**shown, "pinned_availability_zone": server["pin"]} if microversion == "2.96" else shown

    def services(self):
        return [
            {
                "id": service(number),
                "host": host,
                "binary": "nova-compute",
                "state": "up",
                "status": "disabled" if host in self.disabled else "enabled",
                "forced_down": False,
                "disabled_reason": None,
                "zone": zone,
            }
            for number, (host, zone) in enumerate(ZONES.items(), 1)
        ]

    def hypervisors(self):
        return [
            {"id": node(number), "hypervisor_hostname": host, "service": {"host": host}}
            for number, host in enumerate(ZONES, 1)
        ]

    def aggregates(self):
        return [
            {
                "id": number,
                "uuid": uid("aggregate", number),
                "name": zone,
                "availability_zone": zone,
                "hosts": [host for host, place in ZONES.items() if place == zone],
            }
            for number, zone in enumerate(("az1", "az2"), 1)
        ]

    def place(self, path, method, microversion=None, params=None, **_given):
        assert (method, bool(microversion)) == ("GET", True)
        self.burn()
        if path == f"/allocations/{WEB}":
            return Answer(200, {"allocations": {node(1): {}} if self.server else {}})
        wanted = params["member_of"].replace("in:", "")
        (zone,) = [item["availability_zone"] for item in self.aggregates() if item["uuid"] == wanted]
        inside = [node(number) for number, (_host, place) in enumerate(ZONES.items(), 1) if place == zone]
        if path == "/resource_providers":
            rows = [{"uuid": one, "name": one, "generation": 1} for one in inside]
            return Answer(200, {"resource_providers": rows})
        fits = [] if "MEMORY_MB:65536" in params["resources"] else inside
        requests = [{"allocations": {one: {}}} for one in fits]
        summaries = {one: {"root_provider_uuid": one} for one in fits}
        return Answer(200, {"allocation_requests": requests, "provider_summaries": summaries})
