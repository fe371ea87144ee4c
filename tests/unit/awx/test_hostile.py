# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whoever may launch a template answers its survey, and runs nothing else on controller or hosts.

AWX itself is not here: what it takes of a launch is done as its source does it (jobs.py, accepted), with what
configure.yml sets. The jobs that follow are real ones.
"""

from __future__ import annotations

import json
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.data import (
    LINES,
    QUESTIONS,
    TEMPLATES,
    WORKFLOWS,
    asked,
    options,
)
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller, accepted
from ansible_collections.stackguard.nova.tests.unit.awx.test_refused import FURTHEST, HOSTS, operation_of
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

#: As the templates were before: every variable is taken.
OPEN = {"ask_variables_on_launch": True}
ANSWERS = {key: value for entry in entries().values() for key, value in entry.answered.items()}


def hostile(proof):
    """Variables that run a command, read or write a file, or reach something else; each option of a role that can."""
    command = ["sh", "-c", f"touch {proof}"]
    found = {
        "ansible_connection": "local",
        "ansible_python_interpreter": f'{sys.executable} -c \'open("{proof}", "w")\'',
        "ansible_shell_executable": str(proof),
        "ansible_become_exe": f"touch {proof};",
        "ansible_ssh_common_args": f"-o ProxyCommand='touch {proof}'",
        "stackguard_overrides": [{"code": "SG110", "object": "guest1", "reason": "hurry"}],
        "awx_job_id": "../../../../tmp",
    }
    for playbook in {item.playbook for item in LINES.values()}:
        for name, option in options(playbook).items():
            if name.endswith(("_command", "_commands")):
                found[name] = command if option["type"] == "list" else " ".join(command)
            elif option["type"] == "path" or name.endswith(("_files", "_conf", "_uri", "_module", "_dir", "_url")):
                found[name] = [str(proof)] if option["type"] == "list" else str(proof)
            elif name in QUESTIONS and option["type"] in ("str", "raw"):
                continue
            elif option["type"] == "dict":
                found[name] = {"x": jinja(proof)}
    return found


def test_what_is_hostile_is_not_forgotten(tmp_path):
    """The guard of what follows: commands of every kind of operation are among them, and an open template takes all."""
    given = hostile(tmp_path / "proof")
    assert {"rename_start_command", "rename_stop_command", "evacuate_fence_command", "stackguard_ceph_command"} <= set(
        given
    )
    assert {"stackguard_nova_conf_files", "stackguard_report_dir", "evacuate_power_options"} <= set(given)
    for template in TEMPLATES.values():
        taken, _errors = accepted(asked(template), given, OPEN)
        assert set(taken) == set(given)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_takes_answers_to_its_survey_and_nothing_else(name, tmp_path):
    questions = asked(TEMPLATES[name])
    answers = {key: value for key, value in ANSWERS.items() if key in questions}
    taken, errors = accepted(questions, {**hostile(tmp_path / "proof"), **answers}, TEMPLATES[name])
    assert (taken, errors) == (answers, [])


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_override_that_is_a_structure_is_no_answer(name):
    questions = asked(TEMPLATES[name])
    raw = {"stackguard_awx_overrides": [{"code": "SG110", "object": "guest1", "reason": "hurry"}]}
    taken, errors = accepted(questions, raw, TEMPLATES[name])
    assert taken == {}
    assert errors == (list(raw) if "stackguard_awx_overrides" in questions else []), "AWX does not launch it"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_node_of_a_workflow_gets_what_no_survey_asked(name, tmp_path):
    """AWX gives a workflow's variables to each node, past the survey of the node's template."""
    workflow = WORKFLOWS[name]
    answers = {key: value for key, value in ANSWERS.items() if key in asked(workflow)}
    given = {**hostile(tmp_path / "proof"), **answers}
    everywhere, errors = accepted(asked(workflow), given, workflow)
    assert (everywhere, errors) == (answers, [])
    for node in workflow["simplified_workflow_nodes"]:
        if "unified_job_template" in node:
            template = TEMPLATES[node["unified_job_template"]]
            own, errors = accepted(asked(template), node["extra_data"], template)
            assert (own, errors) == (node["extra_data"], []), "AWX would drop it"
            assert not {**own, **everywhere}.keys() - set(QUESTIONS)


def jinja(proof):
    return "{{ lookup('pipe', 'touch " + str(proof) + "') }}"


#: Launched in every run of the tests: the rename and the evacuation. All of them in `make test-matrix`.
OFTEN = ("rename_host", "evacuate_host")
LAUNCHED = [pytest.param(name, marks=[] if operation_of(name) in OFTEN else [pytest.mark.matrix]) for name in FURTHEST]


@pytest.mark.parametrize("name", LAUNCHED)
def test_a_launched_template_runs_nothing_of_the_person_who_launched_it(tmp_path, short_tmp, name):
    """Hostile variables, and Jinja in every answer that is text: the job says what is wrong, and no command has run."""
    proof, given = tmp_path / "proof", entries()[FURTHEST[name]].answered
    questions = asked(TEMPLATES[name])
    answers = {key: jinja(proof) for key, ask in questions.items() if ask["type"].startswith("text")}
    answers = {**{key: value for key, value in given.items() if QUESTIONS[key].get("choices")}, **answers}
    if "stackguard_awx_overrides" in answers:
        answers["stackguard_awx_overrides"] = f"SG110 guest1: {jinja(proof)}"
    job = Controller(tmp_path, short_tmp).launch(name, HOSTS, answers, extra=hostile(proof))
    assert not proof.exists()
    assert job.status == "failed", job.stdout
    assert job.told["operation"] == operation_of(name), "it ended by its own word"


@pytest.mark.matrix("playbooks")
def test_overrides_of_the_survey_reach_the_report(tmp_path, short_tmp):
    """The guard: what is typed well is taken, and Jinja in the reason stays text."""
    proof = tmp_path / "proof"
    answers = {"stackguard_awx_overrides": f"SG311 databases: {jinja(proof)}", "audit_sources": ["databases"]}
    controller = Controller(tmp_path, short_tmp)
    with_word = controller.launch("Nova: audit", HOSTS, answers)
    without = controller.launch("Nova: audit", HOSTS, {"audit_sources": ["databases"]})
    assert not proof.exists()
    counts = [job.told["counts"]["overridden"] for job in (with_word, without)]
    assert counts == [1, 0], with_word.stdout


@pytest.mark.matrix("playbooks")
def test_an_open_template_would_run_it(tmp_path, short_tmp):
    """Why the templates are closed: as they were, an audit ran any command on the hosts that it reads."""
    proof = tmp_path / "proof"
    conf = tmp_path / "nova.conf"
    conf.write_text("[DEFAULT]\nstate_path = /var/lib/nova\n[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\n")
    given = {"stackguard_ceph_command": ["sh", "-c", f"touch {proof}"], "stackguard_nova_conf_files": [str(conf)]}
    answers = {"audit_sources": ["hosts"]}
    controller = Controller(tmp_path, short_tmp)
    for prompts, expected in ((TEMPLATES["Nova: audit"], False), (OPEN, True)):
        job = controller.launch("Nova: audit", HOSTS, answers, extra=json.loads(json.dumps(given)), prompts=prompts)
        assert proof.exists() is expected, job.stdout
