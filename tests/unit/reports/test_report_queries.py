# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queries of a report that the guide prints, on reports."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

GUIDE = ROOT / "docs" / "reference" / "report.md"
DESTROYS = findings.finding("SG113", findings.Subject("instance", "u1", "web1", "compute1"), {}, "Do not start it.")
NO_FILE = findings.finding("SG101", findings.Subject("host", "compute1"), {}, "Write it.")
ELSEWHERE = findings.finding("SG101", findings.Subject("host", "compute2"), {}, "Write it.")
UNPINNED = findings.finding("SG401", findings.Subject("instance", "u2", "\x1b[31mdb", "compute1"), {}, "Pin it.")
UNCHECKED = findings.Unchecked("SG501", "all", "the hosts were not read")


def commands() -> list[str]:
    section = GUIDE.read_text().partition("### Query a report\n")[2].partition("\n#")[0]
    return [line.strip() for line in section.splitlines() if line.startswith(("    jq ", "    diff "))]


@pytest.fixture
def query(tmp_path):
    def save(path, *items, unchecked=()):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(findings.report(findings.Checked(items, unchecked), "now", 2, 2)))

    save(tmp_path / "earlier" / "report.json", DESTROYS, UNPINNED)
    save(tmp_path / "report.json", DESTROYS, NO_FILE, ELSEWHERE, UNPINNED, unchecked=(UNCHECKED,))

    def run(number):
        argv = ["bash", "-c", commands()[number]]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout

    return run


def plain(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_blockers_of_a_host(query):
    assert [(item["code"], item["object"]["id"]) for item in plain(query(0))] == [
        ("SG101", "compute1"),
        ("SG113", "u1"),
    ]


def test_the_number_of_findings_of_each_code(query):
    assert plain(query(1)) == [{"SG101": 2, "SG113": 1, "SG401": 1}]


def test_the_servers_of_a_code(query):
    told = query(2)
    assert [item["id"] for item in plain(told)] == ["u2"]
    assert "\x1b" not in told


def test_what_was_not_decided(query):
    assert [item["code"] for item in plain(query(3))] == ["SG501"]


def test_the_difference_between_two_reports(query):
    changes = [line for line in query(4).splitlines() if line[0] in "<>"]
    assert [(line[0], json.loads(line[1:])["object"]["id"]) for line in changes] == [
        (">", "compute1"),
        (">", "compute2"),
    ]
    assert len(commands()) == 5
