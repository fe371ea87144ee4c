# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends servers away from a dead host, a few at a time to each destination, and waits until each has landed or failed.

Nothing is remembered between two looks but what was asked for in this very run: whether a server is still on the dead
host, and whether a task of it is in progress, is Nova's word. So a run that was killed is carried on with by looking
again, and no server is evacuated twice: one whose evacuation is under way is waited for, one that has left is let be.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import STATUSES
from ansible_collections.stackguard.nova.plugins.module_utils.facts import ApiServer
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import Seat
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, evacuations, moves

Json = t.Dict[str, t.Any]

#: Seconds between two looks: one request for each host that takes part, however many servers are on their way.
POLL = 2.0
#: How often a server is asked for again where the API says 409: its state is changing under our eyes.
BUSY_TRIES = 5
#: Looks in a row that may fail before the run gives up; the servers go on by themselves.
BLIND_LOOKS = 15

#: Up to so many servers are asked about one by one, before all of the dead host are listed for them.
FEW = 4

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
    """Sends servers. ``remark``: progress for people; ``sleep`` and ``monotonic``: seconds.

    ``since``: ISO 8601, some minutes before this run began: of the hosts only servers that changed since are listed;
    None: all of them.
    """

    def __init__(
        self,
        cloud: t.Any,
        source: str,
        remark: t.Callable[[str], None],
        sleep: t.Callable[[float], None],
        monotonic: t.Callable[[], float],
        target_state: str = "keep",
        timeout: float = 1800.0,
        since: t.Optional[str] = None,
    ) -> None:
        self.cloud = cloud
        self.source = source
        self.remark = remark
        self.sleep = sleep
        self.monotonic = monotonic
        self.target_state = target_state
        self.timeout = timeout
        self.since = since
        self.outcomes: t.List[Outcome] = []
        self._blind = 0

    def wait_for_those_under_way(self, uuids: t.Collection[str]) -> t.List[Outcome]:
        """Wait for servers that an earlier run sent, and return how they ended. Raises :class:`ApiError`."""
        everybody = cloud_reads.list_servers(self.cloud, moves.SERVERS, self.source)
        there = [server for server in everybody if server.id in uuids and server.task_state]
        trips = [_Trip(server.id, server.name, None, asked=True) for server in there]
        for trip in trips:
            self.remark(f"{trip.name}: its evacuation is under way already")
        return self._run(trips, len(trips), None)

    def send(self, seats: t.Sequence[Seat], parallel: int = 8, fresh: t.Optional[float] = None) -> t.List[Outcome]:
        """Send servers in their order, and return how those ended that were sent, in the order they did.

        ``parallel``: how many may be on their way to one destination. ``fresh``: seconds after which no further one
        begins, because what was measured is too old by then; as many as may go at once always do. A destination on
        which one failed gets no further one: whether it takes any is judged by what is read of it next.

        Raises :class:`ApiError` where Nova is mute.
        """
        return self._run([_Trip(seat.uuid, seat.name, seat.host) for seat in seats], parallel, fresh)

    # --- the wave

    def _run(self, waiting: t.List[_Trip], parallel: int, fresh: t.Optional[float]) -> t.List[Outcome]:
        self.outcomes = []
        total, begin = len(waiting), self.monotonic()
        active: t.List[_Trip] = []
        while True:
            now = self.monotonic()
            if not (active or self.outcomes) or fresh is None or now - begin < fresh:
                begun = self._beginners(waiting, active, parallel)
                for trip in begun:
                    trip.started = now
                active += begun
                waiting = [trip for trip in waiting if trip not in begun]
            if not active:
                return self._recorded()
            seen = self._look(active)
            if seen is not None:
                active = [trip for trip in active if not self._step(trip, seen, total, begin)]
            if active:
                self.sleep(POLL)

    def _beginners(self, waiting: t.Sequence[_Trip], active: t.Sequence[_Trip], parallel: int) -> t.List[_Trip]:
        failed_on = {entry.target for entry in self.outcomes if entry.outcome in (FAILED, UNKNOWN)} - {None}
        busy = collections.Counter(trip.target for trip in active)
        begun = []
        for trip in waiting:
            if trip.target not in failed_on and busy[trip.target] < parallel:
                busy[trip.target] += 1
                begun.append(trip)
        return begun

    def _look(self, active: t.Sequence[_Trip]) -> t.Optional[t.Dict[str, t.Optional[ApiServer]]]:
        """Return how each server on its way is now, None for one that is gone; or None where Nova is mute."""
        try:
            seen = self._seen(active)
        except ApiError as error:
            self._blind += 1
            if self._blind > BLIND_LOOKS:
                raise
            self.remark(f"Nova does not answer ({error}); what was sent goes on by itself")
            return None
        self._blind = 0
        return seen

    def _seen(self, active: t.Sequence[_Trip]) -> t.Dict[str, t.Optional[ApiServer]]:
        fresh = sum(1 for trip in active if not trip.asked)
        listed: t.Dict[str, ApiServer] = {}
        # The dead host last: who leaves it between two lists is then asked about alone, and not taken for left behind.
        for host in [*sorted({trip.target for trip in active if trip.target and trip.asked}), self.source]:
            since = None if host == self.source and fresh > FEW else self.since
            listed.update((server.id, server) for server in moves.servers_since(self.cloud, host, since))
        seen: t.Dict[str, t.Optional[ApiServer]] = {}
        for trip in active:
            # One that is in no list has not changed for long, has no host right now, or is gone.
            seen[trip.uuid] = listed.get(trip.uuid) or moves.server_as_listed(self.cloud, trip.uuid)
        return seen

    def _step(self, trip: _Trip, seen: t.Mapping[str, t.Optional[ApiServer]], total: int, begin: float) -> bool:
        """Do what is next for one server; whether it has ended, well or not."""
        server = seen[trip.uuid]
        if server is None or server.status in ("DELETED", "SOFT_DELETED"):
            return self._end(trip, GONE, None, None, "deleted by its owner meanwhile", total, begin)
        if server.host != self.source:
            return self._elsewhere(trip, server, total, begin)
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

    def _elsewhere(self, trip: _Trip, server: ApiServer, total: int, begin: float) -> bool:
        """It is no longer on the dead host: has its task ended, and how?"""
        if server.task_state is not None or server.host is None:
            return self._overdue(trip, server.host, server.status)
        if server.status == "ERROR":
            why = moves.why(self.cloud, {"id": server.id})
            return self._end(trip, FAILED, server.host, "ERROR", why, total, begin)
        return self._end(trip, ARRIVED, server.host, server.status, None, total, begin)

    def _back(self, trip: _Trip, server: ApiServer, total: int, begin: float) -> bool:
        """It was sent, its task has ended, and it is still on the dead host: it failed, or Nova is not done with it.

        Nova ends the task when the guest runs, and gives it its new host when the destination's resource tracker has
        its turn (compute/manager.py, rebuild_instance; resource_tracker.py, finish_evacuation): where many arrive at
        once, minutes later. Until then the record is C(pre-migrating); C(done): it has left since it was looked at.
        """
        record = self._record(trip.uuid)
        if record in ("accepted", "pre-migrating", "done"):
            return self._patience(trip, server)
        why = moves.why(self.cloud, {"id": server.id})
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

    def _record(self, uuid: str) -> t.Optional[str]:
        try:
            record = evacuations.last_evacuation(self.cloud, uuid)
        except ApiError:
            return None
        return None if record is None else str(record["status"])

    def _recorded(self) -> t.List[Outcome]:
        """Return the outcomes with what Nova's records say of them: one list, where there are more than a few."""
        known: t.Dict[str, str] = {}
        asked = [entry.uuid for entry in self.outcomes if entry.outcome in (ARRIVED, FAILED)]
        if len(asked) > FEW:
            try:
                known = evacuations.records_since(self.cloud, self.source, self.since)
            except ApiError as error:
                self.remark(f"migration records could not be listed ({error})")
                return self.outcomes
        # One that was made and never changed is in no list of changes.
        known.update((uuid, status) for uuid in asked if uuid not in known for status in [self._record(uuid)] if status)
        self.outcomes = [dataclasses.replace(entry, migration=known.get(entry.uuid)) for entry in self.outcomes]
        return self.outcomes

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
        done = Outcome(trip.uuid, trip.name, outcome, trip.target, host, status, int(now - trip.started), reason)
        self.outcomes.append(done)
        count = len(self.outcomes)
        left = int((now - begin) / count * (total - count)) if total > count else 0
        eta = f", some {left} s to go" if left else ""
        where = f"{status} on {host}" if outcome == ARRIVED else f"{outcome}: {reason}"
        self.remark(f"{count}/{max(total, count)} {trip.name}: {where} ({done.seconds} s{eta})")
        return True
