# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of the APIs about zones, and what is made of answers that do not come."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import zones as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    allocation_candidates,
    server_actions,
    server_records,
    zone_facts,
)
from ansible_collections.stackguard.nova.tests.unit.builders import node, uid
from ansible_collections.stackguard.nova.tests.unit.shelved_nova import (
    NO_HOST,
    ShelvedNova,
    event,
    shelving,
    unshelving,
)
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned import LARGE, WEB, server
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova


def read(nova, *servers, url=None, flavor=LARGE):
    return zone_facts.read_zones(nova, servers or [server_records.whole_server(nova, WEB)], url, flavor)


def test_everything_is_read():
    about = read(Nova(pin="az1"))
    assert about.unread == []
    assert about.pins == {WEB: "az1"}
    assert about.members == {uid("aggregate", 1): sorted([node(1), node(2)]), uid("aggregate", 2): [node(3)]}
    assert about.offers == {WEB: sorted([node(1), node(2)])}
    assert checks.check(about).findings == ()
    assert facts.from_plain(facts.ZoneFacts, facts.to_plain(about)) == about


def test_pins_that_this_nova_does_not_show_are_unread_not_none(monkeypatch):
    nova = Nova(max_microversion=(2, 95))
    about = read(nova)
    assert about.pins is None
    assert [entry.part for entry in about.unread] == ["pins"]

    def broken(_url, _uuids):
        raise DatabaseError("no way")

    monkeypatch.setattr(zone_facts.request_specs, "read_zones", broken)
    assert read(nova, url="db").pins is None
    monkeypatch.setattr(zone_facts.request_specs, "read_zones", lambda _url, _uuids: {WEB: None})
    assert (read(nova, url="db").pins, read(nova, url="db").pins_from) == ({WEB: None}, "API database")


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/os-aggregates", {"aggregates", "members", "offers"}),
        ("/os-services", {"services", "offers"}),
        ("/os-hypervisors/detail", {"hypervisors"}),
    ],
)
@pytest.mark.parametrize("answer", [Answer(503, {"error": {"message": "later"}}), Answer(200, {"strange": []})])
def test_what_does_not_answer_is_unread(monkeypatch, path, parts, answer):
    nova = Nova()
    known = server_records.whole_server(nova, WEB)
    real = nova._answer
    monkeypatch.setattr(nova, "_answer", lambda asked, *more: answer if asked == path else real(asked, *more))
    about = read(nova, known)
    assert {
        name for name in ("aggregates", "members", "offers", "services", "hypervisors") if getattr(about, name) is None
    } == parts
    assert about.unread


def test_volumes_without_a_block_storage_service_are_unread():
    nova = Nova()
    about = read(nova, server(volumes=["v1"]))
    assert about.volumes is None
    assert read(nova, server()).volumes == {}


def asked(root=True, aggregates=("b", "a"), **specs):
    flavor = dataclasses.replace(LARGE, extra_specs={name.replace("__", ":"): value for name, value in specs.items()})
    return allocation_candidates.zone_query(flavor, root, aggregates)


def test_every_call_bears_its_microversion():
    nova = Nova()
    seen = []
    real = nova.compute.request

    def request(path, method, microversion=None, **given):
        seen.append((method, path.split("/")[1], microversion))
        return real(path, method, microversion=microversion, **given)

    nova.compute.request = request
    server_actions.pin(nova, WEB, "az1")
    server_actions.resize(nova, WEB, "2")
    read(nova, server())
    assert ("PUT", "servers", "2.104") in seen
    assert ("POST", "servers", "2.53") in seen
    assert all(microversion for _method, _path, microversion in seen)


@pytest.mark.parametrize(
    ("actions", "host", "tried"),
    [
        ([shelving("compute2")], "compute2", False),
        ([unshelving(event("schedule_instances", error=NO_HOST)), shelving()], "compute1", False),
        ([unshelving(), shelving()], "compute1", False),
        ([unshelving(event("compute_unshelve_instance", "compute3", "no")), shelving()], "compute1", True),
        ([unshelving(event("schedule_instances", error="a timeout")), shelving()], "compute1", True),
        ([{**shelving(number=2), "action": "shelveOffload", "events": []}, shelving()], "compute1", False),
        ([{**shelving(number=3), "events": []}, unshelving(), shelving()], None, False),
        ([], None, False),
    ],
)
def test_where_a_shelved_server_was_is_what_its_actions_say(actions, host, tried):
    about = read(ShelvedNova(actions=actions), flavor=None)
    assert about.shelved == {WEB: facts.ShelvedServer(host, tried)}
    assert facts.from_plain(facts.ZoneFacts, facts.to_plain(about)) == about


def test_of_many_servers_only_shelved_ones_are_asked_about():
    nova = ShelvedNova()
    about = zone_facts.read_zones(nova, [server(volumes=["v"])], whole=False)
    assert (about.shelved, about.volumes, about.unread) == ({}, None, [])
