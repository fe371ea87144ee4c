# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""as_list: what somebody gave for a variable that is a list."""

from __future__ import annotations

DOCUMENTATION = r"""
name: as_list
author: stackguard.nova contributors
version_added: 0.2.0
short_description: Read the value of a variable that is a list
description:
  - Returns the value as a list. On the command line (C(-e NAME=VALUE)), and in an inventory in INI format, a value is
    text. The filter splits text at commas, as Ansible does for an option of the type V(list), and removes the spaces
    around each part. Empty text is an empty list. A single value that is not text is a list with one element.
options:
  _input:
    description: The value. A null value is an empty list.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show that audit_sources contains a source
  ansible.builtin.debug:
    msg: "{{ 'api' in (audit_sources | stackguard.nova.as_list) }}"
"""

RETURN = r"""
_value:
  description: The list.
  type: list
  elements: raw
"""

import typing as t

from ..module_utils.model.playbook_input import as_list


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[t.Any]]]:
        """Return the filters by name."""
        return {"as_list": as_list}
