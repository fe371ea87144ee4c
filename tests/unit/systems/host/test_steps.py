# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to a host: names and files as one step, guests compared, journals, check mode, failures."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import libvirt, steps
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import names as host_names
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems import killing

OLD_HOSTS = "127.0.0.1 localhost\n10.0.0.1 old\n"
OLD_CONF = "[DEFAULT]\nhost = old\npassword = secret\n"


class World:
    """A host's names: the kernel's, the file's, Open vSwitch's; libvirt goes by the kernel's."""

    def __init__(self, folder, monkeypatch, fuse):
        folder.mkdir(exist_ok=True)
        self.folder, self.fuse = folder, fuse
        self.hosts, self.conf, self.static = folder / "hosts", folder / "nova.conf", folder / "hostname"
        self.hosts.write_text(OLD_HOSTS)
        self.conf.write_text(OLD_CONF)
        self.static.write_text("old\n")
        self.kernel, self.external = "old", {"hostname": "old", "system-id": "u"}
        monkeypatch.setattr(host_names, "STATIC", str(self.static))
        monkeypatch.setattr(host_names, "kernel_name", lambda: self.kernel)
        monkeypatch.setattr(host_names, "static_name", self.read_static)
        monkeypatch.setattr(host_names, "_run", lambda _command: False)  # no hostnamectl
        monkeypatch.setattr(host_names.socket, "sethostname", self.set_kernel)
        monkeypatch.setattr(host_names, "ovs_external_ids", lambda: dict(self.external))
        monkeypatch.setattr(host_names, "set_ovs_external_id", self.set_external)
        monkeypatch.setattr(libvirt, "hostname", lambda _uri: self.kernel)
        self.action = steps.HostNames(str(folder / "state"))
        self.params = {
            "static_hostname": {"before": "old", "after": "new"},
            "line_edits": [
                {"path": str(self.hosts), "number": 2, "before": "10.0.0.1 old", "after": "10.0.0.1 new"},
                {"path": str(self.conf), "number": 2, "before": "host = old", "after": "host = new"},
            ],
            "ovs_external_ids": {"hostname": {"before": "old", "after": "new"}},
            "libvirt": {"uri": "test:///default", "before": "old", "after": "new"},
        }

    def read_static(self):
        text = self.static.read_text().strip()
        return text or None

    def set_kernel(self, name):
        self.fuse.spark()
        self.kernel = name

    def set_external(self, key, value):
        self.fuse.spark()
        self.external[key] = value

    def names(self):
        return {
            self.kernel, self.static.read_text().strip(), self.external["hostname"],
            self.hosts.read_text().split()[-1], self.conf.read_text().split("host = ")[1].split()[0],
        }  # fmt: skip


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path / "host", monkeypatch, killing.Fuse())


def test_names_there_and_back(world):
    for _again in range(2):
        assert world.action.apply(world.params) == {}
        assert world.action.verify(world.params) == {"remark": "libvirt reports the name new"}
        assert world.action.is_done(world.params) == {"done": True}
        assert world.names() == {"new"}
    for _again in range(2):
        assert world.action.undo(world.params) == {"remark": "libvirt reports the name old"}
        assert world.action.is_done(world.params) == {"done": False}
        assert world.names() == {"old"}
    assert (world.hosts.read_text(), world.conf.read_text()) == (OLD_HOSTS, OLD_CONF)
    assert world.external == {"hostname": "old", "system-id": "u"}


@pytest.mark.parametrize("again", ["apply", "undo"])
@pytest.mark.parametrize("first", ["apply", "undo"])
def test_names_killed_at_every_call(tmp_path, monkeypatch, first, again):
    def prepare(fuse):
        world = World(tmp_path / "host", monkeypatch, fuse)
        if first == "undo":
            world.action.apply(world.params)
        return world

    for world in killing.each_kill(monkeypatch, prepare, lambda world: getattr(world.action, first)(world.params)):
        getattr(world.action, again)(world.params)
        assert world.names() == {"new" if again == "apply" else "old"}


def spoil_hosts(world):
    world.hosts.write_text("10.0.0.1 somebody\n" * 2)


def spoil_kernel(world):
    world.kernel = "somebody"


def spoil_static(world):
    world.static.write_text("somebody\n")


def spoil_external(world):
    world.external = {}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_hosts, "kernel-refused"),
        (spoil_kernel, "kernel-refused"),
        (spoil_static, "kernel-refused"),
        (spoil_external, "kernel-refused"),
    ],
)
@pytest.mark.parametrize("direction", ["apply", "undo"])
def test_a_guard_that_does_not_hold_changes_nothing(world, spoil, message, direction):
    if direction == "undo":
        world.action.apply(world.params)
    spoil(world)
    before = world.names() if spoil is not spoil_external else None
    with pytest.raises(steps.HostStepError, check=problem_is(message)) as caught:
        getattr(world.action, direction)(world.params)
    assert caught.value.changed_meanwhile
    assert before is None or world.names() == before
    assert "secret" not in str(caught.value)


def test_a_host_without_static_name_gets_one(world):
    world.static.write_text("")
    world.action.apply(world.params)
    world.action.verify(world.params)
    assert world.static.read_text() == "new\n"


def test_libvirts_word_counts(world, monkeypatch):
    world.action.apply(world.params)
    monkeypatch.setattr(libvirt, "hostname", lambda _uri: "new.example")
    with pytest.raises(steps.HostStepError, check=problem_is("libvirt-name")):
        world.action.verify(world.params)
    assert world.action.is_done(world.params) == {"done": False}


def test_a_host_that_keeps_its_own_name(world):
    world.params.update(static_hostname=None, ovs_external_ids={}, libvirt={"uri": "", "before": "old", "after": "old"})
    world.action.apply(world.params)
    world.action.verify(world.params)
    assert (world.kernel, world.external["hostname"]) == ("old", "old")
    assert "host = new" in world.conf.read_text()


def test_verify_names_the_lines_that_are_left(world):
    with pytest.raises(steps.HostStepError, match=r"nova.conf:2", check=problem_is("lines-differ")):
        world.action.verify(world.params)


# --- guests -----------------------------------------------------------------------------------------------------


def domain(number, **changes):
    return dataclasses.replace(
        facts.Domain(
            uuid=f"u{number}", name=f"n{number}", state="running", persistent=True, pid=number, pid_start=9,
            memory_mib=1, vcpus=1, nova_name=None, nova_flavor=None, nova_project=None,
            machine_type=None, disks=[], interfaces=[], xml_digest="d",
        ),
        **changes,
    )  # fmt: skip


def told(domains):
    keys = ("uuid", "name", "state", "pid", "pid_start", "xml_digest")
    return [{key: getattr(item, key) for key in keys} for item in domains]


# --- requests ---------------------------------------------------------------------------------------------------


@pytest.fixture
def runner(tmp_path):
    systemd = killing.FakeSystemd(tmp_path)
    return steps.HostRunner(str(tmp_path / "state"), systemctl=systemd.systemctl())


JOURNAL = {
    "schema": journal.SCHEMA,
    "kind": "rename",
    "operation_id": "o1",
    "state": "open",
    "about": {"plan_sha256": None},
    "plan": {},
    "steps": {},
    "history": [],
    "run": {"token": "t"},
}

HOLDER = {"kind": "rename", "operation_id": "o1", "token": "t"}


def test_journals(runner):
    note = {"at": "2026-11-21T00:00:00Z", "step": "one", "step_state": "done"}
    outcome = runner.run(
        [
            {"op": "journal_list"},
            {"op": "journal_open", "journal": JOURNAL},
            {"op": "journal_mark", "kind": "rename", "operation_id": "o1", "note": note, "holder": HOLDER},
            {"op": "journal_read", "kind": "rename"},
            {"op": "journal_close", "journal": {**JOURNAL, "state": "finished"}},
            {"op": "journal_read", "kind": "rename"},
        ]
    )
    assert outcome.error is None
    assert outcome.changed
    assert outcome.results[0] == {"ok": True, "journals": [], "unknown": []}
    assert outcome.results[3]["journal"]["steps"] == {"one": "done"}
    assert outcome.results[4]["path"].endswith("closed/rename-o1.json")
    assert outcome.results[5] == {"ok": True, "journal": None, "unknown": [], "ended": 1}


@pytest.mark.parametrize("op", ["journal_list", "journal_read"])
@pytest.mark.parametrize("kind", ["rename", "evacuate"])
def test_a_journal_that_is_not_understood_is_an_error_unless_it_is_asked_for(runner, op, kind):
    """Whoever does not know of such journals never takes them for none."""
    os.makedirs(runner.state_dir)
    path = os.path.join(runner.state_dir, f"{kind}.json")
    pathlib.Path(path).write_text("{")
    refused = runner.run([{"op": op, "kind": "rename"}])
    assert refused.results == []
    assert "SG706" in refused.error
    assert path in refused.error
    (told,) = runner.run([{"op": op, "kind": "rename", "unknown": True}]).results
    assert [entry["path"] for entry in told["unknown"]] == [path]
    assert not (told.get("journal") or told.get("journals"))


def test_reading_changes_nothing(runner):
    assert not runner.run([{"op": "journal_list"}, {"op": "journal_read", "kind": "rename"}]).changed


def test_the_first_failure_ends_it(runner):
    outcome = runner.run(
        [{"op": "journal_list"}, {"op": "journal_open", "journal": JOURNAL}, {"op": "x"}, {"op": "journal_list"}]
    )
    assert outcome.error == "request 3 (x): unknown op"
    assert len(outcome.results) == 2
    assert outcome.changed
    again = runner.run([{"op": "journal_open", "journal": JOURNAL}])
    assert again.error.endswith("an operation is already open")
    assert again.error.startswith("request 1 (journal_open): ")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "KeyError: 'op'"),
        ({"op": "apply", "action": "nothing", "params": {}}, " 1 (apply nothing): "),
        ({"op": "apply", "action": "host_names", "params": {}}, "KeyError: 'line_edits'"),
        ({"op": "log_find", "mark": None, "needles": []}, "TypeError"),
    ],
)
def test_malformed_requests(runner, request_, message):
    assert message in runner.run([request_]).error


def test_check_mode_skips_what_changes(tmp_path):
    runner = steps.HostRunner(str(tmp_path / "state"), check_mode=True)
    requests = [
        {"op": "journal_open", "journal": JOURNAL},
        {"op": "journal_put", "journal": JOURNAL},
        {"op": "journal_mark", "kind": "rename", "operation_id": "o1", "note": {}},
        {"op": "journal_close", "journal": JOURNAL},
        {"op": "stop_begin", "params": {}},
        {"op": "apply", "action": "host_names", "params": {}},
        {"op": "undo", "action": "host_names", "params": {}},
        {"op": "journal_read", "kind": "rename"},
    ]
    outcome = runner.run(requests)
    assert not outcome.changed
    assert outcome.results == [{"ok": True, "skipped": True}] * 7 + [
        {"ok": True, "journal": None, "unknown": [], "ended": 0}
    ]
    assert not (tmp_path / "state").exists()


def test_a_failed_guard_is_told_apart(runner, monkeypatch):
    def apply(_params):
        raise steps.HostStepError("other", changed_meanwhile=True)

    monkeypatch.setattr(runner.actions["host_names"], "apply", apply)
    outcome = runner.run([{"op": "apply", "action": "host_names", "params": {}}])
    assert (outcome.error, outcome.changed_meanwhile) == ("request 1 (apply host_names): other", True)


def test_a_stop_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(steps.units, "SYSTEM", str(tmp_path / "system"))
    (tmp_path / "system").mkdir()
    systemd = killing.FakeSystemd(tmp_path / "system")
    systemd.add("a.service")
    runner = steps.HostRunner(str(tmp_path / "state"), systemctl=systemd.systemctl())
    what = {"action": "stop_units", "params": {"units": [{"name": "a", "active": True, "enabled": ""}], "timeout": 9}}
    assert runner.run([{"op": "stop_begin", **what}]).results == [{"ok": True}]
    polls = []
    with contextlib.suppress(IndexError):
        while not polls or not polls[-1]["stopped"]:
            polls += runner.run([{"op": "stop_poll", **what}]).results
    assert [poll["stopped"] for poll in polls] == [False, True]
    assert runner.run([{"op": "verify", **what}]).error is None


def test_a_container_that_runs_on_without_its_unit_is_not_stopped(tmp_path, monkeypatch):
    """C(podman start) by hand, or an engine that lost its unit: the unit is inactive, nova-compute is there."""
    monkeypatch.setattr(steps.units, "SYSTEM", str(tmp_path / "system"))
    (tmp_path / "system").mkdir()
    systemd = killing.FakeSystemd(tmp_path / "system")
    systemd.add("a.service")
    running = {"nova-compute": [4711]}
    monkeypatch.setattr(steps.processes, "running", lambda program: running.get(program, []))
    runner = steps.HostRunner(str(tmp_path / "state"), systemctl=systemd.systemctl())
    units_ = [{"name": "a", "active": True, "enabled": ""}]
    what = {"action": "stop_units", "params": {"units": units_, "timeout": 9, "programs": ["nova-compute"]}}
    runner.run([{"op": "stop_begin", **what}])
    polls = [runner.run([{"op": "stop_poll", **what}]).results[0] for _attempt in range(5)]
    assert not any(poll["stopped"] for poll in polls)
    assert "processes are still running: 4711" in polls[-1]["state"]
    assert "processes are still running: 4711" in runner.run([{"op": "verify", **what}]).error
    running.clear()
    assert runner.run([{"op": "stop_poll", **what}]).results[0]["stopped"]
    assert runner.run([{"op": "verify", **what}]).error is None


# --- end of domains ---------------------------------------------------------------------------------------------


@pytest.fixture
def ending(monkeypatch):
    """Two domains with their QEMUs; what is ended leaves both lists, unless it is in ``stays``."""
    here = {row.uuid: row for row in (builders.domain(1, 1), builders.domain(1, 2))}
    world = types.SimpleNamespace(
        here=here, qemu={uuid: [row.pid] for uuid, row in here.items()}, ended=[], saves=[], stays=set()
    )
    monkeypatch.setattr(libvirt, "read_domains", lambda uri: list(here.values()) if uri == "u:///" else None)
    monkeypatch.setattr(steps.processes, "qemu_by_uuid", lambda: world.qemu)

    def end(uri, uuid, managed_save):
        assert uri == "u:///"
        world.ended.append(uuid)
        world.saves += [uuid] if managed_save else []
        here.pop(uuid, None)
        if uuid not in world.stays:
            world.qemu.pop(uuid, None)

    monkeypatch.setattr(libvirt, "end_domain", end)
    world.params = {"uri": "u:///", "domains": [dataclasses.asdict(row) for row in here.values()]}
    return world


def test_domains_are_ended_and_a_second_time_nothing_is_left_to_do(ending):
    action = steps.EndDomains()
    assert action.is_done(ending.params) == {"done": False}
    action.apply(ending.params)
    assert action.verify(ending.params) == {"remark": "2 domains ended"}
    action.apply(ending.params)
    assert len(ending.ended) == 2


def test_a_managed_save_image_is_removed_where_the_plan_says_so(ending):
    ending.params["domains"][1]["managed_save"] = True
    steps.EndDomains().apply(ending.params)
    assert ending.saves == [ending.params["domains"][1]["uuid"]]


def test_a_process_that_was_not_planned_for_ends_nothing(ending):
    ending.params["domains"][1]["pid"] = 5
    with pytest.raises(steps.HostStepError, check=problem_is("no-domain")) as caught:
        steps.EndDomains().apply(ending.params)
    assert caught.value.changed_meanwhile
    assert ending.ended == []


def test_a_qemu_that_libvirt_does_not_know_any_more_is_still_there(ending):
    action = steps.EndDomains()
    ending.stays = {ending.params["domains"][0]["uuid"]}
    action.apply(ending.params)
    with pytest.raises(steps.HostStepError, check=problem_is("domains-left")):
        action.verify(ending.params)


def test_the_end_of_a_domain_is_not_taken_back(ending):
    with pytest.raises(steps.HostStepError, check=problem_is("cannot-restore-domain")):
        steps.EndDomains().undo(ending.params)


def test_a_host_with_two_names_gets_both_back(world):
    """DHCP has changed the kernel's name, and the static one is another."""
    world.kernel = "dhcp"
    world.params["static_hostname"] = {"before": "old", "after": "new", "kernel_before": "dhcp"}
    world.params["libvirt"]["before"] = "dhcp"
    world.action.apply(world.params)
    assert (world.kernel, world.read_static()) == ("new", "new")
    assert world.action.is_done(world.params) == {"done": True}
    for _again in range(2):
        world.action.undo(world.params)
        assert (world.kernel, world.read_static()) == ("dhcp", "old")
    world.kernel = "somebody"
    with pytest.raises(steps.HostStepError, match="somebody"):
        world.action.apply(world.params)
