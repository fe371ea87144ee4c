# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuation: what unguarded Nova does, then the same guarded. Disks are compared by bytes, writers by watchers.

Each test boots the guests that it needs, and puts the lab back.
"""

from __future__ import annotations

import pytest
from labkit import evacuation, killing, state, waiting
from labkit import guests as guestkit
from labkit.deadhost import (
    MARK,
    OPERATION,
    OTHER,
    SOURCE,
    blocklist,
    boot,
    by_command,
    by_power,
    come_back,
    disks,
    evacuate,
    evacuations,
    journal,
    kill_at,
    returned,
    start,
    state_dir,
    stopped_compute,
)

# --- unguarded ------------------------------------------------------------------------------------------------


def test_unguarded_a_failed_spawn_deletes_the_root_disk(clean):
    lab = clean
    (uuid,) = boot(lab, "lost", 1, "--flavor", "big", "--swap", "64").values()
    evacuation.mark(lab, OTHER, f"{uuid}_disk", MARK)
    with evacuation.no_memory(lab, OTHER):
        evacuation.kill(lab, SOURCE)
        lab.command("rbd", "rm", f"vms/{uuid}_disk.swap")
        assert evacuation.evacuate_unguarded(lab, uuid, OTHER)["status"] == "ERROR"
        waiting.until("the root disk gone", lambda: f"{uuid}_disk" not in evacuation.images(lab), 120, 2)


def test_guarded_the_same_is_refused_and_the_disk_is_there(clean, playbooks):
    lab = clean
    (uuid,) = boot(lab, "kept", 1, "--flavor", "big", "--swap", "64").values()
    evacuation.mark(lab, OTHER, f"{uuid}_disk", MARK)
    with evacuation.no_memory(lab, OTHER):
        evacuation.kill(lab, SOURCE)
        lab.command("rbd", "rm", f"vms/{uuid}_disk.swap")
        before = state.databases(lab)
        result = evacuate(playbooks).failed()
        assert "SG504" in result.codes
        state.assert_same(before, state.databases(lab), "a refused run changed something")
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == MARK
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []
        # The missing disk was seen in no cluster: no blocklist covers it, which is another reason by itself.
        passed = ("SG504", "SG501", "SG506")
        word = [{"code": code, "object": uuid, "reason": "the test wants to see it"} for code in passed]
        failed = evacuate(playbooks, variables={"stackguard_overrides": word}).failed()
        assert evacuations(lab, uuid)[-1:] == ["failed"], f"it was not sent at all: {failed.told()}"
        assert failed.report["verdict"] == "block"
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == MARK, "the guard kept the data"
        assert evacuation.snapshots(lab, f"{uuid}_disk") == [], "and was removed"


@pytest.mark.matrix
def test_unguarded_a_host_that_lives_ends_in_two_writers(clean):
    lab = clean
    (uuid,) = boot(lab, "twice").values()
    lab.ssh(SOURCE, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    try:
        evacuation.wait_down(lab, SOURCE)
        assert evacuation.evacuate_unguarded(lab, uuid, OTHER)["status"] == "ACTIVE"
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 2
    finally:
        lab.ssh(SOURCE, f"virsh destroy {uuid}; systemctl unmask --runtime nova-compute; systemctl start nova-compute")


@pytest.mark.matrix
@pytest.mark.parametrize("fence", ["blocklist", "attested"])
def test_guarded_a_host_that_lives_is_refused(clean, playbooks, fence):
    lab = clean
    (uuid,) = boot(lab, "once").values()
    lab.ssh(SOURCE, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    try:
        evacuation.wait_down(lab, SOURCE)
        word = [{"code": "SG506", "object": SOURCE, "reason": "I am sure"}]
        result = evacuate(playbooks, fence=fence, variables={"stackguard_overrides": word}).failed()
        assert "SG506" in result.codes
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == SOURCE
    finally:
        lab.ssh(SOURCE, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")


# --- guarded --------------------------------------------------------------------------------------------------


def test_all_guests_of_a_dead_host_run_elsewhere_with_their_disks(clean, playbooks):
    lab = clean
    guests = {**boot(lab, "run", 3), **boot(lab, "still", 1, "--stopped"), **boot(lab, "swap", 1, "--swap", "64")}
    for uuid in guests.values():
        evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    evacuation.kill(lab, SOURCE)
    before = {uuid: disks(lab, uuid) for uuid in guests.values()}
    checked = evacuate(playbooks, flags=["--check", "--diff"]).ok()
    assert "evacuate 5 servers" in checked.output
    assert not evacuation.snapshots(lab, f"{guests['run1']}_disk")
    # It breaks off while four are in transit: what a failed spawn could delete stays guarded.
    four = {"evacuate_max_parallel": 4}
    with evacuation.no_progress(lab, OTHER) as stopped:
        process = start(playbooks, variables=four, constants={"measured_for": 1, "max_rounds": 1})
        killing.when_said(process, f": evacuation to {OTHER}")
        stopped()
        broken = playbooks.finish(process, timeout=900).failed()
    assert (
        "Nova may still be evacuating these servers, so the run keeps their guard snapshots: run1, run2, run3, still1."
        in broken.stats["message"]
    )
    assert "The operation is still open. Run the same command again to resume the operation." in broken.output
    assert broken.report["verdict"] == "block"
    guarded = {name for name, uuid in guests.items() if evacuation.snapshots(lab, f"{uuid}_disk")}
    assert len(guarded) == 4, broken.told()
    assert all(name in broken.output for name in guarded)
    noted = {entry["uuid"] for entry in journal(lab)["memory"]["in_transit"]}
    assert {guests[name] for name in guarded} == noted, "a guard is kept for each that may be in transit"
    # On a busy machine its nova-compute was stopped so long that it lost its libvirt, and disabled itself.
    evacuation.let_schedule(lab, OTHER)
    # Carried on with; hosts are read again and again while somebody is on the way.
    done = evacuate(playbooks, variables=four, constants={"measured_for": 1}).ok()
    assert (done.report["verdict"], done.stats["verdict"], done.stats["state"]) == ("pass", "pass", "evacuated")
    assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}
    for name, uuid in guests.items():
        server = lab.server(uuid)
        assert server["OS-EXT-SRV-ATTR:host"] == OTHER
        assert server["status"] == ("SHUTOFF" if name.startswith("still") else "ACTIVE")
        assert disks(lab, uuid) == before[uuid]
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == int(not name.startswith("still"))
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []
        assert evacuations(lab, uuid) == ["done"], "asked for once"
    again = evacuate(playbooks)
    assert again.rc == 0
    assert "has no servers, so there is nothing to evacuate" in again.output


@pytest.mark.matrix
def test_a_host_that_was_cut_off_is_fenced_by_the_blocklist(clean, playbooks):
    lab = clean
    (uuid,) = boot(lab, "cut").values()
    evacuation.mark(lab, OTHER, f"{uuid}_disk", MARK)
    lab.command("host", SOURCE, "cut")
    evacuation.wait_down(lab, SOURCE)
    refused = evacuate(playbooks, fence="attested").failed()
    assert "SG506" in refused.codes
    evacuate(playbooks, fence="blocklist").ok()
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
    lab.command("host", SOURCE, "join")
    # The old QEMU is still there. Whatever it writes, Ceph refuses.
    waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)
    assert uuid in lab.ssh(SOURCE, "virsh list --uuid")
    with pytest.raises(AssertionError, match=r"ESHUTDOWN|ConnectionShutdown|errno 108|shutdown"):
        evacuation.mark(lab, SOURCE, f"{uuid}_disk", "WRITTEN-BY-A-DEAD-HOST")
    assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == MARK
    assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1
    the_host_returns(lab, playbooks, uuid)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("fence", "options"),
    [("command", by_command), ("power", by_power)],
)
def test_a_host_that_was_cut_off_is_switched_off(clean, playbooks, fence, options):
    lab = clean
    (uuid,) = boot(lab, "off").values()
    evacuation.mark(lab, OTHER, f"{uuid}_disk", MARK)
    lab.command("host", SOURCE, "cut")
    evacuation.wait_down(lab, SOURCE)
    assert lab.power(SOURCE) == "cut"
    # A fence that does not do what it says is none: refused after it, with nothing sent.
    if fence == "command":
        lying = {**options(lab), "evacuate_fence_command": "true"}
        refused = evacuate(playbooks, fence=fence, variables={**lying, "evacuate_fence_confirm_command": "false"})
        assert "compute1 is not fenced: evacuate_fence_confirm_command" in refused.failed().output
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == SOURCE
        assert evacuations(lab, uuid) == []
    evacuate(playbooks, fence=fence, variables=options(lab)).ok()
    assert lab.power(SOURCE) == "off"
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
    assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == MARK
    assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1


@pytest.mark.matrix
def test_a_dead_host_may_be_attested_by_name_and_with_a_reason(clean, playbooks):
    lab = clean
    (uuid,) = boot(lab, "word").values()
    evacuation.kill(lab, SOURCE)
    assert "SG506" in evacuate(playbooks, fence="attested").failed().codes
    word = [{"code": "SG506", "object": SOURCE, "reason": "I pulled its plug"}]
    done = evacuate(playbooks, fence="attested", variables={"stackguard_overrides": word}).ok()
    assert done.report["counts"]["overridden"] == 1
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER


def the_host_returns(lab, playbooks, uuid):
    """While nova-compute runs there is no way back; stopped, the old QEMU ends before the blocklist is lifted."""
    assert "SG510" in come_back(playbooks).failed().codes
    lab.ssh(SOURCE, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    try:
        checked = come_back(playbooks, ["--check", "--diff"]).ok()
        assert "End 1 domain" in checked.output
        assert uuid in lab.ssh(SOURCE, "virsh list --uuid")
        assert blocklist(lab)
        denied = come_back(playbooks).failed()
        assert "ceph osd blocklist rm" in denied.output
        assert denied.report["verdict"] == "block"
        assert blocklist(lab)
        evacuation.may_unblock(lab, "compute3")
        come_back(playbooks, ceph=("compute3", "stackguard")).ok()
        assert uuid not in lab.ssh(SOURCE, "virsh list --all --uuid")
        assert not blocklist(lab)
        again = come_back(playbooks).ok()
        assert "nothing to clear" in again.output
        assert "run return_host again" in again.output
        service = lab.service(SOURCE)
        assert (service["status"], service["forced_down"]) == ("disabled", True), "Nova would refuse it"
    finally:
        lab.ssh(SOURCE, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")
    ended = "SELECT status FROM migrations WHERE instance_uuid = %s AND migration_type = 'evacuation'"
    waiting.until("the record is completed", lambda: lab.value("cell1", ended, uuid) == "completed" or None, 120, 2)
    come_back(playbooks).ok()
    guestkit.wait_compute(lab, SOURCE)
    service = lab.service(SOURCE)
    assert (service["status"], service["forced_down"]) == ("enabled", False)
    assert "nothing to clear" in come_back(playbooks).ok().output
    assert lab.server(uuid)["status"] == "ACTIVE"
    assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == MARK
    assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1


#: Where a run is killed, in this order, each run resumed by the next: at the start of so many-th task of this name,
#: or of the first one after another task.
TASKS = (
    # Nothing is open yet.
    (OPERATION, 3),
    ("Blocklist the host's addresses in each Ceph cluster, or read the blocklist if the host is already fenced", 1),
    # Fenced, and not noted; held down.
    (OPERATION, 4),
    (OPERATION, 5),
    ("Protect the images of each Ceph pool with guard snapshots", 1),
    # Guarded, and not noted.
    (OPERATION, "Protect the images of each Ceph pool with guard snapshots"),
    # In the middle of a wave: its server is in transit.
    (OPERATION, 7),
    ("Remove the guard snapshots from the images of each Ceph pool", 1),
    # Guards were removed, and it was not noted.
    (OPERATION, "Remove the guard snapshots from the images of each Ceph pool"),
)


@pytest.mark.matrix("evacuation-disturbed")
def test_killed_at_each_step_and_run_again_nobody_is_evacuated_twice(clean, playbooks):
    lab = clean
    guests = boot(lab, "half", 4)
    for uuid in guests.values():
        evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    evacuation.kill(lab, SOURCE)
    # Hosts are read again while one is on its way.
    slow = {"variables": {"evacuate_max_parallel": 1}, "constants": {"measured_for": 1}}
    for task, place in TASKS:
        times, after = (1, place) if isinstance(place, str) else (place, None)
        kill_at(playbooks, task, times, 3.0 if times == 7 else 0.0, after, **slow)
    evacuate(playbooks, **slow).ok()
    for uuid in guests.values():
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
        assert evacuations(lab, uuid) == ["done"], "one record: asked for once"
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []
    assert evacuate(playbooks, **slow).ok().changed == 0


@pytest.mark.matrix("evacuation-disturbed")
def test_two_operators_at_once_one_is_refused(clean, playbooks, tmp_path):
    lab = clean
    guests = boot(lab, "once", 3)
    evacuation.kill(lab, SOURCE)
    slow = {"evacuate_max_parallel": 1}
    first = start(playbooks, variables=slow)
    held = lambda: (lab.service(SOURCE).get("disabled_reason") or "").startswith("stackguard:") or None  # noqa: E731
    waiting.until("the host is held", held, 300, 0.5)
    same = evacuate(playbooks, variables=slow).failed()
    assert "SG707" in same.output
    # From another controller, which knows nothing of the journal.
    other = evacuate(playbooks, variables={**slow, "stackguard_state_dir": str(tmp_path / "elsewhere")}).failed()
    assert "SG707" in other.codes
    playbooks.finish(first, timeout=900).ok()
    for uuid in guests.values():
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
        assert evacuations(lab, uuid) == ["done"]


@pytest.mark.matrix("evacuation-disturbed")
def test_without_memory_for_all_those_who_fit_go_and_the_others_stay_recoverable(clean, playbooks):
    """Real memory: something eats it on the destination until two and a half guests of 2 GiB are left."""
    lab = clean
    # libvirt tells placement what the machine had at its start, which may be 15 GiB: all five have room there.
    lab.cloud.compute.find_flavor("fat") or lab.cloud.compute.create_flavor(name="fat", ram=2048, vcpus=1, disk=1)
    guests = boot(lab, "fat", 5, "--flavor", "fat")
    for uuid in guests.values():
        evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
    before = {uuid: disks(lab, uuid) for uuid in guests.values()}
    evacuation.kill(lab, SOURCE)
    with evacuation.memory_left(lab, OTHER, 512 + int(2.5 * (2048 + 128))):
        refused = evacuate(playbooks).failed()
        assert "SG501" in refused.codes
        assert not lab.service(SOURCE)["forced_down"], "a refused run changed something"
        partly = evacuate(playbooks, variables={"evacuate_partial": True}).failed()
        assert partly.report["verdict"] == "block"
        assert partly.report["counts"]["blocker"] == 3
        gone = {name for name, uuid in guests.items() if lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER}
        assert len(gone) == 2, partly.told()
        assert set(partly.stats["left"]) == {guests[name] for name in set(guests) - gone}
        assert all(guests[name] in partly.output for name in set(guests) - gone)
        for name, uuid in guests.items():
            assert lab.server(uuid)["status"] == "ACTIVE"
            assert disks(lab, uuid) == before[uuid]
            assert evacuation.snapshots(lab, f"{uuid}_disk") == []
            assert len(evacuation.watchers(lab, f"{uuid}_disk")) == int(name in gone)
    # There is memory again: the same command takes the others, though its first operation has ended. What the two
    # may still touch of theirs is not free: that the guests of this test never will, the operator says by name.
    evacuate(playbooks, variables={"evacuate_overcommit": 3.0}).ok()
    for uuid in guests.values():
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
        assert evacuation.mark(lab, OTHER, f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"


@pytest.mark.matrix("evacuation-disturbed")
def test_the_destination_dies_in_the_middle(clean, playbooks):
    """The server that was on its way there is named and asked for nowhere else; the others go to the third host."""
    lab = clean
    with evacuation.in_zone(lab, "compute3", "az1"):
        guests = boot(lab, "trip", 4)
        for uuid in guests.values():
            evacuation.mark(lab, OTHER, f"{uuid}_disk", f"{MARK}-{uuid[:8]}")
        evacuation.kill(lab, SOURCE)
        slow = {"variables": {"evacuate_max_parallel": 1}, "constants": {"server_timeout": 90}}
        process = start(playbooks, **slow)
        # Its nova-compute is at it: before that, the scheduler may still find the host down.

        def on_its_way():
            going = [uuid for uuid in guests.values() if evacuation.destination(lab, uuid) == OTHER]
            return [uuid for uuid in going if evacuations(lab, uuid)[-1:] == ["pre-migrating"]]

        (stuck,) = waiting.until("one is on its way", on_its_way, 300, 0.3)
        lab.command("host", OTHER, "power-off")
        ended = playbooks.finish(process, timeout=900).failed()
        assert stuck in ended.output
        assert ended.report["verdict"] == "block"
        for uuid in guests.values():
            assert f"{uuid}_disk" in evacuation.images(lab)
            if uuid != stuck and lab.server(uuid)["OS-EXT-SRV-ATTR:host"] not in (SOURCE, OTHER):
                assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == "compute3"
        lab.command("host", OTHER, "power-on")
        guestkit.wait_compute(lab, OTHER)
        # Nova never ends it. Who knows that nobody works on it any more gives it back its state, and says so.
        refused = evacuate(playbooks, **slow).failed()
        assert "SG702" in refused.codes
        assert set(refused.stats["left"]) == {stuck}
        (record,) = [row["object"]["id"] for row in refused.report["findings"] if row["code"] == "SG702"]
        lab.action(stuck, "os-resetState", {"state": "active"})
        known = {"code": "SG702", "object": record, "reason": "nova-compute of its destination was started anew"}
        slow["variables"]["stackguard_overrides"] = [known]
        evacuate(playbooks, **slow).ok()
        for uuid in guests.values():
            assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] != SOURCE
            assert evacuation.mark(lab, "compute3", f"{uuid}_disk") == f"{MARK}-{uuid[:8]}"
            assert len(evacuation.watchers(lab, f"{uuid}_disk")) <= 1


@pytest.mark.matrix("evacuation-disturbed")
def test_a_pin_to_a_zone_whose_only_host_died_is_refused_before_nova_makes_it_an_error(clean, playbooks):
    lab = clean
    guestkit.create(lab, "alone", "1", "--zone", "az2")
    (uuid,) = (row["id"] for row in guestkit.every(lab).values())
    evacuation.kill(lab, "compute3")
    result = evacuate(playbooks, variables={"evacuate_host": "compute3"}).failed()
    assert "SG512" in result.codes
    assert lab.server(uuid)["status"] == "ACTIVE"


@pytest.mark.matrix("evacuation-left")
def test_what_an_evacuation_leaves_keeps_no_server_from_the_way_back(clean, playbooks):
    """Nova leaves the directories of evacuated servers, and refuses to live-migrate these servers back: SG713."""
    lab = clean
    uuids = boot(lab, "back", 2).values()
    evacuation.kill(lab, SOURCE)
    evacuate(playbooks, fence="power", variables=by_power(lab)).ok()
    lab.command("host", SOURCE, "power-on")
    waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)
    # Unguarded: both directories are there, and the first move back fails.
    place = "/var/lib/nova/instances"
    assert set(uuids) <= set(lab.ssh(SOURCE, f"ls {place}").split())
    returned(lab, playbooks)
    found = lab.ssh(SOURCE, f"ls {place}").split()
    assert not set(uuids) & set(found)
    aside = [name for name in found if ".stackguard-" in name and name.partition(".")[0] in uuids]
    assert {name.partition(".")[0] for name in aside} == set(uuids)
    (one, *_more) = sorted(aside)
    uuid = one.partition(".")[0]
    lab.ssh(SOURCE, f"mv {place}/{one} {place}/{uuid}")
    lab.action(uuid, "os-migrateLive", {"host": SOURCE, "block_migration": "auto"}, "2.68")
    last = "SELECT status FROM migrations WHERE instance_uuid = %s ORDER BY id DESC"
    waiting.until("Nova refuses it", lambda: lab.value("cell1", last, uuid) in ("error", "failed") or None, 120, 2)
    # Its rollback deletes what is there, whatever it is.
    gone = lambda: uuid not in lab.ssh(SOURCE, f"ls {place}").split() or None  # noqa: E731
    waiting.until("Nova has deleted the directory", gone, 60, 2)
    # Guarded: with such a directory again the host is cleared once more, and all go back.
    lab.ssh(SOURCE, f"mkdir {place}/{uuid}; touch {place}/{uuid}/console.log")
    with stopped_compute(lab, SOURCE):
        told = come_back(playbooks, ["--check"], ceph=("compute3", "stackguard"))
        assert uuid in told.ok().output
        come_back(playbooks, ceph=("compute3", "stackguard")).ok()
    guestkit.wait_compute(lab, SOURCE)
    playbooks.run("drain_host", variables={"drain_host": OTHER, "stackguard_state_dir": str(state_dir(lab))}).ok()
    assert {lab.server(one)["OS-EXT-SRV-ATTR:host"] for one in uuids} == {SOURCE}
