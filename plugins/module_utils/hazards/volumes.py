# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volumes as Cinder sees them: where they are connected, what moves left, who can serve them. Pure.

SG308, SG524 to SG526. Cinder's attached_host is a name from the time of the attachment. One that is no compute host any
more is a host's name before its rename; one that is another compute host's is a connection to the wrong machine.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.block_storage import ATTACHED, IN_USE, RESERVED, BlockStorage, Volume, VolumeAttachment, VolumeService
from ..model.codes.catalogue import remedy_text
from ..model.facts import SILENT_CELLS, ApiServer, Bundle
from ..model.findings import BLOCKER, INFO, WARNING, Finding, Subject, Unchecked, finding
from ..model.lookups import Index, Item, Items, in_progress, same_name

#: Attachments that one finding names, and servers that an undecided code names.
SHOWN = 10


def servers_with_volumes(servers: t.Iterable[ApiServer]) -> t.List[ApiServer]:
    """Return the servers that have a volume."""
    return [server for server in servers if server.volumes]


def unread(bundle: Bundle, code: str, servers: t.Iterable[ApiServer]) -> t.Iterator[Unchecked]:
    """Yield the code, undecided, for servers with volumes of which Cinder was not read, with the reason."""
    yield from unread_of(bundle.cloud.block_storage if bundle.cloud else None, code, servers)


def unread_of(storage: t.Optional[BlockStorage], code: str, servers: t.Iterable[ApiServer]) -> t.Iterator[Unchecked]:
    """Yield the code, undecided, for servers with volumes that are not in what was read of Cinder."""
    lacking: t.Dict[str, t.List[str]] = {}
    for server in servers:
        for volume in server.volumes:
            if storage is None or volume not in storage.by_id:
                why = "Cinder was not asked" if storage is None else storage.why_unread(volume)
                names = lacking.setdefault(why, [])
                if server.id not in names:
                    names.append(server.id)
    for why, names in sorted(lacking.items()):
        if len(names) <= SHOWN:
            yield from (Unchecked(code, uuid, f"volumes of the server: {why}") for uuid in names)
        else:
            yield Unchecked(code, "volumes", f"volumes of {len(names)} servers: {why}")


# --- an audit -------------------------------------------------------------------------------------------------


def check(index: Index) -> Items:
    """SG308, SG524 to SG526 of every server with a volume, and of attachments that no server uses."""
    cloud = index.bundle.cloud
    if cloud is None or cloud.servers is None:
        return
    servers = servers_with_volumes(cloud.servers)
    storage = cloud.block_storage
    if storage is None or storage.volumes is None:
        yield from unread(index.bundle, "SG524", servers)
        if storage is not None:
            yield Unchecked("SG525", "volumes", storage.why_unread("volumes"))
        return
    yield from unread(index.bundle, "SG524", servers)
    if not index.migrations_read:
        yield Unchecked("SG524", "volumes", "the migrations were not read")
    else:
        moving = {uuid for uuid, rows in index.migrations_by_instance.items() if any(in_progress(row) for row in rows)}
        quiet = [server for server in servers if server.task_state is None and server.id not in moving]
        yield from misplaced(storage, quiet)
    yield from not_ready(storage, servers, WARNING)
    silent = next((entry.reason for entry in cloud.unread if entry.part == SILENT_CELLS), None)
    if silent is not None:
        # A server that is in no list may be in that cell.
        yield Unchecked("SG525", "volumes", silent)
        storage = dataclasses.replace(storage, whole=False)
    yield from left(storage, cloud.servers)


def misplaced(storage: BlockStorage, servers: t.Iterable[ApiServer]) -> Items:
    """SG308, SG524: attachments under a name that is not the server's host."""
    volumes = storage.by_id
    if storage.computes is None:
        yield from (Unchecked("SG524", server.id, storage.why_unread("computes")) for server in servers)
        return
    hosts = storage.computes
    for server in servers:
        for uuid in server.volumes if server.host else ():
            volume = volumes.get(uuid)
            for row in _wrong(volume, server) if volume else ():
                if volume is not None:
                    known = any(same_name(row.host, host) for host in hosts)
                    yield _elsewhere(server, volume, row) if known else _stale(server, volume, row)


def _wrong(volume: Volume, server: ApiServer) -> t.List[VolumeAttachment]:
    """Return the connections to another host, where there is none to the server's: with one, they are left over."""
    rows = [row for row in volume.rows_of(server.id) if row.host is not None]
    return [] if any(same_name(row.host, server.host) for row in rows) else rows


def after_failed_spawn(storage: BlockStorage, servers: t.Sequence[ApiServer]) -> Items:
    """SG524 of the servers of a dead host: an evacuation that failed has connected their volumes to its destination."""
    for item in misplaced(storage, servers):
        if isinstance(item, Finding) and item.code == "SG524":
            words = {"server": item.object.id, "volume": item.evidence["volume"], "host": item.object.host}
            yield dataclasses.replace(item, remedy=remedy_text("SG524", "failed-spawn", **words))


def _evidence(server: ApiServer, volume: Volume, row: VolumeAttachment) -> t.Dict[str, t.Any]:
    return {
        "volume": volume.id,
        "attachment": row.id,
        "connected to": row.host,
        "host of the server": server.host,
        "kind of connection": volume.kind or "not known",
        "serves every host": volume.exported_by_name is False,
    }


def _elsewhere(server: ApiServer, volume: Volume, row: VolumeAttachment) -> Finding:
    state = "elsewhere-harmless" if volume.exported_by_name is False else "elsewhere"
    words = {"server": server.id, "volume": volume.id, "host": server.host, "other": row.host}
    subject = Subject("instance", server.id, server.name, server.host)
    return finding("SG524", subject, _evidence(server, volume, row), remedy_text("SG524", state, **words))


def _stale(server: ApiServer, volume: Volume, row: VolumeAttachment) -> Finding:
    harmless = volume.exported_by_name is False
    words = {"server": server.id, "volume": volume.id, "host": server.host}
    remedy = remedy_text("SG308", "stale-harmless" if harmless else "stale", **words)
    subject = Subject("instance", server.id, server.name, server.host)
    return finding("SG308", subject, _evidence(server, volume, row), remedy, INFO if harmless else WARNING)


def left(storage: BlockStorage, servers: t.Sequence[ApiServer]) -> Items:
    """SG525: attachments without a connection that no server uses, and two of one server on one volume.

    Of another consumer's attachment that is connected (an image service's, another cloud's) nothing is said.
    """
    known = {server.id: server for server in servers}
    for volume in storage.volumes or []:
        by_server: t.Dict[t.Optional[str], t.List[VolumeAttachment]] = {}
        for row in volume.attachments:
            by_server.setdefault(row.server, []).append(row)
        for uuid, rows in sorted(by_server.items(), key=lambda item: str(item[0])):
            yield from _left_of(storage, volume, uuid, rows, known)
    for row in storage.strays:
        # A move of a volume that the server has no more: Nova does not show it, so that it was not asked for.
        server = known.get(row.server or "")
        if server is not None and server.task_state is None and row.volume not in server.volumes:
            evidence = {"volume": row.volume, "attachments": [_shown(row)]}
            yield from _reserved(Subject("instance", server.id, server.name, server.host), evidence, [row])


def _left_of(
    storage: BlockStorage,
    volume: Volume,
    uuid: t.Optional[str],
    rows: t.Sequence[VolumeAttachment],
    known: t.Mapping[str, ApiServer],
) -> t.Iterator[Item]:
    server = known.get(uuid or "")
    has = server is not None and volume.id in server.volumes
    busy = server is not None and server.task_state is not None
    evidence = {
        "volume": volume.id,
        "status of the volume": volume.status,
        "attachments": [_shown(row) for row in rows],
    }
    subject = Subject("instance", uuid or volume.id, server.name if server else None, server.host if server else None)
    if len(rows) > 1 and has and not busy:
        words = {"server": uuid, "volume": volume.id}
        yield finding("SG525", subject, evidence, remedy_text("SG525", "twice", **words))
    elif not has and not busy and (storage.whole or server is not None):
        yield from _reserved(subject, evidence, rows)


def _reserved(
    subject: Subject, evidence: t.Mapping[str, t.Any], rows: t.Iterable[VolumeAttachment]
) -> t.Iterator[Finding]:
    for row in rows:
        if row.status == RESERVED and row.host is None:
            words = {"server": row.server or "SERVER", "attachment": row.id}
            yield finding("SG525", subject, evidence, remedy_text("SG525", "reserved", **words))


def _shown(row: VolumeAttachment) -> t.List[t.Optional[str]]:
    return [row.id, row.status, row.host]


# --- before a move --------------------------------------------------------------------------------------------


def not_ready(storage: BlockStorage, servers: t.Iterable[ApiServer], severity: str = BLOCKER) -> Items:
    """SG526: volumes that are not in-use, and volumes whose cinder-volume is down, by server."""
    volumes, services = storage.by_id, {entry.host: entry for entry in storage.services or []}
    for server in servers:
        wanted = [volumes[uuid] for uuid in server.volumes if uuid in volumes]
        subject = Subject("instance", server.id, server.name, server.host)
        for volume in wanted:
            if not is_movable(volume, server.id):
                evidence = {"volume": volume.id, "status": volume.status}
                remedy = remedy_text("SG526", "status", volume=volume.id, status=volume.status)
                yield finding("SG526", subject, evidence, remedy, severity)
        if wanted and storage.services is None:
            yield Unchecked("SG526", server.id, "the services of Cinder were not read")
        elif any(volume.backend is None for volume in wanted):
            yield Unchecked("SG526", server.id, "Cinder does not show this account which back end serves the volumes")
        for backend in sorted({_service_of(volume) or "" for volume in wanted} - {""}):
            service = services.get(backend)
            if storage.services is not None and not _is_served(service, storage.services):
                evidence = {"cinder-volume": backend, "state": service.state if service else "no such service"}
                remedy = remedy_text("SG526", "backend-down", backend=backend)
                yield finding("SG526", subject, evidence, remedy, severity)


def _is_served(service: t.Optional[VolumeService], services: t.Sequence[VolumeService]) -> bool:
    """Return True if a cinder-volume is up, or another of its cluster is."""
    if service is None or service.state == "up":
        return service is not None
    return service.cluster is not None and any(
        other.cluster == service.cluster and other.state == "up" for other in services
    )


def is_movable(volume: Volume, server: str) -> bool:
    """Return True if Cinder makes another attachment of a server's volume (cinder/volume/api.py, _attachment_reserve).

    A killed move, and a server that is shelved, leave it reserved for the server.
    """
    return volume.status == IN_USE or (volume.status == RESERVED and bool(volume.rows_of(server)))


def _service_of(volume: Volume) -> t.Optional[str]:
    """Return the service that manages a volume: its back end without the pool. One in a cluster has another name."""
    return volume.backend.partition("#")[0] if volume.backend else None


# --- after a move ---------------------------------------------------------------------------------------------


def landed(storage: BlockStorage, server: ApiServer, wanted: t.Iterable[str], severity: str = BLOCKER) -> Items:
    """SG524 to SG526: each volume is connected to the server's host, to no other, once, and is in-use.

    ``wanted``: the volumes that it had before; its owner may have detached one since.
    """
    volumes = storage.by_id
    subject = Subject("instance", server.id, server.name, server.host)
    for uuid in sorted(set(wanted) & set(server.volumes)):
        volume = volumes.get(uuid)
        if volume is None:
            yield Unchecked("SG524", server.id, f"volume {uuid}: {storage.why_unread(uuid)}")
            continue
        rows = volume.rows_of(server.id)
        wrong = _wrong(volume, server)
        if any(row.status == ATTACHED and row.host is None for row in rows):
            yield Unchecked("SG524", server.id, f"volume {uuid}: {storage.why_unread('hosts')}")
        elif not any(row.status == ATTACHED for row in rows):
            evidence = {"volume": uuid, "status of the volume": volume.status, "attachments": [*map(_shown, rows)]}
            words = {"server": server.id, "volume": uuid, "host": server.host}
            yield finding("SG524", subject, evidence, remedy_text("SG524", "unconnected", **words), severity)
        for row in wrong:
            yield dataclasses.replace(_elsewhere(server, volume, row), severity=severity)
        if len(rows) > 1 and not wrong:
            others = any(row.host is not None and not same_name(row.host, server.host) for row in rows)
            for item in left(BlockStorage(False, [volume], []), [server]):
                yield dataclasses.replace(item, severity=severity) if others and isinstance(item, Finding) else item
        if volume.status != IN_USE:
            remedy = remedy_text("SG526", "status", volume=uuid, status=volume.status)
            yield finding("SG526", subject, {"volume": uuid, "status": volume.status}, remedy, severity)


# --- the host of an operation ---------------------------------------------------------------------------------


def cinder_volumes_on(storage: t.Optional[BlockStorage], host: str) -> t.List[str]:
    """Return the cinder-volume services that run under a host's name."""
    services = (storage.services if storage else None) or []
    return sorted(entry.host for entry in services if same_name(entry.host.partition("@")[0], host))


def connected(volume: Volume, server: str) -> t.List[str]:
    """Return the names of hosts to which Cinder has a volume connected for a server."""
    return sorted({row.host for row in volume.rows_of(server) if row.host is not None and row.status == ATTACHED})
