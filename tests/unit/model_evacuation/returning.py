# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role return_host, in Python: provides what the operation needs. And an operator who brings a dead host back.

The plugin of the operation is the real one, as are the ones that end domains and work on the blocklist: only
``systems/`` is the world.
"""

from __future__ import annotations

import dataclasses
import os
import random
import re
import types

from ansible_collections.stackguard.nova.plugins.action import compute_host_return
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import cloud_facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps as host_steps
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import oracle, pump, reading
from ansible_collections.stackguard.nova.tests.unit.model_evacuation.world import START, Killed

#: Runs after which a host that is never clear is a defect of its own.
MOST_RUNS = 10


class Plugin(compute_host_return.ActionModule):
    """The plugin without its task."""

    def __init__(self, run):
        self.run_ = run
        self._task = types.SimpleNamespace(check_mode=run.check, diff=False, delegate_to="localhost")
        self._play_context = types.SimpleNamespace(diff=False)
        self._task_vars = {}

    def _run(self, args):
        world, run = self.run_.world, self.run_
        state = pump.State(args["state_dir"], run.dies, run.check)
        self._lease = LeasedState(state, {})
        return lifecycle.Run(
            state=state,
            clock=lifecycle.Clock(
                lambda: reading.iso(world.now), lambda: world.now - START + 1000, lambda: world.now, world.sleep
            ),
            say=lambda _text: None,
            mine={"controller": "c", "pid": pump.FIRST_PID + run.told.number, "pid_start": "0", "evidence_dir": "e"},
            options=dict(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=run.check,
            prefix="return_",
            cloud_id=lambda: pump.CLOUD_ID,
            diff=False,
        )


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

    @property
    def host(self):
        return self.world.hosts[self.told.host]

    def dies(self):
        if self.kill and self.dice.random() < self.kill:
            raise Killed

    def steps(self):
        """Carry it out; yields between two tasks, where others may act."""
        yield from self._next("begin")
        result = self._call("begin")
        self._read_peers()
        for _count in range(pump.MOST_CALLS):
            if not result["needs"]:
                self.result = result
                return
            answers = []
            for need in result["needs"]:
                yield from self._next(need["kind"])
                answers.append({**need, **getattr(self, f"_{need['kind']}")(need)})
            yield from self._next("advance")
            result = self._call("advance", answers)
        raise pump.EndlessError(f"{pump.MOST_CALLS} calls: {result['msg']}")

    def _next(self, what):
        self.dies()
        yield what
        self.world.watch.run = self.told

    def _call(self, phase, answers=()):
        defaults = {name: spec.get("default") for name, spec in compute_host_return.ARGUMENTS.items()}
        given = {
            "return_host": self.host.name,
            "inventory_name": self.host.name,
            "evidence_dir": self.directory,
            "state_dir": self.state_dir,
            "overrides": self.overrides,
            "status": self.status,
            "take_over": True,
        }
        return Plugin(self)._called({**defaults, **given, "phase": phase, "answers": list(answers)})

    # --- needs

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

    def _read_host(self, _need):
        host = self.host
        if not host.answers:
            evidence.save_unreachable(self.directory, host.name, "timed out")
            return {"result": dict(pump.UNREACHABLE)}
        found = reading.returning_facts(self.world, host)
        evidence.save_host(self.directory, host.name, found)
        sources = [disk.source for domain in found.domains or [] for disk in domain.disks]
        volumes = [source.partition("/volume-")[2] for source in sources if "/volume-" in source]
        uuids = [domain.uuid for domain in found.domains or []]
        return {"result": {"domain_uuids": uuids, "volumes": {"uuids": volumes, "pools": ["volumes"]}}}

    def _read_ceph(self, need):
        for name in need["readers"]:
            request = {"instances": need["instances"] or [reading.NIL], "readers": (name,), "volumes": need["volumes"]}
            request["volume_readers"] = (name,) if need["volumes"] else ()
            self._read(self.world.hosts[name], request)
        self.world.sleep(1)
        return {}

    def _read_cloud(self, need):
        databases = reading.database(self.world, self.host, need["instances"])
        evidence.save_part(self.directory, evidence.DATABASES, databases)
        evidence.save_part(self.directory, evidence.CLOUD, cloud_facts.read_cloud(None, [self.host.name]))
        return {}

    def _end_domains(self, need):
        self.world.local = self.host
        step = {"action": "end_domains", "params": need["params"]}
        done = host_steps.HostRunner(self.state_dir).run([{"op": "apply", **step}, {"op": "verify", **step}])
        if done.error is not None:
            return {"result": {"failed": True, "msg": done.error}}
        return {"result": {"changed": True, "results": done.results}}

    def _lift(self, need):
        clusters = []
        for entry in need["clusters"]:
            result = pump.on_reader(
                self.world, entry, lambda ceph, entry=entry: guard_snapshots.unblock(ceph, entry["addresses"])
            )
            clusters.append({**entry, "result": result})
        return {"clusters": clusters}


def install(monkeypatch, current):
    """Let C(end_domains) end domains of the world."""

    def domains(_uri):
        world = current().world
        return reading.returning_facts(world, world.local).domains

    def end_domain(_uri, uuid, _managed_save):
        world = current().world
        world.watch.ends(world.servers[uuid], world.local)
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
        if result["state"] == "not-clear":
            self._look_into_the_queue(result["report"])
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
                # Of a volume of a server without a domain here, it was looked at on its back end.
                uuid = item["object"]["name"]
                if not any(entry[0] == uuid for entry in self.host.dead):
                    self.overrides.append({"code": "SG709", "object": item["object"]["id"], "reason": "it writes"})

    def _look_into_the_queue(self, report):
        """Do what the remedies of waiting requests say, to the letter; or give the run its access to RabbitMQ."""
        queues = self.world.queues
        if self.dice.random() < 0.3:
            queues.access, queues.breaks = "read", 0.0
            return
        for item in report["findings"]:
            if item["code"] not in ("SG329", "SG330"):
                continue
            server = self.world.servers.get(item["object"]["id"])
            if server is not None and "openstack server delete" in item["remedy"] and self.dice.random() < 0.5:
                self.world.delete(server)
                continue
            for name in re.findall(r"rabbitmqctl delete_queue (compute[^ ;]*?)[.;](?= |$)", item["remedy"]):
                queues.delete(name)
            if "not read" in item["evidence"]:
                self.overrides.append({"code": "SG329", "object": item["object"]["id"], "reason": "the queue is gone"})

    def _repair(self, message):
        """Do what the remedies say."""
        if "SG510" in message:
            self.world.stop_compute(self.host)
        if "SG132" in message:
            self._correct_rows()
        elif "SG507" in message:
            self._end_elsewhere()
        if "SG108" in message or "SG509" in message or "SG110" in message:
            for uuid in sorted(self.host.domains):
                server = self.world.servers[uuid]
                if server.deleted or server.host != self.host.name:
                    self.world.watch.ends(server, self.host)
                    self.world.say("virsh destroy", server.name)
                    self.world.stop_domain(self.host, server, clean=False)
                    self.host.defined.discard(uuid)

    def _correct_rows(self):
        """The page of SG132: Nova is to show the host where the guest runs."""
        for server in (self.world.servers[uuid] for uuid in self.world.lost):
            places = [host.name for host in self.world.hosts.values() if server.uuid in host.domains]
            if len(places) == 1 and server.host not in places and not server.deleted:
                self.world.say("UPDATE instances", server.name, "is on", *places)
                server.host = places[0]

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
