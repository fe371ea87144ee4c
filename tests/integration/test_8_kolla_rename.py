# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename in place of a host as kolla-ansible makes it, under running guests.

compute1 has containers, the others have packages. The tests of this file are one story, told in order: what nobody
guards, a plan, a rename that is rolled back, a rename that is killed and resumed, a reboot under the new name, and the
way back.
"""

from __future__ import annotations

import json
import re

import pytest
from labkit import guests as guestkit
from labkit import killing, state, waiting
from labkit.fixtures import documented_grants
from labkit.guests import NEW
from labkit.lab import current
from labkit.playbook import Playbooks

pytestmark = pytest.mark.matrix("rename-kolla", deploy="kolla:compute1")

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
    return Playbooks(lab, {"cloud": "lab", **guestkit.grant(lab, "sg_exact", documented_grants()), **RECREATE})


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
    return {**state.everything(lab, restarted=True), "guests": guests(lab)}


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
    """The host, its containers, libvirt and the API agree, and nothing of the operation is left."""
    assert lab.ssh(HOST, "uname -n").strip() == name
    assert {container: name_in(lab, container) for container in renamed(lab)} == dict.fromkeys(renamed(lab), name)
    assert libvirt_says(lab) == name
    assert all_containers(lab) == sorted(lab.info["hosts"][HOST]["containers"])
    assert journal(lab) is None
    units = " ".join(f"kolla-{container}-container" for container in lab.info["hosts"][HOST]["containers"])
    assert set(lab.ssh(HOST, f"systemctl is-active {units}").split()) == {"active"}
    assert lab.ssh(HOST, "ls /var/lib/stackguard/.blocked-* 2>/dev/null || true") == ""
    assert lab.ssh(HOST, "ls /etc/systemd/system/*.d/00-stackguard.conf 2>/dev/null || true") == ""
    service = lab.service(name)
    assert (service["status"], service.get("disabled_reason")) == ("enabled", None)
    guestkit.wait_compute(lab, name)
    other = NEW if name == OLD else OLD
    assert lab.service(other) is None
    assert state.written(lab, other) == []


# --- what nobody guards ----------------------------------------------------------------------------------------


def test_unguarded_a_container_that_restarts_after_nsenter_has_the_old_name_again(lab, servers):
    before = guests(lab)
    pid = lab.ssh(HOST, f"{engine(lab)} inspect -f '{{{{.State.Pid}}}}' nova_libvirt").strip()
    lab.ssh(HOST, f"nsenter --uts --target {pid} hostname {NEW}")
    assert libvirt_says(lab) == NEW
    unit = "kolla-nova_libvirt-container"
    lab.ssh(HOST, f"systemctl stop {unit}; systemctl reset-failed {unit} || :; systemctl start {unit}", timeout=300)
    assert libvirt_says(lab) == OLD
    state.assert_same(before, guests(lab), "guests")
    # nova-compute has disabled its service for as long as it had no connection to libvirt
    waiting.until("the service enabled", lambda: lab.service(OLD)["status"] == "enabled" or None, 180, 3)


def test_without_a_command_that_recreates_the_rename_is_refused(lab, servers, books):
    before = everything(lab)
    result = books.rename(variables={"rename_recreate_command": None}, timeout=PATIENCE).failed()
    assert result.codes == {"SG123"}, result.told()
    assert "Set rename_recreate_command" in result.output
    state.assert_same(before, everything(lab), "a refused run changed something")


# --- the rename ------------------------------------------------------------------------------------------------


def test_check_mode_shows_the_steps_of_the_containers_and_changes_nothing(lab, servers, books):
    before = everything(lab)
    result = books.rename(flags=("--check", "--diff"), timeout=PATIENCE).ok()
    for text in ("verify that libvirt reports it", "with rename_recreate_command", "nova_libvirt.stackguard"):
        assert text in result.output, result.told()
    state.assert_same(before, everything(lab), "check mode changed something")


#: What a run says when it begins a step, or a task of the role.
STEPS = {
    "libvirt_name": "set the new name in the libvirt container",
    "set_others_aside": "stop and mask libvirt",
    "recreate_containers": "Run the command that creates the containers again",
    "resumed": "Resume the rename",
}
TASKS = ("recreate_containers", "resumed")


def kill_at(lab, books, step):
    """Kill a run when it says that it begins a step; a run that makes the plan shows each step there first."""
    planned = step not in TASKS and journal(lab) is None
    killing.kill_when_said(
        books.start_rename([f"rename_from={OLD}", f"rename_to={NEW}"]),
        STEPS[step],
        timeout=PATIENCE,
        times=2 if planned else 1,
    )


@pytest.mark.parametrize("step", ["libvirt_name", "resumed"])
def test_a_rename_that_is_rolled_back_leaves_the_old_containers(lab, servers, books, step):
    """Killed before anything is written, and killed when the new containers run; each taken back."""
    before, old = everything(lab), container_ids(lab)
    kill_at(lab, books, step)
    assert journal(lab) is not None
    libvirt_says(lab)
    state.assert_same(before["guests"], guests(lab), f"guests, after a kill at {step}")
    result = books.rename(action="rollback", timeout=PATIENCE).ok()
    print(f"\nrollback after a kill at {step}: {result.seconds:.1f} s")
    assert_named(lab, OLD)
    assert container_ids(lab) == old
    state.assert_same(before, everything(lab), "the rollback left something")


def test_guests_run_on_while_the_host_is_renamed_with_kills_at_each_new_step(lab, servers, books):
    before, identity = guests(lab), state.identity(lab, OLD)
    for step in ("libvirt_name", "set_others_aside", "recreate_containers"):
        kill_at(lab, books, step)
        state.assert_same(before, guests_by_kernel(before, lab), f"guests, after a kill at {step}")
        if step != "recreate_containers":
            assert_held(lab)
    result = books.rename(timeout=PATIENCE).ok()
    print(f"\nrename of a kolla host, killed three times: the last run took {result.seconds:.1f} s")
    state.assert_same(before, guests(lab), "guests")
    state.assert_same(identity, state.identity(lab, NEW), "records")
    assert_named(lab, NEW)


def test_a_host_that_loses_its_power_comes_back_under_the_new_name(lab, servers):
    lab.command("host", HOST, "power-off")
    before = guestkit.reports(lab, NEW)
    lab.command("host", HOST, "power-on")
    guestkit.wait_report(lab, NEW, before)
    assert_named(lab, NEW)
    for identity in servers:
        guestkit.wait_for(lab, identity, "SHUTOFF", timeout=300)
        lab.action(identity, "os-start")
        guestkit.wait_for(lab, identity, "ACTIVE", host=NEW)


def test_renamed_back_in_one_run(lab, servers, books):
    before, identity = guests(lab), state.identity(lab, NEW)
    result = books.rename(NEW, OLD, timeout=PATIENCE).ok()
    print(f"\nrename back: {result.seconds:.1f} s")
    state.assert_same(before, guests(lab), "guests")
    state.assert_same(identity, state.identity(lab, OLD), "records")
    assert_named(lab, OLD)
    assert books.rename(NEW, OLD, timeout=PATIENCE).ok().changed == 0
