# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads all that a removal judges, before it and again before each of its steps: what was read once proves nothing."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine import lifecycle, waiting_requests
from ..engine.systems import Systems
from ..model import facts
from ..model.errors import ApiError
from ..systems.api import cloud_facts, http, resource_providers
from ..systems.db import links, migrations, nova
from ..systems.ovn import reading
from . import preflight as checks

#: What is deleted as rows, where no API does it any more.
_DELETES = [("api", table, (), "delete") for table in ("host_mappings", "aggregate_hosts")]
_PARTS = tuple(part for part in cloud_facts.PARTS if part != "compute_max_microversion")


def read(systems: Systems, run: lifecycle.Run, names: t.Sequence[str]) -> checks.Found:
    """Return what every system says of these hosts now. What cannot be read is said. Raises DatabaseError."""
    options = systems.options
    nodes, uuids = _nodes(options, names)
    cloud = cloud_facts.read_cloud(systems.cloud, names, _PARTS, sorted(nodes), sorted(uuids))
    cloud = _with_traits(systems.cloud, cloud)
    consumers = sorted({key for row in cloud.providers or [] for key in row.allocations or {}})
    databases = nova.read_databases(options, sorted({*names, *nodes}), _DELETES, instance_uuids=consumers)
    if reading.given(options):
        databases = dataclasses.replace(databases, ovn=reading.read_ovn(options, names))
    bundle = facts.Bundle(
        schema=facts.SCHEMA,
        collected_at=databases.read_at,
        hosts={},
        unreachable={},
        cloud=cloud,
        databases=databases,
        links=links.read_links(options, sorted({*names, *nodes})),
    )
    ended = migrations.ended_migrations(options, consumers) if databases.cells is not None else {}
    listening = waiting_requests.listening(options, systems.cloud, names)
    return checks.Found(bundle, ended, lifecycle.open_journals(run), _closed(run, databases), listening)


def _nodes(options: t.Mapping[str, t.Any], names: t.Sequence[str]) -> t.Tuple[t.Set[str], t.Set[str]]:
    """Return names and uuids of the nodes that these hosts have or had: the API hides those without a service."""
    rows = [
        row
        for cell in nova.read_databases(options, names).cells or []
        for row in cell.compute_nodes or []
        if row.host in names
    ]
    return {str(row.hypervisor_hostname) for row in rows if row.hypervisor_hostname}, {
        str(row.uuid) for row in rows if row.uuid
    }


def _with_traits(connection: t.Any, cloud: facts.CloudFacts) -> facts.CloudFacts:
    """Return the providers with what tells those of nova-compute from others'. One whose traits were not read is none.

    Whoever holds anything of a host without a service is a stray.
    """
    if cloud.providers is None:
        return cloud
    roots = sorted({row.uuid for row in cloud.providers if row.root_provider_uuid in (None, row.uuid)})

    def is_compute(uuid: str) -> bool:
        traits = resource_providers.get_provider_traits(connection, uuid).traits
        return any(map(resource_providers.is_compute_trait, traits))

    try:
        traits = http.each(roots, is_compute)
    except ApiError as error:
        unread = [*cloud.unread, facts.Unread("providers", error.message)]
        return dataclasses.replace(cloud, providers=None, unread=unread)
    rows = [
        dataclasses.replace(row, strays=row.allocations, has_compute_trait=traits.get(row.uuid))
        for row in cloud.providers
    ]
    return dataclasses.replace(cloud, providers=rows)


def _closed(run: lifecycle.Run, databases: facts.DatabaseFacts) -> t.FrozenSet[str]:
    """Return the operations that hold a service of these hosts and are closed by their journals."""
    reasons = {row.disabled_reason or "" for cell in databases.cells or [] for row in cell.services or []}
    kinds = {reason.split(":")[1] for reason in reasons if reason.startswith("stackguard:") and ":" in reason}
    found = (entry for kind in sorted(kinds) for entry in lifecycle.closed_journals(run, kind))
    return frozenset(str(entry["operation_id"]) for entry in found)
