# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a start of nova-compute would do on a host, rule by rule and release by release.

Each rule names the file of Nova that it was read from; what a real nova-compute prints is compared on the lab.
"""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from ansible_collections.stackguard.nova.plugins.module_utils import facts
from ansible_collections.stackguard.nova.plugins.module_utils.checks import audit, forecast
from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy, node, service, uid
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets

ALL = tuple(range(26, 35))
GUARDED = tuple(range(27, 35))
ONE = guest(1, 1)


def started(some, on="compute1"):
    return forecast.start(Index(some.bundle), some.bundle.hosts[on])


def cloud(release=34, **options):
    return healthy(guests=1, release=release, **options)


def file(some, **changes):
    return some.change("compute_id_files", lambda row: row.path.startswith("/var"), **changes)


def lost(some):
    return file(some, exists=False, uuid=None)


def old_service(some, version=64):
    return some.change("services", {"uuid": service(1)}, version=version)


def refuses(some, rule, *words, early=True):
    found = started(some)
    assert found.outcome == forecast.REFUSES, found.told
    assert (found.refusal.rule, found.refusal.early) == (rule, early)
    for word in words:
        assert word in found.refusal.text
    assert found.told.startswith("refuses: ")
    return found


def starts(some):
    found = started(some)
    assert found.outcome == forecast.STARTS, found.told
    return found


@pytest.mark.parametrize("release", ALL)
def test_a_healthy_host_starts_and_nothing_is_touched(release):
    found = starts(cloud(release))
    assert (found.guests, found.unread, found.new_service, found.releases) == ((), (), False, (release,))
    assert [row.action for row in found.nodes] == [forecast.KEPT]
    assert found.told == "starts"


@given(fleets(min_hosts=1, releases=range(26, 35)))
def test_every_host_of_a_healthy_fleet_starts(some):
    assert {start.outcome for start in audit.starts(some.cloud.bundle)} == {forecast.STARTS}
    assert not [start for start in audit.starts(some.cloud.bundle) if start.destroys]


# --- nova/virt/node.py: read_local_node_uuid ------------------------------------------------------------------


@pytest.mark.parametrize("release", GUARDED)
def test_a_file_without_a_uuid(release):
    some = file(cloud(release), uuid=None, error="no uuid")
    text = "Invalid node identity configuration: Unable to parse UUID from /var/lib/nova/compute_id"
    refuses(some, "read_local_node_uuid", text)


@pytest.mark.parametrize("release", GUARDED)
def test_copies_that_disagree(release):
    some = cloud(release).change("compute_id_files", {"exists": False}, exists=True, uuid=uid("other"))
    refuses(some, "read_local_node_uuid", f"UUID {node(1)} in /var/lib/nova/compute_id does not match {uid('other')}")


def test_a_copy_that_nova_does_not_read_decides_nothing():
    copy = facts.ComputeIdFile("/etc/kolla/nova-compute/compute_id", False, True, uid("other"))
    starts(cloud().add("compute_id_files", copy))


def test_release_26_knows_no_such_file():
    starts(file(cloud(26), exists=True, uuid=None, error="no uuid"))


# --- nova/compute/manager.py: _ensure_existing_node_identity --------------------------------------------------


@pytest.mark.parametrize("release", GUARDED)
def test_a_lost_identity(release):
    refuses(lost(cloud(release)), "_ensure_existing_node_identity", "No local node identity found, but this is not our")


@pytest.mark.parametrize("release", GUARDED)
def test_an_upgrade_takes_the_one_node_of_its_host(release):
    found = starts(old_service(lost(cloud(release))))
    assert [(row.uuid, row.action) for row in found.nodes] == [(node(1), forecast.KEPT)]


def test_an_upgrade_without_a_node():
    some = old_service(lost(cloud())).drop("compute_nodes", {"uuid": node(1)})
    refuses(some, "_ensure_existing_node_identity", "Upgrading from service version 64", "for host compute1 ")


def test_an_upgrade_with_two_nodes():
    some = old_service(lost(cloud())).change("compute_nodes", {"uuid": node(2)}, host="compute1")
    refuses(some, "_ensure_existing_node_identity", "Multiple nodes found in database")


# --- nova/compute/manager.py: _sanity_check_new_host, since 29 ------------------------------------------------


@pytest.mark.parametrize("release", range(29, 35))
def test_guests_under_a_new_service(release):
    some = cloud(release).drop("services", {"uuid": service(1)})
    refuses(some, "_sanity_check_new_host", "My hypervisor has existing instances, but I appear to be a new service")
    empty = some.host(domains=[])
    assert starts(empty).new_service


@pytest.mark.parametrize("release", [27, 28])
def test_27_and_28_make_a_second_service_without_a_word(release):
    found = starts(cloud(release).drop("services", {"uuid": service(1)}))
    assert found.new_service
    assert "a new service is made" in found.told


def test_the_service_is_found_as_its_database_compares_names():
    capitals = cloud().change("services", {"uuid": service(1)}, host="COMPUTE1")
    starts(capitals)
    cells = [dataclasses.replace(cell, location="postgresql://db/nova") for cell in capitals.bundle.databases.cells]
    refuses(capitals.databases(cells=cells), "_sanity_check_new_host")


# --- nova/compute/manager.py: _get_nodes, _check_for_host_rename ----------------------------------------------


@pytest.mark.parametrize("release", GUARDED)
def test_libvirt_has_another_name(release):
    some = cloud(release).part("libvirt", hostname="other")
    refuses(
        some,
        "_get_nodes",
        f"My compute node {node(1)} has hypervisor_hostname compute1 but virt driver reports it should be other.",
    )


@pytest.mark.parametrize("release", GUARDED)
def test_the_node_is_of_another_host(release):
    some = cloud(release).change("compute_nodes", {"uuid": node(1)}, host="other")
    refuses(some, "_check_for_host_rename", f"My node {node(1)} has host 'other' but my host is 'compute1'")


@pytest.mark.parametrize("release", [27, 28])
def test_a_renamed_host_is_refused_by_its_node_before_29(release):
    some = cloud(release).part("nova_conf", host="other")
    refuses(some, "_check_for_host_rename", "has host 'compute1' but my host is 'other'")


@pytest.mark.parametrize("release", range(29, 35))
def test_and_by_its_guests_since_29(release):
    refuses(cloud(release).part("nova_conf", host="other"), "_sanity_check_new_host")


def test_26_refuses_nothing_and_makes_another_node():
    found = starts(cloud(26).part("nova_conf", host="other").part("libvirt", hostname="other"))
    assert [(row.hypervisor_hostname, row.action) for row in found.nodes] == [("other", forecast.CREATED)]


# --- nova/compute/resource_tracker.py: _init_compute_node -----------------------------------------------------


@pytest.mark.parametrize("release", GUARDED)
def test_a_file_of_nobody_meets_the_old_row_after_guests_were_looked_at(release):
    some = file(cloud(release), uuid=uid("nobody")).migrate(ONE, "compute1", "compute2", "done", "evacuation")
    found = refuses(some, "_init_compute_node", "Duplicate compute node record found for host compute1", early=False)
    # It gets as far as the evacuated guest, and ends after that.
    assert [fate.rule for fate in found.destroys] == [forecast.EVACUATED]
    assert found.nodes == ()


def test_a_refusal_before_the_guests_destroys_none():
    some = cloud().part("libvirt", hostname="other").migrate(ONE, "compute1", "compute2", "done", "evacuation")
    assert refuses(some, "_get_nodes").destroys == []


def test_what_ends_there_does_not_reap():
    some = file(cloud(), uuid=uid("nobody")).change("instances", {"uuid": ONE}, deleted=7, vm_state="deleted")
    assert refuses(some, "_init_compute_node", early=False).guests == ()


def test_a_file_of_nobody_and_no_old_row_is_a_new_node():
    some = file(cloud(), uuid=uid("nobody")).drop("compute_nodes", {"uuid": node(1)})
    assert [(row.uuid, row.action) for row in starts(some).nodes] == [(uid("nobody"), forecast.CREATED)]


@pytest.mark.parametrize("release", GUARDED)
def test_a_soft_deleted_node_is_undeleted(release):
    some = cloud(release).change("compute_nodes", {"uuid": node(1)}, deleted=201)
    assert [(row.uuid, row.action) for row in starts(some).nodes] == [(node(1), forecast.UNDELETED)]


# --- nova/compute/manager.py: update_available_resource -------------------------------------------------------


@pytest.mark.parametrize("release", ALL)
def test_a_second_node_of_the_host_is_an_orphan_destroyed_until_28(release):
    some = cloud(release).change("compute_nodes", {"uuid": node(2)}, host="compute1")
    actions = {row.uuid: row.action for row in starts(some).nodes}
    expected = forecast.ORPHANED if release < 29 else forecast.WARNED
    assert actions == {node(1): forecast.KEPT, node(2): expected}


@pytest.mark.parametrize("release", [26, 27, 28])
def test_an_orphan_without_a_resource_provider_ends_the_start(release):
    some = cloud(release).change("compute_nodes", {"uuid": node(2)}, host="compute1")
    lost = some.drop("providers", {"uuid": node(2)})
    found = refuses(lost, "delete_resource_provider", early=False)
    assert found.refusal.text == f"No such provider {node(2)}"
    assert forecast.ORPHANED in {row.action for row in found.nodes}
    assert not starts(some).unread
    assert "whether node compute2 has a resource provider" in starts(some.without("cloud")).told


def test_from_29_on_orphans_are_left_alone_and_end_nothing():
    some = cloud(29).change("compute_nodes", {"uuid": node(2)}, host="compute1").drop("providers", {"uuid": node(2)})
    assert not starts(some).unread


def test_26_destroys_its_node_when_libvirts_name_changed():
    found = starts(cloud(26).part("libvirt", hostname="other"))
    assert [(row.hypervisor_hostname, row.action) for row in found.nodes] == [
        ("other", forecast.CREATED),
        ("compute1", forecast.ORPHANED),
    ]


# --- guests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ALL)
def test_evacuated_guests_are_destroyed_in_every_release(release):
    some = cloud(release).migrate(ONE, "compute1", "compute2", "done", "evacuation")
    found = starts(some)
    assert [(fate.domain.uuid, fate.action) for fate in found.destroys] == [(ONE, forecast.DESTROYED)]
    assert "guest1 is destroyed" in found.told
    assert "SG113" in {item.code for item in audit.check(some.bundle).findings}


@pytest.mark.parametrize("release", ALL)
def test_guests_of_deleted_servers_are_reaped_with_their_disks(release):
    some = cloud(release).change("instances", {"uuid": ONE}, deleted=7, vm_state="deleted")
    assert [fate.action for fate in starts(some).destroys] == [forecast.DESTROYED_WITH_DISKS]
    kept = some.part("nova_conf", running_deleted_instance_action="log")
    assert starts(kept).guests == ()


@pytest.mark.parametrize("release", ALL)
def test_a_deletion_that_was_cut_is_carried_on_with(release):
    some = cloud(release).change("instances", {"uuid": ONE}, task_state="deleting")
    (fate,) = starts(some).guests
    assert (fate.action, fate.rule) == (forecast.DESTROYED_WITH_DISKS, forecast.REDRIVEN)
    assert starts(cloud(release).change("instances", {"uuid": ONE}, task_state="powering-off")).guests == ()


# --- what was not read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda c: c.host(nova_conf=None), "nova.conf"),
        (lambda c: c.host(libvirt=None), "libvirt's host name"),
        (lambda c: c.host(domains=None), "the domains"),
        (lambda c: c.host(compute_id_files=None), "compute_id files"),
        (lambda c: c.host(nova_version=None).change("services", {"uuid": service(1)}, version=99), "Nova's release"),
        (lambda c: c.cell(1, services=None), "services of every cell"),
        (lambda c: c.cell(1, compute_nodes=None), "compute nodes of every cell"),
        (lambda c: c.without("databases"), "services of every cell"),
    ],
)
def test_what_was_not_read_is_told_and_never_guessed(spoil, word):
    found = started(spoil(cloud()))
    assert (found.outcome, found.refusal) == (forecast.UNKNOWN, None)
    assert word in found.told
    assert found.told.startswith("cannot be told")


@pytest.mark.parametrize("part", ["instances", "migrations"])
def test_without_the_rows_of_guests_only_they_stay_untold(part):
    found = started(cloud().cell(1, **{part: None}))
    assert found.outcome == forecast.STARTS
    assert part in found.told


@given(fleets(min_hosts=2, releases=range(26, 35)))
def test_whatever_is_refused_or_destroyed_is_a_finding_too(some):
    first = min(some.cloud.bundle.hosts)
    spoiled = some.cloud.part("libvirt", first, hostname="another-name")
    found = forecast.start(Index(spoiled.bundle), spoiled.bundle.hosts[first])
    changed = [row for row in found.nodes if row.action == forecast.ORPHANED]
    assert found.outcome == forecast.REFUSES or changed
    assert {"SG105", "SG106", "SG113"} & {item.code for item in audit.check(spoiled.bundle).findings}
