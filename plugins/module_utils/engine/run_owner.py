# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which process carries an operation out, so that two runs never work on one."""

from __future__ import annotations

import multiprocessing
import os
import socket
import typing as t

from ..model.errors import StackguardError
from ..systems.host import processes


def this_run() -> t.Dict[str, t.Any]:
    """Name this process: that of one task, which goes on where only the playbook above it was killed."""
    pid = os.getpid()
    return {"controller": socket.gethostname(), "pid": pid, "pid_start": processes.start_time(pid), **place()}


def this_playbook() -> t.Dict[str, t.Any]:
    """Name this process, and the playbook above it: for an operation of several tasks, between which none runs."""
    return {**this_run(), "playbook": _playbook()}


def whole_playbook(**more: t.Any) -> t.Dict[str, t.Any]:
    """Name the playbook alone: for an operation that several of its tasks carry out, one after the other.

    ``more``: what else a later run needs to know of this one.
    """
    return {"controller": socket.gethostname(), **_playbook(), **place(), **more}


def _playbook() -> t.Dict[str, t.Any]:
    """Name the process that began this task. Raises :class:`StackguardError` where it has been killed since.

    The kernel gives a task whose playbook was killed another parent, such as process 1: named as the owner, that would
    never end, and no later run could resume. C(multiprocessing) knows who began the task.
    """
    began = multiprocessing.parent_process()
    if began is None:
        pid = os.getpid()
    elif began.pid is None or began.pid != os.getppid():
        raise StackguardError(
            f"the playbook that started this task (process {began.pid}) has ended, so the task changed nothing"
        )
    else:
        pid = began.pid
    return {"pid": pid, "pid_start": processes.start_time(pid)}


def place() -> t.Dict[str, t.Optional[str]]:
    """Return where process ids mean what they mean here: this boot of this machine, this container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return {"boot_id": stream.read().strip(), "pid_space": os.readlink("/proc/self/ns/pid")}
    except OSError:
        return {"boot_id": None, "pid_space": None}


def has_ended(run: t.Mapping[str, t.Any]) -> t.Optional[bool]:
    """Return whether the process of a run (:func:`this_run` and :func:`place`) has ended; None: not known here.

    Two containers may have one name, and one machine may be another after its reboot.
    """
    here = {"controller": socket.gethostname(), **place()}
    if any(value is None or run.get(key) != value for key, value in here.items()) or run.get("pid_start") is None:
        return None
    return processes.start_time(int(run["pid"])) != int(run["pid_start"])


def refuse_while_it_runs(
    journal: t.Mapping[str, t.Any], mine: t.Mapping[str, t.Any], take_over: bool, option: str = "take_over"
) -> None:
    """SG707: refuse where the run that began this operation goes on. Of one elsewhere only its operator knows.

    Raises :class:`StackguardError`.
    """
    run = journal.get("run") or {}
    if run == mine or take_over:
        return
    operation = f"operation {journal['operation_id']}"
    if run.get("controller") != mine["controller"]:
        raise StackguardError(
            f"SG707 lock-held: {operation} began on another Ansible controller ({run.get('controller')}). If the run "
            f"on that controller has ended, set {option}=true"
        )
    if run.get("pid_space") and run.get("boot_id") == mine.get("boot_id") and run["pid_space"] != mine.get("pid_space"):
        raise StackguardError(
            f"SG707 lock-held: {operation} began in another container of {run.get('controller')}, whose processes "
            f"cannot be seen here. If the run there has ended, set {option}=true"
        )
    above = run.get("playbook") or {}
    for process in (run, above if above != mine.get("playbook") else {}):
        if process.get("pid_start") is not None and processes.start_time(int(process["pid"])) == process["pid_start"]:
            raise StackguardError(f"SG707 lock-held: process {process['pid']} on this machine is running {operation}")
