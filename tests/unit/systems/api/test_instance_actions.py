# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What owners asked of their servers is read over all pages."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import instance_actions
from ansible_collections.stackguard.nova.tests.unit.systems.api.listing_api import Api, server


def test_requests_of_a_busy_owner_are_read_over_several_pages(monkeypatch):
    """[api] max_limit bounds a page: with five more requests than a page has, only the newest were seen."""
    api = Api(monkeypatch, [server("a")])
    api.actions["a"] = [{"request_id": f"req-{n}", "action": "createImage", "start_time": n} for n in range(9, -1, -1)]
    found = instance_actions.asked_since(None, {"a": "req-2"})
    assert [entry.request_id for entry in found["a"]] == [f"req-{n}" for n in range(9, 2, -1)]
    assert instance_actions.newest_actions(None, ["a", "gone"]) == {"a": "req-9", "gone": None}


NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
OPEN = {"event": "compute_detach_interface", "start_time": "x", "finish_time": None}
ENDED = {**OPEN, "finish_time": "y"}


@pytest.mark.parametrize(
    ("age", "events", "action", "open_"),
    [
        (60, [OPEN], "detach_interface", True),
        (60, [ENDED, OPEN], "detach_interface", True),
        (60, [ENDED], "detach_interface", False),
        (60, [], "detach_interface", True),
        (600, [], "detach_interface", False),
        (600, [OPEN], "detach_interface", True),
        # Left by a nova-compute that was killed long ago.
        (7200, [OPEN], "detach_interface", False),
        (60, [], "lock", False),
    ],
)
def test_what_has_not_ended_is_read_from_the_events(monkeypatch, age, events, action, open_):
    started = (NOW - datetime.timedelta(seconds=age)).isoformat()[:-6]
    older = {"request_id": "req-1", "action": "create", "start_time": "2025-01-01T00:00:00.000000"}
    api = Api(monkeypatch, [server("a")])
    api.actions["a"] = [{"request_id": "req-2", "action": action, "start_time": started}, older]
    real = api.call

    def call(connection, service, method, path, *given, **more):
        if path.endswith("/req-2"):
            return {"instanceAction": {"events": events}}
        return real(connection, service, method, path, *given, **more)

    monkeypatch.setattr(instance_actions.http, "call", call)
    monkeypatch.setattr(instance_actions.http, "date", lambda _connection, _service: NOW.timestamp())
    found = instance_actions.open_actions(None, ["a", "gone"], 3600.0)
    assert set(found) == ({"a"} if open_ else set())
    if open_:
        assert ([entry.request_id for entry in found["a"].entries], found["a"].before) == (["req-2"], "req-1")
