# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a start of nova-compute would do to each domain, by Nova's own rules, and what of it refuses a return."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import forecast
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

ONE = guest(1, 1)


def cloud(rbd=True, action="reap", release=34):
    """compute1 with one running domain, whose instance lives there."""
    some = healthy(guests=1, release=release)
    conf = dataclasses.replace(
        some.bundle.hosts["compute1"].nova_conf,
        images_type="rbd" if rbd else "qcow2",
        running_deleted_instance_action=action,
    )
    domains = [dataclasses.replace(row, state="running") for row in some.rows("domains")]
    return some.host("compute1", nova_conf=conf, domains=domains)


def moved(some, host="compute3"):
    return some.change("instances", {"uuid": ONE}, "compute1", 1, host=host, node=host)


def evacuated(some, status="done", source="compute1"):
    return some.migrate(ONE, source, "compute3", status, "evacuation")


def deleted(some, **changes):
    return some.change("instances", {"uuid": ONE}, "compute1", 1, deleted=77, vm_state="deleted", **changes)


def fate(some):
    (found,) = forecast.fates(Index(some.bundle), some.bundle.hosts["compute1"])
    return found.action, found.rule


def codes(some):
    return [
        (item.code, getattr(item, "severity", "unchecked"))
        for item in forecast.restart(Index(some.bundle), some.bundle.hosts["compute1"])
    ]


@pytest.mark.parametrize("status", ["accepted", "pre-migrating", "done"])
def test_an_evacuated_guest_is_destroyed_by_name_wherever_it_lives(status):
    assert fate(evacuated(moved(cloud()), status)) == (forecast.DESTROYED, forecast.EVACUATED)
    assert fate(evacuated(cloud(), status)) == (forecast.DESTROYED, forecast.EVACUATED)
    # Seen on 34: the domain goes, and the disks of a deleted server stay. What is left of it is told all the same.
    assert fate(evacuated(deleted(cloud()), status)) == (forecast.DESTROYED, forecast.EVACUATED)
    assert ("SG509", "warning") in codes(evacuated(deleted(cloud()), status))
    assert fate(evacuated(moved(cloud(rbd=False)), status)) == (forecast.DESTROYED_WITH_DISKS, forecast.EVACUATED)


@pytest.mark.parametrize("status", ["completed", "failed", "error"])
def test_other_records_destroy_nothing(status):
    assert fate(evacuated(moved(cloud()), status)) == (forecast.LEFT, None)
    assert fate(evacuated(moved(cloud()), "done", source="compute2")) == (forecast.LEFT, None)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("reap", forecast.DESTROYED_WITH_DISKS),
        (None, forecast.DESTROYED_WITH_DISKS),
        ("shutdown", forecast.POWERED_OFF),
        ("log", forecast.LEFT),
        ("noop", forecast.LEFT),
    ],
)
def test_a_deleted_instances_domain_goes_as_configured(action, expected):
    assert fate(deleted(cloud(action=action, release=30))) == (expected, forecast.DELETED)


def test_since_31_nova_fails_to_shut_a_deleted_instance_down():
    """Seen on 34: "Failed to power off instance", and the guest runs on."""
    assert fate(deleted(cloud(action="shutdown", release=31))) == (forecast.LEFT, forecast.DELETED)
    # Which release it is may not be known.
    some = deleted(cloud(action="shutdown", release=31)).host(nova_version=None)
    unknown = some.change("services", {"host": "compute1"}, version=99)
    assert fate(unknown) == (forecast.POWERED_OFF, forecast.DELETED)


def test_what_is_off_is_not_shut_down():
    some = deleted(cloud(action="shutdown", release=30)).change("domains", {"uuid": ONE}, state="shutoff")
    assert fate(some) == (forecast.LEFT, forecast.DELETED)


def test_a_record_of_an_instance_that_no_row_is_left_of_destroys_nothing():
    """Seen on 34: Nova looks for the rows of its domains first, and finds none for this one."""
    purged = evacuated(cloud()).drop("instances", {"uuid": ONE})
    assert fate(purged) == (forecast.LEFT, None)
    # Where rows were asked for by host, it may just not have been read: the worse is told.
    assert fate(purged.narrowed("compute1")) == (forecast.DESTROYED, forecast.EVACUATED)


def test_a_soft_deleted_instance_is_left():
    some = cloud().change("instances", {"uuid": ONE}, "compute1", 1, vm_state="soft-delete")
    assert fate(some)[0] == forecast.LEFT
    # Its row deleted besides (the API does that while the host is down), it is any deleted instance.
    gone = some.change("instances", {"uuid": ONE}, "compute1", 1, deleted=1)
    assert fate(gone) == (forecast.DESTROYED_WITH_DISKS, forecast.DELETED)


def test_what_lives_here_and_has_no_record_is_left_and_nothing_is_told():
    assert fate(cloud()) == (forecast.LEFT, None)
    assert codes(cloud()) == []


def test_a_guest_that_was_moved_back_would_be_killed():
    assert codes(evacuated(cloud())) == [("SG113", "blocker")]


def test_a_guest_that_lives_elsewhere_and_runs_here_refuses():
    assert codes(moved(cloud())) == [("SG108", "blocker")]
    assert codes(evacuated(moved(cloud()))) == [("SG108", "blocker")]


def test_a_definition_of_a_guest_that_lives_elsewhere_is_a_warning():
    some = moved(cloud())
    off = [dataclasses.replace(row, state="shutoff") for row in some.rows("domains")]
    assert codes(some.host("compute1", domains=off)) == [("SG509", "warning")]


def test_the_definition_that_a_revert_comes_back_to_is_left_as_it_is():
    some = moved(cloud())
    off = [dataclasses.replace(row, state="shutoff") for row in some.rows("domains")]
    some = some.host("compute1", domains=off)
    for row in off:
        some = some.migrate(row.uuid, "compute1", "compute3", "finished", "resize")
    found = list(forecast.restart(Index(some.bundle), some.bundle.hosts["compute1"]))
    assert [(item.code, item.severity) for item in found] == [("SG509", "info")]
    assert "undefine" not in found[0].remedy


def test_a_deleted_servers_disks_are_told_of():
    assert codes(deleted(cloud())) == [("SG509", "warning")]


def test_a_record_without_a_domain_is_told():
    some = evacuated(moved(cloud())).host("compute1", domains=[])
    assert codes(some) == [("SG509", "info")]


def test_a_domain_that_nobody_knows_is_undecided():
    some = cloud().put("instances", [])
    assert codes(some) == [("SG110", "unchecked")]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda some: some.host("compute1", domains=None),
        lambda some: some.host("compute1", nova_conf=None),
        lambda some: some.cell(1, instances=None),
        lambda some: some.cell(1, migrations=None),
        lambda some: some.without("databases"),
        lambda some: some.databases(cells=None),
    ],
)
def test_what_was_not_read_is_never_nothing(spoil):
    some = spoil(evacuated(moved(cloud())))
    assert codes(some) == [("SG709", "blocker")]
    with pytest.raises(forecast.UnreadError):
        forecast.fates(Index(some.bundle), some.bundle.hosts["compute1"])


def test_facts_need_no_new_field():
    assert facts.NovaConf.__dataclass_fields__["running_deleted_instance_action"].default is None
