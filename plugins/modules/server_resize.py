#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_resize
short_description: Resize a server within its availability zone
version_added: 0.1.0
description:
  - For a resize, Nova's scheduler chooses a host in the same way as for a new server. A server without an availability
    zone pin can therefore leave the zone of its volumes. This module keeps the server in the availability zone of its
    current host.
  - If the server is already pinned to its zone, the module does not change the availability zone pin. If the server is
    not pinned to its zone, O(strategy=auto) pins the server through the API, provided that Nova offers microversion
    2.104 (Nova release 34). If the module cannot use the API and O(nova_api_db_url) is set, O(strategy=auto) pins the
    server in the API database. The module cannot use the API if Nova offers only an earlier microversion, or if the
    server is pinned to a zone without an aggregate. If the module can use neither the API nor the database to pin the
    server, O(strategy=auto) works like O(strategy=verify), which resizes the server without changing the pin. If the
    module has changed the pin, the module sets the pin back to its old value after the resize, or removes the pin if
    the server had no pin before. With O(keep_pin=true), the server keeps the new pin. RV(strategy) shows the method
    that keeps the server in its zone, and RV(why) shows the reason for the method.
  - With every strategy the module verifies the zone before it confirms the resize. If the server has left its zone,
    the module reverts the resize.
  - The module fails and changes nothing if no host of the zone has enough free resources (SG406), or if the module
    could not read a required fact.
  - A stopped server stays stopped.
  - Run the same task again to resume a run that was killed. Use O(action=rollback) to roll the run back. If the task
    has C(delegate_to), the module keeps the journal on the host in C(delegate_to). If the task has no C(delegate_to),
    the module keeps the journal on the play's host. The host with the journal receives no credentials.
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
    description: Shows the flavor and the availability zone pin before and after the change.
  idempotent:
    support: full
    description: The module does not change a server that already has the flavor.
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) resizes the server, or resumes an unfinished run.
      - V(resume) resumes an unfinished run, and fails if no resize of the server is open.
      - V(status) reports the open operation and the server, and changes nothing.
      - V(rollback) undoes an unfinished run. V(rollback) does not undo a confirmed resize.
  server:
    type: str
    required: true
    description: Name or uuid of the server.
  flavor:
    type: str
    description: Name or id of the new flavor. If you use O(action=apply), you must set O(flavor).
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller that M(stackguard.nova.compute_host_info) has filled with the facts of the
        compute hosts. With O(evidence_dir) the module verifies that hosts of the zone can run the server (SG523).
        Without O(evidence_dir) the report lists SG523 as unchecked.
  strategy:
    type: str
    default: auto
    choices: [auto, pin_api, pin_db, verify]
    description: How the module keeps the server in its zone.
  confirm:
    type: bool
    default: true
    description: Whether the module confirms the resize. With O(confirm=false) the server stays in C(VERIFY_RESIZE)
      until you confirm or revert the resize.
  keep_pin:
    type: bool
    default: false
    description: Whether the server stays pinned to its zone after the resize.
  same_host:
    type: bool
    default: false
    description:
      - Whether the server is allowed to stay on its current host. Set O(same_host=true) only if Nova is configured with
        C(allow_resize_to_same_host). No API shows whether C(allow_resize_to_same_host) is set.
  server_timeout:
    type: int
    default: 3600
    description: Maximum number of seconds for each of two waits. The module waits for the end of the resize, and later
      for the end of the confirmation or revert.
  nova_api_db_url:
    type: str
    description:
      - URL of Nova's API database. Before Nova release 34, the module needs the URL to pin servers. Before Nova release
        29, the module also needs the URL to read availability zone pins.
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode.
      C(plan.json) contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.server_zone_pin
"""

EXAMPLES = r"""
- name: Resize a server within its zone
  stackguard.nova.server_resize:
    cloud: production
    server: web1
    flavor: m1.large
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
  delegate_to: localhost

- name: Roll an unfinished resize back
  stackguard.nova.server_resize:
    cloud: production
    action: rollback
    server: web1
  delegate_to: localhost

- name: Resize a server and let the server's owner confirm the resize
  stackguard.nova.server_resize:
    cloud: production
    server: web1
    flavor: m1.large
    strategy: verify
    confirm: false
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
  sample: {pin: done, resize: applying}
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
strategy:
  description: The method that keeps the server in its zone. RV(strategy) is V(pinned) if the server was already pinned
    to its zone before the run. If the server was not pinned to its zone, RV(strategy) is V(pin_api), V(pin_db) or
    V(verify).
  returned: when this run made the plan
  type: str
  sample: pin_api
why:
  description: The reason why the run uses the method in RV(strategy).
  returned: when this run made the plan
  type: str
  sample: this Nova offers microversion 2.104, which pins by API
plan:
  description: The steps of the plan, each with its changes, as in RV(stackguard.nova.compute_host_rename#module:plan).
  returned: when this run made the plan
  type: dict
report:
  description: The findings, as in RV(stackguard.nova.audit#module:report).
  returned: when the module checked the request
  type: dict
"""
