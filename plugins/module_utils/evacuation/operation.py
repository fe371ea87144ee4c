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

This file has the phases and what follows what. What they work with is in :mod:`evacuation_call`, the fence and its
proof in :mod:`evacuation_fence`, the guard snapshots in :mod:`evacuation_guards`, and a round in
:mod:`evacuation_round`.

The proof is read again before every look that something rests on. Nothing in here is remembered but in the journal and
in the scratch of this run.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import typing as t

from ..capacity import placement, planner
from ..capacity.leaving_guests import unguarded
from ..capacity.measured import IncomingServer, by_nova_name
from ..engine import lifecycle, needs, waiting_requests
from ..engine.approval import REQUEST, SHA256
from ..engine.lifecycle import OpenJournal, Refused, Stopped
from ..hazards import clients, storage
from ..hazards.disks import plain as plain_disks
from ..model import (
    fence_proof,
    findings,
    server_selection,
    server_state,
    task_results,
)
from ..model.errors import ApiError, StackguardError
from ..model.facts import (
    SILENT_CELLS,
    ApiServer,
    Bundle,
    EvacuationFacts,
    FactsError,
    to_plain,
)
from ..model.fence_proof import FenceProof
from ..model.fences import attested
from ..model.fences.catalogue import POWERING_OFF, of_addresses
from ..model.findings import Checked, Finding
from ..model.lookups import same_name
from ..model.plan import Plan
from ..model.requests import EvacuationRequest
from ..model.wording import count
from ..records import evidence
from ..records import journal as journals
from ..reports import terminal
from ..systems.api import instance_actions, server_records
from . import plan as plans
from . import preflight as checks
from . import readers as disk_readers
from . import record as records
from . import round as rounds
from .call import Answers, Json
from .chassis import operation as evacuation_chassis
from .chassis.operation import (
    ChassisOutcome,
    ChassisRemoval,
    Objection,
)
from .fences.fencing import FENCE
from .guards import GuardedEvacuation
from .readers import Home
from .record import DiskImage, PlannedServer
from .scratch import CallResult, Scratch
from .steps import ARRIVED, SKEW, Evacuator

GUARD, EVACUATE, UNGUARD = "guard", "evacuate", "unguard"
#: A step only where the operator asks for it; and the chassis that is about to be removed, in the journal's memory.
REMOVE, CHASSIS = "remove_chassis", "chassis"
#: Phases after the rounds: what ends a run there leaves the journal open.
LAST = ("leave", "chassis", "remove", "abort", "aborting")

#: Seconds between two looks at a host that is not dead yet.
LOOK = 10.0
#: How often a run looks again for the last client of a QEMU that has ended: Ceph drops it after 30 s.
ENDING_LOOKS = 5
#: The least seconds for which a measurement is good: a round that measures and may not use it would never end.
MEASURED_LEAST = 60.0
#: Seconds from the begin of a round in which that counts.
ROUND_GRACE = 30.0
#: How often guards are asked for anew where a pool was not as it had been read: an owner deleted a server meanwhile.
REGUARDS = 2


class Evacuation(GuardedEvacuation):
    """One call of the operation."""

    # --- one call

    def begin_new(self) -> CallResult:
        """Find who is on the host. Raises Refused, StackguardError: nothing was changed."""
        return self._find(())

    def resume_open(self, journal: Json) -> CallResult:
        """Find who is on the host and in the open operation, which is taken up once all is judged."""
        self.scratch.kind, self.scratch.operation_id = str(journal["kind"]), str(journal["operation_id"])
        self.scratch.plan_sha256 = journal["about"].get(SHA256)
        return self._find(records.servers_of(journal))

    def end_open(self, journal: Json) -> CallResult:
        """Find the same for an abort: it removes guards of what it finds."""
        return self.resume_open(journal)

    def nothing_open(self, action: str) -> CallResult:
        """Return that there is nothing to show or to abort. Raises Refused: a resume begins nothing."""
        if action == lifecycle.RESUME:
            raise lifecycle.nothing_to_resume(self.run, self.operation_text())
        return self._end("none", lifecycle.nothing_open(self.operation_text(), action), over=True)

    def refuse_another(self, journal: Json, action: str) -> None:
        """Refuse nothing yet: which servers are meant is judged once those on the host are read."""

    def refuse_another_plan(self, journal: Json) -> None:
        """Raise Refused for another plan than the approved one, or for options that it did not have."""
        self.approver.resume(journal, self._asked)

    def _find(self, planned: t.Sequence[PlannedServer]) -> CallResult:
        try:
            servers = server_records.servers_on(self.connection, self.host)
        except server_records.SilentCellError:
            # A finding of the preflight.
            servers = []
        self.scratch.uuids = sorted({server.id for server in servers} | {entry.uuid for entry in planned})
        volumes = {volume for server in servers for volume in server.volumes}
        self.scratch.volumes = sorted(volumes | {volume for entry in planned for volume in entry.volumes or []})
        return self._need([needs.read_hosts(self.scratch.uuids, volumes=self.scratch.volumes)])

    def advance(self, scratch: Scratch, answers: Answers) -> CallResult:
        """Take the answers and go on. Raises StackguardError only where the report can not be made either."""
        self.scratch, self.answers = scratch, answers
        try:
            return t.cast("CallResult", getattr(self, f"_{scratch.phase}")())
        except Refused as refused:
            self.scratch.code = refused.code
            if self.opened:
                return self._stop(refused.message, lifecycle.checked_of(refused))
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

    def show_open(self, journal: Json) -> CallResult:
        """Return what is open: the fence and its proof, who has arrived, and who is on the way."""
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
            f"to resume: {self.run.variable('action')}=resume; to abort: {self.run.variable('action')}=abort",
        ]
        self.scratch.operation_id = str(journal["operation_id"])
        self.scratch.ended_well = True
        return self._end(str(journal["state"]), lifecycle.status_text(journal, more), over=True)

    # --- reading

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

    # --- judge

    def _judge(self) -> CallResult:
        other = self._another_reader()
        if other is not None:
            return other
        self._count_requests()
        journal = self.read_open_journal()
        if journal is not None:
            return self._resume(journal)
        if self.options["action"] == lifecycle.RESUME:
            return self.nothing_open(lifecycle.RESUME)
        bundle, about = self._collect()
        servers = placement.guests_of(bundle.cloud, self.host) if bundle.cloud else None
        request = self._request(self.new_id(), servers or [])
        decision = self._preflight(bundle, about, request)
        self.scratch.before = records.plain_checked(decision.checked)
        self.scratch.placements = planner.explained(decision.assignments, decision.destinations)
        for uuid, disks in decision.disks.items():
            self.scratch.placements.setdefault(uuid, {})["disks"] = plain_disks(disks)
        refusing = checks.refusing(decision.checked, self.run.overrides, request.partial, decision.guests)
        if refusing:
            told = terminal.findings_text(decision.checked, self.run.overrides)
            raise Refused(f"refused, nothing was changed: {count(len(refusing), 'blocking finding')}\n{told}")
        if not decision.guests:
            empty = Plan(records.KIND, request.operation_id, self.host, [])
            self.scratch.plan_sha256 = self.approver.nothing(empty, {**self._asked, "servers": []})
            self._look_at_chassis(evacuation_chassis.without_evacuation(self.options))
            services = (bundle.cloud.services if bundle.cloud else None) or []
            if not any(service.host == self.host and service.state == "up" for service in services):
                self._count_requests(dead=True)
            return self._end("clear", f"{self.host} has no servers, so there is nothing to evacuate", over=True)
        return self._planned(bundle, about, request, decision)

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
        plan = plans.plan(request, fence, decision.assignments, images, reason, addresses, decision.disks)
        self.run.say(terminal.plan_text(plan, values=not self.run.diff))
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
            "addresses": records.origins(addresses),
            "proven": records.origins(decision.addresses.seen) if decision.addresses else {},
            "blocklisted": {},
            "order": [guest.uuid for guest in decision.guests],
            # Whether a person chose some servers of the host: then the others stay on purpose.
            records.CHOSEN: self.options["servers"] not in (None, "", []),
            "servers": records.plain(servers),
            "overrides": to_plain(list(self.run.overrides)),
        }
        self._own(OpenJournal.open(self.run, plan, about_))
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
                list(servers[guest.uuid].volumes) if guest.uuid in servers else None,
                checks.files_of(guest, decision.destinations),
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
                f"abort with {self.run.variable('action')}=abort",
                lifecycle.OPERATION_OPEN,
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
        open_journal = OpenJournal.take_up(self.run, journal, said)
        self._own(open_journal, journal)
        self.scratch.resumed = True
        self.scratch.arrived = list(open_journal.memory.get("landed") or [])
        self.run.say(said)
        if self._look_for_late():
            why = (
                rounds.LATE
                if len(self.scratch.late) == 1
                else "these servers came to the host after the evacuation began"
            )
            self.run.say(f"warning: this operation does not evacuate {self._named(self.scratch.late)}, because {why}")
        open_journal.tell(
            fence=fence,
            addresses=addresses or records.addresses_of(journal),
        )
        tried = {
            uuid: {host: why for host, why in hosts.items() if host != rounds.STUCK}
            for uuid, hosts in records.tried(journal).items()
        }
        open_journal.remember(
            tried=tried, intended=[], in_transit=[to_plain(entry) for entry in records.in_transit(journal)]
        )
        return self._to_fence(act=act and not self.scratch.none_left)

    def _same_servers(self, journal: Json) -> None:
        """An option that would be ignored is refused: which servers leave was decided when the operation began."""
        given = self.options["servers"]
        if given in (None, ""):
            return
        known = {entry.uuid: entry.name for entry in records.servers_of(journal)}
        here = server_records.servers_on(self.connection, self.host)
        staying = {uuid for uuid in known if any(server.id == uuid for server in here)}
        words = list(given) if isinstance(given, (list, tuple)) else None
        if words is None:
            # An expression may match nobody any more: then all have left.
            same = set(server_selection.matching_servers(given, here)) == staying
        else:
            # Those that have left are named, too, where the same command is given again.
            named = {uuid for uuid, name in known.items() if {uuid, name} & set(map(str, words))}
            unknown = set(map(str, words)) - set(known) - set(known.values())
            same = not unknown and staying <= named
        if not same:
            raise Refused(
                f"SG706 operation-open: operation {journal['operation_id']} evacuates these servers: "
                f"{', '.join(sorted(known.values()))}. To resume this operation, unset {self.run.variable('servers')}. "
                f"To end this operation, use {self.run.variable('action')}=abort",
                lifecycle.OPERATION_OPEN,
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
            if item.severity == findings.BLOCKER and _is_of_all(item, planned) and _blocks_fence(item, act, lists, held)
        ]
        if findings.blocking_findings(problems, self.run.overrides):
            checked = Checked(tuple(problems))
            self.scratch.before = records.plain_checked(checked)
            raise Refused(
                f"refused, nothing was changed: operation {journal['operation_id']} stays open\n"
                + terminal.findings_text(checked, self.run.overrides)
            )
        found = decision.addresses.by_cluster if decision.addresses else {}
        return records.origins(found) if lists or self.options["also_blocklist"] else {}

    # --- fence

    def _to_fence(self, act: bool) -> CallResult:
        self.scratch.act = act
        self.scratch.phase = "fence"
        if self.options["fence"] == attested.FENCE.name:
            return self.advance(self.scratch, ())
        if act or self.open_journal.state_of(FENCE) != journals.DONE:
            self.open_journal.tell(fenced_by=None)
            self.open_journal.mark(FENCE, journals.APPLYING)
        if act and self._clusters():
            # Noted before it is done: whatever is listed from now on is to be lifted again.
            self._note_listed()
        return self._need(self._fence_needs(act))

    def _fence(self) -> CallResult:
        """The fence has acted and was read back: keep the proof, tell Nova, and look whether the host is dead."""
        fence = self._proven()
        self._extra_fence()
        if isinstance(fence, FenceProof):
            self.open_journal.remember(write=False, proof=to_plain(fence))
            self.run.say(f"{self.host} is fenced: {fence.read}")
        else:
            self.open_journal.tell(attested={"by": fence.person, "reason": fence.reason, "at": self.run.clock.now()})
            self.run.say(f"{fence.person} attests that {self.host} is dead: {fence.reason}")
        self.open_journal.tell(fenced_by=str(self.options["fence"]))
        if self.open_journal.state_of(FENCE) != journals.DONE:
            self.open_journal.mark(FENCE, journals.DONE, fence.read if isinstance(fence, FenceProof) else "attested")
        self._hold()
        # From here on it is only read back.
        self.scratch.act = False
        self.scratch.phase, self.scratch.looks_since = "death", self.run.clock.monotonic()
        return self._need(self._look_again())

    # --- dead?

    def _death(self) -> CallResult:
        self._proven()
        other = self._another_reader()
        if other is not None:
            return other
        bundle, about = self._collect(rounds.ROUND_PARTS)
        planned = records.servers_of(self.open_journal.journal)
        moving_ = rounds.on_the_way(bundle, planned, records.in_transit(self.open_journal.journal))
        self.open_journal.remember(in_transit=[to_plain(entry) for entry in moving_])
        away = {entry.uuid for entry in moving_}
        here = {server.id for server in (bundle.cloud.servers if bundle.cloud else None) or []} - away
        staying = tuple(entry.uuid for entry in planned if entry.uuid in here)
        self.scratch.staying = sorted({*staying, *away})
        request = dataclasses.replace(self._round_request(), servers=staying)
        checked = checks.death(bundle, about, request, self._elsewhere(bundle))
        against_all, _some = rounds.split(findings.blocking_findings(checked.findings, self.run.overrides), staying)
        if not against_all:
            unread = any(item.code == "SG709" for item in checked.findings)
            seen = "" if unread else f", and no Ceph client on {self.host} keeps a server's disk open"
            self.run.say(f"{self.host} is fenced and down{seen}")
            # Before the first reset: what waits for a server that leaves must not be executed when the host starts.
            self._settle_requests(self.scratch.staying, patience=self._patience(bundle, staying))
            return self._to_guard()
        waited = self.run.clock.monotonic() - float(self.scratch.looks_since or 0.0)
        if waited >= float(self.options["death_timeout"]):
            said = terminal.findings_text(Checked(tuple(against_all)), self.run.overrides)
            raise Stopped(
                f"the run has no proof that {self.host} is dead:\n{said}",
                Checked(tuple(against_all), checked.unchecked),
            )
        return self._need(self._look_again(LOOK))

    def _patience(self, bundle: Bundle, staying: t.Container[str]) -> float:
        """Return how long to wait until RabbitMQ has noticed the host's death: not for servers that need no reset.

        At the end of the run, it has noticed, or the run waits then.
        """
        servers = (bundle.cloud.servers if bundle.cloud else None) or []
        tasks = {server.task_state for server in servers if server.id in staying}
        resets = "task" in self.options["reset_states"] and tasks & set(server_state.WAITING_TASKS)
        return waiting_requests.PATIENCE if resets else 0.0

    def _settle_late_requests(self, bundle: Bundle) -> None:
        """Look again where a task is to be reset: its request may be younger than the last look."""
        patience = self._patience(bundle, self.scratch.staying)
        if patience:
            self._settle_requests(self.scratch.staying, patience)

    # --- guards

    def _to_guard(self) -> CallResult:
        """Guard every image of the servers that are still to be sent or in transit.

        A server whose images are not all there as they were keeps itself, and none of the others of its pool.
        """
        servers = self._to_be_guarded()
        if not any(entry.images for entry in servers):
            self.run.say(
                "no server has a disk image in Ceph, so the run makes no guard snapshot. Volumes need no guard "
                "snapshot, because Nova does not delete volumes"
            )
            self.scratch.guarded = sorted(entry.uuid for entry in servers)
            self.open_journal.mark(GUARD, journals.DONE, "no image")
            return self._to_round()
        seen = clients.seen(self._bundle(), {entry.uuid for entry in servers})
        whole = [
            entry for entry in servers if all(_is_there(seen, name, image) for name, image in entry.images.items())
        ]
        homes = self._homes(whole)
        asked = [entry.uuid for entry in whole if entry.images]
        self.open_journal.remember(write=False, guarded=sorted({*records.guarded(self.open_journal.journal), *asked}))
        self.open_journal.mark(GUARD, journals.APPLYING)
        self.scratch.phase = "guard"
        return self._need([needs.guard(homes, self.scratch.operation_id)]) if homes else self._guard()

    def _reguard(self) -> CallResult:
        """The pool was not as it had been read: guard what is there now."""
        return self._to_guard()

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
        self.open_journal.mark(GUARD, journals.DONE, f"{count} images guarded")
        self.run.say(f"{count} images have the guard snapshot stackguard-{self.scratch.operation_id}")
        return self._to_round()

    # --- rounds

    def _to_round(self) -> CallResult:
        self.scratch.phase = "round"
        if self.open_journal.state_of(EVACUATE) != journals.DONE:
            self.open_journal.mark(EVACUATE, journals.APPLYING)
        return self._need(self._look_again())

    def _round(self) -> CallResult:
        self._unguarded()
        self._proven()
        other = self._another_reader()
        if other is not None:
            return other
        self.scratch.rounds += 1
        bundle, about = self._collect(rounds.ROUND_PARTS)
        planned = records.servers_of(self.open_journal.journal)
        known = [entry for entry in planned if entry.uuid not in set(self.open_journal.memory.get("arrived") or [])]
        self._settle_late_requests(bundle)
        result = rounds.run(bundle, about, self._evacuator(), self._passes(bundle, about, known))
        self._note_round(result)
        if result.stopped:
            raise Stopped(f"{self.host} shows signs of life, so the run evacuates no more servers", result.checked)
        done = self._finished_guards(result)
        waits = bool(result.ending) and not result.again and self.scratch.ending_looks < ENDING_LOOKS
        self.scratch.ending_looks += int(waits)
        if (result.again or waits) and self.scratch.rounds < int(self.options["max_rounds"]):
            homes = self._homes(done)
            return self._need(
                [
                    *([needs.guard(homes, self.scratch.operation_id, False)] if homes else []),
                    *self._look_again(LOOK if waits else 0.0),
                ]
            )
        if not result.again:
            self.open_journal.mark(EVACUATE, journals.DONE, _summary(result))
            self.scratch.ended_well = True
        else:
            self.scratch.message = (
                "the run has reached its maximum number of rounds. To resume the evacuation, run the same command again"
            )
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
        began = fence_proof.moment(str(self.open_journal.journal["started_at"]))
        since = None if began is None else self._ago(self.run.clock.epoch() - began.timestamp() + SKEW)
        return rounds.Passes(
            self.connection,
            known,
            self._round_request(),
            self.run.overrides,
            records.tried(self.open_journal.journal),
            records.in_transit(self.open_journal.journal, clocks=True),
            others,
            set(self.scratch.guarded),
            f"stackguard-{self.scratch.operation_id}",
            lambda assigned, resets: self._claim(assigned, resets, known, others),
            self._good(bundle),
            since,
            set(self.open_journal.memory.get("to_stop") or []),
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
            return epoch - read <= measured_for or (begin - read <= MEASURED_LEAST and epoch - begin <= ROUND_GRACE)

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
        memory = self.open_journal.memory
        self._sent_before = records.sent(self.open_journal.journal)
        self.open_journal.remember(
            write=False,
            intended=intended,
            sent=sorted({*records.sent(self.open_journal.journal), *(assignment.uuid for assignment in assigned)}),
            to_stop=sorted({*(memory.get("to_stop") or []), *stopped}),
        )
        uncounted = self.open_journal.write(counted=[f"{entry.uuid} {entry.host}" for entry in others])
        if uncounted:
            self.run.say(
                "another operation has started to move servers since this run read the hosts. The run reads the hosts "
                "again"
            )
            self.open_journal.remember(write=False, intended=[])
        return bool(uncounted)

    def _note_round(self, result: rounds.Round) -> None:
        memory = self.open_journal.memory
        sent = records.sent(self.open_journal.journal)
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
        self.open_journal.remember(
            tried=result.tried,
            sent=sorted(sent),
            in_transit=[to_plain(entry) for entry in result.in_transit],
            intended=[],
            to_stop=sorted(set(memory.get("to_stop") or []) - set(result.put_out)),
            arrived=sorted({*(memory.get("arrived") or []), *arrived}),
            landed=self.scratch.arrived,
        )

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
        guarded = records.guarded(self.open_journal.journal) - self._maybe_in_transit()
        servers = [entry for entry in records.servers_of(self.open_journal.journal) if entry.uuid in guarded]
        self.scratch.phase = "leave"
        homes = self._homes(servers)
        if not homes:
            return self.advance(self.scratch, ())
        self.open_journal.mark(UNGUARD, journals.APPLYING)
        return self._need([needs.guard(homes, self.scratch.operation_id, False)])

    def _leave(self) -> CallResult:
        """Close the journal of what has ended; say what is left of the rest."""
        self._unguarded()
        again = self._through_others(needs.UNGUARD)
        if again:
            return self._need([needs.guard(again, self.scratch.operation_id, False)])
        guarded = sorted(records.guarded(self.open_journal.journal))
        kept = self._maybe_in_transit()
        lasting = [uuid for uuid in guarded if uuid not in kept]
        if lasting:
            far = self._out_of_reach(lasting)
            self._warn(f"guard snapshots may still be on the images of {', '.join(lasting)}.{far}".rstrip("."))
        # All that was tried has ended. Where nothing was sent, nothing is evacuated: another fence, or room, may come.
        over = bool(records.sent(self.open_journal.journal)) or not self.scratch.left
        if self.scratch.ended_well and over and not lasting and not kept & set(guarded):
            self.open_journal.mark(UNGUARD, journals.DONE)
            return self._to_chassis()
        # Nova may still be at some, a guard is left, or nothing was sent: the next run resumes the operation.
        self.scratch.ended_well = False
        at_work = kept & set(guarded)
        if at_work:
            self.open_journal.note(f"guard snapshots remain for {', '.join(sorted(at_work))}")
            said = (
                "Nova may still be evacuating these servers, so the run keeps their guard snapshots: "
                f"{self._named(at_work)}"
            )
            self.scratch.message = ". ".join(part for part in (self.scratch.message, said) if part)
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
            return self._close(ChassisOutcome(why=why[1], problem=why[0]))
        found = self._removal().decide(self.open_journal.memory.get(CHASSIS))
        if isinstance(found, ChassisOutcome):
            return self._close(found)
        if isinstance(found, Objection):
            waited = self.run.clock.monotonic() - float(self.scratch.looks_since or 0.0)
            if found.passing and waited < float(self.options["death_timeout"]):
                return self._need([needs.wait(LOOK)])
            return self._close(ChassisOutcome(why=found.why, problem=found.problem))
        # Noted before it is done: a run after a kill finds it gone, and knows why.
        self.open_journal.remember(write=False, **{CHASSIS: found.name})
        self.open_journal.mark(REMOVE, journals.APPLYING)
        self.scratch.phase, self.scratch.proven, self.scratch.proof = "remove", False, None
        return self._need(self._fence_needs(act=False, extra=False))

    def _remove(self) -> CallResult:
        """The fence was read back after the last server had left: remove the chassis."""
        try:
            self._proven()
        except Stopped as stopped:
            return self._close(ChassisOutcome(why=stopped.message, problem="not-fenced"))
        return self._close(self._removal().remove(str(self.open_journal.memory[CHASSIS]), self._maybe_on))

    def _removal(self) -> ChassisRemoval:
        return ChassisRemoval(self.connection, self.options, self.host, self.run.clock)

    def _not_all_away(self) -> t.Optional[t.Tuple[str, str]]:
        """Return why this run may remove no chassis at all, whatever OVN and neutron show: a key, and in words."""
        if self.options["fence"] not in POWERING_OFF:
            return "fence", f"the fence {self.options['fence']} does not prove that the machine is off"
        wrong = any(entry["state"] == rounds.WRONG for entry in self.scratch.arrived)
        if wrong or self.scratch.left or self._look_for_late() or self._maybe_in_transit():
            return "not-away", f"the run has not verified that each server of {self.host} is on another host"
        return None

    def _close(self, outcome: ChassisOutcome) -> CallResult:
        """Report what of the host is left in OVN, and close the journal."""
        outcome = self._look_at_chassis(outcome)
        if outcome.name is not None:
            self.scratch.removed_chassis = outcome.name
            said = f"OVN chassis {outcome.name} of {self.host} is removed"
            self.open_journal.mark(REMOVE, journals.DONE, said)
            self.run.say(said)
        elif outcome.why:
            said = f"the run did not remove the OVN chassis of {self.host}: {outcome.why}"
            self.open_journal.remember(write=False, chassis_kept=outcome.problem)
            self.open_journal.mark(REMOVE, journals.PENDING, said)
            self.run.say(f"warning: {said}")
        self._look_for_late()
        # Nova took requests for a server on the dead host until the moment when it was on another one.
        self._settle_requests(patience=waiting_requests.PATIENCE)
        self.open_journal.close(journals.FINISHED, "ended")
        return self._end("evacuated", self.scratch.message)

    def _look_at_chassis(self, outcome: ChassisOutcome) -> ChassisOutcome:
        """Note what of the host is left in OVN: also where an earlier run has evacuated its servers."""
        look, outcome = evacuation_chassis.look_after(self.connection, self.options, self.host, self.directory, outcome)
        self.scratch.chassis = records.plain_checked(look)
        return outcome

    # --- abort

    def _abort(self) -> CallResult:
        """Take the journal up, and ask for the removal of guards; of blocklist entries only if nothing was sent."""
        journal = self.read_open_journal()
        if journal is None:
            return self.nothing_open(lifecycle.ABORT)
        if self.run.check_mode:
            self.scratch.changed = self.scratch.ended_well = True
            abort = f"without --check, the run would abort operation {journal['operation_id']}"
            said = f"{abort}\n{lifecycle.status_text(journal)}"
            return self._end(str(journal["state"]), said, over=True)
        bundle, _about = self._collect(rounds.ROUND_PARTS)
        open_journal = OpenJournal.take_up(self.run, journal, "abort started")
        self._own(open_journal, journal)
        self.scratch.resumed = True
        planned = records.servers_of(journal)
        moving_ = self._in_transit_now(bundle, planned)
        if moving_:
            raise Stopped(
                f"Nova is still evacuating {', '.join(moving_)}. Run the abort again when these evacuations have ended"
            )
        earlier = self._same_outage(bundle, [journal])
        needed = [records.blocklisted(entry) for entry in earlier if records.sent(entry)]
        kept = records.together([open_journal.about.get("listed_before") or {}, *needed])
        open_journal.tell(kept_listed=kept)
        open_journal.note("abort started", journals.ROLLING_BACK)
        self.scratch.phase = "aborting"
        found = self._abort_needs(planned)
        return self._need(found) if found else self.advance(self.scratch, ())

    def _in_transit_now(self, bundle: Bundle, planned: t.Sequence[PlannedServer]) -> t.List[str]:
        """Return the names of servers at which Nova is. Raises Stopped where that was not read of all."""
        cloud = bundle.cloud
        unread = {entry.part for entry in cloud.unread} if cloud is not None else set()
        if cloud is None or cloud.servers is None or cloud.migrations is None or SILENT_CELLS in unread:
            raise Stopped(
                "the run could not read which servers Nova is still evacuating, so the run removes no guard snapshot"
            )
        if cloud.services is None:
            # Its hold leads to the earlier operations of this outage, which may need the blocklist still.
            raise Stopped(
                f"the run could not read the compute service of {self.host}, so the run removes no blocklist entry"
            )
        here = {server.id for server in cloud.servers}
        names = [entry.name for entry in rounds.on_the_way(bundle, planned, [])]
        noted = {str(entry["uuid"]): entry for entry in journals.in_transit(self.open_journal.journal)}
        for uuid in sorted(set(noted) - here):
            server = server_records.server_as_listed(self.connection, uuid)
            if server is not None and (
                same_name(self.host, server.host) or (server.task_state or "").startswith(rounds.TASK)
            ):
                names.append(server.name)
        return names

    def _abort_needs(self, planned: t.Sequence[PlannedServer]) -> t.List[Json]:
        found = []
        homes = self._homes(planned)
        if homes:
            self.open_journal.mark(GUARD, journals.UNDOING)
            found.append(needs.guard(homes, self.scratch.operation_id, False))
        clusters = [] if records.sent(self.open_journal.journal) else self._listed_clusters()
        if clusters:
            self.open_journal.mark(FENCE, journals.UNDOING)
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

    def _close_aborted(self) -> CallResult:
        left = sorted(records.guarded(self.open_journal.journal))
        if left:
            far = self._out_of_reach(left)
            raise Stopped(
                f"guard snapshots are still on the images of {', '.join(left)}. Run the abort again.{far}".rstrip(".")
            )
        if self.open_journal.state_of(GUARD) == journals.UNDOING:
            self.open_journal.mark(GUARD, journals.UNDONE)
        sent = records.sent(self.open_journal.journal)
        if not sent and self._to_lift():
            raise Stopped(
                f"these entries are still on the OSD blocklist: {json.dumps(self._to_lift(), sort_keys=True)}. "
                "Run the abort again"
            )
        kept = records.together([records.blocklisted(self.open_journal.journal)])
        if sent:
            said = (
                f"the operation requested the evacuation of {len(sent)} servers, so {self.host} stays disabled and "
                "fenced. Run return_host before you start nova-compute on this host"
            )
        else:
            self._release()
            said = (
                "the operation has requested no evacuation. The abort restores the earlier status and forced_down of "
                f"the compute service of {self.host}, unless another user has changed the service's disabled reason. "
                "If the fence switched off the machine or its network ports, switch the machine or the ports "
                "on again"
            )
            if kept:
                said += (
                    ". The abort keeps the entries that were on the OSD blocklist before the operation: "
                    f"{json.dumps(kept, sort_keys=True)}"
                )
        self.open_journal.close(journals.ROLLED_BACK, said)
        self.scratch.ended_well = True
        return self._end("aborted", said)


def _is_of_all(item: Finding, servers: t.Sequence[str]) -> bool:
    """Whether a finding is about more than one server: what keeps one of them is judged in the rounds."""
    if item.object.kind == "instance":
        return False
    return item.object.kind == "host" or checks.server_of(item, servers) is None


def _blocks_fence(item: Finding, act: bool, lists: bool, held: bool) -> bool:
    """Whether a finding stands against a fence on resume. ``lists``: by blocklist; ``held``: who runs is known."""
    if item.code == "SG506" and findings.ALIVE in item.evidence:
        return not held
    return act or (lists and item.code in ("SG506", "SG518", "SG709"))


def _is_there(seen: t.Mapping[str, t.Sequence[clients.SeenImage]], name: str, image: DiskImage) -> bool:
    """Whether an image was seen where it was when the operation began, with the same id."""
    return any(entry.home == (image.fsid, image.pool) and entry.image.id == image.id for entry in seen.get(name, []))


def _summary(result: rounds.Round) -> str:
    verified = sum(1 for entry in result.arrived if entry.state == rounds.VERIFIED)
    return (
        f"in the most recent round, the run verified {verified} servers on other hosts, and {len(result.left)} servers "
        "are still on the dead host"
    )
