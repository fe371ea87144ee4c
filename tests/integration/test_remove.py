# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that is gone for good: named by the audit, removed, and its name installed again on an empty machine.

The tests of this file are one story, told in order: compute3 is alone in az2, and has left everything that a host can.
"""

from __future__ import annotations

import random
import shutil
import time
import uuid as uuids

import pytest
from labkit import broker, evacuation, killing, waiting, zoning
from labkit import guests as guestkit
from labkit.fixtures import documented_grants
from labkit.zoning import FAR as HOST
from labkit.zoning import NEIGHBOUR, SOURCE

pytestmark = pytest.mark.matrix("remove")
QUEUE = f"compute.{HOST}"
SAID = {"code": "SG506", "object": HOST, "reason": "its disks are wiped"}
HELD = {"VCPU": 1, "MEMORY_MB": 64}


@pytest.fixture(scope="module")
def story(lab):
    """A guest on each host; that of compute1 also holds something of compute3's provider."""
    lab.reset()
    shutil.rmtree(zoning.state_dir(lab), ignore_errors=True)
    guestkit.grant(lab, "sg_exact", documented_grants())
    for prefix, host in (("keep", SOURCE), ("near", NEIGHBOUR), ("gone", HOST)):
        guestkit.create(lab, prefix, "1", "--on", host)
    found = {row["name"][:4]: row["id"] for row in guestkit.every(lab).values()}
    yield {**found, "node": node(lab), "service": lab.service(HOST)["id"]}
    lab.reset()
    guestkit.grant(lab, "sg_exact", documented_grants())


def node(lab):
    return lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host = %s AND deleted = 0", HOST)


def given(lab, **more):
    return {"remove_host": HOST, "stackguard_state_dir": str(zoning.state_dir(lab)), **more}


def remove(playbooks, flags=(), said=(SAID,), **more):
    words = {"stackguard_overrides": list(said)} if said else {}
    return playbooks.run("remove_host", variables=given(playbooks.lab, **words, **more), flags=flags, timeout=900)


def left(lab):
    """Every place of Nova's and placement's that still has the host."""
    cell = "SELECT COUNT(*) FROM {} WHERE host = %s AND deleted = 0"
    found = {name: lab.value("cell1", cell.format(name), HOST) for name in ("services", "compute_nodes", "instances")}
    api = "SELECT COUNT(*) FROM {} WHERE host = %s"
    found.update({name: lab.value("api", api.format(name), HOST) for name in ("host_mappings", "aggregate_hosts")})
    found["providers"] = lab.value("placement", "SELECT COUNT(*) FROM resource_providers WHERE name = %s", HOST)
    found["queue"] = int(broker.messages(lab, QUEUE) is not None)
    return {name: number for name, number in found.items() if number}


def hold(lab, consumer, provider):
    """Let a server hold something of another host's provider, too."""
    now = lab.placement("GET", f"/allocations/{consumer}")
    held = {uuid: {"resources": entry["resources"]} for uuid, entry in now["allocations"].items()}
    kept = {key: now[key] for key in ("consumer_generation", "project_id", "user_id")}
    body = {**kept, "allocations": {**held, provider: {"resources": HELD}}}
    lab.placement("PUT", f"/allocations/{consumer}", body)


def consumers(lab, provider):
    return set(lab.placement("GET", f"/resource_providers/{provider}/allocations")["allocations"])


def test_a_living_host_and_one_with_a_server_is_refused_whatever_somebody_says(lab, playbooks, story):
    before = left(lab)
    assert {"SG332", "SG506"} <= remove(playbooks).failed().codes
    assert left(lab) == before


def test_a_name_that_is_part_of_a_hosts_is_nobodys(playbooks, story):
    assert "SG332" in remove(playbooks, remove_host="compute").failed().codes


def test_an_empty_host_whose_machine_may_come_back_is_refused(lab, playbooks, story):
    """Its nova-compute is dead; a request of the guest's owner waits for it. Then the guest was deleted."""
    hold(lab, story["keep"], story["node"])
    lab.ssh(HOST, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    lab.action(story["gone"], "os-stop")
    waiting.until("the request waits", lambda: broker.messages(lab, QUEUE) or None, 60, 1)
    evacuation.wait_down(lab, HOST)
    lab.cloud.compute.delete_server(story["gone"], force=True)
    waiting.until("no server", lambda: "instances" not in left(lab) or None, 120, 2)
    assert remove(playbooks, said=()).failed().codes >= {"SG506"}
    assert {"services", "compute_nodes", "host_mappings", "aggregate_hosts", "providers", "queue"} == set(left(lab))


def test_a_check_shows_every_step_and_changes_nothing(lab, playbooks, story):
    before = left(lab)
    done = remove(playbooks, ["--check", "--diff"]).ok()
    assert f"delete the compute service of {HOST}" in done.output
    assert left(lab) == before and done.stats["state"] == "planned"


def test_killed_at_random_and_resumed_nothing_is_left(lab, playbooks, story):
    """Nova swallows that placement keeps the provider of which compute1's guest holds something."""
    rng = random.Random(49)
    variables = given(lab, stackguard_overrides=[SAID])
    for _kill in range(4):
        process = playbooks.start("remove_host", (), variables=variables)
        end = time.monotonic() + rng.uniform(8, 25)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        killing.kill(process)
        playbooks.finish(process)
    # The last one may have ended by itself: then everything is gone already, and that is said.
    remove(playbooks).ok()
    assert left(lab) == {}
    assert story["node"] not in lab.placement("GET", f"/allocations/{story['keep']}")["allocations"]
    assert lab.server(story["keep"])["OS-EXT-SRV-ATTR:host"] == SOURCE
    assert lab.placement("GET", f"/allocations/{story['keep']}")["allocations"]


def test_its_name_on_an_empty_machine_gets_nothing_of_the_old_host(lab, playbooks, story):
    lab.ssh(
        HOST, "for one in $(virsh list --all --uuid); do virsh destroy $one; virsh undefine --nvram $one; done", False
    )
    lab.ssh(HOST, "rm -rf /var/lib/nova/compute_id /var/lib/nova/instances/*")
    lab.ssh(HOST, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")
    waiting.until("its service", lambda: "services" in left(lab) or None, 180, 2)
    guestkit.wait_compute(lab, HOST, 180)
    waiting.until("its mapping", lambda: "host_mappings" in left(lab) or None, 120, 2)
    assert (lab.service(HOST)["id"], node(lab)) != (story["service"], story["node"])
    new = node(lab)
    waiting.until("its provider", lambda: "providers" in left(lab) or None, 120, 2)
    assert consumers(lab, new) == set() and "aggregate_hosts" not in left(lab)
    log = lab.ssh(HOST, "cat /var/log/nova/nova-compute.log")
    assert "ResourceProviderCreationFailed" not in log
    audit = playbooks.run("audit", "audit_fail_on=never").ok()
    assert not {item["object"]["id"] for item in audit.report["findings"] if item["code"] == "SG331"}
    # A host of that name is a host like any other.
    assert "SG506" in remove(playbooks).failed().codes


def test_what_a_deletion_by_hand_has_left_is_named_by_the_audit_and_removed(lab, playbooks, story):
    """Somebody deletes the service; rows come back by hand, as a half removal leaves them."""
    lab.cloud.compute.delete_server(story["gone"], ignore_missing=True)
    waiting.until("no server", lambda: "instances" not in left(lab) or None, 120, 2)
    lab.ssh(HOST, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    hold(lab, story["keep"], node(lab))
    stranger = str(uuids.uuid4())
    lab.placement("POST", "/resource_providers", {"name": f"{HOST}-shared", "uuid": stranger})
    cell = lab.value("api", "SELECT cell_id FROM host_mappings WHERE host = %s", HOST)
    lab.compute("DELETE", f"/os-services/{lab.service(HOST)['id']}")
    lab.sql("api", "INSERT INTO host_mappings (host, cell_id) VALUES (%s, %s)", HOST, cell)
    zone = lab.value("api", "SELECT MIN(id) FROM aggregates")
    lab.sql("api", "INSERT INTO aggregate_hosts (host, aggregate_id) VALUES (%s, %s)", HOST, zone)
    # It is in no inventory any more.
    audit = playbooks.run("audit", "audit_fail_on=never", variables={"audit_hosts": f"{SOURCE}:{NEIGHBOUR}"}).ok()
    (found,) = [item for item in audit.report["findings"] if item["code"] == "SG331"]
    assert found["object"]["id"] == HOST
    assert {"host mapping", "aggregates", "resource providers"} <= set(found["evidence"]["left in"])
    assert "SG302" not in {item["code"] for item in audit.report["findings"]}
    # No API deletes these rows, and documented users may not.
    assert "SG311" in remove(playbooks).failed().codes
    for table in ("host_mappings", "aggregate_hosts"):
        lab.sql("api", f"GRANT DELETE ON nova_api.{table} TO 'sg_exact'@'%%'" % ())
    remove(playbooks).ok()
    assert left(lab) == {}
    names = {row["uuid"]: row["name"] for row in lab.placement("GET", "/resource_providers")["resource_providers"]}
    assert names[stranger] == f"{HOST}-shared"
