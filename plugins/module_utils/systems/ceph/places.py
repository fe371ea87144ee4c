# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How this host reaches the Ceph of its nova-compute: its pool, user and configuration, in a container or not.

Runs on compute hosts: Python 3.9 and the standard library only.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ...model.host_facts import NovaConf
from ..host import deployment, nova_compute
from ..host.container_files import ContainerFiles
from ..host.reading import ReadError
from .rbd import RbdOptions

#: Where Ceph looks where nova.conf names no file.
DEFAULT = "/etc/ceph/ceph.conf"


def options(
    nova: NovaConf,
    service: nova_compute.Service,
    pool: t.Optional[str] = None,
    user: t.Optional[str] = None,
    conf: t.Optional[str] = None,
    command: t.Sequence[str] = (),
) -> RbdOptions:
    """Return where this host's nova-compute keeps disks; what the operator gives goes before nova.conf.

    A file that nova.conf names is one of nova-compute's container, and one that the operator gives is one of the host.
    With words before the commands, all paths are those of the place where the commands run. Raises ReadError where a
    file of the container is on no path of the host that is known.
    """
    path = conf or nova.images_rbd_ceph_conf
    made = RbdOptions(pool or nova.images_rbd_pool or "", user or nova.rbd_user, path, tuple(command))
    files = None if command else container_of(nova.files, service)
    if files is None or conf:
        return dataclasses.replace(made, files=files)
    inside = path or DEFAULT
    found = files.on_host(inside)
    if found is None:
        raise ReadError(
            f"nova-compute runs in a container, and the run does not know the path of the container's {inside} on the "
            "host. Set stackguard_ceph_conf, or rbd_conf of the module compute_host_info, to the path of this file on "
            "the host",
            problem="path-in-container-unknown",
        )
    return dataclasses.replace(made, conf=found, files=files, inside=inside)


def container_of(files: t.Sequence[str], service: nova_compute.Service) -> t.Optional[ContainerFiles]:
    """Return the files of nova-compute's container; None: it runs on the host, or it is not known to run elsewhere.

    ``files``: those of nova.conf that were read on the host.
    """
    kolla = nova_compute.KOLLA_CONF in files
    inside = service.pid if service.pid is not None and not service.same_root else None
    if not kolla and inside is None:
        return None
    folder = os.path.dirname(nova_compute.KOLLA_CONF) if kolla else None
    return ContainerFiles(inside, folder, () if inside is None else deployment.words_into(inside))
