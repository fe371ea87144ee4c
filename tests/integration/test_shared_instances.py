# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations of servers whose disks are files of a directory that two hosts share: unguarded first, then guarded."""

from __future__ import annotations

import contextlib
import json

import pytest
from labkit import evacuation, state, waiting
from labkit.deadhost import OTHER, SOURCE, boot, by_power, evacuate, evacuations, returned

pytestmark = pytest.mark.matrix("evacuation-shared", instances="shared")

PLACE, ETAB = "/var/lib/nova/instances", "/var/lib/nfs/etab"


@pytest.fixture(scope="module")
def signing(whole):
    """Both hosts sign in the directory every 20 seconds, instead of every 40 minutes."""
    lab = whole
    section = r"printf '\n[image_cache]\nmanager_interval = 20\n' >>/etc/nova/nova.conf"
    for host in (SOURCE, OTHER):
        has = "grep -q manager_interval /etc/nova/nova.conf"
        lab.ssh(host, f"{has} || {{ {section}; systemctl restart nova-compute; }}")
    return lab


@pytest.fixture
def share(clean, signing):
    """Both hosts let others mount the directory: so the bind mount of a local file system stands for a share."""
    lab = clean
    for host in (SOURCE, OTHER):
        lab.ssh(host, f"mkdir -p $(dirname {ETAB}); printf '{PLACE}\\t*(rw,sync)\\n' >{ETAB}")
    waiting.until("both hosts have signed", lambda: {SOURCE, OTHER} <= set(signed(lab)) or None, 180, 3)
    yield lab
    for host in (SOURCE, OTHER):
        lab.ssh(host, f"rm -f {ETAB}", check=False)


def signed(lab):
    return json.loads(lab.ssh(OTHER, f"cat {PLACE}/compute_nodes", check=False) or "{}")


def inode(lab, server, host=OTHER):
    return lab.ssh(host, f"stat -c %i {PLACE}/{server}/disk", check=False).strip()


def mark(lab, server):
    """Write into the disk of a server that does not run, and return its inode."""
    lab.ssh(OTHER, f"qemu-io -c 'write -P 0x5a 12M 512' {PLACE}/{server}/disk")
    return inode(lab, server)


def marked(lab, server):
    said = lab.ssh(OTHER, f"qemu-io -U -r -c 'read -P 0x5a 12M 512' {PLACE}/{server}/disk", check=False)
    return "read 512/512" in said and "failed" not in said


def where(lab, server):
    found = lab.server(server)
    return found["status"], found["OS-EXT-SRV-ATTR:host"]


def codes_of(result, uuid):
    return {item["code"] for item in result.report["findings"] if item["object"]["id"] == uuid}


def one(lab, name, *words):
    return next(iter(boot(lab, name, 1, *words).values()))


def test_unguarded_nova_starts_from_the_disk_that_is_there_and_a_failed_spawn_keeps_it(share):
    lab = share
    server, big = one(lab, "good"), one(lab, "big", "--flavor", "big")
    with evacuation.no_memory(lab, OTHER):
        evacuation.kill(lab, SOURCE)
        before = {uuid: mark(lab, uuid) for uuid in (server, big)}
        waiting.until("the scheduler takes the host", lambda: not evacuation.shunned(lab) or None, 120, 2)
        assert evacuation.evacuate_unguarded(lab, big, OTHER)["status"] == "ERROR"
    assert evacuations(lab, big) == ["failed"]
    assert evacuation.evacuate_unguarded(lab, server, OTHER)["status"] == "ACTIVE"
    assert {uuid: inode(lab, uuid) for uuid in (server, big)} == before
    assert marked(lab, server)
    assert marked(lab, big)


def test_unguarded_a_directory_that_is_not_shared_is_started_from_as_well(share):
    """An old disk: why the directory's existence is no proof."""
    lab = share
    server = one(lab, "old")
    evacuation.kill(lab, SOURCE)
    mark(lab, server)
    with fallen_away(lab, server):
        assert evacuation.evacuate_unguarded(lab, server, OTHER)["status"] == "ACTIVE"
        assert not marked(lab, server)
        lab.ssh(OTHER, f"virsh destroy {server}")
    assert marked(lab, server)


@contextlib.contextmanager
def fallen_away(lab, server):
    """The share is not mounted on the second host, and below its mount point is an old disk of the server."""
    old = f"/root/old/{server}"
    copy = f"mkdir -p {old}; cp -a {PLACE}/_base {PLACE}/compute_nodes /root/old/; cp -a {PLACE}/{server}/. {old}/"
    lab.ssh(OTHER, f"{copy}; qemu-io -c 'write -P 0x11 12M 512' {old}/disk; mount --bind /root/old {PLACE}")
    try:
        yield
    finally:
        lab.ssh(OTHER, f"umount -l {PLACE}; rm -rf /root/old")


# --- refused --------------------------------------------------------------------------------------------------


def test_what_is_not_proven_or_not_covered_is_refused(share, playbooks):
    """The share is not mounted, with a fresh signature and an old disk below it; a fence that covers no file."""
    lab = share
    server = one(lab, "kept")
    evacuation.kill(lab, SOURCE)
    inode_before = mark(lab, server)
    before = state.databases(lab)
    lab.ssh(OTHER, f"mv {ETAB} {ETAB}.away")
    with fallen_away(lab, server):
        result = evacuate(playbooks, fence="power", variables=by_power(lab)).failed()
        # The old disk is told beside it, and what stands against all hosts has the code of neither.
        assert codes_of(result, server) == {"SG512"}
    lab.ssh(OTHER, f"mv {ETAB}.away {ETAB}")
    assert codes_of(evacuate(playbooks, fence="blocklist").failed(), server) == {"SG506", "SG513"}
    word = [{"code": "SG506", "object": SOURCE, "reason": "I pulled the plug"}]
    attested = evacuate(playbooks, fence="attested", variables={"stackguard_overrides": word}).failed()
    assert "SG513" in codes_of(attested, server)
    state.assert_same(before, state.databases(lab), "a refused run changed something")
    assert inode(lab, server) == inode_before


# --- evacuated ------------------------------------------------------------------------------------------------


def test_servers_on_a_shared_directory_go_with_their_disks(share, playbooks):
    lab = share
    server, swap, stopped = one(lab, "plain"), one(lab, "swap", "--swap", "64"), one(lab, "off", "--stopped")
    servers = (server, swap, stopped)
    evacuation.kill(lab, SOURCE)
    before = {uuid: mark(lab, uuid) for uuid in servers}
    evacuate(playbooks, fence="power", variables=by_power(lab), flags=["--check"]).ok()
    result = evacuate(playbooks, fence="power", variables=by_power(lab)).ok()
    assert {entry["state"] for entry in result.stats["landed"]} == {"verified"}
    assert [where(lab, uuid) for uuid in servers] == [("ACTIVE", OTHER), ("ACTIVE", OTHER), ("SHUTOFF", OTHER)]
    assert {uuid: inode(lab, uuid) for uuid in servers} == before
    # The dead host starts, and finds domains that it must not take for its own.
    returned(lab, playbooks)
    assert {uuid: inode(lab, uuid) for uuid in servers} == before
    assert all(marked(lab, uuid) for uuid in servers)


def test_a_failed_spawn_keeps_the_disk_and_the_next_try_starts_it(share, playbooks):
    lab = share
    big = one(lab, "big", "--flavor", "big")
    word = [{"code": "SG501", "object": big, "reason": "the test wants to see it"}]
    options = {**by_power(lab), "stackguard_overrides": word}
    with evacuation.no_memory(lab, OTHER):
        evacuation.kill(lab, SOURCE)
        before = mark(lab, big)
        evacuate(playbooks, fence="power", variables=options).failed()
    assert evacuations(lab, big)[-1:] == ["failed"]
    assert (inode(lab, big), marked(lab, big)) == (before, True)
    waiting.until("the scheduler takes the host", lambda: not evacuation.shunned(lab) or None, 120, 2)
    evacuate(playbooks, fence="power", variables=options).ok()
    assert where(lab, big) == ("ACTIVE", OTHER)
    assert (inode(lab, big), marked(lab, big)) == (before, True)
