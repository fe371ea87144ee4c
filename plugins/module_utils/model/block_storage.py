# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Cinder says of volumes: their state, who has them attached and from where, and which back end they are on.

Of a connection's description only its kind and the volume's place are kept: the rest may hold secrets. A volume that
Cinder does not know, or does not show, has an :class:`Unread` entry C(volume UUID).
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .host_facts import Unread

#: Of an attachment: the server has it, or is about to; and reserved without a connection.
ATTACHED, RESERVED = "attached", "reserved"
#: Of a volume that a server has.
IN_USE = "in-use"

#: What Cinder's drivers and Nova call the kinds of connection of which no back end looks at the host's name: RBD's
#: initialize_connection ignores the connector, NFS's too (cinder/volume/drivers/rbd.py, nfs.py; 22 to 29).
CEPH, NFS = ("rbd", "ceph"), ("nfs",)


@dataclasses.dataclass(frozen=True)
class VolumeAttachment:
    """A row of Cinder's volume_attachment.

    ``host``: by which name the host was connected; None: it is not connected. ``driver``: of the connection, as Nova
    calls it (C(rbd), C(nfs), C(iscsi)); None: there is none. ``place``: of the volume there (C(pool/volume-UUID), a
    share).
    """

    id: str
    volume: str
    server: t.Optional[str]
    status: t.Optional[str]
    host: t.Optional[str] = None
    driver: t.Optional[str] = None
    place: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Volume:
    """A volume. ``backend``: C(HOST@BACKEND#POOL) of the cinder-volume that manages it; ``protocol``: of that pool."""

    id: str
    status: str
    zone: t.Optional[str]
    backend: t.Optional[str]
    protocol: t.Optional[str]
    multiattach: bool
    encrypted: bool
    attachments: t.List[VolumeAttachment]

    @property
    def kind(self) -> t.Optional[str]:
        """Return the kind of its connections, or what its back end calls it, in lower case; None: neither is known."""
        kinds = [entry.driver for entry in self.attachments if entry.driver]
        found = kinds[0] if kinds else self.protocol
        return found.lower() if found else None

    @property
    def in_ceph(self) -> t.Optional[bool]:
        """Return True if it is an image in Ceph, False if it is none; None: not known."""
        return None if self.kind is None else self.kind in CEPH

    @property
    def exported_by_name(self) -> t.Optional[bool]:
        """Return True if its back end may know hosts by name; None: what back end it is is not known."""
        return None if self.kind is None else self.kind not in (*CEPH, *NFS)

    def rows_of(self, server: str) -> t.List[VolumeAttachment]:
        """Return the attachments of a server."""
        return [entry for entry in self.attachments if entry.server == server]


@dataclasses.dataclass(frozen=True)
class VolumeService:
    """A cinder-volume. ``host``: C(HOST@BACKEND). ``cluster``: in which any service serves the volumes of each."""

    host: str
    zone: t.Optional[str]
    state: str
    status: str
    cluster: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class BlockStorage:
    """What one reading of Cinder found. ``whole``: whether all volumes of the cloud were listed, or those of servers.

    ``sharers``: Nova's host of each server that has one of these volumes and was not listed itself; None: it is gone,
    or on no host. ``computes``: Nova's names of all compute hosts, whatever the rest was narrowed to. ``strays``:
    attachments of servers, of volumes that were not asked for.
    """

    whole: bool
    volumes: t.Optional[t.List[Volume]]
    services: t.Optional[t.List[VolumeService]]
    sharers: t.Dict[str, t.Optional[str]] = dataclasses.field(default_factory=dict)
    strays: t.List[VolumeAttachment] = dataclasses.field(default_factory=list)
    computes: t.Optional[t.List[str]] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def by_id(self) -> t.Dict[str, Volume]:
        """Return the volumes by uuid."""
        return {volume.id: volume for volume in self.volumes or []}

    def why_unread(self, part: str) -> str:
        """Say why a volume, by its uuid, or another part of what Cinder says was not read."""
        reasons = {entry.part: entry.reason for entry in self.unread}
        known = (reasons.get(word) for word in (f"volume {part}", part, "volumes", "attachments"))
        return next((reason for reason in known if reason), "Cinder was not asked for it")
