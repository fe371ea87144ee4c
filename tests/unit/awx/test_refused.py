# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job that is refused for what was typed: the workflow is told why, and no report of an earlier run is left.

Nothing is reached: neither cloud nor database is given, and nobody looks for them.
"""

from __future__ import annotations

import json
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.data import LINES
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}
#: Every job that is refused: its playbook, and the title of the case.
CASES = [(name, title) for name, entry in entries().items() for title in entry.refusals]
#: The template of each playbook that goes furthest, with the playbook.
FURTHEST = {entry.template: name for name, entry in entries().items()}


def operation_of(template):
    return LINES[template].playbook


@pytest.fixture
def controller(tmp_path, short_tmp):
    return Controller(tmp_path, short_tmp)


@pytest.fixture
def reports(tmp_path):
    """The directory of the first job's reports, in which an earlier run has left everything that one can leave."""
    directory = tmp_path / "awx" / "jobs" / "1"
    directory.mkdir(parents=True)
    for name in {"report.json", "kept.txt"}.union(*(entry.stale for entry in entries().values())):
        (directory / name).write_text('{"verdict": "pass"}')
    return directory


def assert_told(job, reports, template, words):
    """The job failed, with the reason in its output, its artifacts and its report; returns what the artifacts say."""
    operation = operation_of(template)
    assert job.status == "failed", job.stdout
    told = job.told
    assert words in " ".join(told["message"].split()), told
    last = job.stdout.rpartition("TASK [stackguard.nova.common : Fail with the reason]")[2]
    assert words.split()[0] in last, job.stdout
    assert (told["operation"], told["state"], told["verdict"]) == (operation, "refused", "block")
    assert (told["changed"], told["counts"], told["operation_id"]) == (False, {}, None)
    assert {path.name for path in reports.iterdir()} & entries()[operation].stale == set()
    assert (reports / "kept.txt").exists()
    report = json.loads((reports / "report.json").read_text())
    if not entries()[operation].reports:
        assert report == {"verdict": "pass"}, "it is another playbook's"
        return told, None
    assert (report["schema"], report["verdict"], report["findings"]) == (1, "block", [])
    (entry,) = report["unchecked"]
    assert (entry["code"], entry["reason"]) == ("SG709", "nothing was decided: " + told["message"])
    assert report["counts"]["unchecked"] == 1
    return told, entry


@pytest.mark.parametrize(("name", "title"), CASES)
def test_the_workflow_is_told_what_was_wrong_with_what_was_typed(tmp_path, short_tmp, controller, reports, name, title):
    case = entries()[name].refusals[title]
    job = controller.launch(case.template, HOSTS, case.answers, artifacts=case.extra)
    told, entry = assert_told(job, reports, case.template, case.words)
    more = entries()[name].more if case.more is None else case.more
    if name in ("audit", "doctor"):
        more = {**more, "report_dir": str(reports)}
    common = {"operation", "operation_id", "state", "changed", "verdict", "counts", "message"}
    assert {key: value for key, value in told.items() if key not in common} == more
    names = [value for key, value in more.items() if key.endswith(("_host", "_from"))]
    about = next(iter(names), None) or name
    assert entry is None or entry["object"] == about, (
        f"the report of a refusal is about the host that was asked for: the first value of `more` in "
        f"tests/unit/playbooks/{name}.py whose key ends in _host or _from, or else the playbook's name. Name the "
        "role's variable like that (HOSTS of playbook_input), or leave the host out of `more`"
    )
    assert list(short_tmp.glob("stackguard-*")) == [], "evidence was left behind"
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "host-state").exists()


#: Without the controller, plays are left out; with it, hosts.
@pytest.mark.parametrize(
    ("template", "limit"), [*((name, "compute1") for name in FURTHEST), ("Nova: drain", "localhost,compute1")]
)
def test_a_limit_is_refused_and_told(controller, reports, template, limit):
    job = controller.launch(template, HOSTS, entries()[FURTHEST[template]].answered, limit=limit)
    assert_told(job, reports, template, "without --limit")


def test_a_report_directory_that_cannot_be_one_does_not_swallow_the_reason(tmp_path, controller):
    (tmp_path / "file").write_text("")
    there = {"stackguard_report_dir": str(tmp_path / "file" / "below")}
    job = controller.launch("Nova: drain", HOSTS, {"drain_host": "-h"}, artifacts=there)
    assert job.status == "failed"
    assert "drain_host is" in job.told["message"]
    assert "drain_host is" in job.stdout.rpartition("TASK [")[2], job.stdout
