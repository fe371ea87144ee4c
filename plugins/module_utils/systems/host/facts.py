# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads everything about one compute host in one go: :func:`read_host`.

Every part is read by itself. A part that cannot be read is None and leaves an :class:`Unread` with the reason; no
part's failure touches another, and none is ever taken for "there is none".
"""

from __future__ import annotations

import dataclasses
import datetime
import glob
import ipaddress
import json
import os
import re
import socket
import typing as t

from ...model.deployment_facts import Deployment
from ...model.host_facts import (
    ComputeIdFile,
    Domain,
    GuestDefinition,
    HostFacts,
    HostsLine,
    HugePages,
    InstancesPath,
    Libvirt,
    Memory,
    NameUsers,
    NovaConf,
    OpenOperation,
    RbdFacts,
    Resolution,
    Unit,
    UnknownJournal,
)
from ...records import journal_read
from . import (
    commands,
    compute_id,
    deployment,
    instance_dirs,
    libvirt,
    name_spaces,
    network_agent,
    nova_compute,
    processes,
    start_checks,
    units,
)
from . import names as host_names
from .reading import (
    HostError,
    Parts,
    ReadError,
    side_by_side,
)

COMPUTE_UNITS = ("nova-compute", "openstack-nova-compute", "devstack@n-cpu")
AGENT_UNITS = (
    "neutron-openvswitch-agent",
    "neutron-linuxbridge-agent",
    "neutron-sriov-nic-agent",
    "neutron-macvtap-agent",
    "neutron-ovn-metadata-agent",
    "neutron-ovn-agent",
    "neutron-dhcp-agent",
    "neutron-l3-agent",
    "neutron-metadata-agent",
    "devstack@q-agt",
    "devstack@q-ovn-agent",
)
#: Writes the machine's name into Open vSwitch at boot, over what is there (Open vSwitch 3.1).
OVS_RECORD_HOSTNAME = "ovs-record-hostname"
#: Starts at boot the guests that ran at the last shutdown, before anybody can ask where their servers are.
LIBVIRT_GUESTS = "libvirt-guests"
STATE_DIR = "/var/lib/stackguard"
_PATIENCE = 30


@dataclasses.dataclass(frozen=True)
class HostOptions:
    """What the operator may say about where to look."""

    inventory_name: str
    nova_conf_files: t.Tuple[str, ...] = ()
    nova_config_dirs: t.Tuple[str, ...] = ()
    libvirt_uri: str = "qemu:///system"
    resolve_names: t.Tuple[str, ...] = ()
    state_dir: str = STATE_DIR
    compute_units: t.Tuple[str, ...] = COMPUTE_UNITS
    agent_units: t.Tuple[str, ...] = AGENT_UNITS
    #: Whether Ceph is asked at all; for which instances' disks (empty: all of the pool), and for the blocklist.
    rbd: bool = False
    rbd_instances: t.Tuple[str, ...] = ()
    rbd_blocklist: bool = False
    #: False: images are listed by name only. Details: what a fence by the blocklist needs. Volumes, and where they are.
    rbd_open: bool = True
    rbd_details: bool = False
    #: Whether a write is tried.
    rbd_write: bool = False
    rbd_volumes: t.Tuple[str, ...] = ()
    rbd_volume_pools: t.Tuple[str, ...] = ()
    #: Instead of what nova.conf says; words put before rbd and ceph.
    rbd_user: t.Optional[str] = None
    rbd_conf: t.Optional[str] = None
    ceph_command: t.Tuple[str, ...] = ()
    #: Whether the guests' definitions are read.
    definitions: bool = False
    #: Whether to look for what else goes by the host's name.
    name_users: bool = False
    #: Whether libvirt is asked for UEFI firmware, which it tells only on a connection for writing.
    firmware: bool = False

    @classmethod
    def of(cls, given: t.Mapping[str, t.Any]) -> HostOptions:
        """Return them as the options of a module say, which have the same names; others of its options are left."""
        names = {field.name for field in dataclasses.fields(cls)}
        known: t.Dict[str, t.Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items() if name in names
        }
        return cls(**{**known, "inventory_name": given["inventory_name"] or "localhost"})


def read_host(options: HostOptions, texts: t.Optional[t.Dict[str, str]] = None) -> HostFacts:
    """Return all facts of this host. Never raises for a part that cannot be read.

    ``texts``: takes each guest's XML by its SHA-256, where definitions are read.
    """
    parts = Parts()
    read_at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    systemctl = units.AskedOnce([*_named(options), *name_spaces.LIBVIRT_UNITS])
    seen = processes.table()
    service = nova_compute.find_service("nova-compute", options.compute_units, systemctl, seen)
    conf, nova = _nova(parts, options, service)
    about = parts.read("libvirt", lambda: libvirt.read_identity(options.libvirt_uri))
    kernel = host_names.kernel_name()
    # Before the compute_id files: it says where those of a container are.
    deployed = parts.read("deployment", lambda: _deployment(nova, seen))
    files = parts.read("compute_id_files", lambda: _identities(conf, nova, service, deployed))
    agent = parts.read("neutron_host", lambda: network_agent.agent_host(options.agent_units, systemctl)) or (None, [])
    external = parts.read("ovs_external_ids", lambda: host_names.ovs_external_ids(seen))
    cpus: t.Dict[str, str] = {}
    domains = parts.read("domains", lambda: libvirt.read_domains(options.libvirt_uri, cpus=cpus))
    arches = {domain.ties.arch for domain in domains or [] if domain.ties is not None and domain.ties.arch}
    offers = parts.read("offers", lambda: libvirt.read_offers(options.libvirt_uri, arches, parts, options.firmware))
    # A daemon of libvirt's may have been started by asking it, and guests come and go meanwhile.
    later = processes.table() if libvirt.asked() else seen
    operations, unknown = parts.read("open_operations", lambda: open_operations(options.state_dir)) or (None, [])
    return HostFacts(
        inventory_name=options.inventory_name,
        read_at=read_at,
        kernel_hostname=kernel,
        static_hostname=parts.read("static_hostname", host_names.static_name),
        fqdn=parts.read("fqdn", lambda: resolve(kernel).canonical),
        addresses=parts.read("addresses", addresses),
        machine_id=parts.read("machine_id", lambda: _text("/etc/machine-id")),
        dmi_uuid=parts.read("dmi_uuid", dmi_uuid),
        compute_id_files=files,
        nova_conf=nova,
        libvirt=about,
        domains=domains,
        memory=parts.read("memory", memory),
        hugepages=parts.read("hugepages", hugepages),
        units=parts.read("units", lambda: _units(options, deployed, systemctl)),
        resolutions=parts.read("resolutions", lambda: _resolutions(options, kernel, nova, about)),
        etc_hosts=parts.read("etc_hosts", etc_hosts),
        ovs_external_ids=external,
        ovs_version=parts.read("ovs_version", host_names.ovs_version) if external is not None else None,
        open_operations=operations,
        nova_version=parts.read("nova_version", lambda: nova_compute.nova_version(service)),
        neutron_host=agent[0],
        neutron_host_lines=agent[1],
        rbd=parts.read("rbd", lambda: _rbd(options, nova, service)) if options.rbd else None,
        unread=parts.unread,
        definitions=parts.read("definitions", lambda: _definitions(options, read_at, texts))
        if options.definitions
        else None,
        qemu_processes=parts.read("qemu_processes", lambda: qemu_processes(later)),
        boot_id=parts.read("boot_id", lambda: _text("/proc/sys/kernel/random/boot_id")),
        name_users=parts.read("name_users", lambda: _name_users(kernel, conf, nova, about))
        if options.name_users
        else None,
        name_spaces=parts.read(
            "name_spaces", lambda: name_spaces.read(options.compute_units, systemctl=systemctl, seen=later)
        ),
        deployment=None if deployed is None else _with_immutable(parts, deployed, files or []),
        guests_on_boot=parts.read("guests_on_boot", libvirt.guests_on_boot),
        unknown_journals=unknown,
        instances_path=parts.read(
            "instances_path", lambda: _instances_path(conf, nova, deployed, domains, options.rbd_instances)
        ),
        offers=offers,
        guest_cpus=cpus,
        start=None if conf is None else start_checks.read(conf, service, options.libvirt_uri),
        kernel_release=os.uname().release,
        cpus=os.cpu_count(),
    )


def _instances_path(
    conf: t.Optional[nova_compute.ServiceConfig],
    nova: t.Optional[NovaConf],
    deployed: t.Optional[Deployment],
    domains: t.Optional[t.Sequence[Domain]],
    wanted: t.Sequence[str],
) -> InstancesPath:
    missing = [name for name, part in (("nova.conf", nova), ("the deployment", deployed)) if part is None]
    if domains is None:
        missing.append("the domains")
    if conf is None or nova is None or deployed is None or domains is None:
        raise ReadError(f"not read: {', '.join(missing or ['nova.conf'])}")
    contained = [process.pid for process in deployed.compute if process.engine is not None]
    stopped = [unit.name for unit in deployed.units if unit.engine is not None and "nova" in unit.name]
    if stopped and not deployed.compute and not conf.kolla:
        raise ReadError(f"nova-compute's container is stopped ({stopped[0]}): its instances_path is not known")
    path = instance_dirs.place_of(
        nova.instances_path, nova.state_path, contained[0] if contained else None, bool(conf.kolla)
    )
    uuids = {domain.uuid for domain in domains}
    return instance_dirs.read(path, uuids, wanted=wanted, inside=nova.instances_path)


def _identities(
    conf: t.Optional[nova_compute.ServiceConfig],
    nova: t.Optional[NovaConf],
    service: nova_compute.Service,
    deployed: t.Optional[Deployment],
) -> t.List[ComputeIdFile]:
    volume = deployed.folders.get(nova.state_path) if deployed is not None and nova is not None else None
    return compute_id.compute_id_files(conf, nova, compute_id.reader_of(service), volume)


def _deployment(nova: t.Optional[NovaConf], seen: processes.Table) -> Deployment:
    return deployment.read(nova.files if nova else (), nova.state_path if nova else None, seen=seen)


def _with_immutable(parts: Parts, deployed: Deployment, files: t.Sequence[ComputeIdFile]) -> t.Optional[Deployment]:
    paths = [entry.path for entry in files if entry.exists]
    found = parts.read("deployment", lambda: [path for path in paths if deployment.is_immutable(path)])
    return None if found is None else dataclasses.replace(deployed, immutable=found)


def qemu_processes(seen: t.Optional[processes.Table] = None) -> t.Dict[str, int]:
    """Return domain uuid to the first QEMU that runs here for it: of the kernel, where libvirt is silent too."""
    return {uuid: min(pids) for uuid, pids in processes.qemu_by_uuid(seen=seen).items()}


def _definitions(options: HostOptions, read_at: str, texts: t.Optional[t.Dict[str, str]]) -> t.List[GuestDefinition]:
    found, written = libvirt.read_definitions(options.libvirt_uri, read_at)
    if texts is not None:
        texts.update(written)
    return found


def _nova(
    parts: Parts, options: HostOptions, service: nova_compute.Service
) -> t.Tuple[t.Optional[nova_compute.ServiceConfig], t.Optional[NovaConf]]:
    def read() -> t.Tuple[nova_compute.ServiceConfig, NovaConf]:
        loaded = nova_compute.load(options.nova_conf_files, options.nova_config_dirs, service)
        return loaded, nova_compute.nova_facts(loaded, service)

    conf, nova = parts.read("nova_conf", read) or (None, None)
    if conf is not None:
        nova_compute.note_odd_options(parts, conf)
    return conf, nova


def _name_users(
    kernel: str,
    conf: t.Optional[nova_compute.ServiceConfig],
    nova: t.Optional[NovaConf],
    about: t.Optional[Libvirt],
) -> NameUsers:
    # Only before a rename: an audit does not compile it.
    from . import name_users

    own = [kernel, host_names.static_name(), nova.host if nova else None, about.hostname if about else None]
    names = [name for name in own if name]
    both = dict.fromkeys([*names, *(name.split(".", 1)[0] for name in names)])
    return name_users.read(list(both), conf.config if conf else None)


def _rbd(options: HostOptions, nova: t.Optional[NovaConf], service: nova_compute.Service) -> RbdFacts:
    # The largest file that is sent: only hosts that are asked for Ceph compile it.
    from ..ceph import places, rbd

    if nova is None:
        raise ReadError("nova.conf was not read, so the pool is not known")
    images = nova.images_type == "rbd" and bool(nova.images_rbd_pool)
    pools = [str(nova.images_rbd_pool)] if images else list(options.rbd_volume_pools)
    if not pools:
        raise ReadError(f"images_type is {nova.images_type}, so this host has no disks in Ceph")
    more = rbd.ReadOptions(options.rbd_open, options.rbd_details, options.rbd_volumes, options.rbd_volume_pools, images)

    def read(pool: str) -> RbdFacts:
        where = places.options(nova, service, pool, options.rbd_user, options.rbd_conf, options.ceph_command)
        return rbd.read_rbd(where, options.rbd_instances, options.rbd_blocklist, more)

    found = _first(read, pools)

    def own() -> rbd.RbdOptions:
        # QEMU opens the images as the user in nova.conf, whoever looks at them here.
        return places.options(nova, service, found.pool, None, options.rbd_conf, options.ceph_command)

    if options.rbd_write and images:
        parts = Parts()
        written = parts.read("written", lambda: rbd.write_probe(own()))
        found = dataclasses.replace(found, written=written, unread=[*found.unread, *parts.unread])
    if not options.rbd_details or options.rbd_user in (None, nova.rbd_user):
        return found
    return dataclasses.replace(found, nova_rights=rbd.rights_of(own()))


def _first(read: t.Callable[[str], RbdFacts], pools: t.Sequence[str]) -> RbdFacts:
    """Return what the first pool that can be opened shows. Raises what the last one said."""
    for pool in pools[:-1]:
        try:
            return read(pool)
        except HostError:
            continue
    return read(pools[-1])


# --- the host itself --------------------------------------------------------------------------------------------


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        text = stream.read().strip()
    if not text:
        raise ReadError(f"{path} is empty")
    return text


def dmi_uuid(classes: str = "/sys/class") -> str:
    """Return the machine's uuid as its firmware says, in lower case; an empty string: this machine has no DMI.

    The kernel makes the directory wherever there are DMI tables (drivers/firmware/dmi-id.c): none on s390x, on arm64
    without SMBIOS, in some containers. Raises OSError and ReadError where it is there and unreadable, or where sysfs
    is not mounted, so that nothing is known.
    """
    if not os.listdir(classes):
        raise ReadError(f"{classes} is empty. Check that sysfs is mounted", problem="no-numa-nodes")
    if not os.path.lexists(os.path.join(classes, "dmi")):
        return ""
    return _text(os.path.join(classes, "dmi", "id", "product_uuid")).lower()


def addresses() -> t.List[str]:
    """Return the addresses of all interfaces: all but loopback and IPv6 link-local ones.

    What is put on the interface C(lo) for routing counts.
    """
    done = commands.run(["ip", "-json", "address", "show"], _PATIENCE)
    if done.returncode:
        raise ReadError(f"ip -json address show: {done.stderr.decode('utf-8', 'replace').strip()}", problem="ip-failed")
    found = [
        str(entry["local"])
        for interface in json.loads(done.stdout or b"[]")
        for entry in interface.get("addr_info", [])
        if "local" in entry
    ]
    return [address for address in dict.fromkeys(found) if not _of_no_use(ipaddress.ip_address(address))]


def _of_no_use(address: t.Any) -> bool:
    # Every tap of a guest has a link-local IPv6 address; no name resolves to one.
    return bool(address.is_loopback or (address.version == 6 and address.is_link_local))


def memory(path: str = "/proc/meminfo") -> Memory:
    """Return real memory, MiB."""
    with open(path, encoding="ascii") as stream:
        sizes = {key: value for key, _sign, value in (line.partition(":") for line in stream)}
    return Memory(*(int(sizes[name].split()[0]) // 1024 for name in ("MemTotal", "MemAvailable")))


def hugepages(root: str = "/sys") -> t.List[HugePages]:
    """Return huge pages by size, for each NUMA node where the kernel tells them apart."""
    result = []
    whole = sorted(glob.glob(f"{root}/kernel/mm/hugepages/hugepages-*kB"))
    # Pages that a process has been promised and not yet touched still count as free; only the whole host's are told.
    promised = {os.path.basename(folder): int(_text(os.path.join(folder, "resv_hugepages"))) for folder in whole}
    for folder in sorted(glob.glob(f"{root}/devices/system/node/node[0-9]*/hugepages/hugepages-*kB")):
        match = re.search(r"/node/node(\d+)/", folder)
        node = int(match.group(1)) if match else None
        result.append(_hugepages(folder, node, promised.get(os.path.basename(folder), 0)))
    return result or [_hugepages(folder, None, promised[os.path.basename(folder)]) for folder in whole]


def _hugepages(folder: str, node: t.Optional[int], reserved: int) -> HugePages:
    size = int(os.path.basename(folder)[len("hugepages-") : -len("kB")])
    total, free = (int(_text(os.path.join(folder, name))) for name in ("nr_hugepages", "free_hugepages"))
    return HugePages(size, total, free, node, reserved)


def etc_hosts(path: str = "/etc/hosts") -> t.List[HostsLine]:
    """Return the lines with an address and at least one name."""
    result = []
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        for number, raw in enumerate(stream, 1):
            text = raw.rstrip("\r\n")
            words = text.split("#", 1)[0].split()
            if len(words) > 1:
                # What is not UTF-8 cannot travel as JSON; a guarded edit of such a line fails, as it should.
                shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                names = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in words[1:]]
                result.append(HostsLine(number, words[0], names, shown))
    return result


def resolve(name: str) -> Resolution:
    """Ask this host's own resolver for a name."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    except (OSError, UnicodeError) as error:
        return Resolution(name, [], None, str(error))
    canonical = next((entry[3] for entry in found if entry[3]), None)
    return Resolution(name, list(dict.fromkeys(str(entry[4][0]) for entry in found)), canonical)


def _resolutions(
    options: HostOptions, kernel: str, nova: t.Optional[NovaConf], about: t.Optional[Libvirt]
) -> t.List[Resolution]:
    """Resolve the names asked for and this host's own, side by side: an unreachable name server takes its time."""
    own = [kernel, nova.host if nova else None, about.hostname if about else None]
    names = list(dict.fromkeys(name for name in [*options.resolve_names, *own] if name))
    return side_by_side(resolve, names)


def open_operations(state_dir: str) -> t.Tuple[t.List[OpenOperation], t.List[UnknownJournal]]:
    """Return the unfinished operations on this host, and the journals that this version does not understand."""
    journals, unknown = journal_read.survey(state_dir)
    return [
        OpenOperation(
            str(entry["operation_id"]),
            str(entry["kind"]),
            str(entry["state"]),
            str(entry.get("started_at", "")),
            str(entry.get("subject", "")),
        )
        for entry in journals
    ], unknown


def _named(options: HostOptions) -> t.List[str]:
    return [*options.compute_units, *options.agent_units, OVS_RECORD_HOSTNAME, LIBVIRT_GUESTS]


def _units(options: HostOptions, deployed: t.Optional[Deployment], systemctl: units.Systemctl) -> t.List[Unit]:
    """Read the units by their usual names, and those that a deployment tool has made for containers."""
    found = [entry.name for entry in (deployed.units if deployed else ()) if _is_ours(entry.name)]
    named = _named(options)
    known = {units.full_name(name) for name in named}
    return units.read_units([*named, *(name for name in found if name not in known)], options.state_dir, systemctl)


def _is_ours(unit: str) -> bool:
    return bool(re.search(r"nova[_-]compute|neutron|ovn", unit))
