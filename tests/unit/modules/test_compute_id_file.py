# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_id_file on the host: writes once, whole, and never over another uuid."""

from __future__ import annotations

import os
import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_id_file as action
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import compute_id
from ansible_collections.stackguard.nova.plugins.modules import compute_id_file
from ansible_collections.stackguard.nova.tests.unit import builders as make
from ansible_collections.stackguard.nova.tests.unit.modules.running import run
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems import killing

UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"
OTHER = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "nova"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 1234, 2345)
    return folder / "compute_id"


def write(path, check=False, **more):
    decision = {"path": str(path), "uuid": UUID}
    return run(compute_id_file.main, {"evidence_dir": "/x", "decision": decision, **more}, check=check)


def test_written_as_nova_writes_it_and_then_left_alone(path):
    answer = write(path)
    assert answer["changed"]
    assert (answer["uuid"], answer["diff"]["before"], answer["diff"]["after"]) == (UUID, "", f"{UUID}\n")
    assert path.read_bytes() == UUID.encode()
    status = path.stat()
    owner = path.parent.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (owner.st_uid, owner.st_gid, 0o644)
    assert [entry.name for entry in path.parent.iterdir()] == ["compute_id"]
    assert not write(path)["changed"]


def test_check_mode_writes_nothing(path):
    assert write(path, check=True)["changed"]
    assert not path.exists()


@pytest.mark.parametrize("same", [f"{UUID}\n", UUID.upper(), f"{{{UUID}}}"])
def test_the_same_uuid_in_another_form_is_left_as_it_is(path, same):
    path.write_text(same)
    assert not write(path)["changed"]
    assert path.read_text() == same


@pytest.mark.parametrize(("content", "words"), [(OTHER, [OTHER, UUID]), ("", ["not a UUID"]), ("x", ["not a UUID"])])
def test_anything_else_is_never_overwritten(path, content, words):
    path.write_text(content)
    for check in (True, False):
        answer = write(path, check=check)
        assert answer["failed"]
        assert all(word in answer["msg"] for word in words)
    assert path.read_text() == content


def test_mode_that_is_asked_for(path):
    assert write(path, mode="0600")["changed"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not write(path, mode="0600")["changed"]
    path.chmod(0o644)
    assert write(path, mode="0600", check=True)["changed"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_without_its_action_plugin(path):
    answer = run(compute_id_file.main, {"evidence_dir": "/x"})
    assert answer["failed"]
    assert "action plugin" in answer["msg"]


def test_a_file_that_appears_meanwhile_is_left_alone(path):
    path.write_text(OTHER)
    with pytest.raises(compute_id.IdentityFileError, check=problem_is("appeared")):
        compute_id.create(str(path), UUID)
    assert path.read_text() == OTHER
    assert [entry.name for entry in path.parent.iterdir()] == ["compute_id"]


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(compute_id.IdentityFileError, match="No such file"):
        compute_id.create(str(tmp_path / "nowhere" / "compute_id"), UUID)


def test_killed_at_every_call_it_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    def prepare(_fuse):
        (tmp_path / "compute_id").unlink(missing_ok=True)
        return str(tmp_path / "compute_id")

    for path in killing.each_kill(monkeypatch, prepare, lambda path: compute_id.create(path, UUID)):
        if compute_id.missing(path, UUID):
            compute_id.create(path, UUID)
        with open(path) as stream:
            assert stream.read() == UUID


# --- the action plugin ------------------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """The plugin, with evidence of a cloud in which compute1 lost its file, and a host that answers ``host``."""
    cloud = make.healthy()
    monkeypatch.setattr(action, "_now", lambda: make.AT)
    evidence.save_part(str(tmp_path), evidence.DATABASES, cloud.bundle.databases)
    evidence.save_host(str(tmp_path), "compute2", cloud.bundle.hosts["compute2"])
    evidence.save_unreachable(str(tmp_path), "compute3", "gone")
    places = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, False)]
    args = {"evidence_dir": str(tmp_path), "libvirt_uri": "test:///x", "decision": {"uuid": OTHER}, "mode": "0600"}
    task = types.SimpleNamespace(args=args, async_val=0, check_mode=False)
    connection = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/tmp"))
    loader = types.SimpleNamespace(path_dwim=lambda path: path)
    made = action.ActionModule(task, connection, None, loader, None, None)
    made.host = facts.to_plain(cloud.put("compute_id_files", places).bundle.hosts["compute1"])
    made.calls = []

    def execute(module_name, module_args, task_vars):
        made.calls.append((module_name.rsplit(".", 1)[1], module_args))
        return {"host": made.host} if module_name.endswith("info") else {"changed": True}

    made._execute_module = execute
    made.act = lambda: made.run(task_vars={"inventory_hostname": "compute1"})
    return made


def test_the_evidence_decides_and_not_the_task(plugin):
    result = plugin.act()
    assert result["changed"]
    (warning,) = result["warnings"]
    assert warning == (
        "the run did not read the compute_id files of the following hosts, and each of these files might contain "
        "the same uuid as the compute_id file of the play's host: compute3"
    )
    (info, asked), (module, given) = plugin.calls
    assert (info, asked) == ("compute_host_info", {"inventory_name": "compute1", "libvirt_uri": "test:///x"})
    assert module == "compute_id_file"
    assert given["decision"]["uuid"] == make.node(1)
    assert given["mode"] == "0600"


def test_evidence_of_yesterday_writes_nothing(plugin, monkeypatch):
    monkeypatch.undo()
    result = plugin.act()
    assert result["failed"]
    assert "Run cell_info again" in result["msg"]
    assert len(plugin.calls) == 1


def test_a_doubt_writes_nothing(plugin):
    plugin.host["libvirt"]["hostname"] = "elsewhere"
    result = plugin.act()
    assert result["failed"]
    assert result["msg"].startswith("refused, nothing was written: compute node ")
    assert len(plugin.calls) == 1


def test_without_evidence(plugin, tmp_path):
    plugin._task.args["evidence_dir"] = str(tmp_path / "nowhere")
    assert "no evidence found" in plugin.act()["msg"]
    del plugin._task.args["evidence_dir"]
    assert "evidence_dir is required" in plugin.act()["msg"]


def test_a_host_that_cannot_be_read(plugin, monkeypatch):
    monkeypatch.setattr(plugin, "_execute_module", lambda **_kwargs: {"failed": True, "msg": "no python"})
    assert plugin.act() == {"failed": True, "msg": "no python"}
