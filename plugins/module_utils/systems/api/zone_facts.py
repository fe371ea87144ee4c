# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What decides in which zone servers stay: zones, pins, volumes, and what placement offers within a zone.

A server's pin is shown from 2.96 on (release 29); before that the API database has it.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ...model import facts, releases
from ...model.errors import ApiError, DatabaseError
from ..db import request_specs
from . import (
    allocation_candidates,
    compute_services,
    host_aggregates,
    http,
    hypervisors,
    instance_actions,
    resource_providers,
    server_disks,
    server_records,
)

_T = t.TypeVar("_T")


def read_zones(
    connection: t.Any,
    servers: t.Sequence[facts.ApiServer],
    api_db_url: t.Optional[str] = None,
    flavor: t.Optional[facts.ServerFlavor] = None,
    whole: bool = True,
    silent: t.Iterable[str] = (),
) -> facts.ZoneFacts:
    """Read what decides in which zone these servers stay. ``flavor``: what they shall be; None: what they are.

    ``whole`` False, for many servers: without their volumes and placement's offers, each of which is a call. Of those
    that are shelved and on no host the volumes are read: they say where such a server belongs.
    Never raises for a part that cannot be read: see ``unread``. ``silent``: whose cell did not answer when the servers
    were listed.
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

    offered = part("microversion", lambda: http.max_microversion(connection, http.COMPUTE))
    rows = part("services", lambda: compute_services.raw_services(connection))
    services = part("services", lambda: compute_services.services_of(rows)) if rows is not None else None
    aggregates = part("aggregates", lambda: host_aggregates.list_aggregates(connection))
    pins, pins_from = None, None
    if offered is not None and _at_least(offered, server_records.PIN_SHOWN):
        pins, pins_from = {server.id: server.pinned_availability_zone for server in servers}, "compute API"
    elif api_db_url:
        pins = part("pins", lambda: request_specs.read_zones(str(api_db_url), [server.id for server in servers]))
        pins_from = "API database"
    else:
        unread.append(
            facts.Unread(
                "pins", (f"microversion {offered} does not show availability zone pins, and nova_api_db_url is not set")
            )
        )
    offloaded = [server for server in servers if server.status == facts.OFFLOADED]
    uuids = [server.id for server in offloaded]
    found = None
    if whole and aggregates is not None and services is not None:
        places = aggregates, services
        found = part("offers", lambda: _offers(connection, servers, flavor, *places))
    return facts.ZoneFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        compute_max_microversion=offered,
        services=services,
        hypervisors=part("hypervisors", lambda: hypervisors.list_hypervisors(connection)),
        aggregates=aggregates,
        members=part("members", lambda: _members(connection, aggregates or [])) if aggregates is not None else None,
        servers=list(servers),
        pins=pins,
        pins_from=pins_from,
        volumes=part("volumes", lambda: server_disks.volume_zones(connection, servers if whole else offloaded))
        if whole or offloaded
        else None,
        offers=found,
        unread=unread,
        silent=sorted({*silent, *compute_services.silent_hosts(rows or ())}),
        shelved=part(
            "shelvings", lambda: http.each(uuids, lambda uuid: instance_actions.shelved_server(connection, uuid))
        ),
    )


def _at_least(offered: str, wanted: str) -> bool:
    return releases.microversion_tuple(offered) >= releases.microversion_tuple(wanted)


def _members(connection: t.Any, aggregates: t.Sequence[facts.ApiAggregate]) -> t.Dict[str, t.List[str]]:
    zoned = sorted(item.uuid for item in aggregates if item.uuid and item.availability_zone)
    return {
        uuid: sorted(provider.uuid for provider in resource_providers.list_providers(connection, member_of=uuid))
        for uuid in zoned
    }


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
        query = _query(server, wanted, zones[server.host], aggregates)
        key = repr(sorted(query.items()))
        if key not in answers:
            answers[key] = allocation_candidates.list_offers(connection, query)
        found[server.id] = answers[key]
    return found


def with_offers(connection: t.Any, about: facts.ZoneFacts, server: facts.ApiServer, zone: str) -> facts.ZoneFacts:
    """Return the facts with the hosts that placement offers a server within a zone which no host of its own tells."""
    if server.flavor is None or server.image is None or about.aggregates is None:
        return about
    try:
        found = allocation_candidates.list_offers(connection, _query(server, server.flavor, zone, about.aggregates))
    except ApiError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("offers", error.message)])
    return dataclasses.replace(about, offers={**(about.offers or {}), server.id: found})


def _query(
    server: facts.ApiServer,
    flavor: facts.ServerFlavor,
    zone: t.Optional[str],
    aggregates: t.Sequence[facts.ApiAggregate],
) -> t.Dict[str, str]:
    inside = [item.uuid or "" for item in aggregates if item.availability_zone and item.availability_zone == zone]
    return allocation_candidates.zone_query(flavor, bool(server.image), inside)
