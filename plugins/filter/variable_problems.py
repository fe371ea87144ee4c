# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""variable_problems: variables that look like a role's own and are not."""

from __future__ import annotations

DOCUMENTATION = r"""
name: variable_problems
author: stackguard.nova contributors
version_added: 0.1.0
short_description: Name variables that look like a role's own and are not
description:
  - Ansible ignores a variable that nothing reads, such as one that is misspelt, and the run goes on without it. Returns
    a sentence for each such name, with the known one that is nearest to it.
options:
  _input:
    description: Names of all variables that begin like those of the role.
    type: list
    elements: str
    required: true
  known:
    description: Names that the role takes.
    type: list
    elements: str
    required: true
positional: known
"""

EXAMPLES = r"""
- name: Refuse variables that nobody reads
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join(' ') }}"
  vars:
    problems: >-
      {{ lookup('ansible.builtin.varnames', '^drain_', wantlist=true)
         | stackguard.nova.variable_problems(['drain_host', 'drain_action']) }}
"""

RETURN = r"""
_value:
  description: The sentences. Nothing is wrong where it is empty.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.stackguard.nova.plugins.module_utils import inputs


def variable_problems(given: t.Any, known: t.Any) -> t.List[str]:
    """Return a sentence for each name that is not known."""
    if not isinstance(given, list) or not isinstance(known, list):
        raise AnsibleFilterError("variable_problems takes a list of names and a list of those that are known")
    return inputs.unknown_variables([str(name) for name in given], [str(name) for name in known])


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[str]]]:
        """Return the filters by name."""
        return {"variable_problems": variable_problems}
