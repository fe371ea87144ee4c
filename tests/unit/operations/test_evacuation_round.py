# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Round after round, against a small Nova: every server arrives once, and none is sent on doubtful facts."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import IncomingServer
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as records
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import round as evacuation_round
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import steps as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.record import DiskImage, PlannedServer
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, fence_proof
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_actions
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import (
    FENCE,
    OPERATION,
    disks,
    image,
    lock,
    scene,
    volume,
)
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.small_cinder import SmallCinder
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer, Clock, Nova

ONE, TWO = guest(1, 1), guest(1, 2)
BOTH = [ONE, TWO]
SNAPSHOT = f"stackguard-{OPERATION}"
GUARDS = [facts.RbdSnapshot(SNAPSHOT)]


def disk(uuid, watchers=(), **changes):
    """The root disk of a server, under its guard."""
    return image(f"{uuid}_disk", watchers, **{"snapshots": GUARDS, **changes})


def server_of(uuid, name="guest", status="ACTIVE", numa=(), power=records.RUNNING):
    images = {f"{uuid}_disk": DiskImage(f"id-{uuid}_disk", "fsid", "vms")}
    return PlannedServer(uuid, name, status, images, None if numa is None else list(numa), power)


class World:
    """The small Nova, and hosts that see what it did: domains and watchers follow the servers."""

    def __init__(self, hosts=3, **nova):
        self.scene = scene(hosts=hosts).asked(fence=FENCE)
        self.nova = Nova(*BOTH, source="compute1", **nova)
        self.change = lambda some: some
        self.reads = 0
        #: What the journal says of each server's NUMA cells; None: unread.
        self.numa = []
        #: Who was about to be sent, round by round.
        self.claimed = []

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
            pool.append(disk(uuid, [f"{address(number)}:0/{uuid[:3]}"] if number else []))
        for number in range(2, 4):
            there = [uuid for uuid in BOTH if self.nova.servers.get(uuid, {}).get("host") == f"compute{number}"]
            domain = self.scene.bundle.hosts["compute2"].domains[0]
            rows = [
                dataclasses.replace(domain, uuid=uuid, state="running", rss_mib=domain.memory_mib) for uuid in there
            ]
            some = some.at(number, domains=rows, rbd=disks(*pool, client_address=address(number)))
        some = self.change(some)
        return some.bundle, some.about

    def round(self, tried=None, overrides=(), request=None, sent=(), fresh=120.0, **given):
        clock = Clock()
        evacuator = evacuation.Evacuator(self.nova, "compute1", lambda _line: None, clock.sleep, clock.monotonic)
        planned = [server_of(uuid, f"guest{index}", numa=self.numa) for index, uuid in enumerate(BOTH, 1)]
        bundle, about = self.read()
        passes = {
            "connection": self.nova,
            "planned": planned,
            "request": request or self.scene.request,
            "overrides": overrides,
            "tried": tried or {},
            "in_transit": sent,
            "others": (),
            "guarded": set(BOTH),
            "snapshot": SNAPSHOT,
            "claim": self.claim,
            # Without any time to spare, the first that ends is the last that this reading serves.
            "good": lambda _host: clock.monotonic() <= fresh and not (fresh == 0.0 and evacuator.outcomes),
        }
        return evacuation_round.run(bundle, about, evacuator, evacuation_round.Passes(**{**passes, **given}))

    def claim(self, assigned, _resets):
        self.claimed.append([assignment.uuid for assignment in assigned])
        return False


def states(done):
    return {entry.uuid: (entry.host, entry.state) for entry in done.arrived}


def codes(done):
    return sorted({item.code for item in done.checked.findings})


def test_two_rounds_send_all_servers_and_verify_them():
    world = World()
    first = world.round()
    assert {entry.uuid: entry.outcome for entry in first.outcomes} == dict.fromkeys(BOTH, "arrived")
    assert (first.again, first.left, codes(first)) == (True, {}, [])
    second = world.round()
    assert (second.again, second.outcomes, codes(second)) == (False, [], [])
    assert states(second) == dict.fromkeys(BOTH, ("compute3", "verified"))
    assert sorted(world.nova.asked) == sorted((uuid, "compute3") for uuid in BOTH)


def one_by_one(world):
    """By this each round sends one server, and leaves it in transit if another waits."""
    return {"request": dataclasses.replace(world.scene.request, parallel=1), "fresh": 0.0}


def names(entries):
    return [entry.uuid for entry in entries]


def test_hosts_are_read_again_while_servers_are_still_in_transit():
    world = World(ticks=1)
    given = one_by_one(world)
    first = world.round(**given)
    assert (names(first.outcomes), names(first.in_transit), first.again) == ([], [ONE], True)
    world.nova.tick()
    second = world.round(**given, sent=first.in_transit)
    assert (names(second.outcomes), names(second.in_transit), second.again) == ([ONE], [], True)
    assert second.arrived == [], "what was read while it was in transit says nothing of it"
    third = world.round(**given, sent=second.in_transit)
    assert (names(third.outcomes), states(third)) == ([TWO], {ONE: ("compute3", "verified")})
    last = world.round(**given, sent=third.in_transit)
    assert (last.again, states(last)) == (False, dict.fromkeys(BOTH, ("compute3", "verified")))
    assert world.reads == 4
    assert world.nova.asked == [(ONE, "compute3"), (TWO, "compute3")], "each is asked for once"


def in_transit(uuid=ONE, target="compute3", size_mib=1024, **given):
    return evacuation.InTransit(uuid, "guest1", target, size_mib, **given)


def test_a_server_in_transit_is_counted_where_it_is_going():
    """Memory for one of them: as long as the first is not seen there, the second has no place."""
    world = World(ticks=100)
    world.change = lambda some: some.at(3, memory=facts.Memory(65536, 1700))
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    done = world.round(sent=[in_transit()])
    assert (names(done.outcomes), done.again) == ([ONE], True)
    assert "real memory left" in done.left[TWO]
    assert world.nova.asked == []
    # Nor is placement's room promised twice.
    world = World(ticks=100)
    world.change = lambda some: some.target(3, free={"VCPU": 1, "MEMORY_MB": 32768, "DISK_GB": 1000})
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    assert "placement has 0 VCPU left" in world.round(sent=[in_transit()]).left[TWO]


@pytest.mark.parametrize(
    "change",
    [
        {"target": None},
        {"size_mib": None},
        {"numa": None},
    ],
)
def test_no_server_is_sent_while_it_is_not_known_what_takes_room_and_where(change):
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    trip = dict(change)
    world.numa = trip.pop("numa", [])
    done = world.round(sent=[in_transit(**trip)])
    assert (names(done.outcomes), done.again, world.nova.asked) == ([ONE], True, [])
    assert names(world.round().outcomes) == [TWO]


def test_a_server_that_failed_after_the_hosts_were_read_is_not_sent_by_what_was_read_before():
    """Its failed destination may have been read before anything of it was there."""
    world = World()
    world.nova.servers[ONE]["status"] = "ERROR"
    world.nova.records[ONE] = "failed"
    done = world.round(sent=[in_transit()])
    assert {entry.uuid: entry.outcome for entry in done.outcomes} == {ONE: "failed", TWO: "arrived"}
    assert set(done.tried) == {ONE}
    assert (world.nova.asked, done.again) == ([(TWO, "compute3")], True)


def test_signs_of_life_stop_the_next_but_servers_in_transit_are_followed():
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=5, target="compute3")
    world.change = lambda some: some.target(1, state="up")
    done = world.round(sent=[in_transit()])
    assert (names(done.outcomes), world.nova.asked, done.left, done.again) == ([ONE], [], {TWO: "SG510"}, True)
    assert not done.stopped, "the next round waits for what is in transit"
    last = world.round()
    assert (last.again, world.nova.asked, last.left) == (False, [], {TWO: "SG510"})
    assert last.stopped


def record(uuid, **changes):
    """An evacuation that Nova is at."""
    row = facts.ApiMigration(
        7, f"record-of-{uuid}", "evacuation", "pre-migrating", uuid, "compute1", None, "compute3", None
    )
    return dataclasses.replace(row, **changes)


def test_a_server_at_which_nova_is_without_a_task_is_not_sent_a_second_time():
    """Between the end of its task and its new host, and no journal knows of it."""
    world = World()
    world.change = lambda some: some.having(some.cloud.without("databases").cloud(migrations=[record(ONE)]))
    done = world.round()
    assert (names(done.outcomes), codes(done)) == ([TWO], ["SG702"])
    assert set(done.left) == {ONE}
    assert "SG702" in done.left[ONE]
    # It never ends, and whoever knows says so by name.
    known = Override("SG702", f"record-of-{ONE}", "nova-compute of its destination was started again")
    assert names(world.round(overrides=[known]).outcomes) == [ONE]


def test_while_the_measure_is_fresh_the_next_goes_when_one_has_arrived():
    world = World()
    request = dataclasses.replace(world.scene.request, parallel=1)
    assert [len(world.round(request=request).outcomes) for _round in range(2)] == [2, 0]
    assert world.nova.most == {"compute3": 1}
    assert world.reads == 2


def test_servers_that_have_left_are_found_in_one_list(monkeypatch):
    monkeypatch.setattr(evacuation_round, "FEW", 1)
    world = World()
    world.round()
    world.nova.shown.clear()
    planned = [server_of(uuid) for uuid in (*BOTH, "deleted")]
    done = world.round(planned=planned, guarded={*BOTH, "deleted"}, began="2026-01-01T00:00:00Z")
    assert states(done) == {**dict.fromkeys(BOTH, ("compute3", "verified")), "deleted": (None, "gone")}
    assert world.nova.shown == []


def test_servers_that_an_unknown_run_has_sent_are_followed_and_judged_by_the_next_look():
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=3, target="compute3")
    world.change = lambda some: some.having(some.cloud.cloud(migrations=[record(ONE, status="accepted")]))
    first = world.round()
    assert {entry.uuid: entry.target for entry in first.outcomes} == dict.fromkeys(BOTH, "compute3")
    assert (first.again, world.nova.asked) == (True, [(TWO, "compute3")])


def test_a_server_that_failed_goes_elsewhere_or_stays_and_is_named():
    world = World(ends={ONE: "failed"})
    first = world.round()
    assert set(first.tried) == {ONE}
    assert set(first.tried[ONE]) == {"compute3"}
    second = world.round(first.tried)
    assert second.outcomes == []
    assert (second.again, set(second.left)) == (False, {ONE})
    assert "the run has already tried this host for the server" in second.left[ONE]
    assert states(second) == {TWO: ("compute3", "verified")}
    assert len(world.nova.asked) == 2, "it is not sent to the same host again"


def test_a_server_that_never_ends_is_waited_for_once_and_keeps_no_other():
    """Its destination died: Nova stays at it for ever."""
    world = World()
    world.nova.servers[ONE].update(task="rebuilding", left=10**9, target="compute3")
    first = world.round(sent=[in_transit()])
    assert {entry.uuid: entry.outcome for entry in first.outcomes} == {ONE: "unknown", TWO: "arrived"}
    assert "Nova may still be working on this evacuation" in first.tried[ONE]["(under way)"]
    last = world.round(first.tried)
    assert (last.again, last.outcomes) == (False, [])
    assert set(last.left) == {ONE}
    assert world.nova.asked == [(TWO, "compute3")], "it is not asked for a second time"


def test_a_server_whose_disk_is_not_the_same_is_not_sent():
    world = World()
    world.change = lambda some: some.images(disk(ONE, id="another"), disk(TWO))
    done = world.round()
    assert [entry.uuid for entry in done.outcomes] == [TWO]
    assert set(done.left) == {ONE}
    assert "SG504" in done.left[ONE]
    assert codes(done) == ["SG504"]


def test_a_server_whose_cluster_no_host_reads_any_more_is_not_called_lost():
    """The only host that reached its cluster was switched off: the run said that the image is gone."""
    world = World()
    world.change = lambda some: some.images(disk(TWO), fsid="another")
    done = world.round()
    assert (world.nova.asked, set(done.left)) == ([], set(BOTH))
    assert "SG709" in done.left[ONE]
    (said, *_more) = [item for item in done.checked.findings if item.object.id == ONE]
    assert (said.code, said.evidence["cluster"], said.evidence["pool"]) == ("SG709", "fsid", "vms")
    assert "none of the hosts that answer can reach this pool" in said.evidence["not read"]


FAILED = {ONE: {"compute3": "libvirtError: cannot set up guest memory"}}


def failed_on(number, **facts_of_it):
    """ONE's spawn failed on a host, whose client Ceph still shows."""
    world = World()

    def spoil(some):
        pool = [disk(ONE, [f"{address(number)}:0/9"]), disk(TWO)]
        for host in (2, 3):
            some = some.at(host, rbd=disks(*pool, client_address=address(host)))
        return some.at(number, **facts_of_it) if facts_of_it else some

    world.change = spoil
    return world


def test_the_last_client_of_a_qemu_whose_start_failed_does_not_hide_why_it_failed():
    """V5: result, report and message said SG507, with the one watcher of the QEMU that had just died."""
    done = failed_on(3).round(tried=FAILED)
    assert "cannot set up guest memory" in done.left[ONE]
    assert (done.ending, "SG507" in codes(done), "SG507" in done.left[ONE]) == ((ONE,), False, False)
    assert [entry.uuid for entry in done.outcomes] == [TWO]


@pytest.mark.parametrize(
    ("number", "spoiled"),
    [
        # Another host than the one that failed.
        (2, {}),
        # Its QEMU runs, or this is not known.
        (3, {"qemu_processes": {ONE: 77}}),
        (3, {"qemu_processes": None}),
        (3, {"domains": None}),
    ],
)
def test_a_client_that_may_be_a_living_qemu_is_a_second_writer_all_the_same(number, spoiled):
    done = failed_on(number, **spoiled).round(tried=FAILED)
    assert (done.ending, "SG507" in codes(done)) == ((), True)
    assert "cannot set up guest memory" in done.left[ONE], "the reason is kept"
    assert ONE not in [entry.uuid for entry in done.outcomes]


def test_a_server_whose_failed_destination_still_runs_it_is_not_sent():
    world = World()

    def spoil(some):
        domain = dataclasses.replace(scene().bundle.hosts["compute2"].domains[0], uuid=ONE, state="running")
        return some.at(2, domains=[domain])

    world.change = spoil
    done = world.round()
    assert [entry.uuid for entry in done.outcomes] == [TWO]
    assert set(done.left) == {ONE}
    assert "SG507" in done.left[ONE]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda some: some.images(disk(ONE, [f"{address(1)}:0/7"]), disk(TWO)), "SG506"),
        (lambda some: some.target(1, state="up"), "SG510"),
        (lambda some: some.told(targets=None), "SG709"),
    ],
)
def test_no_server_is_sent_while_the_source_is_not_seen_dead(spoil, code):
    world = World()
    world.change = spoil
    done = world.round(overrides=[Override("SG506", "compute1", "I am sure")])
    assert (done.outcomes, world.nova.asked, done.again) == ([], [], False)
    assert set(done.left) == set(BOTH)
    assert code in codes(done)


def test_a_server_whose_watchers_were_not_read_is_not_sent():
    """Unread is not none. It says nothing of the other server, whose disk was read."""
    world = World()
    world.change = lambda some: some.images(dataclasses.replace(disk(ONE), watchers=None), disk(TWO))
    done = world.round(overrides=[Override("SG506", "compute1", "I am sure")])
    assert done.left == {ONE: "SG709"}
    assert world.nova.asked == [(TWO, "compute3")]
    assert codes(done) == ["SG709"]


def test_memory_that_went_meanwhile_leaves_servers_where_they_are():
    world = World()

    def left(some):
        arrived = len(some.bundle.hosts["compute3"].domains)
        return some.at(3, memory=facts.Memory(65536, 1700 - 1100 * arrived))

    world.change = left
    first = world.round()
    assert len(first.outcomes) == 1
    assert len(first.left) == 1
    assert "real memory left" in next(iter(first.left.values()))
    assert world.round().again is False


def test_a_server_that_arrived_otherwise_than_it_should_is_reported():
    world = World()
    world.round()
    world.change = lambda some: some.at(3, domains=[])
    done = world.round()
    assert {state for _host, state in states(done).values()} == {"wrong"}
    assert codes(done) == ["SG109"]


def test_a_destination_that_died_meanwhile_is_reported_and_no_server_there_is_verified():
    world = World()
    world.round()
    world.change = lambda some: some.having(some.cloud.unreachable("compute3"))
    done = world.round()
    assert codes(done) == ["SG709"]
    assert {state for _host, state in states(done).values()} == {"wrong"}


def test_a_server_deleted_by_its_owner_is_gone_and_its_disk_that_stayed_is_reported():
    """Nova says that it deleted it, and the guard kept the image."""
    world = World()
    del world.nova.servers[ONE]
    done = world.round()
    assert states(done) == {ONE: (None, "gone")}
    assert [entry.uuid for entry in done.outcomes] == [TWO]
    assert [(item.code, item.object.id) for item in done.checked.findings] == [("SG508", f"vms/{ONE}_disk")]


def test_a_server_deleted_with_its_disks_leaves_no_finding():
    world = World()
    del world.nova.servers[ONE]
    world.change = lambda some: some.images(disk(TWO))
    assert codes(world.round()) == []


def test_a_port_left_behind_is_reported():
    world = World()
    port = {"id": "p1", "binding:host_id": "compute1", "device_id": ONE, "status": "DOWN"}
    world.nova.ports = [port, {**port, "id": "p2", "device_id": "another owner's"}]
    done = world.round()
    assert [(item.code, item.object.id) for item in done.checked.findings] == [("SG511", "p1")]


def test_ports_that_can_not_be_read_are_reported_and_lose_no_outcome():
    world = World()
    world.nova.network.request = lambda *_args, **_given: Answer(503, {"error": {"message": "neutron is away"}})
    done = world.round()
    assert {entry.outcome for entry in done.outcomes} == {"arrived"}
    assert codes(done) == ["SG709"]


def test_servers_that_can_not_be_read_are_not_taken_for_gone():
    world = World()
    world.change = lambda some: some.having(some.cloud.cloud(servers=None))
    with pytest.raises(ApiError, check=problem_is("not-read")):
        world.round()
    assert world.nova.asked == []


# --- the fence, the guards, other operations ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at": "2026-11-21T05:50:00+00:00"}, " 120 s"),
        ({"at": "2026-11-21T06:30:00+00:00"}, "(2026-11-21T06:30:00+00:00)"),
        ({"host": "compute2"}, ": compute2"),
        ({"operation_id": "another"}, ": another"),
        ({"kind": "command"}, " command,"),
    ],
)
def test_no_server_is_sent_by_a_proof_that_is_old_or_of_another_fence(change, said):
    """D5: a machine that was off ten minutes ago may be on again."""
    world = World()
    fence = dataclasses.replace(FENCE, **change)
    request = dataclasses.replace(world.scene.request, fence=fence, fence_kind="power")
    done = world.round(request=request)
    assert (world.nova.asked, done.again, done.stopped) == ([], False, True)
    assert codes(done) == ["SG506"]
    assert said in str(done.checked.findings[0].evidence)


def test_a_server_whose_proof_expired_before_it_was_sent_stays_and_is_tried_again():
    """M1 of the model test: it ended as evacuated, and the server was still on the dead host."""
    world = World()
    done = world.round(fresh=-1.0)
    assert (done.outcomes, world.nova.asked, done.again) == ([], [], True)
    assert set(done.left) == set(BOTH)
    assert {"expired" in why for why in done.left.values()} == {True}


def test_a_server_whose_image_has_no_guard_is_not_sent():
    """D2: rbd_guard found no image in its pool, and succeeded. The evacuation ran without any guard."""
    world = World()
    world.change = lambda some: some.images(disk(ONE, snapshots=[]), disk(TWO))
    done = world.round()
    assert world.nova.asked == [(TWO, "compute3")]
    assert "no guard snapshot" in done.left[ONE]


@pytest.mark.parametrize("on", [(3,), (2, 3)])
def test_a_server_whose_image_is_seen_in_another_cluster_only_is_not_sent(on):
    world = World()

    def spoil(some):
        for number in on:
            there = some.bundle.hosts[f"compute{number}"].rbd
            some = some.at(number, rbd=dataclasses.replace(there, fsid="another"))
        return some

    world.change = spoil
    done = world.round()
    assert world.nova.asked == []
    assert set(done.left) == set(BOTH)


def test_a_server_whose_guard_was_not_made_in_this_run_is_not_sent():
    world = World()
    done = world.round(guarded={TWO})
    assert world.nova.asked == [(TWO, "compute3")]
    assert "made no guard snapshots for the server" in done.left[ONE]


def test_servers_without_an_image_in_ceph_are_sent_without_a_guard():
    """D8: servers that boot from volumes were fenced first, and refused afterwards."""
    world = World()
    world.change = lambda some: some.images()
    planned = [dataclasses.replace(server_of(uuid), images={}) for uuid in BOTH]
    for uuid in BOTH:
        world.scene = world.scene.server(BOTH.index(uuid) + 1, image="")
    done = world.round(planned=planned)
    assert sorted(uuid for uuid, _host in world.nova.asked) == sorted(BOTH)
    assert done.left == {}


def test_servers_are_not_sent_where_another_operation_has_sent_its_own_meanwhile():
    world = World()
    done = world.round(claim=lambda _seats, _resets: True)
    assert (done.outcomes, world.nova.asked, done.again) == ([], [], True)


def test_what_another_operation_has_in_transit_takes_its_room():
    world = World()
    world.change = lambda some: some.at(3, memory=facts.Memory(65536, 2000))
    assert len(world.round().outcomes) == 1
    world = World(ticks=100)
    world.change = lambda some: some.at(3, memory=facts.Memory(65536, 2000))
    done = world.round(others=[IncomingServer("another", "compute3", 1024, (), {})])
    assert (done.outcomes, set(done.left)) == ([], set(BOTH))


def test_servers_are_noted_before_they_are_sent():
    world = World()
    claimed = []

    def claim(assigned, _resets):
        claimed.append(([assignment.uuid for assignment in assigned], list(world.nova.asked)))
        return False

    world.round(claim=claim)
    assert claimed == [([ONE, TWO], [])] or claimed == [([TWO, ONE], [])]


# --- the power state before the host died ---------------------------------------------------------------------


def stopped_before(monkeypatch, **nova):
    """ONE was stopped before its host died; a failed spawn had made it an ERROR, and Nova has started it elsewhere."""
    world, stopped = World(**nova), []
    monkeypatch.setattr(server_actions, "stop", lambda _cloud, uuid: stopped.append(uuid))
    world.nova.servers[ONE].update(host="compute3", status="ACTIVE")
    planned = [server_of(ONE, status="SHUTOFF", power=records.STOPPED), server_of(TWO)]
    return world, stopped, {"planned": planned, "to_stop": {ONE}}


def test_a_server_that_its_owner_had_stopped_is_stopped_again_where_nova_started_it(monkeypatch):
    """H1: it was SHUTOFF, a spawn failed, the second run ended pass and it ran."""
    world, stopped, given = stopped_before(monkeypatch)
    done = world.round(**given)
    assert (stopped, done.put_out, done.again) == ([ONE], (ONE,), True)
    assert ONE not in states(done), "it is verified in the next round"


def test_a_server_of_which_nobody_read_whether_it_ran_is_no_pass(monkeypatch):
    world, _stopped, given = stopped_before(monkeypatch)
    planned = [server_of(ONE, status="ERROR", power=None), server_of(TWO)]
    done = world.round(**{**given, "to_stop": (), "planned": planned})
    assert [(item.code, item.severity, item.evidence["before"]) for item in done.checked.findings] == [
        ("SG710", "warning", "not known")
    ]


def test_a_server_that_should_be_stopped_and_runs_is_reported_where_its_owner_started_it(monkeypatch):
    world, stopped, given = stopped_before(monkeypatch)
    done = world.round(**{**given, "to_stop": ()})
    assert (stopped, codes(done)) == ([], ["SG710"])
    assert [(item.severity, item.evidence["expected"]) for item in done.checked.findings] == [("warning", "SHUTOFF")]
    assert states(done)[ONE] == ("compute3", "verified")


def test_a_server_in_error_elsewhere_is_not_verified():
    world = World()
    world.nova.servers[ONE].update(host="compute3", status="ERROR")
    done = world.round()
    assert (states(done)[ONE], "SG710" in codes(done)) == (("compute3", "wrong"), True)


def test_with_all_servers_left_stopped_no_server_is_stopped_by_hand(monkeypatch):
    world, stopped, given = stopped_before(monkeypatch)
    world.round(**given, request=dataclasses.replace(world.scene.request, target_state="stopped"))
    assert stopped == []


def test_a_state_that_can_not_be_reset_keeps_its_server(monkeypatch):
    def refuse(_cloud, _uuid):
        raise ApiError("403 Forbidden", status=403)

    monkeypatch.setattr(server_actions, "reset_state_verified", refuse)
    world = World()
    world.nova.servers[ONE].update(task="powering-off", target=None)
    request = dataclasses.replace(world.scene.request, resets=("task",), queue_read=True)
    done = world.round(request=request)
    assert world.nova.asked == [(TWO, "compute3")]
    assert "403 Forbidden" in done.left[ONE]


def test_a_server_with_a_task_of_the_dead_host_is_reset_only_where_the_operator_allows_it(monkeypatch):
    """D13: a tenant had pressed reboot. Its task never ends, for its nova-compute is dead."""
    reset = []

    def set_active(_cloud, uuid):
        reset.append(uuid)
        world.nova.servers[uuid]["task"] = None

    monkeypatch.setattr(server_actions, "reset_state_verified", set_active)
    world = World()
    world.nova.servers[ONE].update(task="powering-off", target=None)
    done = world.round()
    assert (reset, world.nova.asked) == ([], [(TWO, "compute3")])
    assert "SG701" in done.left[ONE] or "powering-off" in done.left[ONE]
    world = World()
    world.nova.servers[ONE].update(task="powering-off", target=None)
    world.round(request=dataclasses.replace(world.scene.request, resets=("task",), queue_read=True))
    assert (reset, sorted(world.nova.asked)) == ([ONE], sorted((uuid, "compute3") for uuid in BOTH))
    # Where the request may wait in RabbitMQ for the dead host, no reset ends it.
    world = World()
    world.nova.servers[ONE].update(task="powering-off", target=None)
    done = world.round(request=dataclasses.replace(world.scene.request, resets=("task",)))
    assert (reset, world.nova.asked) == ([ONE], [(TWO, "compute3")])
    assert "SG329" in done.left[ONE]


# --- as they should be, at the second look --------------------------------------------------------------------


def lives_again(world, listed=True):
    """compute1's link has healed: its QEMUs run on, and Ceph refuses them."""
    back = scene(alive=True).bundle.hosts["compute1"]
    domain = world.scene.bundle.hosts["compute2"].domains[0]
    rows = [dataclasses.replace(domain, uuid=uuid, state="running") for uuid in BOTH]

    def change(some):
        hosts = {**some.bundle.hosts, "compute1": dataclasses.replace(back, domains=rows)}
        return some.having(some.cloud._bundle(hosts=hosts, unreachable={}))

    world.change = change
    proof = fence_proof.FenceProof(
        "blocklist", "compute1", OPERATION, "read back", FENCE.at, "compute2", {"fsid": [address(1)]}
    )
    return dataclasses.replace(world.scene.request, fence=proof if listed else FENCE, fence_kind=proof.kind)


def test_the_qemu_of_a_blocklisted_host_whose_link_heals_does_not_make_an_arrived_server_wrong():
    """On the lab: all five had arrived, one watcher each, and the run failed with SG507 for the host's own QEMUs."""
    world = World()
    world.round()
    request = lives_again(world)
    done = world.round(request=request)
    assert {state for _host, state in states(done).values()} == {"verified"}
    (one, _two) = [item for item in done.checked.findings if item.code == "SG507"]
    assert (one.severity, "return_host" in one.remedy) == ("warning", True)


def test_the_same_qemu_on_a_machine_that_was_read_as_off_is_a_second_writer():
    world = World()
    world.round()
    request = lives_again(world, listed=False)
    done = world.round(request=request)
    assert {state for _host, state in states(done).values()} == {"wrong"}


def test_a_server_that_was_just_stopped_is_looked_at_again_before_it_is_wrong():
    """On the lab: SHUTOFF by Nova, and the watcher of its QEMU was read some seconds before that."""
    world = World()
    world.round()
    world.change = lambda some: some.images(*[disk(uuid, ["192.0.2.3:0/1", "192.0.2.3:0/2"]) for uuid in BOTH])
    first = world.round(doubted=())
    assert (states(first), sorted(first.doubted), first.again) == ({}, sorted(BOTH), True)
    assert not first.checked.findings
    world.change = lambda some: some
    second = world.round(doubted=first.doubted)
    assert {state for _host, state in states(second).values()} == {"verified"}
    world.change = lambda some: some.images(*[disk(uuid, ["192.0.2.3:0/1", "192.0.2.3:0/2"]) for uuid in BOTH])
    still = world.round(doubted=first.doubted)
    assert {state for _host, state in states(still).values()} == {"wrong"}
    assert not still.again


# --- servers on volumes ---------------------------------------------------------------------------------------


def on_volumes(watchers=(), unseen=False, **changes):
    """Both servers have come to compute3. ONE boots from volume v1, whose clients there are ``watchers``."""
    world = World()
    show = world.nova.show
    attached = {"os-extended-volumes:volumes_attached": [{"id": "v1"}], "image": ""}
    world.nova.show = lambda uuid: {**show(uuid), **(attached if uuid == ONE else {})}
    world.nova.with_cinder(SmallCinder()).volume("v1").attach("a1", "v1", ONE, "compute3")
    for uuid in BOTH:
        world.nova.servers[uuid].update(host="compute3")
    clients = [f"{address(number)}:0/{nonce}" for nonce, number in enumerate(watchers, 5)]
    seen = None if unseen else [volume("v1", clients, **changes)]

    def change(some):
        for number in (2, 3):
            rbd = some.bundle.hosts[f"compute{number}"].rbd
            images = [item for item in rbd.images if item.name.startswith(TWO)]
            some = some.at(number, rbd=dataclasses.replace(rbd, images=images, volumes=seen))
        return some

    world.change = change
    return world


def planned_volumes(volumes=("v1",)):
    one = dataclasses.replace(server_of(ONE, "guest1"), images={}, volumes=volumes and list(volumes))
    return [one, server_of(TWO, "guest2")]


@pytest.mark.parametrize("volumes", [("v1",), None])
def test_a_server_on_a_volume_is_verified_by_its_volume(volumes):
    done = on_volumes([3]).round(planned=planned_volumes(volumes))
    assert states(done)[ONE] == ("compute3", "verified")
    assert (codes(done), done.checked.unchecked) == ([], ())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda cinder: cinder.attach("a1", "v1", ONE, "compute1"), "SG524"),
        (lambda cinder: cinder.attach("a2", "v1", ONE, "compute1"), "SG525"),
        (lambda cinder: cinder.attach("a1", "v1", ONE, None, "reserved"), "SG524"),
        (lambda cinder: cinder.volume("v1", status="detaching"), "SG526"),
    ],
)
def test_a_server_whose_volume_is_connected_elsewhere_is_not_verified(change, code):
    world = on_volumes([3])
    change(world.nova.cinder)
    done = world.round(planned=planned_volumes())
    assert (states(done)[ONE], states(done)[TWO]) == (("compute3", "wrong"), ("compute3", "verified"))
    assert codes(done) == [code]


def test_a_second_reservation_is_told_and_no_failure():
    world = on_volumes([3])
    world.nova.cinder.attach("a2", "v1", ONE, None, "reserved")
    done = world.round(planned=planned_volumes())
    assert (states(done)[ONE], codes(done)) == (("compute3", "verified"), ["SG525"])


@pytest.mark.parametrize(("member", "state"), [("compute3", "verified"), ("compute2", "wrong"), (None, "wrong")])
def test_two_members_of_a_shared_volume_on_one_host_are_two_watchers(member, state):
    """V1: the other lives where this one arrives. Seen on the lab: the server had arrived, and was "wrong"."""
    world = on_volumes([3, 3])
    world.nova.cinder.volume("v1", multiattach=True).attach("a2", "v1", "member", member)
    world.nova.servers["member"] = {"host": member, "status": "ACTIVE", "task": None, "left": 0}
    done = world.round(planned=planned_volumes())
    assert states(done)[ONE] == ("compute3", state)


def test_a_cinder_that_does_not_answer_is_undecided():
    world = on_volumes([3])
    world.nova.cinder.refused = ("/attachments",)
    done = world.round(planned=planned_volumes())
    assert (states(done)[ONE], codes(done)) == (("compute3", "verified"), [])
    assert [(item.code, item.object) for item in done.checked.unchecked] == [("SG524", ONE)]


def test_a_volume_on_a_share_has_no_watcher_and_is_verified_by_its_attachment():
    """V10: no host has rbd in nova.conf, and the run never ended green."""
    world = on_volumes(unseen=True)
    world.nova.cinder.volume("v1", backend="controller@nfs#share").attach("a1", "v1", ONE, "compute3", driver="nfs")
    done = world.round(planned=planned_volumes())
    assert (states(done)[ONE], codes(done)) == (("compute3", "verified"), [])
    change = world.change
    world.change = lambda some: change(some).at(2, rbd=None).at(3, rbd=None)
    assert states(world.round(planned=planned_volumes()[:1]))[ONE] == ("compute3", "verified")


@pytest.mark.parametrize(("watchers", "code"), [([1, 3], "SG507"), ([3, 2], "SG507"), ([], "SG109")])
def test_a_server_whose_volume_has_other_clients_than_its_host_is_not_verified(watchers, code):
    """V8: "state": "verified", with two watchers on its root volume."""
    done = on_volumes(watchers).round(planned=planned_volumes())
    assert (states(done)[ONE], states(done)[TWO]) == (("compute3", "wrong"), ("compute3", "verified"))
    assert codes(done) == [code]


def test_a_volume_that_was_not_read_is_passed_by_the_servers_name_and_by_nothing_else():
    done = on_volumes(unseen=True).round(planned=planned_volumes())
    assert (states(done)[ONE], codes(done)) == (("compute3", "wrong"), ["SG709"])
    for word, state in ((ONE, "verified"), ("guest1", "verified"), ("compute3", "wrong")):
        passed = [Override("SG709", word, "an NFS share")]
        done = on_volumes(unseen=True).round(planned=planned_volumes(), overrides=passed)
        assert states(done)[ONE] == ("compute3", state)
    # Where nobody read the domains of its host, it is not known where it runs.
    world = on_volumes(unseen=True)
    change = world.change
    world.change = lambda some: change(some).at(3, domains=None)
    done = world.round(planned=planned_volumes(), overrides=[Override("SG709", ONE, "an NFS share")])
    assert states(done)[ONE] == ("compute3", "wrong")


def test_what_its_owner_attached_and_detached_since_is_no_part_of_the_evacuation():
    done = on_volumes([3]).round(planned=planned_volumes(("v1", "detached")))
    assert states(done)[ONE] == ("compute3", "verified")
    done = on_volumes([1]).round(planned=planned_volumes(()))
    assert states(done)[ONE] == ("compute3", "verified")


def test_the_lock_of_a_dead_client_is_in_the_report_and_no_failure():
    """B03: the disk opens, and every write waits; the run was green without a word."""
    done = on_volumes([3], locks=[lock(1)]).round(planned=planned_volumes())
    assert (states(done)[ONE], codes(done)) == (("compute3", "verified"), [])
    assert [(item.code, item.object) for item in done.checked.unchecked] == [("SG518", "volumes/volume-v1")]


def test_a_journal_keeps_the_volumes_and_an_older_one_is_read():
    kept = records.plain(planned_volumes())
    read = records.servers_of({"about": {"servers": kept}})
    assert [entry.volumes for entry in read] == [["v1"], None]
    older = [{key: value for key, value in entry.items() if key != "volumes"} for entry in kept]
    assert [entry.volumes for entry in records.servers_of({"about": {"servers": older}})] == [None, None]
