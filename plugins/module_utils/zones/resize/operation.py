# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A resize from end to end: find, judge, plan, carry out; go on after a kill; take back.

The journal is opened before the first change and closed when the server is resized, or as it was. A stray, a refusal
by Nova, and a server that its owner deleted or reverted meanwhile are taken back at once.
"""

from __future__ import annotations

import typing as t

from ...engine import lifecycle, runner
from ...engine.lifecycle import OpenJournal, Refused
from ...engine.planned import Prepared
from ...engine.server_run import ServerRun
from ...engine.systems import Systems
from ...hazards import unfit
from ...model import approval
from ...model.block_storage import BlockStorage
from ...model.errors import ApiError
from ...model.facts import ApiServer, Bundle, FactsError, ServerFlavor, to_plain
from ...model.plan import Plan
from ...model.requests import ResizeRequest
from ...records import evidence
from ...records import journal as journals
from ...systems.api import (
    block_storage,
    flavors,
    http,
    migration_records,
    server_disks,
    server_records,
    zone_facts,
)
from ..server_operation import ServerOperation
from . import plan as plans
from . import preflight as checks
from . import steps

Result = t.Dict[str, t.Any]
Flavor = t.Tuple[str, ServerFlavor]


class Resize(ServerOperation):
    """A resize of one server within its zone."""

    # Below this microversion a server does not show what its flavor holds.
    PREFIX, KIND, OLDEST, WHAT = "resize_", plans.KIND, "2.53", "resize"

    # --- judging

    def prepare(self) -> Prepared:
        """Read, judge and plan."""
        self.refuse_old()
        flavor = flavors.find_flavor(self.cloud, str(self.run.options["flavor"]))
        if flavor is None:
            raise Refused(f"there is no flavor {self.run.options['flavor']}")
        server = server_records.whole_server(self.cloud, self.identity)
        if server is not None and _is_so(server, flavor[1]):
            empty = Plan(self.kind(), self.run.operation_id, server.name, [])
            asked = self._approved(flavor, None, None)
            return Prepared(empty, {}, asked, {"server": self.identity}, f"{server.name} already has this flavor")
        return self._judge(server, flavor)

    def _judge(self, server: t.Optional[ApiServer], flavor: Flavor) -> Prepared:
        request = self._request(flavor)
        url = self.run.options.get("nova_api_db_url") or None
        facts = zone_facts.read_zones(self.cloud, [] if server is None else [server], url, flavor[1])
        last = None if server is None else migration_records.newest(self.cloud, server.id)
        hosts = self._hosts(facts.read_at)
        failed = migration_records.failed_moves(self.cloud, [] if server is None else [server])
        stored = self._stored(server, hosts)
        storage = self._storage(server)
        decision = checks.preflight(facts, request, last, hosts, stored, failed.get(self.identity), storage)
        found, zone, choice = decision.server, decision.zone, decision.choice
        ready = found is not None and zone is not None and choice is not None and choice.method is not None
        report = self.judged(decision.checked, facts.read_at, len(hosts.hosts) if hosts else 0, 1, ready)
        # What the types do not know: all of it is there.
        found, zone, choice = t.cast("ApiServer", found), str(zone), t.cast("checks.Choice", choice)
        method, why = str(choice.method), choice.why
        plan = plans.plan(request, found, zone, decision.pin, method, why)
        about = {
            "server": self.identity,
            "flavor": flavor[0],
            "flavor_name": flavor[1].name,
            "zone": zone,
            "volumes": bool(found.volumes),
        }
        told = {"server": self.identity, "zone": zone, "strategy": method, "why": why, "report": report}
        would = f"without --check, the run would resize {found.name} within zone {zone}"
        return Prepared(plan, about, self._approved(flavor, zone, method), told, would)

    def _storage(self, server: t.Optional[ApiServer]) -> t.Optional[BlockStorage]:
        """Return what Cinder says of the server's volumes."""
        if server is None or not server.volumes:
            return None
        return block_storage.read_block_storage(self.cloud, [server], http.list_catalog(self.cloud), whole=False)

    def _hosts(self, read_at: str) -> t.Optional[Bundle]:
        """Return the compute hosts as they were read; None: none was."""
        directory = self.run.options.get("evidence_dir")
        try:
            return evidence.load_dir(directory, read_at) if directory else None
        except evidence.NoEvidenceError:
            return None
        except FactsError as error:
            raise Refused(f"refused, and nothing was changed: {error}", problem="options") from error

    def _stored(self, server: t.Optional[ApiServer], hosts: t.Optional[Bundle]) -> t.Optional[str]:
        """Return the machine type that Nova has kept for the server, where it decides; None: not known."""
        if server is None or hosts is None or not hosts.hosts:
            return None
        judge = unfit.Judge(hosts)
        if not judge.lacking(server.id, server.host, judge.hosts):
            return None
        try:
            found = server_disks.image_properties(self.cloud, [server], {}, {})
        except ApiError:
            return None
        return found.get(server.id, {}).get("hw_machine_type")

    def _request(self, flavor: Flavor) -> ResizeRequest:
        options = self.run.options
        return ResizeRequest(
            server=self.identity,
            flavor=flavor[0],
            flavor_name=str(flavor[1].name),
            operation_id=self.run.operation_id,
            strategy=options["strategy"],
            confirm=options["confirm"],
            keep_pin=options["keep_pin"],
            same_host=options["same_host"],
            has_database=bool(options.get("nova_api_db_url")),
            timeout=options["server_timeout"],
        )

    def _approved(self, flavor: Flavor, zone: t.Optional[str], method: t.Optional[str]) -> Result:
        """Return what a person approves beside the plan's own values. A flavor is what it holds, whatever its name."""
        options = self.run.options
        return {
            "server": self.identity,
            "flavor": flavor[0],
            "holds": to_plain(flavor[1]),
            "zone": zone,
            "method": method,
            "confirm": options["confirm"],
            "keep_pin": options["keep_pin"],
            "same_host": options["same_host"],
            "overrides": approval.of_overrides(self.run.overrides),
        }

    # --- an open one

    def goal_text(self, journal: Result) -> str:
        """Return what it resizes to."""
        return f"resize to {journal['about']['flavor_name']}"

    def asks_for_another(self, journal: Result) -> bool:
        """Whether another flavor is asked for."""
        about, options = journal["about"], self.run.options
        named = options["flavor"] or (about["flavor"] if options["action"] == lifecycle.RESUME else None)
        return named not in (about["flavor"], about["flavor_name"])

    # --- carrying out

    def take_up(self, journal: Result, note: str, why: t.Optional[str] = None) -> Result:
        """Take an open operation up. What the run before has read of hosts is removed."""
        evidence.remove_stale(journal, self.run.options.get("evidence_dir"))
        return super().take_up(journal, note, why)

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps."""
        return steps.actions(systems)

    def finished_text(self, journal: Result) -> str:
        """Return how it was resized."""
        flavor = journal["about"]["flavor_name"]
        return self.with_volumes(f"the resize of {journal['subject']} to {flavor} is complete: {self.said(journal)}")

    def undone_text(self, journal: Result, why: str) -> str:
        """Return why it is not resized."""
        return f"{journal['subject']} was not resized as requested: {why}. The server is {self.as_it_is()}"

    def end_open(self, journal: Result) -> Result:
        """Take back what an open operation did. What is confirmed cannot be."""
        result = super().end_open(journal)
        if result["state"] != journals.ROLLED_BACK or self.run.check_mode:
            return result
        server = server_records.whole_server(self.cloud, self.identity)
        name = server.flavor.name if server is not None and server.flavor is not None else None
        if name != journal["about"]["flavor_name"]:
            return result
        msg = (
            f"the resize of {journal['subject']} was confirmed before the rollback, so the server stays resized. "
            f"{result['msg']}"
        )
        return {**result, "failed": True, "msg": msg}


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return t.cast("Result", Resize(run).carry_out())


def _is_so(server: ApiServer, flavor: ServerFlavor) -> bool:
    has = server.flavor
    same = has is not None and (has.name, has.vcpus, has.ram, has.disk) == (
        flavor.name,
        flavor.vcpus,
        flavor.ram,
        flavor.disk,
    )
    return same and server.status in checks.STATUSES and server.task_state is None
