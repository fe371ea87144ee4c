# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""unknown_variables: variables that look like this collection's and that no role reads."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables
author:
  - stackguard.nova contributors (@stackguard)
version_added: 0.1.0
short_description: Find variables of this collection that no role reads
description:
  - Ansible ignores a variable that no task reads, such as a misspelt variable.
  - Reports unknown variables, which are variables that no role reads. For each reported variable, the lookup returns
    one sentence with the known names that are most similar to the unknown name. The known names are the names in the
    argument specifications of all roles of this collection. The lookup knows the variables of every role. You can
    therefore use one file of variables for all playbooks.
  - The lookup reports an unknown extra variable (C(--extra-vars)) if the name begins with the prefix of a role, such as
    C(rename_) or C(stackguard_), or if the name is similar to a known name. The lookup reports an unknown inventory
    variable only if the name is similar to a known name. The lookup ignores all other unknown inventory variables,
    because they can belong to other playbooks.
options: {}
"""

EXAMPLES = r"""
- name: Fail if you have set a variable that no role reads
  ansible.builtin.assert:
    that: query('stackguard.nova.unknown_variables') | length == 0
"""

RETURN = r"""
_raw:
  description: The sentences. An empty list means that the lookup found no unknown variable.
  type: list
  elements: str
"""

import glob
import os
import typing as t

from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars

from ..module_utils.model import input_rules

ROLES = os.path.join(os.path.dirname(__file__), "..", "..", "roles")
#: What all playbooks share begins with it; all else with the first word of its role.
SHARED = "stackguard"
#: What variables begin with of the role that only playbooks and roles use, and set the variables of.
INTERNAL = "refuse_"


class LookupModule(LookupBase):
    """What Ansible loads."""

    def run(self, terms: t.List[str], variables: t.Any = None, **_kwargs: t.Any) -> t.List[str]:
        """Return the sentences."""
        specs = sorted(glob.glob(os.path.join(ROLES, "*", "meta", "argument_specs.yml")))
        roles = {path.split(os.sep)[-3] for path in specs}
        prefixes = {SHARED, INTERNAL.rstrip("_"), *(role.partition("_")[0] for role in roles)}
        known = {name for path in specs for name in self._specified(path) if not name.startswith(INTERNAL)}
        extra = [str(name) for name in load_extra_vars(self._loader)]
        return input_rules.unknown_variables(extra, _of_inventory(variables), known, prefixes)

    def _specified(self, path: str) -> t.Iterator[str]:
        for entry in self._loader.load_from_file(path)["argument_specs"].values():
            yield from (str(name) for name in entry.get("options") or {})


def _of_inventory(variables: t.Any) -> t.Set[str]:
    """The names of all that is set for any host, wherever it is set."""
    hostvars = variables["hostvars"]
    return {str(name) for host in variables["groups"]["all"] for name in hostvars[host]}
