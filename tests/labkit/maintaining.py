# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Three hosts of one zone that are maintained in series: what tests of it begin with, run, and look at."""

from __future__ import annotations

import contextlib
import threading

import pytest

from . import guests as guestkit
from . import zoning
from .zoning import FAR, NEIGHBOUR, SOURCE, state_dir

HOSTS = [SOURCE, NEIGHBOUR, FAR]
ENABLED = dict.fromkeys(HOSTS, ("enabled", None))


def put_into(lab, zone):
    """Have compute3 in this zone and in no other, as an earlier test may have left it."""
    rows = {row["name"]: row for row in lab.compute("GET", "/os-aggregates")["aggregates"]}
    for name in sorted(("az1", "az2"), key=lambda name: name == zone):
        act = "add_host" if name == zone else "remove_host"
        if (FAR in rows[name]["hosts"]) != (name == zone):
            lab.compute("POST", f"/os-aggregates/{rows[name]['id']}/action", {act: {"host": FAR}})


@contextlib.contextmanager
def one_zone(lab):
    """compute3 in az1, too."""
    put_into(lab, "az1")
    try:
        yield
    finally:
        zoning.tidy(lab)
        put_into(lab, "az2")


@pytest.fixture
def firmware(lab):
    """Switches hosts on that have gone off by themselves."""
    stop = threading.Event()

    def watch():
        while not stop.wait(1):
            for host in HOSTS:
                if lab.command("ssh", host, "true", check=False, timeout=20).returncode:
                    lab.command("host", host, "power-on", check=False)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(60)


@pytest.fixture
def series(lab):
    """Guests on each host of one zone."""
    zoning.tidy(lab)
    with one_zone(lab):
        guestkit.create(lab, "a", "2", "--on", SOURCE)
        guestkit.create(lab, "b", "1", "--on", NEIGHBOUR)
        guestkit.create(lab, "c", "1", "--on", FAR)
        yield lab
    zoning.tidy(lab)


def start(playbooks, flags=(), name="maintain_hosts", **given):
    own = {
        "stackguard_state_dir": str(state_dir(playbooks.lab)),
        "nova_api_db_url": playbooks.lab.info["nova_api_db_url"],
    }
    return playbooks.start(name, (), variables={**own, **given}, flags=flags)


def maintain(playbooks, flags=(), **given):
    given = {"maintain_hosts": HOSTS, "maintain_reboot": True, "maintain_back_timeout": 600, **given}
    return playbooks.finish(start(playbooks, flags, **given), timeout=2400)


def boots(lab):
    return {host: lab.ssh(host, "cat /proc/sys/kernel/random/boot_id").strip() for host in HOSTS}


def services(lab):
    return {host: (lab.service(host)["status"], lab.service(host)["disabled_reason"]) for host in HOSTS}


def running(lab):
    """Name to uuid of the guests, all of them active where Nova shows them."""
    rows = guestkit.every(lab)
    assert {row["status"] for row in rows.values()} == {"ACTIVE"}
    return {row["name"]: row["id"] for row in rows.values()}


def domains(lab):
    """The uuids of the domains of all hosts, one for each host that has it."""
    return [uuid for host in HOSTS for uuid in lab.ssh(host, "virsh list --all --uuid").split()]
