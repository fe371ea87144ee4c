# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of version 0.1 leaves behind that is killed before it has sent anything: its journal, and what it did."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.action.compute_link import LocalState
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import reading

OPERATION = "0123456789ab"
STEPS = ("fence", "hold_down", "guard", "evacuate", "unguard")


def leave(world, host, servers, state_dir, dice):
    """Leave a journal, and do what it says: fence, hold, and perhaps guards."""
    fence = dice.choice(("power", "blocklist"))
    addresses = [host.clients[host.home[0]][0]] if fence == "blocklist" else []
    if fence == "power":
        world.power_off(host)
    else:
        cluster = world.clusters[host.home[0]]
        cluster.blocklist.update({guard_snapshots.entry_of(address): world.now for address in addresses})
        world.refuse(host)
    host.status, host.reason, host.forced_down = "disabled", f"stackguard:evacuate:{OPERATION}", True
    guarded = dice.random() < 0.5
    for server in servers if guarded else ():
        for disk in world.disks_of(server, server.home):
            disk.snapshots.add(f"stackguard-{OPERATION}")
    journal = _journal(world, host, servers, fence, addresses)
    done = STEPS[: 3 if guarded else 2]
    journal["steps"] = {name: "done" if name in done else "pending" for name in STEPS}
    LocalState(state_dir, False).call([{"op": "journal_open", "journal": journal}])
    world.say("version 0.1 was here", fence, addresses, "guarded" if guarded else "")


def _journal(world, host, servers, fence, addresses):
    at = reading.iso(world.now)
    steps = [
        {"name": name, "title": name, "where": "controller", "action": name, "params": {}, "changes": []}
        for name in STEPS
    ]
    about = {
        "host": host.name,
        "fence": fence,
        "addresses": addresses,
        "order": [server.uuid for server in servers],
        "servers": [_server(server) for server in servers],
        "overrides": [],
        "fence_proof": {"kind": fence, "proof": "it was read back", "addresses": addresses, "at": at},
    }
    head = {"kind": "evacuate", "operation_id": OPERATION, "subject": host.name}
    return {
        **head,
        "schema": 1,
        "state": "open",
        "started_at": at,
        "updated_at": at,
        "about": about,
        "plan": {**head, "steps": steps, "notes": []},
        "history": [{"at": at, "text": "opened"}],
        "run": {"controller": "c", "pid": 1, "pid_start": "long ago"},
    }


def _server(server):
    found = {"uuid": server.uuid, "name": server.name, "status": server.status, "images": dict(server.disks)}
    return {**found, "numa": []}
