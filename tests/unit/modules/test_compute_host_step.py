# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_host_step as a module: results, failures, check mode, and nothing of the plan in what it logs."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.modules import compute_host_step
from ansible_collections.stackguard.nova.tests.unit.modules.running import run

JOURNAL = {"schema": 1, "kind": "rename", "operation_id": "o", "state": "open", "note": None, "number": 7}
JOURNAL.update(about={"plan_sha256": None}, plan={}, steps={}, history=[], run={"token": "t"})


def call(state_dir, *requests, check=False):
    return run(compute_host_step.main, {"requests": list(requests), "state_dir": str(state_dir)}, check)


def test_requests_and_results(tmp_path):
    answer = call(tmp_path, {"op": "journal_open", "journal": JOURNAL}, {"op": "journal_read", "kind": "rename"})
    assert answer["changed"]
    assert answer["results"] == [{"ok": True}, {"ok": True, "journal": JOURNAL, "unknown": [], "ended": 0}]
    answer = call(tmp_path, {"op": "journal_list"})
    assert (answer["changed"], answer["results"]) == (False, [{"ok": True, "journals": [JOURNAL], "unknown": []}])


def test_a_failure(tmp_path):
    answer = call(tmp_path, {"op": "journal_open", "journal": JOURNAL}, {"op": "nothing"})
    assert answer["failed"]
    assert (answer["msg"], answer["changed"], answer["changed_meanwhile"]) == (
        "request 2 (nothing): unknown op",
        True,
        False,
    )
    assert answer["results"] == [{"ok": True}]


def test_check_mode(tmp_path):
    answer = call(tmp_path, {"op": "journal_open", "journal": JOURNAL}, check=True)
    assert (answer["changed"], answer["results"]) == (False, [{"ok": True, "skipped": True}])
    assert list(tmp_path.iterdir()) == []


def test_the_plan_is_not_repeated(tmp_path):
    answer = call(tmp_path, {"op": "journal_list"})
    assert answer["invocation"] == {"module_args": {"state_dir": str(tmp_path)}}
