# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation lets the role put on an OSD blocklist, and what it says of each address."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.builders import address
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import lock

STORAGE = "198.51.100.1"
CONTROLLER = "203.0.113.200"
UNREAD = [facts.Unread("infrastructure mgr dump", "error -13"), facts.Unread("infrastructure fs dump", "error -13")]


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def asked(life):
    """The first need of a blocklist that is to be changed."""
    needs = [need for need in life.needs if need["kind"] == "fence" and need["fence"] == "blocklist" and need["act"]]
    return needs[0]["clusters"] if needs else None


def at_storage(life, unread=()):
    """Both servers' disks are locked from an address that nothing else shows; managers may be unread."""
    image_of = life._image
    locks = [dataclasses.replace(lock(1), address=f"{STORAGE}:0/77")]

    def seen(uuid):
        found = image_of(uuid)
        return dataclasses.replace(found, locks=locks) if found.locks else found

    life._image = seen
    change = life.change

    def changed(some):
        some = change(some)
        for number in (2, 3):
            rbd = some.bundle.hosts[f"compute{number}"].rbd
            some = some.at(number, rbd=dataclasses.replace(rbd, unread=list(unread)))
        return some

    life.change = changed


def test_the_hosts_own_address_needs_no_right_to_read_managers(life):
    """Nova's own Ceph user (profile rbd) may not read them."""
    done = life.run(fence="blocklist", never_blocklist=["198.51.100.9"])
    assert not done["failed"], done["msg"]
    (cluster,) = asked(life)
    assert (cluster["addresses"], cluster["host_addresses"]) == ([address(1)], [address(1)])
    assert (cluster["infrastructure"], cluster["never"]) == ([], ["198.51.100.9", CONTROLLER])


def test_an_address_that_only_locks_show_is_not_said_to_be_the_hosts(life):
    at_storage(life)
    life.run(fence="blocklist", ceph_infrastructure=["198.51.100.20"])
    (cluster,) = asked(life)
    assert set(cluster["addresses"]) == {STORAGE, address(1)}
    assert cluster["host_addresses"] == [address(1)]
    assert cluster["infrastructure"] == ["198.51.100.20"]


def test_an_address_that_only_locks_showed_is_not_the_hosts_when_the_run_resumes(life):
    at_storage(life)
    given = {"fence": "blocklist", "ceph_infrastructure": ["198.51.100.20"]}
    life.run(dies_at=3, **given)
    about = life.open()["about"]
    assert about["addresses"] == {"fsid": {STORAGE: "locks", address(1): "host_ip"}}
    assert about["proven"] == {"fsid": {STORAGE: "locks"}}
    life.needs.clear()
    life.run(refence=True, **given)
    assert [cluster["host_addresses"] for cluster in asked(life) or []] == [[address(1)]]


def test_beside_another_fence_an_address_that_may_be_a_managers_is_left_out(life):
    at_storage(life, UNREAD)
    done = life.run(also_blocklist=True)
    assert not done["failed"], done["msg"]
    assert [cluster["addresses"] for cluster in asked(life) or []] == [[address(1)]]
    assert STORAGE not in life.blocklist["fsid"]
    assert any("SG709" in said for said in life.said), life.said


def test_a_blocklist_of_an_address_that_may_be_a_managers_is_refused(life):
    at_storage(life, UNREAD)
    done = life.run(fence="blocklist")
    assert done["failed"]
    assert "SG709" in done["msg"]
    assert (asked(life), life.open()) == (None, None)
