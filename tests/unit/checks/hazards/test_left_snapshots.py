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
