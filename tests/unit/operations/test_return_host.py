# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of a return: judged before each step, killed and resumed, met by an evacuation, aborted, approved."""

from __future__ import annotations

import dataclasses
import json
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import operation as return_host
from ansible_collections.stackguard.nova.tests.unit.checks.before import test_return_host as scenes
from ansible_collections.stackguard.nova.tests.unit.life import Life
from ansible_collections.stackguard.nova.tests.unit.return_life import HELD, ReturnLife, evacuation

ONE, HOST = scenes.ONE, scenes.HOST


class Returning(Life):
    """Its domain has ended; the run was killed before the blocklist was lifted."""

    back = "abort"

    def begin_world(self, tmp_path, monkeypatch):
        self.life = ReturnLife(tmp_path, monkeypatch)

    def cut(self):
        assert self.life.run(dies_at="lift") is None

    def act(self, action):
        return self.life.run(action=action, take_over=False)

    def let_the_owner_live(self):
        self.owner({**run_owner.this_run(), "controller": "c"})

    def world(self):
        life = self.life
        return [life.domains, life.blocklist, repr(life.service), sorted(set(life.done))]


LIVES = {"return": Returning}


@pytest.fixture
def life(tmp_path, monkeypatch):
    return ReturnLife(tmp_path, monkeypatch)


def states(journal):
    return journal["steps"]


# --- from the first look to the end ---------------------------------------------------------------------------


def test_what_an_evacuation_left_is_cleared_in_order_and_judged_after_each_step(life):
    result = life.run()
    assert (result["failed"], result["state"], result["report"]["verdict"]) == (False, "clear", "pass"), result["msg"]
    assert life.done == [f"end {ONE}", f"lift {HOST}"]
    look = ["read_host", "read_ceph", "read_cloud"]
    assert life.kinds() == [*look, *look, "end_domains", *look, "lift", *look]
    (journal,) = life.closed()
    done = {"requests": "done", "domains": "done", "directories": "done", "blocklist": "done"}
    assert (journal["state"], states(journal)) == ("finished", done)
    assert (result["operation_id"], result["changed"]) == (journal["operation_id"], True)
    assert life.open is None
    assert "start nova-compute on compute1" in result["msg"], "the service is held until it has started"
    assert life.service.disabled_reason == HELD


def test_the_service_is_released_by_an_operation_of_its_own_once_nova_compute_has_started(life):
    life.run()
    life.start_compute()
    result = life.run()
    assert (result["state"], life.done[2:]) == ("clear", ["release"]), result["msg"]
    assert (life.service.status, life.service.forced_down, life.service.disabled_reason) == ("enabled", False, None)
    assert {"release": "done"} in [states(journal) for journal in life.closed()]
    nothing = life.run()
    assert (nothing["state"], nothing["changed"], nothing["operation_id"]) == ("clear", False, None)
    assert "nothing to clear" in nothing["msg"]
    assert len(life.closed()) == 2


def test_a_service_that_is_to_stay_disabled_says_why(life):
    life.domains, life.blocklist, life.record = [], [], "completed"
    life.run(status="disabled")
    assert (life.service.status, life.service.disabled_reason) == ("disabled", "returned")


def test_every_reason_why_not_at_once_and_no_journal(life):
    life.record = None
    life.evacuate()
    result = life.run()
    assert (result["failed"], result["state"], result["changed"]) == (True, "refused", False)
    for word in ("SG706", "evacuate_action=resume", "SG108"):
        assert word in result["msg"]
    assert (life.done, life.open, result["report"]["verdict"]) == ([], None, "block")


def test_check_mode_opens_no_journal_and_shows_the_plan(life):
    result = life.run(check=True)
    assert (result["state"], result["changed"], result["operation_id"]) == ("planned", True, None)
    assert (life.done, life.open, life.closed()) == ([], None, [])
    assert "End 1 domain whose servers are on other hosts" in "\n".join(life.said)
    assert json.loads((life.reports / "plan.json").read_text())["plan_sha256"] == result["plan_sha256"]


def test_dead_disks_are_no_reason_against_the_lifting_and_never_a_good_end(life):
    """A run exited 0 with verdict pass, while three ACTIVE servers had no watcher."""
    life.change = lambda _some: scenes.at_home((), [f"{each}:0/0" for each in life.blocklist])
    result = life.run()
    assert (life.blocklist, result["failed"], result["state"]) == ([], True, "disks-not-open")
    assert (result["report"]["verdict"], life.open) == ("block", None)
    assert f"openstack server reboot --hard {ONE}" in result["msg"]
    again = life.run()
    assert (again["failed"], again["state"], again["changed"]) == (True, "disks-not-open", False)
    passed = life.run(overrides=[{"code": "SG517", "object": ONE, "reason": "a disk behind NAT"}])
    assert (passed["failed"], passed["state"], passed["report"]["verdict"]) == (False, "clear", "warn")


def test_a_disk_that_no_host_looked_at_is_not_known_and_never_a_good_end(life):
    view = dataclasses.replace(scenes.ceph([f"{HOST}:0/77"], ()), instances=["00000000-0000-4000-8000-000000000000"])
    life.change = lambda _some: scenes.at_home().host("compute2", rbd=view)
    result = life.run()
    assert (result["state"], result["failed"], result["report"]["verdict"]) == ("disks-not-open", True, "block")
    assert "the run does not know whether 1 disk of running domains is open" in result["msg"]
    image = next(item["object"]["id"] for item in result["report"]["findings"] if item["code"] == "SG709")
    passed = life.run(overrides=[{"code": "SG709", "object": image, "reason": "it reads its disk"}])
    assert (passed["state"], passed["report"]["verdict"]) == ("clear", "warn")


def test_what_was_not_read_is_passed_by_no_override(life):
    life.change = lambda some: some.host("compute2", rbd=scenes.ceph(fsid="OTHER", blocklist=()))
    result = life.run(overrides=[{"code": "SG709", "object": "compute1", "reason": "I know"}])
    assert (result["state"], result["failed"], life.done) == ("refused", True, [])


def test_another_machine_behind_the_inventory_name_is_passed_by_no_override(life):
    """ansible_host pointed to another machine: the entry of the real host was removed, and its hold released."""
    life.change = lambda some: scenes.named(scenes.read_by_the_role(some), "compute9")
    words = [{"code": "SG106", "object": name, "reason": "I know"} for name in ("compute1", "compute9")]
    result = life.run(overrides=words)
    assert (result["state"], result["failed"], life.done) == ("refused", True, [])
    assert (life.codes(result), result["report"]["verdict"]) == (["SG106"], "block")
    assert "SG106 service-host-changed" in result["msg"]
    assert (life.blocklist, life.service.disabled_reason, life.open) == ([HOST], HELD, None)
    life.change = scenes.read_by_the_role
    assert life.run()["state"] == "clear"


def test_a_nova_compute_that_somebody_starts_meanwhile_keeps_the_entry(life):
    by_hand = scenes.process("nova-compute", "/usr/bin/nova-compute")
    life.change = lambda some: some if life.domains else some.host("compute1", deployment=scenes.deployed(by_hand))
    result = life.run()
    assert (result["failed"], life.done, life.blocklist) == (True, [f"end {ONE}"], [HOST])
    assert "SG510" in life.codes(result)


def test_only_a_run_that_has_ended_well_has_succeeded(life):
    """A call that asks for more was a success: a role that stopped there was green."""
    results = []
    life.answer = lambda _need: results.append(life.last) or None
    last = life.run()
    assert [result["succeeded"] for result in results] == [False] * len(results)
    assert results
    assert (last["succeeded"], last["ended"]) == (True, True)
    life.evacuate()
    assert life.run()["succeeded"] is False


# --- others are at work ---------------------------------------------------------------------------------------


def test_an_evacuation_that_begins_meanwhile_keeps_the_blocklist_and_the_hold(life):
    life.answer = lambda need: life.evacuate() if need["kind"] == "end_domains" else None
    result = life.run()
    assert (result["failed"], result["state"], life.blocklist) == (True, "open", [HOST])
    assert life.codes(result) == ["SG706"]
    assert life.done == [f"end {ONE}"]
    assert states(life.open) == {
        "requests": "done",
        "domains": "done",
        "directories": "pending",
        "blocklist": "pending",
    }


def test_right_before_the_release_the_journals_are_read_once_more(life, monkeypatch):
    """The evacuation begins after the last judgement: nova-compute would be let in under it."""
    life.domains, life.blocklist, life.record = [], [], "completed"
    real = return_host.HostReturn._next

    def begins(self, judged):
        life.evacuate()
        return real(self, judged)

    monkeypatch.setattr(return_host.HostReturn, "_next", begins)
    result = life.run()
    assert (result["failed"], result["state"], life.done) == (True, "open", [])
    assert (life.codes(result), result["report"]["verdict"]) == (["SG706"], "block")
    assert life.service.disabled_reason == HELD


def test_a_hold_that_is_another_one_meanwhile_is_left(life, monkeypatch):
    life.domains, life.blocklist, life.record = [], [], "completed"
    other = dataclasses.replace(life.service, disabled_reason="stackguard:drain:x")
    real = return_host.HostReturn._next

    def held(self, judged):
        life.service = other
        return real(self, judged)

    monkeypatch.setattr(return_host.HostReturn, "_next", held)
    result = life.run()
    assert (result["failed"], life.done, life.service) == (True, [], other)
    assert "SG707" in result["msg"]


def test_a_domain_that_comes_up_meanwhile_ends_the_run_with_the_entry_in_place(life):
    def comes_up(need):
        if need["kind"] == "end_domains":
            return {"result": {"changed": True, "results": [{}, {}]}}
        return None

    life.answer = comes_up
    result = life.run()
    assert (result["failed"], result["state"], life.blocklist) == (True, "open", [HOST])
    assert (
        "additional libvirt domains appeared on this host. According to Nova, their servers are on other hosts"
        in result["msg"]
    )
    assert result["report"]["verdict"] == "block"


def test_an_entry_that_is_listed_again_meanwhile_is_not_clear(life):
    life.domains = []
    life.answer = lambda need: (
        {"clusters": [{**entry, "result": {"fsid": entry["fsid"]}} for entry in need["clusters"]]}
        if need["kind"] == "lift"
        else None
    )
    result = life.run()
    assert (result["failed"], result["state"], life.open is None) == (True, "open", False)
    assert "leftovers that are not in the plan, or that the run has already tried to clear" in result["msg"]


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("end_domains", {"result": {}}, "the task was not run"),
        ("end_domains", {"result": {"failed": True, "msg": "process 7, not 8"}}, "process 7, not 8"),
        (
            "end_domains",
            {"result": {"unreachable": True, "msg": "refused"}},
            "compute1",
        ),
        ("lift", {"clusters": []}, "did not run"),
        ("lift", None, "ceph osd blocklist rm"),
        ("lift", {"fsid": "g"}, "were not removed"),
        ("lift", {"unreachable": True, "msg": "refused"}, ": refused"),
    ],
)
def test_a_step_whose_answer_does_not_say_that_it_was_done_is_not_done(life, kind, answer, words):
    failed = {"failed": True, "msg": "run ceph osd blocklist rm as an administrator"}

    def own(need):
        if need["kind"] != kind:
            return None
        if kind == "lift" and (answer or {}).get("clusters") != []:
            return {"clusters": [{**entry, "result": answer or failed} for entry in need["clusters"]]}
        return answer

    life.answer = own
    result = life.run()
    assert (result["failed"], result["state"], result["report"]["verdict"]) == (True, "open", "block")
    assert words in result["msg"]
    step = {"end_domains": "domains", "lift": "blocklist"}[kind]
    assert life.open["steps"][step] == "applying"


def test_a_host_that_does_not_answer_ends_the_run_with_nothing_decided(life):
    silence = {"result": {"unreachable": True, "msg": "no route"}}
    life.answer = lambda need: silence if need["kind"] == "read_host" else None
    result = life.run()
    assert (result["failed"], result["state"], life.open) == (True, "failed", None)
    assert "compute1 does not answer Ansible: no route" in result["msg"]
    (entry,) = result["report"]["unchecked"]
    assert (entry["code"], "no route" in entry["reason"]) == ("SG709", True)


def test_a_task_that_fails_ends_the_run_with_what_it_said(life):
    result = life.end("the database does not answer")
    assert (result["failed"], result["state"], result["report"]["verdict"]) == (True, "failed", "block")
    assert "the database does not answer" in result["msg"]


# --- a second try ---------------------------------------------------------------------------------------------


def test_killed_before_the_lifting_it_is_resumed_with_what_is_left(life):
    life.run(dies_at="lift")
    assert states(life.open) == {
        "requests": "done",
        "domains": "done",
        "directories": "pending",
        "blocklist": "applying",
    }
    operation = life.open["operation_id"]
    result = life.run(action="resume")
    assert (result["state"], result["operation_id"]) == ("clear", operation)
    assert life.done == [f"end {ONE}", f"lift {HOST}"]
    assert [journal["operation_id"] for journal in life.closed()] == [operation]


def test_a_run_that_was_killed_after_its_step_finds_nothing_left_and_closes(life):
    life.run(dies_at="lift")
    life.blocklist = []
    result = life.run()
    assert (result["state"], life.done) == ("clear", [f"end {ONE}"])
    assert life.closed()[0]["steps"]["blocklist"] == "done"


def test_in_check_mode_an_open_one_is_shown_and_not_taken_up(life):
    life.run(dies_at="lift")
    before = life.open
    result = life.run(check=True)
    assert (result["state"], result["operation_id"], result["failed"]) == ("resumed", before["operation_id"], False)
    assert "2 steps to clear" in result["msg"], "the requests in RabbitMQ are read again"
    assert life.open == before


def test_a_resume_takes_the_options_of_its_own_run(life):
    life.run(dies_at="read_cloud")
    assert life.open is None, "nothing is open before it was judged"
    life.run(dies_at="end_domains")
    life.record, life.domains = "completed", []
    result = life.run(status="disabled")
    assert (result["state"], life.service.status, life.service.disabled_reason) == ("clear", "disabled", "returned")


def test_what_came_up_since_it_was_begun_gets_into_the_plan_of_a_resume(life):
    life.domains = []
    life.run(dies_at="lift")
    life.domains = [ONE]
    result = life.run()
    assert (result["failed"], life.done) == (False, [f"end {ONE}", f"lift {HOST}"]), result["msg"]
    (journal,) = life.closed()
    assert states(journal) == {"requests": "done", "domains": "done", "directories": "done", "blocklist": "done"}
    assert any(
        "the run found these leftovers and added them to the plan" in str(event.get("text"))
        for event in journal["history"]
    )


def test_a_resume_whose_facts_refuse_changes_nothing_and_stays_open(life):
    life.run(dies_at="lift")
    before = life.open
    life.evacuate()
    result = life.run()
    assert (result["failed"], result["state"], life.codes(result)) == (True, "refused", ["SG706"])
    assert f"operation {before['operation_id']} stays open" in result["msg"]
    assert life.open == before


def test_an_operation_that_another_run_has_closed_meanwhile_is_not_begun_again(life):
    life.run(dies_at="lift")
    operation = life.open

    def closes(need):
        if need["kind"] == "read_cloud" and life.open is not None:
            journals.close(life.state_dir, {**operation, "state": journals.FINISHED})

    life.answer = closes
    result = life.run()
    assert (result["failed"], result["state"], life.blocklist) == (True, "refused", [HOST])
    assert "SG706" in result["msg"]


# --- asked, and left ------------------------------------------------------------------------------------------


def test_a_status_needs_no_host_of_the_inventory(life):
    life.run(dies_at="lift")
    result = life.run(action="status", inventory_name=None)
    assert (result["failed"], result["state"], life.needs[-1]["kind"] != "read_host") == (False, "open", True)
    assert "return_action=abort" in result["msg"]
    assert (result["report"]["verdict"], result["report"]["unchecked"][0]["code"]) == ("warn", "SG709")


def test_apply_without_a_host_of_the_inventory_is_refused(life):
    result = life.run(inventory_name=None)
    assert (result["failed"], result["state"], life.needs) == (True, "refused", [])


def test_an_abort_says_what_stays_done_and_releases_nothing(life):
    life.run(dies_at="lift")
    result = life.run(action="abort", inventory_name=None)
    assert (result["failed"], result["state"], life.open) == (False, "aborted", None)
    assert "done: End 1 domain" in result["msg"]
    assert "begun, possibly done: Remove this host's entries" in result["msg"]
    assert "Keep nova-compute stopped on compute1" in result["msg"]
    assert (life.blocklist, life.service.disabled_reason) == ([HOST], HELD)
    assert result["report"]["verdict"] != "pass", "nothing was judged"
    assert life.run()["state"] == "clear", "a new one does the rest"


def test_an_abort_in_check_mode_closes_nothing(life):
    life.run(dies_at="lift")
    before = life.open
    result = life.run(check=True, action="abort")
    assert (result["failed"], life.open) == (False, before)
    assert "would abort operation" in result["msg"]


# --- the approved plan ----------------------------------------------------------------------------------------


def test_only_the_approved_plan_is_carried_out(life):
    value = life.run(check=True)["plan_sha256"]
    refused = life.run(expect_plan=value, status="disabled")
    assert (refused["state"], refused["failed"], life.done) == ("refused", True, [])
    assert refused["report"]["verdict"] == "block"
    assert '- request.status: "enabled"' in refused["msg"]
    word = life.run(expect_plan="yes")
    assert (word["failed"], 'return_expect_plan is "yes"' in word["msg"]) == (True, True)
    result = life.run(expect_plan=value)
    assert (result["state"], result["plan_sha256"]) == ("clear", value)


def test_a_resume_of_an_approved_plan_never_clears_more_than_was_approved(life):
    life.domains = []
    value = life.run(check=True)["plan_sha256"]
    life.run(expect_plan=value, dies_at="lift")
    life.domains = [ONE]
    result = life.run(expect_plan=value)
    assert (result["failed"], result["state"], life.done) == (True, "refused", [])
    assert ONE in result["msg"]
    life.domains = []
    assert life.run(expect_plan=value)["state"] == "clear"


def test_a_resume_of_an_approved_plan_with_other_options_is_refused(life):
    value = life.run(check=True)["plan_sha256"]
    life.run(expect_plan=value, dies_at="lift")
    result = life.run(expect_plan=value, status="disabled")
    assert (result["failed"], result["state"]) == (True, "refused")
    assert "the options of this run differ" in result["msg"]


# --- journals of evacuations ----------------------------------------------------------------------------------


def test_what_evacuations_of_any_version_put_on_a_blocklist_is_lifted(life):
    life.domains, life.blocklist = [], ["198.51.100.7", "198.51.100.8", "198.51.100.9"]
    old = evacuation(operation="old", addresses=["198.51.100.7"], fence_proof={"addresses": ["198.51.100.7"]})
    life.close({**old, "kind": "evacuate"})
    life.close(evacuation(operation="two", blocklisted={"f": ["198.51.100.8"], "g": []}))
    life.run()
    assert life.done == ["lift 198.51.100.7, 198.51.100.8"]
    assert life.blocklist == ["198.51.100.9"]


def test_an_open_evacuation_of_another_host_is_no_reason(life):
    journal = evacuation("compute9", "nine", journals.OPEN)
    journals.open_new(life.state_dir, journal)
    assert life.run()["state"] == "clear"


def test_ceph_is_asked_for_every_server_that_nova_has_on_the_host(tmp_path, monkeypatch):
    """Not for those with a domain here alone: another host's QEMU may have the disk of one without it open."""
    life = ReturnLife(tmp_path, monkeypatch)
    life.soft_deleted = {"soft": "web9"}
    here = [types.SimpleNamespace(id="listed", host="compute1", volumes=["v1"])]
    monkeypatch.setattr(life, "_here", lambda: here)
    life.run(check=True)
    (need,) = [need for need in life.needs if need["kind"] == "read_ceph"]
    assert need["instances"] == sorted([*life.domains, "listed", "soft"])
    # A volume that no domain here shows is looked for where Cinder keeps volumes.
    assert "v1" in need["volumes"]


def test_servers_that_were_not_listed_end_the_run(tmp_path, monkeypatch):
    life = ReturnLife(tmp_path, monkeypatch)

    def fails():
        raise ApiError("503 Service Unavailable", status=503)

    monkeypatch.setattr(life, "_here", fails)
    done = life.run()
    assert (done["failed"], life.done) == (True, [])
    assert "503" in done["msg"]


# --- allocations of migrations that have ended


def with_allocation(life):
    known = scenes.uid("migration", 77)

    def change(some):
        row = next(row for row in some.bundle.cloud.providers if row.uuid == scenes.node(1))
        return some.change("providers", {"uuid": row.uuid}, allocations={**row.allocations, known: {"VCPU": 1}})

    life.change = change
    return known


def test_what_an_ended_migration_holds_is_released_before_the_blocklist(life):
    known = with_allocation(life)
    life.ended = {known}
    result = life.run()
    assert (result["state"], life.done) == ("clear", [f"end {ONE}", f"release {known}", f"lift {HOST}"]), result["msg"]


def test_one_that_has_not_ended_stays(life):
    known = with_allocation(life)
    result = life.run()
    assert (result["state"], life.done) == ("clear", [f"end {ONE}", f"lift {HOST}"]), result["msg"]
    assert known in {item["object"]["id"] for item in result["report"]["findings"]}


def test_one_that_changes_meanwhile_ends_the_run_and_the_blocklist_stays(life, monkeypatch):
    known = with_allocation(life)
    life.ended = {known}

    def refuse(*_arguments):
        raise Conflict("the allocation has changed")

    monkeypatch.setattr(return_host.resource_providers, "release_allocation", refuse)
    result = life.run()
    assert (result["failed"], life.done, life.blocklist) == (True, [f"end {ONE}"], [HOST])
    assert states(life.open)["allocations"] == "applying"
