# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A password among the arguments of a fence command stays out of all that a run shows, whether the command works."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

TASKS = pathlib.Path(__file__).resolve().parents[2] / "roles" / "evacuate_host" / "tasks" / "fence_command.yml"
SECRET = "correct-horse-battery"

pytestmark = pytest.mark.ansible


def commands(tmp_path, fence, confirm):
    """Return what Ansible shows of the fence's tasks, and the answer that they make of the two commands."""
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    given = {
        "evacuate_fence_command": f"{fence} {SECRET}",
        "evacuate_fence_confirm_command": f"{confirm} {SECRET}",
        "evacuate_fence_host": "localhost",
        "stackguard_evacuate_need": {"act": True, "fence": "command"},
        "stackguard_evacuate_answers": [],
    }
    kept = {"content": "{{ stackguard_evacuate_answers | to_json }}", "dest": str(tmp_path / "answers")}
    tasks = [{"ansible.builtin.include_tasks": str(tmp_path / "tasks.yml")}, {"ansible.builtin.copy": kept}]
    # One try is enough to see what is shown.
    (tmp_path / "tasks.yml").write_text(
        TASKS.read_text().replace("{{ 12 if", "{{ 1 if").replace("delay: 5", "delay: 0")
    )
    play = {"hosts": "localhost", "gather_facts": False, "vars": given, "tasks": tasks}
    (tmp_path / "play.json").write_text(json.dumps([play]))
    (tmp_path / "inventory.json").write_text(json.dumps({"all": {"hosts": {"localhost": here}}}))
    argv = [sys.executable, "-m", "ansible", "playbook", "-vvvv", "--diff", "-i", str(tmp_path / "inventory.json")]
    argv += [str(tmp_path / "play.json")]
    env = {**os.environ, "ANSIBLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (answer,) = json.loads((tmp_path / "answers").read_text())
    return done.stdout + done.stderr, answer


@pytest.mark.parametrize(
    ("fence", "confirm", "ended"),
    [
        ("echo", "echo", (0, 0)),
        ("false", "echo", (1, None)),
        ("echo", "false", (0, 1)),
        ("nosuchfence", "echo", (2, None)),
    ],
)
def test_no_argument_of_a_fence_command_is_shown(tmp_path, fence, confirm, ended):
    shown, answer = commands(tmp_path, fence, confirm)
    assert SECRET not in shown
    assert SECRET not in json.dumps(answer)
    assert (answer["commanded"].get("rc"), answer["confirmed"].get("rc")) == ended
    assert bool(answer["confirmed"].get("skipped")) == (ended[1] is None), "skipped where nothing was fenced"
