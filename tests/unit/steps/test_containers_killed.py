# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename with containers, killed at every instant: nova-compute never runs under a name that no database has.

An engine, a systemd and a libvirt of a few lines behave as the real ones: a container keeps the name of its creation,
a name that is set in it lasts until its next start, and a unit starts the container that has its name. The plan's steps
and their order, the runner and what it does on the host are the real ones.
"""

from __future__ import annotations

import dataclasses
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner as steps
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename.containers import steps as actions
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import (
    containers,
    libvirt,
    name_spaces,
    processes,
    units,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import names as host_names
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.libvirt import LibvirtError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner
from ansible_collections.stackguard.nova.tests.unit.plans.test_rename_containers import boxed_fleet
from ansible_collections.stackguard.nova.tests.unit.systems.killing import FakeSystemd, Fuse, Killed

OLD, NEW = "compute1", "renamed1"
NAMES = ("nova_compute", "nova_libvirt", "neutron_openvswitch_agent")
#: Of the plan: those that stop, start and name things; every database is one.
KEPT = (
    *("stop_compute", "set_compute_aside", "libvirt_name", "stop_agents", "cell_database", "host_names"),
    *("stop_containers", "set_others_aside", "recreate_containers", "start_agents", "start_compute"),
    "forget_containers",
)


#: Whether the host reboots after each kill: too long for every run.
REBOOTED = [False, pytest.param(True, marks=pytest.mark.matrix)]


def unit_of(name):
    return f"kolla-{name}-container.service"


class Silent:
    def begin(self, number, total, title, undo):
        pass

    def remark(self, text):
        pass

    end = remark


class Systemd(FakeSystemd):
    """Starts the container that a unit is named after."""

    def __init__(self, world, folder):
        super().__init__(folder, world.fuse, stop_polls=1)
        self.world = world

    def start(self, _no_block, name):
        if name.split("-")[1] not in self.world.made:
            raise KeyError("no container with that name")
        super().start(_no_block, name)
        self.world.started(name)

    def reboot(self):
        super().reboot()
        for name, unit in self.units.items():
            if name.split("-")[1] not in self.world.made:
                unit.state, unit.pid = "failed", 0
            elif unit.state == "active":
                self.world.started(name)


@dataclasses.dataclass
class Made:
    """A container: ``frozen`` is the name of its creation, ``now`` the name that a process in it sees."""

    id: str
    frozen: str
    now: str


class World:
    """What outlives a killed run."""

    def __init__(self, monkeypatch, folder):
        self.fuse = Fuse()
        self.kernel, self.database, self.created = OLD, OLD, 0
        self.made = {name: Made(old_id(name), OLD, OLD) for name in NAMES}
        self.folder = folder
        (folder / "system").mkdir(parents=True)
        monkeypatch.setattr(units, "SYSTEM", str(folder / "system"))
        self.systemd = Systemd(self, folder / "system")
        for name in NAMES:
            self.systemd.add(unit_of(name), own_file=True)
        self.host = HostRunner(str(folder / "state"), systemctl=self.systemd.systemctl(), sleep=lambda _seconds: None)
        monkeypatch.setattr(containers.commands, "run", self.run)
        monkeypatch.setattr(containers, "_own", lambda _pid: True)
        monkeypatch.setattr(name_spaces, "name_in", lambda pid: self.of_pid(pid).now)
        monkeypatch.setattr(libvirt, "hostname", self.libvirt)
        monkeypatch.setattr(processes, "running", lambda _program: [])
        monkeypatch.setattr(host_names, "kernel_name", lambda: self.kernel)
        monkeypatch.setattr(host_names, "static_name", lambda: self.kernel)
        monkeypatch.setattr(host_names, "set_name", self.set_kernel)

    def set_kernel(self, name, _state_dir):
        self.fuse.spark()
        self.kernel = name

    def started(self, unit):
        made = self.made[unit.split("-")[1]]
        made.now = made.frozen

    def runs(self, name):
        return name in self.made and self.systemd.units[unit_of(name)].state in ("active", "deactivating")

    def pid(self, name):
        return 100 + NAMES.index(name) if name in NAMES and self.runs(name) else 0

    def of_pid(self, pid):
        return self.made[NAMES[pid - 100]]

    def libvirt(self, _uri):
        if not self.runs("nova_libvirt"):
            raise LibvirtError("no connection")
        return self.made["nova_libvirt"].now

    def run(self, argv, _timeout, variables=None):
        answer = lambda rc, text: types.SimpleNamespace(returncode=rc, stdout=text.encode(), stderr=text.encode())  # noqa: E731
        if argv[1] == "container":
            name, made = argv[-1], self.made.get(argv[-1])
            if made is None:
                return answer(125, "no such container")
            if "Hostname" in argv[-2]:
                return answer(0, f"private|{made.frozen}\n")
            return answer(0, f"{made.id} {'true' if self.pid(name) else 'false'} {self.pid(name)}")
        self.fuse.spark()
        if argv[0] == "nsenter":
            self.of_pid(int(argv[1].partition("=")[2])).now = argv[-1]
        elif argv[1] == "rename":
            assert argv[3] not in self.made
            self.made[argv[3]] = self.made.pop(argv[2])
        else:
            assert argv[1] == "rm", argv
            self.made.pop(argv[-1], None)
        self.fuse.spark()
        return answer(0, "")

    def recreate(self, missing):
        """The operator's command, which may be killed at each container too."""
        for name in missing:
            self.fuse.spark()
            if name not in self.made:
                self.created += 1
                self.made[name] = Made(f"new-{self.created}", self.kernel, self.kernel)
            self.fuse.spark()
            if not self.runs(name):
                self.systemd.reset_failed(unit_of(name))
                self.systemd.start("", unit_of(name))

    # --- the run

    def call(self, requests):
        self.fuse.spark()
        outcome = self.host.run(requests)
        if outcome.error is not None:
            raise steps.StepError(outcome.error, outcome.changed_meanwhile)
        self.fuse.spark()
        return outcome.results

    def journal(self):
        return journals.read(str(self.folder / "state"), "rename")

    def runner(self):
        systems = types.SimpleNamespace(host=self, wait=waited)
        known = {**actions.actions(systems), "cell_rows": Rows(self)}
        return steps.Runner(self, known, Silent(), lambda: "t")

    def forward(self):
        for _try in range(9):
            try:
                return self.runner().forward(self.journal())
            except actions.RecreateError as error:
                self.recreate(error.containers)
        raise AssertionError("asks for the same containers without end")


def waited(what, _timeout, seen):
    """Nothing happens by itself here: what is not there at once never is."""
    answer = seen()
    assert answer is not None, what()
    return answer


class Rows:
    """Every database."""

    def __init__(self, world):
        self.world = world

    def apply(self, params, memory):
        self.world.fuse.spark()
        self.world.database = NEW
        return steps.Done()

    def undo(self, params):
        self.world.fuse.spark()
        self.world.database = OLD


def old_id(name):
    """As the builder of facts numbers them."""
    return {"nova_compute": "1", "nova_libvirt": "2", "neutron_openvswitch_agent": "3"}[name] * 64


def plan():
    some = boxed_fleet()
    made = plans.plan(some.cloud.bundle, some.request)
    kept = [step for step in made.steps if step.name in KEPT]
    assert [step.name for step in kept] == list(KEPT)
    return dataclasses.replace(made, steps=[_small(step) for step in kept])


def _small(step):
    params = {key: value for key, value in step.params.items() if key != "log_file"}
    if step.name == "host_names":
        params.update(line_edits=[], ovs_external_ids={})
    return dataclasses.replace(step, params=params)


def assert_safe(world, where):
    """nova-compute, wherever it runs, has the databases' name, and libvirt beside it too."""
    if world.runs("nova_compute"):
        names = (world.made["nova_compute"].now, world.libvirt(None) if world.runs("nova_libvirt") else world.database)
        assert names == (world.database, world.database), where


def assert_new(world):
    assert (world.kernel, world.database) == (NEW, NEW)
    assert {name: made.frozen for name, made in world.made.items()} == dict.fromkeys(NAMES, NEW)
    assert all(world.runs(name) and not made.id.startswith(("1", "2", "3")) for name, made in world.made.items())
    assert world.journal() is None


def assert_old(world):
    assert (world.kernel, world.database) == (OLD, OLD)
    assert {name: (made.id, made.now) for name, made in world.made.items()} == {
        name: (old_id(name), OLD) for name in NAMES
    }
    assert all(world.runs(name) for name in NAMES)
    assert world.journal() is None


def each_kill(monkeypatch, tmp_path, begin, act):
    """Yield a world that was killed at each spark of an act in turn, until the act ends by itself."""
    for at in range(1, 1000):
        with monkeypatch.context() as patch:
            world = World(patch, tmp_path / str(at))
            begin(world)
            world.fuse.sparks, world.fuse.at = 0, at
            try:
                act(world)
            except Killed:
                world.fuse.at = None
                yield at, world
                continue
            assert at > 30, at
            return
    raise AssertionError("never ends")


def opened(world):
    made = plan()
    world.call([{"op": "journal_open", "journal": steps.new_journal(made, {}, "t")}])


def finished(world):
    opened(world)
    world.forward()


@pytest.mark.parametrize("reboot", REBOOTED, ids=["killed", "rebooted"])
@pytest.mark.parametrize("back", [False, True], ids=["forward", "back"])
def test_killed_at_every_instant_all_is_new_or_all_is_old(monkeypatch, tmp_path, reboot, back):
    ends = set()
    for at, world in each_kill(monkeypatch, tmp_path, opened, World.forward):
        where = f"killed at {at}: {world.journal()['steps'] if world.journal() else 'closed'}"
        assert_safe(world, where)
        if reboot:
            world.systemd.reboot()
            assert_safe(world, f"{where}, rebooted")
        found = world.journal()
        if found is None:
            assert_new(world)
            ends.add("closed")
        elif back and found["steps"]["forget_containers"] == journals.PENDING:
            world.runner().backward(found)
            assert_old(world)
            ends.add("old")
        else:
            world.forward()
            assert_new(world)
            ends.add("new")
    assert ends >= ({"old", "new"} if back else {"new"})


@pytest.mark.parametrize("reboot", REBOOTED, ids=["killed", "rebooted"])
def test_a_rollback_killed_at_every_instant_ends_with_the_old_containers(monkeypatch, tmp_path, reboot):
    def begin(world):
        """Forward until the containers are there: the deepest that a rollback begins from."""
        opened(world)
        journal = world.journal()
        made = steps.plan_of(journal)
        for _try in range(2):
            try:
                short = {**journal, "plan": {**journal["plan"], "steps": journal["plan"]["steps"][:-1]}}
                runner = world.runner()
                for number, step in enumerate(steps.plan_of(short).steps, 1):
                    if journal["steps"].get(step.name) != journals.DONE:
                        journal = runner._apply(journal, step, number, len(made.steps))
                break
            except actions.RecreateError as error:
                world.recreate(error.containers)
                journal = world.journal()
        assert world.database == NEW
        assert world.runs("nova_compute")

    count = 0
    for at, world in each_kill(monkeypatch, tmp_path, begin, lambda world: world.runner().backward(world.journal())):
        count += 1
        assert_safe(world, f"killed at {at}")
        if reboot:
            world.systemd.reboot()
            assert_safe(world, f"killed at {at}, rebooted")
        found = world.journal()
        if found is not None:
            world.runner().backward(found)
        assert_old(world)
    assert count > 30


def begun(monkeypatch, folder, step):
    """A world that was killed right after a step."""
    world = World(monkeypatch, folder)
    opened(world)
    journal, made = world.journal(), steps.plan_of(world.journal())
    for number, item in enumerate(made.steps, 1):
        journal = world.runner()._apply(journal, item, number, len(made.steps))
        if item.name == step:
            return world
    raise AssertionError(step)


def created_under_the_old_name(world):
    """Somebody runs the deployment tool while the host still has its old name; the hold keeps its unit."""
    world.made["nova_compute"] = Made("foreign", OLD, OLD)


def taken_back_by_hand(world):
    world.made["nova_compute"] = world.made.pop("nova_compute.stackguard")


@pytest.mark.parametrize(
    ("meddle", "why", "mend"),
    [
        (created_under_the_old_name, "rm --force nova_compute", lambda made: made.pop("nova_compute")),
        (
            taken_back_by_hand,
            "rename nova_compute nova_compute.stackguard",
            lambda made: made.update({"nova_compute.stackguard": made.pop("nova_compute")}),
        ),
    ],
)
def test_no_unit_starts_a_container_with_the_old_name(monkeypatch, tmp_path, meddle, why, mend):
    world = begun(monkeypatch, tmp_path / "one", "cell_database")
    meddle(world)
    with pytest.raises(steps.StepError, match=why):
        world.forward()
    assert not world.runs("nova_compute")
    world.systemd.reboot()
    assert not world.runs("nova_compute")
    mend(world.made)
    world.forward()
    assert_new(world)


def test_unkilled_all_is_new(monkeypatch, tmp_path):
    world = World(monkeypatch, tmp_path / "one")
    finished(world)
    assert_new(world)
    assert world.created == len(NAMES)
