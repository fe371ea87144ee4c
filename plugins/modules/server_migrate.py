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
  - Moves the selected servers, or all servers of a host. The module live-migrates running and paused servers, and
    cold-migrates stopped servers. Each server stays in the availability zone of its current host.
  - The module chooses each destination based on the free memory that was measured on the hosts. The request to Nova
    contains the destination, and the scheduler checks the destination. The module never bypasses the checks of Nova's
    scheduler. The module moves no server to a host that the run could not read.
  - After each move the module verifies the zone of the server. After a cold migration within the zone, the module
    confirms the migration. If a move has brought the server into another zone, the module reports the server. If this
    move was a cold migration, the module reverts the move.
  - If the module refuses to start, it reports every reason at once and changes nothing. If a server cannot move to the
    chosen destination, the module tries other hosts. The run fails if a server does not arrive.
  - If you set O(drain_host), the module disables the compute service of the host. The disabled reason contains the id
    of the operation. With O(enable_after=false), the host stays disabled after the drain.
  - Run the same task again to resume a run that was killed. Use O(action=rollback) to close an unfinished operation.
    The rollback does not move servers back. If the task has C(delegate_to), the module keeps the journal on the host in
    C(delegate_to). If the task has no C(delegate_to), the module keeps the journal on the play's host. The host with
    the journal receives no credentials. Only one operation that moves servers can be open at a time, because two open
    operations would count the same free memory twice.
  - The module calls the APIs from the Ansible controller.
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
    description: Reads and checks everything, shows the plan, and changes nothing.
  diff_mode:
    support: full
    description: Shows the host of each server, and the status of a drained host, before and after the change.
  idempotent:
    support: partial
    description: The module does not change a host that is empty and disabled. If you set O(servers), each run of the
      task moves the servers to other hosts again, even if an earlier run has already moved the servers.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) moves the servers, or resumes an unfinished run. V(resume) resumes an unfinished run, and never begins
        a new run. Without O(servers), V(resume) uses the servers of the open operation. V(status) reports the state of
        the open operation and the current host of each server, and changes nothing.
      - V(rollback) ends an unfinished run. V(rollback) waits until moves in progress have ended, reverts cold
        migrations that are not confirmed, and restores the status that a drained host had before the run. Servers that
        have already moved stay on their new hosts.
  servers:
    type: raw
    description:
      - Names or uuids of the servers to move, or a JMESPath filter that selects from all servers of the cloud, such as
        V([?host=='compute1' && metadata.tier=='gold']). To find servers by name or filter, the module lists all servers
        of the cloud.
      - With O(action=apply), set either O(servers) or O(drain_host), but not both.
  drain_host:
    type: str
    description: Name of the host in Nova.
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller with the results of M(stackguard.nova.compute_host_info). You must set
        O(evidence_dir) with O(action=apply) and O(action=resume).
  live:
    type: bool
    default: true
    description: Whether to live-migrate running servers. With O(live=false), the module cold-migrates running servers,
      and Nova stops each server for its migration.
  cold:
    type: str
    default: stopped
    choices: [never, stopped, fallback]
    description:
      - Servers that the module is allowed to cold-migrate. The following rules apply if live migration is enabled
        (O(live=true)). With O(cold=never) the module cold-migrates no server. With O(cold=stopped) the module
        cold-migrates only stopped servers. With O(cold=fallback) the module cold-migrates each server that is stopped,
        and each running server whose live migration failed. During the cold migration of a running server, Nova stops
        the server.
  partial:
    type: bool
    default: false
    description: Whether to move some servers even if other servers cannot be moved. If a server cannot be moved, a run
      with O(partial=true) moves the other servers, and fails at its end.
  enable_after:
    type: bool
    default: false
    description: Whether to re-enable the compute service of the drained host after the last server has left the host. A
      host that was disabled before the drain stays disabled.
  max_parallel:
    type: int
    default: 8
    description: Maximum number of servers that move at the same time.
  memory_headroom_mb:
    type: int
    default: 512
    description: Memory in MiB that must stay free on each destination. The module measures the free memory.
  overcommit:
    type: float
    default: 1.0
    description: Factor for memory overcommit. The module divides the memory of each guest by O(overcommit), and
      compares the result with the measured free memory of the destination.
  again:
    type: bool
    default: false
    description: Whether this task repeats an earlier task that returned V(true) in RV(again).
  restore_state:
    type: bool
    default: true
    description:
      - Whether to reset a server's status from ERROR to ACTIVE after a failed move. The module resets the status only
        if the server's QEMU process runs on the host that Nova records for the server, and on no other host. If the
        module does not reset the status, it reports what you must do next (SG711).
  probe:
    type: bool
    default: false
    description:
      - Whether the playbook can test connections for this task. Before the module live-migrates servers, RV(probe)
        lists the connections that the playbook must test. The keys of RV(probe) are the inventory names of the source
        hosts. Test these connections on the source hosts with C(probe_tcp) of M(stackguard.nova.compute_host_step).
        RV(probe) also lists CPUs of servers (entries with the key C(digest)). The keys are then the inventory names of
        destinations. Compare these CPUs on the destinations with C(compare_cpu). Then set O(probes) to the results,
        and repeat the task. With O(probe=false), a host with another CPU is no destination (SG523), and the module
        first live-migrates one server from a source host to a destination. After this server has arrived, the module
        live-migrates several servers at a time from this source host to this destination.
  probes:
    type: list
    elements: dict
    default: []
    description: Results of the connection tests. Each result repeats the keys and values of the tested connection from
      RV(probe), such as C(source), C(dest), C(address) and C(port). C(error) contains the error of a failed test, or
      V(null) if the connection succeeded. If the playbook could not test a connection, the result has no key C(error).
      In this case, the key C(untried) contains the reason. The result of a comparison of a CPU has the key C(result) or
      C(error).
  prefix:
    type: str
    default: ""
    choices: ["", drain, migrate]
    description:
      - Prefix of the variables of the playbook that calls the module. With a prefix, the module's messages contain the
        names of the playbook's variables. With O(prefix=drain), a message contains, for example, C(drain_partial).
        Without a prefix, a message contains the name of the module's option, such as C(partial).
  server_timeout:
    type: int
    default: 3600
    description: Maximum number of seconds to wait for the migration of one server. The module never aborts the
      migration, even after O(server_timeout).
  nova_api_db_url:
    type: str
    description: URL of Nova's API database. The module reads from this database which cell each host belongs to.
      Without the URL, the module might plan moves to hosts in other cells, and Nova rejects moves to other cells.
      Before Nova release 29, the module also needs the URL to read and check the availability zone pins of servers.
  report_dir:
    type: path
    description: Directory on the Ansible controller for the report. The module writes C(report.html) into O(report_dir)
      only if O(prefix) is set. In check mode the module also writes C(plan.json), which contains the C(plan_sha256).
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
    - Whether the run completed everything that was requested.
    - With C(failed_when=false) on this task, the play continues after a failure. A later task can check RV(succeeded),
      and fail with a message that contains only the summary.
  returned: always
  type: bool
  sample: true
state:
  description:
    - V(finished), or V(incomplete) if the operation has ended but some servers did not move. The state is V(open) if
      you can resume the operation, or V(rolled-back) after a rollback. The state is V(none) if there was nothing to do,
      or if the playbook must first test the connections in RV(probe). The state is V(planned) in check mode, V(refused)
      if the run refused to start and changed nothing, or V(unknown) if the run was interrupted.
  returned: always
  type: str
  sample: finished
again:
  description: Whether the playbook must collect the facts of the hosts again, and repeat the task.
  returned: when the run executed the operation, or when there are connections to test
  type: bool
  sample: false
probe:
  description: Connections that the playbook must test, and CPUs that the playbook must compare, before the module
    live-migrates further servers. The keys are the inventory names of the hosts that do this.
  returned: with O(probe=true), when there are connections to test
  type: dict
  sample: {compute1: [{source: compute1, dest: compute2, address: 10.0.0.2, port: 16509, turn: 0}]}
servers:
  description: Source host (C(from)) and current host (C(host)) of each server of the open operation. The keys are the
    uuids of the servers.
  returned: with O(action=status), when an operation is open
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683:
      {name: web1, from: compute1, host: compute2, status: ACTIVE, task_state: null, left: false,
       text: ACTIVE on compute2}
plan_sha256:
  description: Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
operation_id:
  description: Id of the operation, as in the journal.
  returned: when there is an operation
  type: str
  sample: 3f9a1c0b77de
moved:
  description: Host on which each server arrived while this Ansible task ran. Servers that arrived in an earlier task of
    the same operation are not included. The keys are the uuids of the servers.
  returned: when the run executed the operation
  type: dict
  sample: {8961cf04-0ee7-44b1-9ed3-a4b18e535683: compute2}
gone:
  description: Names of servers that no longer have a host. During the run, the owner of each listed server has deleted
    the server, or has changed the server, for example shelved it.
  returned: when the run executed the operation
  type: list
  elements: str
  sample: []
left:
  description: Requested servers that the run did not move to another host. The keys are the uuids of the servers, and
    each value has the name, the host and the reason.
  returned: when the run executed the operation
  type: dict
  sample: {}
placements:
  description: Destination of each server, and the reason for this destination. The keys are the uuids of the servers.
    If a server has no destination, its entry contains the reasons why no host can be the destination.
  returned: when the module checked the request
  type: dict
  sample:
    8961cf04-0ee7-44b1-9ed3-a4b18e535683: {name: web1, host: compute2, wave: 1,
      why: the host has 9000 MiB of free real memory before this server arrives}
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when this run made the plan
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the module checked the request
  type: dict
"""
