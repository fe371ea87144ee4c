# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long an operator waits for an answer, in times of ``ansible -m ping`` of the same hosts: ``make bench-answer``.

On the lab that is up (STACKGUARD_LAB_INSTANCE), with nothing beside. In turns, STACKGUARD_BENCH_ROUNDS (5) times each:

* ``ping``: ``ansible compute -m ping`` of the three hosts;
* ``rename``, ``evacuation``, ``resize``: a check of each (``--check``), and ``audit``: an audit of the three hosts;
* ``refusal``: a rename whose new name is taken.

Printed are the median of each, and what it is in pings. The checks change nothing; the evacuation is that of a host
which is up, and refuses after it has read everything.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / ".build" / "dev")]

from labkit import guests as guestkit  # noqa: E402
from labkit import zoning  # noqa: E402
from labkit.fixtures import documented_grants, prepared  # noqa: E402
from labkit.lab import current  # noqa: E402
from labkit.playbook import Playbooks  # noqa: E402

ROUNDS = int(os.environ.get("STACKGUARD_BENCH_ROUNDS") or 5)
NAMES = {"rename_from": "compute1", "rename_to": "cn-rack7.example"}


def timed(run):
    begun = time.monotonic()
    run()
    return time.monotonic() - begun


def main():
    """Print one line for each run."""
    here = prepared(current())
    playbooks = Playbooks(here, {"cloud": "lab", **guestkit.grant(here, "sg_exact", documented_grants())})
    zoning.tidy(here)
    guestkit.create(here, "bench", "1", "--on", "compute1")
    (server,) = guestkit.every(here)
    state = {"stackguard_state_dir": tempfile.mkdtemp(prefix="bench-")}

    def ping():
        program = playbooks.program.with_name("ansible")
        argv = [str(program), "compute", "-i", here.info["inventory"], "-m", "ping"]
        subprocess.run(argv, env=playbooks.environment(), check=True, capture_output=True)

    def check(name, **given):
        return lambda: playbooks.run(name, variables={**state, **given}, flags=["--check"], timeout=300)

    runs = {
        "ping": ping,
        "rename": check("rename_host", **NAMES),
        "evacuation": check("evacuate_host", evacuate_host="compute1", evacuate_fence="attested"),
        "resize": check("resize_server", resize_server=server, resize_flavor="micro"),
        "audit": lambda: playbooks.run("audit", variables=state, timeout=300),
        "refusal": check("rename_host", **{**NAMES, "rename_to": "compute2"}),
    }
    took = {name: [] for name in runs}
    for number in range(ROUNDS):
        for name, run in runs.items():
            took[name].append(timed(run))
        print(
            f"round {number + 1}: " + ", ".join(f"{name} {times[-1]:.1f} s" for name, times in took.items()), flush=True
        )
    unit = statistics.median(took["ping"])
    for name, times in took.items():
        middle = statistics.median(times)
        print(f"{name:<11} {middle:6.1f} s  {middle / unit:5.1f} pings  (from {min(times):.1f} to {max(times):.1f})")
    zoning.tidy(here)
    return 0


if __name__ == "__main__":
    sys.exit(main())
