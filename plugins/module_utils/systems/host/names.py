# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host's own names, read and set one at a time: kernel and static host name, Open vSwitch's external_ids."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import typing as t

from . import commands, deployment, processes
from .reading import HostError

STATIC = "/etc/hostname"
#: Seconds. A hostnamectl without its daemon gives up after 25.
_PATIENCE = 40
_OVS_TIMEOUT = 5


class HostNameError(HostError):
    """A name cannot be read or set: why."""


def kernel_name() -> str:
    """Return the kernel's host name: what Nova takes for an unset C(host)."""
    return socket.gethostname()


def static_name(path: str = STATIC) -> t.Optional[str]:
    """Return the static host name as systemd reads it (hostname(5)); None where none is set. Raises OSError."""
    try:
        with open(path, encoding="utf-8") as stream:
            lines = [line.strip() for line in stream]
    except FileNotFoundError:
        return None
    names = [line for line in lines if line and not line.startswith("#")]
    return names[0] if names else None


def set_name(name: str, state_dir: str) -> None:
    """Set the static host name, and the kernel's with it. Raises :class:`HostNameError`.

    Through hostnamectl, so that systemd-hostnamed knows; without it, by the file and the system call.
    """
    if static_name() != name and not _run(["hostnamectl", "--static", "set-hostname", name]):
        # A host that is only read does not compile it.
        from . import line_edits

        line_edits.write(STATIC, f"{name}\n".encode(), state_dir)
    set_kernel_name(name)


def set_kernel_name(name: str) -> None:
    """Set the kernel's host name alone, if it is another. Raises :class:`HostNameError`."""
    if kernel_name() != name:
        try:
            socket.sethostname(name)
        except OSError as error:
            raise HostNameError(f"the kernel's host name: {error.strerror}") from error


def _run(command: t.List[str]) -> bool:
    try:
        done = commands.run(command, _PATIENCE)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def ovs_external_ids(seen: t.Optional[processes.Table] = None) -> t.Dict[str, str]:
    """Return Open vSwitch's external_ids. Raises :class:`HostNameError`."""
    out = _ovs("--format=json", "--columns=external_ids", "list", "Open_vSwitch", seen=seen)
    rows = json.loads(out)["data"]
    return {str(key): str(value) for key, value in rows[0][0][1]} if rows else {}


def set_ovs_external_id(key: str, value: str) -> None:
    """Set one of Open vSwitch's external_ids. Raises :class:`HostNameError`."""
    # In quotes: ovs-vsctl takes a JSON string for its text, whatever is in it.
    _ovs("set", "Open_vSwitch", ".", f"external_ids:{key}={json.dumps(value)}")


def remove_ovs_external_id(key: str) -> None:
    """Remove one of Open vSwitch's external_ids, if it is there. Raises :class:`HostNameError`."""
    _ovs("remove", "Open_vSwitch", ".", "external_ids", json.dumps(key))


def ovs_version() -> t.Optional[str]:
    """Return the version of Open vSwitch's tools, such as C(3.1.0); None: they do not say. Raises HostNameError."""
    found = re.search(r"\(Open vSwitch\) (\d+(?:\.\d+)+)", _ovs("--version"))
    return found.group(1) if found else None


def _ovs(*arguments: str, seen: t.Optional[processes.Table] = None) -> str:
    words = _ovs_container(seen) if shutil.which("ovs-vsctl") is None else ()
    command = [*words, "ovs-vsctl", f"--timeout={_OVS_TIMEOUT}", *arguments]
    try:
        done = commands.run(command, _PATIENCE, variables={"LC_ALL": "C"})
    except FileNotFoundError:
        missing = f"{words[0]} was not found" if words else "Open vSwitch is not installed"
        key = "no-engine" if words else "no-open-vswitch"
        raise HostNameError(f"{missing} on this host", problem=key) from None
    except subprocess.TimeoutExpired:
        raise HostNameError(f"ovs-vsctl: no answer within {_PATIENCE} s") from None
    if done.returncode:
        raise HostNameError(f"ovs-vsctl: {done.stderr.decode('utf-8', 'replace').strip()[:400]}")
    return done.stdout.decode("utf-8", "replace")


def _ovs_container(seen: t.Optional[processes.Table]) -> t.Tuple[str, ...]:
    """Return the words that run a program in the container of Open vSwitch, which then has its tools."""
    found = (deployment.words_into(pid) for pid in processes.running("ovs-vswitchd", seen=seen))
    return next((words for words in found if words), ())
