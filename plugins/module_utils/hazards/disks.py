# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server's disks are all its disks: where each is, who has it open, what fence covers it, what it costs. Pure.

What a failed spawn and an evacuation do to each kind: nova/virt/libvirt/driver.py (_create_image, _cleanup,
_create_configdrive), nova/compute/manager.py (rebuild_instance, detach_block_devices); 26 to 34, seen on 27 and 34.
"""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from ..model import server_state
from ..model.block_storage import Volume
from ..model.facts import ApiServer, Bundle, EvacuationFacts
from ..model.fences.catalogue import OF_MACHINE, PROVABLE
from .clients import Disks, SeenImage


class Kind(str, enum.Enum):
    """What a disk is."""

    ROOT, EPHEMERAL, SWAP = "root image", "ephemeral image", "swap image"
    CONFIG_DRIVE, VOLUME, FILES = "config drive", "volume", "files"
    NVRAM, TPM = "UEFI variables", "virtual TPM state"


class Effect(str, enum.Enum):
    """What is done to a disk."""

    NOTHING = "nothing"
    #: Nova deletes all images of a server whose spawn fails with one of them missing; the guard keeps them.
    DELETED = "Nova tries to remove it: the guard snapshot keeps it"
    CONNECTED = "it stays connected to the destination"
    MADE_ANEW = "it is made anew"
    LOST = "it is lost: it exists on the host only"


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk of a server.

    ``home``: C(ceph FSID/POOL), a share, or what serves it; None: not known. ``clients``: who has it open, by address
    or host; None: not known. ``seen``: how that was seen, or why it was not. ``fences``: kinds that cover it.
    """

    server: str
    kind: Kind
    name: str
    home: t.Optional[str]
    clients: t.Optional[t.List[str]]
    seen: str
    fences: t.Tuple[str, ...]
    failed_spawn: Effect
    evacuation: Effect


_IMAGES = ((".swap", Kind.SWAP), (".config", Kind.CONFIG_DRIVE), (".eph", Kind.EPHEMERAL), (".local", Kind.EPHEMERAL))


def of_server(
    server: ApiServer, bundle: Bundle, about: EvacuationFacts, known: Disks, shared: bool = False
) -> t.List[Disk]:
    """Return the disks of a server of a dead host. ``known``: what the hosts saw in Ceph of the servers that leave.

    ``shared``: another host has the very files that it ran from.
    """
    images = {name: places for name, places in known.images.items() if name.startswith(f"{server.id}_")}
    found = [_image(server, name, places) for name, places in sorted(images.items())]
    if server.image and not images:
        found.append(_files(server, shared))
    found += [_volume(server, uuid, bundle, known) for uuid in server.volumes]
    if server_state.properties_of(server, about).get("hw_firmware_type") == "uefi":
        found.append(_beside(server, Kind.NVRAM))
    if server_state.tpm_of(server, about):
        found.append(_beside(server, Kind.TPM))
    return found


def _image(server: ApiServer, name: str, places: t.Sequence[SeenImage]) -> Disk:
    suffix = name.partition("_disk")[2]
    kind = next((kind for word, kind in _IMAGES if suffix.startswith(word)), Kind.ROOT)
    made = Effect.MADE_ANEW if kind == Kind.CONFIG_DRIVE else Effect.NOTHING
    watching, seen = _watchers(places)
    return Disk(server.id, kind, name, _ceph(places), watching, seen, PROVABLE, Effect.DELETED, made)


def _ceph(places: t.Sequence[SeenImage]) -> t.Optional[str]:
    homes = sorted({f"ceph {entry.fsid or 'not known'}/{entry.pool}" for entry in places})
    return ", ".join(homes) or None


def _watchers(places: t.Sequence[SeenImage]) -> t.Tuple[t.Optional[t.List[str]], str]:
    if not places or any(entry.image.watchers is None for entry in places):
        reasons = sorted({item.reason for entry in places for item in entry.image.unread})
        return None, "; ".join(reasons) or "the watchers were not read"
    watching = [watcher.address for entry in places for watcher in entry.image.watchers or []]
    return sorted(watching), f"watchers, through {min(name for entry in places for name in entry.by)}"


def _files(server: ApiServer, shared: bool) -> Disk:
    if shared:
        why, home = "nobody can tell who has a file open", f"files that {server.host} shares"
        return Disk(server.id, Kind.FILES, "disk", home, None, why, OF_MACHINE, Effect.NOTHING, Effect.NOTHING)
    why = "no image of the server was found in Ceph"
    place = f"files of {server.host}" if server.host else None
    return Disk(server.id, Kind.FILES, "disk", place, None, why, OF_MACHINE, Effect.LOST, Effect.LOST)


def _beside(server: ApiServer, kind: Kind) -> Disk:
    home = f"files of {server.host}" if server.host else None
    return Disk(server.id, kind, kind.value, home, None, "not looked for", OF_MACHINE, Effect.LOST, Effect.LOST)


def _volume(server: ApiServer, uuid: str, bundle: Bundle, known: Disks) -> Disk:
    storage = bundle.cloud.block_storage if bundle.cloud else None
    volume = storage.by_id.get(uuid) if storage else None
    places = known.places.get(uuid, [])
    fences = PROVABLE if places else OF_MACHINE
    if places:
        home: t.Optional[str] = _ceph(places)
        watching, seen = _watchers(places)
    else:
        home, watching, seen = _served(volume, server.id), None, known.volume_unread(uuid) or ""
        if uuid in known.elsewhere and volume is not None:
            rows = volume.rows_of(server.id)
            watching, seen = sorted({row.host for row in rows if row.host}), "attachments, by Cinder"
    return Disk(server.id, Kind.VOLUME, uuid, home, watching, seen, fences, Effect.CONNECTED, Effect.NOTHING)


def _served(volume: t.Optional[Volume], server: str) -> t.Optional[str]:
    """Return where a volume is by Cinder: its place on a share or in a pool, or the back end that serves it."""
    if volume is None:
        return None
    places = [row.place for row in volume.rows_of(server) if row.place]
    return f"{volume.kind or 'not known'} {places[0] if places else volume.backend or 'not known'}"


def plain(disks: t.Iterable[Disk]) -> t.List[t.Dict[str, t.Any]]:
    """Return disks as a report keeps them."""
    return [
        {
            "kind": disk.kind.value,
            "name": disk.name,
            "home": disk.home or "not known",
            "open at": disk.clients,
            "seen by": disk.seen,
            "fences": list(disk.fences),
            "failed spawn": disk.failed_spawn.value,
            "evacuation": disk.evacuation.value,
        }
        for disk in disks
    ]
