# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guests of a rename by draining, call by call: whenever hosts must be measured, the call ends and says so."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_host_rename
from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_token, runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename import operation
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import operation as drain_operation
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename_actions
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.tests.unit import journaled
from ansible_collections.stackguard.nova.tests.unit.operations.test_move_servers import NEAR, ONE, TWO, reads
from ansible_collections.stackguard.nova.tests.unit.steps.test_rename_by_drain import Cloud

OPTIONS = {
    "rename_from": "compute1",
    "rename_to": "cn1",
    "strategy": "drain",
    "drain_return": None,
    "evidence_dir": "/nowhere",
    "nova_api_db_url": None,
    "neutron_db_url": None,
    "expect_plan": None,
    "take_over": False,
    "stop_timeout": 1,
    "start_timeout": 1,
    "agent_timeout": 1,
    "settle_timeout": 1,
}


class Host(compute_host_rename.RemoteHost):
    """The host with the journal. Its libvirt is the fake Nova's."""

    nova = None

    def facts(self, arguments):
        return self.nova.facts(arguments)


class Renaming:
    """A rename of which only the steps that move guests are left."""

    def __init__(self, directory, nova):
        self.directory, self.nova = directory, nova
        host = host_steps.HostRunner(directory)

        def execute(_module, arguments):
            outcome = host.run(arguments["requests"])
            return {"results": outcome.results, "failed": outcome.error is not None, "msg": outcome.error}

        self.host = Host(execute, directory)
        self.host.nova = nova
        limits = nova.params()
        steps = [
            Step(plans.HOME, "record", CONTROLLER, "return_guests_on_rollback", limits),
            Step(plans.MOVE, "away", CONTROLLER, "empty_host", limits),
            Step(plans.RETURN, "home", CONTROLLER, "move_guests_home", limits),
        ]
        about = {"rename_from": "compute1", "rename_to": "cn1", "overrides": [], "preflight": None, SHA256: None}
        about["preflight"] = {"findings": [], "unchecked": []}
        made = runner.new_journal(Plan("rename", "op1", "compute1 -> cn1", steps), about, "2026-01-01T00:00:00Z")
        journals.open_new(directory, {**made, "run": {"token": "old", "ended": "t"}})

    def call(self, action="resume", measured=False, **options):
        """What one task does."""
        given = {**OPTIONS, "state_dir": self.directory, "action": action, "measured": measured, **options}
        mine = run_token.new_run("ann", "t")
        life = journaled.life(self.host, given, "rename_", mine=mine)
        systems = kernel.Systems(given, self.host, {}, self.nova.sleep, lambda: self.nova.now, _connection=object())
        run = operation.RenameRun(**life, systems=systems, operation_id="op2", inventory_name="compute1")
        return operation.Rename(run).carry_out()

    @property
    def journal(self):
        return journals.read(self.directory, "rename")


@pytest.fixture
def renaming(tmp_path, monkeypatch):
    nova = Cloud(monkeypatch)
    monkeypatch.setattr(drain_operation.evidence, "collect", nova.collect)
    monkeypatch.setattr(
        operation.rename_actions, "lock", lambda *_given: contextlib.nullcontext(rename_actions.NoLock())
    )
    return Renaming(str(tmp_path), nova)


def test_guests_leave_and_come_back_each_time_after_all_hosts_were_measured(renaming):
    nova = renaming.nova
    asked = renaming.call()
    assert (asked["failed"], asked["needs"], asked["state"]) == (True, "measured_hosts", "open")
    assert nova.calls == []
    assert renaming.journal["run"]["ended"], "the next task takes the operation up at once"
    nova.jobs.append((9, nova.enable))
    asked = renaming.call(measured=True)
    assert (asked["needs"], renaming.journal["steps"][plans.MOVE]) == ("measured_hosts", journals.DONE)
    assert set(nova.hosts.values()) <= NEAR
    ended = renaming.call(measured=True)
    assert (ended["state"], ended.get("failed")) == ("finished", None)
    assert set(nova.hosts.values()) == {"compute1"}
    assert len(nova.moves) == 4


def test_the_report_of_the_run_that_ends_it_has_what_the_moves_have_found(renaming):
    nova = renaming.nova
    renaming.call()
    nova.jobs.append((9, nova.enable))
    renaming.call(measured=True)
    report = renaming.call(measured=True)["report"]
    # Nobody reads nova.conf of these hosts, so that it is not known whether one reaches the other.
    assert report["verdict"] == "warn"
    assert {item["code"] for item in report["unchecked"]} == {"SG406"}


def test_why_a_guest_stays_is_in_the_report_and_the_operation_stays_open(renaming):
    nova = renaming.nova
    nova.servers[ONE]["status"] = nova.servers[TWO]["status"] = "RESCUE"
    stopped = renaming.call(measured=True)
    assert (stopped["failed"], stopped["state"], "needs" in stopped) == (True, "open", False)
    assert {"SG710", "SG512"} <= {item["code"] for item in stopped["report"]["findings"]}
    assert stopped["report"]["verdict"] == "block"


def test_source_hosts_try_connections_on_the_way_home_and_the_host_itself_before(renaming):
    nova = renaming.nova
    reads(nova)
    nova.service = {"status": "enabled", "disabled_reason": None}
    nova.put("compute3")
    done = dict.fromkeys((plans.HOME, plans.MOVE), journals.DONE)
    journals.write(renaming.directory, {**renaming.journal, "steps": done})
    asked = renaming.call(measured=True)
    assert (asked["needs"], list(asked["probe"]), nova.calls) == ("measured_hosts", ["compute3"], [])
    probes = [{**probe, "error": None} for probe in asked["probe"]["compute3"]]
    assert {probe["dest"] for probe in probes} == {"compute1"}
    assert renaming.call(measured=True, probes=probes)["state"] == "finished"


def test_destinations_with_other_cpus_compare_those_of_the_guests_before_the_first_one_leaves(renaming):
    nova = renaming.nova
    for host in NEAR:
        offers = dataclasses.replace(nova.scene.cloud.bundle.hosts[host].offers, cpu="<cpu><model>other</model></cpu>")
        nova.scene = nova.scene._with(cloud=nova.scene.cloud.host(host, offers=offers))
    asked = renaming.call(measured=True)
    assert (asked["needs"], set(asked["probe"]), nova.calls) == ("measured_hosts", NEAR, [])
    results = {"compute3": {"result": "incompatible"}, "compute5": {"result": "superset"}}
    probes = [{**entry, **results[host]} for host, entries in asked["probe"].items() for entry in entries]
    nova.jobs.append((9, nova.enable))
    renaming.call(measured=True, probes=probes)
    assert set(nova.hosts.values()) == {"compute5"}


def test_what_was_learnt_is_kept_for_the_next_round_and_not_for_the_next_run(renaming):
    nova = renaming.nova
    nova.refuse = set(NEAR)
    renaming.call(measured=True)
    assert set(renaming.journal["memory"][plans.MOVE]["tried"]) <= {ONE, TWO}
    assert renaming.journal["steps"][plans.MOVE] == journals.APPLYING
    nova.refuse = set()
    asked = renaming.call()
    assert (asked["needs"], renaming.journal["memory"][plans.MOVE]["tried"]) == ("measured_hosts", {})
    renaming.call(measured=True)
    assert set(nova.hosts.values()) <= NEAR


def test_a_rollback_measures_before_guests_come_home(renaming):
    nova = renaming.nova
    renaming.call(measured=True)
    nova.enable()
    asked = renaming.call("rollback", drain_return=True)
    assert (asked["needs"], asked["state"]) == ("measured_hosts", "rolling-back")
    assert renaming.journal["steps"][plans.HOME] == journals.UNDOING
    assert set(nova.hosts.values()) <= NEAR
    back = renaming.call("rollback", measured=True, drain_return=True)
    assert back["state"] == "rolled-back"
    assert set(nova.hosts.values()) == {"compute1"}


def test_the_journal_of_an_earlier_version_is_not_carried_out(renaming):
    journal = renaming.journal
    plan = runner.plan_of(journal)
    steps = [Step("move_guests", "away", CONTROLLER, "move_guests", {"guests": []})]
    journals.write(renaming.directory, {**journal, "plan": to_plain(Plan(plan.kind, "op1", plan.subject, steps))})
    stopped = renaming.call(measured=True)
    assert stopped["failed"]
    assert "another version of this collection began operation op1" in stopped["msg"]
