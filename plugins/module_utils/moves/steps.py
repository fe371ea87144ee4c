# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of moving servers within their zones, and of emptying a host: the mover, and a host that is held for it."""

from __future__ import annotations

import typing as t

from ..engine.runner import Action, Done, StepError
from ..engine.service_status import ServiceStatus
from ..engine.systems import Memory, Params, Systems, as_step_error
from ..model.lookups import OURS
from ..systems.api import compute_services
from .mover import MoveContext, MoveServers


def actions(systems: Systems, context: MoveContext) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    return {
        "hold": Hold(systems),
        "move": MoveServers(systems, context),
        "leave": ServiceStatus(systems),
    }


class Hold(ServiceStatus):
    """The host disabled, in the name of this operation."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Disable it, unless another operation has done so since it was read."""
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, params["host"])
        found = (service.disabled_reason if service is not None else None) or ""
        if found.startswith(OURS) and found != params["after"]["reason"]:
            raise StepError(f"SG707 lock-held: another operation has locked {params['host']}: {found}")
        return super().apply(params, memory)
