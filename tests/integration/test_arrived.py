# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server whose live migration has arrived, and that Nova shows on the source: its row is corrected, or nothing is.

Unguarded, a hard reboot of such a server starts a second QEMU on its disks (test_moves.py). compute1 and compute2 are
in az1.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, waiting, zoning
from labkit.zoning import NEIGHBOUR, SOURCE, state_dir

matrix = pytest.mark.matrix
#: Before release 28 there is no compute_id.
ROW = "SELECT * FROM instances WHERE uuid = %s"
COLUMNS = ("host", "node", "compute_id", "task_state", "vm_state", "updated_at")
LAST = "SELECT uuid FROM migrations WHERE instance_uuid = %s ORDER BY id DESC LIMIT 1"
BINDINGS = """SELECT b.host, b.status FROM ml2_port_bindings b JOIN ports p ON p.id = b.port_id
WHERE p.device_id = %s ORDER BY b.host"""
UNBOUND = """DELETE b FROM ml2_port_bindings b JOIN ports p ON p.id = b.port_id
WHERE p.device_id = %s AND b.host = %s"""
COPIED = """INSERT INTO ml2_port_bindings (port_id, host, vif_type, vnic_type, profile, vif_details, status)
SELECT b.port_id, %s, 'unbound', b.vnic_type, '', '', 'INACTIVE' FROM ml2_port_bindings b JOIN ports p
ON p.id = b.port_id WHERE p.device_id = %s"""


@pytest.fixture
def clean(lab):
    """No guests, all hosts enabled, before and after."""
    zoning.tidy(lab)
    yield lab
    zoning.tidy(lab)


def aged(lab, uuid, minutes):
    """Let the last migration of a server have ended so many minutes ago."""
    statement = "UPDATE migrations SET updated_at = UTC_TIMESTAMP() - INTERVAL %s MINUTE WHERE uuid = %s"
    lab.sql("cell1", statement, minutes, last_migration(lab, uuid))


def last_migration(lab, uuid):
    return lab.value("cell1", LAST, uuid)


def _end(lab, uuid):
    """A test that failed leaves the row: nobody else ends the guest where it runs."""
    if lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == SOURCE and list(processes(lab, uuid)) == [NEIGHBOUR]:
        lab.ssh(NEIGHBOUR, f"virsh destroy {uuid}; virsh undefine {uuid}", check=False)
    lab.action(uuid, "unlock")


def _has_ended(lab, uuid):
    last = last_migration(lab, uuid)
    status = lab.value("cell1", "SELECT status FROM migrations WHERE uuid = %s", last)
    return status == "completed" and not lab.placement("GET", f"/allocations/{last}")["allocations"]


@pytest.fixture
def arrived(clean):
    """Everything that Nova changes at the end is as before its last writes; the guest runs on the neighbour."""
    lab = clean
    (uuid,) = zoning.boot(lab, "lost").values()
    before = lab.sql("cell1", ROW, uuid)[0]
    lab.action(uuid, "os-migrateLive", {"host": NEIGHBOUR, "block_migration": "auto"}, "2.68")
    guestkit.wait_for(lab, uuid, "ACTIVE", timeout=300, host=NEIGHBOUR)
    # The source is the last to write.
    waiting.until("the migration has ended", lambda: _has_ended(lab, uuid) or None, 120, 1)
    columns = ("host", "node", "compute_id")
    statement = f"UPDATE instances SET {', '.join(f'{name} = %s' for name in columns)}, task_state = %s WHERE uuid = %s"
    lab.sql("cell1", statement, *[before[name] for name in columns], "migrating", uuid)
    lab.sql("neutron", COPIED, SOURCE, uuid)
    provider = lab.placement("GET", f"/resource_providers?name={SOURCE}")["resource_providers"][0]["uuid"]
    (own,) = lab.placement("GET", f"/allocations/{uuid}")["allocations"].values()
    about = lab.placement("GET", f"/allocations/{uuid}")
    body = {
        "allocations": {provider: {"resources": own["resources"]}},
        "consumer_generation": None,
        "project_id": about["project_id"],
        "user_id": about["user_id"],
    }
    lab.placement("PUT", f"/allocations/{last_migration(lab, uuid)}", body)
    aged(lab, uuid, 20)
    yield uuid
    # The record goes with the server, and nobody finds what it holds.
    lab.cloud.placement.delete(f"/allocations/{last_migration(lab, uuid)}")
    _end(lab, uuid)


@pytest.fixture
def repair(playbooks):
    def run(uuid, *flags, action="arrived", **given):
        variables = {"stackguard_state_dir": str(state_dir(playbooks.lab)), "repair_action": action, **given}
        return playbooks.run("repair_links", variables={**variables, "repair_server": uuid}, flags=flags, timeout=900)

    return run


def processes(lab, uuid):
    """Process ids of the server's QEMU, by host."""
    found = {host: lab.ssh(host, f"pgrep -f 'guest=.*{uuid}|uuid {uuid}'", check=False) for host in lab.hosts}
    return {host: pids.split() for host, pids in found.items() if pids.strip()}


def world(lab, uuid):
    """What a repair could change, and the guest."""
    row = {key: value for key, value in lab.sql("cell1", ROW, uuid)[0].items() if key in COLUMNS}
    held = {
        consumer: sorted(lab.placement("GET", f"/allocations/{consumer}")["allocations"])
        for consumer in (uuid, last_migration(lab, uuid))
    }
    bindings = [tuple(entry.values()) for entry in lab.sql("neutron", BINDINGS, uuid)]
    return row, held, bindings, lab.server(uuid)["locked"], processes(lab, uuid)


@pytest.fixture
def service_role(lab):
    """The operator has the role that neutron wants of who removes a binding."""
    role = lab.cloud.identity.find_role("service")
    who = lab.cloud.identity.find_user("admin")
    project = lab.cloud.identity.find_project("admin")
    lab.cloud.identity.assign_project_role_to_user(project, who, role)
    yield
    lab.cloud.identity.unassign_project_role_from_user(project, who, role)


def is_corrected(lab, uuid, before, left=()):
    """The same process on the neighbour, alone; row, allocation, bindings and lock agree with it."""
    row, held, bindings, locked, running = world(lab, uuid)
    assert running == before[4]
    assert list(running) == [NEIGHBOUR]
    node = lab.sql("cell1", "SELECT id FROM compute_nodes WHERE host = %s AND deleted = 0", NEIGHBOUR)[0]
    assert (row["host"], row["task_state"], row.get("compute_id", node["id"])) == (NEIGHBOUR, None, node["id"])
    assert held == {uuid: before[1][uuid], last_migration(lab, uuid): []}
    assert bindings == [*left, (NEIGHBOUR, "ACTIVE")]
    assert not locked
    server = lab.server(uuid)
    assert (server["OS-EXT-SRV-ATTR:host"], server["status"]) == (NEIGHBOUR, "ACTIVE")


def codes_of(done, uuid):
    return {item["code"] for item in done.report["findings"] if item["object"]["id"] == uuid}


def test_an_arrived_server_is_corrected_and_moves_again(arrived, lab, playbooks, repair, service_role):
    before = world(lab, arrived)
    assert len(before[1][last_migration(lab, arrived)]) == 1
    assert {host for host, _status in before[2]} == {SOURCE, NEIGHBOUR}
    audited = playbooks.run("audit", variables={"audit_fail_on": "never"})
    (item,) = [entry for entry in audited.report["findings"] if entry["code"] == "SG132"]
    assert f"repair_server={arrived}" in item["remedy"]
    aged(lab, arrived, 5)
    refused = repair(arrived).failed()
    (item,) = refused.report["findings"]
    assert (item["code"], list(item["evidence"]["not so"])) == ("SG714", ["age"]), refused.told()
    assert world(lab, arrived) == before
    aged(lab, arrived, 20)
    repair(arrived, "--check", "--diff").ok()
    assert world(lab, arrived) == before
    repair(arrived).ok()
    is_corrected(lab, arrived, before)
    again = repair(arrived).ok()
    assert again.changed == 0
    audited = playbooks.run("audit", variables={"audit_fail_on": "never"})
    assert not {"SG132", "SG108", "SG109", "SG713"} & codes_of(audited, arrived), audited.told()
    variables = {"stackguard_state_dir": str(state_dir(lab)), "drain_host": NEIGHBOUR}
    playbooks.run("drain_host", variables=variables, timeout=900).ok()
    assert list(processes(lab, arrived)) == [SOURCE]
    assert lab.server(arrived)["OS-EXT-SRV-ATTR:host"] == SOURCE


@matrix
def test_a_binding_that_neutron_does_not_let_the_operator_remove_is_named(arrived, lab, repair):
    before = world(lab, arrived)
    done = repair(arrived).ok()
    (item,) = done.report["findings"]
    assert (item["code"], item["severity"]) == ("SG713", "warning"), done.told()
    is_corrected(lab, arrived, before, [(SOURCE, "INACTIVE")])


@matrix
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_killed_at_a_step_it_is_resumed(arrived, lab, playbooks, repair, service_role, step):
    before = world(lab, arrived)
    given = {"stackguard_state_dir": str(state_dir(lab)), "repair_action": "arrived", "repair_server": arrived}
    started = playbooks.start("repair_links", (), variables=given)
    killing.kill_when_said(started, f"] {step}/6 ")
    repair(arrived, action="status").ok()
    is_written = lab.server(arrived)["OS-EXT-SRV-ATTR:host"] == NEIGHBOUR
    if is_written:
        assert lab.server(arrived)["locked"]
        repair(arrived, action="rollback").failed()
        repair(arrived, action="resume").ok()
    else:
        repair(arrived, action="rollback").ok()
        assert not lab.server(arrived)["locked"]
        assert lab.server(arrived)["OS-EXT-SRV-ATTR:host"] == SOURCE
        repair(arrived).ok()
    is_corrected(lab, arrived, before)


#: In 31 the source writes the row where the destination could not (manager.py, _post_live_migration_update_host); in 27
#: it ends the migration as completed.
LOSING = """CREATE TRIGGER lose_the_last_write BEFORE UPDATE ON instances FOR EACH ROW
IF NEW.uuid = '{uuid}' AND NOT (NEW.host <=> OLD.host) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lost'; END IF"""


@pytest.fixture
def really_lost(clean):
    """The database refuses Nova's last write of a live migration, and Nova ends it as completed all the same."""
    lab = clean
    (uuid,) = zoning.boot(lab, "lost").values()
    lab.sql("cell1", LOSING.format(uuid=uuid))
    try:
        lab.action(uuid, "os-migrateLive", {"host": NEIGHBOUR, "block_migration": "auto"}, "2.68")
        waiting.until("the migration has ended", lambda: _has_ended(lab, uuid) or None, 300, 2)
    finally:
        lab.sql("cell1", "DROP TRIGGER lose_the_last_write")
    yield uuid
    _end(lab, uuid)


@pytest.mark.matrix("adopt-2023.1")
def test_a_last_write_that_nova_really_lost(really_lost, lab, playbooks, repair):
    row = lab.sql("cell1", ROW, really_lost)[0]
    assert (row["host"], row["task_state"], row["vm_state"]) == (SOURCE, "migrating", "active")
    before = world(lab, really_lost)
    assert list(before[4]) == [NEIGHBOUR]
    assert repair(really_lost).failed().codes == {"SG714"}
    aged(lab, really_lost, 20)
    repair(really_lost).ok()
    left = [entry for entry in world(lab, really_lost)[2] if entry[0] == SOURCE]
    is_corrected(lab, really_lost, before, left)
    lab.sql("neutron", UNBOUND, really_lost, SOURCE)
    variables = {"stackguard_state_dir": str(state_dir(lab)), "drain_host": NEIGHBOUR}
    playbooks.run("drain_host", variables=variables, timeout=900).ok()
    assert list(processes(lab, really_lost)) == [SOURCE]
