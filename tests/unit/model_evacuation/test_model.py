# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations of random clouds, with everything that can go wrong in between, watched by an oracle of its own.

More runs: STACKGUARD_TEST_EXAMPLES=100 times as many, or STACKGUARD_MODEL_RUNS=20000; from another seed:
STACKGUARD_MODEL_SEED=1000000. A broken rule names its seed.
"""

from __future__ import annotations

import collections
import dataclasses
import os

import pytest

from ansible_collections.stackguard.nova.tests.unit.model_evacuation import oracle, scenario

RUNS = int(os.environ.get("STACKGUARD_MODEL_RUNS", "0"))
SEED = int(os.environ.get("STACKGUARD_MODEL_SEED", "0"))
#: Seeds of early scenarios that broke a rule while this was built.
BROKE_ONCE = (33, 84, 428, 443, 552, 747, 2194, 2201)
#: The same of later ones.
BROKE_LATER = (("wild", 240), ("wild", 873), ("back", 512), ("wild", 1), ("requested", 100))


@pytest.fixture
def times(request):
    """How many times as many scenarios as usual are played: see labkit.longer."""
    longer = request.config.pluginmanager.hasplugin("labkit.longer")
    return int(os.environ.get("STACKGUARD_TEST_EXAMPLES") or 10) if longer else 1


@pytest.fixture
def stage(monkeypatch):
    found = scenario.Stage(monkeypatch)
    yield found
    found.close()


def played(stage, kind, runs, what):
    """Play scenarios and return how they ended. The first broken rule ends it, with its seed and all that happened."""
    return [one(stage, kind, seed, what) for seed in range(SEED, SEED + (RUNS or runs))]


def one(stage, kind, seed, what):
    """Play one scenario and return how it ended."""
    try:
        return stage.play(seed, kind())
    except (oracle.Violation, AssertionError) as error:
        told = "\n".join(" ".join(map(str, line)) for line in stage.scenario.world.log)
        raise AssertionError(f"{what}, seed {seed}: {error}\n{told}") from error
    except Exception as error:
        raise AssertionError(f"{what}, seed {seed}: {type(error).__name__} {error}") from error


def statistics(endings):
    states = collections.Counter(state for entry in endings for state in entry.states)
    with_servers = [entry for entry in endings if entry.servers]
    return states, sum(1 for entry in with_servers if entry.succeeded), len(with_servers)


@pytest.mark.examples
def test_a_dead_host_is_evacuated_at_once_where_nothing_else_is_wrong(stage, times):
    endings = played(stage, lambda: dataclasses.replace(scenario.calm(), must=True), 50 * times, "calm")
    refused = [entry.messages for entry in endings if not entry.succeeded]
    assert not refused, refused[:3]
    assert sum(entry.sent for entry in endings) > len(endings)


@pytest.mark.examples
def test_the_same_command_again_ends_what_was_killed_at_any_moment(stage, times):
    endings = played(stage, scenario.killed, 80 * times, "killed")
    assert [entry.messages for entry in endings if entry.left and "aborted" not in entry.states] == []
    states, _ended, _all = statistics(endings)
    assert states["killed"] > len(endings) // 4, states


@pytest.mark.examples
def test_no_rule_is_broken_whatever_happens(stage, capsys, times):
    endings = played(stage, scenario.wild, 150 * times, "wild")
    states, ended, of_all = statistics(endings)
    with capsys.disabled():
        print(f"\nmodel: {of_all} scenarios, {ended} evacuated, runs: {dict(states)}")
    # A model in which everything is refused would prove nothing.
    assert ended > of_all * 0.4, states
    assert sum(entry.sent for entry in endings) > len(endings) // 2


@pytest.mark.examples
def test_a_host_that_comes_back_is_given_back_whole(stage, times):
    endings = played(stage, scenario.back, 60 * times, "back")
    returns = collections.Counter(state for entry in endings for state in entry.returns)
    # Some of its guests lived there still, and Ceph had refused them.
    assert returns["clear"] > len(endings), returns
    assert returns["disks-not-open"] > 0, returns


@pytest.mark.examples
def test_tasks_that_fail_and_other_operators_break_no_rule(stage, times):
    endings = played(stage, scenario.troubled, 40 * times, "troubled")
    states, _ended, _all = statistics(endings)
    assert states["evacuated"] > len(endings) // 2, states


@pytest.mark.examples
def test_a_request_that_waited_changes_nothing_of_a_server_that_lives_elsewhere(stage, times):
    endings = played(stage, scenario.requested, 25 * times, "requested")
    returns = collections.Counter(state for entry in endings for state in entry.returns)
    # Where the queue was not read, the host was not clear; some were, in the end.
    assert returns["clear"] > len(endings) // 2, returns
    assert returns["not-clear"] > 0, returns


@pytest.mark.examples
def test_a_server_that_is_not_where_nova_shows_it_is_neither_sent_nor_ended(stage, times):
    endings = played(stage, scenario.lost, 25 * times, "lost")
    states, _ended, _all = statistics(endings)
    assert states["evacuated"] > len(endings) // 4, states


@pytest.mark.parametrize("seed", BROKE_ONCE)
def test_what_broke_a_rule_once_does_not_again(stage, seed):
    one(stage, scenario.early, seed, "early")


@pytest.mark.parametrize(("kind", "seed"), BROKE_LATER)
def test_what_broke_a_rule_later_does_not_again(stage, kind, seed):
    one(stage, getattr(scenario, kind), seed, kind)
