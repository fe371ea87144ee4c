# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unshelving from end to end: find, judge, plan, carry out; go on after a kill; end what was begun.

The journal is opened before the request and closed when the server runs in its zone, or is shelved as before. What runs
is never shelved again: a stray is told with the command that takes it back.
"""

from __future__ import annotations

import typing as t

from ...engine import runner
from ...engine.lifecycle import OpenJournal
from ...engine.planned import Prepared
from ...engine.server_run import ServerRun
from ...engine.systems import Systems
from ...hazards import zones
from ...model import approval
from ...model.errors import ApiError
from ...model.facts import ApiServer, ZoneFacts
from ...model.findings import Checked
from ...model.lookups import gather
from ...model.plan import Plan
from ...model.requests import UnshelveRequest
from ...systems.api import migration_records, server_actions, server_disks, server_records, zone_facts
from .. import home
from ..pins import plan as pins
from ..server_operation import Result, ServerOperation
from ..server_steps import AT_REST
from . import plan as plans
from . import preflight as checks
from . import steps

_T = t.TypeVar("_T")


class UnshelveOperation(ServerOperation):
    """The unshelving of one server in its zone."""

    PREFIX, KIND, OLDEST = "unshelve_", plans.KIND, server_actions.UNSHELVE_ZONE
    WHAT = "request to unshelve"

    # --- judging

    def prepare(self) -> Prepared:
        """Read, judge and plan."""
        self.refuse_old()
        server = server_records.whole_server(self.cloud, self.identity)
        url = self.run.options.get("nova_api_db_url") or None
        facts = zone_facts.read_zones(self.cloud, [] if server is None else [server], url)
        if server is not None and server.status in AT_REST and server.task_state is None:
            return self._already(server, facts)
        place = home.Home(None) if server is None else home.find(facts, server, self.run.options["zone"])
        disks, last = checks.ShelvedDisks(), None
        if server is not None and home.is_offloaded(server):
            disks = self._disks(server)
            facts = facts if place.zone is None else zone_facts.with_offers(self.cloud, facts, server, place.zone)
        elif server is not None:
            last = migration_records.newest(self.cloud, server.id)
        decision = checks.preflight(facts, self.identity, place, disks, last)
        hosts = len(facts.services or [])
        report = self.judged(decision.checked, facts.read_at, hosts, 1, decision.zone is not None)
        return self._planned(decision, place.why, facts, report)

    def _planned(self, decision: checks.UnshelveDecision, why: str, facts: ZoneFacts, report: Result) -> Prepared:
        # What the types do not know: all of it is there.
        server, zone = t.cast("ApiServer", decision.server), str(decision.zone)
        pin = (facts.pins or {}).get(server.id)
        request = self._request(facts, server, zone, pin)
        plan = plans.plan(request, server, zone, decision.ask, pin, why)
        about = {"server": server.id, "zone": zone}
        told = {"server": server.id, "zone": zone, "why": why, "report": report}
        would = f"without --check, the run would unshelve {server.name} in zone {zone}"
        return Prepared(plan, about, self._approved(zone, decision.ask), told, would)

    def _already(self, server: ApiServer, facts: ZoneFacts) -> Prepared:
        """Return that there is nothing to do. Raises Refused for a server that is not where its pin says (SG404)."""
        found = gather(zones.pinned(facts, server))
        checked = Checked(tuple(item for item in found.findings if item.code == "SG404"))
        report = self.judged(checked, facts.read_at, len(facts.services or []), 1, True)
        zone = zones.zone_of(facts, server.host)
        told = {"server": server.id, "zone": zone, "report": report}
        empty = Plan(self.kind(), self.run.operation_id, server.name, [])
        msg = f"{server.name} is not shelved: {server.status} on {server.host} in {zone}"
        return Prepared(empty, {}, self._approved(zone, None), told, msg)

    def _disks(self, server: ApiServer) -> checks.ShelvedDisks:
        """Return what it is made from again, as far as it can be read."""
        images = None
        if server.image != "":
            images = _read(lambda: server_disks.shelved_images(self.cloud, server.id))
        return checks.ShelvedDisks(images, _read(lambda: server_disks.volume_states(self.cloud, server)))

    def _request(self, facts: ZoneFacts, server: ApiServer, zone: str, pin: t.Optional[str]) -> UnshelveRequest:
        """Return what is asked for. The pin that Nova writes is given back in the way in which it can be."""
        options, has_database = self.run.options, bool(self.run.options.get("nova_api_db_url"))
        wanted = pins.PinRequest(has_database=has_database)
        method, _why = pins.method_of(facts, server, zone, pin, wanted)
        return UnshelveRequest(self.run.operation_id, method, options["server_timeout"])

    def _approved(self, zone: t.Optional[str], ask: t.Optional[str]) -> Result:
        """Return what a person approves beside the plan's own values."""
        overrides = approval.of_overrides(self.run.overrides)
        return {"server": self.identity, "zone": zone, "ask": ask, "overrides": overrides}

    # --- an open one

    def goal_text(self, journal: Result) -> str:
        """Return where it is unshelved."""
        return f"unshelve in {journal['about']['zone']}"

    def asks_for_another(self, journal: Result) -> bool:
        """Whether another zone is named."""
        return self.run.options["zone"] not in (None, journal["about"]["zone"])

    # --- carrying out

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps."""
        return steps.actions(systems)

    def finished_text(self, journal: Result) -> str:
        """Return how it was unshelved."""
        return self.with_volumes(f"{journal['subject']} is unshelved: {self.said(journal)}")

    def undone_text(self, journal: Result, why: str) -> str:
        """Return how it ended otherwise."""
        return f"the run ended before {journal['subject']} was unshelved in its zone: {why}. It is {self.as_it_is()}"


def _read(read: t.Callable[[], _T]) -> t.Optional[_T]:
    try:
        return read()
    except ApiError:
        return None


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return t.cast("Result", UnshelveOperation(run).carry_out())
