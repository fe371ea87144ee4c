# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An evacuation from the first look to the report, without Ansible: the action plugin, and a pump that answers it.

Journals are real files. Hosts, Ceph and Nova are what a test makes of them: see :class:`Life`.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import types

from ansible_collections.stackguard.nova.plugins.action import server_evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.options import ARGUMENTS, FIXED
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    cloud_facts,
    compute_services,
    evacuation_facts,
    instance_actions,
    network,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_action, pumped_run
from ansible_collections.stackguard.nova.plugins.plugin_utils.journal_host import LocalState
from ansible_collections.stackguard.nova.tests.unit.builders import AT, address, guest
from ansible_collections.stackguard.nova.tests.unit.evacuations import disks, image, lock, scene
from ansible_collections.stackguard.nova.tests.unit.rabbit import Rabbit
from ansible_collections.stackguard.nova.tests.unit.small_nova import Nova

ONE, TWO = BOTH = [guest(1, 1), guest(1, 2)]
START = datetime.datetime.fromisoformat(AT).timestamp()
#: A run that asks for more than this goes on for ever.
MOST_CALLS = 60


class Life:
    """compute1 is dead; its two servers, their disks, and whoever does something about it."""

    def __init__(self, tmp_path, monkeypatch, **nova):
        self.place = tmp_path
        self.state_dir = str(tmp_path / "state")
        self.reports = tmp_path / "reports"
        self.scene = scene()
        self.change = lambda some: some
        self.nova = Nova(*BOTH, source="compute1", **nova)
        self.service = facts.ApiService("s1", "compute1", "nova-compute", "down", "enabled", False, None)
        self.now = START
        self.power = "Off"
        #: fsid to what its OSD blocklist has.
        self.blocklist = {"fsid": []}
        #: Image to guard snapshots.
        self.guards = {f"{uuid}_disk": [] for uuid in BOTH}
        self.locked = True
        #: What neutron shows of the dead host.
        self.agents = []
        self.said, self.needs, self.done = [], [], []
        self.cloud_id = "nova1 in RegionOne"
        #: Called with each need before it is answered; may answer it in the test's own way.
        self.answer = lambda _need: None
        self.runs = 0
        #: Servers at which Nova stays for ever, once they were sent.
        self.stuck = set()
        self._send = self.nova.evacuate
        self.nova.evacuate = self._evacuate
        self._patch(monkeypatch)
        self.rabbit = Rabbit(monkeypatch)
        self.rabbit.where = lambda uuid: self.nova.servers.get(uuid, {}).get("host")

    def _patch(self, monkeypatch):
        monkeypatch.setattr(operation_action, "connect", lambda _args: self.nova)
        monkeypatch.setattr(server_evacuate.facts, "addresses", lambda: ["203.0.113.200"])
        monkeypatch.setattr(cloud_facts, "read_cloud", lambda *_args, **_more: self.look().bundle.cloud)
        monkeypatch.setattr(evacuation_facts, "read_evacuation", lambda *_args, **_more: self.look().about)
        monkeypatch.setattr(evidence, "load_dir", lambda *_args, **_more: self.look().bundle)
        monkeypatch.setattr(evidence, "read_times", lambda _directory: self.read_at)
        monkeypatch.setattr(server_records, "servers_on", lambda _cloud, _host: self.look().cloud.rows("servers"))
        monkeypatch.setattr(compute_services, "find_service", lambda _cloud, _host: self.service)
        monkeypatch.setattr(instance_actions, "list_actions", lambda _cloud, _uuid: [])
        monkeypatch.setattr(compute_services, "hold_down", self._hold)
        monkeypatch.setattr(compute_services, "give_back", self._give_back)
        for name in ("list_agents", "agents_now"):
            monkeypatch.setattr(network, name, lambda _cloud, _host: list(self.agents))
        monkeypatch.setattr(pumped_run, "say", self.said.append)
        self.read_at = {}

    # --- what can be read

    def look(self):
        """The evidence as it is now."""
        some = self.scene
        here = [uuid for uuid in BOTH if self.nova.servers.get(uuid, {}).get("host") == "compute1"]
        rows = [
            dataclasses.replace(
                row, status=self.nova.servers[row.id]["status"], task_state=self.nova.servers[row.id]["task"]
            )
            for row in some.cloud.rows("servers")
            if row.id in here
        ]
        some = some.having(some.cloud.put("servers", rows))
        some = some.target(1, status=self.service.status, forced_down=self.service.forced_down)
        held = {name: getattr(self.service, name) for name in ("status", "disabled_reason", "forced_down")}
        services = [
            dataclasses.replace(row, **held) if row.host == "compute1" else row
            for row in some.cloud.rows("api_services")
        ]
        some = some.having(some.cloud.put("api_services", services))
        pool = [self._image(uuid) for uuid in BOTH]
        for number in (2, 3):
            there = [uuid for uuid in BOTH if self._runs_on(uuid) == f"compute{number}"]
            domain = self.scene.bundle.hosts["compute2"].domains[0]
            domains = [
                dataclasses.replace(domain, uuid=uuid, state="running", rss_mib=domain.memory_mib) for uuid in there
            ]
            entries = [facts.BlocklistEntry(f"{found}:0/0") for found in self.blocklist["fsid"]]
            seen = disks(*pool, client_address=address(number), blocklist=entries)
            some = some.at(number, domains=domains, rbd=seen)
        return self.change(some)

    def _runs_on(self, uuid):
        server = self.nova.servers.get(uuid, {})
        return server.get("host") if server.get("status") == "ACTIVE" else None

    def _image(self, uuid):
        host = self.nova.servers.get(uuid, {}).get("host")
        away = host not in (None, "compute1") and self.nova.servers[uuid]["status"] == "ACTIVE"
        watchers = [f"{address(int(host[-1]))}:0/{uuid[:3]}"] if away else []
        locks = [lock(1)] if self.locked and not away else []
        snapshots = [facts.RbdSnapshot(name) for name in self.guards.get(f"{uuid}_disk", [])]
        return image(f"{uuid}_disk", watchers, locks=locks, snapshots=snapshots)

    # --- Nova

    def _evacuate(self, uuid, body):
        answer = self._send(uuid, body)
        if uuid in self.stuck:
            self.nova.servers[uuid]["left"] = 10**9
        return answer

    def _hold(self, _cloud, _host, reason):
        self.done.append("hold")
        self.service = dataclasses.replace(self.service, status="disabled", disabled_reason=reason, forced_down=True)

    def _give_back(self, _cloud, _host, before):
        self.done.append("give back")
        self.service = dataclasses.replace(
            self.service,
            status=before["status"],
            disabled_reason=before.get("reason"),
            forced_down=before["forced_down"],
        )

    # --- the pump

    def run(self, pid=None, check=False, on_call=None, dies_at=None, **given):
        """One run of the playbook; returns the plugin's last result. ``dies_at``: it is killed at its n-th call."""
        self.runs += 1
        run = _Run(self, pid or 10**8 + self.runs, check, given)
        result = run.call("begin")
        for count in range(1, MOST_CALLS):
            if not result["needs"]:
                return result
            if dies_at is not None and count >= dies_at:
                return None
            if on_call is not None:
                on_call(count)
            answers = [{**need, "at": self.iso(), **self._provide(need)} for need in result["needs"]]
            result = run.call("advance", json.loads(json.dumps(answers)))
        raise AssertionError(f"it never ends: {result}")

    def end(self, pid=None, failure="a task failed", **given):
        """The role's rescue, after the last call of a run; returns the last result."""
        run = _Run(self, pid or 10**8 + self.runs, False, given)
        result = run.call("end", (), failure)
        for _count in range(MOST_CALLS):
            if not result["needs"]:
                return result
            answers = [{**need, "at": self.iso(), **self._provide(need)} for need in result["needs"]]
            result = run.call("advance", answers)
        raise AssertionError(f"it never ends: {result}")

    def _provide(self, need):
        self.needs.append(need)
        own = self.answer(need)
        return getattr(self, f"_{need['kind']}")(need) if own is None else own

    def _read_hosts(self, _need):
        self.now += 2
        self.read_at = {f"compute{number}": self.now for number in (1, 2, 3)}
        return {}

    def _fence(self, need):
        self.now += 2
        if need["act"]:
            self.done.append(f"fence {need['fence']}")
        if need["fence"] == "blocklist":
            return {"clusters": [{**entry, "result": self._listing(entry, need["act"])} for entry in need["clusters"]]}
        if need["fence"] == "power":
            return {"on": "localhost", "read": {"redfish_facts": {"PowerState": self.power}}}
        ended = {"rc": 0, "changed": True}
        return {"on": "localhost", "confirmed": ended, **({"commanded": ended} if need["act"] else {})}

    def _listing(self, entry, act):
        if act:
            self.blocklist[entry["fsid"]] = sorted({*self.blocklist[entry["fsid"]], *entry["addresses"]})
        return {"fsid": entry["fsid"], "pool": entry["pool"], "listed": list(self.blocklist[entry["fsid"]])}

    def _guard(self, need):
        return self._guards(need, True)

    def _unguard(self, need):
        return self._guards(need, False)

    def _guards(self, need, present):
        homes = []
        for home in need["homes"]:
            images = []
            for name, identity in home["images"].items():
                self.guards[name] = [f"stackguard-{need['operation_id']}"] if present else []
                images.append({"image": name, "id": identity, "guarded": present})
            result = {"fsid": home["fsid"], "pool": home["pool"], "images": images}
            homes.append({**home, "result": result})
        self.now += 2
        return {"homes": homes}

    def _lift(self, need):
        clusters = []
        for entry in need["clusters"]:
            self.blocklist[entry["fsid"]] = sorted(set(self.blocklist[entry["fsid"]]) - set(entry["addresses"]))
            self.done.append("lift")
            clusters.append({**entry, "result": {"fsid": entry["fsid"], "listed": []}})
        return {"clusters": clusters}

    def _wait(self, need):
        self.now += need["seconds"]
        return {}

    # --- for tests

    def iso(self):
        return datetime.datetime.fromtimestamp(self.now, datetime.timezone.utc).isoformat(timespec="seconds")

    def kinds(self):
        """The kinds of needs so far."""
        return [need["kind"] for need in self.needs]

    def open(self):
        """The open journal; None: there is none."""
        (found,) = LocalState(self.state_dir, False).call([{"op": "journal_list"}])
        assert len(found["journals"]) <= 1
        return found["journals"][0] if found["journals"] else None

    def closed(self):
        """The closed journals, the oldest first."""
        (found,) = LocalState(self.state_dir, False).call([{"op": "journal_closed", "kind": "evacuate"}])
        return found["journals"]

    def guarded(self):
        """Servers whose disk has a guard."""
        return [uuid for uuid in BOTH if self.guards[f"{uuid}_disk"]]

    def report(self):
        return json.loads((self.reports / "report.json").read_text())

    def told(self, result):
        """What the workflow gets."""
        return result["ansible_stats"]["data"]["stackguard"]

    def sleep(self, seconds):
        self.now += seconds


class _Run(server_evacuate.ActionModule):
    """The action plugin without its task."""

    def __init__(self, life, pid, check, given):  # what Ansible would give
        self.life = life
        self.pid = pid
        self._task = types.SimpleNamespace(check_mode=check, diff=False)
        self._play_context = types.SimpleNamespace(diff=False)
        self._task_vars = {}
        defaults = {**{name: spec.get("default") for name, spec in ARGUMENTS.items()}, **FIXED}
        own = {
            "evacuate_host": "compute1",
            "inventory_name": "compute1",
            "fence": "power",
            "evidence_dir": str(life.place / f"evidence{pid}"),
            "report_dir": str(life.reports),
            "state_dir": life.state_dir,
            "take_over": True,
        }
        self.args = {**defaults, **own, **given}

    def call(self, phase, answers=(), failure=None):
        args = {**self.args, "phase": phase, "answers": list(answers), "failure": failure}
        problem = self.problem(args)
        if problem is not None:
            return self._refused(args, problem)
        try:
            outcome = self._carry_out(args)
        except lifecycle.Refused as refused:
            return self._refused(args, refused.message, report=refused.data.get("report"))
        except operation_action.ERRORS as error:
            return self._refused(args, f"{'Nothing was changed. ' if phase == 'begin' else ''}{error}", "failed")
        return self._answer(args, outcome)

    def _run(self, args):
        life = self.life
        # Of no operation: what a lease does is tested alone.
        self._lease = LeasedState(LocalState(args["state_dir"], self._task.check_mode), {})
        return lifecycle.Run(
            state=LocalState(args["state_dir"], self._task.check_mode),
            clock=lifecycle.Clock(life.iso, lambda: life.now, lambda: life.now, life.sleep),
            say=life.said.append,
            mine={"controller": "c", "pid": self.pid, "pid_start": "0", "evidence_dir": args["evidence_dir"]},
            options=self.options(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=self._task.check_mode,
            prefix="evacuate_",
            cloud_id=lambda: life.cloud_id,
            diff=False,
        )
