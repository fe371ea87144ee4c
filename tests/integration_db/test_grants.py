# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user with just the documented rights can do it all; one that lacks any is told which."""

from __future__ import annotations

import pathlib

import pytest
import servers
from documented_users import user_with_documented_rights
from link_runs import State, repair_rows, request, run, undo_repair, witness
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Grant
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova, request_specs, schema
from ansible_collections.stackguard.nova.tests.unit.systems import grant_statements


def refused(grants: list[Grant] | None) -> set[tuple[str, str, str]]:
    return {(grant.database, grant.table, grant.action) for grant in grants or () if not grant.allowed}


def test_the_documented_rights_pin_a_server(any_release: World) -> None:
    world = any_release
    spec = '{"nova_object.name": "RequestSpec", "nova_object.data": {"availability_zone": null}}'
    world.insert("api", "request_specs", id=1, instance_uuid=uid("instance", 1), spec=spec)
    url = world.url("api", user_with_documented_rights(world))
    assert request_specs.read_zones(url, [uid("instance", 1)]) == {uid("instance", 1): None}
    assert request_specs.swap_zone(url, uid("instance", 1), None, "az1") == "changed"


def test_the_documented_rights_are_enough(any_release: World) -> None:
    world = any_release
    user = user_with_documented_rights(world)
    options = world.options(user)
    read = nova.read_databases(options, ["compute1"], rename=True)
    assert read.unread == []
    assert [cell.unread for cell in read.cells or ()] == [[]]
    assert refused(read.grants) == set()
    assert len(read.grants or ()) == len(schema.GRANTS), "one cell: each right was tried once"
    old = nova.Completeness("compute1", "compute1.example")
    cell, api, neutron = (nova.url_of(options, name) for name in ("cell:cell1", "api", "neutron"))
    assert f"//{user}:" in cell
    with nova.advisory_lock(api, "rename") as lock:
        assert lock.still_held()
        assert nova.apply_row_changes(cell, world.cell_changes(), old).changed == 4
        assert nova.apply_row_changes(api, world.api_changes(), old).changed == 2
        assert nova.rename_agents(neutron, [uid("agent", 1)], "compute1", "cn7").changed == 1
        nova.beat_agents(neutron, [uid("agent", 1)], "cn7")


def test_the_documented_rights_are_enough_to_repair_links(any_release: World, tmp_path: pathlib.Path) -> None:
    """What is written, what is locked, what tells whose write a row bears: of each table that a repair writes."""
    world = any_release
    user = user_with_documented_rights(world)
    world.update("cell", "compute_nodes", 1, service_id=4711)
    world.update("cell", "instances", 1, host=None, vm_state="error")
    if world.has_compute_id:
        world.update("cell", "instances", 2, compute_id=4711)
        world.migration(1, "compute1", "compute2", "finished")
        link = {"dest_node": "compute2.example", "dest_compute_id": 4711}
        world.update("cell", "migrations", 1, instance_uuid=uid("instance", 3), **link)
    wrong = {"SG202", "SG215"} | ({"SG212", "SG221"} if world.has_compute_id else set())
    state = State(tmp_path / "state")
    hosts = [witness(f"compute{number}", f"compute{number}.example", uid("node", number)) for number in (1, 2)]
    done = repair_rows(run(world.options(user), state, hosts), request())
    assert {row["code"] for row in done["repairs"]} == wrong, done["msg"]
    assert undo_repair(run(world.options(user), state))["counts"]["changed"] == len(wrong)


@pytest.mark.parametrize(
    ("right", "remedy"),
    [
        ("UPDATE (host, hypervisor_hostname, service_id)", "Grant UPDATE (service_id) on compute_nodes"),
        ("SELECT (updated_at)", "Grant SELECT (updated_at) on compute_nodes"),
    ],
)
def test_a_right_missing_to_a_repair_of_links_is_named(
    world: World, tmp_path: pathlib.Path, right: str, remedy: str
) -> None:
    user = user_with_documented_rights(world)
    world.update("cell", "compute_nodes", 1, service_id=4711)
    postgres = world.server.backend == "postgresql"
    table, to = ("compute_nodes", user) if postgres else (f"{world.names['cell']}.compute_nodes", f"'{user}'@'%'")
    world.server.run(f"REVOKE {right} ON {table} FROM {to}", world.names["cell"])
    with pytest.raises(repair_links.Refused, match="SG311") as raised:
        repair_rows(run(world.options(user), State(tmp_path / "state")), request())
    assert remedy in raised.value.message


@pytest.mark.parametrize(
    ("table", "kind", "database"),
    [
        ("services", "cell", "cell:cell1"),
        ("instances", "cell", "cell:cell1"),
        ("migrations", "cell", "cell:cell1"),
        ("aggregate_hosts", "api", "api"),
        ("agents", "neutron", "neutron"),
    ],
)
def test_a_missing_right_is_named(world: World, table: str, kind: str, database: str) -> None:
    on = f"ON {table} " if world.server.backend == "postgresql" else f"ON {grant_statements.DATABASES[kind]}.{table} "
    user = user_with_documented_rights(world, but=on)
    read = nova.read_databases(world.options(user), ["compute1"], rename=True)
    assert {(name, place) for name, place, _action in refused(read.grants)} == {(database, table)}
    errors = [grant.error or "" for grant in read.grants or () if not grant.allowed]
    assert all("denied" in error for error in errors)
    assert all(servers.PLAIN_PASSWORD not in error for error in errors)


def test_a_user_who_may_only_read(world: World) -> None:
    user = user_with_documented_rights(world)
    for kind, tables in (("cell", ("services", "compute_nodes", "instances")), ("api", ("host_mappings",))):
        for table in tables:
            columns = {"compute_nodes": "host, hypervisor_hostname", "instances": "host, node, launched_on"}.get(
                table, "host"
            )
            if world.server.backend == "postgresql":
                world.server.run(f"REVOKE UPDATE ({columns}) ON {table} FROM {user}", world.names[kind])
            else:
                world.server.run(f"REVOKE UPDATE ({columns}) ON {world.names[kind]}.{table} FROM '{user}'@'%'")
    read = nova.read_databases(world.options(user), ["compute1"], rename=True)
    assert refused(read.grants) == {
        ("cell:cell1", "services", "update"),
        ("cell:cell1", "compute_nodes", "update"),
        ("cell:cell1", "instances", "update"),
        ("api", "host_mappings", "update"),
    }
    assert [cell.unread for cell in read.cells or ()] == [[]]


def test_a_probe_changes_nothing_and_keeps_no_lock(world: World) -> None:
    before = world.everything()
    grants = nova.probe_grants(world.options(), [("cell:cell1", "services", ("host",), "update")])
    assert grants == [Grant("cell:cell1", "services", ["host"], "update", True, None)]
    assert world.everything() == before
    gone = nova.probe_grants(world.options(), [("cell:nowhere", "services", ("host",), "update")])
    assert gone == [
        Grant("cell:nowhere", "services", ["host"], "update", False, "the run has no URL for a database with this name")
    ]


def test_a_release_28_column_that_may_not_be_seen_is_not_taken_for_absent(world: World) -> None:
    user = user_with_documented_rights(world)
    postgres = world.server.backend == "postgresql"
    on, to = ("instances", user) if postgres else (f"{world.names['cell']}.instances", f"'{user}'@'%'")
    world.server.run(f"REVOKE SELECT (compute_id) ON {on} FROM {to}", world.names["cell"])
    # Who may write it sees that it exists.
    (cell,) = nova.read_databases(world.options(user)).cells or ()
    assert (cell.has_compute_id, cell.instances) == (True, None)
    assert [item.part for item in cell.unread] == ["instances"]
    world.server.run(f"REVOKE UPDATE (compute_id) ON {on} FROM {to}", world.names["cell"])
    (cell,) = nova.read_databases(world.options(user)).cells or ()
    assert (cell.has_compute_id, cell.instances, cell.migrations) == (False, None, None)
    assert [item.part for item in cell.unread] == ["has_compute_id"]
