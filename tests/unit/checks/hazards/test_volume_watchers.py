# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who has the servers' volumes open, in an audit: nobody, two, and what could not be looked at."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks
from ansible_collections.stackguard.nova.plugins.module_utils.capacity import ceph_readers
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, healthy
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder, volume

ONE, TWO = guest(1, 1), guest(2, 1)
VOLUME = "0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11"
MINE = volume(VOLUME, attachment(1, VOLUME, ONE))
SHARED = volume(VOLUME, attachment(1, VOLUME, ONE), attachment(2, VOLUME, TWO, host="compute2"), multiattach=True)
STRANGER = "192.0.2.99"
DENIED = facts.Unread("volumes volumes", "no access to the pool: [errno 13]")


def watched(*addresses, uuid=VOLUME):
    found = [facts.RbdWatcher(f"{one}:0/{number}", f"client.{number}") for number, one in enumerate(addresses)]
    return facts.RbdVolume("volumes", facts.RbdImage(f"volume-{uuid}", "1a", 1, [], found, []))


def disk(uuid=VOLUME, source=None, protocol="rbd"):
    return facts.DomainDisk("vda", source or f"volumes/volume-{uuid}", protocol, uuid)


SHOWN = disk()


def cloud(*volumes, storage=None, servers=(ONE,), on=None, unread=(), shown=SHOWN, **server):
    """Three hosts; the servers have the volume, and libvirt shows it. ``volumes``: what compute3 saw in Ceph."""
    some = on or healthy()
    for uuid in servers:
        for name, host in some.bundle.hosts.items():
            disks = [shown] if shown is not None else []
            domains = [dataclasses.replace(one, disks=disks) if one.uuid == uuid else one for one in host.domains]
            some = some.host(name, domains=domains)
    seen = list(volumes) if not unread else None
    rbd = facts.RbdFacts("library", "fsid", "vms", [], [], [], unread=list(unread), volumes=seen)
    bundle = some.host("compute3", rbd=rbd).bundle
    changes = {"volumes": [VOLUME], **server}
    listed = [dataclasses.replace(one, **changes) if one.id in servers else one for one in bundle.cloud.servers]
    storage = cinder(MINE) if storage is None else storage
    return dataclasses.replace(
        bundle, cloud=dataclasses.replace(bundle.cloud, servers=listed, block_storage=storage or None)
    )


def told(bundle):
    codes = ("SG507", "SG527")
    checked = checks.check(bundle)
    found = [(item.code, item.object.id) for item in checked.findings if item.code in codes]
    return found, [(item.code, item.object) for item in checked.unchecked if item.code in codes]


UNREAD = ([], [("SG507", "volumes"), ("SG527", "volumes")])


def test_a_volume_that_its_servers_host_has_open_is_right():
    assert told(cloud(watched(address(1)))) == ([], [])


@pytest.mark.parametrize("storage", [None, False])
def test_a_running_server_whose_volume_nobody_has_open(storage):
    assert told(cloud(watched(), storage=storage)) == ([("SG527", ONE)], [])


def test_a_guest_that_runs_without_its_volume():
    bundle = cloud(watched(), shown=None)
    (item,) = [item for item in checks.check(bundle).findings if item.code == "SG527"]
    assert (item.evidence["volumes"], item.evidence["in the guest's definition"]) == ([VOLUME], [])


@pytest.mark.parametrize("changes", [{"status": "SHUTOFF"}, {"task_state": "powering-off"}])
def test_a_server_that_does_not_run_needs_no_watcher(changes):
    assert told(cloud(watched(), **changes)) == ([], [])


def test_whether_a_server_on_a_host_that_was_not_read_runs_is_not_known():
    some = healthy().unreachable("compute1")
    found, undecided = told(cloud(watched(), on=some))
    assert (found, ("SG527", "servers") in undecided) == ([], True)


def test_two_hosts_with_one_volume():
    assert told(cloud(watched(address(1), address(2)))) == ([("SG507", f"volumes/volume-{VOLUME}")], [])
    assert told(cloud(watched(address(1), STRANGER))) == ([("SG507", f"volumes/volume-{VOLUME}")], [])


def test_two_servers_with_one_volume_explain_two_clients_and_no_third():
    both = {"servers": (ONE, TWO), "storage": cinder(SHARED)}
    assert told(cloud(watched(address(1), address(2)), **both)) == ([], [])
    assert told(cloud(watched(address(1), address(2), STRANGER), **both))[0] == [("SG507", f"volumes/volume-{VOLUME}")]


def test_another_consumers_attachment_explains_its_host_and_nothing_else():
    other = attachment(2, VOLUME, "nobody", host="compute2")
    shared = cinder(volume(VOLUME, attachment(1, VOLUME, ONE), other, multiattach=True))
    assert told(cloud(watched(address(1), address(2)), storage=shared)) == ([], [])
    assert told(cloud(watched(address(1), address(3)), storage=shared))[0]


def test_cinders_stale_name_of_a_host_explains_no_client():
    """A failed evacuation: Cinder has the volume connected to compute2, the server is on compute1."""
    stale = cinder(volume(VOLUME, attachment(1, VOLUME, ONE, host="compute2")))
    assert told(cloud(watched(address(1), address(2)), storage=stale))[0]


def test_a_move_and_an_act_of_cinder_may_explain_two_clients():
    moving = healthy().migrate(ONE, "compute1", "compute2", "running", "live-migration")
    here = f"volumes/volume-{VOLUME}"
    two = watched(address(1), address(2))
    assert told(cloud(two, on=moving)) == ([], [("SG507", here)])
    assert told(cloud(two, task_state="migrating")) == ([], [("SG507", here)])
    busy = cinder(dataclasses.replace(MINE, status="backing-up"))
    assert told(cloud(two, storage=busy)) == ([], [("SG507", here)])


def test_a_host_that_was_not_read_may_have_the_address():
    some = healthy().unreachable("compute2")
    bundle = cloud(watched(address(1), address(2)), servers=(ONE, TWO), storage=cinder(SHARED), on=some)
    found, undecided = told(bundle)
    assert (found, ("SG507", f"volumes/volume-{VOLUME}") in undecided) == ([], True)


def test_volumes_that_could_not_be_looked_at_are_one_line_each_code():
    """V4: Nova's Ceph user may not read Cinder's pool."""
    bundle = cloud(unread=[DENIED], servers=(ONE, TWO))
    assert told(bundle) == UNREAD
    (said,) = {item.reason for item in checks.check(bundle).unchecked if item.code == "SG527"}
    assert DENIED.reason in said
    assert told(cloud()) == UNREAD
    late = facts.RbdVolume("volumes", facts.RbdImage(f"volume-{VOLUME}", unread=[facts.Unread("image", "late")]))
    assert told(cloud(late)) == UNREAD
    assert told(cloud(storage=False)) == UNREAD


def test_volumes_that_are_not_in_ceph_are_not_missed():
    nfs = cinder(volume(VOLUME, attachment(1, VOLUME, ONE, driver="nfs"), protocol="nfs"))
    assert told(cloud(storage=nfs)) == ([], [])
    assert told(cloud(shown=disk(source="/dev/sdb", protocol=None), storage=False)) == ([], [])
    assert told(cloud(servers=())) == ([], [])


def test_a_volume_that_cinder_has_moved_has_another_name_in_ceph():
    new = "6f1d9b52-40f5-4d6c-8a59-0d35f9f0a1c3"
    row = dataclasses.replace(attachment(1, VOLUME, ONE), place=f"volumes/volume-{new}")
    assert told(cloud(watched(address(1), uuid=new), storage=cinder(volume(VOLUME, row)))) == ([], [])
    assert told(cloud(watched(uuid=new), shown=dataclasses.replace(disk(new), serial=VOLUME), storage=False))[0]


def test_without_the_servers_it_is_undecided():
    bundle = cloud(watched(address(1)))
    unlisted = dataclasses.replace(bundle, cloud=dataclasses.replace(bundle.cloud, servers=None))
    assert told(unlisted) == UNREAD
    assert told(dataclasses.replace(bundle, cloud=None)) == UNREAD


def test_one_reader_of_each_cluster_opens_the_volumes():
    bundle = cloud(on=healthy().host("compute1", rbd=facts.RbdFacts("library", "f", "vms", [], [], None)))
    found = ceph_readers.readers(bundle)
    assert ceph_readers.volume_pools(bundle, found) == {"compute1": ["volumes"], "compute3": ["volumes"]}
    same = cloud(on=healthy().host("compute1", rbd=facts.RbdFacts("library", "fsid", "ssd", [], [], None)))
    assert ceph_readers.volume_pools(same, ceph_readers.readers(same)) == {"compute1": ["volumes"]}
    # Where nobody keeps images in Ceph, one whose guests have such volumes.
    assert ceph_readers.volume_pools(bundle, []) == {"compute1": ["volumes"]}
    assert ceph_readers.volume_pools(bundle, [], {"compute1"}) == {}
    none = cloud(servers=())
    assert ceph_readers.volume_pools(none, ceph_readers.readers(none)) == {}
