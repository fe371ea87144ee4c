# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a server moves, which servers and which zone a host has, and what each server holds in placement. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import ApiServer, CloudFacts

LIVE = "live"
COLD = "cold"

#: Server status to the way it moves; no other status can be moved (nova/compute/api.py, check_instance_state).
METHODS: t.Mapping[str, str] = {"ACTIVE": LIVE, "PAUSED": LIVE, "SHUTOFF": COLD}


@dataclasses.dataclass(frozen=True)
class DrainOptions:
    """What an operator asks of a drain. ``timeout``: seconds for one guest; ``discover_timeout``: for the mapping."""

    parallel: int = 1
    bring_back: bool = False
    timeout: int = 3600
    discover_timeout: int = 120


def guests_of(cloud: CloudFacts, host: str) -> t.Optional[t.List[ApiServer]]:
    """Return the servers of a host, by uuid; None where they were not read."""
    if cloud.servers is None:
        return None
    return sorted((server for server in cloud.servers if server.host == host), key=lambda server: server.id)


def zone_of(cloud: CloudFacts, host: str) -> t.Optional[str]:
    """Return the zone that Nova shows for a compute host."""
    for service in cloud.services or []:
        if service.host == host and service.binary == "nova-compute":
            return service.zone
    return None


def needs_of(cloud: CloudFacts, root: str) -> t.Dict[str, t.Dict[str, int]]:
    """Return what each consumer holds of a provider tree: consumer uuid to resource class to amount."""
    needs: t.Dict[str, t.Dict[str, int]] = {}
    for provider in cloud.providers or []:
        if provider.uuid != root and provider.root_provider_uuid != root:
            continue
        for consumer, amounts in (provider.allocations or {}).items():
            held = needs.setdefault(consumer, {})
            for resource, amount in amounts.items():
                held[resource] = held.get(resource, 0) + amount
    return needs


def held_by(cloud: CloudFacts, servers: t.Iterable[ApiServer]) -> t.Dict[str, t.Dict[str, int]]:
    """Return what each server holds of its own host's providers; one of which nothing is known is not here."""
    trees = {node.service_host: node.id for node in cloud.hypervisors or []}
    held = {host: needs_of(cloud, tree) for host, tree in trees.items() if host is not None}
    return {
        server.id: held[server.host][server.id]
        for server in servers
        if server.host is not None and server.id in held.get(server.host, {})
    }
