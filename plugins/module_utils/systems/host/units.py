# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd units of a host: read them, keep them from starting, stop and start them.

Two locks keep a unit from starting, both lasting over a reboot:

1. A drop-in with an assertion on a marker file. It takes effect at once and leaves the unit's own settings in force:
   nova-compute may need its whole C(TimeoutStopSec) to stop, and systemd forgets that setting when it loads a mask.
2. A mask, for that reason only once the unit is stopped. A unit file that itself lies in /etc/systemd/system cannot be
   masked; then the assertion stands alone.

Everything here can be done again and taken back, however far it came before. States are systemd's own words.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import time
import typing as t

from ...model.host_facts import Unit
from . import commands
from .reading import HostError, ReadError

SYSTEM = "/etc/systemd/system"
#: Where packages and administrators put unit files, first come, first taken (systemd.unit(5)).
PACKAGED = ("/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
DROP_IN = "00-stackguard.conf"
#: There exactly while systemd is the init system (sd_booted(3)).
BOOTED = "/run/systemd/system"
#: Seconds for a question to systemd, or for a change that only queues a job.
_PATIENCE = 60
_STOPPED = ("inactive", "failed")
_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FragmentPath",
    "MainPID",
    "ControlGroup",
    "DropInPaths",
    "ExecStart",
    "ExecStartEx",
    "User",
    "Group",
    "SupplementaryGroups",
)

Properties = t.Dict[str, str]


class UnitError(HostError):
    """systemd refused, or a unit is not in the state that was asked for."""


class SystemdSilentError(UnitError):
    """systemd does not answer at all: another question gets no answer either."""


class Systemctl:
    """Runs systemctl. ``run`` is replaced in tests."""

    def __init__(self, run: t.Callable[..., t.Any] = commands.run) -> None:
        self._run = run

    def show(self, names: t.Sequence[str]) -> t.List[Properties]:
        """Return the properties of each unit, in the order asked for. Raises :class:`UnitError`."""
        if not names:
            return []
        out = self.call("show", f"--property={','.join(_PROPERTIES)}", "--", *names)
        blocks = [_block(text) for text in out.strip("\n").split("\n\n")]
        if len(blocks) != len(names):
            raise UnitError(
                f"systemctl show: the run asked for {len(names)} units, but the answer has {len(blocks)}",
                problem="systemctl-answer",
            )
        return blocks

    def call(self, *arguments: str) -> str:
        """Run one systemctl command and return its output. Raises :class:`UnitError`."""
        command = ["systemctl", *arguments]
        try:
            done = self._run(
                command, timeout=_PATIENCE, variables={"LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
            )
        except FileNotFoundError:
            raise SystemdSilentError(
                "systemctl is not installed on this host", problem="systemctl-not-installed"
            ) from None
        except subprocess.TimeoutExpired:
            raise SystemdSilentError(
                f"systemctl {arguments[0]}: no answer within {_PATIENCE} s", problem="systemctl-no-answer"
            ) from None
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            kind = UnitError if os.path.isdir(BOOTED) else SystemdSilentError
            raise kind(f"systemctl {arguments[0]}: {said}")
        return str(done.stdout.decode("utf-8", "replace"))


class AskedOnce(Systemctl):
    """Reads units as they are at one moment: the first question asks for all of these names, in one command.

    A systemd that hangs keeps nobody waiting a second time: its silence is the answer to every question after it.
    After any other error, such as one name that systemctl refuses, each question asks for its own names alone.
    """

    def __init__(self, names: t.Sequence[str], run: t.Callable[..., t.Any] = commands.run) -> None:
        super().__init__(run)
        self._names = list(dict.fromkeys(full_name(name) for name in names))
        self._shown: t.Optional[t.Dict[str, Properties]] = None
        self._error: t.Optional[SystemdSilentError] = None

    def show(self, names: t.Sequence[str]) -> t.List[Properties]:
        """Return the properties of each unit, in the order asked for. Raises :class:`UnitError`."""
        shown = self._all()
        others = [name for name in names if name not in shown]
        shown = {**shown, **dict(zip(others, super().show(others)))}
        return [shown[name] for name in names]

    def _all(self) -> t.Dict[str, Properties]:
        if self._error is not None:
            raise self._error
        if self._shown is None:
            try:
                self._shown = dict(zip(self._names, super().show(self._names)))
            except SystemdSilentError as error:
                self._error = error
                raise
            except UnitError:
                self._shown = {}
        return self._shown


def _block(text: str) -> Properties:
    return {key: value for key, sign, value in (line.partition("=") for line in text.splitlines()) if sign}


def full_name(name: str) -> str:
    """Return a unit's name with its suffix."""
    known = (".service", ".target", ".socket", ".timer")
    return name if name.endswith(known) else f"{name}.service"


def read_units(names: t.Sequence[str], state_dir: str, systemctl: t.Optional[Systemctl] = None) -> t.List[Unit]:
    """Return those of the named units that exist here, under the name asked for; an alias is left out."""
    wanted = [full_name(name) for name in names]
    result: t.List[Unit] = []
    seen: t.Set[str] = set()
    for name, shown in zip(wanted, (systemctl or Systemctl()).show(wanted)):
        if shown.get("LoadState") == "not-found" or shown.get("Id", name) in seen:
            continue
        seen.add(shown.get("Id", name))
        result.append(_unit(name, shown, state_dir))
    return result


def _unit(name: str, shown: Properties, state_dir: str) -> Unit:
    return Unit(
        name=name,
        load_state=shown.get("LoadState", ""),
        active_state=shown.get("ActiveState", ""),
        sub_state=shown.get("SubState", ""),
        unit_file_state=shown.get("UnitFileState", ""),
        fragment_path=shown.get("FragmentPath") or None,
        blocked=is_blocked(name, shown, state_dir),
    )


def is_blocked(name: str, shown: Properties, state_dir: str) -> bool:
    """Whether systemd, as it is loaded now, would refuse to start the unit: masked, or our assertion in force."""
    if shown.get("LoadState") == "masked":
        return True
    return drop_in(name) in shown.get("DropInPaths", "").split() and os.path.exists(marker(name, state_dir))


def command_of(name: str, shown: Properties) -> t.List[str]:
    """Return the command line that a unit starts, also where it is masked; an empty list where it has none."""
    if shown.get("LoadState") == "masked":
        return packaged_exec_start(name)
    return exec_start(shown)


def exec_start(shown: Properties) -> t.List[str]:
    """Return the command line of a unit's ExecStart, or an empty list.

    ``systemctl show`` prints ``{ path=... ; argv[]=... ; ignore_errors=... ; ...}``, the arguments as they stand in
    the unit file after specifiers were replaced.
    """
    _head, sign, rest = shown.get("ExecStart", "").partition("argv[]=")
    if not sign:
        return []
    try:
        return shlex.split(rest.split(" ; ", 1)[0])
    except ValueError:
        return []


def packaged_exec_start(name: str) -> t.List[str]:
    """Return the command line of ExecStart in a unit's packaged file: a mask hides it from C(systemctl show)."""
    for folder in PACKAGED:
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                lines = stream.read().replace("\\\n", " ").splitlines()
        except OSError:
            continue
        starts = [line.partition("=")[2].strip() for line in lines if line.startswith("ExecStart=")]
        try:
            # systemd.service(5): signs before the path say how to run it.
            return shlex.split(starts[-1].lstrip("-@:+!")) if starts else []
        except ValueError:
            return []
    return []


#: A variable in a word of a command line: C($NAME) is the whole word, C(${NAME}) stands anywhere (systemd.service(5)).
_VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_WORD = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\Z")


def variables(argv: t.Sequence[str]) -> t.List[str]:
    """Return the names of the variables in a command line, as systemd would look them up; C($$) is a dollar sign."""
    found = [_WORD.match(word) for word in argv[1:]]
    names = [match.group(1) for match in found if match]
    names += [match.group(1) for word in argv[1:] for match in _VARIABLE.finditer(word) if match.group(1)]
    return list(dict.fromkeys(names))


def expanded(argv: t.Sequence[str], given: t.Mapping[str, str]) -> t.List[str]:
    """Return a command line as systemd expands it: systemd.service(5), "Command lines".

    C(${NAME}) is replaced by the value. C($NAME) as a word of its own is split at blanks into any number of words, and
    quotes hold together. A variable that is unset is empty. Raises :class:`ReadError` for quotes that do not end, and
    for variables that systemd itself sets.
    """
    own = [name for name in variables(argv) if name in _SYSTEMDS and name not in given]
    if own:
        raise ReadError(f"systemd sets {', '.join(own)} only at the start")
    result = list(argv[:1])
    for word in argv[1:]:
        match = _WORD.match(word)
        if match is None:
            result.append(_VARIABLE.sub(lambda found: given.get(found.group(1), "") if found.group(1) else "$", word))
            continue
        try:
            result += shlex.split(given.get(match.group(1), ""))
        except ValueError:
            raise ReadError(f"the quotes in ${match.group(1)} do not end") from None
    return result


#: What systemd sets for a process besides what is configured (systemd.exec(5), "Environment variables set ...").
_SYSTEMDS = frozenset(
    (
        *("PATH", "LANG", "USER", "LOGNAME", "HOME", "SHELL", "TERM", "INVOCATION_ID", "JOURNAL_STREAM", "PIDFILE"),
        *("RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY"),
        *("CREDENTIALS_DIRECTORY", "MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID", "LISTEN_FDS", "LISTEN_PID"),
        *("LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LOG_NAMESPACE"),
    )
)


# --- keep from starting ---------------------------------------------------------------------------------------


def drop_in(name: str) -> str:
    """Return the drop-in's file of a unit."""
    return os.path.join(SYSTEM, f"{name}.d", DROP_IN)


def marker(name: str, state_dir: str) -> str:
    """Return the file whose presence the drop-in's assertion forbids."""
    return os.path.join(state_dir, f".blocked-{name}")


def block(name: str, state_dir: str, systemctl: Systemctl) -> None:
    """Keep a unit from starting, at once and after a reboot, without touching how it stops."""
    mark(name, state_dir)
    text = (
        "# stackguard.nova: an operation on this host is in progress\n"
        f"[Unit]\nAssertPathExists=!{marker(name, state_dir)}\n"
    )
    _write(drop_in(name), text)
    (shown,) = systemctl.show([name])
    if not is_blocked(name, shown, state_dir):
        systemctl.call("daemon-reload")


def mark(name: str, state_dir: str) -> None:
    """Write the marker anew: its time is when the stop was asked for."""
    os.makedirs(state_dir, mode=0o700, exist_ok=True)
    _write(marker(name, state_dir), "stackguard.nova: this unit must not start until the operation has ended\n")


def unmark(name: str, state_dir: str) -> None:
    """Remove the marker."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(marker(name, state_dir))


def maskable(name: str) -> bool:
    """Whether a mask is possible: no unit file of that name lies in /etc/systemd/system."""
    path = os.path.join(SYSTEM, name)
    return not os.path.lexists(path) or _is_mask(path)


def _is_mask(path: str) -> bool:
    return os.path.islink(path) and os.readlink(path) == "/dev/null"


def settle(name: str, systemctl: Systemctl) -> None:
    """Mask a unit that is stopped by now, where it can be masked."""
    (shown,) = systemctl.show([name])
    if is_stopped(shown) and shown.get("LoadState") != "masked" and maskable(name):
        systemctl.call("mask", "--", name)


def unblock(name: str, state_dir: str, systemctl: Systemctl, keep_mask: bool = False) -> None:
    """Let a unit start again: take back the mask, the drop-in and the marker, and load that.

    ``keep_mask``: the mask was there before the operation, and stays.
    """
    if not keep_mask and _is_mask(os.path.join(SYSTEM, name)):
        systemctl.call("unmask", "--", name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(drop_in(name))
    unmark(name, state_dir)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(drop_in(name)))
    systemctl.call("daemon-reload")


def _write(path: str, text: str) -> None:
    """Write a small file durably: it must be there after a power cut too."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


# --- stop and start -------------------------------------------------------------------------------------------


def stop(name: str, systemctl: Systemctl) -> None:
    """Ask systemd to stop a unit, and do not wait."""
    (shown,) = systemctl.show([name])
    if not is_stopped(shown):
        systemctl.call("stop", "--no-block", "--", name)


def is_stopped(shown: Properties) -> bool:
    """Whether a unit is stopped. ``failed`` counts: systemd killed it at the end of its patience."""
    return (
        shown.get("ActiveState") in _STOPPED
        and (shown.get("MainPID") or "0") == "0"
        and not left_processes(shown.get("ControlGroup", ""))
    )


def state_text(shown: Properties) -> str:
    """Return a unit's state for people, such as ``deactivating (stop-sigterm)``."""
    return f"{shown.get('ActiveState')} ({shown.get('SubState')})"


def seconds_since(name: str, state_dir: str) -> int:
    """Return for how many seconds a unit has been blocked: since the stop was asked for; 0 where it is not."""
    try:
        return max(0, int(time.time() - os.stat(marker(name, state_dir)).st_mtime))
    except FileNotFoundError:
        return 0


def left_processes(control_group: str, root: str = "/sys/fs/cgroup") -> t.List[int]:
    """Return the processes left in a unit's control group and below it, whichever hierarchy systemd uses."""
    if not control_group or control_group == "/":
        return []
    found: t.Set[int] = set()
    for hierarchy in ("", "systemd", "unified"):
        for folder, _folders, files in os.walk(os.path.join(root, hierarchy, control_group.lstrip("/"))):
            if "cgroup.procs" in files:
                found.update(_pids(os.path.join(folder, "cgroup.procs")))
    return sorted(found)


def _pids(path: str) -> t.List[int]:
    try:
        with open(path, encoding="ascii") as stream:
            return [int(line) for line in stream if line.strip().isdigit()]
    except OSError:
        return []


def start(name: str, systemctl: Systemctl) -> None:
    """Ask systemd to start a unit, and do not wait. A unit that was killed is freed from that state first."""
    (shown,) = systemctl.show([name])
    if shown.get("ActiveState") == "failed":
        systemctl.call("reset-failed", "--", name)
    if shown.get("ActiveState") not in ("active", "activating"):
        systemctl.call("start", "--no-block", "--", name)


def restart(name: str, systemctl: Systemctl) -> None:
    """Ask systemd to start a unit anew, whether it runs or gave up, and do not wait."""
    (shown,) = systemctl.show([name])
    if shown.get("ActiveState") == "failed":
        systemctl.call("reset-failed", "--", name)
    systemctl.call("restart", "--no-block", "--", name)


def wait_started(name: str, timeout: float, systemctl: Systemctl, sleep: t.Callable[[float], None] = time.sleep) -> str:
    """Wait until a unit is active, and return its state. It proves little: a refusing nova-compute may stay active.

    Raises :class:`UnitError` where it is refused or ends, or is still starting after ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    settled = 0
    while True:
        (shown,) = systemctl.show([name])
        if shown.get("ActiveState") == "active":
            return state_text(shown)
        # The job of a start without waiting may take a moment to begin.
        settled = settled + 1 if shown.get("ActiveState") in _STOPPED else 0
        if settled > 10 or time.monotonic() > deadline:
            raise UnitError(
                f"{name} did not start: {state_text(shown)}; see journalctl -u {name}", problem="not-started"
            )
        sleep(0.5)
