# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of an unshelving. What runs stays running: a stray is told, with the way back, and never shelved again.

A request that Nova accepted may still fail, and nothing but the status tells: the server is shelved as before. Its pin,
which Nova writes before it looks for a host (bug 1978573), is then given back.
"""

from __future__ import annotations

import functools
import typing as t

from ...engine.runner import Action, Done
from ...engine.systems import Memory, Params, Systems, as_step_error
from ...model.codes.catalogue import remedy_text
from ...model.facts import ApiServer
from ...systems.api import instance_actions, server_actions, server_records
from ..server_steps import AT_REST, TakeBackError, WatchedServer, give_back_pin
from .preflight import STATUSES


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    return {"unshelve": Unshelve(systems), "verify_zone": Compare(systems)}


class _Server(WatchedServer):
    """The server that is unshelved."""

    # Without its image Nova sets it to ERROR, and leaves the task (conductor/manager.py, unshelve_instance).
    ENDS: t.ClassVar[t.Tuple[str, ...]] = ("ERROR",)

    def why(self) -> str:
        """Return what Nova says of the action, and the fault, which it shows of a server in ERROR only."""
        uuid = str(self.params["uuid"])
        with as_step_error():
            shown = server_records.raw_server(self.systems.cloud, uuid) or {"id": uuid}
            return instance_actions.why(self.systems.cloud, shown, moved=False)


class Unshelve:
    """Ask for it, and wait until the server runs."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Ask once. An unshelving under way, of an earlier run of this very operation, is waited for."""
        server = _Server(self.systems, params)
        asked = [False]

        def seen(found: ApiServer) -> t.Optional[str]:
            if found.status in AT_REST:
                return f"{found.status} on {found.host}"
            if found.status not in STATUSES:
                raise TakeBackError(f"server {found.name} is {found.status}: {server.why()}")
            if asked[0]:
                raise TakeBackError(f"Nova did not unshelve server {found.name}: {server.why()}")
            if found.status != params["status"]:
                raise TakeBackError(f"server {found.name} is {found.status} now: Nova has offloaded it during the run")
            unshelve = functools.partial(server_actions.unshelve, self.systems.cloud, params["uuid"], params["ask"])
            asked[0] = server.ask("request to unshelve the server", unshelve)
            return None

        return Done(server.wait(f"server {params['name']} is unshelved", seen))

    def undo(self, params: Params) -> None:
        """Wait for its end. A server that is still shelved gets its pin back; one that runs keeps its zone's."""
        server = _Server(self.systems, params)
        try:
            server.wait(f"Nova has ended the task of server {params['name']}", lambda found: found.status)
            found = server.look()
        except TakeBackError as error:
            self.systems.remark(str(error))
            return
        if found.host is not None or found.status not in STATUSES or params["ask"] in (None, params["before"]):
            self.systems.remark(f"the run leaves server {found.name} as it is: {found.status} on {found.host}")
        elif params["method"] is not None:
            self.systems.remark(give_back_pin(self.systems, params))
        else:
            self.systems.remark(
                f"the server is pinned to {found.pinned_availability_zone or 'no zone'}. The run cannot set the pin "
                f"back to {params['before'] or 'none'}: only Nova 34 (2026.2) or nova_api_db_url can"
            )


class Compare:
    """See that the server is in its zone."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Compare the zone of the host that it runs on."""
        server = _Server(self.systems, params)
        return server.prove_zone(server.look(), remedy_text("SG407", "unshelved-outside-zone"))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""
