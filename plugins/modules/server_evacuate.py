#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_evacuate
short_description: Evacuate the servers of a dead compute host, call by call
version_added: 0.1.0
description:
  - Internal, no stability promise. Use the role P(stackguard.nova.evacuate_host#role).
  - Evacuates one dead compute host. One call does what it can with the facts of the hosts, and returns RV(needs). These
    are the things that only a playbook can provide. The role P(stackguard.nova.evacuate_host#role) provides that
    and calls again, until RV(needs) is empty.
  - The operation keeps its journal in O(state_dir) on the host of the task, and calls the APIs from the controller.
  - A server is sent only while a fence is proven, each of its images has its guard snapshot, and no other client has
    one of them open. It goes to a named host that the scheduler checks, with a microversion that keeps its power state
    (2.68) or leaves it stopped (2.95), and never with C(force).
  - A call that ends the operation writes the report and publishes the outcome for workflows.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.ovn
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, and shows the plan. The module does not open the journal.
  diff_mode:
    support: full
    description: Shows every value of the plan before and after.
  idempotent:
    support: full
    description: A server that has left is not sent again. The module resumes an open operation.
options:
  evacuate_host:
    type: str
    required: true
    description: Name of the dead host in Nova.
  action:
    type: str
    default: apply
    choices: [apply, resume, status, abort]
    description:
      - V(apply) begins an evacuation, or resumes the open one. V(resume) refuses if none is open.
      - V(status) reports the open one and changes nothing.
      - V(abort) removes its guards and closes it. If no server was sent, it also releases the service and removes the
        blocklist entries; otherwise the host stays held.
  phase:
    type: str
    default: advance
    choices: [begin, advance, end]
    description: V(begin) is the first call of a run. V(end) is the last call of an interrupted run.
  answers:
    type: list
    elements: dict
    default: []
    description: The results for RV(needs) of the last call, in the same order.
  failure:
    type: str
    description: With O(phase=end), the reason of the interruption.
  inventory_name:
    type: str
    description: Name of the dead host in the inventory, if it has one.
  evidence_dir:
    type: path
    required: true
    description: Directory of this run with the facts of the hosts.
  report_dir:
    type: path
    description: Directory for C(report.json), C(report.html) and C(placements.json). In check mode also for
      C(plan.json).
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journal, on the host that the task runs on.
  take_over:
    type: bool
    default: false
    description: Whether to resume or abort an operation that was begun on another controller. Set this option only if
      the run on that controller has ended.
  fence:
    type: str
    description:
      - Kind of fence, one of the choices of O(stackguard.nova.evacuate_host#role:main:evacuate_fence). Required with
        O(action=apply) and O(action=resume).
  fence_confirm_command:
    type: str
    description: With O(fence=command), the command that succeeds only if the host is off, for the text of the proof.
  power_state_query:
    type: str
    description:
      - With O(fence=power), a JMESPath expression that selects this machine's power state in the result of the module.
        Exactly one must match. By default the only C(PowerState) or C(power_state) in it.
  power_off:
    type: str
    description:
      - Regular expression that must match the whole power state of a machine that is off. By default C(Off).
      - If the result has no power state (a command's output), the expression must match exactly once in its C(stdout).
  refence:
    type: bool
    default: false
    description: Whether a resumed run fences the host again if the host is no longer fenced.
  also_blocklist:
    type: bool
    default: false
    description: Also put the host's addresses on the OSD blocklist, in addition to another fence. A failure is a
      warning.
  attested_by:
    type: str
    description:
      - With O(fence=attested), the person who states that the host is dead. By default the user of AWX, or the account
        that runs the playbook.
  proof_max_age:
    type: int
    default: 120
    description: Seconds for which a proof of the fence is valid.
  blocklist_addresses:
    type: list
    elements: str
    default: []
    description:
      - Addresses of the dead host in Ceph's public network, in addition to those that watchers and locks show.
      - Required if neither watchers nor locks show an address of the host. The address in Nova (C(host_ip)) does not
        prove which address the host uses for Ceph.
  ceph_infrastructure:
    type: list
    elements: str
    default: []
    description:
      - Addresses of Ceph's managers and MDS daemons, if the Ceph user may not read these addresses. The run never puts
        these addresses on the blocklist. Required only if the run fences an address that neither Nova nor the facts of
        the host show as an address of the host.
  never_blocklist:
    type: list
    elements: str
    default: []
    description:
      - Addresses that the run never puts on the OSD blocklist, such as those of gateways and backup hosts. Addresses of
        Ceph's own daemons, of other compute hosts and of this controller are always excluded.
  ceph_host:
    type: str
    description: The inventory host that changes Ceph if it reaches the cluster and pool; others follow.
  servers:
    type: raw
    description:
      - Names or uuids of the servers to evacuate, or a JMESPath filter such as C([?metadata.tier=='gold']). By default
        all. For an open operation the module refuses another choice.
  order:
    type: str
    description:
      - JMESPath sort key, such as C(metadata.priority), for the order in which servers get a destination. Servers
        without a value follow, the largest first.
  max_parallel:
    type: int
    default: 8
    description: Maximum number of servers in transit to one destination.
  memory_headroom_mb:
    type: int
    default: 512
    description:
      - Measured memory to keep free on each destination, MiB; never less than its C(reserved_host_memory_mb).
  guest_overhead_mb:
    type: int
    default: 128
    description: Memory that each QEMU needs in addition to the memory of its guest, in MiB.
  overcommit:
    type: float
    default: 1.0
    description: Maximum guest memory for each MiB of measured memory on a destination, in MiB.
  target_state:
    type: str
    default: keep
    choices: [keep, stopped]
    description: Whether servers keep their power state, or are left stopped (release 27 and newer).
  partial:
    type: bool
    default: false
    description:
      - Whether to evacuate some servers even if other servers have no destination. Without it one server without a
        destination makes the run refuse.
  remove_chassis:
    type: bool
    default: false
    description:
      - Whether to remove the chassis of the host from OVN when all of its servers are away, the fence was read back, no
        port is bound to the chassis, and its ovn-controller does not answer. Needs O(ovn_nb_connection) and
        O(ovn_sb_connection). Without it the report only names the chassis (SG328).
    version_added: 0.2.0
  max_hosts:
    type: int
    default: 1
    description: Maximum number of hosts of the zone that may be down. The run refuses if more hosts are down.
  max_share:
    type: float
    default: 0.1
    description: Share of the zone's hosts that may be down, if that is more than O(max_hosts).
  reset_states:
    type: list
    elements: str
    default: []
    choices: [task, paused, suspended, rescued]
    description:
      - Server states to reset once the host is proven dead, so that Nova accepts the evacuation. V(task) means a task
        that the dead host left unfinished. The report lists what each server loses (SG519).
  max_rounds:
    type: int
    default: 200
    description: Number of rounds after which the run ends, with its operation open.
  server_timeout:
    type: int
    default: 1800
    description: Seconds to wait for a server to arrive or fail.
  measured_for:
    type: int
    default: 120
    description: Seconds for which the measurement of a host is valid for sending servers.
  death_timeout:
    type: int
    default: 120
    description: Seconds within which the last signs of life must end after the fence.
seealso:
  - module: stackguard.nova.rbd_guard
  - module: stackguard.nova.rbd_blocklist
"""

EXAMPLES = r"""
- name: Show the open operation
  stackguard.nova.server_evacuate:
    cloud: production
    evacuate_host: compute1
    action: status
    phase: begin
    evidence_dir: /run/stackguard-evidence
"""

RETURN = r"""
needs:
  description: What the playbook must provide before the next call. Empty after the end of the run.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: The kind of need, such as V(read_hosts). The other keys of the entry depend on it.
      type: str
    hosts:
      description: With V(read_hosts), inventory names of the hosts to read; V(null) for all.
      type: list
      elements: str
    instances:
      description: With V(read_hosts), servers whose images to read.
      type: list
      elements: str
    readers:
      description: With V(read_hosts), hosts that read Ceph.
      type: list
      elements: str
    volumes:
      description: With V(read_hosts), volumes whose images to find.
      type: list
      elements: str
    volume_readers:
      description: With V(read_hosts), those of the readers that look for the volumes.
      type: list
      elements: str
  sample: [{kind: read_hosts, hosts: null, instances: [], readers: [compute2], volumes: [], volume_readers: []}]
succeeded:
  description: Whether the run has ended without a failure.
  returned: always
  type: bool
  sample: true
state:
  description:
    - C(open) during the run, or if the operation stays open; C(evacuated), C(aborted), C(planned), C(clear),
      C(refused), C(failed), C(none).
  returned: always
  type: str
  sample: evacuated
operation_id:
  description: The operation's id.
  returned: always
  type: str
  sample: 5f0a6f0f7a11
arrived:
  description: Servers of the operation that have left, and whether they were verified on their new hosts with their
    disks.
  returned: when the run has ended
  type: list
  elements: dict
  contains:
    uuid:
      description: The server's uuid.
      type: str
    name:
      description: Its name.
      type: str
    host:
      description: Its current host.
      type: str
    status:
      description: Its status in Nova.
      type: str
    state:
      description: Its state in the operation.
      type: str
  sample: [{uuid: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, host: compute3, status: ACTIVE, state: verified}]
left:
  description: By uuid, the servers that stay on the dead host, each with its reason.
  returned: when the run has ended
  type: dict
  sample: {}
ended:
  description: Whether the run has ended.
  returned: when the run has ended
  type: bool
  sample: true
report_file:
  description: Path of C(report.json).
  returned: when the run has ended, with O(report_dir)
  type: str
  sample: /home/operator/stackguard-reports/report.json
placements:
  description: By uuid, the destination of each server with the reason; or the reasons against every host.
  returned: when the run has ended, without O(report_dir)
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683: {name: web1, host: compute3, wave: 1, why: 9000 MiB of real memory before it}
plan:
  description: The steps of the plan, each with its changes.
  returned: when the run has ended, without O(report_dir)
  type: dict
  contains:
    kind:
      description: The kind of operation.
      type: str
    operation_id:
      description: Id of the operation.
      type: str
    subject:
      description: What the operation works on, such as a host or a server.
      type: str
    steps:
      description: The steps, in order.
      type: list
      elements: dict
      contains:
        name:
          description: Name of the step in the journal.
          type: str
        title:
          description: What the step does, in words.
          type: str
        where:
          description: Where the step runs, V(host) or V(controller).
          type: str
        action:
          description: The code that executes the step.
          type: str
        params:
          description: Parameters of the action, by name. Each action has its own parameters.
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
              description: The name of the value.
              type: str
            before:
              description: The value before the step.
              type: str
            after:
              description: The value after the step.
              type: str
            measured:
              description: Whether the value depends on a measurement that the run repeats.
              type: bool
    notes:
      description: Further notes for the operator.
      type: list
      elements: str
  sample: {kind: evacuate-compute1, operation_id: 5f0a6f0f7a11, subject: compute1, steps: [], notes: []}
plan_sha256:
  description:
    - Checksum of the plan, for O(expect_plan) of a later run.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
report:
  description: The findings, as in C(report.json).
  returned: when the run has ended, without O(report_dir)
  type: dict
  contains:
    schema:
      description: Version of the report's format.
      type: int
    verdict:
      description: V(pass), V(warn) or V(block).
      type: str
    generated_at:
      description: Time at which the evidence was collected.
      type: str
    hosts:
      description: Number of compute hosts, including hosts that could not be read.
      type: int
    servers:
      description: Number of servers.
      type: int
    findings:
      description: The findings, sorted by code and object.
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
          description: The object of the finding.
          type: dict
          contains:
            kind:
              description: Kind of the object, such as V(instance) or V(compute_node).
              type: str
            id:
              description: Uuid of the object. If the object has no uuid, its database id or its name.
              type: str
            name:
              description: Name of the object; V(null) if the object has no name.
              type: str
            host:
              description: Compute host of the object; V(null) if the object belongs to no compute host.
              type: str
        evidence:
          description: Facts that prove the finding, by name.
          type: dict
        remedy:
          description: What to do next.
          type: str
    unchecked:
      description: Undecided checks. The verdict is V(pass) only if this list is empty.
      type: list
      elements: dict
      contains:
        code:
          description: The code of the undecided check.
          type: str
        object:
          description: The object of the undecided check.
          type: str
        reason:
          description: Why the check could not be decided.
          type: str
    counts:
      description: Number of findings of each severity, and number of undecided checks.
      type: dict
      contains:
        blocker:
          description: Number of blockers.
          type: int
        warning:
          description: Number of warnings.
          type: int
        info:
          description: Number of findings that show normal activity.
          type: int
        unchecked:
          description: Number of undecided checks.
          type: int
        overridden:
          description: Number of overridden findings.
          type: int
  sample: {schema: 1, verdict: pass, findings: [], unchecked: []}
"""
