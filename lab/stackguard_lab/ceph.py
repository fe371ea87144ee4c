# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One-node Ceph in the control namespace: a monitor, a manager and one OSD on a sparse file."""

from __future__ import annotations

import json
import shutil
import uuid

from .config import fsid
from .procs import Daemon, in_control
from .settings import Lab
from .shell import run, wait_for

POOLS = ("vms", "images")


def daemons(lab: Lab) -> dict[str, Daemon]:
    conf = lab.ceph_conf
    return {
        "ceph-mon": Daemon(lab, "ceph-mon", ["ceph-mon", "-c", conf, "-i", "a", "-f"]),
        "ceph-mgr": Daemon(lab, "ceph-mgr", ["ceph-mgr", "-c", conf, "-i", "x", "-f"]),
        "ceph-osd": Daemon(lab, "ceph-osd", ["ceph-osd", "-c", conf, "-i", "0", "-f"]),
    }


def ceph(lab: Lab, *args: str, check: bool = True, stdin: str | None = None) -> str:
    return in_control(
        lab, "ceph", "-c", lab.ceph_conf, "--connect-timeout", "20", *args, check=check, stdin=stdin, timeout=300
    ).stdout


def up(lab: Lab) -> None:
    services = daemons(lab)
    if not lab.done("ceph"):
        for service in reversed(services.values()):
            service.stop(grace=1)
        shutil.rmtree(lab.state / "ceph", ignore_errors=True)
        _make_monitor(lab)
    services["ceph-mon"].start()
    services["ceph-mon"].wait_port(3300, timeout=240)
    if not lab.done("ceph"):
        _make_manager(lab)
        _make_osd(lab)
    services["ceph-mgr"].start()
    services["ceph-osd"].start()
    wait_for(
        "the OSD",
        lambda: '"num_up_osds":1' in ceph(lab, "osd", "stat", "-f", "json", check=False).replace(" ", ""),
        log=services["ceph-osd"].log,
    )
    if not lab.done("ceph"):
        _make_pools(lab)
        lab.mark("ceph")


def _make_monitor(lab: Lab) -> None:
    log = lab.log / "ceph-make.log"
    folder = lab.state / "ceph"
    monitor = folder / "mon-a"
    monitor.mkdir(parents=True)
    keyring, admin = folder / "mon.keyring", lab.etc / "ceph" / "ceph.client.admin.keyring"
    run(["ceph-authtool", "-C", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"], log=log)
    run(
        [
            "ceph-authtool",
            "-C",
            admin,
            "--gen-key",
            "-n",
            "client.admin",
            "--cap",
            "mon",
            "allow *",
            "--cap",
            "osd",
            "allow *",
            "--cap",
            "mgr",
            "allow *",
            "--cap",
            "mds",
            "allow *",
        ],
        log=log,
    )
    run(["ceph-authtool", keyring, "--import-keyring", admin], log=log)
    addresses = f"[v2:{lab.controller}:3300,v1:{lab.controller}:6789]"
    run(["monmaptool", "--create", "--addv", "a", addresses, "--fsid", fsid(lab), folder / "monmap"], log=log)
    in_control(
        lab,
        "ceph-mon",
        "-c",
        lab.ceph_conf,
        "--mkfs",
        "-i",
        "a",
        "--monmap",
        folder / "monmap",
        "--keyring",
        keyring,
        log=log,
    )


def _make_manager(lab: Lab) -> None:
    folder = lab.state / "ceph" / "mgr-x"
    folder.mkdir()
    ceph(
        lab,
        "auth",
        "get-or-create",
        "mgr.x",
        "mon",
        "allow profile mgr",
        "osd",
        "allow *",
        "mds",
        "allow *",
        "-o",
        str(folder / "keyring"),
    )


def _make_osd(lab: Lab) -> None:
    log = lab.log / "ceph-make.log"
    folder = lab.state / "ceph" / "osd-0"
    folder.mkdir()
    identity = str(uuid.uuid4())
    key = run(["ceph-authtool", "--gen-print-key"]).stdout.strip()
    ceph(lab, "osd", "new", identity, "-i", "-", stdin=json.dumps({"cephx_secret": key}))
    run(["ceph-authtool", "-C", folder / "keyring", "--name", "osd.0", "--add-key", key], log=log)
    in_control(lab, "ceph-osd", "-c", lab.ceph_conf, "-i", "0", "--mkfs", "--osd-uuid", identity, log=log)


def _make_pools(lab: Lab) -> None:
    for pool in POOLS:
        ceph(lab, "osd", "pool", "create", pool, "8", "8")
        ceph(lab, "osd", "pool", "set", pool, "size", "1", "--yes-i-really-mean-it")
        in_control(lab, "rbd", "-c", lab.ceph_conf, "pool", "init", pool, timeout=300)
    keys = lab.etc / "ceph"
    ceph(
        lab,
        "auth",
        "get-or-create",
        "client.glance",
        "mon",
        "profile rbd",
        "osd",
        "profile rbd pool=images",
        "mgr",
        "profile rbd pool=images",
        "-o",
        str(keys / "ceph.client.glance.keyring"),
    )
    ceph(
        lab,
        "auth",
        "get-or-create",
        "client.nova",
        "mon",
        "profile rbd",
        "osd",
        "profile rbd pool=vms, profile rbd-read-only pool=images",
        "mgr",
        "profile rbd pool=vms",
        "-o",
        str(keys / "ceph.client.nova.keyring"),
    )
