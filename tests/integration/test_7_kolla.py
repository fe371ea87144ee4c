# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts as kolla-ansible makes them: what runs in their containers, under what name, and what guests survive.

compute1 and compute2 have containers, compute3 has packages. Nothing of the collection is used: this is what a rename
meets on such a host. Each test leaves the hosts and the servers as it found them.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import waiting
from labkit.lab import current

pytestmark = pytest.mark.matrix("kolla", deploy="kolla:compute1,compute2")

HOST, OTHER, PACKAGED = "compute1", "compute2", "compute3"
NEW = "cn-rack7"


@pytest.fixture(scope="module")
def lab():
    """The lab of STACKGUARD_LAB_INSTANCE, as it was made: `up` of the shape that the part says."""
    made = current()
    made.up()
    return made


@pytest.fixture(scope="module")
def servers(lab):
    created = guestkit.create(lab, "boxed", "2", "--on", HOST)
    yield [row["id"] for row in created]
    lab.command("guests", "delete", *(row["name"] for row in created))


@pytest.fixture
def renamed(lab):
    """The host under another name, as far as the operating system goes; put back with its containers."""
    lab.ssh(HOST, f"hostnamectl set-hostname {NEW} && sed -i 's/ {HOST}$/ {NEW}/' /etc/hosts")
    yield
    lab.ssh(HOST, f"hostnamectl set-hostname {HOST} && sed -i 's/ {NEW}$/ {HOST}/' /etc/hosts")
    before = guestkit.reports(lab, HOST)
    lab.command("kolla-recreate", HOST, *lab.info["hosts"][HOST]["containers"])
    guestkit.wait_report(lab, HOST, before)
    libvirt_answers(lab)


def libvirt_answers(lab):
    waiting.until("libvirt's answer", lambda: lab.ssh(HOST, "virsh -q hostname || :").strip(), 60)


def restart(lab, name):
    """Restart a container by its unit, which a slow stop leaves failed; wait for a report of a new nova-compute."""
    unit = f"kolla-{name}-container"
    lab.ssh(HOST, f"systemctl stop {unit}; systemctl reset-failed {unit} || :", timeout=300)
    before = guestkit.reports(lab, HOST)
    lab.ssh(HOST, f"systemctl start {unit}")
    if name == "nova_compute":
        guestkit.wait_report(lab, HOST, before)
    libvirt_answers(lab)


def name_in(lab, container):
    """The host name that a process of the container has."""
    engine = lab.info["hosts"][HOST]["engine"]
    pid = lab.ssh(HOST, f"{engine} inspect -f '{{{{.State.Pid}}}}' {container}").strip()
    return lab.ssh(HOST, f"nsenter --uts --target {pid} uname -n").strip()


def guest_processes(lab, host=HOST):
    """Each QEMU of the host: process id, start time and cgroup."""
    group = "sed -n s/^0:://p /proc/$p/cgroup"
    script = f"for p in $(pgrep qemu-system); do echo $p $(cut -d' ' -f22 /proc/$p/stat) $({group}); done"
    return sorted(lab.ssh(host, script).splitlines())


def test_every_container_runs_and_is_started_by_its_unit(lab):
    for host in (HOST, OTHER):
        shown = lab.info["hosts"][host]
        running = lab.ssh(host, f"{shown['engine']} ps --format '{{{{.Names}}}}'").split()
        assert sorted(running) == sorted(shown["containers"])
        units = " ".join(f"kolla-{name}-container" for name in shown["containers"])
        assert set(lab.ssh(host, f"systemctl is-active {units}").split()) == {"active"}
        assert set(lab.ssh(host, f"systemctl is-enabled {units}").split()) == {"enabled"}


def test_a_host_beside_them_has_packages(lab):
    shown = lab.info["hosts"][PACKAGED]
    assert (shown["deploy"], shown["engine"], shown["containers"]) == ("packages", None, [])
    assert lab.ssh(PACKAGED, "systemctl is-active nova-compute libvirtd").split() == ["active", "active"]
    assert lab.ssh(PACKAGED, "command -v podman dockerd || :") == ""
    assert lab.ssh(PACKAGED, "stat -f -c %T /sys/fs/cgroup").strip() != "cgroup2fs"


def test_guests_run_outside_the_containers_and_survive_a_restart_of_each(lab, servers):
    for identity in servers:
        guestkit.wait_for(lab, identity, "ACTIVE")
    before = guest_processes(lab)
    assert len(before) == len(servers)
    assert not any("libpod" in line or "docker" in line for line in before), before
    for name in ("nova_compute", "nova_libvirt"):
        restart(lab, name)
        assert guest_processes(lab) == before, name
    assert len(lab.ssh(HOST, "virsh -q list").splitlines()) == len(servers)


def test_a_server_moves_to_a_host_with_packages_and_back(lab, servers):
    guestkit.wait_compute(lab, HOST)
    for destination in (PACKAGED, HOST):
        lab.action(servers[0], "os-migrateLive", {"host": destination, "block_migration": "auto"})
        guestkit.wait_for(lab, servers[0], "ACTIVE", hypervisor_hostname=destination)


def test_a_container_keeps_the_hosts_name_of_its_creation(lab, servers, renamed):
    before = guest_processes(lab)
    for name in lab.info["hosts"][HOST]["containers"]:
        assert name_in(lab, name) == HOST, name
    restart(lab, "nova_libvirt")
    assert (name_in(lab, "nova_libvirt"), lab.ssh(HOST, "virsh hostname").strip()) == (HOST, HOST)
    lab.command("kolla-recreate", HOST, "nova_libvirt")
    libvirt_answers(lab)
    assert (name_in(lab, "nova_libvirt"), lab.ssh(HOST, "virsh hostname").strip()) == (NEW, NEW)
    assert guest_processes(lab) == before


def test_a_host_that_loses_its_power_comes_back_by_itself(lab):
    identity = lab.ssh(HOST, "cat /etc/kolla/nova-compute/compute_id")
    lab.command("host", HOST, "power-off")
    before = guestkit.reports(lab, HOST)
    lab.command("host", HOST, "power-on")
    guestkit.wait_report(lab, HOST, before)
    engine = lab.info["hosts"][HOST]["engine"]
    running = lab.ssh(HOST, f"{engine} ps --format '{{{{.Names}}}}'").split()
    assert sorted(running) == sorted(lab.info["hosts"][HOST]["containers"])
    assert lab.ssh(HOST, f"{engine} exec nova_compute cat /var/lib/nova/compute_id") == identity


def test_without_libvirts_hook_guests_end_with_the_container(lab):
    """A host of the lab has no cgroup controllers; with them libvirt does the hook's work."""
    (made,) = guestkit.create(lab, "inside", "1", "--on", OTHER)
    try:
        # back into the container, where the guest would be without the hook
        lab.ssh(
            OTHER,
            "group=/sys/fs/cgroup$(sed -n s/^0:://p /proc/$(pgrep -x libvirtd)/cgroup);"
            " pgrep qemu-system >$group/cgroup.procs && systemctl stop kolla-nova_libvirt-container",
            timeout=300,
        )
        assert guest_processes(lab, OTHER) == []
    finally:
        lab.ssh(
            OTHER, "systemctl reset-failed kolla-nova_libvirt-container; systemctl start kolla-nova_libvirt-container"
        )
        waiting.until("libvirt's answer", lambda: lab.ssh(OTHER, "virsh -q hostname || :").strip(), 60)
        lab.command("guests", "delete", made["name"])
