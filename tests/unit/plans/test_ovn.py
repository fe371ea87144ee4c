# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a rename with OVN: their order, what cannot be planned, and a model of ports that no kill cuts off."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, PlanError
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.tests.unit.builders import uid
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    ovn_fleet,
    switch_port,
    with_host,
    with_ids,
    with_ovn,
    with_rows,
)
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

ORDER = ["ovn_ports_by_chassis", "ovn_hostname", "neutron_bindings", "ovn_ports_by_host"]


def plan_of(some):
    return rename.plan(some.cloud.bundle, some.request)


def named(some):
    return {step.name: step for step in plan_of(some).steps}


def test_the_order_is_the_one_that_cuts_no_port_off():
    names = [step.name for step in plan_of(ovn_fleet()).steps]
    wanted = ["stop_compute", "cell_database", "placement", *ORDER, "host_names", "ovn_verified", "ovn_agents"]
    assert [name for name in names if name in wanted] == wanted
    assert names.index("ovn_agents") < names.index("start_compute")
    assert not {"stop_agents", "start_agents", "neutron", "ports"} & set(names), "OVN's agents keep running"


def test_the_steps_say_every_port_and_row_of_the_host():
    some, steps = ovn_fleet(guests=2), named(ovn_fleet(guests=2))
    ports = [uid("port", 1, index) for index in (1, 2)]
    assert sorted(steps["ovn_ports_by_chassis"].params["ports"]) == sorted(ports)
    assert sorted(steps["ovn_ports_by_chassis"].params["bound"]) == sorted(ports)
    rows = {tuple(row) for row in steps["neutron_bindings"].params["rows"]}
    assert rows == {
        *(("ml2_port_bindings", port) for port in ports),
        *(("ml2_port_binding_levels", port) for port in ports),
        ("segmenthostmappings", uid("segment")),
    }
    host = steps["ovn_hostname"].params["host"]
    assert host == {"system_id": uid("system", 1), "keys": {"hostname": {"before": some.old, "after": some.new}}}
    shown = {(change.before, change.after) for change in steps["ovn_ports_by_host"].changes}
    assert shown == {(uid("system", 1), some.new), (some.old, some.new)}
    assert all(step.where == CONTROLLER for name, step in steps.items() if name in ORDER)


def test_the_hosts_own_step_leaves_the_hostname_of_the_chassis_alone():
    assert named(ovn_fleet())["host_names"].params["ovs_external_ids"] == {}


def test_a_key_that_is_absent_is_set_to_the_old_name_first():
    some = with_ids(ovn_fleet(), hostname=None)
    names = [step.name for step in plan_of(some).steps]
    assert names.index("ovn_key") < names.index("ovn_ports_by_chassis")
    assert named(some)["ovn_key"].params["keys"] == {"hostname": {"before": None, "after": some.old}}
    assert named(some)["ovn_hostname"].params["host"]["keys"] == {"hostname": {"before": some.old, "after": some.new}}


def test_the_key_of_the_system_id_counts_and_another_value_beside_it_stays():
    key = f"hostname-{uid('system', 1)}"
    some = with_ids(ovn_fleet(), **{key: "compute1", "hostname": "something"})
    assert set(named(some)["ovn_hostname"].params["host"]["keys"]) == {key}


def test_a_port_that_names_the_chassis_already_is_left_alone():
    some = ovn_fleet()
    other = switch_port("own", some.old, requested=uid("system", 1), host_id=None)
    some = with_ovn(some, switch_ports=[*some.cloud.bundle.databases.ovn.switch_ports, other])
    for name in ("ovn_ports_by_chassis", "ovn_ports_by_host"):
        assert named(some)[name].params["keep"] == [other.uuid]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda some: dataclasses.replace(some, cloud=some.cloud.databases(ovn=None)), "not-read"),
        (lambda some: with_ovn(some, northd_ms=None), "not-read"),
        (lambda some: with_ovn(some, switch_ports=None), "not-read"),
        (lambda some: with_ovn(some, chassis=[]), "exactly-one-chassis"),
        (lambda some: with_ids(some, **{"system-id": "x"}), "exactly-one-chassis"),
        (lambda some: with_host(some, ovs_external_ids=None), "not-read"),
        (
            lambda some: dataclasses.replace(some, cloud=some.cloud.neutron_db(bindings=None)),
            "not-read",
        ),
    ],
)
def test_what_was_not_read_cannot_be_planned_whatever_was_overridden(spoil, why):
    with pytest.raises(PlanError, check=problem_is(why)):
        plan_of(spoil(ovn_fleet()))


def test_timeouts_are_those_of_the_run_that_resumes():
    revised = rename.with_timeouts(plan_of(ovn_fleet()), {"agent_timeout": 7})
    by_name = {step.name: step for step in revised.steps}
    assert by_name["ovn_hostname"].params["timeout"] == by_name["ovn_verified"].params["timeout"] == 7
    assert RenameRequest("a", "b", "c").agent_timeout != 7


def test_a_host_may_get_the_name_of_its_own_chassis():
    some = ovn_fleet()
    rows = some.cloud.bundle.databases.ovn.chassis
    some = with_ovn(some, chassis=[dataclasses.replace(rows[0], name=some.new), *rows[1:]])
    some = with_ids(some, **{"system-id": some.new})
    assert named(some)["ovn_hostname"].params["chassis"]["name"] == some.new
    other = dataclasses.replace(rows[1], name=some.new)
    with pytest.raises(PlanError, match=r"renamed1", check=problem_is("another-chassis-already")):
        plan_of(with_ovn(ovn_fleet(), chassis=[rows[0], other]))


def test_a_routers_port_is_changed_and_never_expected_to_be_bound():
    """ovn-northd copies the option of such a port to no binding."""
    some = ovn_fleet()
    first = some.cloud.bundle.databases.ovn.switch_ports[0]
    ports = [dataclasses.replace(first, type="router"), *some.cloud.bundle.databases.ovn.switch_ports[1:]]
    steps = named(with_ovn(some, switch_ports=ports))
    assert first.name in steps["ovn_ports_by_chassis"].params["ports"]
    assert first.name not in steps["ovn_ports_by_chassis"].params["bound"]
    (found,) = [row for row in steps["ovn_verified"].params["bindings"] if row["port"] == first.name]
    assert found["asks"] is False


# --- a model: every state that a kill can leave ------------------------------------------------------------------


class Model:
    """Ports, a chassis and neutron's rows. ``cut``: ports that were, for a moment, without their chassis."""

    def __init__(self, ports, name):
        self.name, self.hostname, self.rows = name, "old", "old"
        self.ports = dict.fromkeys(range(ports), "old")
        self.cut = set()

    def look(self):
        self.cut |= {port for port, asks in self.ports.items() if asks not in (self.name, self.hostname)}

    def owner_updates(self, port):
        """What neutron writes; the watch, where a run is at work, corrects it to what is right by then."""
        self.ports[port] = self.rows

    def moves(self, step, back):
        """Yield after each change that a kill can come behind. A transaction is one."""
        right = {
            ("ovn_ports_by_chassis", False): self.name,
            ("ovn_ports_by_chassis", True): "old",
            ("ovn_ports_by_host", False): "new",
            ("ovn_ports_by_host", True): self.name,
        }.get((step, back))
        if step == "ovn_hostname":
            self.point(self.name)
            yield
            self.hostname = "old" if back else "new"
        elif step == "neutron_bindings":
            self.rows = "old" if back else "new"
        else:
            self.point(right)
        yield

    def point(self, right):
        for port, asks in self.ports.items():
            if asks in ("old", "new", self.name):
                self.ports[port] = right


@settings(max_examples=300, deadline=None)
@given(
    ports=st.integers(1, 4),
    name=st.sampled_from(["uuid", "old"]),
    kills=st.lists(st.integers(0, 9), max_size=4),
    back=st.booleans(),
    updates=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=3),
)
def test_whatever_is_killed_ends_whole_and_cuts_only_ports_that_their_owners_updated(ports, name, kills, back, updates):
    """The steps of the plan as the code does them, killed behind any change, resumed and at last ended or undone."""
    order = [step.name for step in plan_of(ovn_fleet()).steps if step.name in ORDER]
    model, touched, moment = Model(ports, name), set(), 0
    done, undoing = [], False

    def changes(steps, back_):
        nonlocal moment
        for step in steps:
            for _change in model.moves(step, back_):
                model.look()
                for when, port in updates:
                    if when == moment and port in model.ports:
                        model.owner_updates(port)
                        touched.add(port)
                        model.look()
                moment += 1
                yield step
            yield f"{step} done"

    for kill in [*kills, None]:
        undoing = back and kill is None
        steps = [step for step in order if step not in done] if not undoing else list(reversed(order))
        for number, event in enumerate(changes(steps, undoing)):
            if event.endswith(" done") and not undoing:
                done.append(event[:-5])
            if kill is not None and number == kill:
                break
    # A run that looks again at its end finds what an owner has written since.
    model.point("old" if back else "new")
    assert set(model.ports.values()) == {"old" if back else "new"}
    assert (model.hostname, model.rows) == (("old", "old") if back else ("new", "new"))
    assert model.cut <= touched


def test_the_model_shows_what_the_wrong_order_does():
    model = Model(2, "uuid")
    for step in ("ovn_ports_by_chassis", "neutron_bindings", "ovn_ports_by_host", "ovn_hostname"):
        for _change in model.moves(step, False):
            model.look()
    assert model.cut == {0, 1}


def test_rows_of_other_hosts_are_in_no_plan():
    some = ovn_fleet()
    rows = some.cloud.bundle.databases.neutron.bindings.bindings
    some = with_rows(some, bindings=[*rows, dataclasses.replace(rows[0], port_id="other", host="compute2")])
    assert ["ml2_port_bindings", "other"] not in named(some)["neutron_bindings"].params["rows"]
