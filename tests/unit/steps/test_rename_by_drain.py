# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moving guests, looked at from outside: a Nova of a few lines, and a mover that is killed and begun again."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import WARNING, Checked, Subject, finding
from ansible_collections.stackguard.nova.plugins.module_utils.steps import rename_by_drain
from ansible_collections.stackguard.nova.plugins.module_utils.steps.runner import StepError
from ansible_collections.stackguard.nova.tests.unit.moving_nova import HEARD, FakeNova


def params(*guests, candidates=("new", "other"), parallel=1, others=("spare",)):
    listed = [{"uuid": name, "name": name, "candidates": list(candidates)} for name in guests]
    return {"host": "old", "guests": listed, "others": list(others), "parallel": parallel, "timeout": 600}


def move(nova, wanted):
    return rename_by_drain.MoveGuests(nova.systems()).apply(wanted, {})


def hosts(nova):
    return {name: row["OS-EXT-SRV-ATTR:host"] for name, row in nova.servers.items()}


def test_running_paused_and_stopped_guests_move(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="PAUSED", c="SHUTOFF")
    done = move(nova, params("a", "b", "c"))
    assert hosts(nova) == {"a": "new", "b": "new", "c": "new"}
    assert nova.calls == [("live", "a", "new"), ("live", "b", "new"), ("cold", "c", "new"), ("confirm", "c")]
    assert nova.servers["c"]["status"] == "SHUTOFF"
    assert nova.most == 1
    assert done.memory == {"moved": {"a": "new", "b": "new", "c": "new"}}


def test_no_more_at_a_time_than_asked_for(monkeypatch):
    nova = FakeNova(monkeypatch, **dict.fromkeys("abcdefg", "ACTIVE"))
    move(nova, params(*"abcdefg", parallel=3))
    assert nova.most == 3


def test_the_next_host_is_tried_and_then_no_more(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="ACTIVE")
    nova.refuse = {"new"}
    move(nova, params("a"))
    assert hosts(nova)["a"] == "other"
    nova.refuse = {"new", "other"}
    nova.servers["b"]["OS-EXT-SRV-ATTR:host"] = "old"
    with pytest.raises(
        StepError,
        match=r"guest b .* has tried to move the guest to every host, without success; new: No valid host was found",
    ):
        move(nova, params("a", "b"))


def test_one_that_fails_ends_it_and_the_others_run_on(monkeypatch):
    nova = FakeNova(monkeypatch, a="ERROR", b="ACTIVE", c="ACTIVE")
    with pytest.raises(StepError, match=r"guest a \(a\):.*in state ERROR.*did not try to move 1 other guest"):
        move(nova, params("a", "b", "c", parallel=2))
    assert hosts(nova) == {"a": "old", "b": "new", "c": "old"}


def test_a_guest_that_came_after_the_plan_moves_too(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", late="ACTIVE")
    move(nova, params("a"))
    assert hosts(nova) == {"a": "new", "late": "spare"}


@pytest.mark.parametrize("silent", ["old", "new"])
def test_a_nova_compute_that_hangs_is_told_while_it_is_waited_for_and_at_the_end(monkeypatch, silent):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    nova.silent = {silent}
    systems, said = nova.systems(), []
    systems.remark = said.append
    with pytest.raises(StepError, match=f"is still ACTIVE.*nova-compute of {silent} has not reported since {HEARD}"):
        rename_by_drain.MoveGuests(systems).apply(params("a"), {})
    assert sum(f"nova-compute of {silent} has not reported" in line for line in said) > 10


def test_a_move_that_goes_well_says_nothing_of_nova_compute(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    systems, said = nova.systems(), []
    systems.remark = said.append
    rename_by_drain.MoveGuests(systems).apply(params("a"), {})
    assert said
    assert not any("has not reported" in line for line in said)


def test_one_deleted_by_its_owner(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    done = move(nova, params("a", "gone"))
    assert "1 deleted during the run" in done.remark


def test_a_resize_of_its_owner_is_never_confirmed(monkeypatch):
    nova = FakeNova(monkeypatch, a="VERIFY_RESIZE")
    nova.kinds["a"] = "resize"
    nova.servers["a"]["OS-EXT-SRV-ATTR:host"] = "new"
    with pytest.raises(StepError, match="waits for its owner's confirmation"):
        move(nova, params("a"))
    assert nova.calls == []


class Killed(BaseException):
    pass


@pytest.mark.parametrize("sleeps", range(12))
def test_killed_at_any_look_and_run_again(monkeypatch, sleeps):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="SHUTOFF", c="ACTIVE")
    systems = nova.systems()
    left = [sleeps]

    def sleep(seconds):
        if not left[0]:
            raise Killed
        left[0] -= 1
        nova.sleep(seconds)

    systems.sleep = sleep
    wanted = params("a", "b", "c")
    try:
        rename_by_drain.MoveGuests(systems).apply(wanted, {})
    except Killed:
        nova.sleep(1)
        move(nova, wanted)
    assert hosts(nova) == {"a": "new", "b": "new", "c": "new"}
    assert {name: row["status"] for name, row in nova.servers.items()} == {"a": "ACTIVE", "b": "SHUTOFF", "c": "ACTIVE"}
    asked = [call for call in nova.calls if call[0] != "confirm"]
    assert len(asked) == 3


# --- the way back ---------------------------------------------------------------------------------------------


def service(**changes):
    known = {"id": "s", "host": "new", "binary": "nova-compute", "state": "up", "status": "enabled"}
    return facts.ApiService(**{**known, "forced_down": False, "disabled_reason": None, **changes})


def come_home(nova, monkeypatch, options=None, **kwargs):
    monkeypatch.setattr(
        rename_by_drain.compute_services,
        "find_service",
        lambda _cloud, _host: service(updated_at=str(nova.now // 10), **kwargs),
    )
    systems = nova.systems()
    systems.options = options or {}
    wanted = {"host": "old", "guests": ["a", "b"], "parallel": 1, "timeout": 600, "up_timeout": 60}
    return rename_by_drain.ReturnGuests(systems).apply(wanted, {})


def test_guests_come_back_and_what_cannot_move_is_left_and_no_success(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="RESCUE")
    for server in nova.servers.values():
        server["OS-EXT-SRV-ATTR:host"] = "new"
    with pytest.raises(
        StepError,
        match=r"1 guest on old\. .*back to the host, because of their current states: b\."
        r".*To finish the operation.*rename_drain_return=false",
    ):
        come_home(nova, monkeypatch)
    assert hosts(nova) == {"a": "old", "b": "new"}


def test_a_scheduler_that_learns_late_is_asked_again(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    nova.servers["a"]["OS-EXT-SRV-ATTR:host"] = "new"
    nova.refuse = {"old"}
    nova.jobs.append((30, nova.refuse.clear))
    come_home(nova, monkeypatch)
    assert hosts(nova) == {"a": "old"}
    assert len(nova.calls) > 1


def test_they_are_left_where_they_are_when_that_is_said(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    nova.servers["a"]["OS-EXT-SRV-ATTR:host"] = "new"
    assert "does not move the guests back" in come_home(nova, monkeypatch, {"drain_return": False}).remark
    assert nova.calls == []


def test_no_host_that_is_not_up_and_enabled(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    with pytest.raises(StepError, match="nova-compute on old has sent a heartbeat"):
        come_home(nova, monkeypatch, status="disabled")


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
        with pytest.raises(StepError, match="A rollback is no longer possible"):
            rename_by_drain.refuse_rollback(journal, nova.systems())
    else:
        rename_by_drain.refuse_rollback(journal, nova.systems())


def cut(nova, wanted, seconds):
    """Begin the moves and cut them after so many seconds, as a kill does; what Nova was asked for goes on."""

    class Killed(Exception):
        pass

    systems = nova.systems()

    def sleep(length):
        if nova.now >= seconds:
            raise Killed
        nova.sleep(length)

    systems.sleep = sleep
    with pytest.raises(Killed):
        rename_by_drain.MoveGuests(systems).apply(wanted, {})


def test_taken_back_in_the_middle_of_a_cold_migration_it_is_reverted(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="SHUTOFF", c="ACTIVE")
    wanted = params("a", "b", "c")
    cut(nova, wanted, 8)
    assert nova.servers["b"]["OS-EXT-STS:task_state"] == "migrating"
    rename_by_drain.MoveGuests(nova.systems()).undo(wanted)
    assert hosts(nova) == {"a": "new", "b": "old", "c": "old"}
    assert nova.servers["b"]["status"] == "SHUTOFF"
    assert nova.calls[-1] == ("revert", "b")


def test_taken_back_an_owners_own_resize_is_left_to_him(monkeypatch):
    nova = FakeNova(monkeypatch, a="VERIFY_RESIZE")
    nova.kinds["a"] = "resize"
    rename_by_drain.MoveGuests(nova.systems()).undo(params("a"))
    assert nova.calls == []


def test_taken_back_a_move_that_does_not_end_is_an_error(monkeypatch):
    nova = FakeNova(monkeypatch, a="ACTIVE", b="ACTIVE")
    nova.servers["b"]["OS-EXT-STS:task_state"] = "migrating"
    with pytest.raises(StepError, match="the moves of these guests have ended: b"):
        rename_by_drain.MoveGuests(nova.systems()).undo(params("a", "b"))


# --- the new node ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "new_node", "refused"),
    [
        ("new", None, None),
        ("new", "new", None),
        ("old", None, "old identity"),
        # The operator's command wrote another uuid, such as one made of the name: that of a host of before.
        ("strange", "new", "has the uuid strange, expected new"),
    ],
)
def test_a_host_that_registers_with_another_uuid_is_refused(monkeypatch, node, new_node, refused):
    register = rename_by_drain.Register(None)
    monkeypatch.setattr(register, "_service", lambda _params, _memory: "s1")
    monkeypatch.setattr(register, "_mapped", lambda _params: node)
    asked = {"old_node": "old", "new_node": new_node}
    if refused:
        with pytest.raises(StepError, match=refused):
            register.apply(asked, {})
    else:
        assert register.apply(asked, {}).memory == {"service_id": "s1", "provider": node}
    assert register.apply({"old_node": "other"}, {}).memory["provider"] == node, "a journal of an earlier version"


# --- what an outside review found --------------------------------------------------------------------------------


def test_a_guest_that_is_off_since_a_reboot_is_not_sent_live_and_moves_cold_when_nova_knows(monkeypatch):
    """The host lost its power in the middle of the moves, and the operator ran the same command again."""
    nova = FakeNova(monkeypatch, a="ACTIVE", b="ACTIVE")
    nova.off = {"a", "b"}
    nova.jobs = [(40, lambda: [row.update(status="SHUTOFF") for row in nova.servers.values()])]
    move(nova, params("a", "b"))
    assert {call[0] for call in nova.calls} == {"cold", "confirm"}
    assert hosts(nova) == {"a": "new", "b": "new"}


@pytest.mark.parametrize(("libvirt", "state"), [("answers", "shutoff"), ("is silent", "not read")])
def test_a_guest_that_does_not_run_by_libvirts_word_ends_the_step_and_nobody_is_sent(monkeypatch, libvirt, state):
    nova = FakeNova(monkeypatch, a="ACTIVE")
    nova.off, nova.libvirt = {"a"}, libvirt
    with pytest.raises(StepError, match=rf"guest a .* SG710 server-not-movable: .* in libvirt is: {state}"):
        move(nova, params("a"))
    assert nova.calls == []


def test_a_host_that_reboots_between_two_guests_is_noticed(monkeypatch):
    nova = FakeNova(monkeypatch, **dict.fromkeys("abcdefghijklmnop", "ACTIVE"))
    nova.jobs = [(20, lambda: nova.off.update(name for name, host in hosts(nova).items() if host == "old"))]
    with pytest.raises(StepError, match="SG710"):
        move(nova, params(*"abcdefghijklmnop"))
    late = [call for call in nova.calls if call[0] == "live"]
    # libvirt is asked every half minute: what is sent in between was running then.
    assert len(late) < 10, late


def test_a_guest_whose_libvirt_was_read_needs_no_word_of_nova_compute(monkeypatch):
    """A policy may forbid diagnostics."""
    nova = FakeNova(monkeypatch, a="ACTIVE")
    nova.diagnostics = "403 Forbidden"
    move(nova, params("a"))
    assert hosts(nova) == {"a": "new"}


def away(monkeypatch, **statuses):
    """Guests that a drain has moved to other hosts, whose libvirt the run does not read."""
    nova = FakeNova(monkeypatch, **statuses)
    nova.libvirt = "is silent"
    for row in nova.servers.values():
        row["OS-EXT-SRV-ATTR:host"] = "new"
    return nova


def test_a_guest_that_is_off_does_not_come_home_live(monkeypatch):
    """Its other host lost its power. libvirt was not asked, and Nova takes such a migration for complete."""
    nova = away(monkeypatch, a="ACTIVE", b="ACTIVE")
    nova.off = {"a"}
    nova.jobs = [(60, lambda: nova.servers["a"].update(status="SHUTOFF"))]
    come_home(nova, monkeypatch)
    assert ("cold", "a", "old") in nova.calls
    assert ("live", "b", "old") in nova.calls
    assert hosts(nova) == {"a": "old", "b": "old"}


@pytest.mark.parametrize(
    ("diagnostics", "state"), [(None, "not running"), ("403 Forbidden", "not read .403 Forbidden")]
)
def test_a_guest_of_which_nobody_says_that_it_runs_stays_on_its_other_host(monkeypatch, diagnostics, state):
    nova = away(monkeypatch, a="ACTIVE")
    nova.off, nova.diagnostics = {"a"}, diagnostics
    with pytest.raises(StepError, match=rf"SG710 server-not-movable: .* is: {state}.*rename_drain_return=false"):
        come_home(nova, monkeypatch)
    assert [call for call in nova.calls if call[0] in ("live", "cold")] == []


def test_a_paused_guest_comes_home(monkeypatch):
    """nova-compute gives diagnostics of running guests only."""
    nova = away(monkeypatch, a="PAUSED")
    nova.off = {"a"}
    come_home(nova, monkeypatch)
    assert hosts(nova) == {"a": "old"}


def test_a_guest_that_came_late_and_waits_for_its_confirmation_is_not_forgotten(monkeypatch):
    class Killed(BaseException):
        pass

    nova = FakeNova(monkeypatch, late="SHUTOFF")
    systems = nova.systems()

    def sleep(seconds):
        nova.sleep(seconds)
        if nova.servers["late"]["status"] == "VERIFY_RESIZE":
            raise Killed

    systems.sleep = sleep
    with pytest.raises(Killed):
        rename_by_drain.MoveGuests(systems).apply(params(), {})
    kept = dict(nova.servers["late"])
    move(nova, params())
    assert (nova.servers["late"]["status"], hosts(nova)["late"]) == ("SHUTOFF", "spare")
    nova.servers["late"] = kept
    rename_by_drain.MoveGuests(nova.systems()).undo(params())
    assert (nova.servers["late"]["status"], hosts(nova)["late"]) == ("SHUTOFF", "old")


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


@pytest.mark.parametrize("own", ["cell1", None])
def test_hosts_of_other_cells_are_no_destinations(monkeypatch, own):
    nova = FakeNova(monkeypatch)
    found = [facts.TargetHost(name, name, name, "az1", "up", "enabled", False, {}) for name in ("Near", "far")]
    cells = {"old": own, "near": "cell1", "far": "cell2"}
    monkeypatch.setattr(rename_by_drain.target_hosts, "list_targets", lambda _cloud: found)
    monkeypatch.setattr(rename_by_drain.nova, "cells_of_hosts", lambda _url, _hosts: cells)
    systems = nova.systems()
    monkeypatch.setattr(type(systems), "url", lambda _self, _database: "url")
    usable = [target.host for target in rename_by_drain.read_targets(systems, "old") if target.usable]
    assert usable == (["Near"] if own else ["Near", "far"])


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
    with pytest.raises(StepError, match=r"not deleted.*stranger"):
        rename_by_drain.DeleteService(systems).apply(wanted, {})
    assert deleted == []
    held["root"], held["child"] = [], ["stranger"]
    with pytest.raises(StepError, match=r"not deleted.*stranger"):
        rename_by_drain.DeleteService(systems).apply(wanted, {})
    held["child"] = []
    rename_by_drain.HostEmpty(systems).apply(wanted, {})
    rename_by_drain.DeleteService(systems).apply(wanted, {})
    assert deleted == ["service"]
