#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cell_info
short_description: Read hosts, nodes, instances and migrations from Nova's databases
version_added: 0.1.0
description:
  - Reads compute hosts, services, nodes, instances and unfinished migrations from Nova's API database and from the
    databases of all cells. Reads network agents from neutron's database. The module reads each database in one
    read-only transaction, and each table with one statement. The module changes nothing.
  - The module does not fail if it cannot read a database. For an unread database, RV(unread) contains the name of the
    database, and RV(complete) is V(false).
  - Runs on the Ansible controller, or on another host that can reach the databases.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_databases
  - stackguard.nova.attributes.info_module
  - stackguard.nova.databases
  - stackguard.nova.ovn
options:
  hosts:
    type: list
    elements: str
    default: []
    description:
      - Names of the compute hosts to read. The module reads a row if the host name or the node name in the row is in
        O(hosts). The comparison of the names is not case-sensitive. If O(hosts) is empty, the module reads all compute
        hosts.
  instance_uuids:
    type: list
    elements: str
    default: []
    description: Uuids of additional instances to read. An instance in O(instance_uuids) can be on any host, and can be
      a deleted instance.
  evidence_instances:
    type: bool
    default: false
    description:
      - With O(evidence_instances=true), the module reads additional instances. The additional instances are the Nova
        instances that own domains or disk images on the hosts. The module takes the domains and disk images from the
        facts of the hosts in O(evidence_dir).
  probe_rename:
    type: bool
    default: false
    description:
      - Whether to test the privileges of the database users. The test shows whether the database users have all
        privileges that M(stackguard.nova.compute_host_rename) needs. The module tests the database users in
        O(nova_api_db_url), in O(neutron_db_url) and in the URLs of the cell databases. To test the privileges, the
        module runs the SQL statements of a rename. These SQL statements match no row, and the module rolls the
        statements back.
      - With O(probe_rename=true), the module takes a lock in the API database, and immediately releases the lock.
        C(lock) in RV(databases) shows whether the lock is valid on all nodes of the database cluster, or only on the
        node to which the module is connected.
  links:
    type: bool
    default: false
    description:
      - Whether to check the ids that link services, nodes, instances and migrations. The module records the wrong links
        in C(links.json) in O(evidence_dir).
  evidence_dir:
    type: path
    description:
      - Directory in which the module writes C(databases.json) for later modules. With O(evidence_dir) the module does
        not return RV(databases).
seealso:
  - module: stackguard.nova.compute_link
  - module: stackguard.nova.audit
  - module: stackguard.nova.cloud_info
"""

EXAMPLES = r"""
- name: Read all cells, and save the facts in the evidence directory
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    evidence_dir: /run/stackguard-evidence
  delegate_to: localhost
  run_once: true

- name: Read one host, and test whether the database users have the privileges to rename the host
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    neutron_db_url: "{{ vault_neutron_db_url }}"
    hosts: [compute1]
    probe_rename: true
  delegate_to: localhost
  register: databases

- name: Read one cell through a database URL of your choice
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    nova_cell_db_urls:
      cell2: "{{ vault_cell2_db_url }}"
  delegate_to: localhost
"""

RETURN = r"""
complete:
  description: Whether the module read every requested part of the facts.
  returned: always
  type: bool
  sample: true
unread:
  description: Parts of the facts that the module could not read, each with the reason. The reasons contain no
    passwords.
  returned: always
  type: list
  elements: dict
  contains:
    part:
      description: Name of the part of the facts, such as C(cells.cell2.services).
      type: str
    reason:
      description: Reason why the module could not read this part of the facts.
      type: str
    cause:
      description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
        V(null) if the module failed to read the part.
      type: str
  sample: [{part: cells.cell2.services, reason: "Can't connect to MySQL server on 'db2' (timed out)"}]
counts:
  description: Number of rows that the module read in all cells.
  returned: always
  type: dict
  contains:
    cells:
      description: Cells.
      type: int
    services:
      description: Compute services.
      type: int
    compute_nodes:
      description: Compute nodes.
      type: int
    instances:
      description: Instances.
      type: int
    migrations:
      description: Unfinished migrations.
      type: int
    host_mappings:
      description: Host mappings in the API database.
      type: int
    aggregate_hosts:
      description: Hosts of aggregates.
      type: int
    agents:
      description: Network agents.
      type: int
  sample: {cells: 1, services: 3, compute_nodes: 3, instances: 12, migrations: 0, host_mappings: 3,
    aggregate_hosts: 3, agents: 3}
refused:
  description: Privileges that a rename needs, but the database user does not have.
  returned: with O(probe_rename=true)
  type: list
  elements: dict
  contains:
    database:
      description: V(api), V(neutron), or C(cell:NAME).
      type: str
    table:
      description: The table.
      type: str
    columns:
      description: The columns.
      type: list
      elements: str
    action:
      description: V(select) or V(update).
      type: str
    allowed:
      description: Whether the database user has the privilege.
      type: bool
    error:
      description: Error message of the database, if the user does not have the privilege.
      type: str
  sample: [{database: "cell:cell1", table: services, columns: [host], action: update, allowed: false,
    error: "UPDATE command denied to user 'reader'@'10.0.0.1' for table `nova`.`services` (1142)"}]
digest:
  description: SHA-256 of the result. The checksum does not depend on the time at which the module read the facts.
  returned: always
  type: str
  sample: 9f2c1d6a7c4b8b6f4c2f8c0fbe1c3b8f6f0c7f0a9f5f6f3f0c5d5b7f9f2c1d6a
path:
  description: Path of the written file.
  returned: with O(evidence_dir)
  type: str
  sample: /run/stackguard-evidence/databases.json
databases:
  description: All facts of the databases, as in C(databases.json).
  returned: without O(evidence_dir)
  type: dict
  contains:
    read_at:
      description: Time at which the module read the facts.
      type: str
    api:
      description: Facts from the API database, such as host mappings and hosts of aggregates, with the keys
        C(location), C(revision), C(scope), C(host_mappings), C(aggregate_hosts), C(unread) and C(name_rows).
      type: dict
    cells:
      description: Facts from each cell, such as services, compute nodes, instances and migrations. The entry of each
        cell has the keys C(name), C(uuid), C(location), C(revision), C(has_compute_id), C(scope), C(services),
        C(compute_nodes), C(instances), C(migrations), C(unread), C(dialect), C(collations) and C(name_rows).
      type: list
      elements: dict
    neutron:
      description: Facts from neutron's database, with the keys C(location), C(scope), C(agents) and C(unread). If you
        set O(ovn_nb_connection) and O(hosts), the key C(bindings) contains the port bindings of the hosts. Without
        O(hosts), C(inactive_bindings) contains the hosts for which ports have an inactive binding, by port.
      type: dict
    grants:
      description: With O(probe_rename=true), each privilege that a rename needs, and whether the database user has this
        privilege.
      type: list
      elements: dict
      contains:
        database:
          description: V(api), V(neutron), or C(cell:NAME).
          type: str
        table:
          description: The table.
          type: str
        columns:
          description: The columns.
          type: list
          elements: str
        action:
          description: V(select) or V(update).
          type: str
        allowed:
          description: Whether the database user has the privilege.
          type: bool
        error:
          description: Error message of the database, if the user does not have the privilege.
          type: str
    unread:
      description: Facts that the module could not read.
      type: list
      elements: dict
      contains:
        part:
          description: Name of the part of the facts, such as C(cells.cell2.services).
          type: str
        reason:
          description: Reason why the module could not read this part of the facts.
          type: str
        cause:
          description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
            V(null) if the module failed to read the part.
          type: str
    lock:
      description: With O(probe_rename=true), the result of the test with a lock in the API database. C(scope) shows
        whether the lock is valid on all nodes of the database cluster. C(reason) contains the reason.
      type: dict
    ovn:
      description: With O(ovn_nb_connection), the facts from OVN's databases. If O(hosts) is set, these facts describe
        only O(hosts). Without O(hosts), these facts describe the whole cloud. The keys are C(read_at), C(scope),
        C(chassis), C(port_bindings), C(switch_ports), C(gateways), C(connections), C(northd_ms), C(southbound) and
        C(unread).
      type: dict
    brokers:
      description: Without O(hosts), what waits in the RabbitMQ of each cell for its compute services, deleted ones
        included. The keys are C(cell), C(location), C(names) (how many), C(waiting) (the queues with messages and
        without a consumer; V(null) if RabbitMQ was not read), C(witness) (another nova-compute whose queue has a
        consumer) and C(reason).
      type: list
      elements: dict
  sample: {read_at: "2026-11-21T07:29:47+00:00", api: {}, cells: [], neutron: null, grants: null, unread: []}
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.engine import waiting_requests
from ..module_utils.model import facts
from ..module_utils.model.errors import StackguardError
from ..module_utils.records import evidence
from ..module_utils.records.info_result import info_result
from ..module_utils.systems.api.connection import ovn_spec
from ..module_utils.systems.db import engine, links, nova
from ..module_utils.systems.ovn import reading


def unread(read: facts.DatabaseFacts) -> t.List[t.Dict[str, t.Optional[str]]]:
    """Return everything unread, with its owner's name before the part's."""
    owners: t.List[t.Tuple[str, t.Any]] = [("", read), ("api.", read.api), ("neutron.", read.neutron)]
    owners += [("ovn.", read.ovn)]
    owners += [(f"cells.{cell.name}.", cell) for cell in read.cells or ()]
    return [
        {"part": prefix + item.part, "reason": item.reason, "cause": item.cause}
        for prefix, owner in owners
        if owner is not None
        for item in owner.unread
    ]


def counts(read: facts.DatabaseFacts) -> t.Dict[str, int]:
    """Return the number of rows of each table, over all cells."""
    found = {"cells": len(read.cells or ())}
    for name in ("services", "compute_nodes", "instances", "migrations"):
        found[name] = sum(len(getattr(cell, name) or ()) for cell in read.cells or ())
    for owner, name in ((read.api, "host_mappings"), (read.api, "aggregate_hosts"), (read.neutron, "agents")):
        found[name] = len(getattr(owner, name, None) or ())
    for name_rows in [cell.name_rows for cell in read.cells or ()] + ([read.api.name_rows] if read.api else []):
        for name, rows in name_rows.items():
            found[name] = found.get(name, 0) + len(rows)
    return found


def main() -> None:
    """Read, write down or return."""
    module = AnsibleModule(
        argument_spec=ovn_spec(
            hosts={"type": "list", "elements": "str", "default": []},
            instance_uuids={"type": "list", "elements": "str", "default": []},
            evidence_instances={"type": "bool", "default": False},
            probe_rename={"type": "bool", "default": False},
            links={"type": "bool", "default": False},
            evidence_dir={"type": "path"},
        ),
        required_if=[("links", True, ("evidence_dir",)), ("evidence_instances", True, ("evidence_dir",))],
        required_one_of=[("nova_api_db_url", "nova_cell_db_urls", "neutron_db_url")],
        supports_check_mode=True,
    )
    if engine.SQLALCHEMY_ERROR is not None:
        module.fail_json(msg=missing_required_lib("SQLAlchemy"), exception=engine.SQLALCHEMY_ERROR)
    kept = module.params["evidence_dir"]
    try:
        seen = evidence.instance_uuids(kept) if module.params["evidence_instances"] else []
        read = nova.read_databases(
            module.params,
            module.params["hosts"],
            rename=module.params["probe_rename"],
            instance_uuids=sorted({*module.params["instance_uuids"], *seen}),
        )
        if reading.given(module.params):
            found = reading.read_ovn(module.params, module.params["hosts"], probe=module.params["probe_rename"])
            read = dataclasses.replace(read, ovn=found)
        if not module.params["hosts"]:
            read = dataclasses.replace(read, brokers=waiting_requests.read_brokers(module.params))
        result = info_result("databases", read, evidence.DATABASES, kept, unread(read), counts(read))
        if module.params["links"]:
            read_links = links.read_links(module.params, module.params["hosts"])
            evidence.save_part(kept, evidence.LINKS, read_links)
    except StackguardError as error:
        module.fail_json(msg=error.message)
    except facts.FactsError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"evidence_dir {kept}: {error.strerror}")
    if module.params["probe_rename"]:
        result["refused"] = [facts.to_plain(grant) for grant in read.grants or () if not grant.allowed]
    module.exit_json(**result)


if __name__ == "__main__":
    main()
