# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long reading and renaming take in a cell of 10,000 hosts and 1,000,000 instances, on a private MariaDB.

    make bench-databases        or:  .venv/bin/python tests/bench/databases.py [HOSTS] [INSTANCES PER HOST]

A tenth as many instances again are soft-deleted. The database is in memory: what is measured is the work, not a disk.
"""

from __future__ import annotations

import pathlib
import resource
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".build" / "dev"), str(ROOT / "tests" / "integration_db")]

import servers  # noqa: E402
from world import World, uid  # noqa: E402

from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova  # noqa: E402

#: One host has this many instances: far more than a real one.
CROWDED = 2000


FILL = """
INSERT INTO services (id, uuid, host, `binary`, topic, version, report_count, deleted)
SELECT seq + 10, uuid(), concat('compute', seq + 10), 'nova-compute', 'compute', 74, 1, 0 FROM seq_1_to_{hosts};
INSERT INTO compute_nodes (id, uuid, host, hypervisor_hostname, service_id, vcpus, memory_mb, local_gb, vcpus_used,
memory_mb_used, local_gb_used, hypervisor_type, hypervisor_version, cpu_info, mapped, deleted)
SELECT seq + 10, uuid(), concat('compute', seq + 10), concat('compute', seq + 10, '.example'), seq + 10, 64, 1, 1, 1, 1,
1, 'QEMU', 1, repeat('x', 2000), 1, 0 FROM seq_1_to_{hosts};
INSERT INTO instances (id, uuid, display_name, project_id, host, node, launched_on, compute_id, vm_state, power_state,
key_data, user_data, deleted, availability_zone)
SELECT seq + 10000, uuid(), concat('guest', seq), concat('project', seq % 500), concat('compute', seq % {hosts} + 11),
concat('compute', seq % {hosts} + 11, '.example'), concat('compute', seq % {hosts} + 11), seq % {hosts} + 11, 'active',
1, repeat('k', 400), repeat('u', 600), if(seq % 11 = 0, seq + 10000, 0), 'nova' FROM
seq_1_to_{instances};
INSERT INTO instances (id, uuid, host, node, launched_on, compute_id, deleted, availability_zone)
SELECT seq + 10, concat('crowd-', seq), 'compute1', 'compute1.example', 'compute1', 1, 0, 'nova' FROM seq_1_to_{crowd};
INSERT INTO migrations (id, uuid, source_compute, dest_compute, source_node, dest_node, status, migration_type, deleted)
SELECT seq, uuid(), concat('compute', seq % {hosts} + 11), concat('compute', seq % 97 + 11), 'x', 'y', 'completed',
'live-migration', 0 FROM seq_1_to_{migrations};
ANALYZE TABLE services, compute_nodes, instances, migrations
"""


def fill(world: World, hosts: int, per_host: int) -> None:
    """Rows like real ones, made on the server."""
    counts = {"hosts": hosts, "instances": hosts * per_host * 11 // 10, "crowd": CROWDED - 2, "migrations": hosts * 20}
    for statement in FILL.format(**counts).split(";"):
        world.server.run(statement, world.names["cell"])


def crowd(world: World) -> list[RowChange]:
    """The plan of a rename of the crowded host."""
    changes = world.cell_changes()
    template = changes[2]
    for number in range(1, CROWDED - 1):
        before = {**template.before, "uuid": f"crowd-{number}"}
        changes.append(RowChange("cell:cell1", "instances", "id", number + 10, before, template.after, "instance"))
    return changes


def timed(what: str, function: object) -> object:
    start = time.monotonic()
    result = function()  # type: ignore[operator]
    print(f"{what:60} {time.monotonic() - start:8.2f} s", flush=True)
    return result


def bystander(world: World, stop: threading.Event, waits: list[float]) -> None:
    """Another host's nova-compute: updates its own instances all the time. How long does it ever wait?"""
    table = world.names["cell"]
    while not stop.is_set():
        start = time.monotonic()
        world.server.run("UPDATE instances SET updated_at = utc_timestamp() WHERE id = 10500", table)
        waits.append(time.monotonic() - start)
        time.sleep(0.005)


def main() -> None:
    """Fill, read, rename, rename back."""
    hosts, per_host = (int(value) for value in (sys.argv[1:] or ["10000", "100"]))
    server = servers.MariaDb()
    try:
        server.start()
        world = World(server, "34").populated()
        timed(f"filling: {hosts} hosts, {hosts * per_host} instances", lambda: fill(world, hosts, per_host))
        options = world.options()
        timed(
            "read one host (100 instances)",
            lambda: nova.read_databases(options, ["compute100", "compute100.example"]),
        )
        names = ["compute1", "compute1.example"]
        timed(f"read a host of {CROWDED} instances", lambda: nova.read_databases(options, names))
        renames(world)
        everything = timed("read everything", lambda: nova.read_databases(options))
        instances = everything.cells[0].instances  # type: ignore[attr-defined]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{'':10}{len(instances)} instances, {memory} MiB at most")
        assert uid("instance", 1) == instances[0].uuid
    finally:
        server.stop()


def renames(world: World) -> None:
    """There, again and back, while another host writes."""
    changes, url = crowd(world), world.url("cell")
    back = [change.reversed() for change in changes]
    old, new = (nova.Completeness(name, f"{name}.example") for name in ("compute1", "cn7"))
    stop, waits = threading.Event(), []
    thread = threading.Thread(target=bystander, args=(world, stop, waits))
    thread.start()
    timed(f"rename: {len(changes)} rows, checked to be complete", lambda: nova.apply_row_changes(url, changes, old))
    timed("the same again: nothing to do", lambda: nova.apply_row_changes(url, changes, old))
    timed("rename back", lambda: nova.apply_row_changes(url, back, new))
    stop.set()
    thread.join()
    print(f"{'':10}another host's writes meanwhile: {len(waits)}, longest {max(waits):.2f} s")


if __name__ == "__main__":
    main()
