# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit of a real Nova: nothing changes, the same bytes offline, and what it forecasts is what nova-compute does.

The forecast is recorded, nova-compute is started, and what it printed and did is compared with it, on whatever release
the lab is of. The last tests lose guests on purpose, and reset the lab.
"""

from __future__ import annotations

import contextlib
import json
import uuid as uuids

import pytest
from labkit import evacuation, state, waiting
from labkit import guests as guestkit
from labkit.fixtures import as_new, prepared

pytestmark = pytest.mark.matrix

FILES = ("report.json", "report.html", "report.prom", "forecast.json", "evidence.jsonl")
LOG = "/var/log/nova/nova-compute.log"
IDENTITY = "/var/lib/nova/compute_id"
HOST = "compute1"


@pytest.fixture(scope="module")
def cloud(lab, playbooks):
    """A lab that is as new, with the usual servers; reset at the end where guests were lost."""
    fresh(lab)
    yield lab
    prepared(lab)


def fresh(lab):
    as_new(lab)
    waiting.until("idle servers", lambda: guestkit.idle(lab), 120)


@pytest.fixture
def audit(cloud, playbooks):
    def run(*words, flags=(), **variables):
        return playbooks.run("audit", *words, variables=variables, flags=flags)

    return run


def kept(result):
    return {name: (result.directory / "reports" / name).read_bytes() for name in FILES}


def forecast(result, host=HOST):
    text = (result.directory / "reports" / "forecast.json").read_text()
    return json.loads(text)["hosts"][host]


def found(result):
    assert result.report is not None, result.told()
    return {(item["code"], item["object"]["id"]) for item in result.report["findings"]}


# --- the report -----------------------------------------------------------------------------------------------


def test_a_cloud_that_nobody_touched_has_no_blocker_and_is_left_as_it_is(cloud, audit):
    before = state.everything(cloud)
    done = audit().ok()
    state.assert_same(before, state.everything(cloud), "the audit changed something")
    blockers = [item for item in done.report["findings"] if item["severity"] == "blocker"]
    assert blockers == [], done.told()
    assert done.changed == 0
    assert (done.report["hosts"], done.report["servers"]) == (len(cloud.hosts), len(guestkit.every(cloud)))
    # All was read: whatever is undecided is about a release that does not have it.
    absent = {"SG201", "SG206", "SG207", "SG211", "SG212", "SG213", "SG214", "SG215", "SG221"}
    assert {item["code"] for item in done.report["unchecked"]} <= absent | {"SG401", "SG402", "SG404"}, done.told()
    for host in cloud.hosts:
        assert forecast(done, host)["told"] == "starts", done.told()


def test_saved_evidence_gives_the_same_bytes(audit):
    first = audit().ok()
    saved = str(first.directory / "reports" / "evidence.jsonl")
    assert kept(audit(audit_evidence=saved)) == kept(first)


def test_a_host_that_does_not_answer_and_a_cloud_that_is_not_there_are_told(audit, tmp_path):
    gone = {"compute": {"hosts": {"compute9": {"ansible_host": "127.0.0.1", "ansible_port": 1}}}}
    (tmp_path / "more.json").write_text(json.dumps(gone))
    done = audit(flags=["-i", str(tmp_path / "more.json")], cloud="no-such-cloud").failed()
    assert ("SG114", "compute9") in found(done), done.told()
    assert done.report["verdict"] == "block"
    (reason,) = [item["evidence"]["reason"] for item in done.report["findings"] if item["code"] == "SG709"]
    assert "no-such-cloud" in reason
    audit("audit_fail_on=never", flags=["-i", str(tmp_path / "more.json")]).ok()


@pytest.mark.parametrize("source", ["hosts", "api", "databases"])
def test_any_source_works_alone(audit, source):
    done = audit(audit_sources=[source], audit_fail_on="blocker").ok()
    assert done.report["verdict"] == "warn", done.told()


def test_what_is_wrong_is_found(stopped, audit):
    """nova-compute of the host is stopped, or it would mend the link before it is found."""
    image = f"{stopped.guests['plain1']['id']}_disk"
    stopped.lab.command("rbd", "snap", "create", f"vms/{image}@stackguard-of-nobody")
    try:
        with column(stopped, "compute_nodes", stopped.node, service_id=4711):
            done = audit("audit_fail_on=never").ok()
        assert {("SG202", stopped.node["uuid"]), ("SG508", f"vms/{image}")} <= found(done), done.told()
    finally:
        stopped.lab.command("rbd", "snap", "rm", f"vms/{image}@stackguard-of-nobody")


# --- definitions ----------------------------------------------------------------------------------------------


def drift(result):
    """Of the last audit: code and guest to evidence."""
    return {
        (item["code"], item["object"]["id"]): item["evidence"]
        for item in result.report["findings"]
        if item["code"].startswith("SG60")
    }


def test_devices_that_a_hard_reboot_moves_are_named_and_no_others(cloud, audit, tmp_path):
    """A port is attached and another goes: the next start gives what is left other addresses.

    The guests have no operating system that would let go of a device: it goes while the server is stopped. Nova starts
    a server as it reboots it hard, with a definition that is written anew.
    """
    guestkit.create(cloud, "drift", "1", "--on", HOST)
    (guest,) = [row["id"] for row in guestkit.every(cloud).values() if row["name"] == "drift1"]
    records = {"audit_definitions_dir": str(tmp_path / "records"), "audit_fail_on": "never"}
    assert {code for code, _key in drift(audit(**records).ok())} == {"SG607"}
    assert drift(audit(**records).ok()) == {}
    before = addresses(cloud, guest)
    network = cloud.compute("GET", f"/servers/{guest}/os-interface")["interfaceAttachments"][0]
    body = {"interfaceAttachment": {"net_id": network["net_id"]}}
    added = cloud.compute("POST", f"/servers/{guest}/os-interface", body)["interfaceAttachment"]
    waiting.until("a second interface", lambda: len(addresses(cloud, guest)) == len(before) + 1, 60)
    # What was only added has moved nothing.
    assert ("SG601", guest) not in drift(audit(**records).ok())
    then = addresses(cloud, guest)
    cloud.action(guest, "os-stop", None)
    guestkit.wait_for(cloud, guest, "SHUTOFF", 240)
    cloud.compute("DELETE", f"/servers/{guest}/os-interface/{network['port_id']}")
    waiting.until("the first to go", lambda: len(addresses(cloud, guest)) == len(before), 60)
    assert ("SG601", guest) not in drift(audit(**records).ok())
    cloud.action(guest, "os-start", None)
    guestkit.wait_for(cloud, guest, "ACTIVE", 240)
    now = addresses(cloud, guest)
    moved = {mac: [then[mac], now[mac]] for mac in set(then) & set(now) if then[mac] != now[mac]}
    assert added["mac_addr"] in moved, "nothing has moved: the test would prove nothing"
    told = drift(audit(**records).ok())[("SG601", guest)]["devices"]
    seen = {name.split()[-1]: pair for name, pair in told.items() if name.startswith("interface ")}
    assert seen == moved
    # It is recorded now.
    assert ("SG601", guest) not in drift(audit(**records).ok())
    cloud.command("guests", "delete", "drift1")


def addresses(lab, uuid):
    """MACs of a guest to the places where it finds them, by virsh's own XML."""
    script = (
        "import json, subprocess, xml.etree.ElementTree as ET\n"
        f"xml = subprocess.run(['virsh', 'dumpxml', '{uuid}'], capture_output=True, text=True, check=True).stdout\n"
        "found = {}\n"
        "for one in ET.fromstring(xml).findall('devices/interface'):\n"
        "    at = {key: int(one.find('address').get(key), 16) for key in ('domain', 'bus', 'slot', 'function')}\n"
        "    place = 'pci {domain:04x}:{bus:02x}:{slot:02x}.{function:x}'.format(**at)\n"
        "    found[one.find('mac').get('address')] = place\n"
        "print(json.dumps(found))\n"
    )
    return lab.python(HOST, script)


# --- the forecast, against a real nova-compute ----------------------------------------------------------------


class Stopped:
    """compute1 without its nova-compute, and what a start of it does."""

    def __init__(self, lab):
        self.lab = lab
        self.node = lab.sql("cell1", "SELECT * FROM compute_nodes WHERE host = %s AND deleted = 0", HOST)[0]
        self.guests = guestkit.make(lab)

    def sql(self, statement, *params):
        return self.lab.sql("cell1", statement, *params)

    def ssh(self, command):
        return self.lab.ssh(HOST, command, timeout=300)

    def size(self):
        return int(self.ssh(f"stat -c %s {LOG}"))

    def refused(self, since, text):
        """Start it, and wait until it has printed this and ended."""
        self.ssh("systemctl start nova-compute")
        try:
            waiting.until(f"nova-compute to print {text!r}", lambda: text in self.log(since), 120, pause=2)
        finally:
            self.ssh("systemctl stop nova-compute; systemctl reset-failed nova-compute || true")

    def started(self, since):
        """Start it, and wait until its first pass over the resources is done."""
        self.ssh("systemctl start nova-compute")
        waiting.until("a first pass", lambda: "Final resource view" in self.log(since), 180, pause=2)

    def log(self, since):
        return self.ssh(f"tail -c +{since + 1} {LOG}")

    def domains(self):
        return set(self.ssh("virsh list --uuid --all").split())


@pytest.fixture
def stopped(cloud):
    """compute1 stopped; put back as it was, and running, afterwards."""
    cloud.ssh(HOST, "systemctl stop nova-compute", timeout=300)
    case = Stopped(cloud)
    try:
        yield case
    finally:
        # Some tests have started it themselves.
        cloud.ssh(HOST, "systemctl stop nova-compute", timeout=300)
        before = guestkit.reports(cloud, HOST)
        cloud.ssh(HOST, "systemctl start nova-compute")
        guestkit.wait_report(cloud, HOST, before)
        guestkit.wait_compute(cloud, HOST)


@contextlib.contextmanager
def identity(case, content):
    """Another compute_id file; None: none."""
    before = case.ssh(f"cat {IDENTITY}")
    case.ssh(f"rm {IDENTITY}" if content is None else f"printf %s '{content}' > {IDENTITY}")
    try:
        yield
    finally:
        case.ssh(f"printf %s '{before}' > {IDENTITY}")


@contextlib.contextmanager
def column(case, table, row, **values):
    """Other values in a row."""
    names = ", ".join(f"`{name}` = %s" for name in values)
    case.sql(f"UPDATE {table} SET {names} WHERE id = %s", *values.values(), row["id"])
    try:
        yield
    finally:
        case.sql(f"UPDATE {table} SET {names} WHERE id = %s", *(row[name] for name in values), row["id"])


@contextlib.contextmanager
def configured(case, name):
    """A host= of its own."""
    conf = "/etc/nova/nova.conf"
    case.ssh(f"cp -p {conf} /root/nova.conf.kept && sed -i 's/^.DEFAULT.$/&\\nhost = {name}/' {conf}")
    try:
        yield
    finally:
        case.ssh("mv /root/nova.conf.kept /etc/nova/nova.conf")


REFUSALS = {
    "no file": (lambda case: identity(case, None), "_ensure_existing_node_identity"),
    "no uuid in the file": (lambda case: identity(case, "not-a-uuid"), "read_local_node_uuid"),
    "another node's name": (
        lambda case: column(case, "compute_nodes", case.node, hypervisor_hostname="other.example"),
        "_get_nodes",
    ),
    "another host's node": (
        lambda case: column(case, "compute_nodes", case.node, host="other.example"),
        "_check_for_host_rename",
    ),
    "a file of nobody": (lambda case: identity(case, uuids.uuid4()), "_init_compute_node"),
    "another host= in nova.conf": (lambda case: configured(case, "other.example"), None),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_it_would_refuse_with_is_what_it_prints(stopped, audit, name):
    spoil, rule = REFUSALS[name]
    with spoil(stopped):
        done = audit("audit_fail_on=never").ok()
        told = forecast(done)
        assert told["outcome"] == "refuses", (told, done.told())
        assert rule is None or told["refusal"]["rule"] == rule
        # There is a finding of it, too.
        assert [item for item in done.report["findings"] if item["severity"] == "blocker"], done.told()
        domains = stopped.domains()
        stopped.refused(stopped.size(), told["refusal"]["text"])
        assert stopped.domains() == domains


@pytest.mark.parametrize("provider", [True, False])
def test_a_second_node_of_the_host_is_an_orphan(stopped, audit, provider):
    values = {name: value for name, value in stopped.node.items() if name != "id"}
    values.update(uuid=str(uuids.uuid4()), hypervisor_hostname="orphan.example")
    names, places = ", ".join(f"`{name}`" for name in values), ", ".join(["%s"] * len(values))
    stopped.sql(f"INSERT INTO compute_nodes ({names}) VALUES ({places})", *values.values())
    placement = stopped.lab.cloud.placement
    if provider:
        body = {"uuid": values["uuid"], "name": values["hypervisor_hostname"]}
        assert placement.post("/resource_providers", json=body, microversion="1.20").status_code == 200
    try:
        told = forecast(audit("audit_fail_on=never").ok())
        (orphan,) = [node for node in told["nodes"] if node["uuid"] == values["uuid"]]
        gone = orphan["action"].startswith("destroyed")
        # Who destroys it stumbles over its missing provider.
        assert (told["outcome"] == "refuses") is (gone and not provider), told
        since = stopped.size()
        if told["outcome"] == "refuses":
            stopped.refused(since, told["refusal"]["text"])
        else:
            stopped.started(since)
        word = "Deleting orphan compute node" if gone else "Found orphan compute node"
        waiting.until(word, lambda: word in stopped.log(since), 120, pause=2)

        def destroyed():
            (row,) = stopped.sql("SELECT deleted FROM compute_nodes WHERE uuid = %s", values["uuid"])
            return row["deleted"] != 0

        # It is logged before it is done.
        if gone:
            waiting.until("the end of the orphan", destroyed, 60)
        assert destroyed() is gone
    finally:
        stopped.sql("DELETE FROM compute_nodes WHERE uuid = %s", values["uuid"])
        placement.delete(f"/resource_providers/{values['uuid']}", microversion="1.20")


def test_a_soft_deleted_node_is_undeleted(stopped, audit):
    with column(stopped, "compute_nodes", stopped.node, deleted=stopped.node["id"]):
        told = forecast(audit("audit_fail_on=never").ok())
        assert [(node["uuid"], node["action"]) for node in told["nodes"]] == [(stopped.node["uuid"], "undeleted")], told
        since = stopped.size()
        stopped.started(since)
        assert f"Undeleting compute node {stopped.node['uuid']}" in stopped.log(since)


# --- guests are lost from here on: the lab is reset after it --------------------------------------------------


def test_guests_that_it_would_destroy_are_those_that_it_destroys(cloud, stopped, audit):
    """A record of an evacuation over a guest that lives here; a row that is deleted while its domain runs."""
    evacuated, gone = stopped.guests["plain1"]["id"], stopped.guests["plain2"]["id"]
    names = {"source_compute": HOST, "source_node": stopped.node["hypervisor_hostname"], "dest_compute": "compute2"}
    names.update(uuid=str(uuids.uuid4()), instance_uuid=evacuated, status="done", migration_type="evacuation")
    columns, places = ", ".join(f"`{name}`" for name in names), ", ".join(["%s"] * len(names))
    fixed, values = "created_at, updated_at, deleted, hidden", "now(), now(), 0, 0"
    stopped.sql(f"INSERT INTO migrations ({fixed}, {columns}) VALUES ({values}, {places})", *names.values())
    stopped.sql("UPDATE instances SET deleted = id, deleted_at = now(), vm_state = 'deleted' WHERE uuid = %s", gone)
    try:
        done = audit("audit_fail_on=never").ok()
        assert {("SG113", evacuated), ("SG110", gone)} <= found(done), done.told()
        told = {guest["uuid"]: guest["action"] for guest in forecast(done)["guests"]}
        assert told == {evacuated: "destroyed", gone: "destroyed, and its disks deleted"}, done.told()
        before, images = stopped.domains(), evacuation.images(cloud)
        stopped.started(stopped.size())

        def ended():
            return stopped.domains() == before - set(told)

        waiting.until("the end of exactly these domains", ended, 240, pause=3)
        left = lambda: images - evacuation.images(cloud)  # noqa: E731
        waiting.until("the end of the deleted server's disks", lambda: f"{gone}_disk" in left(), 240, pause=3)
        assert not [image for image in left() if not image.startswith(gone)]
    finally:
        cloud.reset()
        fresh(cloud)
