# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What operations left behind, as a nightly audit reports it: blocklist entries, holds, and guards."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, operation_records
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, healthy

ONE = guest(1, 1)
OLD = "198.51.100.7"
HELD = "stackguard:evacuate:abc"


def ceph(*blocklist, fsid="f", snapshots=(), ranges=()):
    """What compute2 sees."""
    image = facts.RbdImage(f"{ONE}_disk", "1a", 1, [facts.RbdSnapshot(name) for name in snapshots], [], [])
    entries = [facts.BlocklistEntry(item, "2031-11-21") for item in blocklist]
    entries += [facts.BlocklistEntry(item, range=True) for item in ranges]
    return facts.RbdFacts("library", fsid, "vms", [], [image], entries)


def record(operation="abc", is_open=False, host="compute1", kind=None, **fields):
    kind = kind or f"evacuate-{host}"
    state = "open" if is_open else "finished"
    return facts.OperationRecord(operation, kind, state, "2026-11-20T00:00:00Z", is_open, host, **fields)


def cloud(rbd=None, records=(), hold=None, dead=False):
    """Three hosts. ``records``: None: the journals were not read. ``hold``: compute1's; ``dead``: it is gone."""
    some = healthy(guests=1).host("compute2", rbd=rbd or ceph())
    if hold is not None:
        change = {"status": "disabled", "disabled_reason": hold, "state": "down", "forced_down": True}
        some = some.change("api_services", {"host": "compute1"}, **change)
    if dead:
        some = some.unreachable("compute1")
    operations = None if records is None else list(records)
    return dataclasses.replace(some, bundle=dataclasses.replace(some.bundle, operations=operations))


def told(some, code):
    found = audit.check(some.bundle).findings
    return [(item.object.id, item.severity) for item in found if item.code == code]


def remedy(some, code):
    (item,) = [item for item in audit.check(some.bundle).findings if item.code == code]
    return item.remedy


def undecided(some, code):
    return [item.object for item in audit.check(some.bundle).unchecked if item.code == code]


# --- blocklist ------------------------------------------------------------------------------------------------


def test_a_scrapped_hosts_entry_is_named_with_its_journal_and_its_command():
    """D15 c: nothing ever lifts it, and the next machine with that address cannot write."""
    some = cloud(ceph(f"{OLD}:0/0"), [record(blocklisted={"f": [OLD]})], dead=True)
    assert told(some, "SG515") == [(OLD, "warning")]
    assert "compute1" in remedy(some, "SG515")
    assert remedy(some, "SG515").endswith(f"ceph osd blocklist rm {OLD}:0/0")
    (item,) = [item for item in audit.check(some.bundle).findings if item.code == "SG515"]
    assert item.evidence["operations"] == [{"id": "abc", "host": "compute1", "state": "finished"}]


def test_the_controller_on_the_list_is_named_though_no_journal_knows_it():
    """H2: 10.99.2.1 stayed for five years, and nothing of the collection named it."""
    some = cloud(ceph("10.99.2.1:0/0"))
    assert told(some, "SG515") == [("10.99.2.1", "warning")]


def test_a_new_machine_with_a_listed_address_is_a_blocker_since_it_cannot_write():
    some = cloud(ceph(f"{address(3)}:0/0"), [record(blocklisted={"f": [address(3)]})])
    assert told(some, "SG515") == [(address(3), "blocker")]
    assert "Ceph refuses the writes of compute3" in remedy(some, "SG515")
    # By what was read on it, or by what Nova says of it.
    silent = some.unreachable("compute3").change("hypervisors", {"service_host": "compute3"}, host_ip=address(3))
    assert told(silent, "SG515") == [(address(3), "blocker")]
    # It was evacuated, and its gate is to come.
    held = cloud(ceph(f"{address(1)}:0/0"), [record(blocklisted={"f": [address(1)]})], hold=HELD)
    assert told(held, "SG515") == [(address(1), "warning")]


def test_entries_that_an_open_operation_needs_and_those_of_single_clients_are_not_left():
    some = cloud(ceph(f"{OLD}:0/0"), [record(is_open=True, blocklisted={"f": [OLD]})])
    assert told(some, "SG515") == []
    legacy = cloud(ceph(f"{OLD}:0/0"), [record(is_open=True, kind="evacuate", addresses=[OLD])])
    assert told(legacy, "SG515") == []
    assert told(cloud(ceph(f"{OLD}:0/77", f"{address(3)}:6801/5")), "SG515") == []
    # The same address on another cluster is not what that operation listed.
    other = cloud(ceph(f"{OLD}:0/0", fsid="g"), [record(is_open=True, blocklisted={"f": [OLD]})])
    assert told(other, "SG515") == [(OLD, "warning")]
    assert undecided(other, "SG515") == ["f"]


def test_a_range_is_told_only_where_a_living_host_is_in_it():
    assert told(cloud(ceph(ranges=["198.51.100.0:0/24"])), "SG515") == []
    some = cloud(ceph(ranges=["192.0.2.0:0/24"]))
    assert told(some, "SG515") == [("192.0.2.0/24", "blocker")]
    assert remedy(some, "SG515").endswith("ceph osd blocklist range rm 192.0.2.0/24")


def test_an_old_release_is_told_its_own_word():
    some = cloud(dataclasses.replace(ceph(f"{OLD}:0/0"), blocklist_word="blacklist"))
    assert remedy(some, "SG515").endswith(f"ceph osd blacklist rm {OLD}:0/0")


def test_what_was_not_read_is_never_none():
    assert undecided(healthy(), "SG515") == ["all"]
    assert undecided(cloud(dataclasses.replace(ceph(), blocklist=None)), "SG515") == ["f"]
    # Another cluster that only an other host sees.
    second = cloud().host("compute3", rbd=dataclasses.replace(ceph(fsid="g"), blocklist=None, opened=False))
    assert undecided(second, "SG515") == ["g"]
    assert undecided(cloud(), "SG515") == []
    # Whether an open operation needs it, only its journal says; a living host cannot write all the same.
    unread = cloud(ceph(f"{OLD}:0/0"), None)
    assert (told(unread, "SG515"), undecided(unread, "SG515")) == ([], [f"f: {OLD}:0/0"])
    assert told(cloud(ceph(f"{address(3)}:0/0"), None), "SG515") == [(address(3), "blocker")]
    assert undecided(cloud(ceph(), None), "SG515") == []


# --- holds ----------------------------------------------------------------------------------------------------


def test_a_host_that_never_came_back_is_named_with_its_hold():
    some = cloud(hold=HELD, records=[record()], dead=True)
    assert told(some, "SG516") == [("compute1", "warning")]
    assert "return_host" in remedy(some, "SG516")
    unknown = cloud(hold=HELD, dead=True)
    assert told(unknown, "SG516") == [("compute1", "warning")]


@pytest.mark.parametrize("kind", ["evacuate", "drain", "rename"])
def test_the_hold_of_an_open_operation_is_not_left(kind):
    some = cloud(hold=f"stackguard:{kind}:abc", records=[record(is_open=True, kind=kind)])
    assert told(some, "SG516") == []
    on_host = cloud(hold=f"stackguard:{kind}:abc").host(
        "compute1", open_operations=[facts.OpenOperation("abc", kind, "open", "", "compute1")]
    )
    assert told(on_host, "SG516") == []


def test_a_forgotten_drain_and_a_maintenance_of_the_operator():
    drain = cloud(hold="stackguard:drain:abc")
    assert told(drain, "SG516") == [("compute1", "warning")]
    assert "--enable compute1" in remedy(drain, "SG516")
    assert told(cloud(hold="maintenance"), "SG516") == []
    assert told(cloud(), "SG516") == []


def test_a_hold_whose_journal_may_be_where_nobody_looked_is_undecided():
    assert undecided(cloud(hold=HELD, records=None), "SG516") == ["compute1"]
    assert undecided(cloud(hold="stackguard:rename:abc", dead=True), "SG516") == ["compute1"]
    unread = cloud(hold="stackguard:rename:abc").host("compute1", open_operations=None)
    assert (told(unread, "SG516"), undecided(unread, "SG516")) == ([], ["compute1"])
    assert undecided(healthy().without("cloud", "databases"), "SG516") == ["all"]


def test_the_databases_alone_know_holds_too():
    some = cloud().without("cloud")
    some = some.change("services", {"host": "compute1"}, disabled=True, disabled_reason=HELD)
    assert told(some, "SG516") == [("compute1", "warning")]


# --- journals that are not understood -------------------------------------------------------------------------


def beside(some, operation, on_host=False):
    """A journal that says no more than its operation, or not even that; in the directory, or on compute1."""
    entry = facts.UnknownJournal("/j/evacuate.json", "?", "version 0.1", "evacuate", operation)
    if on_host:
        return some.host("compute1", unknown_journals=[entry])
    return dataclasses.replace(some, bundle=dataclasses.replace(some.bundle, unknown_journals=[entry]))


@pytest.mark.parametrize("operation", ["abc", None])
def test_what_an_operation_may_need_is_not_left_while_its_journal_is_not_understood(operation):
    """Nobody is told to remove what keeps a dead host from its disks, and the disks from being deleted."""
    some = beside(cloud(ceph(f"{OLD}:0/0", snapshots=["stackguard-abc"]), hold=HELD), operation)
    for code in ("SG508", "SG515", "SG516"):
        assert told(some, code) == [], code
    assert undecided(some, "SG515") == [f"f: {OLD}:0/0"]
    assert undecided(some, "SG516") == ([] if operation else ["compute1"])
    assert undecided(some, "SG508") == ([] if operation else [f"vms/{ONE}_disk"])


def test_that_of_a_host_keeps_what_holds_it():
    rename = "stackguard:rename:abc"
    assert told(beside(cloud(hold=rename), "abc", on_host=True), "SG516") == []
    unknown = beside(cloud(hold=rename), None, on_host=True)
    assert (told(unknown, "SG516"), undecided(unknown, "SG516")) == ([], ["compute1"])


def test_other_hosts_findings_are_told_beside_it():
    some = beside(cloud(hold="stackguard:evacuate:other"), "abc")
    assert told(some, "SG516") == [("compute1", "warning")]
    assert told(some, "SG706")


# --- guards ---------------------------------------------------------------------------------------------------


def test_guards_of_a_closed_evacuation_are_left_though_its_host_never_came_back():
    guarded = ceph(snapshots=["stackguard-abc"])
    image = (f"vms/{ONE}_disk", "warning")
    assert told(cloud(guarded, [record()], HELD, dead=True), "SG508") == [image]
    assert told(cloud(guarded, [record(is_open=True)], HELD, dead=True), "SG508") == []
    assert told(cloud(guarded, [record(is_open=True)]), "SG508") == []
    # Held, and no journal says more: it may go on from another controller.
    assert told(cloud(guarded, [], HELD), "SG508") == []
    assert told(cloud(guarded, None, HELD), "SG508") == []
    assert told(cloud(guarded, []), "SG508") == [image]


# --- journals, and evidence -----------------------------------------------------------------------------------


def journal(operation, kind, **about):
    return {"operation_id": operation, "kind": kind, "state": "open", "started_at": operation, "about": about}


def test_journals_of_both_generations_are_understood():
    images = {"x_disk": {"fsid": "f", "pool": "vms", "id": "1"}, "x_disk.swap": {"fsid": "f", "pool": "vms", "id": "2"}}
    new = journal("2", "evacuate-compute1", host="compute1", blocklisted={"f": [OLD]}, servers=[{"images": images}])
    proof = {"kind": "blocklist", "addresses": [OLD, "10.0.0.1"]}
    old = journal("1", "evacuate", host="c", addresses=[OLD], fence_proof=proof, servers=[{"images": {"x_disk": "1"}}])
    strange = journal("3", "links", host=None, blocklisted=None, addresses="x", servers=None, fence_proof=None)
    first, second, third = operation_records.records([new], [old, strange])
    assert (first.open, first.addresses, first.blocklisted, first.homes) == (False, ["10.0.0.1", OLD], {}, {})
    assert (second.open, second.addresses, second.blocklisted, second.homes) == (True, [], {"f": [OLD]}, {"f": ["vms"]})
    assert (third.host, third.addresses) == (None, [])
    kinds = ("evacuate", "evacuate-c", "rename", "evacuated")
    assert [operation_records.is_evacuation(kind) for kind in kinds] == [True, True, False, False]


def test_what_journals_said_is_kept_with_the_evidence(tmp_path):
    directory = str(tmp_path / "evidence")
    some = cloud(records=[record(blocklisted={"f": [OLD]})])
    evidence.save_host(directory, "compute2", some.bundle.hosts["compute2"])
    assert evidence.load(directory).operations is None
    evidence.save_part(directory, evidence.OPERATIONS, some.bundle.operations)
    loaded = evidence.load(directory)
    assert loaded.operations == some.bundle.operations
    evidence.save_whole(str(tmp_path / "saved"), loaded)
    assert evidence.load(str(tmp_path / "saved")).operations == some.bundle.operations
    (tmp_path / "evidence" / evidence.OPERATIONS).write_text("{}")
    with pytest.raises(facts.FactsError, match=r"operations\.json"):
        evidence.load(directory)


def test_slices_know_together_what_each_of_them_knows():
    closed, still = record(), record(is_open=True)
    bundles = [cloud(records=given).bundle for given in ([closed], None, [still, record("def")])]
    assert evidence.merge(bundles).operations == [still, record("def")]
    assert evidence.merge(bundles[1:2]).operations is None


# --- noout ----------------------------------------------------------------------------------------------------

SERIES = "stackguard:maintain:abc"


def osd(number=3, hostname="compute1", up=True, noout=(facts.NOOUT_ITSELF,)):
    return facts.CephOsd(number, hostname, [], [], up, list(noout))


def marked(*osds, read=True, **given):
    some = cloud(dataclasses.replace(ceph(), osds=list(osds) if read else None), **given)
    if given.get("hold"):
        some = some.change("api_services", {"host": "compute1"}, state="up", forced_down=False)
    return some


def test_noout_of_a_series_that_is_not_open_is_named():
    """Its journal is closed, or gone; its hold says whose it was."""
    for records in ([], [record(kind="maintain")]):
        some = marked(osd(), osd(4), hold=SERIES, records=records)
        assert told(some, "SG720") == [("compute1", "warning")]
        assert remedy(some, "SG720").endswith("ceph osd rm-noout 3 4")
        assert "abc" in remedy(some, "SG720")


def test_noout_of_an_open_series_is_no_leftover():
    some = marked(osd(), hold=SERIES, records=[record(is_open=True, kind="maintain")])
    assert told(some, "SG720") == undecided(some, "SG720") == []


def test_osds_that_are_down_keep_it_for_now():
    some = marked(osd(), osd(4, up=False), hold=SERIES, records=[])
    assert told(some, "SG720") == [("compute1", "warning")]
    assert "rm-noout" not in remedy(some, "SG720")


def test_noout_of_nobody_known_is_told_and_no_more():
    some = marked(osd(), records=[])
    assert told(some, "SG720") == [("compute1", "info")]
    assert remedy(some, "SG720").endswith("ceph osd rm-noout 3")


@pytest.mark.parametrize(
    "other", [osd(noout=()), osd(noout=["the cluster"]), osd(hostname="compute11"), osd(hostname=None)]
)
def test_what_is_set_elsewhere_is_no_hosts(other):
    some = marked(other, hold=SERIES, records=[])
    assert told(some, "SG720") == undecided(some, "SG720") == []


def test_what_was_not_read_is_undecided():
    assert undecided(marked(read=False, records=[]), "SG720") == ["f"]
    assert undecided(marked(osd(), hold=SERIES, records=None), "SG720") == ["compute1"]
    assert undecided(healthy(guests=1), "SG720") == ["all"]
