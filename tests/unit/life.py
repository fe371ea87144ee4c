# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operation in a world of its own, for the rules that every operation lives by (operations/test_every_life.py)."""

from __future__ import annotations

import json
import pathlib

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit import journaled

STATE = "state"
HERE = run_owner.this_run()["controller"]
#: A second run; and a first one whose process is no more.
OTHER = {"controller": HERE, "pid": 1, "pid_start": "x"}
DEAD = {"controller": HERE, "pid": 2**22 - 1, "pid_start": "1"}
ERRORS = (StackguardError, StepError, journals.JournalError)


class Killed(BaseException):
    """The run was killed here."""


class Life:
    """One operation in a world of its own."""

    back = "rollback"

    def __init__(self, tmp_path, monkeypatch):
        self.directory = str(tmp_path / STATE)
        self.state = journaled.State(self.directory)
        self.begin_world(tmp_path, monkeypatch)

    def begin_world(self, tmp_path, monkeypatch):
        """Make the systems."""
        raise NotImplementedError

    def cut(self):
        """Begin the operation, and be killed in its middle."""
        raise NotImplementedError

    def act(self, action):
        """Do what a playbook with this action does; returns the result, or raises."""
        raise NotImplementedError

    def world(self):
        """What the operation could change, but for its journal."""
        raise NotImplementedError

    # --- for tests

    def run(self, action):
        """Return whether it failed, and the result."""
        try:
            result = self.act(action)
        except ERRORS as error:
            result = {"failed": True, "changed": False, "msg": str(error), "problem": getattr(error, "problem", "")}
        return bool(result.get("failed")), result

    @property
    def open(self):
        return journals.list_open(self.directory)

    def owner(self, run):
        """Let a run have the open operation."""
        (journal,) = self.open
        journals.write(self.directory, {**journal, "run": run})

    def let_the_owner_live(self):
        """The run that has the open operation goes on: it is this process."""
        self.owner(run_owner.this_run())

    def seen(self):
        """The world and every journal, as plain text."""
        files = sorted(path for path in pathlib.Path(self.directory).rglob("*.json") if path.is_file())
        return {str(path): path.read_text() for path in files}, json.dumps(self.world(), sort_keys=True, default=str)
