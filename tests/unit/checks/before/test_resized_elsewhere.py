# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG523 of a resize: Nova chooses the host, so that one which cannot run the server is told, and all of them refuse."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import blocking_findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ResizeRequest
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import preflight
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import node, uid
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB, aggregate, zoned

REQUEST = ResizeRequest(server=WEB, flavor="2", flavor_name="m1.large")
NEW = {"x86_64": ["pc", "pc-i440fx-8.0"]}


def fleet(*lacking):
    """Three hosts; these have dropped the machine type of the server."""
    cloud = builders.healthy(hosts=3, guests=1)
    for host in lacking:
        cloud = cloud.host(host, offers=dataclasses.replace(builders.offers(), machines=NEW))
    return cloud.bundle


def wide():
    """All three hosts are in the zone of the server, and have room."""
    members = {uid("aggregate", 1): [node(1), node(2), node(3)]}
    services = [dataclasses.replace(row, zone="az1") for row in zoned().services]
    everywhere = [aggregate(1, "az1", "compute1", "compute2", "compute3")]
    return zoned(aggregates=everywhere, members=members, services=services, offers={WEB: [node(2), node(3)]})


def judged(bundle, stored=None, about=None):
    checked = preflight.preflight(wide() if about is None else about, REQUEST, None, bundle, stored).checked
    return checked, [(item.severity, item.absolute) for item in checked.findings if item.code == "SG523"]


def test_hosts_that_are_alike_can_run_it():
    checked, told = judged(fleet())
    assert (told, checked.unchecked, blocking_findings(checked.findings, [])) == ([], (), [])


def test_one_host_that_cannot_run_it_is_a_warning_and_all_of_them_refuse():
    assert judged(fleet("compute3"), "pc-q35-7.2")[1] == [("warning", False)]
    assert judged(fleet("compute2", "compute3"), "pc-q35-7.2")[1] == [("blocker", True)]
    assert judged(fleet("compute2", "compute3"), "pc")[1] == [], "a new definition has the destination's own"
    # What Nova has stored is not known: the domain's type says that it may be so.
    assert judged(fleet("compute2", "compute3"))[1] == [("blocker", False)]


def test_a_host_of_another_zone_does_not_matter():
    assert judged(fleet("compute3"), "pc-q35-7.2", zoned())[1] == []


def test_hosts_that_were_not_read():
    some = builders.healthy(hosts=3, guests=1).unreachable("compute3", "timed out").bundle
    assert judged(some)[1] == [("warning", False)]
    empty = dataclasses.replace(some, hosts={}, unreachable={})
    for bundle in (None, empty):
        checked, told = judged(bundle)
        assert (told, [item.code for item in checked.unchecked]) == ([], ["SG523"])
    assert isinstance(empty, facts.Bundle)


def test_a_resize_that_failed_on_its_destination_bars_the_next_one():
    row = facts.ApiMigration(7, "m", "resize", "error", WEB, "compute3", "compute3", "compute1", "compute1")
    decision = preflight.preflight(wide(), REQUEST, None, fleet(), None, row)
    assert ("SG713", "blocker") in {(item.code, item.severity) for item in decision.checked.findings}
    assert "SG713" not in {item.code for item in preflight.preflight(wide(), REQUEST, None, fleet()).checked.findings}
