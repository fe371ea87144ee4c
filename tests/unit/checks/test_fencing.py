# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which addresses Ceph is to refuse: only with evidence, and never one of a host that lives."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils import facts
from ansible_collections.stackguard.nova.plugins.module_utils.checks import evacuation, fencing
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import image, scene

ONE, TWO = guest(1, 1), guest(1, 2)
DISK, OTHER = f"{ONE}_disk", f"{TWO}_disk"
#: Networks of a cloud whose hosts reach Ceph by another one than Nova's.
STORAGE = "198.51.100.{}"


def decided(some, given=()):
    return fencing.addresses(some.bundle, some.about, {ONE, TWO}, "compute1", given)


def known(some, own=address):
    """Nova says the host_ip of each host, and each that was read reaches Ceph from an address of its own (or None)."""
    for number in (2, 3):
        rbd = some.bundle.hosts[f"compute{number}"].rbd
        some = some.at(number, rbd=dataclasses.replace(rbd, client_address=own(number)))
    return some


def elsewhere(number):
    return STORAGE.format(number)


def test_a_watcher_and_a_lock_tell_where_the_host_writes_from():
    watched = known(scene().images(image(DISK, [f"{elsewhere(1)}:0/77"])), elsewhere)
    assert decided(watched).refused == [elsewhere(1)]
    locked = known(
        scene().images(image(DISK, locks=[facts.RbdLock("client.1", f"{elsewhere(1)}:0/77", "auto 1")])), elsewhere
    )
    assert decided(locked).refused == [elsewhere(1)]
    assert "lock of vms/" in decided(locked).why[elsewhere(1)]


def test_without_any_its_host_ip_counts_where_all_others_reach_ceph_from_theirs():
    some = known(scene())
    assert decided(some).why == {address(1): "its host_ip, and the other hosts reach Ceph from theirs"}
    assert decided(some).problems == ()


def test_host_ip_proves_nothing_where_ceph_is_reached_by_another_network():
    for some in (
        known(scene(), elsewhere),
        # One of two is enough of a doubt.
        known(scene(), lambda number: address(number) if number == 2 else elsewhere(number)),
        # Nobody says from where it reaches Ceph; Nova does not say the host_ip.
        known(scene(), lambda number: None),
        known(scene()).target(1, host_ip=None),
    ):
        answer = decided(some)
        assert answer.refused == []
        (item,) = answer.problems
        assert item.code == "SG506"
        assert "evacuate_blocklist_addresses" in item.remedy
    assert decided(known(scene(), elsewhere), [elsewhere(1)]).refused == [elsewhere(1)]
    assert decided(known(scene(), elsewhere), [elsewhere(1)]).problems == ()


def test_an_address_of_another_host_is_never_refused():
    mine = known(scene().images(image(DISK, [f"{address(2)}:0/77"])))
    assert address(2) not in decided(mine).refused
    for number, given in ((2, address(2)), (3, elsewhere(3))):
        (item,) = decided(known(scene(), elsewhere), [given]).problems
        assert item.code == "SG506"
        assert item.evidence["is of"] == f"compute{number}"
    # Nova knows it, though it was not read.
    gone = known(scene())
    gone = gone.having(gone.cloud.unreachable("compute3", "timed out"))
    assert [item.evidence["is of"] for item in decided(gone, [address(3)]).problems] == ["compute3"]


def test_two_clients_that_nobody_knows_are_a_question():
    two = [image(DISK, [f"{elsewhere(1)}:0/77"]), image(OTHER, [f"{elsewhere(9)}:0/77"])]
    some = known(scene().images(*two), elsewhere)
    (item,) = decided(some).problems
    assert item.evidence == {"clients of its guests' disks": [elsewhere(1), elsewhere(9)]}
    assert decided(some, [elsewhere(1)]).problems == ()


def test_what_is_no_address_is_said_by_name():
    (item,) = decided(known(scene()), ["compute1"]).problems
    assert item.evidence == {"evacuate_blocklist_addresses": "compute1"}


def test_it_is_asked_before_anything_is_touched_and_only_for_a_blocklist():
    some = known(scene(), elsewhere)

    def codes(fence):
        decision = evacuation.preflight(some.bundle, some.about, some.request, (), fence)
        return {item.code for item in decision.checked.findings}

    assert codes("blocklist") == {"SG506"}
    assert codes("power") == set()
    named = some.asked(blocklist=(elsewhere(1),))
    decision = evacuation.preflight(named.bundle, named.about, named.request, (), "blocklist")
    assert decision.checked.findings == ()
    assert decision.addresses.refused == [elsewhere(1)]
