# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: every part of the test, what can run side by side doing so, and one verdict.

The parts that need no lab run beside those that do, on what these leave of the processors. Output goes to
.build/logs/PART.log; of a failed part the end is shown. A part that cannot run has failed: nothing is skipped once its
tests exist.
"""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from collections.abc import Iterable

from running import INSTANCE, LAB, LOGS, Part, clean_logs, heartbeat, verdict, when_stopped

#: Groups of processes whose share of the processors can be set, as cgroup versions 1 and 2 have them. `nice` alone does
#: nothing here: the kernel groups processes by session (sched_autogroup), and weighs only within a group.
GROUPS = (
    (pathlib.Path("/sys/fs/cgroup/cpu"), "cpu.shares", "128"),
    (pathlib.Path("/sys/fs/cgroup"), "cpu.weight", "10"),
)
GROUP = "stackguard-in-the-background"


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


def lane(parts: Iterable[Part]) -> threading.Thread:
    """Run parts one after the other, beside other lanes. Lanes may share an iterator: each part runs in one of them."""

    def run() -> None:
        for part in parts:
            part.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def main() -> int:
    clean_logs(LOGS)
    quiet = [make(name) for name in ("unit", "sanity", "cores-found", "lint", "importer", "docs")]
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

    when_stopped(parts)
    over = threading.Event()
    threading.Thread(target=heartbeat, args=(parts, over), daemon=True).start()

    waiting = iter(quiet)
    lanes, background_lanes = [], [lane(waiting)]
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
    # With the labs gone, two at a time; before, they would starve each other of what the labs leave.
    background_lanes.append(lane(waiting))
    for thread in background_lanes:
        thread.join()
    over.set()
    return verdict("make test", parts)


if __name__ == "__main__":
    sys.exit(main())
