# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: every part of the test, what can run side by side doing so, and one verdict.

The parts that need no lab run beside those that do, on what these leave of the processors. Output goes to
.build/logs/PART.log; of a failed part the end is shown. A part that cannot run has failed: nothing is skipped once its
tests exist.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
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
#: Groups of processes whose share of the processors can be set, as cgroup versions 1 and 2 have them. `nice` alone does
#: nothing here: the kernel groups processes by session (sched_autogroup), and weighs only within a group.
GROUPS = (
    (pathlib.Path("/sys/fs/cgroup/cpu"), "cpu.shares", "128"),
    (pathlib.Path("/sys/fs/cgroup"), "cpu.weight", "10"),
)
GROUP = "stackguard-in-the-background"


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
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> pathlib.Path:
        return LOGS / f"{self.name}.log"

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


def make(name: str) -> Part:
    return Part(
        name, ["make", "--no-print-directory", name], pytest=name == "unit" or name.startswith(("integration", "crash"))
    )


def background() -> pathlib.Path | None:
    """Make a group whose processes get what the others leave; None where there are no such groups, or not for us."""
    for parent, weight, value in GROUPS:
        group = parent / GROUP
        try:
            if not (parent / "cgroup.procs").exists():
                continue
            group.mkdir(exist_ok=True)
            if (group / weight).exists():
                (group / weight).write_text(value)
                return group
            group.rmdir()
        except OSError:
            continue
    return None


def lane(parts: list[Part]) -> threading.Thread:
    """Run parts one after the other, beside other lanes."""

    def run() -> None:
        for part in parts:
            part.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def heartbeat(parts: list[Part], over: threading.Event) -> None:
    while not over.wait(HEARTBEAT):
        running = [part.name for part in parts if part.process is not None and part.code is None]
        say(f"still running: {', '.join(running)}")


def main() -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    for old in LOGS.glob("*.log"):
        old.unlink()
    quiet = [make(name) for name in ("unit", "lint", "sanity", "importer", "docs", "cores-found")]
    # Not in the background, where its playbooks and servers would run out of time; nor while the lab installs packages.
    databases = make("integration-db")
    lab = Part("lab", [LAB, "up", "--fast-stop"])
    first = [make("integration-first")]
    # On a second lab at the same time: with Open vSwitch, and then made anew without it.
    anew = Part("second-lab", [LAB, "down", "--purge"])
    off = Part("second-lab-off", [LAB, "down", "--purge"])
    second = [make("integration-ovs"), anew, make("integration-second"), make("crash"), off]
    for part in second[1:]:
        part.environment = {INSTANCE: str((int(os.environ.get(INSTANCE) or 0) + 1) % 10)}
    parts = [*quiet, lab, databases, *first, *second]
    group = background()
    for part in quiet:
        part.group = group

    def stop(*_: object) -> None:
        for part in parts:
            if part.process is not None and part.process.poll() is None:
                os.killpg(part.process.pid, signal.SIGTERM)
        sys.exit(130)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    over = threading.Event()
    threading.Thread(target=heartbeat, args=(parts, over), daemon=True).start()

    lanes = [lane(quiet)]
    if os.access(LAB, os.X_OK):
        lab.run()
    else:
        lab.refuse("lab/lab is not there")
    lanes.append(lane([databases]))
    if lab.ok:
        lanes += [lane(first), lane(second)]
    else:
        for part in (*first, *second):
            part.refuse("the lab did not come up")
    for thread in lanes:
        thread.join()
    over.set()

    print("\nSummary")
    for part in parts:
        print(f"  {part.name:<18} {'passed' if part.ok else 'FAILED'} {part.seconds:6.0f} s  {part.note}".rstrip())
    for part in parts:
        if part.summary:
            print(f"{part.name}:\n{part.summary}")
    failed = [part.name for part in parts if not part.ok]
    total = time.monotonic() - START
    if failed:
        print(f"make test: FAILED in {total:.0f} s: {', '.join(failed)} (logs in .build/logs/)")
        return 1
    print(f"make test: all {len(parts)} parts passed in {total:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
