# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What operations left in Ceph and on compute services, and no open operation needs. SG515, SG516, SG720. Pure.

An operation is open while a journal says so: one of the journal directory, or one on a host. Without the journal
directory nothing is said to be left, and nothing to be needed: it is undecided.
"""

from __future__ import annotations

import typing as t

from ..capacity.measured import by_nova_name
from ..model import blocklists
from ..model.codes.catalogue import remedy_text
from ..model.commands import Commands, for_host, playbook
from ..model.facts import (
    NOOUT_ITSELF,
    BlocklistEntry,
    CephOsd,
    HostFacts,
    OperationRecord,
    RbdFacts,
    UnknownJournal,
)
from ..model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import OURS, Index, Items, same_name
from ..records.operation_records import EVACUATE
from . import osds as host_osds

_UNREAD = "the journals of operations were not read (stackguard_state_dir on stackguard_state_host)"
_UNKNOWN = "this version of the collection does not understand a journal (SG706)"


def check(index: Index) -> Items:
    """Return what is left, wherever it was read."""
    yield from blocklist(index)
    yield from holds(index)
    yield from noout(index)


def guarding(index: Index) -> t.Optional[t.Set[str]]:
    """Return operations whose guard snapshots are no leak: open ones, and those that hold a host without any journal.

    A closed operation needs no guard any more, though its host is held until it returns, which may be never. None:
    neither journals nor holds were read, or there is a journal of which not even the operation is known.
    """
    if index.bundle.operations is None and _services_unread(index):
        return None
    if any(entry.operation_id is None for entry in _unknown(index)):
        return None
    closed = {record.operation_id for record in index.bundle.operations or [] if not record.open}
    held = {operation for _host, _kind, operation in _held(index)}
    return _open(index) | (held - closed)


def _open(index: Index) -> t.Set[str]:
    """Return operations that a journal says are open: of the journal directory, or of any host."""
    on_hosts = {entry.operation_id for facts in index.bundle.hosts.values() for entry in facts.open_operations or []}
    unknown = {entry.operation_id for entry in _unknown(index) if entry.operation_id is not None}
    return on_hosts | unknown | {record.operation_id for record in index.bundle.operations or [] if record.open}


def _unknown(index: Index) -> t.List[UnknownJournal]:
    """Return the journals that are not understood: of the journal directory, or of any host."""
    on_hosts = (entry for facts in index.bundle.hosts.values() for entry in facts.unknown_journals)
    return [*index.bundle.unknown_journals, *on_hosts]


def _services_unread(index: Index) -> bool:
    return index.api_services is None and not index.cells_read("services")


def _held(index: Index) -> t.List[t.Tuple[str, str, str]]:
    """Return host, kind and operation of each compute service that this collection holds."""
    reasons: t.Dict[str, t.Optional[str]] = {str(row.host): row.disabled_reason for _cell, row in index.services}
    if index.api_services is not None:
        reasons = {str(row.host): row.disabled_reason for row in index.api_services}
    found = []
    for host, reason in sorted(reasons.items()):
        if (reason or "").startswith(OURS):
            kind, _colon, operation = str(reason)[len(OURS) :].rpartition(":")
            found.append((host, kind, operation))
    return found


# --- blocklist ------------------------------------------------------------------------------------------------


def blocklist(index: Index) -> Items:
    """SG515: entries for whole addresses that no open operation needs. Those of single clients are Ceph's own."""
    views = [facts.rbd for _name, facts in sorted(index.bundle.hosts.items()) if facts.rbd is not None]
    read: t.Dict[str, RbdFacts] = {}
    for rbd in views:
        if rbd.fsid is not None and rbd.blocklist is not None:
            read.setdefault(rbd.fsid, rbd)
    if not views:
        yield Unchecked("SG515", "all", "Ceph was not read on any host")
    for fsid in sorted({rbd.fsid or "a Ceph cluster without a known fsid" for rbd in views} - set(read)):
        yield Unchecked("SG515", fsid, "the OSD blocklist of this cluster was not read")
    for record in index.bundle.operations or []:
        for fsid in sorted(set(record.blocklisted) - set(read)) if views else ():
            yield Unchecked(
                "SG515",
                fsid,
                f"operation {record.operation_id} put addresses on the blocklist, but the blocklist was not read",
            )
    for fsid, rbd in sorted(read.items()):
        for entry in sorted(rbd.blocklist or [], key=lambda item: item.address):
            yield from _entry(index, fsid, rbd, entry)


def _entry(index: Index, fsid: str, rbd: RbdFacts, entry: BlocklistEntry) -> Items:
    address, span = blocklists.whole(entry), blocklists.network(entry)
    if address is None and span is None:
        return
    owners = _owners(index, entry)
    journals = [] if address is None else _journals(index, fsid, address)
    if any(record.open for record in journals):
        return
    living = [host for host in owners if _lives(index, host)]
    # A range is an administrator's: it is reported only where it keeps a living host from its disks.
    if address is None and not living:
        return
    if not living and (index.bundle.operations is None or index.bundle.unknown_journals):
        why = _UNREAD if index.bundle.operations is None else _UNKNOWN
        yield Unchecked("SG515", f"{fsid}: {entry.address}", why)
        return
    evidence = {
        "cluster": fsid,
        "entry": entry.address,
        "until": entry.until,
        "address of": owners or "no known host",
        "operations": [{"id": record.operation_id, "host": record.host, "state": record.state} for record in journals],
    }
    command = blocklists.removal(entry, rbd.blocklist_word)
    subject = Subject("host", address or str(span), host=living[0] if living else None)
    remedy, commands = _way_out(owners, living, journals, command)
    yield finding("SG515", subject, evidence, remedy, BLOCKER if living else WARNING, commands)


def _way_out(
    owners: t.Sequence[str], living: t.Sequence[str], journals: t.Sequence[OperationRecord], command: str
) -> t.Tuple[str, Commands]:
    if living:
        return remedy_text("SG515", "host-alive", host=living[0], command=command), ()
    hosts = sorted({record.host for record in journals if record.host} or set(owners))
    if hosts:
        remedy = remedy_text("SG515", "host-away", host=hosts[0], command=command)
        return remedy, playbook("return_host", hosts[0], "return_host")
    return remedy_text("SG515", "host-unknown", command=command), ()


def _journals(index: Index, fsid: str, address: str) -> t.List[OperationRecord]:
    """Return the operations that listed an address on a cluster, or on one that they do not name."""
    return [
        record
        for record in index.bundle.operations or []
        if any(blocklists.plain(one) == address for one in [*record.blocklisted.get(fsid, []), *record.addresses])
    ]


def _owners(index: Index, entry: BlocklistEntry) -> t.List[str]:
    """Return the compute hosts whose address an entry refuses: as read on them, else as Nova knows it."""
    found = {name for name, facts in by_nova_name(index.bundle).items() if _has(facts, entry)}
    cloud = index.bundle.cloud
    for node in (cloud.hypervisors if cloud else None) or []:
        if node.service_host and node.host_ip and blocklists.covers(entry, node.host_ip):
            found.add(node.service_host)
    return sorted(found)


def _has(facts: HostFacts, entry: BlocklistEntry) -> bool:
    client = facts.rbd.client_address if facts.rbd else None
    return any(blocklists.covers(entry, one) for one in [*(facts.addresses or []), *([client] if client else [])])


def _lives(index: Index, host: str) -> bool:
    """Whether a host is at work: it was read, or Nova sees its service up; and no evacuation holds it."""
    if any(name == host and kind == EVACUATE for name, kind, _operation in _held(index)):
        return False
    up = any(service.host == host and service.state == "up" for service in index.api_services or [])
    return up or host in by_nova_name(index.bundle)


# --- holds ----------------------------------------------------------------------------------------------------


def holds(index: Index) -> Items:
    """SG516: a compute service that is disabled by an operation of which no open journal was found."""
    if _services_unread(index):
        yield Unchecked("SG516", "all", "the compute services were not read")
    known = {record.operation_id: record for record in index.bundle.operations or []}
    for host, kind, operation in _held(index):
        if operation in _open(index):
            continue
        unread = _unread(index, host, kind, closed=operation in known)
        if unread is not None:
            yield Unchecked("SG516", host, unread)
            continue
        record = known.get(operation)
        evidence = {
            "disabled reason": f"{OURS}{kind}:{operation}",
            "journal": "none was found" if record is None else f"closed, {record.state}",
        }
        remedy = remedy_text("SG516", "operation-not-open", host=host)
        commands = for_host(("openstack", "compute", "service", "set", "--enable"), host, "nova-compute")
        if kind == EVACUATE:
            remedy = remedy_text("SG516", "evacuation-not-open", host=host)
            look = for_host(("openstack", "compute", "service", "list", "--host"), host)
            commands = (*look, *playbook("return_host", host, "return_host"))
        yield finding("SG516", Subject("host", host), evidence, remedy, commands=commands)


def _unread(index: Index, host: str, kind: str, closed: bool) -> t.Optional[str]:
    """Say which place with journals was not read, so that the operation may be open there; None: all were."""
    if closed:
        return None
    if index.bundle.operations is None:
        return _UNREAD
    if any(entry.operation_id is None for entry in index.bundle.unknown_journals):
        return _UNKNOWN
    if kind == EVACUATE:
        # Its journal is never on the host itself, which is dead.
        return None
    facts = next((facts for name, facts in by_nova_name(index.bundle).items() if same_name(name, host)), None)
    if facts is None or facts.open_operations is None:
        return f"the journals on {host} were not read"
    if any(entry.operation_id is None for entry in facts.unknown_journals):
        return _UNKNOWN
    return None


# --- noout ----------------------------------------------------------------------------------------------------

_MAINTAIN = "maintain"


def noout(index: Index) -> Items:
    """SG720: OSDs of a compute host that have noout by themselves, and no open series has set it."""
    views = [facts.rbd for _name, facts in sorted(index.bundle.hosts.items()) if facts.rbd is not None]
    read: t.Dict[str, t.Sequence[CephOsd]] = {}
    for rbd in views:
        if rbd.fsid is not None and rbd.osds is not None:
            read.setdefault(rbd.fsid, rbd.osds)
    if not views:
        yield Unchecked("SG720", "all", "Ceph was not read on any host")
    for fsid in sorted({rbd.fsid or "a Ceph cluster without a known fsid" for rbd in views} - set(read)):
        yield Unchecked("SG720", fsid, "noout of the OSDs of this cluster was not read")
    for fsid, osds in sorted(read.items()):
        marked = [osd for osd in osds if NOOUT_ITSELF in osd.noout]
        for host, facts in sorted(by_nova_name(index.bundle).items()) if marked else ():
            here = [osd for osd in marked if host_osds.runs_on(osd, facts)]
            if here:
                yield from _marked(index, fsid, host, here)


def _marked(index: Index, fsid: str, host: str, osds: t.Sequence[CephOsd]) -> Items:
    if _services_unread(index):
        yield Unchecked("SG720", host, "the compute services were not read")
        return
    series = [name for held, kind, name in _held(index) if kind == _MAINTAIN and same_name(held, host)]
    if any(name in _open(index) for name in series):
        return
    known = {record.operation_id: record for record in index.bundle.operations or []}
    unread = _unread(index, host, _MAINTAIN, closed=series[0] in known) if series else None
    if unread is not None:
        yield Unchecked("SG720", host, unread)
        return
    numbers = [osd.id for osd in osds]
    record = known.get(series[0]) if series else None
    evidence = {
        "cluster": fsid,
        "OSDs": host_osds.named(numbers),
        "set by": f"series {series[0]}" if series else "not known",
        "since": record.started_at if record is not None else "not known",
        "down": host_osds.named(osd.id for osd in osds if not osd.up),
    }
    words = " ".join(map(str, sorted(numbers)))
    if evidence["down"]:
        remedy = remedy_text("SG720", "osds-down", osds=", ".join(evidence["down"]))
    elif series:
        remedy = remedy_text("SG720", "series-not-open", operation=series[0], numbers=words)
    else:
        remedy = remedy_text("SG720", "nobody-known", numbers=words)
    yield finding("SG720", Subject("host", host, host=host), evidence, remedy, WARNING if series else INFO)
