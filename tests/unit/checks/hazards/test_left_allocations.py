# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG713: what moves and removed hosts left in placement, and nothing that a move under way needs."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import left_allocations
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy, node, uid

ELSEWHERE, ENDED, NOBODY = guest(3, 1), uid("migration", 77), uid("provider", 9)
HELD = {"MEMORY_MB": 64, "VCPU": 1}


def cloud(*more, **strays):
    """A whole cloud was read. ``strays``: consumers by the host whose provider they hold."""
    some = healthy(guests=1)
    for number in (1, 2, 3):
        if f"compute{number}" in strays:
            held = dict.fromkeys(strays[f"compute{number}"], HELD)
            some = some.change("providers", {"uuid": node(number)}, strays=held)
    known = some.bundle.cloud
    return dataclasses.replace(some.bundle, cloud=dataclasses.replace(known, providers=[*known.providers, *more]))


def told(bundle):
    return [
        (item.object.id, [entry["consumer"] for entry in item.evidence["consumers"]])
        for item in left_allocations.check(Index(bundle))
    ]


def orphan(trait=True, held=(ELSEWHERE,)):
    return facts.ResourceProvider(
        NOBODY, "compute9", 1, NOBODY, None, strays=dict.fromkeys(held, HELD), has_compute_trait=trait
    )


def was_node(bundle, kind="QEMU"):
    """The compute node of compute9 is deleted in its cell."""
    row = facts.ComputeNodeRow(99, NOBODY, "compute9", "compute9", None, kind, "192.0.2.9", 99)
    cells = [dataclasses.replace(cell, compute_nodes=[*cell.compute_nodes, row]) for cell in bundle.databases.cells[:1]]
    databases = dataclasses.replace(bundle.databases, cells=[*cells, *bundle.databases.cells[1:]])
    return dataclasses.replace(bundle, databases=databases)


def test_what_no_server_of_the_host_and_no_open_migration_holds_is_told():
    assert told(cloud(compute1=[ELSEWHERE, ENDED])) == [(node(1), sorted([ELSEWHERE, ENDED]))]
    assert told(cloud()) == []


@pytest.mark.parametrize("status", ["finished", "running", "reverting", "confirming"])
def test_a_migration_that_has_not_ended_needs_its_allocation(status):
    some = healthy(guests=1).migrate(ELSEWHERE, "compute1", "compute3", status, "resize")
    (row,) = [row for _place, row in Index(some.bundle).migrations]
    some = some.change("providers", {"uuid": node(1)}, strays={str(row.uuid): HELD, ELSEWHERE: HELD})
    assert told(some.bundle) == []


def test_an_evacuation_whose_source_has_not_started_keeps_its_own():
    some = healthy(guests=1).migrate(ELSEWHERE, "compute1", "compute3", "done", "evacuation")
    assert told(some.change("providers", {"uuid": node(1)}, strays={ELSEWHERE: HELD}).bundle) == []


def test_a_provider_whose_compute_node_was_deleted_is_told_with_its_consumers():
    assert told(was_node(cloud(orphan()))) == [(NOBODY, [ELSEWHERE])]
    assert told(was_node(cloud(orphan(held=())))) == [(NOBODY, [])]


def test_of_a_provider_whose_compute_node_no_cell_has_any_more_it_is_not_known():
    """nova-manage db archive_deleted_rows has taken the row; or it is another region's."""
    (item,) = left_allocations.check(Index(cloud(orphan())))
    assert isinstance(item, Unchecked) and item.code == "SG713" and NOBODY in item.reason


@pytest.mark.parametrize(
    "bundle",
    [was_node(cloud(orphan(trait=False))), was_node(cloud(orphan(trait=False, held=())))],
    ids=["without a trait of Nova", "shared"],
)
def test_providers_of_others_are_not_ours(bundle):
    assert told(bundle) == []


def test_unread_it_is_undecided():
    bundle = cloud()
    unread = dataclasses.replace(bundle.cloud, unread=[facts.Unread("providers.strays", "503")])
    (item,) = left_allocations.check(Index(dataclasses.replace(bundle, cloud=unread)))
    assert isinstance(item, Unchecked) and (item.code, item.reason) == ("SG713", "503")


def test_of_a_narrowed_reading_nothing_is_said():
    bundle = cloud(compute1=[ENDED])
    assert told(dataclasses.replace(bundle, cloud=dataclasses.replace(bundle.cloud, scope=["compute1"]))) == []
