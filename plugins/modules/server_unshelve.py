#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_unshelve
short_description: Unshelve a server in its availability zone
version_added: 0.2.0
description:
  - If a shelved server was offloaded from its host, Nova's scheduler chooses a host in the same way as for a new
    server. A server without an availability zone pin can therefore start in another zone than the zone of its volumes,
    or stay shelved. This module finds out to which zone the server belongs, and unshelves the server in this zone.
  - The module reads the zone from the server's pin, from the host that shelved the server, from the zone that Nova
    shows, and from the zones of the server's volumes. If these facts name different zones, or no zone, the module fails
    and changes nothing (SG409). Then set O(zone).
  - The request to Nova names the zone. Nova pins the server to this zone, and the server stays pinned. If the server
    stays shelved, the module sets the pin back to its old value, provided that Nova offers microversion 2.104 (Nova
    release 34) or that O(nova_api_db_url) is set.
  - A server with the status C(SHELVED) is still on its host, and starts there. Nova does not pin it.
  - The module waits until the server is active, and verifies the zone. If the server starts in another zone, the module
    fails (SG407), and the server stays running.
  - The module fails and changes nothing if no host of the zone has enough free resources (SG406), if the image that
    Nova made to shelve the server does not exist, or if the module could not read a required fact.
  - Run the same task again to resume a run that was killed. Use O(action=rollback) to end the run. If the task has
    C(delegate_to), the module keeps the journal on the host in C(delegate_to). If the task has no C(delegate_to), the
    module keeps the journal on the play's host. The host with the journal receives no credentials.
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
    description: Shows the status and the availability zone pin before and after the change.
  idempotent:
    support: full
    description: The module does not change a server that is not shelved.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) unshelves the server, or resumes an unfinished run.
      - V(resume) resumes an unfinished run, and fails if no run for the server is open.
      - V(status) reports the open operation and the server, and changes nothing.
      - V(rollback) ends an unfinished run. A server that is still shelved gets its old pin back. A server that runs
        stays running.
  server:
    type: str
    required: true
    description: Name or uuid of the server.
  zone:
    type: str
    description: Zone of the server. Set O(zone) only if the module fails with SG409.
  server_timeout:
    type: int
    default: 3600
    description: Maximum number of seconds to wait until the server is unshelved.
  nova_api_db_url:
    type: str
    description:
      - URL of Nova's API database. Before Nova release 34, the module needs the URL to set a pin back. Before Nova
        release 29, the module also needs the URL to read availability zone pins.
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode.
      C(plan.json) contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.server_zone_pin
"""

EXAMPLES = r"""
- name: Unshelve a server in its zone
  stackguard.nova.server_unshelve:
    cloud: production
    server: web1
  delegate_to: localhost

- name: Unshelve a server whose zone is not known
  stackguard.nova.server_unshelve:
    cloud: production
    server: web1
    zone: az1
  delegate_to: localhost
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
    - V(finished), or V(rolled-back) after a rollback. The state is V(none) if there was nothing to do, V(planned) in
      check mode, or V(refused) if the run refused to start and changed nothing. The state is V(unknown) if the run was
      interrupted.
    - With O(action=status) V(open) or V(rolling-back).
  returned: always
  type: str
  sample: finished
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
steps:
  description: State of each step, with the name of the step as the key.
  returned: with O(action=status), when an operation is open
  type: dict
  sample: {unshelve: done, compare: applying}
server:
  description: The server's uuid.
  returned: when the module found the server
  type: str
  sample: 8961cf04-0ee7-44b1-9ed3-a4b18e535683
zone:
  description: The zone of the server.
  returned: when there is an operation
  type: str
  sample: az1
why:
  description: The facts from which the zone is known.
  returned: when this run made the plan
  type: str
  sample: known from the host that shelved it, Nova's record
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when this run made the plan
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the module checked the request
  type: dict
"""
