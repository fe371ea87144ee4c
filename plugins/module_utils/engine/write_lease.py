# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run changes a cloud only while the host that keeps its journal has just said that the operation is its own.

Two runs of one operation exclude each other where the journal is: a run whose operation another one has taken up can
not write the journal any more. What it writes elsewhere no journal can refuse. So before each request that changes
something the host is asked; one that is another machine is not asked again for RENEW seconds. Where nobody can ask (in
threads), nothing is changed FRESH seconds after the last answer. A run that takes over one which may still live waits
as long, before it changes anything itself. A run that slept (a suspended machine, SIGSTOP)
finds on waking that its answer is old, asks, and writes nothing more.
"""

from __future__ import annotations

import time
import typing as t

from ..model.errors import StackguardError
from . import run_owner, runner
from .run_token import FRESH, RENEW, uptime

_OF_JOURNALS = ("journal_open", "journal_put", "journal_read", "journal_mark", "journal_close")


class Lease(t.Protocol):
    """Whether this run may still change something."""

    def check(self) -> None:
        """Raise where another run has the operation; ask where nobody said so just now."""

    def fresh(self) -> None:
        """Raise where nobody said so just now. For threads, and for the moment before a commit: asks nothing."""


class LeasedState:
    """The host that keeps the journals, as one run sees it: it notes which operations the run has, and since when."""

    def __init__(
        self,
        state: runner.Host,
        mine: t.Mapping[str, t.Any],
        say: t.Callable[[str], None] = lambda _text: None,
        clock: t.Callable[[], float] = uptime,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self._state, self._mine = state, dict(mine)
        self._say, self._clock, self._sleep = say, clock, sleep
        #: What asks for each operation of this run, and when that was last answered.
        self._held: t.Dict[str, t.Tuple[runner.Request, float]] = {}

    def call(self, requests: t.Sequence[runner.Request]) -> t.List[runner.Result]:
        """Carry out requests, and note what their answers say. Raises what the host raises."""
        # Counted from before the request: its answer may have been long on its way.
        begun = self._clock()
        results = self._state.call(requests)
        for request, result in zip(requests, results):
            self._note(request, result, begun)
        if any(self._may_live(request) for request in requests):
            self._say(f"waiting {FRESH} s: the run that had this operation may still live, and ends by then")
            self._sleep(FRESH)
        return results

    @property
    def _near(self) -> bool:
        return bool(getattr(self._state, "near", False))

    def check(self) -> None:
        """Ask whether the operations are still this run's, where nobody said so just now.

        Raises StackguardError (SG707) where another run has one, or where the host does not answer.
        """
        begun = self._clock()
        # On this very machine a question costs no more than reading a file.
        good = 0.0 if self._near else RENEW
        old = {key: ask for key, (ask, confirmed) in self._held.items() if begun - confirmed >= good}
        if old:
            self._state.call(list(old.values()))
            self._held.update({key: (ask, begun) for key, ask in old.items()})

    def fresh(self) -> None:
        """Raise StackguardError where the last answer is old. Asks only a host that is this machine."""
        if self._near:
            self.check()
            return
        age = max((self._clock() - confirmed for _ask, confirmed in self._held.values()), default=0.0)
        if age > FRESH:
            raise StackguardError(
                f"this run paused for {int(age)} s, so another run may have taken over the operation. Nothing was "
                "written. Run the same command again"
            )

    def _note(self, request: runner.Request, result: runner.Result, begun: float) -> None:
        op = request["op"]
        if op in ("pins_begin", "pins_end"):
            run = request["about"]["run"] if op == "pins_begin" else request["run"]
            self._hold("pins", {"op": "pins_ours", "run": run}, None if op == "pins_end" else begun)
            return
        about = result.get("journal") if op == "journal_read" else request.get("journal", request)
        if op not in _OF_JOURNALS or not about or result.get("others"):
            return
        kind, operation_id = str(about["kind"]), str(about["operation_id"])
        key = f"{kind} {operation_id}"
        if (op == "journal_read" and about.get("run") != self._mine) or (
            op == "journal_mark" and key not in self._held
        ):
            return
        ask = {"op": "still_ours", "kind": kind, "operation_id": operation_id, "run": self._mine}
        self._hold(key, ask, None if op == "journal_close" else begun)

    def _hold(self, key: str, ask: runner.Request, confirmed: t.Optional[float]) -> None:
        if confirmed is None:
            self._held.pop(key, None)
        else:
            self._held[key] = (ask, confirmed)

    def _may_live(self, request: runner.Request) -> bool:
        """Return True if this request has taken an operation over from a run that is not known to have ended."""
        before: t.Mapping[str, t.Any] = (request.get("before") if request["op"] == "journal_put" else None) or {}
        if request["op"] == "pins_begin":
            before = (request.get("previous") or {}).get("run") or {}
        # A worker may outlive its playbook. Where the journal is near, it asks before its next change.
        return bool(before) and before != self._mine and not (self._near and run_owner.has_ended(before))
