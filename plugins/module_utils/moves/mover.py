# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one mover of servers: within their zones, by measured memory, away from a host or back to it.

Nothing is remembered between two looks but what was asked for in this very run: where a server is, and whether a task
of it is in progress, is Nova's word. So a run that was killed is carried on with by looking again, and nobody is sent
twice. What was measured on the hosts is good for some minutes: after that nobody else is sent, and the step is carried
on with when they have been measured anew.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import by_nova_name
from ..capacity.placement import COLD, LIVE
from ..capacity.planner import Assignment
from ..engine.moved_volumes import check_moved
from ..engine.runner import Done, StepError
from ..engine.systems import Memory, Params, Systems, as_step_error
from ..hazards import power_state
from ..hazards import zones as zone_checks
from ..model.codes.catalogue import remedy_text
from ..model.errors import ApiError
from ..model.facts import ApiServer, Bundle
from ..model.findings import (
    INFO,
    Checked,
    Finding,
    Override,
    Unchecked,
    blocking_findings,
)
from ..model.requests import COLD_FALLBACK, MigrationRequest
from ..model.wording import count
from ..reports.terminal import findings_text
from ..systems.api import (
    compute_services,
    hypervisors,
    instance_actions,
    migration_records,
    resource_providers,
    server_actions,
    server_records,
)
from . import preflight as checks
from . import reachability
from . import verify as failed_move

Json = t.Dict[str, t.Any]

#: Seconds between two looks at the servers that move.
POLL = 2.0
#: Seconds between two lines of progress.
TELL = 10.0
#: Seconds before the same host is asked again after a move to it failed.
AGAIN = 10.0
#: Seconds in which nova-compute notices after a boot that a guest is off.
SYNC = 180.0
#: How often the same host is asked again where the API says 409: the server's state is changing under our eyes.
BUSY_TRIES = 5
#: How often a server is sent to the only host to which it shall go.
TRIES = 4
#: Seconds for which the zones of hosts are not asked for again.
ZONES_HOLD = 5.0
#: Servers that fail on a host before it is closed for the rest of the run.
FAILURES = 2
#: Seconds in which placement forgets what has left a host.
FORGET = 60.0
#: What the API says to those whom a policy does not let ask.
FORBIDDEN = 403
#: The type of its record.
LIVE_MIGRATION = "live-migration"
#: Seconds in which a live migration ends that is aborted.
ABORT = 120.0
#: Why a server stays whose live migration was aborted, and what can be chosen.
NOT_CONVERGED = (
    "the live migration did not end within {seconds} s, and the run aborted it: the guest writes its memory faster "
    "than the network carries it. Choose: run the same command again when the guest is quieter; give it more time "
    "({option}); have its owner stop it, and run the same command again: a stopped server is moved cold; or allow "
    "live_migration_permit_auto_converge or live_migration_permit_post_copy in nova.conf of its host"
)
#: Looks in a row that may fail before the run gives up.
BLIND_LOOKS = 60


class AgainError(StepError):
    """What was measured is too old for those that are left: measure anew, and carry on."""

    needs = "measured_hosts"


class ProbeError(AgainError):
    """Before anybody is sent, source hosts are to try whether they reach destinations, and these to compare CPUs."""

    def __init__(self, bundle: Bundle, probes: t.Sequence[reachability.Question]) -> None:
        super().__init__(f"the run first asks {count(len({probe.on for probe in probes}), 'host')} about destinations")
        self.bundle = bundle
        self.probes = tuple(probes)

    @property
    def probe(self) -> t.Dict[str, t.List[Json]]:
        """What is to be tried, by the inventory's name of the host that does it."""
        names = {name: facts.inventory_name for name, facts in by_nova_name(self.bundle).items()}
        wanted: t.Dict[str, t.List[Json]] = {}
        for probe in self.probes:
            wanted.setdefault(names[probe.on], []).append(dataclasses.asdict(probe))
        return wanted


class StayError(StepError):
    """All has ended, and some servers are where they were."""


@dataclasses.dataclass
class MovedServers:
    """How it stands with each server, for the report."""

    moved: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    gone: t.List[str] = dataclasses.field(default_factory=list)
    #: Uuid to name, host and reason.
    stayed: t.Dict[str, t.Tuple[str, t.Optional[str], str]] = dataclasses.field(default_factory=dict)
    findings: t.List[Finding] = dataclasses.field(default_factory=list)
    unchecked: t.List[Unchecked] = dataclasses.field(default_factory=list)
    #: Of those that stayed, the ones for which a finding of another code says why.
    explained: t.Set[str] = dataclasses.field(default_factory=set)
    #: What the last look at all servers came to.
    decision: t.Optional[checks.MoveDecision] = None

    @property
    def checked(self) -> Checked:
        """What that look and the moves since have found."""
        told = [checks.stayed(uuid, *entry) for uuid, entry in self.stayed.items() if uuid not in self.explained]
        found = Checked((*self.findings, *told), tuple(self.unchecked))
        return found if self.decision is None else self.decision.checked + found


@dataclasses.dataclass
class RoundHistory:
    """What the rounds of one run have learnt, kept in the journal until the run ends."""

    #: Host to why nobody else is sent there.
    closed: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Host to how many servers have failed on it.
    failures: t.Dict[str, int] = dataclasses.field(default_factory=dict)
    #: Uuid to the hosts on which it failed, and why.
    tried: t.Dict[str, t.Dict[str, str]] = dataclasses.field(default_factory=dict)
    #: Uuid to the host to which a server was sent that is in ERROR since.
    doubtful: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Uuid to the host of a server in ERROR that was looked at: no failed move explains it.
    settled: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Uuid to name and host of servers that were made ACTIVE again.
    restored: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, memory: Memory, step: str) -> RoundHistory:
        """Take it from the journal's memory of the step."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: dict(value) for key, value in (memory.get(step) or {}).items() if key in known})

    def failed(self, uuid: str, host: str, why: str) -> None:
        """Note that a server failed on a host. The second one closes it."""
        self.tried.setdefault(uuid, {})[host] = why
        self.failures[host] = self.failures.get(host, 0) + 1
        if self.failures[host] >= FAILURES:
            self.closed.setdefault(
                host,
                (
                    f"the moves of {count(self.failures[host], 'server')} to this host failed. The most recent "
                    f"error is: {why}"
                ),
            )


@dataclasses.dataclass(frozen=True)
class MoveContext:
    """What the steps are given. ``collect``: reads the servers of some hosts, all or those of these uuids."""

    request: MigrationRequest
    overrides: t.Sequence[Override]
    collect: t.Callable[[t.Sequence[str], t.Optional[t.Collection[str]]], checks.Evidence]
    outcome: MovedServers
    #: Keeps what a round has learnt.
    keep: t.Callable[[RoundHistory], None] = lambda _past: None
    #: What the source hosts have tried so far; ``able``: whether somebody lets them try what is missing.
    probes: t.Sequence[t.Mapping[str, t.Any]] = ()
    able: bool = False
    #: Whether a person approved the set of servers: nobody else is sent.
    approved: bool = False
    #: When the operation began, in ISO 8601.
    since: t.Optional[str] = None
    #: Asks libvirt of the servers' host for the state of a guest, where the run is on that host.
    state_of: t.Optional[t.Callable[[str], str]] = None


def decide(
    evidence: checks.Evidence,
    context: MoveContext,
    past: RoundHistory,
    ours: t.Container[str] = (),
) -> t.Tuple[checks.MoveDecision, reachability.Reach]:
    """Judge, choose hosts, and return what is known of the ways there. A host that does not answer is closed."""

    def judge() -> t.Tuple[checks.MoveDecision, reachability.Reach]:
        request, probes, able = context.request, context.probes, context.able
        made = checks.preflight(evidence, request, context.overrides, ours, past.tried, past.closed, probes, able)
        found = checks.reached(evidence, made, request, probes, past.failures, able)
        return made, dataclasses.replace(found, missing=(*found.missing, *made.compare))

    decision, reached = judge()
    if reached.closed:
        # What does not answer takes nobody else in this run.
        past.closed.update({host: why for host, why in reached.closed.items() if host not in past.closed})
        decision, reached = judge()
    return decision, reached


@dataclasses.dataclass
class MoveInTransit:
    """One server on its way within its zone. ``candidates``: hosts not tried yet; ``cold``: not to be moved live."""

    uuid: str
    name: str
    candidates: t.List[str]
    source: t.Optional[str] = None
    zone: t.Optional[str] = None
    cold: bool = False
    #: Whether it moves live, as far as is known.
    live: bool = False
    #: Whether it was sent in this round, or has a task since before.
    begun: bool = False
    target: t.Optional[str] = None
    #: Why it must not be sent at all.
    barred: str = ""
    #: Whether its live migration was to be aborted, since it took too long.
    aborted: bool = False
    #: Why it is outside its zone.
    lost: t.Optional[str] = None
    reverting: bool = False
    confirmed: bool = False
    busy: int = 0
    not_before: float = 0.0
    started: float = 0.0
    told: float = 0.0
    reasons: t.List[str] = dataclasses.field(default_factory=list)
    tried: t.Dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def heading(self) -> t.Optional[str]:
        """The host that it goes to, or will."""
        return self.target or (self.candidates[0] if self.candidates else None)


class AssignmentTable:
    """Which host each server is assigned; one that failed on its host is assigned another, by what is left."""

    def __init__(self, evidence: checks.Evidence, decision: checks.MoveDecision, request: MigrationRequest) -> None:
        self.evidence = evidence
        self.decision = decision
        self.request = request
        self.held: t.Dict[str, Assignment] = {
            assignment.uuid: assignment for assignment in decision.assignments.assigned
        }

    def host(self, uuid: str) -> t.List[str]:
        """Return the host that a server is assigned, or nothing."""
        return [self.held[uuid].host] if uuid in self.held else []

    def again(
        self, uuid: str, tried: t.Mapping[str, str], closed: t.Mapping[str, str], cold: bool = False
    ) -> t.Tuple[t.Optional[str], str]:
        """Return another host, or none and why not. ``cold``: it moves cold after all."""
        self.held.pop(uuid, None)
        assignment, why = checks.assign_again(
            self.evidence, self.decision, self.request, uuid, self.held, tried, closed, cold
        )
        if assignment is not None:
            self.held[uuid] = assignment
        return (None if assignment is None else assignment.host), why


class Mover:
    """Moves servers within their zones: so many from one host and to one host, for as long as the measurement holds."""

    def __init__(
        self,
        systems: Systems,
        context: MoveContext,
        table: AssignmentTable,
        past: RoundHistory,
        reached: reachability.Reach,
    ) -> None:
        self.systems = systems
        self.context = context
        self.request = context.request
        self.table = table
        self.past = past
        self.proven = set(reached.proven)
        #: Pairs of which it is known whether the source reaches the destination, or that nothing can tell; None: nobody
        #: tries any.
        self.judged = self.proven | set(reached.unknown) if context.able else None
        self.active: t.List[MoveInTransit] = []
        self.moved: t.Dict[str, str] = {}
        #: Those that have moved, as Nova showed them then.
        self.arrived: t.List[ApiServer] = []
        #: Name of a server that has moved to the codes of what is wrong with its volumes.
        self.wrong: t.Dict[str, t.Set[str]] = {}
        self.gone: t.List[str] = []
        #: Those that are not sent in this round: one is in ERROR, or their source has not tried the destination yet.
        self.postponed: t.List[MoveInTransit] = []
        self.stayed: t.Dict[str, t.Tuple[str, t.Optional[str], str]] = {}
        self.findings: t.List[Finding] = []
        #: Of those that stay, the ones for which a finding of another code says why.
        self.errors: t.Set[str] = set()
        self.until = systems.monotonic() + self.request.measured_for
        self.sent = False
        self.blind = 0
        self.zones: t.Optional[t.Tuple[float, t.Dict[str, t.Optional[str]]]] = None

    def work(self, guests: t.Sequence[MoveInTransit]) -> t.List[MoveInTransit]:
        """Move as many as may begin, and return the others."""
        waiting = list(guests)
        total = len(waiting)
        while self.active or (waiting and self._goes_on()):
            for guest in list(waiting):
                if self._goes_on() and len(self.active) < self.request.parallel and self._has_way(guest):
                    waiting.remove(guest)
                    guest.started = guest.told = self.systems.monotonic()
                    self.active.append(guest)
            self.active = [guest for guest in self.active if not self._look(guest, f"{total - len(waiting)}/{total}")]
            if self.active:
                self.systems.sleep(POLL)
        return waiting

    # --- who may begin

    def _goes_on(self) -> bool:
        """Whether another server may begin. One that fails keeps no other from leaving, unless all must leave."""
        # One in ERROR is examined before anybody else is sent, on hosts that are read once more.
        if self.past.doubtful or (self.request.is_all_or_none and self.stayed):
            return False
        # At least one is sent in each round: otherwise no round would ever be the last.
        return not self.sent or self.systems.monotonic() < self.until

    def _has_way(self, guest: MoveInTransit) -> bool:
        """Whether neither its host nor the one that it goes to has its hands full."""
        out = sum(1 for other in self.active if other.source == guest.source)
        return out < self.request.per_source and self._takes(guest)

    def _takes(self, guest: MoveInTransit) -> bool:
        heading = guest.heading
        if heading is None or heading in self._closed(guest):
            return True
        into = [other for other in self.active if other is not guest and other.heading == heading]
        # One by one, as long as nothing says that they arrive there.
        trusted = guest.cold or not self.past.failures.get(heading)
        trusted = trusted and (not guest.live or (guest.source, heading) in self.proven)
        return len(into) < (self.request.per_destination if trusted else 1)

    # --- one server

    def _look(self, guest: MoveInTransit, number: str) -> bool:
        """Look, and look again where Nova does not answer for a while: what was sent goes on by itself."""
        if self.past.doubtful and not guest.begun:
            self.postponed.append(guest)
            return True
        try:
            ended = self._look_once(guest, number)
        except StepError as error:
            self.blind += 1
            if self.blind > BLIND_LOOKS:
                raise
            if self.blind == 1:
                self.systems.remark(
                    f"{guest.name}: {error}. Nova continues the migration that the run has already requested"
                )
            return False
        self.blind = 0
        return ended or guest in self.postponed

    def _look_once(self, guest: MoveInTransit, number: str) -> bool:
        """Look at one server and do what is next; whether it is finished, well or not."""
        with as_step_error():
            server = server_records.raw_server(self.systems.cloud, guest.uuid)
        if server is None or server["status"] in ("DELETED", "SOFT_DELETED"):
            self.gone.append(guest.name)
            self.systems.remark(f"{guest.name}: deleted by its owner during the run")
            return True
        host = server.get("OS-EXT-SRV-ATTR:host")
        if server.get("OS-EXT-STS:task_state") is not None:
            return self._wait(guest, server)
        if self._is_away(guest, host):
            return self._arrived(guest, server, host or "no host", number)
        if guest.target is not None:
            self._note_failure(guest, server)
        if self._method(guest, server["status"]) is None:
            return self._cannot(guest, server["status"])
        if not self._find_host(guest):
            return self._fail(
                guest, guest.barred or "the run has tried to move the guest to every host, without success"
            )
        if guest.not_before <= self.systems.monotonic():
            self._ask(guest, server)
        return False

    def _is_away(self, guest: MoveInTransit, host: t.Optional[str]) -> bool:
        """Whether it is where it shall be, or its owner has taken it off every host."""
        if self.request.destination is not None:
            return host in (None, self.request.destination)
        return host != guest.source

    def _method(self, guest: MoveInTransit, status: str) -> t.Optional[str]:
        """How a server of this status moves, as it was asked for; None: not at all."""
        found = checks.method_of(status, self.request)
        if found == LIVE and status == "ACTIVE" and guest.cold:
            return COLD
        return found

    def _find_host(self, guest: MoveInTransit) -> bool:
        """Whether there is a host to try: the one that it is assigned, then others by what is left."""
        if guest.lost is not None or guest.barred:
            return False
        guest.candidates = [host for host in guest.candidates if host not in self._closed(guest)]
        if guest.candidates:
            return True
        host, why = self.table.again(guest.uuid, guest.tried, self._closed(guest), guest.cold)
        if host is None and self._falls_back(guest):
            self.systems.remark(
                f"{guest.name}: Nova cannot live-migrate the server. The run uses a cold migration, which stops the "
                "server"
            )
            guest.cold, guest.live, guest.tried = True, False, {}
            host, why = self.table.again(guest.uuid, guest.tried, self._closed(guest), guest.cold)
        if host is None:
            guest.reasons.append(why)
            return False
        guest.candidates.append(host)
        return True

    def _closed(self, guest: MoveInTransit) -> t.Mapping[str, str]:
        # What Nova could not move live says nothing of the hosts' cold migrations.
        return {} if guest.cold else self.past.closed

    def _falls_back(self, guest: MoveInTransit) -> bool:
        wanted = self.request.live and self.request.cold == COLD_FALLBACK
        return wanted and bool(guest.tried) and not guest.cold

    def _cannot(self, guest: MoveInTransit, status: str) -> bool:
        """One that its move left in ERROR is examined first."""
        if guest.uuid in self.past.doubtful:
            self.systems.remark(
                f"{guest.name} is in ERROR. The run starts no move of another server until the run has found out on "
                f"which host the QEMU of {guest.name} runs"
            )
            return True
        return self._fail(guest, f"Nova cannot move a server in state {status}")

    # --- where it arrives

    def _arrived(self, guest: MoveInTransit, server: Json, host: str, number: str) -> bool:
        """Compare its zone before anything else: a stray is never confirmed."""
        if server.get("OS-EXT-SRV-ATTR:host") is None:
            self.gone.append(guest.name)
            self.systems.remark(
                f"{guest.name} is {server['status']} and on no host: the owner changed the server during the run"
            )
            return True
        looked_at = guest.uuid in self.past.doubtful or self.past.settled.get(guest.uuid) == host
        if server["status"] == "ERROR" and guest.begun and not looked_at:
            self.past.doubtful[guest.uuid] = host
            self.context.keep(self.past)
            return self._cannot(guest, "ERROR")
        zone = self._zone(host)
        remedy = remedy_text("SG407", "moved-out-of-zone")
        item = zone_checks.landed(server_records.server_of(server), guest.zone or "(unread)", zone, remedy)
        if item is None:
            if guest.source is not None and server["status"] != "ERROR":
                self.proven.add((guest.source, host))
            return self._ended(guest, server, host, number)
        if guest.lost is None:
            self.findings.append(item)
            guest.lost = f"SG407 landed-outside-zone: the server is on {host} in zone {zone}, not in zone {guest.zone}"
            guest.reasons.append(guest.lost)
            guest.reverting = server["status"] == "VERIFY_RESIZE" and self._revert(guest)
        if guest.reverting and server["status"] == "VERIFY_RESIZE":
            return self._wait(guest, server)
        return self._fail(guest, "the server is on a host outside its zone")

    def _ended(self, guest: MoveInTransit, server: Json, host: str, number: str) -> bool:
        if server["status"] == "VERIFY_RESIZE":
            return self._confirm(guest, server)
        if server["status"] == "ERROR":
            with as_step_error():
                said = instance_actions.why(self.systems.cloud, server)
            return self._fail(guest, f"the server is on {host} but in ERROR: {said}")
        self.moved[guest.uuid] = host
        self.arrived.append(server_records.server_of(server))
        seconds = int(self.systems.monotonic() - guest.started)
        self.systems.remark(f"{number} {guest.name}: {server['status']} on {host} ({seconds} s)")
        return True

    def _zone(self, host: str) -> t.Optional[str]:
        """The zone of a host: hundreds that arrived before are looked at in a row, so that it is asked now and then."""
        now = self.systems.monotonic()
        with as_step_error():
            if self.zones is None or now - self.zones[0] > ZONES_HOLD:
                self.zones = now, compute_services.zones_of_hosts(self.systems.cloud)
            # One that is not among them may be of a cell that does not answer just now: that is an error, no stray.
            known = self.zones[1]
            return known[host] if host in known else compute_services.zone_of_host(self.systems.cloud, host)

    def _confirm(self, guest: MoveInTransit, server: Json) -> bool:
        if guest.confirmed:
            return self._wait(guest, server)
        with as_step_error():
            migration = migration_records.last_migration(self.systems.cloud, guest.uuid) or {}
        if migration.get("migration_type") != "migration":
            return self._fail(guest, "the resize of the server waits for its owner's confirmation")
        guest.confirmed = True
        try:
            server_actions.confirm(self.systems.cloud, guest.uuid)
        except ApiError as error:
            # 409: Nova is at it already (an earlier run asked, or resize_confirm_window).
            if error.data.get("status") != 409:
                raise StepError(f"{guest.name}: {error}") from error
        return self._wait(guest, server)

    def _revert(self, guest: MoveInTransit) -> bool:
        """Have Nova bring it back to where it came from, where this is a migration and not its owner's resize."""
        with as_step_error():
            migration = migration_records.last_migration(self.systems.cloud, guest.uuid) or {}
        if migration.get("migration_type") != "migration":
            return False
        self.systems.remark(f"{guest.name}: {guest.lost}. The run reverts the move")
        try:
            server_actions.revert(self.systems.cloud, guest.uuid)
        except ApiError as error:
            # 409: it is being reverted or confirmed just now; the next look shows.
            if error.data.get("status") not in (400, 409):
                raise StepError(f"{guest.name}: {error}") from error
        return True

    # --- where it is sent

    def _ask(self, guest: MoveInTransit, server: Json) -> None:
        """Ask, unless the host that it was given since has its hands full, or is to be tried from its source first."""
        target, method = guest.candidates[0], self._method(guest, server["status"])
        if method == LIVE and self.judged is not None and (guest.source, target) not in self.judged | self.proven:
            self.postponed.append(guest)
            return
        if not self._takes(guest):
            return
        state = self._not_running(guest, server) if method == LIVE else None
        if state is not None:
            self._hold_back(guest, server, state)
            return
        try:
            if method == LIVE:
                server_actions.live_migrate(self.systems.cloud, guest.uuid, target)
            else:
                server_actions.cold_migrate(self.systems.cloud, guest.uuid, target)
        except ApiError as error:
            if error.data.get("status") == 409 and guest.busy < BUSY_TRIES:
                guest.busy += 1
                return
            guest.candidates.pop(0)
            self._note_refusal(guest, target, str(error))
            return
        guest.candidates.pop(0)
        guest.target = target
        self.sent = guest.begun = True
        self.systems.remark(f"{guest.name}: {method} migration to {target}")

    def _not_running(self, guest: MoveInTransit, server: Json) -> t.Optional[str]:
        """Return the state of a guest that does not run, and would be lost in a live migration; None: it runs.

        libvirt is asked where the run is on the guest's host, and nova-compute at this moment: see
        :mod:`hazards.power_state`. Of a paused guest nova-compute says nothing.
        """
        state = None if self.context.state_of is None else self.context.state_of(guest.uuid)
        if state is not None and state not in power_state.RUNS:
            return state
        if server["status"] != "ACTIVE":
            return None
        try:
            return None if server_records.is_running(self.systems.cloud, guest.uuid) else power_state.OFF
        except ApiError as error:
            # libvirt said so just now; or a policy forbids diagnostics, and a drain goes by what was measured.
            known = state is not None or (error.data.get("status") == FORBIDDEN and not self.request.renames)
            return None if known else f"{power_state.UNREAD} ({error})"

    def _hold_back(self, guest: MoveInTransit, server: Json, state: str) -> None:
        """Wait until Nova shows that the guest is off, as nova-compute says by itself: then it moves cold."""
        now = self.systems.monotonic()
        guest.not_before = now + AGAIN
        if now - guest.started > SYNC:
            guest.candidates.clear()
            guest.barred = (
                f"SG710 server-not-movable: Nova shows the server as {server['status']}, but the state of the guest in "
                f"libvirt is: {state}. Run the playbook audit, and find out where the server has a domain"
            )

    def _note_refusal(self, guest: MoveInTransit, target: str, said: str, last: bool = False) -> None:
        """Note that it is not to be sent there again; its only destination is tried once more (``last``: it is not)."""
        guest.reasons.append(f"{target}: {said}")
        if target == self.request.destination and len(guest.reasons) < TRIES and not last:
            # The scheduler may not know yet that this host is enabled.
            guest.not_before = self.systems.monotonic() + AGAIN
            return
        guest.tried[target] = said
        self.past.tried.setdefault(guest.uuid, {})[target] = said

    def _note_failure(self, guest: MoveInTransit, server: Json) -> None:
        """It was sent and did not arrive: its destination may be why."""
        target, in_error = str(guest.target), server["status"] == "ERROR"
        with as_step_error():
            said = instance_actions.why(self.systems.cloud, server)
        self._note_refusal(guest, target, said, last=in_error)
        self.systems.remark(f"{guest.name} did not move to {target}: {said}")
        guest.target = None
        open_before = target not in self.past.closed
        if target in guest.tried:
            self.past.failed(guest.uuid, target, said)
        if in_error:
            self.past.doubtful[guest.uuid] = target
        if open_before and target in self.past.closed:
            self.systems.remark(f"the run moves no more servers to {target}: {self.past.closed[target]}")
        self.context.keep(self.past)

    # --- while it is under way

    def _wait(self, guest: MoveInTransit, server: Json) -> bool:
        now = self.systems.monotonic()
        if now - guest.started > self.request.timeout and not self._aborts(guest, now):
            task = server.get("OS-EXT-STS:task_state")
            said = (
                f"the server is still {server['status']} ({task}) after {self.request.timeout} "
                f"s{self._mute(guest, server)}"
            )
            return self._fail(guest, said)
        if now - guest.told >= TELL:
            guest.told = now
            with as_step_error():
                far = migration_records.progress(self.systems.cloud, guest.uuid)
            state = far or server.get("OS-EXT-STS:task_state") or server["status"]
            self.systems.remark(f"{guest.name}: {state}, {int(now - guest.started)} s{self._mute(guest, server)}")
        return False

    def _aborts(self, guest: MoveInTransit, now: float) -> bool:
        """Whether a live migration that takes too long is being aborted: asked for once, then waited for."""
        if guest.aborted:
            return now - guest.started <= self.request.timeout + ABORT
        if not self.request.aborts or not guest.live or guest.target is None:
            return False
        guest.aborted = True
        with as_step_error():
            row = migration_records.last_migration(self.systems.cloud, guest.uuid, LIVE_MIGRATION) or {}
        try:
            server_actions.abort_live_migration(self.systems.cloud, guest.uuid, int(row.get("id") or 0))
        except ApiError as error:
            # Of a post-copy there is no way back, and one that has just ended shows at the next look.
            self.systems.remark(f"{guest.name}: Nova does not abort the live migration: {error}")
            return False
        guest.barred = NOT_CONVERGED.format(seconds=self.request.timeout, option=self.request.aborts)
        self.systems.remark(f"{guest.name}: the run aborts the live migration after {self.request.timeout} s")
        return True

    def _mute(self, guest: MoveInTransit, server: Json) -> str:
        """Say whose nova-compute has stopped to report: Nova goes on saying that the move runs, and it never ends."""
        found = ""
        taking_part = {server.get("OS-EXT-SRV-ATTR:host"), guest.target}
        for host in sorted(str(name) for name in taking_part if name):
            try:
                service = compute_services.find_service(self.systems.cloud, host)
            except ApiError:
                # A remark is not worth the run: what decides is read elsewhere.
                continue
            if service is not None and service.state != "up":
                found += (
                    f"; nova-compute of {host} has not reported since {service.updated_at} (UTC): the move can end "
                    "only after this nova-compute runs again"
                )
        return found

    def _fail(self, guest: MoveInTransit, reason: str) -> bool:
        said = "".join(f"; {text}" for text in dict.fromkeys(guest.reasons))
        self.stayed[guest.uuid] = (guest.name, guest.source, f"{reason}{said}")
        self.systems.remark(f"{guest.name}: {reason}{said}")
        return True


class MoveServers:
    """Move every server that was asked for, or all of a host. ``step``: under which its memory is kept."""

    def __init__(self, systems: Systems, context: MoveContext, step: str = "move") -> None:
        self.systems = systems
        self.context = context
        self.step = step

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look where all of them are, choose hosts for those that have not left, and send them."""
        outcome, request = self.context.outcome, self.context.request
        known = {entry["uuid"]: entry for entry in params["servers"]}
        known.update(self._late(params, known))
        past = RoundHistory.of(memory, self.step)
        evidence, decision, reached, errors = self._judged(params, known, past)
        outcome.decision = decision
        here = {server.id: server for server in decision.servers}
        if reached.missing:
            raise ProbeError(evidence.bundle, reached.missing)
        outcome.unchecked = checks.unreached(reached)
        mover = Mover(self.systems, self.context, AssignmentTable(evidence, decision, request), past, reached)
        outcome.findings, outcome.stayed, outcome.explained = mover.findings, mover.stayed, mover.errors
        outcome.findings += [failed_move.restored(uuid, *entry) for uuid, entry in sorted(past.restored.items())]
        self._errors(errors, mover)
        self._stay(decision, mover)
        going = [
            MoveInTransit(
                uuid,
                here[uuid].name if uuid in here else known[uuid]["name"],
                mover.table.host(uuid),
                source=here[uuid].host if uuid in here else known[uuid]["host"],
                zone=decision.zones[uuid] if uuid in here else known[uuid]["zone"],
                live=uuid in here and checks.method_of(here[uuid].status, request) == LIVE,
                begun=uuid not in here or here[uuid].task_state is not None,
                tried=dict(past.tried.get(uuid, {})),
            )
            for uuid in self._order(decision, known)
            if uuid not in mover.stayed
        ]
        # Those that have left already last, lest they use up the time.
        waiting = mover.work([guest for guest in going if guest.uuid in here])
        mover.until = float("inf")
        mover.work([guest for guest in going if guest.uuid not in here])
        outcome.moved.update(mover.moved)
        outcome.gone += [name for name in mover.gone if name not in outcome.gone]
        waiting = [*waiting, *mover.postponed]
        if past.doubtful:
            raise AgainError(
                f"Nova shows ERROR for {count(len(past.doubtful), 'server')} after a move. The run reads the hosts "
                "again to find out where the servers run"
            )
        if waiting and not (request.is_all_or_none and mover.stayed):
            raise AgainError(
                f"the run still has to move {count(len(waiting), 'server')}, so the run measures the hosts again"
            )
        self._volumes(mover)
        # One that has left and is there again is no more expected than a stranger.
        self._nobody_came(params, {*here, *known} - set(mover.moved))
        self._none_hidden(params, mover)
        return self._told(mover, len(waiting))

    def _volumes(self, mover: Mover) -> None:
        """Look whether the volumes of those that have moved are connected where they are, and nowhere else."""
        found = check_moved(self.systems, mover.arrived)
        self.context.outcome.findings += found.findings
        self.context.outcome.unchecked = [*self.context.outcome.unchecked, *found.unchecked]
        for item in found.findings:
            if item.severity != INFO:
                mover.wrong.setdefault(str(item.object.name), set()).add(item.code)
                self.systems.remark(f"{item.object.name}: {item.code} {item.slug}. {item.remedy}")

    def _late(self, params: Params, known: t.Container[str]) -> t.Dict[str, Json]:
        """Return who came to the host after the plan and left it cold, unconfirmed: an earlier run was cut there."""
        if not params["host"] or not self.context.since:
            return {}
        host = str(params["host"])
        names = unconfirmed(self.systems, host, known, self.context.since)
        if not names:
            return {}
        with as_step_error():
            zone = compute_services.zones_of_hosts(self.systems.cloud).get(host)
        return {
            uuid: {"uuid": uuid, "name": name, "host": host, "zone": zone, "status": "SHUTOFF"}
            for uuid, name in names.items()
        }

    def _judged(
        self, params: Params, known: t.Mapping[str, Json], past: RoundHistory
    ) -> t.Tuple[checks.Evidence, checks.MoveDecision, reachability.Reach, t.Dict[str, Finding]]:
        hosts = {entry["host"] for entry in known.values()} | {params["host"], self.context.request.destination}
        with as_step_error():
            evidence = self.context.collect(
                sorted(str(host) for host in hosts if host), None if params["host"] else set(known)
            )
        # One that has left may be on another's host: it is not sent once more.
        found = [
            server
            for server in evidence.zones.servers or []
            if (server.id not in known and not self.context.approved)
            or (server.id in known and server.host == known[server.id]["host"])
        ]
        found, errors = self._examined(evidence, found, known, past)
        evidence = dataclasses.replace(evidence, zones=dataclasses.replace(evidence.zones, servers=found))
        # One with a task is waited for: whoever began it, it ends.
        busy = {server.id for server in found if server.task_state is not None}
        open_before = set(past.closed)
        decision, reached = decide(evidence, self.context, past, busy)
        for host in sorted(set(past.closed) - open_before):
            self.systems.remark(f"the run moves no server to {host}: {past.closed[host]}")
            self.context.keep(past)
        problems = [
            item
            for item in blocking_findings(decision.checked.findings, self.context.overrides)
            if item.object.kind not in ("instance", "migration", "domain")
        ]
        if problems:
            raise StepError(f"the run moves no more servers:\n{findings_text(Checked(tuple(problems)))}")
        # What was examined here counts, not what the hosts alone say.
        kept = [
            item for item in decision.checked.findings if item.code != failed_move.CODE or item.object.id not in errors
        ]
        checked = Checked((*kept, *errors.values()), decision.checked.unchecked)
        return evidence, dataclasses.replace(decision, checked=checked), reached, errors

    # --- those in ERROR

    def _examined(
        self,
        evidence: checks.Evidence,
        found: t.Sequence[ApiServer],
        known: t.Mapping[str, Json],
        past: RoundHistory,
    ) -> t.Tuple[t.List[ApiServer], t.Dict[str, Finding]]:
        """Look where the QEMU of each server runs that a move left in ERROR; make it ACTIVE where that is right."""
        servers = {server.id: server for server in found}
        errors: t.Dict[str, Finding] = {}
        wanted = {uuid for uuid, server in servers.items() if server.status == "ERROR" and uuid in known}
        for uuid in sorted(wanted | set(past.doubtful)):
            with as_step_error():
                server = servers.get(uuid) or server_records.server_as_listed(self.systems.cloud, uuid)
                migration = migration_records.last_migration(self.systems.cloud, uuid) or {}
            past.doubtful.pop(uuid, None)
            if server is None or server.status != "ERROR" or migration.get("status") not in failed_move.FAILED:
                if server is not None and server.status == "ERROR":
                    past.settled[uuid] = str(server.host)
                continue
            where = {str(host) for host in (migration.get("source_compute"), migration.get("dest_compute")) if host}
            was = known[uuid].get("status") if uuid in known else None
            every = [target.host for target in evidence.about.targets or []]
            state = failed_move.examine(evidence.bundle, server, {*where, *past.tried.get(uuid, {})}, was, every)
            why = self._restored(state) if state.is_really_active and self.context.request.restore_state else "not done"
            if why is None:
                past.restored[uuid] = [server.name, str(server.host)]
                if uuid in servers:
                    servers[uuid] = dataclasses.replace(server, status="ACTIVE", vm_state="active")
            else:
                errors[uuid] = failed_move.told(state)
                # Another one may end like it, and stay so.
                for host in sorted(where - {server.host} if server.host in where else where):
                    past.closed.setdefault(host, f"server {server.name} has been in ERROR since its move to this host")
        self.context.keep(past)
        return list(servers.values()), errors

    def _restored(self, state: failed_move.FailedServer) -> t.Optional[str]:
        """Make a server ACTIVE, unless it is no longer as it was read; return why not."""
        server, cloud = state.server, self.systems.cloud
        try:
            now = server_records.server_as_listed(cloud, server.id)
            if now is None or (now.status, now.task_state, now.host) != ("ERROR", None, server.host):
                return "the server has changed since the run examined it"
            server_actions.reset_state(cloud, server.id)
            now = server_records.server_as_listed(cloud, server.id)
        except ApiError as error:
            return str(error)
        if now is None or now.status != "ACTIVE":
            return "Nova did not set the server to ACTIVE"
        self.systems.remark(
            f"{server.name} was in ERROR, but its QEMU runs on {server.host}. The run has set the server to ACTIVE "
            "again"
        )
        return None

    def _errors(self, errors: t.Mapping[str, Finding], mover: Mover) -> None:
        """Those that stay in ERROR; the findings are among what was judged."""
        for uuid, item in errors.items():
            name, host = str(item.object.name), item.object.host
            why = f"SG711 error-after-move. {item.remedy}"
            mover.stayed[uuid] = (name, host, why)
            mover.errors.add(uuid)
            self.systems.remark(f"{name}: {why}")

    @staticmethod
    def _order(decision: checks.MoveDecision, known: t.Mapping[str, Json]) -> t.List[str]:
        """As they were assigned."""
        here = sorted(server.id for server in decision.servers)
        return list(dict.fromkeys([*(guest.uuid for guest in decision.guests), *here, *known]))

    def _stay(self, decision: checks.MoveDecision, mover: Mover) -> None:
        """Those that no host is assigned, or that a finding keeps where they are."""
        by_uuid = {server.id: server for server in decision.servers}
        reasons = {entry.uuid: f"{entry.code}: {checks.why_not(entry)}" for entry in decision.assignments.unassigned}
        reasons.update({uuid: ", ".join(codes) for uuid, codes in decision.barred.items()})
        fallback = self.context.request.live and self.context.request.cold == COLD_FALLBACK
        for uuid, why in reasons.items():
            server = by_uuid[uuid]
            if fallback and uuid not in decision.barred and mover.past.tried.get(uuid):
                # It failed live in an earlier round: cold is left.
                continue
            if server.task_state is None and uuid not in mover.stayed:
                mover.stayed[uuid] = (server.name, server.host, why)
                self.systems.remark(f"{server.name} stays on {server.host}: {why}")

    def _nobody_came(self, params: Params, seen: t.Container[str]) -> None:
        if not params["host"]:
            return
        with as_step_error():
            found = server_records.servers_on(self.systems.cloud, params["host"])
        late = [server.name for server in found if server.id not in seen]
        if late and self.context.approved:
            way = f"To move these servers too, resume without {self.context.request.option('expect_plan')}"
            raise StayError(
                f"the run did not move these servers, which arrived on {params['host']} and are not in the approved "
                f"plan: {', '.join(late)}. {way}",
                problem="not-move-these",
            )
        if late:
            raise AgainError(f"these servers arrived on {params['host']} during the run: {', '.join(late)}")

    def _none_hidden(self, params: Params, mover: Mover) -> None:
        """Ask placement, too: a cell that does not answer lists no server, and no list has soft-deleted ones."""
        if not params["host"]:
            return
        passed = {entry.object for entry in self.context.overrides if entry.code in ("SG709", "SG710")}
        until = self.systems.monotonic() + FORGET
        while True:
            with as_step_error():
                provider = params.get("provider") or getattr(
                    hypervisors.find_node(self.systems.cloud, params["host"]), "id", None
                )
                held = resource_providers.provider_consumers(self.systems.cloud, provider) if provider else None
                there = server_records.servers_on(self.systems.cloud, params["host"])
                deleted = server_records.soft_deleted(self.systems.cloud, params["host"])
            hidden = None if held is None else checks.unlisted(held, there, ())
            hidden = None if hidden is None else [uuid for uuid in hidden if uuid not in passed]
            if hidden == []:
                return
            # nova-compute takes what has left off a little later.
            if self.systems.monotonic() >= until:
                break
            self.systems.sleep(POLL)
        for uuid in hidden or []:
            item = checks.not_listed(uuid, params["host"])
            if uuid in deleted:
                item = checks.soft_deleted(uuid, deleted[uuid], params["host"])
            mover.findings.append(item)
            mover.errors.add(uuid)
            mover.stayed[uuid] = (deleted.get(uuid, uuid), params["host"], f"{item.code} {item.slug}. {item.remedy}")
        if hidden is None:
            raise StepError(
                f"SG709 evidence-missing: placement does not show whether {params['host']} has consumers, so the run "
                "does not know whether the host is empty"
            )

    def _told(self, mover: Mover, waiting: int) -> Done:
        gone = f", {len(mover.gone)} deleted during the run" if mover.gone else ""
        if mover.stayed:
            names = "; ".join(f"{name} on {host}: {why}" for name, host, why in mover.stayed.values())
            others = f". The run did not try to move {count(waiting, 'other server')}" if waiting else ""
            raise StayError(
                f"{count(len(mover.moved), 'server')} moved{gone}, {len(mover.stayed)} not: {names}{others}",
                checked=self.context.outcome.checked,
                problem="moved",
            )
        # A rename by drain takes its servers back anyway, and makes each record anew.
        if mover.wrong and not self.context.request.renames:
            names = "; ".join(f"{name}: {', '.join(sorted(codes))}" for name, codes in sorted(mover.wrong.items()))
            raise StayError(
                f"{count(len(mover.moved), 'server')} moved{gone}, but Cinder does not have all their volumes "
                f"connected to their new hosts, and only there: {names}",
                checked=self.context.outcome.checked,
                problem="moved",
            )
        return Done(f"{count(len(mover.moved), 'server')} moved{gone}", {"moved": mover.moved})

    def undo(self, params: Params) -> None:
        """Servers stay where they are: each move is whole. One that is not is ended: see :func:`settle`."""
        known = {entry["uuid"]: entry for entry in params["servers"]}
        unfinished = [*params["servers"], *self._late(params, known).values()]
        settle(self.systems, [(entry["uuid"], entry["name"], str(entry["host"])) for entry in unfinished], params)


def unconfirmed(
    systems: Systems, host: str, known: t.Container[str], since: t.Optional[str] = None
) -> t.Dict[str, str]:
    """Return servers that left a host cold and wait for a confirmation, but for those that are known: uuid to name.

    They came after the plan, so that the journal does not know them. ``since``: when the operation began, where one of
    somebody else's may have been there before.
    """
    with as_step_error():
        found = migration_records.list_migrations(systems.cloud, "finished", "migration", host, since)
        rows = [
            server_records.raw_server(systems.cloud, row.instance_uuid)
            for row in found
            if row.source_compute == host and row.instance_uuid and row.instance_uuid not in known
        ]
    return {str(row["id"]): str(row["name"]) for row in rows if row and row["status"] == "VERIFY_RESIZE"}


def settle(systems: Systems, guests: t.Iterable[t.Tuple[str, str, str]], params: Params) -> None:
    """End the unfinished moves of guests (uuid, name, the host that each came from), within C(timeout) each.

    What is on its way arrives, and a cold migration that was not confirmed before the run was cut is reverted, which is
    Nova's own way home.
    """
    waiting = {uuid: (name, host) for uuid, name, host in guests}
    asked: t.Set[str] = set()

    def settled() -> t.Optional[str]:
        for uuid in [uuid for uuid, (name, host) in waiting.items() if _is_settled(systems, uuid, name, host, asked)]:
            del waiting[uuid]
        return None if waiting else "all moves have ended"

    def lacking() -> str:
        return f"the moves of these guests have ended: {', '.join(name for name, _host in waiting.values())}"

    systems.wait(lacking, params["timeout"], settled)


def _is_settled(systems: Systems, uuid: str, name: str, host: str, asked: t.Set[str]) -> bool:
    """Whether no move of a guest that came from ``host`` is left unfinished. ``asked``: those that are reverted."""
    with as_step_error():
        server = server_records.raw_server(systems.cloud, uuid)
        if server is None or server["status"] in ("DELETED", "SOFT_DELETED"):
            return True
        if server.get("OS-EXT-STS:task_state") is not None:
            return False
        if server["status"] != "VERIFY_RESIZE":
            return True
        migration = migration_records.last_migration(systems.cloud, uuid) or {}
    if migration.get("migration_type") != "migration" or migration.get("source_compute") != host:
        # Its owner's resize, begun since: his to confirm or to revert.
        return True
    if uuid not in asked:
        systems.remark(f"{name}: the run reverts the unconfirmed cold migration, so the guest returns to {host}")
        try:
            server_actions.revert(systems.cloud, uuid)
        except ApiError as error:
            # 409: an earlier run asked already.
            if error.data.get("status") != 409:
                raise StepError(f"{name}: {error}") from error
        asked.add(uuid)
    return False
