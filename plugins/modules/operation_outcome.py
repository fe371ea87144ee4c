#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operation_outcome
short_description: Publish and report the outcome of a playbook run, and fail if the run did not succeed
version_added: 0.2.0
description:
  - Internal, no stability promise. The roles of this collection call this module.
  - Publishes the outcome of a run to the workflow with C(set_stats), under the key C(stackguard). Writes
    C(report.json), and shows the summary of the run. If the run did not succeed, the task fails, and the error message
    of the task is the summary.
  - Ansible publishes the data of C(set_stats) only if the task succeeds. To publish values even if the run fails, a
    role calls this module twice, first with O(phase=publish) and then with O(phase=end).
  - Runs on the Ansible controller.
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
      - V(publish) publishes the outcome of the run with C(set_stats), so that the next jobs of an AWX workflow can use
        the outcome. V(report) only writes the files of the report.
      - V(end) shows the summary of the run. If the run did not succeed, the task fails, and the error message of the
        task is the summary.
      - If O(report_dir) is set, V(publish) and V(end) also write the files of the report.
  operation:
    type: str
    required: true
    description: Name of the playbook.
  result:
    type: dict
    default: {}
    description: Registered result of the task that ran the operation. O(result) is empty if the run ended before the
      task of the operation returned a result.
  others:
    type: list
    elements: dict
    default: []
    description: Results of the tasks that run in addition to the task of the operation. If one of these tasks failed,
      or could not reach its host, the run did not succeed. Each entry has the keys C(result) and C(host).
  known:
    type: dict
    default: {}
    description: Values that the module publishes in addition to the values from O(result), such as the name of the
      host.
  keys:
    type: list
    elements: str
    default: []
    description: Keys of O(result) that the module publishes without change. If O(result) does not have one of these
      keys, the module publishes V(null) for this key.
  acts:
    type: bool
    default: true
    description: Whether the playbook executes an operation. Set O(acts=false) in playbooks that only read and report.
  report_dir:
    type: path
    description: Directory on the Ansible controller for the report. Without O(report_dir), the module writes no file.
  report:
    type: bool
    default: true
    description:
      - Whether the module writes C(report.json) for a failed run that has no report. The verdict in this C(report.json)
        is V(block), and one entry of C(unchecked) contains the reason of the failure. Set O(report=false) in playbooks
        that never write C(report.json), or that write C(report.json) in another task.
  files:
    type: dict
    default: {}
    description: JSON files that the module writes into O(report_dir) in addition to C(report.json). Each key is the
      name of a file, and each value is the content of the file.
  stale:
    type: list
    elements: str
    default: []
    description: Names of files in O(report_dir) that belong to an earlier report. The module removes these files.
  evidence_dir:
    type: path
    description: Temporary evidence directory. The module removes the evidence directory in the phases V(report) and
      V(end).
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
