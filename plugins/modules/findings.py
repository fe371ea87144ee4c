#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: findings
short_description: Query the findings of a saved report
version_added: 0.1.0
description:
  - Reads a C(report.json) that a playbook of this collection wrote. Selects findings by code, severity and host, or
    with a JMESPath expression, and prints the selected findings as a table or as JSON.
  - The module refuses a JMESPath expression with a field that the report cannot contain. The error message shows the
    position in the expression and the existing fields. The module also refuses a comparison that can never be true,
    such as the comparison of a number with a string.
  - Connects to no system and writes no file. Runs on the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
options:
  report:
    type: path
    required: true
    description: Path of the report on the Ansible controller.
  codes:
    type: list
    elements: str
    default: []
    description: Codes to select, such as V(SG113), V(sg113) or V(113), or their names. By default the module selects
      findings of all codes.
  severities:
    type: list
    elements: str
    default: []
    description: Severities to select (V(blocker), V(warning), V(info)). By default the module selects findings of all
      severities.
  hosts:
    type: list
    elements: str
    default: []
    description:
      - Compute hosts for which the module selects findings. Enter any name that the report shows for the host. By
        default the module selects findings of all hosts.
      - RV(unnamed_hosts) lists the hosts of O(hosts) that have no finding in the report.
  query:
    type: str
    default: ""
    description:
      - JMESPath expression that the module applies to the report, such as
        V(findings[?severity=='blocker'].object.host). The module evaluates O(query) on the findings that the other
        options have selected. O(codes) selects the findings and the undecided checks with these codes.
  format:
    type: str
    default: table
    choices: [table, json]
    description: Format of the printed findings. A result that is not a list of findings is always printed as JSON.
  fail_if:
    type: str
    default: never
    choices: [never, found]
    description:
      - With O(fail_if=never) the task fails only if the report cannot answer the query. With O(fail_if=found) the task
        also fails if the query selects anything. It also fails if one of the codes is unchecked in the report, or if at
        least one of O(hosts) has no finding in the report.
      - With O(fail_if=found), the task also fails if the report has a finding with the code SG114, SG311 or SG709. The
        task also fails if the report has an undecided check with the code SG114, SG311, SG709 or SG710. The task fails
        even if O(codes) does not contain these codes. SG114, SG311, SG709 and SG710 report facts that could not be
        read, and your query might need one of these facts.
      - With O(fail_if=found) the task fails if the report is not from an audit. With O(fail_if=found), the task also
        fails if the report contains no compute hosts although you set O(codes) or O(hosts).
  max_age_minutes:
    type: int
    default: 0
    description: Maximum age of the report's evidence in minutes. The run fails if the evidence is older than
      O(max_age_minutes). With O(max_age_minutes=0) the module accepts a report of any age.
seealso:
  - module: stackguard.nova.audit
  - module: stackguard.nova.explain
"""

EXAMPLES = r"""
- name: Print the blockers of a host
  stackguard.nova.findings:
    report: stackguard-reports/report.json
    severities: [blocker]
    hosts: [compute1]

- name: Continue only if the report proves that all guests survive a start of nova-compute
  stackguard.nova.findings:
    report: stackguard-reports/report.json
    codes: [SG113]
    fail_if: found
    max_age_minutes: 60

- name: Get the hosts that have blockers
  stackguard.nova.findings:
    report: stackguard-reports/report.json
    query: "findings[?severity=='blocker'].object.host"
    format: json
  register: blocked
"""

RETURN = r"""
result:
  description: The entries that the query selects. Without O(query), the entries are findings as in C(report.json).
  returned: if the report answers
  type: raw
count:
  description: Number of selected entries. The number of entries is V(1) if the result is not a list.
  returned: if the report answers
  type: int
unchecked:
  description: Undecided checks with a code in O(codes), from the report. If a check with the code SG114, SG311, SG709
    or SG710 is undecided, RV(unchecked) always contains this check.
  returned: if the report answers
  type: list
  elements: dict
  contains:
    code:
      description: The code of the undecided check.
      type: str
    object:
      description: The object of the undecided check.
      type: str
    reason:
      description: Why the run could not decide the check.
      type: str
unread:
  description:
    - Codes of the findings about facts that could not be read (SG114, SG311, SG709). The filters of the query do not
      apply to these codes.
  returned: if the report answers
  type: list
  elements: str
unnamed_hosts:
  description: The hosts of O(hosts) that have no finding in the report.
  returned: if the report answers
  type: list
  elements: str
verdict:
  description: Verdict of the whole report.
  returned: if the report answers
  type: str
  sample: block
generated_at:
  description: When the evidence in the report was collected.
  returned: if the report answers
  type: str
  sample: "2026-11-21T02:10:44Z"
text:
  description: What was printed.
  returned: if the report answers
  type: str
succeeded:
  description: Whether the task succeeded. For tasks with C(failed_when).
  returned: always
  type: bool
refused:
  description: Whether the module refused the query or the report.
  returned: if it was
  type: bool
"""
