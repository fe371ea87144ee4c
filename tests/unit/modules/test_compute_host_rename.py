# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_host_rename before its first step: what it makes of evidence, in check mode."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_host_rename as action
from ansible_collections.stackguard.nova.plugins.module_utils import evidence
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


@pytest.fixture
def begin(tmp_path):
    """Begin the rename of a fleet's first host, with its evidence as readers leave it."""
    some = fleet()

    def run(cloud, **options):
        for name, facts in cloud.bundle.hosts.items():
            evidence.save_host(str(tmp_path), name, facts)
        for name, reason in cloud.bundle.unreachable.items():
            evidence.save_unreachable(str(tmp_path), name, reason)
        evidence.save_part(str(tmp_path), evidence.CLOUD, cloud.bundle.cloud)
        evidence.save_part(str(tmp_path), evidence.DATABASES, cloud.bundle.databases)
        args = {"rename_from": some.old, "rename_to": some.new, "evidence_dir": str(tmp_path), "neutron_db_url": "x"}
        task = types.SimpleNamespace(args={**args, **options}, async_val=0, check_mode=True, diff=False)
        connection = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/tmp"))
        made = action.ActionModule(task, connection, types.SimpleNamespace(diff=False), None, None, None)
        made._execute_module = lambda **_given: {"results": [{"ok": True, "journal": None}]}
        return made.run(task_vars={"inventory_hostname": "compute1"})

    return run


def test_sound_evidence_is_planned(begin):
    answer = begin(fleet().cloud, peers=["compute2", "compute3"])
    assert (answer["state"], answer["report"]["verdict"]) == ("planned", "pass"), answer


def test_a_peer_that_left_no_trace_is_told_and_the_rename_stays_possible(begin):
    answer = begin(fleet().cloud, peers=["compute2", "compute9"])
    assert (answer["state"], answer["report"]["verdict"]) == ("planned", "warn"), answer
    told = {(item["code"], item["object"]) for item in answer["report"]["unchecked"]}
    assert told == {("SG107", "compute9"), ("SG310", "compute9")}


def test_what_cannot_be_planned_is_refused_whatever_was_overridden_and_the_report_says_so(begin):
    cloud = fleet().cloud.add("agents", builders.agent(1, fleet().old, "OVN Controller agent", "ovn-controller"))
    override = {"code": "SG305", "object": "OVN Controller agent", "reason": "a trial"}
    for overrides in ([], [override]):
        answer = begin(cloud, overrides=overrides)
        assert (answer["failed"], answer["changed"], answer["state"]) == (True, False, "refused")
        assert answer["report"]["verdict"] == "block"
        assert answer["msg"].startswith("refused, nothing was changed: ")
    assert "rename_strategy=drain" in answer["msg"]
    assert answer["report"]["counts"]["overridden"] == 1
