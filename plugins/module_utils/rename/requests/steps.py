# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Owners of guests go on working while their host is renamed: what they ask for is refused, done, or reported.

A lock keeps an owner from asking (409). It names the operation as its reason, so that any run, and any operator, sees
whose it is, and only that lock is taken off again. An image creation is not covered by a lock: what slipped in is found
by its action, which no nova-compute has taken up.
"""

from __future__ import annotations

import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Systems, as_step_error, noted
from ...model import facts
from ...model.findings import Checked, blocking_findings
from ...model.wording import count
from ...reports.terminal import findings_text
from ...systems.api import (
    instance_actions,
    server_actions,
    server_records,
)
from ...systems.db import nova
from . import verify as lost_requests

Params = t.Mapping[str, t.Any]
Memory = t.Mapping[str, t.Any]
#: Seconds in which nova-compute takes up what reached it after its start.
GRACE = 20.0
#: Seconds in which an action that has not ended is taken to be in progress. A nova-compute that was killed ends none.
IN_PROGRESS = 3600.0


class LockGuests:
    """Lock every guest of the host that is not locked. Undone by the reason, which is the operation's own.

    A request of before the lock can take the reason off and leave the lock: nova-compute saves its own copy of the
    server's system_metadata, in which locked_reason is (compute manager, shelve_instance; DB API,
    _instance_metadata_update_in_place deletes what is not in it; seen on 34). So who was locked is remembered.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        #: Who was locked, as the journal has it; None: it was killed before it could note that.
        self.locked: t.Optional[t.FrozenSet[str]] = None

    def apply(self, params: Params, memory: Memory) -> Done:
        """Lock, and read every lock back; those that their owners have locked are left alone. Noted: who was locked."""
        with as_step_error():
            free = [guest.uuid for guest in guests_here(self.systems, params) if not guest.locked]
            self.systems.still_ours()
            server_actions.lock(self.systems.cloud, free, params["reason"])
            found = guests_here(self.systems, params)
        open_ = [f"{guest.name} ({guest.uuid})" for guest in found if not guest.locked]
        if open_:
            raise StepError(
                f"Nova accepted the lock, but these guests are not locked: {', '.join(open_)}",
                changed_meanwhile=True,
                problem="nova-accepted-lock",
            )
        mine = sorted(guest.uuid for guest in found if guest.reason == params["reason"])
        others = len(found) - len(mine)
        left = f", {others} already locked by other users" if others else ""
        return Done(f"{count(len(mine), 'guest')} locked{left}", {"locked": mine})

    def recall(self, memory: t.Mapping[str, t.Any]) -> None:
        """Take note of who was locked."""
        noted_ = memory.get("lock_guests")
        self.locked = frozenset(noted_.get("locked") or ()) if noted_ else None

    def undo(self, params: Params) -> t.Optional[Done]:
        """Unlock those that are locked for this operation, wherever they are now."""
        uuids = params.get("uuids") or ()
        unlock(self.systems, params, uuids, self.locked or ())
        if self.locked is not None:
            return None
        with as_step_error():
            # One that was shelved meanwhile is on no host.
            known = server_records.guest_states(self.systems.cloud, params["hosts"], uuids)
        bare = [guest for guest in known if guest.locked and guest.reason is None]
        if not bare:
            return None
        found = Checked(tuple(lost_requests.bare_locks(bare)))
        self.systems.remark(findings_text(found))
        return Done(
            f"{count(len(bare), 'guest')} locked, but without a reason for the lock",
            noted(found, self.systems.overrides),
        )


class Settle:
    """While nova-compute still runs, wait until it has nothing left to do for any guest of the host."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for the tasks; what does not end in time puts everything back. Noted: each guest's newest action."""
        busy: t.List[str] = []
        begun = self.systems.monotonic()
        idle: t.List[float] = []
        open_: t.Dict[str, instance_actions.OpenActions] = {}

        def seen() -> t.Optional[str]:
            with as_step_error():
                found = guests_here(self.systems, params)
            busy[:] = [f"{guest.name} ({guest.uuid}): {guest.task_state}" for guest in found if guest.task_state]
            if busy and self.systems.monotonic() - begun > params["timeout"]:
                what = f"the tasks of these guests have not ended within {params['timeout']} s: {', '.join(busy)}"
                raise StepError(what, changed_meanwhile=True)
            if busy:
                return None
            # What has ended stays ended; the first look is at all.
            uuids = sorted(open_) if idle else [guest.uuid for guest in found]
            idle.append(self.systems.monotonic())
            with as_step_error():
                now = instance_actions.open_actions(self.systems.cloud, uuids, IN_PROGRESS)
            open_.clear()
            open_.update(now)
            names = {guest.uuid: guest.name for guest in found}
            at_work = [
                f"{names.get(uuid, uuid)} ({uuid}): {entry.action}, request {entry.request_id}, since {entry.started}"
                for uuid, one in sorted(open_.items())
                for entry in one.entries
                if entry.begun
            ]
            busy[:] = at_work
            if at_work and self.systems.monotonic() - begun > params["timeout"]:
                what = (
                    f"nova-compute has begun these requests, and has not ended them within {params['timeout']} s. The "
                    f"stop of nova-compute would cut them off: {', '.join(at_work)}"
                )
                raise StepError(what, changed_meanwhile=True)
            if at_work or (open_ and self.systems.monotonic() - idle[0] <= GRACE):
                return None
            return "no task in progress"

        # The timeout is judged above: a lock that was lost while waiting must put nothing back.
        told = self.systems.wait(
            lambda: f"the tasks of these guests have ended: {', '.join(busy)}", params["timeout"] + 60, seen
        )
        with as_step_error():
            uuids = [guest.uuid for guest in guests_here(self.systems, params)]
            newest = instance_actions.newest_actions(self.systems.cloud, uuids)
        # What nobody has taken up is looked for again after the start.
        newest.update({uuid: one.before for uuid, one in open_.items() if uuid in newest})
        return Done(told, {"actions": newest})

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class LostRequests:
    """Look for what was asked in the meantime, and see it end. A task that nothing ends keeps the operation open."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for tasks and actions that nova-compute has taken up, then judge what is left."""
        known = (memory.get("settle") or {}).get("actions")
        begun = self.systems.monotonic()
        guests: t.List[facts.GuestState] = []
        asked: t.Dict[str, t.List[facts.GuestAction]] = {}

        def seen() -> t.Optional[str]:
            with as_step_error():
                guests[:] = guests_here(self.systems, params)
                there = {guest.uuid for guest in guests}
                since = {uuid: action for uuid, action in (known or {}).items() if uuid in there}
                asked.clear()
                asked.update(instance_actions.asked_since(self.systems.cloud, since))
            open_ = [entry for found in asked.values() for entry in found if not entry.ended]
            if not open_ and not any(guest.task_state for guest in guests):
                return "ended"
            waited = self.systems.monotonic() - begun
            taken_up = any(entry.begun for entry in open_)
            return "judged" if waited > (params["timeout"] if taken_up else GRACE) else None

        self.systems.wait(lambda: "all requests from the guests' owners have ended", params["timeout"] + GRACE, seen)
        unnoted = list(lost_requests.unnoted(guests, known))
        undecided = [*lost_requests.queues(params["queues"]), *unnoted]
        found = Checked(tuple(lost_requests.lost(guests, asked)), tuple(undecided))
        stuck = blocking_findings(found.findings, self.systems.overrides)
        if stuck:
            said = findings_text(found, self.systems.overrides)
            raise StepError(
                f"the tasks of these guests will never end:\n{said}", checked=found, problem="tasks-never-end"
            )
        if found.findings:
            self.systems.remark(findings_text(found, self.systems.overrides))
        total = sum(len(entries) for entries in asked.values())
        lost = count(len(found.findings), "request")
        told = f"the run found {count(total, 'request')} from users, and reports {lost} as not executed"
        if unnoted:
            told += (
                ". When nova-compute stopped, the run did not know the newest action of "
                f"{count(len(unnoted), 'server')}, so a request may be lost"
            )
        return Done(told, noted(found, self.systems.overrides))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class UnlockGuests:
    """Take off the locks of this operation, and no other."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Unlock. Noted: those that were unlocked by another while the operation was open."""
        mine = set((memory.get("lock_guests") or {}).get("locked") or ())
        uuids = mine | set(params.get("uuids") or ())
        unlocked = unlock(self.systems, params, uuids, mine)
        with as_step_error():
            there = {guest.uuid: guest for guest in guests_here(self.systems, {**params, "uuids": sorted(uuids)})}
        early = [there[uuid] for uuid in sorted(mine - unlocked) if uuid in there]
        found = Checked(tuple(lost_requests.unlocked(early)))
        if found.findings:
            self.systems.remark(findings_text(found))
        return Done(f"{count(len(unlocked), 'guest')} unlocked", noted(found, self.systems.overrides))

    def undo(self, params: Params) -> None:
        """Lock them again: a rollback goes through the same window."""
        LockGuests(self.systems).apply(params, {})


class NoEvacuation:
    """Before nova-compute starts: an evacuation away from its name would make it destroy what runs here.

    The databases are read, not the API: its lists leave out every migration of a cell that does not answer.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Refuse where a cell has such a record, or is not read."""
        found = self._found(params)
        return Done("none" if not found.findings else "overridden", noted(found, self.systems.overrides))

    def undo(self, params: Params) -> None:
        """Refuse in the same way: nova-compute is about to start under the old name."""
        self._found(params)

    def _found(self, params: Params) -> Checked:
        databases = nova.read_databases(self.systems.options, params["hosts"])
        found = Checked(tuple(lost_requests.evacuated(databases, params["hosts"])))
        if blocking_findings(found.findings, self.systems.overrides):
            said = findings_text(found, self.systems.overrides)
            raise StepError(f"nova-compute must not start:\n{said}", checked=found, problem="nova-compute-not-masked")
        return found


def guests_here(systems: Systems, params: Params) -> t.List[facts.GuestState]:
    """Return the servers of the hosts, none of the plan's forgotten because a list left it out.

    Call it within :func:`as_step_error`. One that lives elsewhere by now is not a guest of the host any more.
    """
    hosts = params["hosts"]
    found = server_records.guest_states(systems.cloud, hosts, params.get("uuids") or ())
    return [guest for guest in found if guest.host in hosts]


def unlock(systems: Systems, params: Params, uuids: t.Iterable[str], ours: t.Collection[str] = ()) -> t.Set[str]:
    """Unlock every server that is locked for this operation, wherever it is, and read that back; return them.

    ``uuids``: servers that are asked for singly where a list leaves them out. ``ours``: servers that this operation has
    locked, by its journal: they are unlocked without a reason, too, but not with another one.
    """
    reason = params["reason"]
    uuids = {*uuids, *ours}

    def is_ours(guest: facts.GuestState) -> bool:
        return guest.reason == reason or (guest.reason is None and guest.uuid in ours)

    def mine() -> t.List[str]:
        singly = server_records.guest_states(systems.cloud, params["hosts"], uuids)
        listed = server_records.locked_for(systems.cloud, reason)
        return sorted({guest.uuid for guest in [*singly, *listed] if guest.locked and is_ours(guest)})

    with as_step_error():
        locked = mine()
        # Reading many guests takes a while.
        systems.still_ours()
        unlocked = server_actions.unlock(systems.cloud, locked)
        left = mine()
    if left:
        raise StepError(
            f"these servers are still locked with the reason {reason}, although Nova accepted the unlock: "
            f"{', '.join(left)}",
            problem="servers-not-settled",
        )
    return unlocked


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every action of this file, by the name that plans use."""
    return {
        "lock_guests": LockGuests(systems),
        "settle": Settle(systems),
        "lost_requests": LostRequests(systems),
        "unlock_guests": UnlockGuests(systems),
        "no_evacuation": NoEvacuation(systems),
    }
