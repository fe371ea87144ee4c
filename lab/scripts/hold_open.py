# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run with the system's Python: holds an image open as a backup reader does (`rbd watch` would end with its terminal).

Usage: hold_open.py CEPH_CONF POOL/IMAGE. Says "open" once Ceph knows it as a watcher; SIGTERM closes the image, so that
the watcher is gone at once.
"""

from __future__ import annotations

import signal
import sys
import threading

import rados
import rbd


def main(conf, name):
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    pool_name, image_name = name.split("/", 1)
    # opened for writing, as `rbd watch` does: librbd registers no watcher for a reader; nothing is ever written
    with (
        rados.Rados(conffile=conf) as cluster,
        cluster.open_ioctx(pool_name) as pool,
        rbd.Image(pool, image_name),
    ):
        print("open", flush=True)
        while not ended.wait(3600):
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
