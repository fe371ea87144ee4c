# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones: a case that raises each code and one that does not, and how a resize is kept in its zone."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import zones
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ResizeRequest
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import preflight as resize
from ansible_collections.stackguard.nova.tests.unit.builders import AT, node, uid
from ansible_collections.stackguard.nova.tests.unit.zoned import (
    WEB,
    aggregate,
    compute,
    server,
    zoned,
)

PINNED = {WEB: "az1"}


def told(about):
    return {item.code for item in zones.check(about).findings}


def undecided(about):
    return {item.code for item in zones.check(about).unchecked}


def request(**changes):
    return ResizeRequest(**{"server": WEB, "flavor": "2", "flavor_name": "m1.large", **changes})


def judged(about, **changes):
    """Blockers of a resize that no override passes."""
    found = resize.preflight(about, request(**changes)).checked.findings
    return {item.code for item in findings.blocking_findings(found, [])}


# --- each code ------------------------------------------------------------------------------------------------


def test_a_server_pinned_to_its_zone_passes():
    assert zones.check(zoned(pins=PINNED)) == findings.Checked()


def test_401_a_server_without_a_pin():
    assert told(zoned()) == {"SG401"}


def test_402_a_pin_that_no_aggregate_carries_is_no_pin():
    assert told(zoned(pins={WEB: "nova"})) == {"SG402"}
    nova = [*zoned().aggregates, aggregate(3, "nova")]
    assert "SG402" not in told(zoned(pins={WEB: "nova"}, aggregates=nova, members=None))


def test_403_a_host_in_two_zones():
    two = [aggregate(1, "az1", "compute1", "compute2"), aggregate(2, "az2", "compute3", "compute2")]
    assert "SG403" in told(zoned(aggregates=two))
    same = [
        aggregate(1, "az1", "compute1", "compute2"),
        aggregate(2, "az1", "compute2"),
        aggregate(3, None, "compute2"),
    ]
    assert "SG403" not in told(zoned(aggregates=same))


def test_404_a_server_outside_its_pin():
    assert told(zoned(pins={WEB: "az2"})) == {"SG404"}
    assert "SG404" not in told(zoned(pins={WEB: "az2"}, servers=[server(host="compute3")]))
    assert "SG404" not in told(zoned(pins={WEB: "az2"}, servers=[server(host=None)])), "shelved: it is nowhere"


def test_405_a_volume_in_another_zone():
    away = {"servers": [server(volumes=["v1"])], "pins": PINNED}
    assert told(zoned(**away, volumes={"v1": "az2"})) == {"SG405"}
    assert told(zoned(**away, volumes={"v1": "az1"})) == set()
    assert told(zoned(**away, volumes={"v1": "nova"})) == set(), "a lone default zone of volumes says nothing"
    assert undecided(zoned(**away, volumes=None)) == {"SG405"}
    assert undecided(zoned(**away, volumes={})) == {"SG405"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"services": [compute(1), compute(2, state="down"), compute(3)]}, "down"),
        ({"services": [compute(1), compute(2, status="disabled", disabled_reason="disks"), compute(3)]}, "disks"),
        ({"services": [compute(1), compute(2, forced_down=True), compute(3)]}, "down"),
        ({"offers": {WEB: [node(1)]}}, "placement does not offer this host"),
        ({"offers": {WEB: [node(3)]}}, "placement does not offer this host"),
    ],
)
def test_406_no_room_in_the_zone(changes, why):
    decision = resize.preflight(zoned(**changes), request())
    (item,) = [item for item in decision.checked.findings if item.code == "SG406"]
    assert why in " ".join(item.evidence["hosts"]["compute2"])
    assert "compute3" not in item.evidence["hosts"], "another zone's host is never a candidate"


def test_406_not_where_there_is_room():
    assert judged(zoned()) == set()


def test_406_its_own_host_counts_only_where_nova_resizes_there():
    alone = zoned(offers={WEB: [node(1)]})
    assert judged(alone) == {"SG406"}
    assert judged(alone, same_host=True) == set()


def test_407_where_it_landed():
    assert zones.landed(server(host="compute3"), "az1", "az2", "").code == "SG407"
    assert zones.landed(server(), "az1", None, "").code == "SG407", "a zone that cannot be told is another one"
    assert zones.landed(server(), "az1", "az1", "") is None


@pytest.mark.parametrize("members", [[node(1)], [node(1), node(2), node(3)], []])
def test_408_placement_has_other_hosts_than_nova(members):
    about = zoned(pins=PINNED, members={uid("aggregate", 1): members, uid("aggregate", 2): [node(3)]})
    assert told(about) == {"SG408"}


def test_408_is_not_decided_for_a_host_that_the_api_hides():
    about = zoned(pins=PINNED, hypervisors=zoned().hypervisors[1:])
    assert told(about) == set()
    assert undecided(about) == {"SG408"}


@pytest.mark.parametrize("part", ["aggregates", "members", "hypervisors", "pins", "servers"])
def test_what_is_unread_accuses_nobody_and_is_told(part):
    about = zoned(pins=PINNED, servers=[server(volumes=["v1"])], volumes={"v1": "az1"})
    without = facts.from_plain(facts.ZoneFacts, {**facts.to_plain(about), part: None})
    assert told(without) == set()
    assert undecided(without)


# --- a resize -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["aggregates", "services", "hypervisors", "pins", "servers", "offers"])
def test_a_resize_with_something_unread_is_refused(part):
    assert "SG709" in judged(zoned(**{part: None}))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"task_state": "image_snapshot"}, "SG701"),
        ({"status": "VERIFY_RESIZE"}, "SG703"),
        ({"status": "ERROR"}, "SG710"),
        ({"locked": True}, "SG710"),
    ],
)
def test_a_resize_of_a_server_that_is_busy_is_refused(changes, code):
    assert judged(zoned(servers=[server(**changes)])) == {code}


def test_a_resize_of_a_server_outside_its_pin_is_refused():
    assert judged(zoned(pins={WEB: "az2"})) == {"SG404"}


def test_a_resize_from_a_host_in_two_zones_is_refused():
    two = [aggregate(1, "az1", "compute1", "compute2"), aggregate(2, "az2", "compute3", "compute1")]
    assert {"SG403", "SG709"} <= judged(zoned(aggregates=two))


def test_a_resize_of_no_server_is_refused():
    assert judged(zoned(servers=[])) == {"SG710"}


CHOICES = [
    # strategy, microversion, database, pin -> method
    ("auto", "2.104", False, None, "pin_api"),
    ("auto", "2.103", True, None, "pin_db"),
    ("auto", "2.103", False, None, "verify"),
    ("auto", "2.104", True, "nova", "pin_db"),
    ("auto", "2.104", False, "nova", "verify"),
    ("auto", "2.90", False, "az1", "pinned"),
    ("verify", "2.104", True, None, "verify"),
    ("pin_db", "2.104", True, None, "pin_db"),
    ("pin_db", "2.104", False, None, None),
    ("pin_api", "2.100", True, None, None),
    ("pin_api", "2.104", True, "nova", None),
]


@pytest.mark.parametrize(("strategy", "offered", "database", "pin", "method"), CHOICES)
def test_how_it_is_kept_there(strategy, offered, database, pin, method):
    about = zoned(compute_max_microversion=offered, pins={WEB: pin})
    decision = resize.preflight(about, request(strategy=strategy, has_database=database))
    assert decision.choice.method == method
    assert decision.choice.why
    assert judged(about, strategy=strategy, has_database=database) == (set() if method else {"SG705"})


def test_a_zone_without_an_aggregate_can_only_be_compared():
    about = zoned(services=[compute(number, zone="nova") for number in (1, 2, 3)], aggregates=[], members={})
    decision = resize.preflight(about, request(has_database=True))
    assert (decision.zone, decision.choice.method) == ("nova", "verify")
    assert judged(about, strategy="pin_api") == {"SG705"}


@given(
    st.sampled_from(["auto", "pin_api", "pin_db", "verify"]),
    st.sampled_from(["2.90", "2.96", "2.104"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "nova", "az1"]),
)
def test_nothing_is_pinned_in_a_way_that_is_not_there(strategy, offered, database, carried, pin):
    holds = carried and pin == "az1"
    choice = resize.choose(strategy, offered, database, carried, pin, holds)
    if choice.method == "pin_api":
        assert (offered, carried, pin) == ("2.104", True, None)
    if choice.method == "pin_db":
        assert database
        assert carried
    assert (choice.method == "pinned") == holds
    if strategy == "auto":
        assert choice.method is not None


# --- its plan -------------------------------------------------------------------------------------------------


def steps_of(method, **changes):
    asked = request(**changes)
    return [step.name for step in plans.plan(asked, server(), "az1", None, method, "why").steps]


def test_the_plan_compares_before_it_confirms_and_unpins_at_the_end():
    assert steps_of("pin_api") == ["pin", "resize", "compare", "confirm", "unpin"]
    assert steps_of("pin_db", keep_pin=True) == ["pin", "resize", "compare", "confirm"]
    assert steps_of("verify") == steps_of("pinned") == ["resize", "compare", "confirm"]
    assert steps_of("pin_api", confirm=False) == ["pin", "resize", "compare", "unpin"]


def test_reports_of_the_same_facts_are_the_same():
    one, other = (findings.report(zones.check(zoned()), AT, 0, 1) for _time in range(2))
    assert one == other


def remedies(**changes):
    facts = zoned(**changes)
    return [item.remedy for item in zones.check(facts).findings if item.code == "SG402"]


@pytest.mark.parametrize("name", ["nova", "standard"])
def test_a_pin_to_the_default_zone_is_never_answered_with_an_aggregate(name):
    """R14: Nova's documentation forbids to ask for the default zone, and to give its name to an aggregate."""
    services = [
        *zoned().services,
        dataclasses.replace(zoned().services[0], id="lone", host="lonely", zone=name),
    ]
    (remedy,) = remedies(pins={WEB: name}, services=services)
    assert "aggregate" not in remedy
    assert "pin_servers" in remedy
    assert "unpin" in remedy.lower()


def test_a_pin_to_a_zone_that_was_renamed_may_get_its_zone_back():
    (remedy,) = remedies(pins={WEB: "az-old"})
    assert "aggregate" in remedy
