# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""findings as a process: it reads a report that an audit has left, and ends as it is told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.reports.test_findings_query import DESTROYS, UNPINNED, report

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible


@pytest.fixture
def query(tmp_path, short_tmp):
    (tmp_path / "stackguard-reports").mkdir()
    path = tmp_path / "stackguard-reports" / "report.json"
    path.write_text(json.dumps(report(DESTROYS, UNPINNED)))
    operation = {key: value for key, value in report().items() if key != "remedies"}
    (tmp_path / "resize.json").write_text(json.dumps(operation))

    def run(*options, **given):
        (tmp_path / "vars.json").write_text(json.dumps(given))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.findings", *options]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", TMPDIR=str(short_tmp))
        env.update(ANSIBLE_SHOW_CUSTOM_STATS="1")
        before = path.read_bytes()
        argv += ["-e", f"@{tmp_path / 'vars.json'}"]
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert path.read_bytes() == before, "the report stays"
        assert "changed=0" in done.stdout and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return done.returncode, " ".join(done.stdout.split())

    return run


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"findings_severities": ["blocker"]}, 0, "SG113 blocker instance web1 compute1"),
        ({"findings_hosts": "compute1, compute2"}, 0, "The query selects 2 findings"),
        ({"findings_query": "findings[].object.host"}, 0, '[ "compute1", "compute2" ]'),
        ({"findings_codes": ["SG113"], "findings_fail_if": "found"}, 2, "The query selects 1 finding"),
        ({"findings_codes": ["SG501"], "findings_fail_if": "found"}, 0, "The query selects 0 findings"),
        ({"findings_report": "resize.json", "findings_fail_if": "found"}, 2, "the file is not the report of an audit"),
        ({"findings_hosts": "", "findings_codes": ""}, 0, "The query selects 2 findings"),
        ({"findings_hosts": ["compute9"], "findings_fail_if": "found"}, 2, "no finding about compute9"),
        ({"findings_query": "findings[?sverity=='x']"}, 2, "at character 11: a finding has no field 'sverity'"),
        ({"findings_report": "none.json"}, 2, "none.json: No such file or directory"),
        ({"findings_max_age_minutes": 60}, 2, "not within the last 60 minutes"),
    ],
)
def test_it_prints_what_is_asked_for_and_ends_as_it_is_told(query, given, status, words):
    code, told = query(**given)
    assert (code, words in told) == (status, True), told
    assert '"operation": "findings"' in told, "set_stats"
    assert (f'"verdict": "{"block" if status else "pass"}"') in told


@pytest.mark.matrix("playbooks")
def test_check_mode_is_the_same(query):
    assert query("--check", findings_fail_if="found")[0] == 2
    assert query("--check")[0] == 0
