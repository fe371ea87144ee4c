# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG108, SG109, SG132: has each server exactly one domain, where Nova shows it? And what a report orders if not."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiMigration
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import (
    MigrationRequest,
    RenameRequest,
    ResizeRequest,
)
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import preflight as rename_by_drain
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import preflight as rename
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import preflight as resize
from ansible_collections.stackguard.nova.tests.unit import builders, draining, evacuations, moving_scene, zoned
from ansible_collections.stackguard.nova.tests.unit.builders import domain, guest, healthy, uid, zone_of

ONE, TWO = guest(1, 1), guest(1, 2)
#: Orders that end the only copy of a guest, start a second one, or take its network. Said of anything, also as advice.
ORDERS = re.compile(
    r"reboot|virsh (destroy|undefine|shutdown|start)|server (stop|start|set|delete)|\breset|\bstop the|\bend the|"
    r"\bdestroy|\bundefine|bind(ing)?\b|--state|delete",
    re.IGNORECASE,
)


def run_on(cloud, *hosts, state="running", uuid=ONE):
    """The domain of a guest of compute1 is on these hosts instead."""
    cloud = cloud.drop("domains", {"uuid": uuid})
    for number, name in enumerate(hosts, 5):
        entry = dataclasses.replace(domain(1, 1), uuid=uuid, state=state, pid=None if state == "shutoff" else number)
        cloud = cloud.add("domains", entry, host=name)
    return cloud


def moved(cloud, status="completed", kind="live-migration", source="compute1", dest="compute3"):
    return cloud.migrate(ONE, source, dest, status, kind)


def lost_write(task=None):
    """R01a: a live migration ended on compute3, and Nova's last write was lost."""
    cloud = moved(run_on(healthy(), "compute3"))
    return cloud.change("instances", {"uuid": ONE}, task_state=task) if task else cloud


def port_on(cloud, host):
    port = next(row for row in cloud.rows("ports") if row.device_id == ONE)
    return cloud.change("ports", {"id": port.id}, binding_host_id=host)


def of_server(checked, uuid=ONE):
    return [
        item
        for item in checked.findings
        if uuid in (item.object.id, item.object.name, item.evidence.get("device")) or uuid in item.object.id
    ]


def no_orders(checked, uuid=ONE):
    found = {item.code: item.remedy for item in of_server(checked, uuid) if ORDERS.search(item.remedy)}
    assert not found, found


def codes(checked, uuid=ONE):
    return sorted({item.code for item in of_server(checked, uuid)})


def undecided(checked, uuid=ONE):
    return {item.code for item in checked.unchecked if item.object == uuid}


# --- the audit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [None, "migrating"])
@pytest.mark.parametrize("record", [True, False])
def test_a_lost_last_write_is_one_finding_that_orders_nothing(task, record):
    cloud = lost_write(task) if record else run_on(healthy(), "compute3")
    if task and not record:
        cloud = cloud.change("instances", {"uuid": ONE}, task_state=task)
    checked = audit.check(port_on(cloud, "compute3").bundle)
    assert codes(checked) == ["SG132"]
    (item,) = of_server(checked)
    assert item.absolute
    assert (item.object.id, item.object.host) == (ONE, "compute1")
    assert (item.evidence["host"], item.evidence["domains"]) == ("compute1", 1)
    assert list(item.evidence["domains on"]) == ["compute3"]
    assert item.evidence.get("last migration", {}).get("destination") == ("compute3" if record else None)
    assert list(item.evidence["ports bound to"].values()) == ["compute3"]
    assert any(entry.startswith("SG306") for entry in item.evidence["joins"]) == (task is None)
    no_orders(checked)
    assert undecided(checked) == set()


@pytest.mark.parametrize("task", [None, "migrating"])
def test_with_the_other_host_unread_it_is_undecided_and_nothing_is_ordered(task):
    checked = audit.check(port_on(lost_write(task).unreachable("compute3"), "compute3").bundle)
    assert "SG132" in undecided(checked)
    assert "SG132" not in codes(checked)
    no_orders(checked)


@pytest.mark.parametrize("task", [None, "migrating"])
def test_with_novas_host_unread_the_domain_elsewhere_still_blocks(task):
    checked = audit.check(lost_write(task).unreachable("compute1").bundle)
    assert (codes(checked), undecided(checked)) == (["SG132"], {"SG132"})
    assert next(iter(of_server(checked))).absolute
    no_orders(checked)


def test_without_any_host_it_is_undecided_too():
    cloud = port_on(lost_write(), "compute3")
    checked = audit.check(dataclasses.replace(cloud.bundle, hosts={}))
    assert undecided(checked) == {"SG132"}
    assert codes(checked) == ["SG306"]
    no_orders(checked)


def test_two_copies_after_such_a_migration_are_one_finding_that_orders_nothing():
    cloud = moved(run_on(healthy(), "compute1", "compute3"))
    checked = audit.check(cloud.bundle)
    assert codes(checked) == ["SG132"]
    assert next(iter(of_server(checked))).evidence["domains"] == 2
    no_orders(checked)


def test_two_copies_elsewhere():
    checked = audit.check(run_on(healthy(), "compute2", "compute3").bundle)
    assert codes(checked) == ["SG132"]
    assert sorted(next(iter(of_server(checked))).evidence["domains on"]) == ["compute2", "compute3"]
    no_orders(checked)


@pytest.mark.parametrize("status", ["confirmed", "finished"])
@pytest.mark.parametrize("kind", ["migration", "resize"])
@pytest.mark.parametrize("where", [(), ("compute3",), ("compute1", "compute3")])
def test_a_cold_move_whose_last_write_was_lost(status, kind, where):
    """The domain is on neither host, on the destination only, or on both; one that is off counts."""
    cloud = moved(run_on(healthy(), *where, state="shutoff"), status, kind)
    checked = audit.check(cloud.bundle)
    assert codes(checked) == ["SG132"]
    assert next(iter(of_server(checked))).evidence["domains"] == len(where)
    no_orders(checked)


@pytest.mark.parametrize("status", ["done", "completed"])
def test_an_evacuation_whose_last_write_was_lost(status):
    """Nova shows the source still; its next start would start the guest there, too."""
    checked = audit.check(moved(run_on(healthy(), "compute3"), status, "evacuation").bundle)
    assert codes(checked) == ["SG132"]
    no_orders(checked)


def test_a_qemu_that_libvirt_does_not_show_counts():
    cloud = healthy().drop("domains", {"uuid": ONE}).host("compute3", qemu_processes={ONE: 77})
    checked = audit.check(cloud.bundle)
    assert codes(checked) == ["SG132"]
    no_orders(checked)


def test_an_open_migration_explains_a_second_domain():
    cloud = run_on(healthy(), "compute1", "compute3").migrate(ONE, "compute1", "compute3", "running", "live-migration")
    assert codes(audit.check(cloud.bundle)) == ["SG702"]
    resized = healthy().add("domains", dataclasses.replace(domain(1, 1), state="shutoff"), host="compute3")
    resized = resized.migrate(ONE, "compute3", "compute1", "finished", "resize")
    assert codes(audit.check(resized.bundle)) == ["SG703"]


def test_a_stray_copy_is_ended_only_where_the_guest_runs_on_novas_host():
    stray = run_on(healthy(), "compute1", "compute3")
    (item,) = of_server(audit.check(stray.bundle))
    assert (item.code, item.object.host, "virsh destroy" in item.remedy) == ("SG108", "compute3", True)
    for state in ("shutoff", "paused"):
        other = stray.change("domains", {"uuid": ONE}, state=state)
        checked = audit.check(other.bundle)
        assert codes(checked) == ["SG132"]
        no_orders(checked)
    checked = audit.check(stray.unreachable("compute1").bundle)
    assert codes(checked) == ["SG132"]
    no_orders(checked)


def test_a_server_without_any_domain_is_started_only_after_everything_was_read():
    gone = healthy().drop("domains", {"uuid": ONE})
    (item,) = of_server(audit.check(gone.bundle))
    assert (item.code, bool(ORDERS.search(item.remedy))) == ("SG109", False)
    read = gone
    for number in (1, 2, 3):
        pool = evacuations.disks(evacuations.image(f"{ONE}_disk"))
        read = read.host(f"compute{number}", rbd=pool)
    (item,) = of_server(audit.check(read.bundle))
    assert "openstack server reboot --hard" in item.remedy
    opened = read
    for number in (1, 2, 3):
        pool = evacuations.disks(evacuations.image(f"{ONE}_disk", ["198.51.100.7:0/1"]))
        opened = opened.host(f"compute{number}", rbd=pool)
    no_orders(audit.check(opened.bundle))
    checked = audit.check(read.unreachable("compute2").bundle)
    assert (codes(checked), undecided(checked)) == (["SG109"], {"SG132"})
    no_orders(checked)


def test_a_silent_host_leaves_no_server_undecided_that_is_at_home():
    checked = audit.check(healthy().unreachable("compute3").bundle)
    assert not [item for item in checked.unchecked if item.code == "SG132" and item.object == ONE]
    # The last migration went there, and Nova shows the source: there is a reason to ask.
    assert "SG132" in undecided(audit.check(moved(healthy()).unreachable("compute3").bundle))
    assert undecided(audit.check(moved(healthy()).bundle)) == set()
    back = moved(moved(healthy()), source="compute3", dest="compute1").unreachable("compute3")
    assert undecided(audit.check(back.bundle)) == set()


@pytest.mark.parametrize("listed", [True, False])
def test_a_clone_is_not_the_host_whose_identity_it_has(listed):
    """It has no guests: its word is not that the original's guests are gone."""
    cloud = healthy()
    files = cloud.bundle.hosts["compute1"].compute_id_files
    conf = cloud.bundle.hosts["compute3"].nova_conf
    cloud = cloud.host("compute3", compute_id_files=files, domains=[], nova_conf=dataclasses.replace(conf, host="copy"))
    checked = audit.check(cloud.bundle)
    assert not {"SG109", "SG132"} & set(codes(checked))
    silent = cloud.unreachable("compute1")
    if not listed:
        silent = builders.Cloud(dataclasses.replace(silent.bundle, unreachable={}))
    checked = audit.check(silent.bundle)
    assert not {"SG109", "SG132"} & set(codes(checked))


def test_a_task_is_never_reset_by_the_audits_word():
    checked = audit.check(healthy().change("instances", {"uuid": ONE}, task_state="image_uploading").bundle)
    assert codes(checked) == ["SG701"]
    no_orders(checked)


# --- before an operation --------------------------------------------------------------------------------------


def scene(*hosts, state="running", uuid=ONE):
    base = moving_scene.Scene()
    return base._with(cloud=run_on(base.cloud, *hosts, state=state, uuid=uuid))


def with_status(some, status):
    return some if status == "ACTIVE" else some.server(ONE, status=status)


def ended(some, status="completed", kind="live-migration"):
    return some.migrations(
        ApiMigration(1, uid("migration", 1), kind, status, ONE, "compute1", "compute1", "compute3", "compute3")
    )


def drained(some):
    return moves.preflight(some.evidence("compute1"), moving_scene.REQUEST)


def migrated(some):
    request = MigrationRequest(servers=(ONE,), operation_id="op1")
    return moves.preflight(some.evidence("compute1", {ONE}), request)


@pytest.mark.parametrize("operation", [drained, migrated])
def test_no_move_of_a_guest_that_runs_elsewhere(operation):
    decision = operation(ended(scene("compute3")))
    assert codes(decision.checked) == ["SG132"]
    assert "compute3" in next(iter(of_server(decision.checked))).evidence["domains on"]
    assert ONE in decision.barred
    no_orders(decision.checked)


@pytest.mark.parametrize("operation", [drained, migrated])
@pytest.mark.parametrize("record", [True, False])
def test_no_move_of_a_guest_that_runs_twice(operation, record):
    some = scene("compute1", "compute3")
    decision = operation(ended(some) if record else some)
    assert codes(decision.checked) == ["SG132" if record else "SG108"]
    assert decision.refused(moving_scene.REQUEST, ())
    assert ONE not in {row.uuid for row in decision.assignments.assigned}


@pytest.mark.parametrize("status", ["ACTIVE", "SHUTOFF"])
def test_with_partial_only_the_guest_that_runs_twice_stays(status):
    some = with_status(scene("compute1", "compute2"), status)
    request = dataclasses.replace(moving_scene.REQUEST, partial=True)
    decision = moves.preflight(some.evidence("compute1"), request)
    assert [row.uuid for row in decision.assignments.assigned] == [TWO]
    assert not decision.refused(request, ())


@pytest.mark.parametrize("operation", [drained, migrated])
def test_with_the_other_host_unread_a_move_is_refused_and_undecided(operation):
    decision = operation(scene("compute3").unread("compute3"))
    assert "SG132" in undecided(decision.checked)
    assert codes(decision.checked) == ["SG709"]
    no_orders(decision.checked)


@pytest.mark.parametrize("status", ["ACTIVE", "SHUTOFF"])
def test_the_last_migration_is_a_reason_to_ask_a_silent_host(status):
    silent = with_status(moving_scene.Scene(), status).unread("compute3")
    assert codes(drained(silent).checked) == []
    decision = drained(ended(silent))
    assert (codes(decision.checked), undecided(decision.checked)) == (["SG709"], {"SG132"})


def test_a_guest_without_any_domain_is_not_waited_for():
    decision = drained(scene())
    assert codes(decision.checked) == ["SG710"]
    no_orders(decision.checked)
    (item,) = of_server(decision.checked)
    assert "SHUTOFF" not in item.remedy


def test_a_stopped_server_that_is_off_everywhere_moves_cold():
    assert not drained(scene().server(ONE, status="SHUTOFF")).refused(moving_scene.REQUEST, ())


def test_no_move_of_a_server_that_is_defined_twice():
    some = scene("compute1", "compute3", state="shutoff").server(ONE, status="SHUTOFF")
    decision = drained(some)
    assert codes(decision.checked) == ["SG132"]
    no_orders(decision.checked)


def request(**changes):
    values = {"inventory_name": "compute1", "rename_from": "compute1", "rename_to": "renamed1"}
    return RenameRequest(**{**values, **changes})


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("task", [None, "migrating"])
def test_no_rename_of_a_host_with_a_guest_that_runs_elsewhere(in_place, task):
    cloud = port_on(lost_write(task), "compute3")
    checked = rename.preflight_rename(cloud.bundle, request(), in_place)
    assert codes(checked) == ["SG132"]
    no_orders(checked)


def test_no_rename_of_a_host_with_a_guest_that_runs_twice():
    checked = rename.preflight_rename(run_on(healthy(), "compute1", "compute3").bundle, request())
    assert codes(checked) == ["SG108"]
    checked = rename.preflight_rename(lost_write().unreachable("compute3").bundle, request())
    assert (codes(checked), undecided(checked)) == (["SG109"], {"SG132"})
    no_orders(checked)
    assert codes(rename.preflight_rename(moved(healthy()).unreachable("compute3").bundle, request())) == ["SG709"]
    assert codes(rename.preflight_rename(healthy().bundle, request())) == []


@pytest.mark.parametrize("task", [None, "migrating"])
def test_no_drain_for_a_rename_of_a_guest_that_runs_elsewhere(task):
    cloud = lost_write(task)
    cloud = cloud.change("servers", {"id": ONE}, task_state=task) if task else cloud
    for number in (1, 2, 3):
        cloud = cloud.change("api_services", {"host": f"compute{number}"}, zone=f"az{zone_of(number)}")
    targets = [evacuations.target(number, state="up") for number in (1, 2, 3)]

    def can_drain(some):
        decision = draining.decision_of(some, request(), targets=targets)
        return rename_by_drain.can_drain(some.bundle, decision, (), request(), placement.DrainOptions())

    checked = can_drain(cloud)
    assert codes(checked) == ["SG132"]
    no_orders(checked)
    checked = draining.preflight(cloud, request(), targets=targets)
    assert codes(checked) == ["SG132"]
    no_orders(checked)
    checked = can_drain(cloud.unreachable("compute3"))
    assert "SG132" in undecided(checked)
    no_orders(checked)


def test_an_evacuation_leaves_a_guest_alone_that_runs_on_another_host():
    some = evacuations.scene()
    some = some.at(3, domains=[dataclasses.replace(domain(1, 1), uuid=ONE)])
    checked = evacuation.preflight(some.bundle, some.about, some.request, fence="power").checked
    assert any(item.code == "SG507" and item.absolute for item in of_server(checked))
    no_orders(checked)


def test_a_resize_asks_where_the_last_migration_went():
    facts = zoned.zoned()
    server = facts.servers[0]
    asked = ResizeRequest(server.id, "2", "m1.large", "op1")
    last = ApiMigration(7, uid("m"), "live-migration", "completed", server.id, server.host, None, "compute9", None)

    def told(record):
        return [item.code for item in resize.preflight(facts, asked, record).checked.findings if item.code == "SG709"]

    assert told(last) == ["SG709"]
    assert told(None) == told(dataclasses.replace(last, dest_compute=server.host, source_compute="compute9")) == []
    assert told(dataclasses.replace(last, status="error")) == []
