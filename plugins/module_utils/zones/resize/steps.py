# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a resize that stays in its zone. A stray is reverted, never confirmed.

Nothing is remembered between two looks but what was asked for in this very run: the server's own status, flavor and
task say what is next. So a run that was killed is carried on with by looking again. What a tenant does meanwhile
(deletes, confirms, reverts) is seen, told and respected.
"""

from __future__ import annotations

import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Memory, Params, Systems, as_step_error
from ...hazards import zones as checks
from ...model.codes.catalogue import remedy_text
from ...model.errors import ApiError, Conflict, DatabaseError
from ...model.facts import ApiServer
from ...model.findings import Finding
from ...systems.api import (
    compute_services,
    instance_actions,
    server_actions,
    server_records,
)
from ..pins import pin_steps as zone_pin

#: Seconds for a pin to wait until a server is idle.
IDLE = 120.0
#: How often a call is made again where the API says 409: the server's state is changing under our eyes.
BUSY_TRIES = 5
AT_REST = ("ACTIVE", "SHUTOFF")
VERIFY = "VERIFY_RESIZE"


class TakeBackError(StepError):
    """The resize cannot be: what was done is taken back at once. ``finding``: why, where there is one."""

    def __init__(self, message: str, finding: t.Optional[Finding] = None) -> None:
        super().__init__(message)
        self.finding = finding


class LostError(StepError):
    """Nova does not show the server, and nothing proves that it is deleted: the operation stays open."""


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


def _swap(systems: Systems, params: Params, before: t.Optional[str], after: t.Optional[str]) -> str:
    """Change the pin as soon as no task of the server is in progress."""
    method = str(params["method"])
    url = systems.url("api") if method == zone_pin.BY_DB else None
    pins = zone_pin.Pins(systems.cloud, method, url, systems.still_ours)

    def seen() -> t.Optional[str]:
        try:
            return pins.swap(params["uuid"], before, after)
        except zone_pin.BusyError:
            return None
        except DatabaseError as error:
            raise StepError(str(error)) from error

    return systems.wait(lambda: f"Nova shows no task in progress for server {params['name']}", IDLE, seen)


class Pin:
    """Pin the server to the zone that it is in."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Pin it. What is neither as it was read nor as it shall be was changed by somebody else."""
        try:
            outcome = _swap(self.systems, params, params["before"], params["zone"])
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
        _give_back(self.systems, params)


class Unpin:
    """Give the pin back that the server had."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give it back."""
        return Done(_give_back(self.systems, params))

    def undo(self, params: Params) -> None:
        """Nothing: a revert does not ask the scheduler, and C(pin) is taken back after it."""


def _give_back(systems: Systems, params: Params) -> str:
    try:
        outcome = _swap(systems, params, params["zone"], params["before"])
    except Conflict as error:
        # Somebody else has pinned it since: theirs is the last word.
        systems.remark(f"the run does not change the availability zone pin of the server: {error}")
        return (
            "another user changed the availability zone pin of the server during the run, so the run leaves the pin "
            "as it is"
        )
    except ApiError as error:
        raise StepError(str(error)) from error
    if outcome == zone_pin.GONE:
        return "the owner deleted the server during the run"
    return f"the availability zone pin of the server is {params['before'] or 'none'}, as before"


# --- the resize -----------------------------------------------------------------------------------------------


class _Server:
    """One server, looked at again and again."""

    def __init__(self, systems: Systems, params: Params) -> None:
        self.systems = systems
        self.params = params

    def look(self) -> ApiServer:
        """Return the server. Raises :class:`TakeBackError` where it is gone, LostError where it cannot be known."""
        with as_step_error():
            try:
                server = server_records.existing_server(self.systems.cloud, self.params["uuid"])
            except server_records.NotShownError as error:
                raise LostError(str(error)) from error
        if server is None:
            raise TakeBackError(f"server {self.params['name']} was deleted by its owner during the run")
        return server

    def resized(self, server: ApiServer) -> bool:
        """Whether it has another flavor than before."""
        flavor = server.flavor
        if flavor is None:
            raise StepError(f"the run could not read the flavor of server {server.name}")
        return [flavor.name, flavor.vcpus, flavor.ram, flavor.disk] != list(self.params["old_flavor"])

    def wanted(self, server: ApiServer) -> bool:
        """Whether it has the flavor that was asked for."""
        return server.flavor is not None and server.flavor.name == self.params["flavor_name"]

    def wait(self, what: str, seen: t.Callable[[ApiServer], t.Optional[str]]) -> str:
        """Wait, with no task in progress, for what is looked for."""
        last: t.List[str] = [""]

        def look() -> t.Optional[str]:
            try:
                server = self.look()
            except (TakeBackError, LostError):
                raise
            except StepError as error:
                # Nova goes on by itself; whether it answers again is seen at the next look.
                last[0] = str(error)
                return None
            last[0] = f"{server.status}, task {server.task_state}"
            return None if server.task_state is not None else seen(server)

        return self.systems.wait(lambda: f"{what} ({last[0]})", float(self.params["timeout"]), look)

    def why(self) -> str:
        """Return what Nova says of its newest action."""
        with as_step_error():
            return instance_actions.why(self.systems.cloud, {"id": self.params["uuid"]})


class ResizeServer:
    """Ask for the resize and wait until it waits for its confirmation."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Ask once. A resize under way, of an earlier run of this very operation, is waited for."""
        server = _Server(self.systems, params)
        asked, busy = [False], [0]

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
            asked[0] = self._ask(params, busy)
            return None

        return Done(server.wait(f"server {params['name']} is resized", seen))

    def _ask(self, params: Params, busy: t.List[int]) -> bool:
        try:
            server_actions.resize(self.systems.cloud, params["uuid"], params["flavor"])
        except ApiError as error:
            status = error.data.get("status")
            busy[0] += 1
            # 409: it changes under our eyes. No answer: whether Nova took it, the next look shows by its task.
            if (status is None or status == 409) and busy[0] < BUSY_TRIES:
                return False
            raise TakeBackError(f"Nova refused the resize: {error}") from error
        return True

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
        found = _Server(self.systems, params).look()
        with as_step_error():
            zone = compute_services.zone_of_host(self.systems.cloud, found.host)
        confirmed = found.status != VERIFY
        remedy = remedy_text("SG407", "resize-confirmed-outside-zone" if confirmed else "resize-reverted")
        stray = checks.landed(found, params["zone"], zone, remedy)
        if stray is not None:
            said = f"SG407 landed-outside-zone: {found.name} landed on {found.host} in {zone}, not in {params['zone']}"
            raise TakeBackError(f"{said}. {remedy}", stray)
        return Done(f"on {found.host} in {zone}")

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
