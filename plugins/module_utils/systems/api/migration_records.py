# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records that Nova keeps of migrations: of live and cold ones, of resizes, and of evacuations."""

from __future__ import annotations

import typing as t

from ...capacity import measured
from ...model import facts
from ...model.errors import ApiError
from . import compute_services, http

Json = t.Dict[str, t.Any]

#: Paged, uuid.
MIGRATIONS = "2.59"
#: Statuses in which a migration may still do something, of releases 26 to 34 (C(compute/manager.py),
#: C(compute/api.py), C(conductor/)). The API can filter for one status, not for "unfinished".
OPEN_STATUSES = (
    "accepted",
    "queued",
    "preparing",
    "running",
    "pre-migrating",
    "migrating",
    "post-migrating",
    "finished",
    "reverting",
    "confirming",
    "done",
)
#: Hosts that a message names.
SHOWN = 10
#: "done" is an end for all but evacuations.
EVACUATION = "evacuation"
#: Of a cold migration, and of a resize.
COLD_TYPES = ("migration", "resize")
#: Statuses in which a migration may still bring a server to a host, of all types.
ARRIVING = tuple(
    sorted({status for statuses in measured.ARRIVING.values() for status in statuses} | {measured.REVERTING})
)


def list_migrations(
    connection: t.Any,
    status: str,
    migration_type: t.Optional[str] = None,
    host: t.Optional[str] = None,
    since: t.Optional[str] = None,
) -> t.List[facts.ApiMigration]:
    """Return the migrations in one status, of one host (as source or destination) if given.

    ``since``: only those that changed after this moment of ISO 8601, by the clock of the database.
    """
    params = {"status": status, **({"changes-since": since} if since else {})}
    if migration_type:
        params["migration_type"] = migration_type
    if host:
        params["host"] = host
    items = http.pages(connection, http.COMPUTE, "/os-migrations", "migrations", MIGRATIONS, params, marker="uuid")
    return [_record(item) for item in items]


def _record(item: Json) -> facts.ApiMigration:
    return facts.ApiMigration(
        id=item["id"],
        uuid=item.get("uuid"),
        migration_type=item.get("migration_type"),
        status=item["status"],
        instance_uuid=item.get("instance_uuid"),
        source_compute=item.get("source_compute"),
        source_node=item.get("source_node"),
        dest_compute=item.get("dest_compute"),
        dest_node=item.get("dest_node"),
    )


def progress(connection: t.Any, uuid: str) -> t.Optional[str]:
    """Return how far a live migration is, for people; None where there is none."""
    answer = http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}/migrations", MIGRATIONS) or {}
    for migration in answer.get("migrations", []):
        total, done = migration.get("memory_total_bytes"), migration.get("memory_processed_bytes")
        if total:
            return f"{migration['status']}, {100 * (done or 0) // total} % of {total >> 20} MiB of memory"
        return str(migration["status"])
    return None


def last_migration(connection: t.Any, uuid: str, migration_type: t.Optional[str] = None) -> t.Optional[Json]:
    """Return a server's newest migration record, of one type if given; None: it has none."""
    params: Json = {"instance_uuid": uuid, **({"migration_type": migration_type} if migration_type else {}), "limit": 1}
    found = http.items(connection, http.COMPUTE, "/os-migrations", "migrations", MIGRATIONS, params)
    return found[0] if found else None


def newest(connection: t.Any, uuid: str) -> t.Optional[facts.ApiMigration]:
    """Return a server's newest migration; None: it has none."""
    found = last_migration(connection, uuid)
    return None if found is None else _record(found)


def failed_moves(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.Dict[str, facts.ApiMigration]:
    """Return the last resize or cold migration of each server, of those where it failed once it had left its source.

    Two lists of the cloud, and two calls for each server that is in one of them. Raises ApiError.
    """
    hosts = {server.id: server.host for server in servers}
    failed = {row.instance_uuid for kind in COLD_TYPES for row in list_migrations(connection, "error", kind)}
    found: t.Dict[str, facts.ApiMigration] = {}
    for uuid in sorted(uuid for uuid in hosts if uuid in failed):
        items = [last_migration(connection, uuid, kind) for kind in COLD_TYPES]
        last = max((_record(item) for item in items if item is not None), key=lambda row: row.id, default=None)
        if last is not None and last.status == "error" and last.source_compute != hosts[uuid]:
            found[uuid] = last
    return found


def list_arriving(connection: t.Any) -> t.List[facts.ApiMigration]:
    """Return every migration that may still bring a server to a host. Raises as of :func:`with_statuses`."""
    return [row for row in with_statuses(connection, ARRIVING) if measured.arriving_at(row) is not None]


def with_statuses(connection: t.Any, statuses: t.Iterable[str]) -> t.List[facts.ApiMigration]:
    """Return every migration of the cloud with one of these statuses. One list for each.

    Nova leaves out the migrations of a cell that does not answer. No server moves between cells, so the caller sends
    none to the hosts of such a cell. Raises :class:`ApiError` where a cell answers at one moment only.
    """
    before = compute_services.silent_hosts(compute_services.raw_services(connection))
    rows = [row for status in statuses for row in list_migrations(connection, status)]
    # Every cell counts its ids on its own.
    found = {(row.id, row.uuid, row.instance_uuid): row for row in rows}
    changed = sorted(before ^ compute_services.silent_hosts(compute_services.raw_services(connection)))
    if changed:
        raise ApiError(f"the cell of these hosts does not always answer: {', '.join(changed[:SHOWN])}")
    return sorted(found.values(), key=lambda row: (row.id, str(row.uuid)))


def evacuation_statuses(
    connection: t.Any, source: str, since: t.Optional[str] = None, status: t.Optional[str] = None
) -> t.Dict[str, str]:
    """Return by server the status of its newest evacuation record from a host.

    ``since``: ISO 8601, by Nova's clock: of those that changed since then; ``status``: of those with this status. Nova
    lists the newest first, and leaves a record out of the changes that was made and not touched again (C(updated_at) is
    empty; db/main/api.py, migration_get_all_by_filters).
    """
    params = {"source_compute": source, "migration_type": EVACUATION}
    params.update({"changes-since": since} if since else {})
    params.update({"status": status} if status else {})
    items = http.pages(connection, http.COMPUTE, "/os-migrations", "migrations", MIGRATIONS, params, marker="uuid")
    found: t.Dict[str, str] = {}
    for item in items:
        found.setdefault(str(item["instance_uuid"]), str(item["status"]))
    return found
