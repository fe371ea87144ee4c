# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules of a compute host as processes of their own: proofs, kill -9 in the middle, check mode, what is wrong.

Commands of the host are made up; what is proven is the module's own flow, not Open vSwitch's or systemd's.
"""

from __future__ import annotations

import signal

import pytest

from ansible_collections.stackguard.nova.tests.unit.modules.processes import Host

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"
UNITS = ("nova-compute.service", "neutron-openvswitch-agent.service")
KILLED = (None, -signal.SIGKILL)


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    (tmp_path / "nova.conf").write_text("[DEFAULT]\npassword = hush\nhost = old\n")
    for name in UNITS:
        (tmp_path / name).write_text("active")
    return made


@pytest.fixture
def names(host):
    """Params of host_names: a line and an external_id."""
    own = "libvirts-name"
    return {
        "static_hostname": None,
        "line_edits": [
            {"path": str(host.root / "nova.conf"), "number": 3, "before": "host = old", "after": "host = new"}
        ],
        "ovs_external_ids": {"hostname": {"before": "old", "after": "new"}},
        "libvirt": {"uri": "test:///default", "before": own, "after": own},
    }


def bears(host, name):
    assert (host.root / "ovs").read_text() == name
    assert (host.root / "nova.conf").read_text() == f"[DEFAULT]\npassword = hush\nhost = {name}\n"


def step(op, action, params):
    return {"op": op, "action": action, "params": params}


# --- names ------------------------------------------------------------------------------------------------------


def test_names_are_given_proven_and_taken_back(host, names):
    asked = [step(op, "host_names", names) for op in ("is_done", "apply", "verify", "is_done")]
    answer, status = host.steps(*asked)
    assert (status, answer["changed"]) == (0, True), answer
    assert [result.get("done") for result in answer["results"]] == [False, None, None, True]
    bears(host, "new")
    answer, status = host.steps(step("undo", "host_names", names))
    assert status == 0, answer
    bears(host, "old")


@pytest.mark.parametrize("spoiled", ["ovs", "nova.conf", "libvirt"])
def test_each_proof_is_needed(host, names, spoiled):
    host.steps(step("apply", "host_names", names))
    if spoiled == "libvirt":
        names["libvirt"]["after"] = "another"
    else:
        (host.root / spoiled).write_text((host.root / spoiled).read_text().replace("new", "another"))
    answer, status = host.steps(step("is_done", "host_names", names))
    # A line that is neither as before nor as after is nobody's guess.
    expected = (1, []) if spoiled == "nova.conf" else (0, [{"ok": True, "done": False}])
    assert (status, answer["results"]) == expected
    answer, status = host.steps(step("verify", "host_names", names))
    assert status == 1
    assert answer["msg"].startswith("request 1 (verify host_names): ")
    assert {"ovs": "external_ids", "nova.conf": "nova.conf", "libvirt": "libvirt reports the name"}[spoiled] in (
        answer["msg"]
    )
    assert "hush" not in str(answer)


@pytest.mark.parametrize("spoiled", ["ovs", "nova.conf"])
def test_what_changed_meanwhile_is_left_as_it_is_wholly(host, names, spoiled):
    (host.root / spoiled).write_text((host.root / spoiled).read_text().replace("old", "another"))
    before = [(host.root / name).read_text() for name in ("ovs", "nova.conf")]
    answer, status = host.steps(step("apply", "host_names", names), {"op": "journal_list"})
    assert (status, answer["changed_meanwhile"], answer["results"]) == (1, True, []), answer
    assert "nothing was changed on this host" in answer["msg"]
    assert [(host.root / name).read_text() for name in ("ovs", "nova.conf")] == before


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize(("again", "name"), [("apply", "new"), ("undo", "old")])
def test_killed_in_the_middle_of_the_names_then_done_again_or_taken_back(host, names, at, again, name):
    (host.root / "kill").write_text(at)
    assert host.steps(step("apply", "host_names", names)) == KILLED
    answer, status = host.steps(step(again, "host_names", names))
    assert status == 0, answer
    bears(host, name)


# --- units ------------------------------------------------------------------------------------------------------


def unit_params():
    units = [{"name": name, "active": True, "enabled": "enabled"} for name in UNITS]
    commands = dict.fromkeys(("stop_command", "start_command", "mask_command", "unmask_command"))
    return {"units": units, "timeout": 5, **commands}


def states(host):
    return [
        ((host.root / name).read_text().strip(), (host.root / "system" / name).is_symlink())
        for name in UNITS
    ]  # fmt: skip


def left_of_locks(host):
    return [*(host.root / "system").iterdir(), *host.state.glob(".blocked-*")]


def test_both_units_are_stopped_locked_and_started(host):
    asked = [step(op, "stop_units", unit_params()) for op in ("apply", "verify", "is_done")]
    answer, status = host.steps(*asked)
    assert (status, answer["results"][2]["done"]) == (0, True), answer
    assert states(host) == [("inactive", True)] * 2
    answer, status = host.steps(*[step(op, "start_units", unit_params()) for op in ("apply", "verify", "is_done")])
    assert (status, answer["results"][2]["done"]) == (0, True), answer
    assert states(host) == [("active", False)] * 2
    assert left_of_locks(host) == []


@pytest.mark.parametrize(
    "call", ["daemon-reload", *(f"{word} -- {name}" for word in ("stop --no-block", "mask") for name in UNITS)]
)
@pytest.mark.parametrize(("again", "state"), [("apply", ("inactive", True)), ("undo", ("active", False))])
def test_killed_while_units_are_stopped_then_done_again_or_taken_back(host, call, again, state):
    (host.root / "kill").write_text(call)
    assert host.steps(step("apply", "stop_units", unit_params())) == KILLED
    answer, status = host.steps(step(again, "stop_units", unit_params()))
    assert status == 0, answer
    assert states(host) == [state] * 2
    assert bool(left_of_locks(host)) == (again == "apply")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("call", ["unmask --", "start --no-block --"])
@pytest.mark.parametrize(("again", "state"), [("apply", ("active", False)), ("undo", ("inactive", True))])
def test_killed_while_units_are_started_then_done_again_or_taken_back(host, unit, call, again, state):
    host.steps(step("apply", "stop_units", unit_params()))
    (host.root / "kill").write_text(f"{call} {unit}")
    assert host.steps(step("apply", "start_units", unit_params())) == KILLED
    answer, status = host.steps(step(again, "start_units", unit_params()))
    assert status == 0, answer
    assert states(host) == [state] * 2


# --- check mode, and what is wrong ------------------------------------------------------------------------------


def test_check_mode_skips_what_changes_and_answers_what_does_not(host, names):
    asked = [step("apply", "stop_units", unit_params()), step("apply", "host_names", names)]
    asked += [step("is_done", "host_names", names), {"op": "journal_open", "journal": {"kind": "rename"}}]
    answer, status = host.steps(*asked, check=True)
    assert (status, answer["changed"]) == (0, False), answer
    assert [result.get("skipped") for result in answer["results"]] == [True, True, None, True]
    assert "diff" not in answer
    bears(host, "old")
    assert states(host) == [("active", False)] * 2
    assert not host.state.exists()


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({}, "malformed request: KeyError: 'op'"),
        ({"op": "dance"}, "request 1 (dance): unknown op"),
        ({"op": "apply", "action": "dance", "params": {}}, "request 1 (apply dance): unknown action dance"),
        ({"op": "apply", "action": "host_names"}, "malformed request: KeyError: 'params'"),
        ({"op": "apply", "action": "stop_units", "params": {"units": [], "timeout": 1}}, "neither a unit nor"),
    ],
)
def test_a_request_that_cannot_be_taken(host, request_, says):
    answer, status = host.steps(request_)
    assert (status, answer["failed"], answer["results"]) == (1, True, [])
    assert says in answer["msg"]


def test_options_that_cannot_be_taken(host):
    assert "requests" in host.run("compute_host_step")[0]["msg"]
    assert "state_dirr" in host.run("compute_host_step", requests=[], state_dirr="/x")[0]["msg"]
    assert "evidence_dir" in host.run("compute_id_file")[0]["msg"]


# --- compute_id_file, compute_host_info -------------------------------------------------------------------------


def test_compute_id_file_shows_writes_and_leaves_alone(host):
    path = host.root / "compute_id"
    given = {"evidence_dir": "/x", "decision": {"path": str(path), "uuid": UUID}}
    answer, _status = host.run("compute_id_file", check=True, **given)
    assert (answer["changed"], answer["diff"]["before"], answer["diff"]["after"]) == (True, "", f"{UUID}\n")
    assert not path.exists()
    assert host.run("compute_id_file", **given)[0]["changed"]
    assert path.read_text() == UUID
    answer, _status = host.run("compute_id_file", **given)
    assert (answer["changed"], answer["diff"]["before"]) == (False, f"{UUID}\n")
    path.write_text(UUID.replace("3", "4"))
    answer, status = host.run("compute_id_file", **given)
    assert status == 1
    assert str(path) in answer["msg"]


def test_compute_host_info_reads_what_it_is_told_and_says_what_it_could_not(host):
    identity = host.root / "nova"
    identity.mkdir()
    (identity / "compute_id").write_text(UUID)
    (host.root / "nova.conf").write_text(f"[DEFAULT]\nhost = old\nstate_path = {identity}\n")
    given = {"inventory_name": "h1", "nova_conf_files": [str(host.root / "nova.conf")], "state_dir": str(host.state)}
    for uri, check in (("test:///default", True), ("test:///nowhere.xml", False)):
        answer, status = host.run("compute_host_info", check, libvirt_uri=uri, **given)
        assert (status, answer["changed"]) == (0, False), answer
        read, unread = answer["host"], {entry["part"] for entry in answer["unread"]}
        assert (read["inventory_name"], read["nova_conf"]["host"]) == ("h1", "old")
        assert UUID in [entry["uuid"] for entry in read["compute_id_files"]]
        assert [unit["name"] for unit in read["units"]] == list(UNITS)
        assert read["ovs_external_ids"] == {"hostname": "old", "system-id": "u"}
        assert ("libvirt" in unread) == (read["libvirt"] is None) == (uri != "test:///default")
