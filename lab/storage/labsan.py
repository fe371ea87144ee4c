# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cinder's driver of an array that is a model: volumes are loop devices, a machine sees only what is exported to it.

Like arrays with FC and iSCSI it has host objects, each with a name (``connector["host"]``) and an initiator, which
belongs to one of them. Under a second name a machine gets what is exported to the host object that has its initiator;
with the file ``strict`` it is refused, as many arrays do. An export ends with the last attachment of a host *name*.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import stat
import subprocess

from cinder import exception, interface
from cinder.image import image_utils
from cinder.volume import driver
from oslo_config import cfg

OPTIONS = [cfg.StrOpt("lab_san_dir", help="where the array's disks, host objects and exports are")]


@interface.volumedriver
class LabSanDriver(driver.VolumeDriver):
    VERSION = "1.0.0"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.configuration.append_config_values(OPTIONS)
        self.base = pathlib.Path(self.configuration.lab_san_dir)

    @classmethod
    def get_driver_options(cls):
        return OPTIONS

    def check_for_setup_error(self):
        for name in ("disks", "exports"):
            (self.base / name).mkdir(parents=True, exist_ok=True)

    # disks
    def _file(self, volume):
        return self.base / "disks" / volume.name

    def _loop(self, volume):
        """The volume's loop device, if it has one."""
        command = ["losetup", "-n", "-O", "NAME", "-j", str(self._file(volume))]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return listed[0] if listed else None

    def _make_loop(self, volume):
        command = ["losetup", "--find", "--show", str(self._file(volume))]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise exception.VolumeBackendAPIException(data=f"no loop device: {made.stderr.strip()}")
        return made.stdout.strip()

    def create_volume(self, volume):
        with self._file(volume).open("wb") as stream:
            stream.truncate(volume.size << 30)

    def delete_volume(self, volume):
        """And whatever export of it was left: its loop device will be another volume's."""
        self._change(lambda hosts: [self._take(hosts, name, volume) for name in list(hosts)])
        for node in list(self._nodes(volume)):
            node.unlink(missing_ok=True)
        loop = self._loop(volume)
        if loop:
            subprocess.run(["losetup", "--detach", loop], check=False)
        self._file(volume).unlink(missing_ok=True)

    def copy_image_to_volume(self, context, volume, image_service, image_id, **_kwargs):
        path = self._file(volume)
        image_utils.fetch_to_raw(context, image_service, image_id, str(path), "1M", size=volume.size)
        os.truncate(path, volume.size << 30)

    # exports
    def _nodes(self, volume):
        return (self.base / "exports").glob(f"*/{volume.name}")

    def _show(self, volume, node):
        """The machine whose directory of exports it is sees the volume."""
        device = os.stat(self._loop(volume) or self._make_loop(volume)).st_rdev
        node.parent.mkdir(parents=True, exist_ok=True)
        node.unlink(missing_ok=True)
        os.mknod(node, stat.S_IFBLK | 0o600, device)

    def ensure_export(self, _context, volume):
        """At the start of cinder-volume: after a `down` the loop device is another one."""
        for node in list(self._nodes(volume)):
            self._show(volume, node)

    def create_export(self, _context, _volume, _connector):
        """What a machine sees is made when it connects."""

    def remove_export(self, _context, _volume):
        """The last disconnection has done it."""

    # host objects
    def _change(self, change):
        """Lets `change` alter {host: {"initiator": ..., "volumes": [...]}}, one at a time."""
        path = self.base / "hosts.json"
        with (self.base / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            hosts = json.loads(path.read_text()) if path.exists() else {}
            answer = change(hosts)
            scratch = path.with_suffix(".new")
            scratch.write_text(json.dumps(hosts, indent=1))
            scratch.replace(path)
            return answer

    def _take(self, hosts, name, volume):
        """The host object has the volume no more; its machine, or None if it had not."""
        entry = hosts.get(name)
        if entry is None or volume.name not in entry["volumes"]:
            return None
        entry["volumes"].remove(volume.name)
        if not entry["volumes"]:
            del hosts[name]
        return self._machine(entry["initiator"])

    def _machine(self, initiator):
        return initiator.rpartition(":")[2]

    def initialize_connection(self, volume, connector, **_kwargs):
        name, initiator = connector["host"], connector["initiator"]

        def connect(hosts):
            owner = next((host for host, entry in hosts.items() if entry["initiator"] == initiator), name)
            if owner != name and (self.base / "strict").exists():
                raise exception.VolumeBackendAPIException(
                    data=f"initiator {initiator} is already in use by host {owner}, cannot add it to {name}"
                )
            entry = hosts.setdefault(owner, {"initiator": initiator, "volumes": []})
            entry["volumes"] = sorted({*entry["volumes"], volume.name})

        self._change(connect)
        self._show(volume, self.base / "exports" / self._machine(initiator) / volume.name)
        return {"driver_volume_type": "local", "data": {"device_path": f"/dev/lab-san/{volume.name}"}}

    def terminate_connection(self, volume, connector, **_kwargs):
        name = connector["host"]
        if len([entry for entry in volume.volume_attachment if entry.attached_host == name]) > 1:
            return True

        machine = self._change(lambda hosts: self._take(hosts, name, volume))
        if machine:
            (self.base / "exports" / machine / volume.name).unlink(missing_ok=True)
        return False

    def _update_volume_stats(self):
        self._stats = {
            "volume_backend_name": self.configuration.safe_get("volume_backend_name"),
            "vendor_name": "lab",
            "driver_version": self.VERSION,
            "storage_protocol": "iSCSI",
            "total_capacity_gb": 100,
            "free_capacity_gb": 100,
            "reserved_percentage": 0,
            "multiattach": True,
            "QoS_support": False,
        }
