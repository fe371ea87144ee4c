# SPDX-License-Identifier: GPL-3.0-or-later
"""How commands of a host are run: with nothing to read, with our own variables and some more, and not for ever."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import commands

SAYS_BOTH = ["sh", "-c", "echo out; echo error >&2; exit 3"]


def test_output_and_errors_come_apart_or_together():
    done = commands.run(SAYS_BOTH, 30)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"error\n")
    done = commands.run(SAYS_BOTH, 30, merged=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\nerror\n", None)


def test_variables_are_set_besides_our_own(monkeypatch):
    monkeypatch.setenv("OURS", "kept")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    shows = ["sh", "-c", 'echo "$OURS $LC_ALL"']
    assert commands.run(shows, 30, variables={"LC_ALL": "C"}).stdout == b"kept C\n"
    assert commands.run(shows, 30).stdout == b"kept de_DE.UTF-8\n"


def test_there_is_nothing_to_read():
    assert commands.run(["cat"], 30).stdout == b""


def test_a_command_that_hangs_is_ended():
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run(["sleep", "600"], 0.1)


def test_words_are_not_for_a_shell(tmp_path):
    commands.run(["echo", "x", ">", str(tmp_path / "file")], 30)
    assert not (tmp_path / "file").exists()
