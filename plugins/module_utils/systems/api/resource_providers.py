# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Placement's resource providers: their trees, traits and consumers; renamed and deleted.

A change is guarded by what was read, and read back.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import facts
from ...model.errors import ApiError, Conflict
from . import http

Item = t.Mapping[str, t.Any]
#: Consumer to resource class to amount.
Allocations = t.Dict[str, t.Dict[str, int]]

#: The tree: root and parent.
PROVIDERS = "1.14"
PROVIDER_AGGREGATES = "1.19"
#: Who holds anything of a provider, and a provider of nobody.
CONSUMERS = "1.29"
#: A consumer's generation, and an allocation of nothing.
ALLOCATIONS = "1.28"
#: GET /resource_providers/{uuid}/traits: traits and the provider's generation, read together.
PROVIDER_TRAITS = "1.6"
#: Nova puts it on the provider of a host whose compute service is disabled (releases 26 to 34).
DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"


def provider_of(item: Item) -> facts.ResourceProvider:
    """Build a resource provider, without allocations and aggregates."""
    return facts.ResourceProvider(
        uuid=item["uuid"],
        name=item["name"],
        generation=item["generation"],
        root_provider_uuid=item.get("root_provider_uuid"),
        parent_provider_uuid=item.get("parent_provider_uuid"),
    )


def list_providers(connection: t.Any, **filters: str) -> t.List[facts.ResourceProvider]:
    """Return resource providers, by ``name``, ``in_tree`` or ``member_of`` if given (placement does not page)."""
    found = http.items(connection, http.PLACEMENT, "/resource_providers", "resource_providers", PROVIDERS, filters)
    return [provider_of(item) for item in found]


def provider_trees(connection: t.Any, uuids: t.Sequence[str]) -> t.List[facts.ResourceProvider]:
    """Return all providers of the trees that these are in, with their allocations and aggregates."""
    found: t.Dict[str, facts.ResourceProvider] = {}
    for uuid in uuids:
        if uuid not in found:
            found.update({provider.uuid: provider for provider in list_providers(connection, in_tree=uuid)})
    return [_complete(connection, found[uuid]) for uuid in sorted(found)]


def read_allocations(connection: t.Any, uuid: str) -> Allocations:
    """Return who holds what of a resource provider. Raises ApiError."""
    path = f"/resource_providers/{uuid}/allocations"
    found = http.call(connection, http.PLACEMENT, "GET", path, PROVIDERS)["allocations"]
    return {consumer: dict(entry["resources"]) for consumer, entry in found.items()}


def with_strays(
    connection: t.Any,
    providers: t.Sequence[facts.ResourceProvider],
    hosts: t.Mapping[str, t.Optional[str]],
    known: t.Mapping[str, t.Optional[str]],
    ask: t.Callable[[t.Sequence[str]], t.Mapping[str, t.Optional[facts.ApiServer]]],
) -> t.List[facts.ResourceProvider]:
    """Return all providers, those of compute nodes and what looks like one with what no server of their host holds.

    Placement has no list of allocations: one call for each provider, a few at the same time. Of a million servers only
    what is wrong is kept. ``hosts``: uuid of each compute node to its host; ``known``: the hosts of servers, as they
    were listed; ``ask``: returns consumers as the servers that they are now, None for no server. A server with a task
    is on its way, also without a migration: it is built, or unshelved. Raises ApiError.
    """
    roots = {provider.uuid: provider.root_provider_uuid or provider.uuid for provider in providers}
    others = sorted({root for root in roots.values() if root not in hosts})
    traits = http.each(others, lambda uuid: any(map(is_compute_trait, get_provider_traits(connection, uuid).traits)))
    asked = [uuid for uuid, root in roots.items() if root in hosts or traits.get(root)]
    held = http.each(asked, lambda uuid: read_allocations(connection, uuid))
    home = {uuid: hosts.get(roots[uuid]) for uuid in held}
    now = ask(sorted({key for uuid in held for key in held[uuid] if home[uuid] not in (None, known.get(key))}))

    def is_left(consumer: str, host: t.Optional[str]) -> bool:
        server = now.get(consumer)
        if host is None or consumer not in now:
            return host is None or known.get(consumer) != host
        # One that was listed and is gone was deleted meanwhile.
        return consumer not in known if server is None else server.task_state is None and server.host != host

    def strays(uuid: str) -> t.Optional[Allocations]:
        if uuid not in held:
            return None
        return {key: value for key, value in held[uuid].items() if is_left(key, home[uuid])}

    return [
        dataclasses.replace(provider, strays=strays(provider.uuid), has_compute_trait=traits.get(provider.uuid))
        for provider in providers
    ]


def is_compute_trait(name: str) -> bool:
    """Return True if nova-compute gives a trait to its provider (os_traits; virt/driver.py, CAPABILITY_TRAITS_MAP)."""
    return name.startswith("COMPUTE_")


def _complete(connection: t.Any, provider: facts.ResourceProvider) -> facts.ResourceProvider:
    base = f"/resource_providers/{provider.uuid}"
    allocations = read_allocations(connection, provider.uuid)
    aggregates = http.call(connection, http.PLACEMENT, "GET", f"{base}/aggregates", PROVIDER_AGGREGATES)["aggregates"]
    return facts.ResourceProvider(
        uuid=provider.uuid,
        name=provider.name,
        generation=provider.generation,
        root_provider_uuid=provider.root_provider_uuid,
        parent_provider_uuid=provider.parent_provider_uuid,
        allocations=allocations,
        aggregates=sorted(aggregates),
    )


def aggregate_members(connection: t.Any, aggregates: t.Sequence[facts.ApiAggregate]) -> t.Dict[str, t.List[str]]:
    """Provider uuid to the uuids of its aggregates: one call for each aggregate, not one for each provider."""
    found: t.Dict[str, t.List[str]] = {}
    for uuid in sorted(aggregate.uuid for aggregate in aggregates if aggregate.uuid):
        for provider in list_providers(connection, member_of=uuid):
            found.setdefault(provider.uuid, []).append(uuid)
    return found


def with_members(
    provider: facts.ResourceProvider, members: t.Optional[t.Mapping[str, t.List[str]]]
) -> facts.ResourceProvider:
    """Return a provider with its aggregates, as :func:`aggregate_members` found them; None: they were not read."""
    if members is None:
        return provider
    return facts.ResourceProvider(
        provider.uuid,
        provider.name,
        provider.generation,
        provider.root_provider_uuid,
        provider.parent_provider_uuid,
        None,
        members.get(provider.uuid, []),
    )


@dataclasses.dataclass(frozen=True)
class ProviderTraits:
    """A resource provider's traits, and the generation that they were read at."""

    generation: int
    traits: t.FrozenSet[str]


def get_provider(connection: t.Any, uuid: str) -> facts.ResourceProvider:
    """Return one resource provider, without allocations. Raises :class:`ApiError`, status 404 where there is none."""
    path = f"/resource_providers/{uuid}"
    return provider_of(http.call(connection, http.PLACEMENT, "GET", path, PROVIDERS))


def get_provider_traits(connection: t.Any, uuid: str) -> ProviderTraits:
    """Return a resource provider's traits and generation. Raises :class:`ApiError`, status 404 where there is none."""
    path = f"/resource_providers/{uuid}/traits"
    answer = http.call(connection, http.PLACEMENT, "GET", path, PROVIDER_TRAITS)
    try:
        return ProviderTraits(int(answer["resource_provider_generation"]), frozenset(answer["traits"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ApiError(
            f"GET placement {path}: the answer cannot be parsed: {error}", problem="get-placement-answer"
        ) from None


def rename_provider(connection: t.Any, uuid: str, before: str, after: str) -> facts.ResourceProvider:
    """Give a resource provider a new name; uuid, parent, inventory and allocations stay. Returns it as read back.

    Raises :class:`Conflict` where it is gone, has neither name, or the new name is taken; :class:`ApiError`.
    """
    provider = _existing_provider(connection, uuid)
    if provider.name == after:
        return provider
    if provider.name != before:
        raise Conflict(
            f"resource provider {uuid} has the name {provider.name!r}, expected {before!r}",
            uuid=uuid,
            expected=before,
            found=provider.name,
            problem="resource-provider-name",
        )
    # A name without the parent would be understood as taking the child out of its tree, and refused.
    body = {"name": after, "parent_provider_uuid": provider.parent_provider_uuid}
    try:
        http.call(connection, http.PLACEMENT, "PUT", f"/resource_providers/{uuid}", PROVIDERS, body=body)
    except ApiError as error:
        if error.data.get("status") in (404, 409):
            raise Conflict(f"resource provider {uuid} cannot be renamed to {after!r}: {error}", uuid=uuid) from None
        raise
    provider = _existing_provider(connection, uuid)
    if provider.name != after:
        raise ApiError(f"resource provider {uuid} still has the name {provider.name!r}")
    return provider


def _existing_provider(connection: t.Any, uuid: str) -> facts.ResourceProvider:
    try:
        return get_provider(connection, uuid)
    except ApiError as error:
        if error.data.get("status") == 404:
            raise Conflict(f"resource provider {uuid} no longer exists", uuid=uuid, problem="no-provider") from None
        raise


def provider_aggregates(connection: t.Any, provider: str) -> t.Optional[t.List[str]]:
    """Return the aggregates of a resource provider; None where placement has no such provider."""
    answer = http.get_or_none(connection, http.PLACEMENT, f"/resource_providers/{provider}/aggregates", CONSUMERS)
    return None if answer is None else list(answer["aggregates"])


def provider_consumers(connection: t.Any, provider: str) -> t.Optional[t.List[str]]:
    """Return who holds anything of a resource provider; None where placement has no such provider."""
    answer = http.get_or_none(connection, http.PLACEMENT, f"/resource_providers/{provider}/allocations", CONSUMERS)
    return None if answer is None else sorted(answer["allocations"])


def consumer_allocations(connection: t.Any, consumer: str) -> Allocations:
    """Return what a consumer holds, by resource provider: nothing of one that placement does not know."""
    now = http.call(connection, http.PLACEMENT, "GET", f"/allocations/{consumer}", ALLOCATIONS)
    return {uuid: dict(entry["resources"]) for uuid, entry in (now.get("allocations") or {}).items()}


def release_allocation(connection: t.Any, consumer: str, provider: str, resources: t.Mapping[str, int]) -> bool:
    """Take from a consumer what it holds of one provider; return whether it held it. All else that it holds stays.

    Guarded by the consumer's generation. Raises :class:`Conflict` where it holds something else than ``resources``, or
    changes meanwhile; :class:`ApiError`.
    """
    path = f"/allocations/{consumer}"
    now = http.call(connection, http.PLACEMENT, "GET", path, ALLOCATIONS)
    held = now.get("allocations") or {}
    if provider not in held:
        return False
    if held[provider]["resources"] != dict(resources):
        raise Conflict(
            f"consumer {consumer} holds {held[provider]['resources']} of resource provider {provider}, expected "
            f"{dict(resources)}",
            problem="allocation-changed",
        )
    rest = {uuid: {"resources": entry["resources"]} for uuid, entry in held.items() if uuid != provider}
    kept = {key: now[key] for key in ("consumer_generation", "project_id", "user_id")}
    try:
        http.call(connection, http.PLACEMENT, "PUT", path, ALLOCATIONS, body={**kept, "allocations": rest})
    except ApiError as error:
        if error.data.get("status") == 409:
            raise Conflict(f"the allocation of {consumer} has changed: {error}", problem="allocation-changed") from None
        raise
    if provider in (http.call(connection, http.PLACEMENT, "GET", path, ALLOCATIONS).get("allocations") or {}):
        raise ApiError(f"consumer {consumer} still has an allocation of resource provider {provider}")
    return True


def delete_provider(connection: t.Any, provider: str) -> None:
    """Delete a resource provider of which nobody holds anything: placement refuses any other."""
    http.delete_if_there(connection, http.PLACEMENT, f"/resource_providers/{provider}", CONSUMERS)
