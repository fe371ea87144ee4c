# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labs of more than one pool or Ceph cluster are what they claim to be: other tests rely on it."""

from __future__ import annotations

import pytest
from labkit import evacuation, strangers
from labkit import guests as guestkit

NEAR, FAR, SPARE = "compute1", "compute3", "compute4"
two_clusters = pytest.mark.matrix("evacuation-two-clusters", clusters=2, computes=4)
two_pools = pytest.mark.matrix("evacuation-two-pools", pools=2, computes=4)


@pytest.fixture
def spread(lab):
    """One server on a host of each zone, by host."""
    lab.command("guests", "delete", "--all", check=False)
    try:
        yield {host: guestkit.create(lab, f"on-{host}", "1", "--on", host)[0]["id"] for host in (NEAR, FAR)}
    finally:
        lab.command("guests", "delete", "--all", check=False)


def images(lab, cluster, pool):
    return set(strangers.in_ceph(lab, "rbd", "ls", pool, cluster=cluster))


@two_clusters
def test_each_zone_has_its_disks_in_its_own_cluster(lab, spread):
    first, second = lab.info["clusters"]
    assert first["fsid"] != second["fsid"]
    assert first["monitor"] != second["monitor"]
    assert images(lab, 1, "vms") == {f"{spread[NEAR]}_disk"}
    assert images(lab, 2, "vms") == {f"{spread[FAR]}_disk"}
    for host, cluster in ((NEAR, first), (FAR, second)):
        assert lab.ssh(host, "ceph --id nova fsid").strip() == cluster["fsid"]
        image, number = strangers.disk(lab, spread[host], host)
        assert (image, number) == (f"vms/{spread[host]}_disk", cluster["number"])
        assert strangers.watchers_of(lab, image, number) == [lab.info["hosts"][host]["address"]]


@two_clusters
def test_a_dead_hosts_server_is_evacuated_within_its_cluster(lab, spread):
    server = spread[FAR]
    try:
        evacuation.kill(lab, FAR)
        lab.compute("PUT", f"/os-services/{lab.service(FAR)['id']}", {"forced_down": True}, "2.53")
        lab.action(server, "evacuate", {"host": SPARE}, "2.94")
        guestkit.wait_for(lab, server, "ACTIVE", host=SPARE)
        image, number = strangers.disk(lab, server, SPARE)
        assert number == 2
        assert lab.info["hosts"][SPARE]["address"] in strangers.watchers_of(lab, image, number)
    finally:
        lab.command("host", FAR, "power-on")
        evacuation.let_up(lab, FAR)


@two_clusters
def test_a_stranger_holds_a_disk_open_at_an_address_of_its_own(lab, spread):
    image, number = strangers.disk(lab, spread[FAR], FAR)
    host = lab.info["hosts"][FAR]["address"]
    with strangers.stranger(lab, image, number) as own, strangers.stranger(lab, image, number, "controller") as second:
        assert sorted(strangers.watchers_of(lab, image, number)) == sorted([host, own, second])
        assert len({host, own, second, lab.info["clusters"][1]["monitor"]}) == 4
        assert [entry["runs"] for entry in strangers.strangers(lab)] == [True, True]
    assert strangers.watchers_of(lab, image, number) == [host]
    assert strangers.strangers(lab) == []


@two_pools
def test_each_zone_has_its_disks_in_its_own_pool(lab, spread):
    assert images(lab, 1, "vms") == {f"{spread[NEAR]}_disk"}
    assert images(lab, 1, "vms2") == {f"{spread[FAR]}_disk"}
    for host in (NEAR, FAR):
        image, number = strangers.disk(lab, spread[host], host)
        assert number == 1
        assert strangers.watchers_of(lab, image) == [lab.info["hosts"][host]["address"]]
