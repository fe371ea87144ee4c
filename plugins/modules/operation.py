#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operation
short_description: Run an operation of this collection from the controller
version_added: 0.2.0
description:
  - Begins, resumes, rolls back or reports an operation whose whole plan is made before its first step.
  - For the roles of this collection. Each documents its operation's options as its own variables.
  - Run the same task again to resume a killed run, or roll it back with O(action=rollback). The journal is on the host
    that the task runs on (or is delegated to), which receives no credentials.
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.moves
  - stackguard.nova.approved_plan
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Everything is read and judged, the plan is shown, and nothing is changed.
  diff_mode:
    support: full
    description: Shows each value that changes, before and after.
  idempotent:
    support: full
    description: Values that are already as requested are left unchanged.
options:
  operation:
    type: str
    required: true
    description: The operation, such as V(resize).
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) begins the operation, or resumes an unfinished run.
      - V(resume) only resumes. It fails if no such operation is open.
      - V(status) reports the open operation. It changes nothing.
      - V(rollback) undoes an unfinished run.
  options:
    type: dict
    default: {}
    description:
      - The operation's own options. They are the variables of its role, without their prefix. The module refuses
        unknown options.
  nova_api_db_url:
    type: str
    description: URL of Nova's API database, for an operation that reads or changes it.
  report_dir:
    type: path
    description: Directory on the controller. In check mode the module writes C(plan.json) into it, with its
      C(plan_sha256).
seealso:
  - module: stackguard.nova.server_resize
"""

EXAMPLES = r"""
- name: Resize a server within its zone
  stackguard.nova.operation:
    cloud: production
    operation: resize
    options: {server: web1, flavor: m1.large}
  delegate_to: localhost
"""

RETURN = r"""
succeeded:
  description:
    - Whether the run completed everything requested.
    - With C(failed_when=false), a later task can fail on this value, with only the summary as message.
  returned: always
  type: bool
  sample: true
state:
  description:
    - V(finished), or V(rolled-back) after a rollback. V(none) if there was nothing to do, V(planned) in check mode,
      V(refused) if nothing was changed. V(unknown) if the run was interrupted.
    - With O(action=status) V(open) or V(rolling-back).
  returned: always
  type: str
  sample: finished
plan_sha256:
  description: Checksum of the plan, for O(expect_plan) of a later run.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
operation_id:
  description: Id of the operation, as in the journal.
  returned: when there is an operation
  type: str
  sample: 3f9a1c0b77de
steps:
  description: The state of each step.
  returned: with O(action=status), when an operation is open
  type: dict
  sample: {pin: done, resize: applying}
plan:
  description: Every step, with what it changes.
  returned: when it was planned in this run
  type: dict
  sample: {kind: resize-8961cf04-0ee7-44b1-9ed3-a4b18e535683, operation_id: 3f9a1c0b77de, subject: web1, steps: []}
report:
  description: The findings, as in C(report.json).
  returned: when it was judged
  type: dict
  sample: {schema: 1, verdict: pass, findings: [], unchecked: []}
"""
