# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A guest that is off, and that Nova shows as running, is no candidate for a live migration: Nova would put it into
ERROR. One that runs is one. What was not read keeps the server where it is."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.placement import METHODS
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import power_state
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Finding, Override
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.moving_scene import REQUEST, Scene

ONE, TWO = guest(1, 1), guest(1, 2)


def said(status="ACTIVE", task=None, methods=METHODS, **domain):
    """What the check says of one server whose domain is changed so."""
    cloud = Scene().cloud
    facts = cloud.bundle.hosts["compute1"]
    rows = [dataclasses.replace(row, **domain) if row.uuid == ONE else row for row in facts.domains]
    server = next(row for row in cloud.rows("servers") if row.id == ONE)
    server = dataclasses.replace(server, status=status, task_state=task)
    facts = dataclasses.replace(facts, domains=rows)
    return list(power_state.check("compute1", [server], facts, methods))


@pytest.mark.parametrize("state", ["running", "paused", "blocked"])
def test_a_guest_that_runs_may_move_live(state):
    assert said(state=state) == []


@pytest.mark.parametrize("state", ["shutoff", "crashed", "shutdown", "pmsuspended", "nostate"])
@pytest.mark.parametrize("status", ["ACTIVE", "PAUSED"])
def test_a_guest_that_is_off_is_refused_while_nova_shows_it_as_running(status, state):
    (item,) = said(status, state=state)
    assert isinstance(item, Finding)
    assert (item.code, item.severity, item.object.id) == ("SG710", "blocker", ONE)
    assert item.evidence == {"status in Nova": status, "state in libvirt": state}


def test_a_stopped_server_moves_cold_whatever_libvirt_says():
    assert said("SHUTOFF", state="shutoff") == said("SHUTOFF", state="running") == []


def test_a_server_that_moves_cold_by_the_operators_word_may_be_off():
    assert said(state="shutoff", methods={"ACTIVE": "cold"}) == []


def test_a_server_with_a_task_is_left_to_its_own_finding():
    assert said(task="powering-off", state="shutoff") == []


def test_the_uuid_is_compared_in_any_spelling():
    assert len(said(uuid=ONE.upper(), state="shutoff")) == 1


def test_a_server_without_a_domain_stays_because_nova_would_take_its_migration_for_complete():
    (item,) = said(uuid=guest(9, 9))
    assert (item.code, item.object.id) == ("SG710", ONE)
    assert item.evidence["state in libvirt"] == "no domain"


def test_on_a_host_that_was_not_read_each_server_that_would_move_live_stays():
    servers = [row for row in Scene().cloud.rows("servers") if row.host == "compute1"]
    stopped = [dataclasses.replace(row, status="SHUTOFF") for row in servers]
    for facts in (None, dataclasses.replace(Scene().cloud.bundle.hosts["compute1"], domains=None)):
        found = list(power_state.check("compute1", servers, facts, METHODS))
        assert [(item.code, item.object.id) for item in found] == [("SG710", ONE), ("SG710", TWO)]
        assert {item.evidence["state in libvirt"] for item in found} == {"not read"}
        assert not list(power_state.check("compute1", stopped, facts, METHODS)), "cold, nobody has to run"


def off(scene, uuid):
    """The scene after a reboot of compute1: this guest did not start again."""
    rows = scene.cloud.bundle.hosts["compute1"].domains
    rows = [dataclasses.replace(row, state="shutoff") if row.uuid == uuid else row for row in rows]
    return scene._with(cloud=scene.cloud.host("compute1", domains=rows))


def judge(scene, request=REQUEST, overrides=()):
    return moves.preflight(scene.evidence(request.drain_host), request, overrides)


def test_a_drain_refuses_it_and_with_partial_moves_the_others():
    decision = judge(off(Scene(), ONE))
    assert [item.code for item in decision.refused(REQUEST, ())] == ["SG710"]
    assert [row.uuid for row in decision.assignments.assigned] == [TWO]
    assert not decision.refused(dataclasses.replace(REQUEST, partial=True), ())


def test_a_drain_takes_it_on_the_operators_word_or_cold():
    overrides = [Override("SG710", ONE, "it was started since")]
    assert not judge(off(Scene(), ONE), overrides=overrides).refused(REQUEST, overrides)
    cold = dataclasses.replace(REQUEST, live=False)
    assert not judge(off(Scene(), ONE), cold).refused(cold, ())


def test_a_silent_source_sends_nobody_live():
    """The host has just booted: ssh does not answer yet, and nova-compute does."""
    decision = judge(Scene().unread("compute1"))
    assert {item.code for item in decision.refused(REQUEST, ())} == {"SG710"}
    assert not decision.assignments.assigned
