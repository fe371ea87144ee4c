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
    assert len(CASES["2026.2"]) >= 50
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


#: What was recorded less than three times so far: more states of the newest release, and 2024.1 and 2023.1, are wanted.
RARE = {
    "a new service",
    "guest: _init_instance: rebooted",
    "guest: _sync_power_states: powered off",
    "node: created",
    "node: undeleted",
    "refuses: _check_cpu_compatibility",
    "refuses: _check_multipath",
    "refuses: _check_vtpm_support",
    "refuses: _get_nodes",
    "refuses: set_service_ref",
}


def test_every_rule_and_every_outcome_occurs_three_times_but_for_those_that_are_known_to_be_rare():
    seen = collections.Counter(name for case in EVERY for name in set(forecasts.outcomes(case.told())))
    assert {name for name, number in seen.items() if number < 3} == RARE


#: Rules that no recorded state shows so far. States that do are in labkit/hoststates.py (CROWDS), or need another
#: release, or evidence that the lab never lacks. A rule that is not here must be shown.
UNSHOWN = {
    "recovery": {
        *("_RUNNING: blocked", "_OFF: shutdown", "_OFF: crashed", "_synced: in 'nostate'"),
        *("_BUILDING: scheduling", "_BUILDING: block_device_mapping", "_BUILDING: networking", "_BUILDING: spawning"),
        "_REBUILDING: rebuild_block_device_mapping",
        *("_CLEARED: image_snapshot_pending", "_CLEARED: image_pending_upload", "_CLEARED: image_uploading"),
        *("_CLEARED: image_snapshot", "_CLEARED: resize_prep", "_SOFT: rebooting", "_SOFT: reboot_started"),
        *("_ASKED: rebooting", "_ASKED: rebooting_hard", "_HARD_REBOOT_FROM: active", "_HARD_REBOOT_FROM: suspended"),
        "recovery: or state == 'soft-delete'",
        "recovery: or task in _BUILDING",
        "recovery: and state != 'error'",
        *("_partial: never None", "_partial: always None"),
        *("reaping: and bool(releases)", "reaping: and min(releases) >= _SHUTDOWN_FAILS_SINCE"),
        *("reaping: and vain or state in _OFF", "reaping: or state in _OFF"),
        "reaping: never f'at least {seconds} s after the deletion of the server (running_deleted_instance_timeout)'",
        "reaping: always f'at least {seconds} s after the deletion of the server (running_deleted_instance_timeout)'",
        *("reaping: never None", "reaping: always None", "_retried: or max(around.releases) >= _REBOOTING_SINCE"),
        "_carried_on: or around.state in _OFF",
        *("_synced: and row.vm_state == 'active'", "_compared: in 'migrating'"),
        "_compared: and interval is None or interval >= 0",
    },
    "forecast": {
        *("_fate: and facts.nova_conf.images_type == 'rbd'", "_fate: or str(record.id)"),
        "_fate: if live is not None and live.vm_state == 'deleted'",
        "_half_deleted: never reaping(facts.nova_conf, domain.state, releases)",
        "_half_deleted: always reaping(facts.nova_conf, domain.state, releases)",
        *("_half_deleted: never None", "refusal: if release < REFUSES_SINCE"),
        "_duplicate: or self._was_deleted()",
        "_unusable_files: if not same_uuid(entry.uuid, files[0].uuid)",
        "_duplicate: or row.hypervisor_hostname == name",
        "_uuid: and (self.service.version or 0) < NODE_IDENTITY_VERSION",
        "_uuid: never self._named[0].uuid",
        *("nodes: always self._orphans(release)", "_own_nodes: never self._own()", "_own_nodes: always self._own()"),
        *("_own_nodes: and release >= REFUSES_SINCE", "_own_nodes: always self._uuid()", "_orphans: never ORPHANED"),
        "_processed: if not self._index.cells_read('instances') or not self._index.cells_read('migrations')",
        "_processed: or not self._index.cells_read('instances')",
        "_processed: or not self._index.cells_read('migrations')",
        "refusal_by_orphan: if not any((same_uuid(provider.uuid, node.uuid) for provider in cloud.providers))",
    },
}


def test_settings_that_refuse_and_what_is_in_doubt_were_recorded():
    """R09 and H8 on a real Nova 34; what is in doubt there is only what the table says."""
    told = {case.entry["seed"]: case.told() for case in CASES["2026.2"]}
    about = {case.entry["seed"]: case.entry["about"] for case in CASES["2026.2"]}
    found = collections.Counter(
        (about[seed], entry["refusal"]["rule"] if entry["refusal"] else entry["outcome"])
        for seed, entry in told.items()
    )
    assert found["cpus for pinned guests", "_validate_pinning_configuration"] >= 3
    assert sum(number for (kind, _rule), number in found.items() if kind == "variable in ExecStart") >= 6
    doubted = {kind for kind, rule in found if rule == "unknown"}
    assert doubted == {
        *("cpus for pinned guests, no guests", "cpus for unpinned guests", "provider config", "broker gone"),
    }
    # Evacuated guests go before the refusal.
    assert [seed for seed, entry in told.items() if about[seed] == "cpus for pinned guests" and entry["guests"]]


@pytest.mark.matrix
@pytest.mark.parametrize("module", ["recovery", "forecast"])
def test_without_any_one_rule_a_recorded_forecast_is_wrong(module):
    """A rule that is written tomorrow needs a state that shows it, or its place in UNSHOWN."""
    found = removed.removals(f"{removed.PACKAGE}.hazards.{module}", FINDINGS)
    assert {name for name, make in found if not wrong(make)} == UNSHOWN[module]


#: Functions that do not forecast: they tell findings, or a forecast in words; and what asks whether all was read.
FINDINGS = ("restart", "_judged", "_records", "unknown_start", "_missing", "_told", "told", "destroys", "start")


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
