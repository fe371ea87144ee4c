# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage outside Ceph: shares, which are bind mounts of this machine's directories, and the model of an array.

The kernel of many machines has no NFS, iSCSI or device mapper. `storage/` has what stands in for them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from .settings import SOURCE, Lab
from .shell import run

STORAGE = SOURCE / "storage"
#: Where a host finds what libvirtd is given, so that a bind mount is NFS to it.
SHIM = "/usr/local/lib/lab/nfs_statfs.so"
#: Where Nova mounts shares of Cinder's, and keeps the disks of guests that are not in Ceph.
MOUNTS, INSTANCES = "/var/lib/nova/mnt", "/var/lib/nova/instances"


def volumes(lab: Lab) -> Path:
    """The directory that is the share of Cinder's NFS back end."""
    return lab.nfs_dir / "volumes"


def instances(lab: Lab) -> Path:
    return lab.nfs_dir / "instances"


def exports(lab: Lab, number: int) -> Path:
    """The device nodes that the array shows to a machine, by the lab's own name for it: a rename changes nothing."""
    return lab.san_dir / "exports" / f"compute{number}"


def programs(lab: Lab) -> Path:
    return lab.cinder_dir / "bin"


def driver(lab: Lab) -> Path:
    return lab.cinder_dir / "python" / "labsan.py"


def shim(lab: Lab) -> Path:
    return lab.cinder_dir / "nfs_statfs.so"


def export_path(lab: Lab) -> str:
    return f"{lab.controller}:/volumes"


def shared_paths(lab: Lab, number: int) -> list[str]:
    """The host's directories that are on a share, now or whenever Nova mounts one."""
    found = [MOUNTS] if "nfs" in lab.backends else []
    return [*found, INSTANCES] if lab.shares_instances(number) else found


def make(lab: Lab) -> None:
    """Directories and programs; harmless to do again."""
    if lab.has_cinder:
        (lab.cinder_dir / "conversion").mkdir(parents=True, exist_ok=True)
    if "nfs" in lab.backends:
        volumes(lab).mkdir(parents=True, exist_ok=True)
        _copy(STORAGE / "mount.nfs", programs(lab) / "mount.nfs", 0o755)
        (lab.etc / "cinder" / "nfs_shares").write_text(f"{export_path(lab)}\n")
    if "san" in lab.backends:
        for number in lab.host_numbers:
            exports(lab, number).mkdir(parents=True, exist_ok=True)
        # a copy: a running lab keeps its array's driver, and Python's cache is not written beside the source
        _copy(STORAGE / driver(lab).name, driver(lab))
    if lab.options.instances == "shared":
        instances(lab).mkdir(parents=True, exist_ok=True)
    if any(shared_paths(lab, number) for number in lab.host_numbers) and not shim(lab).exists():
        _compile(lab)


def _copy(source: Path, target: Path, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _compile(lab: Lab) -> None:
    shim(lab).parent.mkdir(parents=True, exist_ok=True)
    scratch = shim(lab).with_suffix(".new")
    run(["gcc", "-shared", "-fPIC", "-O2", "-o", scratch, STORAGE / "nfs_statfs.c", "-ldl"])
    scratch.replace(shim(lab))


def prepare(lab: Lab, number: int, upper: Path) -> None:
    """Writes into the upper layer of the host's root what it needs for shares and for the array."""
    paths = shared_paths(lab, number)
    if paths:
        _copy(shim(lab), upper / SHIM.lstrip("/"))
        drop_in = upper / "etc/systemd/system/libvirtd.service.d/lab-shares.conf"
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text(f"[Service]\nEnvironment=LD_PRELOAD={SHIM}\nEnvironment=LAB_SHARES={':'.join(paths)}\n")
    if "nfs" in lab.backends:
        _copy(STORAGE / "mount.nfs", upper / "usr/sbin/mount.nfs", 0o755)
    if "san" in lab.backends:
        name = upper / "etc/iscsi/initiatorname.iscsi"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(f"InitiatorName={initiator(number)}\n")


def initiator(number: int) -> str:
    """What the array knows the machine by; it ends with the lab's own name, whatever the host calls itself."""
    return f"iqn.2026-01.org.stackguard.lab:compute{number}"


def host_mounts(lab: Lab, number: int) -> str:
    """Commands of a host's boot, before its root is its root."""
    wanted: dict[Path, str] = {}
    if "nfs" in lab.backends:
        wanted[volumes(lab)] = "/srv/lab-nfs/volumes"
    if "san" in lab.backends:
        wanted[exports(lab, number)] = "/dev/lab-san"
    if lab.shares_instances(number):
        wanted[instances(lab)] = INSTANCES
    return "\n".join(f'mkdir -p "$R{where}"; mount --bind {what} "$R{where}"' for what, where in wanted.items())


def mounted(lab: Lab) -> list[str | Path]:
    """What is put before cinder-volume's command: the share is where its driver would mount it.

    `ip netns exec` gives each service a mount namespace of its own: nobody else sees this mount, and it ends with it.
    """
    if "nfs" not in lab.backends:
        return []
    point = lab.cinder_dir / "mnt" / hashlib.md5(export_path(lab).encode()).hexdigest()
    return ["sh", "-ec", f'mkdir -p {point}; mount --bind {volumes(lab)} {point}; exec "$@"', "sh"]


def loops(lab: Lab) -> list[str]:
    """The array's volumes that are loop devices now: they are the whole machine's, so they are told by their files."""
    if "san" not in lab.backends:
        return []
    answer = run(["losetup", "--list", "--json", "-O", "NAME,BACK-FILE"]).stdout.strip()
    listed = json.loads(answer)["loopdevices"] if answer else []
    return [entry["name"] for entry in listed if (entry["back-file"] or "").startswith(f"{lab.san_dir}/")]


def release(lab: Lab) -> None:
    """Takes the loop devices away; a volume gets another when it is next exported, or when cinder-volume starts."""
    for device in loops(lab):
        run(["losetup", "--detach", device], check=False)


def empty(lab: Lab) -> None:
    """No volume, no disk of a guest, no host object: as at the end of the first boot."""
    release(lab)
    for folder in (lab.nfs_dir, lab.san_dir):
        # the directories themselves stay: a mount of them may still be there
        for path in (path for path in folder.rglob("*") if not path.is_dir()):
            path.unlink(missing_ok=True)
    for folder in (path for path in instances(lab).glob("*") if path.is_dir()):
        shutil.rmtree(folder)


def san(lab: Lab) -> dict[str, object]:
    """The array: its host objects, what each machine sees, and its volumes."""
    try:
        hosts = json.loads((lab.san_dir / "hosts.json").read_text())
    except FileNotFoundError:
        hosts = {}
    seen = {name: sorted(node.name for node in (lab.san_dir / "exports" / name).glob("*")) for name in lab.host_names}
    volumes_made = sorted(path.name for path in (lab.san_dir / "disks").glob("*"))
    return {"strict": strict(lab).exists(), "hosts": hosts, "exports": seen, "volumes": volumes_made}


def strict(lab: Lab) -> Path:
    """While it is there, the array refuses a machine that comes under a second name."""
    return lab.san_dir / "strict"
