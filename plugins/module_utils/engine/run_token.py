# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operation in the hands of one run: each request to the host that keeps the journal bears the run's token.

The host refuses the request of a run whose operation another run has taken up, see :mod:`journal`. What this run
writes elsewhere, in databases and through APIs, no host can refuse. So the run writes there only while its last request
was answered a short time ago: another run waits for longer than that (C(journal.LEASE)) before it takes over a run
that may still live.
"""

from __future__ import annotations

import contextlib
import secrets
import time
import typing as t

from ..model.errors import StackguardError
from ..model.facts import HostFacts
from ..records import journal as journals
from . import run_owner, runner

#: Seconds after which the host is asked once more whether this run still has the operation.
RENEW = 10
#: Seconds after which nothing is written unless the host was asked. What was begun until then ends within the rest of
#: journal.LEASE: an idle transaction is ended by its server, a request to an API by its timeout.
FRESH = 30


def new_run(operator: str, begun_at: str) -> t.Dict[str, t.Any]:
    """Return who this run is, with a token of its own."""
    return {
        **run_owner.this_run(),
        "operator": operator,
        "begun_at": begun_at,
        "token": new_token(),
    }


def new_token() -> str:
    """Return what no other run has."""
    return secrets.token_hex(8)


def uptime() -> float:
    """Return seconds that pass while the process or the machine is suspended, too."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class FactsHost(t.Protocol):
    """A host that carries out requests, and whose facts can be read."""

    def call(self, requests: t.Sequence[runner.Request]) -> t.List[runner.Result]:
        """Carry out requests."""

    def facts(self, arguments: t.Dict[str, t.Any]) -> HostFacts:
        """Read the host's facts."""


class JournalHost:
    """The host that keeps the journal, for one run of one operation."""

    def __init__(
        self,
        host: FactsHost,
        kind: str,
        operation_id: str,
        run: t.Mapping[str, t.Any],
        now: t.Callable[[], str],
        clock: t.Callable[[], float] = uptime,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self.run = run
        self._now = now
        self._clock, self._sleep = clock, sleep
        self._about = {"kind": kind, "operation_id": operation_id}
        self._answered = clock()

    def call(self, requests: t.Sequence[runner.Request]) -> t.List[runner.Result]:
        """Carry out requests, each of them only while this run has the operation."""
        holder = {**self._about, "token": self.run["token"]}
        # Counted from before the request: its answer may have been long on its way.
        begun = self._clock()
        results = self.host.call([{**request, "holder": holder} for request in requests])
        self._answered = begun
        return results

    def facts(self, arguments: t.Dict[str, t.Any]) -> HostFacts:
        """Read the host's facts. They change nothing: whoever has the operation may read them."""
        return self.host.facts(arguments)

    def claim(self, journal: t.Mapping[str, t.Any], take_over: bool) -> t.Dict[str, t.Any]:
        """Take an open operation up; return its journal as it is then. Raises SG707 while another run has it."""
        before = journal.get("run") or {}
        ended = run_owner.has_ended(before)
        if ended is False and not before.get("ended") and not take_over:
            raise StackguardError(
                f"SG707 lock-held: {journals.run_text(before)} is still active on this Ansible controller",
                problem="lock-held",
            )
        request = {
            "op": "journal_claim",
            **self._about,
            "run": dict(self.run),
            "previous": before.get("token"),
            "certain": bool(ended or take_over),
            "at": self._now(),
        }
        begun = self._clock()
        (answer,) = self.host.call([request])
        self._answered = begun
        if take_over and ended is not True and before.get("token") and not before.get("ended"):
            # By its operator's word it has ended. If it lives all the same, its last answer counts for so long.
            self._sleep(FRESH)
            self._answered = self._clock()
        return t.cast("t.Dict[str, t.Any]", answer["journal"])

    def still_ours(self) -> None:
        """Ask the host, where it was not asked a short time ago. Raises StepError where another run took over."""
        if self._clock() - self._answered > RENEW:
            self.call([{"op": "still_ours"}])

    def fresh(self) -> None:
        """Refuse what is about to be written where the host was not asked for too long. Asks nothing itself.

        For the moment before a commit: there rows are locked, and a round trip to a host may take long.
        """
        age = self._clock() - self._answered
        if age > FRESH:
            raise runner.StepError(
                f"this run paused for {int(age)} s, so another run may have taken over the operation. "
                "Nothing was written. Run the same command again",
                problem="paused",
            )

    def release(self) -> None:
        """Let go of an operation that is open. Where the host does not answer, the next run waits for the lease."""
        with contextlib.suppress(runner.StepError, StackguardError, journals.JournalError):
            self.host.call([{"op": "journal_release", **self._about, "token": self.run["token"], "at": self._now()}])
