# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients of Ceph that are no compute host: a backup reader that has one guest's disk open."""

from __future__ import annotations

import contextlib
import json


@contextlib.contextmanager
def stranger(lab, image, cluster=1, place="own"):
    """Hold an image (POOL/IMAGE) open, for this long; the address at which Ceph sees it.

    ``place``: ``own`` is an address that no other machine of the lab has; ``controller`` is the controller's, which is
    also the first cluster's monitor's, manager's and OSD's.
    """
    try:
        lab.command("stranger", "start", image, "--cluster", str(cluster), "--from", place)
        yield address(lab, place)
    finally:
        lab.command("stranger", "stop", image, "--cluster", str(cluster), check=False)


def address(lab, place="own"):
    """Where a stranger's connections come from."""
    return lab.info["controller"] if place == "controller" else lab.info["stranger"]


def strangers(lab):
    """All that were started: image, cluster, from, address, runs."""
    return json.loads(lab.command("stranger", "list", "--json").stdout)


def in_ceph(lab, program, *words, cluster=1):
    """What ``ceph`` or ``rbd`` says of one of the clusters, as JSON where it has any."""
    out = lab.command(program, "--cluster", str(cluster), *words, "--format", "json").stdout
    return json.loads(out) if out.strip() else None


def disk(lab, server, host):
    """POOL/IMAGE of a server's root disk on a host, and the number of its Ceph cluster."""
    where = lab.info["hosts"][host]
    return f"{where['pool']}/{server}_disk", where["cluster"]


def watchers_of(lab, image, cluster=1):
    """Addresses that have an image (POOL/IMAGE) open, without their ports."""
    found = in_ceph(lab, "rbd", "status", image, cluster=cluster)["watchers"]
    return [entry["address"].rpartition(":")[0] for entry in found]


def listed(lab, cluster=1):
    """Addresses that a cluster's OSD blocklist refuses whole, without their ports; ranges as they are written.

    Entries of single clients are left out: Ceph makes some of its own.
    """
    out = lab.command("ceph", "--cluster", str(cluster), "osd", "blocklist", "ls", "--format", "json").stdout.strip()
    # Two JSON documents one after the other: addresses, then ranges of them.
    found = []
    while out:
        entries, end = json.JSONDecoder().raw_decode(out)
        found += entries
        out = out[end:].strip()
    whole = [entry for entry in found if "range" in entry or entry["addr"].endswith(":0/0")]
    return sorted({entry["range"] if "range" in entry else entry["addr"].rpartition(":")[0] for entry in whole})
