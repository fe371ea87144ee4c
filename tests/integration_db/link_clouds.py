# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrupted clouds, each made from a seed, that know which findings they hold, and databases to put them into.

Every corruption takes a host or an instance that no other one has touched, so that what is to be found adds up. Around
them stands what looks like a corruption and is none: deleted rows, tasks in progress, ended migrations, ironic.
"""

from __future__ import annotations

import random
import typing as t

import servers
import sqlalchemy as sa
from world import NODE_NEEDS, World, uid

CELL2 = "22222222-2222-4222-8222-222222222222"
#: Referring tables first.
TABLES = ("pci_devices", "migrations", "instances", "compute_nodes", "services")

Row = dict[str, t.Any]


class CellRows:
    """The rows of one cell, as they will be inserted."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rows: dict[str, list[Row]] = {table: [] for table in TABLES}
        self.untouched: list[str] = []  # hosts that no corruption took

    def add(self, table: str, **values: t.Any) -> Row:
        row = {"id": 1000 * self.number + len(self.rows[table]) + 1, **values}
        self.rows[table].append(row)
        return row

    def of(self, table: str, **values: t.Any) -> list[Row]:
        return [row for row in self.rows[table] if all(row[name] == value for name, value in values.items())]

    def name(self, kind: str, number: int) -> str:
        return uid(f"{kind}-{self.number}", number)

    # --- rows in order

    def service(self, host: str, binary: str = "nova-compute", **changes: t.Any) -> Row:
        row = self.add("services", host=host, binary=binary, topic=binary, version=74, report_count=1, deleted=0)
        return _changed(
            row, {"uuid": self.name("service", row["id"]), "disabled": False, "forced_down": False}, changes
        )

    def node(self, host: str, name: str, service: int | None, **changes: t.Any) -> Row:
        row = self.add("compute_nodes", **NODE_NEEDS)
        known = {"host": host, "hypervisor_hostname": name, "service_id": service, "host_ip": "192.0.2.1"}
        return _changed(row, {"uuid": self.name("node", row["id"])}, known, changes)

    def instance(self, node: Row | None, **changes: t.Any) -> Row:
        row = self.add("instances", deleted=0, vm_state="active", power_state=1, task_state=None, project_id="p")
        link = node or {"host": None, "hypervisor_hostname": None, "id": None}
        names = {"host": link["host"], "node": link["hypervisor_hostname"], "compute_id": link["id"]}
        labels = {"uuid": self.name("instance", row["id"]), "display_name": f"guest{row['id']}"}
        return _changed(row, {"launched_on": link["host"]}, names, labels, changes)

    def migration(self, instance: Row, source: Row, dest: Row, status: str, **changes: t.Any) -> Row:
        row = self.add("migrations", deleted=0, migration_type="resize", status=status, instance_uuid=instance["uuid"])
        ends = {
            "source_compute": source["host"],
            "source_node": source["hypervisor_hostname"],
            "dest_compute": dest["host"],
            "dest_node": dest["hypervisor_hostname"],
            "dest_compute_id": dest["id"],
        }
        return _changed(row, {"uuid": self.name("migration", row["id"])}, ends, changes)

    def pci(self, node: Row, status: str, deleted: int = 0) -> Row:
        device: Row = {"compute_node_id": node["id"], "product_id": "1", "vendor_id": "2", "dev_type": "type-PCI"}
        row = self.add("pci_devices", **device, dev_id="d", label="l", status=status, deleted=deleted, extra_info="{}")
        return _changed(row, {"address": f"0000:00:{row['id'] % 200:02x}.0"})


def _changed(row: Row, *layers: Row) -> Row:
    for layer in layers:
        row.update(layer)
    return row


class Cloud:
    """A cloud of one or two cells. ``expected``: (code, object id) of what is wrong; ``busy``: of what is in flight."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.expected: set[tuple[str, str]] = set()
        self.busy: set[tuple[str, str]] = set()
        self.used: set[str] = set()  # uuids of instances that a corruption took
        self.cells = [CellRows(number) for number in range(self.random.choice((1, 2, 2)))]
        for cell in self.cells:
            self._healthy(cell)
        for _ in range(self.random.randint(0, 3)):
            self.random.choice(DECOYS)(self, self.random.choice(self.cells))
        for _ in range(self.random.randint(0, 7)):
            self.random.choice(CORRUPTIONS)(self, self.random.choice(self.cells))

    def _healthy(self, cell: CellRows) -> None:
        cell.service(f"controller{cell.number}", "nova-conductor")
        for number in range(1, self.random.randint(3, 6) + 1):
            host = f"compute{cell.number}-{number}"
            row = cell.service(host)
            node = cell.node(host, f"{host}.example", row["id"])
            cell.untouched.append(host)
            for _ in range(self.random.randint(1, 4)):
                cell.instance(node)

    # --- what corruptions take

    def host(self, cell: CellRows) -> tuple[Row, Row] | None:
        """A service and node that nothing touched, and none of whose instances was touched."""
        for host in self.random.sample(cell.untouched, len(cell.untouched)):
            if not {row["uuid"] for row in cell.of("instances", host=host)} & self.used:
                cell.untouched.remove(host)
                (service,) = cell.of("services", host=host, binary="nova-compute", deleted=0)
                (node,) = cell.of("compute_nodes", host=host, deleted=0)
                return service, node
        return None

    def instance(self, cell: CellRows) -> tuple[Row, Row] | None:
        """An instance that nothing touched, on a host that nothing touched, and its node."""
        free = [
            row
            for row in cell.rows["instances"]
            if row["host"] in cell.untouched and row["uuid"] not in self.used and not row["deleted"]
        ]
        if not free:
            return None
        row = self.random.choice(free)
        self.used.add(row["uuid"])
        (node,) = cell.of("compute_nodes", host=row["host"], deleted=0)
        return row, node

    def another(self, cell: CellRows, node: Row) -> Row | None:
        """An existing node of the same cell with other names, of a host that nothing touched, or will."""
        hosts = [host for host in cell.untouched if host != node["host"]]
        if not hosts:
            return None
        host = self.random.choice(hosts)
        cell.untouched.remove(host)
        return cell.of("compute_nodes", host=host, deleted=0)[0]

    def expect(self, *findings: tuple[str, t.Any]) -> None:
        self.expected.update((code, str(key)) for code, key in findings)


# --- corruptions ----------------------------------------------------------------------------------------------


def _node_corruption(spoil: t.Callable[[Cloud, CellRows, Row, Row], None]) -> t.Callable[[Cloud, CellRows], None]:
    def corrupt(cloud: Cloud, cell: CellRows) -> None:
        found = cloud.host(cell)
        if found is not None:
            spoil(cloud, cell, *found)

    return corrupt


def _instance_corruption(spoil: t.Callable[[Cloud, CellRows, Row, Row], None]) -> t.Callable[[Cloud, CellRows], None]:
    def corrupt(cloud: Cloud, cell: CellRows) -> None:
        found = cloud.instance(cell)
        if found is not None:
            spoil(cloud, cell, *found)

    return corrupt


@_node_corruption
def n1(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    node["service_id"] = None
    cloud.expect(("SG201", node["uuid"]))


@_node_corruption
def n2(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    gone = cell.service(node["host"]) if cloud.random.random() < 0.5 else {"id": 9999}
    gone["deleted"] = gone["id"]
    node["service_id"] = gone["id"]
    cloud.expect(("SG202", node["uuid"]))


@_node_corruption
def n3(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    other = cloud.random.choice([row for row in cell.rows["services"] if row is not service and not row["deleted"]])
    if cloud.random.random() < 0.3:
        other = cell.service(node["host"], "nova-scheduler")
    node["service_id"] = other["id"]
    cloud.expect(("SG203", node["uuid"]))


@_node_corruption
def n4(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    if cloud.random.random() < 0.5:
        service["deleted"] = service["id"]
        cloud.expect(("SG202", node["uuid"]), ("SG204", node["uuid"]))
    else:
        service["host"] = service["host"].upper()  # equal to MySQL, and to nobody else
        cloud.expect(("SG203", node["uuid"]), ("SG204", node["uuid"]))


@_node_corruption
def n5_host(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    twin = cell.node(node["host"], f"second.{node['host']}", service["id"])
    cloud.expect(("SG205", node["uuid"]), ("SG205", twin["uuid"]))


def n5_name(cloud: Cloud, cell: CellRows) -> None:
    """The same hypervisor host name twice, mostly in two cells."""
    found, others = cloud.host(cell), cloud.host(cloud.random.choice(cloud.cells))
    if found is None or others is None:
        return
    one, other = found[1], others[1]
    for where in cloud.cells:
        for row in where.of("instances", node=other["hypervisor_hostname"]):
            row["node"] = one["hypervisor_hostname"]
    other["hypervisor_hostname"] = one["hypervisor_hostname"]
    cloud.expect(("SG205", one["uuid"]), ("SG205", other["uuid"]))


@_node_corruption
def n6(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    node["uuid"] = None
    cloud.expect(("SG206", node["id"]))


@_node_corruption
def n7_i3(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    """nova-manage's own flaw: the id of an older, soft-deleted row of the same names."""
    old = cell.node(node["host"], node["hypervisor_hostname"], service["id"])
    old["deleted"] = old["id"]
    mine = cell.of("instances", host=node["host"], deleted=0)
    if not mine:
        return
    for row in cloud.random.sample(mine, cloud.random.randint(1, len(mine))):
        row["compute_id"] = old["id"]
        cloud.expect(("SG213", row["uuid"]))
    cloud.expect(("SG207", old["uuid"]))


@_instance_corruption
def i1(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    instance["compute_id"] = None
    cloud.expect(("SG211", instance["uuid"]))


@_instance_corruption
def i2(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    instance["compute_id"] = 4711
    cloud.expect(("SG212", instance["uuid"]))


@_instance_corruption
def i4(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    other = cloud.another(cell, node)
    if other is not None:
        instance["compute_id"] = other["id"]
        cloud.expect(("SG214", instance["uuid"]))


@_instance_corruption
def i4_names(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    other = cloud.another(cell, node)
    if other is not None:
        instance.update(host=other["host"], node=other["hypervisor_hostname"])
        cloud.expect(("SG214", instance["uuid"]))


@_instance_corruption
def i5(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    kept = cloud.random.choice([{"node": None}, {"compute_id": None}, {}])
    instance.update(host=None, vm_state=cloud.random.choice(["shelved_offloaded", "error", "active"]), **kept)
    cloud.expect(("SG215", instance["uuid"]))


@_instance_corruption
def i6(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    spoilt = cloud.random.choice(["case", "gone", "null"])
    if spoilt == "case":
        instance["host"] = instance["host"].upper()
    else:
        instance["node"] = "gone.example"
    if spoilt == "null":
        instance["compute_id"] = None
    cloud.expect(("SG216", instance["uuid"]), ("SG211" if spoilt == "null" else "SG214", instance["uuid"]))


@_instance_corruption
def i7(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    instance["vm_state"] = "shelved_offloaded"
    cloud.expect(("SG217", instance["uuid"]))


@_instance_corruption
def m1(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    other = cloud.another(cell, node)
    if other is not None:
        wrong = cloud.random.choice([None, other["id"], 4711])
        status = cloud.random.choice(["finished", "migrating", "queued", None])
        row = cell.migration(instance, other, node, status, dest_compute_id=wrong)
        cloud.expect(("SG221", row["uuid"]))


@_node_corruption
def p1(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    old = cell.node(node["host"], f"lost.{node['host']}", service["id"])
    old["deleted"] = old["id"]
    device = cell.pci(old, cloud.random.choice(["claimed", "allocated"]))
    cloud.expect(("SG231", device["id"]))


CORRUPTIONS = (n1, n2, n3, n4, n5_host, n5_name, n6, n7_i3, i1, i2, i4, i4_names, i5, i6, i7, m1, p1)


# --- what is in order -----------------------------------------------------------------------------------------


@_instance_corruption
def deleted_instances(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    for wrong in ({"compute_id": None}, {"compute_id": 4711}, {"host": "gone"}, {"host": None}):
        row = cell.instance(node, **wrong)
        row["deleted"] = row["id"]


@_instance_corruption
def in_task(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    instance.update(compute_id=None, task_state="resize_prep")
    cloud.busy.add(("SG211", instance["uuid"]))


@_instance_corruption
def in_migration(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    other = cloud.another(cell, node)
    if other is not None:
        instance["compute_id"] = other["id"]
        cell.migration(instance, node, other, cloud.random.choice(["migrating", "finished"]))
        cloud.busy.add(("SG214", instance["uuid"]))


@_instance_corruption
def ended_migrations(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    for status in ("confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"):
        cell.migration(instance, node, node, status, dest_compute_id=None)
    cell.migration(instance, node, node, "migrating", dest_compute_id=None, deleted=77)
    cell.migration(instance, node, node, "accepted", dest_node=None, dest_compute_id=None)


@_instance_corruption
def no_host_yet(cloud: Cloud, cell: CellRows, instance: Row, node: Row) -> None:
    cell.instance(None, vm_state="building", task_state="scheduling")
    cell.instance(None, vm_state="shelved_offloaded")
    cell.instance(None, vm_state="error")


@_node_corruption
def retired(cloud: Cloud, cell: CellRows, service: Row, node: Row) -> None:
    old = cell.node(node["host"], node["hypervisor_hostname"], None)
    old["deleted"] = old["id"]
    cell.pci(old, "available")
    cell.pci(old, "allocated", deleted=9)
    cell.pci(node, "allocated")


def ironic(cloud: Cloud, cell: CellRows) -> None:
    """One service with several nodes; an instance whose node has moved to another service."""
    if cell.of("services", host=f"ironic{cell.number}"):
        return
    services = [cell.service(f"ironic{cell.number}{twin}") for twin in ("", "b")]
    for number in range(3):
        name = f"bare{cell.number}-{number}"
        node = cell.node(services[0]["host"], name, services[0]["id"], hypervisor_type="ironic")
        cell.instance(node)
    cell.instance(node, host=services[1]["host"])


DECOYS = (deleted_instances, in_task, in_migration, ended_migrations, no_host_yet, retired, ironic)


# --- databases ------------------------------------------------------------------------------------------------


class Cells:
    """An API database with two cells of Nova 34, filled again and again."""

    def __init__(self, server: servers.Server) -> None:
        self.world = World(server, "34")
        self.world.empty()
        self.names = [self.world.names["cell"], "links_cell2"]
        server.create(self.names[1], "34-cell")
        self.server = server
        for number, name in enumerate(self.names):
            cell = CELL2 if number else "11111111-1111-4111-8111-111111111111"
            self.world.cell_mapping(number + 2, f"cell{number + 1}", cell, server.url(name))
        self._engines = [sa.create_engine(server.url(name)) for name in self.names]
        meta = [sa.MetaData() for _ in self.names]
        self._tables = [
            {table: sa.Table(table, meta[0], autoload_with=engine, resolve_fks=False) for table in TABLES}
            for engine in self._engines[:1]
        ] * 2

    def fill(self, cloud: Cloud) -> None:
        """Put a cloud in the place of whatever was there."""
        for number, engine in enumerate(self._engines):
            with engine.begin() as connection:
                for table in TABLES:
                    connection.execute(sa.delete(self._tables[number][table]))
                rows = cloud.cells[number].rows if number < len(cloud.cells) else {}
                for table in reversed(TABLES):
                    if rows.get(table):
                        connection.execute(sa.insert(self._tables[number][table]), rows[table])

    def rows(self) -> list[dict[str, list[tuple[t.Any, ...]]]]:
        """All rows of all cells, to compare before and after."""
        found = []
        for number, engine in enumerate(self._engines):
            with engine.connect() as connection:
                tables = self._tables[number]
                found.append(
                    {
                        name: [
                            tuple(row)
                            for row in connection.execute(sa.select(tables[name]).order_by(tables[name].c.id))
                        ]
                        for name in TABLES
                    }
                )
        return found

    def options(self) -> dict[str, object]:
        return {"nova_api_db_url": self.world.url("api")}
