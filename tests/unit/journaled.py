# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that keeps a journal, for tests of whole operations."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner
from ansible_collections.stackguard.nova.tests.unit.builders import AT

#: A run whose process nobody looks for.
HERE = {"controller": "here", "pid": 1, "pid_start": None}


class State:
    """The journal, as on a real host. ``near``: on this very machine."""

    near = True

    def __init__(self, directory):
        self.directory = str(directory)
        self.runner = HostRunner(self.directory, False)

    def call(self, requests):
        outcome = self.runner.run(requests)
        if outcome.error is not None:
            raise StackguardError(f"the journal: {outcome.error}")
        return outcome.results

    @property
    def open(self):
        return self.call([{"op": "journal_list"}])[0]["journals"]


def life(state, options, prefix, said=None, mine=None, check_mode=False, overrides=(), cloud_id=None):
    """What every run is given, see lifecycle.Run."""
    return {
        "state": state,
        "clock": lifecycle.Clock(lambda: AT, lambda: 0.0, lambda: 0.0, lambda _seconds: None),
        "say": (said if said is not None else []).append,
        "mine": HERE if mine is None else mine,
        "options": options,
        "overrides": overrides,
        "check_mode": check_mode,
        "prefix": prefix,
        "cloud_id": lambda: cloud_id,
        "diff": False,
    }


def leased(given):
    """The same for a run that asks its host before it writes elsewhere. Nobody waits."""
    state = LeasedState(given["state"], given["mine"], sleep=lambda _seconds: None)
    return {**given, "state": state, "leased": state}


def begun(runner, plan, about, run=None, ended=None):
    """Begin an operation at the host of a runner of steps, and carry it out: the journal, as it was closed."""
    given = lifecycle.Run(**life(runner.host, {}, "", mine=run or {}))
    return runner.forward(lifecycle.OpenJournal.open(given, plan, about, ended).journal)
