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

from ..capacity.leaving_guests import STATUSES
from ..capacity.planner import Assignment
from ..model.errors import ApiError
from ..model.facts import ApiServer
from ..systems.api import (
    http,
    instance_actions,
    migration_records,
    server_actions,
    server_records,
)

#: What a look has shown: None for a server that is gone.
SeenServers = t.Mapping[str, t.Optional[ApiServer]]

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
    """The result of one wave: servers that ended, in that order, and servers that are in transit."""

    outcomes: t.List[EvacuatedServer]
    in_transit: t.List[InTransit]


@dataclasses.dataclass
class _EvacuationInTransit:
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


def _adopted(entry: InTransit, now: float) -> _EvacuationInTransit:
    # A moment to come is of an earlier start of this machine.
    started = now if entry.started is None or entry.started > now else entry.started
    return _EvacuationInTransit(entry.uuid, entry.name, entry.target, entry.size_mib, True, started)


def _left(moving: _EvacuationInTransit) -> InTransit:
    return InTransit(moving.uuid, moving.name, moving.target, moving.size_mib, moving.started)


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
        assigned: t.Sequence[Assignment],
        parallel: int = 8,
        good: t.Callable[[str], bool] = lambda _host: True,
        in_transit: t.Sequence[InTransit] = (),
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
        waiting = [
            _EvacuationInTransit(assignment.uuid, assignment.name, assignment.host, assignment.memory_mib)
            for assignment in assigned
        ]
        begin = self.monotonic()
        active = [_adopted(entry, begin) for entry in in_transit]
        self._first = min((moving.started for moving in active), default=begin)
        self._total = len(waiting) + len(active)
        while True:
            now = self.monotonic()
            fit = [moving for moving in waiting if good(str(moving.target))]
            begun = self._beginners(fit, active, parallel)
            for moving in begun:
                moving.started = now
            active += begun
            waiting = [moving for moving in waiting if moving not in begun]
            stale = not fit
            # What has not been asked for is left alone when the proof or the measurement has expired meanwhile.
            active = [moving for moving in active if moving.asked or moving.busy or good(str(moving.target))]
            if not active:
                return Wave(self._recorded(), [])
            seen = self._look(active)
            if seen is not None:
                answers = self._requests(active, seen)
                active = [moving for moving in active if not self._step(moving, seen, answers)]
            # One whose request had no clear answer is not left: only the next looks tell whether it is on its way.
            if stale and waiting and active and all(moving.asked for moving in active):
                return Wave(self._recorded(), [_left(moving) for moving in active])
            if active:
                self.sleep(POLL)

    def _beginners(
        self, waiting: t.Sequence[_EvacuationInTransit], active: t.Sequence[_EvacuationInTransit], parallel: int
    ) -> t.List[_EvacuationInTransit]:
        failed_on = {entry.target for entry in self.outcomes if entry.outcome in (FAILED, UNKNOWN)} - {None}
        busy = collections.Counter(moving.target for moving in active)
        begun = []
        for moving in waiting:
            if moving.target not in failed_on and busy[moving.target] < parallel:
                busy[moving.target] += 1
                begun.append(moving)
        return begun

    def _look(self, active: t.Sequence[_EvacuationInTransit]) -> t.Optional[t.Dict[str, t.Optional[ApiServer]]]:
        """Return how each server on its way is now, None for one that is gone; or None where Nova is mute."""
        try:
            seen = self._seen(active)
        except ApiError as error:
            self._blind += 1
            if self._blind > BLIND_LOOKS:
                raise
            self.remark(f"Nova does not answer ({error}). The run continues to ask Nova for the state of the servers")
            return None
        self._blind = 0
        return seen

    def _seen(self, active: t.Sequence[_EvacuationInTransit]) -> t.Dict[str, t.Optional[ApiServer]]:
        """Ask for the dead host's own servers first: a server is listed by its new host only once it has left."""
        self._finishing = None
        fresh = sum(1 for moving in active if not moving.asked)
        # Those that nobody has touched yet are in no list of changes.
        since = None if fresh > FEW else self._since(self._first, SKEW)
        listed = {server.id: server for server in server_records.servers_since(self.cloud, self.source, since)}
        gone = [moving for moving in active if moving.asked and moving.uuid not in listed]
        if len(gone) > FEW:
            for host in sorted({moving.target for moving in gone if moving.target}):
                since = self._since(min(moving.started for moving in gone if moving.target == host), NEAR)
                listed.update((server.id, server) for server in server_records.servers_since(self.cloud, host, since))
        missing = [moving.uuid for moving in active if moving.uuid not in listed]
        # One that is in no list has not changed for long, has no host right now, or is gone.
        seen = http.each(missing, lambda uuid: server_records.server_as_listed(self.cloud, uuid)) if missing else {}
        return {moving.uuid: listed.get(moving.uuid) or seen.get(moving.uuid) for moving in active}

    def _since(self, moment: float, margin: float) -> t.Optional[str]:
        """``margin``: seconds that Nova's clocks may be off from ours."""
        return None if self.ago is None else self.ago(self.monotonic() - moment + margin)

    def _requests(
        self, active: t.Sequence[_EvacuationInTransit], seen: SeenServers
    ) -> t.Dict[str, t.Optional[ApiError]]:
        """Ask for those that are at rest on the dead host, a few at the same time; None: Nova has taken it."""
        targets = {
            moving.uuid: str(moving.target)
            for moving in active
            if not moving.asked and self._ready(seen[moving.uuid]) and self._good(str(moving.target))
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

    def _step(
        self, moving: _EvacuationInTransit, seen: SeenServers, answers: t.Mapping[str, t.Optional[ApiError]]
    ) -> bool:
        """See what has become of one server; whether it has ended, well or not."""
        server = seen[moving.uuid]
        if server is None or server.status in ("DELETED", "SOFT_DELETED"):
            return self._end(moving, GONE, None, None, "deleted by its owner during the run")
        if server.host != self.source:
            return self._elsewhere(moving, server)
        if server.task_state is not None:
            return self._patience(moving, server)
        if not moving.asked:
            return self._asked(moving, server, answers)
        return self._back(moving, server)

    def _asked(
        self, moving: _EvacuationInTransit, server: ApiServer, answers: t.Mapping[str, t.Optional[ApiError]]
    ) -> bool:
        if moving.uuid not in answers:
            if self._ready(server):
                # The proof or the measurement expired while Nova was asked how it is: the next wave sends it. One that
                # Nova may have taken stays in transit.
                moving.asked = moving.unclear
                return not moving.unclear
            return self._end(moving, FAILED, server.host, server.status, f"the server is {server.status}")
        error = answers[moving.uuid]
        if error is None:
            moving.asked = True
            self.remark(f"{moving.name}: evacuation to {moving.target} requested")
            return False
        status = error.data.get("status")
        if status == 409 and moving.busy < BUSY_TRIES:
            moving.busy += 1
            return False
        if status is None:
            # No answer: whether Nova took it, the next look shows by its task.
            moving.busy, moving.unclear = moving.busy + 1, True
            if moving.busy < BUSY_TRIES:
                return False
        return self._end(moving, FAILED, server.host, server.status, str(error))

    def _elsewhere(self, moving: _EvacuationInTransit, server: ApiServer) -> bool:
        """It is no longer on the dead host: has its task ended, and how?"""
        if server.task_state is not None or server.host is None:
            return self._overdue(moving, server.host, server.status)
        if server.status == "ERROR":
            why = instance_actions.why(self.cloud, {"id": server.id})
            return self._end(moving, FAILED, server.host, "ERROR", why)
        return self._end(moving, ARRIVED, server.host, server.status, None)

    def _back(self, moving: _EvacuationInTransit, server: ApiServer) -> bool:
        """It was sent, its task has ended, and it is still on the dead host: it failed, or Nova is not done with it.

        Nova ends the task when the guest runs, and gives it its new host when the destination's resource tracker has
        its turn (compute/manager.py, rebuild_instance; resource_tracker.py, finish_evacuation): where many arrive at
        once, minutes later. Until then the record is C(pre-migrating); C(done): it has left since it was looked at.
        """
        if self._unfinished(moving.uuid):
            return self._patience(moving, server)
        why = instance_actions.why(self.cloud, {"id": server.id})
        return self._end(moving, FAILED, server.host, server.status, why)

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

    def _patience(self, moving: _EvacuationInTransit, server: ApiServer) -> bool:
        # Its task is in progress: whoever asked for it, it is not asked for again.
        moving.asked = True
        return self._overdue(moving, server.host, server.status)

    def _overdue(self, moving: _EvacuationInTransit, host: t.Optional[str], status: str) -> bool:
        if self.monotonic() - moving.started <= self.timeout:
            return False
        reason = (
            f"the evacuation has not ended within {int(self.timeout)} s. Nova may still be working on this evacuation"
        )
        return self._end(moving, UNKNOWN, host, status, reason)

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
                self.remark(f"the run could not list the migration records ({error})")
                return self.outcomes
        # One that was made and never changed is in no list of changes.
        known.update((uuid, status) for uuid in asked if uuid not in known for status in [self._record(uuid)] if status)
        self.outcomes = [dataclasses.replace(entry, migration=known.get(entry.uuid)) for entry in self.outcomes]
        return self.outcomes

    def _end(
        self,
        moving: _EvacuationInTransit,
        outcome: str,
        host: t.Optional[str],
        status: t.Optional[str],
        reason: t.Optional[str],
    ) -> bool:
        now = self.monotonic()
        done = EvacuatedServer(
            moving.uuid, moving.name, outcome, moving.target, host, status, int(now - moving.started), reason
        )
        self.outcomes.append(done)
        count = len(self.outcomes)
        left = int((now - self._first) / count * (self._total - count))
        eta = f", about {left} s left" if left else ""
        where = f"{status} on {host}" if outcome == ARRIVED else f"{outcome}: {reason}"
        self.remark(f"{count}/{self._total} {moving.name}: {where} ({done.seconds} s{eta})")
        return True
