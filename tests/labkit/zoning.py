# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's two zones: compute1 and compute2 are in az1, compute3 is in az2; and servers that name none."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil

from . import evacuation, services, waiting
from . import guests as guestkit
from . import lab as lab_module

SOURCE, NEIGHBOUR, FAR = "compute1", "compute2", "compute3"
ZONE, OTHER_ZONE = "az1", "az2"


def tidy(lab):
    """No guests, every host enabled and taken by the scheduler, no journal."""
    lab.command("guests", "delete", "--all", check=False)
    for host in lab.hosts:
        enable(lab, host)
        # A test before this one may have started nova-compute as its last.
        waiting.until(f"{host} up", lambda host=host: lab.service(host)["state"] == "up" or None, 120)
    waiting.until("the scheduler takes all hosts", lambda: not evacuation.shunned(lab) or None, 120, 2)
    shutil.rmtree(state_dir(lab), ignore_errors=True)


def crowd(lab):
    """Make the other host of az1 much fuller than that of az2: the scheduler's weighers prefer az2."""
    guestkit.create(lab, "crowd", "1", "--on", NEIGHBOUR, "--flavor", "big")


def state_dir(lab):
    """Journals of this lab: other labs of this machine have their own."""
    return lab_module.ROOT / ".build" / f"zone-journals-i{lab.instance}"


def enable(lab, host, status="enabled", reason=None):
    """Set the status of a compute service, and wait until it is shown."""
    body = {"status": status, **({"disabled_reason": reason} if reason else {})}
    lab.compute("PUT", f"/os-services/{lab.service(host)['id']}", body)
    waiting.until(f"{host} {status}", lambda: lab.service(host)["status"] == status or None, 60)


def boot(lab, prefix="web", count=1, *more):
    """Boot servers on the first host of az1, without a pin; return them by name."""
    guestkit.create(lab, prefix, str(count), "--on", SOURCE, *more)
    found = {row["name"]: row["id"] for row in guestkit.every(lab).values() if row["name"].startswith(prefix)}
    assert {pin(lab, uuid) for uuid in found.values()} == {None}, "a server that names no zone has no pin"
    return found


def spec(lab, uuid):
    """The request spec of a server, as text."""
    return lab.value("api", "SELECT spec FROM request_specs WHERE instance_uuid = %s", uuid)


def pin(lab, uuid):
    """The zone that a server is pinned to."""
    return json.loads(spec(lab, uuid))["nova_object.data"]["availability_zone"]


def migrations(lab, uuid):
    """Ids of a server's migration records."""
    return [row["id"] for row in lab.sql("cell1", "SELECT id FROM migrations WHERE instance_uuid = %s", uuid)]


#: nova-compute learns neither from libvirt nor by itself that a guest is off.
LEARNS_NOTHING = {"DEFAULT": "sync_power_state_interval = -1", "workarounds": "handle_virt_lifecycle_events = false"}


def unaware(lab, host):
    """The minutes after a host's boot, for as long as a test wants: Nova does not compare guests with their servers."""
    return configured(lab, host, LEARNS_NOTHING)


@contextlib.contextmanager
def configured(lab, host, settings):
    """Have nova-compute of a host run with other settings, by section. Afterwards as before."""
    conf = "/etc/nova/nova.conf"
    lines = "".join(f"[{section}]\n{line}\n" for section, line in settings.items())
    lab.ssh(host, f"cp -p {conf} {conf}.kept; cat >> {conf}", stdin=lines)
    _restart(lab, host)
    try:
        yield
    finally:
        lab.ssh(host, f"mv {conf}.kept {conf}")
        _restart(lab, host)


def _restart(lab, host):
    lab.ssh(host, "systemctl restart nova-compute", timeout=300)
    guestkit.wait_compute(lab, host)


@contextlib.contextmanager
def soft_deletion(lab):
    """Have Nova keep deleted servers for an hour, so that an operator can restore them. Afterwards as before."""
    with api_configured(lab, "DEFAULT", "reclaim_instance_interval = 3600"):
        try:
            yield
        finally:
            for row in lab.compute("GET", "/servers?all_tenants=1&deleted=True&status=SOFT_DELETED")["servers"]:
                lab.action(row["id"], "forceDelete", None)


@contextlib.contextmanager
def api_configured(lab, section, line):
    """Have Nova's API run with another setting of a section. Afterwards as before."""
    conf = pathlib.Path(lab.info["state"]) / "etc/nova/nova.conf"
    before, head = conf.read_text(), f"[{section}]\n"
    assert head in before
    _nova_api(lab, conf, before.replace(head, f"{head}{line}\n", 1))
    try:
        yield
    finally:
        _nova_api(lab, conf, before)


def _nova_api(lab, conf, text):
    """Start the compute API again, with this text as Nova's configuration."""
    conf.write_text(text)
    restart_api(lab)


def restart_api(lab):
    """Start the compute API again: it keeps what it has read of its configuration and of the cells."""
    services.kill(lab, "nova-api")
    services.start(lab, "nova-api")
    lab.forget()
