# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read on a compute host, and how facts become plain data and come back. The words are explained in facts.py.

It is a file of its own since it is sent to every host and compiled there, each time: the other facts are not.

Python 3.9 and the standard library only.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as t

from .deployment_facts import Deployment, Fact

#: Causes of an :class:`Unread` that is no failure: whoever read left the part out on purpose. Evidence keeps them.
NOT_ASKED_FOR = "not-asked-for"
NOT_OPENED = "not-opened"
NO_VOLUME_POOL = "no-volume-pool"
NO_API_DATABASE = "no-api-database"
ONLY_NAMED_CELLS = "only-named-cells"
#: The same in words.
LEFT_OUT: t.Mapping[str, str] = {
    NOT_ASKED_FOR: "not asked for",
    NOT_OPENED: "not opened",
    NO_VOLUME_POOL: "the run has no Ceph pool in which to search for volumes",
    NO_API_DATABASE: "nova_api_db_url is not set",
    ONLY_NAMED_CELLS: "nova_api_db_url is not set: only the databases in nova_cell_db_urls were read",
}


#: How Cinder's driver for Ceph begins the name of an image, before the volume's uuid.
VOLUME = "volume-"


class FactsError(ValueError):
    """An evidence file that cannot be understood: which file or field, and why.

    ``problem``: why, as a key; ``place``: the field, such as C(host.domains); ``line``: that of the file.
    """

    TYPE, FIELD, MISSING = "type", "unknown-field", "missing"
    CUT_OFF, JSON, TWICE, KIND, ORDER, END, MORE = "cut-off", "json", "twice", "unknown-kind", "order", "end", "more"
    OLD, NO_EVIDENCE, SCHEMA, CHANGED, NUMBER = "old", "no-evidence", "schema", "changed", "number"
    UNREADABLE, OTHER_HOST, BOTH, NOTHING = "unreadable", "other-host", "both", "nothing"

    def __init__(self, message: str, problem: str = "", place: str = "", line: t.Optional[int] = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.place = place
        self.line = line


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Unread(Fact):
    """A part of the evidence that could not be read.

    ``part`` is a dotted name below its owner, such as ``libvirt.domains``; ``reason`` is what the system answered, for
    people. ``cause``: the key of :data:`LEFT_OUT` for what was left out on purpose; None, or any other word: a failure.
    """

    part: str
    reason: str
    cause: t.Optional[str] = None


def left_out(part: str, cause: str) -> Unread:
    """Return that a part was left out on purpose, and why."""
    return Unread(part, LEFT_OUT[cause], cause)


# --- read on a compute host -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ComputeIdFile(Fact):
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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FileLine(Fact):
    """One line of a file, as it stands there (without its end of line); ``number`` counts from 1."""

    path: str
    number: int
    text: str


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NovaConf(Fact):
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
    #: libvirt's secret with the key of ``rbd_user``; None: unset, or unread.
    rbd_secret_uuid: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LeftDirectory(Fact):
    """A directory of an instance that no domain of the host stands behind: what a move may have left."""

    uuid: str
    #: Its name in instances_path: C(UUID), C(UUID_resize) or C(UUID_del) (virt/libvirt/driver.py).
    name: str
    #: Inode and time of the last change, in nanoseconds: tell another directory of this name.
    inode: int
    changed_ns: int
    #: What else than logs and libvirt.xml is in it, as paths: a disk, its backing file, NVRAM, state of a vTPM.
    keeps: t.List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class InstanceDisk(Fact):
    """A file from which Nova starts an instance. ``name``: C(disk), C(disk.local), C(disk.eph0), C(disk.swap)."""

    uuid: str
    name: str
    inode: int
    #: As Nova's C(disk.info) beside it says for this very path; None: it does not.
    format: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class InstancesPath(Fact):
    """What is left in instances_path, and what is there where other hosts may have it, too."""

    #: As the host has it: in a container nova-compute sees it elsewhere.
    path: str
    #: The kind of its file system, as the kernel calls it, and whether no other host can have it mounted.
    filesystem: str
    local: bool
    left: t.List[LeftDirectory] = dataclasses.field(default_factory=list)
    #: Hosts that use it, each with the Unix time of its last word: C(compute_nodes), where each nova-compute signs with
    #: its passes of the image cache (virt/storage_users.py). None: nobody has, or it was not read.
    users: t.Optional[t.Dict[str, int]] = None
    #: Whether this host's NFS server lets others mount it.
    exported: bool = False
    #: Disks of the instances that were asked for. Neither is read where none was, or no other host can have them.
    disks: t.Optional[t.List[InstanceDisk]] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StartFacts(Fact):
    """What a start of nova-compute looks at besides, and may refuse by (C(hazards/start_rules.py)).

    A part that is None was not read, or nothing needs it.
    """

    #: Each option of C(start_options.WATCHED) that is set, as C([section] option): its values. No value: it is set, and
    #: to what could not be told.
    options: t.Dict[str, t.List[str]]
    #: Files of C([compute] provider_config_location) that nova-compute would read.
    provider_configs: t.Optional[t.List[str]] = None
    #: CPUs of C([compute] cpu_dedicated_set), where Nova manages their power: their governor, empty where they have
    #: none; or C(offline), or C(missing).
    cores: t.Optional[t.Dict[str, str]] = None
    #: Where C([libvirt] swtpm_enabled) is set: whether there is what it needs: libvirt, program, user, group.
    vtpm: t.Optional[t.Dict[str, bool]] = None
    #: Address and port of each broker of C(transport_url): empty where it took a connection from here, else why not.
    brokers: t.Optional[t.Dict[str, str]] = None
    #: Why a part was not read. They are no parts of the host: nothing but the forecast needs them.
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DomainDisk(Fact):
    """A disk of a domain: target device and source."""

    target: str
    #: ``pool/image`` for RBD, a path for files and block devices.
    source: t.Optional[str]
    protocol: t.Optional[str] = None
    serial: t.Optional[str] = None

    @property
    def ceph_volume(self) -> t.Optional[t.Tuple[str, str]]:
        """Return pool and image of a volume of Cinder's in Ceph; None: it is none."""
        pool, _slash, image = (self.source or "").partition("/")
        return (pool, image) if self.protocol == "rbd" and image.startswith(VOLUME) else None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DomainInterface(Fact):
    """A network interface of a domain."""

    mac: t.Optional[str]
    target: t.Optional[str]
    type: str
    source: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CephAuth(Fact):
    """As which Ceph user a domain opens disks. ``secret``: the uuid of libvirt's secret that has the user's key."""

    secret: str
    user: t.Optional[str]
    #: Whether one of these disks is a volume of Cinder's, whose user and secret Cinder chooses.
    volume: bool


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DomainTies(Fact):
    """What a domain needs of any host on which it runs, beside memory, disks and networks."""

    arch: t.Optional[str]
    #: Type of the domain: ``kvm`` or ``qemu``.
    virt: str
    #: SHA-256 of its CPU, under which :attr:`HostFacts.guest_cpus` has it; None: it has none, or no model of its own.
    cpu: t.Optional[str]
    #: Path of its UEFI firmware; None: it has none.
    firmware: t.Optional[str]
    ceph: t.List[CephAuth]
    #: Devices of the host that Nova did not give it: no live migration takes them along.
    devices: t.List[str]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Domain(Fact):
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
    #: This and what follows was not read by older versions: None. Whether libvirt keeps the guest's memory in a file
    #: from which its next start goes on (C(virsh managedsave), Nova's suspend, libvirt-guests at a shutdown).
    managed_save: t.Optional[bool] = None
    #: Whether libvirt starts it whenever libvirt itself starts.
    autostart: t.Optional[bool] = None
    #: Snapshots and checkpoints of which libvirt keeps metadata: with any, it refuses to undefine the domain.
    snapshots: t.Optional[int] = None
    ties: t.Optional[DomainTies] = None
    #: Nova's words for how its CPUs are pinned, as far as the XML tells: shared, dedicated, mixed, or empty: it may be
    #: any. None: unread.
    cpu_policy: t.Optional[str] = None
    #: Whether it has an emulated TPM, and whether its memory is encrypted; None: unread.
    vtpm: t.Optional[bool] = None
    encrypted: t.Optional[bool] = None
    #: Whether libvirt has a job of it in progress, such as a migration; None: unread, or not active.
    job: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Device(Fact):
    """A device of a guest's definition. ``identity``: what it is the same device by, whatever its place."""

    #: Name of its element: disk, interface, controller, hostdev, ...
    kind: str
    identity: str
    #: Where the guest finds it, such as ``pci 0000:00:03.0``; None: nowhere of its own.
    address: t.Optional[str]
    #: Target device and bus of a disk, model of an interface or controller.
    what: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Definition(Fact):
    """What a guest is made of, without secrets. Devices in the order of the XML."""

    #: SHA-256 of the normalised XML, under which it is kept.
    sha256: str
    machine_type: t.Optional[str]
    #: Mode, model and features in one line.
    cpu: str
    devices: t.List[Device]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GuestDefinition(Fact):
    """A guest's definitions: what runs, and what its next start through libvirt would take."""

    uuid: str
    name: str
    read_at: str
    #: None: it does not run.
    live: t.Optional[Definition]
    #: None: it is transient.
    inactive: t.Optional[Definition]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Libvirt(Fact):
    """What libvirt says of itself. ``hostname`` is what Nova's driver takes for ``hypervisor_hostname``."""

    uri: str
    version: str
    hostname: str
    #: Host UUID from capabilities: not Nova's node identity.
    host_uuid: t.Optional[str]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LibvirtOffers(Fact):
    """What libvirt on a host can run. Each part that is None was not read; ``unread`` of the host says why."""

    #: Version of QEMU.
    hypervisor: t.Optional[str]
    #: Architecture to names of machine types, aliases among them; of the host's own and of its guests' architectures.
    machines: t.Optional[t.Dict[str, t.List[str]]]
    #: The host's CPU as XML, without what differs between two equal ones (microcode, frequency, topology).
    cpu: t.Optional[str]
    #: Paths of UEFI firmware; None: not asked for, or unread.
    firmware: t.Optional[t.List[str]]
    #: Uuids of libvirt's secrets, never their values.
    secrets: t.Optional[t.List[str]]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HugePages(Fact):
    """Huge pages of one size: counts of pages."""

    size_kib: int
    total: int
    free: int
    numa_node: t.Optional[int] = None
    #: Free ones that are promised already but not yet touched. The kernel counts them for the whole host only, so
    #: every NUMA node's entry has the host's number.
    reserved: int = 0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Memory(Fact):
    """Real memory of a host, MiB, from /proc/meminfo."""

    total_mib: int
    available_mib: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Unit(Fact):
    """A systemd unit. States are systemd's own words. They prove little: see facts about nova-compute's exits."""

    name: str
    load_state: str
    active_state: str
    sub_state: str
    unit_file_state: str
    fragment_path: t.Optional[str]
    #: True where a start of it would be refused (masked, or stopped by an assertion of ours).
    blocked: bool = False


#: The service of a :class:`NameSpace` that not every compute host has.
NEUTRON_AGENT = "neutron agent"
#: Kinds of a :class:`NameSpace`.
PROCESS, CONTAINER, UNIT, NOT_RUNNING = "process", "container", "unit", "not-running"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NameSpace(Fact):
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
    #: What ``what`` is: one of PROCESS, CONTAINER, UNIT and NOT_RUNNING. None: of an earlier version.
    kind: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Resident(Fact):
    """A kind of service on a compute host that goes by the host's name, and what gave it away."""

    kind: str
    seen: t.List[str]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Certificate(Fact):
    """A certificate file's first certificate, as PEM."""

    path: str
    pem: str


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NameUsers(Fact):
    """What else on a compute host goes by its name. A part that is None was not read; ``unread`` says why."""

    residents: t.Optional[t.List[Resident]]
    #: Options of nova-compute whose values contain a name of the host, without the values.
    options: t.Optional[t.List[str]]
    #: What cloud-init knows of the host's name; empty: it is not here, or switched off.
    cloud_init: t.Optional[t.Dict[str, str]]
    certificates: t.Optional[t.List[Certificate]]
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rehearsal(Fact):
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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Resolution(Fact):
    """What a name resolves to *on this host*, through its own resolver (files, DNS)."""

    name: str
    addresses: t.List[str]
    #: Canonical name (AI_CANONNAME): libvirt's virGetHostname() takes it.
    canonical: t.Optional[str]
    error: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HostsLine(Fact):
    """A line of /etc/hosts with at least one name: its number (from 1), address and names."""

    number: int
    address: str
    names: t.List[str]
    #: The line as it stands, without its end of line: what a guarded edit compares with.
    text: str


# --- Ceph, as one compute host sees it


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdWatcher(Fact):
    """A client that has an image open for writing. ``address`` is Ceph's: ``IP:PORT/NONCE``."""

    address: str
    client: t.Optional[str] = None
    cookie: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdLock(Fact):
    """A lock on an image. It outlives its holder: a dead host's locks stay until somebody breaks them."""

    address: t.Optional[str] = None
    cookie: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdSnapshot(Fact):
    """A snapshot of an image, of the user namespace. ``size`` is in bytes."""

    name: str
    size: t.Optional[int] = None
    protected: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdImage(Fact):
    """One image of a pool. ``size`` is in bytes. Each part that is None was not read; ``unread`` says why."""

    name: str
    #: Ceph's own id: an image made anew under the same name has another one.
    id: t.Optional[str] = None
    size: t.Optional[int] = None
    snapshots: t.Optional[t.List[RbdSnapshot]] = None
    watchers: t.Optional[t.List[RbdWatcher]] = None
    locks: t.Optional[t.List[RbdLock]] = None
    unread: t.List[Unread] = dataclasses.field(default_factory=list)
    #: Whether the image has the feature exclusive-lock; False: no client locks it.
    exclusive_lock: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BlocklistEntry(Fact):
    """A client that the OSDs refuse. ``address``: ``IP:PORT/NONCE``, ``IP:0/0`` for all clients of an address.

    ``range``: all clients of a network are refused, which is written as ``IP:0/BITS``.
    """

    address: str
    until: t.Optional[str] = None
    range: bool = False


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CephRights(Fact):
    """Whether the Ceph user may add to the OSD blocklist, and remove from it; None: not known.

    ``reason``: Ceph's own words, where either is not True.
    """

    add: t.Optional[bool] = None
    remove: t.Optional[bool] = None
    reason: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdVolume(Fact):
    """The image ``volume-UUID`` of a volume, and the pool in which it was seen."""

    pool: str
    image: RbdImage


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RbdFacts(Fact):
    """What a compute host sees in the pool that its own nova.conf names, with its own Ceph configuration.

    Of a host with local disks: ``pool`` is one of Cinder's, and ``images`` is empty, since it has no images in Ceph.
    """

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
    #: Of the user by which all of this was read; None: not asked for.
    rights: t.Optional[CephRights] = None
    #: Of the user in nova.conf, as which QEMU opens images; None: it is the same user, or not asked for.
    nova_rights: t.Optional[CephRights] = None
    #: Volumes that were asked for and found; None: not asked for, or no pool could be read. Each pool that could not
    #: be read is in ``unread`` as ``volumes POOL``.
    volumes: t.Optional[t.List[RbdVolume]] = None
    #: True: as Nova's own user, an object was written, read back and removed. None: not asked for, or it failed, and
    #: then ``unread`` says why.
    written: t.Optional[bool] = None

    @property
    def infrastructure_unread(self) -> t.List[Unread]:
        """The parts of the infrastructure that could not be read: ``infrastructure mgr dump`` and the like."""
        return [entry for entry in self.unread if entry.part.split(" ")[0] == "infrastructure"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OpenOperation(Fact):
    """A journal of an unfinished run, found on the host."""

    operation_id: str
    kind: str
    state: str
    started_at: str
    subject: str


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class UnknownJournal(Fact):
    """A file among the open journals that this version of the collection does not understand.

    What of it could not be read is None.
    """

    path: str
    #: Why this version does not understand it.
    reason: str
    #: Which version of the collection ends its operation.
    finish_with: str
    kind: t.Optional[str] = None
    operation_id: t.Optional[str] = None
    schema: t.Optional[str] = None
    #: Of the collection that wrote it.
    version: t.Optional[str] = None
    #: What Nova calls the host that it is about.
    host: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OperationRecord(Fact):
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
    #: Why its operator let a host return though RabbitMQ was not read (SG329); None: it was read, or not asked.
    requests_passed: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HostFacts(Fact):
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
    #: Units looked for that exist here: nova-compute, L2 agents and libvirt-guests.
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
    #: Version of Open vSwitch, where it is installed; None: it could not be told.
    ovs_version: t.Optional[str] = None
    #: Only before a rename.
    rehearsal: t.Optional[Rehearsal] = None
    #: None: unread, or evidence of an earlier version.
    deployment: t.Optional[Deployment] = None
    #: What libvirt-guests does at boot with the guests that ran at the last shutdown: its ON_BOOT; None as above.
    guests_on_boot: t.Optional[str] = None
    #: Files among the open journals on the host that this version of the collection does not understand.
    unknown_journals: t.List[UnknownJournal] = dataclasses.field(default_factory=list)
    #: None: unread, or evidence of an earlier version.
    instances_path: t.Optional[InstancesPath] = None
    offers: t.Optional[LibvirtOffers] = None
    #: The CPUs of the host's guests as XML, each once, by SHA-256.
    guest_cpus: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    start: t.Optional[StartFacts] = None
    #: Release of the kernel that runs, and how many CPUs it uses. None: unread, or evidence of an earlier version.
    kernel_release: t.Optional[str] = None
    cpus: t.Optional[int] = None


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
    if names is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    # What is read again whenever it is looked at (records/evidence_file.py).
    if isinstance(value, collections.abc.Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes)):
        return [to_plain(item) for item in value]
    return value


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


def prepare(cls: t.Type[t.Any]) -> None:
    """Make now what :func:`from_plain` builds a class by: processes that are forked later have it."""
    _quick(cls)


def _from_plain(cls: t.Type[_T], data: t.Any, where: str) -> _T:
    where = where or cls.__name__
    if not isinstance(data, dict):
        raise FactsError(f"{where}: expected an object, found {type(data).__name__}", FactsError.TYPE, where)
    hints = _hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise FactsError(f"{where}: unknown field {unknown[0]!r}", FactsError.FIELD, f"{where}.{unknown[0]}")
    values = {}
    for field in dataclasses.fields(t.cast(t.Any, cls)):
        place = f"{where}.{field.name}"
        if field.name in data:
            values[field.name] = _convert(hints[field.name], data[field.name], place)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise FactsError(f"{place}: missing", FactsError.MISSING, place)
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
            raise FactsError(f"{where}: expected a list, found {type(data).__name__}", FactsError.TYPE, where)
        (item_hint,) = t.get_args(hint)
        return [_convert(item_hint, item, f"{where}[{index}]") for index, item in enumerate(data)]
    if origin is dict:
        if not isinstance(data, dict):
            raise FactsError(f"{where}: expected an object, found {type(data).__name__}", FactsError.TYPE, where)
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
    said = f"{where}: expected {getattr(hint, '__name__', hint)}, found {type(data).__name__}"
    raise FactsError(said, FactsError.TYPE, where)


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
    # What is taken as it is, by its exact class (a bool is no int here), and what converts anything else.
    exact = {name: _as_it_is(hint) for name, hint in _hints(cls).items()}
    converters = {name: _quick_hint(hint) for name, hint in _hints(cls).items()}

    def convert(data: t.Any) -> t.Any:
        if not isinstance(data, dict):
            raise _MismatchError
        values = dict(data)
        try:
            for name, value in data.items():
                if value.__class__ not in exact[name]:
                    values[name] = converters[name](value)
            return cls(**values)
        except (KeyError, TypeError) as error:
            # An unknown field, or one that is missing.
            raise _MismatchError from error

    return convert


def _as_it_is(hint: t.Any) -> t.FrozenSet[type]:
    kinds = t.get_args(hint) if t.get_origin(hint) is t.Union else (hint,)
    return frozenset(kind for kind in kinds if kind in _SCALARS)


def _quick_hint(hint: t.Any) -> _Converter:
    origin = t.get_origin(hint)
    if origin is t.Union:
        inner = _quick_hint(next(arg for arg in t.get_args(hint) if arg is not _NONE))
        return lambda data: None if data is None else inner(data)
    if origin is list:
        item = _quick_hint(t.get_args(hint)[0])
        return lambda data: list(map(item, _checked(data, (list, tuple))))
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
