# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers on volumes: who has a volume open is read or SG709, before the fence, after it, and after the landing. And
who opens a disk must be able to write it."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import guests
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import clients, storage
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import Attestation
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import FENCES
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder
from ansible_collections.stackguard.nova.tests.unit.cinders import volume as cinder_volume
from ansible_collections.stackguard.nova.tests.unit.evacuations import (
    FENCE,
    disks,
    image,
    lock,
    locked,
    scene,
    volume,
)

ONE, TWO = guest(1, 1), guest(1, 2)
DISK, OTHER = f"{ONE}_disk", f"{TWO}_disk"
OWN, HERE = f"{address(1)}:0/77", f"{address(3)}:0/5"
STRANGER = "10.99.4.99:0/7"
NO_ACCESS = facts.Unread("volumes volumes", "no access to the pool: [errno 1] RBD permission error")
DENIED = facts.CephRights(False, False, "osd blocklist: error 13: access denied")
PASSED = Override("SG709", ONE, "an NFS share, mounted nowhere else")
#: How a volume is out of sight.
UNSEEN = {
    "no access to its pool": {"volumes": None, "unread": [NO_ACCESS]},
    "in no pool that was read": {"volumes": []},
    "nobody was asked": {"volumes": None},
    "watchers unread": {
        "volumes": [facts.RbdVolume("volumes", dataclasses.replace(image("volume-v1"), watchers=None))]
    },
}


def on_volume(*found, **changes):
    """The first server boots from a volume, the second has its disk in Nova's pool."""
    some = scene().server(1, image="", volumes=["v1"])
    return some.images(locked(OTHER), **{"volumes": list(found), **changes})


def decide(some, fence="power", overrides=()):
    return evacuation.preflight(some.bundle, some.about, some.request, overrides, fence)


def told(some, code, fence="power"):
    return [item for item in decide(some, fence).checked.findings if item.code == code]


def refusing(some, fence="power", overrides=()):
    decision = decide(some, fence, overrides)
    return [
        (item.code, item.object.id) for item in evacuation.refusing(decision.checked, overrides, False, decision.guests)
    ]


def dead(some):
    return evacuation.death(some.bundle, some.about, some.request).findings


# --- before ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fence", sorted(FENCES))
@pytest.mark.parametrize("unseen", sorted(UNSEEN))
def test_a_volume_that_nobody_could_look_at_is_not_without_clients(fence, unseen):
    """V7: SG506's evidence said "watchers": 0, its override passed, and the server ran twice."""
    some = on_volume(**UNSEEN[unseen])
    (item,) = [item for item in told(some, "SG709", fence) if item.object.id == ONE]
    assert (item.object.kind, item.severity, set(item.evidence["volumes"])) == ("instance", "blocker", {"v1"})
    assert ("SG709", ONE) in refusing(some, fence)
    assert ("SG709", ONE) not in refusing(some, fence, [PASSED])


def test_a_volume_that_was_read_needs_no_word():
    assert refusing(on_volume(volume("v1"))) == []
    assert dead(on_volume(volume("v1")).asked(fence=FENCE)) == ()


@pytest.mark.parametrize("unseen", sorted(UNSEEN))
def test_after_the_fence_a_volume_must_be_read_as_well(unseen):
    some = on_volume(**UNSEEN[unseen]).asked(fence=FENCE)
    assert [(item.code, item.object.id) for item in dead(some)] == [("SG709", ONE)]
    word = Attestation("compute1", "Ada", "I pulled its plug")
    assert ("SG709", ONE) in [(item.code, item.object.id) for item in dead(some.asked(fence=word))]


@pytest.mark.parametrize("unseen", sorted(UNSEEN))
def test_no_evidence_counts_the_watchers_of_what_was_not_read(unseen):
    for some in (on_volume(**UNSEEN[unseen]), unread(), bare()):
        for item in decide(some.asked(fence=None), None).checked.findings + dead(some.asked(fence=None)):
            assert item.evidence.get("watchers") != 0, item
    read = on_volume(volume("v1"))
    (item,) = [item for item in dead(read) if item.code == "SG506"]
    assert item.evidence["watchers"] == 0


def unread():
    return scene().images(dataclasses.replace(image(DISK), watchers=None), image(OTHER))


def bare():
    """Nobody looked into Ceph at all."""
    some = scene()
    return some.at(2, rbd=None).at(3, rbd=None)


def test_the_cause_is_in_the_evidence_where_the_pool_may_not_be_read():
    """V4: the run "did not find the disk"; that it was not allowed to look was in the facts."""
    some = on_volume(volumes=None, unread=[NO_ACCESS])
    (item,) = [item for item in told(some, "SG709") if item.object.id == ONE]
    assert "no access to the pool" in item.evidence["volumes"]["v1"]
    (item,) = [item for item in told(some, "SG506", "blocklist") if item.object.id == ONE]
    assert "no access to the pool" in item.evidence["not covered"]
    # Another host of the cluster could look: then it is not the cause.
    seen = some.at(3, rbd=disks(locked(OTHER), volumes=[]))
    (item,) = [item for item in told(seen, "SG709") if item.object.id == ONE]
    assert "no access" not in item.evidence["volumes"]["v1"]


def test_a_volume_that_libvirt_shows_outside_ceph_is_known_to_be_there():
    some = scene(alive=True).server(1, image="", volumes=["v1"]).images(locked(OTHER), volumes=[])
    (first, *rest) = some.bundle.hosts["compute1"].domains
    for source, protocol, codes in (
        ("/var/lib/nova/mnt/5f3a/volume-v1", None, set()),
        # The kernel may have mapped it.
        ("/dev/rbd/volumes/volume-v1", None, {"SG709"}),
        ("volumes/volume-v1", "rbd", {"SG709"}),
    ):
        disk = facts.DomainDisk("vda", source, protocol, "v1")
        off = [dataclasses.replace(row, state="shutoff", disks=[disk]) for row in (first, *rest) if row.uuid == ONE]
        found = told(some.at(1, domains=off, qemu_processes={}), "SG709")
        assert {item.code for item in found if item.object.id == ONE} == codes


def test_a_server_on_volumes_of_which_nova_shows_none_is_undecided():
    some = scene(guests=1).server(1, image="").images()
    assert [(item.code, item.object) for item in decide(some).checked.unchecked] == [("SG709", ONE)]


# --- others' clients ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", [HERE, STRANGER])
def test_a_second_client_of_a_volume_keeps_its_own_server_and_nobody_is_told_to_end_it(client):
    """V1: the healthy member of a cluster was to be destroyed, and the whole host stayed."""
    some = on_volume(volume("v1", [client]))
    decision = decide(some)
    (item,) = told(some, "SG507")
    assert "virsh destroy" not in item.remedy and "stop the" not in item.remedy
    assert "openstack volume show v1" in item.remedy
    assert list(decision.barred) == [ONE]
    assert evacuation.refusing(decision.checked, (), False, decision.guests) == []
    assert {entry.uuid for entry in decision.assignments.assigned} >= {TWO}


def test_the_domain_that_has_the_volume_too_is_named():
    some = on_volume(volume("v1", [HERE]))
    (domain,) = some.bundle.hosts["compute3"].domains[:1]
    disk = facts.DomainDisk("vdb", "volumes/volume-v1", "rbd", "v1")
    with_volume = some.at(3, domains=[dataclasses.replace(domain, disks=[*domain.disks, disk])])
    (item,) = told(with_volume, "SG507")
    assert item.evidence["domains with the volume"] == [["compute3", domain.uuid]]


def test_an_image_of_novas_is_one_servers_and_its_second_qemu_is_to_be_ended():
    (item,) = told(scene().images(image(DISK, [HERE]), image(OTHER)), "SG507")
    assert "virsh destroy" in item.remedy


def test_two_servers_of_the_dead_host_may_share_a_volume():
    some = on_volume(volume("v1", [OWN, f"{address(1)}:0/78"])).server(2, volumes=["v1"])
    assert told(some, "SG507") == []
    assert len(told(on_volume(volume("v1", [OWN, f"{address(1)}:0/78"])), "SG507")) == 1


# --- after the landing ----------------------------------------------------------------------------------------


def arrived(*found, disk=("volumes/volume-v1", "rbd"), state="running", **changes):
    """The server is on compute3, with its volume."""
    some = scene().images(locked(OTHER), **{"volumes": list(found), **changes})
    shown = facts.DomainDisk("vda", disk[0], disk[1], "v1")
    base = some.bundle.hosts["compute2"].domains[0]
    return some.at(3, domains=[dataclasses.replace(base, uuid=ONE, name="instance-1", state=state, disks=[shown])])


def landing(some, running=True, **before):
    given = {"volumes": ("v1",), **before}
    return list(storage.landed(some.bundle, storage.DisksBefore(ONE, {}, **given), "compute3", running))


def codes(items):
    return [(type(item).__name__, item.code) for item in items]


def test_a_volume_that_its_new_host_alone_has_open_has_landed():
    assert landing(arrived(volume("v1", [HERE]))) == []
    assert landing(arrived(volume("v1"), state="shutoff"), running=False) == []


@pytest.mark.parametrize("client", [OWN, STRANGER, f"{address(2)}:0/1", f"{address(3)}:0/6"])
def test_two_clients_of_a_volume_after_the_landing_are_no_verified_server(client):
    """V8: "state": "verified" with two watchers on the root volume."""
    (item,) = landing(arrived(volume("v1", [HERE, client])))
    assert (item.code, item.severity, item.object.id, item.object.name) == (
        "SG507",
        "blocker",
        "volumes/volume-v1",
        ONE,
    )
    assert "virsh destroy" not in item.remedy
    assert codes(landing(arrived(volume("v1", [client]), state="shutoff"), running=False)) == [("Finding", "SG507")]


def test_a_volume_that_its_server_does_not_have_open_is_told():
    assert codes(landing(arrived(volume("v1")))) == [("Finding", "SG109")]
    assert codes(landing(arrived(volume("v1", [OWN])))) == [("Finding", "SG507")]


@pytest.mark.parametrize("unseen", sorted(UNSEEN))
def test_a_volume_that_was_not_read_after_the_landing_is_not_verified(unseen):
    (item,) = landing(arrived(**UNSEEN[unseen]))
    assert (item.code, item.object.id, set(item.evidence["volumes"])) == ("SG709", ONE, {"v1"})


def test_where_no_host_keeps_images_in_ceph_servers_on_volumes_end_green():
    """V10: both ran and were right, and the run ended with exit status 2."""
    nfs = arrived(disk=("/var/lib/nova/mnt/5f3a/volume-v1", None)).at(2, rbd=None).at(3, rbd=None)
    assert landing(nfs) == []
    # Cinder's pool, which a host with local disks can read.
    cinders = disks(pool="volumes", volumes=[volume("v1", [HERE])], client_address=address(3))
    ceph = arrived().at(2, rbd=cinders).at(3, rbd=cinders)
    assert landing(ceph) == []
    assert codes(landing(arrived().at(2, rbd=None).at(3, rbd=None))) == [("Finding", "SG709")]
    # A server with an image of its own: nobody looked.
    (item,) = [
        item
        for item in storage.landed(nfs.bundle, storage.DisksBefore(ONE, {DISK: "1"}), "compute3", True)
        if item.code == "SG709"
    ]
    assert item.object.id == ONE


def test_another_server_of_the_evacuation_may_have_landed_with_the_same_volume():
    both = arrived(volume("v1", [HERE, f"{address(2)}:0/1"]))
    base = both.bundle.hosts["compute3"].domains[0]
    some = both.at(2, domains=[dataclasses.replace(base, uuid=TWO, name="instance-2")])
    assert landing(some, shared={"v1": frozenset({TWO})}) == []
    assert codes(landing(some)) == [("Finding", "SG507")]
    assert codes(landing(both, shared={"v1": frozenset({TWO})})) == [("Finding", "SG507")], "it is not there"


# --- can it write? --------------------------------------------------------------------------------------------


def denied(some, numbers=(2, 3), **changes):
    for number in numbers:
        rbd = some.bundle.hosts[f"compute{number}"].rbd
        some = some.at(number, rbd=dataclasses.replace(rbd, **{"rights": DENIED, **changes}))
    return some


@pytest.mark.parametrize("fence", sorted(FENCES))
def test_a_user_that_may_not_break_a_dead_clients_lock_is_told_before_any_fence(fence):
    """B03: fenced by power, both servers assigned, no finding; their disks could not be written."""
    some = denied(scene().images(locked(DISK), locked(OTHER)))
    (item,) = told(some, "SG518", fence)
    assert item.severity == "blocker"
    assert "ceph auth caps client." in item.remedy and "profile rbd" in item.remedy
    assert [code for code, _object in refusing(some, fence)].count("SG518") == 1
    assert told(scene().images(locked(DISK), locked(OTHER)), "SG518", fence) == []


def test_one_reader_answers_for_all_hosts_of_its_user():
    assert told(denied(scene().images(locked(DISK), locked(OTHER)), [2]), "SG518") == []
    assert told(denied(scene().images(locked(DISK), locked(OTHER)), [2], rights=None), "SG518") == []


def test_a_user_of_the_operators_says_nothing_of_what_nova_may():
    """stackguard_ceph_user: QEMU opens images as the user in nova.conf. The other breaks the locks for its guards."""
    some = denied(scene().images(locked(DISK), locked(OTHER)), rights=facts.CephRights(True, True), nova_rights=DENIED)
    for fence in ("power", "blocklist"):
        (item,) = told(some, "SG518", fence)
        assert item.severity == "warning"
    # Who may not break them either makes no guard.
    neither = denied(scene().images(locked(DISK), locked(OTHER)), nova_rights=DENIED)
    assert [item.severity for item in told(neither, "SG518")] == ["blocker"]


def test_rights_that_nobody_could_ask_for_are_undecided():
    some = denied(scene().images(locked(DISK), locked(OTHER)), rights=facts.CephRights(reason="timed out"))
    assert "SG518" in [item.code for item in decide(some).checked.unchecked]
    assert told(some, "SG518") == []


def test_images_that_nobody_locks_need_no_right():
    images = [image(DISK, exclusive_lock=False), image(OTHER, exclusive_lock=False)]
    assert told(denied(scene().images(*images)), "SG518") == []


def test_of_volumes_the_user_may_be_another_one_and_it_is_a_warning():
    some = scene(guests=1).server(1, image="", volumes=["v1"])
    seen = some.images(pool="volumes", volumes=[volume("v1", locks=[lock(1)])])
    (item,) = told(denied(seen), "SG518")
    assert item.severity == "warning"


def test_after_the_landing_a_dead_clients_lock_is_undecided_and_never_a_failure():
    """The disk opens, and every write waits; or the guest has not written yet."""
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}"})
    for locks, undecided in (
        ([], []),
        ([lock(3)], []),
        ([lock(1)], ["SG518"]),
        (None, ["SG518"]),
    ):
        some = arrived().images(image(DISK, [HERE], locks=locks), volumes=[], on=(2, 3))
        found = list(storage.landed(some.bundle, before, "compute3", True))
        assert codes(found) == [("Unchecked", code) for code in undecided], locks
        some = arrived(volume("v1", [HERE], locks=locks))
        assert codes(landing(some)) == [("Unchecked", code) for code in undecided], locks
    without = arrived().images(image(DISK, [HERE], locks=[lock(1)], exclusive_lock=False), volumes=[])
    assert list(storage.landed(without.bundle, before, "compute3", True)) == []


def test_the_age_of_a_dead_clients_lock_is_said():
    some = arrived(volume("v1", [HERE], locks=[lock(1)]))
    before = storage.DisksBefore(ONE, {}, volumes=("v1",))
    since = "2026-11-20T00:00:00+00:00"
    (item,) = storage.landed(some.bundle, before, "compute3", True, since)
    read_at = some.bundle.hosts["compute3"].read_at
    assert f"{storage.fence_proof.seconds_between(since, read_at):.0f} s" in item.reason


def test_disks_are_gathered_with_what_was_not_read():
    leaving = guests(on_volume().bundle, on_volume().about, on_volume().request)
    found = clients.disks(on_volume(volumes=None, unread=[NO_ACCESS]).bundle, leaving)
    assert found.volume_unread("v1") and not clients.disks(on_volume(volume("v1")).bundle, leaving).volume_unread("v1")
    assert findings.CATALOGUE["SG709"].absolute is False


# --- what Cinder says -----------------------------------------------------------------------------------------


def by_cinder(*volumes, some=None, **changes):
    """The first server boots from v1, which is in Ceph and open on its host, if nothing else is said."""
    some = on_volume(volume("v1", [OWN])) if some is None else some
    return some.having(some.cloud.cloud(block_storage=cinder(*volumes, whole=False, **changes)))


def shared(*rows, watchers=(), multiattach=True, sharers=None):
    """V1: v1 is multi-attached; TWO of another host has it, too."""
    some = on_volume(volume("v1", [OWN, *watchers]))
    held = cinder_volume("v1", attachment(1, "v1", ONE), *rows, multiattach=multiattach)
    return by_cinder(held, some=some, sharers=sharers or {})


AT_TWO = attachment(2, "v1", "member", "compute2")
THERE = f"{address(2)}:0/9"


def of_clients(some, fence="power"):
    return [(item.code, item.object.name) for item in decide(some, fence).checked.findings if item.code == "SG507"]


def test_a_healthy_member_on_another_host_is_no_second_writer():
    """V1: SG507, absolute, for the whole host; its remedy was to kill the healthy member."""
    some = shared(AT_TWO, watchers=[THERE], sharers={"member": "compute2"})
    assert (of_clients(some), refusing(some)) == ([], [])


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        # Nobody has it attached there; the server that has is on another host; the volume is not one of several.
        ((), {}),
        ((AT_TWO,), {"sharers": {"member": "compute3"}}),
        ((AT_TWO,), {"sharers": {"member": None}}),
        ((dataclasses.replace(AT_TWO, status="reserved"),), {"sharers": {"member": "compute2"}}),
        ((AT_TWO,), {"sharers": {"member": "compute2"}, "multiattach": False}),
    ],
)
def test_a_watcher_that_no_attachment_explains_keeps_its_server_only(rows, more):
    some = shared(*rows, watchers=[THERE], **more)
    assert of_clients(some) == [("SG507", ONE)]
    decision = decide(some)
    assert set(decision.barred) == {ONE}
    assert evacuation.refusing(decision.checked, (), False, decision.guests) == []


@pytest.mark.parametrize("driver", ["nfs", "iscsi", "local"])
def test_a_volume_outside_ceph_has_no_watchers_to_read_and_no_blocklist_covers_it(driver):
    some = on_volume(volumes=None)
    held = cinder_volume("v1", attachment(1, "v1", ONE, driver=driver), protocol=None)
    some = by_cinder(held, some=some)
    assert refusing(some, "power") == refusing(some, "command") == []
    assert ("SG506", ONE) in refusing(some, "blocklist")
    # A person's word proves nothing off, and there are no watchers that could contradict it.
    assert ("SG709", ONE) in refusing(some, "attested")
    (item,) = [item for item in told(some, "SG506", "attested") if item.object.kind == "host"]
    assert item.evidence["watchers"] is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"status": "detaching"}, "SG526"),
        ({"status": "error"}, "SG526"),
        ({"backend": "compute1@lvm#lvm"}, "SG526"),
    ],
)
def test_what_cinder_would_refuse_is_a_blocker_of_its_server(change, code):
    held = dataclasses.replace(cinder_volume("v1", attachment(1, "v1", ONE)), **change)
    some = by_cinder(held)
    assert (code, ONE) in refusing(some)
    assert refusing(some, overrides=[Override(code, ONE, "seen to")]) == []
    assert refusing(by_cinder(cinder_volume("v1", attachment(1, "v1", ONE)))) == []


def test_what_an_evacuation_that_failed_left_is_told_and_keeps_nobody():
    """V3: its volume is connected to compute2, where its start failed."""
    held = cinder_volume("v1", attachment(1, "v1", ONE, "compute2"))
    some = by_cinder(held)
    assert [(item.object.id, item.severity) for item in told(some, "SG524")] == [(ONE, "warning")]
    assert refusing(some) == []
    killed = cinder_volume("v1", attachment(1, "v1", ONE, None, "reserved"), status="reserved")
    assert refusing(by_cinder(killed)) == []


def test_a_volume_of_another_zone_is_told():
    def zoned(zone):
        some = by_cinder(cinder_volume("v1", attachment(1, "v1", ONE), zone=zone))
        return told(some.told(aggregates=some.cloud.rows("aggregates")), "SG405")

    assert [item.object.id for item in zoned("az2")] == [ONE]
    assert zoned("az1") == zoned("nova") == []


def test_a_cinder_that_was_not_read_is_undecided():
    for some in (on_volume(volume("v1", [OWN])), by_cinder(), by_cinder(services=None)):
        undecided = [(item.code, item.object) for item in decide(some).checked.unchecked]
        assert ("SG526", ONE) in undecided
