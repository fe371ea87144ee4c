# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of a hostile review, in rounds: each fails as long as what it shows is there."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, ONE, TWO, Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import disks, lock, scene
from ansible_collections.stackguard.nova.tests.unit.operations.test_evacuation_round import World, disk, states


def test_a_running_server_whose_only_watcher_is_a_stranger_is_not_verified():
    """Its QEMU has lost the disk; a backup reader has it open."""
    world = World()
    world.round()
    pool = [disk(uuid, ["198.51.100.9:0/1"]) for uuid in BOTH]
    world.change = lambda some: some.images(*pool)
    done = world.round()
    assert {state for _host, state in states(done).values()} == {"wrong"}, done.checked.findings


def test_a_stopped_server_that_nova_still_has_on_the_dead_host_has_not_arrived(monkeypatch):
    """The list of the dead host's servers lacked it (a page was lost); asked for alone, it is there."""
    world = World()
    for uuid in BOTH:
        world.nova.servers[uuid]["status"] = "SHUTOFF"
    back = scene(alive=True).bundle.hosts["compute1"]

    def change(some):
        some = some.having(some.cloud.put("servers", []))
        hosts = {
            **some.bundle.hosts,
            "compute1": dataclasses.replace(back, domains=[], rbd=some.bundle.hosts["compute2"].rbd),
        }
        return some.having(some.cloud._bundle(hosts=hosts, unreachable={}))

    world.change = change
    done = world.round()
    assert not [entry for entry in done.arrived if entry.state == "verified"], done.arrived


def test_an_evacuation_whose_server_was_deleted_can_be_aborted_where_there_are_two_pools(tmp_path, monkeypatch):
    life = Life(tmp_path, monkeypatch)
    life.run(dies_at=6)
    assert life.guarded() == BOTH
    del life.nova.servers[ONE]
    pool_of = life._image
    other = disks(client_address="192.0.2.3", pool="fast")

    def change(some):
        rbd = some.bundle.hosts["compute3"].rbd
        kept = [entry for entry in rbd.images if not entry.name.startswith(ONE)]
        return some.at(3, rbd=dataclasses.replace(rbd, images=kept)).at(2, rbd=other)

    life.change = change
    done = life.run(action="abort", fence=None)
    assert (done["state"], life.open()) == ("aborted", None), (done["msg"], pool_of)


def test_the_same_command_with_named_servers_goes_on_when_one_of_them_has_arrived(tmp_path, monkeypatch):
    """ "Run the same command again to resume it", says the run that was ended after guest1 had arrived."""
    life = Life(tmp_path, monkeypatch)
    life.stuck = {TWO}
    life.run(servers=["guest1", "guest2"], max_rounds=2, server_timeout=30)
    assert life.open() is not None
    assert life.nova.servers[ONE]["host"] == "compute3"
    life.stuck = set()
    life.nova.servers[TWO]["left"] = 1
    done = life.run(servers=["guest1", "guest2"])
    assert (done["failed"], life.open()) == (False, None), done["msg"]


def test_an_image_that_was_seen_in_two_pools_and_passed_is_not_sent_without_its_guard(tmp_path, monkeypatch):
    life = Life(tmp_path, monkeypatch)

    def change(some):
        rbd = some.bundle.hosts["compute2"].rbd
        return some.at(2, rbd=dataclasses.replace(rbd, pool="fast"))

    life.change = change
    given = [{"code": "SG505", "object": f"{uuid}_disk", "reason": "the other is an old copy"} for uuid in BOTH]
    given.append({"code": "SG505", "object": "compute2", "reason": "yes"})
    done = life.run(overrides=given)
    guarded = [
        name for need in life.needs if need["kind"] == "guard" for home in need["homes"] for name in home["images"]
    ]
    sent = [uuid for uuid, _host in life.nova.asked]
    assert all(f"{uuid}_disk" in guarded for uuid in sent), (sent, guarded, done["msg"])


def test_a_backup_reader_that_maps_the_disk_of_the_only_running_server_is_not_shut_out_of_ceph(tmp_path, monkeypatch):
    """guest2 is stopped. The reader of guest1's disk is in the storage network, has librbd's lock and its watcher."""
    life = Life(tmp_path, monkeypatch)
    life.nova.servers[TWO]["status"] = "SHUTOFF"
    image_of = life._image
    taken = [dataclasses.replace(lock(1), address="192.0.2.99:0/1")]

    def seen(uuid):
        found = image_of(uuid)
        if uuid == TWO:
            return dataclasses.replace(found, locks=[])
        return dataclasses.replace(found, locks=taken, watchers=[facts.RbdWatcher("192.0.2.99:0/1")])

    life._image = seen
    done = life.run(fence="blocklist")
    assert "192.0.2.99" not in life.blocklist["fsid"], done["msg"]
