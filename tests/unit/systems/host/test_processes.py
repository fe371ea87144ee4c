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


def _guest(proc, pid, parent, uuid="one"):
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_bytes(f"/usr/bin/qemu-system-x86_64\0-uuid\0{uuid}\0-S\0".encode())
    fields = ["S", str(parent), *["0"] * 17, "77"]
    (proc / str(pid) / "stat").write_text(f"{pid} (qemu (x) y) {' '.join(fields)}\n")


def test_a_process_that_forks_is_one_guest_and_two_processes_are_two(tmp_path):
    """Between fork and exec a child has its parent's arguments: the guest seemed to run twice for a moment."""
    _guest(tmp_path, 70, 1)
    _guest(tmp_path, 71, 70)
    _guest(tmp_path, 72, 71)
    assert processes.qemu_by_uuid(str(tmp_path)) == {"one": [70]}
    # Started twice: neither is the other's child.
    _guest(tmp_path, 80, 1)
    assert processes.qemu_by_uuid(str(tmp_path)) == {"one": [70, 80]}
    _guest(tmp_path, 90, 70, "two")
    assert processes.qemu_by_uuid(str(tmp_path))["two"] == [90]


def test_of_a_guest_whose_processes_are_seen_twice_the_one_that_ended_is_not_there(tmp_path):
    _guest(tmp_path, 70, 1)
    seen = {pid: ["qemu", "-uuid", "one", "-S"] for pid in (70, 71)}
    assert processes.qemu_by_uuid(str(tmp_path), seen) == {"one": [70]}
    # All of them ended since: they were there when they were looked at.
    assert processes.qemu_by_uuid(str(tmp_path / "empty"), seen) == {"one": [70, 71]}
