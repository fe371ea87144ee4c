# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What owners asked of their servers is read over all pages."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import instance_actions
from ansible_collections.stackguard.nova.tests.unit.systems.api.listing_api import Api, server


def test_requests_of_a_busy_owner_are_read_over_several_pages(monkeypatch):
    """[api] max_limit bounds a page: with five more requests than a page has, only the newest were seen."""
    api = Api(monkeypatch, [server("a")])
    api.actions["a"] = [{"request_id": f"req-{n}", "action": "createImage", "start_time": n} for n in range(9, -1, -1)]
    found = instance_actions.asked_since(None, {"a": "req-2"})
    assert [entry.request_id for entry in found["a"]] == [f"req-{n}" for n in range(9, 2, -1)]
    assert instance_actions.newest_actions(None, ["a", "gone"]) == {"a": "req-9", "gone": None}
