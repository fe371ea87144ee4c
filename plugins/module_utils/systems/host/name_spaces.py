# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""By whose host name the services of this host go: its own, or that of a UTS namespace of their own.

A container that shares the host's network gets a copy of the host's name when it is made, and keeps it: through a
restart, and through a reboot (moby #36369; seen with podman and docker). C(ProtectHostname=) of a unit makes a copy at
each start. The kernel says which processes have one: C(/proc/PID/ns/uts) is not that of process 1.

What does not run has no such link. Then the engine of containers is asked for how it was made, or its unit is looked
at; where neither knows it, it is not known.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import typing as t

from ...model.host_facts import CONTAINER, NEUTRON_AGENT, NOT_RUNNING, PROCESS, UNIT, NameSpace
from . import commands, processes, units
from .reading import ReadError

#: Where kolla keeps what its container of nova-compute is configured by.
KOLLA = "/etc/kolla/nova-compute"
ENGINES = ("docker", "podman")
_PATIENCE = 30


@dataclasses.dataclass(frozen=True)
class Role:
    """A service that goes by the host's name. ``needed``: a compute host has one."""

    name: str
    #: What its programs are called, and the containers that it is in.
    program: t.Pattern[str]
    container: t.Pattern[str]
    needed: bool = True


ROLES = (
    Role("nova-compute", re.compile(r"nova-compute"), re.compile(r"nova[_-]compute")),
    # Of the modular daemons only virtqemud says the host's name (qemuConnectGetHostname).
    Role("libvirt", re.compile(r"libvirtd|virtqemud"), re.compile(r"libvirt")),
    Role(NEUTRON_AGENT, re.compile(r"neutron-[a-z-]*agent"), re.compile(r"neutron[a-z_-]*agent"), False),
)
LIBVIRT_UNITS = ("virtqemud", "libvirtd")


def read(
    compute_units: t.Sequence[str],
    proc: str = "/proc",
    systemctl: t.Optional[units.Systemctl] = None,
    seen: t.Optional[processes.Table] = None,
) -> t.List[NameSpace]:
    """Return every process of a service that goes by the host's name, and what would start where none runs.

    Raises :class:`ReadError` where the host's own namespace is not known.
    """
    host = host_namespace(proc)
    found = _running(host, proc, processes.table(proc) if seen is None else seen)
    stopped = [role for role in ROLES if role.name not in {entry.service for entry in found}]
    if stopped:
        engines = _Engines()
        for role in stopped:
            names = {"nova-compute": compute_units, "libvirt": LIBVIRT_UNITS}.get(role.name, ())
            found += _stopped(role, engines, names, systemctl or units.Systemctl())
    return found


def host_namespace(proc: str) -> str:
    """Return the host's UTS namespace. Raises :class:`ReadError` where it is not known, or is not ours."""
    try:
        first, ours = (os.readlink(f"{proc}/{pid}/ns/uts") for pid in ("1", "self"))
    except OSError as error:
        raise ReadError(f"{error.filename}: {error.strerror}") from None
    if first != ours:
        raise ReadError(
            "Ansible sees a host name that differs from the host name of process 1. Check that Ansible does not "
            "connect to a container",
            problem="ansible-sees-host",
        )
    return first


def _running(host: str, proc: str, seen: processes.Table) -> t.List[NameSpace]:
    found = []
    for pid, arguments in seen.items():
        role = next((role for role in ROLES if runs_as(arguments, role.program)), None)
        if role is None:
            continue
        try:
            own = os.readlink(f"{proc}/{pid}/ns/uts") != host
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError as error:
            found.append(NameSpace(role.name, f"process {pid}", None, reason=str(error.strerror), kind=PROCESS))
            continue
        found.append(NameSpace(role.name, f"process {pid}", own, name_in(pid) if own else None, kind=PROCESS))
    return found


def runs_as(arguments: t.Sequence[str], program: t.Pattern[str]) -> bool:
    """Whether a command line runs a program of such a name."""
    names = {os.path.basename(item) for item in arguments[:6]}
    return any(program.fullmatch(name) and processes.runs(arguments, name) for name in names)


def name_in(pid: int) -> t.Optional[str]:
    """Return the host name that a process sees, as evidence; None where it cannot be asked for."""
    try:
        done = commands.run(["nsenter", f"--target={pid}", "--uts", "uname", "-n"], _PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None


# --- what does not run ------------------------------------------------------------------------------------------


def _stopped(
    role: Role, engines: _Engines, names: t.Sequence[str], systemctl: units.Systemctl
) -> t.Iterator[NameSpace]:
    made = [entry for entry in engines.containers() if role.container.search(entry.name)]
    for entry in made:
        what = f"{entry.engine} container {entry.name}"
        yield NameSpace(role.name, what, entry.uts != "host", entry.hostname, kind=CONTAINER)
    if made:
        return
    silent = {engine: why for engine, why in engines.failures.items() if not _never_runs(engine, systemctl)}
    if silent:
        yield _not_running(role, "; ".join(silent.values()))
    elif role.name == "nova-compute" and os.path.isdir(KOLLA):
        yield _not_running(role, f"{KOLLA} exists, but there is no nova-compute container")
    elif role.needed:
        yield _of_unit(role, names, systemctl)


#: Units of an engine that works by a daemon.
_DAEMONS = {"docker": ("docker.service", "docker.socket")}


def _never_runs(engine: str, systemctl: units.Systemctl) -> bool:
    """Whether an engine that did not answer has no daemon here that runs or that a boot starts: a client alone."""
    names = _DAEMONS.get(engine)
    if names is None:
        return False
    try:
        shown = systemctl.show(names)
    except units.UnitError:
        return False
    return all(entry.get("LoadState") in ("not-found", "masked") for entry in shown)


def _of_unit(role: Role, names: t.Sequence[str], systemctl: units.Systemctl) -> NameSpace:
    """What a unit of this host starts goes by the host's name, unless the unit protects it."""
    wanted = [units.full_name(name) for name in names]
    try:
        for name, shown in zip(wanted, systemctl.show(wanted)):
            if shown.get("LoadState") not in ("loaded", "masked") or not _starts(role, units.command_of(name, shown)):
                continue
            protected = systemctl.call("show", "--property=ProtectHostname", "--value", "--", name).strip()
            # Older than systemd 242: an empty answer, and no such setting.
            return NameSpace(role.name, f"unit {name}", protected not in ("", "no"), kind=UNIT)
    except units.UnitError as error:
        return _not_running(role, str(error))
    reason = "the service is not running, and the run found no unit and no container that starts the service"
    return _not_running(role, reason)


def _not_running(role: Role, reason: str) -> NameSpace:
    return NameSpace(role.name, "not running", None, reason=reason, kind=NOT_RUNNING)


def _starts(role: Role, arguments: t.Sequence[str]) -> bool:
    # Debian's packages start nova-compute by an init script of that name.
    return runs_as(arguments, role.program) or any(item.startswith("/etc/init.d/") for item in arguments[:1])


@dataclasses.dataclass(frozen=True)
class _Container:
    engine: str
    name: str
    #: C(host): it has no host name of its own. Anything else: it has.
    uts: str
    hostname: t.Optional[str]


class _Engines:
    """The engines of containers of this host, asked once, and only where something does not run."""

    def __init__(self) -> None:
        self.failures: t.Dict[str, str] = {}
        self._containers: t.Optional[t.List[_Container]] = None

    def containers(self) -> t.List[_Container]:
        """Return the containers of every engine that could be those of a service here, running or not."""
        if self._containers is None:
            self._containers = [entry for engine in ENGINES for entry in self._of(engine)]
        return self._containers

    def _of(self, engine: str) -> t.List[_Container]:
        try:
            names = self._ask([engine, "ps", "--all", "--format", "{{.Names}}"]).decode("utf-8", "replace").split()
            ours = [name for name in names if any(role.container.search(name) for role in ROLES)]
            if not ours:
                return []
            told = json.loads(self._ask([engine, "inspect", "--type", "container", *ours]))
            return [_container(engine, entry) for entry in told]
        except FileNotFoundError:
            return []
        except ReadError as error:
            self.failures[engine] = str(error)
        except (ValueError, LookupError, TypeError):
            self.failures[engine] = f"the run cannot parse the answer of {engine} inspect"
        return []

    @staticmethod
    def _ask(command: t.Sequence[str]) -> bytes:
        try:
            done = commands.run(command, _PATIENCE)
        except FileNotFoundError:
            raise
        except (OSError, subprocess.TimeoutExpired):
            raise ReadError(f"{' '.join(command[:2])}: no answer") from None
        if done.returncode:
            raise ReadError(
                f"{' '.join(command[:2])}: {' '.join(done.stderr.decode('utf-8', 'replace').split())[:400]}"
            )
        return done.stdout


def _container(engine: str, told: t.Mapping[str, t.Any]) -> _Container:
    return _Container(
        engine,
        str(told["Name"]).lstrip("/"),
        str(told["HostConfig"].get("UTSMode") or "private"),
        str(told["Config"].get("Hostname") or "") or None,
    )
