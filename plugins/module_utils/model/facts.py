# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was read, as frozen dataclasses in Nova's own words, and the evidence bundle they travel in.

Nothing here does I/O, and nothing here decides anything. C(systems/) fill these in, C(hazards/) and the wings
read them. Every class serialises to plain JSON with :func:`to_plain` and back with :func:`from_plain`, so an
audit can be repeated offline from a saved bundle.

Two conventions carry the weight of "absence of evidence is not evidence of absence":

* A part that could not be read is ``None`` *and* has an :class:`Unread` entry naming it and the reason.
  An empty list always means "was read, and there is none".
* Every collection that was read for some hosts only says so in its ``scope`` (an empty tuple: everything).

What is read on a compute host is in host_facts.py, and is named here too. Python 3.9 and the standard library only.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .block_storage import BlockStorage, Volume, VolumeAttachment, VolumeService
from .host_facts import (
    LEFT_OUT,
    NEUTRON_AGENT,
    NO_API_DATABASE,
    NOT_ASKED_FOR,
    NOT_OPENED,
    ONLY_NAMED_CELLS,
    BlocklistEntry,
    CephAuth,
    CephRights,
    Certificate,
    ComputeIdFile,
    Definition,
    Device,
    Domain,
    DomainDisk,
    DomainInterface,
    DomainTies,
    FactsError,
    FileLine,
    GuestDefinition,
    HostFacts,
    HostsLine,
    HugePages,
    InstanceDisk,
    InstancesPath,
    LeftDirectory,
    Libvirt,
    LibvirtOffers,
    Memory,
    NameSpace,
    NameUsers,
    NovaConf,
    OpenOperation,
    OperationRecord,
    RbdFacts,
    RbdImage,
    RbdLock,
    RbdSnapshot,
    RbdVolume,
    RbdWatcher,
    Rehearsal,
    Resident,
    Resolution,
    StartFacts,
    Unit,
    UnknownJournal,
    Unread,
    from_plain,
    left_out,
    prepare,
    to_plain,
)
from .ovn import NeutronBindings, OvnFacts

__all__ = [
    "LEFT_OUT",
    "LOCK_EXCLUSIVE",
    "LOCK_LOCAL",
    "LOCK_REFUSED",
    "NEUTRON_AGENT",
    "NOT_ASKED_FOR",
    "NOT_OPENED",
    "NO_API_DATABASE",
    "ONLY_NAMED_CELLS",
    "SCHEMA",
    "AggregateHostRow",
    "ApiAgent",
    "ApiAggregate",
    "ApiDbFacts",
    "ApiHypervisor",
    "ApiMigration",
    "ApiPort",
    "ApiServer",
    "ApiService",
    "BlockStorage",
    "BlocklistEntry",
    "Bundle",
    "CellFacts",
    "CellLinks",
    "CephAuth",
    "CephRights",
    "Certificate",
    "CloudFacts",
    "ComputeIdFile",
    "ComputeNodeRow",
    "DatabaseFacts",
    "DatabaseLock",
    "Definition",
    "DeletedNode",
    "Device",
    "Domain",
    "DomainDisk",
    "DomainInterface",
    "DomainTies",
    "EvacuationFacts",
    "FactsError",
    "FileLine",
    "Grant",
    "GuestAction",
    "GuestDefinition",
    "GuestState",
    "HaHost",
    "HostFacts",
    "HostMappingRow",
    "HostsLine",
    "HugePages",
    "InstanceDisk",
    "InstanceRow",
    "InstancesPath",
    "LeftDirectory",
    "Libvirt",
    "LibvirtOffers",
    "LinkFacts",
    "LinkInstance",
    "LinkMigration",
    "LinkPciDevice",
    "Memory",
    "MigratingServer",
    "MigrationRow",
    "NameRow",
    "NameSpace",
    "NameUsers",
    "NeutronAgentRow",
    "NeutronDbFacts",
    "NovaConf",
    "NumaCell",
    "OpenOperation",
    "OperationRecord",
    "Queue",
    "QueuedRequest",
    "RbdFacts",
    "RbdImage",
    "RbdLock",
    "RbdSnapshot",
    "RbdVolume",
    "RbdWatcher",
    "Rehearsal",
    "Resident",
    "Resolution",
    "ResourceProvider",
    "ServerFlavor",
    "ServerGroup",
    "ServiceRow",
    "StartFacts",
    "TargetHost",
    "Unit",
    "UnknownJournal",
    "Unread",
    "Volume",
    "VolumeAttachment",
    "VolumeService",
    "ZoneFacts",
    "from_plain",
    "left_out",
    "prepare",
    "to_plain",
]

#: Version of the form of evidence.jsonl. A reader refuses one that it does not know.
SCHEMA = 2


_T = t.TypeVar("_T")


def _compact(cls: t.Type[_T]) -> t.Type[_T]:
    """Make the instances of a dataclass have no dictionary: of some there are a million.

    As C(dataclass(slots=True)) of newer Pythons does it; C(__slots__) by hand is no way where fields have defaults.
    """
    names = tuple(field.name for field in dataclasses.fields(t.cast(t.Any, cls)))
    body = {key: value for key, value in vars(cls).items() if key not in (*names, "__dict__", "__weakref__")}
    # Copies and pickles are made as the fields say: a frozen class has no other way to set them.
    body.update(__slots__=names, __reduce__=lambda self: (type(self), tuple(getattr(self, name) for name in names)))
    return t.cast("t.Type[_T]", type(cls.__name__, cls.__bases__, body))


# --- read from Nova's databases -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ServiceRow:
    """A row of a cell's C(services). ``deleted`` is Nova's soft-delete number: 0 is live."""

    id: int
    uuid: t.Optional[str]
    host: t.Optional[str]
    binary: t.Optional[str]
    version: t.Optional[int]
    disabled: bool
    disabled_reason: t.Optional[str]
    forced_down: bool
    last_seen_up: t.Optional[str]
    deleted: int


@dataclasses.dataclass(frozen=True)
class ComputeNodeRow:
    """A row of a cell's C(compute_nodes)."""

    id: int
    uuid: t.Optional[str]
    host: t.Optional[str]
    hypervisor_hostname: t.Optional[str]
    service_id: t.Optional[int]
    hypervisor_type: t.Optional[str]
    host_ip: t.Optional[str]
    deleted: int


@_compact
@dataclasses.dataclass(frozen=True)
class InstanceRow:
    """A row of a cell's C(instances). ``compute_id`` is None also where the column does not exist (before 28)."""

    id: int
    uuid: str
    display_name: t.Optional[str]
    project_id: t.Optional[str]
    host: t.Optional[str]
    node: t.Optional[str]
    launched_on: t.Optional[str]
    compute_id: t.Optional[int]
    vm_state: t.Optional[str]
    task_state: t.Optional[str]
    power_state: t.Optional[int]
    availability_zone: t.Optional[str]
    deleted: int


@dataclasses.dataclass(frozen=True)
class MigrationRow:
    """A row of a cell's C(migrations)."""

    id: int
    uuid: t.Optional[str]
    migration_type: t.Optional[str]
    status: t.Optional[str]
    instance_uuid: t.Optional[str]
    source_compute: t.Optional[str]
    source_node: t.Optional[str]
    dest_compute: t.Optional[str]
    dest_node: t.Optional[str]
    dest_compute_id: t.Optional[int]
    deleted: int


@dataclasses.dataclass(frozen=True)
class NameRow:
    """An existing row of a table that its place declares (name_places/), by no reader of its own: its columns."""

    id: int
    values: t.Dict[str, t.Optional[str]]


@dataclasses.dataclass(frozen=True)
class CellFacts:
    """What one cell database holds. ``scope``: the host names it was narrowed to (empty: all)."""

    name: str
    uuid: str
    #: Address of the database without user and password.
    location: str
    #: Head of Nova's alembic migrations in this database, or None.
    revision: t.Optional[str]
    #: True where instances.compute_id and migrations.dest_compute_id exist.
    has_compute_id: bool
    scope: t.List[str]
    services: t.Optional[t.List[ServiceRow]]
    compute_nodes: t.Optional[t.List[ComputeNodeRow]]
    instances: t.Optional[t.List[InstanceRow]]
    migrations: t.Optional[t.List[MigrationRow]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: What kind of database it is: mysql, mariadb, postgresql, sqlite; None: not known.
    dialect: t.Optional[str] = None
    #: ``TABLE.COLUMN`` to collation, of the columns of names, where the database compares by one. What is
    #: missing was not read.
    collations: t.Optional[t.Dict[str, str]] = None
    #: By table, the rows of places that declare theirs. A table that is missing was not read.
    name_rows: t.Dict[str, t.List[NameRow]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class HostMappingRow:
    """A row of the API database's C(host_mappings)."""

    id: int
    host: str
    cell_uuid: t.Optional[str]
    cell_name: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class AggregateHostRow:
    """A row of C(aggregate_hosts), with its aggregate's uuid, name and zone."""

    id: int
    host: t.Optional[str]
    aggregate_id: int
    aggregate_uuid: t.Optional[str]
    aggregate_name: t.Optional[str]
    availability_zone: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class ApiDbFacts:
    """What the API database holds."""

    location: str
    revision: t.Optional[str]
    scope: t.List[str]
    host_mappings: t.Optional[t.List[HostMappingRow]]
    aggregate_hosts: t.Optional[t.List[AggregateHostRow]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: By table, the rows of places that declare theirs. A table that is missing was not read.
    name_rows: t.Dict[str, t.List[NameRow]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class NeutronAgentRow:
    """A row of neutron's C(agents)."""

    id: str
    agent_type: str
    binary: str
    host: str
    heartbeat_timestamp: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class NeutronDbFacts:
    """What neutron's database holds of the hosts in ``scope``."""

    location: str
    scope: t.List[str]
    agents: t.Optional[t.List[NeutronAgentRow]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Of hosts in scope, where OVN's databases are given; None otherwise.
    bindings: t.Optional[NeutronBindings] = None
    #: Where all hosts are read: by port, the hosts for which it has a binding that is inactive.
    inactive_bindings: t.Optional[t.Dict[str, t.List[str]]] = None


@dataclasses.dataclass(frozen=True)
class Grant:
    """Whether the database user may do what a plan needs: probed with the very statement, on no row."""

    #: ``cell:cell1``, ``api`` or ``neutron``.
    database: str
    table: str
    columns: t.List[str]
    #: ``select`` or ``update``.
    action: str
    allowed: bool
    error: t.Optional[str] = None


#: What :class:`DatabaseLock` may be.
LOCK_EXCLUSIVE, LOCK_LOCAL, LOCK_REFUSED = "exclusive", "local", "refused"


@dataclasses.dataclass(frozen=True)
class DatabaseLock:
    """Whether an operation's lock in the API database keeps another run out: probed by taking one of no meaning.

    C(local): only whoever asks the same server of several; C(refused): the database has no such lock.
    """

    scope: str
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class DatabaseFacts:
    """All that one call of C(cell_info) reads."""

    read_at: str
    api: t.Optional[ApiDbFacts]
    #: None: the list of cells itself could not be read.
    cells: t.Optional[t.List[CellFacts]]
    neutron: t.Optional[NeutronDbFacts]
    #: None: not probed.
    grants: t.Optional[t.List[Grant]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: None: not probed.
    lock: t.Optional[DatabaseLock] = None
    #: OVN's northbound and southbound database; None: no connection was given.
    ovn: t.Optional[OvnFacts] = None
    #: The RabbitMQ of each cell; None: not asked for.
    brokers: t.Optional[t.List[BrokerFacts]] = None


# --- links between services, nodes, instances and migrations --------------------------------------------------


@dataclasses.dataclass(frozen=True)
class LinkInstance:
    """An existing instance whose link looks wrong. Many of these may be held at once: no dictionary behind each."""

    __slots__ = ("compute_id", "display_name", "host", "id", "moving", "node", "task_state", "uuid", "vm_state")

    id: int
    uuid: str
    display_name: t.Optional[str]
    host: t.Optional[str]
    node: t.Optional[str]
    #: None also where the column does not exist (before 28).
    compute_id: t.Optional[int]
    vm_state: t.Optional[str]
    task_state: t.Optional[str]
    #: Whether a migration of it is open: not ended, or waiting for confirmation.
    moving: bool


@dataclasses.dataclass(frozen=True)
class LinkMigration:
    """An open migration whose C(dest_compute_id) looks wrong. ``task_state``: its instance's."""

    id: int
    uuid: t.Optional[str]
    migration_type: t.Optional[str]
    status: t.Optional[str]
    instance_uuid: t.Optional[str]
    dest_compute: t.Optional[str]
    dest_node: t.Optional[str]
    dest_compute_id: t.Optional[int]
    task_state: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class DeletedNode:
    """A soft-deleted compute node that existing instances still link; ``instances``: how many."""

    id: int
    uuid: t.Optional[str]
    host: t.Optional[str]
    hypervisor_hostname: t.Optional[str]
    instances: int


@dataclasses.dataclass(frozen=True)
class LinkPciDevice:
    """A claimed or allocated PCI device of a soft-deleted compute node."""

    id: int
    address: t.Optional[str]
    status: t.Optional[str]
    instance_uuid: t.Optional[str]
    compute_node_id: int
    node_uuid: t.Optional[str]
    node_host: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class CellLinks:
    """The links of one cell: every existing service and node, and of the rest what looks wrong.

    ``totals``: by finding code, how many rows were found; the lists may hold fewer (the reader's C(keep)).
    """

    name: str
    uuid: str
    location: str
    revision: t.Optional[str]
    has_compute_id: bool
    services: t.Optional[t.List[ServiceRow]]
    compute_nodes: t.Optional[t.List[ComputeNodeRow]]
    deleted_nodes: t.Optional[t.List[DeletedNode]]
    #: Finding code to rows. A code that was not read is not there, and is in ``unread`` where it should be.
    instances: t.Dict[str, t.List[LinkInstance]]
    migrations: t.Optional[t.List[LinkMigration]]
    pci_devices: t.Optional[t.List[LinkPciDevice]]
    totals: t.Dict[str, int]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Existing instances in scope, right or wrong.
    servers: int = 0


@dataclasses.dataclass(frozen=True)
class LinkFacts:
    """The links of all cells. ``scope``: the host names they were narrowed to (empty: all).

    Services and nodes are never narrowed: a link may lead to any of them.
    """

    read_at: str
    scope: t.List[str]
    #: None: the list of cells itself could not be read.
    cells: t.Optional[t.List[CellLinks]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


# --- read through the APIs ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ApiService:
    """A compute service as C(GET /os-services) shows it."""

    id: str
    host: str
    binary: str
    state: str
    status: str
    forced_down: bool
    disabled_reason: t.Optional[str]
    zone: t.Optional[str] = None
    updated_at: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ApiHypervisor:
    """A compute node as C(GET /os-hypervisors/detail) shows it; nodes without a service are left out there."""

    id: str
    hypervisor_hostname: str
    service_host: t.Optional[str]
    hypervisor_type: t.Optional[str]
    state: t.Optional[str]
    status: t.Optional[str]
    #: C([DEFAULT] my_ip) as its nova-compute said at its last start.
    host_ip: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ServerFlavor:
    """The flavor that a server has now, as it was when the server got it. Disks in GiB, memory and swap in MiB."""

    vcpus: int
    ram: int
    disk: int
    ephemeral: int
    swap: int
    name: t.Optional[str] = None
    #: None: the policy hides them.
    extra_specs: t.Optional[t.Dict[str, str]] = None


@dataclasses.dataclass(frozen=True)
class NumaCell:
    """One NUMA cell of a server. ``page_kib``: size of its pages, KiB; None: the small ones."""

    memory_mib: int
    page_kib: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class ServerGroup:
    """A server group: its policy, how many members a host may have (anti-affinity), and its members' uuids."""

    id: str
    policy: t.Optional[str]
    max_server_per_host: t.Optional[int]
    members: t.List[str]


#: The status of a server whose cell does not answer (C(api/openstack/compute/servers.py)): Nova shows only that it
#: exists, neither its host nor its pin.
CELL_DOWN = "UNKNOWN"
#: The status of a shelved server that is on no host any more.
OFFLOADED = "SHELVED_OFFLOADED"
#: The part that is unread where Nova's list of servers lacks those of a cell that did not answer.
SILENT_CELLS = "servers.unknown"


@_compact
@dataclasses.dataclass(frozen=True)
class ApiServer:
    """A server as the administrator sees it."""

    id: str
    name: str
    project_id: t.Optional[str]
    status: str
    host: t.Optional[str]
    hypervisor_hostname: t.Optional[str]
    task_state: t.Optional[str]
    vm_state: t.Optional[str]
    power_state: t.Optional[int]
    availability_zone: t.Optional[str]
    locked: t.Optional[bool] = None
    pinned_availability_zone: t.Optional[str] = None
    volumes: t.List[str] = dataclasses.field(default_factory=list)
    #: This and what follows is read only of the servers of named hosts; None: unread.
    flavor: t.Optional[ServerFlavor] = None
    #: Glance image; an empty string: it boots from a volume.
    image: t.Optional[str] = None
    config_drive: t.Optional[bool] = None
    metadata: t.Optional[t.Dict[str, str]] = None


@dataclasses.dataclass(frozen=True)
class ApiAggregate:
    """A host aggregate."""

    id: int
    uuid: t.Optional[str]
    name: str
    availability_zone: t.Optional[str]
    hosts: t.List[str]
    #: With the zone among it, as the API shows it; None: unread.
    metadata: t.Optional[t.Dict[str, str]] = None


@dataclasses.dataclass(frozen=True)
class ResourceProvider:
    """A resource provider of placement, with its tree and, where asked for, its allocations."""

    uuid: str
    name: str
    generation: int
    root_provider_uuid: t.Optional[str]
    parent_provider_uuid: t.Optional[str]
    #: Consumer uuid to resource class to amount; None: not asked for or unread.
    allocations: t.Optional[t.Dict[str, t.Dict[str, int]]] = None
    #: Aggregate uuids; None: not asked for.
    aggregates: t.Optional[t.List[str]] = None
    #: Of ``allocations``, where all providers are read: those of consumers that are no server of the provider's host.
    strays: t.Optional[t.Dict[str, t.Dict[str, int]]] = None
    #: Whether a root provider that is no compute node's has a trait that nova-compute gives; None: not asked for.
    has_compute_trait: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class ApiMigration:
    """A migration record of C(GET /os-migrations)."""

    id: int
    uuid: t.Optional[str]
    migration_type: t.Optional[str]
    status: str
    instance_uuid: t.Optional[str]
    source_compute: t.Optional[str]
    source_node: t.Optional[str]
    dest_compute: t.Optional[str]
    dest_node: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class GuestState:
    """A server with what its owner's requests left in it. ``reason``: of its lock."""

    uuid: str
    name: str
    host: t.Optional[str]
    task_state: t.Optional[str]
    locked: bool
    reason: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class GuestAction:
    """An action of a server. ``begun``: a nova-compute has taken it up; ``ended``: all of its events have ended."""

    request_id: str
    action: str
    started: str
    begun: bool
    ended: bool


@dataclasses.dataclass(frozen=True)
class Queue:
    """A message queue of a host. ``messages``: those that no consumer has been given."""

    name: str
    messages: int
    consumers: int


@dataclasses.dataclass(frozen=True)
class QueuedRequest:
    """A request that waits in a message queue. ``id``: the message's own; ``instances``: the uuids it is about.

    ``sent``: when its sender began it, in UTC as Nova writes it; None: the message does not say.
    """

    queue: str
    id: str
    method: str
    request_id: t.Optional[str]
    instances: t.List[str]
    sent: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class BrokerFacts:
    """What waits in the RabbitMQ of one cell for names of its nova-computes, deleted ones included.

    ``location``: servers and virtual host, without user and password. ``waiting``: the queues with messages and without
    a consumer; None: not read, for ``reason``. ``witness``: a nova-compute whose queue has a consumer, which proves
    that this is the cell's broker: without one, nothing was read.
    """

    cell: str
    location: str
    names: int
    waiting: t.Optional[t.List[Queue]]
    witness: t.Optional[str] = None
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ApiAgent:
    """A neutron agent. ``alive`` is computed from ``heartbeat_timestamp`` (the database's clock)."""

    id: str
    agent_type: str
    binary: str
    host: str
    alive: bool
    heartbeat_timestamp: t.Optional[str] = None
    #: ``agent_mode`` of an L3 agent: legacy, dvr, dvr_snat, dvr_no_external.
    mode: t.Optional[str] = None
    #: Whether an Open vSwitch agent does distributed routing (``enable_distributed_routing``).
    distributed: bool = False


@dataclasses.dataclass(frozen=True)
class ApiPort:
    """A neutron port: bound to a host that was asked for, or a server's, wherever it is bound."""

    id: str
    binding_host_id: t.Optional[str]
    binding_vif_type: t.Optional[str]
    status: str
    device_id: t.Optional[str]
    device_owner: t.Optional[str]
    #: Subnets of its fixed addresses; None: unread.
    subnets: t.Optional[t.List[str]] = None
    #: Ports that are subports of the trunk whose parent this port is.
    subports: t.List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class HaHost:
    """A host of a failover segment of Masakari, which knows hosts by name."""

    id: str
    name: str
    segment: str


@dataclasses.dataclass(frozen=True)
class CloudFacts:
    """All that one call of C(cloud_info) reads. ``scope``: the host names it was narrowed to (empty: all)."""

    read_at: str
    scope: t.List[str]
    #: Highest compute microversion offered, such as ``2.104``.
    compute_max_microversion: t.Optional[str]
    #: Service types in the catalogue, sorted; None: unread.
    catalog: t.Optional[t.List[str]]
    services: t.Optional[t.List[ApiService]]
    hypervisors: t.Optional[t.List[ApiHypervisor]]
    servers: t.Optional[t.List[ApiServer]]
    aggregates: t.Optional[t.List[ApiAggregate]]
    providers: t.Optional[t.List[ResourceProvider]]
    migrations: t.Optional[t.List[ApiMigration]]
    agents: t.Optional[t.List[ApiAgent]]
    ports: t.Optional[t.List[ApiPort]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Narrowed: servers whose ports were asked for wherever those are bound. Unnarrowed, all ports were.
    port_devices: t.List[str] = dataclasses.field(default_factory=list)
    #: Those subnets of the ports that belong to a segment (routed provider networks). Asked for only where narrowed;
    #: None: not asked for, or unread.
    routed_subnets: t.Optional[t.List[str]] = None
    #: Hosts of Masakari of the names in scope; None: not asked for, or unread.
    ha_hosts: t.Optional[t.List[HaHost]] = None
    #: What Cinder says of the servers' volumes, or of all; None: not asked for, or the servers were not read.
    block_storage: t.Optional[BlockStorage] = None


@dataclasses.dataclass(frozen=True)
class TargetHost:
    """A compute host as a place to go to: its service, node and zone, and what placement would still give."""

    host: str
    node: str
    #: Root resource provider.
    provider: str
    zone: t.Optional[str]
    #: As C(GET /os-services) says.
    state: str
    status: str
    forced_down: bool
    #: Resource class to what is free, over the whole tree; None: placement offers nothing of it.
    free: t.Optional[t.Dict[str, int]]
    #: The API's words where the operator disabled it.
    disabled_reason: t.Optional[str] = None
    host_ip: t.Optional[str] = None
    #: How many hold something of its provider; asked only of hosts that are down. None: unread.
    consumers: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class MigratingServer:
    """A server with a migration under way, wherever it is. ``cells``: of huge pages; None: unread."""

    uuid: str
    flavor: t.Optional[ServerFlavor]
    cells: t.Optional[t.List[NumaCell]] = None


@dataclasses.dataclass(frozen=True)
class EvacuationFacts:
    """What only an evacuation asks the APIs: where servers could go, and what binds them. None: unread."""

    read_at: str
    host: str
    targets: t.Optional[t.List[TargetHost]]
    #: Groups that a server of the host is a member of.
    groups: t.Optional[t.List[ServerGroup]]
    #: Members of these groups to their hosts; one that is gone or on no host is not here.
    member_hosts: t.Optional[t.Dict[str, str]]
    #: Server uuid to its NUMA cells; an empty list: it has no NUMA topology. A server that is not here is unread.
    numa: t.Optional[t.Dict[str, t.List[NumaCell]]]
    #: Server uuid to the root providers that placement offers for all that it needs. One not here is unread.
    offers: t.Optional[t.Dict[str, t.List[str]]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: This and what follows was not read by older versions: None without an entry in ``unread`` is "never asked".
    aggregates: t.Optional[t.List[ApiAggregate]] = None
    #: Every migration of the cloud that is under way, and its servers.
    migrations: t.Optional[t.List[ApiMigration]] = None
    transit: t.Optional[t.List[MigratingServer]] = None
    #: Server uuid to its image's properties (hw_* and os_*). One not here is unread.
    image_properties: t.Optional[t.Dict[str, t.Dict[str, str]]] = None
    #: Server uuid to the number of its shares (manila); one not here is unread.
    shares: t.Optional[t.Dict[str, int]] = None
    #: Servers with a port that is an accelerator.
    accelerator_ports: t.Optional[t.List[str]] = None
    #: Server uuid to its volumes that are encrypted; one not here is unread.
    encrypted: t.Optional[t.Dict[str, t.List[str]]] = None
    #: Consumers of the host's resource providers that no list of servers explains, each with what Nova says of it.
    unlisted: t.Optional[t.Dict[str, str]] = None
    #: Consumers of these providers that Nova is about to put on the host, each with what Nova says of it.
    coming: t.Optional[t.Dict[str, str]] = None
    #: Servers of the host that are soft-deleted: uuid to name.
    soft_deleted: t.Optional[t.Dict[str, str]] = None
    #: Host, in lower case, to the uuid of its cell, by the API database. No API says it; None: not asked for, unread.
    cells: t.Optional[t.Dict[str, t.Optional[str]]] = None
    #: Hosts whose cell does not answer, and uuids of servers of which only that is known.
    cells_down: t.Optional[t.List[str]] = None
    #: Whether the API shows that there is more than one cell. False is no proof of one; None: unread.
    several_cells: t.Optional[bool] = None
    #: Server uuid to the hosts for which a port of it has an inactive binding. Only servers with one are here.
    inactive_bindings: t.Optional[t.Dict[str, t.List[str]]] = None
    #: Server uuid to its last resize or cold migration. Only servers are here of which it failed after their source.
    failed_moves: t.Optional[t.Dict[str, ApiMigration]] = None


@dataclasses.dataclass(frozen=True)
class ShelvedServer:
    """What Nova's actions say of a shelved server that is on no host."""

    #: The host that shelved it; None: no event names one.
    host: t.Optional[str]
    #: Whether an attempt to unshelve it since then may have written the zone that Nova shows.
    tried: bool


@dataclasses.dataclass(frozen=True)
class ZoneFacts:
    """What decides in which availability zone servers stay, of the servers that were asked for. None: unread."""

    read_at: str
    compute_max_microversion: t.Optional[str]
    services: t.Optional[t.List[ApiService]]
    hypervisors: t.Optional[t.List[ApiHypervisor]]
    #: Nova's own aggregates.
    aggregates: t.Optional[t.List[ApiAggregate]]
    #: Aggregate uuid to the resource providers that placement has in it: what the scheduler really asks.
    members: t.Optional[t.Dict[str, t.List[str]]]
    servers: t.Optional[t.List[ApiServer]]
    #: Server uuid to the zone in its request spec; null: none. A server that is not here is unread.
    pins: t.Optional[t.Dict[str, t.Optional[str]]]
    #: Where the pins were read: ``compute API`` or ``API database``.
    pins_from: t.Optional[str] = None
    #: Volume uuid to its zone.
    volumes: t.Optional[t.Dict[str, t.Optional[str]]] = None
    #: Server uuid to the root providers that placement offers for it within its zone. One not here is unread.
    offers: t.Optional[t.Dict[str, t.List[str]]] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Hosts, and uuids of servers, whose cell did not answer: their servers are in no list.
    silent: t.List[str] = dataclasses.field(default_factory=list)
    #: Server uuid to what is known of it, for those that are shelved and on no host.
    shelved: t.Optional[t.Dict[str, ShelvedServer]] = None


@dataclasses.dataclass(frozen=True)
class CloudName:
    """By what name the operator knows the cloud that was read; None: it was given none."""

    cloud: t.Optional[str] = None
    region: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Bundle:
    """The evidence: what was read, from everywhere, for one audit or one operation."""

    schema: int
    collected_at: str
    #: Inventory name to facts; a host that did not answer is in ``unreachable`` and not here.
    hosts: t.Dict[str, HostFacts]
    #: Inventory name to the reason.
    unreachable: t.Dict[str, str]
    cloud: t.Optional[CloudFacts]
    databases: t.Optional[DatabaseFacts]
    #: None: not read.
    links: t.Optional[LinkFacts] = None
    #: Source (``api``, ``databases``) to the reason why none of it could be read; not asked for: not here.
    failures: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Guest's uuid to its definitions as they were recorded last; None: no record was asked for.
    recorded: t.Optional[t.Dict[str, GuestDefinition]] = None
    #: Operations by the journal directory; None: it was not read.
    operations: t.Optional[t.List[OperationRecord]] = None
    #: What an audit was to read: C(hosts), C(api), C(databases), C(ceph). Empty: evidence of an operation, or of a
    #: version that did not note it.
    requested: t.List[str] = dataclasses.field(default_factory=list)
    #: None: evidence of an operation, of several clouds, or of a version that did not note it.
    named: t.Optional[CloudName] = None
    #: Open journals of the journal directory that this version of the collection does not understand.
    unknown_journals: t.List[UnknownJournal] = dataclasses.field(default_factory=list)
