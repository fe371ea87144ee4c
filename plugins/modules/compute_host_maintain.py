#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_maintain
short_description: Empty, prove and enable compute hosts in series
version_added: 0.2.0
description:
  - Internal, no stability promise. The playbooks maintain_hosts and enable_host call this module. The playbooks do the
    work on the hosts, and call the module again with the results.
  - Judges the whole series before its first host is touched. For each host, moves its servers within their availability
    zones, returns the work that the playbook does next, proves that the host is as before, and enables its compute
    service. The series stops at the first host that is not proven, and leaves this host disabled.
  - The module calls the APIs from the Ansible controller. If the task has C(delegate_to), the module keeps the journal
    on the host in C(delegate_to). The host with the journal receives no credentials.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.overrides
  - stackguard.nova.approved_plan
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Judges the whole series, shows the plan, and changes nothing.
  diff_mode:
    support: full
    description: Shows what changes on each host.
  idempotent:
    support: none
    description: Each run maintains the hosts again.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, abort]
    description: What to do with the series.
  hosts:
    type: list
    elements: str
    default: []
    description: Names of the hosts in Nova or in the inventory, in the order of their maintenance.
  only_enable:
    type: bool
    default: false
    description: Whether to only prove and enable the host in O(hosts).
  evidence_dir:
    type: path
    description: Directory on the Ansible controller with the results of M(stackguard.nova.compute_host_info).
  tasks:
    type: str
    description: Path of a file with Ansible tasks. The playbook includes it for each empty host.
  command:
    type: str
    description: Command that the playbook runs on each empty host.
  reboot:
    type: bool
    default: false
    description: Whether the playbook reboots each empty host.
  back_timeout:
    type: int
    default: 1800
    description: Maximum number of seconds until a host is back, and its nova-compute reports to Nova.
  serial:
    type: int
    default: 1
    description: Maximum number of hosts that are maintained at the same time.
  keep_free:
    type: int
    default: 1
    description: Number of other hosts of a zone that are allowed to fail while a host is maintained.
  refill:
    type: str
    default: none
    choices: [none, same]
    description: Whether to move the servers back that the host had before its maintenance (V(same)).
  test_server:
    type: dict
    description: Keys C(image), C(flavor), C(network), and optionally C(project) of a server with which each host is
      tested.
  cold:
    type: str
    default: stopped
    choices: [never, stopped, fallback]
    description: Servers that the module is allowed to cold-migrate, as in M(stackguard.nova.server_migrate).
  max_parallel:
    type: int
    default: 8
    description: Maximum number of servers that move at the same time.
  memory_headroom_mb:
    type: int
    default: 512
    description: Memory in MiB that must stay free on each destination.
  overcommit:
    type: float
    default: 1.0
    description: Factor for memory overcommit.
  move_timeout:
    type: int
    default: 3600
    description: Maximum number of seconds for the move of one server. After this time, the module aborts a live
      migration.
  again:
    type: bool
    default: false
    description: Whether this task repeats an earlier task that returned V(true) in RV(again).
  answers:
    type: list
    elements: dict
    default: []
    description: What the playbook has done for RV(needs).
  probes:
    type: list
    elements: dict
    default: []
    description: Results of connection tests, as in M(stackguard.nova.server_migrate).
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory of the journal.
  take_over:
    type: bool
    default: false
    description: Whether to take over an open operation that began on another Ansible controller.
  report_dir:
    type: path
    description: Directory on the Ansible controller for the page of the operation.
  nova_api_db_url:
    type: str
    description: URL of Nova's API database.
"""

EXAMPLES = r"""
- name: Show the plan of a series
  stackguard.nova.compute_host_maintain:
    cloud: mycloud
    hosts: [compute1, compute2]
    reboot: true
    evidence_dir: /tmp/evidence
  check_mode: true
"""

RETURN = r"""
state:
  description: V(planned), V(none), V(refused), V(unknown), or the state of the journal.
  returned: always
  type: str
  sample: finished
again:
  description: Whether the playbook must do what RV(needs) lists, and repeat the task.
  returned: success
  type: bool
needs:
  description: What the playbook has to do before it repeats the task, each with its C(kind).
  returned: success
  type: list
  elements: dict
hosts:
  description: How far the series is, by host. Each entry has C(state) (such as V(waiting), V(in progress) or V(done)),
    C(step) and C(moved).
  returned: if an operation is open or has ended
  type: dict
operation_id:
  description: Id of the operation.
  returned: if an operation is open or was begun
  type: str
plan_sha256:
  description: Identifies the plan.
  returned: if a plan was made
  type: str
report:
  description: Findings, in the format of report.json.
  returned: if something was judged
  type: dict
"""
