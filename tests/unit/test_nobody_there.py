# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory without a compute host: Ansible leaves out a play without hosts, and ends in green. No playbook may
that needs one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible


@pytest.mark.parametrize("playbook", entries())
def test_it_does_not_end_in_green_and_says_what_is_missing(playbook, tmp_path):
    given, word = entries()[playbook].given, entries()[playbook].nobody
    own = {"stackguard_report_dir": str(tmp_path / "reports"), "stackguard_state_dir": str(tmp_path / "state")}
    (tmp_path / "vars.json").write_text(json.dumps({"cloud": "no-such-cloud", **own, **given}))
    (tmp_path / "inventory.json").write_text(json.dumps({"other": {"hosts": {"web": {"ansible_connection": "local"}}}}))
    argv = [sys.executable, "-m", "ansible", "playbook", f"stackguard.nova.{playbook}"]
    argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
    env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", OS_CLIENT_CONFIG_FILE=str(tmp_path / "none"))
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if entries()[playbook].needs_nothing:
        assert done.returncode == 0, told
    else:
        assert done.returncode not in (0, 250), told
    assert word in told, told
    assert "Traceback" not in told, told
