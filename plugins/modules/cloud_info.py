#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cloud_info
short_description: Read compute hosts and their servers through the OpenStack APIs
version_added: 0.1.0
description:
  - Reads compute services, hypervisors, servers, aggregates, unfinished migrations, resource providers, network agents
    and ports. The module reads lists of objects, page by page. Each request uses a fixed microversion. The module
    changes nothing.
  - The module does not fail if it cannot read a part of the facts. For an unread part, RV(unread) contains the name of
    the part, and RV(complete) is V(false). The module fails if it cannot find the configuration of the cloud, or if the
    cloud refuses the credentials.
  - Runs on the Ansible controller, or on another host that can reach the APIs.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
  - stackguard.nova.openstack
options:
  hosts:
    type: list
    elements: str
    default: []
    description:
      - Names of the compute hosts to read. If O(hosts) is empty, the module reads all compute hosts. If O(hosts),
        O(nodes) and O(node_uuids) are all empty, the module reads all resource providers, but not their allocations,
        because the allocations of each resource provider need a separate request.
  nodes:
    type: list
    elements: str
    default: []
    description: Names of compute nodes. In addition to the resource providers of O(hosts), the module reads the
      resource providers of these compute nodes.
  node_uuids:
    type: list
    elements: str
    default: []
    description: Uuids of compute nodes. In addition to the resource providers of O(hosts), the module reads the
      resource providers of these compute nodes.
  parts:
    type: list
    elements: str
    choices: [compute_max_microversion, catalog, services, hypervisors, servers, aggregates,
      providers, migrations, agents, ports, block_storage]
    description: Parts to read. By default the module reads all parts of the facts.
  evidence_dir:
    type: path
    description:
      - Directory in which the module writes C(cloud.json) for later modules. With O(evidence_dir) the module does not
        return RV(cloud).
seealso:
  - module: stackguard.nova.audit
  - module: stackguard.nova.cell_info
"""

EXAMPLES = r"""
- name: Read all compute hosts, and save the facts in the evidence directory
  stackguard.nova.cloud_info:
    cloud: production
    evidence_dir: /run/stackguard-evidence
  delegate_to: localhost
  run_once: true

- name: Read one host
  stackguard.nova.cloud_info:
    cloud: production
    hosts: [compute1]
  delegate_to: localhost
  register: compute1

- name: Read the services and aggregates, and no other facts
  stackguard.nova.cloud_info:
    cloud: production
    parts: [services, aggregates]
  delegate_to: localhost
  register: cloud

- name: Show the compute services that are down
  ansible.builtin.debug:
    msg: "{{ cloud.cloud.services | selectattr('state', 'equalto', 'down') | map(attribute='host') | list }}"
"""

RETURN = r"""
complete:
  description: Whether the module read every requested part of the facts.
  returned: always
  type: bool
  sample: true
unread:
  description: Parts of the facts that the module did not read, each with the reason. RV(unread) also contains the parts
    that you did not request.
  returned: always
  type: list
  elements: dict
  contains:
    part:
      description: Name of the part of the facts, such as C(agents).
      type: str
    reason:
      description: Reason why the module could not read this part of the facts.
      type: str
    cause:
      description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
        V(null) if the module failed to read the part.
      type: str
  sample: [{part: agents, reason: "network: no endpoint in the catalogue"}]
counts:
  description: Number of objects read.
  returned: always
  type: dict
  contains:
    services:
      description: Compute services.
      type: int
    hypervisors:
      description: Hypervisors.
      type: int
    servers:
      description: Number of servers.
      type: int
    aggregates:
      description: Aggregates.
      type: int
    providers:
      description: Resource providers.
      type: int
    migrations:
      description: Unfinished migrations.
      type: int
    agents:
      description: Network agents.
      type: int
    ports:
      description: Ports.
      type: int
  sample: {services: 3, hypervisors: 3, servers: 12, aggregates: 2, providers: 3, migrations: 0, agents: 3, ports: 12}
digest:
  description: SHA-256 of the result. The checksum does not depend on the time at which the module read the facts.
  returned: always
  type: str
  sample: 9f2c1d6a7c4b8b6f4c2f8c0fbe1c3b8f6f0c7f0a9f5f6f3f0c5d5b7f9f2c1d6a
path:
  description: Path of the written file.
  returned: with O(evidence_dir)
  type: str
  sample: /run/stackguard-evidence/cloud.json
cloud:
  description: All facts of the cloud, as in C(cloud.json).
  returned: without O(evidence_dir)
  type: dict
  contains:
    read_at:
      description: Time at which the module read the facts.
      type: str
    scope:
      description: Host names from O(hosts). The list of host names is empty if the module read all hosts.
      type: list
      elements: str
    compute_max_microversion:
      description: Highest microversion of the compute API.
      type: str
    catalog:
      description: Service types in the service catalogue of the cloud.
      type: list
      elements: str
    services:
      description: Compute services, each with C(id), C(host), C(binary), C(state), C(status), C(forced_down),
        C(disabled_reason), C(zone) and C(updated_at).
      type: list
      elements: dict
    hypervisors:
      description: Hypervisors, each with C(id), C(hypervisor_hostname), C(service_host), C(hypervisor_type), C(state),
        C(status) and C(host_ip).
      type: list
      elements: dict
    servers:
      description: Servers, each with C(id), C(name), C(project_id), C(status), C(host), C(hypervisor_hostname),
        C(task_state), C(vm_state), C(power_state), C(availability_zone), C(locked), C(pinned_availability_zone),
        C(volumes), C(flavor), C(image), C(config_drive) and C(metadata).
      type: list
      elements: dict
    aggregates:
      description: Aggregates. Each aggregate has the keys C(id), C(uuid), C(name), C(availability_zone), C(hosts) and
        C(metadata).
      type: list
      elements: dict
    providers:
      description: Resource providers, each with C(uuid), C(name), C(generation), C(root_provider_uuid),
        C(parent_provider_uuid), C(allocations) and C(aggregates).
      type: list
      elements: dict
    migrations:
      description: Unfinished migrations, each with C(id), C(uuid), C(migration_type), C(status), C(instance_uuid),
        C(source_compute), C(source_node), C(dest_compute) and C(dest_node).
      type: list
      elements: dict
    agents:
      description: Network agents, each with C(id), C(agent_type), C(binary), C(host), C(alive),
        C(heartbeat_timestamp), C(mode) and C(distributed).
      type: list
      elements: dict
    ports:
      description: Ports, each with C(id), C(binding_host_id), C(binding_vif_type), C(status), C(device_id),
        C(device_owner), C(subnets) and C(subports).
      type: list
      elements: dict
    unread:
      description: Parts of the facts that the module did not read. C(unread) also contains the parts that you did not
        request.
      type: list
      elements: dict
      contains:
        part:
          description: Name of the part of the facts, such as C(agents).
          type: str
        reason:
          description: Reason why the module could not read this part of the facts.
          type: str
        cause:
          description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
            V(null) if the module failed to read the part.
          type: str
    port_devices:
      description: Uuids of the servers on O(hosts). The module read the ports of these servers only. If O(hosts) is
        empty, the module reads all ports, and this list is empty.
      type: list
      elements: str
    routed_subnets:
      description: Uuids of the subnets that belong to a network segment and have a port in C(ports). The module reads
        these subnets only if O(hosts) is set.
      type: list
      elements: str
    ha_hosts:
      description: If O(hosts) is set, the Masakari hosts that have these names, each with C(id), C(name) and
        C(segment).
      type: list
      elements: dict
    block_storage:
      description: What Cinder says of the volumes of the servers, or of all volumes if O(hosts) is empty. The keys are
        C(whole), C(volumes), C(services), C(sharers), C(strays) and C(unread).
      type: dict
  sample: {read_at: "2026-11-21T07:29:48+00:00", scope: [compute1], compute_max_microversion: "2.104", services: []}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.model import facts
from ..module_utils.model.errors import StackguardError
from ..module_utils.records import evidence
from ..module_utils.records.info_result import info_result
from ..module_utils.systems.api import cloud_facts, connection

COUNTED = ("services", "hypervisors", "servers", "aggregates", "providers", "migrations", "agents", "ports")


def counts(read: facts.CloudFacts) -> t.Dict[str, int]:
    """Return the number of objects of each kind."""
    return {name: len(getattr(read, name) or ()) for name in COUNTED}


def main() -> None:
    """Read, write down or return."""
    names = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec=connection.openstack_spec(
            hosts=dict(names),
            nodes=dict(names),
            node_uuids=dict(names),
            parts={"type": "list", "elements": "str", "choices": list(cloud_facts.PARTS)},
            evidence_dir={"type": "path"},
        ),
        supports_check_mode=True,
    )
    params = module.params
    if connection.OPENSTACK_ERROR is not None:
        module.fail_json(msg=missing_required_lib("openstacksdk"), exception=connection.OPENSTACK_ERROR)
    try:
        cloud = connection.connect(params)
        read = cloud_facts.read_cloud(cloud, params["hosts"], params["parts"], params["nodes"], params["node_uuids"])
        unread = [facts.to_plain(item) for item in read.unread]
        result = info_result("cloud", read, evidence.CLOUD, params["evidence_dir"], unread, counts(read))
    except StackguardError as error:
        module.fail_json(msg=error.message)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
