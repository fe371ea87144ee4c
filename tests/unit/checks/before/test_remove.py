# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What forbids the removal of a host: each guard refuses, and lets pass."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.block_storage import BlockStorage, VolumeService
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import blocking_findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnFacts
from ansible_collections.stackguard.nova.plugins.module_utils.remove import preflight
from ansible_collections.stackguard.nova.tests.unit.builders import AT, guest, healthy, node, uid
from ansible_collections.stackguard.nova.tests.unit.checks.hazards.test_removed_hosts import gone
from ansible_collections.stackguard.nova.tests.unit.removing import attested, found

HOST = "compute3"
LONG_AGO = "2026-11-20T06:00:00+00:00"


def dead(name=HOST, **kwargs):
    """compute3 is empty, and its nova-compute and its agent are dead."""
    some = healthy(guests=1, **kwargs).drop("instances", lambda row: row.host == name)
    some = some.drop("servers", {"host": name}).drop("ports", {"binding_host_id": name})
    some = some.change("agents", {"host": name}, alive=False)
    some = some.change("services", {"host": name}, last_seen_up=LONG_AGO)
    some = some.change("providers", {"uuid": node(3)}, allocations={})
    return some.change("api_services", {"host": name}, state="down")


def told(some, overrides=True, **read):
    """The codes that stand against the removal, and the evidence of each."""
    checked = preflight.preflight(found(some, **read), [HOST])
    words = attested(HOST) if overrides else []
    return {item.code: item.evidence for item in blocking_findings(checked.findings, words)}


def test_an_empty_host_that_somebody_attests_to_be_gone_passes():
    assert told(dead()) == {}


def test_without_an_attestation_nothing_proves_that_the_machine_is_gone():
    assert set(told(dead(), overrides=False)) == {"SG506"}


# --- alive


@pytest.mark.parametrize(
    "some",
    [
        dead().change("api_services", {"host": HOST}, state="up"),
        dead().change("agents", {"host": HOST}, alive=True),
        dead().change("services", {"host": HOST}, last_seen_up=AT),
        # Nobody's heartbeat says how old it is.
        dead().drop("services", lambda row: row.host != HOST),
        dead().cloud(
            block_storage=BlockStorage(True, [], [VolumeService(f"{HOST}@ceph", "nova", "up", "enabled")], computes=[])
        ),
    ],
    ids=["service", "agent", "heartbeat though down", "no clock", "cinder-volume"],
)
def test_no_word_passes_signs_of_life(some):
    evidence = told(some)
    assert "SG506" in evidence and evidence["SG506"]["alive"]


def test_a_queue_that_somebody_reads_is_a_sign_of_life():
    listening = dataclasses.replace(found(dead()), listening={HOST: [f"compute.{HOST}"]})
    checked = preflight.preflight(listening, [HOST])
    assert [item.code for item in blocking_findings(checked.findings, attested(HOST))] == ["SG506"]
    other = dataclasses.replace(listening, listening={"compute1": ["compute.compute1"], HOST: []})
    assert not blocking_findings(preflight.preflight(other, [HOST]).findings, attested(HOST))


def test_an_unknown_schema_is_not_written():
    assert "SG705" in told(dead().cell(1, revision="newer"))
    assert "SG705" in told(dead().api_db(revision="newer"))


# --- needed


@pytest.mark.parametrize("state", ["active", "soft-delete", "building", "shelved", "resized", "error"])
def test_a_server_in_any_state_and_any_cell_refuses(state):
    some = dead(cells=2)
    row = dataclasses.replace(healthy(guests=1).rows("instances")[0], id=900, uuid=uid("x"), host=HOST, vm_state=state)
    assert "SG332" in told(some.add("instances", row, cell=1))
    assert "SG332" in told(some.add("instances", row, cell=2))
    assert "SG332" in told(some.add("instances", dataclasses.replace(row, host="other", node=HOST), cell=2))
    assert "SG332" in told(some.add("instances", dataclasses.replace(row, host=HOST.upper()), cell=2))
    assert told(some.add("instances", dataclasses.replace(row, deleted=900), cell=2)) == {}


def test_a_server_that_only_the_api_shows_refuses():
    row = dataclasses.replace(dead().rows("servers")[0], host=HOST)
    assert "SG332" in told(dead().add("servers", row))


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        ("running", "live-migration", "SG702"),
        ("finished", "resize", "SG703"),
        ("done", "evacuation", "SG509"),
        ("accepted", "evacuation", "SG509"),
    ],
)
def test_an_unfinished_migration_from_or_to_the_host_refuses(status, kind, code):
    assert code in told(dead().migrate(guest(1, 1), HOST, "compute1", status, kind))
    if kind != "evacuation":
        assert code in told(dead().migrate(guest(1, 1), "compute1", HOST, status, kind))
    assert told(dead().migrate(guest(1, 1), HOST, "compute1", "completed", kind)) == {}


def test_a_node_of_another_host_that_names_its_service_refuses():
    """Nova deletes compute nodes by the id of the service: compute1's would go with compute3's service."""
    some = dead()
    (own,) = [row.id for row in some.rows("services") if row.host == HOST]
    assert "SG203" in told(some.change("compute_nodes", {"host": "compute1"}, service_id=own))


def test_a_node_whose_provider_somebody_has_deleted_passes_and_another_ones_does_not():
    """A half removal by hand; a provider of another name may be in use."""
    assert told(dead().drop("providers", {"uuid": node(3)})) == {}
    assert "SG206" in told(dead().change("providers", {"uuid": node(3)}, name="elsewhere"))


def test_a_node_without_a_service_refuses():
    some = dead().drop("services", {"host": HOST}).drop("api_services", {"host": HOST})
    assert "SG204" in told(some)


def test_another_spelling_of_the_name_refuses_and_a_name_that_is_part_of_it_does_not():
    for name, codes in (("COMPUTE3", {"SG332"}), ("compute33", set()), ("ompute3", set()), ("compute3.dc1", set())):
        some = dead()
        other = dataclasses.replace(some.rows("services")[0], id=77, uuid=uid("s", 77), host=name)
        twin = dataclasses.replace(some.rows("compute_nodes")[0], id=77, uuid=uid("n", 77), host=name, service_id=77)
        some = some.add("services", other).add("compute_nodes", dataclasses.replace(twin, hypervisor_hostname=name))
        assert set(told(some)) & {"SG332"} == codes, name


def test_a_name_that_nobody_bears_is_refused():
    (item,) = [
        item
        for item in preflight.preflight(found(dead()), ["computee3"]).findings
        if item.code == "SG332" and item.object.id == "computee3"
    ]
    assert item.absolute


# --- operations


def test_a_hold_of_an_operation_that_was_not_seen_to_end_refuses():
    held = dead().change("api_services", {"host": HOST}, status="disabled", disabled_reason="stackguard:evacuate:op7")
    assert "SG706" in told(held)
    assert told(held, closed=["op7"]) == {}


def test_an_open_journal_of_the_host_refuses_and_one_of_another_does_not():
    journal = {"operation_id": "op7", "kind": "evacuate-compute3", "subject": HOST, "about": {"host": HOST}}
    assert "SG706" in told(dead(), open_journals=[journal])
    other = {**journal, "subject": "compute1", "about": {"host": "compute1"}}
    assert told(dead(), open_journals=[other]) == {}


@pytest.mark.parametrize("table", ["host_mappings", "aggregate_hosts"])
def test_rows_without_a_service_need_the_right_to_delete_them(table):
    grant = facts.Grant("api", table, [], "delete", False, "DELETE command denied")
    some = gone(healthy(guests=1), HOST + "x", "host mapping").databases(grants=[grant])

    def codes(of):
        found_here = preflight.preflight(found(of), [HOST + "x"]).findings
        return {item.code for item in blocking_findings(found_here, attested(HOST + "x"))}

    assert codes(some) == {"SG311"}
    assert codes(some.databases(grants=[dataclasses.replace(grant, allowed=True)])) == set()
    # Nova deletes them with the service.
    assert told(dead().databases(grants=[grant])) == {}


# --- unread


@pytest.mark.parametrize("table", ["services", "compute_nodes", "instances", "migrations"])
def test_a_table_of_any_cell_that_was_not_read_refuses(table):
    assert "SG311" in told(dead(cells=2).cell(2, **{table: None}))


@pytest.mark.parametrize("part", preflight.PARTS)
def test_a_part_of_the_apis_that_was_not_read_refuses(part):
    assert "SG709" in told(dead().cloud(**{part: None}))


def test_what_the_database_said_is_told():
    """An operator sees why nothing was read: the reason is of the same cell, or of the whole."""
    denied = facts.Unread("instances", "access denied")
    assert told(dead(cells=2).cell(2, instances=None, unread=[denied]))["SG311"]["reason"] == "access denied"
    silent = dead().databases(api=None, unread=[facts.Unread("api", "no route")])
    assert told(silent)["SG311"]["reason"] == "no route"


def test_other_places_that_were_not_read_refuse():
    assert "SG311" in told(dead().api_db(host_mappings=None))
    assert "SG709" in told(dead().cloud(unread=[facts.Unread("services.compute9", "the cell does not answer")]))
    assert "SG709" in told(dead().databases(ovn=OvnFacts(AT, [HOST], None, None, None, None, None)))
    lost = dataclasses.replace(found(dead()), bundle=dataclasses.replace(found(dead()).bundle, links=None))
    assert "SG311" in {item.code for item in preflight.preflight(lost, [HOST]).findings}
    none = dead().databases(cells=[])
    assert "SG311" in told(none)
