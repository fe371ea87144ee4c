# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which addresses of a dead host Ceph is to refuse. SG506. Pure.

A wrong address is worse than none: one that the host does not use fences nothing and looks like proof, and one of
another host takes the disks away from everything that runs there. So an address counts only with evidence:

* a watcher or a lock of the dead host's own guests has it (a watcher is gone 30 s after its host, a lock stays);
* the operator names it;
* Nova's ``host_ip`` of the host, if every other host that was read reaches Ceph from *its* ``host_ip``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import parse_address
from ansible_collections.stackguard.nova.plugins.module_utils.checks.storage import address_of, seen
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import by_nova_name
from ansible_collections.stackguard.nova.plugins.module_utils.facts import Bundle, EvacuationFacts
from ansible_collections.stackguard.nova.plugins.module_utils.findings import Finding, Subject, finding

_NAME_THEM = "Name the host's addresses in Ceph's public network: evacuate_blocklist_addresses."


@dataclasses.dataclass(frozen=True)
class Addresses:
    """What Ceph is to refuse, sorted, and why not; ``why``: the evidence of each, for people."""

    why: t.Mapping[str, str]
    problems: t.Tuple[Finding, ...] = ()

    @property
    def refused(self) -> t.List[str]:
        """Return the addresses."""
        return sorted(self.why)


def addresses(
    bundle: Bundle,
    about: EvacuationFacts,
    uuids: t.Container[str],
    source: str,
    given: t.Sequence[str] = (),
) -> Addresses:
    """Return the addresses from which the source writes these instances' disks. ``given``: by the operator."""
    others = _others(bundle, about, source)
    own = _own(bundle, about, source)
    why: t.Dict[str, str] = {}
    strange: t.List[str] = []
    for address, evidence in _clients(bundle, uuids).items():
        if address not in others:
            why[address] = evidence
            strange += [] if address in own or address in map(_plain, given) else [address]
    like_peers = _like_peers(bundle, about, source)
    if like_peers is not None:
        why.setdefault(like_peers, "its host_ip, and the other hosts reach Ceph from theirs")
    why.update({_plain(address): "named by the operator" for address in given})
    return Addresses(why, tuple(_problems(source, why, given, others, strange)))


def _problems(
    source: str,
    why: t.Mapping[str, str],
    given: t.Sequence[str],
    others: t.Mapping[str, str],
    strange: t.Sequence[str],
) -> t.Iterator[Finding]:
    host = Subject("host", source)
    for address in given:
        if parse_address(address) is None:
            yield finding("SG506", host, {"evacuate_blocklist_addresses": address}, "This is no IP address: mend it.")
        elif _plain(address) in others:
            evidence = {"evacuate_blocklist_addresses": address, "is of": others[_plain(address)]}
            yield finding("SG506", host, evidence, "This host lives and would lose all its disks: name the right one.")
    if len(strange) > 1:
        clients = {"clients of its guests' disks": sorted(strange)}
        remedy = f"More than one host that nobody knows has these disks: which of them is it? {_NAME_THEM}"
        yield finding("SG506", host, clients, remedy)
    if not why:
        evidence = {"watchers and locks": "none", "host_ip": "not known to be where it reaches Ceph from"}
        yield finding("SG506", host, evidence, _NAME_THEM)


def _plain(address: str) -> str:
    parsed = parse_address(address)
    return address if parsed is None else str(parsed)


def _clients(bundle: Bundle, uuids: t.Container[str]) -> t.Dict[str, str]:
    """Every address that has one of these disks open, or held it last: in words, which."""
    found: t.Dict[str, str] = {}
    for name, places in sorted(seen(bundle, uuids).items()):
        for entry in places:
            locks = [(lock.address, "lock") for lock in entry.image.locks or []]
            watchers = [(watcher.address, "watcher") for watcher in entry.image.watchers or []]
            for client, kind in [*watchers, *locks]:
                address = address_of(client)
                if address is not None:
                    found.setdefault(address, f"{kind} of {entry.pool}/{name}")
    return found


def _others(bundle: Bundle, about: EvacuationFacts, source: str) -> t.Dict[str, str]:
    """Addresses of hosts other than the source, to their names."""
    found = {_plain(target.host_ip): target.host for target in about.targets or [] if target.host_ip}
    found = {address: host for address, host in found.items() if host != source}
    shared = {_plain(address) for address in _read_on(bundle, source)}
    for name in by_nova_name(bundle):
        # libvirt's default network has the same address on every host: it says nothing.
        for address in _read_on(bundle, name) if name != source else ():
            if _plain(address) not in shared:
                found[_plain(address)] = name
    return found


def _own(bundle: Bundle, about: EvacuationFacts, source: str) -> t.Set[str]:
    known = {target.host_ip for target in about.targets or [] if target.host == source and target.host_ip}
    return {_plain(address) for address in (*known, *_read_on(bundle, source))}


def _read_on(bundle: Bundle, name: str) -> t.List[str]:
    facts = by_nova_name(bundle).get(name)
    if facts is None:
        return []
    client = facts.rbd.client_address if facts.rbd else None
    return [*(facts.addresses or []), *([client] if client else [])]


def _like_peers(bundle: Bundle, about: EvacuationFacts, source: str) -> t.Optional[str]:
    """Return where the source reaches Ceph from: as read on it; else its host_ip, if all others use theirs."""
    host_ips = {target.host: target.host_ip for target in about.targets or []}
    clients = {
        name: facts.rbd.client_address
        for name, facts in by_nova_name(bundle).items()
        if facts.rbd is not None and facts.rbd.client_address is not None
    }
    if source in clients:
        return _plain(clients[source])
    alike = [_plain(host_ips.get(name) or "") == _plain(address) for name, address in clients.items()]
    mine = host_ips.get(source)
    return _plain(mine) if mine and alike and all(alike) else None
