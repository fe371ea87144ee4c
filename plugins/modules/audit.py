#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Check the evidence of a whole cloud, and write the report
version_added: 0.1.0
description:
  - Runs all checks of this collection that apply to a whole cloud. The module checks either the evidence that
    M(stackguard.nova.compute_host_info), M(stackguard.nova.cell_info) and M(stackguard.nova.cloud_info) wrote for this
    run (O(evidence_dir)), or saved evidence of earlier runs (O(evidence)). Apart from the evidence, the module reads
    only O(previous_report) and O(definitions_dir).
  - Writes C(report.json), C(report.html), C(report.csv), C(report.junit.xml), C(report.prom), C(forecast.json),
    C(changes.json) and C(evidence.jsonl). If you check the same evidence twice with the same options, the second audit
    writes the same content, except for the comparison with O(previous_report).
  - Shows a short table on the terminal. Runs on the Ansible controller.
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
      - Directory with the evidence of this run. Either O(evidence_dir) or O(evidence) is required.
  evidence:
    type: list
    elements: path
    default: []
    description:
      - Saved evidence that the module checks instead of the evidence in O(evidence_dir). Each entry of O(evidence) is
        the path of a file C(evidence.jsonl) or of a directory. The module combines the evidence of all entries of
        O(evidence). An entry can be, for example, the evidence of one slice of an AWX job. If two entries contain the
        same object, the module uses the more recent facts. With O(evidence), the module ignores O(sources),
        O(failures), O(journals), O(cloud_name), O(region) and O(definitions_dir).
  inventory_hosts:
    type: list
    elements: str
    default: []
    description:
      - Inventory names of the hosts from which the audit needs evidence. If a host in O(inventory_hosts) has no
        evidence, the module reports that the host was not read.
  sources:
    type: list
    elements: str
    choices: [hosts, api, databases, ceph]
    default: []
    description:
      - Requested sources. The module saves the list of requested sources in the evidence. If a requested source has no
        evidence, the module reports a blocker, even if O(failures) contains no reason for the source. Missing evidence
        from the source V(ceph) is a blocker only if at least one host has disks in Ceph.
  failures:
    type: dict
    default: {}
    description:
      - Reasons why a source (V(api), V(databases), V(operations)) could not be read. The module saves each reason in
        the evidence, and reports each reason as a blocker.
  journals:
    type: dict
    description:
      - The journals in the journal directory. The list C(open) contains the open journals, and the list C(closed)
        contains the closed journals. The list C(unknown) contains the open journals that this version of the collection
        does not understand, and the module reports each of them (SG706). The module copies the operations from the
        journals into the evidence. If you do not set O(journals), the module treats the journals as unread. Without the
        journals, each check that needs the journals is undecided in the report.
  report_dir:
    type: path
    required: true
    description: Directory for the files of the report. The module creates O(report_dir), and only the owner of
      O(report_dir) can read the files.
  definitions_dir:
    type: path
    description:
      - Directory with the most recently recorded definitions of the guests. O(definitions_dir) must persist between
        runs. The module compares the current definitions with the most recently recorded definitions. After the
        comparison, the module records the current definitions, except in check mode. If you do not set
        O(definitions_dir), the module does not compare or record definitions.
  fail_on:
    type: str
    default: blocker
    choices: [never, new_blocker, blocker, warning]
    description:
      - With O(fail_on=blocker) the task fails if the verdict is C(block). With O(fail_on=warning) the task fails if the
        verdict is C(warn) or C(block). An undecided check alone results in the verdict C(warn).
      - With O(fail_on=new_blocker) the task fails only on blockers that the previous audit of the same scope did not
        report. If the module cannot compare this audit with the previous audit, O(fail_on=new_blocker) acts like
        O(fail_on=blocker). The module cannot compare the audits if O(previous_report) does not exist, is damaged or has
        another scope, or if one of the two audits could not read everything.
  previous_report:
    type: path
    description:
      - File with the C(report.json) of the previous audit. The module compares the findings of both audits. Then the
        module writes its own report to O(previous_report), except in check mode and if O(previous_report) has the
        report of a later audit. The default of O(previous_report) is C(previous-report.json) in O(report_dir).
  cloud_name:
    type: str
    default: ""
    description: Name of the cloud in the report. The module saves the name of the cloud in the evidence.
  region:
    type: str
    default: ""
    description: Region of the cloud. The module writes the region's name into the evidence.
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

- name: Repeat an audit from saved evidence
  stackguard.nova.audit:
    evidence: [stackguard-reports/evidence.jsonl]
    report_dir: ./again
    fail_on: never

- name: Combine the evidence of the slices of an AWX job
  stackguard.nova.audit:
    evidence:
      - /var/lib/stackguard/slices/1/evidence.jsonl
      - /var/lib/stackguard/slices/2/evidence.jsonl
    inventory_hosts: "{{ groups['compute'] }}"
    report_dir: ./stackguard-reports

- name: Override one finding, and fail if the verdict is warn or block
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
    - Whether the task succeeded. O(fail_on) determines which verdicts make the task fail.
    - With C(failed_when=false) on this task, the play continues after a failure. A later task can check RV(succeeded),
      and fail with a message that contains only the summary.
  returned: always
  type: bool
  sample: true
verdict:
  description: C(pass), C(warn) or C(block).
  returned: when the evidence could be read
  type: str
  sample: warn
counts:
  description: Number of findings of each severity, number of undecided checks, and number of overridden findings.
  returned: when the evidence could be read
  type: dict
  contains:
    blocker:
      description: Number of blockers.
      type: int
    warning:
      description: Number of warnings.
      type: int
    info:
      description: Number of findings with the severity C(info). A finding with the severity C(info) shows normal
        activity.
      type: int
    unchecked:
      description: Number of undecided checks.
      type: int
    overridden:
      description: Number of overridden findings.
      type: int
  sample: {blocker: 0, warning: 2, info: 1, unchecked: 0, overridden: 0}
codes:
  description: Codes of the findings.
  returned: when the evidence could be read
  type: list
  elements: str
  sample: [SG502, SG704]
hosts:
  description: Number of compute hosts, including hosts that could not be read.
  returned: when the evidence could be read
  type: int
  sample: 3
servers:
  description: Servers.
  returned: when the evidence could be read
  type: int
  sample: 7
generated_at:
  description: Time at which the evidence was collected.
  returned: when the evidence could be read
  type: str
  sample: "2026-11-21T02:10:44+00:00"
changes:
  description: Differences between the findings of this audit and the findings of the previous audit.
  returned: when the evidence could be read
  type: dict
  contains:
    since:
      description: Time at which the evidence of the previous audit was collected; V(null) if there is no earlier audit.
      type: str
    comparable:
      description: Whether this audit and the previous audit are comparable. Two audits are comparable if they have the
        same scope and could both read everything.
      type: bool
    new:
      description: Number of findings of this audit that the previous audit did not report.
      type: int
    gone:
      description: Number of findings that the previous audit reported, but this audit does not report. If the audits
        are not comparable, a finding can be missing because this audit did not read the object of the finding.
      type: int
    known:
      description: Number of findings that are in both this audit and the previous audit.
      type: int
    new_blockers:
      description: Number of blockers that the previous audit did not report; V(null) if there is no earlier audit of
        the same cloud.
      type: int
  sample: {since: "2026-11-20T02:10:44+00:00", comparable: true, new: 1, gone: 0, known: 3, new_blockers: 0}
summary:
  description: The module shows a table on the terminal. RV(summary) contains the first 40 lines of this table.
  returned: when the evidence could be read
  type: list
  elements: str
  sample: ["SG704 service-disabled: 1"]
report_dir:
  description: Path of the directory that contains the files of the report.
  returned: when the evidence could be read
  type: str
  sample: /home/operator/stackguard-reports
report:
  description:
    - The report, which this module writes as C(report.json) into the directory RV(report_dir). The report of a large
      cloud is too large for the result of a task, so the module does not return it.
    - The modules that change something return their findings under the same name and with the same keys, except
      RV(report.remedies).
  returned: as the file C(report.json)
  type: dict
  contains:
    schema:
      description: Version of the report's format.
      type: int
    verdict:
      description: V(pass), V(warn) or V(block).
      type: str
    generated_at:
      description: Time at which the evidence was collected.
      type: str
    hosts:
      description: Number of compute hosts, including hosts that could not be read.
      type: int
    servers:
      description: Number of servers.
      type: int
    findings:
      description: The findings, sorted by code and object.
      type: list
      elements: dict
      contains:
        code:
          description: The code, such as V(SG502).
          type: str
        slug:
          description: The name of the finding code, such as V(overcommitted-destination).
          type: str
        severity:
          description: V(blocker), V(warning) or V(info).
          type: str
        object:
          description: The object of the finding.
          type: dict
          contains:
            kind:
              description: Kind of the object, such as V(instance) or V(compute_node).
              type: str
            id:
              description: Uuid of the object. If the object has no uuid, C(id) is the database id or the name of the
                object.
              type: str
            name:
              description: Name of the object; V(null) if the object has no name.
              type: str
            host:
              description: Compute host of the object; V(null) if the object belongs to no compute host.
              type: str
        evidence:
          description: Facts that prove the finding, with the name of each fact as the key.
          type: dict
        remedy:
          description: What to do next.
          type: str
        commands:
          description: Commands of the remedy that you can copy into a shell. The key is missing if the remedy has none.
          type: list
          elements: str
    unchecked:
      description: Undecided checks, each with the reason. If a check is undecided, the verdict is never V(pass).
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
    counts:
      description: Number of findings of each severity, and number of undecided checks.
      type: dict
      contains:
        blocker:
          description: Number of blockers.
          type: int
        warning:
          description: Number of warnings.
          type: int
        info:
          description: Number of findings with the severity C(info). A finding with the severity C(info) shows normal
            activity.
          type: int
        unchecked:
          description: Number of undecided checks.
          type: int
        overridden:
          description: Number of overridden findings.
          type: int
    fleet:
      description: One entry for each compute host, with its zone, whether it was read, its memory, and what
        nova-compute would do if it started now.
      type: list
      elements: dict
    scope:
      description: Which sources the audit was asked to read, which of them it read, and how to read the others.
      type: dict
    passed:
      description: Codes that were decided for every object and found nothing.
      type: list
      elements: str
    overrides:
      description: The overrides that the audit was given, with their reasons.
      type: list
      elements: dict
    remedies:
      description: Only in C(report.json). The remedies of all findings that no override covers, one item for each host,
        in an order in which no remedy contradicts an earlier one.
      type: list
      elements: dict
      contains:
        names:
          description: The names of the host. The list is empty for remedies that belong to no host.
          type: list
          elements: str
        keep_stopped:
          description: The codes because of which nova-compute must not start now.
          type: list
          elements: str
        steps:
          description: The remedies, in order. Each remedy has the keys C(code), C(severity), C(remedy) and C(objects).
            Each item of C(objects) has the keys C(kind) and C(id).
          type: list
          elements: dict
        put_off:
          description: The remedies that you must not carry out now, with the same keys as RV(report.remedies[].steps).
            The key C(until) lists the codes that you must settle first, and C(because) is what the audit does not know.
          type: list
          elements: dict
"""
