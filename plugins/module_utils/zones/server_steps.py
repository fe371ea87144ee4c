# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps share that change one server: it is watched, and its pin is changed while it has no task.

Nothing is remembered between two looks: the server's own status and task say what is next. What a tenant does meanwhile
is seen, told and respected.
"""

from __future__ import annotations

import typing as t

from ..engine.runner import Done, StepError
from ..engine.systems import Params, Systems, as_step_error
from ..hazards import zones
from ..model.errors import ApiError, Conflict, DatabaseError
from ..model.facts import ApiServer
from ..model.findings import Finding
from ..systems.api import compute_services, instance_actions, server_records
from .pins import pin_steps as zone_pin

#: Seconds for a pin to wait until a server is idle.
IDLE = 120.0
#: How often a call is made again where the API says 409: the server's state is changing under our eyes.
BUSY_TRIES = 5
AT_REST = ("ACTIVE", "SHUTOFF")


class TakeBackError(StepError):
    """What was asked for cannot be: what was done is taken back at once. ``finding``: why, where there is one."""

    def __init__(self, message: str, finding: t.Optional[Finding] = None) -> None:
        super().__init__(message)
        self.finding = finding


class LostError(StepError):
    """Nova does not show the server, and nothing proves that it is deleted: the operation stays open."""


# --- its pin


def swap_pin(systems: Systems, params: Params, before: t.Optional[str], after: t.Optional[str]) -> str:
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


def give_back_pin(systems: Systems, params: Params) -> str:
    """Give the pin back that the server had, unless somebody else has changed it since. Returns what is now."""
    try:
        outcome = swap_pin(systems, params, params["zone"], params["before"])
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


# --- the server


class WatchedServer:
    """One server, looked at again and again."""

    #: Statuses that end a wait although a task is shown: Nova leaves it behind.
    ENDS: t.ClassVar[t.Tuple[str, ...]] = ()

    def __init__(self, systems: Systems, params: Params) -> None:
        self.systems = systems
        self.params = params
        self._tries = 0

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
            busy = server.task_state is not None and server.status not in self.ENDS
            return None if busy else seen(server)

        return self.systems.wait(lambda: f"{what} ({last[0]})", float(self.params["timeout"]), look)

    def why(self) -> str:
        """Return what Nova says of its newest action."""
        with as_step_error():
            return instance_actions.why(self.systems.cloud, {"id": self.params["uuid"]})

    def ask(self, what: str, act: t.Callable[[], None]) -> bool:
        """Ask Nova for something. False: whether it was asked is seen at the next look, which may ask again."""
        try:
            act()
        except ApiError as error:
            status = error.data.get("status")
            self._tries += 1
            # 409: it changes under our eyes. No answer: whether Nova took it, the next look shows by its task.
            if (status is None or status == 409) and self._tries < BUSY_TRIES:
                return False
            raise TakeBackError(f"Nova refused the {what}: {error}") from error
        return True

    def prove_zone(self, found: ApiServer, remedy: str) -> Done:
        """Prove that it is in its zone. Raises :class:`TakeBackError` with SG407 for a stray."""
        wanted = self.params["zone"]
        with as_step_error():
            zone = compute_services.zone_of_host(self.systems.cloud, found.host)
        stray = zones.landed(found, wanted, zone, remedy)
        if stray is not None:
            said = f"SG407 landed-outside-zone: {found.name} landed on {found.host} in {zone}, not in {wanted}"
            raise TakeBackError(f"{said}. {remedy}", stray)
        return Done(f"on {found.host} in {zone}")
