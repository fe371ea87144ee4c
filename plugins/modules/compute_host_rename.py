#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_rename
short_description: Rename a compute host while its guests run, or after a drain
version_added: 0.1.0
description:
  - With O(strategy=in_place), the module changes the host's name in the cell database, in the API database, in
    placement, in neutron and on the host. With O(strategy=in_place), ids and uuids do not change, and the guests keep
    running. With O(strategy=drain), the guests move to other hosts, and the host registers again under its new name.
  - Nova does not support a rename in place. Nova's administrator guide says that "the compute node's hostname may not
    be changed after the initial registration". The guide of the role P(stackguard.nova.rename_host#role) describes the
    changes and the checks. Use this module through the role P(stackguard.nova.rename_host#role).
  - If findings block the rename, the module reports all these findings together, and changes nothing. The module makes
    the plan from the evidence in O(evidence_dir). The module writes the plan to a journal on the compute host before
    the first step, and executes exactly this plan.
  - Run the same task again to resume a run that was killed. Use O(action=rollback) to undo the run.
  - Only one run at a time can work on the rename of a compute host. A second run fails with SG707, even if the two runs
    use different inventories or databases.
  - Credentials stay on the Ansible controller. The compute host receives no credentials.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroups
  - stackguard.nova.openstack
  - stackguard.nova.databases
  - stackguard.nova.ovn
  - stackguard.nova.approved_plan
  - stackguard.nova.overrides
attributes:
  check_mode:
    support: full
    description: Makes and shows the whole plan, and changes nothing.
  diff_mode:
    support: full
    description: Shows the old and the new version of each database row, host name and file line that the rename
      changes.
  idempotent:
    support: full
    description: The module does not change a host that already has the new name everywhere.
options:
  rename_from:
    type: str
    required: true
    description:
      - Current host name of the compute service. This name is the value of C([DEFAULT] host) in nova.conf, or the
        kernel's host name if C([DEFAULT] host) is not set.
  rename_to:
    type: str
    required: true
    description: New host name of the compute service.
  hypervisor_hostname:
    type: str
    description: New host name in libvirt. Set O(hypervisor_hostname) only if the module cannot derive libvirt's new
      name for the host from O(rename_to).
  action:
    type: str
    default: apply
    choices: [apply, resume, rollback, status, adopt]
    description:
      - V(apply) begins the rename. If the same rename is already open, V(apply) resumes the open rename.
      - V(resume) resumes an open rename, and fails if no rename is open. V(rollback) undoes every step that has begun.
        V(status) reports the state of an open rename.
      - Use V(adopt) if someone has already renamed the host, partly or completely. The module then writes one host name
        in all places. Select the old name or the new name with O(adopt). A rollback of V(adopt) restores the names that
        the host had before the run.
  adopt:
    type: str
    choices: [forward, back]
    description: With O(action=adopt), V(forward) writes O(rename_to) in every place, and V(back) writes O(rename_from)
      in every place.
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller with the evidence of M(stackguard.nova.compute_host_info),
        M(stackguard.nova.cloud_info) and M(stackguard.nova.cell_info). For the host that you rename, set
        O(stackguard.nova.compute_host_info#module:name_users=true) when you collect the evidence. You must set
        O(evidence_dir) to begin a rename.
  report_dir:
    type: path
    description:
      - Directory on the Ansible controller for the report. The module writes C(report.html) into O(report_dir). The
        report shows the plan, the progress, the proofs and the findings.
      - At the begin of a rename, the module also writes C(evidence.jsonl), which contains all evidence that the module
        checks. Without O(report_dir), C(evidence.jsonl) is written into O(evidence_dir).
      - In check mode the module also writes C(plan.json), which contains the C(plan_sha256).
  peers:
    type: list
    elements: str
    default: []
    description:
      - Inventory names of all compute hosts except the host that the module renames. If O(evidence_dir) has no evidence
        of a host in O(peers), the module treats the host as a host that did not answer. For such a host, the module
        reports that the run did not compare the host with the other hosts.
  strategy:
    type: str
    default: in_place
    choices: [in_place, drain]
    description:
      - V(in_place) changes the names while the guests run.
      - V(drain) moves the guests to other hosts of their zone, deletes the compute service through the API, and renames
        the host. The host then registers again under its new name. On Nova release 26, only V(drain) works.
      - An open operation keeps the strategy with which it began.
  drain_return:
    type: bool
    description:
      - With O(strategy=drain), whether to move the guests back to the host after the host has its new name. By default,
        the guests stay on their new hosts. If a rename began with O(drain_return=true), you can resume the rename with
        O(drain_return=false). The resumed run completes the rename without moving the guests back.
      - With O(action=rollback), whether the guests that have already left the host move back to the host.
  drain_parallel:
    type: int
    default: 1
    description: Number of guests that the module moves at the same time.
  drain_timeout:
    type: int
    default: 3600
    description: Maximum number of seconds to wait for the move of one guest.
  measured:
    type: bool
    default: false
    description:
      - With O(strategy=drain), whether C(compute_host_info) has just written the facts of all compute hosts into
        O(evidence_dir), because an earlier task failed with RV(needs=measured_hosts). The module moves guests only with
        such facts, because the free memory of the destinations changes with each move. A new rename uses the evidence
        with which the module checked it.
  probes:
    type: list
    elements: dict
    default: []
    description: With O(strategy=drain), the results of the connection tests that RV(probe) of earlier tasks requested,
      in the format of O(stackguard.nova.server_migrate#module:probes).
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory on the compute host for the journal.
  stop_command:
    type: str
    description:
      - Command that stops nova-compute. Set O(stop_command) if nova-compute is not a systemd unit of the host. The
        module executes O(stop_command) without a shell. If you set O(stop_command), you must also set O(start_command).
  start_command:
    type: str
    description: Command that starts nova-compute.
  mask_command:
    type: str
    description: Command that prevents nova-compute from starting, also after a reboot.
  unmask_command:
    type: str
    description: Command that reverts O(mask_command).
  recreate_command:
    type: str
    description:
      - Command that creates missing containers of the host, such as C(kolla-ansible deploy-containers --limit HOST).
        You must set O(recreate_command) if nova-compute, libvirt or a neutron agent runs in a container with its own
        host name.
      - The module does not execute O(recreate_command) itself. When the rename reaches the step that creates the
        containers, the module pauses the rename, and the task fails with RV(needs=recreate_containers). The role
        P(stackguard.nova.rename_host#role) executes O(recreate_command) if containers are missing, and resumes the
        rename.
  compute_units:
    type: list
    elements: str
    description:
      - Names of nova-compute's systemd units. By default the module uses the units of the deployment that
        M(stackguard.nova.compute_host_info) detected. If no deployment was detected, the module uses the default of
        O(stackguard.nova.compute_host_info#module:compute_units).
  agent_units:
    type: list
    elements: str
    description:
      - Names of the network agents' systemd units. By default the module uses the units that
        M(stackguard.nova.compute_host_info) uses.
  nova_conf_files:
    type: list
    elements: str
    description: Configuration files of nova-compute. Set O(nova_conf_files) if the command line of nova-compute does
      not contain the paths of its configuration files.
  start_timeout:
    type: int
    default: 300
    description:
      - Maximum number of seconds to wait until the log and a heartbeat show that nova-compute started correctly. The
        log must show that nova-compute found its compute node and that no startup check failed.
  lock_guests:
    type: bool
    default: true
    description:
      - Whether to lock the guests while nova-compute is stopped. The reason of each lock contains the operation's id.
        If an owner sends a request for a locked guest, Nova refuses the request with HTTP status 409. If the guests are
        not locked while nova-compute is stopped, Nova accepts requests from owners, but most of these requests are
        lost. O(lock_guests) has an effect only with O(strategy=in_place).
  take_over:
    type: bool
    default: false
    description:
      - Set O(take_over=true) to confirm that the earlier run of the open operation has ended. Without
        O(take_over=true), a new run fails if the earlier run used another Ansible controller, did not record its end in
        the journal, and was active in the last 60 seconds. If you set O(take_over=true) while the earlier run is still
        active, the compute host refuses all further requests of the earlier run.
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.compute_id_file
"""

EXAMPLES = r"""
- name: Rename the compute host that this play runs on
  stackguard.nova.compute_host_rename:
    cloud: production
    rename_from: compute1
    rename_to: cn-rack7.example
    evidence_dir: /run/stackguard-evidence
    nova_api_db_url: "{{ vault_nova_api_db_url }}"

- name: Report the state of an interrupted rename
  stackguard.nova.compute_host_rename:
    cloud: production
    rename_from: compute1
    rename_to: cn-rack7.example
    action: status
    nova_api_db_url: "{{ vault_nova_api_db_url }}"

- name: Override a known finding, and execute only the approved plan
  stackguard.nova.compute_host_rename:
    cloud: production
    rename_from: compute1
    rename_to: cn-rack7.example
    evidence_dir: /run/stackguard-evidence
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    expect_plan: "{{ approved_plan_sha256 }}"
    overrides:
      - code: SG305
        object: compute1
        reason: the agent is restarted in the same window

- name: Roll an interrupted rename back
  stackguard.nova.compute_host_rename:
    cloud: production
    rename_from: compute1
    rename_to: cn-rack7.example
    action: rollback
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
"""

RETURN = r"""
succeeded:
  description:
    - Whether the run completed the action that you requested with O(action).
    - With C(failed_when=false) on this task, the play continues after a failure. A later task can check RV(succeeded),
      and fail with a message that contains only the summary.
  returned: always
  type: bool
  sample: true
state:
  description: State of the operation.
  returned: always
  type: str
  sample: finished
  choices: [none, planned, refused, open, rolling-back, rolled-back, finished, unknown]
operation_id:
  description: Id of the operation. The journal and the disabled reason of the compute service contain this operation
    id.
  returned: when there is an operation
  type: str
  sample: 3f9a1c0b77de
report:
  description:
    - The findings, as in RV(stackguard.nova.audit#module:report). If the run refuses to start, the verdict is V(block).
      When a run finishes the rename, the report contains the findings from before the rename, and the findings of all
      executed steps, such as the finding that a guest changed during the rename.
  returned: when the module checked a new rename, or a resumed run finished the rename or failed
  type: dict
plan:
  description: The steps of the plan, with every value before and after the change.
  returned: when the module checked a new rename and no finding blocked it
  type: dict
  contains:
    kind:
      description: The kind of operation.
      type: str
    operation_id:
      description: Id of the operation.
      type: str
    subject:
      description: The object that the operation changes, such as a host or a server.
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
          description: Short description of the step.
          type: str
        where:
          description: Whether the step runs on the compute host (V(host)) or on the Ansible controller (V(controller)).
          type: str
        action:
          description: Name of the action that executes the step.
          type: str
        params:
          description: Parameters of the action, with the name of each parameter as the key. Each action has its own
            parameters.
          type: dict
        changes:
          description: Every value that the step changes.
          type: list
          elements: dict
          contains:
            where:
              description: The object that has the changed value, such as a server, a file or a database row.
              type: str
            what:
              description: The name of the changed value.
              type: str
            before:
              description: The value before the step.
              type: str
            after:
              description: The value after the step.
              type: str
            measured:
              description: Whether the value depends on a measurement, such as the free memory of a host. A later run
                measures again, and can get a different value.
              type: bool
    notes:
      description: Notes for the operator.
      type: list
      elements: str
  sample: {kind: rename, subject: compute1 -> cn-rack7.example, steps: []}
plan_sha256:
  description:
    - Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
needs:
  description:
    - What you must do before you can resume the operation. V(discover_hosts) means that you must run C(nova-manage
      cell_v2 discover_hosts) on a controller node of the cloud. V(recreate_containers) means that your deployment tool
      must create the containers that RV(containers) lists. V(measured_hosts) means that you must read the facts of all
      compute hosts again, and set O(measured=true).
  returned: when a drain waits for the new host to be mapped to its cell or for measured hosts, or a rename waits for
    containers
  type: str
  sample: discover_hosts
probe:
  description:
    - Connections that you must test on the source hosts, and CPUs that you must compare on the destinations, as in
      RV(stackguard.nova.server_migrate#module:probe). The keys are the inventory names of these hosts.
  returned: with RV(needs=measured_hosts), when there are connections to test
  type: dict
  sample: {compute2: [{source: compute2, dest: cn-rack7.example, address: 10.0.0.1, port: 16509, turn: 0}]}
containers:
  description: Names of the containers that your deployment tool must create before you can resume the operation.
  returned: when RV(needs=recreate_containers)
  type: list
  elements: str
  sample: [nova_compute, nova_libvirt]
progress:
  description: Name, title and state of each step.
  returned: when an operation is open
  type: list
  elements: dict
  contains:
    name:
      description: The step's name.
      type: str
    title:
      description: What the step does.
      type: str
    state:
      description: Its state.
      type: str
  sample: [{name: cell_database, title: "cell database cell1: 1 service, 1 compute node, 6 instances", state: done}]
history:
  description: The events in the journal, with the oldest event first.
  returned: with O(action=status) when an operation is open
  type: list
  elements: dict
  contains:
    at:
      description: Time of the entry.
      type: str
    text:
      description: Text of the entry.
      type: str
  sample: [{at: "2026-11-21T03:00:00Z", text: opened}]
"""
