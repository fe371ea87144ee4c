#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor_host
short_description: Read the facts that show whether a host is ready for the operations of this collection
version_added: 0.1.0
description:
  - Internal, no stability promise. Use the playbook C(stackguard.nova.doctor).
  - Reads facts of a compute host. The facts are the Python version, the id of the user that runs the module, nova.conf,
    libvirt and its Python bindings, the caps of the Ceph user, the directory of journals, and the clock of the host.
    The module changes nothing.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
requirements:
  - Python 3.9 or newer on the host
options:
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller in which the module saves the facts for M(stackguard.nova.doctor). If a host
        does not answer, the module saves the error instead of the facts. Without O(evidence_dir), the module returns
        the facts under RV(state).
  inventory_name:
    type: str
    description: Name of the host in the evidence. The default is C(inventory_hostname).
  only_journals:
    type: bool
    default: false
    description: Set O(only_journals=true) for a host that stores journals and is not a compute host. With
      O(only_journals=true), the module reads no facts about nova-compute.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory of the journals on the host.
  nova_conf_files:
    type: list
    elements: str
    default: []
    description: Configuration files of nova-compute, in the order in which nova-compute reads them. Set
      O(nova_conf_files) if the module cannot find the configuration files.
  libvirt_uri:
    type: str
    default: qemu:///system
    description: libvirt URI. The connection is read-only.
  compute_units:
    type: list
    elements: str
    default: [nova-compute, openstack-nova-compute, devstack@n-cpu]
    description: Possible names of nova-compute's systemd unit.
  caps:
    type: bool
    default: true
    description: Whether to read the caps of the Ceph user (C(ceph auth get)). The module never saves the key of the
      Ceph user.
  ceph_user:
    type: str
    description: Ceph user whose caps the module reads. Enter the name without the prefix C(client.). The default is the
      Ceph user in nova.conf.
  ceph_reader:
    type: str
    description: Ceph user that the module uses to log in to Ceph when it reads the caps of O(ceph_user). By default,
      the module logs in as O(ceph_user). The Ceph user of nova-compute usually has no permission to read caps. Set
      O(ceph_reader) to a Ceph user that has this permission.
  ceph_conf:
    type: path
    description: Path of the Ceph configuration file on the host. With O(ceph_command), enter the path of the file in
      the container. The default is the file that is set in nova.conf. If nova-compute runs in a container, nova.conf
      contains the path that the file has in the container. Without O(ceph_command), the module converts the path in
      nova.conf to the path of the same file on the host.
  ceph_command:
    type: list
    elements: str
    default: []
    description: Prefix for the command C(ceph) if this command runs in a container, for example C([docker, exec,
      nova_compute]).
  volume_pools:
    type: list
    elements: str
    default: []
    description: Ceph pools of Cinder's volumes. The module tries to list each pool as O(ceph_user).
seealso:
  - module: stackguard.nova.doctor
"""

EXAMPLES = r"""
- name: Read the facts of a host
  stackguard.nova.doctor_host:
  register: answer
"""

RETURN = r"""
state:
  description: The facts of the host. If a fact could not be read, the value is V(null), and C(unread) contains the
    reason.
  returned: when O(evidence_dir) is not given
  type: dict
  sample: {inventory_name: compute1, python: 3.11.2, own_uid: 0, images_type: rbd, unread: []}
inventory_name:
  description: Name of the host.
  returned: when O(evidence_dir) is given
  type: str
  sample: compute1
unread:
  description: The parts of the facts that the module could not read.
  returned: when O(evidence_dir) is given
  type: list
  elements: str
  sample: [ceph_caps]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.model.facts import to_plain
from ..module_utils.systems.host import doctor
from ..module_utils.systems.host.facts import COMPUTE_UNITS, STATE_DIR


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str"}
    return {
        "evidence_dir": {"type": "path"},
        "inventory_name": {"type": "str"},
        "only_journals": {"type": "bool", "default": False},
        "state_dir": {"type": "path", "default": STATE_DIR},
        "nova_conf_files": {**names, "default": []},
        "libvirt_uri": {"type": "str", "default": "qemu:///system"},
        "compute_units": {**names, "default": list(COMPUTE_UNITS)},
        "caps": {"type": "bool", "default": True},
        "ceph_user": {"type": "str"},
        "ceph_reader": {"type": "str"},
        "ceph_conf": {"type": "path"},
        "ceph_command": {**names, "default": []},
        "volume_pools": {**names, "default": []},
    }


def main() -> None:
    """Read this host and return its state."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = module.params
    state = doctor.read_state(
        doctor.StateOptions(
            inventory_name=given["inventory_name"] or "localhost",
            state_dir=given["state_dir"],
            only_journals=given["only_journals"],
            nova_conf_files=tuple(given["nova_conf_files"]),
            libvirt_uri=given["libvirt_uri"],
            compute_units=tuple(given["compute_units"]),
            caps=given["caps"],
            ceph_user=given["ceph_user"],
            ceph_reader=given["ceph_reader"],
            ceph_conf=given["ceph_conf"],
            ceph_command=tuple(given["ceph_command"]),
            volume_pools=tuple(given["volume_pools"]),
        )
    )
    module.exit_json(changed=False, state=to_plain(state))


if __name__ == "__main__":
    main()
