# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cloud_info: what it returns, what it writes down, and what it never shows."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.doc_fragments import openstack as fragment
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import cloud_facts, connection
from ansible_collections.stackguard.nova.plugins.modules import cloud_info
from ansible_collections.stackguard.nova.tests.unit.modules.running import run
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player

AUTH = {"auth_url": "http://127.0.0.1:1/v3", "username": "admin", "password": "hunter2hunter2", "project_name": "admin"}


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Player:
    """A cloud that answers as the recorded one did."""
    recorded = Player("read_scoped")
    recorded.answer_ports_of_servers()
    monkeypatch.setattr(connection, "connect", lambda _options: recorded)
    return recorded


def test_facts_are_returned_or_kept(player: Player, tmp_path: pathlib.Path) -> None:
    given = {"cloud": "lab", "hosts": ["compute1", "cn7"]}
    shown = run(cloud_info.main, given, False)
    assert shown["complete"]
    assert not shown["changed"]
    assert shown["counts"]["services"] == shown["counts"]["providers"] == 1
    read = facts.from_plain(facts.CloudFacts, shown["cloud"])
    kept = run(cloud_info.main, {**given, "evidence_dir": str(tmp_path)}, True)
    assert "cloud" not in kept
    assert kept["digest"] == shown["digest"]
    loaded = evidence.load_dir(str(tmp_path)).cloud
    assert loaded is not None
    assert loaded.services == read.services
    assert {entry["method"] for entry in player.asked} == {"GET"}


def test_parts_that_were_not_asked_for_do_not_make_it_incomplete(player: Player) -> None:
    result = run(cloud_info.main, {"cloud": "lab", "hosts": ["compute1"], "parts": ["agents"]}, False)
    assert result["complete"]
    assert {item["cause"] for item in result["unread"]} == {"not-asked-for"}
    refused = {"status": 403, "answer": {"forbidden": {"message": "no"}}}
    player.edit("network", "/agents", lambda entry: entry.update(refused))
    assert not run(cloud_info.main, {"cloud": "lab", "hosts": ["compute1"], "parts": ["agents"]}, False)["complete"]


def test_a_cloud_that_does_not_answer_fails_without_the_password() -> None:
    result = run(cloud_info.main, {"auth": AUTH}, False)
    assert result["failed"]
    assert "hunter2" not in str(result)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OPENSTACK_ERROR", "Traceback")
    result = run(cloud_info.main, {"cloud": "lab"}, False)
    assert result["failed"]
    assert "openstacksdk" in result["msg"]


def test_documented_are_all_parts_and_all_options() -> None:
    assert yaml.safe_load(cloud_info.DOCUMENTATION)["options"]["parts"]["choices"] == list(cloud_facts.PARTS)
    documented = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]
    assert set(documented) == set(connection.OPENSTACK_SPEC)
    for name, option in connection.OPENSTACK_SPEC.items():
        for key in ("type", "default", "aliases"):
            assert documented[name].get(key) == option.get(key), (name, key)
        assert sorted(documented[name].get("choices", ())) == sorted(option.get("choices", ()))
