# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Nova's own records, RabbitMQ, OVN and Ceph say against enabling a maintained host."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.maintain import verify
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import BlocklistEntry
from ansible_collections.stackguard.nova.tests.unit import builders, linked
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import ovn_fleet, with_ovn

HELD = "stackguard:maintain:op1"
REQUEST = verify.ProofRequest("compute1", "compute1", "op1", HELD, rebooted=True, heard={})


def maintained(cloud, boot="boot-2"):
    """The hosts of a cloud as they are read for the proof: compute1 is held, and Ceph was written from each."""
    cloud = cloud.change("api_services", {"host": "compute1"}, status="disabled", disabled_reason=HELD)
    rbd = facts.RbdFacts("library", "c1", "vms", [], [], [], client_address="10.0.9.1", written=True)
    for number, name in enumerate(sorted(cloud.bundle.hosts), 1):
        given = {"boot_id": boot, "kernel_release": "6.1.0-18-amd64", "cpus": 8, "rbd": rbd}
        cloud = cloud.host(name, addresses=[builders.address(number)], **given)
    return cloud


def scene(boot="boot-2"):
    return maintained(builders.healthy(hosts=3, guests=1), boot)


def bundle_of(cloud):
    if cloud.bundle.links is not None:
        return cloud.bundle
    return dataclasses.replace(cloud.bundle, links=linked.healthy().bundle.links)


def before(cloud):
    return json.loads(json.dumps(verify.state_before(bundle_of(cloud), REQUEST)))


def proof(cloud, was=None, **changes):
    was = before(scene("boot-1")) if was is None else was
    return verify.unproven(bundle_of(cloud), dataclasses.replace(REQUEST, before=was, **changes))


def codes(checked):
    return {item.code for item in (*checked.findings, *checked.unchecked)}


def test_a_host_as_before_is_proven_with_all_records_read():
    checked = proof(scene())
    assert (checked.findings, checked.unchecked) == ((), ())


def test_a_next_start_that_nova_refuses_refuses():
    """Its nova-compute runs now; a compute_id of another node would end the next one."""
    other = [
        dataclasses.replace(row, uuid=builders.uid("other"))
        for row in scene().bundle.hosts["compute1"].compute_id_files
    ]
    checked = proof(scene().host("compute1", compute_id_files=other))
    assert ("SG716", "next start") in {(item.code, item.object.name) for item in checked.findings}


def test_a_next_start_that_destroys_a_guest_refuses():
    """A guest that was evacuated and still has its domain here is deleted by the next start."""
    cloud = scene().migrate(builders.guest(1, 1), "compute1", "compute2", "done", kind="evacuation")
    moved = cloud.change("instances", {"uuid": builders.guest(1, 1)}, host="compute2", node="compute2")
    assert {"SG113", "SG509"} & codes(proof(moved))


def test_an_evacuation_that_no_start_has_ended_refuses():
    assert "SG509" in codes(proof(scene().migrate(builders.guest(1, 1), "compute1", "compute2", "done", "evacuation")))
    ended = scene().migrate(builders.guest(1, 1), "compute1", "compute2", "completed", "evacuation")
    assert codes(proof(ended)) == set()


def test_a_migration_that_is_under_way_refuses_and_a_neighbours_does_not():
    assert "SG702" in codes(proof(scene().migrate(builders.guest(2, 1), "compute2", "compute1", "running")))
    assert codes(proof(scene().migrate(builders.guest(2, 1), "compute2", "compute3", "running"))) == set()


def test_a_host_that_is_not_mapped_refuses():
    assert "SG117" in codes(proof(scene().drop("host_mappings", {"host": "compute1"})))


@pytest.mark.parametrize(("code", "service"), [("SG201", None), ("SG202", 4711), ("SG203", 102)])
def test_a_wrong_link_of_the_hosts_own_record_refuses_and_a_neighbours_does_not(code, service):
    rows = linked.Linked(bundle_of(scene()))
    assert code in codes(proof(rows.row("compute_nodes", 201, service_id=service)))
    assert codes(proof(rows.row("compute_nodes", 203, service_id=service))) == set()


def test_a_mild_wrong_link_refuses_only_where_the_work_has_made_it():
    """One that was there before the work is the audit's."""
    rows = linked.Linked(bundle_of(scene())).row("compute_nodes", 201, service_id=None)
    was = {**before(scene("boot-1")), "links": [f"SG201 {builders.node(1)}"]}
    assert codes(proof(rows)) == {"SG201"} and codes(proof(rows, was)) == set()


def test_links_that_were_not_read_refuse():
    unread = dataclasses.replace(scene().bundle, links=None)
    checked = verify.unproven(unread, dataclasses.replace(REQUEST, before=before(scene("boot-1"))))
    assert codes(checked) == {"SG203"}


def waiting_for(host):
    broker = scene().bundle.databases.brokers[0]
    return scene().databases(brokers=[dataclasses.replace(broker, waiting=[facts.Queue(f"compute.{host}", 1, 0)])])


def test_requests_that_wait_for_the_host_refuse_and_a_neighbours_do_not():
    assert "SG329" in codes(proof(waiting_for("compute1")))
    assert codes(proof(waiting_for("compute2"))) == set()
    silent = dataclasses.replace(scene().bundle.databases.brokers[0], waiting=None, reason="no login")
    assert "SG329" in codes(proof(scene().databases(brokers=[silent]))), "unread is not: none"


def test_ceph_that_cannot_be_written_refuses():
    """The two states are told apart: it failed, and nobody tried."""
    rbd = scene().bundle.hosts["compute1"].rbd
    failed = dataclasses.replace(rbd, written=None, unread=[facts.Unread("written", "EROFS")])
    for state, given in (("EROFS", failed), ("not tried", dataclasses.replace(rbd, written=None))):
        (found,) = proof(scene().host("compute1", rbd=given)).findings
        assert (found.code, found.evidence["reason"]) == ("SG717", [state])


@pytest.mark.parametrize(
    ("entry", "refuses"),
    [
        (f"{builders.address(1)}:0/0", True),
        ("10.0.9.1:0/0", True),
        # A client that is gone, of the same address; a neighbour; an address that begins alike.
        ("10.0.9.1:0/123", False),
        (f"{builders.address(2)}:0/0", False),
        ("10.0.9.11:0/0", False),
    ],
)
def test_an_entry_of_the_blocklist_for_an_address_of_the_host_refuses(entry, refuses):
    rbd = scene().bundle.hosts["compute1"].rbd
    listed = dataclasses.replace(rbd, blocklist=[BlocklistEntry(entry, "2026-12-02T00:00:00")])
    assert (codes(proof(scene().host("compute1", rbd=listed))) == {"SG717"}) == refuses


CPU = "<cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor>{}</cpu>"


def with_cpu(cloud, *features):
    text = CPU.format("".join(f"<feature name='{name}'/>" for name in features))
    return cloud.host("compute1", offers=dataclasses.replace(builders.offers(), cpu=text))


@pytest.mark.parametrize(("now", "refuses"), [("ab", False), ("abc", False), ("a", True), ("", True)])
def test_a_cpu_with_fewer_features_refuses(now, refuses):
    was = before(with_cpu(scene("boot-1"), "a", "b"))
    conf = dataclasses.replace(scene().bundle.hosts["compute1"].nova_conf, virt_type="kvm")
    found = proof(with_cpu(scene(), *now).host("compute1", nova_conf=conf), was)
    assert (("SG718", "CPU") in {(item.code, item.object.name) for item in found.findings}) == refuses


def test_a_chassis_that_is_gone_refuses():
    fleet = with_ovn(ovn_fleet(), scope=[], switch_ports=None, port_bindings=[])
    was = before(maintained(fleet.cloud, "boot-1"))
    assert codes(proof(maintained(fleet.cloud), was)) == set()
    there = fleet.cloud.bundle.databases.ovn.chassis
    gone = with_ovn(fleet, chassis=[row for row in there if row.hostname != "compute1"])
    assert "SG318" in codes(proof(maintained(gone.cloud), was))


#: What may be wrong after the work, each with what makes it so and the code that says it. Each stands by itself.
WRONGS = {
    "SG716 memory": lambda cloud: cloud.host("compute1", memory=facts.Memory(1024, 1)),
    "SG716 CPUs": lambda cloud: cloud.host("compute1", cpus=2),
    "SG716 machine-id": lambda cloud: cloud.host("compute1", machine_id="0" * 32),
    "SG716 Open vSwitch agent": lambda cloud: cloud.change("agents", {"host": "compute1"}, alive=False),
    "SG717 Ceph": lambda cloud: cloud.host(
        "compute1", rbd=dataclasses.replace(cloud.bundle.hosts["compute1"].rbd, written=None)
    ),
    "SG718 kernel": lambda cloud: cloud.host("compute1", kernel_release="5.10.0-1-amd64"),
    "SG704 compute1": lambda cloud: cloud.change("api_services", {"host": "compute1"}, forced_down=True),
    "SG702 guest": lambda cloud: cloud.migrate(builders.guest(2, 1), "compute2", "compute1", "running"),
    "SG117 compute1": lambda cloud: cloud.drop("host_mappings", {"host": "compute1"}),
}


@pytest.mark.parametrize("seed", range(40))
def test_each_of_several_wrongs_is_told_and_nothing_else(seed):
    """All findings at once: what is wrong in one way does not hide another, and a host without any is proven."""
    draw = random.Random(seed)
    chosen = draw.sample(sorted(WRONGS), draw.randint(0, 4))
    cloud = scene()
    for name in chosen:
        cloud = WRONGS[name](cloud)
    # A neighbour that is wrong in the same ways says nothing about this host.
    if draw.random() < 0.5:
        cloud = cloud.change("agents", {"host": "compute2"}, alive=False).host("compute3", cpus=1)
    assert codes(proof(cloud)) == {name.split()[0] for name in chosen}
