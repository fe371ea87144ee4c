# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two runs of one operation: the host that keeps the journal lets one of them work, and says which one has it.

What is said of one controller is proven with real processes; time is a number that a test moves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner, run_token, runner
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.records.journal import JournalError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import processes
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

KIND, OPERATION = "rename", "op1"


class Clock:
    """The time of the host, and of every controller."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Host:
    """The host with the journal, as a module executes requests there."""

    def __init__(self, directory):
        self.runner = host_steps.HostRunner(str(directory))

    def call(self, requests):
        outcome = self.runner.run(requests)
        if outcome.error is not None:
            raise runner.StepError(f"on the compute host: {outcome.error}")
        return outcome.results


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(journals, "_uptime", made)
    monkeypatch.setattr(journals, "PATIENCE", 0.3)
    return made


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "state")


def who(name, controller="elsewhere", **more):
    return {"token": name, "operator": "ann", "controller": controller, "pid": 4711, "begun_at": "03:00Z", **more}


def run(directory, clock, name, **more):
    return run_token.JournalHost(Host(directory), KIND, OPERATION, who(name, **more), lambda: "t", clock, clock.sleep)


def opened(directory, clock, name="one", **more):
    made = run(directory, clock, name, **more)
    journal = {"schema": 1, "kind": KIND, "operation_id": OPERATION, "state": journals.OPEN, "run": dict(made.run)}
    made.call([{"op": "journal_open", "journal": journal}])
    return made


def note(**more):
    return {"op": "journal_mark", "kind": KIND, "operation_id": OPERATION, "note": {"at": "t", **more}}


def stored(directory):
    return journals.read(directory, KIND)


# --- who has it ---------------------------------------------------------------------------------------------------


def test_a_run_marks_its_own_operation_and_closes_it(directory, clock):
    one = opened(directory, clock)
    one.call([note(step="s", step_state="done")])
    assert stored(directory)["steps"] == {"s": "done"}
    one.call([{"op": "journal_close", "journal": {**stored(directory), "state": "finished"}}])
    assert stored(directory) is None


@pytest.mark.parametrize(
    "late",
    [
        note(step="s", step_state="done"),
        {"op": "journal_close", "journal": None},
        {"op": "apply", "action": "host_names", "params": {}},
        {"op": "stop_begin", "params": {}},
        {"op": "still_ours"},
    ],
    ids=lambda request: request["op"],
)
def test_after_another_run_took_over_no_request_of_the_first_is_executed(directory, clock, monkeypatch, late):
    one = opened(directory, clock)
    clock.now += journals.LEASE
    two = run(directory, clock, "two")
    two.claim(stored(directory), False)
    before = stored(directory)
    if late["op"] == "journal_close":
        late = {"op": "journal_close", "journal": {**before, "run": one.run, "state": "finished"}}
    executed = []
    monkeypatch.setattr(one.host.runner, "_carry_out", lambda *_given: executed.append(late) or {})
    with pytest.raises(runner.StepError, match=r"SG707 .* ann@elsewhere .* op1\b"):
        one.call([late])
    assert executed == []
    assert stored(directory) == before
    two.call([note(step="s", step_state="done")])


def test_a_mark_without_a_token_does_not_pass_by_one_that_has_it(directory, clock):
    opened(directory, clock)
    with pytest.raises(JournalError, match="SG707"):
        journals.mark(directory, KIND, OPERATION, {"at": "t"})
    with pytest.raises(JournalError, match="SG707"):
        journals.close(directory, {**stored(directory), "run": None, "state": "finished"})


def test_what_was_taken_over_and_closed_is_not_opened_again_by_a_late_close(directory, clock):
    """The experiment of the review: B closed it as rolled back, A closed it as finished afterwards."""
    one = opened(directory, clock)
    late = {**stored(directory), "state": "finished"}
    clock.now += journals.LEASE
    two = run(directory, clock, "two")
    taken = two.claim(stored(directory), False)
    two.call([{"op": "journal_close", "journal": {**taken, "state": "rolled-back"}}])
    with pytest.raises(runner.StepError, match=r"\bop1\b"):
        one.call([{"op": "journal_close", "journal": late}])
    with pytest.raises(JournalError, match=r"\bop1\b"):
        journals.close(directory, late)
    assert [entry["state"] for entry in journals.list_closed(directory, KIND)] == ["rolled-back"]


# --- taking up ----------------------------------------------------------------------------------------------------


def test_a_run_elsewhere_that_was_alive_a_moment_ago_keeps_the_operation(directory, clock):
    opened(directory, clock)
    clock.now += 18
    before = stored(directory)
    with pytest.raises(runner.StepError) as raised:
        run(directory, clock, "two").claim(before, False)
    words = str(raised.value)
    assert "SG707 lock-held: a run of ann@elsewhere (process 4711, begun 03:00Z) was alive 18 s ago" in words
    assert "Wait 42 s, then run the same command again. " in words
    assert "stackguard_take_over=true" in words
    assert stored(directory) == before


def test_each_request_is_a_sign_of_life(directory, clock):
    one = opened(directory, clock)
    for _minute in range(5):
        clock.now += journals.LEASE - 1
        one.call([{"op": "still_ours"}])
    with pytest.raises(runner.StepError, match=r"SG707 .* 0 s "):
        run(directory, clock, "two").claim(stored(directory), False)


def test_the_operators_word_takes_it_over_at_once(directory, clock):
    opened(directory, clock)
    taken = run(directory, clock, "two").claim(stored(directory), True)
    assert taken["run"]["token"] == stored(directory)["run"]["token"] == "two"
    assert taken["history"][-1]["text"] == "resumed by a run of ann@elsewhere (process 4711, begun 03:00Z)"


def test_a_run_that_ended_by_itself_is_not_waited_for(directory, clock):
    """In AWX each job is another controller: the next one must not wait for a lease after a step that failed."""
    one = opened(directory, clock)
    one.release()
    assert run(directory, clock, "two").claim(stored(directory), False)["run"]["token"] == "two"
    with pytest.raises(runner.StepError, match="SG707"):
        one.call([{"op": "still_ours"}])


def test_a_run_that_let_go_can_not_go_on(directory, clock):
    one = opened(directory, clock)
    one.release()
    with pytest.raises(runner.StepError, match="SG707"):
        one.call([note(step="s", step_state="done")])


def test_letting_go_of_what_is_closed_or_of_another_run_changes_nothing(directory, clock):
    one = opened(directory, clock)
    run(directory, clock, "two").claim(stored(directory), True)
    before = stored(directory)
    one.release()
    assert stored(directory) == before
    journals.close(directory, {**before, "state": "finished"})
    one.release()
    assert stored(directory) is None


def test_of_two_that_take_it_up_at_once_one_has_it(directory, clock):
    opened(directory, clock)
    seen = stored(directory)
    clock.now += journals.LEASE
    run(directory, clock, "two").claim(seen, False)
    with pytest.raises(runner.StepError, match=r"SG707 .* op1\b"):
        run(directory, clock, "three").claim(seen, True)
    assert stored(directory)["run"]["token"] == "two"


def test_what_was_marked_after_the_journal_was_read_is_in_the_hands_of_who_takes_it_up(directory, clock):
    one = opened(directory, clock)
    seen = stored(directory)
    one.call([note(step="s", step_state="applying")])
    clock.now += journals.LEASE
    assert run(directory, clock, "two").claim(seen, False)["steps"] == {"s": "applying"}


def test_a_journal_that_names_no_run_is_not_taken_up(directory, clock):
    journal = {"schema": 1, "kind": KIND, "operation_id": OPERATION, "state": journals.OPEN}
    journals.open_new(directory, journal)
    with pytest.raises(runner.StepError, match=r"SG706 .*rename\.json"):
        run(directory, clock, "two").claim(journal, True)
    assert stored(directory) == journal


def test_an_operation_that_is_over_is_not_taken_up(directory, clock):
    opened(directory, clock)
    seen = stored(directory)
    journals.close(directory, {**seen, "state": "finished"})
    with pytest.raises(runner.StepError, match=r"\bop1\b"):
        run(directory, clock, "two").claim(seen, True)


@pytest.mark.parametrize("sign", [b"", b"not json\n", b'{"token": "other"}\n', b'{"to'])
def test_where_nothing_says_when_it_lived_last_the_lease_begins_now(directory, clock, sign):
    opened(directory, clock)
    with open(os.path.join(directory, ".rename.run"), "wb") as stream:
        stream.write(sign)
    two = run(directory, clock, "two")
    with pytest.raises(runner.StepError, match=r"SG707 .* 0 s "):
        two.claim(stored(directory), False)
    clock.now += journals.LEASE
    assert two.claim(stored(directory), False)


@pytest.mark.parametrize(("up", "passes"), [(journals.LEASE - 1, False), (journals.LEASE, True)])
def test_after_a_reboot_of_the_host_the_time_since_is_what_counts(directory, clock, monkeypatch, up, passes):
    opened(directory, clock)
    monkeypatch.setattr(journals, "_boot_id", lambda: "another boot")
    clock.now = up
    two = run(directory, clock, "two")
    if passes:
        assert two.claim(stored(directory), False)
        return
    with pytest.raises(runner.StepError, match=f"SG707 .* {up} s "):
        two.claim(stored(directory), False)


# --- one controller -----------------------------------------------------------------------------------------------


@pytest.fixture
def process():
    """A process of this machine; killed, and waited for, at the end."""
    made = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield made
    made.kill()
    made.wait()


def of(process):
    ours = {**run_owner.this_run(), **run_owner.place()}
    return {**ours, "pid": process.pid, "pid_start": processes.start_time(process.pid)}


def test_a_run_that_was_killed_on_this_controller_is_not_waited_for(directory, clock, process):
    """kill -9, and the same command again: at once."""
    opened(directory, clock, **of(process))
    two = run(directory, clock, "two")
    with pytest.raises(StackguardError, match=f"{process.pid}", check=problem_is("lock-held")):
        two.claim(stored(directory), False)
    clock.now += 10 * journals.LEASE
    with pytest.raises(StackguardError, match="SG707"):
        two.claim(stored(directory), False)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    clock.now -= 10 * journals.LEASE
    assert two.claim(stored(directory), False), "nobody has taken notice of its death yet, and it does nothing more"


@pytest.mark.parametrize("other", ["controller", "boot_id", "pid_space"])
def test_a_process_of_another_machine_boot_or_container_is_not_looked_for_here(directory, clock, process, other):
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    opened(directory, clock, **{**of(process), other: "another"})
    with pytest.raises(runner.StepError, match=r"SG707 .* 0 s "):
        run(directory, clock, "two").claim(stored(directory), False)


def test_a_controller_that_can_not_tell_its_processes_waits(directory, clock, monkeypatch):
    """Such as one without /proc."""
    monkeypatch.setattr(run_owner, "place", lambda: {"boot_id": None, "pid_space": None})
    opened(directory, clock, **run_owner.this_run())
    with pytest.raises(runner.StepError, match=r"SG707 .* 0 s "):
        run(directory, clock, "two").claim(stored(directory), False)


# --- a request that executes --------------------------------------------------------------------------------------


def test_a_request_that_still_executes_keeps_others_out_whatever_they_know(directory, clock):
    """Its controller is dead, and its ssh is gone; the stop of nova-compute goes on here."""
    one = opened(directory, clock)
    begun, end = threading.Event(), threading.Event()

    def slow(_request):
        begun.set()
        assert end.wait(20)
        return {}

    one.host.runner.writes["stop_begin"] = slow
    thread = threading.Thread(target=one.call, args=([{"op": "stop_begin", "action": "stop_units", "params": {}}],))
    thread.start()
    assert begun.wait(20)
    two = run(directory, clock, "two")
    with pytest.raises(runner.StepError, match=rf"process {os.getpid()} \(stop_begin stop_units\) has held the lock"):
        two.claim(stored(directory), True)
    end.set()
    thread.join()
    assert two.claim(stored(directory), True)


def test_the_lease_begins_when_a_long_request_ends(directory, clock):
    one = opened(directory, clock)

    def slow(_request):
        clock.now += 400
        return {}

    one.host.runner.writes["stop_begin"] = slow
    one.call([{"op": "stop_begin", "action": "stop_units", "params": {}}])
    with pytest.raises(runner.StepError, match=r"SG707 .* 0 s "):
        run(directory, clock, "two").claim(stored(directory), False)


def test_a_request_whose_process_was_killed_keeps_nobody_out(directory, clock):
    opened(directory, clock)
    path = os.path.join(directory, ".rename.run")
    script = f"""
import fcntl, time
held = open({path!r})
fcntl.flock(held, fcntl.LOCK_EX)
print(1, flush=True)
time.sleep(600)
"""
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"1\n"
    two = run(directory, clock, "two")
    with pytest.raises(runner.StepError, match="has held the lock"):
        two.claim(stored(directory), True)
    holder.kill()
    holder.wait()
    assert two.claim(stored(directory), True)


def test_commands_that_a_request_starts_do_not_keep_the_lock(directory, clock):
    """An operator's own start command may leave a process behind for good."""
    one = opened(directory, clock)
    left = []

    def start(_request):
        left.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False))
        return {}

    one.host.runner.writes["apply"] = start
    one.call([{"op": "apply", "action": "start_units", "params": {}}])
    try:
        one.call([{"op": "still_ours"}])
    finally:
        left[0].kill()
        left[0].wait()


# --- what is written elsewhere ------------------------------------------------------------------------------------


def test_a_run_asks_the_host_from_time_to_time(directory, clock):
    one = opened(directory, clock)
    calls = []
    call = one.host.call
    one.host.call = lambda requests: calls.append([request["op"] for request in requests]) or call(requests)
    one.still_ours()
    assert calls == []
    clock.now += run_token.RENEW + 1
    one.still_ours()
    assert calls == [["still_ours"]]
    run(directory, clock, "two").claim(stored(directory), True)
    clock.now += run_token.RENEW + 1
    with pytest.raises(runner.StepError, match="SG707"):
        one.still_ours()


def test_a_run_that_stood_still_commits_nothing(directory, clock):
    """Suspended between its mark and its commit, for longer than others wait: the rows are as they were read."""
    one = opened(directory, clock)
    clock.now += run_token.FRESH
    one.fresh()
    clock.now += 1
    with pytest.raises(runner.StepError, check=problem_is("paused")):
        one.fresh()
    one.call([{"op": "still_ours"}])
    one.fresh()


def test_nothing_is_written_any_more_when_others_may_take_over():
    """What was begun at the last moment has the rest of the lease to land or to be ended by its server."""
    assert run_token.RENEW < run_token.FRESH <= journals.LEASE / 2


# --- opening ------------------------------------------------------------------------------------------------------


def test_of_two_that_open_at_once_one_does(directory):
    barrier, outcomes = threading.Barrier(8), []

    def act(number):
        barrier.wait()
        try:
            journals.open_new(directory, {"schema": 1, "kind": KIND, "operation_id": f"op{number}", "state": "open"})
            outcomes.append(number)
        except JournalError as error:
            assert "already open" in str(error)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1
    assert stored(directory)["operation_id"] == f"op{outcomes[0]}"


def test_a_plan_of_a_time_before_another_operation_is_not_begun(directory):
    """Its opening was long on its way: meanwhile another run began, ended, and renamed the host."""
    seen = journals.count_closed(directory, KIND)
    journal = {"schema": 1, "kind": KIND, "operation_id": OPERATION, "state": "open"}
    journals.open_new(directory, journal, seen)
    journals.close(directory, {**journal, "state": "finished"})
    late = {**journal, "operation_id": "op2"}
    with pytest.raises(JournalError, check=problem_is("another-ended")):
        journals.open_new(directory, late, seen)
    assert stored(directory) is None
    journals.open_new(directory, late, journals.count_closed(directory, KIND))
    assert stored(directory)["operation_id"] == "op2"


def test_other_operations_name_no_token_and_are_as_they_were(directory):
    journal = {"schema": 1, "kind": "links", "operation_id": "l1", "state": "open", "run": {"controller": "c"}}
    journals.open_new(directory, journal)
    journals.mark(directory, "links", "l1", {"at": "t", "step": "s", "step_state": "done"})
    assert journals.read(directory, "links")["steps"] == {"s": "done"}
    journals.close(directory, {**journal, "state": "finished"})


def test_the_sign_is_read_by_people_too(directory, clock):
    one = opened(directory, clock)
    one.call([{"op": "still_ours"}])
    with open(os.path.join(directory, ".rename.run"), encoding="utf-8") as stream:
        sign = json.load(stream)
    assert (sign["token"], sign["pid"], sign["what"]) == ("one", os.getpid(), "nothing")
