# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small cloud in real schemas: databases with rows in them, and the plan that renames one of its hosts."""

from __future__ import annotations

import datetime
import uuid

import servers
import sqlalchemy as sa

from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.catalogue import declared

#: Without a time zone, as Nova and neutron store it.
NOW = datetime.datetime(2026, 11, 21, 3, 0, 0)  # noqa: DTZ001
CELL0 = "00000000-0000-0000-0000-000000000000"
CELL1 = "11111111-1111-4111-8111-111111111111"
#: Referring tables before those that they refer to.
TABLES = {
    "cell": ("migrations", "instances", "compute_nodes", "services"),
    "api": ("request_specs", "aggregate_metadata", "aggregate_hosts", "aggregates", "host_mappings", "cell_mappings"),
    "neutron": ("agents", "ml2_port_bindings", "ml2_port_binding_levels", "segmenthostmappings"),
}
NODE_NEEDS = {
    "vcpus": 4,
    "memory_mb": 4096,
    "local_gb": 10,
    "vcpus_used": 0,
    "memory_mb_used": 0,
    "local_gb_used": 0,
    "hypervisor_type": "QEMU",
    "hypervisor_version": 7002000,
    "cpu_info": "{}",
    "deleted": 0,
    "mapped": 1,
}

#: As neutron's models have them (plugins/ml2/models.py, services/segments/db.py), without foreign keys.
BINDINGS = (
    """CREATE TABLE ml2_port_bindings (port_id VARCHAR(36) NOT NULL, host VARCHAR(255) NOT NULL DEFAULT '',
    vif_type VARCHAR(64) NOT NULL, vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal',
    profile VARCHAR(4095) NOT NULL DEFAULT '', vif_details VARCHAR(4095) NOT NULL DEFAULT '',
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE', PRIMARY KEY (port_id, host))""",
    """CREATE TABLE ml2_port_binding_levels (port_id VARCHAR(36) NOT NULL, host VARCHAR(255) NOT NULL,
    level INTEGER NOT NULL, driver VARCHAR(64), segment_id VARCHAR(36), PRIMARY KEY (port_id, host, level))""",
    """CREATE TABLE segmenthostmappings (segment_id VARCHAR(36) NOT NULL, host VARCHAR(255) NOT NULL,
    PRIMARY KEY (segment_id, host))""",
)
_TYPES = {"id": "INTEGER PRIMARY KEY", "deleted": "INTEGER"}


def uid(kind: str, number: int) -> str:
    """A uuid that a reader of a failure can recognise."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{kind}{number}.example"))


class World:
    """Three databases on one server: ``cell``, ``api`` and ``neutron``."""

    def __init__(self, server: servers.Server, release: str) -> None:
        self.server = server
        self.release = release
        self.names = {kind: f"{kind}_{release}" for kind in TABLES}
        for kind, name in self.names.items():
            server.create(name, kind if kind == "neutron" else f"{release}-{kind}")
        for statement in BINDINGS:
            server.run(statement, self.names["neutron"])
        self._make_declared()

    def _make_declared(self) -> None:
        """Make tables that a place of the host name declares and nobody has recorded: without types and indexes."""
        for kind in ("cell", "api"):
            with self.server.admin(self.names[kind]) as connection:
                known = set(sa.inspect(connection).get_table_names())
            for name, entry in declared(kind).items():
                columns = ", ".join(f"{column} {_TYPES.get(column, 'VARCHAR(255)')}" for column in entry.reads)
                if name not in known:
                    self.server.run(f"CREATE TABLE {name} ({columns})", self.names[kind])

    def empty(self) -> World:
        """Delete every row but the schema's revision."""
        for kind, tables in TABLES.items():
            with self.server.admin(self.names[kind]) as connection:
                for table in tables:
                    connection.execute(sa.delete(sa.table(table)))
        return self

    @property
    def has_compute_id(self) -> bool:
        return int(self.release) >= 28

    def url(self, kind: str, user: str = "") -> str:
        return self.server.url(self.names[kind], user)

    def options(self, user: str = "") -> dict[str, object]:
        """What a module would be given. The cell is reached through its mapping's template."""
        return {"nova_api_db_url": self.url("api", user), "neutron_db_url": self.url("neutron", user)}

    # --- rows

    def insert(self, kind: str, table: str, **values: object) -> None:
        columns = [sa.column(name) for name in values]
        with self.server.admin(self.names[kind]) as connection:
            connection.execute(sa.insert(sa.table(table, *columns)).values(values))

    def update(self, kind: str, table: str, key: object, **values: object) -> None:
        source = sa.table(table, sa.column("id"), *[sa.column(name) for name in values])
        with self.server.admin(self.names[kind]) as connection:
            connection.execute(sa.update(source).where(source.c.id == key).values(values))

    def rows(self, kind: str, table: str, *columns: str) -> list[tuple[object, ...]]:
        source = sa.table(table, *[sa.column(name) for name in ("id", *columns)])
        with self.server.admin(self.names[kind]) as connection:
            return [tuple(row) for row in connection.execute(sa.select(source).order_by(source.c.id))]

    def service(self, number: int, host: str, binary: str = "nova-compute", deleted: int = 0) -> None:
        disabled = False if self.server.backend == "postgresql" else 0
        self.insert(
            "cell",
            "services",
            id=number,
            uuid=uid("service", number),
            host=host,
            binary=binary,
            topic=binary,
            version=74,
            report_count=1,
            disabled=disabled,
            forced_down=disabled,
            deleted=deleted,
            last_seen_up=NOW,
        )

    def node(self, number: int, host: str | None, name: str, deleted: int = 0) -> None:
        values = {**NODE_NEEDS, "deleted": deleted}
        self.insert(
            "cell",
            "compute_nodes",
            id=number,
            uuid=uid("node", number),
            host=host,
            hypervisor_hostname=name,
            service_id=number,
            host_ip="192.0.2.1",
            **values,
        )

    def instance(self, number: int, host: str | None, node: str | None, deleted: int = 0) -> None:
        extra = {"compute_id": 1} if self.has_compute_id else {}
        self.insert(
            "cell",
            "instances",
            id=number,
            uuid=uid("instance", number),
            display_name=f"guest{number}",
            project_id="p",
            host=host,
            node=node,
            launched_on=host,
            vm_state="active",
            power_state=1,
            deleted=deleted,
            **extra,
        )

    def migration(
        self,
        number: int,
        source: str,
        dest: str,
        status: str,
        kind: str = "migration",
        deleted: int = 0,
        instance: str | None = None,
    ) -> None:
        with self.server.admin(self.names["cell"]) as connection:
            table = sa.Table("migrations", sa.MetaData(), autoload_with=connection, resolve_fks=False)
            connection.execute(
                sa.insert(table).values(
                    id=number,
                    uuid=uid("migration", number),
                    source_compute=source,
                    dest_compute=dest,
                    source_node=source,
                    dest_node=dest,
                    status=status,
                    migration_type=kind,
                    instance_uuid=instance,
                    deleted=deleted,
                )
            )

    def cell_mapping(self, number: int, name: str | None, cell: str, url: str, disabled: bool = False) -> None:
        value = disabled if self.server.backend == "postgresql" else int(disabled)
        self.insert(
            "api",
            "cell_mappings",
            id=number,
            uuid=cell,
            name=name,
            transport_url="none:///",
            database_connection=url,
            disabled=value,
        )

    def agent(self, agent: str, host: str) -> None:
        now = NOW
        true = True if self.server.backend == "postgresql" else 1
        self.insert(
            "neutron",
            "agents",
            id=agent,
            agent_type="Open vSwitch agent",
            binary="neutron-openvswitch-agent",
            topic="N/A",
            host=host,
            admin_state_up=true,
            created_at=now,
            started_at=now,
            heartbeat_timestamp=now,
            configurations="{}",
            load=0,
        )

    def bound_port(self, port: str, host: str) -> None:
        """A port that is bound to a host, as neutron stores it."""
        self.bound_ports({port: host})

    def bound_ports(self, ports: dict[str, str]) -> None:
        """Ports, each bound to its host."""
        bindings = [{"port_id": port, "host": host, "vif_type": "ovs"} for port, host in ports.items()]
        levels = [{"port_id": port, "host": host, "level": 0, "driver": "ovn"} for port, host in ports.items()]
        with self.server.admin(self.names["neutron"]) as connection:
            for table, rows in (("ml2_port_bindings", bindings), ("ml2_port_binding_levels", levels)):
                connection.execute(sa.insert(sa.table(table, *map(sa.column, rows[0]))), rows)

    def hosts_of(self, table: str) -> list[str]:
        """The host of each row of one of neutron's tables of bindings."""
        source = sa.table(table, sa.column("host"))
        with self.server.admin(self.names["neutron"]) as connection:
            return sorted(connection.execute(sa.select(source.c.host)).scalars())

    def populated(self) -> World:
        """compute1 with two instances, compute2 with one, a zone over both, agents, one cell found by its template."""
        self.cell_mapping(1, "cell0", CELL0, "mysql+pymysql://nobody:nothing@127.0.0.1:1/cell0")
        template = "{scheme}://{username}:{password}@{hostname}:{port}/" + self.names["cell"]
        self.cell_mapping(2, "cell1", CELL1, template)
        self.insert("api", "aggregates", id=1, uuid=uid("aggregate", 1), name="rack")
        self.insert("api", "aggregate_metadata", id=1, key="availability_zone", value="az1", aggregate_id=1)
        for number, host in ((1, "compute1"), (2, "compute2")):
            self.service(number, host)
            self.node(number, host, f"{host}.example")
            self.insert("api", "host_mappings", id=number, cell_id=2, host=host)
            self.insert("api", "aggregate_hosts", id=number, host=host, aggregate_id=1)
            self.agent(uid("agent", number), host)
        self.instance(1, "compute1", "compute1.example")
        self.instance(2, "compute1", "compute1.example")
        self.instance(3, "compute2", "compute2.example")
        return self

    # --- the plan

    def cell_changes(self, new: str = "cn7", node: str = "cn7.example", old: str = "compute1") -> list[RowChange]:
        """What a rename of compute1 does to the cell database."""
        old_node = f"{old}.example"

        def row(table: str, key: int, kind: str, before: dict[str, object], after: dict[str, object]) -> RowChange:
            guard = {**before, "uuid": uid(kind, key), "deleted": 0}
            return RowChange("cell:cell1", table, "id", key, guard, after, f"{kind} {key}")

        return [
            row("services", 1, "service", {"host": old, "binary": "nova-compute"}, {"host": new}),
            row(
                "compute_nodes",
                1,
                "node",
                {"host": old, "hypervisor_hostname": old_node},
                {"host": new, "hypervisor_hostname": node},
            ),
            *[
                row(
                    "instances",
                    key,
                    "instance",
                    {"host": old, "node": old_node, "launched_on": old},
                    {"host": new, "node": node, "launched_on": new},
                )
                for key in (1, 2)
            ],
        ]

    def api_changes(self, new: str = "cn7", old: str = "compute1") -> list[RowChange]:
        """What a rename of compute1 does to the API database."""
        return [
            RowChange("api", "host_mappings", "id", 1, {"host": old}, {"host": new}, "host mapping 1"),
            RowChange(
                "api", "aggregate_hosts", "id", 1, {"host": old, "aggregate_id": 1}, {"host": new}, "member of rack"
            ),
        ]

    def everything(self) -> dict[str, list[tuple[object, ...]]]:
        """All names everywhere, to compare before and after."""
        return {
            "services": self.rows("cell", "services", "host"),
            "nodes": self.rows("cell", "compute_nodes", "host", "hypervisor_hostname"),
            "instances": self.rows("cell", "instances", "host", "node", "launched_on"),
            "mappings": self.rows("api", "host_mappings", "host"),
            "members": self.rows("api", "aggregate_hosts", "host"),
            "agents": self.rows("neutron", "agents", "host"),
        }
