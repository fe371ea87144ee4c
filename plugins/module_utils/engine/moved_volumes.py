# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks Cinder, after moves, whether each volume is where its server is."""

from __future__ import annotations

import typing as t

from ..hazards import volume_moves, volumes
from ..model.errors import ApiError
from ..model.facts import ApiServer
from ..model.findings import Checked, Unchecked
from ..model.lookups import gather
from ..systems.api import block_storage, http, server_records
from .systems import Systems

#: Seconds in which an owner's own attachment or detachment ends, and between two looks.
SETTLE, POLL = 20.0, 4.0


def check_one(systems: Systems, uuid: str) -> Checked:
    """Return SG524 to SG526 of a server that has moved, wherever it is now."""
    try:
        server = server_records.server_as_listed(systems.cloud, uuid)
    except ApiError as error:
        return Checked((), (Unchecked("SG524", uuid, f"volumes of the server: {error.message}"),))
    return check_moved(systems, [] if server is None else [server])


def check_moved(systems: Systems, servers: t.Sequence[ApiServer]) -> Checked:
    """Return SG524 to SG526 of servers that have moved, as they still are after some seconds."""
    moved = volumes.servers_with_volumes(servers)
    until = systems.monotonic() + SETTLE
    while moved:
        try:
            catalog = http.list_catalog(systems.cloud)
            found = block_storage.read_block_storage(systems.cloud, moved, catalog, whole=False)
            checked = gather(volume_moves.after(found, moved))
            if not checked.findings or systems.monotonic() >= until:
                return checked
            systems.sleep(POLL)
            wrong = {item.object.id for item in checked.findings}
            # Its owner may have detached one, or deleted it.
            again = http.each(sorted(wrong), lambda uuid: server_records.server_as_listed(systems.cloud, uuid))
        except ApiError as error:
            return Checked((), (Unchecked("SG524", "volumes", f"volumes of moved servers: {error.message}"),))
        moved = [server for server in (again.get(entry.id, entry) for entry in moved) if server is not None]
    return Checked()
