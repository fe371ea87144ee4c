# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options that an evacuation's modules share."""

    DOCUMENTATION = r"""
options:
  evacuate_host:
    type: str
    required: true
    description: What Nova calls the dead host.
  inventory_name:
    type: str
    description: What the inventory calls it, where it is there.
  evidence_dir:
    type: path
    required: true
    description: Directory with what was read on the hosts.
  overrides:
    type: list
    elements: dict
    default: []
    description: Findings that the operator passes, each with C(code), C(object) and C(reason).
  fence:
    type: str
    choices: [command, power, blocklist, attested]
    description: How the dead host is fenced.
  closed:
    type: list
    elements: str
    default: []
    description: Operations of this kind that have ended, by their journals. What they hold may be taken over.
  blocklist_addresses:
    type: list
    elements: str
    default: []
    description:
      - Addresses of the dead host in Ceph's public network, besides those that watchers and locks show.
      - Needed where nothing shows them, and C(host_ip) is not what hosts reach Ceph from.
  servers:
    type: raw
    description:
      - Names or uuids of the servers that leave, or a JMESPath filter such as C([?metadata.tier=='gold']). By default
        all of them do.
  order:
    type: str
    description:
      - JMESPath sort key, such as C(metadata.priority), of the order in which servers are given a place. Those without
        a value follow, the largest first.
  max_parallel:
    type: int
    default: 8
    description: How many servers are on their way to one destination at a time.
  memory_headroom_mb:
    type: int
    default: 512
    description:
      - Measured memory that is kept free on each destination, MiB; never less than its C(reserved_host_memory_mb).
  guest_overhead_mb:
    type: int
    default: 128
    description: What QEMU takes beside a guest's own memory, MiB.
  overcommit:
    type: float
    default: 1.0
    description: How much guest memory one MiB of measured memory may carry.
  target_state:
    type: str
    default: keep
    choices: [keep, stopped]
    description: Whether servers keep their power state, or are left stopped (release 27 and newer).
  partial:
    type: bool
    default: false
    description:
      - Whether servers that find a place go where others do not. Without it one server without a place refuses all.
  max_hosts:
    type: int
    default: 1
    description: How many hosts of the zone may be down.
  max_share:
    type: float
    default: 0.34
    description: Which share of the zone's hosts may be down, where more than one is.
  journal:
    type: dict
    description: The operation's journal, where one is open.
"""
