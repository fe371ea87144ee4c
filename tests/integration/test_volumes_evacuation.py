# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations of servers that boot from volumes, on each back end: unguarded first, then guarded."""

from __future__ import annotations

import json

import pytest
from labkit import evacuation, state, waiting
from labkit import guests as guestkit
from labkit.deadhost import (
    OTHER,
    SOURCE,
    boot,
    by_power,
    come_back,
    evacuate,
    evacuations,
    returned,
    stopped_compute,
)
from labkit.volumes import BLIND, KINDS, READER, booted, may_read

pytestmark = pytest.mark.matrix("volumes-evacuation", cinder="ceph,nfs,san")


def root_of(volumes, server):
    return volumes.of(server)[0]


def where(lab, server):
    found = lab.server(server)
    return found["status"], found["OS-EXT-SRV-ATTR:host"]


def codes_of(result, uuid):
    return {
        item["code"] for item in result.report["findings"] if uuid in (item["object"]["id"], item["object"]["name"])
    }


# --- two writers ----------------------------------------------------------------------------------------------


def test_unguarded_a_host_that_lives_ends_in_two_writers_of_a_volume(readable, volumes):
    lab = readable
    server = booted(lab, "ceph")["ceph"]
    with stopped_compute(lab, SOURCE):
        evacuation.wait_down(lab, SOURCE)
        assert evacuation.evacuate_unguarded(lab, server, OTHER)["status"] == "ACTIVE"
        assert len(volumes.watchers(root_of(volumes, server))) == 2
        lab.ssh(SOURCE, f"virsh destroy {server}")


@pytest.mark.parametrize(("osd", "code"), [(READER, "SG506"), (BLIND, "SG709")], ids=["readable", "blind"])
def test_guarded_the_same_is_refused_whether_the_pool_can_be_read_or_not(clean, volumes, playbooks, osd, code):
    """V7: where the pool could not be read, the override of SG506 passed and the server ran twice."""
    lab = clean
    may_read(lab, osd)
    server = booted(lab, "ceph")["ceph"]
    with stopped_compute(lab, SOURCE):
        evacuation.wait_down(lab, SOURCE)
        # It was cut off from us: nobody can ask it.
        lab.ssh(SOURCE, "systemctl stop ssh sshd; true", check=False)
        try:
            word = [{"code": "SG506", "object": SOURCE, "reason": "I am sure"}]
            result = evacuate(playbooks, fence="attested", variables={"stackguard_overrides": word}).failed()
        finally:
            lab.command("host", SOURCE, "power-off")
            lab.command("host", SOURCE, "power-on")
    assert code in result.codes
    assert where(lab, server)[1] == SOURCE
    assert len(volumes.watchers(root_of(volumes, server))) <= 1
    may_read(lab, BLIND)


# --- fences ---------------------------------------------------------------------------------------------------


def test_a_blocklist_covers_volumes_in_ceph_and_nothing_else(readable, volumes, playbooks):
    lab = readable
    servers = booted(lab, "ceph", "nfs", "san")
    evacuation.kill(lab, SOURCE)
    before = state.databases(lab)
    result = evacuate(playbooks, fence="blocklist").failed()
    refused = {item["object"]["id"] for item in result.report["findings"] if item["code"] == "SG506"}
    assert refused == {servers["nfs"], servers["san"]}
    state.assert_same(before, state.databases(lab), "a refused run changed something")
    assert evacuate(playbooks, fence="blocklist", variables={"evacuate_servers": ["ceph1"]}).ok()
    assert where(lab, servers["ceph"]) == ("ACTIVE", OTHER)
    assert volumes.hosts(servers["ceph"]) == {OTHER}


# --- every kind -----------------------------------------------------------------------------------------------


def test_every_kind_of_volume_goes_with_its_server(readable, volumes, playbooks):
    """V1, V8, V10. A member of a shared volume lives on the neighbour."""
    lab = readable
    servers = booted(lab, *KINDS)
    pair = shared_pair(lab, volumes)
    evacuation.kill(lab, SOURCE)
    checked = evacuate(playbooks, fence="power", variables=by_power(lab), flags=["--check"]).ok()
    assert "SG507" not in checked.codes
    result = evacuate(playbooks, fence="power", variables=by_power(lab)).ok()
    assert {entry["state"] for entry in result.stats["landed"]} == {"verified"}
    for server in [*servers.values(), pair[0]]:
        assert where(lab, server) == ("ACTIVE", OTHER)
    assert volumes.wrong() == []
    disks = json.loads((result.directory / "reports" / "placements.json").read_text())
    assert {disk["kind"] for disk in disks[servers["own"]]["disks"]} >= {"root image", "volume"}
    returned(lab, playbooks)
    assert volumes.wrong() == []
    assert volumes.mounts(SOURCE) == 0


def shared_pair(lab, volumes):
    """Two servers on two hosts with one multi-attached volume; their uuids, the dead host's first."""
    first, second = (next(iter(boot(lab, name, 1, on=host).values())) for name, host in (("ma", SOURCE), ("mb", OTHER)))
    shared = volumes.create("multiattach")
    volumes.attach(first, shared)
    volumes.attach(second, shared)
    assert len(volumes.watchers(shared)) == 2
    return first, second


def test_a_stranger_on_a_shared_volume_keeps_its_server_only(readable, volumes, playbooks):
    lab = readable
    servers = booted(lab, "ceph")
    first, _second = shared_pair(lab, volumes)
    (shared,) = volumes.of(first)
    evacuation.kill(lab, SOURCE)
    lab.command("stranger", "start", f"volumes/volume-{shared}")
    try:
        result = evacuate(playbooks, fence="power", variables=by_power(lab)).failed()
    finally:
        lab.command("stranger", "stop", "--all")
    assert "SG507" in codes_of(result, first)
    assert (where(lab, servers["ceph"]), where(lab, first)[1]) == (("ACTIVE", OTHER), SOURCE)


# --- a spawn that fails ---------------------------------------------------------------------------------------


def test_a_failed_spawn_leaves_volumes_connected_elsewhere_and_every_run_says_so(readable, volumes, playbooks):
    """V3, V5: the run said SG507, return_host ended green, and the next hard reboot ended without the domain."""
    lab = readable
    (server,) = boot(lab, "bigv", 1, "--flavor", "big", "--volume", "ceph", "--data-volume", "san").values()
    data = volumes.of(server)[1]
    evacuation.kill(lab, SOURCE)
    word = [{"code": "SG501", "object": server, "reason": "the test wants to see it"}]
    options = {**by_power(lab), "stackguard_overrides": word}
    with evacuation.no_memory(lab, OTHER):
        failed = evacuate(playbooks, fence="power", variables=options).failed()
    assert evacuations(lab, server)[-1:] == ["failed"], failed.told()
    assert "SG524" in codes_of(failed, server)
    assert volumes.hosts(server) == {OTHER}
    assert f"volume-{data}" in volumes.array()["exports"][OTHER]
    # The host comes back, and is not clear.
    lab.command("host", SOURCE, "power-on")
    waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)
    evacuation.may_unblock(lab, "compute3")
    with stopped_compute(lab, SOURCE):
        first = come_back(playbooks, ceph=("compute3", "stackguard")).failed()
        before = guestkit.reports(lab, SOURCE)
    assert "SG524" in codes_of(first, server)
    guestkit.wait_report(lab, SOURCE, before)
    refreshed(lab, server, volumes)
    assert volumes.hosts(server) == {SOURCE}
    assert "SG524" not in come_back(playbooks, ceph=("compute3", "stackguard")).codes
    lab.action(server, "os-start")
    guestkit.wait_for(lab, server, "ACTIVE", host=SOURCE)
    assert volumes.wrong() == []


def refreshed(lab, server, volumes):
    """Type what the remedy says; a server in ERROR is made a stopped one first."""
    lab.action(server, "os-resetState", {"state": "active"})
    lab.action(server, "os-stop")
    guestkit.wait_for(lab, server, "SHUTOFF", host=SOURCE)
    for volume in volumes.of(server):
        volumes.refresh(server, volume, SOURCE)
