# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every playbook has its entry, and every entry says what the tests that run every playbook need."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.awx.data import LINES
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: What names hosts of the inventory, or a pattern of it. The others are names in Nova.
IN_THE_INVENTORY = {
    "audit_hosts",
    "evacuate_fence_host",
    "rename_discover_host",
    "rename_recreate_host",
}


def options(name):
    spec = yaml.safe_load((ROOT / "roles" / name / "meta" / "argument_specs.yml").read_text())
    return spec["argument_specs"]["main"]["options"]


def test_every_playbook_has_an_entry_and_every_entry_a_playbook():
    there = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
    assert there == set(entries()), (
        f"write tests/unit/playbooks/NAME.py for {sorted(there - set(entries()))} (resize_server.py is one to copy), "
        f"and remove the file of {sorted(set(entries()) - there)}"
    )


@pytest.mark.parametrize("name", entries())
def test_an_entry_says_how_a_job_ends_and_how_one_is_refused(name):
    entry = entries()[name]
    used = {*entry.ends, *(case.template for case in entry.refusals.values())}
    assert entry.ends and entry.refusals
    assert {LINES[template].playbook for template in used} == {name}


@pytest.mark.parametrize("name", entries())
def test_every_name_of_a_host_that_an_operator_types_is_tried_with_wrong_ones(name):
    typed = {key for key, option in options(name).items() if option["type"] in ("str", "list", "raw")}
    named = {key for key in typed if key.endswith(("_host", "_hosts"))} - IN_THE_INVENTORY
    missing = sorted(named - set(entries()[name].hosts))
    assert not missing, (
        f"{', '.join(missing)}: an option of roles/{name} that ends in _host or _hosts is taken for a name in Nova. "
        f"Add it to ENTRY.hosts in tests/unit/playbooks/{name}.py (drain_host.py is one to copy), so that it is tried "
        "with wrong names; or to IN_THE_INVENTORY in this file if it names hosts of the inventory"
    )
