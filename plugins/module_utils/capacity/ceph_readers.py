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
