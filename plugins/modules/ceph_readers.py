#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_readers
short_description: Choose the hosts that read from Ceph, one host for each cluster and pool
version_added: 0.1.0
description:
  - Internal, no stability promise. The roles of this collection call this module.
  - Reads the evidence that M(stackguard.nova.compute_host_info) wrote with
    O(stackguard.nova.compute_host_info#module:rbd), and chooses the hosts that will read from Ceph in later tasks. The
    evidence shows which Ceph cluster (fsid) and pool each host uses. The module does not assume that all hosts use the
    same Ceph cluster. For each cluster and pool, the module chooses one host that uses the cluster and the pool.
  - Runs on the Ansible controller. Changes nothing.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
options:
  evidence_dir:
    type: path
    required: true
    description: Directory with the evidence.
  exclude:
    type: list
    elements: str
    default: []
    description: Inventory names of hosts to exclude, such as a host whose connections Ceph might refuse.
seealso:
  - module: stackguard.nova.compute_host_info
"""

EXAMPLES = r"""
- name: Choose the hosts that read from Ceph
  stackguard.nova.ceph_readers:
    evidence_dir: /run/stackguard-evidence
    exclude: [compute1]
  register: ceph
"""

RETURN = r"""
readers:
  description: The chosen hosts, one host for each Ceph cluster and pool. The module does not choose a host that could
    not list the images in its Ceph pool.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Inventory name of the host.
      type: str
    fsid:
      description: Id of the host's Ceph cluster.
      type: str
    pool:
      description: Name of the Ceph pool from which the host reads.
      type: str
  sample:
    - name: compute2
      fsid: 1c0b1b8e-6a43-4c8e-9d8c-4f7a53a0f4ab
      pool: vms
names:
  description: Inventory names of the chosen hosts, those that read only volumes included.
  returned: success
  type: list
  elements: str
  sample: [compute2]
volume_pools:
  description: Ceph pools of the volumes that libvirt shows, with the inventory name of the host that reads the volumes
    as the key. One host for each Ceph cluster.
  returned: success
  type: dict
  sample: {compute2: [volumes]}
"""
