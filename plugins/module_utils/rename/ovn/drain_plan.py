# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that verify OVN's chassis at the end of a rename by draining. Pure.

The host is empty while its names change, so no port names it and no order is needed. Afterwards the chassis must have
the new hostname: neutron binds ports to no other.
"""

from __future__ import annotations

import typing as t

from ...model.facts import ApiAgent, HostFacts
from ...model.names import Names
from ...model.network_agents import OVN_AGENTS
from ...model.ovn import OvnFacts, chassis_of
from ...model.plan import CONTROLLER, Change, PlanError, Step

#: What a plan says where an override of SG317 passes that OVN's databases were not read.
NOT_VERIFIED = (
    "OVN: the run does not verify the chassis, because it could not read OVN's databases (SG317). Before you let the "
    "host take servers, run ovn-sbctl list Chassis, and verify that the chassis has the new hostname."
)
NOT_KNOWN = (
    "OVN: the run does not know whether the host has OVN (SG317), so the run does not verify the chassis. Before "
    "you let the host take servers, run ovn-sbctl list Chassis. If the host has a chassis, verify that the chassis has "
    "the new hostname."
)
ROUTED = (
    "OVN with routed provider networks: restart neutron's API after the run. Neutron maps the network segments to the "
    "new hostname only when neutron's API starts."
)


def is_verifiable(facts: t.Optional[OvnFacts]) -> bool:
    """Whether OVN's databases were read, so that the run can compare them afterwards."""
    return facts is not None and None not in (
        facts.chassis,
        facts.switch_ports,
        facts.connections,
        facts.northd_ms,
    )


def steps(
    facts: t.Optional[OvnFacts],
    host: HostFacts,
    names: t.Tuple[Names, Names],
    agents: t.Sequence[ApiAgent],
    timeout: int,
) -> t.List[Step]:
    """Return the steps. ``names``: before and after; ``agents``: those of the old name.

    Raises :class:`PlanError` where the host's chassis is not one of a kind: an override passes a finding, and never
    what is missing here.
    """
    found = [_chassis(facts, host, names, timeout)] if facts is not None and is_verifiable(facts) else []
    alive = [agent.id for agent in agents if agent.agent_type in OVN_AGENTS and agent.alive]
    if alive:
        params = {"agents": alive, "restarted": [], "ports": [], "old": names[0].host, "new": names[1].host}
        title = "wait for OVN's agents to report under the new name"
        found.append(Step("ovn_agents", title, CONTROLLER, "agents_alive", {**params, "timeout": timeout}))
    return found


def _chassis(facts: OvnFacts, host: HostFacts, names: t.Tuple[Names, Names], timeout: int) -> Step:
    old, new = names[0].host, names[1].host
    mine = chassis_of(facts, old)
    own = (host.ovs_external_ids or {}).get("system-id")
    if len(mine) != 1 or (host.ovs_external_ids is not None and mine[0].name != own):
        seen = ", ".join(entry.name for entry in mine) or "none"
        raise PlanError(
            f"exactly one chassis must have the hostname {old}, and the name of this chassis must be the system-id of "
            f"Open vSwitch ({own}). Found chassis: {seen}. You cannot override this problem",
            problem="exactly-one-chassis",
        )
    if any(new in (entry.hostname, entry.name) for entry in facts.chassis or [] if entry.uuid != mine[0].uuid):
        raise PlanError(
            f"another chassis already has the name {new}. You cannot override this problem",
            problem="another-chassis-already",
        )
    params = {
        "old": old,
        "new": new,
        "chassis": {"name": mine[0].name, "uuid": mine[0].uuid},
        "system_id": own,
        "encaps": [[encap.type, encap.ip] for encap in mine[0].encaps],
        "rbac": any(entry.role for entry in facts.connections or []),
        "timeout": timeout,
    }
    changes = [Change(f"OVN chassis {mine[0].name}", "hostname", old, new)]
    title = "OVN: verify that the chassis has the new hostname, and that no port still requests the old hostname"
    return Step("ovn_chassis", title, CONTROLLER, "ovn_chassis", params, changes)
