# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with a journal, a database, and two operators. The runner, the journal and the host's part are the real ones.

What is a stand-in: the stores (a dictionary), time (a number), and who knows which process lives.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import types
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner, run_token
from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner as steps
from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal_read
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.tests.unit import journaled

KIND = "rename"
#: Seconds after which a database ends a transaction in which nothing is asked.
IDLE = 10
OLD, NEW = "old", "new"
APPLY, RESUME, ROLLBACK = "apply", "resume", "rollback"
#: Of this thread: the run that it is, and its world.
HERE = threading.local()


@dataclasses.dataclass(frozen=True)
class Defects:
    """What of the code is as it was before, or as it could be. None of it is the code as it is."""

    #: No run has a token, and a journal without one is taken up.
    no_token: bool = False
    #: A request is compared with the journal when it begins, and holds nothing while it executes; nor does a mark.
    no_lock: bool = False
    #: Opening looks whether there is a journal, and replaces it afterwards.
    blind_opening: bool = False
    #: Who takes an operation up goes by the journal that it read before.
    stale_journal: bool = False
    #: A run that stood still commits.
    never_stale: bool = False
    #: Whoever comes takes an operation over, whether its run lives or not.
    no_lease: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """Two runs: what each is asked for, and from where."""

    first: str = APPLY
    second: str = RESUME
    #: Both on one controller, which knows its processes.
    together: bool = True
    #: The second one waits for as long as it is told, once, while the first one stands still.
    patient: bool = True
    wheres: t.Tuple[str, ...] = (CONTROLLER, HOST)
    #: What the final run does with what is open.
    last: str = RESUME
    #: None: the database has no lock; else what it is called by, of each operator.
    lock_names: t.Optional[t.Tuple[str, str]] = None
    #: Points within the writing of a journal, too.
    fine: bool = False


class World:
    """What outlives runs."""

    def __init__(self, directory, case, defects):
        self.directory = str(directory)
        self.case = case
        self.defects = defects
        self.now = 1000.0
        self.actors = {}
        self.stores = {f"{number}": OLD for number in range(len(case.wheres))}
        self.row_locks = {}
        self.database_locks = {}
        self.closed = []
        self.problems = []

    # --- stores

    def write(self, key, before, after, operation):
        """Change one value, guarded by what it was."""
        if self.stores[key] not in (before, after):
            raise steps.StepError(f"{key} is {self.stores[key]}")
        if operation in dict(self.closed) and self.stores[key] != after:
            self.problems.append(f"{key} = {after} was written after {operation} was closed")
        self.stores[key] = after

    @contextlib.contextmanager
    def row(self, key):
        """Hold the lock of a row, as a transaction does. Who is killed lets go of it."""
        actor = HERE.actor
        actor.point(f"begin {key}")
        for _try in range(2):
            if self.row_locks.get(key) in (None, actor.name):
                break
            actor.point(f"row lock {key}", waits=True)
        else:
            raise steps.StepError(f"row {key}: lock wait timeout")
        self.row_locks[key] = actor.name
        try:
            yield
        finally:
            self.row_locks.pop(key, None)

    @contextlib.contextmanager
    def database_lock(self):
        """GET_LOCK."""
        names, actor = self.case.lock_names, HERE.actor
        if names is None:
            yield
            return
        name = names[0 if actor.name == "A" else 1 if actor.name == "B" else 0]
        if self.database_locks.get(name):
            raise steps.StepError("SG707 lock-held")
        self.database_locks[name] = actor.name
        try:
            yield
        finally:
            self.database_locks.pop(name)

    # --- who knows what

    def has_ended(self, run):
        if not run.get("token") or not (self.case.together or HERE.actor.name == "last"):
            return None
        other = self.actors[run["operator"]]
        return other.dead or other.ended

    def state(self):
        """All that what comes next depends on, but for the runs themselves."""
        return repr((self.stores, self.row_locks, self.database_locks, self.now, self.closed, self._files()))

    def _files(self):
        try:
            return journals.read(self.directory, KIND)
        except journals.JournalError as error:
            return str(error)


class ModelHost:
    """The way to the host: each request is a point, and its answer may come back to nobody."""

    def __init__(self, world, actor):
        self.world = world
        self.actor = actor
        self.runner = host_steps.HostRunner(world.directory)
        self.runner.actions = t.cast("t.Any", {"act": OnHost(world)})

    def call(self, requests):
        self.actor.on_host = True
        results = []
        try:
            for request in requests:
                self.actor.point(f"host {request['op']}")
                outcome = self.runner.run([request])
                if outcome.error is not None:
                    self.actor.answered()
                    self.actor.seen.append(outcome.error)
                    raise steps.StepError(f"on the compute host: {outcome.error}")
                results += outcome.results
                if request["op"] == "journal_close":
                    journal = request["journal"]
                    self.world.closed.append((journal["operation_id"], journal["state"]))
        finally:
            self.actor.on_host = False
        self.actor.answered()
        self.actor.seen.append(repr(results))
        return results


class OnHost:
    """A step of the host."""

    def __init__(self, world):
        self.world = world

    def is_done(self, params):
        return {"done": False}

    def apply(self, params):
        return self._write(params, OLD, NEW)

    def verify(self, params):
        return {}

    def undo(self, params):
        return self._write(params, NEW, OLD)

    def _write(self, params, before, after):
        HERE.actor.point(f"write {params['key']}")
        self.world.write(params["key"], before, after, params["operation"])
        return {}


class Rows:
    """A step of the controller: one transaction."""

    def __init__(self, world, fresh):
        self.world = world
        self.fresh = fresh

    def apply(self, params, memory):
        self._write(params, OLD, NEW)
        return steps.Done("written")

    def undo(self, params):
        self._write(params, NEW, OLD)

    def _write(self, params, before, after):
        with self.world.row(params["key"]):
            HERE.actor.seen.append(self.world.stores[params["key"]])
            HERE.actor.point(f"check {params['key']}")
            self.fresh()
            asked = self.world.now
            HERE.actor.point(f"commit {params['key']}")
            if self.world.now - asked > IDLE:
                raise steps.StepError("the server has ended the transaction")
            self.world.write(params["key"], before, after, params["operation"])


class Silent:
    """Nobody listens."""

    def begin(self, number, total, title, undo):
        pass

    def remark(self, text):
        pass

    end = remark


def plan(case, operation):
    made = [
        Step(f"step{number}", f"step {number}", where, "act", {"key": f"{number}", "operation": operation})
        for number, where in enumerate(case.wheres)
    ]
    return Plan(KIND, operation, "old -> new", made)


class Operator:
    """One who gives a command, as the action plugin carries it out."""

    def __init__(self, world, role):
        self.world = world
        self.role = role

    def __call__(self, actor):
        HERE.actor, HERE.world = actor, self.world
        ended = self._try(actor)
        if ended.startswith("waits") and self.world.case.patient:
            actor.point("waits for the lease")
            self.world.now += journals.LEASE + 1
            ended = self._try(actor)
        return ended

    def _try(self, actor):
        try:
            with self.world.database_lock():
                return self._carry_out(actor)
        except (steps.StepError, StackguardError, journals.JournalError) as error:
            actor.seen.append(str(error))
            return f"waits: {error}" if "was alive" in str(error) else f"failed: {error}"

    def _carry_out(self, actor):
        world, host = self.world, ModelHost(self.world, actor)
        (found,) = host.call([{"op": "journal_read", "kind": KIND}])
        journal = found["journal"]
        if journal is None and (self.role != APPLY or set(world.stores.values()) == {NEW}):
            return "nothing to do"
        operation = f"op-{actor.name}" if journal is None else journal["operation_id"]
        if world.defects.no_token:
            runner = self._runner(host, lambda: None)
            return self._run(runner, journal, operation)
        run = {"token": actor.name, "operator": actor.name, "controller": "c"}
        mine = run_token.JournalHost(
            host, KIND, operation, run, lambda: "t", lambda: world.now, sleep=lambda _seconds: None
        )
        fresh = (lambda: None) if world.defects.never_stale else mine.fresh
        runner = self._runner(mine, fresh)
        try:
            if journal is not None:
                taken = mine.claim(journal, world.defects.no_lease)
                journal = {**journal, "run": run} if world.defects.stale_journal else taken
            return self._run(runner, journal, operation, run, found["ended"])
        except (steps.StepError, StackguardError, journals.JournalError):
            mine.release()
            raise

    def _runner(self, host, fresh):
        return steps.Runner(host, {"act": Rows(self.world, fresh)}, Silent(), lambda: "t")

    def _run(self, runner, journal, operation, run=None, ended=None):
        if journal is None:
            return journaled.begun(runner, plan(self.world.case, operation), {SHA256: None}, run, ended)["state"]
        backward = self.role == ROLLBACK or (self.role == "last" and journal["state"] != journals.OPEN)
        return (runner.backward if backward else runner.forward)(journal)["state"]


# --- the real code, under the model's time and with defects -----------------------------------------------------------


def has_ended(run):
    """What the controller of this thread knows of a run."""
    return HERE.world.has_ended(run)


def install(patch, defects):
    """Let the journal take its time from the model, and wait at its points. ``patch``: pytest's."""
    patch.setattr(journals, "_uptime", lambda: HERE.world.now)
    patch.setattr(journals, "_boot_id", lambda: "boot")
    patch.setattr(journals, "PATIENCE", 0.15)
    patch.setattr(journals, "time", types.SimpleNamespace(sleep=lambda _seconds: HERE.actor.point("lock", waits=True)))
    patch.setattr(run_owner, "has_ended", has_ended)
    # Whether a journal survives a power cut is proven elsewhere (tests/unit/records/test_journal.py).
    patch.setattr(journals.os, "fsync", lambda _descriptor: None)
    store = journals._store

    def pointed(path, journal, place, *how):
        if HERE.world.case.fine:
            HERE.actor.point("journal is written")
        return store(path, journal, place, *how)

    patch.setattr(journals, "_store", pointed)
    if defects.no_token:
        patch.setattr(journal_read, "problem", lambda *_given: None)
    if defects.no_lock:
        patch.setattr(journals, "_taken", lambda _descriptor: True)
    if defects.blind_opening:
        patch.setattr(journals, "open_new", blind_opening)


def blind_opening(directory, journal, _ended=None):
    """What opening was before."""
    journals._make_directory(directory)
    if journals.read(directory, KIND) is not None:
        raise journals.JournalError("an operation is open already")
    HERE.actor.point("looked whether there is a journal")
    journals.write(directory, journal)
