# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of evacuations look at and break: images and their bytes, watchers, memory, hosts that die."""

from __future__ import annotations

import contextlib
import json

from . import guests as guestkit
from . import waiting

POOL = "vms"
MARK_AT = 4096


def rbd(lab, *words):
    """The lab's own rbd, as JSON where it has any."""
    out = lab.command("rbd", *words, "--format", "json").stdout
    return json.loads(out) if out.strip() else None


def images(lab):
    """Names of the guests' images."""
    return set(rbd(lab, "ls", POOL))


def watchers(lab, image):
    """Addresses that have an image open."""
    return [entry["address"] for entry in rbd(lab, "status", f"{POOL}/{image}")["watchers"]]


def snapshots(lab, image):
    """Names of an image's snapshots."""
    return [entry["name"] for entry in rbd(lab, "snap", "ls", f"{POOL}/{image}")]


_WRITE = """
import json, rados, rbd, sys
cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id={user!r})
cluster.connect()
pool = cluster.open_ioctx("vms")
data = {data!r}
image = rbd.Image(pool, {image!r}, read_only=data is None)
if data is not None:
    image.write(data.encode(), 4096)
print(json.dumps(image.read(4096, 64).rstrip(b"\\0").decode("latin-1")))
image.close()
cluster.shutdown()
"""


def mark(lab, host, image, data=None):
    """Write bytes into an image from a host (or only read them), and return what is there."""
    user = lab.ssh(host, "sed -n 's/^rbd_user *= *//p' /etc/nova/*.conf | head -1").strip() or "admin"
    return lab.python(host, _WRITE.format(user=user, image=image, data=data))


def kill(lab, host):
    """Switch a host off, and wait until Nova has noticed."""
    lab.command("host", host, "power-off")
    wait_down(lab, host)


def wait_down(lab, host):
    waiting.until(
        lambda: f"{host} down: {lab.service(host)}", lambda: lab.service(host)["state"] == "down" or None, 120, 2
    )


@contextlib.contextmanager
def no_memory(lab, host, limit="3G"):
    """QEMU on a host inherits a limit of its address space: it cannot map a guest of 4 GiB. Really, not by a mock."""
    drop_in = "/etc/systemd/system/libvirtd.service.d/limit.conf"
    lab.ssh(host, f"mkdir -p $(dirname {drop_in}); printf '[Service]\\nLimitAS={limit}\\n' > {drop_in}")
    restart_libvirt(lab, host)
    try:
        yield
    finally:
        lab.ssh(host, f"rm -f {drop_in}")
        restart_libvirt(lab, host)


def restart_libvirt(lab, host):
    """A restart of libvirtd under nova-compute disables it for up to a minute: both are restarted."""
    lab.ssh(host, "systemctl daemon-reload; systemctl restart libvirtd nova-compute", timeout=300)
    guestkit.wait_compute(lab, host)
    waiting.until(
        lambda: f"{host} enabled: {lab.service(host)}", lambda: lab.service(host)["status"] == "enabled" or None, 120, 2
    )


def evacuate_unguarded(lab, server, host, microversion="2.94"):
    """What people do by hand."""
    lab.action(server, "evacuate", {"host": host}, microversion)
    return waiting.until(lambda: f"{server} at rest", lambda: _at_rest(lab.server(server)), 240, 2)


def _at_rest(server):
    return server if server["OS-EXT-STS:task_state"] is None else None
