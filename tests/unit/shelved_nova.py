# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small Nova with a shelved server, which it unshelves as the real one does: in any zone, if nobody names one."""

from __future__ import annotations

import types

from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, ZONES
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova

NO_HOST = "No valid host was found. There are not enough hosts available."


def event(name, host=None, error=None):
    result = "Error" if error else "Success"
    return {"event": name, "host": host, "result": result, "details": error, "finish_time": "t"}


def shelving(host="compute1", number=1):
    return {
        "request_id": f"req-{number}",
        "action": "shelve",
        "start_time": "2026-01-01T00:00:00",
        "events": [event("compute_shelve_instance", host)],
    }


def unshelving(*events, number=2):
    return {**shelving(number=number), "action": "unshelve", "events": list(events)}


class ShelvedNova(Nova):
    """One server that compute1 shelved: on no host any more, or still there. ``actions``: the newest first."""

    def __init__(self, offloaded=True, record="az1", actions=None, images=None, **given):
        super().__init__(status="SHELVED_OFFLOADED" if offloaded else "SHELVED", **given)
        self.server.update(host=None if offloaded else "compute1", record=record)
        self.actions = [shelving()] if actions is None else actions
        self.images = {"image-1": "active"} if images is None else images
        #: What becomes of an unshelving on its host; None: the server runs.
        self.spawn = None
        self.image = types.SimpleNamespace(request=self.glance)

    def show(self, microversion):
        return {**super().show(microversion), "OS-EXT-AZ:availability_zone": self.server["record"]}

    def glance(self, path, method, params=None, **_given):
        assert (path, method, params["instance_uuid"]) == ("/images", "GET", WEB)
        self.burn()
        shown = [
            {"id": uuid, "name": "web1-shelved", "instance_uuid": WEB, "status": status}
            for uuid, status in self.images.items()
        ]
        other = {"id": "other", "name": "other-shelved", "instance_uuid": "another", "status": "active"}
        return Answer(200, {"images": [*shown, {**other, "instance_uuid": WEB, "name": "web1-backup"}, other]})

    def _answer(self, path, method, microversion, body, params):
        if "os-instance-actions" not in path:
            return super()._answer(path, method, microversion, body, params)
        row = next((row for row in self.actions if path.endswith(row["request_id"])), None)
        if row is not None:
            return Answer(200, {"instanceAction": row})
        return Answer(200, {"instanceActions": self.actions})

    def put(self, microversion, body):
        (wanted,) = body["server"].values()
        if self.server["host"] is None and wanted is not None:
            if self.server["pin"] is not None or wanted != self.server["record"]:
                return Answer(409, {"conflictingRequest": {"message": "only to its current zone"}})
            self.calls.append(("pin", wanted))
            self.server["pin"] = wanted
            return Answer(200, {"server": {}})
        return super().put(microversion, body)

    def act(self, body):
        if "unshelve" not in body:
            return super().act(body)
        if self.answers.get("unshelve"):
            return self.answers["unshelve"].pop(0)
        server, zone = self.server, (body["unshelve"] or {}).get("availability_zone")
        if server["task"] is not None or server["status"] not in ("SHELVED", "SHELVED_OFFLOADED"):
            return Answer(409, {"conflictingRequest": {"message": f"{server['status']}, {server['task']}"}})
        if zone is not None and server["status"] == "SHELVED":
            return Answer(409, {"conflictingRequest": {"message": "its zone should not change"}})
        if zone is not None and zone not in ZONES.values():
            return Answer(400, {"badRequest": {"message": "The requested availability zone is not available"}})
        self.calls.append(("unshelve", zone))
        server["pin"] = zone or server["pin"]
        self.begin("unshelving", self._start)
        return Answer(202)

    def _start(self):
        host = self.server["host"] or self._choose()
        events = [event("schedule_instances", error=None if host else NO_HOST)]
        if host:
            self.server["record"] = ZONES[host]
            events.insert(0, event("compute_unshelve_instance", host, self.spawn))
        self.actions.insert(0, unshelving(*events, number=len(self.actions) + 1))
        if host and self.spawn is None:
            self.server.update(host=host, status="ACTIVE")

    def _choose(self):
        pin = self.server["pin"]
        fits = [self.taker, *ZONES]
        fits = [host for host in fits if host not in self.disabled and pin in (None, "nova", ZONES[host])]
        return fits[0] if fits else None
