# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins servers to zones, by API or in the API database, and proves it by reading it back.

A pin is changed only while no task of the server is in progress: Nova saves whole request specs during its tasks, and
would overwrite it, or be overwritten. It is read back after that was seen once more.
"""

from __future__ import annotations

import typing as t

from ...model.errors import ApiError, Conflict
from ...model.facts import ApiServer
from ...systems.api import server_actions, server_records
from ...systems.db import request_specs

BY_DB = "pin_db"

CHANGED, ALREADY, GONE = request_specs.CHANGED, request_specs.ALREADY, request_specs.GONE


class BusyError(ApiError):
    """A task of the server is in progress: nothing was changed."""


class Pins:
    """Reads and changes pins in one way. ``url``: the API database, for ``pin_db``.

    ``check``: raises where this run may not write any more. What goes by the API has its own (http.guard_changes).
    """

    def __init__(
        self, cloud: t.Any, method: str, url: t.Optional[str] = None, check: t.Callable[[], None] = lambda: None
    ) -> None:
        self._check = check
        self.cloud = cloud
        self.method = method
        self.url = url

    def read(self, uuid: str) -> t.Tuple[bool, t.Optional[str]]:
        """Return whether the server has a pin to be read at all, and the pin."""
        if self.method == BY_DB:
            found = request_specs.read_zones(str(self.url), [uuid])
            return uuid in found, found.get(uuid)
        server = server_records.whole_server(self.cloud, uuid)
        return server is not None, None if server is None else server.pinned_availability_zone

    def swap(self, uuid: str, before: t.Optional[str], after: t.Optional[str]) -> str:
        """Change a pin from one value to another: ``changed``, ``already``, or ``gone`` for a server deleted meanwhile.

        Raises :class:`BusyError`, :class:`Conflict` where the pin is neither, :class:`ApiError` and DatabaseError. A
        server that Nova does not show is not deleted for that: :func:`server_records.existing_server`.
        """
        server = self._idle(uuid)
        if server is None:
            return GONE
        if self.method == BY_DB:
            outcome = request_specs.swap_zone(str(self.url), uuid, before, after, self._check)
        else:
            outcome = self._by_api(server, before, after)
        if outcome == CHANGED:
            self._prove(uuid, after)
        return outcome

    def _idle(self, uuid: str) -> t.Optional[ApiServer]:
        server = server_records.existing_server(self.cloud, uuid)
        if server is None:
            return None
        if server.task_state is not None:
            raise BusyError(f"server {server.name} ({uuid}): a task is in progress ({server.task_state})")
        return server

    def _by_api(self, server: ApiServer, before: t.Optional[str], after: t.Optional[str]) -> str:
        found = server.pinned_availability_zone
        if found == after:
            return ALREADY
        if found != before:
            raise Conflict(
                f"server {server.name} is pinned to {found}, expected {before}", expected=before, found=found
            )
        server_actions.pin(self.cloud, server.id, after)
        return CHANGED

    def _prove(self, uuid: str, after: t.Optional[str]) -> None:
        if self._idle(uuid) is None:
            return
        known, found = self.read(uuid)
        if known and found != after:
            raise Conflict(
                f"this run pinned server {uuid} to {after}, but another process changed the pin, so the server is now "
                f"pinned to {found}",
                expected=after,
                found=found,
            )
