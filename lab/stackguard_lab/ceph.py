# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One-node Ceph in the control namespace: a monitor, a manager and one OSD on a sparse file. A lab has one, or two."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

from .config import fsid
from .procs import Daemon, in_control
from .settings import IMAGE_POOL, VOLUME_POOL, Cluster, Lab
from .shell import each, run, wait_for


def daemons(lab: Lab) -> dict[str, Daemon]:
    """The services of every cluster, by name."""
    found = [daemon for cluster in lab.clusters for daemon in _daemons(lab, cluster)]
    return {daemon.name: daemon for daemon in found}


def _daemons(lab: Lab, cluster: Cluster) -> list[Daemon]:
    """Monitor, manager, OSD."""
    return [
        Daemon(
            lab,
            f"{cluster.prefix}-{kind}",
            [f"ceph-{kind}", "-c", cluster.conf, "-i", identity, "-f"],
            address=cluster.address,
        )
        for kind, identity in (("mon", "a"), ("mgr", "x"), ("osd", "0"))
    ]


def ceph(lab: Lab, cluster: Cluster, *args: str, check: bool = True, stdin: str | None = None) -> str:
    return in_control(
        lab, "ceph", "-c", cluster.conf, "--connect-timeout", "20", *args, check=check, stdin=stdin, timeout=300
    ).stdout


def up(lab: Lab) -> None:
    each(lambda cluster: _up(lab, cluster), lab.clusters)


def _up(lab: Lab, cluster: Cluster) -> None:
    monitor, manager, osd = _daemons(lab, cluster)
    made = cluster.prefix
    if not lab.done(made):
        for service in (osd, manager, monitor):
            service.stop(grace=1)
        shutil.rmtree(cluster.data, ignore_errors=True)
        _make_monitor(lab, cluster)
    monitor.start()
    monitor.wait_port(3300, timeout=240)
    if not lab.done(made):
        _make_manager(lab, cluster)
        _make_osd(lab, cluster)
    manager.start()
    osd.start()
    wait_for(
        "the OSD",
        lambda: '"num_up_osds":1' in ceph(lab, cluster, "osd", "stat", "-f", "json", check=False).replace(" ", ""),
        log=osd.log,
    )
    if not lab.done(made):
        _make_pools(lab, cluster)
        lab.mark(made)


def _log(lab: Lab, cluster: Cluster) -> Path:
    return lab.log / f"{cluster.prefix}-make.log"


def _make_monitor(lab: Lab, cluster: Cluster) -> None:
    log = _log(lab, cluster)
    monitor = cluster.data / "mon-a"
    monitor.mkdir(parents=True)
    keyring, admin = cluster.data / "mon.keyring", cluster.keys / "ceph.client.admin.keyring"
    run(["ceph-authtool", "-C", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"], log=log)
    rights = [word for daemon in ("mon", "osd", "mgr", "mds") for word in ("--cap", daemon, "allow *")]
    run(["ceph-authtool", "-C", admin, "--gen-key", "-n", "client.admin", *rights], log=log)
    run(["ceph-authtool", keyring, "--import-keyring", admin], log=log)
    addresses = f"[v2:{cluster.address}:3300,v1:{cluster.address}:6789]"
    identity = ["--fsid", fsid(lab, cluster.number)]
    run(["monmaptool", "--create", "--addv", "a", addresses, *identity, cluster.data / "monmap"], log=log)
    made = ["--mkfs", "-i", "a", "--monmap", cluster.data / "monmap", "--keyring", keyring]
    in_control(lab, "ceph-mon", "-c", cluster.conf, *made, log=log)


def _make_manager(lab: Lab, cluster: Cluster) -> None:
    folder = cluster.data / "mgr-x"
    folder.mkdir()
    rights = ("mon", "allow profile mgr", "osd", "allow *", "mds", "allow *")
    ceph(lab, cluster, "auth", "get-or-create", "mgr.x", *rights, "-o", str(folder / "keyring"))


def _make_osd(lab: Lab, cluster: Cluster) -> None:
    log = _log(lab, cluster)
    folder = cluster.data / "osd-0"
    folder.mkdir()
    identity = str(uuid.uuid4())
    key = run(["ceph-authtool", "--gen-print-key"]).stdout.strip()
    ceph(lab, cluster, "osd", "new", identity, "-i", "-", stdin=json.dumps({"cephx_secret": key}))
    run(["ceph-authtool", "-C", folder / "keyring", "--name", "osd.0", "--add-key", key], log=log)
    in_control(lab, "ceph-osd", "-c", cluster.conf, "-i", "0", "--mkfs", "--osd-uuid", identity, log=log)


def _make_pools(lab: Lab, cluster: Cluster) -> None:
    for pool in cluster.all_pools:
        ceph(lab, cluster, "osd", "pool", "create", pool, "8", "8")
        ceph(lab, cluster, "osd", "pool", "set", pool, "size", "1", "--yes-i-really-mean-it")
        in_control(lab, "rbd", "-c", cluster.conf, "pool", "init", pool, timeout=300)
    of_images = f"profile rbd pool={IMAGE_POOL}"
    of_guests = ", ".join(f"profile rbd pool={pool}" for pool in cluster.pools)
    users = [
        ("glance", of_images, of_images),
        ("nova", f"{of_guests}, profile rbd-read-only pool={IMAGE_POOL}", of_guests),
    ]
    if cluster.volumes:
        # a user of its own: client.nova reads no volume, nor who has one open
        of_volumes = f"profile rbd pool={VOLUME_POOL}, {of_guests}"
        users.append(("cinder", f"{of_volumes}, profile rbd-read-only pool={IMAGE_POOL}", of_volumes))
    for user, osd, mgr in users:
        keyring = str(cluster.keys / f"ceph.client.{user}.keyring")
        rights = ("mon", "profile rbd", "osd", osd, "mgr", mgr)
        ceph(lab, cluster, "auth", "get-or-create", f"client.{user}", *rights, "-o", keyring)
