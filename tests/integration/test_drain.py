# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rename by draining: refused where a zone has no other host, killed in the middle, taken back, and carried through.

The tests of this file are one story, told in order, on a lab that is as new. It leaves the host renamed: the next
session puts the lab back.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import time

import pytest
from labkit import guests as guestkit
from labkit import state, waiting, zoning
from labkit.fixtures import documented_grants

OLD, OTHER, ALONE, NEW = "compute1", "compute2", "compute3", "cn-rack8.example"
DRAIN = {"rename_strategy": "drain"}
#: An aggregate that is no zone. Somebody deletes it in the middle of the run.
FAST = "fast-disks"


@pytest.fixture(scope="module")
def story(lab, playbooks):
    """Three running guests and a stopped one on a host of az1, one guest on the only host of az2."""
    # Not as the other stories left it: their host was renamed, evacuated and came back.
    lab.reset()
    # The reset took the database user with it.
    guestkit.grant(lab, "sg_exact", documented_grants())
    guestkit.create(lab, "run", "3", "--on", OLD)
    guestkit.create(lab, "still", "1", "--on", OLD, "--stopped")
    guestkit.create(lab, "lone", "1", "--on", ALONE)
    fast = lab.compute("POST", "/os-aggregates", {"aggregate": {"name": FAST, "availability_zone": None}})["aggregate"]
    lab.compute("POST", f"/os-aggregates/{fast['id']}/action", {"add_host": {"host": OLD}})
    rows = {row["name"]: row for row in guestkit.every(lab).values()}
    guests = {name: row for name, row in rows.items() if row["host"] == OLD}
    return {"guests": guests, "identity": identity(lab, OLD), "fast": fast["id"]}


def identity(lab, host):
    """What a drain must renew (service, node), and what it must keep (aggregates)."""
    aggregates = [row["name"] for row in lab.compute("GET", "/os-aggregates")["aggregates"] if host in row["hosts"]]
    node = lab.sql("cell1", "SELECT id, uuid FROM compute_nodes WHERE host = %s AND deleted = 0", host)
    service = lab.sql("cell1", "SELECT id, uuid FROM services WHERE host = %s AND deleted = 0", host)
    provider = lab.sql("placement", "SELECT uuid, name FROM resource_providers WHERE name = %s", host)
    return {"aggregates": sorted(aggregates), "node": node, "service": service, "provider": provider}


def where(lab, story):
    return {name: lab.server(row["id"])["OS-EXT-SRV-ATTR:host"] for name, row in story["guests"].items()}


def statuses(lab, story):
    return {name: lab.server(row["id"])["status"] for name, row in story["guests"].items()}


def kill_when(playbooks, lab, story, seen, words=(), variables=None):
    """Start a drain, and kill -9 all of it on this machine once something is so."""
    words = [f"rename_from={OLD}", f"rename_to={NEW}", *words]
    process = playbooks.start_rename(words, variables={**DRAIN, **(variables or {})})

    def so():
        assert process.poll() is None, (process.directory / "stdout").read_text()[-6000:]
        return seen()

    try:
        waiting.until("the moment to kill", so, timeout=400, pause=0.2)
    finally:
        # Ansible's workers lead sessions of their own: one that survives carries on, and holds the operation's lock.
        for pid in (process.pid, *workers(process.directory)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert playbooks.finish(process).rc == -signal.SIGKILL
    return process


def workers(directory):
    """Every process of a run: all of them stand in its directory."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if entry.readlink() == directory:
                found.append(int(entry.parent.name))
    return found


def journal(lab):
    return json.loads(lab.ssh(OLD, "cat /var/lib/stackguard/rename.json"))


def test_refused_where_the_zone_has_no_other_host(lab, playbooks, story):
    before = state.databases(lab)
    result = playbooks.rename(ALONE, NEW, variables=DRAIN).failed()
    assert result.codes == {"SG406"}, result.told()
    state.assert_same(before, state.databases(lab), "a refused drain changed something")


def test_check_mode_prints_the_plan_and_changes_nothing(lab, playbooks, story):
    before = state.everything(lab)
    result = playbooks.rename(OLD, NEW, variables=DRAIN, flags=["--check", "--diff"]).ok()
    state.assert_same(before, state.everything(lab), "check mode changed something")
    for name, row in story["guests"].items():
        kind = "cold" if row["status"] == "SHUTOFF" else "live"
        what = f"{name} ({row['id']}): host ({kind} migration, zone az1)"
        assert re.search(rf"^-.*{re.escape(what)}: {OLD}$", result.stdout, re.MULTILINE), result.told()
        assert re.search(rf"^\+.*{re.escape(what)}: {OTHER}: the host has \d+ MiB", result.stdout, re.MULTILINE), (
            result.told()
        )
    assert "after this step, a rollback is no longer possible" in result.stdout


@pytest.mark.matrix("rename-drain")
def test_killed_in_the_middle_of_the_moves_and_rolled_back(lab, playbooks, story):
    def one_moved_one_moving():
        rows = [lab.server(row["id"]) for row in story["guests"].values()]
        moved = [row for row in rows if row["OS-EXT-SRV-ATTR:host"] == OTHER and not row["OS-EXT-STS:task_state"]]
        return moved and any(row["OS-EXT-STS:task_state"] for row in rows)

    kill_when(playbooks, lab, story, one_moved_one_moving)
    assert journal(lab)["steps"]["move_guests"] == "applying"
    waiting.until("Nova's own move is over", lambda: guestkit.idle(lab), timeout=120)
    start = time.monotonic()
    back = playbooks.rename(OLD, NEW, "rollback", variables={**DRAIN, "rename_drain_return": True}).ok()
    print(f"\nrolled back, guests brought home: {time.monotonic() - start:.0f} s")
    assert back.stats["state"] == "rolled-back"
    assert set(where(lab, story).values()) == {OLD}
    assert lab.service(OLD)["status"] == "enabled"
    assert identity(lab, OLD) == story["identity"]
    assert statuses(lab, story) == {name: row["status"] for name, row in story["guests"].items()}


@pytest.mark.matrix("rename-drain")
def test_killed_in_the_middle_of_the_moves_again(lab, playbooks, story):
    kill_when(
        playbooks, lab, story, lambda: OTHER in where(lab, story).values(), variables={"rename_drain_return": True}
    )
    assert journal(lab)["state"] == "open"


def test_resumed_and_killed_after_the_deletion(lab, playbooks, story):
    kill_when(playbooks, lab, story, lambda: lab.service(OLD) is None, variables={"rename_drain_return": True})
    assert journal(lab)["steps"]["delete_service"] in ("applying", "done")
    assert set(where(lab, story).values()) == {OTHER}
    assert all(host == OTHER for host in where(lab, story).values())
    lab.compute("DELETE", f"/os-aggregates/{story['fast']}")


def test_there_is_no_way_back_then_and_it_is_said(lab, playbooks, story):
    before = journal(lab)
    result = playbooks.rename(OLD, NEW, "rollback", variables=DRAIN).failed()
    assert "A rollback is no longer possible" in result.output, result.told()
    assert journal(lab) == before


@pytest.mark.matrix("rename-drain")
def test_a_guest_that_is_off_on_its_other_host_does_not_come_home_live(lab, playbooks, story):
    """That host lost its power, and Nova shows its guests as ACTIVE. It is measured before anybody comes home.

    Begun here, or resumed: the other tests of the story are no part of the matrix.
    """
    uuid = story["guests"]["run1"]["id"]

    def away():
        server = lab.server(uuid)
        return server["OS-EXT-SRV-ATTR:host"] == OTHER and not server["OS-EXT-STS:task_state"]

    with zoning.unaware(lab, OTHER):
        process = playbooks.start_rename(
            [f"rename_from={OLD}", f"rename_to={NEW}"], variables={**DRAIN, "rename_drain_return": True}
        )
        waiting.until("the guest has left", lambda: away() or None, timeout=400, pause=0.2)
        lab.ssh(OTHER, f"virsh destroy {uuid}")
        before = zoning.migrations(lab, uuid)
        held = playbooks.finish(process, timeout=900).failed()
        story["told"] = held.output
        assert f"run1 on {OTHER}: SG710" in held.output, held.told()
        assert "-e rename_drain_return=false" in held.output
        assert (where(lab, story)["run1"], statuses(lab, story)["run1"]) == (OTHER, "ACTIVE")
        assert zoning.migrations(lab, uuid) == before, "it was not sent"
        lab.action(uuid, "reboot", {"type": "HARD"})
        guestkit.wait_for(lab, uuid, "ACTIVE", timeout=120, host=OTHER)


def test_the_same_command_goes_forward_to_the_end(lab, playbooks, story):
    result = playbooks.rename(OLD, NEW, variables={**DRAIN, "rename_drain_return": True}, timeout=900).ok()
    print(f"\nresumed to the end, guests brought home: {result.seconds:.0f} s")
    assert result.stats["state"] == "finished"
    assert f"aggregate {FAST} was deleted during the run" in story.get("told", "") + result.output
    (deleted,) = [item for item in result.report["findings"] if item["code"] == "SG303"]
    assert (deleted["severity"], deleted["object"]["id"]) == ("warning", str(story["fast"]))


def test_the_host_is_new_and_where_the_old_one_was(lab, story):
    old, new = story["identity"], identity(lab, NEW)
    assert new["aggregates"] == sorted({*old["aggregates"]} - {FAST})
    for part in ("node", "service", "provider"):
        assert len(new[part]) == 1
        assert new[part] != old[part]
    assert new["provider"][0]["uuid"] == new["node"][0]["uuid"] != old["node"][0]["uuid"]
    assert lab.service(NEW)["status"] == "enabled"
    assert lab.service(NEW)["zone"] == "az1"
    members = lab.sql(
        "placement",
        "SELECT a.uuid FROM resource_provider_aggregates m JOIN placement_aggregates a ON a.id = m.aggregate_id"
        " JOIN resource_providers p ON p.id = m.resource_provider_id WHERE p.name = %s",
        NEW,
    )
    wanted = {row["uuid"] for row in lab.compute("GET", "/os-aggregates")["aggregates"] if NEW in row["hosts"]}
    assert {row["uuid"] for row in members} == wanted


def test_the_old_name_is_nowhere_live(lab, story):
    assert identity(lab, OLD) == {"aggregates": [], "node": [], "service": [], "provider": []}
    assert lab.sql("api", "SELECT 1 FROM host_mappings WHERE host = %s", OLD) == []
    assert lab.sql("cell1", "SELECT uuid FROM instances WHERE host = %s AND deleted = 0", OLD) == []
    assert lab.sql("neutron", "SELECT port_id FROM ml2_port_bindings WHERE host = %s", OLD) == []
    names = state.files(lab)
    assert names["uname -n"] == names["virsh hostname"] == NEW


def test_the_guests_are_the_same_and_at_home(lab, story):
    assert set(where(lab, story).values()) == {NEW}
    assert statuses(lab, story) == {name: row["status"] for name, row in story["guests"].items()}
    domains = state.guests(lab)
    assert set(domains) == {row["id"] for row in story["guests"].values()}
    running = {uuid for uuid, domain in domains.items() if domain["process"]}
    assert running == {row["id"] for row in story["guests"].values() if row["status"] == "ACTIVE"}
    assert lab.sql("cell1", "SELECT 1 FROM instances WHERE deleted <> 0 AND host IN (%s, %s)", OLD, NEW) == []


def test_run_again_nothing_is_left_to_do(lab, playbooks, story):
    result = playbooks.rename(OLD, NEW, variables=DRAIN).ok()
    assert result.changed == 0
    assert result.stats["state"] == "finished"


def test_new_guests_start_on_the_renamed_host(lab, story):
    guestkit.create(lab, "fresh", "1", "--on", NEW, "--zone", "az1")
