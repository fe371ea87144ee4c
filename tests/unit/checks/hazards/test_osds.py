# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which OSDs are a host's: exactly those that say so, and that nothing contradicts."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import osds
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders

MAY = facts.CephRights(True, True)
ADDRESS = builders.address(1)


def osd(number, hostname="compute1", crush=("compute1",), addresses=(ADDRESS,), up=True, noout=()):
    return facts.CephOsd(number, hostname, list(crush), list(addresses), up, list(noout))


OTHER = osd(9, "compute11", ["compute11"], [builders.address(11)])


def view(some, rights=MAY, fsid="f", **changes):
    made = facts.RbdFacts("library", fsid, "vms", [], [], None, osds=some, noout_rights=rights)
    return dataclasses.replace(made, **changes)


def cloud(rbd, other=None, style="short"):
    """``other``: what compute2 has read."""
    return builders.healthy(style=style).host("compute1", rbd=rbd, addresses=[ADDRESS]).host("compute2", rbd=other)


def found(some):
    return osds.of_host(some.bundle, some.bundle.hosts["compute1"])


def parts(some):
    return [item.object.id for item in found(some).findings]


def test_the_osds_of_a_host_are_those_of_its_machine_and_no_others():
    told = found(cloud(view([osd(3), osd(4, up=False), OTHER])))
    assert ([one.id for one in told.osds], told.findings) == ([3, 4], ())
    assert (told.fsid, told.pool, told.readers) == ("f", "vms", ("compute1",))


def test_a_host_without_osds_needs_no_rights():
    told = found(cloud(view([OTHER], rights=None)))
    assert (told.osds, told.findings) == ((), ())


def test_a_full_name_is_its_crush_bucket_by_its_first_label():
    some = cloud(view([osd(3, "compute1.dc1.test")]), style="full")
    assert ([one.id for one in found(some).osds], parts(some)) == ([3], [])


@pytest.mark.parametrize(
    "strange",
    [
        # Its machine says the full name, and the host knows only the short one.
        osd(3, "compute1.dc1.test"),
        # It started before the host was renamed.
        osd(3, "oldname", ["oldname"]),
        # It was moved in CRUSH, or on disk to another machine.
        osd(3, crush=["compute2"]),
        osd(3, "compute2", addresses=[builders.address(2)]),
        # Two machines of one name.
        osd(3, addresses=["198.51.100.3"]),
        # It has never started, and CRUSH has it here.
        osd(3, None, addresses=[]),
    ],
)
def test_an_osd_that_may_be_the_hosts_or_not_refuses(strange):
    (item,) = found(cloud(view([strange, OTHER]))).findings
    assert (item.code, item.severity, item.object.id) == ("SG719", "blocker", "compute1:osds:names")
    assert list(item.evidence["OSDs"]) == ["osd.3"]


def test_a_cluster_without_crush_hosts_or_addresses_contradicts_nothing():
    assert parts(cloud(view([osd(3, crush=[], addresses=[])]))) == []


@pytest.mark.parametrize("rights", [facts.CephRights(True, False), facts.CephRights(None, True), None])
def test_who_may_not_set_and_remove_noout_refuses(rights):
    assert parts(cloud(view([osd(3)], rights=rights))) == ["compute1:osds:rights"]


@pytest.mark.parametrize(
    "some",
    [
        cloud(None),
        cloud(view(None)),
        cloud(view([osd(3)], fsid=None)),
        cloud(view([osd(3)])).host("compute1", addresses=None),
        # Another cluster's OSDs are not this one's.
        cloud(view(None), other=view([osd(3)], fsid="g")),
    ],
)
def test_what_was_not_read_is_not_none(some):
    assert parts(some) == ["compute1:osds:read"]


def test_another_host_of_the_cluster_may_have_read_it():
    told = found(cloud(view(None), other=view([osd(3)])))
    assert ([one.id for one in told.osds], told.findings, told.readers) == ([3], (), ("compute2",))


def down(some, wanted=(3, 4)):
    return [item.evidence.get("not up") for item in osds.not_up(some.bundle, some.bundle.hosts["compute1"], wanted)]


def test_osds_are_up_again_or_named():
    assert down(cloud(view([osd(3), osd(4)]))) == []
    assert down(cloud(view([osd(3), osd(4, up=False)]))) == [["osd.4"]]
    assert down(cloud(view([osd(3)]))) == [["osd.4"]], "one that is gone is not up"
    assert down(cloud(view(None))) == [None], "what was not read is not up"
