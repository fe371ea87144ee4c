# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""whole_run: the hosts of a play, unless options of the command leave out what no task could refuse."""

from __future__ import annotations

DOCUMENTATION = r"""
name: whole_run
author:
  - stackguard.nova contributors (@stackguard)
version_added: 0.1.0
short_description: Fail if an option of ansible-playbook can skip tasks of the playbook
description:
  - Use this lookup as the value of C(hosts) in the first play of a playbook that must always run as a whole. The lookup
    either returns V(localhost) or fails.
  - The lookup fails if you run the playbook with C(--start-at-task), C(--step), C(--skip-tags always) or C(--skip-tags
    tagged), because these options can skip the tasks that detect a partial run. If C(--start-at-task) names a task that
    does not exist, Ansible runs no task and exits with status 0.
options:
  _terms:
    description: Name of the playbook.
    type: list
    elements: str
    required: true
  limit:
    description:
      - Whether the playbook accepts C(--limit). With O(limit=false) the lookup fails if you run the playbook with
        C(--limit).
      - With O(limit=true), the lookup does not check the value of C(--limit). If the playbook works only with some
        values of C(--limit), another play of the playbook must check the value.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Prepare
  hosts: "{{ lookup('stackguard.nova.whole_run', 'drain_host') }}"

- name: Set AWX up
  hosts: "{{ lookup('stackguard.nova.whole_run', 'configure', limit=false) }}"
"""

RETURN = r"""
_raw:
  description: V(localhost).
  type: list
  elements: str
"""

import typing as t

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """What Ansible loads."""

    def run(self, terms: t.List[str], variables: t.Any = None, **kwargs: t.Any) -> t.List[str]:
        """Return the hosts, or refuse."""
        self.set_options(var_options=variables, direct=kwargs)
        options = context.CLIARGS
        if {"always", "tagged"} & set(options.get("skip_tags") or ()):
            raise AnsibleLookupError(f"The playbook {terms[0]} has no tags, so run it without --tags and --skip-tags.")
        if options.get("start_at_task") or options.get("step"):
            raise AnsibleLookupError(
                f"The playbook {terms[0]} must run as a whole, so run it without --start-at-task and --step."
            )
        if options.get("subset") and not self.get_option("limit"):
            raise AnsibleLookupError(f"The playbook {terms[0]} does not accept --limit, so run it without --limit.")
        return ["localhost"]
