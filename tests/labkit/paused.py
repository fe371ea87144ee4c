# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename that stands still at a place, while something else happens."""

from __future__ import annotations

from . import killing, waiting


class Paused:
    """A run that stands still at a spark."""

    def __init__(self, playbooks, names, place, directory, variables=None):
        self.playbooks = playbooks
        self.directory = directory
        env = {"STACKGUARD_TEST_PAUSE": place, "STACKGUARD_TEST_MEETING": str(directory)}
        words = [f"rename_from={names[0]}", f"rename_to={names[1]}"]
        self.process = playbooks.start_rename(words, env=env, variables=variables)
        waiting.until(
            f"the run at {place}", lambda: (directory / "reached").exists() or self.process.poll() is not None, 900, 0.1
        )
        assert self.process.poll() is None, self.go().told()

    def go(self):
        """Let it go on, and return its end."""
        (self.directory / "go").touch()
        return self.playbooks.finish(self.process)

    def kill(self):
        """Kill it where it stands."""
        killing.kill(self.process)
