# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Round after round, against a small Nova: everybody arrives once, and nobody is sent on doubtful facts."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import facts
from ansible_collections.stackguard.nova.plugins.module_utils.actions import evacuation, evacuation_round
from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.findings import Override
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import FENCE, disks, image, scene
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock, Nova

ONE, TWO = guest(1, 1), guest(1, 2)
BOTH = [ONE, TWO]


class World:
    """The small Nova, and hosts that see what it did: domains and watchers follow the servers."""

    def __init__(self, hosts=3, **nova):
        self.scene = scene(hosts=hosts).asked(fence=FENCE)
        self.nova = Nova(*BOTH, source="compute1", **nova)
        self.change = lambda some: some
        self.reads = 0
        #: What the journal says of each server's NUMA cells; None: unread.
        self.numa = []

    def read(self):
        self.reads += 1
        some = self.scene
        here = [uuid for uuid in BOTH if self.nova.servers.get(uuid, {}).get("host") == "compute1"]
        servers = [
            dataclasses.replace(
                row, status=self.nova.servers[row.id]["status"], task_state=self.nova.servers[row.id]["task"]
            )
            for row in some.cloud.rows("servers")
            if row.id in here
        ]
        some = some.having(some.cloud.put("servers", servers))
        pool = []
        for uuid in BOTH:
            host = self.nova.servers.get(uuid, {}).get("host")
            number = int(host[-1]) if host and host != "compute1" else None
            pool.append(image(f"{uuid}_disk", [f"{address(number)}:0/{uuid[:3]}"] if number else []))
        for number in range(2, 4):
            there = [uuid for uuid in BOTH if self.nova.servers.get(uuid, {}).get("host") == f"compute{number}"]
            domain = self.scene.bundle.hosts["compute2"].domains[0]
            rows = [
                dataclasses.replace(domain, uuid=uuid, state="running", rss_mib=domain.memory_mib) for uuid in there
            ]
            some = some.at(number, domains=rows, rbd=disks(*pool))
        some = self.change(some)
        return some.bundle, some.about

    def round(self, tried=None, overrides=(), request=None, rode=(), fresh=120.0):
        clock = Clock()
        evacuator = evacuation.Evacuator(self.nova, "compute1", lambda _line: None, clock.sleep, clock.monotonic)
        passengers = [
            evacuation_round.Passenger(uuid, f"guest{index}", "ACTIVE", {f"{uuid}_disk": f"id-{uuid}_disk"}, self.numa)
            for index, uuid in enumerate(BOTH, 1)
        ]
        wanted = request or self.scene.request
        return evacuation_round.run(
            self.nova, self.read, evacuator, passengers, wanted, overrides, tried or {}, None, rode, fresh
        )


def states(done):
    return {entry.uuid: (entry.host, entry.state) for entry in done.landed}


def codes(done):
    return sorted({item.code for item in done.findings})


def test_two_rounds_send_everybody_and_see_them_well():
    world = World()
    first = world.round()
    assert {entry.uuid: entry.outcome for entry in first.outcomes} == dict.fromkeys(BOTH, "arrived")
    assert (first.again, first.left, codes(first)) == (True, {}, [])
    second = world.round()
    assert (second.again, second.outcomes, codes(second)) == (False, [], [])
    assert states(second) == dict.fromkeys(BOTH, ("compute3", "verified"))
    assert sorted(world.nova.asked) == sorted((uuid, "compute3") for uuid in BOTH)


def one_by_one(world):
    """By this each round sends one server, and leaves it on its way if another waits."""
    return {"request": dataclasses.replace(world.scene.request, parallel=1), "fresh": 0.0}


def names(entries):
    return [entry.uuid for entry in entries]


def test_hosts_are_read_anew_while_some_are_still_on_their_way():
    world = World(ticks=1)
    given = one_by_one(world)
    first = world.round(**given)
    assert (names(first.outcomes), names(first.riding), first.again) == ([], [ONE], True)
    world.nova.tick()
    second = world.round(**given, rode=first.riding)
    assert (names(second.outcomes), names(second.riding), second.again) == ([ONE], [], True)
    assert second.landed == [], "what was read while it was on its way says nothing of it"
    third = world.round(**given, rode=second.riding)
    assert (names(third.outcomes), states(third)) == ([TWO], {ONE: ("compute3", "verified")})
    last = world.round(**given, rode=third.riding)
    assert (last.again, states(last)) == (False, dict.fromkeys(BOTH, ("compute3", "verified")))
    assert world.reads == 4
    assert world.nova.asked == [(ONE, "compute3"), (TWO, "compute3")], "each is asked for once"


def test_who_is_on_the_way_is_counted_where_he_is_going():
    """Memory for one of them: as long as the first is not seen there, the second has no place."""
    world = World(ticks=100)
    world.change = lambda some: some.at(3, memory=facts.Memory(65536, 1700, 900, 0))
    riding = [evacuation.Riding(ONE, "guest1", "compute3", 1024)]
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    done = world.round(rode=riding)
    assert (names(done.outcomes), done.again) == ([ONE], True)
    assert "real memory left" in done.left[TWO]
    assert world.nova.asked == []
    # Nor is placement's room promised twice.
    world = World(ticks=100)
    world.change = lambda some: some.target(3, free={"VCPU": 1, "MEMORY_MB": 32768, "DISK_GB": 1000})
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    assert "placement has 0 VCPU left" in world.round(rode=riding).left[TWO]


@pytest.mark.parametrize(
    "change",
    [
        {"target": None},
        {"size_mib": None},
        {"numa": None},
    ],
)
def test_nobody_is_sent_while_it_is_not_known_what_takes_room_and_where(change):
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    ride = {"target": "compute3", "size_mib": 1024, **change}
    world.numa = ride.pop("numa", [])
    done = world.round(rode=[evacuation.Riding(ONE, "guest1", **ride)])
    assert (names(done.outcomes), done.again, world.nova.asked) == ([ONE], True, [])
    assert names(world.round().outcomes) == [TWO]


def test_one_that_failed_after_the_hosts_were_read_is_not_sent_by_what_was_read_before():
    """Its failed destination may have been read before anything of it was there."""
    world = World()
    world.nova.servers[ONE]["status"] = "ERROR"
    world.nova.records[ONE] = "failed"
    done = world.round(rode=[evacuation.Riding(ONE, "guest1", "compute3", 1024)])
    assert {entry.uuid: entry.outcome for entry in done.outcomes} == {ONE: "failed", TWO: "arrived"}
    assert set(done.tried) == {ONE}
    assert (world.nova.asked, done.again) == ([(TWO, "compute3")], True)


def test_signs_of_life_stop_the_next_but_those_on_the_way_are_followed():
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    world.change = lambda some: some.target(1, state="up")
    done = world.round(rode=[evacuation.Riding(ONE, "guest1", "compute3", 1024)])
    assert (names(done.outcomes), world.nova.asked, done.left, done.again) == ([ONE], [], {TWO: "SG510"}, True)
    last = world.round()
    assert (last.again, world.nova.asked, last.left) == (False, [], {TWO: "SG510"})


def record(uuid, **changes):
    """An evacuation that Nova is at."""
    row = facts.ApiMigration(
        7, f"record-of-{uuid}", "evacuation", "pre-migrating", uuid, "compute1", None, "compute3", None
    )
    return dataclasses.replace(row, **changes)


def test_one_at_which_nova_is_without_a_task_is_not_sent_a_second_time():
    """Between the end of its task and its new host, and nobody's journal knows of it."""
    world = World()
    world.change = lambda some: some.having(some.cloud.without("databases").cloud(migrations=[record(ONE)]))
    done = world.round()
    assert (names(done.outcomes), done.left, codes(done)) == ([TWO], {ONE: "SG702"}, ["SG702"])
    # It never ends, and whoever knows says so by name.
    known = Override("SG702", f"record-of-{ONE}", "nova-compute of its destination was started anew")
    assert names(world.round(overrides=[known]).outcomes) == [ONE]


def test_a_journal_is_carried_on_with_by_new_clocks_and_with_new_patience():
    ride = {"uuid": ONE, "name": "guest1", "target": "compute3", "size_mib": 1024, "started": 5.0}
    memory = {"evacuate": {ONE: {"compute3": "failed"}, TWO: {"(under way)": "took long"}}, "riding": [ride]}
    kept = evacuation_round.resumed({"memory": memory})
    assert kept == {"evacuate": {ONE: {"compute3": "failed"}, TWO: {}}, "riding": [{**ride, "started": None}]}
    assert evacuation_round.remembered({"memory": kept}) == [evacuation.Riding(ONE, "guest1", "compute3", 1024)]
    assert evacuation_round.remembered({}) == []


def test_while_the_measure_is_fresh_the_next_goes_when_one_has_arrived():
    world = World()
    request = dataclasses.replace(world.scene.request, parallel=1)
    assert [len(world.round(request=request).outcomes) for _round in range(2)] == [2, 0]
    assert world.nova.most == {"compute3": 1}
    assert world.reads == 2


def test_those_who_have_left_are_found_in_one_list(monkeypatch):
    monkeypatch.setattr(evacuation_round, "FEW", 1)
    world = World()
    world.round()
    world.nova.shown.clear()
    clock = Clock()
    evacuator = evacuation.Evacuator(world.nova, "compute1", lambda _line: None, clock.sleep, clock.monotonic)
    passengers = [
        evacuation_round.Passenger(uuid, uuid, "ACTIVE", {f"{uuid}_disk": f"id-{uuid}_disk"})
        for uuid in (*BOTH, "deleted")
    ]
    done = evacuation_round.run(
        world.nova, world.read, evacuator, passengers, world.scene.request, (), {}, "2026-01-01T00:00:00Z"
    )
    assert states(done) == {**dict.fromkeys(BOTH, ("compute3", "verified")), "deleted": (None, "gone")}
    assert world.nova.shown == []


def test_those_that_an_unknown_run_has_sent_are_followed_and_judged_by_the_next_look():
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=3, target="compute3")
    world.change = lambda some: some.having(some.cloud.cloud(migrations=[record(ONE, status="accepted")]))
    first = world.round()
    assert {entry.uuid: entry.target for entry in first.outcomes} == dict.fromkeys(BOTH, "compute3")
    assert (first.again, world.nova.asked) == (True, [(TWO, "compute3")])


def test_one_that_failed_goes_elsewhere_or_stays_and_is_named():
    world = World(ends={ONE: "failed"})
    first = world.round()
    assert set(first.tried) == {ONE}
    assert set(first.tried[ONE]) == {"compute3"}
    second = world.round(first.tried)
    assert second.outcomes == []
    assert (second.again, set(second.left)) == (False, {ONE})
    assert "it failed there in this run" in second.left[ONE]
    assert states(second) == {TWO: ("compute3", "verified")}
    assert len(world.nova.asked) == 2, "it is not sent to the same host again"


def test_one_that_never_ends_is_waited_for_once_and_keeps_nobody_else():
    """Its destination died: Nova stays at it for ever."""
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=10**9, target="compute3")
    first = world.round(rode=[evacuation.Riding(ONE, "guest1", "compute3", 1024)])
    assert {entry.uuid: entry.outcome for entry in first.outcomes} == {ONE: "unknown", TWO: "arrived"}
    assert "Nova may still be at it" in first.tried[ONE]["(under way)"]
    last = world.round(first.tried)
    assert (last.again, last.outcomes) == (False, [])
    assert set(last.left) == {ONE}
    assert world.nova.asked == [(TWO, "compute3")], "nobody asks for it a second time"


def test_one_whose_disk_is_not_the_same_is_not_sent():
    world = World()
    world.change = lambda some: some.images(image(f"{ONE}_disk", id="another"), image(f"{TWO}_disk"))
    done = world.round()
    assert [entry.uuid for entry in done.outcomes] == [TWO]
    assert done.left == {ONE: "SG504"}
    assert codes(done) == ["SG504"]


def test_one_whose_failed_destination_still_runs_it_is_not_sent():
    world = World()

    def spoil(some):
        domain = dataclasses.replace(scene().bundle.hosts["compute2"].domains[0], uuid=ONE, state="running")
        return some.at(2, domains=[domain])

    world.change = spoil
    done = world.round()
    assert [entry.uuid for entry in done.outcomes] == [TWO]
    assert done.left == {ONE: "SG507"}


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda some: some.images(image(f"{ONE}_disk", [f"{address(1)}:0/7"]), image(f"{TWO}_disk")), "SG506"),
        (lambda some: some.target(1, state="up"), "SG510"),
        (
            lambda some: some.images(dataclasses.replace(image(f"{ONE}_disk"), watchers=None), image(f"{TWO}_disk")),
            "SG709",
        ),
        (lambda some: some.told(targets=None), "SG709"),
    ],
)
def test_nobody_is_sent_while_the_source_is_not_seen_dead(spoil, code):
    world = World()
    world.change = spoil
    done = world.round(overrides=[Override("SG506", "compute1", "I am sure")])
    assert (done.outcomes, world.nova.asked, done.again) == ([], [], False)
    assert set(done.left) == set(BOTH)
    assert code in codes(done)


def test_memory_that_went_meanwhile_leaves_them_where_they_are():
    world = World()

    def left(some):
        arrived = len(some.bundle.hosts["compute3"].domains)
        return some.at(3, memory=facts.Memory(65536, 1700 - 1100 * arrived, 900, 0))

    world.change = left
    first = world.round()
    assert len(first.outcomes) == 1
    assert len(first.left) == 1
    assert "real memory left" in next(iter(first.left.values()))
    assert world.round().again is False


def test_who_landed_otherwise_than_he_should_is_told():
    world = World()
    world.round()
    world.change = lambda some: some.at(3, domains=[])
    done = world.round()
    assert {state for _host, state in states(done).values()} == {"wrong"}
    assert codes(done) == ["SG109"]


def test_a_destination_that_died_meanwhile_is_told_and_not_taken_for_well():
    world = World()
    world.round()
    world.change = lambda some: some.having(some.cloud.unreachable("compute3"))
    done = world.round()
    assert codes(done) == ["SG709"]
    assert {state for _host, state in states(done).values()} == {"wrong"}


def test_one_deleted_by_its_owner_is_gone():
    world = World()
    del world.nova.servers[ONE]
    done = world.round()
    assert states(done) == {ONE: (None, "gone")}
    assert [entry.uuid for entry in done.outcomes] == [TWO]


def test_a_port_left_behind_is_told():
    world = World()
    port = {"id": "p1", "binding:host_id": "compute1", "device_id": ONE, "status": "DOWN"}
    world.nova.ports = [port, {**port, "id": "p2", "device_id": "somebody else's"}]
    done = world.round()
    assert [(item.code, item.object.id) for item in done.findings] == [("SG511", "p1")]


def test_ports_that_cannot_be_read_are_told_and_lose_no_outcome():
    world = World()
    world.nova.network.request = lambda *_args, **_given: Answer(503, {"error": {"message": "neutron is away"}})
    done = world.round()
    assert {entry.outcome for entry in done.outcomes} == {"arrived"}
    assert codes(done) == ["SG709"]


def test_servers_that_cannot_be_read_are_not_taken_for_gone():
    world = World()
    world.change = lambda some: some.having(some.cloud.cloud(servers=None))
    with pytest.raises(ApiError, match="who is still there"):
        world.round()
    assert world.nova.asked == []
