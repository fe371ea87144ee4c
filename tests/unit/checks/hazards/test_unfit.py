# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG523: what a guest needs of a host, row by row of the table, for a live move and for a new definition."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import unfit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import gather
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import uid

ROWS = {row.what: row for row in unfit.TABLE}
MACHINE, SECRET, CPU, USER = "machine type", "Ceph secret", "CPU", "Ceph user"
BINDINGS = "port bindings"
DIRECTORY = "directory of the server in instances_path"
FIRMWARE, UUID, DEVICES = "UEFI firmware", "libvirt host uuid", "other devices of the host"


def fleet():
    return builders.healthy(hosts=3, guests=1)


def there(cloud, **changes):
    """compute3, which is to take the guest, with other offers of libvirt."""
    return cloud.host("compute3", offers=dataclasses.replace(builders.offers(), **changes))


def guest(live=True, stored=None, machine="pc-q35-7.2", **changes):
    domain = dataclasses.replace(builders.domain(1, 1), machine_type=machine, ties=builders.ties(**changes))
    return unfit.needs(domain, "compute1", live, stored)


def against(cloud, needed, results=(), able=False):
    """Row to whether what it says is certain, a fact, or unknown."""
    judge = unfit.Judge(cloud.bundle, results, able)
    found = judge.objections(needed, "compute3")
    kinds = {row.what: "certain" if entry.certain else "unknown" if entry.unknown else "said" for row, entry in found}
    assert len(judge.reasons(needed, "compute3")) == len(found) - len(judge.probes)
    return kinds


@pytest.mark.parametrize("live", [True, False])
def test_hosts_that_are_alike_take_each_others_guests(live):
    assert against(fleet(), guest(live)) == {}


def test_a_machine_type_that_the_destination_lacks():
    old = fleet()
    assert against(old, guest(machine="pc-i440fx-2.8")) == {MACHINE: "certain"}
    # Nova writes what it has stored, whatever the domain has now.
    assert against(old, guest(live=False, stored="pc", machine="pc-i440fx-2.8")) == {}
    assert against(old, guest(live=False, stored="pc-i440fx-2.8")) == {MACHINE: "certain"}
    assert against(old, guest(live=False, machine="pc-i440fx-2.8")) == {MACHINE: "unknown"}
    assert against(there(old, machines=None), guest()) == {MACHINE: "unknown"}
    assert against(there(old, machines={"aarch64": ["virt"]}), guest()) == {MACHINE: "certain"}


def test_a_guest_that_was_not_read():
    assert set(against(fleet(), unfit.needs(None, "compute1", True))) == {MACHINE, SECRET}
    # A dead host cannot be read: what Nova has stored decides, and what is not known bars nobody.
    assert against(fleet(), unfit.needs(None, "compute1", False)) == {}
    assert against(fleet(), unfit.needs(None, "compute1", False, "pc-i440fx-2.8")) == {MACHINE: "certain"}


def test_a_secret_that_the_destination_lacks():
    missing, other = there(fleet(), secrets=[]), facts.CephAuth(uid("cinder"), "cinder", True)
    assert against(missing, guest()) == {SECRET: "certain"}
    assert against(missing, guest(False)) == {SECRET: "certain"}, "its own nova.conf names it"
    assert against(fleet(), guest(ceph=[other])) == {SECRET: "certain"}
    assert against(fleet(), guest(False, ceph=[other])) == {SECRET: "certain"}, "Cinder names it again"
    mine = dataclasses.replace(other, volume=False)
    assert against(fleet(), guest(False, ceph=[mine])) == {}, "a new definition has the destination's own"
    assert against(there(fleet(), secrets=None), guest()) == {SECRET: "unknown"}
    assert against(there(fleet(), secrets=[uid("secret").upper()]), guest()) == {}
    conf = dataclasses.replace(fleet().bundle.hosts["compute3"].nova_conf, rbd_secret_uuid=None)
    assert against(missing.host("compute3", nova_conf=conf), guest(False)) == {}


def test_a_secret_that_is_another_users():
    ceph = [facts.CephAuth(uid("secret"), "admin", False)]
    assert against(fleet(), guest(ceph=ceph)) == {USER: "said"}
    assert against(fleet(), guest(False, ceph=ceph)) == {}


def other_cpu():
    return there(fleet(), cpu="<cpu><model>Opteron</model></cpu>")


def answer(digest=None, **said):
    return {"digest": digest or uid("cpu"), "dest": "compute3", **said}


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ([], {CPU: "unknown"}),
        ([answer(result="identical")], {}),
        ([answer(result="superset")], {}),
        ([answer(result="incompatible")], {CPU: "said"}),
        ([answer(error="internal error")], {CPU: "unknown"}),
        ([answer(untried="unreachable")], {CPU: "unknown"}),
        ([{"source": "compute1", "dest": "compute3", "error": None}], {CPU: "unknown"}),
    ],
)
def test_cpus_are_compared_by_libvirt_on_the_destination(results, found):
    assert against(other_cpu(), guest(), results) == found
    assert against(other_cpu(), guest(False), results) == {}, "a new definition has a CPU of the destination's"
    assert against(other_cpu(), guest(virt="qemu"), results) == {}, "QEMU emulates it"


def test_libvirt_is_asked_only_where_hosts_differ_and_somebody_asks_it():
    same = unfit.Judge(fleet().bundle, able=True)
    assert (same.reasons(guest(), "compute3"), dict(same.probes)) == ((), {})
    for cloud in (
        other_cpu(),
        there(fleet(), hypervisor="8.0.0"),
        fleet().part("libvirt", "compute3", version="8.0.0"),
    ):
        judge = unfit.Judge(cloud.bundle, able=True)
        assert judge.reasons(guest(), "compute3") == ()
        (probe,) = judge.probes
        cpu = "<cpu><model>EPYC</model></cpu>"
        assert (probe.on, probe.digest, probe.cpu, probe.virt) == ("compute3", uid("cpu"), cpu, "kvm")


def test_a_guest_with_the_cpu_of_its_host_is_compared_by_that_one():
    judge = unfit.Judge(other_cpu().bundle, able=True)
    judge.reasons(guest(cpu=None), "compute3")
    (probe,) = judge.probes
    digest = hashlib.sha256(probe.cpu.encode()).hexdigest()
    assert (probe.cpu, probe.digest) == ("<cpu><model>EPYC</model></cpu>", digest)
    assert against(other_cpu(), guest(cpu=None), [answer(digest, result="superset")]) == {}
    assert against(other_cpu().host("compute1", offers=None), guest(cpu=None)) == {CPU: "unknown"}


def test_firmware_that_the_destination_does_not_list():
    needed = guest(firmware="/usr/share/OVMF/OVMF_CODE.fd")
    assert against(fleet(), needed) == {FIRMWARE: "said"}
    assert against(there(fleet(), firmware=["/usr/share/OVMF/OVMF_CODE.fd"]), needed) == {}
    assert against(there(fleet(), firmware=None), needed) == {FIRMWARE: "unknown"}
    assert against(fleet(), dataclasses.replace(needed, live=False)) == {}


def test_equal_uuids_of_libvirt():
    uuid = fleet().bundle.hosts["compute1"].libvirt.host_uuid
    twin = fleet().part("libvirt", "compute3", host_uuid=uuid.upper())
    assert against(twin, guest()) == {UUID: "certain"}
    assert against(twin, guest(False)) == {}
    assert against(fleet().part("libvirt", "compute3", host_uuid=None), guest()) == {UUID: "unknown"}


def test_devices_of_the_host():
    assert against(fleet(), guest(devices=["hostdev usb"])) == {DEVICES: "said"}
    assert against(fleet(), guest(False, devices=["hostdev usb"])) == {}


def test_a_host_that_was_not_read_speaks_for_itself():
    assert against(fleet().unreachable("compute3", "timed out"), guest(machine="x")) == {}


def test_every_row_has_its_words_and_a_remedy():
    judged = [row for row in unfit.TABLE if row.judge]
    assert [row.what for row in judged] == [MACHINE, SECRET, DIRECTORY, CPU, USER, FIRMWARE, BINDINGS, UUID, DEVICES]
    # Of a directory each has its own.
    assert all(row.remedy for row in judged if row.what not in (DIRECTORY, BINDINGS))
    assert all(row.loss and row.live and row.cold for row in unfit.TABLE)
    assert len(ROWS) == len(unfit.TABLE)


# --- the audit


def survey(cloud, zones=None):
    found = unfit.Survey(cloud.bundle)
    for host in cloud.bundle.hosts.values():
        found.add(host)
    every = {name: ["az1"] for name in cloud.bundle.hosts}
    return gather(found.items(every if zones is None else zones))


def told(checked):
    return {item.object.id: item.severity for item in checked.findings}


def test_an_audit_of_hosts_that_are_alike():
    checked = survey(fleet())
    assert (checked.findings, checked.unchecked) == ((), ())


def test_an_audit_names_the_hosts_whose_guests_could_not_move():
    """R11."""
    domains = [dataclasses.replace(builders.domain(1, 1), machine_type="pc-i440fx-2.8")]
    old = {"x86_64": ["pc-i440fx-2.8", "pc-q35-7.2"]}
    cloud = fleet().host("compute1", domains=domains, offers=dataclasses.replace(builders.offers(), machines=old))
    (item,) = survey(cloud).findings
    assert (item.code, item.severity, item.object.id) == ("SG523", "warning", "compute1")
    ((_text, said),) = item.evidence.items()
    assert said == {"guests": ["guest1"], "hosts of the zone": ["compute2", "compute3"]}
    zones = {"compute1": ["az1"], "compute2": ["az2"], "compute3": ["az1"]}
    ((_text, said),) = survey(cloud, zones).findings[0].evidence.items()
    assert said["hosts of the zone"] == ["compute3"]


def test_an_audit_counts_guests_beyond_those_that_it_names():
    domains = [dataclasses.replace(builders.domain(1, number), machine_type="x") for number in range(1, 31)]
    (item,) = survey(fleet().host("compute1", domains=domains)).findings
    ((_text, said),) = item.evidence.items()
    assert (len(said["guests"]), said["guests"][-1]) == (21, "and 10 more")


def test_an_audit_tells_a_host_that_is_alone_with_its_cpu():
    assert told(survey(other_cpu())) == {"compute3": "info"}
    assert told(survey(there(fleet(), cpu=None))) == {}


def test_an_audit_does_not_judge_firmware_and_says_so():
    cloud = fleet()
    for host in list(cloud.bundle.hosts):
        cloud = cloud.host(host, offers=dataclasses.replace(builders.offers(), firmware=None))
    assert survey(cloud).unchecked == ()
    domains = [dataclasses.replace(builders.domain(1, 1), ties=builders.ties(firmware="/usr/share/OVMF/OVMF_CODE.fd"))]
    checked = survey(cloud.host("compute1", domains=domains))
    assert ([item.object for item in checked.unchecked], checked.findings) == (["all"], ())


def test_an_audit_without_what_it_needs_has_not_decided():
    assert [item.object for item in survey(fleet().host("compute3", offers=None)).unchecked] == ["compute3"]
    found = unfit.Survey(fleet().bundle)
    assert [item.object for item in gather(found.items(None)).unchecked] == ["all"]


# --- what an earlier move left there


def with_directory(*keeps, local=True, images="rbd"):
    """compute3 has a directory of the guest."""
    cloud = fleet()
    left = facts.LeftDirectory(builders.guest(1, 1), builders.guest(1, 1), 1, 2, list(keeps))
    conf = dataclasses.replace(cloud.bundle.hosts["compute3"].nova_conf, images_type=images)
    return cloud.host("compute3", instances_path=facts.InstancesPath("/i", "ext4", local, [left]), nova_conf=conf)


def sent(cloud, live=True, uuid=None):
    """What speaks against compute3 for the guest, or another one."""
    found = unfit.Judge(cloud.bundle).unfit(["compute2", "compute3"], guest(live), uuid or builders.guest(1, 1))
    return {host: [(reason.code, reason.certain) for reason in reasons] for host, reasons in found.items()}


def test_a_directory_of_the_server_bars_a_live_move_to_its_host():
    assert sent(with_directory()) == {"compute3": [("SG523", True)]}
    assert sent(with_directory(), uuid=builders.guest(2, 1)) == {}
    assert sent(with_directory(local=False)) == {}, "it is the server's own"


def test_an_old_disk_bars_a_new_definition_where_images_are_files():
    assert sent(with_directory("disk", images="qcow2"), live=False) == {"compute3": [("SG523", True)]}
    assert sent(with_directory("disk", images="rbd"), live=False) == {}
    assert sent(with_directory(images="qcow2"), live=False) == {}


@pytest.mark.parametrize(("live", "expected"), [(True, {"compute3": [("SG523", True)]}), (False, {})])
def test_an_inactive_binding_bars_a_live_move_to_its_host(live, expected):
    server = builders.guest(1, 1)
    judge = unfit.Judge(fleet().bundle, bindings={server: ["Compute3", "compute1"]})
    found = judge.unfit(["compute2", "compute3"], guest(live), server)
    assert {host: [(reason.code, reason.certain) for reason in reasons] for host, reasons in found.items()} == expected
    assert judge.unfit(["compute3"], guest(live), builders.guest(2, 1)) == {}
