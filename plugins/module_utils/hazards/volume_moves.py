# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG524 to SG526 around a move by Nova: can the volumes go along, and did they? Pure.

Nova connects each volume to the destination before it deletes the source's connection, or reserves it first
(manager.py, _do_pre_live_migration, _terminate_volume_connections; 26 to 34). At the end, one connection is left.
"""

from __future__ import annotations

import typing as t

from ..model.block_storage import BlockStorage
from ..model.facts import ApiServer
from ..model.findings import WARNING, Unchecked
from ..model.lookups import Items, same_name
from . import volumes


def before(storage: t.Optional[BlockStorage], servers: t.Iterable[ApiServer]) -> Items:
    """SG526: what cannot move. SG524, SG525: what a move before this one has left.

    A live migration deletes the connection that Nova knows of, wherever it leads: after it the record is right.
    """
    moving = volumes.servers_with_volumes(servers)
    yield from volumes.unread_of(storage, "SG526", moving)
    if storage is not None and storage.volumes is not None:
        yield from volumes.not_ready(storage, moving)
        for item in _misplaced(storage, moving):
            # A name from before a rename ends with the move.
            if isinstance(item, Unchecked) or item.code != "SG308":
                yield item


def after(storage: BlockStorage, servers: t.Iterable[ApiServer]) -> Items:
    """SG524 to SG526: each volume is connected where its server is, nowhere else, and in-use."""
    for server in volumes.servers_with_volumes(servers):
        if server.host and server.task_state is None:
            yield from volumes.landed(storage, server, server.volumes, WARNING)


def _misplaced(storage: BlockStorage, servers: t.Sequence[ApiServer]) -> Items:
    """Yield what is connected elsewhere or twice."""
    known = {server.id for server in servers}
    yield from volumes.misplaced(storage, servers)
    for item in volumes.left(storage, servers):
        if isinstance(item, Unchecked) or item.object.id in known:
            yield item


def elsewhere(storage: t.Optional[BlockStorage], server: ApiServer, hosts: t.Iterable[str]) -> t.Optional[str]:
    """Return a volume that is exported to another host than the server's; None: there is none that is known."""
    others = [host for host in hosts if not same_name(host, server.host)]
    for uuid in server.volumes:
        volume = storage.by_id.get(uuid) if storage else None
        if volume is None or volume.exported_by_name is False:
            continue
        names = volumes.connected(volume, server.id)
        if not any(same_name(name, server.host) for name in names):
            found = [name for name in names if any(same_name(name, host) for host in others)]
            if found:
                return f"Cinder has its volume {uuid} connected to {found[0]}"
    return None
