# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis that a dead host leaves in OVN: reported when its servers are away.

OVN keeps it for ever: its tunnels stay, and a machine that replaces the host cannot register with the same tunnel
address. It is never removed here: no fence proves that the machine stays dead, and OVN's databases do not say whose
cloud they are. Neutron's list of agents is always read, since only it says which chassis is alive.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiAgent
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.network_agents import (
    OVN_AGENTS,
    OVN_CONTROLLERS,
    signs_of_ovn,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnChassis, OvnFacts, chassis_of
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import reading

CODE = "SG328"
#: Hosts that a reason names.
_NAMED = 5
Options = t.Mapping[str, t.Any]
Evidence = t.Dict[str, t.Any]
Unread = t.Tuple[Unchecked, ...]


def look(connection: t.Any, options: Options, host: str, directory: str) -> Checked:
    """Return what of the host is left in OVN: by neutron's agents, and by OVN's databases where those are given.

    ``directory``: what was read of the other hosts (:func:`records.evidence.load_dir`).
    """
    agents, no_agents = _agents(connection, host)
    given = reading.given(options)
    chassis, no_databases = _chassis(options, host) if given else (None, ())
    if not (given or agents or no_agents):
        no_agents = _unseen(host, directory)
    alive = {agent.id: agent.alive for agent in agents}
    found = [(name, {**seen, "alive": alive.get(name)}) for name, seen in (chassis or {}).items()]
    for agent in _of_no_chassis(agents, chassis or {}):
        seen = {"agent": agent.agent_type, "alive": agent.alive}
        # Another cloud's database, or a hostname that is not Nova's name: the agent is no less there.
        found.append((agent.id, seen if chassis is None else {**seen, "in the southbound database": False}))
    return Checked(tuple(_finding(host, name, seen) for name, seen in found), (*no_agents, *no_databases))


def _agents(connection: t.Any, host: str) -> t.Tuple[t.List[ApiAgent], Unread]:
    try:
        return [agent for agent in network.list_agents(connection, host) if agent.agent_type in OVN_AGENTS], ()
    except ApiError as error:
        return [], (Unchecked(CODE, host, f"the network agents were not read: {error.message}"),)


def _unseen(host: str, directory: str) -> Unread:
    """Say that nothing is known where other hosts have OVN, and neutron shows no agent of this one.

    An empty list is no proof: neutron's workers make OVN's agents up from events, and hide them from users that are no
    administrators.
    """
    hosts = evidence.load_dir(directory).hosts
    shown = sorted(name for name, facts in hosts.items() if signs_of_ovn("", facts, None))
    if not shown:
        return ()
    said = (
        "OVN's databases were not read (ovn_nb_connection and ovn_sb_connection), and neutron shows no agent of the "
        f"host. These hosts have OVN: {', '.join(shown[:_NAMED])}"
    )
    return (Unchecked(CODE, host, said),)


def _of_no_chassis(agents: t.Sequence[ApiAgent], chassis: t.Mapping[str, Evidence]) -> t.List[ApiAgent]:
    """Return agents that stand for a chassis beside those of ``chassis``.

    The agents for metadata belong to the chassis of a controller: they count only where nothing else shows one.
    """
    controllers = [agent for agent in agents if agent.agent_type in OVN_CONTROLLERS]
    if not controllers and not chassis:
        return list(agents)
    return [agent for agent in controllers if agent.id not in chassis]


def _chassis(options: Options, host: str) -> t.Tuple[t.Optional[t.Dict[str, Evidence]], Unread]:
    """Return what the databases hold of the host's chassis, by name; None: it was not read."""
    facts = reading.read_ovn(options, [host])
    if facts.chassis is None or facts.port_bindings is None:
        return None, (Unchecked(CODE, host, f"OVN's databases were not read: {_reason(facts)}"),)
    found = {entry.name: _evidence(facts, entry) for entry in chassis_of(facts, host)}
    if facts.gateways is None:
        said = f"the run could not read whether the chassis is a gateway of routers: {_reason(facts)}"
        return found, (Unchecked(CODE, host, said),)
    return found, ()


def _evidence(facts: OvnFacts, chassis: OvnChassis) -> Evidence:
    return {
        "hostname": chassis.hostname,
        "tunnel endpoints": [f"{encap.type} {encap.ip}" for encap in chassis.encaps],
        "gateway of routers": None if facts.gateways is None else chassis.name in facts.gateways,
        "ports bound to it": users(facts, chassis),
    }


def _reason(facts: OvnFacts) -> str:
    return "; ".join(entry.reason for entry in facts.unread) or "no reason was given"


def users(facts: OvnFacts, chassis: OvnChassis) -> t.List[str]:
    """Return the ports that a chassis has bound, or that ask for it."""
    return sorted(
        entry.logical_port
        for entry in facts.port_bindings or []
        if chassis.uuid in (entry.chassis, entry.requested, *entry.additional)
    )


def _finding(host: str, name: str, evidence: Evidence) -> Finding:
    return finding(CODE, Subject("host", name, host=host), evidence, _remedy(name, evidence["alive"]))


def _remedy(name: str, alive: t.Optional[bool]) -> str:
    if alive:
        return (
            "Do not delete the chassis while neutron shows it as alive. Run openstack network agent list again every "
            "minute: neutron needs about two minutes to notice a dead chassis, and only checks while a user lists the "
            "agents. If the agent stays alive, the host is back, or another machine has its name. Verify which machine "
            "it is."
        )
    delete = (
        "If the host will not come back, verify that the machine is dead and that no port is bound to the chassis, "
        f"then run: openstack network agent delete {name}. If the host will come back, keep the chassis, because the "
        "host uses it again."
    )
    if alive is None:
        return (
            "Neutron did not show whether this chassis is alive. First verify that openstack network agent list shows "
            f"the chassis as dead, and that ovn_sb_connection is the connection to the database of this cloud. {delete}"
        )
    return delete
