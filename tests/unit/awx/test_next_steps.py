# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a job says to do next names templates: in its output, in what its workflow gets, and in its report."""

from __future__ import annotations

import json
import re
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller

pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}
COMMAND_LINE = re.compile(r"(?<![\w-])-e [\w'\"]|--check|ansible-playbook|_action=|same command")


def job_of(tmp_path, short_tmp, name, answers, **more):
    job = Controller(tmp_path, short_tmp).launch(name, HOSTS, answers, **more)
    shown = "\n".join(line for line in job.stdout.splitlines() if not line.startswith(("TASK [", "PLAY [")))
    assert COMMAND_LINE.findall(shown) == []
    assert COMMAND_LINE.findall(job.told["message"]) == []
    return job


def test_a_page_of_a_code(tmp_path, short_tmp):
    job = job_of(tmp_path, short_tmp, "Nova: explain", {"explain_code": "SG201"})
    assert job.status == "successful"
    assert "launch Nova: repair links, check" in job.stdout


def test_what_was_not_answered(tmp_path, short_tmp):
    job = job_of(tmp_path, short_tmp, "Nova: pin", {})
    assert (job.status, job.told["state"]) == ("failed", "refused")
    assert "pin_servers" in job.told["message"]


@pytest.mark.parametrize(("workflow", "name"), [(None, "Nova: resize, check"), (7, "Nova: resize")])
def test_an_operation_that_reaches_nothing(tmp_path, short_tmp, workflow, name):
    answers = {"resize_server": "web1", "resize_flavor": "m1.small"}
    job = job_of(tmp_path, short_tmp, name, answers, workflow=workflow)
    assert job.status == "failed", job.stdout
    reports = tmp_path / "awx" / "jobs" / "1"
    report = json.loads((reports / "report.json").read_text())
    reasons = [entry["reason"] for entry in report["unchecked"]]
    assert reasons
    assert not [text for text in reasons if COMMAND_LINE.search(text)]
    for text in (job.told["message"], *reasons, job.stdout):
        assert "Nova: resize, roll back" in text
