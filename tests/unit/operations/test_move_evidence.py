# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the servers of a selection are found, and what others have in progress toward hosts."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import FactsError
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves import evidence as move_evidence
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as checks
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_moves import ONE, running
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, server
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova


def test_uuids_are_read_one_by_one_and_names_among_all():
    nova = Nova()
    asked = []
    real = nova.request
    nova.compute.request = lambda path, method, **given: asked.append(path) or real(path, method, **given)
    assert [server.id for server in move_evidence.candidates(nova, [WEB])] == [WEB]
    assert asked == [f"/servers/{WEB}"]
    found = move_evidence.candidates(nova, ["web1"])
    assert [(server.name, server.flavor.name) for server in found] == [("web1", "m1.small")]
    assert asked[1:] == ["/os-services", "/servers/detail", "/os-services"]
    nova.server = None
    assert move_evidence.candidates(nova, [WEB]) == []


@pytest.fixture
def mute():
    """A Nova that answers nothing."""

    def request(*_given, **_more):
        raise ApiError("no answer")

    nova = Nova()
    nova.compute.request = nova.placement.request = request
    return nova


def test_what_the_apis_do_not_answer_is_unread_and_forbids_the_move(monkeypatch, mute):
    monkeypatch.setattr(move_evidence.evidence, "load_dir", lambda _directory, _at: move_evidence.evidence.nothing())
    evidence = move_evidence.collect(mute, "/nowhere", ["compute1"], None)
    decision = checks.preflight(evidence, MigrationRequest(drain_host="compute1"))
    assert [item.code for item in decision.checked.findings] == ["SG709"]
    assert decision.assignments.assigned == []


def test_without_evidence_of_any_host_nothing_is_decided(tmp_path, mute):
    with pytest.raises(FactsError):
        move_evidence.collect(mute, str(tmp_path), ["compute1"], None)


def row(status, uuid, dest, kind="live-migration"):
    return facts.ApiMigration(1, None, kind, status, uuid, "compute9", "compute9", dest, dest)


class Busy:
    """A Nova with migrations in progress, whoever asked for them."""

    def __init__(self, monkeypatch, rows, servers, topology=None):
        found = {"pagesize_kb": None, "nodes": []} if topology is None else topology
        patch = monkeypatch.setattr
        patch(
            move_evidence.migration_records,
            "list_migrations",
            lambda _cloud, status: [r for r in rows if r.status == status],
        )
        patch(move_evidence.migration_records.compute_services, "raw_services", lambda _cloud: [])
        patch(move_evidence.server_records, "whole_server", lambda _cloud, uuid: servers.get(uuid))
        patch(move_evidence.http, "call", lambda *_given: found)


def test_what_others_have_on_their_way_counts_at_its_destination(monkeypatch):
    one, two = server(id="one", host="compute9"), server(id="two", host="compute2")
    rows = [row("running", "one", "compute2"), row("pre-migrating", "two", "compute2", "evacuation")]
    Busy(monkeypatch, rows, {"one": one, "two": two})
    sent = move_evidence.on_their_way(object())
    assert [(entry.uuid, entry.host, entry.memory_mib) for entry in sent] == [
        ("one", "compute2", one.flavor.ram),
        ("two", "compute2", two.flavor.ram),
    ]


def test_what_has_arrived_or_is_gone_or_has_no_destination_yet_does_not(monkeypatch):
    rows = [row("running", "one", "compute2"), row("running", "gone", "compute2"), row("queued", "two", None)]
    Busy(monkeypatch, rows, {"one": server(id="one", host="compute2"), "two": server(id="two")})
    assert move_evidence.on_their_way(object()) == []


def test_huge_pages_on_their_way_are_no_small_ones(monkeypatch):
    one = server(id="one", host="compute9")
    topology = {"pagesize_kb": 2048, "nodes": [{"memory_mb": one.flavor.ram}]}
    Busy(monkeypatch, [row("running", "one", "compute2")], {"one": one}, topology)
    (sent,) = move_evidence.on_their_way(object())
    assert (sent.memory_mib, sent.cells) == (0, (facts.NumaCell(one.flavor.ram, 2048),))


def test_memory_that_is_not_known_is_not_none(monkeypatch):
    one = dataclasses.replace(server(id="one", host="compute9"), flavor=None)
    Busy(monkeypatch, [row("running", "one", "compute2")], {"one": one})
    with pytest.raises(ApiError, check=problem_is("not-read")):
        move_evidence.on_their_way(object())


# --- machine types as Nova has stored them


def stored(monkeypatch, scene, answer):
    """Which servers are asked for, and the properties that come of it."""
    asked = []

    def properties(_cloud, servers, _volumes, _known):
        asked.extend(entry.id for entry in servers)
        return answer()

    monkeypatch.setattr(move_evidence.server_disks, "image_properties", properties)
    found = scene.evidence("compute1")
    about = move_evidence._with_machine_types(object(), found.about, found.zones.servers, found.bundle)
    return asked, about


def test_nova_is_asked_only_for_servers_whose_machine_type_some_host_of_the_zone_lacks(monkeypatch):
    asked, about = stored(monkeypatch, Scene(), dict)
    assert (asked, about.image_properties) == ([], None)
    scene = running(Scene(), "pc-i440fx-2.8")
    asked, about = stored(monkeypatch, scene, lambda: {ONE: {"hw_machine_type": "pc"}})
    assert (asked, about.image_properties) == ([ONE], {ONE: {"hw_machine_type": "pc"}})


def test_machine_types_that_nova_does_not_tell_are_unread(monkeypatch):
    def refuse():
        raise ApiError("503")

    _asked, about = stored(monkeypatch, running(Scene(), "pc-i440fx-2.8"), refuse)
    assert about.image_properties is None
    assert [item.part for item in about.unread] == ["image_properties"]
