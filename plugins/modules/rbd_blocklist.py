#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_blocklist
short_description: Fence a host with Ceph's OSD blocklist
version_added: 0.1.0
description:
  - Adds addresses to the OSD blocklist, or removes addresses from the blocklist. A client at an address on the
    blocklist can no longer write to Ceph, even if the process of the client still runs. The module reads the blocklist
    again after each change.
  - The module fails if O(addresses) is empty. With O(state=present), the module also fails if O(addresses) contains an
    address of the Ceph cluster itself (monitors, managers, OSDs, MDS, gateways), or if the module cannot read all
    addresses of the Ceph cluster. The module checks all addresses in O(addresses) before it adds the first address to
    the blocklist. See O(infrastructure) and O(host_addresses).
  - The blocklist cannot fence a host that also runs Ceph daemons or a gateway, because these daemons and the gateway
    use the address of the host.
  - Remove the addresses of a host from the blocklist only after all QEMU processes of the host have ended.
  - Runs on a host with access to Ceph. A Ceph user with C(profile rbd) on the monitors can add blocklist entries. To
    remove blocklist entries, the user needs at least the permission C(allow command "osd blocklist"). To read the
    addresses of managers and MDS, the user needs C(allow command "mgr dump"), C(allow command "mgr metadata") and
    C(allow command "fs dump"). Ceph releases before Pacific use the word C(blacklist) in their commands. The module
    detects whether the commands use C(blocklist) or C(blacklist).
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: Returns the blocklist entries that would change.
  diff_mode:
    support: none
    description: The result contains the blocklist entries that changed.
  idempotent:
    support: full
    description: The module does not add an address if the blocklist already contains this address as an entry or in a
      range.
requirements:
  - Python 3.9 or newer on the host
  - C(python3-rbd), or the command C(ceph), on the host or in the container of nova-compute
options:
  state:
    type: str
    default: present
    choices: [present, absent, listed]
    description:
      - Whether the module adds O(addresses) to the blocklist (V(present)) or removes O(addresses) from the blocklist
        (V(absent)). With O(state=listed) the module only reads the blocklist, and fails if an address in O(addresses)
        is not on the blocklist.
  addresses:
    type: list
    elements: str
    required: true
    description:
      - One or more IP addresses to add to the blocklist, or to remove from the blocklist. A blocklist entry applies to
        all clients at the address. With O(state=present), O(addresses) must not contain addresses of the host on which
        the module runs, addresses of the Ceph cluster, or loopback and link-local addresses. Otherwise, the module
        fails. C(::ffff:192.0.2.1) means C(192.0.2.1).
  expire:
    type: int
    default: 157680000
    description:
      - Number of seconds after which Ceph removes the blocklist entries. By default a blocklist entry is valid for five
        years. After a blocklist entry has expired, clients at the address can write to Ceph again. If the remaining
        time of an existing entry is shorter than 90 % of O(expire), the module extends the entry.
  infrastructure:
    type: list
    elements: str
    default: []
    description:
      - Addresses of the managers and MDS daemons of the Ceph cluster. Set O(infrastructure) if the Ceph user has no
        permission to read the addresses of managers and MDS daemons. The module never adds the addresses in
        O(infrastructure) to the blocklist. By setting O(infrastructure), you confirm that O(infrastructure) contains
        the addresses of all managers and MDS daemons of the Ceph cluster.
  never:
    type: list
    elements: str
    default: []
    description:
      - Addresses that the module never adds to the blocklist, such as addresses of the Ansible controller, of gateways
        and of backup hosts. With O(state=present), the module fails if O(addresses) contains an address in O(never).
        The addresses of managers and MDS daemons belong in O(infrastructure), not in O(never).
  host_addresses:
    type: list
    elements: str
    default: []
    description:
      - The addresses in O(addresses) that certainly belong to the fenced host. If O(host_addresses) contains every
        address in O(addresses), the module does not need the addresses of managers and MDS daemons. An address of the
        fenced host cannot belong to a manager or MDS daemon on another host.
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
        container. The default is the file that is set in nova.conf. If nova-compute runs in a container, nova.conf
        contains the path that the file has in the container. Without O(ceph_command), the module converts the path in
        nova.conf to the path of the same file on the host.
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
  - module: stackguard.nova.rbd_guard
"""

EXAMPLES = r"""
- name: Add the address of a dead host to the blocklist
  stackguard.nova.rbd_blocklist:
    addresses: [192.0.2.11]

- name: Verify that the address is on the blocklist of the expected cluster
  stackguard.nova.rbd_blocklist:
    state: listed
    addresses: [192.0.2.11]
    fsid: da0d2b0c-0824-5eed-b650-1f58a483491c

- name: Remove the host's address from the blocklist after all QEMU processes of the host have ended
  stackguard.nova.rbd_blocklist:
    state: absent
    addresses: [192.0.2.11]
"""

RETURN = r"""
entries:
  description:
    - The blocklist entry of each address. A blocklist entry is C(IP:0/0) or a range. After a removal, RV(entries)
      contains the removed blocklist entries.
  returned: success
  type: list
  elements: dict
  contains:
    address:
      description: The address.
      type: str
    entry:
      description: The blocklist entry that covers the address.
      type: str
    until:
      description: Time at which Ceph removes the blocklist entry.
      type: str
    changed:
      description: Whether this task added or removed the blocklist entry.
      type: bool
  sample: [{address: 192.0.2.11, entry: "192.0.2.11:0/0", until: "2031-11-21T14:37:15.000000+0000", changed: true}]
listed:
  description: The addresses that are on the blocklist at the end of the task.
  returned: success
  type: list
  elements: str
  sample: [192.0.2.11]
covered:
  description:
    - With O(state=absent), the blocklist entries that still cover an address in O(addresses). Each entry in RV(covered)
      is a range of more than one address. The module does not remove such a range, because the operation did not add
      it. The module shows a warning for each of these entries.
  returned: success
  type: list
  elements: dict
  contains:
    address:
      description: The address.
      type: str
    entry:
      description: The blocklist entry that covers the address.
      type: str
    until:
      description: Time at which Ceph removes the blocklist entry.
      type: str
    changed:
      description: Whether this task added or removed the blocklist entry.
      type: bool
  sample: []
changed_entries:
  description: The blocklist entries that this task added or removed.
  returned: success
  type: list
  elements: str
  sample: ["192.0.2.11:0/0"]
fsid:
  description: Id of the Ceph cluster.
  returned: success
  type: str
  sample: da0d2b0c-0824-5eed-b650-1f58a483491c
pool:
  description: The pool that the module opened. The blocklist applies to all pools of the Ceph cluster.
  returned: success
  type: str
  sample: vms
read_at:
  description: Time immediately before the module's first access to the blocklist, according to the clock of the host
    that runs the task.
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
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "listed"]},
        "addresses": {"type": "list", "elements": "str", "required": True},
        "expire": {"type": "int", "default": guard_snapshots.BLOCK_SECONDS},
        "infrastructure": dict(names),
        "never": dict(names),
        "host_addresses": dict(names),
        "fsid": {"type": "str"},
        "pool": {"type": "str"},
        "rbd_user": {"type": "str"},
        "rbd_conf": {"type": "path"},
        "ceph_command": dict(names),
        "nova_conf_files": dict(names),
    }


def work(ceph: rbd.Ceph, given: t.Mapping[str, t.Any], check: bool) -> guard_snapshots.BlocklistResult:
    """Do what is asked for, and read the list."""
    if given["state"] == "listed":
        return guard_snapshots.listed(ceph, given["addresses"])
    if given["state"] == "absent":
        return guard_snapshots.unblock(ceph, given["addresses"], check)
    own = facts.addresses()
    return guard_snapshots.block(
        ceph,
        given["addresses"],
        own,
        given["expire"],
        check,
        infrastructure=given["infrastructure"],
        never=given["never"],
        host_addresses=given["host_addresses"],
    )


def main() -> None:
    """Put addresses on the list, take them off, or look."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = module.params
    try:
        # Before Ceph is asked: a fence of no address is none.
        guard_snapshots.hosts_of(given["addresses"])
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
            done = work(ceph, given, module.check_mode)
    except (HostError, OSError) as error:
        module.fail_json(msg=str(error))
    for entry in done.covered:
        module.warn(f"the OSD blocklist still contains the range {entry.entry}, which covers {entry.address}")
    module.exit_json(
        changed=bool(done.changed),
        changed_entries=done.changed,
        fsid=fsid,
        pool=where.pool,
        read_at=read_at,
        **to_plain(done),
    )


if __name__ == "__main__":
    main()
