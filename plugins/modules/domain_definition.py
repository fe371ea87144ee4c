#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: domain_definition
short_description: Record the definitions of the guests of a compute host, and report what changed
version_added: 0.1.0
description:
  - Reads the libvirt XML of guests on a compute host. For each guest, the module reads the XML of the running guest,
    and the XML that libvirt uses when the guest starts again. The module compares the XML with the most recently
    recorded XML, device by device, and then records the new XML. The module does not change the guests.
  - The module keeps the records on the Ansible controller. The recorded XML is normalised and contains no secrets.
    C(guests/UUID.json) contains the most recent record of a guest. Each file C(definitions/SHA256.xml) contains one XML
    definition.
  - For all guests of a cloud, use M(stackguard.nova.audit) with O(stackguard.nova.audit#module:definitions_dir).
    M(stackguard.nova.audit) compares each definition with the most recently recorded definition, and records the
    current definition.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.action
attributes:
  check_mode:
    support: full
    details:
      - In check mode the module reads and compares everything, and records nothing.
  diff_mode:
    support: none
  idempotent:
    support: full
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-libvirt) on the compute host
options:
  definitions_dir:
    type: path
    description:
      - Directory on the Ansible controller, in which the module records the definitions. The directory must persist
        between runs. The module creates O(definitions_dir) so that only the owner can read the directory. Without
        O(definitions_dir), the module does not compare definitions, and returns the XML under RV(definitions).
  guests:
    type: list
    elements: str
    default: []
    description: Uuids of guests. With an empty list, the module reads all guests of the host.
  record:
    type: bool
    default: true
    description: Whether to record the definitions.
  libvirt_uri:
    type: str
    default: qemu:///system
    description: libvirt URI. The connection is read-only.
seealso:
  - module: stackguard.nova.compute_host_info
  - module: stackguard.nova.audit
"""

EXAMPLES = r"""
- name: Record the definitions of the guests before maintenance
  stackguard.nova.domain_definition:
    definitions_dir: /var/lib/stackguard/definitions

- name: Compare the definitions after maintenance with the recorded definitions
  stackguard.nova.domain_definition:
    definitions_dir: /var/lib/stackguard/definitions
    guests: [0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11]
    record: false
  register: drift

- name: Return the definitions without recording them
  stackguard.nova.domain_definition:
    guests: [0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11]
  register: guest
"""

RETURN = r"""
findings:
  description: Changes since the most recent record. Each change is a finding as in C(report.json), with a code from
    SG601 to SG607.
  returned: with O(definitions_dir)
  type: list
  elements: dict
  contains:
    code:
      description: The code, such as V(SG502).
      type: str
    slug:
      description: The name of the finding code, such as V(overcommitted-destination).
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
          description: Uuid of the object. If the object has no uuid, C(id) is the database id or the name of the
            object.
          type: str
        name:
          description: Name of the object; V(null) if the object has no name.
          type: str
        host:
          description: Compute host of the object; V(null) if the object belongs to no compute host.
          type: str
    evidence:
      description: Facts that prove the finding, with the name of each fact as the key.
      type: dict
    remedy:
      description: What to do next.
      type: str
  sample: [{code: SG601, slug: address-drift, severity: warning, evidence: {}, remedy: Inform its owner.}]
guests:
  description: The guests that the module read, each with the devices of the guest.
  returned: success
  type: list
  elements: dict
  contains:
    uuid:
      description: The guest's uuid.
      type: str
    name:
      description: Name of the guest in libvirt.
      type: str
    read_at:
      description: Time at which the module read the facts.
      type: str
    live:
      description: Definition of the running guest, with the keys C(sha256), C(machine_type), C(cpu) and C(devices). The
        value is V(null) if the guest is not running.
      type: dict
    inactive:
      description: Definition for the next start of the guest, with the keys C(sha256), C(machine_type), C(cpu) and
        C(devices). The value is V(null) if the guest is transient.
      type: dict
  sample: [{uuid: 0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11, name: instance-00000001, live: {}, inactive: {}}]
definitions:
  description: The XML definitions of guests, with the SHA-256 of each XML as the key. The XML is normalised and
    contains no secrets.
  returned: without O(definitions_dir)
  type: dict
  sample: {9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08: "<domain></domain>"}
"""

import datetime
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import libvirt
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import HostError


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    return {
        "definitions_dir": {"type": "path"},
        "guests": {"type": "list", "elements": "str", "default": []},
        "record": {"type": "bool", "default": True},
        "libvirt_uri": {"type": "str", "default": "qemu:///system"},
    }


def main() -> None:
    """Read the definitions and return them. What is compared and kept is the action plugin's."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    wanted = {uuid.lower() for uuid in module.params["guests"]}
    read_at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    try:
        found, texts = libvirt.read_definitions(module.params["libvirt_uri"], read_at)
    except HostError as error:
        module.fail_json(msg=str(error))
    guests = [guest for guest in found if not wanted or guest.uuid in wanted]
    missing = sorted(wanted - {guest.uuid for guest in guests})
    if missing:
        module.fail_json(msg=f"these guests are not on this host: {', '.join(missing)}")
    kept = {part.sha256 for guest in guests for part in (guest.live, guest.inactive) if part is not None}
    module.exit_json(changed=False, guests=to_plain(guests), definitions={key: texts[key] for key in sorted(kept)})


if __name__ == "__main__":
    main()
