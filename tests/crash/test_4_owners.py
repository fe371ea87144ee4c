# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Owners of guests go on working while their host is renamed. Each request is refused, carried out, or reported."""

from __future__ import annotations

import contextlib
import json
import pathlib

import pytest
from labkit import broker, requests, state, waiting, zoning
from labkit import guests as guestkit
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
    assert "the tasks of these guests will never end" in ended.output
    assert f"openstack server set --state active {guests[0]}" in ended.output
    assert lab.service(new)["status"] == "disabled"
    again = playbooks.rename(old, new).failed()
    assert "the tasks of these guests will never end" in again.output
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
    guests, variables = running(lab), {"stackguard_rabbit_urls": broker.url(lab)}
    # Renames of earlier tests could not ask RabbitMQ, and left what waited for the name that this one gives again.
    broker.forget(lab, new)
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
    refused = playbooks.rename(*names, variables={"stackguard_rabbit_urls": other}).failed()
    assert refused.codes == {"SG316"}
    assert "ACCESS_REFUSED" in refused.output
    assert "wrong-one" not in refused.output
    assert lab.service(names[0])["status"] == "enabled"


@contextlib.contextmanager
def spare(lab, name):
    """A guest on the host for one test."""
    (made,) = guestkit.create(lab, name, "1", "--on", lab.ssh(HOST, "uname -n").strip())
    uuid = made["id"]
    try:
        yield uuid
    finally:
        if requests.exists(lab, uuid):
            lab.compute("DELETE", f"/servers/{uuid}")
        waiting.until(f"{name} is gone", lambda: not requests.exists(lab, uuid) or None, 120)
        for host in ("compute1", "compute2"):
            lab.ssh(host, f"virsh destroy {uuid}; virsh undefine {uuid}", check=False)


STRANGER = """<domain type='qemu'><name>stranger</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64'>hvm</type></os></domain>"""


@pytest.mark.matrix
def test_neither_an_overridden_domain_nor_a_server_deleted_meanwhile_stops_the_end(lab, playbooks, names, tmp_path):
    """Both were SG110 in the last look: no repeated run could finish, and the service stayed disabled."""
    old, new = names
    lab.ssh(HOST, "cat > /root/stranger.xml && virsh -q define /root/stranger.xml", stdin=STRANGER)
    try:
        with spare(lab, "deleted") as uuid:
            named = [{"code": "SG110", "object": "stranger", "reason": "of the backup team"}]
            run = Paused(playbooks, names, "apply host_names begins", tmp_path, {"stackguard_overrides": named})
            # Nova deletes a server of a compute service that is down by itself. Its domain stays.
            waiting.until("the service is down", lambda: lab.service(new)["state"] == "down" or None, 180)
            lab.compute("DELETE", f"/servers/{uuid}")
            waiting.until("it is deleted", lambda: not requests.exists(lab, uuid) or None, 60)
            done = run.go().ok()
            found = [row for row in done.report["findings"] if row["object"]["id"] == uuid and row["code"] == "SG110"]
            if found:
                assert [row["severity"] for row in found] == ["warning"]
                assert "running_deleted_instance_action" in found[0]["remedy"]
                assert done.stats["verdict"] == "warn"
            else:
                # Within a minute of its start nova-compute removes such a domain: it was gone before the last look.
                assert uuid not in lab.ssh(HOST, "virsh list --all --uuid").split()
            assert lab.service(new)["status"] == "enabled"
            assert state.written(lab, old) == []
    finally:
        lab.ssh(HOST, "virsh -q undefine stranger; rm /root/stranger.xml")
    broker.forget(lab, old)


@pytest.mark.matrix
def test_a_guest_evacuated_in_the_window_is_left_there_by_a_rollback_when_it_is_named(lab, playbooks, names, tmp_path):
    """A12: the rollback wrote this host's name into the row and the port of a guest that runs on another one."""
    old, new = names
    with spare(lab, "evacuated") as uuid:
        run = Paused(playbooks, names, "apply host_names begins", tmp_path)
        run.kill()
        waiting.until("the service is down", lambda: lab.service(new)["state"] == "down" or None, 180)
        lab.action(uuid, "evacuate", {"host": "compute2"}, "2.91")
        guestkit.wait_for(lab, uuid, "ACTIVE", 180, host="compute2")
        twice = playbooks.rename(old, new, "rollback").failed()
        assert "SG108" in twice.output, twice.told()
        lab.ssh(HOST, f"virsh destroy {uuid}; virsh undefine {uuid}")
        refused = playbooks.rename(old, new, "rollback").failed()
        assert f"SG125 guest-elsewhere: instance {uuid}" in refused.output, refused.told()
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == "compute2"
        migration = lab.value("cell1", "SELECT uuid FROM migrations WHERE instance_uuid = %s", uuid)
        named = [
            {"code": "SG125", "object": uuid, "reason": "it stays there"},
            {"code": "SG509", "object": migration, "reason": "its domain is gone"},
        ]
        done = playbooks.rename(old, new, "rollback", variables={"stackguard_overrides": named}).ok()
        assert uuid in of_code(done, "SG125")
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == "compute2"
        assert lab.service(old)["status"] == "enabled"
        assert lab.server(uuid)["status"] in ("ACTIVE", "SHUTOFF")
        # The record of the evacuation has the new name: who bears it next would destroy the domain.
        again = playbooks.rename(old, new).failed()
        assert "SG113" in again.codes, again.told()
        lab.sql("cell1", "UPDATE migrations SET status = 'completed' WHERE uuid = %s", migration)


@contextlib.contextmanager
def other_inventory(lab, tmp_path, nova_host):
    """Another controller's inventory, which calls the host by another name."""
    mine = lab.info["inventory"]
    hosts = json.loads(pathlib.Path(mine).read_text())
    known = hosts["compute"]["hosts"]
    known["rack7-node1"] = {**known.pop(HOST), "stackguard_nova_host": nova_host}
    other = tmp_path / "inventory.json"
    other.write_text(json.dumps(hosts))
    lab.info["inventory"] = str(other)
    try:
        yield
    finally:
        lab.info["inventory"] = mine


@pytest.mark.matrix
def test_another_controller_that_calls_the_host_otherwise_does_not_run_beside(lab, playbooks, names, tmp_path):
    """A7: two runs of one operation exclude each other on the host, whatever the inventories call it."""
    before = state.guests(lab)
    run = Paused(playbooks, names, "apply placement acted", tmp_path)
    with other_inventory(lab, tmp_path, names[0]):
        second = playbooks.rename(*names).failed()
        assert "SG707" in second.output, second.told()
        back = playbooks.rename(*names, "rollback").failed()
        assert "SG707" in back.output, back.told()
    run.go().ok()
    state.assert_same(before, state.guests(lab), "guests")
    broker.forget(lab, names[0])


@pytest.mark.matrix
def test_a_server_that_its_owner_has_soft_deleted_goes_along_and_can_be_restored(lab, playbooks, names):
    """Nova lists it nowhere, and it keeps its ports: a run that asked for listed servers' only refused for ever."""
    old, new = names
    (uuid,) = [row["id"] for row in guestkit.create(lab, "soft", "1", "--on", old)]
    with zoning.soft_deletion(lab):
        lab.compute("DELETE", f"/servers/{uuid}")
        waiting.until("soft-deleted", lambda: lab.server(uuid)["status"] == "SOFT_DELETED" or None, 180)
        playbooks.rename(old, new).ok()
        ports = (
            "SELECT DISTINCT b.host FROM ml2_port_bindings b JOIN ports p ON p.id = b.port_id WHERE p.device_id = %s"
        )
        assert [row["host"] for row in lab.sql("neutron", ports, uuid)] == [new]
        lab.action(uuid, "restore", None)
        guestkit.wait_for(lab, uuid, "ACTIVE", host=new)
    lab.compute("DELETE", f"/servers/{uuid}")
    waiting.until("deleted", lambda: uuid not in guestkit.every(lab) or None, 120)
