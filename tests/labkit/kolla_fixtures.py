# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host as kolla-ansible makes it, renamed: fixtures, what its containers say, and what it looks like afterwards."""

from __future__ import annotations

import contextlib
import json
import re
import time

import pytest

from . import guests as guestkit
from . import state, waiting
from .fixtures import documented_grants
from .guests import NEW
from .lab import current
from .ovn import Ovn
from .ovn_fixtures import longest_outage, nothing_lost
from .playbook import Playbooks
from .probe import Probe

HOST = OLD = "compute1"
RECREATE = {
    "rename_recreate_command": "/usr/local/lib/lab/kolla/containers recreate {containers}",
    "rename_recreate_host": HOST,
}
#: Seconds for a run: the command that recreates waits for podman, and a busy machine for everything.
PATIENCE = 1500
#: Containers that a rename has to create again, whatever the network.
RENAMED = ("nova_compute", "nova_libvirt", "neutron_openvswitch_agent", "neutron_ovn_metadata_agent")


@pytest.fixture(scope="module")
def lab():
    """The lab of STACKGUARD_LAB_INSTANCE, as it was made: `up` of the shape that the part says."""
    made = current()
    made.up()
    made.ssh(HOST, "rm -rf /var/lib/stackguard")
    return made


@pytest.fixture(scope="module")
def servers(lab):
    found = [row for row in guestkit.every(lab).values() if row["name"].startswith("boxed")]
    made = found or guestkit.create(lab, "boxed", "5", "--on", HOST)
    assert {row["status"] for row in made} == {"ACTIVE"}
    return [row["id"] for row in made]


@pytest.fixture(scope="module")
def books(lab):
    ovn = lab.info["ovn"] if lab.info["l2"] == "ovn" else {}
    access = {f"ovn_{name}_connection": ovn[name] for name in ("nb", "sb") if ovn}
    grants = guestkit.grant(lab, "sg_exact", documented_grants())
    return Playbooks(lab, {"cloud": "lab", **grants, **RECREATE, **access})


@pytest.fixture
def packets(lab):
    """Make a context in which no packet is lost and no port bound elsewhere; without OVN, nothing is sent."""
    if lab.info["l2"] != "ovn":
        yield contextlib.nullcontext
        return
    chassis = Ovn(lab)
    probe = Probe(lab, chassis, HOST, "compute2")
    try:
        probe.make()
        with probe.running() as run:
            time.sleep(20)
        print(f"\nnothing is done:\n{run.told()}")
        yield lambda: nothing_lost(chassis, probe, longest_outage(run))
    finally:
        probe.remove()


def engine(lab):
    return lab.info["hosts"][HOST]["engine"]


def renamed(lab):
    """The containers of the host that a rename creates again."""
    return [name for name in lab.info["hosts"][HOST]["containers"] if name in RENAMED]


def name_in(lab, container):
    """The host name that a process of the container has."""
    pid = lab.ssh(HOST, f"{engine(lab)} inspect -f '{{{{.State.Pid}}}}' {container}").strip()
    return lab.ssh(HOST, f"nsenter --uts --target {pid} uname -n").strip()


def all_containers(lab):
    return sorted(lab.ssh(HOST, f"{engine(lab)} ps --all --format '{{{{.Names}}}}'").split())


def libvirt_says(lab):
    return waiting.until("libvirt's answer", lambda: lab.ssh(HOST, "virsh -q hostname || :").strip(), 60)


def guests(lab):
    """Every domain. A libvirt that restarts forgets the aliases of devices that QEMU makes without being told."""
    found = state.guests(lab)
    for domain in found.values():
        text = re.sub(r"\s*<alias name='[^']*'/>", "", domain["xml"])
        domain["xml"] = re.sub(r"<(\w+)([^<>/]*)>\s*</\1>", r"<\1\2/>", text)
    return found


def everything(lab):
    """What a refused or undone run leaves as it was; neutron's maintenance counts OVN's rows when it likes."""
    found = state.everything(lab, restarted=True)
    found["databases"].pop("neutron.ovn_revision_numbers", None)
    return {**found, "guests": guests(lab)}


def journal(lab):
    text = lab.ssh(HOST, "cat /var/lib/stackguard/rename.json 2>/dev/null || true")
    return json.loads(text) if text else None


def container_ids(lab):
    """Each container that a rename creates again, by its id."""
    shown = lab.ssh(HOST, f"{engine(lab)} container inspect -f '{{{{.Name}}}} {{{{.Id}}}}' {' '.join(renamed(lab))}")
    return dict(line.lstrip("/").split() for line in shown.splitlines())


def guests_by_kernel(known, lab):
    """The guests as they were, as far as their processes say so: libvirt may be down."""
    script = "for p in $(pgrep qemu-system); do echo $p $(cut -d' ' -f22 /proc/$p/stat); done"
    running = {int(pid): int(start) for pid, start in map(str.split, lab.ssh(HOST, script).splitlines())}
    return {
        uuid: {**guest, "process": [pid, running[pid]] if (pid := (guest["process"] or [0])[0]) in running else None}
        for uuid, guest in known.items()
    }


def assert_held(lab):
    """Neither the unit nor a person starts nova-compute under a name that is half the old one."""
    unit = "kolla-nova_compute-container"
    assert lab.ssh(HOST, f"systemctl start {unit} 2>&1 || echo refused").strip().endswith("refused")
    assert "nova_compute" not in lab.ssh(HOST, f"{engine(lab)} ps --format '{{{{.Names}}}}'").split()
    assert lab.ssh(HOST, f"{engine(lab)} start nova_compute 2>&1 || echo refused").strip().endswith("refused")


def assert_named(lab, name):
    """The host, its containers, libvirt and the API agree; nothing of the operation and of the other name is left."""
    assert_agreed(lab, name)
    other = NEW if name == OLD else OLD
    assert lab.service(other) is None
    assert state.written(lab, other) == []


def assert_agreed(lab, name):
    """The host, its containers, libvirt and the API agree, and nothing of the operation is left."""
    assert lab.ssh(HOST, "uname -n").strip() == name
    assert {container: name_in(lab, container) for container in renamed(lab)} == dict.fromkeys(renamed(lab), name)
    assert libvirt_says(lab) == name
    assert all_containers(lab) == sorted(lab.info["hosts"][HOST]["containers"])
    assert journal(lab) is None
    units = " ".join(f"kolla-{container}-container" for container in lab.info["hosts"][HOST]["containers"])
    # After a boot one waits for another, and is started again.
    active = lambda: set(lab.ssh(HOST, f"systemctl is-active {units} || :").split()) == {"active"} or None  # noqa: E731
    waiting.until("the units", active, 120, 2)
    assert lab.ssh(HOST, "ls /var/lib/stackguard/.blocked-* 2>/dev/null || true") == ""
    assert lab.ssh(HOST, "ls /etc/systemd/system/*.d/00-stackguard.conf 2>/dev/null || true") == ""
    service = lab.service(name)
    assert (service["status"], service.get("disabled_reason")) == ("enabled", None)
    guestkit.wait_compute(lab, name)
