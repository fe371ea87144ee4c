# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the workflow gets is what the run ends with: a report that cannot be written is known before it is published."""

from __future__ import annotations

import json

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.stackguard.nova.plugins.action import operation_outcome as action

PASS = {"schema": 1, "verdict": "pass", "counts": {}, "findings": [], "unchecked": []}
WELL = {"succeeded": True, "state": "finished", "report": PASS, "msg": "all is done"}


@pytest.fixture
def outcome(monkeypatch):
    """Do one phase: what it returns."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})

    def phase(name, directory, **more):
        made = action.ActionModule.__new__(action.ActionModule)
        given = {key: spec.get("default") for key, spec in action.ARGUMENTS.items()}
        given = {**given, "phase": name, "operation": "resize_server", "result": WELL, "report_dir": directory, **more}
        made.validate_argument_spec = lambda spec: (None, given)
        return made.run()

    return phase


def published(result):
    assert not result.get("failed"), "Ansible publishes nothing of a task that fails"
    return result["ansible_stats"]["data"]["stackguard"]


def told(directory):
    return json.loads((directory / "report.json").read_text())["verdict"]


def test_what_is_published_is_what_is_written(outcome, tmp_path):
    directory = tmp_path / "reports"
    assert published(outcome("publish", directory))["verdict"] == told(directory) == "pass"
    assert not outcome("end", directory).get("failed")
    assert told(directory) == "pass"


def test_a_run_that_failed_leaves_block_in_both(outcome, tmp_path):
    failed = {**WELL, "succeeded": False, "failed": True, "state": "rolled_back", "msg": "rolled back"}
    assert published(outcome("publish", tmp_path, result=failed))["verdict"] == told(tmp_path) == "block"
    assert outcome("end", tmp_path, result=failed)["failed"]
    assert told(tmp_path) == "block"


@pytest.mark.parametrize("state", ["rolled-back", "aborted"])
def test_an_operation_that_was_taken_back_has_a_report_and_publishes_its_counts(outcome, tmp_path, state):
    back = {"succeeded": True, "state": state, "msg": "rolled back"}
    found = published(outcome("publish", tmp_path, result=back))
    assert (found["verdict"], set(found["counts"].values())) == ("pass", {0})
    assert told(tmp_path) == "pass"
    failed = {"succeeded": False, "failed": True, "state": state, "msg": "it failed, and was rolled back"}
    assert published(outcome("publish", tmp_path, result=failed))["verdict"] == told(tmp_path) == "block"


def test_a_status_publishes_what_was_found_and_has_no_report_of_its_own(outcome, tmp_path):
    assert published(outcome("publish", tmp_path, result={"succeeded": True, "state": "open", "msg": "x"}))
    assert not (tmp_path / "report.json").exists()
    found = published(outcome("publish", tmp_path, result={**WELL, "state": "open"}))
    assert (found["verdict"], told(tmp_path)) == ("pass", "pass")


def test_a_directory_that_cannot_be_made_blocks_before_it_is_published(outcome, tmp_path):
    """The workflow got pass, and then the run failed for its report."""
    (tmp_path / "file").write_text("")
    directory = tmp_path / "file" / "reports"
    found = published(outcome("publish", directory))
    assert found["verdict"] == "block" and "the report was not written" in found["message"]
    ended = outcome("end", directory)
    assert ended["failed"] and ended["msg"] == found["message"]


@pytest.mark.parametrize("name", ["report.json", "placements.json"])
def test_a_file_of_the_report_that_cannot_be_written_blocks(outcome, tmp_path, name):
    (tmp_path / name / "full").mkdir(parents=True)
    files = {"placements.json": {}}
    assert published(outcome("publish", tmp_path, files=files))["verdict"] == "block"
    assert outcome("end", tmp_path, files=files)["failed"]
    assert name == "report.json" or told(tmp_path) == "block"


def test_a_playbook_that_writes_its_report_itself_gets_no_other(outcome, tmp_path):
    assert published(outcome("publish", tmp_path, result={}, acts=False, report=False))["verdict"] == "block"
    assert list(tmp_path.iterdir()) == []
