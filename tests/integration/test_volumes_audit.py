# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Doctor and audit of servers that boot from volumes: what Nova's Ceph user may not read, and who has a volume open."""

from __future__ import annotations

import json

import pytest
from labkit import guests as guestkit
from labkit import waiting
from labkit.fixtures import documented_grants
from labkit.strangers import address, in_ceph, stranger, watchers_of

pytestmark = pytest.mark.matrix("volumes-audit", cinder="ceph,nfs,san")

CODES = ("SG507", "SG527")
READ = ", profile rbd-read-only pool=volumes"


@pytest.fixture(scope="module")
def servers(lab, playbooks):
    """Two servers, each on a volume of its own: uuid to the volume's image."""
    if guestkit.every(lab):
        # The servers of other stories. The reset takes the database user with it.
        lab.reset()
        guestkit.grant(lab, "sg_exact", documented_grants())
    guestkit.create(lab, "volume", "2", "--volume", "--on", "compute1")
    lab.forget()
    return {
        uuid: f"volumes/volume-{lab.cloud.compute.get_server(uuid).attached_volumes[0]['id']}"
        for uuid in guestkit.every(lab)
    }


@pytest.fixture
def caps(lab):
    """Set the caps of Nova's user, and put them back."""
    ((own,),) = [[entry["caps"] for entry in in_ceph(lab, "ceph", "auth", "get", "client.nova")]]

    def put(**changes):
        given = [word for kind, what in {**own, **changes}.items() for word in (kind, what)]
        lab.command("ceph", "auth", "caps", "client.nova", *given)

    yield lambda: put(osd=own["osd"] + READ)
    put()


def volumes_of(result):
    found = json.loads((result.directory / "reports" / "doctor.json").read_text())["results"]
    return {(item["subject"], item["part"]): item["state"] for item in found if "volume" in item["part"]}


def told(result):
    return {(item["code"], item["object"]["id"]) for item in result.report["findings"] if item["code"] in CODES}


def undecided(result):
    return {(item["code"], item["object"]) for item in result.report["unchecked"] if item["code"] in CODES}


def test_a_pool_that_the_user_may_not_read_is_told_by_the_doctor(lab, servers, playbooks, caps):
    parts = volumes_of(playbooks.run("doctor"))
    assert {state for (_subject, part), state in parts.items() if part != "ceph_volumes"} == {"ok"}
    assert {parts[host, "ceph_volumes"] for host in lab.hosts} == {"failed"}
    other = volumes_of(playbooks.run("doctor", variables={"stackguard_volume_pools": ["hdd"]}))
    assert other["cloud", "volume_pools"] == "failed"
    caps()
    assert set(volumes_of(playbooks.run("doctor")).values()) == {"ok"}


def test_the_audit_leaves_them_undecided_and_says_the_same_of_its_evidence(lab, servers, playbooks, caps):
    result = playbooks.run("audit", "audit_fail_on=never").ok()
    assert (told(result), undecided(result)) == (set(), {(code, "volumes") for code in CODES})
    kept = result.directory / "reports" / "evidence.jsonl"
    again = playbooks.run("audit", f"audit_evidence={kept}", "audit_fail_on=never").ok()
    assert undecided(again) == undecided(result)
    caps()
    whole = playbooks.run("audit", "audit_fail_on=never").ok()
    assert (told(whole), undecided(whole)) == (set(), set())


def test_a_stranger_and_a_volume_that_nobody_has_open(lab, servers, playbooks, caps):
    caps()
    (_one, twice), (two, alone) = sorted(servers.items())
    (entry,) = in_ceph(lab, "rbd", "status", alone)["watchers"]
    lab.command("ceph", "osd", "blocklist", "add", entry["address"], "600")
    try:
        waiting.until("no watcher", lambda: not watchers_of(lab, alone), 60)
        with stranger(lab, twice):
            assert address(lab) in watchers_of(lab, twice)
            result = playbooks.run("audit", "audit_fail_on=never").ok()
    finally:
        lab.command("ceph", "osd", "blocklist", "rm", entry["address"])
        # Its QEMU stays refused.
        lab.action(two, "reboot", {"type": "HARD"})
    assert (told(result), undecided(result)) == ({("SG507", twice), ("SG527", two)}, set())
    guestkit.wait_for(lab, two, "ACTIVE")
    waiting.until("its watcher", lambda: watchers_of(lab, alone), 60)
    assert told(playbooks.run("audit", "audit_fail_on=never").ok()) == set()
