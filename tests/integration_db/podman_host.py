# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host of kolla-ansible in namespaces of its own, with real containers of podman; run there as a program.

It makes containers as kolla-ansible does (host network, no host name of their own asked for), changes the host's name
and its files, and prints after each act what the collection reads: one JSON object, by act.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from ansible_collections.stackguard.nova.plugins.module_utils.model import deployment as deployments
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import deployment

CONF = "/etc/kolla/nova-compute/nova.conf"
CONFIG = {
    "command": "nova-compute",
    "config_files": [
        {
            "source": "/var/lib/kolla/config_files/nova.conf",
            "dest": "/etc/nova/nova.conf",
            "owner": "nova",
            "perm": "0600",
        }
    ],
}
START = "#!/bin/sh\ncp /var/lib/kolla/config_files/nova.conf /etc/nova/nova.conf\nexec /opt/nova-compute 600\n"
GUEST = "#!/bin/sh\nsleep 600\n:\n"
UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"
ENGINE = """\
[containers]
pids_limit = 0
default_sysctls = []
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
conmon_path = ["{packages}/usr/bin/conmon"]
[engine.runtimes]
runc = ["{packages}/usr/sbin/runc"]
"""
STORAGE = '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n'


def run(*argv: str) -> str:
    """Run a command; its output. What it says on standard error is part of the error."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout.strip()


def wait_empty(group: pathlib.Path) -> None:
    """Wait until no process is in a control group and below it."""
    for _attempt in range(600):
        if "populated 0" in (group / "cgroup.events").read_text().splitlines():
            return
        time.sleep(0.1)
    raise SystemExit(f"{group}: processes are in it 60 s after they were killed")


class Host:
    """The host, with all that it writes on file systems of its own."""

    def __init__(self, packages: pathlib.Path, folder: pathlib.Path) -> None:
        self.podman_program = str(packages / "usr/bin/podman")
        self.folder = folder
        for kind, point in (("tmpfs", "/run"), ("cgroup2", "/sys/fs/cgroup")):
            run("mount", "-t", kind, kind, point)
        # One that is its own: mounted over, the machine's stays as it is.
        copy = folder / "etc"
        run("cp", "-a", "/etc", str(copy))
        run("mount", "--bind", str(copy), "/etc")
        storage = folder / "containers"
        storage.mkdir()
        pathlib.Path("/var/lib/containers").mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/containers")
        settings = {"CONTAINERS_CONF": ENGINE.format(packages=packages), "CONTAINERS_STORAGE_CONF": STORAGE}
        for name, text in settings.items():
            (folder / name).write_text(text)
            os.environ[name] = str(folder / name)
        libraries = [str(packages / "usr/lib/x86_64-linux-gnu"), str(packages / "lib/x86_64-linux-gnu")]
        os.environ["LD_LIBRARY_PATH"] = ":".join(libraries)
        self._files()

    def _files(self) -> None:
        kolla = pathlib.Path("/etc/kolla/nova-compute")
        kolla.mkdir(parents=True)
        (kolla / "config.json").write_text(json.dumps(CONFIG))
        pathlib.Path(CONF).write_text("[DEFAULT]\n")
        units = pathlib.Path("/etc/systemd/system")
        units.mkdir(parents=True, exist_ok=True)
        for name in ("nova_compute", "nova_libvirt"):
            text = f"[Service]\nExecStart=/usr/bin/podman start -a {name}\nExecStop=/usr/bin/podman stop {name} -t 60\n"
            (units / f"kolla-{name}-container.service").write_text(text)

    def podman(self, *argv: str) -> str:
        """Run podman."""
        return run(self.podman_program, *argv)

    def create(self, name: str, *options: str, command: tuple[str, ...]) -> None:
        """Create and start a container whose programs are those of this machine."""
        root = self.folder / f"rootfs-{name}-{time.monotonic_ns()}"
        for path in ("usr", "proc", "sys", "dev", "run", "tmp", "opt", "etc/nova", "var/lib/nova", "var/lib/kolla"):
            (root / path).mkdir(parents=True)
        for link in ("bin", "sbin", "lib", "lib64"):
            (root / link).symlink_to(f"usr/{link}")
        for program in ("nova-compute", "libvirtd"):
            shutil.copy("/usr/bin/sleep", root / "opt" / program)
        for script, text in (("start", START), ("qemu-system-x86_64", GUEST)):
            (root / "opt" / script).write_text(text)
            (root / "opt" / script).chmod(0o755)
        common = ("--network", "host", "--log-driver", "k8s-file", "-v", "/usr:/usr:ro")
        self.podman("create", "--name", name, *common, *options, "--rootfs", str(root), *command)
        self.podman("start", name)

    def compute(self, *options: str) -> None:
        """Create nova_compute with kolla's mounts."""
        mounts = ("-v", "/etc/kolla/nova-compute:/var/lib/kolla/config_files:ro", "-v", "nova_compute:/var/lib/nova")
        self.create("nova_compute", *mounts, *options, command=("/opt/start",))

    def read(self) -> dict[str, object]:
        """What the collection reads, and what it says of it."""
        for _attempt in range(100):
            found = deployment.read([CONF], "/var/lib/nova")
            if {"nova-compute", "libvirtd"} <= {entry.program for entry in found.processes}:
                break
            time.sleep(0.1)
        classified = deployments.classify(found)
        return {"deployment": to_plain(found), "kind": classified.kind, "engine": classified.engine}

    def leave(self) -> None:
        """Remove the containers and the control groups, which are the machine's."""
        self.podman("rm", "--force", "--all", "--time", "0")
        for name in ("libpod_parent", "stackguard-machine"):
            root = pathlib.Path("/sys/fs/cgroup") / name
            if root.exists():
                # All below it, also what podman has not reaped; on a busy machine they end a while after the signal.
                (root / "cgroup.kill").write_text("1")
                wait_empty(root)
                for folder, _folders, _files in os.walk(root, topdown=False):
                    os.rmdir(folder)


def story(host: Host) -> dict[str, dict[str, object]]:
    """Act by act."""
    told = {}
    run("hostname", "old1")
    host.compute()
    host.create("nova_libvirt", "--pid", "host", "--cgroupns", "host", command=("/opt/libvirtd", "600"))
    told["created"] = host.read()
    run("hostname", "new1")
    told["renamed"] = host.read()
    host.podman("restart", "--time", "0", "nova_compute")
    told["restarted"] = host.read()
    libvirt = host.podman("inspect", "--format", "{{.State.Pid}}", "nova_libvirt")
    run("nsenter", f"--target={libvirt}", "--uts", "hostname", "new1")
    told["entered"] = host.read()
    host.podman("exec", "--detach", "nova_libvirt", "/opt/qemu-system-x86_64", "-uuid", UUID)
    for _attempt in range(100):
        guests = deployment.read([CONF]).guests
        if guests:
            break
        time.sleep(0.1)
    told["guest"] = host.read()
    own = pathlib.Path("/sys/fs/cgroup/stackguard-machine/qemu-1-instance.libvirt-qemu")
    own.mkdir(parents=True)
    (own / "cgroup.procs").write_text(str(guests[0].pid))
    told["moved"] = host.read()
    os.kill(guests[0].pid, 9)
    pathlib.Path(CONF).write_text("[DEFAULT]\nhost = new1\n")
    told["changed"] = host.read()
    host.podman("rm", "--force", "--time", "0", "nova_compute")
    host.compute("--uts", "host")
    told["shared"] = host.read()
    return told


def main(packages: str, folder: str) -> None:
    """Tell the story as JSON."""
    host = Host(pathlib.Path(packages), pathlib.Path(folder))
    try:
        print(json.dumps(story(host)))
    finally:
        host.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
