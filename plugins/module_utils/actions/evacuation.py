# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends servers away from a dead host, one wave at a time, and waits until each has landed or failed.

Nothing is remembered between two looks but what was asked for in this very run: whether a server is still on the dead
host, and whether a task of it is in progress, is Nova's word. So a run that was killed is carried on with by looking
again, and no server is evacuated twice: one whose evacuation is under way is waited for, one that has left is let be.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import STATUSES
from ansible_collections.stackguard.nova.plugins.module_utils.facts import ApiServer
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import Seat
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, evacuations, moves

Json = t.Dict[str, t.Any]

#: Seconds between two looks at the servers of the dead host: one request, however many are on their way.
POLL = 2.0
#: How often a server is asked for again where the API says 409: its state is changing under our eyes.
BUSY_TRIES = 5
#: Looks in a row that may fail before the run gives up; the servers go on by themselves.
BLIND_LOOKS = 15

#: Outcomes.
ARRIVED, FAILED, GONE, UNKNOWN = "arrived", "failed", "gone", "unknown"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one server's evacuation ended. ``host``: where Nova has it now."""

    uuid: str
    name: str
    outcome: str
    target: t.Optional[str]
    host: t.Optional[str]
    status: t.Optional[str]
    seconds: int
    reason: t.Optional[str] = None
    #: Status of the migration record.
    migration: t.Optional[str] = None


@dataclasses.dataclass
class _Trip:
    """One server on its way. ``target``: None for one that was on its way when this run began."""

    uuid: str
    name: str
    target: t.Optional[str]
    asked: bool = False
    started: float = 0.0
    busy: int = 0


class Evacuator:
    """Sends one wave. ``remark``: progress for people; ``sleep`` and ``monotonic``: seconds."""

    def __init__(
        self,
        cloud: t.Any,
        source: str,
        remark: t.Callable[[str], None],
        sleep: t.Callable[[float], None],
        monotonic: t.Callable[[], float],
        target_state: str = "keep",
        timeout: float = 1800.0,
    ) -> None:
        self.cloud = cloud
        self.source = source
        self.remark = remark
        self.sleep = sleep
        self.monotonic = monotonic
        self.target_state = target_state
        self.timeout = timeout
        self.outcomes: t.List[Outcome] = []
        self._blind = 0

    def wait_for_those_under_way(self, uuids: t.Collection[str]) -> t.List[Outcome]:
        """Wait for servers that an earlier run sent, and return how they ended. Raises :class:`ApiError`."""
        there = [server for server in self._on_source().values() if server.id in uuids and server.task_state]
        trips = [_Trip(server.id, server.name, None, asked=True) for server in there]
        for trip in trips:
            self.remark(f"{trip.name}: its evacuation is under way already")
        return self._run(trips)

    def send(self, seats: t.Sequence[Seat]) -> t.List[Outcome]:
        """Send a wave and return how each ended, in the order they did. Raises :class:`ApiError` where Nova is mute."""
        return self._run([_Trip(seat.uuid, seat.name, seat.host) for seat in seats])

    # --- the wave

    def _run(self, trips: t.List[_Trip]) -> t.List[Outcome]:
        self.outcomes = []
        total, begin = len(trips), self.monotonic()
        active = list(trips)
        for trip in active:
            trip.started = begin
        while active:
            there = self._look()
            if there is not None:
                active = [trip for trip in active if not self._step(trip, there, total, begin)]
            if active:
                self.sleep(POLL)
        return self.outcomes

    def _look(self) -> t.Optional[t.Dict[str, ApiServer]]:
        try:
            there = self._on_source()
        except ApiError as error:
            self._blind += 1
            if self._blind > BLIND_LOOKS:
                raise
            self.remark(f"Nova does not answer ({error}); what was sent goes on by itself")
            return None
        self._blind = 0
        return there

    def _on_source(self) -> t.Dict[str, ApiServer]:
        return {server.id: server for server in cloud_reads.list_servers(self.cloud, moves.SERVERS, self.source)}

    def _step(self, trip: _Trip, there: t.Mapping[str, ApiServer], total: int, begin: float) -> bool:
        """Do what is next for one server; whether it has ended, well or not."""
        server = there.get(trip.uuid)
        if server is None:
            return self._elsewhere(trip, total, begin)
        if server.task_state is not None:
            return self._patience(trip, server)
        if not trip.asked:
            return self._ask(trip, server, total, begin)
        return self._back(trip, server, total, begin)

    def _ask(self, trip: _Trip, server: ApiServer, total: int, begin: float) -> bool:
        if server.status not in STATUSES:
            return self._end(trip, FAILED, server.host, server.status, f"it is {server.status}", total, begin)
        try:
            evacuations.evacuate(self.cloud, trip.uuid, str(trip.target), self.target_state)
        except ApiError as error:
            status = error.data.get("status")
            if status == 409 and trip.busy < BUSY_TRIES:
                trip.busy += 1
                return False
            if status is None:
                # No answer: whether Nova took it, the next look shows by its task.
                trip.busy += 1
                if trip.busy < BUSY_TRIES:
                    return False
            return self._end(trip, FAILED, server.host, server.status, str(error), total, begin)
        trip.asked = True
        self.remark(f"{trip.name}: to {trip.target}")
        return False

    def _elsewhere(self, trip: _Trip, total: int, begin: float) -> bool:
        """It is no longer on the dead host: where is it, and has its task ended?"""
        try:
            server = moves.get_server(self.cloud, trip.uuid)
        except ApiError:
            return False
        if server is None or server["status"] in ("DELETED", "SOFT_DELETED"):
            return self._end(trip, GONE, None, None, "deleted by its owner meanwhile", total, begin)
        host = server.get("OS-EXT-SRV-ATTR:host")
        if server.get("OS-EXT-STS:task_state") is not None or host is None:
            return self._overdue(trip, str(host), server["status"])
        if server["status"] == "ERROR":
            return self._end(trip, FAILED, host, "ERROR", self._why(server), total, begin)
        return self._end(trip, ARRIVED, host, server["status"], None, total, begin)

    def _back(self, trip: _Trip, server: ApiServer, total: int, begin: float) -> bool:
        """It was sent, its task has ended, and it is still on the dead host: it failed, or has not begun yet."""
        record = self._record(trip)
        if record in ("accepted", "pre-migrating"):
            return self._patience(trip, server)
        why = self._why({"id": server.id})
        return self._end(trip, FAILED, server.host, server.status, why, total, begin)

    def _patience(self, trip: _Trip, server: ApiServer) -> bool:
        # Its task is in progress: whoever asked for it, it is not asked for again.
        trip.asked = True
        return self._overdue(trip, server.host, server.status)

    def _overdue(self, trip: _Trip, host: t.Optional[str], status: str) -> bool:
        if self.monotonic() - trip.started <= self.timeout:
            return False
        reason = f"not ended within {int(self.timeout)} s; Nova may still be at it"
        return self._end(trip, UNKNOWN, host, status, reason, 0, self.monotonic())

    def _record(self, trip: _Trip) -> t.Optional[str]:
        try:
            record = evacuations.last_evacuation(self.cloud, trip.uuid)
        except ApiError:
            return None
        return None if record is None else str(record["status"])

    def _why(self, server: Json) -> str:
        return moves.why(self.cloud, server)

    def _end(
        self,
        trip: _Trip,
        outcome: str,
        host: t.Optional[str],
        status: t.Optional[str],
        reason: t.Optional[str],
        total: int,
        begin: float,
    ) -> bool:
        now = self.monotonic()
        record = self._record(trip) if outcome in (ARRIVED, FAILED) else None
        done = Outcome(
            trip.uuid, trip.name, outcome, trip.target, host, status, int(now - trip.started), reason, record
        )
        self.outcomes.append(done)
        count = len(self.outcomes)
        left = int((now - begin) / count * (total - count)) if total > count else 0
        eta = f", some {left} s to go" if left else ""
        where = f"{status} on {host}" if outcome == ARRIVED else f"{outcome}: {reason}"
        self.remark(f"{count}/{max(total, count)} {trip.name}: {where} ({done.seconds} s{eta})")
        return True
