# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guests of a rename that live on a third host by now: evacuated or migrated by an administrator, while it was open."""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.plan import RowChange
from ...systems.api import network
from ...systems.db import engine, rows, schema


@dataclasses.dataclass(frozen=True)
class GuestElsewhere:
    """An instance that lives on ``host``. ``port``: told by the port of it that is bound there; None: by its row."""

    uuid: str
    host: t.Optional[str]
    node: t.Optional[str] = None
    port: t.Optional[str] = None


def instances(url: str, changes: t.Sequence[RowChange]) -> t.List[GuestElsewhere]:
    """Return those of these instances whose row has neither the old nor the new name.

    An instance without a host is none of them, and so is one of which only the host or only the node is another's:
    what that means is not known. Raises :class:`DatabaseError`.
    """
    wanted = [change for change in changes if change.table == "instances"]
    with engine.snapshot(url) as connection:
        compared = rows.compare(connection, schema.CELL, wanted, lock=False)
    return [
        GuestElsewhere(str(entry.change.before["uuid"]), entry.found["host"], entry.found["node"])
        for entry in compared
        if entry.state == rows.CONFLICT and entry.found is not None and _lives_elsewhere(entry.change, entry.found)
    ]


def _lives_elsewhere(change: RowChange, found: t.Mapping[str, t.Any]) -> bool:
    same = found["uuid"] == change.before["uuid"] and found["deleted"] == 0
    # Names that differ in case or in blanks at the end are one name to MySQL.
    mine = {_plain(values[column]) for values in (change.before, change.after) for column in ("host", "node")}
    return same and all(found[column] and _plain(found[column]) not in mine for column in ("host", "node"))


def _plain(name: t.Any) -> str:
    return str(name).rstrip().casefold()


def ports(
    connection: t.Any, planned: t.Sequence[t.Mapping[str, t.Any]], names: t.Sequence[str]
) -> t.List[GuestElsewhere]:
    """Return the servers' ports among these that are bound to a host of another name. Raises :class:`ApiError`."""
    here = {port.id for name in names for port in network.list_ports(connection, name)}
    found = []
    for entry in planned:
        if entry["id"] not in here:
            port = network.get_port(connection, str(entry["id"]))
            host = (port or {}).get("binding:host_id")
            server = str((port or {}).get("device_id") or "")
            if server and host and host not in names:
                found.append(GuestElsewhere(server, str(host), port=str(entry["id"])))
    return found
