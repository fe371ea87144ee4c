#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_remove
short_description: Remove what is left of compute hosts that are gone for good
version_added: 0.2.0
description:
  - Deletes the compute service of each host with its compute node, the host mapping, the aggregate memberships, the
    resource providers, the records of its network agents and chassis, its records in Masakari, and its message queues.
    Each is one step of a journal. The module uses the APIs. It deletes rows of Nova's API database only if the compute
    service does not exist any more, because no API deletes these rows then.
  - The module fails and changes nothing if a host has a server in any cell, in whatever state (SG332), an unfinished
    migration or an evacuation that was not cleaned up (SG702, SG703, SG509), or wrong links (SG201 to SG207); if
    something of the host is alive, or nobody attests that the machine is gone (SG506); or if the module could not read
    a cell or an API. The module checks all this again before each step.
  - The module deletes only resource providers that have a trait of nova-compute and whose uuid was that of a compute
    node of the host. A provider stays if anything holds a part of it that Nova possibly needs.
  - The module never touches the machine. Entries of Ceph's blocklist, C(compute_id) files, request specs and records
    of cinder-volume stay as they are.
  - At its end, the module reads everything again. If something is left, the module fails and names it (SG331).
  - Run the same task again to resume a run that was killed. If the task has C(delegate_to), the module keeps the
    journal on the host in C(delegate_to).
  - The module calls the APIs and the databases from the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.moves
  - stackguard.nova.overrides
  - stackguard.nova.approved_plan
  - stackguard.nova.ovn
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, shows the plan, and changes nothing.
  diff_mode:
    support: full
    description: Shows each record that the run removes.
  idempotent:
    support: full
    description: A record that is gone already is no error.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) removes the hosts, or resumes an unfinished run.
      - V(resume) resumes an unfinished run, and fails if no run is open.
      - V(status) reports the open operation, and changes nothing.
      - V(rollback) ends an unfinished run. What was removed stays removed.
  hosts:
    type: list
    elements: str
    required: true
    description: Names of the hosts, as Nova has them.
  keep:
    type: list
    elements: str
    default: []
    choices: [providers, agents, masakari, queues]
    description: What the module leaves as it is.
  nova_api_db_url:
    type: str
    description: URL of Nova's API database. The module needs the URL, because only the databases of all cells show
      that a host has no server.
  nova_cell_db_urls:
    type: dict
    description: Dictionary that maps the name or uuid of a cell to the URL of the cell's database, for cells whose URL
      in C(cell_mappings) does not work from the Ansible controller.
  rabbit_urls:
    type: raw
    description: Dictionary that maps the name or uuid of a cell to the URL of the cell's RabbitMQ. The default is
      C(transport_url) of each cell in C(cell_mappings).
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode, and the
      page of the run.
seealso:
  - module: stackguard.nova.audit
"""

EXAMPLES = r"""
- name: Remove a host whose disks were wiped
  stackguard.nova.compute_host_remove:
    cloud: production
    hosts: [compute9]
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    overrides:
      - {code: SG506, object: compute9, reason: "disks wiped, change 4711"}
  delegate_to: localhost
"""

RETURN = r"""
succeeded:
  description: Whether the run completed everything that was requested.
  returned: always
  type: bool
  sample: true
state:
  description:
    - V(finished), also if something is left, or V(rolled-back) if an operator ended the operation. The state is
      V(planned) in check mode, V(refused) if the run refused to start and changed nothing, V(none) if there was nothing
      to do, or V(unknown) if the run was interrupted.
    - With O(action=status) V(open) or V(rolling-back).
  returned: always
  type: str
  sample: finished
hosts:
  description: The hosts.
  returned: when the module read the request
  type: list
  elements: str
  sample: [compute9]
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
  sample: {"delete_rows:compute9": done}
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when this run made the plan
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report). At the end, what is left.
  returned: when the module checked the request
  type: dict
"""
