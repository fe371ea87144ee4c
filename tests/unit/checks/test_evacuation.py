# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May a dead host be evacuated? A clean scene passes; each thing that is spoiled is told by its own code; and what is
not read never lets anything pass."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.checks import evacuation, storage
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import Sent, expected_images
from ansible_collections.stackguard.nova.plugins.module_utils.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import why_not
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, node
from ansible_collections.stackguard.nova.tests.unit.evacuations import FENCE, FLAVOR, disks, image, scene

ONE, TWO = guest(1, 1), guest(1, 2)
DISK = f"{ONE}_disk"
SOURCE = f"{address(1)}:0/77"


def decide(some, fence="power", overrides=(), **given):
    return evacuation.preflight(some.bundle, some.about, some.request, overrides, fence, **given)


def blockers(some, **given):
    return sorted({item.code for item in decide(some, **given).checked.findings if item.severity == findings.BLOCKER})


def told(some, code, **given):
    return [item for item in decide(some, **given).checked.findings if item.code == code]


def places(some, **given):
    return {seat.uuid: seat.host for seat in decide(some, **given).seating.seats}


def test_a_dead_host_is_evacuated_within_its_zone():
    some = scene()
    decision = decide(some)
    assert decision.checked.findings == ()
    assert decision.checked.unchecked == ()
    assert {seat.host for seat in decision.seating.seats} == {"compute3"}
    assert "it is in zone az2" not in why_not(decision.seating, ONE, "compute3")


def test_after_the_fence_nothing_stands_against_it():
    some = scene().asked(fence=FENCE)
    assert evacuation.death(some.bundle, some.about, some.request).findings == ()


# --- each thing spoiled ---------------------------------------------------------------------------------------

LOST = disks(image(f"{TWO}_disk"))
SPOILED = {
    "the service is up": (lambda some: some.target(1, state="up"), {"SG510"}),
    "no room": (lambda some: some.at(3, memory=facts.Memory(65536, 1000, 900, 0)), {"SG501"}),
    "memory unread": (lambda some: some.at(3, memory=None), {"SG709"}),
    "domains unread": (lambda some: some.at(3, domains=None), {"SG709"}),
    "the host that has room was not read": (
        lambda some: some.having(some.cloud.unreachable("compute3")),
        {"SG709"},
    ),
    "the only other host of the zone is down": (lambda some: some.target(3, state="down"), {"SG512", "SG514"}),
    "the only other host of the zone is disabled": (lambda some: some.target(3, status="disabled"), {"SG512"}),
    "placement is full": (lambda some: some.target(3, free={"VCPU": 0, "MEMORY_MB": 9, "DISK_GB": 9}), {"SG512"}),
    "placement shows nothing": (lambda some: some.target(3, free=None), {"SG512"}),
    "placement offers nothing": (lambda some: some.told(offers={ONE: [], TWO: []}), {"SG512"}),
    "placement was not asked": (lambda some: some.told(offers=None), {"SG709"}),
    "a server was not asked about": (lambda some: some.told(offers={ONE: [node(3)]}), {"SG709"}),
    "numa unread": (lambda some: some.told(numa=None), {"SG709"}),
    "groups unread": (lambda some: some.told(groups=None), {"SG709"}),
    "services unread": (lambda some: some.told(targets=None), {"SG709"}),
    "servers unread": (lambda some: some.having(some.cloud.cloud(servers=None)), {"SG709"}),
    "no API at all": (lambda some: some.having(some.cloud.without("cloud")), {"SG709"}),
    "a flavor unread": (lambda some: some.server(1, flavor=None), {"SG709"}),
    "an image unread": (lambda some: some.server(1, image=None), {"SG709"}),
    "a root disk is missing": (lambda some: some.at(2, rbd=LOST).at(3, rbd=LOST), {"SG504"}),
    "the pool unread": (lambda some: some.at(3, rbd=disks(images=None)).at(2, rbd=disks(images=None)), {"SG709"}),
    "disks are local": (
        lambda some: some.having(some.cloud.part("nova_conf", "compute3", images_type="qcow2")),
        {"SG513"},
    ),
    "where disks are is unread": (lambda some: some.at(3, nova_conf=None), {"SG709"}),
    "a watcher's list is unread": (
        lambda some: some.images(dataclasses.replace(image(DISK), watchers=None), image(f"{TWO}_disk")),
        {"SG709"},
    ),
    "two watchers": (
        lambda some: some.images(image(DISK, [SOURCE, "192.0.2.99:0/1"]), image(f"{TWO}_disk")),
        {"SG507"},
    ),
    "another host has the disk": (
        lambda some: some.images(image(DISK, [f"{address(3)}:0/9"]), image(f"{TWO}_disk")),
        {"SG507"},
    ),
    "a task is in progress": (lambda some: some.server(1, task_state="rebuilding"), {"SG701"}),
    "a server is paused": (lambda some: some.server(1, status="PAUSED"), {"SG710"}),
    "a migration is under way": (
        lambda some: some.having(some.cloud.migrate(ONE, "compute1", "compute3", "running", "live-migration")),
        {"SG702"},
    ),
    "a resize waits": (
        lambda some: some.having(some.cloud.migrate(ONE, "compute1", "compute3", "finished")),
        {"SG703"},
    ),
    "no such host": (lambda some: some.asked(host="compute9"), {"SG119"}),
    "a server is not there": (lambda some: some.asked(servers=(ONE, guest(2, 1))), {"SG710"}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SPOILED))
def test_what_is_spoiled_is_told_by_its_code_and_refuses(name):
    spoil, codes = SPOILED[name]
    assert set(blockers(spoil(scene()))) == codes


def test_a_guest_that_still_runs_refuses_whatever_the_fence():
    some = scene(alive=True)
    for fence in ("power", "command", "blocklist", "attested", None):
        (item,) = told(some, "SG506", fence=fence)
        assert "is running there" in item.evidence["alive"][0]


def test_signs_of_life_pass_no_override():
    some = scene(alive=True)
    word = [Override("SG506", "compute1", "I am sure")]
    checked = decide(some, "attested", word).checked
    assert [item.code for item in findings.standing(checked.findings, storage.honoured(checked, word))] == ["SG506"]
    checked = decide(scene(), "attested", word).checked
    assert findings.standing(checked.findings, storage.honoured(checked, word)) == []


def test_a_cut_off_host_with_watchers_is_what_a_fence_is_for():
    some = scene().images(image(DISK, [SOURCE]), image(f"{TWO}_disk", [SOURCE]))
    for fence in ("power", "command", "blocklist"):
        assert blockers(some, fence=fence) == []
    for fence in ("attested", None):
        assert blockers(some, fence=fence) == ["SG506"]


def test_no_sign_of_life_is_no_proof_of_death():
    (item,) = told(scene(), "SG506", fence=None)
    assert item.evidence["fence"] is None
    assert "alive" not in item.evidence


def test_after_the_fence_a_watcher_still_refuses():
    some = scene().asked(fence=FENCE).images(image(DISK, [SOURCE]), image(f"{TWO}_disk"))
    checked = evacuation.death(some.bundle, some.about, some.request)
    assert [item.code for item in checked.findings] == ["SG506"]
    assert SOURCE in checked.findings[0].evidence["alive"][0]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda some: some.target(1, state="up"), "SG510"),
        (lambda some: some.told(targets=None), "SG709"),
        (lambda some: some.asked(fence=None), "SG506"),
        (lambda some: some.images(dataclasses.replace(image(DISK), watchers=None), image(f"{TWO}_disk")), "SG709"),
        (lambda some: some.images(image(DISK), image(f"{TWO}_disk"), instances=[ONE]), "SG709"),
        (lambda some: some.at(2, rbd=None).at(3, rbd=None), "SG709"),
    ],
)
def test_after_the_fence_what_is_not_seen_refuses(spoil, code):
    some = spoil(scene().asked(fence=FENCE))
    assert {item.code for item in evacuation.death(some.bundle, some.about, some.request).findings} == {code}


def test_who_holds_the_host():
    """Another operation refuses; one that has ended, and left servers behind, does not keep them there for ever."""
    other = scene().target(1, disabled_reason="stackguard:evacuate:cafe")
    (item,) = told(other, "SG707")
    assert item.evidence == {"disabled_reason": "stackguard:evacuate:cafe"}
    assert told(other.asked(closed=("cafe",)), "SG707") == []
    assert told(other.asked(closed=("cafe1",)), "SG707")
    assert told(scene().target(1, disabled_reason="stackguard:rename:cafe").asked(closed=("cafe",)), "SG707")


def test_where_nobody_is_left_nothing_is_asked_for():
    """The second run of a command that has done all: no fence is wanted for nothing."""
    some = scene(guests=0).asked(fence=None)
    for fence in (None, "blocklist", "attested"):
        decision = decide(some, fence)
        assert (decision.checked.findings, decision.guests, decision.seating.seats) == ((), (), [])
    held = some.target(1, disabled_reason="stackguard:evacuate:cafe")
    assert blockers(held) == ["SG707"]
    gone = some.told(targets=None)
    assert blockers(gone) == ["SG709"]


def test_a_forced_down_service_is_down():
    some = scene().target(1, state="up", forced_down=True)
    assert blockers(some) == []


def test_a_failed_evacuation_that_left_the_guest_running_elsewhere_is_a_double_writer():
    some = scene()
    here = dataclasses.replace(some.bundle.hosts["compute3"].domains[0], uuid=ONE)
    (item,) = told(some.at(3, domains=[here]), "SG507")
    assert item.absolute
    assert item.evidence["host"] == "compute3"


def test_untouched_memory_of_running_guests_is_not_free():
    some = scene(guests=1)
    lazy = dataclasses.replace(some.bundle.hosts["compute3"].domains[0], memory_mib=4096, rss_mib=96, state="running")
    some = some.at(3, memory=facts.Memory(65536, 5600, 100, 0))
    assert places(some.at(3, domains=[])) == {ONE: "compute3"}
    assert blockers(some.at(3, domains=[lazy])) == ["SG501"]
    for changes in ({"state": "shutoff"}, {"rss_mib": 4096}, {"hugepage_kib": 2048}):
        assert places(some.at(3, domains=[dataclasses.replace(lazy, **changes)])) == {ONE: "compute3"}
    assert blockers(some.at(3, domains=[dataclasses.replace(lazy, rss_mib=None)])) == ["SG501"]


def test_what_this_run_has_sent_counts_until_it_is_seen_there():
    some = scene(guests=1).at(3, domains=[], memory=facts.Memory(65536, 2700, 100, 0))
    way = Sent("another", "compute3", 1024)
    assert places(some) == {ONE: "compute3"}
    assert blockers(some, sent=[way]) == ["SG501"]
    there = dataclasses.replace(
        scene().bundle.hosts["compute3"].domains[0], uuid="another", rss_mib=1024, memory_mib=1024
    )
    assert places(some.at(3, domains=[dataclasses.replace(there, state="running")]), sent=[way]) == {ONE: "compute3"}


def test_headroom_is_kept_and_the_hosts_own_reserve_is_the_least():
    some = scene(guests=1).at(3, domains=[], memory=facts.Memory(65536, 2000, 100, 0))
    assert places(some) == {ONE: "compute3"}
    assert blockers(some.asked(headroom_mib=1000)) == ["SG501"]
    assert blockers(some.having(some.cloud.part("nova_conf", "compute3", reserved_host_memory_mb=1000))) == ["SG501"]


def test_an_overcommitted_destination_is_a_warning():
    some = scene().at(3, memory=facts.Memory(2048, 30000, 100, 0))
    (item,) = told(some, "SG502")
    assert (item.severity, item.object.id) == ("warning", "compute3")
    assert told(scene(), "SG502") == []
    assert told(scene().asked(overcommit=1.5), "SG502")


def test_huge_pages_are_looked_for():
    cells = {ONE: [facts.NumaCell(1024, 2048)], TWO: []}
    some = scene().told(numa=cells)
    assert blockers(some) == ["SG503"]
    assert blockers(some.at(3, hugepages=None)) == ["SG709"]
    assert blockers(some.at(3, hugepages=[facts.HugePages(2048, 600, 512, 0, 1)])) == ["SG503"]
    assert blockers(some.at(3, hugepages=[facts.HugePages(2048, 600, 512, 0)])) == []


def test_a_pin_to_a_zone_that_died_is_told_with_its_remedy():
    some = scene(hosts=2)
    remedies = [item.remedy for item in told(some, "SG512") if item.object.id == ONE]
    assert len(remedies) == 1
    assert "pinned_availability_zone" in remedies[0]


def test_a_server_keeps_the_zone_that_it_is_pinned_to():
    some = scene().server(1, pinned_availability_zone="az2")
    assert places(some)[ONE] == "compute2"
    assert places(some)[TWO] == "compute3"


def test_a_server_that_does_not_fit_may_be_left_behind():
    some = scene().server(1, flavor=dataclasses.replace(FLAVOR, ram=1 << 20))
    assert blockers(some) == ["SG501"]
    assert blockers(some.asked(partial=True)) == []
    assert places(some.asked(partial=True)) == {TWO: "compute3"}


def test_an_override_by_name_sends_it_all_the_same():
    some = scene().at(3, memory=facts.Memory(65536, 1000, 900, 0))
    word = [Override("SG501", ONE, "the memory is there, trust me")]
    decision = decide(some, overrides=word)
    assert {seat.uuid for seat in decision.seating.seats} == {ONE}
    assert {item.object.id for item in decision.checked.findings if item.code == "SG501"} == {TWO}


def test_a_blast_radius():
    some = scene(hosts=7).target(3, state="down").target(5, forced_down=True)
    (item,) = told(some, "SG514")
    assert item.evidence["down"] == ["compute1", "compute3", "compute5"]
    assert told(some.asked(max_hosts=2), "SG514"), "three of four hosts of a zone"
    assert told(some.asked(max_hosts=3), "SG514") == []
    assert told(some.asked(max_share=0.8), "SG514") == []
    assert told(scene(hosts=7).target(2, state="down"), "SG514") == [], "another zone"


# --- disks ----------------------------------------------------------------------------------------------------

GIB = 1 << 30


def expect(flavor=None, names=(), **changes):
    """The images expected of a server, and the doubt about them."""
    server = scene(guests=1).cloud.rows("servers")[0]
    server = dataclasses.replace(server, flavor=dataclasses.replace(FLAVOR, **(flavor or {})), **changes)
    present = {name: image(name, size=size) for name, size in names}
    found = expected_images(server, present)
    return sorted(name.partition("_disk")[2] for name in found.names), found.doubt


def test_which_disks_a_server_has():
    assert expect() == ([""], None)
    assert expect(image="") == ([], None)
    assert expect({"swap": 64}) == (["", ".swap"], None)
    assert expect({"swap": 64}, image="") == ([".swap"], None)
    assert expect({"ephemeral": 2}) == (["", ".eph0"], None)
    assert expect({"ephemeral": 2}, [(f"{ONE}_disk.eph0", 2 * GIB)]) == (["", ".eph0"], None)
    assert expect({"ephemeral": 2}, [(f"{ONE}_disk.local", 2 * GIB)]) == (["", ".local"], None)
    halves = [(f"{ONE}_disk.eph0", GIB), (f"{ONE}_disk.eph1", GIB)]
    assert expect({"ephemeral": 2}, halves) == (["", ".eph0", ".eph1"], None)


def test_an_ephemeral_disk_that_may_be_missing_is_in_doubt():
    names, doubt = expect({"ephemeral": 2}, [(f"{ONE}_disk.eph0", GIB)])
    assert names == ["", ".eph0"]
    assert "one may be missing" in doubt
    assert expect({"ephemeral": 2}, [(f"{ONE}_disk.eph0", None)])[1]
    names, _doubt = expect({"ephemeral": 2}, [(f"{ONE}_disk.eph1", GIB)])
    assert names == ["", ".eph0", ".eph1"], "the first is missing"


@pytest.mark.parametrize("lost", [".swap", ".eph0", ""])
def test_any_missing_image_refuses(lost):
    flavor = dataclasses.replace(FLAVOR, swap=64, ephemeral=1)
    names = [f"{ONE}_disk{suffix}" for suffix in ("", ".swap", ".eph0")]
    whole = [image(name, size=GIB) for name in names]
    some = scene(guests=1).server(1, flavor=flavor)
    assert blockers(some.images(*whole)) == []
    assert blockers(some.images(*[entry for entry in whole if entry.name != f"{ONE}_disk{lost}"])) == ["SG504"]


def test_a_server_that_boots_from_a_volume_needs_no_image():
    some = scene(guests=1).server(1, image="").images()
    assert blockers(some) == []


def test_an_image_in_two_pools():
    some = scene().at(2, rbd=disks(image(DISK), image(f"{TWO}_disk"), pool="other"))
    assert {item.object.id for item in told(some, "SG505")} == {DISK, f"{TWO}_disk"}


def test_a_host_with_another_pool_is_left_out_and_told():
    some = scene(hosts=5).at(5, rbd=disks(pool="other"))
    (item,) = told(some, "SG505")
    assert (item.object.id, item.severity) == ("compute5", "warning")
    assert set(places(some).values()) == {"compute3"}


def test_leaked_guards_and_images():
    kept = dataclasses.replace(
        image(DISK), snapshots=[facts.RbdSnapshot("stackguard-aaa"), facts.RbdSnapshot("stackguard-bbb")]
    )
    own = dataclasses.replace(image(f"{TWO}_disk"), snapshots=[facts.RbdSnapshot("nova-resize")])
    some = scene().images(kept, own)
    items = list(storage.leaks(some.bundle, {"bbb"}, gone={TWO}))
    assert [(item.code, item.object.id, item.severity) for item in items] == [
        ("SG508", f"vms/{min(DISK, f'{TWO}_disk')}", "warning"),
        ("SG508", f"vms/{max(DISK, f'{TWO}_disk')}", "warning"),
    ]
    assert {str(item.evidence.get("snapshot")) for item in items} == {"stackguard-aaa", "None"}
    blind = scene().images(dataclasses.replace(image(DISK), snapshots=None))
    assert [type(item).__name__ for item in storage.leaks(blind.bundle, set(), gone=set())] == ["Unchecked"]


# --- after a guest has landed ---------------------------------------------------------------------------------


def landing(images, domains, running=True):
    some = scene().images(*images).at(3, domains=domains)
    before = storage.Before(ONE, {DISK: f"id-{DISK}"})
    return sorted({item.code for item in storage.landed(some.bundle, before, "compute3", running)})


def running_there(**changes):
    return dataclasses.replace(scene().bundle.hosts["compute3"].domains[0], uuid=ONE, state="running", **changes)


HERE = f"{address(3)}:0/5"


def test_a_guest_has_landed():
    assert landing([image(DISK, [HERE])], [running_there()]) == []
    assert landing([image(DISK)], [], running=False) == []


@pytest.mark.parametrize(
    ("images", "domains", "running", "codes"),
    [
        ([image(DISK, [HERE, SOURCE])], [running_there()], True, ["SG507"]),
        ([image(DISK, [HERE])], [], False, ["SG507"]),
        ([image(DISK)], [running_there()], True, ["SG109"]),
        ([image(DISK, [HERE])], [], True, ["SG109"]),
        ([image(DISK, [HERE], id="another")], [running_there()], True, ["SG504"]),
        ([], [running_there()], True, ["SG504"]),
        ([image(DISK, [HERE])], None, True, ["SG709"]),
        ([dataclasses.replace(image(DISK), watchers=None)], [running_there()], True, ["SG709"]),
    ],
)
def test_a_guest_that_has_not_landed_as_it_should(images, domains, running, codes):
    assert landing(images, domains, running) == codes


def test_ceph_addresses():
    assert [storage.address_of(text) for text in ("10.0.0.1:0/3", "v1:10.0.0.1:0/3", "[fd00::1]:0/3", "", "x:0/1")] == [
        "10.0.0.1",
        "10.0.0.1",
        "fd00::1",
        None,
        None,
    ]


def test_evidence_travels():
    some = scene()
    plain = facts.to_plain(some.about)
    assert facts.from_plain(facts.EvacuationFacts, plain) == some.about
    assert facts.load_bundle(facts.to_plain(some.bundle)) == some.bundle
