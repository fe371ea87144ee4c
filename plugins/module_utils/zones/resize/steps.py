# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a resize that stays in its zone. A stray is reverted, never confirmed.

Nothing is remembered between two looks but what was asked for in this very run: the server's own status, flavor and
task say what is next. So a run that was killed is carried on with by looking again. What a tenant does meanwhile
(deletes, confirms, reverts) is seen, told and respected.
"""

from __future__ import annotations

import functools
import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Memory, Params, Systems
from ...model.codes.catalogue import remedy_text
from ...model.errors import ApiError, Conflict
from ...model.facts import ApiServer
from ...systems.api import server_actions
from ..pins import pin_steps as zone_pin
from ..server_steps import AT_REST, TakeBackError, WatchedServer, give_back_pin, swap_pin

VERIFY = "VERIFY_RESIZE"


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    return {
        "pin": Pin(systems),
        "resize": ResizeServer(systems),
        "compare": Compare(systems),
        "confirm": Confirm(systems),
        "unpin": Unpin(systems),
    }


# --- pins -----------------------------------------------------------------------------------------------------


class Pin:
    """Pin the server to the zone that it is in."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Pin it. What is neither as it was read nor as it shall be was changed by somebody else."""
        try:
            outcome = swap_pin(self.systems, params, params["before"], params["zone"])
        except Conflict as error:
            raise TakeBackError(f"{error}. Nothing was moved") from error
        except ApiError as error:
            if error.data.get("status") is None:
                raise StepError(str(error)) from error
            raise TakeBackError(f"{error}. Nothing was moved") from error
        if outcome == zone_pin.GONE:
            raise TakeBackError(f"server {params['name']} was deleted by its owner during the run")
        return Done(f"pinned to {params['zone']}")

    def undo(self, params: Params) -> None:
        """Give the pin back that it had."""
        give_back_pin(self.systems, params)


class Unpin:
    """Give the pin back that the server had."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give it back."""
        return Done(give_back_pin(self.systems, params))

    def undo(self, params: Params) -> None:
        """Nothing: a revert does not ask the scheduler, and C(pin) is taken back after it."""


# --- the resize -----------------------------------------------------------------------------------------------


class _Server(WatchedServer):
    """The server that is resized."""

    def resized(self, server: ApiServer) -> bool:
        """Whether it has another flavor than before."""
        flavor = server.flavor
        if flavor is None:
            raise StepError(f"the run could not read the flavor of server {server.name}")
        return [flavor.name, flavor.vcpus, flavor.ram, flavor.disk] != list(self.params["old_flavor"])

    def wanted(self, server: ApiServer) -> bool:
        """Whether it has the flavor that was asked for."""
        return server.flavor is not None and server.flavor.name == self.params["flavor_name"]


class ResizeServer:
    """Ask for the resize and wait until it waits for its confirmation."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Ask once. A resize under way, of an earlier run of this very operation, is waited for."""
        server = _Server(self.systems, params)
        asked = [False]

        def seen(found: ApiServer) -> t.Optional[str]:
            if found.status == VERIFY:
                if not server.wanted(found):
                    raise TakeBackError(f"the owner resized server {found.name} to another flavor during the run")
                return f"on {found.host}"
            if found.status == "ERROR":
                raise TakeBackError(f"server {found.name} is in ERROR: {server.why()}")
            if server.wanted(found) and server.resized(found):
                return f"on {found.host}: another user has already confirmed the resize"
            if asked[0]:
                raise TakeBackError(f"Nova did not resize server {found.name}: {server.why()}")
            if found.status not in AT_REST:
                raise TakeBackError(f"server {found.name} is {found.status} now, and was not resized")
            resize = functools.partial(server_actions.resize, self.systems.cloud, params["uuid"], params["flavor"])
            asked[0] = server.ask("resize", resize)
            return None

        return Done(server.wait(f"server {params['name']} is resized", seen))

    def undo(self, params: Params) -> None:
        """Wait for it, and revert it unless it was confirmed: Nova's own way back to the host it came from."""
        server = _Server(self.systems, params)
        asked = [False]

        def seen(found: ApiServer) -> t.Optional[str]:
            if found.status == VERIFY and server.wanted(found):
                if not asked[0]:
                    self._revert(params["uuid"])
                    asked[0] = True
                    return None
                return None
            return self._told(server, found, asked[0])

        try:
            said = server.wait(f"Nova has reverted the resize of server {params['name']}", seen)
        except TakeBackError as error:
            said = str(error)
        self.systems.remark(said)

    def _revert(self, uuid: str) -> None:
        try:
            server_actions.revert(self.systems.cloud, uuid)
        except ApiError as error:
            # 400: its migration is no longer waiting, since somebody confirms it just now. The next look shows.
            if error.data.get("status") not in (400, 409):
                raise StepError(str(error)) from error

    @staticmethod
    def _told(server: _Server, found: ApiServer, reverted: bool) -> str:
        if found.status in AT_REST and server.resized(found):
            return f"another user confirmed the resize of {found.name}: the server stays resized, on {found.host}"
        if found.status in AT_REST:
            return f"{found.name}: {found.status} on {found.host}, {'reverted' if reverted else 'not resized'}"
        return f"the run leaves server {found.name} unchanged, because the server is {found.status} on {found.host}"


class Compare:
    """See that the server is still in its zone."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Compare the zone of the host that it landed on. A stray is taken back: see :class:`Resize`."""
        server = _Server(self.systems, params)
        found = server.look()
        state = "resize-confirmed-outside-zone" if found.status != VERIFY else "resize-reverted"
        return server.prove_zone(found, remedy_text("SG407", state))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class Confirm:
    """Confirm the resize."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Confirm it, and wait until the server is at rest with its new flavor."""
        server = _Server(self.systems, params)
        asked = [False]

        def seen(found: ApiServer) -> t.Optional[str]:
            if found.status == VERIFY:
                if not asked[0]:
                    self._confirm(params["uuid"])
                    asked[0] = True
                return None
            if found.status not in AT_REST:
                raise TakeBackError(f"server {found.name} is {found.status}: {server.why()}")
            if not server.wanted(found):
                raise TakeBackError(f"the owner of server {found.name} reverted the resize during the run")
            return self._rested(params, found)

        return Done(server.wait(f"the resize of server {params['name']} is confirmed", seen))

    @staticmethod
    def _rested(params: Params, found: ApiServer) -> str:
        other = "" if found.status == params["status"] else f" (it was {params['status']} before)"
        return f"{found.status} on {found.host}{other}"

    def _confirm(self, uuid: str) -> None:
        try:
            server_actions.confirm(self.systems.cloud, uuid)
        except ApiError as error:
            # Somebody else, an earlier run, or resize_confirm_window, was faster.
            if error.data.get("status") not in (400, 409):
                raise StepError(str(error)) from error

    def undo(self, params: Params) -> None:
        """Nothing: what is confirmed stays, and :class:`Resize` says so; what is not is reverted there."""
