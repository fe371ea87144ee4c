# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the chassis that a dead host leaves in OVN may be removed: every reason against it. Pure.

OVN's databases do not say whose cloud they are, and a hostname may have a new owner. So the southbound database and
neutron must show the same chassis, each of them exactly one, and neutron must show it as dead. Whether the machine is
off is for the fence to prove.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.facts import ApiAgent, ApiService
from ...model.network_agents import OVN_AGENTS, OVN_CONTROLLERS
from ...model.ovn import (
    NOT_BOUND,
    OvnChassis,
    OvnFacts,
    chassis_of,
    users,
)

#: Objects that a reason names.
NAMED = 5


@dataclasses.dataclass(frozen=True)
class ChassisFacts:
    """What was read of a dead host for the removal of its chassis. ``servers``: names of those that are on it."""

    service: t.Optional[ApiService]
    servers: t.List[str]
    ovn: OvnFacts
    #: Every network agent of the host.
    agents: t.List[ApiAgent]


#: A key, and the same in words; None: nothing.
_Against = t.Optional[t.Tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Objection:
    """Why a chassis is not removed, as a key and in words. ``passing``: time may remove the reason."""

    problem: str
    why: str
    passing: bool = False


def against(host: str, seen: ChassisFacts) -> t.Optional[Objection]:
    """Return why the chassis of the host must stay; None: nothing that was read stands against its removal.

    That an agent is alive passes: neutron shows a dead one as alive for a minute or two.
    """
    why = _in_nova(host, seen) or _in_ovn(host, seen.ovn) or _in_neutron(host, seen)
    if why is not None:
        return Objection(*why)
    alive = sorted(f"{agent.agent_type} {agent.id}" for agent in seen.agents if agent.alive)
    said = f"neutron shows these agents of {host} as alive: {_some(alive)}"
    return Objection("agent-alive", said, passing=True) if alive else None


def is_gone(host: str, name: str, seen: ChassisFacts) -> bool:
    """Whether the chassis of this name is gone from both sides, and no other one has the host's name."""
    if seen.ovn.chassis is None or any(host == row.hostname or name == row.name for row in seen.ovn.chassis):
        return False
    return not any(agent.agent_type in OVN_AGENTS for agent in seen.agents)


def _in_nova(host: str, seen: ChassisFacts) -> _Against:
    if seen.service is None:
        return "no-service", f"Nova shows no compute service of {host}"
    if not seen.service.forced_down:
        return "not-forced-down", f"the compute service of {host} is no longer forced down"
    return ("servers", f"Nova still shows these servers on {host}: {_some(seen.servers)}") if seen.servers else None


def _in_ovn(host: str, ovn: OvnFacts) -> _Against:
    parts = (ovn.chassis, ovn.port_bindings, ovn.switch_ports, ovn.gateways)
    if ovn.unread or any(part is None for part in parts):
        reasons = "; ".join(entry.reason for entry in ovn.unread) or "no reason was given"
        return "ovn-unread", f"the run could not read OVN's databases: {reasons}"
    found = chassis_of(ovn, host)
    if len(found) != 1:
        named = f": {_some([row.name for row in found])}" if found else ""
        said = f"the southbound database must have exactly 1 chassis with the hostname {host}, but has {len(found)}"
        return "not-one-chassis", f"{said}{named}"
    (chassis,) = found
    ports = sorted({*users(ovn, chassis), *_requested(host, chassis, ovn)})
    if ports:
        return "ports", f"these ports are bound to the chassis or request the chassis: {_some(ports)}"
    if chassis.name in (ovn.gateways or []):
        return "gateway", "the chassis is a gateway chassis of a router"
    return None


def _requested(host: str, chassis: OvnChassis, ovn: OvnFacts) -> t.List[str]:
    """Return the ports of the northbound database that ask for the chassis: ovn-northd may lag behind."""
    names = {host, chassis.name}
    ports = [port for port in ovn.switch_ports or [] if port.type not in NOT_BOUND]
    return [port.name for port in ports if names & set((port.requested or "").split(","))]


def _in_neutron(host: str, seen: ChassisFacts) -> _Against:
    found = [agent.id for agent in seen.agents if agent.agent_type in OVN_CONTROLLERS and agent.host == host]
    if not found:
        return "no-agent", (
            f"neutron shows no OVN controller agent of {host}. ovn_sb_connection may point to the database of another "
            "cloud, or the API user may have no permission to list agents"
        )
    if len(found) > 1:
        said = f"neutron must show exactly 1 OVN controller agent of {host}, but shows {len(found)}: {_some(found)}"
        return "several-agents", said
    names = [row.name for row in chassis_of(seen.ovn, host)]
    if found != names:
        return "another-chassis", (
            f"neutron shows chassis {found[0]} for {host}, but the southbound database shows chassis {_some(names)}. "
            "ovn_sb_connection may point to the database of another cloud"
        )
    return None


def _some(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
