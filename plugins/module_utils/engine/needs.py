# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only Ansible can provide, asked for as plain data: the role has one task file for each kind. Pure.

Each need is answered by one mapping of the same ``kind`` with what the tasks registered, failures included. An answer
is evidence: what is missing in it was not done.
"""

from __future__ import annotations

import typing as t

Json = t.Dict[str, t.Any]

READ_HOSTS, FENCE, GUARD, UNGUARD, LIFT, WAIT = "read_hosts", "fence", "guard", "unguard", "lift", "wait"
#: What a return needs beside C(lift): the host that comes back, who looks into Ceph for it, databases and APIs.
READ_HOST, READ_CEPH, READ_CLOUD = "read_host", "read_ceph", "read_cloud"
#: Actions on it: named as the host's own are (systems/host/steps.py).
END_DOMAINS, MOVE_ASIDE = "end_domains", "move_aside"


def read_hosts(
    instances: t.Sequence[str],
    readers: t.Sequence[str] = (),
    hosts: t.Optional[t.Sequence[str]] = None,
    volumes: t.Sequence[str] = (),
    volume_readers: t.Sequence[str] = (),
) -> Json:
    """Read compute hosts anew. ``hosts``: inventory names; None: all of the play.

    ``readers``: those that open the images of ``instances`` and look at the cluster; the others list names only.
    ``volume_readers``: those of them that open ``volumes``, too.
    """
    return {
        "kind": READ_HOSTS,
        "hosts": None if hosts is None else sorted(hosts),
        "instances": sorted(instances),
        "readers": sorted(readers),
        "volumes": sorted(volumes),
        "volume_readers": sorted(volume_readers),
    }


def fence(kind: str, act: bool, clusters: t.Sequence[t.Mapping[str, t.Any]] = (), extra: bool = False) -> Json:
    """Fence the host and read it back; ``act`` false: only read. ``extra``: a second line of defence.

    ``clusters``, for C(blocklist): each with C(fsid), C(pool), C(reader) (the inventory host that does it) and
    C(addresses).
    """
    return {"kind": FENCE, "fence": kind, "act": act, "extra": extra, "clusters": [dict(entry) for entry in clusters]}


def guard(homes: t.Sequence[t.Mapping[str, t.Any]], operation_id: str, present: bool = True) -> Json:
    """Make or remove guard snapshots. ``homes``: each with C(fsid), C(pool), C(reader) and C(images), name to id."""
    kind = GUARD if present else UNGUARD
    return {"kind": kind, "operation_id": operation_id, "homes": [dict(entry) for entry in homes]}


def lift(clusters: t.Sequence[t.Mapping[str, t.Any]]) -> Json:
    """Take addresses off the blocklist: C(fsid), C(pool), C(reader), C(addresses)."""
    return {"kind": LIFT, "clusters": [dict(entry) for entry in clusters]}


def read_host() -> Json:
    """Read the host that comes back."""
    return {"kind": READ_HOST}


def read_ceph(readers: t.Sequence[str], instances: t.Sequence[str], volumes: t.Mapping[str, t.Any]) -> Json:
    """Read Ceph through other hosts. ``volumes``: C(uuids) and C(pools) of the volumes that domains have."""
    return {
        "kind": READ_CEPH,
        "readers": list(readers),
        "instances": list(instances),
        "volumes": list(volumes.get("uuids") or ()),
        "pools": list(volumes.get("pools") or ()),
    }


def read_cloud(instances: t.Sequence[str]) -> Json:
    """Read the databases, with the rows of these servers, and the APIs."""
    return {"kind": READ_CLOUD, "instances": list(instances)}


def act_on_host(action: str, params: t.Mapping[str, t.Any]) -> Json:
    """Act on the host that comes back, and verify it. ``params``: as the host's action takes them."""
    return {"kind": action, "params": dict(params)}


def wait(seconds: float) -> Json:
    """Wait."""
    return {"kind": WAIT, "seconds": seconds}


def answers_of(answers: t.Sequence[t.Mapping[str, t.Any]], kind: str) -> t.List[t.Mapping[str, t.Any]]:
    """Return the answers to the needs of one kind, in their order."""
    return [entry for entry in answers if entry.get("kind") == kind]
