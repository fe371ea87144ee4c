# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of a hostile review: each fails as long as what it shows is there."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import operation_records
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, ONE, TWO, Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import image, lock, scene


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def test_an_abort_lifts_no_entry_under_a_server_that_an_earlier_operation_has_sent(life):
    """The first operation sent guest1 and ended; the host's QEMU of guest1 may live. The second one sent none."""
    first = life.run(fence="blocklist", servers=["guest1"])
    assert (first["failed"], life.open(), life.blocklist) == (False, None, {"fsid": [address(1)]})
    life.run(fence="blocklist", dies_at=6)
    assert life.nova.asked == [(ONE, "compute3")], "nothing was sent by the second"
    done = life.run(action="abort", fence=None)
    assert done["state"] == "aborted"
    assert life.blocklist == {"fsid": [address(1)]}, "compute1 may write guest1's disk again"


def test_an_abort_lifts_no_entry_that_was_there_before(life):
    """An administrator had fenced the host by hand."""
    life.blocklist = {"fsid": [address(1)]}
    life.run(fence="blocklist", dies_at=6)
    life.run(action="abort", fence=None)
    assert life.blocklist == {"fsid": [address(1)]}


def test_with_an_image_that_was_made_again_it_can_be_aborted(life):
    """Its owner rebuilt guest1 when the operator had removed its guard by hand."""
    life.run(dies_at=6)
    assert life.guarded() == BOTH
    life.guards[f"{ONE}_disk"] = []
    image_of = life._image
    life._image = lambda uuid: dataclasses.replace(image_of(uuid), id="new") if uuid == ONE else image_of(uuid)
    done = life.run(action="abort", fence=None)
    assert (done["state"], life.open()) == ("aborted", None)


def test_an_unread_image_that_the_operator_passed_is_not_sent_without_its_guard(life):
    image_of = life._image
    unread = [facts.Unread("id", "timed out")]
    first = {"id": None, "unread": unread}
    life._image = lambda uuid: dataclasses.replace(image_of(uuid), **first) if uuid == ONE else image_of(uuid)
    given = {"code": "SG709", "object": f"vms/{ONE}_disk", "reason": "I know nobody has it open"}
    done = life.run(overrides=[given])
    assert ONE not in [uuid for uuid, _host in life.nova.asked], (done["msg"], life.guards)


def test_an_abort_removes_no_guard_while_who_is_in_transit_was_not_read(life, monkeypatch):
    """Nova is at guest2; the list of servers timed out in the abort. Unread is not "nobody is in transit"."""
    life.stuck = {TWO}
    life.run(max_rounds=1, server_timeout=30)
    assert life.guarded() == [TWO]
    look = life.look
    servers = look().cloud.rows("servers")
    monkeypatch.setattr(life, "look", lambda: _unread(look()))
    from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_records

    monkeypatch.setattr(server_records, "servers_on", lambda _cloud, _host: servers)
    done = life.run(action="abort", fence=None)
    assert (done["state"], life.guarded()) == ("open", [TWO]), done["msg"]


def _unread(some):
    # The part is None, as cloud_reads leaves what could not be read.
    return _Shown(some)


class _Shown:
    def __init__(self, some):
        cloud = dataclasses.replace(some.bundle.cloud, servers=None)
        self.bundle = dataclasses.replace(some.bundle, cloud=cloud)
        self.about = some.about


def test_a_resume_switches_no_host_off_whose_nova_compute_is_up_again(life):
    """The first run was killed before it fenced; the host, which the inventory does not have, has come back."""
    life.run(dies_at=3, inventory_name=None)
    assert life.open() is not None
    assert "fence power" not in life.done, life.done
    change = life.change
    life.change = lambda some: change(some).target(1, state="up")
    done = life.run(inventory_name=None)
    assert "fence power" not in life.done, (done["state"], done["msg"])


def test_a_resume_switches_no_host_off_that_lives_again_though_its_planned_servers_have_left_it(life):
    life.run(dies_at=3)
    assert life.open() is not None
    assert "fence power" not in life.done, life.done
    for uuid in BOTH:
        life.nova.servers[uuid].update(host="compute3")
    alive(life)
    done = life.run()
    assert "fence power" not in life.done, (done["state"], done["msg"])


def test_the_controllers_own_addresses_do_not_say_that_there_are_no_managers_elsewhere(life):
    """rbd_blocklist takes ``infrastructure`` for the operator's word that there are no other daemons."""
    life.run(also_blocklist=True, blocklist_addresses=["198.51.100.7"])
    (need,) = [need for need in life.needs if need["kind"] == "fence" and need["fence"] == "blocklist"]
    assert [entry["infrastructure"] for entry in need["clusters"]] == [[]]


def test_begun_with_a_blocklist_it_is_resumed_with_power_and_says_what_is_listed(life):
    life.run(fence="blocklist", dies_at=6)
    done = life.run(fence="power")
    assert (done["failed"], life.open()) == (False, None)
    (closed,) = life.closed()
    record = operation_records.record_of(closed, False)
    assert record.blocklisted == {"fsid": [address(1)]}, "return_host does not know what is on the blocklist"


def alive(life):
    """compute1 answers again; a domain that is none of the two servers' runs there."""
    back = scene(alive=True).bundle.hosts["compute1"]
    back = dataclasses.replace(back, domains=[dataclasses.replace(back.domains[0], uuid=guest(1, 9), state="running")])
    change = life.change

    def changed(some):
        some = change(some)
        unreachable = {name: why for name, why in some.bundle.unreachable.items() if name != "compute1"}
        hosts = {**some.bundle.hosts, "compute1": back}
        return some.having(some.cloud._bundle(hosts=hosts, unreachable=unreachable))

    life.change = changed


def test_refence_switches_no_host_off_that_lives_again(life):
    """The fence had acted; the host was repaired and switched on, and its guests run."""
    life.nova.ends[TWO] = "failed"
    life.run(dies_at=7)
    assert life.done.count("fence power") == 1
    assert life.open() is not None
    life.power = "On"
    alive(life)
    done = life.run(refence=True)
    assert life.done.count("fence power") == 1, (done["state"], done["msg"])


def test_a_fence_that_failed_after_an_attestation_is_made_by_the_same_command_again(life):
    """The BMC did not answer at the second run, and does at the third: it is told to switch off."""
    attested = {
        "fence": "attested",
        "attested_by": "Ada",
        "overrides": [{"code": "SG506", "object": "compute1", "reason": "I have pulled its plugs"}],
    }
    life.run(dies_at=5, **attested)
    life.power = "On"
    assert life.run()["failed"]
    asked = life.done.count("fence power")
    life.answer = lambda need: (
        {"on": "localhost", "read": {"redfish_facts": {"PowerState": "Off"}}}
        if need["kind"] == "fence" and (need["act"] or life.power == "Off") and not setattr(life, "power", "Off")
        else None
    )
    done = life.run()
    assert not done["failed"], (asked, done["msg"])


def test_an_abort_that_was_given_no_answer_about_the_blocklist_stays_open(life):
    life.run(dies_at=6, fence="blocklist")
    life.answer = lambda need: {"clusters": []} if need["kind"] == "lift" else None
    done = life.run(action="abort", fence=None)
    assert (done["state"], life.blocklist) == ("open", {"fsid": [address(1)]}), done["msg"]


def test_a_stranger_that_took_the_lock_of_the_only_running_server_is_not_put_on_the_blocklist():
    """A backup reader in the storage network has mapped guest1's image: librbd's own lock, and its watcher."""
    from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import guests
    from ansible_collections.stackguard.nova.plugins.module_utils.hazards import fencing

    some = scene(guests=1)
    taken = dataclasses.replace(lock(1), address="192.0.2.99:0/1")
    some = some.images(image(f"{ONE}_disk", ["192.0.2.99:0/1"], locks=[taken]))
    found = fencing.addresses(some.bundle, some.about, guests(some.bundle, some.about, some.request), some.request)
    assert "192.0.2.99" not in found.refused, found.why


def test_another_controller_does_not_lift_what_an_evacuation_that_it_can_not_see_needs():
    """return_host with another stackguard_state_dir: no journal, but Nova says which operation holds the host."""
    from ansible_collections.stackguard.nova.tests.unit.checks.before import test_return_host as returning

    some = returning.stopped(returning.at_home(watchers=(), blocklist=(f"{returning.HOST}:0/0",), hold=returning.HELD))
    decision = returning.judged(some, returning.asked())
    codes = {item.code for item in decision.checked.findings if item.severity == "blocker"} - {"SG517"}
    assert codes or not decision.clearing.lifts, decision.clearing


def _without(life, monkeypatch, **parts):
    """What the APIs answer lacks these parts: None, as cloud_reads leaves what could not be read."""
    look = life.look

    def shown():
        some = look()
        cloud = dataclasses.replace(some.bundle.cloud, **parts)
        return some.having(some.cloud._bundle(cloud=cloud))

    monkeypatch.setattr(life, "look", shown)


def test_a_resume_that_cannot_read_the_servers_does_not_take_them_for_gone(life, monkeypatch):
    life.run(dies_at=3)
    _without(life, monkeypatch, servers=None)
    done = life.run()
    assert (done["failed"], life.done) == (True, [])
    assert "could not read which servers are on" in done["msg"]


def test_an_abort_lifts_no_entry_while_the_hold_is_not_read(life, monkeypatch):
    """The hold leads to what an earlier operation of this outage has sent."""
    life.run(fence="blocklist", servers=["guest1"])
    life.run(fence="blocklist", dies_at=6)
    _without(life, monkeypatch, services=None)
    done = life.run(action="abort", fence=None)
    assert (done["failed"], life.blocklist) == (True, {"fsid": [address(1)]}), done["msg"]
