# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What waits in RabbitMQ for a host that is renamed: nothing when nova-compute stops, nothing for a later host.

Messages are never moved to the new name: a request carries the instance with its old host, and some of nova-compute's
methods decide by that. So far none is proven safe: each that is left is reported as lost, and goes with its queue.
"""

from __future__ import annotations

import typing as t

from ...engine import waiting_requests
from ...engine.runner import Action, Done, StepError
from ...engine.systems import Systems, noted
from ...hazards import queues, waiting
from ...model.errors import BrokerError, DatabaseError
from ...model.findings import Checked, Finding, Unchecked
from ...model.requests import FORWARD
from ...model.wording import count
from ...reports.terminal import findings_text
from ...systems.broker.queues import Broker
from ...systems.db import brokers

Params = t.Mapping[str, t.Any]
Memory = t.Mapping[str, t.Any]


def preflight(systems: Systems, old: str, new: str) -> t.Tuple[Checked, bool]:
    """Return what the queues of both names say against a rename, as they are now, and whether they were read.

    A RabbitMQ that the operator named must be readable. One that only C(cell_mappings) names may be unread: then that
    is undecided.
    """
    try:
        with _broker(systems) as broker:
            found = {name: broker.queue(name) for name in (*queues.names_of(old), *queues.names_of(new))}
    except (BrokerError, DatabaseError) as error:
        if brokers.is_given(systems.options):
            return Checked((queues.not_asked(old, error.message),)), False
        return Checked(unchecked=(queues.without_access(new, error.message),)), False
    said = tuple(queues.preflight(old, new, found))
    stranger = any(item.code == queues.NOT_OURS for item in said)
    if stranger and not brokers.is_given(systems.options):
        why = f"no nova-compute reads the queue {queues.names_of(old)[0]} there"
        return Checked(unchecked=(queues.without_access(new, why),)), False
    return Checked(said), not stranger


def why_unread(systems: Systems) -> t.Optional[str]:
    """Return why the RabbitMQ of the host's cell is not known; None: it is."""
    try:
        _broker(systems)
    except (BrokerError, DatabaseError) as error:
        return error.message
    return None


def before_adoption(systems: Systems, direction: str, check_mode: bool) -> Checked:
    """Return what waits for the name that an adopted host gets: its nova-compute starts at the end, and executes it.

    Counted in check mode. A run reads it, and refuses where a request is for a server of another host.
    """
    names = [str(systems.options[name]) for name in ("rename_from", "rename_to")]
    kept = names[1] if direction == FORWARD else names[0]
    if check_mode:
        return waiting_requests.count(systems.options, systems.cloud, kept)
    return waiting_requests.examine(systems.options, systems.cloud, kept, names)


def _broker(systems: Systems) -> Broker:
    """Return the RabbitMQ of the cell that has the host under either name. Raises BrokerError, DatabaseError."""
    names = [str(systems.options[name]) for name in ("rename_from", "rename_to")]
    return Broker(waiting_requests.url_of(systems.options, names))


class DrainQueues:
    """While nova-compute still runs, wait until no request waits for the host. What comes later is reported."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for empty queues; what does not end in time, or cannot be seen, puts everything back."""
        busy: t.List[str] = []
        begun = self.systems.monotonic()

        def seen() -> t.Optional[str]:
            found = [broker.queue(name) for name in queues.names_of(params["old"])]
            filled = [queue for queue in found if queue is not None and queue.messages]
            busy[:] = [f"{queue.name}: {count(queue.messages, 'request')}" for queue in filled]
            if not any(queue.consumers for queue in found if queue is not None):
                raise StepError(
                    f"nova-compute does not read the queues of {params['old']}, but the rename needs a running "
                    "nova-compute that empties these queues",
                    changed_meanwhile=True,
                )
            if busy and self.systems.monotonic() - begun > params["timeout"]:
                told = (
                    f"nova-compute has not consumed the requests in RabbitMQ within {params['timeout']} s: "
                    f"{', '.join(busy)}"
                )
                raise StepError(told, changed_meanwhile=True)
            return None if busy else "no request is waiting"

        try:
            with _broker(self.systems) as broker:
                # The timeout is judged above: a lock that was lost while waiting must put nothing back.
                return Done(
                    self.systems.wait(
                        lambda: f"these queues are empty: {', '.join(busy)}", params["timeout"] + 60, seen
                    )
                )
        except (BrokerError, DatabaseError) as error:
            raise StepError(error.message, changed_meanwhile=True) from None

    def undo(self, params: Params) -> None:
        """The old nova-compute runs again: the new name's queues go, where nothing is in them."""
        for name in queues.names_of(params["new"]):
            try:
                with _broker(self.systems) as broker:
                    # Events of neutron for the host under its new name: nothing that anybody waits for.
                    why = broker.remove(name, waiting.harmless(broker.waiting_if_idle(name)))
            except (BrokerError, DatabaseError) as error:
                why = error.message
            if why:
                self.systems.remark(findings_text(Checked((queues.left(name, why),))))


class OldRequests:
    """What was left in the queues of the old name: reported, each request, before anything is removed."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look, and leave everything where it is. Noted: the ids of the messages that are reported, by queue."""
        told = _reported(memory.get("lost_requests") or {})
        findings: t.List[Finding] = []
        unchecked: t.List[Unchecked] = []
        ids: t.Dict[str, t.List[str]] = {}
        for name in queues.names_of(params["old"]):
            try:
                with _broker(self.systems) as broker:
                    queue = broker.queue(name)
                    if queue is not None and queue.consumers:
                        findings.append(queues.left(name, f"the queue has {count(queue.consumers, 'consumer')}"))
                    elif queue is not None:
                        left = broker.waiting(name)
                        findings += queues.requests(waiting.meant(left), told, params["old"])
                        ids[name] = [request.id for request in left]
            except (BrokerError, DatabaseError) as error:
                unchecked.append(queues.undecided(name, error.message))
        found = Checked(tuple(findings), tuple(unchecked))
        if findings or unchecked:
            self.systems.remark(findings_text(found, self.systems.overrides))
        total = sum(len(entries) for entries in ids.values())
        return Done(
            f"{count(total, 'request')} left in the queues", {**noted(found, self.systems.overrides), "ids": ids}
        )

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class RemoveQueues:
    """Remove the queues of the old name, with the requests that are reported and no other."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Remove each; one in which something else is, or that is read, is left and reported."""
        ids = (memory.get("old_requests") or {}).get("ids") or {}
        findings: t.List[Finding] = []
        unchecked: t.List[Unchecked] = []
        for name in sorted(ids):
            try:
                with _broker(self.systems) as broker:
                    why = broker.remove(name, ids[name])
            except (BrokerError, DatabaseError) as error:
                unchecked.append(queues.undecided(name, error.message))
            else:
                findings += [queues.left(name, why)] if why else []
        found = Checked(tuple(findings), tuple(unchecked))
        if findings or unchecked:
            self.systems.remark(findings_text(found, self.systems.overrides))
        gone = len(ids) - len(findings) - len(unchecked)
        return Done(f"{count(gone, 'queue')} removed", noted(found, self.systems.overrides))

    def undo(self, params: Params) -> None:
        """Nothing: a nova-compute that starts under the name declares its queues."""


def _reported(told: t.Mapping[str, t.Any]) -> t.Set[str]:
    """The ids of requests that an earlier step has reported by their action."""
    entries = (entry["evidence"].get("request") for entry in told.get("findings") or () if entry["code"] == "SG121")
    return {str(entry) for entry in entries if entry}


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every action of this file, by the name that plans use."""
    return {
        "drain_queues": DrainQueues(systems),
        "old_requests": OldRequests(systems),
        "remove_queues": RemoveQueues(systems),
    }
