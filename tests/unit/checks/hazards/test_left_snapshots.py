# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG713: a snapshot of a resize that nobody waits for any more."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import left_snapshots
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Finding, Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

ONE = guest(1, 1)


def disk(*snapshots):
    """The guest's disk in Ceph, with these snapshots."""
    kept = [facts.RbdSnapshot(name) for name in snapshots]
    image = facts.RbdImage(f"{ONE}_disk", "1a", 1, kept, [], [], [])
    return healthy(guests=1).host("compute2", rbd=facts.RbdFacts("library", "f", "vms", [ONE], [image], []))


def told(some):
    return [(type(item), item.code) for item in left_snapshots.check(Index(some.bundle))]


def test_one_that_no_resize_waits_for_is_told():
    assert told(disk("nova-resize")) == [(Finding, "SG713")]
    assert told(disk("backup", "nova-resize-2")) == []


@pytest.mark.parametrize("status", ["finished", "confirming", "reverting", "migrating"])
def test_a_resize_that_has_not_ended_needs_it(status):
    assert told(disk("nova-resize").migrate(ONE, "compute1", "compute3", status, "resize")) == []


def test_without_the_migrations_it_is_undecided():
    bundle = disk("nova-resize").bundle
    bundle = dataclasses.replace(bundle, databases=None, cloud=None)
    (item,) = left_snapshots.check(Index(bundle))
    assert isinstance(item, Unchecked) and item.code == "SG713"


# --- before a server moves cold


def by_record(some, server=None, failed=True):
    """The last resize of the guest came from compute3 and is in error."""
    row = facts.ApiMigration(7, "m", "resize", "error", ONE, "compute3", "compute3", "compute1", "compute1")
    server = server or next(entry for entry in some.bundle.cloud.servers if entry.id == ONE)
    return [
        (item.code, item.severity, item.object.id)
        for item in left_snapshots.by_record(some.bundle, server, row if failed else None)
    ]


def conf(images_type):
    some = healthy(guests=1)
    known = some.bundle.hosts["compute1"].nova_conf
    return some.host("compute1", nova_conf=dataclasses.replace(known, images_type=images_type, images_rbd_pool="vms"))


def test_a_move_that_failed_on_its_destination_bars_the_next_one_until_somebody_has_looked():
    assert by_record(conf("rbd")) == [("SG713", "blocker", ONE)]
    assert by_record(conf("rbd"), failed=False) == []
    assert by_record(conf("qcow2")) == []


def test_of_a_server_without_a_disk_of_its_own_nothing_is_left():
    some = conf("rbd")
    server = next(entry for entry in some.bundle.cloud.servers if entry.id == ONE)
    assert by_record(some, dataclasses.replace(server, image="")) == []


def test_where_the_images_are_is_not_known_it_may_be_there():
    assert by_record(conf("qcow2").unreachable("compute1", "timed out")) == [("SG713", "blocker", ONE)]
