#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_arrival
short_description: Make Nova show a server where its live migration has arrived
version_added: 0.2.0
description:
  - Nova ends a live migration with a write at the destination. If Nova loses this write, the guest runs on the
    destination, but Nova shows the server on the source (SG132). A hard reboot then starts a second QEMU on the same
    disks. No API of Nova corrects this state.
  - The module locks the server, reads everything again, and corrects the server's row in the cell database (host, node,
    compute_id and task) in one transaction, which changes nothing if the row has changed since. Then the module
    releases the allocation that the migration still holds, removes inactive port bindings of the source, reads
    everything again, verifies that all places agree, and unlocks the server. The guest runs on all the time.
  - The module refuses (SG714) unless it has read every compute host of the cell, exactly one domain of the server
    exists and runs, and the server's last migration is a live migration to this host that completed more than ten
    minutes ago. It also refuses servers with volumes, PCI devices, NUMA topology, vGPUs, vPMEM or vTPM.
  - The module does not read compute hosts itself. If its result has RV(again), fill O(evidence_dir) anew with
    M(stackguard.nova.compute_host_info), and run the same task with O(again=true).
  - Run the same task again to resume a run that was killed. If a step fails, the server stays locked.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.moves
  - stackguard.nova.overrides
  - stackguard.nova.approved_plan
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, shows the plan, and changes nothing.
  diff_mode:
    support: full
    description: Shows the columns of the row, the allocation and the bindings before and after the change.
  idempotent:
    support: full
    description: The module does not change a server whose guest runs where Nova shows it.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) corrects the server, or resumes an unfinished run.
      - V(resume) resumes an unfinished run, and fails if none is open.
      - V(status) reports the open operation and the server, and changes nothing.
      - V(rollback) ends an unfinished run and unlocks the server. V(rollback) is refused once the row is corrected.
  server:
    type: str
    required: true
    description: Name or uuid of the server.
  evidence_dir:
    type: path
    description: Directory on the Ansible controller that M(stackguard.nova.compute_host_info) has filled with the facts
      of all compute hosts, right before this task. Required for O(action=apply) and O(action=resume).
  again:
    type: bool
    default: false
    description: Whether the task goes on in the same play after RV(again).
  nova_api_db_url:
    type: str
    description: URL of Nova's API database. Required for O(action=apply) and O(action=resume).
  nova_cell_db_urls:
    type: dict
    description: Dictionary that maps the name or uuid of a cell to the URL of the cell's database, for cells whose URL
      in C(cell_mappings) does not work from the Ansible controller.
  rabbit_urls:
    type: raw
    description: Dictionary that maps the name or uuid of a cell to the URL of the cell's RabbitMQ. The default is
      C(transport_url) in C(cell_mappings). Without access to RabbitMQ the module refuses.
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode.
      C(plan.json) contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.compute_link
"""

EXAMPLES = r"""
- name: Read every compute host
  stackguard.nova.compute_host_info:
    evidence_dir: /run/stackguard-evidence

- name: Lock the server, and make Nova show it where its guest runs
  stackguard.nova.server_arrival:
    cloud: production
    server: 8961cf04-0ee7-44b1-9ed3-a4b18e535683
    evidence_dir: /run/stackguard-evidence
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
  delegate_to: localhost
  run_once: true
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
again:
  description: Whether the hosts are to be read again, and the task to be run again with O(again=true).
  returned: with O(action=apply) and O(action=resume), unless the module refuses
  type: bool
  sample: false
state:
  description: V(finished), V(open) if the task is to be run again or after a failed step, V(rolled-back) after a
    rollback, V(none) if there was nothing to do, V(planned) in check mode, or V(refused) if nothing was changed.
  returned: always
  type: str
  sample: finished
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
steps:
  description: State of each step, with the name of the step as the key.
  returned: with O(action=status), when an operation is open
  type: dict
  sample: {lock: done, row: applying}
server:
  description: The server's uuid.
  returned: when the module found the server
  type: str
  sample: 8961cf04-0ee7-44b1-9ed3-a4b18e535683
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when this run made the plan
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the module checked the request
  type: dict
"""
