# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of moving servers within their zones, and of emptying a host.

Nothing is remembered between two looks but what was asked for in this very run: where a server is, and whether a task
of it is in progress, is Nova's word. So a run that was killed is carried on with by looking again, and nobody is sent
twice. What was measured on the hosts is good for some minutes: after that nobody else is sent, and the step is carried
on with when they have been measured anew.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.actions.drain import Move, Mover, settle
from ansible_collections.stackguard.nova.plugins.module_utils.actions.rename import (
    Memory,
    Params,
    ServiceStatus,
    Systems,
    as_step_error,
)
from ansible_collections.stackguard.nova.plugins.module_utils.checks import migration as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks import zones as zone_checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import OURS
from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.findings import Finding, Override
from ansible_collections.stackguard.nova.plugins.module_utils.moving import COLD, LIVE
from ansible_collections.stackguard.nova.plugins.module_utils.plans.evacuation import Seat
from ansible_collections.stackguard.nova.plugins.module_utils.requests import COLD_FALLBACK, MigrationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.steps import Action, Done, StepError
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, moves, zones
from ansible_collections.stackguard.nova.plugins.module_utils.words import count

Json = t.Dict[str, t.Any]


class AgainError(StepError):
    """What was measured is too old for those that are left: measure anew, and carry on."""


class StayError(StepError):
    """All has ended, and some servers are where they were."""


@dataclasses.dataclass
class Outcome:
    """How it stands with each server, for the report."""

    moved: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    gone: t.List[str] = dataclasses.field(default_factory=list)
    #: Uuid to name, host and reason.
    stayed: t.Dict[str, t.Tuple[str, t.Optional[str], str]] = dataclasses.field(default_factory=dict)
    findings: t.List[Finding] = dataclasses.field(default_factory=list)
    #: What the last look at all servers came to.
    decision: t.Optional[checks.Decision] = None


@dataclasses.dataclass(frozen=True)
class Context:
    """What the steps are given. ``collect``: reads the servers of some hosts, all or those of these uuids."""

    request: MigrationRequest
    overrides: t.Sequence[Override]
    collect: t.Callable[[t.Sequence[str], t.Optional[t.Collection[str]]], checks.Evidence]
    outcome: Outcome


def all_actions(systems: Systems, context: Context) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    return {
        "hold": Hold(systems),
        "move": MoveServers(systems, context),
        "leave": ServiceStatus(systems),
    }


class Hold(ServiceStatus):
    """The host disabled, in the name of this operation."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Disable it, unless another operation has done so since it was read."""
        with as_step_error():
            service = moves.find_service(self.systems.cloud, params["host"])
        found = (service.disabled_reason if service is not None else None) or ""
        if found.startswith(OURS) and found != params["after"]["reason"]:
            raise StepError(f"SG707 lock-held: another operation holds {params['host']}: {found}")
        return super().apply(params, memory)


# --- one server after another ---------------------------------------------------------------------------------


@dataclasses.dataclass
class ZoneMove(Move):
    """One server on its way within its zone. ``cold``: it could not be moved live."""

    source: t.Optional[str] = None
    zone: t.Optional[str] = None
    cold: bool = False
    lost: t.Optional[str] = None
    tried: t.Dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def heading(self) -> t.Optional[str]:
        """The host that it goes to, or will."""
        return self.target or (self.candidates[0] if self.candidates else None)


def _zoned(guest: Move) -> ZoneMove:
    return t.cast("ZoneMove", guest)


class Seats:
    """Who has which seat; a server that failed on its host is given another, by what is left."""

    def __init__(self, evidence: checks.Evidence, decision: checks.Decision, request: MigrationRequest) -> None:
        self.evidence = evidence
        self.decision = decision
        self.request = request
        self.held: t.Dict[str, Seat] = {seat.uuid: seat for seat in decision.seating.seats}

    def host(self, uuid: str) -> t.List[str]:
        """Return the host of a server's seat, or nothing."""
        return [self.held[uuid].host] if uuid in self.held else []

    def again(self, uuid: str, tried: t.Mapping[str, str]) -> t.Tuple[t.Optional[str], str]:
        """Return another host, or none and why not."""
        self.held.pop(uuid, None)
        seat, why = checks.seat_again(self.evidence, self.decision, self.request, uuid, self.held, tried)
        if seat is not None:
            self.held[uuid] = seat
        return (None if seat is None else seat.host), why


class ZoneMover(Mover):
    """Moves servers within their zones: so many from one host and to one host, for as long as the measurement holds."""

    def __init__(self, systems: Systems, request: MigrationRequest, seats: Seats) -> None:
        super().__init__(systems, {"parallel": request.parallel, "timeout": request.timeout}, lambda _host: False)
        self.request = request
        self.seats = seats
        self.stayed: t.Dict[str, t.Tuple[str, t.Optional[str], str]] = {}
        self.findings: t.List[Finding] = []
        self.until = systems.monotonic() + request.measured_for
        self.sent = False

    def goes_on(self) -> bool:
        """One that fails keeps no other from leaving."""
        # At least one is sent in each round: otherwise no round would ever be the last.
        return not self.sent or self.systems.monotonic() < self.until

    def has_way(self, guest: Move) -> bool:
        """Whether neither its host nor the one that it goes to has its hands full."""
        guest = _zoned(guest)
        out = sum(1 for other in self.active if _zoned(other).source == guest.source)
        return out < self.request.per_source and self._takes(guest)

    def _takes(self, guest: ZoneMove) -> bool:
        into = [other for other in self.active if other is not guest and _zoned(other).heading == guest.heading]
        return guest.heading is None or len(into) < self.request.per_destination

    def _ask(self, guest: Move, server: Json) -> None:
        """Ask, unless the host that it was given since has its hands full."""
        if self._takes(_zoned(guest)):
            super()._ask(guest, server)
            self.sent = self.sent or guest.target is not None

    def is_away(self, guest: Move, host: t.Optional[str]) -> bool:
        """Whether it has left."""
        return host != _zoned(guest).source

    def method(self, guest: Move, status: str) -> t.Optional[str]:
        """How it moves, as it was asked for."""
        found = checks.method_of(status, self.request)
        if found == LIVE and status == "ACTIVE" and _zoned(guest).cold:
            return COLD
        return found

    def find_host(self, guest: Move) -> bool:
        """Whether there is a host to try: that of its seat, then others by what is left."""
        guest = _zoned(guest)
        if guest.lost is not None:
            return False
        if guest.candidates:
            return True
        host, why = self.seats.again(guest.uuid, guest.tried)
        if host is None and self._falls_back(guest):
            self.systems.remark(f"{guest.name}: Nova does not move it live: cold, it is stopped meanwhile")
            guest.cold, guest.tried = True, {}
            host, why = self.seats.again(guest.uuid, guest.tried)
        if host is None:
            guest.reasons.append(why)
            return False
        guest.candidates.append(host)
        return True

    def _falls_back(self, guest: ZoneMove) -> bool:
        wanted = self.request.live and self.request.cold == COLD_FALLBACK
        return wanted and bool(guest.tried) and not guest.cold

    def note_refusal(self, guest: Move, target: str, said: str) -> None:
        """Note that it is not to be sent there again."""
        super().note_refusal(guest, target, said)
        _zoned(guest).tried[target] = said

    def _arrived(self, guest: Move, server: Json, host: str, number: str) -> bool:
        """Compare its zone before anything else: a stray is never confirmed."""
        guest = _zoned(guest)
        if server.get("OS-EXT-SRV-ATTR:host") is None:
            self.gone.append(guest.name)
            self.systems.remark(f"{guest.name}: {server['status']}, on no host: its owner did that meanwhile")
            return True
        with as_step_error():
            zone = zones.zone_of_host(self.systems.cloud, host)
        remedy = "Move it back into its zone; see its events for who moved it (openstack server event list)."
        item = zone_checks.landed(cloud_reads.server_of(server), guest.zone or "(unread)", zone, remedy)
        if item is None:
            return super()._arrived(guest, server, host, number)
        if guest.lost is None:
            self.findings.append(item)
            guest.lost = f"SG407 landed-outside-zone: on {host} in {zone}, not in {guest.zone}"
            guest.reasons.append(guest.lost)
            if server["status"] == "VERIFY_RESIZE" and self._revert(guest):
                return False
        if server["status"] == "VERIFY_RESIZE":
            return self._wait(guest, server)
        return self._fail(guest, "is outside its zone")

    def _revert(self, guest: ZoneMove) -> bool:
        """Have Nova bring it back to where it came from, where this is a migration and not its owner's resize."""
        with as_step_error():
            migration = moves.last_migration(self.systems.cloud, guest.uuid) or {}
        if migration.get("migration_type") != "migration":
            return False
        self.systems.remark(f"{guest.name}: {guest.lost}: reverted, not confirmed")
        try:
            moves.revert(self.systems.cloud, guest.uuid)
        except ApiError as error:
            # 409: it is being reverted or confirmed just now; the next look shows.
            if error.data.get("status") not in (400, 409):
                raise StepError(f"{guest.name}: {error}") from error
        return True

    def _fail(self, guest: Move, reason: str) -> bool:
        host = _zoned(guest).source
        said = "".join(f"; {text}" for text in dict.fromkeys(guest.reasons))
        self.stayed[guest.uuid] = (guest.name, host, f"{reason}{said}")
        self.systems.remark(f"{guest.name}: {reason}{said}")
        return super()._fail(guest, reason)


class MoveServers:
    """Move every server that was asked for, or all of a host."""

    def __init__(self, systems: Systems, context: Context) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look where all of them are, choose hosts for those that have not left, and send them."""
        outcome, request = self.context.outcome, self.context.request
        known = {entry["uuid"]: entry for entry in params["servers"]}
        evidence, decision = self._judged(params, known)
        outcome.decision = decision
        here = {server.id: server for server in decision.servers}
        mover = ZoneMover(self.systems, request, Seats(evidence, decision, request))
        outcome.findings, outcome.stayed = mover.findings, mover.stayed
        self._stay(decision, mover)
        going = [
            ZoneMove(
                uuid,
                here[uuid].name if uuid in here else known[uuid]["name"],
                mover.seats.host(uuid),
                source=here[uuid].host if uuid in here else known[uuid]["host"],
                zone=decision.zones[uuid] if uuid in here else known[uuid]["zone"],
            )
            for uuid in self._order(decision, known)
            if uuid not in mover.stayed
        ]
        waiting = mover.work(going)
        outcome.moved.update(mover.moved)
        outcome.gone += [name for name in mover.gone if name not in outcome.gone]
        if waiting:
            raise AgainError(f"{count(len(waiting), 'server')} left: the hosts are measured anew")
        self._nobody_came(params, {*here, *known})
        return self._told(mover, params)

    def _judged(self, params: Params, known: t.Mapping[str, Json]) -> t.Tuple[checks.Evidence, checks.Decision]:
        sources = sorted({str(entry["host"]) for entry in known.values() if entry["host"]} | self._drained(params))
        with as_step_error():
            evidence = self.context.collect(sources, None if params["host"] else set(known))
        # One with a task is waited for: whoever began it, it ends.
        busy = {server.id for server in evidence.zones.servers or [] if server.task_state is not None}
        decision = checks.preflight(evidence, self.context.request, self.context.overrides, busy)
        if any(item.code == "SG709" and item.object.kind == "host" for item in decision.checked.findings):
            seen = [item.evidence for item in decision.checked.findings if item.code == "SG709"]
            raise StepError(f"SG709 evidence-missing: {seen}")
        return evidence, decision

    @staticmethod
    def _drained(params: Params) -> t.Set[str]:
        return {str(params["host"])} if params["host"] else set()

    @staticmethod
    def _order(decision: checks.Decision, known: t.Mapping[str, Json]) -> t.List[str]:
        """Those of earlier runs first, then as they were given their seats."""
        here = {server.id for server in decision.servers}
        away = [uuid for uuid in known if uuid not in here]
        return list(dict.fromkeys([*away, *(guest.uuid for guest in decision.guests), *sorted(here)]))

    def _stay(self, decision: checks.Decision, mover: ZoneMover) -> None:
        """Those that have no seat, or that a finding keeps where they are."""
        by_uuid = {server.id: server for server in decision.servers}
        reasons = {entry.uuid: f"{entry.code}: {checks.why_not(entry)}" for entry in decision.seating.unseated}
        reasons.update({uuid: ", ".join(codes) for uuid, codes in decision.barred.items()})
        for uuid, why in reasons.items():
            server = by_uuid[uuid]
            if server.task_state is None:
                mover.stayed[uuid] = (server.name, server.host, why)
                mover.failed.append(f"{server.name} ({uuid}) {why}")
                self.systems.remark(f"{server.name}: stays on {server.host}: {why}")

    def _nobody_came(self, params: Params, seen: t.Container[str]) -> None:
        if not params["host"]:
            return
        with as_step_error():
            found = moves.servers_on(self.systems.cloud, params["host"])
        late = [server.name for server in found if server.id not in seen]
        if late:
            raise AgainError(f"came to {params['host']} meanwhile: {', '.join(late)}")

    @staticmethod
    def _told(mover: ZoneMover, params: Params) -> Done:
        gone = f", {len(mover.gone)} deleted meanwhile" if mover.gone else ""
        if mover.stayed:
            names = "; ".join(f"{name} on {host}: {why}" for name, host, why in mover.stayed.values())
            raise StayError(f"{count(len(mover.moved), 'server')} moved{gone}, {len(mover.stayed)} not: {names}")
        return Done(f"{count(len(mover.moved), 'server')} moved{gone}", {"moved": mover.moved})

    def undo(self, params: Params) -> None:
        """Servers stay where they are: each move is whole. One that is not is ended: see :func:`drain.settle`."""
        settle(
            self.systems,
            [(entry["uuid"], entry["name"], str(entry["host"])) for entry in params["servers"]],
            params,
        )
