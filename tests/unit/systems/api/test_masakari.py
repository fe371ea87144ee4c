# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Masakari's hosts: of the names in scope, over all pages."""

from __future__ import annotations

import types
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import cloud_facts, masakari
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player

SCOPE = ["compute1", "cn7"]


def reasons(read: facts.CloudFacts) -> dict[str, str]:
    return {item.part: item.reason for item in read.unread}


def scoped() -> Player:
    """What was recorded of one host."""
    player = Player("read_scoped")
    player.answer_ports_of_servers()
    return player


class Masakari:
    """Failover segments and their hosts; pages of one, without saying so."""

    def __init__(self, segments: dict[str, list[str]]) -> None:
        self.segments = segments

    def request(self, path: str, method: str, **arguments: t.Any) -> t.Any:
        names = list(self.segments)
        if method == "DELETE":
            _segments, segment, _hosts, name = path.strip("/").split("/")
            self.segments[segment].remove(name)
            return types.SimpleNamespace(status_code=204, content=b"", json=dict)
        key = "segments"
        if path != "/segments":
            key, names = "hosts", self.segments[path.split("/")[2]]
        marker = (arguments.get("params") or {}).get("marker")
        rest = names[names.index(marker) + 1 :] if marker else names
        answer = {key: [{"uuid": name, "name": name} for name in rest[:1]]}
        return types.SimpleNamespace(status_code=200, content=b"x", json=lambda: answer)


def test_records_of_masakari_of_the_names_in_scope_are_read_over_all_pages() -> None:
    player = scoped()
    player.service_catalog.append({"type": "instance-ha"})
    player.instance_ha = Masakari({"rack1": ["compute2"], "rack7": ["compute9", "Compute1"], "rack8": []})
    read = cloud_facts.read_cloud(player, SCOPE)
    assert read.ha_hosts == [facts.HaHost("Compute1", "Compute1", "rack7")]
    assert read.unread == []
    # A cloud without it has none; one that does not answer is unread.
    assert cloud_facts.read_cloud(scoped(), SCOPE).ha_hosts == []
    del player.instance_ha
    read = cloud_facts.read_cloud(player, SCOPE)
    assert read.ha_hosts is None
    assert "ha_hosts" in reasons(read)


def test_a_record_is_deleted_by_its_uuid_and_its_name() -> None:
    player = scoped()
    player.instance_ha = Masakari({"rack1": ["compute2"], "rack7": ["compute9", "compute91"]})
    assert not masakari.delete_ha_host(player, "compute9", "another")
    assert masakari.delete_ha_host(player, "compute9", "compute9")
    assert player.instance_ha.segments == {"rack1": ["compute2"], "rack7": ["compute91"]}
    assert not masakari.delete_ha_host(player, "compute9", "compute9")
