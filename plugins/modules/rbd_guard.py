#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_guard
short_description: Protect servers' disks in Ceph from deletion
version_added: 0.1.0
description:
  - Creates an RBD snapshot C(stackguard-OPERATION) of every disk image of the servers, or removes these snapshots. Ceph
    does not delete an image that has a snapshot, so a failed evacuation cannot delete the data.
  - When the operation has ended, remove its snapshots with O(state=absent). If Nova deletes a disk that still has a
    snapshot, Nova reports the disk as deleted, but the disk remains in Ceph. A later rebuild or unshelve of the server
    therefore boots the old content of the disk.
  - If an image in O(images) does not exist or has another id, a task with O(state=present) fails before the module
    creates a snapshot. After a change the module reads each image again.
  - Runs on a compute host, and uses the pool and the Ceph user from the nova.conf of the host. Set O(fsid) if there is
    more than one Ceph cluster.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: Returns the images whose snapshot the module would create or remove.
  diff_mode:
    support: none
    description: The module does not show the content of snapshots.
  idempotent:
    support: full
    description: The module does not create an existing snapshot again.
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-rbd), or the command C(rbd), on the compute host or in the container of nova-compute
options:
  state:
    type: str
    default: present
    choices: [present, absent]
    description:
      - V(present) creates the snapshots. V(absent) removes the snapshots.
  operation_id:
    type: str
    required: true
    description:
      - Id of the operation. The name of each snapshot contains the id of the operation.
  servers:
    type: list
    elements: str
    default: []
    description:
      - Uuids of the servers. The module creates guard snapshots of all images that the servers have in the pool, or
        removes the guard snapshots of these images. O(state=present) requires O(servers) or O(images). With
        O(state=absent), if you set neither O(servers) nor O(images), the module removes all snapshots of the operation
        in the pool.
  images:
    type: dict
    default: {}
    description:
      - Images in addition to the images of O(servers). Each key is the name of an image, and each value is the id of
        this image in Ceph.
      - With O(state=present) each image must exist and have the given id. With O(state=absent) the module lists the
        names of missing images in RV(gone), and the names of images that have another id in RV(replaced).
  fsid:
    type: str
    description:
      - Id of the expected Ceph cluster. If the host uses another cluster, the module changes nothing and fails.
  pool:
    type: str
    description:
      - Name of the pool with the images. The default is the pool in nova.conf.
  rbd_user:
    type: str
    description:
      - Name of the Ceph user without the prefix C(client.). The default is the Ceph user in nova.conf.
  rbd_conf:
    type: path
    description:
      - Path of the Ceph configuration file on the host. With O(ceph_command), enter the path of the file in the
        container. The default is the file that is set in nova.conf. If nova-compute runs in a container, nova.conf
        contains the path that the file has in the container. Without O(ceph_command), the module converts the path in
        nova.conf to the path of the same file on the host.
  ceph_command:
    type: list
    elements: str
    default: []
    description:
      - Prefix for the command C(rbd) if this command runs in a container, for example C([docker, exec, nova_compute]).
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - Configuration files of nova-compute, in the order in which nova-compute reads them. Set O(nova_conf_files) if
        the module cannot find the files.
seealso:
  - module: stackguard.nova.rbd_blocklist
"""

EXAMPLES = r"""
- name: Protect the disks of two servers from deletion
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    servers: [0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11, 8961cf04-0ee7-44b1-9ed3-a4b18e535683]

- name: Protect one image from deletion, and fail if the host does not use the expected Ceph cluster
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    fsid: da0d2b0c-0824-5eed-b650-1f58a483491c
    pool: vms
    images: {8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk: 10e6a8d1c2}

- name: Remove all snapshots that an operation left in the pool
  stackguard.nova.rbd_guard:
    operation_id: 5f0a6f0f7a11
    state: absent
"""

RETURN = r"""
snapshot:
  description: Name of the snapshots.
  returned: success
  type: str
  sample: stackguard-5f0a6f0f7a11
images:
  description:
    - The images with their ids in Ceph. An image that was deleted and created again has a different id.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: Name of the image.
      type: str
    id:
      description: Id of the image in Ceph.
      type: str
    changed:
      description: Whether this task created or removed the snapshot of the image.
      type: bool
    guarded:
      description: Whether the image has the snapshot C(stackguard-OPERATION) at the end of the task.
      type: bool
  sample: [{image: 8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk, id: 10e6a8d1c2, changed: true, guarded: true}]
without:
  description:
    - The servers in O(servers) that have no image in the pool. A server without an image in the pool might boot from a
      volume, or have its images in another pool. With O(state=absent) the module shows a warning that lists these
      servers.
  returned: success
  type: list
  elements: str
  sample: []
gone:
  description: With O(state=absent), the images in O(images) that the module did not find in the pool.
  returned: success
  type: list
  elements: str
  sample: []
replaced:
  description: With O(state=absent), the images whose id in Ceph differs from the id in O(images).
  returned: success
  type: list
  elements: str
  sample: []
fsid:
  description: Id of the Ceph cluster.
  returned: success
  type: str
  sample: da0d2b0c-0824-5eed-b650-1f58a483491c
pool:
  description: The pool.
  returned: success
  type: str
  sample: vms
read_at:
  description: Time immediately before the module's first access to the images, according to the clock of the host that
    runs the task.
  returned: success
  type: str
  sample: "2026-11-22T14:37:15+00:00"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.model.host_facts import to_plain
from ..module_utils.systems.ceph import guard_snapshots, rbd
from ..module_utils.systems.host import facts
from ..module_utils.systems.host.reading import HostError


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
        module.fail_json(msg="set servers or images, so that the module knows which disks to guard")
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
        module.warn(
            f"the module removed no guard snapshot of these servers, because the pool {where.pool} has no image of "
            f"these servers: {', '.join(done.without)}"
        )
    module.exit_json(
        changed=any(entry.changed for entry in done.images),
        fsid=fsid,
        pool=where.pool,
        read_at=read_at,
        **to_plain(done),
    )


if __name__ == "__main__":
    main()
