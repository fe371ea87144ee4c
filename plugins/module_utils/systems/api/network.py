# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Neutron: agents, ports and subnets; binding ports to another name of their host.

A change is guarded by what was read, and read back.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t
from concurrent import futures

from ...model import facts, server_state
from ...model.errors import ApiError, Conflict
from ...model.network_agents import OVN_AGENTS
from . import http

Item = t.Mapping[str, t.Any]

#: Servers whose ports one request asks for, and subnets: its address stays below 4 KiB, which uWSGI takes by default.
PORT_DEVICES = 50
PORT_FIELDS = (
    "id",
    "binding:host_id",
    "binding:vif_type",
    "status",
    "device_id",
    "device_owner",
    "fixed_ips",
    "trunk_details",
)
#: Requests to neutron at the same time, and ports between two calls of ``between``.
PARALLEL_PORTS = 8
PORTS_BETWEEN = 32
#: How often a port may change under our hands before that is an error: agents and Nova write to it as well.
REVISION_TRIES = 5
#: Seconds within which OVN's agents answer a ping, and between two looks: the metadata agent waits up to 10 at random.
PING_ANSWER = 15.0
PING_PAUSE = 1.0
#: Of a binding that is in force (networking API, binding-extended).
ACTIVE = "ACTIVE"
#: vif types that mean: no traffic.
FAILED_BINDINGS = ("binding_failed", "unbound", None)
Between = t.Callable[[], None]


def list_agents(connection: t.Any, host: t.Optional[str] = None) -> t.List[facts.ApiAgent]:
    """Return all network agents, or those of one host.

    With OVN a list of agents pings them, and after a quiet time the first list shows living agents as dead: they have
    not answered that ping yet (neutron, ml2/drivers/ovn: ping_all_chassis, NeutronAgent.alive). So it is asked again
    until all of them are alive or had the time to answer.
    """
    end = time.monotonic() + PING_ANSWER
    while True:
        found = agents_now(connection, host)
        silent = [agent for agent in found if agent.agent_type in OVN_AGENTS and not agent.alive]
        if not silent or time.monotonic() >= end:
            return found
        time.sleep(PING_PAUSE)


def agents_now(connection: t.Any, host: t.Optional[str] = None) -> t.List[facts.ApiAgent]:
    """Return what neutron shows at once. What it says of OVN's agents is good only shortly after a whole look."""
    params = {"host": host} if host else {}
    items = http.pages(connection, http.NETWORK, "/agents", "agents", None, params)
    return [
        facts.ApiAgent(
            id=item["id"],
            agent_type=item["agent_type"],
            binary=item["binary"],
            host=item["host"],
            alive=bool(item["alive"]),
            heartbeat_timestamp=item.get("heartbeat_timestamp"),
            mode=_configured(item).get("agent_mode"),
            distributed=bool(_configured(item).get("enable_distributed_routing")),
        )
        for item in items
    ]


def _configured(agent: Item) -> Item:
    return agent.get("configurations") or {}


def delete_agent(connection: t.Any, identity: str) -> None:
    """Delete an agent's record; one that is gone already will do."""
    http.delete_if_there(connection, http.NETWORK, f"/agents/{identity}")


def list_ports(connection: t.Any, host: t.Optional[str] = None, devices: t.Sequence[str] = ()) -> t.List[facts.ApiPort]:
    """Return all ports, those bound to one host, or those of servers (neutron takes a filter's values as "or")."""
    params: t.Dict[str, t.Any] = {"fields": list(PORT_FIELDS)}
    if host:
        params["binding:host_id"] = host
    if devices:
        params["device_id"] = list(devices)
    return [port_of(item) for item in http.pages(connection, http.NETWORK, "/ports", "ports", None, params)]


def inactive_bindings(connection: t.Any, servers: t.Sequence[str]) -> t.Dict[str, t.List[str]]:
    """Return the hosts for which ports of these servers have a binding that is inactive, by server.

    Raises as :func:`port_bindings`.
    """
    ports = [
        port
        for start in range(0, len(servers), PORT_DEVICES)
        for port in list_ports(connection, devices=servers[start : start + PORT_DEVICES])
    ]
    owners = {port.id: str(port.device_id) for port in ports}
    found: t.Dict[str, t.Set[str]] = {}
    for port, bindings in port_bindings(connection, sorted(owners)).items():
        found.setdefault(owners[port], set()).update(host for host, is_active in bindings.items() if not is_active)
    return {server: sorted(hosts) for server, hosts in found.items() if hosts}


def port_bindings(connection: t.Any, ports: t.Sequence[str]) -> t.Dict[str, t.Dict[str, bool]]:
    """Return the hosts that each port has a binding for, and whether it is the active one.

    Neutron shows bindings port by port (extension binding-extended). A port that is gone has none. Raises ApiError.
    """
    shown = http.each(ports, lambda port: http.get_or_none(connection, http.NETWORK, f"/ports/{port}/bindings") or {})
    return {
        port: {str(entry["host"]): entry.get("status") == ACTIVE for entry in answer.get("bindings") or ()}
        for port, answer in shown.items()
    }


def remove_inactive_binding(connection: t.Any, port: str, host: str) -> t.Optional[bool]:
    """Remove the inactive binding that a port has for a host; return whether there was one, None: neutron refuses.

    By its default policy neutron lets only the role C(service) remove bindings (neutron/conf/policies/port_bindings.py,
    2026.2). Raises :class:`Conflict` where the binding is the active one; :class:`ApiError`.
    """
    found = port_bindings(connection, [port])[port].get(host)
    if found is None:
        return False
    if found:
        raise Conflict(f"the binding of port {port} for {host} is the active one", problem="port-bound")
    try:
        http.delete_if_there(connection, http.NETWORK, f"/ports/{port}/bindings/{host}")
    except ApiError as error:
        if error.data.get("status") == 403:
            return None
        raise
    return True


def port_of(item: Item) -> facts.ApiPort:
    """Build a port. Neutron writes an empty string where there is no host, no device or no owner."""
    return facts.ApiPort(
        id=item["id"],
        binding_host_id=item.get("binding:host_id") or None,
        binding_vif_type=item.get("binding:vif_type") or None,
        status=item["status"],
        device_id=item.get("device_id") or None,
        device_owner=item.get("device_owner") or None,
        subnets=sorted({str(entry["subnet_id"]) for entry in item["fixed_ips"]}) if "fixed_ips" in item else None,
        subports=[str(entry["port_id"]) for entry in (item.get("trunk_details") or {}).get("sub_ports") or ()],
    )


def routed_subnets(connection: t.Any, ports: t.Iterable[facts.ApiPort]) -> t.List[str]:
    """Return those subnets of the ports that belong to a segment: addresses of theirs are bound to hosts it reaches."""
    wanted = sorted({subnet for port in ports for subnet in port.subnets or ()})
    found = []
    for start in range(0, len(wanted), PORT_DEVICES):
        params = {"fields": ["id", "segment_id"], "id": wanted[start : start + PORT_DEVICES]}
        found += list(http.pages(connection, http.NETWORK, "/subnets", "subnets", None, params))
    # Without the extension "segment" no subnet says anything of one.
    return [str(item["id"]) for item in found if item.get("segment_id")]


def ports_left(connection: t.Any, host: str, servers: t.Container[str]) -> t.List[facts.ApiPort]:
    """Return the ports of these servers that are still bound to a host."""
    return [port for port in list_ports(connection, host) if port.device_id in servers]


def accelerated_servers(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.List[str]:
    """Return the uuids of those servers that have a port of an accelerator."""
    uuids, found = [server.id for server in servers], set()
    for start in range(0, len(uuids), PORT_DEVICES):
        devices = uuids[start : start + PORT_DEVICES]
        params = {"fields": ["id", "device_id", "binding:vnic_type"], "device_id": devices}
        for port in http.pages(connection, http.NETWORK, "/ports", "ports", None, params):
            if port.get("binding:vnic_type") in server_state.ACCELERATORS:
                found.add(str(port["device_id"]))
    return sorted(found)


@dataclasses.dataclass(frozen=True)
class Rebound:
    """Ports bound again, ports that were so already, and ids of ports deleted meanwhile."""

    changed: int
    already: int
    gone: t.List[str] = dataclasses.field(default_factory=list)


def rebind_port(
    connection: t.Any, port_id: str, before: str, after: str, vif_type: t.Optional[str] = None
) -> t.Optional[bool]:
    """Bind a port to another name of its host. True: bound again; False: it was so already; None: it is gone.

    ``vif_type``: what the binding was before; afterwards it must be the same (default: as found, if it works).
    Guarded by neutron's revision number: a port that somebody else changes meanwhile is looked at again.
    Raises :class:`Conflict` where it is bound to neither name; :class:`ApiError` where the new binding failed: the
    name has no live agent then.
    """
    for _try in range(REVISION_TRIES):
        port = get_port(connection, port_id)
        if port is None:
            return None
        host, found = port.get("binding:host_id"), port.get("binding:vif_type")
        if host not in (before, after):
            raise Conflict(
                f"port {port_id} is bound to {host!r}, expected {before!r}",
                port=port_id,
                expected=before,
                found=host,
                problem="port-bound-expected",
            )
        expected = vif_type if vif_type is not None else found
        if host == after and (found == expected or expected in FAILED_BINDINGS):
            return False
        revision = port.get("revision_number")
        headers = {} if revision is None else {"If-Match": f"revision_number={revision}"}
        body = {"port": {"binding:host_id": after}}
        try:
            http.call(connection, http.NETWORK, "PUT", f"/ports/{port_id}", body=body, headers=headers)
        except ApiError as error:
            if error.data.get("status") == 412:
                continue
            if error.data.get("status") == 404:
                return None
            raise
        return _verify_binding(connection, port_id, after, expected)
    raise ApiError(
        f"other users changed port {port_id} {REVISION_TRIES} times while the run tried to bind the port to {after}",
        problem="other-users-changed",
    )


def get_port(connection: t.Any, port_id: str) -> t.Optional[t.Dict[str, t.Any]]:
    """Return a port as neutron shows it; None: there is no such port. Raises :class:`ApiError`."""
    answer = http.get_or_none(connection, http.NETWORK, f"/ports/{port_id}")
    return None if answer is None else dict(answer["port"])


def _verify_binding(connection: t.Any, port_id: str, host: str, expected: t.Optional[str]) -> t.Optional[bool]:
    port = get_port(connection, port_id)
    if port is None:
        return None
    found = port.get("binding:vif_type")
    if port.get("binding:host_id") != host or (found != expected and expected not in FAILED_BINDINGS):
        why = f"; check that the network agent of {host} is alive" if found in FAILED_BINDINGS else ""
        raise ApiError(
            f"port {port_id} is bound to {port.get('binding:host_id')} with vif_type {found}, expected {host} with "
            f"vif_type {expected}{why}",
            port=port_id,
            vif_type=found,
            problem="port-bound-vif",
        )
    return True


def rebind_ports(
    connection: t.Any,
    ports: t.Sequence[t.Mapping[str, t.Any]],
    before: str,
    after: str,
    between: Between = lambda: None,
) -> Rebound:
    """Bind many ports (``{"id", "vif_type"}``) to another name of their host, several at a time.

    ``between`` is called before each batch: heartbeats of agents that do not run must stay fresh. The first port goes
    alone: a name without a live agent shows on it. The first failure ends it: ports already asked for are finished,
    no other is begun. Raises as :func:`rebind_port`; whatever was done is done again, or taken back, by the same call.
    """
    results: t.List[t.Tuple[str, t.Optional[bool]]] = []
    with futures.ThreadPoolExecutor(PARALLEL_PORTS) as threads:
        for batch in _batches(ports):
            between()
            asked = [
                threads.submit(rebind_port, connection, str(port["id"]), before, after, port.get("vif_type"))
                for port in batch
            ]
            futures.wait(asked, return_when=futures.FIRST_EXCEPTION)
            if any(one.done() and one.exception() for one in asked):
                for one in asked:
                    one.cancel()
            results += [(str(port["id"]), one.result()) for port, one in zip(batch, _first_failed(asked))]
    return Rebound(
        changed=sum(1 for _id, result in results if result),
        already=sum(1 for _id, result in results if result is False),
        gone=[port for port, result in results if result is None],
    )


def _batches(ports: t.Sequence[t.Mapping[str, t.Any]]) -> t.Iterator[t.Sequence[t.Mapping[str, t.Any]]]:
    if ports:
        yield ports[:1]
    for start in range(1, len(ports), PORTS_BETWEEN):
        yield ports[start : start + PORTS_BETWEEN]


def _first_failed(asked: t.Sequence[futures.Future[t.Optional[bool]]]) -> t.Sequence[futures.Future[t.Optional[bool]]]:
    """Raise the first real failure rather than the cancellation of another."""
    futures.wait(asked)
    for one in asked:
        if not one.cancelled():
            one.result()
    return asked
