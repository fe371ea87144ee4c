# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The step that disables and enables a compute service, and proves it."""

from __future__ import annotations

import typing as t

from ..systems.api import compute_services, resource_providers
from .runner import Done, StepError
from .systems import Memory, Params, Systems, as_step_error

DISABLED = resource_providers.DISABLED_TRAIT


class ServiceStatus:
    """The compute service's status and reason. Enabling it proves more than a heartbeat does.

    The API tells nova-compute over RPC, by the host's name; nova-compute takes COMPUTE_STATUS_DISABLED off its
    provider, and placement counts that in the provider's generation (compute/manager.py, set_host_enabled). A restart
    alone moves no generation where the inventory is the same; a guest's allocation moves it without nova-compute. So
    the trait must be seen there, then gone, at a higher generation.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Set the status after; a service that was disabled stays so, and then nothing proves its inventory."""
        return Done(self._set(params, params["before"], params["after"]))

    def undo(self, params: Params) -> t.Optional[Done]:
        """Set the status before: after a rollback too, an enabled service must prove itself."""
        self._set(params, params["after"], params["before"])
        return None

    def _set(self, params: Params, leaving: t.Mapping[str, t.Any], wanted: t.Mapping[str, t.Any]) -> str:
        if wanted["status"] != "enabled":
            self._put(params, wanted, leaving)
            return f"{wanted['status']}" + (f" ({wanted['reason']})" if wanted["reason"] else "")
        # It may be enabled already, by a run that was killed before it saw the proof: only a change from disabled to
        # enabled makes the API tell nova-compute (compute/api.py, HostAPI.service_update), so that is made anew.
        self._put(params, wanted=leaving, leaving=wanted)
        before = self._wait(params, f"nova-compute sets trait {DISABLED}", lambda now: DISABLED in now.traits)
        self._put(params, wanted, leaving)
        try:
            after = self._wait(
                params,
                f"nova-compute updates its inventory and removes trait {DISABLED}",
                lambda now: DISABLED not in now.traits and now.generation > before.generation,
            )
        except StepError:
            self._put(params, wanted=leaving, leaving=wanted)
            raise
        return (
            "the compute service is enabled, and the resource provider's generation in placement changed: "
            f"{before.generation} -> {after.generation}"
        )

    def _put(self, params: Params, wanted: t.Mapping[str, t.Any], leaving: t.Mapping[str, t.Any]) -> None:
        """Set it from one to the other. Whoever disabled it meanwhile had a reason: that is never overwritten."""
        self.systems.still_ours()
        with as_step_error():
            compute_services.set_service_status(
                self.systems.cloud,
                params["service_id"],
                wanted["status"],
                wanted["reason"],
                (leaving["status"], leaving["reason"]),
            )

    def _wait(
        self, params: Params, what: str, enough: t.Callable[[resource_providers.ProviderTraits], bool]
    ) -> resource_providers.ProviderTraits:
        seen: t.List[resource_providers.ProviderTraits] = []

        def look() -> t.Optional[str]:
            with as_step_error():
                seen[:] = [resource_providers.get_provider_traits(self.systems.cloud, params["provider"])]
            return "seen" if enough(seen[0]) else None

        told = f"{what} (resource provider {params['provider']})"
        self.systems.wait(lambda: told, params["timeout"], look)
        return seen[0]
