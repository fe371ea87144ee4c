# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who opens the disks in an evacuation, so that each is opened once in a round. Pure.

One host of each cluster and pool opens its images; all others list names. Volumes are in pools of their own, which
every host of the cluster reaches: one reader of each cluster opens them. A reader that does not open what it was asked
to is replaced, and only its successor is asked: the other readers have already opened theirs.
"""

from __future__ import annotations

import typing as t

from ..hazards import storage
from ..model.facts import Bundle, HostFacts
from ..model.host_facts import NO_VOLUME_POOL

Home = t.Tuple[str, str]
#: By cluster and pool, C(fsid/pool): inventory names of the hosts that were asked to open the images, the last in use.
Asked = t.Mapping[str, t.List[str]]


def by_home(bundle: Bundle, host: str, source: t.Optional[str], first: t.Sequence[str]) -> t.Dict[Home, t.List[str]]:
    """Return, by cluster and pool, the inventory hosts that reach it, in the order in which they are asked.

    Never the dead host, by its name in Nova (``host``) or in the inventory (``source``). ``first``: those whom the
    operator allows; where none of them reaches a cluster and pool, any host does.
    """
    found: t.Dict[Home, t.List[str]] = {}
    for home, names in storage.readers(bundle, host).items():
        others = [name for name in names if name != source]
        if others:
            found[home] = sorted(others, key=lambda name: (name not in first, name))
    return found


def key(home: Home) -> str:
    """Return what stands for a cluster and pool."""
    return f"{home[0]}/{home[1]}"


def current(asked: Asked) -> t.List[str]:
    """Return the hosts that open images now."""
    return sorted({names[-1] for names in asked.values() if names})


def successors(bundle: Bundle, reach: t.Mapping[Home, t.Sequence[str]], asked: Asked) -> t.Dict[str, str]:
    """Return the next host for each cluster and pool whose reader did not open the images; empty: nobody is missing.

    Where no other host is left, there is none: then the images are unread, and every check says so.
    """
    found: t.Dict[str, str] = {}
    for home, names in reach.items():
        before = asked.get(key(home))
        if before is None or (before and _opened(bundle.hosts.get(before[-1]))):
            continue
        more = [name for name in names if name not in before]
        if more:
            found[key(home)] = more[0]
    return found


def _opened(facts: t.Optional[HostFacts]) -> bool:
    return facts is not None and facts.rbd is not None and facts.rbd.images is not None and facts.rbd.opened


def for_volumes(asked: Asked, shared: t.Container[str]) -> t.List[str]:
    """Return the hosts that open volumes: one reader of each cluster; all readers of the clusters in ``shared``."""
    found: t.List[str] = []
    for fsid, names in _by_cluster(asked).items():
        found += names if fsid in shared else names[:1]
    return sorted(set(found))


def share_volumes(bundle: Bundle, asked: Asked, shared: t.List[str]) -> t.List[str]:
    """Add the clusters to ``shared`` of which one reader did not read all volumes; return the others, to be asked."""
    before = for_volumes(asked, shared)
    shared += [
        fsid
        for fsid, names in _by_cluster(asked).items()
        if len(names) > 1 and fsid not in shared and not _has_volumes(bundle.hosts.get(names[0]))
    ]
    return [name for name in for_volumes(asked, shared) if name not in before]


def _has_volumes(facts: t.Optional[HostFacts]) -> bool:
    """Whether a host read every volume that it was asked for, or was given no pool to look for any."""
    if facts is None or facts.rbd is None:
        return False
    unread = [item for item in facts.rbd.unread if item.part.partition(" ")[0] == "volumes"]
    if unread:
        return all(item.cause == NO_VOLUME_POOL for item in unread)
    return facts.rbd.volumes is not None


def _by_cluster(asked: Asked) -> t.Dict[str, t.List[str]]:
    """Return the hosts that open images now by cluster, in the order of their pools."""
    found: t.Dict[str, t.List[str]] = {}
    for home, names in sorted(asked.items()):
        mine = found.setdefault(home.partition("/")[0], [])
        if names and names[-1] not in mine:
            mine.append(names[-1])
    return found
