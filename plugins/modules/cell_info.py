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
  - Reads compute hosts, services, nodes, instances and unfinished migrations from Nova's API database and the databases
    of all cells, and neutron's agents. Each database is read in one read-only transaction, each table by one statement.
    Nothing is changed.
  - A database that cannot be read does not fail the module. RV(unread) names it, and RV(complete) is V(false).
  - Runs on the controller, or wherever the databases can be reached.
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
      - Names of compute hosts to narrow down to. The module reads rows with one of these names as host or node, case
        variants included. Empty means all.
  instance_uuids:
    type: list
    elements: str
    default: []
    description: Instances to read as well, on any host, deleted ones included.
  evidence_instances:
    type: bool
    default: false
    description:
      - Also read, as O(instance_uuids), the instances of every domain and disk image that the hosts in O(evidence_dir)
        have.
  probe_rename:
    type: bool
    default: false
    description:
      - Also find out whether the users of O(nova_api_db_url), O(neutron_db_url) and of the cells may do what
        M(stackguard.nova.compute_host_rename) does. The module runs the same statements on no row, and rolls back.
      - The module takes a lock in the API database and releases it. C(lock) in RV(databases) shows which runs such a
        lock excludes.
  links:
    type: bool
    default: false
    description:
      - Also check the ids that link services, nodes, instances and migrations, and write wrong ones to C(links.json) in
        O(evidence_dir).
  evidence_dir:
    type: path
    description:
      - Directory to write C(databases.json) to, for later modules. Then RV(databases) is not returned.
seealso:
  - module: stackguard.nova.compute_link
  - module: stackguard.nova.audit
  - module: stackguard.nova.cloud_info
"""

EXAMPLES = r"""
- name: Read everything into the evidence directory
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    evidence_dir: /run/stackguard-evidence
  delegate_to: localhost
  run_once: true

- name: Look at one host, and whether it could be renamed with these database users
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    neutron_db_url: "{{ vault_neutron_db_url }}"
    hosts: [compute1]
    probe_rename: true
  delegate_to: localhost
  register: databases

- name: Reach a cell by another address than Nova does
  stackguard.nova.cell_info:
    nova_api_db_url: "{{ vault_nova_api_db_url }}"
    nova_cell_db_urls:
      cell2: "{{ vault_cell2_db_url }}"
  delegate_to: localhost
"""

RETURN = r"""
complete:
  description: Whether every requested part was read.
  returned: always
  type: bool
  sample: true
unread:
  description: Parts that could not be read, with the reasons. Passwords are removed.
  returned: always
  type: list
  elements: dict
  contains:
    part:
      description: The part, as a dotted name.
      type: str
    reason:
      description: Why it could not be read.
      type: str
  sample: [{part: cells.cell2.services, reason: "Can't connect to MySQL server on 'db2' (timed out)"}]
counts:
  description: Number of rows read, over all cells.
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
      description: Hosts that are mapped to a cell.
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
  description: Rights that a rename would need and that the database user does not have.
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
      description: Whether the database user may do it.
      type: bool
    error:
      description: The database's answer if the user may not.
      type: str
  sample: [{database: "cell:cell1", table: services, columns: [host], action: update, allowed: false,
    error: "UPDATE command denied to user 'reader'@'10.0.0.1' for table `nova`.`services` (1142)"}]
digest:
  description: SHA-256 of the result, without the time of reading.
  returned: always
  type: str
  sample: 9f2c1d6a7c4b8b6f4c2f8c0fbe1c3b8f6f0c7f0a9f5f6f3f0c5d5b7f9f2c1d6a
path:
  description: Path of the written file.
  returned: with O(evidence_dir)
  type: str
  sample: /run/stackguard-evidence/databases.json
databases:
  description: The result, with the content of C(databases.json).
  returned: without O(evidence_dir)
  type: dict
  contains:
    read_at:
      description: When it was read.
      type: str
    api:
      description: The content of the API database, such as host mappings and hosts of aggregates. It has C(location),
        C(revision), C(scope), C(host_mappings), C(aggregate_hosts), C(unread) and C(name_rows).
      type: dict
    cells:
      description: The content of each cell, such as services, compute nodes, instances and migrations. Each has
        C(name), C(uuid), C(location), C(revision), C(has_compute_id), C(scope), C(services), C(compute_nodes),
        C(instances), C(migrations), C(unread), C(dialect), C(collations) and C(name_rows).
      type: list
      elements: dict
    neutron:
      description: The agents in neutron's database, and with O(ovn_nb_connection) and O(hosts) the rows of their port
        bindings. It has C(location), C(scope), C(agents), C(unread) and C(bindings).
      type: dict
    grants:
      description: With O(probe_rename=true), each right that a rename needs, and whether the user has it.
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
          description: Whether the database user may do it.
          type: bool
        error:
          description: The database's answer if the user may not.
          type: str
    unread:
      description: Parts that could not be read.
      type: list
      elements: dict
      contains:
        part:
          description: The part, as a dotted name.
          type: str
        reason:
          description: Why it could not be read.
          type: str
    lock:
      description: With O(probe_rename=true), the runs that a database lock excludes. Keys are C(scope), C(reason).
      type: dict
    ovn:
      description: With O(ovn_nb_connection), what OVN's databases hold of O(hosts), or of the whole cloud. It has
        C(read_at), C(scope), C(chassis), C(port_bindings), C(switch_ports), C(gateways), C(connections), C(northd_ms),
        C(southbound) and C(unread).
      type: dict
  sample: {read_at: "2026-11-21T07:29:47+00:00", api: {}, cells: [], neutron: null, grants: null, unread: []}
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records.info_result import info_result
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.connection import ovn_spec
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, links, nova
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import reading


def unread(read: facts.DatabaseFacts) -> t.List[t.Dict[str, str]]:
    """Return everything unread, with its owner's name before the part's."""
    owners: t.List[t.Tuple[str, t.Any]] = [("", read), ("api.", read.api), ("neutron.", read.neutron)]
    owners += [("ovn.", read.ovn)]
    owners += [(f"cells.{cell.name}.", cell) for cell in read.cells or ()]
    return [
        {"part": prefix + item.part, "reason": item.reason}
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
