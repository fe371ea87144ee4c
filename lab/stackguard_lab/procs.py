# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes: found by the network namespace they live in, never by a name or a stale pid file."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .settings import Lab, LabError
from .shell import CLEAN_ENV, http_answers, port_open, run, wait_for

NETNS = Path("/run/netns")


def _namespace_inode(namespace: str) -> tuple[int, int] | None:
    try:
        stat = (NETNS / namespace).stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)


def is_mounted(namespace: str) -> bool:
    """A name in /run/netns may be a mere leftover file; a live namespace is a mount."""
    target = f" {NETNS / namespace} "
    return any(target in line for line in Path("/proc/self/mountinfo").read_text().splitlines())


def pids_in(namespace: str) -> list[int]:
    wanted = _namespace_inode(namespace)
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = os.stat(f"/proc/{entry}/ns/net")
        except OSError:
            continue
        if wanted == (stat.st_dev, stat.st_ino):
            found.append(int(entry))
    return found


def init_of(namespace: str) -> int | None:
    """The process that is PID 1 of a host: the one in its network namespace whose innermost pid is 1."""
    for pid in pids_in(namespace):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                if len(numbers) == 2 and numbers[-1] == "1":
                    return pid
    return None


def start_time(pid: int) -> str | None:
    """When the process started, in ticks since boot: together with the pid this identifies it for good."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def kill_all(namespace: str, *, grace: float = 0) -> None:
    """Ends whatever lives in a namespace: politely for `grace` seconds, then for good."""
    for sig, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        if not patience:
            continue
        end = time.monotonic() + patience
        while True:
            pids = [pid for pid in pids_in(namespace) if start_time(pid)]
            if not pids:
                return
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sig)
            if time.monotonic() > end:
                break
            time.sleep(0.2)


def children() -> list[int]:
    """Commands this process waits for; the daemons it started have sessions of their own and are not among them."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            listed = (task / "children").read_text().split()
        except OSError:
            continue
        found += [int(pid) for pid in listed]
    return [pid for pid in found if _session(pid) == os.getsid(0)]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


class Daemon:
    """A long-running service of the control plane, in the control namespace, in a process group of its own."""

    def __init__(
        self,
        lab: Lab,
        name: str,
        command: list[str | Path],
        *,
        env: dict[str, str] | None = None,
        address: str | None = None,
        namespace: str | None = None,
    ) -> None:
        self.lab = lab
        self.name = name
        self.command = [str(part) for part in command]
        self.env = env or {}
        self.address = address or lab.controller
        self.namespace = namespace or lab.control_ns
        self.record = lab.run / f"{name}.json"
        self.log = lab.log / f"{name}.log"

    def pid(self) -> int | None:
        """The recorded pid, if that very process still lives in this lab's namespace."""
        try:
            data = json.loads(self.record.read_text())
            pid = int(data["pid"])
        except (OSError, ValueError, KeyError):
            return None
        return pid if start_time(pid) == data["start_time"] else None

    def start(self) -> bool:
        if self.pid():
            return False
        self.lab.run.mkdir(parents=True, exist_ok=True)
        self.lab.log.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as stream:
            stream.write(f"--- {time.strftime('%F %T')} {shlex.join(self.command)}\n")
            stream.flush()
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *self.command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**CLEAN_ENV, **self.env},
                start_new_session=True,
                cwd="/",
            )
        scratch = self.record.with_suffix(".tmp")
        scratch.write_text(json.dumps({"pid": process.pid, "start_time": start_time(process.pid)}))
        scratch.replace(self.record)
        return True

    def stop(self, *, grace: float = 10) -> None:
        pid = self.pid()
        self.record.unlink(missing_ok=True)
        if not pid:
            return
        end = time.monotonic() + grace
        _signal_group(pid, signal.SIGTERM)
        while start_time(pid) and time.monotonic() < end:
            _reap(pid)
            time.sleep(0.1)
        _signal_group(pid, signal.SIGKILL)
        _reap(pid)

    def wait_port(self, port: int, *, timeout: float = 300) -> None:
        self._wait(f"{self.name} on port {port}", lambda: port_open(self.address, port), timeout)

    def wait_http(self, port: int, *, timeout: float = 300) -> None:
        """gunicorn listens before the service behind it is loaded: only an answer proves that it works."""
        self._wait(f"an answer of {self.name}", lambda: http_answers(f"http://{self.address}:{port}/"), timeout)

    def _wait(self, what: str, test: Callable[[], bool], timeout: float) -> None:
        def answers() -> bool:
            if not self.pid():
                raise LabError(f"{self.name} ended right after its start", log=self.log)
            return test()

        wait_for(what, answers, timeout=timeout, log=self.log)


def _signal_group(pid: int, sig: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, sig)


def _reap(pid: int) -> None:
    """Collects the process if it is our own child, so that it does not linger as a zombie."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def in_control(
    lab: Lab,
    *command: str | Path,
    log: Path | None = None,
    env: dict[str, str] | None = None,
    check: bool = True,
    stdin: str | None = None,
    timeout: float = 900,
) -> subprocess.CompletedProcess[str]:
    """Runs a command inside the control plane's namespace."""
    return run(
        ["ip", "netns", "exec", lab.control_ns, *command], log=log, env=env, check=check, stdin=stdin, timeout=timeout
    )
