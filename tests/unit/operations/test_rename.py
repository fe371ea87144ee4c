# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rename's report says of an operation that stopped, was put back, or was resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_host_rename
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle, planned, run_token, runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename import operation
from ansible_collections.stackguard.nova.plugins.module_utils.rename.containers import steps as containers
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename_actions
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.tests.unit import builders, journaled
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

GUEST = findings.finding("SG120", findings.Subject("domain", "u1", "web1"), {"now": "shutoff"}, "Start it.", "warning")
STUCK = findings.finding("SG701", findings.Subject("instance", "u2", "web2"), {"task_state": "shelving"}, "Reset it.")
LOST = findings.Unchecked("SG307", "compute.old1", "RabbitMQ was not asked")


def action(overrides=(), closed=(), inventory_name="compute1"):
    host = types.SimpleNamespace(call=lambda requests: [answer(request, closed) for request in requests])
    return made_of({}, host, findings.parse_overrides(overrides), inventory_name)


def made_of(options, host, overrides=(), inventory_name="compute1"):
    """The operation at a host."""
    mine = run_token.new_run("ann", "t")
    given = journaled.life(host, options, "rename_", mine=mine, overrides=overrides)
    systems = kernel.Systems(options, host, {}, lambda _seconds: None, lambda: 0.0, overrides=overrides)
    run = operation.RenameRun(**given, systems=systems, operation_id="op1", inventory_name=inventory_name)
    return operation.Rename(run)


def answer(request, closed):
    return {"journals": list(closed)} if request["op"] == "journal_closed" else {"journal": None}


def journal(**memory):
    return {"about": {}, "memory": memory, "operation_id": "op1"}


def noted(*found, unchecked=(), passed=()):
    return {
        "findings": [to_plain(item) for item in found],
        "unchecked": [to_plain(item) for item in unchecked],
        "passed": [list(entry) for entry in passed],
    }


def blank():
    return findings.report(findings.Checked(), "2026-01-01T00:00:00Z", 1, 2)


def codes(report):
    return [row["code"] for row in report["findings"]], [row["code"] for row in report["unchecked"]]


def test_a_run_with_a_guest_that_is_off_never_ends_as_a_pass():
    report = action()._with_noted(blank(), journal(guests=noted(GUEST), settle={"actions": {}}))
    assert (report["verdict"], codes(report)) == ("warn", (["SG120"], []))


def test_what_was_not_asked_of_the_broker_is_unchecked():
    report = action()._with_noted(blank(), journal(lost_requests=noted(unchecked=[LOST])))
    assert (report["verdict"], codes(report)) == ("warn", ([], ["SG307"]))


def test_what_an_earlier_run_passed_by_name_is_still_passed():
    memory = journal(lost_requests=noted(STUCK, passed=[("SG701", "u2")]))
    assert action()._with_noted(blank(), memory)["verdict"] == "warn"
    memory = journal(lost_requests=noted(STUCK))
    assert action()._with_noted(blank(), memory)["verdict"] == "block"


def test_the_report_of_an_operation_that_stopped_says_why_and_is_no_pass():
    made = action()
    made._operation_id = "op1"
    error = runner.StepError("the tasks of these guests will never end:\nSG701 ...", checked=findings.Checked((STUCK,)))
    report = made._failed_report(error)["report"]
    assert (report["verdict"], codes(report)) == ("block", (["SG701"], ["SG706"]))
    assert "the tasks of these guests will never end" in report["unchecked"][0]["reason"]


def test_the_report_of_the_preflight_is_kept_where_the_operation_stops():
    made = action()
    made._operation_id = "op1"
    made._report = findings.report(findings.Checked((GUEST,)), "2026-01-01T00:00:00Z", 3, 6)
    report = made._failed_report(runner.StepError("no answer"))["report"]
    assert (report["verdict"], report["hosts"], codes(report)) == ("block", 3, (["SG120"], ["SG706"]))


def test_a_run_that_waits_for_containers_says_which():
    """The role runs the operator's command then, and resumes."""
    made = action()
    stopped = made._stopped(
        containers.RecreateError("these containers do not exist or do not run now", ["nova_libvirt"])
    )
    assert (stopped["failed"], stopped["needs"], stopped["containers"]) == (
        True,
        "recreate_containers",
        ["nova_libvirt"],
    )
    assert not {"needs", "containers"} & set(made._stopped(runner.StepError("another reason")))


def test_what_ends_before_an_operation_has_no_report():
    assert action()._failed_report(runner.StepError("no evidence")) == {}


@pytest.mark.parametrize(
    ("mine", "closed", "expected"),
    [
        (None, [], {"state": "none"}),
        ("op1", [], {"state": "none"}),
        ("op1", [{"operation_id": "op0", "state": "finished"}], {"state": "none"}),
        ("op1", [{"operation_id": "op1", "state": "rolled-back"}], {"state": "rolled-back", "operation_id": "op1"}),
    ],
)
def test_an_operation_that_was_put_back_is_found_by_its_id(mine, closed, expected):
    """F11: the id was null, and a workflow could not find it."""
    made = action(closed=closed)
    made._operation_id = mine
    assert made._where_it_stands() == expected


def test_two_inventories_that_call_one_machine_by_two_names_take_one_lock(monkeypatch):
    """A6: AWX called it rack7-node1, the operator compute1; both ran."""
    names = []
    monkeypatch.setattr(operation.rename_actions, "lock", lambda _args, name: names.append(name))
    for inventory_name in ("compute1", "rack7-node1"):
        made = action(inventory_name=inventory_name)
        made._lock("4c1f0a9e")
        made._lock(None)
    assert names[0] == names[2]
    assert names[1] != names[3], "of a journal of 0.1"


# --- a run that resumes ---------------------------------------------------------------------------------------


def begun(about, **memory):
    plan = to_plain(runner.Plan("rename", "op1", "old1 -> new1", [], []))
    return {**journal(**memory), "about": about, "subject": "old1 -> new1", "plan": plan}


def test_what_preflight_found_is_in_the_report_of_the_run_that_ends_the_operation():
    """The first run warned and was killed; the second ended as a pass, and only its report was kept."""
    found = {"findings": [to_plain(GUEST)], "unchecked": [to_plain(LOST)]}
    made = begun({"preflight": found})
    report = action()._with_noted(action()._begun_with(made), made)
    assert (report["verdict"], codes(report)) == ("warn", (["SG120"], ["SG307"]))


def test_an_operation_of_an_earlier_version_has_no_such_findings_and_is_no_pass():
    made = begun({})
    report = action()._with_noted(action()._begun_with(made), made)
    assert (report["verdict"], codes(report)) == ("warn", ([], ["SG706"]))
    assert "an earlier version" in report["unchecked"][0]["reason"]


def test_an_operation_that_found_nothing_ends_as_a_pass_when_it_is_resumed_too():
    made = begun({"preflight": {"findings": [], "unchecked": []}})
    assert action()._with_noted(action()._begun_with(made), made)["verdict"] == "pass"


@pytest.fixture
def resuming(tmp_path, monkeypatch):
    """The plugin at a real journal, whose database has no lock."""
    host = host_steps.HostRunner(str(tmp_path))

    def execute(module, arguments):
        assert module == compute_host_rename.STEP_MODULE
        outcome = host.run(arguments["requests"])
        return {"results": outcome.results, "failed": outcome.error is not None, "msg": outcome.error}

    monkeypatch.setattr(
        operation.rename_actions, "lock", lambda *_given: contextlib.nullcontext(rename_actions.NoLock())
    )
    timeouts = dict.fromkeys(("stop_timeout", "start_timeout", "agent_timeout", "settle_timeout"), 1)
    names = {"rename_from": "compute1", "rename_to": "cn1"}
    units = dict.fromkeys(("nova_conf_files", "compute_units", "agent_units", "neutron_db_url", "expect_plan"))
    options = {**timeouts, **names, **units, "state_dir": str(tmp_path), "take_over": False}
    return made_of(options, compute_host_rename.RemoteHost(execute, str(tmp_path)))


@pytest.mark.parametrize(("given_", "expected"), [(None, ("kolla-nova_compute-container",)), (["mine"], ("mine",))])
def test_a_new_rename_takes_the_units_of_the_detected_deployment_where_none_are_set(
    resuming, monkeypatch, tmp_path, given_, expected
):
    cloud = builders.healthy().host(deployment=builders.kolla(None))
    evidence.save_whole(str(tmp_path), cloud.bundle)
    monkeypatch.setattr(operation.evidence, "load_dir", lambda _directory: cloud.bundle)
    monkeypatch.setattr(operation.queue_actions, "preflight", lambda *_given: (findings.Checked(), False))
    judged = []

    def judge(_bundle, request):
        judged.append(request)
        raise operation.Refused("enough")

    monkeypatch.setattr(resuming, "_judge", judge)
    monkeypatch.setattr(resuming, "_rehearsed", lambda bundle, _request: bundle)
    commands = dict.fromkeys(("stop_command", "start_command", "mask_command", "unmask_command"))
    more = {"evidence_dir": str(tmp_path), "peers": [], "lock_guests": True, "hypervisor_hostname": None}
    resuming._args.update({**commands, **more, "rabbit_urls": None, "strategy": "in_place", "compute_units": given_})
    with pytest.raises(operation.Refused, match="enough"):
        resuming.prepare()
    (request,) = judged
    assert request.compute_units == expected
    assert "kolla-neutron_openvswitch_agent-container" in request.agent_units


def left_open(directory, run):
    step = Step("guests", "guests", CONTROLLER, "guests", {"domains": [], "boot_id": None, "strict": True})
    plan = Plan("rename", "op1", "compute1 -> cn1", [step])
    about = {"rename_from": "compute1", "rename_to": "cn1", "overrides": [], SHA256: None}
    journal = {**runner.new_journal(plan, about, "t"), "run": run, "steps": {"guests": "done"}}
    journals.open_new(directory, journal)


def asked_for(rename, action):
    """Do what is asked for; what ends it is raised, and not yet a result."""
    rename._args["action"] = action
    return planned.Planned.carry_out(rename)


def test_a_resume_takes_the_operation_up_and_closes_it(resuming):
    left_open(resuming._args["state_dir"], {"token": "old", "operator": "ann", "controller": "c", "ended": "t"})
    assert asked_for(resuming, "resume")["state"] == "finished"
    (closed,) = journals.list_closed(resuming._args["state_dir"], "rename")
    assert closed["run"]["token"] not in (None, "old")
    assert closed["run"]["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("wanted", "planned", "refused"),
    [(True, ["move_guests"], True), (False, ["move_guests"], False), (True, ["move_guests", "return_guests"], False)],
)
def test_a_return_of_guests_that_was_not_planned_is_refused_and_never_a_green_end(resuming, wanted, planned, refused):
    """The second try with another option: the run ended well, and nobody was brought back."""
    actions = {"move_guests": "empty_host", "return_guests": "move_guests_home"}
    steps = [Step(name, name, CONTROLLER, actions[name], {"guests": ["u"]}) for name in planned]
    about = {"rename_from": "compute1", "rename_to": "cn1", "overrides": [], SHA256: None}
    run = {"token": "old", "operator": "ann", "controller": "c", "ended": "t"}
    journal = {**runner.new_journal(Plan("rename", "op1", "compute1 -> cn1", steps), about, "t"), "run": run}
    journals.open_new(resuming._args["state_dir"], {**journal, "steps": dict.fromkeys(planned, "done")})
    resuming._args["drain_return"] = wanted
    if refused:
        with pytest.raises(lifecycle.Refused, match=r"rename_drain_return", check=problem_is("operation-open")):
            asked_for(resuming, "resume")
        (still,) = journals.list_open(resuming._args["state_dir"])
        assert still["run"]["token"] == "old", "what is refused is not taken up"
    else:
        assert asked_for(resuming, "resume")["state"] == "finished"


def test_a_resume_is_refused_while_a_run_elsewhere_may_live(resuming):
    left_open(resuming._args["state_dir"], {"token": "old", "operator": "ann", "controller": "c", "pid": 7})
    for asked in ("resume", "rollback", "apply"):
        with pytest.raises(runner.StepError, match=r"SG707", check=problem_is("request-failed")):
            asked_for(resuming, asked)
    assert journals.read(resuming._args["state_dir"], "rename")["run"]["token"] == "old"
    resuming._args["take_over"] = True
    assert asked_for(resuming, "resume")["state"] == "finished"


def test_a_rollback_that_is_refused_leaves_the_journal_as_it_is(resuming, monkeypatch):
    """Seen on the lab: a drain behind its point of no return had another run in its journal after the refusal."""
    left_open(resuming._args["state_dir"], {"token": "old", "operator": "ann", "controller": "c", "ended": "t"})
    before = journals.read(resuming._args["state_dir"], "rename")

    def refuse(*_given):
        raise runner.StepError("A rollback is no longer possible")

    monkeypatch.setattr(operation.drain_actions, "refuse_rollback", refuse)
    with pytest.raises(runner.StepError, match="A rollback is no longer possible"):
        asked_for(resuming, "rollback")
    assert journals.read(resuming._args["state_dir"], "rename") == before


@pytest.mark.parametrize("state", [journals.APPLYING, journals.DONE])
def test_after_the_first_old_container_is_removed_there_is_only_forward(resuming, state):
    """Taken back, such a rename ended with neither the old containers nor the new ones, and could not go on."""
    left_open(resuming._args["state_dir"], {"token": "old", "operator": "ann", "controller": "c", "ended": "t"})
    journal = journals.read(resuming._args["state_dir"], "rename")
    forget = Step("forget_containers", "remove", HOST, "forget_containers", {"engine": "podman", "containers": []})
    plan = Plan("rename", "op1", "compute1 -> cn1", [*runner.plan_of(journal).steps, forget])
    noted = {**journal, "plan": to_plain(plan), "steps": {"guests": "done", "forget_containers": state}}
    journals.put(resuming._args["state_dir"], noted)
    with pytest.raises(runner.StepError, check=problem_is("rollback-no-longer")):
        asked_for(resuming, "rollback")
    assert journals.read(resuming._args["state_dir"], "rename")["steps"] == noted["steps"]
    assert resuming.rollback_text(noted) is None
    assert resuming.rollback_text({**noted, "steps": {**noted["steps"], "forget_containers": "pending"}}) is not None
    assert asked_for(resuming, "resume")["state"] == "finished"


def test_another_recreate_command_is_another_plan(resuming):
    """What a person approves is not executed with another command in its place."""
    plan, asked = Plan("rename", "op1", "a -> b", []), operation.RenameRequest("a", "a", "b", "op1")
    resuming._args.update(hypervisor_hostname=None, strategy="in_place", drain_return=False)
    other = dataclasses.replace(asked, recreate_command="kolla-ansible deploy-containers")
    assert "recreate_command" not in resuming._asked(plan, asked)
    assert resuming._asked(plan, other)["recreate_command"] == "kolla-ansible deploy-containers"


def test_a_resume_that_fails_lets_go_of_the_operation(resuming, monkeypatch):
    left_open(resuming._args["state_dir"], {"token": "old", "controller": "c", "ended": "t"})

    def fail(*_given):
        raise runner.StepError("no proof")

    monkeypatch.setattr(operation.steps.Runner, "forward", fail)
    with pytest.raises(runner.StepError, match="no proof"):
        asked_for(resuming, "resume")
    assert journals.read(resuming._args["state_dir"], "rename")["run"]["ended"]


@pytest.mark.parametrize(("memory", "told"), [({"guests": noted(GUEST)}, ["SG120"]), ({}, None)])
def test_the_status_of_an_open_rename_has_the_report_of_what_was_found(memory, told):
    open_ = {
        **journal(**memory),
        "plan": {"kind": "rename", "operation_id": "op1", "subject": "x", "steps": []},
        "subject": "x",
    }
    open_["about"] = {**open_["about"], "preflight": {"findings": [], "unchecked": []}}
    found = action().status_fields(open_)
    assert (codes(found["report"])[0] if found else None) == told
