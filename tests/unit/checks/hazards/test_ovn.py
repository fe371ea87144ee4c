# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit of a cloud with OVN: chassis against Nova's hosts, and ports that ask for nobody."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import ovn
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnEncap
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import uid
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import (
    binding,
    chassis,
    ovn_fleet,
    with_host,
    with_ids,
    with_ovn,
)


def told(some):
    return list(ovn.check(Index(some.cloud.bundle)))


def healthy():
    return with_ovn(ovn_fleet(), scope=[], switch_ports=None, port_bindings=[])


def ovn_of(some):
    return some.cloud.bundle.databases.ovn


def renamed(some, hostname):
    rows = [
        dataclasses.replace(row, hostname=hostname) if row.name == uid("system", 1) else row
        for row in ovn_of(some).chassis
    ]
    return with_ovn(some, chassis=rows)


def named_after_the_host(some):
    rows = [
        dataclasses.replace(row, name="compute1") if row.hostname == "compute1" else row for row in ovn_of(some).chassis
    ]
    return with_ids(with_ovn(some, chassis=rows), **{"system-id": "compute1"})


FOUND = {
    "one name twice": ({"SG318"}, lambda some: with_ovn(some, chassis=[*ovn_of(some).chassis, chassis(9, "compute2")])),
    "not registered": ({"SG318"}, lambda some: with_ids(some, **{"system-id": "another"})),
    "named after the host": ({"SG319"}, named_after_the_host),
    "a full name": ({"SG321"}, lambda some: renamed(some, "compute1.example")),
    "another case": ({"SG321"}, lambda some: renamed(some, "Compute1")),
    "another name": ({"SG321"}, lambda some: renamed(some, "elsewhere")),
    "a port asks for nobody": (
        {"SG322"},
        lambda some: with_ovn(some, port_bindings=[binding("p", option="gone", requested=None, chassis=None)]),
    ),
    "a replaced host": (
        {"SG323"},
        lambda some: with_ovn(
            some,
            chassis=[
                *ovn_of(some).chassis,
                dataclasses.replace(chassis(9, "dead"), encaps=[OvnEncap("geneve", "192.0.2.1")]),
            ],
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_what_is_wrong_is_found(name):
    codes, spoil = FOUND[name]
    assert {item.code for item in told(spoil(healthy()))} == codes


def test_a_healthy_cloud_has_nothing_to_tell():
    assert told(healthy()) == []
    waits = with_ovn(healthy(), port_bindings=[binding("p", option="compute2", requested=None, chassis=None)])
    assert told(waits) == [], "northd is about to resolve it: the name is known"


def test_a_cloud_without_ovn_has_nothing_to_tell():
    assert list(ovn.check(Index(builders.healthy().bundle))) == []


def test_without_a_connection_each_code_is_undecided_where_agents_are_ovns():
    some = ovn_fleet()
    some = dataclasses.replace(some, cloud=some.cloud.databases(ovn=None))
    found = told(some)
    assert all(isinstance(item, Unchecked) for item in found)
    assert {item.code for item in found} == set(ovn.AUDITED)


def test_a_database_that_does_not_answer_is_told_and_nothing_else_is_taken_for_decided():
    some = with_ovn(healthy(), chassis=None, port_bindings=None, unread=[Unread("ovn", "no answer")])
    found = told(some)
    assert [item.code for item in found if not isinstance(item, Unchecked)] == ["SG317"]
    assert {item.code for item in found if isinstance(item, Unchecked)} == set(ovn.AUDITED[1:])


def test_a_host_without_ovn_is_not_asked():
    assert told(with_host(healthy(), ovs_external_ids={"system-id": "x"})) == []
