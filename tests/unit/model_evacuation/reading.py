# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be read of a :class:`world.World`, in the collection's own facts; what stands in for ``systems/``."""

from __future__ import annotations

import dataclasses
import datetime
import types

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    cloud_facts,
    compute_services,
    evacuation_facts,
    instance_actions,
    migration_records,
    network,
    server_actions,
    server_records,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts as hosts
from ansible_collections.stackguard.nova.tests.unit.builders import packages
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import world as worlds

CONTROLLER = "198.51.100.9"


def iso(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).isoformat()


def make(cls, **values):
    """An object of the collection. Fields that this version of it does not have are left out."""
    known = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: value for name, value in values.items() if name in known})


# --- hosts


def host_facts(world, host, request):
    """What compute_host_info returns of a host that answers. ``request``: the need."""
    return make(
        facts.HostFacts,
        inventory_name=host.name,
        read_at=iso(world.now),
        kernel_hostname=host.name,
        static_hostname=host.name,
        fqdn=host.name,
        addresses=[host.management, *dict.fromkeys(host.clients[host.home[0]])],
        machine_id=host.name,
        dmi_uuid="",
        compute_id_files=[],
        nova_conf=_conf(host),
        libvirt=None,
        domains=None if host.libvirt_silent else [_domain(world.servers[uuid], host) for uuid in sorted(host.domains)],
        memory=facts.Memory(host.memory, host.memory - world.used(host)),
        hugepages=[],
        units=[],
        resolutions=[],
        etc_hosts=[],
        ovs_external_ids=None,
        open_operations=[],
        rbd=_rbd(world, host, request)
        if host.disks_in_ceph and not host.ceph_cut and not refused(world, host)
        else None,
        qemu_processes=dict.fromkeys(sorted(host.domains), 4711),
        unread=[facts.Unread("domains", "libvirt does not answer")] if host.libvirt_silent else [],
    )


def refused(world, host):
    return world.clusters[host.home[0]].refuses(host.clients[host.home[0]][0])


def _conf(host):
    return make(
        facts.NovaConf,
        files=[],
        host=None,
        state_path="/var/lib/nova",
        my_ip=host.management,
        instances_path="/var/lib/nova/instances",
        compute_driver="libvirt.LibvirtDriver",
        images_type="rbd" if host.disks_in_ceph else "default",
        images_rbd_pool=host.home[1],
        rbd_user="nova",
        images_rbd_ceph_conf=None,
        live_migration_inbound_addr=None,
        environment=[],
    )


def _domain(server, host):
    return make(
        facts.Domain,
        uuid=server.uuid,
        name=server.name,
        state="running",
        persistent=True,
        pid=4711,
        pid_start=1,
        memory_mib=server.ram,
        vcpus=1,
        nova_name=server.name,
        nova_flavor=None,
        nova_project=None,
        machine_type=None,
        disks=[],
        interfaces=[],
        xml_digest="x",
        rss_mib=server.ram,
    )


def _rbd(world, host, request):
    fsid, pool = host.home
    cluster = world.clusters[fsid]
    wanted = set(request["instances"])
    opened = host.name in request["readers"]
    names = sorted(name for name in cluster.pools[pool] if not wanted or name.partition("_")[0] in wanted)
    images = [image_facts(world, cluster, pool, name, opened) for name in names]
    return make(
        facts.RbdFacts,
        via="library",
        fsid=fsid,
        pool=pool,
        instances=sorted(wanted),
        images=images,
        blocklist=blocklist(cluster) if opened else None,
        client_address=host.clients[fsid][0],
        opened=opened,
        infrastructure=sorted(cluster.daemons) if opened else None,
        blocklist_word="blocklist" if opened else None,
        rights=facts.CephRights(host.rights, host.rights) if opened else None,
        # As in the role: no volume is asked of the others.
        volumes=_volumes(world, cluster, host, request) if host.name in request.get("volume_readers", ()) else None,
    )


def _volumes(world, cluster, host, request):
    if not host.reads_volumes:
        return None
    found = []
    for uuid in request["volumes"]:
        if world.volumes[uuid].fsid == cluster.fsid:
            owner = next(server for server in world.servers.values() if uuid in server.volumes)
            watchers = world.watchers(owner, cluster.fsid)
            name = f"volume-{uuid}"
            watching = [facts.RbdWatcher(ceph_address(address)) for address in watchers]
            lock = world.volumes[uuid].lock
            locks = [facts.RbdLock(ceph_address(lock))] if lock else []
            image = facts.RbdImage(name, f"id-{name}", 1 << 30, [], watching, locks)
            found.append(facts.RbdVolume("volumes", image))
    return found


def image_facts(world, cluster, pool, name, opened=True):
    if not opened:
        return facts.RbdImage(name, unread=[facts.Unread("image", "not opened")])
    disk = cluster.pools[pool][name]
    server = world.servers.get(name.partition("_")[0])
    # A config drive is opened for reading only.
    own = [] if server is None or name.endswith(".config") else world.watchers(server, cluster.fsid)
    watchers = [facts.RbdWatcher(ceph_address(address)) for address in (*own, *sorted(disk.strangers))]
    locks = [facts.RbdLock(ceph_address(disk.lock))] if disk.lock else []
    snapshots = [facts.RbdSnapshot(snapshot) for snapshot in sorted(disk.snapshots)]
    return facts.RbdImage(name, disk.id, 1 << 30, snapshots, watchers, locks)


def ceph_address(address):
    return f"[{address}]:0/123" if ":" in address else f"{address}:0/123"


def blocklist(cluster):
    return [
        facts.BlocklistEntry(entry, iso(at + guard_snapshots.BLOCK_SECONDS)) for entry, at in cluster.blocklist.items()
    ]


# --- a host that comes back

NIL = "00000000-0000-0000-0000-000000000000"


def returning_facts(world, host):
    """What compute_host_info returns of a host that comes back: the monitors answer it, even if the OSDs refuse it."""
    request = {"instances": [NIL], "readers": ()}
    rbd_facts = _rbd(world, host, request) if host.disks_in_ceph and not host.ceph_cut else None
    if rbd_facts is not None and refused(world, host):
        unread = [facts.Unread("images", "error 108")]
        rbd_facts = dataclasses.replace(rbd_facts, images=None, unread=unread)
    domains = [_with_disks(world, host, uuid, "running") for uuid in sorted(host.domains)]
    domains += [_with_disks(world, host, uuid, "shutoff") for uuid in sorted(host.defined - set(host.domains))]
    return dataclasses.replace(
        host_facts(world, host, request),
        addresses=list(dict.fromkeys([host.management, *(one for all_ in host.clients.values() for one in all_)])),
        rbd=rbd_facts,
        domains=None if host.libvirt_silent else domains,
        units=[_unit(host)],
        deployment=_deployment(host),
        guests_on_boot="start",
        instances_path=facts.InstancesPath("/var/lib/nova/instances", "ext4", True),
        compute_id_files=[facts.ComputeIdFile("/var/lib/nova/compute_id", True, True, host.node)],
        libvirt=facts.Libvirt("qemu:///system", "9.0.0", host.name, host.name),
    )


def _unit(host):
    active = "active" if host.silent_since is None else "inactive"
    return facts.Unit("nova-compute.service", "loaded", active, "running", "enabled", None)


def _deployment(host):
    """How packages deploy it: the unit's own process, while nova-compute runs."""
    found = packages()
    return found if host.silent_since is None else dataclasses.replace(found, processes=[])


def _with_disks(world, host, uuid, state):
    server = world.servers[uuid]
    sources = [f"{host.home[1]}/{disk.name}" for disk in world.disks_of(server, host.home)]
    sources += [f"volumes/volume-{one}" for one in server.volumes if world.volumes[one].fsid is not None]
    disks = [facts.DomainDisk("vda", source, "rbd") for source in sorted(sources)]
    runs = state == "running"
    pid = {"pid": 4711 if runs else None, "pid_start": 1 if runs else None}
    return dataclasses.replace(_domain(server, host), state=state, disks=disks, **pid)


def database(world, host, domains):
    """What cell_info returns, asked for a host and for the instances of its domains."""
    cell = make(
        facts.CellFacts,
        name="cell1",
        uuid="cell-1",
        location="db/nova_cell1",
        revision=None,
        has_compute_id=True,
        scope=[host.name],
        services=[_service_row(host)],
        compute_nodes=[facts.ComputeNodeRow(1, host.node, host.name, host.name, 1, "QEMU", host.management, 0)],
        instances=[
            _instance_row(number, server)
            for number, server in enumerate(world.servers.values(), 1)
            if server.host == host.name or server.uuid in domains
        ],
        migrations=[_migration_row(entry) for entry in world.migrations if host.name in (entry.source, entry.dest)],
        unread=[],
    )
    return facts.DatabaseFacts(iso(world.now), None, [cell], None, None)


def _service_row(host):
    disabled = host.status == "disabled"
    return facts.ServiceRow(
        1, f"service-{host.name}", host.name, "nova-compute", 70, disabled, host.reason, host.forced_down, None, 0
    )


def _instance_row(number, server):
    return facts.InstanceRow(
        number,
        server.uuid,
        server.name,
        "project",
        server.host,
        server.host,
        server.host,
        1,
        "active",
        server.task,
        server.power_state,
        None,
        number if server.deleted else 0,
    )


def _migration_row(entry):
    return facts.MigrationRow(
        entry.number,
        f"migration-{entry.number}",
        entry.type,
        entry.status,
        entry.server,
        entry.source,
        entry.source,
        entry.dest,
        entry.dest,
        None,
        0,
    )


# --- Ceph, as a module on a host reaches it


class FakeCeph:
    """The cluster and one pool of it. ``say``: what an unruly cluster does instead."""

    via = "library"

    def __init__(self, world, host):
        self.world = world
        self.host = host
        self.cluster = world.clusters[host.home[0]]
        self.pool = host.home[1]

    def _disks(self):
        return self.cluster.pools[self.pool]

    def fsid(self):
        return self.cluster.fsid

    def names(self):
        return sorted(self._disks())

    def images(self, names):
        return [image_facts(self.world, self.cluster, self.pool, name) for name in names if name in self._disks()]

    def create_snapshot(self, image, snapshot):
        if image not in self._disks():
            raise rbd.GoneError(f"{image}: no such image")
        self._disks()[image].snapshots.add(snapshot)
        return True

    def remove_snapshot(self, image, snapshot):
        if image not in self._disks() or snapshot not in self._disks()[image].snapshots:
            return False
        self._disks()[image].snapshots.discard(snapshot)
        return True

    def blocklist(self):
        return blocklist(self.cluster)

    def blocklist_word(self):
        return "blocklist"

    def rights(self):
        return facts.CephRights(self.host.rights, self.host.rights)

    def ask(self, question):
        daemons = [{"addr": f"{address}:3300/0"} for address in self.cluster.daemons]
        return {
            "mon dump": {"mons": daemons},
            "osd dump": {"osds": []},
            "mgr dump": {"active_addr": "-", "standbys": []},
            "fs dump": {"filesystems": [], "standbys": []},
            "status": {"servicemap": {"services": {}}, "fsmap": {"by_rank": [], "up:standby": 0}},
        }[question]

    def block(self, address, seconds, as_range=False):
        if not self.host.rights:
            raise rbd.CephError("error -13: access denied")
        self.world.watch.blocked(self.cluster, address)
        self.cluster.blocklist[address] = self.world.now
        for host in self.world.hosts.values():
            for uuid, own in host.domains.items():
                if self.cluster.refuses(own) and host.home[0] == self.cluster.fsid:
                    host.lost.setdefault(uuid, self.world.now)
            self.world.refuse(host)

    def unblock(self, address, as_range=False):
        if not self.host.rights:
            raise rbd.CephError("error -13: access denied")
        self.world.watch.unblocked(self.cluster, address)
        self.cluster.blocklist.pop(address, None)
        self.world.watch.look()


# --- Nova


def flavor(server):
    specs = {"aggregate_instance_extra_specs:kind": "special"} if server.special else {}
    specs.update({"hw:tpm_version": "2.0"} if server.tpm else {})
    return make(facts.ServerFlavor, vcpus=1, ram=server.ram, disk=10, ephemeral=0, swap=server.swap, extra_specs=specs)


def aggregates(world):
    """One for each zone."""
    zones = sorted({host.zone for host in world.hosts.values()})
    special = [host.name for host in world.hosts.values() if host.special]
    another = facts.ApiAggregate(99, "aggregate-special", "special", None, special, {"kind": "special"})
    return [
        make(
            facts.ApiAggregate,
            id=number,
            uuid=f"aggregate-{zone}",
            name=zone,
            availability_zone=zone,
            hosts=[host.name for host in world.hosts.values() if host.zone == zone],
            metadata={"availability_zone": zone},
        )
        for number, zone in enumerate(zones, 1)
    ] + ([another] if special else [])


def server_facts(server):
    return make(
        facts.ApiServer,
        id=server.uuid,
        name=server.name,
        project_id="project",
        status="DELETED" if server.deleted else server.status,
        host=server.host,
        hypervisor_hostname=server.host,
        task_state=server.task,
        vm_state="active",
        power_state=server.power_state,
        availability_zone=None,
        locked=False,
        pinned_availability_zone=server.pinned,
        volumes=list(server.volumes),
        flavor=flavor(server),
        image="" if server.boots_from_volume else "image-1",
        config_drive=False,
        metadata={},
    )


def service_facts(world, host):
    return make(
        facts.ApiService,
        id=f"service-{host.name}",
        host=host.name,
        binary="nova-compute",
        state=world.state(host),
        status=host.status,
        forced_down=host.forced_down,
        disabled_reason=host.reason,
        zone=host.zone,
        updated_at=iso(world.now),
    )


class Nova:
    """Stands in for what the operation calls of ``systems/api``."""

    NAMES = {  # noqa: RUF012 - never changed
        cloud_facts: ("read_cloud",),
        evacuation_facts: ("read_evacuation",),
        server_actions: ("evacuate", "stop", "reset_state_verified"),
        migration_records: ("last_migration", "evacuation_statuses"),
        network: ("ports_left", "list_agents"),
        compute_services: ("find_service", "hold_down", "give_back", "raw_services"),
        instance_actions: ("list_actions", "why"),
        server_records: ("servers_on", "servers_since", "server_as_listed", "raw_server", "soft_deleted", "is_gone"),
        hosts: ("addresses",),
    }

    def __init__(self, world):
        self.world = world

    def install(self, monkeypatch):
        for module, names in self.NAMES.items():
            for name in names:
                monkeypatch.setattr(module, name, self._wrapped(getattr(self, name)))

    def _wrapped(self, method):
        def call(*given, **kwargs):
            args = given[1:]
            try:
                return method(*args, **kwargs)
            except worlds.NovaError as error:
                raise ApiError(str(error), status=error.status) from error

        return call

    # --- reads

    def read_cloud(self, hosts, parts=None, **_more):
        world = self.world
        silent = world.now < world.api_silent_until
        named = [world.hosts[name] for name in hosts if name in world.hosts]
        wanted = [] if silent else named
        unread = [facts.Unread("all", "503")] if silent else []
        none = None if silent else []
        return make(
            facts.CloudFacts,
            read_at=iso(world.now),
            scope=list(hosts),
            compute_max_microversion=None if silent else "2.100",
            catalog=["compute"],
            services=none if silent else [service_facts(world, host) for host in wanted],
            hypervisors=none if silent else [self._node(host) for host in wanted],
            servers=none
            if silent
            else [server_facts(server) for host in wanted for server in world.live_servers(host.name)],
            aggregates=none if silent else aggregates(world),
            providers=none if silent else [self._provider(host) for host in wanted],
            migrations=none
            if silent
            else [
                self._record(entry)
                for entry in world.migrations
                if entry.status in ("accepted", "pre-migrating", "done", "finished")
                and {entry.source, entry.dest} & {host.name for host in wanted}
            ],
            agents=[],
            ports=[],
            unread=unread,
        )

    @staticmethod
    def _node(host):
        return make(
            facts.ApiHypervisor,
            id=host.node,
            hypervisor_hostname=host.name,
            service_host=host.name,
            hypervisor_type="QEMU",
            state="up",
            status="enabled",
            host_ip=host.management,
        )

    def _held(self, host):
        world = self.world
        held = {
            server.uuid: server.ram
            for server in world.servers.values()
            if (not server.deleted or server.soft) and server.host == host.name
        }
        for entry in world.under_way():
            if entry.dest == host.name:
                held[entry.server] = world.servers[entry.server].ram
        return held

    def _provider(self, host):
        allocations = {uuid: {"MEMORY_MB": ram, "VCPU": 1} for uuid, ram in self._held(host).items()}
        return make(
            facts.ResourceProvider,
            uuid=host.node,
            name=host.name,
            generation=1,
            root_provider_uuid=host.node,
            parent_provider_uuid=None,
            allocations=allocations,
        )

    @staticmethod
    def _record(entry):
        return make(
            facts.ApiMigration,
            id=entry.number,
            uuid=f"migration-{entry.number}",
            migration_type=entry.type,
            status=entry.status,
            instance_uuid=entry.server,
            source_compute=entry.source,
            source_node=entry.source,
            dest_compute=entry.dest,
            dest_node=entry.dest,
        )

    def list_agents(self, _host):
        return []

    def read_evacuation(self, cloud, host, leaving=None, numa=None, **_known):
        world = self.world
        silent = world.now < world.api_silent_until
        servers = [] if silent else [entry for entry in cloud.servers or [] if entry.host == host]
        groups = [
            facts.ServerGroup(name, policy, None, list(members))
            for name, (policy, members) in sorted(world.groups.items())
        ]
        where = {uuid: world.servers[uuid].host for group in groups for uuid in group.members}
        allocated = [facts.Unread("targets", "503")] if silent else []
        return make(
            facts.EvacuationFacts,
            read_at=iso(world.now),
            host=host,
            targets=None if silent else [self._target(entry) for entry in world.hosts.values()],
            groups=None if silent else groups,
            member_hosts=None if silent else where,
            numa={entry.id: [] for entry in servers},
            offers={entry.id: [other.node for other in world.hosts.values()] for entry in servers},
            unread=allocated,
            aggregates=None if silent else aggregates(world),
            migrations=None
            if silent
            else [self._record(entry) for entry in world.migrations if entry.stage != "ended"],
            transit=None
            if silent
            else [
                facts.MigratingServer(entry.server, flavor(world.servers[entry.server]), [])
                for entry in world.migrations
                if entry.stage != "ended"
            ],
            unlisted=self._unlisted(host),
            soft_deleted={
                server.uuid: server.name for server in world.servers.values() if server.soft and server.host == host
            },
            cells_down=[],
        )

    def _unlisted(self, name):
        """Placement still has them, though no list shows them."""
        world = self.world
        listed = {server.uuid for server in world.live_servers(name)}
        there = {server.uuid for server in world.servers.values() if not server.deleted and server.host == name}
        return dict.fromkeys(sorted(there - listed), "no list shows it")

    def _target(self, host):
        free = int(host.memory * self.world.overcommit) - sum(self._held(host).values())
        return make(
            facts.TargetHost,
            host=host.name,
            node=host.name,
            provider=host.node,
            zone=host.zone,
            state=self.world.state(host),
            status=host.status,
            forced_down=host.forced_down,
            free={"MEMORY_MB": free, "VCPU": 100, "DISK_GB": 10000},
            disabled_reason=host.reason,
            host_ip=host.management,
            consumers=len(self._held(host)),
        )

    # --- calls

    def evacuate(self, uuid, host, target_state="keep"):
        self.world.evacuate(uuid, host, target_state == "stopped")

    def last_migration(self, uuid, _kind):
        self.world.api()
        found = [entry for entry in self.world.migrations if entry.server == uuid and entry.type == "evacuation"]
        return {"status": found[-1].status, "dest_compute": found[-1].dest} if found else None

    def evacuation_statuses(self, source, since=None, status=None):
        self.world.api()
        found = {}
        for entry in reversed(self.world.migrations):
            if entry.type == "evacuation" and entry.source == source and (status is None or entry.status == status):
                found.setdefault(entry.server, entry.status)
        return found

    def ports_left(self, host, servers):
        self.world.api()
        return []

    def servers_on(self, host):
        self.world.api()
        return [server_facts(server) for server in self.world.live_servers(host)]

    def soft_deleted(self, _host):
        """Nobody's server: this Nova deletes at once."""
        self.world.api()
        return {}

    def servers_since(self, host, since):
        self.world.api()
        if self.world.now < self.world.cell_mute_until:
            return []
        return [
            server_facts(server)
            for server in self.world.servers.values()
            if (host is None or server.host == host) and (since is not None or not server.deleted)
        ]

    def server_as_listed(self, uuid):
        self.world.api()
        server = self.world.servers[uuid]
        if self.world.now < self.world.cell_mute_until:
            raise worlds.NovaError("500 the cell does not answer", 500)
        return None if server.deleted else server_facts(server)

    def raw_server(self, uuid):
        self.world.api()
        server = self.world.servers[uuid]
        return None if server.deleted else {"id": uuid, "OS-EXT-SRV-ATTR:host": server.host, "status": server.status}

    def is_gone(self, uuid):
        self.world.api()
        return self.world.servers[uuid].deleted

    def raw_services(self):
        self.world.api()
        silent = self.world.now < self.world.cell_mute_until
        known = {} if silent else {"id": "service"}
        return [{"host": host.name, "state": self.world.state(host), **known} for host in self.world.hosts.values()]

    def find_service(self, host):
        self.world.api()
        found = self.world.hosts.get(host)
        return None if found is None else service_facts(self.world, found)

    def why(self, _server):
        return "No valid host was found."

    def _service(self, host, status, reason, forced_down):
        self.world.api()
        there = self.world.hosts[host]
        if there.forced_down and not forced_down and self.world.awaits_start(host):
            raise worlds.NovaError("409 evacuations from it are done and not completed", 409)
        there.status, there.reason, there.forced_down = status, reason if status == "disabled" else None, forced_down
        self.world.say("service", host, status, reason or "", "forced" if forced_down else "")
        if status == "enabled" and not forced_down:
            self.world.watch.enabled(there)
        return service_facts(self.world, there)

    def hold_down(self, host, reason):
        return self._service(host, "disabled", reason, True)

    def give_back(self, host, before):
        return self._service(host, before["status"], before.get("reason"), bool(before["forced_down"]))

    @staticmethod
    def addresses():
        """Of the controller."""
        return [CONTROLLER]

    def reset_state_verified(self, uuid):
        self.world.api()
        server = self.world.servers[uuid]
        self.world.watch.resets(server)
        server.status, server.task = "ACTIVE", None
        return server_facts(server)

    def list_actions(self, uuid):
        self.world.api()
        return [{"action": action, "message": None} for action in reversed(self.world.servers[uuid].history)]

    def stop(self, uuid):
        try:
            self.world.stop(self.world.servers[uuid], owner=False)
        except worlds.NovaError as error:
            if error.status != 409:
                raise


class Serial:
    """An executor that does one thing after the other: the same seed gives the same run."""

    def __init__(self, *_args, **_kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_args):
        return None

    def map(self, function, *iterables):
        return [function(*items) for items in zip(*iterables)]


FUTURES = types.SimpleNamespace(ThreadPoolExecutor=Serial)
