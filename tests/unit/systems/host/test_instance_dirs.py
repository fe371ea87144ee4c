# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Directories of instances: what is left is found, and only what nobody can need is moved aside. Nothing is deleted."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import instance_dirs, mounts, reading
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

ONE, TWO = guest(1, 1), guest(1, 2)
OPERATION, URI = "0123456789ab", "test:///default"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """instances_path on a local file system, of a host that runs nothing."""
    monkeypatch.setattr(mounts, "kind_of", lambda _path, _proc="/proc": "ext4")
    monkeypatch.setattr(instance_dirs, "EXPORTS", str(tmp_path / "etab"))
    monkeypatch.setattr(instance_dirs.libvirt, "read_domains", lambda _uri: [])
    monkeypatch.setattr(instance_dirs.processes, "qemu_by_uuid", lambda _proc="/proc": {})
    return tmp_path


def make(place, name, *files):
    (place / name).mkdir()
    for file in files:
        (place / name / file).parent.mkdir(parents=True, exist_ok=True)
        (place / name / file).write_text("x")


def left(place, domains=()):
    return {item.name: item for item in instance_dirs.read(str(place), set(domains)).left}


def test_only_directories_without_a_domain_are_left(place):
    make(place, ONE, "console.log")
    make(place, TWO, "console.log")
    make(place, f"{ONE}_resize")
    make(place, "_base", "0123abc")
    make(place, f"{TWO}.stackguard-{OPERATION}")
    (place / guest(1, 3)).write_text("a file")
    (place / guest(1, 4)).symlink_to(place / ONE)
    assert set(left(place, [ONE])) == {TWO, f"{ONE}_resize"}


@pytest.mark.parametrize(
    ("shared", "local"),
    [("", True), ("{}/instances2", True), ("{}", False), ("{}/instances/x", False), ("/", False)],
    ids=["nothing", "beside", "above", "below", "everything"],
)
def test_what_this_host_lets_others_mount_is_not_its_own(place, shared, local):
    """A small cloud's instances_path can be on one of its compute hosts: what is in it are the others' servers."""
    path = place / "instances"
    path.mkdir()
    make(path, ONE)
    (place / "etab").write_text(f"{shared.format(place)}\t*(rw,sync)\n" if shared else "")
    found = instance_dirs.read(str(path), set())
    assert found.local is local
    directory = facts.to_plain(found.left[0])
    if local:
        instance_dirs.move_aside(str(path), directory, OPERATION, URI)
    else:
        with pytest.raises(instance_dirs.MoveAsideError, check=problem_is("not-local")):
            instance_dirs.move_aside(str(path), directory, OPERATION, URI)
    assert (path / ONE).exists() is not local


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        (["console.log", "console.log.3", "libvirt.xml", "unrescue.xml"], []),
        (["disk"], ["disk"]),
        (["disk.info"], ["disk.info"]),
        (["disk.config", "console.log"], ["disk.config"]),
        ([f"{ONE}_VARS.fd"], [f"{ONE}_VARS.fd"]),
        (["swtpm/state/tpm2-00.permall"], ["swtpm/state/tpm2-00.permall"]),
        (["snapshots/console.log"], ["snapshots/console.log"]),
    ],
)
def test_what_something_could_start_from_is_named(place, files, kept):
    make(place, ONE, *files)
    assert left(place)[ONE].keeps == kept


def test_a_link_is_never_harmless(place):
    make(place, ONE)
    (place / ONE / "console.log").symlink_to("/dev/vg/disk")
    assert left(place)[ONE].keeps == ["console.log"]


@pytest.mark.parametrize(("kind", "local"), [("ext4", True), ("xfs", True), ("nfs4", False), ("fuse", False)])
def test_only_a_known_local_file_system_is_local(place, monkeypatch, kind, local):
    monkeypatch.setattr(mounts, "kind_of", lambda _path, _proc="/proc": kind)
    assert instance_dirs.read(str(place), set()).local is local


def test_an_unknown_file_system_is_unread(place, monkeypatch):
    monkeypatch.setattr(mounts, "kind_of", lambda _path, _proc="/proc": "")
    with pytest.raises(reading.ReadError):
        instance_dirs.read(str(place), set())


def test_a_path_that_nova_has_not_made_yet_holds_nothing(place):
    assert instance_dirs.read(str(place / "instances"), set()).left == []


def aside(place, name=ONE):
    plain = facts.to_plain(left(place)[name])
    return lambda: instance_dirs.move_aside(str(place), plain, OPERATION, URI)


def test_it_is_renamed_beside_itself_and_a_second_time_is_none(place):
    make(place, ONE, "console.log")
    move = aside(place)
    move()
    move()
    assert os.listdir(place) == [f"{ONE}.stackguard-{OPERATION}"]
    assert os.listdir(place / f"{ONE}.stackguard-{OPERATION}") == ["console.log"]


def test_what_has_changed_since_it_was_judged_stays(place):
    make(place, ONE)
    move = aside(place)
    (place / ONE / "disk").write_text("arrived meanwhile")
    with pytest.raises(instance_dirs.MoveAsideError, check=problem_is("changed")):
        move()
    assert os.listdir(place) == [ONE]


def test_another_directory_of_the_name_stays(place):
    make(place, ONE)
    move = aside(place)
    (place / ONE).rename(place / "away")
    make(place, ONE)
    with pytest.raises(instance_dirs.MoveAsideError, check=problem_is("changed")):
        move()


def test_one_whose_guest_came_meanwhile_stays(place, monkeypatch):
    make(place, ONE)
    move = aside(place)
    monkeypatch.setattr(instance_dirs.processes, "qemu_by_uuid", lambda _proc="/proc": {ONE: [7]})
    with pytest.raises(instance_dirs.MoveAsideError):
        move()
    assert os.listdir(place) == [ONE]


def test_nothing_is_moved_on_a_shared_file_system(place, monkeypatch):
    make(place, ONE)
    move = aside(place)
    monkeypatch.setattr(mounts, "kind_of", lambda _path, _proc="/proc": "ceph")
    with pytest.raises(instance_dirs.MoveAsideError, check=problem_is("not-local")):
        move()


def test_what_is_in_the_way_is_not_replaced(place):
    make(place, ONE)
    make(place, f"{ONE}.stackguard-{OPERATION}")
    with pytest.raises(instance_dirs.MoveAsideError, check=problem_is("in-the-way")):
        aside(place)()


def test_a_container_whose_path_is_nowhere_on_the_host_is_unread(monkeypatch):
    monkeypatch.setattr(mounts, "on_host", lambda *_args: None)
    monkeypatch.setattr(instance_dirs.compute_id, "KOLLA_VOLUMES", ())
    for pid, kolla in ((7, False), (7, True), (None, True)):
        with pytest.raises(reading.ReadError):
            instance_dirs.place_of("/var/lib/nova/instances", "/var/lib/nova", pid, kolla)


def test_a_stopped_container_of_kolla_has_it_in_its_volume(tmp_path, monkeypatch):
    (tmp_path / "instances").mkdir()
    monkeypatch.setattr(instance_dirs.compute_id, "KOLLA_VOLUMES", (str(tmp_path / "none"), str(tmp_path)))
    found = instance_dirs.place_of("/var/lib/nova/instances", "/var/lib/nova", None, True)
    assert found == str(tmp_path / "instances")
    with pytest.raises(reading.ReadError):
        instance_dirs.place_of("/data/instances", "/var/lib/nova", None, True)


def test_the_kind_of_a_file_system_is_the_kernels(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_text(
        "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n2 1 0:40 / /var/lib/nova rw - nfs4 server:/nova rw\n"
    )
    assert mounts.kind_of("/var/lib/nova/instances", str(tmp_path)) == "nfs4"
    assert mounts.kind_of("/etc", str(tmp_path)) == "ext4"


# --- a directory that other hosts may have --------------------------------------------------------------------


@pytest.fixture
def share(place, monkeypatch):
    monkeypatch.setattr(mounts, "kind_of", lambda _path, _proc="/proc": "nfs4")
    return place


def test_who_has_signed_and_each_disk_with_its_format_is_read_of_a_share(share):
    make(share, ONE, "disk", "disk.swap", "disk.eph0", "disk.config", "disk.info.tmp", "console.log")
    make(share, f"{TWO}_resize", "disk")
    (share / ONE / "disk.info").write_text(json.dumps({f"/nova/{ONE}/disk": "qcow2", f"/else/{ONE}/disk.swap": "raw"}))
    (share / "compute_nodes").write_text('{"compute1": 1.5, "compute2": 2}')
    found = instance_dirs.read(str(share), {ONE}, wanted=[TWO, ONE], inside="/nova")
    assert found.users == {"compute1": 1, "compute2": 2}
    disks = {item.name: (item.uuid, item.format) for item in found.disks}
    assert disks == {"disk": (ONE, "qcow2"), "disk.eph0": (ONE, None), "disk.swap": (ONE, None)}
    assert next(item.inode for item in found.disks if item.name == "disk") == (share / ONE / "disk").stat().st_ino


@pytest.mark.parametrize("text", [None, "", "[1]", '{"a": null}', '{"a": "x"}', '{"a": NaN}', '{"a": Infinity}', "{"])
def test_signatures_that_are_none_are_not_read(share, text):
    if text is not None:
        (share / "compute_nodes").write_text(text)
    assert instance_dirs.read(str(share), set(), wanted=[ONE]).users is None


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_a_disk_without_a_word_of_its_format_has_none(share, text):
    make(share, ONE, "disk")
    (share / ONE / "disk.info").write_text(text)
    (disk,) = instance_dirs.read(str(share), set(), wanted=[ONE]).disks
    assert disk.format is None


def test_nothing_of_this_is_read_where_no_other_host_has_it(place):
    make(place, ONE, "disk")
    (place / "compute_nodes").write_text('{"compute1": 1.5}')
    found = instance_dirs.read(str(place), set(), wanted=[ONE])
    assert (found.users, found.disks) == (None, None)


@pytest.mark.parametrize(("folder", "exported"), [("{}", True), ("{}/instances/x", False), (None, False)])
def test_a_directory_that_this_host_exports_is_shared(place, folder, exported):
    """Not read what it exports, or a part of the directory only: other hosts may have it, and nothing says so."""
    path = place / "instances"
    path.mkdir()
    if folder is None:
        (place / "etab").mkdir()
    else:
        (place / "etab").write_text(f"{folder.format(place)}\t*(rw,sync)\n")
    found = instance_dirs.read(str(path), set(), wanted=[ONE])
    assert (found.local, found.exported) == (False, exported)


def test_disks_of_a_share_are_read_of_whom_somebody_asks_for(share):
    """A share has those of all hosts: a hundred hosts would each tell of all."""
    make(share, ONE, "disk")
    make(share, TWO, "disk")
    assert instance_dirs.read(str(share), set()).disks is None
    assert [item.uuid for item in instance_dirs.read(str(share), set(), wanted=[TWO]).disks] == [TWO]
