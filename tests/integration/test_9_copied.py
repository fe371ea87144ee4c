# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A machine was cloned with its compute_id file, and its original is off and not in the inventory: it is no rename.

An adoption gave the clone the original's service, node, provider and mapping, and ended green; switched on again, the
original's nova-compute refused to start. Tested in the order of the story; the lab is reset at its end.
"""

from __future__ import annotations

import pathlib

import pytest
import yaml
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.fixtures import as_new
from labkit.playbook import Playbooks

pytestmark = pytest.mark.matrix("adopt")
ORIGINAL, CLONE = "compute2", "compute3"
FILE = "/var/lib/nova/compute_id"
ADOPT = {"rename_adopt": "forward"}


@pytest.fixture(scope="module")
def story(lab, playbooks, tmp_path_factory):
    """The clone has the original's file and no rows of its own; the original is empty, and switched off."""
    as_new(lab)
    try:
        lab.command("guests", "delete", "elsewhere1")
        node = lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host=%s AND deleted=0", ORIGINAL)
        lab.ssh(CLONE, "systemctl stop nova-compute")
        lab.compute("DELETE", f"/os-services/{lab.service(CLONE)['id']}")
        lab.ssh(CLONE, f"cat > {FILE}", stdin=lab.ssh(ORIGINAL, f"cat {FILE}"))
        lab.command("host", ORIGINAL, "power-off")
        waiting.until("the original counts as down", lambda: lab.service(ORIGINAL)["state"] == "down", 180, 5)
        inventory = tmp_path_factory.mktemp("inventory") / "without_the_original.yml"
        hosts = yaml.safe_load(pathlib.Path(lab.info["inventory"]).read_text())
        inventory.write_text(yaml.safe_dump(without(hosts, ORIGINAL)))
        known = Playbooks(lab, playbooks.variables)
        known.inventory = str(inventory)
        yield known, node
    finally:
        if not lab.is_on(ORIGINAL):
            lab.command("host", ORIGINAL, "power-on", check=False)
        lab.reset()


def without(tree, host):
    """An inventory without one of its hosts."""
    if not isinstance(tree, dict):
        return tree
    return {key: without(value, host) for key, value in tree.items() if key != host}


def of_code(result, code):
    return [item for item in result.report["findings"] if item["code"] == code]


def remedies(result):
    return " ".join(item["remedy"] for item in result.report["findings"])


def test_the_audit_names_the_file_on_the_clone_and_no_adoption(lab, story):
    known, _node = story
    seen = known.run("audit").failed()
    assert not of_code(seen, "SG131")
    (item,) = of_code(seen, "SG102")
    assert item["object"]["id"] == CLONE
    assert f"{FILE} on {CLONE}" in item["remedy"]
    assert "rename_action=adopt" not in remedies(seen)
    assert "SG131" in {entry["code"] for entry in seen.report["unchecked"]}


@pytest.mark.parametrize("flags", [["--check"], []], ids=["check", "run"])
def test_the_identity_is_not_taken(lab, story, flags):
    known, _node = story
    before = state.databases(lab), state.files(lab, CLONE)
    refused = known.rename(ORIGINAL, CLONE, "adopt", variables=ADOPT, flags=flags).failed()
    assert refused.codes == {"SG131"}, refused.told()
    assert (state.databases(lab), state.files(lab, CLONE)) == before


def test_a_machine_whose_address_changed_too_is_adopted_by_an_override(lab, story):
    known, node = story
    override = {"code": "SG131", "object": CLONE, "reason": "the machine was renamed and moved to another network"}
    elsewhere = [{**override, "object": ORIGINAL}]
    known.rename(ORIGINAL, CLONE, "adopt", variables={**ADOPT, "stackguard_overrides": elsewhere}).failed()
    done = known.rename(ORIGINAL, CLONE, "adopt", variables={**ADOPT, "stackguard_overrides": [override]}).ok()
    assert done.stats["state"] == "finished"
    guestkit.wait_compute(lab, CLONE)
    assert lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host=%s AND deleted=0", CLONE) == node
    assert state.written(lab, ORIGINAL) == []


def test_the_original_that_comes_back_is_not_sent_to_an_adoption_either(lab, story):
    lab.command("host", ORIGINAL, "power-on")
    waiting.until("the original answers", lambda: lab.ssh(ORIGINAL, "echo yes", check=False) or None, 120)
    known, _node = story
    known.inventory = None
    seen = known.run("audit").failed()
    assert not of_code(seen, "SG131")
    assert {item["object"]["id"] for item in of_code(seen, "SG107")} == {ORIGINAL, CLONE}
    assert "rename_action=adopt" not in remedies(seen)
