# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stdout callback as a process: quiet about this collection, loud about all else, and Ansible's own where it fails.

A copy of the collection has one more role, whose tasks go well, warn, fail and do not answer.
"""

from __future__ import annotations

import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys

import ansible_runner
import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import GONE, HERE

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

NAME = "stackguard.nova.progress"
MODULE = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"fail": {"type": "str"}})
module.warn("ours warns")
if module.params["fail"]:
    module.fail_json(msg=module.params["fail"], data="data of ours")
module.exit_json(changed=True, data="data of ours")
"""
ROLE = """
- name: Quiet task
  stackguard.nova.probe:
- name: Quiet items
  ansible.builtin.command: "true"
  loop: [one, two]
- name: Skipped task
  ansible.builtin.command: "true"
  when: false
- name: Tasks of the operator
  ansible.builtin.include_tasks: "{{ operator }}"
  when: operator is defined
- name: Command that fails
  ansible.builtin.command: sh -c 'echo own reason >&2; exit 3'
  ignore_errors: true
- name: Publish
  ansible.builtin.set_stats:
    data: {stackguard: "{{ published | default({'operation': 'drain_host', 'state': 'finished', 'verdict': 'pass'}) }}"}
    aggregate: false
- block:
    - name: Task that fails
      stackguard.nova.probe:
        fail: "{{ fail }}"
  rescue:
    - name: Task that fails at the end
      stackguard.nova.probe:
        fail: "{{ fail }}\\nand more"
  when: fail is defined
"""
PLAYBOOK = """
- name: Play of ours
  hosts: all
  gather_facts: false
  tasks:
    - name: Include the role
      ansible.builtin.include_role: {name: stackguard.nova.probe}
"""
FOREIGN = """
- name: Play of others
  hosts: all
  gather_facts: false
  tasks:
    - name: Task of others
      ansible.builtin.command: "true"
    - name: Role of ours
      ansible.builtin.include_role: {name: stackguard.nova.probe}
"""


NEVER = "\n_PAUSE = 1e9\n"


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    directory = tmp_path_factory.mktemp("collections")
    copy = directory / "ansible_collections" / "stackguard" / "nova"
    for part in ("plugins", "roles", "playbooks", "meta"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "galaxy.yml", copy)
    (copy / "roles" / "probe" / "tasks").mkdir(parents=True)
    (copy / "roles" / "probe" / "tasks" / "main.yml").write_text(ROLE)
    (copy / "playbooks" / "probe.yml").write_text(PLAYBOOK)
    (copy / "plugins" / "modules" / "probe.py").write_text(MODULE)
    # However slow the machine is: only the test of it sees a line that says where the run is.
    callback = copy / "plugins" / "callback" / "progress.py"
    assert "\n_PAUSE = 10\n" in callback.read_text()
    callback.write_text(callback.read_text().replace("\n_PAUSE = 10\n", NEVER))
    return directory


@pytest.fixture
def run(tmp_path, short_tmp, collections):
    (tmp_path / "others.yml").write_text(FOREIGN)
    (tmp_path / "operator.yml").write_text("- name: Task of the operator\n  ansible.builtin.command: 'true'\n")

    def playbook(*options, name="stackguard.nova.probe", callback=NAME, hosts=None, where=collections, **given):
        (tmp_path / "inventory.json").write_text(json.dumps({"all": {"hosts": hosts or {"compute1": HERE}}}))
        argv = [sys.executable, "-m", "ansible", "playbook", name, "-i", "inventory.json", *options]
        argv += ["-e", json.dumps(given)] if given else []
        env = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "NO_COLOR"))}
        env.update(ANSIBLE_COLLECTIONS_PATH=str(where), ANSIBLE_HOME=str(tmp_path / "home"), TMPDIR=str(short_tmp))
        env.update(ANSIBLE_STDOUT_CALLBACK=callback, ANSIBLE_HOST_KEY_CHECKING="0", TERM="xterm")
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return playbook


def test_tasks_of_ours_are_quiet_and_their_warnings_and_failures_are_not(run):
    code, output = run()
    assert code == 0, output
    for hidden in ("Play of ours", "Include the role", "Quiet", "Skipped", "Publish", "data of ours", "PLAY RECAP"):
        assert hidden not in output
    assert output.count("ours warns") == 1
    assert output.count("Command that fails") == 1
    assert '"stderr": "own reason"' in output, "what another module returns is all that is known"
    assert "...ignoring" in output
    assert "DONE: drain_host" in output


def test_what_is_of_others_is_shown_as_ansible_shows_it(run):
    code, output = run(name="others.yml", operator="operator.yml")
    assert code == 0, output
    for shown in ("PLAY [Play of others]", "TASK [Task of others]", "TASK [Role of ours]", "PLAY RECAP"):
        assert shown in output
    assert "TASK [stackguard.nova.probe : Task of the operator]" in output
    assert output.count("\nchanged: [compute1]\n") == 2
    assert "Quiet" not in output

    code, output = run(operator="{{ inventory_dir }}/operator.yml")
    assert code == 0, output
    assert output.index("PLAY [Play of ours]") < output.index("Task of the operator")
    assert "PLAY RECAP" in output


def test_a_failure_shows_its_message_once_and_no_run_that_failed_is_called_done(run):
    code, output = run(fail="it broke")
    assert code == 2, output
    assert output.count("it broke") == output.count("and more") == 1
    assert "TASK [stackguard.nova.probe : Task that fails]" in output
    assert "data of ours" not in output
    assert "FAILED: drain_host" in output
    assert "DONE" not in output


def test_the_same_failure_of_two_hosts_is_shown_for_both(run):
    code, output = run(fail="it broke", hosts={"compute1": HERE, "compute2": HERE})
    assert code == 2, output
    assert output.count("it broke") == 2


def test_a_host_that_does_not_answer_is_shown(run):
    code, output = run(hosts={"compute1": HERE, "compute2": GONE})
    assert code == 4, output
    assert "fatal: [compute2]: UNREACHABLE! => " in output
    assert output.count("Connection refused") == 1
    assert "FAILED: drain_host" in output


def test_a_run_that_published_nothing_has_its_recap(run):
    code, output = run(published="")
    assert code == 0, output
    assert "PLAY RECAP" in output


def lines(output):
    """The lines that are the same in each run, in order: processes of modules write to both streams."""
    return sorted(re.sub(r"\d+:\d\d:\d\d\.\d+|\d{4}-\d\d-\d\d", "", line) for line in output.splitlines() if line)


#: How lines of the end begin.
LAST = ("DONE", "FAILED", "Why:", "Next:", "        ")


def without(output, mine):
    left = lines(output)
    for line in lines(mine):
        assert line in left, line
        left.remove(line)
    return left


@pytest.mark.parametrize("given", [{}, {"fail": "it broke"}])
def test_with_v_everything_is_back(run, given):
    _code, default = run("-v", callback="default", **given)
    code, output = run("-v", **given)
    assert code == (2 if given else 0), output
    ours = without(output, default)
    assert [line for line in ours if not line.startswith(LAST)] == []


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_a_run_that_takes_long_says_where_it_is(run, collections, tmp_path, strategy):
    shutil.copytree(collections, tmp_path / "collections")
    nova = tmp_path / "collections/ansible_collections/stackguard/nova"
    callback, playbook = nova / "plugins/callback/progress.py", nova / "playbooks/probe.yml"
    callback.write_text(callback.read_text().replace(NEVER, "\n_PAUSE = 0\n"))
    playbook.write_text(playbook.read_text().replace("  tasks:", f"  strategy: {strategy}\n  tasks:"))
    code, output = run(where=tmp_path / "collections", hosts={f"compute{number}": HERE for number in (1, 2, 3)})
    assert code == 0, output
    assert "failed, so Ansible" not in output
    found = re.findall(r"^\[ *\d+\.\d s\] Quiet task(: \d of 3 hosts, about .+ left)?$", output, re.MULTILINE)
    assert {text[:3] for text in found if text} == {": 2", ": 3"}


@pytest.mark.parametrize("broken", [("callback/progress.py", "_is_ours"), ("plugin_utils/closing.py", "lines")])
def test_where_it_fails_ansibles_output_comes_back(run, collections, tmp_path, broken):
    shutil.copytree(collections, tmp_path / "collections")
    path = tmp_path / "collections/ansible_collections/stackguard/nova/plugins" / broken[0]
    raising = "def broken(*_args):\n    raise RuntimeError('broken')\n\n\n"
    path.write_text(f"{path.read_text()}\n\n{raising}{broken[1]} = broken\n")
    code, output = run(where=tmp_path / "collections", fail="it broke")
    assert code == 2, output
    assert "RuntimeError('broken')" in output
    assert "PLAY RECAP" in output
    if broken[1] == "_is_ours":
        _code, default = run(callback="default", where=tmp_path / "collections", fail="it broke")
        ours = without(output, default)
        assert [line for line in ours if NAME not in line and not line.startswith(LAST)] == []


def test_lines_are_plain_where_there_is_no_terminal(run, tmp_path, short_tmp, collections):
    _code, output = run(fail="it broke")
    assert not re.search(r"[\x1b\r]", output)
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "NO_COLOR"))}
    env.update(ANSIBLE_COLLECTIONS_PATH=str(collections), ANSIBLE_HOME=str(tmp_path / "home"), TMPDIR=str(short_tmp))
    env.update(ANSIBLE_STDOUT_CALLBACK=NAME, TERM="xterm")
    argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.probe", "-i", "inventory.json"]
    process = subprocess.Popen(argv, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 4096)
        except OSError:
            break
    assert process.wait() == 0, said
    assert b"\x1b[" in said
    assert b"DONE: drain_host" in said


def test_awx_has_its_own_output(tmp_path, short_tmp, collections, monkeypatch):
    """ansible-runner, with which AWX runs a job, sets its callback in the environment: ansible.cfg does not matter."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(ROOT / "examples" / "ansible.cfg", project)
    (project / "job.yml").write_text("- import_playbook: stackguard.nova.probe\n")
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.chdir(project)
    where = {"ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_HOME": str(tmp_path / "home")}
    where["TMPDIR"] = str(short_tmp)
    inventory = {"all": {"hosts": {"compute1": HERE}}}
    done = ansible_runner.run(
        private_data_dir=str(tmp_path), playbook="job.yml", inventory=inventory, envvars=where, quiet=True
    )
    assert done.rc == 0
    assert "runner_on_ok" in {event["event"] for event in done.events}
    output = done.stdout.read()
    assert "TASK [stackguard.nova.probe : Quiet task]" in output
    assert "DONE: drain_host" not in output
