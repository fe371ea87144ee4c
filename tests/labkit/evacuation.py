# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of evacuations look at and break: images and their bytes, watchers, memory, hosts that die."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time

import openstack

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


def notice_refusal(lab, host, uuid):
    """Have a domain's QEMU read its disk while Ceph refuses it: only then does it know, and stay without its disk.

    Seen on the lab: a QEMU that was cut off for the whole time opens its disk again by itself, as the same client, and
    writes. One that met the entry has no watcher and fails each write, after the entry is gone, too.
    QEMU writes what becomes of the read to its log.
    """
    device = "/machine/peripheral/virtio-disk0/virtio-backend"
    read = f"""virsh qemu-monitor-command {uuid} --hmp 'qemu-io -d {device} "read 0 512"'"""
    log = f"tail -n 1 /var/log/libvirt/qemu/$(virsh domname {uuid} | head -1).log"
    refused = lambda: "read failed" in lab.ssh(host, f"{read} && {log}", check=False) or None  # noqa: E731
    waiting.until("Ceph refuses the disk", refused, 90, 2)


def writes(lab, host, uuid):
    """Have a domain's QEMU write to its root disk; whether it could. Its first write takes the image's lock.

    A write may wait for the lock for ever: then QEMU's monitor does not answer.
    """
    device = "/machine/peripheral/virtio-disk0/virtio-backend"
    write = f"""timeout 45 virsh qemu-monitor-command {uuid} --hmp 'qemu-io -d {device} "write -P 0x32 32768 512"'"""
    log = f"/var/log/libvirt/qemu/$(virsh domname {uuid} | head -1).log"
    said = lab.ssh(host, f"log={log}; lines=$(wc -l < $log); {write}; tail -n +$((lines + 1)) $log", check=False)
    return "wrote 512/512 bytes" in said


@contextlib.contextmanager
def caps_of_nova(lab, mon):
    """The Ceph user of nova.conf has other caps for the monitors, as old clusters have. Yields its name."""
    entity = "client.nova"
    (found,) = json.loads(lab.command("ceph", "auth", "get", entity, "--format", "json").stdout)
    caps = found["caps"]
    words = lambda some: [word for pair in some.items() for word in pair]  # noqa: E731
    lab.command("ceph", "auth", "caps", entity, *words({**caps, "mon": mon}))
    try:
        yield entity
    finally:
        lab.command("ceph", "auth", "caps", entity, *words(caps))


def snapshots(lab, image):
    """Names of an image's snapshots."""
    return [entry["name"] for entry in rbd(lab, "snap", "ls", f"{POOL}/{image}")]


_WRITE = """
import json, rados, rbd, sys
cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id={user!r})
cluster.connect()
pool = cluster.open_ioctx({pool!r})
data = {data!r}
image = rbd.Image(pool, {image!r}, read_only=data is None)
if data is not None:
    image.write(data.encode(), 4096)
print(json.dumps(image.read(4096, 64).rstrip(b"\\0").decode("latin-1")))
image.close()
cluster.shutdown()
"""


def mark(lab, host, image, data=None, pool=POOL):
    """Write bytes into an image from a host (or only read them), and return what is there."""
    user = lab.ssh(host, "sed -n 's/^rbd_user *= *//p' /etc/nova/*.conf | head -1").strip() or "admin"
    return lab.python(host, _WRITE.format(user=user, pool=pool, image=image, data=data))


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


@contextlib.contextmanager
def no_progress(lab, host):
    """Yield a function that stops nova-compute of a host where it stands: it seems up. At the end it goes on."""
    try:
        yield lambda: lab.ssh(host, "systemctl kill -s STOP nova-compute")
    finally:
        lab.ssh(host, "systemctl kill -s CONT nova-compute")


#: Seconds that nova-compute has to start on a busy machine, and to complete its records.
STARTS = 150


def let_up(lab, host):
    """Nova refuses to force a service up until its nova-compute has completed the records of an evacuation.

    It does that where it starts, which takes a while: one that was there before the last evacuation had ended, and so
    never will, is started again.
    """
    began, started, unit = time.monotonic(), [], guestkit.compute_unit(lab, host)

    def done():
        service = lab.service(host)
        if service["forced_down"] or service["status"] != "enabled":
            body = {"status": "enabled", "forced_down": False}
            try:
                lab.compute("PUT", f"/os-services/{service['id']}", body, "2.53")
            except openstack.exceptions.BadRequestException:
                if not started and time.monotonic() - began > STARTS:
                    started.append(lab.ssh(host, f"systemctl restart {unit}", check=False))
                return None
        return True

    waiting.until(f"{host} let up", done, 3 * STARTS, 2)


def may_unblock(lab, host):
    """A Ceph user on a host, in the host's own cluster, with the rights that the documentation names."""
    caps = ["mon", 'profile rbd, allow command "osd blocklist"', "osd", "profile rbd"]
    words = ["--cluster", str(lab.info["hosts"][host]["cluster"])]
    made = lab.command("ceph", *words, "auth", "get-or-create", "client.stackguard", *caps, "--format", "json")
    (found,) = json.loads(made.stdout)
    path = "/etc/ceph/ceph.client.stackguard.keyring"
    lab.ssh(host, f"cat > {path}", stdin=f"[client.stackguard]\n\tkey = {found['key']}\n")


def shunned(lab):
    """Hosts that placement still has as disabled: up to a minute after they were enabled, nova-compute takes it off."""
    query = (
        "SELECT p.name FROM resource_provider_traits r JOIN traits t ON t.id = r.trait_id"
        " JOIN resource_providers p ON p.id = r.resource_provider_id WHERE t.name = 'COMPUTE_STATUS_DISABLED'"
    )
    return [row["name"] for row in lab.sql("placement", query)]


def let_schedule(lab, host):
    """Wait until the scheduler takes a host whose nova-compute had lost its libvirt, and disabled itself.

    It enables itself with its next connection to libvirt, and placement hears of that a minute later. Seen once on a
    busy machine: in eight minutes it did not connect again. Then it is started again, as an operator would.
    """
    began, started, unit = time.monotonic(), [], guestkit.compute_unit(lab, host)

    def taken():
        if host not in shunned(lab):
            return True
        if not started and time.monotonic() - began > 2 * STARTS:
            started.append(lab.ssh(host, f"systemctl restart {unit}", check=False))
        return None

    waiting.until(lambda: f"the scheduler takes {host}: {lab.service(host)}", taken, 5 * STARTS, 2)


_HOG = """
import sys, time
wanted, step = int(sys.argv[1]) * 1024, 64 << 10
def available():
    return int(next(line for line in open("/proc/meminfo") if line.startswith("MemAvailable")).split()[1])
held, told = [], False
while True:
    # Others of this machine take memory and give it back meanwhile.
    if available() > wanted + step:
        held.append(bytearray(b"x") * (step << 10))
    elif available() < wanted - step and held:
        held.pop()
    else:
        if not told:
            print("eaten", flush=True)
        told = True
        time.sleep(0.1)
"""


@contextlib.contextmanager
def memory_left(lab, host, mib):
    """Keep a host at so many MiB that are available. Really: the machine below has that much less."""
    hog = subprocess.Popen([*lab.ssh_argv(host), f"python3 -c '{_HOG}' {mib}"], stdout=subprocess.PIPE, text=True)
    try:
        assert hog.stdout.readline().strip() == "eaten", f"{host}: its memory could not be eaten"
        yield
    finally:
        lab.ssh(host, "pkill -f MemAvailable", check=False)
        hog.kill()
        hog.wait()


@contextlib.contextmanager
def in_zone(lab, host, zone):
    """A host without guests in another zone, for this long."""
    here = {entry["name"]: entry for entry in lab.compute("GET", "/os-aggregates", None, "2.41")["aggregates"]}
    old = next(entry for entry in here.values() if host in entry["hosts"])

    def move(source, target):
        lab.compute("POST", f"/os-aggregates/{source['id']}/action", {"remove_host": {"host": host}}, "2.41")
        lab.compute("POST", f"/os-aggregates/{target['id']}/action", {"add_host": {"host": host}}, "2.41")

    new = next(entry for entry in here.values() if entry["availability_zone"] == zone)
    move(old, new)
    try:
        yield
    finally:
        lab.command("guests", "delete", "--all", check=False)
        move(new, old)


def destination(lab, uuid):
    """Where the last evacuation of a server goes, or went."""
    query = "SELECT dest_compute AS d FROM migrations WHERE instance_uuid = %s ORDER BY id DESC LIMIT 1"
    rows = lab.sql("cell1", query, uuid)
    return rows[0]["d"] if rows else None


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
