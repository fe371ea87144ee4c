# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts of each deployment below a directory: /proc, unit files and the files of tools, as such hosts have them.

What podman and docker hosts have was written down on real ones (podman 4.3, docker 20.10, units and containers made by
kolla-ansible's own module); the others follow the sources of their tools.
"""

from __future__ import annotations

import os
import pathlib

HOST_UTS, OWN_UTS = "uts:[4026531838]", "uts:[4026532700]"
ID = "3f" * 32
BOOTED = 1790000000


class Tree:
    """A host. ``root`` stands for /, ``proc`` for /proc; process 1 is there."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "root"
        self.proc = pathlib.Path(folder) / "proc"
        self.root.mkdir(parents=True)
        self.proc.mkdir()
        (self.proc / "stat").write_text(f"cpu 1 2 3\nbtime {BOOTED}\n")
        self.mounts = ["24 1 8:1 / / rw - ext4 /dev/sda1 rw", "30 24 0:25 / /run rw - tmpfs tmpfs rw"]
        self.process(1, "/sbin/init", cgroup="0::/init.scope")
        (self.proc / "self").symlink_to("1")
        (self.proc / "1" / "mountinfo").write_text("\n".join(self.mounts) + "\n")

    def process(self, pid, *arguments, cgroup="0::/x.slice/x.service", uts=HOST_UTS, root="/", mounts=None, at=100):
        """A process; ``root``: the directory that it has as /; ``at``: seconds after the boot."""
        folder = self.proc / str(pid)
        (folder / "ns").mkdir(parents=True)
        (folder / "ns" / "uts").symlink_to(uts)
        (folder / "cmdline").write_bytes(b"\0".join(item.encode() for item in arguments) + b"\0")
        (folder / "cgroup").write_text(cgroup + "\n")
        (folder / "root").symlink_to(root)
        (folder / "mountinfo").write_text("\n".join(mounts or self.mounts) + "\n")
        ticks = at * os.sysconf("SC_CLK_TCK")
        (folder / "stat").write_text(f"{pid} (x y) S {'0 ' * 18}{ticks} 0\n")
        return self

    def file(self, path, text="", at=None):
        """A file below the root; ``at``: when it changed, in seconds after the boot."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        moment = BOOTED + (0 if at is None else at)
        os.utime(target, (moment, moment))
        return self

    def unit(self, name, command, folder="/etc/systemd/system"):
        """A unit file."""
        return self.file(f"{folder}/{name}.service", f"[Service]\nExecStart={command}\n")


def packages(folder):
    """Debian's packages."""
    tree = Tree(folder).unit("nova-compute", "/etc/init.d/nova-compute systemd-start", "/lib/systemd/system")
    tree.process(900, "/usr/bin/python3", "/usr/bin/nova-compute", cgroup="0::/system.slice/nova-compute.service")
    return tree.process(901, "/usr/sbin/libvirtd", cgroup="0::/system.slice/libvirtd.service")


def osa(folder):
    """OpenStack-Ansible on metal."""
    script = "/openstack/venvs/nova-31.0.0/bin/nova-compute"
    tree = Tree(folder).unit("nova-compute", script).file(script)
    return tree.process(900, "/usr/bin/python3", script, cgroup="0::/nova.slice/nova-compute.service")


def charm(folder):
    """The charm nova-compute of Juju."""
    return packages(folder).unit("jujud-machine-7", "/etc/systemd/system/jujud-machine-7-exec-start.sh")


def snap(folder):
    """Sunbeam's snap; its services have a root directory of their own."""
    unit = "snap.openstack-hypervisor.nova-compute"
    tree = Tree(folder).unit(unit, "/usr/bin/snap run openstack-hypervisor.nova-compute")
    (tree.root / "var/snap/openstack-hypervisor").mkdir(parents=True)
    script = "/snap/openstack-hypervisor/x1/bin/nova-compute"
    inside = tree.root / "snap-root"
    inside.mkdir()
    return tree.process(900, "/usr/bin/python3", script, cgroup=f"0::/system.slice/{unit}.service", root=inside)


def kubernetes(folder):
    """A pod of openstack-helm."""
    group = f"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-{ID}.scope"
    tree = Tree(folder)
    inside = tree.root / "pod"
    inside.mkdir()
    return tree.process(900, "nova-compute", "--config-file", "/etc/nova/nova.conf", cgroup=group, root=inside)


SCOPES = {"podman": f"0::/machine.slice/libpod-{ID}.scope/container", "docker": f"0::/system.slice/docker-{ID}.scope"}
VOLUMES = {"podman": "/var/lib/containers/storage/volumes", "docker": "/var/lib/docker/volumes"}
CONFIG = (
    '{"command": "nova-compute", "config_files": ['
    '{"source": "/var/lib/kolla/config_files/nova.conf", "dest": "/etc/nova/nova.conf", "owner": "nova"},'
    '{"source": "/var/lib/kolla/config_files/ceph/*", "dest": "/etc/ceph/", "owner": "nova"}]}'
)


def kolla(folder, engine="podman", uts=OWN_UTS, running=True, volumes=None):
    """kolla-ansible: containers that units start; ``volumes``: where the engine keeps them."""
    tree = Tree(folder).file("/etc/kolla/nova-compute/config.json", CONFIG)
    tree.file("/etc/kolla/nova-compute/nova.conf", "[DEFAULT]\n")
    for name in ("nova_compute", "nova_libvirt", "neutron_openvswitch_agent"):
        tree.unit(f"kolla-{name}-container", f"/usr/bin/{engine} start -a {name}")
    if not running:
        return tree
    volume = f"{volumes or VOLUMES[engine]}/nova_compute/_data"
    inside = tree.root / "merged"
    for path in ("var/lib/kolla", "etc/nova", "var/lib"):
        (inside / path).mkdir(parents=True, exist_ok=True)
    tree.file(f"{volume}/compute_id", "uuid")
    (inside / "var/lib/kolla/config_files").symlink_to(tree.root / "etc/kolla/nova-compute")
    (inside / "var/lib/nova").symlink_to(tree.root / volume.lstrip("/"))
    (inside / "etc/nova/nova.conf").write_text("[DEFAULT]\n")
    mounts = [
        f"500 400 0:77 / / rw - overlay overlay rw,lowerdir={VOLUMES[engine]}",
        "501 500 8:1 /etc/kolla/nova-compute /var/lib/kolla/config_files ro - ext4 /dev/sda1 rw",
        f"502 500 8:1 {volume} /var/lib/nova rw - ext4 /dev/sda1 rw",
    ]
    script = "/var/lib/kolla/venv/bin/nova-compute"
    options = {"cgroup": SCOPES[engine], "uts": uts, "root": inside, "mounts": mounts}
    tree.process(900, "/var/lib/kolla/venv/bin/python3", script, **options)
    return tree.process(901, "/usr/sbin/libvirtd", "--listen", **options)


def edpm(folder):
    """EDPM: each start creates the container, in the control group of its unit, which systemd has generated."""
    tree = Tree(folder).file("/var/lib/openstack/nova/02-nova-host-specific.conf", "[DEFAULT]\nhost = x\n")
    command = "/usr/bin/podman run --name nova_compute --replace --rm image"
    tree.unit("edpm_nova_compute", command, "/run/systemd/generator")
    inside = tree.root / "merged"
    inside.mkdir()
    group = f"0::/system.slice/edpm_nova_compute.service/libpod-payload-{ID}"
    return tree.process(900, "/usr/bin/python3", "/usr/bin/nova-compute", cgroup=group, uts=OWN_UTS, root=inside)


EVERY = {
    "packages": packages,
    "OpenStack-Ansible": osa,
    "charm": charm,
    "snap": snap,
    "Kubernetes": kubernetes,
    "kolla-ansible": kolla,
    "EDPM": edpm,
}
