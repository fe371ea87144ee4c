# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of what each playbook takes: every playbook is in it, every rule refuses and lets pass."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.model import playbook_input as inputs
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

HOSTS = {"hv1": "compute1", "hv2": "compute2", "compute3": "compute3"}


def options(name):
    spec = yaml.safe_load((ROOT / "roles" / name / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    return spec["begin" if name == "common" else "main"]["options"]


def given(playbook, matching=("hv1", "hv2"), **raw):
    """What an operator gave, on top of the role's defaults."""
    defaults = {name: entry.get("default") for name, entry in {**options("common"), **options(playbook)}.items()}
    return inputs.Given(
        {**defaults, **raw},
        raw,
        list(raw),
        lambda pattern: list(HOSTS) if pattern == "all" else list(matching),
        lambda name: [host for host, called in HOSTS.items() if called == name],
        ("audit", "rename_host"),
    )


def told(playbook, **raw):
    return [text for rule in inputs.PLAYBOOKS[playbook].rules for text in rule(given(playbook, **raw))]


def test_every_playbook_is_in_the_table_with_variables_that_it_takes():
    assert set(inputs.PLAYBOOKS) == {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
    for name, playbook in inputs.PLAYBOOKS.items():
        assert {*playbook.names, *playbook.host} <= set(options(name)), name
        assert "run it without --limit" in playbook.limit
    assert set(inputs.HOSTS) <= {name for entry in inputs.PLAYBOOKS.values() for name in entry.names}


@pytest.mark.parametrize(
    ("playbook", "raw", "words"),
    [
        ("audit", {"audit_sources": []}, "audit_sources is empty"),
        ("audit", {"matching": ()}, "matches no host"),
        ("audit", {"matching": (), "audit_sources": ["hosts"]}, "matches no host"),
        ("audit", {"matching": (), "audit_accept_empty": True}, "matches no host"),
        ("audit", {"matching": (), "audit_accept_empty": True, "audit_sources": ["hosts", "api"]}, "matches no host"),
        ("audit", {"matching": (), "audit_evidence": "parts", "audit_all_hosts": True}, "audit_all_hosts"),
        ("doctor", {"doctor_sources": []}, "doctor_sources"),
        ("doctor", {"doctor_operations": ["audit", "dance"]}, "dance"),
        ("drain_host", {"drain_host": "compute1", "migrate_servers": ["web1"]}, "migrate_servers"),
        ("drain_host", {"drain_host": "compute1", "matching": ()}, "matches no host"),
        ("migrate_server", {}, "migrate_servers"),
        ("migrate_server", {"migrate_servers": ["web1"], "drain_action": "rollback"}, "migrate_action"),
        ("pin_servers", {}, "None of these variables is set"),
        ("pin_servers", {"pin_servers": "web1", "pin_all": True}, "Leave out all but one of pin_servers, pin_all"),
        ("pin_servers", {"pin_hosts": []}, "must not be empty lists"),
        ("repair_links", {"repair_hosts": []}, "must not be empty lists"),
        ("repair_links", {"repair_codes": []}, "must not be empty lists"),
        ("repair_links", {"repair_action": "arrived"}, "needs repair_server"),
        ("repair_links", {"repair_server": "web1"}, "needs repair_action"),
        ("repair_links", {"repair_action": "arrived", "repair_server": "a", "matching": ()}, "matches no host"),
        ("repair_links", {"repair_action": "arrived", "repair_server": "a", "repair_read_hosts": False}, "do not set"),
        ("repair_links", {"repair_action": "resume", "repair_server": "a", "repair_evidence_dir": "/x"}, "do not set"),
        ("rename_host", {"rename_from": "compute1", "rename_to": "x", "rename_action": "adopt"}, "rename_adopt"),
        ("rename_host", {"rename_from": "nobody", "rename_to": "x"}, "0 inventory hosts"),
        ("evacuate_host", {"evacuate_host": "compute1"}, "evacuate_fence=KIND"),
        ("evacuate_host", {"evacuate_host": "x", "evacuate_fence": "command"}, "evacuate_fence_confirm_command"),
        ("evacuate_host", {"evacuate_host": "x", "evacuate_fence": "attested", "evacuate_servers": []}, "empty list"),
        (
            "evacuate_host",
            {"evacuate_host": "x", "evacuate_fence": "attested", "evacuate_proof_max_age": 0},
            "1 or more",
        ),
        ("return_host", {"return_host": "nobody"}, "Exactly one inventory host"),
        ("return_host", {"return_host": "compute1", "matching": ("hv1",)}, "Another inventory host"),
        ("return_host", {"return_host": "compute1", "stackguard_ceph_host": ["elsewhere"]}, "elsewhere"),
    ],
)
def test_a_rule_refuses(playbook, raw, words):
    assert any(words in text for text in told(playbook, **raw)), told(playbook, **raw)


@pytest.mark.parametrize(
    ("playbook", "raw"),
    [
        ("audit", {}),
        ("audit", {"audit_evidence": "evidence.jsonl", "matching": ()}),
        ("audit", {"audit_sources": ["api"], "matching": ()}),
        ("audit", {"audit_sources": ["hosts"], "audit_accept_empty": True, "matching": ()}),
        ("audit", {"audit_sources": ["api"], "audit_evidence": "x", "audit_all_hosts": True, "matching": ()}),
        ("doctor", {"doctor_operations": ["audit"]}),
        ("drain_host", {"drain_host": "compute1"}),
        ("migrate_server", {"migrate_servers": ["web1"]}),
        ("migrate_server", {"migrate_action": "status"}),
        ("pin_servers", {"pin_servers": "[?name=='web1']"}),
        ("pin_servers", {"pin_servers": "", "pin_hosts": "compute1"}),
        ("pin_servers", {"pin_action": "status"}),
        ("repair_links", {}),
        ("repair_links", {"repair_action": "arrived", "repair_server": "web1"}),
        ("repair_links", {"repair_action": "status", "repair_server": "web1"}),
        ("repair_links", {"repair_action": "rollback"}),
        ("rename_host", {"rename_from": "compute1", "rename_to": "x"}),
        ("rename_host", {"rename_from": "old", "rename_to": "compute1"}),
        (
            "rename_host",
            {"rename_from": "compute1", "rename_to": "x", "rename_action": "adopt", "rename_adopt": "back"},
        ),
        ("evacuate_host", {"evacuate_host": "compute1", "evacuate_fence": "attested"}),
        ("evacuate_host", {"evacuate_host": "compute1", "evacuate_action": "status"}),
        ("return_host", {"return_host": "compute1"}),
        ("return_host", {"return_host": "nobody", "return_action": "abort"}),
    ],
)
def test_a_rule_lets_pass(playbook, raw):
    assert told(playbook, **raw) == []


def test_who_is_read_and_who_is_meant():
    rename = given("rename_host", matching=("hv1", "hv2", "compute3"), rename_from="compute2", rename_to="x")
    playbook = inputs.PLAYBOOKS["rename_host"]
    assert (list(inputs.host_of(rename, playbook.host)), playbook.peers(rename)) == (["hv2"], ["hv1", "compute3"])
    back = given("return_host", return_host="compute1")
    assert inputs.PLAYBOOKS["return_host"].peers(back) == ["hv2"]
    saved = given("audit", audit_evidence=["one", ""])
    assert not inputs.PLAYBOOKS["audit"].collects(saved)


def test_a_wrong_name_is_not_passed_on_and_one_that_may_be_left_out_may_be_empty():
    playbook = inputs.PLAYBOOKS["rename_host"]
    raw = {"rename_from": "../x", "rename_to": "new", "rename_hypervisor_hostname": ""}
    wrong = inputs.wrong_names(playbook, raw, ["rename_from", "rename_to"])
    assert [name for name, texts in wrong.items() if texts] == ["rename_from"]
    assert inputs.published_names(playbook, raw, wrong) == {"rename_from": None, "rename_to": "new"}
    assert inputs.wrong_names(playbook, {"rename_from": ""}, ["rename_from"])["rename_from"]
