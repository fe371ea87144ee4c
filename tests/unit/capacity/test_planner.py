# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who goes where: whatever the fleet, no host is promised more than was measured, no zone or group is broken, and
what was not read is never guessed. The invariants are computed here anew, from what went in and what came out."""

from __future__ import annotations

import collections
import dataclasses
import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import planner
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import Guest, Reason
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import Destination, take_pages
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import NumaCell, ServerGroup
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest

REQUEST = EvacuationRequest("dead", overhead_mib=0)
ZONES = ("az1", "az2")
HOSTS = tuple(f"host{number}" for number in range(6))
HUGE = 2048


def guest(uuid="a", memory=1024, **changes):
    image = f"{uuid}_disk"
    base = Guest(uuid, uuid, "ACTIVE", memory, (), "az1", (), {"MEMORY_MB": memory}, (image,), None)
    return dataclasses.replace(base, **{"offers": frozenset(f"rp-{host}" for host in HOSTS), **changes})


def host(name="host0", room=4096, **changes):
    images = frozenset(f"{uuid}_disk" for uuid in "abc")
    base = Destination(name, f"rp-{name}", "az1", room, {}, {"MEMORY_MB": 1 << 20}, "rbd", images)
    return dataclasses.replace(base, **changes)


def why_not(assignments, uuid, name):
    """What the report says of a server and a host: why it goes there, or what speaks against it."""
    entry = planner.explained(assignments, [host(name)])[uuid]
    if entry["host"] is not None:
        return entry["why"] if entry["host"] == name else ""
    return "; ".join([*entry.get("server", []), *entry["why not"][name]])


def assign(guests, hosts, members=None, request=REQUEST, **given):
    return planner.assign(guests, hosts, members or {}, request, **given)


def places(assignments):
    return {place.uuid: place.host for place in assignments.assigned}


def codes(assignments):
    return {entry.uuid: entry.code for entry in assignments.unassigned}


# --- properties -----------------------------------------------------------------------------------------------


@st.composite
def fleets(draw):
    """Guests, hosts and groups of all kinds, some facts unread."""
    hosts = [
        host(
            name,
            room=draw(st.one_of(st.none(), st.integers(-512, 16384))),
            zone=draw(st.sampled_from(ZONES)),
            images=frozenset(f"g{index}_disk" for index in range(12) if draw(st.integers(0, 9))),
            free={"MEMORY_MB": draw(st.integers(0, 16384)), "VCPU": draw(st.integers(0, 8))},
            pages=draw(st.one_of(st.none(), st.builds(lambda a, b: {(0, HUGE): a, (1, HUGE): b}, PAGES, PAGES))),
            storage=draw(st.sampled_from(("rbd", "rbd", "rbd", "local", None))),
        )
        for name in HOSTS[: draw(st.integers(0, 6))]
    ]
    hosts = [
        dataclasses.replace(entry, problems=(Reason("SG709", "memory was not read"),))
        if entry.room_mib is None
        else dataclasses.replace(entry, problems=(Reason("SG512", "down"),) if draw(st.integers(0, 9)) == 0 else ())
        for entry in hosts
    ]
    uuids = [f"g{index}" for index in range(draw(st.integers(0, 12)))]
    outside = ["m1", "m2"]
    groups = [
        ServerGroup(
            f"group{index}",
            draw(st.sampled_from(("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"))),
            draw(st.sampled_from((None, 1, 2))),
            draw(st.lists(st.sampled_from([*uuids, *outside]), unique=True)) if uuids else outside,
        )
        for index in range(draw(st.integers(0, 2)))
    ]
    guests = [
        guest(
            uuid,
            memory=draw(st.integers(1, 6000)),
            zone=draw(st.sampled_from((*ZONES, None))),
            groups=tuple(group for group in groups if uuid in group.members),
            needs={"MEMORY_MB": draw(st.integers(1, 6000)), "VCPU": draw(st.integers(1, 2))},
            cells=draw(st.sampled_from(((), (), (NumaCell(512, HUGE),), (NumaCell(512, HUGE), NumaCell(256, HUGE))))),
            offers=frozenset(f"rp-{name}" for name in HOSTS if draw(st.integers(0, 9))),
            problems=(Reason("SG709", "flavor was not read"),) if draw(st.integers(0, 9)) == 0 else (),
        )
        for uuid in uuids
    ]
    members = dict.fromkeys(uuids, "dead")
    members.update({uuid: draw(st.sampled_from(HOSTS)) for uuid in outside})
    request = EvacuationRequest(
        "dead",
        overhead_mib=draw(st.sampled_from((0, 128))),
        overcommit=draw(st.sampled_from((0.8, 1.0, 1.5))),
        parallel=draw(st.integers(1, 3)),
    )
    return guests, hosts, members, request


PAGES = st.integers(0, 1024)


@settings(max_examples=400)
@given(fleets())
def test_no_host_is_promised_more_than_was_measured(fleet):
    guests, hosts, members, request = fleet
    assignments = assign(guests, hosts, members, request)
    by_uuid = {entry.uuid: entry for entry in guests}
    taken, pages, needs = collections.Counter(), collections.Counter(), collections.Counter()
    for place in assignments.assigned:
        one = by_uuid[place.uuid]
        taken[place.host] += math.ceil(one.memory_mib / request.overcommit) + request.overhead_mib
        pages[place.host] += sum(math.ceil(cell.memory_mib * 1024 / HUGE) for cell in one.cells)
        for name, amount in one.needs.items():
            needs[place.host, name] += amount
    for there in hosts:
        if there.room_mib is None or there.problems:
            assert there.host not in taken
            continue
        assert taken[there.host] <= max(0, there.room_mib)
        assert pages[there.host] <= sum((there.pages or {}).values())
        for name in ("MEMORY_MB", "VCPU"):
            assert needs[there.host, name] <= there.free[name]


@settings(max_examples=400)
@given(fleets())
def test_no_zone_group_or_disk_rule_is_broken(fleet):
    guests, hosts, members, request = fleet
    assignments = assign(guests, hosts, members, request)
    by_uuid, by_host = {entry.uuid: entry for entry in guests}, {entry.host: entry for entry in hosts}
    where = {**members, **places(assignments)}
    for place in assignments.assigned:
        one, there = by_uuid[place.uuid], by_host[place.host]
        assert one.zone in (None, there.zone)
        assert there.provider in one.offers
        assert there.storage == "rbd"
        assert set(one.images) <= there.images
        for group in one.groups:
            here = [member for member in group.members if where.get(member) == place.host]
            if group.policy == "anti-affinity":
                assert len(here) <= (group.max_server_per_host or 1)
            if group.policy == "affinity":
                assert len(here) > 1


@settings(max_examples=300)
@given(fleets())
def test_everybody_is_seated_once_or_has_reasons_against_every_host(fleet):
    guests, hosts, members, request = fleet
    assignments = assign(guests, hosts, members, request)
    told = [place.uuid for place in assignments.assigned] + [entry.uuid for entry in assignments.unassigned]
    assert sorted(told) == sorted(entry.uuid for entry in guests)
    by_uuid = {entry.uuid: entry for entry in guests}
    for entry in assignments.unassigned:
        assert by_uuid[entry.uuid].problems or all(entry.reasons[there.host] for there in hosts)
        for there in hosts:
            assert why_not(assignments, entry.uuid, there.host)
    for place in assignments.assigned:
        assert not by_uuid[place.uuid].problems


@settings(max_examples=200)
@given(fleets())
def test_no_wave_sends_more_to_a_host_than_allowed(fleet):
    guests, hosts, members, request = fleet
    assignments = assign(guests, hosts, members, request)
    rounds = planner.waves(assignments.assigned)
    assert sorted(place.uuid for wave in rounds for place in wave) == sorted(
        place.uuid for place in assignments.assigned
    )
    for wave in rounds:
        assert wave
        assert max(collections.Counter(place.host for place in wave).values()) <= request.parallel


@given(fleets())
def test_the_same_evidence_gives_the_same_plan(fleet):
    assert assign(*fleet[:3], fleet[3]) == assign(*fleet[:3], fleet[3])


@settings(max_examples=200)
@given(fleets(), st.data())
def test_what_becomes_unread_never_seats_anybody_there(fleet, data):
    guests, hosts, members, request = fleet
    if not hosts:
        return
    blind = data.draw(st.sampled_from(hosts))
    spoilt = data.draw(
        st.sampled_from(
            ({"room_mib": None, "problems": (Reason("SG709", "not read"),)}, {"images": None}, {"storage": None})
        )
    )
    hosts = [dataclasses.replace(entry, **spoilt) if entry is blind else entry for entry in hosts]
    assert blind.host not in places(assign(guests, hosts, members, request)).values()


# --- examples -------------------------------------------------------------------------------------------------


def test_the_largest_goes_to_the_roomiest_and_then_the_others_fill_up():
    guests = [guest("a", 3000), guest("b", 2000), guest("c", 1000)]
    assignments = assign(guests, [host("host0", 4096), host("host1", 3500)])
    assert places(assignments) == {"a": "host0", "b": "host1", "c": "host1"}
    why = why_not(assignments, "a", "host0")
    assert " 4096 MiB" in why and " 1096 MiB" in why


def test_not_enough_for_the_third_of_five():
    guests = [guest(uuid, 1000, images=()) for uuid in "abcde"]
    assignments = assign(guests, [host(room=2500)])
    assert places(assignments) == {"a": "host0", "b": "host0"}
    assert codes(assignments) == {"c": "SG501", "d": "SG501", "e": "SG501"}
    why = why_not(assignments, "c", "host0")
    assert " 500 MiB" in why and " 1000 MiB" in why


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"room_mib": 1023}, "SG501", " 1023 MiB"),
        ({"zone": "az2"}, "SG512", " az2"),
        ({"storage": "local"}, "SG513", ""),
        ({"storage": None}, "SG709", "not know where the host stores disks"),
        ({"images": None}, "SG709", "has not read the images"),
        ({"asked": frozenset({"b"})}, "SG709", "has not read the images"),
        ({"images": frozenset()}, "SG504", " a_disk"),
        ({"free": {"MEMORY_MB": 1023}}, "SG512", " 1023 MEMORY_MB"),
        ({"free": {}}, "SG512", " 0 MEMORY_MB"),
        ({"provider": "rp-other"}, "SG512", "does not offer"),
        (
            {"problems": (Reason("SG512", "the compute service of this host is down"),)},
            "SG512",
            "service of this host is down",
        ),
    ],
)
def test_each_reason_is_told_by_its_code(changes, code, says):
    assignments = assign([guest()], [host(**changes)])
    assert codes(assignments) == {"a": code}
    assert says in why_not(assignments, "a", "host0")
    assert places(assign([guest()], [host()])) == {"a": "host0"}


def test_every_reason_against_a_host_is_told_not_the_first_alone():
    (left,) = assign([guest()], [host(zone="az2", room=1, images=frozenset())]).unassigned
    assert [reason.code for reason in left.reasons["host0"]] == ["SG512", "SG501", "SG504"]


def test_memory_is_what_is_told_where_one_host_lacks_nothing_else():
    assert codes(assign([guest()], [host("host0", zone="az2"), host("host1", room=1)])) == {"a": "SG501"}


def test_no_host_at_all():
    assert codes(assign([guest()], [])) == {"a": "SG512"}


def test_anti_affinity_counts_those_who_are_there_and_those_who_come():
    group = ServerGroup("g", "anti-affinity", None, ["a", "b", "m"])
    guests = [guest(uuid, groups=(group,)) for uuid in "ab"]
    hosts = [host("host0"), host("host1")]
    assignments = assign(guests, hosts, {"a": "dead", "b": "dead", "m": "host0"})
    assert places(assignments) == {"a": "host1"}
    assert "has 1 members on this host" in why_not(assignments, "b", "host1")
    two = dataclasses.replace(group, max_server_per_host=2)
    guests = [guest(uuid, groups=(two,)) for uuid in "ab"]
    assert len(places(assign(guests, hosts, {"m": "host0"}))) == 2


def test_affinity_goes_to_the_other_members_or_nowhere():
    group = ServerGroup("g", "affinity", None, ["a", "m"])
    one = guest(groups=(group,))
    hosts = [host("host0", room=9000), host("host1")]
    assert places(assign([one], hosts, {"a": "dead", "m": "host1"})) == {"a": "host1"}
    alone = assign([one], hosts, {"a": "dead"})
    assert codes(alone) == {"a": "SG512"}
    assert "only on the server's current host" in why_not(alone, "a", "host0")


def test_soft_policies_are_followed_where_there_is_a_choice_and_forbid_nothing():
    hosts = [host("host0", room=9000), host("host1")]
    together = ServerGroup("g", "soft-affinity", None, ["a", "m"])
    assert places(assign([guest(groups=(together,))], hosts, {"m": "host1"})) == {"a": "host1"}
    apart = ServerGroup("g", "soft-anti-affinity", None, ["a", "m"])
    assert places(assign([guest(groups=(apart,))], hosts, {"m": "host0"})) == {"a": "host1"}
    assert places(assign([guest(groups=(apart,))], hosts[:1], {"m": "host0"})) == {"a": "host0"}


def test_huge_pages_are_wanted_on_one_node_and_small_ones_are_no_help():
    one = guest(memory=0, cells=(NumaCell(1024, HUGE),))
    assert codes(assign([one], [host(pages={(0, HUGE): 511, (1, HUGE): 511})])) == {"a": "SG503"}
    assert codes(assign([one], [host(pages={(0, 1 << 20): 16})])) == {"a": "SG503"}
    assert codes(assign([one], [host(pages=None)])) == {"a": "SG709"}
    assert places(assign([one], [host(pages={(0, HUGE): 512})])) == {"a": "host0"}
    two = [one, guest("b", 0, cells=(NumaCell(1024, HUGE),))]
    assert len(places(assign(two, [host(pages={(0, HUGE): 512, (1, HUGE): 511})]))) == 1


def test_two_cells_of_a_guest_never_share_a_node():
    cells = (NumaCell(512, HUGE), NumaCell(512, HUGE))
    assert take_pages({(0, HUGE): 512}, cells) is None
    assert take_pages({(0, HUGE): 512, (1, HUGE): 256}, cells) == {(0, HUGE): 256, (1, HUGE): 0}


def test_what_the_operator_passes_by_name_is_passed_for_that_server_only():
    guests = [guest("a", 9000), guest("b", 9000)]
    assignments = assign(guests, [host()], passed={"a": {"SG501"}})
    assert places(assignments) == {"a": "host0"}
    assert codes(assignments) == {"b": "SG501"}


@pytest.mark.parametrize("changes", [{"zone": "az2"}, {"provider": "rp-other"}, {"free": {}}])
def test_what_the_scheduler_would_refuse_cannot_be_passed(changes):
    assignments = assign([guest()], [host(**changes)], passed={"a": {"SG512", "SG501"}})
    assert codes(assignments) == {"a": "SG512"}


def test_a_guest_that_boots_from_a_volume_may_go_where_disks_are_local():
    assert places(assign([guest(images=())], [host(storage="local", images=frozenset())])) == {"a": "host0"}


def test_overcommit_stretches_measured_memory_but_not_huge_pages():
    request = dataclasses.replace(REQUEST, overcommit=2.0)
    assert places(assign([guest(memory=8000)], [host(room=4000)], request=request)) == {"a": "host0"}
    one = guest(memory=0, cells=(NumaCell(1024, HUGE),))
    assert codes(assign([one], [host(pages={(0, HUGE): 511})], request=request)) == {"a": "SG503"}


# --- what aggregates say, and what the scheduler refused --------------------------------------------------------


def test_a_host_that_aggregates_bar_is_never_taken_and_one_to_be_avoided_last():
    hosts = [host("host0", room=9000), host("host1", room=8000), host("host2", room=7000)]
    some = guest(barred={"host0": "none of its aggregates has gpu"}, avoided={"host1": "reserved for others"})
    assert places(assign([some], hosts)) == {"a": "host2"}
    (place,) = assign([some], hosts[:2]).assigned
    assert (place.host, "reserved for others" in place.why) == ("host1", True)
    assert codes(assign([some], hosts[:1])) == {"a": "SG512"}


def test_hosts_that_the_scheduler_refused_are_none_of_the_three_attempts():
    hosts = [host(f"host{number}", room=9000 - number) for number in range(6)]
    no = "No valid host was found. There are not enough hosts available."
    refused = {f"host{number}": no for number in range(5)}
    assert places(assign([guest()], hosts, tried={"a": refused})) == {"a": "host5"}
    failed = {f"host{number}": "spawn failed" for number in range(3)}
    assert codes(assign([guest()], hosts, tried={"a": failed})) == {"a": "SG512"}
    endless = {f"other{number}": no for number in range(planner.REFUSALS)}
    assert codes(assign([guest()], hosts, tried={"a": endless})) == {"a": "SG512"}


def _calls(guests, hosts):
    """Return how many functions are called to assign the guests: the work, whatever else the machine does."""
    called = 0

    def count(_frame, event, _arg):
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assignments = assign(guests, hosts)
    finally:
        sys.setprofile(before)
    assert len(assignments.assigned) == len(guests)
    return called


def test_ten_times_the_hosts_are_no_more_than_a_few_times_ten_times_the_work():
    """1000 hosts and 500 servers in seconds: nothing is looked at for each pair more than once."""
    some = [guest(f"g{number}", images=(), offers=None, zone="az1") for number in range(50)]
    few = [host(f"host{number}", room=1 << 20) for number in range(60)]
    many = [host(f"host{number}", room=1 << 20) for number in range(600)]
    elsewhere = [host(f"away{number}", room=1 << 20, zone="az2") for number in range(6000)]
    small = _calls(some, few)
    ten, hundred = _calls(some, many), _calls(some, [*few, *elsewhere])
    assert ten < 15 * small
    assert hundred < 3 * small, "other zones cost little"
