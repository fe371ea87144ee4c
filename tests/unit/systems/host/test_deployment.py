# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a host is deployed, read from hosts of each deployment, and what is never taken for another one."""

from __future__ import annotations

import fcntl
import json
import subprocess

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import deployment as deployments
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import Deployment
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import deployment, mounts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import ReadError
from ansible_collections.stackguard.nova.tests.unit import deployed
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

CONF = ("/etc/kolla/nova-compute/nova.conf",)


def read(tree, files=(), state_path=None, name="old1"):
    return deployment.read(files, state_path, str(tree.proc), str(tree.root), lambda _pid: name)


def classified(tree):
    return deployments.classify(read(tree))


@pytest.mark.parametrize("kind", deployed.EVERY)
def test_each_deployment_is_told_by_what_such_a_host_has(tmp_path, kind):
    found = read(deployed.EVERY[kind](tmp_path))
    result = deployments.classify(found)
    assert (result.kind, result.why) == (kind, None)
    assert result.seen
    # It travels as JSON, and comes back the same.
    assert facts.from_plain(Deployment, json.loads(json.dumps(facts.to_plain(found)))) == found


@pytest.mark.parametrize("engine", ["podman", "docker"])
@pytest.mark.parametrize("running", [True, False])
def test_kolla_is_told_with_its_engine_whether_it_runs_or_not(tmp_path, engine, running):
    found = read(deployed.kolla(tmp_path, engine, running=running))
    result = deployments.classify(found)
    assert (result.kind, result.engine) == ("kolla-ansible", engine)
    units = {unit.name: (unit.engine, unit.container, unit.recreates) for unit in found.units}
    assert units["kolla-nova_libvirt-container.service"] == (engine, "nova_libvirt", False)


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_a_container_has_its_own_name_and_a_service_of_the_host_has_not(tmp_path, engine):
    tree = deployed.kolla(tmp_path, engine).process(950, "/usr/bin/ovs-vswitchd")
    found = {entry.program: entry for entry in read(tree).processes}
    compute = found["nova-compute"]
    assert (compute.engine, compute.container_id, compute.own_uts, compute.hostname) == (
        engine,
        deployed.ID,
        True,
        "old1",
    )
    assert found["libvirtd"].hostname == "old1"
    vswitchd = found["ovs-vswitchd"]
    assert (vswitchd.engine, vswitchd.own_uts, vswitchd.hostname) == (None, False, None)


def test_a_container_that_shares_the_hosts_name_has_none_of_its_own(tmp_path):
    (compute, _libvirt) = read(deployed.kolla(tmp_path, uts=deployed.HOST_UTS)).processes
    assert (compute.engine, compute.own_uts, compute.hostname) == ("podman", False, None)


def test_a_name_that_cannot_be_read_is_not_the_hosts(tmp_path):
    (compute, _libvirt) = read(deployed.kolla(tmp_path), name=None).processes
    assert (compute.own_uts, compute.hostname) == (True, None)


def test_a_container_that_each_start_creates_is_told_apart(tmp_path):
    found = read(deployed.edpm(tmp_path))
    (unit,) = found.units
    assert (unit.container, unit.recreates, unit.engine) == ("nova_compute", True, "podman")
    assert found.compute[0].unit == "edpm_nova_compute.service"
    assert found.frozen == []
    assert unit.path == "/run/systemd/generator/edpm_nova_compute.service"


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_programs_run_in_the_container_of_a_process(tmp_path, engine):
    tree = deployed.kolla(tmp_path, engine).process(950, "/usr/bin/ovs-vswitchd")
    assert deployment.words_into(900, str(tree.proc)) == (engine, "exec", deployed.ID)
    assert deployment.words_into(950, str(tree.proc)) == ()
    assert deployment.words_into(4711, str(tree.proc)) == (), "it has ended"


def test_a_host_that_is_itself_in_a_container_is_judged_below_its_own_group(tmp_path):
    """A lab: what a service shares with process 1 says nothing of the service."""
    tree = deployed.packages(tmp_path)
    outer = f"/docker/{'aa' * 32}"
    (tree.proc / "1" / "cgroup").write_text(f"0::{outer}/init.scope\n4:memory:{outer}\n")
    (tree.proc / "900" / "cgroup").write_text(f"4:memory:{outer}\n0::{outer}/system.slice/nova-compute.service\n")
    (compute,) = read(tree).compute
    assert (compute.engine, compute.unit) == (None, "nova-compute.service")
    (tree.proc / "1" / "cgroup").write_text("0::/init.scope\n4:memory:/\n")
    (compute,) = read(tree).compute
    assert compute.engine == "docker"


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (f"/machine.slice/libpod-{deployed.ID}.scope/container", ("podman", deployed.ID)),
        (f"/machine.slice/libpod-{deployed.ID}.scope/container/machine/qemu-1-a.libvirt-qemu", ("podman", deployed.ID)),
        (f"/system.slice/docker-{deployed.ID}.scope", ("docker", deployed.ID)),
        (f"/docker/{deployed.ID}", ("docker", deployed.ID)),
        (f"/libpod_parent/libpod-{deployed.ID}", ("podman", deployed.ID)),
        (f"/kubepods/burstable/pod8/{deployed.ID}", ("kubernetes", deployed.ID)),
        ("/kubepods.slice/kubepods-pod8.slice", ("kubernetes", None)),
        (f"/system.slice/libpod-conmon-{deployed.ID}.scope", (None, None)),
        ("/machine.slice/machine-qemu\\x2d1\\x2dinstance\\x2d00000001.scope", (None, None)),
        ("/machine/qemu-1-instance-00000001.libvirt-qemu", (None, None)),
        ("/system.slice/docker.service", (None, None)),
    ],
)
def test_control_groups_of_containers(group, expected):
    assert deployment.container([group]) == expected


# --- never a guess ------------------------------------------------------------------------------------------------


def test_files_of_a_deployment_that_is_gone_decide_nothing(tmp_path):
    tree = deployed.Tree(tmp_path).file("/etc/kolla/nova-compute/config.json")
    found = classified(tree)
    assert (found.kind, found.why) == ("unknown", "only files were found")
    assert "/etc/kolla/nova-compute/config.json" in found.seen


def test_a_packaged_unit_beside_kolla_is_two_deployments(tmp_path):
    tree = deployed.kolla(tmp_path).unit("nova-compute", "/usr/bin/nova-compute", "/lib/systemd/system")
    found = classified(tree)
    assert (found.kind, found.why) == (
        "unknown",
        "the host has traces of more than one kind of deployment: kolla-ansible, packages",
    )
    # Masked: nothing can start it, but its file is there.
    (tree.root / "etc/systemd/system/nova-compute.service").symlink_to("/dev/null")
    assert classified(tree).kind == "unknown"


def test_two_engines_are_two_deployments(tmp_path):
    tree = deployed.kolla(tmp_path, "podman")
    tree.unit("kolla-nova_compute-container", "/usr/bin/docker start -a nova_compute")
    assert classified(tree).why == "the host has two container engines: docker, podman"


def test_nova_compute_in_two_places_is_unknown(tmp_path):
    tree = deployed.packages(tmp_path)
    tree.process(950, "/usr/bin/python3", "/usr/bin/nova-compute", cgroup="0::/system.slice/devstack@n-cpu.service")
    assert classified(tree).why == "nova-compute runs in more than one container or systemd unit"


def test_a_container_that_no_known_tool_has_made_is_unknown(tmp_path):
    tree = deployed.Tree(tmp_path)
    inside = tree.root / "merged"
    inside.mkdir()
    tree.process(900, "nova-compute", cgroup=deployed.SCOPES["docker"], root=inside)
    assert (
        classified(tree).why == "nova-compute runs in a systemd unit or container that belongs to no known deployment"
    )
    tree.unit("nova-compute", "/usr/bin/docker start -a nova")
    assert classified(tree).kind == "unknown"


def test_a_process_that_no_unit_starts_is_unknown(tmp_path):
    tree = deployed.Tree(tmp_path).process(900, "nova-compute", cgroup="0::/user.slice/session-3.scope")
    assert classified(tree).why == "no unit starts the nova-compute process of this host"
    other = deployed.Tree(tmp_path / "b").process(900, "nova-compute", cgroup="0::/system.slice/mine.service")
    assert classified(other).kind == "unknown"


def test_a_process_with_a_root_of_its_own_is_no_service_of_a_package(tmp_path):
    tree = deployed.Tree(tmp_path).unit("nova-compute", "/usr/bin/nova-compute")
    inside = tree.root / "chroot"
    inside.mkdir()
    tree.process(900, "nova-compute", cgroup="0::/system.slice/nova-compute.service", root=inside)
    assert classified(tree).kind == "unknown"


@pytest.mark.parametrize("make", [deployed.Tree, lambda folder: deployed.Tree(folder).unit("jujud-machine-0", "/x")])
def test_a_host_without_nova_compute_is_unknown(tmp_path, make):
    assert classified(make(tmp_path)).why == "the host has no trace of nova-compute"


def test_from_within_a_container_nothing_is_told(tmp_path):
    tree = deployed.packages(tmp_path)
    (tree.proc / "self").unlink()
    tree.process("self", "python3", uts=deployed.OWN_UTS)
    with pytest.raises(ReadError, check=problem_is("ansible-sees-host")):
        read(tree)


def test_a_program_that_only_names_a_service_is_none_of_its_processes(tmp_path):
    tree = deployed.packages(tmp_path).process(950, "vim", "/usr/bin/nova-compute")
    tree.process(951, "/usr/bin/podman", "start", "-a", "nova-compute")
    assert [entry.pid for entry in read(tree).processes] == [900, 901]


# --- guests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "engine"),
    [
        (deployed.SCOPES["podman"], "podman"),
        (deployed.SCOPES["docker"], "docker"),
        ("0::/machine/qemu-1-instance-00000001.libvirt-qemu", None),
    ],
)
def test_a_guest_is_told_with_the_container_that_it_ends_with(tmp_path, group, engine):
    tree = deployed.kolla(tmp_path).process(960, "/usr/bin/qemu-system-x86_64", "-uuid", "u1", "-S", cgroup=group)
    (guest,) = read(tree).guests
    assert (guest.uuid, guest.pid, guest.engine) == ("u1", 960, engine)
    assert guest.cgroup == group[3:]


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("volumes", ["/var/lib/docker/volumes", "/srv/moved engine/volumes"])
def test_a_directory_of_a_container_is_found_on_the_host_wherever_it_is(tmp_path, volumes):
    tree = deployed.kolla(tmp_path, "docker", volumes=volumes)
    path = tree.proc / "900" / "mountinfo"
    path.write_text(path.read_text().replace("moved engine", "moved\\040engine"))
    folders = read(tree, state_path="/var/lib/nova").folders
    assert folders == {
        "/var/lib/nova": f"{volumes}/nova_compute/_data",
        "/var/lib/kolla/config_files": "/etc/kolla/nova-compute",
    }


def test_a_mount_that_is_not_the_same_directory_is_none(tmp_path):
    tree = deployed.kolla(tmp_path, "docker")
    (tree.root / "merged/var/lib/nova").unlink()
    (tree.root / "merged/var/lib/nova").mkdir()
    assert mounts.on_host(900, "/var/lib/nova", str(tree.proc), str(tree.root)) is None
    # What is in the container's own root has no path on the host that lasts, although engines mount it there.
    seen = tree.proc / "1" / "mountinfo"
    seen.write_text(seen.read_text() + "40 24 0:77 / /merged rw - overlay overlay rw\n")
    assert mounts.on_host(900, "/etc/nova", str(tree.proc), str(tree.root)) is None


def test_a_mount_of_another_file_system_is_found_below_its_own_mount_point(tmp_path):
    tree = deployed.Tree(tmp_path).file("/run/libvirt/sock")
    inside = tree.root / "merged"
    (inside / "run").mkdir(parents=True)
    (inside / "run/libvirt").symlink_to(tree.root / "run/libvirt")
    its_own = ["1 0 0:77 / / rw - o o", "2 1 0:25 /libvirt /run/libvirt rw - t t"]
    tree.process(900, "nova-compute", root=inside, mounts=its_own)
    (tree.proc / "1" / "mountinfo").write_text("1 0 8:1 / / rw - e e\n2 1 0:25 / /run rw - tmpfs t\n")
    assert mounts.on_host(900, "/run/libvirt", str(tree.proc), str(tree.root)) == "/run/libvirt"


def test_a_file_that_changed_after_the_start_waits_for_a_restart(tmp_path):
    tree = deployed.packages(tmp_path).file("/etc/nova/nova.conf", at=90).file("/etc/nova/more.conf", at=110)
    found = read(tree, ("/etc/nova/nova.conf", "/etc/nova/more.conf"))
    assert [entry.path for entry in found.pending] == ["/etc/nova/more.conf"]
    assert read(tree, ("/etc/nova/nova.conf",)).pending == []


def test_of_kollas_files_the_content_decides(tmp_path):
    """They are copied at each start: a file that was written again with the same content waits for nothing."""
    tree = deployed.kolla(tmp_path).file(CONF[0], "[DEFAULT]\n", at=500)
    assert read(tree, CONF).pending == []
    tree.file(CONF[0], "[DEFAULT]\nhost = new\n", at=50)
    (pending,) = read(tree, CONF).pending
    assert (pending.path, pending.reason) == (
        CONF[0],
        "the host's file differs from the container's file /etc/nova/nova.conf",
    )
    (tree.root / "merged/etc/nova/nova.conf").unlink()
    found = read(tree, CONF)
    assert (found.pending, found.pending_unread.rpartition(": ")[2]) == (None, "No such file or directory")


def test_what_does_not_run_has_nothing_to_read_again(tmp_path):
    assert read(deployed.kolla(tmp_path, running=False), CONF).pending == []


def test_what_the_process_has_read_is_not_known_without_its_start_or_its_files(tmp_path):
    tree = deployed.packages(tmp_path)
    assert (read(tree).pending, read(tree).pending_unread) == (None, "nova.conf was not read")
    (tree.proc / "stat").write_text("cpu 1 2\n")
    assert read(tree, ("/x",)).pending_unread == "the start time of nova-compute is not known"


@pytest.mark.parametrize(("flags", "expected"), [(0x10, True), (0x80000 | 0x10, True), (0x80000, False), (0, False)])
def test_an_immutable_file_is_one_with_that_attribute(tmp_path, monkeypatch, flags, expected):
    path = tmp_path / "compute_id"
    path.write_text("x")

    def ioctl(_descriptor, request, buffer):
        assert request & 0xFFFF == 0x6601
        buffer[0] = flags

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    assert deployment.is_immutable(str(path)) is expected
    assert deployment.is_immutable(str(tmp_path / "nowhere")) is False


def test_the_attribute_of_a_real_file_is_what_chattr_sets(tmp_path):
    path = tmp_path / "compute_id"
    path.write_text("x")
    assert deployment.is_immutable(str(path)) is False
    done = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
    try:
        # A file system without attributes, or no right to set them: then lsattr shows none either.
        assert deployment.is_immutable(str(path)) is (done.returncode == 0)
    finally:
        subprocess.run(["chattr", "-i", str(path)], capture_output=True, check=False)
