# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers of a dead host before the fence: what each loses, what Nova will refuse, and whether these are all."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import leaving_guests, measured
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import IncomingServer
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import FENCE, FLAVOR, disks, image, scene

ONE, TWO = guest(1, 1), guest(1, 2)


def decide(some, overrides=(), **given):
    return evacuation.preflight(some.bundle, some.about, some.request, overrides, "power", **given)


def told(some, code, **given):
    return [item for item in decide(some, **given).checked.findings if item.code == code]


def blockers(some, **given):
    return sorted({item.code for item in decide(some, **given).checked.findings if item.severity == findings.BLOCKER})


def places(some, **given):
    return {assignment.uuid: assignment.host for assignment in decide(some, **given).assignments.assigned}


def unchecked(some):
    return {(item.code, item.object) for item in decide(some).checked.unchecked}


def flavored(some, index=1, **specs):
    return some.server(
        index, flavor=dataclasses.replace(FLAVOR, extra_specs={k.replace("__", ":"): v for k, v in specs.items()})
    )


def aggregate(number, hosts, zone=None, **metadata):
    base = facts.ApiAggregate(number, f"uuid-{number}", f"aggregate{number}", zone, list(hosts))
    return dataclasses.replace(base, metadata=metadata) if metadata else base


ZONES = [aggregate(1, ["compute1", "compute3", "compute5"], "az1"), aggregate(2, ["compute2"], "az2")]


# --- D9: pins that hold nothing -------------------------------------------------------------------------------


def test_servers_pinned_to_a_zone_that_no_aggregate_has_stay_in_the_zone_of_their_host():
    some = scene().server(1, pinned_availability_zone="nova")
    assert blockers(some) == []
    assert places(some) == {ONE: "compute3", TWO: "compute3"}


def test_a_pin_that_an_aggregate_has_holds():
    some = scene().server(1, pinned_availability_zone="az2")
    assert places(some) == {ONE: "compute2", TWO: "compute3"}


@pytest.mark.parametrize(("release", "goes"), [(26, False), (27, False), (28, True), (34, True)])
def test_before_28_the_scheduler_may_compare_every_pin_and_the_refusal_stays(release, goes):
    some = scene(release=release).server(1, pinned_availability_zone="nova")
    assert (ONE in places(some)) is goes
    assert (blockers(some) == ["SG512"]) is not goes


def test_a_release_that_is_not_known_and_aggregates_that_are_unread_let_no_pin_go():
    some = scene().server(1, pinned_availability_zone="nova")
    assert blockers(some.told(aggregates=ZONES).having(some.cloud.cloud(compute_max_microversion="2.999"))) == ["SG512"]
    assert blockers(some.having(some.cloud.cloud(aggregates=None))) == ["SG512"]


# --- D11: the blast radius ------------------------------------------------------------------------------------

DOWN = {"state": "down", "forced_down": True}


@pytest.mark.parametrize(
    ("changes", "stops"),
    [
        ({**DOWN}, True),
        ({**DOWN, "status": "disabled", "disabled_reason": "stackguard:evacuate:old"}, False),
        ({**DOWN, "status": "disabled", "disabled_reason": "disk is being replaced", "consumers": 0}, False),
        ({**DOWN, "status": "disabled", "disabled_reason": "disk is being replaced", "consumers": 3}, True),
        ({**DOWN, "status": "disabled", "disabled_reason": "disk is being replaced"}, True),
        ({**DOWN, "status": "disabled", "disabled_reason": "AUTO: Connection to libvirt lost", "consumers": 0}, True),
    ],
)
def test_hosts_in_repair_and_those_evacuated_last_week_are_no_network_fault(changes, stops):
    some = scene(hosts=5).target(5, **changes)
    assert bool(told(some, "SG514")) is stops


def test_in_a_large_zone_a_share_of_its_hosts_may_be_down():
    some = scene(hosts=41)
    for number in (3, 5):
        some = some.target(number, **DOWN)
    (item,) = told(some, "SG514")
    assert (item.evidence["allowed"], item.evidence["hosts"]) == (2, 21)
    some = scene(hosts=41).target(3, **DOWN)
    assert told(some, "SG514") == []


def test_another_host_going_down_in_the_middle_stops_no_evacuation_that_goes_well():
    some = scene(hosts=5).target(5, **DOWN)
    assert [item.severity for item in told(some, "SG514")] == [findings.BLOCKER]
    assert [item.severity for item in told(some.asked(fence=FENCE), "SG514")] == [findings.WARNING]


# --- D12: aggregates ------------------------------------------------------------------------------------------


def test_a_gpu_server_goes_to_the_gpu_host_and_not_to_the_emptiest():
    some = flavored(scene(hosts=5), aggregate_instance_extra_specs__gpu="true")
    some = some.told(aggregates=[*ZONES, aggregate(3, ["compute1", "compute5"], gpu="true")])
    some = some.at(5, memory=facts.Memory(65536, 8000))
    assert places(some) == {ONE: "compute5", TWO: "compute3"}
    gone = some.target(5, state="down").asked(max_hosts=2)
    assert blockers(gone) == ["SG512"]
    assert "gpu true" in str(told(gone, "SG512")[0].evidence)


def test_a_host_of_other_projects_is_taken_last_and_with_a_warning():
    other = aggregate(3, ["compute3"], filter_tenant_id="somebody-else")
    some = scene(hosts=5).told(aggregates=[*ZONES, other])
    assert set(places(some).values()) == {"compute5"}
    assert told(some, "SG512") == []
    some = some.target(5, status="disabled")
    assert set(places(some).values()) == {"compute3"}
    assert [item.severity for item in told(some, "SG512")] == [findings.WARNING] * 2
    assert "filter_tenant_id" in decide(some).assignments.assigned[0].why


# --- D13: what Nova will refuse, and what is lost -------------------------------------------------------------

REFUSED = {
    "a virtual TPM of its flavor": lambda some: flavored(some, hw__tpm_version="2.0"),
    "a virtual TPM of its image": lambda some: some.told(image_properties={ONE: {"hw_tpm_version": "2.0"}, TWO: {}}),
    "a share": lambda some: some.told(shares={ONE: 1, TWO: 0}),
    "an accelerator": lambda some: some.told(accelerator_ports=[ONE]),
}


@pytest.mark.parametrize("why", sorted(REFUSED))
def test_what_nova_will_refuse_is_said_before_the_host_is_fenced(why):
    some = REFUSED[why](scene())
    (item,) = told(some, "SG710")
    assert (item.object.id, item.severity) == (ONE, findings.BLOCKER)
    assert blockers(some.asked(partial=True)) == []
    assert places(some.asked(partial=True)) == {TWO: "compute3"}


def test_what_a_server_loses_is_said_before_the_host_is_fenced():
    some = (
        scene()
        .server(1, status="SHUTOFF")
        .told(
            image_properties={ONE: {}, TWO: {"hw_firmware_type": "uefi", "os_secure_boot": "required"}},
            encrypted={ONE: ["volume-1"], TWO: []},
        )
    )
    lost = {item.object.id: " ".join(item.evidence["lost"]) for item in told(some, "SG519")}
    assert "boots the server briefly" in lost[ONE]
    assert "volume-1" in lost[ONE]
    assert "secure boot" in lost[TWO]
    assert blockers(some) == []
    assert told(scene(), "SG519") == []
    assert len(told(scene().asked(target_state="stopped"), "SG519")) == 2


STUCK = {
    "task": ({"task_state": "rebooting"}, "SG701"),
    "paused": ({"status": "PAUSED"}, "SG710"),
    "suspended": ({"status": "SUSPENDED"}, "SG710"),
    "rescued": ({"status": "RESCUE"}, "SG710"),
}


@pytest.mark.parametrize("word", sorted(STUCK))
def test_a_state_that_the_dead_host_left_behind_is_reset_by_option_and_its_loss_is_said(word):
    changes, code = STUCK[word]
    some = scene().server(1, **changes)
    (item,) = told(some, code)
    assert "evacuate_reset_states" in item.remedy
    assert f"evacuate_reset_states=[{word}]" in str(item.evidence)
    allowed = some.asked(resets=(word,))
    assert blockers(allowed) == []
    (entry,) = [entry for entry in decide(allowed).guests if entry.uuid == ONE]
    assert (entry.reset, entry.resets) == (word, (word,))
    assert entry.power == ("running" if word in ("task", "rescued") else "stopped")
    assert [item.object.id for item in told(allowed, "SG519")] == [ONE]
    assert blockers(some.asked(resets=tuple({*STUCK} - {word}))) == [code]


@pytest.mark.parametrize(
    ("status", "task"),
    [
        ("REBOOT", "reboot_started"),
        ("HARD_REBOOT", "rebooting_hard"),
        ("HARD_REBOOT", "reboot_pending_hard"),
        ("PASSWORD", "updating_password"),
    ],
)
def test_a_status_that_only_its_task_makes_goes_with_the_task(status, task):
    """H1: SG710 refused a server in HARD_REBOOT, whatever evacuate_reset_states said."""
    some = scene().server(1, status=status, task_state=task)
    assert blockers(some) == ["SG701"]
    allowed = some.asked(resets=("task",))
    assert blockers(allowed) == []
    assert places(allowed) == {ONE: "compute3", TWO: "compute3"}
    assert next(entry for entry in decide(allowed).guests if entry.uuid == ONE).power == "running"
    # Without its task the status is not what Nova calls such a server.
    assert blockers(scene().server(1, status=status).asked(resets=("task",))) == ["SG710"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"task_state": "deleting"}, "SG701"),
        ({"task_state": "migrating"}, "SG701"),
        ({"status": "VERIFY_RESIZE"}, "SG710"),
    ],
)
def test_what_may_have_its_disks_elsewhere_is_never_reset(changes, code):
    some = scene().server(1, **changes).asked(resets=tuple(STUCK))
    assert blockers(some) == [code]


# --- D17, D18: is the list complete? --------------------------------------------------------------------------


def test_a_list_of_servers_that_lacks_one_is_not_nobody():
    """A cell that timed out for this one query: 0 of 0 servers, nothing is to be done."""
    some = scene()
    some = some.having(some.cloud.cloud(servers=[]))
    assert blockers(some) == []
    (item,) = told(some.told(unlisted={ONE: "its cell does not answer"}), "SG709")
    assert item.object.id == ONE
    assert blockers(some.told(cells_down=["compute1"])) == ["SG709"]
    assert blockers(some.told(unlisted={ONE: "?"})) == ["SG709"]
    assert blockers(some.told(unread=[Unread("unlisted", "503")])) == ["SG709"]


def test_a_server_whose_build_may_wait_for_the_dead_host_is_named_and_keeps_nobody():
    some = scene().told(coming={"new": "Nova shows the server on no host (BUILD, task none)"})
    assert [(item.object.id, item.severity) for item in told(some, "SG329")] == [("new", findings.WARNING)]
    assert blockers(some) == []
    assert told(scene(), "SG329") == []


def test_somebody_whom_only_placement_knows_can_be_passed_by_name():
    some = scene().told(unlisted={"leaked": "no server and no migration has this uuid"})
    items = decide(some).checked.findings
    assert findings.blocking_findings(items, [Override("SG709", "leaked", "left by a crash in May")]) == []


def test_another_cell_that_does_not_answer_is_undecided_and_keeps_nobody():
    some = scene().told(cells_down=["compute9"])
    assert blockers(some) == []
    assert ("SG709", "compute1") in unchecked(some)


def test_an_evacuation_plans_within_the_cell_of_the_host():
    hosts = [target.host for target in scene().about.targets]
    own = dict.fromkeys(hosts, "cell1")
    assert decide(scene().told(cells=own)).assignments.assigned
    decided = decide(scene().told(cells={**dict.fromkeys(hosts, "cell2"), "compute1": "cell1"}))
    assert decided.assignments.assigned == []
    assert {"SG512"} <= {item.code for item in decided.checked.findings}


def test_whose_cells_are_not_known_is_undecided_where_there_are_several():
    hosts = [target.host for target in scene().about.targets]
    asked = ("SG512", "compute1")
    assert asked in unchecked(scene().told(several_cells=True))
    assert asked in unchecked(scene().told(unread=[Unread("cells", "503")]))
    assert asked in unchecked(scene().told(cells={**dict.fromkeys(hosts, "cell1"), "compute1": None}))
    for some in (scene(), scene().told(several_cells=False), scene().told(cells=dict.fromkeys(hosts, "cell1"))):
        assert asked not in unchecked(some)
        assert blockers(some) == []
    assert blockers(scene().told(several_cells=True)) == []


def test_soft_deleted_servers_are_named_and_not_lost():
    (item,) = told(scene().told(soft_deleted={"gone": "web"}), "SG519")
    assert (item.object.id, item.severity) == ("gone", findings.WARNING)


def test_parts_that_were_not_read_are_undecided():
    parts = ["shares", "accelerator_ports", "image_properties", "aggregates", "encrypted", "soft_deleted"]
    some = scene().told(unread=[Unread(part, "503") for part in parts])
    assert {code for code, _object in unchecked(some)} == {"SG710", "SG519", "SG512"}
    assert blockers(some) == []
    some = scene().told(image_properties={ONE: {}}, shares={ONE: 0})
    assert unchecked(some) == {("SG519", TWO), ("SG710", TWO), ("SG523", "compute1")}


# --- in transit -----------------------------------------------------------------------------------------------


def migration(number, kind, status, uuid="other", dest="compute3", source="compute5"):
    return facts.ApiMigration(number, f"m{number}", kind, status, uuid, source, source, dest, dest)


def test_what_another_operation_has_sent_is_not_promised_twice():
    """Two dead hosts at the same time, a drain, a tenant's resize: Nova's records say where each goes."""
    big = dataclasses.replace(FLAVOR, ram=1 << 20)
    some = scene().told(
        migrations=[migration(1, "evacuation", "accepted")], transit=[facts.MigratingServer("other", big, [])]
    )
    sent = measured.in_transit(some.about)
    assert [(entry.uuid, entry.host, entry.memory_mib, entry.needs["MEMORY_MB"]) for entry in sent] == [
        ("other", "compute3", 1 << 20, 1 << 20)
    ]
    assert len(places(some)) == 2
    assert blockers(some, sent=sent) == ["SG512"]
    claimed = some.told(migrations=[migration(1, "evacuation", "pre-migrating")])
    assert blockers(claimed, sent=measured.in_transit(claimed.about)) == ["SG501"]


@pytest.mark.parametrize(
    ("kind", "status", "host"),
    [
        ("evacuation", "done", None),
        ("evacuation", "failed", None),
        ("live-migration", "running", "compute3"),
        ("live-migration", "completed", None),
        ("resize", "finished", "compute3"),
        ("migration", "migrating", "compute3"),
        ("migration", "confirmed", None),
        ("resize", "reverting", "compute5"),
        ("of-a-newer-nova", "running", None),
    ],
)
def test_which_migrations_still_bring_somebody(kind, status, host):
    row = migration(1, kind, status)
    assert measured.arriving_at(row) == host


def test_one_of_unread_size_on_its_way_keeps_all_others_from_that_host():
    some = scene().told(
        migrations=[migration(1, "live-migration", "running")], transit=[facts.MigratingServer("other", None)]
    )
    assert blockers(some, sent=measured.in_transit(some.about)) == ["SG709"]
    # Unless it runs there already, and was measured with all else.
    there = dataclasses.replace(some.bundle.hosts["compute3"].domains[0], uuid="other", state="running")
    some = some.at(3, domains=[there])
    assert blockers(some, sent=measured.in_transit(some.about)) == []


def test_a_record_that_was_left_behind_of_a_server_that_is_gone_takes_nothing():
    some = scene().told(migrations=[migration(1, "live-migration", "running")], transit=[])
    assert measured.in_transit(some.about) == []
    (entry,) = measured.in_transit(some.told(transit=None).about)
    assert entry.known is False


def test_what_others_have_sent_and_could_not_be_read_forbids_it():
    assert blockers(scene().told(unread=[Unread("migrations", "503")])) == ["SG709"]
    assert blockers(scene().told(unread=[Unread("transit", "503")])) == ["SG709"]


def test_what_journals_and_nova_say_of_one_server_counts_once_and_at_two_hosts_twice():
    journal = [
        IncomingServer("a", "compute3", 1000, needs={"VCPU": 1}),
        IncomingServer("b", "compute3", 1, known=False),
    ]
    nova = [
        IncomingServer("a", "compute3", 2000),
        IncomingServer("a", "compute5", 2000),
        IncomingServer("b", "compute3", 300),
    ]
    assert measured.merge_sent(journal, nova) == [
        IncomingServer("a", "compute3", 2000, (), {"VCPU": 1}),
        IncomingServer("a", "compute5", 2000),
        IncomingServer("b", "compute3", 300),
    ]


# --- who else -------------------------------------------------------------------------------------------------


def test_masakari_is_seen_before_two_evacuate_at_once():
    some = scene()
    some = some.having(some.cloud.cloud(catalog=["compute", "instance-ha"]))
    (item,) = told(some, "SG708")
    assert (item.severity, item.object.id) == (findings.WARNING, "compute1")
    assert told(scene(), "SG708") == []


@pytest.mark.parametrize(
    ("reason", "severity"),
    [
        ("Masakari detected host failed.", findings.BLOCKER),
        ("instanceha evacuation: 2026-11-22T10:00:00", findings.BLOCKER),
        ("instanceha evacuation complete: 2026-11-22T10:00:00", findings.INFO),
        ("disk is being replaced", None),
        (None, None),
    ],
)
def test_automation_that_is_at_work_on_this_host_is_waited_for(reason, severity):
    some = scene().target(1, status="disabled", disabled_reason=reason)
    assert [item.severity for item in told(some, "SG708")] == ([severity] if severity else [])


def test_an_amphora_is_named_with_the_way_to_replace_it():
    some = scene().server(1, name=f"amphora-{ONE}").server(2, name="amphora-of-mine")
    (item,) = told(some, "SG520")
    assert (item.object.id, item.severity) == (ONE, findings.WARNING)
    assert "amphora failover" in item.remedy


# --- H9, D8 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "code"), [("finished", "resize", "SG703"), ("running", "live-migration", "SG702")]
)
def test_one_tenants_unconfirmed_resize_keeps_nobody_else_on_the_dead_host(status, kind, code):
    some = scene()
    some = some.having(some.cloud.migrate(ONE, "compute1", "compute3", status, kind))
    (item,) = told(some, code)
    assert item.severity == findings.BLOCKER
    assert item.object.id in item.remedy or "confirm" in item.remedy
    partial = some.asked(partial=True)
    assert places(partial) == {TWO: "compute3"}
    decision = decide(partial)
    assert evacuation.refusing(decision.checked, (), True, decision.guests) == []
    assert [entry.code for entry in decide(partial).assignments.unassigned] == [code]
    by_name = [Override(code, item.object.id, "its other host is dead, too")]
    assert set(places(partial, overrides=by_name)) == {ONE, TWO}


def test_servers_that_boot_from_volumes_go_without_guards_and_are_named():
    some = scene().server(1, image="", volumes=["volume-1"], name="web").at(3, rbd=disks(image(f"{TWO}_disk")))
    decision = decide(some)
    assert leaving_guests.unguarded(decision.guests) == ["web"]
    assert set(places(some)) == {ONE, TWO}
    assert leaving_guests.unguarded(decide(scene()).guests) == []
