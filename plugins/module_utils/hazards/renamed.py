# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG131: a host that someone renamed, in part or everywhere. Pure.

Each check of one place would report it, and each remedy would contradict the next: put the old name back, delete the
stale row, start nova-compute. One finding says what state the host is in, and the command for all of its places.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import HostFacts
from ..model.findings import (
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import (
    ComputeNode,
    Index,
    file_uuid,
    same_name,
    uuid_key,
)
from ..model.names import conf_host
from . import owners
from .identity import OTHER_PROVIDERS

#: What the state of such a host explains, where it is about one of its names or ids.
EXPLAINED = frozenset(
    (
        "SG105",
        "SG106",
        "SG112",
        "SG116",
        "SG117",
        "SG119",
        "SG204",
        "SG216",
        "SG301",
        "SG302",
        "SG303",
        "SG304",
        "SG306",
    )
)


@dataclasses.dataclass(frozen=True)
class Renamed:
    """A host that has two names. ``ids``: objects that are its own, whatever their names are; ``nodes``: libvirt's."""

    item: Finding
    names: t.FrozenSet[str]
    ids: t.FrozenSet[str]
    nodes: t.FrozenSet[str]

    def explains(self, item: Finding) -> bool:
        """Whether a finding says no more than that this host was renamed, and has no cause of its own."""
        about = item.code in EXPLAINED and (item.object.host in self.names or item.object.id in self.ids)
        return about and not self._has_own_cause(item)

    def _has_own_cause(self, item: Finding) -> bool:
        evidence = item.evidence
        if item.code == "SG112":
            return evidence["provider of that uuid"] not in self.nodes or bool(evidence[OTHER_PROVIDERS])
        if item.code == "SG302":
            return "mapped to" in evidence and "service is in" in evidence
        if item.code == "SG304":
            return not str(evidence.get("child")).startswith(tuple(self.nodes))
        if item.code == "SG306":
            bound = {evidence.get("binding:host_id", item.object.host), evidence.get("instances.host")} - {None}
            return "binding:vif_type" in evidence or not bound <= self.names
        return False


def instead(index: Index, checked: Checked) -> Checked:
    """Return the findings with one for each host that was renamed, in the place of those that it explains."""
    found: t.List[Renamed] = []
    undecided: t.List[Unchecked] = []
    for name in sorted(index.bundle.hosts):
        seen = _look(index, index.bundle.hosts[name])
        if isinstance(seen, Renamed):
            found.append(seen)
        elif seen is not None:
            undecided.append(seen)
    kept = [item for item in checked.findings if not any(entry.explains(item) for entry in found)]
    return Checked((*(entry.item for entry in found), *kept), tuple(dict.fromkeys([*checked.unchecked, *undecided])))


def _look(index: Index, facts: HostFacts) -> t.Union[Renamed, Unchecked, None]:
    own, libvirt = conf_host(facts), facts.libvirt.hostname if facts.libvirt else None
    if facts.compute_id_files is None or own is None or libvirt is None or index.nodes is None:
        return Unchecked("SG131", facts.inventory_name, "the host's names or the compute nodes were not read")
    nodes = index.nodes_by_uuid.get(uuid_key(file_uuid(facts) or ""), [])
    if len(nodes) != 1 or _is_ours(index, facts, nodes[0]):
        return None  # SG101, SG102; or an operation of this collection has it in its hands (SG706).
    node = nodes[0]
    hosts = {name for name in _hosts(index, node) if name is not None}
    if {own, *hosts} == {own} and node.hypervisor_hostname == libvirt:
        return None
    if all(same_name(name, own) for name in hosts) and same_name(node.hypervisor_hostname, libvirt):
        return None  # It differs in case only: a word was misspelt, and the checks of the places say where.
    whose = owners.owner(index, facts, node, hosts)
    if whose.others:
        return None  # The uuid, the service id or the name is a copy: SG102, SG107, SG203.
    if whose.doubts:
        return Unchecked("SG131", facts.inventory_name, "; ".join(whose.doubts))
    service = next((host for host in _services(index, node) if host is not None), None)
    item = _finding(facts, node, own, libvirt, (service, hosts))
    ids = frozenset({facts.inventory_name, *({str(node.uuid)} if node.uuid else ()), *_owned(index, node)})
    names = frozenset({own, *hosts})
    return Renamed(item, names, ids, names | {libvirt, str(node.hypervisor_hostname)})


def _is_ours(index: Index, facts: HostFacts, node: ComputeNode) -> bool:
    names = {conf_host(facts), node.host}
    reasons = [row.disabled_reason or "" for name in names for row in index.api_services_by_host.get(name, [])]
    open_ones = [entry for entry in facts.open_operations or [] if entry.kind == "rename"]
    return bool(open_ones or facts.unknown_journals) or any(reason.startswith("stackguard:") for reason in reasons)


def _services(index: Index, node: ComputeNode) -> t.List[t.Optional[str]]:
    """Hosts of the service that the node belongs to by its id."""
    rows = index.node_rows_by_uuid.get(uuid_key(node.uuid or ""), [])
    keys = dict.fromkeys((cell.uuid, row.service_id) for cell, row in rows if row.service_id is not None)
    return [row.host for key in keys for _cell, row in index.services_by_id.get(key, [])]


def _hosts(index: Index, node: ComputeNode) -> t.List[t.Optional[str]]:
    """What the databases call the host: its node, its service, and the guests of its node."""
    return [node.host, *_services(index, node)]


def _owned(index: Index, node: ComputeNode) -> t.Iterator[str]:
    for own, row in index.node_rows_by_uuid.get(uuid_key(node.uuid or ""), []):
        for cell, instance in index.instances_by_compute_id.get(row.id, []):
            if cell is own:
                yield instance.uuid


def _finding(
    facts: HostFacts,
    node: ComputeNode,
    own: str,
    libvirt: str,
    stored: t.Tuple[t.Optional[str], t.Collection[str]],
) -> Finding:
    service, hosts = stored
    first = service or str(node.host)
    others = sorted({own, *hosts} - {first})
    last = others[0] if others else first
    options = f"rename_from={first} rename_to={last}"
    if not others:
        options += f" rename_hypervisor_hostname={libvirt}"
    evidence: t.Dict[str, t.Any] = {
        "CONF.host": own,
        "libvirt": libvirt,
        "service": service,
        "compute node": [node.host, node.hypervisor_hostname],
        "compute_id": node.uuid,
        "domains": len(facts.domains) if facts.domains is not None else None,
    }
    remedy = remedy_text(
        "SG131",
        "two-names",
        options=options,
        forward=last if others else libvirt,
        back=first if others else node.hypervisor_hostname,
    )
    if len(others) > 1:
        remedy = remedy_text("SG131", "more-than-two-names")
        evidence["names"] = [first, *others]
    return finding("SG131", Subject("host", facts.inventory_name, host=str(node.host)), evidence, remedy)
