# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every place that stores the name of a compute host, in the order in which a rename changes them. Pure."""

from __future__ import annotations

import typing as t

from . import (
    api_aggregate_hosts,
    api_host_mappings,
    cell_compute_nodes,
    cell_instances,
    cell_migrations,
    cell_services,
    compute_api,
    host_itself,
    left_alone,
    message_queues,
    neutron_agents,
    neutron_bindings,
    neutron_ports,
    ovn_ports,
    placement_providers,
)
from .place import NamePlace, NameTable

PLACES: t.Tuple[NamePlace, ...] = (
    cell_services.PLACE,
    cell_compute_nodes.PLACE,
    cell_instances.PLACE,
    cell_migrations.PLACE,
    api_host_mappings.PLACE,
    api_aggregate_hosts.PLACE,
    compute_api.PLACE,
    placement_providers.PLACE,
    neutron_agents.PLACE,
    neutron_ports.PLACE,
    ovn_ports.PLACE,
    neutron_bindings.PLACE,
    host_itself.PLACE,
    message_queues.PLACE,
    left_alone.PLACE,
)


def in_database(database: str) -> t.List[NamePlace]:
    """Return the places that are tables of ``cell``, ``api`` or ``neutron``."""
    return [place for place in PLACES if place.table is not None and place.table.database == database]


def written(database: str) -> t.Dict[str, t.Tuple[str, ...]]:
    """Return the tables of a database that a rename writes, with the columns."""
    found: t.Dict[str, t.Tuple[str, ...]] = {}
    for table in _tables(database):
        found[table.table] = tuple(dict.fromkeys((*found.get(table.table, ()), *table.columns, *table.beside)))
    return found


def declared(database: str) -> t.Dict[str, NameTable]:
    """Return the tables of a database that are read as their places declare, and by no reader of their own."""
    return {table.table: table for table in _tables(database) if table.reads}


def _tables(database: str) -> t.List[NameTable]:
    return [place.table for place in in_database(database) if place.table is not None]
