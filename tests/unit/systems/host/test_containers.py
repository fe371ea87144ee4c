# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers on the host: put aside, the name in them, created again; each with an engine that is killed anywhere."""

from __future__ import annotations

import subprocess
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.rename.containers import steps
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import (
    containers,
    guest_groups,
    libvirt,
    name_spaces,
    units,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.libvirt import LibvirtError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.step_error import HostStepError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import StopUnits
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

OLD, NEW = "compute1", "cn-rack7"
ITEMS = [
    {"name": name, "id": f"old-{name}", "unit": f"kolla-{name}-container.service", "aside": f"{name}.stackguard"}
    for name in ("nova_libvirt", "nova_compute")
]
ASIDE = {"engine": "podman", "containers": ITEMS, "free": ["other.stackguard"]}
LIBVIRT = {"uri": "test:///default", "before": OLD, "after": NEW}
UTS = {"engine": "podman", "container": "nova_libvirt", "before": OLD, "after": NEW, "libvirt": LIBVIRT}
RECREATED = {"engine": "podman", "containers": ITEMS, "name": NEW, "libvirt": LIBVIRT, "timeout": 5}


class Host:
    """An engine, UTS namespaces and libvirt. ``containers``: name to [id, pid]; ``names``: pid to host name."""

    def __init__(self, monkeypatch):
        self.containers = {item["name"]: [item["id"], 0] for item in ITEMS}
        self.names, self.shares_host, self.answers, self.broken = {}, False, True, None
        self.commands, self.made = [], {}
        monkeypatch.setattr(containers.commands, "run", self.run)
        monkeypatch.setattr(name_spaces, "name_in", self.names.get)
        monkeypatch.setattr(name_spaces, "host_namespace", lambda _proc: "uts:[1]")
        monkeypatch.setattr(containers.os, "readlink", lambda _path: "uts:[1]" if self.shares_host else "uts:[2]")
        monkeypatch.setattr(libvirt, "hostname", self.hostname)
        monkeypatch.setattr(containers.time, "sleep", lambda _seconds: None)

    def run(self, argv, _timeout, variables=None):
        self.commands.append(argv)
        done = lambda out="", err="", rc=0: types.SimpleNamespace(  # noqa: E731
            returncode=rc, stdout=out.encode(), stderr=err.encode()
        )
        if self.broken:
            raise self.broken
        if argv[0] == "nsenter":
            self.names[int(argv[1].partition("=")[2])] = argv[-1]
            return done()
        if argv[1] == "container":
            if argv[-1] not in self.containers:
                return done(err=f"Error: no such container {argv[-1]}", rc=125)
            identity, pid = self.containers[argv[-1]]
            if "Hostname" in argv[-2]:
                return done(self.made.get(argv[-1], f"|{NEW}") + "\n")
            return done(f"{identity} {'true' if pid else 'false'} {pid}\n")
        if argv[1] == "rename":
            self.containers[argv[3]] = self.containers.pop(argv[2])
        if argv[1] == "rm":
            self.containers.pop(argv[-1], None)
        return done()

    def hostname(self, _uri):
        pid = self.containers.get("nova_libvirt", ["", 0])[1]
        if not pid or not self.answers:
            raise LibvirtError("no connection")
        return self.names[pid]

    def start(self, name, identity, pid, hostname):
        self.containers[name] = [identity, pid]
        self.names[pid] = hostname


@pytest.fixture
def host(monkeypatch):
    return Host(monkeypatch)


# --- put aside ----------------------------------------------------------------------------------------------------


def test_set_aside_and_back(host):
    action, before = containers.SetAside(), dict(host.containers)
    assert action.is_done(ASIDE) == {"done": False}
    action.apply(ASIDE)
    assert "nova_libvirt is now nova_libvirt.stackguard" in action.verify(ASIDE)["remark"]
    assert set(host.containers) == {"nova_libvirt.stackguard", "nova_compute.stackguard"}
    action.apply(ASIDE)
    assert action.is_done(ASIDE) == {"done": True}
    action.undo(ASIDE)
    action.undo(ASIDE)
    assert host.containers == before


def test_half_set_aside_goes_on_and_back(host):
    host.containers["nova_libvirt.stackguard"] = host.containers.pop("nova_libvirt")
    action = containers.SetAside()
    action.apply(ASIDE)
    assert set(host.containers) == {"nova_libvirt.stackguard", "nova_compute.stackguard"}
    host.containers["nova_compute"] = host.containers.pop("nova_compute.stackguard")
    action.undo(ASIDE)
    assert set(host.containers) == {"nova_libvirt", "nova_compute"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nova_compute": ["another", 0]}, "container-new"),
        ({"nova_compute": None}, "container-removed"),
        ({"nova_compute": ["old-nova_compute", 77]}, "container-still-runs"),
        ({"nova_compute.stackguard": ["x", 0]}, "left-over"),
        ({"other.stackguard": ["x", 0]}, "left-over"),
    ],
)
def test_what_is_not_as_it_was_read_stops_before_anything_is_renamed(host, change, why):
    for name, value in change.items():
        host.containers[name] = value
    host.containers = {name: value for name, value in host.containers.items() if value}
    before = dict(host.containers)
    with pytest.raises(HostStepError, check=problem_is(why)) as caught:
        containers.SetAside().apply(ASIDE)
    assert caught.value.changed_meanwhile
    assert host.containers == before


@pytest.mark.parametrize(("now", "why"), [(["another", 5], "was created again"), (None, "was removed")])
def test_what_a_later_step_sets_aside_is_looked_at_before_the_first(host, now, why):
    """After the databases have the new name, such a run could only end in a rollback."""
    params = {**ASIDE, "containers": ITEMS[1:], "known": ITEMS[:1]}
    host.containers = {"nova_compute": ["old-nova_compute", 0], **({"nova_libvirt": now} if now else {})}
    with pytest.raises(HostStepError, match=f"nova_libvirt {why}") as caught:
        containers.SetAside().apply(params)
    assert caught.value.changed_meanwhile
    assert "nova_compute" in host.containers
    host.containers["nova_libvirt"] = ["old-nova_libvirt", 7]
    containers.SetAside().apply(params)
    assert set(host.containers) == {"nova_libvirt", "nova_compute.stackguard"}


def test_the_way_back_overwrites_no_container_and_says_what_is_missing(host):
    action = containers.SetAside()
    action.apply(ASIDE)
    host.containers["nova_libvirt"] = ["somebody's", 0]
    with pytest.raises(HostStepError, match=r"nova_libvirt", check=problem_is("another-container-remove")):
        action.undo(ASIDE)
    host.containers = {}
    with pytest.raises(HostStepError, check=problem_is("old-container-no")):
        action.undo(ASIDE)
    with pytest.raises(HostStepError, match="is not named"):
        action.verify(ASIDE)


def test_the_way_back_takes_a_container_that_was_created_under_the_old_name(host):
    """What was put aside is gone: somebody removed all containers that do not run."""
    aside = {**ASIDE, "made_name": OLD}
    containers.SetAside().apply(aside)
    host.containers.clear()
    with pytest.raises(HostStepError, match=f"{OLD}", check=problem_is("old-container-no")):
        containers.SetAside().undo(aside)
    for name in ("nova_libvirt", "nova_compute"):
        host.containers[name] = ["created-again", 0]
        host.made[name] = f"private|{NEW}"
    with pytest.raises(HostStepError, check=problem_is("old-container-no")):
        containers.SetAside().undo(aside)
    host.made = dict.fromkeys(host.made, f"private|{OLD}")
    containers.SetAside().undo(aside)
    with pytest.raises(HostStepError, match="no longer exists"):
        containers.SetAside().undo(ASIDE)


def test_a_new_container_beside_the_old_one_is_no_success(host):
    action = containers.SetAside()
    action.apply(ASIDE)
    host.containers["nova_compute"] = ["new", 0]
    with pytest.raises(HostStepError, match=r"nova_compute", check=problem_is("new-container-exists")):
        action.verify(ASIDE)


def test_only_what_was_put_aside_is_removed(host):
    containers.SetAside().apply(ASIDE)
    host.containers.update({"nova_compute": ["new", 5], "nova_libvirt.stackguard": ["somebody's", 0]})
    action = containers.ForgetAside()
    action.apply(ASIDE)
    assert host.containers == {"nova_compute": ["new", 5], "nova_libvirt.stackguard": ["somebody's", 0]}
    with pytest.raises(HostStepError, check=problem_is("old-container-renamed")):
        action.verify(ASIDE)
    del host.containers["nova_libvirt.stackguard"]
    assert "removed" in action.verify(ASIDE)["remark"]
    assert action.undo(ASIDE) == {}


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FileNotFoundError(2, "No such file or directory"), "No such file"),
        (subprocess.TimeoutExpired("x", 1), "no answer within"),
    ],
)
def test_an_engine_that_does_not_answer_is_an_error_and_not_an_absence(host, error, why):
    host.broken = error
    with pytest.raises(HostStepError, match=why):
        containers.SetAside().apply(ASIDE)
    with pytest.raises(HostStepError, match=why):
        containers.NewContainers("/x", object()).verify(RECREATED)


# --- the name in a container --------------------------------------------------------------------------------------


def test_libvirt_says_the_new_name_and_the_old_one_again(host):
    host.start("nova_libvirt", "old-nova_libvirt", 7, OLD)
    action = containers.LibvirtName()
    assert action.is_done(UTS) == {"done": False}
    action.apply(UTS)
    assert action.verify(UTS) == {"remark": f"libvirt reports the name {NEW}"}
    assert action.is_done(UTS) == {"done": True}
    action.undo(UTS)
    assert host.names == {7: OLD}
    with pytest.raises(HostStepError, match=f"reports the name {OLD}"):
        action.verify(UTS)


def test_where_libvirt_says_another_name_the_old_one_is_back_and_the_run_may_undo_itself(host, monkeypatch):
    host.start("nova_libvirt", "old-nova_libvirt", 7, OLD)
    monkeypatch.setattr(libvirt, "hostname", lambda _uri: "third")
    with pytest.raises(HostStepError, check=problem_is("libvirt-name")) as caught:
        containers.LibvirtName().apply(UTS)
    assert caught.value.changed_meanwhile
    assert host.names == {7: OLD}


def test_the_hosts_own_name_is_never_set_by_this(host):
    host.start("nova_libvirt", "old-nova_libvirt", 7, OLD)
    host.shares_host = True
    containers.set_name(UTS, NEW)
    assert host.names == {7: OLD}
    assert not [command for command in host.commands if command[0] == "nsenter"]


def test_a_container_that_does_not_run_has_no_name_to_set(host):
    with pytest.raises(HostStepError, check=problem_is("container-not-running")):
        containers.LibvirtName().apply(UTS)


# --- created again ------------------------------------------------------------------------------------------------


class Systemctl:
    """Units that are stopped when they are asked to."""

    def __init__(self):
        self.active = {item["unit"] for item in ITEMS}

    def show(self, names):
        return [{"ActiveState": "active" if name in self.active else "failed", "LoadState": "loaded"} for name in names]

    def call(self, *words):
        if words[0] == "stop":
            self.active.discard(words[-1])
        return ""


@pytest.fixture
def again(host, monkeypatch, tmp_path):
    monkeypatch.setattr(units, "SYSTEM", str(tmp_path / "system"))
    return containers.NewContainers(str(tmp_path / "state"), Systemctl(), lambda _seconds: None)


def test_a_container_is_missing_until_another_one_has_its_name(host, again):
    """The old one may still be there, or the tool may have restarted it only."""
    assert again.verify(RECREATED)["missing"] == ["nova_libvirt", "nova_compute"]
    host.start("nova_libvirt", "new", 7, NEW)
    assert again.verify(RECREATED) == {"missing": ["nova_compute"], "waiting": [], "wrong": []}
    host.containers["nova_compute"] = ["new2", 0]
    assert again.verify(RECREATED)["waiting"] == ["nova_compute"]
    # Created, and the tool was killed before it started the unit: the tool has to run again.
    again.systemctl.active.discard("kolla-nova_compute-container.service")
    assert again.verify(RECREATED)["missing"] == ["nova_compute"]
    host.start("nova_compute", "new2", 8, OLD)
    assert again.verify(RECREATED)["wrong"] == [f"nova_compute has the host name {OLD}, not {NEW}"]
    host.names[8] = NEW
    host.answers = False
    assert again.verify(RECREATED)["waiting"] == ["libvirt"]
    assert again.is_done(RECREATED) == {"done": False}
    host.answers = True
    assert again.is_done(RECREATED) == {"done": True}


@pytest.mark.parametrize("made", [f"private|{OLD}", "|", "what?"])
def test_a_unit_may_not_start_a_container_with_another_name(host, again, tmp_path, made):
    """Somebody ran the deployment tool before the host had its new name."""
    containers.SetAside().apply(ASIDE)
    host.containers["nova_compute"] = ["somebody's", 0]
    host.made["nova_compute"] = made
    for item in ITEMS:
        units.block(item["unit"], again.state_dir, again.systemctl)
    with pytest.raises(HostStepError):
        again.apply(RECREATED)
    assert all((tmp_path / "state" / f".blocked-{item['unit']}").exists() for item in ITEMS)
    for right in (f"private|{NEW}", "host|"):
        host.made["nova_compute"] = right
        again.apply(RECREATED)
    assert not any((tmp_path / "state" / f".blocked-{item['unit']}").exists() for item in ITEMS)


def test_libvirt_with_another_name_than_its_container_is_wrong(host, again, monkeypatch):
    host.start("nova_libvirt", "new", 7, NEW)
    host.start("nova_compute", "new2", 8, NEW)
    monkeypatch.setattr(libvirt, "hostname", lambda _uri: "third")
    assert again.verify(RECREATED)["wrong"] == [f"libvirt reports the name third for this host, not {NEW}"]


def test_the_way_back_holds_the_units_and_removes_the_new_containers_only(host, again, tmp_path):
    containers.SetAside().apply(ASIDE)
    again.apply(RECREATED)
    host.start("nova_libvirt", "new", 7, NEW)
    host.start("nova_compute", "new2", 8, NEW)
    again.undo(RECREATED)
    assert set(host.containers) == {"nova_libvirt.stackguard", "nova_compute.stackguard"}
    for item in ITEMS:
        assert (tmp_path / "state" / f".blocked-{item['unit']}").exists()
        assert (tmp_path / "system" / f"{item['unit']}.d" / units.DROP_IN).exists()
    containers.SetAside().undo(ASIDE)
    # Begun and not carried out: what has its old name is not removed.
    again.undo(RECREATED)
    assert set(host.containers) == {"nova_libvirt", "nova_compute"}


def test_nova_compute_with_a_wrong_name_is_held_again(host, again, tmp_path):
    unit = "kolla-nova_compute-container.service"
    hold = containers.HoldContainers(again.state_dir, again.systemctl, again.sleep)
    wrong = {**RECREATED, "held": [unit]}
    assert hold.is_done(wrong) == {"done": False}
    hold.apply(wrong)
    assert (tmp_path / "state" / f".blocked-{unit}").exists()
    assert again.systemctl.active == {"kolla-nova_libvirt-container.service"}
    hold.verify(wrong)
    # A journal of an earlier version does not say which.
    hold.apply(RECREATED)


@pytest.fixture
def inside(monkeypatch):
    """Guests by the id of the container whose control group they are in."""
    found = {}
    monkeypatch.setattr(
        containers.guest_groups, "inside", lambda ids: [uuid for uuid, number in found.items() if number in ids]
    )
    return found


def test_the_way_back_ends_no_guest_that_was_started_in_the_new_container(host, again, inside):
    containers.SetAside().apply(ASIDE)
    again.apply(RECREATED)
    host.start("nova_libvirt", "new", 7, NEW)
    before, active = dict(host.containers), set(again.systemctl.active)
    inside.update({"guest": "new", "elsewhere": "another"})
    with pytest.raises(HostStepError, check=problem_is("would-end-processes")):
        again.undo(RECREATED)
    assert (host.containers, again.systemctl.active) == (before, active)
    asked = {"engine": "podman", "containers": ["nova_libvirt", "no-such"]}
    assert containers.guests_inside(asked) == ["guest"]
    # The operator was warned of this one: it is no guest of Nova's.
    again.undo({**RECREATED, "known_inside": ["guest"]})
    assert "nova_libvirt" not in host.containers


def test_libvirts_container_is_not_stopped_with_a_guest_in_it(host, again, inside):
    host.start("nova_libvirt", "old", 7, OLD)
    stop = StopUnits(again.state_dir, again.systemctl)
    unit = "kolla-nova_libvirt-container.service"
    params = {
        "units": [{"name": unit, "active": True}],
        "timeout": 5,
        "guests_outside": {"engine": "podman", "containers": ["nova_libvirt"], "known": []},
    }
    inside["guest"] = "old"
    with pytest.raises(HostStepError, match="SG127"):
        stop.stop_begin(params)
    assert unit in again.systemctl.active
    inside.clear()
    stop.stop_begin(params)
    assert unit not in again.systemctl.active


def test_a_control_group_is_read_when_it_matters(monkeypatch):
    """By the kernel's own words; a process that has ended since is no guest, and one that cannot be read an error."""
    groups = {
        7: ["/machine.slice/libpod-" + "a" * 64 + ".scope/container"],
        8: ["/machine/qemu-8"],
        9: OSError(5, "EIO"),
    }

    def read(pid, _proc):
        if pid not in groups:
            raise ProcessLookupError
        if isinstance(groups[pid], OSError):
            raise groups[pid]
        return groups[pid]

    monkeypatch.setattr(guest_groups.deployment, "control_groups", read)
    running = {"in": [7], "out": [8], "ended": [6]}
    monkeypatch.setattr(guest_groups.processes, "qemu_by_uuid", lambda _proc: running)
    assert guest_groups.inside({"a" * 64}) == ["in"]
    assert guest_groups.inside({"b" * 64}) == []
    running["unread"] = [9]
    with pytest.raises(HostStepError, check=problem_is("control-group-unread")):
        guest_groups.inside({"a" * 64})


def test_a_unit_that_does_not_stop_ends_the_way_back(host, again):
    again.systemctl.call = lambda *_words: ""
    with pytest.raises(HostStepError, check=problem_is("units-not-stopped")):
        again.undo({**RECREATED, "timeout": -1})


# --- the controller's part ----------------------------------------------------------------------------------------


class Answers:
    """A host that answers as it is told; the systems of a run with a clock that does not tick."""

    def __init__(self, *shown):
        self.shown, self.asked = list(shown), []
        self.host = self

    def call(self, requests):
        (request,) = requests
        self.asked.append(request["op"])
        return [self.shown.pop(0) if request["op"] == "verify" else {"ok": True}]

    @staticmethod
    def wait(what, _timeout, seen):
        for _try in range(5):
            answer = seen()
            if answer is not None:
                return answer
        raise StepError(f"timed out while waiting until {what()}")


def answer(missing=(), waiting=(), wrong=()):
    return {"missing": list(missing), "waiting": list(waiting), "wrong": list(wrong)}


def test_the_run_stops_for_the_command_and_goes_on_when_the_containers_are_there():
    first = Answers(answer(missing=["nova_libvirt"]))
    with pytest.raises(steps.RecreateError, match=r"nova_libvirt", check=problem_is("containers-not-found")) as caught:
        steps.RecreateContainers(first).apply(RECREATED, {})
    assert (caught.value.needs, caught.value.containers) == ("recreate_containers", ["nova_libvirt"])
    assert first.asked == ["apply", "verify"]
    second = Answers(answer(), answer(waiting=["libvirt"]), answer())
    done = steps.RecreateContainers(second).apply(RECREATED, {})
    assert done.remark == f"nova_libvirt, nova_compute: host name {NEW}"


def test_a_wrong_name_ends_the_run_and_no_answer_ends_it_too():
    wrong = answer(wrong=["nova_compute has the host name x, not y"])
    host = Answers(answer(), wrong)
    with pytest.raises(StepError, check=problem_is("nova-compute-in-another-container")):
        steps.RecreateContainers(host).apply(RECREATED, {})
    assert host.asked == ["apply", "verify", "verify", "apply"]
    late = Answers(*[answer(waiting=["libvirt"])] * 9)
    with pytest.raises(StepError, match="waiting until these containers or services run: libvirt"):
        steps.RecreateContainers(late).apply(RECREATED, {})


def test_taken_back_the_host_is_asked_once():
    host = Answers()
    steps.RecreateContainers(host).undo(RECREATED)
    assert host.asked == ["undo"]


@pytest.mark.parametrize("state", ["pending", "applying", "done", "undoing"])
def test_a_rollback_that_would_end_a_guest_does_not_begin(monkeypatch, state):
    step = types.SimpleNamespace(name=steps.RECREATE, params={**RECREATED, "known_inside": ["warned"]})
    monkeypatch.setattr(steps, "plan_of", lambda _journal: types.SimpleNamespace(steps=[step]))
    journal, asked = {"steps": {steps.RECREATE: state}}, []

    def host(guests):
        call = lambda requests: asked.append(requests[0]) or [{"guests": guests}]  # noqa: E731
        return types.SimpleNamespace(host=types.SimpleNamespace(call=call))

    if state == "pending":
        steps.refuse_rollback(journal, host(["guest"]))
        assert asked == []
        return
    with pytest.raises(StepError, check=problem_is("guests-in-new-containers")):
        steps.refuse_rollback(journal, host(["guest"]))
    params = {"engine": "podman", "containers": ["nova_libvirt", "nova_compute"], "known": ["warned"]}
    assert asked == [{"op": "guests_inside", "params": params}]
    steps.refuse_rollback(journal, host([]))
