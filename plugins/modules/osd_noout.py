#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: osd_noout
short_description: Set or remove noout of single Ceph OSDs
version_added: 0.2.0
description:
  - Sets C(noout) of the OSDs in O(osds) with C(ceph osd add-noout), or removes C(noout) with C(ceph osd rm-noout). Ceph
    does not mark an OSD with C(noout) as out while the OSD is down. The module reads the OSDs again after each change.
  - The module never sets or removes C(noout) of the cluster, of a CRUSH node or of a device class.
  - Runs on a host with access to Ceph. The Ceph user needs C(profile rbd), C(allow command "osd add-noout") and
    C(allow command "osd rm-noout") on the monitors.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: Returns the OSDs that would change.
  diff_mode:
    support: none
    description: The result contains the OSDs that changed.
  idempotent:
    support: full
    description: The module does not set C(noout) of an OSD that already has C(noout) in any way.
requirements:
  - Python 3.9 or newer on the host
  - C(python3-rbd), or the command C(ceph), on the host or in the container of nova-compute
options:
  state:
    type: str
    default: present
    choices: [present, absent, listed, up]
    description:
      - With V(present), the OSDs in O(osds) have C(noout) at the end. The module leaves an OSD that already has
        C(noout), also if it has C(noout) by a flag of the cluster, of a CRUSH node or of its device class.
      - With V(absent), the OSDs in O(osds) have no C(noout) of their own at the end.
      - V(listed) only reads the OSDs. V(up) waits until all OSDs in O(osds) are up, at most O(timeout) seconds, and
        does not fail if they are not.
  osds:
    type: list
    elements: int
    required: true
    description:
      - Numbers of the OSDs. The module fails if O(osds) is empty. Except with O(state=absent) and O(state=up), the
        module also fails if an OSD does not exist.
  timeout:
    type: int
    default: 600
    description:
      - Maximum number of seconds for O(state=up).
  fsid:
    type: str
    description:
      - Id of the expected Ceph cluster. If the host uses another cluster, the module changes nothing and fails.
  pool:
    type: str
    description:
      - Name of a pool that the Ceph user has permission to open. The default is the pool in nova.conf.
  rbd_user:
    type: str
    description:
      - Name of the Ceph user without the prefix C(client.). The default is the Ceph user in nova.conf.
  rbd_conf:
    type: path
    description:
      - Path of the Ceph configuration file on the host. With O(ceph_command), enter the path of the file in the
        container. The default is the file that is set in nova.conf.
  ceph_command:
    type: list
    elements: str
    default: []
    description:
      - Prefix for the command C(ceph) if this command runs in a container, for example C([docker, exec, nova_compute]).
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - Configuration files of nova-compute, in the order in which nova-compute reads them. Set O(nova_conf_files) if
        the module cannot find the configuration files.
seealso:
  - module: stackguard.nova.compute_host_info
"""

EXAMPLES = r"""
- name: Set noout of two OSDs before their host is rebooted
  stackguard.nova.osd_noout:
    osds: [3, 4]

- name: Remove noout after the host is back
  stackguard.nova.osd_noout:
    state: absent
    osds: [3, 4]
"""

RETURN = r"""
osds:
  description: The OSDs in O(osds) at the end of the task.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: Number of the OSD.
      type: int
    hostname:
      description: Host name of the machine of the OSD, as the OSD reported it at its start.
      type: str
    crush_hosts:
      description: The CRUSH buckets of type host that contain the OSD.
      type: list
      elements: str
    addresses:
      description: Public IP addresses of the OSD.
      type: list
      elements: str
    up:
      description: Whether the OSD is up.
      type: bool
    noout:
      description: By what the OSD has C(noout), such as C(itself) or C(the cluster). Empty if it has no C(noout).
      type: list
      elements: str
changed_osds:
  description: Numbers of the OSDs whose C(noout) this task set or removed.
  returned: success
  type: list
  elements: int
  sample: [3, 4]
reached:
  description: Whether the module had access to the expected Ceph cluster.
  returned: always
  type: bool
fsid:
  description: Id of the Ceph cluster.
  returned: success
  type: str
  sample: da0d2b0c-0824-5eed-b650-1f58a483491c
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.model.host_facts import to_plain
from ..module_utils.systems.ceph import guard_snapshots, osds, rbd
from ..module_utils.systems.host import facts
from ..module_utils.systems.host.reading import HostError


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str", "default": []}
    return {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "listed", "up"]},
        "osds": {"type": "list", "elements": "int", "required": True},
        "timeout": {"type": "int", "default": 600},
        "fsid": {"type": "str"},
        "pool": {"type": "str"},
        "rbd_user": {"type": "str"},
        "rbd_conf": {"type": "path"},
        "ceph_command": dict(names),
        "nova_conf_files": dict(names),
    }


def work(ceph: rbd.Ceph, given: t.Mapping[str, t.Any], check: bool) -> osds.NooutResult:
    """Do what is asked for, and read the OSDs."""
    if given["state"] == "listed":
        return osds.listed(ceph, given["osds"])
    if given["state"] == "up":
        return osds.wait_up(ceph, given["osds"], given["timeout"])
    return osds.mark(ceph, given["osds"], given["state"] == "present", check)


def main() -> None:
    """Set noout of OSDs, remove it, or look."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = module.params
    reached = False
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
            reached = True
            done = work(ceph, given, module.check_mode)
    except (HostError, OSError) as error:
        module.fail_json(msg=str(error), reached=reached)
    module.exit_json(
        changed=bool(done.changed), changed_osds=done.changed, reached=reached, fsid=fsid, osds=to_plain(done)["osds"]
    )


if __name__ == "__main__":
    main()
