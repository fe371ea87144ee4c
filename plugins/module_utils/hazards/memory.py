# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is there real memory for the guests of a dead host? SG501, SG502, SG503, and whoever else is assigned no host. Pure.

Placement only counts what flavors say, and its allocation ratio may promise more than there is. What is measured here
is what the kernel of each host says is available now, less what its running guests have not touched yet.
"""

from __future__ import annotations

import typing as t

from ..capacity.leaving_guests import Guest
from ..capacity.measured import (
    RUNNING,
    Destination,
    by_nova_name,
)
from ..capacity.planner import Assignments, Unassigned
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    Bundle,
    EvacuationFacts,
    HostFacts,
    HugePages,
)
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Item, Items, host_subject
from ..model.requests import EvacuationRequest
from . import unfit

#: Hosts that a finding shows; the report's explanation has them all.
SHOWN = 10

#: Codes with words of their own for a guest of a dead host that no host can take; every other one has those of SG512.
_OWN_WORDS = ("SG501", "SG503", "SG504", "SG505", "SG513", "SG701", "SG702", "SG703", "SG709", "SG710")


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
                **unfit.no_override(entry),
                "hosts": _shown(entry, hosts, guest),
            },
            unfit.remedy(entry) or (_remedy(entry, guest, hosts) if remedies is None else remedies[entry.code]),
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
        return remedy_text("SG512", "zone-without-destination", zone=guest.zone)
    return remedy_text(entry.code if entry.code in _OWN_WORDS else "SG512", "evacuee-without-destination")


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
        return Unchecked("SG502", host, "the host's memory or domains were not read")
    running = sum(
        domain.memory_mib for domain in facts.domains if domain.state in RUNNING and domain.hugepage_kib is None
    )
    coming = sum(assignment.memory_mib for assignment in assignments.assigned if assignment.host == host)
    evidence = {
        "total MiB": facts.memory.total_mib,
        "running guests MiB": running,
        "incoming guests MiB": coming,
        "available MiB": facts.memory.available_mib,
        "overcommit": request.overcommit,
    }
    if running + coming + request.headroom_mib <= facts.memory.total_mib and request.overcommit <= 1.0:
        return None
    return finding("SG502", Subject("host", host), evidence, remedy_text("SG502", "destination-overcommitted"))


# --- every host, without an evacuation ------------------------------------------------------------------------


def crowded(name: str, facts: HostFacts) -> Items:
    """SG502: the running guests of a host may together take more than the host has. Huge pages are counted apart."""
    if facts.memory is None or facts.domains is None:
        yield Unchecked("SG502", name, "the host's memory or domains were not read")
        return
    guests = [domain for domain in facts.domains if domain.state in RUNNING and domain.hugepage_kib is None]
    promised = sum(domain.memory_mib for domain in guests)
    pages = sum(entry.size_kib * entry.total for entry in _whole(facts.hugepages or [])) // 1024
    evidence = {
        "total MiB": facts.memory.total_mib,
        "huge pages MiB": pages,
        "running guests": len(guests),
        "their memory MiB": promised,
        "available MiB": facts.memory.available_mib,
    }
    if promised > facts.memory.total_mib - pages:
        yield finding("SG502", host_subject(facts), evidence, remedy_text("SG502", "host-overcommitted"))


def _whole(pages: t.Sequence[HugePages]) -> t.List[HugePages]:
    """The entries that count each page once: those of NUMA nodes, or the whole host's where there are none."""
    nodes = [entry for entry in pages if entry.numa_node is not None]
    return nodes or list(pages)
