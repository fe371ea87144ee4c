# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The places of a host name: none is changed and then not looked at, none is written beyond what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings, lookups
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import from_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.catalogue import PLACES, in_database
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import verify as after
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import schema
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import ovn_fleet
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet, fleets

CHANGED = [place for place in PLACES if place.steps]


def name_of(place):
    return type(place).__name__


def renamed(some):
    return after.RenamedHost("compute1", some.old, some.old, "new", "new", "", 1, "", 1)


def test_each_place_is_in_the_catalogue_once_with_a_text_and_known_codes():
    assert len({type(place) for place in PLACES}) == len(PLACES) == len({place.text.place for place in PLACES})
    for place in PLACES:
        assert set(place.codes) <= set(findings.CATALOGUE), name_of(place)
        assert all((place.text.read_with, place.text.change, place.text.rollback, place.text.remains)), name_of(place)


def test_each_step_that_a_place_names_is_in_a_plan():
    some = fleet()
    without = some.request.__class__(**{**some.request.__dict__, "has_neutron_db": False})
    plans = [rename.plan(some.cloud.bundle, request) for request in (some.request, without)]
    plans.append(rename.plan(ovn_fleet().cloud.bundle, ovn_fleet().request))
    steps = {step.name for made in plans for step in made.steps}
    assert {step for place in PLACES for step in place.steps} <= steps


@pytest.mark.parametrize("place", CHANGED, ids=name_of)
def test_a_place_that_a_rename_changes_is_looked_at_when_it_ends(place, monkeypatch):
    """The old name in this place alone is a leftover: none is changed and then not looked at."""
    some = ovn_fleet() if "ovn" in place.steps[0] or place.steps == ("neutron_bindings",) else fleet()
    monkeypatch.setattr(after, "PLACES", (place,))
    found = after.leftovers(some.cloud.bundle, renamed(some)).findings
    stored = [entry for entry in place.stored(lookups.Index(some.cloud.bundle)) if entry.name == some.old]
    assert found, "the fleet has no old name in this place: the test proves nothing"
    assert {item.object for item in found} <= {entry.subject for entry in stored}


@settings(max_examples=40, deadline=None)
@given(fleets())
def test_a_plan_writes_each_table_as_its_place_says(some):
    plan = rename.plan(some.cloud.bundle, some.request)
    rows = [
        from_plain(RowChange, row)
        for step in plan.steps
        if step.action in ("cell_rows", "api_rows")
        for row in step.params["rows"]
    ]
    columns = {
        (kind, place.table.table): place.table.columns
        for kind in (schema.CELL, schema.API)
        for place in in_database(kind)
    }
    assert rows
    for row in rows:
        assert set(row.after) <= set(columns[row.database.partition(":")[0], row.table]), row


def test_each_table_that_a_place_writes_is_read_with_the_same_columns():
    for place in PLACES:
        if place.table is not None:
            read = schema.columns_of(place.table.database, place.table.table)
            assert {*place.table.columns, *place.table.beside} <= set(read), name_of(place)


def test_what_a_place_declares_is_complete_and_in_a_database_of_nova():
    """Neutron's rows are written by a step of their own; a table that two places declare would be read once only."""
    tables = [place.table for place in PLACES if place.table is not None and place.table.reads]
    assert len({(table.database, table.table) for table in tables}) == len(tables)
    for table in tables:
        assert table.database in (schema.CELL, schema.API), table
        assert table.reads[0] == "id", table
        assert {*table.columns, *table.beside} <= set(table.reads), table
