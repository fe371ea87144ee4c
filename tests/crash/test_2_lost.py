# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A connection lost in the middle: the database's, the database server itself, ssh. Then the same command again."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal

import pytest
from labkit import state, waiting
from labkit.paused import Paused

OLD = "compute1"


def assert_finished(lab, playbooks, names, before):
    playbooks.rename(*names).ok()
    state.assert_same(before, state.guests(lab), "guests")
    assert state.written(lab, names[0]) == []
    assert state.files(lab)["uname -n"] == names[1]


@pytest.mark.matrix
def test_database_connections_killed_in_the_api_database_step(lab, playbooks, names, tmp_path):
    before = state.guests(lab)
    run = Paused(playbooks, names, "apply api_database sql UPDATE host_mappings", tmp_path)
    for row in lab.sql("api", "SELECT id FROM information_schema.processlist WHERE user = 'sg_exact'"):
        with contextlib.suppress(Exception):
            lab.sql("api", f"KILL {row['id']}")
    result = run.go().failed()
    assert "same command again" in result.output, result.told()
    assert lab.sql("api", "SELECT 1 FROM host_mappings WHERE host = %s", names[1]) == []
    assert_finished(lab, playbooks, names, before)


@pytest.mark.matrix
def test_database_server_killed_in_the_cell_database_step(lab, playbooks, names, tmp_path):
    before = state.guests(lab)
    run = Paused(playbooks, names, "apply cell_database sql COMMIT", tmp_path)
    pid = int((pathlib.Path(lab.info["state"]) / "run" / "mariadbd.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    result = run.go().failed()
    assert "same command again" in result.output, result.told()
    lab.up()
    waiting.until("the API", lambda: _answers(lab), 120)
    assert_finished(lab, playbooks, names, before)


def _answers(lab):
    with contextlib.suppress(Exception):
        return [row["host"] for row in lab.compute("GET", "/os-services?binary=nova-compute")["services"]]
    return None


@pytest.mark.matrix
def test_ssh_lost_in_the_middle(lab, playbooks, names, tmp_path):
    before = state.guests(lab)
    options = (
        "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=5"
        " -o ServerAliveInterval=2 -o ServerAliveCountMax=2"
        f" -o ControlMaster=auto -o ControlPersist=10s -o ControlPath=/tmp/sgl{lab.instance}-cut-%C"
    )
    run = Paused(playbooks, names, "apply placement acted", tmp_path, {"ansible_ssh_common_args": options})
    lab.command("host", OLD, "cut")
    try:
        result = run.go()
    finally:
        lab.command("host", OLD, "join")
    result.failed()
    assert "does not answer" in result.output, result.told()
    waiting.until("ssh", lambda: lab.ssh(OLD, "true", check=False, timeout=20) == "", 60)
    assert_finished(lab, playbooks, names, before)


def test_two_runs_at_once_the_second_refuses(lab, playbooks, names, tmp_path):
    before = state.guests(lab)
    run = Paused(playbooks, names, "apply placement acted", tmp_path)
    second = playbooks.rename(*names).failed()
    assert "SG707" in second.output, second.told()
    back = playbooks.rename(*names, "rollback").failed()
    assert "SG707" in back.output, back.told()
    run.go().ok()
    state.assert_same(before, state.guests(lab), "guests")
    assert_finished(lab, playbooks, names, before)
