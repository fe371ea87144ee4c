# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make test` and `make test-matrix` share: a part is one command, with its log, its verdict, and its summary."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = str(ROOT / "lab" / "lab")
INSTANCE = "STACKGUARD_LAB_INSTANCE"
LOGS = ROOT / ".build" / "logs"
TAIL = 80
HEARTBEAT = 60
PYTEST_SUMMARY = re.compile(r"^=+ .*\b(passed|failed|errors?|skipped|no tests ran)\b.* in [\d.]+s.*=+$")
PYTEST_FAILED = re.compile(r"^(FAILED|ERROR) tests/")
START = time.monotonic()


@dataclass
class Part:
    """One command of the test, and what became of it."""

    name: str
    command: list[str]
    pytest: bool = False
    code: int | None = None
    seconds: float = 0.0
    note: str = ""
    group: pathlib.Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    logs: pathlib.Path = LOGS
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> pathlib.Path:
        return self.logs / f"{self.name}.log"

    @property
    def ok(self) -> bool:
        return self.code == 0

    def run(self) -> None:
        start = time.monotonic()
        say(f"{self.name}: started")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.argv(),
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.code = self.process.wait()
        self.seconds = time.monotonic() - start
        lines = self.log.read_text(errors="replace").splitlines()
        if self.pytest:
            self.summary = next((line for line in reversed(lines) if PYTEST_SUMMARY.match(line)), "")
            if self.ok and not re.search(r"\b[1-9]\d* passed\b", self.summary):
                self.code, self.note = 1, "pytest passed no test"
        # Of other releases of ansible-core, whose Python a bare Debian 12 does not have.
        self.note = self.note or "; ".join(line for line in lines if line.startswith("NOT TESTED"))
        if self.ok:
            say(f"{self.name}: passed in {self.seconds:.0f} s")
        else:
            with PRINTING:
                names = [line[:200] for line in lines if PYTEST_FAILED.match(line)]
                shown = [*names, *lines[-TAIL:]]
                where = self.log.relative_to(ROOT)
                print(f"\n---- {self.name} FAILED (exit {self.code}): the last lines of {where}")
                print("\n".join(shown))
                print(f"---- end of {self.name}\n", flush=True)

    def argv(self) -> list[str]:
        if self.group is None:
            return self.command
        join = 'echo $$ >"$0"/cgroup.procs; exec nice -n 19 "$@"'
        return ["/bin/sh", "-c", join, str(self.group), *self.command]

    def refuse(self, note: str) -> None:
        self.code, self.note = 1, note
        say(f"{self.name}: FAILED, {note}")


PRINTING = threading.Lock()


def say(text: str) -> None:
    with PRINTING:
        print(f"[{time.monotonic() - START:5.0f} s] {text}", flush=True)


def heartbeat(parts: Sequence[Part], over: threading.Event) -> None:
    while not over.wait(HEARTBEAT):
        running = [part.name for part in parts if part.process is not None and part.code is None]
        say(f"still running: {', '.join(running)}")


def when_stopped(parts: Sequence[Part], then: Callable[[], None] = lambda: None) -> None:
    """Ctrl-C and the end of CI's patience end what runs, too."""

    def stop(*_: object) -> None:
        for part in parts:
            if part.process is not None and part.process.poll() is None:
                os.killpg(part.process.pid, signal.SIGTERM)
        then()
        sys.exit(130)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def clean_logs(directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.log"):
        old.unlink()


def verdict(what: str, parts: Sequence[Part]) -> int:
    """The summary, whose last lines can be quoted; the exit status."""
    width = max(18, *(len(part.name) for part in parts))
    print("\nSummary")
    for part in parts:
        print(f"  {part.name:<{width}} {'passed' if part.ok else 'FAILED'} {part.seconds:6.0f} s  {part.note}".rstrip())
    for part in parts:
        if part.summary:
            print(f"{part.name}:\n{part.summary}")
    failed = [part.name for part in parts if not part.ok]
    total = time.monotonic() - START
    if failed:
        where = parts[0].logs.relative_to(ROOT)
        print(f"{what}: FAILED in {total:.0f} s: {', '.join(failed)} (logs in {where}/)")
        return 1
    print(f"{what}: all {len(parts)} parts passed in {total:.0f} s")
    return 0
