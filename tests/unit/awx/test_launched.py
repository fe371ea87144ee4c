# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every template and workflow is launched through a controller with AWX's rules, and so is all of the guide.

What a job gets is compared with what its role takes; jobs that run are in test_jobs.py and test_hostile.py.
"""

from __future__ import annotations

import json
import re

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.stackguard.nova.plugins.plugin_utils import awx_found, awx_table
from ansible_collections.stackguard.nova.tests.unit.awx.awx_rules import may_template
from ansible_collections.stackguard.nova.tests.unit.awx.data import LINES, TEMPLATES, WORKFLOWS, asked, objects, options
from ansible_collections.stackguard.nova.tests.unit.awx.small_awx import Awx, Refused
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

HOSTS = {"lasting1": {}, "compute1": {}, "compute2": {}, "compute3": {}}
ACTING = {name for name, line in LINES.items() if not line.reads}
#: What the tests of every playbook type, by its variable; and what a server is resized to.
ANSWERS = {key: value for entry in entries().values() for key, value in entry.answered.items()}


def installed(made, teams=("ops", "leads", "night")):
    """A controller with the objects, as the modules create them."""
    there = Awx(
        organizations=["Cloud"],
        inventories=["Hosts", "Compute hosts"],
        projects=["Nova", "stackguard.nova"],
        execution_environments=["nova", "nova-ee"],
        teams=list(teams),
        credentials=["ssh"],
    )
    there.hosts("Hosts", HOSTS)
    there.hosts("Compute hosts", HOSTS)
    for item in made["controller_templates"]:
        _template(there, item, "job_templates", project=number(there, "projects", item["project"]))
    for item in made["controller_workflows"]:
        template = _template(
            there, item, "workflow_job_templates", organization=number(there, "organizations", "Cloud")
        )
        _nodes(there, template, item["simplified_workflow_nodes"])
    for item in made["controller_schedules"]:
        fields = {key: item[key] for key in ("name", "description", "rrule", "enabled", "extra_data")}
        there.post(
            ["schedules"], {**fields, "unified_job_template": there.template(item["unified_job_template"])["id"]}
        )
    for item in made["controller_roles"]:
        for name in item.get("job_templates", item.get("workflows")):
            for team in item["teams"]:
                there.grant(there.template(name), f"{item['role']}_role", team=there.named("teams")[team])
    return there


def number(there, collection, name):
    return there.named(collection)[name]["id"]


def _template(there, item, collection, **refers):
    left = ("survey_spec", "simplified_workflow_nodes", "credentials", "execution_environment", "project")
    fields = {key: value for key, value in item.items() if key not in left and not key.startswith("notification")}
    fields.update(refers, inventory=number(there, "inventories", item["inventory"]))
    if "extra_vars" in fields:
        fields["extra_vars"] = json.dumps(fields["extra_vars"])
    made = there.post([collection], fields)[1]
    if "survey_spec" in item:
        there.post([collection, made["id"], "survey_spec"], item["survey_spec"])
    return made


def _nodes(there, workflow, nodes):
    numbers = {}
    for node in nodes:
        fields = {"workflow_job_template": workflow["id"], "identifier": node["identifier"]}
        if "unified_job_template" in node:
            fields["unified_job_template"] = there.template(node["unified_job_template"])["id"]
        if node["extra_data"]:
            fields["extra_data"] = node["extra_data"]
        numbers[node["identifier"]] = there.post(["workflow_job_template_nodes"], fields)[1]["id"]
        if "approval_node" in node:
            path = ["workflow_job_template_nodes", numbers[node["identifier"]], "create_approval_template"]
            there.post(path, node["approval_node"])
    for node in nodes:
        for kind in ("success_nodes", "always_nodes", "failure_nodes"):
            for other in node[kind]:
                path = ["workflow_job_template_nodes", numbers[node["identifier"]], kind]
                there.post(path, {"id": numbers[other]})


@pytest.fixture(scope="module")
def controller():
    """The objects of the example, with teams."""
    teams = {"operators": ["ops"], "approvers": ["leads"], "on_call": ["night"]}
    there = installed(objects(teams=teams).all())
    for name in ("ops", "leads", "night"):
        there.user(name, name)
    there.user("nobody")
    return there


def user(there, name):
    (found,) = [item for item in there.items["users"].values() if item["username"] == name]
    return found


#: Every variable of every survey.
ANSWERED = {name for item in [*TEMPLATES.values(), *WORKFLOWS.values()] for name in asked(item)}


def answers_of(item):
    """What somebody must answer, and what the tests of its playbook type."""
    given = {}
    for name, question in asked(item).items():
        if name in ANSWERS:
            given[name] = ANSWERS[name]
        elif question["required"]:
            given[name] = question["choices"][0] if "choices" in question else "name1"
    return given


def assert_role_takes(job, template):
    """The role takes what AWX gives, but for what Ansible has still to fill in."""
    taken = options(TEMPLATES[template]["playbook"])
    variables = {name: value for name, value in job["variables"].items() if not re.match("(awx|tower)_", name)}
    variables.pop("stackguard", None)
    # A workflow's answers reach each node, which leaves those of other playbooks alone.
    assert set(variables) <= set(taken) | ANSWERED
    plain = {name: value for name, value in variables.items() if name in taken and "{{" not in str(value)}
    # What is checked is what is there.
    spec = {name: {**option, "required": False, "default": None} for name, option in taken.items() if name in plain}
    result = ArgumentSpecValidator(spec).validate(plain)
    assert result.error_messages == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_launched_with_the_answers_that_it_requires(controller, name):
    job = controller.launch(name, answers_of(TEMPLATES[name]))
    assert job["ignored_fields"] == {}
    jobs = controller.carry_on(job) if job["type"] == "workflow_job" else [job]
    assert jobs
    for one in jobs:
        assert_role_takes(one, name)
        for variable, question in asked(TEMPLATES[name]).items():
            assert variable in one["variables"] or not (question["required"] or "default" in question)


@pytest.mark.parametrize("name", [name for name in TEMPLATES if asked(TEMPLATES[name])])
def test_only_names_have_to_be_answered(controller, name):
    """Schedules and other programs launch with what they must say, and get every default (W1)."""
    required = {
        key: value for key, value in answers_of(TEMPLATES[name]).items() if asked(TEMPLATES[name])[key]["required"]
    }
    job = controller.launch(name, required)
    for variable, question in asked(TEMPLATES[name]).items():
        if "default" in question:
            default = question["default"]
            assert job["variables"][variable] == (default.split("\n") if question["type"] == "multiselect" else default)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_launch_gives_a_template_nothing_that_no_survey_asks(controller, name):
    hostile = {
        "ansible_connection": "local",
        "stackguard_ceph_command": "id",
        "stackguard_overrides": [],
        "x": "{{ x }}",
    }
    job = controller.launch(name, {**answers_of(TEMPLATES[name]), **hostile})
    jobs = controller.carry_on(job) if job["type"] == "workflow_job" else [job]
    for one in jobs:
        assert not {"ansible_connection", "stackguard_ceph_command", "x"} & set(one["variables"])
        assert isinstance(one["variables"]["stackguard_overrides"], str)


@pytest.mark.parametrize(
    "name", [name for name in TEMPLATES if any(q["type"].startswith("text") for q in asked(TEMPLATES[name]).values())]
)
def test_jinja_in_an_answer_stays_text(controller, name):
    texts = {key for key, question in asked(TEMPLATES[name]).items() if question["type"].startswith("text")}
    answers = {**answers_of(TEMPLATES[name]), **dict.fromkeys(texts, "{{ lookup('pipe', 'id') }}")}
    job = controller.launch(name, answers)
    assert not texts & may_template(job["variables"], TEMPLATES[name]["extra_vars"])
    report = "stackguard_report_dir"
    assert report in may_template(job["variables"], TEMPLATES[name]["extra_vars"])


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_refuses_what_it_does_not_ask(controller, name):
    with pytest.raises(Refused) as refused:
        controller.launch(name, {**answers_of(WORKFLOWS[name]), "ansible_connection": "local"})
    assert refused.value.code == 400


def told(job):
    """What the job of a check or a run publishes."""
    return "successful", {
        "stackguard": {"operation": LINES[job["name"]].playbook, "report_dir": "/x", "plan_sha256": "0"}
    }


OPERATIONS = [name for name in WORKFLOWS if name != "Nova: audit in slices"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_workflow_waits_for_an_approval_before_it_acts(controller, name):
    answers = answers_of(WORKFLOWS[name])
    waiting = controller.run_workflow(name, answers, run=told, approve=lambda _approval: None)
    assert not {job["name"] for job in waiting} & ACTING
    denied = controller.run_workflow(name, answers, run=told, approve=False)
    assert denied.status == "failed" and not {job["name"] for job in denied} & ACTING
    done = controller.run_workflow(name, answers, run=told)
    assert done.status == "successful"
    (run,) = [job for job in done if job["name"] in ACTING]
    for job in done:
        if job["name"] in TEMPLATES:
            assert_role_takes(job, job["name"])
    # What the check published is there for the plan that is expected.
    assert run["variables"]["stackguard"]["plan_sha256"] == "0"
    expect = [key for key in run["variables"] if key.endswith("_expect_plan")]
    assert len(expect) == 1 and set(expect) <= may_template(run["variables"], TEMPLATES[run["name"]]["extra_vars"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_check_that_fails_ends_the_workflow(controller, name):
    failed = controller.run_workflow(
        name,
        answers_of(WORKFLOWS[name]),
        run=lambda job: ("failed", {}) if job["name"].endswith(", check") else told(job),
    )
    assert failed.status == "failed"
    assert not {job["name"] for job in failed} & ACTING


@pytest.mark.parametrize("failing", [None, "Nova: audit, the cloud", "Nova: audit, the hosts"])
@pytest.mark.parametrize("fail_on", [None, "blocker", "warning", "never"])
def test_a_sliced_audit_is_put_together_whatever_its_parts_came_to(controller, failing, fail_on):
    """The workflow's answer used to beat the parts' own "never": a cloud with a blocker was not audited (W3)."""

    def run(job):
        place = f"/x/{job['id']}"
        return ("failed" if job["name"] == failing else "successful"), {"stackguard": {"report_dir": place}}

    answers = {} if fail_on is None else {"stackguard_awx_fail_on": fail_on}
    done = controller.run_workflow("Nova: audit in slices", answers, run=run)
    parts = [job for job in done if job["name"] != "Nova: audit, put together"]
    assert [job["variables"]["audit_fail_on"] for job in parts] == ["never"] * len(parts)
    assert sum(job["name"] == "Nova: audit, the hosts" for job in done) == 4
    (last,) = [job for job in done if job["name"] == "Nova: audit, put together"]
    assert last["variables"].get("stackguard_awx_fail_on", "blocker") == (fail_on or "blocker")
    assert "audit_fail_on" in may_template(last["variables"], TEMPLATES[last["name"]]["extra_vars"])
    assert "audit_accept_empty" in parts[-1]["variables"]


@pytest.mark.parametrize("linked", [False, True], ids=["before the edges", "before the templates"])
def test_a_workflow_that_configure_left_half_made_acts_on_nothing(linked):
    """Nodes get their templates last: one that nothing leads to would start, without an approval."""
    there = installed(objects().all())
    for node in there.items["workflow_job_template_nodes"].values():
        there.associated.update({(node["id"], kind): [] for kind in awx_found.EDGES if not linked})
        approval = node["unified_job_template"] in there.items["workflow_approval_templates"]
        node["unified_job_template"] = node["unified_job_template"] if approval else None
    for name in OPERATIONS:
        done = there.run_workflow(name, answers_of(WORKFLOWS[name]), run=told)
        assert not {job["name"] for job in done} & set(TEMPLATES)


def test_only_who_is_on_call_acts_without_an_approval(controller):
    for name, template in TEMPLATES.items():
        for who in ("ops", "leads", "night", "nobody"):
            may = (who == "night") if name in ACTING else (who == "ops")
            if may:
                controller.launch(name, answers_of(template), user=user(controller, who))
            else:
                with pytest.raises(Refused) as refused:
                    controller.launch(name, answers_of(template), user=user(controller, who))
                assert refused.value.code == 403


@pytest.mark.parametrize("name", OPERATIONS)
def test_who_approves_reads_the_plan_and_who_launches_does_not_approve(controller, name):
    launched = controller.run_workflow(
        name, answers_of(WORKFLOWS[name]), run=told, approve=lambda _approval: None, user=user(controller, "ops")
    )
    (check,) = [job for job in launched if job["name"].endswith(", check")]
    (approval,) = controller.waiting(launched.workflow)
    path = ["workflow_approvals", approval["id"], "approve"]
    assert controller.get(["jobs", check["id"], "stdout"], {}, user(controller, "leads"))[0] == 200
    with pytest.raises(Refused) as refused:
        controller.post(path, {}, user(controller, "ops"))
    assert refused.value.code == 403
    assert controller.post(path, {}, user(controller, "leads"))[0] == 204


# The guide


def guide():
    """What the guide says to write into mine.yml, and what its rename is answered."""
    text = (ROOT / "docs" / "guides" / "awx.md").read_text()
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    found = []
    for block in blocks:
        try:
            given = yaml.safe_load(re.sub("^    ", "", block, flags=re.MULTILINE))
        except yaml.YAMLError:
            continue
        found += [given] if isinstance(given, dict) else []
    settings = {key: value for block in found for key, value in block.items() if key.startswith("nova_awx_")}
    (answers,) = [block for block in found if "rename_from" in block]
    return {key.removeprefix("nova_awx_"): value for key, value in settings.items()}, answers


def test_all_of_the_guide_is_launched():
    settings, answers = guide()
    assert {"organization", "state_host", "credentials", "teams", "schedules", "extra_vars"} <= set(settings)
    assert set(settings["credentials"]) <= set(awx_table.KINDS)
    made = objects(**settings)
    assert made.wrong_schedules() == []
    there = installed(made.all(), [team for teams in settings["teams"].values() for team in teams])
    jobs = {
        "ALLOW_JINJA_IN_EXTRA_VARS": "template",
        "AWX_ISOLATION_SHOW_PATHS": ["/var/lib/stackguard/awx:/var/lib/stackguard/awx:z"],
    }
    found = awx_found.Found(jobs, [{"name": settings["state_host"]}], [{"name": settings["execution_environment"]}])
    assert awx_found.find_problems(found, vars(made.settings)) == []
    for schedule in there.items["schedules"].values():
        assert there.fire(schedule)["variables"]["audit_sources"] == ["hosts", "api", "databases"]
    for name in ("Nova: doctor", "Nova: audit"):
        assert_role_takes(there.launch(name), name)
    done = there.run_workflow("Nova: rename a compute host", answers, run=told)
    assert [job["name"] for job in done if job["name"] in TEMPLATES][-2:] == ["Nova: rename", "Nova: audit"]
    assert there.run_workflow("Nova: audit in slices", run=told).status == "successful"
    fence = there.launch("Nova: evacuate", answers_of(TEMPLATES["Nova: evacuate"]))
    assert (
        fence["variables"]["evacuate_fence_command"]
        == settings["extra_vars"]["evacuate_host.yml"]["evacuate_fence_command"]
    )
    for word in re.findall(
        r"Nova: [a-z ]+[a-z]",
        " ".join(re.findall(r"[*`\"](Nova: [^*`\"]+)[*`\"]", (ROOT / "docs/guides/awx.md").read_text())),
    ):
        assert word in TEMPLATES or word in WORKFLOWS, word
