# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A table that a place of the host name declares, on real servers: read, changed, and kept complete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from world import World

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import NameRow
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.place import DeclaredTable, NameTable
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova, schema
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db.rows import Completeness


class Leases(DeclaredTable):
    """A table that no release of Nova has."""

    codes = ("SG301",)
    unread_code = "SG301"


@pytest.fixture(params=["cell", "api"])
def kind(request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    kind = request.param
    table = NameTable(kind, "leases", ("host", "backup"), reads=("id", "host", "backup", "deleted"))
    place = type("Place", (Leases,), {"table": table})()
    monkeypatch.setattr(catalogue, "PLACES", (*catalogue.PLACES, place))
    monkeypatch.setitem(schema.DECLARED, kind, {**schema.DECLARED[kind], "leases": table.reads})
    monkeypatch.setitem(schema.UPDATES, kind, catalogue.written(kind))
    schema.table.cache_clear()
    columns = "id INTEGER PRIMARY KEY, host VARCHAR(255), backup VARCHAR(255), deleted INTEGER"
    world.server.run(f"CREATE TABLE leases ({columns})", world.names[kind])
    world.insert(kind, "leases", id=1, host="compute1", backup="compute2", deleted=0)
    world.insert(kind, "leases", id=2, host="compute2", backup="Compute1", deleted=0)
    world.insert(kind, "leases", id=3, host="compute1", backup=None, deleted=3)
    world.insert(kind, "leases", id=4, host="compute2", backup=None, deleted=0)
    yield kind
    world.server.run("DROP TABLE leases", world.names[kind])
    schema.table.cache_clear()


def rows(world: World, kind: str, *hosts: str) -> list[NameRow]:
    read = nova.read_databases(world.options(), hosts)
    owner = read.api if kind == "api" else (read.cells or [None])[0]
    assert owner is not None
    assert owner.unread == []
    return owner.name_rows["leases"]


def change(kind: str, world: World) -> RowChange:
    where = "cell:cell1" if kind == "cell" else "api"
    return RowChange(where, "leases", "id", 1, {"host": "compute1"}, {"host": "cn7"}, "lease 1")


def test_live_rows_are_read_by_either_column_in_any_case(world: World, kind: str) -> None:
    assert [row.id for row in rows(world, kind)] == [1, 2, 4]
    found = rows(world, kind, "compute1")
    assert found[0] == NameRow(1, {"host": "compute1", "backup": "compute2"})
    assert [row.id for row in found] == [1, 2]


def test_a_table_that_is_not_there_is_unread_and_takes_nothing_with_it(world: World, kind: str) -> None:
    world.server.run("ALTER TABLE leases RENAME TO other", world.names[kind])
    try:
        read = nova.read_databases(world.options())
    finally:
        world.server.run("ALTER TABLE other RENAME TO leases", world.names[kind])
    owner = read.api if kind == "api" else (read.cells or [None])[0]
    assert owner is not None
    assert [entry.part for entry in owner.unread] == ["leases"]
    assert "leases" not in owner.name_rows


def test_a_row_that_appeared_meanwhile_stops_the_rename(world: World, kind: str) -> None:
    url = world.url(kind)
    changes = [*(world.cell_changes() if kind == "cell" else world.api_changes()), change(kind, world)]
    complete = Completeness("compute1", "compute1.example" if kind == "cell" else None)
    with pytest.raises(Conflict, match="leases id=2"):
        nova.apply_row_changes(url, changes, complete)
    assert world.rows(kind, "leases", "host")[0] == (1, "compute1")
    world.update(kind, "leases", 2, backup=None)
    assert nova.apply_row_changes(url, changes, complete).changed == len(changes)
    assert world.rows(kind, "leases", "host")[0] == (1, "cn7")
