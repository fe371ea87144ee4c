# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which zone a shelved server belongs to, and what keeps it from being unshelved there."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER
from ansible_collections.stackguard.nova.plugins.module_utils.zones import home
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins.plan import PinRequest, plan
from ansible_collections.stackguard.nova.plugins.module_utils.zones.unshelve import preflight
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, aggregate, compute, server, zoned

VOLUME = "volume-1"
READ = preflight.ShelvedDisks({"image-1": "active"}, {})


def offloaded(**changes):
    return server(status=facts.OFFLOADED, host=None, **changes)


def about(shelved_on="compute1", tried=False, shelved=None, **changes):
    """The facts of a server that compute1 shelved."""
    known = {WEB: facts.ShelvedServer(shelved_on, tried)}
    return zoned(**{"servers": [offloaded()], "shelved": known, **({"shelved": shelved} if shelved else {}), **changes})


def place(found, named=None):
    """The zone, or the code that says why there is none."""
    result = home.find(found, found.servers[0], named)
    return result.finding.code if result.finding is not None else result.zone


def with_volume(zone="az1", **changes):
    return about(servers=[offloaded(volumes=[VOLUME])], volumes={VOLUME: zone}, **changes)


# --- its zone -------------------------------------------------------------------------------------------------


def test_all_that_name_a_zone_must_name_the_same():
    assert place(about()) == "az1"
    assert place(about(pins={WEB: "az1"})) == "az1"
    assert place(about(pins={WEB: "az2"})) == "SG409"
    assert place(about("compute3")) == "SG409", "Nova's record says az1"
    assert place(with_volume("az1")) == "az1"
    assert place(with_volume("az2")) == "SG409"


def test_one_alone_is_enough_and_none_is_not():
    assert place(about(None)) == "az1", "Nova's record"
    unrecorded = [offloaded(availability_zone="")]
    assert place(about("compute3", servers=unrecorded)) == "az2"
    assert place(about(None, servers=unrecorded)) == "SG409"
    assert place(about(None, servers=unrecorded, pins={WEB: "az2"})) == "az2"


def test_the_record_of_a_failed_attempt_names_nothing():
    elsewhere = [offloaded(availability_zone="az2")]
    assert place(about(servers=elsewhere)) == "SG409"
    assert place(about(tried=True, servers=elsewhere)) == "az1"
    assert place(about(None, tried=True)) == "SG409"


def test_what_is_no_zone_any_more_names_nothing():
    assert place(about(servers=[offloaded(availability_zone="gone")], pins={WEB: "gone"})) == "az1"
    assert place(about("removed")) == "az1"
    assert place(with_volume("nova")) == "az1", "one zone for all volumes"


def test_a_person_decides_between_zones_that_are_named():
    assert place(about(pins={WEB: "az2"}), "az2") == "az2"
    assert place(about(None, servers=[offloaded(availability_zone="")]), "az2") == "az2"
    assert place(about(), "az2") == "SG409"
    assert home.find(about(), about().servers[0], "az2").zone == "az2", "for an override"
    assert home.find(about(), about().servers[0], "az9").zone is None, "there is no such zone"


@pytest.mark.parametrize("part", ["aggregates", "services", "pins", "shelved"])
def test_what_is_unread_names_no_zone(part):
    assert place(dataclasses.replace(about(), **{part: None})) == "SG709"


def test_a_volume_that_is_unread_names_no_zone():
    assert place(dataclasses.replace(with_volume(), volumes=None)) == "SG709"
    assert place(dataclasses.replace(with_volume(), volumes={})) == "SG709"


def test_one_on_a_host_is_in_its_hosts_zone():
    assert place(zoned(servers=[server(status="SHELVED")])) == "az1"
    both = [aggregate(1, "az1", "compute1"), aggregate(2, "az2", "compute1")]
    assert place(zoned(servers=[server(status="SHELVED")], aggregates=both)) == "SG709"


# --- the guards -----------------------------------------------------------------------------------------------


def judged(found, disks=READ, named=None):
    decision = preflight.preflight(found, WEB, home.find(found, found.servers[0], named), disks)
    return {item.code for item in decision.checked.findings if item.severity == BLOCKER}, decision.ask


def test_a_healthy_one_is_unshelved_in_its_zone():
    assert judged(about()) == (set(), "az1")
    assert judged(with_volume(), preflight.ShelvedDisks({"i": "active"}, {VOLUME: "reserved"})) == (set(), "az1")
    assert judged(zoned(servers=[server(status="SHELVED")])) == (set(), None)


def test_what_it_is_made_from_must_be_there():
    assert judged(about(), preflight.ShelvedDisks({}, {}))[0] == {"SG710"}
    assert judged(about(), preflight.ShelvedDisks({"i": "deleted", "j": "active"}, {}))[0] == set()
    lost = preflight.ShelvedDisks({"i": "active"}, {VOLUME: "available"})
    assert judged(with_volume(), lost)[0] == {"SG710"}
    assert judged(about(), preflight.ShelvedDisks(None, {}))[0] == {"SG709"}
    assert judged(about(), preflight.ShelvedDisks({"i": "active"}, None))[0] == {"SG709"}
    from_volume = about(servers=[offloaded(image="")])
    assert judged(from_volume, preflight.ShelvedDisks(None, {}))[0] == set(), "it needs no image"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"task_state": "unshelving"}, "SG701"),
        ({"locked": True}, "SG710"),
        ({"status": "PAUSED"}, "SG710"),
    ],
)
def test_its_state_must_allow_it(changes, code):
    assert judged(zoned(servers=[server(**{"status": "SHELVED", **changes})]))[0] == {code}


def test_its_zone_must_take_it():
    assert judged(about(offers={WEB: []}))[0] == {"SG406"}
    assert judged(about(offers={}))[0] == {"SG709"}


def test_a_volume_elsewhere_is_told_where_a_person_named_the_zone():
    found, disks = with_volume("az2"), preflight.ShelvedDisks({"i": "active"}, {VOLUME: "reserved"})
    decision = preflight.preflight(found, WEB, home.find(found, found.servers[0], "az1"), disks)
    assert [item.code for item in decision.checked.findings] == ["SG405"]


def test_a_zone_without_an_aggregate_holds_nobody():
    """In a cloud with one zone there is nowhere to stray to; beside other zones there is."""
    plain = [compute(number, zone="nova") for number in (1, 2, 3)]
    alone = about(aggregates=[], members={}, services=plain, servers=[offloaded(availability_zone="nova")])
    assert judged(alone) == (set(), None)
    beside = dataclasses.replace(alone, aggregates=[aggregate(2, "az2", "compute3")], members=zoned().members)
    assert judged(beside) == ({"SG402"}, None)


# --- its pin --------------------------------------------------------------------------------------------------


def pinned(found, **more):
    result = plan(found, PinRequest(**more))
    if result.problems:
        return result.problems[0].code
    return (result.changes[0].after, result.changes[0].method) if result.changes else None


def test_a_shelved_server_is_pinned_to_its_zone():
    assert pinned(about()) == ("az1", "pin_api")
    assert pinned(about(pins={WEB: "az1"})) is None
    assert pinned(about("compute3")) == "SG409"
    assert pinned(dataclasses.replace(about(), shelved=None)) == "SG709"


def test_the_api_pins_it_only_where_novas_record_says_so():
    found = about(tried=True, servers=[offloaded(availability_zone="az2")])
    assert pinned(found) == "SG705"
    assert pinned(found, has_database=True) == ("az1", "pin_db")
