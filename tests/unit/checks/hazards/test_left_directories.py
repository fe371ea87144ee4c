# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG713: directories in instances_path of servers that Nova has elsewhere; never one that anything may need."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import left_directories
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

ONE = guest(1, 1)
PATH = "/var/lib/nova/instances"


def directory(name=ONE, keeps=()):
    return facts.LeftDirectory(name.partition("_")[0], name, 11, 22, list(keeps))


def elsewhere(*left, lives="compute3", local=True, **fields):
    """The guest of compute1 lives on another host, and compute1 has no domain of it."""
    some = healthy(guests=1)
    if lives != "compute1":
        some = some.change("instances", {"uuid": ONE}, "compute1", 1, host=lives, node=lives, **fields)
    place = facts.InstancesPath(PATH, "ext4" if local else "nfs4", local, list(left))
    return some.host("compute1", domains=[], instances_path=place)


def found(some):
    bundle = some.bundle
    return left_directories.left_on(Index(bundle), bundle.hosts["compute1"])


def states(some):
    return [(item.state, item.aside) for item in found(some)]


def test_the_directory_of_a_server_elsewhere_is_left_and_may_be_moved():
    assert states(elsewhere(directory())) == [("directory", True)]
    assert states(elsewhere(directory(), lives=None)) == [("directory", True)], "shelved: on no host"


def test_one_with_files_is_named_only():
    assert states(elsewhere(directory(keeps=["disk"]))) == [("directory-with-files", False)]


def test_one_of_a_server_of_this_host_is_its_own():
    assert found(elsewhere(directory(), lives="compute1")) == []
    assert found(elsewhere(directory(), lives="Compute1")) == [], "names are one to the database"


def test_what_is_kept_until_a_resize_is_confirmed_is_not_left():
    some = elsewhere(directory(f"{ONE}_resize"))
    assert states(some) == [("directory", True)]
    assert found(some.migrate(ONE, "compute1", "compute3", "finished", "resize")) == []


def test_one_of_a_resize_whose_server_is_here_is_named_only():
    assert states(elsewhere(directory(f"{ONE}_resize"), lives="compute1")) == [("directory-of-resize", False)]


@pytest.mark.parametrize("status", ["accepted", "pre-migrating", "running", "reverting"])
def test_while_anything_moves_nothing_is_left(status):
    some = elsewhere(directory()).migrate(ONE, "compute3", "compute1", status, "live-migration")
    assert found(some) == []


@pytest.mark.parametrize("name", [ONE, f"{ONE}_resize"])
def test_while_its_server_has_a_task_it_is_named_only(name):
    """A revert is C(reverted) before its source has taken anything back, and an unshelve has no migration at all."""
    some = elsewhere(directory(name), task_state="resize_reverting")
    some = some.migrate(ONE, "compute1", "compute3", "reverted", "resize")
    assert states(some) == [("directory-of-busy-server", False)]


def test_a_resize_that_failed_may_have_left_the_only_copy():
    some = elsewhere(directory(f"{ONE}_resize", keeps=["disk"]), lives="compute1")
    assert states(some) == [("directory-of-resize", False)]


def test_a_finished_evacuation_leaves_it():
    assert states(elsewhere(directory()).migrate(ONE, "compute1", "compute3", "done", "evacuation")) == [
        ("directory", True)
    ]


def test_that_of_a_deleted_server_stops_nothing():
    assert found(elsewhere(directory(), deleted=7)) == []


def test_where_other_hosts_may_have_it_it_is_the_servers_own():
    assert found(elsewhere(directory(), local=False)) == []


def test_a_domain_keeps_even_what_seems_left():
    some = elsewhere(directory(f"{ONE}_resize"))
    (domain,) = healthy(guests=1).bundle.hosts["compute1"].domains
    assert states(some.host("compute1", domains=[domain])) == [("directory-of-resize", False)]


def test_unread_it_is_undecided():
    some = elsewhere(directory()).host("compute1", instances_path=None)
    assert found(some) is None
    (item,) = left_directories.check(Index(some.bundle), some.bundle.hosts["compute1"])
    assert isinstance(item, Unchecked) and item.code == "SG713"


def test_an_audit_tells_each_kind_once_with_its_number():
    many = [dataclasses.replace(directory(), name=f"{ONE}{end}") for end in ("", "_del", "_resize")]
    some = elsewhere(*many, directory(keeps=["disk"]))
    items = list(left_directories.check(Index(some.bundle), some.bundle.hosts["compute1"]))
    assert [(item.code, item.evidence["number"]) for item in items] == [("SG713", 3), ("SG713", 1)]
