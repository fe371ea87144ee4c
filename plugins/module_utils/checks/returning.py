# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before nova-compute starts on a host that was evacuated: what a start would do, what is left over. Pure.

What is safe to clear is returned beside the findings, and is no finding itself:

* A domain whose instance Nova has on another host, by an evacuation from here that is done, its disks in Ceph:
  a definition without a process; or one that runs, where Ceph refuses this host and nothing here watches the disks.
* This host's addresses on the OSD blocklist, when no domain that is not its own runs here any more.
* The hold of the evacuation on the compute service, once nova-compute has run again: Nova forces no service up while
  one of its evacuation records is C(done) (nova/api/openstack/compute/services.py), and the start completes them.

All else that is wrong refuses, each with its reason.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks import forecast, identity, storage
from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import (
    OURS,
    Index,
    Items,
    domain_subject,
    gather,
    host_subject,
    in_progress,
    is_loopback,
    migration_evidence,
    migration_subject,
    same_address,
    same_name,
)
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import RUNNING
from ansible_collections.stackguard.nova.plugins.module_utils.facts import (
    ApiService,
    Bundle,
    Domain,
    HostFacts,
    RbdFacts,
)
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Checked,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.requests import ReturnRequest

#: disabled_reason of a host that an evacuation holds begins with it.
HELD = f"{OURS}evacuate:"
#: An evacuation that has ended on its destination.
DONE = "done"
#: All clients of an address, as this collection writes it on the OSD blocklist.
_WHOLE = ":0/0"
_STOPPED = ("inactive", "failed")
_AGAIN = "Make it readable, then run it again."


@dataclasses.dataclass(frozen=True)
class Clearing:
    """What is left over and safe to clear, in this order."""

    #: Domains to end here: destroyed where they run, and undefined. Their disks stay in Ceph.
    domains: t.Tuple[Domain, ...] = ()
    #: Addresses to take off the OSD blocklist.
    addresses: t.Tuple[str, ...] = ()
    #: The reason under which an evacuation holds the compute service; None: none does, or not yet to be cleared.
    reason: t.Optional[str] = None
    #: The same, where nova-compute must start before.
    held_until_start: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Decision:
    """The findings, and what would be cleared where none of them stands."""

    checked: Checked
    clearing: Clearing = Clearing()


def judge(bundle: Bundle, request: ReturnRequest) -> Decision:
    """Return every finding, and what is safe to clear."""
    facts = bundle.hosts.get(request.inventory_name)
    missing = _unread(bundle, facts, request)
    if facts is None or missing:
        item = finding("SG709", Subject("host", request.host), {"not read": missing}, _AGAIN)
        return Decision(Checked((item,)))
    index = Index(bundle)
    try:
        found = forecast.fates(index, facts)
    except forecast.UnreadError as error:
        item = finding("SG709", Subject("host", request.host), {"reason": str(error)}, _AGAIN)
        return Decision(Checked((item,)))
    view = _ceph(bundle, request)
    leaving = [fate.domain for fate in found if _leftover(index, fate) and _harmless(bundle, facts, view, fate.domain)]
    hold, waits = _hold(bundle, request), _start_is_awaited(index, request)
    clearing = Clearing(tuple(leaving), tuple(blocked(facts, view)), None if waits else hold, hold if waits else None)
    ended = {domain.uuid for domain in leaving}
    items = [
        *_about(index, facts, request),
        *_services(bundle, request),
        *(
            item
            for item in forecast.restart(index, facts)
            if isinstance(item, Unchecked) or item.object.kind != "domain" or item.object.id not in ended
        ),
        *_strangers(facts, found, clearing),
        *_too_late(facts, clearing),
        *_under_way(index, request),
        *_ports(bundle, request),
        *_allocations(index, bundle, request),
    ]
    return Decision(gather(items), clearing)


# --- what must be known ---------------------------------------------------------------------------------------


def _unread(bundle: Bundle, facts: t.Optional[HostFacts], request: ReturnRequest) -> t.List[str]:
    if facts is None:
        reason = bundle.unreachable.get(request.inventory_name, "not read")
        return [f"host {request.inventory_name}: {reason}"]
    reasons = {entry.part: entry.reason for entry in facts.unread}
    missing = [
        f"host.{part}: {reasons.get(part, 'not read')}"
        for part in ("domains", "nova_conf", "addresses")
        if getattr(facts, part) is None
    ]
    why = {entry.part: entry.reason for entry in (bundle.cloud.unread if bundle.cloud else [])}
    missing += [
        f"cloud.{part}: {why.get(part, 'not read')}"
        for part in ("services", "servers", "ports", "providers")
        if getattr(bundle.cloud, part, None) is None
    ]
    if facts.nova_conf is not None and facts.nova_conf.images_type == "rbd":
        missing += _unread_ceph(bundle, request)
    return missing


def _unread_ceph(bundle: Bundle, request: ReturnRequest) -> t.List[str]:
    view = _ceph(bundle, request)
    if view is None:
        return [f"Ceph, as {request.ceph_name or 'another host'} sees it"]
    reasons = {entry.part: entry.reason for entry in view.unread}
    return [
        f"Ceph's {part}, as {request.ceph_name} sees it: {reasons.get(part, 'not read')}"
        for part in ("images", "blocklist")
        if getattr(view, part) is None
    ]


def _ceph(bundle: Bundle, request: ReturnRequest) -> t.Optional[RbdFacts]:
    facts = bundle.hosts.get(request.ceph_name or "")
    return facts.rbd if facts is not None and request.ceph_name != request.inventory_name else None


# --- what is safe to clear ------------------------------------------------------------------------------------


def _leftover(index: Index, fate: forecast.Fate) -> bool:
    """Whether Nova has the instance elsewhere, by an evacuation from here that is done, and would end it too."""
    rows = index.migrations_by_instance.get(fate.domain.uuid, [])
    return (
        fate.rule == forecast.EVACUATED
        and fate.action == forecast.DESTROYED
        and fate.exists
        and fate.lives is not None
        and any(row.uuid == fate.migration or str(row.id) == fate.migration for row in rows if row.status == DONE)
        and not any(in_progress(row) for row in rows)
        and not any(same_name(fate.lives, row.source_compute) for row in rows)
    )


def _harmless(bundle: Bundle, facts: HostFacts, view: t.Optional[RbdFacts], domain: Domain) -> bool:
    """Whether no process is behind a domain, or Ceph refuses what it writes and nothing here has its disks open."""
    if domain.state not in RUNNING:
        return True
    if view is None or not blocked(facts, view):
        return False
    images = [image for image in view.images or [] if image.name.startswith(f"{domain.uuid}_")]
    return bool(images) and all(
        image.watchers is not None and not any(_of(facts, watcher.address) for watcher in image.watchers)
        for image in images
    )


def _of(facts: HostFacts, ceph: str) -> bool:
    """Whether a client's address is this host's; one that cannot be understood may be."""
    address = storage.address_of(ceph)
    return address is None or any(same_address(address, own) for own in facts.addresses or [])


def blocked(facts: HostFacts, view: t.Optional[RbdFacts]) -> t.List[str]:
    """Return this host's addresses of which Ceph refuses all clients. Entries of single clients are Ceph's own."""
    entries = [entry.address for entry in (view.blocklist if view else None) or []]
    known = {storage.address_of(entry) for entry in entries if entry.endswith(_WHOLE)}
    return sorted(
        own
        for own in facts.addresses or []
        if not is_loopback(own) and any(address is not None and same_address(address, own) for address in known)
    )


def _service(bundle: Bundle, request: ReturnRequest) -> t.Optional[ApiService]:
    services = (bundle.cloud.services if bundle.cloud else None) or []
    return next((service for service in services if service.host == request.host), None)


def _hold(bundle: Bundle, request: ReturnRequest) -> t.Optional[str]:
    service = _service(bundle, request)
    reason = (service.disabled_reason if service else None) or ""
    return reason if reason.startswith(HELD) else None


def _start_is_awaited(index: Index, request: ReturnRequest) -> bool:
    """Whether an evacuation from here is one that only the next start of nova-compute completes."""
    return any(
        same_name(row.source_compute, request.host) and row.status == DONE and row.migration_type == "evacuation"
        for _place, row in index.migrations_by_host.get(request.host.casefold(), [])
    )


# --- what refuses ---------------------------------------------------------------------------------------------


def _about(index: Index, facts: HostFacts, request: ReturnRequest) -> Items:
    """SG706 an evacuation that has not ended; SG101 to SG106 who this host is, as a start would see it."""
    if request.open_operation is not None:
        evidence = {"operation": request.open_operation}
        remedy = "Run the same evacuate_host again until it ends. Keep nova-compute stopped here."
        yield finding("SG706", Subject("host", request.host), evidence, remedy)
    yield from identity.unsupported_driver(index, facts)
    yield from identity.compute_id_files(index, facts)
    yield from identity.compute_id_node(index, facts)
    yield from identity.hypervisor_hostname(index, facts)
    yield from identity.service_host(index, facts)


def _services(bundle: Bundle, request: ReturnRequest) -> Items:
    """SG119: no such service; SG707: another operation holds it; SG704: the operator does."""
    service = _service(bundle, request)
    subject = Subject("host", request.host)
    if service is None:
        yield finding("SG119", subject, {}, "Name it as openstack compute service list does.")
        return
    reason = service.disabled_reason or ""
    seen = {"status": service.status, "disabled reason": reason or None, "forced down": service.forced_down}
    if reason.startswith(OURS) and not reason.startswith(HELD):
        yield finding("SG707", subject, seen, "End that operation first.")
    elif not reason.startswith(HELD) and (service.forced_down or service.status != "enabled"):
        yield finding(
            "SG704", subject, seen, "No evacuation of this collection did that: it is left as it is.", WARNING
        )


def _strangers(facts: HostFacts, found: t.Sequence[forecast.Fate], clearing: Clearing) -> Items:
    """SG110: while Ceph refuses this host, a running domain of which nothing is known keeps it on the blocklist."""
    for fate in found:
        unknown = not fate.exists and fate.rule is None
        if clearing.addresses and unknown and fate.domain.state in RUNNING:
            evidence = {"domain": [fate.domain.name, fate.domain.state], "blocklist": list(clearing.addresses)}
            remedy = "It could write again when the blocklist is lifted: find out what it is, or virsh destroy it."
            yield finding("SG110", domain_subject(fate.domain, facts), evidence, remedy)


def _too_late(facts: HostFacts, clearing: Clearing) -> Items:
    """SG510: nova-compute runs, or may run, while there is something to clear under it."""
    if not (clearing.domains or clearing.addresses):
        return
    units = [unit for unit in facts.units or [] if "nova-compute" in unit.name or "n-cpu" in unit.name]
    running = [unit.name for unit in units if unit.active_state not in _STOPPED]
    if running or not units:
        evidence = {"runs": running, "units": None if facts.units is None else [unit.name for unit in units]}
        remedy = (
            "Stop and mask nova-compute, then run it again."
            if running
            else "See that nova-compute is stopped (no unit of it was found), then override SG510 for this host."
        )
        yield finding("SG510", host_subject(facts), evidence, remedy, BLOCKER)


def _under_way(index: Index, request: ReturnRequest) -> Items:
    """SG702: a migration from or to this host has not ended."""
    for place, row in index.migrations_by_host.get(request.host.casefold(), []):
        if in_progress(row):
            remedy = "Wait until it has ended; one that never will is for the operator to end in Nova."
            yield finding("SG702", migration_subject(row), migration_evidence(row, place), remedy)


def _ports(bundle: Bundle, request: ReturnRequest) -> Items:
    """SG511: ports of servers that Nova has elsewhere, still bound here."""
    here = {
        server.id for server in (bundle.cloud.servers if bundle.cloud else None) or [] if server.host == request.host
    }
    for port in (bundle.cloud.ports if bundle.cloud else None) or []:
        owner = port.device_owner or ""
        if port.binding_host_id == request.host and owner.startswith("compute:") and port.device_id not in here:
            evidence = {"server": port.device_id, "status": port.status}
            remedy = (
                "Nova has its server elsewhere: bind it there (openstack port set --host), or reboot the server hard."
            )
            yield finding("SG511", Subject("port", port.id, host=request.host), evidence, remedy, WARNING)


def _allocations(index: Index, bundle: Bundle, request: ReturnRequest) -> Items:
    """SG509: what placement still counts here for servers that Nova has elsewhere."""
    cloud = bundle.cloud
    roots = {node.id for node in (cloud.hypervisors if cloud else None) or [] if node.service_host == request.host}
    here = {server.id for server in (cloud.servers if cloud else None) or [] if server.host == request.host}
    moves = {row.uuid for _place, row in index.migrations_by_host.get(request.host.casefold(), [])}
    if not roots:
        yield Unchecked("SG509", request.host, "its allocations: no compute node of it was listed")
    for provider in (cloud.providers if cloud else None) or []:
        if provider.uuid not in roots and provider.root_provider_uuid not in roots:
            continue
        if provider.allocations is None:
            yield Unchecked("SG509", provider.uuid, "its allocations were not read")
        for consumer in sorted(set(provider.allocations or {}) - here - moves):
            rows = index.migrations_by_instance.get(consumer, [])
            reaped = any(same_name(row.source_compute, request.host) and row.status == DONE for row in rows)
            evidence = {"provider": provider.name, "allocation": (provider.allocations or {})[consumer]}
            remedy = (
                "The next start of nova-compute removes it."
                if reaped
                else "No open evacuation explains it: nova-manage placement audit names and removes orphans."
            )
            subject = Subject("instance", consumer, host=request.host)
            yield finding("SG509", subject, evidence, remedy, INFO if reaped else WARNING)
