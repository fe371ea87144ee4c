# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many rows with values of their own, written with few statements: each gets its own value, or none gets any."""

from __future__ import annotations

import typing as t

import pytest
import sqlalchemy as sa
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, links, rows, schema

#: More kinds of change than have a statement each, in more rows than one statement has.
COUNT = rows.EACH + rows.KINDS + 20


@pytest.fixture
def many(world: World) -> World:
    """COUNT hosts, each with a node and an instance that links nothing."""
    for number in range(100, 100 + COUNT):
        world.service(number, f"host{number}")
        world.node(number, f"host{number}", f"host{number}.example")
        world.instance(number, f"host{number}", f"host{number}.example")
        world.update("cell", "instances", number, compute_id=None)
    return world


def changes(**of: t.Any) -> list[RowChange]:
    """The link of each instance. ``of``: another host that an instance is expected to have."""
    return [
        RowChange(
            "cell:cell1",
            "instances",
            "id",
            number,
            {
                "uuid": uid("instance", number),
                "host": of.get(f"i{number}", f"host{number}"),
                "node": f"host{number}.example",
                "compute_id": None,
                "deleted": 0,
            },
            {"compute_id": number},
            f"instance {number}",
        )
        for number in range(100, 100 + COUNT)
    ]


def linked(world: World) -> dict[t.Any, t.Any]:
    return {row[0]: row[1] for row in world.rows("cell", "instances", "compute_id") if int(str(row[0])) >= 100}


def statements(world: World, work: t.Callable[[sa.Connection], None]) -> list[str]:
    """Carry out work in a transaction; return its UPDATE statements."""
    seen: list[str] = []
    with engine.transaction(world.url("cell")) as connection:
        sa.event.listen(
            connection, "before_cursor_execute", lambda _c, _k, text, *_more: seen.append(text.partition(" ")[0])
        )
        work(connection)
    return [word for word in seen if word == "UPDATE"]


def update(made: t.Sequence[RowChange]) -> t.Callable[[sa.Connection], None]:
    return lambda connection: rows.update(connection, schema.CELL, made)


def test_each_row_gets_its_own_value_and_back(many: World) -> None:
    wanted = {number: number for number in range(100, 100 + COUNT)}
    assert len(statements(many, update(changes()))) == 2
    assert linked(many) == wanted
    back = [change.reversed() for change in changes()]
    assert len(statements(many, update(back))) == 2
    assert set(linked(many).values()) == {None}


def test_a_row_that_is_not_as_expected_keeps_all(many: World) -> None:
    """It was compared under its lock before; the statement guards it once more."""
    with pytest.raises(Conflict), engine.transaction(many.url("cell")) as connection:
        rows.update(connection, schema.CELL, changes(i105="host106"))
    assert set(linked(many).values()) == {None}


def test_one_statement_links_each_instance_to_the_node_of_its_names(many: World) -> None:
    wanted = {number: number for number in range(100, 100 + COUNT)}
    assert len(statements(many, lambda connection: links.set_nodes(connection, wanted))) == 1
    assert linked(many) == wanted


@pytest.mark.parametrize("wrong", [101, 4711], ids=["another host's node", "no node"])
def test_a_node_of_other_names_is_linked_by_nobody(many: World, wrong: int) -> None:
    with pytest.raises(Conflict), engine.transaction(many.url("cell")) as connection:
        links.set_nodes(connection, {100: wrong, 102: 102})
    assert set(linked(many).values()) == {None}


def test_a_deleted_node_is_linked_by_nobody(many: World) -> None:
    many.update("cell", "compute_nodes", 100, deleted=100)
    with pytest.raises(Conflict), engine.transaction(many.url("cell")) as connection:
        links.set_nodes(connection, {100: 100, 102: 102})
    assert set(linked(many).values()) == {None}


def test_names_that_differ_in_case_are_not_the_nodes_names(many: World) -> None:
    """To MySQL's own comparison they are."""
    many.instance(900, "HOST100", "host100.EXAMPLE")
    many.update("cell", "instances", 900, compute_id=None)
    with pytest.raises(Conflict), engine.transaction(many.url("cell")) as connection:
        links.set_nodes(connection, {900: 100, 102: 102})
    assert set(linked(many).values()) == {None}
