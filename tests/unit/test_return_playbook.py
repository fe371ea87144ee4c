# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""return_host as a process: asked and aborted where its host is in no inventory, and nothing of the host is reached."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import HERE

pytestmark = pytest.mark.ansible


def journal():
    """A return that was cut off after its first step, by a run that has ended."""
    kind = "return-compute1"
    steps = [
        {"name": name, "title": title, "where": "HOST", "action": action, "params": {}, "changes": []}
        for name, title, action in (("domains", "End 1 domain", "end_domains"), ("blocklist", "Remove", "unblock"))
    ]
    return {
        "schema": journals.SCHEMA,
        "kind": kind,
        "operation_id": "op1",
        "subject": "compute1",
        "state": journals.OPEN,
        "started_at": "2026-11-20T00:00:00Z",
        "updated_at": "2026-11-20T00:00:00Z",
        "about": {"host": "compute1", "plan_sha256": None},
        "run": {"controller": "c", "pid": 1},
        "plan": {"kind": kind, "operation_id": "op1", "subject": "compute1", "steps": steps, "notes": []},
        "steps": {"domains": journals.DONE, "blocklist": journals.PENDING},
        "history": [],
    }


@pytest.fixture
def run(tmp_path, short_tmp):
    def playbook(*flags, hosts=("other",), **given):
        (tmp_path / "inventory.json").write_text(json.dumps({"compute": {"hosts": dict.fromkeys(hosts, HERE)}}))
        own = {f"stackguard_{what}_dir": str(tmp_path / what) for what in ("state", "report")}
        variables = {"cloud": "nothing", "return_host": "compute1", **own, **given}
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.return_host", *flags]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", OS_CLIENT_CONFIG_FILE=str(tmp_path / "none"), TMPDIR=str(short_tmp))
        # Of a play whose group does not exist.
        env.update(ANSIBLE_HOST_PATTERN_MISMATCH="error", ANSIBLE_SHOW_CUSTOM_STATS="1")
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        assert list(short_tmp.glob("stackguard-*")) == [], "the evidence directory is removed"
        return done

    return playbook


def test_a_return_is_asked_and_aborted_without_its_host_in_the_inventory(run, tmp_path):
    state = pathlib.Path(tmp_path / "state")
    journals.open_new(str(state), journal())
    asked = run(return_action="status")
    told = asked.stdout + asked.stderr
    assert asked.returncode == 0, told
    assert "operation op1 (return-compute1 compute1) is open" in told, told
    assert '"state": "open"' in told, told
    assert json.loads((tmp_path / "report" / "report.json").read_text())["verdict"] == "warn", "nothing was judged"
    assert journals.read(str(state), "return-compute1") == journal(), "a status changes nothing"
    ended = run(return_action="abort", stackguard_take_over=True)
    told = ended.stdout + ended.stderr
    assert ended.returncode == 0, told
    assert "done: End 1 domain" in told, told
    (closed,) = journals.list_closed(str(state), "return-compute1")
    assert closed["state"] == journals.ROLLED_BACK


@pytest.mark.parametrize("action", ["apply", "status", "abort"])
def test_beside_a_journal_that_is_not_understood_a_return_is_refused_with_its_path(run, tmp_path, action):
    path = tmp_path / "state" / "evacuate.json"
    path.parent.mkdir(mode=0o700)
    path.write_text('{"schema": 1, "kind": "evacuate", "about": {"host": "compute1"}}')
    done = run(return_action=action, hosts=("compute1", "compute2"))
    assert done.returncode not in (0, 250), done.stdout
    assert str(path) in done.stdout, done.stdout
    (item,) = json.loads((tmp_path / "report" / "report.json").read_text())["findings"]
    assert (item["code"], item["object"]["id"], item["evidence"]["journal"]) == ("SG706", "compute1", str(path))


def test_a_return_whose_host_is_in_no_inventory_is_refused(run, tmp_path):
    done = run()
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    assert "must have the Nova name compute1; found: no host" in " ".join(told.split()), told
    assert not (tmp_path / "state").exists()
