# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What rename_host.yml reads before it decides: with an open journal nothing but that, else every host that answers.

The playbook runs whole, as a process, on this machine alone; it ends where it would need a cloud.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import journal, steps
from ansible_collections.stackguard.nova.plugins.module_utils.plans import rename
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


@pytest.fixture
def run(tmp_path):
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    broken = {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent/python"}
    inventory = {"compute": {"hosts": {"compute1": here, "compute2": broken}}}
    (tmp_path / "inventory.json").write_text(json.dumps(inventory))
    given = {
        "rename_from": "compute1",
        "rename_to": "renamed1",
        "stackguard_host_state_dir": str(tmp_path / "state"),
        "nova_api_db_url": "mysql+pymysql://user:secret@127.0.0.1:1/nothing",
        "cloud": "nothing",
    }
    (tmp_path / "vars.json").write_text(json.dumps(given))

    def playbook():
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.rename_host", "--check"]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default")
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    return playbook


def test_an_open_rename_is_carried_on_with_whatever_other_hosts_and_the_cloud_answer(run, tmp_path):
    some = fleet()
    plan = rename.plan(some.cloud.bundle, some.request)
    about = {"rename_from": "compute1", "rename_to": "renamed1"}
    journal.open_new(str(tmp_path / "state"), steps.new_journal(plan, about, "2026-01-01T00:00:00Z"))
    told = run()
    assert "would resume this operation" in told or "compute1 -> renamed1: open" in told, told
    assert "skipping: [compute2]" in told, told
    assert "Read the APIs" not in told, told
    assert "failed=0" in told.partition("PLAY RECAP")[2], told


def test_without_one_everything_is_read_and_a_host_that_fails_does_not_end_the_run(run):
    told = run()
    assert "Read the APIs" in told, told
    recap = told.partition("PLAY RECAP")[2]
    (peer,) = [line for line in recap.splitlines() if line.startswith("compute2")]
    assert "failed=0" in peer, told
    assert "unreachable=0" in peer, told
