# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A place that declares its table: read, judged, changed and looked at again without another line of code."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings, lookups
from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.place import (
    DeclaredTable,
    NameTable,
    Text,
    WantedName,
)
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import name_taken
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import preflight as before
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import verify as after
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import schema
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


class Leases(DeclaredTable):
    """Two columns of names, of which a row may have one."""

    text = Text("`leases.host`", "databases", "each row", "the same rows")
    codes = ("SG310", "SG301")
    unread_code = "SG301"
    noun = "lease"


def place_in(database):
    step = "cell_database" if database == "cell" else "api_database"
    table = NameTable(database, "leases", ("host", "backup"), reads=("id", "host", "backup", "about", "deleted"))
    return type("Leases", (Leases,), {"table": table, "steps": (step,)})()


@pytest.fixture(params=["cell", "api"])
def place(request, monkeypatch):
    made = place_in(request.param)
    places = (*catalogue.PLACES, made)
    for owner in (catalogue, after, name_taken):
        monkeypatch.setattr(owner, "PLACES", places)
    fleet.cache_clear()
    yield made
    fleet.cache_clear()


def holding(some, database, rows):
    """The fleet with these rows in the table; None: it was not read."""
    databases = some.cloud.bundle.databases
    owner = databases.cells[0] if database == "cell" else databases.api
    found = {name: other for name, other in owner.name_rows.items() if name != "leases"}
    found.update({} if rows is None else {"leases": rows})
    cloud = some.cloud.cell(1, name_rows=found) if database == "cell" else some.cloud.api_db(name_rows=found)
    return dataclasses.replace(some, cloud=cloud)


def row(number, host, backup=None):
    return facts.NameRow(number, {"host": host, "backup": backup, "about": "x"})


def test_a_healthy_cloud_has_it_in_every_test(place):
    some = fleet()
    names = [entry.name for entry in place.stored(lookups.Index(some.cloud.bundle))]
    assert names.count(some.old) == 2
    assert list(place.unread(lookups.Index(some.cloud.bundle))) == []


def test_a_rename_changes_the_old_name_in_each_column_and_nothing_else(place):
    kind = place.table.database
    rows = [row(1, "compute1"), row(2, "compute2", "compute1"), row(3, "compute2", None), row(4, "COMPUTE1")]
    some = holding(fleet(), kind, rows)
    plan = rename.plan(some.cloud.bundle, some.request)
    (step,) = [step for step in plan.steps if step.name == place.steps[0]]
    mine = [entry for entry in step.params["rows"] if entry["table"] == "leases"]
    assert [(entry["key"], entry["before"], entry["after"]) for entry in mine] == [
        (1, {"host": "compute1"}, {"host": some.new}),
        (2, {"backup": "compute1"}, {"backup": some.new}),
    ]
    assert {entry["database"] for entry in mine} == {"cell:cell1" if kind == "cell" else "api"}
    assert "2 leases" in step.title


def test_the_new_name_in_it_is_taken(place):
    some = holding(fleet(), place.table.database, [row(7, "compute2", "Renamed1")])
    wanted = WantedName("compute1", some.old, frozenset({some.new}), None, None, None)
    found = list(name_taken.check(lookups.Index(some.cloud.bundle), wanted))
    assert [item.code for item in found if isinstance(item, findings.Finding)] == ["SG310"]
    assert "leases.backup" in str(found[0].evidence)


def test_the_old_name_in_it_is_a_leftover(place):
    some = holding(fleet(), place.table.database, [row(7, "compute2", "compute1")])
    renamed = after.RenamedHost("compute1", some.old, some.old, "new", "new", "", 1, "", 1)
    stores = [str(item.evidence) for item in after.leftovers(some.cloud.bundle, renamed).findings]
    assert any("leases.backup" in text for text in stores)


def test_a_table_that_was_not_read_refuses_a_rename(place):
    some = holding(fleet(), place.table.database, None)
    where = "cell:cell1" if place.table.database == "cell" else "api"
    assert [item.code for item in place.unread(lookups.Index(some.cloud.bundle))] == ["SG301"]
    checked = before.preflight_rename(some.cloud.bundle, some.request)
    gaps = [item.evidence["part"] for item in checked.findings if item.code == "SG709"]
    assert f"databases.{where}.leases" in gaps


def test_a_database_that_was_not_read_is_said(place):
    bundle = dataclasses.replace(fleet().cloud.bundle, databases=None)
    assert [item.code for item in place.unread(lookups.Index(bundle))] == ["SG301"]


def test_a_rename_needs_the_right_to_write_it(place):
    assert catalogue.written(place.table.database)["leases"] == ("host", "backup")
    assert catalogue.declared(place.table.database)["leases"] == place.table
    assert "leases" not in schema.COLUMNS[place.table.database]
    assert builders.name_rows(place.table.database, {1: "compute1"})["leases"][0].values["host"] == "compute1"
