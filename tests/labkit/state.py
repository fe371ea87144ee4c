# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operation must not change: databases, files of a host, guests.

All of it is read without the collection, which only says which tables a rename writes.

A snapshot is plain data; :func:`difference` tells two of them apart in words, so that a failed assertion says what
changed instead of printing a cloud.
"""

from __future__ import annotations

import decimal
import json
import re
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue

from .lab import DATABASES

#: Columns that heartbeats and periodic tasks of an idle cloud change. Among them what Nova reports of the machine below
#: the lab: its memory may grow and shrink, the order of its CPU's features is random, and each moves a generation.
#: And what the periodic task of nova-compute counts: a resize undone just before is counted away up to a minute later.
VOLATILE = {
    "*": {"updated_at"},
    "nova_cell1.services": {"report_count", "last_seen_up"},
    "nova_cell1.compute_nodes": {
        "cpu_info",
        "current_workload",
        "disk_available_least",
        "free_disk_gb",
        "free_ram_mb",
        "local_gb",
        "local_gb_used",
        "memory_mb",
        "memory_mb_used",
        "numa_topology",
        "running_vms",
        "stats",
        "vcpus_used",
    },
    "nova_cell1.instance_info_caches": {"network_info"},
    "placement.inventories": {"total", "max_unit"},
    "placement.resource_providers": {"generation"},
    # An agent says "I have started" anew until one report was answered. Whether it was restarted, its process tells.
    "neutron.agents": {"heartbeat_timestamp", "configurations", "load", "started_at"},
}
#: What a restart of nova-compute, or a name that came and went, moves as well: counters, never names.
RESTART = {
    "neutron.standardattributes": {"revision_number"},
    "neutron.agents": {"resource_versions", "resources_synced"},
}
#: Rows that come and go by themselves.
IGNORED = {"nova_cell1.task_log", "neutron.provisioningblocks", "neutron.quotausages", "neutron.reservations"}


def databases(lab, restarted=False):
    """Every row of every table, volatile columns masked: ``{"nova_api.host_mappings": [row, ...]}``."""
    found = {}
    for name, schema in DATABASES.items():
        connection = lab.database(name)
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            cursor.execute(
                "SELECT table_name AS t FROM information_schema.tables WHERE table_schema = %s"
                " AND table_type = 'BASE TABLE'",
                (schema,),
            )
            for table in sorted(row["t"] for row in cursor.fetchall()):
                key = f"{schema}.{table}"
                if key not in IGNORED:
                    cursor.execute(f"SELECT * FROM `{table}`")
                    found[key] = _masked(key, cursor.fetchall(), restarted)
            cursor.execute("COMMIT")
    return found


LOCKING = ("lock", "unlock", "api_lock", "api_unlock")


def _masked(key, rows, restarted):
    # A rename locks the guests and unlocks them: that Nova notes it is all that is left of it.
    rows = [row for row in rows if (row.get("action") or row.get("event")) not in LOCKING]
    hidden = VOLATILE["*"] | VOLATILE.get(key, set()) | (RESTART.get(key, set()) if restarted else set())
    plain = [{column: _plain(value) for column, value in sorted(row.items()) if column not in hidden} for row in rows]
    keys = [row.get("id") or row.get("uuid") or repr(row) for row in plain]
    return dict(zip(keys if len(set(keys)) == len(keys) else map(repr, plain), plain, strict=True))


def _plain(value):
    return float(value) if isinstance(value, decimal.Decimal) else str(value) if value is not None else None


_FILES = r"""
import glob, hashlib, json, os, subprocess
wanted = ["/etc/hosts", "/etc/hostname", "/etc/machine-id", "/var/lib/nova/compute_id"]
for pattern in ("/etc/nova/**", "/etc/neutron/**", "/etc/default/nova*", "/etc/systemd/system/nova*",
                "/etc/systemd/system/neutron*", "/run/systemd/system/nova*", "/run/systemd/system/neutron*",
                "/etc/systemd/system/nova*/*", "/etc/systemd/system/neutron*/*"):
    wanted += glob.glob(pattern, recursive=True)
found = {}
for path in sorted(set(wanted)):
    if os.path.islink(path):
        found[path] = "-> " + os.readlink(path)
    elif os.path.isfile(path):
        about = os.stat(path)
        digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
        found[path] = "%o %d:%d %s" % (about.st_mode, about.st_uid, about.st_gid, digest)
def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode().strip()
found["uname -n"] = os.uname().nodename
found["hostnamectl --static"] = said("hostnamectl", "--static")
found["virsh hostname"] = said("virsh", "hostname")
for unit in ("nova-compute", "neutron-openvswitch-agent"):
    found["is-active " + unit] = said("systemctl", "is-active", unit)
    found["is-enabled " + unit] = said("systemctl", "is-enabled", unit)
    found["process " + unit] = said("systemctl", "show", "--property", "MainPID", "--value", unit)
if os.path.exists("/usr/bin/ovs-vsctl"):
    found["ovs external_ids"] = said("sh", "-c", "ovs-vsctl get Open_vSwitch . external_ids 2>/dev/null")
print(json.dumps(found))
"""


def files(lab, host="compute1", restarted=False):
    """Names, files and units of a host; the units' processes unless a restart is expected."""
    found = lab.python(host, _FILES)
    return {key: value for key, value in found.items() if not (restarted and key.startswith("process "))}


_GUESTS = r"""
import json, os, subprocess
def virsh(*args):
    return subprocess.run(("virsh", "-q") + args, stdout=subprocess.PIPE, check=True).stdout.decode()
processes = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open("/proc/%s/cmdline" % pid).read().split("\0")
        stat = open("/proc/%s/stat" % pid).read()
    except OSError:
        continue
    if "qemu-system" in words[0] and "-uuid" in words:
        processes[words[words.index("-uuid") + 1]] = [int(pid), int(stat.rsplit(")", 1)[1].split()[19])]
found = {}
for uuid in virsh("list", "--all", "--uuid").split():
    state = virsh("domstate", uuid).strip()
    found[uuid] = {"name": virsh("domname", uuid).strip(), "state": state, "process": processes.pop(uuid, None),
                   "xml": virsh("dumpxml", "--security-info", uuid),
                   "inactive_xml": virsh("dumpxml", "--inactive", "--security-info", uuid)}
for uuid, process in processes.items():
    found[uuid] = {"name": "process without a domain", "process": process}
print(json.dumps(found))
"""


def guests(lab, host="compute1"):
    """Every domain of a host by uuid: its state, its QEMU's process id and start time, its whole XML."""
    return lab.python(host, _GUESTS)


def everything(lab, host="compute1", restarted=False):
    """Databases, files and guests, read side by side."""
    with ThreadPoolExecutor(3) as pool:
        parts = {
            "databases": pool.submit(databases, lab, restarted),
            "files": pool.submit(files, lab, host, restarted),
            "guests": pool.submit(guests, lab, host),
        }
        return {name: part.result() for name, part in parts.items()}


def difference(before, after, where=""):
    """Tell two snapshots apart: one line for each thing that differs, none where they are equal."""
    if isinstance(before, dict) and isinstance(after, dict):
        lines = []
        for key in sorted({*before, *after}, key=str):
            lines += difference(before.get(key, "(absent)"), after.get(key, "(absent)"), f"{where}/{key}")
        return lines
    if isinstance(before, str) and isinstance(after, str) and before != after and "\n" in before:
        old, new = before.splitlines(), after.splitlines()
        gone, came = [line for line in old if line not in new], [line for line in new if line not in old]
        return [f"{where}: - {line}" for line in gone] + [f"{where}: + {line}" for line in came]
    return [] if before == after else [f"{where}: {_short(before)} -> {_short(after)}"]


def renamed(snapshot, old, new):
    """Return a snapshot of databases as a rename is to leave it: the new name in every live row, history as it was."""
    return {table: _rows_renamed(table, rows, old, new) for table, rows in snapshot.items()}


def _rows_renamed(table, rows, old, new):
    if table in HISTORY:
        return json.loads(json.dumps(rows))
    kept = {key: row for key, row in rows.items() if _is_history(table, row)}
    text = json.dumps({key: row for key, row in rows.items() if key not in kept})
    for quote in ('"', "'"):
        text = text.replace(f"{quote}{old}{quote}", f"{quote}{new}{quote}")
    return {**json.loads(text), **json.loads(json.dumps(kept))}


def _is_history(table, row):
    if row.get("deleted") not in (None, "0", "False"):
        return True
    return table == "nova_cell1.migrations" and row["status"] in FINAL_MIGRATIONS


def _short(value):
    text = str(value)
    return text if len(text) < 400 else text[:400] + " ..."


def assert_same(before, after, what):
    changed = difference(before, after)
    assert not changed, f"{what}:\n" + "\n".join(changed[:60])


# --- where a name is still written ----------------------------------------------------------------------------

#: Tables that tell what happened: a name in them is history, not a reference.
_TELLS = {
    "nova_cell1.instance_actions": "what was done, and where",
    "nova_cell1.instance_actions_events": "what was done, and where",
    "nova_cell1.instance_faults": "what failed, and where",
    "nova_cell1.task_log": "usage audit, by period",
    "nova_cell1.console_auth_tokens": "short-lived",
    "nova_api.request_specs": "how the server was asked for; every move overwrites it",
    "neutron.alembic_version": "no name",
}


def history():
    """The tables that tell what happened and that no place of the host name has a rename write, each with why."""
    schemas = {"cell": DATABASES["cell1"], "api": DATABASES["api"], "neutron": DATABASES["neutron"]}
    written = {f"{schema}.{table}" for kind, schema in schemas.items() for table in catalogue.written(kind)}
    return {table: why for table, why in _TELLS.items() if table not in written}


HISTORY = history()
FINAL_MIGRATIONS = ("completed", "confirmed", "reverted", "error", "failed", "cancelled")


def written(lab, name, soft_deleted=False):
    """Return where a host name stands as a word in any text of any live row: ``["table.column: value", ...]``."""
    # MariaDB's regular expressions are PCRE; a name inside a longer name is not that name.
    pattern = rf"(?<![A-Za-z0-9.-]){re.escape(name)}(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
    found = []
    for database, schema in DATABASES.items():
        columns = {}
        for row in lab.sql(
            database,
            "SELECT c.table_name AS t, c.column_name AS c FROM information_schema.columns c JOIN"
            " information_schema.tables t USING (table_schema, table_name) WHERE c.table_schema = %s AND"
            " t.table_type = 'BASE TABLE' AND c.data_type IN"
            " ('char','varchar','tinytext','text','mediumtext','longtext','json','enum','binary','varbinary','blob',"
            " 'longblob')",
            schema,
        ):
            columns.setdefault(row["t"], []).append(row["c"])
        known = lab.sql(
            database,
            "SELECT table_name AS t FROM information_schema.columns"
            " WHERE table_schema = %s AND column_name = 'deleted'",
            schema,
        )
        deletable = {row["t"] for row in known}
        for table, names in sorted(columns.items()):
            key = f"{schema}.{table}"
            if key in HISTORY:
                continue
            where = " OR ".join(f"`{column}` REGEXP %s" for column in names)
            live = " AND `deleted` IN (0, '0')" if table in deletable and not soft_deleted else ""
            for row in lab.sql(database, f"SELECT * FROM `{table}` WHERE ({where}){live}", *[pattern] * len(names)):
                if key == "nova_cell1.migrations" and row["status"] in FINAL_MIGRATIONS:
                    continue
                found += [
                    f"{key}.{column}: {_short(row[column])[:200]}"
                    for column in names
                    if row[column] is not None and re.search(pattern, str(row[column]), re.IGNORECASE)
                ]
    return found


# --- what stays the same over a rename ------------------------------------------------------------------------


#: Nova 27 has no compute_id.
INSTANCE_COLUMNS = (
    "id", "uuid", "compute_id", "vm_state", "power_state", "task_state", "availability_zone", "launched_at",
)  # fmt: skip


def identity(lab, host):
    """Ids and uuids of a host's records, its allocations, its zone: everything about it but its name."""
    service = lab.sql("cell1", "SELECT id, uuid, version FROM services WHERE host = %s AND deleted = 0", host)
    node = lab.sql("cell1", "SELECT id, uuid, service_id FROM compute_nodes WHERE host = %s AND deleted = 0", host)
    uuid = node[0]["uuid"] if node else None
    return {
        "service": service,
        "node": node,
        "host_mapping": lab.sql("api", "SELECT id, cell_id FROM host_mappings WHERE host = %s", host),
        "aggregates": lab.sql("api", "SELECT id, aggregate_id FROM aggregate_hosts WHERE host = %s ORDER BY id", host),
        "provider": lab.sql(
            "placement", "SELECT id, uuid, root_provider_id FROM resource_providers WHERE uuid = %s", uuid
        ),
        "instances": [
            {column: row.get(column) for column in INSTANCE_COLUMNS}
            for row in lab.sql("cell1", "SELECT * FROM instances WHERE host = %s AND deleted = 0 ORDER BY id", host)
        ],
        "allocations": lab.sql(
            "placement",
            "SELECT a.id, a.consumer_id, a.resource_class_id, a.used FROM allocations a JOIN"
            " resource_providers p ON p.id = a.resource_provider_id WHERE p.uuid = %s ORDER BY a.id",
            uuid,
        ),
        "inventories": lab.sql(
            "placement",
            "SELECT i.id, i.resource_class_id, i.reserved, i.allocation_ratio FROM inventories i JOIN"
            " resource_providers p ON p.id = i.resource_provider_id WHERE p.uuid = %s ORDER BY i.id",
            uuid,
        ),
        "traits": lab.sql(
            "placement",
            "SELECT t.trait_id FROM resource_provider_traits t JOIN"
            " resource_providers p ON p.id = t.resource_provider_id WHERE p.uuid = %s ORDER BY 1",
            uuid,
        ),
        "placement_aggregates": lab.sql(
            "placement",
            "SELECT a.aggregate_id FROM resource_provider_aggregates a JOIN"
            " resource_providers p ON p.id = a.resource_provider_id WHERE p.uuid = %s ORDER BY 1",
            uuid,
        ),
        "ports": lab.sql(
            "neutron",
            "SELECT b.port_id, b.vif_type, p.status FROM ml2_port_bindings b JOIN ports p ON p.id = b.port_id"
            " WHERE b.host = %s ORDER BY 1",
            host,
        ),
        "agents": lab.sql("neutron", "SELECT id, agent_type FROM agents WHERE host = %s ORDER BY 1", host),
    }
