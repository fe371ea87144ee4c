#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_evacuate
short_description: Evacuate the servers of a dead compute host
version_added: 0.1.0
description:
  - Internal, no stability promise. Use the role P(stackguard.nova.evacuate_host#role).
  - Evacuates one dead compute host. An evacuation takes several calls of the module. Each call continues the operation
    until the module needs new facts or an action. After each call, RV(needs) lists the facts that only a playbook can
    collect, and the actions that only a playbook can execute. The role P(stackguard.nova.evacuate_host#role) collects
    the requested facts, executes the requested actions, and calls the module again until RV(needs) is empty.
  - If the task has C(delegate_to), the module keeps the journal of the operation in O(state_dir) on the host in
    C(delegate_to). If the task has no C(delegate_to), the module keeps the journal in O(state_dir) on the play's host.
    The module calls the APIs from the Ansible controller.
  - Before the module evacuates a server, it requires valid proof that the host is fenced, and a guard snapshot of each
    image of the server. If an image of a server is open in a client that does not run on the dead host, the module does
    not evacuate this server. The module sends the destination in the evacuation request. Nova's scheduler checks the
    destination, because the request does not use C(force). O(target_state) determines whether the server keeps its
    power state (microversion 2.68) or is stopped after the evacuation (microversion 2.95).
  - The last call of a run writes the report, and publishes the outcome for workflows.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroups
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.databases
  - stackguard.nova.ovn
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
attributes:
  check_mode:
    support: full
    description: Reads and checks everything, and shows the plan. In check mode the module does not open a journal.
  diff_mode:
    support: full
    description: Shows the old and the new value of each change in the plan.
  idempotent:
    support: full
    description: The module does not evacuate a server that has already left the host. The module resumes an open
      operation.
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
      - V(apply) begins an evacuation, or resumes an open evacuation. V(resume) resumes an open evacuation, and fails if
        no evacuation is open.
      - V(status) reports the open operation and changes nothing.
      - V(abort) removes the guard snapshots of the open evacuation and closes the evacuation. If the operation has not
        yet requested any evacuation, V(abort) also ends the forced-down state of the compute service and removes the
        blocklist entries. If the operation has requested an evacuation, the compute service stays forced down and
        disabled.
  phase:
    type: str
    default: advance
    choices: [begin, advance, end, hold]
    description: Whether this call begins, continues or ends the run. With V(hold), the call only fails if another run
      has taken over the operation. The first call of a run has O(phase=begin), and
      the following calls have O(phase=advance). If a task of the role fails, the role calls the module with
      O(phase=end). If a call returns entries in RV(needs), the role collects the facts, executes the actions, and calls
      the module with O(phase=advance). The run ends with the call that returns an empty RV(needs).
  answers:
    type: list
    elements: dict
    default: []
    description: Results for the entries that the previous call returned in RV(needs). O(answers) contains one result
      for each entry, in the same order.
  failure:
    type: str
    description: With O(phase=end), the reason why the run was interrupted.
  inventory_name:
    type: str
    description: Inventory name of the dead host, if the inventory contains the host.
  evidence_dir:
    type: path
    required: true
    description: Directory with the facts that the playbook collected from the hosts for this run.
  report_dir:
    type: path
    description: Directory for C(report.json), C(report.html) and C(placements.json). In check mode the module also
      writes C(plan.json) into O(report_dir).
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journal. If the task has C(delegate_to), the directory is on the host in
      C(delegate_to). If the task has no C(delegate_to), the directory is on the play's host.
  take_over:
    type: bool
    default: false
    description: Whether to resume or abort an operation even if the operation began on another Ansible controller. Set
      O(take_over=true) only if the run on the other Ansible controller has ended.
  fence:
    type: str
    description:
      - Fencing method. The choices are the same as for O(stackguard.nova.evacuate_host#role:main:evacuate_fence).
        O(action=apply) and O(action=resume) each require O(fence).
  fence_confirm_command:
    type: str
    description: With O(fence=command), the command that succeeds only if the host is off. The proof of the fence
      contains the name of the program, but not the arguments of the command, because the arguments can contain a
      password.
  power_state_query:
    type: str
    description:
      - With O(fence=power), a JMESPath expression that selects the power state of the dead host in the result of the
        power module. The expression must match exactly one value. By default, the result must contain exactly one value
        with the key C(PowerState) or C(power_state).
  power_off:
    type: str
    description:
      - Regular expression that matches the power state of a machine that is off. The expression must match the complete
        text of the power state. The default expression matches C(Off), C(off) and C(OFF).
      - If the power module runs a command and returns no power state, set O(power_state_query) or O(power_off). The run
        searches the C(stdout) of this command for the regular expression in O(power_off). The machine counts as off
        only if exactly one part of C(stdout) matches the expression.
  refence:
    type: bool
    default: false
    description: Whether a resumed run fences the host again if the host is no longer fenced.
  also_blocklist:
    type: bool
    default: false
    description: Whether to put the host's addresses on the OSD blocklist, in addition to the fencing method in
      O(fence). If the run cannot add the blocklist entries, the run continues with a warning.
  remove_chassis:
    type: bool
    default: false
    description:
      - Whether to remove the OVN chassis of the host after all servers have left the host. O(remove_chassis=true)
        requires O(fence=power), because only this fence proves that the machine is off. O(remove_chassis=true) also
        requires O(ovn_nb_connection) and O(ovn_sb_connection).
      - The module removes the chassis only if the power state, OVN's databases, neutron and Nova all show that the
        chassis is unused. If the module cannot prove that the chassis is unused, it keeps the chassis, and the report
        shows the reason (SG328).
  attested_by:
    type: str
    description:
      - With O(fence=attested), the person who states that the host is dead. The default is the user of AWX, or the
        account that runs the playbook.
  proof_max_age:
    type: int
    default: 120
    description: Number of seconds after which the proof that the host is fenced expires.
  blocklist_addresses:
    type: list
    elements: str
    default: []
    description:
      - Additional addresses of the dead host on Ceph's public network. The run automatically finds the addresses that
        appear in watchers and locks of RBD images.
      - Set O(blocklist_addresses) if no watcher or lock shows an address of the dead host. The address in Nova
        (C(host_ip)) does not prove which address the host uses for Ceph.
  ceph_infrastructure:
    type: list
    elements: str
    default: []
    description:
      - Addresses of Ceph's managers and MDS daemons. Set O(ceph_infrastructure) if the Ceph user has no permission to
        read the addresses of managers and MDS daemons. The run never puts the addresses of managers and MDS daemons on
        the blocklist. The run does not need O(ceph_infrastructure) if every address for the blocklist is in Nova's
        record of the host, in the collected facts of the host or in O(blocklist_addresses).
  never_blocklist:
    type: list
    elements: str
    default: []
    description:
      - Addresses that the run never puts on the OSD blocklist, such as addresses of gateways and backup hosts. Even if
        O(never_blocklist) is empty, the run never blocklists an address of Ceph's daemons, of another compute host or
        of the Ansible controller.
  ceph_host:
    type: list
    elements: str
    default: []
    description: Inventory hosts on which the run executes C(rbd) and C(ceph) commands. For a Ceph cluster and pool that
      none of them uses, the run chooses a different host.
  servers:
    type: raw
    description:
      - Names or uuids of the servers to evacuate, or a JMESPath filter such as C([?metadata.tier=='gold']). By default
        the module evacuates all servers of the host. While an operation is open, the module fails if O(servers) differs
        from the selection of the open operation.
  order:
    type: str
    description:
      - JMESPath expression that returns the sort key of a server, such as C(metadata.priority). The run chooses
        destinations for the servers in the order of the sort key. Servers without a sort key come last, sorted from the
        largest to the smallest server.
  max_parallel:
    type: int
    default: 8
    description: Maximum number of servers that the run evacuates to one destination at the same time.
  memory_headroom_mb:
    type: int
    default: 512
    description:
      - Free memory that must remain on each destination, in MiB. The module measures the free memory. If
        C(reserved_host_memory_mb) in the nova.conf of a destination is larger than O(memory_headroom_mb), the module
        uses C(reserved_host_memory_mb) instead of O(memory_headroom_mb).
  overcommit:
    type: float
    default: 1.0
    description: Factor for memory overcommit. The module divides the memory of each guest by O(overcommit), and
      compares the result with the measured free memory of the destination.
  target_state:
    type: str
    default: keep
    choices: [keep, stopped]
    description: Power state of the servers after the evacuation. V(keep) keeps the power state of each server.
      V(stopped) leaves all servers stopped, and requires Nova release 27 or newer.
  partial:
    type: bool
    default: false
    description:
      - Whether to evacuate some servers even if other servers have no destination. With O(partial=false) the run
        refuses to start if any server has no destination.
  max_hosts:
    type: int
    default: 1
    description:
      - Maximum number of hosts that may be down in the dead host's availability zone.
      - The run counts every host that is down, with two exceptions. The first exception is a host that an operation of
        this collection has disabled. The second exception is a disabled host without servers, unless nova-compute
        itself has disabled the host (the disabled reason begins with C(AUTO:)).
  reset_states:
    type: list
    elements: str
    default: []
    choices: [task, paused, suspended, rescued]
    description:
      - Server states that the run resets after the run has proof that the host is dead. Nova refuses to evacuate a
        paused, suspended or rescued server. V(task) means that a server has a task that the dead host did not finish.
        Without V(task) in O(reset_states), the run refuses to evacuate a server with an unfinished task. The report
        shows what each server loses when the run resets the server's state (SG519).
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
  description: What the playbook must do before the next call. Each entry requests facts or an action. RV(needs) is
    empty if the run has ended.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the requested facts or of the requested action, such as V(read_hosts). The other keys of the
        entry depend on C(kind). Entries with C(kind=read_hosts) have the keys C(hosts), C(instances), C(readers),
        C(volumes) and C(volume_readers).
      type: str
    hosts:
      description: Inventory names of the hosts from which the playbook collects facts. V(null) means all hosts.
      type: list
      elements: str
    instances:
      description: Uuids of servers. The hosts in C(readers) read the images of these servers in Ceph.
      type: list
      elements: str
    readers:
      description: Inventory names of the hosts on which the playbook reads from Ceph.
      type: list
      elements: str
    volumes:
      description: Uuids of volumes. The hosts in C(volume_readers) search for the images of these volumes in Ceph.
      type: list
      elements: str
    volume_readers:
      description: Inventory names of the hosts that search for the volumes.
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
    - C(open) during the run, and at the end of the run if the operation is not finished. Otherwise C(evacuated),
      C(aborted), C(planned), C(clear), C(refused), C(failed) or C(none).
  returned: always
  type: str
  sample: evacuated
operation_id:
  description: The operation's id.
  returned: always
  type: str
  sample: 5f0a6f0f7a11
arrived:
  description: Servers that have left the dead host. C(state) shows whether the run verified the server and its disks on
    the new host.
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
      description: Host on which the server is now.
      type: str
    status:
      description: Status of the server in Nova.
      type: str
    state:
      description: State of the server in this operation.
      type: str
  sample: [{uuid: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, host: compute3, status: ACTIVE, state: verified}]
left:
  description: Servers that are still on the dead host. The keys are the uuids of the servers, and the values are the
    reasons.
  returned: when the run has ended
  type: dict
  sample: {}
ended:
  description: Always V(true). Only the last call of a run returns RV(ended).
  returned: when the run has ended
  type: bool
  sample: true
removed_chassis:
  description: Name of the OVN chassis that the run removed; V(null) if the run removed no chassis.
  returned: always
  type: str
  sample: 0fb9c5f2-6f8e-4d6b-9a9e-1f3f2a7c4d11
report_file:
  description: Path of C(report.json).
  returned: when the run has ended, with O(report_dir)
  type: str
  sample: /home/operator/stackguard-reports/report.json
placements:
  description: Destination of each server, and the reason for this destination. The keys are the uuids of the servers.
    If a server has no destination, its entry contains the reasons why no host can be the destination. C(disks) has
    each disk of the server, with its place, who has it open, the fences that cover it, and what a failed start and an
    evacuation do to it.
  returned: when the run has ended, without O(report_dir)
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683: {name: web1, host: compute3, wave: 1,
      why: the host has 9000 MiB of free real memory before this server arrives}
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when the run has ended, without O(report_dir)
  type: dict
plan_sha256:
  description:
    - Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the run has ended, without O(report_dir)
  type: dict
"""
