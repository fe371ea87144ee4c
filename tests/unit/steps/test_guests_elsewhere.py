# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollback of a rename during which an administrator has evacuated a guest: by name, it is left where it lives.

What is written to the databases then: tests/integration_db/test_changing.py.
"""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import elsewhere_steps as guests_elsewhere
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

GONE, HERE = "uuid-gone", "uuid-here"
OVERRIDE = Override("SG125", GONE, "evacuated on purpose, change 4711")
PORT = {"id": "port-gone", "vif_type": "ovs"}


def row(table, key, uuid):
    names = {"host": "old1", "uuid": uuid, "deleted": 0}
    return RowChange("cell:cell1", table, "id", key, names, {"host": "new1"}, f"{table} {uuid}")


CELL = {
    "database": "cell:cell1",
    "rows": [
        facts.to_plain(row(*about)) for about in (("services", 1, "s"), ("instances", 7, GONE), ("instances", 8, HERE))
    ],
    "old": {"host": "old1", "node": "old1"},
    "new": {"host": "new1", "node": "new1"},
}
NEUTRON = {
    "old": "old1",
    "new": "new1",
    "agents": [],
    "database": False,
    "ports": [PORT, {"id": "p2", "vif_type": "ovs"}],
}


@pytest.fixture
def cloud(monkeypatch):
    """Which rows and ports were written back; ``away``: guests that live elsewhere; ``domains``: those of this host."""
    domain = builders.domain(1, 1)
    found = types.SimpleNamespace(rows=None, passed=None, ports=None, said=[], domain=domain, domains=[])
    found.away = [guests_elsewhere.GuestElsewhere(GONE, "compute2", "compute2")]
    found.away_ports = [guests_elsewhere.GuestElsewhere(GONE, "compute2", port="port-gone")]

    def write(_url, rows, complete, before_commit=None):
        found.rows, found.passed = [change.before["uuid"] for change in rows], complete.elsewhere
        return types.SimpleNamespace(changed=len(rows), already=0, gone=[])

    monkeypatch.setattr(rename.guests_elsewhere, "instances", lambda _url, _rows: found.away)
    monkeypatch.setattr(rename.guests_elsewhere, "ports", lambda _cloud, _ports, _names: found.away_ports)
    monkeypatch.setattr(rename.row_changes, "apply_row_changes", write)
    monkeypatch.setattr(rename.nova, "url_of", lambda _options, _name: "mysql://db/x")
    monkeypatch.setattr(
        rename.network,
        "rebind_ports",
        lambda _cloud, ports, *_rest: found.__setattr__("ports", [p["id"] for p in ports]),
    )
    return found


def systems(cloud, *overrides):
    host = types.SimpleNamespace(facts=lambda _arguments: types.SimpleNamespace(domains=cloud.domains))
    return kernel.Systems({}, host, {}, None, None, cloud.said.append, overrides, _connection=object())


@pytest.mark.parametrize(("action", "params"), [(rename.CellRows, CELL), (rename.Neutron, NEUTRON)])
def test_a_guest_that_lives_elsewhere_stops_the_rollback_with_the_way_to_leave_it(cloud, action, params):
    for overrides in ([], [Override("SG125", "another-uuid", "x")], [Override("SG120", GONE, "x")]):
        with pytest.raises(StepError, check=problem_is("guest-uuids")) as raised:
            action(systems(cloud, *overrides)).undo(params)
        assert [(item.code, item.object.id) for item in raised.value.checked.findings] == [("SG125", GONE)]
        assert "stackguard_overrides" in str(raised.value)
    assert (cloud.rows, cloud.ports) == (None, None)


def test_named_its_row_is_left_the_others_go_back_and_it_is_noted(cloud):
    done = rename.CellRows(systems(cloud, OVERRIDE)).undo(CELL)
    assert (cloud.rows, cloud.passed) == (["s", HERE], (GONE,))
    assert done.remark == f"2 rows changed; these guests stay on their new hosts: {GONE}"
    assert done.memory["passed"] == [["SG125", GONE]]
    assert "SG125" in cloud.said[0]


def test_named_its_port_is_left_where_it_is_bound(cloud):
    done = rename.Neutron(systems(cloud, OVERRIDE)).undo(NEUTRON)
    assert cloud.ports == ["p2"]
    assert done.memory["findings"][0]["evidence"]["ports on that host"] == ["port-gone"]


def test_where_nobody_moved_everything_goes_back(cloud):
    cloud.away, cloud.away_ports = [], []
    done = rename.CellRows(systems(cloud)).undo(CELL)
    assert (cloud.rows, cloud.passed, done.memory["findings"]) == (["s", GONE, HERE], (), [])
    rename.Neutron(systems(cloud)).undo(NEUTRON)
    assert cloud.ports == ["port-gone", "p2"]


@pytest.mark.parametrize(("state", "refused"), [("running", True), ("paused", True), ("shutoff", False)])
def test_a_guest_whose_qemu_runs_here_as_well_is_passed_by_no_override(cloud, state, refused):
    cloud.domains = [dataclasses.replace(cloud.domain, uuid=GONE, state=state)]
    step = rename.CellRows(systems(cloud, OVERRIDE))
    if not refused:
        assert step.undo(CELL).memory["findings"][0]["evidence"]["domain on this host"] == "shutoff"
        return
    with pytest.raises(StepError, match="SG108"):
        step.undo(CELL)
    assert cloud.rows is None


def test_domains_that_were_not_read_are_not_taken_for_none(cloud):
    cloud.domains = None
    with pytest.raises(StepError, check=problem_is("guest-of-other-host")):
        rename.CellRows(systems(cloud, OVERRIDE)).undo(CELL)
    assert cloud.rows is None


def test_a_port_is_elsewhere_only_where_a_servers_port_is_bound_to_a_third_host(monkeypatch):
    bound = {
        "there": {"binding:host_id": "compute2", "device_id": GONE},
        "mine": {"binding:host_id": "old1", "device_id": HERE},
        "nobodys": {"binding:host_id": "compute2", "device_id": ""},
        "unbound": {"binding:host_id": "", "device_id": HERE},
        "deleted": None,
    }
    monkeypatch.setattr(guests_elsewhere.network, "list_ports", lambda _cloud, _host: [])
    monkeypatch.setattr(guests_elsewhere.network, "get_port", lambda _cloud, key: bound[key])
    found = guests_elsewhere.ports(None, [{"id": key} for key in bound], ("old1", "new1"))
    assert found == [guests_elsewhere.GuestElsewhere(GONE, "compute2", port="there")]
