# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers that every test uses, and the database users with exactly the documented rights."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from . import waiting

NEW = "cn-rack7.example"
#: Six on the host that is renamed, five of them running; one on its neighbour in the same zone.
WANTED = (
    ("plain", ("3", "--on", "compute1")),
    ("swap", ("1", "--on", "compute1", "--swap", "64")),
    ("ephemeral", ("1", "--on", "compute1", "--ephemeral", "1")),
    ("stopped", ("1", "--on", "compute1", "--stopped")),
    ("elsewhere", ("1", "--on", "compute2")),
)


def create(lab, prefix, *args):
    done = lab.command("guests", "create", *args, "--name-prefix", prefix, "--json", timeout=1800)
    return json.loads(done.stdout)


def make(lab):
    """Boot what is missing of WANTED; return every server by name."""
    have = {row["name"] for row in every(lab).values()}
    missing = [(prefix, args) for prefix, args in WANTED if f"{prefix}1" not in have]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda entry: create(lab, entry[0], *entry[1]), missing))
    return {row["name"]: row for row in every(lab).values()}


def every(lab):
    return {row["id"]: row for row in json.loads(lab.command("guests", "list", "--json").stdout)}


def idle(lab):
    """Whether no server is in the middle of anything."""
    return all(row["task"] is None and row["status"] != "BUILD" for row in every(lab).values())


def wait_for(lab, identity, status, timeout=180, **expected):
    """Wait until a server has a status and no task. An ERROR that was not asked for ends the wait at once."""

    def seen():
        server = lab.server(identity)
        assert server["status"] != "ERROR" or status == "ERROR", f"{server['name']}: {server.get('fault')}"
        here = all(server[f"OS-EXT-SRV-ATTR:{key}"] == value for key, value in expected.items())
        return server if server["status"] == status and server["OS-EXT-STS:task_state"] is None and here else None

    return waiting.until(lambda: f"{status} {expected}, is {lab.server(identity)['status']}", seen, timeout)


def compute_unit(lab, host):
    """What starts nova-compute on a host: a package's unit, or that of kolla-ansible's container."""
    return "kolla-nova_compute-container" if lab.info["hosts"][host].get("containers") else "nova-compute"


def reports(lab, host):
    """How often nova-compute of a host has reported. It begins when its start has ended, forced down or not."""
    return lab.value("cell1", "SELECT report_count FROM services WHERE host = %s AND deleted = 0", host)


def wait_report(lab, host, before, timeout=180):
    """Wait until nova-compute has ended its start. ``before``: its reports while it was stopped."""
    waiting.until(f"a report of nova-compute on {host}", lambda: reports(lab, host) > before or None, timeout, 2)


def wait_compute(lab, host, timeout=120, since=""):
    """Wait until Nova takes nova-compute of a host for up: also for a minute after it was stopped.

    ``since``: it must have reported then or later; UTC, ISO 8601.
    """

    def up():
        service = lab.service(host)
        heard = service and service["state"] == "up" and str(service["updated_at"]) >= since
        return service if heard else None

    return waiting.until(lambda: f"nova-compute up on {host}: {lab.service(host)}", up, timeout)


# --- database users -------------------------------------------------------------------------------------------

SCHEMAS = {"api": "nova_api", "neutron": "neutron"}
PASSWORD = "grant-test-5e1f0c7d"


def grant(lab, user, grants, without=None):
    """Make a database user with these rights (kind, table, columns, action) and no other; return its URLs."""
    lab.sql("api", f"DROP USER IF EXISTS '{user}'@'%%'" % ())
    lab.sql("api", f"CREATE USER '{user}'@'%%' IDENTIFIED BY '{PASSWORD}'" % ())
    for kind, table, columns, action in grants:
        if (kind, table, action) == without:
            continue
        for schema in [f"nova_{cell}" for cell in lab.info["cells"]] if kind == "cell" else [SCHEMAS[kind]]:
            known = lab.sql(
                "api",
                "SELECT column_name AS c FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
                schema,
                table,
            )
            # Older releases lack some columns.
            names = ", ".join(f"`{column}`" for column in columns if column in {row["c"] for row in known})
            if names:
                lab.sql("api", f"GRANT {action.upper()} ({names}) ON `{schema}`.`{table}` TO '{user}'@'%%'" % ())
    return urls(lab, user)


def urls(lab, user):
    base = f"mysql+pymysql://{user}:{PASSWORD}@{lab.info['mysql_host']}:{lab.info['mysql_port']}"
    return {
        "nova_api_db_url": f"{base}/nova_api",
        "nova_cell_db_urls": {cell: f"{base}/nova_{cell}" for cell in lab.info["cells"]},
        "neutron_db_url": f"{base}/neutron",
    }
