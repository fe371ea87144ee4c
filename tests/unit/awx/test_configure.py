# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""awx.configure as a process, with the real modules of awx.awx, against a simulated controller with AWX's rules.

It proves that the modules and AWX's rules take the data, what is sent, that a second run sends nothing, and that what
was changed by hand is shown and put right.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.awx.data import TEMPLATES, TYPES, WORKFLOWS, Loader, asked, objects
from ansible_collections.stackguard.nova.tests.unit.awx.small_awx import Awx, serving
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

CREDENTIALS = {"machine": "ssh", "openstack": "admin", "databases": "nova-db"}
TEAMS = {"operators": ["ops"], "approvers": ["leads"], "on_call": ["night"]}
NIGHTLY = {
    "name": "Every night",
    "template": "Nova: resize, check",
    "rrule": "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1",
    "extra_data": {"resize_server": "web1", "resize_flavor": "m1.large"},
}
VARIABLES = {
    "nova_awx_organization": "Cloud",
    "nova_awx_inventory": "Hosts",
    "nova_awx_project": "Nova",
    "nova_awx_state_host": "lasting1",
    "nova_awx_execution_environment": "nova",
    "nova_awx_credentials": CREDENTIALS,
    "nova_awx_schedules": [NIGHTLY],
    "nova_awx_notifications": {"error": ["mail"], "approvals": ["mail"]},
    "nova_awx_extra_vars": {"evacuate_host.yml": {"evacuate_fence_command": "/usr/local/sbin/fence"}},
    "nova_awx_teams": TEAMS,
}
FIRST = "Create the credential types"


@pytest.fixture
def configure(tmp_path):
    subprocess.run([ROOT / "tests" / "gates" / "awx.sh"], check=True, stdin=subprocess.DEVNULL)

    def run(address, *arguments, token="t0ken", **given):
        (tmp_path / "vars.json").write_text(json.dumps({**VARIABLES, **given}))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.awx.configure"]
        argv += ["-e", f"@{tmp_path / 'vars.json'}", *arguments]
        collections = f"{BUILD / 'dev'}:{BUILD / 'awx' / 'collections'}"
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": collections, "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(CONTROLLER_HOST=address, CONTROLLER_OAUTH_TOKEN=token, ANSIBLE_NOCOLOR="1", ANSIBLE_PIPELINING="1")
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def awx():
    there = Awx(
        organizations=["Cloud"],
        inventories=["Hosts"],
        projects=["Nova"],
        execution_environments=["nova"],
        credentials=["ssh", "admin", "nova-db"],
        notification_templates=["mail"],
        teams=["ops", "leads", "night"],
    )
    there.hosts("Hosts", {"lasting1": {"ansible_host": "192.0.2.9"}, "compute1": {}, "compute2": {}})
    there.settings.update(ALLOW_JINJA_IN_EXTRA_VARS="template", AWX_ISOLATION_SHOW_PATHS=["/var/lib/stackguard/awx"])
    return there


def changes(told):
    """How many tasks changed something, by the last line."""
    return int(told.rpartition("changed=")[2].split()[0])


@pytest.mark.matrix("playbooks")
def test_awx_takes_all_of_it_and_a_second_run_changes_nothing(configure):
    there = awx()
    with serving(there) as address:
        code, told = configure(address)
        assert code == 0, told
        first = len(there.writes)
        code, told = configure(address)
        assert code == 0, told
    assert there.writes[first:] == []
    assert changes(told) == 0, told
    made = there.named("credential_types")
    assert {name: item["injectors"] for name, item in made.items() if name in TYPES} == {
        name: item["injectors"] for name, item in TYPES.items()
    }
    templates = there.named("job_templates")
    assert set(templates) == set(TEMPLATES)
    for name, item in templates.items():
        given = TEMPLATES[name]
        assert (item["playbook"], item["limit"]) == (given["playbook"], "")
        assert there.questions(item) == list(asked(given).values())
        asks = {key: value for key, value in item.items() if key.startswith("ask_")}
        assert not any(asks.values()) and {"ask_variables_on_launch", "ask_credential_on_launch"} <= set(asks)
        extra = json.loads(item["extra_vars"])
        fence = {"evacuate_fence_command": "/usr/local/sbin/fence"} if "evacuate_host" in item["playbook"] else {}
        # What AWX is to fill in has gone there as it is.
        assert extra == {**given["extra_vars"], **fence}
    for name, given in WORKFLOWS.items():
        made = there.named("workflow_job_templates")[name]
        assert not any(value for key, value in made.items() if key.startswith("ask_"))
        nodes = there.nodes(name)
        assert set(nodes) == {node["identifier"] for node in given["simplified_workflow_nodes"]}
        for node in given["simplified_workflow_nodes"]:
            kept, follow = nodes[node["identifier"]]
            assert kept["extra_data"] == node["extra_data"]
            assert {f"{kind}_nodes": names for kind, names in follow.items()} == {
                kind: node[kind] for kind in ("success_nodes", "always_nodes", "failure_nodes") if node[kind]
            }
    (schedule,) = there.items["schedules"].values()
    assert schedule["extra_data"] == NIGHTLY["extra_data"]
    job = there.fire(schedule)
    assert job["variables"]["resize_server"] == "web1"
    mail = there.named("notification_templates")["mail"]["id"]
    for item in there.items["workflow_job_templates"].values():
        assert there.associated[item["id"], "notification_templates_approvals"] == [mail], item["name"]
    night, ops = (there.user(name, name) for name in ("night", "ops"))
    assert there.has_role(night, templates["Nova: resize"], "execute_role")
    assert not there.has_role(ops, templates["Nova: resize"], "execute_role")
    assert there.has_role(ops, there.named("workflow_job_templates")["Nova: resize a server"], "execute_role")


@pytest.mark.matrix("playbooks")
def test_what_was_changed_by_hand_is_shown_and_put_right(configure):
    there = awx()
    with serving(there) as address:
        code, told = configure(address)
        assert code == 0, told
        workflow = there.named("workflow_job_templates")["Nova: resize a server"]
        nodes = there.nodes("Nova: resize a server")
        resize = there.named("job_templates")["Nova: resize"]
        there.add(
            "workflow_job_template_nodes",
            {"workflow_job_template": workflow["id"], "identifier": "sneaky", "unified_job_template": resize["id"]},
            there.admin,
        )
        nodes["run"][0]["extra_data"] = {"resize_flavor": "m1.huge"}
        resize["ask_variables_on_launch"] = True
        check, run = nodes["check"][0]["id"], nodes["run"][0]["id"]
        there.associated.setdefault((check, "success_nodes"), []).append(run)
        before = len(there.writes)
        code, told = configure(address, "--check", "--diff")
        assert code == 0, told
        assert there.writes[before:] == []
        for word in ("sneaky", "m1.huge", "node check"):
            assert word in told, told
        code, told = configure(address, nova_awx_keep_nodes=True)
        assert code == 0, told
        assert "sneaky (Nova: resize)" in told
        kept = there.nodes("Nova: resize a server")
        assert "sneaky" in kept and kept["run"][0]["extra_data"] == {} and kept["check"][1]["success"] == ["approval"]
        assert there.named("job_templates")["Nova: resize"]["ask_variables_on_launch"] is False
        code, told = configure(address)
        assert code == 0, told
        assert set(there.nodes("Nova: resize a server")) == {"check", "approval", "run"}
        before = len(there.writes)
        code, told = configure(address)
    assert (code, there.writes[before:], changes(told)) == (0, [], 0), told


@pytest.mark.matrix("playbooks")
def test_what_it_makes_it_removes_and_leaves_what_is_not_its_own(configure):
    there = awx()
    with serving(there) as address:
        code, told = configure(address)
        assert code == 0, told
        mine = there.create("job_templates", {"name": "mine"})
        connection = {"controller_host": address}
        code, told = configure("http://127.0.0.1:1", nova_awx_state="absent", nova_awx_connection=connection)
        assert code == 0, told
        first = len(there.writes)
        code, again = configure(address, nova_awx_state="absent")
    assert (code, there.writes[first:]) == (0, []), again
    for made in ("schedules", "workflow_job_templates", "workflow_job_template_nodes"):
        assert not there.items[made], made
    assert not set(there.named("credential_types")) & set(TYPES)
    assert list(there.items["job_templates"].values()) == [mine]
    assert {"ssh", "admin", "nova-db"} <= set(there.named("credentials"))


@pytest.mark.parametrize(
    "lack",
    [
        lambda there: there.settings.update(ALLOW_JINJA_IN_EXTRA_VARS="always"),
        pytest.param(lambda there: there.settings.update(AWX_ISOLATION_SHOW_PATHS=[]), marks=pytest.mark.matrix),
        pytest.param(lambda there: there.items["hosts"].clear(), marks=pytest.mark.matrix),
        pytest.param(lambda there: there.items["execution_environments"].clear(), marks=pytest.mark.matrix),
    ],
    ids=["Jinja for everybody", "no mount", "no state host", "no environment"],
)
def test_what_awx_lacks_is_said_before_anything_is_changed(configure, lack):
    there = awx()
    lack(there)
    with serving(there) as address:
        code, told = configure(address)
    assert code != 0
    assert there.writes == []
    assert "Nothing was changed." in told and FIRST not in told


@pytest.mark.matrix("playbooks")
def test_settings_that_may_not_be_read_are_said_and_do_not_stop_it(configure):
    there = awx()
    there.grant(there.named("organizations")["Cloud"], "admin_role", user=there.user("boss"))
    with serving(there) as address:
        code, told = configure(address, "--check", token="boss")
    assert code == 0, told
    assert "(403)" in told and FIRST in told


def test_the_objects_are_written_for_people_who_keep_their_controller_as_code(configure, tmp_path):
    code, told = configure("http://127.0.0.1:1", nova_awx_export=str(tmp_path / "objects.yml"), nova_awx_schedules=[])
    assert code == 0, told
    text = (tmp_path / "objects.yml").read_text()
    given = {name.removeprefix("nova_awx_"): value for name, value in VARIABLES.items()}
    assert yaml.load(text, Loader) == objects(**{**given, "schedules": []}).all()
    # Read as Ansible's variables, what AWX is to fill in must stay.
    assert "report_dir: !unsafe" in text


@pytest.mark.parametrize("name", ["organization", "state_host", "extra_vars", "slices"])
def test_a_variable_by_its_old_name_is_refused_and_its_new_one_named(configure, name):
    code, told = configure("http://127.0.0.1:1", **{f"awx_{name}": "x"})
    assert code != 0
    assert f"awx_{name} is nova_awx_{name}" in told
    assert FIRST not in told


@pytest.mark.matrix("playbooks")
def test_what_awx_itself_gives_every_job_is_not_taken_for_an_old_name(configure):
    given = dict.fromkeys(("awx_job_id", "awx_inventory_id", "awx_inventory_name", "awx_project_revision"), "1")
    with serving(awx()) as address:
        code, told = configure(address, "--check", **given)
    assert code == 0, told


@pytest.mark.parametrize(
    "schedule",
    [
        {"name": "nightly", "rrule": "x", "template": "Nova: rename"},
        {"name": "nightly", "rrule": "x", "template": "Nova: rename a compute host"},
        {"name": "nightly", "template": "Nova: audit"},
        {"rrule": "x", "template": "Nova: audit"},
        {"name": "nightly", "rrule": "x", "template": "Nova: resize, check"},
    ],
    ids=["a rename", "a workflow that renames", "at no time", "without a name", "without an answer"],
)
def test_nothing_that_changes_something_is_scheduled(configure, schedule):
    code, told = configure("http://127.0.0.1:1", nova_awx_schedules=[schedule])
    assert code != 0
    assert f"nova_awx_schedules: {schedule.get('name', '(no name)')}:" in told
    assert FIRST not in told


def test_overrides_of_the_template_that_would_silence_the_surveys_are_refused(configure):
    standing = {"audit.yml": {"stackguard_overrides": []}}
    code, told = configure("http://127.0.0.1:1", nova_awx_extra_vars=standing)
    assert code != 0
    assert "Remove stackguard_overrides from nova_awx_extra_vars" in told
    assert FIRST not in told


def test_what_is_missing_is_said(configure):
    code, told = configure("http://127.0.0.1:1", nova_awx_state_host="", nova_awx_credentials={"ssh": "key"})
    assert code != 0
    assert "Set nova_awx_state_host to the inventory host" in " ".join(told.split())
    assert FIRST not in told
