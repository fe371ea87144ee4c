# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of hosts played through: room to its end, spare hosts, batches, hours; and random clouds with an oracle."""

from __future__ import annotations

import itertools
import random

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import series
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import Guest
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import Destination
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import NumaCell, ServerGroup
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest

REQUEST = EvacuationRequest("", overhead_mib=0, headroom_mib=0)


def guest(name, host, size, zone="az1", **more):
    return Guest(name, name, "ACTIVE", size, (), zone, (), {}, (), None, source=host, **more)


def cloud(hosts, guests, pages=None):
    """``hosts``: name to zone and free MiB; ``guests``: of all hosts."""
    destinations = [
        Destination(name, name, zone, room, dict((pages or {}).get(name, {})), {}, "rbd", frozenset())
        for name, (zone, room) in hosts.items()
    ]
    there = {name: [entry for entry in guests if entry.source == name] for name in hosts}
    loads = {name: [entry.memory_mib for entry in found] for name, found in there.items()}
    where = {entry.uuid: entry.source for entry in guests}
    return series.Cloud(destinations, there, loads, {name: dict(found) for name, found in (pages or {}).items()}, where)


def play(made, hosts, serial=1, spare=0):
    return series.play(made, hosts, serial, spare, REQUEST)


def test_a_host_that_comes_back_empty_takes_the_guests_of_the_next():
    made = cloud(
        {"a": ("az1", 0), "b": ("az1", 0), "c": ("az1", 1000)},
        [guest("g1", "a", 1000), guest("g2", "b", 1000)],
    )
    batches = play(made, ["a", "b"])
    assert [batch.fits for batch in batches] == [True, True]
    assert [entry.host for batch in batches for entry in batch.assigned] == ["c", "a"]


def test_the_series_ends_at_the_first_host_that_finds_no_room():
    made = cloud({"a": ("az1", 0), "b": ("az1", 500)}, [guest("g1", "a", 1000)])
    (batch,) = play(made, ["a", "b"])
    assert not batch.fits
    assert [entry.uuid for entry in batch.unassigned] == ["g1"]


def test_guests_stay_in_their_zone():
    made = cloud({"a": ("az1", 0), "b": ("az2", 5000)}, [guest("g1", "a", 1000)])
    assert not play(made, ["a"])[0].fits


@pytest.mark.parametrize(("room", "fits"), [(2000, True), (1999, False)])
def test_one_more_host_may_fail_while_one_is_out(room, fits):
    """c takes the guest of a; if b fails then, c must take b's, too."""
    made = cloud(
        {"a": ("az1", 0), "b": ("az1", 0), "c": ("az1", room)}, [guest("g1", "a", 1000), guest("g2", "b", 1000)]
    )
    (batch,) = play(made, ["a"], spare=1)
    assert batch.fits == fits
    assert [entry.failing for entry in batch.no_spare] == ([] if fits else [("b",)])


def test_a_zone_of_one_host_has_no_spare():
    made = cloud({"a": ("az1", 100), "b": ("az2", 100)}, [])
    assert not play(made, ["a"], spare=1)[0].fits
    assert play(made, ["a"], spare=0)[0].fits


def test_as_many_at_a_time_as_the_zone_has_room_for():
    hosts = dict.fromkeys("abcd", ("az1", 1000))
    made = cloud(hosts, [guest(f"g{name}", name, 1000) for name in "abcd"])
    assert [batch.hosts for batch in play(made, list("abcd"), serial=4)] == [("a", "b"), ("c", "d")]


def test_hosts_that_are_out_together_take_nothing_from_each_other():
    made = cloud({"a": ("az1", 1000), "b": ("az1", 1000)}, [guest("g1", "a", 1000)])
    batches = play(made, ["a", "b"], serial=2)
    assert [batch.hosts for batch in batches] == [("a",), ("b",)]


def test_a_group_keeps_apart():
    group = ServerGroup(id="s", policy="anti-affinity", max_server_per_host=None, members=["g1", "g2"])
    made = cloud({"a": ("az1", 0), "b": ("az1", 5000)}, [guest("g1", "a", 1000), guest("g2", "b", 1000)])
    together = [Guest(**{**entry.__dict__, "groups": (group,)}) for found in made.guests.values() for entry in found]
    assert not play(cloud({"a": ("az1", 0), "b": ("az1", 5000)}, together), ["a"])[0].fits


def test_huge_pages_are_free_again_once_a_host_is_empty():
    size = 2048
    pages = {"a": {(0, size): 512}, "b": {(0, size): 512}, "c": {(0, size): 512}}
    cells = (NumaCell(1024, size),)
    guests = [guest("g1", "a", 0), guest("g2", "b", 0)]
    huge = [Guest(**{**entry.__dict__, "cells": cells}) for entry in guests]
    made = cloud(dict.fromkeys("abc", ("az1", 100)), huge, pages)
    taken = [
        Destination(**{**entry.__dict__, "pages": {(0, size): 0}}) if entry.host in "ab" else entry
        for entry in made.destinations
    ]
    made = series.Cloud(taken, made.guests, made.loads, made.pages, made.where)
    batches = play(made, ["a", "b"])
    assert [entry.host for batch in batches for entry in batch.assigned] == ["c", "a"]


def test_hours_follow_memory_work_and_batches():
    one = series.Batch(("a",), (series.Assignment("g", "g", "b", 1, 110, ""),))
    assert series.seconds([one], 60, 1, 110.0) == pytest.approx(61)
    assert series.seconds([one, one], 60, 2, 110.0) == pytest.approx(121)


@pytest.mark.parametrize("seed", range(60))
def test_random_series_never_promise_more_than_there_is(seed):
    """The oracle replays the batches on plain numbers: no host goes below zero, none leaves its zone, all leave."""
    draw = random.Random(seed)
    names = [f"h{number}" for number in range(draw.randint(2, 9))]
    hosts = {name: (draw.choice(["az1", "az2"]), draw.randint(0, 4000)) for name in names}
    guests = [
        guest(f"g{number}", host, draw.choice([256, 512, 1024]), hosts[host][0])
        for number, host in enumerate(draw.choice(names) for _each in range(draw.randint(0, 14)))
    ]
    order = draw.sample(names, draw.randint(1, len(names)))
    batches = play(cloud(hosts, guests), order, draw.randint(1, 3), spare=draw.randint(0, 1))
    room = {name: free for name, (_zone, free) in hosts.items()}
    where = {entry.uuid: entry.source for entry in guests}
    sizes = {entry.uuid: entry.memory_mib for entry in guests}
    for batch in batches:
        for place in batch.assigned:
            assert place.host not in batch.hosts
            assert hosts[place.host][0] == hosts[where[place.uuid]][0]
            room[where[place.uuid]] += sizes[place.uuid]
            room[place.host] -= sizes[place.uuid]
            where[place.uuid] = place.host
        assert min(room.values()) >= 0
        if batch.fits:
            assert not set(where.values()) & set(batch.hosts)
    done = list(itertools.chain.from_iterable(batch.hosts for batch in batches))
    assert done == order[: len(done)]
    assert len(done) == len(order) or not batches[-1].fits


def test_two_hundred_hosts_in_four_zones_are_planned_on_a_clock():
    """Each zone has room for two hosts: the series takes four at a time at most, and the hours are those of a clock."""
    draw = random.Random(49)
    names = [f"h{number:03}" for number in range(200)]
    hosts = {name: (f"az{number % 4 + 1}", draw.randint(4000, 12000)) for number, name in enumerate(names)}
    guests = [
        guest(f"g{number}", host, draw.choice([512, 1024, 2048]), hosts[host][0])
        for number, host in enumerate(name for name in names for _each in range(20))
    ]
    batches = play(cloud(hosts, guests), names, serial=4, spare=1)
    assert all(batch.fits for batch in batches)
    assert [host for batch in batches for host in batch.hosts] == names
    assert len(batches) == 50
    clock = 0.0
    for batch in batches:
        clock += 600 + sum(entry.memory_mib for entry in batch.assigned) / (series.ASSUMED_RATE * 2 * len(batch.hosts))
    assert series.seconds(batches, 600, 2) == pytest.approx(clock)
    assert 8 < clock / 3600 < 24
