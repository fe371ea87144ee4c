#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_evacuate
short_description: Send one wave of servers away from a dead compute host
version_added: 0.1.0
description:
  - Sees which servers of the operation have left and how they are, judges the rest by what was just read on the hosts,
    sends one wave, and follows it.
  - A wave is O(max_parallel) servers at a time for each destination, another when one has arrived, for
    O(measured_for) seconds. A destination on which one failed gets no further one in the same wave.
  - A round that has others to send ends then, while some are still on their way (RV(riding)). Keep those in the
    journal's C(memory.riding), read the hosts anew with M(stackguard.nova.compute_host_info), and go on while RV(again)
    is V(true). They are counted where they are going, and judged by what is read after they have arrived.
  - The first round that sends nobody, and has nobody on the way, is the one that has seen the last wave.
  - Each server goes to a named host that the scheduler checks, with a microversion that keeps its power state (2.68) or
    leaves it stopped (2.95), and never with C(force).
  - A server whose evacuation is under way is followed and not asked for again. One that failed goes to another host
    in a later round, if its disks are the same and nobody has them open.
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.evacuation
attributes:
  check_mode:
    support: partial
    description: Sends nobody; M(stackguard.nova.evacuation_plan) shows who would go where.
  diff_mode:
    support: none
    description: M(stackguard.nova.evacuation_plan) shows it.
  idempotent:
    support: full
    description: A server that has left is not sent again.
options:
  measured_for:
    type: int
    default: 120
    description:
      - Seconds for which what was read on the hosts is good. After that no other server is sent in this round.
  server_timeout:
    type: int
    default: 1800
    description:
      - Seconds after which a server that has neither arrived nor failed is no longer waited for.
seealso:
  - module: stackguard.nova.evacuation_plan
"""

EXAMPLES = r"""
- name: Send one wave
  stackguard.nova.server_evacuate:
    cloud: production
    evacuate_host: compute1
    evidence_dir: /run/stackguard-evidence
    journal: "{{ stackguard_evacuate_journal }}"
  register: round
"""

RETURN = r"""
outcomes:
  description: Servers whose evacuation ended in this round, in the order in which they did.
  returned: success
  type: list
  elements: dict
  sample:
    - {uuid: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, outcome: arrived, target: compute3, host: compute3,
       status: ACTIVE, seconds: 14, reason: null, migration: done}
landed:
  description: Servers of the operation that have left, and whether they were seen elsewhere with their disks.
  returned: success
  type: list
  elements: dict
  sample: [{uuid: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, host: compute3, status: ACTIVE, state: verified}]
left:
  description: Servers that stay on the dead host, recoverable, and what keeps each there.
  returned: success
  type: dict
  sample: {}
findings:
  description: What was found wrong in this round.
  returned: success
  type: list
  elements: dict
  sample: []
report:
  description: The findings of this round, as in C(report.json), with those who stay.
  returned: success
  type: dict
  sample: {schema: 1, verdict: pass, findings: [], unchecked: []}
riding:
  description: Servers that are still on their way, to be kept in the journal for the next round.
  returned: success
  type: list
  elements: dict
  sample:
    - {uuid: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, target: compute3, size_mib: 4096, started: 5123.7}
tried:
  description: By server, the hosts on which it failed in this operation, to be kept in the journal.
  returned: success
  type: dict
  sample: {}
again:
  description: Whether another round has something to do.
  returned: success
  type: bool
  sample: true
"""
