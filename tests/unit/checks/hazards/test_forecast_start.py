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

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import forecast
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import COLLATIONS, guest, healthy, node, service, uid
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
def test_a_directory_in_the_place_of_the_file_ends_in_pythons_own_words(release):
    """The review: told "Unable to parse UUID"; Nova 34 prints "Unhandled error: IsADirectoryError: [Errno 21] ..."."""
    words = "IsADirectoryError: [Errno 21] Is a directory: '/var/lib/nova/compute_id'"
    some = file(cloud(release), uuid=None, error="Is a directory", os_error=words)
    assert refuses(some, "read_local_node_uuid").refusal.text == words


def test_a_file_that_only_nova_may_read_is_unread_and_not_guessed():
    some = file(cloud(), uuid=None, error="Permission denied", unread=True)
    found = started(some)
    assert found.outcome == forecast.UNKNOWN
    assert "/var/lib/nova/compute_id" in found.told and "(Permission denied)" in found.told


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
    # Seen on 34; the words of _ensure_existing_node_identity ("Upgrading from service version ...") never come.
    refuses(some, "_ensure_existing_node_identity", "Compute host compute1 could not be found.")


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
    assert found.told != "starts"


def cells(some, **changes):
    return some.databases(cells=[dataclasses.replace(cell, **changes) for cell in some.bundle.databases.cells])


def exact(some):
    """The same in PostgreSQL, on a server whose name begins with mysql."""
    return cells(some, location="mysql-vip/nova_cell1", dialect="postgresql", collations={})


def unread(some):
    return cells(some, collations=None)


def test_a_service_in_capitals_is_found_by_mariadb_and_not_by_postgresql():
    capitals = cloud().change("services", {"uuid": service(1)}, host="COMPUTE1")
    refuses(capitals, "set_service_ref", early=False)
    refuses(exact(capitals), "_sanity_check_new_host")
    refuses(cells(capitals, collations=dict.fromkeys(COLLATIONS, "utf8mb4_bin")), "_sanity_check_new_host")


def test_host_in_capitals_in_nova_conf_is_refused_by_its_node():
    """The review: told "_sanity_check_new_host"; nova-compute 34 said "My node d316... has host 'compute2' but ..."."""
    some = cloud().part("nova_conf", host="COMPUTE1")
    refuses(some, "_check_for_host_rename", "has host 'compute1' but my host is 'COMPUTE1'")
    refuses(exact(some), "_sanity_check_new_host")


def test_host_in_capitals_on_an_empty_host_makes_no_new_service():
    """The review: told "starts; a new service is made" where MySQL finds the service, and the start is refused."""
    some = cloud().part("nova_conf", host="COMPUTE1").host(domains=[])
    refuses(some, "_check_for_host_rename")
    assert starts(exact(some).drop("compute_nodes", {"uuid": node(1)})).new_service


@pytest.mark.parametrize(
    ("dialect", "collation", "found"),
    [
        ("mariadb", "utf8mb3_general_ci", True),
        ("mariadb", "utf8mb4_general_nopad_ci", False),
        ("mysql", "utf8mb4_0900_ai_ci", False),
        ("mysql", "utf8mb4_bin", True),
        ("postgresql", None, False),
    ],
)
def test_a_service_with_a_blank_at_its_end_is_found_where_blanks_do_not_count(dialect, collation, found):
    some = cloud().change("services", {"uuid": service(1)}, host="compute1 ")
    some = cells(some, dialect=dialect, collations=collation and dict.fromkeys(COLLATIONS, collation))
    refuses(some, "set_service_ref" if found else "_sanity_check_new_host", early=not found)


@pytest.mark.parametrize("release", range(28, 35))
def test_a_service_that_is_found_by_another_name_ends_the_start_after_guests_were_looked_at(release):
    """Seen on 34, the service being `compute2 `: the start was forecast as one that serves."""
    some = being(release, task_state="powering-off").change("services", {"uuid": service(1)}, host="compute1 ")
    words = "Resource tracker initialized with service that does not match host"
    found = refuses(some, "set_service_ref", words, early=False)
    assert [fate.action for fate in found.guests] == [forecast.POWERED_OFF]
    assert found.nodes == ()
    # What its periodic tasks would do, it does not come to.
    assert (
        refuses(
            being(release, vm_state="stopped").change("services", {"uuid": service(1)}, host="compute1 "),
            "set_service_ref",
            early=False,
        ).guests
        == ()
    )


def test_27_does_not_compare_the_name_of_its_service():
    starts(cloud(27).change("services", {"uuid": service(1)}, host="COMPUTE1"))


def test_where_the_collation_was_not_read_the_outcome_is_unknown_and_says_so():
    found = started(unread(cloud().part("nova_conf", host="COMPUTE1")))
    assert (found.outcome, found.refusal) == (forecast.UNKNOWN, None)
    assert "services.host" in found.told and "cell1" in found.told
    # It matters only where names differ.
    starts(unread(cloud()))


def test_of_a_language_whose_letters_are_not_known_here_nothing_is_guessed():
    some = cells(cloud().part("nova_conf", host="COMPUTE1"), collations=dict.fromkeys(COLLATIONS, "utf8_turkish_ci"))
    assert "services.host" in started(some).told and "utf8_turkish_ci" in started(some).told


# --- nova/conf/netconf.py: [DEFAULT] host, a HostDomain --------------------------------------------------------


def test_a_dot_at_the_end_of_host_is_taken_off():
    """The review: told "refuses" (_sanity_check_new_host); nova-compute STARTS as compute2."""
    some = cloud().part("nova_conf", host="compute1.")
    assert starts(some).host == "compute1"


@pytest.mark.parametrize("value", ["compute 1", "", "compute1..", "-compute1", "b\u00fccher", "compute1.5"])
def test_a_host_that_oslo_config_refuses_is_refused_in_its_words(value):
    refuses(cloud().part("nova_conf", host=value), "HostDomain", f"is not valid: {value} is not a valid host address")


# --- the environment of the next start -------------------------------------------------------------------------


def test_the_unread_environment_of_a_stopped_nova_compute_is_not_none():
    """The review: Environment=OS_DEFAULT__HOST=envhost in a drop-in: told "starts"; nova-compute refuses."""
    found = started(cloud().part("nova_conf", environment=None))
    assert found.outcome == forecast.UNKNOWN
    assert "the environment of nova-compute" in found.told
    with pytest.raises(forecast.UnreadError, match="the environment of nova-compute"):
        some = cloud().part("nova_conf", environment=None)
        forecast.fates(Index(some.bundle), some.bundle.hosts["compute1"])


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
    (unsaid,) = starts(some.without("cloud")).unread
    assert "compute2" in unsaid


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
    (fate,) = starts(being(release, task_state="deleting")).guests
    assert (fate.action, fate.rule) == (forecast.DESTROYED_WITH_DISKS, forecast.REDRIVEN)


def test_a_server_deleted_while_it_was_soft_deleted_is_reaped_with_its_disks():
    """db/main/api.py, instance_get_all_by_filters_sort: of deleted rows the vm_state is not asked."""
    (fate,) = starts(being(34, deleted=7, vm_state="soft-delete")).guests
    assert (fate.action, fate.rule) == (forecast.DESTROYED_WITH_DISKS, forecast.DELETED)


def being(release=34, state="running", **row):
    """One guest in the middle of something."""
    some = cloud(release).change("instances", {"uuid": ONE}, **row) if row else cloud(release)
    return some if state == "running" else some.change("domains", {"uuid": ONE}, state=state)


def became(some):
    return [(fate.action, fate.rule) for fate in starts(some).guests]


@pytest.mark.parametrize("release", ALL)
def test_an_evacuation_record_with_a_blank_at_its_end_destroys_the_guest(release):
    """The review: source_compute is `compute2 `: running domain destroyed; forecast: nothing."""
    some = cloud(release).migrate(ONE, "compute1 ", "compute2", "done", "evacuation")
    assert became(some) == [(forecast.DESTROYED, forecast.EVACUATED)]
    assert "SG113" in {item.code for item in audit.check(some.bundle).findings}
    assert became(exact(some)) == []
    assert "SG113" not in {item.code for item in audit.check(exact(some).bundle).findings}


def test_where_the_collation_was_not_read_a_guests_worse_fate_is_told():
    some = unread(cloud().migrate(ONE, "COMPUTE1", "compute2", "done", "evacuation"))
    (fate,) = starts(some).guests
    assert (fate.action, fate.rule) == (forecast.DESTROYED, forecast.EVACUATED)
    assert "migrations.source_compute" in fate.note and "cell1" in fate.note
    assert fate.note in starts(some).told
    assert "SG113" in {item.code for item in audit.check(some.bundle).findings}


@pytest.mark.parametrize("release", ALL)
def test_a_live_row_that_is_deleted_loses_its_domain_and_its_disks(release):
    """The review, the worst: domain gone, disks DELETED; forecast: "left" (not listed), outcome "starts"."""
    some = being(release, vm_state="deleted")
    assert became(some) == [(forecast.DESTROYED_WITH_DISKS, forecast.PARTIAL)]
    assert [fate.domain.uuid for fate in starts(some).destroys] == [ONE]
    (told,) = [item for item in audit.check(some.bundle).findings if item.code == "SG113"]
    assert (told.object.id, told.severity) == (ONE, "warning")
    index = Index(some.bundle)
    assert "SG113" in {item.code for item in forecast.restart(index, some.bundle.hosts["compute1"])}


def test_a_live_row_that_is_deleted_elsewhere_or_kept_by_configuration_is_left():
    assert became(being(vm_state="deleted", host="compute2")) == []
    kept = being(vm_state="deleted").part("nova_conf", running_deleted_instance_action="log")
    assert became(kept) == []
    off = being(30, vm_state="deleted").part("nova_conf", running_deleted_instance_action="shutdown")
    assert became(off) == [(forecast.POWERED_OFF, forecast.PARTIAL)]
    # Seen on 34: "Failed to power off instance", and the guest runs on.
    vain = being(34, vm_state="deleted").part("nova_conf", running_deleted_instance_action="shutdown")
    assert became(vain) == []


def orphaned(release, **own):
    """A second node of compute1, with a provider; ``own``: what is different of its own."""
    some = cloud(release).change("compute_nodes", {"uuid": node(2)}, host="compute1")
    some = some.change("compute_nodes", {"uuid": node(1)}, **own) if own else some
    return file(some, uuid=uid("nobody"))


@pytest.mark.parametrize(
    ("release", "action"),
    [(27, forecast.ORPHANED), (28, forecast.ORPHANED), (29, forecast.WARNED), (34, forecast.WARNED)],
)
def test_orphans_come_before_the_node_that_ends_the_start(release, action):
    """Seen on 34: "Found orphan compute node", then "Duplicate compute node record"; nothing was told of the orphan."""
    found = refuses(orphaned(release), "_init_compute_node", "Duplicate", early=False)
    assert [(row.uuid, row.action) for row in found.nodes] == [(node(2), action)]


@pytest.mark.parametrize("release", [27, 28, 29, 34])
def test_a_node_in_capitals_is_an_orphan_and_in_the_way_unless_it_is_destroyed(release):
    some = file(cloud(release), uuid=uid("nobody")).change(
        "compute_nodes", {"uuid": node(1)}, hypervisor_hostname="COMPUTE1"
    )
    if release < 29:
        assert [row.action for row in starts(some).nodes] == [forecast.CREATED, forecast.ORPHANED]
    else:
        refuses(some, "_init_compute_node", "Duplicate", early=False)


@pytest.mark.parametrize("release", [27, 28])
def test_a_start_that_stumbles_over_an_orphan_does_not_come_to_its_periodic_tasks(release):
    some = cloud(release).change("compute_nodes", {"uuid": node(2)}, host="compute1")
    some = some.change("instances", {"uuid": ONE}, vm_state="stopped").drop("providers", {"uuid": node(2)})
    assert refuses(some, "delete_resource_provider", early=False).guests == ()


def test_what_ends_before_the_periodic_tasks_leaves_a_half_deleted_guest():
    assert refuses(file(being(vm_state="deleted"), uuid=uid("nobody")), "_init_compute_node", early=False).guests == ()


@pytest.mark.parametrize("row", [{"deleted": 7, "vm_state": "deleted"}, {"vm_state": "deleted"}])
def test_a_timeout_of_reaping_is_told_with_the_guest(row):
    some = being(**row).part("nova_conf", running_deleted_instance_timeout=3600)
    told = starts(some).told
    assert " 3600 s " in told and "(running_deleted_instance_timeout)" in told


@pytest.mark.parametrize("release", ALL)
def test_a_stop_that_was_cut_powers_the_guest_off(release):
    """The review: nova-compute powers it off at its start (domain `shut off`). Forecast: nothing."""
    assert became(being(release, task_state="powering-off")) == [(forecast.POWERED_OFF, forecast.REDRIVEN)]
    assert "guest1 is powered off" in starts(being(release, task_state="powering-off")).told
    assert became(being(release, "shutoff", task_state="powering-off", vm_state="active")) == []


@pytest.mark.parametrize(
    ("state", "row", "action"),
    [
        ("running", {"task_state": "powering-on"}, forecast.REBOOTED),
        ("shutoff", {"task_state": "powering-on", "vm_state": "stopped"}, forecast.STARTED),
        ("running", {"task_state": "reboot_pending"}, forecast.REBOOTED_SOFTLY),
        ("shutoff", {"task_state": "reboot_pending"}, forecast.STARTED),
        ("running", {"task_state": "reboot_pending_hard", "vm_state": "stopped"}, forecast.REBOOTED),
        ("shutoff", {"task_state": "reboot_started"}, forecast.STARTED),
        ("paused", {"task_state": "unpausing"}, forecast.UNPAUSED),
        ("running", {"task_state": "resize_migrating"}, forecast.REVERTED),
        ("shutoff", {"task_state": "resize_migrating", "vm_state": "error"}, forecast.REVERTED),
        ("running", {"task_state": "deleting", "vm_state": "error"}, forecast.DESTROYED_WITH_DISKS),
    ],
)
@pytest.mark.parametrize("release", [27, 29, 31, 34])
def test_a_guest_in_the_middle_of_something_is_carried_on_with(release, state, row, action):
    assert became(being(release, state, **row)) == [(action, forecast.REDRIVEN)]


@pytest.mark.parametrize(
    ("state", "row"),
    [
        ("running", {"task_state": "reboot_started"}),
        ("running", {"task_state": "rebooting"}),
        ("running", {"task_state": "pausing"}),
        ("running", {"task_state": "image_uploading"}),
        ("running", {"task_state": "resize_prep"}),
        ("running", {"task_state": "rebuilding"}),
        ("running", {"task_state": "spawning", "vm_state": "building"}),
        ("running", {"task_state": "deleting", "vm_state": "soft-delete"}),
        ("running", {"task_state": "powering-off", "vm_state": "error"}),
        ("running", {"task_state": "powering-off", "host": "compute2"}),
        ("running", {"task_state": "powering-off", "host": "COMPUTE1"}),
        ("running", {"task_state": "migrating"}),
        ("shutoff", {}),
    ],
)
@pytest.mark.parametrize("release", [27, 29, 31, 34])
def test_a_guest_whose_row_alone_is_changed_is_left(release, state, row):
    assert became(being(release, state, **row)) == []


@pytest.mark.parametrize("task", ["rebooting", "rebooting_hard"])
def test_a_reboot_that_had_not_begun_starts_what_is_off_since_30(task):
    assert became(being(29, "shutoff", task_state=task)) == []
    assert became(being(30, "shutoff", task_state=task)) == [(forecast.STARTED, forecast.REDRIVEN)]


@pytest.mark.parametrize("release", [27, 29, 31, 34])
@pytest.mark.parametrize("deleted", [0, 7])
def test_a_running_live_migration_is_aborted(release, deleted):
    """Also by a soft-deleted record: migration_get_by_instance_and_status reads those too (state 905 of the lab)."""
    some = being(release, task_state="migrating")
    some = some.migrate(ONE, "compute1", "compute2", "running", "live-migration", deleted=deleted)
    assert became(some) == [(forecast.ABORTED, forecast.REDRIVEN)]


@pytest.mark.parametrize("release", [27, 29, 31, 34])
def test_guests_that_are_off_after_a_reboot_of_the_host_are_started_where_nova_is_configured_so(release):
    some = being(release, "shutoff").part("nova_conf", resume_guests_state_on_host_boot=True)
    assert became(some) == [(forecast.STARTED, forecast.RESUMED)]
    # So are those that libvirt has lost; what its owner stopped, or what runs or is paused, is not.
    assert became(some.drop("domains", {"uuid": ONE})) == [(forecast.STARTED, forecast.RESUMED)]
    assert became(some.change("instances", {"uuid": ONE}, power_state=4, vm_state="stopped")) == []
    for state in ("running", "paused"):
        assert became(some.change("domains", {"uuid": ONE}, state=state)) == []


@pytest.mark.parametrize("release", [27, 29, 31, 34])
@pytest.mark.parametrize("task", [None, "image_snapshot", "resize_prep", "migrating"])
def test_a_guest_that_is_stopped_in_nova_and_runs_is_powered_off(release, task):
    """The guide said "some minutes later"; the first comparison of power states is part of the start."""
    some = being(release, vm_state="stopped", task_state=task)
    assert became(some) == [(forecast.POWERED_OFF, forecast.SYNCED)]
    assert became(some.change("domains", {"uuid": ONE}, state="paused")) == [(forecast.POWERED_OFF, forecast.SYNCED)]
    assert became(some.change("domains", {"uuid": ONE}, state="shutoff")) == []
    assert became(some.part("nova_conf", sync_power_state_interval=-1)) == []
    # Whose row is elsewhere is not compared here.
    assert became(some.change("instances", {"uuid": ONE}, host="compute2")) == []


@pytest.mark.parametrize(
    "task", ["suspending", "rebooting", "reboot_started_hard", "pausing", "rebuilding", "spawning"]
)
def test_a_task_that_is_left_or_ends_otherwise_keeps_it_from_being_powered_off(task):
    assert became(being(34, vm_state="stopped", task_state=task)) == []


def test_an_active_guest_that_is_suspended_is_stopped():
    assert became(being(34, "pmsuspended")) == [(forecast.POWERED_OFF, forecast.SYNCED)]
    assert became(being(34, "pmsuspended", vm_state="suspended")) == []


def test_a_guest_that_is_resumed_and_stopped_in_nova_does_not_run_for_long():
    some = being(34, "shutoff", vm_state="stopped").part("nova_conf", resume_guests_state_on_host_boot=True)
    assert became(some) == [(forecast.STARTED_AND_OFF, forecast.RESUMED)]
    assert became(some.part("nova_conf", sync_power_state_interval=-1)) == [(forecast.STARTED, forecast.RESUMED)]


def test_evidence_of_an_older_version_tells_the_comparison_of_power_states_with_a_reservation():
    (fate,) = starts(being(34, vm_state="stopped").part("nova_conf", sync_power_state_interval=None)).guests
    assert "sync_power_state_interval" in fate.note


def test_without_the_option_of_resuming_the_worse_is_told_and_why():
    (fate,) = starts(being(34, "shutoff").part("nova_conf", resume_guests_state_on_host_boot=None)).guests
    assert fate.action == forecast.STARTED
    assert "resume_guests_state_on_host_boot" in fate.note


def test_the_disks_of_a_guest_that_libvirt_does_not_have_are_deleted_with_it():
    some = cloud().drop("domains", {"uuid": ONE}).change("instances", {"uuid": ONE}, task_state="deleting")
    assert [fate.domain.uuid for fate in starts(some).destroys] == [ONE]
    evacuated = some.migrate(ONE, "compute1", "compute2", "done", "evacuation")
    assert became(evacuated) == []


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
    assert found.told.startswith("unknown: ")


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
    assert {"SG105", "SG106", "SG113", "SG131"} & {item.code for item in audit.check(spoiled.bundle).findings}
