# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute hosts: each a machine of its own, systemd as PID 1 on an overlay of this machine's root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from . import containers, kolla, network, ovn, procs, shares
from .config import fast_stop, host_values, machine_id, render, secrets, write
from .settings import Lab, LabError
from .shell import CLEAN_ENV, each, port_open, run, wait_for

# Units of the machine's own system that have no meaning in a host, or would fight over what only the kernel has once.
MASKED = """
systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service
systemd-udev-settle.service systemd-sysctl.service systemd-modules-load.service networking.service
systemd-networkd.service epmd.socket systemd-tmpfiles-clean.timer apt-daily.timer apt-daily-upgrade.timer
e2scrub_all.timer fstrim.timer dpkg-db-backup.timer logrotate.timer man-db.timer systemd-remount-fs.service
kmod-static-nodes.service modprobe@.service dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount
sys-fs-fuse-connections.mount dev-mqueue.mount proc-sys-fs-binfmt_misc.automount ceph.target
rabbitmq-server.service openvswitch-switch.service ovsdb-server.service ovs-vswitchd.service
nvmf-autoconnect.service getty.target
getty-static.service systemd-random-seed.service blk-availability.service lvm2-monitor.service
""".split()  # noqa: SIM905
SSH_OPTIONS = (
    "-F",
    "/dev/null",
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "-o",
    "LogLevel=ERROR",
    "-o",
    "ConnectTimeout=5",
    "-o",
    "BatchMode=yes",
    "-o",
    "IdentitiesOnly=yes",
)


def make_keys(lab: Lab) -> None:
    if not lab.ssh_key.exists():
        scratch = lab.state / "id_lab.new"
        for path in (scratch, scratch.with_suffix(".new.pub"), Path(f"{scratch}.pub")):
            path.unlink(missing_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "stackguard-lab", "-f", scratch])
        Path(f"{scratch}.pub").replace(f"{lab.ssh_key}.pub")
        scratch.replace(lab.ssh_key)


def prepare(lab: Lab, number: int) -> None:
    """Writes what makes the host this host into the upper layer of its root; done once, until a reset."""
    folder = lab.host_dir(number)
    mark = folder / "prepared"
    if mark.exists():
        return
    for name in ("upper", "work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    upper = folder / "upper"
    known = host_values(lab, number)
    _identity(lab, number, upper)
    _ssh(lab, folder, upper)
    if lab.deploy_of(number) == "kolla":
        kolla.prepare(lab, number, upper, known)
    else:
        _packaged(lab, number, upper, known)
    _units(upper, known)
    saved = lab.snapshot / "hosts" / f"compute{number}" / "compute_id"
    if saved.exists():
        shutil.copy2(saved, upper / "var/lib/nova/compute_id")
    mark.touch()


def _identity(lab: Lab, number: int, upper: Path) -> None:
    write(upper / "etc/hostname", f"compute{number}\n")
    write(upper / "etc/machine-id", machine_id(lab, number) + "\n", 0o444)
    # Ansible reads this one first; the machine's own would be the same on all hosts
    (upper / "var/lib/dbus").mkdir(parents=True)
    (upper / "var/lib/dbus/machine-id").symlink_to("/etc/machine-id")
    write(upper / "etc/hosts", network.hosts_text(lab))
    write(upper / "etc/fstab", "")
    write(upper / "etc/resolv.conf", "# the lab's hosts see nothing but the lab\n")
    (upper / "tmp").mkdir(mode=0o1777)
    (upper / "tmp").chmod(0o1777)


def _ssh(lab: Lab, folder: Path, upper: Path) -> None:
    key = folder / "ssh_host_ed25519_key"
    if not key.exists():
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
    write(upper / "etc/ssh/sshd_config", render("host-sshd_config"))
    write(upper / "etc/ssh/ssh_host_ed25519_key", key.read_text(), 0o600)
    write(upper / "etc/ssh/ssh_host_ed25519_key.pub", Path(f"{key}.pub").read_text())
    write(upper / "root/.ssh/authorized_keys", Path(f"{lab.ssh_key}.pub").read_text(), 0o600)
    write(upper / "root/.ssh/id_ed25519", lab.ssh_key.read_text(), 0o600)
    write(upper / "root/.ssh/config", kolla.ssh_config(lab), 0o600)
    # bash reads them for each command over ssh. The machine's own may take long: pyenv's hold a lock, which a host that
    # is cut off in that moment leaves behind, and each later command waits a minute for it.
    for name in (".bashrc", ".profile", ".bash_profile", ".bash_login"):
        write(upper / "root" / name, "# a host of the lab has none of the machine's\n")
    for path in (upper / "root", upper / "root/.ssh"):
        path.chmod(0o700)


def _packaged(lab: Lab, number: int, upper: Path, known: dict[str, object]) -> None:
    _libvirt(lab, upper, number, known)
    _nova(lab, upper, known)
    if lab.options.l2 == "ovs":
        _openvswitch(upper, known)
    if lab.options.l2 == "ovn":
        _chassis(lab, upper, number, known)


def _libvirt(lab: Lab, upper: Path, number: int, known: dict[str, object]) -> None:
    keyring = (lab.cluster_of(number).keys / "ceph.client.nova.keyring").read_text()
    write(upper / "etc/ceph/ceph.conf", render("host-ceph.conf", **known))
    write(upper / "etc/ceph/ceph.client.nova.keyring", keyring, 0o600)
    write(upper / "etc/libvirt/qemu.conf", render("host-qemu.conf", **known), 0o600)
    write(upper / "etc/libvirt/libvirtd.conf", render("host-libvirtd.conf"))
    folder = upper / "etc/libvirt/secrets"
    for name, text in secrets(lab, number).items():
        write(folder / name, text, 0o600)
    folder.chmod(0o700)
    shares.prepare(lab, number, upper)


def _nova(lab: Lab, upper: Path, known: dict[str, object]) -> None:
    write(upper / "etc/nova/nova.conf", render("nova-compute.conf", **known), 0o640)
    for folder in ("var/lib/nova/instances", "var/lib/nova/lock", "var/log/nova"):
        (upper / folder).mkdir(parents=True)
    write(upper / "usr/lib/systemd/system/nova-compute.service", render("nova-compute.service", **known))
    _enable(upper, "nova-compute.service")


def _openvswitch(upper: Path, known: dict[str, object]) -> None:
    for folder in ("var/lib/neutron/lock", "var/log/neutron", "var/log/openvswitch", "etc/openvswitch"):
        (upper / folder).mkdir(parents=True)
    write(upper / "etc/neutron/neutron.conf", render("host-neutron.conf", **known), 0o640)
    write(upper / "etc/neutron/openvswitch_agent.ini", render("host-openvswitch_agent.ini"), 0o640)
    for unit in ("lab-ovsdb.service", "lab-vswitchd.service", "neutron-openvswitch-agent.service"):
        write(upper / "usr/lib/systemd/system" / unit, render(unit, **known))
        _enable(upper, unit)


def _chassis(lab: Lab, upper: Path, number: int, known: dict[str, object]) -> None:
    """ovn-controller has Debian's own unit, which at a stop removes the chassis, as on any Debian 12."""
    for folder in ("var/lib/neutron/lock", "var/log/neutron", "var/log/openvswitch", "etc/openvswitch", "var/log/ovn"):
        (upper / folder).mkdir(parents=True)
    write(upper / "etc/openvswitch/system-id.conf", f"{known['system_id']}\n")
    write(upper / "etc/default/ovn-host", render("host-ovn-host", **known))
    if lab.options.ovn_rbac:
        for name, path in {"key": f"compute{number}.key", "cert": f"compute{number}.pem", "ca": "ca.pem"}.items():
            write(upper / "etc/ovn" / f"{name}.pem", (ovn.pki(lab) / path).read_text(), 0o600)
    scripts = {
        "host-ovn-identity.sh": "ovn-identity",
        "host-ovn-bridges.sh": "ovn-bridges",
        "host-ovn-metadata-agent.py": "neutron-ovn-metadata-agent",
    }
    for template, name in scripts.items():
        write(upper / "usr/local/lib/lab" / name, render(template, **known), 0o755)
    write(upper / "etc/neutron/neutron.conf", render("host-neutron.conf", **known), 0o640)
    write(upper / "etc/neutron/neutron_ovn_metadata_agent.ini", render("host-ovn_metadata_agent.ini", **known), 0o640)
    drop_ins = upper / "etc/systemd/system"
    write(drop_ins / "lab-ovsdb.service.d/ovn.conf", render("lab-ovsdb-ovn.conf"))
    write(drop_ins / "lab-vswitchd.service.d/ovn.conf", render("lab-vswitchd-ovn.conf"))
    write(drop_ins / "ovn-controller.service.d/lab.conf", render("ovn-controller-lab.conf"))
    units = ["lab-ovsdb.service", "lab-vswitchd.service"]
    units += ["neutron-ovn-metadata-agent.service"] if number in ovn.METADATA else []
    for unit in units:
        write(upper / "usr/lib/systemd/system" / unit, render(unit, **known))
        _enable(upper, unit)
    _enable(upper, "ovn-controller.service")
    # It overwrites the key with `hostname -f` at each boot (openvswitch 3.1): deployment tools mask it, too.
    (drop_ins / "ovs-record-hostname.service").symlink_to("/dev/null")


def _enable(upper: Path, unit: str) -> None:
    wants = upper / "etc/systemd/system/lab.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (wants / unit).symlink_to(f"/lib/systemd/system/{unit}")


def _units(upper: Path, known: dict[str, object]) -> None:
    system = upper / "etc/systemd/system"
    write(system / "lab.target", render("lab.target", **known))
    (system / "default.target").symlink_to("lab.target")
    for unit in MASKED:
        (system / unit).symlink_to("/dev/null")


def boot(lab: Lab, number: int) -> None:
    """Switches the host on and waits until it answers."""
    power_on(lab, number)
    wait_ready(lab, number)


def power_on(lab: Lab, number: int) -> bool:
    """Boots the host, or does nothing if it runs; the way it was left, cables plugged in."""
    if procs.init_of(lab.host_ns(number)):
        return False
    procs.kill_all(lab.host_ns(number))
    make_keys(lab)
    prepare(lab, number)
    network.host_up(lab, number)
    folder = lab.host_dir(number)
    known = host_values(lab, number)
    (folder / "cgroup").mkdir(exist_ok=True)
    for script in ("host-boot.sh", "host-init.sh"):
        write(folder / script.removeprefix("host-"), render(script, **known))
    console = folder / "console.log"
    with console.open("w") as stream:
        subprocess.Popen(
            ["nsenter", f"--net={procs.NETNS / lab.host_ns(number)}", "unshare", "--mount", "sh", folder / "boot.sh"],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=CLEAN_ENV,
            start_new_session=True,
            cwd="/",
        )
    wait_for(
        f"the boot of compute{number}", lambda: procs.init_of(lab.host_ns(number)) is not None, timeout=60, log=console
    )
    return True


def wait_ready(lab: Lab, number: int) -> None:
    console = lab.host_dir(number) / "console.log"

    def answers() -> bool:
        if not procs.init_of(lab.host_ns(number)):
            raise LabError(f"compute{number} went off while it was booting", log=console)
        return port_open(lab.host_address(number), 22)

    wait_for(f"ssh on compute{number}", answers, timeout=300, log=console)


def power_off(lab: Lab, number: int) -> bool:
    """As if the cable were pulled: SIGKILL to PID 1, and the kernel ends everything in the host with it."""
    namespace = lab.host_ns(number)
    pid = procs.init_of(namespace)
    if pid:
        os.kill(pid, signal.SIGKILL)
        wait_for(f"the end of compute{number}", lambda: procs.init_of(namespace) is None, timeout=60, pause=0.1)
    procs.kill_all(namespace)
    return pid is not None


def all_off(lab: Lab) -> None:
    present = [n for n in range(1, 10) if procs.is_mounted(lab.host_ns(n))]
    if present:
        each(lambda number: power_off(lab, number), present)


def remove_cgroups(lab: Lab) -> None:
    """The hosts' empty control groups, by way of a mount that only this one command sees."""
    script = (
        'd=$1; p=$2; mkdir -p "$d"; for kind in "cgroup -o none,name=systemd" cgroup2; do '
        'mount -t $kind cgroup "$d" || continue; '
        'for g in "$d"/"$p"-c[0-9]; do [ -d "$g" ] && find "$g" -depth -type d -exec rmdir {} +; done; '
        'umount "$d"; done; rmdir "$d"'
    )
    run(["unshare", "--mount", "sh", "-c", script, "sh", lab.run / "cgroup", lab.prefix], check=False)


def ssh_command(lab: Lab, name: str, *command: str) -> list[str]:
    address = lab.host_address(lab.host_number(name))
    return ["ssh", "-i", str(lab.ssh_key), *SSH_OPTIONS, f"root@{address}", *command]


def make_stop_fast(lab: Lab, number: int) -> None:
    """The same as `up --fast-stop` at the first boot, for a host that was made without."""
    folder = lab.host_dir(number)
    change = "/^graceful_shutdown_timeout/d; /^manager_shutdown_timeout/d; s/^compute_driver = .*/&"
    change += "".join(f"\\n{line}" for line in fast_stop(lab)) + "/"
    if lab.deploy_of(number) == "kolla":
        _make_containers_stop_fast(lab, number, change)
    elif procs.init_of(lab.host_ns(number)):
        # killed, since the stop that is to become fast is still slow; the unit comes back by itself after 5 s
        kill = "systemctl kill --signal=KILL nova-compute; sleep 1; systemctl start nova-compute"
        run(ssh_command(lab, f"compute{number}", f"sed -i '{change}' /etc/nova/nova.conf; {kill}"), timeout=120)
    elif (folder / "prepared").exists():
        run(["sed", "-i", change, folder / "upper/etc/nova/nova.conf"])


def _make_containers_stop_fast(lab: Lab, number: int, change: str) -> None:
    conf = "/etc/kolla/nova-compute/nova.conf"
    upper = lab.host_dir(number) / "upper"
    if procs.init_of(lab.host_ns(number)):
        drop_in = f"/{kolla.STOP_DROP_IN}"
        lines = kolla.STOP_FAST.replace("\n", "\\n")
        script = (
            f"sed -i '{change}' {conf}; mkdir -p {Path(drop_in).parent}; printf '{lines}' >{drop_in}; "
            f"systemctl daemon-reload; {lab.options.engine} kill nova_compute; sleep 1; "
            "systemctl start kolla-nova_compute-container"
        )
        run(ssh_command(lab, f"compute{number}", script), timeout=120)
    elif (lab.host_dir(number) / "prepared").exists():
        run(["sed", "-i", change, upper / conf.lstrip("/")])
        write(upper / kolla.STOP_DROP_IN, kolla.STOP_FAST)


def recreate(lab: Lab, number: int, names: list[str]) -> int:
    """What an operator of kolla-ansible's does to give containers the host's name of now."""
    if lab.deploy_of(number) != "kolla":
        raise LabError(f"compute{number} has no containers", hint="lab/lab info --json: hosts with deploy kolla")
    known = [container.name for container in containers.containers(lab, number)]
    for name in names:
        if name not in known:
            raise LabError(f"compute{number} has no container {name}", hint="containers: " + ", ".join(known))
    return subprocess.run(
        ssh_command(lab, f"compute{number}", kolla.RECREATE, *names), stdin=subprocess.DEVNULL
    ).returncode


def state(lab: Lab, number: int) -> str:
    if not procs.is_mounted(lab.host_ns(number)) or not procs.init_of(lab.host_ns(number)):
        return "off"
    return "cut" if network.is_cut(lab, number) else "on"
