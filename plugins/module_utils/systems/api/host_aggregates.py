# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host aggregates: read, joined, left, and sent to the schedulers again."""

from __future__ import annotations

import typing as t

from ...model import facts
from . import http

Json = t.Dict[str, t.Any]

#: uuid.
AGGREGATES = "2.41"


def list_aggregates(connection: t.Any) -> t.List[facts.ApiAggregate]:
    """Return all host aggregates (the API does not page them)."""
    return [
        facts.ApiAggregate(
            id=item["id"],
            uuid=item.get("uuid"),
            name=item["name"],
            availability_zone=item.get("availability_zone"),
            hosts=list(item["hosts"]),
            metadata={str(key): str(value) for key, value in (item.get("metadata") or {}).items()},
        )
        for item in http.items(connection, http.COMPUTE, "/os-aggregates", "aggregates", AGGREGATES)
    ]


def refresh_aggregate(connection: t.Any, aggregate_id: int) -> None:
    """Have the API send an aggregate to all schedulers again, unchanged: they keep hosts of aggregates in memory.

    Schedulers load aggregates when they start and afterwards learn of changes only by RPC from the aggregates API
    (C(scheduler/host_manager.py), C(update_aggregates)). Setting no metadata at all makes the API read the aggregate
    from the database and send just that (C(compute/api.py), C(update_aggregate_metadata); releases 26 to 34).
    Raises :class:`ApiError`.
    """
    body: t.Dict[str, t.Any] = {"set_metadata": {"metadata": {}}}
    http.call(connection, http.COMPUTE, "POST", f"/os-aggregates/{aggregate_id}/action", AGGREGATES, body=body)


def get_aggregate(connection: t.Any, identity: int) -> Json:
    """Return one aggregate."""
    path = f"/os-aggregates/{identity}"
    return t.cast("Json", http.call(connection, http.COMPUTE, "GET", path, AGGREGATES)["aggregate"])


def join_aggregate(connection: t.Any, identity: int, host: str) -> None:
    """Put a host into an aggregate."""
    body = {"add_host": {"host": host}}
    http.call(connection, http.COMPUTE, "POST", f"/os-aggregates/{identity}/action", AGGREGATES, body=body)


def leave_aggregate(connection: t.Any, identity: int, host: str) -> None:
    """Take a host out of an aggregate."""
    body = {"remove_host": {"host": host}}
    http.call(connection, http.COMPUTE, "POST", f"/os-aggregates/{identity}/action", AGGREGATES, body=body)
