# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""evacuate_host's own tasks around an operation that is a stand-in: what is provided after a failure."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

ROLE = pathlib.Path(__file__).resolve().parents[2] / "roles" / "evacuate_host" / "tasks"

#: The operation needs "fence"; the second call of it breaks; its end needs "unguard", and nothing then.
OPERATION = """
- ansible.builtin.set_fact:
    stackguard_evacuate_step:
      needs: "{{ [{'kind': 'unguard'}] if stackguard_evacuate_phase == 'end' else [] }}"
  run_once: true
- ansible.builtin.fail:
    msg: the plugin broke
  when: stackguard_evacuate_phase == 'advance' and stackguard_evacuate_needs[0].kind == 'fence'
  run_once: true
"""
NEED = """
- ansible.builtin.debug:
    msg: "PROVIDED {{ stackguard_evacuate_need.kind }}"
  run_once: true
"""
PREPARE = {
    "stackguard_evacuate_step": {"needs": [{"kind": "fence"}]},
    "stackguard_evacuate_evidence": {"path": "/nonexistent/evidence"},
}


def test_after_a_failed_task_the_fence_does_not_act_again_and_what_the_end_needs_is_provided(tmp_path):
    """The pump worked off the needs of the call that had failed: it switched off once more, and left the guards."""
    tasks = tmp_path / "roles" / "evacuate_host" / "tasks"
    tasks.mkdir(parents=True)
    for name in ("main.yml", "pump.yml"):
        (tasks / name).write_text((ROLE / name).read_text())
    (tasks / "operation.yml").write_text(OPERATION)
    for kind in ("fence", "unguard"):
        (tasks / f"need_{kind}.yml").write_text(NEED)
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    plays = [
        {"hosts": "localhost", "gather_facts": False, "tasks": [{"ansible.builtin.set_fact": PREPARE}]},
        {"hosts": "compute", "gather_facts": False, "roles": [str(tasks.parent)]},
    ]
    (tmp_path / "play.json").write_text(json.dumps(plays))
    hosts = {"localhost": here, "compute1": here, "compute2": here}
    inventory = {"all": {"hosts": hosts, "children": {"compute": {"hosts": {"compute1": {}, "compute2": {}}}}}}
    (tmp_path / "inventory.json").write_text(json.dumps(inventory))
    argv = [sys.executable, "-m", "ansible", "playbook", "-i", str(tmp_path / "inventory.json")]
    env = {**os.environ, "ANSIBLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [*argv, str(tmp_path / "play.json")], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    provided = [line.split("PROVIDED ")[1].strip('"') for line in done.stdout.splitlines() if "PROVIDED " in line]
    assert (done.returncode != 0, provided) == (True, ["fence", "unguard"]), done.stdout + done.stderr
