# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes the pins of many servers, several at a time, and keeps what they were in a file.

All old pins are in the file, forced to disk, before the first pin is changed: see :mod:`old_pins` of records. So after
a kill at any instant the same command does the rest (what is right already is left alone), and a restore gives every
pin back (each is compared before it is given its old value: one that somebody else has changed since is theirs).
"""

from __future__ import annotations

import dataclasses
import typing as t
from concurrent import futures

from ...engine.runner import Host
from ...model.errors import Conflict, StackguardError
from ...records import old_pins
from . import pin_steps as zone_pin
from . import plan as plans
from .plan import PinChange

Json = t.Dict[str, t.Any]

KIND = "zone-pins"
SUBJECT = "availability zone pins of servers"
#: Servers whose pins are changed at a time.
PARALLEL = 8


@dataclasses.dataclass(frozen=True)
class PinOutcome:
    """How one change ended: ``changed``, ``already``, ``gone``, or ``failed`` with the reason.

    ``changed by another user``: not begun. The pin is neither the old one nor one that this collection wrote.
    """

    server: str
    name: str
    before: t.Optional[str]
    after: t.Optional[str]
    method: str
    outcome: str
    reason: t.Optional[str] = None
    #: Whether the pin is certainly not this run's.
    not_made: bool = False


FAILED, CHANGED_SINCE = "failed", plans.CHANGED_SINCE


class OldPinsFile:
    """The file with the old pins, as it was read from the host that keeps it. Raises what the host raises."""

    def __init__(self, state: Host) -> None:
        found, listed = state.call([{"op": "pins_read"}, {"op": "journal_list", "unknown": True}])
        self._state = state
        self.path = str(found["path"])
        self.content: Json = dict(found["kept"] or {})
        self._previous = old_pins.owner(found["kept"])
        #: What the host answered about open journals.
        self.listed: Json = listed
        self._run: Json = {}

    @property
    def rows(self) -> t.List[Json]:
        """All rows, the oldest first."""
        return list(self.content.get("rows", []))

    @property
    def pins(self) -> t.Dict[str, plans.OldPin]:
        """The old pins, by server."""
        return plans.old_pins(self.rows)

    def begin(self, about: Json, changes: t.Sequence[PinChange], at: str, restores: bool) -> None:
        """Write down what every pin is, before any of them is changed. The file is this run's from now on."""
        rows = [
            {
                **dataclasses.asdict(change),
                "operation_id": about["operation_id"],
                "at": at,
                **({plans.RESTORES: True} if restores else {}),
            }
            for change in changes
        ]
        request = {"op": "pins_begin", "about": about, "rows": rows, "previous": self._previous}
        self._state.call([request])
        self._run = about["run"]

    def end(self, finished: bool, settled: t.Iterable[str], not_made: t.Iterable[str]) -> None:
        """Let go of the file. ``settled``: servers of which nothing is to be restored any more."""
        request = {"finished": finished, "settled": sorted(settled), "not_made": sorted(not_made)}
        self._state.call([{"op": "pins_end", "run": self._run, **request}])


def carry_out(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    check: t.Callable[[], None] = lambda: None,
    fresh: t.Callable[[], None] = lambda: None,
) -> t.List[PinOutcome]:
    """Make every change. One that fails does not keep the others from being made.

    ``check``: raises where another run is at work, and nothing more is changed. ``fresh``: the same right before each
    change, without asking anybody: several are made at a time.
    """
    done: t.List[PinOutcome] = []
    for start in range(0, len(changes), PARALLEL):
        check()
        done += _together(cloud, url, changes[start : start + PARALLEL], say, start, len(changes), fresh)
    return done


def _together(
    cloud: t.Any,
    url: t.Optional[str],
    changes: t.Sequence[PinChange],
    say: t.Callable[[str], None],
    before: int,
    total: int,
    fresh: t.Callable[[], None],
) -> t.List[PinOutcome]:
    """Some at a time; they are reported in their order."""
    done = []
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        for number, entry in enumerate(
            threads.map(lambda change: _one(cloud, url, change, fresh), changes), before + 1
        ):
            said = f"{entry.before or 'no pin'} -> {entry.after or 'no pin'} ({entry.method}): {entry.outcome}"
            say(f"{number}/{total} {entry.name}: {entry.reason or said}")
            done.append(entry)
    return done


def _one(cloud: t.Any, url: t.Optional[str], change: PinChange, fresh: t.Callable[[], None]) -> PinOutcome:
    pins, reason = zone_pin.Pins(cloud, change.method, url, fresh), None
    try:
        outcome = pins.swap(change.server, change.before, change.after)
        not_made = outcome == zone_pin.ALREADY
    except StackguardError as error:
        outcome, reason = FAILED, str(error)
        # It is refused before the write, or after it: what is there now tells which.
        not_made = isinstance(error, (zone_pin.BusyError, Conflict)) and not _is_there(pins, change)
    row = (change.server, change.name, change.before, change.after, change.method)
    return PinOutcome(*row, outcome, reason, not_made)


def _is_there(pins: zone_pin.Pins, change: PinChange) -> bool:
    """Return True unless the pin was read and is not the new one."""
    try:
        known, found = pins.read(change.server)
    except StackguardError:
        return True
    return not known or found == change.after
