# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role evacuate_host, in Python: provides what the operation needs, and calls its action plugin again.

What Ansible would register, failures included. The plugin is the real one, but for the task that it stands in.
"""

from __future__ import annotations

import dataclasses
import os
import random
import types

from ansible_collections.stackguard.nova.plugins.action import server_evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.engine.write_lease import LeasedState
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.options import ARGUMENTS, FIXED
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, rbd
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_action
from ansible_collections.stackguard.nova.plugins.plugin_utils.journal_host import LocalState
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import reading
from ansible_collections.stackguard.nova.tests.unit.model_evacuation.world import START, Killed

UNREACHABLE = {"unreachable": True, "msg": "timed out"}
#: Calls of the plugin after which a run that never ends is a defect of its own.
MOST_CALLS = 400
#: A run's process id is this and its number.
FIRST_PID = 10**8
CLOUD_ID = "nova1 in RegionOne"


class EndlessError(AssertionError):
    """The operation asks for the same again and again."""


class State(LocalState):
    """The journal's place; the process may die right before or right after each write."""

    def __init__(self, directory, dies, check=False):
        super().__init__(directory, check)
        self.dies = dies

    def call(self, requests):
        self.dies()
        found = super().call(requests)
        self.dies()
        return found


class Plugin(server_evacuate.ActionModule):
    """The plugin without its task."""

    def __init__(self, pump):
        self.pump = pump
        self._task = types.SimpleNamespace(check_mode=pump.check, diff=False)
        self._play_context = types.SimpleNamespace(diff=False)
        self._task_vars = {}
        self.number = FIRST_PID + pump.told.number

    def go(self, args):
        """What C(run) does with validated arguments."""
        problem = self.problem(args)
        if problem is not None:
            return self._refused(args, problem)
        try:
            outcome = self._carry_out(args)
        except lifecycle.Refused as refused:
            return self._refused(args, refused.message)
        except operation_action.ERRORS as error:
            return self._refused(args, str(error), "failed")
        return self._answer(args, outcome)

    def _run(self, args):
        world = self.pump.world
        state = State(args["state_dir"], self.pump.dies, self.pump.check)
        # Of no operation: what a lease does is tested alone.
        self._lease = LeasedState(state, {})
        return lifecycle.Run(
            state=state,
            clock=lifecycle.Clock(
                lambda: reading.iso(world.now), lambda: world.now - START + 1000, lambda: world.now, self.pump.sleep
            ),
            say=self.pump.say,
            mine={"controller": "c", "pid": self.number, "pid_start": "0", "evidence_dir": "e"},
            options=dict(args),
            overrides=tuple(findings.parse_overrides(args["overrides"])),
            check_mode=self.pump.check,
            prefix="evacuate_",
            cloud_id=lambda: CLOUD_ID,
            diff=False,
        )

    def _publish(self, _args, result, report, *_more):
        result["report"] = report


def arguments(**given):
    args = {name: spec.get("default") for name, spec in ARGUMENTS.items()}
    return {**args, **FIXED, **given}


@dataclasses.dataclass(frozen=True)
class Troubles:
    """What befalls a run itself. Probabilities: it dies at any one moment; reading takes long; a task of it fails."""

    kill: float = 0.0
    slow: float = 0.0
    slow_seconds: float = 90.0
    breaks: float = 0.0


class TaskFailedError(Exception):
    """A task of the role fails that no need expects to."""


class Pump:
    """One run of the playbook."""

    def __init__(self, world, told, args, troubles=Troubles(), check=False, said=None):
        self.world = world
        self.told = told
        self.args = args
        self.troubles = troubles
        self.breaks = troubles.breaks
        self.check = check
        self.result = None
        self.said = [] if said is None else said
        # Of its own: what happens in the world does not depend on how often this one rolls its dice.
        self.dice = random.Random(f"{world.seed}-{told.number}")
        self.plugin = Plugin(self)

    # --- the run

    def steps(self):
        """Carry it out; yields between two needs, where others may act."""
        self.world.watch.run = self.told
        result = self._call("begin")
        for _count in range(MOST_CALLS):
            if not result["needs"]:
                self.result = result
                return
            try:
                answers = yield from self._provide(result["needs"])
                yield "advance"
                self.world.watch.run = self.told
                result = self._call("advance", answers)
            except TaskFailedError as error:
                # The rescue of the role: once, and what the end needs is provided by the same tasks.
                self.breaks = 0.0
                result = self._call("end", failure=str(error))
        raise EndlessError(f"{MOST_CALLS} calls: {[need['kind'] for need in result['needs']]}, {result['msg']}")

    def _provide(self, needs):
        answers = []
        for need in needs:
            yield need["kind"]
            self.world.watch.run = self.told
            self.dies()
            if self.breaks and self.dice.random() < self.breaks:
                raise TaskFailedError(f"the task for {need['kind']} failed")
            answers.append({**need, **getattr(self, f"_{need['kind']}")(need)})
        return answers

    def _call(self, phase, answers=(), failure=None):
        result = self.plugin.go({**self.args, "phase": phase, "answers": list(answers), "failure": failure})
        self.world.watch.look()
        return result

    def dies(self):
        if self.troubles.kill and self.dice.random() < self.troubles.kill:
            raise Killed

    def sleep(self, seconds):
        self.dies()
        self.world.sleep(seconds)
        self.world.watch.run = self.told

    def say(self, words):
        self.said.append(words)
        self.world.say(f"run {self.told.number}:", words)

    # --- needs

    def _read_hosts(self, need):
        world, directory = self.world, self.args["evidence_dir"]
        for host in world.hosts.values():
            if need["hosts"] is not None and host.name not in need["hosts"]:
                continue
            if not host.answers:
                evidence.save_unreachable(directory, host.name, "timed out")
                continue
            path = evidence.save_host(directory, host.name, reading.host_facts(world, host, need))
            os.utime(path, (world.now, world.now))
            self.told.read_at[host.name] = world.now
            if host.name == self.told.host:
                self.told.alive_at = world.now
                able = [uuid for uuid, address in host.domains.items() if world.reaches(host, address, host.home[0])]
                self.told.alive = tuple(sorted(able))
        world.watch.reads(self.told)
        # A thousand hosts and five forks.
        world.sleep(
            self.troubles.slow_seconds if self.dice.random() < self.troubles.slow else 1 + self.dice.randrange(3)
        )
        return {}

    def _fence(self, need):
        at = reading.iso(self.world.now)
        if need["fence"] == "blocklist":
            return {
                "at": at,
                "clusters": [{**entry, "result": self._blocklist(entry, need["act"])} for entry in need["clusters"]],
            }
        host = self.world.hosts[self.told.host]
        answer = {"on": "localhost", "at": at}
        done = {"changed": True, "rc": 0} if host.bmc else {"failed": True, "rc": 1, "msg": "no answer of the BMC"}
        if need["act"]:
            self.world.watch.fenced(host)
        if need["act"] and host.bmc and host.bmc_obeys:
            self.world.power_off(host)
        off = not host.powered
        if need["fence"] == "power":
            if need["act"]:
                answer["switched"] = done
            answer["read"] = self._power(host) if host.bmc else {"failed": True, "msg": "no answer of the BMC"}
        else:
            if need["act"]:
                answer["commanded"] = done
            confirmed = host.bmc and off
            answer["confirmed"] = {"rc": 0} if confirmed else {"failed": True, "rc": 1, "msg": "non-zero return code"}
        if host.bmc and off:
            self.told.off_at.append(self.world.now)
        self.world.sleep(1)
        return answer

    def _power(self, host):
        words = {True: "On", False: "Off"}
        entries = [{"Id": host.name, "PowerState": words[host.powered]}]
        if host.bmc_other is not None:
            entries.append({"Id": "another", "PowerState": words[host.bmc_other]})
        return {"changed": False, "redfish_facts": {"system": {"entries": entries}}}

    def _blocklist(self, entry, act):
        host = self.world.hosts.get(entry["reader"])
        own = [host.management, *host.clients[host.home[0]]] if host else []

        options = {name: entry[name] for name in ("infrastructure", "never", "host_addresses")}

        def work(ceph):
            addresses = entry["addresses"]
            found = (
                guard_snapshots.block(ceph, addresses, own, **options)
                if act
                else guard_snapshots.listed(ceph, addresses)
            )
            self.told.listed_at[ceph.fsid()] = self.world.now
            return found

        result = on_reader(self.world, entry, work)
        self.world.sleep(1)
        return result

    def _guard(self, need):
        return self._guards(need, guard_snapshots.guard)

    def _unguard(self, need):
        return self._guards(need, guard_snapshots.unguard)

    def _guards(self, need, work):
        homes = []
        operation = need["operation_id"]
        for entry in need["homes"]:
            result = on_reader(self.world, entry, lambda ceph, entry=entry: work(ceph, operation, [], entry["images"]))
            homes.append({**entry, "result": result})
        self.world.sleep(2)
        return {"homes": homes}

    def _lift(self, need):
        clusters = []
        for entry in need["clusters"]:
            result = on_reader(
                self.world, entry, lambda ceph, entry=entry: guard_snapshots.unblock(ceph, entry["addresses"])
            )
            clusters.append({**entry, "result": result})
        self.world.sleep(1)
        return {"clusters": clusters}

    def _wait(self, need):
        self.world.sleep(need["seconds"])
        return {}


class _NotReachedError(Exception):
    pass


def _ceph(world, entry):
    """Return the connection of a module on the reader; or what Ansible registers where there is none."""
    host = world.hosts.get(entry["reader"])
    world.watch.works(host)
    if host is None or not host.answers:
        raise _NotReachedError
    if host.ceph_cut or reading.refused(world, host):
        raise rbd.CephError("error connecting to the cluster")
    ceph = reading.FakeCeph(world, host)
    guard_snapshots.expect_cluster(ceph, entry["fsid"])
    if entry["pool"] not in ceph.cluster.pools:
        raise rbd.CephError(f"no pool {entry['pool']}")
    ceph.pool = entry["pool"]
    return ceph


def on_reader(world, entry, work):
    """Return what Ansible registers of a module that works in Ceph, delegated to a reader."""
    try:
        ceph = _ceph(world, entry)
        done = work(ceph)
    except _NotReachedError:
        return dict(UNREACHABLE)
    except rbd.CephError as error:
        return {"failed": True, "msg": str(error)}
    return {"changed": True, "fsid": ceph.fsid(), "pool": ceph.pool, **to_plain(done)}
