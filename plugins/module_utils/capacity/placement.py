# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which host of its zone takes which guest, and how each moves. Pure.

The zone of a host is what Nova makes of its aggregates, and what C(GET /os-services) shows. A guest goes to a host of
the zone that its own host is in: never to another, whether it is pinned or not.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiServer, CloudFacts, TargetHost

LIVE = "live"
COLD = "cold"

#: Server status to the way it moves; no other status can be moved (nova/compute/api.py, check_instance_state).
METHODS: t.Mapping[str, str] = {"ACTIVE": LIVE, "PAUSED": LIVE, "SHUTOFF": COLD}

#: Resource class to amount.
Amounts = t.Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class DrainOptions:
    """What an operator asks of a drain. ``timeout``: seconds for one guest; ``discover_timeout``: for the mapping."""

    parallel: int = 1
    bring_back: bool = False
    timeout: int = 3600
    discover_timeout: int = 120


@dataclasses.dataclass(frozen=True)
class PlannedMove:
    """A guest to be moved: how, what it takes, and the hosts to try, the best first."""

    uuid: str
    name: str
    status: str
    method: str
    candidates: t.List[str]


@dataclasses.dataclass(frozen=True)
class GuestWithoutRoom:
    """A guest that no host of the zone has room for."""

    uuid: str
    name: str
    needs: t.Dict[str, int]


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


def candidates(targets: t.Iterable[TargetHost], zone: t.Optional[str], leaving: t.Container[str]) -> t.List[TargetHost]:
    """Return the usable hosts of a zone, by name."""
    found = [target for target in targets if target.usable and target.zone == zone and target.host not in leaving]
    return sorted(found, key=lambda target: target.host)


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


def assign(
    servers: t.Sequence[ApiServer], needs: t.Mapping[str, Amounts], targets: t.Sequence[TargetHost]
) -> t.Tuple[t.List[PlannedMove], t.List[GuestWithoutRoom]]:
    """Spread guests over targets: the largest first, each to the host with most memory left after it.

    What one host cannot hold in total is seen beforehand: each guest is taken off its host's free capacity. The other
    hosts with room follow as second choice: the scheduler knows of group policies and more, and has the last word.
    """
    left: t.Dict[str, t.Dict[str, int]] = {target.host: dict(target.free or {}) for target in targets}
    guests, without_room = [], []
    for server in sorted(servers, key=lambda item: (*_size(needs.get(item.id, {})), item.id)):
        wanted = needs.get(server.id, {})
        order = _by_room(left, wanted)
        if not order:
            without_room.append(GuestWithoutRoom(server.id, server.name, dict(wanted)))
            continue
        for resource, amount in wanted.items():
            left[order[0]][resource] -= amount
        method = METHODS.get(server.status, COLD)
        guests.append(PlannedMove(server.id, server.name, server.status, method, order))
    return guests, without_room


def _size(amounts: Amounts) -> t.Tuple[int, int]:
    return -amounts.get("MEMORY_MB", 0), -amounts.get("VCPU", 0)


def _by_room(left: t.Mapping[str, Amounts], wanted: Amounts) -> t.List[str]:
    fitting = [host for host, free in left.items() if all(free.get(key, 0) >= value for key, value in wanted.items())]
    return sorted(fitting, key=lambda host: (-left[host].get("MEMORY_MB", 0), -left[host].get("VCPU", 0), host))
