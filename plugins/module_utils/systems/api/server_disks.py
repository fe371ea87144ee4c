# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers have in Cinder and Glance: volumes, their zones and encryption, and properties of images."""

from __future__ import annotations

import typing as t

from ...model import facts, releases
from ...model.errors import ApiError
from . import block_storage, http

Json = t.Dict[str, t.Any]

#: Image properties that a server was made with.
OWN_PROPERTIES = "2.98"
#: Image properties that decide something here begin so.
PROPERTIES = ("hw_", "os_", "trait:")


def volume_zones(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.Dict[str, t.Optional[str]]:
    """Return the zone of each volume of these servers, by its uuid. Raises :class:`ApiError`."""
    wanted = sorted({volume for server in servers for volume in server.volumes})
    if not wanted:
        return {}
    if not set(http.list_catalog(connection)) & set(block_storage.TYPES):
        raise ApiError("the catalogue has no block storage service")
    rows = block_storage.list_volumes(connection, wanted)
    return {uuid: row.get("availability_zone") for uuid, row in rows.items()}


def volumes_of(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, t.Any]
) -> t.Dict[str, t.List[Json]]:
    """Return the volumes of each server that has any, as cinder shows them, but for servers known before.

    Raises :class:`ApiError`, also for a volume that cinder does not show.
    """
    wanted = {server.id: server.volumes for server in servers if server.volumes and server.id not in known}
    uuids = sorted({volume for volumes in wanted.values() for volume in volumes})
    found = block_storage.list_volumes(connection, uuids)
    missing = [uuid for uuid in uuids if uuid not in found]
    if missing:
        raise ApiError(f"cinder does not show volume {missing[0]}")
    return {uuid: [found[volume] for volume in volumes] for uuid, volumes in wanted.items()}


def volume_states(connection: t.Any, server: facts.ApiServer) -> t.Dict[str, str]:
    """Return the status of each volume of a server, by its uuid. Raises :class:`ApiError`."""
    (rows,) = volumes_of(connection, [server], {}).values() if server.volumes else ([],)
    return {str(row["id"]): str(row.get("status")) for row in rows}


def shelved_images(connection: t.Any, uuid: str) -> t.Dict[str, str]:
    """Return the status of each image that Nova made of a server to shelve it, by its uuid. Raises :class:`ApiError`.

    Nova names it so, and notes the server in it (nova/compute/api.py, shelve; utils.py, create_image; 26 to 34).
    """
    params = {"instance_uuid": uuid, "limit": http.PAGE}
    rows = http.items(connection, http.IMAGE, "/images", "images", params=params)
    own = [row for row in rows if row.get("instance_uuid") == uuid and str(row.get("name")).endswith("-shelved")]
    return {str(row["id"]): str(row.get("status")) for row in own}


def encrypted_volumes(
    servers: t.Sequence[facts.ApiServer],
    volumes: t.Mapping[str, t.Sequence[Json]],
    known: t.Mapping[str, t.List[str]],
) -> t.Dict[str, t.List[str]]:
    """Return the encrypted volumes of each server, as they were read now or before."""
    read = {uuid: [str(row["id"]) for row in rows if row.get("encrypted")] for uuid, rows in volumes.items()}
    return {server.id: read.get(server.id, known.get(server.id, [])) for server in servers}


def image_properties(
    connection: t.Any,
    servers: t.Sequence[facts.ApiServer],
    volumes: t.Mapping[str, t.Sequence[Json]],
    known: t.Mapping[str, t.Dict[str, str]],
) -> t.Dict[str, t.Dict[str, str]]:
    """Return the properties of each server's image, as the server was made with them, or its boot volume was.

    Nova shows its own copy since microversion 2.98. Without it, Glance's of today stand for them; an image that is gone
    is unread.
    """
    found = {server.id: known[server.id] for server in servers if server.id in known}
    found.update(_own_properties(connection, [server for server in servers if server.id not in known]))
    images = sorted({server.image for server in servers if server.image and server.id not in found})
    read = http.each(images, lambda image: _image(connection, image))
    for server in servers:
        image = read.get(server.image) if server.image else None
        if server.id not in found and image is not None:
            found[server.id] = image
        for volume in volumes.get(server.id, ()) if server.image == "" else ():
            if volume.get("bootable") in ("true", True):
                found.setdefault(server.id, _wanted(volume.get("volume_image_metadata") or {}))
    return found


def _own_properties(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.Dict[str, t.Dict[str, str]]:
    """Return what Nova shows of the image properties of servers that boot from an image."""
    offered = releases.microversion_tuple(http.max_microversion(connection, http.COMPUTE))
    if offered < releases.microversion_tuple(OWN_PROPERTIES):
        return {}
    uuids = [server.id for server in servers if server.image]
    answers = http.each(
        uuids, lambda uuid: http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}", OWN_PROPERTIES)
    )
    shown = {uuid: (answer or {}).get("server", {}).get("image") for uuid, answer in answers.items()}
    return {
        uuid: _wanted(image["properties"])
        for uuid, image in shown.items()
        if isinstance(image, dict) and isinstance(image.get("properties"), dict)
    }


def _image(connection: t.Any, uuid: str) -> t.Optional[t.Dict[str, str]]:
    answer = http.get_or_none(connection, http.IMAGE, f"/images/{uuid}")
    return None if answer is None else _wanted(answer)


def _wanted(properties: Json) -> t.Dict[str, str]:
    return {
        str(key): str(value)
        for key, value in properties.items()
        if str(key).startswith(PROPERTIES) and isinstance(value, (str, int, bool))
    }
