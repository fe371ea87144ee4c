# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a log stands, and what came after: files that are rotated, and the journal."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import logs
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "nova-compute.log"
    path.write_text("old: refusing to start\n")
    return path


def append(path, text):
    with path.open("a") as stream:
        stream.write(text)


def test_only_what_came_after_the_mark_is_found(log):
    place = logs.mark(str(log), "nova-compute.service")
    assert logs.find(place, ["refusing"]) == {"refusing": None}
    append(log, "new: Verified node x\nnew: refusing 1\nnew: refusing 2\n")
    found = logs.find(json.loads(json.dumps(place)), ["refusing", "Verified node", "absent"])
    assert found == {"refusing": "new: refusing 1", "Verified node": "new: Verified node x", "absent": None}


def test_a_log_that_was_moved_away_is_read_on(log):
    place = logs.mark(str(log), None)
    append(log, "before the rotation\n")
    log.rename(f"{log}.1")
    log.write_text("after the rotation\n")
    found = logs.find(place, ["before", "after", "old"])
    assert found == {"before": "before the rotation", "after": "after the rotation", "old": None}


def test_a_log_that_was_emptied_is_read_from_its_start(log):
    place = logs.mark(str(log), None)
    log.write_text("new\n")
    assert logs.find(place, ["new"]) == {"new": "new"}


def test_a_log_that_comes_later(tmp_path):
    path = tmp_path / "later.log"
    place = logs.mark(str(path), None)
    assert logs.find(place, ["x"]) == {"x": None}
    path.write_text("x")
    assert logs.find(place, ["x"]) == {"x": "x"}


def test_a_long_line_is_cut_around_what_was_looked_for(log):
    place = logs.mark(str(log), None)
    append(log, "a" * 1000 + " needle " + "b" * 1000 + "\n" + "short needle2 " + "c" * 1000 + "\n")
    found = logs.find(place, ["needle ", "needle2"])
    assert all(len(line) <= logs.WIDTH and needle in line for needle, line in found.items())
    assert found["needle2"].startswith("short needle2 c")


def test_what_is_not_utf8_does_no_harm(log):
    place = logs.mark(str(log), None)
    with log.open("ab") as stream:
        stream.write(b"\xff\xfe needle\n")
    assert logs.find(place, ["needle"])["needle"].endswith("needle")


def test_a_log_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(logs.LogError, match="Not a directory"):
        logs.mark(str(tmp_path / "file" / "log"), None)
    with pytest.raises(logs.LogError, match="Is a directory"):
        logs.find({"file": str(tmp_path), "inode": None, "offset": 0}, ["x"])


def test_nothing_to_mark():
    assert logs.mark(None, None) is None


@pytest.fixture
def journal(monkeypatch):
    entries, calls = [], []

    def run(command, **_options):
        calls.append(command)
        text = "\n".join(json.dumps(entry) for entry in entries)
        return subprocess.CompletedProcess(command, 0, text.encode(), b"")

    monkeypatch.setattr(logs.subprocess, "run", run)
    return entries, calls


def test_the_journal(journal):
    entries, calls = journal
    entries.append({"__CURSOR": "s=1;i=2", "MESSAGE": "last"})
    place = logs.mark(None, "nova-compute.service")
    assert place == {"unit": "nova-compute.service", "cursor": "s=1;i=2"}
    assert "--unit=nova-compute.service" not in calls[-1]  # a unit that never logged has no cursor of its own
    entries[:] = [{"MESSAGE": "one"}, {"MESSAGE": list(b"needle \xff")}, {"MESSAGE": None}, {}]
    assert logs.find(place, ["needle"]) == {"needle": "needle �"}
    assert calls[-1][-2:] == ["--unit=nova-compute.service", "--after-cursor=s=1;i=2"]


def test_an_empty_journal(journal):
    place = logs.mark(None, "x.service")
    assert place == {"unit": "x.service", "cursor": None}
    assert logs.find(place, ["needle"]) == {"needle": None}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (FileNotFoundError(), "journalctl-not-installed"),
        (subprocess.TimeoutExpired("journalctl", 60), "journalctl-no-answer"),
        (subprocess.CompletedProcess([], 1, b"", b"Failed to seek\n"), "journalctl-failed"),
    ],
)
def test_a_journal_that_fails_is_told(monkeypatch, answer, message):
    def run(*_args, **_kwargs):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(logs.subprocess, "run", run)
    with pytest.raises(logs.LogError, check=problem_is(message)):
        logs.mark(None, "x.service")
