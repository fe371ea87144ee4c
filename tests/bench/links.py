# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long looking at links and repairing them takes in a cell of 10,000 hosts and 1,000,000 instances.

    make bench-links        or:  .venv/bin/python tests/bench/links.py [HOSTS] [INSTANCES PER HOST]

On a private MariaDB, in memory. Told are ratios to the bare work: a SELECT of the same rows, a batched UPDATE. A repair
looks at all links before and after it: these looks are told apart from the repair, and so is how long a transaction of
it was open, which is the longest that its locks were held. "cpu" is processor time of this process and of the server
together: on a machine that is busy otherwise, ratios of that say more than ratios of seconds. With
NOVA_MANAGE=/environment/bin/nova-manage (of Nova 34)
its online data migration is timed over the same rows too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".build" / "dev"), str(ROOT / "tests" / "integration_db"), str(ROOT / "tests" / "bench")]

import databases  # noqa: E402
import link_runs  # noqa: E402
import servers  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from world import World  # noqa: E402

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import links  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as actions  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.links import steps as link_rows  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import links as link_reads  # noqa: E402

#: Rows that the repairs are compared over.
REPAIRED = 20_000
#: Looks and selects in turns; seconds that the server gets to clean up before them.
TURNS, SETTLE = 2, 120
BARE = (
    "SELECT id, uuid, display_name, host, node, compute_id, vm_state, task_state FROM instances WHERE deleted = 0",
    (
        "SELECT id, uuid, host, hypervisor_hostname, service_id, hypervisor_type, host_ip, mapped, deleted FROM "
        "compute_nodes WHERE deleted = 0"
    ),
    "SELECT id, uuid, host, `binary`, version, disabled, disabled_reason, forced_down FROM services WHERE deleted = 0",
    "SELECT instance_uuid FROM migrations WHERE deleted = 0 AND status = 'running'",
)
SPOIL = (
    "UPDATE instances SET compute_id = NULL WHERE id % 100 = 1",
    "UPDATE instances SET compute_id = 99999999 WHERE id % 200 = 2",
    "UPDATE instances SET compute_id = if(compute_id = 11, 12, 11) WHERE id % 200 = 4 AND id > 10000",
    "UPDATE instances SET node = 'gone.example' WHERE id % 1000 = 5",
    "UPDATE compute_nodes SET service_id = NULL WHERE id % 100 = 1",
)
REPAIR_BARE = (
    "UPDATE instances i JOIN compute_nodes cn ON cn.host = i.host AND cn.hypervisor_hostname = i.node "
    "AND cn.deleted = 0 SET i.compute_id = cn.id WHERE i.deleted = 0 AND i.compute_id IS NULL AND i.task_state IS NULL "
    "AND i.id IN ({})"
)


@dataclasses.dataclass
class Spent:
    """Seconds, and processor time of this process and of the server."""

    seconds: float
    cpu: float

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.seconds - other.seconds, self.cpu - other.cpu)

    def __truediv__(self, other: Spent) -> str:  # type: ignore[misc]
        """Tell the ratio."""
        return f"{self.seconds / other.seconds:.2f} (cpu {self.cpu / other.cpu:.2f})"

    def __str__(self) -> str:
        return f"{self.seconds:8.2f} s, cpu {self.cpu:8.2f} s"


SERVERS: list[int] = []


def now() -> Spent:
    ticks = 0
    for pid in SERVERS:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    mine = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(one.ru_utime + one.ru_stime for one in mine)
    return Spent(time.monotonic(), cpu + ticks / os.sysconf("SC_CLK_TCK"))


def timed(what: str, function: t.Callable[[], t.Any]) -> tuple[Spent, t.Any]:
    start = now()
    result = function()
    spent = now() - start
    print(f"{what:70} {spent}", flush=True)
    return spent, result


def bare_select(world: World) -> int:
    """The same rows, streamed to this process and thrown away."""
    count = 0
    with sa.create_engine(world.url("cell")).connect() as connection:
        for statement in BARE:
            rows = connection.execute(sa.text(statement), execution_options={"yield_per": 5000})
            count += sum(1 for _row in rows)
    return count


def audit(world: World) -> int:
    read = link_reads.read_links(world.options())
    bundle = facts.Bundle(facts.SCHEMA, read.read_at, {}, {}, None, None, read)
    found = links.check(bundle)
    assert [cell.unread for cell in read.cells or ()] == [[]]
    return len(found.findings)


def child(task: str, world: World) -> None:
    """Audit in a process of its own: its memory is then this task's alone."""
    name, server = world.names["cell"], world.server
    code = (
        "import sys, resource; sys.path[:0] = sys.argv[3].split(':');"
        "from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import links as link_reads;"
        "from ansible_collections.stackguard.nova.plugins.module_utils.model import facts;"
        "from ansible_collections.stackguard.nova.plugins.module_utils.hazards import links;"
        "read = link_reads.read_links({'nova_cell_db_urls': {'cell1': sys.argv[1]}});"
        "links.check(facts.Bundle(1, '', {}, {}, None, None, read));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    argv = [sys.executable, "-c", code, server.url(name), task, ":".join(sys.path[:4])]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    print(f"{'':10}{task}: at most {done.stdout.strip()} MiB")


def settled(world: World) -> None:
    """Wait until the server has cleaned up after the last change: that is nobody's look."""
    length = (
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_history_list_length'"
    )
    end = time.monotonic() + SETTLE
    while time.monotonic() < end and int(world.server.run(length)[0][0]) > 100:
        time.sleep(1)


def look(world: World, what: str) -> int:
    """Look and select in turns, and tell the ratio of the best of each; return the findings."""
    settled(world)
    ours, bare = [], []
    for _ in range(TURNS):
        spent, found = timed(f"{what}: audit", lambda: audit(world))
        ours.append(spent)
        spent, rows = timed(f"{what}: SELECT of the same rows", lambda: bare_select(world))
        bare.append(spent)
    best = [Spent(min(one.seconds for one in some), min(one.cpu for one in some)) for some in (ours, bare)]
    print(f"{'':10}{rows} rows, {found} findings, ratio {best[0] / best[1]}", flush=True)
    return int(found)


def spoil(world: World, *statements: str) -> None:
    for statement in statements:
        world.server.run(statement, world.names["cell"])


def null_rows(world: World) -> None:
    spoil(
        world, f"UPDATE instances SET compute_id = NULL WHERE deleted = 0 AND id > 10000 ORDER BY id LIMIT {REPAIRED}"
    )


def mend(world: World) -> None:
    spoil(
        world,
        "UPDATE instances i JOIN compute_nodes c ON c.host = i.host SET i.node = c.hypervisor_hostname, "
        "i.compute_id = c.id WHERE i.compute_id IS NULL OR i.compute_id <> c.id OR i.node <> c.hypervisor_hostname",
        "UPDATE compute_nodes SET service_id = id",
    )


@contextlib.contextmanager
def told_apart(owner: object, names: tuple[str, ...], spent: list[Spent]) -> t.Iterator[None]:
    """Note what each call of these functions takes."""

    def of(function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
        def call(*args: t.Any, **more: t.Any) -> t.Any:
            start = now()
            try:
                return function(*args, **more)
            finally:
                spent.append(now() - start)

        return call

    before = {name: getattr(owner, name) for name in names}
    try:
        for name, function in before.items():
            setattr(owner, name, of(function))
        yield
    finally:
        for name, function in before.items():
            setattr(owner, name, function)


def repair(world: World) -> tuple[list[Spent], list[Spent]]:
    """Return what each look took, and each transaction that locks rows."""
    looks: list[Spent] = []
    locked: list[Spent] = []
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as directory,
        told_apart(actions, ("_judge", "_repaired"), looks),
        told_apart(link_rows, ("_apply",), locked),
    ):
        state = link_runs.State(pathlib.Path(directory))
        result = link_runs.repair_rows(
            link_runs.run(world.options(), state), link_runs.request("SG211", limit=2_000_000)
        )
    assert result["counts"]["changed"] == REPAIRED, result["counts"]
    return looks, locked


def bare_update(world: World) -> None:
    """The same rows in batches of 1,000, each one transaction."""
    rows = world.server.run("SELECT id FROM instances WHERE deleted = 0 AND compute_id IS NULL", world.names["cell"])
    keys = [str(row[0]) for row in rows]
    for start in range(0, len(keys), 1000):
        world.server.run(REPAIR_BARE.format(", ".join(keys[start : start + 1000])), world.names["cell"])


def online_migration(world: World, program: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(f"[database]\nconnection = {world.url('cell')}\n[api_database]\nconnection = {world.url('api')}\n")
        config.flush()
        env = {**os.environ, "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"}
        argv = [program, "--config-file", config.name, "db", "online_data_migrations", "--max-count", "1000"]
        for _ in range(REPAIRED // 1000 + 1):
            done = subprocess.run(argv, env=env, capture_output=True, text=True)
            if done.returncode != 1:
                break
    left = world.server.run(
        "SELECT count(*) FROM instances WHERE deleted = 0 AND compute_id IS NULL", world.names["cell"]
    )
    print(f"{'':10}exit {done.returncode}, {left[0][0]} rows left. {done.stderr.strip()[-300:]}")


def main() -> None:
    """Fill, look, repair."""
    hosts, per_host = (int(value) for value in (sys.argv[1:] or ["10000", "100"]))
    server = servers.MariaDb()
    try:
        server.start()
        SERVERS.append(server.process.pid)
        world = World(server, "34").populated()
        timed(f"filling: {hosts} hosts, {hosts * per_host} instances", lambda: databases.fill(world, hosts, per_host))
        mend(world)
        assert look(world, "healthy") == 0
        spoil(world, *SPOIL)
        look(world, "spoilt (2.2 %)")
        child("spoilt: audit", world)
        mend(world)
        spoil(world, "UPDATE instances SET compute_id = NULL")
        look(world, "every compute_id NULL")
        child("every compute_id NULL: audit", world)
        mend(world)
        settled(world)
        repairs(world)
    finally:
        server.stop()


def repairs(world: World) -> None:
    null_rows(world)
    whole, apart = timed(f"repair of {REPAIRED} rows, looks before and after included", lambda: repair(world))
    looks, locked = apart
    mine = whole - looks[0] - looks[1]
    for name, spent in (("look before", looks[0]), ("look after", looks[1]), ("the repair itself", mine)):
        print(f"{'':10}{name:60} {spent}")
    print(f"{'':10}{len(locked)} transactions, the longest open for {max(one.seconds for one in locked):.2f} s")
    null_rows(world)
    bare, _nothing = timed(f"bare batched UPDATE of {REPAIRED} rows", lambda: bare_update(world))
    print(f"{'':10}ratio {whole / bare}, without the looks {mine / bare}")
    program = os.environ.get("NOVA_MANAGE")
    if program:
        null_rows(world)
        nova, _nothing = timed("nova-manage db online_data_migrations", lambda: online_migration(world, program))
        print(f"{'':10}ratio of the repair to it {whole / nova}, without the looks {mine / nova}")


if __name__ == "__main__":
    main()
