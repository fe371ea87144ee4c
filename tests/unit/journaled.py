# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that keeps a journal, for tests of whole operations."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner


class State:
    """The journal, as on a real host."""

    def __init__(self, directory):
        self.runner = HostRunner(str(directory), False)

    def call(self, requests):
        outcome = self.runner.run(requests)
        if outcome.error is not None:
            raise StackguardError(f"the journal: {outcome.error}")
        return outcome.results

    @property
    def open(self):
        return self.call([{"op": "journal_list"}])[0]["journals"]
