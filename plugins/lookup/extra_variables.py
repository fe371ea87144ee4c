# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""extra_variables: the names that were given with -e."""

from __future__ import annotations

DOCUMENTATION = r"""
name: extra_variables
author:
  - stackguard.nova contributors (@stackguard)
version_added: 0.1.0
short_description: Return the names of this run's extra variables
description:
  - Returns the names of all extra variables. An extra variable replaces every other variable of the same name, even a
    variable that a task has registered. Some variables are reserved for a playbook, so you must not set them. The
    playbook uses the returned names to find out whether you have set a reserved variable. If you have set a reserved
    variable, the playbook fails. The lookup does not return the values of the variables.
options:
  _terms:
    description: Regular expressions. The lookup returns a name if one of the regular expressions matches the beginning
      of the name. Without terms, the lookup returns all names.
    type: list
    elements: str
  internal:
    description:
      - With O(internal=true), the lookup ignores its terms, and returns the name of each extra variable that has the
        same name as an internal variable. Only the roles of this collection set internal variables. Most names of
        internal variables begin with C(stackguard_) and the first word of a role's name.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Fail if you set an extra variable that only this playbook may set
  ansible.builtin.assert:
    that: query('stackguard.nova.extra_variables', 'myplaybook_result') | length == 0
"""

RETURN = r"""
_raw:
  description: The names, sorted.
  type: list
  elements: str
"""

import os
import re
import typing as t

from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars

ROLES = os.path.join(os.path.dirname(__file__), "..", "..", "roles")
#: What roles set for themselves and that does not begin with a word of one role.
OF_ALL = r"stackguard_(clouds_files|refuse_names|refused|report_path|state_connection)$"


def internal() -> t.List[str]:
    """Return regular expressions of the variables that roles set for themselves, by the names of the roles."""
    words = sorted({name.partition("_")[0] for name in os.listdir(ROLES) if os.path.isdir(os.path.join(ROLES, name))})
    return [f"stackguard_({'|'.join(words)})_", OF_ALL]


class LookupModule(LookupBase):
    """What Ansible loads."""

    def run(self, terms: t.List[str], variables: t.Any = None, **kwargs: t.Any) -> t.List[str]:
        """Return the names that match."""
        self.set_options(var_options=variables, direct=kwargs)
        if self.get_option("internal"):
            terms = internal()
        names = sorted(str(name) for name in load_extra_vars(self._loader))
        return [name for name in names if not terms or any(re.match(term, name) for term in terms)]
