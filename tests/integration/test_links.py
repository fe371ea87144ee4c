# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links corrupted by SQL on a real Nova: each found and nothing else, repaired, and then nothing for Nova to correct.

Runs on whatever release the lab is of (27, 29, 34): what a release does not have is said to be unchecked.
"""

from __future__ import annotations

import time

import pytest

NEEDS_ID = ("SG211", "SG212", "SG213", "SG214", "SG221", "SG207")
#: What nova-compute logs when it corrects a link by itself, or trips over one.
CORRECTIONS = ("Correcting compute_id", "Moving ComputeNode", "Setting Instance.compute_id", "Error updating resources")
LOG = "/var/log/nova/nova-compute.log"
TWO_PASSES = 90

pytestmark = pytest.mark.usefixtures("guests")


@pytest.fixture(scope="module")
def has_compute_id(lab):
    return bool(lab.sql("cell1", "SHOW COLUMNS FROM instances LIKE 'compute_id'"))


@pytest.fixture
def links(lab, playbooks, tmp_path):
    """Run repair_links with a journal of this test's own; whatever is left wrong is put back at the end."""
    saved = {
        "instances": lab.sql("cell1", "SELECT * FROM instances WHERE deleted = 0"),
        "compute_nodes": lab.sql("cell1", "SELECT * FROM compute_nodes"),
        "services": lab.sql("cell1", "SELECT id, host, `binary`, deleted FROM services"),
    }

    def run(*words, flags=()):
        variables = {"stackguard_state_dir": str(tmp_path / "state"), "cloud": None}
        return playbooks.run("repair_links", *words, variables=variables, flags=flags)

    yield run
    names = {"instances": ("host", "node", "vm_state"), "compute_nodes": ("host", "service_id", "deleted")}
    if any("compute_id" in row for row in saved["instances"]):
        names["instances"] += ("compute_id",)
    for table, columns in names.items():
        for row in saved[table]:
            setting = ", ".join(f"{column} = %s" for column in columns)
            lab.sql("cell1", f"UPDATE {table} SET {setting} WHERE id = %s", *[row[name] for name in columns], row["id"])
    known = ", ".join(str(row["id"]) for row in saved["services"])
    lab.sql("cell1", f"DELETE FROM services WHERE `binary` = 'nova-compute' AND id NOT IN ({known})")
    known = ", ".join(str(row["id"]) for row in saved["compute_nodes"])
    lab.sql("cell1", f"DELETE FROM compute_nodes WHERE id NOT IN ({known})")


def stop(lab, *hosts):
    for host in hosts:
        lab.ssh(host, "systemctl stop nova-compute", timeout=300)


def start(lab, *hosts):
    for host in hosts:
        lab.ssh(host, "systemctl start nova-compute")


@pytest.fixture
def stopped(lab):
    """nova-compute stopped on compute1 and compute2: it would mend some of this before it is found."""
    stop(lab, "compute1", "compute2")
    yield
    start(lab, "compute1", "compute2")
    for host in ("compute1", "compute2"):
        wait(lambda host=host: lab.service(host)["state"] == "up", f"nova-compute of {host} up")


def wait(seen, what, seconds=TWO_PASSES):
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(1)


def node(lab, host):
    return lab.sql("cell1", "SELECT * FROM compute_nodes WHERE host = %s AND deleted = 0", host)[0]


def service(lab, host):
    statement = "SELECT * FROM services WHERE host = %s AND `binary` = 'nova-compute' AND deleted = 0"
    return lab.sql("cell1", statement, host)[0]


def found(result):
    return {(item["code"], item["object"]["id"]) for item in result.report["findings"]}


def test_a_healthy_cloud(links, has_compute_id):
    seen = links(flags=["--check"]).ok()
    assert found(seen) == set()
    unchecked = {item["code"] for item in seen.report["unchecked"]}
    assert unchecked.issuperset(NEEDS_ID) is not has_compute_id
    assert not links().ok().stats["changed"]


def set_instance(lab, guest, **values):
    setting = ", ".join(f"{name} = %s" for name in values)
    lab.sql("cell1", f"UPDATE instances SET {setting} WHERE uuid = %s", *values.values(), guest["id"])


def test_each_corruption_is_found_and_repaired(lab, guests, links, stopped, has_compute_id):
    """One of each kind at once; the ones that nothing is certain about are left."""
    one, two = node(lab, "compute1"), node(lab, "compute2")
    expected, left = set(), set()
    lab.sql("cell1", "UPDATE compute_nodes SET service_id = 4711 WHERE id = %s", one["id"])
    expected.add(("SG202", one["uuid"]))
    if has_compute_id:
        lab.sql("cell1", "UPDATE compute_nodes SET service_id = NULL WHERE id = %s", two["id"])
        expected.add(("SG201", two["uuid"]))
        set_instance(lab, guests["plain1"], compute_id=None)
        set_instance(lab, guests["plain2"], compute_id=99999)
        set_instance(lab, guests["plain3"], compute_id=two["id"])
        expected |= {
            (code, guests[name]["id"]) for code, name in (("SG211", "plain1"), ("SG212", "plain2"), ("SG214", "plain3"))
        }
    set_instance(lab, guests["swap1"], node="gone.example")
    left.add(("SG216", guests["swap1"]["id"]))
    if has_compute_id:
        left.add(("SG214", guests["swap1"]["id"]))
    seen = links(flags=["--check", "--diff"]).ok()
    assert found(seen) == expected | left
    assert not seen.changed or seen.stats["state"] == "planned"
    done = links().ok()
    assert found(done) == left
    assert done.stats["rows"]["changed"] == len(expected)
    assert node(lab, "compute1")["service_id"] == service(lab, "compute1")["id"]
    if has_compute_id:
        rows = lab.sql("cell1", "SELECT uuid, compute_id FROM instances WHERE deleted = 0 AND host = 'compute1'")
        assert {row["compute_id"] for row in rows} == {one["id"]}


def test_taken_back(lab, guests, links, stopped, has_compute_id):
    lab.sql("cell1", "UPDATE compute_nodes SET service_id = 4711 WHERE host = 'compute1' AND deleted = 0")
    links().ok()
    links("repair_action=rollback").ok()
    assert node(lab, "compute1")["service_id"] == 4711


def test_nova_finds_nothing_left_to_correct(lab, guests, links, has_compute_id):
    """Corrupted while it is stopped, repaired, started: two periodic passes later its log has corrected nothing."""
    stop(lab, "compute1")
    try:
        lab.sql("cell1", "UPDATE compute_nodes SET service_id = NULL WHERE host = 'compute1' AND deleted = 0")
        if has_compute_id:
            set_instance(lab, guests["plain1"], compute_id=None)
            set_instance(lab, guests["plain2"], compute_id=node(lab, "compute2")["id"])
        links().ok()
        marked = int(lab.ssh("compute1", f"wc -l < {LOG}"))
    finally:
        start(lab, "compute1")

    def written():
        return lab.ssh("compute1", f"tail -n +{marked + 1} {LOG}")

    wait(lambda: written().count("Final resource view") >= 3, "two periodic passes after the start", 300)
    lines = [line for line in written().splitlines() if any(text in line for text in CORRECTIONS)]
    assert lines == []
    assert found(links(flags=["--check"]).ok()) == set()


def old_service(lab, node_row):
    """A leftover of an earlier life of the host, whose id its node still bears."""
    uuid = lab.value("cell1", "SELECT uuid()")
    lab.sql(
        "cell1",
        "INSERT INTO services (uuid, host, `binary`, topic, report_count, disabled, forced_down, version, deleted, "
        "created_at) SELECT %s, 'old-name', `binary`, topic, 0, 0, 1, version, 0, utc_timestamp() FROM services "
        "WHERE host = 'compute1' AND `binary` = 'nova-compute' AND deleted = 0",
        uuid,
    )
    number = lab.value("cell1", "SELECT id FROM services WHERE uuid = %s", uuid)
    lab.sql("cell1", "UPDATE compute_nodes SET service_id = %s WHERE id = %s", number, node_row["id"])
    return uuid


@pytest.mark.parametrize("repaired", [False, True], ids=["as it is", "repaired"])
def test_deleting_an_old_service_takes_the_live_node_with_it(lab, guests, links, stopped, repaired):
    """SG203: the API deletes the service of a name that is no more, and with it the node of a running host."""
    live = node(lab, "compute1")
    uuid = old_service(lab, live)
    seen = links(flags=["--check"]).ok()
    assert found(seen) == {("SG203", live["uuid"])}
    if repaired:
        links().ok()
        assert node(lab, "compute1")["service_id"] == service(lab, "compute1")["id"]
    lab.compute("DELETE", f"/os-services/{uuid}", microversion="2.53")
    alive = lab.sql("cell1", "SELECT deleted FROM compute_nodes WHERE id = %s", live["id"])[0]["deleted"] == 0
    assert alive is repaired
