#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operation_outcome
short_description: End the run of a playbook of this collection
version_added: 0.2.0
description:
  - Internal, no stability promise. The roles of this collection call it.
  - Publishes how a run ended to the workflow (C(set_stats), under C(stackguard)), writes C(report.json), shows the
    summary, and fails with it unless the run succeeded.
  - Ansible takes what a task publishes only if that task succeeds. A role therefore calls it twice, with V(publish) and
    then with V(end).
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
options:
  phase:
    type: str
    required: true
    choices: [publish, report, end]
    description:
      - V(publish) publishes the outcome. V(report) writes the files of the report.
      - V(end) writes them, shows the summary, and fails with it unless the run succeeded.
  operation:
    type: str
    required: true
    description: Name of the playbook.
  result:
    type: dict
    default: {}
    description: What the task of the operation registered. Empty if it was not executed.
  others:
    type: list
    elements: dict
    default: []
    description: What other tasks registered that can end the run, as C(result), each with its C(host).
  known:
    type: dict
    default: {}
    description: Further values to publish, such as the name of the host.
  keys:
    type: list
    elements: str
    default: []
    description: Keys of O(result) to publish as they are; V(null) for a key that it does not have.
  acts:
    type: bool
    default: true
    description: Whether the playbook carries out an operation. V(false) is for playbooks that only judge.
  report_dir:
    type: path
    description: Directory on the controller for the report. Without it, no file is written.
  report:
    type: bool
    default: true
    description:
      - Whether a failed run without a report writes C(report.json), which says that nothing was decided. V(false) is
        for playbooks that write no such file, or write it themselves.
  files:
    type: dict
    default: {}
    description: Names and contents of further JSON files of the report.
  stale:
    type: list
    elements: str
    default: []
    description: Names of files of an earlier report to remove.
  evidence_dir:
    type: path
    description: The temporary evidence directory of the run, to remove.
"""

EXAMPLES = r"""
- name: Publish the outcome to the workflow
  stackguard.nova.operation_outcome:
    phase: publish
    operation: return_host
    result: "{{ registered | default({}) }}"

- name: Write the report, and show the outcome
  stackguard.nova.operation_outcome:
    phase: end
    operation: return_host
    result: "{{ registered | default({}) }}"
    report_dir: ./stackguard-reports
"""

RETURN = r"""
msg:
  description: With O(phase=end), the summary.
  returned: with O(phase=end)
  type: list
  elements: str
  sample: ["nothing to clear on compute1"]
"""
