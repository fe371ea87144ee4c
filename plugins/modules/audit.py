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
  - Decides every finding of this collection that applies to a whole cloud from the evidence that
    M(stackguard.nova.compute_host_info), M(stackguard.nova.cell_info) and M(stackguard.nova.cloud_info) wrote, or from
    saved evidence. Reads nothing else, and changes only the report's files.
  - Writes C(report.json), C(report.html), C(report.csv), C(report.junit.xml), C(report.prom), C(forecast.json),
    C(changes.json) and C(evidence.json). The same evidence gives the same bytes; the comparison with earlier audits
    depends on O(history_dir).
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
      - Directory with the evidence of this run. One of O(evidence_dir) and O(evidence) is required.
  evidence:
    type: list
    elements: path
    default: []
    description:
      - Saved evidence instead, files C(evidence.json) or directories. The module combines several, such as those of the
        slices of one job; if two read the same object, the later reading counts. O(evidence_dir) is then ignored.
  inventory_hosts:
    type: list
    elements: str
    default: []
    description:
      - Requested hosts. A host without any evidence in O(evidence_dir) or O(evidence) is reported as not read.
  sources:
    type: list
    elements: str
    choices: [hosts, api, databases, ceph]
    default: []
    description:
      - Requested sources, kept with the evidence. A source with neither evidence nor a reason is a blocker.
  failures:
    type: dict
    default: {}
    description:
      - Why a source (V(api), V(databases), V(operations)) could not be read. The reason is kept with the evidence, and
        is a blocker.
  journals:
    type: dict
    description:
      - The journals of the journal directory, C(open) and C(closed), each a list. Their operations are kept with the
        evidence. Without this option the journals count as not read, and what an open operation needs is undecided.
  report_dir:
    type: path
    required: true
    description: Directory for the report's files. The module creates it, readable by its owner only.
  definitions_dir:
    type: path
    description:
      - Lasting directory with the last record of the guests' definitions, to compare with; outside check mode the
        current definitions are recorded there afterwards. Without it, nothing is compared or recorded.
  fail_on:
    type: str
    default: blocker
    choices: [never, new_blocker, blocker, warning]
    description:
      - V(blocker) fails on the verdict C(block), V(warning) on every verdict except C(pass). An undecided check
        prevents a C(pass).
      - V(new_blocker) fails only on blockers that the last audit of the same scope did not have. It means V(blocker) if
        O(history_dir) has no such audit, if one of the two did not read everything, or if a report there is damaged.
  history:
    type: int
    default: 0
    description: Number of earlier reports to keep in O(history_dir). With V(0) the module keeps none and compares
      nothing.
  history_dir:
    type: path
    description:
      - Lasting directory of earlier reports. By default C(history) in O(report_dir). In check mode the module adds
        nothing.
  cloud_name:
    type: str
    default: ""
    description: Name of the cloud in the report. The evidence keeps it.
  region:
    type: str
    default: ""
    description: Region of the cloud. The evidence keeps it.
  links_listed:
    type: int
    default: 1000
    description: Number of wrong links of one code to list one by one. The module counts the others and reports them as
      undecided.
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.cell_info
  - module: stackguard.nova.cloud_info
"""

EXAMPLES = r"""
- name: Check the evidence and write the report
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
    - With C(failed_when=false), a later task can fail on this value, with only the summary as message.
  returned: always
  type: bool
  sample: true
verdict:
  description: C(pass), C(warn) or C(block).
  returned: when the evidence could be read
  type: str
  sample: warn
counts:
  description: Number of findings by severity, of undecided checks, and of overridden findings.
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
changes:
  description: What is new, gone and known since the last audit.
  returned: when the evidence could be read
  type: dict
  contains:
    since:
      description: When the evidence of that audit was collected; V(null) without an earlier audit.
      type: str
    comparable:
      description: Whether both audits have the same scope and both read everything.
      type: bool
    new:
      description: Findings that the last audit did not have.
      type: int
    gone:
      description: Findings of the last audit that this one does not have. If the two are not comparable, this audit may
        not have read them.
      type: int
    known:
      description: Findings that both audits have.
      type: int
    new_blockers:
      description: Blockers that the last audit did not have; V(null) if there is no audit to compare with.
      type: int
  sample: {since: "2026-11-20T02:10:44+00:00", comparable: true, new: 1, gone: 0, known: 3, new_blockers: 0}
summary:
  description: The first 40 lines of the report.
  returned: when the evidence could be read
  type: list
  elements: str
  sample: ["SG704 service-disabled: 1"]
report_dir:
  description: Paths of the files.
  returned: when the evidence could be read
  type: str
  sample: /home/operator/stackguard-reports
"""
