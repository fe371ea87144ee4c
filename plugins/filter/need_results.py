# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""need_results: what a looped task registered, item by item, as an operation takes it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: need_results
author: stackguard.nova contributors
version_added: 0.2.0
short_description: Return the results of a looped task, item by item
description:
  - Returns one dictionary for each item of a loop. The dictionary contains all keys of the item, and the key C(result).
    The key C(result) contains the result of the task for this item, even if the task failed for the item. With this
    filter, the roles of this collection pass the results of a looped task to a module, such as
    M(stackguard.nova.server_evacuate).
options:
  _input:
    description: The registered result of a task with a loop.
    type: dict
    required: true
  loop_var:
    description: The loop's variable.
    type: str
    required: true
positional: loop_var
"""

EXAMPLES = r"""
- name: Record the answers
  ansible.builtin.set_fact:
    answer: "{{ guards | stackguard.nova.need_results('home') }}"
"""

RETURN = r"""
_value:
  description: One dictionary for each item of the loop. The key C(result) contains the result of the task for this
    item.
  type: list
  elements: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

#: What Ansible adds, and what an operation never looks at.
_LEFT_OUT = ("invocation", "ansible_loop_var", "diff", "warnings", "deprecations")


def need_results(registered: t.Any, loop_var: str) -> t.List[t.Dict[str, t.Any]]:
    """Return each item with its result."""
    if not isinstance(registered, t.Mapping):
        raise AnsibleFilterError("need_results takes the registered result of a task")
    return [
        {
            **dict(entry.get(loop_var) or {}),
            "result": {key: value for key, value in entry.items() if key != loop_var and key not in _LEFT_OUT},
        }
        for entry in registered.get("results") or []
    ]


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[t.Dict[str, t.Any]]]]:
        """Return the filters by name."""
        return {"need_results": need_results}
