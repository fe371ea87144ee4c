# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a removal: what is provably the host's goes, what may be needed stays and is named, others' is left."""

from __future__ import annotations

import dataclasses
import random

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import waiting
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import (
    OvnChassis,
    OvnEncap,
    OvnFacts,
    OvnPortBinding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.remove import plan as plans
from ansible_collections.stackguard.nova.tests.unit.builders import AT, address, guest, healthy, node, uid
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_remove import HOST, dead
from ansible_collections.stackguard.nova.tests.unit.checks.hazards.test_removed_hosts import (
    agent,
    gone,
    provider,
)
from ansible_collections.stackguard.nova.tests.unit.removing import StepError, World, attested

HELD = {"VCPU": 1}


def names_left(world, name):
    """Every row, but deleted ones, that still has the name."""
    some = world.some
    rows = [
        *((row.host, row.deleted) for row in some.rows("services")),
        *((row.host, row.deleted) for row in some.rows("compute_nodes")),
        *((row.host, 0) for row in [*some.rows("host_mappings"), *some.rows("aggregate_hosts")]),
        *((row.host, 0) for row in [*some.rows("api_services"), *some.rows("agents")]),
        *((host, 0) for row in some.rows("aggregates") for host in row.hosts),
        *((row.name, 0) for row in [*some.rows("providers"), *(some.bundle.cloud.ha_hosts or [])]),
    ]
    return [host for host, deleted in rows if host == name and not deleted]


def test_a_host_that_is_down_goes_from_everywhere(monkeypatch):
    world = World(dead(), monkeypatch)
    assert world.remove(HOST).findings == ()
    assert names_left(world, HOST) == [] and HOST in world.emptied
    assert all(names_left(world, name) for name in ("compute1", "compute2"))


def test_what_a_service_left_that_is_deleted_already_goes_row_by_row(monkeypatch):
    places = ("host mapping", "aggregates", "resource providers", "network agents", "hosts of Masakari")
    world = World(gone(healthy(guests=1), "compute9", *places), monkeypatch)
    assert names_left(world, "compute9")
    assert world.remove("compute9").findings == ()
    assert names_left(world, "compute9") == []


def test_killed_after_any_step_the_same_plan_goes_on(monkeypatch):
    plan = World(dead(), monkeypatch).plan(HOST)
    for cut in range(len(plan.steps) + 1):
        world = World(dead(), monkeypatch)
        world.go(plan, attested(HOST), cut)
        world.go(plan, attested(HOST))
        assert names_left(world, HOST) == [], cut


def test_each_step_reads_again_and_stops_at_what_has_changed(monkeypatch):
    world = World(dead(), monkeypatch)
    plan = world.plan(HOST)
    row = dataclasses.replace(world.some.rows("instances")[0], id=900, uuid=uid("new"), host=HOST)
    world.some = world.some.add("instances", row)
    before = world.some
    with pytest.raises(StepError):
        world.go(plan, attested(HOST))
    assert world.some == before


def test_without_the_attestation_a_resume_goes_no_further(monkeypatch):
    world = World(dead(), monkeypatch)
    before = world.some
    with pytest.raises(StepError):
        world.go(world.plan(HOST), [])
    assert world.some == before


def test_a_node_that_was_not_planned_keeps_its_service(monkeypatch):
    world = World(dead(), monkeypatch)
    plan = world.plan(HOST)
    plan.steps[0].params["nodes"] = []
    with pytest.raises(StepError):
        world.go(plan, attested(HOST))
    assert world.find_service(None, HOST)


def test_a_server_that_only_its_nodes_id_ties_to_the_host_keeps_its_service(monkeypatch):
    world = World(dead(), monkeypatch)
    plan = world.plan(HOST)
    (own,) = plan.steps[0].params["nodes"]
    world.some = world.some.change("instances", {"uuid": guest(1, 1)}, compute_id=own)
    with pytest.raises(StepError):
        world.go(plan, attested(HOST))
    assert world.find_service(None, HOST)


def test_rows_stay_while_the_host_has_a_service(monkeypatch):
    world = World(dead(), monkeypatch)
    (rows,) = [step for step in world.plan(HOST).steps if step.action == "delete_rows"]
    with pytest.raises(StepError):
        world.go(dataclasses.replace(world.plan(HOST), steps=[rows]), attested(HOST))
    assert names_left(world, HOST)


# --- providers


def held_by(consumer, monkeypatch, some=None, **world):
    """The provider of compute9 has something of this consumer."""
    row = dataclasses.replace(provider("compute9", 90), allocations={consumer: HELD})
    return World(gone(some or healthy(guests=1), "compute9").add("providers", row), monkeypatch, **world)


def test_the_part_of_a_server_that_lives_elsewhere_goes_and_the_rest_stays(monkeypatch):
    world = held_by(guest(2, 1), monkeypatch)
    assert world.remove("compute9").findings == ()
    (own,) = [row for row in world.some.rows("providers") if row.uuid == node(2)]
    assert guest(2, 1) in own.allocations


def test_the_part_of_a_deleted_server_and_of_an_ended_migration_goes(monkeypatch):
    row = dataclasses.replace(healthy(guests=1).rows("instances")[0], id=900, uuid=uid("old"), deleted=900)
    assert held_by(uid("old"), monkeypatch, healthy(guests=1).add("instances", row)).remove("compute9").findings == ()
    ended = {uid("migration", 5): guest(1, 1)}
    assert held_by(uid("migration", 5), monkeypatch, ended=ended).remove("compute9").findings == ()


@pytest.mark.parametrize(
    "some",
    [
        healthy(guests=1),
        healthy(guests=1).change("instances", {"uuid": guest(2, 1)}, task_state="unshelving"),
        healthy(guests=1).change("instances", {"uuid": guest(2, 1)}, host=None, task_state=None),
        healthy(guests=1).migrate(guest(2, 1), "compute2", "compute1", "running", "live-migration"),
    ],
    ids=["a stranger", "at work", "on no host", "moving"],
)
def test_what_may_be_needed_stays_and_is_named(some, monkeypatch):
    stranger = some == healthy(guests=1)
    world = held_by(uid("stranger") if stranger else guest(2, 1), monkeypatch, some)
    before = world.some.rows("providers")
    (item,) = world.remove("compute9").findings
    assert (item.code, list(item.evidence["left in"])) == ("SG331", ["resource providers"])
    assert world.some.rows("providers") == before


def test_children_go_before_their_parent(monkeypatch):
    root = dataclasses.replace(provider("compute9", 90), allocations={})
    child = facts.ResourceProvider(uid("child"), "compute9_pci", 1, root.uuid, root.uuid, {}, [])
    below = facts.ResourceProvider(uid("below"), "compute9_pci_1", 1, root.uuid, child.uuid, {}, [])
    world = World(gone(healthy(guests=1), "compute9").add("providers", root, child, below), monkeypatch)
    assert world.remove("compute9").findings == ()
    assert not [row for row in world.some.rows("providers") if row.name.startswith("compute9")]


def test_a_provider_without_a_trait_of_nova_and_one_of_another_uuid_are_never_touched(monkeypatch):
    plain = dataclasses.replace(provider("compute9", 90), has_compute_trait=False, allocations={})
    other = dataclasses.replace(provider("compute9", 90), uuid=uid("shared"), root_provider_uuid=uid("shared"))
    world = World(gone(healthy(guests=1), "compute9").add("providers", plain, other), monkeypatch)
    before = world.some.rows("providers")
    world.remove("compute9")
    assert world.some.rows("providers") == before


# --- agents


@pytest.mark.parametrize(("looks", "ends"), [(0, True), (5, True), (10**6, False)])
def test_an_agent_that_neutron_still_shows_for_a_while_is_waited_for(monkeypatch, looks, ends):
    """With OVN, each neutron-server follows the southbound database by itself."""
    world = World(dead(), monkeypatch)
    plan, world.late = world.plan(HOST), looks
    if ends:
        world.go(plan, attested(HOST))
        assert names_left(world, HOST) == []
        return
    with pytest.raises(StepError):
        world.go(plan, attested(HOST))


def with_ovn(some, *bindings, gateways=()):
    row = OvnChassis(uid("row"), uid("agent", 90), "compute9", [OvnEncap("geneve", address(90))])
    return some.databases(ovn=OvnFacts(AT, ["compute9"], [row], list(bindings), [], list(gateways), []))


def of_ovn(**changes):
    row = dataclasses.replace(agent("compute9", 90, alive=False), agent_type="OVN Controller agent")
    return gone(healthy(guests=1), "compute9").add("agents", dataclasses.replace(row, **changes))


BOUND = OvnPortBinding(uid("pb"), uid("port"), "", uid("row"), None, None, True)


@pytest.mark.parametrize(
    ("some", "stays"),
    [
        (with_ovn(of_ovn()), False),
        (of_ovn(), True),
        (with_ovn(of_ovn(), BOUND), True),
        (with_ovn(of_ovn(), gateways=[uid("agent", 90)]), True),
        (with_ovn(of_ovn(id=uid("another"))), True),
        (of_ovn(agent_type="Open vSwitch agent"), False),
        (of_ovn(agent_type="DHCP agent"), True),
    ],
    ids=["free", "OVN unread", "bound", "gateway", "another chassis", "L2", "network node"],
)
def test_an_agent_goes_if_nothing_needs_it(some, stays, monkeypatch):
    world = World(some, monkeypatch)
    world.remove("compute9")
    assert bool(world.agents_now(None, "compute9")) is stays


def test_an_agent_stays_while_a_port_is_bound_to_the_host(monkeypatch):
    some = of_ovn(agent_type="Open vSwitch agent")
    port = dataclasses.replace(some.rows("ports")[0], binding_host_id="compute9")
    world = World(some.add("ports", port), monkeypatch)
    assert world.remove("compute9").findings and world.agents_now(None, "compute9")


# --- queues


@pytest.mark.parametrize(
    ("method", "place", "goes"),
    [
        ("stop_instance", waiting.ELSEWHERE, True),
        ("external_instance_event", waiting.UNKNOWN, True),
        ("rebuild_instance", waiting.ELSEWHERE, False),
        ("stop_instance", waiting.UNKNOWN, False),
        ("what_is_this", waiting.ELSEWHERE, False),
    ],
)
def test_queues_go_if_nobody_misses_what_waits_there(method, place, goes, monkeypatch):
    world = World(gone(healthy(guests=1), "compute9", "host mapping"), monkeypatch)
    request = facts.QueuedRequest("compute.compute9", "m1", method, "req-1", [guest(2, 1)])
    world.left_queues["compute9"] = waiting.judge([request], {guest(2, 1): waiting.Whereabouts(place, "compute2")})
    world.remove("compute9")
    assert ("compute9" in world.emptied) is goes


# --- what is kept


@pytest.mark.parametrize("word", plans.KEPT)
def test_what_is_to_stay_stays_and_is_no_failure(word, monkeypatch):
    places = ("host mapping", "resource providers", "network agents", "hosts of Masakari")
    some = gone(healthy(guests=1), "compute9", *places)
    world = World(some, monkeypatch)
    assert world.remove("compute9", keep=[word]).findings == ()
    left = {plans.PROVIDERS: 1, plans.AGENTS: 1, plans.MASAKARI: 1, plans.QUEUES: 0}[word]
    assert len(names_left(world, "compute9")) == left
    assert ("compute9" in world.emptied) is (word != plans.QUEUES)


# --- whole clouds


@pytest.mark.parametrize("seed", range(20))
def test_random_leftovers_go_and_nothing_else_is_touched(seed, monkeypatch):
    """Names that are parts of each other, in short, full and upper case; each cut somewhere and carried on."""
    rng = random.Random(seed)
    ours = ("host mapping", "aggregates", "resource providers", "network agents", "hosts of Masakari")
    words = [
        "compute",
        "compute10",
        "c",
        "compute1a",
        "acompute1",
        "ute1",
        "computes.dc1",
        "NODE-compute2",
        "compute12",
    ]
    some, names = healthy(hosts=rng.randint(3, 9), guests=1), rng.sample(words, rng.randint(2, len(words)))
    for number, name in enumerate(names, 60):
        some = gone(some, name, *rng.sample(ours, rng.randint(1, len(ours))), number=number)
    mine = sorted(rng.sample(names, rng.randint(1, len(names) - 1)))
    others = [name for name in (*names, "compute1", "compute2") if name not in mine]
    world = World(some, monkeypatch)
    before = {name: names_left(world, name) for name in others}
    untouched = {key: world.some.rows(key) for key in ("instances", "ports", "migrations", "servers")}
    plan = world.plan(*mine)
    world.go(plan, attested(*mine), rng.randrange(len(plan.steps)))
    world.go(plan, attested(*mine))
    assert [names_left(world, name) for name in mine] == [[]] * len(mine)
    assert {name: names_left(world, name) for name in others} == before
    assert {key: world.some.rows(key) for key in untouched} == untouched
    assert world.emptied == set(mine)
