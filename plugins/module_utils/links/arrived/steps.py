# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the repair of an arrived server: lock, row, allocation, bindings, proof, unlock.

The row is written only from hosts that were read after the lock, and the proof made only from hosts that were read
after the row: :class:`ReadAgainError` ends a call whose hosts are older.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Memory, Params, Systems, as_step_error
from ...model.arrival import ArrivalFacts, ArrivedRow
from ...systems.api import network, resource_providers, server_actions, server_records
from ...systems.db import arrivals
from . import preflight, verify

#: Reads everything: the hosts as the playbook has read them last, databases and APIs anew.
Reader = t.Callable[[str], ArrivalFacts]


class ReadAgainError(Exception):
    """The hosts must be read again before the operation goes on."""


def actions(systems: Systems, read: Reader) -> t.Dict[str, Action]:
    """Return what carries out each step."""
    # What this call has changed since the hosts were read.
    stale: t.List[str] = []
    return {
        "lock": Lock(systems, stale),
        "row": Row(systems, stale, read),
        "allocations": Allocations(systems, read),
        "bindings": Bindings(systems, read),
        "verify": Verify(systems, stale, read),
        "unlock": Unlock(systems),
    }


def row_of(params: Params) -> ArrivedRow:
    """Return the change of the row as the plan has it."""
    return ArrivedRow(**params["row"])


def lock_state(systems: Systems, uuid: str) -> t.Tuple[bool, t.Optional[str]]:
    """Return whether a server is locked, and why. Raises StepError where it is gone."""
    with as_step_error():
        found = server_records.guest_states(systems.cloud, [], [uuid])
    if not found:
        raise StepError(f"server {uuid} was deleted during the run")
    return found[0].locked, found[0].reason


class Lock:
    """The server locked, unless somebody else has locked it."""

    def __init__(self, systems: Systems, stale: t.List[str]) -> None:
        self.systems = systems
        self.stale = stale

    def apply(self, params: Params, memory: Memory) -> Done:
        """Lock it. A lock of somebody else's stays as it is, also at the end."""
        self.stale.append("lock")
        locked, reason = lock_state(self.systems, params["uuid"])
        if locked and reason != params["reason"]:
            return Done(f"somebody else has locked the server ({reason or 'no reason'})")
        if not locked:
            with as_step_error():
                server_actions.lock(self.systems.cloud, [params["uuid"]], params["reason"])
        return Done("locked")

    def undo(self, params: Params) -> None:
        """Unlock it, if the lock is this operation's."""
        _unlock(self.systems, params)


class Unlock:
    """The lock of this operation's taken away."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Unlock it, if the lock is this operation's."""
        return Done(_unlock(self.systems, params))

    def undo(self, params: Params) -> None:
        """Nothing: the lock is taken back by its own step."""


def _unlock(systems: Systems, params: Params) -> str:
    locked, reason = lock_state(systems, params["uuid"])
    if not locked or reason != params["reason"]:
        return f"the lock is not of this operation ({reason or 'no reason'})" if locked else "not locked"
    with as_step_error():
        server_actions.unlock(systems.cloud, [params["uuid"]])
    return "unlocked"


class Row:
    """The row of the server, once everything was read again."""

    def __init__(self, systems: Systems, stale: t.List[str], read: Reader) -> None:
        self.systems = systems
        self.stale = stale
        self.read = read

    def apply(self, params: Params, memory: Memory) -> Done:
        """Judge anew, and write. A run that was killed behind the commit finds the row as wanted."""
        wanted = row_of(params)
        with as_step_error():
            written = arrivals.is_written(self._url(wanted), wanted)
        if written:
            self.stale.append("row")
            return Done(f"Nova shows the server on {wanted.dest}")
        if self.stale:
            raise ReadAgainError
        with as_step_error():
            decision = preflight.preflight(self.read(params["uuid"]))
        if decision.row is None or decision.migration is None:
            codes = ", ".join(sorted({item.code for item in decision.checked.findings}))
            raise StepError(
                f"the state has changed since the server was locked: {codes}", True, decision.checked, "state-changed"
            )
        told = dataclasses.replace(decision.row, task=None, written=None)
        if told != wanted or decision.migration.uuid != params["migration"]:
            raise StepError("the server has changed since the plan was made", True, problem="server-changed")
        self.stale.append("row")
        with as_step_error():
            arrivals.write_arrival(self._url(wanted), decision.row, self.systems.fresh)
        return Done(f"Nova shows the server on {wanted.dest}", {"process": list(decision.process)})

    def _url(self, row: ArrivedRow) -> str:
        return self.systems.url(f"cell:{row.cell}")

    def undo(self, params: Params) -> None:
        """Nothing: an operation whose row is written is not rolled back, see :class:`Arrival`."""


def _refuse_moved_on(read: Reader, params: Params) -> None:
    with as_step_error():
        why = verify.moved_on(read(params["uuid"]), params["dest"])
    if why is not None:
        raise StepError(f"what the move has left stays as it is: {why}", problem="moved-on")


class Allocations:
    """What the migration holds, released."""

    def __init__(self, systems: Systems, read: Reader) -> None:
        self.systems = systems
        self.read = read

    def apply(self, params: Params, memory: Memory) -> Done:
        """Release what was planned, guarded by the consumer's generation; all else stays."""
        _refuse_moved_on(self.read, params)
        released = 0
        with as_step_error():
            for provider, resources in sorted(params["allocations"].items()):
                released += resource_providers.release_allocation(
                    self.systems.cloud, params["consumer"], provider, resources
                )
        return Done(f"{released} released")

    def undo(self, params: Params) -> None:
        """Nothing: see :class:`Row`."""


class Bindings:
    """One binding for each port, for the host where the guest runs."""

    def __init__(self, systems: Systems, read: Reader) -> None:
        self.systems = systems
        self.read = read

    def apply(self, params: Params, memory: Memory) -> Done:
        """Remove the inactive bindings of the source. Those that neutron does not let this user remove are told."""
        _refuse_moved_on(self.read, params)
        with as_step_error():
            removed = {
                port: network.remove_inactive_binding(self.systems.cloud, port, params["host"])
                for port in params["ports"]
            }
        left = sorted(port for port, outcome in removed.items() if outcome is None)
        return Done(f"{sum(map(bool, removed.values()))} removed, {len(left)} left", {"left": left})

    def undo(self, params: Params) -> None:
        """Nothing: see :class:`Row`."""


class Verify:
    """Everything read once more: hosts, databases and APIs agree."""

    def __init__(self, systems: Systems, stale: t.List[str], read: Reader) -> None:
        self.systems = systems
        self.stale = stale
        self.read = read

    def apply(self, params: Params, memory: Memory) -> Done:
        """Compare. Whatever does not agree leaves the server locked and the operation open."""
        if self.stale:
            raise ReadAgainError
        with as_step_error():
            facts = self.read(params["uuid"])
        left: t.Dict[str, str] = dict.fromkeys(memory.get("bindings", {}).get("left", ()), str(params["host"]))
        other = verify.disagreements(facts, params["dest"], memory.get("row", {}).get("process"), left)
        if other:
            raise StepError(
                f"the server stays locked, since its places do not agree: {'; '.join(other)}",
                problem="places-disagree",
            )
        return Done(f"the guest runs on {params['dest']}, once, and everything agrees")

    def undo(self, params: Params) -> None:
        """Nothing was changed."""
