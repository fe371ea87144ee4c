# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis that a dead host leaves in OVN: reported when its servers are away, and removed where that is asked for.

OVN keeps it for ever: its tunnels stay, and a machine that replaces the host cannot register with the same tunnel
address. It is removed only when no server and no port is left there and it does not answer.
"""

from __future__ import annotations

import time
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict, OvnError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked, Subject, Unchecked, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.network_agents import OVN_AGENTS
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnChassis, OvnFacts, chassis_of
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Stopped
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network, server_records
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import northbound, reading, southbound
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn.database import OvnAccess

CODE = "SG328"
#: Seconds in which a living ovn-controller answers a change.
ANSWER = 5.0
Options = t.Mapping[str, t.Any]


def look(connection: t.Any, options: Options, host: str) -> Checked:
    """Return what of the host is left in OVN: by its databases, or by the network API where those are not given."""
    if not reading.given(options):
        return _by_agents(connection, host)
    facts = reading.read_ovn(options, [host])
    if facts.chassis is None or facts.port_bindings is None:
        return Checked(unchecked=(Unchecked(CODE, host, f"OVN's databases were not read: {_reason(facts)}"),))
    return Checked(tuple(_finding(host, entry.name, _evidence(facts, entry)) for entry in chassis_of(facts, host)))


def _by_agents(connection: t.Any, host: str) -> Checked:
    try:
        agents = [agent for agent in network.list_agents(connection, host) if agent.agent_type in OVN_AGENTS]
    except ApiError as error:
        return Checked(unchecked=(Unchecked(CODE, host, f"the network agents were not read: {error.message}"),))
    return Checked(
        tuple(_finding(host, agent.id, {"agent": agent.agent_type, "alive": agent.alive}) for agent in agents)
    )


def _finding(host: str, name: str, evidence: t.Mapping[str, t.Any]) -> t.Any:
    remedy = (
        f"If the host does not come back: openstack network agent delete {name}. The option "
        "evacuate_remove_chassis=true removes the chassis at the end of an evacuation. Otherwise leave it: the host "
        "uses it again when it returns."
    )
    return finding(CODE, Subject("host", name, host=host), dict(evidence), remedy)


def _evidence(facts: OvnFacts, chassis: OvnChassis) -> t.Dict[str, t.Any]:
    return {
        "hostname": chassis.hostname,
        "tunnel endpoints": [f"{encap.type} {encap.ip}" for encap in chassis.encaps],
        "gateway of routers": chassis.name in (facts.gateways or []),
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


def remove(connection: t.Any, options: Options, host: str) -> str:
    """Remove the chassis of a host that was proven to be fenced; return what was done.

    Raises :class:`Stopped`, with nothing removed, where anything is left on it or it is alive.
    """
    here = server_records.servers_on(connection, host)
    if here:
        raise Stopped(f"the chassis of {host} is kept: {count(len(here), 'server')} of Nova are still on the host")
    try:
        return _removed(options, host)
    except (OvnError, Conflict) as error:
        raise Stopped(f"the chassis of {host} is kept: {error.message}") from error


def _removed(options: Options, host: str) -> str:
    facts = reading.read_ovn(options, [host])
    if facts.chassis is None or facts.port_bindings is None:
        raise OvnError(f"OVN's databases were not read: {_reason(facts)}")
    found = chassis_of(facts, host)
    if not found:
        return "OVN has no chassis of this host"
    if len(found) > 1:
        raise OvnError(f"{len(found)} chassis have this hostname: {', '.join(entry.name for entry in found)}")
    (chassis,) = found
    bound = users(facts, chassis)
    if bound:
        raise OvnError(f"ports are bound to it, or ask for it: {', '.join(bound[:5])}")
    access = OvnAccess.of(options)
    if _answers(access, chassis):
        raise OvnError(f"ovn-controller of chassis {chassis.name} is alive")
    with southbound.of_chassis(access, [chassis.uuid], [host, chassis.name]) as database:
        southbound.remove_chassis(database, chassis.name, chassis.uuid)
    return f"chassis {chassis.name} removed"


def _answers(access: OvnAccess, chassis: OvnChassis) -> bool:
    """Whether the chassis takes part in a change: the machine may be another one of the same name, and alive."""
    with northbound.of_hosts(access, []) as ports:
        number, _milliseconds = northbound.synchronise(ports)
    with southbound.of_chassis(access) as database:

        def seen() -> t.Optional[bool]:
            rows = [row for row in southbound.read_chassis(database) if row.name == chassis.name]
            return True if rows and (rows[0].nb_cfg or 0) >= number else None

        end = time.monotonic() + ANSWER
        return bool(database.wait(seen, max(0.0, end - time.monotonic())))
