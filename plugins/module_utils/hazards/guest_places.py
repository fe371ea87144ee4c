# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Has each server exactly one domain, where Nova shows it? SG108, SG109, SG132. Pure.

Asked of all hosts that were read, because no single host can answer it: a domain that is a stray to its own host may be
the only copy of the guest. Every operation asks the same of every server that it touches.

A server whose last write was lost is on one host in Nova and on another one in libvirt: Nova ends a live migration,
confirms a resize and evacuates by a record (C(migrations)) that says where the server went, and by a row that says
where it is (nova/compute/manager.py, C(_post_live_migration), C(_confirm_resize), C(_finish_resize); 26 to 34). Nova
itself never brings the two together again (C(_sync_power_states): an active server without a domain is left as it is).

A host that was not read leaves a server undecided only where there is a reason to ask: no domain is where Nova shows
the server, a domain is elsewhere, or the last migration says that the server went to that very host. Otherwise one
silent host would make every other host's servers undecided.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import RUNNING
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    ApiMigration,
    ApiServer,
    CellFacts,
    HostFacts,
    InstanceRow,
    MigrationRow,
)
from ..model.findings import (
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
    with_remedy,
)
from ..model.lookups import (
    FINISHED,
    Index,
    Items,
    in_progress,
    migration_evidence,
    row_of,
    same_name,
    touches,
    uuid_key,
)
from ..model.names import conf_host
from . import clients, owners

CODE = "SG132"
STRAY = "SG108"
MISSING = "SG109"
#: libvirt's words for a guest that executes.
EXECUTES = ("running", "blocked")
#: The state of a QEMU that runs, and that libvirt does not show.
LOST = "not shown by libvirt"
#: vm_states in which an instance has no domain on its host, or perhaps none yet (nova/compute/vm_states.py).
_NO_DOMAIN = ("building", "shelved_offloaded", "deleted")
#: Statuses of a migration after which its server is on the destination.
_ARRIVED = ("completed", "confirmed", "done", FINISHED)
#: What of the same server is told by :data:`CODE` in its place, for one cause has one remedy.
JOINED = (STRAY, MISSING, "SG306", "SG507", "SG509", "SG517", "SG701", "SG703", "SG710", "SG711")


@dataclasses.dataclass(frozen=True)
class ShownServer:
    """A server as Nova shows it. ``source``: where that was read."""

    uuid: str
    name: t.Optional[str]
    host: t.Optional[str]
    state: t.Optional[str]
    task: t.Optional[str]
    source: str


def of_row(cell: CellFacts, row: InstanceRow) -> ShownServer:
    """Return a server as its cell has it."""
    return ShownServer(row.uuid, row.display_name, row.host, row.vm_state, row.task_state, f"cell {cell.name}")


def of_api(server: ApiServer) -> ShownServer:
    """Return a server as the API shows it."""
    state = server.vm_state or server.status
    return ShownServer(server.id, server.name, server.host, state, server.task_state, "compute API")


@dataclasses.dataclass(frozen=True)
class Copy:
    """A domain of a server on a host (``host``: Nova's name of it), or a QEMU that libvirt does not show."""

    host: str
    inventory_name: str
    state: str
    pid: t.Optional[int]

    @property
    def alive(self) -> bool:
        """Whether a QEMU process exists."""
        return self.state in RUNNING or self.state == LOST

    @property
    def told(self) -> str:
        """Its state, for people."""
        return self.state if self.pid is None else f"{self.state}, process {self.pid}"


@dataclasses.dataclass(frozen=True)
class GuestPlace:
    """Where Nova shows a server, and where its domains were seen.

    ``here``: on Nova's host; ``there``: elsewhere, and not explained by a migration that is open.
    """

    server: ShownServer
    here: t.Tuple[Copy, ...]
    there: t.Tuple[Copy, ...]
    #: Whether the domains of Nova's host were read.
    read: bool
    #: All hosts whose domains were not read and that may have the server.
    unread: t.Tuple[str, ...]
    #: Its newest migration, and where that was read.
    last: t.Optional[t.Tuple[str, MigrationRow]]
    #: Whether an open migration explains that its host has no domain of it.
    moving: bool
    #: Whether its task says that it is migrating, and no migration is open.
    forgotten: bool

    @property
    def left(self) -> bool:
        """Whether its last migration took it away from where Nova shows it."""
        return self.last is not None and took_away(self.last[1], self.server.host)

    @property
    def missing(self) -> bool:
        """Whether Nova's host should have a domain of it, and has none."""
        if self.here or not self.read or self.moving or self.server.state in _NO_DOMAIN:
            return False
        return self.server.task is None or self.left or self.forgotten

    @property
    def stray(self) -> bool:
        """Whether what is elsewhere is surely not the only copy, nor the newer one."""
        return bool(self.there) and not self.left and any(copy.state in EXECUTES for copy in self.here)

    @property
    def elsewhere(self) -> bool:
        """Whether it is not where Nova shows it, or nobody can say which of its domains it is."""
        if self.there:
            return not self.stray
        return self.missing and self.left and not self.unread

    @property
    def undecided(self) -> t.Tuple[str, ...]:
        """Hosts that were not read, where there is a reason to ask."""
        if self.there or self.missing:
            return () if self.stray else self.unread
        if self.left and self.last is not None:
            return tuple(host for host in self.unread if same_name(host, self.last[1].dest_compute))
        return ()


def took_away(row: MigrationRow, host: t.Optional[str]) -> bool:
    """Whether a migration that ended took its server from this host to another one."""
    return (
        not row.deleted
        and row.status in _ARRIVED
        and row.dest_compute is not None
        and same_name(row.source_compute, host)
        and not same_name(row.dest_compute, host)
    )


def name_of(index: Index, facts: HostFacts) -> t.Optional[str]:
    """Return what the databases call a host: one whose name changed is still at home where its node is (SG106).

    Its guests prove it. A copy of another host's compute_id file proves nothing, and such a copy has none of them.
    """
    host = conf_host(facts)
    node = owners.own_node(index, facts)
    if host is not None and node is not None and node.host is not None and not index.nodes_by_host.get(host):
        uuids = {row.uuid for _cell, row in index.instances_by_host.get(node.host, [])}
        if any(domain.uuid in uuids for domain in facts.domains or []):
            return node.host
    return host


def look(index: Index, servers: t.Iterable[ShownServer], hosts: t.Iterable[str] = ()) -> t.List[GuestPlace]:
    """Return where servers are, by all hosts that were read. ``hosts``: compute hosts that the index does not know."""
    wanted = {uuid_key(server.uuid): server for server in servers}
    if not wanted:
        return []
    copies: t.Dict[str, t.List[Copy]] = {key: [] for key in wanted}
    known: t.Set[str] = set()
    read: t.Set[str] = set()
    for _name, facts in sorted(index.bundle.hosts.items()):
        host = name_of(index, facts) or facts.inventory_name
        (known if facts.domains is None else read).add(host)
        for key, copy in _copies(facts, host, wanted):
            copies[key].append(copy)
    known |= {*hosts, *index.compute_hosts, *index.bundle.unreachable}
    known |= {server.host for server in wanted.values() if server.host is not None}
    # A host that did not answer is not read, whatever another one calls itself.
    read -= {entry for entry in read if any(same_name(entry, name) for name in index.bundle.unreachable)}
    done = {entry.casefold() for entry in read}
    unread = sorted(entry for entry in known if entry.casefold() not in done)
    return [_place(index, server, copies[key], read, unread) for key, server in sorted(wanted.items())]


def _copies(facts: HostFacts, host: str, wanted: t.Container[str]) -> t.Iterator[t.Tuple[str, Copy]]:
    shown: t.Set[str] = set()
    for domain in facts.domains or []:
        key = uuid_key(domain.uuid)
        if key in wanted:
            shown.add(key)
            yield key, Copy(host, facts.inventory_name, domain.state, domain.pid)
    for uuid, pid in sorted((facts.qemu_processes or {}).items()):
        key = uuid_key(uuid)
        if key in wanted and key not in shown:
            yield key, Copy(host, facts.inventory_name, LOST, pid)


def _place(
    index: Index, server: ShownServer, copies: t.Sequence[Copy], read: t.Iterable[str], unread: t.Sequence[str]
) -> GuestPlace:
    rows = index.migrations_by_instance.get(server.uuid, [])

    def explains(host: t.Optional[str]) -> bool:
        return host is not None and any(
            touches(row, host) and (in_progress(row) or (row.status == FINISHED and not took_away(row, server.host)))
            for row in rows
        )

    here = tuple(copy for copy in copies if same_name(copy.host, server.host))
    there = tuple(copy for copy in copies if not same_name(copy.host, server.host) and not explains(copy.host))
    is_read = any(same_name(name, server.host) for name in read)
    last = index.last_migrations.get(server.uuid)
    # A server with this task always has an open migration.
    forgotten = server.task == "migrating" and index.migrations_read
    return GuestPlace(server, here, there, is_read, tuple(unread), last, explains(server.host), forgotten)


# --- findings -------------------------------------------------------------------------------------------------


def items(index: Index, servers: t.Iterable[ShownServer]) -> Items:
    """SG108, SG109 and SG132 of servers, and what is undecided."""
    for place in look(index, servers):
        yield from _told(index, place)
        if place.missing and not place.elsewhere:
            yield _missing(index, place)


def against_touching(index: Index, servers: t.Iterable[ShownServer], hosts: t.Iterable[str] = ()) -> Items:
    """Return what stands against touching servers: SG108, SG132, and SG709 where there is a reason to ask more hosts.

    ``hosts``: compute hosts that the index does not know. That Nova's host has no domain is the caller's to judge, once
    it is known that no other host has one.
    """
    for place in look(index, servers, hosts):
        yield from _told(index, place)
        if place.undecided and not place.elsewhere:
            evidence = {**_evidence(place), "not read": list(place.undecided)}
            remedy = remedy_text("SG709", "hosts-unread", hosts=", ".join(place.undecided))
            yield finding("SG709", _subject(place.server), evidence, remedy)


def by_record(server: ApiServer, last: t.Optional[ApiMigration]) -> Items:
    """SG709: no host is read, and the last migration of the server went to another host than Nova shows."""
    if last is None or not took_away(row_of(last), server.host):
        return
    place = GuestPlace(
        of_api(server), (), (), False, (str(last.dest_compute),), ("compute API", row_of(last)), False, False
    )
    remedy = remedy_text("SG709", "last-migration-elsewhere", host=server.host, destination=last.dest_compute)
    yield finding("SG709", _subject(place.server), {**_evidence(place), "not read": list(place.unread)}, remedy)


def _told(index: Index, place: GuestPlace) -> Items:
    if place.elsewhere:
        yield _elsewhere(index, place)
    elif place.stray:
        for copy in place.there:
            yield _stray(index, place, copy)
    if place.undecided:
        yield Unchecked(CODE, place.server.uuid, _why_undecided(place))


def _why_undecided(place: GuestPlace) -> str:
    hosts = ", ".join(place.undecided)
    if place.there:
        return f"the server has a domain on another host than {place.server.host}, and the run did not read {hosts}"
    if place.missing:
        return f"{place.server.host} has no domain of the server, and the run did not read {hosts}"
    return f"the server's last migration went to {hosts}, and the run did not read this host"


def _subject(server: ShownServer) -> Subject:
    return Subject("instance", server.uuid, server.name, server.host)


def _evidence(place: GuestPlace) -> t.Dict[str, t.Any]:
    server, copies = place.server, (*place.here, *place.there)
    evidence: t.Dict[str, t.Any] = {
        "read from": server.source,
        "host": server.host,
        "vm_state": server.state,
        "task_state": server.task,
        "domains": len(copies),
        "domains on": {copy.host: copy.told for copy in copies},
    }
    if place.last is not None:
        evidence["last migration"] = migration_evidence(place.last[1], place.last[0])
    return evidence


def _ports(index: Index, uuid: str) -> t.Dict[str, t.Optional[str]]:
    cloud = index.bundle.cloud
    return {port.id: port.binding_host_id for port in (cloud.ports if cloud else None) or [] if port.device_id == uuid}


def _elsewhere(index: Index, place: GuestPlace) -> Finding:
    """SG132. What may be done depends on what only people know: no remedy here changes the guest."""
    evidence = _evidence(place)
    ports = _ports(index, place.server.uuid)
    evidence.update({"ports bound to": ports} if ports else {})
    evidence.update({"not read": list(place.undecided)} if place.undecided else {})
    return finding(CODE, _subject(place.server), evidence, _way_out(place))


def _way_out(place: GuestPlace) -> str:
    uuid, home = place.server.uuid, place.server.host or "no host"
    alive = [copy for copy in (*place.here, *place.there) if copy.alive]
    if place.undecided:
        return remedy_text(CODE, "hosts-unread", hosts=", ".join(place.undecided), uuid=uuid)
    if len(alive) > 1:
        return remedy_text(CODE, "runs-several-times", hosts=" and ".join(copy.host for copy in alive), uuid=uuid)
    if alive:
        state = "arrived" if _arrived(place, alive[0]) else "runs-elsewhere"
        return remedy_text(CODE, state, host=alive[0].host, home=home, uuid=uuid)
    if place.there:
        defined = " and ".join(copy.host for copy in (*place.here, *place.there))
        return remedy_text(CODE, "off-elsewhere", hosts=defined, home=home, uuid=uuid)
    went = place.last[1].dest_compute if place.last else None
    return remedy_text(CODE, "no-domain", home=home, went=went, uuid=uuid)


def _arrived(place: GuestPlace, copy: Copy) -> bool:
    """Return True if a live migration has ended where the only domain of a server runs (links/arrived)."""
    if place.last is None or place.here or len(place.there) != 1 or copy.state != "running":
        return False
    row = place.last[1]
    live = row.migration_type == "live-migration" and row.status == "completed"
    return live and same_name(row.dest_compute, copy.host)


def _stray(index: Index, place: GuestPlace, copy: Copy) -> Finding:
    """SG108: the guest executes where Nova shows it, and has another domain here."""
    uuid, home = place.server.uuid, place.server.host
    evidence = {
        "libvirt": [copy.inventory_name, copy.state, copy.pid],
        "database": [place.server.source, home, place.server.state],
        "this host": copy.host,
        "also on": {entry.host: entry.told for entry in place.here},
        "evacuations": [entry.status for entry in index.migrations_by_instance.get(uuid, [])],
    }
    if not copy.alive:
        state = "stray-off"
    elif copy.state == LOST:
        state = "stray-hidden-from-libvirt"
    else:
        state = "stray-alive"
    remedy = remedy_text(STRAY, state, host=copy.host, home=home, uuid=uuid)
    return finding(STRAY, Subject("domain", uuid, place.server.name, copy.host), evidence, remedy)


def _missing(index: Index, place: GuestPlace) -> Finding:
    server = place.server
    evidence = {
        "read from": server.source,
        "vm_state": server.state,
        "host": server.host,
        **({"not read": list(place.unread)} if place.unread else {}),
    }
    if place.unread:
        remedy = remedy_text(MISSING, "hosts-unread", hosts=", ".join(place.unread))
    elif server.task is None and not _opened(index, server.uuid):
        remedy = remedy_text(MISSING, "disks-closed")
    else:
        remedy = remedy_text(MISSING, "task-or-disks-open")
    # A build that failed leaves an instance in error and no domain.
    return finding(MISSING, _subject(server), evidence, remedy, WARNING if server.state == "error" else None)


def _opened(index: Index, uuid: str) -> bool:
    """Whether a client has, or may have, one of a server's disks open."""
    places = [entry for found in clients.seen(index.bundle, {uuid}).values() for entry in found]
    return not places or any(entry.image.watchers is None or entry.image.watchers for entry in places)


# --- one cause, one finding -----------------------------------------------------------------------------------


def joined(checked: Checked) -> Checked:
    """Tell everything about a server that is not where Nova shows it once, and nothing that rests on Nova's host.

    Of a server that is undecided, each finding stays, and its remedy is to read what was not read.
    """
    found = {item.object.id: item for item in checked.findings if item.code == CODE}
    undecided = {entry.object for entry in checked.unchecked if entry.code == CODE}
    if not found and not undecided:
        return checked
    told: t.Dict[str, t.List[Finding]] = {uuid: [] for uuid in found}
    kept: t.List[Finding] = []
    wanted = {*found, *undecided}
    for item in checked.findings:
        uuid = _server_of(item, wanted)
        if uuid is None or item.code == CODE:
            kept.append(item)
        elif uuid in found and item.code in JOINED:
            told[uuid].append(item)
        elif item.code in (*JOINED, "SG113"):
            kept.append(with_remedy(item, remedy_text(item.code, "place-undecided")))
        else:
            kept.append(item)
    return Checked(
        tuple(_with(item, told[item.object.id]) if item.code == CODE else item for item in kept), checked.unchecked
    )


def _with(item: Finding, others: t.Sequence[Finding]) -> Finding:
    seen = {f"{entry.code} {entry.object.kind} {entry.object.id}": dict(entry.evidence) for entry in others}
    joins = {**item.evidence.get("joins", {}), **seen}
    return dataclasses.replace(item, evidence={**item.evidence, "joins": joins}) if joins else item


def _server_of(item: Finding, wanted: t.Container[str]) -> t.Optional[str]:
    """Return which of these servers a finding is about."""
    subject = item.object
    image = subject.id.rpartition("/")[2].partition("_")[0] if subject.kind == "image" else None
    names = (subject.id, subject.name, item.evidence.get("device"), image)
    return next((name for name in names if isinstance(name, str) and name in wanted), None)
