# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What decides where servers of a host could go, and what an evacuation costs them, read from all APIs as one."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ...capacity import leaving_guests, placement
from ...model import facts
from ...model.errors import ApiError
from . import (
    allocation_candidates,
    compute_services,
    flavors,
    host_account,
    host_aggregates,
    http,
    migration_records,
    network,
    resource_providers,
    server_disks,
    server_groups,
    server_records,
    target_hosts,
)

_T = t.TypeVar("_T")


def read_evacuation(
    connection: t.Any,
    cloud: facts.CloudFacts,
    host: str,
    leaving: t.Optional[t.Sequence[facts.ApiServer]] = None,
    numa: t.Optional[t.Mapping[str, t.List[facts.NumaCell]]] = None,
    known: t.Optional[facts.EvacuationFacts] = None,
) -> facts.EvacuationFacts:
    """Read what decides where servers of ``host`` could go; ``cloud``: narrowed to it, read just before.

    ``leaving``: these servers instead, of whatever hosts; ``cloud`` is narrowed to all of theirs: then what only a dead
    host's servers are asked for is left out. ``numa``: what was read before of servers that have not moved since, whose
    topology stays as it is. ``known``: an earlier reading of this operation: what cannot have changed is taken from it.
    Never raises for a part that cannot be read: see ``unread``.
    """
    unread: t.List[facts.Unread] = []

    def part(name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        try:
            return read()
        except ApiError as error:
            unread.append(facts.Unread(name, error.message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.append(facts.Unread(name, f"the answer cannot be parsed: {type(error).__name__} {error}"))
        return None

    servers = placement.guests_of(cloud, host) or [] if leaving is None else leaving
    groups = part("groups", lambda: server_groups.list_groups(connection, {server.id for server in servers}))
    migrations = part("migrations", lambda: migration_records.list_arriving(connection))
    about = facts.EvacuationFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        host=host,
        targets=part("targets", lambda: target_hosts.list_targets(connection)),
        groups=groups,
        member_hosts=part("member_hosts", lambda: _member_hosts(connection, groups or [], servers)),
        numa=part("numa", lambda: _numa(connection, servers, numa or (known.numa if known else None) or {})),
        offers=part("offers", lambda: _offers(connection, cloud, servers)),
        unread=unread,
        aggregates=part("aggregates", lambda: host_aggregates.list_aggregates(connection)),
        migrations=migrations,
        transit=part("transit", lambda: read_transit(connection, migrations or [], servers, known)),
    )
    if leaving is not None:
        return about
    return _about_the_dead(connection, about, cloud, servers, known, part)


class _Part(t.Protocol):
    """Reads a part, or notes why not."""

    def __call__(self, name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        """Return what was read; None: see ``unread``."""


def _about_the_dead(
    connection: t.Any,
    about: facts.EvacuationFacts,
    cloud: facts.CloudFacts,
    servers: t.Sequence[facts.ApiServer],
    known: t.Optional[facts.EvacuationFacts],
    part: _Part,
) -> facts.EvacuationFacts:
    """Add what an evacuation costs the servers, and whether these are all."""
    before = known or about
    account = part("unlisted", lambda: host_account.account_of(connection, about.host, cloud))
    volumes = part("encrypted", lambda: server_disks.volumes_of(connection, servers, before.encrypted or {}))
    return dataclasses.replace(
        about,
        targets=part("targets", lambda: _counted(connection, about.targets, about.host)),
        image_properties=part(
            "image_properties",
            lambda: server_disks.image_properties(connection, servers, volumes or {}, before.image_properties or {}),
        ),
        shares=part("shares", lambda: server_records.shares_of(connection, servers, before.shares or {})),
        accelerator_ports=part("accelerator_ports", lambda: network.accelerated_servers(connection, servers)),
        encrypted=None if volumes is None else server_disks.encrypted_volumes(servers, volumes, before.encrypted or {}),
        unlisted=None if account is None else account.unlisted,
        coming=None if account is None else account.coming,
        soft_deleted=None if account is None else account.soft_deleted,
        cells_down=None if account is None else account.cells_down,
        several_cells=part("several_cells", lambda: compute_services.several_cells(connection)),
    )


def _counted(
    connection: t.Any, targets: t.Optional[t.Sequence[facts.TargetHost]], host: str
) -> t.Optional[t.List[facts.TargetHost]]:
    """Say of each other host that is down how many still hold something of it."""
    if targets is None:
        return None
    down = {
        target.provider
        for target in targets
        if target.host != host and (target.state != "up" or target.forced_down) and target.status == "disabled"
    }
    held = http.each(sorted(down), lambda provider: resource_providers.provider_consumers(connection, provider))
    counts = {provider: len(consumers or ()) for provider, consumers in held.items()}
    return [dataclasses.replace(target, consumers=counts.get(target.provider)) for target in targets]


def read_transit(
    connection: t.Any,
    migrations: t.Sequence[facts.ApiMigration],
    servers: t.Sequence[facts.ApiServer],
    known: t.Optional[facts.EvacuationFacts] = None,
) -> t.List[facts.MigratingServer]:
    """Return what the servers of these migrations are; one that is gone takes nothing, and is not here."""
    before = {entry.uuid: entry for entry in (known.transit if known else None) or [] if entry.flavor and entry.cells}
    here = {server.id: server for server in servers}

    def read(uuid: str) -> t.Optional[facts.MigratingServer]:
        if uuid in before:
            return before[uuid]
        try:
            flavor = here[uuid].flavor if uuid in here else None
            if flavor is None:
                answer = server_records.raw_server(connection, uuid)
                if answer is None:
                    return None
                flavor = flavors.flavor_of(answer.get("flavor"))
            return facts.MigratingServer(uuid, flavor, server_records.numa_cells(connection, uuid))
        except ApiError:
            # One of them, in a cell that does not answer, must not hide all others: its size is not known.
            return facts.MigratingServer(uuid, None)

    uuids = sorted({row.instance_uuid for row in migrations if row.instance_uuid})
    return [entry for entry in http.each(uuids, read).values() if entry is not None]


def _member_hosts(
    connection: t.Any, groups: t.Sequence[facts.ServerGroup], servers: t.Sequence[facts.ApiServer]
) -> t.Dict[str, str]:
    known = {server.id: server.host for server in servers}
    others = sorted({member for group in groups for member in group.members} - set(known))
    answers = http.each(others, lambda uuid: server_records.raw_server(connection, uuid))
    known.update({uuid: answer.get("OS-EXT-SRV-ATTR:host") for uuid, answer in answers.items() if answer is not None})
    return {uuid: host for uuid, host in known.items() if host}


def _numa(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, t.List[facts.NumaCell]]
) -> t.Dict[str, t.List[facts.NumaCell]]:
    # A server without NUMA or page size in its flavor may have it from its image: each is asked, once.
    found = http.each(
        [server.id for server in servers if server.id not in known],
        lambda uuid: server_records.numa_cells(connection, uuid),
    )
    return {server.id: known[server.id] if server.id in known else found[server.id] for server in servers}


def _offers(
    connection: t.Any, cloud: facts.CloudFacts, servers: t.Sequence[facts.ApiServer]
) -> t.Dict[str, t.List[str]]:
    """Ask placement once for each kind of server."""
    needs = placement.held_by(cloud, servers)
    kinds: t.Dict[str, t.List[str]] = {}
    queries: t.Dict[str, t.Dict[str, str]] = {}
    for server in servers:
        if server.flavor is None:
            continue
        specs = server.flavor.extra_specs or {}
        amounts = needs.get(server.id)
        if not amounts or leaving_guests.granular(specs):
            # What is allocated does not say which of it belongs to which group.
            amounts = leaving_guests.of_flavor(server.flavor, bool(server.image))
        params = allocation_candidates.scheduled(allocation_candidates.candidates_query(amounts, specs))
        key = repr(sorted(params.items()))
        queries[key] = params
        kinds.setdefault(key, []).append(server.id)
    offered = http.each(sorted(queries), lambda key: allocation_candidates.list_offers(connection, queries[key]))
    return {uuid: offered[key] for key, uuids in kinds.items() for uuid in uuids}
