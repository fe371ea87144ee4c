# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A drain, looked at from outside: guests leave and come back though the run is killed, and what is never undone.

The mover itself is tried in operations/test_move_servers.py; here it is configured for a rename.
"""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import WARNING, Checked, Subject, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves import mover
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import steps as rename_by_drain
from ansible_collections.stackguard.nova.tests.unit.builders import guest, node
from ansible_collections.stackguard.nova.tests.unit.moving_nova import FakeNova
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene
from ansible_collections.stackguard.nova.tests.unit.operations import test_move_servers as moving
from ansible_collections.stackguard.nova.tests.unit.operations.test_move_servers import NEAR, ONE, TWO, Killed
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

LIMITS = {"reason": "stackguard:rename:op1", "parallel": 1, "timeout": 600, "up_timeout": 60}
THREE = guest(3, 1)
#: One host of the zone is left to go to.
NARROW = Scene().target(5, status="disabled")


class Cloud(moving.Cloud):
    """compute1 is renamed, and the role measures the hosts and tries connections when it is asked to."""

    def __init__(self, monkeypatch, scene=None, **statuses):
        super().__init__(monkeypatch, scene, **statuses)
        self.kept, self.measured, self.approved = {}, 0, False
        self.service = {"status": "disabled", "disabled_reason": LIMITS["reason"]}
        patch = monkeypatch.setattr
        patch(rename_by_drain.hypervisors, "find_node", lambda _cloud, _host: types.SimpleNamespace(id=node(1)))
        patch(rename_by_drain.resource_providers, "get_provider_traits", self.traits)

    def shown(self):
        """It reports every ten seconds."""
        return dataclasses.replace(super().shown(), updated_at=str(self.now // 10))

    def enable(self):
        self.service = {"status": "enabled", "disabled_reason": None}

    def put(self, host, *uuids):
        """Guests are there, and nothing of them is on compute1."""
        for uuid in uuids or list(self.servers):
            self.servers[uuid]["OS-EXT-SRV-ATTR:host"] = host

    def params(self, *uuids, **changes):
        uuids = uuids or tuple(self.servers)
        rows = {row.id: row for row in self.rows()}
        known = [
            {"uuid": uuid, "name": rows[uuid].name, "host": "compute1", "zone": "az1", "status": rows[uuid].status}
            for uuid in uuids
            if uuid in rows
        ]
        known += [
            {"uuid": uuid, "name": uuid, "host": "compute1", "zone": "az1", "status": "ACTIVE"}
            for uuid in uuids
            if uuid not in rows
        ]
        about = {"host": "compute1", "provider": node(1), "guests": list(uuids), "servers": known}
        return {**about, **LIMITS, **changes}

    def call(self, requests):
        """The host that is renamed tries connections."""
        (request,) = requests
        return [{"probes": [{**target, "error": None} for target in request["targets"]]}]

    def rounds(self, action, wanted, way="apply", **systems):
        """What the role does: whenever the hosts are to be measured, it measures them and calls again."""
        probes, measured = [], False
        while True:
            context = mover.MoveContext(
                MigrationRequest(),
                (),
                lambda hosts, some: self.collect(None, None, hosts, some, None),
                mover.MovedServers(),
                probes=probes,
                able=True,
                approved=self.approved,
                since="2026-01-01T00:00:00Z",
            )
            given = dataclasses.replace(self.systems(), **systems)
            moves = rename_by_drain.GuestMoves(context, self.keep, measured)
            made = action(given, moves)
            try:
                if way == "apply":
                    return made.apply(wanted, dict(self.kept))
                if hasattr(made, "recall"):
                    made.recall(dict(self.kept))
                return made.undo(wanted)
            except mover.AgainError as error:
                assert error.needs == "measured_hosts"
                asked = getattr(error, "probe", {})
                probes = [*probes, *({**probe, "error": None} for some in asked.values() for probe in some)]
                measured = True
                self.measured += 1

    def keep(self, step, past):
        self.kept[step] = dataclasses.asdict(past)

    def empty(self, wanted=None, **systems):
        return self.rounds(rename_by_drain.MoveGuests, wanted or self.params(), **systems)

    def settle(self, wanted=None):
        return self.rounds(rename_by_drain.MoveGuests, wanted or self.params(), "undo")

    def back(self, wanted=None, **options):
        return self.rounds(rename_by_drain.ReturnGuests, wanted or self.params(), options=options)

    def roll_back(self, **options):
        return self.rounds(rename_by_drain.ReturnGuestsOnRollback, self.params(), "undo", options=options)

    @property
    def statuses(self):
        return {uuid: row["status"] for uuid, row in self.servers.items()}


@pytest.fixture
def nova(monkeypatch):
    return Cloud(monkeypatch)


def three(monkeypatch, *statuses, scene=None):
    return Cloud(monkeypatch, scene, **dict(zip((ONE, TWO, THREE), statuses, strict=True)))


# --- away -----------------------------------------------------------------------------------------------------


def test_running_paused_and_stopped_guests_move_within_the_zone_and_are_confirmed(monkeypatch):
    nova = three(monkeypatch, "ACTIVE", "PAUSED", "SHUTOFF")
    done = nova.empty()
    assert set(nova.hosts.values()) <= NEAR
    assert sorted(nova.moves) == sorted([("live", ONE), ("live", TWO), ("cold", THREE)])
    assert ("confirm", THREE) in nova.calls
    assert nova.statuses[THREE] == "SHUTOFF"
    assert nova.most == 1
    assert done.memory["moved"] == nova.hosts


def test_nobody_is_sent_before_the_hosts_were_measured_and_once_is_enough(nova):
    moves = rename_by_drain.GuestMoves(None, nova.keep, False)
    with pytest.raises(mover.AgainError, match="measures all compute hosts"):
        rename_by_drain.MoveGuests(nova.systems(), moves).apply(nova.params(), {})
    assert nova.calls == []
    nova.empty()
    assert nova.measured == 1


def test_what_was_measured_is_not_used_after_guests_have_moved(nova):
    nova.empty()
    nova.enable()
    nova.back()
    assert nova.measured == 2


def test_what_a_round_has_learnt_is_forgotten_when_an_operator_runs_it_again(nova):
    nova.kept["move_guests"] = {"closed": dict.fromkeys(NEAR, "broken"), "tried": {ONE: {"compute3": "broken"}}}
    nova.empty()
    assert set(nova.hosts.values()) <= NEAR


def test_where_the_host_may_be_told_by_its_own_lock_another_one_is_respected(nova):
    nova.service["disabled_reason"] = "stackguard:evacuate:other"
    with pytest.raises(StepError, match="SG707"):
        nova.empty()
    assert nova.calls == []


def test_no_more_at_a_time_than_asked_for(monkeypatch):
    # Nothing says that a host is reached until one has arrived there: one by one into each.
    nova = three(monkeypatch, "SHUTOFF", "SHUTOFF", "SHUTOFF")
    nova.empty(nova.params(parallel=2))
    assert nova.most == 2


def test_the_host_itself_tries_whether_it_reaches_the_others(nova):
    moving.reads(nova)
    nova.empty()
    assert (nova.measured, set(nova.hosts.values()) <= NEAR) == (1, True)


def test_what_the_host_does_not_reach_is_sent_nobody(nova):
    moving.reads(nova)
    nova.call = lambda requests: [
        {"probes": [{**probe, "error": "refused" if probe["dest"] == "compute3" else None} for probe in one["targets"]]}
        for one in requests
    ]
    nova.empty()
    assert set(nova.hosts.values()) == {"compute5"}


def test_the_next_host_is_tried_and_then_no_more(nova):
    nova.refuse = {"compute3"}
    nova.empty()
    assert set(nova.hosts.values()) == {"compute5"}


def test_one_that_fails_ends_it_and_the_others_stay(monkeypatch):
    nova = three(monkeypatch, "ERROR", "ACTIVE", "ACTIVE")
    with pytest.raises(mover.StayError, match=r"guest1", check=problem_is("moved")) as stayed:
        nova.empty()
    assert nova.moves == []
    assert "SG711" in {item.code for item in stayed.value.checked.findings}


def test_those_on_their_way_arrive_when_one_fails_and_no_other_begins(monkeypatch):
    nova = three(monkeypatch, "ACTIVE", "ACTIVE", "ACTIVE")
    nova.refuse = NEAR
    with pytest.raises(mover.StayError, check=problem_is("moved")):
        nova.empty()
    assert len({call[:2] for call in nova.calls}) == 1
    assert set(nova.hosts.values()) == {"compute1"}


def test_a_guest_that_came_after_the_plan_moves_too_unless_a_person_approved_the_plan(nova):
    wanted = nova.params(ONE)
    nova.approved = True
    with pytest.raises(mover.StayError, match=r"rename_expect_plan", check=problem_is("not-move-these")):
        nova.empty(wanted)
    assert nova.hosts[TWO] == "compute1"
    nova.approved = False
    nova.empty(wanted)
    assert set(nova.hosts.values()) <= NEAR


@pytest.mark.parametrize("silent", ["compute1", "compute3"])
def test_a_nova_compute_that_hangs_is_told_while_it_is_waited_for_and_at_the_end(monkeypatch, silent):
    nova, said = Cloud(monkeypatch, NARROW), []
    del nova.servers[TWO]
    nova.silent = {silent}
    monkeypatch.setattr(mover.compute_services, "find_service", lambda *given: FakeNova.find_service(nova, *given))
    with pytest.raises(StepError, match=f"{silent}", check=problem_is("moved")):
        nova.empty(remark=said.append)
    assert sum(f"nova-compute of {silent} has not reported" in line for line in said) > 10


def test_a_move_that_goes_well_says_nothing_of_nova_compute(nova):
    said = []
    nova.empty(remark=said.append)
    assert said
    assert not any("has not reported" in line for line in said)


def test_one_deleted_by_its_owner(nova):
    done = nova.empty(nova.params(ONE, TWO, guest(4, 9)))
    assert "1 deleted during the run" in done.remark


def test_a_resize_of_its_owner_is_never_confirmed(nova):
    wanted = nova.params()
    nova.servers[ONE].update({"status": "VERIFY_RESIZE", "OS-EXT-SRV-ATTR:host": "compute3"})
    nova.kinds[ONE] = "resize"
    with pytest.raises(StepError, check=problem_is("moved")):
        nova.empty(wanted)
    assert ("confirm", ONE) not in nova.calls


def killed_after(nova, sleeps):
    left = [sleeps]

    def sleep(seconds):
        if not left[0]:
            raise Killed
        left[0] -= 1
        nova.sleep(seconds)

    return sleep


@pytest.mark.parametrize("sleeps", range(12))
def test_killed_at_any_look_and_run_again(monkeypatch, sleeps):
    nova = three(monkeypatch, "ACTIVE", "SHUTOFF", "ACTIVE")
    wanted = nova.params()
    try:
        nova.empty(wanted, sleep=killed_after(nova, sleeps))
    except Killed:
        nova.sleep(1)
        nova.empty(wanted)
    assert set(nova.hosts.values()) <= NEAR
    assert nova.statuses == {ONE: "ACTIVE", TWO: "SHUTOFF", THREE: "ACTIVE"}
    assert len(nova.moves) == 3


def cut(nova, wanted, seconds):
    """Begin the moves and cut them after so many seconds, as a kill does; what Nova was asked for goes on."""

    def sleep(length):
        if nova.now >= seconds:
            raise Killed
        nova.sleep(length)

    with pytest.raises(Killed):
        nova.empty(wanted, sleep=sleep)


def test_taken_back_in_the_middle_of_a_cold_migration_it_is_reverted(monkeypatch):
    nova = three(monkeypatch, "ACTIVE", "SHUTOFF", "ACTIVE")
    wanted = nova.params()
    cut(nova, wanted, 14)
    assert nova.servers[TWO]["OS-EXT-STS:task_state"] == "migrating"
    nova.settle(wanted)
    assert nova.hosts[TWO] == "compute1"
    assert {nova.hosts[ONE], nova.hosts[THREE]} <= NEAR
    assert nova.statuses[TWO] == "SHUTOFF"
    assert nova.calls[-1] == ("revert", TWO)


def test_taken_back_an_owners_own_resize_is_left_to_him(nova):
    nova.servers[ONE]["status"], nova.kinds[ONE] = "VERIFY_RESIZE", "resize"
    nova.settle()
    assert nova.calls == []


def test_taken_back_a_move_that_does_not_end_is_an_error(nova):
    nova.servers[TWO]["OS-EXT-STS:task_state"] = "migrating"
    with pytest.raises(StepError, match=r"guest2", check=problem_is("timed-out")):
        nova.settle()


def test_a_guest_that_came_late_and_waits_for_its_confirmation_is_not_forgotten(monkeypatch):
    nova = Cloud(monkeypatch, **{ONE: "SHUTOFF"})
    del nova.servers[TWO]
    wanted = nova.params(TWO)

    def sleep(seconds):
        nova.sleep(seconds)
        if nova.statuses[ONE] == "VERIFY_RESIZE":
            raise Killed

    with pytest.raises(Killed):
        nova.empty(wanted, sleep=sleep)
    kept = dict(nova.servers[ONE])
    nova.empty(wanted)
    assert nova.statuses[ONE] == "SHUTOFF"
    assert nova.hosts[ONE] in NEAR
    nova.servers[ONE] = kept
    nova.settle(wanted)
    assert (nova.statuses[ONE], nova.hosts[ONE]) == ("SHUTOFF", "compute1")


# --- guests that are off ----------------------------------------------------------------------------------------


def test_a_guest_that_is_off_since_a_reboot_is_not_sent_live_and_moves_cold_when_nova_knows(nova):
    """The host lost its power in the middle of the moves, after it was measured."""
    nova.off = {ONE, TWO}
    nova.jobs = [(40, lambda: [row.update(status="SHUTOFF") for row in nova.servers.values()])]
    nova.empty()
    assert {call[0] for call in nova.calls} == {"cold", "confirm"}
    assert set(nova.hosts.values()) <= NEAR


@pytest.mark.parametrize(("libvirt", "state"), [("answers", "shutoff"), ("is silent", "not read")])
def test_a_guest_that_does_not_run_by_libvirts_word_ends_the_step_and_nobody_is_sent(nova, libvirt, state):
    nova.off, nova.libvirt = {ONE, TWO}, libvirt
    with pytest.raises(StepError, match=f"{state}", check=problem_is("moved")):
        nova.empty()
    assert nova.calls == []


def test_a_host_that_reboots_between_two_guests_is_noticed(monkeypatch):
    nova = Cloud(monkeypatch, **{guest(host, number): "ACTIVE" for host in range(1, 6) for number in (1, 2)})
    nova.diagnostics = "403 Forbidden"
    nova.jobs = [(20, lambda: nova.off.update(uuid for uuid, host in nova.hosts.items() if host == "compute1"))]
    with pytest.raises(StepError, match="SG710"):
        nova.empty()
    late = [call for call in nova.calls if call[0] == "live"]
    # libvirt is asked every half minute: what is sent in between was running then.
    assert len(late) < 8, late


def test_a_guest_whose_libvirt_was_read_needs_no_word_of_nova_compute(nova):
    """A policy may forbid diagnostics."""
    nova.diagnostics = "403 Forbidden"
    nova.empty()
    assert set(nova.hosts.values()) <= NEAR


# --- the way back ---------------------------------------------------------------------------------------------


@pytest.fixture
def away(nova):
    """The host has its new name, and its guests are on another one."""
    nova.put("compute3")
    nova.enable()
    return nova


def test_guests_come_back_to_the_host_and_to_no_other(away):
    away.servers[TWO]["status"] = "SHUTOFF"
    done = away.back()
    assert set(away.hosts.values()) == {"compute1"}
    assert sorted(away.moves) == sorted([("live", ONE), ("cold", TWO)])
    assert away.statuses == {ONE: "ACTIVE", TWO: "SHUTOFF"}
    assert done.memory["moved"] == away.hosts


def test_what_cannot_come_back_is_left_and_no_success(away):
    away.servers[TWO]["status"] = "RESCUE"
    said = r"1 server moved, 1 not: guest2 on compute3: SG710.*To finish the operation.*rename_drain_return=false"
    with pytest.raises(StepError, match=said) as error:
        away.back()
    assert away.hosts == {ONE: "compute1", TWO: "compute3"}
    assert "SG710" in {item.code for item in error.value.checked.findings}


def test_guests_that_are_at_home_are_not_sent(away):
    away.put("compute1")
    away.back()
    assert away.calls == []


def test_a_guest_whose_way_home_was_cut_is_confirmed(away):
    away.put("compute1")
    away.servers[TWO]["status"], away.kinds[TWO] = "VERIFY_RESIZE", "migration"
    away.back()
    assert away.calls == [("confirm", TWO)]
    assert away.statuses[TWO] == "SHUTOFF"


def test_what_its_owner_deleted_or_shelved_is_taken_as_it_is(away):
    wanted = away.params()
    del away.servers[ONE]
    away.servers[TWO].update({"status": "SHELVED_OFFLOADED", "OS-EXT-SRV-ATTR:host": None})
    assert "2 deleted during the run" in away.back(wanted).remark


def test_a_host_that_has_no_memory_any_more_takes_nobody_back(away):
    away.scene = away.scene.memory("compute1", 600)
    with pytest.raises(StepError, match=r"SG501.*rename_drain_return=false"):
        away.back()
    assert away.calls == []


def test_a_host_of_which_nova_compute_has_not_told_placement_takes_nobody_yet(away, monkeypatch):
    traits = [rename_by_drain.DISABLED]
    monkeypatch.setattr(
        rename_by_drain.resource_providers,
        "get_provider_traits",
        lambda *_given: types.SimpleNamespace(traits=list(traits)),
    )
    away.jobs.append((30, traits.clear))
    away.back()
    assert set(away.hosts.values()) == {"compute1"}


def test_a_scheduler_that_learns_late_is_asked_again(away):
    del away.servers[TWO]
    away.refuse = {"compute1"}
    away.jobs.append((30, away.refuse.clear))
    away.back()
    assert away.hosts == {ONE: "compute1"}
    assert len(away.calls) > 1


def test_a_scheduler_that_never_takes_the_host_is_asked_four_times(away):
    del away.servers[TWO]
    away.refuse = {"compute1"}
    with pytest.raises(StepError, match="No valid host was found"):
        away.back()
    assert away.moves == [("live", ONE)] * 4


def test_they_are_left_where_they_are_when_that_is_said(away):
    assert "does not move the guests back" in away.back(drain_return=False).remark
    assert away.calls == []


def test_no_host_that_is_not_up_and_enabled(away):
    away.service = {"status": "disabled", "disabled_reason": None}
    with pytest.raises(StepError, match="nova-compute on compute1 has sent a heartbeat"):
        away.back()


def test_a_guest_that_is_off_does_not_come_home_live(away):
    """Its other host lost its power after it was measured, and Nova takes such a migration for complete."""
    away.off = {ONE}
    away.jobs = [(60, lambda: away.servers[ONE].update(status="SHUTOFF"))]
    away.back()
    assert {("cold", ONE), ("live", TWO)} == set(away.moves)
    assert set(away.hosts.values()) == {"compute1"}


def test_a_guest_of_which_nobody_says_that_it_runs_stays_on_its_other_host(away):
    away.off = {ONE, TWO}
    with pytest.raises(StepError, match=r"SG710 server-not-movable: .* is: not running.*rename_drain_return=false"):
        away.back()
    assert away.moves == []


def test_a_guest_of_a_host_that_was_not_read_stays_there(away):
    away.scene = away.scene._with(cloud=away.scene.cloud.host("compute3", domains=None))
    with pytest.raises(StepError, match=r"SG710.*rename_drain_return=false"):
        away.back()
    assert away.moves == []


def test_a_paused_guest_comes_home(away):
    """nova-compute gives diagnostics of running guests only."""
    away.servers[ONE]["status"], away.off = "PAUSED", {ONE}
    away.back()
    assert set(away.hosts.values()) == {"compute1"}


@pytest.mark.parametrize("answer", ["403 Forbidden", "500 Internal Server Error"])
def test_a_guest_of_which_nobody_says_at_this_moment_that_it_runs_stays_on_its_other_host(away, answer):
    away.diagnostics = answer
    with pytest.raises(StepError, match=r"SG710 server-not-movable: .* is: not read .*rename_drain_return=false"):
        away.back()
    assert away.moves == []


@pytest.mark.parametrize("sleeps", range(1, 30, 3))
def test_the_way_home_killed_at_any_look_and_run_again(away, sleeps):
    away.servers[TWO]["status"] = "SHUTOFF"
    wanted = away.params()
    try:
        away.rounds(rename_by_drain.ReturnGuests, wanted, sleep=killed_after(away, sleeps))
    except Killed:
        away.sleep(1)
        away.back(wanted)
    assert set(away.hosts.values()) == {"compute1"}
    assert away.statuses == {ONE: "ACTIVE", TWO: "SHUTOFF"}
    assert len(away.moves) == 2


def test_on_rollback_guests_come_home_only_if_that_is_asked_for(away):
    assert away.roll_back() is None
    assert away.calls == []
    away.roll_back(drain_return=True)
    assert set(away.hosts.values()) == {"compute1"}
    away.put("compute3")
    away.refuse = {"compute1"}
    with pytest.raises(StepError, match="All other changes of the rename are rolled back"):
        away.roll_back(drain_return=True)


def service(**changes):
    known = {"id": "s", "host": "new", "binary": "nova-compute", "state": "up", "status": "enabled"}
    return facts.ApiService(**{**known, "forced_down": False, "disabled_reason": None, **changes})


# --- the point of no return -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "exists", "refused"),
    [("pending", False, False), ("applying", True, False), ("applying", False, True), ("done", False, True)],
)
def test_no_way_back_once_the_service_is_gone(monkeypatch, state, exists, refused):
    found = service(id="s1") if exists else None
    nova = FakeNova(monkeypatch)
    monkeypatch.setattr(rename_by_drain.compute_services, "find_service", lambda _cloud, _host: found)
    step = {"name": "delete_service", "title": "", "where": "controller", "action": "delete_service"}
    step["params"] = {"service_id": "s1", "host": "old"}
    plan = {"kind": "rename", "operation_id": "op", "subject": "old -> new", "steps": [step]}
    journal = {"steps": {"delete_service": state}, "plan": plan}
    if refused:
        with pytest.raises(StepError, check=problem_is("service-not-deleted")):
            rename_by_drain.refuse_rollback(journal, nova.systems())
    else:
        rename_by_drain.refuse_rollback(journal, nova.systems())


# --- the new node ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "new_node", "refused"),
    [
        ("new", None, None),
        ("new", "new", None),
        ("old", None, "old-name-started"),
        # The operator's command wrote another uuid, such as one made of the name: that of a host of before.
        ("strange", "new", "another-compute-node"),
    ],
)
def test_a_host_that_registers_with_another_uuid_is_refused(monkeypatch, node, new_node, refused):
    register = rename_by_drain.Register(None)
    monkeypatch.setattr(register, "_service", lambda _params, _memory: "s1")
    monkeypatch.setattr(register, "_mapped", lambda _params: node)
    asked = {"old_node": "old", "new_node": new_node}
    if refused:
        with pytest.raises(StepError, check=problem_is(refused)):
            register.apply(asked, {})
    else:
        assert register.apply(asked, {}).memory == {"service_id": "s1", "provider": node}
    assert register.apply({"old_node": "other"}, {}).memory["provider"] == node, "a journal of an earlier version"


def aggregate(identity, name, *members):
    return facts.ApiAggregate(identity, f"uuid-{identity}", name, None, list(members))


def test_an_aggregate_that_somebody_deleted_does_not_close_the_way_forward(monkeypatch):
    """Its id never comes back, and after the deletion of the service there is no way back either."""
    nova, said = FakeNova(monkeypatch), []
    api, placement = rename_by_drain.host_aggregates, rename_by_drain.resource_providers
    monkeypatch.setattr(api, "list_aggregates", lambda _cloud: [aggregate(8, "az1", "old", "new")])

    def read(_cloud, identity):
        if identity == 7:
            raise ApiError("GET /os-aggregates/7: 404", status=404)
        return {"hosts": ["new"]}

    monkeypatch.setattr(api, "get_aggregate", read)
    left = []
    monkeypatch.setattr(api, "leave_aggregate", lambda _cloud, identity, host: left.append((identity, host)))
    monkeypatch.setattr(placement, "provider_consumers", lambda *_: None)
    monkeypatch.setattr(placement, "provider_aggregates", lambda *_: ["uuid-8"])
    monkeypatch.setattr(rename_by_drain.compute_services, "find_service", lambda *_: None)
    wanted = {"host": "old", "service_id": "s", "provider": "p", "aggregates": [7, 8]}
    rename_by_drain.DeleteService(nova.systems()).apply(wanted, {})
    assert left == [(8, "old")]
    systems = nova.systems()
    systems.remark = said.append
    both = [{"id": 7, "uuid": "uuid-7", "name": "ssd"}, {"id": 8, "uuid": "uuid-8", "name": "az1"}]
    joined = {"host": "new", "aggregates": both, "timeout": 180}
    done = rename_by_drain.JoinAggregates(systems).apply(joined, {"register": {"provider": "p"}})
    assert done.remark == "joined 1 aggregate: az1"
    assert said == ["warning: aggregate ssd was deleted during the run"]


def test_an_aggregate_that_nova_does_not_show_just_now_is_no_deleted_one(monkeypatch):
    """An answer that is no 404 says nothing: the host would be enabled outside its zone, and the end would be green."""
    nova = FakeNova(monkeypatch)

    def fails(_cloud, _identity):
        raise ApiError("GET /os-aggregates/7: 503", status=503)

    monkeypatch.setattr(rename_by_drain.host_aggregates, "get_aggregate", fails)
    wanted = {"host": "new", "aggregates": [{"id": 7, "uuid": "u", "name": "ssd"}], "timeout": 180}
    with pytest.raises(StepError, match="503"):
        rename_by_drain.JoinAggregates(nova.systems()).apply(wanted, {"register": {"provider": "p"}})


def test_what_the_last_look_warns_of_is_in_the_report_of_the_run(monkeypatch):
    """Only printed, a workflow that reads the report would take the host for complete."""
    nova = FakeNova(monkeypatch)
    warned = finding("SG303", Subject("aggregate", "7", "ssd", "new"), {}, "Check it.", WARNING)
    monkeypatch.setattr(rename_by_drain.ovn_drain, "read_again", lambda *_: None)
    monkeypatch.setattr(rename_by_drain, "_is_gone", lambda _systems, identity: identity == 7)
    monkeypatch.setattr(rename_by_drain.DrainAudit, "_collect", lambda *_: None)
    monkeypatch.setattr(rename_by_drain.checks, "audit", lambda *_: Checked((warned,)))
    names = {"host": "old", "hypervisor_hostname": "old"}
    wanted = {
        "inventory_name": "c1",
        "old": names,
        "new": {**names, "host": "new"},
        "old_service": "s",
        "old_node": "p",
    }
    wanted = {**wanted, "zone": "az1", "aggregates": [7, 8], "guests": []}
    done = rename_by_drain.DrainAudit(nova.systems()).apply(wanted, {"register": {"service_id": "t", "provider": "q"}})
    assert [item["code"] for item in done.memory["findings"]] == ["SG303"]
    assert done.remark.endswith("new; zone is unchanged")


# --- the point of no return -------------------------------------------------------------------------------------


def test_the_service_stays_while_somebody_holds_the_hosts_resources(monkeypatch):
    """Nova would delete the service, keep its provider and say nothing: it is seen before."""
    held, deleted = {"root": ["stranger"], "child": []}, []
    tree = [facts.ResourceProvider(uuid, uuid, 1, "root", None) for uuid in held]
    empty = facts.DatabaseFacts("now", None, [], None, None)
    service = facts.ApiService("service", "old", "nova-compute", "up", "disabled", False, None)
    systems, put = FakeNova(monkeypatch).systems(), monkeypatch.setattr
    put(rename_by_drain.resource_providers, "list_providers", lambda _cloud, in_tree: tree)
    put(rename_by_drain.resource_providers, "provider_consumers", lambda _cloud, uuid: held[uuid])
    put(rename_by_drain.resource_providers, "delete_provider", lambda _cloud, _uuid: None)
    put(rename_by_drain.nova, "read_databases", lambda _options, _names: empty)
    put(rename_by_drain.server_records, "servers_on", lambda _cloud, _host: [])
    put(rename_by_drain.host_aggregates, "list_aggregates", lambda _cloud: [])
    put(rename_by_drain.neutron_agents, "other_nodes_of_service", lambda _url, _service, _host: [])
    put(rename_by_drain.compute_services, "find_service", lambda _cloud, _host: None if deleted else service)
    put(rename_by_drain.compute_services, "delete_service", lambda _cloud, uuid: deleted.append(uuid))
    put(type(systems), "url", lambda _self, name: name)
    systems.host = type("Host", (), {"facts": lambda _self, _arguments: type("Facts", (), {"domains": []})})()
    wanted = {"host": "old", "node": "old", "service": 1, "cell": "cell1", "provider": "root", "timeout": 5}
    wanted.update(service_id="service", aggregates=[])
    with pytest.raises(StepError, match="stranger"):
        rename_by_drain.HostEmpty(systems).apply(wanted, {})
    with pytest.raises(StepError, check=problem_is("service-not-empty")):
        rename_by_drain.DeleteService(systems).apply(wanted, {})
    assert deleted == []
    held["root"], held["child"] = [], ["stranger"]
    with pytest.raises(StepError, check=problem_is("service-not-empty")):
        rename_by_drain.DeleteService(systems).apply(wanted, {})
    held["child"] = []
    rename_by_drain.HostEmpty(systems).apply(wanted, {})
    rename_by_drain.DeleteService(systems).apply(wanted, {})
    assert deleted == ["service"]
