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
  - The module refuses a JMESPath expression if a report cannot contain one of the fields in the expression. The error
    message shows the position of this field, and the fields that exist. The module also refuses a comparison that can
    never be true, such as the comparison of a number with a string.
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
    description: Codes or names of the findings to select. Examples of codes are V(SG113), V(sg113) and V(113). By
      default the module selects findings of all codes.
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
        V(findings[?severity=='blocker'].object.host). O(codes), O(severities) and O(hosts) first select findings, and
        O(codes) also selects undecided checks. The module then applies O(query) to the report with only these findings
        and undecided checks.
  format:
    type: str
    default: table
    choices: [table, json]
    description: Format of the printed findings. If the result is not a list of findings, the module always prints the
      result as JSON.
  fail_if:
    type: str
    default: never
    choices: [never, found]
    description:
      - With O(fail_if=never) the task fails only if the report cannot answer the query. With O(fail_if=found) the task
        also fails if the query selects an entry, or if one of the lists RV(unchecked), RV(unread) and RV(unnamed_hosts)
        has an entry.
      - RV(unchecked) contains undecided checks with the codes SG114, SG311, SG709 and SG710, even if O(codes) does not
        contain these codes. RV(unread) contains the codes SG114, SG311 and SG709 if the report has findings with these
        codes. These codes report facts that could not be read, and your query might need one of these facts.
      - With O(fail_if=found) the report must be from an audit. If you set O(codes) or O(hosts), the report must also
        contain compute hosts. Otherwise, the task fails.
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
  returned: when the report can answer the query
  type: raw
count:
  description: Number of selected entries. If the result is an object, RV(count) is the number of its keys. If the
    result is another single value, RV(count) is V(1), or V(0) for null, false, 0 and an empty string.
  returned: when the report can answer the query
  type: int
unchecked:
  description: Undecided checks of the report that have a code in O(codes). Without O(codes), RV(unchecked) contains all
    undecided checks. RV(unchecked) always contains undecided checks with the code SG114, SG311, SG709 or SG710.
  returned: when the report can answer the query
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
      description: Reason why the run could not decide the check.
      type: str
unread:
  description:
    - Those of the codes SG114, SG311 and SG709 for which the report has findings. These codes report facts that could
      not be read. RV(unread) does not depend on O(codes), O(severities), O(hosts) and O(query).
  returned: when the report can answer the query
  type: list
  elements: str
unnamed_hosts:
  description: The hosts of O(hosts) that have no finding in the report.
  returned: when the report can answer the query
  type: list
  elements: str
verdict:
  description: Verdict of the whole report.
  returned: when the report can answer the query
  type: str
  sample: block
generated_at:
  description: Time at which the evidence of the report was collected.
  returned: when the report can answer the query
  type: str
  sample: "2026-11-21T02:10:44Z"
text:
  description: What was printed.
  returned: when the report can answer the query
  type: str
succeeded:
  description: Whether the task succeeded. For tasks with C(failed_when).
  returned: always
  type: bool
refused:
  description: Whether the module refused the query or the report.
  returned: when the module refused the query or the report
  type: bool
"""
