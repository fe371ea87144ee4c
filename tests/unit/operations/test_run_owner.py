# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who carries an operation out: the playbook that began the task, never the process that inherits an orphan."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError

FORK = multiprocessing.get_context("fork")
OWNERS = (run_owner.whole_playbook, run_owner.this_playbook)


def owned(owner):
    """What a task says: the pid of its playbook, or why it refuses."""
    try:
        named = owner()
    except StackguardError as error:
        return str(error)
    return named.get("playbook", named)["pid"]


def playbook(owner, answers, dies):
    """A playbook that begins one task, as Ansible forks its workers, and is killed before the task looks."""

    def task():
        while dies and os.getppid() == began:
            time.sleep(0.01)
        answers.put(owned(owner))

    began = os.getpid()
    worker = FORK.Process(target=task)
    worker.start()
    if dies:
        os.kill(began, signal.SIGKILL)
    worker.join()


def answer_of(owner, dies):
    answers = FORK.SimpleQueue()
    process = FORK.Process(target=playbook, args=(owner, answers, dies))
    process.start()
    told = answers.get()
    process.join()
    return told, process.pid


@pytest.mark.parametrize("owner", OWNERS)
def test_the_playbook_that_began_a_task_is_its_owner(owner):
    told, pid = answer_of(owner, dies=False)
    assert told == pid


@pytest.mark.parametrize("owner", OWNERS)
def test_a_task_whose_playbook_was_killed_does_nothing(owner):
    """Seen on the lab: it named process 1, which never ends, and every later run was refused with SG707."""
    told, pid = answer_of(owner, dies=True)
    assert told == f"the playbook that started this task (process {pid}) has ended, so the task changed nothing"
