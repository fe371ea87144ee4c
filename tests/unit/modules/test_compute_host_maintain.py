# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file of tasks that Ansible cannot run is known before a host is emptied for it."""

from __future__ import annotations

import types

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.stackguard.nova.plugins.action import compute_host_maintain as action


def problem(path):
    plugin = types.SimpleNamespace(_loader=DataLoader())
    return action.ActionModule._tasks_problem(plugin, str(path))


@pytest.mark.parametrize(
    "text",
    [
        "- name: A colon\n  ansible.builtin.shell: echo a: b\n",
        "tasks:\n  - name: A playbook's\n    ansible.builtin.ping:\n",
        "",
        "- a word\n",
    ],
)
def test_what_is_no_list_of_tasks_is_refused(tmp_path, text):
    path = tmp_path / "tasks.yml"
    path.write_text(text)
    assert problem(path)


def test_a_list_of_tasks_passes_and_a_file_that_is_not_there_does_not(tmp_path):
    path = tmp_path / "tasks.yml"
    assert problem(path)
    path.write_text("---\n- name: One\n  ansible.builtin.ping:\n")
    assert problem(path) is None
