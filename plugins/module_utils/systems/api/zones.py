# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What zone-preserving moves ask of the APIs: zones, pins, what placement offers within a zone; and the calls.

Every call bears its microversion. A server's pin is shown from 2.96 on (release 29) and written from 2.104 on (34).
"""

from __future__ import annotations

import datetime
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import measured
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import evacuations, http, reads, server_moves
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.http import COMPUTE, PLACEMENT
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import request_specs

PIN_SHOWN = "2.96"
PIN_WRITTEN = "2.104"
#: Flavors with their extra specs.
FLAVORS = "2.61"
#: A resize means the same in every microversion; of this one the answers are known.
RESIZE = server_moves.SERVERS
VOLUME = "block_storage"
_VOLUME_TYPES = ("block-storage", "block-store", "volumev3", "volume")

Json = t.Dict[str, t.Any]
_T = t.TypeVar("_T")


# --- reading --------------------------------------------------------------------------------------------------


def read_zones(
    connection: t.Any,
    servers: t.Sequence[facts.ApiServer],
    api_db_url: t.Optional[str] = None,
    flavor: t.Optional[facts.ServerFlavor] = None,
    whole: bool = True,
) -> facts.ZoneFacts:
    """Read what decides in which zone these servers stay. ``flavor``: what they shall be; None: what they are.

    ``whole`` False, for many servers: without their volumes and placement's offers, each of which is a call.
    Never raises for a part that cannot be read: see ``unread``. ``servers``: as :func:`find_servers` returns them.
    """
    unread: t.List[facts.Unread] = []

    def part(name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        try:
            return read()
        except (ApiError, DatabaseError) as error:
            unread.append(facts.Unread(name, error.message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.append(facts.Unread(name, f"the answer cannot be parsed: {type(error).__name__} {error}"))
        return None

    offered = part("microversion", lambda: http.max_microversion(connection, COMPUTE))
    services = part("services", lambda: _services(connection))
    aggregates = part("aggregates", lambda: reads.list_aggregates(connection))
    pins, pins_from = None, None
    if offered is not None and _at_least(offered, PIN_SHOWN):
        pins, pins_from = {server.id: server.pinned_availability_zone for server in servers}, "compute API"
    elif api_db_url:
        uuids = [server.id for server in servers]
        pins = part("pins", lambda: request_specs.read_zones(str(api_db_url), uuids))
        pins_from = "API database"
    else:
        unread.append(
            facts.Unread("pins", f"microversion {offered} does not show them, and nova_api_db_url is not set")
        )
    found = None
    if whole and aggregates is not None and services is not None:
        places = aggregates, services
        found = part("offers", lambda: _offers(connection, servers, flavor, *places))
    return facts.ZoneFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        compute_max_microversion=offered,
        services=services,
        hypervisors=part("hypervisors", lambda: reads.list_hypervisors(connection)),
        aggregates=aggregates,
        members=part("members", lambda: _members(connection, aggregates or [])) if aggregates is not None else None,
        servers=list(servers),
        pins=pins,
        pins_from=pins_from,
        volumes=part("volumes", lambda: _volumes(connection, servers)) if whole else None,
        offers=found,
        unread=unread,
    )


def _at_least(offered: str, wanted: str) -> bool:
    return releases.microversion_tuple(offered) >= releases.microversion_tuple(wanted)


def _services(connection: t.Any) -> t.List[facts.ApiService]:
    # A service of a cell that does not answer has no id: nothing can be sent there.
    return [reads.service_of(item) for item in reads.raw_services(connection) if item.get("id")]


def _members(connection: t.Any, aggregates: t.Sequence[facts.ApiAggregate]) -> t.Dict[str, t.List[str]]:
    zoned = sorted(item.uuid for item in aggregates if item.uuid and item.availability_zone)
    return {
        uuid: sorted(provider.uuid for provider in reads.list_providers(connection, member_of=uuid)) for uuid in zoned
    }


def _volumes(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.Dict[str, t.Optional[str]]:
    wanted = sorted({volume for server in servers for volume in server.volumes})
    if not wanted:
        return {}
    if not set(reads.list_catalog(connection)) & set(_VOLUME_TYPES):
        raise ApiError("the catalogue has no block storage service")
    found: t.Dict[str, t.Optional[str]] = {}
    for uuid in wanted:
        answer = http.call(connection, VOLUME, "GET", f"/volumes/{uuid}")
        found[uuid] = answer["volume"].get("availability_zone")
    return found


def _offers(
    connection: t.Any,
    servers: t.Sequence[facts.ApiServer],
    flavor: t.Optional[facts.ServerFlavor],
    aggregates: t.Sequence[facts.ApiAggregate],
    services: t.Sequence[facts.ApiService],
) -> t.Dict[str, t.List[str]]:
    """Ask placement once for each kind of server, within the aggregates of its zone as the scheduler would."""
    zones = {service.host: service.zone for service in services}
    answers: t.Dict[str, t.List[str]] = {}
    found: t.Dict[str, t.List[str]] = {}
    for server in servers:
        wanted = flavor or server.flavor
        if wanted is None or server.image is None or server.host not in zones:
            continue
        zone = zones[server.host]
        query = question(wanted, bool(server.image), [item.uuid or "" for item in aggregates if _carries(item, zone)])
        key = repr(sorted(query.items()))
        if key not in answers:
            answers[key] = _roots(connection, query)
        found[server.id] = answers[key]
    return found


def _carries(aggregate: facts.ApiAggregate, zone: t.Optional[str]) -> bool:
    return aggregate.availability_zone is not None and aggregate.availability_zone == zone


def question(flavor: facts.ServerFlavor, root: bool, aggregates: t.Sequence[str]) -> t.Dict[str, str]:
    """Return what to ask placement for. Never more than the scheduler would: what fits is never said not to fit."""
    specs = flavor.extra_specs or {}
    amounts = measured.of_flavor(flavor, root)
    if specs.get("hw:cpu_policy") in ("dedicated", "mixed"):
        amounts.pop("VCPU", None)
    for name, value in specs.items():
        if name.startswith("resources:") and value.isdigit():
            amounts[name[len("resources:") :]] = int(value)
    query = evacuations.candidates_query(amounts, specs)
    return {**query, **({"member_of": "in:" + ",".join(sorted(aggregates))} if aggregates else {})}


def _roots(connection: t.Any, query: t.Mapping[str, str]) -> t.List[str]:
    answer = http.call(connection, PLACEMENT, "GET", "/allocation_candidates", server_moves.CANDIDATES, params=query)
    roots = {uuid: summary.get("root_provider_uuid") or uuid for uuid, summary in answer["provider_summaries"].items()}
    return sorted(
        {roots.get(uuid, uuid) for request in answer["allocation_requests"] for uuid in request["allocations"]}
    )


def servers_microversion(connection: t.Any) -> str:
    """Return the microversion that servers are read with: one that shows pins, where there is one."""
    return releases.lower_microversion(PIN_SHOWN, http.max_microversion(connection, COMPUTE))


def get_server(connection: t.Any, uuid: str) -> t.Optional[facts.ApiServer]:
    """Return one server with its flavor, and its pin where this Nova shows it; None: there is none."""
    try:
        answer = http.call(connection, COMPUTE, "GET", f"/servers/{uuid}", servers_microversion(connection))
    except ApiError as error:
        if error.data.get("status") == 404:
            return None
        raise
    return reads.server_of(answer["server"], whole=True)


def named_servers(connection: t.Any, name: str) -> t.List[str]:
    """Return the uuids of all servers of that very name. Nova's filter is a regular expression, in any case."""
    params = {"all_tenants": "1"}
    items = http.pages(connection, COMPUTE, "/servers", "servers", servers_microversion(connection), params)
    return sorted(item["id"] for item in items if item["name"] == name)


def find_flavor(connection: t.Any, word: str) -> t.Optional[t.Tuple[str, facts.ServerFlavor]]:
    """Return id and content of the flavor of this id or name; None: there is none."""
    params = {"is_public": "None"}
    items = list(http.pages(connection, COMPUTE, "/flavors/detail", "flavors", FLAVORS, params))
    found = [item for item in items if item["id"] == word] or [item for item in items if item["name"] == word]
    if not found:
        return None
    item = found[0]
    flavor = facts.ServerFlavor(
        vcpus=int(item["vcpus"]),
        ram=int(item["ram"]),
        disk=int(item["disk"]),
        ephemeral=int(item.get("OS-FLV-EXT-DATA:ephemeral") or 0),
        swap=int(item.get("swap") or 0),
        name=item["name"],
        extra_specs=dict(item.get("extra_specs") or {}),
    )
    return item["id"], flavor


def zones_of_hosts(connection: t.Any) -> t.Dict[str, t.Optional[str]]:
    """Return the zone that Nova shows of each compute host whose cell answers."""
    return {service.host: service.zone for service in _services(connection)}


def zone_of_host(connection: t.Any, host: t.Optional[str]) -> t.Optional[str]:
    """Return the zone that Nova shows of a compute host now."""
    service = None if host is None else server_moves.find_service(connection, host)
    return None if service is None else service.zone


# --- changing -------------------------------------------------------------------------------------------------


def pin(connection: t.Any, uuid: str, zone: t.Optional[str]) -> None:
    """Pin a server to the zone that it is in, or unpin it. Nova refuses any other zone with 409."""
    body = {"server": {"pinned_availability_zone": zone}}
    http.call(connection, COMPUTE, "PUT", f"/servers/{uuid}", PIN_WRITTEN, body=body)


def resize(connection: t.Any, uuid: str, flavor: str) -> None:
    """Ask for a resize. Where it goes is the scheduler's choice: there is no way to name a host."""
    body = {"resize": {"flavorRef": flavor}}
    http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", RESIZE, body=body)
