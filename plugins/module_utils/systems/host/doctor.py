# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What this host shows of whether it is ready for the collection's operations. Only reads, and tries nothing.

Runs on compute hosts: Python 3.9, standard library and the distribution's bindings only.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import platform
import shutil
import stat
import sys
import time
import typing as t

from ...model.doctor_host import (
    CephAccess,
    CephCaps,
    Directory,
    HostState,
)
from ...model.host_facts import NovaConf
from ..ceph import places, rbd
from . import libvirt, nova_compute
from .facts import COMPUTE_UNITS, STATE_DIR
from .reading import HostError, Parts, ReadError, within

_MIB = 1 << 20
_PACKAGES = ("apt-get", "dnf", "zypper")


@dataclasses.dataclass(frozen=True)
class StateOptions:
    """What the operator may say about where to look. ``only_journals``: the host keeps journals, and no guests."""

    inventory_name: str
    state_dir: str = STATE_DIR
    only_journals: bool = False
    nova_conf_files: t.Tuple[str, ...] = ()
    libvirt_uri: str = "qemu:///system"
    compute_units: t.Tuple[str, ...] = COMPUTE_UNITS
    #: Whether the caps of the Ceph user are read; the user instead of nova.conf's; who reads them instead of that user.
    caps: bool = True
    ceph_user: t.Optional[str] = None
    ceph_reader: t.Optional[str] = None
    ceph_conf: t.Optional[str] = None
    ceph_command: t.Tuple[str, ...] = ()
    #: Pools of volumes that the user is to read.
    volume_pools: t.Tuple[str, ...] = ()


def read_state(options: StateOptions) -> HostState:
    """Return the state of this host. Never raises for a part that cannot be read."""
    began = time.time()
    parts = Parts()
    state = HostState(
        inventory_name=options.inventory_name,
        python=platform.python_version(),
        python_path=sys.executable,
        own_uid=os.geteuid(),
        packages=next((tool for tool in _PACKAGES if shutil.which(tool)), ""),
        began=began,
        ended=began,
        journals=parts.read("journals", lambda: directory(options.state_dir)),
        ceph_by_command=bool(options.ceph_command),
        unread=parts.unread,
    )
    if not options.only_journals:
        state = _of_compute(state, options, parts)
    return dataclasses.replace(state, ended=time.time())


def _of_compute(state: HostState, options: StateOptions, parts: Parts) -> HostState:
    service = nova_compute.find_service("nova-compute", options.compute_units)
    conf = parts.read("nova_conf", lambda: _nova_conf(options, service))
    about = parts.read("libvirt", lambda: libvirt.read_identity(options.libvirt_uri))
    state = dataclasses.replace(
        state,
        nova_conf_files=list(conf.files) if conf else None,
        images_type=conf.images_type if conf else None,
        libvirt=about.version if about else None,
        libvirt_binding=_has("libvirt"),
        rbd_binding=_has("rados") and _has("rbd"),
        ceph_user=options.ceph_user or (conf.rbd_user if conf else None),
        images_pool=conf.images_rbd_pool if conf else None,
    )
    if conf is None:
        return state
    pools = parts.read("ceph_volumes", lambda: _volume_pools(options, conf, service))
    state = dataclasses.replace(state, volume_pools=pools)
    if conf.images_type != "rbd":
        return state
    state = dataclasses.replace(state, ceph=parts.read("ceph", lambda: _ceph(options, conf, service)))
    if not options.caps:
        return state
    caps = parts.read("ceph_caps", lambda: _caps(options, conf, service, state.ceph_user))
    return dataclasses.replace(state, caps=caps)


def _has(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _nova_conf(options: StateOptions, service: nova_compute.Service) -> NovaConf:
    return nova_compute.nova_facts(nova_compute.load(options.nova_conf_files, (), service), service)


def _ceph(options: StateOptions, conf: NovaConf, service: nova_compute.Service) -> CephAccess:
    # As nova-compute: the user whose caps are read may have its keyring on other hosts.
    where = places.options(conf, service, None, None, options.ceph_conf, options.ceph_command)

    def read() -> CephAccess:
        with rbd.connect(where) as ceph:
            return CephAccess(ceph.fsid(), ceph.via)

    return within(2 * rbd.ANSWER, f"Ceph pool {where.pool}", read)


def _volume_pools(options: StateOptions, conf: NovaConf, service: nova_compute.Service) -> t.Dict[str, str]:
    """List each pool as a run does: by its user."""
    where = places.options(conf, service, None, options.ceph_user, options.ceph_conf, options.ceph_command)

    def problem(pool: str) -> str:
        try:
            with rbd.connect(dataclasses.replace(where, pool=pool)) as ceph:
                ceph.names()
        except HostError as error:
            return str(error)
        return ""

    def read() -> t.Dict[str, str]:
        return {pool: problem(pool) for pool in options.volume_pools}

    return within(2 * rbd.ANSWER, "Ceph pools of volumes", read)


def _caps(options: StateOptions, conf: NovaConf, service: nova_compute.Service, user: t.Optional[str]) -> CephCaps:
    if not user:
        raise ReadError("nova.conf contains no Ceph user ([libvirt] rbd_user)")
    reader = options.ceph_reader or user
    where = places.options(conf, service, None, reader, options.ceph_conf, options.ceph_command)

    def read() -> CephCaps:
        with rbd.connect(where) as ceph:
            return rbd.parse_caps(ceph.caps(f"client.{user}"), f"client.{user}")

    return within(2 * rbd.ANSWER, f"Ceph user {user}", read)


def directory(path: str) -> Directory:
    """Return what a directory of journals is like, or what it would be made in. Raises OSError."""
    wanted = os.path.normpath(os.path.abspath(path))
    nearest = wanted
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    about, system = os.stat(nearest), os.statvfs(nearest)
    return Directory(
        path=wanted,
        nearest=nearest,
        is_directory=stat.S_ISDIR(about.st_mode),
        uid=about.st_uid,
        mode=stat.S_IMODE(about.st_mode),
        writable=os.access(nearest, os.W_OK | os.X_OK),
        read_only=bool(system.f_flag & os.ST_RDONLY),
        free_mb=system.f_bavail * system.f_frsize // _MIB,
        own_uid=os.geteuid(),
    )
