# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Did a server arrive where its only guest runs, so that its row may be corrected? SG714. Pure.

Nova ends a live migration with a write at the destination. Where that is lost the guest runs there, and Nova shows the
source (SG132). Every condition of :data:`CONDITIONS` must hold: each stands for a state in which a corrected row would
be wrong, or would hide something that Nova keeps elsewhere (nova/compute/manager.py, C(_post_live_migration) and
C(_do_post_live_migration_at_destination), 26 to 34).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...hazards import guest_places, owners
from ...model import releases, times
from ...model.arrival import ArrivalFacts, ArrivedRow
from ...model.codes.catalogue import remedy_text
from ...model.facts import ComputeNodeRow, DatabaseFacts, InstanceRow, MigrationRow
from ...model.findings import Checked, Finding, Subject, finding
from ...model.host_facts import Domain, HostFacts
from ...model.lookups import (
    COMPUTE,
    OURS,
    ComputeNode,
    Index,
    file_uuid,
    in_progress,
    same_name,
    same_uuid,
    uuid_key,
)

CODE = "SG714"
#: Seconds since the migration ended, by Nova's clocks: its own ends (allocations, queues) have timed out by then.
SETTLED = 600
#: What a server may hold of placement. Anything else (PCPU, VGPU, bandwidth, PMEM, accelerators) is claimed on a host.
PLAIN = frozenset({"VCPU", "MEMORY_MB", "DISK_GB"})
_RUNNING = "running"
_LIVE = "live-migration"


@dataclasses.dataclass(frozen=True)
class ArrivalDecision:
    """What was found, and what is to be written where nothing forbids it."""

    checked: Checked
    row: t.Optional[ArrivedRow] = None
    #: Its newest migration.
    migration: t.Optional[MigrationRow] = None
    #: Process of its QEMU: number and start.
    process: t.Tuple[t.Optional[int], t.Optional[int]] = (None, None)


class ArrivalCase:
    """A server with everything that was read of it, found once."""

    def __init__(self, facts: ArrivalFacts) -> None:
        self.facts = facts
        self.cell = facts.rows.cell
        databases = DatabaseFacts("", None, [self.cell], None, None)
        self.index = Index(dataclasses.replace(facts.bundle, databases=databases, cloud=None))
        self.row: InstanceRow = (self.cell.instances or [])[0]
        (self.place,) = guest_places.look(self.index, [guest_places.of_row(self.cell, self.row)], self.compute_hosts)
        self.last = next((row for row in reversed(self.cell.migrations or []) if not row.deleted), None)

    @property
    def compute_hosts(self) -> t.List[str]:
        """All hosts of the cell that have a compute service."""
        services = self.cell.services or []
        return sorted(
            {str(entry.host) for entry in services if entry.binary == COMPUTE and not entry.deleted and entry.host}
        )

    @property
    def dest(self) -> t.Optional[str]:
        """The host where its only domain is; None: it has none, or several."""
        copies = (*self.place.here, *self.place.there)
        return copies[0].host if len(copies) == 1 else None

    def hosts_called(self, name: t.Optional[str]) -> t.List[HostFacts]:
        """Return the hosts that were read under this name of Nova's."""
        read = self.facts.bundle.hosts.values()
        return [entry for entry in read if same_name(guest_places.name_of(self.index, entry), name)]

    @property
    def domain(self) -> t.Optional[Domain]:
        """Its only domain."""
        found = [
            domain
            for entry in self.facts.bundle.hosts.values()
            for domain in entry.domains or []
            if uuid_key(domain.uuid) == uuid_key(self.row.uuid)
        ]
        return found[0] if len(found) == 1 else None

    @property
    def node(self) -> t.Optional[ComputeNodeRow]:
        """The only compute node of the destination."""
        return self.node_of(self.dest)

    def node_of(self, host: t.Optional[str]) -> t.Optional[ComputeNodeRow]:
        """Return the only compute node of a host."""
        found = [row for row in self.cell.compute_nodes or [] if not row.deleted and row.host == host]
        return found[0] if len(found) == 1 else None


#: What a condition says: why it does not hold, or None.
_Condition = t.Callable[[ArrivalCase], t.Optional[str]]


def _hosts_read(case: ArrivalCase) -> t.Optional[str]:
    unread = list(case.place.unread)
    blind = [facts.inventory_name for facts in case.facts.bundle.hosts.values() if facts.qemu_processes is None]
    missing = sorted({*unread, *blind, *case.facts.bundle.unreachable})
    return f"the run could not read the domains and QEMU processes of {', '.join(missing)}" if missing else None


def _one_name_each(case: ArrivalCase) -> t.Optional[str]:
    for name in (case.row.host, case.dest):
        found = [facts.inventory_name for facts in case.hosts_called(name)]
        if name is not None and len(found) != 1:
            return f"{len(found)} hosts that the run has read call themselves {name}: {', '.join(found) or 'none'}"
    return None


def _schema_known(case: ArrivalCase) -> t.Optional[str]:
    if releases.of_main_revision(case.cell.revision):
        return None
    return f"this version does not know the schema {case.cell.revision} of cell {case.cell.name}"


def _one_domain(case: ArrivalCase) -> t.Optional[str]:
    place = case.place
    copies = [f"{copy.host}: {copy.told}" for copy in (*place.here, *place.there)]
    if len(copies) == 1 and place.there and place.there[0].state == _RUNNING and case.domain and case.domain.pid:
        return None
    return f"not exactly one domain, running elsewhere than on {case.row.host}: {'; '.join(copies) or 'none'}"


def _no_job(case: ArrivalCase) -> t.Optional[str]:
    domain = case.domain
    if domain is not None and domain.job is False:
        return None
    return "libvirt has a job of the domain in progress, or does not tell"


def _came_live(case: ArrivalCase) -> t.Optional[str]:
    last, dest = case.last, case.dest
    if last is None or not guest_places.took_away(last, case.row.host) or not same_name(last.dest_compute, dest):
        return f"the last migration does not lead from {case.row.host} to {dest}"
    if last.migration_type != _LIVE or last.status != "completed":
        return f"the last migration is not a completed live migration: {last.migration_type}, {last.status}"
    node = case.node
    if last.dest_node and node is not None and not same_name(last.dest_node, node.hypervisor_hostname):
        return f"the last migration went to node {last.dest_node}, not to {node.hypervisor_hostname}"
    return None


def other_migration(case: ArrivalCase) -> t.Optional[str]:
    """Return which migration of the server is in progress or waits for its confirmation; None: none."""
    waits = [row for row in case.cell.migrations or [] if in_progress(row) or row.status == "finished"]
    return f"migration {waits[0].uuid} is {waits[0].status}" if waits else None


def _settled(case: ArrivalCase) -> t.Optional[str]:
    """Ask how long ago the migration ended by the newest heartbeat in the same database: both are Nova's clocks."""
    beats = [times.moment(entry.last_seen_up) for entry in case.cell.services or [] if not entry.deleted]
    newest = max((beat for beat in beats if beat is not None), default=None)
    ended = times.moment(case.facts.rows.migration_written.get(case.last.id)) if case.last is not None else None
    if newest is None or ended is None:
        return "it is not known when the migration ended"
    age = (newest - ended).total_seconds()
    return None if age > SETTLED else f"the migration ended {int(age)} s ago, and {SETTLED} s must have passed"


def _at_rest(case: ArrivalCase) -> t.Optional[str]:
    row = case.row
    if row.vm_state == "active" and row.task_state in (None, "migrating"):
        return None
    return f"the server is {row.vm_state}, task {row.task_state}"


def _one_node(case: ArrivalCase) -> t.Optional[str]:
    node = case.node
    if node is None or node.hypervisor_hostname is None or node.uuid is None:
        return f"cell {case.cell.name} does not have exactly one compute node of {case.dest}"
    found = case.hosts_called(case.dest)
    if found and same_uuid(file_uuid(found[0]), node.uuid) and _has_names(found[0], node):
        return None
    return f"the compute_id file and the names of {case.dest} are not those of compute node {node.uuid}"


def _has_names(facts: HostFacts, node: ComputeNodeRow) -> bool:
    shown = ComputeNode(node.uuid, node.host, node.hypervisor_hostname, node.hypervisor_type, "cell")
    return facts.libvirt is not None and owners.has_names(facts, shown)


def _no_operation(case: ArrivalCase) -> t.Optional[str]:
    for entry in case.cell.services or []:
        named = any(same_name(entry.host, name) for name in (case.row.host, case.dest))
        if named and not entry.deleted and (entry.disabled_reason or "").startswith(OURS):
            return f"an operation holds {entry.host}: {entry.disabled_reason}"
    return None


def _plain(case: ArrivalCase) -> t.Optional[str]:
    rows, domain = case.facts.rows, case.domain
    held = [*rows.holds, *(["pci_devices"] if rows.pci_devices else [])]
    if domain is not None:
        held += ["vTPM"] * (domain.vtpm is not False) + ["encrypted memory"] * (domain.encrypted is not False)
        held += domain.ties.devices if domain.ties is not None else ["devices of the host, unread"]
    used = {name for found in _allocations(case) for name in found} - PLAIN
    held += sorted(used)
    return f"the server holds what Nova claims on a host: {', '.join(held)}" if held else None


def _allocations(case: ArrivalCase) -> t.Iterable[t.Mapping[str, int]]:
    facts = case.facts
    return (*facts.allocations.values(), *facts.migration_allocations.values())


def _no_volumes(case: ArrivalCase) -> t.Optional[str]:
    if not case.facts.rows.volumes and not case.facts.server.volumes:
        return None
    return "the server has volumes, whose attachments may belong to the source"


def _allocated(case: ArrivalCase) -> t.Optional[str]:
    facts, node, home = case.facts, case.node, case.node_of(case.row.host)
    if node is None or not facts.allocations or {facts.roots[uuid] for uuid in facts.allocations} != {node.uuid}:
        return f"the server's own allocation is not on the provider of {case.dest} alone: {sorted(facts.allocations)}"
    held = {facts.roots[uuid] for uuid in facts.migration_allocations}
    if held - {home.uuid if home is not None else None}:
        return f"the migration holds an allocation elsewhere than on {case.row.host}: {sorted(held)}"
    return None


def _bound(case: ArrivalCase) -> t.Optional[str]:
    for port, bindings in sorted(case.facts.bindings.items()):
        if not bindings.get(str(case.dest)) or set(bindings) - {case.dest, case.row.host}:
            return f"port {port} has bindings for {', '.join(sorted(bindings)) or 'no host'}"
    return None


def _nothing_waits(case: ArrivalCase) -> t.Optional[str]:
    waiting = case.facts.waiting
    if waiting.unchecked:
        return waiting.unchecked[0].reason
    found = [f"{item.code} {item.object.id}" for item in waiting.findings]
    return f"requests wait in RabbitMQ: {', '.join(found)}" if found else None


#: By the word under which the finding names it.
CONDITIONS: t.Dict[str, _Condition] = {
    "hosts": _hosts_read,
    "names": _one_name_each,
    "schema": _schema_known,
    "domain": _one_domain,
    "job": _no_job,
    "migration": _came_live,
    "other migrations": other_migration,
    "age": _settled,
    "state": _at_rest,
    "node": _one_node,
    "operation": _no_operation,
    "devices": _plain,
    "volumes": _no_volumes,
    "allocations": _allocated,
    "bindings": _bound,
    "queue": _nothing_waits,
}


def preflight(facts: ArrivalFacts) -> ArrivalDecision:
    """Judge whether the row of a server may be corrected: all conditions, not the first that fails."""
    case = ArrivalCase(facts)
    missing = {name: why for name, condition in CONDITIONS.items() for why in [condition(case)] if why is not None}
    if missing:
        return ArrivalDecision(Checked((_refusal(case, missing),)))
    row, domain = _row(case), t.cast("Domain", case.domain)
    return ArrivalDecision(Checked(), row, case.last, (domain.pid, domain.pid_start))


def home_of_guest(facts: ArrivalFacts) -> t.Optional[str]:
    """Return where Nova shows a server, if its only domain runs there: nothing is to be repaired; None otherwise."""
    case = ArrivalCase(facts)
    place = case.place
    alone = len(place.here) == 1 and not place.there and _hosts_read(case) is None
    return case.row.host if alone and place.here[0].state == _RUNNING and case.row.task_state is None else None


def _refusal(case: ArrivalCase, missing: t.Mapping[str, str]) -> Finding:
    row = case.row
    subject = Subject("instance", row.uuid, row.display_name, row.host)
    state = "unread" if "hosts" in missing else "not-certain"
    return finding(CODE, subject, {"not so": dict(missing)}, remedy_text(CODE, state))


def _row(case: ArrivalCase) -> ArrivedRow:
    row, node = case.row, t.cast("ComputeNodeRow", case.node)
    return ArrivedRow(
        cell=case.cell.name,
        id=row.id,
        uuid=row.uuid,
        host=str(row.host),
        node=row.node,
        compute_id=row.compute_id,
        task=row.task_state,
        written=case.facts.rows.row_written,
        dest=str(node.host),
        dest_node=str(node.hypervisor_hostname),
        dest_id=node.id,
        row_compute_id=case.cell.has_compute_id,
    )
