# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is there real memory for the guests of a dead host? SG501, SG502, SG503, and whoever else is assigned no host. Pure.

Placement only counts what flavors say, and its allocation ratio may promise more than there is. What is measured here
is what the kernel of each host says is available now, less what its running guests have not touched yet.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.measured import (
    RUNNING,
    Destination,
    Guest,
    by_nova_name,
)
from ansible_collections.stackguard.nova.plugins.module_utils.capacity.planner import Assignments, Unassigned
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Bundle, EvacuationFacts, HugePages
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Subject, Unchecked, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Item, Items, host_subject
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest

#: Hosts that a finding shows; the report's explanation has them all.
SHOWN = 10

_REMEDIES = {
    "SG501": "Free memory on a host of its zone or add one, send others first (evacuate_order), or leave it out "
    "(evacuate_partial=true): it stays recoverable where it is.",
    "SG503": "Give a host of its zone more free huge pages of that size on one NUMA node, or leave it out "
    "(evacuate_partial=true).",
    "SG504": "Find the missing image first (another pool, the trash: rbd trash ls). Evacuated without it, one failed "
    "spawn deletes every image of the server.",
    "SG505": "Give the destination the pool and the Ceph configuration that the source has.",
    "SG512": "Bring another compute host of its zone up and enable it, or make room there.",
    "SG513": "Its disk died with its host, or is still on it: bring the host back. An override by name lets it be "
    "rebuilt from its image, with all its data gone.",
    "SG701": "The host is dead, so that most tasks never end: evacuate_reset_states=[task] resets those once it is "
    "proven dead. That of an evacuation, migration or deletion is not reset: see SG702.",
    "SG709": "Make what is named readable, then run it again: nothing is guessed.",
    "SG702": "A migration of it is open: see the migration's own remedy in docs/codes/SG702.md.",
    "SG703": "Its resize waits for its owner: it stays on the dead host, where nothing is reverted until that is back.",
    "SG710": "Nova evacuates ACTIVE, SHUTOFF and ERROR servers. PAUSED, SUSPENDED and RESCUE go with "
    "evacuate_reset_states, at the loss that is named; leave the others out (evacuate_partial=true).",
}


def unassigned(
    guests: t.Sequence[Guest],
    hosts: t.Sequence[Destination],
    assignments: Assignments,
    host: str,
    remedies: t.Optional[t.Mapping[str, str]] = None,
    codes: t.Optional[t.Mapping[str, str]] = None,
) -> Items:
    """One finding for each unassigned guest, with what speaks against each host.

    ``remedies``: another operation's words; ``codes``: the codes under which it tells some of these.
    """
    by_uuid = {guest.uuid: guest for guest in guests}
    for entry in assignments.unassigned:
        guest = by_uuid[entry.uuid]
        yield finding(
            (codes or {}).get(entry.code, entry.code),
            Subject("instance", entry.uuid, entry.name, guest.source or host),
            {
                "zone": guest.zone,
                "memory MiB": guest.size,
                **({"server": [reason.text for reason in entry.problems]} if entry.problems else {}),
                "hosts": _shown(entry, hosts, guest),
            },
            _remedy(entry, guest, hosts) if remedies is None else remedies[entry.code],
        )


def _shown(entry: Unassigned, hosts: t.Sequence[Destination], guest: Guest) -> t.Dict[str, t.Any]:
    """What speaks against hosts of the guest's zone first; of too many, a number."""
    order = sorted(hosts, key=lambda host: (guest.zone is not None and host.zone != guest.zone, host.host))
    shown: t.Dict[str, t.Any] = {
        host.host: [reason.text for reason in entry.reasons.get(host.host, [])] for host in order[:SHOWN]
    }
    if len(order) > SHOWN:
        shown["and others"] = len(order) - SHOWN
    return shown


def _remedy(entry: Unassigned, guest: Guest, hosts: t.Sequence[Destination]) -> str:
    alone = guest.zone is not None and all(host.zone != guest.zone for host in hosts)
    if entry.code == "SG512" and alone:
        return (
            f"No other host is in zone {guest.zone}: Nova would accept the request and turn the server to ERROR. Add "
            "a host to the zone; or unpin the server, which is your decision: from release 34 by API (microversion "
            '2.104, PUT /servers/ID {"server": {"pinned_availability_zone": null}}), before it in its request spec.'
        )
    return _REMEDIES.get(entry.code, _REMEDIES["SG512"])


def unmeasured(hosts: t.Sequence[Destination], zones: t.Container[t.Optional[str]]) -> Items:
    """Hosts that might have taken guests had they been read: told as undecided."""
    for host in hosts:
        unread = [reason.text for reason in host.problems if reason.code == "SG709"]
        if unread and host.zone in zones and not any(reason.code == "SG512" for reason in host.problems):
            yield Unchecked("SG501", host.host, "; ".join(unread))


def overcommitted(
    bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, assignments: Assignments
) -> Items:
    """SG502: a destination's running guests may together take more than it has, or the operator stretches it."""
    facts = by_nova_name(bundle)
    for host in sorted({assignment.host for assignment in assignments.assigned}):
        item = _overcommitted(host, facts, request, assignments)
        if item is not None:
            yield item


def _overcommitted(
    host: str, hosts: t.Mapping[str, t.Any], request: EvacuationRequest, assignments: Assignments
) -> t.Optional[Item]:
    facts = hosts.get(host)
    if facts is None or facts.memory is None or facts.domains is None:
        return Unchecked("SG502", host, "its memory or its domains were not read")
    running = sum(
        domain.memory_mib for domain in facts.domains if domain.state in RUNNING and domain.hugepage_kib is None
    )
    coming = sum(assignment.memory_mib for assignment in assignments.assigned if assignment.host == host)
    evidence = {
        "total MiB": facts.memory.total_mib,
        "running guests MiB": running,
        "coming MiB": coming,
        "available MiB": facts.memory.available_mib,
        "overcommit": request.overcommit,
    }
    if running + coming + request.headroom_mib <= facts.memory.total_mib and request.overcommit <= 1.0:
        return None
    remedy = (
        "Expect swapping or the kernel's killer once its guests use what they were promised: spread them afterwards."
    )
    return finding("SG502", Subject("host", host), evidence, remedy)


# --- every host, without an evacuation ------------------------------------------------------------------------


def crowded(bundle: Bundle) -> Items:
    """SG502: the running guests of a host may together take more than the host has. Huge pages are counted apart."""
    for name in sorted(bundle.hosts):
        facts = bundle.hosts[name]
        if facts.memory is None or facts.domains is None:
            yield Unchecked("SG502", name, "its memory or its domains were not read")
            continue
        guests = [domain for domain in facts.domains if domain.state in RUNNING and domain.hugepage_kib is None]
        promised = sum(domain.memory_mib for domain in guests)
        pages = sum(entry.size_kib * entry.total for entry in _whole(facts.hugepages or [])) // 1024
        evidence = {
            "total MiB": facts.memory.total_mib,
            "of these in huge pages MiB": pages,
            "running guests": len(guests),
            "their memory MiB": promised,
            "available MiB": facts.memory.available_mib,
        }
        if promised > facts.memory.total_mib - pages:
            remedy = "Move guests away (openstack server migrate --live-migration), or expect swapping or the kernel's "
            yield finding("SG502", host_subject(facts), evidence, remedy + "killer once they use what they have.")


def _whole(pages: t.Sequence[HugePages]) -> t.List[HugePages]:
    """The entries that count each page once: those of NUMA nodes, or the whole host's where there are none."""
    nodes = [entry for entry in pages if entry.numa_node is not None]
    return nodes or list(pages)
