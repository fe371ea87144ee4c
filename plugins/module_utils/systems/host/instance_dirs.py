# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Directories of instances that no domain stands behind: found, and moved aside. Nothing is ever deleted.

A live migration to a host ends where the directory of its server is there already (virt/libvirt/driver.py,
pre_live_migration, DestinationDiskExists), and a disk in it is taken for the server's own where images are files.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import typing as t

from ...model.host_facts import InstanceDisk, InstancesPath, LeftDirectory
from . import compute_id, libvirt, mounts, processes
from .reading import HostError, ReadError

#: File systems of which the kernel lets one host only write. Anything else may be another host's, too.
LOCAL = frozenset(("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs"))
#: virt/libvirt/utils.py, get_instance_path; driver.py, migrate_disk_and_power_off and delete_instance_files.
_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_resize|_del)?")
#: What a spawn makes anew, and nothing is lost with: logs of consoles, and definitions that libvirt has itself.
_HARMLESS = re.compile(r"console\.log(?:\.\d+)?|libvirt\.xml|unrescue\.xml")
#: What this host's NFS server lets others mount (exportfs(8)).
EXPORTS = "/var/lib/nfs/etab"
#: Where each nova-compute that has a directory of instances signs (nova/virt/storage_users.py).
USERS = "compute_nodes"
#: What Nova starts a guest from, of files in its directory (virt/libvirt/driver.py, _create_image).
_DISK = re.compile(r"disk(?:\.local|\.swap|\.eph\d+)?")
#: Paths that a fact names of what is in one directory.
SHOWN = 5


class MoveAsideError(HostError):
    """A directory cannot be moved aside: why. It stays where it is."""


def place_of(instances_path: str, state_path: str, pid: t.Optional[int], kolla: bool, proc: str = "/proc") -> str:
    """Return the host's path of instances_path. ``pid``: of nova-compute in a container; ``kolla``: stopped or not.

    Raises ReadError where the container has it on no path of the host.
    """
    if pid is None and not kolla:
        return instances_path
    outside = mounts.on_host(pid, instances_path, proc) if pid is not None else None
    below = os.path.relpath(instances_path, state_path)
    if outside is None and kolla and not below.startswith(".."):
        folders = [os.path.normpath(os.path.join(volume, below)) for volume in compute_id.KOLLA_VOLUMES]
        outside = next((folder for folder in folders if os.path.isdir(folder)), None)
    if outside is None:
        raise ReadError(f"instances_path {instances_path} of nova-compute's container is on no known path of the host")
    return outside


def read(
    path: str,
    domains: t.Container[str],
    proc: str = "/proc",
    wanted: t.Collection[str] = (),
    inside: t.Optional[str] = None,
) -> InstancesPath:
    """Return what is left in a directory of instances. ``domains``: uuids of the host's domains.

    ``wanted``: instances of which the disks are read where other hosts may have them. ``inside``: the directory's path
    as nova-compute has it. A directory of a resize or of a deletion is always returned: a domain has only that of its
    own name. Raises OSError, ReadError.
    """
    kind = mounts.kind_of(path, proc)
    if not kind:
        raise ReadError(f"the file system of {path} is not known")
    local = is_local(path, proc)
    left = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match and entry.is_dir(follow_symlinks=False) and (match[1] != match[0] or match[1] not in domains):
                    left.append(_left(entry.path, entry.name, match[1]))
    except FileNotFoundError:
        # nova-compute makes it with the first instance.
        return InstancesPath(path, kind, local)
    found = InstancesPath(path, kind, local, sorted(left, key=lambda item: item.name))
    if local or not wanted:
        return found
    disks = [disk for uuid in sorted(wanted) for disk in _disks(path, inside or path, uuid)]
    exported = any(mounts.below(os.path.realpath(path), folder) for folder in _exports() or [])
    return dataclasses.replace(found, users=_users(path), exported=exported, disks=disks)


def _users(path: str) -> t.Optional[t.Dict[str, int]]:
    """Return who has signed in a directory of instances, and when. What is none of Nova's is no signature."""
    try:
        with open(os.path.join(path, USERS), encoding="utf-8") as stream:
            found = json.load(stream)
        return {str(host): int(then) for host, then in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError):
        return None


def _disks(path: str, inside: str, uuid: str) -> t.List[InstanceDisk]:
    """Return an instance's disks. One that goes meanwhile is not there; what cannot be read has no format."""
    try:
        with os.scandir(os.path.join(path, uuid)) as entries:
            inodes = {item.name: item.inode() for item in entries if item.is_file(follow_symlinks=False)}
    except FileNotFoundError:
        return []
    try:
        with open(os.path.join(path, uuid, "disk.info"), encoding="utf-8") as stream:
            formats = {str(file): str(kind) for file, kind in json.load(stream).items()}
    except (OSError, ValueError, AttributeError):
        formats = {}
    return [
        InstanceDisk(uuid, name, inode, formats.get(os.path.join(inside, uuid, name)))
        for name, inode in sorted(inodes.items())
        if _DISK.fullmatch(name)
    ]


def is_local(path: str, proc: str = "/proc") -> bool:
    """Return True if no other host has a directory: by its file system, and by what this host exports of it."""
    if mounts.kind_of(path, proc) not in LOCAL:
        return False
    real, exports = os.path.realpath(path), _exports()
    return exports is not None and not any(
        mounts.below(real, folder) or mounts.below(folder, real) for folder in exports
    )


def _exports() -> t.Optional[t.List[str]]:
    """Return the folders that this host lets others mount; None: not known."""
    try:
        with open(EXPORTS, encoding="utf-8", errors="surrogateescape") as stream:
            return [mounts.plain(line.split("\t")[0]) for line in stream if line.strip()]
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _left(path: str, name: str, uuid: str) -> LeftDirectory:
    status = os.stat(path)
    return LeftDirectory(uuid, name, status.st_ino, status.st_ctime_ns, _keeps(path, status.st_dev))


def _keeps(path: str, device: int) -> t.List[str]:
    """Name what is in it that something may start from. What cannot be read may be that."""
    found: t.List[str] = []

    def unreadable(error: OSError) -> None:
        found.append(f"{error.filename}: {error.strerror}")

    for above, folders, names in os.walk(path, onerror=unreadable):
        for name in sorted(names):
            file = os.path.join(above, name)
            if above != path or os.path.islink(file) or not _HARMLESS.fullmatch(name):
                found.append(os.path.relpath(file, path))
        found += [f"{folder}/" for folder in folders if os.stat(os.path.join(above, folder)).st_dev != device]
        if len(found) >= SHOWN:
            break
    return found[:SHOWN]


def aside(name: str, operation: str) -> str:
    """Return what a directory is called that an operation has moved aside."""
    return f"{name}.stackguard-{operation}"


def move_aside(path: str, directory: t.Mapping[str, t.Any], operation: str, uri: str, proc: str = "/proc") -> None:
    """Rename a directory beside itself, if it is still the one that was judged; one that is moved already stays.

    ``directory``: as plain :class:`LeftDirectory`. Raises MoveAsideError, and as libvirt.read_domains does.
    """
    source = os.path.join(path, str(directory["name"]))
    target = os.path.join(path, aside(str(directory["name"]), operation))
    if is_aside(path, directory, operation):
        return
    uuid = str(directory["uuid"])
    if uuid in {domain.uuid for domain in libvirt.read_domains(uri)} | set(processes.qemu_by_uuid(proc)):
        raise MoveAsideError(f"{source} stays: a domain or a QEMU of its instance is on this host now")
    try:
        now = _left(source, str(directory["name"]), uuid)
        if (now.inode, now.changed_ns) != (directory["inode"], directory["changed_ns"]) or now.keeps:
            raise MoveAsideError(f"{source} stays: it has changed since it was judged", problem="changed")
        if not is_local(path, proc):
            raise MoveAsideError(f"{source} stays: other hosts may have it, too", problem="not-local")
        if os.path.lexists(target):
            raise MoveAsideError(f"{source} stays: {target} is there already", problem="in-the-way")
        os.rename(source, target)
    except OSError as error:
        raise MoveAsideError(f"{source}: {error.strerror}") from error


def is_aside(path: str, directory: t.Mapping[str, t.Any], operation: str) -> bool:
    """Return True if an operation has moved a directory aside, and none of its name is there."""
    source = os.path.join(path, str(directory["name"]))
    target = os.path.join(path, aside(str(directory["name"]), operation))
    return os.path.isdir(target) and not os.path.lexists(source)
