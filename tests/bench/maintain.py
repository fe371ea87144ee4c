# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of hosts against the same live migrations by API: ``make bench-maintain``.

On a lab of three hosts (STACKGUARD_LAB_INSTANCE), all in one zone, with STACKGUARD_BENCH_GUESTS (3) guests on each.
maintain_hosts goes over the hosts with a command that does nothing. Then all guests are put where they were, and the
same live migrations are asked of Nova in the same order, as many at a time from a host. Over the hosts, from the first
request to the last guest gone: the seconds of both, and how they relate. The moves of both are timed by Nova's records.
"""

from __future__ import annotations

import datetime
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".build" / "dev"), str(ROOT / "tests")]

from labkit import guests as guestkit  # noqa: E402
from labkit import lab as labs  # noqa: E402
from labkit import playbook, zoning  # noqa: E402
from labkit.maintaining import put_into  # noqa: E402

GUESTS = int(os.environ.get("STACKGUARD_BENCH_GUESTS") or 3)
HOSTS = ("compute1", "compute2", "compute3")
#: From one host at a time, as the collection does it.
AT_ONCE = 2
MOVES = """SELECT instance_uuid, source_compute, dest_compute, created_at, updated_at FROM migrations
           WHERE migration_type = 'live-migration' AND status = 'completed' AND id > %s ORDER BY id"""


def last(lab):
    return lab.value("cell1", "SELECT COALESCE(MAX(id), 0) FROM migrations")


def seconds(rows):
    """Over the hosts, from the first request to the last guest gone."""
    total = datetime.timedelta()
    for host in HOSTS:
        mine = [row for row in rows if row["source_compute"] == host]
        total += max(row["updated_at"] for row in mine) - min(row["created_at"] for row in mine)
    return total.total_seconds()


def move(lab, todo):
    """Ask for live migrations (uuid, host), so many at a time, in their order."""
    waiting, under_way = list(todo), {}
    while waiting or under_way:
        while waiting and len(under_way) < AT_ONCE:
            uuid, host = waiting.pop(0)
            lab.action(uuid, "os-migrateLive", {"host": host, "block_migration": "auto"}, "2.68")
            under_way[uuid] = host
        time.sleep(0.5)
        for uuid, host in list(under_way.items()):
            server = lab.server(uuid)
            if server["OS-EXT-STS:task_state"] is None:
                assert server["OS-EXT-SRV-ATTR:host"] == host, server
                del under_way[uuid]


def main() -> None:
    lab = labs.current()
    zoning.tidy(lab)
    put_into(lab, "az1")
    try:
        for host in HOSTS:
            guestkit.create(lab, f"g{host[-1]}-", str(GUESTS), "--on", host)
        home = {row["id"]: row["host"] for row in guestkit.every(lab).values()}
        before = last(lab)
        runs = playbook.Playbooks(lab, {"cloud": "lab"})
        given = {"maintain_hosts": list(HOSTS), "maintain_command": "true"}
        own = {"stackguard_state_dir": str(zoning.state_dir(lab))}
        runs.finish(runs.start("maintain_hosts", (), variables={**own, **given}), timeout=3600).ok()
        rows = lab.sql("cell1", MOVES, before)
        guarded = seconds(rows)
        back = [row for row in guestkit.every(lab).values() if row["host"] != home[row["id"]]]
        move(lab, [(row["id"], home[row["id"]]) for row in back])
        before = last(lab)
        for host in HOSTS:
            zoning.enable(lab, host, "disabled", "bench")
            move(lab, [(row["instance_uuid"], row["dest_compute"]) for row in rows if row["source_compute"] == host])
            zoning.enable(lab, host)
        bare = seconds(lab.sql("cell1", MOVES, before))
    finally:
        zoning.tidy(lab)
        put_into(lab, "az2")
    print(
        f"{len(rows)} live migrations off {len(HOSTS)} hosts: by API {bare:.0f} s; in a series {guarded:.0f} s: "
        f"**{guarded / bare:.2f} times**"
    )


if __name__ == "__main__":
    main()
