# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that does not answer Ansible: the run fails, and its last words say which host and why.

Ansible takes a host that it cannot reach out of the run, without its `rescue` and `always` parts; where it is told to
ignore that, the recap is green. The playbooks run as processes, on this machine alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import GONE, HERE

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

#: The host that the playbook acts on.
ACTS_ON = {
    "rename_host": {"rename_from": "compute1", "rename_to": "cn1"},
    "return_host": {"return_host": "compute1"},
}


@pytest.fixture
def run(tmp_path, short_tmp):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "report.json").write_text('{"verdict": "pass"}')

    def playbook(name, hosts, **given):
        inventory = {"compute": {"hosts": hosts}, "keepers": {"hosts": {"keeper": GONE}}}
        (tmp_path / "inventory.json").write_text(json.dumps(inventory))
        own = {f"stackguard_{what}_dir": str(tmp_path / what) for what in ("state", "host_state")}
        variables = {"cloud": "nothing", "stackguard_report_dir": str(tmp_path / "reports"), **own, **given}
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", f"stackguard.nova.{name}"]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", OS_CLIENT_CONFIG_FILE=str(tmp_path / "none"))
        env.update(TMPDIR=str(short_tmp), ANSIBLE_HOST_KEY_CHECKING="0")
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return playbook


def last_words(done):
    """What is said of the last task."""
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    assert "Traceback" not in told, told
    assert "secret" not in told
    before_recap = done.stdout.partition("PLAY RECAP")[0]
    return " ".join(before_recap.rpartition("TASK [")[2].split())


def undecided(tmp_path):
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert report["verdict"] == "block"
    return " ".join(entry["reason"] for entry in report["unchecked"])


@pytest.mark.parametrize("name", ACTS_ON)
def test_a_run_on_a_host_that_does_not_answer_ends_with_a_sentence_that_says_so(run, tmp_path, short_tmp, name):
    """The recap said failed=0 unreachable=0, and the forty last lines were green."""
    done = run(name, {"compute1": GONE, "compute2": HERE}, **ACTS_ON[name])
    told = last_words(done)
    assert "compute1 does not answer Ansible" in told, done.stdout
    assert "Connection refused" in told, done.stdout
    assert "failed=1" in done.stdout.partition("PLAY RECAP")[2], done.stdout
    assert "Connection refused" in undecided(tmp_path)
    assert list(short_tmp.glob("stackguard-*")) == [], "the evidence directory is removed"


def test_a_return_whose_journals_are_on_a_host_that_does_not_answer_ends_with_a_sentence_that_says_so(
    run, tmp_path, short_tmp
):
    """Ansible left its `rescue` part out, and with it the report."""
    hosts = {"compute1": HERE, "compute2": HERE}
    done = run("return_host", hosts, stackguard_state_host="keeper", **ACTS_ON["return_host"])
    told = last_words(done)
    assert "keeper does not answer Ansible" in told, done.stdout
    assert "Connection refused" in told, done.stdout
    assert "Connection refused" in undecided(tmp_path)
    assert list(short_tmp.glob("stackguard-*")) == [], "the evidence directory is removed"
