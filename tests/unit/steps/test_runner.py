# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runner: killed at any instant, the same command again ends with everything new, a rollback with everything old.

The world is a dictionary; each step changes some keys of it, one after the other, so that a kill can fall between
them. A kill is a BaseException raised before or after any single request, as a lost process would: nothing that
catches errors may catch it.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner as steps
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit import journaled
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is


class Killed(BaseException):
    """The process is gone."""


class Fuse:
    """Burns at the n-th spark; every request and every single write is a spark."""

    def __init__(self, at=None):
        self.at = at
        self.sparks = 0

    def spark(self):
        self.sparks += 1
        if self.at is not None and self.sparks == self.at:
            raise Killed


class World:
    """Systems and the journal's disk: what outlives a killed run."""

    def __init__(self, keys):
        self.values = dict.fromkeys(keys, "old")
        self.journal = None
        self.closed = []


class FakeHost:
    def __init__(self, world, fuse):
        self.world, self.fuse = world, fuse

    def call(self, requests):
        return [self._one(request) for request in requests]

    def _one(self, request):
        self.fuse.spark()
        result = getattr(self, f"_{request['op']}")(request) or {}
        self.fuse.spark()
        return result

    def _journal_open(self, request):
        assert self.world.journal is None
        self.world.journal = copy.deepcopy(request["journal"])

    def _journal_mark(self, request):
        assert self.world.journal["operation_id"] == request["operation_id"]
        self.world.journal = journals.noted(self.world.journal, request["note"])

    def _journal_close(self, request):
        self.world.closed.append(request["journal"])
        self.world.journal = None

    def _apply(self, request):
        _write(self.world, self.fuse, request["params"]["keys"], "old", "new")

    def _undo(self, request):
        _write(self.world, self.fuse, reversed(request["params"]["keys"]), "new", "old")

    _stop_begin = _apply

    def _stop_poll(self, request):
        return {"stopped": True}

    def _verify(self, request):
        assert all(self.world.values[key] == "new" for key in request["params"]["keys"])

    def _log_mark(self, request):
        return {"mark": {"offset": 17}}


def _write(world, fuse, keys, before, after):
    for key in keys:
        assert world.values[key] in (before, after), "guard"
        world.values[key] = after
        fuse.spark()


class FakeAction:
    def __init__(self, world, fuse, error=None):
        self.world, self.fuse, self.error = world, fuse, error

    def apply(self, params, memory):
        self.fuse.spark()
        if self.error:
            raise self.error
        _write(self.world, self.fuse, params["keys"], "old", "new")
        return steps.Done("written", {"generation": 3})

    def undo(self, params):
        _write(self.world, self.fuse, reversed(params["keys"]), "new", "old")


class Silent:
    def begin(self, number, total, title, undo):
        pass

    def remark(self, text):
        pass

    end = remark


def make_plan(wheres):
    made = []
    for index, where in enumerate(wheres):
        action = "stop_units" if index == 1 and where == HOST else "act"
        params = {"keys": [f"{index}a", f"{index}b"], "timeout": 5, "units": []}
        if action == "stop_units":
            params["log_file"] = "/var/log/nova/nova-compute.log"
        made.append(Step(f"step{index}", f"step {index}", where, action, params))
    return Plan("rename", "op1", "old -> new", made)


def runner(world, fuse, error=None):
    return steps.Runner(
        FakeHost(world, fuse), {"act": FakeAction(world, fuse, error)}, Silent(), lambda: "2026-01-01T00:00:00Z"
    )


def begin_or_carry_on(world, plan, fuse):
    if world.journal is None and not world.closed:
        journaled.begun(runner(world, fuse), plan, {})
    elif world.journal is not None:
        runner(world, fuse).forward(copy.deepcopy(world.journal))


def keys_of(plan):
    return [key for step in plan.steps for key in step.params["keys"]]


WHERES = [CONTROLLER, HOST, CONTROLLER, CONTROLLER, HOST, CONTROLLER]


def all_sparks():
    """How many places a run of the plan can be killed at."""
    plan, fuse = make_plan(WHERES), Fuse()
    world = World(keys_of(plan))
    journaled.begun(runner(world, fuse), plan, {})
    assert set(world.values.values()) == {"new"}
    return fuse.sparks


TOTAL = all_sparks()


@pytest.mark.parametrize("spark", range(1, TOTAL + 1))
def test_killed_anywhere_then_the_same_command_finishes(spark):
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(Killed):
        begin_or_carry_on(world, plan, Fuse(spark))
    begin_or_carry_on(world, plan, Fuse())
    assert set(world.values.values()) == {"new"}
    assert world.journal is None
    assert [journal["state"] for journal in world.closed] == ["finished"]


@pytest.mark.parametrize("spark", range(1, TOTAL + 1))
def test_killed_anywhere_then_a_rollback_leaves_everything_old(spark):
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(Killed):
        begin_or_carry_on(world, plan, Fuse(spark))
    if world.journal is None:
        # Killed before the journal was open, or after it was closed: all old, or all new.
        assert set(world.values.values()) == ({"new"} if world.closed else {"old"})
        return
    runner(world, Fuse()).backward(copy.deepcopy(world.journal))
    assert set(world.values.values()) == {"old"}
    assert [journal["state"] for journal in world.closed] == ["rolled-back"]


@settings(max_examples=300, deadline=None)
@given(st.integers(1, TOTAL), st.lists(st.integers(1, 40), max_size=4))
def test_a_rollback_killed_again_and_again_ends_all_old(first, kills):
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(Killed):
        begin_or_carry_on(world, plan, Fuse(first))
    for spark in itertools.chain(kills, [None]):
        if world.journal is None:
            break
        try:
            runner(world, Fuse(spark)).backward(copy.deepcopy(world.journal))
        except Killed:
            continue
    assert len(set(world.values.values())) == 1
    assert world.journal is None


def test_an_operation_that_is_rolling_back_cannot_be_carried_forward():
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(Killed):
        begin_or_carry_on(world, plan, Fuse(30))
    with pytest.raises(Killed):
        runner(world, Fuse(4)).backward(copy.deepcopy(world.journal))
    with pytest.raises(steps.StepError, check=problem_is("only-rollback")):
        runner(world, Fuse()).forward(copy.deepcopy(world.journal))


def plan_with_preparations():
    """Two preparations, then a change."""
    plan = make_plan([HOST, HOST, CONTROLLER, HOST])
    quiet = [Step(s.name, s.title, s.where, "stop_units", s.params) for s in plan.steps[:2]] + plan.steps[2:]
    return Plan(plan.kind, plan.operation_id, plan.subject, quiet)


def test_a_refusal_before_anything_was_renamed_puts_everything_back():
    plan = plan_with_preparations()
    world = World(keys_of(plan))
    error = steps.StepError("instance i appeared", changed_meanwhile=True)
    with pytest.raises(steps.StepError, check=problem_is("preparations-undone")):
        journaled.begun(runner(world, Fuse(), error), plan, {})
    assert set(world.values.values()) == {"old"}
    assert world.journal is None


def test_a_refusal_after_a_kill_within_a_change_does_not_pass_for_a_refusal_before_any_change():
    """At every spark: once a change may have begun, the run says so and leaves the choice to the operator."""
    error = steps.StepError("instance i appeared", changed_meanwhile=True)
    left_open = 0
    for spark in itertools.count(1):
        plan = plan_with_preparations()
        world = World(keys_of(plan))
        with contextlib.suppress(Killed):
            begin_or_carry_on(world, plan, Fuse(spark))
        if world.closed:
            break
        if world.journal is None or world.journal["steps"]["step2"] != "applying":
            continue
        before = dict(world.values)
        with pytest.raises(steps.StepError) as raised:
            runner(world, Fuse(), error).forward(copy.deepcopy(world.journal))
        assert str(raised.value) == "instance i appeared"
        assert (world.journal["state"], world.values) == ("open", before)
        runner(world, Fuse()).backward(copy.deepcopy(world.journal))
        assert set(world.values.values()) == {"old"}
        left_open += 1
    assert left_open >= 4  # marked, first key written, second key written, not yet marked as done


def test_an_error_in_the_middle_stops_and_leaves_the_journal_open():
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(steps.StepError, match="lost"):
        journaled.begun(runner(world, Fuse(), steps.StepError("connection lost")), plan, {})
    assert world.journal["state"] == "open"
    assert world.journal["steps"]["step0"] == "applying"


def test_a_stop_that_does_not_end_in_time_is_an_error():
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    made = runner(world, Fuse())
    made.host._stop_poll = lambda request: {"stopped": False, "seconds": 99, "state": "deactivating"}
    with pytest.raises(steps.StepError, check=problem_is("service-not-stopped")):
        journaled.begun(made, plan, {})


def test_later_steps_are_told_what_earlier_ones_noted():
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    seen = []
    made = runner(world, Fuse())
    apply = made.actions["act"].apply
    made.actions["act"].apply = lambda params, memory: seen.append(dict(memory)) or apply(params, memory)
    journaled.begun(made, plan, {})
    assert seen[0] == {}
    assert seen[1] == {"step0": {"generation": 3}, "step1": {"offset": 17}}


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_journal_of_another_version_is_refused_before_anything_is_done(direction):
    plan = make_plan(WHERES)
    world = World(keys_of(plan))
    with pytest.raises(Killed):
        begin_or_carry_on(world, plan, Fuse(20))
    values, made = dict(world.values), runner(world, Fuse())
    made.actions = {}
    with pytest.raises(steps.StepError, check=problem_is("other-version")):
        getattr(made, direction)(copy.deepcopy(world.journal))
    assert world.values == values


class Trying(FakeAction):
    """One that must make ready before it is tried again."""

    def __init__(self, *args):
        super().__init__(*args)
        self.tries = []

    def again(self, params, memory):
        self.tries.append(params["keys"])


def test_a_step_that_failed_is_made_ready_before_it_is_tried_again():
    plan = make_plan([CONTROLLER, HOST, CONTROLLER])
    world = World(keys_of(plan))
    action = Trying(world, Fuse(None), steps.StepError("no proof"))
    one = steps.Runner(FakeHost(world, Fuse(None)), {"act": action}, Silent(), lambda: "2026-01-01T00:00:00Z")
    with pytest.raises(steps.StepError):
        journaled.begun(one, plan, {})
    assert action.tries == []
    action.error = None
    one.forward(copy.deepcopy(world.journal))
    assert action.tries == [["0a", "0b"]], "those that were never begun are no second try"


def test_the_timeout_of_the_command_that_resumes_counts():
    plan = make_plan([CONTROLLER])
    world = World(keys_of(plan))
    seen = []

    class Noting(FakeAction):
        def apply(self, params, memory):
            seen.append(params["timeout"])
            return super().apply(params, memory)

    def longer(made):
        return dataclasses.replace(
            made, steps=[dataclasses.replace(step, params={**step.params, "timeout": 900}) for step in made.steps]
        )

    made = steps.Runner(
        FakeHost(world, Fuse(None)), {"act": Noting(world, Fuse(None))}, Silent(), lambda: "t", revise=longer
    )
    journaled.begun(made, plan, {})
    assert seen == [900]


class Telling(FakeAction):
    """An action that has something to tell of its being taken back."""

    def undo(self, params):
        super().undo(params)
        return steps.Done("left on their hosts: u1", {"findings": ["SG125"]})


def test_what_a_step_tells_of_its_being_taken_back_is_in_the_journal():
    world, fuse = World(["a"]), Fuse()
    step = Step("rows", "rows", CONTROLLER, "fake", {"keys": ["a"]})
    plan = Plan("rename", "op1", "old -> new", [step])
    runner = steps.Runner(FakeHost(world, fuse), {"fake": Telling(world, fuse)}, Silent(), lambda: "now")
    journal = steps.new_journal(plan, {}, "now")
    world.journal = copy.deepcopy(journal)
    journal = {**journal, "steps": {"rows": journals.DONE}}
    world.values["a"] = "new"
    ended = runner.backward(journal)
    assert ended["memory"]["rows"] == {"findings": ["SG125"]}
    assert [entry.get("text") for entry in ended["history"] if entry.get("step_state") == journals.UNDONE] == [
        "left on their hosts: u1"
    ]
    assert world.closed[0]["memory"] == ended["memory"]
