# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API does not show in lists is asked for singly, and a server whose cell is silent is not one at rest."""

from __future__ import annotations

import pytest

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


def test_a_guest_that_the_list_leaves_out_is_asked_for_singly(monkeypatch):
    api = Api(monkeypatch, [server("a"), server("b"), server("c", "elsewhere")], listed=["a"])
    found = instance_actions.guests_of(None, ["old1"], ["a", "b", "c", "gone"])
    assert [(guest.uuid, guest.host) for guest in found] == [("a", "old1"), ("b", "old1"), ("c", "elsewhere")]
    assert ("GET", "/servers/a") not in api.asked, "the list had it"


def test_a_guest_of_a_cell_that_does_not_answer_is_an_error_and_not_a_guest_at_rest(monkeypatch):
    """views/servers.py shows such a server with its uuid and the status UNKNOWN."""
    Api(monkeypatch, [server("a"), {"id": "b", "status": "UNKNOWN"}], listed=["a"])
    with pytest.raises(ApiError, match="server b: Nova does not know its state: its cell does not answer"):
        instance_actions.guests_of(None, ["old1"], ["a", "b"])


def test_requests_of_a_busy_owner_are_read_over_several_pages(monkeypatch):
    """[api] max_limit bounds a page: with five more requests than a page has, only the newest were seen."""
    api = Api(monkeypatch, [server("a")])
    api.actions["a"] = [{"request_id": f"req-{n}", "action": "createImage", "start_time": n} for n in range(9, -1, -1)]
    found = instance_actions.asked_since(None, {"a": "req-2"})
    assert [entry.request_id for entry in found["a"]] == [f"req-{n}" for n in range(9, 2, -1)]
    assert instance_actions.newest_actions(None, ["a", "gone"]) == {"a": "req-9", "gone": None}
