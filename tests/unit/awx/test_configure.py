# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""awx.configure as a process, with the real modules of awx.awx, against a stand-in for AWX's API.

It proves that the modules take the data (their argument specifications, their look-ups), what they would send to AWX,
and that a second run sends nothing. What AWX would say to it, it does not prove.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.data import QUESTIONS, TEMPLATES, TYPES, WORKFLOWS
from ansible_collections.stackguard.nova.tests.unit.awx.small_awx import Awx, serving
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

NIGHTLY = {
    "name": "Every night",
    "template": "Nova: resize, check",
    "rrule": "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1",
}
VARIABLES = {
    "nova_awx_organization": "Cloud",
    "nova_awx_inventory": "Hosts",
    "nova_awx_project": "Nova",
    "nova_awx_state_host": "lasting1",
    "nova_awx_execution_environment": "nova",
    "nova_awx_credentials": {"machine": "ssh", "openstack": "admin", "databases": "nova-db"},
    "nova_awx_schedules": [NIGHTLY],
    "nova_awx_notifications": {"error": ["mail"], "approvals": ["mail"]},
    "nova_awx_extra_vars": {"evacuate_host.yml": {"evacuate_fence_command": "/usr/local/sbin/fence"}},
}


@pytest.fixture
def configure(tmp_path):
    subprocess.run([ROOT / "tests" / "gates" / "awx.sh"], check=True, stdin=subprocess.DEVNULL)

    def run(address, **given):
        (tmp_path / "vars.json").write_text(json.dumps({**VARIABLES, **given}))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.awx.configure"]
        argv += ["-e", f"@{tmp_path / 'vars.json'}"]
        collections = f"{BUILD / 'dev'}:{BUILD / 'awx' / 'collections'}"
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": collections, "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(CONTROLLER_HOST=address, CONTROLLER_OAUTH_TOKEN="t0ken", ANSIBLE_NOCOLOR="1", ANSIBLE_PIPELINING="1")
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def awx():
    return Awx(
        organizations=["Cloud"],
        inventories=["Hosts"],
        projects=["Nova"],
        execution_environments=["nova"],
        credentials=["ssh", "admin", "nova-db"],
        notification_templates=["mail"],
    )


@pytest.mark.matrix("playbooks")
def test_the_modules_take_all_of_it_and_a_second_run_changes_nothing(configure):
    there = awx()
    with serving(there) as address:
        code, told = configure(address)
        assert code == 0, told
        first = len(there.writes)
        # Templates take most of the time, and one is like another.
        some = [TEMPLATES[name] for name in ("Nova: rename, check", "Nova: resize, check")]
        code, told = configure(address, awx_job_templates=some)
        assert code == 0, told
    assert there.writes[first:] == []
    assert "changed=0" in told, told
    made = there.named("credential_types")
    assert {name: item["injectors"] for name, item in made.items()} == {
        name: item["injectors"] for name, item in TYPES.items()
    }
    assert set(there.named("job_templates")) == set(TEMPLATES)
    for name, item in there.named("job_templates").items():
        given = TEMPLATES[name]
        assert (item["playbook"], item["limit"]) == (f"playbooks/{given['playbook']}", "")
        kinds = [kind for kind in given["needs"] if kind in VARIABLES["nova_awx_credentials"]]
        assert len(there.associated.get((item["id"], "credentials"), [])) == len(kinds)
        asked = [question["variable"] for question in there.surveys.get(item["id"], {}).get("spec", [])]
        assert asked == given.get("survey", [])
        asks = {key: value for key, value in item.items() if key.startswith("ask_")}
        assert asks["ask_variables_on_launch"] is False, "whoever launches it could give any command"
        assert not any(asks.values()) and {"ask_credential_on_launch", "ask_limit_on_launch"} <= set(asks)
        extra = json.loads(item["extra_vars"])
        assert "stackguard.nova.overrides" in extra["stackguard_overrides"]
        assert extra["stackguard_state_host"] == "lasting1"
        assert extra.get("evacuate_fence_command") == (
            "/usr/local/sbin/fence" if given["playbook"] == "evacuate_host.yml" else None
        )
        # What AWX is to fill in has gone there as it is.
        assert "{{ awx_" in extra["stackguard_report_dir"] or "{{ stackguard." in extra["stackguard_report_dir"]
    assert there.named("job_templates")["Nova: audit, the hosts"]["job_slice_count"] == 4
    for name, given in WORKFLOWS.items():
        made = there.named("workflow_job_templates")[name]
        assert made["ask_variables_on_launch"] is False, "its variables would reach every node"
        assert not any(value for key, value in made.items() if key.startswith("ask_"))
        nodes = there.nodes(name)
        assert {
            node["identifier"]: {
                kind: [other["identifier"] for other in node[kind]] for kind in ("success", "always") if kind in node
            }
            for node in given["nodes"]
        } == {identifier: follow for identifier, (_, follow) in nodes.items()}
    survey = there.surveys[there.named("workflow_job_templates")["Nova: rename a compute host"]["id"]]
    assert survey["spec"][0] == QUESTIONS["rename_from"]
    evacuating = there.surveys[there.named("job_templates")["Nova: evacuate"]["id"]]["spec"]
    (fence,) = [question for question in evacuating if question["variable"] == "evacuate_fence"]
    assert fence == QUESTIONS["evacuate_fence"], "what the role takes, read when the survey is made"
    asked = {node["approval"] for given in WORKFLOWS.values() for node in given["nodes"] if "approval" in node}
    assert {item["name"] for item in there.items["workflow_approval_templates"].values()} == asked
    (schedule,) = there.items["schedules"].values()
    check = there.named("job_templates")[NIGHTLY["template"]]
    assert (schedule["rrule"], schedule["unified_job_template"]) == (NIGHTLY["rrule"], check["id"])
    mail = there.named("notification_templates")["mail"]["id"]
    for collection, kind in (
        ("job_templates", "error"),
        ("workflow_job_templates", "error"),
        ("workflow_job_templates", "approvals"),
    ):
        for item in there.items[collection].values():
            assert there.associated[item["id"], f"notification_templates_{kind}"] == [mail], item["name"]


@pytest.mark.matrix("playbooks")
def test_what_it_makes_it_removes_and_leaves_what_is_not_its_own(configure):
    there = awx()
    few = {
        "awx_job_templates": [TEMPLATES[name] for name in ("Nova: resize, check", "Nova: resize")],
        "awx_workflows": [WORKFLOWS["Nova: resize a server"]],
    }
    with serving(there) as address:
        code, told = configure(address, **few)
        assert code == 0, told
        mine = there.create("job_templates", {"name": "mine"})
        few["nova_awx_connection"] = {"controller_host": address}
        code, told = configure("http://127.0.0.1:1", nova_awx_state="absent", **few)
        assert code == 0, told
        first = len(there.writes)
        code, again = configure(address, nova_awx_state="absent", **few)
    assert (code, there.writes[first:]) == (0, []), again
    for made in ("schedules", "workflow_job_templates", "credential_types"):
        assert not there.items[made], made
    assert list(there.items["job_templates"].values()) == [mine]
    assert set(there.named("credentials")) == {"ssh", "admin", "nova-db"}


@pytest.mark.parametrize("name", ["organization", "state_host", "extra_vars", "slices"])
def test_a_variable_by_its_old_name_is_refused_and_its_new_one_named(configure, name):
    code, told = configure("http://127.0.0.1:1", **{f"awx_{name}": "x"})
    assert code != 0
    assert f"awx_{name} is nova_awx_{name}" in told
    assert "Create the credential types" not in told


@pytest.mark.matrix("playbooks")
def test_what_awx_itself_gives_every_job_is_not_taken_for_an_old_name(configure):
    there = awx()
    given = dict.fromkeys(("awx_job_id", "awx_inventory_id", "awx_inventory_name", "awx_project_revision"), "1")
    with serving(there) as address:
        code, told = configure(address, awx_job_templates=[], awx_workflows=[], nova_awx_schedules=[], **given)
    assert code == 0, told


@pytest.mark.parametrize(
    "schedule",
    [
        {"name": "nightly", "rrule": "x", "template": "Nova: rename"},
        {"name": "nightly", "rrule": "x", "template": "Nova: rename a compute host"},
        {"name": "nightly", "template": "Nova: audit"},
        {"rrule": "x", "template": "Nova: audit"},
    ],
    ids=["a rename", "a workflow that renames", "at no time", "without a name"],
)
def test_nothing_that_changes_something_is_scheduled(configure, schedule):
    code, told = configure("http://127.0.0.1:1", nova_awx_schedules=[schedule])
    assert code != 0
    assert f"nova_awx_schedules: {schedule.get('name', '(no name)')}: each schedule needs a name" in told
    assert "Nova: audit in slices" in told
    assert "Create the credential types" not in told


def test_overrides_of_the_template_that_would_silence_the_surveys_are_refused(configure):
    standing = {"audit.yml": {"stackguard_overrides": []}}
    code, told = configure("http://127.0.0.1:1", nova_awx_extra_vars=standing)
    assert code != 0
    assert "Remove stackguard_overrides from nova_awx_extra_vars" in told
    assert "Create the credential types" not in told


def test_what_is_missing_is_said(configure):
    code, told = configure("http://127.0.0.1:1", nova_awx_state_host="", nova_awx_credentials={"ssh": "key"})
    assert code != 0
    assert "Set nova_awx_state_host to the inventory host" in " ".join(told.split())
    assert "Create the credential types" not in told
