#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_input
short_description: Check the command and the variables of a playbook run, and clear the way for the run
version_added: 0.2.0
description:
  - Internal, no stability promise. The role P(stackguard.nova.common#role) calls this module as the first task of each
    playbook.
  - Fails with everything that is wrong at once. Examples are C(--tags), C(--limit), an unknown variable, a variable of
    an earlier version, a variable that only the playbook may set, and a value that the argument specification of the
    role does not allow.
  - If nothing is wrong, removes the report of an earlier run, and creates a directory for the facts of the run.
  - Runs on the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
options:
  playbook:
    type: str
    required: true
    description: Name of a playbook of this collection.
  phase:
    type: str
    default: check
    choices: [check, publish, end]
    description:
      - V(check) fails if something is wrong. V(publish) publishes the refusal to the workflow with C(set_stats), writes
        C(report.json), and does not fail. V(end) fails, and the error message is everything that is wrong.
      - Ansible publishes the data of C(set_stats) only if the task succeeds. Each phase checks the input again.
"""

EXAMPLES = r"""
- name: Check the command and the variables
  stackguard.nova.check_input:
    playbook: drain_host
  register: checked
"""

RETURN = r"""
playbook:
  description: Name of the playbook.
  returned: success
  type: str
  sample: drain_host
hosts:
  description: Inventory hosts with the Nova name of the host that the run is about.
  returned: success
  type: list
  elements: str
  sample: [compute1]
peers:
  description: Inventory hosts from which the run collects facts.
  returned: success
  type: list
  elements: str
  sample: [compute1, compute2]
extra:
  description: Names of the extra variables.
  returned: success
  type: list
  elements: str
  sample: [drain_host]
literal:
  description: Values of C(-e) that are never templated, such as a line of a log. URLs have no password in it.
  returned: success
  type: dict
  sample: {explain_text: Binding failed for port}
evidence_dir:
  description: Empty directory on the Ansible controller for the facts of the run. Empty if the run collects no facts.
  returned: success
  type: str
  sample: /tmp/stackguard-abcd
"""
