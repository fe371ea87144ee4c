# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be true of the machine before anything is done to it; all that is missing is said at once."""

from __future__ import annotations

import ipaddress
import json
import shutil
from pathlib import Path

from . import procs
from .settings import PYTHON, Lab, LabError
from .shell import is_root, run

MEMORY_NEEDED_MB = 4500
CLUSTER_MEMORY_MB = 700
OVN_MEMORY_MB = 300
CINDER_MEMORY_MB = 400
CONTAINERS_MEMORY_MB = {"podman": 100, "docker": 200}
DISK_NEEDED_GB = 8


def require_root() -> None:
    if not is_root():
        raise LabError("the lab needs root: it makes namespaces, mounts and machines", hint="run it with sudo")


def available_memory_mb() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def _debian_12() -> str | None:
    try:
        release = Path("/etc/os-release").read_text()
    except OSError:
        release = ""
    fields = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    if fields.get("ID") != "debian" or fields.get("VERSION_ID", "").strip('"') != "12":
        return f"this is {fields.get('PRETTY_NAME', 'an unknown system')}; the lab is made of Debian 12's own packages"
    return None


def _memory(lab: Lab) -> str | None:
    available = available_memory_mb()
    needed = MEMORY_NEEDED_MB + CLUSTER_MEMORY_MB * (lab.options.clusters - 1)
    needed += OVN_MEMORY_MB if lab.options.l2 == "ovn" else 0
    needed += CINDER_MEMORY_MB if lab.has_cinder else 0
    needed += CONTAINERS_MEMORY_MB[lab.options.engine] * len(lab.kolla_hosts)
    if available < needed and not procs.pids_in(lab.control_ns):
        return f"{available} MiB of memory are available, about {needed} are needed"
    return None


def _disk(lab: Lab) -> list[str]:
    missing = []
    place = next(p for p in (lab.state, *lab.state.parents) if p.exists())
    free = shutil.disk_usage(place).free / 1e9
    if free < DISK_NEEDED_GB and not lab.done("snapshot"):
        missing.append(f"{free:.1f} GB are free at {place}, about {DISK_NEEDED_GB} are needed")
    kind = run(["stat", "-f", "-c", "%T", place], check=False).stdout.strip()
    if kind in ("overlayfs", "nfs", "tmpfs"):
        missing.append(f"{place} is on {kind}, on which the hosts' roots cannot be overlaid; set STACKGUARD_LAB_HOME")
    return missing


def subnet_conflicts(lab: Lab, addresses: list[dict], routes: list[dict]) -> list[str]:  # type: ignore[type-arg]
    """What of the machine's own network already uses the lab's subnet (the lab's own interface apart)."""
    missing = []
    for link in addresses:
        if link.get("ifname") == lab.operator_veth:
            continue
        for entry in link.get("addr_info", []):
            if entry.get("family") == "inet":
                network = ipaddress.IPv4Interface(f"{entry['local']}/{entry['prefixlen']}").network
                if network.overlaps(lab.network):
                    missing.append(
                        f"{lab.network} is taken: {link['ifname']} has {entry['local']}/{entry['prefixlen']}"
                    )
    for route in routes:
        destination = route.get("dst", "default")
        if destination == "default" or route.get("dev") == lab.operator_veth:
            continue
        if ipaddress.IPv4Network(destination, strict=False).subnet_of(lab.network):
            missing.append(f"{lab.network} is taken: there is a route to {destination} by {route.get('dev')}")
    return missing


def check_machine(lab: Lab) -> None:
    missing = [text for text in (_debian_12(), _memory(lab)) if text]
    missing += _disk(lab)
    if not Path(PYTHON).exists():
        missing.append(f"{PYTHON} is missing: apt-get install python3.11")
    if not shutil.which("ip"):
        missing.append("the command ip is missing: apt-get install iproute2")
    else:
        addresses = json.loads(run(["ip", "-j", "address"]).stdout or "[]")
        routes = json.loads(run(["ip", "-j", "-4", "route"]).stdout or "[]")
        taken = subnet_conflicts(lab, addresses, routes)
        if taken:
            missing += taken
            missing.append("another subnet is used with STACKGUARD_LAB_INSTANCE=1 (to 9)")
    if missing:
        raise LabError("this machine cannot run the lab:\n  - " + "\n  - ".join(missing))
