#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor
short_description: Report whether a cloud, its hosts and its databases are ready for the operations of this collection
version_added: 0.1.0
description:
  - Checks the APIs, the databases, and the host facts that M(stackguard.nova.doctor_host) saved. Reports the results of
    all checks at once, on the terminal and in C(doctor.json). The result of each check is V(ok), V(failed) or V(not
    checked). For each failed check, the report shows how to fix the problem.
  - The module changes nothing. To test the API permissions, the module sends read requests that require administrator
    permissions. To test the database privileges, the module sends the SQL statements of the playbooks that
    O(operations) selects. These SQL statements match no row, and the module rolls the statements back. To test OVN's
    databases, the module sends a transaction with a change and an abort command. Because of the abort command, OVN's
    database server discards the change.
  - If the module cannot execute a check, the result of the check is V(not checked), and never V(ok). The task fails if
    a check has the result V(failed). The task also fails if a check that is not in O(accept_unchecked) has the result
    V(not checked).
  - The playbook C(stackguard.nova.doctor) uses this module. Runs on the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.databases
  - stackguard.nova.ovn
options:
  sources:
    type: list
    elements: str
    choices: [api, databases, hosts, journals]
    default: [api, databases, hosts, journals]
    description: Sources to check.
  operations:
    type: list
    elements: str
    default: []
    description:
      - Names of the playbooks that you plan to run; the module checks only the database privileges and Ceph
        permissions that they need. With an empty list, all playbooks of this collection except C(doctor) and
        C(explain); C(audit) alone if V(api) is the only source.
  accept_unchecked:
    type: list
    elements: str
    choices: [credentials, compute_api, placement_api, network_api, volume_api, volume_pools, api_clock, database,
      database_rights, database_lock, database_clock, ovn_database, ovn_rights, reached, python, root, nova_conf,
      libvirt, rbd, ceph_caps, ceph_volumes, host_journals, host_clock, journals]
    default: []
    description: Checks for which the task accepts the result V(not checked). A check with the result V(failed) always
      makes the task fail.
  hosts:
    type: list
    elements: str
    default: []
    description: Inventory names of the hosts to check. If O(evidence_dir) contains no facts of a host, the module
      reports the host as failed.
  volume_pools:
    type: list
    elements: str
    default: []
    description: Ceph pools in which the playbooks search for volumes. The module compares them with Cinder's pools.
  journal_host:
    type: str
    description: Inventory name of the host that keeps the journals of operations.
  evidence_dir:
    type: path
    description: Directory with the facts that M(stackguard.nova.doctor_host) saved.
  report_dir:
    type: path
    required: true
    description: Directory on the Ansible controller for C(doctor.json).
seealso:
  - module: stackguard.nova.doctor_host
  - module: stackguard.nova.audit
"""

EXAMPLES = r"""
- name: Check whether the credentials have administrator permissions
  stackguard.nova.doctor:
    cloud: production
    sources: [api]
    report_dir: stackguard-reports

- name: Check whether everything is ready for a rename, and do not fail if the Ceph caps cannot be checked
  stackguard.nova.doctor:
    cloud: production
    operations: [rename_host]
    accept_unchecked: [ceph_caps]
    hosts: "{{ groups['compute'] }}"
    evidence_dir: /run/stackguard-evidence
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    report_dir: stackguard-reports

- name: Check whether the database users have the privileges that the playbook repair_links needs
  stackguard.nova.doctor:
    sources: [databases]
    operations: [repair_links]
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    report_dir: stackguard-reports
"""

RETURN = r"""
verdict:
  description: V(pass) if every requested check passed (see RV(succeeded)). V(block) if a check did not pass.
  returned: always
  type: str
  sample: block
counts:
  description: Number of checks for each result.
  returned: always
  type: dict
  contains:
    ok:
      description: Number of checks with the result V(ok).
      type: int
    failed:
      description: Number of checks with the result V(failed).
      type: int
    not_checked:
      description: Number of checks that the module could not execute.
      type: int
  sample: {ok: 17, failed: 1, not_checked: 1}
results:
  description: The result of each check.
  returned: always
  type: list
  elements: dict
  contains:
    source:
      description: Source that was checked.
      returned: always
      type: str
      sample: hosts
    subject:
      description: The checked host or database, or V(cloud) for the APIs.
      returned: always
      type: str
      sample: compute1
    part:
      description: Name of the check, as in O(accept_unchecked).
      returned: always
      type: str
      sample: libvirt
    state:
      description: V(ok), V(failed) or V(not checked).
      returned: always
      type: str
      sample: failed
    seen:
      description: Result of the check in words, or the reason why the module could not execute the check.
      returned: always
      type: str
      sample: python3-libvirt is missing
    fix:
      description: How to fix the problem, often with a command. Empty if the check has the result V(ok), or if the
        module knows no fix.
      returned: always
      type: str
      sample: apt-get install python3-libvirt
summary:
  description: The first 40 lines of the table of results. On the terminal, the module shows the whole table.
  returned: always
  type: list
  elements: str
  sample: ["19 checks: 17 ok, 1 failed, 1 not checked"]
report_dir:
  description: Directory of C(doctor.json).
  returned: always
  type: str
  sample: /home/operator/stackguard-reports
succeeded:
  description: Whether every requested check passed. A check with the result V(ok) passes. A check with the result V(not
    checked) passes only if O(accept_unchecked) contains the check.
  returned: always
  type: bool
  sample: false
"""
