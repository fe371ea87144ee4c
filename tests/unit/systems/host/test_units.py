# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Units stopped, kept from starting, and started again: also when killed in between, and over a reboot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps, units
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems import killing

NAMES = ["nova-compute.service", "devstack@n-cpu.service"]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, killing.Fuse())


class World:
    """A host with a packaged unit, which can be masked, and one in /etc/systemd/system, which cannot."""

    count = 0

    def __init__(self, tmp_path, monkeypatch, fuse, **kwargs):
        World.count += 1
        folder = tmp_path / f"world{World.count}"
        (folder / "system").mkdir(parents=True)
        monkeypatch.setattr(units, "SYSTEM", str(folder / "system"))
        self.state_dir = str(folder / "state")
        self.systemd = killing.FakeSystemd(folder / "system", fuse, **kwargs)
        self.systemd.add(NAMES[0])
        self.systemd.add(NAMES[1], own_file=True)
        self.params = params()
        args = (self.state_dir, self.systemd.systemctl(), lambda _seconds: None)
        self.stop, self.start = steps.StopUnits(*args), steps.StartUnits(*args)

    def states(self):
        return {name: unit.state for name, unit in self.systemd.units.items()}

    def clean(self):
        left = sorted(path.name for path in (self.systemd.folder).iterdir())
        return left == [NAMES[1]] and not (os.path.exists(self.state_dir) and os.listdir(self.state_dir))


def params(**changes):
    return {
        "units": [{"name": name, "active": True, "enabled": "enabled"} for name in NAMES],
        "stop_command": None, "start_command": None, "mask_command": None, "unmask_command": None, "timeout": 400,
        **changes,
    }  # fmt: skip


@pytest.mark.parametrize("ends_as", ["inactive", "failed"])
def test_stop_and_start(tmp_path, monkeypatch, ends_as):
    world = World(tmp_path, monkeypatch, None, ends_as=ends_as)
    assert world.stop.is_done(world.params) == {"done": False}
    world.stop.apply(world.params)
    assert world.stop.verify(world.params)["remark"].startswith("stopped and masked")
    assert world.stop.is_done(world.params) == {"done": True}
    assert [unit.masked for unit in world.systemd.units.values()] == [True, False]
    for name in NAMES:
        with pytest.raises(units.UnitError, match="refused"):
            world.systemd.systemctl().call("start", "--no-block", "--", name)
    world.systemd.reboot()
    assert world.states() == dict.fromkeys(NAMES, "inactive")
    assert world.start.is_done(world.params) == {"done": False}
    world.start.apply(world.params)
    world.start.verify(world.params)
    assert world.start.is_done(world.params) == {"done": True}
    assert world.clean()


def test_the_stop_is_asked_for_under_the_units_own_settings(world):
    """A mask that is loaded makes systemd forget TimeoutStopSec; the fake refuses a stop of a masked running unit."""
    world.stop.stop_begin(world.params)
    assert [unit.masked for unit in world.systemd.units.values()] == [False, False]
    assert all(world.systemd.refuses(name) for name in NAMES)
    first = world.stop.stop_poll(world.params)
    assert first["stopped"] is False
    assert "deactivating" in first["state"]
    assert world.stop.stop_poll(world.params)["stopped"]
    assert world.systemd.units[NAMES[0]].masked


def test_a_poll_in_check_mode_changes_nothing(world):
    world.stop.stop_begin(world.params)
    while not world.stop.stop_poll(world.params, settle=False)["stopped"]:
        pass
    assert not world.systemd.units[NAMES[0]].masked


def test_a_unit_that_was_not_active_is_not_started(world):
    world.params["units"][1]["active"] = False
    world.stop.apply(world.params)
    world.stop.undo(world.params)
    assert world.states() == {NAMES[0]: "active", NAMES[1]: "inactive"}
    assert world.clean()


def test_a_mask_that_was_there_before_is_there_after_a_rollback(world):
    """An operator's mask of a host that was renamed by hand: without it the next boot starts nova-compute."""
    name = NAMES[0]
    world.params["units"] = [{"name": name, "active": False, "enabled": "masked", "masked": True}]
    world.stop.apply(world.params)
    world.systemd.systemctl().call("mask", "--", name)
    for _again in range(2):
        world.stop.undo(world.params)
        assert world.systemd.units[name].masked
        assert not os.path.exists(units.drop_in(name)) and not os.listdir(world.state_dir)
    world.systemd.reboot()
    assert world.systemd.refuses(name)
    # Forward, the start takes the mask back: that is what the operation is for.
    forward = {**world.params, "units": [{"name": name, "active": True, "enabled": "masked"}]}
    world.start.apply(forward)
    assert world.states()[name] == "active" and not world.systemd.units[name].masked


def test_a_stop_that_takes_too_long_is_told(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, None, stop_polls=10**6)
    monkeypatch.setattr(units, "seconds_since", lambda *_args: 401)
    with pytest.raises(steps.HostStepError, check=problem_is("service-not-stopped")):
        world.stop.apply(world.params)


def test_verify_finds_a_unit_that_runs_or_may_run(world):
    with pytest.raises(steps.HostStepError, check=problem_is("not-masked")):
        world.stop.verify(world.params)
    world.stop.apply(world.params)
    world.systemd.units[NAMES[0]].pid = 1
    with pytest.raises(steps.HostStepError, check=problem_is("not-stopped")):
        world.stop.verify(world.params)


def test_a_unit_that_does_not_start_is_told(world):
    world.systemd.start = lambda *_args: None
    world.stop.apply(world.params)
    world.start.apply(world.params)
    with pytest.raises(units.UnitError, check=problem_is("not-started")):
        world.start.verify(world.params)


def test_killed_while_stopping_then_again(tmp_path, monkeypatch):
    for world in killing.each_kill(
        monkeypatch, lambda fuse: World(tmp_path, monkeypatch, fuse), lambda world: world.stop.apply(world.params)
    ):
        world.stop.apply(world.params)
        world.stop.verify(world.params)
        world.systemd.reboot()
        assert world.states() == dict.fromkeys(NAMES, "inactive")


def test_killed_while_stopping_then_undone(tmp_path, monkeypatch):
    for world in killing.each_kill(
        monkeypatch, lambda fuse: World(tmp_path, monkeypatch, fuse), lambda world: world.stop.apply(world.params)
    ):
        world.stop.undo(world.params)
        assert world.states() == dict.fromkeys(NAMES, "active")
        leftovers(world)


@pytest.mark.parametrize("again", ["apply", "undo"])
def test_killed_while_starting(tmp_path, monkeypatch, again):
    def stopped(fuse):
        world = World(tmp_path, monkeypatch, fuse)
        world.stop.apply(world.params)
        return world

    for world in killing.each_kill(monkeypatch, stopped, lambda world: world.start.apply(world.params)):
        getattr(world.start, again)(world.params)
        if again == "apply":
            assert world.states() == dict.fromkeys(NAMES, "active")
            leftovers(world)
        else:
            world.stop.verify(world.params)


def leftovers(world):
    """Nothing that keeps a unit from starting may be left; a temporary file of a killed run may."""
    left = [path for path in world.systemd.folder.rglob("*") if path.is_file() and path.suffix != ".tmp"]
    assert [path.name for path in left] == [NAMES[1]]
    assert not any(world.systemd.refuses(name) for name in NAMES)
    world.systemd.reboot()
    assert world.states() == dict.fromkeys(NAMES, "active")


# --- the operator's own commands --------------------------------------------------------------------------------


@pytest.fixture
def commanded(tmp_path, monkeypatch):
    """Commands that note what they were called for; nothing is called nova-compute until a test says so."""
    log = tmp_path / "log"
    script = tmp_path / "note me"
    script.write_text(f"#!{sys.executable}\nimport sys\nopen({str(log)!r}, 'a').write(sys.argv[1] + '\\n')\n")
    script.chmod(0o755)
    running = []
    monkeypatch.setattr(steps.processes, "running", lambda program: running if program == "nova-compute" else [])
    given = {f"{name}_command": f"'{script}' {name}" for name in ("stop", "start", "mask", "unmask")}
    world = World(tmp_path, monkeypatch, None)
    world.params = params(units=[], **given)
    world.log, world.running, world.tmp_path = log, running, tmp_path
    return world


def test_own_commands_take_the_place_of_systemd(commanded):
    commanded.stop.apply(commanded.params)
    commanded.stop.verify(commanded.params)
    commanded.start.apply(commanded.params)
    commanded.start.verify(commanded.params)
    assert commanded.log.read_text().split() == ["mask", "stop", "unmask", "start"]
    assert commanded.systemd.calls == []


def test_own_commands_without_mask(commanded):
    commanded.params.update(mask_command=None, unmask_command=None)
    commanded.stop.apply(commanded.params)
    commanded.stop.undo(commanded.params)
    assert commanded.log.read_text().split() == ["stop", "start"]


def test_a_process_that_is_left_is_told(commanded):
    commanded.running.append(4711)
    commanded.stop.stop_begin(commanded.params)
    poll = commanded.stop.stop_poll(commanded.params)
    assert (poll["stopped"], poll["state"]) == (False, "processes are still running: 4711")
    with pytest.raises(steps.HostStepError, match="processes are still running: 4711"):
        commanded.stop.verify(commanded.params)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("false", r"false: exit status 1: $"),
        ("sh -c 'echo oh no; exit 3'", "exit status 3: oh no$"),
        ("/nowhere/at all", "No such file"),
        ("'unclosed", "No closing quotation"),
    ],
)
def test_a_command_that_fails_is_told(commanded, line, message):
    commanded.params.update(stop_command=line)
    with pytest.raises(steps.HostStepError, match=message):
        commanded.stop.apply(commanded.params)


def test_a_command_that_does_not_end_is_told(commanded):
    """Without a mask command: on a busy machine that one could need more than the second as well."""
    commanded.params.update(stop_command="sleep 9", mask_command=None, timeout=1)
    with pytest.raises(steps.HostStepError, check=problem_is("timed-out")):
        commanded.stop.apply(commanded.params)


def test_neither_units_nor_commands(world):
    for action in (world.stop, world.start):
        with pytest.raises(steps.HostStepError, match=r"stop_command", check=problem_is("cannot-toggle")):
            action.apply(params(units=[]))


# --- reading ----------------------------------------------------------------------------------------------------


def test_units_that_exist_are_read_once_under_the_name_asked_for(world):
    read = units.read_units(["nova-compute", "absent", "devstack@n-cpu", "nova-compute"], world.state_dir,
                            world.systemd.systemctl())  # fmt: skip
    assert [(unit.name, unit.load_state, unit.active_state, unit.blocked) for unit in read] == [
        (name, "loaded", "active", False) for name in NAMES
    ]
    world.stop.apply(world.params)
    read = units.read_units(NAMES, world.state_dir, world.systemd.systemctl())
    assert [(unit.load_state, unit.blocked) for unit in read] == [("masked", True), ("loaded", True)]


def test_exec_start_is_read_with_its_quotes(world):
    (shown,) = world.systemd.systemctl().show([NAMES[0]])
    assert units.exec_start(shown) == ["/usr/bin/x", "--config-file", "/etc/a b"]
    assert units.exec_start({}) == units.exec_start({"ExecStart": "{ argv[]=' ; x }"}) == []


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (FileNotFoundError(), "systemctl-not-installed"),
        (subprocess.TimeoutExpired("systemctl", 60), "systemctl-no-answer"),
    ],
)
def test_without_systemd(failure, message):
    def run(*_args, **_kwargs):
        raise failure

    with pytest.raises(units.UnitError, check=problem_is(message)):
        units.Systemctl(run).show(["x.service"])


def test_an_answer_for_fewer_units_is_refused():
    answer = subprocess.CompletedProcess([], 0, b"Id=a.service\n", b"")
    with pytest.raises(units.UnitError, check=problem_is("systemctl-answer")):
        units.Systemctl(lambda *_args, **_kwargs: answer).show(["a.service", "b.service"])


def test_left_processes_are_found_in_whichever_hierarchy(tmp_path):
    inner = tmp_path / "systemd" / "system.slice" / "a.service" / "inner"
    inner.mkdir(parents=True)
    (inner / "cgroup.procs").write_text("12\n7\n")
    assert units.left_processes("/system.slice/a.service", str(tmp_path)) == [7, 12]
    assert units.left_processes("/system.slice/b.service", str(tmp_path)) == []
    assert units.left_processes("", str(tmp_path)) == units.left_processes("/", str(tmp_path)) == []


# --- asked once -------------------------------------------------------------------------------------------------


def systemd(commands, failing=()):
    """A systemctl that knows every unit by its name, and notes what it was asked."""

    def run(command, **_how):
        names = command[command.index("--") + 1 :]
        commands.append(names)
        if set(names) & set(failing):
            return subprocess.CompletedProcess(command, 1, b"", b"no such name")
        shown = "\n\n".join(f"Id={name}\nLoadState=loaded" for name in names)
        return subprocess.CompletedProcess(command, 0, shown.encode(), b"")

    return run


def test_units_that_are_known_beforehand_are_asked_for_in_one_command():
    commands = []
    once = units.AskedOnce(["a", "b.timer", "c", "a"], systemd(commands))
    assert commands == []
    assert [shown["Id"] for shown in once.show(["c.service", "a.service"])] == ["c.service", "a.service"]
    assert [shown["Id"] for shown in once.show(["b.timer"])] == ["b.timer"]
    assert commands == [["a.service", "b.timer", "c.service"]]
    # Others are asked for as they come, each in its place.
    found = once.show(["x.service", "a.service", "y.service"])
    assert [shown["Id"] for shown in found] == ["x.service", "a.service", "y.service"]
    assert commands[1:] == [["x.service", "y.service"]]


def test_a_systemd_that_hangs_is_not_asked_again_and_no_unit_is_taken_for_missing():
    commands = []

    def run(command, **_how):
        commands.append(command)
        raise subprocess.TimeoutExpired(command, 1)

    once = units.AskedOnce(["a", "b"], run)
    for names in (["a.service"], ["b.service"], []):
        with pytest.raises(units.UnitError, check=problem_is("systemctl-no-answer")):
            once.show(names)
    assert len(commands) == 1


def test_a_name_that_systemctl_refuses_hides_no_other_unit(monkeypatch, tmp_path):
    """One wrong name among the agents' units made nova-compute's own unit unknown."""
    commands = []
    monkeypatch.setattr(units, "BOOTED", str(tmp_path))
    once = units.AskedOnce(["a", "b"], systemd(commands, failing=["b.service"]))
    assert [shown["Id"] for shown in once.show(["a.service"])] == ["a.service"]
    with pytest.raises(units.UnitError, match="no such name"):
        once.show(["b.service"])
    assert commands == [["a.service", "b.service"], ["a.service"], ["b.service"]]


def test_where_systemd_is_not_the_init_system_it_is_asked_once(monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(units, "BOOTED", str(tmp_path / "missing"))
    once = units.AskedOnce(["a", "b"], systemd(commands, failing=["b.service"]))
    for names in (["a.service"], ["b.service"]):
        with pytest.raises(units.UnitError, match="no such name"):
            once.show(names)
    assert commands == [["a.service", "b.service"]]


def test_an_answer_of_too_few_units_is_no_answer():
    def run(command, **_how):
        return subprocess.CompletedProcess(command, 0, b"Id=a.service", b"")

    with pytest.raises(units.UnitError, check=problem_is("systemctl-answer")):
        units.AskedOnce(["a", "b"], run).show(["a.service", "b.service"])
