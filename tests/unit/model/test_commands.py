# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands of a remedy are data: no text of a remedy and no name makes or changes one."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import commands, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Subject

STRANGE = (
    "--force",
    "-f",
    "x$(reboot)",
    "x;reboot",
    "x, reboot",
    "x`id`",
    "x -y",
    "-y",
    "x\nreboot",
    "x\n",
    "",
    "x|y",
    "x>y",
    None,
)


def test_a_command_with_plain_names():
    assert commands.typed(("rbd", "trash", "ls")) == ("rbd trash ls",)
    assert commands.typed(("rbd", "snap", "rm"), "vms/x_disk@stackguard-abc") == (
        "rbd snap rm vms/x_disk@stackguard-abc",
    )
    listed = commands.for_host(("openstack", "compute", "service", "list", "--host"), "c1")
    assert listed == ("openstack compute service list --host c1",)
    assert commands.for_host(("x", "--enable"), "c1", "nova-compute") == ("x --enable c1 nova-compute",)
    play = "ansible-playbook stackguard.nova."
    assert commands.playbook("return_host", "c1", "return_host") == (
        f"{play}return_host -i INVENTORY --check -e return_host=c1",
    )
    assert commands.playbook("repair_links", "c1", "repair_hosts", "repair_codes=SG203") == (
        f"{play}repair_links -i INVENTORY --check -e repair_hosts=c1 -e repair_codes=SG203",
    )


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_name_makes_no_command(name):
    assert commands.typed(("rbd", "snap", "rm"), name) == ()
    assert commands.typed(("rbd", "snap", "rm"), "vms/x", name) == ()
    assert commands.for_host(("openstack", "compute", "service", "list", "--host"), name) == ()
    assert commands.playbook("return_host", name, "return_host") == ()


def test_a_text_makes_no_command():
    item = findings.finding("SG508", Subject("image", "x"), {}, "Remove the image: rbd rm vms/x")
    assert item.commands == ()


def test_another_remedy_does_not_keep_the_commands():
    item = findings.finding(
        "SG508", Subject("image", "x"), {}, "first", commands=commands.typed(("rbd", "rm"), "vms/x")
    )
    assert item.commands == ("rbd rm vms/x",)
    other = findings.with_remedy(item, "second")
    assert (other.remedy, other.commands) == ("second", ())


def test_a_report_keeps_the_commands_and_only_where_there_are_any():
    plain = findings.finding("SG507", Subject("image", "x"), {}, "text")
    item = findings.finding("SG508", Subject("image", "x"), {}, "text", commands=commands.MASK)
    told = findings.report(findings.Checked((plain, item)), "2026-01-01T00:00:00Z", 1, 1)
    first, second = json.loads(json.dumps(told))["findings"]
    assert "commands" not in first
    assert second["commands"] == ["systemctl mask nova-compute"]
    assert [findings.from_report(entry) for entry in (first, second)] == [plain, item]
