# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attacks on returns, drains, moves and pins: a run that ends well though something was not looked at, or is wrong."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.action import server_zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.tests.unit.builders import healthy
from ansible_collections.stackguard.nova.tests.unit.checks.before import test_return_host as back
from ansible_collections.stackguard.nova.tests.unit.journaled import State
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene
from ansible_collections.stackguard.nova.tests.unit.operations import test_move_servers as moves
from ansible_collections.stackguard.nova.tests.unit.operations import test_pin_zones as pins
from ansible_collections.stackguard.nova.tests.unit.systems.ceph import test_guard_snapshots as ceph
from ansible_collections.stackguard.nova.tests.unit.two_cells import TwoCells

ONE, TWO = moves.ONE, moves.TWO


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


@pytest.fixture
def nova(monkeypatch):
    return moves.Cloud(monkeypatch)


# --- return_host ----------------------------------------------------------------------------------------------


def two_pools(*watchers, other=None):
    """One cluster with two of Nova's pools, and a host that looks into each: both see the volume."""

    def volume(seen):
        image = facts.RbdImage("volume-1", "v", 1, [], seen, [])
        return [facts.RbdVolume("volumes", image)]

    seen = [facts.RbdWatcher(address) for address in watchers]
    near = dataclasses.replace(back.ceph([f"{back.HOST}:0/77"], ()), volumes=volume(seen))
    far = back.ceph((), (), images=False, pool="vms2")
    far = dataclasses.replace(far, volumes=volume(seen if other is None else other))
    some = back.with_disks(back.at_home(), "volumes/volume-1")
    return some.host("compute2", rbd=near).host("compute3", rbd=far)


def test_a_dead_volume_that_the_readers_of_two_pools_saw_is_dead_and_not_clear():
    request = back.asked(back.evacuation(), readers=("compute2", "compute3"))
    some = two_pools()
    assert back.blockers(some, request) == ["SG517"]
    some = two_pools(f"{back.HOST}:0/5")
    assert back.blockers(some, request) == []
    assert back.judged(some, request).checked.unchecked == ()


def test_a_volume_whose_watchers_one_of_two_readers_could_not_read_is_judged_by_the_other():
    request = back.asked(back.evacuation(), readers=("compute2", "compute3"))
    unread = two_pools()
    rbd = unread.bundle.hosts["compute2"].rbd
    blind = dataclasses.replace(rbd.volumes[0].image, watchers=None)
    unread = unread.host("compute2", rbd=dataclasses.replace(rbd, volumes=[facts.RbdVolume("volumes", blind)]))
    assert back.blockers(unread, request) == ["SG517"]


def test_a_volume_that_two_clusters_have_is_not_known_to_be_open():
    request = back.asked(back.evacuation(), readers=("compute2", "compute3"))
    some = two_pools(f"{back.HOST}:0/5")
    rbd = dataclasses.replace(some.bundle.hosts["compute3"].rbd, fsid="g")
    found = back.judged(some.host("compute3", rbd=rbd), request).checked.findings
    assert [(item.code, item.object.kind) for item in found if item.severity == "blocker"] == [("SG709", "image")]


def test_a_qemu_that_libvirt_has_lost_keeps_the_entry_that_stops_it_from_writing():
    """libvirt was installed again and shows nothing; the old QEMU of a server that lives elsewhere runs on."""
    some = back.back().host("compute1", domains=[], qemu_processes={back.ONE: 4711})
    assert back.blockers(some) == ["SG110"]
    (item,) = [item for item in back.judged(some).checked.findings if item.code == "SG110"]
    assert (item.object.id, "4711" in item.remedy) == (back.ONE, True)
    # One that libvirt shows is judged as its domain.
    assert back.blockers(back.back().host("compute1", qemu_processes={back.ONE: 1001})) == []
    # A definition that libvirt takes for shut off, whose QEMU runs on.
    some = back.back(state="shutoff").host("compute1", qemu_processes={back.ONE: 4711})
    assert back.blockers(some) == ["SG110"]


def test_processes_that_were_not_read_are_not_none_while_an_entry_is_to_be_lifted():
    some = back.back().host("compute1", domains=[], qemu_processes=None)
    assert back.blockers(some) == ["SG709"]


# --- drain_host and migrate_server ----------------------------------------------------------------------------


def test_a_server_that_came_back_to_the_drained_host_after_it_had_left_is_no_empty_host(nova, state):
    """Another operator moves it back while others are on their way: the host was reported as empty."""
    moved_back = []

    def sleep(seconds):
        moves.Cloud.sleep(nova, seconds)
        left = [uuid for uuid, host in nova.hosts.items() if host != "compute1"]
        if left and not moved_back:
            moved_back.append(left[0])
            nova.jobs.append((nova.now + 3, lambda: nova.servers[left[0]].update({"OS-EXT-SRV-ATTR:host": "compute1"})))

    result = nova.apply(state, sleep=sleep, max_parallel=1)
    assert moved_back
    while result.get("again"):
        result = nova.apply(state, again=True)
    assert "compute1" not in nova.hosts.values(), result["msg"]
    assert result["state"] == "finished"


def test_a_name_that_nobody_has_is_not_forgotten_because_the_others_may_move(nova, state):
    """migrate_partial=true, and one name is misspelt: the run ended well, and nothing named it any more."""
    result = nova.apply(state, drain_host=None, servers=[ONE, "web-misspelt"], partial=True)
    assert nova.hosts[ONE] in moves.NEAR
    assert result.get("failed"), result["msg"]
    assert "web-misspelt" in str(result["left"]) + str(result["report"]["findings"])
    assert result["report"]["verdict"] == "block"


class Arrives(moves.Broken):
    """A server arrives, and then something else makes it ERROR: its migration is completed."""

    broken = frozenset()

    def live_migrate(self, cloud, uuid, host):
        super().live_migrate(cloud, uuid, host)
        _when, arrive = self.jobs[-1]

        def end():
            arrive()
            if uuid == ONE:
                self.servers[uuid]["status"] = "ERROR"

        self.jobs[-1] = (self.now + 5, end)

    def last_migration(self, cloud, uuid):
        found = super().last_migration(cloud, uuid)
        return {**found, "status": "completed", "dest_compute": self.hosts[uuid]}


def test_a_server_that_arrived_and_is_in_error_is_reported_and_not_looked_at_for_ever(monkeypatch, state):
    nova = Arrives(monkeypatch)
    result, rounds = nova.apply(state), 0
    while result.get("again") and rounds < 10:
        result, rounds = nova.apply(state, again=True), rounds + 1
    assert rounds < 10, "every round ends with the same: the hosts are read again"
    assert result["failed"]
    assert ONE in result["left"]


def test_a_server_is_not_made_active_where_it_was_not_read_what_else_moves_it(monkeypatch, state):
    nova = moves.Broken(monkeypatch, Scene().target(5, status="disabled"))
    assert nova.apply(state)["again"]
    nova.scene = nova.scene.unanswered("migrations")
    with pytest.raises(StepError, match="SG709"):
        nova.rounds(state)
    assert not [call for call in nova.calls if call[0] == "reset"]


def test_a_server_with_a_qemu_that_the_destinations_libvirt_has_lost_is_not_made_active(monkeypatch, state):
    nova = moves.Broken(monkeypatch, Scene().target(5, status="disabled"))
    assert nova.apply(state)["again"]
    (failed,) = nova.last
    nova.scene = nova.scene._with(cloud=nova.scene.cloud.host("compute3", qemu_processes={failed: 4711}))
    result = nova.rounds(state)
    assert not [call for call in nova.calls if call[0] == "reset"]
    assert "compute3" in next(item for item in result["report"]["findings"] if item["code"] == "SG711")["remedy"]


# --- server_zone_pin ------------------------------------------------------------------------------------------


def test_a_pin_is_not_given_back_unseen_where_its_cell_does_not_answer(monkeypatch, state):
    """Killed, then taken back while a cell is down: it was taken for changed by somebody else, and all was closed."""
    cloud = pins.Cloud(monkeypatch)
    pins.killed(cloud, state, 5)
    uuid = next(uuid for uuid in pins.UUIDS if cloud.pins[uuid] == "az1")
    real, pinned = cloud.server, cloud.pins[uuid]

    def server(wanted):
        return dataclasses.replace(real(wanted), host=None, status="UNKNOWN") if wanted == uuid else real(wanted)

    cloud.server, cloud.pins[uuid] = server, None
    result = cloud.run(state, action="restore")
    cloud.server, cloud.pins[uuid] = real, pinned
    assert result.get("failed"), result["msg"]
    assert list(pins.recorded(state)) == [uuid]
    cloud.run(state, action="restore")
    assert cloud.pins == cloud.before


@pytest.mark.parametrize("host", ["compue1", "compute2"])
def test_a_host_that_is_misspelt_or_whose_cell_does_not_answer_is_no_host_without_servers(host):
    nova = TwoCells()
    nova.silent = {"compute2"}
    options = {**pins.OPTIONS, "all_servers": False, "hosts": ["compute1", host]}
    with pytest.raises(StackguardError, match=host):
        server_zone_pin._chosen(nova, options)


# --- rbd_guard ------------------------------------------------------------------------------------------------


def test_a_server_is_guarded_by_its_uuid_however_it_is_written():
    there = ceph.pool()
    done = guard_snapshots.guard(there, "op1", [ceph.ONE.upper()])
    assert done.without == []
    assert there.snapshots[f"{ceph.ONE}_disk"] == ["stackguard-op1"]


def test_the_guards_of_a_server_that_has_no_image_in_this_pool_are_not_called_removed():
    """The host's own pool is another one: nothing was removed, nothing was named, and the task was ok."""
    there = ceph.Pool("backup")
    assert guard_snapshots.unguard(there, "op1", [ceph.ONE]).without == [ceph.ONE]


# --- the audit ------------------------------------------------------------------------------------------------


def test_a_guard_of_an_evacuation_of_which_nothing_was_read_is_not_to_be_removed():
    """Neither journals nor services were read: the audit named the command that removes the guard all the same."""
    image = facts.RbdImage(f"{ONE}_disk", "1a", 1, [facts.RbdSnapshot("stackguard-abc")], [], [])
    some = healthy(guests=1).host("compute2", rbd=facts.RbdFacts("library", "f", "vms", [], [image], []))
    unread = dataclasses.replace(some.bundle.cloud, services=None)
    checked = audit.check(dataclasses.replace(some.bundle, operations=None, cloud=unread, databases=None))
    assert "SG508" not in {item.code for item in checked.findings}
    assert "SG508" in {item.code for item in checked.unchecked}


def test_another_destination_is_tried_from_the_source_before_the_first_server_goes_there(monkeypatch, state):
    """H12: the first host takes nobody, and the second one, which was never tried, gets a server all the same."""
    nova = moves.Cloud(monkeypatch, Scene().memory("compute5", 8192))
    moves.reads(nova)
    nova.refuse = {"compute3"}
    probes, result, rounds = [], {"again": True}, 0
    while result.get("again") and rounds < 10:
        result = nova.apply(state, probe=True, probes=probes, again=rounds > 0)
        probes += moves.answers(result.get("probe", {}), {"compute5"})
        rounds += 1
    assert {probe["dest"] for probe in probes} == {"compute3", "compute5"}
    assert not moves.sent_to(nova, "compute5")
