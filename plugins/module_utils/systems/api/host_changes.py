# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The OpenStack APIs: guarded, idempotent changes; reads are in C(systems/api/reads.py), their names are here too.

Every change looks first: what is already as wanted is left alone, and what is neither as it was read nor as wanted
is a :class:`Conflict`. Every change is read back. Every request says its microversion.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t
from concurrent import futures

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, reads
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.connection import connect
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.reads import (
    list_agents,
    list_ports,
    read_cloud,
)

#: PUT /os-services/{uuid}: status and reason in one body.
SERVICE_UPDATE = "2.53"
#: GET /resource_providers/{uuid}/traits: traits and the provider's generation, read together.
PROVIDER_TRAITS = "1.6"
#: Nova puts it on the provider of a host whose compute service is disabled (releases 26 to 34).
DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"
#: Requests to neutron at the same time, and ports between two calls of ``between``.
PARALLEL_PORTS = 8
PORTS_BETWEEN = 32
#: How often a port may change under our hands before that is an error: agents and Nova write to it as well.
REVISION_TRIES = 5
#: vif types that mean: no traffic.
FAILED_BINDINGS = ("binding_failed", "unbound", None)

Between = t.Callable[[], None]


@dataclasses.dataclass(frozen=True)
class ProviderTraits:
    """A resource provider's traits, and the generation that they were read at."""

    generation: int
    traits: t.FrozenSet[str]


@dataclasses.dataclass(frozen=True)
class Rebound:
    """Ports bound anew, ports that were so already, and ids of ports deleted meanwhile."""

    changed: int
    already: int
    gone: t.List[str] = dataclasses.field(default_factory=list)


# --- compute services -----------------------------------------------------------------------------------------


def get_service(connection: t.Any, service_id: str) -> facts.ApiService:
    """Return one compute service by uuid (the API has no call for a single one). Raises :class:`ApiError`."""
    for item in reads.raw_services(connection):
        if item.get("id") == service_id:
            return reads.service_of(item)
    raise ApiError(f"no compute service {service_id}", status=404, service=http.COMPUTE)


#: Status and reason of a compute service.
Status = t.Tuple[str, t.Optional[str]]


def set_service_status(
    connection: t.Any,
    service_id: str,
    status: str,
    reason: t.Optional[str] = None,
    leaving: t.Optional[Status] = None,
) -> facts.ApiService:
    """Enable or disable a compute service and return it as read back. An enabled service has no reason.

    ``leaving``: what it must be now, where it is not yet as wanted; None: whatever it is. Raises :class:`Conflict`
    where someone has disabled or enabled it meanwhile, :class:`ApiError` also where it is not as wanted afterwards.
    """
    wanted = (status, reason if status == "disabled" else None)
    service = get_service(connection, service_id)
    found = (service.status, service.disabled_reason)
    if found == wanted:
        return service
    if leaving is not None and found != leaving:
        raise Conflict(
            f"the compute service of {service.host} was changed by another user: it is {_status(found)}, expected "
            f"{_status(leaving)}. Set it back, or to {_status(wanted)}",
            service=service_id,
            expected=leaving,
            found=found,
        )
    body = {"status": status}
    if wanted[1]:
        body["disabled_reason"] = wanted[1]
    http.call(connection, http.COMPUTE, "PUT", f"/os-services/{service_id}", SERVICE_UPDATE, body=body)
    service = get_service(connection, service_id)
    if (service.status, service.disabled_reason) != wanted:
        raise ApiError(f"compute service {service_id} is {service.status} ({service.disabled_reason}), not {status}")
    return service


def _status(status: Status) -> str:
    return f"{status[0]} ({status[1]})" if status[1] else status[0]


def wait_service_up(
    connection: t.Any,
    service_id: str,
    since: t.Optional[str],
    timeout: float,
    on_poll: t.Callable[[facts.ApiService], None] = lambda _service: None,
    interval: float = 2.0,
) -> facts.ApiService:
    """Wait until a compute service is up with a heartbeat other than ``since`` (its earlier C(updated_at)).

    ``on_poll`` sees each answer and may raise to end the wait. Raises :class:`ApiError` after ``timeout`` seconds.
    """
    end = time.monotonic() + timeout
    while True:
        service = get_service(connection, service_id)
        on_poll(service)
        if service.state == "up" and service.updated_at != since:
            return service
        if time.monotonic() >= end:
            raise ApiError(f"compute service {service_id} of {service.host} is {service.state} after {int(timeout)} s")
        time.sleep(interval)


def delete_service(connection: t.Any, service_id: str) -> None:
    """Delete a compute service: Nova removes its aggregate memberships, provider, host mapping and node too.

    Nova refuses (409) while the host has instances or open migrations. A service that is gone already is fine.
    Stop nova-compute first, or it comes back. Raises :class:`ApiError`.
    """
    try:
        http.call(connection, http.COMPUTE, "DELETE", f"/os-services/{service_id}", SERVICE_UPDATE)
    except ApiError as error:
        if error.data.get("status") != 404:
            raise


def refresh_aggregate(connection: t.Any, aggregate_id: int) -> None:
    """Have the API send an aggregate to all schedulers anew, changing nothing: they keep hosts of aggregates in memory.

    Schedulers load aggregates when they start and afterwards learn of changes only by RPC from the aggregates API
    (C(scheduler/host_manager.py), C(update_aggregates)). Setting no metadata at all makes the API read the aggregate
    from the database and send just that (C(compute/api.py), C(update_aggregate_metadata); releases 26 to 34).
    Raises :class:`ApiError`.
    """
    body: t.Dict[str, t.Any] = {"set_metadata": {"metadata": {}}}
    http.call(connection, http.COMPUTE, "POST", f"/os-aggregates/{aggregate_id}/action", reads.AGGREGATES, body=body)


# --- resource providers ---------------------------------------------------------------------------------------


def get_provider(connection: t.Any, uuid: str) -> facts.ResourceProvider:
    """Return one resource provider, without allocations. Raises :class:`ApiError`, status 404 where there is none."""
    path = f"/resource_providers/{uuid}"
    return reads.provider_of(http.call(connection, http.PLACEMENT, "GET", path, reads.PROVIDERS))


def get_provider_traits(connection: t.Any, uuid: str) -> ProviderTraits:
    """Return a resource provider's traits and generation. Raises :class:`ApiError`, status 404 where there is none."""
    path = f"/resource_providers/{uuid}/traits"
    answer = http.call(connection, http.PLACEMENT, "GET", path, PROVIDER_TRAITS)
    try:
        return ProviderTraits(int(answer["resource_provider_generation"]), frozenset(answer["traits"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ApiError(f"GET placement {path}: the answer cannot be parsed: {error}") from None


def rename_provider(connection: t.Any, uuid: str, before: str, after: str) -> facts.ResourceProvider:
    """Give a resource provider a new name; uuid, parent, inventory and allocations stay. Returns it as read back.

    Raises :class:`Conflict` where it is gone, bears neither name, or the new name is taken; :class:`ApiError`.
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
        )
    # A name without the parent would be understood as taking the child out of its tree, and refused.
    body = {"name": after, "parent_provider_uuid": provider.parent_provider_uuid}
    try:
        http.call(connection, http.PLACEMENT, "PUT", f"/resource_providers/{uuid}", reads.PROVIDERS, body=body)
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
            raise Conflict(f"resource provider {uuid} no longer exists", uuid=uuid) from None
        raise


# --- ports ----------------------------------------------------------------------------------------------------


def rebind_port(
    connection: t.Any, port_id: str, before: str, after: str, vif_type: t.Optional[str] = None
) -> t.Optional[bool]:
    """Bind a port to another name of its host. True: bound anew; False: it was so already; None: it is gone.

    ``vif_type``: what the binding was before; afterwards it must be the same (default: as found, if it works).
    Guarded by neutron's revision number: a port that somebody else changes meanwhile is looked at again.
    Raises :class:`Conflict` where it is bound to neither name; :class:`ApiError` where the new binding failed: the
    name has no live agent then.
    """
    for _try in range(REVISION_TRIES):
        port = get_port(connection, port_id)
        if port is None:
            return None
        host, found = port.get("binding:host_id"), port.get("binding:vif_type")
        if host not in (before, after):
            raise Conflict(
                f"port {port_id} is bound to {host!r}, expected {before!r}", port=port_id, expected=before, found=host
            )
        expected = vif_type if vif_type is not None else found
        if host == after and (found == expected or expected in FAILED_BINDINGS):
            return False
        revision = port.get("revision_number")
        headers = {} if revision is None else {"If-Match": f"revision_number={revision}"}
        body = {"port": {"binding:host_id": after}}
        try:
            http.call(connection, http.NETWORK, "PUT", f"/ports/{port_id}", body=body, headers=headers)
        except ApiError as error:
            if error.data.get("status") == 412:
                continue
            if error.data.get("status") == 404:
                return None
            raise
        return _verify_binding(connection, port_id, after, expected)
    raise ApiError(f"others changed port {port_id} {REVISION_TRIES} times while the run tried to bind it to {after}")


def get_port(connection: t.Any, port_id: str) -> t.Optional[t.Dict[str, t.Any]]:
    """Return a port as neutron shows it; None: there is no such port. Raises :class:`ApiError`."""
    try:
        return dict(http.call(connection, http.NETWORK, "GET", f"/ports/{port_id}")["port"])
    except ApiError as error:
        if error.data.get("status") == 404:
            return None
        raise


def _verify_binding(connection: t.Any, port_id: str, host: str, expected: t.Optional[str]) -> t.Optional[bool]:
    port = get_port(connection, port_id)
    if port is None:
        return None
    found = port.get("binding:vif_type")
    if port.get("binding:host_id") != host or (found != expected and expected not in FAILED_BINDINGS):
        why = "; no live network agent of that name?" if found in FAILED_BINDINGS else ""
        raise ApiError(
            f"port {port_id} on {port.get('binding:host_id')} is now {found}, it was {expected}{why}",
            port=port_id,
            vif_type=found,
        )
    return True


def rebind_ports(
    connection: t.Any,
    ports: t.Sequence[t.Mapping[str, t.Any]],
    before: str,
    after: str,
    between: Between = lambda: None,
) -> Rebound:
    """Bind many ports (``{"id", "vif_type"}``) to another name of their host, several at a time.

    ``between`` is called before each batch: heartbeats of agents that do not run must stay fresh. The first port goes
    alone: a name without a live agent shows on it. The first failure ends it: ports already asked for are finished,
    no other is begun. Raises as :func:`rebind_port`; whatever was done is done again, or taken back, by the same call.
    """
    results: t.List[t.Tuple[str, t.Optional[bool]]] = []
    with futures.ThreadPoolExecutor(PARALLEL_PORTS) as threads:
        for batch in _batches(ports):
            between()
            asked = [
                threads.submit(rebind_port, connection, str(port["id"]), before, after, port.get("vif_type"))
                for port in batch
            ]
            futures.wait(asked, return_when=futures.FIRST_EXCEPTION)
            if any(one.done() and one.exception() for one in asked):
                for one in asked:
                    one.cancel()
            results += [(str(port["id"]), one.result()) for port, one in zip(batch, _first_failed(asked))]
    return Rebound(
        changed=sum(1 for _id, result in results if result),
        already=sum(1 for _id, result in results if result is False),
        gone=[port for port, result in results if result is None],
    )


def _batches(ports: t.Sequence[t.Mapping[str, t.Any]]) -> t.Iterator[t.Sequence[t.Mapping[str, t.Any]]]:
    if ports:
        yield ports[:1]
    for start in range(1, len(ports), PORTS_BETWEEN):
        yield ports[start : start + PORTS_BETWEEN]


def _first_failed(asked: t.Sequence[futures.Future[t.Optional[bool]]]) -> t.Sequence[futures.Future[t.Optional[bool]]]:
    """Raise the first real failure rather than the cancellation of another."""
    futures.wait(asked)
    for one in asked:
        if not one.cancelled():
            one.result()
    return asked


__all__ = [
    "ProviderTraits",
    "Rebound",
    "connect",
    "delete_service",
    "get_port",
    "get_provider",
    "get_provider_traits",
    "get_service",
    "list_agents",
    "list_ports",
    "read_cloud",
    "rebind_port",
    "rebind_ports",
    "refresh_aggregate",
    "rename_provider",
    "set_service_status",
    "wait_service_up",
]
