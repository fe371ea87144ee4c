# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every course of two runs, or random ones; and what must hold at the end of each.

At the end a last run carries on with what is open. Then all stores are old or all are new, the journal that was closed
last says which, and nothing was written for an operation after its journal was closed.
"""

from __future__ import annotations

import itertools
import random
import shutil

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit.model_runs.scheduler import MOVE, Actor, Course
from ansible_collections.stackguard.nova.tests.unit.model_runs.world import (
    KIND,
    NEW,
    OLD,
    ROLLBACK,
    Defects,
    Operator,
    World,
    install,
)

#: The code as it is.
NONE = Defects()
#: Choices after which a course that does not end is a defect.
ENDLESS = 500


class Explorer:
    """All courses of one case."""

    def __init__(self, place, case, defects=NONE, kills=0, turns=None):
        self.place = place
        self.case = case
        self.defects = defects
        self.kills = kills
        #: How often a run may be interrupted for another one; None: always.
        self.turns = turns
        self.courses = 0
        self.outcomes = set()
        self._known = set()

    def all(self):
        """Try every course; raises AssertionError for the first whose end is wrong."""
        with pytest.MonkeyPatch.context() as patch:
            install(patch, self.defects)
            todo = [()]
            while todo:
                todo += self._course(todo.pop())
        return self

    def some(self, number, seed=0):
        """Try random courses."""
        with pytest.MonkeyPatch.context() as patch:
            install(patch, self.defects)
            for count in range(number):
                self._random(random.Random(f"{seed}-{count}"))
        return self

    def _begin(self):
        self.courses += 1
        shutil.rmtree(self.place, ignore_errors=True)
        world = World(self.place, self.case, self.defects)
        for name, role in (("A", self.case.first), ("B", self.case.second)):
            world.actors[name] = Actor(name, Operator(world, role))
        return world, Course(list(world.actors.values()), self.kills)

    def _course(self, prefix):
        """Follow a prefix, then always the first choice, up to where another course was. Returns the other choices."""
        world, course = self._begin()
        others = []
        try:
            for number in itertools.count():
                choices = course.choices()
                if not choices:
                    break
                assert number < ENDLESS, course.told[-20:]
                if number >= len(prefix):
                    key = self._key(world, course, prefix)
                    if key in self._known:
                        return others
                    self._known.add(key)
                    if self.turns is None or sum(1 for index in prefix if index) < self.turns:
                        others += [(*prefix, index) for index in range(1, len(choices))]
                    prefix = (*prefix, 0)
                course.choose(choices[prefix[number]])
            self._end(world, course)
        finally:
            course.finish()
        return others

    def _key(self, world, course, prefix):
        turns = None if self.turns is None else sum(1 for index in prefix if index)
        runs = tuple((a.dead, a.ended, a.waits, tuple(a.seen)) for a in course.actors)
        return hash((runs, world.state(), course.kills, turns))

    def _random(self, dice):
        world, course = self._begin()
        try:
            for _number in range(ENDLESS):
                choices = course.choices()
                if not choices:
                    break
                moves = [choice for choice in choices if choice[1] == MOVE]
                others = [choice for choice in choices if choice[1] != MOVE]
                course.choose(dice.choice(others if others and dice.random() < 0.05 else moves))
            self._end(world, course)
        finally:
            course.finish()

    def _end(self, world, course):
        """Carry on with what is open, and judge."""
        world.now += journals.LEASE + 1
        told = [f"{a.name}: {'killed' if a.dead else a.result}" for a in course.actors]
        role = ROLLBACK if self.case.last == ROLLBACK else "last"
        last = Actor("last", Operator(world, role))
        world.actors["last"] = last
        while not last.ended:
            last.move()
        story = "\n".join([*course.told, *told, f"last: {last.result}", f"{world.stores} {world.closed}"])
        assert not last.dead, story
        assert not str(last.result).startswith(("failed", "waits")), story
        assert world.problems == [], story
        assert journals.read(world.directory, KIND) is None, story
        ended = world.closed[-1][1] if world.closed else journals.ROLLED_BACK
        expected = NEW if ended == journals.FINISHED else OLD
        assert set(world.stores.values()) == {expected}, story
        files = {entry["operation_id"]: entry["state"] for entry in journals.list_closed(world.directory, KIND)}
        assert files == dict(world.closed), story
        assert len(world.closed) == len(files), f"closed twice\n{story}"
        self.outcomes.add(
            (ended, *(str(a.result).partition(":")[0] if not a.dead else "killed" for a in course.actors))
        )
