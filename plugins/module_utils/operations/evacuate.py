# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evacuation of one dead host: its whole life, from the first look to the report.

:meth:`Evacuation.advance` takes the answers to what was needed last, does what it can, and returns what is needed next.
Phases follow one another:

    survey   which cluster and pool each host reaches; who opens the images
    judge    every reason against, at once; a refused run has changed nothing; the journal is opened
    fence    the fence acts and is read back: that makes the proof
    death    no sign of life, by what was read after the fence
    guard    a snapshot on every image, verified by id
    round    verify who arrived, remove their guards, send the next wave; again and again
    leave    remove the guards that nobody needs any more; close the journal, or leave it open
    chassis  by option: wait until nothing stands against the removal of the host's chassis from OVN
    remove   the fence was read back for that: remove the chassis, see it gone, close the journal
    abort    the way back

The proof is read again before every look that something rests on. Nothing in here is remembered but in the journal and
in the scratch of this run.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement, planner
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.leaving_guests import unguarded
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import (
    IncomingServer,
    by_nova_name,
    in_transit,
    merge_sent,
)
from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import evacuation as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import clients, storage
from ansible_collections.stackguard.nova.plugins.module_utils.model import (
    blocklists,
    fence_proof,
    findings,
    server_state,
    task_results,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    ApiServer,
    Bundle,
    EvacuationFacts,
    FactsError,
    to_plain,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import Attestation, FenceProof
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences import attested, blocklist
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import POWERING_OFF, of_addresses
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import FenceTarget, ProofError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked, Finding, Subject, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import OURS, same_name
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.operations import (
    evacuation_chassis,
    evacuation_options,
    fences,
    lifecycle,
    needs,
)
from ansible_collections.stackguard.nova.plugins.module_utils.operations import evacuation_readers as disk_readers
from ansible_collections.stackguard.nova.plugins.module_utils.operations import evacuation_record as records
from ansible_collections.stackguard.nova.plugins.module_utils.operations import evacuation_round as rounds
from ansible_collections.stackguard.nova.plugins.module_utils.operations.approved_plan import (
    REQUEST,
    SHA256,
    Approver,
)
from ansible_collections.stackguard.nova.plugins.module_utils.operations.evacuation_chassis import (
    ChassisOutcome,
    ChassisRemoval,
    Objection,
)
from ansible_collections.stackguard.nova.plugins.module_utils.operations.evacuation_readers import Home
from ansible_collections.stackguard.nova.plugins.module_utils.operations.evacuation_record import (
    DiskImage,
    PlannedServer,
)
from ansible_collections.stackguard.nova.plugins.module_utils.operations.evacuation_scratch import CallResult, Scratch
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Book, Refused, Run, Stopped
from ansible_collections.stackguard.nova.plugins.module_utils.plans import evacuation as plans
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.module_utils.steps.evacuation import ARRIVED, SKEW, Evacuator
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    compute_services,
    instance_actions,
    server_records,
)

Json = t.Dict[str, t.Any]
Answers = t.Sequence[t.Mapping[str, t.Any]]

FENCE, HOLD, GUARD, EVACUATE, UNGUARD = "fence", "hold_down", "guard", "evacuate", "unguard"
#: A step only where the operator asks for it; and the chassis that is about to be removed, in the journal's memory.
REMOVE, CHASSIS = "remove_chassis", "chassis"
#: Every step of the plan, and the method of :class:`Evacuation` that carries it out. A test holds them together.
STEPS = {FENCE: "_fence", HOLD: "_hold", GUARD: "_guard", EVACUATE: "_round", UNGUARD: "_leave", REMOVE: "_remove"}
#: Phases after the rounds: what ends a run there leaves the journal open.
LAST = ("leave", "chassis", "remove", "abort", "aborting")

#: Seconds between two looks at a host that is not dead yet.
LOOK = 10.0
#: The least seconds for which a measurement is good: a round that measures and may not use it would never end.
MEASURED_LEAST = 60.0
#: Seconds from the begin of a round in which that counts.
FIRST = 30.0
#: How often guards are asked for anew where a pool was not as it had been read: an owner deleted a server meanwhile.
REGUARDS = 2


class Evacuation:
    """One call of the operation."""

    def __init__(self, run: Run, connection: t.Any, directory: str, operation_id: t.Callable[[], str]) -> None:
        self.run = run
        self.options = dict(run.options)
        self.host = str(run.options["evacuate_host"])
        self.connection = connection
        self.directory = directory
        self.new_id = operation_id
        self.scratch = Scratch()
        self.answers: Answers = ()
        self._book: t.Optional[Book] = None
        self._looked: t.Optional[t.Tuple[Bundle, EvacuationFacts]] = None
        #: Who had been sent before the round that is at work.
        self._sent_before: t.Optional[t.Set[str]] = None
        #: Addresses of the machine on which this runs, which are never the dead host's.
        self.controllers: t.Sequence[str] = ()
        self.approver = Approver.of(run)

    # --- one call

    def begin(self) -> CallResult:
        """Find what is open and who is on the host. Raises Refused, StackguardError: nothing was changed."""
        journal = self._open_journal()
        action = self.options["action"]
        if action == lifecycle.STATUS:
            return self._status(journal)
        if action != lifecycle.ABORT:
            self.approver.begin()
            if journal is not None:
                self.approver.resume(journal, self._asked)
        if journal is None and action != lifecycle.APPLY:
            if action == lifecycle.RESUME:
                raise lifecycle.nothing_to_resume(self.run, self._what)
            return self._end("none", lifecycle.nothing_open(self._what, action), over=True)
        servers = server_records.servers_on(self.connection, self.host)
        planned = [] if journal is None else records.servers_of(journal)
        self.scratch.uuids = sorted({server.id for server in servers} | {entry.uuid for entry in planned})
        self.scratch.volumes = sorted({volume for server in servers for volume in server.volumes or []})
        if journal is not None:
            self.scratch.kind, self.scratch.operation_id = str(journal["kind"]), str(journal["operation_id"])
            self.scratch.plan_sha256 = journal["about"].get(SHA256)
        return self._need([needs.read_hosts(self.scratch.uuids)])

    def advance(self, scratch: Scratch, answers: Answers) -> CallResult:
        """Take the answers and go on. Raises StackguardError only where the report can not be made either."""
        self.scratch, self.answers = scratch, answers
        try:
            return t.cast("CallResult", getattr(self, f"_{scratch.phase}")())
        except Refused as refused:
            return self._end("refused", refused.message, over=True)
        except Stopped as stopped:
            return self._stop(stopped.message, stopped.checked)
        except (StackguardError, FactsError, journals.JournalError, findings.OverrideError) as error:
            return self._stop(str(error))

    def leave(self, scratch: Scratch, answers: Answers, failure: str) -> CallResult:
        """End a run that something outside has ended: a task failed, a host of the role does not answer."""
        self.scratch, self.answers = scratch, answers
        if scratch.over:
            return self._ended()
        if scratch.phase in LAST:
            return self._left_open(failure or "the run was interrupted")
        return self._stop(failure or "the run was interrupted")

    # --- what is open

    @property
    def _asked(self) -> Json:
        return evacuation_options.asked(self.options, self.run.overrides)

    @property
    def _what(self) -> str:
        return f"evacuation of {self.host}"

    def _open_journal(self) -> t.Optional[Json]:
        found = [entry for entry in lifecycle.open_journals(self.run) if records.is_of(entry, self.host)]
        if len(found) > 1:
            ids = ", ".join(str(entry["operation_id"]) for entry in found)
            raise Refused(f"SG706 operation-open: more than one evacuation of {self.host} is open: {ids}")
        return found[0] if found else None

    def _status(self, journal: t.Optional[Json]) -> CallResult:
        if journal is None:
            return self._end("none", lifecycle.nothing_open(self._what), over=True)
        memory = journal.get("memory") or {}
        proof = memory.get("proof") or {}
        moving_ = [f"{entry.name} -> {entry.target}" for entry in records.in_transit(journal)]
        more = [
            (
                f"fence: {journal['about'].get('fence')}, most recent proof that the host is fenced: "
                f"{proof.get('read', 'none')} ({proof.get('at', '-')})"
            ),
            f"servers: {len(journal['about']['servers'])}, arrived: {len(memory.get('arrived') or [])}",
            f"in transit: {', '.join(moving_) or 'none'}",
            f"guarded: {len(records.guarded(journal))} servers; on a blocklist: {records.blocklisted(journal)}",
            f"resume: {self.run.variable('action')}=resume; abort: {self.run.variable('action')}=abort",
        ]
        self.scratch.operation_id = str(journal["operation_id"])
        self.scratch.ended_well = True
        return self._end(str(journal["state"]), lifecycle.status_text(journal, more), over=True)

    @property
    def book(self) -> Book:
        """The open journal. Raises StackguardError where it is not open any more, or another run has it."""
        if self._book is None:
            self._book = Book.held(self.run, self._open_journal(), self.scratch.operation_id)
        return self._book

    @property
    def opened(self) -> bool:
        """Whether this run has an operation of its own: opened, or taken up."""
        return self.scratch.owned

    def _own(self, book: Book, before: t.Optional[Json] = None) -> None:
        """Take an operation: opened now, or taken over: the temporary directory of the run before (``before``) goes."""
        self._book = book
        if before is not None:
            evidence.remove_stale(before, self.directory)
        self.scratch.kind, self.scratch.operation_id = str(book.journal["kind"]), book.operation_id
        self.scratch.owned, self.scratch.changed = True, True
        self.scratch.names = {entry.uuid: entry.name for entry in records.servers_of(book.journal)}

    # --- reading

    def _collect(self, parts: t.Sequence[str] = rounds.PARTS) -> t.Tuple[Bundle, EvacuationFacts]:
        if self._looked is None:
            planned = records.servers_of(self.book.journal) if self.opened else []
            known = evidence.load_about(self.directory) if self.opened else None
            self._looked = rounds.collect(self.connection, self.host, self.directory, planned, parts, known)
            bundle, about = self._looked
            evidence.save_part(self.directory, evidence.ABOUT, about)
            self.scratch.collected_at, self.scratch.hosts = bundle.collected_at, len(bundle.hosts)
            for server in (bundle.cloud.servers if bundle.cloud else None) or []:
                self.scratch.status[server.id] = server.status
        return self._looked

    def _bundle(self) -> Bundle:
        return evidence.load_dir(self.directory)

    @property
    def source(self) -> t.Optional[str]:
        """The dead host's name in the inventory."""
        name = self.options["inventory_name"]
        return str(name) if name else None

    def _readers(self) -> t.Dict[Home, t.List[str]]:
        """Return, by cluster and pool, the inventory hosts that reach it, in the order in which they are asked."""
        return disk_readers.by_home(self._bundle(), self.host, self.source, self.options["ceph_host"])

    def _survey(self) -> CallResult:
        """Choose who opens the images: one host for each cluster and pool that has any."""
        wanted = self._wanted_homes()
        chosen = {disk_readers.key(home): names[:1] for home, names in self._readers().items() if home in wanted}
        self.scratch.readers = chosen
        self.scratch.phase = "abort" if self.options["action"] == lifecycle.ABORT else "judge"
        if not chosen:
            return self.advance(self.scratch, ())
        return self._need([self._reading(disk_readers.current(chosen))])

    def _wanted_homes(self) -> t.Set[Home]:
        bundle = self._bundle()
        homes = {
            (place.fsid, place.pool)
            for places in clients.seen(bundle, set(self.scratch.uuids)).values()
            for place in places
            if place.fsid is not None
        }
        # Without any image, volumes may still be seen; and an aborted operation has something on a blocklist.
        return homes or set(self._readers())

    def _reading(self, only: t.Optional[t.Sequence[str]] = None) -> Json:
        """Return the reading of all hosts that matter, or of some readers ``only``."""
        readers = disk_readers.current(self.scratch.readers)
        near = sorted({*self.scratch.near, *readers}) if self.scratch.near else None
        volumes = disk_readers.for_volumes(self.scratch.readers, self.scratch.volumes_by_all)
        if only is None:
            return needs.read_hosts(self.scratch.uuids, readers, near, self.scratch.volumes, volumes)
        asked = [name for name in volumes if name in only]
        return needs.read_hosts(self.scratch.uuids, only, only, self.scratch.volumes, asked)

    def _near(self, bundle: Bundle, about: EvacuationFacts, zones: t.Sequence[t.Optional[str]]) -> t.List[str]:
        """Return the hosts that rounds read: the source, and those that answered and are in a zone of the servers."""
        if None in zones:
            return []
        zone_of = {target.host: target.zone for target in about.targets or []}
        names = {
            facts.inventory_name
            for name, facts in by_nova_name(bundle).items()
            if zone_of.get(name) is None or zone_of[name] in zones
        }
        return sorted({*names, *([self.source] if self.source else [])})

    def _another_reader(self) -> t.Optional[CallResult]:
        """Ask the next host where one that was to open disks did not; None: all did, or no other is left.

        Nobody else is asked again: what the others read is of the same look, and nothing is sent when its proof, or the
        measurement of the destination, has expired.
        """
        bundle, asked = self._bundle(), self.scratch.readers
        following = disk_readers.successors(bundle, self._readers(), asked)
        for home, name in following.items():
            asked[home].append(name)
        if following:
            return self._need([self._reading(sorted(set(following.values())))])
        others = disk_readers.share_volumes(bundle, asked, self.scratch.volumes_by_all) if self.scratch.volumes else []
        return self._need([self._reading(others)]) if others else None

    def _reader(self, home: Home) -> t.Optional[str]:
        """Return who works in a cluster and pool; None: no host reaches it now."""
        asked = self.scratch.readers.get(disk_readers.key(home)) or []
        reach = self._readers().get(home, [])
        order = [*(name for name in reversed(asked) if name in reach), *reach]
        return next((name for name in order if name not in self.scratch.bad), None) or next(iter(order), None)

    # --- judge

    def _judge(self) -> CallResult:
        other = self._another_reader()
        if other is not None:
            return other
        journal = self._open_journal()
        if journal is not None:
            return self._resume(journal)
        if self.options["action"] == lifecycle.RESUME:
            raise lifecycle.nothing_to_resume(self.run, self._what)
        bundle, about = self._collect()
        servers = placement.guests_of(bundle.cloud, self.host) if bundle.cloud else None
        request = self._request(self.new_id(), servers or [])
        decision = self._preflight(bundle, about, request)
        self.scratch.before = records.plain_checked(decision.checked)
        self.scratch.placements = planner.explained(decision.assignments, decision.destinations)
        refusing = checks.refusing(decision.checked, self.run.overrides, request.partial, decision.guests)
        if refusing:
            told = terminal.findings_text(decision.checked, storage.honoured(decision.checked, self.run.overrides))
            raise Refused(f"refused, nothing was changed: {len(refusing)} reasons\n{told}")
        if not decision.guests:
            empty = Plan(records.KIND, request.operation_id, self.host, [])
            self.scratch.plan_sha256 = self.approver.nothing(empty, {**self._asked, "servers": []})
            self._look_at_chassis(evacuation_chassis.without_evacuation(self.options))
            return self._end("clear", f"{self.host} has no servers, so there is nothing to evacuate", over=True)
        return self._planned(bundle, about, request, decision)

    def _request(
        self, operation_id: str, servers: t.Optional[t.Sequence[t.Any]], fence: t.Optional[fence_proof.Fence] = None
    ) -> EvacuationRequest:
        """Return the request. ``servers``: those on the host, of which some may be chosen; None: all of the journal."""
        closed = [str(entry["operation_id"]) for entry in self._closed()]
        chosen = {} if servers is not None else {"servers": None, "order": None}
        options = {**self.options, **chosen, "closed": closed}
        request = evacuation_options.request_of(options, operation_id, servers or [], fence)
        return dataclasses.replace(
            request,
            fence_kind=self.options["fence"],
            now=self.run.clock.now(),
            proof_max_age=float(self.options["proof_max_age"]),
        )

    def _closed(self) -> t.List[Json]:
        return [entry for entry in lifecycle.closed_journals(self.run, records.KIND) if records.is_of(entry, self.host)]

    def _preflight(
        self, bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer] = ()
    ) -> checks.EvacuationDecision:
        others = merge_sent(sent, self._others(about))
        elsewhere = self._elsewhere(bundle)
        overrides, fence = self.run.overrides, self.options["fence"]
        return checks.preflight(bundle, about, request, overrides, fence, others, elsewhere=elsewhere)

    def _elsewhere(self, bundle: Bundle) -> clients.EvidenceElsewhere:
        """Return addresses that this reading does not show: of the controller, and those proven earlier.

        Earlier is this outage only: the open operation, and one that has ended and holds the host still. An address of
        an older one may have a new owner.
        """
        found = [entry for entry in lifecycle.open_journals(self.run) if records.is_of(entry, self.host)]
        ended = self._same_outage(bundle, found)
        earlier = [pair for journal in [*ended, *found] for pair in records.proven_addresses(journal)]
        return clients.EvidenceElsewhere(
            tuple(dict.fromkeys(earlier)), tuple(self.controllers), tuple(self.options["never_blocklist"])
        )

    def _same_outage(self, bundle: Bundle, opened: t.Iterable[Json]) -> t.List[t.Mapping[str, t.Any]]:
        """Return the operations that have ended and whose fence may still be needed."""
        services = (bundle.cloud.services if bundle.cloud else None) or []
        holds = {service.disabled_reason for service in services if same_name(service.host, self.host)}
        holds |= {(entry["about"].get("service") or {}).get("reason") for entry in opened}
        return records.same_outage(self._closed(), holds, checks.reason_of)

    def _others(self, about: EvacuationFacts) -> t.List[IncomingServer]:
        """Return what other operations have in transit, by their journals, and all else by Nova's own records."""
        noted = []
        for journal in lifecycle.open_journals(self.run):
            if str(journal["operation_id"]) == self.scratch.operation_id:
                continue
            noted += [records.incoming(entry) for entry in journals.in_transit(journal) if entry.get("target")]
        mine = set(self.scratch.uuids)
        return merge_sent(noted, [entry for entry in in_transit(about) if entry.uuid not in mine])

    def _planned(
        self, bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, decision: checks.EvacuationDecision
    ) -> CallResult:
        homes = storage.homes(bundle, decision.guests)
        servers = self._servers(bundle, about, decision, homes)
        listed = decision.addresses.by_cluster if decision.addresses else {}
        lists = of_addresses(self.options["fence"]) or self.options["also_blocklist"]
        addresses = listed if lists else {}
        reason = checks.reason_of(request.operation_id)
        images = {entry.uuid: list(entry.images) for entry in servers}
        fence = str(self.options["fence"])
        plan = plans.plan(request, fence, decision.assignments, images, reason, addresses)
        self.run.say(terminal.plan_text(plan))
        if decision.checked.findings or decision.checked.unchecked:
            self.run.say(terminal.findings_text(decision.checked, self.run.overrides))
        bare = unguarded(decision.guests)
        if bare:
            self.run.say(
                f"these servers have no image in Nova's pool, so they need no guard snapshot: {', '.join(bare)}"
            )
        assigned = {assignment.uuid for assignment in decision.assignments.assigned} - set(decision.barred)
        said = f"{len(assigned)} of {len(decision.guests)} servers of {self.host} can be evacuated"
        self.scratch.plan_sha256 = self.approver.approve(
            plan, {**self._asked, "servers": sorted(guest.uuid for guest in decision.guests)}
        )
        self.scratch.plan, self.scratch.diff = t.cast("Json", to_plain(plan)), terminal.plan_diff(plan)
        self.scratch.operation_id = request.operation_id
        if self.run.check_mode:
            self.run.say(self.approver.hint(str(self.scratch.plan_sha256)))
            self.scratch.changed = bool(assigned)
            return self._end("planned", said, over=True)
        about_ = {
            "host": self.host,
            "inventory_name": self.source,
            "fence": fence,
            SHA256: self.scratch.plan_sha256,
            REQUEST: self._asked,
            "addresses": {fsid: dict(found) for fsid, found in addresses.items()},
            "proven": to_plain(dict(decision.addresses.proven)) if decision.addresses else {},
            "blocklisted": {},
            "order": [guest.uuid for guest in decision.guests],
            "servers": records.plain(servers),
            "overrides": to_plain(list(self.run.overrides)),
        }
        self._own(Book.open(self.run, plan, about_))
        self.scratch.near = self._near(bundle, about, [guest.zone for guest in decision.guests])
        self.run.say(said)
        return self._to_fence(act=True)

    def _servers(
        self, bundle: Bundle, about: EvacuationFacts, decision: checks.EvacuationDecision, homes: t.Mapping[str, t.Any]
    ) -> t.List[PlannedServer]:
        earlier = records.powers_before(self._closed(), self.host)
        servers = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
        seen = clients.seen(bundle, {guest.uuid for guest in decision.guests})
        images: t.Dict[str, t.Dict[str, DiskImage]] = {}
        for name, (fsid, pool) in homes.items():
            place = next(entry for entry in seen[name] if (entry.fsid, entry.pool) == (fsid, pool))
            if place.image.id is not None:
                images.setdefault(name.partition("_")[0], {})[name] = DiskImage(place.image.id, fsid, pool)
        return [
            PlannedServer(
                guest.uuid,
                guest.name,
                guest.status,
                images.get(guest.uuid, {}),
                (about.numa or {}).get(guest.uuid),
                self._power(servers.get(guest.uuid), earlier.get(guest.uuid)),
            )
            for guest in decision.guests
        ]

    def _power(self, server: t.Optional[ApiServer], earlier: t.Optional[str]) -> t.Optional[str]:
        """Return how a server ran before the host died. In ERROR the journal of an earlier evacuation knows best."""
        if server is None or (server.status == "ERROR" and earlier is not None):
            return earlier
        known = server_state.power_before(server)
        if known is not None:
            return known
        try:
            return server_state.power_before(server, instance_actions.list_actions(self.connection, server.id))
        except ApiError:
            # Not known: either state is accepted afterwards, and the report says what it was.
            return None

    # --- resume

    def _resume(self, journal: Json) -> CallResult:
        if lifecycle.goes_back(journal):
            raise Refused(
                f"SG706 operation-open: an abort of operation {journal['operation_id']} is in progress. Finish the "
                f"abort with {self.run.variable('action')}=abort"
            )
        self._same_servers(journal)
        if self.run.check_mode:
            self.scratch.operation_id, self.scratch.changed = str(journal["operation_id"]), True
            return self._end(
                "resumed",
                f"operation {journal['operation_id']} is open: the run would resume this operation\n"
                + lifecycle.status_text(journal),
                over=True,
            )
        fence = str(self.options["fence"])
        bundle, about = self._collect()
        act = records.fenced_by(journal) != fence or bool(self.options["refence"])
        addresses = self._judged_again(bundle, about, journal, act)
        said = f"operation {journal['operation_id']}: resuming the evacuation of {self.host}"
        book = Book.take_up(self.run, journal, said)
        self._own(book, journal)
        self.scratch.resumed = True
        self.scratch.arrived = list(book.memory.get("landed") or [])
        self.run.say(said)
        servers = self._completed(bundle, records.servers_of(journal))
        # Of version 0.1: what was listed is listed by its fsid as soon as that is read back.
        book.tell(
            fence=fence,
            addresses={fsid: dict(found) for fsid, found in addresses.items()} or records.addresses_of(journal),
            blocklisted={fsid: found for fsid, found in records.blocklisted(journal).items() if fsid},
            servers=records.plain(servers),
        )
        tried = {
            uuid: {host: why for host, why in hosts.items() if host != rounds.STUCK}
            for uuid, hosts in records.tried(journal).items()
        }
        book.remember(tried=tried, intended=[], in_transit=[to_plain(entry) for entry in records.in_transit(journal)])
        return self._to_fence(act=act and not self.scratch.none_left)

    def _same_servers(self, journal: Json) -> None:
        """An option that would be ignored is refused: which servers leave was decided when the operation began."""
        given = self.options["servers"]
        if given in (None, "", []):
            return
        known = {entry.uuid: entry.name for entry in records.servers_of(journal)}
        here = server_records.servers_on(self.connection, self.host)
        staying = {uuid for uuid in known if any(server.id == uuid for server in here)}
        words = list(given) if isinstance(given, (list, tuple)) else None
        if words is None:
            same = set(evacuation_options.chosen_servers(given, here) or []) == staying
        else:
            # Those that have left are named, too, where the same command is given again.
            named = {uuid for uuid, name in known.items() if {uuid, name} & set(map(str, words))}
            unknown = set(map(str, words)) - set(known) - set(known.values())
            same = not unknown and staying <= named
        if not same:
            raise Refused(
                f"SG706 operation-open: operation {journal['operation_id']} evacuates "
                f"{', '.join(sorted(known.values()))}: to resume this operation, do not set "
                f"{self.run.variable('servers')}. To end this operation, use {self.run.variable('action')}=abort"
            )

    def _judged_again(self, bundle: Bundle, about: EvacuationFacts, journal: Json, act: bool) -> t.Mapping[str, t.Any]:
        """Judge the fence from scratch: it may be another one than before, and the host may be back. Raises Refused.

        Return the addresses, by cluster, that Ceph is to refuse. A fence that acts is judged as the first one was. One
        that is only read back proves itself, whoever runs there; so do blocklist entries that keep guests from writing.
        """
        if bundle.cloud is None or bundle.cloud.servers is None:
            raise Refused(f"the run could not read which servers are on {self.host}. Run the same command again")
        here = {server.id for server in bundle.cloud.servers}
        planned = tuple(entry.uuid for entry in records.servers_of(journal) if entry.uuid in here)
        if not planned:
            self.scratch.none_left = True
            return records.addresses_of(journal)
        lists = of_addresses(self.options["fence"])
        request = dataclasses.replace(self._request(str(journal["operation_id"]), None), servers=planned, partial=True)
        decision = self._preflight(bundle, about, request)
        proof = (journal.get("memory") or {}).get("proof") or {}
        held = not act or of_addresses(proof.get("kind"))
        problems = [
            item
            for item in decision.checked.findings
            if item.severity == findings.BLOCKER and _is_of_all(item, planned) and _counts(item, act, lists, held)
        ]
        if findings.standing(problems, storage.honoured(Checked(tuple(problems)), self.run.overrides)):
            checked = Checked(tuple(problems))
            self.scratch.before = records.plain_checked(checked)
            raise Refused(
                f"refused, nothing was changed: operation {journal['operation_id']} stays open\n"
                + terminal.findings_text(checked, self.run.overrides)
            )
        found = decision.addresses.by_cluster if decision.addresses else {}
        return found if lists or self.options["also_blocklist"] else {}

    def _completed(self, bundle: Bundle, servers: t.Sequence[PlannedServer]) -> t.List[PlannedServer]:
        """Return servers with the cluster and pool of each image: journals of version 0.1 have none."""
        seen = clients.seen(bundle, {entry.uuid for entry in servers})
        homes = list(self._readers())

        def complete(uuid: str, name: str, image: DiskImage) -> DiskImage:
            places = [place for place in seen.get(name, []) if place.image.id == image.id]
            if image.fsid is None and name not in seen and len(homes) == 1 and self._is_gone(uuid):
                # Deleted with its server: there is only one pool in which it can have been.
                return DiskImage(image.id, *homes[0])
            if image.fsid is not None or len(places) != 1:
                return image
            return DiskImage(image.id, places[0].fsid, places[0].pool)

        return [
            dataclasses.replace(
                entry, images={name: complete(entry.uuid, name, image) for name, image in entry.images.items()}
            )
            for entry in servers
        ]

    def _is_gone(self, uuid: str) -> bool:
        return server_records.raw_server(self.connection, uuid) is None

    # --- fence

    def _to_fence(self, act: bool) -> CallResult:
        self.scratch.act = act
        self.scratch.phase = "fence"
        if self.options["fence"] == attested.FENCE.name:
            return self.advance(self.scratch, ())
        if act or self.book.state_of(FENCE) != journals.DONE:
            self.book.tell(fenced_by=None)
            self.book.mark(FENCE, journals.APPLYING)
        if act and self._clusters():
            # Noted before it is done: whatever is listed from now on is to be lifted again.
            self._note_listed()
        return self._need(self._fence_needs(act))

    def _fence_needs(self, act: bool, extra: bool = True) -> t.List[Json]:
        """Return what the fence needs; the extra line of defence, too."""
        kind = str(self.options["fence"])
        try:
            found = fences.needs_of(kind, self._target(), act)
        except ProofError as error:
            raise self._not_fenced(str(error)) from error
        if extra and act and self.options["also_blocklist"] and not of_addresses(kind):
            clusters = self._clusters()
            if clusters:
                found = [*found, needs.fence(blocklist.FENCE.name, True, clusters, extra=True)]
            else:
                self._warn(
                    "the run knows no Ceph client address of the host, so the run adds no entry to the OSD blocklist"
                )
        return found

    def _target(self) -> FenceTarget:
        clusters = tuple(self._clusters()) if of_addresses(self.options["fence"]) else ()
        return FenceTarget(self.host, self.scratch.operation_id, self.options, clusters)

    def _clusters(self) -> t.List[Json]:
        """Return each cluster with the addresses that it is to refuse. Raises Stopped where no host reaches one."""
        found = []
        for fsid, addresses in sorted(records.addresses_of(self.book.journal).items()):
            homes = [home for home in self._readers() if home[0] == fsid]
            reader = next((self._reader(home) for home in homes if self._reader(home)), None)
            if reader is None:
                raise self._not_fenced(
                    f"no host reaches Ceph cluster {fsid}: set evacuate_ceph_host to a host that reaches this cluster"
                )
            pool = next(home[1] for home in homes if self._reader(home) == reader)
            found.append(
                {
                    "fsid": fsid,
                    "pool": pool,
                    "reader": reader,
                    "addresses": sorted(addresses),
                    "infrastructure": sorted(self.options["ceph_infrastructure"]),
                    "never": self._never(),
                    "host_addresses": records.of_host(addresses),
                }
            )
        return found

    def _never(self) -> t.List[str]:
        """Return addresses that are never the dead host's. They say nothing of the cluster's own daemons."""
        return sorted({*self.options["never_blocklist"], *self.controllers})

    def _note_listed(self) -> None:
        if not of_addresses(self.options["fence"]) and not self.options["also_blocklist"]:
            return
        noted = records.blocklisted(self.book.journal)
        asked = {str(cluster["fsid"]): list(cluster["addresses"]) for cluster in self._clusters()}
        before = {
            fsid: [address for address in found if self._is_listed(fsid, address)]
            for fsid, found in records.without(asked, noted).items()
        }
        kept = records.together([self.book.about.get("listed_before") or {}, before])
        listed = records.together([noted, asked])
        self.book.tell(blocklisted={fsid: found for fsid, found in listed.items() if fsid}, listed_before=kept)

    def _is_listed(self, fsid: str, address: str) -> bool:
        """Whether a blocklist that was read had an address before this operation listed it."""
        read = [host.rbd for host in self._bundle().hosts.values() if host.rbd is not None and host.rbd.fsid == fsid]
        return any(blocklists.covers(entry, address) for rbd in read for entry in rbd.blocklist or [])

    def _not_fenced(self, why: str) -> Stopped:
        evidence_ = {"fence": self.options["fence"], "read": why}
        remedy = (
            f"Repair the fence, or choose another fence ({self.run.variable('fence')}). Then run the same command "
            f"again. To end the operation, use {self.run.variable('action')}=abort."
        )
        if self.scratch.none_left:
            remedy = (
                f"No server is left on {self.host}, so the run only verified the fence. End the operation with "
                f"{self.run.variable('action')}=abort."
            )
        elif not self.scratch.act:
            remedy = (
                "Find out why the host is no longer fenced. To fence the host again, use "
                f"{self.run.variable('refence')}=true. To end the operation, use {self.run.variable('action')}=abort."
            )
        item = finding("SG506", Subject("host", self.host), evidence_, remedy)
        return Stopped(f"{self.host} is not fenced: {why}", Checked((item,)))

    def _proven(self) -> fence_proof.Fence:
        """Make the proof from the answers; an attestation from the override. Raises Stopped where there is none."""
        kind = str(self.options["fence"])
        if kind == attested.FENCE.name:
            return self._attestation()
        read = [answer for answer in needs.answers_of(self.answers, needs.FENCE) if not answer.get("extra")]
        if not read and self.scratch.proven and self.scratch.proof is not None:
            # Hosts were read once more since; how old the proof is decides where something is sent.
            return fence_proof.kept(self.scratch.proof)
        try:
            if not read:
                raise ProofError("the fence was not read back")
            proof = fence_proof.prove(kind, self._target(), read, _read_at(read))
        except ProofError as error:
            raise self._not_fenced(str(error)) from error
        self.scratch.proof, self.scratch.proven = t.cast("Json", to_plain(proof)), True
        return proof

    def _attestation(self) -> Attestation:
        words = [
            entry.reason
            for entry in self.run.overrides
            if entry.code == "SG506" and entry.object.casefold() == self.host.casefold()
        ]
        try:
            return Attestation(self.host, str(self.options["attested_by"] or ""), words[0] if words else "")
        except ProofError as error:
            raise self._not_fenced(
                f"{error}: evacuate_fence=attested needs {self.run.variable('attested_by')} and an entry of "
                f"stackguard_overrides: {{code: SG506, object: {self.host}, reason: how you know that the host is "
                "dead}}"
            ) from error

    def _stored_fence(self) -> t.Optional[fence_proof.Fence]:
        """Return the proof of this very run; of an earlier run it counts as none."""
        if self.options["fence"] == attested.FENCE.name:
            return self._attestation()
        return None if self.scratch.proof is None else fence_proof.kept(self.scratch.proof)

    def _fence(self) -> CallResult:
        """The fence has acted and was read back: keep the proof, tell Nova, and look whether the host is dead."""
        fence = self._proven()
        self._extra_fence()
        if isinstance(fence, FenceProof):
            self.book.remember(write=False, proof=to_plain(fence))
            self.run.say(f"{self.host} is fenced: {fence.read}")
        else:
            self.book.tell(attested={"by": fence.person, "reason": fence.reason, "at": self.run.clock.now()})
            self.run.say(f"{fence.person} attests that {self.host} is dead: {fence.reason}")
        self.book.tell(fenced_by=str(self.options["fence"]))
        if self.book.state_of(FENCE) != journals.DONE:
            self.book.mark(FENCE, journals.DONE, fence.read if isinstance(fence, FenceProof) else "attested")
        self._hold()
        # From here on it is only read back.
        self.scratch.act = False
        self.scratch.phase, self.scratch.looks_since = "death", self.run.clock.monotonic()
        return self._need(self._look_again())

    def _extra_fence(self) -> None:
        extra = [answer for answer in needs.answers_of(self.answers, needs.FENCE) if answer.get("extra")]
        if not extra:
            return
        try:
            target = FenceTarget(self.host, self.scratch.operation_id, self.options, tuple(self._clusters()))
            fence_proof.prove(blocklist.FENCE.name, target, extra, _read_at(extra))
        except ProofError as error:
            self._warn(f"the run could not add or verify the additional OSD blocklist entries: {error}")

    def _warn(self, said: str) -> None:
        self.run.say(f"warning: {said}")
        self.scratch.warned.append(said)

    def _hold(self) -> None:
        """Force the compute service down and disable it with our reason, in one request."""
        reason = checks.reason_of(self.scratch.operation_id)
        closed = {checks.reason_of(str(entry["operation_id"])) for entry in self._closed()}
        if self.book.state_of(HOLD) != journals.DONE:
            self.book.mark(HOLD, journals.APPLYING)
        service = compute_services.find_service(self.connection, self.host)
        held = (service.disabled_reason if service else None) or ""
        if held.startswith(OURS) and held != reason and held not in closed:
            raise Stopped(f"SG707 lock-held: another operation has locked {self.host}: {held}")
        if service is not None and held != reason and "service" not in self.book.about:
            before = {"status": service.status, "reason": service.disabled_reason, "forced_down": service.forced_down}
            self.book.tell(service=before)
        compute_services.hold_down(self.connection, self.host, reason)
        if self.book.state_of(HOLD) != journals.DONE:
            self.book.mark(HOLD, journals.DONE)

    def _look_again(self, wait: float = 0.0) -> t.List[Json]:
        """Return what is needed before anything is judged again: the proof, and what hosts say now."""
        self.scratch.proven = False
        first = [needs.wait(wait)] if wait else []
        if self.options["fence"] == attested.FENCE.name:
            return [*first, self._reading()]
        proofs = [need for need in self._fence_needs(act=False, extra=False) if need["kind"] == needs.FENCE]
        # Hosts are read between two readings of the power state; the last reading is the last of all.
        return [*first, *proofs[:-1], self._reading(), proofs[-1]]

    # --- dead?

    def _death(self) -> CallResult:
        self._proven()
        other = self._another_reader()
        if other is not None:
            return other
        bundle, about = self._collect(rounds.ROUND_PARTS)
        planned = records.servers_of(self.book.journal)
        moving_ = rounds.on_the_way(bundle, planned, records.in_transit(self.book.journal))
        self.book.remember(in_transit=[to_plain(entry) for entry in moving_])
        away = {entry.uuid for entry in moving_}
        here = {server.id for server in (bundle.cloud.servers if bundle.cloud else None) or []} - away
        staying = tuple(entry.uuid for entry in planned if entry.uuid in here)
        self.scratch.staying = sorted({*staying, *away})
        request = dataclasses.replace(self._round_request(), servers=staying)
        checked = checks.death(bundle, about, request, self._elsewhere(bundle))
        honoured = storage.honoured(checked, self.run.overrides)
        against_all, _some = rounds.split(findings.standing(checked.findings, honoured), staying)
        if not against_all:
            self.run.say(
                f"{self.host} is fenced and down, and no Ceph client on {self.host} has a disk of a server open"
            )
            return self._to_guard()
        waited = self.run.clock.monotonic() - float(self.scratch.looks_since or 0.0)
        if waited >= float(self.options["death_timeout"]):
            said = terminal.findings_text(Checked(tuple(against_all)), honoured)
            raise Stopped(
                f"the run has no proof that {self.host} is dead:\n{said}",
                Checked(tuple(against_all), checked.unchecked),
            )
        return self._need(self._look_again(LOOK))

    def _round_request(self) -> EvacuationRequest:
        base = self._request(self.scratch.operation_id, None, self._stored_fence())
        order = tuple(self.book.about.get("order") or ())
        return dataclasses.replace(base, servers=None, order=order)

    # --- guards

    def _to_guard(self) -> CallResult:
        """Guard every image of the servers that are still to be sent or in transit.

        A server whose images are not all there as they were keeps itself, and none of the others of its pool.
        """
        servers = self._to_be_guarded()
        if not any(entry.images for entry in servers):
            self.run.say(
                "no server has an image in Ceph, and Nova does not delete volumes, so no guard snapshot is needed"
            )
            self.scratch.guarded = sorted(entry.uuid for entry in servers)
            self.book.mark(GUARD, journals.DONE, "no image")
            return self._to_round()
        seen = clients.seen(self._bundle(), {entry.uuid for entry in servers})
        whole = [
            entry for entry in servers if all(_is_there(seen, name, image) for name, image in entry.images.items())
        ]
        homes = self._homes(whole)
        asked = [entry.uuid for entry in whole if entry.images]
        self.book.remember(write=False, guarded=sorted({*records.guarded(self.book.journal), *asked}))
        self.book.mark(GUARD, journals.APPLYING)
        self.scratch.phase = "guard"
        return self._need([needs.guard(homes, self.scratch.operation_id)]) if homes else self._guard()

    def _to_be_guarded(self) -> t.List[PlannedServer]:
        staying = set(self.scratch.staying)
        return [entry for entry in records.servers_of(self.book.journal) if entry.uuid in staying]

    def _reguard(self) -> CallResult:
        """The pool was not as it had been read: guard what is there now."""
        return self._to_guard()

    def _homes(self, servers: t.Iterable[PlannedServer], everywhere: bool = False) -> t.List[Json]:
        """Return images by cluster and pool, with the host that works there. Without one: left out, and not guarded.

        ``everywhere``: one that was not found is looked for in all of them (version 0.1 did not note where it was).
        """
        found: t.Dict[Home, t.Dict[str, str]] = {}
        for entry in servers:
            for name, image in entry.images.items():
                if name in entry.homes:
                    found.setdefault(entry.homes[name], {})[name] = image.id
                elif everywhere:
                    for home in self._readers():
                        found.setdefault(home, {})[name] = image.id
        return [
            {"fsid": home[0], "pool": home[1], "reader": self._reader(home), "images": images}
            for home, images in sorted(found.items())
            if self._reader(home) is not None
        ]

    def _out_of_reach(self, uuids: t.Container[str]) -> str:
        """Return a sentence that names the clusters and pools of these servers that no host reaches; empty: none."""
        servers = [entry for entry in records.servers_of(self.book.journal) if entry.uuid in uuids]
        homes = {home for entry in servers for home in entry.homes.values() if self._reader(home) is None}
        places = [f"pool {pool} of Ceph cluster {fsid}" for fsid, pool in sorted(homes)]
        if not places:
            return ""
        return f" The run found no host that reaches {', '.join(places)}. First make such a host available."

    def _guard(self) -> CallResult:
        """Take what the guard answered: a server is guarded when each of its images was read back with its id."""
        self._proven_if_read()
        verified = self._verified_guards(needs.GUARD)
        again = self._through_others(needs.GUARD)
        if again:
            self.scratch.guarded_images = sorted({*self.scratch.guarded_images, *verified})
            return self._need([needs.guard(again, self.scratch.operation_id)])
        verified |= set(self.scratch.guarded_images)
        failed = [
            home
            for answer in needs.answers_of(self.answers, needs.GUARD)
            for home in answer.get("homes") or []
            if not task_results.ended_well(home.get("result"))
        ]
        if failed and self.scratch.reguards < REGUARDS:
            self.scratch.guarded_images, self.scratch.bad = sorted(verified), []
            self.scratch.reguards, self.scratch.phase = self.scratch.reguards + 1, "reguard"
            return self._need([self._reading(disk_readers.current(self.scratch.readers))])
        servers = self._to_be_guarded()
        self.scratch.guarded = sorted(entry.uuid for entry in servers if set(entry.images) <= verified)
        lacking = [entry for entry in servers if entry.uuid not in self.scratch.guarded]
        problems = self._guard_problems(lacking)
        if lacking and not self.scratch.guarded:
            raise Stopped(
                "the run could not make guard snapshots for any server, so the run evacuated no server",
                Checked(tuple(problems)),
            )
        self.scratch.last = records.plain_checked(Checked(tuple(problems)))
        count = sum(len(entry.images) for entry in servers if entry.uuid in self.scratch.guarded)
        self.book.mark(GUARD, journals.DONE, f"{count} images guarded")
        self.run.say(f"{count} images are protected by guard snapshot stackguard-{self.scratch.operation_id}")
        return self._to_round()

    def _proven_if_read(self) -> None:
        if needs.answers_of(self.answers, needs.FENCE):
            self._proven()

    def _verified_guards(self, kind: str) -> t.Set[str]:
        """Return the images that the host which made their guard read back with id and snapshot, in the right pool."""
        found = set()
        for answer in needs.answers_of(self.answers, kind):
            for home in answer.get("homes") or []:
                result = home.get("result")
                if not task_results.ended_well(result):
                    continue
                if (result.get("fsid"), result.get("pool")) != (home.get("fsid"), home.get("pool")):
                    continue
                wanted = dict(home.get("images") or {})
                for image in result.get("images") or []:
                    if image.get("guarded") and wanted.get(str(image.get("image"))) == image.get("id"):
                        found.add(str(image["image"]))
        return found

    def _through_others(self, kind: str) -> t.List[Json]:
        """Return the pools in which a host failed and that another host reaches: it is asked next."""
        found = []
        for answer in needs.answers_of(self.answers, kind):
            for home in answer.get("homes") or []:
                if task_results.ended_well(home.get("result")):
                    continue
                self.scratch.bad.append(str(home.get("reader")))
                other = self._reader((str(home["fsid"]), str(home["pool"])))
                if other is not None and other not in self.scratch.bad:
                    found.append({**{key: home[key] for key in ("fsid", "pool", "images")}, "reader": other})
                else:
                    self._warn(records.home_failed(home))
        return found

    def _guard_problems(self, lacking: t.Sequence[PlannedServer]) -> t.List[Finding]:
        return [
            finding(
                "SG504",
                Subject("instance", entry.uuid, entry.name, self.host),
                {
                    "images": sorted(entry.images),
                    "guard": "the run could not verify that each image has a guard snapshot",
                    "said": self.scratch.warned[-3:],
                },
                "Make the server's pool reachable from a host that the run reads, then run the same command again. The "
                "run evacuates the server only after it has protected the server's images with guard snapshots.",
            )
            for entry in lacking
        ]

    # --- rounds

    def _to_round(self) -> CallResult:
        self.scratch.phase = "round"
        if self.book.state_of(EVACUATE) != journals.DONE:
            self.book.mark(EVACUATE, journals.APPLYING)
        return self._need(self._look_again())

    def _round(self) -> CallResult:
        self._unguarded()
        self._proven()
        other = self._another_reader()
        if other is not None:
            return other
        self.scratch.rounds += 1
        bundle, about = self._collect(rounds.ROUND_PARTS)
        planned = records.servers_of(self.book.journal)
        known = [entry for entry in planned if entry.uuid not in set(self.book.memory.get("arrived") or [])]
        result = rounds.run(bundle, about, self._evacuator(), self._passes(bundle, about, known))
        self._note_round(result)
        if result.stopped:
            raise Stopped(f"{self.host} shows signs of life, so the run evacuates no more servers", result.checked)
        done = self._finished_guards(result)
        if result.again and self.scratch.rounds < int(self.options["max_rounds"]):
            homes = self._homes(done)
            return self._need(
                [*([needs.guard(homes, self.scratch.operation_id, False)] if homes else []), *self._look_again()]
            )
        if not result.again:
            self.book.mark(EVACUATE, journals.DONE, _summary(result))
            self.scratch.ended_well = True
        else:
            self.scratch.message = f"the run has reached the limit of rounds ({self.run.variable('max_rounds')})"
        return self._to_leave()

    def _evacuator(self) -> Evacuator:
        clock = self.run.clock
        return Evacuator(
            self.connection,
            self.host,
            self.run.say,
            clock.sleep,
            clock.monotonic,
            self.options["target_state"],
            float(self.options["server_timeout"]),
            self._ago,
        )

    def _ago(self, seconds: float) -> str:
        moment = datetime.datetime.fromtimestamp(self.run.clock.epoch() - seconds, datetime.timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _passes(self, bundle: Bundle, about: EvacuationFacts, known: t.Sequence[PlannedServer]) -> rounds.Passes:
        others = self._others(about)
        began = fence_proof.moment(str(self.book.journal["started_at"]))
        since = None if began is None else self._ago(self.run.clock.epoch() - began.timestamp() + SKEW)
        return rounds.Passes(
            self.connection,
            known,
            self._round_request(),
            self.run.overrides,
            records.tried(self.book.journal),
            records.in_transit(self.book.journal, clocks=True),
            others,
            set(self.scratch.guarded),
            f"stackguard-{self.scratch.operation_id}",
            lambda assigned, resets: self._claim(assigned, resets, known, others),
            self._good(bundle),
            since,
            set(self.book.memory.get("to_stop") or []),
            self._elsewhere(bundle),
            set(self.scratch.doubted),
        )

    def _good(self, bundle: Bundle) -> t.Callable[[str], bool]:
        """Return whether proof and measurement still hold for a destination."""
        read_at = evidence.read_times(self.directory)
        by_name = {name: read_at.get(facts.inventory_name, 0.0) for name, facts in by_nova_name(bundle).items()}
        measured_for = float(self.options["measured_for"])
        begin = self.run.clock.epoch()
        fence = self._stored_fence()

        def good(host: str) -> bool:
            now = self.run.clock.now()
            age = float(self.options["proof_max_age"])
            if fence_proof.refusal(fence, self.host, self.scratch.operation_id, self.options["fence"], now, age):
                return False
            epoch, read = self.run.clock.epoch(), by_name.get(host, 0.0)
            # What a round has read it may use at once, however short the operator's time is.
            return epoch - read <= measured_for or (begin - read <= MEASURED_LEAST and epoch - begin <= FIRST)

        return good

    def _claim(
        self,
        assigned: t.Sequence[t.Any],
        resets: t.Container[str],
        known: t.Sequence[PlannedServer],
        others: t.Sequence[IncomingServer],
    ) -> bool:
        """Note who is about to be sent, unless another operation has sent something that was not counted."""
        numa = {entry.uuid: entry for entry in known}
        intended = [
            {
                "uuid": assignment.uuid,
                "name": assignment.name,
                "target": assignment.host,
                "size_mib": assignment.memory_mib,
            }
            for assignment in assigned
        ]
        stopped = {
            assignment.uuid
            for assignment in assigned
            if numa[assignment.uuid].power == records.STOPPED
            and (assignment.uuid in resets or self.scratch.status.get(assignment.uuid) != "SHUTOFF")
        }
        memory = self.book.memory
        self._sent_before = records.sent(self.book.journal)
        self.book.remember(
            write=False,
            intended=intended,
            sent=sorted({*records.sent(self.book.journal), *(assignment.uuid for assignment in assigned)}),
            to_stop=sorted({*(memory.get("to_stop") or []), *stopped}),
        )
        uncounted = self.book.write(counted=[f"{entry.uuid} {entry.host}" for entry in others])
        if uncounted:
            self.run.say(
                "another operation has started to move servers since this run read the hosts. The run reads the hosts "
                "again"
            )
            self.book.remember(write=False, intended=[])
        return bool(uncounted)

    def _note_round(self, result: rounds.Round) -> None:
        memory = self.book.memory
        sent = records.sent(self.book.journal)
        if self._sent_before is not None:
            # Noted before anything is sent; now it is known who was.
            asked = {entry.uuid for entry in result.outcomes} | {entry.uuid for entry in result.in_transit}
            sent = self._sent_before | (sent & asked)
        arrived = {entry.uuid for entry in result.arrived if entry.state != rounds.WRONG}
        kept = {entry["uuid"]: entry for entry in self.scratch.arrived}
        kept.update({entry.uuid: t.cast("Json", to_plain(entry)) for entry in result.arrived})
        self.scratch.arrived = list(kept.values())
        self.scratch.left = dict(result.left)
        landed = {entry.uuid for entry in result.outcomes if entry.outcome == ARRIVED}
        self.scratch.landed = sorted({*self.scratch.landed, *landed})
        self.scratch.doubted = sorted({*self.scratch.doubted, *result.doubted})
        self.scratch.last = records.plain_checked(result.checked)
        if result.checked.findings:
            self.run.say(terminal.findings_text(result.checked))
        self.book.remember(
            tried=result.tried,
            sent=sorted(sent),
            in_transit=[to_plain(entry) for entry in result.in_transit],
            intended=[],
            to_stop=sorted(set(memory.get("to_stop") or []) - set(result.put_out)),
            arrived=sorted({*(memory.get("arrived") or []), *arrived}),
            landed=self.scratch.arrived,
        )

    def _finished_guards(self, result: rounds.Round) -> t.List[PlannedServer]:
        """Return servers whose guard is not needed any more: verified elsewhere, or deleted by their owners."""
        arrived = {entry.uuid for entry in result.arrived if entry.state != rounds.WRONG}
        guarded = records.guarded(self.book.journal)
        return [entry for entry in records.servers_of(self.book.journal) if entry.uuid in arrived & guarded]

    # --- the end

    def _stop(self, message: str, checked: t.Optional[Checked] = None) -> CallResult:
        """Something ends the run: report it, remove the guards that are not needed, leave the journal open."""
        self.scratch.stopping, self.scratch.message = records.plain_checked(checked or Checked()), message
        if not self.opened:
            return self._end("failed", message, over=True)
        if self.scratch.phase in LAST:
            return self._left_open(message)
        try:
            return self._to_leave()
        except (StackguardError, FactsError, journals.JournalError) as error:
            self.scratch.warned.append(f"the run could not read the guard snapshots: {error}")
            return self._end(journals.OPEN, message)

    def _left_open(self, message: str) -> CallResult:
        """All servers may be away, and still it is no success: the next run ends the operation."""
        self.scratch.ended_well = False
        return self._end(journals.OPEN, message)

    def _to_leave(self) -> CallResult:
        """Remove every guard but those of servers that may be in transit: a failed spawn would delete their disks."""
        guarded = records.guarded(self.book.journal) - self._maybe_in_transit()
        servers = [entry for entry in records.servers_of(self.book.journal) if entry.uuid in guarded]
        self.scratch.phase = "leave"
        homes = self._homes(servers)
        if not homes:
            return self.advance(self.scratch, ())
        self.book.mark(UNGUARD, journals.APPLYING)
        return self._need([needs.guard(homes, self.scratch.operation_id, False)])

    def _maybe_in_transit(self) -> t.Set[str]:
        """Return servers at which Nova may still be. Where that was not read after a resume: all that were sent."""
        memory = self.book.memory
        noted = {str(entry["uuid"]) for entry in journals.in_transit(self.book.journal)}
        stuck = {uuid for uuid, hosts in records.tried(self.book.journal).items() if rounds.STUCK in hosts}
        arrived = set(memory.get("arrived") or [])
        if self.scratch.resumed and not self.scratch.rounds:
            noted |= records.sent(self.book.journal)
        return (noted | stuck) - arrived

    def _unguarded(self) -> None:
        """Take what the removal of guards answered, and note who has none any more."""
        answered = needs.answers_of(self.answers, needs.UNGUARD)
        if not answered:
            return
        free: t.Set[str] = set()
        asked: t.Set[str] = set()
        kept: t.Set[str] = set()
        for answer in answered:
            for home in answer.get("homes") or []:
                names = set(home.get("images") or {})
                asked |= names
                without = records.without_guard(home)
                free |= without
                kept |= names - without
        free -= kept
        done = {
            entry.uuid
            for entry in records.servers_of(self.book.journal)
            if entry.images and set(entry.images) & asked and set(entry.images) <= free
        }
        done -= self._never_seen(answered, done)
        self.scratch.free = sorted({*self.scratch.free, *done})
        self.book.remember(guarded=sorted(records.guarded(self.book.journal) - done))

    def _never_seen(self, answered: Answers, uuids: t.Collection[str]) -> t.Set[str]:
        """Return servers of version 0.1 with an image that was in no pool that was looked through.

        Its pool was not noted, and may be one that no host reaches. Of a server that Nova no longer has it is gone.
        """
        homes = [home for answer in answered for home in answer.get("homes") or []]
        seen = {str(image["image"]) for home in homes for image in (home.get("result") or {}).get("images") or []}
        return {
            entry.uuid
            for entry in records.servers_of(self.book.journal)
            if entry.uuid in uuids
            and any(image.fsid is None and name not in seen for name, image in entry.images.items())
            and not self._is_gone(entry.uuid)
        }

    def _leave(self) -> CallResult:
        """Close the journal of what has ended; say what is left of the rest."""
        self._unguarded()
        again = self._through_others(needs.UNGUARD)
        if again:
            return self._need([needs.guard(again, self.scratch.operation_id, False)])
        guarded = sorted(records.guarded(self.book.journal))
        kept = self._maybe_in_transit()
        lasting = [uuid for uuid in guarded if uuid not in kept]
        if lasting:
            far = self._out_of_reach(lasting)
            self._warn(f"guard snapshots may still be on the images of {', '.join(lasting)}.{far}".rstrip("."))
        # All that was tried has ended. Where nothing was sent, nothing is evacuated: another fence, or room, may come.
        over = bool(records.sent(self.book.journal)) or not self.scratch.left
        if self.scratch.ended_well and over and not lasting and not kept & set(guarded):
            self.book.mark(UNGUARD, journals.DONE)
            return self._to_chassis()
        # Nova may still be at some, a guard is left, or nothing was sent: the next run resumes the operation.
        self.scratch.ended_well = False
        at_work = kept & set(guarded)
        if at_work:
            self.book.note(f"guard snapshots remain for {', '.join(sorted(at_work))}")
            said = (
                f"Nova may still be working on these servers, so their guard snapshots remain: {self._named(at_work)}"
            )
            self.scratch.message = "; ".join(part for part in (self.scratch.message, said) if part)
        return self._end(journals.OPEN, self.scratch.message)

    # --- the chassis in OVN

    def _to_chassis(self) -> CallResult:
        """Every server is away: remove the chassis if that is asked for, and close the journal."""
        if not self.options.get("remove_chassis"):
            return self._close(ChassisOutcome())
        self.scratch.phase, self.scratch.looks_since = "chassis", self.run.clock.monotonic()
        return self._chassis()

    def _chassis(self) -> CallResult:
        """Wait until nothing stands against the removal. Then the fence is read back for it."""
        why = self._not_all_away()
        if why is not None:
            return self._close(ChassisOutcome(why=why))
        found = self._removal().decide(self.book.memory.get(CHASSIS))
        if isinstance(found, ChassisOutcome):
            return self._close(found)
        if isinstance(found, Objection):
            waited = self.run.clock.monotonic() - float(self.scratch.looks_since or 0.0)
            if found.passing and waited < float(self.options["death_timeout"]):
                return self._need([needs.wait(LOOK)])
            return self._close(ChassisOutcome(why=found.why))
        # Noted before it is done: a run after a kill finds it gone, and knows why.
        self.book.remember(write=False, **{CHASSIS: found.name})
        self.book.mark(REMOVE, journals.APPLYING)
        self.scratch.phase, self.scratch.proven, self.scratch.proof = "remove", False, None
        return self._need(self._fence_needs(act=False, extra=False))

    def _remove(self) -> CallResult:
        """The fence was read back after the last server had left: remove the chassis."""
        try:
            self._proven()
        except Stopped as stopped:
            return self._close(ChassisOutcome(why=stopped.message))
        return self._close(self._removal().remove(str(self.book.memory[CHASSIS]), self._maybe_on))

    def _removal(self) -> ChassisRemoval:
        return ChassisRemoval(self.connection, self.options, self.host, self.run.clock)

    def _not_all_away(self) -> t.Optional[str]:
        """Return why this run may remove no chassis at all, whatever OVN and neutron show."""
        if self.options["fence"] not in POWERING_OFF:
            return f"the fence {self.options['fence']} does not prove that the machine is off"
        wrong = any(entry["state"] == rounds.WRONG for entry in self.scratch.arrived)
        if wrong or self.scratch.left or self._maybe_in_transit():
            return f"the run has not verified that each server of {self.host} is on another host"
        return None

    def _maybe_on(self) -> t.Optional[str]:
        """Return why the fence does not prove, at this moment, that the machine is off; None: it does."""
        fence, kind, now = self._stored_fence(), str(self.options["fence"]), self.run.clock.now()
        age = float(self.options["proof_max_age"])
        why = fence_proof.refusal(fence, self.host, self.scratch.operation_id, kind, now, age)
        if why is None and not (isinstance(fence, FenceProof) and fence.powered_off):
            why = f"the fence {kind} does not prove that the machine is off"
        return why

    def _close(self, outcome: ChassisOutcome) -> CallResult:
        """Report what of the host is left in OVN, and close the journal."""
        outcome = self._look_at_chassis(outcome)
        if outcome.name is not None:
            self.scratch.removed_chassis = outcome.name
            said = f"OVN chassis {outcome.name} of {self.host} is removed"
            self.book.mark(REMOVE, journals.DONE, said)
            self.run.say(said)
        elif outcome.why:
            said = f"the OVN chassis of {self.host} is not removed: {outcome.why}"
            self.book.mark(REMOVE, journals.PENDING, said)
            self.run.say(f"warning: {said}")
        self.book.close(journals.FINISHED, "ended")
        return self._end("evacuated", self.scratch.message)

    def _look_at_chassis(self, outcome: ChassisOutcome) -> ChassisOutcome:
        """Note what of the host is left in OVN: also where an earlier run has evacuated its servers."""
        look, outcome = evacuation_chassis.look_after(self.connection, self.options, self.host, self.directory, outcome)
        self.scratch.chassis = records.plain_checked(look)
        return outcome

    def _named(self, uuids: t.Iterable[str]) -> str:
        return ", ".join(sorted(self.scratch.names.get(uuid, uuid) for uuid in uuids))

    # --- abort

    def _abort(self) -> CallResult:
        """Take the journal up, and ask for the removal of guards; of blocklist entries only if nothing was sent."""
        journal = self._open_journal()
        if journal is None:
            return self._end("none", lifecycle.nothing_open(self._what, lifecycle.ABORT), over=True)
        if self.run.check_mode:
            self.scratch.changed = self.scratch.ended_well = True
            abort = f"without --check, the run would abort operation {journal['operation_id']}"
            said = f"{abort}\n{lifecycle.status_text(journal)}"
            return self._end(str(journal["state"]), said, over=True)
        bundle, _about = self._collect(rounds.ROUND_PARTS)
        book = Book.take_up(self.run, journal, "abort started")
        self._own(book, journal)
        self.scratch.resumed = True
        planned = self._completed(bundle, records.servers_of(journal))
        moving_ = self._in_transit_now(bundle, planned)
        if moving_:
            raise Stopped(
                f"Nova is still evacuating {', '.join(moving_)}. Run the abort again when these evacuations have ended"
            )
        earlier = self._same_outage(bundle, [journal])
        needed = [records.blocklisted(entry) for entry in earlier if records.sent(entry)]
        kept = records.together([book.about.get("listed_before") or {}, *needed])
        book.tell(servers=records.plain(planned), kept_listed=kept)
        book.note("abort started", journals.ROLLING_BACK)
        self.scratch.phase = "aborting"
        found = self._abort_needs(planned)
        return self._need(found) if found else self.advance(self.scratch, ())

    def _in_transit_now(self, bundle: Bundle, planned: t.Sequence[PlannedServer]) -> t.List[str]:
        """Return the names of servers at which Nova is. Raises Stopped where that was not read of all."""
        cloud = bundle.cloud
        unread = {entry.part for entry in cloud.unread} if cloud is not None else set()
        if cloud is None or cloud.servers is None or cloud.migrations is None or "servers.unknown" in unread:
            raise Stopped(
                "the run could not read which servers Nova is still evacuating, so it removes no guard snapshot"
            )
        if cloud.services is None:
            # Its hold leads to the earlier operations of this outage, which may need the blocklist still.
            raise Stopped(
                f"the run could not read the compute service of {self.host}, so it removes no blocklist entry"
            )
        here = {server.id for server in cloud.servers}
        names = [entry.name for entry in rounds.on_the_way(bundle, planned, [])]
        noted = {str(entry["uuid"]): entry for entry in journals.in_transit(self.book.journal)}
        for uuid in sorted(set(noted) - here):
            server = server_records.server_as_listed(self.connection, uuid)
            if server is not None and (
                same_name(self.host, server.host) or (server.task_state or "").startswith(rounds.TASK)
            ):
                names.append(server.name)
        return names

    def _abort_needs(self, planned: t.Sequence[PlannedServer]) -> t.List[Json]:
        found = []
        homes = self._homes(planned, everywhere=True)
        if homes:
            self.book.mark(GUARD, journals.UNDOING)
            found.append(needs.guard(homes, self.scratch.operation_id, False))
        clusters = [] if records.sent(self.book.journal) else self._listed_clusters()
        if clusters:
            self.book.mark(FENCE, journals.UNDOING)
            found.append(needs.lift(clusters))
        return found

    def _aborting(self) -> CallResult:
        """Close the journal when guards and entries are gone."""
        self._unguarded()
        again = self._through_others(needs.UNGUARD)
        if again:
            return self._need([needs.guard(again, self.scratch.operation_id, False)])
        self._lifted()
        return self._close_aborted()

    def _listed_clusters(self) -> t.List[Json]:
        """Return the clusters with addresses that this operation has listed. Raises Stopped where one is not read."""
        found = []
        listed = self._to_lift()
        homes = self._readers()
        if "" in listed:
            # Version 0.1 listed them through one host, and did not note in which cluster: look in each.
            listed = {fsid: listed[""] for fsid, _pool in homes}
        for fsid, addresses in sorted(listed.items()):
            home = next((entry for entry in sorted(homes) if entry[0] == fsid), None)
            if home is None:
                raise Stopped(
                    f"no host reaches Ceph cluster {fsid}. The blocklist of this cluster has {', '.join(addresses)}"
                )
            found.append({"fsid": fsid, "pool": home[1], "reader": self._reader(home), "addresses": list(addresses)})
        return found

    def _to_lift(self) -> t.Dict[str, t.List[str]]:
        """Return what this operation alone has listed: not what was there before, nor what an earlier one needs."""
        return records.without(records.blocklisted(self.book.journal), self.book.about.get("kept_listed") or {})

    def _lifted(self) -> None:
        for answer in needs.answers_of(self.answers, needs.LIFT):
            for cluster in answer.get("clusters") or []:
                result = cluster.get("result")
                if not task_results.ended_well(result) or result.get("fsid") != cluster.get("fsid"):
                    raise Stopped(
                        f"the blocklist entries in Ceph cluster {cluster.get('fsid')} were not removed: "
                        f"{task_results.why(result)}"
                    )
                lifted = {str(cluster["fsid"]): cluster.get("addresses") or []}
                listed = records.without(records.blocklisted(self.book.journal), lifted)
                self.book.tell(blocklisted={fsid: found for fsid, found in listed.items() if fsid})
        if needs.answers_of(self.answers, needs.LIFT):
            self.book.mark(FENCE, journals.UNDONE)

    def _close_aborted(self) -> CallResult:
        left = sorted(records.guarded(self.book.journal))
        if left:
            far = self._out_of_reach(left)
            raise Stopped(
                f"guard snapshots are still on the images of {', '.join(left)}. Run the abort again.{far}".rstrip(".")
            )
        if self.book.state_of(GUARD) == journals.UNDOING:
            self.book.mark(GUARD, journals.UNDONE)
        sent = records.sent(self.book.journal)
        if not sent and self._to_lift():
            raise Stopped(
                f"these entries are still on the OSD blocklist: {json.dumps(self._to_lift(), sort_keys=True)}. "
                "Run the abort again"
            )
        kept = records.together([records.blocklisted(self.book.journal)])
        if sent:
            said = (
                f"the operation requested the evacuation of {len(sent)} servers, so {self.host} stays disabled and "
                "fenced. Run return_host before nova-compute starts on this host"
            )
        else:
            self._release()
            said = (
                f"the operation requested no evacuation, so the run released the compute service of {self.host}. If "
                "the fence switched off the machine or its network ports, switch the machine or the ports on again"
            )
            if kept:
                said += (
                    ". The blocklist keeps the entries that it had before the operation: "
                    f"{json.dumps(kept, sort_keys=True)}"
                )
        self.book.close(journals.ROLLED_BACK, said)
        self.scratch.ended_well = True
        return self._end("aborted", said)

    def _release(self) -> None:
        """Give the service back what it had before, if it is still ours."""
        self.book.mark(HOLD, journals.UNDOING)
        service = compute_services.find_service(self.connection, self.host)
        if service is not None and service.disabled_reason == checks.reason_of(self.scratch.operation_id):
            before = self.book.about.get("service") or {"status": "enabled", "reason": None, "forced_down": False}
            compute_services.give_back(self.connection, self.host, before)
        self.book.mark(HOLD, journals.UNDONE)

    # --- answers

    def _need(self, found: t.Sequence[Json]) -> CallResult:
        return CallResult(list(found), self.scratch)

    def _end(self, state: str, message: str, over: bool = False) -> CallResult:
        """End the run. ``over``: what was decided is all there is to report; nothing was carried out."""
        self.scratch.state, self.scratch.message = state, message
        self.scratch.ended_well = self.scratch.ended_well or (over and state in ("clear", "planned", "none", "resumed"))
        self.scratch.over = True
        if state == journals.OPEN:
            # Whoever has not arrived elsewhere stays, also where no round has said why.
            verified = {entry["uuid"] for entry in self.scratch.arrived}
            away = verified | set(self.scratch.landed)
            if away - verified:
                self._warn(
                    f"these servers arrived, but the run did not verify them on their new hosts: "
                    f"{self._named(away - verified)}"
                )
            why = f"the run ended before {'the server arrived' if self.scratch.rounds else 'its first round'}"
            stay = {uuid: why for uuid in sorted(self.scratch.names) if uuid not in away}
            self.scratch.left = {**stay, **self.scratch.left}
        return self._ended()

    def _ended(self) -> CallResult:
        return CallResult([], self.scratch, self._report())

    def _report(self) -> Json:
        scratch = self.scratch
        parts = [
            records.checked_of(part)
            for part in (scratch.before, scratch.stopping, scratch.last, scratch.chassis)
            if part
        ]
        unchecked = [findings.Unchecked("SG506", self.host, said) for said in scratch.warned]
        if not scratch.ended_well and scratch.state != "refused":
            why = scratch.message.partition("\n")[0]
            code, said = ("SG710", "the run did not finish") if scratch.owned else ("SG709", "nothing was decided")
            unchecked.append(findings.Unchecked(code, self.host, f"{said}: {why}"))
        elif not parts and not scratch.rounds:
            # Asked for, or aborted: a gate that reads only the verdict must not take that for a pass.
            said, code = "this run did not check the host and its servers", "SG709"
            if not scratch.ended_well:
                # A refusal names its reason, such as SG706: another operation is open.
                code = scratch.message[:5] if scratch.message[:5] in findings.CATALOGUE else code
                said = scratch.message.partition("\n")[0]
            unchecked.append(findings.Unchecked(code, self.host, said))
        left = scratch.left if scratch.rounds else {}
        stays = rounds.stays(left, scratch.names, self.host, scratch.status)
        checked = findings.merged([*parts, Checked(tuple(stays), tuple(unchecked))])
        report = findings.report(
            checked, scratch.collected_at or self.run.clock.now(), scratch.hosts, len(scratch.uuids), self.run.overrides
        )
        return report if scratch.ended_well and scratch.state != "refused" else findings.refused(report)


def _is_of_all(item: Finding, servers: t.Sequence[str]) -> bool:
    """Whether a finding is about more than one server: what keeps one of them is judged in the rounds."""
    if item.object.kind == "instance":
        return False
    return item.object.kind == "host" or checks.server_of(item, servers) is None


def _counts(item: Finding, act: bool, lists: bool, held: bool) -> bool:
    """Whether a finding stands against a fence on resume. ``lists``: by blocklist; ``held``: who runs is known."""
    if item.code == "SG506" and storage.ALIVE in item.evidence:
        return not held
    return act or (lists and item.code in ("SG506", "SG518", "SG709"))


def _is_there(seen: t.Mapping[str, t.Sequence[clients.SeenImage]], name: str, image: DiskImage) -> bool:
    """Whether an image was seen where it was when the operation began, with the same id."""
    return any(entry.home == (image.fsid, image.pool) and entry.image.id == image.id for entry in seen.get(name, []))


def _read_at(answers: Answers) -> str:
    """Return when the fence was read back last, as the role noted it before the reading. Raises ProofError."""
    at = str(answers[-1].get("at") or "")
    if fence_proof.moment(at) is None:
        raise ProofError("the run did not record when it read the fence back")
    return at


def _summary(result: rounds.Round) -> str:
    verified = sum(1 for entry in result.arrived if entry.state == rounds.VERIFIED)
    return (
        f"{verified} servers were verified on other hosts in the last round, {len(result.left)} servers are "
        "still on the dead host"
    )
