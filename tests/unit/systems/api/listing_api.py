# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An API that lists some servers and answers for all of them singly."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import instance_actions

HOST = "OS-EXT-SRV-ATTR:host"


TASK = "OS-EXT-STS:task_state"


def server(uuid, host="old1", task=None, reason=None):
    return {"id": uuid, "name": uuid, HOST: host, TASK: task, "locked": reason is not None, "locked_reason": reason}


class Api:
    """Answers GET of servers and actions; ``listed``: uuids that lists have. A page has two entries."""

    PAGE = 2

    def __init__(self, monkeypatch, servers, listed=None):
        self.servers = {row["id"]: row for row in servers}
        self.listed = set(self.servers) if listed is None else set(listed)
        self.actions = {}
        self.asked = []
        monkeypatch.setattr(instance_actions.http, "call", self.call)

    def call(self, _connection, _service, method, path, _microversion=None, params=None, body=None):
        self.asked.append((method, path))
        params = dict(params or {})
        if path == "/servers/detail":
            rows = [row for uuid, row in sorted(self.servers.items()) if uuid in self.listed]
            rows = [row for row in rows if params.get("host") in (None, row.get(HOST))]
            return self._page("servers", "servers_links", rows, "id", params)
        _empty, _servers, uuid, *rest = path.split("/")
        if uuid not in self.servers:
            raise ApiError("404", status=404)
        if rest == ["os-instance-actions"]:
            return self._page("instanceActions", "links", self.actions[uuid], "request_id", params)
        if rest:
            return {"instanceAction": {"events": []}}
        return {"server": self.servers[uuid]}

    def _page(self, key, links, rows, marker, params):
        if "marker" in params:
            rows = rows[[row[marker] for row in rows].index(params["marker"]) + 1 :]
        more = {links: [{"rel": "next"}]} if len(rows) > self.PAGE else {}
        return {key: rows[: self.PAGE], **more}
