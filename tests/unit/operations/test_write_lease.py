# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that slept while another one took its operation over changes nothing more."""

from __future__ import annotations

import threading
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle, run_owner, run_token, runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine.run_token import FRESH, RENEW
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http
from ansible_collections.stackguard.nova.tests.unit import journaled

PLAN = Plan("migrate", "op1", "compute1", [])
ABOUT = {"plan_sha256": None}
FIRST = {"controller": "here", "pid": 1, "pid_start": 11, "boot_id": "b", "pid_space": "p"}
SECOND = {**FIRST, "pid": 2, "pid_start": 22}


class Two:
    """Two runs on one state directory, with one clock. ``slept``: seconds that a run that takes over has waited."""

    def __init__(self, directory):
        self.time, self.slept = 100.0, []
        self.host = journaled.State(directory)
        self.host.near = False
        self.first, self.second = self.of(FIRST), self.of(SECOND)

    def of(self, mine):
        return LeasedState(self.host, mine, clock=lambda: self.time, sleep=self.slept.append)

    def run(self, state, mine, take_over=False):
        given = journaled.life(state, {"take_over": take_over}, "", mine=mine)
        return lifecycle.Run(**given)

    def begin(self):
        return lifecycle.OpenJournal.open(self.run(self.first, FIRST), PLAN, ABOUT)

    def take_over(self):
        run = self.run(self.second, SECOND, take_over=True)
        return lifecycle.OpenJournal.take_up(run, lifecycle.read_open_journal(run, "migrate"), "resumed")


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(run_owner, "has_ended", lambda run: run.get("pid") == 3)
    return Two(tmp_path / "state")


def test_a_run_that_has_its_operation_writes_and_is_asked_for_now_and_then(two):
    two.begin()
    for _wave in range(5):
        two.time += RENEW + 1
        two.first.fresh()
        two.time += FRESH
        with pytest.raises(StackguardError):
            two.first.fresh()
        two.first.check()
        two.first.fresh()


def test_a_run_that_slept_writes_nothing_more_once_another_has_its_operation(two):
    two.begin()
    two.time += RENEW + 1
    two.take_over()
    with pytest.raises(StackguardError, match="SG707"):
        two.first.check()
    two.time += FRESH
    with pytest.raises(StackguardError):
        two.first.fresh()
    two.second.check()


def test_where_the_journal_is_near_it_is_asked_for_before_each_change(two):
    two.host.near = True
    two.begin()
    two.take_over()
    with pytest.raises(StackguardError, match="SG707"):
        two.first.check()


def test_whoever_takes_over_from_a_run_that_may_live_waits_as_long_as_that_may_write(two):
    two.begin()
    two.take_over()
    assert two.slept == [FRESH]


def test_whoever_takes_over_from_a_run_that_has_ended_does_not_wait(two):
    two.host.near = True
    ended = {**FIRST, "pid": 3}
    lifecycle.OpenJournal.open(two.run(two.of(ended), ended), PLAN, ABOUT)
    two.take_over()
    assert two.slept == []


def test_an_operation_that_is_closed_is_asked_for_no_more(two):
    two.begin().close("finished", "done")
    two.time += 1000
    two.first.check()
    two.first.fresh()


def test_a_host_that_does_not_answer_ends_the_run(two):
    two.begin()
    two.time += RENEW + 1
    two.host.call = lambda _requests: (_ for _ in ()).throw(StackguardError("it does not answer"))
    with pytest.raises(StackguardError):
        two.first.check()


def test_a_later_task_of_the_same_playbook_has_the_operation_as_soon_as_it_has_read_the_journal(two):
    """An evacuation is many tasks of one run: each is a process, and reads the journal first."""
    two.begin()
    later = two.of(FIRST)
    lifecycle.read_open_journal(two.run(later, FIRST), "migrate")
    two.time += RENEW + 1
    two.take_over()
    with pytest.raises(StackguardError, match="SG707"):
        later.check()


def test_pins_are_a_run_s_from_its_file_on(two):
    about = {"operation_id": "op1", "run": FIRST}
    two.first.call([{"op": "pins_begin", "about": about, "rows": [], "previous": None}])
    two.time += RENEW + 1
    two.first.check()
    more = {"operation_id": "op2", "run": SECOND}
    two.second.call([{"op": "pins_begin", "about": more, "rows": [], "previous": about}])
    assert two.slept == [FRESH]
    two.time += RENEW + 1
    with pytest.raises(StackguardError, match="SG707"):
        two.first.check()
    end = {"finished": True, "settled": [], "not_made": []}
    two.second.call([{"op": "pins_end", "run": SECOND, **end}])
    two.time += RENEW + 1
    two.second.check()


def test_a_rename_that_is_taken_over_by_its_operators_word_is_waited_for_after_it_has_lost_its_host(tmp_path):
    """It asks once more before the wait ends, is refused, and commits nothing by an answer from before."""
    now, tried = [100.0], []
    host = journaled.State(tmp_path / "state")
    first, second = ({**one, "token": name} for one, name in ((FIRST, "one"), (SECOND, "two")))

    def waits(seconds):
        now[0] += seconds - 1
        with pytest.raises(StackguardError, match="SG707"):
            mine.call([{"op": "still_ours"}])
        now[0] += 2
        tried.append(seconds)

    mine = run_token.JournalHost(host, "rename", "op1", first, lambda: "t", lambda: now[0])
    made = runner.new_journal(Plan("rename", "op1", "compute1", []), ABOUT, "t")
    mine.call([{"op": "journal_open", "journal": {**made, "run": first}}])
    other = run_token.JournalHost(host, "rename", "op1", second, lambda: "t", lambda: now[0], waits)
    other.claim({"run": first}, take_over=True)
    assert tried == [FRESH]
    with pytest.raises(runner.StepError):
        mine.fresh()
    other.fresh()


def test_a_run_in_another_container_of_this_machine_is_not_looked_for_by_its_process_id():
    mine = run_owner.this_run()
    theirs = {**mine, "pid": 4194001, "pid_start": 7, "pid_space": "pid:[1]"}
    with pytest.raises(StackguardError, match="SG707"):
        run_owner.refuse_while_it_runs({"operation_id": "op1", "run": theirs}, mine, take_over=False)
    run_owner.refuse_while_it_runs({"operation_id": "op1", "run": theirs}, mine, take_over=True)


# --- requests to APIs -------------------------------------------------------------------------------------------


def answered(sent):
    response = types.SimpleNamespace(status_code=202, content=b"", json=dict)
    service = types.SimpleNamespace(request=lambda path, method, **_given: sent.append((method, path)) or response)
    return types.SimpleNamespace(compute=service)


def test_what_changes_something_is_asked_for_and_what_reads_is_not(two):
    sent = []
    connection = answered(sent)
    http.guard_changes(connection, two.first.check, two.first.fresh)
    two.begin()
    http.call(connection, "compute", "POST", "/servers/1/action", body={"os-start": None})
    two.time += RENEW + 1
    two.take_over()
    http.call(connection, "compute", "GET", "/servers/1")
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        with pytest.raises(StackguardError, match="SG707"):
            http.call(connection, "compute", method, "/servers/1")
    assert sent == [("POST", "/servers/1/action"), ("GET", "/servers/1")]


def test_what_asks_is_asked_in_the_main_thread_only():
    """A rename asks its database's connection, too, and that is one thread's. Locks of guests go several at a time."""
    asked = []
    connection = answered([])
    http.guard_changes(
        connection,
        lambda: asked.append(threading.current_thread() is threading.main_thread()),
        lambda: asked.append(None),
    )
    done = http.change_each(
        connection, ["1", "2", "3"], lambda uuid: http.call(connection, "compute", "POST", f"/servers/{uuid}/action")
    )
    assert len(done) == 3
    assert asked == [True, None, None, None]


def test_another_connection_is_not_held_up(two):
    sent = []
    two.begin()
    two.time += RENEW + 1
    two.take_over()
    http.call(answered(sent), "compute", "DELETE", "/servers/1")
    assert sent == [("DELETE", "/servers/1")]
