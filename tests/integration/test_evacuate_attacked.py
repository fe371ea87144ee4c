# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuation and return, attacked: other clients of Ceph, fences that lie, links that heal, hosts that come back.

Each test is one that an operator has lived through, or would have.
"""

from __future__ import annotations

import contextlib
import json
import re
import time

import pytest
from labkit import evacuation, killing, state, strangers, waiting, zoning
from labkit import guests as guestkit
from labkit.deadhost import (
    LAB,
    MARK,
    OTHER,
    SOURCE,
    address,
    boot,
    by_command,
    by_power,
    closed,
    come_back,
    evacuate,
    evacuations,
    journal,
    kill_at,
    returned,
    start,
    state_dir,
    stopped_compute,
)

ATTACK = pytest.mark.matrix("evacuation-attacked")
LEFT = pytest.mark.matrix("evacuation-left")


def of_code(result, code):
    """Findings of a report that have this code."""
    return [item for item in result.report["findings"] if item["code"] == code]


def of_unchecked(result, code):
    """What a report could not decide of this code."""
    return [item for item in result.report["unchecked"] if item["code"] == code]


def cut(lab, host=SOURCE):
    """Pull a host's cable, and wait until Nova has noticed."""
    lab.command("host", host, "cut")
    evacuation.wait_down(lab, host)


def host_of(lab, uuid):
    return lab.server(uuid)["OS-EXT-SRV-ATTR:host"]


def assert_left(lab, uuids, targets=(OTHER,), status="ACTIVE"):
    """All these servers run elsewhere, each with one watcher and without a guard."""
    for uuid in uuids:
        server = lab.server(uuid)
        assert server["OS-EXT-SRV-ATTR:host"] in targets, server
        assert server["status"] == status
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == (status == "ACTIVE")
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []


# --- others' clients of Ceph ----------------------------------------------------------------------------------


def readers_server_stays(lab, playbooks, place, fence, variables):
    guests = boot(lab, "read", 3)
    evacuation.kill(lab, SOURCE)
    with strangers.stranger(lab, f"vms/{guests['read1']}_disk", place=place) as reader:
        ended = evacuate(playbooks, fence=fence, variables=variables).failed()
        assert ended.rc == 2
        (found,) = of_code(ended, "SG507")
        assert found["severity"] == "blocker"
        assert found["object"]["id"] == guests["read1"]
        assert reader in json.dumps(found["evidence"])
        # Reported before the host was touched.
        assert ended.stdout.index("SG507") < ended.stdout.index("TASK [stackguard.nova.evacuate_host : Fence the host")
        listed = strangers.listed(lab)
        assert reader not in listed, "an innocent machine was shut out"
        assert (address(lab) in listed) == (fence == "blocklist")
        assert strangers.watchers_of(lab, f"vms/{guests['read1']}_disk") == [reader], "it reads on"
        assert set(ended.stats["left"]) == {guests["read1"]}
        assert (host_of(lab, guests["read1"]), evacuations(lab, guests["read1"])) == (SOURCE, [])
        assert_left(lab, [guests["read2"], guests["read3"]])
    return guests


@ATTACK
def test_a_backup_reader_keeps_its_own_server_and_is_not_shut_out(clean, playbooks):
    """On the controller, where it would take the monitors and all else with it."""
    readers_server_stays(clean, playbooks, "controller", "blocklist", None)


@ATTACK
def test_after_the_return_no_address_is_left_on_the_blocklist(clean, playbooks):
    lab = clean
    guests = readers_server_stays(lab, playbooks, "own", "blocklist", None)
    # The reader is gone: the same command takes its server, too.
    evacuate(playbooks).ok()
    assert_left(lab, guests.values())
    returned(lab, playbooks)
    assert not {address(lab), strangers.address(lab)} & set(strangers.listed(lab))


@ATTACK
def test_a_backup_reader_does_not_keep_all_servers_on_a_host_that_is_switched_off(clean, playbooks):
    lab = clean
    guests = readers_server_stays(lab, playbooks, "own", "command", by_command(lab))
    evacuate(playbooks, fence="command", variables=by_command(lab)).ok()
    assert_left(lab, guests.values())


@ATTACK
def test_without_an_address_of_the_host_the_blocklist_is_refused(clean, playbooks):
    """It died long ago: no client of it is seen, and what Nova knows of it says nothing about Ceph."""
    lab = clean
    (uuid,) = boot(lab, "bare").values()
    evacuation.kill(lab, SOURCE)
    waiting.until("no watcher", lambda: not evacuation.watchers(lab, f"{uuid}_disk") or None, 90, 1)
    before = state.databases(lab)
    refused = evacuate(playbooks, variables={"evacuate_blocklist_addresses": None}).failed()
    assert "SG506" in refused.codes
    assert "evacuate_blocklist_addresses" in refused.output
    state.assert_same(before, state.databases(lab), "a refused run changed something")
    assert (strangers.listed(lab), journal(lab), evacuations(lab, uuid)) == ([], None, [])
    assert evacuation.snapshots(lab, f"{uuid}_disk") == []


# --- fences ---------------------------------------------------------------------------------------------------


@ATTACK
def test_a_fence_that_lies_is_found_out_and_the_report_says_what_lives(clean, playbooks):
    """It says off, and the host comes back to life: the finding is in the report, not in the output alone."""
    lab = clean
    guests = boot(lab, "lie", 2)
    cut(lab)
    lying = {
        "evacuate_fence_command": f"{LAB.format(lab.instance)} host {SOURCE} join",
        "evacuate_fence_confirm_command": "true",
    }
    ended = evacuate(playbooks, fence="command", variables=lying, constants={"death_timeout": 20}).failed()
    (found,) = [item for item in of_code(ended, "SG506") if item["severity"] == "blocker"][:1]
    assert SOURCE in json.dumps(found)
    assert ended.report["counts"]["blocker"] >= 1
    assert ended.stats["counts"] == ended.report["counts"]
    for uuid in guests.values():
        assert (host_of(lab, uuid), evacuations(lab, uuid)) == (SOURCE, [])
    # It is asked, and left: nothing was sent, so that all is as before.
    asked = evacuate(playbooks, variables={"evacuate_action": "status"}).ok()
    assert journal(lab)["operation_id"] in asked.output
    assert lab.service(SOURCE)["forced_down"]
    left = evacuate(playbooks, variables={"evacuate_action": "abort"}).ok()
    assert left.stats["state"] == "aborted"
    service = lab.service(SOURCE)
    assert (service["status"], service["forced_down"], service["disabled_reason"]) == ("enabled", False, None)
    assert journal(lab) is None


@ATTACK
def test_the_power_fence_fails_and_the_blocklist_is_tried_next(clean, playbooks):
    """What the second fence proves is its own: the address is on the list, and the journal says what was read."""
    lab = clean
    (uuid,) = boot(lab, "next").values()
    evacuation.kill(lab, SOURCE)
    broken = {**by_power(lab), "evacuate_power_state_options": {"cmd": "echo on"}}
    broken["evacuate_power_options"] = {"cmd": "false"}
    refused = evacuate(playbooks, fence="power", variables=broken).failed()
    assert "SG506" in refused.codes
    assert not strangers.listed(lab)
    assert evacuations(lab, uuid) == []
    # On the first go the address is not known.
    bare = evacuate(playbooks, variables={"evacuate_blocklist_addresses": None}).failed()
    assert "SG506" in bare.codes
    assert evacuations(lab, uuid) == []
    evacuate(playbooks).ok()
    assert strangers.listed(lab) == [address(lab)]
    (ended,) = closed(lab)
    proof = ended["memory"]["proof"]
    assert proof["kind"] == "blocklist"
    assert address(lab) in json.dumps(proof)
    assert_left(lab, [uuid])


@ATTACK
def test_somebody_switches_the_host_on_again_while_its_servers_are_sent(clean, playbooks):
    lab = clean
    guests = boot(lab, "wave", 5)
    evacuation.kill(lab, SOURCE)
    # A proof of this age serves one or two servers, one after the other, also on a fast machine.
    slow = {**by_power(lab), "evacuate_max_parallel": 1, "evacuate_proof_max_age": 10}
    with evacuation.no_progress(lab, OTHER) as stopped:
        process = start(playbooks, fence="power", variables=slow)
        killing.when_said(process, f": evacuation to {OTHER}")
        stopped()
        lab.command("host", SOURCE, "power-on")
    ended = playbooks.finish(process, timeout=900).failed()
    assert "SG506" in ended.codes
    assert "is not fenced" in ended.output
    staying = [uuid for uuid in guests.values() if not evacuations(lab, uuid)]
    assert staying, "nobody was held back"
    assert all(host_of(lab, uuid) == SOURCE for uuid in staying)
    # The fence is not repeated by itself: whoever switched it on had a reason.
    again = evacuate(playbooks, fence="power", variables=slow).failed()
    assert "SG506" in again.codes
    assert lab.power(SOURCE) == "on"
    done = evacuate(playbooks, fence="power", variables={**slow, "evacuate_refence": True}).ok()
    assert lab.power(SOURCE) == "off"
    # Those that stayed were stopped by their own nova-compute when it saw them off: the run reports each.
    stopped = [uuid for uuid in staying if lab.server(uuid)["status"] == "SHUTOFF"]
    assert_left(lab, stopped, status="SHUTOFF")
    assert_left(lab, set(guests.values()) - set(stopped))
    assert {item["object"]["id"] for item in of_code(done, "SG710")} == set(stopped)
    # While it was on, its nova-compute completed the records of those that had left.
    assert {tuple(evacuations(lab, uuid)) for uuid in guests.values()} <= {("done",), ("completed",)}


@ATTACK
def test_the_link_of_the_fenced_host_heals_while_its_servers_are_sent(clean, playbooks):
    """Its guests run on there, and Ceph refuses whatever they write: the others are sent all the same."""
    lab = clean
    guests = boot(lab, "heal", 5, "--swap", "64")
    for uuid in guests.values():
        evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    cut(lab)
    process = start(playbooks, variables={"evacuate_max_parallel": 1}, constants={"measured_for": 1})
    killing.when_said(process, f": evacuation to {OTHER}", times=2)
    lab.command("host", SOURCE, "join")
    playbooks.finish(process, timeout=900).ok()
    assert_left(lab, guests.values())
    running = lab.ssh(SOURCE, "virsh list --uuid")
    assert all(uuid in running for uuid in guests.values())
    for uuid in guests.values():
        with pytest.raises(AssertionError, match=r"ESHUTDOWN|ConnectionShutdown|errno 108|shutdown"):
            evacuation.mark(lab, SOURCE, f"{uuid}_disk", "WRITTEN-BY-A-DEAD-HOST")
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"


# --- servers --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def no_spawn(lab, host):
    """libvirt's hook of a host refuses every start of a guest."""
    hook = "/etc/libvirt/hooks/qemu"
    lab.ssh(
        host, f"mkdir -p $(dirname {hook}); printf '#!/bin/sh\\n[ \"$2\" != prepare ]\\n' > {hook}; chmod +x {hook}"
    )
    evacuation.restart_libvirt(lab, host)
    try:
        yield
    finally:
        lab.ssh(host, f"rm -f {hook}")
        evacuation.restart_libvirt(lab, host)


@LEFT
def test_what_its_owner_stopped_is_stopped_after_a_failed_spawn_and_a_second_run(clean, playbooks):
    lab = clean
    guests = {**boot(lab, "runs"), **boot(lab, "still", 1, "--stopped")}
    for uuid in guests.values():
        evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    with no_spawn(lab, OTHER):
        evacuation.kill(lab, SOURCE)
        failed = evacuate(playbooks).failed()
        assert {lab.server(uuid)["status"] for uuid in guests.values()} == {"ERROR"}
        for uuid in guests.values():
            (said,) = [item for item in of_code(failed, "SG512") if item["object"]["id"] == uuid]
            assert said["evidence"]["status"] == "ERROR"
            assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"
    done = evacuate(playbooks).ok()
    assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}
    assert_left(lab, [guests["runs1"]])
    assert_left(lab, [guests["still1"]], status="SHUTOFF")
    assert guests["still1"] not in lab.ssh(OTHER, "virsh list --uuid")
    for uuid in guests.values():
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"


@LEFT
def test_one_unconfirmed_resize_does_not_keep_the_others_on_the_dead_host(clean, playbooks):
    lab = clean
    guests = boot(lab, "goes", 2)
    (resized,) = boot(lab, "resized", 1, on=OTHER).values()
    lab.action(resized, "migrate", {"host": SOURCE}, "2.56")
    guestkit.wait_for(lab, resized, "VERIFY_RESIZE", 240, host=SOURCE)
    evacuation.kill(lab, SOURCE)
    refused = evacuate(playbooks).failed()
    assert "SG703" in refused.codes
    assert "evacuate_partial" in refused.output
    assert not lab.service(SOURCE)["forced_down"], "a refused run changed something"
    partly = evacuate(playbooks, variables={"evacuate_partial": True}).failed()
    assert partly.rc == 2
    assert set(partly.stats["left"]) == {resized}
    assert "SG703" in partly.codes
    assert_left(lab, guests.values())
    server = lab.server(resized)
    assert (server["status"], server["OS-EXT-SRV-ATTR:host"]) == ("VERIFY_RESIZE", SOURCE)


# --- the return -----------------------------------------------------------------------------------------------


@LEFT
def test_the_return_reports_guests_whose_disks_are_dead(clean, playbooks):
    """Ceph has refused their QEMU for minutes. They run, Nova calls them ACTIVE, and they can never write again."""
    lab = clean
    guests = boot(lab, "dead", 2)
    goes, stays = guests["dead1"], guests["dead2"]
    cut(lab)
    evacuate(playbooks, variables={"evacuate_servers": [goes]}).ok()
    lab.command("host", SOURCE, "join")
    waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)
    evacuation.may_unblock(lab, "compute3")
    evacuation.notice_refusal(lab, SOURCE, stays)
    with stopped_compute(lab, SOURCE):
        first = come_back(playbooks, ceph=("compute3", "stackguard"))
        dead = of_code(first, "SG517")
        assert [stays in json.dumps(item["object"]) for item in dead] == [True], first.told()
        assert not strangers.listed(lab)
        second = come_back(playbooks, ceph=("compute3", "stackguard")).failed()
        assert "SG517" in second.codes
        assert evacuation.watchers(lab, f"{stays}_disk") == []
    ended = lambda: evacuations(lab, goes) == ["completed"] or None  # noqa: E731
    waiting.until("nova-compute has completed its record", ended, 120, 2)
    assert "SG517" in come_back(playbooks, ceph=("compute3", "stackguard")).failed().codes
    # What the finding says is what helps: nova-compute runs, so that it can be done.
    lab.action(stays, "reboot", {"type": "HARD"})
    guestkit.wait_for(lab, stays, "ACTIVE", 180)
    come_back(playbooks, ceph=("compute3", "stackguard")).ok()
    assert len(evacuation.watchers(lab, f"{stays}_disk")) == 1
    service = lab.service(SOURCE)
    assert (service["status"], service["forced_down"]) == ("enabled", False)


@LEFT
def test_a_host_is_not_let_in_while_a_failed_spawn_runs_its_guest_elsewhere(clean, playbooks):
    """The entry was lifted, and two QEMUs wrote one disk: Nova had the server on the host that came back."""
    lab = clean
    guests = boot(lab, "twin", 2)
    goes, stays = guests["twin1"], guests["twin2"]
    xml = lab.ssh(SOURCE, f"virsh dumpxml --migratable --security-info {stays}")
    cut(lab)
    evacuate(playbooks, variables={"evacuate_servers": [goes]}).ok()
    # As a spawn leaves it that failed after its QEMU had begun.
    alone = re.sub(r"<interface .*?</interface>", "", xml, flags=re.DOTALL)
    lab.ssh(OTHER, f"mkdir -p /var/lib/nova/instances/{stays} && virsh create /dev/stdin", stdin=alone)
    try:
        assert host_of(lab, stays) == SOURCE
        lab.command("host", SOURCE, "join")
        waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)
        evacuation.may_unblock(lab, "compute3")
        with stopped_compute(lab, SOURCE):
            refused = come_back(playbooks, ceph=("compute3", "stackguard")).failed()
            found = [item for item in of_code(refused, "SG507") if item["object"]["id"] == stays]
            # That host was not asked; the image's watcher is its QEMU's.
            (clients,) = [item["evidence"]["clients"] for item in found]
            assert [client.partition(":")[0] for client in clients[f"vms/{stays}_disk"]] == [address(lab, OTHER)]
            assert strangers.listed(lab) == [address(lab)]
            # Its domain here does not run, and then is gone: Nova still has the server here, and would start it.
            for ends in ("destroy", "undefine"):
                lab.ssh(SOURCE, f"virsh {ends} {stays}")
                still = come_back(playbooks, ceph=("compute3", "stackguard")).failed()
                assert [item["object"]["id"] for item in of_code(still, "SG507")] == [stays], still.told()
                assert strangers.listed(lab) == [address(lab)]
            lab.ssh(OTHER, f"virsh destroy {stays}")
            cleared = come_back(playbooks, ceph=("compute3", "stackguard"))
            assert "SG507" not in cleared.codes, cleared.told()
            assert not strangers.listed(lab)
    finally:
        lab.ssh(OTHER, f"virsh destroy {stays}", check=False)


# --- asked, left, two at once ---------------------------------------------------------------------------------


@LEFT
def test_an_open_evacuation_is_asked_and_left_before_anything_was_sent(clean, playbooks):
    lab = clean
    guests = boot(lab, "ask", 2)
    none = evacuate(playbooks, variables={"evacuate_action": "status"}).ok()
    assert f"no evacuation of {SOURCE} is open" in none.output
    assert evacuate(playbooks, variables={"evacuate_action": "resume"}).failed().changed == 0
    evacuation.kill(lab, SOURCE)
    # A host that is switched off may have disabled itself in its last second.
    had = {key: lab.service(SOURCE)[key] for key in ("status", "forced_down", "disabled_reason")}
    # Guards are made, and the run dies.
    kill_at(playbooks, "Evacuate the servers", 6)
    opened, before = journal(lab), state.databases(lab)
    assert strangers.listed(lab) == [address(lab)]
    asked = evacuate(playbooks, variables={"evacuate_action": "status"}).ok()
    assert (asked.changed, journal(lab)) == (0, opened)
    assert opened["operation_id"] in asked.output
    assert all(word in asked.output for word in ("evacuate_action=resume", "evacuate_action=abort"))
    state.assert_same(before, state.databases(lab), "a question changed something")
    # The Ceph user of the hosts may not lift what it has listed: it is said, and nothing is forgotten.
    denied = evacuate(playbooks, variables={"evacuate_action": "abort"}).failed()
    assert strangers.listed(lab) == [address(lab)]
    assert journal(lab)["operation_id"] == opened["operation_id"], denied.told()
    evacuation.may_unblock(lab, OTHER)
    able = {"evacuate_action": "abort", "stackguard_ceph_user": "stackguard", "stackguard_ceph_host": OTHER}
    left = evacuate(playbooks, variables=able).ok()
    assert left.stats["state"] == "aborted"
    assert (strangers.listed(lab), journal(lab)) == ([], None)
    assert {key: lab.service(SOURCE)[key] for key in had} == had
    for uuid in guests.values():
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []
        assert (host_of(lab, uuid), evacuations(lab, uuid)) == (SOURCE, [])
    # It begins again as if nothing had been.
    evacuate(playbooks).ok()
    assert_left(lab, guests.values())


@LEFT
def test_an_evacuation_that_is_left_after_something_was_sent_keeps_the_host_fenced(clean, playbooks):
    lab = clean
    guests = boot(lab, "half", 3)
    evacuation.kill(lab, SOURCE)
    slow = {"variables": {"evacuate_max_parallel": 1}, "constants": {"max_rounds": 1, "measured_for": 1}}
    with evacuation.no_progress(lab, OTHER) as stopped:
        process = start(playbooks, **slow)
        killing.when_said(process, f": evacuation to {OTHER}")
        stopped()
        playbooks.finish(process, timeout=900).failed()
        # Nova is at it.
        early = evacuate(playbooks, variables={"evacuate_action": "abort"}).failed()
        assert "Run the abort again when these evacuations have ended" in early.output
        assert journal(lab)
    sent = [uuid for uuid in guests.values() if evacuations(lab, uuid)]
    assert len(sent) == 1
    waiting.until("it has arrived", lambda: evacuations(lab, sent[0]) == ["done"] or None, 180, 2)
    left = evacuate(playbooks, variables={"evacuate_action": "abort"}).ok()
    assert "return_host" in left.output
    service = lab.service(SOURCE)
    assert service["forced_down"]
    assert service["disabled_reason"].startswith("stackguard:evacuate:")
    assert strangers.listed(lab) == [address(lab)]
    assert journal(lab) is None
    assert all(evacuation.snapshots(lab, f"{uuid}_disk") == [] for uuid in guests.values())
    assert sorted(host_of(lab, uuid) for uuid in guests.values()) == [SOURCE, SOURCE, OTHER]
    # A new operation takes the others.
    evacuate(playbooks).ok()
    assert_left(lab, guests.values())


@LEFT
def test_two_hosts_die_and_are_evacuated_at_the_same_time(clean, playbooks):
    lab = clean
    with evacuation.in_zone(lab, "compute3", "az1"):
        one, two = boot(lab, "one", 3), boot(lab, "two", 3, on=OTHER)
        lab.command("host", SOURCE, "power-off")
        evacuation.kill(lab, OTHER)
        evacuation.wait_down(lab, SOURCE)
        assert "SG514" in evacuate(playbooks).failed().codes, "two dead hosts of one zone are a finding"
        both = {"evacuate_max_hosts": 2, "evacuate_max_parallel": 1}
        processes = [start(playbooks, variables={**both, "evacuate_host": host}) for host in (SOURCE, OTHER)]
        for process in processes:
            playbooks.finish(process, timeout=900).ok()
        assert_left(lab, [*one.values(), *two.values()], ("compute3",))
        assert {entry["about"]["host"] for entry in closed(lab)} == {SOURCE, OTHER}
        assert {tuple(evacuations(lab, uuid)) for uuid in (*one.values(), *two.values())} == {("done",)}
        assert set(strangers.listed(lab)) == {address(lab), address(lab, OTHER)}
        lab.command("guests", "delete", "--all")
        for host in (SOURCE, OTHER):
            lab.command("host", host, "power-on")


# --- a journal of version 0.1 ---------------------------------------------------------------------------------

OLD = "0123456789ab"


def written_by_the_first_version(lab, guests):
    """Leave what commit 7e09ddb left where it was killed after its guards: its journal, the guards, the hold."""
    service = lab.service(SOURCE)
    body = {"status": "disabled", "disabled_reason": f"stackguard:evacuate:{OLD}", "forced_down": True}
    lab.compute("PUT", f"/os-services/{service['id']}", body, "2.53")
    servers = []
    for name, uuid in guests.items():
        image = f"{uuid}_disk"
        lab.command("rbd", "snap", "create", f"vms/{image}@stackguard-{OLD}")
        images = {image: evacuation.rbd(lab, "info", f"vms/{image}")["id"]}
        servers.append({"uuid": uuid, "name": name, "status": "ACTIVE", "images": images, "numa": []})
    lab.command("ceph", "osd", "blocklist", "add", f"{address(lab)}:0/0", "157680000")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    proof = {"kind": "blocklist", "proof": "its addresses were read back", "addresses": [address(lab)], "at": at}
    names = ("fence", "hold_down", "guard", "evacuate", "unguard")
    step = {"where": "controller", "params": {}, "changes": []}
    steps = [{"name": name, "title": name, "action": name, **step} for name in names]
    found = {
        "schema": 1,
        "kind": "evacuate",
        "operation_id": OLD,
        "subject": SOURCE,
        "state": "open",
        "started_at": at,
        "updated_at": at,
        "run": {"controller": "gone.example", "pid": 1, "pid_start": 1},
        "about": {
            "host": SOURCE,
            "fence": "blocklist",
            "addresses": [address(lab)],
            "order": list(guests.values()),
            "servers": servers,
            "overrides": [],
            "fence_proof": proof,
        },
        "plan": {"kind": "evacuate", "operation_id": OLD, "subject": SOURCE, "steps": steps, "notes": []},
        "steps": dict.fromkeys(names, "pending"),
        "history": [{"at": at, "text": "opened"}],
        "memory": {"riding": []},
    }
    state_dir(lab).mkdir(mode=0o700, parents=True, exist_ok=True)
    (state_dir(lab) / "evacuate.json").write_text(json.dumps(found))


@LEFT
def test_beside_an_evacuation_that_the_first_version_began_nothing_is_begun_or_ended(clean, playbooks):
    """It may have sent servers, and does not say so: only the first version can end it."""
    lab = clean
    guests = boot(lab, "old", 2)
    evacuation.kill(lab, SOURCE)
    written_by_the_first_version(lab, guests)
    path, service = state_dir(lab) / "evacuate.json", lab.service(SOURCE)
    before, images = path.read_text(), [f"{uuid}_disk" for uuid in guests.values()]
    guards = [evacuation.snapshots(lab, image) for image in images]
    try:
        able = {"stackguard_take_over": True, "stackguard_ceph_user": "stackguard", "stackguard_ceph_host": OTHER}
        runs = [evacuate(playbooks, variables={"evacuate_action": "status"})]
        runs += [
            evacuate(playbooks, variables={**able, "evacuate_action": action})
            for action in ("apply", "resume", "abort")
        ]
        runs += [evacuate(playbooks, variables={**able, "evacuate_host": OTHER}), come_back(playbooks)]
        for run in runs:
            told = run.failed().output
            assert "SG706" in told
            assert str(path) in told
            assert "version 0.1" in told
            assert run.changed == 0
        looks = {"audit_fail_on": "never", "stackguard_state_dir": str(state_dir(lab))}
        found = playbooks.run("audit", variables=looks).ok().report
        (item,) = [entry for entry in found["findings"] if entry["evidence"].get("journal") == str(path)]
        assert (item["code"], item["severity"], item["evidence"]["operation"]) == ("SG706", "blocker", OLD)
        assert not [entry for entry in found["findings"] if entry["code"] in ("SG508", "SG515", "SG516")]
        assert path.read_text() == before
        assert journal(lab) is None, "a second operation was opened beside it"
        assert [evacuation.snapshots(lab, image) for image in images] == guards
        assert strangers.listed(lab) == [address(lab)]
        assert lab.service(SOURCE)["disabled_reason"] == service["disabled_reason"]
        assert {host_of(lab, uuid) for uuid in guests.values()} == {SOURCE}
    finally:
        path.unlink(missing_ok=True)
        for image in images:
            lab.command("rbd", "snap", "rm", f"vms/{image}@stackguard-{OLD}")


@LEFT
def test_a_soft_deleted_server_is_named_keeps_its_disk_and_can_be_restored_after_the_return(clean, playbooks):
    """Nova evacuates it nowhere and lists it nowhere. Its owner wants it back next week."""
    lab = clean
    guests = boot(lab, "soft", 2)
    gone, kept = guests["soft1"], guests["soft2"]
    evacuation.mark(lab, OTHER, f"{kept}_disk", MARK)
    with zoning.soft_deletion(lab):
        lab.compute("DELETE", f"/servers/{kept}")
        waiting.until("soft-deleted", lambda: lab.server(kept)["status"] == "SOFT_DELETED" or None, 180)
        evacuation.kill(lab, SOURCE)
        done = evacuate(playbooks).ok()
        assert [item["object"]["name"] for item in of_code(done, "SG519")] == ["soft2"], done.told()
        assert f"openstack server restore {kept}" in done.output
        assert_left(lab, [gone])
        assert evacuation.mark(lab, OTHER, f"{kept}_disk") == MARK
        returned(lab, playbooks)
        assert lab.server(kept)["status"] == "SOFT_DELETED"
        lab.action(kept, "restore", None)
        guestkit.wait_for(lab, kept, "ACTIVE", host=SOURCE)
        assert evacuation.mark(lab, OTHER, f"{kept}_disk") == MARK


@LEFT
def test_a_server_that_came_between_a_killed_run_and_the_next_one_is_not_forgotten(clean, playbooks):
    """Killed before the fence. The host came back, Nova put a server on it, and it died again."""
    lab = clean
    guests = boot(lab, "first", 2)
    evacuation.kill(lab, SOURCE)
    given = {"fence": "power", "variables": by_power(lab)}
    kill_at(playbooks, "Switch the machine off", 1, **given)
    opened = journal(lab)
    assert opened["cloud_id"].endswith(" in RegionOne"), "keystone's id of Nova, and the region"
    lab.command("host", SOURCE, "power-on")
    guestkit.wait_compute(lab, SOURCE)
    late = boot(lab, "late")["late1"]
    # The host's start has left these off. Nova notices it in its own time (_sync_power_states).
    before = {uuid: lab.server(uuid)["status"] for uuid in guests.values()}
    evacuation.kill(lab, SOURCE)
    # Another cloud has a host of this name, and its operator the same directory.
    path = state_dir(lab) / f"evacuate-{SOURCE}.json"
    path.write_text(json.dumps({**opened, "cloud_id": "0f3a in RegionOne"}))
    other = evacuate(playbooks, **given).failed()
    assert f"This run works on {opened['cloud_id']}" in other.output
    assert (journal(lab)["cloud_id"], other.changed) == ("0f3a in RegionOne", 0)
    path.write_text(json.dumps(opened))
    first = evacuate(playbooks, **given).failed()
    assert "this operation does not evacuate late1" in first.output
    assert first.stats["left"] == {late: "the server came to the host after the evacuation began"}
    assert (first.report["verdict"], journal(lab)) == ("block", None)
    for uuid, status in before.items():
        assert_left(lab, [uuid], status=status)
    assert (host_of(lab, late), evacuations(lab, late)) == (SOURCE, [])
    evacuate(playbooks, **given).ok()
    for uuid, status in {**before, late: "ACTIVE"}.items():
        assert_left(lab, [uuid], status=status)


# --- a disk that opens and can not be written -----------------------------------------------------------------


@ATTACK
def test_a_ceph_user_that_may_not_break_a_dead_hosts_lock_is_told_before_the_fence(clean, playbooks):
    """Nova alone: the guest arrives, is ACTIVE, and no write to its disk ends. The run said so after the fence."""
    lab = clean
    guests = boot(lab, "lock", 2)
    one, two = guests["lock1"], guests["lock2"]
    for uuid in (one, two):
        assert evacuation.writes(lab, SOURCE, uuid), "its QEMU has the lock"
    power = by_power(lab)
    with evacuation.caps_of_nova(lab, "allow r") as user:
        evacuation.kill(lab, SOURCE)
        before = state.databases(lab)
        refused = evacuate(playbooks, fence="power", variables=power).failed()
        (found,) = of_code(refused, "SG518")
        assert found["severity"] == "blocker"
        assert f"ceph auth caps {user} mon 'profile rbd'" in found["remedy"]
        assert "TASK [stackguard.nova.evacuate_host : Fence the host" not in refused.stdout
        state.assert_same(before, state.databases(lab), "a refused run changed something")
        assert (journal(lab), evacuations(lab, one)) == (None, [])
        # A user of the run's own makes the guard: for that it breaks the lock, and the guest can write.
        for host in ("compute2", "compute3"):
            evacuation.may_unblock(lab, host)
        own = {**power, "stackguard_ceph_user": "stackguard", "evacuate_servers": [one]}
        ended = evacuate(playbooks, fence="power", variables=own).ok()
        assert [item["severity"] for item in of_code(ended, "SG518")] == ["warning"]
        assert_left(lab, [one])
        assert evacuation.writes(lab, OTHER, one)
        # Unguarded.
        assert evacuation.evacuate_unguarded(lab, two, OTHER)["status"] == "ACTIVE"
        assert not evacuation.writes(lab, OTHER, two)
    # With the caps of the remedy, a new client breaks the lock.
    lab.command("openstack", "server", "reboot", "--hard", "--wait", two)
    assert evacuation.writes(lab, OTHER, two)
