# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook return_host, in Python, task by task; and an operator who brings a dead host back with it.

The plugin that judges is the real one, as are the ones that read the journal, end domains, work on the blocklist and
release the service: only ``systems/`` is the world.
"""

from __future__ import annotations

import dataclasses
import os
import random

from ansible_collections.stackguard.nova.plugins.action.compute_link import LocalState
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import FactsError
from ansible_collections.stackguard.nova.plugins.module_utils.operations import return_host
from ansible_collections.stackguard.nova.plugins.module_utils.plans import ceph_readers
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import cloud_facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.plugins.modules import compute_service_hold
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import oracle, pump, reading
from ansible_collections.stackguard.nova.tests.unit.model_evacuation.world import Killed

#: Runs after which a host that is never clear is a defect of its own.
MOST_RUNS = 10


class FailedError(Exception):
    """A task of the playbook fails. ``state``: of the plan that was made last."""

    def __init__(self, message, state="failed", report=None):
        super().__init__(message)
        self.state = state
        self.report = report


def go(args, check):
    """What the action plugin returns."""
    try:
        return return_host.ReturnRun(args, args["evidence_dir"], lambda _text: None, check).judged()
    except (FactsError, findings.OverrideError) as error:
        return {"failed": True, "state": "refused", "msg": str(error)}


class Return:
    """One run of the playbook."""

    def __init__(self, world, told, place, kill=0.0, check=False, status="enabled", overrides=()):
        self.world = world
        self.told = told
        self.state_dir, self.directory = place
        self.kill = kill
        self.check = check
        self.status = status
        self.overrides = list(overrides)
        self.dice = random.Random(f"{world.seed}-return-{told.number}")
        self.result = None
        self.readers = None

    @property
    def host(self):
        return self.world.hosts[self.told.host]

    def dies(self):
        if self.kill and self.dice.random() < self.kill:
            raise Killed

    def steps(self):
        """Carry it out; yields between two tasks, where others may act."""
        try:
            yield from self._tasks()
        except (FailedError, StackguardError) as error:
            state, report = getattr(error, "state", "failed"), getattr(error, "report", None)
            self.result = {"failed": True, "state": state, "msg": str(error), "report": report}

    def _tasks(self):
        yield from self._next("journals")
        state = pump.State(self.state_dir, self.dies)
        self.journals = state.call([{"op": "journal_list"}, {"op": "journal_closed", "kind": "evacuate"}])
        self._read_peers()
        yield from self._next("judge")
        plan = yield from self._judge()
        if plan["state"] == "planned" and not self.check:
            plan = yield from self._clear(plan)
        self.result = plan

    def _next(self, what):
        self.dies()
        yield what
        self.world.watch.run = self.told

    # --- reading

    def _read_peers(self):
        for other in self.world.hosts.values():
            if other is not self.host:
                self._read(other, {"instances": [reading.NIL], "readers": ()})
        self.world.sleep(2)

    def _read(self, other, request):
        if other.answers:
            evidence.save_host(self.directory, other.name, reading.host_facts(self.world, other, request))
        else:
            evidence.save_unreachable(self.directory, other.name, "timed out")

    def _judge(self):
        """Read everything that decides, and judge. Raises where a task of it fails."""
        host = self.host
        if not host.answers:
            raise FailedError(f"{host.name} does not answer")
        found = reading.returning_facts(self.world, host)
        evidence.save_host(self.directory, host.name, found)
        if self.readers is None:
            bundle = evidence.load_dir(self.directory)
            self.readers = [reader.name for reader in ceph_readers.readers(bundle, [host.name])]
        yield from self._next("readers")
        self._look_into_ceph(found)
        domains = [domain.uuid for domain in found.domains or []]
        databases = reading.database(self.world, host, domains)
        evidence.save_part(self.directory, evidence.DATABASES, databases)
        cloud = cloud_facts.read_cloud(None, [host.name])
        evidence.save_part(self.directory, evidence.CLOUD, cloud)
        yield from self._next("judged")
        plan = go(self._arguments(), self.check)
        if plan.get("failed"):
            raise FailedError(plan["msg"], plan["state"], plan.get("report"))
        return plan

    def _look_into_ceph(self, found):
        domains = found.domains or []
        sources = [disk.source for domain in domains for disk in domain.disks]
        volumes = [source.partition("/volume-")[2] for source in sources if "/volume-" in source]
        uuids = [domain.uuid for domain in domains] or [reading.NIL]
        for name in self.readers:
            request = {"instances": uuids, "readers": (name,), "volumes": volumes}
            self._read(self.world.hosts[name], request)
        self.world.sleep(1)

    def _arguments(self):
        return {
            "return_host": self.host.name,
            "inventory_name": self.host.name,
            "ceph_names": self.readers,
            "evidence_dir": self.directory,
            "overrides": self.overrides,
            "journals": self.journals[0]["journals"],
            "closed_journals": self.journals[1]["journals"],
            "status": self.status,
            "libvirt_uri": "qemu:///system",
        }

    # --- clearing

    def _clear(self, plan):
        if plan["domains"]["domains"]:
            self._end_domains(plan["domains"])
        plan = yield from self._judge()
        if plan["domains"]["domains"]:
            raise FailedError("other domains have come up meanwhile", plan["state"])
        for lift in plan["lifts"]:
            yield from self._next("lift")
            done = pump.on_reader(
                self.world, lift, lambda ceph, lift=lift: guard_snapshots.unblock(ceph, lift["addresses"])
            )
            if done.get("failed") or done.get("unreachable"):
                raise FailedError(done["msg"], plan["state"])
        yield from self._next("release")
        self._release(plan)
        plan = yield from self._judge()
        if plan["state"] != "clear":
            raise FailedError(f"something is left: {plan['msg']}", plan["state"])
        return plan

    def _end_domains(self, params):
        self.world.local = self.host
        step = {"action": "end_domains", "params": params}
        LocalState(self.state_dir, False).call([{"op": "apply", **step}, {"op": "verify", **step}])

    def _release(self, plan):
        if plan["reason"]:
            params = {"host": self.host.name, "state": "released", "reason": plan["reason"], "status": self.status}
            params.update(ended_reasons=[], disabled_reason="returned" if self.status == "disabled" else None)
            compute_service_hold.work(object(), params, False)


def install(monkeypatch, current):
    """Let C(end_domains) end domains of the world."""

    def domains(_uri):
        world = current().world
        return reading.returning_facts(world, world.local).domains

    def end_domain(_uri, uuid):
        world = current().world
        world.say("domain ended", world.servers[uuid].name, world.local.name)
        world.stop_domain(world.local, world.servers[uuid], clean=False)
        world.local.defined.discard(uuid)

    monkeypatch.setattr(host_steps.libvirt, "read_domains", domains)
    monkeypatch.setattr(host_steps.libvirt, "end_domain", end_domain)
    monkeypatch.setattr(host_steps.processes, "qemu_by_uuid", lambda: dict(current().world.local.domains))


# --- an operator brings it back -------------------------------------------------------------------------------


class Comeback:
    """The dead host comes back, and return_host is run until it is clear."""

    def __init__(self, scenario, name):
        self.scenario = scenario
        self.world = scenario.world
        self.host = scenario.world.hosts[name]
        self.dice = random.Random(f"{scenario.world.seed}-comeback")
        self.status = self.dice.choice(("enabled", "enabled", "disabled"))
        self.started = False
        self.overrides = []
        self.last = None
        self.held = None

    def _chance(self, name):
        return self.dice.random() < getattr(self.scenario.kind, name)

    def arrive(self):
        """It answers again: the link heals, or the machine is switched on; it may have been installed anew."""
        if self.dice.random() < 0.8:
            self.world.stop_compute(self.host)
        if self._chance("new_address") and not self.host.powered:
            self._reinstall()
        self.world.power_on(self.host)
        self.world.heal(self.host)

    def _reinstall(self):
        host = self.host
        self.world.say("installed anew", host.name)
        host.management = "192.0.2.91"
        host.clients = {fsid: [f"10.{index}.9.91"] for index, fsid in enumerate(self.world.clusters, 1)}
        host.defined = set()

    def run(self, check=False):
        """Return the result of one run; None: it was killed."""
        scenario, world = self.scenario, self.world
        scenario.runs += 1
        told = oracle.Told(scenario.runs, self.host.name, "none", False, 0.0, None, "return")
        place = scenario.state_dir, os.path.join(scenario.directory, f"return-{scenario.runs}")
        kill = 0.05 if self.dice.random() < scenario.kind.kill * 0.3 else 0.0
        one = Return(world, told, place, kill, check, self.status, self.overrides)
        world.watch.run = told
        try:
            for _task in one.steps():
                scenario.events.tick()
        except Killed:
            world.say("killed", told.number)
            return None
        world.say("returned", told.number, one.result["state"], one.result["msg"])
        self._judge(one.result)
        return one.result

    def _judge(self, result):
        scenario = self.scenario
        scenario.world.watch.run = dataclasses.replace(scenario.world.watch.run)
        scenario.watch_others()
        if not result.get("failed") and result["state"] == "clear":
            listed = scenario.listed_by(self.host.name)
            is_open = scenario.is_open(self.host.name)
            scenario.world.watch.returned(listed, result["report"]["verdict"], is_open)
        scenario.returns.append(result["state"])

    # --- until it is clear

    def play(self):
        """Return whether it ended well."""
        self.held = (self.host.reason or "").startswith("stackguard:")
        if self.dice.random() < 0.1:
            self._look()
        for _number in range(MOST_RUNS):
            result = self.run()
            self.last = result or self.last
            if result is not None and self._went_on(result):
                return True
            self.world.sleep(self.dice.choice((60, 120)))
        return False

    def _look(self):
        """A run in check mode changes nothing."""
        before = self.scenario.unchanging()
        self.run(check=True)
        self.scenario.must_be(before)

    def _went_on(self, result):
        """What the operator does next; whether all is done."""
        if result["state"] == "clear" and not result.get("failed"):
            done = self.started
            self._start()
            return done
        if result["state"] == "disks-not-open":
            self._start()
            self._reboot()
            self._vouch(result)
            return False
        self._repair(result["msg"])
        return False

    def _start(self):
        if not self.started:
            self.world.start_compute(self.host)
            self.started = True

    def _reboot(self):
        for uuid in sorted(self.host.domains):
            server = self.world.servers[uuid]
            if not server.deleted and any(entry[0] == uuid for entry in self.host.dead):
                self.world.reboot_hard(server)

    def _vouch(self, result):
        """Override what no host can look at, once its guest was seen to read and write it."""
        for item in (result.get("report") or {}).get("findings", []):
            if item["code"] == "SG709" and item["object"]["kind"] == "image":
                uuid = item["evidence"]["domain"][1]
                if not any(entry[0] == uuid for entry in self.host.dead):
                    self.overrides.append({"code": "SG709", "object": item["object"]["id"], "reason": "it writes"})

    def _repair(self, message):
        """Do what the remedies say."""
        if "SG510" in message:
            self.world.stop_compute(self.host)
        if "SG507" in message:
            self._end_elsewhere()
        if "SG108" in message or "SG509" in message or "SG110" in message:
            for uuid in sorted(self.host.domains):
                server = self.world.servers[uuid]
                if server.deleted or server.host != self.host.name:
                    self.world.say("virsh destroy", server.name)
                    self.world.stop_domain(self.host, server, clean=False)
                    self.host.defined.discard(uuid)

    def _end_elsewhere(self):
        """End what runs on another host of a server that Nova has here, and every strange client."""
        world = self.world
        for uuid in sorted(self.host.domains):
            server = world.servers[uuid]
            for other in world.hosts.values():
                if other is not self.host and uuid in other.domains and server.host == self.host.name:
                    world.say("virsh destroy", server.name, other.name)
                    world.stop_domain(other, server, clean=False)
                    other.defined.discard(uuid)
        self.scenario.events._stranger_leaves()
