# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each look of an evacuation opens every image once, by one host of its cluster; what nobody opens is never green."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.tests.unit.evacuation_fleet import Fleet

#: Two pools of one cluster: hosts with even numbers have the second one.
POOLS = (("fsid", "vms"), ("fsid", "vms2"))


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    return lambda **given: Fleet(tmp_path, monkeypatch, **given)


def halves(first, second):
    return lambda number: second if number % 2 == 0 else first


def moved(some, home, *indexes):
    """Some servers' images are in another cluster or pool."""
    for index in indexes:
        some.elsewhere.update({name: home for name in some.disks if name.startswith(some.uuids[index])})


def readings(some):
    """The needs that let anybody open something."""
    return [need for need in some.needs if need["kind"] == "read_hosts" and need["readers"]]


def test_every_image_is_opened_once_in_each_look_by_one_host(fleet):
    some = fleet()
    done = some.run()
    assert (done["failed"], some.report()["verdict"], some.open()) == (False, "pass", None)
    # The first look, the search for signs of life, and at least one round that sends and one that verifies.
    assert len(some.looks()) >= 4
    for look in some.looks():
        assert some.opens(look) == dict.fromkeys(some.disks, 1)
        assert some.openers(look) == {"compute2"}


@pytest.mark.parametrize("look", [1, 2, 3])
def test_a_reader_that_goes_silent_is_replaced_and_nothing_is_opened_twice(fleet, look):
    """At the first look it never opened anything; at a later one it had."""
    some = fleet()

    def answer(need):
        if need["kind"] == "read_hosts" and need["readers"] and some.look_number >= look - 1:
            some.silent = {2}

    some.answer = answer
    done = some.run()
    assert (done["failed"], some.open()) == (False, None)
    assert some.openers(some.looks()[-1]) == {"compute3"}
    assert all(some.opens(number) == dict.fromkeys(some.disks, 1) for number in some.looks())


def test_only_the_successor_of_a_silent_reader_is_asked(fleet):
    """The other cluster's reader has answered: its images are not opened again."""
    some = fleet(home=halves(("fsid", "vms"), ("other", "vms")))
    moved(some, ("other", "vms"), 1)

    def answer(need):
        if need["kind"] == "read_hosts" and need["readers"]:
            some.silent = {3}

    some.answer = answer
    some.run(check=True)
    first, second = readings(some)
    assert (first["readers"], first["hosts"]) == (["compute2", "compute3"], ["compute2", "compute3"])
    assert (second["readers"], second["hosts"]) == (["compute5"], ["compute5"])
    assert some.opens(1) == dict.fromkeys(some.disks, 1)
    assert some.openers(1) == {"compute2", "compute5"}


def test_a_host_opens_the_images_of_its_own_cluster_only(fleet):
    some = fleet(home=halves(("fsid", "vms"), ("other", "vms")))
    moved(some, ("other", "vms"), 1)
    some.run(check=True)
    by_home = {(fsid, hosts[0]) for (fsid, _pool, _name), hosts in some.opened[1].items()}
    assert by_home == {("fsid", "compute3"), ("other", "compute2")}


def test_a_cluster_that_nobody_can_open_refuses(fleet):
    """Every host lists the names and none opens an image: nothing says who has the disks open."""
    some = fleet()

    def answer(need):
        if need["kind"] == "read_hosts" and need["readers"]:
            some.silent = {2, 3, 4, 5, 6}

    some.answer = answer
    done = some.run()
    assert (done["failed"], some.nova.asked, some.open(), some.looks()) == (True, [], None, [])
    assert some.report()["verdict"] == "block"
    # Everyone was asked, one after the other.
    assert [need["readers"] for need in readings(some)] == [[f"compute{number}"] for number in (2, 3, 4, 5, 6)]


def test_a_cluster_that_nobody_opens_any_more_sends_nobody(fleet):
    """It was read when it was judged; in the rounds no host of it answers."""
    some = fleet()

    def answer(need):
        if need["kind"] == "guard":
            some.silent = {2, 3, 4, 5, 6}

    some.answer = answer
    done = some.run()
    assert (done["failed"], some.nova.asked) == (True, [])
    assert some.report()["verdict"] == "block"


def test_volumes_are_opened_by_one_reader_of_their_cluster(fleet):
    some = fleet(home=halves(*POOLS), volumes=2)
    moved(some, POOLS[1], 1)
    some.run(check=True)
    volumes = {name for name in some.opens(1) if name.startswith("volume-")}
    assert len(volumes) == 2
    assert set(some.opens(1).values()) == {1}
    assert [need["volume_readers"] for need in readings(some)] == [["compute3"]]


def test_where_one_reader_can_not_list_the_volumes_the_others_are_asked(fleet):
    some = fleet(home=halves(*POOLS), volumes=2)
    moved(some, POOLS[1], 1)
    some.blind = {3}
    some.run(check=True)
    assert [(need["readers"], need["volume_readers"]) for need in readings(some)] == [
        (["compute2", "compute3"], ["compute3"]),
        (["compute2"], ["compute2"]),
    ]
    assert {hosts[-1] for (_fsid, pool, _name), hosts in some.opened[1].items() if pool == "volumes"} == {"compute2"}


def test_volumes_that_no_reader_can_list_are_asked_for_once(fleet):
    """The reading ends, and the volumes are unread."""
    some = fleet(home=halves(*POOLS), volumes=2)
    moved(some, POOLS[1], 1)
    some.blind = {2, 3}
    some.run(check=True)
    assert len(readings(some)) == 2
    seen = some.look().bundle.hosts
    assert [seen[name].rbd.volumes for name in ("compute2", "compute3")] == [None, None]
