# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an adoption does on real servers beside a rename: rows made and deleted, a second service put aside."""

from __future__ import annotations

import pytest
from world import CELL1, World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import row_sets
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import rows as row_changes

MAPPING = {"table": "host_mappings", "id": 7, "host": "cn7", "cell": CELL1}
MEMBER = {"table": "aggregate_hosts", "id": 8, "host": "cn7", "aggregate_id": 1}
MADE = {"table": "host_mappings", "host": "new", "cell": CELL1}


def twice(world: World) -> None:
    world.insert("api", "host_mappings", id=7, cell_id=2, host="cn7")
    world.insert("api", "aggregate_hosts", id=8, host="cn7", aggregate_id=1)
    if world.server.backend == "postgresql":
        # Rows with a number of their own leave the sequence where it was.
        world.server.run("SELECT setval('host_mappings_id_seq', 100)", world.names["api"])


def test_there_and_back_any_number_of_times(world: World) -> None:
    twice(world)
    before, url = world.everything(), world.url("api")
    assert row_sets.delete_and_make(url, [MAPPING, MEMBER], [MADE]) == (2, 1)
    after = world.everything()
    assert [host for _id, host in after["mappings"] if host in ("cn7", "new")] == ["new"]
    assert ("cn7" in [host for _id, host in after["members"]]) is False
    assert row_sets.delete_and_make(url, [MAPPING, MEMBER], [MADE]) == (0, 0)
    assert row_sets.delete_and_make(url, [MADE], [MAPPING, MEMBER]) == (1, 2)
    assert world.everything() == before
    assert row_sets.delete_and_make(url, [MADE], [MAPPING, MEMBER]) == (0, 0)


def test_a_mapping_of_another_cell_and_an_unknown_cell_change_nothing(world: World) -> None:
    twice(world)
    before, url = world.everything(), world.url("api")
    world.update("api", "host_mappings", 7, cell_id=1)
    with pytest.raises(Conflict, match="another cell"):
        row_sets.delete_and_make(url, [MEMBER, MAPPING], [])
    with pytest.raises(Conflict, match="no cell"):
        row_sets.delete_and_make(url, [MEMBER], [{**MADE, "cell": uid("cell", 99)}])
    assert world.everything() == before


def test_the_last_word_is_before_the_commit(world: World) -> None:
    twice(world)
    before = world.everything()

    def taken_over() -> None:
        raise Conflict("another run has the operation")

    with pytest.raises(Conflict, match="another run"):
        row_sets.delete_and_make(world.url("api"), [MAPPING], [MADE], before_commit=taken_over)
    assert world.everything() == before


def test_a_name_in_another_case_is_another_row(world: World) -> None:
    twice(world)
    assert row_sets.delete_and_make(world.url("api"), [{**MAPPING, "host": "CN7"}], []) == (0, 0)


def test_a_second_service_is_put_aside_and_what_nova_deletes_with_it_is_known(any_release: World) -> None:
    world = any_release
    world.service(9, "cn7")
    world.node(9, "cn7", "cn7.example")
    before, url = world.everything(), world.url("cell")
    guard = {"host": "cn7", "uuid": uid("node", 9), "hypervisor_hostname": "cn7.example", "deleted": 0}
    rows = [
        RowChange("cell:cell1", "services", "id", 9, {"host": "cn7", "deleted": 0}, {"host": "aside"}, "second"),
        RowChange(
            "cell:cell1", "compute_nodes", "id", 9, guard, {"host": "aside", "hypervisor_hostname": "aside"}, "node"
        ),
    ]
    assert row_changes.apply_row_changes(url, rows).changed == 2
    assert row_sets.nodes_of_service(url, 9, "aside") == [(9, uid("node", 9))]
    by_id = 9 if world.has_compute_id else None
    assert row_sets.instances_of_node(url, by_id, "aside") == 0
    assert row_sets.instances_of_node(url, 1 if world.has_compute_id else None, "compute1") >= 2
    assert sorted(row.table for row in row_sets.still_there(url, rows)) == ["compute_nodes", "services"]
    # The true node's link leads to the second service: deleted with it.
    world.update("cell", "compute_nodes", 1, service_id=9)
    assert [number for number, _uuid in sorted(row_sets.nodes_of_service(url, 9, "aside"))] == [1, 9]
    world.update("cell", "compute_nodes", 1, service_id=1)
    assert row_changes.apply_row_changes(url, [row.reversed() for row in rows]).changed == 2
    assert world.everything() == before
    world.update("cell", "services", 9, deleted=9)
    assert row_sets.still_there(url, rows) == rows[1:]
    assert row_sets.still_there(url, []) == []
