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

RELEASES = recorded.releases()
RECORDS = {release: [(entry, recorded.bundle(entry)) for entry in recorded.records(release)] for release in RELEASES}
NEWEST = "2026.2"


def all_records():
    return [(release, *pair) for release in RELEASES for pair in RECORDS[release]]


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_forecast_is_what_happened(release):
    found = {entry["seed"]: recorded.differences(entry, some) for entry, some in RECORDS[release]}
    wrong = {seed: text for seed, text in found.items() if text}
    assert not wrong, wrong


def test_enough_states_of_each_release_were_recorded():
    assert {release: len(RECORDS[release]) for release in RELEASES} == {}
