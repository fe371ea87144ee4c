# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A return from the first look to the report, without Ansible: the action plugin, and a pump that answers it.

Journals are real files. The host, Ceph and Nova are what a test makes of them: see :class:`ReturnLife`.
"""

from __future__ import annotations

import dataclasses
import json
import types

from ansible_collections.stackguard.nova.plugins.action import compute_host_return
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    compute_services,
    resource_providers,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import migrations
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_action, pumped_run
from ansible_collections.stackguard.nova.plugins.plugin_utils.journal_host import LocalState
from ansible_collections.stackguard.nova.tests.unit.builders import AT
from ansible_collections.stackguard.nova.tests.unit.checks.before import test_return_host as scenes
from ansible_collections.stackguard.nova.tests.unit.rabbit import Rabbit

#: A run that asks for more than this goes on for ever.
MOST_CALLS = 40
HELD = scenes.HELD


def evacuation(host="compute1", operation="abc", state=journals.FINISHED, **about):
    """The journal of an evacuation."""
    plan = {"kind": f"evacuate-{host}", "operation_id": operation, "subject": host, "steps": [], "notes": []}
    return {
        "schema": journals.SCHEMA,
        "kind": f"evacuate-{host}",
        "operation_id": operation,
        "subject": host,
        "state": state,
        "started_at": "2026-11-20T00:00:00Z",
        "updated_at": "2026-11-20T00:00:00Z",
        "about": {"host": host, SHA256: None, **about},
        "run": {"controller": "c", "pid": 1},
        "plan": plan,
        "steps": {},
        "history": [],
    }


class ReturnLife:
    """compute1 was evacuated, and answers again: its old QEMU runs, Ceph refuses it, and the evacuation holds it."""

    def __init__(self, tmp_path, monkeypatch):
        self.place = tmp_path
        self.state_dir = str(tmp_path / "state")
        self.reports = tmp_path / "reports"
        self.domains = [scenes.ONE]
        self.blocklist = [scenes.HOST]
        self.service = facts.ApiService("s1", "compute1", "nova-compute", "down", "disabled", True, HELD)
        #: Status of the evacuation's record: a start of nova-compute completes it.
        self.record = "done"
        self.change = lambda some: some
        #: Called with each need before it is answered; may answer it in the test's own way.
        self.answer = lambda _need: None
        self.said, self.needs, self.done = [], [], []
        self.cloud_id = "nova1 in RegionOne"
        self.soft_deleted = {}
        #: The last call's result.
        self.last = None
        self.runs = 0
        #: Whether nova-compute runs.
        self.started = False
        self.close(evacuation())
        patch = monkeypatch.setattr
        patch(operation_action, "connect", lambda _args: object())
        patch(pumped_run, "say", self.said.append)
        patch(evidence, "load_dir", lambda *_args, **_more: self.look().bundle)
        patch(server_records, "servers_on", lambda _cloud, _host: self._here())
        patch(server_records, "soft_deleted", lambda _cloud, _host: dict(self.soft_deleted))
        patch(compute_services, "find_service", lambda _cloud, _host: self.service)
        patch(compute_services, "give_back", self._give_back)
        #: Migrations that have ended, of those that hold something.
        self.ended = set()
        ended = lambda _options, uuids: dict.fromkeys(self.ended & set(uuids), scenes.uid("instance", 99))  # noqa: E731
        patch(migrations, "ended_migrations", ended)
        patch(resource_providers, "release_allocation", self._release_allocation)
        self.rabbit = Rabbit(monkeypatch)
        self.rabbit.where = self._where

    def close(self, journal):
        """Put a journal among the closed ones."""
        state = LocalState(self.state_dir, False)
        state.call([{"op": "journal_open", "journal": {**journal, "state": journals.OPEN}}])
        state.call([{"op": "journal_close", "journal": journal}])

    def rewrite(self, journal):
        """Another state of the open journal."""
        LocalState(self.state_dir, False).call([{"op": "journal_put", "journal": journal}])

    def evacuate(self, operation="new"):
        """An evacuation of the host begins."""
        journal = evacuation(operation=operation, state=journals.OPEN)
        LocalState(self.state_dir, False).call([{"op": "journal_open", "journal": journal}])

    def start_compute(self):
        """nova-compute starts, completes the record of the evacuation, and takes what waits in its queue."""
        self.record, self.started = "completed", True
        self.rabbit.queues["compute.compute1"], self.rabbit.consumers["compute.compute1"] = [], 1

    # --- what can be read

    def look(self):
        """The evidence as it is now."""
        rbd = scenes.ceph(blocklist=[f"{address}:0/0" for address in self.blocklist])
        some = scenes.back(rbd=rbd, hold=self.service.disabled_reason, record=self.record)
        if not self.domains:
            some = some.host("compute1", domains=[])
        if self.service.disabled_reason is not None and not self.service.forced_down:
            some = some.change("api_services", {"host": "compute1"}, forced_down=False)
        if self.started:
            units = [dataclasses.replace(row, active_state="active") for row in some.rows("units")]
            some = some.host("compute1", units=units)
        return self.change(some)

    def _where(self, uuid):
        rows = self.look().bundle.cloud.servers or []
        return next((server.host for server in rows if server.id == uuid), None)

    def _here(self):
        servers = (self.look().bundle.cloud or types.SimpleNamespace(servers=None)).servers or []
        return [server for server in servers if server.host == "compute1"]

    def _release_allocation(self, _cloud, consumer, _provider, _resources):
        self.done.append(f"release {consumer}")
        self.ended.discard(consumer)
        change = self.change
        gone = lambda row: {key: value for key, value in row.allocations.items() if key != consumer}  # noqa: E731

        def without(some):
            some = change(some)
            row = next(row for row in some.bundle.cloud.providers if consumer in row.allocations)
            return some.change("providers", {"uuid": row.uuid}, allocations=gone(row))

        self.change = without
        return True

    def _give_back(self, _cloud, _host, wanted):
        self.done.append("release")
        self.service = facts.ApiService(
            "s1", "compute1", "nova-compute", "up", wanted["status"], wanted["forced_down"], wanted["reason"]
        )
        return self.service

    # --- the pump

    def run(self, check=False, pid=None, dies_at=None, **given):
        """One run of the playbook; returns the plugin's last result. ``dies_at``: it is killed at this kind of need."""
        self.runs += 1
        run = _Run(self, pid or 10**8 + self.runs, check, given)
        result = run.call("begin")
        for _count in range(MOST_CALLS):
            if not result["needs"]:
                return result
            answers = []
            for need in result["needs"]:
                if need["kind"] == dies_at:
                    return None
                answers.append({**need, **self._provide(need)})
            result = run.call("advance", json.loads(json.dumps(answers)))
        raise AssertionError(f"it never ends: {result}")

    def end(self, failure, **given):
        """A task that provides the first need fails: the last result of the role's rescue."""
        self.runs += 1
        run = _Run(self, 10**8 + self.runs, False, given)
        assert run.call("begin")["needs"]
        return run.call("end", (), failure)

    def _provide(self, need):
        self.needs.append(need)
        own = self.answer(need)
        return getattr(self, f"_{need['kind']}")(need) if own is None else own

    def _read_host(self, _need):
        return {"result": {"domain_uuids": list(self.domains), "volumes": {"uuids": [], "pools": []}}}

    def _read_ceph(self, _need):
        return {}

    def _read_cloud(self, _need):
        return {}

    def _end_domains(self, need):
        ended = [domain["uuid"] for domain in need["params"]["domains"]]
        self.done.append(f"end {', '.join(ended)}")
        self.domains = [uuid for uuid in self.domains if uuid not in ended]
        return {"result": {"changed": True, "results": [{}, {}]}}

    def _lift(self, need):
        clusters = []
        for entry in need["clusters"]:
            self.done.append(f"lift {', '.join(entry['addresses'])}")
            self.blocklist = [address for address in self.blocklist if address not in entry["addresses"]]
            clusters.append({**entry, "result": {"changed": True, "fsid": entry["fsid"]}})
        return {"clusters": clusters}

    # --- for tests

    @property
    def open(self):
        """The open journal of the return; None: there is none."""
        return journals.read(self.state_dir, "return-compute1")

    def closed(self):
        """The closed journals of returns, the oldest first."""
        return journals.list_closed(self.state_dir, "return")

    def kinds(self):
        """The kinds of needs so far."""
        return [need["kind"] for need in self.needs]

    def codes(self, result):
        return [item["code"] for item in result["report"]["findings"] if item["severity"] == "blocker"]


class _Run(compute_host_return.ActionModule):
    """The action plugin without its task."""

    def __init__(self, life, pid, check, given):  # what Ansible would give
        self.life = life
        self.pid = pid
        self._task = types.SimpleNamespace(check_mode=check, diff=False, delegate_to="localhost")
        self._play_context = types.SimpleNamespace(diff=False)
        self._task_vars = {}
        defaults = {name: spec.get("default") for name, spec in compute_host_return.ARGUMENTS.items()}
        own = {
            "return_host": "compute1",
            "inventory_name": "compute1",
            "evidence_dir": str(life.place / f"evidence{pid}"),
            "report_dir": str(life.reports),
            "state_dir": life.state_dir,
            "take_over": True,
        }
        self.args = {**defaults, **own, **given}

    def call(self, phase, answers=(), failure=None):
        result = self._called({**self.args, "phase": phase, "answers": list(answers), "failure": failure})
        self.life.last = {**result, "succeeded": self.succeeded(result)}
        return self.life.last

    def _run(self, args):
        # Of no operation: what a lease does is tested alone.
        self._lease = LeasedState(LocalState(args["state_dir"], self._task.check_mode), {})
        return lifecycle.Run(
            state=LocalState(args["state_dir"], self._task.check_mode),
            clock=lifecycle.Clock(lambda: AT, lambda: 0.0, lambda: 0.0, lambda _seconds: None),
            say=self.life.said.append,
            mine={"controller": "c", "pid": self.pid, "pid_start": "0", "evidence_dir": args["evidence_dir"]},
            options=dict(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=self._task.check_mode,
            prefix="return_",
            cloud_id=lambda: self.life.cloud_id,
            diff=False,
        )
