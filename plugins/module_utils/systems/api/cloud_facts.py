# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads Nova, placement and neutron through their APIs, in bulk, with an administrator's eyes.

Each part is read separately; one that cannot be read becomes C(None) and an :class:`~..facts.Unread`. Narrowed to
some hosts, each part asks the server for those only, wherever its API has an exact filter.
"""

from __future__ import annotations

import datetime
import re
import typing as t

from ...model import facts, releases
from ...model.errors import ApiError
from ...model.wording import count
from . import (
    block_storage,
    compute_services,
    host_aggregates,
    http,
    hypervisors,
    masakari,
    migration_records,
    network,
    resource_providers,
    server_records,
)

_T = t.TypeVar("_T")

#: What can be read, in the order it is.
PARTS = (
    "compute_max_microversion",
    "catalog",
    "services",
    "hypervisors",
    "servers",
    "aggregates",
    "providers",
    "migrations",
    "agents",
    "ports",
    "block_storage",
)
#: Consumers of allocations that were no server of the provider's host when the servers were listed, and are asked for
#: one by one.
CONSUMERS_ASKED = 500
#: vif types of ports that an agent on the host binds, of ML2/OVS, of OVN and of the Linux bridge.
BY_AGENTS = ("ovs", "bridge")
#: What the compute API takes for a hypervisor_hostname_pattern; anything else (an IPv6 address) it refuses.
_PATTERN = re.compile(r"[a-zA-Z0-9._-]{1,255}")


def read_cloud(
    connection: t.Any,
    hosts: t.Sequence[str] = (),
    parts: t.Optional[t.Sequence[str]] = None,
    nodes: t.Sequence[str] = (),
    node_uuids: t.Sequence[str] = (),
) -> facts.CloudFacts:
    """Read what ``parts`` names (default: everything). Never raises for a part that fails: see ``unread``.

    ``hosts``: names to narrow down to, as hosts and as node names; empty: everything. ``nodes`` and ``node_uuids``:
    further compute nodes whose resource providers are wanted (those in the databases, which the API may hide).
    Resource providers have ``allocations`` only where narrowed; unnarrowed, their ``aggregates`` are those that
    Nova knows.
    """
    unknown = set(parts or ()) - set(PARTS)
    if unknown:
        raise ValueError(f"no such part: {', '.join(sorted(unknown))}")
    reader = _Reader(connection, hosts, PARTS if parts is None else parts)
    reader.nodes, reader.node_uuids = set(nodes), set(node_uuids)
    compute_max = reader.part("compute_max_microversion", lambda: http.max_microversion(connection, http.COMPUTE))
    catalog = reader.part("catalog", lambda: http.list_catalog(connection))
    services = reader.part("services", reader.services)
    hypervisors = reader.part("hypervisors", lambda: reader.hypervisors(services))
    servers = reader.part("servers", lambda: reader.servers(compute_max))
    aggregates = reader.part("aggregates", lambda: host_aggregates.list_aggregates(connection))
    providers = reader.part("providers", lambda: reader.providers(hypervisors, aggregates))
    if not hosts and "providers" in reader.parts:
        providers = reader.with_strays(providers, hypervisors, servers)
    devices = sorted(reader.devices(servers)) if hosts else []
    ports = reader.credible_ports(reader.part("ports", lambda: reader.ports(devices)), servers)
    agents = reader.part("agents", lambda: _flat(reader.names, lambda host: network.list_agents(connection, host)))
    agents = reader.credible_agents(agents, ports)
    routed = None
    if hosts and ports is not None:
        routed = reader.attempt("routed_subnets", lambda: network.routed_subnets(connection, ports))
    ha_hosts = None
    if "agents" in reader.parts and catalog is not None:
        ha_hosts = (
            reader.attempt("ha_hosts", lambda: masakari.list_ha_hosts(connection, reader.wanted))
            if masakari.HA in catalog
            else []
        )
    return facts.CloudFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        scope=list(hosts),
        compute_max_microversion=compute_max,
        catalog=catalog,
        services=services,
        hypervisors=hypervisors,
        servers=servers,
        aggregates=aggregates,
        providers=providers,
        migrations=reader.part("migrations", reader.migrations),
        agents=agents,
        ports=ports,
        unread=reader.unread,
        port_devices=devices if ports is not None else [],
        routed_subnets=routed,
        ha_hosts=ha_hosts,
        block_storage=reader.block_storage(servers, catalog),
    )


def _flat(hosts: t.Sequence[str], read: t.Callable[[t.Optional[str]], t.List[_T]]) -> t.List[_T]:
    """Read for each host, or once for all (None)."""
    if not hosts:
        return read(None)
    return [item for host in hosts for item in read(host)]


class _Reader:
    """The scope of one reading, and what could not be read."""

    def __init__(self, connection: t.Any, hosts: t.Sequence[str], parts: t.Sequence[str]) -> None:
        self.connection = connection
        self.names = list(dict.fromkeys(hosts))
        self.parts = parts
        self.unread: t.List[facts.Unread] = []
        self.nodes: t.Set[str] = set()
        self.node_uuids: t.Set[str] = set()

    def part(self, name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        """Read one part if it is asked for, or say why not."""
        if name not in self.parts:
            self.unread.append(facts.left_out(name, facts.NOT_ASKED_FOR))
            return None
        return self.attempt(name, read)

    def attempt(self, name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        """Read, or say why not."""
        try:
            return read()
        except ApiError as error:
            self.unread.append(facts.Unread(name, error.message))
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.unread.append(facts.Unread(name, f"the answer cannot be parsed: {type(error).__name__} {error}"))
            return None

    def credible_ports(
        self, ports: t.Optional[t.List[facts.ApiPort]], servers: t.Optional[t.Sequence[facts.ApiServer]]
    ) -> t.Optional[t.List[facts.ApiPort]]:
        """Return the ports; None where neutron has none of a whole cloud with servers: it did not show them."""
        there = sum(1 for server in servers or () if server.host)
        if ports or ports is None or self.names or not there:
            return ports
        self.unread.append(facts.Unread("ports", f"neutron lists no port, but Nova has {count(there, 'server')}"))
        return None

    def credible_agents(
        self, agents: t.Optional[t.List[facts.ApiAgent]], ports: t.Optional[t.Sequence[facts.ApiPort]]
    ) -> t.Optional[t.List[facts.ApiAgent]]:
        """Return the agents; None where neutron has none of a whole cloud with ports that only an agent can bind."""
        bound = sum(1 for port in ports or () if port.binding_host_id and port.binding_vif_type in BY_AGENTS)
        if agents or agents is None or self.names or not bound:
            return agents
        why = f"neutron lists no agent, but agents have bound {count(bound, 'port')}"
        self.unread.append(facts.Unread("agents", why))
        return None

    def wanted(self, *names: t.Optional[str]) -> bool:
        """Whether one of the names is in the scope; case variants are, as Nova's database takes them for equal."""
        scope = {name.casefold() for name in self.names}
        return not scope or any(name is not None and name.casefold() in scope for name in names)

    def services(self) -> t.List[facts.ApiService]:
        found = []
        for item in compute_services.raw_services(self.connection):
            if not self.wanted(item.get("host")):
                continue
            if "id" not in item:
                reason = "the cell of this compute service does not answer"
                self.unread.append(facts.Unread(f"services.{item.get('host')}", reason))
                continue
            found.append(compute_services.service_of(item))
        return found

    def hypervisors(self, services: t.Optional[t.Sequence[facts.ApiService]]) -> t.List[facts.ApiHypervisor]:
        """Narrowed: by name pattern, and by listing all only where a host's node is called something else."""
        if not self.names:
            return hypervisors.list_hypervisors(self.connection)
        found = {}
        askable = [name for name in self.names if _PATTERN.fullmatch(name)]
        for name in askable:
            for item in hypervisors.list_hypervisors(self.connection, name):
                if self.wanted(item.service_host, item.hypervisor_hostname):
                    found[item.id] = item
        hosts = {service.host for service in services or ()}
        if services is None or len(askable) < len(self.names) or hosts - {item.service_host for item in found.values()}:
            for item in hypervisors.list_hypervisors(self.connection):
                if self.wanted(item.service_host, item.hypervisor_hostname):
                    found[item.id] = item
        return list(found.values())

    def servers(self, compute_max: t.Optional[str]) -> t.List[facts.ApiServer]:
        offered = compute_max or http.max_microversion(self.connection, http.COMPUTE)
        microversion = releases.lower_microversion(server_records.PIN_SHOWN, offered)
        found = server_records.list_servers(self.connection, microversion, self.names)
        if found.silent:
            self.unread.append(facts.Unread(facts.SILENT_CELLS, server_records.silence(found.silent)))
        return found.servers

    def providers(
        self,
        hypervisors: t.Optional[t.Sequence[facts.ApiHypervisor]],
        aggregates: t.Optional[t.Sequence[facts.ApiAggregate]],
    ) -> t.List[facts.ResourceProvider]:
        if not self.names and not self.nodes and not self.node_uuids:
            members = None if aggregates is None else resource_providers.aggregate_members(self.connection, aggregates)
            if members is None:
                self.unread.append(facts.Unread("providers.aggregates", "the aggregates were not read"))
            return [
                resource_providers.with_members(provider, members)
                for provider in resource_providers.list_providers(self.connection)
            ]
        names = {*self.names, *self.nodes, *(item.hypervisor_hostname for item in hypervisors or ())}
        uuids = {*self.node_uuids, *(item.id for item in hypervisors or ())}
        for name in sorted(names):
            uuids |= {provider.uuid for provider in resource_providers.list_providers(self.connection, name=name)}
        return resource_providers.provider_trees(self.connection, sorted(uuids))

    def with_strays(
        self,
        providers: t.Optional[t.List[facts.ResourceProvider]],
        hypervisors: t.Optional[t.Sequence[facts.ApiHypervisor]],
        servers: t.Optional[t.Sequence[facts.ApiServer]],
    ) -> t.Optional[t.List[facts.ResourceProvider]]:
        """Return the providers with the allocations that no server of their host holds."""
        if providers is None or hypervisors is None or servers is None:
            return providers
        hosts = {node.id: node.service_host for node in hypervisors}
        known = {server.id: server.host for server in servers}

        def ask(consumers: t.Sequence[str]) -> t.Dict[str, t.Optional[facts.ApiServer]]:
            # One that was made, or moved, since the servers were listed.
            asked = consumers[:CONSUMERS_ASKED]
            return http.each(asked, lambda uuid: server_records.server_as_listed(self.connection, uuid))

        part = "providers.strays"
        read = self.attempt(part, lambda: resource_providers.with_strays(self.connection, providers, hosts, known, ask))
        return providers if read is None else read

    def block_storage(
        self, servers: t.Optional[t.Sequence[facts.ApiServer]], catalog: t.Optional[t.Sequence[str]]
    ) -> t.Optional[facts.BlockStorage]:
        """Volumes of the servers, or all of an unnarrowed reading. What is unread is its own to tell."""
        if "block_storage" not in self.parts or servers is None:
            return None
        known = (
            catalog if "catalog" in self.parts else self.attempt("catalog", lambda: http.list_catalog(self.connection))
        )
        return block_storage.read_block_storage(self.connection, servers, known, not self.names)

    def migrations(self) -> t.List[facts.ApiMigration]:
        # Every cell counts its ids on its own.
        found: t.Dict[t.Tuple[int, str], facts.ApiMigration] = {}
        for status in migration_records.OPEN_STATUSES:
            kind = migration_records.EVACUATION if status == "done" else None
            for item in _flat(
                self.names,
                lambda host, s=status, k=kind: migration_records.list_migrations(self.connection, s, k, host),  # type: ignore[misc]
            ):
                found[item.id, str(item.uuid)] = item
        return [found[key] for key in sorted(found)]

    def devices(self, servers: t.Optional[t.Sequence[facts.ApiServer]]) -> t.Set[str]:
        """Uuids of the hosts' servers: with the soft-deleted ones, which no list has, and which keep their ports."""
        if servers is None or "ports" not in self.parts:
            return set()
        found = self.attempt(
            "servers.soft_deleted",
            lambda: [uuid for host in self.names for uuid in server_records.soft_deleted(self.connection, host)],
        )
        return {server.id for server in servers} | set(found or ())

    def ports(self, devices: t.Sequence[str]) -> t.List[facts.ApiPort]:
        """Ports bound to the hosts, and those of the hosts' servers: one may be bound to a host that nobody named."""
        found = {port.id: port for port in _flat(self.names, lambda host: network.list_ports(self.connection, host))}
        for start in range(0, len(devices), network.PORT_DEVICES):
            chunk = devices[start : start + network.PORT_DEVICES]
            found.update({port.id: port for port in network.list_ports(self.connection, devices=chunk)})
        return list(found.values())
