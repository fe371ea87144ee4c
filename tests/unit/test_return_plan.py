# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""return_plan as a task: from an evidence directory to a plan or to every reason why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import evidence
from ansible_collections.stackguard.nova.tests.unit.checks.test_returning import HOST, ONE, back
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD


@pytest.fixture
def task(tmp_path):
    def run(some, *flags, **options):
        for name, facts in some.bundle.hosts.items():
            evidence.save_host(str(tmp_path / "evidence"), name, facts)
        evidence.save_part(str(tmp_path / "evidence"), evidence.CLOUD, some.bundle.cloud)
        evidence.save_part(str(tmp_path / "evidence"), evidence.DATABASES, some.bundle.databases)
        given = {"return_host": "compute1", "inventory_name": "compute1", "ceph_name": "compute2"}
        given = {**given, "evidence_dir": str(tmp_path / "evidence"), **options}
        write = {"ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(tmp_path / "told")}}
        write = {**write, "check_mode": False, "diff": False}
        tasks = [{"stackguard.nova.return_plan": given, "register": "told", "ignore_errors": True}, write]
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
        (tmp_path / "play.json").write_text(json.dumps([play]))
        argv = [sys.executable, "-m", "ansible", "playbook", *flags, str(tmp_path / "play.json")]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "told").read_text()), done.stdout

    return run


def test_a_plan_is_returned_told_and_shown_as_a_diff(task):
    told, output = task(back(), "--check", "--diff")
    assert (told["state"], told["changed"]) == ("planned", True)
    assert [item["uuid"] for item in told["domains"]["domains"]] == [ONE]
    assert (told["addresses"], told["reason"], told["held"]) == ([HOST], "", True)
    assert "End 1 domain of servers that live elsewhere" in output
    assert f"-libvirt on compute1: guest1 ({ONE}): running" in output


def test_every_reason_why_not_at_once(task):
    journal = {"operation_id": "abc", "about": {"host": "compute1"}}
    told, _output = task(back(record=None), open_journal=journal)
    assert (told["state"], told["failed"]) == ("refused", True)
    assert "SG706" in told["msg"]
    assert "SG108" in told["msg"]
    assert "addresses" not in told


def test_an_open_evacuation_of_another_host_is_no_reason(task):
    told, _output = task(back(), open_journal={"operation_id": "abc", "about": {"host": "compute9"}})
    assert (told["state"], told["changed"]) == ("planned", False)
