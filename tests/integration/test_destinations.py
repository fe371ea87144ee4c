# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG523: the only other host of the zone cannot run the guests, and nothing moves. What libvirt itself says decides.

compute1 and compute2 are in az1. Each test changes libvirt on compute2, and gives it back what it had.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from labkit import deadhost, evacuation, state, waiting, zoning
from labkit import guests as guestkit
from labkit.zoning import NEIGHBOUR, SOURCE, state_dir

matrix = pytest.mark.matrix
CONF, CACHE = "/etc/libvirt/libvirtd.conf", "/var/cache/libvirt/qemu/capabilities"


@pytest.fixture
def clean(lab):
    """No guests, all hosts enabled, before and after."""
    zoning.tidy(lab)
    yield lab
    zoning.tidy(lab)


@pytest.fixture
def drain(playbooks):
    def run(*flags, **given):
        variables = {"stackguard_state_dir": str(state_dir(playbooks.lab)), "drain_host": SOURCE, **given}
        return playbooks.run("drain_host", variables=variables, flags=flags, timeout=900)

    return run


@contextlib.contextmanager
def changed(lab, change, back):
    """Change libvirt on the other host of the zone, and change it back."""
    lab.ssh(NEIGHBOUR, change)
    evacuation.restart_libvirt(lab, NEIGHBOUR)
    try:
        yield
    finally:
        lab.ssh(NEIGHBOUR, back)
        evacuation.restart_libvirt(lab, NEIGHBOUR)


def edited(path, words):
    """Commands that edit files of the host, and that give them back."""
    keep = f"for file in {path}; do cp -p $file $file.kept; {words} $file; done"
    return keep, f"for file in {path}; do mv $file.kept $file; done"


def refused(lab, done, guests):
    """It was refused by SG523 for each of these, before anything was changed."""
    done.failed()
    found = [item for item in done.report["findings"] if item["severity"] == "blocker"]
    assert {(item["code"], item["object"]["id"]) for item in found} == {("SG523", uuid) for uuid in guests.values()}
    assert not [row for uuid in guests.values() for row in zoning.migrations(lab, uuid)]
    assert lab.service(SOURCE)["status"] == "enabled"
    return found


def without(lab, guest):
    """Let libvirt on the other host not know the machine type of a guest, as after an update of QEMU."""
    machine = lab.ssh(SOURCE, f"virsh dumpxml {guest} | sed -n \"s/.*machine='\\([^']*\\)'.*/\\1/p\"").strip()
    return machine, changed(lab, *edited(f"{CACHE}/*.xml", f"sed -i \"/<machine .*name='{machine}'/d\""))


def stop(lab, guests):
    for uuid in guests.values():
        lab.action(uuid, "os-stop")
        guestkit.wait_for(lab, uuid, "SHUTOFF")


def here(lab, guests, host):
    return {lab.server(uuid)["OS-EXT-SRV-ATTR:host"] for uuid in guests.values()} == {host}


def test_a_host_without_the_ceph_secret_is_no_destination(clean, drain, playbooks):
    lab = clean
    uuid = lab.ssh(SOURCE, "virsh secret-list").split()[3]
    define, value = (
        lab.ssh(SOURCE, f"virsh -q {word} {uuid}").strip() for word in ("secret-dumpxml", "secret-get-value")
    )
    guests = zoning.boot(lab)
    lab.ssh(NEIGHBOUR, f"virsh secret-undefine {uuid}")
    try:
        refused(lab, drain(), guests)
        given = {"stackguard_state_dir": str(state_dir(lab)), "resize_server": "web1", "resize_flavor": "micro"}
        refused(lab, playbooks.run("resize_server", variables=given), guests)
        # A new definition has the secret of the destination's own nova.conf.
        stop(lab, guests)
        refused(lab, drain(), guests)
    finally:
        lab.ssh(NEIGHBOUR, "cat > /root/secret.xml && virsh secret-define /root/secret.xml", stdin=define)
        lab.ssh(NEIGHBOUR, f"virsh secret-set-value {uuid} {value} && rm /root/secret.xml")
    drain().ok()
    assert here(lab, guests, NEIGHBOUR)


@matrix
def test_a_host_with_the_same_libvirt_uuid_takes_stopped_servers_only(clean, drain):
    """R13."""
    lab = clean
    uuid = lab.ssh(SOURCE, "virsh capabilities | sed -n 's|.*<uuid>\\(.*\\)</uuid>.*|\\1|p'").strip()
    guests = zoning.boot(lab)
    with changed(lab, *edited(CONF, f"sed -i 's/^host_uuid_source.*/host_uuid = \"{uuid}\"/'")):
        (item,) = refused(lab, drain(), guests)
        assert "libvirtd.conf" in item["remedy"]
        stop(lab, guests)
        drain().ok()
    assert here(lab, guests, NEIGHBOUR)


@matrix
def test_a_host_without_the_machine_type_is_no_destination(clean, drain, playbooks):
    """R11: libvirt on it does not list the type of the guests. What Nova has stored decides for those that are off."""
    lab = clean
    guests = zoning.boot(lab)
    machine, lacking = without(lab, guests["web1"])
    with lacking:
        refused(lab, drain(), guests)
        report = playbooks.run("audit", "audit_fail_on=never").ok()
        told = [
            item for item in report.report["findings"] if item["code"] == "SG523" and item["object"]["id"] == SOURCE
        ]
        assert machine in json.dumps([item["evidence"] for item in told])
        stop(lab, guests)
        # Nova has stored pc, which is the alias of the type that is gone.
        (item,) = refused(lab, drain(), guests)
        word = [{"code": "SG523", "object": item["object"]["id"], "reason": "certain all the same"}]
        refused(lab, drain(stackguard_overrides=word), guests)


@pytest.mark.matrix("evacuation")
def test_servers_of_a_dead_host_are_not_sent_where_their_machine_type_is_gone(clean, playbooks):
    """R11: unguarded, each of them would end in ERROR. The dead host is not asked: Nova shows what it has stored."""
    lab = clean
    guests = zoning.boot(lab)
    _machine, lacking = without(lab, guests["web1"])
    try:
        with lacking:
            evacuation.kill(lab, SOURCE)
            before = state.databases(lab)
            done = deadhost.evacuate(playbooks).failed()
            assert done.codes == {"SG523"}
            state.assert_same(before, state.databases(lab), "a refused run changed something")
        deadhost.evacuate(playbooks).ok()
        assert here(lab, guests, NEIGHBOUR)
    finally:
        deadhost.tidy(lab)


@matrix
def test_a_binding_that_a_failed_move_left_bars_its_host(clean, drain):
    """neutron has the binding already, so that Nova refuses each live migration there. Without it the server goes."""
    lab = clean
    guests = zoning.boot(lab)
    (uuid,) = guests.values()
    (port,) = lab.cloud.network.ports(device_id=uuid)
    # Since neutron's policy gives that to services only: the row that Nova's request makes.
    row = "INSERT INTO ml2_port_bindings (port_id, host, vif_type, vnic_type, profile, vif_details, status)"
    lab.sql("neutron", f"{row} VALUES (%s, %s, 'unbound', 'normal', '', '', 'INACTIVE')", port.id, NEIGHBOUR)
    refused(lab, drain(), guests)
    # Unguarded.
    lab.action(uuid, "os-migrateLive", {"host": NEIGHBOUR, "block_migration": "auto"}, "2.68")
    last = "SELECT status FROM migrations WHERE instance_uuid = %s ORDER BY id DESC"
    waiting.until("Nova refuses it", lambda: lab.value("cell1", last, uuid) == "error" or None, 60, 2)
    assert here(lab, guests, SOURCE)
    lab.sql("neutron", "DELETE FROM ml2_port_bindings WHERE port_id = %s AND host = %s", port.id, NEIGHBOUR)
    drain().ok()
    assert here(lab, guests, NEIGHBOUR)


def test_libvirt_compares_cpus_as_nova_has_it_do(clean):
    """The question that a destination is asked: of its own CPU, of one that it lacks, and of one that nobody knows."""
    script = """
import json, libvirt, xml.etree.ElementTree as ET
opened = libvirt.open("qemu:///system")
cpu = ET.tostring(ET.fromstring(opened.getCapabilities()).find("host/cpu"), encoding="unicode")
def ask(text):
    try:
        return opened.compareHypervisorCPU(None, "x86_64", None, "qemu", text, 0)
    except libvirt.libvirtError as error:
        return "error"
lacking = "<cpu mode='custom' match='exact'><model>qemu64</model><feature policy='require' name='amx-tile'/></cpu>"
plain = "<cpu mode='custom' match='exact'><model>qemu64</model></cpu>"
odd = "<cpu mode='custom' match='exact'><model>nobody</model></cpu>"
print(json.dumps([ask(text) for text in (plain, lacking, odd)]))
"""
    assert clean.python(NEIGHBOUR, script) == [2, 0, "error"]
