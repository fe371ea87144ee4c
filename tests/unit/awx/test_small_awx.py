# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The small AWX says what AWX 24.6.1 says: what its source does, and what was seen on a running one.

Nothing of the collection's own data is in here. Where a rule was seen on a running AWX, the test's words say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.awx import awx_rules
from ansible_collections.stackguard.nova.tests.unit.awx.small_awx import Awx, Refused, serving
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

NIGHTLY = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1"


def question(variable, kind="text", required=False, **more):
    return {"variable": variable, "question_name": variable, "type": kind, "required": required, **more}


SOURCES = question("sources", "multiselect", True, choices=["api", "hosts"], default="api\nhosts")
FAIL_ON = question("fail_on", "multiplechoice", choices=["never", "blocker"], default="blocker")


def awx(hosts=()):
    there = Awx(
        organizations=["Cloud"], inventories=["Hosts"], projects=["Nova"], credentials=["ssh"], teams=["operators"]
    )
    there.hosts("Hosts", {name: {} for name in hosts})
    return there


def code_of(function, *args, **kwargs):
    """The status with which something is refused, and what is wrong, by what."""
    with pytest.raises(Refused) as refused:
        function(*args, **kwargs)
    return refused.value.code, set(refused.value.answer)


def post(there, path, user=None, **fields):
    return there.post(path.strip("/").split("/"), fields, user)[1]


def survey(there, template, *questions):
    template["survey_enabled"] = True
    code, _ = there.post([f"{template['type']}s", template["id"], "survey_spec"], spec(*questions))
    assert code == 200


def spec(*questions):
    return {"name": "", "description": "", "spec": list(questions)}


def job_template(there, name, *questions, **fields):
    common = {"project": there.named("projects")["Nova"]["id"], "inventory": there.named("inventories")["Hosts"]["id"]}
    fields["extra_vars"] = json.dumps(fields.get("extra_vars", {}))
    made = post(there, "job_templates", name=name, playbook="play.yml", **common, **fields)
    template = there.items["job_templates"][made["id"]]
    if questions:
        survey(there, template, *questions)
    return template


def workflow(there, name, *questions, **nodes):
    """A workflow of nodes: the template of each, its data, and by kind of edge who follows."""
    organization = there.named("organizations")["Cloud"]["id"]
    made = post(there, "workflow_job_templates", name=name, organization=organization)
    template = there.items["workflow_job_templates"][made["id"]]
    if questions:
        survey(there, template, *questions)
    numbers = {}
    for identifier, node in nodes.items():
        fields = {"workflow_job_template": made["id"], "identifier": identifier, **node.get("fields", {})}
        if node.get("template"):
            fields["unified_job_template"] = there.template(node["template"])["id"]
        numbers[identifier] = post(there, "workflow_job_template_nodes", **fields)["id"]
        if node.get("approval"):
            path = f"workflow_job_template_nodes/{numbers[identifier]}/create_approval_template"
            post(there, path, name=node["approval"])
    for identifier, node in nodes.items():
        for kind in ("success", "always", "failure"):
            for follower in node.get(kind, []):
                post(
                    there,
                    f"workflow_job_template_nodes/{numbers[identifier]}/{kind}_nodes",
                    id=numbers[follower],
                )
    return template


def ran(done):
    return [job["name"] for job in done]


def ends(**by_name):
    """How jobs end, by the name of their template, with artifacts; the others succeed."""
    return lambda job: by_name.get(job["name"], ("successful", {}))


# Surveys that are posted


@pytest.mark.parametrize(
    "wrong",
    [
        {"description": "", "spec": [question("a")]},
        {"name": "", "description": "", "spec": []},
        {"name": "", "description": "", "spec": "a"},
        spec({"variable": "a", "question_name": "a", "type": "text"}),
        spec({**question("a"), "required": "yes"}),
        spec(question("a"), question("a")),
        spec(question("a", "boolean")),
        spec(question("a", "integer", default="1")),
        spec(question("a", "multiselect", choices=["x"], default=["x"])),
        spec(question("a", min="1")),
        spec(question("a", "multiselect")),
        spec(question("a", "multiplechoice", choices=["x", "y"], default="x\ny")),
        spec(question("a", "multiselect", choices=["x"], default="y")),
        spec(question("a", default="$encrypted$")),
    ],
)
def test_a_survey_of_wrong_form_is_refused(wrong):
    there = awx()
    template = job_template(there, "a")
    path = ["job_templates", template["id"], "survey_spec"]
    assert code_of(there.post, path, wrong) == (400, {"error"})
    assert there.surveys == {}


def test_a_survey_is_kept_and_text_of_choices_loses_empty_lines():
    there = awx()
    template = job_template(there, "a", question("x", "multiselect", choices="a\n\nb\n", default="\na\nb"))
    (kept,) = there.surveys[template["id"]]["spec"]
    assert (kept["choices"], kept["default"]) == ("a\nb", "a\nb")
    assert there.get(["job_templates", template["id"], "survey_spec"], {}) == (200, there.surveys[template["id"]])


# Answers


@pytest.mark.parametrize(
    ("asked", "good", "bad"),
    [
        (question("a", max=5), ["", "abcde", "{{ }}"], ["abcdef", 1, None, ["a"]]),
        (question("a", min=1), ["a"], [""]),
        (question("a", "textarea"), ["a\nb"], [[{"code": "SG110"}]]),
        (question("a", "integer", min=1, max=9), [1, 9], [0, 10, "5", True, 1.5]),
        (question("a", "integer", min="", max=None), [-5], ["x"]),
        (question("a", "float", max=2), [1, 1.5], ["1", 2.5]),
        (question("a", "multiplechoice", choices=["x", "y"]), ["x"], ["", "z", "x\ny"]),
        (question("a", "multiplechoice", choices="x\ny"), ["y"], ["z"]),
        (question("a", "multiselect", choices=["x", "y"]), [[], ["x"], ["x", "y"]], ["x", "x\ny", ["z"]]),
    ],
)
def test_an_answer_is_of_the_questions_kind(asked, good, bad):
    assert [awx_rules.answer_errors(asked, {"a": value}) for value in good] == [[]] * len(good)
    assert [len(awx_rules.answer_errors(asked, {"a": value})) for value in bad] == [1] * len(bad)


def test_a_required_multiselect_without_answer_is_refused_though_it_has_a_default():
    """Seen on a running AWX, at a launch and by a schedule."""
    there = awx()
    template = job_template(there, "audit", SOURCES)
    assert code_of(there.launch, "audit", {}) == (400, {"variables_needed_to_start"})
    schedule = {"name": "nightly", "rrule": NIGHTLY, "unified_job_template": template["id"]}
    for extra in ({}, {"extra_data": {}}, {"extra_data": {"sources": "api"}}):
        assert code_of(post, there, "schedules", **schedule, **extra) == (400, {"variables_needed_to_start"})
    assert there.launch("audit", {"sources": []})["variables"]["sources"] == [], "an empty list is an answer"
    assert post(there, "schedules", **schedule, extra_data={"sources": ["api"]})["enabled"] is True


def test_a_required_text_without_answer_is_refused_though_it_has_a_default():
    there = awx()
    job_template(there, "a", question("x", required=True, default="y"))
    assert code_of(there.launch, "a", {}) == (400, {"variables_needed_to_start"})
    assert there.get(["job_templates", there.template("a")["id"], "launch"], {})[1]["variables_needed_to_start"] == [
        "x"
    ]


def test_a_default_counts_where_it_would_be_an_answer():
    """Seen on a running AWX: the default of a multiselect, which is text, was in no job's variables."""
    there = awx()
    optional = {**SOURCES, "required": False}
    own = {"sources": ["hosts"], "fail_on": "never", "empty": "own", "other": 1}
    job_template(there, "audit", optional, FAIL_ON, question("empty", default=""), extra_vars=own)
    found = there.launch("audit")["variables"]
    assert found["sources"] == ["hosts"], "the template's own"
    assert found["fail_on"] == "blocker", "a default is above it"
    assert (found["empty"], found["other"]) == ("", 1)
    assert there.launch("audit", {"fail_on": "never"})["variables"]["fail_on"] == "never"


def test_a_job_template_ignores_what_it_does_not_ask_for_and_a_workflow_refuses_it():
    """Seen on a running AWX."""
    there = awx()
    job_template(there, "a", question("x"), extra_vars={"own": 1})
    job = there.launch("a", {"x": "y", "ansible_connection": "local", "own": 1})
    assert job["ignored_fields"] == {"extra_vars": {"ansible_connection": "local"}}, "what is the template's is pruned"
    assert "ansible_connection" not in job["variables"]
    workflow(there, "w", question("x"), one={"template": "a"})
    assert code_of(there.launch, "w", {"x": "y", "ansible_connection": "local"}) == (400, {"extra_vars"})
    assert there.launch("w", {"x": "y"})["ignored_fields"] == {}


def test_a_wrong_answer_refuses_the_launch():
    there = awx()
    job_template(there, "a", question("x"))
    assert code_of(there.launch, "a", {"x": [{"code": "SG110"}]}) == (400, {"variables_needed_to_start"})
    assert code_of(there.launch, "a", "no variables") == (400, {"extra_vars"})


def test_an_open_template_takes_all_but_wrong_answers():
    there = awx()
    job_template(there, "a", question("x"), ask_variables_on_launch=True)
    assert there.launch("a", {"ansible_connection": "local"})["variables"]["ansible_connection"] == "local"
    assert code_of(there.launch, "a", {"x": 1}) == (400, {"variables_needed_to_start"})


def test_a_survey_that_is_switched_off_asks_nothing():
    there = awx()
    template = job_template(there, "a", question("x", required=True))
    template["survey_enabled"] = False
    assert there.launch("a", {"x": "y"})["ignored_fields"] == {"extra_vars": {"x": "y"}}


def test_a_launch_ignores_a_limit_that_is_not_prompted_and_a_schedule_and_a_workflow_refuse_it():
    there = awx()
    template = job_template(there, "a")
    job = there.launch("a", limit="compute1")
    assert (job["limit"], job["ignored_fields"]) == ("", {"limit": "compute1"})
    schedule = {"name": "n", "rrule": NIGHTLY, "unified_job_template": template["id"]}
    assert code_of(post, there, "schedules", **schedule, limit="compute1") == (400, {"limit"})
    workflow(there, "w", one={"template": "a"})
    assert code_of(there.launch, "w", limit="compute1") == (400, {"limit"})
    template["ask_limit_on_launch"] = True
    assert there.launch("a", limit="compute1")["limit"] == "compute1"


def test_a_template_without_inventory_does_not_start():
    there = awx()
    template = job_template(there, "a", ask_inventory_on_launch=True)
    template["inventory"] = None
    assert code_of(there.launch, "a") == (400, {"resources_needed_to_start"})
    number = there.named("inventories")["Hosts"]["id"]
    assert there.launch("a", inventory=number)["inventory"] == number


# Schedules


@pytest.mark.parametrize(
    "rrule",
    [
        "RRULE:FREQ=DAILY;INTERVAL=1",
        "DTSTART:20260101T020000Z",
        "DTSTART:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1",
        "DTSTART:20260101T020000Z RRULE:FREQ=DAILY",
        "DTSTART:20260101T020000Z RRULE:FREQ=SECONDLY;INTERVAL=1",
        "DTSTART:20260101T020000Z RRULE:FREQ=OFTEN;INTERVAL=1",
        "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1;COUNT=1000",
        "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1;COUNT=5;UNTIL=20270101T000000Z",
        "DTSTART:20260101T020000Z RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=1MO",
        "DTSTART:20260101T020000Z DTSTART:20260102T020000Z RRULE:FREQ=DAILY;INTERVAL=1",
        "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1 EXDATE:20260102T020000Z",
        "DTSTART;TZID=Europe/Nowhere:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1",
        "x",
    ],
)
def test_times_of_wrong_form_are_refused(rrule):
    there = awx()
    template = job_template(there, "a")
    schedule = {"name": "n", "rrule": rrule, "unified_job_template": template["id"]}
    assert code_of(post, there, "schedules", **schedule) == (400, {"rrule"})


def test_times_with_a_zone_are_taken_and_a_schedule_needs_some():
    assert awx_rules.rrule_errors("DTSTART;TZID=Europe/Berlin:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1") == []
    there = awx()
    template = job_template(there, "a")
    assert code_of(post, there, "schedules", name="n", unified_job_template=template["id"]) == (400, {"rrule"})


def test_a_schedule_refuses_what_its_template_does_not_ask_for_and_its_name_is_the_only_one():
    there = awx()
    template = job_template(there, "a", question("x"))
    schedule = {"name": "n", "rrule": NIGHTLY, "unified_job_template": template["id"]}
    assert code_of(post, there, "schedules", **schedule, extra_data={"y": 1}) == (400, {"extra_data"})
    post(there, "schedules", **schedule)
    assert code_of(post, there, "schedules", **schedule) == (400, {"__all__"})
    other = job_template(there, "b")
    post(there, "schedules", **{**schedule, "unified_job_template": other["id"]})


def test_a_schedule_fires_with_its_data_and_the_templates_and_what_became_required_does_not_stop_it():
    """Seen on a running AWX: questions that are not required, and the list in the template's variables."""
    there = awx()
    optional = {**SOURCES, "required": False}
    template = job_template(there, "audit", optional, FAIL_ON, extra_vars={"sources": ["api", "hosts"]})
    extra = {"fail_on": "never"}
    made = post(there, "schedules", name="n", rrule=NIGHTLY, unified_job_template=template["id"], extra_data=extra)
    job = there.fire("n")
    assert (job["variables"]["sources"], job["variables"]["fail_on"]) == (["api", "hosts"], "never")
    assert (job["launch_type"], job["variables"]["awx_schedule_name"]) == ("scheduled", "n")
    assert "awx_user_name" not in job["variables"], "nobody has launched it"
    survey(there, template, SOURCES)
    assert there.fire("n")["variables"]["sources"] == ["api", "hosts"]
    there.patch(["schedules", made["id"]], {"enabled": False})
    assert there.fire("n") is None


def test_a_change_of_a_schedule_is_looked_at_where_it_is_about_the_launch():
    there = awx()
    template = job_template(there, "a")
    made = post(there, "schedules", name="n", rrule=NIGHTLY, unified_job_template=template["id"])
    survey(there, template, SOURCES)
    path = ["schedules", made["id"]]
    assert there.patch(path, {"description": "x"})[0] == 200
    assert code_of(there.patch, path, {"extra_data": {}}) == (400, {"variables_needed_to_start"})
    assert code_of(there.patch, path, {"rrule": "x"}) == (400, {"rrule"})


# Nodes


def test_a_node_refuses_data_that_its_template_does_not_ask_for_and_misses_no_answer():
    there = awx()
    template = job_template(there, "a", question("x", required=True), extra_vars={"own": 1})
    flow = workflow(there, "w")
    node = {"workflow_job_template": flow["id"], "unified_job_template": template["id"]}
    post(there, "workflow_job_template_nodes", **node, identifier="one")
    post(there, "workflow_job_template_nodes", **node, identifier="two", extra_data={"x": "y", "own": 1})
    for extra, errors in (({"y": 1}, {"extra_data"}), ({"own": 2}, {"extra_data"}), ({"x": 1}, NEEDED)):
        assert code_of(post, there, "workflow_job_template_nodes", **node, extra_data=extra) == (400, errors)
    assert code_of(post, there, "workflow_job_template_nodes", **node, limit="x") == (400, {"limit"})
    assert code_of(post, there, "workflow_job_template_nodes", **node, identifier="one") == (400, {"__all__"})
    node["workflow_job_template"] = workflow(there, "other")["id"]
    post(there, "workflow_job_template_nodes", **node, identifier="one")


def test_an_approval_takes_no_data_and_a_node_without_template_keeps_none():
    there = awx()
    workflow(there, "w", one={"fields": {"extra_data": {"x": 1}}}, two={"approval": "Go on?"})
    assert there.nodes("w")["one"][0]["extra_data"] == {}
    path = ["workflow_job_template_nodes", there.nodes("w")["two"][0]["id"]]
    assert code_of(there.patch, path, {"extra_data": {"x": 1}}) == (400, {"extra_data"})


NEEDED = {"variables_needed_to_start"}


def test_edges_stay_in_a_workflow_make_no_circle_and_are_of_one_kind():
    there = awx()
    job_template(there, "a")
    steps = {name: {"template": "a"} for name in ("one", "two", "three")}
    steps["one"]["success"], steps["two"]["always"] = ["two"], ["three"]
    workflow(there, "w", **steps)
    workflow(there, "other", far={"template": "a"})
    number = {name: node["id"] for name, (node, _) in {**there.nodes("w"), **there.nodes("other")}.items()}

    def edge(before, kind, after):
        return there.post(["workflow_job_template_nodes", number[before], f"{kind}_nodes"], {"id": number[after]})

    assert edge("one", "success", "two")[0] == 204, "again"
    assert code_of(edge, "one", "always", "two") == (400, {"Error"})
    assert code_of(edge, "three", "failure", "one") == (400, {"Error"})
    assert code_of(edge, "one", "failure", "one") == (400, {"Error"})
    assert code_of(edge, "one", "always", "far") == (403, {"detail"})
    follow = {name: edges for name, (_, edges) in there.nodes("w").items()}
    assert follow == {"one": {"success": ["two"]}, "two": {"always": ["three"]}, "three": {}}
    path = ["workflow_job_template_nodes", number["one"], "success_nodes"]
    there.post(path, {"id": number["two"], "disassociate": True})
    assert edge("one", "always", "two")[0] == 204


def test_awx_does_not_see_a_circle_apart_from_the_first_nodes():
    """As its source has it: the nodes of the circle are not reached, and never run."""
    there = awx()
    job_template(there, "a")
    steps = {"first": {}, "one": {"success": ["two"]}, "two": {"success": ["one"]}}
    workflow(there, "w", **{name: {"template": "a", **step} for name, step in steps.items()})
    done = there.run_workflow("w")
    assert (ran(done), done.status) == (["a"], "running")


def test_an_approval_keeps_name_and_description_is_found_by_its_node_only_and_goes_with_it():
    there = awx()
    workflow(there, "w", one={"approval": "Go on?"})
    ((node, _),) = there.nodes("w").values()
    shown = there.get(["workflow_job_template_nodes", node["id"]], {})[1]
    (approval,) = there.items["workflow_approval_templates"].values()
    assert shown["related"]["unified_job_template"] == approval["url"]
    assert there.list("unified_job_templates", {"name": "Go on?"}) == []
    path = ["workflow_approval_templates", approval["id"]]
    there.patch(path, {"description": "x", "identifier": "one"})
    assert (approval["description"], "identifier" in approval) == ("x", False), "why awx.awx reports a change"
    assert code_of(there.get, [*path, "success_nodes"], {}) == (404, {"detail"}), "seen on a running AWX"
    there.delete(["workflow_job_template_nodes", node["id"]], None)
    assert there.items["workflow_approval_templates"] == {}


def test_a_deleted_workflow_takes_its_nodes_along_and_a_deleted_template_leaves_them():
    there = awx()
    template = job_template(there, "a")
    flow = workflow(there, "w", one={"template": "a", "success": ["two"]}, two={"approval": "Go on?"})
    post(there, "schedules", name="n", rrule=NIGHTLY, unified_job_template=template["id"])
    there.delete(["job_templates", template["id"]], None)
    assert there.items["schedules"] == {}
    assert next(iter(there.nodes("w").values()))[0]["unified_job_template"] is None
    done = there.run_workflow("w")
    assert (ran(done), done.status, done.not_run) == ([], "failed", ["two"])
    there.delete(["workflow_job_templates", flow["id"]], None)
    assert (there.items["workflow_job_template_nodes"], there.items["workflow_approval_templates"]) == ({}, {})


# Workflows


def test_a_workflows_answers_reach_every_node_above_its_templates_variables():
    """Seen on a running AWX: also the default of its survey does."""
    there = awx()
    job_template(there, "cloud", extra_vars={"fail_on": "never", "own": 1})
    job_template(there, "verdict", FAIL_ON)
    workflow(there, "w", FAIL_ON, cloud={"template": "cloud", "success": ["verdict"]}, verdict={"template": "verdict"})
    for answers in ({}, {"fail_on": "blocker"}):
        done = there.run_workflow("w", answers)
        assert [job["variables"]["fail_on"] for job in done] == ["blocker", "blocker"]
        assert done[0]["variables"]["own"] == 1
    done = there.run_workflow("w", {"fail_on": "never"})
    assert [job["variables"]["fail_on"] for job in done] == ["never", "never"]


def test_what_a_node_gives_is_filtered_and_below_artifacts_and_the_workflows_variables():
    there = awx()
    job_template(there, "first")
    names = [question(name, default="default") for name in "abc"]
    job_template(there, "second", *names, extra_vars={"c": "own", "d": "own"})
    data = {"a": "node", "b": "node", "c": "node"}
    second = {"template": "second", "fields": {"extra_data": data}}
    flow = workflow(there, "w", question("a"), one={"template": "first", "success": ["two"]}, two=second)
    flow["extra_vars"] = json.dumps({"stackguard": "workflow"})
    published = {"first": ("successful", {"b": "artifact", "d": "artifact", "stackguard": "artifact"})}
    done = there.run_workflow("w", {"a": "answer"}, ends(**published))
    found = {key: done[1]["variables"][key] for key in ("a", "b", "c", "d", "stackguard")}
    assert found == {"a": "answer", "b": "artifact", "c": "node", "d": "artifact", "stackguard": "workflow"}
    survey(there, there.template("second"), question("a"))
    done = there.run_workflow("w", {"a": "answer"})
    assert "b" not in done[1]["variables"], "it is asked for no more"
    assert done[1]["variables"]["c"] == "own"


def test_artifacts_go_through_approvals_and_a_failed_job_to_all_that_follow():
    """Seen on a running AWX: the plan's digest."""
    there = awx()
    for name in ("check", "run", "after"):
        job_template(there, name)
    nodes = {
        "check": {"template": "check", "success": ["approval"]},
        "approval": {"approval": "Run it?", "success": ["run"]},
        "run": {"template": "run", "always": ["after"]},
        "after": {"template": "after"},
    }
    workflow(there, "w", **nodes)
    given = ends(check=("successful", {"plan": 1, "_ansible_no_log": False}), run=("failed", {"ran": 2}))
    done = there.run_workflow("w", run=given)
    assert ran(done) == ["check", "Run it?", "run", "after"]
    assert (done[2]["variables"]["plan"], done[3]["variables"]["plan"], done[3]["variables"]["ran"]) == (1, 1, 2)
    assert "_ansible_no_log" not in done[2]["variables"]
    assert done.status == "successful", "an edge says what follows the failure"


def test_a_denied_workflow_has_failed_and_what_follows_does_not_run():
    there = awx()
    job_template(there, "run")
    job_template(there, "told")
    nodes = {"approval": {"approval": "Run it?", "success": ["run"]}, "run": {"template": "run"}}
    workflow(there, "w", **nodes)
    done = there.run_workflow("w", approve=False)
    assert (ran(done), done.status, done.not_run) == (["Run it?"], "failed", ["run"])
    done = there.run_workflow("w", approve=lambda _approval: None)
    assert (ran(done), done.status, done.not_run) == ([], "running", [])
    assert code_of(there.delete, ["workflow_job_templates", there.template("w")["id"]], None)[0] == 409
    (approval,) = there.waiting(done.workflow)
    assert there.post(["workflow_approvals", approval["id"], "approve"], {})[0] == 204
    assert code_of(there.post, ["workflow_approvals", approval["id"], "deny"], {}) == (400, {"error"})
    done = there.carry_on(done.workflow)
    assert (ran(done), done.status) == (["run"], "successful")


@pytest.mark.parametrize(
    ("first", "kind", "expected", "status"),
    [
        ("successful", "success", ["a", "b"], "successful"),
        ("successful", "failure", ["a"], "successful"),
        ("successful", "always", ["a", "b"], "successful"),
        ("failed", "success", ["a"], "failed"),
        ("failed", "failure", ["a", "b"], "successful"),
        ("failed", "always", ["a", "b"], "successful"),
        ("canceled", "always", ["a", "b"], "successful"),
        ("error", "success", ["a"], "failed"),
    ],
)
def test_edges_say_what_follows_and_whether_a_failure_counts(first, kind, expected, status):
    there = awx()
    job_template(there, "a")
    job_template(there, "b")
    workflow(there, "w", a={"template": "a", kind: ["b"]}, b={"template": "b"})
    done = there.run_workflow("w", run=ends(a=(first, {})))
    assert (ran(done), done.status) == (expected, status)
    assert done.not_run == ([] if "b" in expected else ["b"])


@pytest.mark.parametrize(("all_of_them", "expected"), [(False, ["a", "b", "c"]), (True, ["a", "b"])])
def test_where_ways_meet_one_is_enough_unless_all_are_asked_for(all_of_them, expected):
    there = awx()
    for name in "abc":
        job_template(there, name)
    nodes = {name: {"template": name, "success": ["c"]} for name in "ab"}
    nodes["c"] = {"template": "c", "fields": {"all_parents_must_converge": all_of_them}}
    workflow(there, "w", **nodes)
    assert ran(there.run_workflow("w")) == ["a", "b", "c"]
    assert ran(there.run_workflow("w", run=ends(b=("failed", {})))) == expected


def test_a_node_starts_without_an_answer_that_a_launch_would_want():
    there = awx()
    job_template(there, "a", question("x", required=True), {**FAIL_ON, "required": True})
    workflow(there, "w", a={"template": "a"})
    (job,) = there.run_workflow("w")
    assert job["variables"]["fail_on"] == "blocker", "a valid default counts here"
    assert "x" not in job["variables"]


def test_a_workflow_in_a_workflow_filters_what_it_gets_and_publishes_what_its_jobs_did():
    there = awx()
    job_template(there, "a")
    job_template(there, "b")
    workflow(there, "inner", question("x"), a={"template": "a"})
    workflow(there, "w", question("x"), question("y"), i={"template": "inner", "success": ["b"]}, b={"template": "b"})
    done = there.run_workflow("w", {"x": "1", "y": "2"}, ends(a=("successful", {"told": 3})))
    inner, outer = (job["variables"] for job in done)
    assert (inner["x"], "y" in inner) == ("1", False)
    assert (outer["x"], outer["y"], outer["told"]) == ("1", "2", 3)
    assert inner["awx_workflow_job_name"] == "inner"


# Slices

HOSTS = ("compute2", "compute1", "ops1", "compute3")


def test_slices_take_hosts_in_turn_and_are_a_workflow_of_their_own():
    there = awx(HOSTS)
    job_template(there, "before")
    job_template(there, "hosts", FAIL_ON, extra_vars={"dir": "{{ stackguard }}"}, job_slice_count=3)
    job_template(there, "after")
    nodes = {
        "before": {"template": "before", "success": ["hosts"]},
        "hosts": {"template": "hosts", "always": ["after"]},
        "after": {"template": "after"},
    }
    workflow(there, "w", question("answer"), **nodes)

    def run(job):
        if job["name"] != "hosts":
            return "successful", {"stackguard": "before"} if job["name"] == "before" else {}
        number = job["job_slice_number"]
        return ("failed" if number == 2 else "successful"), {"last": number, f"slice{number}": number}

    done = there.run_workflow("w", {"answer": "yes"}, run)
    assert ran(done) == ["before", "hosts", "hosts", "hosts", "after"]
    assert [job["hosts"] for job in done[1:4]] == [["compute1", "ops1"], ["compute2"], ["compute3"]]
    assert [(job["job_slice_number"], job["job_slice_count"]) for job in done[1:4]] == [(1, 3), (2, 3), (3, 3)]
    outer = done[0]["variables"]["awx_workflow_job_id"]
    for job in done[1:4]:
        found = job["variables"]
        assert (found["stackguard"], found["answer"], found["fail_on"]) == ("before", "yes", "blocker")
        assert found["awx_workflow_job_id"] != outer, "that of the slices"
        assert found["awx_workflow_job_name"] == "hosts"
        assert "job_slice" not in found
    last = done[4]["variables"]
    assert (last["last"], last["slice2"], last["stackguard"]) == (3, 2, "before"), "a failed slice's too"
    assert last["awx_workflow_job_id"] == outer
    assert done.status == "successful"


def test_there_are_no_more_slices_than_hosts_and_one_is_none():
    there = awx(("compute1", "compute2"))
    job_template(there, "a", job_slice_count=4)
    assert [job["hosts"] for job in there.run_workflow("a")] == [["compute1"], ["compute2"]]
    there = awx(("compute1",))
    job_template(there, "a", job_slice_count=4)
    job = there.launch("a")
    assert (job["type"], job["job_slice_count"], job["hosts"]) == ("job", 1, ["compute1"])
    next(iter(there.items["hosts"].values()))["enabled"] = False
    assert there.launch("a")["hosts"] == []


# What AWX adds


def test_every_job_gets_what_awx_says_about_it_by_two_names_and_nobody_can_set_it():
    there = awx()
    job_template(there, "a", question("awx_job_id"), extra_vars={"tower_job_id": 0})
    job = there.launch("a", {"awx_job_id": "../../tmp"})
    for prefix in ("awx", "tower"):
        found = {key: job["variables"][f"{prefix}_{key}"] for key in ("job_id", "job_launch_type", "user_name")}
        assert found == {"job_id": job["id"], "job_launch_type": "manual", "user_name": "admin"}
        assert job["variables"][f"{prefix}_job_template_name"] == "a"
        assert job["variables"][f"{prefix}_inventory_name"] == "Hosts"
    assert "awx_workflow_job_id" not in job["variables"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("template", {"own"}), ("never", set()), ("always", {"own", "changed", "answer", "deep"})],
)
def test_jinja_is_left_to_a_templates_own_variables(setting, expected):
    """Seen on a running AWX, with all three."""
    own = {"own": "{{ a }}", "changed": "{{ a }}"}
    variables = {"own": "{{ a }}", "changed": "{{ b }}", "answer": "{{ c }}", "deep": [{"k": "{{ d }}"}]}
    assert awx_rules.may_template(variables, own, setting) == expected
    text = awx_rules.dump(variables, own, setting)
    assert text.count("!unsafe") == sum(
        {"own": 2, "changed": 2, "answer": 2, "deep": 3}[k] for k in variables.keys() - expected
    )
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))
    assert yaml.load(text, loader) == variables


def test_a_job_is_written_by_the_setting():
    there = awx()
    job_template(there, "a", question("x"), extra_vars={"own": "{{ y }}"})
    job = there.launch("a", {"x": "{{ z }}"})
    assert "own: '{{ y }}'" in there.extravars(job)
    assert "!unsafe 'x': !unsafe '{{ z }}'" in there.extravars(job)
    there.settings["ALLOW_JINJA_IN_EXTRA_VARS"] = "never"
    assert "!unsafe 'own': !unsafe '{{ y }}'" in there.extravars(job)


# Rights


@pytest.fixture
def staffed():
    """A workflow of check, approval and run; one may launch it, one may approve, one reads the check."""
    there = awx()
    job_template(there, "check")
    job_template(there, "run")
    nodes = {
        "check": {"template": "check", "success": ["approval"]},
        "approval": {"approval": "Run it?", "success": ["run"]},
        "run": {"template": "run"},
    }
    workflow(there, "w", **nodes)
    there.users = {name: there.user(name) for name in ("nobody", "launcher", "approver", "reader")}
    there.users["member"] = there.user("member", "operators")
    flow = there.template("w")
    there.grant(flow, "execute_role", user=there.users["launcher"])
    there.grant(flow, "approval_role", user=there.users["approver"])
    there.grant(flow, "approval_role", user=there.users["reader"])
    there.grant(there.template("check"), "read_role", user=there.users["reader"])
    there.grant(flow, "execute_role", team=there.named("teams")["operators"])
    return there


def test_a_workflow_is_launched_by_who_may_execute_it_and_approved_by_who_may_approve(staffed):
    """Seen on a running AWX."""
    users = staffed.users
    for name in ("nobody", "approver"):
        assert code_of(staffed.launch, "w", user=users[name]) == (403, {"detail"})
    assert code_of(staffed.launch, "run", user=users["launcher"]) == (403, {"detail"}), "not by itself"
    done = staffed.run_workflow("w", user=users["member"], approve=lambda _approval: None)
    assert done[0]["variables"]["awx_user_name"] == "member"
    (approval,) = staffed.waiting(done.workflow)
    path = ["workflow_approvals", approval["id"]]
    for name in ("nobody", "launcher", "member"):
        assert code_of(staffed.post, [*path, "approve"], {}, users[name]) == (403, {"detail"})
    assert code_of(staffed.get, path, {}, users["nobody"]) == (403, {"detail"})
    assert staffed.get(path, {}, users["approver"])[0] == 200
    assert staffed.post([*path, "approve"], {}, users["approver"])[0] == 204


def test_the_checks_output_is_read_only_by_who_may_read_the_check(staffed):
    """Seen on a running AWX: neither the one who launches nor the one who approves reads the plan."""
    done = staffed.run_workflow("w", user=staffed.users["launcher"])
    path = ["jobs", done[0]["id"], "stdout"]
    for name in ("launcher", "approver", "nobody"):
        assert code_of(staffed.get, path, {}, staffed.users[name]) == (403, {"detail"})
    assert staffed.get(path, {}, staffed.users["reader"])[0] == 200
    assert staffed.get(path, {}, staffed.admin)[0] == 200
    auditor = staffed.user("auditor", is_system_auditor=True)
    assert staffed.get(path, {}, auditor)[0] == 200
    assert code_of(staffed.launch, "w", user=auditor) == (403, {"detail"})


def test_who_administers_an_organization_may_do_all_of_it_and_others_see_only_their_own(staffed):
    boss = staffed.user("boss")
    staffed.grant(staffed.named("organizations")["Cloud"], "admin_role", user=boss)
    assert staffed.launch("run", user=boss)["type"] == "job"
    assert [item["name"] for item in staffed.list("unified_job_templates", {}, boss)] == ["check", "run", "w", "Nova"]
    assert [item["name"] for item in staffed.list("job_templates", {}, staffed.users["reader"])] == ["check"]
    path = ["job_templates", staffed.template("run")["id"]]
    assert staffed.patch(path, {"description": "x"}, boss)[0] == 200
    assert code_of(staffed.patch, path, {"description": "x"}, staffed.users["launcher"]) == (403, {"detail"})
    kind = {"name": "k", "kind": "cloud"}
    assert code_of(post, staffed, "credential_types", boss, **kind) == (403, {"detail"})


def test_a_role_is_given_and_taken_below_its_address(staffed):
    number = staffed.template("run")["summary_fields"]["object_roles"]["execute_role"]["id"]
    team = staffed.named("teams")["operators"]["id"]
    path, member = ["roles", number, "teams"], staffed.users["member"]
    assert code_of(staffed.post, path, {"id": team}, member) == (403, {"detail"})
    assert staffed.post(path, {"id": team})[0] == 204
    assert [item["id"] for item in staffed.get(path, {})[1]["results"]] == [team]
    assert staffed.launch("run", user=member)["status"] == "pending"
    assert staffed.post(path, {"id": team, "disassociate": True})[0] == 204
    assert code_of(staffed.launch, "run", user=member) == (403, {"detail"})


def test_a_schedule_is_made_by_who_may_launch_and_changed_by_who_made_it(staffed):
    users, template = staffed.users, staffed.template("w")
    schedule = {"name": "n", "rrule": NIGHTLY, "unified_job_template": template["id"]}
    assert code_of(post, staffed, "schedules", users["approver"], **schedule) == (403, {"detail"})
    made = post(staffed, "schedules", users["launcher"], **schedule)
    path = ["schedules", made["id"]]
    assert staffed.patch(path, {"enabled": False}, users["launcher"])[0] == 200
    assert code_of(staffed.patch, path, {"enabled": True}, users["member"]) == (403, {"detail"})


def test_settings_are_for_administrators():
    there = awx()
    there.settings["AWX_ISOLATION_SHOW_PATHS"] = ["/var/lib/x:/var/lib/x:z"]
    found = there.get(["settings", "jobs"], {})[1]
    assert found["ALLOW_JINJA_IN_EXTRA_VARS"] == "template"
    assert found["AWX_ISOLATION_SHOW_PATHS"] == ["/var/lib/x:/var/lib/x:z"]
    assert code_of(there.get, ["settings", "jobs"], {}, there.user("u")) == (403, {"detail"})
    assert there.patch(["settings", "jobs"], {"ALLOW_JINJA_IN_EXTRA_VARS": "always"})[0] == 200


# Objects


def test_what_an_object_does_not_have_is_dropped_and_what_it_needs_is_asked_for():
    there = awx()
    organization, inventory, project = (
        item["id"]
        for item in (
            there.named("organizations")["Cloud"],
            there.named("inventories")["Hosts"],
            there.named("projects")["Nova"],
        )
    )
    good = {"name": "a", "playbook": "p.yml", "inventory": inventory, "project": project, "organization": 99, "x": 1}
    made = post(there, "job_templates", **good)
    assert (made["organization"], "x" in made, made["ask_limit_on_launch"]) == (organization, False, False)
    assert code_of(post, there, "job_templates", **good) == (400, {"__all__"})
    for field in ("project", "inventory", "playbook", "name"):
        assert code_of(post, there, "job_templates", **{**good, "name": "b", field: None}) == (400, {field})
    assert code_of(post, there, "job_templates", **{**good, "name": "b", "project": 99}) == (400, {"project"})
    assert code_of(post, there, "job_templates", **{**good, "name": "b", "extra_vars": "- a"}) == (400, {"extra_vars"})
    there.named("projects")["Nova"]["playbook_files"] = ["q.yml"]
    assert code_of(post, there, "job_templates", **{**good, "name": "b"}) == (400, {"playbook"})


def test_a_type_of_credentials_in_use_stays_and_a_template_has_one_credential_of_each():
    there = awx()
    assert code_of(post, there, "credential_types", name="k", kind="ssh") == (400, {"kind"})
    kind = post(there, "credential_types", name="k", kind="cloud")
    template = job_template(there, "a")
    path = ["job_templates", template["id"], "credentials"]
    made = [there.create("credentials", {"name": name, "credential_type": kind["id"]}) for name in "ab"]
    assert there.post(path, {"id": made[0]["id"]})[0] == 204
    assert code_of(there.post, path, {"id": made[1]["id"]}) == (400, {"error"})
    assert code_of(there.delete, ["credential_types", kind["id"]], None) == (403, {"detail"})
    for one in made:
        there.delete(["credentials", one["id"]], None)
    assert there.delete(["credential_types", kind["id"]], None)[0] == 204
    assert there.associated[template["id"], "credentials"] == []


def test_an_organization_takes_galaxy_credentials_only():
    there = awx()
    path = ["organizations", there.named("organizations")["Cloud"]["id"], "galaxy_credentials"]
    assert there.get(path, {})[1]["count"] == 0
    assert code_of(there.post, path, {"id": there.named("credentials")["ssh"]["id"]}) == (400, {"msg"})
    galaxy = there.create("credentials", {"name": "Galaxy", "kind": "galaxy_api_token"})
    there.post(path, {"id": galaxy["id"]})
    assert [item["name"] for item in there.get(path, {})[1]["results"]] == ["Galaxy"]


def test_lists_come_in_pages_and_by_query():
    there = awx()
    there.hosts("Hosts", {f"compute{number:02}": {"ansible_host": str(number)} for number in range(30)})
    path = ["inventories", there.named("inventories")["Hosts"]["id"], "hosts"]
    first = there.get(path, {})[1]
    assert (first["count"], len(first["results"]), first["previous"]) == (30, 25, None)
    assert first["next"].endswith("/hosts/?page=2")
    assert len(there.get(path, {"page": "2"})[1]["results"]) == 5
    assert there.get(path, {"page_size": "200"})[1]["next"] is None
    assert "page_size=10" in there.get(path, {"page_size": "10"})[1]["next"]
    assert code_of(there.get, path, {"page": "3"}) == (404, {"detail"})
    (host,) = there.get(["hosts"], {"name": "compute07", "inventory__name": "Hosts"})[1]["results"]
    assert json.loads(host["variables"]) == {"ansible_host": "7"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"name": "a"}, ["a"]),
        ({"name__in": "a,b"}, ["a", "b"]),
        ({"not__name": "a"}, ["b", "w", "Nova"]),
        ({"type": "workflow_job_template"}, ["w"]),
        ({"type": "workflow_approval"}, []),
        ({"organization__name": "Cloud", "name__startswith": "w"}, ["w"]),
        ({"organization__name": "Other"}, []),
        ({"or__id": "0", "or__name": "b"}, ["b"]),
        ({"name__icontains": "NOV"}, ["Nova"]),
        ({"organization__isnull": "true"}, []),
    ],
)
def test_a_list_has_what_the_query_asks_for(query, expected):
    there = awx()
    job_template(there, "a")
    job_template(there, "b")
    workflow(there, "w")
    assert [item["name"] for item in there.list("unified_job_templates", query)] == expected


def test_a_query_for_a_field_that_does_not_exist_is_refused():
    assert code_of(awx().list, "no_such_things", {}) == (404, {"detail"})
    there = awx()
    job_template(there, "a")
    assert code_of(there.list, "job_templates", {"colour": "red"}) == (400, {"detail"})


# The modules of awx.awx

PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    found: >-
      {{ query('awx.awx.controller_api', 'workflow_job_template_nodes', return_all=true,
               query_params={'page_size': 1}) }}
  tasks:
    - awx.awx.credential_type: {name: K, kind: cloud, inputs: {fields: []}, injectors: {}}
    - awx.awx.job_template:
        name: check
        organization: Cloud
        project: Nova
        inventory: Hosts
        playbook: play.yml
        credentials: [ssh]
        survey_enabled: true
        survey_spec: {name: '', description: '', spec: [{variable: x, question_name: x, type: text, required: false}]}
    - awx.awx.workflow_job_template: {name: w, organization: Cloud, inventory: Hosts}
    - awx.awx.workflow_job_template_node:
        workflow: w
        organization: Cloud
        identifier: check
        unified_job_template: check
        lookup_organization: Cloud
        extra_data: {x: y}
    - awx.awx.workflow_job_template_node:
        {workflow: w, organization: Cloud, identifier: approval, approval_node: {name: 'Go on?', description: d}}
    - awx.awx.workflow_job_template_node:
        {workflow: w, organization: Cloud, identifier: check, unified_job_template: check, success_nodes: [approval]}
    - awx.awx.schedule:
        {name: nightly, unified_job_template: check, organization: Cloud, rrule: '%(rrule)s', extra_data: {x: z}}
    - awx.awx.role: {teams: [operators], role: execute, workflows: [w], lookup_organization: Cloud}
    - awx.awx.schedule:
        {name: bad, unified_job_template: check, organization: Cloud, rrule: '%(rrule)s', extra_data: {other: z}}
      register: refused
      failed_when: refused.msg is not search("extra_data")
    - ansible.builtin.copy: {dest: "{{ told }}", content: "{{ found | to_json }}", mode: '0600'}
"""


@pytest.mark.ansible
def test_the_modules_of_awx_awx_work_with_it_and_change_nothing_twice(tmp_path):
    subprocess.run([ROOT / "tests" / "gates" / "awx.sh"], check=True, stdin=subprocess.DEVNULL)
    (tmp_path / "play.yml").write_text(PLAY % {"rrule": NIGHTLY})
    there, told = awx(), tmp_path / "told"
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "awx" / "collections"), "ANSIBLE_NOCOLOR": "1"}
    env.update(ANSIBLE_HOME=str(tmp_path / "home"), ANSIBLE_LOCALHOST_WARNING="0", CONTROLLER_OAUTH_TOKEN="t0ken")
    argv = [sys.executable, "-m", "ansible", "playbook", "-e", f"told={told}", str(tmp_path / "play.yml")]
    with serving(there) as address:
        env["CONTROLLER_HOST"] = address
        for changed in (9, 0):
            done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert f"changed={changed} " in done.stdout, done.stdout
        env["CONTROLLER_OAUTH_TOKEN"] = "wrong"
        assert subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, check=False).returncode != 0
    assert [(path, code) for path, _, code, _ in there.refused] == [(["schedules"], 400)] * 2
    assert {node["identifier"] for node in json.loads(told.read_text())} == {"check", "approval"}, "of two pages"
    follow = {name: edges for name, (_, edges) in there.nodes("w").items()}
    assert follow == {"check": {"success": ["approval"]}, "approval": {}}
    member = there.user("member", "operators")
    assert there.launch("w", user=member)["status"] == "running"
    assert there.fire("nightly")["variables"]["x"] == "z"
