# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations that the doctor can be asked for are the playbooks: no list of them is written by hand."""

from __future__ import annotations

import re

from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import doctor as db
from ansible_collections.stackguard.nova.plugins.plugin_utils import playbooks
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT


def test_every_playbook_is_an_operation_but_for_those_that_are_none():
    there = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
    assert set(playbooks.operations()) == there - set(playbooks.OTHERS)
    assert "resize_server" in playbooks.operations()


def test_what_is_no_operation_is_the_same_in_the_role():
    listed = re.search(r"difference\(\[(.*?)\]\) \| sort", (ROOT / "roles/doctor/vars/main.yml").read_text())
    assert tuple(re.findall(r"'(\w+)'", listed[1])) == playbooks.OTHERS


def test_every_operation_says_which_rights_in_databases_it_needs():
    assert db.undeclared(playbooks.operations()) == []
    assert db.undeclared(["resize_server", "throw_away"]) == ["throw_away"]
