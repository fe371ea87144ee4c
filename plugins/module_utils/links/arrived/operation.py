# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repair of a server whose live migration has arrived and that Nova still shows on the source, from end to end.

A call goes on with the hosts as they were read before it. Where that is not enough, it ends with C(again), and the
playbook reads the hosts and calls again: before the row is written, and before the proof at the end.
"""

from __future__ import annotations

import typing as t

from ...engine import runner, server_run, waiting_requests
from ...engine.lifecycle import OpenJournal, Refused
from ...engine.planned import Planned, Prepared
from ...engine.server_run import ServerRun
from ...engine.systems import Systems
from ...model import approval, findings
from ...model.arrival import ArrivalFacts
from ...model.codes.catalogue import remedy_text
from ...model.facts import FactsError
from ...model.plan import Plan
from ...records import evidence
from ...records import journal as journals
from ...systems.api import network, resource_providers, server_records
from ...systems.db import arrivals
from . import plan as plans
from . import preflight as checks
from . import steps

Result = t.Dict[str, t.Any]


class Arrival(Planned):
    """The repair of one server that has arrived."""

    PREFIX = "repair_"

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)
        self.cloud = run.systems.cloud
        self._uuid: t.Optional[str] = None

    # --- finding

    @property
    def identity(self) -> str:
        """The uuid of the server that is meant, also of one that is gone and whose journal is open."""
        if self._uuid is None:
            self._uuid = server_run.identity(self.run, plans.KIND)
        return self._uuid

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"repair of {self.run.options['server']}"

    def kind(self) -> str:
        """Return the kind of journal."""
        return plans.kind_of(self.identity)

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"make Nova show {journal['subject']} on {journal['about']['dest']}"

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return where Nova shows the server."""
        try:
            server = server_records.existing_server(self.cloud, self.identity)
        except server_records.NotShownError:
            return "Nova does not show the server"
        if server is None:
            return "The server is deleted"
        locked = ", locked" if server.locked else ""
        return f"Nova shows {server.name} on {server.host}: {server.status}, task {server.task_state}{locked}"

    def result_fields(self, journal: t.Optional[Result]) -> Result:
        """Return the server."""
        return {"server": self.identity}

    # --- judging

    def prepare(self) -> Prepared:
        """Read, judge and plan."""
        facts = self._facts(self.identity)
        home = checks.home_of_guest(facts)
        if home is not None:
            empty = Plan(self.kind(), self.run.operation_id, facts.server.name, [])
            message = (
                f"the guest of {facts.server.name} runs on {home}, where Nova shows it: there is nothing to repair"
            )
            return Prepared(empty, {}, self._approved(None), {"server": self.identity}, message)
        decision = checks.preflight(facts)
        report = self.judged(decision.checked, facts.bundle.collected_at, len(facts.bundle.hosts), 1)
        row, migration = decision.row, decision.migration
        if row is None or migration is None:
            raise Refused("refused, and nothing was changed: no condition is left, and there is no row to write")
        plan = plans.plan(self.run.operation_id, facts.server.name, facts, row, migration)
        about = {"server": self.identity, "host": row.host, "dest": row.dest}
        told = {"server": self.identity, "report": report}
        would = f"without --check, the run would make Nova show {facts.server.name} on {row.dest}"
        return Prepared(plan, about, self._approved(row.dest), told, would)

    def _approved(self, dest: t.Optional[str]) -> Result:
        return {"server": self.identity, "dest": dest, "overrides": approval.of_overrides(self.run.overrides)}

    def _facts(self, uuid: str) -> ArrivalFacts:
        """Read everything but the hosts, which the playbook has read. Raises Refused, ApiError and DatabaseError."""
        directory = self.run.options.get("evidence_dir")
        try:
            bundle = evidence.load_dir(str(directory), self.run.clock.now())
        except (evidence.NoEvidenceError, FactsError) as error:
            raise Refused(f"refused, and nothing was changed: no compute host was read: {error}") from error
        rows = arrivals.read_arrival(self.run.options, uuid)
        server = server_records.whole_server(self.cloud, uuid)
        if server is None:
            raise Refused(f"refused, and nothing was changed: Nova does not show server {uuid}")
        own = resource_providers.consumer_allocations(self.cloud, uuid)
        last = next((row for row in reversed(rows.cell.migrations or []) if not row.deleted and row.uuid), None)
        moved = resource_providers.consumer_allocations(self.cloud, str(last.uuid)) if last is not None else {}
        providers = {uuid: resource_providers.get_provider(self.cloud, uuid) for uuid in {*own, *moved}}
        ports = [port.id for port in network.list_ports(self.cloud, devices=[uuid])]
        home, dest = (rows.cell.instances or [])[0].host, last.dest_compute if last is not None else None
        # At the destination, Nova's own last write may still be waiting.
        names = dict.fromkeys(name for name in (home, dest) if name)
        waiting = [waiting_requests.count(self.run.options, self.cloud, name) for name in names]
        return ArrivalFacts(
            bundle=bundle,
            rows=rows,
            server=server,
            allocations=own,
            migration_allocations=moved,
            roots={key: provider.root_provider_uuid or key for key, provider in providers.items()},
            bindings=network.port_bindings(self.cloud, ports),
            waiting=sum(waiting, findings.Checked()),
        )

    # --- an open one

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Take an open operation up. What the run before has read of hosts is removed."""
        evidence.remove_stale(journal, self.run.options.get("evidence_dir"))
        return super().take_up(journal, note, why)

    def resumed_text(self, journal: Result) -> str:
        """Return what a run says that resumes; nothing where the role only calls again."""
        return "" if self.run.options["again"] else super().resumed_text(journal)

    def end_open(self, journal: Result) -> Result:
        """Unlock the server, unless its row is written: going back would make Nova wrong again."""
        if self._is_written(journal):
            raise Refused(
                f"SG706 operation-open: Nova shows {journal['subject']} on {journal['about']['dest']} already, where "
                f"its guest runs. Resume the operation ({self.run.variable('action')}=resume)"
            )
        return super().end_open(journal)

    def _is_written(self, journal: Result) -> bool:
        state = journal["steps"].get("row")
        if state != journals.APPLYING:
            return bool(state == journals.DONE)
        (step,) = [entry for entry in runner.plan_of(journal).steps if entry.name == "row"]
        row = steps.row_of(step.params)
        written: bool = arrivals.is_written(self.run.systems.url(f"cell:{row.cell}"), row)
        return written

    # --- carrying out

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps."""
        return steps.actions(systems, self._facts)

    def forward(self, open_journal: OpenJournal) -> Result:
        """Carry it out, as far as the hosts that were read allow."""
        try:
            return {**super().forward(open_journal), "again": False}
        except steps.ReadAgainError:
            msg = "the hosts are read again before the run goes on"
            return {"changed": True, "state": journals.OPEN, "again": True, "msg": msg}

    def finished_text(self, journal: Result) -> str:
        """Return where the server is now, and what is left."""
        text = f"Nova shows {journal['subject']} on {journal['about']['dest']}, where its guest runs"
        left = _left(journal)
        return f"{text}. {left.evidence['ports']} still have a binding for {left.object.host} (SG713)" if left else text

    def ended_fields(self, journal: Result) -> Result:
        """Return a report of the bindings that neutron does not let this user remove."""
        left = _left(journal)
        if left is None:
            return {}
        checked = findings.Checked((left,))
        return {"report": findings.report(checked, self.run.clock.now(), 0, 1, self.run.overrides)}

    def undone_text(self, journal: Result, why: str) -> str:
        """Return what a rollback leaves."""
        return f"the repair of {journal['subject']} is ended before its row was written: {why}"


def _left(journal: Result) -> t.Optional[findings.Finding]:
    """Return SG713 of the inactive bindings that are left: the next live migration back to that host fails."""
    ports = journal.get("memory", {}).get("bindings", {}).get("left")
    if not ports:
        return None
    about = journal["about"]
    subject = findings.Subject("instance", about["server"], journal["subject"], about["host"])
    remedy = remedy_text("SG713", "binding")
    return findings.finding("SG713", subject, {"ports": ports, "bound to": about["host"]}, remedy, findings.WARNING)


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return t.cast("Result", Arrival(run).carry_out())
