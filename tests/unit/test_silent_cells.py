# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cell that does not answer is named by whoever lists servers: Nova leaves its servers out without a word."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import server_zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.engine import server_run
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import SILENT_CELLS
from ansible_collections.stackguard.nova.plugins.module_utils.moves import evidence as move_evidence
from ansible_collections.stackguard.nova.plugins.module_utils.moves import operation as move_servers
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    cloud_facts,
    host_account,
    http,
    migration_records,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import operation as pin_zones
from ansible_collections.stackguard.nova.tests.unit import nova_lists
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.journaled import State, leased, life
from ansible_collections.stackguard.nova.tests.unit.operations import test_pin_zones as pins
from ansible_collections.stackguard.nova.tests.unit.two_cells import TwoCells

NEAR, FAR = "compute1", "compute2"
EXPRESSION = "[?status=='ACTIVE']"


@pytest.fixture
def nova():
    return TwoCells()


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def dark(nova, how="silent"):
    getattr(nova, how).add(FAR)
    return nova


# --- the tests' own Nova ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, True),
        ({"all_tenants": "1"}, True),
        ({"all_tenants": "1", "limit": 1000}, False),
        ({"all_tenants": "1", "marker": guest(1, 1)}, False),
        ({"all_tenants": "1", "sort_key": "name"}, False),
        ({"all_tenants": "1", "host": NEAR}, False),
    ],
)
def test_nova_names_the_servers_of_a_silent_cell_in_plain_lists_only(nova, params, named):
    rows = dark(nova).compute.request("/servers/detail", "GET", microversion="2.96", params=params).json()["servers"]
    assert ({row["id"] for row in rows} >= set(nova.on(FAR))) is named
    assert not nova_lists.names_silent_servers({"all_tenants": "1"}, "2.68")


def test_nova_names_none_where_as_many_answer_as_it_lists():
    nova = dark(TwoCells(extra=8, max_limit=10))
    rows = nova.compute.request("/servers", "GET", microversion="2.69", params={"all_tenants": "1"}).json()["servers"]
    assert {row.get("status") for row in rows} == {"ACTIVE"}


# --- the list ---------------------------------------------------------------------------------------------------


def test_a_list_of_cells_that_answer_is_complete(nova):
    listed = server_records.list_servers(nova, "2.96")
    assert [server.id for server in listed.complete()] == [*nova.on(NEAR), *nova.on(FAR)]


def test_a_list_names_the_hosts_of_the_cell_that_did_not_answer(nova):
    listed = server_records.list_servers(dark(nova), "2.96")
    assert ([server.id for server in listed.servers], listed.silent) == (nova.on(NEAR), [FAR])
    with pytest.raises(server_records.SilentCellError, match=FAR):
        listed.complete()


@pytest.mark.parametrize("moment", [0, 1])
def test_a_cell_that_answers_only_before_or_only_after_the_list_is_silent(nova, moment):
    real, looks = nova.compute.request, []

    def request(path, *given, **more):
        if path == "/os-services":
            nova.silent = {FAR} if len(looks) == moment else set()
            looks.append(path)
        return real(path, *given, **more)

    nova.compute.request = request
    assert server_records.list_servers(nova, "2.96").silent == [FAR]


@pytest.mark.parametrize(("host", "complete"), [(NEAR, True), (FAR, False), ("nobody", False)])
def test_of_a_host_its_own_cell_must_answer(nova, host, complete):
    """A host that no cell names may be in the one that does not answer."""
    dark(nova)
    if complete:
        assert [server.id for server in server_records.servers_on(nova, host)] == nova.on(host)
    else:
        with pytest.raises(server_records.SilentCellError):
            server_records.servers_on(nova, host)


def test_a_cell_that_is_silent_for_the_list_alone_is_noticed_by_what_placement_has(nova):
    nova.migrations = [{"uuid": guest(9, 9), "status": "finished", "source_compute": NEAR}]
    assert move_evidence.whole_cloud(nova).complete()
    listed = move_evidence.whole_cloud(dark(nova, "flickers"))
    assert listed.silent == nova.on(FAR)


def test_a_name_is_not_unique_while_a_cell_does_not_answer(nova):
    run = types.SimpleNamespace(options={"server": "web11"}, systems=types.SimpleNamespace(cloud=nova))
    assert server_run.identity(run, "resize") == guest(1, 1)
    dark(nova)
    with pytest.raises(ApiError, match=FAR):
        server_run.identity(run, "resize")


# --- who lists --------------------------------------------------------------------------------------------------


def pin(nova, kept, **options):
    given = {**pins.OPTIONS, "nova_api_db_url": None, **options}
    more = {"cloud": nova, "chosen": server_zone_pin._chosen, "operation_id": "op1", "keeper": "here"}
    return pin_zones.PinRun(**leased(life(kept, given, "")), **more).carry_out()


SELECTIONS = [
    {},
    {"all_servers": False, "servers": EXPRESSION},
    {"all_servers": False, "servers": ["web11"]},
    {"all_servers": False, "servers": [guest(1, 1)]},
    {"all_servers": False, "hosts": [NEAR]},
    {"partial": True},
    {"state": "unpinned"},
]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_no_pin_changes_while_a_cell_does_not_answer(nova, state, selection):
    result = pin(dark(nova), state, **selection)
    assert (result["failed"], result["changed"], result["report"]["verdict"]) == (True, False, "block")
    assert "SG709" in {item["code"] for item in result["report"]["findings"]}
    assert {row["pinned_availability_zone"] for row in nova.rows} == {None}


@pytest.mark.parametrize("selection", SELECTIONS[:5])
def test_pins_change_where_every_cell_answers(nova, state, selection):
    result = pin(nova, state, **selection)
    assert (result["failed"], result["changed"]) == (False, True)
    assert nova.rows[0]["pinned_availability_zone"] == "az1"


@pytest.mark.parametrize("selection", SELECTIONS[:2])
def test_no_pin_changes_where_a_cell_was_silent_for_the_list_alone(nova, state, selection):
    assert pin(dark(nova, "flickers"), state, **selection)["failed"]


@pytest.mark.parametrize("servers", [["web21"], [guest(2, 1)], "[?name=='web21']"])
def test_a_server_that_only_the_silent_cell_has_is_not_said_not_to_exist(nova, state, servers):
    with pytest.raises(server_records.SilentCellError):
        pin(dark(nova), state, all_servers=False, servers=servers)


@pytest.mark.parametrize("servers", [EXPRESSION, ["web11"]])
@pytest.mark.parametrize("how", ["silent", "flickers"])
def test_no_migration_chooses_among_the_servers_of_some_cells(nova, servers, how):
    run = types.SimpleNamespace(options={"servers": servers}, systems=types.SimpleNamespace(cloud=nova))
    assert move_servers.Moves(run)._candidates()
    dark(nova, how)
    if (how, servers) == ("flickers", ["web11"]):
        return
    with pytest.raises(Refused, match="SG709"):
        move_servers.Moves(run)._candidates()


def test_an_audit_says_that_servers_are_missing(nova):
    parts = ["compute_max_microversion", "services", "servers"]
    assert not [entry for entry in cloud_facts.read_cloud(nova, [], parts).unread if entry.part == SILENT_CELLS]
    read = cloud_facts.read_cloud(dark(nova), [], parts)
    assert [entry.part for entry in read.unread if entry.part == SILENT_CELLS]
    narrowed = cloud_facts.read_cloud(nova, [NEAR], parts)
    assert not [entry for entry in narrowed.unread if entry.part == SILENT_CELLS]


def test_migrations_of_a_cell_that_flickers_are_not_taken_for_none(nova):
    real, looks = nova.compute.request, []

    def request(path, *given, **more):
        if path == "/os-services":
            looks.append(path)
            nova.silent = {FAR} if len(looks) % 2 else set()
        return real(path, *given, **more)

    assert migration_records.list_arriving(nova) == []
    nova.compute.request = request
    with pytest.raises(ApiError, match=FAR):
        migration_records.list_arriving(nova)


def test_migrations_of_two_cells_with_one_id_are_two(nova):
    common = {"id": 1, "status": "running", "migration_type": "live-migration", "instance_uuid": guest(1, 1)}
    nova.migrations = [
        {**common, "uuid": guest(8, number), "source_compute": host, "dest_compute": host}
        for number, host in enumerate((NEAR, FAR))
    ]
    assert len(migration_records.list_arriving(nova)) == 2


def test_who_is_on_a_host_knows_silent_cells_beyond_novas_limit():
    nova = dark(TwoCells(extra=8, max_limit=10))
    assert host_account.account_of(nova, FAR).cells_down == [FAR]
    assert not host_account.account_of(nova, FAR).empty


def test_every_list_is_paged_so_no_list_names_them(nova):
    """What made the records of status UNKNOWN in lists dead code."""
    dark(nova)
    params = {"all_tenants": "1"}
    rows = list(http.pages(nova, http.COMPUTE, "/servers/detail", "servers", "2.96", params))
    assert {row["status"] for row in rows} == {"ACTIVE"}
