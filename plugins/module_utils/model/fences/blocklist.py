# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fence by blocklist: each Ceph cluster that has a disk of the host's servers refuses the host's addresses. Pure."""

from __future__ import annotations

import typing as t

from ..task_results import ended_well, why
from .fence import (
    ADDRESSES,
    Answers,
    FenceKind,
    FenceTarget,
    FenceText,
    ProofError,
    Reading,
)


class Blocklist(FenceKind):
    """What runs on the host runs on: these clusters refuse what it writes."""

    name = "blocklist"
    text = FenceText(
        "the run reads each address back from the OSD blocklist of each Ceph cluster",
        "the disks and volumes in a Ceph cluster, if the addresses of the host are on the blocklist of this cluster",
        "you cannot reach the machine at all, and all disks are in Ceph",
    )
    covers = ADDRESSES

    def read_back(self, target: FenceTarget, answers: Answers) -> Reading:
        """Each address was read on the list of its cluster. What else is listed there is no part of it."""
        listed, readers = listings(answers)
        wanted = target.wanted
        if not wanted or not all(wanted.values()):
            raise ProofError(
                "the run knows no address of the host, so the run added no entry to a blocklist",
                problem="knows-no-address",
            )
        lacking = [
            f"{address} in cluster {fsid}"
            for fsid, addresses in sorted(wanted.items())
            for address in sorted(addresses)
            if address not in listed.get(fsid, ())
        ]
        if lacking:
            raise ProofError(f"not on the OSD blocklist: {', '.join(lacking)}", problem="not-listed")
        clusters = {fsid: sorted(addresses) for fsid, addresses in sorted(wanted.items())}
        read = "; ".join(f"OSD blocklist of {fsid}: {', '.join(addresses)}" for fsid, addresses in clusters.items())
        return Reading(read, ", ".join(sorted(readers)) or "-", clusters)


def listings(answers: Answers) -> t.Tuple[t.Dict[str, t.List[str]], t.Set[str]]:
    """Return what was read on blocklists, fsid to addresses, and by whom. Raises :class:`ProofError` for a failure.

    The fsid is the one that the host that read it saw, never the one that was asked for.
    """
    listed: t.Dict[str, t.List[str]] = {}
    readers = set()
    for answer in answers:
        for entry in answer.get("clusters") or []:
            result = entry.get("result")
            if not ended_well(result):
                raise ProofError(
                    f"cluster {entry.get('fsid')}, through {entry.get('reader')}: {why(result)}",
                    problem="cluster-not-read",
                )
            listed.setdefault(str(result.get("fsid")), []).extend(map(str, result.get("listed") or []))
            readers.add(str(entry.get("reader")))
    return listed, readers


FENCE = Blocklist()
