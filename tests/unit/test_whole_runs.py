# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A playbook runs as a whole, on the hosts that its variables name, by what it has read itself: or it fails.

The playbooks run as processes, on this machine alone. Ansible ends a run that was left without tasks or hosts with 0.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.awx import data as awx_data
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

ASKED = {name: entry.given for name, entry in entries().items()}
HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
PLAYBOOKS = {**{f"{name}.yml": name for name in ASKED}, "awx/configure.yml": "awx.configure"}


class _Unsafe(yaml.SafeLoader):
    """Reads !unsafe as the text that it is."""


_Unsafe.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def plays(path):
    return yaml.load((ROOT / "playbooks" / path).read_text(), Loader=_Unsafe)


@pytest.fixture
def run(tmp_path, short_tmp):
    def playbook(name, *options, inventory=None, collections=BUILD / "dev", **given):
        shared = {"stackguard_report_dir": str(tmp_path / "reports"), "stackguard_state_dir": str(tmp_path / "state")}
        variables = {"cloud": "no-such-cloud", **shared, **given}
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        hosts = inventory or {"compute": {"hosts": {"compute1": HERE, "compute2": HERE}}}
        (tmp_path / "inventory.json").write_text(json.dumps(hosts))
        argv = [sys.executable, "-m", "ansible", "playbook", f"stackguard.nova.{name}", *options]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", OS_CLIENT_CONFIG_FILE=str(tmp_path / "none"))
        env.update(TMPDIR=str(short_tmp))
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return playbook


@pytest.fixture
def passed(tmp_path):
    """The report of an earlier run that passed."""
    (tmp_path / "reports").mkdir()
    report = tmp_path / "reports" / "report.json"
    report.write_text('{"verdict": "pass"}')
    return report


def refused(done, words):
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode not in (0, 250), told
    assert words in told, told
    assert "Traceback" not in told, told


def asked(name):
    return ASKED.get(name, {})


# --- tags -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAYBOOKS.values())
def test_tags_are_refused_and_the_report_of_an_earlier_run_is_replaced(run, passed, name):
    """It ended with "skipping: no hosts matched" and exit 0, and the report of an earlier run stayed."""
    refused(run(name, "--tags", "foo", **asked(name)), "run it without --tags and --skip-tags")
    report = json.loads(passed.read_text())
    if name in ASKED and entries()[name].reports:
        assert (report["verdict"], report["counts"]["unchecked"]) == ("block", 1)
    else:
        assert report == {"verdict": "pass"}, "it is another playbook's"


@pytest.mark.parametrize("options", [("--skip-tags", "foo"), ("--skip-tags", "all"), ("--tags", "untagged")])
def test_whatever_selects_by_tags_is_refused(run, passed, options):
    refused(run("resize_server", *options, **asked("resize_server")), "run it without --tags and --skip-tags")
    assert json.loads(passed.read_text())["verdict"] == "block"


@pytest.mark.parametrize("name", PLAYBOOKS.values())
def test_tags_that_leave_the_refusing_task_out_are_refused_before_any_task(run, name):
    done = run(name, "--tags", "foo", "--skip-tags", "always", **asked(name))
    refused(done, "run it without --tags and --skip-tags")
    assert "TASK" not in done.stdout


def test_skipping_all_that_is_tagged_is_refused_before_any_task(run):
    done = run("evacuate_host", "--skip-tags", "tagged", **asked("evacuate_host"))
    refused(done, "run it without --tags and --skip-tags")
    assert "TASK" not in done.stdout


@pytest.mark.parametrize("name", ASKED)
def test_tags_and_a_limit_together_are_refused(run, passed, name):
    done = run(name, "--tags", "foo", "--limit", "compute", **asked(name))
    refused(done, "run it without --limit")
    assert json.loads(passed.read_text())["verdict"] == ("block" if entries()[name].reports else "pass")


@pytest.mark.parametrize("path", PLAYBOOKS)
def test_each_playbook_begins_with_the_refusal(path):
    found = {str(item.relative_to(ROOT / "playbooks")) for item in (ROOT / "playbooks").rglob("*.yml")}
    assert {item for item in found if not item.startswith(("awx/tasks", "awx/vars"))} == set(PLAYBOOKS)
    first = plays(path)[0]
    task = first["tasks"][0]
    assert task["tags"] == ["always"]
    assert "when" not in task
    assert "stackguard.nova.whole_run" in first["hosts"], "tags that leave the task out are refused by the play"
    if path in {f"{name}.yml" for name in ASKED}:
        role = task["ansible.builtin.include_role"]
        assert (role["name"], role["tasks_from"]) == ("stackguard.nova.common", "begin")
        assert role["apply"] == {"tags": ["always"]}, "else the refusal itself is left out"
        (second,) = plays(path)[1]["tasks"]
        assert second["tags"] == second["ansible.builtin.include_role"]["apply"]["tags"] == ["always"]


def test_without_tags_nothing_is_refused_for_them(run):
    done = run("audit", audit_sources=["hosts"])
    assert "run it without --tags" not in done.stdout
    assert "Collect facts from the host" in done.stdout


def test_what_was_wrong_and_has_gone_away_still_ends_the_run(run, passed, tmp_path):
    """The variable is wrong when it is read first, and good in the phases that tell why."""
    first = f"test -e {tmp_path}/read && echo hosts || {{ touch {tmp_path}/read; echo nothing; }}"
    done = run("audit", audit_sources=f"{{{{ [lookup('ansible.builtin.pipe', {first!r})] }}}}")
    refused(done, "Run the same command again")
    assert "Collect facts from the host" not in done.stdout
    assert json.loads(passed.read_text())["verdict"] == "block"


# --- starting in the middle -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("evacuate_host", ("--start-at-task", "Find the dead host, and list its servers")),
        ("migrate_server", ("--start-at-task", "Set the round number to 1")),
        ("audit", ("--start-at-task", "Publish the outcome to the AWX workflow")),
        ("drain_host", ("--step",)),
        ("awx.configure", ("--start-at-task", "no such task")),
    ],
)
def test_a_run_that_starts_in_the_middle_is_refused(run, name, options):
    """With a task that Ansible does not find it did nothing, and ended with 0."""
    done = run(name, *options, **asked(name))
    refused(done, "run it without --start-at-task and --step")
    assert "TASK" not in done.stdout


# --- every playbook, every option that leaves something out -------------------------------------------------------

NO_TAGS, NO_MIDDLE, NO_LIMIT = "run it without --tags", "run it without --start-at-task", "run it without --limit"
#: The option to what the refusal says. With `-e`, whoever launches the run contradicts what Ansible itself knows of it.
PART_OF_A_RUN = {
    "skip-tags": (("--skip-tags", "foo"), NO_TAGS),
    "tags-contradicted": (
        ("--tags", "foo", "-e", '{"ansible_run_tags": ["all"], "ansible_skip_tags": []}'),
        NO_TAGS,
    ),
    "skip-always-contradicted": (("--skip-tags", "always", "-e", '{"ansible_skip_tags": []}'), NO_TAGS),
    "start": (("--start-at-task", None), NO_MIDDLE),
    "start-nowhere": (("--start-at-task", "no such task"), NO_MIDDLE),
    "step": (("--step",), NO_MIDDLE),
    "limit-controller": (("--limit", "localhost"), NO_LIMIT),
    "limit-hosts": (("--limit", "compute2", "-e", '{"ansible_limit": ""}'), NO_LIMIT),
}


def last_task(name):
    """A task of the playbook's last play."""
    play = plays(f"{name}.yml")[-1]
    return play["tasks"][-1]["name"] if "tasks" in play else "Publish the outcome to the AWX workflow"


#: Each playbook and each option once in every run of the tests; all of them together in `make test-matrix`.
SQUARE = {(name, list(PART_OF_A_RUN)[at % len(PART_OF_A_RUN)]) for at, name in enumerate(ASKED)}
PAIRS = [
    pytest.param(name, option, marks=[] if (name, option) in SQUARE else [pytest.mark.matrix])
    for name in ASKED
    for option in PART_OF_A_RUN
]


@pytest.mark.parametrize(("name", "option"), PAIRS)
def test_no_option_makes_a_run_a_success_without_its_work(run, name, option):
    words, refusal = PART_OF_A_RUN[option]
    # A limit can name the controller where the inventory does.
    inventory = {"compute": {"hosts": {"compute1": HERE, "compute2": HERE}}, "other": {"hosts": {"localhost": HERE}}}
    options = (last_task(name) if word is None else word for word in words)
    done = run(name, *options, inventory=inventory, **asked(name))
    refused(done, refusal)
    assert "Find the journal" not in done.stdout, "no host is asked for anything"


@pytest.mark.parametrize("limit", ["compute", "localhost"])
def test_setting_awx_up_takes_no_limit(run, limit):
    """With --limit GROUP no host matched: AWX was not set up, and the run ended with 0."""
    inventory = {"compute": {"hosts": {"compute1": HERE}}, "other": {"hosts": {"localhost": HERE}}}
    done = run("awx.configure", "--limit", limit, inventory=inventory)
    refused(done, NO_LIMIT)
    assert "TASK" not in done.stdout


@pytest.mark.parametrize(("variable", "words"), [("ANSIBLE_RUN_TAGS", "foo"), ("ANSIBLE_SKIP_TAGS", "always")])
def test_tags_of_the_configuration_are_refused_like_those_of_the_command(run, monkeypatch, variable, words):
    monkeypatch.setenv(variable, words)
    refused(run("rename_host", **asked("rename_host")), NO_TAGS)


# --- which hosts ------------------------------------------------------------------------------------------------


def test_no_play_chooses_its_hosts_by_a_template():
    """There it sees extra variables only: `stackguard_compute_hosts` of group_vars was validated, and then ignored."""
    for path in PLAYBOOKS:
        for play in plays(path)[1:]:
            assert "{{" not in play["hosts"], path


GROUPS = {"all": {"children": {"hypervisors": {"hosts": {"hv1": HERE, "hv2": HERE}}}}}


def grouped(**variables):
    return {"all": {**GROUPS["all"], "vars": variables}}


@pytest.mark.parametrize(
    ("name", "variable", "task"),
    [
        ("drain_host", "stackguard_compute_hosts", "Collect facts from this compute host"),
        ("migrate_server", "stackguard_compute_hosts", "Collect facts from this compute host"),
        ("repair_links", "stackguard_compute_hosts", "Collect facts from this compute host"),
        ("audit", "audit_hosts", "Collect facts from the host"),
        ("audit", "stackguard_compute_hosts", "Collect facts from the host"),
    ],
)
def test_hosts_that_group_vars_name_are_read(run, name, variable, task):
    done = run(name, inventory=grouped(**{variable: "hypervisors"}), **asked(name))
    read = done.stdout.partition(f"{task}]")[2].partition("\nTASK")[0]
    assert {host for host in ("hv1", "hv2") if f"[{host}]" in read} == {"hv1", "hv2"}, done.stdout + done.stderr


@pytest.mark.matrix("playbooks")
def test_the_peers_of_a_rename_that_group_vars_name_are_read(run, tmp_path):
    given = {"rename_from": "hv1", "rename_to": "cn1", "stackguard_host_state_dir": str(tmp_path / "host-state")}
    done = run("rename_host", "--check", inventory=grouped(stackguard_compute_hosts="hypervisors"), **given)
    read = done.stdout.partition("rename_host : Collect facts from this compute host]")[2].partition("\nTASK")[0]
    assert "[hv2]" in read, done.stdout + done.stderr
    assert "[hv1]" not in read


#: The operation needs a look at all hosts, and nothing then.
OPERATION = """
- ansible.builtin.set_fact:
    stackguard_evacuate_step:
      needs: "{{ [{'kind': 'look'}] if stackguard_evacuate_phase == 'begin' else [] }}"
      succeeded: true
  run_once: true
"""
LOOK = """
- ansible.builtin.debug:
    msg: looked
"""


@pytest.fixture
def collection(tmp_path):
    """The collection, whose evacuation is a stand-in that looks at the hosts of its play."""
    root = tmp_path / "collections" / "ansible_collections" / "stackguard" / "nova"
    (root / "roles").mkdir(parents=True)
    # Variables are compared with the argument specifications of all roles.
    others = [f"roles/{path.name}" for path in (ROOT / "roles").iterdir() if path.name != "evacuate_host"]
    for name in ("galaxy.yml", "meta", "playbooks", "plugins", *others):
        (root / name).symlink_to(pathlib.Path(ROOT) / name)
    role = root / "roles" / "evacuate_host"
    shutil.copytree(ROOT / "roles" / "evacuate_host", role)
    (role / "tasks" / "operation.yml").write_text(OPERATION)
    (role / "tasks" / "need_look.yml").write_text(LOOK)
    return tmp_path / "collections"


def test_an_evacuation_looks_at_the_hosts_that_group_vars_name(run, collection):
    """No group `compute`, the dead host not in the inventory: "skipping: no hosts matched", exit 0."""
    given = {"evacuate_host": "dead1", "evacuate_fence": "attested"}
    done = run(
        "evacuate_host", inventory=grouped(stackguard_compute_hosts="hypervisors"), collections=collection, **given
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"[{host}]" in done.stdout.partition("need_look")[2] for host in ("hv1", "hv2")] == [True, True]
    assert done.stdout.count('"msg": "looked"') == 2, done.stdout


def test_the_dead_host_is_looked_at_although_the_pattern_leaves_it_out(run, collection):
    given = {"evacuate_host": "hv2", "evacuate_fence": "attested", "stackguard_compute_hosts": "hypervisors:!hv2"}
    done = run("evacuate_host", inventory=grouped(), collections=collection, **given)
    assert (done.returncode, done.stdout.count('"msg": "looked"')) == (0, 2), done.stdout + done.stderr


# --- variables of our own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("evacuate_host", {"stackguard_evacuate_answers": [{"kind": "fence", "read": {"PowerState": "Off"}}]}),
        ("evacuate_host", {"stackguard_evacuate_answer": {"kind": "fence", "read": {"PowerState": "Off"}}}),
        ("evacuate_host", {"stackguard_state_connection": "local"}),
        ("drain_host", {"stackguard_migrate_given": {}}),
        ("migrate_server", {"stackguard_migrate_probes": []}),
        ("return_host", {"stackguard_return_readers": ["compute2"]}),
        ("rename_host", {"stackguard_rename_reads": False}),
        ("repair_links", {"stackguard_repair_reads": False}),
        ("resize_server", {"stackguard_resize_result": {}}),
        ("pin_servers", {"stackguard_pin_result": {}}),
        ("audit", {"stackguard_audit_reads": []}),
    ],
)
def test_an_extra_variable_is_no_proof_of_anything(run, passed, name, given):
    done = run(name, **asked(name), **given)
    (variable,) = given
    refused(done, f"Only the playbook {name} itself may set these variables: {variable}.")
    assert json.loads(passed.read_text())["verdict"] == "block"
    assert done.stdout.count("TASK [") == done.stdout.count("TASK [stackguard.nova.common") + 1


@pytest.mark.parametrize("name", ASKED)
def test_a_limit_is_refused_although_an_extra_variable_says_that_all_was_prepared(run, name):
    done = run(name, "--limit", "compute", **asked(name), stackguard_resize_result={"changed": False})
    refused(done, "run it without --limit")


def documented():
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for spec in yaml.safe_load(path.read_text())["argument_specs"].values():
            yield from spec["options"]


def set_by(node):
    """The names of the variables that tasks set."""
    for task in node or []:
        yield from task.get("vars") or {}
        yield from task.get("ansible.builtin.set_fact") or {}
        yield from [task["register"]] if "register" in task else []
        loop = task.get("loop_control") or {}
        yield from [loop[key] for key in ("loop_var", "index_var") if key in loop]
        for part in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks"):
            yield from set_by(task.get(part))


def test_no_task_sets_a_variable_that_an_operator_may_have_too():
    """With `-e answer=...` the answer was that, and not what had been read: a proof of a fence out of nothing."""
    known = set(documented())
    lists = [(path, yaml.safe_load(path.read_text())) for path in (ROOT / "roles").glob("*/tasks/*.yml")]
    lists += [
        (ROOT / "playbooks" / path, [task for play in plays(path) for task in play.get("tasks", [])])
        for path in PLAYBOOKS
    ]
    lists += [
        (path, yaml.load(path.read_text(), Loader=_Unsafe)) for path in (ROOT / "playbooks").glob("awx/tasks/*.yml")
    ]
    assert len(lists) > 40
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tasks in lists
        for name in set_by(tasks)
        if not name.startswith(("stackguard_", "ansible_")) and name not in known
    }
    assert not wrong


# --- variables that do not exist ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("rename_host", {"rename_stratgy": "drain"}, "no variable rename_stratgy: did you mean rename_strategy?"),
        ("audit", {"audit_fails_on": "warning"}, "did you mean audit_fail_on?"),
        ("repair_links", {"repair_host": "compute1"}, "did you mean repair_hosts?"),
        ("resize_server", {"resize_flavour": "big"}, "did you mean resize_flavor?"),
        ("pin_servers", {"pin_server": "web1"}, "did you mean pin_servers?"),
        (
            "return_host",
            {"return_everything": True},
            "no variable return_everything. The most similar names are return_",
        ),
        ("evacuate_host", {"evacute_servers": ["web1"]}, "did you mean evacuate_servers?"),
        ("drain_host", {"stackguard_overides": []}, "did you mean stackguard_overrides?"),
        ("migrate_server", {"common_reason": ""}, "no variable common_reason"),
        ("audit", {"explain_cod": "SG113"}, "did you mean explain_code?"),
    ],
)
def test_an_extra_variable_that_does_not_exist_is_refused_with_the_nearest_name(run, passed, name, given, told):
    """It was ignored: with `rename_stratgy=drain` a rename in place followed."""
    done = run(name, **asked(name), **given)
    refused(done, told)
    assert json.loads(passed.read_text())["verdict"] == "block"
    assert done.stdout.count("TASK [") == done.stdout.count("TASK [stackguard.nova.common") + 1


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("where", ["all", "compute"])
def test_in_an_inventory_a_misspelt_name_is_refused_and_another_one_is_taken(run, tmp_path, where):
    def inventory(**variables):
        hosts = {"compute1": HERE, "compute2": HERE}
        if where == "all":
            return {"all": {"vars": variables, "children": {"compute": {"hosts": hosts}}}}
        return {"compute": {"hosts": hosts}}

    def group_vars(**variables):
        (tmp_path / "group_vars").mkdir(exist_ok=True)
        (tmp_path / "group_vars" / "compute.json").write_text(json.dumps(variables if where == "compute" else {}))
        return inventory(**variables)

    refused(run("audit", inventory=group_vars(stackguard_ceph_comand=["x"])), "did you mean stackguard_ceph_command?")
    done = run("audit", audit_sources=["hosts"], inventory=group_vars(audit_log_retention=7, rename_me="no"))
    assert "There is no variable" not in done.stdout
    assert "no such variable" not in done.stdout
    assert "Collect facts from the host" in done.stdout


def test_one_file_of_variables_serves_all_playbooks(run):
    shared = {"rename_strategy": "drain", "evacuate_max_parallel": 3, "resize_confirm": True, "neutron_db_url": "x"}
    done = run("audit", audit_sources=["hosts"], stackguard_awx_dir="/x", **shared)
    assert "There is no variable" not in done.stdout
    assert "Collect facts from the host" in done.stdout


def test_the_variables_of_the_job_templates_of_awx_exist():
    names = {
        name
        for template in awx_data.TEMPLATES.values()
        for name in [*template["extra_vars"], *awx_data.asked(template)]
    }
    assert len(names) > 30
    assert names <= set(documented())


def test_a_repair_that_cannot_be_resumed_says_so_in_one_line_and_leaves_a_report(run, passed):
    """Ansible printed all that the task returned before the line that mattered, and the last run's report stayed."""
    urls = {"nova_api_db_url": "mysql+pymysql://u:p@127.0.0.1:1/a", "nova_cell_db_urls": {}}
    done = run("repair_links", inventory={"all": {"hosts": {"localhost": HERE}}}, repair_action="resume", **urls)
    refused(done, "nothing to resume")
    (fatal,) = [line for line in done.stdout.splitlines() if line.startswith("fatal:")]
    assert len(fatal) < 500, fatal
    assert '"msg"' in fatal
    assert json.loads(passed.read_text())["verdict"] == "block"
