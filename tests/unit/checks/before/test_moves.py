# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May servers move within their zone? Each guard refuses in one case and lets the healthy one pass; nothing that was
not read is a destination."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import IncomingServer
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.tests.unit.builders import guest, node
from ansible_collections.stackguard.nova.tests.unit.moving_scene import REQUEST, Scene

ONE, TWO = guest(1, 1), guest(1, 2)


def judge(scene, request=REQUEST, overrides=(), **more):
    return moves.preflight(scene.evidence(request.drain_host), request, overrides, **more)


def codes(decision, severity="blocker"):
    return sorted({item.code for item in decision.checked.findings if item.severity == severity})


def places(decision):
    return {assignment.uuid: assignment.host for assignment in decision.assignments.assigned}


def test_a_healthy_host_is_drained_within_its_zone():
    decision = judge(Scene())
    assert codes(decision) == []
    assert set(places(decision)) == {ONE, TWO}
    assert set(places(decision).values()) <= {"compute3", "compute5"}
    assert decision.zones == {ONE: "az1", TWO: "az1"}


def test_servers_of_several_hosts_stay_each_in_its_own_zone():
    far = guest(2, 1)
    scene = Scene()
    decision = moves.preflight(
        scene.evidence(None, [ONE, far], ["compute1", "compute2"]), MigrationRequest(servers=(ONE, far))
    )
    assert codes(decision) == []
    assert places(decision)[ONE] in ("compute3", "compute5")
    assert places(decision)[far] == "compute4"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"task_state": "rebooting"}, "SG701"),
        ({"status": "VERIFY_RESIZE"}, "SG703"),
        ({"status": "ERROR"}, "SG711"),
        ({"status": "SUSPENDED"}, "SG710"),
        ({"locked": True}, "SG710"),
        ({"flavor": None}, "SG709"),
    ],
)
def test_a_server_that_cannot_be_moved_is_a_finding_and_has_no_seat(changes, code):
    decision = judge(Scene().server(ONE, **changes))
    assert codes(decision) == [code]
    assert set(places(decision)) == {TWO}, "the others are judged all the same"
    assert decision.refused(REQUEST, ())
    assert not decision.refused(dataclasses.replace(REQUEST, partial=True), ())


def test_all_findings_are_told_at_once():
    scene = Scene().server(ONE, status="ERROR").pinned(TWO, "az2")
    assert codes(judge(scene)) == ["SG404", "SG711"]


def test_a_locked_server_passes_by_name():
    overrides = [Override("SG710", ONE, "its owner agreed")]
    decision = judge(Scene().server(ONE, locked=True), overrides=overrides)
    assert not decision.refused(REQUEST, overrides)
    assert set(places(decision)) == {ONE, TWO}


@pytest.mark.parametrize(
    ("status", "live", "cold", "method"),
    [
        ("ACTIVE", True, "stopped", "live"),
        ("PAUSED", True, "stopped", "live"),
        ("SHUTOFF", True, "stopped", "cold"),
        ("SHUTOFF", True, "never", None),
        ("ACTIVE", False, "stopped", "cold"),
        ("PAUSED", False, "stopped", None),
        ("ERROR", True, "fallback", None),
    ],
)
def test_how_a_server_moves(status, live, cold, method):
    request = dataclasses.replace(REQUEST, live=live, cold=cold)
    assert moves.method_of(status, request) == method
    scene = Scene() if status == "ACTIVE" else Scene().server(ONE, status=status)
    decision = judge(scene, request)
    assert (ONE in places(decision)) == (method is not None)
    assert bool({"SG710", "SG711"} & set(codes(decision))) == (method is None)


def test_a_server_outside_its_pin_is_refused_and_by_name_goes_where_its_pin_says():
    scene = Scene().pinned(ONE, "az2")
    assert codes(judge(scene)) == ["SG404"]
    decision = judge(scene, overrides=[Override("SG404", ONE, "back home")])
    assert places(decision)[ONE] in ("compute2", "compute4")


def test_a_pin_that_holds_nothing_is_told_and_the_zone_of_the_host_counts():
    decision = judge(Scene().pinned(ONE, "nova"))
    assert codes(decision) == []
    assert codes(decision, "warning") == ["SG402"]
    assert places(decision)[ONE] in ("compute3", "compute5")


def test_pins_that_are_not_read_are_unchecked_and_never_a_pass():
    decision = judge(Scene().zones(pins=None))
    assert codes(decision) == []
    assert {item.code for item in decision.checked.unchecked} >= {"SG404"}


def test_a_zone_without_another_host_is_sg406():
    decision = judge(Scene().target(3, status="disabled").target(5, state="down"))
    assert codes(decision) == ["SG406"]
    assert decision.assignments.assigned == []


def test_a_host_that_was_not_read_is_no_destination():
    scene = Scene().unread("compute3")
    assert set(places(judge(scene)).values()) == {"compute5"}
    assert codes(judge(scene.unread("compute5"))) == ["SG709"]


def with_uuid_of_the_source(scene, *hosts):
    uuid = scene.cloud.bundle.hosts["compute1"].libvirt.host_uuid
    for host in hosts:
        scene = scene._with(cloud=scene.cloud.part("libvirt", host, host_uuid=uuid.upper()))
    return scene


def test_a_host_whose_libvirt_has_the_uuid_of_the_source_is_no_live_destination():
    """R13: libvirt refuses each live migration between them: "Attempt to migrate guest to the same host"."""
    decision = judge(with_uuid_of_the_source(Scene(), "compute3"))
    assert codes(decision) == []
    assert set(places(decision).values()) == {"compute5"}
    (item,) = [item for item in decision.checked.findings if item.code == "SG107"]
    assert (item.severity, item.evidence["also on"]) == ("warning", ["compute3"])
    assert "libvirtd.conf" in item.remedy
    none = judge(with_uuid_of_the_source(Scene(), "compute3", "compute5"))
    assert codes(none) == ["SG523"]
    # What is stopped moves cold.
    cold = with_uuid_of_the_source(Scene(), "compute3", "compute5")
    decision = judge(cold.server(ONE, status="SHUTOFF").server(TWO, status="SHUTOFF"))
    assert (codes(decision), set(places(decision)), codes(decision, "warning")) == ([], {ONE, TWO}, [])


# --- can the destination run them?


def running(scene, machine, uuid=ONE):
    """One guest has this machine type."""
    host = scene.cloud.bundle.hosts["compute1"]
    rows = [dataclasses.replace(row, machine_type=machine) if row.uuid == uuid else row for row in host.domains]
    return scene._with(cloud=scene.cloud.host("compute1", domains=rows))


def offering(scene, host, **changes):
    found = dataclasses.replace(scene.cloud.bundle.hosts[host].offers, **changes)
    return scene._with(cloud=scene.cloud.host(host, offers=found))


OLD = {"x86_64": ["pc", "pc-i440fx-2.8", "pc-q35-7.2"]}


def test_a_host_without_the_machine_type_is_no_destination():
    """R11."""
    scene = offering(running(Scene(), "pc-i440fx-2.8"), "compute5", machines=OLD)
    decision = judge(scene)
    assert (codes(decision), places(decision)[ONE]) == ([], "compute5")
    (item,) = [item for item in judge(running(Scene(), "pc-i440fx-2.8")).checked.findings if item.code == "SG523"]
    assert (item.object.id, item.severity, item.absolute) == (ONE, "blocker", True)
    assert {"compute3", "compute5"} <= set(item.evidence["hosts"])


def test_what_nova_has_stored_decides_where_a_stopped_server_may_go():
    scene = running(Scene(), "pc-i440fx-2.8").server(ONE, status="SHUTOFF")
    undecided = judge(scene)
    assert codes(undecided) == ["SG523"]
    overrides = [Override("SG523", ONE, "its image says pc")]
    decision = judge(scene, overrides=overrides)
    assert (decision.refused(REQUEST, overrides), ONE in places(decision)) == ([], True)
    stored = scene.about(image_properties={ONE: {"hw_machine_type": "pc"}})
    assert codes(judge(stored)) == []
    pinned = judge(scene.about(image_properties={ONE: {"hw_machine_type": "pc-i440fx-2.8"}}), overrides=overrides)
    assert [item.code for item in pinned.refused(REQUEST, overrides)] == ["SG523"]


def test_one_that_falls_back_to_a_cold_migration_goes_by_the_new_definition():
    request = dataclasses.replace(REQUEST, cold="fallback")
    scene = with_uuid_of_the_source(Scene(), "compute3")
    evidence = scene.evidence("compute1")
    decision = moves.preflight(evidence, request)
    tried = {"compute5": "refused"}
    assert moves.assign_again(evidence, decision, request, ONE, {}, tried)[0] is None
    assert moves.assign_again(evidence, decision, request, ONE, {}, tried, cold=True)[0].host == "compute3"


def test_libvirt_is_asked_about_cpus_before_anything_is_decided():
    scene = offering(Scene(), "compute3", cpu="<cpu><model>Opteron</model></cpu>")
    scene = offering(scene, "compute5", cpu="<cpu><model>Opteron</model></cpu>")
    asked = judge(scene, able=True)
    assert {(probe.on, probe.virt) for probe in asked.compare} == {("compute3", "kvm"), ("compute5", "kvm")}
    assert codes(asked) == []
    # Nobody asks it: that is not known.
    assert codes(judge(scene)) == ["SG523"]
    said = [{"digest": probe.digest, "dest": probe.dest, "result": "incompatible"} for probe in asked.compare]
    assert codes(judge(scene, results=said, able=True)) == ["SG523"]
    overrides = [Override("SG523", uuid, "tried by hand") for uuid in (ONE, TWO)]
    assert not judge(scene, overrides=overrides, results=said, able=True).refused(REQUEST, overrides)
    said[0]["result"] = "superset"
    decision = judge(scene, results=said, able=True)
    assert (codes(decision), set(places(decision).values())) == ([], {said[0]["dest"]})
    assert decision.compare == ()


def test_no_real_memory_is_sg501_and_may_be_passed_by_name():
    request = dataclasses.replace(REQUEST, headroom_mib=10**6)
    decision = judge(Scene(), request)
    assert codes(decision) == ["SG501"]
    overrides = [Override("SG501", uuid, "they are idle") for uuid in (ONE, TWO)]
    assert not judge(Scene(), request, overrides).refused(request, overrides)


def test_what_the_servers_need_is_taken_off_what_was_measured():
    scene = Scene().memory("compute3", 512 + 128 + 1024 + 500).memory("compute5", 512 + 128 + 1024 + 400)
    decision = judge(scene)
    assert sorted(places(decision).values()) == ["compute3", "compute5"], "there is room for one on each"
    assert codes(judge(scene.memory("compute5", 700))) == ["SG501"]


def test_another_seat_counts_what_was_promised_since():
    scene = Scene().memory("compute3", 512 + 128 + 1024 + 500).memory("compute5", 512 + 128 + 1024 + 400)
    evidence = scene.evidence("compute1")
    decision = moves.preflight(evidence, REQUEST)
    held = {assignment.uuid: assignment for assignment in decision.assignments.assigned}
    first = held.pop(ONE)
    assignment, why = moves.assign_again(evidence, decision, REQUEST, ONE, held, {first.host: "refused"})
    assert assignment is None
    assert "the run has already tried this host for the server" in why
    assert "MiB of real memory left" in why
    assignment, _why = moves.assign_again(evidence, decision, REQUEST, ONE, {}, {first.host: "refused"})
    assert assignment.host == ({"compute3", "compute5"} - {first.host}).pop()


def test_a_source_that_is_down_is_not_drained():
    decision = judge(Scene().service("compute1", state="down"))
    assert "SG704" in codes(decision)


def test_a_host_of_another_operation_is_left_alone():
    scene = Scene().target(1, disabled_reason="stackguard:rename:other", status="disabled")
    assert codes(judge(scene)) == ["SG707"]
    mine = dataclasses.replace(REQUEST, operation_id="other")
    assert codes(judge(Scene().target(1, disabled_reason="stackguard:drain:other", status="disabled"), mine)) == []


def test_a_host_that_nobody_knows():
    request = dataclasses.replace(REQUEST, drain_host="compute9")
    assert "SG119" in codes(judge(Scene(), request))


def test_a_server_that_is_not_there_is_named():
    evidence = dataclasses.replace(Scene().evidence(None, [ONE], ["compute1"]), missing=("web9",))
    decision = moves.preflight(evidence, MigrationRequest(servers=(ONE,)))
    assert codes(decision) == ["SG710"]


@pytest.mark.parametrize(
    ("status", "kind"), [("running", "evacuation"), ("running", "live-migration"), ("finished", "resize")]
)
def test_a_migration_of_its_own_is_never_answered_with_the_way_out_of_an_evacuation(status, kind):
    """Before an evacuation a host is dead, and a record may never end: here it would be reset under a living guest."""
    row = facts.ApiMigration(
        id=7,
        uuid=None,
        instance_uuid=ONE,
        source_compute="compute1",
        dest_compute="compute3",
        source_node=None,
        dest_node=None,
        status=status,
        migration_type=kind,
    )
    found = [item for item in judge(Scene().migrations(row)).checked.findings if item.code in ("SG702", "SG703")]
    assert found
    for item in found:
        assert not [word for word in ("evacuate_", "--state", "unset", "overrides") if word in item.remedy], item.remedy


def test_what_is_coming_to_the_host_is_waited_for():
    row = facts.ApiMigration(
        id=7,
        uuid=None,
        instance_uuid=guest(2, 1),
        source_compute="compute2",
        dest_compute="compute1",
        source_node=None,
        dest_node=None,
        status="running",
        migration_type="live-migration",
    )
    assert codes(judge(Scene().migrations(row))) == ["SG702"]
    finished = dataclasses.replace(row, status="finished", source_compute="compute1", dest_compute="compute3")
    decision = judge(Scene().migrations(finished))
    assert codes(decision) == []
    assert codes(decision, "warning") == ["SG703"]


@pytest.mark.parametrize("part", ["servers", "migrations", "providers"])
def test_what_the_apis_did_not_say_forbids_it(part):
    decision = judge(Scene().unanswered(part))
    assert codes(decision) == ["SG709"]
    assert decision.assignments.assigned == []


def test_a_soft_deleted_server_is_still_on_the_host_and_is_named_as_what_it_is():
    """Placement has it, and no list: without its name, the way out would be to override it as a leftover."""
    kept = guest(4, 2)
    scene = Scene().about(soft_deleted={kept: "web9"}).holding("compute1", [ONE, TWO, kept])
    decision = judge(scene)
    (item,) = [entry for entry in decision.checked.findings if entry.object.id == kept]
    assert (item.code, item.severity, item.object.name) == ("SG710", "blocker", "web9")
    assert decision.refused(REQUEST, [])
    assert decision.refused(REQUEST, [Override("SG710", kept, "its owner was asked")]) == []


def test_soft_deleted_servers_that_were_not_read_are_not_none():
    assert codes(judge(Scene().about(soft_deleted=None))) == ["SG709"]
    some = Scene().about(soft_deleted=None).evidence(None, [ONE], ["compute1"])
    assert codes(moves.preflight(some, MigrationRequest(servers=(ONE,)))) == [], "no host shall be empty"


def test_a_host_of_another_cell_is_no_destination():
    """Nova refuses each of these moves, after the host was disabled: the check promised all of them."""
    cells = {f"compute{number}": "cell1" for number in range(1, 6)}
    assert codes(judge(Scene().about(cells=cells))) == []
    decision = judge(Scene().about(cells={**cells, "compute3": "cell2"}))
    assert set(places(decision).values()) == {"compute5"}
    decision = judge(Scene().about(cells={**cells, "compute3": "cell2", "compute5": None}))
    assert codes(decision) == ["SG406"]
    (item, *_others) = decision.checked.findings
    assert "another cell" in str(item.evidence)
    assert codes(judge(Scene().about(cells={"compute3": "cell2"}))) == [], (
        "in which cell the host itself is was not read"
    )


def test_cells_that_were_asked_for_and_not_read_forbid_it():
    assert codes(judge(Scene().about(unread=[facts.Unread("cells", "refused")]))) == ["SG709"]


def test_a_host_in_two_zones_is_no_zone():
    assert "SG403" in codes(judge(Scene().in_two_zones("compute1")))


def test_placement_that_offers_only_a_host_elsewhere_is_no_candidate():
    scene = Scene().about(offers={uuid: [node(2)] for uuid in (ONE, TWO)})
    assert codes(judge(scene)) == ["SG406"]


# --- what others have on their way ----------------------------------------------------------------------------


def test_what_others_have_on_their_way_takes_the_room(monkeypatch):
    scene = Scene().target(5, status="disabled")
    room = next(host.room_mib for host in judge(scene).destinations if host.host == "compute3")
    other = IncomingServer("other", "compute3", room - 1500)
    decision = moves.preflight(dataclasses.replace(scene.evidence("compute1"), sent=(other,)), REQUEST)
    assert codes(decision) == ["SG501"]
    assert len(places(decision)) == 1


def test_one_that_is_on_its_way_has_its_host_and_needs_no_other():
    evidence = dataclasses.replace(Scene().evidence("compute1"), sent=(IncomingServer(ONE, "compute5", 1024),))
    decision = moves.preflight(evidence, REQUEST, ours={ONE})
    assert set(places(decision)) == {TWO}
    assert codes(decision) == []


def test_what_is_on_its_way_and_was_not_read_is_not_none():
    evidence = dataclasses.replace(Scene().evidence("compute1"), unread=("migrations in progress: 503",))
    assert codes(moves.preflight(evidence, REQUEST)) == ["SG709"]


def test_a_server_whose_last_cold_move_failed_on_its_destination_does_not_move_cold():
    """The snapshot that it made may be there, and ends the next one in ERROR. A live migration makes none."""
    row = facts.ApiMigration(7, "m", "resize", "error", ONE, "compute3", "compute3", "compute1", "compute1")
    scene = Scene().about(failed_moves={ONE: row})
    assert codes(judge(scene)) == []
    off = scene.server(ONE, status="SHUTOFF", vm_state="stopped")
    assert (codes(judge(off)), set(places(judge(off)))) == (["SG713"], {TWO})
    assert set(places(judge(off, overrides=[Override("SG713", ONE, "looked")]))) == {ONE, TWO}


def test_cold_moves_that_were_not_read_are_undecided():
    some = Scene().about(unread=[facts.Unread("failed_moves", "503")])
    assert "SG713" in {item.code for item in judge(some).checked.unchecked}
