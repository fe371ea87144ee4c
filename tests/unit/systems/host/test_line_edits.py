# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guarded edits of lines: all or nothing of a file, whatever kills them, also where a file is a mount point."""

from __future__ import annotations

import errno
import os

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import line_edits
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems import killing

BEFORE = b"127.0.0.1 localhost\n10.0.0.1 old.example old # me\r\n\xff not utf-8\n10.0.0.1 old"
AFTER = b"127.0.0.1 localhost\n10.0.0.1 new # me\r\n\xff not utf-8\n10.0.0.1 new.example"


def changes(path):
    return [
        line_edits.LineEdit(str(path), 2, "10.0.0.1 old.example old # me", "10.0.0.1 new # me"),
        line_edits.LineEdit(str(path), 4, "10.0.0.1 old", "10.0.0.1 new.example"),
    ]


@pytest.fixture(params=["replaced", "in place"])
def kind(request, monkeypatch):
    """A plain file, or one that is a mount point: nothing takes its place by a rename."""
    if request.param == "in place":
        real = os.replace

        def replace(source, target):
            if target.endswith("hosts"):
                raise OSError(errno.EBUSY, "Device or resource busy", target)
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
    return request.param


def made(folder, content=BEFORE):
    folder.mkdir(exist_ok=True)
    path = folder / "hosts"
    path.write_bytes(content)
    path.chmod(0o640)
    return path


def test_edit_again_and_take_back(tmp_path, kind):
    path = made(tmp_path / "etc")
    state = str(tmp_path / "state")
    assert line_edits.apply(changes(path), state) == 2
    assert path.read_bytes() == AFTER
    assert line_edits.apply(changes(path), state) == 0
    assert line_edits.done(changes(path), state) == []
    assert path.stat().st_mode & 0o777 == 0o640
    back = [edit.reversed() for edit in changes(path)]
    assert line_edits.apply(back, state) == 2
    assert path.read_bytes() == BEFORE
    assert [entry.name for entry in path.parent.iterdir()] == ["hosts"]
    assert not os.path.exists(state) or os.listdir(state) == []


def test_what_was_changed_meanwhile_stops_all(tmp_path):
    first, second = made(tmp_path / "a"), made(tmp_path / "b", BEFORE.replace(b"old", b"odd"))
    with pytest.raises(line_edits.EditError, match=r"b/hosts", check=problem_is("line-changed")) as caught:
        line_edits.apply(changes(first) + changes(second), str(tmp_path))
    assert first.read_bytes() == BEFORE
    assert "odd" not in str(caught.value)


@pytest.mark.parametrize("number", [0, 5, 99])
def test_a_line_that_is_not_there(tmp_path, number):
    path = made(tmp_path / "etc")
    with pytest.raises(line_edits.EditError, match=f"{number}", check=problem_is("no-line")):
        line_edits.check([line_edits.LineEdit(str(path), number, "x", "y")], str(tmp_path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(line_edits.EditError, match="nowhere: No such file"):
        line_edits.apply([line_edits.LineEdit(str(tmp_path / "nowhere"), 1, "x", "y")], str(tmp_path))


def test_a_link_stays_a_link(tmp_path):
    path = made(tmp_path / "etc")
    link = tmp_path / "link"
    link.symlink_to(path)
    line_edits.apply(changes(link), str(tmp_path))
    assert link.is_symlink()
    assert path.read_bytes() == AFTER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_attributes_stay(tmp_path):
    path = made(tmp_path / "etc")
    os.chown(path, 1234, 2345)
    try:
        os.setxattr(path, "user.note", b"x")
        noted = True
    except OSError:
        noted = False
    line_edits.apply(changes(path), str(tmp_path))
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)
    assert not noted or os.getxattr(path, "user.note") == b"x"


@pytest.mark.parametrize("again", ["forward", "back"])
def test_killed_at_every_call(tmp_path, monkeypatch, kind, again):
    state = str(tmp_path / "state")
    for path in killing.each_kill(
        monkeypatch, lambda _fuse: made(tmp_path / "etc"), lambda path: line_edits.apply(changes(path), state)
    ):
        if kind == "replaced":
            assert path.read_bytes() in (BEFORE, AFTER)
        wanted = changes(path) if again == "forward" else [edit.reversed() for edit in changes(path)]
        line_edits.apply(wanted, state)
        assert path.read_bytes() == (AFTER if again == "forward" else BEFORE)
        assert line_edits.done(wanted, state) == []
        assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("kind", ["in place"], indirect=True)
def test_a_torn_write_in_place_is_finished(tmp_path, monkeypatch, kind):
    """A power cut in the middle of a write: half of the file is new, half is old."""
    path, state = made(tmp_path / "etc"), str(tmp_path / "state")
    real = line_edits._durable

    def torn(target, content, flags):
        if target.endswith("hosts"):
            with open(target, "r+b") as stream:
                stream.write(content[:40])
            raise killing.Killed
        real(target, content, flags)

    with monkeypatch.context() as patch, pytest.raises(killing.Killed):
        patch.setattr(line_edits, "_durable", torn)
        line_edits.apply(changes(path), state)
    assert path.read_bytes() not in (BEFORE, AFTER)
    line_edits.apply(changes(path), state)
    assert path.read_bytes() == AFTER
    assert os.listdir(state) == []
