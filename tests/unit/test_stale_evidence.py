# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A killed run leaves its evidence directory: the run that resumes removes it, and nothing else."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence


@pytest.fixture
def left(tmp_path):
    folder = tmp_path / "stackguard-abcd"
    (folder / "hosts").mkdir(parents=True)
    (folder / "hosts" / "compute1.json").write_text("{}")
    folder.chmod(0o700)
    return folder


def journal(path, controller=None):
    return {"run": {"evidence_dir": str(path), "controller": controller or socket.gethostname()}}


def test_the_directory_of_the_killed_run_is_gone(left, tmp_path):
    assert evidence.remove_stale(journal(left), str(tmp_path / "stackguard-mine")) == str(left)
    assert not left.exists()
    assert evidence.remove_stale(journal(left), None) is None


def test_that_of_this_run_stays(left):
    assert evidence.remove_stale(journal(left), f"{left}/.") is None
    assert left.exists()


@pytest.mark.parametrize(
    "what", ["another controller", "another name", "another mode", "a link", "a file", "relative", "none"]
)
def test_what_is_not_certainly_ours_stays(left, tmp_path, what, monkeypatch):
    known = journal(left)
    kept = left
    if what == "another controller":
        known = journal(left, "elsewhere")
    if what == "another name":
        kept = left.rename(tmp_path / "evidence")
        known = journal(kept)
    if what == "another mode":
        left.chmod(0o755)
    if what == "a link":
        link = tmp_path / "stackguard-link"
        link.symlink_to(left)
        known = journal(link)
    if what == "a file":
        kept = tmp_path / "stackguard-file"
        kept.write_text("")
        kept.chmod(0o700)
        known = journal(kept)
    if what == "relative":
        monkeypatch.chdir(tmp_path)
        known = journal(left.name)
    if what == "none":
        known = {}
    assert evidence.remove_stale(known, None) is None
    assert kept.exists()
