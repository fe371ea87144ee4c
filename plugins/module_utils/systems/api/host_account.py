# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is on a host, by more than one source: Nova's lists, placement, and cells that do not answer."""

from __future__ import annotations

import dataclasses
import typing as t

from ...capacity import placement
from ...model import facts
from ...model.errors import ApiError
from . import (
    compute_services,
    http,
    hypervisors,
    migration_records,
    resource_providers,
    server_records,
)


@dataclasses.dataclass(frozen=True)
class Account:
    """Who is on a host, by more than one source."""

    #: Uuids that the list of the host's servers has.
    listed: t.List[str]
    #: Consumers of its resource providers that no list explains, each with what Nova says of it.
    unlisted: t.Dict[str, str]
    #: Consumers of its providers that Nova is about to put on it, by a build, an unshelve or a move; what Nova says.
    coming: t.Dict[str, str]
    #: Soft-deleted servers: uuid to name.
    soft_deleted: t.Dict[str, str]
    #: Hosts whose cell does not answer, and uuids of servers of which Nova shows only that they exist.
    cells_down: t.List[str]

    @property
    def empty(self) -> bool:
        """Whether nobody is on the host, by all sources."""
        return not (self.listed or self.unlisted or self.coming or self.soft_deleted or self.cells_down)


def account_of(connection: t.Any, host: str, cloud: t.Optional[facts.CloudFacts] = None) -> Account:
    """Return who is on a host by Nova's lists, by placement, and by what Nova says of cells that do not answer.

    Nova lists no soft-deleted servers, either. ``cloud``: narrowed to the host, read just before; None: read now.
    Raises :class:`ApiError`.
    """
    servers = None if cloud is None else placement.guests_of(cloud, host)
    down: t.Set[str] = set()
    if servers is None:
        found = server_records.list_servers(connection, server_records.SERVERS, [host])
        servers, down = found.servers, set(found.silent)
    listed = [server.id for server in servers]
    down |= compute_services.silent_hosts(compute_services.raw_services(connection))
    # Without paging and filters Nova names the servers of such a cell, unless [api] max_limit servers answer already.
    records = http.items(
        connection, http.COMPUTE, "/servers", "servers", compute_services.SERVICES, {"all_tenants": "1"}
    )
    down |= {str(item["id"]) for item in records if item.get("status") == facts.CELL_DOWN}
    deleted = server_records.soft_deleted(connection, host)
    strange = sorted(_consumers(connection, host, cloud) - set(listed) - set(deleted))
    said = http.each(strange, lambda uuid: _explained(connection, uuid, host))
    unlisted, coming = ({uuid: why for uuid, (kind, why) in said.items() if kind == each} for each in (STRANGE, COMING))
    return Account(sorted(listed), unlisted, coming, deleted, sorted(down))


def consumers_of_cloud(connection: t.Any) -> t.Set[str]:
    """Return who holds anything of any resource provider: servers and migrations. One request for each provider."""
    uuids = sorted(provider.uuid for provider in resource_providers.list_providers(connection))
    held = http.each(uuids, lambda uuid: resource_providers.provider_consumers(connection, uuid))
    return {consumer for consumers in held.values() for consumer in consumers or ()}


def _consumers(connection: t.Any, host: str, cloud: t.Optional[facts.CloudFacts]) -> t.Set[str]:
    """Return who holds anything of the host's provider tree. A host without a node has no provider of its own."""
    if cloud is not None and cloud.providers is not None and cloud.hypervisors is not None:
        roots = [node.id for node in cloud.hypervisors if node.service_host == host]
        return {uuid for root in roots for uuid in placement.needs_of(cloud, root)}
    found: t.Set[str] = set()
    for node in hypervisors.list_hypervisors(connection):
        if node.service_host == host:
            for provider in resource_providers.list_providers(connection, in_tree=node.id):
                found |= set(resource_providers.provider_consumers(connection, provider.uuid) or ())
    return found


#: What a consumer is that no list of the host's servers has.
STRANGE, COMING, EXPLAINED = "strange", "coming", "explained"
#: Tasks of a server that may be on its way to another host than the one that Nova shows (compute/task_states.py).
_MOVING = ("resize_", "migrating")


def _explained(connection: t.Any, uuid: str, host: str) -> t.Tuple[str, str]:
    """Return what a consumer is that no list of the host's servers has, and what Nova says of it."""
    try:
        answer = http.call(connection, http.COMPUTE, "GET", f"/servers/{uuid}", compute_services.SERVICES)["server"]
    except ApiError as error:
        if error.data.get("status") != 404:
            return STRANGE, error.message
        # A migration holds what its server has left behind, or would come back to.
        params = {"host": host, "limit": 1000}
        rows = http.pages(
            connection,
            http.COMPUTE,
            "/os-migrations",
            "migrations",
            migration_records.MIGRATIONS,
            params,
            marker="uuid",
        )
        if any(row.get("uuid") == uuid for row in rows):
            return EXPLAINED, ""
        return STRANGE, "no server and no migration has this uuid"
    status, task, there = (answer.get(key) for key in ("status", "OS-EXT-STS:task_state", "OS-EXT-SRV-ATTR:host"))
    if status == facts.CELL_DOWN:
        return STRANGE, "the cell of this server does not answer"
    if there == host:
        return STRANGE, (
            f"Nova shows the server on {host} ({status}), but the server list of {host} does not contain the server"
        )
    if there is None or (task or "").startswith(_MOVING):
        # The scheduler has chosen this host, and the conductor has sent it a request.
        return COMING, f"Nova shows the server on {there or 'no host'} ({status}, task {task or 'none'})"
    return EXPLAINED, ""
