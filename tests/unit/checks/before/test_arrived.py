# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG714: a row is corrected only where the guest has surely arrived, runs once, and nothing of it is in progress."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.links.arrived import preflight, verify
from ansible_collections.stackguard.nova.plugins.module_utils.model.arrival import ArrivalFacts, ArrivalRows
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked, Subject, Unchecked, finding
from ansible_collections.stackguard.nova.tests.unit.builders import AT, domain, guest, healthy, node, uid

ONE = guest(1, 1)
SOURCE, DEST = "compute1", "compute3"
RESOURCES = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}
PORT = uid("port", 1)
BEFORE = "2026-01-01T00:00:00"


def cloud_of_lost_write(hosts=3):
    """Every host read; the guest runs on compute3, and Nova shows compute1."""
    cloud = healthy(hosts).drop("domains", {"uuid": ONE})
    cloud = cloud.add("domains", dataclasses.replace(domain(1, 1), pid=77), host=DEST)
    for name in cloud.bundle.hosts:
        cloud = cloud.host(name, qemu_processes={})
    return cloud.migrate(ONE, SOURCE, DEST, "completed", "live-migration")


def facts_of(cloud, **changes):
    """What the operation reads of such a cloud."""
    cell = cloud.bundle.databases.cells[0]
    cell = dataclasses.replace(
        cell,
        instances=[row for row in cell.instances if row.uuid == ONE],
        migrations=[row for row in cell.migrations if row.instance_uuid == ONE],
    )
    written = {row.id: BEFORE for row in cell.migrations}
    server = next(row for row in cloud.bundle.cloud.servers if row.id == ONE)
    rows = ArrivalRows(cell, BEFORE, written, (), 0, 0)
    own = {key: changes.pop(key) for key in list(changes) if key in {field.name for field in dataclasses.fields(rows)}}
    given = {
        "bundle": cloud.bundle,
        "rows": dataclasses.replace(rows, **own),
        "server": server,
        "allocations": {node(3): RESOURCES},
        "migration_allocations": {node(1): RESOURCES},
        "roots": {node(1): node(1), node(3): node(3), node(2): node(2)},
        "bindings": {PORT: {DEST: True, SOURCE: False}},
        "waiting": Checked(),
    }
    return ArrivalFacts(**{**given, **changes})


def failing(facts):
    """The words of the conditions that do not hold."""
    decision = preflight.preflight(facts)
    if decision.row is not None:
        assert not decision.checked.findings
        return set()
    (item,) = decision.checked.findings
    assert (item.code, item.object.id, item.absolute) == ("SG714", ONE, True)
    return set(item.evidence["not so"])


@pytest.mark.parametrize("task", [None, "migrating"])
@pytest.mark.parametrize("release", [27, 34])
def test_an_arrived_server_is_corrected(task, release):
    cloud = cloud_of_lost_write()
    if task:
        cloud = cloud.change("instances", {"uuid": ONE}, task_state=task)
    if release == 27:
        cloud = cloud.cell(has_compute_id=False)
    decision = preflight.preflight(facts_of(cloud))
    row = decision.row
    assert (row.host, row.dest, row.dest_node, row.dest_id) == (SOURCE, DEST, DEST, 203)
    assert (row.task, row.written, row.row_compute_id) == (task, BEFORE, release == 34)
    assert decision.process == (77, 99)
    assert decision.migration.uuid == uid("migration", 1)


def test_a_server_without_ports_and_without_leftovers_is_corrected():
    facts = facts_of(cloud_of_lost_write(), bindings={}, migration_allocations={})
    assert failing(facts) == set()


def change_domain(**changes):
    return lambda cloud: cloud.change("domains", {"uuid": ONE}, DEST, **changes)


def change_row(**changes):
    return lambda cloud: cloud.change("instances", {"uuid": ONE}, **changes)


def change_migration(**changes):
    return lambda cloud: cloud.change("migrations", {"instance_uuid": ONE}, **changes)


def second_domain(host, **changes):
    return lambda cloud: cloud.add("domains", dataclasses.replace(domain(1, 1), pid=8, **changes), host=host)


def hold(host, reason):
    return lambda cloud: cloud.change("services", {"host": host}, disabled_reason=reason)


STATES = {
    # hosts
    "a host does not answer": (lambda cloud: cloud.unreachable("compute2"), "hosts"),
    "the source does not answer": (lambda cloud: cloud.unreachable(SOURCE), "hosts"),
    "domains unread": (lambda cloud: cloud.host("compute2", domains=None), "hosts"),
    "processes unread": (lambda cloud: cloud.host("compute2", qemu_processes=None), "hosts"),
    # domains
    "it runs at home too": (second_domain(SOURCE), "domain"),
    "it runs on a third host too": (second_domain("compute2"), "domain"),
    "a copy is off": (second_domain("compute2", state="shutoff", pid_start=None), "domain"),
    "a QEMU that libvirt does not show": (lambda cloud: cloud.host("compute2", qemu_processes={ONE: 9}), "domain"),
    "it is off": (change_domain(state="shutoff", pid=None), "domain"),
    "it is paused": (change_domain(state="paused"), "domain"),
    "its process is not known": (change_domain(pid=None), "domain"),
    "no domain": (lambda cloud: cloud.drop("domains", {"uuid": ONE}, DEST), "domain"),
    "a job": (change_domain(job=True), "job"),
    "a job is not told": (change_domain(job=None), "job"),
    # migrations
    "another kind": (change_migration(migration_type="evacuation"), "migration"),
    "cold": (change_migration(migration_type="migration"), "migration"),
    "not completed": (change_migration(status="done"), "migration"),
    "failed": (change_migration(status="error"), "migration"),
    "to another host": (change_migration(dest_compute="compute2"), "migration"),
    "to another node": (change_migration(dest_node="elsewhere"), "migration"),
    "from another host": (change_migration(source_compute="compute2"), "migration"),
    "a later one is under way": (lambda cloud: cloud.migrate(ONE, SOURCE, DEST, "running"), "other migrations"),
    "a resize waits": (lambda cloud: cloud.migrate(ONE, SOURCE, DEST, "finished"), "other migrations"),
    "a later one went elsewhere": (
        lambda cloud: cloud.migrate(ONE, DEST, "compute2", "completed", "live-migration"),
        "migration",
    ),
    # the row
    "stopped": (change_row(vm_state="stopped"), "state"),
    "in error": (change_row(vm_state="error"), "state"),
    "being rebooted": (change_row(task_state="reboot_started_hard"), "state"),
    # hosts that are not what they say
    "two machines of one name": (lambda cloud: clone(cloud, DEST), "names"),
    "two machines of the source's name": (lambda cloud: clone(cloud, SOURCE), "names"),
    "no node": (lambda cloud: cloud.drop("compute_nodes", {"host": DEST}), "node"),
    "another machine's identity": (lambda cloud: cloud.change("compute_nodes", {"host": DEST}, uuid=uid("x")), "node"),
    "schema": (lambda cloud: cloud.cell(revision="ffffffffffff"), "schema"),
    "held for a rename": (hold(DEST, "stackguard:rename:1"), "operation"),
    "source held": (hold(SOURCE, "stackguard:drain:1"), "operation"),
    # what Nova claims on a host
    "vTPM": (change_domain(vtpm=True), "devices"),
    "vTPM unread": (change_domain(vtpm=None), "devices"),
    "encrypted": (change_domain(encrypted=True), "devices"),
    "ties unread": (change_domain(ties=None), "devices"),
}


def clone(cloud, name):
    copied = dataclasses.replace(cloud.bundle.hosts[name], inventory_name="copy", domains=[])
    return dataclasses.replace(
        cloud, bundle=dataclasses.replace(cloud.bundle, hosts={**cloud.bundle.hosts, "copy": copied})
    )


@pytest.mark.parametrize("what", STATES)
def test_each_condition_refuses(what):
    change, word = STATES[what]
    assert word in failing(facts_of(change(cloud_of_lost_write())))


def queued():
    return finding("SG329", Subject("host", DEST), {}, "wait")


MORE = {
    "numa": ({"holds": ("numa_topology",)}, "devices"),
    "pci": ({"pci_devices": 1}, "devices"),
    "vgpu": ({"allocations": {node(3): {**RESOURCES, "VGPU": 1}}}, "devices"),
    "bandwidth of the migration": ({"migration_allocations": {node(1): {"NET_BW_EGR_KILOBIT_PER_SEC": 1}}}, "devices"),
    "volumes": ({"volumes": 1}, "volumes"),
    "own allocation at home": ({"allocations": {node(1): RESOURCES}}, "allocations"),
    "own allocation on both": ({"allocations": {node(1): RESOURCES, node(3): RESOURCES}}, "allocations"),
    "no allocation": ({"allocations": {}}, "allocations"),
    "migration holds the destination": ({"migration_allocations": {node(3): RESOURCES}}, "allocations"),
    "unbound": ({"bindings": {PORT: {}}}, "bindings"),
    "bound to the source alone": ({"bindings": {PORT: {SOURCE: True}}}, "bindings"),
    "inactive at the destination": ({"bindings": {PORT: {DEST: False, SOURCE: True}}}, "bindings"),
    "bound to a third host": ({"bindings": {PORT: {DEST: True, "compute2": False}}}, "bindings"),
    "queue unread": ({"waiting": Checked((), (Unchecked("SG329", SOURCE, "no access"),))}, "queue"),
    "a request waits": ({"waiting": Checked((queued(),))}, "queue"),
    "no time": ({"migration_written": {}}, "age"),
    "just now": ({"migration_written": {1: AT}}, "age"),
    "after the heartbeat": ({"migration_written": {1: "2099-01-01T00:00:00"}}, "age"),
}


@pytest.mark.parametrize("what", MORE)
def test_each_condition_of_databases_and_apis_refuses(what):
    changes, word = MORE[what]
    assert failing(facts_of(cloud_of_lost_write(), **changes)) == {word}


def test_every_condition_has_a_state_that_makes_it_refuse():
    assert {word for _change, word in (*STATES.values(), *MORE.values())} == set(preflight.CONDITIONS)


def test_all_reasons_are_told_at_once():
    cloud = change_row(vm_state="error")(change_domain(job=True)(cloud_of_lost_write()))
    assert failing(facts_of(cloud, volumes=1)) == {"state", "job", "volumes"}


def test_a_server_at_home_is_nothing_to_repair():
    cloud = healthy()
    assert preflight.home_of_guest(facts_of(cloud)) == SOURCE
    assert preflight.home_of_guest(facts_of(cloud.unreachable("compute2"))) is None
    assert preflight.home_of_guest(facts_of(cloud.host("compute2", qemu_processes=None))) is None
    assert preflight.home_of_guest(facts_of(cloud_of_lost_write())) is None


def corrected(**changes):
    row = {"host": DEST, "node": DEST, "compute_id": 203, "task_state": None, **changes}
    return cloud_of_lost_write().change("instances", {"uuid": ONE}, **row)


def proof(cloud, process=(77, 99), **changes):
    facts = facts_of(cloud, **{"migration_allocations": {}, "bindings": {PORT: {DEST: True}}, **changes})
    host = changes.pop("shown", DEST)
    facts = dataclasses.replace(facts, server=dataclasses.replace(facts.server, host=host))
    return verify.disagreements(facts, DEST, process)


def test_the_proof_holds():
    assert proof(corrected()) == []
    assert proof(corrected(), None) == []


@pytest.mark.parametrize(
    "cloud",
    [
        corrected(task_state="migrating"),
        corrected(compute_id=201),
        corrected(node="compute2"),
        cloud_of_lost_write(),
        corrected().unreachable("compute2"),
        second_domain(SOURCE)(corrected()),
        change_domain(state="paused")(corrected()),
    ],
)
def test_the_proof_fails_where_a_place_disagrees(cloud):
    assert proof(cloud)


@pytest.mark.parametrize(
    "changes",
    [
        {"migration_allocations": {node(1): RESOURCES}},
        {"allocations": {node(1): RESOURCES}},
        {"bindings": {PORT: {DEST: True, SOURCE: False}}},
        {"bindings": {PORT: {DEST: False}}},
    ],
)
def test_the_proof_fails_where_an_api_disagrees(changes):
    assert proof(corrected(), **changes)


def test_a_binding_that_could_not_be_removed_is_told_and_no_other_one():
    facts = facts_of(corrected(), migration_allocations={}, bindings={PORT: {DEST: True, SOURCE: False}})
    facts = dataclasses.replace(facts, server=dataclasses.replace(facts.server, host=DEST))
    assert verify.disagreements(facts, DEST, None, {PORT: SOURCE}) == []
    assert verify.disagreements(facts, DEST, None, {uid("port", 2): SOURCE})
    assert verify.disagreements(facts, DEST, None, {PORT: "compute2"})


def test_the_proof_fails_for_another_process():
    assert proof(corrected(), (78, 99))
