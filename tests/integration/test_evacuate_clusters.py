# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations of a zone that has a Ceph cluster or a pool of its own: each act in its own; killed, and killed again."""

from __future__ import annotations

import json
import os
import random
import time

import pytest
from labkit import evacuation, killing, services, strangers, waiting
from labkit import guests as guestkit
from labkit.deadhost import (
    MARK,
    OPERATION,
    address,
    boot,
    closed,
    evacuate,
    journal,
    kill_at,
    returned,
    start,
)

TWO = pytest.mark.matrix("evacuation-two-clusters", clusters=2, computes=4)
POOLS = pytest.mark.matrix("evacuation-two-pools", pools=2, computes=4)
#: In az2, with the second cluster or pool.
FIRST, SECOND = "compute3", "compute4"
HOSTS = (FIRST, SECOND)
FAR = 2


def of_guest(lab, uuid, cluster):
    """Who has a root disk open, and names of its snapshots, in one cluster; None: there is no such image."""
    image = f"vms/{uuid}_disk"
    if image.partition("/")[2] not in strangers.in_ceph(lab, "rbd", "ls", "vms", cluster=cluster):
        return None
    snaps = strangers.in_ceph(lab, "rbd", "snap", "ls", image, cluster=cluster) or []
    return strangers.watchers_of(lab, image, cluster), [entry["name"] for entry in snaps]


def nothing_left(lab):
    """No guard on any guest's image and no entry on a blocklist, in either cluster."""
    for cluster in (1, FAR):
        for image in strangers.in_ceph(lab, "rbd", "ls", "vms", cluster=cluster):
            snaps = strangers.in_ceph(lab, "rbd", "snap", "ls", f"vms/{image}", cluster=cluster) or []
            assert not [entry["name"] for entry in snaps if entry["name"].startswith("stackguard-")], (cluster, image)
        hosts = {entry["address"] for entry in lab.info["hosts"].values()}
        assert not hosts & set(strangers.listed(lab, cluster)), f"cluster {cluster}: {strangers.listed(lab, cluster)}"


@TWO
def test_a_dead_host_is_fenced_and_guarded_in_its_own_cluster_only(clean, playbooks):
    lab = clean
    near = boot(lab, "near", 1)
    guests = {**boot(lab, "far", 3, on=FIRST), **boot(lab, "still", 1, "--stopped", on=FIRST)}
    for uuid in guests.values():
        evacuation.mark(lab, SECOND, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    evacuation.kill(lab, FIRST)
    host = {"evacuate_host": FIRST}
    refused = evacuate(playbooks, variables={**host, "evacuate_blocklist_addresses": None}).failed()
    assert "SG506" in refused.codes
    # It dies where the guards are made, and the next wave would be sent.
    kill_at(playbooks, OPERATION, 7, variables=host)
    operation = journal(lab, FIRST)["operation_id"]
    assert strangers.listed(lab, 1) == []
    assert strangers.listed(lab, FAR) == [address(lab, FIRST)]
    for uuid in guests.values():
        assert of_guest(lab, uuid, 1) is None
        assert of_guest(lab, uuid, FAR)[1] == [f"stackguard-{operation}"]
    assert of_guest(lab, near["near1"], 1) == ([address(lab)], [])
    done = evacuate(playbooks, variables=host).ok()
    assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}
    for name, uuid in guests.items():
        server = lab.server(uuid)
        stopped = name.startswith("still")
        assert server["OS-EXT-SRV-ATTR:host"] == SECOND
        assert server["status"] == ("SHUTOFF" if stopped else "ACTIVE")
        assert of_guest(lab, uuid, FAR) == ([] if stopped else [address(lab, SECOND)], [])
        assert evacuation.mark(lab, SECOND, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"
    (ended,) = closed(lab)
    far = next(entry["fsid"] for entry in lab.info["clusters"] if entry["number"] == FAR)
    assert list(ended["about"]["blocklisted"]) == [far]
    assert far in json.dumps(ended["memory"]["proof"])
    returned(lab, playbooks, FIRST, reader=SECOND)
    nothing_left(lab)


def in_pool(lab, uuid, pool):
    """Who has a root disk open, and names of its snapshots, in one pool; None: there is no such image."""
    image = f"{uuid}_disk"
    if image not in strangers.in_ceph(lab, "rbd", "ls", pool):
        return None
    snaps = strangers.in_ceph(lab, "rbd", "snap", "ls", f"{pool}/{image}") or []
    return strangers.watchers_of(lab, f"{pool}/{image}"), [entry["name"] for entry in snaps]


@POOLS
def test_a_dead_hosts_guests_are_guarded_in_the_pool_of_their_zone_only(clean, playbooks):
    """D2: the guards went to the first pool, whose images they were not, and the run succeeded without any guard."""
    lab, own = clean, "vms2"
    near = boot(lab, "near", 1)
    guests = {**boot(lab, "far", 2, on=FIRST), **boot(lab, "still", 1, "--stopped", on=FIRST)}
    for uuid in guests.values():
        evacuation.mark(lab, SECOND, f"{uuid}_disk", f"{MARK}-{uuid[:8]}", pool=own)
    evacuation.kill(lab, FIRST)
    host = {"evacuate_host": FIRST}
    kill_at(playbooks, OPERATION, 7, variables=host)
    operation = journal(lab, FIRST)["operation_id"]
    for uuid in guests.values():
        assert in_pool(lab, uuid, "vms") is None
        assert in_pool(lab, uuid, own)[1] == [f"stackguard-{operation}"]
    assert in_pool(lab, near["near1"], "vms") == ([address(lab)], [])
    done = evacuate(playbooks, variables=host).ok()
    assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}
    for name, uuid in guests.items():
        server, stopped = lab.server(uuid), name.startswith("still")
        assert (server["OS-EXT-SRV-ATTR:host"], server["status"]) == (SECOND, "SHUTOFF" if stopped else "ACTIVE")
        assert in_pool(lab, uuid, own) == ([] if stopped else [address(lab, SECOND)], [])
        assert evacuation.mark(lab, SECOND, f"{uuid}_disk", pool=own) == f"{MARK}-{uuid[:8]}"
    returned(lab, playbooks, FIRST, reader=SECOND)
    assert strangers.listed(lab, 1) == []


@POOLS
def test_a_stranger_in_the_other_pool_is_not_put_on_the_blocklist(clean, playbooks):
    """Both pools are of one cluster: a client of the near zone's disks looks like any client of that cluster."""
    lab = clean
    near, far = boot(lab, "near", 1)["near1"], boot(lab, "far", 1, on=FIRST)["far1"]
    evacuation.kill(lab, FIRST)
    with strangers.stranger(lab, f"vms/{near}_disk", 1):
        evacuate(playbooks, variables={"evacuate_host": FIRST}).ok()
        assert strangers.listed(lab, 1) == [address(lab, FIRST)]
        assert len(strangers.watchers_of(lab, f"vms/{near}_disk")) == 2
    assert in_pool(lab, far, "vms2") == ([address(lab, SECOND)], [])


#: How often the playbook is killed, and what else is killed under it.
KILLS = int(os.environ.get("STACKGUARD_TEST_KILLS") or 30)
SEED = int(os.environ.get("STACKGUARD_TEST_SEED") or 0) or int(time.time())
DISTURBED = ("rabbitmq", "mariadb", "keystone", "libvirtd", "nova-compute")


class Disturbance:
    """One part of the cloud is killed under a run, and is back some seconds later."""

    def __init__(self, lab, what, target):
        self.lab, self.what, self.target = lab, what, target

    def __enter__(self):
        if self.what in services.PORTS:
            services.kill(self.lab, self.what)
        else:
            # Its main process only: QEMUs are in the group of libvirtd. systemd starts it again, or it is started here.
            # It may be between two starts just now, or have ended: what was killed before it, it needs.
            kill = f"systemctl start --no-block {self.what}; systemctl kill --kill-whom=main -s KILL {self.what}"
            waiting.until(self._state, lambda: self._does(f"{kill} && echo it") or None, 60, 0.5)

    def _state(self):
        shown = "-p ActiveState -p SubState -p Result -p ExecMainStatus -p NRestarts"
        return f"{self.what} was killed:\n" + self.lab.ssh(
            self.target, f"systemctl show {self.what} {shown}; journalctl -u {self.what} -n 20 --no-pager", check=False
        )

    def _does(self, command):
        return "it" in self.lab.ssh(self.target, command, check=False)

    def __exit__(self, *_error):
        if self.what in services.PORTS:
            services.start(self.lab, self.what)
            self.lab.forget()
        else:
            # Without waiting: nova-compute is up when its broker and its conductor are.
            self.lab.ssh(self.target, f"systemctl start --no-block {self.what}")


def not_counted_at(lab, uuid, host):
    """openstack resource provider allocation unset --provider UUID_OF_HOST SERVER."""
    (provider,) = lab.placement("GET", f"/resource_providers?name={host}")["resource_providers"]
    held = lab.placement("GET", f"/allocations/{uuid}")
    if held["allocations"].pop(provider["uuid"], None) is not None:
        lab.placement("PUT", f"/allocations/{uuid}", held)


def given_back(lab, result):
    """Do what the findings of a run say about servers that Nova never ends; the overrides that go with it."""
    words = []
    for item in (result.report or {}).get("findings", []):
        if item["code"] == "SG507" and item["object"]["kind"] == "domain":
            # nova-compute was killed after it had started the new QEMU. The old host is proven dead: this one is ended.
            lab.ssh(item["evidence"]["host"], f"virsh destroy {item['object']['id']}", check=False)
        if item["code"] != "SG702":
            continue
        uuid = item["object"].get("name") or item["evidence"].get("instance_uuid")
        not_counted_at(lab, uuid, item["evidence"]["destination"])
        lab.action(uuid, "os-resetState", {"state": "active"})
        reason = "nobody works on it any more: its message was lost with the broker"
        words.append({"code": "SG702", "object": item["object"]["id"], "reason": reason})
    return words


#: A server that Nova never ends is given up soon.
IMPATIENT = {"server_timeout": 120}


def run_to_the_end(lab, playbooks, variables):
    """The same command again until it ends well, as an operator does who reads what it says."""
    words = []
    for _attempt in range(8):
        # Where the broker was away, Nova takes all hosts for down for a while.
        for host in set(lab.hosts) - {variables["evacuate_host"]}:
            guestkit.wait_compute(lab, host, 180)
        result = evacuate(playbooks, variables={**variables, "stackguard_overrides": words}, constants=IMPATIENT)
        if result.rc == 0:
            return result
        words += given_back(lab, result)
        lab.forget()
    raise AssertionError(result.told())


def all_is_well(lab, guests, target):
    for name, uuid in guests.items():
        server = lab.server(uuid)
        stopped = name.startswith("still")
        assert (server["OS-EXT-SRV-ATTR:host"], server["OS-EXT-STS:task_state"]) == (target, None), server
        assert server["status"] == ("SHUTOFF" if stopped else "ACTIVE"), server
        assert of_guest(lab, uuid, FAR) == ([] if stopped else [address(lab, target)], []), name
        assert evacuation.mark(lab, target, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"


@TWO
def test_killed_at_random_times_under_a_cloud_that_fails_all_servers_arrive(clean, playbooks):
    lab, dice = clean, random.Random(SEED)
    print(f"STACKGUARD_TEST_SEED={SEED} STACKGUARD_TEST_KILLS={KILLS}")
    source, target = HOSTS
    guests = {**boot(lab, "far", 6, on=source), **boot(lab, "still", 2, "--stopped", on=source)}
    for uuid in guests.values():
        evacuation.mark(lab, target, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    disturbances = [DISTURBED[number % len(DISTURBED)] for number in range(KILLS)]
    dice.shuffle(disturbances)
    killed = 0
    while killed < KILLS:
        evacuation.kill(lab, source)
        slow = {"evacuate_host": source, "evacuate_max_parallel": 1}
        while killed < KILLS:
            process = start(playbooks, variables=slow, constants=IMPATIENT)
            # By tasks: how far it comes must not depend on the machine. The first wave begins at some 70.
            after, what = dice.randint(5, 78), disturbances[killed] if dice.random() < 0.4 else None
            output = process.directory / "stdout"
            far = lambda: output.read_text().count("TASK [") >= after or process.poll() is not None or None  # noqa: E731, B023
            waiting.until(f"{after} tasks", far, 900, 0.1)
            time.sleep(dice.uniform(0, 15))
            if process.poll() is not None:
                # It has come to an end by itself, well or with what was broken under it before.
                if playbooks.finish(process).rc == 0:
                    break
                killed += 1
                continue
            if what:
                with Disturbance(lab, what, target):
                    time.sleep(dice.uniform(1, 10))
            killing.kill(process)
            killed += 1
            print(f"kill {killed}: after {after} tasks{f', and {what}' if what else ''}", flush=True)
            guestkit.wait_compute(lab, target, 180)
        run_to_the_end(lab, playbooks, slow)
        all_is_well(lab, guests, target)
        returned(lab, playbooks, source, reader=target)
        nothing_left(lab)
        waiting.until("the scheduler takes all hosts", lambda: not evacuation.shunned(lab) or None, 120, 2)
        source, target = target, source
    assert all(lab.service(host)["status"] == "enabled" for host in lab.hosts), "a hold remains"
