# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes the pins of many servers, several at a time, and keeps what they were in a journal.

The pins of a batch are written down, forced to disk, before the first of them is changed. So a run that is killed at
any instant can be resumed (what is right already is left alone) or taken back (each pin is compared before it is given
its old value: one that somebody else has changed since is theirs).
"""

from __future__ import annotations

import dataclasses
import typing as t
from concurrent import futures

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import from_plain, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.plans.zone_pins import PinChange
from ansible_collections.stackguard.nova.plugins.module_utils.records import batches
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.steps import zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.steps.runner import Host

#: The journal's name; batches take no hyphen in theirs.
KIND = "zone-pins"
ROWS = "zone_pins"
#: Servers whose pins are changed at a time.
PARALLEL = 8
#: Servers whose pins are written down at a time.
BATCH = 200

Json = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Pinned:
    """How one change ended: ``changed``, ``already``, ``gone``, or ``failed`` with the reason."""

    server: str
    name: str
    before: t.Optional[str]
    after: t.Optional[str]
    method: str
    outcome: str
    reason: t.Optional[str] = None


FAILED = "failed"


class Journal:
    """The journal of one operation. ``now``: the time, only written down."""

    def __init__(self, state: Host, now: t.Callable[[], str], mine: t.Mapping[str, t.Any]) -> None:
        self.state = state
        self.now = now
        self.mine = mine

    def read(self) -> t.Optional[Json]:
        """Return the open one."""
        (found,) = self.state.call([{"op": "journal_read", "kind": KIND}])
        return t.cast("t.Optional[Json]", found["journal"])

    def begin(self, operation_id: str, about: t.Mapping[str, t.Any]) -> Json:
        """Open it."""
        journal = {
            "schema": journals.SCHEMA,
            "kind": KIND,
            "operation_id": operation_id,
            "subject": "pins of servers to zones",
            "state": journals.OPEN,
            "about": dict(about),
            "run": dict(self.mine),
            "started_at": self.now(),
            "updated_at": self.now(),
            "steps": {},
            "history": [{"at": self.now(), "text": "opened"}],
        }
        self.state.call([{"op": "journal_open", "journal": journal}])
        return journal

    def take_up(self, journal: Json, state: str) -> Json:
        """Note that this run goes on with it, and in which direction."""
        mine = {**journal, "run": dict(self.mine), "state": state, "updated_at": self.now()}
        self.state.call([{"op": "journal_write", "journal": mine}])
        return mine

    def write(self, journal: Json, number: int, changes: t.Sequence[PinChange]) -> None:
        """Write a batch down, before any of it is changed."""
        self.state.call(
            [{**self._batch(journal), "op": "batch_write", "number": number, "rows": to_plain(list(changes))}]
        )

    def mark(self, journal: Json, number: int, state: str) -> None:
        """Note how a batch ended."""
        self.state.call([{**self._batch(journal), "op": "batch_mark", "number": number, "state": state}])

    def numbers(self, journal: Json) -> t.Dict[int, str]:
        """Return the batches and their states."""
        (found,) = self.state.call([{**self._batch(journal), "op": "batch_states"}])
        return {int(number): state for number, state in found["states"]}

    def rows(self, journal: Json, number: int) -> t.List[PinChange]:
        """Return what is written in a batch."""
        (found,) = self.state.call([{**self._batch(journal), "op": "batch_read", "number": number}])
        return [from_plain(PinChange, row, f"batch {number}") for row in found["rows"]]

    def changes(self, journal: Json) -> t.Dict[str, PinChange]:
        """Return by server what was to be changed: its oldest pin and its newest."""
        found: t.Dict[str, PinChange] = {}
        for number, state in sorted(self.numbers(journal).items()):
            if state == batches.UNDONE:
                continue
            for row in self.rows(journal, number):
                first = found.get(row.server)
                found[row.server] = row if first is None else dataclasses.replace(row, before=first.before)
        return found

    def close(self, journal: Json, state: str, text: str) -> None:
        """Close it."""
        closed = journals.noted(journal, {"at": self.now(), "state": state, "text": text})
        self.state.call([{"op": "journal_close", "journal": closed}])

    @staticmethod
    def _batch(journal: Json) -> Json:
        return {"kind": ROWS, "operation_id": journal["operation_id"]}


def carry_out(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    journal: t.Optional[Journal] = None,
    opened: t.Optional[Json] = None,
) -> t.List[Pinned]:
    """Make every change. One that fails was not made, and does not keep the others from being made.

    ``journal`` and ``opened``: where each pin is written down before it is changed.
    """
    done: t.List[Pinned] = []
    number = max(journal.numbers(opened), default=0) if journal is not None and opened is not None else 0
    for start in range(0, len(changes), BATCH):
        batch = changes[start : start + BATCH]
        number += 1
        if journal is not None and opened is not None:
            journal.write(opened, number, batch)
        done += _together(cloud, url, batch, say, start, len(changes))
        if journal is not None and opened is not None:
            journal.mark(opened, number, batches.DONE)
    return done


def _together(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    before: int,
    total: int,
) -> t.List[Pinned]:
    """Some at a time; they are reported in their order."""
    done = []
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        for number, entry in enumerate(threads.map(lambda change: _one(cloud, url, change), changes), before + 1):
            said = f"{entry.before or 'no pin'} -> {entry.after or 'no pin'} ({entry.method}): {entry.outcome}"
            say(f"{number}/{total} {entry.name}: {entry.reason or said}")
            done.append(entry)
    return done


def _one(cloud: t.Any, url: t.Optional[str], change: PinChange) -> Pinned:
    reason = None
    try:
        outcome = zone_pin.Pins(cloud, change.method, url).swap(change.server, change.before, change.after)
    except StackguardError as error:
        outcome, reason = FAILED, str(error)
    return Pinned(change.server, change.name, change.before, change.after, change.method, outcome, reason)
