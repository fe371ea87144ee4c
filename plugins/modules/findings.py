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
  - The module refuses a JMESPath expression with a field that a report cannot contain. The error message shows the
    position of the unknown field, and the names of the existing fields. The module also refuses a comparison that can
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
      - Compute hosts for which the module selects findings. Enter any of the names that the report shows for a host. By
        default the module selects findings of all hosts.
      - RV(unnamed_hosts) lists the hosts in O(hosts) that have no finding in the report.
  query:
    type: str
    default: ""
    description:
      - JMESPath expression that the module applies to the report, such as
        V(findings[?severity=='blocker'].object.host). First, the module selects findings by O(codes), O(severities) and
        O(hosts). The module selects undecided checks by O(codes). After the selection, the module applies O(query) to
        a report that contains only the selected findings and undecided checks.
  format:
    type: str
    default: table
    choices: [table, json]
    description: Format of the printed findings. If the result is not a list of findings, the module prints JSON even
      with V(table).
  fail_if:
    type: str
    default: never
    choices: [never, found]
    description:
      - With O(fail_if=never) the task fails only if the query is not valid, if the module cannot read the report, or if
        the evidence of the report is older than O(max_age_minutes). With O(fail_if=found) the task also fails if the
        query selects an entry, or if one of the lists RV(unchecked), RV(unread) and RV(unnamed_hosts) has an entry.
      - RV(unchecked) contains undecided checks with the codes SG114, SG311, SG709 and SG710, even if O(codes) does not
        contain these codes. RV(unread) contains the code SG114, SG311 or SG709 if the report has a finding with this
        code. A finding with one of these codes reports a fact that could not be read, and your query might need this
        fact.
      - With O(fail_if=found) the report must be from an audit. If you set O(codes) or O(hosts), the audit must have
        included at least one compute host (C(hosts) in the report is not 0). Otherwise, the task fails.
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
  description: Number of selected entries if the result is a list. If the result is an object, RV(count) is the number
    of keys in the object. If the result is null, false, 0 or an empty string, RV(count) is V(0). If the result is
    another number, another string or true, RV(count) is V(1).
  returned: when the report can answer the query
  type: int
unchecked:
  description: Undecided checks in the report. Without O(codes), RV(unchecked) contains all undecided checks. With
    O(codes), RV(unchecked) contains the undecided checks with the codes in O(codes) or with the code SG114, SG311,
    SG709 or SG710.
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
      description: Reason why the check is undecided.
      type: str
unread:
  description:
    - Each of the codes SG114, SG311 and SG709 for which the report has at least one finding. A finding with one of
      these codes reports a fact that could not be read. RV(unread) does not depend on O(codes), O(severities), O(hosts)
      and O(query).
  returned: when the report can answer the query
  type: list
  elements: str
unnamed_hosts:
  description: The hosts in O(hosts) that have no finding in the report.
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
  description: V(true), because the module refused the query or the report.
  returned: when the module refused the query or the report
  type: bool
"""
