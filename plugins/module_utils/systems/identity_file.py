# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_id files: read as Nova reads them, and written as Nova writes them, never over one that is there."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import typing as t
import uuid as uuids

from ansible_collections.stackguard.nova.plugins.module_utils.facts import ComputeIdFile, NovaConf
from ansible_collections.stackguard.nova.plugins.module_utils.systems import edits
from ansible_collections.stackguard.nova.plugins.module_utils.systems.compute_service import KOLLA_CONF, Loaded
from ansible_collections.stackguard.nova.plugins.module_utils.systems.reading import HostError, ReadError, reason

#: Where kolla keeps the volume that is nova-compute's state_path.
KOLLA_VOLUMES = (
    "/var/lib/docker/volumes/nova_compute/_data",
    "/var/lib/containers/storage/volumes/nova_compute/_data",
)
#: What open() gives a service with the usual umask (nova/virt/node.py: write_local_node_uuid).
MODE = 0o644


class IdentityFileError(HostError):
    """The file cannot be written, or holds another uuid: which."""


def compute_id_files(loaded: t.Optional[Loaded], nova: t.Optional[NovaConf]) -> t.List[ComputeIdFile]:
    """Return each compute_id file that nova-compute would read (nova/virt/node.py), there or not, and kolla's copies.

    Nova looks beside each C(--config-file), then in state_path; a configuration directory is not looked at. Where
    kolla runs nova-compute, its two copies are what Nova reads in the container.
    """
    if loaded is None or nova is None:
        raise ReadError("nova.conf was not read")
    volumes = [folder for folder in KOLLA_VOLUMES if os.path.isdir(folder)]
    if loaded.kolla:
        folders = [os.path.dirname(path) for path in loaded.config.config_files] + (volumes or [KOLLA_VOLUMES[0]])
        copies: t.List[str] = []
    else:
        folders = [os.path.dirname(path) for path in loaded.config.config_files] + [nova.state_path]
        copies = [os.path.dirname(KOLLA_CONF), *volumes]
    read = list(dict.fromkeys(os.path.join("/", folder, "compute_id") for folder in folders))
    kept = [os.path.join(folder, "compute_id") for folder in copies]
    return [read_compute_id(path, True) for path in read] + [
        read_compute_id(path, False) for path in kept if path not in read and os.path.lexists(path)
    ]


def read_compute_id(path: str, read_by_nova: bool) -> ComputeIdFile:
    """Read one file as Nova does: the first 40 characters, stripped, in any form that uuid.UUID takes."""
    try:
        with open(path, encoding="utf-8") as stream:
            content = stream.read(40)
            status = os.fstat(stream.fileno())
    except FileNotFoundError:
        return ComputeIdFile(path, read_by_nova, False)
    except (OSError, UnicodeDecodeError) as error:
        return ComputeIdFile(path, read_by_nova, True, error=reason(error))
    known = {
        "owner": _user(status.st_uid),
        "group": _group(status.st_gid),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
    }
    try:
        return ComputeIdFile(path, read_by_nova, True, str(uuids.UUID(content.strip())), **known)
    except ValueError:
        return ComputeIdFile(path, read_by_nova, True, error="not a UUID", **known)


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
        raise IdentityFileError(f"{path} is there, but holds no uuid that can be read: {found.error}")
    if found.uuid != uuid:
        raise IdentityFileError(f"{path} holds {found.uuid}, not {uuid}: it is left as it is")
    return False


def create(path: str, uuid: str) -> None:
    """Make the file with owner and group of its directory; it is there whole or not at all.

    Raises :class:`IdentityFileError` where it appeared meanwhile or cannot be written.
    """
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
        raise IdentityFileError(f"{path} appeared meanwhile: it is left as it is") from None
    except OSError as error:
        raise IdentityFileError(f"{path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    edits.sync_directory(folder)
