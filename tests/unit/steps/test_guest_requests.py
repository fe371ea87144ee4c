# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Owners who go on working while their host is renamed: a cloud of a few lines that accepts what Nova accepts."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.rename.requests import steps as guest_requests
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import instance_actions
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

REASON = "stackguard:rename:op1"
HOSTS = ["old1", "new1"]
LOCK = {"hosts": HOSTS, "reason": REASON, "uuids": []}
SETTLE = {"hosts": HOSTS, "timeout": 60}
LOST = {**SETTLE, "queues": ["old1"]}


class Cloud:
    def __init__(self, monkeypatch, **guests):
        self.now = 0.0
        self.guests = {
            name: facts.GuestState(
                f"uuid-{name}", name, "old1", given.get("task"), bool(given.get("lock")), given.get("lock")
            )
            for name, given in guests.items()
        }
        #: Name to actions, the newest first.
        self.actions = {name: [facts.GuestAction(f"req-{name}", "create", "0", True, True)] for name in guests}
        self.at = {}
        self.evacuations = []
        self.unread_cells = {}
        #: Names of guests that no list has, as if their cell did not answer for a moment, or they were soft-deleted.
        self.hidden = set()
        #: Names of guests whose locks Nova accepts and does not keep.
        self.slippery = set()
        for module, names in {
            guest_requests.server_records: ("guest_states", "locked_for"),
            guest_requests.server_actions: ("lock", "unlock"),
            guest_requests.instance_actions: ("newest_actions", "asked_since", "open_actions"),
        }.items():
            for name in names:
                monkeypatch.setattr(module, name, getattr(self, name))
        monkeypatch.setattr(guest_requests.nova, "read_databases", self.read_databases)

    def systems(self, *overrides):
        return kernel.Systems({}, None, {}, self.sleep, lambda: self.now, overrides=overrides, _connection=object())

    def sleep(self, seconds):
        self.now += seconds
        for at in [at for at in self.at if at <= self.now]:
            self.at.pop(at)()

    def change(self, name, **values):
        self.guests[name] = dataclasses.replace(self.guests[name], **values)

    def ask(self, name, action, begun=False, ended=False):
        self.actions[name].insert(0, facts.GuestAction(f"req-{action}", action, "1", begun, ended))

    def guest_states(self, _cloud, hosts, uuids=()):
        listed = {guest.uuid for name, guest in self.guests.items() if guest.host in hosts and name not in self.hidden}
        return [guest for guest in self.guests.values() if guest.uuid in listed | set(uuids)]

    def locked_for(self, _cloud, reason):
        seen = [guest for name, guest in self.guests.items() if name not in self.hidden]
        return [guest for guest in seen if guest.locked and guest.reason == reason]

    def _by_uuid(self, uuids):
        return [name for name, guest in self.guests.items() if guest.uuid in uuids]

    def lock(self, _cloud, uuids, reason):
        for name in self._by_uuid(uuids):
            if name not in self.slippery:
                self.change(name, locked=True, reason=reason)
        return set(uuids)

    def unlock(self, _cloud, uuids):
        for name in self._by_uuid(uuids):
            if name not in self.slippery:
                self.change(name, locked=False, reason=None)
        return set(uuids)

    def newest_actions(self, _cloud, uuids):
        return {self.guests[name].uuid: self.actions[name][0].request_id for name in self._by_uuid(uuids)}

    def open_actions(self, _cloud, uuids, _seconds):
        found = {}
        for name in self._by_uuid(uuids):
            rows = [row for row in self.actions[name] if not row.ended]
            before = next((row.request_id for row in self.actions[name] if row.ended), None)
            if rows:
                found[self.guests[name].uuid] = instance_actions.OpenActions(rows, before)
        return found

    def asked_since(self, _cloud, known):
        found = {}
        for name in self._by_uuid(known):
            uuid = self.guests[name].uuid
            rows = self.actions[name]
            until = next((i for i, row in enumerate(rows) if row.request_id == known[uuid]), len(rows))
            if rows[:until]:
                found[uuid] = rows[:until]
        return found

    def read_databases(self, _options, hosts):
        touching = [row for row in self.evacuations if {row.source_compute, row.dest_compute} & set(hosts)]
        cells = [cell("cell1", touching), *(cell(name, None, why) for name, why in self.unread_cells.items())]
        return facts.DatabaseFacts("now", None, cells, None, None, [])


def cell(name, migrations, why=None):
    unread = [facts.Unread("migrations", why)] if why else []
    known = {"migrations.source_compute": "utf8mb3_bin"}
    return facts.CellFacts(name, f"uuid-{name}", "db", "head", True, [], [], [], [], migrations, unread, "mysql", known)


def settled(cloud):
    return {"settle": guest_requests.Settle(cloud.systems()).apply(SETTLE, {}).memory}


# --- locks ----------------------------------------------------------------------------------------------------


def test_guests_are_locked_for_the_operation_and_an_owners_lock_is_left_alone(monkeypatch):
    cloud = Cloud(monkeypatch, free={}, owned={"lock": "mine, do not touch"})
    done = guest_requests.LockGuests(cloud.systems()).apply(LOCK, {})
    assert done.remark == "1 guest locked, 1 already locked by other users"
    assert cloud.guests["free"].reason == REASON
    assert cloud.guests["owned"].reason == "mine, do not touch"
    after = guest_requests.UnlockGuests(cloud.systems()).apply(LOCK, {"lock_guests": done.memory})
    assert not cloud.guests["free"].locked
    assert cloud.guests["owned"].locked
    assert after.memory["findings"] == []


def test_killed_after_the_locks_the_next_run_knows_them_and_a_rollback_takes_them_off(monkeypatch):
    cloud = Cloud(monkeypatch, one={}, two={})
    guest_requests.LockGuests(cloud.systems()).apply(LOCK, {})
    again = guest_requests.LockGuests(cloud.systems()).apply(LOCK, {})
    assert again.memory["locked"] == ["uuid-one", "uuid-two"]
    cloud.change("two", host="elsewhere")
    guest_requests.LockGuests(cloud.systems()).undo(LOCK)
    assert not any(guest.locked for guest in cloud.guests.values()), "one that was evacuated meanwhile, too"


def test_a_guest_that_is_unlocked_meanwhile_is_reported(monkeypatch):
    cloud = Cloud(monkeypatch, one={}, two={})
    memory = {"lock_guests": guest_requests.LockGuests(cloud.systems()).apply(LOCK, {}).memory}
    cloud.change("two", locked=False, reason=None)
    done = guest_requests.UnlockGuests(cloud.systems()).apply(LOCK, memory)
    assert [(row["code"], row["object"]["name"]) for row in done.memory["findings"]] == [("SG122", "two")]


def test_a_guest_that_no_list_shows_is_locked_and_unlocked_all_the_same(monkeypatch):
    """A paged list leaves out a cell that does not answer for a moment, and a rollback has nothing but the plan."""
    cloud = Cloud(monkeypatch, one={}, two={})
    cloud.hidden = {"two"}
    known = {**LOCK, "uuids": ["uuid-one", "uuid-two"]}
    done = guest_requests.LockGuests(cloud.systems()).apply(known, {})
    assert done.memory["locked"] == ["uuid-one", "uuid-two"]
    guest_requests.LockGuests(cloud.systems()).undo(known)
    assert not any(guest.locked for guest in cloud.guests.values())
    memory = {"lock_guests": guest_requests.LockGuests(cloud.systems()).apply(known, {}).memory}
    guest_requests.UnlockGuests(cloud.systems()).apply(LOCK, memory)
    assert not any(guest.locked for guest in cloud.guests.values()), "noted when they were locked"


def test_a_lock_that_nova_does_not_keep_is_no_lock(monkeypatch):
    cloud = Cloud(monkeypatch, one={}, two={})
    cloud.slippery = {"two"}
    with pytest.raises(StepError, check=problem_is("nova-accepted-lock")):
        guest_requests.LockGuests(cloud.systems()).apply(LOCK, {})


def test_a_lock_that_stays_after_the_unlocking_keeps_the_operation_open(monkeypatch):
    cloud = Cloud(monkeypatch, one={}, two={})
    memory = {"lock_guests": guest_requests.LockGuests(cloud.systems()).apply(LOCK, {}).memory}
    cloud.slippery = {"two"}
    with pytest.raises(StepError, check=problem_is("servers-not-settled")):
        guest_requests.UnlockGuests(cloud.systems()).apply(LOCK, memory)


def test_a_rollback_of_the_unlocking_locks_again(monkeypatch):
    cloud = Cloud(monkeypatch, one={})
    guest_requests.UnlockGuests(cloud.systems()).undo(LOCK)
    assert cloud.guests["one"].reason == REASON


# --- before the stop ------------------------------------------------------------------------------------------


def test_a_task_in_progress_ends_before_nova_compute_stops(monkeypatch):
    cloud = Cloud(monkeypatch, one={"task": "rebooting"})
    cloud.at[7] = lambda: cloud.change("one", task_state=None)
    done = guest_requests.Settle(cloud.systems()).apply(SETTLE, {})
    assert cloud.now >= 7
    assert done.memory == {"actions": {"uuid-one": "req-one"}}


def test_a_task_that_does_not_end_puts_everything_back(monkeypatch):
    cloud = Cloud(monkeypatch, one={"task": "image_uploading"})
    with pytest.raises(StepError, match=r"one \(uuid-one\): image_uploading") as refused:
        guest_requests.Settle(cloud.systems()).apply(SETTLE, {})
    assert refused.value.changed_meanwhile


def test_a_run_that_lost_its_operation_while_it_waits_puts_nothing_back(monkeypatch):
    """Another run has it by now: what is put back would be put back under that run."""
    cloud = Cloud(monkeypatch, one={"task": "image_uploading"})
    systems = cloud.systems()

    def lost():
        raise StepError("the lock was lost")

    systems.still_ours = lost
    with pytest.raises(StepError, match="the lock was lost") as ended:
        guest_requests.Settle(systems).apply(SETTLE, {})
    assert not ended.value.changed_meanwhile


def test_a_request_without_a_task_ends_before_nova_compute_stops(monkeypatch):
    """H7: detach_interface has no task state. nova-compute had begun it, and its stop cut it off."""
    cloud = Cloud(monkeypatch, one={})
    cloud.ask("one", "detach_interface", begun=True)

    def ends():
        cloud.actions["one"][0] = dataclasses.replace(cloud.actions["one"][0], ended=True)

    cloud.at[33] = ends
    done = guest_requests.Settle(cloud.systems()).apply(SETTLE, {})
    assert cloud.now >= 33
    assert done.memory == {"actions": {"uuid-one": "req-detach_interface"}}


def test_a_request_that_does_not_end_puts_everything_back_and_is_named(monkeypatch):
    cloud = Cloud(monkeypatch, one={})
    cloud.ask("one", "detach_interface", begun=True)
    with pytest.raises(StepError, match=r"one \(uuid-one\): detach_interface, request req-detach_interface") as refused:
        guest_requests.Settle(cloud.systems()).apply(SETTLE, {})
    assert refused.value.changed_meanwhile


def test_a_request_that_nobody_has_taken_up_before_the_stop_is_looked_for_after_the_start(monkeypatch):
    """The action is there, the message is on its way: it was noted as the newest one, and never looked at again."""
    cloud = Cloud(monkeypatch, one={})
    cloud.ask("one", "attach_interface")
    memory = settled(cloud)
    assert cloud.now >= guest_requests.GRACE
    cloud.actions["one"][0] = dataclasses.replace(cloud.actions["one"][0], begun=True)
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, memory)
    (row,) = done.memory["findings"]
    assert (row["code"], row["evidence"]["action"]) == ("SG121", "attach_interface")
    cloud.actions["one"][0] = dataclasses.replace(cloud.actions["one"][0], ended=True)
    assert guest_requests.LostRequests(cloud.systems()).apply(LOST, memory).memory["findings"] == []


# --- after the start ------------------------------------------------------------------------------------------


def test_nothing_was_asked(monkeypatch):
    cloud = Cloud(monkeypatch, one={})
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, settled(cloud))
    assert done.memory["findings"] == []
    assert done.remark == "the run found 0 requests from users, and reports 0 requests as not executed"
    assert [row["object"] for row in done.memory["unchecked"]] == ["compute.old1"]
    assert "rabbitmqctl delete_queue compute.old1" in done.memory["unchecked"][0]["reason"]
    assert cloud.now == 0


def test_the_old_queue_is_unchecked_for_a_host_without_guests_too(monkeypatch):
    """Requests of before its last guest left may wait there."""
    cloud = Cloud(monkeypatch)
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, settled(cloud))
    assert [row["code"] for row in done.memory["unchecked"]] == ["SG307"]


def test_without_a_note_of_what_was_asked_before_nothing_says_that_no_request_was_lost(monkeypatch):
    cloud = Cloud(monkeypatch, one={}, two={})
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, {})
    assert [row["object"] for row in done.memory["unchecked"] if row["code"] == "SG121"] == [
        "one (uuid-one)",
        "two (uuid-two)",
    ]
    assert done.remark.endswith(
        "When nova-compute stopped, the run did not know the newest action of 2 servers, so a request may be lost"
    )
    partly = {"settle": {"actions": {"uuid-one": "req-one"}}}
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, partly)
    assert [row["object"] for row in done.memory["unchecked"] if row["code"] == "SG121"] == ["two (uuid-two)"]


def test_a_request_that_no_nova_compute_took_up_is_reported(monkeypatch):
    """F5: createImage and pause were dropped silently, and the run succeeded."""
    cloud = Cloud(monkeypatch, one={})
    memory = settled(cloud)
    cloud.ask("one", "createImage")
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, memory)
    (row,) = done.memory["findings"]
    assert (row["code"], row["object"]["id"], row["evidence"]["action"]) == ("SG121", "uuid-one", "createImage")


def test_a_server_that_stays_shelving_for_ever_is_no_success(monkeypatch):
    """F5: three servers stayed suspending, shelving, rescuing for ever, and the run succeeded."""
    cloud = Cloud(monkeypatch, one={})
    memory = settled(cloud)
    cloud.ask("one", "shelve")
    cloud.change("one", task_state="shelving")
    with pytest.raises(StepError, check=problem_is("tasks-never-end")):
        guest_requests.LostRequests(cloud.systems()).apply(LOST, memory)
    word = Override("SG701", "uuid-one", "its owner knows")
    done = guest_requests.LostRequests(cloud.systems(word)).apply(LOST, memory)
    assert done.memory["passed"] == [["SG701", "uuid-one"]]
    cloud.change("one", task_state=None)
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, memory)
    assert [row["code"] for row in done.memory["findings"]] == ["SG121"], "its owner's request is lost all the same"


def test_what_nova_compute_has_taken_up_is_waited_for(monkeypatch):
    cloud = Cloud(monkeypatch, one={})
    memory = settled(cloud)
    cloud.ask("one", "reboot", begun=True)
    cloud.change("one", task_state="reboot_started_hard")

    def ends():
        cloud.actions["one"][0] = dataclasses.replace(cloud.actions["one"][0], ended=True)
        cloud.change("one", task_state=None)

    cloud.at[45] = ends
    done = guest_requests.LostRequests(cloud.systems()).apply(LOST, memory)
    assert cloud.now >= 45
    assert done.memory["findings"] == []


# --- evacuations ----------------------------------------------------------------------------------------------


def evacuation(source, status="done"):
    row = (7, "m-7", "evacuation", status, "uuid-one", source, source, "compute9", "compute9", None, 0)
    return facts.MigrationRow(*row)


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("way", ["apply", "undo"])
def test_a_guest_that_was_evacuated_meanwhile_keeps_nova_compute_stopped(monkeypatch, name, way):
    """On the way back too: nova-compute is about to start under the old name."""
    cloud = Cloud(monkeypatch, one={})
    cloud.evacuations = [evacuation(name)]

    def look(*words):
        step = guest_requests.NoEvacuation(cloud.systems(*words))
        return step.apply({"hosts": HOSTS}, {}) if way == "apply" else step.undo({"hosts": HOSTS})

    with pytest.raises(StepError, check=problem_is("nova-compute-not-masked")):
        look()
    done = look(Override("SG509", "m-7", "it runs there, and not here"))
    assert done is None or done.memory["passed"] == [["SG509", "m-7"]]


def test_evacuations_of_others_and_those_that_ended_do_not_matter(monkeypatch):
    cloud = Cloud(monkeypatch, one={})
    cloud.evacuations = [evacuation("another"), evacuation("old1", "completed"), evacuation("new1", "failed")]
    assert guest_requests.NoEvacuation(cloud.systems()).apply({"hosts": HOSTS}, {}).remark == "none"


@pytest.mark.parametrize("cells", [None, []])
def test_where_no_cell_was_read_nova_compute_does_not_start(monkeypatch, cells):
    cloud = Cloud(monkeypatch, one={})
    nothing = facts.DatabaseFacts("now", None, cells, None, None, [])
    monkeypatch.setattr(guest_requests.nova, "read_databases", lambda _options, _hosts: nothing)
    with pytest.raises(StepError, check=problem_is("nova-compute-not-masked")):
        guest_requests.NoEvacuation(cloud.systems()).apply({"hosts": HOSTS}, {})


def test_a_cell_that_is_not_read_keeps_nova_compute_stopped(monkeypatch):
    """The API's list of migrations leaves such a cell out, and would have said: none."""
    cloud = Cloud(monkeypatch, one={})
    cloud.unread_cells = {"cell2": "connection refused"}
    with pytest.raises(StepError, check=problem_is("nova-compute-not-masked")):
        guest_requests.NoEvacuation(cloud.systems()).apply({"hosts": HOSTS}, {})


# --- a lock whose reason nova-compute removes ---------------------------------------------------------------------


def locked_and_robbed(monkeypatch):
    """One guest is shelved while it is locked: nova-compute saves its own copy of the metadata, without a reason."""
    cloud = Cloud(monkeypatch, shelved={}, plain={}, owners={"lock": "mine"}, bare={})
    cloud.change("bare", locked=True)
    step = guest_requests.LockGuests(cloud.systems())
    memory = {"lock_guests": step.apply(LOCK, {}).memory}
    cloud.change("shelved", reason=None)
    return cloud, memory


def locks(cloud):
    return {name: (guest.locked, guest.reason) for name, guest in cloud.guests.items()}


LEFT = {"shelved": (False, None), "plain": (False, None), "owners": (True, "mine"), "bare": (True, None)}


def test_a_guest_that_was_shelved_while_it_was_locked_is_unlocked_by_a_rollback(monkeypatch):
    """Seen on the lab (run 6 of the random owners): it stayed locked after a rename that ended well."""
    cloud, memory = locked_and_robbed(monkeypatch)
    again = guest_requests.LockGuests(cloud.systems())
    again.recall(memory)
    assert again.undo({**LOCK, "uuids": [guest.uuid for guest in cloud.guests.values()]}) is None
    assert locks(cloud) == LEFT


def test_it_is_unlocked_at_the_end_and_one_that_its_owner_locked_is_not(monkeypatch):
    cloud, memory = locked_and_robbed(monkeypatch)
    done = guest_requests.UnlockGuests(cloud.systems()).apply(LOCK, memory)
    assert locks(cloud) == LEFT
    assert done.remark == "2 guests unlocked"
    assert done.memory["findings"] == []


def test_a_rollback_that_does_not_know_whom_it_locked_reports_locks_without_a_reason(monkeypatch):
    """Killed while it locked: an owner's lock may have no reason either, so it is reported and left."""
    cloud, _memory = locked_and_robbed(monkeypatch)
    cloud.change("shelved", host=None)  # offloaded by now
    killed = guest_requests.LockGuests(cloud.systems())
    killed.recall({})
    done = killed.undo({**LOCK, "uuids": [guest.uuid for guest in cloud.guests.values()]})
    found = {item["object"]["id"]: item for item in done.memory["findings"]}
    assert set(found) == {"uuid-shelved", "uuid-bare"}
    assert found["uuid-shelved"]["code"] == "SG122"
    assert found["uuid-shelved"]["remedy"].startswith("Find out whether the owner locked the server")
    assert "unlock the server (openstack server unlock uuid-shelved)" in found["uuid-shelved"]["remedy"]
    assert locks(cloud)["plain"] == (False, None)
    assert locks(cloud)["shelved"] == (True, None)
