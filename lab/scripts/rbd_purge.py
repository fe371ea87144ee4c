# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run with the system's Python: empties the guests' pools, and pool "images" but for the images named in a file.

Usage: rbd_purge.py CEPH_CONF list | purge KEEP_FILE POOL...
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rados
import rbd


def bar_watchers(cluster, pool, names):
    """Switched-off hosts hold watches and locks for another 30 s; nobody waits for that here."""
    own, found = cluster.get_addrs(), set()
    for name in names:
        try:
            with rbd.Image(pool, name, read_only=True) as image:
                found |= {watcher["addr"] for watcher in image.watchers_list()} - {own}
        except rbd.ImageNotFound:
            continue
    for address in sorted(found):
        command = {"prefix": "osd blocklist", "blocklistop": "add", "addr": address, "expire": 60.0}
        code, _output, text = cluster.mon_command(json.dumps(command), b"")
        if code:
            print(f"blocklisting {address}: {text}", file=sys.stderr)


def drop(pool, name):
    for _attempt in range(40):
        try:
            with rbd.Image(pool, name) as image:
                for snapshot in list(image.list_snaps()):
                    if image.is_protected_snap(snapshot["name"]):
                        image.unprotect_snap(snapshot["name"])
                    image.remove_snap(snapshot["name"])
            rbd.RBD().remove(pool, name)
            return
        except rbd.ImageNotFound:
            return
        except (rbd.ImageBusy, rbd.ImageHasSnapshots):
            time.sleep(0.5)
    sys.exit(f"image {name} is still in use")


def main(conf, action, keep_file=None, *pools):
    with rados.Rados(conffile=conf) as cluster:
        if action == "list":
            with cluster.open_ioctx("images") as pool:
                print(json.dumps(sorted(rbd.RBD().list(pool))))
            return
        keep = set(json.loads(Path(keep_file).read_text()))
        for name, kept in (*((pool, set()) for pool in pools), ("images", keep)):
            with cluster.open_ioctx(name) as pool:
                for entry in list(rbd.RBD().trash_list(pool)):
                    rbd.RBD().trash_remove(pool, entry["id"], force=True)
                doomed = sorted(set(rbd.RBD().list(pool)) - kept)
                bar_watchers(cluster, pool, doomed)
                with ThreadPoolExecutor(max_workers=8) as workers:
                    list(workers.map(lambda image, pool=pool: drop(pool, image), doomed))


if __name__ == "__main__":
    main(*sys.argv[1:])
