# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG713: inactive port bindings that no migration needs, of a whole cloud."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import left_bindings
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Unchecked
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

ONE = guest(1, 1)


def cloud(host="compute3", some=None, **neutron):
    """Each port of a guest of compute1 has an inactive binding for a host."""
    some = some or healthy(guests=1)
    ports = [port.id for port in some.bundle.cloud.ports if port.device_id == ONE]
    assert ports
    given = {"inactive_bindings": {port: [host] for port in ports}, **neutron}
    databases = some.bundle.databases
    read = dataclasses.replace(databases.neutron, **given)
    return dataclasses.replace(some.bundle, databases=dataclasses.replace(databases, neutron=read))


def told(bundle):
    return list(left_bindings.check(Index(bundle)))


def test_one_that_no_migration_needs_is_told_by_its_host():
    (item,) = told(cloud())
    assert (item.code, item.severity, item.object.id) == ("SG713", "warning", "compute3")
    assert item.evidence["servers"] == [ONE]
    assert told(cloud(inactive_bindings={})) == []
    assert told(cloud(inactive_bindings={"a port that is gone": ["compute3"]})) == []


def test_that_of_a_migration_under_way_is_none():
    assert told(cloud(some=healthy(guests=1).migrate(ONE, "compute1", "compute3", "running", "live-migration"))) == []
    ended = healthy(guests=1).migrate(ONE, "compute1", "compute3", "failed", "live-migration")
    assert len(told(cloud(some=ended))) == 1


@pytest.mark.parametrize(
    "bundle",
    [
        cloud(inactive_bindings=None, unread=[facts.Unread("inactive_bindings", "denied")]),
        cloud(some=healthy(guests=1)),
    ],
    ids=["the bindings", "the ports"],
)
def test_unread_it_is_undecided(bundle):
    if bundle.databases.neutron.inactive_bindings:
        bundle = dataclasses.replace(bundle, cloud=dataclasses.replace(bundle.cloud, ports=None))
    (item,) = told(bundle)
    assert isinstance(item, Unchecked) and item.code == "SG713"


def test_without_neutrons_database_and_of_a_narrowed_reading_nothing_is_said():
    bundle = cloud()
    assert told(dataclasses.replace(bundle, databases=dataclasses.replace(bundle.databases, neutron=None))) == []
    assert told(cloud(scope=["compute1"])) == []
