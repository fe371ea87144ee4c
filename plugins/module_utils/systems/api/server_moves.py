# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a drain asks of the APIs: where guests could go, and the calls that move them and register a host anew.

Each call bears an explicit microversion and none bears C(force): the scheduler checks every host that is named here.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.placement import PlacementTarget
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, reads
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.http import COMPUTE, NETWORK, PLACEMENT

#: Compute microversions. 2.84: events of an instance action say why they failed.
SERVERS = "2.53"
AGGREGATES = "2.41"
INSTANCE_ACTIONS = "2.84"
MIGRATIONS = "2.59"
#: A host named in a live migration is checked by the scheduler: always from 2.68, where C(force) is gone; before it
#: only where C(force) is false.
LIVE_NEW = "2.68"
LIVE_OLD = "2.30"
#: From 2.56 a cold migration takes a host.
COLD = "2.56"
#: Placement: nested providers in the summaries of allocation candidates.
CANDIDATES = "1.29"

Json = t.Dict[str, t.Any]


def _status(error: ApiError) -> t.Optional[int]:
    return t.cast("t.Optional[int]", error.data.get("status"))


def _or_none(connection: t.Any, service: str, path: str, microversion: t.Optional[str] = None) -> t.Optional[Json]:
    """Read one thing; None where there is none."""
    try:
        return http.call(connection, service, "GET", path, microversion)
    except ApiError as error:
        if _status(error) == 404:
            return None
        raise


# --- where guests could go ------------------------------------------------------------------------------------


def read_targets(connection: t.Any) -> t.List[PlacementTarget]:
    """Return every compute host of the cloud, with its zone and what placement would still give. Three reads in all."""
    nodes = {node.service_host: node for node in reads.list_hypervisors(connection)}
    free = free_capacity(connection)
    targets = []
    for service in _services(connection):
        node = nodes.get(service.host)
        if node is None:
            continue
        usable = service.state == "up" and service.status == "enabled" and not service.forced_down
        targets.append(
            PlacementTarget(service.host, node.hypervisor_hostname, node.id, service.zone, usable, free.get(node.id))
        )
    return sorted(targets, key=lambda target: target.host)


def _services(connection: t.Any) -> t.List[facts.ApiService]:
    # Those of a cell that does not answer come without an id: nothing can be sent there.
    return [reads.service_of(item) for item in reads.raw_services(connection) if item.get("id")]


def free_capacity(connection: t.Any) -> t.Dict[str, t.Dict[str, int]]:
    """Return root provider uuid to resource class to what is free. A provider with no memory left is not shown."""
    params = {"resources": "MEMORY_MB:1"}
    answer = http.call(connection, PLACEMENT, "GET", "/allocation_candidates", CANDIDATES, params=params)
    free: t.Dict[str, t.Dict[str, int]] = {}
    for uuid, summary in answer["provider_summaries"].items():
        held = free.setdefault(summary.get("root_provider_uuid") or uuid, {})
        for resource, amounts in summary["resources"].items():
            held[resource] = held.get(resource, 0) + amounts["capacity"] - amounts["used"]
    return free


# --- servers --------------------------------------------------------------------------------------------------


def servers_on(connection: t.Any, host: str) -> t.List[facts.ApiServer]:
    """Return every server of a host, of whatever project."""
    return reads.list_servers(connection, SERVERS, host)


def servers_since(connection: t.Any, host: t.Optional[str], since: t.Optional[str]) -> t.List[facts.ApiServer]:
    """Return the servers, of one host or of all, that changed since then, the deleted among them.

    ``since``: ISO 8601, by Nova's clock; None: all that exist.
    """
    params = {"all_tenants": "1", **({"host": host} if host else {}), **({"changes-since": since} if since else {})}
    items = http.pages(connection, COMPUTE, "/servers/detail", "servers", SERVERS, params)
    return [reads.server_of(item) for item in items]


def server_as_listed(connection: t.Any, uuid: str) -> t.Optional[facts.ApiServer]:
    """Return one server as the lists have it, or None where it is gone."""
    item = get_server(connection, uuid)
    return None if item is None else reads.server_of(item)


def get_server(connection: t.Any, uuid: str) -> t.Optional[Json]:
    """Return one server, or None where it is gone."""
    answer = _or_none(connection, COMPUTE, f"/servers/{uuid}", SERVERS)
    return None if answer is None else t.cast("Json", answer["server"])


def live_migrate(connection: t.Any, uuid: str, host: str) -> None:
    """Ask for a live migration to a host that the scheduler checks."""
    body: Json = {"host": host, "block_migration": "auto"}
    version = LIVE_NEW
    offered = http.max_microversion(connection, COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(LIVE_NEW):
        version = LIVE_OLD
        body["force"] = False
    _act(connection, uuid, {"os-migrateLive": body}, version)


def cold_migrate(connection: t.Any, uuid: str, host: str) -> None:
    """Ask for a cold migration to a host that the scheduler checks."""
    _act(connection, uuid, {"migrate": {"host": host}}, COLD)


def confirm(connection: t.Any, uuid: str) -> None:
    """Confirm a cold migration."""
    _act(connection, uuid, {"confirmResize": None}, COLD)


def revert(connection: t.Any, uuid: str) -> None:
    """Take a cold migration back that is not confirmed yet: the server returns to where it came from."""
    _act(connection, uuid, {"revertResize": None}, COLD)


def reset_state(connection: t.Any, uuid: str) -> None:
    """Have Nova say ACTIVE of a server. Nothing of the server itself is touched."""
    _act(connection, uuid, {"os-resetState": {"state": "active"}}, SERVERS)


def _act(connection: t.Any, uuid: str, body: Json, microversion: str) -> None:
    http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", microversion, body=body)


def progress(connection: t.Any, uuid: str) -> t.Optional[str]:
    """Return how far a live migration is, for people; None where there is none."""
    answer = _or_none(connection, COMPUTE, f"/servers/{uuid}/migrations", MIGRATIONS) or {}
    for migration in answer.get("migrations", []):
        total, done = migration.get("memory_total_bytes"), migration.get("memory_processed_bytes")
        if total:
            return f"{migration['status']}, {100 * (done or 0) // total} % of {total >> 20} MiB of memory"
        return str(migration["status"])
    return None


def last_migration(connection: t.Any, uuid: str) -> t.Optional[Json]:
    """Return a server's newest migration record."""
    params = {"instance_uuid": uuid, "limit": 1}
    answer = http.call(connection, COMPUTE, "GET", "/os-migrations", MIGRATIONS, params=params)
    found = answer.get("migrations", [])
    return t.cast("Json", found[0]) if found else None


def why(connection: t.Any, server: Json) -> str:
    """Return what Nova says of a server's newest action: its events, its message, the migration, the fault."""
    said: t.List[str] = []
    path = f"/servers/{server['id']}/os-instance-actions"
    try:
        actions = http.call(connection, COMPUTE, "GET", path, INSTANCE_ACTIONS)["instanceActions"]
        if actions:
            newest = f"{path}/{actions[0]['request_id']}"
            action = http.call(connection, COMPUTE, "GET", newest, INSTANCE_ACTIONS)["instanceAction"]
            failed = [event for event in action.get("events") or [] if event.get("result") == "Error"]
            said += [str(event.get("details") or event.get("event")) for event in failed]
            said.append(str(action.get("message") or ""))
        migration = last_migration(connection, server["id"])
        if migration is not None:
            said.append(f"migration {migration['status']}")
    except ApiError as error:
        said.append(f"(the reason could not be read: {error})")
    said.append(str((server.get("fault") or {}).get("message") or ""))
    return "; ".join(dict.fromkeys(" ".join(part.split()) for part in said if part)) or "Nova gives no reason"


# --- the host -------------------------------------------------------------------------------------------------


def find_service(connection: t.Any, host: str) -> t.Optional[facts.ApiService]:
    """Return the nova-compute service of a host, or None. Raises :class:`ApiError` where its cell does not answer."""
    for item in reads.raw_services(connection):
        if item.get("host") == host:
            if not item.get("id"):
                raise ApiError(f"the cell of compute service {host} does not answer")
            return reads.service_of(item)
    return None


def find_node(connection: t.Any, host: str) -> t.Optional[facts.ApiHypervisor]:
    """Return the node of a host: Nova shows it only once the host is mapped to a cell."""
    for node in reads.list_hypervisors(connection):
        if node.service_host == host:
            return node
    return None


def provider_aggregates(connection: t.Any, provider: str) -> t.Optional[t.List[str]]:
    """Return the aggregates of a resource provider; None where placement has no such provider."""
    answer = _or_none(connection, PLACEMENT, f"/resource_providers/{provider}/aggregates", CANDIDATES)
    return None if answer is None else list(answer["aggregates"])


def provider_consumers(connection: t.Any, provider: str) -> t.Optional[t.List[str]]:
    """Return who holds anything of a resource provider; None where placement has no such provider."""
    answer = _or_none(connection, PLACEMENT, f"/resource_providers/{provider}/allocations", CANDIDATES)
    return None if answer is None else sorted(answer["allocations"])


def delete_provider(connection: t.Any, provider: str) -> None:
    """Delete a resource provider of which nobody holds anything: placement refuses any other."""
    try:
        http.call(connection, PLACEMENT, "DELETE", f"/resource_providers/{provider}", CANDIDATES)
    except ApiError as error:
        if _status(error) != 404:
            raise


def aggregate(connection: t.Any, identity: int) -> Json:
    """Return one aggregate."""
    path = f"/os-aggregates/{identity}"
    return t.cast("Json", http.call(connection, COMPUTE, "GET", path, AGGREGATES)["aggregate"])


def join_aggregate(connection: t.Any, identity: int, host: str) -> None:
    """Put a host into an aggregate."""
    body = {"add_host": {"host": host}}
    http.call(connection, COMPUTE, "POST", f"/os-aggregates/{identity}/action", AGGREGATES, body=body)


def leave_aggregate(connection: t.Any, identity: int, host: str) -> None:
    """Take a host out of an aggregate."""
    body = {"remove_host": {"host": host}}
    http.call(connection, COMPUTE, "POST", f"/os-aggregates/{identity}/action", AGGREGATES, body=body)


# --- neutron --------------------------------------------------------------------------------------------------


def delete_agent(connection: t.Any, identity: str) -> None:
    """Delete an agent's record; one that is gone already will do."""
    try:
        http.call(connection, NETWORK, "DELETE", f"/agents/{identity}")
    except ApiError as error:
        if _status(error) != 404:
            raise
