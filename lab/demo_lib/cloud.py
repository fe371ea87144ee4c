# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as the demonstration sees it: all through `lab/lab`, as a person would."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .screen import DemoError

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab" / "lab"


def run(*command: str | Path, stdin: str | None = None, timeout: float = 600, check: bool = True) -> str:
    """Run a command and return its output. Raises DemoError with what it said when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
    )
    if check and done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-1500:]
        raise DemoError(f"{' '.join(str(part) for part in command)[:200]}: exit status {done.returncode}: {said}")
    return done.stdout


def lab(*arguments: str, **options: Any) -> str:
    """One command of the lab."""
    return run(LAB, *arguments, **options)


def info() -> dict[str, Any]:
    return dict(json.loads(lab("info", "--json")))


def on_host(host: str, script: str, timeout: float = 300) -> str:
    """A shell script on a compute host; ``host`` is the lab's own name of it, whatever it calls itself."""
    return lab("ssh", host, "bash", "-s", stdin=script, timeout=timeout)


@dataclass(frozen=True)
class Server:
    """A server as the API shows it."""

    name: str
    id: str
    host: str
    status: str
    task: str | None
    #: In Ceph; the one that it boots from, if there is one, first.
    volumes: tuple[str, ...]

    @property
    def root_disk(self) -> str:
        """Pool and image that it boots from."""
        return f"volumes/volume-{self.volumes[0]}" if self.volumes else f"vms/{self.id}_disk"

    @property
    def root_device(self) -> str:
        """Its device in QEMU: Nova names that of a volume, libvirt any other."""
        return f"ua-{self.volumes[0]}" if self.volumes else "virtio-disk0"


def servers() -> dict[str, Server]:
    rows = json.loads(lab("guests", "list", "--json"))
    keys = ("name", "id", "host", "status", "task")
    return {row["name"]: Server(*(row[key] for key in keys), tuple(row["volumes"])) for row in rows}


@dataclass(frozen=True)
class Domain:
    """A guest as its host sees it. ``pid`` and ``since`` name one process and no other; None when it is off."""

    uuid: str
    name: str
    state: str
    pid: int | None
    since: int | None
    xml: str


_DOMAINS = r"""
for name in $(virsh list --all --name); do
    pid=$(cat "/run/libvirt/qemu/$name.pid" 2>/dev/null)
    since=
    if [ -n "$pid" ]; then since=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f20); fi
    uuid=$(virsh domuuid "$name" 2>/dev/null | head -1)
    state=$(virsh domstate "$name" 2>/dev/null | head -1)
    sum=$(virsh dumpxml "$name" 2>/dev/null | sha256sum | cut -c1-12)
    # one that vanished while it was looked at is gone
    if [ -n "$uuid" ] && [ -n "$state" ]; then echo "$uuid|$name|$state|$pid|$since|$sum"; fi
done
"""


def domains(host: str) -> dict[str, Domain]:
    """The domains of a host by uuid: process, and a checksum of the whole `virsh dumpxml`."""
    found = {}
    for line in on_host(host, _DOMAINS).splitlines():
        uuid, name, state, pid, since, xml = line.split("|")
        found[uuid] = Domain(uuid, name, state, int(pid) if pid else None, int(since) if since else None, xml)
    return found


def watchers(image: str) -> list[str]:
    """Who has an RBD image (with its pool) open: address and client id."""
    status = json.loads(lab("rbd", "status", image, "--format", "json"))
    return sorted(f"{entry['address'].split(':')[0]} (client {entry['client']})" for entry in status["watchers"])


def images(server: Server) -> list[str]:
    """The RBD images of a server, with their pools."""
    listed = json.loads(lab("rbd", "ls", "vms", "--format", "json"))
    own = [f"vms/{name}" for name in listed if name.startswith(server.id)]
    return sorted([*own, *(f"volumes/volume-{volume}" for volume in server.volumes)])


def compute_services() -> dict[str, dict[str, str]]:
    rows = json.loads(lab("openstack", "compute", "service", "list", "--service", "nova-compute", "-f", "json"))
    return {row["Host"]: row for row in rows}


def server_table(*names: str) -> str:
    """`openstack server list --long`, the columns that matter here."""
    columns = ("Name", "Status", "Task State", "Host")
    rows = json.loads(lab("openstack", "server", "list", "--all-projects", "--long", "-f", "json"))
    rows = sorted((row for row in rows if row["Name"] in names), key=lambda row: row["Name"])
    cells = [columns, *(tuple(str(row[column]) for column in columns) for row in rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)
