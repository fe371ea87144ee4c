#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: evacuation_plan
short_description: Judge whether a compute host may be evacuated, and plan who goes where
version_added: 0.1.0
description:
  - Reads the APIs anew, and what M(stackguard.nova.compute_host_info) left in the evidence directory, then returns the
    plan of an evacuation, or every reason why it is refused. Nothing is changed.
  - Destinations are chosen by measured memory, huge pages, zone, server groups, host states, and by what placement
    offers. Each decision is explained, host by host.
  - After the source was fenced, O(phase=death) sees whether it is dead.
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.evacuation
options:
  phase:
    type: str
    default: preflight
    choices: [preflight, death]
    description:
      - C(preflight) judges and plans, before anything is touched. C(death) is asked after the fence, with O(journal)
        that holds its proof.
  take_over:
    type: bool
    default: false
    description:
      - Carry on with an operation that was begun on another controller, of which only you know that it has ended.
seealso:
  - module: stackguard.nova.server_evacuate
"""

EXAMPLES = r"""
- name: May compute1 be evacuated?
  stackguard.nova.evacuation_plan:
    cloud: production
    evacuate_host: compute1
    evidence_dir: /run/stackguard-evidence
    fence: power
  register: planned
"""

RETURN = r"""
state:
  description: C(planned), C(resumed), C(refused), or C(clear) where no server is to be sent.
  returned: with O(phase=preflight)
  type: str
  sample: planned
operation_id:
  description: The operation.
  returned: when it is planned or resumed
  type: str
  sample: 5f0a6f0f7a11
journal:
  description: The operation's journal, to be opened before the first change.
  returned: when it is planned or resumed
  type: dict
  sample: {kind: evacuate, operation_id: 5f0a6f0f7a11, subject: compute1}
plan:
  description: Every step, with what it changes.
  returned: when it is planned
  type: dict
  sample: {kind: evacuate, operation_id: 5f0a6f0f7a11, subject: compute1, steps: [], notes: []}
placements:
  description: By server, where it goes and why; or what speaks against every host.
  returned: when nothing is resumed
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683: {name: web1, host: compute3, wave: 1, why: 9000 MiB of real memory before it}
addresses:
  description: The addresses that Ceph is to refuse, with O(fence=blocklist).
  returned: when it is planned or resumed
  type: list
  elements: str
  sample: [192.0.2.11]
ceph_hosts:
  description: Inventory names of hosts that could list the pool just now.
  returned: when it is planned or resumed
  type: list
  elements: str
  sample: [compute3]
reason:
  description: The reason under which the compute service is held.
  returned: when it is planned or resumed
  type: str
  sample: "stackguard:evacuate:5f0a6f0f7a11"
dead:
  description: Whether the source is fenced and down, and nobody has its guests' disks open.
  returned: with O(phase=death)
  type: bool
  sample: true
report:
  description: The findings, as in C(report.json).
  returned: unless an operation is resumed
  type: dict
  sample: {schema: 1, verdict: pass, findings: [], unchecked: []}
"""
