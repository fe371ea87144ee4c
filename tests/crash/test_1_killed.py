# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kill -9 at every place of a rename, then the same command again: all new. Or a rollback: all old.

One rename is killed at each spark in turn (see inject/sitecustomize.py): run, killed at the first spark; the same
command, killed at the next one; and so on, until a run ends by itself. Guests are looked at after each kill.
"""

from __future__ import annotations

import json
import os
import time

import pytest
from labkit import state, waiting
from labkit.lab import ROOT

OLD = "compute1"
MATRIX = bool(os.environ.get("STACKGUARD_TEST_MATRIX"))
#: Without the matrix: after each step's work and end, and after each kind of write within it; not what
#: differs from these in nothing (before a request where after the last one is covered; a poll; the third of equals).
BOUNDARIES = (
    r"^(?!.*#([3-9]|\d\d)).* (acted|sql .*|http after .*"
    r"|host (apply|undo|stop_begin|journal_mark (done|undone)))( #2)?$"
)
if MATRIX:
    BOUNDARIES = ""
BOUNDARIES = os.environ.get("STACKGUARD_TEST_BOUNDARIES", BOUNDARIES)
#: Names are in two minds from the first of these to the last: nova-compute must be masked.
TORN = ("cell_database", "api_database", "placement", "neutron", "host_names")


@pytest.fixture(scope="module")
def sparks(tmp_path_factory):
    return tmp_path_factory.mktemp("sparks")


def everything(lab):
    return state.everything(lab, restarted=True)


def journal(lab):
    text = lab.ssh(OLD, "cat /var/lib/stackguard/rename.json 2>/dev/null || true")
    return json.loads(text) if text else None


def assert_held(lab, where):
    """While a name is new in one place and old in another, nova-compute cannot be started, by nobody."""
    found = journal(lab)
    if found is None:
        return
    assert [secret for secret in (lab.info["password"],) if secret in json.dumps(found)] == []
    begun = [name for name in TORN if found["steps"].get(name) in ("applying", "done", "undoing")]
    whole = found["steps"].get("start_compute") in ("applying", "done", "undoing")
    if begun and not whole:
        assert lab.ssh(OLD, "systemctl is-enabled nova-compute || true").strip() in ("masked", "masked-runtime"), where


def kill_at_each(playbooks, lab, before, file, old, new, action=None):
    """Run until a run ends by itself, each killed at a spark that none was killed at before; return the sparks.

    Without an action, every second run is the first command again, and the others say C(resume).
    """
    started = time.monotonic()
    for number in range(400):
        env = {"STACKGUARD_TEST_SPARKS": str(file), "STACKGUARD_TEST_ONLY": BOUNDARIES}
        asked = action or ("resume" if number % 2 and journal(lab) else None)
        asked = asked or ("resume" if number and os.environ.get("STACKGUARD_TEST_BOUNDARIES") else None)
        result = playbooks.rename(old, new, asked, kill="next", env=env)
        seen = file.read_text().splitlines() if file.exists() else []
        last = seen[-1] if seen else "(nothing)"
        state.assert_same(before["guests"], state.guests(lab), f"guests, after a kill at {last}")
        if result.rc != -9:
            result.ok()
            print(f"\n{number} kills in {time.monotonic() - started:.0f} s: {'; '.join(seen)}")
            assert len(seen) == number
            return seen
        assert_held(lab, last)
    raise AssertionError("it never ends")


def steps_of(seen):
    return {line.split()[1] for line in seen}


def assert_renamed(lab, before, old, new):
    assert state.written(lab, old) == []
    after = everything(lab)
    state.assert_same(before["guests"], after["guests"], "guests")
    assert {after["files"][key] for key in ("uname -n", "hostnamectl --static", "virsh hostname")} == {new}
    databases = state.renamed(before["databases"], old, new)
    state.assert_same(databases, json.loads(json.dumps(after["databases"])), "databases")
    waiting.until("service up", lambda: lab.service(new)["state"] == "up", 60)


@pytest.mark.matrix
def test_killed_at_every_boundary_the_same_command_finishes(lab, guests, playbooks, names, sparks):
    old, new = names
    before, identity = everything(lab), state.identity(lab, old)
    seen = kill_at_each(playbooks, lab, before, sparks / "forward", old, new)
    assert {"disable_service", "stop_compute", *TORN, "start_compute", "compute_up", "guests", "audit",
            "enable_service"} <= steps_of(seen)  # fmt: skip
    assert_renamed(lab, before, old, new)
    state.assert_same(identity, state.identity(lab, new), "records")


@pytest.mark.matrix("crash-back")
def test_a_rollback_killed_at_every_boundary_ends_with_everything_as_before(lab, guests, playbooks, names, sparks):
    old, new = names
    before = everything(lab)
    assert playbooks.rename(old, new, kill="apply audit acted").rc == -9
    seen = kill_at_each(playbooks, lab, before, sparks / "backward", old, new, "rollback")
    assert {"disable_service", "stop_compute", *TORN} <= steps_of(seen)
    state.assert_same(before, everything(lab), "not as before")
    assert lab.ssh(OLD, "ls /var/lib/stackguard/rename.json 2>/dev/null || true") == ""


#: Of each run of `make test`; the others are `make test-matrix`'s.
QUICK = ("apply cell_database sql COMMIT",)
PLACES = [
    "apply disable_service acted",
    "apply stop_compute host stop_begin",
    "apply cell_database sql COMMIT",
    "apply cell_database acted",
    "apply api_database sql UPDATE aggregate_hosts",
    "apply api_database acted",
    "apply placement acted",
    "apply neutron http after PUT ports #2",
    "apply neutron acted",
    "apply host_names host apply",
    "apply start_compute host apply",
    "apply compute_up acted",
    "apply audit acted",
    "apply enable_service acted",
]


@pytest.mark.parametrize(
    "place", [place if place in QUICK else pytest.param(place, marks=pytest.mark.matrix) for place in PLACES]
)
def test_killed_there_a_rollback_ends_with_everything_as_before(lab, guests, playbooks, names, place):
    host, other = names
    before = everything(lab)
    assert playbooks.rename(host, other, kill=place).rc == -9, f"never came to {place}"
    result = playbooks.rename(host, other, "rollback").ok()
    assert result.stats["state"] == "rolled-back"
    state.assert_same(before, everything(lab), "not as before")


def test_an_open_operation_refuses_another_and_can_be_resumed(lab, guests, playbooks, names):
    host, other = names
    before = everything(lab)
    assert playbooks.rename(host, other, kill="apply placement acted").rc == -9
    middle = everything(lab)
    status = playbooks.rename(host, other, "status").ok()
    assert status.changed == 0
    assert status.stats["state"] == "open"
    refused = playbooks.rename(host, "third-name.example").failed()
    assert "SG706" in refused.output, refused.told()
    state.assert_same(middle, everything(lab), "a refused run changed something")
    checked = playbooks.rename(host, other, flags=["--check"])
    assert checked.rc == 0, checked.told()
    state.assert_same(middle, everything(lab), "check mode changed something")
    result = playbooks.rename(host, other, "resume").ok()
    assert result.stats["state"] == "finished"
    assert_renamed(lab, before, host, other)


@pytest.fixture
def armed(lab):
    """The compute host, where the first change of each kind kills the process that is about to make it."""
    folder = lab.ssh(OLD, "python3 -m site --user-site").strip()
    hook = (ROOT / "tests" / "crash" / "inject" / "host_usercustomize.py").read_text()
    lab.ssh(OLD, f"mkdir -p {folder} && cat > {folder}/usercustomize.py && : > /run/stackguard-test-armed", stdin=hook)
    yield lambda: lab.ssh(OLD, "cat /run/stackguard-test-seen 2>/dev/null || true").splitlines()
    lab.ssh(OLD, f"rm -f {folder}/usercustomize.py /run/stackguard-test-armed /run/stackguard-test-seen")


@pytest.mark.matrix
def test_killed_on_the_host_before_each_change_there_the_same_command_finishes(lab, guests, playbooks, names, armed):
    host, other = names
    before = everything(lab)
    for number in range(60):
        result = playbooks.rename(host, other)
        seen = armed()
        state.assert_same(before["guests"], state.guests(lab), f"guests, after a kill before {seen[-1:]}")
        if result.rc == 0:
            break
        assert len(seen) == number + 1, result.told()
        assert_held(lab, seen[-1])
    print(f"\n{len(seen)} kills on the host: {'; '.join(seen)}")
    assert len(seen) >= 5
    assert_renamed(lab, before, host, other)
