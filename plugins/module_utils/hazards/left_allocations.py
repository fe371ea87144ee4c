# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves and removed hosts left in placement: allocations, and providers without a compute node. SG713. Pure.

A resize whose confirmation failed keeps the allocation of its migration on the source, an evacuation that of its
server until its source starts (nova/compute/manager.py, 27 to 34). The host looks full, and a deletion of its compute
service keeps its provider (nova/scheduler/client/report.py, delete_resource_provider, which swallows
ResourceProviderInUse). Such a provider makes the next nova-compute of that name fail to create its own.
"""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import CloudFacts, ResourceProvider
from ..model.findings import WARNING, Subject, Unchecked, finding
from ..model.lookups import Index, Items, uuid_key
from ..model.wording import count

#: Consumers that a finding names.
SHOWN = 10


def check(index: Index) -> Items:
    """SG713 of each provider that holds what nobody needs, and of each root provider without a compute node."""
    cloud = index.bundle.cloud
    if cloud is None or cloud.providers is None or cloud.scope:
        return
    why = _unread(index, cloud)
    if why is not None:
        yield Unchecked("SG713", "allocations", why)
        return
    moving = {uuid_key(row.uuid) for _place, row in index.migrations if row.uuid}
    strange: t.List[str] = []
    for provider in cloud.providers:
        held = _unneeded(index, provider, moving)
        if provider.has_compute_trait and not _is_node(index, provider):
            if _was_node(index, provider):
                yield _finding(index, provider, provider.strays or {}, "provider-without-node")
            else:
                strange.append(f"{provider.name} ({provider.uuid})")
        elif held and provider.has_compute_trait is None:
            yield _finding(index, provider, held, "allocation")
    if strange:
        # A row that was archived, a cell that was not read, or another region: who uses it is not known here.
        shown = f"{', '.join(strange[:SHOWN])}{', ...' if len(strange) > SHOWN else ''}"
        why = f"no cell has a compute node of {count(len(strange), 'resource provider')} with traits of nova-compute"
        yield Unchecked("SG713", "resource providers", f"{why}: {shown}")


def _unread(index: Index, cloud: CloudFacts) -> t.Optional[str]:
    """Return why the allocations are not known; None: they are."""
    for entry in cloud.unread:
        if entry.part == "providers.strays":
            return entry.reason
    if any(row.strays is None and uuid_key(row.uuid) in index.nodes_by_uuid for row in cloud.providers or []):
        return "the allocations of all resource providers were not read"
    return None if index.migrations_read else "the migrations were not read"


def _unneeded(index: Index, provider: ResourceProvider, moving: t.Container[str]) -> t.Dict[str, t.Dict[str, int]]:
    """Return the allocations whose consumer neither moves nor is a server that moves."""
    return {
        consumer: amounts
        for consumer, amounts in (provider.strays or {}).items()
        if uuid_key(consumer) not in moving and not index.migrations_by_instance.get(consumer)
    }


def _is_node(index: Index, provider: ResourceProvider) -> bool:
    """Return True if the provider, or the root of its tree, is a compute node's of any cell that was read."""
    roots = (provider.root_provider_uuid or provider.uuid, provider.uuid)
    return any(uuid_key(uuid) in index.node_rows_by_uuid for uuid in roots)


def _was_node(index: Index, provider: ResourceProvider) -> bool:
    """Return True if the provider's uuid was a compute node's of Nova, and is none's now, in any cell."""
    if not index.cells_read("compute_nodes") or index.narrowed:
        return False
    return uuid_key(provider.uuid) in index.deleted_node_uuids


def _finding(index: Index, provider: ResourceProvider, held: t.Mapping[str, t.Mapping[str, int]], state: str) -> t.Any:
    homes = index.server_hosts
    shown = [
        {"consumer": key, "Nova's host": homes.get(key, "no server of this uuid"), **held[key]}
        for key in sorted(held)[:SHOWN]
    ]
    evidence = {"consumers": shown, "number": len(held)}
    first = next(iter(sorted(held)), "CONSUMER")
    remedy = remedy_text("SG713", state, provider=provider.uuid, consumer=first)
    return finding("SG713", Subject("resource_provider", provider.uuid, provider.name), evidence, remedy, WARNING)
