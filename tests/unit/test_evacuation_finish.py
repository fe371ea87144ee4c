# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How evacuate_host ends: the guard of a server goes when its evacuation is known to have ended, and not before.

A spawn that fails deletes the images of its server, and only the guard keeps them. The tasks run whole, as a process;
Ceph is a script that keeps names of snapshots in a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import steps
from ansible_collections.stackguard.nova.plugins.module_utils.plans import evacuation as plans
from ansible_collections.stackguard.nova.plugins.module_utils.requests import EvacuationRequest
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD

OPERATION = "0123456789ab"
SNAPSHOT = f"stackguard-{OPERATION}"
ONE, TWO, THREE = EVERYBODY = [guest(1, number) for number in (1, 2, 3)]

#: C(rbd) for images with one snapshot at most: a file for each, for several run at the same time.
CEPH = """#!{python}
import json, pathlib, sys
words = [word for word in sys.argv[1:] if word in ("ls", "info", "status", "snap", "lock", "rm", "fsid")]
image = next((word.partition("=")[2] for word in sys.argv if word.startswith("--image=")), None)
pool = pathlib.Path({pool!r})
if words == ["snap", "rm"]:
    (pool / image).write_text("")
    sys.exit()
snapshots = (pool / image).read_text().split() if image else []
answer = {{
    "ls": sorted(path.name for path in pool.iterdir()),
    "info": {{"id": image, "size": 1}},
    "snap ls": [{{"id": 1, "name": name, "size": 1, "protected": "false"}} for name in snapshots],
    "status": {{"watchers": []}},
    "lock ls": [],
    "fsid": {{"fsid": "f"}},
}}
print(json.dumps(answer[" ".join(words)]))
"""

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - set_fact: {stackguard_evacuate_evidence: {path: "{{ place }}/evidence"}}
- hosts: compute
  gather_facts: false
  tasks:
    - set_fact:
        stackguard_evacuate_plan: "{{ given.plan }}"
        stackguard_evacuate_journal: "{{ given.plan.journal }}"
        stackguard_evacuate_ceph: compute2
    - set_fact: {stackguard_evacuate_round: "{{ given.round }}"}
      when: given.round is defined
    - include_role: {name: stackguard.nova.evacuate_host, tasks_from: journal}
      vars: {stackguard_evacuate_op: journal_open}
    - include_role: {name: stackguard.nova.evacuate_host, tasks_from: finish}
"""


class Ended:
    """What a run has left behind."""

    def __init__(self, place, code, output):
        self.code, self.output = code, output
        self.guarded = [uuid for uuid in EVERYBODY if (place / "pool" / f"{uuid}_disk").read_text()]
        self.closed = bool(list((place / "state").glob("closed/*.json")))
        self.report = json.loads((place / "reports" / "report.json").read_text())


@pytest.fixture
def end(tmp_path, short_tmp):
    (tmp_path / "evidence").mkdir()
    (tmp_path / "pool").mkdir()
    for uuid in EVERYBODY:
        (tmp_path / "pool" / f"{uuid}_disk").write_text(SNAPSHOT)
    ceph = tmp_path / "ceph"
    ceph.write_text(CEPH.format(python=sys.executable, pool=str(tmp_path / "pool")))
    ceph.chmod(0o755)
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "nova.conf").write_text("[libvirt]\nimages_type=rbd\nimages_rbd_pool=vms\nrbd_user=nova\n")

    def run(state="planned", round_=None):
        given = {
            "plan": {
                "state": state,
                "operation_id": OPERATION,
                "msg": "",
                "ceph_hosts": ["compute2"],
                "report": REPORT,
                "journal": journal(),
            },
            **({} if round_ is None else {"round": round_}),
        }
        here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"compute": {"hosts": {"compute2": here, "compute3": here}}}
        variables = {
            "given": given,
            "place": str(tmp_path),
            "evacuate_host": "compute1",
            "evacuate_ceph_command": [str(ceph)],
            "evacuate_ceph_user": "nova",
            "evacuate_nova_conf_files": [str(tmp_path / "nova.conf")],
            "stackguard_state_dir": str(tmp_path / "state"),
            "stackguard_report_dir": str(tmp_path / "reports"),
        }
        (tmp_path / "inventory.json").write_text(json.dumps(inventory))
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "play.yml", "-i", "inventory.json", "-e", "@vars.json"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(short_tmp)}
        done = subprocess.run(
            argv, env={**env, "ANSIBLE_NOCOLOR": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        return Ended(tmp_path, done.returncode, done.stdout + done.stderr)

    return run


REPORT = {
    "schema": 1,
    "verdict": "pass",
    "generated_at": "2026-01-01T00:00:00+00:00",
    "hosts": 3,
    "servers": 3,
    "findings": [],
    "unchecked": [],
    "counts": {"blocker": 0, "warning": 0, "info": 0, "unchecked": 0, "overridden": 0},
}


def journal():
    request = EvacuationRequest("compute1", OPERATION, "compute1")
    plan = plans.plan(request, "power", plans.Seating([], []), {}, "stackguard:evacuate", {})
    servers = [{"uuid": uuid, "name": uuid[:4], "status": "ACTIVE", "images": {}} for uuid in EVERYBODY]
    about = {"host": "compute1", "fence": "power", "addresses": [], "order": [], "servers": servers}
    return steps.new_journal(plan, about, "2026-01-01T00:00:00Z")


def a_round(landed=(), **given):
    """The last round, as its module has told it."""
    landed = [
        {"uuid": uuid, "name": uuid, "host": "compute3", "status": "ACTIVE", "state": "verified"} for uuid in landed
    ]
    told = {"changed": False, "failed": False, "again": False, "landed": landed, "left": {}, "tried": {}, "riding": []}
    return {**told, "report": REPORT, **given}


def riding(uuid):
    return {"uuid": uuid, "name": uuid, "target": "compute3", "size_mib": 1024, "started": 5.0}


def test_when_all_have_arrived_all_guards_go_and_it_is_green(end):
    done = end(round_=a_round(EVERYBODY))
    assert (done.code, done.guarded, done.closed, done.report["verdict"]) == (0, [], True, "pass"), done.output


def test_the_guard_of_one_still_on_the_way_stays(end):
    done = end(round_=a_round([ONE], again=True, riding=[riding(TWO)]))
    assert (done.guarded, done.closed, done.report["verdict"]) == ([TWO], False, "block"), done.output
    assert done.code != 0
    assert "run the same command again" in done.output
    assert "their guards are kept" in done.output


def test_a_round_that_broke_off_leaves_every_guard(end):
    """Nobody knows whom it has sent, and how far they are."""
    done = end(round_={"failed": True, "changed": False, "msg": "Nova is mute"})
    assert (done.guarded, done.closed) == (EVERYBODY, False), done.output
    assert done.code != 0
    assert done.report["verdict"] == "block"


def test_an_operation_that_is_carried_on_with_and_broke_off_leaves_every_guard(end):
    done = end(state="resumed")
    assert (done.guarded, done.closed) == (EVERYBODY, False), done.output
    assert done.code != 0


def test_a_new_operation_that_broke_off_before_its_first_round_leaves_none(end):
    done = end()
    assert (done.guarded, done.closed) == ([], False), done.output
    assert done.code != 0


def test_the_guard_of_one_that_used_up_its_time_stays_and_is_told(end):
    tried = {ONE: {"(under way)": "took long"}, TWO: {"compute3": "failed"}, THREE: {"(under way)": "took long"}}
    done = end(round_=a_round([THREE], left={ONE: "SG701", TWO: "SG512"}, tried=tried))
    assert (done.guarded, done.closed, done.report["verdict"]) == ([ONE], True, "block"), done.output
    assert done.code != 0
    assert f"operation_id={OPERATION}" in done.output
    (unfinished,) = done.report["unchecked"]
    assert unfinished["code"] == "SG710"
    assert ONE in unfinished["reason"]
