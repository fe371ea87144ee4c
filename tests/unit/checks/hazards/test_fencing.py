# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which addresses Ceph is to refuse, which disks that covers, and who else has them: only with evidence."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import guests
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import clients, fencing
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.clients import EvidenceElsewhere, Origin
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import (
    MONITOR,
    disks,
    image,
    lock,
    locked,
    scene,
    volume,
)

ONE, TWO = guest(1, 1), guest(1, 2)
DISK, OTHER = f"{ONE}_disk", f"{TWO}_disk"
#: Networks of a cloud whose hosts reach Ceph by another one than Nova's.
STORAGE = "198.51.100.{}"
READER = "10.99.2.1"
OWN = address(1)


def decided(some, given=(), **elsewhere):
    leaving = guests(some.bundle, some.about, some.request)
    return fencing.addresses(some.bundle, some.about, leaving, some.request, given, EvidenceElsewhere(**elsewhere))


def strange(some, **elsewhere):
    leaving = guests(some.bundle, some.about, some.request)
    return list(fencing.strangers(some.bundle, some.about, leaving, some.request, EvidenceElsewhere(**elsewhere)))


def known(some, own=address):
    """Each host that was read reaches Ceph from an address of its own (or None)."""
    for number in (2, 3):
        rbd = some.bundle.hosts[f"compute{number}"].rbd
        some = some.at(number, rbd=dataclasses.replace(rbd, client_address=own(number)))
    return some


def elsewhere(number):
    return STORAGE.format(number)


def both(holder=1, **changes):
    """Both servers' images under the lock of one client."""
    return [locked(DISK, holder, **changes), locked(OTHER, holder, **changes)]


def refusals(answer):
    return [(item.code, item.evidence) for item in answer.problems]


def preflight(some, fence="blocklist", overrides=()):
    return evacuation.preflight(some.bundle, some.about, some.request, overrides, fence)


def stands(some, fence="blocklist", overrides=(), partial=False):
    decision = preflight(some, fence, overrides)
    return evacuation.refusing(decision.checked, overrides, partial, decision.guests)


# --- whose address? -------------------------------------------------------------------------------------------


def test_the_host_is_blocked_where_its_own_servers_show_it():
    for images in (both(), [image(DISK, [f"{OWN}:0/77"]), image(OTHER)]):
        answer = decided(scene().images(*images))
        assert answer.wanted == {"fsid": [OWN]}
        assert answer.proven == {"fsid": (OWN,)}
        assert (answer.uncovered, answer.problems, answer.strangers) == ({}, (), ())
    assert decided(scene().images(*both())).by_cluster == {
        "fsid": {OWN: clients.Known(Origin.CLIENT, f"lock of vms/{min(DISK, OTHER)}")}
    }


def test_a_backup_reader_is_never_put_on_the_list_and_keeps_only_its_own_server():
    """H2: the reader's address was put on the list for five years, exit 0, verdict pass."""
    some = scene().images(locked(DISK, watchers=[f"{READER}:0/3"]), locked(OTHER))
    answer = decided(some)
    assert answer.wanted == {"fsid": [OWN]}
    (stranger,) = answer.strangers
    assert (stranger.uuid, stranger.kind, stranger.ip, stranger.image) == (ONE, "watcher", READER, DISK)
    decision = preflight(some)
    assert stands(some) == []
    assert list(decision.barred) == [ONE]
    assert decision.barred[ONE][0] == "SG507"
    (item,) = [item for item in decision.checked.findings if item.code == "SG507"]
    assert (item.object.kind, item.object.id, item.object.name) == (
        "instance",
        ONE,
        scene().cloud.rows("servers")[0].name,
    )
    assert (item.evidence["image"], item.evidence["client"]) == (f"vms/{DISK}", f"{READER}:0/3")
    assert item.absolute
    assert item.severity == findings.BLOCKER


def test_a_reader_that_is_alone_with_the_disks_is_no_dead_host():
    """D4: a watcher 198.51.100.250 on one image was to be blocked, since nothing else was seen."""
    some = scene().images(image(DISK, [f"{elsewhere(250)}:0/77"]), image(OTHER))
    answer = decided(some)
    assert elsewhere(250) not in answer.refused
    assert set(answer.uncovered) == {ONE, TWO}
    assert [client.ip for client in answer.strangers] == [elsewhere(250)]


def test_the_lock_of_a_stranger_on_a_stopped_server_is_no_dead_host():
    """D4: a stale lock of a host that is gone, whose address has a new owner."""
    some = scene().server(1, status="SHUTOFF").server(2, status="SHUTOFF").images(*both(elsewhere(250)))
    assert elsewhere(250) not in decided(some).refused
    assert set(decided(some).uncovered) == {ONE, TWO}


def test_a_storage_network_of_its_own_is_found_by_the_locks_of_all_running_servers():
    some = known(scene().images(*both(elsewhere(1))), elsewhere)
    answer = decided(some)
    assert answer.wanted == {"fsid": [elsewhere(1)]}
    assert answer.uncovered == {}
    assert answer.origins == {elsewhere(1): Origin.LOCKS}
    # Which network the peers use says nothing.
    assert decided(scene().images(*both(elsewhere(1)))).proven == {"fsid": (elsewhere(1),)}


def test_one_running_server_proves_no_address_and_the_operator_sees_the_candidate():
    """A backup reader in the storage network had mapped its disk, and was put on the list for years."""
    some = known(scene(guests=1).images(locked(DISK, elsewhere(1))), elsewhere)
    answer = decided(some)
    assert (answer.refused, list(answer.uncovered)) == ([], [ONE])
    candidate = f"{elsewhere(1)} (lock of vms/{DISK})"
    assert f"The run found these addresses of unknown clients: {candidate}. If one" in answer.uncovered[ONE]
    (item,) = answer.problems
    assert (item.code, item.evidence["seen in fsid"]) == ("SG506", [candidate])
    assert "evacuate_blocklist_addresses" in item.remedy
    assert {entry.code for entry in stands(some)} == {"SG506"}
    # A stopped server that has such a lock, too, is no second one.
    stopped = known(scene().server(2, status="SHUTOFF").images(*both(elsewhere(1))), elsewhere)
    assert decided(stopped).proven == {}
    # Its watcher is a stranger's.
    watched = known(scene(guests=1).images(locked(DISK, elsewhere(1), watchers=[f"{elsewhere(1)}:0/77"])), elsewhere)
    assert {entry.code for entry in stands(watched)} == {"SG506", "SG507"}
    # Other proofs: the operator's word, or what was read on the host earlier.
    named = decided(some, [elsewhere(1)])
    assert (named.uncovered, named.refused) == ({}, [elsewhere(1)])
    # His word is not kept as something that was seen: a later run would take it for proof.
    assert named.proven == {}
    assert stands(some.asked(blocklist=(elsewhere(1),))) == []
    assert decided(some, earlier=((elsewhere(1), None),)).proven == {"fsid": (elsewhere(1),)}
    assert decided(scene(guests=1).images(locked(DISK))).proven == {"fsid": (OWN,)}


@pytest.mark.parametrize(
    "spoil",
    [
        # One more that is not known: which of the two is the host?
        lambda some: some.images(locked(DISK, elsewhere(1)), locked(OTHER, elsewhere(9))),
        lambda some: some.images(locked(DISK, elsewhere(1), watchers=[f"{READER}:0/3"]), locked(OTHER, elsewhere(1))),
        # One of the running servers shows nothing, or was not read.
        lambda some: some.images(locked(DISK, elsewhere(1)), image(OTHER)),
        lambda some: some.images(locked(DISK, elsewhere(1)), image(OTHER, locks=None)),
        lambda some: some.images(
            locked(DISK, elsewhere(1)), dataclasses.replace(locked(OTHER, elsewhere(1)), watchers=None)
        ),
        # They were made by hand.
        lambda some: some.images(
            *[image(n, locks=[facts.RbdLock(f"{elsewhere(1)}:0/1", "me")]) for n in (DISK, OTHER)]
        ),
        # It is a daemon's of the cluster.
        lambda some: some.images(*both(elsewhere(1)), infrastructure=[elsewhere(1)]),
        # An address of the host is known as a client there.
        lambda some: some.asked(blocklist=(elsewhere(7),)).images(*both(elsewhere(1))),
    ],
)
def test_locks_that_do_not_agree_prove_no_address(spoil):
    some = known(spoil(scene()), elsewhere)
    answer = decided(some, some.request.blocklist)
    assert elsewhere(1) not in answer.refused
    assert answer.uncovered


def test_host_ip_may_be_on_the_list_and_covers_no_disk():
    """A management address proves nothing about Ceph, even where all other hosts use theirs."""
    answer = decided(scene())
    assert answer.origins == {OWN: Origin.HOST_IP}
    assert answer.proven == {}
    assert set(answer.uncovered) == {ONE, TWO}
    assert sorted(item.object.id for item in stands(scene())) == sorted([ONE, TWO])
    for some in (known(scene(), elsewhere), known(scene(), lambda number: None), scene().target(1, host_ip=None)):
        answer = decided(some)
        assert answer.refused == []
        (item,) = answer.problems
        assert item.code == "SG506"
        assert "evacuate_blocklist_addresses" in item.remedy


def test_a_run_with_nothing_to_block_is_refused_whatever_is_overridden():
    """D1: block([]) returned ok, and was recorded as proof."""
    word = [findings.Override("SG506", name, "sure") for name in ("compute1", ONE, TWO)]
    some = known(scene(), elsewhere)
    assert [item.object.id for item in stands(some, overrides=word)] == ["compute1"]
    assert stands(some.asked(blocklist=(elsewhere(1),)), overrides=word) == []


def test_the_operator_names_the_address():
    some = known(scene(), elsewhere)
    answer = decided(some, [elsewhere(1)])
    assert (answer.wanted, answer.uncovered, answer.problems) == ({"fsid": [elsewhere(1)]}, {}, ())
    assert answer.origins == {elsewhere(1): Origin.OPERATOR}
    assert stands(some.asked(blocklist=(elsewhere(1),))) == []


def test_an_address_typed_wrong_does_not_cover_a_disk_that_another_client_holds():
    some = known(scene().images(*both(elsewhere(1))), elsewhere)
    answer = decided(some, [elsewhere(11)])
    assert set(answer.uncovered) == {ONE, TWO}
    assert elsewhere(1) in answer.uncovered[ONE]
    assert decided(some, [elsewhere(1), elsewhere(11)]).uncovered == {}


def test_what_was_read_on_the_host_earlier_counts_in_that_cluster_only():
    some = known(scene(), elsewhere)
    assert decided(some, earlier=((elsewhere(1), "fsid"),)).uncovered == {}
    for cluster in ("another", None):
        answer = decided(some, earlier=((elsewhere(1), cluster),))
        assert (answer.refused, set(answer.uncovered)) == ([], {ONE, TWO})
    # An address of the host that a lock shows.
    locks = known(scene().images(locked(DISK, elsewhere(1)), image(OTHER)), elsewhere)
    assert decided(locks).refused == []
    assert decided(locks, earlier=((elsewhere(1), None),)).proven == {"fsid": (elsewhere(1),)}


def test_what_is_read_on_the_host_now_counts():
    some = scene(alive=True)
    some = some.at(1, domains=[], rbd=disks(image(DISK), image(OTHER), client_address=elsewhere(1)))
    assert decided(some).proven == {"fsid": (elsewhere(1),)}
    # The machine in the inventory calls itself another host: nothing of it is the dead host's.
    other = some.having(some.cloud.part("nova_conf", "compute1", host="compute7"))
    assert decided(other).proven == {}


# --- never listed ---------------------------------------------------------------------------------------------


def test_an_address_of_another_host_is_never_listed():
    mine = scene().images(image(DISK, [f"{address(2)}:0/77"]), image(OTHER))
    assert address(2) not in decided(mine).refused
    for number, given in ((2, address(2)), (3, elsewhere(3))):
        answer = decided(known(scene(), elsewhere), [given])
        assert [item.evidence.get("belongs to") for item in answer.problems] == [f"compute{number}", None]
        assert answer.refused == []
    # Nova knows it, though it was not read.
    gone = scene()
    gone = gone.having(gone.cloud.unreachable("compute3", "timed out"))
    assert [item.evidence["belongs to"] for item in decided(gone, [address(3)]).problems] == ["compute3"]
    # An inventory host that is no compute host for Nova.
    bare = scene()
    bare = bare.having(bare.cloud.host("compute2", nova_conf=None)).target(2, host_ip=None)
    assert decided(bare, [address(2)]).problems[0].evidence["belongs to"] == "compute2"


@pytest.mark.parametrize("where", ["controllers", "gateways"])
def test_the_controller_and_gateways_are_never_listed(where):
    some = scene().images(*both(READER))
    assert decided(some).refused == [READER, OWN]
    answer = decided(some, **{where: (f"::ffff:{READER}",)})
    assert READER not in answer.refused
    assert (
        decided(some, [READER], **{where: (READER,)})
        .problems[0]
        .evidence["belongs to"]
        .startswith(("the contr", "a gate"))
    )
    assert decided(some, [READER], **{where: (READER,)}).refused == [OWN]


def test_monitors_managers_osds_and_mds_are_never_listed():
    some = scene().images(*both(elsewhere(5)), infrastructure=[MONITOR, elsewhere(5)])
    answer = decided(some)
    assert elsewhere(5) not in answer.refused
    assert set(answer.uncovered) == {ONE, TWO}
    (item,) = decided(some, [elsewhere(5)]).problems
    assert "monitor, manager, OSD or MDS" in item.evidence["belongs to"]
    assert decided(some, [elsewhere(5)]).refused == [OWN]


def test_a_hyperconverged_host_is_refused_and_says_what_would_stop():
    some = scene().images(*both(), infrastructure=[MONITOR, OWN])
    answer = decided(some)
    assert answer.refused == []
    assert [item.code for item in answer.problems] == ["SG506", "SG506"]
    assert "radosgw" in answer.problems[0].evidence["would stop"]
    assert "SG506" in {item.code for item in stands(some)}
    assert stands(some, "power") == []


def test_without_the_addresses_of_the_daemons_nothing_is_blocked():
    some = scene().images(*both(), infrastructure=None)
    assert {item.code for item in stands(some)} == {"SG709"}
    assert stands(some, "power") == []
    # One host that could read them is enough.
    assert stands(some.at(3, rbd=disks(*both(), client_address=address(3)))) == []


UNREAD = [facts.Unread("infrastructure mgr dump", "error -13"), facts.Unread("infrastructure fs dump", "error -13")]


def test_an_address_that_only_locks_show_is_listed_nowhere_while_managers_are_unread():
    """It may be a manager's. Beside another fence it went on the list without a finding."""
    some = scene().images(*both(elsewhere(1)), unread=UNREAD)
    assert {item.code for item in stands(some)} == {"SG709"}
    answer = decided(some)
    assert elsewhere(1) not in answer.refused
    assert answer.proven == {}
    beside = some.asked(also_blocklist=True)
    assert [item.severity for item in preflight(beside, "power").checked.findings if item.code == "SG709"] == [
        "warning"
    ]
    assert stands(beside, "power") == []
    assert "SG709" not in {item.code for item in preflight(some, "power").checked.findings}
    # Named by the operator they are no managers' but those.
    said = some.asked(infrastructure=(MONITOR,), also_blocklist=True)
    assert elsewhere(1) in decided(said).refused
    assert "SG709" not in {item.code for item in preflight(said, "power").checked.findings}
    # The right to read them is enough; and what is known to be the host's needs none.
    assert decided(scene().images(*both(elsewhere(1)))).proven == {"fsid": (elsewhere(1),)}
    own = scene().images(*both(), unread=UNREAD)
    assert (decided(own).wanted, stands(own)) == ({"fsid": [OWN]}, [])


def test_what_is_no_address_is_said_by_name():
    some = scene().images(*both())
    assert refusals(decided(some, ["compute1"])) == [("SG506", {"evacuate_blocklist_addresses": "compute1"})]
    assert refusals(decided(some, ["192.0.2.0/24"])) == [("SG506", {"evacuate_blocklist_addresses": "192.0.2.0/24"})]


# --- several clusters, several networks, IPv6 -----------------------------------------------------------------


def two_clusters(*second, **changes):
    """The second server's disk is in a cluster that only compute3 reaches."""
    some = scene().images(locked(DISK), on=(2,))
    return some.images(*(second or (locked(OTHER),)), on=(3,), **{"fsid": "other", **changes})


def test_each_cluster_has_its_own_addresses():
    """D2: the blocklist was written to the cluster of the first inventory name, and read back there."""
    some = two_clusters()
    assert decided(some).wanted == {"fsid": [OWN], "other": [OWN]}
    assert decided(some).uncovered == {}
    apart = two_clusters(locked(OTHER, elsewhere(1)), client_address=elsewhere(3))
    assert (decided(apart).wanted, list(decided(apart).uncovered)) == ({"fsid": [OWN]}, [TWO])
    read = ((elsewhere(1), "other"),)
    assert decided(apart, earlier=read).wanted == {"fsid": [OWN], "other": [elsewhere(1)]}
    assert decided(apart, earlier=read).uncovered == {}


def test_a_client_of_one_cluster_covers_no_disk_in_another():
    some = two_clusters(image(OTHER), client_address=elsewhere(3))
    answer = decided(some)
    assert answer.wanted == {"fsid": [OWN]}
    assert list(answer.uncovered) == [TWO]
    assert "cluster other" in answer.uncovered[TWO]
    assert decided(some, [elsewhere(1)]).uncovered == {}
    assert [item.object.id for item in stands(some) if item.code == "SG506"] == [TWO]
    assert preflight(some).barred[TWO][0] == "SG506"


def test_a_cluster_without_a_name_is_equal_to_none():
    some = scene().images(*both(), fsid=None)
    assert decided(some).refused == []
    assert set(decided(some).uncovered) == {ONE, TWO}
    assert "SG709" in {item.code for item in stands(some)}


def test_a_stopped_server_beside_one_that_shows_the_host_is_covered():
    some = scene().server(2, status="SHUTOFF").images(locked(DISK), image(OTHER))
    assert decided(some).uncovered == {}
    assert set(decided(some.server(1, status="SHUTOFF").images(image(DISK), image(OTHER))).uncovered) == {ONE, TWO}


def test_ipv6_and_mapped_addresses_are_one_address():
    mapped = facts.RbdLock(f"[::ffff:{OWN}]:0/77", "auto 1")
    answer = decided(scene().images(image(DISK, locks=[mapped]), locked(OTHER)))
    assert (answer.wanted, answer.uncovered) == ({"fsid": [OWN]}, {})
    assert decided(scene().images(*both()), [f"::ffff:{OWN}"]).wanted == {"fsid": [OWN]}
    six = [image(name, locks=[facts.RbdLock("[2001:DB8::1]:0/7", "auto 1")]) for name in (DISK, OTHER)]
    some = scene().images(*six)
    assert decided(some).proven == {"fsid": ("2001:db8::1",)}
    assert decided(some, controllers=("2001:0db8::0001",)).proven == {}


def test_a_host_with_two_storage_networks_is_blocked_at_both():
    locks = [lock(1), facts.RbdLock(f"{elsewhere(1)}:0/9", "auto 2")]
    some = scene().images(locked(DISK), image(OTHER, locks=locks))
    answer = decided(some)
    # The second is not known to be the host's: its server is not covered.
    assert (answer.wanted, list(answer.uncovered)) == ({"fsid": [OWN]}, [TWO])
    assert decided(some, [elsewhere(1)]).wanted == {"fsid": [OWN, elsewhere(1)]}
    assert decided(some, [elsewhere(1)]).uncovered == {}


# --- volumes --------------------------------------------------------------------------------------------------


def on_volumes(*found, **changes):
    """The first server boots from a volume, the second has its disk in Nova's pool."""
    some = scene().server(1, image="", volumes=["v1"])
    return some.images(locked(OTHER), **{"volumes": list(found), **changes})


def test_a_server_on_iscsi_is_not_covered_by_a_blocklist():
    """D3: two servers that boot from volumes, fence=blocklist: 0 findings, both assigned; the LUN had two writers."""
    some = on_volumes()
    assert list(decided(some).uncovered) == [ONE]
    item, unread = stands(some)
    assert (item.code, item.object.kind, item.object.id) == ("SG506", "instance", ONE)
    assert "volume v1" in item.evidence["not covered"]
    # Whoever has it open is not known, whatever the fence.
    assert (unread.code, unread.object.kind, unread.object.id) == ("SG709", "instance", ONE)
    assert stands(some, "power") == [unread]
    # Each is passed by the server's name, and not by the host's.
    for word, left in (("compute1", ["SG506", "SG709"]), (ONE, [])):
        passed = [findings.Override(code, word, "an iSCSI LUN, fenced by the array") for code in ("SG506", "SG709")]
        assert [one.code for one in stands(some, overrides=passed)] == left
    assert [one.code for one in stands(some, overrides=[findings.Override("SG506", ONE, "sure")])] == ["SG709"]


def test_volumes_that_were_not_read_are_not_covered():
    assert list(decided(on_volumes(volumes=None)).uncovered) == [ONE]


def test_a_volume_in_the_same_cluster_is_covered():
    assert decided(on_volumes(volume("v1"))).uncovered == {}
    assert stands(on_volumes(volume("v1"))) == []
    data = scene().server(1, volumes=["v1"]).images(*both(), volumes=[volume("v1")])
    assert decided(data).uncovered == {}
    assert list(decided(data.images(*both())).uncovered) == [ONE]


def test_volumes_show_their_clients_as_images_do():
    watched = on_volumes(volume("v1", [f"{READER}:0/1"]))
    assert list(preflight(watched).barred) == [ONE]
    mine = scene(guests=1).server(1, image="", volumes=["v1"]).images(volumes=[volume("v1", [f"{OWN}:0/1"])])
    assert decided(mine).proven == {"fsid": (OWN,)}
    # Another compute host has it open.
    theirs = on_volumes(volume("v1", [f"{address(3)}:0/1"]))
    assert list(preflight(theirs, "power").barred) == [ONE]


def test_a_multiattached_volume_may_be_open_on_the_host_of_its_other_server():
    some = on_volumes(volume("v1", [f"{address(3)}:0/1"]))
    other = some.having(some.cloud.change("servers", {"id": guest(3, 1)}, volumes=["v1"]))
    assert preflight(other, "power").barred == {}


# --- strangers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fence", ["power", "command", "blocklist", "attested", None])
def test_a_strangers_watcher_is_reported_before_anything_is_touched(fence):
    """H3: the preflight had seen the watcher, and said nothing."""
    some = scene().images(locked(DISK, watchers=[f"{READER}:0/3"]), locked(OTHER))
    assert [item.object.id for item in preflight(some, fence).checked.findings if item.code == "SG507"] == [ONE]


def test_a_stranger_is_named_where_it_is_known():
    some = scene().images(locked(DISK, watchers=[f"{READER}:0/3"]), locked(OTHER))
    assert strange(some)[0].evidence["belongs to"] == "not known"
    assert strange(some, controllers=(READER,))[0].evidence["belongs to"] == "the controller"
    manager = some.images(locked(DISK, watchers=[f"{MONITOR}:0/3"]), locked(OTHER))
    assert "manager" in strange(manager)[0].evidence["belongs to"]


def test_a_stale_lock_is_reported_and_keeps_no_server():
    """Its holder has not the image open: a QEMU breaks such a lock, and Ceph refuses the former holder from then on."""
    for holder in (elsewhere(9), address(3)):
        some = scene().server(1, status="SHUTOFF").images(locked(DISK, holder), locked(OTHER))
        (item,) = strange(some)
        assert (item.code, item.severity, item.object.id) == ("SG507", findings.WARNING, ONE)
        assert preflight(some).barred == {}
        assert stands(some) == []
    assert strange(scene().images(*both())) == []


def test_a_server_that_everyone_of_is_a_strangers_refuses_the_run():
    watchers = [f"{READER}:0/3"]
    some = scene().images(locked(DISK, watchers=watchers), locked(OTHER, watchers=watchers))
    assert {item.code for item in stands(some, "power")} == {"SG507"}
    assert set(preflight(some, "power").barred) == {ONE, TWO}


def test_the_operator_says_that_a_stranger_is_the_dead_host():
    watched = [image(name, [f"{elsewhere(1)}:0/77"]) for name in (DISK, OTHER)]
    some = known(scene().images(*watched), elsewhere)
    assert {item.code for item in stands(some, "power")} == {"SG507"}
    assert stands(some.asked(blocklist=(elsewhere(1),)), "power") == []


# --- rights ---------------------------------------------------------------------------------------------------


def rights(some, kind="blocklist"):
    return [(item.code, item.severity, item.remedy) for item in fencing.rights(some.bundle, ["fsid"], kind)]


def test_a_user_that_may_not_change_the_list_is_refused_before_anything_is_touched():
    assert rights(scene()) == []
    for changes in (
        {"rights": facts.CephRights(False, False, "EACCES")},
        {"rights": facts.CephRights(None, None, "not read")},
        {"rights": None},
        {"blocklist_word": None},
    ):
        some = scene().images(*both(), **changes)
        ((code, severity, remedy),) = rights(some)
        assert (code, severity) == ("SG518", findings.BLOCKER)
        assert "ceph auth caps client." in remedy
        assert rights(some, "power") == []
        assert {item.code for item in stands(some)} == {"SG518"}
        # One host whose user may is enough.
        able = some.at(3, rbd=disks(*both(), client_address=address(3)))
        assert rights(able) == []


def test_a_user_that_may_not_remove_entries_is_a_warning():
    for remove in (False, None):
        some = scene().images(*both(), rights=facts.CephRights(True, remove))
        ((code, severity, remedy),) = rights(some)
        assert (code, severity) == ("SG518", findings.WARNING)
        assert "with blocklistop=rm" in remedy
        assert stands(some) == []


def test_a_cluster_that_no_host_reaches():
    assert [item.code for item in fencing.rights(scene().bundle, ["other"], "blocklist")] == ["SG518"]


def test_only_words_that_are_known_count_in_a_journal():
    assert {origin.value for origin in Origin if clients.shows_host(origin.value)} == {
        "host", "earlier", "client", "operator", "host_ip",
    }  # fmt: skip
    assert {origin.value for origin in Origin if clients.is_seen(origin.value)} == {
        "host",
        "earlier",
        "client",
        "locks",
    }
    # Sentences of journals of earlier versions, and what a later version may write.
    for word in ("from the locks alone: all locks", "named by the operator", "a watcher", "LOCKS", "", None, "new"):
        assert (clients.shows_host(word), clients.is_seen(word)) == (False, False)


def test_what_only_locks_showed_is_no_better_known_in_a_later_run():
    first = decided(known(scene().images(*both(elsewhere(1))), elsewhere))
    assert first.origins == {elsewhere(1): Origin.LOCKS}
    pair = (elsewhere(1), "fsid")
    some = known(scene(), elsewhere)
    assert decided(some, earlier=(pair,), by_locks=frozenset([pair])).origins == {elsewhere(1): Origin.LOCKS}
    assert decided(some, earlier=(pair,)).origins == {elsewhere(1): Origin.EARLIER}
