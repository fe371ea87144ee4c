# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG331: a host that Nova has no more, or that nobody has seen, and what is left of it everywhere. Pure.

Each check of one place would report its own part. One finding names all places, in the place of those that say no
more. That a host is in no inventory proves nothing of its machine: a finding says what it knows, and no more.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from ..model import blocklists
from ..model.codes.catalogue import remedy_text
from ..model.facts import BlocklistEntry, ComputeNodeRow, ResourceProvider
from ..model.findings import BLOCKER, INFO, WARNING, Checked, Finding, Subject, Unchecked, finding
from ..model.lookups import COMPUTE, OURS, Index, open_evacuation, uuid_key
from ..model.names import conf_host, short
from ..model.ovn import chassis_of
from ..model.stored_names import name_key
from . import ovn

CODE = "SG331"
#: Consumers of a provider that a finding names.
SHOWN = 10
#: Of a service's state, where it does not run.
_DOWN = "down"
_ORDER = (INFO, WARNING, BLOCKER)
Places = t.Dict[str, t.Any]


def instead(index: Index, checked: Checked) -> Checked:
    """Return the findings with one for each host that is gone, in the place of those that it explains."""
    why = _undecided(index)
    if why is not None:
        return checked + Checked(unchecked=(Unchecked(CODE, "all", why),))
    found, kept = [], list(checked.findings)
    for host in gone_hosts(index):
        if host.places:
            mine = [item for item in kept if host.explains(item)]
            kept = [item for item in kept if item not in mine]
            found.append(left_finding(host, mine))
    return Checked((*found, *kept), (*checked.unchecked, *_unread(index)))


def gone_hosts(index: Index) -> t.List[Gone]:
    """Return every host that is gone, or that is down and was not seen, whether anything is left of it or not."""
    known = Known(index)
    return [host for host in (Gone(index, known, names) for names in _candidates(index)) if host.is_gone]


# --- what was read


def _undecided(index: Index) -> t.Optional[str]:
    """Return why nothing at all is known; None: Nova's services, nodes and servers were read, of every cell."""
    if index.narrowed or (index.bundle.cloud is not None and index.bundle.cloud.scope):
        return "the run has read this of some hosts only"
    for table in ("services", "compute_nodes", "instances"):
        if not index.cells_read(table):
            return f"{table.replace('_', ' ')} of at least one cell were not read, so no host is known to be gone"
    return None


def _unread(index: Index) -> t.Iterator[Unchecked]:
    """Say of each place that was not read that something may be left there."""
    databases, cloud = index.bundle.databases, index.bundle.cloud
    parts: t.Dict[str, bool] = {
        "host mappings": databases is None or databases.api is None or databases.api.host_mappings is None,
        "aggregates": _members(index) is None,
        "resource providers": index.providers is None or any(row.strays is None for row in index.providers),
        "network agents": cloud is None or cloud.agents is None,
        "hosts of Masakari": cloud is None or cloud.ha_hosts is None,
        "services of Cinder": cloud is None or cloud.block_storage is None or cloud.block_storage.services is None,
        "state of the compute services": index.api_services is None,
        "blocklist of Ceph": not any(facts.rbd and facts.rbd.blocklist is not None for facts in _hosts(index)),
        "journals of operations": index.bundle.operations is None,
    }
    facts = databases.ovn if databases else None
    # That a cloud with OVN was not asked for it is told once, by OVN's own codes.
    parts["chassis of OVN"] = facts.chassis is None if facts is not None else ovn.why_it_matters(index) is not None
    brokers = databases.brokers if databases else None
    parts["queues of RabbitMQ"] = brokers is None or any(entry.waiting is None for entry in brokers)
    for what in sorted(part for part, missing in parts.items() if missing):
        yield Unchecked(CODE, what, f"the run has not read all {what}, so a removed host may have left something there")


def _hosts(index: Index) -> t.List[t.Any]:
    return [index.bundle.hosts[name] for name in sorted(index.bundle.hosts)]


def _members(index: Index) -> t.Optional[t.List[t.Tuple[str, str]]]:
    """Return the members of aggregates, each with its aggregate's name; None: neither store was read."""
    databases, cloud = index.bundle.databases, index.bundle.cloud
    stored = databases.api.aggregate_hosts if databases and databases.api else None
    shown = cloud.aggregates if cloud else None
    if stored is None and shown is None:
        return None
    rows = [(str(row.host), str(row.aggregate_name)) for row in stored or []]
    return sorted({*rows, *((host, entry.name) for entry in shown or [] for host in entry.hosts)})


def _candidates(index: Index) -> t.List[t.List[str]]:
    """Return all names by which a compute host may be gone, those together that a database takes for one."""
    cloud, databases = index.bundle.cloud, index.bundle.databases
    names: t.Set[t.Optional[str]] = {host for host, _aggregate in _members(index) or []}
    names |= {row.host for row in (databases.api.host_mappings if databases and databases.api else None) or []}
    names |= {entry.name for entry in (cloud.ha_hosts if cloud else None) or []}
    for cell in index.cells or []:
        names |= {row.host for row in cell.services or [] if row.binary == COMPUTE}
        names |= {row.host for row in cell.compute_nodes or []}
    groups: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
    for name in names:
        if name:
            groups[name_key(name)].add(name)
    return [sorted(groups[key]) for key in sorted(groups)]


@dataclasses.dataclass(frozen=True)
class Known:
    """What is asked for of every host: keys of names (:func:`name_key`), found once."""

    index: Index

    @functools.cached_property
    def read(self) -> t.Set[str]:
        """Nova's names of the hosts that were read, or the kernel's where that is not known."""
        return {name_key(conf_host(facts) or facts.kernel_hostname) for facts in _hosts(self.index)}

    @functools.cached_property
    def unreachable(self) -> t.Set[str]:
        """Names of the inventory: Nova's name of a host that did not answer is not known, and may be this one."""
        return {name_key(name) for name in self.index.bundle.unreachable}

    @functools.cached_property
    def with_servers(self) -> t.Set[str]:
        """Names that a server has in any cell, in whatever state it is."""
        return {name_key(str(host)) for host in self.index.instances_by_host if host}

    @functools.cached_property
    def by_short_name(self) -> t.Dict[str, t.Set[str]]:
        """Names of all hosts that exist, by their short form."""
        found: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
        own = {str(name) for facts in _hosts(self.index) for name in (conf_host(facts), facts.kernel_hostname) if name}
        for name in own | self.index.compute_hosts | set(self.index.bundle.unreachable):
            found[name_key(short(name))].add(name)
        return found

    @functools.cached_property
    def agents(self) -> t.Dict[str, t.List[t.Any]]:
        """Network agents by host."""
        cloud, found = self.index.bundle.cloud, collections.defaultdict(list)
        for agent in (cloud.agents if cloud else None) or []:
            found[agent.host].append(agent)
        return found

    @functools.cached_property
    def addresses(self) -> t.Dict[t.Optional[str], t.Set[str]]:
        """Names of the hosts that have an address now: as read on them, and as Nova knows it."""
        found: t.Dict[t.Optional[str], t.Set[str]] = collections.defaultdict(set)
        for facts in _hosts(self.index):
            for address in facts.addresses or []:
                found[blocklists.plain(address)].add(name_key(conf_host(facts) or facts.inventory_name))
        for _cell, row in self.index.node_rows:
            if row.host_ip and row.host:
                found[blocklists.plain(str(row.host_ip))].add(name_key(row.host))
        return found

    @functools.cached_property
    def entries(self) -> t.List[t.Tuple[str, str, BlocklistEntry]]:
        """Entries of whole addresses on the blocklist of each cluster that was read, each with its address."""
        found = [(fsid, blocklists.whole(entry), entry) for fsid, entry in _entries(self.index)]
        return [(fsid, address, entry) for fsid, address, entry in found if address is not None]


# --- one host


@dataclasses.dataclass(frozen=True)
class Gone:
    """A name of a compute host, in all its spellings, and what was read of it. Names are compared whole."""

    index: Index
    known: Known
    names: t.List[str]

    @property
    def name(self) -> str:
        """Return the name that a finding shows."""
        return self.names[0]

    @functools.cached_property
    def is_gone(self) -> bool:
        """Whether it has no server, no machine of the name was read, and no nova-compute of the name runs or is held.

        A host with servers is dead, not removed; one that an operation of this collection holds is to come back.
        """
        key = name_key(self.name)
        if key in self.known.read or key in self.known.with_servers:
            return False
        if not self._services:
            return True
        if key in self.known.unreachable:
            return False
        shown = [row for name in self.names for row in self.index.api_services_by_host.get(name, [])]
        shown = [row for row in shown if row.binary == COMPUTE]
        held = [row for row in self._services if (row.disabled_reason or "").startswith(OURS)]
        # An inventory with no host at all is no sign of anything.
        return bool(shown and self.index.bundle.hosts and not held and all(row.state == _DOWN for row in shown))

    @functools.cached_property
    def _services(self) -> t.List[t.Any]:
        key = name_key(self.name)
        return [row for _cell, row in self.index.services_by_name.get(key, [])]

    @functools.cached_property
    def similar(self) -> t.List[str]:
        """Names of other hosts that are this one's in its short or full form: the machine may bear one of them now."""
        others = self.known.by_short_name.get(name_key(short(self.name)), set())
        return sorted(name for name in others if name_key(name) != name_key(self.name))

    # --- where it is left

    @functools.cached_property
    def places(self) -> Places:
        """Return what is left of it, by place."""
        found = {
            "compute service": [row.uuid or row.id for row in self._services],
            "compute node": [row.uuid or row.id for row in self.live_nodes],
            "host mapping": self._mappings,
            "aggregates": sorted({shown for host, shown in _members(self.index) or [] if host in self.names}),
            "resource providers": [self._provider(row) for row in self.providers],
            "network agents": [f"{row.agent_type} {row.id}" for row in self._agents if not row.alive],
            "chassis of OVN": self._chassis,
            "queues": self._queues,
            "blocklist of Ceph": sorted(f"{fsid}: {entry.address}" for fsid, entry in self.entries),
            "cinder-volume": self._cinder(alive=False),
            "hosts of Masakari": [f"{row.segment}: {row.name}" for row in self._ha_hosts],
        }
        return {place: entries for place, entries in found.items() if entries}

    @functools.cached_property
    def signs_of_life(self) -> t.List[str]:
        """Return what still works under the name, whatever Nova has of it."""
        alive = [f"network agent {row.agent_type} {row.id}" for row in self._agents if row.alive]
        return sorted([*alive, *(f"cinder-volume {name}" for name in self._cinder(alive=True))])

    @functools.cached_property
    def live_nodes(self) -> t.List[ComputeNodeRow]:
        """Return its compute nodes that exist."""
        return [row for _cell, row in self.index.node_rows_by_name.get(name_key(self.name), [])]

    @property
    def _mappings(self) -> t.List[str]:
        databases = self.index.bundle.databases
        rows = (databases.api.host_mappings if databases and databases.api else None) or []
        return [str(row.cell_name) for row in rows if row.host in self.names]

    @functools.cached_property
    def _deleted_nodes(self) -> t.List[ComputeNodeRow]:
        return list(_deleted_nodes(self.index).get(name_key(self.name), ()))

    @functools.cached_property
    def providers(self) -> t.List[ResourceProvider]:
        """Return the root providers with a trait of Nova whose uuid was that of a compute node of this host."""
        uuids = {uuid_key(str(row.uuid)) for row in self._deleted_nodes if row.uuid}
        uuids -= set(self.index.node_rows_by_uuid)
        return [row for row in self.index.providers or [] if row.has_compute_trait and uuid_key(row.uuid) in uuids]

    def _provider(self, row: ResourceProvider) -> t.Dict[str, t.Any]:
        consumers = sorted(row.strays or {})
        return {"provider": row.uuid, "name": row.name, "consumers": consumers[:SHOWN], "number": len(consumers)}

    @functools.cached_property
    def _agents(self) -> t.List[t.Any]:
        return [row for name in self.names for row in self.known.agents.get(name, [])]

    @property
    def _chassis(self) -> t.List[str]:
        databases = self.index.bundle.databases
        facts = databases.ovn if databases else None
        alive = {row.id for row in self._agents if row.alive}
        found = {row.name for name in self.names for row in (chassis_of(facts, name) if facts else [])}
        return sorted(found - alive)

    @property
    def _queues(self) -> t.Dict[str, int]:
        databases = self.index.bundle.databases
        brokers = (databases.brokers if databases else None) or []
        waiting = [queue for entry in brokers if entry.witness for queue in entry.waiting or []]
        return {queue.name: queue.messages for queue in waiting if queue.name.partition(".")[2] in self.names}

    def _cinder(self, alive: bool) -> t.Dict[str, int]:
        """Return each cinder-volume of the host with the number of volumes that name it, of those that run or not."""
        cloud = self.index.bundle.cloud
        storage = cloud.block_storage if cloud else None
        mine = [
            row for row in (storage.services if storage else None) or [] if row.host.partition("@")[0] in self.names
        ]
        volumes = (storage.volumes if storage else None) or []
        return {
            row.host: sum(1 for volume in volumes if str(volume.backend).partition("#")[0] == row.host)
            for row in mine
            if (row.state == "up") is alive
        }

    @property
    def _ha_hosts(self) -> t.List[t.Any]:
        cloud = self.index.bundle.cloud
        return [row for row in (cloud.ha_hosts if cloud else None) or [] if row.name in self.names]

    @property
    def evacuations(self) -> t.List[str]:
        """Return the evacuations from it that were not cleaned up: SG509 and SG309 are about them."""
        rows = (row for cell in self.index.cells or [] for row in cell.migrations or [] if open_evacuation(row))
        return sorted(row.uuid or str(row.id) for row in rows if row.source_compute in self.names)

    @functools.cached_property
    def entries(self) -> t.List[t.Tuple[str, BlocklistEntry]]:
        """Return the entries of whole addresses that were this host's, each with its cluster.

        By the journal that listed it, or by Nova's record of its node; an address that another node has is not its own.
        """
        if not self.known.entries:
            return []
        rows = (*self._deleted_nodes, *self.live_nodes)
        own = {blocklists.plain(str(row.host_ip)) for row in rows if row.host_ip}
        listed = {
            (fsid, blocklists.plain(one))
            for record in self.index.bundle.operations or []
            if record.host in self.names
            for fsid, addresses in record.blocklisted.items()
            for one in addresses
        }
        return [
            (fsid, entry)
            for fsid, address, entry in self.known.entries
            if (address in own or (fsid, address) in listed)
            and self.known.addresses.get(address, set()) <= {name_key(self.name)}
        ]

    # --- what it explains

    def explains(self, item: Finding) -> bool:
        """Whether a finding says no more than that this host has left something in one place."""
        if item.code == "SG713":
            return item.object.id in {row.uuid for row in self.providers}
        if item.code == "SG515":
            address = item.evidence.get("entry")
            return item.severity != BLOCKER and address in {entry.address for _fsid, entry in self.entries}
        if item.code == "SG303":
            return item.evidence.get("member") in self.names
        if item.code == "SG302":
            return item.evidence.get("host mapping") in self.names
        if item.code == "SG305":
            return item.object.host in self.names and item.evidence.get("alive") is False
        return item.code == "SG329" and item.object.id in self.names and item.severity == WARNING


def _deleted_nodes(index: Index) -> t.Dict[str, t.List[ComputeNodeRow]]:
    found: t.Dict[str, t.List[ComputeNodeRow]] = collections.defaultdict(list)
    for cell in index.cells or []:
        for row in cell.compute_nodes or []:
            if row.deleted and row.host:
                found[name_key(row.host)].append(row)
    return found


def _entries(index: Index) -> t.List[t.Tuple[str, BlocklistEntry]]:
    """Return the blocklist of each cluster that was read, once."""
    read: t.Dict[str, t.List[BlocklistEntry]] = {}
    for facts in _hosts(index):
        if facts.rbd is not None and facts.rbd.fsid is not None and facts.rbd.blocklist is not None:
            read.setdefault(facts.rbd.fsid, facts.rbd.blocklist)
    return [(fsid, entry) for fsid, found in sorted(read.items()) for entry in found]


def left_finding(host: Gone, explained: t.Sequence[Finding] = ()) -> Finding:
    """Return what is left of a host. ``explained``: findings of single places, whose remedies and severity it takes."""
    index = host.index
    evidence: t.Dict[str, t.Any] = {"left in": host.places, "machine": _machine(index, host)}
    if host.evacuations:
        evidence["evacuations that were not cleaned up"] = host.evacuations
    if len(host.names) > 1:
        evidence["spellings"] = host.names
    if host.signs_of_life:
        evidence["alive"] = host.signs_of_life
    if host.similar:
        evidence["similar names of other hosts"] = host.similar
    state = _state(host)
    # What stood for one place alone says how to remove it there.
    more = dict.fromkeys(item.remedy for item in explained) if state == "left" else {}
    remedy = " ".join([remedy_text(CODE, state, host=host.name), *more])
    level = max([WARNING, *(item.severity for item in explained)], key=_ORDER.index)
    commands = tuple(dict.fromkeys(one for item in explained for one in item.commands)) if more else ()
    return finding(CODE, Subject("host", host.name, host=host.name), evidence, remedy, level, commands)


def _machine(index: Index, host: Gone) -> str:
    """Say what is known of the machine: that it is in no inventory proves nothing."""
    for name in host.names:
        if name in index.bundle.unreachable:
            return f"it did not answer: {index.bundle.unreachable[name]}"
    return "no host of this audit has the name, which does not prove that the machine is off or gone"


def _state(host: Gone) -> str:
    if host.signs_of_life:
        return "alive"
    if host.similar:
        return "similar-name"
    return "service-down" if "compute service" in host.places else "left"
