# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two cells: the ids of one are those of the other, no server moves between them, and one may be silent.

compute1 and compute2 are in cell1 and in az1; compute3 and compute4 are in cell2 and in az2.
"""

from __future__ import annotations

import contextlib
import json

import openstack
import pytest
from labkit import evacuation, waiting, zoning
from labkit import guests as guestkit
from labkit.deadhost import evacuate

pytestmark = pytest.mark.matrix("cells", cells=2, computes=4)
NEAR, NEIGHBOUR, FAR, LAST, NEW = "compute1", "compute2", "compute3", "compute4", "cn-rack9.example"
PIN = """
- name: Pin
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Pin the servers
      stackguard.nova.server_zone_pin: {}
"""
NAMES = {
    "instances": "SELECT id, uuid, host, node, compute_id FROM instances WHERE deleted = 0 ORDER BY id",
    "compute_nodes": "SELECT id, uuid, host, hypervisor_hostname, service_id FROM compute_nodes ORDER BY id",
    "services": "SELECT id, uuid, host, topic FROM services ORDER BY id",
}


def boot(lab, host, count=1):
    """Servers on a host; ids by name."""
    return {row["name"]: row["id"] for row in guestkit.create(lab, f"on-{host}-", str(count), "--on", host)}


def names(lab, cell):
    """Every row of a cell that a rename or a repair could write."""
    return {table: lab.sql(cell, query) for table, query in NAMES.items()}


def cells(playbooks, **changed):
    return {"nova_cell_db_urls": {**playbooks.variables["nova_cell_db_urls"], **changed}}


def silent(playbooks):
    """The second cell's database does not answer."""
    return cells(playbooks, cell2=playbooks.variables["nova_cell_db_urls"]["cell2"].replace(":3306/", ":9/"))


def aggregate(lab, zone, what, host):
    rows = lab.compute("GET", "/os-aggregates")["aggregates"]
    identity = next(row["id"] for row in rows if row["availability_zone"] == zone)
    lab.compute("POST", f"/os-aggregates/{identity}/action", {what: {"host": host}})


@contextlib.contextmanager
def zone_of_both_cells(lab):
    """compute3 is in az1, too, and is the only other host of that zone which Nova may use."""
    aggregate(lab, "az2", "remove_host", FAR)
    aggregate(lab, "az1", "add_host", FAR)
    zoning.enable(lab, NEIGHBOUR, "disabled", "test")
    try:
        yield
    finally:
        zoning.enable(lab, NEIGHBOUR)
        aggregate(lab, "az1", "remove_host", FAR)
        aggregate(lab, "az2", "add_host", FAR)


def where(lab, guests):
    rows = {name: lab.server(uuid) for name, uuid in guests.items()}
    return {name: (row["OS-EXT-SRV-ATTR:host"], row["status"]) for name, row in rows.items()}


# --- reading ----------------------------------------------------------------------------------------------------


def test_an_audit_of_two_healthy_cells_blocks_nothing_and_has_decided_everything(clean, playbooks):
    lab = clean
    boot(lab, NEAR)
    boot(lab, FAR)
    rows = {cell: names(lab, cell)["instances"] for cell in lab.info["cells"]}
    assert {row["id"] for row in rows["cell1"]} & {row["id"] for row in rows["cell2"]}, "the same ids"
    result = playbooks.run("audit").ok()
    assert (result.codes, result.report["unchecked"]) == (set(), []), result.told()


def test_a_silent_cell_is_no_green_of_any_operation(clean, playbooks):
    before = {cell: names(clean, cell) for cell in clean.info["cells"]}
    audited = playbooks.run("audit", variables=silent(playbooks)).failed()
    assert audited.codes == {"SG311"}, audited.told()
    for flags in ((), ("--check",)):
        repaired = playbooks.run("repair_links", variables=silent(playbooks), flags=flags).failed()
        assert "not read: cell cell2" in repaired.output, repaired.told()
    refused = playbooks.rename(NEAR, NEW, variables=silent(playbooks)).failed()
    assert refused.codes == {"SG311", "SG709"}, refused.told()
    assert {cell: names(clean, cell) for cell in clean.info["cells"]} == before


@contextlib.contextmanager
def cell_that_nova_cannot_read(lab):
    """Nova's own services have no database of cell2: lists lack its servers and hosts, or fail."""
    select = "SELECT id, database_connection AS url FROM cell_mappings WHERE name = 'cell2'"
    update = "UPDATE cell_mappings SET database_connection = %s WHERE id = %s"
    (row,) = lab.sql("api", select)
    lab.sql("api", update, row["url"].replace("nova_cell2", "nova_gone"), row["id"])
    zoning.restart_api(lab)
    try:
        yield
    finally:
        lab.sql("api", update, row["url"], row["id"])
        zoning.restart_api(lab)


def test_where_nova_cannot_read_a_cell_no_operation_begins(clean, playbooks, tmp_path):
    lab = clean
    (near,), (far,) = boot(lab, NEAR).values(), boot(lab, FAR).values()
    before = {cell: names(lab, cell) for cell in lab.info["cells"]}
    with cell_that_nova_cannot_read(lab):
        assert "SG709" in playbooks.run("audit").failed().codes
        for host in (NEAR, FAR):
            assert playbooks.run("drain_host", variables={"drain_host": host}).failed().codes == {"SG709"}
            assert "SG709" in playbooks.rename(host, NEW).failed().codes
            assert evacuate(playbooks, variables={"evacuate_host": host}).failed().codes == {"SG709"}
        assert playbooks.run("migrate_server", variables={"migrate_servers": [near]}).failed().codes == {"SG709"}
        moved = playbooks.run("migrate_server", variables={"migrate_servers": [far]}).failed()
        assert f"the cell of these servers does not answer: {far}" in moved.output
        for chosen in ({"pin_all": True}, {"pin_hosts": [NEAR]}, {"pin_servers": [near]}):
            pinned = playbooks.run("pin_servers", variables={**chosen, "pin_partial": True}).failed()
            assert "SG709" in pinned.codes, pinned.told()
        for chosen in ({"all_servers": True}, {"servers": [near]}, {"servers": "[?status=='ACTIVE']"}):
            book = tmp_path / "pin.yml"
            book.write_text(PIN.format(json.dumps({**chosen, "cloud": "{{ cloud }}"})))
            assert "SG709" in playbooks.run(str(book)).failed().output
        chosen = {"migrate_servers": "[?status=='ACTIVE']"}
        assert "SG709" in playbooks.run("migrate_server", variables=chosen).failed().output
        resized = playbooks.run("resize_server", variables={"resize_server": far, "resize_flavor": "micro"}).failed()
        assert "SG709" in resized.codes, resized.told()
        playbooks.run("return_host", variables={"return_host": FAR}).failed()
    assert {cell: names(lab, cell) for cell in lab.info["cells"]} == before
    assert {lab.service(host)["status"] for host in lab.hosts} == {"enabled"}


def test_the_urls_of_two_cells_that_are_exchanged_are_noticed(clean, playbooks):
    urls = playbooks.variables["nova_cell_db_urls"]
    exchanged = cells(playbooks, cell1=urls["cell2"], cell2=urls["cell1"])
    assert playbooks.run("audit", variables=exchanged).failed().codes == {"SG302"}
    refused = playbooks.rename(FAR, NEW, variables=exchanged).failed()
    assert refused.codes == {"SG302"}, refused.told()


# --- changing ---------------------------------------------------------------------------------------------------


def test_a_host_of_the_second_cell_is_renamed_and_the_first_cell_is_not_touched(clean, playbooks):
    lab = clean
    boot(lab, NEAR)
    guests = boot(lab, FAR, 2)
    before = {cell: names(lab, cell) for cell in lab.info["cells"]}
    playbooks.rename(FAR, NEW).ok()
    assert names(lab, "cell1") == before["cell1"]
    assert set(where(lab, guests).values()) == {(NEW, "ACTIVE")}
    after = names(lab, "cell2")
    for table, rows in before["cell2"].items():
        assert [row["id"] for row in after[table]] == [row["id"] for row in rows]
        assert FAR not in {value for row in after[table] for value in row.values()}
    for name, uuid in guests.items():
        lab.action(uuid, "reboot", {"type": "HARD"})
        guestkit.wait_for(lab, uuid, "ACTIVE", host=NEW), name
    audited = playbooks.run("audit").ok()
    assert (audited.codes, audited.report["unchecked"]) == (set(), []), audited.told()
    playbooks.rename(NEW, FAR).ok()
    assert {cell: names(lab, cell) for cell in lab.info["cells"]} == before


def test_a_name_of_the_other_cell_is_taken(clean, playbooks):
    refused = playbooks.rename(FAR, NEAR).failed()
    assert "SG310" in refused.codes, refused.told()


def test_the_broker_of_the_other_cell_is_not_taken_for_the_hosts_own(clean, playbooks):
    """Each cell has its own: in the other one no queue of the host has a request, whatever waits for it."""
    lab = clean
    first = f"rabbit://lab:{lab.info['password']}@{lab.info['controller']}:5672/"
    second = f"{first}cell2"
    own, other = {"cell1": first, "cell2": second}, {"cell1": second, "cell2": first}
    one = playbooks.rename(FAR, NEW, variables={"stackguard_rabbit_urls": second}, flags=["--check"]).failed()
    assert one.codes == {"SG316"}, "one URL is not the RabbitMQ of two cells"
    for host in (NEAR, FAR):
        refused = playbooks.rename(host, NEW, variables={"stackguard_rabbit_urls": other}, flags=["--check"]).failed()
        assert refused.codes == {"SG316"}, refused.told()
        checked = playbooks.rename(host, NEW, variables={"stackguard_rabbit_urls": own}, flags=["--check"]).ok()
        assert checked.codes == set()


def test_a_host_of_the_second_cell_is_renamed_by_drain_and_is_in_its_cell_again(clean, playbooks):
    lab = clean
    boot(lab, NEAR)
    guests = boot(lab, FAR, 2)
    first = names(lab, "cell1")
    drain = {"rename_strategy": "drain", "rename_drain_return": True}
    for old, new in ((FAR, NEW), (NEW, FAR)):
        playbooks.rename(old, new, variables=drain, timeout=900).ok()
        assert set(where(lab, guests).values()) == {(new, "ACTIVE")}
        cell = "SELECT c.name FROM host_mappings m JOIN cell_mappings c ON c.id = m.cell_id WHERE m.host = %s"
        assert lab.value("api", cell, new) == "cell2"
        assert lab.value("api", cell, old) is None
        assert lab.service(new)["zone"] == "az2"
    assert names(lab, "cell1") == first


def test_a_link_of_the_second_cell_is_repaired_there_although_the_first_has_the_same_ids(clean, playbooks):
    lab = clean
    boot(lab, NEAR)
    (uuid,) = boot(lab, FAR).values()
    nodes = {row["host"]: row["id"] for row in names(lab, "cell2")["compute_nodes"]}
    first = names(lab, "cell1")
    assert nodes[LAST] in {row["id"] for row in first["compute_nodes"]}
    # A running one repairs the id of its own servers at its next pass.
    unit = guestkit.compute_unit(lab, FAR)
    lab.ssh(FAR, f"systemctl stop {unit}")
    try:
        lab.sql("cell2", "UPDATE instances SET compute_id = %s WHERE uuid = %s", nodes[LAST], uuid)
        assert "SG214" in playbooks.run("audit").failed().codes
        playbooks.run("repair_links").ok()
        assert lab.value("cell2", "SELECT compute_id FROM instances WHERE uuid = %s", uuid) == nodes[FAR]
        assert names(lab, "cell1") == first
        playbooks.run("repair_links", "repair_action=rollback").ok()
        assert lab.value("cell2", "SELECT compute_id FROM instances WHERE uuid = %s", uuid) == nodes[LAST]
    finally:
        lab.ssh(FAR, f"systemctl start {unit}")
    waiting.until(
        "nova-compute repairs it",
        lambda: lab.value("cell2", "SELECT compute_id FROM instances WHERE uuid = %s", uuid) == nodes[FAR] or None,
        180,
    )


# --- moving -----------------------------------------------------------------------------------------------------


def test_no_drain_counts_on_a_host_of_another_cell(clean, playbooks):
    lab = clean
    guests = boot(lab, NEAR, 2)
    own = {"stackguard_state_dir": str(zoning.state_dir(lab)), "drain_host": NEAR}
    with zone_of_both_cells(lab):
        (uuid, _other) = guests.values()
        with pytest.raises(openstack.exceptions.BadRequestException, match="could not be found"):
            lab.action(uuid, "os-migrateLive", {"host": FAR, "block_migration": "auto"}, "2.68")
        # Without the database no part of the run knows the cells: Nova refuses each move, and the run is red.
        blind = playbooks.run("drain_host", variables={**own, "nova_api_db_url": None}).failed()
        assert blind.codes == {"SG512"}, blind.told()
        playbooks.run("drain_host", "drain_action=rollback", variables=own).ok()
        for flags in ((), ("--check",)):
            refused = playbooks.run("drain_host", variables=own, flags=flags).failed()
            assert refused.codes == {"SG406"}, refused.told()
            assert "the host is in another cell" in refused.output
        renamed = playbooks.rename(NEAR, NEW, variables={"rename_strategy": "drain"}).failed()
        assert renamed.codes == {"SG406"}, renamed.told()
        assert lab.service(NEAR)["status"] == "enabled"
        assert set(where(lab, guests).values()) == {(NEAR, "ACTIVE")}
    playbooks.run("drain_host", variables=own).ok()
    assert set(where(lab, guests).values()) == {(NEIGHBOUR, "ACTIVE")}


def test_an_evacuation_that_only_another_cell_has_room_for_loses_nothing_and_is_red(clean, playbooks):
    lab = clean
    guests = boot(lab, NEAR, 2)
    with zone_of_both_cells(lab):
        evacuation.kill(lab, NEAR)
        left = evacuate(playbooks).failed()
        assert left.codes == {"SG512"}, left.told()
        assert set(where(lab, guests).values()) == {(NEAR, "ACTIVE")}
        disks = {f"{uuid}_disk" for uuid in guests.values()}
        assert disks <= set(lab.command("rbd", "ls", "vms").stdout.split()), "every root disk is there"
    # The scheduler takes a host that was enabled again after up to a minute.
    waiting.until("the scheduler takes compute2", lambda: NEIGHBOUR not in evacuation.shunned(lab) or None, 120, 2)
    evacuate(playbooks).ok()
    assert set(where(lab, guests).values()) == {(NEIGHBOUR, "ACTIVE")}
