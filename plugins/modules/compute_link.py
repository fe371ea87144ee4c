#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_link
short_description: Repair the ids that link services, compute nodes, instances and migrations
version_added: 0.1.0
description:
  - Checks C(compute_nodes.service_id), C(instances.compute_id) and C(migrations.dest_compute_id) in every cell, and
    repairs wrong links whose correct value is certain. If the correct value of a wrong link is uncertain, the module
    reports the link, but does not repair it.
  - Each link contains the id of a row in C(services) or C(compute_nodes). The row that contains the link also contains
    a host name and a node name. For a link to C(compute_nodes), the module searches for compute nodes with this host
    name and this node name. For a link to C(services), the module searches for nova-compute services with this host
    name. The search ignores deleted rows. If the search finds exactly one row, the module accepts the id of the found
    row as the correct value of the link. For wrong links with the codes SG203 (wrong service of a compute node) and
    SG214 (wrong compute node of an instance), the search is not sufficient proof. The module repairs a link with the
    code SG203 or SG214 only if the facts of the compute hosts in O(evidence_dir) prove the correct value.
  - The module changes rows in batches, each in one transaction. The module skips rows that another process has changed
    after the module read them, and rows of instances with a task or migration in progress. Before the module commits a
    batch, it writes the old values of the batch to a journal. If the task has C(delegate_to), the module keeps the
    journal on the host in C(delegate_to). If the task has no C(delegate_to), the module keeps the journal on the play's
    host. O(action=rollback) restores the rows that still have the repaired values.
  - Run the same task again to resume a run that was killed.
  - The module connects to the databases from the Ansible controller. The host that keeps the journal receives no
    credentials.
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
    description: Shows each row with the old value, the new value and the proof that the new value is correct.
  idempotent:
    support: full
    description: The module does not change a link that already has the correct value.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) repairs links, or resumes an interrupted repair.
      - V(resume) resumes the open repair or the open rollback, and fails if no repair or rollback is open.
      - V(status) reports the open repair, changes nothing and reads no database.
      - V(rollback) restores the rows that a repair changed. The rollback skips rows that another process has changed
        since the repair.
  hosts:
    type: list
    elements: str
    description: Names of compute hosts or compute nodes. The module checks the links of a compute node, instance or
      migration if its row contains one of these names. By default, the module checks all hosts. The module refuses an
      empty list.
  codes:
    type: list
    elements: str
    default: [SG201, SG202, SG203, SG211, SG212, SG213, SG214, SG215, SG221]
    description: Codes of the findings that the module repairs. The module reports findings with other codes, but does
      not repair them.
  batch_size:
    type: int
    default: 1000
    description: Maximum number of rows in one transaction, 1 to 10000. For transactions that lock rows of C(services),
      the maximum is never more than 10 rows, because the heartbeats of compute services wait for these locks.
  max_rows:
    type: int
    aliases: [limit]
    default: 1000
    description: Maximum number of rows that a repair changes. If the repair would change more rows, the run refuses to
      start.
  operation_id:
    type: str
    aliases: [operation]
    description: With O(action=rollback), the id of the repair to roll back. The default is the most recent repair.
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller with the results of M(stackguard.nova.compute_host_info) and
        M(stackguard.nova.cloud_info). You must set O(evidence_dir) to repair links with the codes SG203 and SG214. For
        these codes, the module needs the facts of the compute hosts to prove the correct value of a link.
  fail_when_left:
    type: bool
    default: true
    description:
      - Whether the task fails after an incomplete run. A repair is incomplete if links that O(codes) selects are still
        wrong or could not be read, or if C(doubtful) in RV(counts) is not 0. A rollback is incomplete if it did not
        restore all rows that still exist. In check mode, wrong links do not cause the task to fail. With
        O(fail_when_left=true), the task fails in check mode if C(not_looked_at) in RV(remaining) is not empty.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journal. If the task has C(delegate_to), the directory is on the host in
      C(delegate_to). If the task has no C(delegate_to), the directory is on the play's host.
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode.
      C(plan.json) contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.audit
  - module: stackguard.nova.cell_info
"""

EXAMPLES = r"""
- name: Set the missing compute_id of instances if the correct value is certain
  stackguard.nova.compute_link:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    codes: [SG211]
    max_rows: 100000
  delegate_to: localhost
  run_once: true

- name: Roll back the most recent repair
  stackguard.nova.compute_link:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    action: rollback
  delegate_to: localhost
  run_once: true

- name: Show which database links the module would repair for each of two compute hosts
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
    - With C(failed_when=false) on this task, the play continues after a failure. A later task can check RV(succeeded),
      and fail with a message that contains only the summary.
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
  description: Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
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
    - Number of rows for each outcome.
    - C(unproven) counts rows for which the module does not know whether the repair was committed. A row is unproven if
      a run was killed while the run wrote the row, and another process then changed the row. A rollback does not change
      unproven rows.
    - C(doubtful) counts repaired rows whose link points to a service or compute node that changed during the repair. To
      find doubtful rows, the module reads the service or compute node of each repaired link again after the commit.
  returned: when the run did not refuse to start
  type: dict
  contains:
    changed:
      description: Number of rows that the module changed.
      type: int
    already:
      description: Number of rows that already had the correct value.
      type: int
    gone:
      description: Number of rows that another process deleted after the module had read them.
      type: int
    skipped:
      description: Number of rows that the module left unchanged. The outcome of each row shows the reason.
      type: int
    unproven:
      description: Number of rows for which the module does not know whether the repair was committed.
      type: int
    doubtful:
      description: Number of repaired rows whose link points to a service or compute node that changed during the
        repair.
      type: int
  sample: {changed: 12, already: 0, gone: 0, skipped: 1, unproven: 0, doubtful: 0}
not_guaranteed:
  description:
    - One warning for each Galera cluster in which the module repairs links. The warning says that a client of another
      database node can change the service or the compute node of a link before the module commits the repair of the
      link. In a Galera cluster, a lock is valid on only one database node.
  returned: with O(action=apply), when the run did not refuse to start
  type: list
  elements: str
  sample: []
remaining:
  description:
    - Number of links that are still wrong at the end of the run. In check mode, the module counts the links that would
      still be wrong after the planned repair.
  returned: with O(action=apply), when the run did not refuse to start
  type: dict
  contains:
    asked:
      description: Number of wrong links selected by O(codes).
      type: int
    other:
      description: Number of wrong links whose finding code is not in O(codes).
      type: int
    accepted:
      description: Number of wrong links whose finding you override with O(overrides).
      type: int
    in_flight:
      description: Number of links that the module could not check, because a task or a migration of the instance is in
        progress.
      type: int
    not_looked_at:
      description: Sources that could not be read, and that might contain links selected by O(codes).
      type: list
      elements: str
  sample: {asked: 1, other: 0, accepted: 0, in_flight: 0, not_looked_at: []}
repairs:
  description: Up to 1000 rows of the operation, both changed and unchanged rows. In check mode, RV(repairs) contains up
    to 1000 rows that the module would change. The journal of a repair contains all rows.
  returned: when there are rows to change
  type: list
  elements: dict
  contains:
    code:
      description: Code of the finding.
      type: str
    object:
      description: Object of the row.
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
    row:
      description: Cell, table and id of the row.
      type: str
    before:
      description: Values before the repair, with the column as the key.
      type: dict
    after:
      description: Values that the repair writes, with the column as the key.
      type: dict
    why:
      description: Proof that the new value is correct.
      type: str
    outcome:
      description: What the module did with the row. If the module did not change the row, C(outcome) contains the
        reason.
      type: str
  sample:
    - code: SG211
      object: {kind: instance, id: 9d7f3c9e-0a53-5c5c-8bb8-5f8f0c2f6f5e, name: web1, host: compute1}
      row: "cell:cell1 instances id=17"
      before: {compute_id: null}
      after: {compute_id: 1}
      why: node 1 is the one existing node of host compute1 and node compute1.example
      outcome: repaired
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report). After a repair, the report contains only the
    remaining findings.
  returned: with O(action=apply)
  type: dict
"""
