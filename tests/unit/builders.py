# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts for tests: a healthy cloud in which every store agrees, and a fluent way to spoil one piece of it.

``healthy()`` makes it; each method of :class:`Cloud` returns a new one, so a test says only what is different:

    healthy(guests=2).change("instances", uuid=guest(1, 1), task_state="rebooting").bundle

Collections are called as in the facts, with ``api_`` before those of the APIs that the databases have too, and
``neutron_agents`` for neutron's own rows. Those of a host (``domains``, ``units``, ...) want ``host=``.
"""

from __future__ import annotations

import dataclasses
import uuid as uuids

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import (
    DeployedUnit,
    Deployment,
    ServiceProcess,
)
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.catalogue import declared, written

AT = "2026-11-21T06:00:00+00:00"
#: What healthy() renames compute1 to; it resolves to compute1's own address everywhere.
NEW = "renamed1"

#: Collection to where it is in the bundle: "cell", "api", "neutron", "databases", "cloud" or "host".
PLACES = {
    "services": ("cell", "services"),
    "compute_nodes": ("cell", "compute_nodes"),
    "instances": ("cell", "instances"),
    "migrations": ("cell", "migrations"),
    "host_mappings": ("api", "host_mappings"),
    "aggregate_hosts": ("api", "aggregate_hosts"),
    "neutron_agents": ("neutron", "agents"),
    "grants": ("databases", "grants"),
    "api_services": ("cloud", "services"),
    "hypervisors": ("cloud", "hypervisors"),
    "servers": ("cloud", "servers"),
    "aggregates": ("cloud", "aggregates"),
    "providers": ("cloud", "providers"),
    "api_migrations": ("cloud", "migrations"),
    "agents": ("cloud", "agents"),
    "ports": ("cloud", "ports"),
    "compute_id_files": ("host", "compute_id_files"),
    "domains": ("host", "domains"),
    "units": ("host", "units"),
    "resolutions": ("host", "resolutions"),
    "etc_hosts": ("host", "etc_hosts"),
    "open_operations": ("host", "open_operations"),
}

#: Rights that a rename needs, as the reader of the databases probes them.
RIGHTS = {
    kind: tuple((table, ",".join(columns)) for table, columns in written(kind).items())
    for kind in ("cell", "api", "neutron")
}


def name_rows(kind, names):
    """In each table that a place declares, a row of each host that has its name in every column of names."""
    return {
        table: [
            facts.NameRow(
                number,
                {
                    column: name if column in entry.columns else "0"
                    for column in entry.reads
                    if column not in ("id", "deleted")
                },
            )
            for number, name in names.items()
        ]
        for table, entry in declared(kind).items()
    }


def uid(kind, *numbers):
    """A uuid that is the same in every run."""
    return str(uuids.uuid5(uuids.NAMESPACE_URL, f"stackguard:{kind}:{':'.join(map(str, numbers))}"))


def guest(host, number):
    """The uuid of a guest of the host with that number (both from 1)."""
    return uid("instance", host, number)


def node(host):
    """The uuid of a compute node, its resource provider, and the compute_id file."""
    return uid("node", host)


def service(host):
    """The uuid of a compute service."""
    return uid("service", host)


def address(host):
    """The address of a host."""
    return f"192.0.{2 + host // 250}.{host % 250 + 1}"


@dataclasses.dataclass(frozen=True)
class Names:
    """The names of one host, by style: see :data:`STYLES`."""

    inventory: str
    conf: object  # [DEFAULT] host, or None
    kernel: str
    libvirt: str

    @property
    def host(self):
        return self.conf or self.kernel


#: How clouds name their hosts: short everywhere; full everywhere; short with libvirt's full; [DEFAULT] host set to
#: the same; a name of Nova's own, which the host itself does not have.
STYLES = {
    "short": lambda n: Names(f"compute{n}", None, f"compute{n}", f"compute{n}"),
    "full": lambda n: Names(f"compute{n}", None, f"compute{n}.dc1.test", f"compute{n}.dc1.test"),
    "mixed": lambda n: Names(f"compute{n}", None, f"compute{n}", f"compute{n}.dc1.test"),
    "configured": lambda n: Names(f"compute{n}", f"compute{n}", f"compute{n}", f"compute{n}"),
    "own": lambda n: Names(f"compute{n}", f"node-{n}", f"rack7-u{n}", f"rack7-u{n}"),
}


@dataclasses.dataclass(frozen=True)
class Cloud:
    """A bundle, and ways to change one thing of it."""

    bundle: facts.Bundle

    # --- whole parts

    def host(self, inventory_name="compute1", /, **changes):
        """Replace fields of a host's facts."""
        hosts = dict(self.bundle.hosts)
        hosts[inventory_name] = dataclasses.replace(hosts[inventory_name], **changes)
        return self._bundle(hosts=hosts)

    def part(self, name, inventory_name="compute1", /, **changes):
        """Replace fields of a part of a host's facts that is a record, such as ``nova_conf`` or ``libvirt``."""
        record = dataclasses.replace(getattr(self.bundle.hosts[inventory_name], name), **changes)
        return self.host(inventory_name, **{name: record})

    def unreachable(self, inventory_name="compute1", reason="timed out"):
        """Let a host not answer."""
        hosts = {key: value for key, value in self.bundle.hosts.items() if key != inventory_name}
        return self._bundle(hosts=hosts, unreachable={**self.bundle.unreachable, inventory_name: reason})

    def cloud(self, **changes):
        """Replace fields of what was read through the APIs."""
        return self._bundle(cloud=dataclasses.replace(self.bundle.cloud, **changes))

    def databases(self, **changes):
        """Replace fields of what was read from the databases."""
        return self._bundle(databases=dataclasses.replace(self.bundle.databases, **changes))

    def cell(self, number=1, **changes):
        """Replace fields of a cell."""
        cells = list(self.bundle.databases.cells)
        cells[number - 1] = dataclasses.replace(cells[number - 1], **changes)
        return self.databases(cells=cells)

    def api_db(self, **changes):
        """Replace fields of the API database."""
        return self.databases(api=dataclasses.replace(self.bundle.databases.api, **changes))

    def neutron_db(self, **changes):
        """Replace fields of neutron's database."""
        return self.databases(neutron=dataclasses.replace(self.bundle.databases.neutron, **changes))

    def without(self, *parts):
        """Leave out ``databases`` or ``cloud``, as an audit of some sources does."""
        return self._bundle(**dict.fromkeys(parts))

    def _bundle(self, **changes):
        return Cloud(dataclasses.replace(self.bundle, **changes))

    # --- rows of collections

    def rows(self, name, host="compute1", cell=1):
        """The rows of a collection."""
        place, field = PLACES[name]
        return list(getattr(self._owner(place, host, cell), field) or [])

    def put(self, name, rows, host="compute1", cell=1):
        """Replace the rows of a collection."""
        place, field = PLACES[name]
        if place == "host":
            return self.host(host, **{field: rows})
        if place == "cell":
            return self.cell(cell, **{field: rows})
        change = {"api": self.api_db, "neutron": self.neutron_db, "databases": self.databases, "cloud": self.cloud}
        return change[place](**{field: rows})

    def add(self, name, *rows, host="compute1", cell=1):
        """Add rows."""
        return self.put(name, [*self.rows(name, host, cell), *rows], host, cell)

    def change(self, collection, where=None, on="compute1", in_cell=1, /, **changes):
        """Replace fields of the rows that ``where`` says (a callable, or a mapping of fields; None: all)."""
        rows = self.rows(collection, on, in_cell)
        result = [dataclasses.replace(row, **changes) if _matches(row, where) else row for row in rows]
        if result == rows:
            raise AssertionError(f"no row of {collection} was changed: the test would prove nothing")
        return self.put(collection, result, on, in_cell)

    def drop(self, name, where, host="compute1", cell=1):
        """Leave out the rows that ``where`` says."""
        rows = self.rows(name, host, cell)
        result = [row for row in rows if not _matches(row, where)]
        if result == rows:
            raise AssertionError(f"no row of {name} was dropped: the test would prove nothing")
        return self.put(name, result, host, cell)

    def _owner(self, place, host, cell):
        if place == "host":
            return self.bundle.hosts[host]
        if place == "cell":
            return self.bundle.databases.cells[cell - 1]
        databases = self.bundle.databases
        return {"databases": databases, "cloud": self.bundle.cloud}.get(place) or getattr(databases, place)

    # --- things that happen

    def resolve(self, name, *addresses, on=None, error=None):
        """Let a name resolve to these addresses, on one host or on all."""
        result = self
        for key in [on] if on else list(self.bundle.hosts):
            rows = [row for row in result.rows("resolutions", key) if row.name != name]
            row = facts.Resolution(name, list(addresses), name if addresses else None, error)
            result = result.put("resolutions", [*rows, row], key)
        return result

    def migrate(self, instance, source, dest, status, kind="migration", cell=1, **changes):
        """Add a migration record between hosts of these names, for the databases and the API alike."""
        number = len(self.rows("migrations", cell=cell)) + 1
        row = facts.MigrationRow(
            id=number,
            uuid=uid("migration", number),
            migration_type=kind,
            status=status,
            instance_uuid=instance,
            source_compute=source,
            source_node=source,
            dest_compute=dest,
            dest_node=dest,
            dest_compute_id=None,
            deleted=0,
        )
        return self.add("migrations", dataclasses.replace(row, **changes), cell=cell)

    def narrowed(self, *hosts, keep=()):
        """Narrow the databases and the APIs to these names, as a rename does; ``keep``: instance uuids besides."""
        wanted = {name.casefold() for name in hosts}

        def named(*names):
            return any(name is not None and name.casefold() in wanted for name in names)

        result = self.cloud(scope=list(hosts))
        if self.bundle.databases is None:
            return result
        for number, cell in enumerate(self.bundle.databases.cells, 1):
            result = result.cell(
                number,
                scope=list(hosts),
                services=[row for row in cell.services if named(row.host)],
                compute_nodes=[row for row in cell.compute_nodes if named(row.host, row.hypervisor_hostname)],
                instances=[row for row in cell.instances if named(row.host, row.node) or row.uuid in keep],
                migrations=[
                    row
                    for row in cell.migrations
                    if named(row.source_compute, row.dest_compute, row.source_node, row.dest_node)
                ],
                name_rows={
                    table: [row for row in rows if named(*row.values.values())]
                    for table, rows in cell.name_rows.items()
                },
            )
        api, cloud = result.bundle.databases.api, result.bundle.cloud
        result = result.api_db(
            scope=list(hosts),
            host_mappings=[row for row in api.host_mappings if named(row.host)],
            aggregate_hosts=[row for row in api.aggregate_hosts if named(row.host)],
            name_rows={
                table: [row for row in rows if named(*row.values.values())] for table, rows in api.name_rows.items()
            },
        )
        hypervisors = [row for row in cloud.hypervisors if named(row.service_host, row.hypervisor_hostname)]
        known = {row.id for row in hypervisors}
        servers = {row.id for row in cloud.servers if named(row.host)}
        return result.cloud(
            services=[row for row in cloud.services if named(row.host)],
            hypervisors=hypervisors,
            servers=[row for row in cloud.servers if named(row.host)],
            providers=[
                row for row in cloud.providers if (row.root_provider_uuid or row.uuid) in known or named(row.name)
            ],
            agents=[row for row in cloud.agents if named(row.host)],
            ports=[row for row in cloud.ports if named(row.binding_host_id) or row.device_id in servers],
            port_devices=sorted(servers),
        )


def _matches(row, where):
    if where is None:
        return True
    if callable(where):
        return bool(where(row))
    return all(getattr(row, field) == value for field, value in where.items())


# --- the healthy cloud ----------------------------------------------------------------------------------------


def healthy(hosts=3, guests=2, cells=1, style="short", release=34, l2_agents=True, new=NEW):
    """A cloud of ``hosts`` compute hosts with ``guests`` guests each, in which everything agrees with everything."""
    names = {number: STYLES[style](number) for number in range(1, hosts + 1)}
    host_facts = {name.inventory: _host(number, names, guests, release, l2_agents) for number, name in names.items()}
    bundle = facts.Bundle(
        schema=facts.SCHEMA,
        collected_at=AT,
        hosts=host_facts,
        unreachable={},
        cloud=_cloud(names, guests, release, l2_agents),
        databases=_databases(names, guests, cells, release, l2_agents),
    )
    cloud = Cloud(bundle)
    for own in {1: new}.items() if new else ():
        cloud = cloud.resolve(own[1], address(own[0]))
    return cloud


def zone_of(number):
    """Odd hosts are in az1, even ones in az2."""
    return 1 + (number + 1) % 2


def _first(table, release):
    return next(key for key, known in table.items() if release in known)


def _host(number, names, guests, release, l2_agents):
    name = names[number]
    lines = [facts.FileLine("/etc/nova/nova.conf", 3, f"host = {name.conf}")] if name.conf else []
    return facts.HostFacts(
        inventory_name=name.inventory,
        read_at=AT,
        kernel_hostname=name.kernel,
        static_hostname=name.kernel,
        fqdn=name.libvirt,
        addresses=[address(number)],
        machine_id=uid("machine", number).replace("-", ""),
        dmi_uuid=uid("dmi", number),
        compute_id_files=_compute_id_files(number, release),
        nova_conf=_nova_conf(name, lines),
        libvirt=facts.Libvirt("qemu:///system", "9.0.0", name.libvirt, uid("libvirt", number)),
        domains=[domain(number, guest_number) for guest_number in range(1, guests + 1)],
        memory=facts.Memory(65536, 32768),
        hugepages=[],
        units=[unit("nova-compute.service"), *([unit("neutron-openvswitch-agent.service")] if l2_agents else [])],
        resolutions=[facts.Resolution(other.host, [address(key)], other.host) for key, other in names.items()],
        etc_hosts=[hosts_line(key, [*dict.fromkeys((other.libvirt, other.host))]) for key, other in names.items()],
        ovs_external_ids={"hostname": name.kernel, "system-id": uid("system", number)} if l2_agents else None,
        open_operations=[],
        nova_version=f"{release}.0.0",
        neutron_host=name.conf if l2_agents else None,
        start=facts.StartFacts({}, provider_configs=[]),
        neutron_host_lines=[facts.FileLine("/etc/neutron/neutron.conf", 2, line.text) for line in lines if l2_agents],
        unread=[] if l2_agents else [facts.Unread("ovs_external_ids", "no Open vSwitch here")],
        # Besides those that libvirt shows: none.
        qemu_processes={},
        name_users=facts.NameUsers([], [], {}, []),
        name_spaces=[facts.NameSpace(service, "process 4711", False) for service in ("nova-compute", "libvirt")],
        deployment=packages(),
        guests_on_boot="start",
        instances_path=facts.InstancesPath("/var/lib/nova/instances", "ext4", True),
        offers=offers(),
        guest_cpus={uid("cpu"): "<cpu><model>EPYC</model></cpu>"},
    )


def offers():
    """What libvirt on each host can run: all hosts are alike."""
    machines = {"x86_64": ["pc", "pc-i440fx-7.2", "pc-q35-7.2", "q35"]}
    return facts.LibvirtOffers("7.2.0", machines, "<cpu><model>EPYC</model></cpu>", [], [uid("secret")])


def packages():
    """How a host is deployed whose nova-compute is a unit of a package."""
    return Deployment(
        processes=[
            process("nova-compute", "/usr/bin/nova-compute", "nova-compute.service"),
            process("libvirtd", "/usr/sbin/libvirtd", "libvirtd.service", pid=4712),
        ],
        guests=[],
        units=[
            DeployedUnit("nova-compute.service", "/lib/systemd/system/nova-compute.service", "/usr/bin/nova-compute")
        ],
        signs=[],
        folders={},
        pending=[],
    )


def with_open_vswitch(deployment=None):
    """A deployment on which Open vSwitch runs, too."""
    made = deployment or packages()
    return dataclasses.replace(
        made, processes=[*made.processes, process("ovs-vswitchd", "/usr/sbin/ovs-vswitchd", None, pid=4713)]
    )


def process(program, command, unit=None, engine=None, hostname=None, pid=4711):
    """A process of a service. ``hostname``: it has a UTS namespace of its own, with that name."""
    number = "5" * 64 if engine else None
    return ServiceProcess(program, pid, command, unit, engine, number, hostname is not None, hostname, 1790000000)


def kolla(hostname="compute1", engine="podman"):
    """How kolla-ansible deploys a host; ``hostname``: the name of its containers; None: they share the host's."""
    names = ("nova_compute", "nova_libvirt", "neutron_openvswitch_agent")
    return Deployment(
        processes=[
            process("nova-compute", "/var/lib/kolla/venv/bin/nova-compute", None, engine, hostname),
            process("libvirtd", "/usr/sbin/libvirtd", None, engine, hostname, pid=4712),
        ],
        guests=[],
        units=[
            DeployedUnit(
                f"kolla-{name}-container.service",
                f"/etc/systemd/system/kolla-{name}-container.service",
                f"/usr/bin/{engine}",
                engine,
                name,
            )
            for name in names
        ],
        signs=["/etc/kolla/nova-compute/config.json"],
        folders={"/var/lib/kolla/config_files": "/etc/kolla/nova-compute"},
        pending=[],
    )


def _compute_id_files(number, release):
    uuid = node(number) if release >= 27 else None
    return [
        facts.ComputeIdFile("/etc/nova/compute_id", True, False),
        facts.ComputeIdFile("/var/lib/nova/compute_id", True, uuid is not None, uuid, "nova", "nova", "0644"),
    ]


def _nova_conf(name, lines):
    return facts.NovaConf(
        files=["/etc/nova/nova.conf"],
        host=name.conf,
        state_path="/var/lib/nova",
        my_ip=None,
        instances_path="/var/lib/nova/instances",
        compute_driver="libvirt.LibvirtDriver",
        images_type="rbd",
        images_rbd_pool="vms",
        rbd_user="nova",
        images_rbd_ceph_conf="/etc/ceph/ceph.conf",
        live_migration_inbound_addr=None,
        host_lines=lines,
        log_file="/var/log/nova/nova-compute.log",
        running_deleted_instance_action="reap",
        running_deleted_instance_timeout=0,
        resume_guests_state_on_host_boot=False,
        sync_power_state_interval=600,
        environment=[],
        rbd_secret_uuid=uid("secret"),
    )


def hosts_line(number, names):
    """A line of /etc/hosts."""
    return facts.HostsLine(number + 1, address(number), list(names), f"{address(number)} {' '.join(names)}")


def unit(name):
    """A unit that runs."""
    return facts.Unit(name, "loaded", "active", "running", "enabled", f"/lib/systemd/system/{name}")


def domain(host, number):
    """A running domain of a guest."""
    key = guest(host, number)
    return facts.Domain(
        uuid=key,
        name=f"instance-{host:04x}{number:04x}",
        state="running",
        persistent=True,
        pid=1000 * host + number,
        pid_start=99,
        memory_mib=64,
        vcpus=1,
        nova_name=f"guest{number}",
        nova_flavor="small",
        nova_project=uid("project"),
        machine_type="pc-q35-7.2",
        disks=[facts.DomainDisk("vda", f"vms/{key}_disk", "rbd")],
        interfaces=[facts.DomainInterface(f"fa:16:3e:00:{host % 256:02x}:{number:02x}", f"tap{number}", "ethernet")],
        xml_digest=uid("xml", host, number),
        ties=ties(),
        cpu_policy="shared",
        vtpm=False,
        encrypted=False,
        job=False,
    )


def ties(**changes):
    """What a guest's domain needs of its host."""
    ceph = [facts.CephAuth(uid("secret"), "nova", False)]
    return dataclasses.replace(facts.DomainTies("x86_64", "kvm", uid("cpu"), None, ceph, []), **changes)


def _databases(names, guests, cells, release, l2_agents):
    rows = [_cell(cell, cells, names, guests, release) for cell in range(1, cells + 1)]
    mappings = [
        facts.HostMappingRow(number, name.host, uid("cell", cell), f"cell{cell}")
        for number, name in names.items()
        for cell in [cell_of(number, cells)]
    ]
    members = [
        facts.AggregateHostRow(number, name.host, zone, uid("aggregate", zone), f"agg{zone}", f"az{zone}")
        for number, name in names.items()
        for zone in [zone_of(number)]
    ]
    revision, hosts = _first(releases.API_REVISIONS, release), {number: name.host for number, name in names.items()}
    found = name_rows("api", hosts)
    api = facts.ApiDbFacts("10.0.0.5/nova_api", revision, [], mappings, members, name_rows=found)
    agents = [
        facts.NeutronAgentRow(uid("agent", number), *_L2, name.host, AT) for number, name in names.items() if l2_agents
    ]
    neutron = facts.NeutronDbFacts("10.0.0.5/neutron", [], agents, inactive_bindings={})
    exclusive = facts.DatabaseLock(facts.LOCK_EXCLUSIVE)
    brokers = [
        facts.BrokerFacts(f"cell{cell}", "10.0.0.6:5672/", len(names), [], "compute1") for cell in range(1, cells + 1)
    ]
    return facts.DatabaseFacts(AT, api, rows, neutron, _grants(cells), lock=exclusive, brokers=brokers)


_L2 = ("Open vSwitch agent", "neutron-openvswitch-agent")


def cell_of(number, cells):
    """Hosts are dealt out to the cells in turn."""
    return 1 + (number - 1) % cells


def _cell(cell, cells, names, guests, release):
    mine = {number: name for number, name in names.items() if cell_of(number, cells) == cell}
    return facts.CellFacts(
        name=f"cell{cell}",
        uuid=uid("cell", cell),
        # As model/urls.py, location() makes it: without the kind of database.
        location=f"10.0.0.5/nova_cell{cell}",
        revision=_first(releases.MAIN_REVISIONS, release),
        has_compute_id=release >= 28,
        scope=[],
        services=[service_row(number, name.host, release) for number, name in mine.items()],
        compute_nodes=[node_row(number, name.host, name.libvirt, release) for number, name in mine.items()],
        instances=[
            instance_row(number, index, name.host, name.libvirt, release)
            for number, name in mine.items()
            for index in range(1, guests + 1)
        ],
        migrations=[],
        dialect="mariadb",
        collations=COLLATIONS,
        name_rows=name_rows("cell", {number: name.host for number, name in mine.items()}),
    )


#: As Nova's migrations make the columns of names in MariaDB.
COLLATIONS = dict.fromkeys(
    (
        "services.host",
        "compute_nodes.host",
        "compute_nodes.hypervisor_hostname",
        "instances.host",
        "migrations.source_compute",
    ),
    "utf8mb3_general_ci",
)


def service_row(number, host, release=34):
    """The existing row of a nova-compute service."""
    return facts.ServiceRow(
        id=100 + number,
        uuid=service(number),
        host=host,
        binary="nova-compute",
        version=_first(releases.SERVICE_VERSIONS, release),
        disabled=False,
        disabled_reason=None,
        forced_down=False,
        last_seen_up=AT,
        deleted=0,
    )


def node_row(number, host, hypervisor_hostname, release=34):
    """The existing row of a compute node."""
    return facts.ComputeNodeRow(
        id=200 + number,
        uuid=node(number),
        host=host,
        hypervisor_hostname=hypervisor_hostname,
        service_id=100 + number if release >= 28 else None,
        hypervisor_type="QEMU",
        host_ip=address(number),
        deleted=0,
    )


def instance_row(number, index, host, node_name, release=34):
    """The existing row of an instance."""
    return facts.InstanceRow(
        id=number * 1000 + index,
        uuid=guest(number, index),
        display_name=f"guest{index}",
        project_id=uid("project"),
        host=host,
        node=node_name,
        launched_on=host,
        compute_id=200 + number if release >= 28 else None,
        vm_state="active",
        task_state=None,
        power_state=1,
        availability_zone=f"az{zone_of(number)}",
        deleted=0,
    )


def _grants(cells):
    databases = [("cell", f"cell:cell{cell}") for cell in range(1, cells + 1)] + [
        ("api", "api"),
        ("neutron", "neutron"),
    ]
    return [
        facts.Grant(database, table, ["id"] if action == "select" else columns.split(","), action, True)
        for kind, database in databases
        for table, columns in RIGHTS[kind]
        for action in ("select", "update")
    ]


def _cloud(names, guests, release, l2_agents):
    zones = sorted({zone_of(number) for number in names})
    return facts.CloudFacts(
        read_at=AT,
        scope=[],
        compute_max_microversion=_first(releases.MICROVERSIONS, release),
        catalog=["compute", "identity", "image", "network", "placement"],
        services=[
            facts.ApiService(service(number), name.host, "nova-compute", "up", "enabled", False, None, updated_at=AT)
            for number, name in names.items()
        ],
        hypervisors=[
            facts.ApiHypervisor(node(number), name.libvirt, name.host, "QEMU", "up", "enabled")
            for number, name in names.items()
        ],
        servers=[_server(number, index, name) for number, name in names.items() for index in range(1, guests + 1)],
        aggregates=[
            facts.ApiAggregate(
                zone,
                uid("aggregate", zone),
                f"agg{zone}",
                f"az{zone}",
                [name.host for number, name in names.items() if zone_of(number) == zone],
            )
            for zone in zones
        ],
        providers=[_provider(number, name, guests) for number, name in names.items()],
        migrations=[],
        agents=[agent(number, name.host) for number, name in names.items() if l2_agents],
        ports=[
            port(number, index, name.host, "ovs" if l2_agents else "tap")
            for number, name in names.items()
            for index in range(1, guests + 1)
        ],
        routed_subnets=[],
        ha_hosts=[],
    )


def _server(number, index, name):
    return facts.ApiServer(
        id=guest(number, index),
        name=f"guest{index}",
        project_id=uid("project"),
        status="ACTIVE",
        host=name.host,
        hypervisor_hostname=name.libvirt,
        task_state=None,
        vm_state="active",
        power_state=1,
        availability_zone=f"az{zone_of(number)}",
        pinned_availability_zone=f"az{zone_of(number)}",
    )


def _provider(number, name, guests):
    used = {guest(number, index): {"VCPU": 1, "MEMORY_MB": 64} for index in range(1, guests + 1)}
    return facts.ResourceProvider(node(number), name.libvirt, 3, node(number), None, used, [], {})


def child_provider(number, name):
    """A child provider of a host's root provider."""
    return facts.ResourceProvider(uid("child", number, name), name, 1, node(number), node(number), {}, [], {})


def agent(number, host, agent_type=_L2[0], binary=_L2[1], **changes):
    """A network agent that is alive."""
    key = uid("agent", number) if agent_type == _L2[0] else uid("agent", number, agent_type)
    return dataclasses.replace(facts.ApiAgent(key, agent_type, binary, host, True, "2026-11-21 06:00:00"), **changes)


def port(number, index, host, vif_type="ovs", **changes):
    """A bound port of a guest."""
    row = facts.ApiPort(
        id=uid("port", number, index),
        binding_host_id=host,
        binding_vif_type=vif_type,
        status="ACTIVE",
        device_id=guest(number, index),
        device_owner=f"compute:az{zone_of(number)}",
        subnets=[uid("subnet")],
    )
    return dataclasses.replace(row, **changes)
