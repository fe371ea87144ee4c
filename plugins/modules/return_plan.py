#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: return_plan
short_description: Judge whether nova-compute may start on an evacuated host, and plan what to clear first
version_added: 0.1.0
description:
  - Internal, no stability promise. Use the role P(stackguard.nova.return_host#role).
  - Decides from the evidence directory what a start of nova-compute would do to each domain of the host, and what an
    evacuation left behind. Returns the plan of what is safe to clear, or every reason why not. Nothing is changed.
  - The evidence must hold the host itself, one other host for each Ceph cluster and pool that looked for the images of
    the host's domains and read the OSD blocklist, the databases with the rows of all domains of the host, and the APIs.
  - Runs on the controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
options:
  return_host:
    type: str
    required: true
    description: Name of the host in Nova.
  inventory_name:
    type: str
    required: true
    description: The host's name in the inventory.
  ceph_names:
    type: list
    elements: str
    default: []
    description:
      - Inventory names of the hosts that read Ceph, as chosen by M(stackguard.nova.ceph_readers). Do not name the host
        itself, since Ceph may refuse its clients. Only a view of the host's own cluster and pool decides about its
        disks.
  evidence_dir:
    type: path
    required: true
    description: Directory with the evidence.
  journals:
    type: list
    elements: dict
    default: []
    description: The open journals in the journal directory, of all kinds and hosts.
  closed_journals:
    type: list
    elements: dict
    default: []
    description: The closed journals of evacuations, of all hosts. They list addresses on blocklists.
  status:
    type: str
    default: enabled
    choices: [enabled, disabled]
    description: Status of the compute service after the release of the evacuation's hold.
  libvirt_uri:
    type: str
    default: qemu:///system
    description: libvirt URI on the host.
  report_dir:
    type: path
    description: Directory on the controller. In check mode the module writes C(plan.json) into it, with its
      C(plan_sha256).
seealso:
  - module: stackguard.nova.compute_service_hold
  - module: stackguard.nova.rbd_blocklist
"""

EXAMPLES = r"""
- name: Judge whether nova-compute may start on compute1
  stackguard.nova.return_plan:
    return_host: compute1
    inventory_name: compute1
    ceph_names: [compute2]
    evidence_dir: /run/stackguard-evidence
  register: planned
"""

RETURN = r"""
succeeded:
  description:
    - Whether no finding blocks.
    - With C(failed_when=false), a later task can fail on this value, with only the summary as message.
  returned: always
  type: bool
  sample: true
state:
  description:
    - C(refused), C(planned), or C(clear) if nothing is left to clear. C(disks-not-open) if nothing is left to clear,
      but running domains have disks that this host does not have open (SG517), or that no host read (SG709); the task
      then fails, too.
  returned: always
  type: str
  sample: planned
plan:
  description: Every step, with what it changes.
  returned: unless it is refused
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
  sample: {kind: return, operation_id: none, subject: compute1, steps: [], notes: []}
plan_sha256:
  description: Checksum of the plan, for O(expect_plan) of a later run.
  returned: unless it is refused
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
domains:
  description: The parameters of C(end_domains) of M(stackguard.nova.compute_host_step); C(domains) may be empty.
  returned: unless it is refused
  type: dict
  contains:
    uri:
      description: Where libvirt is reached.
      type: str
    domains:
      description: Domains to end. Each has C(uuid) and C(name), and what it must still be like.
      type: list
      elements: dict
  sample: {uri: "qemu:///system", domains: []}
lifts:
  description: Addresses to remove from the OSD blocklist, for each cluster, with the host that removes them.
  returned: unless it is refused
  type: list
  elements: dict
  contains:
    fsid:
      description: The Ceph cluster.
      type: str
    pool:
      description: The pool that the host reaches.
      type: str
    reader:
      description: Inventory name of the host that takes them off.
      type: str
    addresses:
      description: The addresses.
      type: list
      elements: str
  sample:
    - fsid: 1c0b1b8e-6a43-4c8e-9d8c-4f7a53a0f4ab
      pool: vms
      reader: compute2
      addresses: [192.0.2.11]
reason:
  description:
    - The reason of the evacuation's hold that can be released now. Empty without a hold, and while RV(held) is true.
  returned: unless it is refused
  type: str
  sample: "stackguard:evacuate:5f0a6f0f7a11"
held:
  description: Whether an evacuation holds the compute service until nova-compute has started again.
  returned: unless it is refused
  type: bool
  sample: true
report:
  description: The findings, as in C(report.json).
  returned: always
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
          description: By name, the facts that were found.
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
