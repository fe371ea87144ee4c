# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host with OVN would do to the ports of its evacuated guests when it comes back. Pure.

A chassis claims a port only where C(requested-chassis) names it, whatever is plugged there. So ports that name another
host are safe from it, and one that still names this host is not.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards import ovn as hazards
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiPort, Bundle, HostFacts
from ..model.findings import (
    BLOCKER,
    WARNING,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Items
from ..model.network_agents import (
    has_ovn,
    is_undecided,
    signs_of_ovn,
)
from ..model.ovn import NOT_BOUND, OvnFacts
from ..model.requests import ReturnRequest

_PARTS = ("chassis", "switch_ports")


def check(bundle: Bundle, facts: HostFacts, request: ReturnRequest) -> Items:
    """SG511: ports of guests elsewhere that name this host; SG318, SG321, SG323: its chassis; SG317: not read."""
    ovn = bundle.databases.ovn if bundle.databases else None
    agents = [agent for agent in (bundle.cloud.agents if bundle.cloud else None) or [] if agent.host == request.host]
    signs = signs_of_ovn(request.host, facts, ovn)
    signs += sorted(f"{agent.agent_type} {agent.id}" for agent in agents if has_ovn([agent]))
    if not signs:
        if is_undecided(agents, facts):
            reasons = "; ".join(entry.reason for entry in facts.unread if entry.part == "ovs_external_ids")
            why = f"external_ids of Open vSwitch were not read ({reasons or 'no reason'})"
            yield Unchecked("SG317", request.host, f"the run does not know whether the host has OVN: {why}")
        return
    if ovn is None:
        yield Unchecked(
            "SG317", request.host, f"the host has OVN ({signs[0]}), but the run did not read OVN's databases"
        )
        return
    missing = [part for part in _PARTS if getattr(ovn, part) is None]
    if missing:
        # Both connections were given: what was asked for and not read is no reason to let the host take servers.
        evidence = {
            "not read from OVN's databases": missing,
            "reasons": [entry.reason for entry in ovn.unread] or ["no reason was given"],
        }
        remedy = remedy_text("SG317", "returning-host-with-ovn-unread")
        yield finding("SG317", Subject("host", request.inventory_name, host=request.host), evidence, remedy, BLOCKER)
        return
    for item in hazards.host_items(request.inventory_name, facts, ovn):
        # A chassis that was deleted is there again when ovn-controller starts; a return may come before that.
        late = isinstance(item, Finding) and item.code == "SG318"
        yield dataclasses.replace(t.cast("Finding", item), severity=WARNING) if late else item
    yield from _ports(bundle, facts, ovn, request)


def _is_guests(port: ApiPort) -> bool:
    return (port.device_owner or "").startswith("compute:")


def _ports(bundle: Bundle, facts: HostFacts, ovn: OvnFacts, request: ReturnRequest) -> Items:
    cloud = bundle.cloud
    if cloud is None or cloud.ports is None or cloud.servers is None:
        yield Unchecked(
            "SG511",
            request.host,
            (
                "the run did not read the servers or the ports, so the run does not know which server each OVN port "
                "belongs to"
            ),
        )
        return
    own = (facts.ovs_external_ids or {}).get("system-id")
    named = {request.host, *([own] if own else [])}
    named |= {entry.name for entry in ovn.chassis or [] if entry.hostname == request.host}
    here = {server.id for server in cloud.servers if server.host == request.host}
    by_id = {port.id: port for port in cloud.ports}
    for port in ovn.switch_ports or []:
        if port.type in NOT_BOUND or not named & set((port.requested or "").split(",")):
            continue
        known = by_id.get(port.name)
        is_bound_here = known is not None and known.binding_host_id == request.host
        if known is not None and is_bound_here and (known.device_id in here or not _is_guests(known)):
            continue
        evidence = {
            "requested-chassis": port.requested,
            "server": known.device_id if known else None,
            "neutron binds it to": known.binding_host_id if known else "not this host (another host or no host)",
        }
        remedy = remedy_text("SG511", "chassis-of-returning-host-requested", port=port.name)
        yield finding("SG511", Subject("port", port.name, "OVN", request.host), evidence, remedy, BLOCKER)
