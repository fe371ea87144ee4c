# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that take turns: one moves at a time, from one point to its next one, as a schedule says.

A schedule is a list of choices. The same choices give the same course, so that all of them can be tried, one after the
other, and one that shows a defect can be repeated.
"""

from __future__ import annotations

import threading

#: What a choice does with a run: let it move; end it with what it does on the host; end its controller, while the
#: request that the host executes goes on.
MOVE, KILL, CUT = "move", "kill", "cut"
#: Seconds until a thread that does not come back is a defect of the model.
HANG = 60


class Killed(BaseException):
    """The process is gone: nothing that catches errors may catch it."""


class Actor:
    """One run, as a thread that moves only when it is its turn."""

    def __init__(self, name, act):
        self.name = name
        self.label = "begins"
        self.result = None
        self.failure = None
        self.ended = False
        #: Its controller is gone.
        self.dead = False
        #: It looked for a lock that another one has: nothing changes for it until another one has moved.
        self.waits = False
        #: What it has seen so far: all that its next move depends on.
        self.seen = []
        self.on_host = False
        self._dies = False
        self._mine, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self._thread.start()

    def _run(self, act):
        self._mine.acquire()
        try:
            if not self._dies:
                self.result = act(self)
        except Killed:
            self.dead = True
        except BaseException as error:  # noqa: BLE001 (a defect of the model, or of what it drives: raised by who moves it)
            self.failure = error
        self.ended = True
        self._back.release()

    def point(self, label, waits=False):
        """Called by the run itself: wait for its turn."""
        self.label, self.waits = label, waits
        self.seen.append(label)
        self._back.release()
        self._mine.acquire()
        if self._dies:
            raise Killed

    def answered(self):
        """Called by the run itself, where the answer of a host comes back to its controller."""
        if self.dead:
            raise Killed

    def move(self, how=MOVE):
        """Let it move to its next point, or end it."""
        if how == CUT:
            self.dead = True
        if how == KILL or (how == CUT and not self.on_host):
            self._dies = self.dead = True
        if how == CUT and self.on_host:
            return
        self._mine.release()
        assert self._back.acquire(timeout=HANG), f"{self.name} does not come back from {self.label}"
        if self.failure is not None:
            raise self.failure


class Course:
    """One course of several runs: which choices there are, and what came of those that were made."""

    def __init__(self, actors, kills):
        self.actors = actors
        self.kills = kills
        self.told = []
        self.last = None

    def choices(self):
        """Return every choice that there is now; none where all runs have ended. The first one goes on as before."""
        able = [actor for actor in self.actors if not actor.ended]
        moving = [actor for actor in able if not actor.waits] or able
        moving.sort(key=lambda actor: actor is not self.last)
        found = [(actor.name, MOVE) for actor in moving]
        if self.kills:
            found += [(actor.name, how) for actor in able if not actor.dead for how in (KILL, CUT)]
        return found

    def choose(self, choice):
        """Carry one out."""
        name, how = choice
        (actor,) = [actor for actor in self.actors if actor.name == name]
        self.told.append(f"{name} {how} {actor.label}")
        if how != MOVE:
            self.kills -= 1
        self.last = actor
        actor.move(how)
        for other in self.actors:
            if other is not actor:
                other.waits = False

    def finish(self):
        """End every thread that is left, whatever it is at."""
        for actor in self.actors:
            while not actor.ended:
                actor.move(KILL)
