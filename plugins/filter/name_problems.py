# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""name_problems: what is wrong with the names that somebody typed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: name_problems
author: stackguard.nova contributors
version_added: 0.1.0
short_description: Report each invalid name in a variable, and the reason why the name is invalid
description:
  - "Returns a sentence for each variable value that is not a valid name. The sentence contains the name of the
    variable, describes what is wrong with the value, and describes which values are valid. The sentence shows the value
    as JSON. In JSON, control characters are escaped, so they have no effect on a terminal."
options:
  _input:
    description:
      - Dictionary that maps the name of each variable to the value of the variable. A null value means that
        the variable is not set.
    type: dict
    required: true
  kind:
    description:
      - With V(host), each value is a host name that Nova accepts for a compute host. With V(hosts), each value is a
        list of these host names. With V(name), each value is the name or the id of a server or flavor, and can contain
        every character that can be printed on one line. With V(text), each value can contain the same characters as
        with V(name), and can have any length. The filter does not check the meaning of a text. If the run cannot use
        the text, the run reports a finding.
    type: str
    choices: [host, hosts, name, text]
    default: host
positional: kind
"""

EXAMPLES = r"""
- name: Validate the name of a compute host
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join(' ') }}"
  vars:
    problems: "{{ {'rename_from': rename_from} | stackguard.nova.name_problems }}"
"""

RETURN = r"""
_value:
  description: One sentence for each invalid name. If all names are valid, the list is empty.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.model import input_rules


def name_problems(variables: t.Any, kind: str = "host") -> t.List[str]:
    """Return a sentence for each value that is no name."""
    if not isinstance(variables, t.Mapping):
        raise AnsibleFilterError("name_problems takes a dictionary of variables and their values")
    if kind not in input_rules.ACCEPTED:
        raise AnsibleFilterError(
            f"filter name_problems: the option 'kind' must be one of {', '.join(input_rules.ACCEPTED)}, not {kind}"
        )
    return input_rules.problems(variables, kind)


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[str]]]:
        """Return the filters by name."""
        return {"name_problems": name_problems}
