# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an adoption's steps do on the controller, and what a rollback of each leaves as it was found."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import service_status
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.rename.adopt import steps as adopt
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename

ENABLED, DISABLED = {"status": "enabled", "reason": None}, {"status": "disabled", "reason": "stackguard:rename:op"}


@pytest.fixture
def systems():
    made = kernel.Systems({"nova_api_db_url": "x"}, None, {}, lambda _s: None, lambda: 0.0, _connection=object())
    made.url = lambda database: database
    return made


@pytest.mark.parametrize(("was_up", "proof"), [(True, True), (False, False)])
def test_a_rollback_waits_for_nova_compute_only_where_it_ran(monkeypatch, systems, was_up, proof):
    puts = []
    monkeypatch.setattr(rename.compute_services, "set_service_status", lambda *a: puts.append(a[2]))
    waited = []
    monkeypatch.setattr(
        service_status.ServiceStatus,
        "_wait",
        lambda self, params, what, enough: waited.append(what) or types.SimpleNamespace(traits=set(), generation=1),
    )
    params = {"service_id": "s", "before": ENABLED, "after": DISABLED, "was_up": was_up}
    adopt.FoundServiceStatus(systems).undo(params)
    assert puts[-1] == "enabled"
    assert bool(waited) is proof


def neutron(monkeypatch, systems):
    calls = []
    monkeypatch.setattr(adopt, "ports_to_take_back", lambda _systems, params: (params["ports"], rename.Checked()))
    monkeypatch.setattr(
        rename.row_changes,
        "rename_agents",
        lambda _url, ids, before, after, **_more: calls.append((ids, before, after)),
    )
    monkeypatch.setattr(rename.row_changes, "beat_agents", lambda *_a: None)
    monkeypatch.setattr(
        rename.network,
        "rebind_ports",
        lambda _cloud, ports, before, after, _beat: calls.append(([port["id"] for port in ports], before, after)),
    )
    return calls


def test_only_what_was_found_under_the_first_name_goes_back(monkeypatch, systems):
    calls = neutron(monkeypatch, systems)
    params = {
        "old": "old",
        "new": "new",
        "database": True,
        "agents": ["a", "b"],
        "ports": [{"id": "p"}, {"id": "q"}],
        "found_agents": ["a"],
        "found_ports": [{"id": "p"}],
    }
    adopt.FoundNeutron(systems).undo(params)
    assert calls == [(["a"], "new", "old"), (["p"], "new", "old")]
    calls.clear()
    adopt.FoundNeutron(systems).undo({**params, "found_agents": [], "found_ports": []})
    assert calls == [([], "new", "old")], "no agent, no port"


def test_providers_that_nova_has_deleted_stay_deleted(monkeypatch, systems):
    def gone(_cloud, uuid, before, after):
        raise Conflict("no such resource provider", uuid=uuid)

    params = {"providers": [{"uuid": "u", "before": "new", "after": "aside"}]}
    monkeypatch.setattr(adopt.resource_providers, "rename_provider", gone)
    adopt.ProvidersAside(systems).undo(params)
    with pytest.raises(StepError):
        adopt.ProvidersAside(systems).apply(params, {})

    def taken(_cloud, uuid, before, after):
        raise Conflict("it has another name", uuid=uuid, found="other")

    monkeypatch.setattr(adopt.resource_providers, "rename_provider", taken)
    with pytest.raises(StepError, match="another name"):
        adopt.ProvidersAside(systems).undo(params)


def removal(monkeypatch, nodes, used=0):
    deleted = []
    monkeypatch.setattr(adopt.row_sets, "nodes_of_service", lambda *_a: nodes)
    monkeypatch.setattr(adopt.row_sets, "instances_of_node", lambda *_a: used)
    monkeypatch.setattr(adopt.compute_services, "delete_service", lambda _cloud, uuid: deleted.append(uuid))
    return deleted


REMOVAL = {
    "service": {"id": 9, "uuid": "s9"},
    "node": {"id": 8, "uuid": "n8"},
    "by_id": True,
    "name": "aside",
    "database": "cell:cell1",
}


def test_the_second_service_is_deleted_with_its_own_node_only(monkeypatch, systems):
    deleted = removal(monkeypatch, [(8, "n8")])
    adopt.RemoveSecond(systems).apply(REMOVAL, {})
    assert deleted == ["s9"]
    adopt.RemoveSecond(systems).undo(REMOVAL)


def test_nothing_else_may_be_deleted_with_it(monkeypatch, systems):
    deleted = removal(monkeypatch, [(8, "n8"), (1, "the host's own")])
    with pytest.raises(StepError, match="the host's own"):
        adopt.RemoveSecond(systems).apply(REMOVAL, {})
    assert deleted == []
    deleted = removal(monkeypatch, [(1, "the host's own")])
    with pytest.raises(StepError, match="the host's own"):
        adopt.RemoveSecond(systems).apply({**REMOVAL, "node": None}, {})
    deleted = removal(monkeypatch, [(8, "n8")], used=2)
    with pytest.raises(StepError, match="2 instances"):
        adopt.RemoveSecond(systems).apply(REMOVAL, {})
    assert deleted == []


def test_rows_of_the_api_database_there_and_back(monkeypatch, systems):
    calls = []
    monkeypatch.setattr(
        adopt.row_sets,
        "delete_and_make",
        lambda _url, removed, added, **_more: calls.append((removed, added)) or (len(removed), len(added)),
    )
    params = {"removed": [1, 2], "added": [3]}
    assert adopt.ApiRowSet(systems).apply(params, {}).remark == "2 rows deleted, 1 made"
    adopt.ApiRowSet(systems).undo(params)
    assert calls == [([1, 2], [3]), ([3], [1, 2])]
