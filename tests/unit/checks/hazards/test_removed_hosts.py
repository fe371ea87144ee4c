# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG331: what is left of hosts that are gone, all of it in one finding, and nothing of a host that is not."""

from __future__ import annotations

import dataclasses
import random

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import removed_hosts
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.block_storage import (
    BlockStorage,
    Volume,
    VolumeService,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnChassis, OvnEncap, OvnFacts
from ansible_collections.stackguard.nova.tests.unit.builders import AT, address, guest, healthy, service, uid

FSID = "ceph-1"
#: Every place in which a host may be left, but the records of Nova itself that make it one that is only not seen.
LEFT = (
    *("host mapping", "aggregates", "resource providers", "network agents", "chassis of OVN", "queues"),
    *("blocklist of Ceph", "cinder-volume", "hosts of Masakari", "compute node"),
)


def whole(hosts=3, style="short"):
    """A healthy cloud of which every place was read."""
    some = healthy(hosts=hosts, guests=1, style=style)
    brokers = [facts.BrokerFacts("cell1", "rabbit", hosts, [], "compute1")]
    ovn = OvnFacts(AT, [], [], [], None, [], [])
    return some.databases(brokers=brokers, ovn=ovn).cloud(block_storage=BlockStorage(True, [], [], computes=[]))


def gone(some, name, *places, number=90):
    """Let a host be gone whose service and node are deleted, and leave it in these places."""
    some = some.add("services", dead_service(name, number)).add("compute_nodes", dead_node(name, number))
    cloud, databases = some.bundle.cloud, some.bundle.databases
    if "host mapping" in places:
        row = facts.HostMappingRow(number, name, databases.cells[0].uuid, databases.cells[0].name)
        some = some.add("host_mappings", row)
    if "aggregates" in places:
        some = some.add("aggregate_hosts", facts.AggregateHostRow(number, name, 1, uid("aggregate", 1), "agg1", "az1"))
        first, *rest = some.bundle.cloud.aggregates
        some = some.cloud(aggregates=[dataclasses.replace(first, hosts=[*first.hosts, name]), *rest])
    if "resource providers" in places:
        some = some.add("providers", provider(name, number))
    if "network agents" in places:
        some = some.add("agents", agent(name, number, alive=False))
    if "chassis of OVN" in places:
        ovn = some.bundle.databases.ovn
        entry = OvnChassis(uid("row", number), uid("chassis", number), name, [OvnEncap("geneve", address(number))])
        some = some.databases(ovn=dataclasses.replace(ovn, chassis=[*ovn.chassis, entry]))
    if "queues" in places:
        (broker,) = some.bundle.databases.brokers
        waiting = [*broker.waiting, facts.Queue(f"compute.{name}", 2, 0)]
        some = some.databases(brokers=[dataclasses.replace(broker, waiting=waiting)])
    if "cinder-volume" in places:
        some = some.cloud(block_storage=with_cinder(some.bundle.cloud.block_storage, name, "down"))
    if "hosts of Masakari" in places:
        some = some.cloud(ha_hosts=[*(cloud.ha_hosts or []), facts.HaHost(uid("ha", number), name, "segment1")])
    if "compute node" in places:
        again = dataclasses.replace(dead_node(name, number), id=number + 100, uuid=uid("again", number), deleted=0)
        some = some.add("compute_nodes", again)
    if "blocklist of Ceph" in places:
        some = listed(some, f"{address(number)}:0/0")
    return some


def dead_service(name, number):
    return facts.ServiceRow(
        number, uid("service", number), name, "nova-compute", 68, False, None, False, AT, deleted=number
    )


def dead_node(name, number):
    return facts.ComputeNodeRow(number, uid("node", number), name, name, None, "QEMU", address(number), number)


def provider(name, number, held=()):
    own = uid("node", number)
    strays = {key: {"VCPU": 1} for key in held}
    return facts.ResourceProvider(own, name, 1, own, None, strays=strays, has_compute_trait=True)


def agent(name, number, alive):
    kind = "Open vSwitch agent"
    return facts.ApiAgent(uid("agent", number), kind, "neutron-openvswitch-agent", name, alive)


def with_cinder(storage, name, state):
    row = VolumeService(f"{name}@ceph", "nova", state, "enabled")
    volume = Volume(
        uid("volume", len(storage.volumes)), "available", "nova", f"{row.host}#pool", "ceph", False, False, []
    )
    return dataclasses.replace(storage, services=[*storage.services, row], volumes=[*storage.volumes, volume])


def listed(some, *entries):
    """compute1 has read the blocklist of its cluster."""
    known = some.bundle.hosts["compute1"].rbd
    rows = [*(known.blocklist if known else []), *(facts.BlocklistEntry(entry, "later") for entry in entries)]
    fields = {field.name: None for field in dataclasses.fields(facts.RbdFacts)}
    fields.update(pool="vms", fsid=FSID, unread=[], images=[], blocklist=rows)
    return some.host("compute1", rbd=facts.RbdFacts(**fields))


def told(some):
    """The hosts that are told, each with its places."""
    found = removed_hosts.instead(Index(some.bundle), Checked()).findings
    return {item.object.id: sorted(item.evidence["left in"]) for item in found}


def one(some):
    (item,) = removed_hosts.instead(Index(some.bundle), Checked()).findings
    return item


def unread(some):
    return {item.object for item in removed_hosts.instead(Index(some.bundle), Checked()).unchecked}


@pytest.mark.parametrize("place", LEFT)
def test_a_host_that_is_gone_is_told_by_each_place(place):
    assert told(gone(whole(), "compute9", place)) == {"compute9": [place]}


def test_all_places_of_a_host_are_one_finding():
    item = one(gone(whole(), "compute9", *LEFT))
    assert (item.code, item.severity) == ("SG331", "warning")
    assert sorted(item.evidence["left in"]) == sorted(LEFT)


def test_of_a_host_that_left_nothing_nothing_is_told():
    assert told(whole()) == {} and told(gone(whole(), "compute9")) == {}


@pytest.mark.parametrize("name", ["compute", "compute11", "xcompute1", "compute1-old", "ompute1"])
def test_a_name_that_is_part_of_another_is_another_host(name):
    some = gone(whole(), name, *LEFT)
    item = one(some)
    assert item.object.id == name and "similar names of other hosts" not in item.evidence
    assert all("compute2" not in str(entry) for entry in item.evidence["left in"].values())


@pytest.mark.parametrize("name", ["COMPUTE1", "Compute1", "compute1 "])
def test_another_spelling_of_a_living_host_is_not_gone(name):
    """MySQL takes both for one: what says that a name was misspelt says so."""
    assert told(gone(whole(), name, "host mapping", "aggregates")) == {}


def test_the_full_name_of_a_living_host_may_be_the_same_machine():
    item = one(gone(whole(), "compute1.example.org", "host mapping"))
    assert item.evidence["similar names of other hosts"] == ["compute1"]
    assert item.remedy != one(gone(whole(), "compute9", "host mapping")).remedy


def test_spellings_of_one_host_that_is_gone_are_one_finding():
    some = gone(gone(whole(), "compute9", "host mapping"), "Compute9", "aggregates", number=91)
    item = one(some)
    assert sorted(item.evidence["left in"]) == ["aggregates", "host mapping"]
    assert item.evidence["spellings"] == ["Compute9", "compute9"]


def test_a_host_with_a_server_in_whatever_state_is_not_gone():
    some = gone(whole(), "compute9", *LEFT)
    row = dataclasses.replace(
        some.rows("instances")[0], id=900, uuid=uid("soft"), host="compute9", vm_state="soft-delete"
    )
    assert told(some.add("instances", row)) == {}
    assert told(some.add("instances", dataclasses.replace(row, host="COMPUTE9"))) == {}
    # Nova has deleted that one for good.
    assert "compute9" in told(some.add("instances", dataclasses.replace(row, deleted=900)))


def test_a_host_that_was_read_is_not_gone_whatever_is_known_of_its_name():
    some = whole().drop("instances", {"host": "compute3"}).drop("services", {"host": "compute3"})
    some = some.drop("api_services", {"host": "compute3"})
    assert told(some) == {}
    assert told(some.host("compute3", nova_conf=None)) == {}
    assert "compute3" in told(some.unreachable("compute3"))


def test_what_is_alive_is_no_leftover_and_forbids_the_removal():
    some = gone(whole(), "compute9", "host mapping").add("agents", agent("compute9", 90, alive=True))
    item = one(some)
    assert "network agents" not in item.evidence["left in"] and len(item.evidence["alive"]) == 1
    # A machine that does something else now, and of which Nova has nothing.
    assert told(gone(whole(), "compute9").add("agents", agent("compute9", 90, alive=True))) == {}


def test_a_cinder_volume_that_runs_is_a_sign_of_life():
    some = gone(whole(), "compute9", "host mapping")
    item = one(some.cloud(block_storage=with_cinder(some.bundle.cloud.block_storage, "compute9", "up")))
    assert "cinder-volume" not in item.evidence["left in"] and len(item.evidence["alive"]) == 1


def test_an_address_that_another_host_has_now_is_not_the_one_that_is_gone():
    some = gone(whole(), "compute9", "host mapping", "blocklist of Ceph")
    assert "blocklist of Ceph" in one(some).evidence["left in"]
    other = dataclasses.replace(some.rows("compute_nodes")[1], host_ip=address(90))
    some = some.change("compute_nodes", {"id": other.id}, host_ip=address(90))
    assert "blocklist of Ceph" not in one(some).evidence["left in"]


def test_an_entry_that_a_journal_names_is_the_hosts():
    record = facts.OperationRecord(
        "op1", "evacuate-compute9", "finished", AT, False, "compute9", {FSID: ["198.51.100.7"]}
    )
    some = listed(gone(whole(), "compute9", "host mapping"), "198.51.100.7:0/0", "198.51.100.8:0/0")
    some = dataclasses.replace(some, bundle=dataclasses.replace(some.bundle, operations=[record]))
    assert one(some).evidence["left in"]["blocklist of Ceph"] == [f"{FSID}: 198.51.100.7:0/0"]


def test_evacuations_from_it_are_evidence_and_no_finding_of_their_own():
    some = whole().migrate(guest(2, 1), "compute9", "compute2", "done", "evacuation")
    assert told(gone(some, "compute9")) == {}
    assert len(one(gone(some, "compute9", "host mapping")).evidence["evacuations that were not cleaned up"]) == 1


def test_a_provider_of_a_uuid_that_was_no_compute_nodes_is_not_ours():
    some = gone(whole(), "compute9", "host mapping")
    stranger = dataclasses.replace(provider("compute9", 90), uuid=uid("stranger"))
    untraited = dataclasses.replace(provider("compute9", 90), has_compute_trait=False)
    assert "resource providers" not in one(some.add("providers", stranger)).evidence["left in"]
    assert "resource providers" not in one(some.add("providers", untraited)).evidence["left in"]


def test_consumers_of_its_provider_are_named():
    some = gone(whole(), "compute9").add("providers", provider("compute9", 90, [guest(2, 1)]))
    (entry,) = one(some).evidence["left in"]["resource providers"]
    assert entry["consumers"] == [guest(2, 1)] and entry["number"] == 1


# --- a service that is down


def down(name="compute3", state="down"):
    """A host that is in no inventory and has no server; its service is down."""
    some = whole().drop("instances", lambda row: row.host == name).cloud()
    hosts = {key: value for key, value in some.bundle.hosts.items() if key != name}
    some = dataclasses.replace(some, bundle=dataclasses.replace(some.bundle, hosts=hosts))
    some = some.change("agents", {"host": name}, alive=False)
    return some if state == "up" else some.change("api_services", {"host": name}, state=state)


def test_a_service_that_is_down_of_a_host_that_nobody_saw_is_told():
    item = one(down())
    assert {"compute service", "compute node", "host mapping"} <= set(item.evidence["left in"])
    assert item.evidence["left in"]["compute service"] == [service(3)]


@pytest.mark.parametrize(
    "some",
    [
        down(state="up"),
        down().change("services", {"host": "compute3"}, disabled_reason="stackguard:evacuate:abc"),
        down().unreachable("compute1").unreachable("compute2"),
        dataclasses.replace(down(), bundle=dataclasses.replace(down().bundle, unreachable={"compute3": "timed out"})),
        down().cloud(services=None),
    ],
    ids=["up", "held", "no host was read", "did not answer", "state unread"],
)
def test_a_host_that_may_come_back_is_not_told(some):
    assert told(some) == {}


# --- what was not read


@pytest.mark.parametrize("table", ["services", "compute_nodes", "instances"])
def test_without_every_cell_no_host_is_known_to_be_gone(table):
    some = gone(whole(), "compute9", *LEFT).cell(1, **{table: None})
    assert told(some) == {} and "all" in unread(some)


def test_of_a_narrowed_reading_nothing_is_known():
    assert "all" in unread(gone(whole(), "compute9", *LEFT).narrowed("compute9"))


@pytest.mark.parametrize(
    ("some", "part"),
    [
        (whole().api_db(host_mappings=None), "host mappings"),
        (whole().api_db(aggregate_hosts=None).cloud(aggregates=None), "aggregates"),
        (whole().cloud(providers=None), "resource providers"),
        (whole().change("providers", None, strays=None), "resource providers"),
        (whole().cloud(agents=None), "network agents"),
        (whole().cloud(ha_hosts=None), "hosts of Masakari"),
        (whole().cloud(block_storage=None), "services of Cinder"),
        (whole().databases(brokers=None), "queues of RabbitMQ"),
        (whole().databases(ovn=OvnFacts(AT, [], None, None, None, None, None)), "chassis of OVN"),
        (whole(), "blocklist of Ceph"),
    ],
)
def test_a_place_that_was_not_read_is_undecided(some, part):
    assert part in unread(some)
    assert "host mappings" not in unread(whole()) and "blocklist of Ceph" not in unread(listed(whole()))


# --- in an audit


def test_it_stands_for_the_findings_of_each_place_and_for_no_other():
    some = gone(whole(), "compute9", *LEFT)
    some = some.add("aggregate_hosts", facts.AggregateHostRow(95, "network1", 1, uid("aggregate", 1), "agg1", "az1"))
    found = checks.check(some.bundle).findings
    assert not [item for item in found if item.code in ("SG302", "SG713", "SG329") and "compute9" in repr(item)]
    (item,) = [item for item in found if item.code == "SG331" and item.object.id == "compute9"]
    # SG303 is one, and what it stands for it is no less grave than.
    assert item.severity == "blocker"


@pytest.mark.parametrize("seed", range(20))
def test_random_leftovers_are_all_found_and_nothing_else(seed):
    """Names that are parts of each other, in short, full and upper case."""
    rng = random.Random(seed)
    some, want = listed(whole(hosts=5)), {}
    names = [
        "compute",
        "compute10",
        "compute51",
        "c",
        "compute1a",
        "acompute1",
        "ute1",
        "computes.dc1",
        "NODE-compute2",
    ]
    for number, name in enumerate(rng.sample(names, rng.randint(1, len(names))), 60):
        places = rng.sample(LEFT, rng.randint(0, len(LEFT)))
        some = gone(some, name, *places, number=number)
        if places:
            want[name] = sorted(places)
    assert told(some) == want
