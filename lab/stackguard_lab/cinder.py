# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cinder (`--cinder`): what its configuration and Nova's say of volumes, its services, its database."""

from __future__ import annotations

import hashlib
from pathlib import Path

from . import shares
from .procs import Daemon, in_control
from .settings import VOLUME_POOL, ZONES, Lab
from .shell import CLEAN_ENV

# libvirt's secret that holds the key of Ceph's client.cinder; all that a host has of that user
SECRET = "99b35e37-5f0a-4a0f-9e6a-0a4c7d5c21cd"
# what every release of Cinder has
APPLICATION = "cinder.wsgi.wsgi:initialize_application()"
SERVICES = ("cinder-api", "cinder-scheduler", "cinder-volume")
# One arena for all threads, and no resolver of eventlet's own: each of the processes is smaller by some MiB.
LEAN_PYTHON = {"MALLOC_ARENA_MAX": "1", "EVENTLET_NO_GREENDNS": "yes"}


def zones(lab: Lab) -> list[str]:
    """The zones that have hosts: each has a back end in Ceph."""
    return sorted({lab.zone_of(number) for number in lab.host_numbers})


def backends(lab: Lab) -> dict[str, dict[str, object]]:
    """Back ends and their options. Those of Ceph have one name for volume types; a volume's zone chooses."""
    found: dict[str, dict[str, object]] = {}
    if "ceph" in lab.backends:
        found |= {f"ceph-{zone}": _ceph(lab, zone) for zone in zones(lab)}
    if "nfs" in lab.backends:
        found["nfs"] = _nfs(lab)
    if "san" in lab.backends:
        found["san"] = {"volume_driver": "labsan.LabSanDriver", "lab_san_dir": lab.san_dir, **_in_zone("san", ZONES[0])}
    return found


def _in_zone(name: str, zone: str) -> dict[str, object]:
    return {"volume_backend_name": name, "backend_availability_zone": zone}


def _ceph(lab: Lab, zone: str) -> dict[str, object]:
    return {
        "volume_driver": "cinder.volume.drivers.rbd.RBDDriver",
        **_in_zone("ceph", zone),
        "rbd_pool": VOLUME_POOL,
        "rbd_user": "cinder",
        "rbd_ceph_conf": lab.ceph_conf,
        "rbd_secret_uuid": SECRET,
    }


def _nfs(lab: Lab) -> dict[str, object]:
    return {
        "volume_driver": "cinder.volume.drivers.nfs.NfsDriver",
        **_in_zone("nfs", ZONES[0]),
        "nfs_shares_config": lab.etc / "cinder" / "nfs_shares",
        "nfs_mount_point_base": lab.cinder_dir / "mnt",
        # all is root's here, and a share that is a bind mount knows no other
        "nas_secure_file_operations": "false",
        "nas_secure_file_permissions": "false",
    }


def types(lab: Lab) -> list[str]:
    """The volume types, the default first."""
    in_ceph = ["ceph", "multiattach", *(["luks"] if lab.has_luks else [])]
    return [*in_ceph, *lab.backends[1:]] if lab.has_cinder else []


def key_manager(lab: Lab, package: str) -> str:
    """There is no barbican: one fixed key, which Cinder and Nova both know, and which is the lab's own."""
    if not lab.has_luks:
        return ""
    key = hashlib.sha256(f"{lab.options.password}/luks".encode()).hexdigest()
    return f"[key_manager]\nbackend = {package}.keymgr.conf_key_mgr.ConfKeyManager\nfixed_key = {key}"


def values(lab: Lab) -> dict[str, object]:
    """For templates; there in any lab."""
    found = backends(lab)
    return {
        "cinder_venv": lab.cinder_venv,
        "cinder_dir": lab.cinder_dir,
        "enabled_backends": ",".join(found),
        "backends": "\n".join(
            f"[{name}]\n" + "\n".join(f"{option} = {value}" for option, value in options.items())
            for name, options in found.items()
        ),
        "cinder_key_manager": key_manager(lab, "cinder"),
        "nova_key_manager": key_manager(lab, "nova"),
    }


def api_env(lab: Lab) -> dict[str, str]:
    """No variable names its configuration: what gunicorn's post_fork puts into sys.argv does."""
    return {"LAB_WSGI_ARGUMENTS": f"--config-file {lab.cinder_conf}", **LEAN_PYTHON}


def daemons(lab: Lab) -> list[Daemon]:
    """The services beside the API, which is as the other APIs are."""
    if not lab.has_cinder:
        return []
    programs = lab.cinder_venv / "bin"
    conf: list[str | Path] = ["--config-file", lab.cinder_conf]
    log: list[str | Path] = ["--log-file", lab.log / "cinder-volume.log"]
    volume = [*shares.mounted(lab), programs / "python", shares.STORAGE / "cinder_volume.py", *conf, *log]
    env = {
        "PATH": f"{shares.programs(lab)}:{CLEAN_ENV['PATH']}",
        "PYTHONPATH": str(shares.driver(lab).parent),
        **LEAN_PYTHON,
    }
    return [
        Daemon(lab, "cinder-scheduler", [programs / "cinder-scheduler", *conf], env=LEAN_PYTHON),
        Daemon(lab, "cinder-volume", volume, env=env),
    ]


def schema(lab: Lab) -> None:
    manage: list[str | Path] = [lab.cinder_venv / "bin" / "cinder-manage", "--config-file", lab.cinder_conf]
    in_control(lab, *manage, "db", "sync", log=lab.log / "schema-cinder.log")
