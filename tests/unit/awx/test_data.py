# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/awx against the collection: a survey asks what the role takes, and every playbook has its template."""

from __future__ import annotations

import jinja2
import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.data import (
    COMMON,
    QUESTIONS,
    TEMPLATES,
    TYPES,
    WORKFLOWS,
    options,
)
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

#: Of the connection to cloud and databases, which roles take from variables without naming them, and of AWX.
CONNECTION = {"cloud", "nova_api_db_url", "neutron_db_url", "stackguard_rabbit_urls"}
KINDS = {"machine", "openstack", "databases", "ovn", "fence"}
OVN = {"ovn_nb_connection", "ovn_sb_connection", "ovn_private_key", "ovn_certificate", "ovn_ca_cert"}
#: Answered as text, and made the role's by the extra variables that every template has.
THROUGH = {"stackguard_awx_overrides": "stackguard_overrides"}
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


def test_every_playbook_has_a_template_and_what_changes_something_one_that_checks():
    templates = list(TEMPLATES.values())
    assert {item["playbook"] for item in templates} == playbooks()
    checked = {item["playbook"] for item in templates if item.get("job_type") == "check" and item.get("diff_mode")}
    assert checked == playbooks() - READ_ONLY


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_gives_only_what_the_role_takes(name):
    template = TEMPLATES[name]
    taken = options(template["playbook"])
    assert set(template["needs"]) <= KINDS
    # ours for other templates' sake: jobs.py and configure.yml say where it goes
    given = set(template.get("extra_vars", {})) | set(template.get("survey", []))
    given = {THROUGH.get(variable, variable) for variable in given}
    assert given <= set(taken), f"{given - set(taken)} are no variables of {template['playbook']}"
    assert not set(template.get("extra_vars", {})) & set(template.get("survey", []))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_gives_all_that_the_role_needs(name):
    template = TEMPLATES[name]
    needed = {key for key, option in options(template["playbook"]).items() if option.get("required")}
    asked = {key for key in template.get("survey", []) if QUESTIONS[key]["required"]}
    assert needed <= asked | set(template.get("extra_vars", {}))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_can_only_be_answered_as_the_role_takes_it(name):
    question = QUESTIONS[name]
    assert {"variable", "question_name", "type", "required"} <= set(question)
    assert question["variable"] == name
    users = {item["playbook"] for item in TEMPLATES.values() if name in item.get("survey", [])}
    assert users, "nobody asks it"
    if name in THROUGH:
        assert COMMON[THROUGH[name]] == "{{ " + name + " | default('') | stackguard.nova.overrides }}"
        assert (question["type"], question["required"]) == ("textarea", False)
        return
    for playbook in users:
        option = options(playbook)[name]
        assert option["type"] in TYPES_TAKEN[question["type"]]
        choices = question.get("choices")
        if option.get("choices"):
            assert set(choices) <= set(option["choices"])
        if option["type"] == "bool":
            assert set(choices) == {"true", "false"}
        if "default" in question and option.get("default") is not None:
            # The role's empty list means all, which a survey shows.
            own = choices if name == "doctor_operations" and option["default"] == [] else option["default"]
            assert plain(question["default"]) == plain(own), "the survey's default is not the role's"
    if question.get("choices") and "default" in question:
        assert set(question["default"].split("\n")) <= set(question["choices"])


#: Types of questions that AWX knows, and of their defaults (awx/api/views, JobTemplateSurveySpec).
DEFAULTS = {"text": str, "textarea": str, "multiplechoice": str, "multiselect": str, "integer": int}


@pytest.mark.parametrize("name", QUESTIONS)
def test_awx_would_take_the_question(name):
    """By the rules that AWX 24 checks a survey by; no AWX was asked."""
    question = QUESTIONS[name]
    known = {
        "variable",
        "question_name",
        "question_description",
        "type",
        "required",
        "default",
        "choices",
        "min",
        "max",
    }
    assert set(question) <= known
    assert all(isinstance(question[key], str) for key in ("type", "question_name", "variable"))
    assert isinstance(question["required"], bool)
    assert isinstance(question.get("default", DEFAULTS[question["type"]]()), DEFAULTS[question["type"]])
    assert all(isinstance(question.get(key, 0), int) for key in ("min", "max"))
    chosen = question["type"] in ("multiplechoice", "multiselect")
    assert chosen == ("choices" in question)
    if chosen:
        assert all(isinstance(choice, str) for choice in question["choices"])
    if question["type"] == "multiplechoice":
        assert len(question.get("default", "").splitlines()) <= 1


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
        assert bool(template.get("allow_simultaneous")) == (name == "Nova: audit, the hosts")
        assert bool(template.get("sliced")) == (name == "Nova: audit, the hosts")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_is_made_of_templates_and_asks_what_they_need(name):
    workflow = WORKFLOWS[name]
    nodes = {node["identifier"]: node for node in workflow["nodes"]}
    followers = [
        other["identifier"] for node in nodes.values() for kind in ("success", "always") for other in node.get(kind, [])
    ]
    assert sorted(followers) == sorted(list(nodes)[1:]), "every node but the first follows exactly one"
    for node in nodes.values():
        if "approval" in node:
            continue
        template = TEMPLATES[node["template"]]
        assert set(node.get("extra_data", {})) <= set(template.get("survey", []))
        needed = {
            key for key in template.get("survey", []) if QUESTIONS[key]["required"] and "default" not in QUESTIONS[key]
        }
        assert needed <= set(workflow["survey"])
    for key in workflow["survey"]:
        assert any(
            key in TEMPLATES[node["template"]].get("survey", []) for node in nodes.values() if "template" in node
        )


def test_nothing_is_changed_in_a_workflow_before_somebody_has_approved_it():
    for workflow in WORKFLOWS.values():
        approved = False
        for node in workflow["nodes"]:
            approved = approved or "approval" in node
            if "template" in node:
                template = TEMPLATES[node["template"]]
                changes = template["playbook"] not in READ_ONLY and template.get("job_type") != "check"
                assert approved or not changes, node["identifier"]


def expected(template, artifacts):
    """What a template expects of its plan, as Ansible fills it in."""
    ((name, text),) = [item for item in TEMPLATES[template]["extra_vars"].items() if item[0].endswith("_expect_plan")]
    assert name in options(TEMPLATES[template]["playbook"])
    return jinja2.Environment().from_string(text).render(**artifacts).strip()


def test_every_check_has_a_workflow_in_which_its_plan_goes_from_the_approval_to_the_run():
    ways = set()
    for workflow in WORKFLOWS.values():
        nodes = {node["identifier"]: node for node in workflow["nodes"]}
        for node in nodes.values():
            follows = [nodes[other["identifier"]] for other in node.get("success", [])]
            if any("approval" in other for other in follows):
                (approval,) = follows
                (run,) = [nodes[other["identifier"]] for other in approval["success"]]
                assert f"{run['template']}, check" == node["template"]
                assert set(TEMPLATES[node["template"]]["survey"]) == set(TEMPLATES[run["template"]]["survey"])
                assert set(TEMPLATES[run["template"]]["survey"]) <= set(workflow["survey"])
                ways.add(run["template"])
    checks = {name.removesuffix(", check") for name, item in TEMPLATES.items() if item.get("job_type") == "check"}
    assert ways == checks


@pytest.mark.parametrize("name", [name[: -len(", check")] for name in TEMPLATES if name.endswith(", check")])
def test_a_run_expects_the_plan_of_the_check_before_it_and_is_refused_where_that_had_none(name):
    operation = TEMPLATES[name]["playbook"].removesuffix(".yml")
    told = {"operation": operation, "plan_sha256": "0" * 64, "report_dir": "/x/jobs/7"}
    assert expected(name, {"stackguard": told}) == "0" * 64 + "@/x/jobs/7/plan.json"
    assert expected(name, {}) == ""
    assert expected(name, {"stackguard": {"operation": "audit"}}) == "", "an audit approves nothing"
    assert expected(name, {"stackguard": {**told, "operation": "another"}}) == ""
    for none in ({}, {"plan_sha256": None}, {"plan_sha256": ""}):
        assert expected(name, {"stackguard": {"operation": operation, **none}}) == "none", "it stands for no plan"


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
        tasks = (ROOT / "roles" / template["playbook"].removesuffix(".yml")).glob("tasks/*.yml")
        names = "".join(path.read_text() for path in [*tasks, ROOT / "playbooks" / template["playbook"]])
        reads = all(key in names for key in OVN) and bool({"openstack", "databases"} & set(template["needs"]))
        assert ("ovn" in template["needs"]) == reads, name


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
