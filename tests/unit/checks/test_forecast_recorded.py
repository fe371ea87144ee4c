# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The forecast against what real nova-computes did: random states of hosts, recorded on the lab, release by release.

tests/integration/test_forecast_states.py made them. Here the forecast of today is made from the facts of then, and
nothing of what happened may be untold, nor anything told that did not happen.
"""

from __future__ import annotations

import collections

import pytest
from labkit import forecasts, hoststates

from ansible_collections.stackguard.nova.tests.unit import recorded, removed

CASES = {release: recorded.cases(release) for release in recorded.releases()}
EVERY = [case for cases in CASES.values() for case in cases]


@pytest.mark.parametrize("release", CASES)
def test_what_is_forecast_is_what_happened(release):
    found = {case.entry["seed"]: case.differences() for case in CASES[release]}
    wrong = {seed: text for seed, text in found.items() if text}
    assert not wrong, wrong


def test_enough_states_were_recorded():
    assert len(CASES["2026.2"]) >= 60
    for release, cases in CASES.items():
        seeds = [case.entry["seed"] for case in cases]
        assert len(seeds) == len(set(seeds)), release


def test_a_state_is_the_same_each_time_it_is_drawn_and_each_is_about_something():
    assert [hoststates.drawn(seed) for seed in range(200)] == [hoststates.drawn(seed) for seed in range(200)]
    drawn = collections.Counter(hoststates.drawn(seed).focus for seed in range(3 * len(hoststates.FOCUSES)))
    assert set(drawn) == set(hoststates.FOCUSES)
    assert set(drawn.values()) == {3}


def test_a_difference_is_told_in_both_directions():
    """The comparison itself: an action that was not told, one that was not done, another text, another node."""
    case = next(case for case in EVERY if case.entry["seen"]["guests"] and case.told()["nodes"])
    told, seen = case.told(), case.entry["seen"]
    (uuid, action), *_more = seen["guests"].items()
    other = {**seen["guests"], uuid: "painted green"}
    assert forecasts.differences(told, {**seen, "guests": other}, []) == [
        f"guest {uuid}: told {action}; it was painted green"
    ]
    assert forecasts.differences(told, {**seen, "guests": {**seen["guests"], "x": "destroyed"}}, [])
    assert forecasts.differences({**told, "guests": []}, seen, [])
    assert forecasts.differences(told, {**seen, "outcome": "refuses"}, [])
    assert forecasts.differences({**told, "nodes": []}, {**seen, "nodes": {"x": [None, False]}}, [])
    assert forecasts.differences(told, {**seen, "new_services": ["compute9"]}, [])
    assert forecasts.differences(told, {**seen, "orphans": ["Deleting orphan", *seen["orphans"]]}, [])


#: What occurs less than three times in what was recorded.
RARE = {}


def test_every_rule_and_every_outcome_occurs_three_times():
    seen = collections.Counter(name for case in EVERY for name in set(forecasts.outcomes(case.told())))
    assert {name: number for name, number in seen.items() if number < 3} == RARE


#: Rules that no recorded state needs, and why.
UNNEEDED = {}


@pytest.mark.parametrize("module", ["recovery", "forecast"])
def test_without_any_one_rule_a_recorded_forecast_is_wrong(module):
    """A rule that is written tomorrow needs a state that shows it, or a reason here."""
    names = {name for name, make in removed.removals(f"{removed.PACKAGE}.checks.{module}", FINDINGS) if not wrong(make)}
    assert names == set(UNNEEDED.get(module, ())), sorted(names ^ set(UNNEEDED.get(module, ())))


#: Functions that do not forecast: they tell findings, or a forecast in words; and what asks whether all was read.
FINDINGS = ("restart", "_judged", "_records", "untold", "_missing", "_told", "told", "destroys", "start")


def wrong(make):
    """Whether the forecast without a rule differs from what happened, or fails, for any recorded state."""
    without = make()
    for case in EVERY:
        try:
            if case.differences(without):
                return True
        except (AttributeError, TypeError, IndexError, KeyError):
            return True
    return False
