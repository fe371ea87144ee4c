# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hosts look into Ceph: one for each cluster and pool that was seen. Pure.

A host is chosen by the (fsid, pool) that it reported, never by its name or place: the first host that answers may be of
another cluster.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import Bundle


@dataclasses.dataclass(frozen=True)
class CephReader:
    """A host of the inventory, and the one cluster and pool that it looks into."""

    name: str
    fsid: str
    pool: str


def readers(bundle: Bundle, exclude: t.Container[str] = ()) -> t.List[CephReader]:
    """Return one reader for each cluster and pool. ``exclude``: inventory names that are none, such as a dead host's.

    A host that could not list its pool is none.
    """
    found: t.Dict[t.Tuple[str, str], CephReader] = {}
    for name, facts in sorted(bundle.hosts.items()):
        rbd = facts.rbd
        if name in exclude or rbd is None or rbd.fsid is None or rbd.images is None:
            continue
        found.setdefault((rbd.fsid, rbd.pool), CephReader(name, rbd.fsid, rbd.pool))
    return [found[key] for key in sorted(found)]


def volume_pools(
    bundle: Bundle, found: t.Sequence[CephReader], exclude: t.Container[str] = ()
) -> t.Dict[str, t.List[str]]:
    """Return who opens volumes, by inventory name, and in which pools: those that any guest has a volume in.

    One reader of each cluster. Where no host keeps images in Ceph, a host whose guests have such volumes.
    """
    shown = {
        name: {disk.ceph_volume[0] for domain in facts.domains or () for disk in domain.disks if disk.ceph_volume}
        for name, facts in bundle.hosts.items()
    }
    pools = sorted(set().union(*shown.values()))
    first: t.Dict[str, str] = {}
    for reader in found:
        first.setdefault(reader.fsid, reader.name)
    local = sorted(name for name, used in shown.items() if used and name not in exclude)
    return {name: pools for name in (*first.values(), *([] if first else local[:1])) if pools}
