# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook rename_host, round by round: what it does for each need of the module, on which hosts, and how often.

Ansible runs the real playbook and role. In the place of what reads and renames are actions that write down what they
are asked on which host, and answer as a test says.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ("compute1", "compute2", "compute3")
ACTION = """
import json, os
from ansible.plugins.action import ActionBase

HERE = {here!r}

class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        name, host = {name!r}, task_vars["inventory_hostname"]
        with open(os.path.join(HERE, "asked"), "a") as stream:
            stream.write(json.dumps([name, host, self._task.args], default=str) + "\\n")
        return self.answer(name)

    def answer(self, name):
        if name == "compute_host_rename":
            path = os.path.join(HERE, "answers")
            with open(path) as stream:
                answers = json.load(stream)
            with open(path, "w") as stream:
                json.dump(answers[1:], stream)
            failed = "needs" in answers[0] or answers[0].get("failed", False)
            return {{"changed": False, "msg": "said", **answers[0], "failed": failed, "succeeded": not failed}}
        if name == "compute_host_step" and "targets" in self._task.args["requests"][0]:
            asked = [request["targets"] for request in self._task.args["requests"]]
            results = [{{"probes": [dict(one, error=None) for one in targets]}} for targets in asked]
            return {{"changed": False, "results": results}}
        return {{"changed": False, "results": [{{"journal": None, "unknown": []}}], "domain_uuids": []}}
"""
STUBBED = ("compute_host_rename", "compute_host_info", "compute_host_step", "cell_info", "cloud_info")
DONE = {"state": "finished"}


@pytest.fixture
def run(tmp_path, short_tmp):
    nova = tmp_path / "collections" / "ansible_collections" / "stackguard" / "nova"
    (nova / "plugins").mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.name in ("playbooks", "roles", "meta", "galaxy.yml"):
            (nova / path.name).symlink_to(path)
    for path in (ROOT / "plugins").iterdir():
        if path.name != "action":
            (nova / "plugins" / path.name).symlink_to(path)
    (nova / "plugins" / "action").mkdir()
    for path in (ROOT / "plugins" / "action").glob("*.py"):
        if path.stem not in STUBBED:
            (nova / "plugins" / "action" / path.name).symlink_to(path)
    for name in STUBBED:
        (nova / "plugins" / "action" / f"{name}.py").write_text(ACTION.format(here=str(tmp_path), name=name))

    def playbook(*answers, **given):
        (tmp_path / "answers").write_text(json.dumps(answers))
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"compute": {"hosts": dict.fromkeys(HOSTS, local)}}
        (tmp_path / "inventory.json").write_text(json.dumps(inventory))
        variables = {
            "rename_from": "compute1",
            "rename_to": "renamed1",
            "rename_strategy": "drain",
            "rename_recreate_command": f"touch {tmp_path}/recreated",
            "rename_discover_command": f"touch {tmp_path}/discovered",
            "stackguard_report_dir": str(tmp_path / "reports"),
            "stackguard_host_state_dir": str(tmp_path / "state"),
            **given,
        }
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.rename_host"]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "TMPDIR": str(short_tmp)}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", ANSIBLE_HOME=str(tmp_path / "home"))
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        lines = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
        asked = [tuple(json.loads(line)) for line in lines]
        return done, asked

    playbook.here = tmp_path
    return playbook


def calls(asked, name="compute_host_rename"):
    return [(host, args) for action, host, args in asked if action == name]


def acts(asked):
    return [(host, args["action"], args.get("measured")) for host, args in calls(asked)]


def measured_after(asked, number):
    """The hosts that were measured after so many calls of the rename, and before the next one."""
    seen, found = 0, []
    for action, host, _args in asked:
        seen += action == "compute_host_rename"
        if seen == number and action == "compute_host_info":
            found.append(host)
    return sorted(found)


def test_each_need_is_served_on_its_hosts_and_the_rename_is_resumed(run):
    needs = ["measured_hosts", "recreate_containers", "discover_hosts", "measured_hosts"]
    answers = [{"needs": need, "containers": ["nova_compute"]} for need in needs]
    done, asked = run(*answers, DONE)
    assert done.returncode == 0, done.stdout
    resumed = [("compute1", "resume", measured) for measured in (True, False, False, True)]
    assert acts(asked) == [("compute1", "apply", False), *resumed]
    assert measured_after(asked, 1) == measured_after(asked, 4) == sorted(HOSTS)
    assert measured_after(asked, 2) == measured_after(asked, 3) == []
    assert (run.here / "recreated").exists()
    assert (run.here / "discovered").exists()


def test_source_hosts_try_connections_and_what_they_found_is_handed_on(run):
    probe = {"source": "compute2", "dest": "renamed1", "address": "192.0.2.1", "port": 16509, "turn": 0}
    answers = [{"needs": "measured_hosts"}, {"needs": "measured_hosts", "probe": {"compute2": [probe]}}]
    done, asked = run(*answers, {"needs": "measured_hosts"}, DONE)
    assert done.returncode == 0, done.stdout
    tried = [(host, args["requests"][0]["targets"]) for host, args in calls(asked, "compute_host_step")[1:]]
    assert tried == [("compute2", [probe])]
    assert [args["probes"] for _host, args in calls(asked)] == [[], [], *([[{**probe, "error": None}]] * 2)]


def test_destinations_compare_cpus_before_there_is_an_operation(run):
    cpu = {"dest": "compute3", "digest": "d", "cpu": "<cpu/>", "arch": "x86_64", "virt": "kvm"}
    done, asked = run({"needs": "measured_hosts", "state": "none", "probe": {"compute3": [cpu]}}, DONE)
    assert done.returncode == 0, done.stdout
    ((host, args),) = calls(asked, "compute_host_step")[1:]
    assert (host, [request["op"] for request in args["requests"]]) == ("compute3", ["probe_tcp", "compare_cpu"])
    assert [request["targets"] for request in args["requests"]] == [[], [cpu]]
    assert acts(asked) == [("compute1", "apply", False), ("compute1", "apply", True)]
    assert [args["probes"] for _host, args in calls(asked)] == [[], [{**cpu, "error": None}]]


def test_a_rollback_is_resumed_as_a_rollback(run):
    done, asked = run({"needs": "measured_hosts"}, {"state": "rolled-back"}, rename_action="rollback")
    assert done.returncode == 0, done.stdout
    assert acts(asked) == [("compute1", "rollback", False), ("compute1", "rollback", True)]


@pytest.mark.parametrize("need", ["recreate_containers", "discover_hosts"])
def test_a_command_that_did_not_help_is_not_run_again(run, need):
    answer = {"needs": need, "containers": ["nova_compute"], "state": "open"}
    done, asked = run(answer, answer)
    assert done.returncode != 0
    assert len(acts(asked)) == 2


def test_in_place_no_other_host_takes_part(run):
    done, asked = run(DONE, rename_strategy="in_place")
    assert done.returncode == 0, done.stdout
    assert acts(asked) == [("compute1", "apply", None)]
    assert "compute2" not in done.stdout.partition("PLAY [Rename the compute host]")[2].partition("PLAY RECAP")[0]


def test_what_fails_is_told_once_and_by_the_host_that_is_renamed(run):
    done, _asked = run({"failed": True, "msg": "nothing works", "state": "open"})
    assert done.returncode != 0
    recap = done.stdout.partition("PLAY RECAP")[2]
    assert [line.split()[0] for line in recap.splitlines() if "failed=1" in line] == ["compute1"], done.stdout
