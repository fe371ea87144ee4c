# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Namespaces, the lab's bridge, the hosts' cables and the operator's way in."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import procs
from .settings import Lab
from .shell import run

BRIDGE = "br-lab"
PROVIDER = "br-prov"


def _ip(*args: str, namespace: str | None = None, check: bool = True) -> bool:
    where = ["-n", namespace] if namespace else []
    return run(["ip", *where, *args], check=check).returncode == 0


def _link_exists(name: str, namespace: str | None = None) -> bool:
    return _ip("link", "show", name, namespace=namespace, check=False)


def add_namespace(name: str) -> None:
    if procs.is_mounted(name):
        return
    (procs.NETNS / name).unlink(missing_ok=True)
    _ip("netns", "add", name)
    _ip("link", "set", "lo", "up", namespace=name)


def remove_namespace(name: str) -> None:
    if procs.is_mounted(name):
        _ip("netns", "delete", name, check=False)
    (procs.NETNS / name).unlink(missing_ok=True)


def reachable(lab: Lab) -> bool:
    """Whether the operator's leg into the lab is there: only then are the addresses behind it the lab's own."""
    if not procs.is_mounted(lab.control_ns):
        return False
    shown = run(["ip", "-br", "-4", "address", "show", "dev", lab.operator_veth], check=False).stdout
    return f"{lab.operator}/24" in shown


def control_up(lab: Lab) -> None:
    """The control plane's namespace with its bridge, and the operator's own leg into it."""
    _hosts_file(lab)
    add_namespace(lab.control_ns)
    if not _link_exists(BRIDGE, lab.control_ns):
        _ip("link", "add", BRIDGE, "type", "bridge", namespace=lab.control_ns)
        _ip("address", "add", f"{lab.controller}/24", "dev", BRIDGE, namespace=lab.control_ns)
        _ip("link", "set", BRIDGE, "up", namespace=lab.control_ns)
    for cluster in lab.clusters[1:]:
        # after the controller's own, so that what the controller sends still comes from there
        _ip("address", "replace", f"{cluster.address}/24", "dev", BRIDGE, namespace=lab.control_ns)
    if lab.has_openvswitch and not _link_exists(PROVIDER, lab.control_ns):
        _ip("link", "add", PROVIDER, "type", "bridge", namespace=lab.control_ns)
        _ip("link", "set", PROVIDER, "up", namespace=lab.control_ns)
    if lab.options.l2 == "ovn":
        mask = lab.provider_network.prefixlen
        _ip("address", "replace", f"{lab.outside}/{mask}", "dev", PROVIDER, namespace=lab.control_ns)
        _no_offload(lab.control_ns, PROVIDER)
    if _link_exists(lab.operator_veth) and not _link_exists("op", lab.control_ns):
        _ip("link", "delete", lab.operator_veth)
    if not _link_exists(lab.operator_veth):
        _ip("link", "add", lab.operator_veth, "type", "veth", "peer", "name", "op", "netns", lab.control_ns)
    _ip("link", "set", "op", "master", BRIDGE, "up", namespace=lab.control_ns)
    _ip("address", "replace", f"{lab.operator}/24", "dev", lab.operator_veth)
    _ip("link", "set", lab.operator_veth, "up")


def _no_offload(namespace: str, link: str) -> None:
    """The userspace datapath takes packets as they are: a checksum that a card was to fill in would stay wrong."""
    run(["ip", "netns", "exec", namespace, "ethtool", "-K", link, "tx", "off"])


def _hosts_file(lab: Lab) -> None:
    """ip-netns lays this over /etc/hosts for what runs in the namespace; the machine's own file stays as it is."""
    folder = Path("/etc/netns") / lab.control_ns
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hosts").write_text(hosts_text(lab))


def hosts_text(lab: Lab) -> str:
    lines = ["127.0.0.1 localhost", f"{lab.controller} controller"]
    lines += [f"{lab.host_address(n)} compute{n}" for n in lab.host_numbers]
    return "\n".join(lines) + "\n"


def stranger_up(lab: Lab) -> None:
    """A machine that is no part of the cloud: one cable into the lab, an address of its own."""
    add_namespace(lab.stranger_ns)
    if not _link_exists("eth0", lab.stranger_ns):
        _ip("link", "delete", "v-x", namespace=lab.control_ns, check=False)
        peer = ["peer", "name", "eth0", "netns", lab.stranger_ns]
        _ip("link", "add", "v-x", "type", "veth", *peer, namespace=lab.control_ns)
    _ip("link", "set", "v-x", "master", BRIDGE, "up", namespace=lab.control_ns)
    _ip("link", "set", "eth0", "up", namespace=lab.stranger_ns)
    _ip("address", "replace", f"{lab.stranger}/24", "dev", "eth0", namespace=lab.stranger_ns)


def host_cables(lab: Lab, number: int) -> list[tuple[str, str, str]]:
    """(end at the control plane, end at the host, bridge) of each cable of a host."""
    cables = [(f"v-c{number}", "eth0", BRIDGE)]
    if lab.has_openvswitch:
        cables.append((f"p-c{number}", "eth1", PROVIDER))
    return cables


def host_up(lab: Lab, number: int) -> None:
    namespace = lab.host_ns(number)
    add_namespace(namespace)
    for ours, theirs, bridge in host_cables(lab, number):
        if not _link_exists(theirs, namespace):
            _ip("link", "delete", ours, namespace=lab.control_ns, check=False)
            _ip(
                "link",
                "add",
                ours,
                "type",
                "veth",
                "peer",
                "name",
                theirs,
                "netns",
                namespace,
                namespace=lab.control_ns,
            )
        _ip("link", "set", ours, "master", bridge, "up", namespace=lab.control_ns)
        _ip("link", "set", theirs, "up", namespace=namespace)
        if lab.options.l2 == "ovn" and bridge == PROVIDER:
            _no_offload(lab.control_ns, ours)
            _no_offload(namespace, theirs)
    _ip("link", "set", "eth0", "address", f"52:54:00:99:{lab.instance:02x}:{number:02x}", namespace=namespace)
    _ip("address", "replace", f"{lab.host_address(number)}/24", "dev", "eth0", namespace=namespace)


def host_cut(lab: Lab, number: int, state: str) -> None:
    for ours, _theirs, _bridge in host_cables(lab, number):
        _ip("link", "set", ours, state, namespace=lab.control_ns)


def is_cut(lab: Lab, number: int) -> bool:
    shown = run(["ip", "-n", lab.control_ns, "-br", "link", "show", f"v-c{number}"], check=False).stdout
    return ",UP" not in shown and "<UP" not in shown


def remove(lab: Lab) -> None:
    if _link_exists(lab.operator_veth):
        _ip("link", "delete", lab.operator_veth, check=False)
    for name in lab.namespaces:
        remove_namespace(name)
    shutil.rmtree(Path("/etc/netns") / lab.control_ns, ignore_errors=True)
    folder = Path("/etc/netns")
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()
