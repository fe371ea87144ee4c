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
  - Reads a C(report.json) that a playbook of this collection has left, selects findings by code, severity and host, or
    with a JMESPath expression, and prints them as a table or as JSON.
  - An expression that names a field that no record has is refused, with the place in the expression and the fields that
    there are. So is a comparison that cannot be true, such as a number with a text.
  - Reaches no system and writes no file. Runs on the controller.
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
    description: The report, on the controller.
  codes:
    type: list
    elements: str
    default: []
    description: Codes to select, such as V(SG113), V(sg113) or V(113), or their names. By default all.
  severities:
    type: list
    elements: str
    default: []
    description: Severities to select (V(blocker), V(warning), V(info)). By default all.
  hosts:
    type: list
    elements: str
    default: []
    description:
      - Hosts to select, by any name that the report has for them. By default all.
      - A report does not list hosts without findings. RV(unnamed_hosts) has the hosts that no finding is about.
  query:
    type: str
    default: ""
    description:
      - JMESPath expression over the report, such as V(findings[?severity=='blocker'].object.host). The other options
        apply to its C(findings) first, O(codes) also to its C(unchecked).
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
      - V(never) fails only if the report cannot answer. V(found) also fails if the query selects anything, if the
        report leaves one of the codes unchecked, or if no finding is about one of O(hosts).
      - V(found) also fails, whatever O(codes) are, if the report has an unchecked item of SG114, SG311, SG709 or SG710,
        or a finding of SG114, SG311 or SG709. The missing facts can be those that you ask for.
      - V(found) refuses a report that is not an audit's. With O(codes) or O(hosts) it refuses a report without compute
        hosts.
  max_age_minutes:
    type: int
    default: 0
    description: Maximum age of the report's evidence in minutes. The run fails if the evidence is older. V(0) accepts a
      report of any age.
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

- name: Fail if a start of nova-compute would destroy a guest, or if that is not known
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
  description: What the query selects. Findings, as C(report.json) has them, unless O(query) says otherwise.
  returned: if the report answers
  type: raw
count:
  description: Number of selected entries. V(1) for a result that is no list.
  returned: if the report answers
  type: int
unchecked:
  description: What the report leaves undecided, of O(codes); items of SG114, SG311, SG709 and SG710 always.
  returned: if the report answers
  type: list
  elements: dict
  contains:
    code:
      description: The code that was not decided.
      type: str
    object:
      description: For what.
      type: str
    reason:
      description: Why.
      type: str
unread:
  description: Codes of the report's findings about unread facts (SG114, SG311, SG709), whatever the query selects.
  returned: if the report answers
  type: list
  elements: str
unnamed_hosts:
  description: Those of O(hosts) that no finding is about.
  returned: if the report answers
  type: list
  elements: str
verdict:
  description: Verdict of the whole report.
  returned: if the report answers
  type: str
  sample: block
generated_at:
  description: When the evidence of the report was collected.
  returned: if the report answers
  type: str
  sample: "2026-11-21T02:10:44Z"
text:
  description: What was printed.
  returned: if the report answers
  type: str
succeeded:
  description: Whether the task ended well. For tasks with C(failed_when).
  returned: always
  type: bool
refused:
  description: Whether the query or the report was refused.
  returned: if it was
  type: bool
"""
