# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Cinder by the rules of its source (29), as far as this collection asks it.

* The list of volumes has a link to the next page, that of attachments has none (api/v3/views/*.py).
* A volume shows attached attachments only, and their hosts to administrators only.
* Without all_tenants, and to others than administrators, a list has the caller's project only (api/v3/attachments.py).
* An attachment's connection has what a driver says, a password included.
"""

from __future__ import annotations

from urllib.parse import unquote

from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer

NOT_FOUND = Answer(404, {"itemNotFound": {"code": 404, "message": "could not be found."}})
PASSWORD = "hunter2"


class SmallCinder:
    """Volumes and attachments, by uuid. ``admin``: of the caller; ``largest``: osapi_max_limit."""

    def __init__(self, admin=True, largest=1000):
        self.admin, self.largest = admin, largest
        self.volumes, self.attachments, self.asked = {}, {}, []
        self.services = [{"host": "controller@ceph", "zone": "az1", "state": "up", "status": "enabled"}]
        self.pools = [{"name": "controller@ceph#ceph", "capabilities": {"storage_protocol": "ceph"}}]
        self.refused = ()

    def volume(self, uuid, project="p1", backend="controller@ceph#ceph", status="in-use", **changes):
        """Make a volume."""
        row = {"id": uuid, "status": status, "availability_zone": "az1", "multiattach": False, "encrypted": False}
        self.volumes[uuid] = {**row, "os-vol-host-attr:host": backend, "project": project, **changes}
        return self

    def attach(self, uuid, volume, server, host="compute1", status="attached", driver="rbd"):
        """Make an attachment; without a host it is only reserved."""
        known = {"id": uuid, "volume_id": volume, "instance": server, "status": status, "host": host}
        self.attachments[uuid] = {**known, "driver": driver}
        return self

    def request(self, path, method, microversion=None, params=None, json=None, **_given):
        """Answer as Cinder does."""
        assert method == "GET", (method, path, json)
        params = dict(params or {})
        self.asked.append((path, microversion, params))
        if any(path.startswith(one) for one in self.refused):
            return Answer(403, {"forbidden": {"code": 403, "message": "Policy doesn't allow it to be performed."}})
        if path == "/volumes/detail":
            return self._page("volumes", self._seen(self.volumes, params), params, self._shown, linked=True)
        if path == "/attachments/detail":
            assert microversion is not None, "attachments are of 3.27 and newer"
            rows = self._seen(self.attachments, params)
            for key, field in (("instance_id", "instance"), ("volume_id", "volume_id")):
                rows = [row for row in rows if key not in params or row[field] == params[key]]
            return self._page("attachments", rows, params, self._connected, linked=False)
        if path.startswith("/volumes/"):
            row = self.volumes.get(unquote(path.rpartition("/")[2]))
            there = row is not None and (self.admin or row["project"] == "p1")
            return Answer(200, {"volume": self._shown(row)}) if there else NOT_FOUND
        if path == "/os-services":
            return Answer(200, {"services": self.services})
        if path == "/scheduler-stats/get_pools":
            return Answer(200, {"pools": self.pools})
        return NOT_FOUND

    def _seen(self, rows, params):
        every = self.admin and params.get("all_tenants")
        return [rows[uuid] for uuid in sorted(rows) if every or self._project(rows[uuid]) == "p1"]

    def _project(self, row):
        return row["project"] if "project" in row else self.volumes[row["volume_id"]]["project"]

    def _page(self, key, rows, params, shown, linked):
        ids = [row["id"] for row in rows]
        start = ids.index(params["marker"]) + 1 if "marker" in params else 0
        size = min(int(params.get("limit", self.largest)), self.largest)
        body = {key: [shown(row) for row in rows[start : start + size]]}
        if linked and start + size < len(rows):
            body[f"{key}_links"] = [{"rel": "next", "href": "..."}]
        return Answer(200, body)

    def _shown(self, row):
        mine = [
            one for one in self.attachments.values() if one["volume_id"] == row["id"] and one["status"] == "attached"
        ]
        attachments = [
            {
                "attachment_id": one["id"],
                "server_id": one["instance"],
                "host_name": one["host"] if self.admin else None,
            }
            for one in mine
        ]
        own = {key: value for key, value in row.items() if key != "project"}
        if not self.admin:
            own.pop("os-vol-host-attr:host")
        return {**own, "attachments": attachments}

    def _connected(self, row):
        data = {"rbd": {"name": f"volumes/volume-{row['volume_id']}"}, "nfs": {"export": "srv:/share", "name": "v"}}
        info = {"driver_volume_type": row["driver"], **data.get(row["driver"], {}), "auth_password": PASSWORD}
        shown = {key: row[key] for key in ("id", "volume_id", "instance", "status")}
        return {**shown, "connection_info": info if row["host"] else {}}
