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
  - An image that is named with its id under O(images), and is not there or has another id, is an error before anything
    is made. Each image is read back afterwards.
  - Runs on a compute host, with the pool and the Ceph user that its nova.conf names. Name O(fsid) where there is more
    than one Ceph cluster.
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
      - Uuids of the servers, all of whose images in the pool are meant. With O(state=present) servers or O(images) are
        needed. With O(state=absent) neither means wherever in the pool the operation's snapshots are.
  images:
    type: dict
    default: {}
    description:
      - Images by name, each with Ceph's own id of it, besides those of O(servers).
      - With O(state=present) each must be there with that id. With O(state=absent) those that are not are returned as
        RV(gone) and RV(replaced).
  fsid:
    type: str
    description:
      - The Ceph cluster that is expected. With another one nothing is done, and the module fails.
  pool:
    type: str
    description:
      - The pool to work in, instead of the one that nova.conf names.
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

- name: Guard the very images that were looked at, in the cluster where they were seen
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    fsid: da0d2b0c-0824-5eed-b650-1f58a483491c
    pool: vms
    images: {8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk: 10e6a8d1c2}

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
    - The images, with Ceph's own id. An image that was deleted and made again has another id.
    - C(guarded) of each says whether the snapshot was there when the image was read back.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: Name of the image.
      type: str
    id:
      description: Ceph's own id of it.
      type: str
    changed:
      description: Whether its snapshot was made or removed now.
      type: bool
    guarded:
      description: Whether the snapshot was there when the image was read back.
      type: bool
  sample: [{image: 8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk, id: 10e6a8d1c2, changed: true, guarded: true}]
without:
  description:
    - Those of O(servers) of which the pool has no image at all. It may be that they boot from a volume, or that their
      images are in another pool. With O(state=absent) a warning names them.
  returned: success
  type: list
  elements: str
  sample: []
gone:
  description: With O(state=absent), images of O(images) that are not in the pool.
  returned: success
  type: list
  elements: str
  sample: []
replaced:
  description: With O(state=absent), images of O(images) that have another id.
  returned: success
  type: list
  elements: str
  sample: []
fsid:
  description: The Ceph cluster.
  returned: success
  type: str
  sample: da0d2b0c-0824-5eed-b650-1f58a483491c
pool:
  description: The pool.
  returned: success
  type: str
  sample: vms
read_at:
  description: A time right before the images were changed and read back, by this host's clock.
  returned: success
  type: str
  sample: "2026-11-22T14:37:15+00:00"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import HostError


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str", "default": []}
    return {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "operation_id": {"type": "str", "required": True},
        "servers": dict(names),
        "images": {"type": "dict", "default": {}},
        "fsid": {"type": "str"},
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
    if given["state"] == "present" and not given["servers"] and not given["images"]:
        module.fail_json(msg="servers, images: whose disks shall be guarded?")
    work = guard_snapshots.guard if given["state"] == "present" else guard_snapshots.unguard
    try:
        where = guard_snapshots.options_of(
            given["nova_conf_files"],
            facts.COMPUTE_UNITS,
            given["pool"],
            given["rbd_user"],
            given["rbd_conf"],
            given["ceph_command"],
        )
        with rbd.connect(where) as ceph:
            fsid = guard_snapshots.expect_cluster(ceph, given["fsid"])
            read_at = guard_snapshots.now()
            done = work(ceph, given["operation_id"], given["servers"], given["images"], module.check_mode)
    except HostError as error:
        module.fail_json(msg=str(error))
    if given["state"] == "absent" and done.without:
        module.warn(f"no image in pool {where.pool}, so that no guard was removed: {', '.join(done.without)}")
    module.exit_json(
        changed=any(entry.changed for entry in done.images),
        fsid=fsid,
        pool=where.pool,
        read_at=read_at,
        **to_plain(done),
    )


if __name__ == "__main__":
    main()
