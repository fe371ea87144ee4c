# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A drain of a host with OVN is green only where the chassis was read back under the new hostname."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnConnection, OvnEncap
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import PlanError
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import drain_plan as ovn_drain
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import drain_verify as after
from ansible_collections.stackguard.nova.tests.unit import builders, draining
from ansible_collections.stackguard.nova.tests.unit.builders import uid
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    chassis,
    ovn_fleet,
    switch_port,
    with_host,
    with_ids,
    with_ovn,
)
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

NEW = builders.NEW


@pytest.fixture
def some():
    """A host with OVN and a guest that can leave."""
    return ovn_fleet(guests=1)


def plan_of(some):
    return draining.plan_of(some.cloud, some.request)


def step_of(some, name="ovn_chassis"):
    return next(step for step in plan_of(some).steps if step.name == name)


def found(some):
    checked = draining.preflight(some.cloud, some.request)
    return {(item.code, item.severity) for item in checked.findings if "SG316" < item.code < "SG328"}


def read_again(some, **changes):
    """What both databases hold when all went well."""
    facts = some.cloud.bundle.databases.ovn
    rows = [chassis(1, NEW), *(row for row in facts.chassis if row.hostname != "compute1")]
    return dataclasses.replace(facts, **{"chassis": rows, "switch_ports": [], **changes})


def check(some, facts, **host):
    return after.check(step_of(some).params, facts, dataclasses.replace(some.cloud.bundle.hosts["compute1"], **host))


# --- before


def test_nothing_stands_against_a_drain_whose_chassis_can_be_verified(some):
    assert found(some) == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda some: dataclasses.replace(some, cloud=some.cloud.databases(ovn=None)), {("SG317", "blocker")}),
        (lambda some: with_ovn(some, chassis=None, unread=[Unread("ovn", "no answer")]), {("SG317", "blocker")}),
        (lambda some: with_ovn(some, switch_ports=None), {("SG317", "blocker")}),
        (lambda some: with_ovn(some, northd_ms=None), {("SG317", "blocker")}),
        (lambda some: with_host(some, ovs_external_ids=None), {("SG317", "blocker")}),
        (lambda some: with_ovn(some, chassis=[]), {("SG318", "blocker")}),
        (lambda some: with_ids(some, **{"system-id": "another"}), {("SG318", "blocker")}),
        (lambda some: with_ids(some, **{"system-id": "compute1"}), {("SG318", "blocker"), ("SG319", "blocker")}),
        (lambda some: with_host(some, ovs_version=None, rehearsal=None), {("SG320", "blocker")}),
        (lambda some: with_ovn(some, chassis=[chassis(1, "compute1.dc1")]), {("SG321", "blocker")}),
        (
            lambda some: with_ovn(some, connections=[OvnConnection("pssl:6642", "ovn-controller")]),
            {("SG325", "blocker")},
        ),
        (lambda some: with_ovn(some, switch_ports=[switch_port("stray", "compute1")]), {("SG324", "blocker")}),
    ],
    ids=[
        *(
            "no connection",
            "no answer",
            "ports unread",
            "northd paused",
            "Open vSwitch unread",
            "no chassis",
            "another chassis",
        ),
        *("named after the host", "rewritten at boot", "a full name", "RBAC", "a port that nobody takes along"),
    ],
)
def test_what_would_leave_the_chassis_wrong_or_unverified_refuses_before_the_first_guest_moves(some, change, expected):
    changed = change(some)
    assert expected <= found(changed)
    assert found(some) == set(), "the change alone makes it"


def test_signs_of_ovn_count_where_neutron_shows_no_agent(some):
    silent = dataclasses.replace(some, cloud=some.cloud.cloud(agents=[]).databases(ovn=None))
    assert found(silent) == {("SG317", "blocker")}


def unknown(some, agents):
    """Open vSwitch was not read, ovn-controller does not run, and there is no connection."""
    unread = [Unread("ovs_external_ids", "no answer")]
    hidden = with_host(some, ovs_external_ids=None, unread=unread, deployment=builders.with_open_vswitch())
    return dataclasses.replace(hidden, cloud=hidden.cloud.cloud(agents=agents).databases(ovn=None))


@pytest.mark.parametrize(
    "agents",
    [[], [builders.agent(1, "compute1", alive=False)], [builders.agent(1, "compute1", "NIC Switch agent", "sriov")]],
    ids=["none", "a dead leftover", "of another kind of port"],
)
def test_a_host_of_which_nothing_decides_is_refused(some, agents):
    """It counted as one without OVN: no step verified the chassis, and no note said so."""
    hidden = unknown(some, agents)
    assert found(hidden) == {("SG317", "blocker")}
    plan = plan_of(hidden)
    assert "ovn_chassis" not in {step.name for step in plan.steps}
    assert ovn_drain.NOT_KNOWN in plan.notes, "an override passes the finding, and the plan says what that means"


def test_a_host_on_which_no_open_vswitch_runs_is_decided(some):
    """A host of the lab without agents, or of Calico."""
    hidden = with_host(unknown(some, []), deployment=builders.packages())
    assert found(hidden) == set()
    assert ovn_drain.NOT_KNOWN not in plan_of(hidden).notes


def test_a_host_with_another_agent_that_binds_ports_is_decided(some):
    hidden = unknown(some, [builders.agent(1, "compute1", "Linux bridge agent", "neutron-linuxbridge-agent")])
    assert found(hidden) == set()
    assert ovn_drain.NOT_KNOWN not in plan_of(hidden).notes


def test_a_host_without_ovn_needs_none_of_it():
    from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

    other = fleet(guests=1)
    assert found(other) == set()
    assert not {"ovn_chassis", "ovn_agents"} & {step.name for step in plan_of(other).steps}


# --- the plan


def test_the_chassis_is_verified_before_the_new_service_is_enabled(some):
    names = [step.name for step in plan_of(some).steps]
    assert names[names.index("aggregates") :] == ["aggregates", "ovn_chassis", "ovn_agents", "audit", "enable_service"]
    assert step_of(some, "ovn_agents").params["agents"] == [uid("system", 1)]
    params = step_of(some).params
    assert (params["chassis"]["name"], params["encaps"], params["rbac"]) == (
        uid("system", 1),
        [["geneve", "192.0.2.1"]],
        False,
    )


def test_the_last_steps_prove_the_chassis_again(some):
    """A run that resumes at one of them does not carry out the step before it."""
    proof = step_of(some).params
    assert [step_of(some, name).params["ovn"] for name in ("audit", "enable_service")] == [proof, proof]
    other = dataclasses.replace(some, cloud=some.cloud.databases(ovn=None))
    assert [step_of(other, name).params["ovn"] for name in ("audit", "enable_service")] == [None, None]


def test_an_override_of_sg317_leaves_the_agents_and_says_what_is_not_verified(some):
    plan = plan_of(dataclasses.replace(some, cloud=some.cloud.databases(ovn=None)))
    names = [step.name for step in plan.steps]
    assert "ovn_chassis" not in names
    assert "ovn_agents" in names
    assert ovn_drain.NOT_VERIFIED in plan.notes


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "exactly-one-chassis"),
        ([chassis(1, "compute1"), chassis(2, "compute1")], "exactly-one-chassis"),
        ([chassis(1, "compute1"), chassis(2, NEW)], "another-chassis-already"),
    ],
)
def test_no_override_makes_a_plan_without_exactly_one_chassis(some, rows, problem):
    with pytest.raises(PlanError, check=problem_is(problem)):
        plan_of(with_ovn(some, chassis=rows))


def test_the_key_that_counts_first_changes_too(some):
    """ovn-controller reads hostname-SYSTEM_ID before hostname: with the old name in it the chassis would keep it."""
    key = f"hostname-{uid('system', 1)}"
    changed = step_of(with_ids(some, **{key: "compute1"}), "host_names").params["ovs_external_ids"]
    assert {name: value["after"] for name, value in changed.items()} == {key: NEW, "hostname": NEW}


# --- after


def test_the_same_chassis_under_the_new_name_has_nothing_to_tell(some):
    assert check(some, read_again(some)) == after.Checked()


WRONG = {
    "the chassis keeps the old hostname": ({"SG318", "SG322"}, {"chassis": [chassis(1, "compute1")]}),
    "no chassis": ({"SG318"}, {"chassis": []}),
    "two of the new name": ({"SG318"}, {"chassis": [chassis(1, NEW), chassis(9, NEW)]}),
    "another chassis": ({"SG318"}, {"chassis": [chassis(9, NEW)]}),
    "the old one, too": ({"SG322"}, {"chassis": [chassis(1, NEW), chassis(9, "compute1")]}),
    "another tunnel": (
        {"SG318"},
        {"chassis": [dataclasses.replace(chassis(1, NEW), encaps=[OvnEncap("geneve", "192.0.2.99")])]},
    ),
    "a port asks for the old host": ({"SG322"}, {"switch_ports": [switch_port("port", "compute1")]}),
    "a gateway's port, which OVN does not bind by it": (
        set(),
        {"switch_ports": [dataclasses.replace(switch_port("port", "compute1"), type="router")]},
    ),
    "a port in transit": ({"SG322"}, {"switch_ports": [switch_port("port", "compute2,compute1")]}),
}


@pytest.mark.parametrize("how", WRONG)
def test_what_is_wrong_after_the_drain_is_a_blocker(some, how):
    codes, changes = WRONG[how]
    checked = check(some, read_again(some, **changes))
    assert {(item.code, item.severity) for item in checked.findings} == {(code, "blocker") for code in codes}


def test_another_system_id_after_the_drain_is_a_blocker(some):
    checked = check(some, read_again(some), ovs_external_ids={"system-id": "renamed1"})
    assert [(item.code, item.severity) for item in checked.findings] == [("SG318", "blocker")]


@pytest.mark.parametrize("part", ["chassis", "switch_ports"])
def test_what_was_not_read_after_the_drain_is_no_proof(some, part):
    checked = check(some, read_again(some, **{part: None}, unread=[Unread("ovn", "no answer")]))
    assert [(item.code, "no answer" in item.reason) for item in checked.unchecked] == [("SG317", True)]


def test_open_vswitch_unread_after_the_drain_is_no_proof(some):
    checked = check(some, read_again(some), ovs_external_ids=None, unread=[Unread("ovs_external_ids", "no ovs-vsctl")])
    assert [(item.code, "no ovs-vsctl" in item.reason) for item in checked.unchecked] == [("SG317", True)]


def test_a_label_of_a_stopped_guest_is_neutrons_own(some):
    """Neutron writes neutron:host_id when a port goes up: that of a stopped guest keeps the old name."""
    assert (
        check(some, read_again(some, switch_ports=[switch_port("port", "compute2", host_id="compute1")]))
        == after.Checked()
    )
