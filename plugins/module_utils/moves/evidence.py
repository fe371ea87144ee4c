# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves of servers within their zones ask of the APIs, and of the evidence that the hosts left."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid as uuids

from ..capacity.leaving_guests import SMALL_PAGE
from ..capacity.measured import IncomingServer
from ..hazards import guest_places, unfit
from ..model import facts
from ..model.errors import ApiError
from ..model.lookups import Index
from ..records import evidence
from ..systems.api import (
    cloud_facts,
    evacuation_facts,
    host_account,
    http,
    migration_records,
    network,
    server_disks,
    server_records,
    zone_facts,
)
from ..systems.db import nova
from .preflight import Evidence

#: Agents, ports and the catalogue decide nothing here.
PARTS = tuple(part for part in cloud_facts.PARTS if part not in ("catalog", "agents", "ports"))
#: Statuses of a migration whose server has not arrived yet (nova/objects/migration.py and the virt driver).
UNDER_WAY = (
    "accepted",
    "queued",
    "preparing",
    "running",
    "running (post-copy)",
    "pre-migrating",
    "migrating",
    "post-migrating",
)


def candidates(connection: t.Any, given: t.Any) -> t.List[facts.ApiServer]:
    """Return the servers among which a selection chooses: those of these uuids, or all of the cloud.

    Raises :class:`ApiError`: :class:`~server_records.SilentCellError` where the list lacks the servers of a cell.
    """
    words = given if isinstance(given, list) else []
    if words and all(_is_uuid(str(word)) for word in words):
        found = http.each([str(word) for word in words], lambda uuid: server_records.whole_server(connection, uuid))
        return [server for server in found.values() if server is not None]
    return whole_cloud(connection, second=not words).complete()


def whole_cloud(connection: t.Any, second: bool = True) -> server_records.ServerList:
    """Return all servers of the cloud. ``second``: with placement's consumers as a second source. Raises ApiError.

    A cell may be silent for the list alone. Who selects among all servers would not notice the missing ones.
    """
    expected = host_account.consumers_of_cloud(connection) if second else ()
    version = server_records.servers_microversion(connection)
    return server_records.list_servers(connection, version, whole=True, expected=expected)


def _is_uuid(word: str) -> bool:
    try:
        uuids.UUID(word)
    except ValueError:
        return False
    return True


def collect(
    connection: t.Any,
    directory: str,
    sources: t.Sequence[str],
    wanted: t.Optional[t.Collection[str]],
    api_db_url: t.Optional[str] = None,
) -> Evidence:
    """Return what decides the move of the servers of ``sources``: all of them, or those of ``wanted``.

    Hosts are taken as they were read into ``directory``. Raises :class:`FactsError` for what is there and is no
    evidence; what the APIs do not answer is told as unread.
    """
    cloud = cloud_facts.read_cloud(connection, sources, PARTS)
    servers = [
        server for server in cloud.servers or [] if server.host in sources and (wanted is None or server.id in wanted)
    ]
    about = evacuation_facts.read_evacuation(connection, cloud, "", servers)
    if wanted is None:
        about = _with_soft_deleted(connection, about, sources)
    if api_db_url:
        about = nova.with_cells(about, api_db_url, sources)
    bundle = dataclasses.replace(evidence.load_dir(directory, cloud.read_at), cloud=cloud)
    about = _with_machine_types(connection, about, servers, bundle)
    about = _with_failed_moves(connection, _with_bindings(connection, about, servers), servers)
    bundle, unread = _with_last_migrations(connection, bundle, about, servers)
    sent: t.Tuple[IncomingServer, ...] = ()
    try:
        sent = tuple(on_their_way(connection))
    except ApiError as error:
        unread = (*unread, f"migrations in progress: {error.message}")
    return Evidence(
        bundle, about, zone_facts.read_zones(connection, servers, api_db_url, whole=False), (), sent, unread
    )


def _with_last_migrations(
    connection: t.Any, bundle: facts.Bundle, about: facts.EvacuationFacts, servers: t.Sequence[facts.ApiServer]
) -> t.Tuple[facts.Bundle, t.Tuple[str, ...]]:
    """Add the newest migration of each server that is not seen where Nova shows it: it may tell where the guest went.

    Where a compute host was not read, that is asked of every server. Returns what could not be read, too.
    """
    hosts = [target.host for target in about.targets or []]
    shown = [guest_places.of_api(server) for server in servers if server.host is not None]
    asked = [
        place.server.uuid
        for place in guest_places.look(Index(bundle), shown, hosts)
        if place.there or not place.here or place.unread
    ]
    cloud = bundle.cloud
    if not asked or cloud is None or cloud.migrations is None:
        return bundle, ()
    try:
        found = http.each(asked, lambda uuid: migration_records.newest(connection, uuid))
    except ApiError as error:
        return bundle, (f"the last migrations of the servers: {error.message}",)
    known = {row.id for row in cloud.migrations}
    rows = [*cloud.migrations, *(row for row in found.values() if row is not None and row.id not in known)]
    return dataclasses.replace(bundle, cloud=dataclasses.replace(cloud, migrations=rows)), ()


def _with_machine_types(
    connection: t.Any, about: facts.EvacuationFacts, servers: t.Sequence[facts.ApiServer], bundle: facts.Bundle
) -> facts.EvacuationFacts:
    """Add the machine types that Nova has stored, of the servers whose own some host of their zone does not support."""
    judge = unfit.Judge(bundle)
    zones = {target.host: target.zone for target in about.targets or []}
    asked = [
        server
        for server in servers
        if judge.lacking(
            server.id, server.host, (host for host in zones if zones[host] == zones.get(server.host or ""))
        )
    ]
    if not asked:
        return about
    try:
        return dataclasses.replace(about, image_properties=server_disks.image_properties(connection, asked, {}, {}))
    except ApiError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("image_properties", error.message)])


def _with_bindings(
    connection: t.Any, about: facts.EvacuationFacts, servers: t.Sequence[facts.ApiServer]
) -> facts.EvacuationFacts:
    """Add where a live migration that failed has left a binding: the next one to that host fails, too."""
    try:
        found = network.inactive_bindings(connection, sorted(server.id for server in servers))
    except ApiError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("inactive_bindings", error.message)])
    return dataclasses.replace(about, inactive_bindings=found)


def _with_failed_moves(
    connection: t.Any, about: facts.EvacuationFacts, servers: t.Sequence[facts.ApiServer]
) -> facts.EvacuationFacts:
    """Add the cold migrations that failed on their destination: the snapshot that each made may be there."""
    try:
        found = migration_records.failed_moves(connection, servers)
    except ApiError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("failed_moves", error.message)])
    return dataclasses.replace(about, failed_moves=found)


def _with_soft_deleted(
    connection: t.Any, about: facts.EvacuationFacts, hosts: t.Sequence[str]
) -> facts.EvacuationFacts:
    """Add the servers that no list of these hosts has: their owners can have them back."""
    try:
        found = {uuid: name for host in hosts for uuid, name in server_records.soft_deleted(connection, host).items()}
    except ApiError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("soft_deleted", error.message)])
    return dataclasses.replace(about, soft_deleted=found)


def on_their_way(connection: t.Any) -> t.List[IncomingServer]:
    """Return every server that Nova has in progress toward a host, whoever asked for it. Raises :class:`ApiError`.

    Placement holds what these need at their destination already; their memory is not touched there yet.
    """
    rows = {
        row.instance_uuid: row
        for row in migration_records.with_statuses(connection, UNDER_WAY)
        if row.instance_uuid and row.dest_compute
    }
    uuids = sorted(str(uuid) for uuid in rows)
    servers = http.each(uuids, lambda uuid: server_records.whole_server(connection, uuid))
    found = []
    for uuid, server in sorted(servers.items()):
        row = rows[uuid]
        # A server belongs to the destination of its evacuation from the beginning, of any other move at its end.
        if server is not None and (
            server.host != row.dest_compute or row.migration_type == migration_records.EVACUATION
        ):
            found.append(IncomingServer(uuid, str(row.dest_compute), *_memory(connection, server)))
    return found


def _memory(connection: t.Any, server: facts.ApiServer) -> t.Tuple[int, t.Tuple[facts.NumaCell, ...]]:
    """Return the small pages that a server takes, MiB, and its huge ones."""
    if server.flavor is None:
        raise ApiError(f"the run could not read the flavor of {server.name} ({server.id})", problem="not-read")
    cells = server_records.numa_cells(connection, server.id)
    huge = [cell for cell in cells if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE]
    return max(0, server.flavor.ram - sum(cell.memory_mib for cell in huge)), tuple(huge)
