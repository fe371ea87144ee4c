# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run that moves, resizes or empties is given."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.operations import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.steps.rename import Systems


@dataclasses.dataclass(frozen=True)
class ServerRun(lifecycle.Run):
    """What a run is given. ``options``: the module's own, as its documentation says."""

    systems: Systems
    operation_id: str
    #: Whether a diff shows the values, so that the plan need not.
    diff: bool = False
