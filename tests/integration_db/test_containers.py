# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read of real containers: their own host name, their control groups, their directories and files.

podman runs in namespaces of this test, from Debian's packages unpacked below .build; the machine gets no package, and
no image is needed: the containers' programs are the machine's own.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = (
    *("podman", "conmon", "runc", "golang-github-containers-common", "golang-github-containers-image"),
    *("libgpgme11", "libassuan0", "libsubid4", "libyajl2", "libseccomp2", "libdevmapper1.02.1"),
)
UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"


@pytest.fixture(scope="module")
def podman() -> pathlib.Path:
    """Debian's packages of podman, unpacked."""
    folder = ROOT / ".build" / "podman"
    folder.parent.mkdir(exist_ok=True)
    with open(ROOT / ".build" / "podman.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _unpack(folder)
    return folder / "root"


def _unpack(folder: pathlib.Path) -> None:
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "debs").mkdir(parents=True)
        subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder / "debs", check=True, timeout=300)
        for package in sorted((folder / "debs").glob("*.deb")):
            subprocess.run(["dpkg", "--extract", str(package), str(folder / "root")], check=True)
        (folder / "complete").touch()


@pytest.fixture(scope="module")
def told(podman: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What was read after each act of :mod:`podman_host`."""
    namespaces = ["unshare", "--mount", "--uts", "--ipc", "--cgroup", "--pid", "--fork", "--mount-proc"]
    program = [sys.executable, str(HERE / "podman_host.py"), str(podman), str(tmp_path_factory.mktemp("podman"))]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / ".build" / "dev")}
    # Control groups are the machine's: one story at a time.
    with open(ROOT / ".build" / "podman.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [*namespaces, *program], env=variables, capture_output=True, text=True, check=False, timeout=300
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of(told: dict[str, dict], act: str, program: str) -> dict:
    """The one process of a program."""
    (found,) = [entry for entry in told[act]["deployment"]["processes"] if entry["program"] == program]
    return found


def test_it_is_a_host_of_kolla_with_podman(told: dict[str, dict]) -> None:
    assert {(entry["kind"], entry["engine"]) for entry in told.values()} == {("kolla-ansible", "podman")}


def test_a_container_keeps_the_name_that_it_was_created_with_also_when_it_is_restarted(told: dict[str, dict]) -> None:
    for act in ("created", "renamed", "restarted"):
        for program in ("nova-compute", "libvirtd"):
            found = of(told, act, program)
            assert (found["own_uts"], found["hostname"], found["engine"]) == (True, "old1", "podman"), act
    assert of(told, "renamed", "nova-compute")["pid"] != of(told, "restarted", "nova-compute")["pid"]
    # Its control group is told by the id of the container, which a restart keeps.
    ids = {of(told, act, "nova-compute")["container_id"] for act in ("created", "restarted")}
    assert len(ids) == 1
    assert len(ids.pop()) == 64


def test_a_name_that_was_given_to_one_container_is_that_ones(told: dict[str, dict]) -> None:
    assert of(told, "entered", "libvirtd")["hostname"] == "new1"
    assert of(told, "entered", "nova-compute")["hostname"] == "old1"


def test_a_container_that_shares_the_hosts_name_has_none_of_its_own(told: dict[str, dict]) -> None:
    found = of(told, "shared", "nova-compute")
    assert (found["own_uts"], found["hostname"], found["engine"]) == (False, None, "podman")


def test_a_guest_ends_with_the_container_until_it_has_a_control_group_of_its_own(told: dict[str, dict]) -> None:
    libvirt = of(told, "guest", "libvirtd")["container_id"]
    (inside,) = told["guest"]["deployment"]["guests"]
    assert (inside["uuid"], inside["engine"], inside["container_id"]) == (UUID, "podman", libvirt)
    (outside,) = told["moved"]["deployment"]["guests"]
    assert (outside["engine"], outside["cgroup"]) == (None, "/stackguard-machine/qemu-1-instance.libvirt-qemu")


def test_the_directories_of_the_container_are_found_on_the_host(told: dict[str, dict]) -> None:
    assert told["created"]["deployment"]["folders"] == {
        "/var/lib/kolla/config_files": "/etc/kolla/nova-compute",
        "/var/lib/nova": "/var/lib/containers/storage/volumes/nova_compute/_data",
    }


def test_a_changed_file_waits_for_the_next_start_of_the_container(told: dict[str, dict]) -> None:
    assert told["restarted"]["deployment"]["pending"] == []
    (pending,) = told["changed"]["deployment"]["pending"]
    assert pending["path"] == "/etc/kolla/nova-compute/nova.conf"
    assert told["shared"]["deployment"]["pending"] == []
