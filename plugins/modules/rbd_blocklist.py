#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_blocklist
short_description: Fence a host by Ceph's OSD blocklist
version_added: 0.1.0
description:
  - Puts all clients of some addresses on the OSD blocklist, so that whatever still runs there can never write again, or
    takes them off. The list is read back each time.
  - Take a host's addresses off only when no QEMU of it runs any more.
  - Runs on a host with access to Ceph. C(profile rbd) on the monitors lets a user add entries; to remove one it needs
    C(allow command "osd blocklist") or more.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: Names the entries that would change.
  diff_mode:
    support: none
    description: The result names the entries that changed.
  idempotent:
    support: full
    description: An address that is on the list is not added again.
requirements:
  - Python 3.9 or newer on the host
  - C(python3-rbd), or the command C(ceph), on the host
options:
  state:
    type: str
    default: present
    choices: [present, absent]
    description:
      - Whether the addresses are on the list.
  addresses:
    type: list
    elements: str
    required: true
    description:
      - IP addresses. All clients of each are meant. Addresses of the host that this runs on, loopback and link-local
        ones are refused.
  expire:
    type: int
    default: 157680000
    description:
      - Seconds until Ceph takes the entries off by itself. The default is five years, since nobody shall write again
        because time passed.
  pool:
    type: str
    description:
      - A pool that the Ceph user may open, instead of the one that nova.conf names.
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
      - Words to put before C(ceph) where it is in a container, such as C(docker), C(exec), C(nova_compute).
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - The configuration files of nova-compute in their order, where they are not found by themselves.
seealso:
  - module: stackguard.nova.rbd_guard
"""

EXAMPLES = r"""
- name: Nothing on this host shall write any more
  stackguard.nova.rbd_blocklist:
    addresses: [192.0.2.11]
"""

RETURN = r"""
entries:
  description: The entries that stand for the addresses.
  returned: success
  type: list
  elements: str
  sample: ["192.0.2.11:0/0"]
changed_entries:
  description: Those that were added or removed.
  returned: success
  type: list
  elements: str
  sample: ["192.0.2.11:0/0"]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackguard.nova.plugins.module_utils.systems import guard, host, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.reading import HostError


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str", "default": []}
    return {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "addresses": {"type": "list", "elements": "str", "required": True},
        "expire": {"type": "int", "default": guard.BLOCK_SECONDS},
        "pool": {"type": "str"},
        "rbd_user": {"type": "str"},
        "rbd_conf": {"type": "path"},
        "ceph_command": dict(names),
        "nova_conf_files": dict(names),
    }


def main() -> None:
    """Put addresses on the list, or take them off."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = module.params
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
            if given["state"] == "present":
                own = host.addresses()
                done = guard.block(ceph, given["addresses"], own, given["expire"], module.check_mode)
            else:
                done = guard.unblock(ceph, given["addresses"], module.check_mode)
    except (HostError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(done.changed), entries=done.entries, changed_entries=done.changed)


if __name__ == "__main__":
    main()
