# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a rename with OVN: a chassis or a port that is not as it was is a finding, what was not read is no proof."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import verify as ovn
from ansible_collections.stackguard.nova.tests.unit.builders import uid
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import binding, chassis, ovn_fleet, switch_port

NEW = "renamed1"


def params():
    some = ovn_fleet()
    return next(
        step.params for step in rename.plan(some.cloud.bundle, some.request).steps if step.name == "ovn_verified"
    )


def afterwards(**changes):
    facts = ovn_fleet().cloud.bundle.databases.ovn
    ports = [dataclasses.replace(row, requested=NEW, host_id=NEW) for row in facts.switch_ports]
    rows = [chassis(1, NEW), *(row for row in facts.chassis if row.hostname != "compute1")]
    return dataclasses.replace(facts, **{"chassis": rows, "switch_ports": ports, **changes})


def test_a_rename_that_is_whole_has_nothing_to_tell():
    assert ovn.check(params(), afterwards()) == ovn.Checked()


PORT = uid("port", 1, 1)
WRONG = {
    "no chassis": ("SG318", "blocker", {"chassis": []}),
    "another chassis": ("SG318", "blocker", {"chassis": [dataclasses.replace(chassis(1, NEW), name="another")]}),
    "the chassis registered again": (
        "SG318",
        "warning",
        {
            "chassis": [dataclasses.replace(chassis(1, NEW), uuid="another")],
            "port_bindings": [binding(PORT, chassis="another", requested="another")],
        },
    ),
    "another row's port": ("SG322", "blocker", {"port_bindings": [binding(PORT, requested=uid("chassis", 2))]}),
    "the old one, too": ("SG322", "blocker", {"chassis": [chassis(1, NEW), chassis(9, "compute1")]}),
    "a port names the old host": ("SG322", "blocker", {"switch_ports": [switch_port(PORT, "compute1")]}),
    "a port in the middle of a move names it, too": (
        "SG322",
        "blocker",
        {"switch_ports": [switch_port(PORT, f"{NEW},compute1")]},
    ),
    "a gateway's port, which OVN does not bind by it": (
        "SG322",
        "warning",
        {"switch_ports": [dataclasses.replace(switch_port(PORT, "compute1"), type="router")]},
    ),
    "a label": ("SG322", "blocker", {"switch_ports": [switch_port(PORT, NEW, host_id="compute1")]}),
    "a port resolves to none": ("SG322", "blocker", {"port_bindings": [binding(PORT, requested=None)]}),
    "a guest stopped": ("SG324", "warning", {"port_bindings": [binding(PORT, chassis=None, up=False)]}),
    "a gateway came": ("SG324", "warning", {"gateways": [uid("system", 1)]}),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_is_wrong_is_told(name):
    code, severity, changes = WRONG[name]
    found = ovn.check(params(), afterwards(**changes)).findings
    assert [(item.code, item.severity) for item in found] == [(code, severity)]


@pytest.mark.parametrize("part", ["chassis", "port_bindings", "switch_ports", "gateways"])
def test_what_was_not_read_is_no_proof(part):
    found = ovn.check(params(), afterwards(**{part: None}))
    assert ([item.code for item in found.unchecked], found.findings) == (["SG317"], ())


def test_a_port_that_its_owner_deleted_is_nothing():
    assert ovn.check(params(), afterwards(port_bindings=[])).findings == ()
