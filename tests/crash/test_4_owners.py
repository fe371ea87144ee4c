# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Owners of guests go on working while their host is renamed. Each request is refused, carried out, or reported."""

from __future__ import annotations

import pytest
from labkit import broker, state, waiting
from labkit.owners import Owner
from labkit.paused import Paused

HOST = "compute1"
#: What a lock forbids its owner.
FORBIDDEN = (
    ("os-stop", None),
    ("suspend", None),
    ("shelve", None),
    ("pause", None),
    ("rescue", {}),
    ("reboot", {"type": "HARD"}),
    ("rebuild", {"imageRef": "nothing"}),
    ("delete", None),
)


def running(lab):
    return sorted(lab.ssh(HOST, "virsh list --uuid").split())


def of_code(result, code):
    return {row["object"]["id"]: row for row in result.report["findings"] if row["code"] == code}


@pytest.mark.matrix
@pytest.mark.parametrize("place", ["apply cell_database begins", "apply host_names begins"])
def test_requests_of_owners_are_refused_or_reported_and_none_is_lost(lab, playbooks, names, tmp_path, place):
    """F5: all were accepted; three servers stayed suspending, shelving, rescuing for ever, and the run succeeded."""
    old, _new = names
    owner, before = Owner(lab), state.guests(lab)
    guests = running(lab)
    run = Paused(playbooks, names, place, tmp_path)
    answers = {action: owner.asks(guests[0], action, argument) for action, argument in FORBIDDEN}
    answers.pop("rebuild")  # its image is looked for first
    assert set(answers.values()) == {409}, answers
    # A lock does not cover this one.
    assert owner.asks(guests[1], "createImage", {"name": "lost"}) == 202
    done = run.go().ok()
    assert done.stats["verdict"] == "warn"
    assert set(of_code(done, "SG121")) == {guests[1]}
    assert of_code(done, "SG121")[guests[1]]["evidence"]["action"] == "createImage"
    (queue,) = [row for row in done.report["unchecked"] if row["code"] == "SG307"]
    assert f"rabbitmqctl delete_queue compute.{old}" in queue["reason"]
    for uuid in guests:
        server = lab.server(uuid)
        assert (server["OS-EXT-STS:task_state"], server["status"]) == (None, "ACTIVE")
        assert not lab.compute("GET", f"/servers/{uuid}")["server"]["locked"]
    state.assert_same(before, state.guests(lab), "guests")
    broker.forget(lab, old)


@pytest.mark.matrix
def test_a_request_that_slips_in_is_no_success_until_its_server_is_given_back(lab, playbooks, names, tmp_path):
    """An administrator's request passes a lock. It waits in the old name's queue, and must not be executed later."""
    old, new = names
    guests, before = running(lab), state.guests(lab)
    run = Paused(playbooks, names, "apply cell_database begins", tmp_path)
    lab.action(guests[0], "suspend")
    ended = run.go().failed()
    assert set(of_code(ended, "SG701")) == {guests[0]}
    assert ended.stats["verdict"] == "block"
    assert "tasks of guests that nothing ends" in ended.output
    assert f"openstack server set --state active {guests[0]}" in ended.output
    assert lab.service(new)["status"] == "disabled"
    again = playbooks.rename(old, new).failed()
    assert "tasks of guests that nothing ends" in again.output
    lab.action(guests[0], "os-resetState", {"state": "active"})
    done = playbooks.rename(old, new).ok()
    assert set(of_code(done, "SG121")) == {guests[0]}
    assert broker.messages(lab, f"compute.{old}"), "the request waits there"
    broker.forget(lab, old)
    # Back to the old name: what is not in its queue is not executed.
    playbooks.rename(new, old).ok()
    state.assert_same(before, state.guests(lab), "guests")
    waiting.until("the service is up", lambda: lab.service(old)["state"] == "up" or None, 60)


@pytest.mark.matrix
def test_locks_of_owners_stay_theirs_and_a_rollback_takes_ours_off(lab, playbooks, names, tmp_path):
    old, new = names
    owner, guests = Owner(lab), running(lab)
    assert owner.asks(guests[0], "lock", {"locked_reason": "mine"}) == 202
    run = Paused(playbooks, names, "apply host_names begins", tmp_path)
    reasons = {uuid: lab.compute("GET", f"/servers/{uuid}")["server"].get("locked_reason") for uuid in guests}
    assert reasons[guests[0]] == "mine"
    assert all(reasons[uuid].startswith("stackguard:rename:") for uuid in guests[1:])
    run.kill()
    playbooks.rename(old, new, "rollback").ok()
    locked = {uuid for uuid in guests if lab.compute("GET", f"/servers/{uuid}")["server"]["locked"]}
    assert locked == {guests[0]}
    assert owner.asks(guests[0], "unlock") == 202
    assert lab.service(old)["status"] == "enabled"


@pytest.mark.matrix
def test_with_rabbitmq_a_request_that_slips_in_is_reported_and_does_not_outlive_the_rename(
    lab, playbooks, names, tmp_path
):
    """F6: what waited in the old name's queue was executed by whichever host got that name."""
    old, new = names
    owner, before = Owner(lab), state.guests(lab)
    guests, variables = running(lab), {"rename_rabbit_url": broker.url(lab)}
    run = Paused(playbooks, names, "apply cell_database begins", tmp_path, variables)
    assert owner.asks(guests[1], "createImage", {"name": "lost"}) == 202
    assert broker.messages(lab, f"compute.{old}") == 1
    done = run.go().ok()
    assert set(of_code(done, "SG121")) == {guests[1]}
    assert [row for row in done.report["unchecked"] if row["code"] in ("SG307", "SG315")] == []
    assert broker.messages(lab, f"compute.{old}") is None
    assert broker.messages(lab, f"compute-alt.{old}") is None
    # A request of before that waits for a name is a reason against that name.
    broker.leave(lab, f"compute.{old}")
    refused = playbooks.rename(new, old, variables=variables).failed()
    assert refused.codes == {"SG315"}
    broker.forget(lab, old)
    playbooks.rename(new, old, variables=variables).ok()
    state.assert_same(before, state.guests(lab), "guests")


@pytest.mark.matrix
def test_a_rabbitmq_that_is_not_the_hosts_is_refused_and_nothing_is_changed(lab, playbooks, names):
    other = broker.url(lab).replace(lab.info["password"], "wrong-one")
    refused = playbooks.rename(*names, variables={"rename_rabbit_url": other}).failed()
    assert refused.codes == {"SG316"}
    assert "ACCESS_REFUSED" in refused.output
    assert "wrong-one" not in refused.output
    assert lab.service(names[0])["status"] == "enabled"
