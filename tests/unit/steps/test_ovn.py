# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The watch over the ports and the replicas, where what they depend on fails: no failure ends in silence."""

from __future__ import annotations

import threading
import time
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import OvnError
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import steps as ovn
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import northbound, southbound
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn.database import OvnAccess, OvnDatabase
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

PARAMS = {"old": "old", "new": "new", "chassis": {"name": "system", "uuid": "row"}, "keep": ["kept"], "timeout": 1}


class Replica:
    """A database that nothing is read of."""

    timeout = 1

    def listen(self, _listener):
        pass


@pytest.fixture
def watching(monkeypatch):
    """Start a watch; what it does with ports is a function. It is ended at last."""
    made = []
    monkeypatch.setattr(southbound, "read_bindings", lambda _database: [])

    def start(point, fresh=lambda: None):
        monkeypatch.setattr(northbound, "point", lambda *_arguments, **_more: point())
        watch = ovn.PortWatch(Replica(), Replica(), PARAMS, fresh)
        made.append(watch)
        watch.start()
        return watch

    yield start
    for watch in made:
        watch.end()


def until(what):
    end = time.monotonic() + 5
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_any_failure_of_the_watch_is_told_at_its_end_and_one_that_is_over_is_none(watching):
    failing, calls = [True], []

    def point():
        calls.append(1)
        if failing:
            raise KeyError("a row that is gone")
        return {}

    watch = watching(point)
    until(lambda: len(calls) > 2)
    with pytest.raises(runner.StepError, check=problem_is("watch-failed")):
        watch.stop()
    failing.clear()
    again = watching(point)
    until(lambda: len(calls) > 5)
    assert again.stop().findings == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_port_that_its_owner_updated_is_reported(watching):
    """SG326, with how often it was corrected."""
    found = [{"port1": "old"}]
    watch = watching(lambda: found.pop() if found else {})
    until(lambda: watch.corrected)
    (told,) = watch.stop().findings
    assert (told.code, told.object.id, told.severity) == ("SG326", "port1", "warning")
    assert told.evidence["corrected"] == 1


def test_a_watch_that_died_is_told(watching):
    dying = [True]

    def point():
        if dying:
            raise SystemExit
        return {}

    watch = watching(point)
    until(lambda: not watch._thread.is_alive())
    dying.clear()
    with pytest.raises(runner.StepError, check=problem_is("watch-ended")):
        watch.stop()


def test_a_watch_that_does_not_end_is_told(watching):
    hangs, entered = threading.Event(), threading.Event()
    watch = watching(dict)
    look = watch._look

    def hang():
        if threading.current_thread() is watch._thread:
            entered.set()
            hangs.wait(10)
        else:
            look()

    watch._look = hang
    assert entered.wait(5)
    with pytest.raises(runner.StepError, match="does not end"):
        watch.stop()
    hangs.set()


def test_the_watch_writes_nothing_once_another_run_may_have_the_operation(watching):
    written = []

    def fresh():
        raise runner.StepError("this run paused for 99 s")

    watch = watching(lambda: written.append(1) or {}, fresh)
    time.sleep(0.5)
    with pytest.raises(runner.StepError, match="paused for 99 s"):
        watch.stop()
    assert written == []


def session_of(monkeypatch, point, synchronise):
    systems = kernel.Systems({}, None, {}, time.sleep, time.monotonic)
    session = ovn.OvnSession(systems)
    monkeypatch.setattr(northbound, "point", point)
    monkeypatch.setattr(northbound, "synchronise", synchronise)
    watch = types.SimpleNamespace(changing=threading.Lock(), aim=dict, note=list, turns=0)
    session._northbound = session._southbound = Replica()
    session._watch = watch
    return session, watch


def test_what_is_written_while_northd_works_is_seen_and_the_watch_is_not_held_meanwhile(monkeypatch):
    """Neutron's write in flight lands while the run waits for ovn-northd: one more look finds it."""
    wrong, seen, locked = [{"a": "old"}], [], []

    def point(_database, moves, keep, labels, sync):
        assert (moves, keep, sync) == ({"old": "new", "system": "new"}, {"kept": "system"}, False)
        found = wrong.pop() if wrong else {}
        seen.append(found)
        return found

    def synchronise(_database):
        locked.append(watch.changing.locked())
        if len(locked) == 1:
            wrong.append({"b": "old"})
        if len(locked) == 2:
            watch.turns += 1  # The watch has corrected one itself: ovn-northd has yet to carry that out.
        return 1, 1

    session, watch = session_of(monkeypatch, point, synchronise)
    assert session.point(PARAMS, "new") == 2
    assert seen == [{"a": "old"}, {"b": "old"}, {}, {}]
    assert locked == [False, False, False]


def test_a_replica_whose_connection_hangs_is_an_error_in_time():
    database = OvnDatabase(OvnAccess("unix:/nb", "unix:/sb", timeout=0.2), northbound.SCHEMA, {})
    lock = threading.RLock()
    database._connection = types.SimpleNamespace(lock=lock)
    database.idl = types.SimpleNamespace(tables={"T": types.SimpleNamespace(rows={})})
    assert database.rows("T", str) == []
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(5)
    try:
        with pytest.raises(OvnError, check=problem_is("busy")):
            database.rows("T", str)
        with pytest.raises(OvnError, check=problem_is("busy")):
            database.wait(lambda: database.rows("T", str) or None)
    finally:
        done.set()
        thread.join()
    assert database.rows("T", str) == []


@pytest.mark.parametrize(
    ("named", "right", "becomes"),
    [
        ("old", "new", "new"),
        ("system", "new", "new"),
        ("other", "new", None),
        (None, "new", None),
        ("new", "new", None),
        ("new", "old", "old"),
    ],
)
def test_what_a_port_must_name(named, right, becomes):
    moves = {host: right for host in ("old", "new", "system") if host != right}
    assert northbound._wanted(named, moves, None) == becomes
    kept = northbound._wanted(named, moves, "system")
    assert kept == ("system" if named in ("old", "new") else None), "one that named the chassis before names it again"
