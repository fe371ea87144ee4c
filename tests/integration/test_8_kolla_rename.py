# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename in place of a host as kolla-ansible makes it, under running guests.

compute1 has containers, the others have packages. The tests of this file are one story, told in order: what nobody
guards, a plan, a rename that is rolled back, a rename that is killed and resumed, a reboot under the new name, and the
way back.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, state, waiting
from labkit.guests import NEW
from labkit.kolla_fixtures import (
    HOST,
    OLD,
    PATIENCE,
    assert_held,
    assert_named,
    books,
    container_ids,
    engine,
    everything,
    guests,
    guests_by_kernel,
    journal,
    lab,
    libvirt_says,
    packets,
    servers,
)

__all__ = ["books", "lab", "packets", "servers"]

pytestmark = pytest.mark.matrix("rename-kolla", deploy="kolla:compute1")


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
    for text in ("verify that libvirt reports the new name", "with rename_recreate_command", "nova_libvirt.stackguard"):
        assert text in result.output, result.told()
    state.assert_same(before, everything(lab), "check mode changed something")


#: What a run says when it begins a step, or a task of the role.
STEPS = {
    "libvirt_name": "set the new name in the libvirt container",
    "set_others_aside": "stop and mask libvirt",
    "recreate_containers": "Run the command that recreates the containers",
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


def put_inside(lab, inside):
    """Put one guest into the control group of libvirt's container, where it would be without libvirt's hook; or out."""
    own = "/sys/fs/cgroup$(sed -n s/^0:://p /proc/$(pgrep -x libvirtd)/cgroup)"
    group = own if inside else "/sys/fs/cgroup/machine/outside"
    lab.ssh(HOST, f"group={group}; mkdir -p $group && pgrep -o qemu-system >$group/cgroup.procs")


def test_a_guest_that_would_end_with_a_container_ends_with_none(lab, servers, books):
    """It came there after the preflight: no stop of libvirt's container, no removal of the new one."""
    before, old = everything(lab), container_ids(lab)
    kill_at(lab, books, "libvirt_name")
    put_inside(lab, True)
    refused = books.rename(timeout=PATIENCE).failed()
    assert "control group" in refused.output, refused.told()
    assert journal(lab)["steps"]["stop_containers"] != "done"
    state.assert_same(before["guests"], guests_by_kernel(before["guests"], lab), "guests, after a refused stop")
    put_inside(lab, False)
    kill_at(lab, books, "resumed")
    put_inside(lab, True)
    refused = books.rename(action="rollback", timeout=PATIENCE).failed()
    assert "so a rollback would kill the guests" in refused.output, refused.told()
    state.assert_same(before["guests"], guests_by_kernel(before["guests"], lab), "guests, after a refused rollback")
    put_inside(lab, False)
    books.rename(action="rollback", timeout=PATIENCE).ok()
    assert_named(lab, OLD)
    assert container_ids(lab) == old
    state.assert_same(before, everything(lab), "the rollback left something")


def test_guests_run_on_while_the_host_is_renamed_with_kills_at_each_new_step(lab, servers, books, packets):
    before, identity = guests(lab), state.identity(lab, OLD)
    with packets():
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


def records(lab, name):
    """The records of a host, but for those of guests, which are off after a power failure."""
    return {part: rows for part, rows in state.identity(lab, name).items() if part not in ("instances", "ports")}


def test_a_host_that_loses_its_power_in_the_middle_is_held_and_then_renamed(lab, servers, books):
    """Its units start at boot whatever is said to be stopped, and containers that were set aside exist."""
    identity = records(lab, OLD)
    kill_at(lab, books, "set_others_aside")
    lab.command("host", HOST, "power-off")
    lab.command("host", HOST, "power-on")
    waiting.until("the host", lambda: lab.ssh(HOST, "systemctl is-system-running --wait || :").strip(), 180, 3)
    assert_held(lab)
    books.rename(timeout=PATIENCE).ok()
    state.assert_same(identity, records(lab, NEW), "records")
    assert_named(lab, NEW)
    for uuid in servers:
        guestkit.wait_for(lab, uuid, "SHUTOFF", timeout=300)
        lab.action(uuid, "os-start")
        guestkit.wait_for(lab, uuid, "ACTIVE", host=NEW)
