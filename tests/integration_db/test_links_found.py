# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrupted clouds on real servers: everything wrong is found, nothing else is, whatever Nova they are of."""

from __future__ import annotations

import collections

import link_clouds
import pytest
import servers
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import links
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import links as link_reads
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved

_cells: dict[str, link_clouds.Cells] = {}
#: Seeds by server: the second server proves the dialect, not the rules.
CLOUDS = {"mariadb": 100, "postgresql": 20}
MANY_CLOUDS = {"mariadb": 500, "postgresql": 60}


@pytest.fixture
def cells(server: servers.Server) -> link_clouds.Cells:
    """Two empty cells, of this test alone."""
    if server.backend not in _cells:
        own = type(server)()
        own.start()
        _cells[server.backend] = link_clouds.Cells(own)
    return _cells[server.backend]


@pytest.fixture(scope="module", autouse=True)
def _stop():
    yield
    for entry in _cells.values():
        entry.server.stop()
    _cells.clear()


def bundle_of(read: facts.LinkFacts) -> facts.Bundle:
    return facts.Bundle(facts.SCHEMA, read.read_at, {}, {}, None, None, read)


def judged(read: facts.LinkFacts) -> tuple[set[tuple[str, str]], set[tuple[str, str]], findings.Checked]:
    checked = links.check(bundle_of(read))
    found = [(item.code, item.object.id) for item in checked.findings]
    assert len(found) == len(set(found)), "one object, one finding of a code"
    busy = {(item.code, item.object) for item in checked.unchecked if "looks wrong" in item.reason}
    return set(found), busy, checked


@pytest.mark.parametrize("clouds", [CLOUDS, pytest.param(MANY_CLOUDS, marks=pytest.mark.matrix)], ids=["some", "many"])
def test_everything_wrong_is_found_and_nothing_else(cells: link_clouds.Cells, clouds: dict[str, int]) -> None:
    seen: collections.Counter[str] = collections.Counter()
    for seed in range(clouds[cells.server.backend]):
        cloud = link_clouds.Cloud(seed)
        cells.fill(cloud)
        read = link_reads.read_links(cells.options())
        assert read.unread == []
        assert [cell.unread for cell in read.cells or ()] == [[], []]
        found, busy, _checked = judged(read)
        assert found == cloud.expected, (
            f"seed {seed}: missed {cloud.expected - found}, invented {found - cloud.expected}"
        )
        assert busy == cloud.busy, f"seed {seed}"
        seen.update(code for code, _key in found)
    # The proof is worth what the clouds held.
    assert set(seen) == set(links.CODES), sorted(seen)


def test_evidence_survives_being_saved(cells: link_clouds.Cells) -> None:
    cells.fill(link_clouds.Cloud(7))
    read = link_reads.read_links(cells.options())
    again = as_saved(bundle_of(read))
    assert again.links == read
    assert links.check(again) == links.check(bundle_of(read))


def test_more_rows_than_are_kept_are_counted_and_told(cells: link_clouds.Cells) -> None:
    cloud = link_clouds.Cloud(0)
    cell = cloud.cells[0]
    for row in cell.rows["instances"]:
        row.update(compute_id=None, task_state=None, deleted=0)
    cells.fill(cloud)
    read = link_reads.read_links(cells.options(), keep=2)
    (mine, _other) = read.cells or ()
    assert len(mine.instances["SG211"]) == 2
    assert mine.totals["SG211"] > 2
    told = [item for item in links.check(bundle_of(read)).unchecked if item.code == "SG211"]
    assert [item.reason for item in told] == [
        (
            f"{mine.totals['SG211'] - 2} further rows may have the same problem: the run counted these rows, but did "
            "not check them one by one"
        )
    ]


def test_narrowed_to_a_host_by_its_names_and_by_links(world: World) -> None:
    world.update("cell", "instances", 1, compute_id=None)
    world.update("cell", "instances", 3, compute_id=1)  # of compute2 by its names, of compute1 by its link
    read = link_reads.read_links(world.options(), ["compute1"])
    assert judged(read)[0] == {("SG211", uid("instance", 1)), ("SG214", uid("instance", 3))}
    read = link_reads.read_links(world.options(), ["compute2"])
    assert judged(read)[0] == {("SG214", uid("instance", 3))}
    assert judged(link_reads.read_links(world.options(), ["nowhere"]))[0] == set()


def test_what_a_release_does_not_have_is_said(any_release: World) -> None:
    """27 has no compute_id, and never writes service_id: neither is wrong, and neither is right."""
    world = any_release
    if world.has_compute_id:
        world.update("cell", "instances", 3, compute_id=2)
    world.update("cell", "compute_nodes", 1, service_id=None)
    world.update("cell", "compute_nodes", 2, service_id=1)
    world.update("cell", "instances", 2, node="gone.example")
    found, _busy, checked = judged(link_reads.read_links(world.options()))
    open_codes = {item.code for item in checked.unchecked}
    always = {("SG203", uid("node", 2)), ("SG216", uid("instance", 2))}
    if world.has_compute_id:
        assert found == always | {("SG201", uid("node", 1)), ("SG214", uid("instance", 2))}
        assert open_codes == {"SG206"}
    else:
        assert found == always
        assert open_codes == {"SG201", "SG206", "SG207", "SG211", "SG212", "SG213", "SG214", "SG215", "SG221"}
        assert any("27" in item.reason for item in checked.unchecked if item.code == "SG211")


def test_an_unknown_schema_is_read_and_said(world: World) -> None:
    world.server.run("UPDATE alembic_version SET version_num = 'ffffffffffff'", world.names["cell"])
    try:
        world.update("cell", "instances", 1, compute_id=None)
        world.update("cell", "instances", 3, compute_id=2)
        found, _busy, _checked = judged(link_reads.read_links(world.options()))
        assert found == {("SG211", uid("instance", 1)), ("SG705", "cell:cell1")}
    finally:
        world.server.run("UPDATE alembic_version SET version_num = 'ab450ba04102'", world.names["cell"])


def test_a_cell_that_does_not_answer_is_no_healthy_cell(world: World) -> None:
    options = {**world.options(), "nova_cell_db_urls": {"cell1": world.server.url("no_such_database")}}
    read = link_reads.read_links(options)
    found, _busy, checked = judged(read)
    assert found == set()
    assert {item.code for item in checked.unchecked} == set(links.CODES)
    assert all(servers.PASSWORD not in item.reason for item in checked.unchecked)


def test_a_table_that_may_not_be_read_leaves_its_codes_open(world: World) -> None:
    world.server.run("ALTER TABLE pci_devices RENAME TO hidden", world.names["cell"])
    try:
        _found, _busy, checked = judged(link_reads.read_links(world.options()))
    finally:
        world.server.run("ALTER TABLE hidden RENAME TO pci_devices", world.names["cell"])
    assert {item.code for item in checked.unchecked} == {"SG206", "SG231"}
