# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""By whose host name services go: real processes in real UTS namespaces, and what is known of those that do not run."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import NameSpace
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import name_spaces, units
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import ReadError
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is


@pytest.fixture
def proc(tmp_path):
    """A /proc in which process 1 has our own namespace, and the processes that a test names are the real ones."""
    root = tmp_path / "proc"
    for name in ("1", "self"):
        (root / name / "ns").mkdir(parents=True)
        (root / name / "ns" / "uts").symlink_to(os.readlink("/proc/self/ns/uts"))
    (root / "1" / "cmdline").write_bytes(b"/sbin/init\0")

    def show(pid):
        (root / str(pid)).symlink_to(f"/proc/{pid}")
        return str(root)

    show.root = str(root)
    return show


@pytest.fixture
def started():
    """Start a process under a program's name; ``own``: with a host name of its own."""
    running = []

    def start(program, own=None):
        command = f"exec -a {program} sleep 60"
        argv = ["bash", "-c", command]
        if own:
            argv = ["unshare", "--uts", "bash", "-c", f"hostname {own} && {command}"]
        running.append(subprocess.Popen(argv))
        pid = running[-1].pid
        for _attempt in range(500):
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                if stream.read().startswith(program.encode() + b"\0"):
                    return pid
            time.sleep(0.01)
        raise AssertionError(f"{program} did not start")

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def engines(monkeypatch):
    """Engines of containers by name: what they answer, or the error that they end with. Those not here are missing."""
    world = {}

    def run(argv, _timeout, **_more):
        if argv[0] == "nsenter":
            return REAL(argv, _timeout)
        if argv[0] not in world:
            raise FileNotFoundError(2, "No such file or directory", argv[0])
        told = world[argv[0]]
        if isinstance(told, str):
            return subprocess.CompletedProcess(argv, 1, b"", told.encode())
        if argv[1] == "ps":
            return subprocess.CompletedProcess(argv, 0, "\n".join(told).encode(), b"")
        entries = [
            {"Name": f"/{name}", "HostConfig": {"UTSMode": told[name][0]}, "Config": {"Hostname": told[name][1]}}
            for name in argv[4:]
        ]
        return subprocess.CompletedProcess(argv, 0, json.dumps(entries).encode(), b"")

    monkeypatch.setattr(name_spaces.commands, "run", run)
    monkeypatch.setattr(name_spaces, "KOLLA", "/nonexistent")
    return world


REAL = name_spaces.commands.run


class Systemd:
    """Units by name: properties. ``protected``: what systemd says of ProtectHostname."""

    def __init__(self, protected="no", **known):
        self.known = {units.full_name(name.replace("_", "-")): command for name, command in known.items()}
        self.protected = protected

    def show(self, names):
        return [
            {"LoadState": "loaded", "ExecStart": f"{{ path=x ; argv[]={self.known[name]} ; ignore_errors=no }}"}
            if name in self.known
            else {"LoadState": "not-found"}
            for name in names
        ]

    def call(self, *arguments):
        assert arguments[:3] == ("show", "--property=ProtectHostname", "--value")
        return f"{self.protected}\n"


HERE = Systemd(nova_compute="/usr/bin/nova-compute", libvirtd="/usr/sbin/libvirtd --timeout 120")


def read(root, systemctl=HERE):
    return name_spaces.read(("nova-compute",), root, systemctl)


def of(found, service):
    (entry,) = [entry for entry in found if entry.service == service]
    return entry


def test_a_process_with_a_host_name_of_its_own_is_seen_with_that_name(proc, started, engines):
    frozen, plain = started("nova-compute", own="frozen1"), started("libvirtd")
    proc(frozen)
    found = read(proc(plain))
    assert of(found, "nova-compute") == NameSpace("nova-compute", f"process {frozen}", True, "frozen1", kind="process")
    assert of(found, "libvirt") == NameSpace("libvirt", f"process {plain}", False, kind="process")


def test_a_network_agent_in_a_container_is_seen_too(proc, started, engines):
    pid = started("neutron-openvswitch-agent", own="frozen1")
    assert of(read(proc(pid)), "neutron agent").own is True


def test_a_namespace_that_cannot_be_read_is_not_the_hosts(proc, started, engines, monkeypatch):
    pid = started("nova-compute")
    link = os.readlink

    def denied(path):
        if str(path).endswith(f"/{pid}/ns/uts"):
            raise PermissionError(13, "Permission denied", path)
        return link(path)

    monkeypatch.setattr(os, "readlink", denied)
    assert of(read(proc(pid)), "nova-compute") == NameSpace(
        "nova-compute", f"process {pid}", None, reason="Permission denied", kind="process"
    )


def test_where_ansible_reaches_a_container_nothing_is_said_of_the_host(proc, engines):
    link = os.path.join(proc.root, "self", "ns", "uts")
    os.unlink(link)
    os.symlink("uts:[1]", link)
    with pytest.raises(ReadError, check=problem_is("ansible-sees-host")):
        read(proc.root)
    os.unlink(link)
    with pytest.raises(ReadError, match="No such file"):
        read(proc.root)


# --- what does not run ------------------------------------------------------------------------------------------


def test_what_a_unit_starts_goes_by_the_hosts_name(proc, engines):
    found = read(proc.root)
    assert [(entry.service, entry.what, entry.own) for entry in found] == [
        ("nova-compute", "unit nova-compute.service", False),
        ("libvirt", "unit libvirtd.service", False),
    ]


@pytest.mark.parametrize(("said", "own"), [("yes", True), ("private", True), ("no", False), ("", False)])
def test_a_unit_that_protects_the_host_name_has_one_of_its_own(proc, engines, said, own):
    units_here = Systemd(said, nova_compute="/usr/bin/nova-compute")
    assert of(read(proc.root, units_here), "nova-compute").own is own


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_stopped_container_is_asked_how_it_was_made(proc, engines, engine):
    engines[engine] = {"nova_compute": ("", "compute1"), "nova_libvirt": ("host", ""), "rabbitmq": ("", "x")}
    found = read(proc.root)
    assert of(found, "nova-compute") == NameSpace(
        "nova-compute", f"{engine} container nova_compute", True, "compute1", kind="container"
    )
    assert of(found, "libvirt") == NameSpace("libvirt", f"{engine} container nova_libvirt", False, kind="container")


def test_an_engine_that_does_not_answer_is_not_one_without_containers(proc, engines):
    engines["docker"] = "Cannot connect to the Docker daemon"
    here = Systemd(nova_compute="/usr/bin/nova-compute", docker="/usr/bin/dockerd")
    entry = of(read(proc.root, here), "nova-compute")
    assert (entry.own, entry.reason) == (None, "docker ps: Cannot connect to the Docker daemon")


def test_a_client_of_docker_without_a_daemon_has_no_containers(proc, engines):
    """Such as on a machine from which somebody manages docker elsewhere. podman has no daemon: its silence counts."""
    engines["docker"] = "Cannot connect to the Docker daemon"
    entry = of(read(proc.root), "nova-compute")
    assert (entry.what, entry.own) == ("unit nova-compute.service", False)
    engines["podman"] = "the storage is corrupt"
    entry = of(read(proc.root), "nova-compute")
    assert (entry.own, entry.reason) == (None, "podman ps: the storage is corrupt")


def test_kollas_files_without_its_container_are_not_a_unit_of_the_host(proc, engines, monkeypatch, tmp_path):
    monkeypatch.setattr(name_spaces, "KOLLA", str(tmp_path))
    assert of(read(proc.root), "nova-compute").own is None


def test_what_neither_runs_nor_has_a_unit_nor_a_container_is_not_known(proc, engines):
    found = read(proc.root, Systemd())
    assert [(entry.service, entry.own) for entry in found] == [("nova-compute", None), ("libvirt", None)]
    assert "found no unit and no container" in found[0].reason
