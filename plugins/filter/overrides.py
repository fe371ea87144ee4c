# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""overrides: what a person typed into one field, as the roles take it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: overrides
author: stackguard.nova contributors
version_added: 0.2.0
short_description: Read text that contains overrides of findings
description:
  - >-
    Converts text, such as the answer to a survey of AWX, into the list for C(stackguard_overrides). Each line of
    the text is one override, which consists of C(CODE OBJECT), a colon and the reason. If the object of an override
    contains a colon and a space, write the overrides as a JSON list of objects with the keys C(code), C(object) and
    C(reason).
  - If the filter cannot split a line into code, object and reason, the filter fails and shows the number of the line.
    The filter also fails if a code is unknown, if you cannot override a code, or if the input is not text.
options:
  _input:
    description: The text with the overrides. An empty text means that there are no overrides.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the overrides from the answer to an AWX survey
  ansible.builtin.set_fact:
    stackguard_overrides: "{{ stackguard_awx_overrides | default('') | stackguard.nova.overrides }}"
"""

RETURN = r"""
_value:
  description: The overrides, each with C(code), C(object) and C(reason).
  type: list
  elements: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.model import findings


def overrides(text: t.Any) -> t.List[t.Dict[str, str]]:
    """Return the overrides that a text names."""
    try:
        return findings.overrides_of_text(text)
    except findings.OverrideError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.List[t.Dict[str, str]]]]:
        """Return the filters by name."""
        return {"overrides": overrides}
