# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every phase of an evacuation works with: the run, its journal, what was read, and how a call ends."""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import (
    IncomingServer,
    by_nova_name,
    in_transit,
    merge_sent,
)
from ..engine import lifecycle, needs, waiting_requests
from ..engine.lifecycle import OpenJournal, Run
from ..engine.operation import Operation
from ..hazards import clients, waiting
from ..model import fence_proof, findings
from ..model.facts import Bundle, EvacuationFacts
from ..model.findings import BLOCKER, WARNING, Checked
from ..model.lookups import same_name
from ..model.requests import EvacuationRequest
from ..model.wording import count
from ..records import evidence
from ..records import journal as journals
from ..reports import terminal
from ..systems.api import server_records
from ..systems.db import nova
from . import options as evacuation_options
from . import preflight as checks
from . import readers as disk_readers
from . import record as records
from . import round as rounds
from .readers import Home
from .scratch import CallResult, Scratch

Json = t.Dict[str, t.Any]
Answers = t.Sequence[t.Mapping[str, t.Any]]

#: Of a request that the run has removed; and in the journal's memory, their ids by queue.
REMOVED, REQUESTS = "SG121", "requests_removed"


class EvacuationCall(Operation):
    """One call of the operation: what all its phases share."""

    BACK = lifecycle.ABORT

    def __init__(self, run: Run, connection: t.Any, directory: str, operation_id: t.Callable[[], str]) -> None:
        super().__init__(run)
        self.options = dict(run.options)
        self.host = str(run.options["evacuate_host"])
        self.connection = connection
        self.directory = directory
        self.new_id = operation_id
        self.scratch = Scratch()
        self.answers: Answers = ()
        self._open_journal: t.Optional[OpenJournal] = None
        self._looked: t.Optional[t.Tuple[Bundle, EvacuationFacts]] = None
        #: Who had been sent before the round that is at work.
        self._sent_before: t.Optional[t.Set[str]] = None
        #: Addresses of the machine on which this runs, which are never the dead host's.
        self.controllers: t.Sequence[str] = ()

    # --- what is open

    @property
    def _asked(self) -> Json:
        return evacuation_options.asked(self.options, self.run.overrides)

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"evacuation of {self.host}"

    def kind(self) -> str:
        """Return the kind of journal."""
        return records.kind_of(self.host)

    def _stored(self) -> t.Optional[Json]:
        """Return the open journal, whatever other journals there are: for a run that has begun."""
        (found,) = self.run.state.call([lifecycle.open_request(self.kind())])
        return t.cast("t.Optional[Json]", found["journal"])

    @property
    def open_journal(self) -> OpenJournal:
        """The open journal. Raises StackguardError where it is not open any more, or another run has it."""
        if self._open_journal is None:
            self._open_journal = OpenJournal.held(self.run, self._stored(), self.scratch.operation_id)
        return self._open_journal

    @property
    def opened(self) -> bool:
        """Whether this run has an operation of its own: opened, or taken up."""
        return self.scratch.owned

    def _own(self, open_journal: OpenJournal, before: t.Optional[Json] = None) -> None:
        """Take an operation: opened now, or taken over: the temporary directory of the run before (``before``) goes."""
        self._open_journal = open_journal
        if before is not None:
            evidence.remove_stale(before, self.directory)
        self.scratch.kind, self.scratch.operation_id = str(open_journal.journal["kind"]), open_journal.operation_id
        self.scratch.owned, self.scratch.changed = True, True
        self.scratch.names = {entry.uuid: entry.name for entry in records.servers_of(open_journal.journal)}

    def _closed(self) -> t.List[Json]:
        return [entry for entry in lifecycle.closed_journals(self.run, records.KIND) if records.is_of(entry, self.host)]

    # --- reading

    def _collect(self, parts: t.Sequence[str] = rounds.PARTS) -> t.Tuple[Bundle, EvacuationFacts]:
        if self._looked is None:
            planned = records.servers_of(self.open_journal.journal) if self.opened else []
            known = evidence.load_about(self.directory) if self.opened else None
            bundle, about = rounds.collect(self.connection, self.host, self.directory, planned, parts, known)
            about = self._with_cells(about)
            self._looked = bundle, about
            evidence.save_part(self.directory, evidence.ABOUT, about)
            self.scratch.collected_at, self.scratch.hosts = bundle.collected_at, len(bundle.hosts)
            for server in (bundle.cloud.servers if bundle.cloud else None) or []:
                self.scratch.status[server.id] = server.status
        return self._looked

    def _with_cells(self, about: EvacuationFacts) -> EvacuationFacts:
        url = self.options.get("nova_api_db_url")
        return nova.with_cells(about, str(url), [self.host]) if url else about

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

        The run asks no other host again: what the other hosts have read belongs to the same look. The run requests no
        evacuation after the proof, or the measurement of the destination, has expired.
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

    def _is_gone(self, uuid: str) -> bool:
        return server_records.raw_server(self.connection, uuid) is None

    def _elsewhere(self, bundle: Bundle) -> clients.EvidenceElsewhere:
        """Return addresses that this reading does not show: of the controller, and those proven earlier.

        Earlier is this outage only: the open operation, and one that has ended and holds the host still. An address of
        an older one may have a new owner.
        """
        found = [entry for entry in lifecycle.open_journals(self.run) if records.is_of(entry, self.host)]
        ended = self._same_outage(bundle, found)
        earlier: t.Dict[t.Tuple[str, str], t.Set[str]] = {}
        for journal in [*ended, *found]:
            for address, fsid, origin in records.proven_addresses(journal):
                earlier.setdefault((address, fsid), set()).add(origin)
        by_locks = frozenset(pair for pair, origins in earlier.items() if origins == {clients.Origin.LOCKS.value})
        return clients.EvidenceElsewhere(
            tuple(earlier), tuple(self.controllers), tuple(self.options["never_blocklist"]), by_locks
        )

    def _same_outage(self, bundle: Bundle, opened: t.Iterable[Json]) -> t.List[t.Mapping[str, t.Any]]:
        """Return the operations that have ended and whose fence may still be needed."""
        services = (bundle.cloud.services if bundle.cloud else None) or []
        holds = {service.disabled_reason for service in services if same_name(service.host, self.host)}
        holds |= {(entry["about"].get("service") or {}).get("reason") for entry in opened}
        return records.same_outage(self._closed(), holds, checks.reason_of)

    def _look_for_late(self) -> bool:
        """Note the servers on the dead host that the operation began without. Raises StackguardError: not read.

        The machine may have come back and died again, with servers that Nova put on it in between. An owner may have
        reverted a resize. Those whom a person left out when the operation began are none.
        """
        if self.open_journal.about.get(records.CHOSEN):
            return False
        here = server_records.servers_on(self.connection, self.host)
        known = {entry.uuid for entry in records.servers_of(self.open_journal.journal)}
        late = {server.id: server for server in here if server.id not in known}
        self.scratch.late = sorted(late)
        self.scratch.status.update({uuid: server.status for uuid, server in late.items()})
        self.scratch.names.update({uuid: server.name for uuid, server in late.items()})
        return bool(late)

    def _others(self, about: EvacuationFacts) -> t.List[IncomingServer]:
        """Return what other operations have in transit, by their journals, and all else by Nova's own records."""
        noted = []
        for journal in lifecycle.open_journals(self.run):
            if str(journal["operation_id"]) == self.scratch.operation_id:
                continue
            noted += [records.incoming(entry) for entry in journals.in_transit(journal) if entry.get("target")]
        mine = set(self.scratch.uuids)
        return merge_sent(noted, [entry for entry in in_transit(about) if entry.uuid not in mine])

    # --- requests that wait for the host in RabbitMQ

    def _count_requests(self, dead: bool = False) -> None:
        """Count them from outside, before anything is touched. ``dead``: and nothing looks at them later."""
        found = waiting_requests.count(self.options, self.connection, self.host, dead)
        self.scratch.requests = records.plain_checked(found)
        self.scratch.queue_read = not found.unchecked
        self.run.say(terminal.findings_text(found))

    def _settle_requests(self, leaving: t.Iterable[str] = (), patience: float = 0.0) -> None:
        """Remove what the host must not execute. What is left keeps nova-compute stopped, and no server here."""
        found = waiting_requests.settle(
            self.options, self.connection, self.host, self._note_requests, frozenset(leaving), patience
        )
        self.scratch.queue_read = not found.unchecked and not findings.blocking_findings(found.findings, ())
        items = [
            dataclasses.replace(item, severity=WARNING) if item.severity == BLOCKER else item for item in found.findings
        ]
        known = [item for item in records.checked_of(self.scratch.requests).findings if item.code == REMOVED]
        self.scratch.requests = records.plain_checked(Checked((*known, *items), found.unchecked))
        self.run.say(terminal.findings_text(found))

    def _note_requests(self, ids: t.Mapping[str, t.Sequence[str]]) -> None:
        """Write the ids of what is about to be removed into the journal, beside those of earlier looks."""
        before = self.open_journal.memory.get(REQUESTS) or {}
        known = {name: sorted({*before.get(name, ()), *ids.get(name, ())}) for name in {*before, *ids}}
        self.open_journal.remember(requests_removed=known)

    def _requests_left(self) -> str:
        """Return what is to be done before nova-compute of the host starts again; empty: nothing."""
        found = records.checked_of(self.scratch.requests)
        if found.unchecked:
            return (
                f"Requests may wait in RabbitMQ for {self.host}, and its nova-compute executes them at its next start, "
                f"wherever the servers are. Before nova-compute starts on {self.host}, look at the queues and delete "
                f"them. {waiting.commands(self.host)}"
            )
        held = [item for item in found.findings if item.code != REMOVED and item.severity == WARNING]
        if held:
            return (
                f"{count(len(held), 'request')} in RabbitMQ still wait for {self.host}. Keep nova-compute on "
                f"{self.host} stopped until return_host ends with the state 'clear'"
            )
        return ""

    # --- the request

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
            queue_read=self.scratch.queue_read,
        )

    def _preflight(
        self, bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer] = ()
    ) -> checks.EvacuationDecision:
        others = merge_sent(sent, self._others(about))
        elsewhere = self._elsewhere(bundle)
        overrides, fence = self.run.overrides, self.options["fence"]
        return checks.preflight(bundle, about, request, overrides, fence, others, elsewhere=elsewhere)

    # --- the end of a call

    def _warn(self, said: str) -> None:
        self.run.say(f"warning: {said}")
        self.scratch.warned.append(said)

    def _named(self, uuids: t.Iterable[str]) -> str:
        return ", ".join(sorted(self.scratch.names.get(uuid, uuid) for uuid in uuids))

    def _need(self, found: t.Sequence[Json]) -> CallResult:
        return CallResult(list(found), self.scratch)

    def _end(self, state: str, message: str, over: bool = False) -> CallResult:
        """End the run. ``over``: what was decided is all there is to report; nothing was carried out."""
        self.scratch.state, self.scratch.message = state, message
        self.scratch.ended_well = self.scratch.ended_well or (over and state in ("clear", "planned", "none", "resumed"))
        self.scratch.over = True
        self.scratch.requests_left = self._requests_left() if self.opened else ""
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
        self.scratch.left.update(dict.fromkeys(self.scratch.late, rounds.LATE))
        return CallResult([], self.scratch, self._report())

    def _report(self) -> Json:
        scratch = self.scratch
        parts = [
            records.checked_of(part)
            for part in (scratch.before, scratch.stopping, scratch.last, scratch.chassis)
            if part
        ]
        waits = [records.checked_of(scratch.requests)] if scratch.requests else []
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
                code = scratch.code or code
                said = scratch.message.partition("\n")[0]
            unchecked.append(findings.Unchecked(code, self.host, said))
        left = scratch.left if scratch.rounds else dict.fromkeys(scratch.late, rounds.LATE)
        stays = rounds.stays(left, scratch.names, self.host, scratch.status, scratch.late)
        checked = findings.merged([*parts, *waits, Checked(tuple(stays), tuple(unchecked))])
        report = findings.report(
            checked, scratch.collected_at or self.run.clock.now(), scratch.hosts, len(scratch.uuids), self.run.overrides
        )
        return report if scratch.ended_well and scratch.state != "refused" else findings.as_refused(report)
