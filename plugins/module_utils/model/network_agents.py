# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kinds of neutron agents that a compute host has, by C(agent_type). Pure."""

from __future__ import annotations

import typing as t

from .facts import ApiAgent, HostFacts
from .ovn import OvnFacts

#: Agents that wire ports on a compute host: renamed with it.
L2_AGENTS = ("Open vSwitch agent", "Linux bridge agent", "NIC Switch agent", "Macvtap agent")
#: Agents that bind the ports of their host themselves: where one is alive, OVN does not. A NIC Switch agent runs beside
#: OVN, and binds ports of its own kind only.
BINDING_AGENTS = ("Open vSwitch agent", "Linux bridge agent", "Macvtap agent")
#: Shown by neutron for each Chassis of OVN's southbound database, and named by its hostname, which comes from Open
#: vSwitch's external_ids. None of them is a row of neutron's own database (facts of nova, 3.1).
OVN_AGENTS = ("OVN Controller agent", "OVN Controller Gateway agent", "OVN Metadata agent", "OVN Neutron agent")
#: Those whose id is the name of the chassis.
OVN_CONTROLLERS = ("OVN Controller agent", "OVN Controller Gateway agent")
#: The program that binds the ports of a host with OVN.
OVN_CONTROLLER = "ovn-controller"
#: The program that has the ports of a host with Open vSwitch.
VSWITCHD = "ovs-vswitchd"


def has_ovn(agents: t.Iterable[ApiAgent]) -> bool:
    """Whether the ports of the host with these agents are OVN's."""
    return any(agent.agent_type in OVN_AGENTS for agent in agents)


def binds_without_ovn(agent: ApiAgent) -> bool:
    """Whether an agent proves that OVN does not bind the ports of its host; one that is dead may be a leftover."""
    return agent.agent_type in BINDING_AGENTS and agent.alive


def signs_of_ovn(host: str, facts: t.Optional[HostFacts], ovn: t.Optional[OvnFacts]) -> t.List[str]:
    """Return what says that the ports of this host are OVN's, apart from its agents.

    Neutron makes up OVN's agents from what it has seen of the southbound database: the list is empty where its workers
    see no events, and it has another name where the chassis has.
    """
    external = (facts.ovs_external_ids if facts is not None else None) or {}
    own = external.get("system-id")
    found = sorted(
        f"external_ids:{key} of Open vSwitch"
        for key in external
        if key.startswith("ovn-remote") or (own is not None and key.startswith("ovn-encap-"))
    )
    if facts is not None and facts.ovs_external_ids is None:
        found += _running(facts)
    for entry in (ovn.chassis if ovn is not None else None) or []:
        if host.casefold() in (entry.name.casefold(), entry.hostname.casefold()) or entry.name == own:
            found.append(f"chassis {entry.name} with the hostname {entry.hostname}")
    return found


def _running(facts: HostFacts) -> t.List[str]:
    """Return what of OVN runs on a host whose external_ids were not read: Open vSwitch may be in a container.

    With external_ids it proves nothing: without C(ovn-remote) an ovn-controller does nothing.
    """
    processes = facts.deployment.processes if facts.deployment is not None else []
    found = [f"process {entry.pid} of {entry.program}" for entry in processes if entry.program == OVN_CONTROLLER]
    units = [unit.name for unit in facts.units or [] if "ovn" in unit.name and unit.active_state == "active"]
    return sorted([*found, *(f"active unit {name}" for name in units)])


def is_without_ovn(facts: HostFacts) -> bool:
    """Whether it is known of a host that it is without OVN: its Open vSwitch has no sign of it, or does not run.

    A stopped ovn-controller leaves no process, so an Open vSwitch that runs and was not read decides nothing. Where
    none runs, in a container or not, OVN has nothing to bind a port to.
    """
    if signs_of_ovn("", facts, None):
        return False
    if facts.ovs_external_ids is not None:
        return True
    return facts.deployment is not None and not any(entry.program == VSWITCHD for entry in facts.deployment.processes)


def is_undecided(agents: t.Iterable[ApiAgent], facts: HostFacts) -> bool:
    """Whether a host without a sign of OVN may have it all the same.

    ``agents``: those of the host. After a clean stop neither a chassis nor an agent of OVN is left.
    """
    return not is_without_ovn(facts) and not any(binds_without_ovn(agent) for agent in agents)


def ports_are_ovns(
    agents: t.Iterable[ApiAgent], host: str, facts: t.Optional[HostFacts], ovn: t.Optional[OvnFacts]
) -> bool:
    """Whether anything says that the ports of the host are OVN's: its agents, its Open vSwitch or a chassis."""
    return has_ovn(agents) or bool(signs_of_ovn(host, facts, ovn))
