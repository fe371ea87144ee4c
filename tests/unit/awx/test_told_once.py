# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task says while it runs is in the output of a job once, and Ansible has nothing to warn of."""

from __future__ import annotations

import functools
import sys

import pytest
from ansible.utils.display import Display

from ansible_collections.stackguard.nova.plugins.plugin_utils import screen
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture
def marks(monkeypatch):
    """As ansible-runner 2.4.0 does it: a method around Ansible's own. Returns the texts that it was given."""
    found = []
    own = Display.display

    @functools.wraps(own)
    def marked(self, msg, *args, **kwargs):
        found.append(msg)
        return own(self, msg, *args, **kwargs)

    monkeypatch.setattr(Display, "display", marked)
    return found


@pytest.mark.parametrize(("parent", "expected"), [("ansible-playbook", []), (None, ["a plan"])])
def test_a_worker_process_marks_nothing_and_shows_the_text_once(monkeypatch, capsys, marks, parent, expected):
    monkeypatch.setattr(screen.context, "parent_process", lambda: parent)
    screen.say("a plan")
    assert marks == expected
    assert capsys.readouterr().out.count("a plan") == 1


@pytest.mark.ansible
def test_a_job_shows_a_page_once(tmp_path, short_tmp):
    controller = Controller(tmp_path, short_tmp)
    job = controller.launch("Nova: explain", {"compute1": HERE}, {"explain_code": "SG113"})
    title = (ROOT / "docs" / "codes" / "SG113.md").read_text().splitlines()[0]
    assert job.stdout.splitlines().count(title) == 1
    assert "WorkerProcess" not in job.stdout
