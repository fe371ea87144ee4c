# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The row of an arrived server on real servers: read with what holds it, and corrected only if it is as it was read."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

import pytest
from world import NOW, World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.arrival import ArrivedRow
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import arrivals

SERVER = uid("instance", 7)
#: As Nova's models have them (nova/db/main/models.py), without what is not read.
TABLES = {
    "instance_extra": """instance_uuid VARCHAR(36) NOT NULL, numa_topology TEXT, pci_requests TEXT,
    migration_context TEXT, resources TEXT""",
    "block_device_mapping": "instance_uuid VARCHAR(36), destination_type VARCHAR(255), deleted INTEGER",
}
COLUMNS = ("host", "node", "task_state", "progress", "updated_at", "deleted")


@pytest.fixture
def lost(any_release: World) -> t.Iterator[World]:
    """Server 7 is on compute1 in its row, and its live migration to compute2 is completed."""
    world = any_release
    for name, columns in TABLES.items():
        world.server.run(f"DROP TABLE IF EXISTS {name}", world.names["cell"])
        world.server.run(f"CREATE TABLE {name} ({columns})", world.names["cell"])
    world.instance(7, "compute1", "compute1.example")
    world.update("cell", "instances", 7, task_state="migrating", updated_at=NOW, progress=97)
    world.migration(70, "compute1", "compute2", "completed", "live-migration", instance=SERVER)
    world.update("cell", "migrations", 70, updated_at=NOW)
    world.insert("cell", "instance_extra", instance_uuid=SERVER, pci_requests="[]")
    yield world
    for name in TABLES:
        world.server.run(f"DROP TABLE {name}", world.names["cell"])


def change_of(world: World) -> ArrivedRow:
    rows = arrivals.read_arrival(world.options(), SERVER)
    (row,) = rows.cell.instances or []
    (node,) = [entry for entry in rows.cell.compute_nodes or [] if entry.host == "compute2"]
    return ArrivedRow(
        cell=rows.cell.name,
        id=row.id,
        uuid=row.uuid,
        host=str(row.host),
        node=row.node,
        compute_id=row.compute_id,
        task=row.task_state,
        written=rows.row_written,
        dest=str(node.host),
        dest_node=str(node.hypervisor_hostname),
        dest_id=node.id,
        row_compute_id=rows.cell.has_compute_id,
    )


def row_of(world: World) -> tuple[object, ...]:
    linked = ("compute_id",) if world.has_compute_id else ()
    return next(row[1:] for row in world.rows("cell", "instances", *COLUMNS, *linked) if row[0] == 7)


def write(world: World, change: ArrivedRow, last: t.Callable[[], None] = lambda: None) -> str:
    return arrivals.write_arrival(world.url("cell"), change, last)


def test_what_holds_a_server_is_read(lost: World) -> None:
    rows = arrivals.read_arrival(lost.options(), SERVER)
    assert [row.uuid for row in rows.cell.instances or []] == [SERVER]
    assert [row.status for row in rows.cell.migrations or []] == ["completed"]
    assert {entry.host for entry in rows.cell.services or []} == {"compute1", "compute2"}
    assert (rows.row_written, rows.migration_written) == (NOW.isoformat(), {70: NOW.isoformat()})
    assert (rows.holds, rows.pci_devices, rows.volumes) == ((), 0, 0)


def test_what_nova_has_claimed_is_read(lost: World) -> None:
    lost.server.run("UPDATE instance_extra SET numa_topology = '{}', pci_requests = NULL", lost.names["cell"])
    for destination, deleted in (("volume", 0), ("volume", 3), ("local", 0)):
        lost.insert("cell", "block_device_mapping", instance_uuid=SERVER, destination_type=destination, deleted=deleted)
    rows = arrivals.read_arrival(lost.options(), SERVER)
    assert (rows.holds, rows.volumes) == (("numa_topology",), 1)


def test_one_of_which_nobody_knows_what_it_holds_holds_something(lost: World) -> None:
    lost.server.run("DELETE FROM instance_extra", lost.names["cell"])
    assert arrivals.read_arrival(lost.options(), SERVER).holds


@pytest.mark.parametrize("uuid", [uid("instance", 99), SERVER])
def test_one_that_no_cell_has_is_refused(lost: World, uuid: str) -> None:
    lost.update("cell", "instances", 7, deleted=7)
    with pytest.raises(DatabaseError):
        arrivals.read_arrival(lost.options(), uuid)


def test_the_row_is_corrected_once(lost: World) -> None:
    change = change_of(lost)
    assert not arrivals.is_written(lost.url("cell"), change)
    others = [row for row in lost.rows("cell", "instances", "host", "node") if row[0] != 7]
    assert write(lost, change) == arrivals.CHANGED
    linked = (2,) if lost.has_compute_id else ()
    assert row_of(lost) == ("compute2", change.dest_node, None, 0, NOW, 0, *linked)
    assert arrivals.is_written(lost.url("cell"), change)
    assert write(lost, change) == arrivals.ALREADY
    assert [row for row in lost.rows("cell", "instances", "host", "node") if row[0] != 7] == others


def test_a_row_that_is_not_as_it_was_read_is_left(lost: World) -> None:
    change = change_of(lost)
    as_read = {"host": "compute1", "node": "compute1.example", "task_state": "migrating"}
    others: list[dict[str, t.Any]] = [
        {"host": "COMPUTE1"},
        {"node": "compute1"},
        {"task_state": None},
        {"task_state": "rebooting"},
        {"updated_at": NOW + datetime.timedelta(seconds=1)},
        {"deleted": 7},
    ]
    for other in others:
        lost.update("cell", "instances", 7, **{**as_read, "updated_at": NOW, "deleted": 0, **other})
        before = row_of(lost)
        with pytest.raises(Conflict):
            write(lost, change)
        assert row_of(lost) == before, other
    lost.update("cell", "instances", 7, **{**as_read, "updated_at": NOW, "deleted": 0})
    with pytest.raises(Conflict):
        write(lost, dataclasses.replace(change, uuid=uid("instance", 8)))
    assert row_of(lost)[0] == "compute1"


def test_a_node_that_has_changed_is_no_destination(lost: World) -> None:
    change = change_of(lost)
    lost.update("cell", "compute_nodes", 2, deleted=2)
    with pytest.raises(Conflict):
        write(lost, change)
    lost.update("cell", "compute_nodes", 2, deleted=0)
    with pytest.raises(Conflict):
        write(lost, dataclasses.replace(change, dest_node="another"))
    assert row_of(lost)[0] == "compute1"


def test_the_last_word_is_before_the_commit(lost: World) -> None:
    def taken_over() -> None:
        raise Conflict("another run has the operation")

    change = change_of(lost)
    with pytest.raises(Conflict):
        write(lost, change, taken_over)
    assert row_of(lost)[0] == "compute1"
