# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compute hosts with a copy of another one's identity, and originals that are silent or not in the inventory."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.tests.unit import builders


def without_rows(cloud, number):
    """A host that Nova does not know, and that has no domain."""
    name, node = f"compute{number}", builders.node(number)
    cloud = cloud.drop("services", {"host": name}).drop("compute_nodes", {"host": name})
    cloud = cloud.drop("instances", {"host": name}).drop("host_mappings", {"host": name})
    cloud = cloud.drop("aggregate_hosts", {"host": name}).drop("api_services", {"host": name})
    cloud = cloud.drop("hypervisors", {"id": node}).drop("providers", {"uuid": node})
    cloud = (
        cloud.drop("servers", {"host": name}).drop("agents", {"host": name}).drop("ports", {"binding_host_id": name})
    )
    cloud = cloud.change("aggregates", lambda row: name in row.hosts, hosts=[])
    cell = cloud.bundle.databases.cells[0]
    api = cloud.bundle.databases.api
    cloud = cloud.cell(1, name_rows=without_name(cell.name_rows, name))
    return cloud.api_db(name_rows=without_name(api.name_rows, name)).host(name, domains=[])


def without_name(tables, name):
    return {table: [row for row in rows if name not in row.values.values()] for table, rows in tables.items()}


def with_file(cloud, name, number):
    files = cloud.bundle.hosts[f"compute{number}"].compute_id_files
    return cloud.host(name, compute_id_files=files)


def clone(number=2, of=1, **options):
    """The machine of a host was cloned: names and addresses are its own, the file is not."""
    return with_file(without_rows(builders.healthy(**options), number), f"compute{number}", of)


def silent(cloud, number=1):
    """A host that was switched off, without guests: its service is down, and its agent is gone."""
    name, node = f"compute{number}", builders.node(number)
    cloud = cloud.change("api_services", {"host": name}, state="down").drop("agents", {"host": name})
    cloud = cloud.drop("instances", {"host": name}).drop("servers", {"host": name})
    return cloud.drop("ports", {"binding_host_id": name}).change("providers", {"uuid": node}, allocations={})


def absent(cloud, name="compute1"):
    """A host that the inventory does not have."""
    hosts = {key: value for key, value in cloud.bundle.hosts.items() if key != name}
    return builders.Cloud(dataclasses.replace(cloud.bundle, hosts=hosts))
