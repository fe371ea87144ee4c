# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a compute host shows of itself to the doctor. It is sent to the hosts: it uses nothing that they lack."""

from __future__ import annotations

import dataclasses
import typing as t

from .host_facts import Unread


@dataclasses.dataclass(frozen=True)
class Directory:
    """A directory of journals, or where it is missing the nearest one above it, as ``nearest``."""

    path: str
    nearest: str
    is_directory: bool
    uid: int
    mode: int
    #: Of ``nearest``, for the user that asked.
    writable: bool
    read_only: bool
    free_mb: int
    #: Who asked.
    own_uid: int

    @property
    def exists(self) -> bool:
        """Whether the directory itself is there."""
        return self.nearest == self.path


@dataclasses.dataclass(frozen=True)
class CephCaps:
    """The caps of a Ceph user, as C(auth get) shows them. The key is never kept."""

    entity: str
    mon: str
    osd: str
    mgr: str
    #: Those for all other kinds of daemons, such as C(mds): whoever writes caps replaces all of them.
    others: t.Dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class CephAccess:
    """A Ceph cluster that answered the host. ``via``: the bindings (C(library)) or the commands (C(command))."""

    fsid: str
    via: str


@dataclasses.dataclass(frozen=True)
class HostState:
    """What one host shows of itself. None: not read, and ``unread`` says why."""

    inventory_name: str
    python: str
    python_path: str
    own_uid: int
    #: ``apt-get``, ``dnf`` or ``zypper``; an empty string: none of them.
    packages: str
    #: The clock when the reading began and when it ended.
    began: float
    ended: float
    nova_conf_files: t.Optional[t.List[str]] = None
    images_type: t.Optional[str] = None
    #: libvirt's version.
    libvirt: t.Optional[str] = None
    libvirt_binding: t.Optional[bool] = None
    rbd_binding: t.Optional[bool] = None
    #: Whether Ceph is reached by commands in a container, which need no binding.
    ceph_by_command: bool = False
    #: The cluster of nova-compute's disks, where it answered.
    ceph: t.Optional[CephAccess] = None
    ceph_user: t.Optional[str] = None
    #: Where Nova keeps the images.
    images_pool: t.Optional[str] = None
    caps: t.Optional[CephCaps] = None
    #: Pools of volumes that were tried, to why they can not be read; an empty string: they can.
    volume_pools: t.Optional[t.Dict[str, str]] = None
    journals: t.Optional[Directory] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)

    def why(self, part: str) -> str:
        """Return why a part was not read."""
        return next((item.reason for item in self.unread if item.part == part), "it was not read")
