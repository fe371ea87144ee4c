# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the volumes of 1,000 servers, against Nova's own list of these servers: ``make bench-volumes``.

On a lab with Cinder (STACKGUARD_LAB_INSTANCE, ``lab/lab up --cinder``) in which one server has three volumes (``lab/lab
guests create 1 --volume --data-volume --data-volume``). Its rows in the databases of Nova and Cinder are copied 999
times; the APIs are the real ones. Printed are the least and the median of STACKGUARD_BENCH_ROUNDS (5) readings each, in
turns, and how the medians relate. ``lab/lab reset`` gives the lab back.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".build" / "dev"), str(ROOT / "tests")]

from labkit import lab as labs  # noqa: E402

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (  # noqa: E402
    block_storage,
    http,
    server_records,
)

ROUNDS = int(os.environ.get("STACKGUARD_BENCH_ROUNDS") or 5)
SERVERS, VOLUMES = 1000, 3
#: Tables whose rows belong to a server, by database, and the columns that hold its uuid or a volume's or row's own.
TABLES = (
    ("cell1", "instances", ("uuid",), "uuid"),
    ("cell1", "instance_extra", ("instance_uuid",), "instance_uuid"),
    ("cell1", "instance_info_caches", ("instance_uuid",), "instance_uuid"),
    ("cell1", "instance_system_metadata", ("instance_uuid",), "instance_uuid"),
    ("cell1", "block_device_mapping", ("uuid", "instance_uuid", "volume_id", "attachment_id"), "instance_uuid"),
    ("api", "instance_mappings", ("instance_uuid",), "instance_uuid"),
    ("api", "request_specs", ("instance_uuid",), "instance_uuid"),
    ("cinder", "volumes", ("id",), "id"),
    ("cinder", "volume_attachment", ("id", "volume_id", "instance_uuid"), "volume_id"),
)


def copy(lab, database, table, uuids, key, wanted):
    """Copy rows: the first eight digits of a uuid become the number of the copy."""
    names = [row["Field"] for row in lab.sql(database, f"SHOW COLUMNS FROM {table}")]
    kept = [name for name in names if name not in {"id", "internal_id"} - set(uuids)]
    new = [f"CONCAT(LPAD(HEX(seq), 8, '0'), SUBSTR({name}, 9))" if name in uuids else f"t.`{name}`" for name in kept]
    columns, marks = ", ".join(f"`{name}`" for name in kept), ", ".join(["%s"] * len(wanted))
    source = f"{table} t, seq_1_to_{SERVERS - 1} WHERE t.{key} IN ({marks})"
    lab.sql(database, f"INSERT INTO {table} ({columns}) SELECT {', '.join(new)} FROM {source}", *wanted)


def copied(lab):
    """Let there be as many servers as wanted."""
    version = server_records.servers_microversion(lab.cloud)
    first = [one for one in server_records.list_servers(lab.cloud, version).servers if len(one.volumes) == VOLUMES]
    if len(first) == 1:
        for database, table, uuids, key in TABLES:
            copy(lab, database, table, uuids, key, first[0].volumes if database == "cinder" else [first[0].id])
    return version


def main() -> None:
    lab = labs.current()
    version = copied(lab)
    seconds: dict[str, list[float]] = {"servers": [], "volumes": []}
    catalog = http.list_catalog(lab.cloud)
    for _round in range(ROUNDS):
        begun = time.monotonic()
        listed = [one for one in server_records.list_servers(lab.cloud, version).servers if one.volumes]
        seconds["servers"].append(time.monotonic() - begun)
        begun = time.monotonic()
        found = block_storage.read_block_storage(lab.cloud, listed, catalog, whole=False)
        seconds["volumes"].append(time.monotonic() - begun)
        assert len(found.volumes or ()) == VOLUMES * len(listed), (len(listed), found.unread)
        assert not found.unread, found.unread
    for name, taken in seconds.items():
        print(f"{name}: least {min(taken):.2f} s, median {statistics.median(taken):.2f} s")
    ratio = statistics.median(seconds["volumes"]) / statistics.median(seconds["servers"])
    print(f"{len(listed)} servers with {VOLUMES} volumes each: {ratio:.2f} times the servers' own list")


if __name__ == "__main__":
    main()
