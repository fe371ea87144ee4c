# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every check over a whole cloud: zones, memory and Ceph without an operation, and what was not read."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import host_zones
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit.builders import AT, address, guest, healthy, uid
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets

ONE = guest(1, 1)


def told(some):
    return {(item.code, item.object.id) for item in audit.check(some.bundle).findings}


def undecided(some):
    return {(item.code, item.object) for item in audit.check(some.bundle).unchecked}


def image(uuid=ONE, hosts=(1,), snapshots=(), suffix="_disk"):
    watchers = [facts.RbdWatcher(f"{address(host)}:0/{host}", f"client.{host}") for host in hosts]
    return facts.RbdImage(f"{uuid}{suffix}", "1a", 1, [facts.RbdSnapshot(name) for name in snapshots], watchers, [])


def looked(some, *images, on="compute2"):
    return some.host(on, rbd=facts.RbdFacts("library", "fsid", "vms", [], list(images), None))


@given(fleets(min_hosts=1, releases=range(26, 35)))
def test_a_healthy_fleet_has_no_finding(some):
    assert audit.check(some.cloud.bundle).findings == ()


def test_nothing_is_told_twice():
    some = healthy().unreachable("compute1").add("instances", healthy().rows("instances")[0])
    checked = audit.check(some.bundle)
    assert len({repr(item) for item in checked.findings}) == len(checked.findings)
    assert len(set(checked.unchecked)) == len(checked.unchecked)


# --- zones ----------------------------------------------------------------------------------------------------


def test_a_host_in_two_zones():
    row = facts.AggregateHostRow(9, "compute1", 2, uid("aggregate", 2), "agg2", "az2")
    assert ("SG403", "compute1") in told(healthy().add("aggregate_hosts", row))


def test_two_aggregates_of_one_zone_and_those_of_none_are_fine():
    rows = [
        facts.AggregateHostRow(9, "compute1", 7, uid("aggregate", 7), "fast", None),
        facts.AggregateHostRow(10, "compute1", 8, uid("aggregate", 8), "agg1b", "az1"),
    ]
    assert not {code for code, _key in told(healthy().add("aggregate_hosts", *rows))} & {"SG403"}


def test_zones_of_the_api_where_the_database_was_not_read():
    some = healthy().without("databases")
    assert host_zones.zones_of(some.bundle)["compute2"] == {"az2": ["agg2"]}
    assert host_zones.zones_of(some.without("cloud").bundle) is None
    assert ("SG403", "all") in undecided(some.without("cloud"))


def test_servers_that_nothing_holds_in_their_zone_are_told_and_forbid_nothing():
    other = guest(1, 2)
    some = healthy(hosts=2, guests=3)
    some = some.change("servers", {"id": ONE}, pinned_availability_zone=None)
    some = some.change("servers", {"id": other}, pinned_availability_zone="gone")
    some = some.change("servers", {"id": guest(1, 3)}, pinned_availability_zone="az2")
    wanted = {("SG401", ONE), ("SG402", other), ("SG404", guest(1, 3))}
    assert {entry for entry in told(some) if entry[0] in ("SG401", "SG402", "SG404")} == wanted
    assert {item.severity for item in audit.check(some.bundle).findings if item.code in ("SG402", "SG404")} == {
        "warning"
    }


def test_no_more_unpinned_servers_than_one_can_read_are_listed_and_the_rest_is_counted():
    some = healthy(hosts=2, guests=3).change("servers", None, pinned_availability_zone=None)
    checked = audit.check(some.bundle, at_most=2)
    assert len([item for item in checked.findings if item.code == "SG401"]) == 2
    assert [item.reason for item in checked.unchecked if item.code == "SG401"] == [
        "4 more findings of this kind exist, but are not listed"
    ]


def test_pins_that_this_nova_does_not_show():
    some = healthy().cloud(compute_max_microversion="2.95")
    assert not [entry for entry in told(some) if entry[0] == "SG401"]
    assert {("SG401", "all"), ("SG402", "all"), ("SG404", "all")} <= undecided(some)


# --- memory ---------------------------------------------------------------------------------------------------


def test_guests_that_may_take_more_than_there_is():
    some = healthy().change("domains", None, memory_mib=40000)
    assert ("SG502", "compute1") in told(some)
    assert ("SG502", "compute1") not in told(healthy().change("domains", None, memory_mib=32000))


def test_huge_pages_are_another_purse():
    some = healthy().change("domains", None, memory_mib=40000, hugepage_kib=2048)
    assert ("SG502", "compute1") not in told(some)
    # What is set aside for them is not there for the others.
    pages = [facts.HugePages(2048, 8192, 0, 0), facts.HugePages(2048, 8192, 0, 1), facts.HugePages(2048, 16384, 0)]
    half = healthy().change("domains", None, memory_mib=20000).host(hugepages=pages)
    assert ("SG502", "compute1") in told(half)


def test_memory_that_was_not_read():
    assert ("SG502", "compute1") in undecided(healthy().host(memory=None))


# --- Ceph -----------------------------------------------------------------------------------------------------


def test_two_addresses_on_one_disk():
    assert ("SG507", f"vms/{ONE}_disk") in told(looked(healthy(), image(hosts=(1, 2))))
    assert not {entry for entry in told(looked(healthy(), image(hosts=(1, 1)))) if entry[0] == "SG507"}


def test_a_migration_may_be_why():
    some = looked(healthy(), image(hosts=(1, 2))).migrate(ONE, "compute1", "compute2", "running", "live-migration")
    assert ("SG507", f"vms/{ONE}_disk") in undecided(some)
    assert not {entry for entry in told(some) if entry[0] == "SG507"}


def test_watchers_that_were_not_read():
    unread = dataclasses.replace(image(), watchers=None)
    assert ("SG507", f"vms/{ONE}_disk") in undecided(looked(healthy(), unread))


def test_the_lock_of_a_client_that_is_gone_and_who_may_break_it():
    """K3: a disk that opens was taken for one that can be written."""
    ours, gone = facts.RbdLock(f"{address(1)}:0/5", "auto 1"), facts.RbdLock("10.9.9.9:0/5")
    where = ("SG518", f"vms/{ONE}_disk")
    for locks, told_of in (([ours], False), ([], False), ([gone], True), (None, True)):
        some = looked(healthy(), dataclasses.replace(image(hosts=(1,)), locks=locks))
        assert (where in undecided(some)) == told_of, locks
    unlocked = dataclasses.replace(image(hosts=(1,)), locks=[gone], exclusive_lock=False)
    assert where not in undecided(looked(healthy(), unlocked))
    # Nobody has it open.
    assert where not in undecided(looked(healthy(), dataclasses.replace(image(hosts=()), locks=[gone])))
    some = looked(healthy(), image(hosts=(1,)))
    (name,) = [name for name, host in some.bundle.hosts.items() if host.rbd is not None and host.rbd.opened]
    for add, found in ((False, {"SG518"}), (True, set())):
        rbd = dataclasses.replace(some.bundle.hosts[name].rbd, rights=facts.CephRights(add, add, "denied"))
        assert {code for code, _object in told(some.host(name, rbd=rbd)) if code == "SG518"} == found


def test_a_guard_that_was_left_behind():
    some = looked(healthy(), image(snapshots=("stackguard-abc",)))
    assert ("SG508", f"vms/{ONE}_disk") in told(some)
    held = some.change("api_services", {"host": "compute1"}, disabled_reason="stackguard:evacuate:abc")
    assert ("SG508", f"vms/{ONE}_disk") not in told(held)


def test_images_of_deleted_servers_and_those_of_nobody():
    some = looked(healthy(), image())
    assert not {entry for entry in told(some) if entry[0] == "SG508"}
    gone = some.change("instances", {"uuid": ONE}, deleted=7, vm_state="deleted").drop("domains", {"uuid": ONE})
    assert ("SG508", f"vms/{ONE}_disk") in told(gone)
    # It may be another cloud's that has the same pool.
    assert not {entry for entry in told(looked(healthy(), image(uid("stranger")))) if entry[0] == "SG508"}


def test_nobody_looked_into_ceph():
    assert {("SG507", "all"), ("SG508", "all")} <= undecided(healthy())


# --- what was not read ----------------------------------------------------------------------------------------


def test_each_source_alone_decides_what_it_can_and_says_what_it_cannot():
    whole = healthy()
    hosts = whole.without("databases", "cloud")
    assert told(hosts) == set()
    assert {("SG116", "all"), ("SG301", "all"), ("SG704", "all")} <= undecided(hosts)
    nobody = dataclasses.replace(whole.bundle, hosts={})
    checked = audit.check(nobody)
    assert checked.findings == ()
    assert {"SG101", "SG108", "SG113", "SG502", "SG507"} <= {item.code for item in checked.unchecked}
    assert findings.verdict(checked.findings, checked.unchecked, []) == "warn"


def test_a_host_that_did_not_answer():
    some = healthy().unreachable("compute1", "timed out")
    assert ("SG114", "compute1") in told(some)
    assert {("SG113", "compute1"), ("SG502", "compute1"), ("SG107", "compute1")} <= undecided(some)


def test_a_service_whose_host_is_not_in_the_inventory():
    hosts = {name: row for name, row in healthy().bundle.hosts.items() if name != "compute3"}
    checked = audit.check(dataclasses.replace(healthy().bundle, hosts=hosts))
    assert ("SG114", "compute3") in {(item.code, item.object) for item in checked.unchecked}


@pytest.mark.parametrize(("source", "code"), [("databases", "SG311"), ("api", "SG709")])
def test_a_source_that_failed_is_a_blocker_with_its_reason(source, code):
    bundle = dataclasses.replace(healthy().bundle, failures={source: "no route to host"})
    (item,) = audit.check(bundle).findings
    assert (item.code, item.severity, item.object.id) == (code, "blocker", source)
    assert item.evidence == {"reason": "no route to host"}


def test_a_cell_that_did_not_answer_is_a_blocker():
    unread = [facts.Unread("services", "timed out")]
    some = healthy().cell(1, services=None, compute_nodes=None, instances=None, migrations=None, unread=unread)
    (item,) = audit.check(some.bundle).findings
    assert (item.code, item.object.id) == ("SG311", "cell:cell1")
    # What is missing without a reason was not read either.
    assert told(healthy().cell(1, services=None)) == {("SG311", "cell:cell1:services")}


def test_no_evidence_at_all_passes_nothing():
    checked = audit.check(facts.Bundle(facts.SCHEMA, AT, {}, {}, None, None))
    assert checked.findings == ()
    assert findings.verdict(checked.findings, checked.unchecked, []) == "warn"


# --- evidence that is put together ----------------------------------------------------------------------------


def test_of_two_readings_the_later_counts_and_an_answer_beats_silence():
    early, late = healthy(), healthy().host("compute1", read_at="2026-11-22T00:00:00+00:00", fqdn="later")
    for order in ((early, late), (late, early)):
        merged = evidence.merge([some.bundle for some in order])
        assert merged.hosts["compute1"].fqdn == "later"
        assert merged.collected_at == AT
    silent = evidence.merge([early.unreachable("compute1").bundle, late.bundle])
    assert silent.unreachable == {}
    failed = dataclasses.replace(early.without("databases").bundle, failures={"databases": "down"})
    assert evidence.merge([failed, late.bundle]).failures == {}
    assert evidence.merge([failed, early.without("databases").bundle]).failures == {"databases": "down"}


def test_uuids_that_hosts_bear_witness_to(tmp_path):
    some = looked(healthy(hosts=2, guests=1), image(uid("x")))
    for name, row in some.bundle.hosts.items():
        evidence.save_host(str(tmp_path), name, row)
    assert evidence.instance_uuids(str(tmp_path)) == sorted([guest(1, 1), guest(2, 1), uid("x")])
