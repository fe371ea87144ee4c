# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads how nova-compute, libvirt and the network agents are deployed here: from /proc, unit files and files of tools.

No engine of containers is asked: what runs is in /proc, and what would start is in unit files. Nothing is judged here
(C(model/deployment.py) does, on the controller), and of configuration files only whether they differ leaves the host.
"""

from __future__ import annotations

import array
import errno
import fcntl
import glob
import os
import platform
import re
import shlex
import struct
import typing as t

from ...model.deployment_facts import (
    DOCKER,
    KUBERNETES,
    LXC,
    OTHER_ROOT,
    PODMAN,
    DeployedUnit,
    Deployment,
    GuestProcess,
    PendingFile,
    ServiceProcess,
)
from . import (
    container_files,
    mounts,
    name_spaces,
    processes,
    units,
)
from .reading import ReadError

#: Programs by whose processes a deployment is told. What a rename must not leave behind is among them.
PROGRAMS = re.compile(r"nova-compute|libvirtd|virtqemud|neutron-[a-z0-9-]*agent|ovn-controller|ovs-vswitchd")
#: Units that deployment tools write.
UNITS = re.compile(
    r"(?:kolla-[\w.-]+-container|edpm_[\w.-]+|snap\.openstack-hypervisor\.[\w.-]+|jujud-machine-[\w-]+"
    r"|nova-compute|openstack-nova-compute|devstack@n-cpu)\.service"
)
#: Where unit files are, the first one counts (systemd.unit(5)).
UNIT_FOLDERS = (
    *("/etc/systemd/system", "/run/systemd/transient", "/run/systemd/system", "/run/systemd/generator"),
    *(*units.PACKAGED, "/run/systemd/generator.late"),
)
#: Files and directories that tools leave: patterns.
SIGNS = (
    "/etc/kolla/nova-compute/config.json",
    "/var/lib/openstack/nova/02-nova-host-specific.conf",
    "/var/snap/openstack-hypervisor",
    "/openstack/venvs/nova-*",
)
#: Directories of nova-compute's container that are asked for, besides its state_path.
FOLDERS = (container_files.CONFIG_FILES, "/etc/nova", "/var/log/kolla")
_ENGINES = (
    (KUBERNETES, re.compile(r"kubepods(?:.*([0-9a-f]{64}))?")),
    (PODMAN, re.compile(r"libpod-(?:payload-)?([0-9a-f]{64})")),
    (DOCKER, re.compile(r"docker[-/]([0-9a-f]{64})")),
    (LXC, re.compile(r"(?:lxc\.payload[./]|/lxc/)([^/]+)")),
)
#: Seconds by which the start of a process, told in clock ticks since boot, may differ from the time of a file.
_SLACK = 2
#: linux/fs.h: FS_IMMUTABLE_FL.
_IMMUTABLE = 0x10

NameIn = t.Callable[[int], t.Optional[str]]


def read(
    configuration: t.Sequence[str],
    state_path: t.Optional[str] = None,
    proc: str = "/proc",
    root: str = "",
    name_in: NameIn = name_spaces.name_in,
    seen: t.Optional[processes.Table] = None,
) -> Deployment:
    """Return how the services of this host are deployed. Raises :class:`ReadError`.

    ``configuration``: nova-compute's files on the host. ``root``: put before every path that is not of C(/proc).
    """
    seen = processes.table(proc) if seen is None else seen
    found = _processes(seen, proc, name_in)
    compute = next((entry for entry in found if entry.program == "nova-compute"), None)
    folders = _folders(compute, state_path, proc, root)
    pending, unread = _pending(compute, configuration, folders, proc, root)
    return Deployment(
        processes=found,
        guests=_guests(seen, proc),
        units=_units(root),
        signs=[path[len(root) :] for pattern in SIGNS for path in sorted(glob.glob(f"{root}{pattern}"))],
        folders=folders,
        pending=pending,
        pending_unread=unread,
    )


# --- processes --------------------------------------------------------------------------------------------------


def _processes(seen: processes.Table, proc: str, name_in: NameIn) -> t.List[ServiceProcess]:
    host, booted = name_spaces.host_namespace(proc), _boot_time(proc)
    names: t.Dict[str, t.Optional[str]] = {}
    result = []
    for pid, arguments in seen.items():
        if not name_spaces.runs_as(arguments, PROGRAMS):
            continue
        try:
            space = os.readlink(f"{proc}/{pid}/ns/uts")
            groups = control_groups(pid, proc)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError as error:
            raise ReadError(f"process {pid}: {error.strerror}") from None
        if space != host and space not in names:
            names[space] = name_in(pid)
        started = processes.start_time(pid, proc)
        command = next(item for item in arguments if PROGRAMS.fullmatch(os.path.basename(item)))
        engine, number = container(groups)
        if engine is None and not processes.same_root(pid, proc):
            engine = OTHER_ROOT
        result.append(
            ServiceProcess(
                program=os.path.basename(command),
                pid=pid,
                command=command,
                unit=unit_of(groups),
                engine=engine,
                container_id=number,
                own_uts=space != host,
                hostname=names.get(space),
                started_at=None if booted is None or started is None else booted + started // _ticks(),
            )
        )
    return result


def _guests(seen: processes.Table, proc: str) -> t.List[GuestProcess]:
    result = []
    for uuid, pids in sorted(processes.qemu_by_uuid(proc, seen).items()):
        for pid in pids:
            try:
                groups = control_groups(pid, proc)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            except OSError as error:
                raise ReadError(f"process {pid}: {error.strerror}") from None
            engine, number = container(groups)
            shown = max(groups, key=len, default="")
            result.append(GuestProcess(uuid, pid, shown, engine, number))
    return result


def control_groups(pid: int, proc: str = "/proc") -> t.List[str]:
    """Return the control groups of a process below those of this host's own init. Raises OSError.

    The host itself may be in a container (a lab): what it shares with its process 1 says nothing of a service.
    """
    own, theirs = _groups(1, proc), _groups(pid, proc)
    return list(dict.fromkeys(_rest(path, own.get(hierarchy, "/")) for hierarchy, path in theirs.items()))


def _groups(pid: int, proc: str) -> t.Dict[str, str]:
    """Return the path in each hierarchy: systemd's own first."""
    with open(f"{proc}/{pid}/cgroup", encoding="utf-8", errors="replace") as stream:
        lines = [line.rstrip("\n").split(":", 2) for line in stream]
    found = {words[1]: words[2] for words in lines if len(words) == 3}
    first = [key for key in ("name=systemd", "") if key in found]
    return {key: found[key] for key in dict.fromkeys([*first, *found])}


def _rest(path: str, own: str) -> str:
    parts, shared = path.split("/"), own.split("/")
    same = 0
    while same < min(len(parts), len(shared)) and parts[same] == shared[same]:
        same += 1
    return "/" + "/".join(parts[same:])


def container(groups: t.Iterable[str]) -> t.Tuple[t.Optional[str], t.Optional[str]]:
    """Return engine and id of the container whose control group a process is in, at whatever depth."""
    for group in groups:
        for engine, pattern in _ENGINES:
            match = pattern.search(group)
            if match:
                return engine, match.group(1)
    return None, None


def words_into(pid: int, proc: str = "/proc") -> t.Tuple[str, ...]:
    """Return the words that run a program in the container of a process; none: no engine is known that could."""
    try:
        engine, number = container(control_groups(pid, proc))
    except OSError:
        return ()
    return (engine, "exec", number) if engine in (PODMAN, DOCKER) and number is not None else ()


def unit_of(groups: t.Iterable[str]) -> t.Optional[str]:
    """Return the system's service that a process is in; None: it is in none."""
    for group in groups:
        # A user's services are below his manager, which is a service of the system: user@1000.service.
        services = [part for part in group.split("/") if part.endswith(".service")]
        if services:
            return services[0]
    return None


def _boot_time(proc: str) -> t.Optional[int]:
    try:
        with open(f"{proc}/stat", encoding="ascii") as stream:
            return next((int(line.split()[1]) for line in stream if line.startswith("btime ")), None)
    except (OSError, ValueError):
        return None


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")


# --- units ------------------------------------------------------------------------------------------------------


def _units(root: str) -> t.List[DeployedUnit]:
    result: t.Dict[str, DeployedUnit] = {}
    for folder in UNIT_FOLDERS:
        for name in _listed(f"{root}{folder}"):
            path = f"{folder}/{name}"
            # A mask hides what is below it only as long as it is there.
            if UNITS.fullmatch(name) and name not in result and os.path.realpath(f"{root}{path}") != "/dev/null":
                result[name] = _unit(name, path, _lines(f"{root}{path}"))
    return [result[name] for name in sorted(result)]


def _unit(name: str, path: str, lines: t.Sequence[str]) -> DeployedUnit:
    try:
        words = shlex.split((_value(lines, "ExecStart") or "").lstrip("-@:+!"))
    except ValueError:
        words = []
    engine = os.path.basename(words[0]) if words else None
    if engine not in (PODMAN, DOCKER):
        return DeployedUnit(name, path, words[0] if words else None)
    recreates = "run" in words[1:3]
    named = [after for before, after in zip(words, words[1:]) if before == "--name"]
    named += [word[len("--name=") :] for word in words if word.startswith("--name=")]
    # ExecStart=/usr/bin/podman start -a NAME
    own = named[0] if named else None if recreates else words[-1]
    return DeployedUnit(name, path, words[0], engine, own, recreates)


def _listed(folder: str) -> t.List[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ReadError(f"{folder}: {error.strerror}") from None


def _lines(path: str) -> t.List[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().replace("\\\n", " ").splitlines()
    except FileNotFoundError:
        return []  # a link to nowhere
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror}") from None


def _value(lines: t.Sequence[str], key: str) -> t.Optional[str]:
    found = [line.partition("=")[2].strip() for line in lines if line.startswith(f"{key}=")]
    return found[-1] if found else None


# --- files ------------------------------------------------------------------------------------------------------


def _folders(
    compute: t.Optional[ServiceProcess], state_path: t.Optional[str], proc: str, root: str
) -> t.Dict[str, str]:
    if compute is None or compute.engine is None:
        return {}
    wanted = dict.fromkeys([*FOLDERS, *([state_path] if state_path else [])])
    found = {folder: mounts.on_host(compute.pid, folder, proc, root) for folder in wanted}
    return {inside: outside for inside, outside in found.items() if outside is not None}


def _pending(
    compute: t.Optional[ServiceProcess],
    files: t.Sequence[str],
    folders: t.Mapping[str, str],
    proc: str,
    root: str,
) -> t.Tuple[t.Optional[t.List[PendingFile]], t.Optional[str]]:
    """Return the files that nova-compute has not read as they are now. What does not run has nothing to read again."""
    if compute is None:
        return [], None
    if compute.started_at is None:
        return None, "the start time of nova-compute is not known"
    if not files:
        return None, "nova.conf was not read"
    folder = folders.get(container_files.CONFIG_FILES)
    copied = {path: inside for inside, path in container_files.copies(folder, root).items()} if folder else {}
    result = []
    for path in files:
        try:
            if path in copied:
                inside = f"{proc}/{compute.pid}/root{copied[path]}"
                if not _equal(f"{root}{path}", inside):
                    result.append(
                        PendingFile(path, f"the host's file differs from the container's file {copied[path]}")
                    )
            elif int(os.stat(f"{root}{path}").st_mtime) > compute.started_at + _SLACK:
                result.append(PendingFile(path, "changed after nova-compute started"))
        except OSError as error:
            return None, f"{path}: {error.strerror}"
    return result, None


def _equal(path: str, other: str) -> bool:
    with open(path, "rb") as ours, open(other, "rb") as theirs:
        return ours.read() == theirs.read()


def is_immutable(path: str) -> bool:
    """Whether a file has the attribute "immutable" (chattr +i); False also where its file system has no attributes."""
    # _IOR('f', 1, long): some architectures number the directions in another way.
    other = platform.machine().startswith(("ppc", "mips", "sparc", "alpha"))
    request = (0x40000000 if other else 0x80000000) | struct.calcsize("l") << 16 | ord("f") << 8 | 1
    # The type is a long, and the kernel writes an int.
    flags = array.array("i", [0, 0])
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.ioctl(descriptor, request, flags)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            return False
        raise ReadError(f"{path}: {error.strerror}") from None
    finally:
        os.close(descriptor)
    return bool(flags[0] & _IMMUTABLE)
