# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/awx against the collection: a survey asks what the role takes, and every playbook has its template."""

from __future__ import annotations

import jinja2
import pytest

from ansible_collections.stackguard.nova.plugins.plugin_utils import awx_table
from ansible_collections.stackguard.nova.tests.unit.awx import awx_rules
from ansible_collections.stackguard.nova.tests.unit.awx.data import (
    COMMON,
    LINES,
    QUESTIONS,
    TEMPLATES,
    TYPES,
    WORKFLOWS,
    asked,
    objects,
    options,
)
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

#: Of the connection to cloud and databases, which roles take from variables without naming them, and of AWX.
CONNECTION = {"cloud", "nova_api_db_url", "neutron_db_url", "stackguard_rabbit_urls"}
OVN = {"ovn_nb_connection", "ovn_sb_connection", "ovn_private_key", "ovn_certificate", "ovn_ca_cert"}
#: Answered as text, and made the role's by the extra variables that every template has.
THROUGH = {awx_table.OVERRIDES: "stackguard_overrides", awx_table.FAIL_ON: "audit_fail_on"}
#: What each kind of answer can be taken as. Lists are given as text with commas between, or chosen from.
#: Playbooks that change nothing, with and without check mode.
READ_ONLY = {"audit.yml", "doctor.yml", "explain.yml"}
TYPES_TAKEN = {
    "text": {"str", "raw", "list"},
    "multiplechoice": {"str", "bool"},
    "multiselect": {"list"},
    "integer": {"int"},
    "float": {"float"},
}


def playbooks():
    return {path.name for path in (ROOT / "playbooks").glob("*.yml")}


def playbook(template):
    return template["playbook"].rpartition("/")[2]


def test_every_playbook_has_a_template_and_what_changes_something_one_that_checks():
    templates = list(TEMPLATES.values())
    assert {playbook(item) for item in templates} == playbooks()
    checked = {playbook(item) for item in templates if item["job_type"] == "check" and item["diff_mode"]}
    assert checked == playbooks() - READ_ONLY


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_gives_only_what_the_role_takes(name):
    template = TEMPLATES[name]
    taken = options(template["playbook"])
    assert set(LINES[name].credentials) <= set(awx_table.KINDS)
    given = {THROUGH.get(variable, variable) for variable in {*template["extra_vars"], *asked(template)}}
    assert given <= set(taken), f"{given - set(taken)} are no variables of {template['playbook']}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_gives_all_that_the_role_needs(name):
    template = TEMPLATES[name]
    needed = {key for key, option in options(template["playbook"]).items() if option.get("required")}
    required = {key for key, question in asked(template).items() if question["required"]}
    assert needed <= required | set(template["extra_vars"])


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_has_its_journal_on_a_host_reaches_that_host(name):
    """A resize without a machine credential ended with: the host that keeps the journal does not answer (W2)."""
    tasks = (ROOT / "roles" / LINES[name].playbook / "tasks").glob("*.yml")
    delegates = any("stackguard_state_host" in path.read_text() for path in tasks)
    evidence = "audit_evidence" in TEMPLATES[name]["extra_vars"]
    assert (awx_table.MACHINE in LINES[name].credentials) or evidence or not delegates


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_can_only_be_answered_as_the_role_takes_it(name):
    question = QUESTIONS[name]
    assert question["variable"] == name
    users = {item["playbook"] for item in TEMPLATES.values() if name in asked(item)}
    if name == awx_table.OVERRIDES:
        assert COMMON["stackguard_overrides"] == "{{ " + name + " | default('') | stackguard.nova.overrides }}"
        assert (question["type"], question["required"]) == ("textarea", False)
        return
    assert users, "nobody asks it"
    for user in users:
        option = options(user)[awx_table.ASKED_AS.get(name, name)]
        assert option["type"] in TYPES_TAKEN[question["type"]]
        choices = question.get("choices")
        if option.get("choices"):
            assert set(choices) <= set(option["choices"])
        if option["type"] == "bool":
            assert set(choices) == {"true", "false"}
        if "default" in question and option.get("default") is not None:
            assert plain(question["default"]) == plain(option["default"]), "the survey's default is not the role's"


@pytest.mark.parametrize("name", QUESTIONS)
def test_awx_would_take_the_question(name):
    assert awx_rules.survey_error({"name": "", "description": "", "spec": [QUESTIONS[name]]}) is None


def test_a_question_with_a_default_need_not_be_answered():
    """In AWX's API a required question wants an answer, whatever its default is (W1)."""
    for name, question in QUESTIONS.items():
        assert not (question["required"] and "default" in question), name


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_default_of_a_list_stands_in_the_extra_variables_too(name):
    """AWX takes such a default for no answer: it is text (awx/main/models/mixins.py, _survey_element_validation)."""
    template = TEMPLATES[name]
    for variable, question in asked(template).items():
        if question["type"] == "multiselect" and "default" in question:
            assert template["extra_vars"][variable] == question["default"].split("\n")


def plain(value):
    return (
        "\n".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
    )


def test_no_survey_asks_for_a_command_a_file_a_secret_or_a_structure():
    for name, question in QUESTIONS.items():
        assert question["type"] != "password"
        assert not name.startswith("ansible_") and name != "stackguard_overrides"
        assert not name.endswith(
            ("_command", "_url", "_urls", "_options", "_module", "_dir", "_files", "_conf", "_uri")
        )


def test_only_the_audits_slices_run_side_by_side():
    for name, template in TEMPLATES.items():
        assert template["allow_simultaneous"] == (name == "Nova: audit, the hosts")
        assert template["job_slice_count"] == (4 if name == "Nova: audit, the hosts" else 1)


def following(node):
    return [other for kind in ("success_nodes", "always_nodes", "failure_nodes") for other in node[kind]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_is_made_of_templates_and_asks_what_they_need(name):
    workflow = WORKFLOWS[name]
    nodes = {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}
    followers = [other for node in nodes.values() for other in following(node)]
    assert sorted(followers) == sorted(list(nodes)[1:]), "every node but the first follows exactly one"
    for node in nodes.values():
        if "approval_node" in node:
            continue
        template = TEMPLATES[node["unified_job_template"]]
        assert set(node["extra_data"]) <= set(asked(template))
        needed = {key for key, question in asked(template).items() if question["required"]}
        assert needed <= set(asked(workflow))
        # AWX gives a workflow's answers to each node, above what its template says (W3).
        assert not set(asked(workflow)) & (set(template["extra_vars"]) | set(node["extra_data"]))
    for key in asked(workflow):
        templates = [node["unified_job_template"] for node in nodes.values() if "unified_job_template" in node]
        assert any(key in asked(TEMPLATES[template]) for template in templates)


def test_nothing_is_changed_in_a_workflow_before_somebody_has_approved_it():
    for workflow in WORKFLOWS.values():
        approved = False
        for node in workflow["simplified_workflow_nodes"]:
            approved = approved or "approval_node" in node
            if "unified_job_template" in node:
                template = TEMPLATES[node["unified_job_template"]]
                changes = playbook(template) not in READ_ONLY and template["job_type"] != "check"
                assert approved or not changes, node["identifier"]


def expected(template, artifacts):
    """What a template expects of its plan, as Ansible fills it in."""
    ((name, text),) = [item for item in TEMPLATES[template]["extra_vars"].items() if item[0].endswith("_expect_plan")]
    assert name in options(TEMPLATES[template]["playbook"])
    return jinja2.Environment().from_string(text).render(**artifacts).strip()


def test_every_check_has_a_workflow_in_which_its_plan_goes_from_the_approval_to_the_run():
    ways = set()
    for workflow in WORKFLOWS.values():
        nodes = {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}
        for node in nodes.values():
            follows = [nodes[other] for other in node["success_nodes"]]
            if any("approval_node" in other for other in follows):
                (approval,) = follows
                (run,) = [nodes[other]["unified_job_template"] for other in approval["success_nodes"]]
                assert f"{run}, check" == node["unified_job_template"]
                assert asked(TEMPLATES[f"{run}, check"]) == asked(TEMPLATES[run])
                assert set(asked(TEMPLATES[run])) <= set(asked(workflow))
                ways.add(run)
    checks = {name.removesuffix(", check") for name, item in TEMPLATES.items() if item["job_type"] == "check"}
    assert ways == checks


@pytest.mark.parametrize("name", [name[: -len(", check")] for name in TEMPLATES if name.endswith(", check")])
def test_a_run_expects_the_plan_of_the_check_before_it_and_is_refused_where_that_had_none(name):
    operation = playbook(TEMPLATES[name]).removesuffix(".yml")
    told = {"operation": operation, "plan_sha256": "0" * 64, "report_dir": "/x/jobs/7"}
    assert expected(name, {"stackguard": told}) == "0" * 64 + "@/x/jobs/7/plan.json"
    assert expected(name, {}) == ""
    assert expected(name, {"stackguard": {"operation": "audit"}}) == "", "an audit approves nothing"
    assert expected(name, {"stackguard": {**told, "operation": "another"}}) == ""
    for none in ({}, {"plan_sha256": None}, {"plan_sha256": ""}):
        assert expected(name, {"stackguard": {"operation": operation, **none}}) == "none", "it stands for no plan"


def test_who_acts_without_an_approval_is_on_call_and_nobody_else():
    """Execute on what changes something passes round the approval; who approves must be able to read the check (W5)."""
    teams = {"operators": ["ops"], "approvers": ["leads"], "on_call": ["night"]}
    given = {}
    for item in objects(teams=teams).roles():
        for name in item.get("job_templates", item.get("workflows")):
            given.setdefault((*item["teams"], item["role"]), set()).add(name)
    acting = {name for name, line in LINES.items() if not line.reads}
    assert given["night", "execute"] == acting
    assert given["ops", "execute"] == (set(TEMPLATES) | set(WORKFLOWS)) - acting
    assert given["leads", "approval"] == set(WORKFLOWS) - {"Nova: audit in slices"}
    assert {name for name in TEMPLATES if name.endswith(", check")} | {"Nova: audit"} <= given["leads", "read"]
    assert len(given) == 4
    assert objects().roles() == []


def test_credentials_hand_secrets_over_in_files_and_environments_only():
    for name, kind in TYPES.items():
        secret = {field["id"] for field in kind["inputs"]["fields"] if field.get("secret")}
        assert secret, f"{name} keeps nothing secret"
        assert set(kind["injectors"]) <= {"file", "env", "extra_vars"}
    assert set(TYPES["Nova databases"]["injectors"]["extra_vars"]) <= CONNECTION
    assert set(TYPES["OpenStack clouds.yaml"]["injectors"]["extra_vars"]) <= CONNECTION


def test_what_reads_ovn_has_its_connections_and_the_key_is_secret():
    kind = TYPES["OVN databases"]
    assert set(kind["injectors"]["extra_vars"]) == OVN
    assert {field["id"] for field in kind["inputs"]["fields"] if field.get("secret")} == {"ovn_private_key"}
    for name, template in TEMPLATES.items():
        # What was read is put together without any connection.
        role = {"enable_host": "maintain_hosts"}.get(LINES[name].playbook, LINES[name].playbook)
        tasks = (ROOT / "roles" / role).glob("tasks/*.yml")
        names = "".join(path.read_text() for path in [*tasks, ROOT / "playbooks" / playbook(template)])
        needs = set(LINES[name].credentials)
        reads = all(key in names for key in OVN) and bool({"openstack", "databases"} & needs)
        assert ("ovn" in needs) == reads, name


@pytest.mark.parametrize("given", [{}, {"ovn_private_key": "KEY", "ovn_certificate": "CERT", "ovn_ca_cert": "CA"}])
def test_a_path_is_given_only_where_its_file_has_something(given):
    """AWX makes the files in any case. A path of an empty one would be taken for a key."""
    injectors = TYPES["OVN databases"]["injectors"]
    filename = {key.partition(".")[2]: f"/runner/{key}" for key in injectors["file"]}
    names = {"ovn_nb_connection": "ssl:192.0.2.1:6641", "ovn_sb_connection": "ssl:192.0.2.1:6642", **given}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    made = {
        key: environment.from_string(text).render(tower={"filename": filename}, **names)
        for key, text in injectors["extra_vars"].items()
    }
    for key in ("private_key", "certificate", "ca_cert"):
        assert made[f"ovn_{key}"] == (f"/runner/template.{key}" if given else "")
    assert made["ovn_sb_connection"] == "ssl:192.0.2.1:6642"
    contents = [environment.from_string(text).render(**names) for text in injectors["file"].values()]
    assert contents == list(given.values() or ["", "", ""])
