# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends servers away from a dead host, a few at a time to each destination, and waits until each has landed or failed.

Whether a server is still on the dead host, and whether a task of it is in progress, is Nova's word at each look. So a
run that was killed is carried on with by looking again, and no server is evacuated twice: one whose evacuation is under
way is followed, one that has left is let be.

A wave ends before the last of it has landed: hosts are measured again while others are still on their way, and those
are followed by the next wave.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import STATUSES
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.planner import Seat
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiServer
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    http,
    instance_actions,
    migration_records,
    server_actions,
    server_records,
)

#: What a look has shown: None for a server that is gone.
Seen = t.Mapping[str, t.Optional[ApiServer]]

#: Seconds between two looks: a few lists, however many servers are on their way.
POLL = 3.0
#: How often a server is asked for again where the API says 409: its state is changing under our eyes.
BUSY_TRIES = 5
#: Looks in a row that may fail before the run gives up; the servers go on by themselves.
BLIND_LOOKS = 15

#: Seconds that Nova's clocks may be off from ours: to miss nobody; and to list few (who is missed is asked for alone).
SKEW, NEAR = 600.0, 30.0
#: Up to so many servers are asked about one by one, before all of the dead host are listed for them.
FEW = 4

#: Status of the record from the spawn's beginning until Nova has noted the new host.
FINISHING = "pre-migrating"
#: Statuses of records whose evacuation Nova is at (compute/api.py, evacuate; compute/manager.py, rebuild_instance).
UNDER_WAY = ("accepted", FINISHING)

#: Outcomes.
ARRIVED, FAILED, GONE, UNKNOWN = "arrived", "failed", "gone", "unknown"


@dataclasses.dataclass(frozen=True)
class EvacuatedServer:
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


@dataclasses.dataclass(frozen=True)
class InTransit:
    """A server on its way when a wave begins or ends. ``target``, ``size_mib`` (all its memory): None: not known.

    ``started``: by the controller's monotonic clock, seconds; None: now.
    """

    uuid: str
    name: str
    target: t.Optional[str]
    size_mib: t.Optional[int] = None
    started: t.Optional[float] = None


@dataclasses.dataclass(frozen=True)
class Wave:
    """What came of one: those that ended, in the order they did, and those that are still on their way."""

    outcomes: t.List[EvacuatedServer]
    riding: t.List[InTransit]


@dataclasses.dataclass
class _Trip:
    """One server on its way. ``target``: None for one of which is only known that it is."""

    uuid: str
    name: str
    target: t.Optional[str]
    size_mib: t.Optional[int] = None
    asked: bool = False
    started: float = 0.0
    busy: int = 0
    #: Its request had no answer: Nova may have taken it.
    unclear: bool = False


def _adopted(entry: InTransit, now: float) -> _Trip:
    # A moment to come is of an earlier start of this machine.
    started = now if entry.started is None or entry.started > now else entry.started
    return _Trip(entry.uuid, entry.name, entry.target, entry.size_mib, True, started)


def _left(trip: _Trip) -> InTransit:
    return InTransit(trip.uuid, trip.name, trip.target, trip.size_mib, trip.started)


class Evacuator:
    """Sends servers. ``remark``: progress for people; ``sleep`` and ``monotonic``: seconds.

    ``ago``: gives the moment so many seconds ago, ISO 8601: of the hosts only servers that changed since their
    evacuation began are listed; None: all of them.
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
        ago: t.Optional[t.Callable[[float], str]] = None,
    ) -> None:
        self.cloud = cloud
        self.source = source
        self.remark = remark
        self.sleep = sleep
        self.monotonic = monotonic
        self.target_state = target_state
        self.timeout = timeout
        self.ago = ago
        self.outcomes: t.List[EvacuatedServer] = []
        self._blind = 0
        self._good: t.Callable[[str], bool] = lambda _host: True
        #: When the first of a wave was sent, and how many it has.
        self._first, self._total = 0.0, 0
        self._finishing: t.Optional[t.Set[str]] = None

    def send(
        self,
        seats: t.Sequence[Seat],
        parallel: int = 8,
        good: t.Callable[[str], bool] = lambda _host: True,
        riding: t.Sequence[InTransit] = (),
    ) -> Wave:
        """Send servers in their order, and follow those that are in transit already.

        ``parallel``: how many may be in transit to one destination. ``good``: whether what the sending rests on still
        holds for a destination: the fence is proven, the host was measured. Where it holds for no destination that a
        server waits for, the wave ends with the others in transit. A destination on which one failed gets no further
        server: what is read of it next decides.

        Raises :class:`ApiError` where Nova does not answer.
        """
        self.outcomes = []
        self._good = good
        waiting = [_Trip(seat.uuid, seat.name, seat.host, seat.memory_mib) for seat in seats]
        begin = self.monotonic()
        active = [_adopted(entry, begin) for entry in riding]
        self._first = min((trip.started for trip in active), default=begin)
        self._total = len(waiting) + len(active)
        while True:
            now = self.monotonic()
            fit = [trip for trip in waiting if good(str(trip.target))]
            begun = self._beginners(fit, active, parallel)
            for trip in begun:
                trip.started = now
            active += begun
            waiting = [trip for trip in waiting if trip not in begun]
            stale = not fit
            # What has not been asked for is left alone when the proof or the measurement has expired meanwhile.
            active = [trip for trip in active if trip.asked or trip.busy or good(str(trip.target))]
            if not active:
                return Wave(self._recorded(), [])
            seen = self._look(active)
            if seen is not None:
                answers = self._requests(active, seen)
                active = [trip for trip in active if not self._step(trip, seen, answers)]
            # One whose request had no clear answer is not left: only the next looks tell whether it is on its way.
            if stale and waiting and active and all(trip.asked for trip in active):
                return Wave(self._recorded(), [_left(trip) for trip in active])
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
            self.remark(f"Nova does not answer ({error}); the evacuations already sent continue")
            return None
        self._blind = 0
        return seen

    def _seen(self, active: t.Sequence[_Trip]) -> t.Dict[str, t.Optional[ApiServer]]:
        """Ask for the dead host's own servers first: a server is listed by its new host only once it has left."""
        self._finishing = None
        fresh = sum(1 for trip in active if not trip.asked)
        # Those that nobody has touched yet are in no list of changes.
        since = None if fresh > FEW else self._since(self._first, SKEW)
        listed = {server.id: server for server in server_records.servers_since(self.cloud, self.source, since)}
        gone = [trip for trip in active if trip.asked and trip.uuid not in listed]
        if len(gone) > FEW:
            for host in sorted({trip.target for trip in gone if trip.target}):
                since = self._since(min(trip.started for trip in gone if trip.target == host), NEAR)
                listed.update((server.id, server) for server in server_records.servers_since(self.cloud, host, since))
        missing = [trip.uuid for trip in active if trip.uuid not in listed]
        # One that is in no list has not changed for long, has no host right now, or is gone.
        seen = http.each(missing, lambda uuid: server_records.server_as_listed(self.cloud, uuid)) if missing else {}
        return {trip.uuid: listed.get(trip.uuid) or seen.get(trip.uuid) for trip in active}

    def _since(self, moment: float, margin: float) -> t.Optional[str]:
        """``margin``: seconds that Nova's clocks may be off from ours."""
        return None if self.ago is None else self.ago(self.monotonic() - moment + margin)

    def _requests(self, active: t.Sequence[_Trip], seen: Seen) -> t.Dict[str, t.Optional[ApiError]]:
        """Ask for those that are at rest on the dead host, a few at the same time; None: Nova has taken it."""
        targets = {
            trip.uuid: str(trip.target)
            for trip in active
            if not trip.asked and self._ready(seen[trip.uuid]) and self._good(str(trip.target))
        }

        def ask(uuid: str) -> t.Optional[ApiError]:
            try:
                server_actions.evacuate(self.cloud, uuid, targets[uuid], self.target_state)
            except ApiError as error:
                return error
            return None

        return http.each(list(targets), ask) if targets else {}

    def _ready(self, server: t.Optional[ApiServer]) -> bool:
        at_rest = server is not None and server.host == self.source and server.task_state is None
        return at_rest and server is not None and server.status in STATUSES

    def _step(self, trip: _Trip, seen: Seen, answers: t.Mapping[str, t.Optional[ApiError]]) -> bool:
        """See what has become of one server; whether it has ended, well or not."""
        server = seen[trip.uuid]
        if server is None or server.status in ("DELETED", "SOFT_DELETED"):
            return self._end(trip, GONE, None, None, "deleted by its owner during the run")
        if server.host != self.source:
            return self._elsewhere(trip, server)
        if server.task_state is not None:
            return self._patience(trip, server)
        if not trip.asked:
            return self._asked(trip, server, answers)
        return self._back(trip, server)

    def _asked(self, trip: _Trip, server: ApiServer, answers: t.Mapping[str, t.Optional[ApiError]]) -> bool:
        if trip.uuid not in answers:
            if self._ready(server):
                # The proof or the measurement expired while Nova was asked how it is: the next wave sends it. One that
                # Nova may have taken stays in transit.
                trip.asked = trip.unclear
                return not trip.unclear
            return self._end(trip, FAILED, server.host, server.status, f"the server is {server.status}")
        error = answers[trip.uuid]
        if error is None:
            trip.asked = True
            self.remark(f"{trip.name}: to {trip.target}")
            return False
        status = error.data.get("status")
        if status == 409 and trip.busy < BUSY_TRIES:
            trip.busy += 1
            return False
        if status is None:
            # No answer: whether Nova took it, the next look shows by its task.
            trip.busy, trip.unclear = trip.busy + 1, True
            if trip.busy < BUSY_TRIES:
                return False
        return self._end(trip, FAILED, server.host, server.status, str(error))

    def _elsewhere(self, trip: _Trip, server: ApiServer) -> bool:
        """It is no longer on the dead host: has its task ended, and how?"""
        if server.task_state is not None or server.host is None:
            return self._overdue(trip, server.host, server.status)
        if server.status == "ERROR":
            why = instance_actions.why(self.cloud, {"id": server.id})
            return self._end(trip, FAILED, server.host, "ERROR", why)
        return self._end(trip, ARRIVED, server.host, server.status, None)

    def _back(self, trip: _Trip, server: ApiServer) -> bool:
        """It was sent, its task has ended, and it is still on the dead host: it failed, or Nova is not done with it.

        Nova ends the task when the guest runs, and gives it its new host when the destination's resource tracker has
        its turn (compute/manager.py, rebuild_instance; resource_tracker.py, finish_evacuation): where many arrive at
        once, minutes later. Until then the record is C(pre-migrating); C(done): it has left since it was looked at.
        """
        if self._unfinished(trip.uuid):
            return self._patience(trip, server)
        why = instance_actions.why(self.cloud, {"id": server.id})
        return self._end(trip, FAILED, server.host, server.status, why)

    def _unfinished(self, uuid: str) -> bool:
        """Whether Nova is not done with it, or does not say. Those about to arrive are listed once for each look."""
        try:
            if self._finishing is None:
                # An older one that never ended says nothing of this.
                since = self._since(self._first, NEAR)
                self._finishing = set(migration_records.evacuation_statuses(self.cloud, self.source, since, FINISHING))
            if uuid in self._finishing:
                return True
            record = migration_records.last_migration(self.cloud, uuid, migration_records.EVACUATION)
        except ApiError:
            return True
        return record is not None and record["status"] in (*UNDER_WAY, "done")

    def _patience(self, trip: _Trip, server: ApiServer) -> bool:
        # Its task is in progress: whoever asked for it, it is not asked for again.
        trip.asked = True
        return self._overdue(trip, server.host, server.status)

    def _overdue(self, trip: _Trip, host: t.Optional[str], status: str) -> bool:
        if self.monotonic() - trip.started <= self.timeout:
            return False
        reason = f"not ended within {int(self.timeout)} s; Nova may still be working on it"
        return self._end(trip, UNKNOWN, host, status, reason)

    def _record(self, uuid: str) -> t.Optional[str]:
        try:
            record = migration_records.last_migration(self.cloud, uuid, migration_records.EVACUATION)
        except ApiError:
            return None
        return None if record is None else str(record["status"])

    def _recorded(self) -> t.List[EvacuatedServer]:
        """Return the outcomes with what Nova's records say of them: one list, where there are more than a few."""
        known: t.Dict[str, str] = {}
        asked = [entry.uuid for entry in self.outcomes if entry.outcome in (ARRIVED, FAILED)]
        if len(asked) > FEW:
            try:
                known = migration_records.evacuation_statuses(self.cloud, self.source, self._since(self._first, SKEW))
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
    ) -> bool:
        now = self.monotonic()
        done = EvacuatedServer(
            trip.uuid, trip.name, outcome, trip.target, host, status, int(now - trip.started), reason
        )
        self.outcomes.append(done)
        count = len(self.outcomes)
        left = int((now - self._first) / count * (self._total - count))
        eta = f", about {left} s left" if left else ""
        where = f"{status} on {host}" if outcome == ARRIVED else f"{outcome}: {reason}"
        self.remark(f"{count}/{self._total} {trip.name}: {where} ({done.seconds} s{eta})")
        return True
