#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_zone_pin
short_description: Pin servers to their current availability zones
version_added: 0.1.0
description:
  - Nova keeps a server in its zone only if the request spec of the server contains the zone. The zone in the request
    spec is the availability zone pin of the server. A server without an availability zone pin can move to another zone
    at its next resize, migration or evacuation. This module pins each server to its current zone.
  - A pin to a zone without an aggregate has no effect. The module treats a pin without an effect as missing, and
    replaces the pin if O(nova_api_db_url) is set.
  - With O(partial=false), the module changes nothing if it cannot pin all selected servers.
  - In the database, the module changes only the zone in the stored request spec. If a row has changed since the module
    read it, the module does not change this row. The module changes the request spec of a server only while no task of
    the server is in progress.
  - The module calls the APIs from the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
  - stackguard.nova.approved_plan
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  action:
    type: str
    default: apply
    choices: [apply, resume, status, rollback]
    description:
      - V(apply) changes availability zone pins. If an earlier run with the same options was killed, V(apply) resumes
        the killed run. V(resume) resumes a killed run, and uses the servers of the open operation. V(status) reports
        the open operation, and changes nothing. V(rollback) restores every availability zone pin that the open
        operation changed. The rollback skips a pin if another process has changed the pin after the operation changed
        it.
  state:
    type: str
    default: pinned
    choices: [pinned, unpinned]
    description: Whether to pin the servers to their current zones, or to remove their pins.
  servers:
    type: raw
    description:
      - Names or uuids of servers, or a JMESPath filter such as C([?project_id=='4711']).
  hosts:
    type: list
    elements: str
    default: []
    description: Names of compute hosts in Nova. The module selects the servers on these hosts. If you set both
      O(servers) and O(hosts), every name and uuid in O(servers) must belong to a server on one of these hosts.
      Otherwise, the module fails. A JMESPath filter in O(servers) selects only servers on these hosts.
  all_servers:
    type: bool
    default: false
    description: Whether to select every server of the cloud. If you set O(servers) or O(hosts), the module ignores
      O(all_servers).
  zone:
    type: str
    description: Expected zone of the servers. The module does not change the availability zone pin of a server whose
      current zone is not O(zone).
  strategy:
    type: str
    default: auto
    choices: [auto, pin_api, pin_db]
    description:
      - V(pin_api) requires microversion 2.104 (Nova release 34). V(pin_db) requires O(nova_api_db_url). V(auto) uses
        the API if possible.
  restore:
    type: list
    elements: dict
    description:
      - Changes that the module undoes. To undo the changes of an earlier run, set O(restore) to the value of
        RV(changes) of the earlier run. The module skips each pin that another process has changed since the earlier
        run.
  partial:
    type: bool
    default: false
    description:
      - Whether to change some availability zone pins even if other pins cannot be changed.
      - For O(action=rollback) and O(restore), Nova must show each server, or have a record that the server was deleted.
        If Nova neither shows a server nor has a record of its deletion, the credentials might belong to another cloud
        or project. With O(partial=false), the module fails because of this server. With O(partial=true), the module
        skips this server.
  take_over:
    type: bool
    default: false
    description:
      - Whether to take over an open operation that began on another Ansible controller. Set O(take_over=true) only if
        the run on the other Ansible controller has ended.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description:
      - Directory for the journal. If the task has C(delegate_to), the directory is on the host in C(delegate_to). If
        the task has no C(delegate_to), the directory is on the play's host. With O(action=apply), the module keeps no
        journal if O(restore) is set, or if O(servers) is a single name or uuid and O(hosts) is empty. In all other
        cases of O(action=apply), the module keeps a journal. The module writes each availability zone pin to the
        journal before it changes the pin.
  nova_api_db_url:
    type: str
    description:
      - URL of Nova's API database. Before Nova release 34, the module needs the URL to write availability zone pins.
        Before Nova release 29, the module also needs the URL to read availability zone pins.
  report_dir:
    type: path
    description: Directory on the Ansible controller into which the module writes C(plan.json) in check mode.
      C(plan.json) contains the C(plan_sha256).
seealso:
  - module: stackguard.nova.server_resize
"""

EXAMPLES = r"""
- name: Show all servers in the cloud that the module would pin
  stackguard.nova.server_zone_pin:
    cloud: production
    all_servers: true
    partial: true
  check_mode: true

- name: Pin every server of two hosts to its current zone
  stackguard.nova.server_zone_pin:
    cloud: production
    hosts: [compute1, compute2]
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
  register: pinned

- name: Undo the changes that a killed run made to availability zone pins
  stackguard.nova.server_zone_pin:
    cloud: production
    action: rollback
    nova_api_db_url: "{{ vault_nova_api_db_url }}"

- name: Restore the availability zone pins that an earlier task changed
  stackguard.nova.server_zone_pin:
    cloud: production
    restore: "{{ pinned.changes }}"
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
"""

RETURN = r"""
changes:
  description: Availability zone pins that the module changed, or would change in check mode. Each entry contains the
    outcome of the change.
  returned: when the module checked the request
  type: list
  elements: dict
  contains:
    server:
      description: The server's uuid.
      type: str
    name:
      description: Its name.
      type: str
    before:
      description: Zone in the request spec of the server; V(null) if the request spec has no zone.
      type: str
    after:
      description: Zone that the module writes into the request spec; V(null) if the module removes the pin.
      type: str
    method:
      description: V(pin_api) or V(pin_db).
      type: str
    outcome:
      description: The outcome of the change.
      type: str
    reason:
      description: Reason why the module did not change the availability zone pin.
      type: str
  sample:
    - {server: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, before: null, after: az1, method: pin_api,
       outcome: changed, reason: null}
plan_sha256:
  description: Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
operation_id:
  description: Id of the operation, as in the journal.
  returned: when there is a journal
  type: str
  sample: 3f9a1c0b77de
already:
  description: Servers whose availability zone pin is already correct.
  returned: when the module checked the request
  type: list
  elements: str
  sample: []
report:
  description:
    - The findings, as in RV(stackguard.nova.audit#module:report). The findings are about the zones of the selected
      servers and of all hosts (SG401 to SG404, SG408), and about servers that cannot be pinned. The findings do not
      cover the zones of volumes (SG405), because the module does not read volumes.
  returned: when the module checked the request
  type: dict
"""
