# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts as kolla-ansible makes them (`--deploy kolla`): the services run in containers, started by units of the host.

Names, volumes, configuration directories and units are kolla-ansible's. The images are not: there is no registry. An
image is a few files of the machine's /etc; the programs are the machine's own, mounted read-only.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import uuid
from pathlib import Path

from .config import render, secrets, write
from .containers import CONFIG, Container, arguments, containers, unit_text, volumes
from .settings import SOURCE, Lab, LabError
from .shell import run

LOGS = "/var/log/kolla"
#: Where the containers nova_ssh listen.
SSH_PORT = 8022
#: Where a host keeps what its containers are made of, and the command that makes them.
HOME = "usr/local/lib/lab/kolla"
RECREATE = f"/{HOME}/containers recreate"
#: Ansible's namespace of to_uuid, by which kolla-ansible derives a compute_id from the host's name.
TO_UUID = uuid.UUID("361e6d51-faec-444a-9079-341386da8e2e")
# conmon stays as long as the guests that its container of libvirt started, and systemd waits 90 s for conmon.
STOP_DROP_IN = "etc/systemd/system/kolla-nova_libvirt-container.service.d/lab.conf"
STOP_FAST = "[Service]\nTimeoutStopSec=5\n"
# The host's packages bring libvirt's units, too; on a kolla host nothing but the container may have /run/libvirt.
MASKED = [
    f"{daemon}{suffix}"
    for daemon, suffixes in {
        "libvirtd": (".service", ".socket", "-ro.socket", "-admin.socket", "-tcp.socket", "-tls.socket"),
        "virtlogd": (".service", ".socket", "-admin.socket"),
        "virtlockd": (".service", ".socket", "-admin.socket"),
    }.items()
    for suffix in suffixes
]
MASKED += ["libvirt-guests.service", "ovn-controller.service", "ovs-record-hostname.service"]
# What the programs read there. A whole /etc would put the machine's secrets into an image.
IMAGE_ETC = """
passwd group nsswitch.conf ld.so.conf ld.so.conf.d ld.so.cache host.conf gai.conf services protocols rpc localtime
timezone os-release debian_version alternatives python3 python3.11 ssl/openssl.cnf mke2fs.conf libnl-3 iproute2
ethertypes xattr.conf mime.types login.defs profile bash.bashrc default/locale libvirt/libvirt.conf
""".split()  # noqa: SIM905
IMAGE_FOLDERS = """
usr/bin usr/sbin usr/lib usr/lib64 usr/share usr/libexec usr/local/bin run proc sys dev root home mnt opt srv boot
etc/nova etc/neutron etc/ceph etc/libvirt/qemu/networks etc/openvswitch etc/ovn var/cache var/log/kolla
var/lib/kolla/config_files var/lib/nova var/lib/libvirt var/lib/neutron var/lib/openvswitch
""".split()  # noqa: SIM905
IMAGE_LINKS = {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")} | {"var/run": "/run"}


def compute_id(number: int) -> str:
    return str(uuid.uuid5(TO_UUID, f"compute{number}"))


def prepare(lab: Lab, number: int, upper: Path, known: dict[str, object]) -> None:
    """Writes into the upper layer of the host's root what makes it a host of kolla-ansible's."""
    _engine(lab, upper)
    found = containers(lab, number)
    _recipes(lab, upper, found)
    for container in found:
        CONFIGURATIONS[container.service](lab, upper / container.config.lstrip("/"), number, known)
    if lab.has_openvswitch:
        _switch(lab, upper, known)
    system = upper / "etc/systemd/system"
    # kolla-ansible enables its units for multi-user.target, which a host of the lab does not reach
    for container in found:
        _want(upper, "lab.target", container.unit)
    write(system / "kolla-setup.service", render("kolla-setup.service"))
    _want(upper, "lab.target", "kolla-setup.service")
    if lab.options.fast_stop:
        write(upper / STOP_DROP_IN, STOP_FAST)
    for unit in MASKED:
        (system / unit).symlink_to("/dev/null")


def _engine(lab: Lab, upper: Path) -> None:
    """The engine's packages, unpacked beside the machine's own, and its configuration."""
    layer = lab.engine_dir
    if not (layer / "usr").is_dir():
        raise LabError(f"{lab.options.engine} is not unpacked at {layer}", hint="lab/lab up")
    # A package's files are replaced and never changed in place, so all hosts can have the very same ones.
    run(["cp", "-a", "--link", layer / "usr", upper])
    etc = layer / "etc"
    if etc.is_dir():
        run(["cp", "-a", etc, upper])
        shutil.rmtree(upper / "etc/cni", ignore_errors=True)
    for name in ("usr/lib/modules", "usr/libexec"):
        (upper / name).mkdir(parents=True, exist_ok=True)
    write(upper / "etc/tmpfiles.d/kolla.conf", render("kolla-tmpfiles.conf"))
    for name, text in {"timezone": "Etc/UTC\n", "localtime": ""}.items():
        if not Path("/etc", name).exists():
            write(upper / "etc" / name, text)
    if lab.options.engine == "podman":
        _podman(upper)
    else:
        _docker(upper)


def _podman(upper: Path) -> None:
    write(upper / "etc/containers/containers.conf", render("kolla-containers.conf"))
    write(upper / "etc/containers/storage.conf", render("kolla-storage.conf"))
    # kolla-ansible's module talks to it
    _want(upper, "sockets.target", "podman.socket", "/lib/systemd/system")


def _docker(upper: Path) -> None:
    write(upper / "etc/docker/daemon.json", render("kolla-docker.json"))
    write(upper / HOME / "runc-lab", (SOURCE / "kolla" / "runc-lab").read_text(), 0o755)
    groups = Path("/etc/group").read_text()
    # docker.socket belongs to it; the package would make it where it is installed
    if not any(line.startswith("docker:") for line in groups.splitlines()):
        write(upper / "etc/group", f"{groups.rstrip()}\ndocker:x:998:\n")
    for unit in ("containerd.service", "docker.service"):
        _want(upper, "lab.target", unit, "/lib/systemd/system")


def _want(upper: Path, target: str, unit: str, folder: str = "/etc/systemd/system") -> None:
    wants = upper / f"etc/systemd/system/{target}.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (wants / unit).symlink_to(f"{folder}/{unit}")


def _recipes(lab: Lab, upper: Path, found: list[Container]) -> None:
    """What the host makes its images and containers of."""
    home = upper / HOME
    home.mkdir(parents=True, exist_ok=True)
    image_root(home / "rootfs.tar")
    lists = {
        "engine": [lab.options.engine],
        "images": list(dict.fromkeys(container.image(lab) for container in found)),
        "volumes": volumes(found),
        "names": [container.name for container in found],
    }
    for name, lines in lists.items():
        write(home / name, "".join(f"{line}\n" for line in lines))
    for container in found:
        write(home / f"{container.name}.args", "".join(f"{word}\n" for word in arguments(lab, container)))
        write(home / f"{container.name}.unit", unit_text(lab, container))
    write(home / "containers", (SOURCE / "kolla" / "containers").read_text(), 0o755)


def image_root(path: Path) -> None:
    """The root of every image: a few files of the machine, the start scripts, and folders to mount the rest on."""
    # docker makes a folder that the archive does not name with mode 0600: privsep, root without CAP_DAC_OVERRIDE, could
    # import nothing below it, and neutron's agent would handle no port.
    named = [*map(Path, IMAGE_FOLDERS), *(Path("etc", name) for name in IMAGE_ETC)]
    above = {str(folder) for name in named for folder in name.parents} - {"."}
    with tarfile.open(path, "w") as archive:
        for name in sorted({*IMAGE_FOLDERS, *above}):
            _folder(archive, name)
        for name in ("tmp", "var/tmp"):
            _folder(archive, name, 0o1777)
        for name, target in IMAGE_LINKS.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name in IMAGE_ETC:
            if Path("/etc", name).exists():
                archive.add(f"/etc/{name}", f"etc/{name}")
        for script in ("kolla_start", "kolla_extend_start", "kolla_set_configs"):
            archive.add(SOURCE / "kolla" / script, f"usr/local/bin/{script}", filter=_program)


def _folder(archive: tarfile.TarFile, name: str, mode: int = 0o755) -> None:
    folder = tarfile.TarInfo(name)
    folder.type, folder.mode = tarfile.DIRTYPE, mode
    archive.addfile(folder)


def _program(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mode, info.uid, info.gid, info.uname, info.gname = 0o755, 0, 0, "root", "root"
    return info


def _write_config(folder: Path, command: str, files: dict[str, str], programs: tuple[str, ...] = ()) -> None:
    """config.json: the command, and where the files of this folder go to in the container."""
    entries = [
        {"source": f"{CONFIG}/{name}", "dest": where, "owner": "root", "perm": "0755" if name in programs else "0600"}
        for name, where in files.items()
    ]
    write(folder / "config.json", json.dumps({"command": command, "config_files": entries}, indent=4) + "\n", 0o660)


def _compute_files(lab: Lab, folder: Path, number: int, settings: dict[str, object]) -> None:
    write(folder / "nova.conf", render("nova-compute.conf", **settings), 0o660)
    write(folder / "compute_id", compute_id(number), 0o660)
    write(folder / "ceph.conf", render("host-ceph.conf", **settings), 0o660)
    keyring = "ceph.client.nova.keyring"
    write(folder / keyring, (lab.cluster_of(number).keys / keyring).read_text(), 0o660)
    _ssh_client(lab, folder)
    files = {
        "nova.conf": "/etc/nova/nova.conf",
        "id_rsa": "/root/.ssh/id_ed25519",
        "ssh_config": "/root/.ssh/config",
        "compute_id": "/var/lib/nova/compute_id",
        keyring: f"/etc/ceph/{keyring}",
        "ceph.conf": "/etc/ceph/ceph.conf",
    }
    _write_config(folder, f"{lab.nova_venv}/bin/nova-compute", files)


def ssh_config(lab: Lab) -> str:
    """For cold migrations: nova_ssh of a host with containers listens beside the host's own sshd."""
    addresses = [lab.host_address(number) for number in lab.kolla_hosts]
    contained = [f"Host {' '.join(addresses)}", f"Port {SSH_PORT}"] if addresses else []
    every = ["Host *", "StrictHostKeyChecking no", "UserKnownHostsFile /dev/null", "LogLevel ERROR"]
    return "".join(f"{line}\n" for line in [*contained, *every])


def _ssh_client(lab: Lab, folder: Path) -> None:
    write(folder / "id_rsa", lab.ssh_key.read_text(), 0o600)
    write(folder / "ssh_config", ssh_config(lab), 0o600)


def _ssh_files(lab: Lab, folder: Path, number: int, _settings: dict[str, object]) -> None:
    write(folder / "sshd_config", render("kolla-sshd_config", port=SSH_PORT), 0o600)
    write(folder / "host_key", (lab.host_dir(number) / "ssh_host_ed25519_key").read_text(), 0o600)
    write(folder / "id_rsa.pub", Path(f"{lab.ssh_key}.pub").read_text(), 0o600)
    files = {
        "sshd_config": "/etc/ssh/sshd_config",
        "host_key": "/etc/ssh/ssh_host_ed25519_key",
        "id_rsa.pub": "/root/.ssh/authorized_keys",
    }
    _write_config(folder, "/usr/sbin/sshd -D", files)


def _libvirt_files(lab: Lab, folder: Path, number: int, settings: dict[str, object]) -> None:
    write(folder / "libvirtd.conf", render("kolla-libvirtd.conf", **settings), 0o660)
    write(folder / "qemu.conf", render("host-qemu.conf", **settings), 0o660)
    write(folder / "ceph.conf", render("host-ceph.conf", **settings), 0o660)
    for name, text in secrets(lab, number).items():
        write(folder / "secrets" / name, text, 0o600)
    write(folder / "hooks/qemu", (SOURCE / "kolla" / "qemu-hook").read_text(), 0o755)
    files = {
        "libvirtd.conf": "/etc/libvirt/libvirtd.conf",
        "qemu.conf": "/etc/libvirt/qemu.conf",
        "secrets": "/etc/libvirt/secrets",
        "hooks": "/etc/libvirt/hooks",
        "ceph.conf": "/etc/ceph/ceph.conf",
    }
    _write_config(folder, "/usr/sbin/libvirtd --listen", files, ("hooks",))


def _database_files(_lab: Lab, folder: Path, _number: int, _settings: dict[str, object]) -> None:
    command = (
        "/usr/sbin/ovsdb-server /var/lib/openvswitch/conf.db -vconsole:emer -vsyslog:err -vfile:info"
        " --remote=punix:/run/openvswitch/db.sock --remote=ptcp:6640:127.0.0.1"
        f" --log-file={LOGS}/openvswitch/ovsdb-server.log --pidfile"
    )
    _write_config(folder, command, {})


def _vswitchd_files(_lab: Lab, folder: Path, _number: int, _settings: dict[str, object]) -> None:
    command = (
        "/usr/sbin/ovs-vswitchd unix:/run/openvswitch/db.sock -vconsole:emer -vsyslog:err -vfile:info"
        f" --log-file={LOGS}/openvswitch/ovs-vswitchd.log --pidfile"
    )
    _write_config(folder, command, {})


def _agent_files(lab: Lab, folder: Path, _number: int, settings: dict[str, object]) -> None:
    write(folder / "neutron.conf", render("host-neutron.conf", **settings), 0o660)
    write(folder / "openvswitch_agent.ini", render("host-openvswitch_agent.ini"), 0o660)
    plugin = "/etc/neutron/plugins/ml2/openvswitch_agent.ini"
    command = (
        f"{lab.control_venv}/bin/neutron-openvswitch-agent"
        f" --config-file /etc/neutron/neutron.conf --config-file {plugin}"
    )
    _write_config(folder, command, {"neutron.conf": "/etc/neutron/neutron.conf", "openvswitch_agent.ini": plugin})


def _controller_files(_lab: Lab, folder: Path, _number: int, _settings: dict[str, object]) -> None:
    command = (
        "/usr/bin/ovn-controller --pidfile=/run/ovn/ovn-controller.pid"
        f" --log-file={LOGS}/openvswitch/ovn-controller.log unix:/run/openvswitch/db.sock"
    )
    _write_config(folder, command, {})


def _metadata_files(lab: Lab, folder: Path, _number: int, settings: dict[str, object]) -> None:
    write(folder / "neutron.conf", render("host-neutron.conf", **settings), 0o660)
    write(folder / "neutron_ovn_metadata_agent.ini", render("host-ovn_metadata_agent.ini", **settings), 0o660)
    agent = "neutron-ovn-metadata-agent"
    write(folder / agent, render("host-ovn-metadata-agent.py", **settings), 0o755)
    files = {
        "neutron.conf": "/etc/neutron/neutron.conf",
        "neutron_ovn_metadata_agent.ini": "/etc/neutron/neutron_ovn_metadata_agent.ini",
        agent: f"/usr/local/bin/{agent}",
    }
    command = (
        f"{lab.control_venv}/bin/python /usr/local/bin/{agent} --config-file /etc/neutron/neutron.conf"
        " --config-file /etc/neutron/neutron_ovn_metadata_agent.ini"
    )
    _write_config(folder, command, files, (agent,))


CONFIGURATIONS = {
    "nova-compute": _compute_files,
    "nova-libvirt": _libvirt_files,
    "nova-ssh": _ssh_files,
    "openvswitch-db-server": _database_files,
    "openvswitch-vswitchd": _vswitchd_files,
    "neutron-openvswitch-agent": _agent_files,
    "ovn-controller": _controller_files,
    "neutron-ovn-metadata-agent": _metadata_files,
}


def _switch(lab: Lab, upper: Path, settings: dict[str, object]) -> None:
    """The switch's identity and bridges, by drop-ins of its units: they stay when a unit is written again."""
    kind = "host-ovn" if lab.options.l2 == "ovn" else "kolla-ovs"
    for name in ("identity", "bridges"):
        write(upper / "usr/local/lib/lab" / f"ovs-{name}", render(f"{kind}-{name}.sh", **settings), 0o755)
    system = upper / "etc/systemd/system"
    drop_ins = {"openvswitch_db": "kolla-identity-dropin.conf", "openvswitch_vswitchd": "kolla-bridges-dropin.conf"}
    for name, template in drop_ins.items():
        write(system / f"kolla-{name}-container.service.d/lab.conf", render(template))
