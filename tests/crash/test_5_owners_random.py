# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Owners of guests ask for everything at random moments of renames, there and back, killed and not.

Each request is refused by Nova, executed, or reported; none is pending afterwards, and none is executed by the next
rename, which goes back to the name that the requests were sent to. A run is its number: the same one sends the same
requests at the same places (what Nova makes of them depends on the moment).
"""

from __future__ import annotations

import random

import pytest
from labkit import broker, requests, state
from labkit import guests as guestkit
from labkit.owners import Owner
from labkit.paused import Paused

RUNS = 20
HOST = "compute1"
STEPS = (
    *("disable_service", "lock_guests", "settle", "stop_compute", "cell_database", "api_database", "placement"),
    *("neutron", "host_names", "guests", "no_evacuation", "start_compute", "compute_up", "guests_after"),
    *("lost_requests", "audit", "unlock_guests", "enable_service"),
)
WITH_ACCESS = ("drain_queues", "old_requests", "remove_queues")


@pytest.fixture(scope="module")
def spares(lab, guests):
    """Guests that may be deleted by what is asked for."""
    made = guestkit.create(lab, "spare", "2", "--on", HOST)
    uuids = [row["id"] for row in made]
    yield uuids
    for uuid in uuids:
        if requests.exists(lab, uuid):
            lab.compute("DELETE", f"/servers/{uuid}")


def carried_out(playbooks, names, result, variables):
    """Run the same command again until it ends well. All its results.

    What failed must have put everything back, or name the guests whose tasks never end: their states are reset, as the
    report says. Without access to RabbitMQ, a request that was sent to the old name is lost with its task.
    """
    results = [result]
    while results[-1].rc != 0:
        assert len(results) < 4, results[-1].told()
        stopped, lost = results[-1].output, lost_tasks(results[-1])
        undone = "The run had made only preparations" in stopped or "refused, nothing was changed" in stopped
        assert undone or (lost and variables), results[-1].told()
        for uuid in [] if undone else lost:
            playbooks.lab.action(uuid, "os-resetState", {"state": "active"})
        requests.settled(playbooks.lab)
        results.append(playbooks.rename(*names, variables=variables))
    return results


def lost_tasks(result):
    """The guests of which a report says that the request behind their task was lost, and that their state is reset."""
    rows = [row for row in (result.report or {}).get("findings", []) if row["code"] == "SG701"]
    return [row["object"]["id"] for row in rows if f"server set --state active {row['object']['id']}" in row["remedy"]]


def blind(names):
    """Variables of a run that cannot read RabbitMQ, as its operator allows by name."""
    word = [{"code": "SG316", "object": name, "reason": "RabbitMQ is being moved"} for name in names]
    return {"stackguard_rabbit_urls": "rabbit://nova:nothing@127.0.0.1:1/", "stackguard_overrides": word}


def part(number):
    """A run in its part. Ten take half an hour: all of them in one would take longer than a part may."""
    return pytest.param(number, marks=pytest.mark.matrix("rename-owners-blind" if number % 2 else "rename-owners"))


@pytest.mark.parametrize("number", [part(number) for number in range(RUNS)])
def test_each_request_is_refused_executed_or_reported_and_none_is_pending(
    lab, playbooks, names, spares, tmp_path, number
):
    rng = random.Random(f"owners {number}")
    old, new = names
    access = number % 2 == 0
    killed = rng.random() < 0.5
    place = f"apply {rng.choice((*STEPS, *(WITH_ACCESS if access else ())))} begins"
    variables = {} if access else blind(names)
    there = sorted(lab.ssh(HOST, "virsh list --uuid").split())
    alive = [uuid for uuid in spares if requests.exists(lab, uuid)]
    before = {uuid: guest["process"] for uuid, guest in state.guests(lab).items()}
    sender = requests.Sender(Owner(lab), rng, [uuid for uuid in there if uuid not in spares], alive)
    print(f"\nrun {number}: {old} -> {new}, {'killed' if killed else 'paused'} at {place}, access {access}")

    run = Paused(playbooks, names, place, tmp_path, variables)
    sender.some(place, 4)
    sender.later(rng.uniform(0, 20))
    if killed:
        run.kill()
        sender.some("killed", 2)
        result = playbooks.rename(old, new, variables=variables)
    else:
        result = run.go()
    sender.end()
    results = carried_out(playbooks, names, result, variables)
    requests.settled(lab)

    for one in sender.sent:
        print(f"  {one.when}: {one.kind} {one.uuid[:8]} -> {one.status}")
    findings = [row for one in results for row in (one.report or {}).get("findings", [])]
    reported = {row["evidence"].get("request") for row in findings if row["code"] == "SG121"}
    print(f"  reported: {len(reported)}, runs: {len(results)}")
    assert requests.unexplained(lab, sender.sent, reported) == []
    if access:
        # Whatever was left for the old name is gone with its queues, and nothing waits for the new one.
        assert broker.messages(lab, f"compute.{old}") is None
        assert [row for row in results[-1].report["unchecked"] if row["code"] in ("SG307", "SG315")] == []
    else:
        unasked = {row["code"] for row in results[-1].report["unchecked"]}
        assert "SG307" in unasked
        broker.forget(lab, old)
    assert broker.messages(lab, f"compute.{new}") == 0
    # A guest that nothing was asked for, or whose requests were all refused or lost, runs on in the same QEMU.
    moved = {one.uuid for one in sender.sent if one.accepted and requests.executed(lab, one)}
    after = {uuid: guest["process"] for uuid, guest in state.guests(lab).items()}
    assert {uuid: after.get(uuid) for uuid in before if uuid not in moved} == {
        uuid: process for uuid, process in before.items() if uuid not in moved
    }
    rows = lab.compute("GET", "/servers/detail?all_tenants=1")["servers"]
    shown = ("id", "name", "status", "OS-EXT-SRV-ATTR:host", "OS-EXT-STS:task_state", "locked_reason")
    assert [{key: row.get(key) for key in shown} for row in rows if row["locked"]] == []
    requests.restored(lab, [uuid for uuid in there if requests.exists(lab, uuid)], new)
