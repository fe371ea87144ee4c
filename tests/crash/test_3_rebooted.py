# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to the host and its guests while a rename is open, and the same command afterwards."""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.paused import Paused

HOST = "compute1"


def running(lab):
    return set(lab.ssh(HOST, "virsh list --uuid").split())


def start_all(lab, host):
    """Start what is off, as the report says, and wait for all.

    Nova undefines a domain while it starts its server: the domains of a moment are not all.
    """
    rows = [lab.server(server["id"]) for server in guestkit.every(lab).values()]
    here = {row["id"]: row["status"] for row in rows if row["OS-EXT-SRV-ATTR:host"] == host}
    for uuid, status in here.items():
        if status == "SHUTOFF":
            lab.action(uuid, "os-start", None)
    active = lambda: {lab.server(uuid)["status"] for uuid in here} == {"ACTIVE"}  # noqa: E731
    waiting.until("all guests run", lambda: (active() and running(lab) == set(here)) or None, 180, 2)


@pytest.mark.matrix
def test_a_host_that_rebooted_in_mid_run_is_finished_by_the_same_command(lab, playbooks, names, tmp_path):
    """A2: "guests have changed", for ever; only a rollback was left."""
    old, new = names
    ran = running(lab)
    assert ran
    run = Paused(playbooks, names, "apply host_names begins", tmp_path)
    run.kill()
    lab.command("host", HOST, "power-off")
    lab.command("host", HOST, "power-on")
    assert running(lab) == set()
    done = playbooks.rename(old, new).ok()
    assert done.stats["state"] == "finished"
    assert done.stats["verdict"] == "warn", "guests are off: that is no pass"
    reported = {row["object"]["id"]: row for row in done.report["findings"] if row["code"] == "SG120"}
    assert set(reported) == ran
    for uuid, row in reported.items():
        assert row["severity"] == "warning"
        assert row["evidence"]["why"] == "the host rebooted"
        assert f"openstack server start {uuid}" in row["remedy"]
    assert state.written(lab, old) == []
    assert lab.service(new)["status"] == "enabled"
    # Nova compares power states at its start, and takes them for stopped.
    is_off = lambda: all(lab.server(uuid)["status"] == "SHUTOFF" for uuid in ran) or None  # noqa: E731
    waiting.until("Nova sees them off", is_off, 120, 2)
    start_all(lab, new)


@pytest.mark.matrix
def test_a_guest_that_ended_by_itself_does_not_close_the_way_forward(lab, playbooks, names, tmp_path):
    old, new = names
    ran = running(lab)
    one = min(ran)
    run = Paused(playbooks, names, "apply host_names begins", tmp_path)
    lab.ssh(HOST, f"virsh destroy {one}")
    done = run.go().ok()
    assert done.stats["verdict"] == "warn"
    assert {row["object"]["id"] for row in done.report["findings"] if row["code"] == "SG120"} == {one}
    assert running(lab) == ran - {one}
    is_off = lambda: lab.server(one)["status"] == "SHUTOFF" or None  # noqa: E731
    waiting.until("Nova sees it off", is_off, 120, 2)
    start_all(lab, new)
    assert state.written(lab, old) == []


@pytest.mark.matrix
def test_what_a_person_changed_is_refused_guest_by_guest_and_passed_by_name(lab, playbooks, names, tmp_path):
    old, new = names
    one = min(running(lab))
    run = Paused(playbooks, names, "apply host_names begins", tmp_path)
    # Another process of the same definition: somebody started it anew on the host.
    lab.ssh(HOST, f"virsh destroy {one}; virsh start {one}")
    refused = run.go().failed()
    assert "guests have changed" in refused.output
    assert one in refused.output
    assert "stackguard_overrides" in refused.output
    again = playbooks.rename(old, new).failed()
    assert "guests have changed" in again.output, "not by trying again"
    word = [{"code": "SG120", "object": one, "reason": "I started it anew"}]
    done = playbooks.rename(old, new, variables={"stackguard_overrides": word}).ok()
    assert done.stats["state"] == "finished"
    assert done.stats["verdict"] == "warn"
    assert done.report["counts"]["overridden"] >= 1
    assert "1 guest changed" in done.output
    assert state.written(lab, old) == []
