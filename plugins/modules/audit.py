#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Judge the evidence of a whole cloud, and write the report
version_added: 0.1.0
description:
  - Decides every finding of this collection that applies to a whole cloud from what
    M(stackguard.nova.compute_host_info), M(stackguard.nova.cell_info) and M(stackguard.nova.cloud_info) left in an
    evidence directory, or from evidence saved earlier. Reads nothing else and changes nothing but the report's files.
  - Writes C(report.json), C(report.html), C(report.prom), C(forecast.json) and C(evidence.json). The same evidence
    gives the same bytes.
  - Shows a short table on the terminal. Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
  - stackguard.nova.overrides
options:
  evidence_dir:
    type: path
    description:
      - Directory with the evidence of this run. One of O(evidence_dir) and O(evidence) is needed.
  evidence:
    type: list
    elements: path
    default: []
    description:
      - Saved evidence instead, files C(evidence.json) or directories. Several are put together, such as those of the
        slices of one job; of what two have read, the later reading counts. O(evidence_dir) is not looked at then.
  inventory_hosts:
    type: list
    elements: str
    default: []
    description:
      - Hosts that were to be read. One that left no trace in O(evidence_dir) or O(evidence) is reported as not read.
  sources:
    type: list
    elements: str
    choices: [hosts, api, databases, ceph]
    default: []
    description:
      - What was to be read. It is kept with the evidence. A source that left no evidence and no reason is a blocker.
  failures:
    type: dict
    default: {}
    description:
      - Why nothing of a source (V(api), V(databases), V(operations)) could be read. It is kept with the evidence, and
        is a blocker.
  journals:
    type: dict
    description:
      - The journals of the journal directory, C(open) and C(closed), each a list. What they say of operations is kept
        with the evidence. When left out, they were not read, and it is undecided what an open operation needs.
  report_dir:
    type: path
    required: true
    description: Directory for the report's files. It is made where it is missing, readable by its owner only.
  definitions_dir:
    type: path
    description:
      - Lasting directory with the definitions of guests as they were recorded last, to compare with; those that were
        read now are recorded there afterwards, but in check mode. When left out, nothing is compared or recorded.
  fail_on:
    type: str
    default: blocker
    choices: [never, blocker, warning]
    description:
      - Fail where the verdict is C(block) (V(blocker)), where it is not C(pass) (V(warning)), or V(never). What could
        not be decided is never a C(pass).
  links_listed:
    type: int
    default: 1000
    description: Wrong links of one code that are listed one by one. The rest is counted, and reported as undecided.
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.cell_info
  - module: stackguard.nova.cloud_info
"""

EXAMPLES = r"""
- name: Judge what was read
  stackguard.nova.audit:
    evidence_dir: /run/stackguard-evidence
    inventory_hosts: "{{ groups['compute'] }}"
    report_dir: ./stackguard-reports

- name: Repeat an audit, months later and anywhere
  stackguard.nova.audit:
    evidence: [stackguard-reports/evidence.json]
    report_dir: ./again
    fail_on: never

- name: Put the evidence of an AWX job's slices together
  stackguard.nova.audit:
    evidence:
      - /var/lib/stackguard/slices/1/evidence.json
      - /var/lib/stackguard/slices/2/evidence.json
    inventory_hosts: "{{ groups['compute'] }}"
    report_dir: ./stackguard-reports

- name: Override one finding, and fail on warnings too
  stackguard.nova.audit:
    evidence_dir: /run/stackguard-evidence
    report_dir: ./stackguard-reports
    fail_on: warning
    overrides:
      - code: SG502
        object: compute3
        reason: its guests are test servers
  register: audited
"""

RETURN = r"""
succeeded:
  description:
    - Whether the verdict is below O(fail_on).
    - A task with C(failed_when=false) can fail by it later, with the summary alone.
  returned: always
  type: bool
  sample: true
verdict:
  description: C(pass), C(warn) or C(block).
  returned: when the evidence could be read
  type: str
  sample: warn
counts:
  description: Number of findings by severity, of what was not decided, and of what is overridden.
  returned: when the evidence could be read
  type: dict
  contains:
    blocker:
      description: Findings that block.
      type: int
    warning:
      description: Findings to look at.
      type: int
    info:
      description: Findings that are normal activity.
      type: int
    unchecked:
      description: Checks that could not be decided.
      type: int
    overridden:
      description: Findings that are overridden.
      type: int
  sample: {blocker: 0, warning: 2, info: 1, unchecked: 0, overridden: 0}
codes:
  description: Codes that were found.
  returned: when the evidence could be read
  type: list
  elements: str
  sample: [SG502, SG704]
hosts:
  description: Compute hosts, read or not.
  returned: when the evidence could be read
  type: int
  sample: 3
servers:
  description: Servers.
  returned: when the evidence could be read
  type: int
  sample: 7
generated_at:
  description: When the evidence was collected.
  returned: when the evidence could be read
  type: str
  sample: "2026-11-21T02:10:44+00:00"
summary:
  description: What was reported, line by line; the first 40.
  returned: when the evidence could be read
  type: list
  elements: str
  sample: ["SG704 service-disabled: 1"]
report_dir:
  description: Where the files are.
  returned: when the evidence could be read
  type: str
  sample: /home/operator/stackguard-reports
"""
