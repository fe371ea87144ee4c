#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_guard
short_description: Keep servers' disks in Ceph from being deleted
version_added: 0.1.0
description:
  - Makes a snapshot C(stackguard-OPERATION) on every image of some servers, or removes it. An image with one
    cannot be deleted, so that a failed evacuation cannot take the data with it.
  - The snapshot must go afterwards. While it is there Nova cannot delete the disk, says that it did, and a later
    rebuild or unshelve boots the old content.
  - Runs on a compute host, with the pool and the Ceph user that its nova.conf names.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: Names the images that a snapshot would be made on, or removed from.
  diff_mode:
    support: none
    description: Nothing of a snapshot's content is shown.
  idempotent:
    support: full
    description: A snapshot that is there is not made again.
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-rbd), or the command C(rbd), on the compute host
options:
  state:
    type: str
    default: present
    choices: [present, absent]
    description:
      - Whether the snapshots are there.
  operation_id:
    type: str
    required: true
    description:
      - The operation that they belong to, a part of their name.
  servers:
    type: list
    elements: str
    default: []
    description:
      - Uuids of the servers. Needed with O(state=present). With O(state=absent) an empty list means wherever in the
        pool the operation's snapshots are.
  pool:
    type: str
    description:
      - The pool, instead of the one that nova.conf names.
  rbd_user:
    type: str
    description:
      - Ceph user, without C(client.), instead of nova.conf's.
  rbd_conf:
    type: path
    description:
      - Ceph configuration file, instead of the one that nova.conf names.
  ceph_command:
    type: list
    elements: str
    default: []
    description:
      - Words to put before C(rbd) where it is in a container, such as C(docker), C(exec), C(nova_compute).
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - The configuration files of nova-compute in their order, where they are not found by themselves.
seealso:
  - module: stackguard.nova.rbd_blocklist
"""

EXAMPLES = r"""
- name: Guard the disks of two servers
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    servers: [0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11, 8961cf04-0ee7-44b1-9ed3-a4b18e535683]

- name: Remove what an operation left behind, wherever it is
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    state: absent
"""

RETURN = r"""
snapshot:
  description: The snapshots' name.
  returned: success
  type: str
  sample: stackguard-5f0a6f0f7a11
images:
  description:
    - Every image that has the snapshot now (or has it no more), with Ceph's own id. An image that was deleted and made
      anew has another id.
  returned: success
  type: list
  elements: dict
  sample: [{image: 8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk, id: 10e6a8d1c2, changed: true}]
without:
  description: Servers of which the pool has no image at all, as those that boot from a volume.
  returned: success
  type: list
  elements: str
  sample: []
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackguard.nova.plugins.module_utils.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.systems import guard, host, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.reading import HostError


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str", "default": []}
    return {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "operation_id": {"type": "str", "required": True},
        "servers": dict(names),
        "pool": {"type": "str"},
        "rbd_user": {"type": "str"},
        "rbd_conf": {"type": "path"},
        "ceph_command": dict(names),
        "nova_conf_files": dict(names),
    }


def main() -> None:
    """Make or remove the snapshots."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = module.params
    if given["state"] == "present" and not given["servers"]:
        module.fail_json(msg="servers: which servers' disks shall be guarded?")
    work = guard.guard if given["state"] == "present" else guard.unguard
    try:
        where = guard.options_of(
            given["nova_conf_files"],
            host.COMPUTE_UNITS,
            given["pool"],
            given["rbd_user"],
            given["rbd_conf"],
            given["ceph_command"],
        )
        with rbd.connect(where) as ceph:
            done = work(ceph, given["operation_id"], given["servers"], module.check_mode)
    except HostError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=any(entry.changed for entry in done.images), **to_plain(done))


if __name__ == "__main__":
    main()
