# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""need_results: what a looped task registered, failures included."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.stackguard.nova.plugins.filter.need_results import FilterModule, need_results

HOME = {"fsid": "f1", "pool": "vms", "reader": "compute2"}


def turn(**result):
    return {"home": HOME, "ansible_loop_var": "home", "invocation": {"module_args": {}}, **result}


def test_each_turn_is_its_item_with_its_result():
    found = need_results({"results": [turn(changed=True, fsid="f9"), turn(failed=True, msg="denied")]}, "home")
    assert found == [
        {**HOME, "result": {"changed": True, "fsid": "f9"}},
        {**HOME, "result": {"failed": True, "msg": "denied"}},
    ]


def test_a_host_that_does_not_answer_is_an_answer():
    (found,) = need_results({"results": [turn(unreachable=True, msg="timed out")]}, "home")
    assert found["result"] == {"unreachable": True, "msg": "timed out"}


@pytest.mark.parametrize("registered", [{"results": []}, {"skipped": True}, {}])
def test_a_loop_without_a_turn_has_no_answer(registered):
    assert need_results(registered, "home") == []


def test_something_else_than_a_registered_task_is_refused():
    with pytest.raises(AnsibleFilterError):
        need_results("text", "home")


def test_ansible_finds_it():
    assert FilterModule().filters() == {"need_results": need_results}
