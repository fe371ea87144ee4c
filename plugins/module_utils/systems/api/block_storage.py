# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads Cinder through its API, in bulk, with an administrator's eyes.

A volume shows its attachments only once they are C(attached), with the host's name; the list of attachments shows all,
without it (cinder/api/v3/views/volumes.py, views/attachments.py; 22 to 29). Both are read, and joined by id.
"""

from __future__ import annotations

import typing as t

from ...model import facts
from ...model.block_storage import ATTACHED, CEPH, BlockStorage, Volume, VolumeAttachment, VolumeService
from ...model.errors import ApiError
from ...model.lookups import COMPUTE
from . import compute_services, http, server_records

Json = t.Dict[str, t.Any]
_T = t.TypeVar("_T")

#: Service types of Cinder.
TYPES = ("block-storage", "block-store", "volumev3", "volume")
#: Attachments as objects of their own (Pike).
ATTACHMENTS = "3.27"
#: Services show their cluster (Newton).
CLUSTERS = "3.7"
#: The least that a service gives in a page (osapi_max_limit): fewer of one server or volume are all of them.
LEAST_PAGE = 20
#: Up to so many volumes each is asked for; of more all are listed, a thousand a page.
SINGLY = 40


def read_block_storage(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], catalog: t.Optional[t.Sequence[str]], whole: bool
) -> BlockStorage:
    """Read the volumes of these servers; ``whole``: every volume and attachment of the cloud.

    Never raises for what cannot be read: see ``unread``.
    """
    wanted = sorted({volume for server in servers for volume in server.volumes})
    unread: t.List[facts.Unread] = []

    def part(name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        try:
            return read()
        except ApiError as error:
            unread.append(facts.Unread(name, error.message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.append(facts.Unread(name, f"the answer cannot be parsed: {type(error).__name__} {error}"))
        return None

    if catalog is None or not set(catalog) & set(TYPES):
        if wanted:
            why = "the catalogue was not read" if catalog is None else "the catalogue has no block storage service"
            unread.append(facts.Unread("volumes", why))
        return BlockStorage(whole, None if wanted else [], None if catalog is None else [], unread=unread)
    services = part("services", lambda: list_services(connection))
    if not wanted and not whole:
        # A cinder-volume may have a host's name, whatever its servers have.
        return BlockStorage(whole, [], services, unread=unread)
    rows = part("volumes", lambda: list_volumes(connection, wanted, whole))
    ids = [server.id for server in servers if server.volumes]
    attachments = part("attachments", lambda: list_attachments(connection, ids, list(rows or ()), whole))
    if rows is None or attachments is None:
        return BlockStorage(whole, None, services, unread=unread)
    unread += [
        facts.Unread(f"volume {uuid}", "Cinder has no volume with this uuid, or the account is not allowed to see it")
        for uuid in wanted
        if uuid not in rows
    ]
    protocols = part("protocols", lambda: list_protocols(connection))
    found, strays = _joined(rows, attachments, protocols or {})
    if any(entry.status == ATTACHED and entry.host is None for volume in found for entry in volume.attachments):
        unread.append(facts.Unread("hosts", "Cinder shows the hosts of attachments to administrators only"))
    return BlockStorage(
        whole=whole,
        volumes=found,
        services=services,
        sharers=part("sharers", lambda: _sharers(connection, servers, wanted, found)) or {},
        strays=strays,
        computes=part("computes", lambda: _computes(connection)),
        unread=unread,
    )


def list_volumes(connection: t.Any, wanted: t.Sequence[str], whole: bool = False) -> t.Dict[str, Json]:
    """Return these volumes as Cinder shows them, by uuid: one by one where they are few, else from the list of all.

    One that is gone is not among them. Raises :class:`ApiError`.
    """
    found: t.Dict[str, Json] = {}
    if whole or len(wanted) > SINGLY:
        pages = http.pages(connection, http.VOLUME, "/volumes/detail", "volumes", None, {"all_tenants": "1"})
        found = {str(item["id"]): item for item in pages}
    missing = [uuid for uuid in wanted if uuid not in found]
    if len(missing) > SINGLY:
        # An account that is no administrator is shown its own project's, without a word.
        raise ApiError(f"Cinder's list lacks {len(missing)} of the volumes: is the account allowed to list all?")
    asked = http.each(missing, lambda uuid: http.get_or_none(connection, http.VOLUME, f"/volumes/{uuid}"))
    found.update({uuid: answer["volume"] for uuid, answer in asked.items() if answer is not None})
    return found if whole else {uuid: found[uuid] for uuid in wanted if uuid in found}


def list_attachments(
    connection: t.Any, servers: t.Sequence[str], volumes: t.Sequence[str], whole: bool = False
) -> t.List[Json]:
    """Return the attachments of these servers and volumes, each with its connection. Raises :class:`ApiError`."""
    if whole or len(servers) + len(volumes) > SINGLY:
        return list(_attachments(connection, {}))
    by_server = http.each(servers, lambda uuid: list(_attachments(connection, {"instance_id": uuid})))
    by_volume = http.each(volumes, lambda uuid: list(_attachments(connection, {"volume_id": uuid})))
    rows = [item for answers in (by_server, by_volume) for items in answers.values() for item in items]
    found = {str(item["id"]): item for item in rows}
    return [found[uuid] for uuid in sorted(found)]


def _attachments(connection: t.Any, narrowed: t.Mapping[str, str]) -> t.Iterator[Json]:
    """Yield attachments. Their list has pages, and no link to the next: it is asked for until one is empty."""
    params: Json = {"all_tenants": "1", "limit": http.PAGE, **narrowed}
    for _page in range(http.MAX_PAGES):
        page = http.items(connection, http.VOLUME, "/attachments/detail", "attachments", ATTACHMENTS, params)
        if page and page[-1]["id"] == params.get("marker"):
            raise ApiError("GET block_storage /attachments/detail: the API returned the same page twice")
        yield from page
        if not page or (narrowed and len(page) < LEAST_PAGE):
            return
        params = {**params, "marker": page[-1]["id"]}


def list_services(connection: t.Any) -> t.List[VolumeService]:
    """Return every cinder-volume. Raises :class:`ApiError`."""
    asked = {"binary": "cinder-volume"}
    rows = http.items(connection, http.VOLUME, "/os-services", "services", CLUSTERS, params=asked)
    return [
        VolumeService(row["host"], row.get("zone"), row["state"], row["status"], row.get("cluster")) for row in rows
    ]


def list_protocols(connection: t.Any) -> t.Dict[str, str]:
    """Return each pool's storage protocol, by C(HOST@BACKEND#POOL). Raises :class:`ApiError`."""
    rows = http.items(connection, http.VOLUME, "/scheduler-stats/get_pools", "pools", params={"detail": "true"})
    said = {row["name"]: (row.get("capabilities") or {}).get("storage_protocol") for row in rows}
    return {str(name): str(protocol) for name, protocol in said.items() if protocol}


def _joined(
    rows: t.Mapping[str, Json], attachments: t.Sequence[Json], protocols: t.Mapping[str, str]
) -> t.Tuple[t.List[Volume], t.List[VolumeAttachment]]:
    """Return the volumes with their attachments, and the attachments of no volume that is here."""
    hosts = {
        str(entry.get("attachment_id")): entry.get("host_name")
        for row in rows.values()
        for entry in row.get("attachments") or ()
    }
    of_volume: t.Dict[str, t.List[VolumeAttachment]] = {}
    for item in attachments:
        entry = _attachment(item, hosts.get(str(item["id"])))
        of_volume.setdefault(entry.volume, []).append(entry)
    found = [_volume(rows[uuid], sorted(of_volume.pop(uuid, ()), key=_by_id), protocols) for uuid in sorted(rows)]
    return found, [entry for uuid in sorted(of_volume) for entry in sorted(of_volume[uuid], key=_by_id)]


def _by_id(entry: VolumeAttachment) -> str:
    return entry.id


def _attachment(item: Json, host: t.Optional[str]) -> VolumeAttachment:
    info = item.get("connection_info") or {}
    kind = info.get("driver_volume_type")
    # Cinder flattens the connection's data into one object; older ones nest it.
    data = {**info, **(info.get("data") or {})}
    place = data.get("name")
    if kind == "nfs" and data.get("export"):
        place = f"{data['export']}/{place}"
    return VolumeAttachment(
        str(item["id"]),
        str(item["volume_id"]),
        item.get("instance") or None,
        item.get("status"),
        host or None,
        str(kind) if kind else None,
        str(place) if kind in ("rbd", "nfs") and place else None,
    )


def ceph_place(item: Json) -> t.Optional[str]:
    """Return the pool and image of an attachment in Ceph, as Cinder shows it; None: it is none."""
    entry = _attachment(item, None)
    return entry.place if entry.driver in CEPH else None


def _volume(row: Json, attachments: t.List[VolumeAttachment], protocols: t.Mapping[str, str]) -> Volume:
    backend = row.get("os-vol-host-attr:host")
    return Volume(
        id=str(row["id"]),
        status=str(row["status"]),
        zone=row.get("availability_zone"),
        backend=backend,
        protocol=protocols.get(str(backend)),
        multiattach=bool(row.get("multiattach")),
        encrypted=bool(row.get("encrypted")),
        attachments=attachments,
    )


def _computes(connection: t.Any) -> t.List[str]:
    rows = compute_services.raw_services(connection)
    return sorted({str(row["host"]) for row in rows if row.get("binary") == COMPUTE})


def _sharers(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], wanted: t.Sequence[str], found: t.Sequence[Volume]
) -> t.Dict[str, t.Optional[str]]:
    """Ask Nova for the host of each other server that has one of these volumes: Cinder's name of it may be stale."""
    known, asked = {server.id for server in servers}, set(wanted)
    others = {entry.server for volume in found if volume.id in asked for entry in volume.attachments}
    answers = http.each(
        sorted(uuid for uuid in others if uuid is not None and uuid not in known),
        lambda uuid: server_records.raw_server(connection, uuid),
    )
    return {uuid: answer.get("OS-EXT-SRV-ATTR:host") if answer else None for uuid, answer in answers.items()}
