#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_migrate
short_description: Move servers to other hosts of their availability zone, or empty a host
version_added: 0.1.0
description:
  - Moves the servers that are named or selected, or all of a host, live where they run and cold where they do not.
    Each stays in the zone that its host is in.
  - The host is chosen by the planner of evacuations, from memory that was measured on the hosts. It is named to Nova
    and checked by the scheduler, never forced. A host that was not read is no destination.
  - Where each lands is compared. A cold migration is confirmed after that; a stray is reverted, or reported if it
    cannot be.
  - A refusal reports every reason at once and changes nothing. A server that fails on one host is
    tried on others; a run in which one did not arrive fails.
  - A host that is emptied is disabled with the operation's id as reason, and stays disabled, unless
    O(enable_after=true).
  - Run the same task again to resume a run that was killed, or end it with O(action=rollback). The journal is on the
    host that the task runs on (or is delegated to), which receives no credentials. One move is open at a time, since
    two would count on the same memory.
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.moves
  - stackguard.nova.overrides
  - stackguard.nova.approved_plan
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Everything is read and judged, the plan is shown, and nothing is changed.
  diff_mode:
    support: full
    description: Shows the host of each server, and the status of a host that is emptied, before and after.
  idempotent:
    support: partial
    description: A host that is empty and disabled is left alone. Servers that are named move each time.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) moves, or resumes what an unfinished run began. V(resume) does only the latter; without O(servers)
        it means
        those of the open operation. V(status) returns what is open and where its servers are, and changes nothing.
      - V(rollback) ends what an unfinished run began. Servers that have moved stay where they are then; unfinished
        moves
        are ended, and a host that was disabled gets back the status that it had.
  servers:
    type: raw
    description:
      - Names or uuids of the servers that move, or a JMESPath filter over all servers of the cloud, such as
        V([?host=='compute1' && metadata.tier=='gold']). Names and filters have all servers of the cloud listed.
      - Either this or O(drain_host) is needed.
  drain_host:
    type: str
    description: What Nova calls the host that is emptied.
  evidence_dir:
    type: path
    description:
      - Directory on the controller in which M(stackguard.nova.compute_host_info) has put what it read on the hosts.
  live:
    type: bool
    default: true
    description: Whether servers that run move live. If not, they are stopped for their move.
  cold:
    type: str
    default: stopped
    choices: [never, stopped, fallback]
    description:
      - Which servers move cold with O(live=true). V(stopped) are those that do not run; V(fallback) also those that
        run and that Nova has failed to move live, which are stopped for their move.
  partial:
    type: bool
    default: false
    description: Whether those that can be moved are, where others cannot. The run fails all the same.
  enable_after:
    type: bool
    default: false
    description: Whether the host is enabled when it is empty. One that was disabled before stays so.
  max_parallel:
    type: int
    default: 8
    description: Servers on their way at a time.
  max_parallel_per_source:
    type: int
    default: 2
    description:
      - Of these, from one host. Nova itself lets so many live migrations leave a host at a time as
        C(max_concurrent_live_migrations) says, 1 by default, and queues the others.
  max_parallel_per_destination:
    type: int
    default: 2
    description: Of these, to one host.
  memory_headroom_mb:
    type: int
    default: 512
    description: Measured memory that is kept free on each destination, MiB.
  guest_overhead_mb:
    type: int
    default: 128
    description: What QEMU takes beside the memory of a guest, MiB.
  overcommit:
    type: float
    default: 1.0
    description: How much guest memory one MiB of measured memory may carry.
  measured_for:
    type: int
    default: 300
    description:
      - Seconds for which what was read on the hosts is good. After that no other server is sent, and RV(again) is
        V(true) when those on their way have arrived.
  again:
    type: bool
    default: false
    description: Say so where the task is repeated because RV(again) was V(true).
  restore_state:
    type: bool
    default: true
    description:
      - Whether a server that Nova made ERROR in a failed move is made ACTIVE again, where its QEMU runs on the host
        that
        Nova has it on and nowhere else. If not, the command is reported (SG711).
  probe:
    type: bool
    default: false
    description:
      - Whether connections can be tried for this task. Before the first live migration RV(probe) names then, by
        host of the
        inventory, what that host is to try (C(probe_tcp) of M(stackguard.nova.compute_host_step)), and the task is to
        be
        repeated with O(probes). Without it servers are sent one by one to a destination, until one has arrived there.
  probes:
    type: list
    elements: dict
    default: []
    description: What the hosts have tried so far, each entry of RV(probe) with C(error), or C(untried) with the reason.
  prefix:
    type: str
    default: ""
    choices: ["", drain, migrate]
    description:
      - What the variables of the playbook that runs begin with, for messages. By default the options are named.
  server_timeout:
    type: int
    default: 3600
    description: Seconds after which one server is no longer waited for. Its migration is not aborted.
  nova_api_db_url:
    type: str
    description: URL of Nova's API database. Needed to read pins before release 29; without it they stay unchecked.
  report_dir:
    type: path
    description: Directory on the controller. In check mode C(plan.json) is written into it, with its C(plan_sha256).
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.server_evacuate
  - module: stackguard.nova.server_resize
"""

EXAMPLES = r"""
- name: Read the hosts
  stackguard.nova.compute_host_info:
    evidence_dir: /tmp/evidence

- name: Move two servers within their zones
  stackguard.nova.server_migrate:
    cloud: production
    servers: [web1, web2]
    evidence_dir: /tmp/evidence
  delegate_to: localhost
  run_once: true

- name: Empty a host
  stackguard.nova.server_migrate:
    cloud: production
    drain_host: compute1
    evidence_dir: /tmp/evidence
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
succeeded:
  description:
    - Whether the run did all that was asked for.
    - A task with C(failed_when=false) can fail by it later, with the summary alone.
  returned: always
  type: bool
  sample: true
state:
  description:
    - V(finished), or V(incomplete) where some servers stay and the operation is over. V(open) where it is to be
      resumed, V(rolled-back) where it was ended. V(none) where there was nothing to do, V(planned) in check
      mode, V(refused) where nothing was changed. V(unknown) where the run broke off.
  returned: always
  type: str
  sample: finished
again:
  description: Whether the hosts are to be read again and the task repeated.
  returned: when something was carried out
  type: bool
  sample: false
probe:
  description: By host of the inventory, the connections that it is to try before anybody is sent.
  returned: when O(probe=true) and something is to be tried
  type: dict
  sample: {compute1: [{source: compute1, dest: compute2, address: 10.0.0.2, port: 16509, turn: 0}]}
servers:
  description: By uuid, where each server of the open operation came from and where it is.
  returned: O(action=status) with an open operation
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683:
      {name: web1, from: compute1, host: compute2, status: ACTIVE, task_state: null, left: false,
       text: ACTIVE on compute2}
plan_sha256:
  description: What stands for the plan, for O(expect_plan) of a later run.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
operation_id:
  description: Id of the operation, as in the journal.
  returned: when there is an operation
  type: str
  sample: 3f9a1c0b77de
moved:
  description: By uuid, the host on which each server arrived in this task.
  returned: when something was carried out
  type: dict
  sample: {8961cf04-0ee7-44b1-9ed3-a4b18e535683: compute2}
gone:
  description: Names of servers that their owners deleted meanwhile.
  returned: when something was carried out
  type: list
  elements: str
  sample: []
left:
  description: By uuid, the servers that did not arrive, with name, host and the reason.
  returned: when something was carried out
  type: dict
  sample: {}
placements:
  description: By uuid, where each server goes and why, or what speaks against every host.
  returned: when it was judged
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683: {name: web1, host: compute2, wave: 1, why: 9000 MiB of real memory before it}
plan:
  description: Every step, with what it changes.
  returned: when it was planned in this run
  type: dict
  contains:
    kind:
      description: Which operation it is of.
      type: str
    operation_id:
      description: Id of the operation.
      type: str
    subject:
      description: What it is about, for people.
      type: str
    steps:
      description: The steps, in order.
      type: list
      elements: dict
      contains:
        name:
          description: The step's name, as in the journal.
          type: str
        title:
          description: What it does, for people.
          type: str
        where:
          description: V(host) or V(controller).
          type: str
        action:
          description: Which code carries it out.
          type: str
        params:
          description: By name, all that the action is given. It differs from action to action.
          type: dict
        changes:
          description: Every value that the step changes.
          type: list
          elements: dict
          contains:
            where:
              description: Where the value is stored.
              type: str
            what:
              description: Which value it is.
              type: str
            before:
              description: What is there before.
              type: str
            after:
              description: What is there after.
              type: str
            measured:
              description: Whether it depends on a measurement, which the run takes again.
              type: bool
    notes:
      description: What to know besides.
      type: list
      elements: str
  sample: {kind: migrate, operation_id: 3f9a1c0b77de, subject: compute1, steps: []}
report:
  description: The findings, as in C(report.json).
  returned: when it was judged
  type: dict
  contains:
    schema:
      description: Version of the report's form.
      type: int
    verdict:
      description: V(pass), V(warn) or V(block).
      type: str
    generated_at:
      description: When the evidence was collected.
      type: str
    hosts:
      description: Compute hosts, read or not.
      type: int
    servers:
      description: Servers.
      type: int
    findings:
      description: What was found, sorted by code and object.
      type: list
      elements: dict
      contains:
        code:
          description: The code, such as V(SG502).
          type: str
        slug:
          description: The code's name, such as V(overcommitted-destination).
          type: str
        severity:
          description: V(blocker), V(warning) or V(info).
          type: str
        object:
          description: What it is about.
          type: dict
          contains:
            kind:
              description: What it is, such as V(instance) or V(compute_node).
              type: str
            id:
              description: Its uuid where it has one, else its database id or name.
              type: str
            name:
              description: Its name; V(null) where it has none.
              type: str
            host:
              description: The compute host that it belongs to; V(null) where there is none.
              type: str
        evidence:
          description: By name, what was read.
          type: dict
        remedy:
          description: What to do next.
          type: str
    unchecked:
      description: What could not be decided. A pass needs this to be empty.
      type: list
      elements: dict
      contains:
        code:
          description: The code that could not be decided.
          type: str
        object:
          description: Of what it could not be decided.
          type: str
        reason:
          description: Why not.
          type: str
    counts:
      description: Number of findings by severity, and of what was not decided.
      type: dict
      contains:
        blocker:
          description: Findings that block.
          type: int
        warning:
          description: Findings to look at.
          type: int
        info:
          description: Findings that are normal activity.
          type: int
        unchecked:
          description: Checks that could not be decided.
          type: int
        overridden:
          description: Findings that are overridden.
          type: int
  sample: {schema: 1, verdict: pass, findings: [], unchecked: []}
"""
