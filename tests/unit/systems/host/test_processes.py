# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which processes are there: one that was killed is gone also while nobody has taken notice of its death."""

from __future__ import annotations

import subprocess
import time

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import processes


def test_a_process_that_runs_has_a_start_and_a_zombie_has_none():
    child = subprocess.Popen(["sleep", "600"])
    try:
        began = processes.start_time(child.pid)
        assert began is not None
        assert processes.start_time(child.pid) == began
        child.kill()
        end = time.monotonic() + 60
        # It is not waited for: it stays in the table of processes.
        while processes.start_time(child.pid) is not None and time.monotonic() < end:
            time.sleep(0.01)
        assert processes.start_time(child.pid) is None
        assert child.pid in processes.all_pids()
    finally:
        child.kill()
        child.wait()
    assert processes.start_time(child.pid) is None
