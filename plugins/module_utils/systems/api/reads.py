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

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http

#: What can be read, in the order it is.
PARTS = (
    "compute_max_microversion",
    "placement_max_microversion",
    "catalog",
    "services",
    "hypervisors",
    "servers",
    "aggregates",
    "providers",
    "migrations",
    "agents",
    "ports",
)

#: Microversions, chosen for what they answer; the newest ones needed are of release 26 but where said.
SERVICES = "2.69"  # 2.53: uuid as id; 2.69: services of a cell that does not answer are named, not left out
HYPERVISORS = "2.53"  # uuid as id. From 2.75 every server is listed, from 2.88 each host is asked for its uptime
SERVERS = "2.96"  # pinned_availability_zone (29 and newer)
AGGREGATES = "2.41"  # uuid
MIGRATIONS = "2.59"  # paged, uuid
PROVIDERS = "1.14"  # the tree: root and parent
PROVIDER_AGGREGATES = "1.19"
MEMBER_OF = "1.14"

#: Service type of Masakari.
HA = "instance-ha"
#: Statuses in which a migration may still do something, of releases 26 to 34 (C(compute/manager.py),
#: C(compute/api.py), C(conductor/)). The API can filter for one status, not for "unfinished".
OPEN_STATUSES = (
    "accepted",
    "queued",
    "preparing",
    "running",
    "pre-migrating",
    "migrating",
    "post-migrating",
    "finished",
    "reverting",
    "confirming",
    "done",
)
#: "done" is an end for all but evacuations.
EVACUATION = "evacuation"

#: Servers whose ports one request asks for, and subnets: its address stays below 4 KiB, which uWSGI takes by default.
PORT_DEVICES = 50

PORT_FIELDS = (
    "id",
    "binding:host_id",
    "binding:vif_type",
    "status",
    "device_id",
    "device_owner",
    "mac_address",
    "fixed_ips",
    "trunk_details",
)
_T = t.TypeVar("_T")
Item = t.Mapping[str, t.Any]


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
    placement_max = reader.part("placement_max_microversion", lambda: http.max_microversion(connection, http.PLACEMENT))
    catalog = reader.part("catalog", lambda: list_catalog(connection))
    services = reader.part("services", reader.services)
    hypervisors = reader.part("hypervisors", lambda: reader.hypervisors(services))
    servers = reader.part("servers", lambda: reader.servers(compute_max))
    aggregates = reader.part("aggregates", lambda: list_aggregates(connection))
    providers = reader.part("providers", lambda: reader.providers(hypervisors, aggregates))
    devices = sorted({server.id for server in servers or ()}) if hosts else []
    ports = reader.part("ports", lambda: reader.ports(devices))
    routed = None
    if hosts and ports is not None:
        routed = reader.attempt("routed_subnets", lambda: routed_subnets(connection, ports))
    ha_hosts = None
    if hosts and "agents" in reader.parts and catalog is not None:
        ha_hosts = reader.attempt("ha_hosts", lambda: list_ha_hosts(connection, reader)) if HA in catalog else []
    return facts.CloudFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        scope=list(hosts),
        compute_max_microversion=compute_max,
        placement_max_microversion=placement_max,
        catalog=catalog,
        services=services,
        hypervisors=hypervisors,
        servers=servers,
        aggregates=aggregates,
        providers=providers,
        migrations=reader.part("migrations", reader.migrations),
        agents=reader.part("agents", lambda: _flat(reader.names, lambda host: list_agents(connection, host))),
        ports=ports,
        unread=reader.unread,
        port_devices=devices if ports is not None else [],
        routed_subnets=routed,
        ha_hosts=ha_hosts,
    )


def _flat(hosts: t.Sequence[str], read: t.Callable[[t.Optional[str]], t.List[_T]]) -> t.List[_T]:
    """Read for each host, or once for all (None)."""
    if not hosts:
        return read(None)
    return [item for host in hosts for item in read(host)]


#: What the compute API takes for a hypervisor_hostname_pattern; anything else (an IPv6 address) it refuses.
_PATTERN = re.compile(r"[a-zA-Z0-9._-]{1,255}")


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
            self.unread.append(facts.Unread(name, facts.NOT_ASKED_FOR))
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

    def wanted(self, *names: t.Optional[str]) -> bool:
        """Whether one of the names is in the scope; case variants are, as Nova's database takes them for equal."""
        scope = {name.casefold() for name in self.names}
        return not scope or any(name is not None and name.casefold() in scope for name in names)

    def services(self) -> t.List[facts.ApiService]:
        found = []
        for item in raw_services(self.connection):
            if not self.wanted(item.get("host")):
                continue
            if "id" not in item:
                reason = "its cell does not answer"
                self.unread.append(facts.Unread(f"services.{item.get('host')}", reason))
                continue
            found.append(service_of(item))
        return found

    def hypervisors(self, services: t.Optional[t.Sequence[facts.ApiService]]) -> t.List[facts.ApiHypervisor]:
        """Narrowed: by name pattern, and by listing all only where a host's node is called something else."""
        if not self.names:
            return list_hypervisors(self.connection)
        found = {}
        askable = [name for name in self.names if _PATTERN.fullmatch(name)]
        for name in askable:
            for item in list_hypervisors(self.connection, name):
                if self.wanted(item.service_host, item.hypervisor_hostname):
                    found[item.id] = item
        hosts = {service.host for service in services or ()}
        if services is None or len(askable) < len(self.names) or hosts - {item.service_host for item in found.values()}:
            for item in list_hypervisors(self.connection):
                if self.wanted(item.service_host, item.hypervisor_hostname):
                    found[item.id] = item
        return list(found.values())

    def servers(self, compute_max: t.Optional[str]) -> t.List[facts.ApiServer]:
        offered = compute_max or http.max_microversion(self.connection, http.COMPUTE)
        microversion = releases.lower_microversion(SERVERS, offered)
        found = _flat(self.names, lambda host: list_servers(self.connection, microversion, host))
        unanswered = sum(1 for server in found if server.status == "UNKNOWN" and server.vm_state is None)
        if unanswered:
            self.unread.append(facts.Unread("servers.unknown", f"{unanswered} servers in cells that do not answer"))
        return found

    def providers(
        self,
        hypervisors: t.Optional[t.Sequence[facts.ApiHypervisor]],
        aggregates: t.Optional[t.Sequence[facts.ApiAggregate]],
    ) -> t.List[facts.ResourceProvider]:
        if not self.names and not self.nodes and not self.node_uuids:
            members = None if aggregates is None else _members(self.connection, aggregates)
            if members is None:
                self.unread.append(facts.Unread("providers.aggregates", "the aggregates were not read"))
            return [_with_members(provider, members) for provider in list_providers(self.connection)]
        names = {*self.names, *self.nodes, *(item.hypervisor_hostname for item in hypervisors or ())}
        uuids = {*self.node_uuids, *(item.id for item in hypervisors or ())}
        for name in sorted(names):
            uuids |= {provider.uuid for provider in list_providers(self.connection, name=name)}
        return _trees(self.connection, sorted(uuids))

    def migrations(self) -> t.List[facts.ApiMigration]:
        found: t.Dict[int, facts.ApiMigration] = {}
        for status in OPEN_STATUSES:
            kind = EVACUATION if status == "done" else None
            for item in _flat(self.names, lambda host, s=status, k=kind: list_migrations(self.connection, s, k, host)):  # type: ignore[misc]
                found[item.id] = item
        return [found[key] for key in sorted(found)]

    def ports(self, devices: t.Sequence[str]) -> t.List[facts.ApiPort]:
        """Ports bound to the hosts, and those of the hosts' servers: one may be bound to a host that nobody named."""
        found = {port.id: port for port in _flat(self.names, lambda host: list_ports(self.connection, host))}
        for start in range(0, len(devices), PORT_DEVICES):
            chunk = devices[start : start + PORT_DEVICES]
            found.update({port.id: port for port in list_ports(self.connection, devices=chunk)})
        return list(found.values())


# --- Nova -----------------------------------------------------------------------------------------------------


def list_catalog(connection: t.Any) -> t.List[str]:
    """Return the service types of the catalogue, sorted."""
    return sorted({str(entry["type"]) for entry in connection.service_catalog})


def raw_services(connection: t.Any) -> t.List[t.Dict[str, t.Any]]:
    """Return every nova-compute service as the API says; without C(id) where its cell does not answer."""
    return http.items(connection, http.COMPUTE, "/os-services", "services", SERVICES, params={"binary": "nova-compute"})


def service_of(item: Item) -> facts.ApiService:
    """Build a service from what C(/os-services) says of it."""
    return facts.ApiService(
        id=item["id"],
        host=item["host"],
        binary=item["binary"],
        state=item["state"],
        status=item["status"],
        forced_down=bool(item["forced_down"]),
        disabled_reason=item["disabled_reason"],
        zone=item.get("zone"),
        updated_at=item.get("updated_at"),
    )


def list_hypervisors(connection: t.Any, pattern: t.Optional[str] = None) -> t.List[facts.ApiHypervisor]:
    """Return all hypervisors, or those whose host name contains a pattern (which the API does not page)."""
    path = "/os-hypervisors/detail"
    if pattern is None:
        items = list(http.pages(connection, http.COMPUTE, path, "hypervisors", HYPERVISORS))
    else:
        items = _matching(connection, path, pattern)
    return [
        facts.ApiHypervisor(
            id=item["id"],
            hypervisor_hostname=item["hypervisor_hostname"],
            service_host=(item.get("service") or {}).get("host"),
            hypervisor_type=item.get("hypervisor_type"),
            state=item.get("state"),
            status=item.get("status"),
            host_ip=item.get("host_ip"),
        )
        for item in items
    ]


def _matching(connection: t.Any, path: str, pattern: str) -> t.List[t.Dict[str, t.Any]]:
    params = {"hypervisor_hostname_pattern": pattern}
    try:
        return http.items(connection, http.COMPUTE, path, "hypervisors", HYPERVISORS, params)
    except ApiError as error:
        if error.data.get("status") == 404:
            return []
        raise


def list_servers(connection: t.Any, microversion: str, host: t.Optional[str] = None) -> t.List[facts.ApiServer]:
    """Return all servers of all projects, or those on one host."""
    params = {"all_tenants": "1", **({"host": host} if host else {})}
    items = http.pages(connection, http.COMPUTE, "/servers/detail", "servers", microversion, params)
    # Of a whole cloud the flavors and metadata of a million servers would only be carried about.
    return [server_of(item, whole=host is not None) for item in items]


def server_of(item: Item, whole: bool = False) -> facts.ApiServer:
    """Build a server. In a cell that does not answer only id, project and C(UNKNOWN) are known.

    ``whole``: with flavor, image, config drive and metadata.
    """
    image = item.get("image")
    return facts.ApiServer(
        id=item["id"],
        name=item.get("name") or "",
        project_id=item.get("tenant_id"),
        status=item["status"],
        host=item.get("OS-EXT-SRV-ATTR:host"),
        hypervisor_hostname=item.get("OS-EXT-SRV-ATTR:hypervisor_hostname"),
        task_state=item.get("OS-EXT-STS:task_state"),
        vm_state=item.get("OS-EXT-STS:vm_state"),
        power_state=item.get("OS-EXT-STS:power_state"),
        availability_zone=item.get("OS-EXT-AZ:availability_zone"),
        locked=item.get("locked"),
        pinned_availability_zone=item.get("pinned_availability_zone"),
        volumes=[volume["id"] for volume in item.get("os-extended-volumes:volumes_attached") or ()],
        flavor=flavor_of(item.get("flavor")) if whole else None,
        image=(image["id"] if isinstance(image, dict) else image) if whole else None,
        config_drive=bool(item["config_drive"]) if whole and "config_drive" in item else None,
        metadata=item.get("metadata") if whole else None,
    )


def flavor_of(item: t.Optional[Item]) -> t.Optional[facts.ServerFlavor]:
    """Build the flavor that a server carries (microversion 2.47 and later); None where it shows only an id."""
    if not item or "ram" not in item:
        return None
    # Nova answers an empty string for no swap in flavors, and a number in servers.
    sizes = {name: int(item.get(name) or 0) for name in ("vcpus", "ram", "disk", "ephemeral", "swap")}
    specs = item.get("extra_specs")
    return facts.ServerFlavor(
        **sizes, name=item.get("original_name"), extra_specs=None if specs is None else dict(specs)
    )


def list_aggregates(connection: t.Any) -> t.List[facts.ApiAggregate]:
    """Return all host aggregates (the API does not page them)."""
    return [
        facts.ApiAggregate(
            id=item["id"],
            uuid=item.get("uuid"),
            name=item["name"],
            availability_zone=item.get("availability_zone"),
            hosts=list(item["hosts"]),
            metadata={str(key): str(value) for key, value in (item.get("metadata") or {}).items()},
        )
        for item in http.items(connection, http.COMPUTE, "/os-aggregates", "aggregates", AGGREGATES)
    ]


def list_migrations(
    connection: t.Any,
    status: str,
    migration_type: t.Optional[str] = None,
    host: t.Optional[str] = None,
) -> t.List[facts.ApiMigration]:
    """Return the migrations in one status, of one host (as source or destination) if given."""
    params = {"status": status}
    if migration_type:
        params["migration_type"] = migration_type
    if host:
        params["host"] = host
    items = http.pages(connection, http.COMPUTE, "/os-migrations", "migrations", MIGRATIONS, params, marker="uuid")
    return [
        facts.ApiMigration(
            id=item["id"],
            uuid=item.get("uuid"),
            migration_type=item.get("migration_type"),
            status=item["status"],
            instance_uuid=item.get("instance_uuid"),
            source_compute=item.get("source_compute"),
            source_node=item.get("source_node"),
            dest_compute=item.get("dest_compute"),
            dest_node=item.get("dest_node"),
        )
        for item in items
    ]


# --- placement ------------------------------------------------------------------------------------------------


def provider_of(item: Item) -> facts.ResourceProvider:
    """Build a resource provider, without allocations and aggregates."""
    return facts.ResourceProvider(
        uuid=item["uuid"],
        name=item["name"],
        generation=item["generation"],
        root_provider_uuid=item.get("root_provider_uuid"),
        parent_provider_uuid=item.get("parent_provider_uuid"),
    )


def list_providers(connection: t.Any, **filters: str) -> t.List[facts.ResourceProvider]:
    """Return resource providers, by ``name``, ``in_tree`` or ``member_of`` if given (placement does not page)."""
    found = http.items(connection, http.PLACEMENT, "/resource_providers", "resource_providers", PROVIDERS, filters)
    return [provider_of(item) for item in found]


def _trees(connection: t.Any, uuids: t.Sequence[str]) -> t.List[facts.ResourceProvider]:
    found: t.Dict[str, facts.ResourceProvider] = {}
    for uuid in uuids:
        if uuid not in found:
            found.update({provider.uuid: provider for provider in list_providers(connection, in_tree=uuid)})
    return [_complete(connection, found[uuid]) for uuid in sorted(found)]


def _complete(connection: t.Any, provider: facts.ResourceProvider) -> facts.ResourceProvider:
    base = f"/resource_providers/{provider.uuid}"
    allocations = http.call(connection, http.PLACEMENT, "GET", f"{base}/allocations", PROVIDERS)["allocations"]
    aggregates = http.call(connection, http.PLACEMENT, "GET", f"{base}/aggregates", PROVIDER_AGGREGATES)["aggregates"]
    return facts.ResourceProvider(
        uuid=provider.uuid,
        name=provider.name,
        generation=provider.generation,
        root_provider_uuid=provider.root_provider_uuid,
        parent_provider_uuid=provider.parent_provider_uuid,
        allocations={consumer: dict(entry["resources"]) for consumer, entry in allocations.items()},
        aggregates=sorted(aggregates),
    )


def _members(connection: t.Any, aggregates: t.Sequence[facts.ApiAggregate]) -> t.Dict[str, t.List[str]]:
    """Provider uuid to the uuids of its aggregates: one call for each aggregate, not one for each provider."""
    found: t.Dict[str, t.List[str]] = {}
    for uuid in sorted(aggregate.uuid for aggregate in aggregates if aggregate.uuid):
        for provider in list_providers(connection, member_of=uuid):
            found.setdefault(provider.uuid, []).append(uuid)
    return found


def _with_members(
    provider: facts.ResourceProvider, members: t.Optional[t.Mapping[str, t.List[str]]]
) -> facts.ResourceProvider:
    if members is None:
        return provider
    return facts.ResourceProvider(
        provider.uuid,
        provider.name,
        provider.generation,
        provider.root_provider_uuid,
        provider.parent_provider_uuid,
        None,
        members.get(provider.uuid, []),
    )


# --- Masakari -------------------------------------------------------------------------------------------------


def list_ha_hosts(connection: t.Any, reader: _Reader) -> t.List[facts.HaHost]:
    """Return the hosts of all failover segments that bear one of the names in scope."""
    return [
        facts.HaHost(str(item["uuid"]), str(item["name"]), str(segment["name"]))
        for segment in _all_of_masakari(connection, "/segments", "segments")
        for item in _all_of_masakari(connection, f"/segments/{segment['uuid']}/hosts", "hosts")
        if reader.wanted(item["name"])
    ]


def _all_of_masakari(connection: t.Any, path: str, key: str) -> t.Iterator[t.Dict[str, t.Any]]:
    """Masakari pages without saying so: the next page is asked for until one is empty."""
    params: t.Dict[str, t.Any] = {}
    for _page in range(http.MAX_PAGES):
        page = http.items(connection, http.HA, path, key, params=params)
        if not page or page[-1]["uuid"] == params.get("marker"):
            return
        yield from page
        params = {"marker": page[-1]["uuid"]}


# --- neutron --------------------------------------------------------------------------------------------------


def list_agents(connection: t.Any, host: t.Optional[str] = None) -> t.List[facts.ApiAgent]:
    """Return all network agents, or those of one host."""
    params = {"host": host} if host else {}
    items = http.pages(connection, http.NETWORK, "/agents", "agents", None, params)
    return [
        facts.ApiAgent(
            id=item["id"],
            agent_type=item["agent_type"],
            binary=item["binary"],
            host=item["host"],
            alive=bool(item["alive"]),
            admin_state_up=bool(item["admin_state_up"]),
            heartbeat_timestamp=item.get("heartbeat_timestamp"),
            mode=_configured(item).get("agent_mode"),
            distributed=bool(_configured(item).get("enable_distributed_routing")),
        )
        for item in items
    ]


def _configured(agent: Item) -> Item:
    return agent.get("configurations") or {}


def list_ports(connection: t.Any, host: t.Optional[str] = None, devices: t.Sequence[str] = ()) -> t.List[facts.ApiPort]:
    """Return all ports, those bound to one host, or those of servers (neutron takes a filter's values as "or")."""
    params: t.Dict[str, t.Any] = {"fields": list(PORT_FIELDS)}
    if host:
        params["binding:host_id"] = host
    if devices:
        params["device_id"] = list(devices)
    return [port_of(item) for item in http.pages(connection, http.NETWORK, "/ports", "ports", None, params)]


def port_of(item: Item) -> facts.ApiPort:
    """Build a port. Neutron writes an empty string where there is no host, no device or no owner."""
    return facts.ApiPort(
        id=item["id"],
        binding_host_id=item.get("binding:host_id") or None,
        binding_vif_type=item.get("binding:vif_type") or None,
        status=item["status"],
        device_id=item.get("device_id") or None,
        device_owner=item.get("device_owner") or None,
        mac_address=item.get("mac_address"),
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
