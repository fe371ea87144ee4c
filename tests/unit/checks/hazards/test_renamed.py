# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG131: one finding for a host that was renamed by hand, and the forecast for it."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import renamed
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders, handmade


def of(style="short", **changes):
    cloud, before = handmade.begun(style)
    found, after = before.copy(), handmade.completed(before, style)
    for name in changes.get("places", ()):
        setattr(found, name, getattr(after, name))
    return builders.Cloud(handmade.bundle_of(cloud, found))


def codes(cloud):
    return sorted({item.code for item in audit.check(cloud.bundle).findings})


HAND = {
    "hostnamectl": ("static", "kernel"),
    "the databases only": ("services", "nodes", "instances"),
    "half of the SQL of a guide": ("instances", "nodes"),
    "everything but placement": ("static", "kernel", "services", "nodes", "instances", "mappings", "members"),
}


@pytest.mark.parametrize("places", HAND.values(), ids=HAND)
def test_one_finding_names_the_state_and_the_command(places):
    cloud = of(places=places)
    checked = audit.check(cloud.bundle)
    found = [item for item in checked.findings if item.code in {"SG131", *renamed.EXPLAINED}]
    if places == HAND["everything but placement"]:
        assert "SG131" not in codes(cloud), "the host has one name in Nova: the check of placement says what is left"
        return
    assert [item.code for item in found] == ["SG131"], found
    (item,) = found
    assert item.severity == "blocker"
    # By SQL alone, the first name is the one that Nova has.
    names = ("renamed1", "compute1") if places == HAND["the databases only"] else ("compute1", "renamed1")
    assert "rename_from={} rename_to={}".format(*names) in item.remedy
    assert "rename_action=adopt" in item.remedy


def test_only_libvirts_name():
    cloud = of()
    cloud = cloud.part("libvirt", hostname="compute1.example.org")
    (item,) = [item for item in audit.check(cloud.bundle).findings if item.code == "SG131"]
    assert "rename_from=compute1 rename_to=compute1 rename_hypervisor_hostname=compute1.example.org" in item.remedy
    assert "SG105" not in codes(cloud)


def test_what_is_dangerous_is_told_beside_it():
    cloud = of(places=("static", "kernel"))
    moved = {"host": "compute2", "node": "compute2", "compute_id": 202}
    cloud = cloud.change("instances", {"uuid": builders.guest(1, 1)}, **moved)
    assert {"SG131", "SG132"} <= set(codes(cloud))


def test_other_hosts_keep_their_findings():
    cloud = of(places=("static", "kernel")).part("libvirt", "compute2", hostname="elsewhere")
    found = [item.object.id for item in audit.check(cloud.bundle).findings if item.code == "SG131"]
    assert found == ["compute1", "compute2"]
    cloud = of(places=("static", "kernel")).drop("host_mappings", {"host": "compute3"})
    assert {"SG117", "SG131"} <= set(codes(cloud))


def test_a_healthy_host_has_none():
    assert "SG131" not in codes(of())


def test_a_host_in_the_hands_of_this_collection_has_none():
    cloud = of(places=("static", "kernel"))
    entry = facts.OpenOperation("op", "rename", "open", builders.AT, "compute1 -> renamed1")
    assert "SG131" not in codes(cloud.host("compute1", open_operations=[entry]))
    unknown = facts.UnknownJournal("/j/rename.json", "?", "version 0.1", "rename")
    assert "SG131" not in codes(cloud.host("compute1", unknown_journals=[unknown]))
    held = {"status": "disabled", "disabled_reason": "stackguard:rename:op"}
    assert "SG131" not in codes(cloud.change("api_services", {"id": builders.service(1)}, **held))


def test_a_name_in_another_case_is_none():
    assert "SG131" not in codes(of().part("libvirt", hostname="Compute1"))


@pytest.mark.parametrize("part", ["compute_id_files", "libvirt", "nova_conf"])
def test_what_was_not_read_is_undecided(part):
    checked = audit.check(of().host("compute1", **{part: None}).bundle)
    assert any(entry.code == "SG131" and entry.object == "compute1" for entry in checked.unchecked)


def test_the_forecast_says_that_nova_compute_refuses():
    cloud = of(places=("static", "kernel"))
    (start,) = [entry for entry in audit.starts(cloud.bundle) if entry.inventory_name == "compute1"]
    assert start.outcome == "refuses"
    assert not start.destroys
