# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doctor over what OVN's databases answered: ok only where a change was permitted by a database that is known."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.doctor import checks as whole
from ansible_collections.stackguard.nova.plugins.module_utils.doctor import ovn as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor import (
    FAILED,
    NOT_CHECKED,
    OK,
    Asked,
    CloudState,
    DatabasesState,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor_ovn import OvnDatabaseState, OvnState

ASKED = Asked(operations=["rename_host"])
NB = OvnDatabaseState("northbound", "tcp:192.0.2.1:6641", writable=True)
SB = OvnDatabaseState("southbound", "tcp:192.0.2.1:6642", writable=True)
OVN, OVS = ["OVN Controller agent"], ["Open vSwitch agent"]
OTHERS = ["DHCP agent", "NIC Switch agent"]


def judged(state, asked=ASKED, agents=None, alive=None):
    cloud = CloudState(agents=agents, alive_agents=list(agents or []) if alive is None else alive)
    found = checks.judge(asked, state, cloud)
    assert all(result.seen for result in found)
    assert all(result.fix for result in found if result.state == FAILED), "what failed has its command"
    return {(result.subject, result.part): result for result in found}


def test_two_databases_that_permit_changes_are_ok():
    found = judged(OvnState([NB, SB]))
    assert {result.state for result in found.values()} == {OK}
    assert len(found) == 4


@pytest.mark.parametrize(
    ("changes", "part", "state", "words"),
    [
        ({"problem": "no answer"}, "ovn_database", FAILED, "ovn_sb_connection"),
        ({"lacking": ["Port_Binding.up"]}, "ovn_database", FAILED, "upgrade OVN"),
        ({"silent": {"tcp:192.0.2.2:6642": "refused"}}, "ovn_database", NOT_CHECKED, ""),
        ({"writable": False, "reason": "RBAC rules prohibit"}, "ovn_rights", FAILED, "ovn-sbctl --columns=target,role"),
        ({"writable": None, "reason": "there is no chassis"}, "ovn_rights", NOT_CHECKED, ""),
        ({"writable": None}, "ovn_rights", NOT_CHECKED, ""),
    ],
)
def test_each_failure_comes_with_what_fixes_it_and_what_is_unknown_is_not_ok(changes, part, state, words):
    found = judged(OvnState([NB, dataclasses.replace(SB, **changes)]))
    wrong = found["ovn southbound", part]
    assert wrong.state == state
    assert words in wrong.fix
    assert {result.state for (subject, _part), result in found.items() if subject == "ovn northbound"} == {OK}


def test_a_database_that_was_not_reached_has_no_rights():
    assert (
        judged(OvnState([NB, dataclasses.replace(SB, problem="x", writable=None)]))[
            "ovn southbound", "ovn_rights"
        ].state
        == NOT_CHECKED
    )


def test_an_option_that_is_missing_is_a_failure():
    found = judged(OvnState(problem="ovn_sb_connection is not set", fix="set it"))
    assert (found["ovn", "ovn_database"].state, found["ovn", "ovn_rights"].state) == (FAILED, NOT_CHECKED)


@pytest.mark.parametrize(
    ("operations", "agents", "state"),
    [
        (["rename_host"], OVN, FAILED),
        (["rename_host"], OVS, OK),
        (["rename_host"], [], NOT_CHECKED),
        (["rename_host"], None, NOT_CHECKED),
        (["rename_host"], OTHERS, NOT_CHECKED),
        (["rename_host", "audit"], OVN, FAILED),
        (["audit"], OVN, NOT_CHECKED),
        (["return_host"], OVN, NOT_CHECKED),
        (["evacuate_host"], OVN, NOT_CHECKED),
        (["return_host", "evacuate_host", "audit"], [], NOT_CHECKED),
        (["return_host", "evacuate_host", "audit"], OTHERS, NOT_CHECKED),
        (["return_host", "evacuate_host", "audit"], [*OTHERS, "Linux bridge agent"], OK),
        (["repair_links"], OVN, OK),
    ],
)
def test_without_connections_it_depends_on_operation_and_agents(operations, agents, state):
    """An empty list of agents proves nothing: neutron makes OVN's agents up from events."""
    found = judged(None, Asked(operations=operations), agents)
    assert found["ovn", "ovn_database"].state == state
    assert (found["ovn", "ovn_rights"].state == OK) == (state == OK)


def test_a_dead_agent_proves_nothing():
    """It is what a change from Open vSwitch to OVN leaves behind."""
    assert judged(None, agents=OVS, alive=[])["ovn", "ovn_database"].state == NOT_CHECKED


def test_a_rename_with_ovn_needs_neutrons_database():
    """It counted as not needed: no host has an L2 agent. The rename then refuses with SG317."""
    found = whole.judge(Asked(["databases"], ["rename_host"]), CloudState(agents=OVN), DatabasesState(), [], None)
    (neutron,) = [result for result in found if result.subject == "neutron"]
    assert (neutron.state, "OVN Controller agent" in neutron.seen) == (FAILED, True)
