# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers are pinned, and how; and that done twice, or taken back, nothing is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import steps as zone_pins
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins.plan import (
    OldPin,
    PinRequest,
    old_pins,
    plan,
    recorded,
    recorded_table,
    table,
    told,
    without_changed,
)
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, aggregate, server, zoned
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova

REQUEST = PinRequest()
WITH_DATABASE = PinRequest(has_database=True)


def one(about, request=REQUEST):
    """The change, or the code of the problem, or None where all is right."""
    found = plan(about, request)
    if found.problems:
        return found.problems[0].code
    return (found.changes[0].before, found.changes[0].after, found.changes[0].method) if found.changes else None


def test_an_unpinned_server_is_pinned_to_where_it_is():
    assert one(zoned()) == (None, "az1", "pin_api")
    assert one(zoned(servers=[server(host="compute3")])) == (None, "az2", "pin_api")
    assert one(zoned(compute_max_microversion="2.96"), WITH_DATABASE) == (None, "az1", "pin_db")


def test_one_that_is_pinned_there_is_left_alone():
    assert one(zoned(pins={WEB: "az1"})) is None


def test_a_pin_that_holds_nowhere_is_replaced_in_the_database_only():
    assert one(zoned(pins={WEB: "nova"}), WITH_DATABASE) == ("nova", "az1", "pin_db")
    assert one(zoned(pins={WEB: "nova"})) == "SG705"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"pins": {}}, "SG709"),
        ({"pins": None}, "SG709"),
        ({"aggregates": None}, "SG709"),
        ({"pins": {WEB: "az2"}}, "SG404"),
        ({"servers": [server(host=None)]}, "SG709"),
        ({"servers": [server(task_state="resize_prep")]}, "SG701"),
        ({"aggregates": [], "members": {}}, "SG402"),
        ({"aggregates": [aggregate(1, "az1", "compute1"), aggregate(2, "az2", "compute1")]}, "SG709"),
        ({"compute_max_microversion": "2.96"}, "SG705"),
    ],
)
def test_what_cannot_be_pinned_is_told(changes, code):
    if changes.get("aggregates") == []:
        changes["services"] = [row.__class__(**{**row.__dict__, "zone": "nova"}) for row in zoned().services]
    assert one(zoned(**changes)) == code


def test_another_zone_than_asked_for_is_refused():
    assert one(zoned(), PinRequest(zone="az2")) == "SG404"
    assert one(zoned(), PinRequest(zone="az1")) == (None, "az1", "pin_api")


def test_unpinning():
    assert one(zoned(pins={WEB: "az1"}), PinRequest(state="unpinned")) == ("az1", None, "pin_api")
    assert one(zoned(), PinRequest(state="unpinned")) is None


@given(
    st.sampled_from([None, "nova", "az1", "az2"]),
    st.sampled_from(["2.90", "2.104"]),
    st.booleans(),
    st.sampled_from(["auto", "pin_api", "pin_db"]),
    st.sampled_from(["pinned", "unpinned"]),
)
def test_whatever_is_changed_can_be_taken_back_and_twice_is_once(pin, offered, database, strategy, state):
    about = zoned(pins={WEB: pin}, compute_max_microversion=offered)
    request = PinRequest(state, None, strategy, database)
    for change in plan(about, request).changes:
        assert change.before == pin
        after = zoned(pins={WEB: change.after}, compute_max_microversion=offered)
        assert plan(after, request).changes == []
        back = plan(after, PinRequest(strategy="auto", has_database=True, restore={WEB: old(pin, change.after)}))
        assert [row.after for row in back.changes] == [pin]


def old(before, *written):
    return OldPin(WEB, "web1", before, written)


@pytest.mark.parametrize(
    ("kept", "now", "whose"),
    [
        (old(None, "az2"), "az1", "others"),
        (old("az1", "az2"), "az1", "already"),
        # What was written once and is the old pin again needs no restore.
        (old(None, "az1", None), None, "already"),
        (old(None, "az1", "az2"), "az1", "changes"),
    ],
)
def test_what_somebody_else_changed_since_is_not_taken_back(kept, now, whose):
    found = plan(zoned(pins={WEB: now}), PinRequest(restore={WEB: kept}))
    assert [bool(getattr(found, name)) for name in ("changes", "already", "others", "problems")] == [
        whose == name for name in ("changes", "already", "others", "problems")
    ]


# --- the file ---------------------------------------------------------------------------------------------------


def row(before, after, **more):
    return {"server": WEB, "name": "web1", "before": before, "after": after, **more}


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([], None),
        ([row(None, "az1")], old(None, "az1")),
        # Killed before its change, and after it.
        ([row(None, "az1"), row(None, "az1")], old(None, "az1", "az1")),
        ([row(None, "az1"), row("az1", None)], old(None, "az1", None)),
        ([row("nova", "az1"), row("az1", None), row(None, "az2")], old("nova", "az1", None, "az2")),
        # Somebody else was there in between.
        ([row(None, "az1"), row("az9", None)], old("az9", None)),
        ([row(None, "az1"), row("az1", None, restores=True)], old(None, "az1")),
    ],
)
def test_what_a_run_wrote_is_never_an_old_pin(rows, kept):
    assert old_pins(rows).get(WEB) == kept


@given(st.lists(st.sampled_from([None, "az1", "az2", "nova"]), min_size=1, max_size=6), st.data())
def test_however_often_a_run_is_killed_and_run_again_the_first_pin_is_kept(goals, data):
    """Each run writes its row down; whether its change was made, nobody knows."""
    now, first, rows = "old", "old", []
    for goal in goals:
        rows.append(row(now, goal))
        now = data.draw(st.sampled_from([now, goal]))
    kept = old_pins(rows)[WEB]
    assert kept.before == first
    assert now == first or kept.was_written(now)


@pytest.mark.parametrize(
    ("shown", "deleted", "pins", "state"),
    [
        (True, False, {WEB: "az1"}, "as written"),
        (True, False, {WEB: None}, "as before"),
        (True, False, {WEB: "az2"}, "changed by another user"),
        (True, False, {}, "not read"),
        (True, False, None, "not read"),
        (False, True, {}, "deleted"),
        (False, False, {}, "not shown by Nova"),
    ],
)
def test_what_is_recorded_is_told_beside_what_is_now(shown, deleted, pins, state):
    found = recorded(old(None, "az1"), shown, deleted, pins)
    assert (found.state, found.before, found.written) == (state, None, ["az1"])
    assert recorded_table([found]).splitlines()[1].split()[:4] == [WEB, "web1", "-", "az1"]


def test_the_table_names_every_change():
    other = guest(2, 1)
    servers = [server(), server(id=other, name="db1", host="compute3")]
    shown = table(plan(zoned(servers=servers, pins={WEB: None, other: None}), REQUEST)).splitlines()
    assert len(shown) == 3
    assert shown[1].split() == [WEB, "web1", "compute1", "-", "az1", "pin_api"]


def test_the_report_tells_of_all_zones_and_of_each_thing_once():
    two = [aggregate(1, "az1", "compute1", "compute2"), aggregate(2, "az2", "compute3", "compute2")]
    about = zoned(pins={WEB: "az2"}, aggregates=two)
    codes = [item.code for item in told(about, plan(about, REQUEST)).findings]
    assert sorted(codes) == ["SG403", "SG404", "SG408"]
    assert told(zoned(), plan(zoned(), REQUEST)).findings[0].code == "SG401"


def test_only_what_keeps_a_server_from_being_pinned_forbids_a_run():
    two = [aggregate(1, "az1", "compute1", "compute2"), aggregate(2, "az2", "compute3", "compute2")]
    other = guest(2, 1)
    servers = [server(), server(id=other, name="db1", host="compute3")]
    about = zoned(servers=servers, pins={WEB: "az2", other: "nova"}, aggregates=two)
    found = plan(about, WITH_DATABASE)
    blockers = {item.code for item in told(about, found).findings if item.severity == "blocker"}
    assert blockers == {"SG404"}
    left_out = told(about, found, accepted=True)
    assert {item.severity for item in left_out.findings} == {"warning"}
    assert "SG404" in {item.code for item in left_out.findings}


def test_what_a_change_settles_is_not_in_the_report_of_the_run():
    other = guest(2, 1)
    servers = [server(), server(id=other, name="db1", host="compute3")]
    about = zoned(servers=servers, pins={WEB: None, other: None})
    found = told(about, plan(about, REQUEST))
    assert [item.object.id for item in without_changed(found, {WEB}).findings] == [other]


# --- carried out ----------------------------------------------------------------------------------------------


def test_it_is_done_and_proven():
    nova, said = Nova(), []
    changes = plan(zoned(), REQUEST).changes
    (done,) = zone_pins.carry_out(nova, None, changes, said.append)
    assert (done.outcome, nova.server["pin"]) == ("changed", "az1")
    (again,) = zone_pins.carry_out(nova, None, changes, said.append)
    assert (again.outcome, again.not_made) == ("already", True)
    assert len(said) == 2


@pytest.mark.parametrize(
    ("state", "outcome"),
    [({"task": "resize_prep"}, "failed"), ({"pin": "other"}, "failed"), (None, "gone"), ("hidden", "failed")],
)
def test_what_changed_meanwhile_is_left_alone(state, outcome):
    nova = Nova()
    if state is None:
        nova.server = None
    elif state == "hidden":
        nova.hidden = True
    else:
        nova.server.update(state)
    (done,) = zone_pins.carry_out(nova, None, plan(zoned(), REQUEST).changes, [].append)
    assert done.outcome == outcome
    assert nova.calls == []
