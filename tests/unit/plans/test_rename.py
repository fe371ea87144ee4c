# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a rename in place: what it may touch, in which order, and that it can be taken back."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import from_plain, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.network_agents import OVN_AGENTS
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import (
    CONTROLLER,
    HOST,
    Plan,
    PlanError,
    RowChange,
)
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet, fleets

IDENTITIES = {"id", "uuid", "service_id", "compute_id", "deleted", "aggregate_id", "cell_id"}


def plan_of(some):
    return rename.plan(some.cloud.bundle, some.request)


def named(plan):
    return {step.name: step for step in plan.steps}


def rows_of(plan):
    return [
        from_plain(RowChange, row)
        for step in plan.steps
        if step.action in ("cell_rows", "api_rows")
        for row in step.params["rows"]
    ]


def tables(bundle):
    """Every row that was read: (database, table, id) to its columns."""
    found = {}
    for cell in bundle.databases.cells:
        for table in ("services", "compute_nodes", "instances"):
            for row in getattr(cell, table):
                found[f"cell:{cell.name}", table, row.id] = dataclasses.asdict(row)
        found.update(declared_rows(f"cell:{cell.name}", cell))
    for table in ("host_mappings", "aggregate_hosts"):
        for row in getattr(bundle.databases.api, table):
            found["api", table, row.id] = dataclasses.asdict(row)
    found.update(declared_rows("api", bundle.databases.api))
    return found


def declared_rows(database, owner):
    """The rows of tables that places declare."""
    return {(database, table, row.id): dict(row.values) for table, rows in owner.name_rows.items() for row in rows}


def write(world, changes):
    """Do what the databases do: refuse a row that is not as it was read, else change it."""
    for change in changes:
        row = world[change.database, change.table, change.key]
        assert {column: row[column] for column in change.before} == change.before
        row.update(change.after)


@given(fleets())
def test_apply_then_undo_is_the_identity(some):
    plan, world = plan_of(some), tables(some.cloud.bundle)
    before = json.dumps([sorted(map(str, row.items())) for row in world.values()])
    write(world, rows_of(plan))
    assert json.dumps([sorted(map(str, row.items())) for row in world.values()]) != before
    write(world, [row.reversed() for row in reversed(rows_of(plan))])
    assert json.dumps([sorted(map(str, row.items())) for row in world.values()]) == before


@given(fleets())
def test_no_step_touches_what_was_not_read_and_no_identity_changes(some):
    plan, world = plan_of(some), tables(some.cloud.bundle)
    for row in rows_of(plan):
        read = world[row.database, row.table, row.key]
        assert {column: read[column] for column in row.before} == row.before
        assert set(row.after) <= set(row.before)
        assert not IDENTITIES & set(row.after)
    cloud = some.cloud.bundle.cloud
    providers = {provider.uuid: provider.name for provider in cloud.providers}
    for entry in named(plan)["placement"].params["providers"]:
        assert providers[entry["uuid"]] == entry["before"]
    ports = {port.id: port.binding_host_id for port in cloud.ports}
    for step in plan.steps:
        if step.action == "neutron":
            assert all(ports[port["id"]] == some.old for port in step.params["ports"])


@given(fleets())
def test_every_row_of_the_host_gets_the_new_name_and_no_other_row_does(some):
    plan, world = plan_of(some), tables(some.cloud.bundle)
    concerned = {
        key for key, row in world.items() if row.get("host") == some.old and not row.get("deleted") and key[1] != "x"
    }
    write(world, rows_of(plan))
    assert {(row.database, row.table, row.key) for row in rows_of(plan)} == concerned
    for key in concerned:
        row = world[key]
        assert row["host"] == some.new
        if "hypervisor_hostname" in row:
            assert row["hypervisor_hostname"] == some.new_node
        if "node" in row:
            assert row["node"] == some.new_node
    assert not [row for row in world.values() if row.get("host") == some.old and not row.get("deleted")]


@given(fleets())
def test_the_order_that_keeps_guests_safe(some):
    order = [step.name for step in plan_of(some).steps]

    def before(*wanted):
        present = [name for name in wanted if name in order]
        assert present == sorted(present, key=order.index)

    before("disable_service", "stop_compute", "stop_agents", "cell_database", "api_database", "placement", "neutron")
    before("neutron", "host_names", "start_agents", "agents_alive", "guests", "start_compute", "compute_up")
    before("compute_up", "guests_after", "lost_requests", "audit", "unlock_guests", "enable_service")
    before("disable_service", "lock_guests", "settle", "stop_compute")
    before("cell_database", "no_evacuation", "start_compute")
    # What is taken back goes the other way: looked for before nova-compute starts under the old name, too.
    before("stop_compute", "no_evacuation_before", "cell_database")
    assert order[0] == "disable_service"
    assert order[-1] == "enable_service"


@given(fleets())
def test_steps_that_need_credentials_run_on_the_controller_and_none_of_them_is_in_a_plan(some):
    plan = plan_of(some)
    for step in plan.steps:
        on_host = step.action in ("stop_units", "start_units", "host_names")
        assert step.where == (HOST if on_host else CONTROLLER)
    assert "://" not in json.dumps(to_plain(plan)).replace("qemu:///system", "")


@given(fleets())
def test_a_plan_survives_the_journal_unchanged(some):
    plan = plan_of(some)
    stored = json.loads(json.dumps(runner.new_journal(plan, {}, "2026-01-01T00:00:00Z")))
    assert runner.plan_of(stored) == plan
    assert from_plain(Plan, to_plain(plan)) == plan


@given(fleets())
def test_the_same_evidence_gives_the_same_plan(some):
    assert plan_of(some) == plan_of(some)


@settings(max_examples=50)
@given(fleets(), st.sampled_from([("enabled", "left from before"), ("disabled", None), ("disabled", "broken fan")]))
def test_the_service_gets_back_the_status_that_it_had(some, had):
    status, reason = had
    cloud = some.cloud.change("api_services", {"host": some.old}, status=status, disabled_reason=reason)
    steps_by_name = named(rename.plan(cloud.bundle, some.request))
    assert steps_by_name["enable_service"].params["after"] == {"status": status, "reason": reason}
    assert steps_by_name["disable_service"].params["after"]["reason"] == "stackguard:rename:0123456789ab"


def without_database(some, **changes):
    return rename.plan(some.cloud.bundle, dataclasses.replace(some.request, has_neutron_db=False, **changes))


@given(fleets(l2_agents=True))
def test_without_neutrons_database_ports_follow_an_agent_that_registers_anew(some):
    plan = without_database(some)
    order = [step.name for step in plan.steps]
    around = [
        "disable_service",
        "lock_guests",
        "settle",
        "guests_settled",
        "stop_compute",
        "no_evacuation_before",
        "ports_home",
        "stop_agents",
        "cell_database",
        "api_database",
    ]
    around += ["placement", "host_names", "start_agents", "new_agents", "ports", "delete_agents", "guests"]
    around += ["no_evacuation", "start_compute", "compute_up", "guests_after", "lost_requests", "audit"]
    around += ["unlock_guests", "enable_service"]
    assert order == around
    # Taken back, in this order: agents of the old name run, ports go home to them, then nova-compute starts.
    backwards = order[::-1]
    assert backwards.index("stop_agents") < backwards.index("ports_home") < backwards.index("stop_compute")
    by_name, cloud = named(plan), some.cloud.bundle.cloud
    mine = {port.id for port in cloud.ports if port.binding_host_id == some.old}
    for name in ("ports_home", "ports"):
        assert {port["id"] for port in by_name[name].params["ports"]} == mine
    agents = [agent for agent in cloud.agents if agent.host == some.old]
    assert [entry["id"] for entry in by_name["delete_agents"].params["agents"]] == [agent.id for agent in agents]
    assert by_name["new_agents"].params["binaries"] == sorted({agent.binary for agent in agents})
    assert any("lose their network" in note for note in plan.notes)
    assert not any("lose their network" in note for note in plan_of(some).notes)
    # An agent whose row is renamed has no new one for which neutron would map the segments.
    assert any("segmenthostmappings" in note for note in plan_of(some).notes)
    assert not any("segmenthostmappings" in note for note in plan.notes)


@pytest.mark.parametrize("has_neutron_db", [True, False])
@pytest.mark.parametrize("kind", OVN_AGENTS)
@pytest.mark.parametrize("l2_agents", [True, False])
def test_agents_of_ovn_cannot_follow_without_its_databases_whatever_was_overridden(kind, has_neutron_db, l2_agents):
    some = fleet(l2_agents=l2_agents)
    request = dataclasses.replace(some.request, has_neutron_db=has_neutron_db)
    one = builders.agent(1, some.old, kind, "ovn-controller")
    with pytest.raises(PlanError, check=problem_is("not-read")):
        rename.plan(some.cloud.add("agents", one).bundle, request)
    elsewhere = some.cloud.add("agents", builders.agent(2, some.names(2).host, kind, "ovn-controller"))
    assert rename.plan(elsewhere.bundle, some.request).steps


def test_rows_of_agents_that_were_not_read_are_not_changed():
    some = fleet()
    with pytest.raises(PlanError, match="not read: neutron's agents"):
        rename.plan(some.cloud.neutron_db(agents=None).bundle, some.request)


def test_without_agents_neutrons_database_makes_no_difference():
    some = fleet(l2_agents=False)
    assert without_database(some) == plan_of(some)


def test_every_guest_is_compared_before_nova_compute_starts_and_after():
    some = fleet(guests=3)
    by_name = named(plan_of(some))
    assert by_name["guests"].params["strict"] is True
    assert by_name["guests_after"].params["strict"] is False
    uuids = {domain.uuid for domain in some.cloud.bundle.hosts["compute1"].domains}
    assert {entry["uuid"] for entry in by_name["guests"].params["domains"]} == uuids


@pytest.mark.parametrize("part", ["databases", "cloud"])
def test_without_evidence_there_is_no_plan(part):
    some = fleet()
    with pytest.raises(PlanError, match="not read"):
        rename.plan(dataclasses.replace(some.cloud.bundle, **{part: None}), some.request)


def test_a_host_that_calls_itself_otherwise_is_no_plans_subject():
    some = fleet()
    with pytest.raises(PlanError, match=r"compute1", check=problem_is("other-host-name")):
        rename.plan(some.cloud.bundle, dataclasses.replace(some.request, rename_from="compute2"))


# --- a plan that is resumed -------------------------------------------------------------------------------------


def test_the_timeouts_of_the_command_that_resumes_replace_those_of_the_first():
    made = plan_of(fleet())
    again = rename.with_timeouts(made, {"stop_timeout": 1001, "start_timeout": 1002, "agent_timeout": 1003})
    timeouts = {step.action: step.params["timeout"] for step in again.steps if "timeout" in step.params}
    assert (timeouts["stop_units"], timeouts["compute_up"], timeouts["agents_alive"]) == (1001, 1002, 1003)
    assert timeouts["service_status"] == 1002
    assert [step.name for step in again.steps] == [step.name for step in made.steps]


def test_without_locks_what_was_asked_for_is_looked_for_all_the_same():
    some = fleet()
    order = [
        step.name for step in rename.plan(some.cloud.bundle, dataclasses.replace(some.request, lock_guests=False)).steps
    ]
    assert not {"lock_guests", "unlock_guests"} & set(order)
    assert order.index("settle") < order.index("stop_compute") < order.index("lost_requests")


def test_the_providers_of_novas_own_devices_are_renamed_with_their_root():
    some = fleet()
    child = builders.child_provider(1, f"{some.cloud.bundle.hosts['compute1'].libvirt.hostname}_pci_0000_81_00_0")
    bundle = some.cloud.add("providers", child).bundle
    assert len(named(rename.plan(bundle, some.request))["placement"].params["providers"]) == 2


def test_a_trunks_subports_follow_their_parent():
    some = fleet()
    mine = [port for port in some.cloud.bundle.cloud.ports if port.binding_host_id == some.old]
    subport = builders.port(1, 96, some.old, device_owner="trunk:subport", device_id=builders.uid("trunk"))
    cloud = some.cloud.change("ports", {"id": mine[-1].id}, subports=[subport.id])
    cloud = cloud.put("ports", [subport, *cloud.bundle.cloud.ports])
    step = named(rename.plan(cloud.bundle, some.request))["neutron"]
    assert [entry["id"] for entry in step.params["ports"]] == [*(port.id for port in mine), subport.id]
