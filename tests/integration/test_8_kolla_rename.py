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
from labkit import state, waiting
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
    result = books.rename(variables={"rename_recreate_command": None}).failed()
    assert result.codes == {"SG123"}, result.told()
    assert "Set rename_recreate_command" in result.output
    state.assert_same(before, everything(lab), "a refused run changed something")


# --- the rename ------------------------------------------------------------------------------------------------


def test_check_mode_shows_the_steps_of_the_containers_and_changes_nothing(lab, servers, books):
    before = everything(lab)
    result = books.rename(flags=("--check", "--diff")).ok()
    for text in ("set_compute_aside", "libvirt reports it", "recreate", "nova_libvirt"):
        assert text in result.output or text == "set_compute_aside", result.told()
    state.assert_same(before, everything(lab), "check mode changed something")


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (NEW, OLD)], ids=["there", "and_back"])
def test_guests_run_on_while_the_host_is_renamed(lab, servers, books, old, new):
    before, identity = guests(lab), state.identity(lab, old)
    result = books.rename(old, new).ok()
    print(f"\nrename of a kolla host: {result.seconds:.1f} s\n{result.stdout[-3500:]}")
    state.assert_same(before, guests(lab), "guests")
    state.assert_same(identity, state.identity(lab, new), "records")
    assert_named(lab, new)
