# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rename by drain takes from the moves: the facts of guests and hosts, and where the guests go."""

from __future__ import annotations

import dataclasses
import typing as t

from ...engine.systems import Systems
from ...model.errors import StackguardError
from ...model.findings import Checked, Override
from ...model.requests import MigrationRequest
from ...moves import evidence, preflight
from ...moves.mover import AgainError, MoveContext, MovedServers, RoundHistory, decide
from . import steps

__all__ = ["AgainError", "GuestsOnTheMove", "RoundHistory"]


class GuestsOnTheMove:
    """Decides where the guests of the host go, by what the APIs and the measured hosts say now.

    ``options``: those of the module; ``probes``: what source hosts have tried, to which more is added.
    """

    def __init__(
        self,
        systems: Systems,
        options: t.Mapping[str, t.Any],
        overrides: t.Sequence[Override],
        probes: t.List[t.Mapping[str, t.Any]],
    ) -> None:
        self.systems = systems
        self.options = options
        self.overrides = overrides
        self.probes = probes

    def decide(self, request: MigrationRequest) -> preflight.MoveDecision:
        """Return where the guests go. The source host tries the connections that no probe tells of yet.

        Raises ProbeError where other hosts are to compare CPUs first.
        """
        found = self._collect([str(request.drain_host)], None)
        while True:
            context = dataclasses.replace(self.context(), request=request)
            decision, reached = decide(found, context, RoundHistory())
            if not reached.missing:
                unread = Checked((), tuple(preflight.unreached(reached)))
                return dataclasses.replace(decision, checked=decision.checked + unread)
            self.probes += steps.probe_from_host(self.systems, found.bundle, reached.missing)

    def context(self) -> MoveContext:
        """Return what the mover is given; the step that moves guests fills in its request."""
        return MoveContext(
            MigrationRequest(),
            self.overrides,
            self._collect,
            MovedServers(),
            probes=list(self.probes),
            able=True,
            approved=bool(self.options["expect_plan"]),
        )

    def _collect(self, sources: t.Sequence[str], wanted: t.Optional[t.Collection[str]]) -> preflight.Evidence:
        directory, url = self.options["evidence_dir"], self.options["nova_api_db_url"] or None
        if not directory:
            raise StackguardError("evidence_dir is required to move guests: the module reads the measured memory in it")
        found = evidence.collect(self.systems.cloud, directory, sources, wanted, url)
        # What was read of the databases may be older than the last move.
        return dataclasses.replace(found, bundle=dataclasses.replace(found.bundle, databases=None))
