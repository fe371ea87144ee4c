#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_id_file
short_description: Give a compute host the correct compute_id file
version_added: 0.1.0
description:
  - Writes the file C(compute_id). Since Nova release 27 (2023.1), nova-compute reads the uuid of its compute node from
    the C(compute_id) file. Use the module after you have reinstalled a host, or before an upgrade from Nova release 26.
  - The module takes the uuid of the host's compute node from the databases, and writes this uuid into the C(compute_id)
    file. The module never generates or guesses a uuid. The module searches the table C(compute_nodes) in all cells, and
    ignores deleted rows. Exactly one row must contain both the host name of nova-compute and the host name of libvirt.
    The task fails if the module does not find such a row, or if another row contains one of the two names. The task
    also fails if another host has the uuid of the compute node.
  - The task fails if the databases were read more than 60 minutes ago.
  - A wrong machine can have the same host name as the compute host that Nova knows. If a guest of the compute host runs
    on the machine that executes the task, the guest proves that the task runs on the correct machine. Without a running
    guest, the module verifies that nova-compute does not run on another machine with this host name. The task
    fails if the host's nova-compute service reported to Nova in the five minutes before the databases were read, or if
    results of M(stackguard.nova.cloud_info) in O(evidence_dir) show the service as up. The module skips this
    verification if a guest of the host runs on this machine, or if a C(compute_id) file on this machine already
    contains the correct uuid.
  - The module never overwrites an existing C(compute_id) file. If the existing file has the correct uuid, the task
    succeeds without a change. If a C(compute_id) file on the host has another uuid, the task fails, and reports the
    uuid in the file and the correct uuid.
  - A new host has no C(compute_id) file and no records in the databases. On a new host, let nova-compute create the
    C(compute_id) file.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-libvirt) on the compute host
options:
  evidence_dir:
    type: path
    required: true
    description:
      - Directory on the Ansible controller with the results of M(stackguard.nova.cell_info) for all cells, and with the
        results of M(stackguard.nova.compute_host_info) for each compute host except the host that the task runs on. In
        the results of M(stackguard.nova.compute_host_info), the module checks whether another host has the uuid of the
        compute node. If the results of a compute host are missing, the check is incomplete.
      - O(evidence_dir) does not have to contain facts of the host that the task runs on, because the module reads the
        facts of this host during the task.
  path:
    type: path
    description:
      - Path of the C(compute_id) file. Enter the path from which nova-compute reads the file. The default is
        C(compute_id) in the state_path of nova-compute, where Nova itself writes the file.
  owner:
    type: str
    description:
      - Owner of the file. By default, a new file has the same owner as its directory.
  group:
    type: str
    description:
      - Group of the file. The default for a new file is the group of the directory.
  mode:
    type: raw
    description:
      - Mode of the file. The default for a new file is V(0644), which Nova itself uses.
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - Configuration files of nova-compute. Set O(nova_conf_files) if the command line of nova-compute does not contain
        the paths of its configuration files.
  libvirt_uri:
    type: str
    default: qemu:///system
    description:
      - libvirt URI.
  decision:
    type: dict
    description:
      - The action plugin of the module sets O(decision). If a task sets O(decision), the module ignores the value.
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.cell_info
"""

EXAMPLES = r"""
- name: Read the facts of this compute host and of all other compute hosts
  stackguard.nova.compute_host_info:
    evidence_dir: /run/stackguard-evidence

- name: Read the databases
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    evidence_dir: /run/stackguard-evidence
  delegate_to: localhost
  run_once: true

- name: Restore the compute_id file of a reinstalled host
  stackguard.nova.compute_id_file:
    evidence_dir: /run/stackguard-evidence
"""

RETURN = r"""
path:
  description: Path of the file.
  returned: success
  type: str
  sample: /var/lib/nova/compute_id
uuid:
  description: The uuid of the host's compute node.
  returned: success
  type: str
  sample: 1cff775e-46bf-4a92-9aef-068925bfe4ab
decision:
  description: Database records from which the module determined the uuid. C(unseen) lists hosts whose C(compute_id)
    files could not be read. A host in C(unseen) might have a copy of the uuid.
  returned: success
  type: dict
  contains:
    uuid:
      description: The uuid.
      type: str
    cell:
      description: Cell of the compute node.
      type: str
    node_id:
      description: Database id of the compute node.
      type: int
    host:
      description: Host name of the compute node.
      type: str
    hypervisor_hostname:
      description: Hypervisor host name of the compute node.
      type: str
    path:
      description: The file.
      type: str
    unseen:
      description: Hosts whose C(compute_id) files could not be read.
      type: list
      elements: str
  sample:
    uuid: 1cff775e-46bf-4a92-9aef-068925bfe4ab
    cell: cell1
    node_id: 3
    host: compute1
    hypervisor_hostname: compute1
    path: /var/lib/nova/compute_id
    unseen: []
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.systems.host import compute_id

OPTIONS: t.Dict[str, t.Dict[str, t.Any]] = {
    "evidence_dir": {"type": "path", "required": True},
    "path": {"type": "path"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "mode": {"type": "raw"},
    "nova_conf_files": {"type": "list", "elements": "str", "default": []},
    "libvirt_uri": {"type": "str", "default": "qemu:///system"},
    "decision": {"type": "dict"},
}


def main() -> None:
    """Write the file that was decided on."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    decision = module.params["decision"]
    if not decision:
        module.fail_json(
            msg="Ansible did not run the action plugin of compute_id_file, so the module did not receive a uuid"
        )
    path, uuid = decision["path"], decision["uuid"]
    diff = {"before_header": path, "after_header": path, "before": "", "after": f"{uuid}\n"}
    try:
        changed = compute_id.missing(path, uuid)
        if changed and not module.check_mode:
            compute_id.create(path, uuid)
    except compute_id.IdentityFileError as error:
        module.fail_json(msg=str(error))
    if not changed:
        diff["before"] = diff["after"]
    if not changed or not module.check_mode:
        for name in ("owner", "group", "mode"):
            given = module.params[name]
            if given is not None:
                setter = getattr(module, f"set_{name}_if_different")
                changed = setter(path, given, changed)
    module.exit_json(changed=changed, path=path, uuid=uuid, diff=diff, decision=decision)


if __name__ == "__main__":
    main()
