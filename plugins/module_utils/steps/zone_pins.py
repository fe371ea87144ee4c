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
from ansible_collections.stackguard.nova.plugins.module_utils.steps import zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.steps.kept_rows import KeptRows

#: The journal's name; batches take no hyphen in theirs.
KIND = "zone-pins"
SUBJECT = "availability zone pins of servers"
ROWS = "zone_pins"
#: Servers whose pins are changed at a time.
PARALLEL = 8
#: Servers whose pins are written down at a time.
BATCH = 200


@dataclasses.dataclass(frozen=True)
class PinOutcome:
    """How one change ended: ``changed``, ``already``, ``gone``, or ``failed`` with the reason."""

    server: str
    name: str
    before: t.Optional[str]
    after: t.Optional[str]
    method: str
    outcome: str
    reason: t.Optional[str] = None


FAILED = "failed"


def written_down(rows: KeptRows) -> t.Dict[str, PinChange]:
    """Return by server what was to be changed: its oldest pin and its newest."""
    found: t.Dict[str, PinChange] = {}
    for number, state in sorted(rows.states().items()):
        if state == batches.UNDONE:
            continue
        for plain in rows.read(number):
            row = from_plain(PinChange, plain, f"batch {number}")
            first = found.get(row.server)
            found[row.server] = row if first is None else dataclasses.replace(row, before=first.before)
    return found


def carry_out(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    rows: t.Optional[KeptRows] = None,
) -> t.List[PinOutcome]:
    """Make every change. One that fails was not made, and does not keep the others from being made.

    ``rows``: where each pin is written down before it is changed.
    """
    done: t.List[PinOutcome] = []
    number = max(rows.states(), default=0) if rows is not None else 0
    for start in range(0, len(changes), BATCH):
        batch = changes[start : start + BATCH]
        number += 1
        if rows is not None:
            rows.write(number, to_plain(list(batch)))
        done += _together(cloud, url, batch, say, start, len(changes))
        if rows is not None:
            rows.mark(number, batches.DONE)
    return done


def _together(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    before: int,
    total: int,
) -> t.List[PinOutcome]:
    """Some at a time; they are reported in their order."""
    done = []
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        for number, entry in enumerate(threads.map(lambda change: _one(cloud, url, change), changes), before + 1):
            said = f"{entry.before or 'no pin'} -> {entry.after or 'no pin'} ({entry.method}): {entry.outcome}"
            say(f"{number}/{total} {entry.name}: {entry.reason or said}")
            done.append(entry)
    return done


def _one(cloud: t.Any, url: t.Optional[str], change: PinChange) -> PinOutcome:
    reason = None
    try:
        outcome = zone_pin.Pins(cloud, change.method, url).swap(change.server, change.before, change.after)
    except StackguardError as error:
        outcome, reason = FAILED, str(error)
    return PinOutcome(change.server, change.name, change.before, change.after, change.method, outcome, reason)
