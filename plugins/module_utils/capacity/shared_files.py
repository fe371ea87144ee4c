# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a host has the very files from which the guests of a dead host ran: a shared instances_path. Pure.

Nova starts an evacuated server from the disk in its directory where that exists, whatever that directory is
(nova/compute/manager.py, rebuild_instance; virt/libvirt/driver.py, _create_image; 26 to 34; seen on 34): also from the
old one that a move has left on a local file system. So its existence proves nothing.

The proof is a file that one host has written and the other reads: each nova-compute signs in C(compute_nodes), in each
pass of its image cache, beside what others have signed. The dead host's signature must be as new as its last passes,
and the destination's own beside it. On a file system of which the kernel lets one host only write there is no proof,
however new the signature: a cloned machine, or the directory below a share that is not mounted. What is left: a copy of
the share on another share, no older than :data:`WINDOW` when the host died, that the destination uses already.

A spawn that fails deletes the directory only where it has made it (C(_create_image), C(created_instance_dir)).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import fence_proof
from ..model.facts import HostFacts
from ..model.fences.catalogue import OF_MACHINE, either
from ..model.names import conf_host
from ..model.requests import EvacuationRequest

#: File systems that many hosts write at once. Others that are not local may be anything: pools of local disks, too.
SHARED = frozenset(("ceph", "fuse.ceph", "fuse.glusterfs", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2"))
#: Seconds. Two passes of the image cache ([image_cache] manager_interval, 40 minutes), and how wrong a clock may be.
WINDOW, SKEW = 5400.0, 120.0
#: images_type of nova.conf to the formats that a disk in its directory has then (virt/libvirt/imagebackend.py).
FORMATS: t.Mapping[str, t.Tuple[str, ...]] = {
    "default": ("qcow2",),
    "flat": ("raw",),
    "qcow2": ("qcow2",),
    "raw": ("raw",),
}


@dataclasses.dataclass(frozen=True)
class SharedFiles:
    """What a host has of the files of a dead host's guests. ``refused``: why they are not proven to be the very ones.

    ``disks``: by server, the names of its disks, to their inodes.
    """

    refused: t.Optional[str]
    disks: t.Mapping[str, t.Mapping[str, int]] = dataclasses.field(default_factory=dict)

    def against(self, uuid: str, images: t.Sequence[str]) -> t.Optional[str]:
        """Say why a server cannot be started from its files here; None: it can. ``images``: names as in Ceph."""
        if self.refused is not None:
            return self.refused
        wanted = {name.partition("_")[2] for name in images}
        missing = sorted(wanted - set(self.disks.get(uuid, {})))
        if missing:
            return f"the server's directory has no {', '.join(missing)} in the format of images_type"
        return None


def seen_at(facts: HostFacts, request: EvacuationRequest, alive_at: t.Optional[str]) -> SharedFiles:
    """Return what a host has of a dead host's files. ``alive_at``: the last sign of life of its nova-compute."""
    refused = unproven(facts, request.host, alive_at)
    if refused is None and request.fence_kind not in OF_MACHINE:
        refused = f"the directory is shared, and only {either(OF_MACHINE)} covers files"
    place, conf = facts.instances_path, facts.nova_conf
    disks: t.Dict[str, t.Dict[str, int]] = {}
    formats = FORMATS.get(conf.images_type or "default", ()) if conf else ()
    for disk in (place.disks if place else None) or []:
        if disk.format in formats:
            disks.setdefault(disk.uuid, {})[disk.name] = disk.inode
    return SharedFiles(refused, disks)


def unproven(facts: HostFacts, source: str, alive_at: t.Optional[str]) -> t.Optional[str]:
    """Say why a host is not proven to have the very directory of a dead host; None: it is."""
    place, own = facts.instances_path, conf_host(facts)
    if place is None:
        return "its instances_path was not read"
    if place.local or not (place.exported or place.filesystem in SHARED):
        return f"its instances_path is on a file system that no other host shares ({place.filesystem})"
    if place.users is None:
        return "no nova-compute has signed in its instances_path (compute_nodes)"
    now, alive = _unix(facts.read_at), _unix(alive_at)
    if now is None or alive is None:
        return "the last sign of life of the dead host's nova-compute is not known"
    mine, theirs = place.users.get(own or ""), place.users.get(source)
    if mine is None or not now - WINDOW <= mine <= now + SKEW:
        return "its own nova-compute has not signed in its instances_path (compute_nodes) within 90 minutes"
    if theirs is None or not alive - WINDOW <= theirs <= now + SKEW:
        return (
            "the dead host's nova-compute has not signed there (compute_nodes) within 90 minutes before its last sign "
            "of life"
        )
    return None


def _unix(text: t.Optional[str]) -> t.Optional[float]:
    """Return a time as Nova writes the time in its file. Nova's API says no zone, and means UTC."""
    begin = "1970-01-01T00:00:00Z"
    found = fence_proof.seconds_between(begin, text or "")
    return fence_proof.seconds_between(begin, f"{text}Z") if found is None else found
