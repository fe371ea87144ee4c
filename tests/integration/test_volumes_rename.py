# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename under servers that boot from volumes, on each back end, and what people do with the volumes afterwards.

The tests of this file are one story, told in order, on a lab that is as new. It leaves the host renamed.
"""

from __future__ import annotations

import json
import os
import pathlib

import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.fixtures import documented_grants
from labkit.guests import NEW

pytestmark = pytest.mark.matrix("volumes-rename", cinder="ceph,nfs,san")

OLD, OTHER = "compute1", "compute2"
#: For work on one test: the lab is taken as it is.
KEEP = os.environ.get("STACKGUARD_TEST_KEEP")
#: Two guests, each with a volume to boot from and a data volume. On the array is data only, as in the other stories.
SERVERS = {
    "ceph1": ("--volume", "ceph", "--data-volume", "ceph"),
    "nfs1": ("--volume", "nfs", "--data-volume", "nfs"),
    "san1": ("--volume", "ceph", "--data-volume", "san"),
}


@pytest.fixture(scope="module")
def story(lab, volumes, playbooks):
    if guestkit.every(lab) and not KEEP:
        # The servers of other stories. The reset takes the database user with it.
        lab.reset()
        guestkit.grant(lab, "sg_exact", documented_grants())
    for name, words in SERVERS.items():
        guestkit.create(lab, name[:-1], "1", "--image", "scsi", "--on", OLD, *words)
    rows = {row["name"]: row["id"] for row in guestkit.every(lab).values()}
    assert set(rows) == set(SERVERS)
    assert KEEP or volumes.wrong() == []
    return {"ids": rows, "guests": state.guests(lab), "spare": {}}


def told(result):
    return sorted(
        (item["severity"], item["object"]["kind"], item["evidence"].get("volumes"))
        for item in result.report["findings"]
        if item["code"] == "SG308"
    )


def test_the_check_says_what_it_means_for_each_back_end(lab, story, playbooks):
    result = playbooks.rename(flags=["--check"]).ok()
    # Three in Ceph and two on the share need nothing; one on the array does.
    assert told(result) == [("info", "host", 5), ("warning", "host", 1)]
    assert not [item for item in result.report["unchecked"] if item["code"] == "SG308"]


def test_a_cinder_volume_of_that_name_is_refused(lab, story, playbooks):
    service = ("INSERT INTO services (created_at, updated_at, deleted, host, `binary`, topic, report_count, disabled) "
               "VALUES (UTC_TIMESTAMP(), UTC_TIMESTAMP(), 0, %s, 'cinder-volume', 'cinder-volume', 1, 0)")  # fmt: skip
    lab.sql("cinder", service, f"{OLD}@lvm")
    try:
        result = playbooks.rename(flags=["--check"]).failed()
        assert result.codes == {"SG308"}
    finally:
        lab.sql("cinder", "DELETE FROM services WHERE host = %s", f"{OLD}@lvm")


def test_the_host_is_renamed_and_every_record_keeps_the_old_name(lab, story, volumes, playbooks):
    before = volumes.rows()
    result = playbooks.rename().ok()
    print(f"\nrename: {result.seconds:.1f} s")
    state.assert_same(story["guests"], state.guests(lab), "guests have changed")
    assert volumes.rows() == before
    assert {row["host"] for row in before} == {OLD}


@pytest.mark.parametrize("kind", ["ceph", "nfs"])
def test_a_volume_is_attached_under_the_new_name_and_old_and_new_ones_are_detached(story, volumes, kind):
    server = story["ids"][f"{kind}1"]
    old = volumes.of(server)[1]
    new = volumes.create(kind)
    volumes.attach(server, new)
    assert {row["host"] for row in volumes.rows() if row["volume"] == new} == {NEW}
    volumes.detach(server, new)
    volumes.detach(server, old)
    volumes.attach(server, old)
    assert {row["host"] for row in volumes.rows() if row["volume"] == old} == {NEW}


def test_unguarded_an_array_refuses_the_next_attachment(lab, story, volumes):
    """What SG308 said before: the array has the machine under its old name."""
    lab.command("san", "strict", "on")
    spare = story["spare"] = volumes.create("san")
    volumes.attach(story["ids"]["san1"], spare, "available")


def test_unguarded_an_array_that_takes_it_leaves_an_export_behind(lab, story, volumes):
    server, spare = story["ids"]["san1"], story["spare"]
    lab.command("san", "strict", "off")
    exported = exports(volumes)
    volumes.attach(server, spare)
    volumes.detach(server, spare)
    assert exports(volumes) - exported == {f"volume-{spare}"}, "no export was left"
    # The array's administrator removes it.
    path = pathlib.Path(lab.info["san_dir"]) / "hosts.json"
    known = json.loads(path.read_text())
    known[OLD]["volumes"].remove(f"volume-{spare}")
    path.write_text(json.dumps(known))
    lab.ssh(OLD, f"rm /dev/lab-san/volume-{spare}")


def exports(volumes):
    """Names of the volumes that the renamed machine sees."""
    return set(volumes.array()["exports"][OLD])


def test_the_remedy_connects_it_anew(lab, story, volumes):
    server = story["ids"]["san1"]
    data = next(uuid for uuid in volumes.of(server) if f"volume-{uuid}" in exports(volumes))
    lab.command("san", "strict", "on")
    lab.action(server, "os-stop")
    guestkit.wait_for(lab, server, "SHUTOFF", host=NEW)
    volumes.refresh(server, data, OLD)
    lab.action(server, "os-start")
    guestkit.wait_for(lab, server, "ACTIVE", host=NEW)
    assert {row["host"] for row in volumes.rows() if row["volume"] == data} == {NEW}
    assert set(volumes.array()["hosts"]) == {NEW}
    volumes.attach(server, story["spare"])
    volumes.detach(server, story["spare"])
    assert exports(volumes) == {f"volume-{data}"}


# --- moves ----------------------------------------------------------------------------------------------------


def audited(playbooks):
    result = playbooks.run("audit", variables={"audit_fail_on": "never"})
    return sorted(
        (item["code"], item["severity"], item["object"]["name"])
        for item in result.report["findings"]
        if item["code"] in ("SG308", "SG405", "SG524", "SG525", "SG526")
    )


def test_the_audit_knows_the_names_from_before_the_rename(story, playbooks):
    """Each server's root volume: of those that were attached since, the record is new."""
    assert audited(playbooks) == [("SG308", "info", name) for name in sorted(SERVERS)]


def test_a_volume_of_another_zone_is_told(story, volumes, playbooks):
    """By the running Cinder: SG405."""
    server, far = story["ids"]["ceph1"], volumes.create("ceph", "az2")
    volumes.attach(server, far)
    assert ("SG405", "warning", "ceph1") in audited(playbooks)
    volumes.detach(server, far)


def moved(playbooks, name, *words, **variables):
    result = playbooks.run(name, *words, variables=variables).ok()
    assert not [item for item in result.report["findings"] if item["code"] in ("SG524", "SG525", "SG526")]
    return result


def test_live_migration_away_and_back_makes_each_record_anew(lab, story, volumes, playbooks):
    for host in (OTHER, NEW):
        moved(playbooks, "migrate_server", migrate_servers=list(story["ids"].values()))
        for server in story["ids"].values():
            guestkit.wait_for(lab, server, "ACTIVE", host=host)
        assert volumes.wrong() == []
        assert exports_of(volumes) == {OLD if host == NEW else OTHER}
    assert volumes.mounts(OTHER) == 0
    assert audited(playbooks) == []


def exports_of(volumes):
    """The machines that see a volume of the array."""
    return {host for host, seen in volumes.array()["exports"].items() if seen}


def test_a_cold_migration_and_a_resize(lab, story, volumes, playbooks):
    server = story["ids"]["nfs1"]
    lab.action(server, "os-stop")
    guestkit.wait_for(lab, server, "SHUTOFF", host=NEW)
    moved(playbooks, "migrate_server", migrate_servers=[server])
    guestkit.wait_for(lab, server, "SHUTOFF", host=OTHER)
    moved(playbooks, "resize_server", resize_server=story["ids"]["san1"], resize_flavor="micro")
    assert volumes.wrong() == []
    assert exports_of(volumes) == {OTHER}


def test_a_volume_that_is_not_ready_keeps_its_server(lab, story, volumes, playbooks):
    server = story["ids"]["ceph1"]
    volume = volumes.of(server)[1]
    lab.sql("cinder", "UPDATE volumes SET status = 'error_extending' WHERE id = %s", volume)
    try:
        result = playbooks.run("migrate_server", variables={"migrate_servers": [server]}).failed()
        assert result.codes == {"SG526"}
    finally:
        lab.sql("cinder", "UPDATE volumes SET status = 'in-use' WHERE id = %s", volume)


# --- zones and links ------------------------------------------------------------------------------------------


def test_a_shelved_server_starts_in_its_zone_with_its_volumes(lab, story, volumes, playbooks, tmp_path):
    server = story["ids"]["san1"]
    lab.action(server, "shelve")
    guestkit.wait_for(lab, server, "SHELVED_OFFLOADED", timeout=300)
    assert (volumes.hosts(server), exports_of(volumes)) == ({None}, set())
    moved(playbooks, "unshelve_server", unshelve_server=server, stackguard_state_dir=str(tmp_path / "state"))
    found = guestkit.wait_for(lab, server, "ACTIVE")
    assert found["OS-EXT-AZ:availability_zone"] == "az1"
    assert volumes.wrong() == []


def test_wrong_links_are_repaired_and_no_record_of_a_volume_changes(lab, story, volumes, playbooks, tmp_path):
    rows, links = volumes.rows(), {"SG202"}
    assert OTHER in {row["host"] for row in rows}
    lab.ssh(OTHER, "systemctl stop nova-compute", timeout=300)
    try:
        lab.sql("cell1", "UPDATE compute_nodes SET service_id = 4711 WHERE host = %s AND deleted = 0", OTHER)
        if lab.sql("cell1", "SHOW COLUMNS FROM instances LIKE 'compute_id'"):
            lab.sql("cell1", "UPDATE instances SET compute_id = NULL WHERE host = %s AND deleted = 0", OTHER)
            links.add("SG211")
        result = playbooks.run("repair_links", variables={"stackguard_state_dir": str(tmp_path / "state")}).ok()
    finally:
        before = guestkit.reports(lab, OTHER)
        lab.ssh(OTHER, "systemctl start nova-compute")
        guestkit.wait_report(lab, OTHER, before)
    repairs = json.loads((result.directory / "reports" / "repairs.json").read_text())
    assert {row["code"] for row in repairs if row["outcome"] == "repaired"} == links
    assert volumes.rows() == rows
    assert volumes.wrong() == []


# --- the end --------------------------------------------------------------------------------------------------


def test_deleted_servers_leave_nothing(lab, story, volumes):
    root = {name: volumes.of(server)[0] for name, server in story["ids"].items()}
    assert volumes.watchers(root["ceph1"]), "it is not open"
    for server in story["ids"].values():
        lab.compute("DELETE", f"/servers/{server}")
    for name in ("ceph1", "san1", "nfs1"):
        volumes.wait(root[name], "available")
    waiting.until("no attachment is left", lambda: volumes.rows() == [] or None, 120, 2)
    assert volumes.array()["hosts"] == {}
    assert exports_of(volumes) == set()
    assert [volumes.mounts(host) for host in (OLD, OTHER)] == [0, 0]
    assert volumes.watchers(root["ceph1"]) == []
