#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_return
short_description: Check and clean up a compute host that returns after its evacuation
version_added: 0.2.0
description:
  - Internal, no stability promise. Use the role P(stackguard.nova.return_host#role).
  - Predicts from the evidence what the next start of nova-compute would do to each domain of the host. The module also
    finds the leftovers of an evacuation on the host. The module then makes a plan to remove the leftovers that are safe
    to remove. If the module refuses to make a plan, it returns all reasons for the refusal.
  - Each call continues the operation until the module needs new facts or an action. After each call, RV(needs) lists
    the facts that only a playbook can collect, and the actions that only a playbook can execute. The role
    P(stackguard.nova.return_host#role) collects the requested facts, executes the requested actions, and calls the
    module again until RV(needs) is empty.
  - If the task has C(delegate_to), the module keeps the journal of the operation in O(state_dir) on the host in
    C(delegate_to). If the task has no C(delegate_to), the module keeps the journal in O(state_dir) on the play's host.
    The module also reads the journals of evacuations in O(state_dir). After each step the module requests new evidence,
    and checks everything again. The module clears the C(forced_down) flag of the compute service only if no evacuation
    of the host is open.
  - The module calls the APIs from the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroups
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.databases
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, and shows the plan. In check mode the module does not open a journal.
  diff_mode:
    support: full
    description: Shows the old and the new value of each change in the plan.
  idempotent:
    support: full
    description: The module does nothing if the leftovers have already been removed. If an operation is open, the module
      resumes the operation.
options:
  return_host:
    type: str
    required: true
    description: Name of the host in Nova.
  action:
    type: str
    default: apply
    choices: [apply, resume, status, abort]
    description:
      - V(apply) begins the return of the host, or resumes an unfinished return. V(resume) resumes an unfinished return,
        and fails if the host has no unfinished return.
      - V(status) reports the open operation and changes nothing.
      - V(abort) ends an unfinished return of the host without executing the remaining steps. After V(abort), the
        changes of the completed steps remain, and the compute service stays disabled and forced down.
  phase:
    type: str
    default: advance
    choices: [begin, advance, end, hold]
    description: Whether this call begins, continues or ends the run. With V(hold), the call only fails if another run
      has taken over the operation. The first call of a run has O(phase=begin), and
      the following calls have O(phase=advance). If a task of the role fails, the role ends the run with one call with
      O(phase=end).
  answers:
    type: list
    elements: dict
    default: []
    description: Results for the entries that the previous call returned in RV(needs). O(answers) contains one result
      for each entry, in the same order.
  failure:
    type: str
    description: With O(phase=end), the reason why the run was interrupted.
  inventory_name:
    type: str
    description: Inventory name of the host. O(action=apply) and O(action=resume) each require O(inventory_name).
  evidence_dir:
    type: path
    required: true
    description: Directory with the evidence of this run.
  status:
    type: str
    default: enabled
    choices: [enabled, disabled]
    description: Status of the compute service after the return. The run sets this status when it clears the
      C(forced_down) flag. While the C(forced_down) flag is set, the compute service stays disabled.
  libvirt_uri:
    type: str
    default: qemu:///system
    description: libvirt URI on the host.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journals. If the task has C(delegate_to), the directory is on the host in
      C(delegate_to). If the task has no C(delegate_to), the directory is on the play's host.
  take_over:
    type: bool
    default: false
    description: Whether to resume or abort an operation even if the operation began on another Ansible controller. Set
      O(take_over=true) only if the run on the other Ansible controller has ended.
  report_dir:
    type: path
    description: Directory on the Ansible controller for C(report.html). In check mode the module also writes
      C(plan.json), which contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.server_evacuate
  - module: stackguard.nova.rbd_blocklist
"""

EXAMPLES = r"""
- name: Show the state of an unfinished return of compute1
  stackguard.nova.compute_host_return:
    cloud: production
    return_host: compute1
    action: status
    phase: begin
    evidence_dir: /run/stackguard-evidence
"""

RETURN = r"""
succeeded:
  description:
    - Whether the run has ended without a failure.
    - With C(failed_when=false) on this task, the play continues after a failure. A later task can check RV(succeeded),
      and fail with a message that contains only the summary.
  returned: always
  type: bool
  sample: true
needs:
  description: What the playbook must do before the next call. Each entry requests facts or an action, and C(kind) shows
    the kind of the request. RV(needs) is empty if the run has ended.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description:
        - Kind of the requested facts or of the requested action, one of V(read_host), V(read_ceph), V(read_cloud),
          V(end_domains), V(move_aside) and V(lift). The other keys of the entry depend on C(kind).
      type: str
    readers:
      description: With C(kind=read_ceph), inventory names of the hosts on which the playbook reads from Ceph.
      type: list
      elements: str
    instances:
      description: With C(kind=read_ceph), uuids of the servers whose images the playbook reads. With
        C(kind=read_cloud), uuids of the servers whose rows the playbook reads from Nova's databases.
      type: list
      elements: str
    volumes:
      description: With C(kind=read_ceph), uuids of volumes. The hosts search for the images of these volumes in Ceph.
      type: list
      elements: str
    pools:
      description: With C(kind=read_ceph), the pools in which the hosts search for volumes.
      type: list
      elements: str
    params:
      description: Parameters for the action of this name of M(stackguard.nova.compute_host_step). Only entries with
        C(kind=end_domains) and C(kind=move_aside) have C(params).
      type: dict
    clusters:
      description: With C(kind=lift), the blocklist entries to remove, one item for each Ceph cluster.
      type: list
      elements: dict
      contains:
        fsid:
          description: Id of the Ceph cluster.
          type: str
        pool:
          description: Pool that the host uses.
          type: str
        reader:
          description: Inventory name of the host on which the playbook removes the blocklist entries.
          type: str
        addresses:
          description: The addresses.
          type: list
          elements: str
  sample: [{kind: read_host}]
ended:
  description: Always V(true). Only the last call of a run returns RV(ended).
  returned: when the run has ended
  type: bool
  sample: true
state:
  description:
    - In check mode, C(planned) if the run would begin an operation, or C(resumed) if the run would resume an open
      operation.
    - C(clear) if the host has no leftovers of an evacuation, and the module found no problem with the disks of running
      domains. The state is C(disks-not-open) if the host has no leftovers, but a running domain has a disk that is not
      open on the host (SG517), or a disk that no host could read (SG709). With the state C(disks-not-open), the run
      fails.
    - C(not-clear) if a request waits in RabbitMQ that nova-compute must not execute on this host, or if the module
      could not read RabbitMQ (SG329, SG330). With the state C(not-clear), the run fails.
    - C(open) if the operation is not finished, C(aborted) after an abort, C(none) if no operation is open, C(refused)
      if the run refused to start, or C(failed) if the run ended before it made a decision.
  returned: always
  type: str
  sample: clear
operation_id:
  description: Id of the operation; V(null) if there is no operation.
  returned: always
  type: str
  sample: 5f0a6f0f7a11
plan_sha256:
  description: Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: always
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when the run made a plan and has ended
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the run has ended
  type: dict
"""
