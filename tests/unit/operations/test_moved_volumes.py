# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cinder asked after moves: in bulk, again after some seconds, and what it does not say is unchecked."""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import moved_volumes
from ansible_collections.stackguard.nova.plugins.module_utils.engine.systems import Systems
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene
from ansible_collections.stackguard.nova.tests.unit.small_cinder import SmallCinder
from ansible_collections.stackguard.nova.tests.unit.small_nova import Clock

ONE = guest(1, 1)
MODEL = dataclasses.replace(Scene().cloud.rows("servers")[0], host="compute3")


class Moved:
    """Servers that have moved to compute3, and their Cinder."""

    def __init__(self, monkeypatch, servers=1, host="compute3"):
        self.cinder, self.clock = SmallCinder(), Clock()
        self.servers = [dataclasses.replace(MODEL, id=f"s{one:04}", volumes=[f"v{one:04}"]) for one in range(servers)]
        for one in range(servers):
            self.cinder.volume(f"v{one:04}").attach(f"a{one:04}", f"v{one:04}", f"s{one:04}", host)
        block_storage = types.SimpleNamespace(
            request=self.cinder.request, get_endpoint_data=lambda: types.SimpleNamespace(max_microversion=(3, 71))
        )
        self.connection = types.SimpleNamespace(block_storage=block_storage)
        patch = monkeypatch.setattr
        patch(moved_volumes.http, "list_catalog", lambda _cloud: ["compute", "volumev3"])
        patch(moved_volumes.server_records, "server_as_listed", self.as_listed)

    def as_listed(self, _cloud, uuid):
        return next((row for row in self.servers if row.id == uuid), None)

    def check(self, sleep=None):
        systems = Systems({}, None, {}, sleep or self.clock.sleep, self.clock.monotonic, _connection=self.connection)
        return moved_volumes.check_moved(systems, self.servers)


def codes(checked):
    return sorted({item.code for item in checked.findings}), sorted({item.code for item in checked.unchecked})


def test_what_is_right_is_seen_at_once(monkeypatch):
    moved = Moved(monkeypatch)
    assert codes(moved.check()) == ([], [])
    assert moved.clock.monotonic() == Clock().monotonic()


def test_servers_without_volumes_ask_nobody(monkeypatch):
    moved = Moved(monkeypatch, servers=0)
    moved.servers = [MODEL]
    assert codes(moved.check()) == ([], [])
    assert moved.cinder.asked == []


def test_what_stays_wrong_is_told(monkeypatch):
    assert codes(Moved(monkeypatch, host="compute1").check()) == (["SG524"], [])


def test_what_an_owner_does_meanwhile_is_waited_for(monkeypatch):
    """He has detached it, or deleted the server: Nova's word of seconds ago had it."""
    for servers in (lambda row: [dataclasses.replace(row, volumes=[])], lambda _row: []):
        moved = Moved(monkeypatch)
        moved.cinder.volumes["v0000"]["status"] = "detaching"

        def sleep(seconds, moved=moved, servers=servers):
            moved.clock.sleep(seconds)
            moved.servers = servers(moved.servers[0])

        assert codes(moved.check(sleep)) == ([], [])


@pytest.mark.parametrize("refused", ["/volumes", "/attachments"])
def test_a_cinder_that_does_not_answer_is_unchecked(monkeypatch, refused):
    moved = Moved(monkeypatch)
    moved.cinder.refused = (refused,)
    assert codes(moved.check()) == ([], ["SG524"])


def test_a_nova_that_does_not_answer_is_unchecked(monkeypatch):
    moved = Moved(monkeypatch)

    def fail(*_given):
        raise ApiError("503")

    monkeypatch.setattr(moved_volumes.server_records, "server_as_listed", fail)
    systems = Systems({}, None, {}, moved.clock.sleep, moved.clock.monotonic, _connection=moved.connection)
    assert codes(moved_volumes.check_one(systems, ONE)) == ([], ["SG524"])


def test_many_servers_cost_a_list(monkeypatch):
    moved = Moved(monkeypatch, servers=200)
    assert codes(moved.check()) == ([], [])
    assert len(moved.cinder.asked) <= 8
