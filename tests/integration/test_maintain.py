# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts maintained in series under guests that never stop: rebooted, killed and resumed, and not proven.

All three hosts are in one zone. A host that goes off is switched on again a moment later, as its firmware would.
"""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from labkit import killing, waiting, zoning
from labkit.maintaining import ENABLED, HOSTS, boots, domains, firmware, maintain, running, series, services, start
from labkit.zoning import FAR, NEIGHBOUR, SOURCE

__all__ = ["firmware", "series"]

matrix = pytest.mark.matrix


def test_a_host_is_emptied_worked_on_proven_and_enabled(series, playbooks):
    lab, guests = series, running(series)
    result = maintain(playbooks, maintain_hosts=[SOURCE], maintain_reboot=None, maintain_command="true").ok()
    assert services(lab) == ENABLED
    assert running(lab) == guests
    assert {lab.server(uuid)["OS-EXT-SRV-ATTR:host"] for uuid in guests.values()} <= {NEIGHBOUR, FAR}
    assert result.stats["hosts"] == {SOURCE: {"state": "done", "step": None, "moved": 2}}


@matrix
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


#: What a host may be like after its work: tasks that make it so and take it back, and the codes that say it.
CHANGES = {
    "another name": (
        "hostname compute9 && systemctl restart libvirtd",
        "hostname compute1 && systemctl restart libvirtd",
    ),
    "without its compute_id": (
        "mv /var/lib/nova/compute_id /var/lib/nova/kept_id",
        "mv /var/lib/nova/kept_id /var/lib/nova/compute_id",
    ),
    "too little memory": (
        "sed 's/^MemTotal:.*/MemTotal: 1048576 kB/' /proc/meminfo > /run/less; mount --bind /run/less /proc/meminfo",
        "umount /proc/meminfo",
    ),
    "nova-compute is down": ("systemctl stop nova-compute", "systemctl start nova-compute"),
}


@matrix
@pytest.mark.parametrize("change", CHANGES)
def test_a_host_that_is_not_as_before_stops_the_series(series, playbooks, tmp_path, change):
    """The host stays disabled, the others are untouched; put right, the same command goes on."""
    lab, guests = series, running(series)
    spoil, mend = CHANGES[change]
    tasks = tmp_path / "tasks.yml"
    tasks.write_text(f"- name: Change the host\n  ansible.builtin.shell: {json.dumps(spoil)}\n  changed_when: true\n")
    given = {"maintain_reboot": None, "maintain_tasks": str(tasks), "maintain_hosts": [SOURCE, NEIGHBOUR]}
    try:
        refused = maintain(playbooks, maintain_back_timeout=90, **given).failed()
        assert refused.stats["state"] == "open"
        assert services(lab)[SOURCE][1].startswith("stackguard:maintain:")
        assert services(lab)[NEIGHBOUR] == ("enabled", None)
        assert running(lab) == guests
        assert refused.stats["hosts"][NEIGHBOUR]["state"] == "waiting"
    finally:
        lab.ssh(SOURCE, mend)
    tasks.write_text("- name: Change nothing\n  ansible.builtin.command: 'true'\n  changed_when: false\n")
    assert maintain(playbooks, **given).ok().stats["state"] == "finished"
    assert services(lab) == ENABLED


@pytest.mark.matrix("maintain-killed")
def test_killed_at_random_ten_times_the_same_command_goes_on(series, playbooks, firmware):
    """After each kill no guest is lost, and a host that is under way is disabled."""
    lab, guests, before = series, running(series), boots(series)
    draw = random.Random(49)
    for _each in range(10):
        process = start(playbooks, maintain_hosts=HOSTS, maintain_reboot=True, maintain_back_timeout=600)
        with contextlib.suppress(AssertionError):
            waiting.until(
                "it has ended", lambda process=process: process.poll() is not None or None, draw.uniform(20, 150), 1
            )
        killing.kill(process)
    result = maintain(playbooks).ok()
    assert result.stats["state"] in ("finished", "none")
    assert services(lab) == ENABLED
    assert running(lab) == guests
    assert sorted(domains(lab)) == sorted(guests.values()), "each guest runs once"
    after = boots(lab)
    assert all(after[host] != before[host] for host in HOSTS)


@matrix
def test_ended_a_host_that_was_worked_on_stays_disabled_and_is_enabled_by_itself(series, playbooks, tmp_path):
    lab = series
    tasks = tmp_path / "tasks.yml"
    tasks.write_text("- name: Fail\n  ansible.builtin.fail: {msg: 'a part was missing'}\n")
    given = {"maintain_reboot": None, "maintain_tasks": str(tasks), "maintain_hosts": [SOURCE]}
    assert maintain(playbooks, **given).failed().stats["state"] == "open"
    assert maintain(playbooks, maintain_action="status", **given).ok().stats["hosts"][SOURCE]["state"] == "in progress"
    maintain(playbooks, maintain_action="abort", **given).ok()
    status, reason = services(lab)[SOURCE]
    assert status == "disabled"
    assert not reason.startswith("stackguard:")
    enabled = playbooks.finish(start(playbooks, name="enable_host", enable_host=SOURCE), timeout=900).ok()
    assert enabled.stats["state"] == "finished"
    assert services(lab) == ENABLED


@matrix
def test_a_test_server_runs_on_the_host_moves_away_and_is_gone(series, playbooks):
    lab, guests = series, running(series)
    zoning.enable(lab, SOURCE, "disabled", "maintenance")
    test = {"image": "blank", "flavor": "nano", "network": "net0"}
    result = playbooks.finish(
        start(playbooks, name="enable_host", enable_host=SOURCE, enable_test_server=test), timeout=900
    ).ok()
    assert result.stats["state"] == "finished"
    assert services(lab) == ENABLED
    assert running(lab) == guests


@matrix
def test_a_test_server_that_fails_disables_the_host_again(series, playbooks):
    lab, guests = series, running(series)
    zoning.enable(lab, SOURCE, "disabled", "maintenance")
    test = {"image": "blank", "flavor": "nano", "network": "net0"}
    with zoning.configured(lab, SOURCE, {"libvirt": "virt_type = xen"}):
        playbooks.finish(
            start(playbooks, name="enable_host", enable_host=SOURCE, enable_test_server=test), timeout=900
        ).failed()
        assert services(lab)[SOURCE] == ("disabled", "maintenance")
    assert running(lab) == guests
