# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Processes of this host, from C(/proc). A process that ends while it is looked at is taken for not there."""

from __future__ import annotations

import os
import shlex
import typing as t

#: Where libvirt notes QEMU's process ids (qemuProcess, ``priv->pidfile``).
_PID_FILES = "/run/libvirt/qemu"
#: States of what does not run any more (proc(5), field 3 of C(stat)): zombie, dead.
DEAD = (b"Z", b"X")
_PIECE = 65536
#: Bytes: what is shorter is whole.
_PAGE = 4096

#: Every process of one moment, by id, ascending, with its arguments.
Table = t.Mapping[int, t.List[str]]


def all_pids(proc: str = "/proc") -> t.List[int]:
    """Return every process id, ascending."""
    return sorted(int(name) for name in os.listdir(proc) if name.isdigit())


def argv(pid: int, proc: str = "/proc") -> t.List[str]:
    """Return a process's arguments, or an empty list where it has none (kernel threads) or is gone.

    A service that changed its title (setproctitle: ``NAME (COMMAND LINE)``) is read from within the brackets.
    """
    raw = _read(pid, "cmdline", proc)
    if raw is None:
        return []
    items = raw.rstrip(b"\0").split(b"\0") if raw.strip(b"\0") else []
    words = [item.decode("utf-8", "replace") for item in items]
    if len(words) == 1 and " (" in words[0] and words[0].rstrip().endswith(")"):
        inner = words[0].split(" (", 1)[1].rstrip()[:-1]
        try:
            return shlex.split(inner)
        except ValueError:
            return words
    return words


def table(proc: str = "/proc") -> Table:
    """Return every process with its arguments.

    A host has hundreds of processes, and five parts of its facts look for some: one table serves those that may see
    the same moment.
    """
    return {pid: argv(pid, proc) for pid in all_pids(proc)}


def environment(pid: int, names: t.Container[str], proc: str = "/proc") -> t.Dict[str, str]:
    """Return those environment variables of a process that are asked for by name; others may be secrets."""
    raw = _read(pid, "environ", proc) or b""
    pairs = (item.decode("utf-8", "replace").partition("=") for item in raw.split(b"\0") if item)
    return {name: value for name, _sign, value in pairs if name in names}


def identity(pid: int, proc: str = "/proc") -> t.Optional[t.Tuple[int, t.List[int]]]:
    """Return the user and the groups by which a process is let at files; None where it is gone."""
    lines = dict(line.split(b":", 1) for line in (_read(pid, "status", proc) or b"").splitlines() if b":" in line)
    if b"Uid" not in lines or b"Gid" not in lines:
        return None
    # Real, effective, saved, of the file system (proc(5)).
    groups = [lines[b"Gid"].split()[3], *lines.get(b"Groups", b"").split()]
    return int(lines[b"Uid"].split()[3]), [int(group) for group in groups]


def start_time(pid: int, proc: str = "/proc") -> t.Optional[int]:
    """Return a process's start in clock ticks since boot (proc(5), field 22 of C(stat)); None where it is gone.

    One that is dead and only waits for its parent to take notice (a zombie) is gone: it does nothing any more.
    """
    raw = _read(pid, "stat", proc)
    if raw is None:
        return None
    # The second field is the command in brackets, and may hold blanks and brackets itself.
    fields = raw[raw.rindex(b")") + 2 :].split()
    return None if fields[0] in DEAD else int(fields[19])


def resident_mib(pid: int, proc: str = "/proc") -> t.Optional[int]:
    """Return a process's resident memory in MiB, huge pages left out; None where it is gone."""
    for line in (_read(pid, "status", proc) or b"").splitlines():
        if line.startswith(b"VmRSS:"):
            return int(line.split()[1]) // 1024
    return None


def qemu_by_uuid(proc: str = "/proc", seen: t.Optional[Table] = None) -> t.Dict[str, t.List[int]]:
    """Return domain uuid to the processes whose arguments bear C(-uuid UUID), as libvirt starts every QEMU.

    Between fork and exec a child bears its parent's arguments: it is no second QEMU.
    """
    result: t.Dict[str, t.List[int]] = {}
    for pid, arguments in (table(proc) if seen is None else seen).items():
        if "-uuid" in arguments[1:-1]:
            result.setdefault(arguments[arguments.index("-uuid", 1) + 1], []).append(pid)
    return {uuid: pids if len(pids) == 1 else _without_forks(pids, proc) for uuid, pids in result.items()}


def _without_forks(pids: t.Sequence[int], proc: str) -> t.List[int]:
    """Return the processes that are no child of another of them. One that has ended meanwhile is not there."""
    there = [pid for pid in pids if os.path.exists(f"{proc}/{pid}")] or list(pids)
    return [pid for pid in there if _parent(pid, proc) not in there]


def _parent(pid: int, proc: str) -> t.Optional[int]:
    """Return a process's parent (proc(5), field 4 of C(stat)); None where it is gone."""
    raw = _read(pid, "stat", proc)
    return None if not raw else int(raw[raw.rindex(b")") + 2 :].split()[1])


def noted_pid(domain_name: str, folder: str = _PID_FILES) -> t.Optional[int]:
    """Return the process id that libvirt noted for a domain, or None."""
    try:
        with open(os.path.join(folder, f"{domain_name}.pid"), encoding="ascii") as stream:
            return int(stream.read().strip())
    except (OSError, ValueError):
        return None


def running(program: str, proc: str = "/proc", seen: t.Optional[Table] = None) -> t.List[int]:
    """Return the processes that run a program: its name is that of the executable or of the script."""
    found = table(proc) if seen is None else seen
    return [pid for pid, arguments in found.items() if runs(arguments, program)]


def runs(arguments: t.Sequence[str], program: str) -> bool:
    """Whether a command line runs a program: by itself, or as a Python script.

    A shell, an editor or a C(grep) that merely bears the name among its arguments does not.
    """
    if not arguments:
        return False
    if os.path.basename(arguments[0]) == program:
        return True
    if not os.path.basename(arguments[0]).startswith("python"):
        return False
    scripts = [item for item in arguments[1:] if not item.startswith("-")]
    return bool(scripts) and os.path.basename(scripts[0]) == program


def same_root(pid: int, proc: str = "/proc") -> bool:
    """Whether a process sees this host's own root directory; one in a container does not."""
    try:
        theirs, ours = os.stat(f"{proc}/{pid}/root/"), os.stat("/")
    except OSError:
        return False
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def _read(pid: int, name: str, proc: str) -> t.Optional[bytes]:
    # Hosts have thousands of processes, and each is looked at several times: a buffered stream takes twice as long.
    try:
        descriptor = os.open(f"{proc}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            first = os.read(descriptor, _PIECE)
            # The kernel fills what it is given (fs/proc/base.c, get_mm_cmdline); status and stat come in one piece.
            if len(first) < _PAGE:
                return first
            return first + b"".join(iter(lambda: os.read(descriptor, _PIECE), b""))
        finally:
            os.close(descriptor)
    except OSError:
        return None
