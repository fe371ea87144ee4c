# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests of owners that wait in RabbitMQ for a dead host, on real Nova: an evacuation, a return, and the start.

Unguarded, nova-compute of the returned host started a second QEMU for each waiting start and rescue, and both wrote.
"""

from __future__ import annotations

import contextlib

import pytest
from labkit import broker, evacuation, waiting
from labkit import guests as guestkit
from labkit.deadhost import OTHER, SOURCE, boot, closed, come_back, evacuate, state_dir

LEFT = pytest.mark.matrix("evacuation-left")
QUEUE = f"compute.{SOURCE}"


def of_code(result, code):
    """Object and severity of a report's findings of this code."""
    return sorted(
        (item["object"]["id"], item["severity"]) for item in result.report["findings"] if item["code"] == code
    )


def undecided(result):
    return {item["code"] for item in result.report["unchecked"]}


def blind(lab):
    """A URL that no RabbitMQ answers."""
    return {"stackguard_rabbit_urls": broker.url(lab).replace(":5672", ":1")}


@contextlib.contextmanager
def stopped(lab):
    """nova-compute of the dead host ended with it, and does not start when the host is back."""
    lab.ssh(SOURCE, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    lab.command("host", SOURCE, "cut")
    evacuation.wait_down(lab, SOURCE)
    try:
        yield
    finally:
        lab.command("host", SOURCE, "join", check=False)
        answers(lab)
        lab.ssh(SOURCE, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")


def answers(lab):
    waiting.until("the host answers", lambda: "here" in lab.ssh(SOURCE, "echo here", check=False) or None, 60)


def runs_on(lab, uuid):
    """The hosts that have a QEMU of a server."""
    return [host for host in lab.hosts if uuid in lab.ssh(host, "virsh list --uuid", check=False)]


def ask(lab, start, rescue, stop):
    """What owners send while the host is down. All of it is accepted."""
    lab.action(start, "os-start")
    lab.action(rescue, "rescue", {})
    lab.action(stop, "os-stop")
    waiting.until("the requests wait", lambda: (broker.messages(lab, QUEUE) or 0) >= 3 or None, 30, 1)


def start_again(lab):
    """nova-compute of the returned host takes whatever is in its queue."""
    before = guestkit.reports(lab, SOURCE)
    lab.ssh(SOURCE, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")
    guestkit.wait_report(lab, SOURCE, before)
    waiting.until("the queue is empty", lambda: broker.messages(lab, QUEUE) == 0 or None, 90, 2)


@LEFT
def test_what_waits_for_the_dead_host_is_removed_and_never_executed(clean, playbooks):
    lab = clean
    guests = boot(lab, "wait", 3)
    start, rescue, stop = (guests[f"wait{number}"] for number in (1, 2, 3))
    lab.action(start, "os-stop")
    guestkit.wait_for(lab, start, "SHUTOFF", 120)
    reset = {"evacuate_reset_states": ["task"]}
    with stopped(lab):
        ask(lab, start, rescue, stop)
        checked = evacuate(playbooks, variables=reset, flags=["--check"]).ok()
        assert of_code(checked, "SG329") == [(SOURCE, "warning")], checked.told()
        # Without access these tasks are not reset.
        refused = evacuate(playbooks, variables={**reset, **blind(lab)}, flags=["--check"]).failed()
        assert {uuid for uuid, _severity in of_code(refused, "SG701")} == {start, rescue, stop}
        assert (broker.messages(lab, QUEUE) or 0) >= 3
        done = evacuate(playbooks, variables=reset).ok()
        assert {uuid for uuid, _severity in of_code(done, "SG121")} == {start, rescue, stop}, done.told()
        assert (undecided(done), done.report["verdict"]) == (set(), "warn")
        (journal,) = closed(lab)
        assert len(journal["memory"]["requests_removed"][QUEUE]) == 3
        lab.action(start, "os-start")
        guestkit.wait_for(lab, start, "ACTIVE", 120, host=OTHER)
        lab.command("host", SOURCE, "join")
        answers(lab)
        evacuation.may_unblock(lab, "compute3")
        cleared = come_back(playbooks, ceph=("compute3", "stackguard")).ok()
        assert cleared.stats["state"] == "clear", cleared.told()
        start_again(lab)
        for uuid in (start, rescue, stop):
            assert (lab.server(uuid)["status"], runs_on(lab, uuid)) == ("ACTIVE", [OTHER])
            assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1


@LEFT
def test_a_host_is_not_clear_while_a_request_waits_that_nobody_has_read(clean, playbooks):
    """The evacuation had no access, and somebody had reset the servers by hand: all is green but the queue."""
    lab = clean
    guests = boot(lab, "blind", 3)
    start, rescue, stop = (guests[f"blind{number}"] for number in (1, 2, 3))
    lab.action(start, "os-stop")
    guestkit.wait_for(lab, start, "SHUTOFF", 120)
    with stopped(lab):
        ask(lab, start, rescue, stop)
        for uuid in guests.values():
            lab.action(uuid, "os-resetState", {"state": "active"})
        done = evacuate(playbooks, variables=blind(lab)).ok()
        assert (undecided(done), done.report["verdict"]) == ({"SG329"}, "warn"), done.told()
        assert f"rabbitmqctl delete_queue {QUEUE}" in done.output
        lab.command("host", SOURCE, "join")
        answers(lab)
        evacuation.may_unblock(lab, "compute3")
        ceph = {"ceph": ("compute3", "stackguard")}
        common = dict(playbooks.variables)
        try:
            playbooks.variables.update(blind(lab))
            for flags in (["--check"], []):
                unread = come_back(playbooks, flags, **ceph).failed()
                assert (unread.stats["state"], unread.changed) == ("not-clear", 0), unread.told()
                assert of_code(unread, "SG329") == [(SOURCE, "blocker")]
            assert not (state_dir(lab) / f"return-{SOURCE}.json").exists()
            assert (broker.messages(lab, QUEUE) or 0) >= 3
        finally:
            playbooks.variables.clear()
            playbooks.variables.update(common)
        cleared = come_back(playbooks, **ceph).ok()
        assert cleared.stats["state"] == "clear", cleared.told()
        assert {uuid for uuid, _severity in of_code(cleared, "SG121")} == {start, rescue, stop}
        start_again(lab)
        for uuid in (rescue, stop):
            assert (lab.server(uuid)["status"], runs_on(lab, uuid)) == ("ACTIVE", [OTHER])
            assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1
        # It was stopped before its host died, and nobody started it since.
        assert (lab.server(start)["status"], runs_on(lab, start)) == ("SHUTOFF", [])


@LEFT
def test_the_operator_who_has_deleted_the_queue_passes_with_a_reason(clean, playbooks):
    lab = clean
    (uuid,) = boot(lab, "word").values()
    with stopped(lab):
        lab.action(uuid, "os-stop")
        waiting.until("the request waits", lambda: (broker.messages(lab, QUEUE) or 0) >= 1 or None, 30, 1)
        lab.action(uuid, "os-resetState", {"state": "active"})
        evacuate(playbooks, variables=blind(lab)).ok()
        broker.forget(lab, SOURCE)
        lab.command("host", SOURCE, "join")
        answers(lab)
        evacuation.may_unblock(lab, "compute3")
        common = dict(playbooks.variables)
        override = {"code": "SG329", "object": SOURCE, "reason": "looked, and deleted both queues"}
        try:
            playbooks.variables.update(blind(lab), stackguard_overrides=[override])
            passed = come_back(playbooks, ceph=("compute3", "stackguard")).ok()
        finally:
            playbooks.variables.clear()
            playbooks.variables.update(common)
        assert (passed.stats["state"], passed.report["verdict"]) == ("clear", "warn"), passed.told()
        assert passed.report["counts"]["overridden"] == 1
        start_again(lab)
        assert (lab.server(uuid)["status"], runs_on(lab, uuid)) == ("ACTIVE", [OTHER])


@LEFT
def test_a_suspended_server_that_was_evacuated_keeps_no_host_from_its_return(clean, playbooks):
    """Its managed save image kept libvirt from undefining the domain: the check was green, every run red."""
    lab = clean
    (uuid,) = boot(lab, "asleep").values()
    lab.action(uuid, "suspend")
    guestkit.wait_for(lab, uuid, "SUSPENDED", 120)
    with stopped(lab):
        evacuate(playbooks, variables={"evacuate_reset_states": ["suspended"]}).ok()
        lab.command("host", SOURCE, "join")
        answers(lab)
        assert "yes" in lab.ssh(SOURCE, f"virsh dominfo {uuid} | grep 'Managed save'")
        evacuation.may_unblock(lab, "compute3")
        checked = come_back(playbooks, ["--check", "--diff"], ceph=("compute3", "stackguard")).ok()
        assert "managed save image removed" in checked.output
        cleared = come_back(playbooks, ceph=("compute3", "stackguard")).ok()
        assert cleared.stats["state"] == "clear", cleared.told()
        assert uuid not in lab.ssh(SOURCE, "virsh list --all --uuid")


@LEFT
def test_a_server_in_rescue_and_one_in_reboot_are_evacuated_and_verified(clean, playbooks):
    lab = clean
    guests = boot(lab, "odd", 2)
    rescued, rebooting = guests["odd1"], guests["odd2"]
    lab.action(rescued, "rescue", {})
    guestkit.wait_for(lab, rescued, "RESCUE", 180)
    with stopped(lab):
        lab.action(rebooting, "reboot", {"type": "HARD"})
        assert lab.server(rebooting)["status"] == "HARD_REBOOT"
        done = evacuate(playbooks, variables={"evacuate_reset_states": ["task", "rescued"]}).ok()
        assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}, done.told()
        for uuid in guests.values():
            assert (lab.server(uuid)["status"], len(evacuation.watchers(lab, f"{uuid}_disk"))) == ("ACTIVE", 1)
