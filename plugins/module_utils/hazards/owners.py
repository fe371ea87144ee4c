# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose machine a compute node is, where the node has other names than the host with its uuid. Pure.

A uuid in a file, a service id and a name travel with a copied disk, and so do machine-id and libvirt's host uuid. What
ties a node to a machine is the address that the node's nova-compute reported, and guests of the node that run there.
Whatever another machine has of the node, or may have, stands against it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import addresses
from ..model import names as naming
from ..model.deployment_facts import NOVA_COMPUTE
from ..model.facts import Domain, HostFacts
from ..model.lookups import (
    ComputeNode,
    Index,
    same_name,
    same_uuid,
    uuid_files,
    uuid_key,
)
from ..model.names import conf_host
from ..model.requests import RenameRequest

#: libvirt's states in which QEMU has the guest: a copied disk has definitions, too.
RUNNING = ("running", "paused", "blocked", "pmsuspended", "shutdown")


@dataclasses.dataclass(frozen=True)
class Owner:
    """What speaks against it that a node is this machine's. Neither: it is."""

    #: Inventory names of other machines that have the node's identity or one of its names.
    others: t.Tuple[str, ...] = ()
    #: Why it is not known.
    doubts: t.Tuple[str, ...] = ()

    @property
    def is_host(self) -> bool:
        """Whether the node is this machine's."""
        return not self.others and not self.doubts


@dataclasses.dataclass(frozen=True)
class _Card:
    """What a host that was read is known by."""

    inventory_name: str
    host: t.Optional[str]
    kernel: str
    uuids: t.Optional[t.FrozenSet[str]]
    addresses: t.FrozenSet[str]


def own_node(index: Index, facts: HostFacts) -> t.Optional[ComputeNode]:
    """Return the node that is a host's: that of its compute_id file unless it may be another machine's."""
    node = index.node_of(facts)
    if node is None or is_host(index, facts, node):
        return node
    found = [row for row in index.nodes_by_host.get(conf_host(facts), []) if not same_uuid(row.uuid, node.uuid)]
    return found[0] if len(found) == 1 else None


def copied_node(index: Index, facts: HostFacts) -> t.Optional[ComputeNode]:
    """Return the node of a host's compute_id file where it is, or may be, another machine's."""
    node = index.node_of(facts)
    by_file = node is not None and any(same_uuid(entry.uuid, node.uuid) for entry in uuid_files(facts))
    return node if node is not None and by_file and not is_host(index, facts, node) else None


def is_host(index: Index, facts: HostFacts, node: ComputeNode) -> bool:
    """Whether a node is a host's: it has the host's names, or :func:`owner` says so."""
    return has_names(facts, node) or owner(index, facts, node).is_host


def has_names(facts: HostFacts, node: ComputeNode) -> bool:
    """Whether a node has the names of a host, as far as these were read."""
    libvirt, own = facts.libvirt.hostname if facts.libvirt else None, conf_host(facts)
    return (own is None or same_name(own, node.host)) and (
        libvirt is None or same_name(libvirt, node.hypervisor_hostname)
    )


def owner(
    index: Index,
    facts: HostFacts,
    node: ComputeNode,
    names: t.Iterable[t.Optional[str]] = (),
    services: bool = True,
) -> Owner:
    """Say whose a node is that has other names than this host. ``names``: what else the databases call the host.

    ``services``: whether compute services that report themselves are asked, too.
    """
    cache: t.Dict[t.Any, Owner] = index.__dict__.setdefault("owners", {})
    wanted = frozenset(str(name) for name in (node.host, *names) if name is not None)
    key = (facts.inventory_name, node.uuid, wanted, services)
    if key not in cache:
        cache[key] = _Looking(index, facts, node, wanted).owner(services)
    return cache[key]


class _Looking:
    def __init__(self, index: Index, facts: HostFacts, node: ComputeNode, names: t.FrozenSet[str]) -> None:
        self.index, self.facts, self.node, self.names = index, facts, node, names
        self.own = conf_host(facts)
        self.addresses = _addresses_of(index, node)

    def owner(self, services: bool) -> Owner:
        others = [card for card in _cards(self.index) if card.inventory_name != self.facts.inventory_name]
        rivals = [card.inventory_name for card in others if self._is_rival(card)]
        doubts = [*self._untied(), *self._unread(others), *self._address_elsewhere(others), *self._other_nodes()]
        return Owner(tuple(rivals), tuple(doubts or (self._services() if services else ())))

    def _is_rival(self, card: _Card) -> bool:
        """Whether another host has one of the node's names, or its uuid and no less to do with it than this host."""
        if any(same_name(card.host, name) for name in self.names):
            return True
        if uuid_key(self.node.uuid or "") not in (card.uuids or ()):
            return False
        other = self.index.bundle.hosts[card.inventory_name]
        return not self._is_tied(self.facts) or self._is_tied(other)

    def _is_tied(self, facts: HostFacts) -> bool:
        here = {addresses.plain(entry) or entry for entry in facts.addresses or []}
        return bool(self.addresses & here) or any(map(self._is_guest, facts.domains or []))

    def _is_guest(self, domain: Domain) -> bool:
        """Whether a domain is a guest of the node, and runs."""
        if domain.state not in RUNNING:
            return False
        rows = self.index.node_rows_by_uuid.get(uuid_key(self.node.uuid or ""), [])
        for cell, row in self.index.instance_rows_by_uuid.get(domain.uuid, []):
            by_id = any(cell is place and row.compute_id == entry.id for place, entry in rows)
            if not row.deleted and (by_id or (row.compute_id is None and row.host in self.names)):
                return True
        cloud = self.index.bundle.cloud if not rows else None
        return any(
            server.host == self.node.host and same_uuid(server.id, domain.uuid)
            for server in (cloud.servers if cloud else None) or []
        )

    def _untied(self) -> t.Iterator[str]:
        if not self._is_tied(self.facts):
            shown = ", ".join(sorted(self.addresses)) or "unknown"
            yield (
                f"the address of compute node {self.node.uuid} ({shown}) is no address of this machine, and no guest "
                "of the compute node runs on this machine"
            )

    def _unread(self, others: t.Sequence[_Card]) -> t.Iterator[str]:
        """Hosts that were not read and may be the owner: by their name, or since no compute service has it."""
        names = {naming.short(name).casefold() for name in (*self.names, self.node.hypervisor_hostname or "") if name}
        known = _service_names(self.index)
        unread: t.Dict[str, t.Tuple[str, ...]] = {name: (name,) for name in self.index.bundle.unreachable}
        unread.update(
            {card.inventory_name: (card.inventory_name, card.kernel) for card in others if card.uuids is None}
        )
        for inventory_name, words in sorted(unread.items()):
            shorts = {naming.short(word).casefold() for word in words}
            if shorts & names or (known is not None and not shorts & known):
                yield f"the run did not read {inventory_name}, which may be the machine of the compute node"

    def _address_elsewhere(self, others: t.Sequence[_Card]) -> t.Iterator[str]:
        for card in others:
            if self.addresses & card.addresses:
                yield f"{card.inventory_name} has the address of the compute node"

    def _other_nodes(self) -> t.Iterator[str]:
        """A name that is another compute node's, whose address is not this machine's."""
        here = {addresses.plain(entry) or entry for entry in self.facts.addresses or []} | self.addresses
        for name in sorted(self.names - {str(self.node.host), str(self.own)}):
            for _cell, row in self.index.node_rows_by_host.get(name, []):
                if not same_uuid(row.uuid, self.node.uuid) and addresses.plain(row.host_ip or "") not in here:
                    yield f"compute node {row.uuid} has the name {name} and an address of another machine"

    def _services(self) -> t.Iterator[str]:
        """A service that reports itself, and that no nova-compute of this machine can be."""
        up = sorted(
            row.host
            for name in self.names | {str(self.own)}
            for row in self.index.api_services_by_host.get(name, [])
            if row.state == "up"
        )
        runs = runs_compute(self.facts)
        if len(up) > 1:
            yield f"the compute services of {' and '.join(up)} are up, and one machine reports one service"
        elif up and not runs:
            why = "the run does not know whether" if runs is None else "no"
            yield f"the compute service of {up[0]} is up, but {why} nova-compute runs on this machine"


def runs_compute(facts: HostFacts, compute_units: t.Sequence[str] = RenameRequest.compute_units) -> t.Optional[bool]:
    """Whether nova-compute runs on a host and may report its service; None: not read."""
    if facts.units is None or facts.deployment is None:
        return None
    units = naming.units_named(facts.units, compute_units)
    # One that crashes and is started again reports nothing: then another machine does.
    runs = any(
        unit.active_state in ("active", "activating", "deactivating") and unit.sub_state != "auto-restart"
        for unit in units
    )
    return runs or any(entry.program == NOVA_COMPUTE for entry in facts.deployment.processes)


def _cards(index: Index) -> t.List[_Card]:
    cards: t.Optional[t.List[_Card]] = index.__dict__.get("host_cards")
    if cards is None:
        cards = index.__dict__["host_cards"] = [_card(index.bundle.hosts[name]) for name in sorted(index.bundle.hosts)]
    return cards


def _card(facts: HostFacts) -> _Card:
    uuids = frozenset(uuid_key(entry.uuid) for entry in uuid_files(facts) if entry.uuid)
    return _Card(
        facts.inventory_name,
        conf_host(facts),
        facts.kernel_hostname,
        None if facts.compute_id_files is None or facts.nova_conf is None else uuids,
        frozenset(addresses.plain(entry) or entry for entry in facts.addresses or []),
    )


def _addresses_of(index: Index, node: ComputeNode) -> t.FrozenSet[str]:
    rows = index.node_rows_by_uuid.get(uuid_key(node.uuid or ""), [])
    found = [row.host_ip for _cell, row in rows]
    cloud = index.bundle.cloud if not rows else None
    found += [row.host_ip for row in (cloud.hypervisors if cloud else None) or [] if same_uuid(row.id, node.uuid)]
    return frozenset(addresses.plain(entry) or entry for entry in found if entry)


def _service_names(index: Index) -> t.Optional[t.Set[str]]:
    """Short names of all compute hosts; None: not all were read."""
    whole = (index.cells_read("services") and not index.narrowed) or (
        index.api_services is not None and not (index.bundle.cloud and index.bundle.cloud.scope)
    )
    return {naming.short(name).casefold() for name in index.compute_hosts} if whole else None
