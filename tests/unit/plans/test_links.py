# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of links: written only where it is certain, guarded by what was read, and what takes them back."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards.link_rules import REPAIRABLE
from ansible_collections.stackguard.nova.plugins.module_utils.links import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.linked import healthy, node_row

STRANGER = builders.uid("instance", 9, 9)


def repairs(cloud, codes=REPAIRABLE):
    links = cloud.links
    return [plans.repair(links, wrong) for wrong in plans.planned(links, codes)]


def written(cloud):
    return [(made.change.table, made.change.key, made.change.after) for made in repairs(cloud)]


def running(cloud, uuid, *hosts, state="running"):
    """Let a domain be seen on these hosts."""
    for host in hosts:
        domain = dataclasses.replace(builders.domain(1, 1), uuid=uuid, state=state)
        cloud = cloud.host(host, domains=[*cloud.bundle.hosts[host].domains, domain])
    return cloud


def test_nothing_is_wrong_nothing_is_planned():
    assert written(healthy()) == []


def test_more_rows_than_the_limit_are_refused_and_as_many_are_not():
    spoilt = healthy().row("compute_nodes", 201, service_id=4711).row("compute_nodes", 202, service_id=4711)
    plan = plans.planned(spoilt.links, REPAIRABLE)
    (refused,) = plans.find_too_many(spoilt.links, plan, plans.LinkRequest(limit=1))
    assert (refused.code, refused.evidence["rows that would change"]) == ("SG715", 2)
    assert [*plans.find_too_many(spoilt.links, plan, plans.LinkRequest(limit=2))] == []


@pytest.mark.parametrize("wrong", [None, 4711])
def test_a_service_id_follows_the_one_service_of_the_host(wrong):
    assert written(healthy().row("compute_nodes", 201, service_id=wrong)) == [
        ("compute_nodes", 201, {"service_id": 101})
    ]
    twice = dataclasses.replace(builders.service_row(1, "compute1"), id=199)
    assert written(healthy().row("compute_nodes", 201, service_id=wrong).add("services", twice)) == []
    assert written(healthy().row("compute_nodes", 201, service_id=wrong).row("services", 101, host="COMPUTE1")) == []


def test_a_service_id_of_another_host_needs_the_file():
    spoilt = healthy().row("compute_nodes", 201, service_id=102)
    assert written(spoilt) == [("compute_nodes", 201, {"service_id": 101})]
    assert written(spoilt.without_hosts("compute1")) == []
    stray = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, True, builders.uid("stray"))]
    assert written(spoilt.host("compute1", compute_id_files=stray)) == []
    copied = spoilt.host("compute2", compute_id_files=spoilt.bundle.hosts["compute1"].compute_id_files)
    assert written(copied) == [], "a cloned image: two hosts have it"


@pytest.mark.parametrize(("code", "link"), [("SG211", None), ("SG212", 4711), ("SG213", 299)])
def test_a_compute_id_follows_the_one_node_of_its_names(code, link):
    spoilt = healthy().wrong(code, compute_id=link)
    assert written(spoilt) == [("instances", 1001, {"compute_id": 201})]
    assert written(spoilt.without_hosts()) == written(spoilt), "names alone decide where no host was to be read"
    assert written(spoilt.without_hosts("compute2")) == written(spoilt), "another host does not matter"
    assert written(spoilt.without_hosts("compute1")) == [], "its own host could contradict"
    assert written(spoilt.host("compute1", domains=None)) == []
    for changes in ({"node": "gone"}, {"host": "COMPUTE1"}, {"vm_state": "shelved_offloaded"}, {"moving": True}):
        assert written(healthy().wrong(code, compute_id=link, **changes)) == [], changes


def test_the_host_that_a_deleted_node_leads_to_could_contradict():
    gone = facts.DeletedNode(299, builders.uid("gone"), "compute3", "compute3", 1)
    spoilt = healthy().wrong("SG212", compute_id=299).cell(1, deleted_nodes=[gone])
    assert written(spoilt) == [("instances", 1001, {"compute_id": 201})]
    assert written(spoilt.without_hosts("compute3")) == []
    assert written(spoilt.host("compute3", domains=None)) == []
    removed = dataclasses.replace(gone, host="removed", hypervisor_hostname="removed")
    assert written(spoilt.cell(1, deleted_nodes=[removed])) == written(spoilt), "no host has this name any more"
    silent = spoilt.cell(1, deleted_nodes=[removed]).given(unreachable={"removed": "timed out"})
    assert written(silent) == []


def test_a_compute_id_file_contradicts_a_service_of_the_same_name():
    spoilt = healthy().row("compute_nodes", 201, service_id=None)
    assert written(spoilt.without_hosts()) == written(spoilt) == [("compute_nodes", 201, {"service_id": 101})]
    assert written(spoilt.without_hosts("compute1")) == []
    assert written(spoilt.host("compute1", compute_id_files=None)) == []
    files = spoilt.bundle.hosts["compute1"].compute_id_files
    assert written(spoilt.host("compute2", compute_id_files=files)) == [], "another host has the node's uuid"
    stray = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, True, builders.uid("stray"))]
    assert written(spoilt.host("compute1", compute_id_files=stray)) == []
    assert written(spoilt.host("compute1", compute_id_files=[])) == written(spoilt), "release 26 has none"


def test_a_domain_seen_elsewhere_contradicts():
    spoilt = healthy().wrong("SG211", uuid=STRANGER, compute_id=None)
    assert written(running(spoilt, STRANGER, "compute1")) == [("instances", 1001, {"compute_id": 201})]
    assert written(running(spoilt, STRANGER, "compute2")) == []


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["compute1"], [("instances", 1001, {"compute_id": 201})]),
        (["compute2"], [("instances", 1001, {"host": "compute2", "node": "compute2"})]),
        (["compute1", "compute2"], []),
        (["compute3"], []),
        ([], []),
    ],
    ids=["names right", "id right", "on both", "on neither", "nowhere"],
)
def test_an_id_that_contradicts_the_names_needs_the_domain(places, expected):
    spoilt = running(healthy().wrong("SG214", uuid=STRANGER, compute_id=202), STRANGER, *places)
    assert written(spoilt) == expected
    assert written(spoilt.without_hosts("compute2")) == [], "where both hosts were read"
    assert written(spoilt.without_hosts()) == []


def test_a_domain_that_does_not_run_proves_nothing():
    spoilt = healthy().wrong("SG214", uuid=STRANGER, compute_id=202)
    assert written(running(spoilt, STRANGER, "compute1", state="shutoff")) == []


def test_what_has_no_host_is_on_no_node():
    spoilt = healthy().wrong("SG215", uuid=STRANGER, host=None, vm_state="shelved_offloaded")
    assert written(spoilt) == [("instances", 1001, {"node": None, "compute_id": None})]
    half = healthy().wrong("SG215", uuid=STRANGER, host=None, node=None, vm_state="error")
    assert written(half) == [("instances", 1001, {"compute_id": None})], "what is right already is not written"
    assert written(healthy().wrong("SG215", uuid=STRANGER, host=None, vm_state="active")) == []
    assert written(running(spoilt, STRANGER, "compute3", state="shutoff")) == []


@pytest.mark.parametrize("changes", [{}, {"node": None}, {"compute_id": None}, {"node": "gone", "compute_id": None}])
def test_the_last_trace_of_a_domain_stays_while_its_host_was_not_read(changes):
    """A build that failed at the timeout of RPC while QEMU did start leaves such a row."""
    spoilt = healthy().wrong("SG215", uuid=STRANGER, host=None, vm_state="error", **changes)
    gone = changes.get("node") == "gone"
    assert bool(written(spoilt)) != gone
    assert written(spoilt.without_hosts()) == []
    assert written(spoilt.without_hosts("compute1")) == []
    assert written(spoilt.host("compute1", domains=None)) == []
    assert bool(written(spoilt.without_hosts("compute2"))) != gone
    assert [item.code for item in spoilt.without_hosts().checked.findings] == ["SG215"]


def test_a_trace_that_leads_nowhere_needs_every_host():
    spoilt = healthy().wrong("SG215", uuid=STRANGER, host=None, node=None, compute_id=4711, vm_state="error")
    assert written(spoilt) == [("instances", 1001, {"compute_id": None})]
    assert written(spoilt.host("compute3", domains=None)) == []
    assert written(spoilt.without_hosts()) == []


def test_a_finished_migration_follows_its_destination():
    assert written(healthy().migration()) == [("migrations", 1, {"dest_compute_id": 202})]
    assert written(healthy().migration().without_hosts()) == written(healthy().migration())
    assert written(healthy().migration().without_hosts("compute2")) == []
    assert written(healthy().migration(dest_node="gone")) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cloud: cloud.row("compute_nodes", 201, service_id=None),
        lambda cloud: cloud.wrong("SG211", compute_id=None),
        lambda cloud: cloud.migration(dest_compute="compute1", dest_node="compute1"),
    ],
    ids=["node", "instance", "migration"],
)
@pytest.mark.parametrize(
    "forbid",
    [
        lambda cloud: cloud.row("services", 101, disabled_reason="stackguard:rename:abc"),
        lambda cloud: cloud.add("compute_nodes", node_row(9, host="compute1"), 2),
        lambda cloud: cloud.cell(revision="ffffffffffff"),
        lambda cloud: cloud.cell(2, compute_nodes=None),
        lambda cloud: cloud.cell(services=None),
    ],
    ids=["held by an operation", "a twin in another cell", "unknown schema", "another cell unread", "services unread"],
)
def test_what_forbids_it(spoil, forbid):
    assert len(written(spoil(healthy(cells=2)))) == 1
    assert written(forbid(spoil(healthy(cells=2)))) == []


def test_27_has_no_compute_id_to_write_or_to_compare():
    cloud = healthy(release=27).wrong("SG215", uuid=STRANGER, host=None, compute_id=None, vm_state="error")
    (made,) = repairs(cloud)
    assert made.change.after == {"node": None}
    assert "compute_id" not in made.change.before


def test_only_the_codes_asked_for_and_each_row_once():
    cloud = healthy().wrong("SG211", compute_id=None).wrong("SG216", compute_id=None)
    cloud = cloud.row("compute_nodes", 202, service_id=None)
    assert [made.code for made in repairs(cloud)] == ["SG201", "SG211"]
    assert [made.code for made in repairs(cloud, ["SG211"])] == ["SG211"]
    assert repairs(cloud, ["SG216"]) == [], "cannot be repaired, whoever asks"


def test_a_change_is_guarded_by_all_that_was_read_and_where_it_leads():
    (made,) = repairs(healthy().wrong("SG211", compute_id=None))
    before = {"uuid": builders.guest(1, 1), "host": "compute1", "node": "compute1", "compute_id": None, "deleted": 0}
    assert made.change.before == {**before, "vm_state": "active", "task_state": None}
    assert made.instance_uuid == builders.guest(1, 1)
    assert (made.premise.table, made.premise.key) == ("compute_nodes", 201)
    assert dict(made.premise.values)["deleted"] == 0


def test_batches_are_of_one_table_and_cell_and_not_too_large():
    cloud = healthy(cells=2)
    for number in range(5):
        cloud = cloud.wrong("SG211", id=number, uuid=builders.uid("g", number), compute_id=None)
    cloud = cloud.wrong("SG211", 2, id=1, uuid=builders.uid("h"), host="compute2", node="compute2", compute_id=None)
    cloud = cloud.row("compute_nodes", 201, service_id=None)
    links = cloud.links
    made = list(plans.batches(links, plans.planned(links, REPAIRABLE), 2))
    assert [[one.change.table for one in batch] for batch in made] == [
        ["compute_nodes"],
        ["instances"] * 2,
        ["instances"] * 2,
        ["instances"],
        ["instances"],
    ]
    assert [batch[0].change.database for batch in made] == ["cell:cell1"] * 4 + ["cell:cell2"]


@pytest.mark.parametrize(("asked", "expected"), [(1000, [10, 10, 5, 3]), (4, [4] * 6 + [1, 3])])
def test_few_services_are_locked_at_a_time_whatever_batch_is_asked_for(asked, expected):
    """After an upgrade to 28 all nodes are to be repaired: in one batch the heartbeats of all hosts would wait."""
    cloud = healthy(hosts=25)
    for number in range(201, 226):
        cloud = cloud.row("compute_nodes", number, service_id=None)
    for number in range(3):
        cloud = cloud.wrong("SG211", id=number, uuid=builders.uid("g", number), compute_id=None)
    links = cloud.links
    assert [len(batch) for batch in plans.batches(links, plans.planned(links, REPAIRABLE), asked)] == expected


def test_the_journal_holds_what_taking_it_back_needs():
    (made,) = repairs(healthy().wrong("SG212", compute_id=4711))
    stamped = dataclasses.replace(made, stamp="2026-11-21 06:00:00")
    again = plans.of_journal(plans.to_journal(stamped))
    assert again == dataclasses.replace(stamped, premise=None)
    back = plans.reversed_repair(again)
    assert back.change.after == {"compute_id": 4711}
    assert back.change.before["compute_id"] == 201
    assert back.change.before["host"] == "compute1", "restored only while it is as it was repaired"


def test_the_diff_shows_each_row_and_why():
    (entry,) = plans.Diff(repairs(healthy().wrong("SG211", compute_id=None))).entries()
    assert "SG211" in entry["before_header"]
    assert "compute_id = NULL" in entry["before"]
    assert "compute_id = 201  # certain: node 201 is the only existing node with host compute1" in entry["after"]
