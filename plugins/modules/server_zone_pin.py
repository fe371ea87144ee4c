#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_zone_pin
short_description: Pin servers to their current availability zones, and restore their old pins
version_added: 0.1.0
description:
  - Nova keeps a server in its zone only if the request spec of the server contains the zone. The zone in the request
    spec is the availability zone pin of the server. A server without an availability zone pin can move to another zone
    at its next resize, migration or evacuation. This module pins each server to its current zone.
  - A shelved server that is on no host is pinned to the zone that its pin, the host that shelved it, Nova's record and
    its volumes name. If they name different zones, or no zone, the server cannot be pinned (SG409).
  - A pin to a zone without an aggregate has no effect. The module treats a pin without an effect as missing, and
    replaces the pin if O(nova_api_db_url) is set.
  - If a selected server cannot be pinned, the module changes nothing. With O(partial=true), or with an override of the
    finding about this server, the module leaves this server out, and pins the other servers.
  - Before the module changes the first pin, it writes every old pin to one file. O(action=restore) restores the pins in
    this file. If a run was killed, run the same task again. The file keeps the pins that the servers had before the
    first of these runs.
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
  - stackguard.nova.overrides
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
    choices: [apply, restore, status]
    description:
      - V(apply) changes availability zone pins. V(restore) restores the old pins of the selected servers. V(restore)
        changes a pin only if the pin is still the pin that a run of this module wrote. If another user has changed a
        pin since then, the module does not change this pin, and names the server. V(status) shows the pins in the file
        and the current pins, and changes nothing. With V(status), you need not select servers.
      - With V(restore) and V(status), O(servers) and O(hosts) select from the servers in the file.
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
    description: Whether to select every server of the cloud that is on a host or shelved. If you set O(servers) or
      O(hosts), the module ignores O(all_servers).
  zone:
    type: str
    description: Expected zone of the servers. The module does not change the availability zone pin of a server whose
      current zone is not O(zone). Only for O(action=apply).
  strategy:
    type: str
    default: auto
    choices: [auto, pin_api, pin_db]
    description:
      - V(pin_api) requires microversion 2.104 (Nova release 34). V(pin_db) requires O(nova_api_db_url). V(auto) uses
        the API if possible.
  partial:
    type: bool
    default: false
    description:
      - With O(action=apply), whether to change the pins of the other servers if some selected servers cannot be pinned.
        The message of the run names each server that the run leaves out.
      - With O(action=restore), Nova must show each server, or have a record that the server was deleted. If Nova
        neither shows a server nor has a record of its deletion, the credentials might belong to another cloud or
        project. With O(partial=false), the module restores the other pins, and fails because of this server. With
        O(partial=true), the module treats this server as deleted, and removes its old pin from the file.
      - O(partial=true) does not help if a cell does not answer. The module then changes no pin.
  prefix:
    type: str
    default: ""
    choices: ["", pin]
    description: Prefix of the variables of the playbook that calls the module. With O(prefix=pin), the module's
      messages contain the names of the playbook's variables, for example C(pin_action). Without a prefix, a message
      contains the name of the module's option, such as C(action).
  take_over:
    type: bool
    default: false
    description:
      - While a run changes pins, the file belongs to this run, and another run fails (SG707). If the run was on another
        Ansible controller and was killed, set O(take_over=true).
  state_dir:
    type: path
    default: /var/lib/stackguard
    description:
      - Directory for the file with the old pins, C(pins/old-pins.json). If the task has C(delegate_to), the directory
        is on the host in C(delegate_to). If the task has no C(delegate_to), the directory is on the play's host. The
        file contains no passwords. Only its owner can read the file.
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

- name: Show the old pins in the file, and the current pins
  stackguard.nova.server_zone_pin:
    cloud: production
    action: status
    nova_api_db_url: "{{ vault_nova_api_db_url }}"

- name: Restore the old pins of the servers of one host
  stackguard.nova.server_zone_pin:
    cloud: production
    action: restore
    hosts: [compute1]
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
      description:
        - V(changed), V(already), V(gone) or V(failed). For O(action=restore), the outcome V(changed by another user)
          means that the module did not change this pin.
      type: str
    reason:
      description: Reason why the module did not change the availability zone pin.
      type: str
    not_made:
      description: Whether it is certain that this run has not changed the pin.
      type: bool
  sample:
    - {server: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, before: null, after: az1, method: pin_api,
       outcome: changed, reason: null, not_made: false}
recorded:
  description: The old pins in the file, and the current pins.
  returned: with O(action=status)
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
      description: Pin before the first change; V(null) if the server had no pin.
      type: str
    written:
      description: Pins that runs of this module wrote, or were about to write.
      type: list
      elements: str
    now:
      description: Current pin; V(null) if the server has no pin, or if the pin could not be read.
      type: str
    state:
      description: V(as written), V(as before), V(changed by another user), V(deleted), V(not shown by Nova) or V(not
        read).
      type: str
  sample:
    - {server: 8961cf04-0ee7-44b1-9ed3-a4b18e535683, name: web1, before: null, written: [az1], now: az1,
       state: as written}
pins:
  description: Numbers of servers. The keys are V(planned), V(changed), V(already), V(failed) and V(left_out), or the
    states in RV(recorded).
  returned: when the module checked the request
  type: dict
  sample: {changed: 12, already: 3, failed: 0, left_out: 1}
old_pins:
  description: Where the file with the old pins is.
  returned: when the module has read the file
  type: dict
  contains:
    host:
      description: Host that stores the file.
      type: str
    path:
      description: Path of the file.
      type: str
  sample: {host: controller1, path: /var/lib/stackguard/pins/old-pins.json}
state:
  description: V(finished), V(restored), V(incomplete), V(planned), V(refused), V(unfinished), V(none) or V(unknown).
  returned: always
  type: str
  sample: finished
plan_sha256:
  description: Checksum of the plan. You can set O(expect_plan) of a later run to this checksum.
  returned: when a plan was made
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
operation_id:
  description: Id of the run, as in the file with the old pins. A run that completes a killed run has the same id.
  returned: when the run has written to the file
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
      cover the zones of volumes (SG405), because the module does not read volumes. The report of a run that changed
      pins does not contain SG401, SG402 and SG404 of the servers whose pins the run changed.
  returned: when the module checked the request
  type: dict
"""
