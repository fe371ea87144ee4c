# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May a dead host be evacuated? A clean scene passes; each thing that is spoiled is told by its own code; and what is
not read never lets anything pass."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import expected_images
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import IncomingServer
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import storage
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.clients import EvidenceElsewhere
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import Attestation
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import FENCES
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, node
from ansible_collections.stackguard.nova.tests.unit.evacuations import (
    FENCE,
    FLAVOR,
    disks,
    image,
    listed,
    locked,
    scene,
)
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved

ONE, TWO = guest(1, 1), guest(1, 2)
DISK, OTHER = f"{ONE}_disk", f"{TWO}_disk"
SOURCE = f"{address(1)}:0/77"


def decide(some, fence="power", overrides=(), **given):
    return evacuation.preflight(some.bundle, some.about, some.request, overrides, fence, **given)


def blockers(some, **given):
    return sorted({item.code for item in decide(some, **given).checked.findings if item.severity == findings.BLOCKER})


def told(some, code, **given):
    return [item for item in decide(some, **given).checked.findings if item.code == code]


def places(some, **given):
    return {assignment.uuid: assignment.host for assignment in decide(some, **given).assignments.assigned}


def test_a_dead_host_is_evacuated_within_its_zone():
    some = scene()
    decision = decide(some)
    assert decision.checked.findings == ()
    assert decision.checked.unchecked == ()
    assert {assignment.host for assignment in decision.assignments.assigned} == {"compute3"}
    assert all("az2" not in place.why for place in decision.assignments.assigned)


def test_after_the_fence_nothing_stands_against_it():
    some = scene().asked(fence=FENCE)
    assert evacuation.death(some.bundle, some.about, some.request).findings == ()


# --- can the destination run them? ------------------------------------------------------------------------------


def stored(machine):
    return scene().told(image_properties={ONE: {"hw_machine_type": machine}, TWO: {"hw_machine_type": "pc"}})


def test_a_host_without_the_machine_type_is_no_destination():
    """R11: the dead host is not read, but Nova shows what it has stored."""
    assert blockers(stored("pc")) == []
    some = stored("pc-i440fx-2.8")
    (item,) = told(some, "SG523")
    assert (item.object.id, item.severity, item.absolute) == (ONE, "blocker", True)
    overrides = [Override("SG523", ONE, "try it")]
    assert ONE not in places(some, overrides=overrides)


def test_a_host_without_the_secret_of_its_own_nova_conf_is_no_destination():
    some = scene()
    offers = dataclasses.replace(some.bundle.hosts["compute3"].offers, secrets=[])
    lacking = some.having(some.cloud.host("compute3", offers=offers))
    assert {item.object.id for item in told(lacking, "SG523")} == {ONE, TWO}
    unread = some.having(some.cloud.host("compute3", offers=None))
    assert {item.absolute for item in told(unread, "SG523")} == {False}
    overrides = [Override("SG523", uuid, "I looked") for uuid in (ONE, TWO)]
    assert set(places(unread, overrides=overrides)) == {ONE, TWO}


def test_machine_types_that_nova_does_not_show_are_unchecked_and_bar_nobody():
    some = scene().told(image_properties={ONE: {}, TWO: {"hw_machine_type": "pc"}})
    assert [item.object for item in decide(some).checked.unchecked if item.code == "SG523"] == ["compute1"]
    assert set(places(some)) == {ONE, TWO}


# --- each thing spoiled ---------------------------------------------------------------------------------------

LOST = disks(image(f"{TWO}_disk"))
SPOILED = {
    "the service is up": (lambda some: some.target(1, state="up"), {"SG510"}),
    "no room": (lambda some: some.at(3, memory=facts.Memory(65536, 1000)), {"SG501"}),
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
        lambda some: some.having(some.cloud.migrate(ONE, "compute3", "compute1", "finished")),
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
    for fence in (*FENCES, None):
        (item,) = told(some, "SG506", fence=fence)
        assert "is running on the host" in item.evidence["alive"][0]


def test_signs_of_life_pass_no_override():
    some = scene(alive=True)
    word = [Override("SG506", "compute1", "I am sure")]
    checked = decide(some, "attested", word).checked
    assert [item.code for item in findings.blocking_findings(checked.findings, word)] == ["SG506"]
    checked = decide(scene(), "attested", word).checked
    assert findings.blocking_findings(checked.findings, word) == []


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
        assert (decision.checked.findings, decision.guests, decision.assignments.assigned) == ((), (), [])
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
    some = some.at(3, memory=facts.Memory(65536, 5600))
    assert places(some.at(3, domains=[])) == {ONE: "compute3"}
    assert blockers(some.at(3, domains=[lazy])) == ["SG501"]
    for changes in ({"state": "shutoff"}, {"rss_mib": 4096}, {"hugepage_kib": 2048}):
        assert places(some.at(3, domains=[dataclasses.replace(lazy, **changes)])) == {ONE: "compute3"}
    assert blockers(some.at(3, domains=[dataclasses.replace(lazy, rss_mib=None)])) == ["SG501"]


def test_what_this_run_has_sent_counts_until_it_is_seen_there():
    some = scene(guests=1).at(3, domains=[], memory=facts.Memory(65536, 2700))
    way = IncomingServer("another", "compute3", 1024)
    assert places(some) == {ONE: "compute3"}
    assert blockers(some, sent=[way]) == ["SG501"]
    there = dataclasses.replace(
        scene().bundle.hosts["compute3"].domains[0], uuid="another", rss_mib=1024, memory_mib=1024
    )
    assert places(some.at(3, domains=[dataclasses.replace(there, state="running")]), sent=[way]) == {ONE: "compute3"}


def test_headroom_is_kept_and_the_hosts_own_reserve_is_the_least():
    some = scene(guests=1).at(3, domains=[], memory=facts.Memory(65536, 2000))
    assert places(some) == {ONE: "compute3"}
    assert blockers(some.asked(headroom_mib=1000)) == ["SG501"]
    assert blockers(some.having(some.cloud.part("nova_conf", "compute3", reserved_host_memory_mb=1000))) == ["SG501"]


def test_an_overcommitted_destination_is_a_warning():
    some = scene().at(3, memory=facts.Memory(2048, 30000))
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
    some = scene().at(3, memory=facts.Memory(65536, 1000))
    word = [Override("SG501", ONE, "the memory is there, trust me")]
    decision = decide(some, overrides=word)
    assert {assignment.uuid for assignment in decision.assignments.assigned} == {ONE}
    assert {item.object.id for item in decision.checked.findings if item.code == "SG501"} == {TWO}


def test_a_blast_radius():
    some = scene(hosts=7).target(3, state="down").target(5, forced_down=True)
    (item,) = told(some, "SG514")
    assert item.evidence["down"] == ["compute1", "compute3", "compute5"]
    assert told(some.asked(max_hosts=2), "SG514"), "three of four hosts of a zone"
    assert told(some.asked(max_hosts=3), "SG514") == []
    assert told(some.asked(max_share=0.8), "SG514") == []
    assert told(scene(hosts=7).target(2, state="down"), "SG514") == [], "another zone"


# --- proof ----------------------------------------------------------------------------------------------------

HOST_WORD = [Override("SG506", "compute1", "I am sure"), Override("SG709", "compute1", "I am sure")]


def dead(some, overrides=(), **given):
    """What stands against sending anyone after the fence."""
    checked = evacuation.death(some.bundle, some.about, some.request, **given)
    return findings.blocking_findings(checked.findings, overrides)


def codes(items):
    return sorted({(item.code, item.object.id) for item in items})


def living(some, **changes):
    """The source answers, its libvirt as it is said; its guests' images are under its locks."""
    some = some.images(locked(DISK), locked(OTHER))
    return some.at(1, **{"domains": [], "qemu_processes": {}, **changes})


def running(uuid=ONE):
    return dataclasses.replace(scene().bundle.hosts["compute3"].domains[0], uuid=uuid, state="running")


BLOCKED = Override("SG506", ONE, "I am sure")


@pytest.mark.parametrize(
    "changes",
    [
        {"at": "2020-01-01T00:00:00+00:00"},
        {"at": "2026-11-21T05:57:59+00:00"},
        {"at": "2026-11-21T06:00:03+00:00"},
        {"operation_id": "another"},
        {"host": "compute2"},
        {"kind": "command"},
    ],
)
def test_a_proof_that_is_old_or_of_something_else_counts_as_none(changes):
    """D5: death with a proof of 2020: ()."""
    some = scene().asked(fence=dataclasses.replace(FENCE, **changes), fence_kind="power")
    (item,) = dead(some, HOST_WORD)
    assert item.code == "SG506"
    assert findings.NO_PROOF in item.evidence
    assert dead(scene().asked(fence=FENCE, fence_kind="power")) == []
    almost = dataclasses.replace(FENCE, at="2026-11-21T05:58:01+00:00")
    assert dead(scene().asked(fence=almost, fence_kind="power")) == []


def test_another_fence_on_the_second_try_is_not_proven_by_the_first():
    """D1: the power fence failed, blocklist was asked for, and the journal said that addresses were read back."""
    some = scene().asked(fence=FENCE, fence_kind="blocklist")
    (item,) = dead(some, HOST_WORD)
    assert "this run requests blocklist" in item.evidence[findings.NO_PROOF]


def test_an_attestation_is_good_for_the_host_that_it_names():
    word = Attestation("compute1", "Ada", "I pulled its plug")
    assert dead(scene().asked(fence=word, fence_kind="attested")) == []
    assert codes(dead(scene().asked(fence=dataclasses.replace(word, host="compute2")))) == [("SG506", "compute1")]
    for some in (
        living(scene(alive=True), domains=[running()]),
        living(scene(alive=True), domains=None, qemu_processes={ONE: 4711}),
        scene().images(image(DISK, [SOURCE]), image(OTHER)),
    ):
        (item,) = dead(some.asked(fence=word, fence_kind="attested"), HOST_WORD)
        assert findings.ALIVE in item.evidence


@pytest.mark.parametrize("kind", ["power", "command"])
def test_a_machine_that_is_on_again_contradicts_the_proof(kind):
    """D5: a watchdog or a colleague switches it on again while the rounds go on."""
    proof = dataclasses.replace(FENCE, kind=kind)
    for changes in (
        {"domains": [running()]},
        {"domains": None, "qemu_processes": {guest(1, 7): 4711}},
        {"qemu_processes": {ONE: 4711}},
    ):
        some = living(scene(alive=True), **changes).asked(fence=proof, fence_kind=kind)
        (item,) = dead(some, HOST_WORD)
        assert (item.code, item.object.id) == ("SG506", "compute1")
        assert item.evidence["contradicts"] == proof.read
        assert "the machine is on" in item.remedy
    watched = scene().images(locked(DISK, watchers=[SOURCE]), locked(OTHER))
    assert codes(dead(watched.asked(fence=proof, fence_kind=kind), HOST_WORD)) == [("SG506", "compute1")]


def test_a_host_that_answers_after_it_was_read_as_off_is_on():
    some = living(scene(alive=True)).asked(fence=FENCE)
    assert dead(some) == []
    (item,) = dead(some.at(1, read_at="2026-11-21T06:00:05+00:00"), HOST_WORD)
    assert "the host answered at" in item.evidence["alive"][0]
    # A confirming command may say that a machine is cut off, which still answers.
    some = some.asked(fence=dataclasses.replace(FENCE, kind="command"))
    assert dead(some.at(1, read_at="2026-11-21T06:00:05+00:00")) == []


@pytest.mark.parametrize("kind", ["power", "command"])
def test_a_reader_of_one_disk_does_not_keep_the_others_on_a_host_that_is_off(kind):
    """H3: SG506 alive: vms/UUID_disk has a watcher at 10.99.2.1; no override passes this; all five servers stayed."""
    some = scene().images(locked(DISK, watchers=["10.99.2.1:0/3"]), locked(OTHER))
    some = some.asked(fence=dataclasses.replace(FENCE, kind=kind), fence_kind=kind)
    assert codes(dead(some)) == [("SG507", ONE)]
    decision = decide(some, kind)
    assert list(decision.barred) == [ONE]
    assert evacuation.refusing(decision.checked, (), False, decision.guests) == []


# --- a source whose libvirt is silent ---------------------------------------------------------------------------


@pytest.mark.parametrize("fence", ["power", "command", "blocklist", "attested", None])
def test_a_source_whose_libvirt_is_silent_is_not_one_without_domains(fence):
    """D6: with domains readable it was refused, with libvirt dead it was accepted, and all running guests killed."""
    some = living(scene(alive=True), domains=None, qemu_processes=None)
    checked = decide(some, fence, HOST_WORD).checked
    stands = findings.blocking_findings(checked.findings, HOST_WORD)
    assert ("SG709", "compute1") in codes(stands)
    # Its processes were read: one of QEMU is a sign of life, none is none.
    lives = living(scene(alive=True), domains=None, qemu_processes={ONE: 4711})
    checked = decide(lives, fence, HOST_WORD).checked
    assert ("SG506", "compute1") in codes(findings.blocking_findings(checked.findings, HOST_WORD))
    gone = living(scene(alive=True), domains=None)
    checked = decide(gone, fence, HOST_WORD).checked
    assert findings.blocking_findings(checked.findings, HOST_WORD) == []


def test_after_an_attestation_a_source_that_says_nothing_still_refuses():
    """D6: servers on volumes and attested: 0 standing, death (): two writers."""
    word = Attestation("compute1", "Ada", "I pulled its plug")
    some = living(scene(alive=True), domains=None, qemu_processes=None).asked(fence=word)
    assert codes(dead(some, HOST_WORD)) == [("SG709", "compute1")]


def test_a_qemu_that_libvirt_has_lost_is_seen():
    some = living(scene(alive=True), qemu_processes={ONE: 4711})
    (item,) = told(some, "SG506", fence="power")
    assert "libvirt does not show" in item.evidence["alive"][0]
    assert told(living(scene(alive=True), qemu_processes={guest(9, 9): 4711}), "SG506", fence="power") == []


# --- a blocklist and what it covers -----------------------------------------------------------------------------


def test_a_link_that_heals_does_not_stop_servers_whose_disks_refuse_the_host():
    """H7: the run ended at SG506, no override passes this, and every rerun was refused with the same words."""
    some = living(scene(alive=True), domains=[running(ONE), running(TWO)])
    fenced = listed(some, address(1))
    assert dead(fenced) == []
    assert decide(fenced, "blocklist").barred == {}
    assert evacuation.refusing(decide(fenced, None).checked, (), False, decide(fenced, None).guests) == []
    # Unfenced, or with a proof that has expired, they do.
    assert codes(dead(some, HOST_WORD)) == [("SG506", "compute1")]
    assert codes(dead(fenced.asked(now="2026-11-21T06:10:00+00:00"), HOST_WORD)) == [("SG506", "compute1")]


def test_with_an_uncovered_disk_what_runs_on_the_source_stops_that_server():
    some = living(scene(alive=True), domains=[running(TWO)]).server(1, volumes=["v1"])
    nobody = Override("SG709", ONE, "no other host is connected to it")
    (item,) = dead(listed(some, address(1)), [*HOST_WORD, BLOCKED, nobody])
    assert (item.code, item.object.kind, item.object.id) == ("SG506", "instance", ONE)
    assert findings.ALIVE in item.evidence
    # Where nothing runs there, a word by the server's name passes it; the host's name does not.
    quiet = listed(some.at(1, domains=[]), address(1))
    assert codes(dead(quiet, HOST_WORD)) == [("SG506", ONE), ("SG709", ONE)]
    assert dead(quiet, [BLOCKED, nobody]) == []
    # Where libvirt is silent, it is not known that nothing does.
    silent = listed(some.at(1, domains=None, qemu_processes=None), address(1))
    assert codes(dead(silent, [*HOST_WORD, BLOCKED, nobody])) == [("SG709", "compute1")]


@pytest.mark.parametrize(("addresses", "fsid"), [(["198.51.100.1"], "fsid"), ([address(1)], "another")])
def test_a_blocklist_of_another_cluster_or_address_proves_nothing(addresses, fsid):
    """D2: the blocklist was written to az1's cluster, and read back there."""
    some = scene().images(locked(DISK), locked(OTHER))
    assert codes(dead(listed(some, *addresses, fsid=fsid))) == sorted([("SG506", ONE), ("SG506", TWO)])
    assert dead(listed(some, address(1))) == []


def test_a_client_that_goes_on_watching_under_the_blocklist_contradicts_it():
    some = scene().images(locked(DISK, watchers=[SOURCE]), locked(OTHER))
    (item,) = dead(listed(some, address(1)), [*HOST_WORD, BLOCKED])
    assert (item.object.id, findings.ALIVE in item.evidence) == (ONE, True)
    assert dead(listed(scene().images(locked(DISK), locked(OTHER)), address(1))) == []


def test_the_last_stopped_server_is_still_covered_when_those_that_showed_the_host_have_left():
    some = scene(guests=1).server(1, status="SHUTOFF").images(image(DISK))
    assert codes(dead(listed(some, address(1)))) == [("SG506", ONE)]
    journal = EvidenceElsewhere(earlier=((address(1), "fsid"),))
    assert dead(listed(some, address(1)), elsewhere=journal) == []


# --- one server, or all? ----------------------------------------------------------------------------------------

RESIZED = scene().having(scene().cloud.migrate(ONE, "compute3", "compute1", "finished"))
MOVING = scene().having(scene().cloud.migrate(ONE, "compute1", "compute3", "running", "live-migration"))


def stopping(some, partial, fence="power", overrides=()):
    decision = decide(some.asked(partial=partial), fence, overrides)
    return [item.code for item in evacuation.refusing(decision.checked, overrides, partial, decision.guests)]


@pytest.mark.parametrize(("some", "code"), [(RESIZED, "SG703"), (MOVING, "SG702")])
def test_one_unconfirmed_resize_does_not_keep_everyones_servers(some, code):
    """H9: evacuate_partial=true does not help: refused, SG703 only."""
    assert stopping(some, partial=False) == [code]
    assert stopping(some, partial=True) == []
    decision = decide(some.asked(partial=True))
    assert {uuid: reason[0] for uuid, reason in decision.barred.items()} == {ONE: code}


def test_a_resize_to_the_dead_host_is_confirmed_on_its_living_source():
    """Nova compute/api.py confirm_resize (2026.2) needs the source's service, and casts to the source."""
    (found,) = [item for item in decide(RESIZED).checked.findings if item.code == "SG703"]
    assert "Verify that nova-compute on compute3 is up, then confirm the resize" in found.remedy
    assert "cannot revert the resize while compute1 is dead" in found.remedy


def test_what_is_about_the_host_refuses_a_partial_run_too():
    assert stopping(scene().target(1, state="up"), partial=True) == ["SG510"]
    assert stopping(scene(), partial=True, fence=None) == ["SG506"]
    assert stopping(scene().asked(servers=(ONE, guest(2, 1))), partial=True) == ["SG710"]


def test_a_partial_run_in_which_no_server_can_go_is_refused():
    some = scene(guests=1).having(scene(guests=1).cloud.migrate(ONE, "compute3", "compute1", "finished"))
    assert stopping(some, partial=True) == ["SG703"]
    name = some.cloud.rows("migrations")[0].uuid
    assert stopping(some, partial=True, overrides=[Override("SG703", name, "it is dead")]) == []


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
    assert "An ephemeral disk may be missing" in doubt
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


# --- which cluster, which reader --------------------------------------------------------------------------------


def listing(*names, **changes):
    """A host that only listed names."""
    why = facts.Unread("image", "not opened")
    named = [facts.RbdImage(name, unread=[why]) for name in names]
    return disks(*named, opened=False, **changes)


def leavers(some):
    return evacuation.guests(some.bundle, some.about, some.request)


def test_what_one_reader_opened_is_read_though_others_listed_names_only():
    some = scene().at(3, rbd=listing(DISK, OTHER, client_address=address(3)))
    assert blockers(some) == []
    assert dead(some.asked(fence=FENCE)) == []
    (entry,) = storage.seen(some.bundle)[DISK]
    assert (entry.image.watchers, entry.image.unread, entry.by) == ([], [], ("compute2", "compute3"))
    # Where no host opened them, it is not known who has them open.
    blind = some.at(2, rbd=listing(DISK, OTHER, client_address=address(2)))
    assert blockers(blind) == ["SG709"]
    # A reader of another pool with the same names is no reader of this one.
    assert "SG709" in blockers(some.at(2, rbd=disks(image(DISK), image(OTHER), pool="other")))


def test_readers_are_those_of_the_cluster_and_never_the_source():
    """D2, D14: the first inventory name did the work, whatever its cluster, dead or not."""
    some = scene(hosts=5, alive=True).at(1, rbd=disks(image(DISK))).at(5, rbd=disks(fsid="az2"))
    some = some.at(4, rbd=disks(fsid=None))
    assert storage.readers(some.bundle, "compute1") == {
        ("fsid", "vms"): ["compute2", "compute3"],
        ("az2", "vms"): ["compute5"],
    }
    assert storage.readers(some.bundle, "COMPUTE1") == storage.readers(some.bundle, "compute1")
    assert storage.readers(some.at(3, rbd=disks(images=None)).bundle, "compute1")[("fsid", "vms")] == ["compute2"]


def test_homes_of_images():
    some = scene().at(2, rbd=disks(image(DISK))).at(3, rbd=disks(image(OTHER), fsid="az2", pool="ssd"))
    assert storage.homes(some.bundle, leavers(some)) == {DISK: ("fsid", "vms"), OTHER: ("az2", "ssd")}
    two = scene().at(2, rbd=disks(image(DISK))).at(3, rbd=disks(image(DISK), pool="ssd"))
    assert storage.homes(two.bundle, leavers(two)) == {}
    assert "SG505" in blockers(two)
    unnamed = scene().images(image(DISK), image(OTHER), fsid=None)
    assert storage.homes(unnamed.bundle, leavers(unnamed)) == {}
    assert "SG709" in blockers(unnamed)


GUARDED = dataclasses.replace(image(DISK), snapshots=[facts.RbdSnapshot("stackguard-op")])
HOME = {DISK: ("fsid", "vms")}


def unguarded(some, homes=None, images=None):
    servers = {ONE: images or {DISK: f"id-{DISK}"}}
    return storage.guarded(some.bundle, servers, HOME if homes is None else homes, "stackguard-op")


def test_a_server_whose_images_are_all_under_guard_is_sent():
    assert unguarded(scene().images(GUARDED)) == {}
    assert unguarded(scene().images(GUARDED, on=(2,)).at(3, rbd=listing(DISK))) == {}
    assert storage.guarded(scene().bundle, {ONE: {}}, {}, "stackguard-op") == {}


@pytest.mark.parametrize(
    ("some", "reason"),
    [
        # D2: rbd_guard found no image of these servers in its pool, and succeeded.
        (scene().images(GUARDED, fsid="other"), "not-found"),
        (scene().images(GUARDED, pool="other"), "not-found"),
        (scene().images(GUARDED, fsid=None), "not-found"),
        (scene().images(), "not-found"),
        (scene().images(image(DISK)), "no-guard"),
        (scene().images(dataclasses.replace(GUARDED, snapshots=[facts.RbdSnapshot("stackguard-old")])), "no-guard"),
        (scene().images(dataclasses.replace(GUARDED, snapshots=None)), "not-read"),
        (scene().images(dataclasses.replace(GUARDED, id=None)), "not-read"),
        (scene().images(dataclasses.replace(GUARDED, id="new")), "another-image"),
        (scene().at(2, rbd=listing(DISK)).at(3, rbd=listing(DISK)), "not-read"),
        (scene().images(GUARDED).at(2, rbd=disks(GUARDED, fsid="other")), "several-pools"),
    ],
)
def test_a_server_with_an_image_that_is_not_under_guard_is_not_sent(some, reason):
    assert unguarded(some)[ONE].problem == reason


def test_a_server_with_an_image_of_no_known_home_is_not_sent():
    assert unguarded(scene().images(GUARDED), homes={})[ONE].problem == "no-home"
    both = {DISK: f"id-{DISK}", f"{DISK}.swap": "id-swap"}
    assert f"{DISK}.swap" in unguarded(scene().images(GUARDED), images=both)[ONE].text


# --- after a guest has landed ---------------------------------------------------------------------------------


def landing(images, domains, running=True):
    some = scene().images(*images).at(3, domains=domains)
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}"})
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


@pytest.mark.parametrize("name", [f"{DISK}.rescue", f"{DISK}.config", f"{DISK}.config.rescue"])
def test_what_no_start_opens_needs_no_client(name):
    """H2: a RESCUE server was evacuated, ran from its own disk, and was never verified."""
    some = scene().images(image(DISK, [HERE]), image(name)).at(3, domains=[running_there()])
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}", name: f"id-{name}"})
    assert [item.code for item in storage.landed(some.bundle, before, "compute3", True)] == []
    strange = some.images(image(DISK, [HERE]), image(name, [SOURCE]))
    assert [item.code for item in storage.landed(strange.bundle, before, "compute3", True)] == ["SG507"]
    gone = some.images(image(DISK, [HERE]))
    assert [item.code for item in storage.landed(gone.bundle, before, "compute3", True)] == ["SG504"]
    swap = some.images(image(DISK, [HERE]), image(f"{DISK}.swap"))
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}", f"{DISK}.swap": f"id-{DISK}.swap"})
    assert [item.code for item in storage.landed(swap.bundle, before, "compute3", True)] == ["SG109"]


def test_a_destination_that_listed_names_only_is_read_by_another_host():
    some = scene().images(image(DISK, [HERE]), on=(2,)).at(3, rbd=listing(DISK), domains=[running_there()])
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}"})
    assert [item.code for item in storage.landed(some.bundle, before, "compute3", True)] == []
    # The same name in another cluster is another disk.
    other = some.at(2, rbd=disks(image(DISK, [HERE]), fsid="other"))
    assert {item.code for item in storage.landed(other.bundle, before, "compute3", True)} == {"SG504"}
    unnamed = some.at(3, rbd=listing(DISK, fsid=None))
    assert {item.code for item in storage.landed(unnamed.bundle, before, "compute3", True)} == {"SG709"}


def test_a_watcher_of_another_host_is_not_the_one_that_landed():
    assert landing([image(DISK, [f"{address(2)}:0/5"])], [running_there()]) == ["SG507"]


def test_a_stranger_that_is_the_only_watcher_is_not_the_one_that_landed():
    """The server's QEMU had lost its disk, a backup reader had it open, and the server was verified."""
    before = storage.DisksBefore(ONE, {DISK: f"id-{DISK}"})
    stranger = "198.51.100.9"

    def codes(some):
        return [item.code for item in storage.landed(some.bundle, before, "compute3", True)]

    for watcher in (f"{stranger}:0/5", "somewhere"):
        some = scene().images(image(DISK, [watcher])).at(3, domains=[running_there()])
        assert codes(some) == ["SG507"]
        # Which addresses the destination has is not known: it may be one of them.
        assert codes(some.at(3, addresses=None)) == ["SG709"]
    # The destination's own address in Ceph's network, by either reading.
    some = scene().images(image(DISK, [f"{stranger}:0/5"])).at(3, domains=[running_there()])
    assert codes(some.at(3, addresses=[address(3), stranger])) == []
    rbd = dataclasses.replace(some.bundle.hosts["compute3"].rbd, client_address=stranger)
    assert codes(some.at(3, rbd=rbd)) == []
    assert codes(some.at(3, rbd=rbd, addresses=None)) == []


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
    assert as_saved(some.bundle) == some.bundle
