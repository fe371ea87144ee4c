# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""fence_requires: the variables without which a fence cannot be made."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fence_requires
author: stackguard.nova contributors
version_added: 0.1.0
short_description: List the names of the variables that a fence requires
description:
  - Returns the names of the variables that the fencing method in the input requires. These variables belong to the role
    P(stackguard.nova.evacuate_host#role). For an unknown fencing method, the filter returns an empty list.
options:
  _input:
    description: The fencing method, as in C(evacuate_fence).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the variables that the fence needs
  ansible.builtin.debug:
    msg: "{{ evacuate_fence | stackguard.nova.fence_requires }}"
"""

RETURN = r"""
_value:
  description: Names of variables.
  type: list
  elements: str
  sample: [evacuate_fence_command, evacuate_fence_confirm_command]
"""

import typing as t

from ..module_utils.model.fences.catalogue import FENCES


def fence_requires(kind: t.Any) -> t.List[str]:
    """Return the names of the variables."""
    entry = FENCES.get(str(kind))
    return [f"evacuate_{name}" for name in entry.requires] if entry else []


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[str]]]:
        """Return the filters by name."""
        return {"fence_requires": fence_requires}
