# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts maintained in series under guests that never stop: rebooted, killed and resumed, and not proven.

All three hosts are in one zone. A host that goes off is switched on again a moment later, as its firmware would.
"""

from __future__ import annotations

import contextlib
import threading

import pytest
from labkit import guests as guestkit
from labkit import zoning
from labkit.zoning import FAR, NEIGHBOUR, SOURCE, state_dir

matrix = pytest.mark.matrix
HOSTS = [SOURCE, NEIGHBOUR, FAR]


@contextlib.contextmanager
def one_zone(lab):
    """compute3 in az1, too."""
    rows = {row["name"]: row["id"] for row in lab.compute("GET", "/os-aggregates")["aggregates"]}
    lab.compute("POST", f"/os-aggregates/{rows['az2']}/action", {"remove_host": {"host": FAR}})
    lab.compute("POST", f"/os-aggregates/{rows['az1']}/action", {"add_host": {"host": FAR}})
    try:
        yield
    finally:
        zoning.tidy(lab)
        lab.compute("POST", f"/os-aggregates/{rows['az1']}/action", {"remove_host": {"host": FAR}})
        lab.compute("POST", f"/os-aggregates/{rows['az2']}/action", {"add_host": {"host": FAR}})


@pytest.fixture
def firmware(lab):
    """Switches hosts on that have gone off by themselves; what is in ``broken`` is done before one boots."""
    stop, broken = threading.Event(), {}

    def watch():
        while not stop.wait(1):
            for host in HOSTS:
                if not lab.command("ssh", host, "true", check=False, timeout=20).returncode:
                    continue
                if lab.command("host", host, "power-on", check=False).returncode == 0 and host in broken:
                    broken.pop(host)()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield broken
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


ENABLED = dict.fromkeys(HOSTS, ("enabled", None))


def test_three_hosts_are_rebooted_one_after_the_other_under_their_guests(series, playbooks, firmware):
    lab, before, guests = series, boots(series), running(series)
    checked = maintain(playbooks, ["--check", "--diff"]).ok()
    assert checked.stats["state"] == "planned"
    assert (boots(lab), services(lab)) == (before, ENABLED), "a check changes nothing"
    result = maintain(playbooks).ok()
    after = boots(lab)
    assert all(after[host] != before[host] for host in HOSTS)
    assert services(lab) == ENABLED
    assert running(lab) == guests
    assert {row["state"] for row in result.stats["hosts"].values()} == {"done"}
