# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_id files: read as Nova reads them, and written as Nova writes them, never over one that is there."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import grp
import os
import pwd
import stat
import typing as t
import uuid as uuids

from ...model.host_facts import ComputeIdFile, NovaConf
from . import processes, unit_environment
from .nova_compute import (
    KOLLA_CONF,
    Service,
    ServiceConfig,
)
from .reading import HostError, ReadError, reason

#: Where kolla keeps the volume that is nova-compute's state_path.
KOLLA_VOLUMES = (
    "/var/lib/docker/volumes/nova_compute/_data",
    "/var/lib/containers/storage/volumes/nova_compute/_data",
)
#: What open() gives a service with the usual umask (nova/virt/node.py: write_local_node_uuid).
MODE = 0o644


class IdentityFileError(HostError):
    """The file cannot be written, or holds another uuid: which."""


def compute_id_files(
    loaded: t.Optional[ServiceConfig],
    nova: t.Optional[NovaConf],
    reader: t.Optional[FileReader] = None,
    volume: t.Optional[str] = None,
) -> t.List[ComputeIdFile]:
    """Return each compute_id file that nova-compute would read (nova/virt/node.py), there or not, and kolla's copies.

    Nova looks beside each C(--config-file), then in state_path; a configuration directory is not looked at. Where
    kolla runs nova-compute, its two copies are what Nova reads in the container, where other directories are above
    them: who may read them is not looked at. ``volume``: the host's directory that nova-compute's container has as its
    state_path, as the kernel says; None: the container does not run, and kolla's own places are looked at.
    """
    if loaded is None or nova is None:
        raise ReadError("nova.conf was not read")
    volumes = [volume] if volume else [folder for folder in KOLLA_VOLUMES if os.path.isdir(folder)]
    if loaded.kolla:
        folders = [os.path.dirname(path) for path in loaded.config.config_files] + (volumes or [KOLLA_VOLUMES[0]])
        copies: t.List[str] = []
    else:
        folders = [os.path.dirname(path) for path in loaded.config.config_files] + [nova.state_path]
        copies = [os.path.dirname(KOLLA_CONF), *volumes]
    read = list(dict.fromkeys(os.path.join("/", folder, "compute_id") for folder in folders))
    kept = [os.path.join(folder, "compute_id") for folder in copies]
    return [read_compute_id(path, True, None if loaded.kolla else reader) for path in read] + [
        read_compute_id(path, False) for path in kept if path not in read and os.path.lexists(path)
    ]


def read_compute_id(path: str, read_by_nova: bool, reader: t.Optional[FileReader] = None) -> ComputeIdFile:
    """Read one file as Nova does: the first 40 characters, stripped, in any form that uuid.UUID takes.

    ``reader``: as whom nova-compute reads; None: as we do. Of errors Nova catches FileNotFoundError and ValueError.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            content = stream.read(40)
            status = os.fstat(stream.fileno())
    except FileNotFoundError:
        return ComputeIdFile(path, read_by_nova, False)
    except UnicodeDecodeError as error:
        return ComputeIdFile(path, read_by_nova, True, error=reason(error))
    except OSError as error:
        return _failed(path, read_by_nova, error, reader)
    known: t.Dict[str, t.Any] = {
        "owner": _user(status.st_uid),
        "group": _group(status.st_gid),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
    }
    if read_by_nova and reader is not None:
        allowed = reader.may_read(path)
        if allowed is None:
            known["error"] = f"it is not known whether {reader.name} is allowed to read the file"
            known["unread"] = True
        elif not allowed:
            refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return ComputeIdFile(path, read_by_nova, True, error=reason(refused), os_error=_printed(refused), **known)
    try:
        return ComputeIdFile(path, read_by_nova, True, str(uuids.UUID(content.strip())), **known)
    except ValueError:
        return ComputeIdFile(path, read_by_nova, True, **{"error": "not a UUID", **known})


def _failed(path: str, read_by_nova: bool, error: OSError, reader: t.Optional[FileReader]) -> ComputeIdFile:
    """What we may not read nova-compute may, where it runs as somebody else; any other error it meets as well."""
    own = reader is None or reader.uid == os.geteuid()
    if error.errno in (errno.EACCES, errno.EPERM) and not own:
        return ComputeIdFile(path, read_by_nova, True, error=reason(error), unread=True)
    return ComputeIdFile(path, read_by_nova, True, error=reason(error), os_error=_printed(error))


def _printed(error: OSError) -> str:
    """Return an error as Python ends with it."""
    return f"{type(error).__name__}: {error}"


@dataclasses.dataclass(frozen=True)
class FileReader:
    """As whom nova-compute reads its files. ``uid``: None where that is not known."""

    name: str
    uid: t.Optional[int]
    groups: t.FrozenSet[int] = frozenset()

    def may_read(self, path: str) -> t.Optional[bool]:
        """Whether it may read a file, by the modes of the file and of the directories above it; None: not known.

        A file with an access control list is not known, nor is what is closed to some, where the user is not known.
        """
        if self.uid == 0:
            return True
        real = os.path.realpath(path)
        folders = [os.path.dirname(real)]
        while folders[-1] != os.path.dirname(folders[-1]):
            folders.append(os.path.dirname(folders[-1]))
        asked = [(real, stat.S_IROTH), *[(folder, stat.S_IXOTH) for folder in folders]]
        answers = [self._may(place, bit) for place, bit in asked]
        return False if False in answers else None if None in answers else True

    def _may(self, place: str, bit: int) -> t.Optional[bool]:
        try:
            status = os.stat(place)
            if "system.posix_acl_access" in os.listxattr(place):
                return None
        except OSError as error:
            # No extended attributes here: no such list either.
            if error.errno != errno.ENOTSUP:
                return None
        if self.uid is None:
            everybody = bit | bit << 3 | bit << 6
            return True if status.st_mode & everybody == everybody else None
        if status.st_uid == self.uid:
            return bool(status.st_mode & bit << 6)
        return bool(status.st_mode & (bit << 3 if status.st_gid in self.groups else bit))


def reader_of(service: Service) -> t.Optional[FileReader]:
    """Return as whom nova-compute will read: as its unit says, else as it runs."""
    user: t.Optional[str] = service.shown.get("User", "")
    masked = service.shown.get("LoadState") == "masked"
    if service.unit is not None and masked:
        user = unit_environment.masked_setting(service.unit, "User")
    script = any(item.startswith("/etc/init.d/") for item in service.argv)
    if user:
        return _reader_named(user, service.shown.get("Group", ""), service.shown.get("SupplementaryGroups", ""))
    if service.pid is not None:
        found = processes.identity(service.pid)
        return (
            FileReader("nova-compute", None)
            if found is None
            else FileReader(_user(found[0]), found[0], frozenset(found[1]))
        )
    # An init script may change the user by itself.
    if service.unit is None or script or user is None or not (masked or service.shown.get("LoadState") == "loaded"):
        return FileReader("nova-compute", None)
    return FileReader("root", 0)


def _reader_named(user: str, group: str, more: str) -> FileReader:
    try:
        entry = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
        groups = {_group_number(group) if group else entry.pw_gid, *map(_group_number, more.split())}
    except (KeyError, ValueError):
        return FileReader(user, None)
    return FileReader(user, entry.pw_uid, frozenset(groups | set(os.getgrouplist(entry.pw_name, entry.pw_gid))))


def _group_number(name: str) -> int:
    return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def missing(path: str, uuid: str) -> bool:
    """Whether the file has to be made. Raises :class:`IdentityFileError` where another uuid, or none, is in it."""
    found = read_compute_id(path, True)
    if not found.exists:
        return True
    if found.error is not None:
        raise IdentityFileError(f"{path} exists, but contains no valid uuid: {found.error}")
    if found.uuid != uuid:
        raise IdentityFileError(f"{path} holds {found.uuid}, not {uuid}. The run does not change the file")
    return False


def create(path: str, uuid: str) -> None:
    """Make the file with owner and group of its directory; it is there whole or not at all.

    Raises :class:`IdentityFileError` where it appeared meanwhile or cannot be written.
    """
    # A host that is only read does not compile it.
    from . import line_edits

    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".compute_id.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(uuid)
            stream.flush()
            owner = os.stat(folder)
            os.fchown(stream.fileno(), owner.st_uid, owner.st_gid)
            os.fchmod(stream.fileno(), MODE)
            os.fsync(stream.fileno())
        # Unlike a rename, a link never takes the place of a file that is there.
        os.link(temporary, path)
    except FileExistsError:
        raise IdentityFileError(
            f"{path} appeared during the run. The run does not change the file", problem="appeared"
        ) from None
    except OSError as error:
        raise IdentityFileError(f"{path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    line_edits.sync_directory(folder)
