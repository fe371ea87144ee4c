# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the new name of a host lead to it, on the host and on those that talk to it by name? SG111. Pure.

Live migration goes to C(qemu+SCHEME://HOST/system) with the destination's CONF.host, unless the destination has
live_migration_inbound_addr (nova/virt/libvirt/driver.py, C(_live_migration_uri); facts of nova, 3.1). libvirt takes
its own host name from what the kernel's name resolves to (C(virGetHostname)).
"""

from __future__ import annotations

import typing as t

from ...model import addresses
from ...model.codes.catalogue import remedy_text
from ...model.facts import Bundle, HostFacts, Resolution
from ...model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Subject,
    finding,
)
from ...model.lookups import Item, Items


def check(bundle: Bundle, host: HostFacts, old: str, new: str) -> Items:
    """Check the new name as the host sees it, then as its peers do."""
    if host.addresses is None or host.resolutions is None or _of(host, new) is None:
        return  # SG709
    yield from _on_host(bundle, host, old, new)
    yield from _on_peers(bundle, host, old, new)


def _of(host: HostFacts, name: str) -> t.Optional[Resolution]:
    return next((entry for entry in host.resolutions or [] if entry.name == name), None)


def _leads_to(entry: t.Optional[Resolution], host: HostFacts) -> bool:
    """Whether a name resolves, and to nothing but this host's addresses."""
    own = host.addresses or []
    return bool(
        entry and entry.addresses and all(any(addresses.same(found, mine) for mine in own) for found in entry.addresses)
    )


# --- on the host ----------------------------------------------------------------------------------------------


def _on_host(bundle: Bundle, host: HostFacts, old: str, new: str) -> Items:
    entry = _of(host, new)
    if entry is None or _leads_to(entry, host):
        return
    if not entry.addresses:
        yield from _unresolved(host, old, new, entry)
        return
    loopback = [address for address in entry.addresses if addresses.is_loopback(address)]
    strange = {
        address: _owner(bundle, host, address)
        for address in entry.addresses
        if address not in loopback and not any(addresses.same(address, own) for own in host.addresses or [])
    }
    if loopback:
        remedy = remedy_text("SG111", "resolves-to-loopback", new=new, addresses=", ".join(host.addresses or []))
        yield _finding(host, new, {"resolves to": entry.addresses, "loopback": loopback}, remedy)
    if strange:
        remedy = remedy_text("SG111", "resolves-to-another-machine")
        yield _finding(host, new, {"resolves to": entry.addresses, "not its own": strange}, remedy)


def _owner(bundle: Bundle, host: HostFacts, address: str) -> t.Optional[str]:
    for name in sorted(bundle.hosts):
        other = bundle.hosts[name]
        if other is not host and any(addresses.same(address, own) for own in other.addresses or []):
            return name
    return None


def _unresolved(host: HostFacts, old: str, new: str, entry: Resolution) -> Items:
    lines = [line for line in host.etc_hosts or [] if old in line.names]
    own = [line for line in lines if any(addresses.same(line.address, address) for address in host.addresses or [])]
    evidence: t.Dict[str, t.Any] = {"error": entry.error, f"/etc/hosts lines of {old}": [line.text for line in lines]}
    if own:
        remedy = remedy_text("SG111", "old-name-in-hosts-file", address=own[0].address, new=new, old=old)
        yield _finding(host, new, evidence, remedy, WARNING)
    elif lines:
        remedy = remedy_text("SG111", "old-name-in-hosts-file-without-own-address", new=new, old=old)
        yield _finding(host, new, evidence, remedy, WARNING)
    elif not (_of(host, old) or entry).addresses:
        remedy = remedy_text("SG111", "neither-name-resolves", new=new, old=old)
        yield _finding(host, new, {**evidence, "old name": "does not resolve either"}, remedy, WARNING)
    else:
        address = (host.addresses or ["ADDRESS"])[0]
        remedy = remedy_text("SG111", "only-old-name-resolves", new=new, address=address)
        yield _finding(host, new, evidence, remedy)


def _finding(host: HostFacts, new: str, evidence: t.Mapping[str, t.Any], remedy: str, severity: str = BLOCKER) -> Item:
    subject = Subject("host", new, host=host.inventory_name)
    return finding("SG111", subject, {"name": new, "resolved on": host.inventory_name, **evidence}, remedy, severity)


# --- on its peers ---------------------------------------------------------------------------------------------


def _on_peers(bundle: Bundle, host: HostFacts, old: str, new: str) -> Items:
    wrong: t.Dict[str, t.List[str]] = {}
    lost: t.List[str] = []
    unresolved: t.List[str] = []
    unasked = sorted(bundle.unreachable)
    for name in sorted(set(bundle.hosts) - {host.inventory_name}):
        peer = bundle.hosts[name]
        entry = _of(peer, new)
        if entry is None:
            unasked.append(name)
        elif entry.addresses and not _leads_to(entry, host):
            wrong[name] = entry.addresses
        elif not entry.addresses:
            (lost if (_of(peer, old) or entry).addresses else unresolved).append(name)
    if wrong:
        remedy = remedy_text("SG111", "peers-resolve-elsewhere")
        yield _peers(host, new, {"resolves elsewhere on": wrong}, remedy, BLOCKER)
    by_name = host.nova_conf is None or host.nova_conf.live_migration_inbound_addr is None
    address = (host.addresses or ["ADDRESS"])[0]
    if lost:
        remedy = remedy_text("SG111", "peers-resolve-only-old-name", new=new, address=address)
        evidence = {"not resolved on": lost, "resolved there": old, "live migration by name": by_name}
        yield _peers(host, new, evidence, remedy, BLOCKER if by_name else WARNING)
    if unresolved:
        remedy = remedy_text("SG111", "peers-resolve-neither-name", new=new, old=old)
        yield _peers(host, new, {"not resolved on": unresolved}, remedy, WARNING)
    if unasked:
        remedy = remedy_text("SG111", "peers-unread", new=new, address=address)
        yield _peers(host, new, {"not read": unasked}, remedy, INFO)


def _peers(host: HostFacts, new: str, evidence: t.Mapping[str, t.Any], remedy: str, severity: str) -> Item:
    subject = Subject("host", new, host=host.inventory_name)
    return finding("SG111", subject, {"name": new, "resolved on": "other hosts", **evidence}, remedy, severity)
