# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read, from real servers in the schemas of several releases."""

from __future__ import annotations

import json

import pytest
import servers
import sqlalchemy as sa
from world import CELL1, World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases, stored_names
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, migrations, nova, schema


def only_cell(read: facts.DatabaseFacts) -> facts.CellFacts:
    assert read.cells is not None
    (cell,) = read.cells
    return cell


def nothing_secret(value: object) -> None:
    text = json.dumps(facts.to_plain(value))
    assert servers.PASSWORD not in text
    assert servers.PLAIN_PASSWORD not in text


def test_everything_of_every_release(any_release: World) -> None:
    world = any_release
    read = nova.read_databases(world.options())
    assert read.unread == []
    cell = only_cell(read)
    assert (cell.name, cell.uuid, cell.unread) == ("cell1", CELL1, [])
    assert cell.location == f"127.0.0.1:{world.server.port}/{world.names['cell']}"
    assert cell.has_compute_id is world.has_compute_id
    assert int(world.release) in (releases.of_main_revision(cell.revision) or ())
    assert read.api is not None
    assert int(world.release) in (releases.of_api_revision(read.api.revision) or ())
    assert cell.services is not None
    assert cell.services[0] == facts.ServiceRow(
        1, uid("service", 1), "compute1", "nova-compute", 74, False, None, False, "2026-11-21T03:00:00", 0
    )
    assert cell.compute_nodes is not None
    assert cell.compute_nodes[0] == facts.ComputeNodeRow(
        1, uid("node", 1), "compute1", "compute1.example", 1, "QEMU", "192.0.2.1", 0
    )
    assert cell.instances is not None
    assert cell.instances[0] == facts.InstanceRow(
        1, uid("instance", 1), "guest1", "p", "compute1", "compute1.example", "compute1",
        1 if world.has_compute_id else None, "active", None, 1, None, 0,
    )  # fmt: skip
    assert read.api.host_mappings == [
        facts.HostMappingRow(1, "compute1", CELL1, "cell1"),
        facts.HostMappingRow(2, "compute2", CELL1, "cell1"),
    ]
    assert read.api.aggregate_hosts is not None
    assert read.api.aggregate_hosts[0] == facts.AggregateHostRow(1, "compute1", 1, uid("aggregate", 1), "rack", "az1")
    assert read.neutron is not None
    assert read.neutron.agents is not None
    assert sorted(agent.host for agent in read.neutron.agents) == ["compute1", "compute2"]
    assert {agent.heartbeat_timestamp for agent in read.neutron.agents} == {"2026-11-21T03:00:00"}
    nothing_secret(read)


def test_scope_matches_host_and_node(world: World) -> None:
    world.instance(4, "elsewhere", "compute1.example")
    world.instance(5, None, None)
    cell = only_cell(nova.read_databases(world.options(), ["compute1", "compute1.example"]))
    assert [row.id for row in cell.instances or ()] == [1, 2, 4]
    assert [row.id for row in cell.services or ()] == [1]
    assert [row.id for row in cell.compute_nodes or ()] == [1]
    assert cell.scope == ["compute1", "compute1.example"]
    read = nova.read_databases(world.options(), ["compute1"])
    assert read.api is not None
    assert read.neutron is not None
    assert [row.host for row in read.api.host_mappings or ()] == ["compute1"]
    assert [row.host for row in read.api.aggregate_hosts or ()] == ["compute1"]
    assert [row.host for row in read.neutron.agents or ()] == ["compute1"]


def test_no_such_host_reads_empty_lists_not_none(world: World) -> None:
    cell = only_cell(nova.read_databases(world.options(), ["nowhere"]))
    assert (cell.services, cell.compute_nodes, cell.instances, cell.migrations, cell.unread) == ([], [], [], [], [])


def test_case_variants_are_read_as_they_stand(world: World) -> None:
    world.instance(4, "COMPUTE1", "Compute1.Example")
    cell = only_cell(nova.read_databases(world.options(), ["compute1"]))
    assert [row.host for row in cell.instances or ()] == ["compute1", "compute1", "COMPUTE1"]


@pytest.mark.parametrize("stored", ["COMPUTE9", "compute9 "])
def test_names_are_compared_as_this_database_compares_them(world: World, stored: str) -> None:
    """What the forecast says of two names is what the database answers (A13, F2, F7 of the review)."""
    world.service(9, stored)
    world.node(9, stored, stored)
    world.instance(9, stored, stored)
    world.migration(9, stored, "compute2", "done", "evacuation")
    cell = only_cell(nova.read_databases(world.options()))
    assert cell.unread == []
    assert cell.dialect == world.server.backend
    for table, name in schema.NAME_COLUMNS:
        column = sa.column(name)
        statement = sa.select(sa.func.count()).select_from(sa.table(table, column)).where(column == "compute9")
        with world.server.admin(world.names["cell"]) as connection:
            found = connection.execute(statement).scalar_one() > 0
        told = stored_names.found_as(cell, f"{table}.{name}", stored, "compute9")
        assert told is found, (table, name, cell.collations)
        # Nova's columns in MariaDB take both for compute9; PostgreSQL's take neither.
        assert found is (world.server.backend == "mariadb")


def test_a_name_that_differs_in_blanks_is_read_where_the_database_finds_it(world: World) -> None:
    world.service(9, "compute9 ")
    world.migration(9, "compute9 ", "compute2", "done", "evacuation")
    cell = only_cell(nova.read_databases(world.options(), ["compute9"]))
    mariadb = world.server.backend == "mariadb"
    assert [row.host for row in cell.services or ()] == (["compute9 "] if mariadb else [])
    assert [row.source_compute for row in cell.migrations or ()] == (["compute9 "] if mariadb else [])


def test_soft_deleted_services_and_nodes_are_kept_and_deleted_instances_are_not(world: World) -> None:
    world.service(8, "compute1", deleted=8)
    world.node(8, "compute1", "old.example", deleted=8)
    world.instance(8, "compute1", "compute1.example", deleted=8)
    cell = only_cell(nova.read_databases(world.options(), ["compute1"]))
    assert [(row.id, row.deleted) for row in cell.services or ()] == [(1, 0), (8, 8)]
    assert [(row.id, row.deleted) for row in cell.compute_nodes or ()] == [(1, 0), (8, 8)]
    assert [row.id for row in cell.instances or ()] == [1, 2]


@pytest.mark.parametrize("hosts", [["compute1"], []])
def test_instances_of_given_uuids_wherever_they_are(world: World, hosts: list[str]) -> None:
    world.instance(8, "compute1", "compute1.example", deleted=8)
    wanted = [uid("instance", 3), uid("instance", 8), uid("instance", 99)]
    cell = only_cell(nova.read_databases(world.options(), hosts, instance_uuids=wanted))
    assert [(row.id, row.deleted) for row in cell.instances or ()] == [(1, 0), (2, 0), (3, 0), (8, 8)]


def test_migrations_that_may_still_do_something(world: World) -> None:
    world.migration(1, "compute1", "compute2", "finished", "resize")
    world.migration(2, "compute2", "compute1", "completed", "live-migration")
    world.migration(3, "compute1", "compute2", "done", "evacuation", deleted=3)
    world.migration(4, "compute2", "compute1", "accepted", "evacuation")
    world.migration(5, "compute1", "compute2", "completed", "evacuation")
    world.migration(6, "compute3", "compute4", "running", "live-migration")
    world.migration(7, "compute1", "compute2", "confirmed", "resize")
    world.migration(8, "compute1", "compute2", "running", "live-migration", deleted=8)
    world.migration(9, "compute1", "compute2", "preparing", "live-migration", deleted=9)
    cell = only_cell(nova.read_databases(world.options(), ["compute1"]))
    # Nova aborts a live migration by its record though that is soft-deleted, if it is running.
    assert [row.id for row in cell.migrations or ()] == [1, 3, 4, 8]
    assert (cell.migrations or ())[1] == facts.MigrationRow(
        3, uid("migration", 3), "evacuation", "done", None, "compute1", "compute1", "compute2", "compute2", None, 3
    )


def test_the_last_migration_of_a_server_that_is_not_where_it_went(world: World) -> None:
    """Nova lost its last write, or an operator corrected the row: the audit asks where the guest is."""
    for number, host in ((21, "compute1"), (22, "compute2"), (23, "compute1"), (24, "compute1"), (25, "compute1")):
        world.instance(number, host, host, deleted=25 if number == 25 else 0)
        world.migration(number, "compute1", "compute2", "completed", "live-migration", instance=uid("instance", number))
    # The third came back since, the fourth's last one failed, the fifth is deleted.
    world.migration(26, "compute2", "compute1", "completed", "live-migration", instance=uid("instance", 23))
    world.migration(27, "compute1", "compute2", "error", "live-migration", instance=uid("instance", 24))
    cell = only_cell(nova.read_databases(world.options(), []))
    assert [row.id for row in cell.migrations or ()] == [21]
    assert not only_cell(nova.read_databases(world.options(), ["compute9"])).migrations


# --- cells ----------------------------------------------------------------------------------------------------


def test_disabled_cells_are_read_and_cell0_is_not(world: World) -> None:
    other = "22222222-2222-4222-8222-222222222222"
    world.cell_mapping(3, None, other, world.url("cell"), disabled=True)
    cells = nova.list_cells(world.options())
    assert [(cell.name, cell.uuid) for cell in cells] == [("cell1", CELL1), (other, other)]
    assert servers.PASSWORD not in repr(cells)
    assert nova.url_of(world.options(), f"cell:{other}") == world.url("cell")


def test_a_cell_that_does_not_answer_stays_in_the_list(world: World) -> None:
    world.cell_mapping(3, "dead", uid("cell", 3), f"mysql+pymysql://nova:{servers.PASSWORD}@127.0.0.1:1/nova")
    world.cell_mapping(4, "odd", uid("cell", 4), "sqlite:///nova.db")
    world.cell_mapping(5, "broken", uid("cell", 5), "{scheme}://{nonsense}/nova")
    read = nova.read_databases(world.options())
    good, dead, odd, broken = read.cells or ()
    assert good.unread == []
    for cell in (dead, odd, broken):
        assert (cell.services, cell.compute_nodes, cell.instances, cell.migrations) == (None, None, None, None)
        assert {item.part for item in cell.unread} >= {"services", "compute_nodes", "instances", "migrations"}
    assert "127.0.0.1:1/nova" in dead.unread[0].reason
    assert "sqlite" in odd.unread[0].reason
    assert "nonsense" in broken.unread[0].reason
    nothing_secret(read)
    with pytest.raises(DatabaseError, match="nonsense"):
        nova.url_of(world.options(), "cell:broken")


def test_own_urls_take_the_place_of_the_mapping(world: World) -> None:
    world.cell_mapping(3, "far", uid("cell", 3), "mysql+pymysql://nova@unreachable.invalid/nova")
    options = {**world.options(), "nova_cell_db_urls": {"far": world.url("cell")}}
    assert [cell.unread for cell in nova.read_databases(options).cells or ()] == [[], []]
    by_uuid = {**world.options(), "nova_cell_db_urls": {uid("cell", 3): world.url("cell")}}
    assert [cell.unread for cell in nova.read_databases(by_uuid).cells or ()] == [[], []]
    wrong = nova.read_databases({**world.options(), "nova_cell_db_urls": {"typo": world.url("cell")}})
    assert wrong.cells is None
    assert [item.part for item in wrong.unread] == ["cells"]
    assert "typo" in wrong.unread[0].reason


def test_cells_without_an_api_database(world: World) -> None:
    read = nova.read_databases({"nova_cell_db_urls": {"mine": world.url("cell")}})
    assert only_cell(read).name == "mine"
    assert read.api is None
    assert sorted(item.part for item in read.unread) == ["api", "cells"]


def test_a_wrong_password_is_told_without_it(world: World) -> None:
    options = {"nova_api_db_url": world.url("api", "nobody"), "neutron_db_url": world.url("neutron", "nobody")}
    read = nova.read_databases(options, rename=True)
    assert (read.api, read.cells, read.neutron, read.grants, read.lock) == (None,) * 5
    assert [item.part for item in read.unread] == ["api", "cells", "neutron", "grants", "lock"]
    assert "nobody" in read.unread[0].reason
    nothing_secret(read)


def test_one_table_that_cannot_be_read_takes_no_other_with_it(world: World) -> None:
    world.server.run("ALTER TABLE instances RENAME TO hidden", world.names["cell"])
    try:
        cell = only_cell(nova.read_databases(world.options()))
    finally:
        world.server.run("ALTER TABLE hidden RENAME TO instances", world.names["cell"])
    assert cell.instances is None
    assert [row.host for row in cell.services or ()] == ["compute1", "compute2"]
    assert cell.migrations is None, "the columns of both tables must be seen"
    assert [item.part for item in cell.unread] == ["has_compute_id"]


# --- one moment, and no change --------------------------------------------------------------------------------


def test_a_snapshot_sees_one_moment(world: World) -> None:
    services = sa.table("services", sa.column("id"))
    instances = sa.table("instances", sa.column("id"))
    with engine.snapshot(world.url("cell")) as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(services)).scalar() == 2
        world.instance(9, "compute1", "compute1.example")
        assert connection.execute(sa.select(sa.func.count()).select_from(instances)).scalar() == 3
    with engine.snapshot(world.url("cell")) as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(instances)).scalar() == 4


def test_a_snapshot_cannot_write(world: World) -> None:
    services = sa.table("services", sa.column("id"), sa.column("host"))
    with pytest.raises(DatabaseError, match=r"(?i)read.only"), engine.snapshot(world.url("cell")) as connection:
        connection.execute(sa.update(services).values(host="x"))
    assert world.everything()["services"] == [(1, "compute1"), (2, "compute2")]


def test_which_migrations_have_ended(any_release: World) -> None:
    world = any_release
    ends = ("confirmed", "reverted", "completed", "failed", "cancelled", "finished", "error", "running", "done")
    server = uid("instance", 1)
    for number, status in enumerate(ends, 900):
        world.migration(number, "compute1", "compute2", status, deleted=number % 2, instance=server)
    asked = {uid("migration", number) for number in range(900, 900 + len(ends) + 1)}
    found = migrations.ended_migrations(world.options(), asked)
    assert found == {uid("migration", number): server for number in range(900, 905)}
    assert migrations.ended_migrations(world.options(), set()) == {}
    # A revert is under way: its source has not taken the allocation back yet.
    task = f"UPDATE instances SET task_state = 'resize_reverting' WHERE uuid = '{server}'"
    world.server.run(task, world.names["cell"])
    assert migrations.ended_migrations(world.options(), asked) == {}


def test_inactive_port_bindings_are_read_of_a_whole_cloud_only(world: World) -> None:
    world.bound_port("port1", "compute1")
    world.insert("neutron", "ml2_port_bindings", port_id="port1", host="compute2", vif_type="x", status="INACTIVE")
    whole, one = (nova.read_databases(world.options(), hosts).neutron for hosts in ([], ["compute1"]))
    assert whole is not None and whole.inactive_bindings == {"port1": ["compute2"]}
    assert one is not None and one.inactive_bindings is None
