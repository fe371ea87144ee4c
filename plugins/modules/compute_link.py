#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_link
short_description: Repair the ids that link services, compute nodes, instances and migrations together
version_added: 0.1.0
description:
  - Checks C(compute_nodes.service_id), C(instances.compute_id) and C(migrations.dest_compute_id) in every cell, and
    repairs wrong links whose right value is certain. Other wrong links stay findings.
  - A value is certain if host and node names lead to exactly one live row (nova-compute itself would write this value).
    If id and names contradict each other, a value is certain if the hosts in O(evidence_dir) prove it.
  - The module changes rows in batches, each in one transaction. It leaves a row that has changed since it was read, or
    with a task in progress. Before it commits a batch, it writes the old values to a journal on the host that the task
    runs on (or is delegated to). O(action=rollback) restores the rows that still have the repaired values.
  - Run the same task again to resume a run that was killed.
  - The databases are reached from the controller. The host with the journal receives no credentials.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_databases
  - stackguard.nova.attributes.action
  - stackguard.nova.databases
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, and changes nothing.
  diff_mode:
    support: full
    description: Shows each row, its old and new value, and the proof.
  idempotent:
    support: full
    description: A repaired link is no longer wrong.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) repairs, or resumes the same repair where it was interrupted.
      - V(resume) resumes the open repair, or the open rollback. It fails if none is open.
      - V(status) reports the open repair. It changes nothing and reads no database.
      - V(rollback) restores the rows of a repair, unless others changed them since.
  hosts:
    type: list
    elements: str
    default: []
    description: Hosts (or nodes) whose links are checked. Empty means all.
  codes:
    type: list
    elements: str
    default: [SG201, SG202, SG203, SG211, SG212, SG213, SG214, SG215, SG221]
    description: Codes of findings to repair. The module reports all codes.
  batch_size:
    type: int
    default: 1000
    description: Rows in one transaction. At most 10 if it locks rows of C(services), since heartbeats wait for them.
  max_rows:
    type: int
    aliases: [limit]
    default: 1000
    description: Maximum number of rows to change. The run refuses if the repair would change more rows.
  operation_id:
    type: str
    aliases: [operation]
    description: With O(action=rollback), the id of the repair to undo. By default the last one.
  evidence_dir:
    type: path
    description:
      - Directory on the controller with the results of M(stackguard.nova.compute_host_info) and
        M(stackguard.nova.cloud_info). Without it no host proves a link, and SG203 and SG214 stay.
  fail_when_left:
    type: bool
    default: true
    description:
      - Whether the task fails at the end if links of O(codes) remain wrong or could not be read, or if a rollback left
        rows unchanged. In check mode it never fails for this.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journal, on the host that the task runs on.
  report_dir:
    type: path
    description: Directory on the controller. In check mode the module writes C(plan.json) into this directory. That
      file contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.audit
  - module: stackguard.nova.cell_info
"""

EXAMPLES = r"""
- name: Set every compute_id that is NULL, if its host and node are known
  stackguard.nova.compute_link:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    codes: [SG211]
    max_rows: 100000
  delegate_to: localhost
  run_once: true

- name: Roll the last repair back
  stackguard.nova.compute_link:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    action: rollback
  delegate_to: localhost
  run_once: true

- name: Show what would be repaired on two hosts
  stackguard.nova.compute_link:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    hosts: [compute1, compute2]
    evidence_dir: /run/stackguard-evidence
  delegate_to: localhost
  run_once: true
  check_mode: true
  diff: true
"""

RETURN = r"""
succeeded:
  description:
    - Whether the run completed everything that was requested.
    - Use this value with C(failed_when=false). A later task can then fail with only the summary as its message.
  returned: always
  type: bool
  sample: true
state:
  description: State of the operation. V(none) means that there was nothing to do.
  returned: always
  type: str
  sample: finished
  choices: [none, planned, refused, open, rolling-back, rolled-back, finished, unknown]
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
counts:
  description:
    - Number of rows that were changed, that were already right, that were deleted since they were read, and that were
      left because they had changed.
    - C(unproven) counts rows of a batch that a killed run was writing, and that others have written since. Whether the
      repair was committed is not known, and a rollback leaves them.
    - C(doubtful) counts changed rows whose service or node had changed when the module read it again after the commit.
  returned: when it was not refused
  type: dict
  contains:
    changed:
      description: Rows that were changed.
      type: int
    already:
      description: Rows that were right already.
      type: int
    gone:
      description: Rows that others deleted since they were read.
      type: int
    skipped:
      description: Rows that others changed since they were read.
      type: int
    unproven:
      description: Rows for which it is not known whether they were repaired.
      type: int
    doubtful:
      description: Rows whose service or node changed at the same time.
      type: int
  sample: {changed: 12, already: 0, gone: 0, skipped: 1, unproven: 0, doubtful: 0}
not_guaranteed:
  description:
    - A sentence for each database that cannot guarantee that the target of a link stays unchanged until the commit.
      This applies to a Galera cluster, whose locks hold on one node.
  returned: with O(action=apply), when it was not refused
  type: list
  elements: str
  sample: []
remaining:
  description:
    - Number of wrong links at the end (in check mode, after the planned repair). C(asked) counts those of O(codes),
      C(other) those of other codes, C(accepted) those of both that O(overrides) accepts. C(in_flight) could not be
      judged.
    - C(not_looked_at) lists sources that could not be read and may hold links of O(codes).
  returned: with O(action=apply), when it was not refused
  type: dict
  contains:
    asked:
      description: Wrong links of O(codes).
      type: int
    other:
      description: Wrong links of other codes.
      type: int
    accepted:
      description: Wrong links that O(overrides) names.
      type: int
    in_flight:
      description: Links that could not be judged now.
      type: int
    not_looked_at:
      description: Sources that could not be read and may hold links of O(codes).
      type: list
      elements: str
  sample: {asked: 1, other: 0, accepted: 0, in_flight: 0, not_looked_at: []}
repairs:
  description: The rows that were (or would be) changed, and those that were left; at most 1000. The journal has all
    rows.
  returned: when rows were to be changed
  type: list
  elements: dict
  contains:
    code:
      description: Code of the finding.
      type: str
    object:
      description: The object that the row belongs to.
      type: dict
      contains:
        kind:
          description: Kind of the object, such as V(instance) or V(compute_node).
          type: str
        id:
          description: Uuid of the object. If the object has no uuid, its database id or its name.
          type: str
        name:
          description: Name of the object; V(null) if the object has no name.
          type: str
        host:
          description: Compute host of the object; V(null) if the object belongs to no compute host.
          type: str
    row:
      description: Cell, table and id.
      type: str
    before:
      description: By column, the value before the repair.
      type: dict
    after:
      description: By column, the value that the repair writes.
      type: dict
    why:
      description: Why this value is certain.
      type: str
    outcome:
      description: The outcome of the change.
      type: str
  sample:
    - code: SG211
      object: {kind: instance, id: 9d7f3c9e-0a53-5c5c-8bb8-5f8f0c2f6f5e, name: web1, host: compute1}
      row: "cell:cell1 instances id=17"
      before: {compute_id: null}
      after: {compute_id: 1}
      why: node 1 is the one live node of host compute1 and node compute1.example
      outcome: repaired
report:
  description: The findings, as in C(report.json); after a repair, the remaining ones.
  returned: with O(action=apply)
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
          description: The code's name, such as V(overcommitted-destination).
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
              description: Uuid of the object. If the object has no uuid, its database id or its name.
              type: str
            name:
              description: Name of the object; V(null) if the object has no name.
              type: str
            host:
              description: Compute host of the object; V(null) if the object belongs to no compute host.
              type: str
        evidence:
          description: Facts that prove the finding, by name.
          type: dict
        remedy:
          description: What to do next.
          type: str
    unchecked:
      description: Undecided checks. The verdict is V(pass) only if this list is empty.
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
          description: Why the check could not be decided.
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
          description: Number of findings that show normal activity.
          type: int
        unchecked:
          description: Number of undecided checks.
          type: int
        overridden:
          description: Number of overridden findings.
          type: int
  sample: {schema: 1, verdict: pass, hosts: 3, servers: 6, findings: [], unchecked: []}
"""
