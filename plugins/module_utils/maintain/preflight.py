# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May these hosts be maintained one after the other? Every reason why not, of the whole series, at once. Pure.

What stands against a single host or server is what a drain of it would say. What only a series can say is whether it
has room to its end: see :mod:`series`.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity import series
from ..capacity.leaving_guests import Guest
from ..capacity.measured import RUNNING, by_nova_name, demand_mib, destinations
from ..capacity.planner import Assignments
from ..hazards import in_flight, memory
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiService, Bundle, HostFacts
from ..model.findings import Checked, Finding, Override, Subject, Unchecked, blocking_findings, finding
from ..model.lookups import OURS, Index, Items, gather
from ..model.requests import EvacuationRequest, MigrationRequest
from ..moves import preflight as moves
from ..moves.preflight import Evidence

#: How an operation of this collection leaves a host disabled that is to be enabled again.
DRAINED = "drained (stackguard operation "


@dataclasses.dataclass(frozen=True)
class SeriesRequest:
    """A series of hosts, by their names in Nova. ``moves``: how servers leave each."""

    hosts: t.Tuple[str, ...]
    moves: MigrationRequest
    serial: int = 1
    keep_free: int = 1

    def of_host(self, host: str) -> MigrationRequest:
        """Return how the servers of one host leave it."""
        return dataclasses.replace(self.moves, drain_host=host)


@dataclasses.dataclass(frozen=True)
class SeriesDecision:
    """What was found, and the batches of the series."""

    checked: Checked
    batches: t.Tuple[series.Batch, ...] = ()
    guests: t.Mapping[str, t.Sequence[Guest]] = dataclasses.field(default_factory=dict)
    services: t.Mapping[str, ApiService] = dataclasses.field(default_factory=dict)
    providers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def refused(self, overrides: t.Sequence[Override]) -> t.List[Finding]:
        """Return what forbids the series."""
        return blocking_findings(self.checked.findings, overrides)


def held_as(operation_id: str) -> str:
    """Return the reason under which a series disables a host: its lock."""
    return f"{OURS}maintain:{operation_id}"


def nova_names(bundle: Bundle, asked: t.Sequence[str]) -> t.Tuple[t.List[str], t.List[str]]:
    """Return Nova's names of hosts that are given by these or by the inventory's names, and what cannot be used."""
    known = by_nova_name(bundle)
    inventory = {facts.inventory_name: name for name, facts in known.items()}
    found: t.List[str] = []
    problems: t.List[str] = []
    for word in asked:
        name = word if word in known else inventory.get(word)
        if name is None:
            why = bundle.unreachable.get(word, "no host that was read has this name, in Nova or in the inventory")
            problems.append(f"{word}: {why}")
        elif word in known and inventory.get(word, word) != word:
            problems.append(f"{word}: this is the name of one host in Nova, and of another one in the inventory")
        elif name in found:
            problems.append(f"{word}: the host is named twice")
        else:
            found.append(name)
    return found, problems


def judge(
    evidence: Evidence,
    request: SeriesRequest,
    deleted: t.Mapping[str, t.Mapping[str, str]],
    overrides: t.Sequence[Override] = (),
) -> SeriesDecision:
    """Judge a series. ``deleted``: by host, name by uuid of the servers on it that their owners can have back."""
    items: t.List[t.Union[Finding, Unchecked]] = []
    guests: t.Dict[str, t.Sequence[Guest]] = {}
    passed: t.Dict[str, t.Tuple[str, ...]] = {}
    for host in request.hosts:
        found = moves.judged(_alone(evidence, host, deleted), request.of_host(host), overrides, able=True)
        if isinstance(found, Finding):
            return SeriesDecision(Checked((found,)))
        items += [*found.checked.findings, *found.checked.unchecked]
        guests[host] = found.guests
        passed.update(found.passed)
    items += _automation(evidence.bundle, request.hosts)
    everywhere = destinations(evidence.bundle, evidence.about, request.moves.arithmetic, evidence.sent)
    batches = series.play(
        series.Cloud(
            everywhere,
            guests,
            loads(evidence.bundle, request.moves.arithmetic),
            all_pages(evidence.bundle),
            evidence.about.member_hosts or {},
            passed,
        ),
        request.hosts,
        request.serial,
        request.keep_free,
        request.moves.arithmetic,
    )
    items += _room(batches, guests, everywhere, request)
    items += memory.unmeasured(everywhere, {guest.zone for found in guests.values() for guest in found})
    services = {entry.host: entry for entry in evidence.zones.services or [] if entry.host in request.hosts}
    providers = {
        str(node.service_host): node.id
        for node in evidence.zones.hypervisors or []
        if node.service_host in request.hosts
    }
    return SeriesDecision(gather(_once(items)), tuple(batches), guests, services, providers)


def _alone(evidence: Evidence, host: str, deleted: t.Mapping[str, t.Mapping[str, str]]) -> Evidence:
    """What a drain of this host alone would look at."""
    servers = [server for server in evidence.zones.servers or [] if server.host == host]
    return dataclasses.replace(
        evidence,
        zones=dataclasses.replace(evidence.zones, servers=servers),
        about=dataclasses.replace(evidence.about, soft_deleted=dict(deleted.get(host, {}))),
    )


def _automation(bundle: Bundle, hosts: t.Sequence[str]) -> Items:
    """SG708: a host that reboots is down, and what evacuates by itself does so then."""
    index, known = Index(bundle), by_nova_name(bundle)
    for host in hosts:
        yield from in_flight.ha_automation(index, known[host]) if host in known else ()


def _room(
    batches: t.Sequence[series.Batch],
    guests: t.Mapping[str, t.Sequence[Guest]],
    hosts: t.Sequence[t.Any],
    request: SeriesRequest,
) -> Items:
    for batch in batches:
        missing = [guest for found in guests.values() for guest in found]
        unplaced = Assignments([], list(batch.unassigned))
        yield from memory.unassigned(
            missing, hosts, unplaced, batch.hosts[0], moves.remedies(request.moves), moves.CODES
        )
        for zone in batch.no_spare:
            seen = {
                "zone": zone.zone,
                "hosts under maintenance": list(batch.hosts),
                "if these failed then": list(zone.failing),
                "guests without a place, MiB": zone.lacking_mib,
                "room on the other hosts, MiB": zone.room_mib,
            }
            yield finding("SG501", Subject("host", batch.hosts[0]), seen, remedy_text("SG501", "zone-without-spare"))


def loads(bundle: Bundle, request: EvacuationRequest) -> t.Dict[str, t.List[int]]:
    """Return, by host, what each of its running guests takes of measured memory elsewhere, MiB."""
    return {
        name: [
            demand_mib(0 if domain.hugepage_kib is not None else domain.memory_mib, request)
            for domain in facts.domains or []
            if domain.state in RUNNING
        ]
        for name, facts in by_nova_name(bundle).items()
    }


def all_pages(bundle: Bundle) -> t.Dict[str, t.Dict[t.Tuple[t.Optional[int], int], int]]:
    """Return, by host, the huge pages that are free once nothing runs there."""
    return {name: _all_pages(facts) for name, facts in by_nova_name(bundle).items() if facts.hugepages is not None}


def _all_pages(facts: HostFacts) -> t.Dict[t.Tuple[t.Optional[int], int], int]:
    return {(entry.numa_node, entry.size_kib): max(0, entry.total - entry.reserved) for entry in facts.hugepages or []}


def _once(items: t.Sequence[t.Union[Finding, Unchecked]]) -> t.List[t.Union[Finding, Unchecked]]:
    """What concerns all hosts is said of each of them."""
    found: t.Dict[str, t.Union[Finding, Unchecked]] = {}
    for item in items:
        found.setdefault(repr(item), item)
    return list(found.values())
