# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a removal: through an API where there is one, rows only where there is none. Pure.

The compute service is first: while it exists, Nova can find the host. The queues are last: until then, something may
still be sent to the name.
"""

from __future__ import annotations

import typing as t

from ..model.facts import ApiAgent
from ..model.lookups import COMPUTE
from ..model.network_agents import L2_AGENTS, OVN_AGENTS, OVN_CONTROLLERS
from ..model.ovn import chassis_of, users
from ..model.plan import CONTROLLER, Change, Plan, Step
from ..model.wording import count
from . import preflight as checks

KIND = "remove"
PROVIDERS, AGENTS, MASAKARI, QUEUES = "providers", "agents", "masakari", "queues"
#: What C(remove_keep) can name. A service stays with its node and its mapping, or nothing is removed at all.
KEPT = (PROVIDERS, AGENTS, MASAKARI, QUEUES)
NOBODY = "(removed)"


def plan(found: checks.Found, names: t.Sequence[str], keep: t.Collection[str], operation_id: str) -> Plan:
    """Return the steps for these hosts, one host after the other."""
    steps: t.List[Step] = []
    notes: t.List[str] = []
    for name in names:
        host = checks.host_of(found, name)
        steps += [*_service(host), *_rows(host)]
        for kind, make in ((PROVIDERS, _providers), (AGENTS, _agents), (MASAKARI, _masakari)):
            for item in make(host) if kind not in keep else ():
                if isinstance(item, str):
                    notes.append(f"{name}: {item}")
                else:
                    steps.append(item)
        steps += _queues(host) if QUEUES not in keep else []
    return Plan(KIND, operation_id, ", ".join(names), steps, notes)


def _params(host: checks.Host, **params: t.Any) -> t.Dict[str, t.Any]:
    return {"host": host.name, **params}


def _service(host: checks.Host) -> t.Iterator[Step]:
    shown = {row.id for row in host.index.api_services_by_host.get(host.name, []) if row.binary == COMPUTE}
    for cell, row in host.index.services_by_host.get(host.name, []):
        if row.uuid not in shown:
            continue
        change = Change(f"compute service {row.uuid}", "host", host.name, NOBODY)
        title = f"delete the compute service of {host.name}"
        nodes = [node.id for there, node in host.index.node_rows if there is cell and node.host == host.name]
        params = {"cell": cell.name, "number": row.id, "nodes": sorted(nodes), "by_id": cell.has_compute_id}
        name = f"delete_service:{host.name}:{row.uuid}"
        yield Step(name, title, CONTROLLER, "delete_gone_service", _params(host, service=row.uuid, **params), [change])


def _rows(host: checks.Host) -> t.Iterator[Step]:
    """Rows of the API database, which no API removes once the service is gone. Nova removes them with a service."""
    databases = host.found.bundle.databases
    api = databases.api if databases else None
    mappings = [row for row in (api.host_mappings if api else None) or [] if row.host == host.name and row.cell_uuid]
    members = [row for row in (api.aggregate_hosts if api else None) or [] if row.host == host.name]
    if not mappings and not members:
        return
    rows: t.List[t.Dict[str, t.Any]] = [
        {"table": "host_mappings", "id": row.id, "host": row.host, "cell": row.cell_uuid} for row in mappings
    ]
    rows += [
        {"table": "aggregate_hosts", "id": row.id, "host": row.host, "aggregate_id": row.aggregate_id}
        for row in members
    ]
    said = f"{count(len(mappings), 'host mapping')}, {count(len(members), 'aggregate membership')}"
    change = Change("API database", said, host.name, NOBODY)
    title = f"remove what is left of {host.name} from the API database"
    aggregates = sorted({row.aggregate_id for row in members})
    params = _params(host, rows=rows, aggregates=aggregates)
    yield Step(f"delete_rows:{host.name}", title, CONTROLLER, "delete_rows", params, [change])


def _providers(host: checks.Host) -> t.Iterator[t.Union[Step, str]]:
    for root, tree in sorted(checks.trees(host).items()):
        held = checks.holders(host, tree)
        stay = {consumer: why for consumer, why in held.items() if why is not None}
        if stay:
            consumer, why = min(stay.items())
            yield f"resource provider {root} stays, with what {count(len(stay), 'consumer')} holds: {consumer}: {why}"
            continue
        change = Change(f"resource provider {root}", "name", tree[-1].name, NOBODY)
        title = f"delete the resource provider of {host.name}, and what {count(len(held), 'consumer')} holds of it"
        name = f"delete_provider:{host.name}:{root}"
        yield Step(name, title, CONTROLLER, "delete_provider", _params(host, provider=root), [change])


def _agents(host: checks.Host) -> t.Iterator[t.Union[Step, str]]:
    cloud = host.found.bundle.cloud
    ports = [port.id for port in (cloud.ports if cloud else None) or [] if port.binding_host_id == host.name]
    for agent in (cloud.agents if cloud else None) or []:
        if agent.host != host.name:
            continue
        why = why_agent_stays(host, agent, ports)
        if why is not None:
            yield f"{agent.agent_type} {agent.id} stays: {why}"
            continue
        change = Change(f"network agent {agent.id}", "host", host.name, NOBODY)
        title = f"delete the {agent.agent_type} of {host.name}"
        name = f"delete_agent:{host.name}:{agent.id}"
        yield Step(name, title, CONTROLLER, "delete_agent", _params(host, agent=agent.id), [change])


def why_agent_stays(host: checks.Host, agent: ApiAgent, ports: t.Sequence[str]) -> t.Optional[str]:
    """Return why an agent's record must stay; None: nothing needs it."""
    if agent.alive:
        return "it is alive"
    if ports:
        return f"{count(len(ports), 'port')} is bound to the host: {min(ports)}"
    if agent.agent_type in L2_AGENTS:
        return None
    if agent.agent_type not in OVN_AGENTS:
        return "it belongs to a network node, and may have networks or routers"
    databases = host.found.bundle.databases
    ovn = databases.ovn if databases else None
    if ovn is None or ovn.chassis is None or ovn.port_bindings is None or ovn.gateways is None:
        return "OVN's databases were not read (ovn_nb_connection and ovn_sb_connection)"
    rows = chassis_of(ovn, host.name)
    if agent.agent_type in OVN_CONTROLLERS and agent.id not in {row.name for row in rows}:
        return "OVN's southbound database has no chassis of this name with the host's name"
    if any(users(ovn, row) or row.name in ovn.gateways for row in rows):
        return "a port or a router's gateway uses its chassis"
    asking = [port.name for port in ovn.switch_ports or [] if {host.name, agent.id} & {port.requested, port.host_id}]
    return f"the port {min(asking)} asks for its chassis" if asking else None


def _masakari(host: checks.Host) -> t.Iterator[t.Union[Step, str]]:
    cloud = host.found.bundle.cloud
    for row in (cloud.ha_hosts if cloud else None) or []:
        if row.name == host.name:
            change = Change(f"Masakari, segment {row.segment}", "host", host.name, NOBODY)
            title = f"delete {host.name} from Masakari's segment {row.segment}"
            name, params = f"delete_ha_host:{host.name}:{row.id}", _params(host, ha_host=row.id, segment=row.segment)
            yield Step(name, title, CONTROLLER, "delete_ha_host", params, [change])


def _queues(host: checks.Host) -> t.List[Step]:
    change = Change("RabbitMQ", "queues", f"compute.{host.name}, compute-alt.{host.name}", NOBODY)
    look = Step(
        f"read_queues:{host.name}",
        f"read what waits in RabbitMQ for {host.name}",
        CONTROLLER,
        "read_queues",
        {"host": host.name},
    )
    title = f"delete the queues of {host.name}, if nothing waits there that somebody needs"
    params = _params(host, read=look.name)
    gone = Step(f"delete_queues:{host.name}", title, CONTROLLER, "delete_queues", params, [change])
    return [look, gone]
