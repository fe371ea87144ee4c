# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hyperconverged compute host: an OSD of its own in its namespaces, which its systemd starts at each boot.

CRUSH gives it no weight, so that no data is on it: the lab's pools have one copy, on the OSD of the controller.
"""

from __future__ import annotations

import contextlib
import json
import uuid

from labkit import waiting

SETUP = """set -e
mkdir -p /var/lib/ceph/osd/ceph-{number}
cat > /etc/ceph/osd.conf <<'END'
[global]
fsid = {fsid}
mon_host = {monitors}
public_addr = {address}
auth_allow_insecure_global_id_reclaim = false
[osd]
osd_data = /var/lib/ceph/osd/ceph-$id
keyring = /var/lib/ceph/osd/ceph-$id/keyring
log_file = /var/log/ceph-osd.log
admin_socket =
run_dir = /run
osd_objectstore = bluestore
bluestore_block_create = true
bluestore_block_size = 4294967296
osd_memory_target = 939524096
bluestore_cache_autotune = false
bluestore_cache_size = 33554432
osd_crush_initial_weight = 0
END
cat > /var/lib/ceph/osd/ceph-{number}/keyring <<'END'
[osd.{number}]
key = {key}
END
cat > /etc/systemd/system/lab-osd.service <<'END'
[Service]
ExecStart=/usr/bin/ceph-osd -c /etc/ceph/osd.conf -i {number} -f
Restart=on-failure
[Install]
WantedBy=lab.target
END
ceph-osd -c /etc/ceph/osd.conf -i {number} --mkfs --osd-uuid {uuid}
systemctl daemon-reload
systemctl enable --now lab-osd
"""


def ceph(lab, *words):
    """What Ceph's administrator is answered, parsed."""
    return json.loads(lab.command("ceph", *words, "--format", "json").stdout)


def states(lab):
    """The states of each OSD, by number."""
    return {row["osd"]: set(row["state"]) for row in ceph(lab, "osd", "dump")["osds"]}


@contextlib.contextmanager
def osd_on(lab, host, address):
    """Give a host an OSD; yields its number."""
    identity = str(uuid.uuid4())
    number = int(ceph(lab, "osd", "new", identity)["osdid"])
    rights = ("mon", "allow profile osd", "osd", "allow *", "mgr", "allow profile osd")
    (user,) = ceph(lab, "auth", "get-or-create", f"osd.{number}", *rights)
    try:
        monitors = ",".join(row["public_addr"].partition("/")[0] for row in ceph(lab, "mon", "dump")["mons"])
        given = {"fsid": ceph(lab, "fsid")["fsid"], "monitors": monitors, "address": address, "key": user["key"]}
        lab.ssh(host, SETUP.format(number=number, uuid=identity, **given))
        waiting.until(f"osd.{number} is up", lambda: "up" in states(lab)[number], 120)
        yield number
    finally:
        lab.ssh(host, "systemctl disable --now lab-osd; rm -rf /etc/ceph/osd.conf /var/lib/ceph/osd/*", check=False)
        lab.command("ceph", "osd", "purge", str(number), "--force", "--yes-i-really-mean-it", check=False)
        lab.command("ceph", "osd", "crush", "rm", host, check=False)
