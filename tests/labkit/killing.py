# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kills a playbook with everything that it started."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import time

from . import waiting


def descendants(pid):
    """Processes below a process."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def kill_when_said(process, text, timeout=300, times=1, delay=0.0, after=""):
    """Kill a playbook of :meth:`Playbooks.start` as soon as it has said something (so many times, seconds ago).

    ``after``: what it must have said before that.
    """
    when_said(process, text, timeout, times, after)
    time.sleep(delay)
    kill(process)


def when_said(process, text, timeout=300, times=1, after=""):
    """Wait until a playbook has said something (so many times, after something else), and still runs."""
    output = process.directory / "stdout"

    def said():
        _before, found, rest = output.read_text().partition(after) if after else ("", True, output.read_text())
        return (bool(found) and rest.count(text) >= times) or process.poll() is not None or None

    waiting.until(f"the playbook says {text!r} {times} times", said, timeout, 0.05)
    assert process.poll() is None, f"it ended before {text!r} ({times}):\n{output.read_text()[-3000:]}"


def kill(process):
    """Kill a playbook with everything that it started. One that has ended is left alone."""
    # Workers are sessions of their own.
    doomed = (process.pid, *descendants(process.pid))
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    waiting.until("all of them dead", lambda: not any(map(_lives, doomed)) or None, 60, 0.05)


def steps_begun(lab, host):
    """The steps that the journal of a host's rename says have begun, in order, and how many there are in all.

    None where no rename is open.
    """
    text = lab.ssh(host, "cat /var/lib/stackguard/rename.json 2>/dev/null || true")
    if not text:
        return None
    steps = json.loads(text)["steps"]
    return [name for name, state in steps.items() if state != "pending"], len(steps)


def kill_at_share(lab, process, host, share, delay, timeout=600):
    """Kill a rename so many seconds after it has begun the step at this part (0 to 1) of all its steps."""

    def reached():
        if process.poll() is not None:
            return True
        begun = steps_begun(lab, host)
        return (begun is not None and len(begun[0]) > share * begun[1]) or None

    waiting.until("that step", reached, timeout, 0.5)
    time.sleep(delay)
    kill(process)


def stop(process):
    """Stop a playbook with everything that it started, as a machine that is suspended does; see :func:`go_on`."""
    _signal_all(process, signal.SIGSTOP)


def go_on(process):
    """Let a stopped playbook go on where it stood."""
    _signal_all(process, signal.SIGCONT)


def _signal_all(process, number):
    for pid in (process.pid, *descendants(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _lives(pid):
    """Whether a process still runs: one in the middle of a write to a disk dies after it."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
