# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was read, as frozen dataclasses in Nova's own words, and the evidence bundle they travel in.

Nothing here does I/O, and nothing here decides anything. C(systems/) fill these in, C(checks/) and C(plans/)
read them. Every class serialises to plain JSON with :func:`to_plain` and back with :func:`from_plain`, so an
audit can be repeated offline from a saved bundle.

Two conventions carry the weight of "absence of evidence is not evidence of absence":

* A part that could not be read is ``None`` *and* has an :class:`Unread` entry naming it and the reason.
  An empty list always means "was read, and there is none".
* Every collection that was read for some hosts only says so in its ``scope`` (an empty tuple: everything).

Python 3.9 and the standard library only: this file travels to compute hosts.
"""

from __future__ import annotations

import dataclasses
import typing as t

#: Version of the evidence bundle's JSON. A reader refuses a bundle it does not know.
SCHEMA = 1

#: Reasons of an :class:`Unread` that is no failure: whoever read left the part out on purpose.
NOT_ASKED_FOR = "not asked for"
NOT_OPENED = "not opened"
NO_API_DATABASE = "nova_api_db_url is not set"
ONLY_NAMED_CELLS = f"{NO_API_DATABASE}: only nova_cell_db_urls were read"


class FactsError(ValueError):
    """An evidence file that cannot be understood: which file or field, and why."""


@dataclasses.dataclass(frozen=True)
class Unread:
    """A part of the evidence that could not be read.

    ``part`` is a dotted name below its owner, such as ``libvirt.domains``; ``reason`` is what the system answered.
    """

    part: str
    reason: str


# --- read on a compute host -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ComputeIdFile:
    """One C(compute_id) file, as nova/virt/node.py would see it (first 40 characters, stripped, any UUID form)."""

    path: str
    #: True where nova-compute would read it; False for a copy that a deployment tool keeps (kolla).
    read_by_nova: bool
    exists: bool
    #: Normalised UUID, or None where the file is missing, unreadable or holds no UUID.
    uuid: t.Optional[str] = None
    owner: t.Optional[str] = None
    group: t.Optional[str] = None
    #: Octal, such as ``0644``.
    mode: t.Optional[str] = None
    #: Why it could not be read or parsed.
    error: t.Optional[str] = None
    #: What open() or read() raises in nova-compute too, as Python prints it: Nova catches no such error.
    os_error: t.Optional[str] = None
    #: True: what nova-compute would read from it is not known; ``error`` says why.
    unread: bool = False


@dataclasses.dataclass(frozen=True)
class FileLine:
    """One line of a file, as it stands there (without its end of line); ``number`` counts from 1."""

    path: str
    number: int
    text: str


@dataclasses.dataclass(frozen=True)
class NovaConf:
    """The effective nova.conf of nova-compute: several files and directories merged, the later one wins."""

    files: t.List[str]
    #: ``[DEFAULT] host`` as configured; None: unset, so Nova takes the kernel's host name. What nova-compute makes
    #: of it is C(names.conf_host).
    host: t.Optional[str]
    state_path: str
    my_ip: t.Optional[str]
    instances_path: str
    compute_driver: t.Optional[str]
    images_type: str
    images_rbd_pool: t.Optional[str]
    rbd_user: t.Optional[str]
    images_rbd_ceph_conf: t.Optional[str]
    live_migration_inbound_addr: t.Optional[str]
    reserved_host_memory_mb: t.Optional[int] = None
    #: Every line that sets ``[DEFAULT] host``, in reading order: each must change when the name does.
    host_lines: t.List[FileLine] = dataclasses.field(default_factory=list)
    #: Where nova-compute writes its log (log_dir and log_file resolved); None: standard error, so the journal.
    log_file: t.Optional[str] = None
    heal_instance_info_cache_interval: t.Optional[int] = None
    #: What nova-compute does with domains of deleted instances: reap (its default), shutdown, log or noop.
    running_deleted_instance_action: t.Optional[str] = None
    #: ``[libvirt]``: how a live migration connects to the destination; both None: Nova's default, tcp.
    live_migration_uri: t.Optional[str] = None
    live_migration_scheme: t.Optional[str] = None
    #: None: unread.
    virt_type: t.Optional[str] = None
    #: Seconds for which an instance must have been deleted before its domain is; None: unread.
    running_deleted_instance_timeout: t.Optional[int] = None
    #: Whether guests that ran before are started with nova-compute; None: unread.
    resume_guests_state_on_host_boot: t.Optional[bool] = None
    #: Seconds between two comparisons of power states with libvirt's; negative: none; None: unread.
    sync_power_state_interval: t.Optional[int] = None
    #: Environment variables that set options at nova-compute's next start, by name; None: unread.
    environment: t.Optional[t.List[str]] = None
    #: Seconds between passes of update_available_resource; 0: the default (60); below 0: never; None: unread.
    update_resources_interval: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class DomainDisk:
    """A disk of a domain: target device, bus, kind of source (``network``, ``file``, ``block``) and its name."""

    target: str
    bus: t.Optional[str]
    source_type: str
    #: ``pool/image`` for RBD, a path for files and block devices.
    source: t.Optional[str]
    protocol: t.Optional[str] = None
    serial: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class DomainInterface:
    """A network interface of a domain."""

    mac: t.Optional[str]
    target: t.Optional[str]
    type: str
    source: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Domain:
    """A libvirt domain on a compute host. ``uuid`` is the Nova instance's uuid where Nova made it."""

    uuid: str
    name: str
    #: libvirt's word: running, paused, shutoff, crashed, pmsuspended, blocked, shutdown, nostate.
    state: str
    persistent: bool
    #: Process id of QEMU in the host's pid namespace; None where the domain is not active or the pid is unknown.
    pid: t.Optional[int]
    #: Start time of that process in clock ticks since boot (``/proc/PID/stat`` field 22): tells a reused pid.
    pid_start: t.Optional[int]
    memory_mib: int
    vcpus: int
    #: From the nova metadata element; None where there is none (not a Nova guest).
    nova_name: t.Optional[str]
    nova_flavor: t.Optional[str]
    nova_project: t.Optional[str]
    machine_type: t.Optional[str]
    disks: t.List[DomainDisk]
    interfaces: t.List[DomainInterface]
    #: SHA-256 of the live XML, normalised (ids, aliases of implicit devices and run-time paths left out).
    xml_digest: str
    #: Resident memory of QEMU, MiB, huge pages left out.
    rss_mib: t.Optional[int] = None
    #: Size of the huge pages that its memory is made of, KiB; 0: huge pages of the host's default size; None: none.
    hugepage_kib: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a guest's definition. ``identity``: what it is the same device by, whatever its place."""

    #: Name of its element: disk, interface, controller, hostdev, ...
    kind: str
    identity: str
    #: Where the guest finds it, such as ``pci 0000:00:03.0``; None: nowhere of its own.
    address: t.Optional[str]
    #: Target device and bus of a disk, model of an interface or controller.
    what: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Definition:
    """What a guest is made of, without secrets. Devices in the order of the XML."""

    #: SHA-256 of the normalised XML, under which it is kept.
    sha256: str
    machine_type: t.Optional[str]
    #: Mode, model and features in one line.
    cpu: str
    devices: t.List[Device]


@dataclasses.dataclass(frozen=True)
class GuestDefinition:
    """A guest's definitions: what runs, and what its next start through libvirt would take."""

    uuid: str
    name: str
    read_at: str
    #: None: it does not run.
    live: t.Optional[Definition]
    #: None: it is transient.
    inactive: t.Optional[Definition]


@dataclasses.dataclass(frozen=True)
class Libvirt:
    """What libvirt says of itself. ``hostname`` is what Nova's driver takes for ``hypervisor_hostname``."""

    uri: str
    version: str
    hostname: str
    #: Host UUID from capabilities: not Nova's node identity.
    host_uuid: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class HugePages:
    """Huge pages of one size: counts of pages."""

    size_kib: int
    total: int
    free: int
    numa_node: t.Optional[int] = None
    #: Free ones that are promised already but not yet touched. The kernel counts them for the whole host only, so
    #: every NUMA node's entry bears the host's number.
    reserved: int = 0


@dataclasses.dataclass(frozen=True)
class Memory:
    """Real memory of a host, MiB, from /proc/meminfo."""

    total_mib: int
    available_mib: int
    free_mib: int
    swap_free_mib: int


@dataclasses.dataclass(frozen=True)
class Unit:
    """A systemd unit. States are systemd's own words. They prove little: see facts about nova-compute's exits."""

    name: str
    load_state: str
    active_state: str
    sub_state: str
    unit_file_state: str
    fragment_path: t.Optional[str]
    main_pid: int
    #: True where a start of it would be refused (masked, or stopped by an assertion of ours).
    blocked: bool = False


#: The service of a :class:`NameSpace` that not every compute host has.
NEUTRON_AGENT = "neutron agent"


@dataclasses.dataclass(frozen=True)
class NameSpace:
    """By whose host name a service of the host goes: a process of it, or what would start where none runs."""

    #: nova-compute, libvirt, or neutron agent.
    service: str
    #: ``process 4711``, ``podman container nova_compute``, ``unit nova-compute.service``, or ``not running``.
    what: str
    #: Whether it has a UTS namespace of its own: a host name that does not follow the host's. None: not known.
    own: t.Optional[bool]
    #: The name in there, where it was read.
    hostname: t.Optional[str] = None
    #: Why it is not known.
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Resident:
    """A kind of service on a compute host that goes by the host's name, and what gave it away."""

    kind: str
    seen: t.List[str]


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A certificate file's first certificate, as PEM."""

    path: str
    pem: str


@dataclasses.dataclass(frozen=True)
class NameUsers:
    """What else on a compute host goes by its name. A part that is None was not read; ``unread`` says why."""

    residents: t.Optional[t.List[Resident]]
    #: Options of nova-compute whose values bear a name of the host, without the values.
    options: t.Optional[t.List[str]]
    #: What cloud-init is told of the host's name; empty: it is not here, or switched off.
    cloud_init: t.Optional[t.Dict[str, str]]
    certificates: t.Optional[t.List[Certificate]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Rehearsal:
    """What libvirt would call the host after a rename, tried in namespaces of its own."""

    #: The kernel's host name that was tried.
    name: str
    #: What libvirt would say; None: it could not be tried, and ``reason`` says why.
    hostname: t.Optional[str]
    reason: t.Optional[str] = None
    #: Why the resolver gave no answer, so that libvirt would take the name as it is.
    unresolved: t.Optional[str] = None
    #: The same, asked of the host as it is: what libvirt should say now.
    now: t.Optional[str] = None
    #: What may answer otherwise once the host has its new name.
    undecided: t.List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Resolution:
    """What a name resolves to *on this host*, through its own resolver (files, DNS)."""

    name: str
    addresses: t.List[str]
    #: Canonical name (AI_CANONNAME): libvirt's virGetHostname() takes it.
    canonical: t.Optional[str]
    error: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class HostsLine:
    """A line of /etc/hosts with at least one name: its number (from 1), address and names."""

    number: int
    address: str
    names: t.List[str]
    #: The line as it stands, without its end of line: what a guarded edit compares with.
    text: str


# --- Ceph, as one compute host sees it


@dataclasses.dataclass(frozen=True)
class RbdWatcher:
    """A client that has an image open for writing. ``address`` is Ceph's: ``IP:PORT/NONCE``."""

    address: str
    client: t.Optional[str] = None
    cookie: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RbdLock:
    """A lock on an image. It outlives its holder: a dead host's locks stay until somebody breaks them."""

    locker: str
    address: t.Optional[str] = None
    cookie: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RbdSnapshot:
    """A snapshot of an image, of the user namespace. ``size`` is in bytes."""

    name: str
    size: t.Optional[int] = None
    protected: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class RbdImage:
    """One image of a pool. ``size`` is in bytes. Each part that is None was not read; ``unread`` says why."""

    name: str
    #: Ceph's own id: an image made anew under the same name has another one.
    id: t.Optional[str] = None
    size: t.Optional[int] = None
    snapshots: t.Optional[t.List[RbdSnapshot]] = None
    watchers: t.Optional[t.List[RbdWatcher]] = None
    locks: t.Optional[t.List[RbdLock]] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class BlocklistEntry:
    """A client that the OSDs refuse. ``address``: ``IP:PORT/NONCE``, ``IP:0/0`` for all clients of an address.

    ``range``: all clients of a network are refused, which is written as ``IP:0/BITS``.
    """

    address: str
    until: t.Optional[str] = None
    range: bool = False


@dataclasses.dataclass(frozen=True)
class CephRights:
    """Whether the Ceph user may add to the OSD blocklist, and remove from it; None: not known.

    ``reason``: Ceph's own words, where either is not True.
    """

    add: t.Optional[bool] = None
    remove: t.Optional[bool] = None
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RbdVolume:
    """The image ``volume-UUID`` of a volume, and the pool in which it was seen."""

    pool: str
    image: RbdImage


@dataclasses.dataclass(frozen=True)
class RbdFacts:
    """What a compute host sees in the pool that its own nova.conf names, with its own Ceph configuration."""

    #: ``library`` (python3-rbd) or ``command`` (rbd and ceph).
    via: str
    #: The Ceph cluster; None where it could not be read.
    fsid: t.Optional[str]
    pool: str
    #: Instances whose images were asked for; empty: all of the pool.
    instances: t.List[str]
    #: Images whose name begins with an instance's uuid and an underscore; None: the pool could not be listed.
    images: t.Optional[t.List[RbdImage]]
    #: The OSD blocklist; None: not asked for, or unread.
    blocklist: t.Optional[t.List[BlocklistEntry]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: This host's address on its way to the monitors, which is how it is told in watchers; None: unread.
    client_address: t.Optional[str] = None
    #: False: the images were listed by name and not opened.
    opened: bool = True
    #: Plain IP addresses of the cluster's own daemons, as far as they could be read; None: not asked for, or unread.
    #: Complete only where ``infrastructure_unread`` is empty.
    infrastructure: t.Optional[t.List[str]] = None
    #: What this release calls its list: ``blocklist``, before Pacific ``blacklist``; None: not asked for, or unread.
    blocklist_word: t.Optional[str] = None
    #: None: not asked for.
    rights: t.Optional[CephRights] = None
    #: Volumes that were asked for and found; None: not asked for, or no pool could be read. Each pool that could not
    #: be read is in ``unread`` as ``volumes POOL``.
    volumes: t.Optional[t.List[RbdVolume]] = None

    @property
    def infrastructure_unread(self) -> t.List[Unread]:
        """The parts of the infrastructure that could not be read: ``infrastructure mgr dump`` and the like."""
        return [entry for entry in self.unread if entry.part.split(" ")[0] == "infrastructure"]


@dataclasses.dataclass(frozen=True)
class OpenOperation:
    """A journal of an unfinished run, found on the host."""

    operation_id: str
    kind: str
    state: str
    started_at: str
    subject: str


@dataclasses.dataclass(frozen=True)
class OperationRecord:
    """What a journal of the journal directory says of an operation, open or closed."""

    operation_id: str
    kind: str
    state: str
    started_at: str
    #: Whether the operation is unfinished.
    open: bool
    #: What Nova calls the host that it is about; None: it is about none, or does not say.
    host: t.Optional[str] = None
    #: Ceph fsid to the addresses of the host that the operation put on its blocklist, or found there.
    blocklisted: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)
    #: The same of an old journal, which does not say on which cluster.
    addresses: t.List[str] = dataclasses.field(default_factory=list)
    #: Ceph fsid to the pools of the images of its servers.
    homes: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class HostFacts:
    """All that one call of C(compute_host_info) reads on one compute host."""

    inventory_name: str
    read_at: str
    kernel_hostname: str
    static_hostname: t.Optional[str]
    fqdn: t.Optional[str]
    #: Addresses configured on this host's interfaces (without prefix length), loopback left out.
    addresses: t.Optional[t.List[str]]
    machine_id: t.Optional[str]
    #: Of the firmware; empty: this machine has no DMI (s390x, arm64 without SMBIOS, containers); None: unread.
    dmi_uuid: t.Optional[str]
    compute_id_files: t.Optional[t.List[ComputeIdFile]]
    nova_conf: t.Optional[NovaConf]
    libvirt: t.Optional[Libvirt]
    domains: t.Optional[t.List[Domain]]
    memory: t.Optional[Memory]
    hugepages: t.Optional[t.List[HugePages]]
    #: Units looked for that exist here: nova-compute and L2 agents.
    units: t.Optional[t.List[Unit]]
    resolutions: t.Optional[t.List[Resolution]]
    etc_hosts: t.Optional[t.List[HostsLine]]
    #: Open vSwitch ``external_ids`` (hostname, system-id); None where Open vSwitch is absent, see ``unread``.
    ovs_external_ids: t.Optional[t.Dict[str, str]]
    open_operations: t.Optional[t.List[OpenOperation]]
    #: Version of the nova package that nova-compute runs from, such as ``34.0.0``, where it can be told.
    nova_version: t.Optional[str] = None
    #: ``[DEFAULT] host`` of the L2 agent's configuration, and the lines that set it; None and empty: unset.
    neutron_host: t.Optional[str] = None
    neutron_host_lines: t.List[FileLine] = dataclasses.field(default_factory=list)
    #: Ceph as this host sees it; None: not asked for, or see ``unread``.
    rbd: t.Optional[RbdFacts] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Definitions of the guests; None: not asked for, or see ``unread``.
    definitions: t.Optional[t.List[GuestDefinition]] = None
    #: Domain uuid to the process id of a QEMU that runs here, whether libvirt knows it or not; None: unread.
    qemu_processes: t.Optional[t.Dict[str, int]] = None
    #: The kernel's id of this boot: another one, and the host rebooted.
    boot_id: t.Optional[str] = None
    #: By whose host name nova-compute, libvirt and the network agents go.
    name_spaces: t.Optional[t.List[NameSpace]] = None
    #: None: not asked for.
    name_users: t.Optional[NameUsers] = None
    #: Only before a rename.
    rehearsal: t.Optional[Rehearsal] = None


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
    report_count: int
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
    mapped: t.Optional[int]
    deleted: int


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
    """A live row of a table that its place declares (name_places/), by no reader of its own: what its columns say."""

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
    admin_state_up: bool
    heartbeat_timestamp: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class NeutronDbFacts:
    """What neutron's database holds of the hosts in ``scope``."""

    location: str
    scope: t.List[str]
    agents: t.Optional[t.List[NeutronAgentRow]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


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


# --- links between services, nodes, instances and migrations --------------------------------------------------


@dataclasses.dataclass(frozen=True)
class LinkInstance:
    """A live instance whose link looks wrong. Many of these may be held at once: no dictionary behind each."""

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
    """A soft-deleted compute node that live instances still link; ``instances``: how many."""

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
    """The links of one cell: every live service and node, and of the rest what looks wrong.

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
    #: Live instances in scope, right or wrong.
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
    """A request that waits in a message queue. ``id``: the message's own; ``instances``: the uuids it is about."""

    queue: str
    id: str
    method: str
    request_id: t.Optional[str]
    instances: t.List[str]


@dataclasses.dataclass(frozen=True)
class ApiAgent:
    """A neutron agent. ``alive`` is computed from ``heartbeat_timestamp`` (the database's clock)."""

    id: str
    agent_type: str
    binary: str
    host: str
    alive: bool
    admin_state_up: bool
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
    mac_address: t.Optional[str] = None
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
    placement_max_microversion: t.Optional[str]
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
    #: Hosts of Masakari of the names in scope. Asked for only where narrowed; None: not asked for, or unread.
    ha_hosts: t.Optional[t.List[HaHost]] = None


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

    @property
    def usable(self) -> bool:
        """Whether the scheduler sends servers there: up, enabled and not forced down."""
        return self.state == "up" and self.status == "enabled" and not self.forced_down


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
    #: Servers of the host that are soft-deleted: uuid to name.
    soft_deleted: t.Optional[t.Dict[str, str]] = None
    #: Hosts whose cell does not answer, and uuids of servers of which only that is known.
    cells_down: t.Optional[t.List[str]] = None


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


# --- plain data and back --------------------------------------------------------------------------------------

_T = t.TypeVar("_T")
_NONE = type(None)
_HINTS: t.Dict[type, t.Dict[str, t.Any]] = {}
_NAMES: t.Dict[type, t.Optional[t.Tuple[str, ...]]] = {}
_SCALARS = frozenset((str, int, float, bool, type(None)))


def to_plain(value: t.Any) -> t.Any:
    """Turn facts (or anything made of dataclasses, mappings, sequences and scalars) into plain JSON data."""
    cls = type(value)
    # Most values are scalars: an audit of 1,000 hosts writes millions.
    if cls in _SCALARS:
        return value
    if issubclass(cls, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if issubclass(cls, (list, tuple)):
        return [to_plain(item) for item in value]
    names = _names(cls)
    return value if names is None else {name: to_plain(getattr(value, name)) for name in names}


def _names(cls: type) -> t.Optional[t.Tuple[str, ...]]:
    """The fields of a dataclass; None for any other class."""
    if cls not in _NAMES:
        known = dataclasses.is_dataclass(cls)
        _NAMES[cls] = tuple(field.name for field in dataclasses.fields(t.cast(t.Any, cls))) if known else None
    return _NAMES[cls]


def from_plain(cls: t.Type[_T], data: t.Any, where: str = "") -> _T:
    """Build a dataclass from plain data.

    A field that is missing takes its default; one without a default, one of the wrong shape, or an unknown key
    raises :class:`FactsError` with its dotted place: a bundle from another version is refused, not half read.
    """
    try:
        return t.cast("_T", _quick(cls)(data))
    except _MismatchError:
        # Where exactly, only the slow way knows.
        return _from_plain(cls, data, where)


def _from_plain(cls: t.Type[_T], data: t.Any, where: str) -> _T:
    where = where or cls.__name__
    if not isinstance(data, dict):
        raise FactsError(f"{where}: expected an object, found {type(data).__name__}")
    hints = _hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise FactsError(f"{where}: unknown field {unknown[0]!r}")
    values = {}
    for field in dataclasses.fields(t.cast(t.Any, cls)):
        place = f"{where}.{field.name}"
        if field.name in data:
            values[field.name] = _convert(hints[field.name], data[field.name], place)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise FactsError(f"{place}: missing")
    return cls(**values)


def _hints(cls: type) -> t.Dict[str, t.Any]:
    if cls not in _HINTS:
        _HINTS[cls] = t.get_type_hints(cls)
    return _HINTS[cls]


def _convert(hint: t.Any, data: t.Any, where: str) -> t.Any:
    origin = t.get_origin(hint)
    if origin is t.Union:
        if data is None:
            return None
        inner = [arg for arg in t.get_args(hint) if arg is not _NONE]
        return _convert(inner[0], data, where)
    if origin is list:
        if not isinstance(data, (list, tuple)):
            raise FactsError(f"{where}: expected a list, found {type(data).__name__}")
        (item_hint,) = t.get_args(hint)
        return [_convert(item_hint, item, f"{where}[{index}]") for index, item in enumerate(data)]
    if origin is dict:
        if not isinstance(data, dict):
            raise FactsError(f"{where}: expected an object, found {type(data).__name__}")
        _key, item_hint = t.get_args(hint)
        return {str(key): _convert(item_hint, item, f"{where}.{key}") for key, item in data.items()}
    if dataclasses.is_dataclass(hint):
        return _from_plain(t.cast(t.Any, hint), data, where)
    return _scalar(hint, data, where)


def _scalar(hint: t.Any, data: t.Any, where: str) -> t.Any:
    if hint is t.Any:
        return data
    # bool is an int in Python; a count that arrives as true is not a count.
    if hint is int and isinstance(data, int) and not isinstance(data, bool):
        return int(data)
    if hint is bool and isinstance(data, bool):
        return data
    if hint is str and isinstance(data, str):
        # Ansible hands over tagged str subclasses; facts hold plain ones.
        return str(data)
    raise FactsError(f"{where}: expected {getattr(hint, '__name__', hint)}, found {type(data).__name__}")


# --- the same, quickly: evidence of a whole cloud has millions of fields, and nearly all of it is sound


class _MismatchError(Exception):
    """Something is not as it should be."""


_Converter = t.Callable[[t.Any], t.Any]
_QUICK: t.Dict[type, _Converter] = {}


def _quick(cls: type) -> _Converter:
    """Return what builds a class from plain data; it is made once for each class."""
    if cls not in _QUICK:
        _QUICK[cls] = _quick_class(cls)
    return _QUICK[cls]


def _quick_class(cls: type) -> _Converter:
    hints = _hints(cls)
    converters = {name: _quick_hint(hint) for name, hint in hints.items()}

    def convert(data: t.Any) -> t.Any:
        if not isinstance(data, dict):
            raise _MismatchError
        try:
            return cls(**{name: converters[name](value) for name, value in data.items()})
        except (KeyError, TypeError) as error:
            # An unknown field, or one that is missing.
            raise _MismatchError from error

    return convert


def _quick_hint(hint: t.Any) -> _Converter:
    origin = t.get_origin(hint)
    if origin is t.Union:
        inner = _quick_hint(next(arg for arg in t.get_args(hint) if arg is not _NONE))
        return lambda data: None if data is None else inner(data)
    if origin is list:
        item = _quick_hint(t.get_args(hint)[0])
        return lambda data: [item(entry) for entry in _checked(data, (list, tuple))]
    if origin is dict:
        value = _quick_hint(t.get_args(hint)[1])
        return lambda data: {str(key): value(entry) for key, entry in _checked(data, dict).items()}
    if dataclasses.is_dataclass(hint):
        return _quick(t.cast(type, hint))
    if hint is t.Any:
        return lambda data: data
    return lambda data: _quick_scalar(hint, data)


def _checked(data: t.Any, kind: t.Any) -> t.Any:
    if not isinstance(data, kind):
        raise _MismatchError
    return data


def _quick_scalar(hint: t.Any, data: t.Any) -> t.Any:
    exact = data.__class__  # a bool is no int here
    if exact is hint:
        return data
    try:
        return _scalar(hint, data, "")
    except FactsError as error:
        raise _MismatchError from error


def load_bundle(data: t.Any) -> Bundle:
    """Build a :class:`Bundle`, refusing a schema that this version does not know."""
    if not isinstance(data, dict):
        raise FactsError("evidence: expected a JSON object")
    if data.get("schema") != SCHEMA:
        raise FactsError(f"evidence: schema {data.get('schema')!r} is not {SCHEMA}, which this version reads")
    return from_plain(Bundle, data, "evidence")
