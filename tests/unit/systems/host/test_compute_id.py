# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The compute_id file put away on the host: guarded, repeatable, undoable."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import steps
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"


@pytest.fixture
def files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compute_id").write_text(UUID)
    paths = [str(tmp_path / name / "compute_id") for name in ("a", "b")]
    return {"files": [{"path": path, "before": UUID, "kept_as": f"{path}.stackguard-op"} for path in paths]}


@pytest.mark.parametrize("first", [0, 1])
def test_put_away_twice_and_back_twice(tmp_path, files, first):
    action = steps.IdentityFile()
    assert action.is_done(files) == {"done": False}
    action.apply({"files": files["files"][:first]})  # as far as a killed run came
    for _again in range(2):
        action.apply(files)
        action.verify(files)
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["compute_id.stackguard-op"] * 2
    for _again in range(2):
        action.undo(files)
    assert [path.read_text() for path in tmp_path.glob("*/compute_id")] == [UUID] * 2


@pytest.mark.parametrize("killed", ["nowhere", "moved", "written"])
def test_a_file_that_a_container_copies_gets_a_new_uuid(tmp_path, files, killed):
    action, path = steps.IdentityFile(), tmp_path / "a" / "compute_id"
    path.chmod(0o660)
    files["files"][0]["renewed"] = OTHER
    kept = tmp_path / "a" / "compute_id.stackguard-op"
    if killed != "nowhere":
        path.rename(kept)
    if killed == "written":
        path.write_text(OTHER)
    assert action.is_done(files) == {"done": False}
    written = set()
    for _again in range(2):
        action.apply(files)
        action.verify(files)
        written.add(path.read_text())
    assert written == {OTHER}
    assert kept.read_text() == UUID
    if killed != "written":
        assert path.stat().st_mode & 0o777 == 0o660
    assert not (tmp_path / "b" / "compute_id").exists()
    for _again in range(2):
        action.undo(files)
    assert [path.read_text() for path in tmp_path.glob("*/compute_id")] == [UUID] * 2


def test_a_file_that_a_container_copies_is_left_alone_where_it_holds_another_uuid(tmp_path, files):
    """Somebody wrote it meanwhile: the deployment tool, from a host name."""
    files["files"][0]["renewed"] = "11111111-1111-4111-8111-111111111111"
    (tmp_path / "a" / "compute_id").write_text(OTHER)
    with pytest.raises(steps.HostStepError, match=r"00000000", check=problem_is("other-value")):
        steps.IdentityFile().apply(files)
    assert (tmp_path / "a" / "compute_id").read_text() == OTHER
    (tmp_path / "a" / "compute_id").unlink()
    with pytest.raises(steps.HostStepError, check=problem_is("other-value")):
        steps.IdentityFile().apply(files)


def test_another_identity_is_left_alone(tmp_path, files):
    (tmp_path / "a" / "compute_id").write_text("00000000-0000-4000-8000-000000000000")
    with pytest.raises(steps.HostStepError, match=r"00000000", check=problem_is("other-value")):
        steps.IdentityFile().apply(files)
    assert (tmp_path / "a" / "compute_id").exists()


def test_a_file_that_vanished(tmp_path, files):
    (tmp_path / "b" / "compute_id").unlink()
    with pytest.raises(steps.HostStepError, check=problem_is("other-value")):
        steps.IdentityFile().apply(files)


# --- a file that holds another uuid, or that is lost: a host that was renamed by hand ---------------------------------

OTHER = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("before", [OTHER, None])
def test_the_uuid_is_written_and_taken_back(tmp_path, before):
    path, action = tmp_path / "compute_id", steps.WriteIdentity()
    if before:
        path.write_text(before)
    params = {"path": str(path), "before": before, "after": UUID}
    assert action.is_done(params) == {"done": False}
    for _again in range(2):
        action.apply(params)
        assert UUID in action.verify(params)["remark"]
        assert (path.read_text(), action.is_done(params)) == (UUID, {"done": True})
    for _again in range(2):
        action.undo(params)
        assert (path.read_text() if path.exists() else None) == before


def test_the_uuid_after_a_kill_between_both_files(tmp_path):
    path = tmp_path / "compute_id"
    params = {"path": str(path), "before": OTHER, "after": UUID}
    steps.WriteIdentity().apply(params)
    assert path.read_text() == UUID
    path.unlink()
    steps.WriteIdentity().undo(params)
    assert path.read_text() == OTHER


@pytest.mark.parametrize("text", ["11111111-1111-4111-8111-111111111111", "no uuid"])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, text):
    path = tmp_path / "compute_id"
    path.write_text(text)
    params = {"path": str(path), "before": OTHER, "after": UUID}
    for act in (steps.WriteIdentity().apply, steps.WriteIdentity().undo):
        with pytest.raises(steps.HostStepError, match="not"):
            act(params)
    assert path.read_text() == text
    with pytest.raises(steps.HostStepError, check=problem_is("uuid-not-written")):
        steps.WriteIdentity().verify(params)
