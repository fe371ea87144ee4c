# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the servers of a dead host are away, evacuated by us and by others' ways: ``make bench-evacuate``.

Real guests in the lab of STACKGUARD_LAB_INSTANCE, as many as STACKGUARD_BENCH_SERVERS says (100, of 64 MiB each: some
7 GiB beside the lab). Placement is told that the hosts have room for that many virtual CPUs: the guests have no
operating system and do nothing, so that this changes no time. Each way of STACKGUARD_BENCH_WAYS (all) in turn, from one
host to the other and back:

* all requests fired at Nova at once, nothing checked: the yardstick;
* three threads, each waiting for its server (as Masakari does), and eight threads (as InstanceHA does);
* the playbook, from its start to its end: with the fence, the guards, memory measured anew before each wave, and every
  server verified; STACKGUARD_BENCH_PARALLEL (8) on their way to one host at a time.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
from concurrent import futures

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from labkit import evacuation, waiting
from labkit import guests as guestkit
from labkit.lab import current
from labkit.playbook import Playbooks

HOSTS = ("compute1", "compute2")
COUNT = int(os.environ.get("STACKGUARD_BENCH_SERVERS") or 100)
PARALLEL = int(os.environ.get("STACKGUARD_BENCH_PARALLEL") or 8)


def make_room(lab):
    """Let a host of the lab have COUNT guests: quotas, and the ratios that nova-compute leaves as they are."""
    project = lab.cloud.identity.find_project("admin").id
    lab.compute("PUT", f"/os-quota-sets/{project}", {"quota_set": {"cores": -1, "instances": -1, "ram": -1}})
    placement = lab.cloud.placement
    for provider in placement.resource_providers():
        if provider.name not in HOSTS:
            continue
        found = placement.get(f"/resource_providers/{provider.id}/inventories").json()
        for kind in ("VCPU", "DISK_GB", "MEMORY_MB"):
            entry = found["inventories"][kind]
            entry["allocation_ratio"] = max(entry["allocation_ratio"], 2.0 * COUNT / entry["total"])
        answer = placement.put(f"/resource_providers/{provider.id}/inventories", json=found)
        assert answer.status_code == 200, answer.text


def there(lab, uuids, host):
    """Whether all these servers rest on a host. One request."""
    found = lab.compute("GET", f"/servers/detail?all_tenants=1&host={host}&limit=1000")["servers"]
    at_rest = {row["id"] for row in found if row["OS-EXT-STS:task_state"] is None and row["status"] == "ACTIVE"}
    return set(uuids) <= at_rest or None


def one(lab, uuid, host):
    lab.action(uuid, "evacuate", {"host": host}, "2.68")

    def arrived():
        server = lab.server(uuid)
        return (server["OS-EXT-SRV-ATTR:host"] == host and server["OS-EXT-STS:task_state"] is None) or None

    waiting.until(f"{uuid} on {host}", arrived, 900, 1)


def at_once(lab, uuids, _source, target):
    with futures.ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda uuid: lab.action(uuid, "evacuate", {"host": target}, "2.68"), uuids))
    waiting.until("all have arrived", lambda: there(lab, uuids, target), 1800, 1)


def by_threads(count):
    def run(lab, uuids, _source, target):
        with futures.ThreadPoolExecutor(count) as threads:
            list(threads.map(lambda uuid: one(lab, uuid, target), uuids))

    return run


def guarded(playbooks, state):
    def run(lab, uuids, source, target):
        variables = {"evacuate_host": source, "evacuate_fence": "blocklist", "stackguard_state_dir": state}
        # No watcher is left that would show it.
        variables["evacuate_blocklist_addresses"] = [lab.info["hosts"][source]["address"]]
        variables["evacuate_max_parallel"] = PARALLEL
        # What a guest without an operating system takes: 128 MiB is too much for 100 on a small machine.
        process = playbooks.start("evacuate_host", variables=variables, constants={"guest_overhead_mb": 64})
        playbooks.finish(process, timeout=1800).ok()
        assert there(lab, uuids, target)

    return run


def measured(lab, name, way, source, target):
    uuids = [row["id"] for row in guestkit.every(lab).values()]
    assert there(lab, uuids, source), f"all are to begin on {source}"
    evacuation.kill(lab, source)
    # Watchers of the dead are gone for every way alike.
    waiting.until("no watchers", lambda: not evacuation.watchers(lab, f"{uuids[0]}_disk") or None, 90, 2)
    begun = time.monotonic()
    way(lab, uuids, source, target)
    seconds = time.monotonic() - begun
    print(f"{name}: {COUNT} servers in {seconds:.1f} s", flush=True)
    lab.command("ceph", "osd", "blocklist", "clear")
    lab.command("host", source, "power-on")
    evacuation.let_up(lab, source)
    # At its start it destroys what was evacuated from it, one after the other.
    guestkit.wait_compute(lab, source, 1800)
    waiting.until("the scheduler takes all hosts", lambda: not evacuation.shunned(lab) or None, 120, 2)
    return seconds


def begin(lab):
    """Have COUNT guests on one of the two hosts, those of an earlier run if they are there; return from and to."""
    waiting.until("the scheduler takes all hosts", lambda: not evacuation.shunned(lab) or None, 120, 2)
    have = guestkit.every(lab).values()
    on = {row["host"] for row in have if row["name"].startswith("bench")}
    if len(have) != COUNT or len(on) != 1 or not on <= set(HOSTS):
        lab.command("guests", "delete", "--all", timeout=900)
        make_room(lab)
        guestkit.create(lab, "bench", str(COUNT), "--on", HOSTS[0], "--timeout", "1500")
        on = {HOSTS[0]}
    (source,) = on
    return source, next(host for host in HOSTS if host != source)


def main():
    lab = current()
    lab.up()
    source, target = begin(lab)
    state = tempfile.mkdtemp(prefix="stackguard-bench-")
    playbooks = Playbooks(lab, {"cloud": lab.info["cloud"]})
    ways = {
        "all at once": at_once,
        "evacuate_host": guarded(playbooks, state),
        "8 threads": by_threads(8),
        "3 threads": by_threads(3),
    }
    chosen = os.environ.get("STACKGUARD_BENCH_WAYS")
    ways = {name: ways[name] for name in chosen.split(",")} if chosen else ways
    taken = {}
    try:
        for name, way in ways.items():
            taken[name] = measured(lab, name, way, source, target)
            source, target = target, source
    finally:
        shutil.rmtree(state, ignore_errors=True)
    yardstick = taken.get("all at once") or min(taken.values())
    print(json.dumps({name: round(seconds / yardstick, 2) for name, seconds in taken.items()}))


if __name__ == "__main__":
    main()
